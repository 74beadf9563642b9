//! Readers of transcripts: bytes in, items out.
//!
//! A [`Reader`] takes whole lines in pieces of any size, counts what they contain and emits [`Item`]s to a [`Sink`]. It
//! never fails: broken lines are counted and do not affect others. A line on which the reader itself panics is skipped,
//! and one item marks it ([`is_unread`]). The position is a [`Cursor`]; a new reader with that cursor and the
//! conversation's open calls continues as if there had been no break.
//!
//! Each agent's format is a module below this one that implements `Format`: [`classify`] identifies the session of a
//! path, and the reader passes each record to the agent's format. A transcript that is one JSON document is made into
//! lines first, by [`Document::lines`], and so are the rows of a session in a database, by [`Render`].
//!
//! # Hazards
//!
//! - Only the record on which the reader panics is left out; the state is rolled back. The manifest, `status` and
//!   `show` name the line, and `reindex` reads it again. A digest, graph or outcomes that panic are left out of the
//!   memory in the same way, and the session's text is still found.

mod aider;
mod amp;
mod antigravity;
mod claude;
mod cline;
mod codex;
mod copilot;
mod crush;
mod cursor;
mod cursor_agent;
mod document;
mod droid;
mod ended;
mod format;
mod gemini;
mod goose;
mod hermes;
mod item_writer;
mod kimi;
mod kiro;
mod location;
mod observation;
mod opencode;
mod openhands;
mod pi;
mod qwen;
mod session_file;
mod spilled;
mod table;
mod table_lines;
mod tools;
mod vibe;

pub use cursor::{Cursor, MAX_QUEUED, MAX_RECENT_MESSAGES, MAX_SAID, Queued, Window};
pub use document::{Document, Fault, Messages};
pub use format::{Layout, WorkingDirectory};
pub use location::{Kind, Located};
pub use observation::{MAX_TYPES, MAX_UNKNOWN_KINDS, Observation};
pub use observation::{add_type, add_unknown};
pub use session_file::{SessionFile, StoredPath, StoredSession, WallClock};
pub use spilled::{MAX_SPILLED_BYTES, Spilled};
pub use table::{Cell, DatabaseSchema, Lines, MessageFiles, Render, SessionFiles, Table, Tree};

use std::borrow::Cow;

use memchr::{memchr, memchr2};

pub use crate::filter::open_calls::{MAX_OPEN_CALLS, OpenCalls, subject};
use crate::item::{Agent, Body, Item, TitleSource};

use baton_redaction::raw_json;
use baton_redaction::raw_json::{Fields, Found, Index};
use format::Format;
use item_writer::{ItemWriter, Stamp};
use tools::Tools;

