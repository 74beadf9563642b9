//! What the memory should hold: all that is shown, and nothing else.

use std::time::Instant;

use baton_conversation::record::SessionId;
use baton_events::memo;
use baton_events::projection::table::{Row, SessionTable};
use baton_events::session::{EpisodeRef, Phase};
use uuid::Uuid;

use super::{Error, LOOK_AGAIN, LOOKED_AT, Projector, Way, purging};
use crate::indexer::large::is_large;

impl<C: Fn(SessionId) + Send + 'static> Projector<C> {
    /// Takes in the sessions that the memory should hold and does not, because their conversations could not be read when
    /// it was their turn: all that there are when it has followed for the first time, and those known since now and then.
    pub(super) fn make_whole(&mut self) -> Result<(), Error> {
        let table = self.options.table.now();
        if self.applied < table.position() {
            return Ok(());
        }
        let missing: Vec<SessionId> = match self.made_whole {
            None => {
                let memos = table.memos().map(|(uuid, _)| memo::key(uuid));
                table.iter().map(|(session, _)| session.clone()).chain(memos).collect()
            }
            Some(at) if at.elapsed() < LOOK_AGAIN => return Ok(()),
            Some(_) => self.left_out.all_unreadable().into_iter().map(|(session, _)| session).take(LOOKED_AT).collect(),
        };
        for session in missing {
            self.make_one_whole(&session, &table)?;
        }
        if self.made_whole.is_none() {
            // A daemon that was killed over it has left it to us.
            self.forgotten.extend(purging::forgotten(&table));
        }
        self.made_whole = Some(Instant::now());
        Ok(())
    }

    /// Takes in all that is shown and that the memory does not hold: a group was cleared, and is found again.
    pub(super) fn make_all_whole(&mut self, table: &SessionTable) -> Result<(), Error> {
        let sessions: Vec<SessionId> = table.iter().map(|(session, _)| session.clone()).collect();
        let memos = table.memos().map(|(uuid, _)| memo::key(uuid));
        sessions.into_iter().chain(memos).try_for_each(|id| self.make_one_whole(&id, table))
    }

    fn make_one_whole(&mut self, id: &SessionId, table: &SessionTable) -> Result<(), Error> {
        if let Some(uuid) = memo::uuid_of_key(id.as_str()) {
            return self.make_memo_whole(uuid, table);
        }
        let Some(row) = table.get(id).filter(|row| row.state.phase != Phase::Forgotten) else { return Ok(()) };
        match &row.state.episode {
            Some(current) if !self.store.holds(id)? => self.put_shown(id, row, current),
            _ => Ok(()),
        }
    }

    /// Makes the current episode what the memory holds of its session, a large one in its time; nothing, if it is deleted or
    /// cleared.
    pub(super) fn put_shown(&mut self, session: &SessionId, row: &Row, current: &EpisodeRef) -> Result<(), Error> {
        let is_deleted = self.options.table.now().is_deleted(row);
        match is_deleted {
            false if is_large(current) => {
                self.large.owe(session, self.applied.next());
                Ok(())
            }
            false => self.put(session, row, current, Way::straight()),
            true if self.store.holds(session)? => self.remove(session),
            true => Ok(()),
        }
    }

    /// Takes in a memo that the memory should hold and does not.
    fn make_memo_whole(&mut self, uuid: Uuid, table: &SessionTable) -> Result<(), Error> {
        match table.memo(uuid) {
            Some((_, memo)) if !self.store.holds(&memo::key(uuid))? => self.put_memo(uuid, memo),
            _ => Ok(()),
        }
    }
}
