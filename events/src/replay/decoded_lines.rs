//! A run of whole lines of an export, read and checked as far as possible by itself, so that sections can be read in
//! parallel and then [taken in](super::Replay::apply) in order.

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
    /// Lines of conversations and of unknown kinds.
    Skipped {
        /// Number of lines.
        lines: u64,
        /// Number of items among them.
        items: u64,
    },
    /// The last line.
    End(End),
}

/// How a record's chain hash relates to the previous record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// It follows from it.
    Holds,
    /// It does not follow from it.
    Broken,
    /// Unknown, as no earlier line has a record: the bytes, to be checked with the previous hash.
    Open(Vec<u8>),
}

/// Decoded lines, each with its number from 1.
#[derive(Debug, Default)]
pub struct DecodedLines {
    /// The lines before the first invalid one.
    pub entries: Vec<(u64, Entry)>,
    /// Why reading stopped before the end of the lines.
    pub failed: Option<Error>,
}

impl DecodedLines {
    /// Reads whole lines; `first` is the number of the first one. Accepts arbitrary bytes.
    pub fn read(bytes: &[u8], first: u64, keep_data: bool) -> Self {
        let mut lines = Self::default();
        let mut before = None;
        let mut scratch = Vec::new();
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let ends = memchr::memchr_iter(b'\n', bytes).chain([bytes.len()]);
        let mut from = 0;
        for (number, end) in (first..).zip(ends) {
            let line = &bytes[std::mem::replace(&mut from, end + 1)..end];
            match read_line(line, number, &mut before, &mut scratch, keep_data) {
                Ok(Entry::Skipped { items, .. }) => lines.skip(number, items),
                Ok(entry) => lines.entries.push((number, entry)),
                Err(error) => {
                    lines.failed = Some(error);
                    break;
                }
            }
        }
        lines
    }

    fn skip(&mut self, number: u64, more: u64) {
        match self.entries.last_mut() {
            Some((_, Entry::Skipped { lines, items })) => {
                *lines += 1;
                *items += more;
            }
            _ => self.entries.push((number, Entry::Skipped { lines: 1, items: more })),
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
    // Most lines of a file are conversation items, which a replay does not need.
    if line.starts_with(b"{\"item\":") {
        return Ok(Entry::Skipped { lines: 1, items: 1 });
    }
    let text = str::from_utf8(line).map_err(|_| Error::NoText { line: number })?;
    let record = match export::read(text).map_err(|source| Error::NoLine { line: number, source })? {
        Line::Header(header) => return Ok(Entry::Header(header)),
        Line::End(end) => return Ok(Entry::End(end)),
        Line::Item(_) => return Ok(Entry::Skipped { lines: 1, items: 1 }),
        Line::Manifest { .. }
        | Line::Chunk { .. }
        | Line::Note { .. }
        | Line::Missing { .. }
        | Line::Forgotten { .. }
        | Line::Other => return Ok(Entry::Skipped { lines: 1, items: 0 }),
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
    Ok(Entry::Event(Box::new(Occurrence::decode(stored, keep_data)), record.chain, link))
}
