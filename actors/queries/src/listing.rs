//! Rows of the session table, as answers show them.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use baton_conversation::record::SessionId;
use baton_events::projection::table::SessionTable;
use baton_events::session::{Phase, State, UNSEEN_STEP, UnindexedReason};
use baton_protocol::answer::{Row, SessionEnrichment};

use super::answers;
use super::answers::redact_plain;
use baton_tracking::enricher::Enricher;
use baton_views::conversation::Conversations;

/// Makes rows of sessions.
#[derive(Clone)]
pub struct SessionRows {
    /// The sessions, and the notes of their closes.
    pub conversations: Arc<Conversations>,
    /// Knows which sessions are over the model budget.
    pub enricher: Arc<Enricher>,
}

impl SessionRows {
    /// The wanted sessions, last activity first. Sessions without messages come last, so that a transcript of snapshots
    /// does not hide current work. Leaves out excluded projects, sessions known from hooks only, and the first `skip`.
    /// Blocks for reads of notes.
    pub(crate) fn list(
        &self,
        table: &SessionTable,
        skip: usize,
        wanted: impl Fn(&SessionId, &State) -> bool,
    ) -> impl Iterator<Item = Row> {
        let settings = self.conversations.catalog().settings.now();
        let shown =
            |id: &SessionId, state: &State| !state.is_unseen() && wanted(id, state) && !settings.excludes(state);
        let mut rows: Vec<_> = table.iter().filter(|(id, row)| shown(id, &row.state)).collect();
        rows.sort_by_cached_key(|(id, row)| {
            let state = &row.state;
            (state.counts.messages == 0, Reverse(state.last_activity()), (*id).clone())
        });
        rows.into_iter().skip(skip).map(|(id, row)| self.row(table, id, &row.state))
    }

    /// The row of one session of `table`. Blocks for the read of a note.
    pub(crate) fn row(&self, table: &SessionTable, id: &SessionId, state: &State) -> Row {
        let from = answers::author(table, id);
        let episode_deleted = self
            .conversations
            .catalog()
            .table
            .now()
            .get(id)
            .is_some_and(|row| self.conversations.catalog().table.now().is_deleted(row));
        let shown = state.episode.as_ref().filter(|_| !episode_deleted);
        let note = state.close_note.and_then(|hash| self.conversations.chunks().note(id, &hash).ok());
        Row {
            session_id: id.to_string(),
            title: None,
            file_path: (state.transcript.as_ref().filter(|_| from.is_none()))
                .map(|transcript| redact_plain(&transcript.path)),
            project: state.place.as_ref().map(|place| redact_plain(&place.project)),
            directory: state.place.as_ref().map(|place| redact_plain(&place.cwd)),
            group_id: state.shown_group_id().map(redact_plain),
            agent: state.transcript.as_ref().map(|transcript| transcript.agent.as_str().to_owned()),
            tracked: from.is_none()
                && self.conversations.catalog().settings.now().policy_for(state).tracked
                && !matches!(state.phase, Phase::Unindexed(UnindexedReason::Untracked) | Phase::Forgotten),
            state: state.phase.as_str().to_owned(),
            why: match (state.phase, &state.failure) {
                (Phase::Unindexed(why), _) => Some(why.to_string()),
                (Phase::Failed, Some(failure)) => Some(failure.why.to_string()),
                _ => None,
            },
            content_hash: state.episode.as_ref().map(|episode| episode.hash.short()),
            episode_uuid: shown.map(|episode| episode.uuid.to_string()),
            episode_deleted,
            source: None,
            last_indexed_at: state.episode.as_ref().map(|episode| episode.at.to_string()),
            last_activity: state.last_conversation_at.map(|at| at.to_string()),
            message_count: state.counts.messages,
            close_reason: state.last_close.map(|reason| reason.to_string()),
            close_note: note.map(|text| redact_plain(&text)),
            end: state.end.map(|end| end.reason.to_string()),
            retry_at: state.failure.map(|failure| failure.retry_at.to_string()),
            parent_session_id: state.parent().map(ToString::to_string),
            records_by_type: by_name(&state.counts.by_type),
            malformed_lines: state.counts.malformed,
            oversize_lines: state.counts.oversize,
            unknown_types: by_name(&state.counts.unknown),
            unreadable_events: self.conversations.catalog().table.now().unreadable_events(id),
            enrichment: self.enrichment(id, state),
            from,
        }
    }

    /// The state of a session's enrichment.
    fn enrichment(&self, id: &SessionId, state: &State) -> Option<SessionEnrichment> {
        let known = state.enrichment()?;
        let asking = match (known.owed, known.given_up) {
            (Some(_), _) => Some(SessionEnrichment {
                state: if self.enricher.is_over_budget(id) { "over_budget" } else { "owed" }.to_owned(),
                why: known.failed.map(|outcome| outcome.to_string()),
                retry_at: known.retry_at.map(|at| at.to_string()),
                ..SessionEnrichment::default()
            }),
            (None, Some((_, why))) => Some(SessionEnrichment {
                state: "given_up".to_owned(),
                why: Some(why.to_string()),
                next_step: Some(format!("{}; then `baton enrich {id}`", why.next_step())),
                ..SessionEnrichment::default()
            }),
            (None, None) => None,
        };
        let Some(by) = state.enriched_by() else { return asking };
        // A request that is repeated has the same reason as before, so this step is named only if none is owed.
        let next_step = (by.beyond_context() > 0 && asking.is_none()).then(|| UNSEEN_STEP.to_owned());
        let asking = asking.unwrap_or_default();
        Some(SessionEnrichment {
            again: Some(asking.state).filter(|state| !state.is_empty()),
            state: "enriched".to_owned(),
            model: Some(redact_plain(&by.model)),
            at: Some(by.at.to_string()),
            unseen: by.unseen,
            next_step: asking.next_step.or(next_step),
            ..asking
        })
    }
}

/// Counts by redacted name: an earlier version recorded the names as they stood in the transcript.
fn by_name(counts: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let mut shown = BTreeMap::new();
    for (name, count) in counts {
        *shown.entry(redact_plain(name)).or_default() += count;
    }
    shown
}
