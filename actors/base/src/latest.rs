//! The newest published value, read without a guard.
//!
//! # Hazards
//!
//! - A guard of a watch channel blocks its publisher, and two guards in one expression deadlock if the publisher locks
//!   between them. Tables and settings are read through this type, which returns clones.

use tokio::sync::watch;

/// Reads the newest published value and can wait for the next one. See the module's hazards for why it returns clones.
#[derive(Debug)]
pub struct Latest<T>(watch::Receiver<T>);

impl<T> Clone for Latest<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> From<watch::Receiver<T>> for Latest<T> {
    fn from(receiver: watch::Receiver<T>) -> Self {
        Self(receiver)
    }
}

impl<T: Clone> Latest<T> {
    /// The current value. `T` should be cheap to clone, such as an `Arc`.
    pub fn now(&self) -> T {
        self.0.borrow().clone()
    }

    /// The current value, marked as seen: [`Self::changed`] then waits for another one.
    pub fn newest(&mut self) -> T {
        self.0.borrow_and_update().clone()
    }
}

impl<T> Latest<T> {
    /// Resolves when there is a value that was not seen yet. Fails if the publisher is gone.
    pub async fn changed(&mut self) -> Result<(), watch::error::RecvError> {
        self.0.changed().await
    }

    /// Resolves once the value satisfies `is_so`. Fails if the publisher is gone and the last value does not.
    pub async fn wait_for(&mut self, is_so: impl FnMut(&T) -> bool) -> Result<(), watch::error::RecvError> {
        self.0.wait_for(is_so).await.map(drop)
    }

    /// True if there is a value that was not seen yet; false if the publisher is gone.
    pub fn has_changed(&self) -> bool {
        self.0.has_changed().unwrap_or(false)
    }

    /// Marks the current value as seen.
    pub fn mark_seen(&mut self) {
        self.0.mark_unchanged();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With the channel's guards this would never end.
    #[test]
    fn a_publisher_between_two_looks_waits_for_neither() {
        let (sender, receiver) = watch::channel(1_u32);
        let latest = Latest::from(receiver);
        let sums: Vec<u32> = std::thread::scope(|scope| {
            let publishing = scope.spawn(|| {
                for value in 2..10_000 {
                    sender.send_replace(value);
                }
            });
            let mut sums = Vec::new();
            while !publishing.is_finished() {
                sums.push(Some(latest.now()).map_or(0, |first| first.min(latest.now())));
            }
            sums
        });
        assert!(sums.is_sorted() && latest.now() == 9_999, "{sums:?}");
    }
}
