//! What an open folds with a checkpoint, and that it folds everything if the checkpoint is not usable.

use std::collections::BTreeMap;
use std::sync::Mutex;

use baton_conversation::record::StreamId;
use baton_events::envelope::{ChainHash, Tail};

use super::super::index::{Index, Row, row_key};
use super::super::{Fold, Rows, index};
use super::*;

/// Per stream the number of records, and an order-dependent hash, which shows a record left out or folded twice.
type View = BTreeMap<String, (u64, u64)>;

/// A fold with rows, which notes what it is asked to apply.
#[derive(Clone, Default)]
struct Counted(Arc<Mutex<State>>);

#[derive(Clone, Default)]
struct State {
    view: View,
    form: u32,
    /// Positions applied since this open.
    applied: Vec<u64>,
    position: u64,
    skipped: u64,
    published: Option<Tail>,
    /// True if it can read records that others cannot.
    newer: bool,
    /// True if its rows are longer than any that is kept.
    huge: bool,
}

impl Counted {
    fn of_form(form: u32) -> Self {
        Self(Arc::new(Mutex::new(State { form, ..State::default() })))
    }

    fn state(&self) -> State {
        self.0.lock().unwrap().clone()
    }
}

fn mix(hash: u64, record: &StoredRecord) -> u64 {
    let bytes = record.data.bytes().fold(record.sequence.0, |word, byte| word.wrapping_mul(31) ^ u64::from(byte));
    hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ bytes
}

impl Fold for Counted {
    fn apply(&mut self, record: &StoredRecord) {
        let mut state = self.0.lock().unwrap();
        state.applied.push(record.position.0);
        assert_eq!(record.position.0, state.position + 1, "applied in order");
        state.position = record.position.0;
        if record.data.contains("unreadable") && !state.newer {
            state.skipped += 1;
            return;
        }
        let row = state.view.entry(record.stream.as_str().to_owned()).or_default();
        if row.0 < record.sequence.0 {
            *row = (record.sequence.0, mix(row.1, record));
        }
    }

    fn publish(&mut self, tail: Tail) {
        let mut state = self.0.lock().unwrap();
        assert_eq!(state.position, tail.position.0, "published what was applied");
        state.published = Some(tail);
    }

    fn rows(&mut self) -> Option<&mut dyn Rows> {
        Some(self)
    }
}

impl Rows for Counted {
    fn form(&self) -> u32 {
        self.state().form
    }

    fn dictionary(&self) -> &'static str {
        "17 42"
    }

    fn row(&self, stream: &StreamId) -> Option<String> {
        let state = self.state();
        let room = if state.huge { " ".repeat(1024 * 1024) } else { String::new() };
        state.view.get(stream.as_str()).map(|(count, hash)| format!("{count} {hash}{room}"))
    }

    fn skipped(&self) -> u64 {
        self.state().skipped
    }

    fn restore(&mut self, stream: &StreamId, row: &str) -> bool {
        let parts = row.split_once(' ').and_then(|(count, hash)| Some((count.parse().ok()?, hash.parse().ok()?)));
        parts.map(|row| self.0.lock().unwrap().view.insert(stream.as_str().to_owned(), row)).is_some()
    }

    fn restored(&mut self, position: Position, skipped: u64) {
        let mut state = self.0.lock().unwrap();
        (state.position, state.skipped) = (position.0, skipped);
    }

    fn clear(&mut self) {
        let mut state = self.0.lock().unwrap();
        *state = State { form: state.form, newer: state.newer, huge: state.huge, ..State::default() };
    }
}

fn open_with(options: Options, fold: &Counted) -> DiskJournal {
    DiskJournal::open(options, Box::new(fold.clone())).unwrap()
}

/// The result of folding all records.
fn folded(all: &[StoredRecord]) -> (View, u64) {
    let mut fold = Counted::default();
    all.iter().for_each(|record| fold.apply(record));
    (fold.state().view, fold.state().skipped)
}

