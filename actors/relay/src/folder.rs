//! A folder as relay: a git checkout, a folder that a program synchronises, a network file system.
//!
//! ```text
//! baton-relay.json              format and team
//! w/<writer>/<generation>.log   the writer's frames: appended by that writer alone
//! o/<aa>/<hash>, s/<name>       objects and named slots
//! ```
//!
//! A log is a sequence of records, `tag length payload check`: a frame, or the sequence of a stream that was purged.
//! Records are only appended; a purge writes the next generation of the file and removes the previous one. A reader
//! takes whole records only, so a file that has arrived in part is merely behind.
//!
//! Files and folders get the mode of their parent folder: anyone who may use the relay's folder may use all of it,
//! because other users of the same machine or file system may be members. Nothing can be read without the team's keys.
//!
//! # Hazards
//!
//! - Programs that synchronise folders give no order between files: a batch may arrive before its key or its objects.
//!   Readers hold it until these arrive.

mod log;
mod news;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use baton_base::{durable, transcript_file};
use serde::{Deserialize, Serialize};

use crate::keys::Name;
use crate::transport::{Error, MAX_OBJECT_BYTES, Pending, Received, Relay, Slot, Stream};
use log::{Record, Tail};
pub(crate) use log::{read_whole, write_whole};
use news::News;

/// The file that marks a relay's folder.
pub(crate) const MARK: &str = "baton-relay.json";
const FORMAT: u32 = 1;
/// Most writers whose logs are read, members or not.
const MAX_WRITERS: usize = 4096;
/// Most bytes of frames in one answer; a single frame may be longer.
const ANSWER_BYTES: u64 = 4 * 1024 * 1024;
/// How often the folder is polled for changes that the system does not announce, such as those of other machines.
const LOOK: Duration = Duration::from_millis(500);

#[derive(Serialize, Deserialize)]
struct Mark {
    format: u32,
    team: String,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Folder(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    root: PathBuf,
    /// The ends of the logs that this process appends to.
    tails: Mutex<BTreeMap<Name, Tail>>,
    news: News,
}

/// A reader's position: for each writer the generation of the log, the bytes read of it, its length then, and the check
/// of the last record read. A torn or damaged end is news only once the log has grown; a log with another record there
/// was set back to an earlier state, and may have grown again since.
type Places = BTreeMap<String, (u32, u64, u64, String)>;

impl Folder {
    /// Opens the folder of this team, or of any if `None`; [`Folder::create`] must have made it. Blocks for a short
    /// read.
    ///
    /// # Errors
    ///
    /// If it is not the folder of this team.
    pub(crate) fn open(root: &Path, team: Option<Name>) -> Result<Self, Error> {
        let mark: Option<Mark> =
            durable::read_json(&root.join(MARK), 64 * 1024).map_err(|error| unavailable(root, &error))?;
        let shown = root.display();
        match mark {
            None => Err(Error::Unavailable(format!(
                "{shown} is not a relay folder, or is not mounted: {MARK} is not there"
            ))),
            Some(mark) if mark.format != FORMAT => {
                Err(Error::Refused(format!("{shown} has format {}: it needs another version of Baton", mark.format)))
            }
            Some(mark) if team.is_some_and(|team| mark.team != team.to_string()) => {
                Err(Error::Refused(format!("{shown} is the relay of another team")))
            }
            Some(_) => {
                let root = root.to_owned();
                Ok(Self(Arc::new(Inner { root, tails: Mutex::default(), news: News::default() })))
            }
        }
    }

    /// Makes a folder the relay of a team. Blocks for the disk.
    ///
    /// # Errors
    ///
    /// If it is one already, or cannot be written.
    pub(crate) fn create(root: &Path, team: Name) -> Result<Self, Error> {
        let failed = |error: io::Error| unavailable(root, &error);
        if !root.is_dir() {
            std::fs::create_dir_all(root).map_err(failed)?;
        }
        if transcript_file::exists(&root.join(MARK)) {
            let shown = root.display();
            return Err(Error::Refused(format!(
                "{shown} is a relay's folder already; `baton relay join` joins its team"
            )));
        }
        let mark = serde_json::to_vec(&Mark { format: FORMAT, team: team.to_string() });
        let path = root.join(MARK);
        let written = mark.map_err(io::Error::other).and_then(|mark| log::write_whole(&path, &mark));
        // Nobody has the keys of a team whose creation failed.
        written.inspect_err(|_| drop(std::fs::remove_file(&path))).map_err(failed)?;
        Self::open(root, Some(team))
    }

    fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner) -> Result<T, Error> + Send + 'static,
    ) -> Pending<'static, T> {
        let inner = self.0.clone();
        Box::pin(async move {
            let working = baton_base::task::spawn_blocking(move || work(&inner));
            working.await.map_err(|error| Error::Unavailable(error.to_string()))?
        })
    }
}

