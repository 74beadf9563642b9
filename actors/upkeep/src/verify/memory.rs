//! Compares the memory in use with one rebuilt from the log and the conversations.

use std::collections::BTreeMap;
use std::path::Path;

use baton_conversation::record::Position;

use super::{GoOn, Report};
use baton_base::limits;
use baton_events::memo;
use baton_memory::{Searcher, SessionDigest};
use baton_tracking::indexer;
use baton_tracking::indexer::rebuild::Rebuilt;

/// Attempts to bring both to the end of a growing log before the comparison is left out.
const TRIES: usize = 20;
/// Most differing sessions that are listed one by one.
const TOLD: usize = 20;

/// The memory in use.
pub(super) enum Live<'a> {
    /// The memory of a running daemon.
    Running(&'a indexer::Handle),
    /// A copy of a memory that no daemon has open.
    Copied(Searcher),
}

impl Live<'_> {
    /// The memory, if it covers exactly the log up to `at`; `None` if it has advanced.
    fn covering(&self, at: Position) -> Result<Option<Searcher>, String> {
        match self {
            Self::Running(indexer) => {
                let runtime = tokio::runtime::Handle::try_current().map_err(|error| error.to_string())?;
                let caught_up = runtime.block_on(indexer.caught_up(at, limits::CATCH_UP));
                caught_up.map_err(|error| format!("it does not follow the log: {error}"))?;
                let searcher = indexer.searcher().map_err(|error| error.to_string())?.pinned();
                Ok((indexer.memory_state().0 == at).then_some(searcher))
            }
            Self::Copied(searcher) => Ok(Some(searcher.clone())),
        }
    }
}

/// Compares the two. `Err` says why that was not possible.
pub(super) fn verify(
    source: &indexer::Options,
    live: &Live<'_>,
    folder: &Path,
    report: &mut Report,
    go_on: &mut GoOn<'_>,
) -> Result<(), String> {
    let indexer = match live {
        Live::Running(indexer) => (*indexer).clone(),
        // A handle whose actor is never started.
        Live::Copied(_) => indexer::Handle::new(source.chunks.clone(), source.table.clone()),
    };
    let rebuilt = Rebuilt::begin(source, &indexer, folder)?;
    for _ in 0..TRIES {
        let at = source.journal.tail().position;
        let Some(fresh) = rebuilt.searcher_at(at, &mut |reached| go_on("rebuilding the memory", reached.0, at.0))?
        else {
            report.is_going_on = false;
            return Ok(());
        };
        let in_use = live.covering(at)?;
        // Only one of the two may have applied an event that came meanwhile.
        if let Some(in_use) = in_use
            && source.journal.tail().position == at
        {
            let digests = |memory: &Searcher| memory.session_digests().map_err(|error| error.to_string());
            let table = source.table.now();
            let mut in_use = digests(&in_use)?;
            // Sessions of others have no place in the log.
            in_use.retain(|id, _| memo::uuid_of_key(id).is_some() || table.get_by_text(id).is_some());
            compare(&in_use, &digests(&fresh)?, report);
            return Ok(());
        }
    }
    Err("events come faster than it can be compared; ask again in a quieter moment".to_owned())
}

fn compare(in_use: &BTreeMap<String, SessionDigest>, fresh: &BTreeMap<String, SessionDigest>, report: &mut Report) {
    report.checked().documents += in_use.values().map(|print| print.documents).sum::<u64>();
    let fix = || "`baton stop`, delete `memory/`, then `baton daemon`: it is rebuilt".to_owned();
    let mut differing = 0;
    let sessions = in_use.keys().chain(fresh.keys().filter(|session| !in_use.contains_key(*session)));
    for session in sessions {
        let (has, should) = (in_use.get(session), fresh.get(session));
        if has == should {
            continue;
        }
        differing += 1;
        if differing <= TOLD {
            let count = |print: Option<&SessionDigest>| print.map_or(0, |print| print.documents);
            let what = match (count(has), count(should)) {
                (has, should) if has != should => {
                    format!("the memory has {has} documents of it, a rebuilt one {should}")
                }
                _ => "the memory has other documents of it than a rebuilt one".to_owned(),
            };
            report.find(what, format!("session {session}"), fix());
        }
    }
    if differing > TOLD {
        report.find(format!("{} more sessions differ in the memory", differing - TOLD), "memory".to_owned(), fix());
    }
}
