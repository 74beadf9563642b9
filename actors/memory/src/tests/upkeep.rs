//! Putting, removing, reopening and damage.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use proptest::prelude::*;

use super::*;
use crate::{Added, PROJECTION_VERSION};

#[test]
fn nothing_is_found_before_the_commit_and_everything_after() {
    let mut memory = Memory::new();
    memory.store.put(&Session::new("s", &["refresh token"]).entry(0)).unwrap();
    assert!(memory.store.is_dirty());
    assert_eq!(memory.sessions("refresh"), [""; 0]);
    memory.store.commit(checkpoint(7)).unwrap();
    assert!(!memory.store.is_dirty());
    assert_eq!(memory.sessions("refresh"), ["s"]);
    assert_eq!(memory.store.checkpoint(), Some(checkpoint(7)));
}

#[test]
fn replaced_text_is_no_longer_found() {
    let mut memory = Memory::of(&[Session::new("s", &["about apples", "and pears"])]);
    let mut session = Session::new("s", &["about cherries"]);
    session.generation = 2;
    memory.store.put(&session.entry(0)).unwrap();
    memory.store.commit(checkpoint(2)).unwrap();
    assert_eq!(memory.sessions("apples"), [""; 0]);
    assert_eq!(memory.sessions("pears"), [""; 0]);
    assert_eq!(memory.sessions("cherries"), ["s"]);
    assert_eq!(memory.searcher.dump().unwrap().len(), 2);
}

#[test]
fn an_append_is_found_and_counted_once() {
    let mut memory = Memory::of(&[Session::new("s", &["one", "two", "three", "four"])]);
    let session = Session::new("s", &["one", "two", "three", "four", "five"]);
    memory.store.put(&session.entry(2)).unwrap();
    memory.store.commit(checkpoint(2)).unwrap();
    assert_eq!(memory.searcher.dump().unwrap(), Memory::of(&[session]).searcher.dump().unwrap());
    assert_eq!(memory.ask("five")[0].line, Some(5));
}

#[test]
fn units_are_added_without_the_rest_which_replaces_them() {
    let texts = ["one", "two", "three", "four", "five"];
    let files = ["a.rs", "b.rs", "c.rs", "d.rs"];
    let session = |units: usize| Session::new("s", &texts[..units]).touching(&files);
    let mut memory = Memory::of(&[session(3)]);
    let facts = |memory: &Memory| memory.searcher.dump().unwrap().len();
    let before = facts(&memory);
    // The fourth unit is added, and then replaced together with a fifth.
    for (known, units) in [(3, 4), (4, 5)] {
        let grown = session(units);
        let (origin, units) = (grown.entry(0).origin(), &grown.units[3..]);
        memory.store.add(&Added { origin, from: 3, known, units }).unwrap();
        memory.store.commit(checkpoint(2)).unwrap();
        assert!(memory.store.holds(&grown.id).unwrap());
        assert_eq!(memory.sessions("four"), ["s"]);
    }
    assert_eq!(memory.sessions("five"), ["s"]);
    assert_eq!(facts(&memory), before + 2, "nothing but two units has come or gone");
    memory.store.put(&session(5).entry(3)).unwrap();
    memory.store.commit(checkpoint(3)).unwrap();
    assert_eq!(memory.searcher.dump().unwrap(), Memory::of(&[session(5)]).searcher.dump().unwrap());
}

#[test]
fn what_does_not_continue_what_is_there_replaces_it() {
    let base = Session::new("s", &["one", "two", "three", "four"]);
    let check = |change: &dyn Fn(&mut Session), changed_from: usize| {
        let mut memory = Memory::of(std::slice::from_ref(&base));
        let mut session = base.clone();
        session.units.push(unit(5, "five"));
        change(&mut session);
        memory.store.put(&session.entry(changed_from)).unwrap();
        memory.store.commit(checkpoint(2)).unwrap();
        assert_eq!(memory.searcher.dump().unwrap(), Memory::of(&[session]).searcher.dump().unwrap());
    };
    check(&|session| session.generation = 2, 3);
    check(&|session| session.project = "/elsewhere".to_owned(), 3);
    check(&|_| {}, 5);
    check(&|_| {}, 99);
    check(&|session| session.units.truncate(1), 0);
    check(&|session| session.units.truncate(2), 5);
    check(&|session| session.units.clear(), 0);
}

