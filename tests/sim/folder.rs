//! The agents' transcripts: files that grow line by line in Claude Code's shapes, documents in Amp's that are written as a
//! whole with each message, and sessions in a database of OpenCode's. They are torn, rewritten, renamed and deleted while they are read, by the same rules as
//! in the shell.

use std::borrow::Cow;
use std::collections::BTreeMap;

use baton_conversation::item::{Agent, Item};
use baton_conversation::record::Timestamp;
use baton_conversation::transcript::{Cursor, Observation, OpenCalls, Reader, Sink, Source, document};
use baton_events::session::{FileIdentity, TailDigest};
use sha2::{Digest, Sha256};

use crate::rng::Rng;

/// Number of bytes before an offset that must be unchanged.
const TAIL_BYTES: usize = 4096;
/// Ending of documents.
const DOCUMENT: &str = ".json";
/// In the path of a session in a database.
const DATABASE: &str = "/opencode.db/";

/// What an agent's transcripts are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Lines that are appended.
    Lines,
    /// One document that is written as a whole.
    Document,
    /// A session in a database, of which a reader sees whole changes only.
    Table,
}

impl Form {
    /// By session: the third one is a subagent's, which only lines name.
    const ALL: [Self; 4] = [Self::Lines, Self::Document, Self::Lines, Self::Table];

    /// The form of a session's transcript.
    pub(crate) fn of_session(number: usize) -> Self {
        Self::ALL[number % Self::ALL.len()]
    }

    /// The form of the file at a path.
    pub(crate) fn of(path: &str) -> Self {
        match path {
            path if path.contains(DATABASE) => Self::Table,
            path if path.ends_with(DOCUMENT) => Self::Document,
            _ => Self::Lines,
        }
    }

    /// The path of a session's file in a folder.
    pub(crate) fn path(self, folder: &str, session: usize) -> String {
        match self {
            Self::Lines => format!("{folder}/s{session}.jsonl"),
            Self::Document => format!("{folder}/s{session}{DOCUMENT}"),
            Self::Table => format!("{folder}{DATABASE}s{session}"),
        }
    }

    pub(crate) fn agent(self) -> Agent {
        match self {
            Self::Lines => Agent::ClaudeCode,
            Self::Document => Agent::Amp,
            Self::Table => Agent::OpenCode,
        }
    }

    /// What readers take of the bytes on disk; `None` if they are torn.
    fn lines(self, bytes: &[u8]) -> Option<Cow<'_, [u8]>> {
        match self {
            Self::Lines | Self::Table => Some(Cow::Borrowed(bytes)),
            Self::Document => document(self.agent(), DOCUMENT)?.lines(bytes).ok().map(Cow::Owned),
        }
    }
}

