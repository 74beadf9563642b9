//! The only way to read a transcript: from an offset to the end that the file had when reading began.
//!
//! A session reads to count and an index job to get items, both through [`read`]. First the bytes before the offset are
//! checked: a file that does not continue what was read counts as rewritten, not as an error. Memory is bounded by one
//! block and one line, whatever the file; what is held as a whole (documents, sessions in databases) by its largest size.
//!
//! # Hazards
//!
//! - A rewrite in the middle of a file that keeps its size and the last 4 KB before the offset is not noticed.

mod content;
mod session_folder;
pub mod working_directory;

use std::io::{self, Read};

use baton_conversation::item::Agent;
use baton_conversation::item::TitleSource;
use baton_conversation::transcript::{self, Cursor, NullSink, Observation, OpenCalls, Reader, Sink, Source};
use baton_events::session::{FileIdentity, TailDigest};

use self::content::Content;
use self::session_folder::SessionFolder;
use crate::plain_file;
use baton_base::{limits, transcript_file};

/// Where a read begins.
#[derive(Clone, Debug)]
pub struct Start {
    /// How the file's format is read.
    pub source: Source,
    /// Absolute path.
    pub path: String,
    /// The position up to which the file was read.
    pub cursor: Cursor,
    /// Digest of the bytes before the cursor.
    pub tail: TailDigest,
}

impl Start {
    /// The beginning of a file.
    pub fn beginning(source: Source, path: impl Into<String>) -> Self {
        Self { source, path: path.into(), cursor: Cursor::default(), tail: TailDigest::default() }
    }
}

/// The outcome of a read.
#[derive(Debug)]
pub enum Pass {
    /// The read succeeded, perhaps without new lines.
    Read(Box<Done>),
    /// The file does not continue what was read.
    Rewritten {
        /// The file as it is now.
        identity: FileIdentity,
    },
    /// The file does not exist.
    Gone,
    /// The file cannot be read.
    Unreadable {
        /// The error.
        reason: String,
        /// True if the file's content is the reason, which lasts until the file is written to.
        lasting: bool,
    },
}

/// A completed read.
#[derive(Debug)]
pub struct Done {
    /// The new position.
    pub cursor: Cursor,
    /// Counts over the range that was read.
    pub seen: Observation,
    /// Digest of the bytes before the cursor.
    pub tail: TailDigest,
    /// The conversation's unanswered calls, if the sink wanted items.
    pub open: OpenCalls,
    /// True if the bound of one pass was reached and there is more.
    pub more: bool,
    /// The end of the file when the read began, as far as it is known without reading.
    pub end: u64,
}

/// Counts what was added since `start`: at most [`limits::READ_PASS_BYTES`], rounded up to a whole line.
pub fn observe(start: &Start) -> Pass {
    pass(read(start, OpenCalls::default(), &mut NullSink, End::After(limits::READ_PASS_BYTES)))
}

/// Passes the items after `start` to the sink: at most `bytes`, rounded up to a whole line. For looking at a file
/// without recording anything.
pub fn look(start: &Start, bytes: u64, sink: &mut dyn Sink) -> Pass {
    pass(read(start, OpenCalls::default(), sink, End::After(bytes)))
}

/// Passes the items between `start` and byte `to` to the sink, followed by the session's title, if it is stored beside
/// the transcript's lines and is new. `to` is where an observation ended; if it is no longer the end of a
/// line, the file counts as rewritten.
pub fn items(start: &Start, open: OpenCalls, to: u64, sink: &mut dyn Sink) -> Pass {
    match read(start, open, sink, End::At(to)) {
        Ok(Pass::Read(done)) if done.cursor.offset != to => match identity_of(start) {
            Ok(identity) => Pass::Rewritten { identity },
            Err(error) => failed(&error),
        },
        read => pass(read),
    }
}

/// The working directory according to the head of a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peek {
    /// This directory.
    Cwd(String),
    /// None is named, although there is conversation.
    Nowhere,
    /// None is named, and there is no conversation yet.
    NotYet,
    /// The transcript cannot be read.
    Unreadable,
}

