//! Comparing the index of a log with its segments, in both directions, while these are read.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::{PoisonError, RwLock};

use baton_conversation::record::{Position, SequenceNumber};
use baton_events::envelope::{ChainHash, Tail};
use sha2::{Digest, Sha256};

use super::super::index::{Error, Group, Index, StreamKey};
use super::super::ledger::Ledger;
use super::super::segment::scan::{Extent, Scan};
use super::{Auditor, Finding};

/// Groups or keys of the index read in one step; a replacement of the index may have to wait for one step.
const STEP: usize = 256;
/// Wrong stream keys that are reported one by one.
const KEYS_REPORTED: usize = 3;

/// A sum over keys by stream: two sets of keys are equal if their sums and counts are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct KeySum {
    pub(super) count: u64,
    sum: u128,
}

impl KeySum {
    pub(super) fn add(&mut self, stream: &[u8], sequence: SequenceNumber, position: Position) {
        let mut digest = Sha256::new();
        digest.update(sequence.0.to_be_bytes());
        digest.update(position.0.to_be_bytes());
        digest.update(stream);
        let mut word = [0; 16];
        word.copy_from_slice(&digest.finalize()[..16]);
        self.count += 1;
        self.sum = self.sum.wrapping_add(u128::from_be_bytes(word));
    }
}

/// Reports that the index reaches `position`, beyond the end of the segments at `tail`.
pub(super) fn index_ahead(position: Position, tail: Tail) -> Finding {
    let lost = position.0.saturating_sub(tail.position.0);
    Finding {
        what: format!("the segments lack the last {lost} records, which the index has"),
        place: format!("position {}", tail.position.next()),
        fix: "`baton daemon`: the valid ones are restored from the index".to_owned(),
    }
}

/// The index while the segments are read.
pub(super) struct IndexComparison<'a> {
    index: &'a RwLock<Option<Index>>,
    /// The index is compared up to here. On a closed log this is its own end; it takes in what it lacks at the next
    /// start.
    pub(super) limit: Tail,
    groups: VecDeque<Group>,
    pub(super) compared: u64,
    pub(super) findings: Vec<Finding>,
    /// True once the records differ; the rest is not compared.
    ended: bool,
}

impl<'a> IndexComparison<'a> {
    pub(super) fn new(index: &'a RwLock<Option<Index>>, until: Option<Tail>) -> Self {
        let groups = VecDeque::new();
        let mut new = Self { index, limit: Tail::default(), groups, compared: 0, findings: Vec::new(), ended: false };
        match (until, new.read_index(Index::applied)) {
            (_, Err(error)) => new.report_difference("log/sled".to_owned(), error),
            (Some(tail), Ok(_)) => new.limit = tail,
            (None, Ok(applied)) => new.limit = applied,
        }
        new
    }

    fn read_index<T>(&self, read: impl FnOnce(&Index) -> Result<T, Error>) -> Result<T, String> {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        let index = index.as_ref().ok_or_else(|| "it is not open".to_owned())?;
        read(index).map_err(|error| error.to_string())
    }

    fn report_difference(&mut self, place: String, what: String) {
        self.ended = true;
        self.findings.push(Finding {
            what: format!("the index of the log differs from its segments: {what}"),
            place,
            fix: "`baton stop`, delete `log/sled/`, then `baton daemon`: it is rebuilt from the segments, which are whole"
                .to_owned(),
        });
    }

    pub(super) fn compare(&mut self, position: Position, record: &[u8], chain: ChainHash) {
        if self.ended {
            return;
        }
        let place = format!("position {position}");
        if self.groups.is_empty() {
            match self.read_index(|index| index.groups(position, STEP)) {
                Ok(groups) => self.groups.extend(groups),
                Err(error) => return self.report_difference(place, error),
            }
        }
        let Some(group) = self.groups.front() else {
            return self.report_difference(place, "it ends before that".to_owned());
        };
        let goes_on = group.get(position.next()).is_some();
        match group.get(position) {
            Some(entry) if entry.bytes == record && entry.chain == chain => self.compared += 1,
            Some(_) => return self.report_difference(place, "the record there is a different one".to_owned()),
            None => {
                let first = group.first();
                return self.report_difference(place, format!("it goes on with position {first}"));
            }
        }
        if !goes_on {
            self.groups.pop_front();
        }
    }

    /// Checks that the index ends on the chain of the segments, which end at `tail`.
    pub(super) fn check_end(&mut self, tail: Tail) {
        let Tail { position, chain } = self.limit;
        if position > tail.position {
            // Only the index has these records, so no other finding may suggest deleting it.
            self.ended = true;
            self.findings.clear();
            self.findings.push(index_ahead(position, tail));
        } else if !self.ended && position == tail.position && chain != tail.chain {
            self.report_difference(format!("position {position}"), format!("it ends with chain {chain}"));
        }
    }

    /// Compares the keys by stream with those of the records. Returns false if the auditor stopped it.
    pub(super) fn compare_keys(
        &mut self,
        records: &KeySum,
        folder: &Path,
        auditor: &mut dyn Auditor,
    ) -> io::Result<bool> {
        let to = self.limit.position;
        if self.ended {
            return Ok(true);
        }
        let (mut found, mut after): (KeySum, Option<Vec<u8>>) = (KeySum::default(), None);
        loop {
            let step = match self.read_index(|index| index.stream_keys(after.as_deref(), STEP)) {
                Ok(step) => step,
                Err(error) => {
                    self.report_difference("its keys by stream".to_owned(), error);
                    return Ok(true);
                }
            };
            for StreamKey { stream, sequence, position, .. } in step.iter().filter(|key| key.position <= to) {
                found.add(stream, *sequence, *position);
            }
            let Some(last) = step.into_iter().next_back() else { break };
            after = Some(last.key);
            if !auditor.go_on(to.0, to.0) {
                return Ok(false);
            }
        }
        if found != *records {
            self.report_wrong_keys(found.count, records.count, to, folder)?;
        }
        Ok(true)
    }

    /// Reports wrong keys: the first few that are missing or name another position, and whether there are too many.
    fn report_wrong_keys(&mut self, found: u64, expected: u64, to: Position, folder: &Path) -> io::Result<()> {
        let mut wrong = Vec::new();
        let (mut scan, mut ledger) = (Scan::new(folder, Extent::Salvage)?, Ledger::default());
        while wrong.len() < KEYS_REPORTED
            && let Ok(Some((record, _))) = scan.next_record(&mut ledger)
            && record.position <= to
        {
            match self.read_index(|index| index.position_of(&record.stream, record.sequence)) {
                Ok(Some(position)) if position == record.position => {}
                Ok(named) => wrong.push((record.stream, record.sequence, record.position, named)),
                Err(_) => {}
            }
        }
        for (stream, sequence, position, named) in wrong {
            let what = match named {
                Some(named) => format!("number {} of {stream} is listed at position {named}", sequence.0),
                None => format!("number {} of {stream} cannot be found by its stream", sequence.0),
            };
            self.report_difference(format!("position {position}"), what);
        }
        if self.findings.is_empty() || found > expected {
            self.report_difference(
                "its keys by stream".to_owned(),
                format!("it has {found} of them for {expected} records"),
            );
        }
        Ok(())
    }
}
