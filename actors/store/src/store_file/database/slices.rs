//! Read transactions, each so short that its agent does not notice.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use baton_conversation::transcript::Cell;
use rusqlite::{Statement, params_from_iter};

use super::value::Owned;
use super::{Database, Failure, is_locked};

/// Longest read transaction.
pub(super) const SLICE: Duration = Duration::from_millis(20);
/// The same without a write-ahead log, where a reader keeps the writer waiting.
const LOCKING_SLICE: Duration = Duration::from_millis(1);
/// The pause after it, in multiples of its length.
const LOCKING_SHARE: u32 = 4;
/// Most bytes of a slice's rows; a single row may be longer.
const SLICE_BYTES: usize = 1024 * 1024;
const LOCKING_SLICE_BYTES: usize = 128 * 1024;
/// Longest wait for the end of a change.
const QUIET: Duration = Duration::from_millis(20);
/// Slices in a row that may end without a row.
const EMPTY_SLICES: u32 = 8;
/// Each of these is twice as long as the one before, up to this many doublings.
const LONGEST: u32 = 6;
/// How long its agent may keep a database locked. If it was locked at the last attempt too, it is tried once: it may
/// be locked for long, and no search is to wait for that.
pub(super) const PATIENCE: Duration = Duration::from_millis(500);
/// How often the lock is checked.
const POLL: Duration = Duration::from_micros(500);

/// When the current slice ends, for SQLite's callback too.
#[derive(Clone)]
pub(super) struct Clock {
    since: Instant,
    end_us: Arc<AtomicU64>,
}

impl Clock {
    pub(super) fn new() -> Self {
        Self { since: Instant::now(), end_us: Arc::default() }
    }

    pub(super) fn begin(&self, slice: Duration) {
        let end = self.since.elapsed() + slice;
        self.end_us.store(u64::try_from(end.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(super) fn is_over(&self) -> bool {
        self.since.elapsed().as_micros() >= u128::from(self.end_us.load(Ordering::Relaxed))
    }
}

impl Database {
    /// Passes all rows of a statement to `each` until that returns false. They are read in transactions of one slice
    /// each, and passed on between them. The parameters are `fixed`, followed by the key of the row behind which to go
    /// on; the first columns are the key.
    pub(super) fn rows(
        &self,
        sql: &str,
        fixed: &[Owned],
        mut key: Vec<Owned>,
        each: &mut dyn FnMut(&[Cell<'_>]) -> io::Result<bool>,
    ) -> Result<(), Failure> {
        let mut statement = self.patiently(|| Ok(self.connection.prepare(sql)?))?;
        let (mut rows, mut empty) = (Vec::new(), 0);
        loop {
            let (began, slice) = (Instant::now(), self.slice_length(empty));
            let sliced = self.patiently(|| self.slice(&mut statement, fixed, &key, slice, &mut rows));
            if let Some(last) = rows.last() {
                key.iter_mut().zip(last).for_each(|(kept, cell): (&mut Owned, &Owned)| *kept = cell.clone());
            }
            empty = if rows.is_empty() { empty + 1 } else { 0 };
            for row in rows.drain(..) {
                let cells: Vec<Cell<'_>> = row.iter().map(Owned::cell).collect();
                if !each(&cells)? {
                    return Ok(());
                }
            }
            match sliced {
                Ok(true) => return Ok(()),
                Ok(false) | Err(Failure::Interrupted) if empty <= EMPTY_SLICES => {}
                Ok(false) => return Err(Failure::Interrupted),
                Err(failure) => return Err(failure),
            }
            if self.is_locking {
                std::thread::sleep(began.elapsed().min(slice) * LOCKING_SHARE);
            }
        }
    }

    /// The length of a slice after `empty` ones without a row: the next row may take longer to find.
    fn slice_length(&self, empty: u32) -> Duration {
        (if self.is_locking { LOCKING_SLICE } else { SLICE }) * 2_u32.pow(empty.min(LONGEST))
    }

    /// Runs `what` while no change is being written: otherwise one would have to wait for the other.
    fn patiently<T>(&self, mut what: impl FnMut() -> Result<T, Failure>) -> Result<T, Failure> {
        let since = Instant::now();
        loop {
            if self.is_locking {
                self.await_quiet();
            }
            self.clock.begin(SLICE);
            match what() {
                Err(Failure::Error(error)) if is_locked(&error) && since.elapsed() < self.patience => {
                    std::thread::sleep(POLL);
                }
                done => return done,
            }
        }
    }

    /// Finds rows until the slice is over. Returns true if there are no further ones.
    pub(super) fn slice(
        &self,
        statement: &mut Statement<'_>,
        fixed: &[Owned],
        key: &[Owned],
        length: Duration,
        found: &mut Vec<Vec<Owned>>,
    ) -> Result<bool, Failure> {
        found.clear();
        self.clock.begin(length);
        let most = if self.is_locking { LOCKING_SLICE_BYTES } else { SLICE_BYTES };
        let (columns, mut bytes) = (statement.column_count(), 0);
        let mut rows = statement.query(params_from_iter(fixed.iter().chain(key)))?;
        while let Some(row) = rows.next()? {
            let cells = (0..columns).map(|at| row.get_ref(at).map(Owned::from));
            let cells: Vec<Owned> = cells.collect::<Result<_, _>>()?;
            bytes += cells.iter().map(|cell| cell.cell().bytes().len()).sum::<usize>();
            found.push(cells);
            if bytes > most || self.clock.is_over() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Waits for the end of the change that is being written, because it would wait for us. Where the journal stays, or
    /// the change takes long, there is no such moment, and none is waited for again.
    fn await_quiet(&self) {
        let since = Instant::now();
        let is_written = || self.journal.symlink_metadata().is_ok_and(|journal| journal.len() > 0);
        while self.may_be_quiet.get() && is_written() {
            std::thread::sleep(POLL);
            self.may_be_quiet.set(since.elapsed() < QUIET);
        }
    }
}
