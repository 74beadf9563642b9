//! The agents' transcripts: files that grow line by line in Claude Code's shapes, and that are torn, rewritten, renamed
//! and deleted while they are read. They are read by the same rules as in the shell.

use std::collections::BTreeMap;

use baton_conversation::item::Item;
use baton_conversation::record::Timestamp;
use baton_conversation::transcript::{Cursor, Observation, OpenCalls, Reader, Sink, Source};
use baton_events::session::{FileIdentity, TailDigest};
use sha2::{Digest, Sha256};

use crate::rng::Rng;

/// Number of bytes before an offset that must be unchanged.
const TAIL_BYTES: usize = 4096;

/// One transcript on disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct File {
    pub(crate) identity: FileIdentity,
    pub(crate) bytes: Vec<u8>,
    /// The rest of a line that its writer has only half written.
    rest: Vec<u8>,
    pub(crate) locked: bool,
    /// Changes with each change of the file.
    pub(crate) stamp: u64,
    open_call: Option<u64>,
}

/// All transcripts, by path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Folder {
    pub(crate) files: BTreeMap<String, File>,
    serial: u64,
}

/// The result of reading.
pub(crate) enum Pass {
    Read { cursor: Box<Cursor>, seen: Box<Observation>, tail: TailDigest, more: bool },
    Rewritten(FileIdentity),
    Gone,
    Unreadable,
}

/// Where reading begins, and how far it goes in one pass.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    pub(crate) source: Source,
    pub(crate) path: String,
    pub(crate) cursor: Cursor,
    pub(crate) tail: TailDigest,
    /// True if the bytes before the cursor are compared.
    pub(crate) compares: bool,
}

impl Folder {
    fn serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    fn identity(&mut self) -> FileIdentity {
        FileIdentity { device: 1, inode: self.serial() }
    }

    /// Writes one more line, perhaps in two halves.
    pub(crate) fn grow(&mut self, path: &str, now: Timestamp, rng: &mut Rng) -> &'static str {
        if !self.files.contains_key(path) {
            let file = File { identity: self.identity(), ..File::default() };
            self.files.insert(path.to_owned(), file);
        }
        let serial = self.serial();
        let Some(file) = self.files.get_mut(path) else { return "nowhere" };
        file.stamp = serial;
        if !file.rest.is_empty() {
            let rest = std::mem::take(&mut file.rest);
            file.bytes.extend(rest);
            return "the rest of a line";
        }
        let (kind, mut line) = line(serial, now, &mut file.open_call, rng);
        line.push('\n');
        if rng.percent(12) {
            // Torn anywhere, even inside a character.
            file.rest = line.as_bytes()[rng.below(line.len())..].to_vec();
        }
        let written = line.len() - file.rest.len();
        file.bytes.extend_from_slice(&line.as_bytes()[..written]);
        kind
    }

    /// Keeps some lines of the file and replaces the others: rewritten, truncated, or replaced by a new file.
    pub(crate) fn rewrite(&mut self, path: &str, now: Timestamp, rng: &mut Rng) -> &'static str {
        let identity = self.identity();
        let Some(file) = self.files.get_mut(path) else { return "no file" };
        file.stamp = identity.inode;
        let ends: Vec<usize> =
            file.bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
        let keep = rng.pick(&ends).copied().filter(|_| rng.percent(50)).unwrap_or(0);
        file.bytes.truncate(keep);
        file.rest.clear();
        file.open_call = None;
        let replaced = rng.percent(40);
        if replaced {
            file.identity = identity;
        }
        for _ in 0..rng.below(6) {
            self.grow(path, now, rng);
        }
        if replaced { "replaced" } else { "rewritten" }
    }

    /// Moves a file, or copies it so that two belong to one session.
    pub(crate) fn carry(&mut self, from: &str, to: &str, copies: bool) -> bool {
        let Some(mut file) = self.files.get(from).cloned() else { return false };
        if copies {
            file.identity = self.identity();
        } else {
            self.files.remove(from);
        }
        self.files.insert(to.to_owned(), file);
        true
    }

    /// Counts what was added since the start, in pieces, at most about `enough` bytes.
    pub(crate) fn observe(&self, start: &Start, enough: usize) -> Pass {
        self.read(start, OpenCalls::default(), &mut baton_conversation::transcript::NullSink, None, enough)
    }

    /// Collects the items between the start and byte `to`.
    pub(crate) fn items(&self, start: &Start, open: OpenCalls, to: u64, items: &mut Vec<Item>) -> Pass {
        match self.read(start, open, items, Some(to), usize::MAX) {
            Pass::Read { cursor, .. } if cursor.offset != to => match self.files.get(&start.path) {
                Some(file) => Pass::Rewritten(file.identity),
                None => Pass::Gone,
            },
            pass => pass,
        }
    }

    fn read<S: Sink>(&self, start: &Start, open: OpenCalls, sink: &mut S, to: Option<u64>, enough: usize) -> Pass {
        let Some(file) = self.files.get(&start.path) else { return Pass::Gone };
        if file.locked {
            return Pass::Unreadable;
        }
        let offset = start.cursor.offset as usize;
        let needed = to.map_or(offset, |to| to as usize);
        let differs = start.compares && offset > 0 && file.bytes.get(..offset).map(digest) != Some(start.tail);
        if file.bytes.len() < needed.max(offset) || differs {
            return Pass::Rewritten(file.identity);
        }
        let all = &file.bytes[offset..to.map_or(file.bytes.len(), |to| to as usize)];
        let border = all.iter().enumerate().skip(enough).find(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
        let (bytes, more) = match border {
            Some(border) if border < all.len() => (&all[..border], true),
            _ => (all, false),
        };
        let mut reader = Reader::new(start.source, start.cursor.clone(), open, sink);
        let fed = reader.feed(bytes);
        if !more && fed < bytes.len() {
            reader.finish(&bytes[fed..]);
        }
        let (cursor, seen) = reader.into_parts();
        let tail = digest(&file.bytes[..cursor.offset as usize]);
        Pass::Read { cursor: Box::new(cursor), seen: Box::new(seen), tail, more }
    }

    /// True if the file at `path` may take over a session that was read from `known`.
    pub(crate) fn continues(&self, known: &str, path: &str, offset: u64, tail: TailDigest) -> bool {
        let (Some(old), Some(new)) = (self.files.get(known), self.files.get(path)) else {
            return !self.files.contains_key(known);
        };
        let same = new.bytes.get(..offset as usize).map(digest) == Some(tail);
        !new.locked && offset > 0 && new.bytes.len() > old.bytes.len() && same
    }

    /// Everything in a file, read at once from its beginning.
    pub(crate) fn whole(&self, path: &str, source: Source) -> Option<(Cursor, Observation, Vec<Item>)> {
        let file = self.files.get(path)?;
        let mut items = Vec::new();
        let mut reader = Reader::new(source, Cursor::default(), OpenCalls::default(), &mut items);
        let fed = reader.feed(&file.bytes);
        reader.finish(&file.bytes[fed..]);
        let (cursor, seen) = reader.into_parts();
        Some((cursor, seen, items))
    }
}

