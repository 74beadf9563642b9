//! Forgetting in the files that the indexer owns: conversations, notes, and the memory.
//!
//! The tombstones have been recorded. The table alone tells what is owed, so the next start completes whatever is
//! interrupted here: the folder of each forgotten session is removed, and the memory is purged of all of them.

use std::pin::Pin;
use std::time::Duration;

use baton_conversation::record::{Position, SessionId};
use tokio::sync::oneshot;

use super::covering::MEMORIES;
use super::{Handle, JobOutcome, Msg, redacting};
use baton_base::limits;
use baton_store::chunks::Removed;
use baton_store::text_keeper::{Erasing, Erasure, Report, TextKeeper, is_gone};

/// Interval at which a void job is checked for its end.
const LOOK: Duration = Duration::from_millis(10);

/// Purges sessions.
type Purging = Box<dyn Fn(Vec<SessionId>) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send>> + Send + Sync>;

impl TextKeeper for Handle {
    fn find(&self, sessions: &[SessionId]) -> Result<Removed, String> {
        let mut found = Removed::default();
        for session in sessions {
            found += self.chunks.stored(session).map_err(|error| error.to_string())?;
        }
        Ok(found)
    }

    /// When it returns without a problem, no file of conversations, notes, memory or vectors holds the text.
    fn erase<'a>(&'a self, erasure: Erasure<'a>) -> Erasing<'a> {
        Box::pin(async move {
            let mut report = Report::default();
            let problem = self.purge(erasure, &mut report).await.err();
            report.problems.extend(problem);
            report
        })
    }

    fn verify(&self, sessions: &[SessionId]) -> Result<(), String> {
        let table = self.table.now();
        let gone: Vec<SessionId> = sessions.iter().filter(|id| is_gone(&table, id)).cloned().collect();
        match self.find(&gone)?.files {
            0 => Ok(()),
            files => Err(format!("{files} files of forgotten conversations are still there")),
        }
    }
}

impl Handle {
    async fn purge(&self, erasure: Erasure<'_>, report: &mut Report) -> Result<(), String> {
        let table = self.table.now();
        let (gone, changed): (Vec<_>, Vec<_>) = erasure.sessions.iter().cloned().partition(|id| is_gone(&table, id));
        self.slot.cast(Msg::Forget(gone.clone()));
        report.removed += self.unlink(&gone, erasure.step).await?;
        self.purge_memory(erasure.sessions, erasure.position).await?;
        // The memory may have restored a conversation just before it saw the tombstone.
        report.removed += self.unlink(&gone, &|| {}).await?;
        let indexer = self.clone();
        let collecting = baton_base::task::spawn_blocking(move || {
            let collected = changed.into_iter().map(|id| (indexer.collect_now(&id), id));
            collected.filter_map(|(collected, id)| Some((id, collected.err()?))).collect::<Vec<_>>()
        });
        for (id, error) in collecting.await.map_err(|error| error.to_string())? {
            let why = format!("superseded chunks are still there: {error}");
            match error {
                redacting::Error::Lasting(_) => report.stays.push((id, why)),
                _ => report.problems.push(format!("session {id}: {why}")),
            }
        }
        Ok(())
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

    /// Purges sessions that others published and have withdrawn, which the log does not know, from the memory's files.
    pub fn purging(&self) -> Purging {
        let indexer = self.clone();
        Box::new(move |sessions| {
            let indexer = indexer.clone();
            Box::pin(async move { indexer.purge_memory(&sessions, Position(0)).await })
        })
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