/// Checks that the log opens with the right view; `from` is the position of the checkpoint used, `None` if all is
/// folded.
fn check_view(log: &Path, form: u32, from: Option<u64>, case: &str) -> super::super::Recovery {
    let fold = Counted::of_form(form);
    let journal = open_with(small(log), &fold);
    let all = check_whole(&journal);
    let state = fold.state();
    assert_eq!((state.view, state.skipped), folded(&all), "{case}");
    assert_eq!(state.applied, (from.unwrap_or(0) + 1..=all.len() as u64).collect::<Vec<_>>(), "{case}: folded");
    assert_eq!(state.published, Some(journal.tail()), "{case}");
    let recovery = journal.recovery().clone();
    assert_eq!(recovery.checkpoint, from.map(Position), "{case}: {recovery:?}");
    assert_eq!(recovery.events, all.len() as u64, "{case}");
    // Every stream continues where it was.
    for (stream_name, (count, _)) in folded(&all).0 {
        let stream = StreamId::recorded(&stream_name);
        let wrong = append(&journal, &stream, count + 100, vec![event(1)]);
        let AppendError::Conflict { actual } = wrong.expect_err(case) else { panic!("{case}") };
        assert!(actual.0 >= count, "{case}: {stream} at {}", actual.0);
        append(&journal, &stream, actual.0, vec![event(1000)]).expect(case);
    }
    let state = fold.state();
    let all = check_whole(&journal);
    assert_eq!((state.view, state.skipped), folded(&all), "{case}: and goes on");
    journal.close();
    recovery
}

fn small(log: &Path) -> Options {
    Options { segment_bytes: 1500, seal: false, ..options(log) }
}

/// Writes a log of several segments and streams and closes it with a checkpoint.
fn closed(log: &Path) -> Vec<StoredRecord> {
    closed_with(log, &Counted::default(), None)
}

/// The same with a given fold, and with one record that only a newer fold can read.
fn closed_with(log: &Path, fold: &Counted, unreadable: Option<u64>) -> Vec<StoredRecord> {
    let journal = open_with(small(log), fold);
    for number in 0..40 {
        let mut new = event(number);
        if unreadable == Some(number) {
            new.data = "\"unreadable\"".into();
        }
        append(&journal, &stream(&format!("s{}", number % 3)), number / 3, vec![new]).unwrap();
    }
    assert!(journal.stats().segments > 4);
    let all = check_whole(&journal);
    journal.close();
    all
}

fn copy_of(log: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    copy_folder(log, copy.path());
    copy
}

/// Opens the index alone, to damage it.
fn with_index(log: &Path, spoil: impl FnOnce(&Index)) {
    let opened = index::open(log).unwrap();
    spoil(&opened.index);
    opened.index.flush().unwrap();
}

fn value(index: &Index, key: &[u8]) -> Vec<u8> {
    index.db().get(key).unwrap().unwrap().to_vec()
}

fn write_pair(index: &Index, key: &[u8], value: Vec<u8>) {
    index.db().insert(key, value).unwrap();
}

/// Writes another row for a stream.
fn change_row(index: &Index, stream: &str, change: impl FnOnce(&mut Row)) {
    let key = row_key(stream.as_bytes());
    let mut row = Row::decode(&value(index, &key)).unwrap();
    change(&mut row);
    write_pair(index, &key, row.encode());
}

#[test]
fn a_checkpoint_spares_what_came_before_it() {
    let home = tempfile::tempdir().unwrap();
    closed(home.path());
    check_view(home.path(), 0, Some(40), "after a close");
    check_view(home.path(), 0, Some(43), "and again");

    // Records after the checkpoint are folded.
    let journal = open_with(small(home.path()), &Counted::default());
    append(&journal, &stream("later"), 0, (0..30).map(event).collect()).unwrap();
    let killed = copy_of(home.path());
    let recovery = check_view(killed.path(), 0, Some(46), "with what came after");
    assert_eq!((recovery.caught_up, recovery.index_put_aside), (30, None));
    journal.close();
    check_view(home.path(), 0, Some(76), "in order");

    // A fold without rows leaves an index without them.
    let journal = DiskJournal::open(small(home.path()), Box::new(())).unwrap();
    append(&journal, &stream("latest"), 0, vec![event(1)]).unwrap();
    journal.close();
    let recovery = check_view(home.path(), 0, None, "without rows");
    assert_eq!((recovery.checkpoint_ignored, recovery.index_put_aside), (None, None));
}

/// A newer program, an older one that continues, and the newer one again: the latter's rows cover all records.
#[test]
fn a_checkpoint_of_a_fold_that_skipped_records_is_not_believed() {
    let home = tempfile::tempdir().unwrap();
    let newer = || Counted(Arc::new(Mutex::new(State { newer: true, ..State::default() })));
    closed_with(home.path(), &newer(), Some(7));
    let journal = open_with(small(home.path()), &newer());
    assert_eq!(journal.recovery().checkpoint, Some(Position(40)), "nothing was skipped");
    journal.close();
    // To the older program the checkpoint has another form.
    check_view(home.path(), 1, None, "the older one");
    check_view(home.path(), 1, None, "and again: what it had skipped it might read now");
    let again = Counted(Arc::new(Mutex::new(State { newer: true, form: 1, ..State::default() })));
    let journal = open_with(small(home.path()), &again);
    assert_eq!((journal.recovery().checkpoint, &journal.recovery().checkpoint_ignored), (None, &None));
    let expected = newer();
    check_whole(&journal).iter().for_each(|record| expected.clone().apply(record));
    assert_eq!((again.state().view, again.state().skipped), (expected.state().view, 0));
}

