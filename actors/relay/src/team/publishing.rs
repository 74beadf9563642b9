//! Publishes what this home owes: its introduction, sessions of shared projects, and removals.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use baton_config::settings::Settings;
use baton_conversation::hash::ContentHash;
use baton_conversation::record::{Position, SessionId};
use baton_events::projection::table::{Row, SessionTable};
use baton_sharing::batch::{Notice, Said};
use baton_views::visibility;
use futures_util::StreamExt as _;

use super::{Member, Team, is_shared, machine};
use crate::outbound::{Draft, Error, Outbound, Published, is_owed};
use crate::record::{SharedSession, Staged, Writer};
use crate::transport::{self, Stream};

/// Sessions that are published at once.
const AT_ONCE: usize = 4;

impl Team {
    /// Introduces this home to the others, once.
    pub(crate) async fn introduce(&self, member: &Member) -> Result<(), String> {
        let (name, machine) = (self.own_name(&member.settings), machine());
        let (id, signing) = (member.keys.writer(), member.keys.signing());
        let notices = {
            let state = self.state();
            match state.writers.get(&id) {
                Some(own) if own.name == name && own.machine == machine && !own.has_left => return Ok(()),
                // Two machines with the same keys would otherwise answer each other for ever.
                Some(_) if state.introduced == Some((name.clone(), machine.clone())) => return Ok(()),
                own => own.map_or(0, |own| own.notices),
            }
        };
        let key = baton_conversation::hex::encode(signing.verifying_key().as_bytes());
        let box_key = baton_conversation::hex::encode(member.keys.box_key().as_bytes());
        let said = Said::Joined { name: name.clone(), machine: machine.clone(), key, box_key };
        self.publish_notice(member, notices, said).await?;
        self.state().introduced = Some((name, machine));
        Ok(())
    }

    pub(crate) async fn publish_notice(&self, member: &Member, notices: u64, said: Said) -> Result<(), String> {
        let change = self.outbound(member).publish_notice(notices, Notice::new(self.options.clock.now(), said)).await;
        let change = change.map_err(|error| {
            self.state().unsure.insert(member.keys.team.notices_name(&member.keys.writer()));
            error.to_string()
        })?;
        self.apply(member, change);
        Ok(())
    }

    /// The sessions that have something to publish.
    pub(crate) fn owed_sessions(
        &self,
        member: &Member,
        table: &SessionTable,
        settings: &Arc<Settings>,
    ) -> Vec<(SessionId, Arc<Row>)> {
        let mut state = self.state();
        if state.looked_by.as_ref().is_none_or(|by| !Arc::ptr_eq(by, settings)) {
            (state.looked_by, state.looked) = (Some(settings.clone()), None);
        }
        let changed = state.looked.and_then(|looked| table.changed_since(looked));
        let rows: Vec<_> = match changed {
            Some(mut changed) => {
                changed.extend(state.unpublished.keys());
                changed.into_iter().filter_map(|id| Some((id.clone(), table.get(id)?.clone()))).collect()
            }
            None => table.iter().map(|(id, row)| (id.clone(), row.clone())).collect(),
        };
        let own = state.writers.get(&member.keys.writer());
        let is_owed = |(id, row): &(SessionId, Arc<Row>)| {
            let is_new = || is_owed(&row.state, row.version, own.and_then(|own| own.sessions.get(id)));
            is_shared(table, settings, id, row)
                && own.is_none_or(|own| !own.withheld.contains(id))
                && !(state.holds_back && state.unpublished.get(id).is_some_and(|(of, _)| *of == Some(row.version)))
                && (state.lost.contains(id) || is_new() && !state.is_settled(id, row.version))
        };
        rows.into_iter().filter(is_owed).collect()
    }

    pub(super) async fn publish(&self, member: &Member) -> Result<(), String> {
        let table = self.options.table.now();
        let owed = self.owed_sessions(member, &table, &self.options.settings.now());
        let lost = {
            let mut state = self.state();
            let holds_back = state.holds_back;
            state.unpublished.retain(|id, _| holds_back && owed.iter().all(|(owed, _)| owed != id));
            state.lost.len()
        };
        // Several at once: while one waits for the relay or the disk, another one is redacted and sealed.
        let (is_over, mut failed) = (&AtomicBool::new(false), None);
        let publishing = owed.into_iter().map(|(id, row)| async move {
            let done = match is_over.load(Ordering::Relaxed) {
                true => Ok(false),
                false => self.publish_one(member, &id).await,
            };
            (id, row.version, done)
        });
        let mut publishing = std::pin::pin!(futures_util::stream::iter(publishing).buffer_unordered(AT_ONCE));
        // To the end: the outcome of each started session must be known.
        while let Some((id, version, done)) = publishing.next().await {
            match done {
                Ok(true) => {}
                Ok(false) => is_over.store(true, Ordering::Relaxed),
                Err(error) => {
                    let stream = member.keys.team.session_name(&member.keys.writer(), &id);
                    tracing::debug!(session = %id, %error, "session not published yet");
                    {
                        let mut state = self.state();
                        state.unsure.insert(stream);
                        // After a conflict, the next round receives or notices the difference.
                        let is_behind = matches!(error, Error::Relay(transport::Error::Conflict { .. }));
                        state.unpublished.insert(id, ((!is_behind).then_some(version), error.to_string()));
                    }
                    if let Error::Relay(error @ transport::Error::Unavailable(_)) = error {
                        is_over.store(true, Ordering::Relaxed);
                        failed.get_or_insert(error.to_string());
                    }
                }
            }
        }
        let left = Some(self.state().lost.clone()).filter(|left| left.len() < lost);
        if let Some(left) = left {
            self.write_lost(left).await?;
        }
        if let Some(error) = failed {
            return Err(error);
        }
        if is_over.load(Ordering::Relaxed) {
            return Ok(());
        }
        {
            let mut state = self.state();
            state.looked = Some(table.position());
            if !state.unpublished.is_empty() {
                return Ok(());
            }
        }
        self.note_all_republished().await?;
        self.state().level_at = Some(self.options.clock.now());
        Ok(())
    }

