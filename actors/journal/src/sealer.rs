//! Sealing full segments, in a thread of its own that the committer never waits for.
//!
//! A segment is full when another one stands behind it. It is read, verified against the chain and against the header
//! behind it, compressed into a file beside, which is synced and read back; then that file gets its name, and the
//! segment is removed. A crash leaves the segment, or both: readers go by the segment while it is there, and the next pass
//! seals it again. What cannot be sealed stays as it is.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use baton_events::envelope::Tail;

use super::files::Files;
use super::segment::{self, Frames, HEADER_BYTES, Header, sealed};
use super::shared_state::SharedState;

/// The thread, and how far it may go.
pub(super) struct Sealer {
    work: Arc<Work>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Work {
    todo: Mutex<Todo>,
    changed: Condvar,
    stop: AtomicBool,
}

#[derive(Clone, Copy, Default)]
struct Todo {
    /// Segments with a lower number are full.
    below: u32,
    /// Up to here a pass has been made.
    done: u32,
}

/// What became of one segment.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It is sealed, and takes so many bytes less.
    Sealed(u64),
    /// The journal is being closed.
    Stopped,
}

impl Sealer {
    /// Starts the thread. Segments below `below` are full already.
    pub(super) fn start(
        files: Arc<dyn Files>,
        folder: PathBuf,
        shared: Arc<SharedState>,
        below: u32,
    ) -> io::Result<Self> {
        let work = Arc::new(Work::default());
        work.lock().below = below;
        let own = Arc::clone(&work);
        let run = move || own.run(&*files, &folder, &shared);
        let thread = thread::Builder::new().name("journal-sealer".into()).spawn(run)?;
        Ok(Self { work, thread: Some(thread) })
    }

    /// Says that segments with a lower number are full. Does not wait.
    pub(super) fn full_below(&self, number: u32) {
        let mut todo = self.work.lock();
        if number > todo.below {
            todo.below = number;
            self.work.changed.notify_all();
        }
    }

    /// Waits until what is full has been tried.
    #[cfg(test)]
    pub(super) fn wait(&self) {
        let todo = self.work.lock();
        let idle = self.work.changed.wait_while(todo, |todo| todo.done < todo.below);
        drop(idle.unwrap_or_else(PoisonError::into_inner));
    }
}

impl Drop for Sealer {
    /// Ends the thread within milliseconds: a segment that it is at stays as it is.
    fn drop(&mut self) {
        self.work.stop.store(true, Ordering::Release);
        drop(self.work.lock());
        self.work.changed.notify_all();
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the sealer of the log had panicked");
        }
    }
}

impl Work {
    fn lock(&self) -> MutexGuard<'_, Todo> {
        self.todo.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Acquire)
    }

    fn run(&self, files: &dyn Files, folder: &Path, shared: &SharedState) {
        if let Err(error) = remove_unfinished(files, folder) {
            tracing::warn!(%error, "unfinished sealed segments not removed");
        }
        while self.goes_on() {
            let todo = self.lock();
            let waited = self.changed.wait_while(todo, |todo| self.goes_on() && todo.done >= todo.below);
            let below = waited.unwrap_or_else(PoisonError::into_inner).below;
            self.pass(files, folder, shared, below);
            self.lock().done = below;
            self.changed.notify_all();
        }
    }

    /// Seals what is full. What fails for want of room or of rights is tried again when the next segment is full.
    fn pass(&self, files: &dyn Files, folder: &Path, shared: &SharedState, below: u32) {
        let numbers = segment::list(folder).unwrap_or_default();
        for number in numbers.into_iter().filter(|number| *number < below) {
            if !self.goes_on() {
                return;
            }
            if !segment::path_of(folder, number).exists() {
                continue;
            }
            let begun = Instant::now();
            match seal(files, folder, number, || self.goes_on()) {
                Ok(Outcome::Sealed(saved)) => {
                    tracing::debug!(segment = number, saved, "segment sealed");
                    shared.shrink(saved);
                }
                Ok(Outcome::Stopped) => return,
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    shared.worry(format!("the log is damaged: {error}; `baton log verify` shows what is"));
                }
                Err(error) => {
                    tracing::warn!(segment = number, %error, "segment not sealed");
                    return;
                }
            }
            self.rest(begun.elapsed());
        }
    }

    /// Leaves the processor to others for as long as it was used: an old log has many segments to seal.
    fn rest(&self, time: Duration) {
        let todo = self.lock();
        drop(self.changed.wait_timeout_while(todo, time, |_| self.goes_on()));
    }
}

/// Seals one full segment. `InvalidData` says that the segment is damaged; it is left alone, like after any other error.
pub(super) fn seal(files: &dyn Files, folder: &Path, number: u32, go_on: impl Fn() -> bool) -> io::Result<Outcome> {
    let path = segment::path_of(folder, number);
    let sealed_path = sealed::path_of(&path);
    let bytes = segment::load(&path)?;
    let (header, end) = verify(&bytes).map_err(|what| damaged(&path, &what))?;
    if segment::peek(folder, number + 1)?.header != Ok(Header::behind(end)) {
        return Err(damaged(&path, "the segment behind it does not follow it"));
    }
    let before = bytes.len() as u64;
    // A crash came after the sealed one had got its name.
    let after = match segment::load_sealed(&path) {
        Ok((found, size)) if found == bytes => size,
        _ => {
            let Some(packed) = sealed::pack(&bytes, header, end, &go_on)? else { return Ok(Outcome::Stopped) };
            let temporary = sealed::temporary_of(&path);
            let written = write(files, &temporary, &packed).and_then(|()| files.rename(&temporary, &sealed_path));
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

fn verify(bytes: &[u8]) -> Result<(Header, Tail), String> {
    let header = Header::decode(bytes).map_err(|error| error.to_string())?;
    let mut end = Tail { position: header.first, chain: header.before };
    end.position.0 = end.position.0.saturating_sub(1);
    for frame in Frames::new(bytes, HEADER_BYTES, header.before) {
        let frame = frame.map_err(|bad| format!("at byte {}: {}", bad.offset, bad.what))?;
        end = Tail { position: end.position.next(), chain: frame.chain };
    }
    Ok((header, end))
}

/// Writes a whole file, syncs it, and reads it again: the segment is removed for it.
fn write(files: &dyn Files, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = files.create(path)?;
    file.write_at(0, bytes)?;
    file.sync()?;
    let mut read = vec![0; bytes.len()];
    file.read_at(0, &mut read)?;
    if read == bytes { Ok(()) } else { Err(io::Error::other("what was written reads back differently")) }
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
