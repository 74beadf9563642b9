//! Sealing (compressing) full segments, on a thread of its own that the committer never waits for.
//!
//! A segment is full when another one follows it. It is read, verified against the chain and against the next segment's
//! header, and compressed into a temporary file, which is synced and read back; then that file is renamed and the
//! segment removed. A crash leaves the segment, or both forms: readers use the segment while it exists, and the next
//! pass completes the sealing. A segment that cannot be sealed stays as it is.

use std::fs;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use baton_events::envelope::Tail;

use super::files::Files;
use super::segment::{self, HEADER_BYTES, Header, sealed};
use super::shared_state::SharedState;

/// Handle of the sealing thread. Dropping it stops the thread.
pub(super) struct Sealer {
    state: Arc<SealerState>,
    thread: Option<JoinHandle<()>>,
}

/// The thread is unparked when `below` or `stop` changes.
#[derive(Default)]
struct SealerState {
    /// Segments with a lower number are full.
    below: AtomicU32,
    /// Segments with a lower number have been tried.
    done: AtomicU32,
    stop: AtomicBool,
}

/// The result of sealing one segment.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It is sealed; holds the bytes saved.
    Sealed(u64),
    /// The journal is being closed.
    Stopped,
}

impl Sealer {
    /// Starts the thread. Segments with a number lower than `below` are full already.
    pub(super) fn start(
        files: Arc<dyn Files>,
        folder: PathBuf,
        shared: Arc<SharedState>,
        below: u32,
    ) -> io::Result<Self> {
        let state = Arc::new(SealerState { below: below.into(), ..SealerState::default() });
        let own = Arc::clone(&state);
        let run = move || {
            if panic::catch_unwind(AssertUnwindSafe(|| own.run(&*files, &folder, &shared))).is_err() {
                shared.report_problem("segments are not sealed any more: the sealer panicked; see `daemon.log`".into());
            }
        };
        let thread = thread::Builder::new().name("journal-sealer".into()).spawn(run)?;
        Ok(Self { state, thread: Some(thread) })
    }

    /// Marks segments with a lower number as full. Does not wait.
    pub(super) fn full_below(&self, number: u32) {
        if self.state.below.fetch_max(number, Ordering::AcqRel) < number {
            self.wake();
        }
    }

    fn wake(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }

    /// Waits until every full segment has been tried, or the thread has ended.
    #[cfg(test)]
    pub(super) fn wait(&self) {
        let is_due = || self.state.done.load(Ordering::Acquire) < self.state.below.load(Ordering::Acquire);
        while is_due() && self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Sealer {
    /// Ends the thread within milliseconds; a segment being sealed stays as it is.
    fn drop(&mut self) {
        self.state.stop.store(true, Ordering::Release);
        self.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl SealerState {
    fn is_running(&self) -> bool {
        !self.stop.load(Ordering::Acquire)
    }

    fn run(&self, files: &dyn Files, folder: &Path, shared: &SharedState) {
        if let Err(error) = remove_unfinished(files, folder) {
            tracing::warn!(%error, "unfinished sealed segments not removed");
        }
        while self.is_running() {
            let below = self.below.load(Ordering::Acquire);
            if self.done.load(Ordering::Acquire) >= below {
                thread::park();
            } else {
                self.seal_full(files, folder, shared, below);
                self.done.store(below, Ordering::Release);
            }
        }
    }

    /// Seals every full segment. Stops at the first I/O error (disk full, permissions), to try again when the next
    /// segment is full.
    fn seal_full(&self, files: &dyn Files, folder: &Path, shared: &SharedState, below: u32) {
        let numbers = segment::list(folder).unwrap_or_default();
        for number in numbers.into_iter().filter(|number| *number < below) {
            if !self.is_running() {
                return;
            }
            if !segment::unsealed_path(folder, number).exists() {
                continue;
            }
            let begun = Instant::now();
            match seal(files, folder, number, || self.is_running()) {
                Ok(Outcome::Sealed(saved)) => {
                    tracing::debug!(segment = number, saved, "segment sealed");
                    shared.count_saved_bytes(saved);
                }
                Ok(Outcome::Stopped) => return,
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    shared.report_problem(format!("the log is damaged: {error}; `baton log verify` shows what is"));
                }
                Err(error) => {
                    tracing::warn!(segment = number, %error, "segment not sealed");
                    return;
                }
            }
            self.pause(begun.elapsed());
        }
    }

    /// Sleeps for `time`, the time just spent, to leave the processor to others: an old log has many segments to seal.
    fn pause(&self, time: Duration) {
        let until = Instant::now() + time;
        while self.is_running() && Instant::now() < until {
            thread::park_timeout(until.saturating_duration_since(Instant::now()));
        }
    }
}

/// Seals one full segment. Fails with `InvalidData` if the segment is damaged. After any error the segment is
/// unchanged.
pub(super) fn seal(files: &dyn Files, folder: &Path, number: u32, go_on: impl Fn() -> bool) -> io::Result<Outcome> {
    let path = segment::unsealed_path(folder, number);
    let sealed_path = sealed::sealed_path(&path);
    let bytes = segment::load(&path)?;
    let (header, end) = verify_segment(&bytes).map_err(|what| damaged(&path, &what))?;
    if segment::peek(folder, number + 1)?.header != Ok(Header::after(end)) {
        return Err(damaged(&path, "the next segment does not follow it"));
    }
    let before = bytes.len() as u64;
    // The sealed form exists already if a crash came after the rename.
    let after = match segment::load_sealed(&path) {
        Ok((found, size)) if found == bytes => size,
        _ => {
            let Some(packed) = sealed::pack(&bytes, header, end, &go_on)? else { return Ok(Outcome::Stopped) };
            let temporary = sealed::temporary_path(&path);
            let written =
                write_verified(files, &temporary, &packed).and_then(|()| files.rename(&temporary, &sealed_path));
            if let Err(error) = written {
                let _ = files.remove(&temporary);
                return Err(error);
            }
            packed.len() as u64
        }
    };
    files.remove(&path)?;
    Ok(Outcome::Sealed(before.saturating_sub(after)))
}

fn damaged(path: &Path, what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{}: {what}", path.display()))
}

fn verify_segment(bytes: &[u8]) -> Result<(Header, Tail), String> {
    let header = Header::decode(bytes).map_err(|error| error.to_string())?;
    let mut end = Tail { position: header.first, chain: header.before };
    end.position.0 = end.position.0.saturating_sub(1);
    for frame in segment::frames(bytes, HEADER_BYTES, header.before) {
        let frame = frame.map_err(|bad| format!("at byte {}: {}", bad.offset, bad.what))?;
        end = Tail { position: end.position.next(), chain: frame.chain };
    }
    Ok((header, end))
}

/// Writes a whole file, syncs it and reads it back, because the segment is removed in exchange.
fn write_verified(files: &dyn Files, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = files.create(path)?;
    file.write_at(0, bytes)?;
    file.sync()?;
    let mut read = vec![0; bytes.len()];
    file.read_at(0, &mut read)?;
    if read == bytes { Ok(()) } else { Err(io::Error::other("the written data reads back differently")) }
}

fn remove_unfinished(files: &dyn Files, folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.to_str().is_some_and(|path| path.ends_with(sealed::TEMPORARY)) {
            files.remove(&path)?;
        }
    }
    Ok(())
}
