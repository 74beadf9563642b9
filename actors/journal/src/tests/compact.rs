//! Rewriting the index: reads before, during and after it agree, and a crash may come after any step.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::super::index;
use super::super::index_rewrite::{CompactError, folder_bytes};
use super::verify::CollectRecords;
use super::*;

/// A closed log whose index was flushed after every append, so that it is large for what it holds.
fn bloated(log: &Path, records: u64) -> Vec<StoredRecord> {
    let journal = DiskJournal::open(Options { flush_after_records: 1, ..options(log) }, Box::new(())).unwrap();
    for number in 0..records {
        append(&journal, &stream(&format!("s{}", number % 7)), number / 7, vec![event(number)]).unwrap();
    }
    let all = check_whole(&journal);
    journal.close();
    all
}

#[test]
fn a_rewritten_index_is_smaller_and_says_the_same() {
    let home = tempfile::tempdir().unwrap();
    let all = bloated(home.path(), 2_000);
    let journal = open(home.path());
    let before = (journal.tail(), journal.stats().index_live_bytes);
    let mut asked = 0;
    let rewritten = journal
        .compact(&mut |done, total| {
            asked += 1;
            assert!(done <= total);
            true
        })
        .unwrap();
    assert!(asked > 0);
    assert_eq!(rewritten.records, 2_000);
    assert!(rewritten.bytes_after < rewritten.bytes_before, "{rewritten:?}");
    let after = journal.stats();
    assert_eq!((journal.tail(), after.problem), (before.0, None));
    assert!(after.index_live_bytes.unwrap() <= before.1.unwrap(), "larger groups take no more");
    assert_eq!(check_whole(&journal), all);
    assert_eq!(journal.verify(&mut CollectRecords::default()).unwrap().findings, []);
    append(&journal, &stream("s0"), 286, vec![event(1)]).unwrap();
    let again = journal.compact(&mut |_, _| true).unwrap();
    assert_eq!(again.records, 2_001);
    journal.close();
    assert!(!home.path().join("sled.new").exists() && !home.path().join("sled.old").exists());
    let journal = open(home.path());
    let recovery = journal.recovery();
    assert_eq!((&recovery.index_put_aside, recovery.caught_up), (&None, 0));
    assert_eq!(check_whole(&journal).len(), 2_001);
}

#[test]
fn what_is_written_and_read_meanwhile_is_not_lost() {
    let home = tempfile::tempdir().unwrap();
    bloated(home.path(), 500);
    let journal = open(home.path());
    let (done, written) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0.. {
                append(&journal, &stream("live"), number, vec![event(number)]).unwrap();
                written.store(number + 1, Ordering::SeqCst);
                let page = journal.read(Position(501), 4096).unwrap();
                assert!(page.len() as u64 > number, "what was acknowledged is read");
                if done.load(Ordering::SeqCst) {
                    break;
                }
            }
        });
        for _ in 0..3 {
            let before = written.load(Ordering::SeqCst);
            while written.load(Ordering::SeqCst) < before + 5 {
                std::thread::yield_now();
            }
            journal.compact(&mut |_, _| true).unwrap();
        }
        done.store(true, Ordering::SeqCst);
    });
    assert_eq!(journal.verify(&mut CollectRecords::default()).unwrap().findings, []);
    let all = check_whole(&journal);
    assert_eq!(all.len() as u64, 500 + written.load(Ordering::SeqCst));
    journal.close();
    assert_eq!(check_whole(&open(home.path())), all);
}

#[test]
fn one_that_is_given_up_leaves_everything_as_it_was() {
    let home = tempfile::tempdir().unwrap();
    let all = bloated(home.path(), 100);
    let journal = open(home.path());
    assert_eq!(journal.compact(&mut |_, _| false), Err(CompactError::GivenUp));
    assert!(!home.path().join("sled.new").exists());
    assert_eq!(check_whole(&journal), all);
    let inner = std::cell::Cell::new(None);
    journal
        .compact(&mut |_, _| {
            inner.set(Some(journal.compact(&mut |_, _| true)));
            true
        })
        .unwrap();
    assert_eq!(inner.into_inner(), Some(Err(CompactError::UnderWay)));
    journal.close();
    assert_eq!(journal.compact(&mut |_, _| true), Err(CompactError::Closed));
}

