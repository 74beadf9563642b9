//! Deleted or cleared episodes, notes and facts that are still stored, so that a person can restore them.

use baton_views::visibility;
use std::collections::BTreeSet;

use baton_conversation::record::SessionId;
use baton_events::memo;
use baton_events::projection::table::Row;
use baton_events::session::Phase;
use baton_protocol::{Failure, ForgetParams, code};
use uuid::Uuid;

use super::earlier_attempt::EarlierAttempt;
use super::{Run, not_done};
use crate::client::failure;
use crate::{memo as notes, resolve};
use baton_base::limits;
use baton_tracking::session::{Switch, Switched};
use baton_views::catalog::Catalog;

/// What is to be restored.
#[derive(Clone, Debug, Default)]
pub(super) struct Hidden {
    /// The cleared group; `Some(None)`: all groups.
    group: Option<Option<String>>,
    /// Sessions whose episode was deleted, or cleared with its group.
    pub(super) sessions: Vec<SessionId>,
    /// Notes and triplets that were cleared with their group.
    memos: Vec<Uuid>,
    /// Deleted facts.
    facts: Vec<Uuid>,
}

impl Hidden {
    /// Number of episodes, notes and facts.
    pub(super) fn count(&self) -> usize {
        self.sessions.len() + self.memos.len() + self.facts.len()
    }
}

/// What a call wants restored, and the names that refer to something else.
pub(super) fn select(
    asked: &ForgetParams,
    catalog: &Catalog,
    earlier: &EarlierAttempt,
) -> Result<(Hidden, Vec<String>), Failure> {
    let (table, settings) = catalog.now();
    let mut hidden = Hidden::default();
    let is_hidden = |id: &SessionId, row: &Row| table.is_deleted(row) || earlier.episodes.contains(id);
    let is_gone = |uuid: &Uuid| table.memo(*uuid).is_none() || earlier.notes.contains(uuid);
    let mut others = Vec::new();
    let facts: BTreeSet<Uuid> = table.deleted_facts().chain(earlier.facts.iter().copied()).collect();
    for text in &asked.sessions {
        if let Some(session) =
            resolve::known_session(&table, text).filter(|id| table.get(id).is_some_and(|row| is_hidden(id, row)))
        {
            hidden.sessions.push(session);
        } else if let Some(uuid) = notes::find(&table, text) {
            let state = table.memo_row(uuid).map(|row| row.state.clone()).unwrap_or_default();
            if state.memo.is_none() {
                let message = format!("note {uuid} was deleted with its words, which are nowhere any more");
                return Err(failure(code::REFUSED, message));
            }
            hidden.memos.extend(Some(uuid).filter(is_gone));
        } else if let Some(fact) = Uuid::try_parse(text).ok().filter(|uuid| facts.contains(uuid)) {
            hidden.facts.push(fact);
        } else {
            others.push(text.clone());
        }
    }
    let group = match (&asked.project, asked.all) {
        (_, true) => None,
        (Some(text), false) => Some(resolve::project(&table, &settings, text).unwrap_or_else(|_| text.clone())),
        (None, false) if asked.before.is_some() => None,
        (None, false) => return Ok((hidden, others)),
    };
    // With a date, the older ones are restored one by one instead of the group.
    hidden.group = asked.before.is_none().then(|| group.clone());
    let is_in_time = |at: i64| asked.before.is_none_or(|before| at < before);
    let was_forgotten =
        |id: &SessionId, row: &Row| row.state.phase == Phase::Forgotten || earlier.sessions.contains(id);
    let rows = table.iter().filter(|(id, row)| !was_forgotten(id, row) && is_hidden(id, row));
    let rows = rows.filter(|(_, row)| group.as_deref().is_none_or(|group| visibility::is_in(&row.state, group)));
    let rows = rows.filter(|(_, row)| is_in_time(row.state.last_activity().0));
    hidden.sessions.extend(rows.map(|(id, _)| id.clone()));
    let memos = table.memos().filter(|(uuid, _)| is_gone(uuid));
    hidden.memos.extend(memos.filter_map(|(uuid, row)| {
        let memo = row.state.memo.as_ref()?;
        let is_meant = group.as_deref().is_none_or(|group| memo.group == group) && is_in_time(memo.at.0);
        is_meant.then_some(uuid)
    }));
    if asked.all {
        hidden.facts.extend(facts);
    }
    Ok((hidden, others))
}

impl Run {
    /// Restores it, except what this call restored before. The group first, which restores most of the rest.
    pub(super) async fn restore_hidden(&mut self, hidden: Hidden) {
        let (memos, cause) = (self.forget.memos.clone(), self.earlier.cause.clone());
        if let Some(group) = hidden.group.as_ref().filter(|_| !self.earlier.group)
            && let Err(error) = memos.restore_group(group.as_deref(), cause.clone()).await
        {
            self.done.problems.push(format!("what was cleared: {error}"));
        }
        for id in hidden.sessions {
            self.restore_episode(&id).await;
            self.step();
        }
        for uuid in hidden.memos {
            if !self.earlier.notes.contains(&uuid)
                && let Err(error) = memos.restore(uuid, cause.clone()).await
            {
                self.done.problems.push(format!("{}: {error}", memo::key(uuid)));
            }
            self.step();
        }
        for fact in hidden.facts {
            if !self.earlier.facts.contains(&fact)
                && let Err(error) = memos.restore_fact(fact, cause.clone()).await
            {
                self.done.problems.push(format!("fact {fact}: {error}"));
            }
            self.step();
        }
        if self.forget.indexer.caught_up(self.table().position(), limits::PURGE).await.is_err() {
            let problem = "the searchable memory has not taken it in yet; `baton status` tells why";
            self.done.problems.push(problem.to_owned());
        }
    }

    async fn restore_episode(&mut self, id: &SessionId) {
        let table = self.table();
        let Some(row) = table.get(id).filter(|row| table.is_deleted(row)) else { return };
        let Some(episode) = row.state.episode.as_ref().map(|episode| episode.uuid) else { return };
        let is_cleared = row.state.deleted != Some(episode);
        let switch = Switch::RestoreEpisode { episode, is_cleared, cause: self.earlier.cause.clone() };
        match self.forget.supervisor.switch(id, switch, limits::SESSION_CALL).await {
            Ok(Switched::Done { .. }) => {}
            switched => self.done.problems.push(not_done(id, switched)),
        }
        // It was deleted by itself and cleared with its group later: both must be undone.
        let table = self.table();
        if !is_cleared && table.get(id).is_some_and(|row| table.is_deleted(row)) {
            let switch = Switch::RestoreEpisode { episode, is_cleared: true, cause: None };
            if let Err(error) = self.forget.supervisor.switch(id, switch, limits::SESSION_CALL).await {
                self.done.problems.push(format!("session {id}: {error}"));
            }
        }
    }
}