impl Relay for Folder {
    fn publish(&self, stream: Stream, expected: u64, frame: Vec<u8>) -> Pending<'_, ()> {
        self.run(move |inner| {
            inner.check_mark()?;
            let mut tails = inner.tails.lock().unwrap_or_else(PoisonError::into_inner);
            // Until the append has succeeded, the next caller reads the end again.
            let mut tail = inner.tail(&mut tails, stream.writer)?;
            let actual = tail.heads.get(&stream.stream).copied().unwrap_or_default();
            if actual != expected {
                tails.insert(stream.writer, tail);
                return Err(Error::Conflict { actual });
            }
            let record = Record::Frame(frame);
            let folder = inner.writer_folder(stream.writer);
            log::append(&folder, &mut tail, &[record]).map_err(|error| unavailable(&folder, &error))?;
            tail.heads.insert(stream.stream, expected + 1);
            tail.streams.insert(stream.stream);
            tails.insert(stream.writer, tail);
            Ok(())
        })
    }

    fn receive<'a>(&'a self, cursor: &'a str) -> Pending<'a, Received> {
        let mut places: Places = serde_json::from_str(cursor).unwrap_or_default();
        self.run(move |inner| {
            let mut received = Received::default();
            let mut left = ANSWER_BYTES;
            let logs = inner.logs()?;
            let is_there = |name: &String| logs.iter().any(|(log, ..)| log.to_string() == *name);
            received.is_set_back = !places.keys().all(is_there);
            places.retain(|name, _| is_there(name));
            for (name, generation, size) in logs {
                let folder = inner.writer_folder(name);
                let place = places.entry(name.to_string()).or_default();
                // A log that is shorter was set back to an earlier state.
                let is_same = || size >= place.1 && log::check_before(&folder, generation, place.1) == place.3;
                if place.0 != generation || !is_same() {
                    received.is_set_back |= generation <= place.0;
                    *place = (generation, 0, 0, String::new());
                }
                if size == place.1 {
                    place.2 = size;
                    continue;
                }
                if left == 0 {
                    received.more = true;
                    continue;
                }
                place.2 = size;
                // One damaged log must not hide the others.
                let read = match log::read(&folder, generation, place.1, left) {
                    Ok(read) => read,
                    Err(error) => {
                        received.problems.push(unavailable(&folder, &error).to_string());
                        continue;
                    }
                };
                place.1 += read.bytes;
                place.3 = log::check_before(&folder, generation, place.1);
                left = left.saturating_sub(read.bytes);
                if read.more {
                    (place.2, received.more) = (0, true);
                }
                received.frames.extend(read.records.into_iter().filter_map(Record::into_frame));
                // The records before it count; the rest may still arrive.
                received
                    .problems
                    .extend(read.damage.map(|damage| format!("{}: the log is damaged: {damage}", folder.display())));
            }
            received.cursor = serde_json::to_string(&places).unwrap_or_default();
            Ok(received)
        })
    }

    fn head(&self, stream: Stream) -> Pending<'_, u64> {
        self.run(move |inner| {
            let mut tails = inner.tails.lock().unwrap_or_else(PoisonError::into_inner);
            let tail = inner.tail(&mut tails, stream.writer)?;
            let head = tail.heads.get(&stream.stream).copied().unwrap_or_default();
            tails.insert(stream.writer, tail);
            Ok(head)
        })
    }

    fn put(&self, slot: Slot, bytes: Vec<u8>) -> Pending<'_, ()> {
        self.run(move |inner| {
            inner.check_mark()?;
            let path = inner.slot(slot);
            if bytes.len() > MAX_OBJECT_BYTES {
                return Err(Error::Refused(format!("{} bytes are over the bound of {MAX_OBJECT_BYTES}", bytes.len())));
            }
            if matches!(slot, Slot::Object(_)) && transcript_file::exists(&path) {
                return Ok(());
            }
            log::write_whole(&path, &bytes).map_err(|error| inner.failed(&path, &error))
        })
    }

    fn get(&self, slot: Slot) -> Pending<'_, Option<Vec<u8>>> {
        self.run(move |inner| {
            inner.check_mark()?;
            let path = inner.slot(slot);
            log::read_whole(&path, MAX_OBJECT_BYTES as u64).map_err(|error| inner.failed(&path, &error))
        })
    }

    fn delete(&self, slot: Slot) -> Pending<'_, ()> {
        self.run(move |inner| {
            let path = inner.slot(slot);
            // A writer killed mid-write leaves the file under its temporary name.
            log::remove_unfinished(&path);
            match std::fs::remove_file(&path).and_then(|()| durable::sync_parent(&path)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(inner.failed(&path, &error)),
                _ => Ok(()),
            }
        })
    }

    fn purge(&self, stream: Stream) -> Pending<'_, ()> {
        self.run(move |inner| {
            let mut tails = inner.tails.lock().unwrap_or_else(PoisonError::into_inner);
            let tail = inner.tail(&mut tails, stream.writer)?;
            let folder = inner.writer_folder(stream.writer);
            let head = tail.heads.get(&stream.stream).copied().filter(|_| tail.streams.contains(&stream.stream));
            let Some(head) = head else {
                let generation = tail.generation;
                tails.insert(stream.writer, tail);
                // A crash may have left the frames of an earlier generation.
                return log::remove_before(&folder, generation).map_err(|error| inner.failed(&folder, &error));
            };
            let rewritten = log::rewrite_without(&folder, &tail, stream.stream, head);
            tails.insert(stream.writer, rewritten.map_err(|error| unavailable(&folder, &error))?);
            Ok(())
        })
    }

    fn continue_after(&self, stream: Stream, sequence: u64) -> Pending<'_, ()> {
        self.run(move |inner| {
            inner.check_mark()?;
            let mut tails = inner.tails.lock().unwrap_or_else(PoisonError::into_inner);
            let mut tail = inner.tail(&mut tails, stream.writer)?;
            if tail.heads.get(&stream.stream).is_some_and(|head| *head >= sequence) {
                tails.insert(stream.writer, tail);
                return Ok(());
            }
            let folder = inner.writer_folder(stream.writer);
            let appended = log::append(&folder, &mut tail, &[Record::Head(stream.stream, sequence)]);
            appended.map_err(|error| unavailable(&folder, &error))?;
            tail.heads.insert(stream.stream, sequence);
            tails.insert(stream.writer, tail);
            Ok(())
        })
    }

    fn changed<'a>(&'a self, cursor: &'a str) -> Pending<'a, ()> {
        let places: Places = serde_json::from_str(cursor).unwrap_or_default();
        Box::pin(async move {
            loop {
                let places = places.clone();
                let look = self.run(move |inner| {
                    let is_read = |(name, generation, size): &(Name, u32, u64)| {
                        places.get(&name.to_string()).is_some_and(|place| (place.0, place.2) == (*generation, *size))
                    };
                    let logs = inner.logs()?;
                    let folders = logs.iter().map(|(name, ..)| inner.writer_folder(*name));
                    // Look again after a new watch, so that no change is missed.
                    let is_new = inner.news.watch(folders.chain([inner.root.join("w")]));
                    let logs = if is_new { inner.logs()? } else { logs };
                    Ok(!logs.iter().all(is_read))
                });
                if look.await? {
                    return Ok(());
                }
                self.0.news.changed_or_timeout(LOOK).await;
            }
        })
    }
}

