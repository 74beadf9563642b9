//! Opening the log. Records after the checkpoint, or else all records, are verified against the chain and folded; those
//! that the index lacks go on to its next flush. A torn tail is cut off and kept; records that only the index still has
//! are restored. Any other damage is refused with its place: nothing is ever dropped from the middle, and nothing that
//! may have been acknowledged from the end. `segment` says how a torn tail is told from damage.
//!
//! With a checkpoint the bodies of the segments before it are not read; `verify` checks those. They are read and
//! verified only when the index has to be rebuilt.
//!
//! # Decisions
//!
//! - A checkpoint is used only if it lies on the chain and the heads of all streams add up to the position of the log;
//!   otherwise it is ignored as a whole, with one log line, and everything is read. Unless only its rows have another
//!   form, the index is rebuilt then.
//! - With a checkpoint every segment must still exist under its name, with a valid header that follows the one before
//!   it and, if sealed, with the length and end that its header states.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use baton_conversation::record::{Position, Timestamp};
use baton_events::envelope;

use super::Fold;
use super::checkpoint;
use super::files::Files;
use super::index::{self, Entry, Index};
use super::ledger::Ledger;
use super::segment::scan::{Scan, ScanError};
use super::unflushed::{FlushLimits, Unflushed};
use super::writer::Writer;
use baton_base::durable;

mod refusal;
mod survey;

pub use refusal::OpenError;
use survey::Survey;

/// Records held at once while a tail is restored, and between two calls of `go_on`.
const STEP_RECORDS: usize = 256;
/// When the index is flushed while it takes in a log.
const FLUSH_LIMITS: FlushLimits = FlushLimits { records: 10_000, age: Duration::MAX };

/// What was found and done while a log was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Number of records in the log.
    pub events: u64,
    /// Position of the checkpoint that the fold started from; `None` if everything was folded.
    pub checkpoint: Option<Position>,
    /// Why an existing checkpoint was not used.
    pub checkpoint_ignored: Option<String>,
    /// The torn tail that was cut off, if there was one.
    pub cut: Option<Cut>,
    /// Number of acknowledged records that the segments had lost and the index gave back.
    pub restored: u64,
    /// Number of records that the index lacked, read from the segments.
    pub caught_up: u64,
    /// Why the index, or part of it, was put aside, and where it is now.
    pub index_put_aside: Option<(String, PathBuf)>,
    /// Why there is no index. Reads are slow then, but right.
    pub problem: Option<String>,
}

/// A torn tail: bytes at the end of the last segment that no acknowledgement is known to cover.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The segment's file name.
    pub segment: String,
    /// Offset of the cut in the segment.
    pub offset: u64,
    /// Number of bytes cut off.
    pub bytes: u64,
    /// The position that the first record cut off had, or would have had.
    pub position: Position,
    /// The file that keeps the bytes.
    pub kept: PathBuf,
}

/// An open log, ready to be appended to.
pub(super) struct Recovered {
    pub(super) writer: Writer,
    pub(super) ledger: Ledger,
    pub(super) index: Option<Index>,
    /// What the index lacks.
    pub(super) unflushed: Unflushed,
    /// Position up to which the index has the fold's rows.
    pub(super) saved: Position,
    pub(super) report: Recovery,
}

/// Opens the log in folder `log`. `now` names the folder that keeps a torn tail.
pub(super) fn recover(
    log: &Path,
    files: Arc<dyn Files>,
    segment_bytes: u64,
    now: Timestamp,
    fold: &mut dyn Fold,
) -> Result<Recovered, OpenError> {
    let segments = log.join("segments");
    durable::create_private_folder(&segments).map_err(io_error("create", &segments))?;
    let mut report = Recovery::default();
    let mut obsolete = None;
    let index = match index::open(log) {
        Ok(opened) => {
            report.index_put_aside = opened.aside;
            obsolete = report.index_put_aside.clone().filter(|_| opened.is_obsolete);
            Some(opened.index)
        }
        Err(error) if error.is_locked_elsewhere() => return Err(OpenError::InUse(error.to_string())),
        Err(error) => {
            report.problem =
                Some(format!("the index of the log could not be opened ({error}); restart the daemon when it can be"));
            None
        }
    };

    let begun = Instant::now();
    let mut survey = Survey::new(log, &segments, index.as_ref(), fold);
    match survey.read_after_checkpoint() {
        Ok(checkpoint) => report.checkpoint = checkpoint,
        Err(reason) => report.checkpoint_ignored = Some(reason),
    }
    if report.checkpoint.is_none() {
        survey.read_segments()?;
    }
    report.cut = survey.save_torn_tail(&*files, now)?;
    let mut writer = survey.open_writer(files, segment_bytes)?;
    report.restored = survey.restore_from_index(&mut writer)?;

    let broken = survey.why_index_is_broken();
    let Survey { ledger, mut unflushed, mut saved, fed, .. } = survey;
    let tail = ledger.tail();
    report.caught_up = fed;
    let index = match broken {
        None => index,
        Some(reason) => {
            drop(index);
            (unflushed, saved) = (Unflushed::default(), Position(0));
            rebuild_index(log, reason, &segments, tail.position, &mut report)
        }
    };
    if let Some((_, path)) = obsolete
        && let Err(error) = index::remove(&path)
    {
        tracing::warn!(%error, path = %path.display(), "index of an earlier form not removed");
    }
    report.events = tail.position.0;
    log_outcome(&report, &writer, begun.elapsed());
    Ok(Recovered { writer, ledger, index, unflushed, saved, report })
}

