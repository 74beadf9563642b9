//! The Markdown of Aider's history as blocks, and one session's as lines.
//!
//! Aider appends without marking where a message ends, so its own habits decide: a line that it adds itself (a
//! prompt's, or a message's last) ends in two spaces, a blank line stands before a prompt and around an answer, and two
//! before a prompt that follows an answer. That tells apart what only looks like a prompt, a message or a header in an
//! answer. In a file that lost its trailing spaces, fences decide instead.
//!
//! # Hazards
//!
//! - Text before the first header is of no session.
//! - Two programs that run in one directory at once write to one file: what they say goes to the one begun last.

use std::ops::Range;

use memchr::memmem;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use time::PrimitiveDateTime;
use time::macros::format_description;

use super::super::session_file::{StoredPath, StoredSession, WallClock};
use super::edits;
use crate::record::{SessionId, Timestamp};

/// Begins a session's header, before its time.
const HEADER: &[u8] = b"# aider chat started at ";
/// Begins each line of a prompt.
const PROMPT: &[u8] = b"####";
/// Begins a message of the program.
const MESSAGE: &[u8] = b">";
/// Ends a line that Aider adds itself.
const BREAK: &[u8] = b"  ";
/// Lines after a header that show whether the file has kept its trailing spaces.
const LEAD_LINES: usize = 64;
/// Most sessions of a file that are read, the last ones: each is looked for by its id.
const MAX_SESSIONS: usize = 5_000;
/// Bytes of an id, which is written in twice as many digits.
const ID_BYTES: usize = 8;
/// Lines in which the end of a quotation is looked for.
const QUOTED_LINES: usize = 2_000;
/// The message before what was said of an answer that a person interrupted.
pub(super) const INTERRUPTED: &str = "^C again to exit";
/// Messages that stand after an answer, even if a fence in it was left open.
const AFTER_ANSWERS: &[&str] = &["Tokens: ", "Applied edit to ", "Commit ", "^C "];

/// The sessions of a file.
pub(super) fn sessions(path: &str, bytes: &[u8]) -> Vec<StoredSession> {
    let mut sessions: Vec<StoredSession> = Vec::new();
    let mut ids = Ids::new(path, bytes);
    let mut at = ids.next_header(0);
    while let Some((from, session)) = at {
        let end = from + section(&bytes[from..]).length;
        sessions.push(StoredSession { session, bytes: from..end, began: began(&bytes[from..end]) });
        // A quoted header is no header, but has a number of its own.
        at = ids.next_header(end);
    }
    sessions.drain(..sessions.len().saturating_sub(MAX_SESSIONS));
    sessions
}

/// The lines of one session: its header, and one for each prompt, answer and message.
pub(super) fn lines(path: &StoredPath<'_>, bytes: &[u8], clock: &WallClock<'_>) -> Option<Vec<u8>> {
    let mut ids = Ids::new(path.file, bytes);
    let mut at = 0;
    let from = loop {
        let (from, session) = ids.next_header(at)?;
        if session.as_str() == path.session {
            break from;
        }
        at = from + 1;
    };
    let bytes = &bytes[from..];
    let directory = path.file.rsplit_once(['/', '\\']).map_or("", |(directory, _)| directory);
    let started = began(bytes).map(|wall| Timestamp(clock(wall)).to_string());
    let mut out = Vec::with_capacity(bytes.len());
    let mut write = |value: Value| {
        out.extend(value.to_string().as_bytes());
        out.push(b'\n');
    };
    write(json!({ "type": "session", "cwd": directory, "timestamp": started }));
    let mut edits = Vec::new();
    for block in section(bytes).blocks {
        let mut record = json!({ "type": block.kind.name(), "text": block.text });
        match block.kind {
            Kind::Answer => edits = edits::of_answer(&block.text),
            Kind::Prompt => edits.clear(),
            Kind::Message => {
                if let Some(file) = block.text.strip_prefix(edits::APPLIED) {
                    record["edits"] = edits::taken(&mut edits, file).into();
                }
            }
        }
        write(record);
    }
    Some(out)
}

/// The places of headers, and the ids of the sessions that they begin.
struct Ids<'b> {
    path: &'b str,
    bytes: &'b [u8],
    found: memmem::FindIter<'b, 'static>,
    /// How often each time was named so far.
    named: std::collections::BTreeMap<&'b [u8], usize>,
}

impl<'b> Ids<'b> {
    fn new(path: &'b str, bytes: &'b [u8]) -> Self {
        Self { path, bytes, found: memmem::find_iter(bytes, HEADER), named: std::collections::BTreeMap::new() }
    }

