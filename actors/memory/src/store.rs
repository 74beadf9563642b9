//! The writing side of the memory: one owner, one transaction at a time.
//!
//! # Hazards
//!
//! - A new tantivy writer gives its first operation the number of the last commit, and a merge treats that number as
//!   committed. If segments of earlier writers are still to be merged, the first deletion could be left out in some of
//!   them, so `Store` skips the first number. Each new writer also checks that the last commit on disk is the one that
//!   `Store` knows: a commit reported as failed may have reached the disk.
//! - tantivy writes `<segment>.<number>.del` before `meta.json` and refuses to overwrite one: the next writer removes
//!   those that an interrupted commit left behind.

mod adding;
mod checkpoint;
mod directory;
mod durability;
mod listing;
mod merging;
mod purge;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, RwLock};
use std::{fs, io};

use baton_conversation::record::SessionId;
use tantivy::index::{Index, IndexSettings, SegmentComponent};
use tantivy::indexer::{IndexWriter, IndexWriterOptions, UserOperation};
use tantivy::store::{Compressor, ZstdCompressor};
use tantivy::{FutureResult, IndexReader, ReloadPolicy, SegmentMeta, TantivyDocument, Term};

pub use self::checkpoint::Checkpoint;
use self::directory::UnsyncedDirectory;
use self::merging::InUse;
use super::document::{self, Drafter};
use super::limits::{CHECKED_BYTES, STORE_CACHE_BLOCKS, WRITE_BATCH_DOCS, WRITER_HEAP_BYTES};
use super::queue::{Queue, Queued};
use super::schema::{self, Fields};
use super::searcher::Published;
use super::snapshot::{GroupAndProject, Head, Snapshot};
use super::{Entry, Error, PROJECTION_VERSION, Searcher, graph, outcomes};
use baton_base::io_remedy::IoCause;

/// A memory that was opened.
pub struct Opened {
    /// The writing side.
    pub store: Store,
    /// The last commit's checkpoint; `None` for a memory that is to be filled from the start.
    pub checkpoint: Option<Checkpoint>,
    /// Why an existing memory was deleted; `None` if it was used, or there was none.
    pub wiped: Option<String>,
}

/// The writing side of the memory. Changes become searchable all at once on [`commit`](Self::commit).
///
/// After an error from `put`, `remove` or `commit` everything since the last commit is lost, and the owner applies it
/// again from the last checkpoint.
pub struct Store {
    dir: PathBuf,
    index: Index,
    fields: Fields,
    reader: IndexReader,
    writer: Option<IndexWriter<Queued>>,
    /// A merge that [`settle`](Self::settle) has started.
    merge: Option<FutureResult<Option<SegmentMeta>>>,
    /// True during a backfill; shared with the merge policy.
    is_filling: Arc<AtomicBool>,
    queue: Queue,
    drafter: Drafter,
    published: Published,
    /// Sessions changed since the last commit, with their new heads; `None` if removed. Small.
    pending: BTreeMap<Box<str>, Option<Head>>,
    dirty: bool,
    committed: Option<Checkpoint>,
    /// tantivy's number of the last commit; checkpoints may repeat.
    stamp: u64,
    /// True if searchers see the last commit.
    is_published: bool,
}

impl Store {
    /// Opens the memory in `dir`, which is created if needed and belongs to the memory alone. If its contents have
    /// another projection version, cannot be parsed or fail their checksums, they are deleted and [`Opened::wiped`]
    /// gives the reason.
    ///
    /// # Errors
    ///
    /// When the directory cannot be created, emptied or written, or when the system denies reading it; then nothing is
    /// deleted.
    pub fn open(dir: &Path) -> Result<Opened, Error> {
        Self::open_version(dir, PROJECTION_VERSION)
    }

    pub(super) fn open_version(dir: &Path, version: u32) -> Result<Opened, Error> {
        fs::create_dir_all(dir)?;
        let wiped = if fs::read_dir(dir)?.next().is_none() {
            None
        } else {
            match catch_panic(|| Self::reopen(dir, version)) {
                Ok(store) => return Ok(Opened { checkpoint: store.committed, store, wiped: None }),
                Err(error) if IoCause::in_message(&error.to_string()) != IoCause::Other => return Err(error),
                Err(error) => Some(error.to_string()),
            }
        };
        Ok(Opened { store: Self::create(dir)?, checkpoint: None, wiped })
    }

