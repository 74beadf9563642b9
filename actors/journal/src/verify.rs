//! Verifying a log: every record of every segment against the chain, its position and its stream, and the index against
//! the segments in both directions. Nothing is changed.
//!
//! The segments are read once, in order; the index is read alongside in small steps, so that a running daemon can go on
//! writing and rewriting it. Reading ends at the first damage: the records after it can no longer be checked against
//! the chain.

mod index_comparison;

use std::io;
use std::path::Path;
use std::sync::{PoisonError, RwLock};

use baton_conversation::record::Position;
use baton_events::envelope;
use baton_events::envelope::{StoredRecord, Tail};

use super::checkpoint::{self, Unusable};
use super::index::Index;
use super::ledger::Ledger;
use super::segment::scan::{Extent, Scan};
use super::{ReadError, Rows};
use index_comparison::IndexComparison;

pub use super::segment::scan::Damaged;

/// Records between two calls of `go_on`.
const GO_ON_INTERVAL_RECORDS: u64 = 1024;

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What is wrong.
    pub what: String,
    /// Where: a file, a position, a session.
    pub place: String,
    /// What to do about it.
    pub fix: String,
}

/// Receives what is read while a log is verified.
pub trait VerifyVisitor {
    /// Called for each verified record, in the order of positions.
    fn record(&mut self, record: &StoredRecord);
    /// Receives the rows of the index's checkpoint before the first record; see [`Rows`]. With `None` they are not
    /// checked.
    fn rows(&mut self) -> Option<&mut dyn Rows> {
        None
    }
    /// Called now and then with the records read and the total (0 if unknown); `false` ends the verification.
    fn go_on(&mut self, done: u64, total: u64) -> bool;
}

/// The result of verifying a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// The end of what was read and found whole.
    pub tail: Tail,
    /// Segment files read.
    pub segments: u64,
    /// Bytes of the records and their frames, unpacked.
    pub bytes: u64,
    /// Number of streams.
    pub streams: u64,
    /// Records of the index that were compared with the segments.
    pub indexed: u64,
    /// Records listed by stream that were compared.
    pub keys: u64,
    /// The first place where the segments cannot be read on.
    pub damage: Option<Damaged>,
    /// Everything that is wrong, including the damage. Empty only if all is well.
    pub findings: Vec<Finding>,
    /// True if everything was read, up to the end or to the damage.
    pub complete: bool,
    /// Records after the end of the segments that only the index has; the next start of the daemon restores them.
    pub lacking: u64,
}

impl Verified {
    /// True if the segments are complete, so that what is derived from them can be checked against them.
    pub fn is_authoritative(&self) -> bool {
        self.is_whole() && self.lacking == 0
    }

    /// True if everything was read and nothing that had certainly been acknowledged is bad.
    pub fn is_whole(&self) -> bool {
        self.complete && self.damage.as_ref().is_none_or(|damage| damage.torn)
    }
}

/// Verifies the segments alone. Nobody may write to the log meanwhile.
pub fn segments(log: &Path, auditor: &mut dyn VerifyVisitor) -> io::Result<Verified> {
    verify(&log.join("segments"), None, &|| None, auditor)
}

/// Verifies the segments and the index. Nobody may write to the log meanwhile. The caller provides a copy of the index
/// in `copy`, because opening writes to it.
pub fn segments_and_index(log: &Path, copy: &Path, auditor: &mut dyn VerifyVisitor) -> io::Result<Verified> {
    let (index, error) = match Index::open_unrepaired(copy) {
        Ok(index) => (Some(index), None),
        Err(error) => (None, Some(error.to_string())),
    };
    let index = RwLock::new(index);
    let mut found = verify(&log.join("segments"), error.is_none().then_some(&index), &|| None, auditor)?;
    found.findings.extend(error.map(|error| Finding {
        what: format!("the index of the log cannot be opened: {error}"),
        place: log.join("sled").display().to_string(),
        fix: "`baton daemon`: it is put aside and rebuilt from the segments".to_owned(),
    }));
    Ok(found)
}

/// Reports the records that the index has after `tail`, the end of the segments; `None` if there are none or the index
/// cannot be opened. `copy` is a copy of the index, as for [`segments_and_index`].
pub fn index_surplus(copy: &Path, tail: Tail) -> Option<Finding> {
    let applied = Index::open_unrepaired(copy).and_then(|index| index.applied()).ok()?;
    (applied.position > tail.position).then(|| index_comparison::index_ahead(applied.position, tail))
}

