//! The index: rebuilt if it is lost, damaged or of another log; caught up if it lags; dispensable if it fails.

use baton_events::envelope::NewRecord;

use super::super::index::positions::CHUNK;
use super::super::index::{self, Entry, Index, group, row_key};
use super::verify::CollectRecords;
use super::*;

#[test]
fn an_index_that_is_gone_or_garbage_is_rebuilt() {
    let home = tempfile::tempdir().unwrap();
    let all = write_log(home.path());
    let check = |case: &str, put_aside: bool, damage: &dyn Fn(&Path)| {
        let copy = tempfile::tempdir().unwrap();
        copy_folder(home.path(), copy.path());
        damage(&copy.path().join("sled"));
        let recovery = check_opens_with(copy.path(), &all, case);
        assert_eq!(recovery.problem, None, "{case}");
        assert_eq!(recovery.index_put_aside.is_some(), put_aside, "{case}: {recovery:?}");
        if let Some((_, aside)) = recovery.index_put_aside {
            assert!(aside.exists(), "{case}");
        }
    };
    check("deleted", false, &|sled| fs::remove_dir_all(sled).unwrap());
    check("a file instead", true, &|sled| {
        fs::remove_dir_all(sled).unwrap();
        fs::write(sled, "garbage").unwrap();
    });
    check("unfinished snapshot", false, &|sled| {
        fs::write(sled.join("snap.ffffffffffffffff.generating"), "half").unwrap();
    });
}

/// Whatever sled makes of the damage, the journal returns every record.
#[test]
fn an_index_with_damage_inside_never_changes_an_answer() {
    let home = tempfile::tempdir().unwrap();
    let all = write_log(home.path());
    let sled = home.path().join("sled");
    let names: Vec<_> = fs::read_dir(&sled).unwrap().map(|entry| entry.unwrap()).collect();
    for file in names.iter().filter(|entry| entry.path().is_file()) {
        let name = file.file_name();
        let size = usize::try_from(file.metadata().unwrap().len()).unwrap();
        for damage in ["empty", "half", "garbage", "flipped"] {
            let copy = tempfile::tempdir().unwrap();
            copy_folder(home.path(), copy.path());
            let path = copy.path().join("sled").join(&name);
            let mut bytes = fs::read(&path).unwrap();
            match damage {
                "empty" => bytes.clear(),
                "half" => bytes.truncate(size / 2),
                "garbage" => bytes.iter_mut().enumerate().for_each(|(at, byte)| *byte = (at * 7) as u8),
                _ => bytes.iter_mut().step_by(97).for_each(|byte| *byte ^= 4),
            }
            fs::write(&path, bytes).unwrap();
            check_opens_with(copy.path(), &all, &format!("{name:?} {damage}"));
        }
    }
}

#[test]
fn an_index_that_lags_behind_catches_up() {
    let home = tempfile::tempdir().unwrap();
    let stale = tempfile::tempdir().unwrap();
    write_log(home.path());
    copy_folder(&home.path().join("sled"), &stale.path().join("sled"));
    let journal = open(home.path());
    for number in 0..200 {
        append(&journal, &stream("more"), number, vec![event(number)]).unwrap();
    }
    let all = check_whole(&journal);
    journal.close();
    fs::remove_dir_all(home.path().join("sled")).unwrap();
    copy_folder(&stale.path().join("sled"), &home.path().join("sled"));
    let recovery = check_opens_with(home.path(), &all, "stale");
    assert_eq!((recovery.caught_up, recovery.index_put_aside), (200, None));
}