macro_rules! formats {
    ($($agent:ident => $format:ty),+ $(,)?) => {
        /// Location of the agent's transcripts.
        pub fn layout(agent: Agent) -> &'static Layout {
            match agent { $(Agent::$agent => &<$format as Format>::LAYOUT),+ }
        }

        /// Identifies the session of a file by its path below one of the agent's roots (`projects/` of Claude Code,
        /// `sessions/` or `archived_sessions/` of Codex), with `/` as separator. `None` for everything that is not the
        /// transcript of a conversation: workflow journals, spilled results, memory files, and the agent's internal
        /// helpers.
        pub fn classify(agent: Agent, rel_path: &str) -> Option<Located> {
            match agent { $(Agent::$agent => <$format>::classify(rel_path)),+ }
        }

        /// See [`Format::resume_id`].
        pub fn resume_id(
            agent: Agent,
            session: &crate::record::SessionId,
            path: &str,
            head: &dyn Fn() -> Vec<u8>,
        ) -> Option<String> {
            match agent { $(Agent::$agent => <$format>::resume_id(session, path, head)),+ }
        }

        /// See [`Format::fuller`].
        fn fuller(agent: Agent, path: &str) -> Option<String> {
            match agent { $(Agent::$agent => <$format>::fuller(path)),+ }
        }

        fn documents(agent: Agent) -> Option<&'static Document> {
            match agent { $(Agent::$agent => const { &<$format as Format>::DOCUMENT }.as_ref()),+ }
        }

        /// How the agent's databases are read, if it has such.
        pub fn table(agent: Agent) -> Option<&'static Table> {
            match agent { $(Agent::$agent => const { &<$format as Format>::TABLE }.as_ref()),+ }
        }

        /// The file in which the agent keeps many sessions, if it does and that is no database.
        pub fn session_file(agent: Agent) -> Option<&'static SessionFile> {
            match agent { $(Agent::$agent => const { &<$format as Format>::SESSION_FILE }.as_ref()),+ }
        }

        fn tools(agent: Agent) -> &'static Tools {
            match agent { $(Agent::$agent => &<$format as Format>::TOOLS),+ }
        }

        /// See [`Format::record`].
        fn read_record(agent: Agent, fields: Fields<'_>, writer: &mut ItemWriter<'_>) -> Option<usize> {
            match agent { $(Agent::$agent => <$format>::record(fields, writer)),+ }
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
    Gemini => gemini::Gemini,
    Qwen => qwen::Qwen,
    Droid => droid::Droid,
    Cursor => cursor_agent::CursorAgent,
    Copilot => copilot::Copilot,
    Pi => pi::Pi,
    Kiro => kiro::Kiro,
    Vibe => vibe::Vibe,
    Antigravity => antigravity::Antigravity,
    Kimi => kimi::Kimi,
    Amp => amp::Amp,
    Cline => cline::Cline,
    Roo => cline::Roo,
    Kilo => cline::Kilo,
    OpenCode => opencode::OpenCode,
    OpenHands => openhands::OpenHands,
    Aider => aider::Aider,
    Goose => goose::Goose,
    Hermes => hermes::Hermes,
    Crush => crush::Crush,
}

/// How the transcript at `path` is read, if it is a whole document.
pub fn document(agent: Agent, path: &str) -> Option<&'static Document> {
    documents(agent).filter(|document| document.endings.iter().any(|ending| path.ends_with(ending)))
}

/// The path of the transcript that the file at `path` holds a message of, if messages are files of their own.
pub fn of_message(agent: Agent, path: &str) -> Option<String> {
    documents(agent)?.of_message(path)
}

/// How the sessions at `store` are read, if that is a folder of an agent with databases.
pub fn tree(agent: Agent, store: &str) -> Option<&'static Tree> {
    table(agent)?.tree.as_ref().filter(|tree| store.rsplit(['/', '\\']).next() == Some(tree.folder))
}

/// The path of the file or [tree] that holds many sessions, if `path` is that of a session in it, its own, or that of a
/// file that SQLite keeps beside it.
pub fn store_file(agent: Agent, path: &str) -> Option<&str> {
    let (table, file) = (table(agent), session_file(agent));
    // Most agents have neither, and a scan asks for each of their files.
    let name = table.map(|table| table.prefix).or(file.map(|file| file.name))?;
    let is_one = |part: &str| match table {
        Some(table) => {
            let is_database = || layout(agent).endings.iter().any(|ending| part.ends_with(ending));
            part.starts_with(name) && is_database() || table.tree.is_some_and(|tree| part == tree.folder)
        }
        None => part == name,
    };
    let (mut from, mut found) = (0, None);
    for name in path.split(['/', '\\']) {
        let base = SIDE_FILES.iter().find_map(|side| name.strip_suffix(side)).unwrap_or(name);
        if is_one(base) {
            found = Some(&path[..from + base.len()]);
        }
        from += name.len() + 1;
    }
    found
}

/// True if a file of this name may be a transcript of some agent's, or hold sessions.
pub fn is_of_interest(name: &str) -> bool {
    let is_of = |agent: &Agent| layout(*agent).may_be_transcript(name) || store_file(*agent, name).is_some();
    Agent::ALL.iter().any(is_of)
}

/// Endings that SQLite adds to a database's name for the files beside it.
pub const SIDE_FILES: &[&str] = &["-wal", "-shm", "-journal"];

