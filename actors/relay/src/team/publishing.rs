//! Publishes what this home owes: its introduction, sessions of shared projects, and that something is forgotten.

use std::sync::Arc;

use baton_config::settings::Settings;
use baton_conversation::record::SessionId;
use baton_events::projection::table::{Row, SessionTable};
use baton_events::session::Phase;
use baton_sharing::batch::{Notice, Said};

use super::{Member, Team, is_shared, machine};
use crate::outbound::is_owed;
use crate::record::{Shared, Writer};
use crate::transport::Stream;

impl Team {
    /// Makes this home known to the others, once.
    pub(super) async fn introduce(&self, member: &Member) -> Result<(), String> {
        let (name, machine) = (self.own_name(&member.settings), machine());
        let (id, signing) = (member.keys.writer(), member.keys.signing());
        let notices = {
            let state = self.state();
            match state.writers.get(&id) {
                Some(own) if own.name == name && own.machine == machine && !own.has_left => return Ok(()),
                own => own.map_or(0, |own| own.notices),
            }
        };
        let key = baton_conversation::hex::encode(signing.verifying_key().as_bytes());
        let box_key = baton_conversation::hex::encode(member.keys.box_key().as_bytes());
        let said = Said::Joined { name, machine, key, box_key };
        self.say(member, notices, said).await
    }

    pub(crate) async fn say(&self, member: &Member, notices: u64, said: Said) -> Result<(), String> {
        let change = self.outbound(member).notice(notices, Notice::new(self.options.clock.now(), said)).await;
        self.apply(member, change.map_err(|error| error.to_string())?);
        Ok(())
    }

    /// The sessions that something is owed of.
    pub(crate) fn owed(
        &self,
        member: &Member,
        table: &SessionTable,
        settings: &Settings,
    ) -> Vec<(SessionId, Arc<Row>)> {
        let mut state = self.state();
        if state.share != settings.relay.share {
            (state.share, state.looked) = (settings.relay.share.clone(), None);
        }
        let changed = state.looked.and_then(|looked| table.changed_since(looked));
        let rows: Vec<_> = match changed {
            Some(changed) => changed.into_iter().filter_map(|id| Some((id.clone(), table.get(id)?.clone()))).collect(),
            None => table.iter().map(|(id, row)| (id.clone(), row.clone())).collect(),
        };
        let own = state.writers.get(&member.keys.writer());
        let is_owed = |(id, row): &(SessionId, Arc<Row>)| {
            is_shared(&row.state, settings)
                && is_owed(&row.state, row.version, own.and_then(|own| own.sessions.get(id)))
                && !state.is_settled(id, row.version)
        };
        rows.into_iter().filter(is_owed).collect()
    }

    pub(super) async fn publish(&self, member: &Member, settings: &Arc<Settings>) -> Result<(), String> {
        let table = self.options.table.now();
        let mut failed = None;
        for (id, row) in self.owed(member, &table, settings) {
            let known = self.state().writers.get(&member.keys.writer()).and_then(|own| own.sessions.get(&id).cloned());
            if let Err(error) = self.publish_session(member, &id, &row, known.as_ref()).await {
                tracing::debug!(session = %id, error, "session not published yet");
                failed.get_or_insert(format!("session {id}: {error}"));
            }
        }
        match failed {
            Some(failed) => Err(failed),
            None => {
                self.state().looked = Some(table.position());
                Ok(())
            }
        }
    }

    async fn publish_session(
        &self,
        member: &Member,
        id: &SessionId,
        row: &Arc<Row>,
        known: Option<&Shared>,
    ) -> Result<(), String> {
        // What is published by the keys of an earlier epoch can be read by those who were removed since.
        let epoch = member.keys.team.current().0;
        let reached_before = known.map(|known| known.sequence);
        let known = match known {
            Some(known) if known.epoch != epoch => {
                self.outbound(member).begin_anew(id, known).await.map_err(|error| error.to_string())?;
                None
            }
            known => known,
        };
        let (drafts, of, version, current, before) =
            (self.drafts(), id.clone(), row.version, row.clone(), known.cloned());
        let drafting = baton_base::task::spawn_blocking(move || drafts.of(&of, &current, before.as_ref()));
        let draft = drafting.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        let reached = match reached_before {
            Some(reached) => reached,
            None => {
                let stream = member.keys.team.session_name(&member.keys.writer(), id);
                let writer = member.keys.team.writer_name(&member.keys.writer());
                member.relay.head(Stream { writer, stream }).await.map_err(|error| error.to_string())?
            }
        };
        let published = self.outbound(member).session(id, version, draft, known, reached).await;
        for change in published.map_err(|error| error.to_string())? {
            self.apply(member, change);
        }
        self.state().settled.insert(id.clone(), version);
        Ok(())
    }

    /// Has the others remove what was forgotten here, and destroys what is left of it on the relay.
    pub(super) async fn forget(&self, member: &Member) -> Result<(), String> {
        let table = self.options.table.now();
        let is_forgotten = |id: &SessionId| table.get(id).is_some_and(|row| row.state.phase == Phase::Forgotten);
        for id in self.own_sessions(|own| own.sessions.keys().filter(|id| is_forgotten(id)).cloned().collect()) {
            self.retract(member, &id).await?;
        }
        for id in self.own_sessions(|own| own.forgotten.keys().cloned().collect()) {
            if !self.state().destroyed.contains(&id) {
                self.outbound(member).destroy(&id).await.map_err(|error| error.to_string())?;
                self.state().destroyed.insert(id);
            }
        }
        Ok(())
    }

    /// Some of what this home has published.
    pub(crate) fn own_sessions(&self, select: impl FnOnce(&Writer) -> Vec<SessionId>) -> Vec<SessionId> {
        let state = self.state();
        state.own.as_ref().and_then(|own| state.writers.get(own)).map(select).unwrap_or_default()
    }

    /// Has the others remove a session of this home.
    pub(crate) async fn retract(&self, member: &Member, id: &SessionId) -> Result<(), String> {
        let notices = self.state().writers.get(&member.keys.writer()).map_or(0, |own| own.notices);
        {
            let mut state = self.state();
            state.destroyed.remove(id);
            state.settled.remove(id);
        }
        self.say(member, notices, Said::Forgot { session: id.clone() }).await
    }
}