#[test]
fn an_index_of_another_log_is_put_aside() {
    for other_is_longer in [false, true] {
        let (home, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let all = write_log(home.path());
        let journal = open(other.path());
        for number in 0..if other_is_longer { 30 } else { 3 } {
            append(&journal, &stream("other"), number, vec![event(number + 500)]).unwrap();
        }
        journal.close();
        fs::remove_dir_all(home.path().join("sled")).unwrap();
        copy_folder(&other.path().join("sled"), &home.path().join("sled"));
        let recovery = check_opens_with(home.path(), &all, "another log's");
        let (reason, aside) = recovery.index_put_aside.expect("put aside");
        assert!(reason.contains("not on the chain"), "{reason}");
        assert_eq!(aside, home.path().join("sled.broken-1"));
        assert_eq!(recovery.caught_up, 9);
    }
}

#[test]
fn an_index_of_an_earlier_form_is_rebuilt_and_removed() {
    for key in [b"a", b"b"] {
        let home = tempfile::tempdir().unwrap();
        let all = write_log(home.path());
        fs::remove_dir_all(home.path().join("sled")).unwrap();
        let earlier = ::sled::open(home.path().join("sled")).unwrap();
        earlier.insert(key, &[0; 24]).unwrap();
        earlier.insert(b"p\0\0\0\0\0\0\0\x01", b"a record").unwrap();
        earlier.flush().unwrap();
        drop(earlier);
        for is_earlier in [true, false] {
            let journal = open(home.path());
            assert_eq!(check_whole(&journal), all);
            let recovery = journal.recovery();
            let reason = recovery.index_put_aside.as_ref().map(|(reason, _)| reason.as_str());
            assert_eq!(reason, is_earlier.then_some("it has the form of an earlier version"));
            assert_eq!(recovery.caught_up, if is_earlier { 9 } else { 0 });
            journal.close();
            let kept = fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().file_name());
            assert!(kept.into_iter().all(|name| !name.to_string_lossy().contains("broken")));
        }
    }
}