    /// The first possible header at or after `from`, and the session's id.
    fn next_header(&mut self, from: usize) -> Option<(usize, SessionId)> {
        loop {
            let at = self.found.next()?;
            let line = self.bytes[at..].split(|byte| *byte == b'\n').next().unwrap_or_default();
            let time = line.strip_suffix(b"\r").unwrap_or(line);
            let is_line = at == 0 || self.bytes[at - 1] == b'\n';
            if !is_line || !is_header(time) {
                continue;
            }
            let count = self.named.entry(time).or_default();
            *count += 1;
            if at >= from {
                let mut digest = Sha256::new();
                for part in [self.path.as_bytes(), time, count.to_string().as_bytes()] {
                    digest.update(part);
                    digest.update(b"\n");
                }
                let id: String = digest.finalize()[..ID_BYTES].iter().map(|byte| format!("{byte:02x}")).collect();
                return Some((at, SessionId::new(&id)?));
            }
        }
    }
}

/// When a session began, by the clock on the wall.
fn began(section: &[u8]) -> Option<i64> {
    let time = section.get(HEADER.len()..HEADER.len() + "2026-03-14 09:26:53".len())?;
    let format = format_description!("[year]-[month]-[day] [hour]:[minute]:[second]");
    let wall = PrimitiveDateTime::parse(std::str::from_utf8(time).ok()?, format).ok()?;
    wall.assume_utc().unix_timestamp().checked_mul(1_000)
}

/// True for a header's line, without its end.
fn is_header(line: &[u8]) -> bool {
    let time = line.strip_prefix(HEADER);
    time.is_some_and(|time| time.len() == "2026-03-14 09:26:53".len() && time.iter().all(is_of_time))
}

fn is_of_time(byte: &u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'-' | b' ' | b':')
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Prompt,
    Answer,
    Message,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Prompt => "user",
            Self::Answer => "assistant",
            Self::Message => "tool",
        }
    }
}

struct Block {
    kind: Kind,
    text: String,
}

/// One session's part of a file.
struct Section {
    blocks: Vec<Block>,
    /// Its length in bytes, up to the next header.
    length: usize,
}

/// Reads a session that begins with its header. What may still be being written at the end is left out.
fn section(bytes: &[u8]) -> Section {
    let mut lines = Lines::new(bytes);
    let mut blocks: Vec<Block> = Vec::new();
    let mut blank = 0;
    while let Some(line) = lines.get(lines.at) {
        let is_first = blocks.is_empty();
        if line.trim_ascii().is_empty() {
            blank += 1;
            lines.at += 1;
            continue;
        }
        if blank > 0 && lines.is_header(lines.at) {
            break;
        }
        let start = lines.at;
        // Only an answer stands behind a blank line, besides prompts and what follows an answer.
        let continues = blank == 0 && blocks.last().is_some_and(|block| block.kind == Kind::Message);
        let kind = match () {
            () if lines.is_prompt(line) => Kind::Prompt,
            () if lines.is_message(line) || continues => Kind::Message,
            () if line.starts_with(MESSAGE) && (blank == 0 || is_first || is_after_answers(line)) => Kind::Message,
            () => Kind::Answer,
        };
        let is_whole = match kind {
            Kind::Prompt => lines.pass_prompt(),
            Kind::Message => lines.pass_message(),
            Kind::Answer => {
                let is_cut = blocks.last().is_some_and(|block| block.text == INTERRUPTED);
                lines.pass_answer(is_cut)
            }
        };
        if !is_whole {
            break;
        }
        match blocks.last_mut() {
            Some(last) if continues && kind == Kind::Message && !line.starts_with(MESSAGE) => {
                last.text += "\n";
                last.text += &lines.text(Kind::Answer, start..lines.at);
            }
            _ => blocks.push(Block { kind, text: lines.text(kind, start..lines.at) }),
        }
        blank = lines.blank_before(lines.at);
    }
    let length = match lines.get(lines.at) {
        Some(_) if lines.is_header(lines.at) => lines.starts[lines.at],
        _ => bytes.len(),
    };
    Section { blocks, length }
}

/// The whole lines of a session.
struct Lines<'b> {
    bytes: &'b [u8],
    /// Where each begins; the last one is the end of the last line.
    starts: Vec<usize>,
    /// The line that is looked at.
    at: usize,
    /// True if the lines that Aider ends still have their two spaces.
    has_breaks: bool,
}

impl<'b> Lines<'b> {
    fn new(bytes: &'b [u8]) -> Self {
        let starts = std::iter::once(0).chain(memchr::memchr_iter(b'\n', bytes).map(|end| end + 1)).collect();
        let lines = Self { bytes, starts, at: 1, has_breaks: true };
        let mut lead = (1..LEAD_LINES).map_while(|at| lines.get(at)).filter(|line| line.starts_with(MESSAGE));
        let has_breaks = lead.clone().next().is_none() || lead.any(|line| line.ends_with(BREAK));
        Self { has_breaks, ..lines }
    }

