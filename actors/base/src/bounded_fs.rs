//! Looks at file systems that may not answer: an unreachable network mount, a hanging disk. A caller waits only until
//! its deadline. A hanging look cannot be cancelled and keeps its thread, so few run at once, and a caller that finds
//! no free slot goes on without a look.

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use crate::limits;

/// Concurrent looks: the threads, of 512, that hanging file systems may occupy.
const AT_ONCE: usize = 8;
/// Longest wait for a free slot: a look that is answered takes less than a millisecond.
const ROOM: Duration = Duration::from_millis(50);

/// See the module.
pub struct BoundedFs(Arc<Semaphore>);

impl Default for BoundedFs {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

impl BoundedFs {
    /// Runs `look` on a blocking thread and returns its result, or `None` if there is no free slot or no result by
    /// `until`.
    pub async fn run<T: Send + 'static>(&self, until: Instant, look: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let room = timeout_at(until.min(Instant::now() + ROOM), self.0.clone().acquire_owned()).await.ok()?.ok()?;
        let looking = crate::task::spawn_blocking(move || {
            // Held until the look ends, even if the caller has given up.
            let _room = room;
            look()
        });
        timeout_at(until, looking).await.ok()?.ok()
    }
}

/// Runs `look` on a thread of its own and returns its result within `time`, for callers without a runtime. `None` if it
/// has not returned by then; its thread lives until it does.
pub fn within<T: Send + 'static>(time: Duration, look: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (sender, result) = mpsc::channel();
    thread::Builder::new().spawn(move || drop(sender.send(look()))).ok()?;
    result.recv_timeout(time).ok()
}

/// Runs `look` and returns its result within [`limits::ROOT`], see [`within`].
pub fn in_time<T: Send + 'static>(look: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    within(limits::ROOT, look)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_look_that_hangs_is_given_up() {
        let (release, hang) = mpsc::channel::<()>();
        assert_eq!(within(Duration::from_millis(1), move || hang.recv().is_ok()), None);
        assert_eq!(within(Duration::from_secs(600), || 7), Some(7));
        drop(release);
    }

    #[tokio::test]
    async fn what_hangs_keeps_few_threads_and_nobody_waits_for_it() {
        let looks = BoundedFs::default();
        let begun = Arc::new(AtomicUsize::new(0));
        let mut hung = Vec::new();
        for _ in 0..3 * AT_ONCE {
            let (release, wait) = mpsc::channel::<()>();
            hung.push(release);
            let begun = begun.clone();
            let seen = looks.run(Instant::now() + Duration::from_millis(5), move || {
                begun.fetch_add(1, Ordering::SeqCst);
                let _ = wait.recv();
            });
            assert_eq!(seen.await, None);
        }
        assert_eq!(looks.0.available_permits(), 0);
        drop(hung);
        let free = looks.0.acquire_many(u32::try_from(AT_ONCE).unwrap()).await.unwrap();
        assert_eq!(begun.load(Ordering::SeqCst), AT_ONCE, "the others never got a thread");
        drop(free);
        assert_eq!(looks.run(Instant::now() + Duration::from_secs(60), || 7).await, Some(7));
    }
}
