//! Building a home of an export: the same records at the same places, so the same positions, chain and states, and the
//! conversations beside them.
//!
//! Everything is built aside, in `import/` of the home, checked, made durable and only then moved to its place: conversations
//! first, the log last. Until that last rename the home has no events, and whatever an import that was interrupted left there
//! is removed by the next import or daemon.

mod building;

use std::fs;
use std::io::{self, BufRead};
use std::path::{Path, PathBuf};

use baton_events::envelope::Tail;
use baton_events::projection::table;
use baton_events::schema::export::End;
use baton_protocol::Progress;

use self::building::{Building, Taking};
use super::incoming::Incoming;
use super::{ImportError, Refusal, report_progress};
use baton_base::durable;
use baton_journal::Fold;
use baton_journal::offline::{End as LogEnd, OfflineReader};
use baton_journal::session_table::TableFold;

/// Where an import is built, below the home.
const ASIDE: &str = "import";

/// What was imported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Built {
    /// The end of the log.
    pub tail: Tail,
    /// Its sessions.
    pub sessions: u64,
    /// Sessions whose conversation came with it.
    pub conversations: u64,
    /// Their items.
    pub items: u64,
    /// Conversations and notes that were missing in the file already.
    pub missing: u64,
    /// Lines of kinds that this version does not know; they were passed over.
    pub unknown: u64,
}

/// Removes what an interrupted import left behind. The caller holds the lock of the home.
pub fn clear(home: &Path) -> io::Result<()> {
    match fs::remove_dir_all(home.join(ASIDE)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Builds the home of a whole export. The caller holds its lock, and no daemon runs in it.
pub fn import(home: &Path, input: &mut dyn BufRead, progress: &mut dyn FnMut(&Progress)) -> Result<Built, ImportError> {
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
    // Whatever came of it: what is left there is of no use to anybody.
    let cleared = clear(home).map_err(io("remove", &aside));
    built.and_then(|built| cleared.map(|()| built))
}

/// A home without events. Conversations of no event are another's, unless an import was interrupted while it moved in.
fn check_empty(home: &Path, interrupted: bool) -> Result<(), ImportError> {
    let mut reader = OfflineReader::open(&home.join("log"))?;
    let first = reader.next()?;
    if first.is_some() || !matches!(reader.end(), Some(LogEnd::Whole)) {
        return Err(ImportError::NotEmpty { home: home.to_owned() });
    }
    if let Some(folder) = kept(&home.join("log"))? {
        return Err(ImportError::Kept { folder });
    }
    let blobs = home.join("blobs");
    if !interrupted && fs::read_dir(&blobs).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(ImportError::Orphans { folder: blobs });
    }
    Ok(())
}

/// A folder of the log that an import would remove with it, and nobody else has: what was cut off, or put aside as broken.
fn kept(log: &Path) -> Result<Option<PathBuf>, ImportError> {
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

fn build(aside: &Path, input: &mut dyn BufRead, progress: &mut dyn FnMut(&Progress)) -> Result<Built, ImportError> {
    let log = aside.join("log");
    let mut incoming = Incoming::new(input);
    let mut building = Building::begin(aside, &log)?;
    let end = loop {
        let taken = match incoming.next() {
            Ok(Some(line)) => building.take(line),
            Ok(None) => Err(Refusal::CutOff.into()),
            Err(refusal) => Err(refusal.into()),
        };
        match taken {
            Ok(None) => report_progress(progress, "reading lines", incoming.number(), incoming.number() + 1),
            Ok(Some(end)) => break end,
            Err(Taking::Refused(refusal)) => {
                return Err(ImportError::Refused { line: incoming.number(), refusal });
            }
            Err(Taking::Failed(error)) => return Err(error),
        }
    };
    let line = incoming.number();
    let refused = |refusal| ImportError::Refused { line, refusal };
    match incoming.next() {
        Ok(None) => {}
        Ok(Some(_)) => return Err(refused(Refusal::Misplaced("something follows its last line"))),
        Err(refusal) => return Err(refused(refusal)),
    }
    let built = building.finish(&end).map_err(|taking| match taking {
        Taking::Refused(refusal) => refused(refusal),
        Taking::Failed(error) => error,
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
    // Another version's states have another hash.
    let same_state = end.state_version != table::VERSION || table.now().state_hash() == end.state_hash;
    let same = reader.tail() == end.tail && same_state;
    if same { Ok(()) } else { Err(ImportError::NotRead { log: log.to_owned() }) }
}

/// Conversations first, the log last: before that there are no events.
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
        // Back to nothing: the log first, so that there is never one without its conversations.
        for name in moved.into_iter().rev() {
            let _ = fs::rename(home.join(name), aside.join(name));
        }
        let _ = durable::sync_folder(home);
    }
    outcome
}
