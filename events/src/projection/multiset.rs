//! A persistent multiset.

use rpds::RedBlackTreeMapSync;

/// Distinct values, each with how many times it was added and not removed. A clone shares what did not change.
#[derive(Clone, Debug)]
pub(super) struct Multiset<T: Ord>(RedBlackTreeMapSync<T, u64>);

impl<T: Ord> Default for Multiset<T> {
    fn default() -> Self {
        Self(RedBlackTreeMapSync::default())
    }
}

impl<T: Ord> Multiset<T> {
    pub(super) fn add(&mut self, value: T) {
        let count = self.0.get(&value).copied().unwrap_or_default();
        self.0.insert_mut(value, count + 1);
    }

    /// Removes the value once; nothing if it is not there.
    pub(super) fn remove(&mut self, value: T) {
        match self.0.get(&value).copied().unwrap_or_default() {
            0 | 1 => drop(self.0.remove_mut(&value)),
            count => self.0.insert_mut(value, count - 1),
        }
    }

    /// The distinct values in their order.
    pub(super) fn values(&self) -> impl Iterator<Item = &T> {
        self.0.keys()
    }
}
