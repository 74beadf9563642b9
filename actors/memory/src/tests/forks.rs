//! Sessions that share records.

use baton_conversation::hash::Mark;

use super::*;
use crate::RelatedSession;

/// A session with these records (id and text). An empty id means no id.
fn session(id: &str, records: &[(&str, &str)]) -> Session {
    let texts: Vec<&str> = records.iter().map(|(_, text)| *text).collect();
    let mut session = Session::new(id, &texts);
    for (unit, (uuid, _)) in session.units.iter_mut().zip(records) {
        unit.record = (!uuid.is_empty()).then(|| Mark::digest(uuid.as_bytes()));
    }
    session
}

fn related(memory: &Memory, id: &str) -> String {
    let kin = memory.searcher.related_sessions(&SessionId::new(id).unwrap()).unwrap();
    let lines: Vec<String> =
        kin.iter().map(|RelatedSession { session, shared }| format!("{session}:{shared}")).collect();
    lines.join(" ")
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
    assert_eq!(related(&memory, "base"), "late:3 early:1");
    assert_eq!(related(&memory, "early"), "base:1 late:1", "equals by id");
    assert_eq!(related(&memory, "alone"), "");
    assert_eq!(related(&memory, "nameless"), "", "records without ids are not shared");
    assert_eq!(related(&memory, "unknown"), "");
    memory.store.remove(&SessionId::new("late").unwrap()).unwrap();
    memory.store.commit(checkpoint(2)).unwrap();
    assert_eq!(related(&memory, "base"), "early:1", "a removed session is not related");
}

#[test]
fn records_are_told_apart_whose_keys_begin_alike() {
    let alike = |id: &str, key: u64| {
        let mut session = session(id, &[("r", "one")]);
        session.units[0].record = Some(Mark(key));
        session
    };
    let memory = Memory::of(&[alike("first", 1), alike("fork", 1), alike("other", 2), alike("far", 1 << 63)]);
    assert_eq!(related(&memory, "first"), "fork:1");
    assert_eq!(related(&memory, "other"), "");
    let holders = memory.searcher.holders_of_record(Mark(1)).unwrap();
    assert_eq!(holders.iter().map(SessionId::as_str).collect::<Vec<_>>(), ["first", "fork"]);
}

#[test]
fn a_record_cut_in_several_counts_once() {
    let mut long = session("long", &[("r1", "one"), ("r1", "still one"), ("r2", "two")]);
    long.units[1] = Unit { line: 1, part: 1, ..long.units[1].clone() };
    let memory = Memory::of(&[long, session("fork", &[("r1", "one"), ("r2", "two")])]);
    assert_eq!(related(&memory, "long"), "fork:2");
    assert_eq!(related(&memory, "fork"), "long:2");
}

#[test]
fn a_short_fork_of_a_long_session_is_found_with_its_whole_count() {
    let names: Vec<String> = (0..2_000).map(|number| format!("r{number}")).collect();
    let long: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "word")).collect();
    let memory = Memory::of(&[session("long", &long), session("fork", &long[..3]), session("half", &long[..1_000])]);
    assert_eq!(related(&memory, "long"), "half:1000 fork:3");
    assert_eq!(related(&memory, "fork"), "half:3 long:3");
}

#[test]
fn kin_are_bounded() {
    let memory =
        Memory::of(&(0..70).map(|number| session(&format!("s{number:02}"), &[("r1", "one")])).collect::<Vec<_>>());
    let kin = memory.searcher.related_sessions(&SessionId::new("s07").unwrap()).unwrap();
    assert_eq!((kin.len(), kin[0].session.as_str(), kin[63].session.as_str()), (64, "s00", "s64"));
}

#[test]
fn the_ids_of_records_are_kept_through_an_append() {
    let mut memory = Memory::of(&[session("a", &[("r1", "one"), ("r2", "two"), ("r3", "three")])]);
    let grown = session("a", &[("r1", "one"), ("r2", "two"), ("r3", "three"), ("r4", "four")]);
    memory.store.put(&grown.entry(1)).unwrap();
    memory.store.put(&session("b", &[("r1", "one"), ("r4", "four")]).entry(0)).unwrap();
    memory.store.commit(checkpoint(2)).unwrap();
    assert_eq!(related(&memory, "b"), "a:2");
    let renamed = session("a", &[("r1", "one"), ("r2", "two"), ("r3", "three"), ("other", "four")]);
    memory.store.put(&renamed.entry(0)).unwrap();
    memory.store.commit(checkpoint(3)).unwrap();
    assert_eq!(related(&memory, "b"), "a:1", "equal text in another record is not shared");
}

