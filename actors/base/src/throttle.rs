//! Makes background work yield to requested work: it uses one processor, begins no further session while a question is
//! being answered, and gets all processors while a person waits for history itself.

use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::limits;

/// Whether a caller waits for a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// A caller waits for it.
    Asked,
    /// No caller waits for it.
    Background,
}

/// Shared by workers and by those that answer requests.
#[derive(Clone)]
pub struct Throttle(Arc<Shared>);

struct Shared {
    /// Slots for transcript reads of all kinds.
    reads: Arc<Semaphore>,
    /// A single slot for calls that look at many transcripts.
    looks: Arc<Semaphore>,
    /// Slots for background work: one, or one per processor while a person waits for history.
    background: Arc<Semaphore>,
    /// Additional permits of `background` while a person waits for history.
    more: usize,
    /// Number of waits for history.
    in_a_hurry: Mutex<usize>,
    /// Number of questions being answered.
    asked: watch::Sender<usize>,
}

/// Marks a question as being answered while it lives.
#[must_use = "the question counts as answered when this is dropped"]
pub struct QuestionGuard(Throttle);

/// Marks a person as waiting for history while it lives.
#[must_use = "the wait for history ends when this is dropped"]
pub struct HurryGuard(Throttle);

/// Permission to work, until dropped.
#[derive(Debug)]
pub struct Permit {
    /// A slot of the background, or of the calls that look at many transcripts.
    _turn: Option<OwnedSemaphorePermit>,
    _read: Option<OwnedSemaphorePermit>,
}

impl Throttle {
    /// For a machine with this many processors.
    pub fn new(processors: usize) -> Self {
        Self(Arc::new(Shared {
            reads: Arc::new(Semaphore::new(limits::READS_AT_ONCE)),
            looks: Arc::new(Semaphore::new(1)),
            background: Arc::new(Semaphore::new(1)),
            more: processors.saturating_sub(1),
            in_a_hurry: Mutex::new(0),
            asked: watch::Sender::new(0),
        }))
    }

    /// Waits for a slot to read a transcript.
    pub async fn wait_to_read(&self, urgency: Urgency) -> Permit {
        let background = match urgency {
            Urgency::Asked => None,
            Urgency::Background => self.0.background.clone().acquire_owned().await.ok(),
        };
        Permit { _turn: background, _read: self.0.reads.clone().acquire_owned().await.ok() }
    }

    /// Waits for the slot to look at many transcripts for one answer.
    pub async fn wait_to_scan(&self) -> Permit {
        let turn = self.0.looks.clone().acquire_owned().await.ok();
        Permit { _turn: turn, _read: self.0.reads.clone().acquire_owned().await.ok() }
    }

    /// Waits for a slot for background work.
    pub async fn wait_for_background(&self) -> Permit {
        Permit { _turn: self.0.background.clone().acquire_owned().await.ok(), _read: None }
    }

    /// Marks a question as being answered until the guard is dropped.
    pub fn begin_question(&self) -> QuestionGuard {
        self.0.asked.send_modify(|count| *count += 1);
        QuestionGuard(self.clone())
    }

    /// The number of questions being answered, as a channel.
    pub fn questions(&self) -> watch::Receiver<usize> {
        self.0.asked.subscribe()
    }

    /// True while a question is being answered.
    pub fn is_answering(&self) -> bool {
        *self.0.asked.borrow() > 0
    }

    /// Marks a person as waiting for history until the guard is dropped.
    pub fn hurry(&self) -> HurryGuard {
        let mut waiting = self.waiting();
        *waiting += 1;
        if *waiting == 1 {
            self.0.background.add_permits(self.0.more);
        }
        drop(waiting);
        HurryGuard(self.clone())
    }

    fn waiting(&self) -> MutexGuard<'_, usize> {
        self.0.in_a_hurry.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Drop for QuestionGuard {
    fn drop(&mut self) {
        self.0.0.asked.send_modify(|count| *count -= 1);
    }
}

impl Drop for HurryGuard {
    fn drop(&mut self) {
        let mut waiting = self.0.waiting();
        *waiting -= 1;
        if *waiting == 0 && self.0.0.more > 0 {
            let (background, more) = (self.0.0.background.clone(), self.0.0.more);
            // Tasks at work keep their permits until they are done.
            let missing = more - background.forget_permits(more);
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                runtime.spawn(async move {
                    for _ in 0..missing {
                        if let Ok(permit) = background.acquire().await {
                            permit.forget();
                        }
                    }
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_background_has_one_processor_and_all_while_somebody_waits_for_it() {
        let throttle = Throttle::new(3);
        let free = || throttle.0.background.available_permits();
        assert_eq!(free(), 1);
        let (one, other) = (throttle.hurry(), throttle.hurry());
        assert_eq!(free(), 3);
        drop(one);
        assert_eq!(free(), 3, "one still waits");
        let at_work = [
            throttle.wait_for_background().await,
            throttle.wait_for_background().await,
            throttle.wait_for_background().await,
        ];
        drop(other);
        drop(at_work);
        while free() != 1 {
            tokio::task::yield_now().await;
        }
        drop(throttle.hurry());
        assert_eq!(free(), 1);
    }

    #[tokio::test]
    async fn what_is_asked_for_does_not_wait_for_the_background() {
        let throttle = Throttle::new(1);
        let _busy = throttle.wait_for_background().await;
        let _read = throttle.wait_to_read(Urgency::Asked).await;
        let look = throttle.wait_to_scan().await;
        assert_eq!(throttle.0.looks.available_permits(), 0, "one at a time");
        drop(look);
        assert!(!throttle.is_answering());
        let asking = throttle.begin_question();
        assert!(throttle.is_answering());
        drop(asking);
        assert!(!throttle.is_answering());
    }
}
