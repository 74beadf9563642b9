//! Opening the log: every record is verified against the chain and folded; what a crash tore off is cut and kept;
//! what the index still has is restored; what the index lacks is brought into it. Anything else is refused with its
//! place: nothing is ever dropped from the middle.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use baton_events::envelope::{self, ChainHash, Tail};
use baton_events::record::{Position, Timestamp};

use super::Fold;
use super::files::Files;
use super::ledger::{Ledger, Placed};
use super::segment::{self, Damage, Frame, Frames, HEADER_BYTES, Header, HeaderError};
use super::sled::{self, Aside, Index};
use super::writer::{LastFrame, Resume, Writer};
use crate::durable;

/// Records held at once while the index catches up or a tail is restored.
const STEP_RECORDS: usize = 256;

/// What was found and done while a log was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Records in the log.
    pub events: u64,
    /// The torn tail that was cut off, if there was one.
    pub cut: Option<Cut>,
    /// Acknowledged records that the segments had lost and the index gave back.
    pub restored: u64,
    /// Records that the index lacked and took in from the segments.
    pub caught_up: u64,
    /// Why the index was put aside, or parts of it, and where they lie now.
    pub index_put_aside: Option<(String, PathBuf)>,
    /// Why there is no index. Reads are slow then, and right.
    pub problem: Option<String>,
}

/// A torn tail: bytes at the end of the last segment that no acknowledgement is known to cover.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The segment's file name.
    pub segment: String,
    /// Where in it the cut was made.
    pub offset: u64,
    /// How many bytes were cut off.
    pub bytes: u64,
    /// The position that the first record cut off had, or would have had.
    pub position: Position,
    /// Where the bytes are kept.
    pub kept: PathBuf,
}

/// Why a log was not opened. No record was touched, except with `Io`, where a repair may be half done and is taken up
/// by the next attempt.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A file could not be read or written.
    #[error("cannot open the log: {what} {}: {source}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Records that were on the disk for certain are bad or missing.
    #[error(
        "the log is damaged: {} at byte {offset}, position {position}: {what}. No record was touched. Put that file back \
         from a backup; or, to begin anew, move the folder {} away: transcripts that are still there are read again",
        segment.display(),
        log.display()
    )]
    Damaged {
        /// The segment file.
        segment: PathBuf,
        /// Where in it.
        offset: u64,
        /// The position of the first record that is bad or missing.
        position: Position,
        /// What is wrong there.
        what: String,
        /// The folder of the log.
        log: PathBuf,
    },
    /// The log holds what only a newer version of this program understands.
    #[error("the log was written by a newer version of this program ({}, position {position}): {what}", segment.display())]
    Newer {
        /// The segment file.
        segment: PathBuf,
        /// Position of the first record concerned.
        position: Position,
        /// What is not understood.
        what: String,
    },
    /// Another process has the log open.
    #[error("another process has the log open: {0}")]
    InUse(String),
}

/// A log that is ready to be written to.
pub(super) struct Recovered {
    pub(super) writer: Writer,
    pub(super) ledger: Ledger,
    pub(super) index: Option<Index>,
    pub(super) report: Recovery,
}

