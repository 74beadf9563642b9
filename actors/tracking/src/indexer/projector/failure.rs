//! Recovers the memory after an error: uncommitted events are applied again. A memory that cannot be written although
//! the disk accepts writes is deleted and rebuilt from the log.
//!
//! # Hazards
//!
//! - A conversation that makes the memory panic twice is left out of searches and named in `status`. A memory whose
//!   files vanish, or that cannot be written twice in a row though the disk takes writes, is deleted and rebuilt from
//!   the log.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use std::{fs, io};

use baton_conversation::record::{Position, SessionId};

use super::{Command, Covered, Error, Projector};
use baton_base::durable;
use baton_base::io_remedy;
use baton_base::io_remedy::IoCause;
use baton_memory::Error as MemoryError;

/// Consecutive errors of the index itself, not of the disk, before the memory is rebuilt.
const REFUSALS: u32 = 2;
/// Shortest time between two rebuilds, which take minutes in a large home.
const BETWEEN_BUILDS: Duration = Duration::from_secs(600);
/// Bytes that the disk must accept before a memory is deleted, because an error that does not mention the disk may
/// still come from a full one.
const PROBE_BYTES: usize = 1024 * 1024;

/// Failures since the memory last worked.
#[derive(Debug, Default)]
pub(super) struct Failures {
    /// Time of the last failure, and number of consecutive ones.
    last: Option<(Instant, u32)>,
    /// Number of these that were errors of the index itself.
    refusals: u32,
    /// True if the memory was deleted and has not caught up since.
    rebuilding: bool,
    /// When the memory was last deleted; kept after it works again.
    deleted: Option<Instant>,
}

impl<C: Fn(SessionId) + Send + 'static> Projector<C> {
    /// Time left before the memory is tried again.
    pub(super) fn pause_left(&self) -> Duration {
        let asked = self.waiting.iter().any(|wait| !wait.reply.is_closed())
            || self.purges.iter().any(|purge| !purge.reply.is_closed());
        self.failures.last.map_or(Duration::ZERO, |(at, tries)| pause(tries, asked).saturating_sub(at.elapsed()))
    }

    /// Records a successful step. A failure ends only with a commit, and a rebuild only at the end of the log.
    pub(super) fn note_success(&mut self) {
        if self.failures.last.is_none() || self.dirty_since.is_some() {
            return;
        }
        if self.failures.rebuilding && self.applied < self.options.table.now().position() {
            return;
        }
        self.failures = Failures { deleted: self.failures.deleted, ..Failures::default() };
        self.trouble.succeeded();
    }

    /// Starts over from the last commit, after a pause.
    pub(super) fn start_over(&mut self, error: &Error) {
        let tries = self.failures.last.map_or(0, |(_, tries)| tries) + 1;
        self.failures.refusals += u32::from(is_of_the_index(error));
        let problem = match self.failures.refusals >= REFUSALS && self.begin_anew() {
            true => format!("it could not be written {REFUSALS} times ({error}) and is being rebuilt from the log"),
            false => io_remedy::system_message(&error.to_string()),
        };
        let committed = self.store.checkpoint().map_or(Position(0), |checkpoint| checkpoint.position);
        self.applied = committed;
        self.dirty_since = None;
        self.put.clear();
        self.recent.clear();
        self.superseded.clear();
        self.large.clear();
        self.compare_others();
        self.coverage.set_covered(Covered { whole: committed, turns: committed, but_large: committed });
        self.trouble.failed(&problem);
        self.failures.last = Some((Instant::now(), tries));
    }

    /// Deletes the memory if the disk accepts writes and the last rebuild is long enough ago. Returns true if it was
    /// deleted.
    fn begin_anew(&mut self) -> bool {
        if self.failures.deleted.is_some_and(|at| at.elapsed() < BETWEEN_BUILDS) {
            return false;
        }
        let begun = probe(&self.options.memory).map_err(MemoryError::from).and_then(|()| self.store.begin_anew());
        match begun {
            Ok(()) => {
                self.failures = Failures { deleted: Some(Instant::now()), rebuilding: true, ..Failures::default() };
                self.missing_added_at = None;
                true
            }
            Err(error) => {
                tracing::warn!(%error, "memory not built anew");
                false
            }
        }
    }
}

/// True if the index failed rather than the disk below it.
fn is_of_the_index(error: &Error) -> bool {
    matches!(error, Error::Memory(MemoryError::Index(_) | MemoryError::Broken(_)))
        && IoCause::in_message(&error.to_string()) == IoCause::Other
}

/// Writes and removes as many bytes as a small commit takes.
fn probe(folder: &Path) -> io::Result<()> {
    let path = folder.join("probe.tmp");
    let written = fs::write(&path, vec![0; PROBE_BYTES]).and_then(|()| durable::sync_file(&path));
    let removed = fs::remove_file(&path);
    written.and(removed)
}

/// The first pause after an error; each further one is twice as long, …
const RETRY: Duration = Duration::from_secs(5);
/// … up to this.
const RETRY_MAX: Duration = Duration::from_secs(30);
/// The pause while a caller waits.
const RETRY_ASKED: Duration = Duration::from_secs(1);

/// Waits before the memory is opened again, and turns down callers meanwhile. Returns `false` if it is closed. `nudged`
/// is true if a nudge is in the inbox.
pub(super) fn wait_to_open(inbox: &Receiver<Command>, nudged: &AtomicBool, wait: Duration) -> bool {
    let until = Instant::now() + wait;
    loop {
        match inbox.recv_timeout(until.saturating_duration_since(Instant::now())) {
            // Accept the next nudge as well, however long ago this one was.
            Ok(Command::Nudge) => nudged.store(false, Ordering::SeqCst),
            // Dropping the command tells the caller.
            Ok(Command::Ensure(..) | Command::Purge(_)) => {}
            Ok(Command::Close(reply)) => {
                let _ = reply.send(());
                return false;
            }
            Err(RecvTimeoutError::Timeout) => return true,
            Err(RecvTimeoutError::Disconnected) => return false,
        }
    }
}

/// The pause after the `tries`th failure in a row.
pub(super) fn pause(tries: u32, asked: bool) -> Duration {
    let doubled = RETRY.saturating_mul(1 << tries.saturating_sub(1).min(8)).min(RETRY_MAX);
    if asked { RETRY_ASKED } else { doubled }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_memory_that_could_not_be_opened_is_nudged_again_afterwards() {
        let (commands, inbox) = channel();
        let nudged = AtomicBool::new(true);
        commands.send(Command::Nudge).unwrap();
        assert!(wait_to_open(&inbox, &nudged, Duration::ZERO));
        assert!(inbox.try_recv().is_err(), "it was taken");
        assert!(!nudged.load(Ordering::SeqCst), "so that the next one is sent");
        let (reply, closed) = tokio::sync::oneshot::channel();
        commands.send(Command::Close(reply)).unwrap();
        assert!(!wait_to_open(&inbox, &nudged, RETRY));
        assert!(closed.blocking_recv().is_ok());
    }
}
