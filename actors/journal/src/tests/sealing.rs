//! Sealed segments: the log stays the same after a crash at any step and a failure of any file operation.

use super::super::files::DiskFiles;
use super::super::sealer::{Outcome, seal};
use super::super::segment::{self as format, sealed};
use super::faults::{Fault, FaultyFiles, Op};
use super::*;

fn small(log: &Path, seal: bool) -> Options {
    Options { segment_bytes: 1200, seal, ..options(log) }
}

/// Writes a log of several unsealed segments; returns its records.
fn unsealed(log: &Path) -> Vec<StoredRecord> {
    let journal = DiskJournal::open(small(log, false), Box::new(())).unwrap();
    for number in 0..30 {
        append(&journal, &stream(&format!("s{}", number % 3)), number / 3, vec![event(number)]).unwrap();
    }
    let all = check_whole(&journal);
    assert!(journal.stats().segments >= 4);
    journal.close();
    all
}

fn folder(log: &Path) -> PathBuf {
    log.join("segments")
}

/// The names in the folder of segments.
fn names(log: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder(log)).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

/// Checks that the log has these records when opened, when sealed as far as possible, and when opened without its
/// index.
fn check_sealed(log: &Path, all: &[StoredRecord], case: &str) {
    let journal = DiskJournal::open(small(log, true), Box::new(())).expect(case);
    assert_eq!(check_whole(&journal), all, "{case}: opened");
    journal.wait_sealed();
    assert_eq!(check_whole(&journal), all, "{case}: sealed");
    assert_eq!(journal.stats().problem, None, "{case}");
    let on_disk: u64 = fs::read_dir(folder(log)).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
    let stats = journal.stats();
    assert_eq!(stats.bytes, on_disk, "{case}: bytes");
    journal.lose_index();
    assert_eq!(check_whole(&journal), all, "{case}: read from sealed segments");
    journal.close();
    let last = usize::try_from(stats.segments).unwrap();
    let expected: Vec<_> = (1..=last)
        .map(|number| if number == last { format!("{number:04}.seg") } else { format!("{number:04}.seg.zst") })
        .collect();
    assert_eq!(names(log), expected, "{case}");
    fs::remove_dir_all(log.join("sled")).unwrap();
    let journal = DiskJournal::open(small(log, true), Box::new(())).expect(case);
    assert_eq!(check_whole(&journal), all, "{case}: index rebuilt from sealed segments");
    assert_eq!(journal.stats().bytes, stats.bytes, "{case}");
    append(&journal, &stream("more"), 0, vec![event(1)]).expect(case);
    journal.close();
}

#[test]
fn full_segments_are_sealed_while_the_log_is_written() {
    let home = tempfile::tempdir().unwrap();
    let journal = DiskJournal::open(small(home.path(), true), Box::new(())).unwrap();
    for number in 0..60 {
        append(&journal, &stream(&format!("s{}", number % 3)), number / 3, vec![event(number)]).unwrap();
    }
    journal.wait_sealed();
    let sealed = names(home.path()).iter().filter(|name| name.ends_with(".zst")).count() as u64;
    assert_eq!(sealed + 1, journal.stats().segments);
    let all = check_whole(&journal);
    journal.close();
    check_sealed(home.path(), &all, "written");
}

#[test]
fn a_sealer_that_panics_is_reported_and_the_log_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let all = unsealed(home.path());
    let files = FaultyFiles::default();
    files.plan(&[Fault::Panic]);
    let options = Options { files: Arc::new(files), ..small(home.path(), true) };
    let journal = DiskJournal::open(options, Box::new(())).unwrap();
    journal.wait_sealed();
    assert!(journal.stats().problem.unwrap().contains("the sealer panicked"));
    assert_eq!(check_whole(&journal), all);
    append(&journal, &stream("more"), 0, vec![event(1)]).unwrap();
    journal.close();
}

#[test]
fn a_crash_at_any_step_of_sealing_costs_nothing() {
    let home = tempfile::tempdir().unwrap();
    let all = unsealed(home.path());
    let raw = segment(home.path(), 2);
    // The files that sealing leaves, step by step.
    let done = tempfile::tempdir().unwrap();
    copy_folder(home.path(), done.path());
    assert!(matches!(seal(&DiskFiles, &folder(done.path()), 2, || true), Ok(Outcome::Sealed(_))));
    let packed = fs::read(sealed::sealed_path(&segment(done.path(), 2))).unwrap();
    assert!(!segment(done.path(), 2).exists());
    check_sealed(done.path(), &all, "after the last step");
    let check = |case: &str, leave: &dyn Fn(&Path)| {
        let copy = tempfile::tempdir().unwrap();
        copy_folder(home.path(), copy.path());
        leave(copy.path());
        check_sealed(copy.path(), &all, case);
    };
    let temporary = |log: &Path| sealed::temporary_path(&segment(log, 2));
    let named = |log: &Path| sealed::sealed_path(&segment(log, 2));
    check("nothing yet", &|_| {});
    check("an empty file", &|log| fs::write(temporary(log), "").unwrap());
    check("half a file", &|log| fs::write(temporary(log), &packed[..packed.len() / 2]).unwrap());
    check("unnamed", &|log| fs::write(temporary(log), &packed).unwrap());
    check("both", &|log| fs::write(named(log), &packed).unwrap());
    check("both, the sealed one cut off", &|log| fs::write(named(log), &packed[..packed.len() - 9]).unwrap());
    check("both, the sealed one of another segment", &|log| {
        seal(&DiskFiles, &folder(log), 3, || true).unwrap();
        fs::copy(sealed::sealed_path(&segment(log, 3)), named(log)).unwrap();
    });
    assert!(raw.exists(), "the original was not touched");
}