/// The path of the form of a transcript that takes precedence, if `path` is its other form: compressed, shortened,
/// or a document that a later version of the agent replaced.
pub fn plain(agent: Agent, path: &str) -> Option<String> {
    let successor = || documents(agent)?.successor(path);
    layout(agent).plain(path).map(str::to_owned).or_else(successor).or_else(|| fuller(agent, path))
}

/// The path of the other form that a transcript may have, whichever `path` is.
pub fn other_form(agent: Agent, path: &str) -> Option<String> {
    let compressed = || layout(agent).compressed.map(|ending| format!("{path}{ending}"));
    plain(agent, path).or_else(|| documents(agent)?.predecessor(path)).or_else(compressed)
}

/// Receives a reader's items.
pub trait Sink {
    /// True if items are wanted. If not, only the text needed for counting is decoded. Asked once, by a new reader.
    fn wants_text(&self) -> bool;

    /// Takes the next item, in file order.
    fn item(&mut self, item: Item);
}

/// Name under which lines are counted that are too long.
const OVERSIZE: &str = "oversize";

/// Takes no items: for counting.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullSink;

impl Sink for NullSink {
    fn wants_text(&self) -> bool {
        false
    }

    fn item(&mut self, _item: Item) {}
}

impl Sink for Vec<Item> {
    fn wants_text(&self) -> bool {
        true
    }

    fn item(&mut self, item: Item) {
        self.push(item);
    }
}

/// Origin of a transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// The agent that wrote it.
    pub agent: Agent,
    /// True if the whole file is a subagent's conversation: then its records are not asides.
    pub subagent: bool,
}

impl Located {
    /// The origin of this transcript.
    pub fn source(&self) -> Source {
        Source { agent: self.agent, subagent: matches!(self.kind, Kind::Subagent { .. }) }
    }
}

/// Reads a transcript, or a part of it.
pub struct Reader<'a> {
    source: Source,
    writer: ItemWriter<'a>,
    index: Index,
}

impl<'a> Reader<'a> {
    /// A reader at `cursor` ([`Cursor::default`] is the beginning). `open` holds the conversation's unanswered calls so
    /// far; a reader that only counts needs none.
    pub fn new(source: Source, cursor: Cursor, open: OpenCalls, sink: &'a mut dyn Sink) -> Self {
        Self { source, writer: ItemWriter::new(cursor, open, source, sink), index: Index::default() }
    }

    /// Lets the reader use whole outputs that were too large for the transcript.
    #[must_use]
    pub fn with_spilled(mut self, spilled: &'a dyn Spilled) -> Self {
        self.writer.spilled = Some(spilled);
        self
    }

    /// Reads all whole lines of `bytes`, which begin at the cursor. Returns the number of bytes read; the caller keeps
    /// the rest, which has no newline yet, and passes it again with what follows.
    pub fn feed(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while let Some(first) = memchr2(b'\n', 0, &bytes[at..]) {
            let nul = bytes[at + first] == 0;
            let Some(rest) = (if nul { memchr(b'\n', &bytes[at + first..]) } else { Some(0) }) else { break };
            let length = first + rest;
            self.line(&bytes[at..at + length], nul);
            self.pass(length as u64 + 1);
            self.writer.cursor.unterminated = false;
            at += length + 1;
        }
        at
    }

    /// Reads the rest of the file, which has no newline. Only whole objects are read; a torn line is left (returns 0),
    /// because it may still be being written.
    pub fn finish(&mut self, tail: &[u8]) -> usize {
        debug_assert!(memchr(b'\n', tail).is_none(), "the tail begins after the last newline");
        if !is_whole(self.without_bom(tail)) {
            return 0;
        }
        self.line(tail, memchr(0, tail).is_some());
        self.pass(tail.len() as u64);
        self.writer.cursor.unterminated = true;
        tail.len()
    }

