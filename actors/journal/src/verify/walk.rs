//! One pass over all segments of a log, which checks every record against the chain, its position and its stream, up to
//! the first place that cannot be read.

use std::io;
use std::path::Path;

use baton_events::envelope;
use baton_events::envelope::{ChainHash, StoredRecord, Tail};

use super::super::ledger::Ledger;
use super::super::segment::{self, Frames, HEADER_BYTES, Header};
use super::Damaged;

/// How far the segments are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// Up to this tail; more may be written after it meanwhile.
    Tail(Tail),
    /// To their end; nobody writes.
    End,
}

/// How a walk over the segments ended.
#[derive(Debug)]
pub(crate) enum WalkEnd {
    /// At the end.
    Whole,
    /// The receiver stopped it.
    Stopped,
    /// At the first place that cannot be read.
    Damaged(Damaged),
}

/// One pass over all segments of a folder.
pub(crate) struct Walk<'a> {
    folder: &'a Path,
    until: Until,
    pub(crate) ledger: Ledger,
    pub(crate) segments: u64,
    pub(crate) bytes: u64,
    append_continues: bool,
}

/// One valid record.
pub(crate) struct WalkedRecord<'f> {
    pub(crate) record: &'f StoredRecord,
    pub(crate) bytes: &'f [u8],
    /// The chain hash at it.
    pub(crate) chain: ChainHash,
    /// Segment number and offset.
    pub(crate) place: (u32, usize),
    /// True if it belongs to the same append as the record before it.
    pub(crate) same_append: bool,
}

type Receive<'t> = dyn FnMut(&WalkedRecord<'_>) -> bool + 't;

impl<'a> Walk<'a> {
    pub(crate) fn new(folder: &'a Path, until: Until) -> Self {
        Self { folder, until, ledger: Ledger::default(), segments: 0, bytes: 0, append_continues: false }
    }

    fn is_done(&self) -> bool {
        matches!(self.until, Until::Tail(tail) if self.ledger.tail().position >= tail.position)
    }

    /// Passes each valid record to `receive` until that returns `false`. Fails only if the folder cannot be listed.
    pub(crate) fn run(&mut self, receive: &mut Receive<'_>) -> io::Result<WalkEnd> {
        let numbers = match segment::list(self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            listed => listed?,
        };
        for (number, expected) in numbers.iter().copied().zip(1..) {
            if self.is_done() {
                return Ok(WalkEnd::Whole);
            }
            if number != expected {
                let what = format!("the file is missing, but {number:04} exists");
                return Ok(WalkEnd::Damaged(self.damaged(expected, 0, what, false)));
            }
            match self.walk_segment(number, numbers.last() == Some(&number), receive) {
                WalkEnd::Whole => {}
                ended => return Ok(ended),
            }
        }
        if let Until::Tail(tail) = self.until
            && self.ledger.tail().position < tail.position
        {
            let what = format!("the segments end before position {}", tail.position);
            let last = numbers.last().copied().unwrap_or(1);
            return Ok(WalkEnd::Damaged(self.damaged(last, 0, what, false)));
        }
        Ok(WalkEnd::Whole)
    }

    fn walk_segment(&mut self, number: u32, is_last: bool, receive: &mut Receive<'_>) -> WalkEnd {
        let begin = self.ledger.tail();
        let (bytes, cut_short) = match segment::load_partial(&segment::unsealed_path(self.folder, number)) {
            Ok(loaded) => loaded,
            Err(error) => {
                return WalkEnd::Damaged(self.damaged(number, 0, format!("it cannot be read: {error}"), false));
            }
        };
        let expected = Header { first: begin.position.next(), before: begin.chain };
        match Header::decode(&bytes) {
            Ok(header) if header == expected => {}
            Ok(header) => {
                let what = format!("its header says that it begins at position {} of another history", header.first);
                return WalkEnd::Damaged(self.damaged(number, 0, what, false));
            }
            Err(error) => {
                // Records follow only a synced header, so a segment that short never had any.
                let torn = is_last && bytes.len() <= HEADER_BYTES && self.until == Until::End;
                return WalkEnd::Damaged(self.damaged(number, 0, error.to_string(), torn));
            }
        }
        self.segments += 1;
        for frame in Frames::new(&bytes, HEADER_BYTES, begin.chain) {
            if self.is_done() {
                return WalkEnd::Whole;
            }
            let frame = match frame {
                Ok(frame) => frame,
                Err(bad) => {
                    let behind = segment::find_later_group(&bytes, bad, self.ledger.tail().chain);
                    let torn = is_last && behind.is_none() && cut_short.is_none() && self.until == Until::End;
                    let what = cut_short.unwrap_or_else(|| bad.what.to_owned());
                    return WalkEnd::Damaged(self.damaged(number, bad.offset, what, torn));
                }
            };
            let record = match envelope::decode(frame.record) {
                Ok(record) => record,
                Err(error) => return WalkEnd::Damaged(self.damaged(number, frame.offset, error.to_string(), false)),
            };
            if let Err(what) = self.ledger.admit(&record, frame.chain) {
                return WalkEnd::Damaged(self.damaged(number, frame.offset, what, false));
            }
            self.bytes += (frame.end - frame.offset) as u64;
            let found = WalkedRecord {
                record: &record,
                bytes: frame.record,
                chain: frame.chain,
                place: (number, frame.offset),
                same_append: self.append_continues,
            };
            let wanted = receive(&found);
            self.append_continues = frame.append_continues;
            if !wanted {
                return WalkEnd::Stopped;
            }
        }
        match cut_short {
            Some(what) => WalkEnd::Damaged(self.damaged(number, bytes.len(), what, false)),
            None => WalkEnd::Whole,
        }
    }

    fn damaged(&self, segment: u32, offset: usize, what: String, torn: bool) -> Damaged {
        let (path, position) = (segment::path_on_disk(self.folder, segment), self.ledger.tail().position.next());
        Damaged { segment, path, offset: offset as u64, position, what, torn }
    }
}
