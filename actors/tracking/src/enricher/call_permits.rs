//! Limits concurrent calls to the currently configured number.

use std::sync::{Arc, Mutex, PoisonError};

use baton_conversation::record::SessionId;
use tokio::sync::Notify;

use super::Enricher;

/// The permits in use.
#[derive(Clone, Debug, Default)]
pub(super) struct CallPermits(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    taken: Mutex<usize>,
    left: Notify,
}

/// A permit for one call, released on drop.
#[derive(Debug)]
pub(super) struct CallPermit(Arc<Shared>);

impl CallPermits {
    /// Waits for a permit. `most` returns the current limit and is called on each check.
    pub(super) async fn acquire(&self, most: impl Fn() -> usize) -> CallPermit {
        loop {
            let left = self.0.left.notified();
            tokio::pin!(left);
            // Register before checking, so that no notification is missed.
            left.as_mut().enable();
            if let Some(room) = self.try_acquire(most()) {
                return room;
            }
            left.await;
        }
    }

    fn try_acquire(&self, most: usize) -> Option<CallPermit> {
        let mut taken = self.0.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if *taken >= most.max(1) {
            return None;
        }
        *taken += 1;
        Some(CallPermit(self.0.clone()))
    }
}

impl Drop for CallPermit {
    fn drop(&mut self) {
        *self.0.taken.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.left.notify_waiters();
    }
}

/// Marks a session as being worked on until dropped.
pub(super) struct UnderWay<'a> {
    pub(super) enricher: &'a Enricher,
    pub(super) session: SessionId,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.enricher.known().under_way.remove(&self.session);
        self.enricher.over.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn there_is_room_for_as_many_as_are_allowed_and_each_gets_its_turn() {
        let (permits, at_once, most) =
            (CallPermits::default(), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..50 {
            let (permits, at_once, most) = (permits.clone(), at_once.clone(), most.clone());
            tasks.spawn(async move {
                let _room = permits.acquire(|| 3).await;
                most.fetch_max(at_once.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                for _ in 0..5 {
                    tokio::task::yield_now().await;
                }
                at_once.fetch_sub(1, Ordering::SeqCst);
            });
        }
        let mut done = 0;
        while let Some(ended) = tasks.join_next().await {
            ended.unwrap();
            done += 1;
        }
        assert_eq!((done, most.load(Ordering::SeqCst)), (50, 3));
        assert!(permits.try_acquire(0).is_some(), "there is always room for one");
    }
}
