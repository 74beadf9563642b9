//! Costs of the log: durable appends with few and many writers, opening and reading.
//!
//! Set `TMPDIR` to a folder on the disk to be measured: a sync in memory costs nothing.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use baton_conversation::record::{CommandId, Metadata, Position, SequenceNumber, StreamId, Timestamp};
use baton_events::envelope::NewRecord;
use baton_journal::session_table::TableFold;
use baton_journal::{DiskJournal, Fold, Journal, Options};
use divan::Bencher;
use divan::counter::ItemsCount;

/// Appends of each writer in one sample.
const APPENDS: u64 = 50;
/// Events of each session of a log that is opened.
const EVENTS: u64 = 100;
/// Events of one append of those.
const TOGETHER: u64 = 4;

/// Types and data of the events that a session records, in turn.
const RECORDED: [(&str, &str); 5] = [
    ("records_appended", include_str!("../../../replay-fixtures/schema/records_appended.v1.json")),
    ("went_idle", "{}"),
    ("indexing_started", include_str!("../../../replay-fixtures/schema/indexing_started.v1.json")),
    ("indexed", include_str!("../../../replay-fixtures/schema/indexed.v1.json")),
    ("resumed", "{}"),
];

fn main() {
    divan::main();
}

fn stream(number: u64) -> StreamId {
    StreamId::recorded(&format!("session:7acd37a8-2745-4b58-a8a9-{number:012}"))
}

/// Event `number` of a session.
fn event(number: u64) -> NewRecord {
    let (kind, data) = match number {
        0 => ("discovered", include_str!("../../../replay-fixtures/schema/discovered.v1.json")),
        _ => RECORDED[number as usize % RECORDED.len()],
    };
    NewRecord {
        kind: kind.into(),
        v: 1,
        at: Timestamp(1_773_480_413_589),
        metadata: Metadata {
            correlation: Some(CommandId::new(&format!("{:016x}", number * 0x9e37_79b9))),
            cause: None,
        },
        // Stored data has one line.
        data: data.lines().map(str::trim).collect(),
    }
}

fn table() -> Box<dyn Fold> {
    Box::new(TableFold::new().0)
}

fn open(log: &Path, fold: Box<dyn Fold>) -> DiskJournal {
    let options = Options { seal: false, ..Options::new(log, Timestamp(0)) };
    DiskJournal::open(options, fold).expect("opens")
}

/// Fills a log with `events` events, [`EVENTS`] per session, interleaved as if 250 sessions were active at a time.
fn fill(log: &Path, events: u64) {
    let (fold, table) = TableFold::new();
    let journal = DiskJournal::open(Options::new(log, Timestamp(0)), Box::new(fold)).expect("opens");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let sessions: Vec<u64> = (0..events / EVENTS).collect();
    runtime.block_on(async {
        for at_work in sessions.chunks(250) {
            for from in (0..EVENTS).step_by(usize::try_from(TOGETHER).expect("small")) {
                let acks: Vec<_> = at_work
                    .iter()
                    .map(|session| {
                        let batch = (from..from + TOGETHER).map(event).collect();
                        journal.append(stream(*session), SequenceNumber(from), batch)
                    })
                    .collect();
                for ack in acks {
                    ack.await.expect("appended");
                }
            }
        }
    });
    assert_eq!(journal.tail().position, Position(events));
    assert_eq!((table.now().len() as u64, table.now().skipped()), (events / EVENTS, 0), "real events");
    journal.close();
}

#[divan::bench(args = [1, 8, 64], sample_count = 20, sample_size = 1)]
fn durable_appends(bencher: Bencher<'_, '_>, writers: u64) {
    let home = tempfile::tempdir().expect("a folder");
    let journal: Arc<dyn Journal> = Arc::new(open(home.path(), Box::new(())));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().expect("a runtime");
    let mut round = 0;
    bencher.counter(ItemsCount::new(writers * APPENDS)).bench_local(|| {
        round += 1;
        let from = round * writers;
        let writers: Vec<_> = (from..from + writers)
            .map(|writer| {
                let journal = Arc::clone(&journal);
                runtime.spawn(async move {
                    for number in 0..APPENDS {
                        let ack = journal.append(stream(writer), SequenceNumber(number), vec![event(number)]);
                        ack.await.expect("appended");
                    }
                })
            })
            .collect();
        for writer in writers {
            runtime.block_on(writer).expect("written");
        }
    });
}

/// After a close: records before the checkpoint are neither read nor folded.
#[divan::bench(args = [100_000, 1_000_000], sample_count = 5, sample_size = 1)]
fn opening(bencher: Bencher<'_, '_>, events: u64) {
    let home = tempfile::tempdir().expect("a folder");
    fill(home.path(), events);
    bencher.counter(ItemsCount::new(events)).bench_local(|| {
        let journal = open(home.path(), table());
        assert!(journal.recovery().checkpoint.is_some());
        journal.tail()
    });
}

/// Every record is read, verified and folded, as when there is no usable checkpoint.
#[divan::bench(args = [100_000, 1_000_000], sample_count = 3, sample_size = 1)]
fn opening_in_full(bencher: Bencher<'_, '_>, events: u64) {
    let home = tempfile::tempdir().expect("a folder");
    fill(home.path(), events);
    bencher.counter(ItemsCount::new(events)).bench_local(|| open(home.path(), Box::new(())).tail());
}

/// The same, and the index is rebuilt from the segments.
#[divan::bench(args = [100_000, 1_000_000], sample_count = 2, sample_size = 1)]
fn opening_without_an_index(bencher: Bencher<'_, '_>, events: u64) {
    let home = tempfile::tempdir().expect("a folder");
    fill(home.path(), events);
    bencher
        .with_inputs(|| fs::remove_dir_all(home.path().join("sled")))
        .counter(ItemsCount::new(events))
        .bench_local_refs(|_| open(home.path(), table()).tail());
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn reading_all(bencher: Bencher<'_, '_>) {
    let home = tempfile::tempdir().expect("a folder");
    fill(home.path(), 100_000);
    let journal = open(home.path(), table());
    bencher.counter(ItemsCount::new(100_000_u64)).bench_local(|| {
        let mut next = Position(1);
        loop {
            let records = journal.read(next, 1000).expect("read");
            let Some(last) = records.last() else { break next };
            next = last.position.next();
        }
    });
}
