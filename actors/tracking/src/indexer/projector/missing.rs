//! Keeps the memory complete: it holds everything that is visible, and nothing else.

use std::time::Instant;

use baton_conversation::record::SessionId;
use baton_events::memo;
use baton_events::projection::table::{Row, SessionTable};
use baton_events::session::{EpisodeRef, Phase};
use uuid::Uuid;

use super::{Error, Interrupt, LOOK_AGAIN, LOOKED_AT, Projector};
use crate::indexer::large::is_large;
use baton_store::text_keeper::all_gone;

impl<C: Fn(SessionId) + Send + 'static> Projector<C> {
    /// Puts in sessions that are missing because their conversations could not be read: checks all of them when the log
    /// was first caught up with, and the known ones from time to time.
    pub(super) fn add_missing(&mut self) -> Result<(), Error> {
        let table = self.options.table.now();
        if self.applied < table.position() {
            return Ok(());
        }
        let missing: Vec<SessionId> = match self.missing_added_at {
            None => {
                let memos = table.memos().map(|(uuid, _)| memo::key(uuid));
                table.iter().map(|(session, _)| session.clone()).chain(memos).collect()
            }
            Some(at) if at.elapsed() < LOOK_AGAIN => return Ok(()),
            Some(_) => self.left_out.all_unreadable().into_iter().map(|(session, _)| session).take(LOOKED_AT).collect(),
        };
        for session in missing {
            self.add_if_missing(&session, &table)?;
        }
        if self.missing_added_at.is_none() {
            // A killed daemon may have left purges undone.
            self.forgotten.extend(all_gone(&table));
        }
        self.missing_added_at = Some(Instant::now());
        Ok(())
    }

    /// Puts in everything visible that is missing, after a cleared group was restored.
    pub(super) fn add_all_missing(&mut self, table: &SessionTable) -> Result<(), Error> {
        let sessions: Vec<SessionId> = table.iter().map(|(session, _)| session.clone()).collect();
        let memos = table.memos().map(|(uuid, _)| memo::key(uuid));
        sessions.into_iter().chain(memos).try_for_each(|id| self.add_if_missing(&id, table))
    }

    fn add_if_missing(&mut self, id: &SessionId, table: &SessionTable) -> Result<(), Error> {
        if let Some(uuid) = memo::uuid_of_key(id.as_str()) {
            return self.add_memo_if_missing(uuid, table);
        }
        let Some(row) = table.get(id).filter(|row| row.state.phase != Phase::Forgotten) else { return Ok(()) };
        match &row.state.episode {
            Some(current) if !self.store.holds(id)? => self.put_shown(id, row, current),
            _ => Ok(()),
        }
    }

    /// Puts in the session's current episode; a large one is put off. Removes the session if it is deleted or cleared.
    pub(super) fn put_shown(&mut self, session: &SessionId, row: &Row, current: &EpisodeRef) -> Result<(), Error> {
        match self.options.table.now().is_deleted(row) {
            false if is_large(current) => {
                self.large.owe(session, self.applied.next());
                Ok(())
            }
            false => {
                self.put(session, row, current, Interrupt::never())?;
                self.large.settled(session);
                Ok(())
            }
            true if self.store.holds(session)? => self.remove(session),
            true => Ok(()),
        }
    }

    /// Puts in a memo if it is missing.
    fn add_memo_if_missing(&mut self, uuid: Uuid, table: &SessionTable) -> Result<(), Error> {
        match table.memo(uuid) {
            Some((_, memo)) if !self.store.holds(&memo::key(uuid))? => self.put_memo(uuid, memo),
            _ => Ok(()),
        }
    }
}
