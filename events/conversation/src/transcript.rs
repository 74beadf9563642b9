//! Bytes of a transcript in, a conversation out.
//!
//! A [`Reader`] takes whole lines, in pieces of any size, counts what it sees and says it as
//! [`Item`]s to a [`Sink`]. It never fails: what is broken is counted and leaves all other lines as they
//! are. A line over which this program itself stumbles is passed over, and one item names it ([`is_unread`]). Where it stands is a [`Cursor`]; a new reader that is given the cursor and the conversation's open
//! calls goes on as if there had been no break.
//!
//! One agent's format is one file below this one (`format.rs` holds what it must know): [`classify`] tells whose a path
//! is, and the reader hands each record to that agent's file.
//!
//! # Hazards
//!
//! - A record over which the reader panics is left out alone, its state thrown away. The manifest names the
//!   line, so do `status` and `show`, and `reindex` reads it again. A digest, graph or outcomes that panic are
//!   left out of the memory the same way, and the words of the session are still found.

mod claude;
mod codex;
mod cursor;
mod format;
mod observation;
mod place;
mod scribe;
mod spilled;

pub use cursor::{Cursor, MAX_QUEUED, MAX_RECENT_MESSAGES, MAX_SAID, Queued, Window};
pub use format::Layout;
pub use observation::{MAX_TYPES, MAX_UNKNOWN_KINDS, Observation};
pub use observation::{add_type, add_unknown};
pub use place::{Kind, Located};
pub use spilled::{MAX_SPILLED_BYTES, Spilled};

use std::borrow::Cow;

use memchr::{memchr, memchr2};

pub use crate::filter::open_calls::{MAX_OPEN_CALLS, OpenCalls, subject};
use crate::item::{Agent, Body, Item, TitleSource};

use baton_redaction::raw_json;
use baton_redaction::raw_json::{Fields, Found, Index};
use format::Format;
use scribe::{Scribe, Stamp};

macro_rules! formats {
    ($($agent:ident => $format:ty),+ $(,)?) => {
        /// Where an agent keeps its transcripts.
        pub fn layout(agent: Agent) -> &'static Layout {
            match agent { $(Agent::$agent => &<$format as Format>::LAYOUT),+ }
        }

        /// Which session a file is, by its path below one of the agent's roots (`projects/` of Claude Code, `sessions/` or
        /// `archived_sessions/` of Codex), with `/` between the names. `None` for everything that is no transcript of a
        /// conversation: journals of workflows, spilled results, memory files, and the agent's own helpers.
        pub fn classify(agent: Agent, rel_path: &str) -> Option<Located> {
            match agent { $(Agent::$agent => <$format>::classify(rel_path)),+ }
        }

        /// See [`Format::record`].
        fn read_record<S: Sink>(agent: Agent, fields: Fields<'_>, scribe: &mut Scribe<'_, S>) -> Option<usize> {
            match agent { $(Agent::$agent => <$format>::record(fields, scribe)),+ }
        }

        /// See [`Format::kind_of`].
        fn kind_of(agent: Agent, head: &[u8]) -> Option<String> {
            match agent { $(Agent::$agent => <$format>::kind_of(head)),+ }
        }
    };
}

formats! {
    ClaudeCode => claude::ClaudeCode,
    Codex => codex::Codex,
}

/// Where a reader's items go.
pub trait Sink {
    /// Whether items are wanted at all. Without them no text is decoded beyond what counting needs.
    const TEXT: bool;

    /// Takes the next item, in file order.
    fn item(&mut self, item: Item);
}

/// Wants no items: for counting.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullSink;

impl Sink for NullSink {
    const TEXT: bool = false;

    fn item(&mut self, _item: Item) {}
}

impl Sink for Vec<Item> {
    const TEXT: bool = true;

    fn item(&mut self, item: Item) {
        self.push(item);
    }
}

/// Whose transcript is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Who wrote it.
    pub agent: Agent,
    /// Whether the whole file is a subagent's conversation: then its records are its own, and not an aside.
    pub subagent: bool,
}

impl Located {
    /// How the file is to be read.
    pub fn source(&self) -> Source {
        Source { agent: self.agent, subagent: matches!(self.kind, Kind::Subagent { .. }) }
    }
}

/// Reads one transcript, or a part of it.
pub struct Reader<'a, S: Sink> {
    source: Source,
    scribe: Scribe<'a, S>,
    index: Index,
}

impl<'a, S: Sink> Reader<'a, S> {
    /// A reader that stands at `cursor` ([`Cursor::default`] is the beginning). `open` holds the conversation's
    /// unanswered calls so far; a reader that only counts needs none.
    pub fn new(source: Source, cursor: Cursor, open: OpenCalls, sink: &'a mut S) -> Self {
        Self { source, scribe: Scribe::new(cursor, open, source.subagent, sink), index: Index::default() }
    }

    /// The same reader, which reads outputs too large for the transcript where they lie.
    #[must_use]
    pub fn with_spilled(mut self, spilled: &'a dyn Spilled) -> Self {
        self.scribe.spilled = Some(spilled);
        self
    }

