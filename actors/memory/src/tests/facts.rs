//! Facts in time: which fact ends which, in any order of indexing.

use baton_conversation::item::{Body, Call, Item, Outcome, ToolResult};
use baton_episode::digest::{Show, digest};
use baton_graph::Surroundings;

use super::graph::NONE;
use super::*;
use crate::{Fact, GraphQuery, Sieve, Window};

const HOUR_MS: i64 = 3_600_000;

/// A session with these items in a given hour; its episode is recorded long after.
fn session_at_hour(id: &str, hour: i64, bodies: Vec<Body>) -> Session {
    let items: Vec<Item> = bodies
        .into_iter()
        .zip(1..)
        .map(|(body, line)| Item {
            line,
            at: Some(Timestamp(hour * HOUR_MS + line as i64)),
            uuid: None,
            message: None,
            sidechain: false,
            body,
        })
        .collect();
    let mut session = Session::new(id, &["said"]);
    // A later hour means more units, and so a later recording.
    session.units = (1..=u64::try_from(hour).unwrap()).map(|line| unit(line, "said")).collect();
    let at = Surroundings {
        session: &session.id,
        group: &session.project,
        project: Some("/srv/shop"),
        parent: None,
        follows: None,
    };
    session.graph = baton_graph::graph(&items, &digest(&items, &Show::default()), &at);
    session
}

fn reply(text: &str) -> Body {
    Body::Reply { text: text.to_owned() }
}

fn prompt(text: &str) -> Body {
    Body::Prompt { text: text.to_owned() }
}

fn ran(command: &str) -> [Body; 2] {
    let id: Box<str> = command.into();
    let input = [("command".to_owned(), serde_json::Value::from(command))].into_iter().collect();
    let call = Call {
        act: baton_conversation::item::Act::of_tool("Bash"),
        id: id.clone(),
        name: "Bash".to_owned(),
        input,
        edit: None,
        commit: None,
        plan: None,
        git_line: None,
    };
    let result = ToolResult {
        id,
        name: Some("Bash".to_owned()),
        outcome: Outcome::Ok,
        exit_code: None,
        text: "Bash: exit 0".to_owned(),
        error: None,
        duration_ms: None,
        agent: None,
        report: None,
    };
    [Body::Call(call), Body::Result(result)]
}

fn changed(path: &str) -> [Body; 2] {
    let [Body::Call(mut call), result] = ran(path) else { unreachable!("a call and its result") };
    call.name = "Edit".to_owned();
    call.edit = Some(baton_conversation::item::Edit {
        path: path.to_owned(),
        added: 1,
        removed: 0,
        ..baton_conversation::item::Edit::default()
    });
    [Body::Call(call), result]
}

/// Facts of these relations: value or target, and begin and end in hours.
fn facts_in_time(memory: &Memory, relations: &[Relation]) -> Vec<String> {
    let sieve = Sieve { relations, ..Sieve::default() };
    let query = GraphQuery { sieve, limit: 100, ..NONE };
    let hour = |at: Option<Timestamp>| at.map_or("-".to_owned(), |at| (at.0 / HOUR_MS).to_string());
    let mut lines: Vec<String> = memory
        .searcher
        .facts(&query)
        .unwrap()
        .found
        .iter()
        .map(|fact| {
            let what = if fact.value.is_empty() { &fact.target_name } else { &fact.value };
            format!("{} {what} {}-{}", fact.name, hour(fact.valid_at), hour(fact.invalid_at))
        })
        .collect();
    lines.sort();
    lines
}

fn find(memory: &Memory, words: &str) -> Fact {
    memory.searcher.facts(&GraphQuery { text: words, ..NONE }).unwrap().found.remove(0)
}