impl Inner {
    fn writer_folder(&self, writer: Name) -> PathBuf {
        self.root.join("w").join(writer.to_string())
    }

    fn slot(&self, slot: Slot) -> PathBuf {
        match slot {
            Slot::Object(hash) => {
                let name = hash.to_string();
                self.root.join("o").join(&name[..2]).join(&name)
            }
            Slot::Named(name) => self.root.join("s").join(name.to_string()),
        }
    }

    /// An error of one file if the relay is there, so that the rest can be used.
    fn failed(&self, path: &Path, error: &io::Error) -> Error {
        use io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
        let is_of_all = matches!(error.kind(), StorageFull | QuotaExceeded | ReadOnlyFilesystem);
        match is_of_all || self.check_mark().is_err() {
            true => unavailable(path, error),
            false => Error::Place(describe_io(path, error)),
        }
    }

    /// Fails if the relay's folder is missing: without the mark it is not taken for an empty one.
    fn check_mark(&self) -> Result<(), Error> {
        match transcript_file::exists(&self.root.join(MARK)) {
            true => Ok(()),
            false => Err(Error::Unavailable(format!("{} is not there, or is not mounted", self.root.display()))),
        }
    }

    /// The writers with the generation and size of their newest log, in the order of their names.
    fn logs(&self) -> Result<Vec<(Name, u32, u64)>, Error> {
        self.check_mark()?;
        let folder = self.root.join("w");
        let entries = match std::fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| unavailable(&folder, &error))?,
        };
        let names = entries.flatten().filter_map(|entry| Name::parse(entry.file_name().to_str()?));
        let mut names: Vec<Name> = names.take(MAX_WRITERS).collect();
        names.sort_unstable();
        let newest = |name: Name| {
            let (generation, size) = log::newest(&self.writer_folder(name))?;
            Some((name, generation, size))
        };
        Ok(names.into_iter().filter_map(newest).collect())
    }

    /// Removes the end of a writer's log from those that are known, or reads it from the disk.
    fn tail(&self, known: &mut BTreeMap<Name, Tail>, writer: Name) -> Result<Tail, Error> {
        let folder = self.writer_folder(writer);
        let (generation, size) = log::newest(&folder).unwrap_or_default();
        let known = known.remove(&writer).filter(|tail| (tail.generation, tail.bytes) == (generation, size));
        if let Some(tail) = known {
            return Ok(tail);
        }
        log::tail(&folder, generation).map_err(|error| unavailable(&folder, &error))
    }
}

fn unavailable(path: &Path, error: &io::Error) -> Error {
    Error::Unavailable(describe_io(path, error))
}

fn describe_io(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

#[cfg(test)]
mod tests;
