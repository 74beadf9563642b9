//! The index: rebuilt if it is lost, damaged or of another log; caught up if it lags; dispensable if it fails.

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
