//! The contract of every journal as one suite of tests, run for each implementation.

use std::sync::{Arc, Mutex};

use baton_conversation::record::{CommandId, Metadata, Position, SequenceNumber, StreamId, Timestamp};
use baton_events::envelope;
use baton_events::envelope::{ChainHash, NewRecord, StoredRecord, Tail};

use super::{
    APPEND_MAX_BYTES, APPEND_MAX_RECORDS, AppendError, Appended, Exact, Fold, Journal, READ_MAX_BYTES,
    READ_MAX_RECORDS, RECORD_MAX_BYTES, ReadError, STREAM_MAX_BYTES,
};

/// A fold that remembers everything passed to it.
#[derive(Clone, Default)]
pub(super) struct Witness(Arc<Mutex<Seen>>);

#[derive(Clone, Default)]
pub(super) struct Seen {
    pub(super) applied: Vec<StoredRecord>,
    pub(super) published: Vec<Tail>,
}

impl Witness {
    pub(super) fn seen(&self) -> Seen {
        self.0.lock().unwrap().clone()
    }

    fn published(&self) -> Tail {
        self.0.lock().unwrap().published.last().copied().unwrap_or_default()
    }
}

impl Fold for Witness {
    fn apply(&mut self, record: &StoredRecord) {
        self.0.lock().unwrap().applied.push(record.clone());
    }

    fn publish(&mut self, tail: Tail) {
        let mut seen = self.0.lock().unwrap();
        assert_eq!(tail.position.0, seen.applied.len() as u64, "published what was applied");
        seen.published.push(tail);
    }
}

pub(super) fn stream(name: &str) -> StreamId {
    StreamId::recorded(&format!("session:{name}"))
}

pub(super) fn event(number: u64) -> NewRecord {
    NewRecord {
        kind: "Happened".into(),
        v: 1,
        at: Timestamp(1_700_000_000_000 + i64::try_from(number).unwrap()),
        metadata: Metadata { correlation: Some(CommandId::new("c")), cause: None },
        data: format!("{{\"n\":{number}}}"),
    }
}

pub(super) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Appends, and waits for the answer.
pub(super) fn append(
    journal: &dyn Journal,
    stream: &StreamId,
    expected: u64,
    batch: Vec<NewRecord>,
) -> Result<Appended, AppendError> {
    let ack = journal.append(stream.clone(), SequenceNumber(expected), batch);
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(ack)
}

/// Reads all records in pages of at most `step`.
pub(super) fn read_all(journal: &dyn Journal, step: usize) -> Vec<StoredRecord> {
    let mut all: Vec<StoredRecord> = Vec::new();
    loop {
        let part = journal.read(Position(all.len() as u64 + 1), step).unwrap();
        if part.is_empty() {
            return all;
        }
        assert!(part.len() <= step, "no more than was asked for");
        all.extend(part);
    }
}

/// Checks that records, tail and chain of a journal agree, and returns the records.
pub(super) fn check_whole(journal: &dyn Journal) -> Vec<StoredRecord> {
    let all = read_all(journal, 7);
    let mut chain = ChainHash::GENESIS;
    let mut heads = std::collections::BTreeMap::new();
    for (index, record) in all.iter().enumerate() {
        assert_eq!(record.position.0, index as u64 + 1, "positions follow each other");
        let head = heads.entry(record.stream.clone()).or_insert(0);
        *head += 1;
        assert_eq!(record.sequence.0, *head, "sequences of {} have no gaps", record.stream);
        chain = envelope::chain(chain, &envelope::encode(record).unwrap());
        let exact = journal.read_exact(record.position, 1).unwrap();
        let expected = Exact { position: record.position, bytes: envelope::encode(record).unwrap(), chain };
        assert_eq!(exact, [expected], "to the byte");
        assert_eq!(journal.chain_at(record.position).unwrap(), Some(chain));
    }
    assert_eq!(journal.tail(), Tail { position: Position(all.len() as u64), chain });
    assert_eq!(journal.stats().events, all.len() as u64);
    for stream in heads.keys() {
        let expected: Vec<_> = all.iter().filter(|record| record.stream == *stream).cloned().collect();
        let mut found: Vec<StoredRecord> = Vec::new();
        loop {
            let part = journal.read_stream(stream, SequenceNumber(found.len() as u64), usize::MAX).unwrap();
            if part.is_empty() {
                break;
            }
            found.extend(part);
        }
        assert_eq!(found, expected);
    }
    all
}

