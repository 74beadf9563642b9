//! Which sessions questions have found: they are enriched before those that nobody asks for.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use baton_conversation::record::SessionId;

/// Sessions that are remembered; with more of them the order says little.
const REMEMBERED: usize = 4096;

/// Since the daemon was started.
#[derive(Debug, Default)]
pub(super) struct Hits(Mutex<BTreeSet<SessionId>>);

impl Hits {
    /// A question has found these.
    pub(super) fn note(&self, sessions: impl Iterator<Item = SessionId>) {
        let mut hits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for session in sessions {
            if hits.len() >= REMEMBERED {
                return;
            }
            hits.insert(session);
        }
    }

    /// Whether a question has found it.
    pub(super) fn holds(&self, session: &SessionId) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(session)
    }
}
