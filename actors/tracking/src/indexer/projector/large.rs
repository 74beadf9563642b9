//! Takes in large conversations when there is nothing else to do.

use std::time::Instant;

use baton_conversation::record::{Position, SessionId};

use super::interrupt::{Interrupt, OtherWork};
use super::{Covered, Error, Projector, Want};
use crate::indexer::large::Awaited;
use baton_memory::Error as MemoryError;

impl<C: Fn(SessionId) + Send + 'static> Projector<C> {
    /// Takes in a large conversation if one is due. Returns true if one was.
    pub(super) fn take_in_large(&mut self) -> Result<bool, Error> {
        let awaits = |want| {
            let waiting = self.waiting.iter().filter(move |wait| wait.want == want && !wait.reply.is_closed());
            waiting.map(|wait| wait.at_least).max().unwrap_or_default()
        };
        let purged = self.purges.iter().map(|purge| purge.at_least).max().unwrap_or_default();
        let awaited = Awaited { whole: awaits(Want::Whole).max(purged), turns: awaits(Want::Turns) };
        let now = Instant::now();
        let Some((session, patience)) = self.large.next(awaited, now) else { return Ok(false) };
        // Commit first, so that abandoning it loses nothing else.
        self.commit()?;
        let (options, table) = (self.options.clone(), self.options.table.now());
        let others = OtherWork::of(&options, &self.coverage, &self.large, self.applied, patience);
        let go_on = || others.check();
        let put = match table.get(&session).map(|row| (row, &row.state.episode)) {
            Some((row, Some(current))) if !table.is_deleted(row) => {
                self.put(&session, row, current, Interrupt::until_stopped(&go_on))
            }
            _ => Ok(()),
        };
        match put {
            Err(Error::Memory(MemoryError::GaveWay)) => {
                tracing::debug!(%session, ms = now.elapsed().as_millis(), "large conversation put off again");
                self.left_out.clear(&session);
                self.large.note_abandoned(&session, now.elapsed());
            }
            put => {
                put?;
                self.large.note_taken_in(&session, now.elapsed());
                self.commit()?;
            }
        }
        Ok(true)
    }

    /// How far the log has been applied, committed or not.
    pub(super) fn taken_in(&self) -> Covered {
        let before = |event: Option<Position>| {
            event.map_or(self.applied, |event| Position(event.0.saturating_sub(1)).min(self.applied))
        };
        let (whole, turns) = (before(self.large.first()), before(self.large.first_without_turns()));
        Covered { whole, turns, but_large: self.applied }
    }
}
