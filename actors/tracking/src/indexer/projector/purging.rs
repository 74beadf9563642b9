//! Purges forgotten text from the memory's files.

use baton_conversation::record::{Position, SessionId};
use tokio::sync::oneshot;

use super::others::is_of_log;
use super::{Error, Projector};
use baton_store::text_keeper::is_gone;

/// A requested purge: everything of forgotten sessions, and the former text of others.
pub(super) struct Purge {
    pub(super) sessions: Vec<SessionId>,
    pub(super) at_least: Position,
    pub(super) reply: oneshot::Sender<Result<(), String>>,
}

impl<C: Fn(SessionId) + Send + 'static> Projector<C> {
    /// True if all events of the sessions to be purged have been applied.
    pub(super) fn is_ready(&self, purge: &Purge) -> bool {
        purge.at_least <= self.applied && !purge.sessions.iter().any(|session| self.large.owes(session))
    }

    /// Purges forgotten sessions from the files and answers the callers. Everything is committed at this point. If the
    /// index cannot purge itself, it is cleared and filled again.
    pub(super) fn purge(&mut self) -> Result<(), Error> {
        let (ready, waiting): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.purges).into_iter().partition(|purge| self.is_ready(purge));
        self.purges = waiting;
        let table = self.options.table.now();
        let asked = ready.iter().flat_map(|purge| purge.sessions.iter().cloned());
        let others = self.options.others.now();
        let is_withdrawn = |session: &SessionId| !is_of_log(&table, session) && others.get(session).is_none();
        let is_gone = |session: &SessionId| is_gone(&table, session) || is_withdrawn(session);
        let (gone, changed): (Vec<_>, Vec<_>) = asked.partition(is_gone);
        self.forgotten.extend(gone);
        // Keep sessions that were restored, or published again, meanwhile.
        self.forgotten.retain(is_gone);
        if self.forgotten.is_empty() && ready.is_empty() {
            return Ok(());
        }
        // What a job has just stored must be read back from its files as well.
        self.fresh.clear();
        let sessions: Vec<SessionId> = self.forgotten.iter().cloned().collect();
        let purged = self.store.purge(&sessions, &changed);
        let without_vectors = match &purged {
            Ok(()) => self.purge_vectors(),
            Err(error) => Err(error.to_string()),
        };
        for purge in ready {
            let _ = purge.reply.send(without_vectors.clone());
        }
        if let Err(error) = purged {
            tracing::warn!(%error, "memory not purged of what is forgotten, filled anew");
            self.store.clear()?;
            return Err(error.into());
        }
        tracing::info!(sessions = self.forgotten.len(), reason = "forgotten", "memory purged");
        if let Err(error) = without_vectors {
            // Waiting callers ask again; otherwise the next start does.
            tracing::warn!(%error, "vectors not purged of what is forgotten");
        }
        self.forgotten.clear();
        Ok(())
    }

    /// Removes vectors of texts that no longer occur. The memory has applied the log up to the tombstones.
    fn purge_vectors(&self) -> Result<(), String> {
        let Some(vectors) = &self.options.vectors else { return Ok(()) };
        let kept = vectors.retain(|| self.store.searcher().live_texts());
        let dropped = kept.map_err(|error| format!("vectors were not deleted: {error}"))?;
        if dropped > 0 {
            tracing::info!(vectors = dropped, reason = "forgotten", "vectors deleted");
        }
        Ok(())
    }
}
