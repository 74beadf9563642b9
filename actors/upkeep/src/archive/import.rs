//! Builds a home from an export: the same records at the same positions, with the same chain and states, and their
//! conversations.
//!
//! Everything is built in `import/` of the home, checked, made durable, and then moved into place: conversations first,
//! the log last. Until that last rename the home has no events, and the next import or daemon removes what an
//! interrupted import left.

mod home_builder;

use std::fs;
use std::io::{self, BufRead};
use std::path::{Path, PathBuf};

use baton_events::envelope::Tail;
use baton_events::projection::table;
use baton_events::schema::export::End;
use baton_protocol::Progress;

use self::home_builder::{HomeBuilder, LineError};
use super::import_lines::ImportLines;
use super::{ImportError, Refusal, report_progress};
use baton_base::durable;
use baton_journal::Fold;
use baton_journal::offline::{End as LogEnd, OfflineReader};
use baton_journal::session_table::TableFold;

/// Folder in the home where an import is built.
const ASIDE: &str = "import";

/// The result of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportSummary {
    /// The end of the imported log.
    pub tail: Tail,
    /// Number of sessions.
    pub sessions: u64,
    /// Sessions that came with their conversation.
    pub conversations: u64,
    /// Items of these conversations.
    pub items: u64,
    /// Conversations and notes that the file lacks.
    pub missing: u64,
    /// Lines of kinds unknown to this version; they were skipped.
    pub unknown: u64,
}

/// Removes what an interrupted import left. The caller holds the lock of the home.
pub fn clear(home: &Path) -> io::Result<()> {
    match fs::remove_dir_all(home.join(ASIDE)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Imports a whole export. The caller holds the lock of the home, and no daemon runs in it.
pub fn import(
    home: &Path,
    input: &mut dyn BufRead,
    progress: &mut dyn FnMut(&Progress),
) -> Result<ImportSummary, ImportError> {
    let aside = home.join(ASIDE);
    check_empty(home, aside.is_dir())?;
    let io = |what: &'static str, path: &Path| {
        let path = path.to_owned();
        move |source| ImportError::Io { what, path, source }
    };
    clear(home).map_err(io("remove", &aside))?;
    let built = build(&aside, input, progress).and_then(|built| {
        durable::sync_below(&aside).map_err(io("make durable", &aside))?;
        move_in(home, &aside)?;
        Ok(built)
    });
    // Whatever the outcome, what remains there is useless.
    let cleared = clear(home).map_err(io("remove", &aside));
    built.and_then(|built| cleared.map(|()| built))
}

/// Fails unless the home has no events. Conversations without events belong to another home, unless an import was
/// interrupted while it moved files into place.
fn check_empty(home: &Path, interrupted: bool) -> Result<(), ImportError> {
    let mut reader = OfflineReader::open(&home.join("log"))?;
    let first = reader.next()?;
    if first.is_some() || !matches!(reader.end(), Some(LogEnd::Whole)) {
        return Err(ImportError::NotEmpty { home: home.to_owned() });
    }
    if let Some(folder) = find_kept(&home.join("log"))? {
        return Err(ImportError::Kept { folder });
    }
    let blobs = home.join("blobs");
    if !interrupted && fs::read_dir(&blobs).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(ImportError::Orphans { folder: blobs });
    }
    Ok(())
}

/// A folder in the log that an import would remove, although it may be the only copy: what was cut off, or put aside as
/// broken.
fn find_kept(log: &Path) -> Result<Option<PathBuf>, ImportError> {
    let failed = |source| ImportError::Io { what: "read", path: log.to_owned(), source };
    let entries = match fs::read_dir(log) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        entries => entries.map_err(failed)?,
    };
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        if ["cut-", "sled.broken-"].iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            return Ok(Some(entry.path()));
        }
    }
    Ok(None)
}

fn build(
    aside: &Path,
    input: &mut dyn BufRead,
    progress: &mut dyn FnMut(&Progress),
) -> Result<ImportSummary, ImportError> {
    let log = aside.join("log");
    let mut incoming = ImportLines::new(input);
    let mut building = HomeBuilder::begin(aside, &log)?;
    let end = loop {
        let accepted = match incoming.next() {
            Ok(Some(line)) => building.accept(line),
            Ok(None) => Err(Refusal::CutOff.into()),
            Err(refusal) => Err(refusal.into()),
        };
        match accepted {
            Ok(None) => report_progress(progress, "reading lines", incoming.number(), incoming.number() + 1),
            Ok(Some(end)) => break end,
            Err(LineError::Refused(refusal)) => {
                return Err(ImportError::Refused { line: incoming.number(), refusal });
            }
            Err(LineError::Failed(error)) => return Err(error),
        }
    };
    let line = incoming.number();
    let refused = |refusal| ImportError::Refused { line, refusal };
    match incoming.next() {
        Ok(None) => {}
        Ok(Some(_)) => return Err(refused(Refusal::Misplaced("there is a line after the last one"))),
        Err(refusal) => return Err(refused(refusal)),
    }
    let built = building.finish(&end).map_err(|error| match error {
        LineError::Refused(refusal) => refused(refusal),
        LineError::Failed(error) => error,
    })?;
    check_built(&log, &end)?;
    Ok(built)
}

/// Reads back what was written.
fn check_built(log: &Path, end: &End) -> Result<(), ImportError> {
    let mut reader = OfflineReader::open(log)?;
    let (mut fold, table) = TableFold::new();
    while let Some((record, _)) = reader.next()? {
        fold.apply(&record);
    }
    fold.publish(reader.tail());
    // Another version hashes states differently.
    let same_state = end.state_version != table::VERSION || table.now().state_hash() == end.state_hash;
    let same = reader.tail() == end.tail && same_state;
    if same { Ok(()) } else { Err(ImportError::NotRead { log: log.to_owned() }) }
}

/// Moves conversations first and the log last: before that there are no events.
fn move_in(home: &Path, aside: &Path) -> Result<(), ImportError> {
    let mut moved = Vec::new();
    let outcome = ["blobs", "log"].into_iter().try_for_each(|name| {
        let (target, old) = (home.join(name), aside.join(format!("old-{name}")));
        let failed = |source| ImportError::Io { what: "move", path: target.clone(), source };
        if target.exists() {
            fs::rename(&target, &old).map_err(failed)?;
        }
        fs::rename(aside.join(name), &target).map_err(failed)?;
        moved.push(name);
        durable::sync_folder(home).map_err(failed)
    });
    if outcome.is_err() {
        // Undone in reverse: the log first, so that there is never a log without its conversations.
        for name in moved.into_iter().rev() {
            let _ = fs::rename(home.join(name), aside.join(name));
        }
        let _ = durable::sync_folder(home);
    }
    outcome
}
