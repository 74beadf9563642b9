//! Disk usage of a home by purpose, and how much of it is needed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use baton_events::memo;
use baton_events::projection::table::{Row, SessionTable};
use baton_protocol::answer::{Part, Storage};

use baton_journal::Journal;
use baton_journal::index_rewrite::folder_bytes;
use baton_journal::session_table::TableReader;
use baton_store::chunks::ChunkStore;
use baton_tracking::indexer;

/// A measurement stays valid for this long: adding up the files of ten thousand sessions takes tens of milliseconds.
const FRESH: Duration = Duration::from_secs(10);

/// Measures a home, and caches the last measurement; at most one runs at a time.
pub struct DiskUsage {
    home: PathBuf,
    journal: Arc<dyn Journal>,
    table: TableReader,
    chunks: Arc<ChunkStore>,
    indexer: indexer::Handle,
    cached: Mutex<Cached>,
}

#[derive(Debug, Default)]
struct Cached {
    last: Option<(Instant, Storage)>,
    under_way: bool,
}

impl DiskUsage {
    /// `table` names the conversations in `chunks` that are current.
    pub fn new(
        home: &Path,
        journal: Arc<dyn Journal>,
        table: TableReader,
        chunks: Arc<ChunkStore>,
        indexer: indexer::Handle,
    ) -> Self {
        Self { home: home.to_owned(), journal, table, chunks, indexer, cached: Mutex::default() }
    }

    /// Disk usage as of the last few seconds. If measuring takes longer than `patience`, returns the previous result,
    /// or `None` if there is none; the measurement continues in the background.
    pub async fn measure_cached(self: &Arc<Self>, patience: Duration) -> Option<Storage> {
        let (last, begin) = {
            let mut cached = self.cached();
            let last = cached.last;
            let begin = !cached.under_way && last.is_none_or(|(at, _)| at.elapsed() >= FRESH);
            cached.under_way |= begin;
            (last.map(|(_, storage)| storage), begin)
        };
        if !begin {
            return last;
        }
        let usage = self.clone();
        let weighing = baton_base::task::spawn_blocking(move || {
            // Allows the next measurement, however this one ends.
            let _ended = MeasurementEnd(usage.clone());
            let storage = usage.measure();
            usage.cached().last = Some((Instant::now(), storage));
            storage
        });
        tokio::time::timeout(patience, weighing).await.ok().and_then(Result::ok).or(last)
    }

    /// Invalidates the cached measurement.
    pub fn invalidate(&self) {
        self.cached().last = None;
    }

    /// Measures everything. Blocks: reads the manifest of each current conversation.
    pub fn measure(&self) -> Storage {
        let log = self.home.join("log");
        let table = self.table.now();
        let segments = folder_bytes(&log.join("segments"));
        let memory = folder_bytes(&self.home.join("memory"));
        let live = self.indexer.searcher().ok().map(|searcher| memory * searcher.live_permille() / 1000);
        Storage {
            segments: Part { bytes: segments, live_bytes: Some(segments) },
            sled: self.measure_index(),
            chunks: Part {
                bytes: folder_bytes(&self.home.join("blobs")),
                live_bytes: Some(conversations(&table, &self.chunks)),
            },
            memory: Part { bytes: memory, live_bytes: live },
            aside: Part { bytes: set_aside_bytes(&log), live_bytes: None },
        }
    }

    /// Size and content of the log's index.
    pub(crate) fn measure_index(&self) -> Part {
        Part { bytes: folder_bytes(&self.home.join("log/sled")), live_bytes: self.journal.stats().index_live_bytes }
    }

    fn cached(&self) -> std::sync::MutexGuard<'_, Cached> {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct MeasurementEnd(Arc<DiskUsage>);

impl Drop for MeasurementEnd {
    fn drop(&mut self) {
        self.0.cached().under_way = false;
    }
}

/// Bytes of the files that current conversations name, including notes and memos.
fn conversations(table: &SessionTable, chunks: &ChunkStore) -> u64 {
    let size = |path: &PathBuf| path.metadata().map_or(0, |metadata| metadata.len());
    let of = |session, manifest| -> u64 {
        let files: BTreeSet<_> = chunks.files_of(session, manifest).unwrap_or_default().into_iter().collect();
        files.iter().map(size).sum::<u64>()
    };
    let conversations: u64 =
        table.iter().filter_map(|(session, row)| Some(of(session, &row.state.episode.as_ref()?.manifest))).sum();
    let of_people = |row: &Row| [row.state.close_note, row.state.corrections.title];
    let note = |session, row: &Row| {
        of_people(row).into_iter().flatten().map(|note| size(&chunks.note_path(session, &note))).sum::<u64>()
    };
    let notes: u64 = table.iter().map(|(session, row)| note(session, row)).sum();
    let answer = |session, row: &Row| Some(size(&chunks.note_path(session, &row.state.enriched_by()?.answer)));
    let answers: u64 = table.iter().filter_map(|(session, row)| answer(session, row)).sum();
    let words: u64 = table
        .memos()
        .filter_map(|(uuid, row)| Some(size(&chunks.note_path(&memo::key(uuid), &row.state.memo.as_ref()?.words))))
        .sum();
    conversations + notes + answers + words
}

/// Bytes in the folder of a log that no longer belong to it.
fn set_aside_bytes(log: &Path) -> u64 {
    let entries = std::fs::read_dir(log).into_iter().flatten().flatten();
    let is_aside = |entry: &std::fs::DirEntry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with("cut-") || name.starts_with("sled.broken-")
    };
    entries.filter(is_aside).map(|entry| folder_bytes(&entry.path())).sum()
}