fn rebuild_index(log: &Path, reason: String, segments: &Path, to: Position, report: &mut Recovery) -> Option<Index> {
    let rebuilt = index::put_aside(log, reason).map_err(|error| error.to_string()).and_then(|aside| {
        report.index_put_aside = Some(aside);
        let index = index::open(log).map_err(|error| error.to_string())?.index;
        report.caught_up = catch_up(&index, segments, to)?;
        Ok(index)
    });
    rebuilt.map_err(|reason| report.problem = Some(reason)).ok()
}

/// Adds to the index the records up to position `to` that it lacks, from the segments, durably. Returns their number; on
/// failure the reason why the index cannot be used.
pub(super) fn catch_up(index: &Index, segments: &Path, to: Position) -> Result<u64, String> {
    catch_up_while(index, segments, to, &mut |_| true)
}

/// Like [`catch_up`], but calls `go_on` with the position reached after every [`STEP_RECORDS`], and stops when it
/// returns `false`.
pub(super) fn catch_up_while(
    index: &Index,
    segments: &Path,
    to: Position,
    go_on: &mut dyn FnMut(Position) -> bool,
) -> Result<u64, String> {
    let applied = index.applied().map_err(|error| error.to_string())?;
    if applied.position >= to {
        return Ok(0);
    }
    let describe = |error: ScanError| error.to_string();
    let save = |unflushed: &mut Unflushed| {
        checkpoint::save(index, unflushed, None).map_err(|error| error.to_string())?;
        unflushed.clear();
        Ok::<_, String>(())
    };
    let mut scan = Scan::between(segments, applied.position.next(), to).map_err(describe)?;
    let (mut unflushed, mut reached) = (Unflushed::default(), applied.position);
    while let Some(found) = scan.next().map_err(describe)? {
        if found.position <= reached {
            continue;
        }
        let record = envelope::decode(found.record).map_err(|error| error.to_string())?;
        reached = reached.next();
        if (found.position, record.position) != (reached, reached) {
            return Err(format!("position {reached} is missing in the segments: {} is in its place", record.position));
        }
        unflushed.push(&record, Entry { chain: found.frame.chain, bytes: found.record.to_vec() });
        if unflushed.due_in(FLUSH_LIMITS) == Some(Duration::ZERO) {
            save(&mut unflushed)?;
        }
        if reached.0.is_multiple_of(STEP_RECORDS as u64) && !go_on(reached) {
            break;
        }
    }
    save(&mut unflushed)?;
    Ok(reached.0 - applied.position.0)
}

fn log_outcome(report: &Recovery, writer: &Writer, took: Duration) {
    if let Some(cut) = &report.cut {
        tracing::warn!(
            segment = cut.segment,
            offset = cut.offset,
            bytes = cut.bytes,
            position = cut.position.0,
            kept = %cut.kept.display(),
            restored = report.restored,
            "torn tail of the log cut off"
        );
    } else if report.restored > 0 {
        tracing::warn!(restored = report.restored, "end of the log restored from its index");
    }
    let seconds = took.as_secs_f64();
    if let Some((reason, aside)) = &report.index_put_aside {
        tracing::warn!(
            reason,
            aside = %aside.display(),
            events = report.caught_up,
            seconds,
            "index of the log put aside and rebuilt from the segments"
        );
    }
    if let Some(reason) = &report.checkpoint_ignored {
        tracing::warn!(
            reason,
            events = report.events,
            seconds,
            "checkpoint of the session table ignored; the whole log was folded"
        );
    }
    if let Some(reason) = &report.problem {
        tracing::error!(reason, "no index of the log: reads are slow");
    }
    tracing::info!(
        events = report.events,
        segments = writer.segments(),
        bytes = writer.bytes(),
        checkpoint = report.checkpoint.map(|position| position.0),
        caught_up = report.caught_up,
        seconds,
        "log opened"
    );
}

fn io_error<'a>(what: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> OpenError + 'a {
    move |source| OpenError::Io { what, path: path.to_owned(), source }
}
