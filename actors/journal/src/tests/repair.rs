//! Cutting a log: everything before the cut remains, everything from it on is kept elsewhere, and the log can be
//! continued.

use super::super::repair::{self, Error};
use super::super::verify;
use super::verify::CollectRecords;
use super::*;

/// Writes and closes a log of forty records in many segments; returns the records.
fn write_many(log: &Path, seal: bool) -> Vec<StoredRecord> {
    let journal = DiskJournal::open(Options { segment_bytes: 1000, seal, ..options(log) }, Box::new(())).unwrap();
    for number in 0..40 {
        append(&journal, &stream(&format!("s{}", number % 3)), number / 3, vec![event(number)]).unwrap();
    }
    let all = check_whole(&journal);
    assert!(journal.stats().segments > 5);
    if seal {
        // A close does not wait for the sealer.
        journal.wait_sealed();
    }
    journal.close();
    all
}

/// The records of a closed log.
fn read_back(log: &Path) -> Vec<StoredRecord> {
    let mut all = CollectRecords::default();
    assert_eq!(verify::segments(log, &mut all).unwrap().findings, []);
    all.0
}

fn cut(log: &Path, at: u64) -> Result<(u64, Vec<StoredRecord>, Vec<StoredRecord>), Error> {
    let (mut before, mut behind) = (Vec::new(), Vec::new());
    let place = repair::find_cut(log, Position(at), &mut |record| before.push(record.clone()))?;
    let found = repair::read_cut_off(log, &place, &mut |record| behind.push(record.clone()))?;
    assert_eq!(found.records, behind.len() as u64);
    repair::cut(log, &place, &log.join("cut-test"))?;
    Ok((found.unreadable_bytes, before, behind))
}

#[test]
fn a_whole_log_is_cut_at_any_position() {
    let home = tempfile::tempdir().unwrap();
    for (at, seal) in (1..=40).map(|at| (at, at % 2 == 0)) {
        let original = home.path().join(format!("original{seal}"));
        let all = if original.exists() { read_back(&original) } else { write_many(&original, seal) };
        let log = home.path().join(format!("cut{at}"));
        copy_folder(&original, &log);
        let (unreadable, before, behind) = cut(&log, at as u64).unwrap();
        assert_eq!((unreadable, before.as_slice(), behind.as_slice()), (0, &all[..at - 1], &all[at - 1..]), "at {at}");
        assert!(log.join("cut-test/sled/db").exists(), "at {at}: the index may have the only good copy");
        assert!(!log.join("sled").exists(), "at {at}: what the index had beyond it must not come back");
        let recovery = check_opens_with(&log, &all[..at - 1], &format!("cut at {at}"));
        assert_eq!((recovery.cut, recovery.restored), (None, 0), "at {at}");
    }
}

#[test]
fn what_is_cut_is_kept_to_the_byte() {
    let home = tempfile::tempdir().unwrap();
    let log = home.path().join("log");
    write_many(&log, false);
    let bytes = |folder: &Path| -> Vec<u8> {
        let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        names.retain(|path| path.is_file());
        names.sort();
        names.iter().flat_map(|path| fs::read(path).unwrap()).collect()
    };
    let whole = bytes(&log.join("segments"));
    cut(&log, 11).unwrap();
    assert_eq!([bytes(&log.join("segments")), bytes(&log.join("cut-test"))].concat(), whole);
}

#[test]
fn a_damaged_log_is_cut_where_it_is_damaged_and_not_behind() {
    let home = tempfile::tempdir().unwrap();
    let log = home.path().join("log");
    let all = write_many(&log, false);
    let border = borders(&log, 3)[1];
    flip(&segment(&log, 3), border + 30);
    let damage = verify::segments(&log, &mut CollectRecords::default()).unwrap().damage.unwrap();
    assert!(
        matches!(DiskJournal::open(options(&log), Box::new(())), Err(OpenError::Damaged { position, .. }) if position == damage.position)
    );
    let at = damage.position.0;
    let error = cut(&log, at + 1).unwrap_err().to_string();
    assert!(error.contains(&format!("cut at {at} or before")), "{error}");
    assert!(log.join("sled").exists(), "a refused cut changes nothing");
    let error = cut(&home.path().join("none"), 1).unwrap_err().to_string();
    assert!(error.contains("there is nothing to cut"), "{error}");
    let (unreadable, before, behind) = cut(&log, at).unwrap();
    assert_eq!(before, all[..at as usize - 1]);
    // One record is bad; all records written after it are counted.
    assert_eq!(behind, all[at as usize..]);
    assert!(unreadable > 0 && unreadable < 400, "{unreadable}");
    check_opens_with(&log, &all[..at as usize - 1], "cut at the damage");
}

