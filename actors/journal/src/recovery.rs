//! Opening the log. Records after the checkpoint, or else all records, are verified against the chain and folded; a
//! torn tail is cut off and kept; records that only the index still has are restored; the index is brought up to date.
//! Any other damage is refused with its place: nothing is ever dropped from the middle.
//!
//! With a checkpoint the bodies of the segments before it are not read; `verify` checks those. They are read and
//! verified only when the index has to be rebuilt.
//!
//! # Hazards
//!
//! - A tail that is cut may in theory have been acknowledged (a bit flip in the last group that sled does not hold). It
//!   is kept and reported.
//!
//! # Decisions
//!
//! - A checkpoint is used only if it and the index lie on the chain and the heads of all streams add up to the position
//!   of the log; otherwise it is ignored as a whole, with one log line, and everything is read.
//! - With a checkpoint every segment must still exist under its name, with a valid header that follows the one before
//!   it and, if sealed, with the length and end that its header states.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use baton_conversation::record::{Position, Timestamp};
use baton_events::envelope;

use super::Fold;
use super::files::Files;
use super::index::{self, Index};
use super::ledger::{Ledger, Placed};
use super::segment::scan::{Scan, ScanError};
use super::writer::Writer;
use baton_base::durable;

mod refusal;
mod survey;

pub use refusal::OpenError;
use survey::Survey;

/// Records held at once while the index catches up or a tail is restored.
const STEP_RECORDS: usize = 256;

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
    /// Number of records that the index lacked and took in from the segments.
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
    let (index, mut report) = match index::open(log) {
        Ok(opened) => (Some(opened.index), Recovery { index_put_aside: opened.aside, ..Recovery::default() }),
        Err(error) if error.is_locked_elsewhere() => return Err(OpenError::InUse(error.to_string())),
        Err(error) => {
            let problem =
                format!("the index of the log could not be opened ({error}); restart the daemon when it can be");
            (None, Recovery { problem: Some(problem), ..Recovery::default() })
        }
    };
    let applied = index.as_ref().and_then(|index| index.applied().ok()).unwrap_or_default();

    let begun = Instant::now();
    let mut survey = Survey::new(log, &segments, applied, fold);
    match index.as_ref().map_or(Ok(None), |index| survey.read_after_checkpoint(index)) {
        Ok(Some(checkpoint)) => report.checkpoint = Some(checkpoint),
        Ok(None) => survey.read_segments()?,
        Err(reason) => {
            report.checkpoint_ignored = Some(reason);
            survey.read_segments()?;
        }
    }
    report.cut = survey.keep_cut(&*files, now)?;
    let mut writer = survey.open_writer(files, segment_bytes)?;
    if let Some(index) = &index {
        report.restored = survey.restore_from_index(index, &mut writer)?;
    }

    let on_chain = survey.chain_at_applied == Some(applied.chain);
    let Survey { ledger, .. } = survey;
    let tail = ledger.tail();
    let index = if on_chain {
        index
    } else {
        drop(index);
        let reason = format!("position {} of the index is not on the chain of the segments", applied.position);
        rebuild_index(log, reason, &mut report)
    };
    let index = index.and_then(|index| match catch_up(&index, &segments, tail.position) {
        Ok(caught_up) => {
            report.caught_up = caught_up;
            Some(index)
        }
        Err(reason) => {
            report.problem = Some(reason);
            None
        }
    });
    report.events = tail.position.0;
    log_outcome(&report, &writer, begun.elapsed());
    Ok(Recovered { writer, ledger, index, report })
}

fn rebuild_index(log: &Path, reason: String, report: &mut Recovery) -> Option<Index> {
    let opened = index::put_aside(log, reason).and_then(|aside| {
        report.index_put_aside = Some(aside);
        index::open(log)
    });
    match opened {
        Ok(opened) => Some(opened.index),
        Err(error) => {
            report.problem = Some(error.to_string());
            None
        }
    }
}

/// Adds to the index the records up to position `to` that it lacks, from the segments, and flushes it. Returns their
/// number; on failure the reason why the index cannot be used.
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
    let mut scan = Scan::between(segments, applied.position.next(), to).map_err(describe)?;
    let (mut step, mut reached) = (Vec::with_capacity(STEP_RECORDS), applied.position);
    while let Some(found) = scan.next().map_err(describe)? {
        if found.position <= reached {
            continue;
        }
        let record = envelope::decode(found.record).map_err(|error| error.to_string())?;
        let position = found.position;
        if record.position != position {
            return Err(format!("position {position} is missing in the segments: {} is in its place", record.position));
        }
        let (bytes, chain) = (found.record.to_vec(), found.frame.chain);
        step.push(Placed { record, bytes, chain, append_continues: found.frame.append_continues });
        if step.len() == STEP_RECORDS || position == to {
            index.apply(&step).map_err(|error| error.to_string())?;
            step.clear();
            reached = position;
            if !go_on(position) {
                break;
            }
        }
    }
    index.flush().map_err(|error| error.to_string())?;
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
