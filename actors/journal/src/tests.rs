//! The journal on a real disk: reopening, crashes, damage, failing writes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use baton_conversation::record::{Position, SequenceNumber, Timestamp};
use baton_events::envelope::StoredRecord;

use super::conformance::{Witness, append, check_whole, event, read_all, stream, suite};
use super::segment::{HEADER_BYTES, unsealed_path};
use super::{AppendError, DiskJournal, Journal, OpenError, Options};

mod checkpoint;
mod compact;
mod crash;
mod faults;
mod flips;
mod index;
#[cfg(unix)]
mod power;
mod repair;
mod sealing;
mod verify;

const NOW: Timestamp = Timestamp(1_773_480_413_589);

fn options(log: &Path) -> Options {
    Options::new(log, NOW)
}

fn open(log: &Path) -> DiskJournal {
    DiskJournal::open(options(log), Box::new(())).unwrap()
}

/// Writes and closes a log of six groups with 1, 2, 1, 2, 1 and 2 records; returns the records.
fn write_log(log: &Path) -> Vec<StoredRecord> {
    let journal = open(log);
    for group in 0..6 {
        let batch = (0..=group % 2).map(|index| event(group * 10 + index)).collect();
        append(&journal, &stream(&format!("s{group}")), 0, batch).unwrap();
    }
    let all = check_whole(&journal);
    assert_eq!(all.len(), 9);
    journal.close();
    all
}