fn digest(before: &[u8]) -> TailDigest {
    let mut digest = [0; 16];
    digest.copy_from_slice(&Sha256::digest(&before[before.len().saturating_sub(TAIL_BYTES)..])[..16]);
    TailDigest(digest)
}

/// A line of a transcript, with the name of its kind.
fn line(serial: u64, now: Timestamp, open_call: &mut Option<u64>, rng: &mut Rng) -> (&'static str, String) {
    let at = match rng.below(12) {
        0 => now.plus_ms(-rng.between(0, 4_000_000)),
        1 => now.plus_ms(rng.between(0, 4_000_000)),
        _ => now,
    };
    let head = format!(
        r#""uuid":"u-{serial}","sessionId":"parent","timestamp":"{at}","cwd":"/p/x","gitBranch":"b{}""#,
        serial % 3
    );
    let user = |content: &str| format!(r#"{{"type":"user",{head},"message":{{"role":"user","content":{content}}}}}"#);
    let assistant = |content: &str| {
        let id = serial / 2;
        format!(
            r#"{{"type":"assistant",{head},"message":{{"id":"msg_{id}","role":"assistant","content":[{content}]}}}}"#
        )
    };
    match rng.below(20) {
        0..=4 => ("a prompt", user(&format!(r#""please do {serial}, möglichst bald""#))),
        5..=9 => ("a reply", assistant(&format!(r#"{{"type":"text","text":"Did {serial}."}}"#))),
        10..=12 => {
            *open_call = Some(serial);
            let call = format!(
                r#"{{"type":"tool_use","id":"toolu_{serial}","name":"Bash","input":{{"command":"make {serial}"}}}}"#
            );
            ("a call", assistant(&call))
        }
        13..=15 => {
            let id = open_call.take().unwrap_or(serial);
            let result = format!(r#"[{{"type":"tool_result","tool_use_id":"toolu_{id}","content":"made {serial}"}}]"#);
            ("a result", user(&result))
        }
        16 => ("a title", format!(r#"{{"type":"summary","summary":"About {serial}","leafUuid":"u-{serial}"}}"#)),
        17 => ("a snapshot", r#"{"type":"file-history-snapshot","messageId":"m","snapshot":{}}"#.to_owned()),
        18 => ("an unknown record", format!(r#"{{"type":"mood-{}","timestamp":"{at}"}}"#, serial % 5)),
        _ => ("a broken line", format!(r#"{{"type":"user",{head},"mess"#)),
    }
}