#[test]
fn a_hole_and_a_bad_header_can_be_cut_at() {
    let home = tempfile::tempdir().unwrap();
    let original = home.path().join("original");
    let all = write_many(&original, false);
    type Ruin = (&'static str, fn(&Path));
    let ruin: [Ruin; 3] = [
        ("hole", |log| fs::remove_file(segment(log, 3)).unwrap()),
        ("header", |log| flip(&segment(log, 3), 20)),
        ("empty", |log| fs::write(segment(log, 3), b"").unwrap()),
    ];
    for (name, ruin) in ruin {
        let log = home.path().join(name);
        copy_folder(&original, &log);
        ruin(&log);
        let damage = verify::segments(&log, &mut CollectRecords::default()).unwrap().damage.unwrap();
        let kept = damage.position.0 as usize - 1;
        let (_, before, _) = cut(&log, damage.position.0).unwrap();
        assert_eq!(before, all[..kept], "{name}");
        check_opens_with(&log, &all[..kept], name);
    }
}

#[test]
fn a_cut_that_a_crash_has_ended_is_made_again() {
    let home = tempfile::tempdir().unwrap();
    let original = home.path().join("original");
    let all = write_many(&original, true);
    let place = repair::find_cut(&original, Position(11), &mut |_| {}).unwrap();
    let whole = super::super::segment::load(&segment(&original, 2)).unwrap();
    let files = |log: &Path| {
        let mut files: Vec<_> =
            fs::read_dir(log.join("segments")).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    };
    let count = files(&original).len();
    // After the index was moved, after each later segment was moved, and after the cut segment was replaced but not yet
    // removed.
    for moved in 0..=count - 1 {
        let log = home.path().join(format!("moved{moved}"));
        copy_folder(&original, &log);
        fs::remove_dir_all(log.join("sled")).unwrap();
        fs::write(log.join("segments/0002.seg.cut"), b"half").unwrap();
        let moved_files = files(&log).into_iter().filter(|file| !file.ends_with("0002.seg.cut")).rev().take(moved);
        moved_files.for_each(|file| fs::remove_file(file).unwrap());
        let is_done = moved >= count - 1;
        if is_done {
            // The plain form counts if both exist.
            fs::copy(original.join("segments/0002.seg.zst"), log.join("segments/0002.seg.zst")).unwrap();
            let offset =
                format!("{place:?}").split("offset: ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
            let stays: usize = offset;
            fs::write(segment(&log, 2), &whole[..stays]).unwrap();
        } else if moved < count - 1 {
            match cut(&log, 11) {
                Ok(_) => {}
                Err(error) => assert!(error.to_string().contains("nothing to cut"), "{moved}: {error}"),
            }
        }
        let left = repair::find_cut(&log, Position(11), &mut |_| {}).unwrap_err().to_string();
        assert!(left.contains("nothing to cut"), "{left}");
        let kept =
            usize::try_from(verify::segments(&log, &mut CollectRecords::default()).unwrap().tail.position.0).unwrap();
        assert_eq!(kept, 10, "{moved} moved");
        check_opens_with(&log, &all[..kept], &format!("{moved} segments moved"));
    }
}

#[test]
fn a_sealed_segment_that_is_damaged_is_cut_at_its_first_bad_record() {
    let home = tempfile::tempdir().unwrap();
    let log = home.path().join("log");
    let all = write_many(&log, true);
    let sealed = log.join("segments/0003.seg.zst");
    let length = fs::read(&sealed).unwrap().len();
    flip(&sealed, length - 2);
    let damage = verify::segments(&log, &mut CollectRecords::default()).unwrap().damage.unwrap();
    assert_eq!((damage.segment, damage.path.clone()), (3, sealed.clone()));
    let at = usize::try_from(damage.position.0).unwrap();
    // Only its checksum is bad: the chain proves every record.
    assert_eq!(at, 19, "{damage:?}");
    cut(&log, at as u64).unwrap();
    assert!(!sealed.exists() && log.join("cut-test/0003.seg.zst").exists());
    check_opens_with(&log, &all[..at - 1], "cut behind the sealed one");
}

#[test]
fn what_was_recorded_together_is_cut_together() {
    let home = tempfile::tempdir().unwrap();
    let original = home.path().join("original");
    let journal = DiskJournal::open(Options { seal: false, ..options(&original) }, Box::new(())).unwrap();
    for (name, count) in [("a", 1), ("b", 3), ("c", 2)] {
        append(&journal, &stream(name), 0, (0..count).map(event).collect()).unwrap();
    }
    let all = check_whole(&journal);
    journal.close();
    for (at, kept) in [(1, 0), (2, 1), (3, 1), (4, 1), (5, 4), (6, 4)] {
        let log = home.path().join(format!("at{at}"));
        copy_folder(&original, &log);
        let (_, before, behind) = cut(&log, at).unwrap();
        assert_eq!((before.as_slice(), behind.as_slice()), (&all[..kept], &all[kept..]), "at {at}");
        check_opens_with(&log, &all[..kept], &format!("at {at}"));
    }
}
