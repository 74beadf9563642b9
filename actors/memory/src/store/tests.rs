//! A memory whose process died while segments were still to be merged.

use baton_conversation::item::{Agent, Role};
use baton_conversation::record::{Position, SessionId, Timestamp};
use baton_conversation::turns::Unit;
use baton_conversation::usage::Course;
use baton_events::schema::outcomes::Outcomes;
use baton_graph::Graph;
use tantivy::indexer::NoMergePolicy;
use uuid::Uuid;

use super::*;
use crate::Titles;

fn units(id: &str, texts: usize) -> Vec<Unit> {
    let text = |line| format!("{id} says {line}");
    let unit = |line| Unit { line, part: 0, at: None, role: Role::User, record: None, text: text(line) };
    (1..=texts as u64).map(unit).collect()
}

fn put(store: &mut Store, id: &str, texts: usize) {
    put_units(store, id, &units(id, texts)).unwrap();
}

fn put_units(store: &mut Store, id: &str, units: &dyn crate::Units) -> Result<(), Error> {
    let entry = Entry {
        session: &SessionId::new(id).unwrap(),
        generation: 1,
        project: None,
        group_id: "/srv/shop",
        agent: Agent::ClaudeCode,
        title: id,
        episode_uuid: Uuid::from_u128(1),
        episode_text: "",
        ended_at: None,
        indexed_at: Timestamp(0),
        parent: None,
        links: &[],
        titles: &Titles::default(),
        units,
        changed_from: 0,
        graph: &Graph::default(),
        outcomes: &Outcomes::default(),
        usage: &Course::default(),
    };
    store.put(&entry)
}

fn commit(store: &mut Store, position: u64) {
    store.commit(Checkpoint { position: Position(position), chain: [position as u8; 16] }).unwrap();
}

/// A memory whose segments are not merged: a large one, and a small one with a session that is removed last of all.
fn unmerged(dir: &Path) -> Store {
    let mut store = Store::open(dir).unwrap().store;
    store.writer().unwrap().set_merge_policy(Box::new(NoMergePolicy));
    put(&mut store, "large", 20);
    commit(&mut store, 1);
    put(&mut store, "kept", 3);
    put(&mut store, "removed", 3);
    put(&mut store, "still", 3);
    commit(&mut store, 2);
    store.remove(&SessionId::new("removed").unwrap()).unwrap();
    commit(&mut store, 3);
    store
}

fn held(store: &Store) -> Vec<String> {
    let lines = store.searcher().dump().unwrap();
    lines.iter().map(|line| line.split(" pairs").next().unwrap().to_owned()).collect()
}

#[test]
fn what_the_next_writer_replaces_first_is_replaced_also_in_segments_that_it_merges() {
    let dir = tempfile::tempdir().unwrap();
    drop(unmerged(dir.path()));
    let mut store = Store::open(dir.path()).unwrap().store;
    let before = held(&store);
    put(&mut store, "kept", 3);
    commit(&mut store, 4);
    store.idle().unwrap();
    assert_eq!(held(&store), before);
}

#[test]
fn a_commit_that_reached_the_disk_though_it_failed_is_not_put_in_twice() {
    // While a session is put off, a commit repeats the checkpoint of the one before it.
    for before in [None, Some(6), Some(7)] {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::open(dir.path()).unwrap().store;
        before.into_iter().for_each(|position| commit(&mut store, position));
        put(&mut store, "kept", 3);
        let checkpoint = Checkpoint { position: Position(7), chain: [7; 16] };
        let mut prepared = store.writer().unwrap().prepare_commit().unwrap();
        prepared.set_payload(&checkpoint.encode(PROJECTION_VERSION));
        prepared.commit().unwrap();
        store.keep_or_abandon(Err(Error::Broken("injected failure".to_owned()))).unwrap_err();
        // The owner gets one error that says so, and then finds the new checkpoint.
        let error = store.remove(&SessionId::new("kept").unwrap()).and_then(|()| store.clear()).unwrap_err();
        assert!(error.to_string().contains("committed further"), "{error}");
        assert_eq!(store.checkpoint(), Some(checkpoint));
        let held_before = held(&store);
        assert_eq!(held_before.len(), 4);
        put(&mut store, "kept", 3);
        commit(&mut store, 8);
        assert_eq!(held(&store), held_before);
    }
}