fn segment(log: &Path, number: u32) -> PathBuf {
    unsealed_path(&log.join("segments"), number)
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 0x10;
    fs::write(path, bytes).unwrap();
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The offset of each record in a segment, and the segment's length.
fn borders(log: &Path, number: u32) -> Vec<usize> {
    let bytes = fs::read(segment(log, number)).unwrap();
    let mut borders = vec![HEADER_BYTES];
    let mut at = HEADER_BYTES;
    while at < bytes.len() {
        let word = u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        at += 20 + (word & !(3 << 30)) as usize;
        borders.push(at);
    }
    borders
}

/// Checks that the log opens, holds exactly these records, and accepts another.
fn check_opens_with(log: &Path, expected: &[StoredRecord], case: &str) -> super::Recovery {
    let witness = Witness::default();
    let journal = DiskJournal::open(options(log), Box::new(witness.clone())).expect(case);
    assert_eq!(check_whole(&journal), expected, "{case}");
    let seen = witness.seen();
    assert_eq!(seen.applied, expected, "{case}: folded while opening");
    assert_eq!(seen.published, [journal.tail()], "{case}: published once");
    let recovery = journal.recovery().clone();
    assert_eq!(recovery.events, expected.len() as u64, "{case}");
    append(&journal, &stream("later"), 0, vec![event(99)]).expect(case);
    journal.close();
    let again = open(log);
    assert_eq!(check_whole(&again).len(), expected.len() + 1, "{case}: opens again");
    assert_eq!(again.recovery().cut, None, "{case}: repaired once");
    recovery
}

#[test]
fn the_journal_on_disk_keeps_the_contract() {
    let home = tempfile::tempdir().unwrap();
    let count = std::cell::Cell::new(0);
    suite(|fold| {
        count.set(count.get() + 1);
        let log = home.path().join(format!("log{}", count.get()));
        Arc::new(DiskJournal::open(options(&log), fold).unwrap())
    });
}

#[test]
fn a_reopened_log_is_the_same_log() {
    let home = tempfile::tempdir().unwrap();
    let all = write_log(home.path());
    let recovery = check_opens_with(home.path(), &all, "reopened");
    assert_eq!((recovery.cut, recovery.restored, recovery.caught_up, recovery.problem), (None, 0, 0, None));
}

#[test]
fn a_log_of_many_segments_is_one_log() {
    let home = tempfile::tempdir().unwrap();
    let small = Options { segment_bytes: 1000, seal: false, ..options(home.path()) };
    let journal = DiskJournal::open(small.clone(), Box::new(())).unwrap();
    for number in 0..40 {
        append(&journal, &stream("a"), number, vec![event(number)]).unwrap();
    }
    let all = check_whole(&journal);
    let stats = journal.stats();
    assert!(stats.segments > 5, "{stats:?}");
    journal.close();
    let on_disk: u64 =
        fs::read_dir(home.path().join("segments")).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
    assert_eq!(stats.bytes, on_disk);
    fs::remove_dir_all(home.path().join("sled")).unwrap();
    let journal = DiskJournal::open(small, Box::new(())).unwrap();
    assert_eq!(check_whole(&journal), all);
    assert_eq!(journal.recovery().caught_up, 40);
    // Records added together are packed together, so an index that was built at once holds fewer bytes.
    let index_live_bytes = journal.stats().index_live_bytes;
    assert_eq!(journal.stats(), super::Stats { index_live_bytes, ..stats });
}

#[test]
fn a_tail_torn_at_any_byte_is_restored_from_the_index() {
    let home = tempfile::tempdir().unwrap();
    let all = write_log(home.path());
    let borders = borders(home.path(), 1);
    let [.., append, last, end] = borders[..] else { panic!("records") };
    for cut in (append..end).step_by(9).chain([append + 1, last, end - 1]) {
        let copy = tempfile::tempdir().unwrap();
        copy_folder(home.path(), copy.path());
        let file = fs::File::options().write(true).open(segment(copy.path(), 1)).unwrap();
        file.set_len(cut as u64).unwrap();
        let recovery = check_opens_with(copy.path(), &all, &format!("cut at {cut}"));
        assert_eq!(recovery.restored, 2);
        assert_eq!(recovery.cut.is_some(), cut > append);
    }
}

#[test]
fn a_tail_torn_at_any_byte_is_cut_and_kept_when_no_index_covers_it() {
    let home = tempfile::tempdir().unwrap();
    let all = write_log(home.path());
    fs::remove_dir_all(home.path().join("sled")).unwrap();
    let borders = borders(home.path(), 1);
    let [.., append, last, end] = borders[..] else { panic!("records") };
    for cut in (append + 1..end).step_by(9).chain([last, end - 1]) {
        let copy = tempfile::tempdir().unwrap();
        copy_folder(home.path(), copy.path());
        let bytes = fs::read(segment(copy.path(), 1)).unwrap();
        fs::write(segment(copy.path(), 1), &bytes[..cut]).unwrap();
        let recovery = check_opens_with(copy.path(), &all[..7], &format!("cut at {cut}"));
        let kept = recovery.cut.expect("reported");
        assert_eq!((kept.segment.as_str(), kept.offset, kept.position), ("0001.seg", append as u64, Position(8)));
        assert_eq!(kept.bytes, (cut - append) as u64);
        let folder = copy.path().join("cut-20260314T092653589Z");
        assert_eq!(kept.kept, folder.join(format!("0001.seg.at-{append}")));
        assert_eq!(fs::read(&kept.kept).unwrap(), &bytes[append..cut]);
    }
}

#[test]
fn a_flipped_byte_is_repaired_or_refused_with_its_place_and_never_passed_over() {
    let home = tempfile::tempdir().unwrap();
    let all = write_log(home.path());
    let borders = borders(home.path(), 1);
    let frames = borders.windows(2).flat_map(|pair| [pair[0] + 1, pair[0] + 4, pair[0] + 40, pair[1] - 1]);
    for at in [0, 9, 20, 30, 55].into_iter().chain(frames) {
        for has_index in [true, false] {
            let copy = tempfile::tempdir().unwrap();
            copy_folder(home.path(), copy.path());
            flip(&segment(copy.path(), 1), at);
            if !has_index {
                fs::remove_dir_all(copy.path().join("sled")).unwrap();
            }
            // The last group is records 8 and 9.
            let case = format!("byte {at}, index {has_index}");
            let record = borders.iter().filter(|border| **border <= at).count();
            // The first record of its append.
            let record = [0, 1, 2, 2, 4, 5, 5, 7, 8, 8][record];
            if record >= 8 && has_index {
                let recovery = check_opens_with(copy.path(), &all, &case);
                let cut = recovery.cut.expect(&case);
                assert_eq!((cut.offset, cut.position.0), (borders[record - 1] as u64, record as u64), "{case}");
                continue;
            }
            let before = fs::read(segment(copy.path(), 1)).unwrap();
            let error = DiskJournal::open(options(copy.path()), Box::new(())).map(|_| ()).expect_err(&case);
            let OpenError::Damaged { segment: named, offset, position, .. } = &error else { panic!("{case}: {error}") };
            let (expected_offset, expected_position) =
                if record == 0 { (0, 1) } else { (borders[record - 1], record as u64) };
            assert_eq!(*named, segment(copy.path(), 1), "{case}");
            assert_eq!((*offset, *position), (expected_offset as u64, Position(expected_position)), "{case}");
            assert!(error.to_string().contains("Restore that file from a backup"), "{error}");
            assert_eq!(fs::read(segment(copy.path(), 1)).unwrap(), before, "{case}: untouched");
        }
    }
}

/// The index is flushed now and then, so it usually lacks the last records that were acknowledged.
#[test]
fn a_bad_last_record_that_the_index_lacks_is_refused_with_its_position() {
    let home = tempfile::tempdir().unwrap();
    let mut all = write_log(home.path());
    let journal = open(home.path());
    append(&journal, &stream("last"), 0, vec![event(1), event(2)]).unwrap();
    all = check_whole(&journal)[..all.len() + 2].to_vec();
    let killed = tempfile::tempdir().unwrap();
    copy_folder(home.path(), killed.path());
    journal.close();
    let borders = borders(killed.path(), 1);
    let [.., begin, last, end] = borders[..] else { panic!("records") };
    let whole = fs::read(segment(killed.path(), 1)).unwrap();
    for at in (begin + 1..end).filter(|at| *at != last) {
        let copy = tempfile::tempdir().unwrap();
        copy_folder(killed.path(), copy.path());
        flip(&segment(copy.path(), 1), at);
        let error = DiskJournal::open(options(copy.path()), Box::new(())).map(|_| ()).expect_err("refused");
        let OpenError::Damaged { offset, position, .. } = &error else { panic!("{at}: {error}") };
        assert_eq!((*offset, *position), (begin as u64, Position(10)), "{at}");
        assert!(error.to_string().contains("not what a crash leaves of a write"), "{error}");
        // With the byte as it was, everything is there.
        flip(&segment(copy.path(), 1), at);
        assert_eq!(fs::read(segment(copy.path(), 1)).unwrap(), whole, "{at}: untouched");
        if at % 40 == 0 {
            let recovery = check_opens_with(copy.path(), &all, &format!("{at}"));
            assert_eq!((recovery.cut, recovery.caught_up), (None, 2), "{at}");
        }
    }
    for cut in [begin + 1, last, last + 1, end - 1] {
        fs::write(segment(killed.path(), 1), &whole[..cut]).unwrap();
        let copy = tempfile::tempdir().unwrap();
        copy_folder(killed.path(), copy.path());
        let recovery = check_opens_with(copy.path(), &all[..9], &format!("cut at {cut}"));
        assert_eq!(recovery.cut.map(|cut| cut.position), Some(Position(10)));
    }
}

#[test]
fn a_missing_or_damaged_earlier_segment_is_refused_by_name() {
    let home = tempfile::tempdir().unwrap();
    let small = Options { segment_bytes: 400, seal: false, ..options(home.path()) };
    let journal = DiskJournal::open(small, Box::new(())).unwrap();
    for number in 0..10 {
        append(&journal, &stream("a"), number, vec![event(number)]).unwrap();
    }
    let all = check_whole(&journal);
    assert!(journal.stats().segments >= 4);
    journal.close();
    let check = |damage: &dyn Fn(&Path), expected: &str| {
        let copy = tempfile::tempdir().unwrap();
        copy_folder(home.path(), copy.path());
        damage(copy.path());
        let error = DiskJournal::open(options(copy.path()), Box::new(())).map(|_| ()).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error:?} lacks {expected:?}");
    };
    check(&|log| fs::remove_file(segment(log, 1)).unwrap(), "0001.seg at byte 0, position 1: the file is missing");
    check(&|log| fs::remove_file(segment(log, 3)).unwrap(), "0003.seg at byte 0, position");
    check(&|log| flip(&segment(log, 2), HEADER_BYTES + 8), "0002.seg at byte 56, position");
    check(&|log| flip(&segment(log, 2), 3), "0002.seg at byte 0, position");
    let truncate = |log: &Path| {
        let bytes = fs::read(segment(log, 2)).unwrap();
        fs::write(segment(log, 2), &bytes[..bytes.len() - 1]).unwrap();
    };
    check(&truncate, "0002.seg at byte");
    check(&|log| fs::copy(segment(log, 1), segment(log, 2)).map(drop).unwrap(), "0002.seg at byte 0, position");

    // Only the last segment may be missing, because the index has it.
    let copy = tempfile::tempdir().unwrap();
    copy_folder(home.path(), copy.path());
    let last = u32::try_from(fs::read_dir(copy.path().join("segments")).unwrap().count()).unwrap();
    fs::remove_file(segment(copy.path(), last)).unwrap();
    assert!(check_opens_with(copy.path(), &all, "last segment missing").restored > 0);
    let copy = tempfile::tempdir().unwrap();
    copy_folder(home.path(), copy.path());
    fs::remove_dir_all(copy.path().join("segments")).unwrap();
    assert_eq!(check_opens_with(copy.path(), &all, "all segments missing").restored, 10);
}