/// Runs the suite. `make` returns an empty journal that folds into its argument.
pub(super) fn suite(make: impl Fn(Box<dyn Fold>) -> Arc<dyn Journal>) {
    an_empty_journal_is_empty(&*make(Box::new(())));
    appends_find_their_place(&*make(Box::new(())));
    a_wrong_version_is_a_conflict_and_writes_nothing(&*make(Box::new(())));
    bad_appends_are_refused_and_write_nothing(&*make(Box::new(())));
    reads_begin_and_end_anywhere(&*make(Box::new(())));
    i12_a_read_holds_a_bounded_number_of_bytes(&*make(Box::new(())));
    stream_names_do_not_run_into_each_other(&*make(Box::new(())));
    a_checkpoint_is_judged_by_its_chain(&*make(Box::new(())));
    let witness = Witness::default();
    i7_an_ack_comes_after_the_fold_has_published(&*make(Box::new(witness.clone())), &witness);
    let witness = Witness::default();
    many_writers_lose_nothing(make(Box::new(witness.clone())), &witness);
    one_version_is_won_once(make(Box::new(())));
    a_forgotten_ack_is_still_an_append(&*make(Box::new(())));
    a_closed_journal_answers_so(&*make(Box::new(())));
    closing_answers_all_that_was_queued(make(Box::new(())));
}

fn an_empty_journal_is_empty(journal: &dyn Journal) {
    assert_eq!(journal.tail(), Tail::default());
    assert_eq!(journal.chain_at(Position(0)).unwrap(), Some(ChainHash::GENESIS));
    assert_eq!(journal.chain_at(Position(1)).unwrap(), None);
    assert_eq!(journal.read_stream(&stream("a"), SequenceNumber(0), 10).unwrap(), []);
    assert_eq!(check_whole(journal), []);
}

fn appends_find_their_place(journal: &dyn Journal) {
    let check = |name: &str, expected, count, (first, last, last_sequence)| {
        let answer = append(journal, &stream(name), expected, (0..count).map(event).collect());
        let (first, last, last_sequence) = (Position(first), Position(last), SequenceNumber(last_sequence));
        assert_eq!(answer, Ok(Appended { first, last, last_sequence }), "{name} at {expected}");
    };
    check("a", 0, 1, (1, 1, 1));
    check("a", 1, 3, (2, 4, 4));
    check("b", 0, 2, (5, 6, 2));
    check("a", 4, 1, (7, 7, 5));
    let all = check_whole(journal);
    assert_eq!(all[2].data, "{\"n\":1}");
    assert_eq!((all[2].kind.as_str(), all[2].v, all[2].at), ("Happened", 1, event(1).at));
    assert_eq!(all[2].metadata, event(1).metadata);
}

fn a_wrong_version_is_a_conflict_and_writes_nothing(journal: &dyn Journal) {
    append(journal, &stream("a"), 0, vec![event(1), event(2)]).unwrap();
    for wrong in [0, 1, 3, u64::MAX] {
        let answer = append(journal, &stream("a"), wrong, vec![event(9)]);
        assert_eq!(answer, Err(AppendError::Conflict { actual: SequenceNumber(2) }), "expected {wrong}");
    }
    let answer = append(journal, &stream("b"), 1, vec![event(9)]);
    assert_eq!(answer, Err(AppendError::Conflict { actual: SequenceNumber(0) }));
    assert_eq!(check_whole(journal).len(), 2);
    append(journal, &stream("a"), 2, vec![event(3)]).unwrap();
}

fn bad_appends_are_refused_and_write_nothing(journal: &dyn Journal) {
    let refuse = |stream: StreamId, batch: Vec<NewRecord>, expected: &str| {
        let error = append(journal, &stream, 0, batch).expect_err("refused").to_string();
        assert!(error.contains(expected), "{error:?} lacks {expected:?}");
    };
    let text = |length: usize| NewRecord { data: format!("\"{}\"", "x".repeat(length)), ..event(1) };
    refuse(stream("a"), vec![], "no records");
    refuse(stream("a"), vec![event(1), NewRecord { data: "{".into(), ..event(2) }], "not JSON");
    refuse(stream("a"), vec![event(1), text(RECORD_MAX_BYTES)], "a record in bytes");
    refuse(stream("a"), vec![text(RECORD_MAX_BYTES - 50)], "a record in bytes");
    refuse(stream(&"s".repeat(STREAM_MAX_BYTES)), vec![event(1)], "a stream's name");
    refuse(stream("a"), vec![event(1); APPEND_MAX_RECORDS + 1], "an append in records");
    refuse(
        stream("a"),
        vec![text(RECORD_MAX_BYTES / 2); APPEND_MAX_BYTES / RECORD_MAX_BYTES * 2 + 2],
        "an append in bytes",
    );
    assert_eq!(check_whole(journal), []);
    let largest = vec![text(RECORD_MAX_BYTES - 300)];
    append(journal, &stream("a"), 0, largest).unwrap();
    append(journal, &stream("a"), 1, vec![event(1); APPEND_MAX_RECORDS]).unwrap();
    assert_eq!(check_whole(journal).len(), APPEND_MAX_RECORDS + 1);
}

