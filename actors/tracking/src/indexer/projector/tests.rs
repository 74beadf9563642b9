//! The memory's thread, on a log that returns few events at a time.

mod append;
mod large;

use std::sync::Arc;
use std::time::Duration;

use baton_conversation::record::{Metadata, Position, SequenceNumber, StreamId, Timestamp};
use baton_events::envelope::{ChainHash, NewRecord, StoredRecord, Tail};
use tokio::sync::{oneshot, watch};

use super::{Port, Projector, Want};
use crate::indexer::{Handle, Options};
use baton_base::throttle::Throttle;
use baton_config::settings::Settings;
use baton_journal::session_table::TableFold;
use baton_journal::{Ack, Exact, Journal, MemoryJournal, ReadError, Stats};
use baton_store::chunks::ChunkStore;

const DEADLINE: Duration = Duration::from_secs(60);

/// A journal that returns one record per read, as its contract permits.
struct Sparing(MemoryJournal);

impl Journal for Sparing {
    fn append(&self, stream: StreamId, expected: SequenceNumber, batch: Vec<NewRecord>) -> Ack {
        self.0.append(stream, expected, batch)
    }

    fn read(&self, from: Position, limit: usize) -> Result<Vec<StoredRecord>, ReadError> {
        self.0.read(from, limit.min(1))
    }

    fn read_exact(&self, from: Position, limit: usize) -> Result<Vec<Exact>, ReadError> {
        self.0.read_exact(from, limit)
    }

    fn read_stream(
        &self,
        stream: &StreamId,
        after: SequenceNumber,
        limit: usize,
    ) -> Result<Vec<StoredRecord>, ReadError> {
        self.0.read_stream(stream, after, limit)
    }

    fn tail(&self) -> Tail {
        self.0.tail()
    }

    fn chain_at(&self, position: Position) -> Result<Option<ChainHash>, ReadError> {
        self.0.chain_at(position)
    }

    fn stats(&self) -> Stats {
        self.0.stats()
    }

    fn close(&self) {
        self.0.close();
    }
}

/// A memory that follows a log of `events` events without being nudged.
async fn untold(temp: &tempfile::TempDir, events: u64) -> Port {
    let (fold, table) = TableFold::new();
    let journal = Arc::new(Sparing(MemoryJournal::new(Box::new(fold))));
    for number in 0..events {
        let record = NewRecord {
            kind: "nothing".to_owned(),
            v: 1,
            at: Timestamp(0),
            metadata: Metadata::default(),
            data: "{}".to_owned(),
        };
        journal.append(StreamId::home(), SequenceNumber(number), vec![record]).await.unwrap();
    }
    let chunks = Arc::new(ChunkStore::open(temp.path().join("blobs")).unwrap());
    let handle = Handle::new(chunks.clone(), table.clone());
    let options = Options {
        journal,
        table,
        others: watch::channel(Default::default()).1.into(),
        settings: watch::channel(Arc::new(Settings::default())).1.into(),
        chunks,
        memory: temp.path().join("memory"),
        vectors: None,
        jobs_at_once: 1,
        throttle: Throttle::new(1),
        is_backfill: Arc::new(|| false),
    };
    let restorer = handle.restorer();
    Projector::start(options, Arc::default(), Arc::default(), Arc::default(), restorer, |_| {}, || {}).unwrap()
}

#[tokio::test]
async fn whoever_waits_is_answered_though_reads_stop_short_and_nobody_nudges() {
    let temp = tempfile::tempdir().unwrap();
    let port = untold(&temp, 70).await;
    let (reply, covered) = oneshot::channel();
    port.ensure(Position(70), Want::Whole, reply);
    assert_eq!(tokio::time::timeout(DEADLINE, covered).await, Ok(Ok(Position(70))));
    port.close().await;
}

#[tokio::test]
async fn a_purge_is_done_when_its_tombstones_are_taken_in_without_another_word() {
    let temp = tempfile::tempdir().unwrap();
    let port = untold(&temp, 70).await;
    let (reply, purged) = oneshot::channel();
    port.purge(Vec::new(), Position(70), reply);
    assert_eq!(tokio::time::timeout(DEADLINE, purged).await, Ok(Ok(Ok(()))));
    port.close().await;
}
