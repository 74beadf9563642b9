//! Appends that become durable together: all files are written under temporary names, synced and only then renamed. A
//! file that an event names is thereby never replaced by one that a power cut could still empty.
//!
//! # Hazards
//!
//! - On Linux several conversations are made durable by one `syncfs`: kernels before 5.8 do not report its write
//!   errors, and it flushes other programs' data too.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use baton_conversation::record::SessionId;

use super::manifest::{ChunkRef, Header, Manifest, ManifestId, file_name, name_of};
use super::{CHUNK_BYTES, ChunkStore, Error, LINE_MAX_BYTES, compression, io_error, unpacked};
use baton_base::durable;

/// Number of files written by this process.
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// Prefix of temporary names. No chunk or manifest has it.
const TEMPORARY: &str = "tmp-";

/// A group of appends. Nothing of it can be read before [`Batch::commit`], so a session may appear in it only once.
/// Dropping it uncommitted removes its files.
#[must_use = "nothing is stored before commit"]
pub struct Batch {
    store: ChunkStore,
    pending: Vec<Pending>,
    folders: BTreeSet<PathBuf>,
    /// True if a folder's own name may not be durable yet.
    new_folders: bool,
}

struct Pending {
    temporary: PathBuf,
    path: PathBuf,
}

impl Batch {
    pub(super) fn new(store: &ChunkStore) -> Self {
        Self { store: store.clone(), pending: Vec::new(), folders: BTreeSet::new(), new_folders: false }
    }

    /// Like [`ChunkStore::append`], but durable only after [`Batch::commit`].
    pub fn append(
        &mut self,
        session: &SessionId,
        prior: Option<&ManifestId>,
        lines: &[Vec<u8>],
        header: Header,
    ) -> Result<ManifestId, Error> {
        // Before anything is written.
        lines.iter().enumerate().try_for_each(|(index, line)| check(index, line))?;
        self.append_each(session, prior, lines.iter().map(Ok), header)
    }

    /// Like [`Batch::append`], with lines that are produced one by one. Returns the first error; after it the batch
    /// must not be committed.
    pub fn append_each<L: AsRef<[u8]>>(
        &mut self,
        session: &SessionId,
        prior: Option<&ManifestId>,
        lines: impl Iterator<Item = Result<L, Error>>,
        header: Header,
    ) -> Result<ManifestId, Error> {
        let mut append = self.begin(session, prior)?;
        for line in lines {
            append.line(self, line?.as_ref())?;
        }
        append.finish(self, header)
    }

    /// Like [`Batch::append_each`], with lines that the caller passes to [`Append::line`]. Holds one chunk in memory.
    pub fn begin(&mut self, session: &SessionId, prior: Option<&ManifestId>) -> Result<Append, Error> {
        self.store.check()?;
        let folder = self.store.folder_of(session);
        durable::make_private_folder(&folder).map_err(io_error("create", &folder))?;
        // An existing folder may be left from an uncommitted append; one with a manifest is not.
        self.new_folders |= prior.is_none();
        self.folders.insert(folder.clone());
        let mut chunks = match prior {
            Some(prior) => self.store.manifest(session, prior)?.chunks,
            None => Vec::new(),
        };
        let last = chunks.pop();
        Ok(Append { session: session.clone(), folder, chunks, last, open: Open::default(), index: 0 })
    }

    /// Makes all appends durable under their own names.
    pub fn commit(self) -> Result<(), Error> {
        Self::commit_together(vec![self]).pop().unwrap_or(Ok(()))
    }

    /// Commits several batches of one store with as few disk syncs as possible. Returns a result for each, in order.
    pub fn commit_together(mut batches: Vec<Self>) -> Vec<Result<(), Error>> {
        // From this many on, one sync of the whole file system is cheaper than one per file.
        const MANY: usize = 4;
        let whole = batches.first().filter(|_| batches.len() >= MANY).map(|first| first.store.folder.clone());
        let written = whole.as_deref().is_some_and(durable::sync_all);
        let mut results: Vec<_> = batches.iter_mut().map(|batch| batch.rename_files(written)).collect();
        let named = written && whole.as_deref().is_some_and(durable::sync_all);
        if !named {
            for (batch, result) in batches.iter().zip(&mut results) {
                if result.is_ok() {
                    *result = batch.sync_folders();
                }
            }
            // Last, because many file systems have made it durable with the folders by now.
            if let Some(new) = batches.iter().find(|batch| batch.new_folders)
                && let Err(error) = durable::sync_folder(&new.store.folder)
            {
                let folder = new.store.folder.clone();
                for (batch, result) in batches.iter().zip(&mut results) {
                    if batch.new_folders && result.is_ok() {
                        let error = io::Error::new(error.kind(), error.to_string());
                        *result = Err(io_error("sync", &folder)(error));
                    }
                }
            }
        }
        for (batch, result) in batches.iter().zip(&mut results) {
            if result.is_ok() {
                *result = batch.store.check();
            }
        }
        results
    }