#[test]
fn a_row_that_could_not_be_kept_is_kept_by_a_later_checkpoint() {
    let home = tempfile::tempdir().unwrap();
    let fold = Counted(Arc::new(Mutex::new(State { huge: true, ..State::default() })));
    let journal = open_with(Options { flush_after_records: 10, ..small(home.path()) }, &fold);
    for number in 0..20 {
        append(&journal, &stream("early"), number, vec![event(number)]).unwrap();
    }
    fold.0.lock().unwrap().huge = false;
    append(&journal, &stream("late"), 0, vec![event(1)]).unwrap();
    journal.close();
    check_view(home.path(), 0, Some(21), "both are in it");
}

#[test]
fn a_checkpoint_is_written_while_running() {
    let home = tempfile::tempdir().unwrap();
    let eager = Options { flush_after_records: 10, ..small(home.path()) };
    let journal = open_with(eager, &Counted::default());
    for number in 0..35 {
        append(&journal, &stream(&format!("s{}", number % 4)), number / 4, vec![event(number)]).unwrap();
    }
    let crashed = copy_of(home.path());
    journal.close();
    let recovery = check_view(crashed.path(), 0, Some(30), "crashed");
    assert!(recovery.caught_up <= 5, "{recovery:?}");
}

/// sled recovers a prefix of what it was given, so a crash during a checkpoint leaves rows that are newer than it.
#[test]
fn rows_that_are_newer_than_the_checkpoint_are_not_folded_twice() {
    let home = tempfile::tempdir().unwrap();
    closed(home.path());
    let (mut at_40, mut later) = (None, None);
    with_index(home.path(), |index| at_40 = Some(value(index, b"c")));
    let journal = open_with(small(home.path()), &Counted::default());
    for number in 40..60 {
        append(&journal, &stream(&format!("s{}", number % 3)), number / 3, vec![event(number)]).unwrap();
    }
    append(&journal, &stream("new"), 0, vec![event(1), event(2)]).unwrap();
    journal.close();
    with_index(home.path(), |index| later = Some(value(index, b"c")));
    assert_ne!(at_40, later);
    with_index(home.path(), |index| write_pair(index, b"c", at_40.clone().unwrap()));
    check_view(home.path(), 0, Some(40), "all rows are newer");

    let home = copy_of(home.path());
    with_index(home.path(), |index| write_pair(index, b"c", at_40.unwrap()));
    check_view(home.path(), 0, Some(40), "and once more, with the rows of another opening");
}

#[test]
fn a_checkpoint_that_cannot_be_believed_is_ignored_whole() {
    let home = tempfile::tempdir().unwrap();
    closed(home.path());
    let check = |case: &str, form: u32, expected: &str, is_rebuilt: bool, spoil: &dyn Fn(&Index)| {
        let copy = copy_of(home.path());
        with_index(copy.path(), spoil);
        let recovery = check_view(copy.path(), form, None, case);
        let reasons = [recovery.checkpoint_ignored, recovery.index_put_aside.as_ref().map(|aside| aside.0.clone())];
        let reasons: Vec<String> = reasons.into_iter().flatten().collect();
        assert!(reasons.iter().any(|reason| reason.contains(expected)), "{case}: {reasons:?} lacks {expected:?}");
        assert_eq!(recovery.index_put_aside.is_some(), is_rebuilt, "{case}");
        check_view(copy.path(), form, Some(43), &format!("{case}: a new one was written"));
    };
    let spoiled = |index: &Index, at: usize| {
        let mut value = value(index, b"c");
        value[at] = value[at].wrapping_sub(1);
        write_pair(index, b"c", value);
    };
    check("another form", 8, "form 0", false, &|_| {});
    check("cut off", 0, "cannot be decoded", true, &|index| write_pair(index, b"c", vec![0; 20]));
    check("off the chain", 0, "not on the chain", true, &|index| spoiled(index, 12));
    check("an older position with this chain", 0, "not on the chain", true, &|index| spoiled(index, 7));
    check("beyond the log", 0, "not on the chain", true, &|index| spoiled(index, 1));
    check("a row that is garbage", 0, "a row", true, &|index| {
        write_pair(index, &row_key(b"session:s1"), vec![9; 40]);
    });
    check("a row too many", 0, "do not account", true, &|index| {
        write_pair(index, &row_key(b"session:s9"), value(index, &row_key(b"session:s1")));
    });
    check("a row from before", 0, "do not account", true, &|index| {
        change_row(index, "session:s1", |row| {
            row.last.pop();
            row.head.sequence.0 -= 1;
            row.head.position = *row.last.last().unwrap();
        });
    });
    check("a row beyond the log", 0, "do not account", true, &|index| {
        change_row(index, "session:s1", |row| {
            *row.last.last_mut().unwrap() = Position(1 << 40);
            row.head.position = Position(1 << 40);
        });
    });
}

