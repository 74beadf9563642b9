//! Conversations on disk: immutable compressed chunks and the manifests that list them.
//!
//! `blobs/<session>/` holds chunks `<hash>.zst`, each at most [`CHUNK_BYTES`] of whole items (a larger item has a chunk
//! of its own), and manifests `<hash>.json`, which list a conversation's chunks in order. Every file is named by the
//! SHA-256 of its content (for a chunk: of its uncompressed lines), so files never change and repeated work gives the
//! same files. Chunks belong to one session, so forgetting a session means unlinking its files.
//!
//! An append keeps the earlier chunks; only the last one is read again and rewritten under a new name. Chunks are
//! filled greedily, so a conversation appended in pieces has the same chunks as one written at once.
//!
//! This module knows lines, not items or events: the caller makes its files durable before the event that names them,
//! and collects files that no event names.
//!
//! # Hazards
//!
//! - Chunks that no event names (a crash between chunk and event) are collected at the next start; those of sessions
//!   that the log does not know are kept. Notes are not collected with superseded chunks, because one may be written
//!   for an event that is still to come. At a start notes in folders that no event names are removed, unless a repair's
//!   `log/cut-…` exists.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use baton_conversation::record::SessionId;

use baton_base::durable;
use baton_base::pinned_folder::PinnedFolder;
use baton_base::transcript_file;

mod batch;
mod compression;
mod exact;
mod manifest;
mod note;

#[cfg(test)]
mod tests;

pub use batch::{Append, Batch};
pub use manifest::{ChunkRef, Header, Manifest, ManifestId};
pub use note::note_name;

use manifest::{file_name, name_of};

/// Most bytes of lines in a chunk, which is the most that an append reads and rewrites.
pub const CHUNK_BYTES: usize = 256 * 1024;
/// Longest line of one item in bytes. Transcript lines reach megabytes; filtered items do not come near this.
pub const LINE_MAX_BYTES: usize = 16 * 1024 * 1024;
/// Largest manifest that is read: more than 100,000 chunks.
const MANIFEST_MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The conversations of a home.
#[derive(Clone, Debug)]
pub struct ChunkStore {
    folder: PathBuf,
    /// The home around it as it was opened; `None` for a store that may be missing.
    home: Option<PinnedFolder>,
    /// Held for reading while a note is written, so that unfinished notes can be told from leftovers.
    writing: Arc<RwLock<()>>,
    /// Folders with conversations of others; see [`ChunkStore::read_also`].
    others: Arc<RwLock<BTreeMap<SessionId, PathBuf>>>,
}

/// Why a conversation could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file that a manifest or an event names does not exist: forgotten, collected or lost.
    #[error("{} of session {session} is missing", path.display())]
    Missing {
        /// The session.
        session: SessionId,
        /// The file.
        path: PathBuf,
    },
    /// A file's content does not match its name.
    #[error("{} is damaged: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// A manifest written by a newer version of this program.
    #[error("{} has format {format}: it was written by a newer version of this program", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        format: u32,
    },
    /// A line that cannot be stored: longer than [`LINE_MAX_BYTES`], empty, or with a line break in it.
    #[error("item {index} cannot be stored: {what}")]
    BadLine {
        /// Index of the new line, from 0.
        index: usize,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The operating system returned an error.
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        /// The operation that failed.
        what: &'static str,
        /// The file concerned.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// Files that were removed, or would be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Number of files.
    pub files: u64,
    /// Their bytes on disk.
    pub bytes: u64,
}

impl std::ops::AddAssign for Removed {
    fn add_assign(&mut self, more: Self) {
        *self = Self { files: self.files + more.files, bytes: self.bytes + more.bytes };
    }
}

impl ChunkStore {
    /// Opens the store in a folder, which is created (for the owner only) if it is missing.
    pub fn open(folder: impl Into<PathBuf>) -> Result<Self, Error> {
        let folder = folder.into();
        durable::create_private_folder(&folder).map_err(io_error("create", &folder))?;
        let home = folder.parent().filter(|home| !home.as_os_str().is_empty()).unwrap_or(&folder);
        let home = PinnedFolder::open(home).map_err(io_error("open", home))?;
        Ok(Self { folder, home: Some(home), writing: Arc::default(), others: Arc::default() })
    }

    /// Fails if the home is no longer the one that was opened. Called before anything is written or removed, so that
    /// another home's conversations are not touched, and before a write is acknowledged.
    fn check(&self) -> Result<(), Error> {
        self.home.as_ref().map_or(Ok(()), PinnedFolder::check).map_err(io_error("use", &self.folder))
    }

    /// The folder of one session.
    pub fn folder_of(&self, session: &SessionId) -> PathBuf {
        self.folder.join(folder_name(session))
    }

    /// Also reads a session's conversation from this folder if the store does not have it; `None` stops that. The
    /// folder belongs to another component and is never written to.
    pub fn read_also(&self, session: &SessionId, folder: Option<PathBuf>) {
        let mut others = self.others.write().unwrap_or_else(PoisonError::into_inner);
        match folder {
            Some(folder) => drop(others.insert(session.clone(), folder)),
            None => drop(others.remove(session)),
        }
    }

