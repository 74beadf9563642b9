//! Adds the turns of what was appended to a long conversation, without going through the rest of it.
//!
//! Everything derived from the whole conversation is put off (see [`large`](crate::indexer::large)). It also replaces
//! the turns added here, so the memory finally equals one that was filled from scratch.

use std::convert::Infallible;

use baton_conversation::item::Item;
use baton_conversation::record::SessionId;
use baton_events::projection::table::Row;
use baton_events::session::EpisodeRef;
use baton_memory::{Added, Origin};
use baton_store::conversation::Conversation;

use super::outline::Outline;
use super::recent::{End, Kept};
use super::{Error, Projector};
use crate::indexer::large::is_long;

impl<C: Fn(SessionId) + Send + 'static> Projector<C> {
    /// Adds the turns that follow those in the memory, and puts off the rest. Returns `false`, with the memory as it was,
    /// if that is not possible: it does not have the end of the conversation, or what follows changes earlier turns.
    pub(super) fn append(&mut self, session: &SessionId, row: &Row, current: &EpisodeRef) -> Result<bool, Error> {
        if !self.large.is_open(session) {
            return Ok(false);
        }
        let event = self.applied.next();
        if self.recent.holds(session, &current.manifest) {
            // An earlier event was applied by a newer table: the rest is owed since then, or was put in.
            self.fresh.take(&current.manifest);
            if self.large.owes(session) {
                self.large.owe_rest(session, event);
            }
            return Ok(true);
        }
        let is_added = self.try_append(session, row, current)?;
        match is_added {
            true => self.large.owe_rest(session, event),
            false => {
                self.recent.remove(session);
                self.large.set_open(session, false);
            }
        }
        Ok(is_added)
    }

    fn try_append(&mut self, session: &SessionId, row: &Row, current: &EpisodeRef) -> Result<bool, Error> {
        let Some(held) = self.fresh.take(&current.manifest) else { return Ok(false) };
        let Some(mut end) = held.after.and_then(|after| self.recent.end(session, &after)) else { return Ok(false) };
        let before = end.withdrawn.clone();
        held.items.iter().for_each(|item| end.withdrawn.note(item));
        if !end.withdrawn.judges_as(&before) {
            return Ok(false);
        }
        // If anything below panics, the next incarnation counts this conversation as suspect.
        self.left_out.suspect(session, current);
        let (known, passed_on) = (end.stream.count(), end.stream.emitted());
        end.stream.mark();
        let mut units = Vec::new();
        for item in &held.items {
            let Ok(()) = end.stream.push(item, &mut |unit| {
                units.push(unit);
                Ok::<_, Infallible>(())
            });
        }
        let from = end.stream.changed_from();
        let Some(unchanged) = from.checked_sub(passed_on) else {
            self.left_out.clear(session);
            return Ok(false);
        };
        units.extend(end.stream.pending().cloned());
        let state = &row.state;
        let origin = Origin {
            session,
            generation: current.generation,
            project: state.place.as_ref().map(|place| place.project.as_str()),
            group_id: state.group_id().unwrap_or_default(),
        };
        let units = units.get(unchanged..).unwrap_or_default();
        let added = self.store.add(&Added { origin, from, known, units });
        self.left_out.clear(session);
        added?;
        self.dirty();
        self.superseded.push(session.clone());
        self.keep(session, current, Kept::End(end));
        Ok(true)
    }

    /// Keeps what the session's next append needs of a conversation that was taken in.
    pub(super) fn remember(
        &mut self,
        session: &SessionId,
        current: &EpisodeRef,
        conversation: Conversation,
        outline: Outline,
    ) {
        let is_long = is_long(current);
        let kept = match conversation {
            _ if is_long => Kept::End(Box::new(End { stream: outline.stream, withdrawn: outline.noted })),
            // Conversations of a backfill are not appended to.
            Conversation::Held(items) if !(self.options.is_backfill)() => {
                let weight = items.iter().map(Item::weight).sum();
                Kept::Items(items, weight)
            }
            _ => return self.recent.remove(session),
        };
        self.large.set_open(session, is_long);
        self.keep(session, current, kept);
    }

    fn keep(&mut self, session: &SessionId, current: &EpisodeRef, kept: Kept) {
        for gone in self.recent.put(session.clone(), current.manifest, kept) {
            self.large.set_open(&gone, false);
        }
    }
}
