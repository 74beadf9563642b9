//! Forgetting in the files that the indexer owns: conversations, notes, and the memory.
//!
//! The tombstones have been recorded. The table alone tells what is owed, so the next start completes whatever is
//! interrupted here: the folder of each forgotten session is removed, and the memory is purged of all of them.

use std::time::Duration;

use baton_conversation::record::{Position, SessionId};
use tokio::sync::oneshot;

use super::covering::MEMORIES;
use super::{Handle, JobOutcome, Msg};
use baton_base::limits;
use baton_store::chunks::Removed;

/// Interval at which a void job is checked for its end.
const LOOK: Duration = Duration::from_millis(10);

impl Handle {
    /// Deletes what is stored of forgotten sessions, whose tombstones lie up to `at_least`. When it returns, no file of
    /// conversations, notes or memory holds their text. On an error some text may remain; a repeated call continues.
    /// `step` is called for each session whose conversation is gone.
    pub async fn purge(
        &self,
        sessions: &[SessionId],
        at_least: Position,
        step: impl Fn() + Send + Sync,
    ) -> Result<Removed, String> {
        self.slot.cast(Msg::Forget(sessions.to_vec()));
        let mut removed = self.unlink(sessions, &step).await?;
        self.purge_memory(sessions, at_least).await?;
        // The memory may have restored a conversation just before it saw the tombstone.
        removed += self.unlink(sessions, &|| {}).await?;
        Ok(removed)
    }

    /// Purges the memory's files of the former text of sessions and memos that changed up to a position in the log, and
    /// the vectors of texts that no longer occur.
    pub async fn purge_changed(&self, changed: &[SessionId], at_least: Position) -> Result<(), String> {
        self.purge_memory(changed, at_least).await
    }

    async fn unlink(&self, sessions: &[SessionId], step: &(dyn Fn() + Send + Sync)) -> Result<Removed, String> {
        let mut removed = Removed::default();
        let until = tokio::time::Instant::now() + limits::PURGE;
        for session in sessions {
            // The job will find that it is no longer owed.
            self.hurry(session);
            let held = loop {
                match self.under_way.hold_forgotten(session) {
                    Some(held) => break held,
                    None if tokio::time::Instant::now() >= until => {
                        return Err(format!(
                            "a job of session {session} does not end, so its conversation is still there"
                        ));
                    }
                    None => tokio::time::sleep(LOOK).await,
                }
            };
            let (chunks, id) = (self.chunks.clone(), session.clone());
            let gone = baton_base::task::spawn_blocking(move || {
                let _held = held;
                chunks.forget(&id)
            });
            let gone = gone.await.map_err(|_| "deleting conversations panicked; see `daemon.log`".to_owned())?;
            let gone = gone.map_err(|error| error.to_string())?;
            if gone.files > 0 {
                tracing::info!(%session, reason = %"forgotten", files = gone.files, bytes = gone.bytes, "chunks deleted");
            }
            removed += gone;
            self.left_out.readable(session);
            step();
        }
        self.slot.cast(Msg::GoOn);
        Ok(removed)
    }

    /// If the memory breaks or cannot purge, its successor is rebuilt without the text.
    async fn purge_memory(&self, sessions: &[SessionId], at_least: Position) -> Result<(), String> {
        let mut incarnations = self.port.subscribe();
        let purging = async {
            let mut problem = "it cannot be opened".to_owned();
            for _ in 0..2 * MEMORIES {
                let port = incarnations.borrow_and_update().clone();
                let Some(port) = port else {
                    incarnations.changed().await.map_err(|_| problem.clone())?;
                    continue;
                };
                let (reply, purged) = oneshot::channel();
                port.purge(sessions.to_vec(), at_least, reply);
                match purged.await {
                    Ok(Ok(())) => return Ok(()),
                    Ok(Err(error)) => problem = error,
                    // Wait for the next incarnation, or for this one to be opened.
                    Err(_) => drop(tokio::time::timeout(limits::OUTAGE_PROBE, incarnations.changed()).await),
                }
            }
            Err(problem)
        };
        let purged = tokio::time::timeout(limits::PURGE, purging).await;
        let purged = purged.unwrap_or_else(|_| Err("it does not follow the log".to_owned()));
        purged.map_err(|problem| format!("the searchable memory may still hold text: {problem}"))
    }
}

impl super::State {
    /// Drops queued jobs of these sessions.
    pub(super) fn let_go(&mut self, sessions: &[SessionId]) {
        for waiting in [&mut self.urgent, &mut self.background] {
            let (gone, left): (Vec<_>, _) =
                std::mem::take(waiting).into_iter().partition(|job| sessions.contains(&job.session));
            *waiting = left.into();
            for request in gone {
                (request.reply)(JobOutcome::LetGo { effect: request.job.effect });
            }
        }
    }
}