/// Opens the log in folder `log`. `now` names the folder that a torn tail is kept in.
pub(super) fn recover(
    log: &Path,
    files: Arc<dyn Files>,
    segment_bytes: u64,
    now: Timestamp,
    fold: &mut dyn Fold,
) -> Result<Recovered, OpenError> {
    let segments = log.join("segments");
    durable::create_private_folder(&segments).map_err(io_error("create", &segments))?;
    let (index, mut report) = match sled::open(log) {
        Ok(opened) => (Some(opened.index), Recovery { index_put_aside: opened.aside.map(told), ..Recovery::default() }),
        Err(error) if error.is_lock() => return Err(OpenError::InUse(error.to_string())),
        Err(error) => (None, Recovery { problem: Some(error.to_string()), ..Recovery::default() }),
    };
    let applied = index.as_ref().and_then(|index| index.applied().ok()).unwrap_or_default();

    let mut survey = Survey::new(log, &segments, applied, fold);
    survey.segments()?;
    report.cut = survey.keep_cut(&*files, now)?;
    let mut writer = survey.writer(files, segment_bytes)?;
    if let Some(index) = &index {
        report.restored = survey.restore(index, &mut writer)?;
    }

    let on_chain = survey.chain_at_applied == Some(applied.chain);
    let Survey { ledger, .. } = survey;
    let tail = ledger.tail();
    let index = if on_chain {
        index
    } else {
        drop(index);
        let reason = format!("position {} of the index is not on the chain of the segments", applied.position);
        anew(log, reason, &mut report)
    };
    let index = index.and_then(|index| match catch_up(&index, &segments, tail) {
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
    tell(&report, &writer);
    Ok(Recovered { writer, ledger, index, report })
}

fn anew(log: &Path, reason: String, report: &mut Recovery) -> Option<Index> {
    let opened = sled::put_aside(log, reason).and_then(|aside| {
        report.index_put_aside = Some(told(aside));
        sled::open(log)
    });
    match opened {
        Ok(opened) => Some(opened.index),
        Err(error) => {
            report.problem = Some(error.to_string());
            None
        }
    }
}

/// Brings into the index what the segments have beyond it. `Err` says why it cannot be used.
fn catch_up(index: &Index, segments: &Path, tail: Tail) -> Result<u64, String> {
    let applied = index.applied().map_err(|error| error.to_string())?;
    if applied.position >= tail.position {
        return Ok(0);
    }
    let (mut step, mut failed) = (Vec::with_capacity(STEP_RECORDS), None);
    segment::stream(segments, applied.position.next(), tail.position, |position, frame| {
        let outcome = placed(&frame).and_then(|placed| {
            step.push(placed);
            if step.len() < STEP_RECORDS && position < tail.position {
                return Ok(());
            }
            let outcome = index.apply(&step).map_err(|error| error.to_string());
            step.clear();
            outcome
        });
        failed = outcome.err();
        failed.is_none()
    })?;
    if let Some(reason) = failed {
        return Err(reason);
    }
    index.flush().map_err(|error| error.to_string())?;
    Ok(tail.position.0 - applied.position.0)
}

fn placed(frame: &Frame<'_>) -> Result<Placed, String> {
    let record = envelope::decode(frame.record).map_err(|error| error.to_string())?;
    Ok(Placed { record, bytes: frame.record.to_vec(), chain: frame.chain })
}

fn told(aside: Aside) -> (String, PathBuf) {
    (aside.reason, aside.path)
}

fn tell(report: &Recovery, writer: &Writer) {
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
    if let Some((reason, aside)) = &report.index_put_aside {
        tracing::warn!(reason, aside = %aside.display(), records = report.caught_up, "index of the log rebuilt");
    }
    if let Some(reason) = &report.problem {
        tracing::error!(reason, "no index of the log: reads are slow");
    }
    tracing::info!(
        events = report.events,
        segments = writer.segments(),
        bytes = writer.bytes(),
        caught_up = report.caught_up,
        "log opened"
    );
}

fn io_error<'a>(what: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> OpenError + 'a {
    move |source| OpenError::Io { what, path: path.to_owned(), source }
}

/// One pass over all segments, and what is known after it.
struct Survey<'a> {
    log: &'a Path,
    folder: &'a Path,
    fold: &'a mut dyn Fold,
    ledger: Ledger,
    applied: Tail,
    /// The segments' chain hash where the index says it is; `None` while they do not reach that far.
    chain_at_applied: Option<ChainHash>,
    /// Where to write on.
    resume: Option<Resume>,
    torn: Option<Torn>,
}

/// What has to be cut off before the log can be written to.
struct Torn {
    number: u32,
    offset: usize,
    bytes: Vec<u8>,
}

impl<'a> Survey<'a> {
    fn new(log: &'a Path, folder: &'a Path, applied: Tail, fold: &'a mut dyn Fold) -> Self {
        let chain_at_applied = (applied.position == Position(0)).then_some(ChainHash::GENESIS);
        Self { log, folder, fold, ledger: Ledger::default(), applied, chain_at_applied, resume: None, torn: None }
    }

    fn segments(&mut self) -> Result<(), OpenError> {
        let numbers = segment::list(self.folder).map_err(io_error("list", self.folder))?;
        for (index, number) in numbers.iter().enumerate() {
            let expected = u32::try_from(index + 1).unwrap_or(u32::MAX);
            if *number != expected {
                return Err(self.damaged(expected, 0, "the file is missing, and later ones are there".into()));
            }
            self.segment(*number, index + 1 == numbers.len())?;
        }
        Ok(())
    }

    fn segment(&mut self, number: u32, is_last: bool) -> Result<(), OpenError> {
        let path = segment::path_of(self.folder, number);
        let bytes = segment::load(&path).map_err(io_error("read", &path))?;
        let begin = self.ledger.tail();
        match Header::decode(&bytes) {
            Ok(header) if header == (Header { first: begin.position.next(), before: begin.chain }) => {}
            Ok(header) => {
                let what = format!("its header says that it begins at position {} of another history", header.first);
                return Err(self.damaged(number, 0, what));
            }
            Err(HeaderError::Bad) if is_last && bytes.len() <= HEADER_BYTES => {
                // Records follow only a synced header, so this segment never had any.
                self.torn = Some(Torn { number, offset: 0, bytes });
                return Ok(());
            }
            Err(HeaderError::Bad) => return Err(self.damaged(number, 0, HeaderError::Bad.to_string())),
            Err(error @ HeaderError::Newer(_)) => return Err(self.newer(number, error.to_string())),
        }
        let earlier_bytes = self.resume.map_or(0, |at| at.earlier_bytes + at.length);
        let length = HEADER_BYTES as u64;
        self.resume = Some(Resume { number, length, tail: begin, last: None, earlier_bytes });
        for frame in Frames::new(&bytes, HEADER_BYTES, begin.chain) {
            match frame {
                Ok(frame) => self.frame(number, &frame)?,
                Err(damage) => self.damage(number, is_last, &bytes, damage)?,
            }
        }
        Ok(())
    }

    fn frame(&mut self, number: u32, frame: &Frame<'_>) -> Result<(), OpenError> {
        let before = self.ledger.tail().chain;
        let record = match envelope::decode(frame.record) {
            Ok(record) => record,
            Err(error @ envelope::Error::UnknownFormat(_)) => return Err(self.newer(number, error.to_string())),
            Err(error) => return Err(self.damaged(number, frame.offset, error.to_string())),
        };
        let admitted = self.ledger.admit(&record, frame.chain);
        admitted.map_err(|what| self.damaged(number, frame.offset, what))?;
        self.fold.apply(&record);
        self.pass();
        if let Some(at) = &mut self.resume {
            at.length = frame.end as u64;
            at.tail = self.ledger.tail();
            at.last = Some(LastFrame { offset: frame.offset as u64, before });
        }
        Ok(())
    }

    fn damage(&mut self, number: u32, is_last: bool, bytes: &[u8], damage: Damage) -> Result<(), OpenError> {
        if !is_last {
            return Err(self.damaged(number, damage.offset, damage.what.into()));
        }
        if let Some(behind) = segment::group_behind(bytes, damage, self.ledger.tail().chain) {
            let what = format!("{}, and a later write follows at byte {behind}", damage.what);
            return Err(self.damaged(number, damage.offset, what));
        }
        self.torn = Some(Torn { number, offset: damage.offset, bytes: bytes[damage.offset..].to_vec() });
        Ok(())
    }

    /// Remembers the chain hash where the index says it is.
    fn pass(&mut self) {
        let tail = self.ledger.tail();
        if tail.position == self.applied.position {
            self.chain_at_applied = Some(tail.chain);
        }
    }

    /// Keeps a copy of what is about to be cut off. A segment that never had a whole header is removed.
    fn keep_cut(&self, files: &dyn Files, now: Timestamp) -> Result<Option<Cut>, OpenError> {
        let Some(torn) = &self.torn else { return Ok(None) };
        let path = segment::path_of(self.folder, torn.number);
        let segment = format!("{:04}.seg", torn.number);
        let folder = self.log.join(format!("cut-{}", now.to_string().replace([':', '-', '.'], "")));
        let kept = folder.join(format!("{segment}.at-{}", torn.offset));
        durable::create_private_folder(&folder).map_err(io_error("create", &folder))?;
        keep(&kept, &torn.bytes).map_err(io_error("write", &kept))?;
        if torn.offset == 0 {
            files.remove(&path).map_err(io_error("remove", &path))?;
        }
        let position = self.ledger.tail().position.next();
        Ok(Some(Cut { segment, offset: torn.offset as u64, bytes: torn.bytes.len() as u64, position, kept }))
    }

    fn writer(&self, files: Arc<dyn Files>, segment_bytes: u64) -> Result<Writer, OpenError> {
        let folder = self.folder.to_owned();
        let writer = match self.resume {
            Some(at) => Writer::resume(files, folder, segment_bytes, at),
            None => Writer::create(files, folder, segment_bytes, 1, Tail::default(), 0),
        };
        writer.map_err(io_error("write to", self.folder))
    }

    /// Appends to the segments what only the index still has, as far as it follows on the chain. It had been
    /// acknowledged: the index takes in nothing that was not synced in a segment.
    fn restore(&mut self, index: &Index, writer: &mut Writer) -> Result<u64, OpenError> {
        let begin = self.ledger.tail().position;
        while self.ledger.tail().position < self.applied.position {
            let from = self.ledger.tail().position.next();
            let Ok(entries) = index.entries(from, self.applied.position, STEP_RECORDS) else { break };
            let mut step = Vec::with_capacity(entries.len());
            for (position, entry) in (from.0..).map(Position).zip(entries) {
                let chain = envelope::chain(self.ledger.tail().chain, &entry.bytes);
                let Ok(record) = sled::decode(&entry, position) else { break };
                if chain != entry.chain || self.ledger.admit(&record, chain).is_err() {
                    break;
                }
                step.push(Placed { record, bytes: entry.bytes, chain });
            }
            if step.is_empty() {
                break;
            }
            writer.append(&step).map_err(io_error("write to", self.folder))?;
            step.iter().for_each(|placed| self.fold.apply(&placed.record));
            self.pass();
        }
        Ok(self.ledger.tail().position.0 - begin.0)
    }

    fn damaged(&self, number: u32, offset: usize, what: String) -> OpenError {
        OpenError::Damaged {
            segment: segment::path_of(self.folder, number),
            offset: offset as u64,
            position: self.ledger.tail().position.next(),
            what,
            log: self.log.to_owned(),
        }
    }

    fn newer(&self, number: u32, what: String) -> OpenError {
        let position = self.ledger.tail().position.next();
        OpenError::Newer { segment: segment::path_of(self.folder, number), position, what }
    }
}

fn keep(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    durable::sync_folder(path.parent().unwrap_or(path))
}