#[test]
fn an_entry_that_was_given_up_leaves_what_was_committed() {
    #[derive(Debug)]
    struct GivenUp(Vec<Unit>);
    impl crate::Units for GivenUp {
        fn count(&self) -> usize {
            self.0.len()
        }
        fn each(&self, take: &mut dyn FnMut(&Unit) -> Result<(), Error>) -> Result<(), Error> {
            self.0.iter().try_for_each(take)?;
            Err(Error::GaveWay)
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap().store;
    put(&mut store, "giant", 600);
    put(&mut store, "other", 3);
    commit(&mut store, 1);
    let before = held(&store);
    let error = put_units(&mut store, "giant", &GivenUp(units("giant", 700))).unwrap_err();
    assert!(matches!(error, Error::GaveWay) && !store.is_dirty());
    put(&mut store, "other", 3);
    commit(&mut store, 1);
    assert_eq!(held(&store), before);
    put(&mut store, "giant", 700);
    commit(&mut store, 2);
    assert_eq!(held(&store).len(), before.len() + 100);
}

#[test]
fn what_another_has_committed_meanwhile_is_not_put_in_twice() {
    let dir = tempfile::tempdir().unwrap();
    let mut last = Store::open(dir.path()).unwrap().store;
    put(&mut last, "kept", 3);
    let mut next = Store::open(dir.path()).unwrap().store;
    commit(&mut last, 7);
    drop(last);
    assert_eq!(next.checkpoint(), None);
    let error = next.commit(Checkpoint { position: Position(7), chain: [7; 16] }).unwrap_err();
    assert!(error.to_string().contains("committed further"), "{error}");
    assert_eq!(next.checkpoint().map(|checkpoint| checkpoint.position), Some(Position(7)));
    let before = held(&next);
    put(&mut next, "kept", 3);
    commit(&mut next, 8);
    assert_eq!(before.len(), 4);
    assert_eq!(held(&next), before);
}

/// Copies the files and folders of a memory to another directory.
fn copied(dir: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, copy.path().join(path.file_name().unwrap())).unwrap();
    }
    copy
}

fn deletion_files(dir: &Path) -> BTreeSet<String> {
    let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".del")).collect()
}

#[test]
fn a_commit_that_ended_before_its_metadata_is_made_again() {
    let dir = tempfile::tempdir().unwrap();
    drop(unmerged(dir.path()));
    let change = |dir: &Path| {
        let mut store = Store::open(dir).unwrap().store;
        store.writer().unwrap().set_merge_policy(Box::new(NoMergePolicy));
        store.remove(&SessionId::new("still").unwrap()).unwrap();
        commit(&mut store, 4);
        held(&store)
    };
    // The same work ends in the same number: its first deletion file is the one that the killed process left behind.
    let other = copied(dir.path());
    let before = deletion_files(dir.path());
    let expected = change(other.path());
    let written: Vec<String> = deletion_files(other.path()).difference(&before).cloned().collect();
    assert!(!written.is_empty() && !before.is_empty(), "{written:?} {before:?}");
    for name in &written {
        fs::write(dir.path().join(name), "half").unwrap();
    }
    assert_eq!(change(dir.path()), expected);
    assert_eq!(deletion_files(dir.path()), deletion_files(other.path()));
    let mut store = Store::open(dir.path()).unwrap().store;
    put(&mut store, "kept", 3);
    commit(&mut store, 5);
    store.idle().unwrap();
    assert_eq!(store.checkpoint().unwrap().position, Position(5));
}

#[cfg(unix)]
mod power;
