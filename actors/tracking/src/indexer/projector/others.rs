//! Sessions of others in the memory.
//!
//! They are not in the log, so no checkpoint covers them. The memory's content is compared with the published sessions
//! instead: a rebuilt memory, or one that a crash set back, is completed in the same way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use baton_conversation::record::SessionId;
use baton_events::memo;
use baton_events::projection::table::{Row, SessionTable};
use baton_redaction::redact;

use super::interrupt::OtherWork;
use super::{Error, Interrupt, Projector};
use crate::indexer::large::is_large;
use baton_events::session::EpisodeRef;
use baton_memory::Error as MemoryError;

/// Sessions that are put in before the log is looked at again.
const STEP: usize = 8;
/// Least time that a large one may delay other work, once it was put off.
const PATIENCE_MIN: Duration = Duration::from_millis(100);

/// Which of them the memory has.
#[derive(Default)]
pub(super) struct OthersPut {
    /// The rows as they were put in.
    known: BTreeMap<SessionId, Arc<Row>>,
    /// Sessions to look at.
    left: BTreeSet<SessionId>,
    /// Large ones that were put off, with the time that each may delay other work at the next attempt.
    large: BTreeMap<SessionId, Duration>,
    /// True if everything was compared since the memory was opened or started over.
    is_compared: bool,
    /// True if something was put in or removed since the last commit.
    is_dirty: bool,
}

impl OthersPut {
    /// True if everything there is was put in and is not committed yet.
    pub(super) fn is_commit_due(&self) -> bool {
        self.is_dirty && self.left.is_empty()
    }

    pub(super) fn committed(&mut self) {
        self.is_dirty = false;
    }
}

impl<C: Fn(SessionId) + Send + 'static> Projector<C> {
    /// Puts in a few sessions that others published, and removes what they have withdrawn. Returns true if there is
    /// more.
    pub(super) fn follow_others(&mut self) -> Result<bool, Error> {
        if !self.others.is_compared || self.options.others.has_changed() {
            let (others, table) = (self.options.others.newest(), self.options.table.now());
            let is_as_known = |id: &SessionId, row: &Arc<Row>| {
                self.others.known.get(id).is_some_and(|it| Arc::ptr_eq(it, row) || it == row)
            };
            let mut left: BTreeSet<SessionId> =
                others.iter().filter(|(id, row)| !is_as_known(id, row)).map(|(id, _)| id.clone()).collect();
            left.extend(self.others.known.keys().filter(|id| others.get(id).is_none()).cloned());
            if !self.others.is_compared {
                // Also those of a team that was left while the memory was closed.
                left.extend(self.store.sessions(|id| !is_of_log(&table, id) && others.get(id).is_none())?);
            }
            self.others.left.append(&mut left);
            self.others.is_compared = true;
        }
        for _ in 0..STEP {
            let Some(id) = self.others.left.pop_first() else { return Ok(false) };
            self.follow_other(&id, None)?;
        }
        Ok(!self.others.left.is_empty())
    }

    /// Makes everything be compared again.
    pub(super) fn compare_others(&mut self) {
        self.others = OthersPut::default();
    }

    /// Puts in one session in its current state. A large one is put off until there is nothing else; `patience` is its
    /// time limit then.
    fn follow_other(&mut self, id: &SessionId, patience: Option<Duration>) -> Result<(), Error> {
        let table = self.options.table.now();
        if is_of_log(&table, id) {
            // A session of the log takes precedence in the memory.
            self.others.known.remove(id);
            return Ok(());
        }
        let others = self.options.others.now();
        let row = others.get(id).filter(|row| !table.is_deleted(row));
        let Some((row, current)) = row.and_then(|row| Some((row, row.state.episode.as_ref()?))) else {
            self.others.known.remove(id);
            if self.store.holds(id)? {
                self.remove(id)?;
                self.others.is_dirty |= self.dirty_since.is_some();
                self.forgotten.insert(id.clone());
            }
            return Ok(());
        };
        let is_same = |known: &Arc<Row>| {
            let of = |row: &Row| (row.state.episode.clone(), row.state.place.clone(), row.state.corrections.clone());
            of(known) == of(row)
        };
        let is_current = match self.others.known.get(id) {
            Some(known) => is_same(known),
            None => {
                let project = row.state.place.as_ref().map(|place| redact(&place.project).into_owned());
                let hits = self.store.searcher().hits_for(std::slice::from_ref(id))?;
                hits.first().is_some_and(|hit| hit.episode_uuid == current.uuid && hit.project == project)
                    && row.state.corrections.is_empty()
            }
        };
        if !is_current {
            match (is_large(current), patience) {
                (false, _) => self.put(id, row, current, Interrupt::never())?,
                (true, None) => {
                    self.others.large.entry(id.clone()).or_default();
                    return Ok(());
                }
                (true, Some(patience)) => {
                    if !self.put_large(id, row, current, patience)? {
                        return Ok(());
                    }
                }
            }
            self.others.is_dirty |= self.dirty_since.is_some();
            // Nothing to continue later: if this home reads the session itself one day, it is put in as a whole; and
            // the files belong to another writer.
            self.put.remove(id);
            self.recent.remove(id);
            self.superseded.retain(|session| session != id);
        }
        self.others.known.insert(id.clone(), row.clone());
        Ok(())
    }
}

impl<C: Fn(SessionId) + Send + 'static> Projector<C> {
    /// Puts in a large session of others if one was put off. Returns true if one was.
    pub(super) fn follow_large_other(&mut self) -> Result<bool, Error> {
        let Some((id, patience)) = self.others.large.pop_first() else { return Ok(false) };
        self.follow_other(&id, Some(patience)).map(|()| true)
    }

    /// Puts in a large session unless a caller waits for the log meanwhile. Returns false if it was put off again.
    fn put_large(
        &mut self,
        id: &SessionId,
        row: &Row,
        current: &EpisodeRef,
        patience: Duration,
    ) -> Result<bool, Error> {
        // Commit first, so that abandoning it loses nothing else.
        self.commit()?;
        let (options, began) = (self.options.clone(), Instant::now());
        let work = OtherWork::of(&options, &self.coverage, &self.large, self.applied, patience);
        match self.put(id, row, current, Interrupt::until_stopped(&|| work.check())) {
            Err(Error::Memory(MemoryError::GaveWay)) => {
                self.left_out.clear(id);
                self.others.large.insert(id.clone(), (2 * began.elapsed()).max(PATIENCE_MIN));
                Ok(false)
            }
            put => put.map(|()| true),
        }
    }
}

/// True if the log knows a session or memo, forgotten or not.
pub(super) fn is_of_log(table: &SessionTable, id: &SessionId) -> bool {
    memo::uuid_of_key(id.as_str()).is_some() || table.get(id).is_some()
}