#[test]
fn a_segment_whose_header_was_never_finished_is_begun_again() {
    for length in [0, 1, HEADER_BYTES - 1, HEADER_BYTES] {
        let home = tempfile::tempdir().unwrap();
        let all = write_log(home.path());
        fs::write(segment(home.path(), 2), vec![0; length]).unwrap();
        let recovery = check_opens_with(home.path(), &all, &format!("{length} bytes"));
        assert_eq!(recovery.cut.map(|cut| (cut.segment, cut.bytes)), Some(("0002.seg".into(), length as u64)));
    }
    let home = tempfile::tempdir().unwrap();
    fs::create_dir_all(home.path().join("segments")).unwrap();
    fs::write(segment(home.path(), 1), [0; 10]).unwrap();
    check_opens_with(home.path(), &[], "the very first");
}

/// The first format did not mark appends; it is no longer written.
#[test]
fn a_log_of_the_first_format_goes_on_in_a_new_segment() {
    for (torn, segments) in [(0, 2), (5, 2), (usize::MAX, 1)] {
        let home = tempfile::tempdir().unwrap();
        let all = write_log(home.path());
        let mut bytes = fs::read(segment(home.path(), 1)).unwrap();
        let borders = borders(home.path(), 1);
        bytes[11] = 1;
        let sum = <sha2::Sha256 as sha2::Digest>::digest(&bytes[..40]);
        bytes[40..56].copy_from_slice(&sum[..16]);
        borders[..9].iter().for_each(|at| bytes[*at] &= !0x40);
        bytes.truncate(bytes.len().saturating_sub(torn).max(HEADER_BYTES));
        fs::write(segment(home.path(), 1), &bytes).unwrap();
        fs::remove_dir_all(home.path().join("sled")).unwrap();
        let expected = if torn == usize::MAX { &[] } else { &all[..9 - torn.min(1)] };
        let journal = open(home.path());
        assert_eq!(check_whole(&journal), expected, "{torn}");
        assert_eq!(journal.stats().segments, segments, "{torn}");
        journal.close();
        check_opens_with(home.path(), expected, &format!("{torn}"));
    }
}