#[test]
fn an_index_is_never_built_past_a_hole_in_the_segments() {
    let home = tempfile::tempdir().unwrap();
    type Ruin = (&'static str, fn(&Path));
    let ruin: [Ruin; 4] = [
        ("the first is gone", |log| fs::remove_file(segment(log, 1)).unwrap()),
        ("one is gone", |log| fs::remove_file(segment(log, 3)).unwrap()),
        ("one ends early", |log| {
            let end = borders(log, 3)[1] as u64;
            fs::OpenOptions::new().write(true).open(segment(log, 3)).unwrap().set_len(end).unwrap();
        }),
        ("one is another", |log| fs::copy(segment(log, 2), segment(log, 3)).map(drop).unwrap()),
    ];
    for (name, ruin) in ruin {
        let log = home.path().join(name);
        let options = Options { segment_bytes: 1000, seal: false, ..options(&log) };
        let journal = DiskJournal::open(options, Box::new(())).unwrap();
        for number in 0..40 {
            append(&journal, &stream("s"), number, vec![event(number)]).unwrap();
        }
        let all = check_whole(&journal);
        assert!(journal.stats().segments > 5);
        ruin(&log);
        let error = journal.compact(&mut |_, _| true).expect_err(name).to_string();
        assert!(error.contains("is missing"), "{name}: {error}");
        assert!(log.join("sled").is_dir() && !log.join("sled.new").exists(), "{name}");
        assert_eq!(read_all(&journal, 100), all, "{name}: the index in use has all of it");
        journal.lose_index();
        assert!(journal.read(Position(1), 4096).is_err(), "{name}: and no read leaves a record out");
    }
}

#[test]
fn an_index_that_was_lost_is_there_again_after_it() {
    let home = tempfile::tempdir().unwrap();
    let all = bloated(home.path(), 50);
    let journal = open(home.path());
    journal.lose_index();
    assert!(journal.stats().index_live_bytes.is_none());
    journal.compact(&mut |_, _| true).unwrap();
    let stats = journal.stats();
    assert_eq!((stats.problem, stats.index_live_bytes.is_some()), (None, true));
    assert_eq!(check_whole(&journal), all);
    append(&journal, &stream("later"), 0, vec![event(1)]).unwrap();
}

#[test]
fn a_crash_at_any_step_leaves_an_index_that_can_be_used() {
    let home = tempfile::tempdir().unwrap();
    let original = home.path().join("original");
    let all = bloated(&original, 60);
    // A complete new index, an incomplete one, and a torn one.
    let build = |name: &str, to: u64| {
        let folder = home.path().join(name);
        let index = index::Index::open_unrepaired(&folder).unwrap();
        super::super::recovery::catch_up(&index, &original.join("segments"), Position(to)).unwrap();
        drop(index);
        folder
    };
    let (whole, half) = (build("whole", 60), build("half", 20));
    let torn = home.path().join("torn");
    copy_folder(&whole, &torn);
    let db = fs::read(torn.join("db")).unwrap();
    fs::write(torn.join("db"), &db[..db.len() / 3]).unwrap();
    // The contents of `sled`, `sled.new` and `sled.old`.
    let old = original.join("sled");
    type State<'a> = (&'a str, Option<&'a Path>, Option<&'a Path>, Option<&'a Path>);
    let states: [State<'_>; 8] = [
        ("begun", Some(&old), Some(&half), None),
        ("torn", Some(&old), Some(&torn), None),
        ("built", Some(&old), Some(&whole), None),
        ("old moved", None, Some(&whole), Some(&old)),
        ("new moved", Some(&whole), None, Some(&old)),
        ("old half removed", Some(&whole), None, Some(&torn)),
        ("only old", None, None, Some(&old)),
        ("begun without one", None, Some(&half), None),
    ];
    for (name, current, new, replaced) in states {
        let log = home.path().join(format!("log {name}"));
        copy_folder(&original.join("segments"), &log.join("segments"));
        for (place, from) in [("sled", current), ("sled.new", new), ("sled.old", replaced)] {
            if let Some(from) = from {
                copy_folder(from, &log.join(place));
            }
        }
        let recovery = check_opens_with(&log, &all, name);
        assert_eq!(recovery.index_put_aside, None, "{name}");
        assert!(!log.join("sled.new").exists() && !log.join("sled.old").exists(), "{name}");
        let journal = open(&log);
        assert_eq!(journal.verify(&mut CollectRecords::default()).unwrap().findings, [], "{name}");
    }
}

#[test]
fn live_bytes_are_what_an_index_written_anew_is_given() {
    let home = tempfile::tempdir().unwrap();
    bloated(home.path(), 3_000);
    let journal = open(home.path());
    let live = journal.stats().index_live_bytes.unwrap();
    assert!(live > 3_000 * 20, "{live}");
    let on_disk = folder_bytes(&home.path().join("sled"));
    assert!(on_disk > live, "{on_disk} {live}");
    journal.compact(&mut |_, _| true).unwrap();
    journal.close();
    let counted = index::open(home.path()).unwrap().index;
    let mut all = 0;
    for pair in counted.db().iter() {
        let (key, value) = pair.unwrap();
        all += if key == b"c" { 0 } else { (key.len() + value.len()) as u64 };
    }
    assert_eq!(counted.checkpoint().unwrap().live_bytes, all, "counted as it was taken in");
}
