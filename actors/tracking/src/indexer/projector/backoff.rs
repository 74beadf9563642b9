//! Pauses after a failure of the memory.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::Command;

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