    /// The path of a file to read.
    fn file_of(&self, session: &SessionId, name: &str) -> PathBuf {
        let own = self.folder_of(session).join(name);
        let others = self.others.read().unwrap_or_else(PoisonError::into_inner);
        match others.get(session) {
            Some(folder) if !transcript_file::exists(&own) => folder.join(name),
            _ => own,
        }
    }

    /// Appends `lines` (one item each, without line breaks) to the conversation of `prior`, or begins a new one. The
    /// files are durable on return. A session may have only one append in progress.
    pub fn append(
        &self,
        session: &SessionId,
        prior: Option<&ManifestId>,
        lines: &[Vec<u8>],
        header: Header,
    ) -> Result<ManifestId, Error> {
        let mut batch = self.batch();
        let id = batch.append(session, prior, lines, header)?;
        batch.commit()?;
        Ok(id)
    }

    /// Begins a group of appends that become durable together.
    pub fn batch(&self) -> Batch {
        Batch::new(self)
    }

    /// Reads and verifies a manifest.
    pub fn manifest(&self, session: &SessionId, id: &ManifestId) -> Result<Manifest, Error> {
        let path = self.file_of(session, &file_name(id));
        let bytes = read_bounded(session, &path, MANIFEST_MAX_BYTES)?;
        Manifest::decode(&path, id, &bytes)
    }

    /// Reads the lines of one chunk, each with its line break; verified, and never longer than the manifest says.
    pub fn chunk(&self, session: &SessionId, chunk: &ChunkRef) -> Result<Vec<u8>, Error> {
        unpacked(session, &self.file_of(session, &chunk.file_name()), chunk)
    }

    /// Reads a manifest and all its lines, which are in memory as a whole; [`ChunkStore::chunk`] reads them in pieces.
    pub fn read(&self, session: &SessionId, id: &ManifestId) -> Result<(Manifest, Vec<u8>), Error> {
        let manifest = self.manifest(session, id)?;
        let mut lines = Vec::new();
        for chunk in &manifest.chunks {
            lines.extend_from_slice(&self.chunk(session, chunk)?);
        }
        Ok((manifest, lines))
    }

    /// The files of a conversation: its manifest, which must exist and be intact, and the chunks that it lists, whether
    /// they exist or not.
    pub fn files_of(&self, session: &SessionId, id: &ManifestId) -> Result<Vec<PathBuf>, Error> {
        let (folder, manifest) = (self.folder_of(session), self.manifest(session, id)?);
        let chunks = manifest.chunks.iter().map(|chunk| folder.join(chunk.file_name()));
        Ok(std::iter::once(folder.join(file_name(id))).chain(chunks).collect())
    }

    /// The names of all session folders.
    pub fn folders(&self) -> Result<BTreeSet<String>, Error> {
        let entries = fs::read_dir(&self.folder).map_err(io_error("list", &self.folder))?;
        let names = entries.map(|entry| entry.map(|entry| entry.file_name().into_string().ok()));
        names.filter_map(Result::transpose).collect::<io::Result<_>>().map_err(io_error("list", &self.folder))
    }

    /// Removes the folder of an unknown session, unless it contains a note.
    pub fn discard(&self, name: &str) -> Result<Removed, Error> {
        self.discard_if(name, |paths| !paths.iter().any(|path| note::is_note_at(path)))
    }