#[cfg(unix)]
#[test]
fn a_log_that_may_not_be_written_is_refused_and_its_index_left_alone() {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().unwrap();
    let all = write_log(home.path());
    let permit = |mode| {
        for path in [segment(home.path(), 1), home.path().join("sled/db"), home.path().to_owned()] {
            let mode = if path.is_dir() { mode | 0o100 } else { mode };
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    permit(0o400);
    let may_anyway = fs::File::create(home.path().join("root")).is_ok();
    if !may_anyway {
        let error = DiskJournal::open(options(home.path()), Box::new(())).map(|_| ()).expect_err("not writable");
        assert!(error.to_string().contains("give it back to your user"), "{error}");
    }
    permit(0o600);
    assert!(!home.path().join("sled.broken-1").exists());
    assert_eq!(check_opens_with(home.path(), &all, "given back").index_put_aside, None);
}

#[test]
fn broken_indexes_do_not_pile_up() {
    let home = tempfile::tempdir().unwrap();
    let all = write_log(home.path());
    for _ in 0..5 {
        fs::remove_dir_all(home.path().join("sled")).unwrap();
        fs::write(home.path().join("sled"), "garbage").unwrap();
        let journal = open(home.path());
        assert_eq!(read_all(&journal, 100), all);
        journal.close();
    }
    let broken = |n: u32| home.path().join(format!("sled.broken-{n}")).exists();
    assert_eq!([1, 2, 3, 4, 5].map(broken), [false, false, false, true, true]);
}

#[test]
fn the_index_is_flushed_after_so_many_records() {
    let home = tempfile::tempdir().unwrap();
    let eager = Options { flush_after_records: 10, ..options(home.path()) };
    let journal = DiskJournal::open(eager, Box::new(())).unwrap();
    for number in 0..35 {
        append(&journal, &stream("a"), number, vec![event(number)]).unwrap();
    }
    // The files as a kill leaves them, without what the index would still have written.
    let crashed = tempfile::tempdir().unwrap();
    copy_folder(home.path(), crashed.path());
    let all = check_whole(&journal);
    let recovery = check_opens_with(crashed.path(), &all, "crashed");
    assert!(recovery.caught_up <= 10, "{recovery:?}");
    assert_eq!(recovery.index_put_aside, None);
}

/// The records that a copy of the files as a kill leaves them would have to read from the segments.
fn caught_up_after_a_kill(log: &Path, all: &[StoredRecord]) -> u64 {
    let crashed = tempfile::tempdir().unwrap();
    copy_folder(log, crashed.path());
    let recovery = check_opens_with(crashed.path(), all, "crashed");
    assert_eq!(recovery.index_put_aside, None);
    recovery.caught_up
}

#[test]
fn the_index_is_written_by_a_flush_only_and_a_flush_is_due_by_bytes_and_age_too() {
    let home = tempfile::tempdir().unwrap();
    let journal = open(home.path());
    for number in 0..100 {
        append(&journal, &stream("a"), number, vec![event(number)]).unwrap();
    }
    assert_eq!(caught_up_after_a_kill(home.path(), &check_whole(&journal)), 100);
    let large = NewRecord { data: format!("\"{}\"", "x".repeat(50_000)), ..event(1) };
    for number in 0..100 {
        append(&journal, &stream("large"), number, vec![large.clone()]).unwrap();
    }
    assert!(caught_up_after_a_kill(home.path(), &check_whole(&journal)) < 100, "after a few MB");
    journal.close();
    let aged = tempfile::tempdir().unwrap();
    let options = Options { flush_after: std::time::Duration::ZERO, ..options(aged.path()) };
    let journal = DiskJournal::open(options, Box::new(())).unwrap();
    append(&journal, &stream("a"), 0, vec![event(1)]).unwrap();
    // The flush comes before the next group.
    append(&journal, &stream("a"), 1, vec![event(2)]).unwrap();
    assert!(caught_up_after_a_kill(aged.path(), &check_whole(&journal)) <= 1, "at once");
}

/// The positions of a long stream lie in chunks, so that no flush writes all of them again.
#[test]
fn a_long_stream_is_read_from_anywhere_and_its_row_stays_small() {
    let home = tempfile::tempdir().unwrap();
    let eager = Options { flush_after_records: 700, ..options(home.path()) };
    let journal = DiskJournal::open(eager.clone(), Box::new(())).unwrap();
    let (long, other) = (stream("long"), stream("other"));
    let count = 3 * CHUNK as u64 + 100;
    for number in (0..count).step_by(100) {
        append(&journal, &long, number, (number..count.min(number + 100)).map(event).collect()).unwrap();
        append(&journal, &other, number / 100, vec![event(number)]).unwrap();
    }
    let all = read_all(&journal, 1000);
    let of_stream: Vec<_> = all.iter().filter(|record| record.stream == long).cloned().collect();
    let check = |journal: &DiskJournal, case: &str| {
        for after in [0, 1, 1023, 1024, 1025, 2047, 3000, 3071, 3072, count - 1, count] {
            let rest = &of_stream[after as usize..];
            let read = |limit| journal.read_stream(&long, SequenceNumber(after), limit).unwrap();
            assert_eq!(read(usize::MAX), rest, "{case}: after {after}");
            assert_eq!(read(1030), rest[..rest.len().min(1030)], "{case}: some after {after}");
        }
        assert_eq!(journal.verify(&mut CollectRecords::default()).unwrap().findings, [], "{case}");
    };
    check(&journal, "written");
    journal.close();
    let before = index::open(home.path()).unwrap().index.db().get("c").unwrap().unwrap();
    check(&DiskJournal::open(eager.clone(), Box::new(())).unwrap(), "opened");
    let index = index::open(home.path()).unwrap().index;
    let row = index.db().get(row_key(long.as_str().as_bytes())).unwrap().unwrap();
    assert!(row.len() < 1000, "{} bytes", row.len());
    drop(index);

    // A flush that did not end: what it wrote is newer than what it says.
    let journal = DiskJournal::open(eager.clone(), Box::new(())).unwrap();
    for number in (count..count + 2000).step_by(100) {
        append(&journal, &long, number, (number..number + 100).map(event).collect()).unwrap();
    }
    let all = read_all(&journal, 1000);
    journal.close();
    index::open(home.path()).unwrap().index.db().insert("c", before).unwrap();
    let journal = DiskJournal::open(eager, Box::new(())).unwrap();
    assert_eq!(journal.recovery().caught_up, 2000);
    let of_stream: Vec<_> = all.iter().filter(|record| record.stream == long).cloned().collect();
    for _ in 0..2 {
        assert_eq!(journal.read_stream(&long, SequenceNumber(5), 10_000).unwrap(), of_stream[5..4101]);
        assert_eq!(read_all(&journal, 1000), all);
        assert_eq!(journal.verify(&mut CollectRecords::default()).unwrap().findings, []);
    }
    assert_eq!(journal.stats().problem, None);
}

/// A flush that did not end may leave groups of records that the segments have lost since.
#[test]
fn what_an_unfinished_flush_left_is_never_read() {
    let (home, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_log(home.path());
    copy_folder(home.path(), other.path());
    let grow = |log: &Path, count: u64, first: u64| {
        let journal = open(log);
        for number in 0..count {
            append(&journal, &stream("more"), number, vec![event(first + number)]).unwrap();
        }
        let all = check_whole(&journal);
        journal.close();
        all
    };
    grow(other.path(), 30, 500);
    let lost = index::open(other.path()).unwrap().index;
    let index = index::open(home.path()).unwrap().index;
    for pair in lost.db().range(b"g\0\0\0\0\0\0\0\x0a".to_vec()..b"h".to_vec()) {
        let (key, value) = pair.unwrap();
        index.db().insert(&key, value).unwrap();
        // One that begins in the middle of the next group.
        index.db().insert(index::group_key(Position(15)), group::pack(&[entry(&lost, 15)]).unwrap()).unwrap();
    }
    drop((index, lost));
    let all = grow(home.path(), 20, 900);
    let recovery = check_opens_with(home.path(), &all, "grown");
    assert_eq!(recovery.index_put_aside, None);
    let journal = open(home.path());
    assert_eq!(journal.verify(&mut CollectRecords::default()).unwrap().findings, []);
    assert_eq!(journal.stats().problem, None);
}

fn entry(index: &Index, position: u64) -> Entry {
    let group = index.group_from(Position(position)).unwrap().unwrap();
    let (chain, bytes) = group.get(Position(position)).unwrap();
    Entry { chain, bytes: bytes.to_vec() }
}

#[test]
fn readers_find_every_record_while_the_index_is_flushed() {
    let home = tempfile::tempdir().unwrap();
    let eager = Options { flush_after_records: 7, ..options(home.path()) };
    let journal = DiskJournal::open(eager, Box::new(())).unwrap();
    append(&journal, &stream("a"), 0, vec![event(0)]).unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for reader in 0..3_u64 {
            let (journal, done) = (&journal, &done);
            scope.spawn(move || {
                while !done.load(std::sync::atomic::Ordering::SeqCst) {
                    let tail = journal.tail().position.0;
                    let from = tail.saturating_sub(reader * 9).max(1);
                    let positions: Vec<u64> =
                        journal.read(Position(from), 4096).unwrap().iter().map(|record| record.position.0).collect();
                    assert!(positions.len() as u64 > tail.saturating_sub(from), "{from} to {tail}: {positions:?}");
                    assert!((from..).zip(&positions).all(|(expected, position)| expected == *position));
                    let read = journal.read_stream(&stream("a"), SequenceNumber(from - 1), 4096).unwrap();
                    assert!(read.len() as u64 > tail.saturating_sub(from), "{from} to {tail} of the stream");
                    assert!(journal.chain_at(Position(from)).unwrap().is_some());
                }
            });
        }
        for number in 1..600 {
            append(&journal, &stream("a"), number, vec![event(number)]).unwrap();
        }
        done.store(true, std::sync::atomic::Ordering::SeqCst);
    });
    assert_eq!(journal.stats().problem, None, "no reader needed the segments");
    assert_eq!(check_whole(&journal).len(), 600);
}

#[test]
fn an_index_that_fails_while_running_costs_speed_and_nothing_else() {
    let home = tempfile::tempdir().unwrap();
    let small = Options { segment_bytes: 1000, ..options(home.path()) };
    let journal = DiskJournal::open(small, Box::new(())).unwrap();
    for number in 0..10 {
        append(&journal, &stream("a"), number * 2, vec![event(number), event(number)]).unwrap();
        if number == 4 {
            journal.lose_index();
        }
    }
    let all = check_whole(&journal);
    assert_eq!(all.len(), 20);
    assert!(journal.stats().problem.expect("told").contains("rebuilt in the background"));
    assert!(journal.stats().index_lost);
    journal.close();
    let recovery = check_opens_with(home.path(), &all, "after the loss");
    assert_eq!((recovery.caught_up, recovery.index_put_aside), (20, None));
}

/// Without an index, a stream that was read to its end is not searched for in the whole log again.
#[test]
fn a_stream_is_scanned_once_where_there_is_no_index() {
    let home = tempfile::tempdir().unwrap();
    let options = Options { segment_bytes: 1000, seal: false, ..options(home.path()) };
    let journal = DiskJournal::open(options, Box::new(())).unwrap();
    for number in 0..20 {
        append(&journal, &stream(if number % 2 == 0 { "a" } else { "b" }), number / 2, vec![event(number)]).unwrap();
    }
    journal.lose_index();
    let read = |after: u64, limit| journal.read_stream(&stream("a"), SequenceNumber(after), limit);
    assert_eq!(read(0, 4).unwrap().len(), 4);
    assert_eq!(read(4, 100).unwrap().len(), 6);
    assert_eq!(read(0, 100).unwrap().len(), 10, "from the start again");
    // A read of this segment would fail now.
    fs::remove_file(segment(home.path(), 1)).unwrap();
    assert_eq!(read(10, 100).unwrap(), []);
    append(&journal, &stream("a"), 10, vec![event(99)]).unwrap();
    assert_eq!(read(10, 100).unwrap().len(), 1, "what came since is found");
    assert!(read(0, 100).is_err());
}