    /// Deletes all files of the memory and starts an empty one. Running queries continue on their snapshot.
    ///
    /// # Errors
    ///
    /// When the directory cannot be emptied or written.
    pub fn begin_anew(&mut self) -> Result<(), Error> {
        self.merge = None;
        self.writer = None;
        let created = Self { is_filling: self.is_filling.clone(), ..Self::create(&self.dir)? };
        let published = Arc::clone(&self.published);
        *published.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = created.snapshot();
        *self = Self { published, ..created };
        Ok(())
    }

    /// Deletes everything in `dir` and creates an empty memory there.
    fn create(dir: &Path) -> Result<Self, Error> {
        delete_contents(dir)?;
        let (schema, _) = schema::build();
        let settings = IndexSettings {
            docstore_compression: Compressor::Zstd(ZstdCompressor::default()),
            docstore_compress_dedicated_thread: false,
            ..IndexSettings::default()
        };
        durability::mark_opened(dir)?;
        let index = Index::create(UnsyncedDirectory::open(dir)?, schema, settings)?;
        Self::from_index(dir, index, None)
    }

    /// Opens the memory in `dir` if it is intact and of this version.
    fn reopen(dir: &Path, version: u32) -> Result<Self, Error> {
        // Before tantivy opens any of the files.
        let bytes = total_size(dir)?;
        let is_intact = durability::is_intact(dir);
        let index = Index::open(UnsyncedDirectory::open(dir)?)?;
        if index.schema() != schema::build().0 {
            return Err(Error::Broken("its fields are of another version".to_owned()));
        }
        let checkpoint = match index.load_metas()?.payload {
            Some(payload) => Some(Checkpoint::decode(&payload, version)?),
            None => None,
        };
        if bytes <= CHECKED_BYTES || !is_intact {
            durability::check(&index)?;
        }
        durability::mark_opened(dir)?;
        let store = Self::from_index(dir, index, checkpoint)?;
        if checkpoint.is_none() && store.snapshot().searcher.num_docs() > 0 {
            return Err(Error::Broken("it has no checkpoint".to_owned()));
        }
        if !is_intact {
            store.strays()?.iter().try_for_each(fs::remove_file)?;
        }
        Ok(store)
    }

