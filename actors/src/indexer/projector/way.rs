//! Whether the memory gives up a large conversation that it goes through, because somebody waits for something else.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use baton_conversation::record::Position;

use super::Error;
use super::change::Change;
use super::reach::Reach;
use crate::indexer::Options;
use crate::indexer::large::{Large, is_large};
use baton_base::limits;
use baton_memory::Error as MemoryError;

/// Asked at each item of a conversation that is gone through whether to go on.
#[derive(Clone, Copy)]
pub(super) struct Way<'a>(&'a dyn Fn() -> Result<(), MemoryError>);

impl<'a> Way<'a> {
    /// Goes on as long as this says so.
    pub(super) fn while_it(says: &'a dyn Fn() -> Result<(), MemoryError>) -> Self {
        Self(says)
    }

    /// Gives way to nobody.
    pub(super) fn straight() -> Self {
        Self(&|| Ok(()))
    }

    /// # Errors
    ///
    /// [`MemoryError::GaveWay`] when what it is asked for is to be given up.
    pub(super) fn check(&self) -> Result<(), MemoryError> {
        self.0()
    }
}

impl fmt::Debug for Way<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Way").finish_non_exhaustive()
    }
}

/// What else there is to do for a memory that is at a large conversation, everything before being committed.
pub(super) struct Others<'a> {
    options: &'a Options,
    reach: Arc<Reach>,
    large: Arc<Large>,
    /// It is not looked for before this time.
    from: Option<Instant>,
    /// Up to where the log has nothing else for the memory.
    looked: Cell<Position>,
}

impl<'a> Others<'a> {
    /// What stands in the log behind a position, for which nobody waits with less patience than this.
    pub(super) fn of(
        options: &'a Options,
        reach: &Arc<Reach>,
        large: &Arc<Large>,
        at: Position,
        patience: Duration,
    ) -> Self {
        let (reach, large, looked) = (reach.clone(), large.clone(), Cell::new(at));
        Self { options, reach, large, from: Instant::now().checked_add(patience), looked }
    }

    /// # Errors
    ///
    /// [`MemoryError::GaveWay`] when somebody waits for one of them.
    pub(super) fn check(&self) -> Result<(), MemoryError> {
        if self.reach.is_closing() {
            return Err(MemoryError::GaveWay);
        }
        let is_asked = self.reach.asked() > self.looked.get();
        if !is_asked || self.from.is_none_or(|from| Instant::now() < from) {
            return Ok(());
        }
        // What is wrong with the log shows where it is taken in.
        if self.look().unwrap_or(true) { Err(MemoryError::GaveWay) } else { Ok(()) }
    }

    /// Whether there is any. What changes nothing, or another large conversation, is passed over.
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
                        Some(current) if is_large(current) && !table.is_deleted(&row) => {
                            self.large.owe(&session, record.position);
                        }
                        _ => return Ok(true),
                    },
                    Change::Forgotten(_) | Change::Memo(_) | Change::Home => return Ok(true),
                }
                self.looked.set(record.position);
            }
        }
        self.reach.has_small(self.looked.get());
        Ok(false)
    }
}