    /// Reads all whole lines of `bytes`, which begin where the cursor stands. Returns how many bytes were read; the
    /// caller keeps the rest, which has no newline yet, and gives it again with what follows.
    pub fn feed(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while let Some(first) = memchr2(b'\n', 0, &bytes[at..]) {
            let nul = bytes[at + first] == 0;
            let Some(rest) = (if nul { memchr(b'\n', &bytes[at + first..]) } else { Some(0) }) else { break };
            let length = first + rest;
            self.line(&bytes[at..at + length], nul);
            self.pass(length as u64 + 1);
            self.scribe.cursor.unterminated = false;
            at += length + 1;
        }
        at
    }

    /// Reads the rest of the file as it stood, which has no newline. Read are only whole objects; a torn line is held
    /// back (0 is returned), for its writer may still be writing.
    pub fn finish(&mut self, tail: &[u8]) -> usize {
        debug_assert!(memchr(b'\n', tail).is_none(), "the tail begins after the last newline");
        if !is_whole(self.without_bom(tail)) {
            return 0;
        }
        self.line(tail, memchr(0, tail).is_some());
        self.pass(tail.len() as u64);
        self.scribe.cursor.unterminated = true;
        tail.len()
    }

    /// Passes over a line that is too long to be held: `head` is its beginning, `len` its length with its newline.
    pub fn oversize(&mut self, head: &[u8], len: u64) {
        self.count_line();
        self.scribe.seen.oversize += 1;
        let kind = kind_of(self.source.agent, head)
            .map_or(Cow::Borrowed("oversize"), |kind| Cow::Owned(format!("oversize:{kind}")));
        self.scribe.seen.count_unknown(&kind, 1);
        self.pass(len);
        self.scribe.cursor.unterminated = false;
    }

    /// A person's name for the session that stands beside the transcript: said as a title where reading stands, if it is news.
    pub fn named(&mut self, name: &str) {
        self.scribe.line(|scribe| scribe.title(&Stamp::default(), TitleSource::Person, name));
    }

    /// Where reading stands, and what was seen since the reader was made.
    pub fn into_parts(self) -> (Cursor, Observation) {
        (self.scribe.cursor, self.scribe.seen)
    }

    fn pass(&mut self, bytes: u64) {
        self.scribe.cursor.offset += bytes;
        self.scribe.seen.bytes += bytes;
    }

    fn count_line(&mut self) {
        if !self.scribe.cursor.unterminated {
            self.scribe.cursor.line += 1;
            self.scribe.seen.lines += 1;
        }
    }

    /// The bytes at the cursor without the mark that a file may begin with, and no other line.
    fn without_bom<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        if self.scribe.cursor.offset == 0 { bytes.strip_prefix(BOM).unwrap_or(bytes) } else { bytes }
    }

    /// Reads a line; `nul` tells whether a NUL is in it.
    fn line(&mut self, bytes: &[u8], nul: bool) {
        self.count_line();
        let bytes = self.without_bom(bytes);
        // A power loss leaves runs of NUL anywhere: without them the line may make sense.
        let bytes = if nul {
            Cow::Owned(bytes.iter().copied().filter(|byte| *byte != 0).collect())
        } else {
            Cow::Borrowed(bytes)
        };
        let lost = nul && !self.scribe.cursor.unterminated && bytes.trim_ascii().is_empty();
        let (source, index) = (self.source, &mut self.index);
        // A panic may leave the index half made: it is begun anew.
        let mut room = std::mem::take(index);
        let broken = self.scribe.line(|scribe| {
            let whole = records(source.agent, &bytes, &mut room, scribe);
            *index = room;
            !whole
        });
        self.scribe.seen.malformed += u64::from(lost || broken);
    }
}

/// Reads the objects of a line: mostly one, but writers that do not wait for each other leave more. Whether nothing else stood
/// there.
fn records<S: Sink>(agent: Agent, mut bytes: &[u8], index: &mut Index, scribe: &mut Scribe<'_, S>) -> bool {
    loop {
        match index.first_object(bytes) {
            Found::Nothing => return true,
            Found::Object(fields) => match read_record(agent, fields, scribe) {
                Some(end) => bytes = &bytes[end..],
                None => return false,
            },
            Found::Garbage => return false,
        }
    }
}

/// Whether an item stands for a line that could not be read, because this program stumbled over it.
pub fn is_unread(item: &Item) -> bool {
    matches!(&item.body, Body::Notice { text } if text == scribe::UNREAD)
}

/// Lines that are named: `line 12`, `lines 12, 15 and 4 more`.
pub fn named_lines(lines: &[u64]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<String> = lines.iter().take(SHOWN).map(u64::to_string).collect();
    let rest = lines.len().saturating_sub(SHOWN);
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    format!("{} {}{more}", if lines.len() == 1 { "line" } else { "lines" }, shown.join(", "))
}

/// What some editors put before a text.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// Whether a line consists of whole objects, and has at least one.
fn is_whole(line: &[u8]) -> bool {
    let mut rest = line;
    let mut any = false;
    loop {
        match raw_json::first_object(rest) {
            Found::Nothing => return any,
            Found::Object(mut fields) => {
                fields.by_ref().for_each(drop);
                let Some(end) = fields.end() else {
                    return false;
                };
                rest = &rest[end..];
                any = true;
            }
            Found::Garbage => return false,
        }
    }
}

#[cfg(test)]
mod tests;