    fn from_index(dir: &Path, index: Index, committed: Option<Checkpoint>) -> Result<Self, Error> {
        schema::register(&index);
        let fields = schema::build().1;
        let stamp = index.load_metas()?.opstamp;
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual);
        let reader = reader.doc_store_cache_num_blocks(STORE_CACHE_BLOCKS).try_into()?;
        let snapshot = Snapshot::open(reader.searcher(), fields, None)?;
        Ok(Self {
            dir: dir.to_owned(),
            index,
            fields,
            reader,
            writer: None,
            merge: None,
            is_filling: Arc::default(),
            queue: Queue::default(),
            drafter: Drafter::default(),
            published: Arc::new(RwLock::new(Arc::new(snapshot))),
            pending: BTreeMap::new(),
            dirty: false,
            committed,
            stamp,
            is_published: true,
        })
    }

    /// A handle for queries, which always search the newest commit.
    pub fn searcher(&self) -> Searcher {
        Searcher::new(Arc::clone(&self.published))
    }

    /// Checkpoint of the last commit; `None` before the first one and after [`clear`](Self::clear).
    pub fn checkpoint(&self) -> Option<Checkpoint> {
        self.committed
    }

    /// True if anything was put or removed since the last commit.
    pub fn is_dirty(&self) -> bool {
        self.dirty
    }

    /// True if the memory holds a session, or will after the next commit.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn holds(&self, session: &SessionId) -> Result<bool, Error> {
        Ok(self.head(session.as_str())?.is_some())
    }

    /// Replaces what the memory holds of a session. Idempotent.
    ///
    /// # Errors
    ///
    /// When the index cannot be read or written.
    pub fn put(&mut self, entry: &Entry<'_>) -> Result<(), Error> {
        let result = self.try_put(entry);
        self.keep_or_abandon(result)
    }

    fn try_put(&mut self, entry: &Entry<'_>) -> Result<(), Error> {
        let session = entry.session.as_str();
        let origin = entry.origin();
        let place = document::place(&origin);
        let new = Head {
            generation: u64::from(entry.generation),
            units: entry.units.count(),
            place: GroupAndProject::parse(&place),
        };
        let old = self.head(session)?;
        let from = kept_units(old.as_ref(), &new, entry.changed_from);
        let fields = self.fields;
        let writer = self.writer()?;
        match &old {
            Some(_) if from > 0 => {
                writer.delete_query(document::turns(&fields, session, from..))?;
                writer.delete_term(Term::from_field_text(fields.episode_of, session));
                writer.delete_term(Term::from_field_text(fields.graph_of, session));
            }
            Some(_) => {
                writer.delete_term(Term::from_field_text(fields.session, session));
            }
            None => {}
        }
        self.dirty = true;
        let Some(writer) = &self.writer else { return Err(Error::Broken("no writer".to_owned())) };
        let (drafter, queue) = (&mut self.drafter, &self.queue);
        let mut batch = Vec::with_capacity(WRITE_BATCH_DOCS.min(entry.units.count() + 1));
        let add = |document, batch: &mut Vec<_>| {
            batch.push(document);
            if batch.len() == WRITE_BATCH_DOCS { write(writer, queue, std::mem::take(batch)) } else { Ok(()) }
        };
        drafter.begin(entry);
        entry.units.each(&mut |unit| {
            let document = drafter.unit(&fields, &origin, &place, unit, from);
            document.map_or(Ok(()), |document| add(document, &mut batch))
        })?;
        batch.push(drafter.session(&fields, entry, &place));
        batch.extend(graph::documents(drafter, &fields, entry, &place));
        batch.extend(outcomes::document(drafter, &fields, entry, &place));
        write(writer, &self.queue, batch)?;
        self.pending.insert(session.into(), Some(new));
        Ok(())
    }

    /// Removes everything of a session; does nothing if there is none.
    ///
    /// # Errors
    ///
    /// When the index cannot be read or written.
    pub fn remove(&mut self, session: &SessionId) -> Result<(), Error> {
        let result = self.try_remove(session.as_str());
        self.keep_or_abandon(result)
    }

    fn try_remove(&mut self, session: &str) -> Result<(), Error> {
        if self.head(session)?.is_none() {
            return Ok(());
        }
        let term = Term::from_field_text(self.fields.session, session);
        self.writer()?.delete_term(term);
        self.pending.insert(session.into(), None);
        self.dirty = true;
        Ok(())
    }

    /// Makes everything since the last commit durable and searchable, together with the checkpoint. A query that starts
    /// after this returns sees it. Costs some milliseconds even if nothing changed.
    ///
    /// # Errors
    ///
    /// When the index cannot be written.
    pub fn commit(&mut self, checkpoint: Checkpoint) -> Result<(), Error> {
        let result = self.try_commit(checkpoint);
        self.keep_or_abandon(result)
    }

    fn try_commit(&mut self, checkpoint: Checkpoint) -> Result<(), Error> {
        let mut prepared = self.writer()?.prepare_commit()?;
        prepared.set_payload(&checkpoint.encode(PROJECTION_VERSION));
        self.stamp = prepared.commit()?;
        self.committed = Some(checkpoint);
        self.pending.clear();
        self.dirty = false;
        self.publish()
    }

    /// Empties the memory durably and at once; afterwards it has no checkpoint.
    ///
    /// # Errors
    ///
    /// When the index cannot be written.
    pub fn clear(&mut self) -> Result<(), Error> {
        let result = self.try_clear();
        self.keep_or_abandon(result)
    }

    fn try_clear(&mut self) -> Result<(), Error> {
        let writer = self.writer()?;
        writer.rollback()?;
        writer.delete_all_documents()?;
        self.stamp = writer.commit()?;
        self.committed = None;
        self.pending.clear();
        self.dirty = false;
        self.publish()
    }

    /// Head of a session as of the next commit.
    fn head(&self, session: &str) -> Result<Option<Head>, Error> {
        match self.pending.get(session) {
            Some(head) => Ok(head.clone()),
            None => self.snapshot().head(session),
        }
    }

    fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.published.read().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }

    /// Makes the newest commit visible to searchers.
    fn publish(&mut self) -> Result<(), Error> {
        self.is_published = false;
        self.reader.reload()?;
        let snapshot = Snapshot::open(self.reader.searcher(), self.fields, Some(&self.snapshot()))?;
        *self.published.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = Arc::new(snapshot);
        self.is_published = true;
        Ok(())
    }

    fn writer(&mut self) -> Result<&mut IndexWriter<Queued>, Error> {
        let writer = match self.writer.take() {
            Some(writer) => writer,
            None => {
                let writer = self.new_writer()?;
                self.check_last_commit()?;
                writer
            }
        };
        Ok(self.writer.insert(writer))
    }

    /// Checks that the index on disk is the one we know, now that we hold the write lock. A commit reported as failed
    /// may have reached the disk, and so may the last one of an abandoned thread; applying events from an older
    /// checkpoint would then add documents twice.
    ///
    /// # Errors
    ///
    /// When the index was committed further; `committed` then has the new checkpoint.
    fn check_last_commit(&mut self) -> Result<(), Error> {
        let metas = self.index.load_metas()?;
        if metas.opstamp == self.stamp && self.is_published {
            return Ok(());
        }
        self.committed = metas.payload.map(|payload| Checkpoint::decode(&payload, PROJECTION_VERSION)).transpose()?;
        self.stamp = metas.opstamp;
        self.publish()?;
        Err(Error::Broken("it was committed further than this process knows".to_owned()))
    }

    fn new_writer(&self) -> Result<IndexWriter<Queued>, Error> {
        let options = IndexWriterOptions::builder()
            .memory_budget_per_thread(WRITER_HEAP_BYTES)
            .num_worker_threads(1)
            .num_merge_threads(1)
            .build();
        let writer: IndexWriter<Queued> = self.index.writer_with_options(options)?;
        // From here on this thread holds the index's write lock.
        self.remove_unfinished_deletions()?;
        writer.set_merge_policy(Box::new(InUse { is_filling: self.is_filling.clone() }));
        // A merge treats the first number as committed and may leave out a deletion that has it (see Hazards), so
        // nothing is done with it.
        writer.run(std::iter::empty::<UserOperation<Queued>>())?;
        Ok(writer)
    }

    /// Removes deletion files (`<segment>.<number>.del`) that `meta.json` does not name. A commit writes them before
    /// `meta.json`; if it is interrupted in between, the next commit gets the same number, and tantivy refuses to
    /// overwrite the file. The caller holds the index's write lock.
    fn remove_unfinished_deletions(&self) -> Result<(), Error> {
        let segments = self.index.load_metas()?.segments;
        let deletions = segments.iter().filter(|segment| segment.has_deletes());
        let named: BTreeSet<PathBuf> =
            deletions.map(|segment| segment.relative_path(SegmentComponent::Delete)).collect();
        for entry in fs::read_dir(&self.dir)? {
            let path = entry?.path();
            let is_named = path.file_name().is_some_and(|name| named.contains(Path::new(name)));
            if path.extension().is_some_and(|extension| extension == "del") && !is_named {
                // If this fails and the commit needs this file name, the commit reports it.
                if let Err(error) = fs::remove_file(&path) {
                    tracing::debug!(file = %path.display(), %error, "deletion file not removed");
                } else {
                    tracing::info!(file = %path.display(), reason = "unfinished commit", "deletion file removed");
                }
            }
        }
        Ok(())
    }

    /// After an error the writer may have died with uncommitted documents, so everything uncommitted is dropped.
    fn keep_or_abandon(&mut self, result: Result<(), Error>) -> Result<(), Error> {
        if result.is_err() {
            self.merge = None;
            self.writer = None;
            self.pending.clear();
            self.dirty = false;
        }
        result
    }
}