/// One transcript on disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct File {
    pub(crate) identity: FileIdentity,
    pub(crate) bytes: Vec<u8>,
    /// What its writer has still to write: the rest of a line or a document.
    rest: Vec<u8>,
    /// The header and messages of a document, as its writer knows them.
    told: Vec<String>,
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
            return "the rest";
        }
        match Form::of(path) {
            Form::Lines => {}
            Form::Document => return file.tell(serial, now, rng),
            Form::Table => return file.add_rows(serial, now, rng),
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
        if Form::of(path) == Form::Document {
            // The header stays.
            file.told.truncate(1 + rng.below(file.told.len().max(1)));
            return file.write(identity, rng);
        }
        let ends: Vec<usize> =
            file.bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
        let keep = rng.pick(&ends).copied().filter(|_| rng.percent(50)).unwrap_or(0);
        file.bytes.truncate(keep);
        file.rest.clear();
        file.open_call = None;
        let replaced = rng.percent(40) && Form::of(path) != Form::Table;
        if replaced {
            file.identity = identity;
        }
        for _ in 0..rng.below(6) {
            self.grow(path, now, rng);
        }
        if replaced { "replaced" } else { "rewritten" }
    }

    /// Its writer finishes a document that was left torn. Returns true if there was one.
    pub(crate) fn finish(&mut self, path: &str) -> bool {
        let serial = self.serial();
        let torn = |path: &str, file: &File| Form::of(path).lines(&file.bytes).is_none();
        let Some(file) = self.files.get_mut(path).filter(|file| torn(path, file)) else { return false };
        (file.stamp, file.bytes) = (serial, file.document());
        file.rest.clear();
        true
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
        let Some(content) = Form::of(&start.path).lines(&file.bytes).filter(|_| !file.locked) else {
            return Pass::Unreadable;
        };
        let offset = start.cursor.offset as usize;
        let needed = to.map_or(offset, |to| to as usize);
        let differs = start.compares && offset > 0 && content.get(..offset).map(digest) != Some(start.tail);
        if content.len() < needed.max(offset) || differs {
            return Pass::Rewritten(file.identity);
        }
        let all = &content[offset..to.map_or(content.len(), |to| to as usize)];
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
        let tail = digest(&content[..cursor.offset as usize]);
        Pass::Read { cursor: Box::new(cursor), seen: Box::new(seen), tail, more }
    }

    /// True if the file at `path` may take over a session that was read from `known`.
    pub(crate) fn continues(&self, known: &str, path: &str, offset: u64, tail: TailDigest) -> bool {
        let (Some(old), Some(new)) = (self.files.get(known), self.files.get(path)) else {
            return !self.files.contains_key(known);
        };
        if Form::of(known) == Form::Table {
            return false;
        }
        let content = Form::of(path).lines(&new.bytes);
        let same = content.and_then(|content| content.get(..offset as usize).map(digest)) == Some(tail);
        !new.locked && offset > 0 && new.bytes.len() > old.bytes.len() && same
    }

    /// Everything in a file, read at once from its beginning.
    pub(crate) fn whole(&self, path: &str, source: Source) -> Option<(Cursor, Observation, Vec<Item>)> {
        let content = Form::of(path).lines(&self.files.get(path)?.bytes)?;
        let mut items = Vec::new();
        let mut reader = Reader::new(source, Cursor::default(), OpenCalls::default(), &mut items);
        let fed = reader.feed(&content);
        reader.finish(&content[fed..]);
        let (cursor, seen) = reader.into_parts();
        Some((cursor, seen, items))
    }
}

