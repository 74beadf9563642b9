//! Explains the state of a session: its events with the effect of each, computed by the core as in a replay, and
//! further notes.

use std::path::Path;
use std::sync::Arc;

use baton_conversation::record::{SequenceNumber, SessionId, StreamId};
use baton_events::memo::Memo;
use baton_events::replay::{History, Occurrence, owed};
use baton_events::schema::session::hide_group;
use baton_events::session::{Phase, Policy, State, UnindexedReason};
use baton_protocol::{ExplainParams, answer};
use baton_redaction::redact;
use uuid::Uuid;

use super::{QueryError, internal};
use crate::listing::SessionRows;
use crate::resolve::SessionResolver;
use crate::{memo, resolve};
use baton_base::latest::Latest;
use baton_base::transcript_file;
use baton_journal::{Journal, ReadError};
use baton_store::fingerprints::ForgottenSessions;
use baton_tracking::supervisor::Degraded;
use baton_tracking::transcript_roots::Roots;
use baton_tracking::watcher::Overview;

/// Most events of one answer; the session of a day has a few dozen.
const EVENTS: usize = 500;
/// Records per read.
const STEP: usize = 512;

/// Explains what happened to a session or a memo.
pub(crate) struct Explain {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) rows: SessionRows,
    pub(crate) roots: Arc<Roots>,
    pub(crate) degraded: Latest<Vec<Degraded>>,
    pub(crate) forgotten_sessions: Arc<ForgottenSessions>,
}

impl Explain {
    pub(crate) async fn answer(
        self,
        asked: &ExplainParams,
        resolver: SessionResolver<'_>,
    ) -> Result<answer::Explain, QueryError> {
        let named = asked.session.as_deref();
        if let Some((uuid, added)) = named.and_then(|text| memo::find_visible(resolver.catalog(), text)) {
            return self.explain_memo(uuid, added, SequenceNumber(asked.after)).await;
        }
        let id = resolver.requested_session(named, &asked.caller).await?;
        let table = resolver.catalog().table.now();
        let Some(row) = table.get(&id).cloned() else {
            return Err(resolve::unknown_session(&table, id.as_str()).into());
        };
        let overview = resolver.discovery.watcher.overview().await.unwrap_or_default();
        let after = SequenceNumber(asked.after);
        // Events, notes and the transcript are files.
        let read = baton_base::task::spawn_blocking(move || {
            let policy = self.rows.conversations.catalog().settings.now().policy_for(&row.state);
            let is_forgotten = row.state.phase == Phase::Forgotten;
            let (events, next) = self.events(&StreamId::session(&id), is_forgotten, after, &policy)?;
            Ok::<_, ReadError>(answer::Explain {
                notes: self.notes(&overview, &id, &row.state),
                owed: owed(&row.state, &policy),
                row: self.rows.row(&table, &id, &row.state),
                events,
                next,
            })
        });
        let read = read.await.map_err(|error| internal("reading the history broke", error))?;
        Ok(read.map_err(|error| internal("the history cannot be read", error))?)
    }

    /// Explains a memo. It has no owed work: what is recorded is searched.
    async fn explain_memo(self, uuid: Uuid, added: Memo, after: SequenceNumber) -> Result<answer::Explain, QueryError> {
        let read = baton_base::task::spawn_blocking(move || {
            let policy = self.rows.conversations.catalog().settings.now().policy.clone();
            let (events, next) = self.events(&StreamId::memo(uuid), false, after, &policy)?;
            let notes = vec!["this is an added note, not a session; it stays until deleted or replaced".to_owned()];
            Ok::<_, ReadError>(answer::Explain { row: memo::row(uuid, &added), events, next, owed: Vec::new(), notes })
        });
        let read = read.await.map_err(|error| internal("reading the history broke", error))?;
        Ok(read.map_err(|error| internal("the history cannot be read", error))?)
    }

