//! Decides when the memory abandons a large conversation because a caller waits for something else.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use baton_conversation::record::Position;

use super::Error;
use super::change::Change;
use super::coverage::Coverage;
use crate::indexer::Options;
use crate::indexer::large::{LargeConversations, is_large};
use baton_base::limits;
use baton_memory::Error as MemoryError;

/// Asked at each item of a conversation whether to go on.
#[derive(Clone, Copy)]
pub(super) struct Interrupt<'a>(&'a dyn Fn() -> Result<(), MemoryError>);

impl<'a> Interrupt<'a> {
    /// Goes on as long as `says` returns `Ok`.
    pub(super) fn until_stopped(says: &'a dyn Fn() -> Result<(), MemoryError>) -> Self {
        Self(says)
    }

    /// Never gives way.
    pub(super) fn never() -> Self {
        Self(&|| Ok(()))
    }

    /// # Errors
    ///
    /// [`MemoryError::GaveWay`] if the work is to be abandoned.
    pub(super) fn check(&self) -> Result<(), MemoryError> {
        self.0()
    }
}

impl fmt::Debug for Interrupt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Interrupt").finish_non_exhaustive()
    }
}

/// Other work for a memory that is at a large conversation. Everything before is committed.
pub(super) struct OtherWork<'a> {
    options: &'a Options,
    coverage: Arc<Coverage>,
    large: Arc<LargeConversations>,
    /// Other work is not looked for before this time; `None` for never.
    from: Option<Instant>,
    /// Up to here the log has no other work.
    looked: Cell<Position>,
}

impl<'a> OtherWork<'a> {
    /// Other work in the log after `at`, looked for once `patience` has passed.
    pub(super) fn of(
        options: &'a Options,
        coverage: &Arc<Coverage>,
        large: &Arc<LargeConversations>,
        at: Position,
        patience: Duration,
    ) -> Self {
        let (coverage, large, looked) = (coverage.clone(), large.clone(), Cell::new(at));
        Self { options, coverage, large, from: Instant::now().checked_add(patience), looked }
    }

    /// # Errors
    ///
    /// [`MemoryError::GaveWay`] if a caller waits for other work.
    pub(super) fn check(&self) -> Result<(), MemoryError> {
        if self.coverage.is_closing() {
            return Err(MemoryError::GaveWay);
        }
        let is_asked = self.coverage.asked() > self.looked.get();
        if !is_asked || self.from.is_none_or(|from| Instant::now() < from) {
            return Ok(());
        }
        // Errors of the log are reported where it is applied.
        if self.look().unwrap_or(true) { Err(MemoryError::GaveWay) } else { Ok(()) }
    }

    /// Returns true if there is other work. Skips events without effect and other large conversations.
    fn look(&self) -> Result<bool, Error> {
        let table = self.options.table.now();
        while self.looked.get() < table.position() {
            let records = self.options.journal.read(self.looked.get().next(), limits::MEMORY_STEP)?;
            if records.is_empty() {
                break;
            }
            for record in records.iter().filter(|record| record.position <= table.position()) {
                match Change::of(record, &table) {
                    Change::Nothing | Change::BegunAnew(_) => {}
                    Change::Put { session, row, .. } => match &row.state.episode {
                        // What can be added to a large one at once does not wait.
                        Some(current)
                            if is_large(current) && !table.is_deleted(&row) && !self.large.is_open(&session) =>
                        {
                            self.large.owe(&session, record.position);
                        }
                        _ => return Ok(true),
                    },
                    Change::Forgotten(_) | Change::Memo(_) | Change::Home => return Ok(true),
                }
                self.looked.set(record.position);
            }
        }
        self.coverage.has_small(self.looked.get());
        Ok(false)
    }
}