    /// A whole line without its end.
    fn get(&self, at: usize) -> Option<&'b [u8]> {
        let line = &self.bytes[*self.starts.get(at)?..self.starts.get(at + 1)? - 1];
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }

    fn is_blank(&self, at: usize) -> bool {
        self.get(at).is_some_and(|line| line.trim_ascii().is_empty())
    }

    /// The number of blank lines before a line.
    fn blank_before(&self, at: usize) -> usize {
        (0..at).rev().take_while(|at| self.is_blank(*at)).count()
    }

    /// True if a line is a header, which a blank line follows.
    fn is_header(&self, at: usize) -> bool {
        self.get(at).is_some_and(is_header) && self.is_blank(at + 1)
    }

    /// True for a line of a prompt.
    fn is_prompt(&self, line: &[u8]) -> bool {
        let rest = line.strip_prefix(PROMPT);
        rest.is_some_and(|rest| matches!(rest.first(), None | Some(b' ')) && self.ends(line))
    }

    /// True for a message of one line, or the first of several in a file without breaks.
    fn is_message(&self, line: &[u8]) -> bool {
        line.starts_with(MESSAGE) && self.ends(line)
    }

    fn ends(&self, line: &[u8]) -> bool {
        !self.has_breaks || line.ends_with(BREAK)
    }

    fn pass_prompt(&mut self) -> bool {
        while self.get(self.at).is_some_and(|line| self.is_prompt(line)) {
            self.at += 1;
        }
        true
    }

    /// A message ends with the first line that Aider has ended. Returns false if there is none yet.
    fn pass_message(&mut self) -> bool {
        while let Some(line) = self.get(self.at) {
            if self.is_next(self.at, 1) {
                return true;
            }
            self.at += 1;
            if self.ends(line) {
                return true;
            }
        }
        false
    }

    /// True if a header or a prompt begins at a line, behind this number of blank lines.
    fn is_next(&self, at: usize, blank: usize) -> bool {
        let is_start = |line: &[u8]| self.is_prompt(line) || self.is_header(at);
        self.get(at).is_some_and(is_start) && self.blank_before(at) >= blank
    }

    /// An answer ends where something else begins. Returns false if it may still be being written.
    fn pass_answer(&mut self, is_cut: bool) -> bool {
        let mut fence: Option<&[u8]> = None;
        let blank = if self.has_breaks { 2 } else { 1 };
        while let Some(line) = self.get(self.at) {
            let is_message = line.starts_with(MESSAGE)
                && self.is_blank(self.at - 1)
                && (is_after_answers(line) || self.has_breaks && self.is_message(line) && fence.is_none());
            if (is_message || self.is_next(self.at, blank)) && (is_cut || !self.is_quoted(fence)) {
                return true;
            }
            fence = pass_fence(fence, line);
            self.at += 1;
        }
        self.is_blank(self.at - 1) && self.starts.last() == Some(&self.bytes.len())
    }

    /// True if the line stands in a fence that is closed later. The fence of an answer that was cut off is not.
    fn is_quoted(&self, fence: Option<&[u8]>) -> bool {
        let Some(open) = fence else { return false };
        let ahead = (self.at..self.at + QUOTED_LINES).map_while(|at| self.get(at)).map(<[u8]>::trim_ascii);
        let mut fences = ahead.filter(|line| line.starts_with(open));
        fences.next().is_some_and(|line| line.iter().all(|byte| *byte == open[0]))
    }

    /// The text of a block's lines, without what marks them.
    fn text(&self, kind: Kind, at: Range<usize>) -> String {
        let lines = at.filter_map(|at| self.get(at)).enumerate().map(|(number, line)| {
            let mark = match kind {
                Kind::Prompt => PROMPT,
                Kind::Message if number == 0 => MESSAGE,
                _ => b"",
            };
            if kind == Kind::Answer {
                return line;
            }
            let line = line.strip_suffix(BREAK).unwrap_or(line);
            let line = line.strip_prefix(mark).unwrap_or(line);
            if mark.is_empty() { line } else { line.strip_prefix(b" ").unwrap_or(line) }
        });
        let text = lines.collect::<Vec<_>>().join(&b'\n');
        let text = String::from_utf8_lossy(&text);
        let text = if kind == Kind::Answer { text.trim() } else { text.trim_end() };
        text.replace('\0', "")
    }
}

/// True for messages that Aider writes after an answer.
fn is_after_answers(line: &[u8]) -> bool {
    let said = line.strip_prefix(MESSAGE).unwrap_or_default().trim_ascii_start();
    AFTER_ANSWERS.iter().any(|lead| said.starts_with(lead.as_bytes()))
}

/// The fence that is open after a line: its letters.
fn pass_fence<'b>(open: Option<&'b [u8]>, line: &'b [u8]) -> Option<&'b [u8]> {
    let line = line.trim_ascii();
    let letter = line.first().filter(|letter| matches!(letter, b'`' | b'~'));
    let length = line.iter().take_while(|byte| Some(*byte) == letter).count();
    match open {
        _ if length < 3 => open,
        None => Some(&line[..length]),
        Some(open) if length == line.len() && line.starts_with(open) => None,
        open => open,
    }
}