/// Reads the head of a transcript up to the first working directory that it names. Nothing is stored.
pub fn peek(source: Source, path: &str) -> Peek {
    if let Some(directory) = working_directory::find(source.agent, path) {
        return Peek::Cwd(directory);
    }
    let look = || -> io::Result<Peek> {
        let content = Content::open(source.agent, path)?;
        let left = content.size().unwrap_or(u64::MAX);
        let mut bytes = content.from(0)?;
        let (mut sink, mut lines) =
            (NullSink, Lines { bytes: &mut *bytes, left, held: Vec::new(), enough: limits::PEEK_BYTES });
        let mut cursor = Cursor::default();
        let (mut spoken, mut read) = (false, 0);
        while read < limits::PEEK_BYTES && lines.held.len() <= limits::TRANSCRIPT_LINE_BYTES && lines.fill()? {
            let mut reader = Reader::new(source, cursor, OpenCalls::default(), &mut sink);
            read += lines.hand_over(&mut reader);
            let (reached, seen) = reader.into_parts();
            if let Some(cwd) = seen.cwd {
                return Ok(Peek::Cwd(cwd));
            }
            spoken |= seen.conversation > 0;
            cursor = reached;
        }
        Ok(if spoken { Peek::Nowhere } else { Peek::NotYet })
    };
    look().unwrap_or(Peek::Unreadable)
}

/// True if the file at `path` may take over a session that was read from `known` up to `offset`. That is so if `known`
/// is gone, if the other file is longer and has the same bytes before the offset, or if only the other file contains
/// conversation: a transcript that moves with its session may leave a few records at its old path, and Gemini CLI
/// begins a file for each resume and goes on in the old one. Of the two forms of one transcript, the plain one takes
/// over as soon as it exists.
pub fn may_take_over(source: Source, known: &str, path: &str, offset: u64, tail: TailDigest) -> bool {
    let agent = source.agent;
    if content::is_beside_plain(agent, path) {
        return false;
    }
    let yields = transcript::table(agent).is_some_and(|table| table.yields_to_files);
    let is_tree = |store: &str| transcript::tree(agent, store).is_some();
    match (transcript::store_file(agent, known), transcript::store_file(agent, path)) {
        (None, Some(_)) if yields => {
            return std::fs::metadata(known).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        }
        (Some(_), None) if yields => return true,
        // A database takes the place of the files that an earlier version wrote.
        (None, Some(_)) => return true,
        (Some(known), Some(store)) if is_tree(known) && !is_tree(store) => return true,
        (Some(_), _) => {
            return Content::open(agent, known).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        }
        (None, None) => {}
    }
    let Ok(at_known) = std::fs::metadata(known) else { return true };
    if content::are_one(agent, known, path) {
        return true;
    }
    let compare = || -> io::Result<bool> {
        let content = Content::open(agent, path)?;
        let (size, known_size) = (content.metadata().len(), at_known.len());
        Ok(offset > 0 && size > known_size && content.digest_before(offset)? == Some(tail))
    };
    let conversation = |path: &str| match observe(&Start::beginning(source, path)) {
        Pass::Read(done) => Some(done.seen.conversation),
        _ => None,
    };
    let is_silent = || at_known.len() < limits::PEEK_BYTES && conversation(known) == Some(0);
    compare().unwrap_or(false) || (is_silent() && conversation(path).is_some_and(|records| records > 0))
}

fn pass(read: io::Result<Pass>) -> Pass {
    read.unwrap_or_else(|error| failed(&error))
}

fn failed(error: &io::Error) -> Pass {
    match error.kind() {
        io::ErrorKind::NotFound => Pass::Gone,
        kind => Pass::Unreadable { reason: error.to_string(), lasting: kind == io::ErrorKind::InvalidData },
    }
}

fn identity_of(start: &Start) -> io::Result<FileIdentity> {
    Ok(transcript_file::identity(Content::open(start.source.agent, &start.path)?.metadata()))
}

enum End {
    /// The end of the file, or the first line end after this many bytes.
    After(u64),
    /// This byte.
    At(u64),
}

