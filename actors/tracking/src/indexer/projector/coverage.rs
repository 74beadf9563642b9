//! How far the memory has followed the log, and how far it is asked to.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use baton_conversation::record::Position;

/// Shared by the memory's thread and its callers.
#[derive(Debug, Default)]
pub(super) struct Coverage {
    taken: AtomicU64,
    asked: AtomicU64,
    covered: Mutex<Covered>,
}

/// Positions up to which searches cover the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Covered {
    /// For everything.
    pub whole: Position,
    /// For all turns.
    pub turns: Position,
    /// Except for large conversations that are put off.
    pub but_large: Position,
}

/// What a caller waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Everything.
    Whole,
    /// All turns: of large conversations the rest may be put off.
    Turns,
    /// Everything but large conversations that are put off.
    ButLarge,
}

impl Covered {
    /// Limits the positions to `position`.
    pub fn up_to(self, position: Position) -> Self {
        let [whole, turns, but_large] = [self.whole, self.turns, self.but_large].map(|reached| reached.min(position));
        Self { whole, turns, but_large }
    }

    /// The position for what is wanted.
    pub fn of(self, want: Want) -> Position {
        match want {
            Want::Whole => self.whole,
            Want::Turns => self.turns,
            Want::ButLarge => self.but_large,
        }
    }
}

impl Coverage {
    pub(super) fn covered(&self) -> Covered {
        *self.covered.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(super) fn set_covered(&self, covered: Covered) {
        *self.covered.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = covered;
    }

    /// Records that the log up to `to` has only large conversations left for the memory.
    pub(super) fn has_small(&self, to: Position) {
        let mut covered = self.covered.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        covered.but_large = covered.but_large.max(to);
    }

    /// The last event applied, committed or not.
    pub(super) fn taken(&self) -> Position {
        Position(self.taken.load(Ordering::Relaxed))
    }

    pub(super) fn take(&self, event: Position) {
        self.taken.store(event.0, Ordering::Relaxed);
    }

    /// Records that a caller waits for this position.
    pub(super) fn ask(&self, to: Position) {
        self.asked.fetch_max(to.0, Ordering::SeqCst);
    }

    pub(super) fn asked(&self) -> Position {
        Position(self.asked.load(Ordering::SeqCst))
    }

    /// Announces that the memory is to be closed.
    pub(super) fn close(&self) {
        self.ask(Position(u64::MAX));
    }

    pub(super) fn is_closing(&self) -> bool {
        self.asked() == Position(u64::MAX)
    }
}