fn history() -> Vec<Session> {
    let work = || prompt("go on");
    vec![
        session_at_hour(
            "a",
            1,
            vec![work(), reply("We use SQLite instead of sled for the log, because it needs no server.")],
        ),
        session_at_hour("b", 2, vec![prompt("always use tabs"), reply("Done.")]),
        session_at_hour("c", 3, [vec![work()], changed("/srv/shop/src/log.rs").to_vec()].concat()),
        session_at_hour(
            "d",
            4,
            vec![work(), reply("We switched from SQLite to sled for the log, because SQLite was slow.")],
        ),
        session_at_hour("e", 5, [vec![work()], ran("git mv src/log.rs src/journal.rs").to_vec()].concat()),
        session_at_hour("f", 6, vec![prompt("from now on use spaces instead of tabs"), reply("Done.")]),
        session_at_hour("g", 7, [vec![work()], ran("cargo add sled").to_vec()].concat()),
        session_at_hour("h", 8, [vec![work()], ran("cargo remove sled").to_vec()].concat()),
    ]
}

const EXPECTED: [&str; 9] = [
    "ADDED_PACKAGE sled 7-8",
    "DECIDED sled 4--",
    "DECIDED sqlite 1-4",
    "MODIFIED src/log.rs 3-5",
    "PREFERS always use tabs 2-6",
    "PREFERS from now on use spaces instead of tabs 6--",
    "REMOVED_PACKAGE sled 8--",
    "RENAMED src/journal.rs 5--",
    "RAN git mv 5--",
];

const ASKED: [Relation; 6] = [
    Relation::AddedPackage,
    Relation::Decided,
    Relation::Modified,
    Relation::Prefers,
    Relation::RemovedPackage,
    Relation::Renamed,
];

#[test]
fn what_contradicts_ends_what_was_said_before() {
    assert_eq!(facts_in_time(&Memory::of(&history()), &ASKED), EXPECTED[..8]);
    assert_eq!(facts_in_time(&Memory::of(&history()[4..5]), &[Relation::Ran]), EXPECTED[8..]);
}

#[test]
fn the_order_of_indexing_does_not_matter() {
    let history = history();
    let dump = |memory: &Memory| memory.searcher.dump().unwrap();
    let (all, lines) = (facts_in_time(&Memory::of(&history), &ASKED), dump(&Memory::of(&history)));
    // Every rotation, forwards and backwards, with each session committed alone.
    for turn in 0..history.len() {
        for backwards in [false, true] {
            let mut order = history.clone();
            order.rotate_left(turn);
            if backwards {
                order.reverse();
            }
            let mut memory = Memory::new();
            for (session, position) in order.iter().zip(1..) {
                memory.store.put(&session.entry(0)).unwrap();
                memory.store.commit(checkpoint(position)).unwrap();
            }
            assert_eq!(facts_in_time(&memory, &ASKED), all, "{turn} {backwards}");
            assert_eq!(dump(&memory), lines, "{turn} {backwards}");
        }
    }
}

#[test]
fn a_contradiction_that_goes_takes_the_end_with_it() {
    let mut memory = Memory::of(&history());
    let ended = find(&memory, "sqlite needs no server");
    assert!(ended.invalid_at.is_some() && ended.expired_at.is_some());
    assert_eq!(ended.ended_by, Some(find(&memory, "switched sqlite slow").uuid));
    memory.store.remove(&SessionId::new("d").unwrap()).unwrap();
    memory.store.commit(checkpoint(2)).unwrap();
    let again = find(&memory, "sqlite needs no server");
    assert_eq!((again.invalid_at, again.expired_at, again.ended_by), (None, None, None));
    assert_eq!(again.uuid, ended.uuid);
    // A session that is merely hidden contradicts nothing either.
    let memory = Memory::of(&history());
    let query = GraphQuery { text: "sqlite needs no server", exclude: &|id| id == "d", ..NONE };
    assert_eq!(memory.searcher.facts(&query).unwrap().found[0].invalid_at, None);
    // Nor does a deleted fact.
    let deleted = find(&memory, "switched sqlite slow").uuid;
    let searcher = memory.searcher.without_facts([deleted]);
    let query = GraphQuery { text: "sqlite needs no server", ..NONE };
    let found = searcher.facts(&query).unwrap().found;
    assert_eq!((found[0].invalid_at, found[0].expired_at, found[0].ended_by), (None, None, None));
    assert!(found.iter().all(|fact| fact.uuid != deleted));
}