#[test]
fn a_newer_format_is_named_and_left_alone() {
    let home = tempfile::tempdir().unwrap();
    write_log(home.path());
    let mut bytes = fs::read(segment(home.path(), 1)).unwrap();
    bytes[11] = 3;
    let sum = <sha2::Sha256 as sha2::Digest>::digest(&bytes[..40]);
    bytes[40..56].copy_from_slice(&sum[..16]);
    fs::write(segment(home.path(), 1), &bytes).unwrap();
    let error = DiskJournal::open(options(home.path()), Box::new(())).map(|_| ()).expect_err("newer");
    assert!(matches!(error, OpenError::Newer { .. }), "{error}");
    assert!(error.to_string().contains("newer version of this program"), "{error}");
}

#[test]
fn a_log_that_is_open_is_not_opened_again() {
    let home = tempfile::tempdir().unwrap();
    let journal = open(home.path());
    append(&journal, &stream("a"), 0, vec![event(1)]).unwrap();
    let error = DiskJournal::open(options(home.path()), Box::new(())).map(|_| ()).expect_err("in use");
    assert!(matches!(error, OpenError::InUse(_)), "{error}");
    assert_eq!(
        append(&journal, &stream("a"), 0, vec![event(1)]),
        Err(AppendError::Conflict { actual: SequenceNumber(1) })
    );
}

