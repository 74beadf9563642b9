//! Changes single bytes of the memory's files on disk: it finds the same as before, or is rebuilt and gives the reason.

use std::fs;

use super::*;

#[test]
fn a_changed_byte_never_changes_an_answer() {
    const POSITIONS: u64 = 150;
    let sessions = [
        Session::new("one", &["the quick wolverine sleeps", "the answer about otters"]).touching(&["src/one.rs"]),
        Session::new("two", &["a badger asks", "nobody answers badgers"]).in_project("/srv/other"),
    ];
    let memory = Memory::of(&sessions);
    let questions = ["wolverine", "otters", "badger", "nothing"];
    let expected: Vec<Vec<String>> = questions.iter().map(|text| memory.sessions(text)).collect();
    assert_eq!(expected[0], ["one"]);
    let Memory { dir, store, searcher } = memory;
    drop((store, searcher));
    let mut files: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.is_file() && fs::metadata(path).unwrap().len() > 0);
    files.sort();
    let mut number = 0x0ba7_0002_u64;
    let mut next = |below: usize| {
        number ^= number << 13;
        number ^= number >> 7;
        number ^= number << 17;
        (number % below as u64) as usize
    };
    let (mut same, mut anew) = (0, 0);
    for turn in 0..POSITIONS {
        let file = &files[turn as usize % files.len()];
        let copy = tempfile::tempdir().unwrap();
        for path in fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path()) {
            fs::copy(&path, copy.path().join(path.file_name().unwrap())).unwrap();
        }
        let target = copy.path().join(file.file_name().unwrap());
        let mut bytes = fs::read(&target).unwrap();
        let at = next(bytes.len());
        bytes[at] ^= 1 << next(8);
        fs::write(&target, bytes).unwrap();
        let case = format!("{} at {at}", file.display());
        let opened = Store::open(copy.path()).expect(&case);
        let searcher = opened.store.searcher();
        match (&opened.wiped, opened.checkpoint) {
            (Some(reason), None) => {
                assert!(!reason.is_empty(), "{case}");
                assert_eq!(searcher.counts(), (0, 0), "{case}: nothing of the old one is left");
                anew += 1;
            }
            (None, Some(at)) => {
                assert_eq!(at, checkpoint(1), "{case}");
                let found: Vec<_> =
                    questions.iter().map(|text| ids(&searcher.search(&Query::new(text)).unwrap())).collect();
                assert_eq!(found, expected, "{case}");
                same += 1;
            }
            other => panic!("{case}: {other:?}"),
        }
    }
    assert!(anew > 50 && same + anew == POSITIONS, "{same} the same, {anew} begun anew");
}
