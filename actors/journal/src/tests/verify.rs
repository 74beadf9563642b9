//! Verifying: a whole log is found whole, and every damage is found and named.

use std::sync::RwLock;

use baton_conversation::record::StreamId;

use super::super::index::{self, Entry, Index, Row, group, group_key, row_key};
use super::super::verify::{self, Verified, VerifyVisitor};
use super::*;

/// Collects all records.
#[derive(Default)]
pub(super) struct CollectRecords(pub(super) Vec<StoredRecord>);

impl VerifyVisitor for CollectRecords {
    fn record(&mut self, record: &StoredRecord) {
        self.0.push(record.clone());
    }

    fn go_on(&mut self, _done: u64, _total: u64) -> bool {
        true
    }
}

/// Verifies a closed log with its index.
fn verified(log: &Path) -> Verified {
    let index = RwLock::new(Some(index::open(log).unwrap().index));
    verify::verify(&log.join("segments"), Some(&index), &|| None, &mut CollectRecords::default()).unwrap()
}

/// The places and texts of all findings.
fn described(verified: &Verified) -> String {
    let described =
        verified.findings.iter().map(|finding| format!("{}: {} ({})\n", finding.place, finding.what, finding.fix));
    described.collect()
}

#[test]
fn a_whole_log_is_found_whole_open_and_closed() {
    let home = tempfile::tempdir().unwrap();
    let small = Options { segment_bytes: 1000, ..options(home.path()) };
    let journal = DiskJournal::open(small, Box::new(())).unwrap();
    for number in 0..40 {
        append(&journal, &stream(&format!("s{}", number % 3)), number / 3, vec![event(number)]).unwrap();
    }
    let mut all = CollectRecords::default();
    let open = journal.verify(&mut all).unwrap();
    assert_eq!(described(&open), "");
    assert_eq!(all.0, check_whole(&journal));
    assert_eq!((open.tail, open.streams, open.indexed, open.keys), (journal.tail(), 3, 40, 40));
    assert_eq!(open.segments, journal.stats().segments);
    journal.close();
    let closed = verified(home.path());
    assert_eq!((described(&closed), closed.tail, closed.indexed), (String::new(), open.tail, 40));
    assert!(closed.complete && closed.damage.is_none());
}

#[test]
fn a_flipped_byte_anywhere_is_found_with_its_position() {
    let home = tempfile::tempdir().unwrap();
    write_log(home.path());
    let (path, borders) = (segment(home.path(), 1), borders(home.path(), 1));
    let whole = fs::read(&path).unwrap();
    let mut last = 0;
    for at in 0..whole.len() {
        flip(&path, at);
        let found = verify::segments(home.path(), &mut CollectRecords::default()).unwrap();
        fs::write(&path, &whole).unwrap();
        if at >= HEADER_BYTES && borders.contains(&at) && described(&found).is_empty() {
            // The group mark says nothing about the records themselves.
            continue;
        }
        let damage = found.damage.unwrap_or_else(|| panic!("byte {at} is not missed"));
        let record = borders.iter().filter(|border| **border <= at).count();
        // An append is kept completely or not at all: the position is that of its first record.
        let begins = [1, 1, 2, 2, 4, 5, 5, 7, 8, 8][record];
        assert_eq!(damage.position, Position(begins), "byte {at}");
        assert_eq!(found.tail.position, Position(begins - 1), "byte {at}");
        // A header of the last segment is never torn if records follow it.
        assert!(!damage.torn, "byte {at}: no crash leaves that");
        assert_eq!(damage.is_last, record >= 8, "byte {at}");
        last += usize::from(damage.is_last);
    }
    assert!(last > 100, "{last}");
}

#[test]
fn a_missing_segment_is_a_hole() {
    let home = tempfile::tempdir().unwrap();
    let small = Options { segment_bytes: 600, seal: false, ..options(home.path()) };
    let journal = DiskJournal::open(small, Box::new(())).unwrap();
    for number in 0..12 {
        append(&journal, &stream("a"), number, vec![event(number)]).unwrap();
    }
    journal.close();
    fs::remove_file(segment(home.path(), 2)).unwrap();
    let found = verify::segments(home.path(), &mut CollectRecords::default()).unwrap();
    let damage = found.damage.clone().unwrap();
    assert_eq!((damage.segment, damage.position), (2, found.tail.position.next()));
    assert!(described(&found).contains("the file is missing, but 0003 exists"), "{}", described(&found));
    assert!(
        described(&found).contains(&format!("baton log repair --cut-at {}", damage.position)),
        "{}",
        described(&found)
    );
}

/// Verifies a closed log after `change` to its index.
fn check_index(change: impl FnOnce(&Index), expected: &[&str]) {
    let home = tempfile::tempdir().unwrap();
    write_log(home.path());
    let opened = index::open(home.path()).unwrap();
    change(&opened.index);
    let index = RwLock::new(Some(opened.index));
    let found =
        verify::verify(&home.path().join("segments"), Some(&index), &|| None, &mut CollectRecords::default()).unwrap();
    for part in expected {
        assert!(described(&found).contains(part), "{part}: {}", described(&found));
    }
    assert_eq!(found.findings.is_empty(), expected.is_empty(), "{}", described(&found));
    assert!(found.damage.is_none(), "the segments are whole");
}

