//! What the rules of one digest ask for again and again, kept while it is made.
//!
//! # Decisions
//!
//! - All rules ask for the same sentences and their signs. What is kept of them belongs to a thread and is forgotten with
//!   its [`Memo`], so nothing outlives the call.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Most results of a type that are kept: about the sentences of one conversation.
const KEPT: usize = 4_096;

thread_local! {
    static RESULTS: RefCell<Option<Results>> = const { RefCell::new(None) };
}

struct Results {
    slots: usize,
    /// The [`Slots`] of each type.
    by_type: BTreeMap<TypeId, Box<dyn Any>>,
}

/// Results by text, each in its slot, where the last one stays.
type Slots<T> = Vec<Option<(Box<str>, T)>>;

impl Results {
    fn slots_of<T: Clone + 'static>(&mut self) -> Option<&mut Slots<T>> {
        let empty = || -> Box<dyn Any> { Box::new(Slots::<T>::from_iter((0..self.slots).map(|_| None))) };
        self.by_type.entry(TypeId::of::<T>()).or_insert_with(empty).downcast_mut()
    }
}

/// While it lives, its thread knows what it was asked for last.
pub(crate) struct Memo(());

impl Memo {
    /// For a conversation of so many items.
    pub(crate) fn new(items: usize) -> Self {
        let slots = items.saturating_mul(8).clamp(64, KEPT);
        RESULTS.set(Some(Results { slots, by_type: BTreeMap::new() }));
        Self(())
    }
}

impl Drop for Memo {
    fn drop(&mut self) {
        drop(RESULTS.take());
    }
}

/// The result of a pure function of a text. There is one function for a type.
pub(crate) fn remembered<T: Clone + 'static>(text: &str, make: impl FnOnce(&str) -> T) -> T {
    let number = mixed(text);
    let known = RESULTS.with_borrow_mut(|results| {
        let slots = results.as_mut()?.slots_of::<T>()?;
        let (known, result) = slots.get(number % slots.len())?.as_ref()?;
        (**known == *text).then(|| result.clone())
    });
    known.unwrap_or_else(|| {
        let result = make(text);
        RESULTS.with_borrow_mut(|results| {
            if let Some(slots) = results.as_mut().and_then(Results::slots_of::<T>) {
                let slot = number % slots.len();
                slots[slot] = Some((text.into(), result.clone()));
            }
        });
        result
    })
}

/// A number for a text, of its length and some of its bytes.
fn mixed(text: &str) -> usize {
    let bytes = |at: usize| text.as_bytes().get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
    let parts = [0, text.len() / 2, text.len().saturating_sub(8)].into_iter().filter_map(bytes).map(u64::from_le_bytes);
    let mix = |mixed: u64, part: u64| (mixed ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    parts.fold(text.len() as u64, mix) as usize
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_result_is_made_once_while_a_memo_lives_and_for_each_type_apart() {
        let made = Cell::new(0);
        let length = |text: &str| {
            made.set(made.get() + 1);
            text.len()
        };
        let ask = |text| remembered(text, length);
        assert_eq!((ask("a jib"), ask("a jib"), made.get()), (5, 5, 2), "without a memo");
        let memo = Memo::new(10);
        assert_eq!((ask("a jib"), ask("a sail"), ask("a jib"), made.get()), (5, 6, 5, 4));
        assert_eq!(remembered("a jib", str::to_uppercase), "A JIB");
        drop(memo);
        assert_eq!((ask("a jib"), made.get()), (5, 5));
    }
}