    /// The events after a sequence, up to [`EVENTS`], and the sequence to continue after.
    fn events(
        &self,
        stream: &StreamId,
        is_forgotten: bool,
        after: SequenceNumber,
        policy: &Policy,
    ) -> Result<(Vec<answer::HistoryEvent>, Option<u64>), ReadError> {
        let (mut history, mut described) = (History::default(), Vec::new());
        loop {
            let records = self.journal.read_stream(stream, history.sequence, STEP)?;
            if records.is_empty() {
                return Ok((described, None));
            }
            for mut record in records {
                if is_forgotten {
                    hide_group(&mut record);
                }
                let occurrence = Occurrence::decode(record, false);
                if occurrence.sequence <= after {
                    history.apply(&occurrence);
                } else if described.len() == EVENTS {
                    return Ok((described, Some(history.sequence.0)));
                } else {
                    described.push(history.apply_and_describe(&occurrence, policy));
                }
            }
        }
    }

    /// Notes on what no event says.
    fn notes(&self, overview: &Overview, id: &SessionId, state: &State) -> Vec<String> {
        let mut notes = Vec::new();
        let stop = self.rows.conversations.catalog().settings.now().stop_of(state);
        if let Some(stop) = &stop {
            notes.push(format!("nothing is read or owed: {stop}"));
        }
        if state.phase == Phase::Unindexed(UnindexedReason::Untracked) {
            notes.push("no layer touches it since its tracking was stopped: `track_session` lifts that".to_owned());
        }
        if state.phase == Phase::Forgotten {
            notes
                .push(format!("it is forgotten: nothing of it is read or kept; `baton forget --undo {id}` lifts that"));
            let original = self.forgotten_sessions.original_of(id);
            notes.extend(
                original.map(|of| format!("it is a copy of a forgotten session, {of}, and was forgotten for that")),
            );
        }
        let table = self.rows.conversations.catalog().table.now();
        if let Some(row) = table.get(id).filter(|row| row.state.phase != Phase::Forgotten && table.is_deleted(row)) {
            let what = match row.state.deleted.is_some()
                && row.state.deleted == row.state.episode.as_ref().map(|it| it.uuid)
            {
                true => "its episode was deleted (`delete_episode`)".to_owned(),
                false => {
                    let home = &table.home().state;
                    let of_group = row.state.group_id().and_then(|group| home.cleared.get(group));
                    let at = of_group.copied().unwrap_or_default().max(home.cleared_all);
                    format!("what its group held at position {at} of the log was cleared (`clear_graph`)")
                }
            };
            notes.push(format!(
                "{what}: it is not found until it says something else; `baton forget --undo {id}` has it found again"
            ));
        }
        if state.forced {
            notes.push("it is tracked whatever the switches say, until its tracking is stopped".to_owned());
        }
        if let Some(transcript) = &state.transcript {
            let path = Path::new(&transcript.path);
            if self.roots.is_hung(path) {
                notes.push("its transcript lies where the file system does not answer".to_owned());
            } else if !transcript_file::exists(path) {
                notes.push("its transcript no longer exists; what was stored of it stays".to_owned());
            } else if stop.is_none() && !overview.roots.iter().any(|root| path.starts_with(&root.path)) {
                notes.push(
                    "its transcript lies outside of every directory that is read: nothing new is noticed".to_owned(),
                );
            }
        }
        let second = overview.second_files.iter().filter(|file| file.session == *id);
        notes.extend(
            second.map(|file| format!("{} has the same id and is not read: this session has another file", file.path)),
        );
        let degraded = self.degraded.now();
        let failing = degraded.iter().filter(|failing| failing.session() == Some(id));
        notes.extend(failing.map(|failing| format!("{}: {}", failing.describe(), failing.fix())));
        drop(degraded);
        let counts = &state.counts;
        if counts.malformed > 0 {
            notes.push(format!("lines of its transcript that are no JSON, passed over: {}", counts.malformed));
        }
        if counts.oversize > 0 {
            notes.push(format!(
                "lines of its transcript that are too long to be read, passed over: {}",
                counts.oversize
            ));
        }
        for (kind, count) in &counts.unknown {
            notes.push(format!("records of type {kind:?}, which this version does not know: {count}"));
        }
        notes.iter().map(|note| redact(note).into_owned()).collect()
    }
}