    /// Publishes a session, if it still should be. Returns false if nothing may be published any more.
    async fn publish_one(&self, member: &Member, id: &SessionId) -> Result<bool, Error> {
        // Sharing may have been paused, or the session hidden, meanwhile.
        let (now, settings) = (self.options.table.now(), self.options.settings.now());
        if !is_open(member, &settings) {
            return Ok(false);
        }
        let Some(row) = now.get(id).filter(|row| is_shared(&now, &settings, id, row)) else { return Ok(true) };
        let (known, begun) = {
            let state = self.state();
            let own = state.writers.get(&member.keys.writer());
            let known = own.and_then(|own| own.sessions.get(id).cloned());
            (known, own.and_then(|own| own.begun.get(id).cloned()))
        };
        self.publish_session(member, id, row, known.as_ref(), begun.as_ref()).await?;
        Ok(true)
    }

    async fn publish_session(
        &self,
        member: &Member,
        id: &SessionId,
        row: &Arc<Row>,
        before: Option<&SharedSession>,
        begun: Option<&Staged>,
    ) -> Result<(), Error> {
        let stream = member.keys.team.session_name(&member.keys.writer(), id);
        let writer = member.keys.team.writer_name(&member.keys.writer());
        let stream = Stream { writer, stream };
        // Read before any object is put.
        let mut reached = member.relay.head(stream).await?;
        let is_lost = self.state().lost.contains(id);
        if let Some(known) = before.filter(|known| known.sequence != reached && !(is_lost && reached < known.sequence))
        {
            tracing::debug!(session = %id, known.sequence, reached, "the relay has another state of a session");
            if reached < known.sequence {
                // The relay was set back since it was checked.
                let mut state = self.state();
                (state.has_looked_back, state.is_set_back) = (false, true);
            }
            return Err(transport::Error::Conflict { actual: reached }.into());
        }
        // Removed members can read what was published by the keys of an earlier epoch; and an earlier state of this
        // home may have published events that are not here.
        let epoch = member.keys.team.current().0;
        let goes_on = |known: &&SharedSession| {
            known.epoch == epoch && !known.received && known.through <= row.version.0 && !is_lost
        };
        let mut known = before.filter(goes_on);
        let mut draft = self.draft(id, row, known).await?;
        // Redacted text must not be readable by the previous key.
        if known.is_some() && draft.is_redacted {
            known = None;
            draft = self.draft(id, row, None).await?;
        }
        // An interrupted attempt published no message by its key, but its chunks may be there.
        let again =
            begun.filter(|begun| known.is_some() || before.is_none() && begun.epoch == epoch && !draft.is_redacted);
        let mut objects = {
            let state = self.state();
            let own = state.writers.get(&member.keys.writer());
            own.and_then(|own| own.objects.get(id).cloned()).unwrap_or_default()
        };
        if known.is_none() && again.is_none() && (before.is_some() || begun.is_some()) {
            self.outbound(member).purge_for_republishing(id, &objects).await?;
            objects.clear();
        }
        // Members who have what the relay lost know its sequence.
        if let Some(known) = before.filter(|known| known.sequence > reached) {
            member.relay.continue_after(stream, known.sequence).await?;
            reached = known.sequence;
        }
        let mut changes = Vec::new();
        let goes_on = || {
            let (now, settings) = (self.options.table.now(), self.options.settings.now());
            is_open(member, &settings) && now.get(id).is_some_and(|row| is_shared(&now, &settings, id, row))
        };
        let outbound = Outbound { goes_on: &goes_on, ..self.outbound(member) };
        let of_before = Published { known, begun: again, objects: &objects, reached };
        let published = outbound.publish_session(id, row.version, draft, of_before, &mut changes).await;
        // Published batches count even if a later one failed.
        for change in changes {
            self.apply(member, change);
        }
        let is_cleared = published?;
        let mut state = self.state();
        if is_cleared && let Some(own) = state.writers.get_mut(&member.keys.writer()) {
            own.note_cleared(id);
        }
        state.lost.remove(id);
        state.settled.insert(id.clone(), row.version);
        Ok(())
    }