#[test]
fn a_contradiction_is_known_when_both_are_recorded() {
    let memory = Memory::of(&history());
    let (fact, other) = (find(&memory, "sqlite needs no server"), find(&memory, "switched sqlite slow"));
    assert_eq!(fact.created_at, Some(Timestamp(1_773_480_500_001)));
    assert_eq!(fact.expired_at, other.created_at);
    assert_eq!(fact.invalid_at, other.valid_at);
}

#[test]
fn what_is_said_again_holds_again() {
    let mut history = history();
    history.push(session_at_hour(
        "i",
        9,
        vec![prompt("go on"), reply("We use SQLite instead of sled for the log, because it needs no server.")],
    ));
    let memory = Memory::of(&history);
    assert_eq!(facts_in_time(&memory, &[Relation::Decided]), ["DECIDED sled 4-9", "DECIDED sqlite 1--"]);
    let fact = find(&memory, "sqlite needs no server");
    assert_eq!((fact.sessions, fact.episodes.len()), (2, 2));
}

#[test]
fn facts_are_asked_for_by_their_times() {
    let memory = Memory::of(&history());
    let at = |hour: i64| Some(Timestamp(hour * HOUR_MS));
    let check = |valid: (i64, i64), invalid: (i64, i64), expected: &[&str]| {
        let window = |(after, before): (i64, i64)| Window {
            after: at(after).filter(|_| after > 0),
            before: at(before).filter(|_| before > 0),
        };
        let sieve = Sieve { relations: &ASKED, names: &[], valid: window(valid), invalid: window(invalid) };
        let found = memory.searcher.facts(&GraphQuery { sieve, limit: 100, ..NONE }).unwrap().found;
        let mut found: Vec<String> = found
            .iter()
            .map(|fact| if fact.value.is_empty() { &fact.target_name } else { &fact.value }.clone())
            .collect();
        found.sort();
        assert_eq!(found, expected, "{valid:?} {invalid:?}");
    };
    check((6, 0), (0, 0), &["from now on use spaces instead of tabs", "sled", "sled"]);
    check((0, 3), (0, 0), &["always use tabs", "sqlite"]);
    check((2, 4), (0, 0), &["always use tabs", "src/log.rs"]);
    check((0, 0), (1, 0), &["always use tabs", "sled", "sqlite", "src/log.rs"]);
    check((0, 0), (5, 7), &["always use tabs", "src/log.rs"]);
    check((3, 0), (0, 6), &["src/log.rs"]);
    check((9, 0), (0, 0), &[]);
    // Pages of facts that had to be read are slices of one ranking, too.
    let sieve = Sieve { invalid: Window { after: at(1), before: None }, ..Sieve::default() };
    let page = |offset, limit| memory.searcher.facts(&GraphQuery { sieve, offset, limit, ..NONE }).unwrap();
    let all = page(0, 100);
    assert!(!all.more && page(0, 1).more);
    let single: Vec<Fact> = (0..all.found.len()).flat_map(|offset| page(offset, 1).found).collect();
    assert_eq!(single, all.found);
}

#[test]
fn facts_answer_what_people_ask() {
    let memory = Memory::of(&history());
    let check = |question: &str, expected: &str| {
        let found = memory.searcher.facts(&GraphQuery { text: question, limit: 3, ..NONE }).unwrap().found;
        let facts: Vec<&str> = found.iter().map(|fact| fact.fact.as_str()).collect();
        assert!(facts.iter().any(|fact| fact.contains(expected)), "{question:?}: {facts:#?}");
    };
    check("why did we choose sled", "decided in shop: We switched from SQLite to sled");
    check("what does the user prefer", "the user prefers: from now on use spaces instead of tabs");
    check("which files belong to this work", "modified src/log.rs");
    check("what was log.rs renamed to", "src/log.rs was renamed to src/journal.rs");
    let sled = memory.searcher.nodes(&GraphQuery { text: "sqlite", labels: &[Label::Topic], ..NONE }).unwrap().found;
    assert_eq!((sled[0].name.as_str(), sled[0].sessions), ("sled or sqlite", 2));
    let telling = sled[0].telling.as_deref().unwrap_or_default();
    assert!(telling.contains("switched from SQLite to sled"), "{telling:?}");
}