fn read(start: &Start, open_calls: OpenCalls, sink: &mut dyn Sink, end: End) -> io::Result<Pass> {
    let content = Content::open(start.source.agent, &start.path)?;
    let identity = transcript_file::identity(content.metadata());
    let offset = start.cursor.offset;
    let needed = match end {
        End::After(_) => offset,
        End::At(to) => to,
    };
    let is_short = content.size().is_some_and(|size| size < needed);
    if is_short || (offset > 0 && content.digest_before(offset)? != Some(start.tail)) {
        return Ok(Pass::Rewritten { identity });
    }
    let (to_the_end, is_compressed) = (matches!(end, End::At(_)), content.is_compressed());
    let (end, enough) = match end {
        End::After(_) if is_compressed => (u64::MAX, u64::MAX),
        End::After(bytes) => (content.size().unwrap_or(u64::MAX), bytes),
        // The index job holds all of its items anyway.
        End::At(to) => (to, u64::MAX),
    };
    let mut bytes = content.from(offset)?;
    let session_folder = SessionFolder::of_transcript(&start.path);
    let wants_text = sink.wants_text();
    let mut reader = Reader::new(start.source, start.cursor.clone(), open_calls, sink).with_spilled(&session_folder);
    let (left, stood) = (end.saturating_sub(offset), end);
    let more = Lines { bytes: &mut *bytes, left, held: Vec::new(), enough }.feed(&mut reader)?;
    if wants_text && to_the_end && start.source.agent == Agent::ClaudeCode && !start.source.subagent {
        session_folder.title().into_iter().for_each(|title| reader.add_title(TitleSource::Person, &title));
    }
    if wants_text && to_the_end {
        let file = transcript::layout(start.source.agent).title.filter(|_| !start.source.subagent);
        let beside = file.and_then(|(file, pointer)| plain_file::text_beside(start.path.as_ref(), file, pointer));
        let title = content.title().map(str::to_owned).or(beside);
        title.into_iter().for_each(|title| reader.add_title(TitleSource::Model, &title));
    }
    if is_compressed {
        // Reads the rest, so that damage behind the end is reported too instead of taking an empty beginning of a
        // broken file for all there is.
        io::copy(&mut bytes, &mut io::sink())?;
    }
    drop(bytes);
    let open = reader.open_calls();
    let (cursor, seen) = reader.into_parts();
    let tail = match cursor.offset == offset {
        true => start.tail,
        // A file that is now shorter than what was read is another one: nothing continues there.
        false => content.digest_before(cursor.offset)?.unwrap_or_default(),
    };
    Ok(Pass::Read(Box::new(Done { cursor, seen, tail, open, more, end: stood })))
}

/// Capacity beyond what usual lines need.
const ROOMY_BYTES: usize = 4 * limits::READ_BLOCK_BYTES;

/// Feeds blocks of a file to a reader and holds back incomplete lines.
struct Lines<'a> {
    bytes: &'a mut dyn Read,
    /// Bytes up to the end at which the read began.
    left: u64,
    held: Vec<u8>,
    /// Bytes after which one pass ends.
    enough: u64,
}

impl Lines<'_> {
    /// Returns true if there is more beyond the bound of one pass.
    fn feed(mut self, reader: &mut Reader<'_>) -> io::Result<bool> {
        let mut passed = 0;
        while self.fill()? {
            passed += self.hand_over(reader);
            while self.held.len() > limits::TRANSCRIPT_LINE_BYTES {
                // An oversized line without an end yet is held back like any incomplete line.
                let Some((head, length)) = self.pass_over_line()? else { return Ok(false) };
                reader.oversize(&head, length);
                passed += length + self.hand_over(reader);
            }
            if passed >= self.enough && self.left > 0 {
                return Ok(true);
            }
        }
        if !self.held.is_empty() {
            reader.finish(&self.held);
        }
        Ok(false)
    }

    /// Passes all whole lines to the reader and returns their length in bytes.
    fn hand_over(&mut self, reader: &mut Reader<'_>) -> u64 {
        let consumed = reader.feed(&self.held);
        self.held.drain(..consumed);
        // The memory of an oversized line is released after it.
        if self.held.capacity() > ROOMY_BYTES {
            self.held.shrink_to(2 * limits::READ_BLOCK_BYTES);
        }
        consumed as u64
    }

    /// Reads one more block. Returns false at the end.
    fn fill(&mut self) -> io::Result<bool> {
        let block = self.left.min(limits::READ_BLOCK_BYTES as u64);
        self.held.reserve(usize::try_from(block).unwrap_or(0));
        let read = self.bytes.take(block).read_to_end(&mut self.held)?;
        // The file is being truncated: what is left of it is its end now.
        self.left = if read == 0 { 0 } else { self.left - read as u64 };
        Ok(read > 0)
    }

    /// Skips the rest of a line that is too long to hold. Returns its beginning, and its length including the newline.
    fn pass_over_line(&mut self) -> io::Result<Option<(Vec<u8>, u64)>> {
        let mut head = std::mem::take(&mut self.held);
        let mut length = head.len() as u64;
        head.truncate(limits::READ_BLOCK_BYTES);
        while self.fill()? {
            if let Some(end) = self.held.iter().position(|byte| *byte == b'\n') {
                length += end as u64 + 1;
                self.held.drain(..=end);
                return Ok(Some((head, length)));
            }
            length += self.held.len() as u64;
            self.held.clear();
        }
        Ok(None)
    }
}

#[cfg(test)]
mod documents;
#[cfg(test)]
mod rewriting;

#[cfg(test)]
mod tests;