#[test]
fn a_removed_session_is_gone() {
    let mut memory = Memory::of(&[Session::new("s", &["apples"]), Session::new("t", &["apples"])]);
    memory.store.remove(&SessionId::new("s").unwrap()).unwrap();
    memory.store.remove(&SessionId::new("never heard of").unwrap()).unwrap();
    memory.store.commit(checkpoint(2)).unwrap();
    assert_eq!(memory.sessions("apples"), ["t"]);
    memory.store.put(&Session::new("s", &["pears"]).entry(0)).unwrap();
    memory.store.remove(&SessionId::new("s").unwrap()).unwrap();
    memory.store.commit(checkpoint(3)).unwrap();
    assert_eq!(memory.sessions("pears"), [""; 0]);
}

/// True if a word is in any file, including deleted documents.
fn is_in_files(memory: &Memory, word: &str) -> bool {
    memory.store.raw_contents().unwrap().iter().any(|found| found.contains(word))
}

#[test]
fn what_is_purged_is_in_no_file() {
    let sessions = |range: std::ops::Range<u32>| -> Vec<Session> {
        range.map(|n| Session::new(&format!("s{n}"), &["about plums", "wombat platypus"])).collect()
    };
    let mut memory = Memory::of(&sessions(0..3));
    let mut forgotten = Session::new("f", &["the quokka came", "and went", "for ever"]).touching(&["/srv/numbat.rs"]);
    memory.store.put(&forgotten.entry(0)).unwrap();
    memory.store.commit(checkpoint(2)).unwrap();
    // Text replaced by an append is still in the older segment.
    forgotten.units.push(unit(4, "a bilby came"));
    forgotten.episode = "episode of the dunnart".to_owned();
    memory.store.put(&forgotten.entry(2)).unwrap();
    for session in sessions(3..5) {
        memory.store.put(&session.entry(0)).unwrap();
    }
    memory.store.commit(checkpoint(3)).unwrap();
    let words = ["quokka", "bilby", "dunnart", "numbat"];
    for word in words {
        assert!(is_in_files(&memory, word), "{word}");
    }
    let before = memory.searcher.pinned();
    memory.store.remove(&forgotten.id).unwrap();
    assert!(memory.store.purge(std::slice::from_ref(&forgotten.id), &[]).is_err(), "not committed");
    memory.store.commit(checkpoint(4)).unwrap();
    memory.store.purge(std::slice::from_ref(&forgotten.id), &[]).unwrap();
    for word in words {
        assert!(!is_in_files(&memory, word), "{word}");
    }
    assert!(is_in_files(&memory, "platypus"));
    assert_eq!(ids(&before.search(&Query::new("quokka")).unwrap()), ["f"], "a running search continues");
    assert_eq!((memory.sessions("quokka"), memory.sessions("wombat").len()), (vec![], 5));
    assert_eq!(memory.searcher.dump().unwrap(), Memory::of(&sessions(0..5)).searcher.dump().unwrap());
    let files = || fs::read_dir(memory.dir.path()).unwrap().count();
    let count = files();
    memory.store.purge(std::slice::from_ref(&forgotten.id), &[]).unwrap();
    assert_eq!(files(), count, "a second purge changes nothing");
    // A file left by an interrupted merge.
    let stray = memory.dir.path().join("0123456789abcdef0123456789abcdef.store");
    fs::write(&stray, "quokka").unwrap();
    memory.store.purge(&[], &[]).unwrap();
    assert!(!stray.exists());
    // The memory stays usable.
    memory.store.put(&Session::new("g", &["a potoroo"]).entry(0)).unwrap();
    memory.store.commit(checkpoint(5)).unwrap();
    memory.store.idle().unwrap();
    assert_eq!(memory.sessions("potoroo"), ["g"]);
    let Memory { dir, store, searcher } = memory;
    drop((store, searcher));
    assert_eq!(Store::open(dir.path()).unwrap().checkpoint, Some(checkpoint(5)));
}

#[test]
fn a_memory_of_one_session_that_is_purged_is_empty() {
    let session = Session::new("f", &["the quokka came"]);
    let mut memory = Memory::of(std::slice::from_ref(&session));
    memory.store.remove(&session.id).unwrap();
    memory.store.commit(checkpoint(2)).unwrap();
    memory.store.purge(std::slice::from_ref(&session.id), &[]).unwrap();
    assert!(!is_in_files(&memory, "quokka"));
    assert_eq!(memory.store.checkpoint(), Some(checkpoint(2)));
    assert!(memory.searcher.dump().unwrap().is_empty());
}