/// Verifies the segments in a folder and, if there is one, the index against them: up to the tail that `until` returns,
/// or to their end if it returns `None`, because nobody writes.
pub(super) fn verify(
    folder: &Path,
    index: Option<&RwLock<Option<Index>>>,
    until: &dyn Fn() -> Option<Tail>,
    auditor: &mut dyn VerifyVisitor,
) -> io::Result<Verified> {
    let checkpoint = index.and_then(|index| load_checkpoint(index, auditor).err());
    // Taken after the checkpoint was read, so that none of its rows is newer.
    let until = until();
    let mut comparison = index.map(|index| IndexComparison::new(index, until));
    let mut found = Verified { complete: true, ..Verified::default() };
    let extent = until.map_or(Extent::Salvage, |tail| Extent::UpTo(tail.position));
    let total = until.map_or(0, |tail| tail.position.0);
    let mut scan = Scan::new(folder, extent)?;
    let mut ledger = Ledger::default();
    while found.complete {
        let (record, read) = match scan.next_record(&mut ledger) {
            Ok(Some(read)) => read,
            Ok(None) => break,
            Err(error) => {
                let mut damage = error.into_place();
                let limit = comparison.as_ref().map_or(Position(0), |comparison| comparison.limit.position);
                damage.torn |= damage.is_last && limit >= damage.position;
                found.findings.push(damage.finding());
                found.damage = Some(damage);
                break;
            }
        };
        found.bytes += (read.frame.end - read.frame.offset) as u64;
        let position = record.position;
        if let Some(comparison) = &mut comparison
            && position <= comparison.limit.position
        {
            comparison.compare(&record, read.record, read.frame.chain);
        }
        auditor.record(&record);
        found.complete = !position.0.is_multiple_of(GO_ON_INTERVAL_RECORDS) || auditor.go_on(position.0, total);
    }
    (found.tail, found.segments, found.streams) = (ledger.tail(), scan.segments_read() as u64, ledger.streams() as u64);
    if let Some(tail) = until
        && found.complete
        && found.damage.is_none()
        && found.tail != tail
    {
        found.findings.push(Finding {
            what: format!("the segments end with chain {}, the running log with {}", found.tail.chain, tail.chain),
            place: format!("position {}", tail.position),
            fix: "run `baton stop`, then `baton log verify` again".to_owned(),
        });
    }
    if let Some(mut comparison) = comparison {
        if found.is_whole() {
            comparison.check_end(found.tail);
            found.lacking = comparison.limit.position.0.saturating_sub(found.tail.position.0);
            found.complete = comparison.compare_streams(auditor);
        }
        (found.indexed, found.keys) = (comparison.compared, comparison.listed);
        // If the segments are damaged, the index may be all that is left of them: do not suggest deleting it.
        if found.is_whole() || !found.complete {
            found.findings.extend(comparison.findings);
        }
    }
    found.findings.extend(checkpoint.map(|reason| {
        Finding {
            what: format!("the checkpoint of the session table cannot be used: {reason}"),
            place: "log/sled".to_owned(),
            fix: "`baton stop`, then `baton daemon`: it folds the whole log, which takes longer, and writes a new one"
                .to_owned(),
        }
    }));
    Ok(found)
}

/// Passes the rows of the checkpoint to the auditor. Fails with the reason if they cannot be read.
fn load_checkpoint(index: &RwLock<Option<Index>>, auditor: &mut dyn VerifyVisitor) -> Result<(), String> {
    let index = index.read().unwrap_or_else(PoisonError::into_inner);
    // A missing index is reported elsewhere.
    let (Some(index), Some(rows)) = (index.as_ref(), auditor.rows()) else { return Ok(()) };
    match checkpoint::load(index, rows, &mut Ledger::default()) {
        Ok(_) | Err(Unusable::OtherForm(None)) => Ok(()),
        Err(Unusable::OtherForm(Some(reason)) | Unusable::Broken(reason)) => Err(reason),
    }
}

impl Damaged {
    fn finding(&self) -> Finding {
        let place = format!("{} at byte {}, position {}", self.path.display(), self.offset, self.position);
        let fix = if self.torn {
            "the next start of the daemon cuts it off, keeps it in `log/cut-…/` and reports it".to_owned()
        } else {
            // Before the first position there is nothing to export.
            let export = match self.position {
                Position(0 | 1) => "",
                _ => "; `baton log export --unredacted -o FILE` exports what is whole, for `baton log import`",
            };
            format!(
                "restore the file from a backup, or `baton log repair --cut-at {}`, which keeps what it cuts{export}",
                self.position
            )
        };
        Finding { what: self.what.clone(), place, fix }
    }
}

/// Verifies a journal without segments and index: its records up to `tail`, obtained through `read`.
pub(super) fn read_through(
    tail: Tail,
    read: &dyn Fn(Position) -> Result<Vec<StoredRecord>, ReadError>,
    auditor: &mut dyn VerifyVisitor,
) -> Result<Verified, ReadError> {
    let mut ledger = Ledger::default();
    let mut found = Verified { complete: true, ..Verified::default() };
    let mut wrong = None;
    while ledger.tail().position < tail.position && wrong.is_none() && found.complete {
        let page = read(ledger.tail().position.next())?;
        if page.is_empty() {
            wrong = Some("it ends before that".to_owned());
        }
        for record in page.iter().filter(|record| record.position <= tail.position) {
            let taken = envelope::encode(record).map_err(|error| error.to_string()).and_then(|bytes| {
                found.bytes += bytes.len() as u64;
                ledger.admit(record, envelope::chain(ledger.tail().chain, &bytes))
            });
            if let Err(what) = taken {
                wrong = Some(what);
                break;
            }
            auditor.record(record);
        }
        found.complete = auditor.go_on(ledger.tail().position.0, tail.position.0);
    }
    if wrong.is_none() && found.complete && ledger.tail() != tail {
        wrong = Some(format!("the chain ends with {}, but should end with {}", ledger.tail().chain, tail.chain));
    }
    (found.tail, found.streams) = (ledger.tail(), ledger.streams() as u64);
    found.findings.extend(wrong.map(|what| Finding {
        what,
        place: format!("position {}", ledger.tail().position.next()),
        fix: "start again: this log is kept in memory only".to_owned(),
    }));
    Ok(found)
}