fn reads_begin_and_end_anywhere(journal: &dyn Journal) {
    for number in 0..10 {
        append(journal, &stream(["a", "b"][number as usize % 2]), number / 2, vec![event(number)]).unwrap();
    }
    let positions = |records: Vec<StoredRecord>| records.iter().map(|r| r.position.0).collect::<Vec<_>>();
    let check = |from, limit, expected: &[u64]| {
        assert_eq!(positions(journal.read(Position(from), limit).unwrap()), expected, "{limit} from {from}");
    };
    check(0, 3, &[1, 2, 3]);
    check(1, 3, &[1, 2, 3]);
    check(8, 100, &[8, 9, 10]);
    check(10, usize::MAX, &[10]);
    check(11, 5, &[]);
    check(u64::MAX, 5, &[]);
    check(4, 0, &[]);
    let check = |name, after, limit, expected: &[u64]| {
        let records = journal.read_stream(&stream(name), SequenceNumber(after), limit).unwrap();
        assert_eq!(positions(records), expected, "{limit} of {name} after {after}");
    };
    check("a", 0, 2, &[1, 3]);
    check("b", 3, 9, &[8, 10]);
    check("b", 5, 9, &[]);
    check("b", u64::MAX, 9, &[]);
    check("c", 0, 9, &[]);
    check("a", 0, 0, &[]);
    for number in 0..20 {
        let expected = number * APPEND_MAX_RECORDS as u64;
        append(journal, &stream("many"), expected, vec![event(number); APPEND_MAX_RECORDS]).unwrap();
    }
    assert_eq!(journal.read(Position(1), usize::MAX).unwrap().len(), READ_MAX_RECORDS);
    let many = journal.read_stream(&stream("many"), SequenceNumber(0), usize::MAX).unwrap();
    assert_eq!(many.len(), READ_MAX_RECORDS);
}

fn i12_a_read_holds_a_bounded_number_of_bytes(journal: &dyn Journal) {
    let large = NewRecord { data: format!("\"{}\"", "x".repeat(RECORD_MAX_BYTES - 300)), ..event(1) };
    let enough = (READ_MAX_BYTES / RECORD_MAX_BYTES + 2) as u64;
    for number in 0..enough * 2 {
        append(journal, &stream("a"), number, vec![large.clone()]).unwrap();
    }
    let read = journal.read(Position(1), usize::MAX).unwrap().len() as u64;
    let of_stream = journal.read_stream(&stream("a"), SequenceNumber(0), usize::MAX).unwrap().len() as u64;
    assert_eq!(read, of_stream);
    assert!((enough - 2..enough).contains(&read), "{read} of {enough}");
    assert_eq!(check_whole(journal).len() as u64, enough * 2);
}

fn stream_names_do_not_run_into_each_other(journal: &dyn Journal) {
    let names = ["", "a", "ab", "a\0", "a\0\0\0\0\0\0\0\u{1}", "a:b", "ä", "\u{10ffff}"];
    for name in names {
        append(journal, &StreamId::recorded(name), 0, vec![event(1), event(2)]).unwrap();
    }
    assert_eq!(check_whole(journal).len(), 2 * names.len());
}

fn a_checkpoint_is_judged_by_its_chain(journal: &dyn Journal) {
    let mut tails = vec![journal.tail()];
    for number in 0..5 {
        append(journal, &stream("a"), number, vec![event(number)]).unwrap();
        tails.push(journal.tail());
    }
    for tail in &tails {
        assert_eq!(journal.chain_at(tail.position).unwrap(), Some(tail.chain));
    }
    assert_eq!(journal.chain_at(Position(6)).unwrap(), None);
    tails.sort_by_key(|tail| tail.chain);
    tails.dedup_by_key(|tail| tail.chain);
    assert_eq!(tails.len(), 6, "every position has a hash of its own");
}

