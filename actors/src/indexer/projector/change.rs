//! What an event means for the memory, by the newest table: so a memory that is built anew never takes in what has gone since.

use std::sync::Arc;

use baton_conversation::record::SessionId;
use baton_events::envelope::StoredRecord;
use baton_events::projection::table::{Row, SessionTable};
use baton_events::session::{CloseReason, Event, Phase};
use uuid::Uuid;

use baton_journal::session_stream;

/// See [`Change::of`].
pub(super) enum Change {
    Nothing,
    /// Something of a memo.
    Memo(Uuid),
    /// Something of the home.
    Home,
    Forgotten(SessionId),
    /// The conversation that comes next is another one, though it may have as many items.
    BegunAnew(SessionId),
    /// The session's current episode is taken in.
    Put {
        session: SessionId,
        row: Arc<Row>,
        /// Whether nothing that the memory has of it is to be kept.
        anew: bool,
    },
}

impl Change {
    pub(super) fn of(record: &StoredRecord, table: &SessionTable) -> Self {
        if let Some(uuid) = record.stream.memo_uuid() {
            return Self::Memo(uuid);
        }
        if record.stream.is_home() {
            return Self::Home;
        }
        let Some(session) = record.stream.session_id() else { return Self::Nothing };
        // The session table counts it and says so.
        let Ok(recorded) = session_stream::decode(record) else { return Self::Nothing };
        let row = || table.get(&session).filter(|row| row.state.phase != Phase::Forgotten);
        let anew = match &recorded.event {
            Event::Forgotten => return Self::Forgotten(session),
            Event::IndexingStarted { reason: CloseReason::Reindex, .. } => return Self::BegunAnew(session),
            Event::Indexed { episode, .. } => match row().and_then(|row| row.state.episode.as_ref()) {
                // Superseded meanwhile: its successor stands further on in the journal.
                Some(current) if current.manifest != episode.manifest => return Self::Nothing,
                _ => false,
            },
            Event::EpisodeDeleted { .. } | Event::EpisodeRestored { .. } | Event::Enriched { .. } => false,
            // In whose place it began is one of its facts.
            Event::Signalled { signal } if signal.follows.is_some() => false,
            // The text is another, or belongs elsewhere, though it may have as many items.
            Event::Redacted { .. } | Event::GroupAssigned { .. } | Event::ParentFound { .. } | Event::Moved { .. } => {
                true
            }
            _ => return Self::Nothing,
        };
        match row() {
            Some(row) if row.state.episode.is_some() || anew => Self::Put { row: row.clone(), session, anew },
            _ => Self::Nothing,
        }
    }
}