/// The lines that a query finds, by session, best first.
fn found(memory: &Memory, query: &Query<'_>) -> String {
    let mut sessions: Vec<(String, Vec<String>)> = Vec::new();
    for hit in memory.searcher.search(query).unwrap() {
        let (id, line) = (hit.session_id.to_string(), hit.line.map_or("episode".to_owned(), |line| line.to_string()));
        match sessions.last_mut().filter(|(last, _)| *last == id) {
            Some((_, lines)) => lines.push(line),
            None => sessions.push((id, vec![line])),
        }
    }
    let mut lines: Vec<String> = sessions
        .into_iter()
        .map(|(id, mut lines)| {
            lines.sort();
            format!("{id}:{}", lines.join(","))
        })
        .collect();
    lines.sort();
    lines.join(" ")
}

#[test]
fn a_copied_turn_is_found_once_in_the_eldest_that_is_shown() {
    let base = [("r1", "the zebra parser"), ("r2", "mended the zebra lexer"), ("r3", "zebra thanks")];
    let mut fork = base.to_vec();
    fork.push(("f4", "a giraffe and a zebra of the fork"));
    let mut second = fork.clone();
    second.push(("s5", "a giraffe of the second"));
    let memory = Memory::of(&[
        session("b-base", &base),
        session("c-fork", &fork).in_project("/srv/worktree"),
        session("a-second", &second),
        session("other", &[("o1", "another zebra")]),
    ]);
    let ages = ["b-base", "c-fork", "a-second", "other"];
    let age = |id: &str| ages.iter().position(|known| *known == id);
    let elder = |one: &str, other: &str| age(one).cmp(&age(other));
    let asked = |text| Query { elder: &elder, turns_per_session: 9, ..Query::new(text) };
    assert_eq!(found(&memory, &asked("zebra")), "b-base:1,2,3 c-fork:4 other:1");
    assert_eq!(found(&memory, &asked("giraffe")), "a-second:5 c-fork:4", "found by its own later turns");
    assert_eq!(found(&memory, &asked("mended lexer")), "b-base:1,2,3", "a fork of copies alone is left out");
    let hidden = |id: &str| id == "b-base";
    let without = Query { exclude: &hidden, ..asked("zebra") };
    assert_eq!(found(&memory, &without), "c-fork:1,2,3,4 other:1", "a hidden session owns nothing");
    let in_shop = Query { project: Some("/srv/shop"), ..asked("giraffe") };
    assert_eq!(found(&memory, &in_shop), "a-second:4,5", "nor does one of another project");
    assert_eq!(
        found(&memory, &Query { turns_per_session: 9, ..Query::new("zebra") }),
        "a-second:1,2,3,4,5 other:1",
        "by id where nobody says"
    );
}

#[test]
fn a_session_of_copies_is_not_found_by_its_episode_either() {
    let mut fork = session("z-fork", &[("r1", "the zebra parser"), ("f2", "thanks")]);
    fork.episode = "the zebra parser".to_owned();
    let memory = Memory::of(&[session("base", &[("r1", "the zebra parser")]), fork]);
    assert_eq!(found(&memory, &Query::new("zebra")), "base:1");
}

#[test]
fn many_forks_do_not_fill_the_page() {
    let names: Vec<String> = (0..150).map(|number| format!("r{number}")).collect();
    let records: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "zebra zebra")).collect();
    let mut sessions: Vec<Session> = (0..6).map(|number| session(&format!("s{number}"), &records)).collect();
    sessions.push(session("weak", &[("w1", "one zebra among very many other words that say something else")]));
    let memory = Memory::of(&sessions);
    let hits = memory.searcher.search(&Query::new("zebra")).unwrap();
    assert_eq!(ids(&hits), ["s0", "weak"]);
}

#[test]
fn who_names_a_session_is_known_by_it() {
    let id = |id: &str| SessionId::new(id).unwrap();
    let mut fork = session("fork", &[("f1", "one")]);
    fork.links = vec![(Link::ForkedFrom, id("base")), (Link::ContinuedIn, id("next"))];
    let mut other = session("other", &[("o1", "one")]);
    other.links = vec![(Link::ForkedFrom, id("base")), (Link::ForkedFrom, id("base"))];
    let memory = Memory::of(&[session("base", &[("r1", "one")]), other, fork]);
    let naming = |name: &str| memory.searcher.sessions_naming(&id(name)).unwrap();
    assert_eq!(naming("base"), [(Link::ForkedFrom, id("fork")), (Link::ForkedFrom, id("other"))]);
    assert_eq!(naming("next"), [(Link::ContinuedIn, id("fork"))]);
    assert_eq!(naming("fork"), []);
}