    /// Renames all files to their own names, after their content is durable.
    fn rename_files(&mut self, written: bool) -> Result<(), Error> {
        if !written {
            for Pending { temporary, .. } in &self.pending {
                durable::sync_file(temporary).map_err(io_error("sync", temporary))?;
            }
        }
        // In the order of writing, so manifests follow their chunks.
        for Pending { temporary, path } in &self.pending {
            fs::rename(temporary, path).map_err(io_error("rename", temporary))?;
        }
        self.pending.clear();
        Ok(())
    }

    fn sync_folders(&self) -> Result<(), Error> {
        for folder in &self.folders {
            durable::sync_folder(folder).map_err(io_error("sync", folder))?;
        }
        Ok(())
    }

    fn write_chunk(&mut self, folder: &Path, open: Open) -> Result<ChunkRef, Error> {
        let chunk = ChunkRef { name: name_of(&open.lines), items: open.items, bytes: open.lines.len() as u64 };
        let packed = compression::pack(&open.lines).map_err(io_error("compress for", folder))?;
        self.write(folder, &chunk.file_name(), &packed)?;
        Ok(chunk)
    }

    fn write(&mut self, folder: &Path, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let path = folder.join(name);
        if self.pending.iter().rev().any(|pending| pending.path == path) {
            return Ok(());
        }
        // Unique among all writers, also jobs that outlive their daemon or were given up.
        let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
        let temporary = folder.join(format!("{TEMPORARY}{}-{number}-{name}", std::process::id()));
        // Recorded first, so that a partly written file is removed too.
        self.pending.push(Pending { temporary: temporary.clone(), path });
        let written = File::create(&temporary).and_then(|mut file| file.write_all(bytes));
        written.map_err(io_error("write", &temporary))
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        for Pending { temporary, .. } in &self.pending {
            // What remains is removed by the next collection of that session.
            let _ = fs::remove_file(temporary);
        }
    }
}

/// An append in progress in a [`Batch`]. Dropping it leaves its files in the batch, which must not be committed then.
#[must_use = "nothing is named before finish"]
pub struct Append {
    session: SessionId,
    folder: PathBuf,
    /// Full chunks.
    chunks: Vec<ChunkRef>,
    /// The last chunk of the prior conversation, until the next line is added to it.
    last: Option<ChunkRef>,
    open: Open,
    /// Number of lines added.
    index: usize,
}

impl Append {
    /// Number of lines added so far.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Adds a line, without its line break. After an error the batch must not be committed.
    pub fn line(&mut self, batch: &mut Batch, line: &[u8]) -> Result<(), Error> {
        check(self.index, line)?;
        self.index += 1;
        if let Some(last) = self.last.take() {
            self.open = Open { items: last.items, lines: batch.store.chunk(&self.session, &last)? };
        }
        if self.open.items > 0 && self.open.lines.len() + line.len() + 1 > CHUNK_BYTES {
            self.chunks.push(batch.write_chunk(&self.folder, std::mem::take(&mut self.open))?);
        }
        self.open.lines.extend_from_slice(line);
        self.open.lines.push(b'\n');
        self.open.items += 1;
        Ok(())
    }

    /// Passes everything the conversation contains so far to `take`, prior content first, in pieces of whole lines with
    /// their line breaks.
    pub fn each<E: From<Error>>(&self, batch: &Batch, mut take: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        for chunk in self.chunks.iter().chain(&self.last) {
            let path = self.folder.join(chunk.file_name());
            let pending = batch.pending.iter().find(|pending| pending.path == path);
            take(&unpacked(&self.session, pending.map_or(&path, |pending| &pending.temporary), chunk)?)?;
        }
        take(&self.open.lines)
    }

    /// Writes the manifest of the whole conversation and returns its id.
    pub fn finish(self, batch: &mut Batch, header: Header) -> Result<ManifestId, Error> {
        let Self { folder, mut chunks, last, open, .. } = self;
        chunks.extend(last);
        if open.items > 0 {
            chunks.push(batch.write_chunk(&folder, open)?);
        }
        let manifest = Manifest::new(header, chunks);
        let (id, bytes) = manifest.encode().map_err(|error| io_error("encode a manifest in", &folder)(error.into()))?;
        batch.write(&folder, &file_name(&id), &bytes)?;
        Ok(id)
    }
}

/// The chunk that is being filled.
#[derive(Default)]
struct Open {
    items: u64,
    lines: Vec<u8>,
}

fn check(index: usize, line: &[u8]) -> Result<(), Error> {
    let what = match line {
        [] => "it is empty",
        line if line.len() > LINE_MAX_BYTES => "it is too long",
        line if line.contains(&b'\n') => "it has a line break in it",
        _ => return Ok(()),
    };
    Err(Error::BadLine { index, what })
}
