//! Sessions found by questions: they are enriched before others.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use baton_conversation::record::SessionId;

/// Limit of remembered sessions; with more the order would say little.
const REMEMBERED: usize = 4096;

/// The sessions found since the daemon started.
#[derive(Debug, Default)]
pub(super) struct Hits(Mutex<BTreeSet<SessionId>>);

impl Hits {
    /// Adds sessions that a question has found.
    pub(super) fn note(&self, sessions: impl Iterator<Item = SessionId>) {
        let mut hits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for session in sessions {
            if hits.len() >= REMEMBERED {
                return;
            }
            hits.insert(session);
        }
    }

    /// True if a question has found the session.
    pub(super) fn holds(&self, session: &SessionId) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(session)
    }
}