#[test]
fn an_index_that_differs_from_the_segments_is_found_both_ways() {
    let group = |position: u64| group_key(Position(position)).to_vec();
    let row = |name: &str| row_key(stream(name).as_str().as_bytes());
    check_index(|_| {}, &[]);
    check_index(|index| drop(index.db().remove(group(1)).unwrap()), &["position 1:", "differs from its segments"]);
    let shortened = |index: &Index| {
        let held = index.group_from(Position(1)).unwrap().unwrap();
        let entry = |position| {
            let (chain, bytes) = held.get(Position(position)).unwrap();
            Entry { chain, bytes: bytes.to_vec() }
        };
        index.db().insert(group(1), group::pack(&[entry(1), entry(2)]).unwrap()).unwrap();
        index.db().insert(group(4), group::pack(&[entry(5), entry(4)]).unwrap()).unwrap();
    };
    check_index(shortened, &["position 3:", "it goes on with position 4"]);
    let swapped = |index: &Index| {
        shortened(index);
        let pack = |position| {
            let held = index.group_from(Position(position)).unwrap().unwrap();
            index.db().get(group(held.first().0)).unwrap().unwrap()
        };
        index.db().insert(group(1), pack(4)).unwrap();
    };
    check_index(swapped, &["position 1:", "the record there is a different one"]);
    let change_row = |index: &Index, change: &dyn Fn(&mut Row)| {
        let mut changed = index.row(stream("s3").as_str().as_bytes()).unwrap().unwrap();
        change(&mut changed);
        index.db().insert(row("s3"), changed.encode()).unwrap();
    };
    check_index(|index| drop(index.db().remove(row("s3")).unwrap()), &["session:s3: ", "none of its 2 records"]);
    let misled = |index: &Index| change_row(index, &|row| row.last[0] = Position(3));
    check_index(misled, &["session:s3: ", "it lists other positions"]);
    let shorter = |index: &Index| {
        change_row(index, &|row| {
            row.last.pop();
            (row.head.sequence.0, row.head.position) = (1, row.last[0]);
        });
    };
    check_index(shorter, &["session:s3: ", "it lists 1 records of it, but there are 2"]);
    let invented = |index: &Index| {
        let value = index.db().get(row("s3")).unwrap().unwrap();
        index.db().insert(row("nobody"), value).unwrap();
    };
    check_index(invented, &["session:nobody: ", "it lists 2 records of it, but there are 0"]);
    check_index(|index| drop(index.db().insert(group(3), b"\0\0\0\x01zz").unwrap()), &[]);
    check_index(
        |index| drop(index.db().insert(group(1), b"\0\0\0\x01zz").unwrap()),
        &["position 1:", "differs from its segments"],
    );
}

#[test]
fn what_the_index_lacks_at_its_end_is_no_finding_and_what_it_has_more_is_told() {
    let home = tempfile::tempdir().unwrap();
    let all = write_log(home.path());
    let whole = fs::read(segment(home.path(), 1)).unwrap();
    let cut = borders(home.path(), 1)[4];
    fs::write(segment(home.path(), 1), &whole[..cut]).unwrap();
    let found = verified(home.path());
    assert!(described(&found).contains("the segments lack the last 5 records"), "{}", described(&found));
    assert_eq!((found.tail.position, found.damage), (Position(4), None));
    // The other way round: the index of the shorter log beside the longer segments.
    let behind = tempfile::tempdir().unwrap();
    let journal = open(behind.path());
    append(&journal, &stream("s0"), 0, vec![event(0)]).unwrap();
    journal.close();
    fs::write(segment(behind.path(), 1), &whole).unwrap();
    let found = verified(behind.path());
    assert_eq!(described(&found), "");
    assert_eq!((found.tail.position.0, found.indexed), (all.len() as u64, 1));
}

#[test]
fn verifying_ends_when_nobody_wants_it_any_more() {
    struct Impatient(u64);
    impl VerifyVisitor for Impatient {
        fn record(&mut self, _record: &StoredRecord) {
            self.0 += 1;
        }
        fn go_on(&mut self, _done: u64, _total: u64) -> bool {
            false
        }
    }
    let home = tempfile::tempdir().unwrap();
    let journal = open(home.path());
    for number in 0..40 {
        let batch = (0..100).map(event).collect();
        append(&journal, &StreamId::recorded("session:a"), number * 100, batch).unwrap();
    }
    let mut impatient = Impatient(0);
    let found = journal.verify(&mut impatient).unwrap();
    assert!(!found.complete && found.findings.is_empty(), "{found:?}");
    assert_eq!(impatient.0, 1024);
}