    async fn draft(&self, id: &SessionId, row: &Arc<Row>, known: Option<&SharedSession>) -> Result<Draft, Error> {
        let (drafts, of, current, before) = (self.drafts(), id.clone(), row.clone(), known.cloned());
        let drafting = baton_base::task::spawn_blocking(move || drafts.prepare(&of, &current, before.as_ref()));
        drafting.await.map_err(|error| Error::Here(error.to_string()))?
    }

    /// Makes the others remove what was forgotten, deleted or excluded here, and destroys what is left of it on the
    /// relay. A failure for one session does not hold up the others.
    pub(crate) async fn retract_hidden(&self, member: &Member) {
        let now = {
            let (table, settings, state) = (self.options.table.now(), self.options.settings.now(), self.state());
            let own = state.writers.get(&member.keys.writer()).map_or(0, |own| own.size);
            let is_same = |(at, by, size): &(Position, Arc<Settings>, u64)| {
                *at == table.position() && Arc::ptr_eq(by, &settings) && *size == own
            };
            let is_left = !state.may_be_back.is_empty() || !state.undestroyed.is_empty() && !state.holds_back;
            if !is_left && state.forgot_by.as_ref().is_some_and(is_same) {
                return;
            }
            (table.position(), settings, own)
        };
        {
            let mut state = self.state();
            state.undestroyed.clear();
            // The state before this run, so that its own changes are checked once more.
            state.forgot_by = Some(now);
        }
        for id in self.own_sessions(|own| self.hidden_on_relay(own)) {
            if let Err(error) = self.retract(member, &id).await {
                self.state().undestroyed.insert(id, error);
            }
        }
        let gone: Vec<(SessionId, BTreeSet<ContentHash>)> = {
            let state = self.state();
            let own = state.writers.get(&member.keys.writer());
            let objects = |id: &SessionId| match own?.objects.get(id) {
                None => state.may_be_back.contains(id).then(BTreeSet::new),
                objects => objects.cloned(),
            };
            let gone = own.into_iter().flat_map(|own| own.forgotten.keys());
            gone.filter_map(|id| Some((id.clone(), objects(id)?))).collect()
        };
        for (id, objects) in gone {
            let destroyed = self.outbound(member).destroy(&id, &objects).await;
            let mut state = self.state();
            if let Err(error) = destroyed {
                state.undestroyed.insert(id, error.to_string());
                continue;
            }
            state.may_be_back.remove(&id);
            if let Some(own) = state.writers.get_mut(&member.keys.writer()) {
                own.objects.remove(&id);
                own.void.insert(id);
            }
        }
    }

    /// Sessions on the relay that may no longer be shown.
    pub(crate) fn hidden_on_relay(&self, own: &Writer) -> Vec<SessionId> {
        let (table, settings) = (self.options.table.now(), self.options.settings.now());
        // A session unknown here stays, because this home's log may be lost.
        let is_hidden = |id: &&SessionId| {
            table.get(id).is_some_and(|row| {
                visibility::is_hidden(&table, &settings, &[], id.as_str())
                    // Objects that no batch names are removed as well.
                    || own.begun.contains_key(*id)
                        && !own.sessions.contains_key(*id)
                        && !is_shared(&table, &settings, id, row)
            })
        };
        own.sessions_on_relay().filter(is_hidden).cloned().collect()
    }

    /// Selects from what this home has published.
    pub(crate) fn own_sessions(&self, select: impl FnOnce(&Writer) -> Vec<SessionId>) -> Vec<SessionId> {
        let state = self.state();
        state.own.as_ref().and_then(|own| state.writers.get(own)).map(select).unwrap_or_default()
    }

    /// Makes the others remove a session of this home.
    pub(crate) async fn retract(&self, member: &Member, id: &SessionId) -> Result<(), String> {
        let stream = member.keys.team.session_name(&member.keys.writer(), id);
        let writer = member.keys.team.writer_name(&member.keys.writer());
        // The relay may have more than is recorded here, if its key could not be read.
        let head = member.relay.head(Stream { writer, stream }).await.map_err(|error| error.to_string())?;
        let (notices, sequence) = {
            let mut state = self.state();
            state.may_be_back.insert(id.clone());
            state.settled.remove(id);
            let own = state.writers.get(&member.keys.writer());
            let reached = own.and_then(|own| own.sessions.get(id)).map_or(0, |own| own.sequence);
            (own.map_or(0, |own| own.notices), reached.max(head))
        };
        self.publish_notice(member, notices, Said::Forgot { session: id.clone(), sequence }).await
    }
}

/// True if the relay is not paused, and the one that the member is connected to.
fn is_open(member: &Member, settings: &Settings) -> bool {
    settings.relay == member.settings || settings.relay.enabled && settings.relay.url == member.settings.url
}
