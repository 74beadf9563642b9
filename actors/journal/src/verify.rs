//! Verifying a log: every record of every segment against the chain, its position and its stream, and the index against
//! the segments in both directions. Nothing is changed.
//!
//! The segments are read once, in order; the index is read alongside in small steps, so that a running daemon can go on
//! writing and rewriting it. Reading ends at the first damage: the records after it can no longer be checked against
//! the chain.

mod index_comparison;
mod walk;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use baton_conversation::record::Position;
use baton_events::envelope;
use baton_events::envelope::{StoredRecord, Tail};

use super::checkpoint;
use super::index::Index;
use super::ledger::Ledger;
use super::{ReadError, Rows};
use index_comparison::{IndexComparison, KeySum};
pub(super) use walk::{Until, Walk, WalkEnd};

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
pub trait Auditor {
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
    /// Keys by stream that were compared.
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

/// The first place where the segments of a log cannot be read on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damaged {
    /// Number of the segment.
    pub segment: u32,
    /// Its file.
    pub path: PathBuf,
    /// Offset in the unpacked segment.
    pub offset: u64,
    /// The position of the first record that is bad or missing; all before it are whole.
    pub position: Position,
    /// What is wrong there.
    pub what: String,
    /// True if it is the torn end of an unacknowledged write, as a crash leaves it; the next start cuts it off.
    pub torn: bool,
}

/// Verifies the segments alone. Nobody may write to the log meanwhile.
pub fn segments(log: &Path, auditor: &mut dyn Auditor) -> io::Result<Verified> {
    verify(&log.join("segments"), None, &|| Until::End, auditor)
}

/// Verifies the segments and the index. Nobody may write to the log meanwhile. The caller provides a copy of the index
/// in `copy`, because opening writes to it.
pub fn segments_and_index(log: &Path, copy: &Path, auditor: &mut dyn Auditor) -> io::Result<Verified> {
    let (index, error) = match Index::open_unrepaired(copy) {
        Ok(index) => (Some(index), None),
        Err(error) => (None, Some(error.to_string())),
    };
    let index = RwLock::new(index);
    let mut found = verify(&log.join("segments"), error.is_none().then_some(&index), &|| Until::End, auditor)?;
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

/// Verifies the segments in a folder and, if there is one, the index against them.
pub(super) fn verify(
    folder: &Path,
    index: Option<&RwLock<Option<Index>>>,
    until: &dyn Fn() -> Until,
    auditor: &mut dyn Auditor,
) -> io::Result<Verified> {
    let checkpoint = index.and_then(|index| load_checkpoint(index, auditor).err());
    // Taken after the checkpoint was read, so that none of its rows is newer.
    let until = until();
    let mut comparison = index.map(|index| IndexComparison::new(index, until));
    let mut found = Verified { complete: true, ..Verified::default() };
    let mut walk = Walk::new(folder, until);
    let (ended, keys) = {
        let mut keys = KeySum::default();
        let ended = walk.run(&mut |found| {
            let (record, chain) = (found.record, found.chain);
            let (position, stream, sequence) = (record.position, record.stream.as_str(), record.sequence);
            if let Some(comparison) = &mut comparison
                && position <= comparison.limit.position
            {
                keys.add(stream.as_bytes(), sequence, position);
                comparison.compare(position, found.bytes, chain);
            }
            auditor.record(record);
            let total = match until {
                Until::Tail(tail) => tail.position.0,
                Until::End => 0,
            };
            !position.0.is_multiple_of(GO_ON_INTERVAL_RECORDS) || auditor.go_on(position.0, total)
        })?;
        (ended, keys)
    };
    (found.tail, found.segments, found.bytes) = (walk.ledger.tail(), walk.segments, walk.bytes);
    found.streams = walk.ledger.streams() as u64;
    match ended {
        WalkEnd::Whole => {}
        WalkEnd::Stopped => found.complete = false,
        WalkEnd::Damaged(damage) => {
            found.findings.push(damage.finding());
            found.damage = Some(damage);
        }
    }
    if let Until::Tail(tail) = until
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
            found.complete = comparison.compare_keys(&keys, folder, auditor)?;
        }
        (found.indexed, found.keys) = (comparison.compared, keys.count);
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
fn load_checkpoint(index: &RwLock<Option<Index>>, auditor: &mut dyn Auditor) -> Result<(), String> {
    let index = index.read().unwrap_or_else(PoisonError::into_inner);
    // A missing or failing index is reported elsewhere.
    let Some((index, applied)) = index.as_ref().and_then(|index| Some((index, index.applied().ok()?))) else {
        return Ok(());
    };
    let Some(rows) = auditor.rows() else { return Ok(()) };
    checkpoint::load(index, applied, rows, &mut Ledger::default()).map(drop)
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
    auditor: &mut dyn Auditor,
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
