//! The effect of an event on the memory. The newest table decides, so a rebuilt memory never takes in what was removed
//! since.

use std::sync::Arc;

use baton_conversation::record::SessionId;
use baton_events::envelope::StoredRecord;
use baton_events::projection::table::{Row, SessionTable};
use baton_events::session::{CloseReason, Event, Phase};
use uuid::Uuid;

use baton_journal::session_stream;

/// The effect of an event; see [`Change::of`].
pub(super) enum Change {
    Nothing,
    /// An event of a memo.
    Memo(Uuid),
    /// An event of the home.
    Home,
    Forgotten(SessionId),
    /// The session's next conversation is a different one, even if it has as many items.
    BegunAnew(SessionId),
    /// The session's current episode is to be put in.
    Put {
        session: SessionId,
        row: Arc<Row>,
        /// True if the memory must replace all it has of the session.
        anew: bool,
        /// True if only the conversation has changed.
        is_indexed: bool,
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
        // The session table counts and reports unreadable events.
        let Ok(recorded) = session_stream::decode(record) else { return Self::Nothing };
        let row = || table.get(&session).filter(|row| row.state.phase != Phase::Forgotten);
        let anew = match &recorded.event {
            Event::Forgotten => return Self::Forgotten(session),
            Event::IndexingStarted { reason: CloseReason::Reindex, .. } => return Self::BegunAnew(session),
            Event::Indexed { episode, .. } => match row().and_then(|row| row.state.episode.as_ref()) {
                // Superseded: a later event names the current episode.
                Some(current) if current.manifest != episode.manifest => return Self::Nothing,
                _ => false,
            },
            Event::EpisodeDeleted { .. }
            | Event::EpisodeRestored { .. }
            | Event::Corrected { .. }
            | Event::Enriched { .. } => false,
            // The session that it follows is one of its facts.
            Event::Signalled { signal } if signal.follows.is_some() => false,
            // The text or its context has changed, even if there are as many items.
            Event::Redacted { .. }
            | Event::Shortened { .. }
            | Event::GroupAssigned { .. }
            | Event::ParentFound { .. }
            | Event::Moved { .. } => true,
            _ => return Self::Nothing,
        };
        match row() {
            Some(row) if row.state.episode.is_some() || anew => {
                let is_indexed = matches!(recorded.event, Event::Indexed { .. });
                Self::Put { row: row.clone(), session, anew, is_indexed }
            }
            _ => Self::Nothing,
        }
    }
}