#[test]
fn a_clear_leaves_nothing_and_a_new_start() {
    let mut memory = Memory::of(&[Session::new("s", &["apples"])]);
    memory.store.put(&Session::new("t", &["apples"]).entry(0)).unwrap();
    memory.store.clear().unwrap();
    assert_eq!((memory.sessions("apples"), memory.store.checkpoint()), (vec![], None));
    memory.store.put(&Session::new("u", &["apples"]).entry(0)).unwrap();
    memory.store.commit(checkpoint(1)).unwrap();
    assert_eq!(memory.sessions("apples"), ["u"]);
}

#[test]
fn a_reopened_memory_goes_on_where_it_was() {
    let Memory { dir, store, searcher } = Memory::of(&[Session::new("s", &["apples"])]);
    let before = searcher.dump().unwrap();
    drop((store, searcher));
    let opened = Store::open(dir.path()).unwrap();
    assert_eq!((opened.checkpoint, opened.wiped), (Some(checkpoint(1)), None));
    let mut memory = Memory { searcher: opened.store.searcher(), store: opened.store, dir };
    assert_eq!(memory.searcher.dump().unwrap(), before);
    memory.store.put(&Session::new("s", &["apples", "pears"]).entry(0)).unwrap();
    memory.store.commit(checkpoint(2)).unwrap();
    memory.store.idle().unwrap();
    assert_eq!(memory.sessions("pears"), ["s"]);
    memory.store.put(&Session::new("t", &["pears"]).entry(0)).unwrap();
    memory.store.idle().unwrap();
    memory.store.commit(checkpoint(3)).unwrap();
    assert_eq!(memory.sessions("pears").len(), 2);
}

#[test]
fn what_was_not_committed_is_not_there_after_reopening() {
    let Memory { dir, mut store, searcher } = Memory::of(&[Session::new("s", &["apples"])]);
    store.put(&Session::new("t", &["pears"]).entry(0)).unwrap();
    drop((store, searcher));
    let opened = Store::open(dir.path()).unwrap();
    assert_eq!(opened.checkpoint, Some(checkpoint(1)));
    assert_eq!(opened.store.searcher().search(&Query::new("pears")).unwrap(), []);
}

#[test]
fn what_cannot_be_used_is_wiped_and_said() {
    type Breakage = fn(&std::path::Path);
    let largest = |dir: &std::path::Path, ends: &str| {
        let mut files: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.retain(|path| path.to_string_lossy().ends_with(ends));
        files.sort_by_key(|path| fs::metadata(path).unwrap().len());
        files.pop().unwrap()
    };
    let check = |what: &str, version: u32, damage: &dyn Fn(&std::path::Path), reason: &str| {
        let Memory { dir, store, searcher } = Memory::of(&[Session::new("s", &["apples", "pears"])]);
        drop((store, searcher));
        damage(dir.path());
        let mut opened = Store::open_version(dir.path(), version).unwrap();
        assert_eq!(opened.checkpoint, None, "{what}");
        let wiped = opened.wiped.unwrap_or_default();
        assert!(wiped.contains(reason), "{what}: {wiped}");
        opened.store.put(&Session::new("s", &["cherries"]).entry(0)).unwrap();
        opened.store.commit(checkpoint(1)).unwrap();
        assert_eq!(opened.store.searcher().dump().unwrap().len(), 2, "{what}");
    };
    let overwrite: Breakage = |dir| fs::write(dir.join("meta.json"), "{").unwrap();
    let remove_meta: Breakage = |dir| fs::remove_file(dir.join("meta.json")).unwrap();
    check("another version", PROJECTION_VERSION + 1, &|_| {}, "version");
    check("torn meta", PROJECTION_VERSION, &overwrite, "");
    check("no meta", PROJECTION_VERSION, &remove_meta, "");
    check("a lost file", PROJECTION_VERSION, &|dir| fs::remove_file(largest(dir, ".idx")).unwrap(), "");
    check("an emptied file", PROJECTION_VERSION, &|dir| fs::write(largest(dir, ".store"), b"").unwrap(), "");
    check(
        "a flipped bit",
        PROJECTION_VERSION,
        &|dir| {
            let path = largest(dir, ".store");
            let mut bytes = fs::read(&path).unwrap();
            bytes[3] ^= 1;
            fs::write(path, bytes).unwrap();
        },
        "damaged",
    );
}