#[test]
fn a_failing_file_operation_leaves_the_segment_as_it_is() {
    let home = tempfile::tempdir().unwrap();
    let all = unsealed(home.path());
    let check = |faults: &[Fault]| {
        let case = format!("{faults:?}");
        let copy = tempfile::tempdir().unwrap();
        copy_folder(home.path(), copy.path());
        let files = FaultyFiles::default();
        files.plan(faults);
        seal(&files, &folder(copy.path()), 2, || true).map(|_| ()).expect_err(&case);
        assert!(files.is_done(), "{case}");
        assert!(segment(copy.path(), 2).exists(), "{case}");
        check_sealed(copy.path(), &all, &case);
    };
    check(&[Fault::Create]);
    check(&[Fault::Write]);
    check(&[Fault::ShortWrite(70)]);
    check(&[Fault::Sync]);
    check(&[Fault::Read]);
    check(&[Fault::Rename]);
    check(&[Fault::Rename, Fault::Remove]);
    check(&[Fault::Remove]);
    check(&[Fault::Pass(Op::Create), Fault::Sync]);
}

#[test]
fn a_journal_that_is_closed_does_not_wait_for_sealing() {
    let home = tempfile::tempdir().unwrap();
    let all = unsealed(home.path());
    assert_eq!(seal(&DiskFiles, &folder(home.path()), 1, || false).unwrap(), Outcome::Stopped);
    assert!(names(home.path()).iter().all(|name| name.ends_with(".seg")));
    check_sealed(home.path(), &all, "stopped");
}

#[test]
fn a_damaged_segment_is_told_of_and_not_sealed() {
    let home = tempfile::tempdir().unwrap();
    unsealed(home.path());
    for at in [3, HEADER_BYTES + 30] {
        let copy = tempfile::tempdir().unwrap();
        copy_folder(home.path(), copy.path());
        flip(&segment(copy.path(), 2), at);
        let before = fs::read(segment(copy.path(), 2)).unwrap();
        let error = seal(&DiskFiles, &folder(copy.path()), 2, || true).expect_err("damaged");
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidData, "{error}");
        assert_eq!(fs::read(segment(copy.path(), 2)).unwrap(), before);
        assert_eq!(names(copy.path()), names(home.path()));
    }
    // A valid segment that the next one does not follow.
    let bytes = fs::read(segment(home.path(), 2)).unwrap();
    let last = *borders(home.path(), 2).iter().rev().nth(1).unwrap();
    fs::write(segment(home.path(), 2), &bytes[..last]).unwrap();
    let error = seal(&DiskFiles, &folder(home.path()), 2, || true).expect_err("cut at a border");
    assert!(error.to_string().contains("does not follow"), "{error}");
}

#[test]
fn a_damaged_sealed_segment_is_refused_by_name() {
    let home = tempfile::tempdir().unwrap();
    unsealed(home.path());
    for number in 1..=3 {
        seal(&DiskFiles, &folder(home.path()), number, || true).unwrap();
    }
    let path = sealed::sealed_path(&segment(home.path(), 2));
    let size = usize::try_from(fs::metadata(&path).unwrap().len()).unwrap();
    for (at, expected) in
        [(0, "header"), (50, "header"), (sealed::HEADER_BYTES + 20, "unpacked"), (size - 1, "unpacked")]
    {
        let copy = tempfile::tempdir().unwrap();
        copy_folder(home.path(), copy.path());
        flip(&sealed::sealed_path(&segment(copy.path(), 2)), at);
        fs::remove_dir_all(copy.path().join("sled")).unwrap();
        let error = DiskJournal::open(options(copy.path()), Box::new(())).map(|_| ()).expect_err(expected).to_string();
        assert!(error.contains("0002.seg.zst at byte 0, position") && error.contains(expected), "byte {at}: {error}");
    }
    // The sealed header states end and length, so these are checked without unpacking.
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..size - 1]).unwrap();
    assert!(format::peek(&folder(home.path()), 2).unwrap().header.is_err());
}

/// The last segment is never sealed; if a sealed one is last anyway, the log continues in a new one.
#[test]
fn a_log_that_ends_with_a_sealed_segment_goes_on_in_a_new_one() {
    let home = tempfile::tempdir().unwrap();
    unsealed(home.path());
    let last = u32::try_from(names(home.path()).len()).unwrap();
    seal(&DiskFiles, &folder(home.path()), last - 1, || true).unwrap();
    fs::remove_file(segment(home.path(), last)).unwrap();
    fs::remove_dir_all(home.path().join("sled")).unwrap();
    let journal = DiskJournal::open(small(home.path(), false), Box::new(())).unwrap();
    let rest = check_whole(&journal);
    append(&journal, &stream("more"), 0, vec![event(1)]).unwrap();
    journal.close();
    let journal = DiskJournal::open(small(home.path(), true), Box::new(())).unwrap();
    assert_eq!(check_whole(&journal)[..rest.len()], rest);
}