/// A view that panics over a record.
struct Breaking;

impl super::Fold for Breaking {
    fn apply(&mut self, record: &StoredRecord) {
        assert!(record.position < Position(3), "broken on purpose");
    }

    fn publish(&mut self, _tail: baton_events::envelope::Tail) {}
}

#[test]
fn a_committer_that_breaks_closes_the_journal_and_says_so() {
    let home = tempfile::tempdir().unwrap();
    let journal = DiskJournal::open(options(home.path()), Box::new(Breaking)).unwrap();
    append(&journal, &stream("a"), 0, vec![event(1), event(2)]).unwrap();
    assert_eq!(journal.failure(), None);
    assert_eq!(append(&journal, &stream("a"), 2, vec![event(3)]), Err(AppendError::Closed));
    assert_eq!(append(&journal, &stream("b"), 0, vec![event(4)]), Err(AppendError::Closed));
    let failure = || journal.failure().is_some_and(|reason| reason.contains("panicked"));
    while !failure() {
        std::thread::yield_now();
    }
    assert!(journal.read(Position(1), 1).is_err() && journal.stats().problem.is_some());
    journal.close();
    // It was on disk by then, though never acknowledged.
    assert_eq!(check_whole(&open(home.path())).len(), 3);
}

#[test]
fn a_journal_whose_folder_is_another_acknowledges_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let (home, elsewhere) = (temp.path().join("home"), temp.path().join("elsewhere"));
    let journal = DiskJournal::open(options(&home), Box::new(())).unwrap();
    append(&journal, &stream("a"), 0, vec![event(1)]).unwrap();
    fs::rename(&home, &elsewhere).unwrap();
    let other = DiskJournal::open(options(&home), Box::new(())).unwrap();
    assert_eq!(append(&journal, &stream("a"), 1, vec![event(2)]), Err(AppendError::Closed));
    while journal.failure().is_none() {
        std::thread::yield_now();
    }
    assert!(journal.failure().unwrap().contains("was moved"));
    append(&other, &stream("b"), 0, vec![event(3)]).unwrap();
    assert_eq!(check_whole(&other).len(), 1);
    journal.close();
    assert_eq!(check_whole(&open(&elsewhere)).len(), 1);
}
