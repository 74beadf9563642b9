//! What the memory's thread does after an error: it applies again what was not committed, and deletes a memory that cannot be
//! written although the disk takes writes, to build it anew from the log.
//!
//! # Hazards
//!
//! - A conversation that makes the memory panic twice is left out of searches and named in `status`. A memory
//!   whose files vanish, or that cannot be written twice in a row though the disk takes writes, is deleted and
//!   rebuilt from the log.

use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, io};

use baton_conversation::record::{Position, SessionId};

use super::{Covered, Error, Projector, pause};
use baton_base::durable;
use baton_base::io_remedy;
use baton_base::io_remedy::Obstacle;
use baton_memory::Error as MemoryError;

/// Failures in a row, none of them the disk's, after which the memory is built anew.
const REFUSALS: u32 = 2;
/// Shortest time between two such builds: they take minutes in a large home.
const BETWEEN_BUILDS: Duration = Duration::from_secs(600);
/// What the disk has to take before a memory is deleted: an error that says nothing of the disk may come of a full one.
const PROBE_BYTES: usize = 1024 * 1024;

/// What has gone wrong since the memory last went well.
#[derive(Debug, Default)]
pub(super) struct Failures {
    /// When it last failed, and how often it has.
    last: Option<(Instant, u32)>,
    /// How many of these were errors of the index itself.
    refusals: u32,
    /// The memory was deleted and has not followed the log to its end since.
    rebuilding: bool,
    /// When it was last deleted. Kept when it goes well again.
    deleted: Option<Instant>,
}

impl<C: Fn(SessionId) + Send + 'static> Projector<C> {
    /// How long the memory is let alone after it has failed.
    pub(super) fn pause_left(&self) -> Duration {
        let asked = self.waiting.iter().any(|wait| !wait.reply.is_closed())
            || self.purges.iter().any(|purge| !purge.reply.is_closed());
        self.failures.last.map_or(Duration::ZERO, |(at, tries)| pause(tries, asked).saturating_sub(at.elapsed()))
    }

    /// A step went well. Only what reached the disk ends a failure, and only the whole log a rebuild.
    pub(super) fn went_well(&mut self) {
        if self.failures.last.is_none() || self.dirty_since.is_some() {
            return;
        }
        if self.failures.rebuilding && self.applied < self.options.table.now().position() {
            return;
        }
        self.failures = Failures { deleted: self.failures.deleted, ..Failures::default() };
        self.trouble.succeeded();
    }

    /// What is not committed is gone from the store: it is applied again, after a pause.
    pub(super) fn start_over(&mut self, error: &Error) {
        let tries = self.failures.last.map_or(0, |(_, tries)| tries) + 1;
        self.failures.refusals += u32::from(is_of_the_index(error));
        let problem = match self.failures.refusals >= REFUSALS && self.begin_anew() {
            true => format!("it could not be written {REFUSALS} times ({error}) and is being built anew from the log"),
            false => io_remedy::system_message(&error.to_string()),
        };
        let committed = self.store.checkpoint().map_or(Position(0), |checkpoint| checkpoint.position);
        self.applied = committed;
        self.dirty_since = None;
        self.put.clear();
        self.superseded.clear();
        self.large.clear();
        self.reach.set_covered(Covered { whole: committed, but_large: committed });
        self.trouble.failed(&problem);
        self.failures.last = Some((Instant::now(), tries));
    }

    /// Deletes the memory, if the disk takes writes and the last time is long enough ago. Whether it was deleted.
    fn begin_anew(&mut self) -> bool {
        if self.failures.deleted.is_some_and(|at| at.elapsed() < BETWEEN_BUILDS) {
            return false;
        }
        let begun = probe(&self.options.memory).map_err(MemoryError::from).and_then(|()| self.store.begin_anew());
        match begun {
            Ok(()) => {
                self.failures = Failures { deleted: Some(Instant::now()), rebuilding: true, ..Failures::default() };
                self.made_whole = None;
                true
            }
            Err(error) => {
                tracing::warn!(%error, "memory not built anew");
                false
            }
        }
    }
}

/// Whether the index refuses, and not the disk below it.
fn is_of_the_index(error: &Error) -> bool {
    matches!(error, Error::Memory(MemoryError::Index(_) | MemoryError::Broken(_)))
        && Obstacle::in_message(&error.to_string()) == Obstacle::Other
}

/// Writes as much as a small commit takes, and removes it.
fn probe(folder: &Path) -> io::Result<()> {
    let path = folder.join("probe.tmp");
    let written = fs::write(&path, vec![0; PROBE_BYTES]).and_then(|()| durable::sync_file(&path));
    let removed = fs::remove_file(&path);
    written.and(removed)
}
