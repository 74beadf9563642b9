//! Comparing the index of a log with its segments, in both directions, while these are read.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use baton_conversation::record::{Position, SequenceNumber, StreamId};
use baton_events::envelope::{ChainHash, StoredRecord, Tail};

use super::super::index::{Error, Group, Index};
use super::{Finding, VerifyVisitor};

/// Streams of the index read in one step; a replacement of the index may have to wait for one step.
const STEP: usize = 64;

/// A sum over the positions of a stream's records, in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Positions {
    count: u64,
    sum: u64,
}

impl Positions {
    fn add(&mut self, position: Position) {
        self.count += 1;
        self.sum = (self.sum.rotate_left(5) ^ position.0).wrapping_mul(0x517c_c1b7_2722_0a95);
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
    group: Option<Group>,
    streams: HashMap<StreamId, Positions>,
    pub(super) compared: u64,
    /// Records that the index lists by stream.
    pub(super) listed: u64,
    pub(super) findings: Vec<Finding>,
    /// True once the records differ; the rest is not compared.
    ended: bool,
}

impl<'a> IndexComparison<'a> {
    pub(super) fn new(index: &'a RwLock<Option<Index>>, until: Option<Tail>) -> Self {
        let mut new = Self {
            index,
            limit: Tail::default(),
            group: None,
            streams: HashMap::new(),
            compared: 0,
            listed: 0,
            findings: Vec::new(),
            ended: false,
        };
        match new.read_index(Index::applied) {
            Err(error) => new.report_difference("log/sled".to_owned(), error),
            // What an open log has beyond that is checked when it is in the index.
            Ok(applied) => new.limit = until.filter(|until| until.position < applied.position).unwrap_or(applied),
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

    pub(super) fn compare(&mut self, record: &StoredRecord, bytes: &[u8], chain: ChainHash) {
        if self.ended {
            return;
        }
        let position = record.position;
        match self.streams.get_mut(&record.stream) {
            Some(positions) => positions.add(position),
            None => self.streams.entry(record.stream.clone()).or_default().add(position),
        }
        let place = format!("position {position}");
        if self.group.as_ref().is_none_or(|group| group.end() <= position) {
            self.group = match self.read_index(|index| index.group_from(position)) {
                Ok(group) => group,
                Err(error) => return self.report_difference(place, error),
            };
        }
        let Some(group) = &self.group else {
            return self.report_difference(place, "it ends before that".to_owned());
        };
        match group.get(position) {
            Some(found) if found == (chain, bytes) => self.compared += 1,
            Some(_) => self.report_difference(place, "the record there is a different one".to_owned()),
            None => self.report_difference(place, format!("it goes on with position {}", group.first())),
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

    /// Compares the positions by stream with those of the records. Returns false if the auditor stopped it.
    pub(super) fn compare_streams(&mut self, auditor: &mut dyn VerifyVisitor) -> bool {
        let to = self.limit.position;
        let mut after: Option<Vec<u8>> = None;
        while !self.ended {
            let mut step: Vec<(Vec<u8>, Positions)> = Vec::new();
            let read = self.read_index(|index| {
                let mut names = Vec::new();
                index.for_each_row(after.as_deref(), |name, _| {
                    names.push(name.to_vec());
                    Ok(names.len() < STEP)
                })?;
                for name in names {
                    let mut positions = Positions::default();
                    let listed = index.positions(&name, SequenceNumber(0), usize::MAX)?;
                    listed
                        .into_iter()
                        .take_while(|position| *position <= to)
                        .for_each(|position| positions.add(position));
                    step.push((name, positions));
                }
                Ok(())
            });
            if let Err(error) = read {
                self.report_difference("its streams".to_owned(), error);
            }
            let Some((last, _)) = step.last() else { break };
            after = Some(last.clone());
            for (name, found) in step {
                self.compare_stream(&String::from_utf8_lossy(&name), found);
            }
            if !auditor.go_on(to.0, to.0) {
                return false;
            }
        }
        if let Some((stream, positions)) = self.streams.iter().next().filter(|_| !self.ended) {
            let what = format!("none of its {} records can be found by its stream", positions.count);
            self.report_difference(stream.to_string(), what);
        }
        true
    }

    fn compare_stream(&mut self, stream: &str, found: Positions) {
        self.listed += found.count;
        let expected = self.streams.remove(stream).unwrap_or_default();
        if found.count != expected.count {
            let what = format!("it lists {} records of it, but there are {}", found.count, expected.count);
            self.report_difference(stream.to_owned(), what);
        } else if found != expected {
            self.report_difference(stream.to_owned(), "it lists other positions of its records".to_owned());
        }
    }
}
