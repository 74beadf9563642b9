//! Sessions that hold the same records.

use super::*;
use crate::memory::Kin;

/// A session of these records: their ids, and what was said in them. An empty id is none.
fn session(id: &str, records: &[(&str, &str)]) -> Session {
    let texts: Vec<&str> = records.iter().map(|(_, text)| *text).collect();
    let mut session = Session::new(id, &texts);
    for (unit, (uuid, _)) in session.units.iter_mut().zip(records) {
        unit.uuid = (!uuid.is_empty()).then(|| (*uuid).into());
    }
    session
}

fn kin(memory: &Memory, id: &str) -> String {
    let kin = memory.searcher.kin(&SessionId::new(id).unwrap()).unwrap();
    let told: Vec<String> = kin.iter().map(|Kin { session, shared }| format!("{session}:{shared}")).collect();
    told.join(" ")
}

#[test]
fn kin_share_records_and_the_nearest_come_first() {
    let mut memory = Memory::of(&[
        session("base", &[("r1", "one"), ("r2", "two"), ("r3", "three"), ("", "mine")]),
        session("early", &[("r1", "one"), ("e2", "other two")]),
        session("late", &[("r1", "one"), ("r2", "two"), ("r3", "three"), ("l4", "four")]),
        session("alone", &[("a1", "one"), ("", "two")]),
        session("nameless", &[("", "one")]),
    ]);
    assert_eq!(kin(&memory, "base"), "late:3 early:1");
    assert_eq!(kin(&memory, "early"), "base:1 late:1", "equals by id");
    assert_eq!(kin(&memory, "alone"), "");
    assert_eq!(kin(&memory, "nameless"), "", "what has no id is nobody's copy");
    assert_eq!(kin(&memory, "unknown"), "");
    memory.store.remove(&SessionId::new("late").unwrap()).unwrap();
    memory.store.commit(checkpoint(2)).unwrap();
    assert_eq!(kin(&memory, "base"), "early:1", "what was removed is no kin");
}

#[test]
fn a_record_cut_in_several_counts_once() {
    let mut long = session("long", &[("r1", "one"), ("r1", "still one"), ("r2", "two")]);
    long.units[1] = Unit { line: 1, part: 1, ..long.units[1].clone() };
    let memory = Memory::of(&[long, session("fork", &[("r1", "one"), ("r2", "two")])]);
    assert_eq!(kin(&memory, "long"), "fork:2");
    assert_eq!(kin(&memory, "fork"), "long:2");
}

#[test]
fn a_short_fork_of_a_long_session_is_found_with_its_whole_count() {
    let names: Vec<String> = (0..2_000).map(|number| format!("r{number}")).collect();
    let long: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "word")).collect();
    let memory = Memory::of(&[session("long", &long), session("fork", &long[..3]), session("half", &long[..1_000])]);
    assert_eq!(kin(&memory, "long"), "half:1000 fork:3");
    assert_eq!(kin(&memory, "fork"), "half:3 long:3");
}

#[test]
fn kin_are_bounded() {
    let memory =
        Memory::of(&(0..70).map(|number| session(&format!("s{number:02}"), &[("r1", "one")])).collect::<Vec<_>>());
    let kin = memory.searcher.kin(&SessionId::new("s07").unwrap()).unwrap();
    assert_eq!((kin.len(), kin[0].session.as_str(), kin[63].session.as_str()), (64, "s00", "s64"));
}

#[test]
fn the_ids_of_records_are_kept_through_an_append() {
    let mut memory = Memory::of(&[session("a", &[("r1", "one"), ("r2", "two"), ("r3", "three")])]);
    let grown = session("a", &[("r1", "one"), ("r2", "two"), ("r3", "three"), ("r4", "four")]);
    memory.store.put(&grown.entry(1)).unwrap();
    memory.store.put(&session("b", &[("r1", "one"), ("r4", "four")]).entry(0)).unwrap();
    memory.store.commit(checkpoint(2)).unwrap();
    assert_eq!(kin(&memory, "b"), "a:2");
    let renamed = session("a", &[("r1", "one"), ("r2", "two"), ("r3", "three"), ("other", "four")]);
    memory.store.put(&renamed.entry(0)).unwrap();
    memory.store.commit(checkpoint(3)).unwrap();
    assert_eq!(kin(&memory, "b"), "a:1", "the same words of another record are another's");
}