impl File {
    /// Adds a row, or rows whose lines come with the next change: their message has no end yet.
    fn add_rows(&mut self, serial: u64, now: Timestamp, rng: &mut Rng) -> &'static str {
        if self.bytes.is_empty() {
            self.bytes.extend(row("session", "", serial, now, r#""directory":"/p/x","#, "").into_bytes());
        }
        let said =
            |role: &str, words: &str| row("text", role, serial, now, "", &format!(r#""text":"{words} {serial}""#));
        let call = |id: u64| format!(r#""tool":"bash","callID":"call_{id}""#);
        let (what, rows) = match rng.below(14) {
            0..=4 => ("a prompt", said("user", "please do")),
            5..=8 => {
                ("a reply", said("assistant", "Did") + &row("end", "assistant", serial, now, "", r#""modelID":"m""#))
            }
            9 | 10 => {
                self.open_call = Some(serial);
                let state = format!(r#","state":{{"input":{{"command":"make {serial}"}}}}"#);
                ("a call", row("call", "assistant", serial, now, "", &(call(serial) + &state)))
            }
            11 | 12 => {
                let id = self.open_call.take().unwrap_or(serial);
                let state =
                    format!(r#","state":{{"status":"completed","output":"made {serial}","metadata":{{"exit":0}}}}"#);
                ("a result", row("result", "assistant", serial, now, "", &(call(id) + &state)))
            }
            _ => ("an unknown row", row(&format!("mood-{}", serial % 5), "assistant", serial, now, "", "")),
        };
        match rng.percent(15) {
            true => self.rest = rows.into_bytes(),
            false => self.bytes.extend(rows.into_bytes()),
        }
        what
    }

    /// Adds a message to a document, or changes it otherwise.
    fn tell(&mut self, serial: u64, now: Timestamp, rng: &mut Rng) -> &'static str {
        if self.told.is_empty() {
            self.told.push(header(serial));
        }
        let what = match rng.below(12) {
            // The header is the first line, so all others move.
            0 => {
                self.told[0] = header(serial);
                "a title"
            }
            // The last message is written step by step.
            1 if self.told.len() > 1 => {
                self.told.pop();
                self.told.push(message(serial, now, &mut None, rng).1);
                "the last message again"
            }
            _ => {
                let (what, message) = message(serial, now, &mut self.open_call, rng);
                self.told.push(message);
                what
            }
        };
        self.write(FileIdentity { device: 1, inode: serial }, rng);
        what
    }

    /// Writes a document: by another file that takes its name, or in place, perhaps in two halves. Sometimes its writer
    /// is killed between them.
    fn write(&mut self, other: FileIdentity, rng: &mut Rng) -> &'static str {
        let mut whole = self.document();
        self.rest.clear();
        if rng.percent(60) {
            (self.identity, self.bytes) = (other, whole);
            return "replaced";
        }
        if rng.percent(40) {
            let rest = whole.split_off(rng.below(whole.len()));
            self.rest = if rng.percent(70) { rest } else { Vec::new() };
        }
        self.bytes = whole;
        "written in place"
    }

    fn document(&self) -> Vec<u8> {
        let (header, messages) = self.told.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
        format!("{{{header}\"messages\":[{}]}}", messages.join(",\n")).into_bytes()
    }
}

fn header(serial: u64) -> String {
    format!(r#""v":9,"id":"T-1","title":"About {serial}","env":{{"initial":{{"cwd":"/p/x"}}}},"#)
}

/// A line of a session in a database, with further fields and those of its data.
fn row(kind: &str, role: &str, serial: u64, now: Timestamp, fields: &str, data: &str) -> String {
    let at = now.0;
    let head = format!(r#""type":"{kind}",{fields}"role":"{role}","summary":false,"message":"msg_{serial}""#);
    format!("{{{head},\"at\":{at},\"data\":{{{data}}}}}\n")
}

/// A message of a document, with the name of its kind.
fn message(serial: u64, now: Timestamp, open_call: &mut Option<u64>, rng: &mut Rng) -> (&'static str, String) {
    let message = |role: &str, content: &str| {
        let sent = now.0;
        format!(r#"{{"role":"{role}","messageId":{serial},"content":[{content}],"meta":{{"sentAt":{sent}}}}}"#)
    };
    match rng.below(14) {
        0..=4 => ("a prompt", message("user", &format!(r#"{{"type":"text","text":"please do {serial}, bald"}}"#))),
        5..=8 => ("a reply", message("assistant", &format!(r#"{{"type":"text","text":"Did {serial}."}}"#))),
        9 | 10 => {
            *open_call = Some(serial);
            let input = format!(r#"{{"cmd":"make {serial}"}}"#);
            let call = format!(r#"{{"type":"tool_use","id":"toolu_{serial}","name":"Bash","input":{input}}}"#);
            ("a call", message("assistant", &call))
        }
        11 | 12 => {
            let id = open_call.take().unwrap_or(serial);
            let run = format!(r#"{{"status":"done","result":{{"output":"made {serial}","exitCode":0}}}}"#);
            ("a result", message("user", &format!(r#"{{"type":"tool_result","toolUseID":"toolu_{id}","run":{run}}}"#)))
        }
        _ => ("an unknown message", message(&format!("mood-{}", serial % 5), "")),
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
        r#""uuid":"u-{serial}","sessionId":"parent","timestamp":"{at}","cwd":"/p/x","gitBranch":"b{}","version":"2.{}""#,
        serial % 3,
        serial / 50
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