    /// Removes the folder of an unknown memo, if it contains only words of memos.
    pub fn discard_words(&self, name: &str) -> Result<Removed, Error> {
        let is_words = |path: &PathBuf| {
            let is_small = || fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() <= note::NOTE_MAX_BYTES);
            let text = || fs::read_to_string(path).unwrap_or_default();
            note::is_note_at(path) && is_small() && baton_events::schema::memo::decode_words(&text()).is_ok()
        };
        self.discard_if(name, |paths| !paths.is_empty() && paths.iter().all(is_words))
    }

    /// Removes a folder durably if it contains only notes; keeps any other.
    pub fn discard_if_only_notes(&self, name: &str) -> Result<Removed, Error> {
        self.discard_if(name, |paths| paths.iter().all(|path| note::is_note_at(path)))
    }

    fn discard_if(&self, name: &str, may_go: impl FnOnce(&[PathBuf]) -> bool) -> Result<Removed, Error> {
        if name.contains(['/', '\\']) || matches!(name, "" | "." | "..") {
            return Ok(Removed::default());
        }
        let folder = self.folder.join(name);
        let entries = fs::read_dir(&folder).map_err(io_error("list", &folder))?;
        let paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        if may_go(&paths) { self.remove_folder(&folder) } else { Ok(Removed::default()) }
    }

    /// Removes all files of a session except notes and those that `keep` names, including leftovers of interrupted
    /// writes. If one of `keep` cannot be read, nothing is removed. No append of the session may be in progress.
    pub fn collect(&self, session: &SessionId, keep: &[ManifestId]) -> Result<Removed, Error> {
        let unfinished = self.remove_unfinished_notes(session)?;
        let folder = self.folder_of(session);
        let mut named = BTreeSet::new();
        for id in keep {
            named.insert(file_name(id));
            named.extend(self.manifest(session, id)?.chunks.iter().map(ChunkRef::file_name));
        }
        // A note may have been written a moment ago for an event that is still to come. Notes are few and small.
        let mut removed = self.remove(&folder, |name| !named.contains(name) && !note::is_note(name))?;
        removed += unfinished;
        Ok(removed)
    }

    /// Counts the files of a session that [`ChunkStore::forget`] would remove.
    ///
    /// # Errors
    ///
    /// If its folder cannot be read.
    pub fn stored(&self, session: &SessionId) -> Result<Removed, Error> {
        let mut stored = Removed::default();
        for entry in self.entries(&self.folder_of(session))? {
            stored += Removed { files: 1, bytes: entry.metadata().map_or(0, |metadata| metadata.len()) };
        }
        Ok(stored)
    }

    /// Removes everything of a session, durably. A session without files is no error.
    pub fn forget(&self, session: &SessionId) -> Result<Removed, Error> {
        let removed = self.remove_folder(&self.folder_of(session))?;
        self.check()?;
        Ok(removed)
    }

    fn remove_folder(&self, folder: &Path) -> Result<Removed, Error> {
        let removed = self.remove(folder, |_| true)?;
        match fs::remove_dir(folder) {
            Ok(()) => durable::sync_folder(&self.folder).map_err(io_error("sync", &self.folder))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(io_error("remove", folder)(error)),
        }
        Ok(removed)
    }

    /// The entries of a folder; none if it does not exist.
    fn entries(&self, folder: &Path) -> Result<Vec<fs::DirEntry>, Error> {
        match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            entries => entries.and_then(Iterator::collect).map_err(io_error("list", folder)),
        }
    }

    fn remove(&self, folder: &Path, unwanted: impl Fn(&str) -> bool) -> Result<Removed, Error> {
        self.check()?;
        let mut removed = Removed::default();
        for entry in self.entries(folder)? {
            // A name that is not UTF-8 is not ours, and nothing refers to it.
            if entry.file_name().to_str().is_none_or(&unwanted) {
                let size = entry.metadata().map_or(0, |metadata| metadata.len());
                match fs::remove_file(entry.path()) {
                    // Its writer has removed it meanwhile.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    other => other.map_err(io_error("remove", &entry.path()))?,
                }
                removed += Removed { files: 1, bytes: size };
            }
        }
        if removed.files > 0 {
            durable::sync_folder(folder).map_err(io_error("sync", folder))?;
        }
        Ok(removed)
    }
}

/// The name of a session's folder: its id if that is a valid and unreserved name on every file system, else a digest of
/// it.
fn folder_name(session: &SessionId) -> String {
    const RESERVED: [&str; 4] = ["con", "prn", "aux", "nul"];
    let id = session.as_str();
    let plain = id.len() <= 64 && id.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'));
    let is_device = RESERVED.contains(&id) || (id.len() == 4 && (id.starts_with("com") || id.starts_with("lpt")));
    if plain && !is_device && !id.starts_with("x-") {
        id.to_owned()
    } else {
        format!("x-{}", &name_of(id.as_bytes())[..32])
    }
}

/// Reads, unpacks and verifies the lines of a chunk.
fn unpacked(session: &SessionId, path: &Path, chunk: &ChunkRef) -> Result<Vec<u8>, Error> {
    let damaged = |what: String| Error::Damaged { path: path.to_owned(), what };
    let size = usize::try_from(chunk.bytes).ok().filter(|size| *size <= LINE_MAX_BYTES + 1);
    let size = size.ok_or_else(|| damaged(format!("its manifest gives it {} bytes", chunk.bytes)))?;
    let packed = read_bounded(session, path, compression::packed_max_bytes(size))?;
    let lines = compression::unpack(&packed, size).map_err(|error| damaged(error.to_string()))?;
    if lines.len() != size || name_of(&lines) != chunk.name {
        return Err(damaged("it does not match its name".into()));
    }
    Ok(lines)
}

fn read_bounded(session: &SessionId, path: &Path, bound: u64) -> Result<Vec<u8>, Error> {
    use std::io::Read;
    let file = transcript_file::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::Missing { session: session.clone(), path: path.to_owned() },
        _ => io_error("open", path)(error),
    })?;
    let size = file.metadata().map_or(0, |metadata| metadata.len()).min(bound);
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    file.take(bound + 1).read_to_end(&mut bytes).map_err(io_error("read", path))?;
    if bytes.len() as u64 > bound {
        return Err(Error::Damaged { path: path.to_owned(), what: format!("it exceeds its limit of {bound} bytes") });
    }
    Ok(bytes)
}

fn io_error<'a>(what: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Error + 'a {
    move |source| Error::Io { what, path: path.to_owned(), source }
}

impl fmt::Display for Removed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} files, {} bytes", self.files, self.bytes)
    }
}