    /// Skips a line that is too long to be held: `head` is its beginning, `len` its length including the newline.
    pub fn oversize(&mut self, head: &[u8], len: u64) {
        self.count_line();
        self.writer.seen.oversize += 1;
        let kind = kind_of(self.source.agent, head)
            .map_or(Cow::Borrowed(OVERSIZE), |kind| Cow::Owned(format!("{OVERSIZE}:{kind}")));
        self.writer.seen.count_unknown(&kind, 1);
        self.pass(len);
        self.writer.cursor.unterminated = false;
    }

    /// Emits a title that stands outside of the transcript's lines at the cursor, if it is new.
    pub fn add_title(&mut self, source: TitleSource, title: &str) {
        self.writer.line(|writer| writer.title(&Stamp::default(), source, title));
    }

    /// The conversation's unanswered calls up to the cursor.
    pub fn open_calls(&self) -> OpenCalls {
        self.writer.open_calls()
    }

    /// The cursor, and the observation since the reader was made.
    pub fn into_parts(self) -> (Cursor, Observation) {
        (self.writer.cursor, self.writer.seen)
    }

    fn pass(&mut self, bytes: u64) {
        self.writer.cursor.offset += bytes;
        self.writer.seen.bytes += bytes;
    }

    fn count_line(&mut self) {
        if !self.writer.cursor.unterminated {
            self.writer.cursor.line += 1;
            self.writer.seen.lines += 1;
        }
    }

    /// The bytes without the byte order mark that the file may begin with.
    fn without_bom<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        if self.writer.cursor.offset == 0 { bytes.strip_prefix(BOM).unwrap_or(bytes) } else { bytes }
    }

    /// Reads a line; `nul` is true if it contains a NUL.
    fn line(&mut self, bytes: &[u8], nul: bool) {
        self.count_line();
        let bytes = self.without_bom(bytes);
        // A power loss leaves runs of NUL anywhere; without them the line may be valid.
        let bytes = if nul {
            Cow::Owned(bytes.iter().copied().filter(|byte| *byte != 0).collect())
        } else {
            Cow::Borrowed(bytes)
        };
        let lost = nul && !self.writer.cursor.unterminated && bytes.trim_ascii().is_empty();
        let (source, index) = (self.source, &mut self.index);
        // A panic may leave the index incomplete, so it is rebuilt.
        let mut room = std::mem::take(index);
        let broken = self.writer.line(|writer| {
            let whole = records(source.agent, &bytes, &mut room, writer);
            *index = room;
            !whole
        });
        self.writer.seen.malformed += u64::from(lost || broken);
    }
}

/// Reads the objects of a line: mostly one, but concurrent writers leave more. Returns true if there was nothing else.
fn records(agent: Agent, mut bytes: &[u8], index: &mut Index, writer: &mut ItemWriter<'_>) -> bool {
    loop {
        match index.first_object(bytes) {
            Found::Nothing => return true,
            Found::Object(fields) => match read_record(agent, fields, writer) {
                Some(end) => bytes = &bytes[end..],
                None => return false,
            },
            Found::Garbage => return false,
        }
    }
}

/// True if an unknown kind of that name is something new in the agent's format, and not a limit or fault of the reader.
pub fn is_format_drift(unknown_kind: &str) -> bool {
    unknown_kind != item_writer::UNREAD_KIND && unknown_kind.split(':').next() != Some(OVERSIZE)
}

/// True if the item marks a line on which the reader panicked.
pub fn is_unread(item: &Item) -> bool {
    matches!(&item.body, Body::Notice { text } if text == item_writer::UNREAD)
}

/// Line numbers as text: `line 12`, `lines 12, 15 and 4 more`.
pub fn named_lines(lines: &[u64]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<String> = lines.iter().take(SHOWN).map(u64::to_string).collect();
    let rest = lines.len().saturating_sub(SHOWN);
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    format!("{} {}{more}", if lines.len() == 1 { "line" } else { "lines" }, shown.join(", "))
}

/// Byte order mark that some editors put before a text.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// True if the line consists of one or more whole objects.
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