#[test]
fn an_index_of_another_history_gives_no_rows() {
    let (home, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    closed(home.path());
    copy_folder(home.path(), other.path());
    let go_on = |log: &Path, number: u64| {
        let journal = open_with(small(log), &Counted::default());
        append(&journal, &stream("s0"), 14, vec![event(number)]).unwrap();
        journal.close();
    };
    // The same checkpoint at 40, then different histories of the same shape.
    go_on(home.path(), 1);
    go_on(other.path(), 2);
    fs::remove_dir_all(home.path().join("sled")).unwrap();
    copy_folder(&other.path().join("sled"), &home.path().join("sled"));
    let recovery = check_view(home.path(), 0, None, "another history");
    assert!(recovery.index_put_aside.expect("put aside").0.contains("not on the chain"));
    check_view(home.path(), 0, Some(44), "rebuilt");
}

#[test]
fn with_a_checkpoint_every_segment_is_looked_at_and_the_last_are_read() {
    let home = tempfile::tempdir().unwrap();
    closed(home.path());
    let last = u32::try_from(fs::read_dir(home.path().join("segments")).unwrap().count()).unwrap();
    let refused = |case: &str, damage: &dyn Fn(&Path), expected: &str| {
        let copy = copy_of(home.path());
        damage(copy.path());
        let error = DiskJournal::open(small(copy.path()), Box::new(Counted::default())).map(|_| ()).expect_err(case);
        assert!(error.to_string().contains(expected), "{case}: {error}");
    };
    refused("missing", &|log| fs::remove_file(segment(log, 2)).unwrap(), "0002.seg at byte 0, position 1: the file is");
    refused("header", &|log| flip(&segment(log, 2), 20), "0002.seg at byte 0");
    refused("another", &|log| fs::copy(segment(log, 2), segment(log, 3)).map(drop).unwrap(), "0003.seg at byte 0");
    refused("first", &|log| fs::copy(segment(log, 2), segment(log, 1)).map(drop).unwrap(), "0001.seg at byte 0");

    // The body of a segment before the checkpoint is read only when the index has to be rebuilt.
    let copy = copy_of(home.path());
    flip(&segment(copy.path(), 2), HEADER_BYTES + 30);
    check_view(copy.path(), 0, Some(40), "a flip before the checkpoint");
    fs::remove_dir_all(copy.path().join("sled")).unwrap();
    let error = DiskJournal::open(small(copy.path()), Box::new(Counted::default())).map(|_| ()).expect_err("read now");
    assert!(error.to_string().contains("0002.seg at byte 56"), "{error}");

    // The segment that proves the checkpoint is read from its beginning.
    let borders = borders(home.path(), last);
    let [first, .., end, _] = borders[..] else { panic!("records") };
    refused("before it", &|log| flip(&segment(log, last), first + 30), "a later write follows");
    let copy = copy_of(home.path());
    flip(&segment(copy.path(), last), end + 30);
    let recovery = check_view(copy.path(), 0, None, "its last record");
    assert!(recovery.restored == 1 && recovery.cut.is_some(), "{recovery:?}");
}

#[test]
fn a_log_that_lost_its_end_is_restored_before_the_rows_are_believed() {
    let home = tempfile::tempdir().unwrap();
    let all = closed(home.path());
    let last = u32::try_from(fs::read_dir(home.path().join("segments")).unwrap().count()).unwrap();
    fs::remove_file(segment(home.path(), last)).unwrap();
    let recovery = check_view(home.path(), 0, None, "the last segment is gone");
    assert!(recovery.restored > 0);
    let journal = open(home.path());
    assert_eq!(read_all(&journal, 100)[..40], all);
    assert_ne!(journal.tail().chain, ChainHash::GENESIS);
}