/// An operation on a memory.
#[derive(Clone, Debug)]
enum Step {
    Append { session: usize, words: Vec<u8> },
    Edit { session: usize, from: usize, words: Vec<u8> },
    Rewrite { session: usize, words: Vec<u8> },
    Move { session: usize },
    Remove { session: usize },
    Commit,
    Idle,
}

fn step() -> impl Strategy<Value = Step> {
    let words = || proptest::collection::vec(0_u8..40, 1..5);
    prop_oneof![
        4 => (0_usize..4, words()).prop_map(|(session, words)| Step::Append { session, words }),
        2 => (0_usize..4, 0_usize..6, words()).prop_map(|(session, from, words)| Step::Edit { session, from, words }),
        1 => (0_usize..4, words()).prop_map(|(session, words)| Step::Rewrite { session, words }),
        1 => (0_usize..4).prop_map(|session| Step::Move { session }),
        1 => (0_usize..4).prop_map(|session| Step::Remove { session }),
        2 => Just(Step::Commit),
        1 => Just(Step::Idle),
    ]
}

fn text(word: u8) -> String {
    format!("word{word} the token_{} of src/file{}.rs:{word} again", word % 7, word % 3)
}

/// Mentions in the graph the files that the units name.
fn derive(session: &mut Session) {
    let texts = session.units.iter().flat_map(|unit| unit.text.split([' ', ':']));
    let files: BTreeSet<&str> = texts.filter(|word| word.starts_with("src/")).collect();
    session.graph = graph(&session.project, &session.id, &files.into_iter().collect::<Vec<_>>());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn i5_a_maintained_memory_equals_one_filled_afresh(steps in proptest::collection::vec(step(), 1..30)) {
        let mut memory = Memory::new();
        let mut model: BTreeMap<usize, Session> = BTreeMap::new();
        for step in steps {
            let id = |session: usize| format!("session-{session}");
            match step {
                Step::Append { session, words } => {
                    let entry = model.entry(session).or_insert_with(|| Session::new(&id(session), &[]));
                    let before = entry.units.len();
                    for word in words {
                        entry.units.push(unit(entry.units.len() as u64 + 1, &text(word)));
                    }
                    derive(entry);
                    let from = before.saturating_sub(1);
                    if memory.store.holds(&entry.id).unwrap() {
                        let (origin, units) = (entry.entry(0).origin(), &entry.units[from..]);
                        memory.store.add(&Added { origin, from, known: before, units }).unwrap();
                        prop_assert!(memory.store.holds(&entry.id).unwrap());
                    }
                    memory.store.put(&entry.entry(before.saturating_sub(2))).unwrap();
                }
                Step::Edit { session, from, words } => {
                    let entry = model.entry(session).or_insert_with(|| Session::new(&id(session), &[]));
                    let from = from.min(entry.units.len());
                    entry.units.truncate(from);
                    for word in words {
                        entry.units.push(unit(entry.units.len() as u64 + 1, &text(word)));
                    }
                    derive(entry);
                    memory.store.put(&entry.entry(from.saturating_sub(2))).unwrap();
                }
                Step::Rewrite { session, words } => {
                    let generation = model.get(&session).map_or(1, |old| old.generation + 1);
                    let texts: Vec<String> = words.iter().map(|word| text(*word)).collect();
                    let mut new = Session::new(&id(session), &texts.iter().map(String::as_str).collect::<Vec<_>>());
                    new.generation = generation;
                    derive(&mut new);
                    memory.store.put(&new.entry(0)).unwrap();
                    model.insert(session, new);
                }
                Step::Move { session } => {
                    if let Some(entry) = model.get_mut(&session) {
                        entry.project.push('x');
                        derive(entry);
                        memory.store.put(&entry.entry(entry.units.len())).unwrap();
                    }
                }
                Step::Remove { session } => {
                    memory.store.remove(&SessionId::new(&id(session)).unwrap()).unwrap();
                    model.remove(&session);
                }
                Step::Commit => memory.store.commit(checkpoint(1)).unwrap(),
                Step::Idle => memory.store.idle().unwrap(),
            }
        }
        memory.store.commit(checkpoint(2)).unwrap();
        let fresh = Memory::of(&model.into_values().collect::<Vec<_>>());
        prop_assert_eq!(memory.searcher.dump().unwrap(), fresh.searcher.dump().unwrap());
    }
}
