//! The effects of an earlier attempt of the same call. A client repeats a call during which the daemon ended, and gets
//! the same answer.

use std::collections::BTreeSet;
use std::sync::Arc;

use baton_conversation::record::{CommandId, Position, SessionId};
use baton_events::envelope::StoredRecord;
use baton_events::{home, schema, session};
use baton_protocol::{Failure, ForgetParams};
use uuid::Uuid;

use crate::calls::{cause, internal};
use baton_journal::{Journal, READ_MAX_RECORDS, ReadError};

/// Records at the end of the log that are searched: a command repeats a call within seconds.
const LOOKED_THROUGH: u64 = 4 * READ_MAX_RECORDS as u64;

/// The effects of the events that name the call as their cause.
#[derive(Debug, Default)]
pub(super) struct EarlierAttempt {
    /// The id of the call, which its events will name.
    pub(super) cause: Option<CommandId>,
    /// Sessions that it has forgotten or restored.
    pub(super) sessions: BTreeSet<SessionId>,
    /// Sessions whose deleted episode it has restored.
    pub(super) episodes: BTreeSet<SessionId>,
    /// Notes that it has deleted or restored.
    pub(super) notes: BTreeSet<Uuid>,
    /// Facts that it has restored.
    pub(super) facts: BTreeSet<Uuid>,
    /// True if it has restored a cleared group.
    pub(super) group: bool,
}

impl EarlierAttempt {
    pub(super) async fn find(asked: &ForgetParams, journal: &Arc<dyn Journal>) -> Result<Self, Failure> {
        let Some(cause) = cause(asked.command_id.as_deref()).filter(|_| !asked.dry_run) else {
            return Ok(Self::default());
        };
        let journal = journal.clone();
        let reading = baton_base::task::spawn_blocking(move || {
            let mut from = Position(journal.tail().position.0.saturating_sub(LOOKED_THROUGH) + 1);
            let mut earlier = Self { cause: Some(cause), ..Self::default() };
            loop {
                let records = journal.read(from, READ_MAX_RECORDS)?;
                let Some(last) = records.last() else { return Ok::<_, ReadError>(earlier) };
                from = last.position.next();
                let ours = records.iter().filter(|record| record.metadata.cause == earlier.cause);
                ours.cloned().collect::<Vec<_>>().iter().for_each(|record| earlier.note(record));
            }
        });
        let read = reading.await.map_err(|error| internal("reading the log broke", error))?;
        read.map_err(|error| internal("the log cannot be read", error))
    }

    fn note(&mut self, record: &StoredRecord) {
        let StoredRecord { stream, kind, v, data, .. } = record;
        if let Some(id) = stream.session_id() {
            match schema::session::decode(kind, *v, data) {
                Ok(session::Event::Forgotten | session::Event::Restored { .. }) => {
                    self.sessions.insert(id);
                }
                Ok(session::Event::EpisodeRestored { .. }) => {
                    self.episodes.insert(id);
                }
                _ => {}
            }
        } else if let Some(note) = stream.memo_uuid() {
            self.notes.insert(note);
        } else {
            match schema::home::decode(kind, *v, data) {
                Ok(home::Event::FactRestored { fact }) => {
                    self.facts.insert(fact);
                }
                Ok(home::Event::GroupRestored { .. }) => self.group = true,
                _ => {}
            }
        }
    }
}