/// Hands documents to the writer, waiting for room in the queue.
fn write(writer: &IndexWriter<Queued>, queue: &Queue, documents: Vec<TantivyDocument>) -> Result<(), Error> {
    writer.run(queue.admit(documents)?.into_iter().map(UserOperation::Add))?;
    Ok(())
}

/// Number of units of the old entry that stay: 0 if it had another generation or place, or if either entry has fewer
/// units than `changed_from`.
fn kept_units(old: Option<&Head>, new: &Head, changed_from: usize) -> usize {
    match old {
        Some(old)
            if old.generation == new.generation
                && old.place == new.place
                && changed_from <= old.units
                && changed_from <= new.units =>
        {
            changed_from
        }
        _ => 0,
    }
}

/// Reading a damaged file may panic; that counts as an unreadable memory.
fn catch_panic<T>(open: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    panic::catch_unwind(AssertUnwindSafe(open)).unwrap_or_else(|_| Err(Error::Broken("reading it panicked".to_owned())))
}

/// Total size of the files in a directory. Refuses pipes and devices, since opening one may block forever.
fn total_size(dir: &Path) -> Result<u64, Error> {
    let mut bytes = 0;
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let found = fs::metadata(&path)?;
        if !found.is_file() && !found.is_dir() {
            return Err(Error::Broken(format!("{} is not a regular file", path.display())));
        }
        bytes += found.len();
    }
    Ok(bytes)
}

/// Deletes everything in a directory.
fn delete_contents(dir: &Path) -> io::Result<()> {
    let paths: Vec<PathBuf> =
        fs::read_dir(dir)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    for path in paths {
        if path.is_dir() {
            fs::remove_dir_all(path)?;
        } else {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
