//! How far the memory has come, and how far it is asked to come.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use baton_conversation::record::Position;

/// Shared by the memory's thread and all who ask it.
#[derive(Debug, Default)]
pub(super) struct Reach {
    taken: AtomicU64,
    asked: AtomicU64,
    covered: Mutex<Covered>,
}

/// Up to where searches cover the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Covered {
    /// Of everything.
    pub(crate) whole: Position,
    /// Of everything but large conversations that are put off.
    pub(crate) but_large: Position,
}

/// What a wait for the memory is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// Everything.
    Whole,
    /// Everything but large conversations that are put off.
    ButLarge,
}

impl Covered {
    /// As far as it goes up to a position.
    pub(crate) fn up_to(self, position: Position) -> Self {
        Self { whole: self.whole.min(position), but_large: self.but_large.min(position) }
    }

    /// What is wanted of it.
    pub(super) fn of(self, want: Want) -> Position {
        match want {
            Want::Whole => self.whole,
            Want::ButLarge => self.but_large,
        }
    }
}

impl Reach {
    pub(super) fn covered(&self) -> Covered {
        *self.covered.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(super) fn set_covered(&self, covered: Covered) {
        *self.covered.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = covered;
    }

    /// Up to here the log has nothing for the memory but large conversations.
    pub(super) fn has_small(&self, to: Position) {
        let mut covered = self.covered.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        covered.but_large = covered.but_large.max(to);
    }

    /// The last event taken in, committed or not.
    pub(super) fn taken(&self) -> Position {
        Position(self.taken.load(Ordering::Relaxed))
    }

    pub(super) fn take(&self, event: Position) {
        self.taken.store(event.0, Ordering::Relaxed);
    }

    /// Somebody waits for what stands up to here.
    pub(super) fn ask(&self, to: Position) {
        self.asked.fetch_max(to.0, Ordering::SeqCst);
    }

    pub(super) fn asked(&self) -> Position {
        Position(self.asked.load(Ordering::SeqCst))
    }

    /// The memory is to be closed.
    pub(super) fn close(&self) {
        self.ask(Position(u64::MAX));
    }

    pub(super) fn is_closing(&self) -> bool {
        self.asked() == Position(u64::MAX)
    }
}
