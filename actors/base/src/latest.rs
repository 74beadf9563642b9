//! The newest of what somebody publishes.
//!
//! # Hazards
//!
//! - A guard of a watch channel holds off its publisher, and two guards in one expression with the publisher
//!   between them wait for each other for ever. Tables and settings are read through this type, which gives out
//!   no guard.

use tokio::sync::watch;

/// Reads the newest value that was published, and can wait for the next one.
///
/// What it gives is a value of one's own. A channel's own guard would hold off whoever publishes, and two of them in one
/// expression, with a publisher between them, wait for each other for ever.
#[derive(Debug)]
pub struct Current<T>(watch::Receiver<T>);

impl<T> Clone for Current<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> From<watch::Receiver<T>> for Current<T> {
    fn from(receiver: watch::Receiver<T>) -> Self {
        Self(receiver)
    }
}

impl<T: Clone> Current<T> {
    /// The value as it is now. `T` is cheap to clone: an `Arc`, or made of some.
    pub fn now(&self) -> T {
        self.0.borrow().clone()
    }

    /// The value as it is now; [`Self::changed`] then waits for another one.
    pub fn newest(&mut self) -> T {
        self.0.borrow_and_update().clone()
    }
}

impl<T> Current<T> {
    /// Comes back when there is a value that was neither waited for nor taken as the newest. An error: nobody publishes any
    /// more.
    pub async fn changed(&mut self) -> Result<(), watch::error::RecvError> {
        self.0.changed().await
    }

    /// Waits until the value is so. An error: nobody publishes any more, and the last one was not.
    pub async fn wait_for(&mut self, is_so: impl FnMut(&T) -> bool) -> Result<(), watch::error::RecvError> {
        self.0.wait_for(is_so).await.map(drop)
    }

    /// Whether there is such a value. `false` when nobody publishes any more.
    pub fn has_changed(&self) -> bool {
        self.0.has_changed().unwrap_or(false)
    }

    /// Takes the value there is for seen.
    pub fn mark_seen(&mut self) {
        self.0.mark_unchanged();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With the channel's guards this never ends.
    #[test]
    fn a_publisher_between_two_looks_waits_for_neither() {
        let (sender, receiver) = watch::channel(1_u32);
        let current = Current::from(receiver);
        let sums: Vec<u32> = std::thread::scope(|scope| {
            let publishing = scope.spawn(|| {
                for value in 2..10_000 {
                    sender.send_replace(value);
                }
            });
            let mut sums = Vec::new();
            while !publishing.is_finished() {
                sums.push(Some(current.now()).map_or(0, |first| first.min(current.now())));
            }
            sums
        });
        assert!(sums.is_sorted() && current.now() == 9_999, "{sums:?}");
    }
}
