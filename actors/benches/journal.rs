//! What the log costs: durable appends with few and many writers, and opening a log.
//!
//! Set `TMPDIR` to a folder on the disk in question: a sync in memory costs nothing.

use std::path::Path;
use std::sync::Arc;

use baton_actors::journal::{DiskJournal, Journal, Options};
use baton_events::envelope::NewRecord;
use baton_events::record::{CommandId, Metadata, Position, SequenceNumber, StreamId, Timestamp};
use divan::Bencher;
use divan::counter::ItemsCount;

/// Appends of each writer in one sample.
const APPENDS: u64 = 50;
/// Records of the log that is opened.
const RECORDS: u64 = 100_000;
/// Streams they belong to.
const STREAMS: u64 = 1_000;

fn main() {
    divan::main();
}

fn stream(number: u64) -> StreamId {
    StreamId::recorded(&format!("session:7acd37a8-2745-4b58-a8a9-{number:012}"))
}

/// An event as large as the usual one: about 450 bytes as a record.
fn event(number: u64) -> NewRecord {
    NewRecord {
        kind: "RecordsAppended".into(),
        v: 1,
        at: Timestamp(1_773_480_413_589),
        metadata: Metadata { correlation: Some(CommandId::new("0123456789abcdef")), cause: None },
        data: format!("{{\"generation\":1,\"from\":{number},\"to\":{},\"tail\":\"{:0>200}\"}}", number + 1, number),
    }
}

fn open(log: &Path) -> DiskJournal {
    DiskJournal::open(Options::new(log, Timestamp(0)), Box::new(())).expect("opens")
}

fn fill(log: &Path) {
    let journal = open(log);
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let per_stream = RECORDS / STREAMS;
        for number in 0..STREAMS {
            let batch = (0..per_stream).map(event).collect();
            journal.append(stream(number), SequenceNumber(0), batch).await.expect("appended");
        }
    });
    journal.close();
}

#[divan::bench(args = [1, 8, 64], sample_count = 20, sample_size = 1)]
fn durable_appends(bencher: Bencher<'_, '_>, writers: u64) {
    let home = tempfile::tempdir().expect("a folder");
    let journal: Arc<dyn Journal> = Arc::new(open(home.path()));
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

#[divan::bench(sample_count = 5, sample_size = 1)]
fn opening(bencher: Bencher<'_, '_>) {
    let home = tempfile::tempdir().expect("a folder");
    fill(home.path());
    bencher.counter(ItemsCount::new(RECORDS)).bench_local(|| open(home.path()).tail());
}

#[divan::bench(sample_count = 3, sample_size = 1)]
fn opening_without_an_index(bencher: Bencher<'_, '_>) {
    let home = tempfile::tempdir().expect("a folder");
    fill(home.path());
    bencher
        .with_inputs(|| std::fs::remove_dir_all(home.path().join("sled")))
        .counter(ItemsCount::new(RECORDS))
        .bench_local_refs(|_| open(home.path()).tail());
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn reading_all(bencher: Bencher<'_, '_>) {
    let home = tempfile::tempdir().expect("a folder");
    fill(home.path());
    let journal = open(home.path());
    bencher.counter(ItemsCount::new(RECORDS)).bench_local(|| {
        let mut next = Position(1);
        loop {
            let records = journal.read(next, 1000).expect("read");
            let Some(last) = records.last() else { break next };
            next = last.position.next();
        }
    });
}