fn i7_an_ack_comes_after_the_fold_has_published(journal: &dyn Journal, witness: &Witness) {
    assert_eq!(witness.seen().published, [Tail::default()], "once after opening");
    for number in 0..20 {
        let appended = append(journal, &stream("a"), number * 2, vec![event(number), event(number)]).unwrap();
        assert_eq!(witness.published().position, appended.last);
        assert_eq!(journal.tail(), witness.published());
        assert_eq!(journal.read(appended.last, 1).unwrap().len(), 1, "readable when acknowledged");
    }
    assert_eq!(witness.seen().applied, check_whole(journal), "every record once, in order");
}

fn many_writers_lose_nothing(journal: Arc<dyn Journal>, witness: &Witness) {
    const WRITERS: u64 = 16;
    const APPENDS: u64 = 25;
    runtime().block_on(async {
        let writers = (0..WRITERS).map(|writer| {
            let (journal, witness) = (Arc::clone(&journal), witness.clone());
            baton_base::task::spawn(async move {
                for number in 0..APPENDS {
                    let batch = vec![event(number * 2), event(number * 2 + 1)];
                    let ack = journal.append(stream(&format!("w{writer}")), SequenceNumber(number * 2), batch);
                    let appended = ack.await.unwrap();
                    assert_eq!(appended.last.0, appended.first.0 + 1, "side by side");
                    assert!(witness.published().position >= appended.last);
                    assert!(journal.tail().position >= appended.last);
                }
            })
        });
        for writer in writers.collect::<Vec<_>>() {
            writer.await.unwrap();
        }
    });
    let all = check_whole(&*journal);
    assert_eq!(all.len() as u64, WRITERS * APPENDS * 2);
    assert_eq!(witness.seen().applied, all);
    for pair in all.chunks(2) {
        assert_eq!(pair[0].stream, pair[1].stream, "nothing comes between the records of one append");
    }
}

fn one_version_is_won_once(journal: Arc<dyn Journal>) {
    let answers = runtime().block_on(async {
        let rivals = (0..16).map(|rival| {
            let journal = Arc::clone(&journal);
            baton_base::task::spawn(
                async move { journal.append(stream("a"), SequenceNumber(0), vec![event(rival)]).await },
            )
        });
        let mut answers = Vec::new();
        for rival in rivals.collect::<Vec<_>>() {
            answers.push(rival.await.unwrap());
        }
        answers
    });
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1);
    let conflict = Err(AppendError::Conflict { actual: SequenceNumber(1) });
    assert_eq!(answers.iter().filter(|answer| **answer == conflict).count(), 15);
    assert_eq!(check_whole(&*journal).len(), 1);
}

fn a_forgotten_ack_is_still_an_append(journal: &dyn Journal) {
    drop(journal.append(stream("a"), SequenceNumber(0), vec![event(1)]));
    append(journal, &stream("a"), 1, vec![event(2)]).unwrap();
    assert_eq!(check_whole(journal).len(), 2);
}

fn a_closed_journal_answers_so(journal: &dyn Journal) {
    append(journal, &stream("a"), 0, vec![event(1)]).unwrap();
    let tail = journal.tail();
    journal.close();
    journal.close();
    assert_eq!(append(journal, &stream("a"), 1, vec![event(2)]), Err(AppendError::Closed));
    assert!(matches!(journal.read(Position(1), 1), Err(ReadError::Closed)));
    assert!(matches!(journal.read_stream(&stream("a"), SequenceNumber(0), 1), Err(ReadError::Closed)));
    assert!(matches!(journal.chain_at(Position(1)), Err(ReadError::Closed)));
    assert_eq!(journal.tail(), tail);
}

fn closing_answers_all_that_was_queued(journal: Arc<dyn Journal>) {
    let acks: Vec<_> =
        (0..50).map(|number| journal.append(stream("a"), SequenceNumber(number), vec![event(number)])).collect();
    journal.close();
    let stored = runtime().block_on(async {
        let mut stored = 0;
        for ack in acks {
            stored += u64::from(ack.await.is_ok());
        }
        stored
    });
    assert_eq!(stored, 50, "what was queued before the close is written");
    assert_eq!(journal.tail().position, Position(50));
}

#[test]
fn the_journal_in_memory_keeps_the_contract() {
    suite(|fold| Arc::new(super::MemoryJournal::new(fold)));
}
