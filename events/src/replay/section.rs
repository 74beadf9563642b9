//! A run of whole lines of an export, read and checked as far as it can be by itself: so sections can be read side by side
//! and then be [taken in](super::Replay::take) one after another.

use super::{Error, Occurrence};
use crate::envelope;
use crate::envelope::{ChainHash, chain};
use crate::schema::export;
use crate::schema::export::{End, Header, Line};

/// A line of an export, as far as a replay needs it.
#[derive(Clone, Debug)]
pub enum Entry {
    /// The first line.
    Header(Header),
    /// An event.
    Event(Box<Occurrence>, ChainHash, Link),
    /// So many lines of conversations and of kinds that are not known.
    Passed {
        /// All of them.
        lines: u64,
        /// Items among them.
        items: u64,
    },
    /// The last line.
    End(End),
}

/// How a record's chain hash stands to the record before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// It follows.
    Holds,
    /// It does not.
    Broken,
    /// Nothing in the section stands before it: its bytes, to be looked at with the hash before them.
    Open(Vec<u8>),
}

/// Lines that were read: each with its number, from 1.
#[derive(Debug, Default)]
pub struct Section {
    /// The lines, up to the first that is none of an export.
    pub entries: Vec<(u64, Entry)>,
    /// Why the reading ended before the section did.
    pub failed: Option<Error>,
}

impl Section {
    /// Reads whole lines, the first of them number `first`. Any bytes may come.
    pub fn read(bytes: &[u8], first: u64, keep_data: bool) -> Self {
        let mut section = Self::default();
        let mut before = None;
        let mut scratch = Vec::new();
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let ends = memchr::memchr_iter(b'\n', bytes).chain([bytes.len()]);
        let mut from = 0;
        for (number, end) in (first..).zip(ends) {
            let line = &bytes[std::mem::replace(&mut from, end + 1)..end];
            match read_line(line, number, &mut before, &mut scratch, keep_data) {
                Ok(Entry::Passed { items, .. }) => section.pass(number, items),
                Ok(entry) => section.entries.push((number, entry)),
                Err(error) => {
                    section.failed = Some(error);
                    break;
                }
            }
        }
        section
    }

    fn pass(&mut self, number: u64, more: u64) {
        match self.entries.last_mut() {
            Some((_, Entry::Passed { lines, items })) => {
                *lines += 1;
                *items += more;
            }
            _ => self.entries.push((number, Entry::Passed { lines: 1, items: more })),
        }
    }
}

fn read_line(
    line: &[u8],
    number: u64,
    before: &mut Option<ChainHash>,
    scratch: &mut Vec<u8>,
    keep_data: bool,
) -> Result<Entry, Error> {
    // Most of a file are words of conversations, and a replay has no use for them.
    if line.starts_with(b"{\"item\":") {
        return Ok(Entry::Passed { lines: 1, items: 1 });
    }
    let text = str::from_utf8(line).map_err(|_| Error::NoText { line: number })?;
    let record = match export::read(text).map_err(|source| Error::NoLine { line: number, source })? {
        Line::Header(header) => return Ok(Entry::Header(header)),
        Line::End(end) => return Ok(Entry::End(end)),
        Line::Item(_) => return Ok(Entry::Passed { lines: 1, items: 1 }),
        Line::Manifest { .. }
        | Line::Chunk { .. }
        | Line::Note { .. }
        | Line::Missing { .. }
        | Line::Forgotten { .. }
        | Line::Other => return Ok(Entry::Passed { lines: 1, items: 0 }),
        Line::Record(record) => record,
    };
    scratch.clear();
    scratch.push(record.format);
    scratch.extend_from_slice(record.json.as_bytes());
    let stored = envelope::decode(scratch).map_err(|source| Error::NoRecord { line: number, source })?;
    let link = match before.replace(record.chain) {
        Some(before) if chain(before, scratch) == record.chain => Link::Holds,
        Some(_) => Link::Broken,
        None => Link::Open(scratch.clone()),
    };
    Ok(Entry::Event(Box::new(Occurrence::of(stored, keep_data)), record.chain, link))
}
