//! How long a memory that has failed is let alone.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::Command;

/// After an error the memory is tried again after this long, then twice as long, …
const RETRY: Duration = Duration::from_secs(5);
/// … and at last each time after this long.
const RETRY_MAX: Duration = Duration::from_secs(30);
/// The same while somebody waits for it.
const RETRY_ASKED: Duration = Duration::from_secs(1);

/// Waits before the memory is opened again; whoever asks meanwhile is told that there is none. `false`: it is closed.
/// `nudged` says whether a nudge lies in the inbox.
pub(super) fn wait_to_open(inbox: &Receiver<Command>, nudged: &AtomicBool, wait: Duration) -> bool {
    let until = Instant::now() + wait;
    loop {
        match inbox.recv_timeout(until.saturating_duration_since(Instant::now())) {
            // The next one must come through, also when this one is long forgotten.
            Ok(Command::Nudge) => nudged.store(false, Ordering::SeqCst),
            // The waiting end learns it by this being dropped.
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

/// How long after its `tries`th failure in a row the memory is tried again.
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
