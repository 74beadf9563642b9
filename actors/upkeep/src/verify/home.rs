//! Verifies a home that no daemon has open. Opening the index of the log and the memory writes to them, so copies are
//! opened.
//!
//! # Hazards
//!
//! - The copies are made in `verify.tmp/`, so index and memory need their disk space twice.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Arc;

use baton_conversation::record::{Position, Timestamp};
use baton_events::envelope::{StoredRecord, Tail};
use baton_events::session::Event;
use baton_protocol::answer;

use super::{Folding, GoOn, Report, conversations, create_scratch, index_options, memory, open_copy};
use baton_base::lock::HomeLock;
use baton_base::transcript_file;
use baton_journal::session_stream;
use baton_journal::{DiskJournal, Journal, verify};
use baton_memory::Store;
use baton_store::chunks::ChunkStore;

/// Verifies the files of a home whose lock is held. `quick` leaves the memory out. Needs temporary disk space for
/// copies of the index and the memory. Blocks.
pub fn verify_home(
    home: &Path,
    _lock: &HomeLock,
    now: Timestamp,
    quick: bool,
    go_on: &mut GoOn<'_>,
) -> io::Result<answer::Verify> {
    let (log, scratch) = (home.join("log"), create_scratch(home)?);
    let copy = scratch.0.join("log");
    copy_folder(&log.join("sled"), &copy.join("sled"))?;
    let mut report = Report::begin(false);
    let mut folding = Folding::new(None, go_on);
    let verified = match copy.join("sled").is_dir() {
        true => verify::segments_and_index(&log, &copy.join("sled"), &mut folding)?,
        // A missing index is built when the log is next opened.
        false => verify::segments(&log, &mut folding)?,
    };
    let (is_measure, is_whole) = (verified.is_authoritative(), verified.damage.is_none());
    report.log(verified);
    let (folded, notes) = folding.end(is_measure, &mut report);
    // If the folder is missing, so are all files named in it.
    let chunks = ChunkStore::in_folder(home.join("blobs"));
    let named = |session: &_| folded.get(session)?.state.episode.as_ref().map(|episode| episode.manifest);
    conversations::verify(&chunks, &folded, &notes, &named, &|_, _| true, &mut report, go_on);
    report.others(home, "`baton daemon`, then `baton log verify`: it is fetched again from the relay", go_on);
    if quick {
        report.left_out.push("the memory: without --quick it is compared with a rebuilt one".to_owned());
    } else if !is_whole {
        report.left_out.push("the memory: the log must be whole for that".to_owned());
    } else if report.is_going_on && home.join("memory").is_dir() {
        copy_folder(&log.join("segments"), &copy.join("segments"))?;
        copy_folder(&home.join("memory"), &scratch.0.join("in-use"))?;
        if let Err(reason) = compare(&copy, &scratch.0, chunks, now, &mut report, go_on) {
            report.left_out.push(format!("the memory: {reason}"));
        }
    }
    Ok(report.end(&folded))
}

/// What the index of a log contains beyond its segments, which end at `tail`. `None` also if there is no disk space to
/// check.
pub(crate) fn index_beyond(home: &Path, tail: Tail) -> Option<verify::Finding> {
    let index = home.join("log/sled");
    let scratch = index.is_dir().then(|| create_scratch(home))?.ok()?;
    let copy = scratch.0.join("sled");
    copy_folder(&index, &copy).ok()?;
    verify::index_surplus(&copy, tail)
}

fn compare(
    log: &Path,
    scratch: &Path,
    chunks: ChunkStore,
    now: Timestamp,
    report: &mut Report,
    go_on: &mut GoOn<'_>,
) -> Result<(), String> {
    let opened = Store::open(&scratch.join("in-use")).map_err(|error| error.to_string())?;
    let fix = || "`baton daemon`: it is rebuilt".to_owned();
    if let Some(reason) = opened.wiped {
        report.find(format!("the memory cannot be used: {reason}"), "memory".to_owned(), fix());
        return Ok(());
    }
    let Some(checkpoint) = opened.checkpoint else { return Ok(()) };
    // The journal is not released at once, and opening it again waits for that.
    let (journal, table) = open_copy(log, now)?;
    let journal = Arc::new(journal);
    let on_chain = journal.chain_at(checkpoint.position).map_err(|error| error.to_string())?;
    let compared = if on_chain.is_none_or(|chain| chain.0 != checkpoint.chain) {
        report.find("the memory is not of this log".to_owned(), format!("position {}", checkpoint.position), fix());
        Ok(())
    } else if concerns_the_memory(&journal, checkpoint.position.next())? {
        Err("it has not followed the log to its end; `baton daemon` brings it there".to_owned())
    } else {
        let live = memory::Live::Copied(opened.store.searcher());
        memory::verify(&index_options(journal.clone(), table, chunks), &live, &scratch.join("memory"), report, go_on)
    };
    journal.close();
    compared
}

/// Returns true if an event after a position may change the content of the memory.
fn concerns_the_memory(journal: &DiskJournal, mut from: Position) -> Result<bool, String> {
    let concerns = |record: &StoredRecord| {
        if record.stream.memo_uuid().is_some() || matches!(record.kind.as_str(), "group_cleared" | "group_restored") {
            return true;
        }
        let event = session_stream::decode(record).map(|recorded| recorded.event);
        matches!(
            event,
            Ok(Event::Indexed { .. }
                | Event::Enriched { .. }
                | Event::Forgotten
                | Event::GroupAssigned { .. }
                | Event::ParentFound { .. }
                | Event::Moved { .. }
                | Event::EpisodeDeleted { .. }
                | Event::EpisodeRestored { .. }
                | Event::Corrected { .. }
                | Event::Redacted { .. }
                | Event::Shortened { .. }
                | Event::Restored { .. })
        )
    };
    loop {
        let records = journal.read(from, 1_000).map_err(|error| error.to_string())?;
        let Some(last) = records.last() else { return Ok(false) };
        if records.iter().any(concerns) {
            return Ok(true);
        }
        from = last.position.next();
    }
}

/// Copies a folder recursively. A missing folder counts as empty.
fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    baton_base::durable::make_private_folder(to)?;
    for entry in entries {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", entry.path().display()));
            io::copy(&mut transcript_file::open(&entry.path()).map_err(named)?, &mut File::create(target)?)?;
        }
    }
    Ok(())
}
