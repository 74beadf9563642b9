use super::*;
use crate::digest::{CommandLine, Episode, ErrorLine, FileModified, Pointed};

fn said(text: &str, line: u64) -> Pointed {
    Pointed { text: text.to_owned(), line, at: None }
}

fn id(text: &str) -> SessionId {
    SessionId::new(text).unwrap()
}

#[test]
fn kinds_are_known_by_plain_words() {
    let check = |text: &str, kinds: &str, about: &str| {
        let asked = read(text);
        let names: Vec<&str> = asked.kinds.iter().map(|kind| kind.as_str()).collect();
        assert_eq!((names.join(" ").as_str(), asked.about.join(" ").as_str()), (kinds, about), "{text}");
    };
    check("what were we working on last time?", "latest", "");
    check("What did we do in the last session", "latest", "");
    check("where did I leave off with the parser", "latest", "parser");
    check("why did we choose sled", "decisions", "sled");
    check("Why was SQLite chosen over sled?", "decisions", "sqlite sled");
    check("what did we decide about retries", "decisions", "retries");
    check("how did we solve this error before", "solved", "");
    check("how did we fix error E0382", "solved", "e0382");
    check("which approach failed", "failed", "");
    check("what didn't work for the cache", "failed", "cache");
    check("what does the user prefer", "preferences", "");
    check("user preferences for tests", "preferences", "tests");
    check("which files belong to this work", "files", "");
    check("which files were changed for the login", "files", "login");
    check("what is still open", "open", "");
    check("what's left to do on billing", "open", "billing");
    check("any TODOs?", "open", "");
    check("next steps", "open", "");
    check("refresh token race", "", "refresh token race");
    check("open the database", "", "database");
    check("", "", "");
}

#[test]
fn words_fit_in_any_form() {
    let asked = read("why did we choose tokio for the migrations");
    for (text, expected) in [
        ("we chose Tokio for the migration", 1.0),
        ("tokio it is", 0.5),
        ("migrating now", 0.5),
        ("nothing", 0.0),
        ("tok", 0.0),
    ] {
        assert_eq!(asked.fit(text), expected, "{text}");
    }
    assert_eq!(read("what is still open").fit("anything"), 1.0);
}

fn episode() -> Episode {
    Episode {
        title: "Move the log to sled".to_owned(),
        objective: "Move the log to sled, and keep the tests green".to_owned(),
        decisions: vec![said("We use sled instead of SQLite because it is embedded", 5), said("No retries", 9)],
        errors: vec![
            ErrorLine {
                text: "cargo test: E0382 in log.rs".to_owned(),
                line: 20,
                at: None,
                resolution: Some(said("edited log.rs; cargo test passed", 30)),
            },
            ErrorLine { text: "cargo bench: timed out".to_owned(), line: 40, at: None, resolution: None },
        ],
        files_modified: vec![
            FileModified { path: "/srv/shop/src/log.rs".to_owned(), line: 12, added: 5, removed: 1 },
            FileModified { path: "/srv/shop/Cargo.toml".to_owned(), line: 14, added: 30, removed: 0 },
        ],
        unresolved: vec![said("cargo bench: timed out", 40)],
        next_steps: vec![said("Compact the log at night", 50)],
        cwd: Some("/srv/shop".to_owned()),
        ..Episode::default()
    }
}

/// What a question gets of the episode, best first.
fn told(question: &str) -> Vec<String> {
    let (asked, session) = (read(question), id("one"));
    let place = Place { session: &session, rank: 1, at: None, project: Some("shop") };
    let mut entries = gathered(&episode(), &place, &asked);
    entries.append(&mut still_open(&episode(), &place, &asked, &Later::default()));
    let (entries, _) = chosen(entries, 1_000, |_| 1);
    entries.iter().map(|entry| format!("{} {}", entry.sort.as_str(), entry.text)).collect()
}

#[test]
fn what_is_asked_for_comes_first() {
    assert_eq!(told("why sled instead of sqlite")[0], "decision We use sled instead of SQLite because it is embedded");
    assert_eq!(
        told("how did we solve E0382")[0],
        "fixed cargo test: E0382 in log.rs -> edited log.rs; cargo test passed"
    );
    assert_eq!(told("which approach failed")[0], "failed cargo bench: timed out");
    assert_eq!(told("what is still open")[..2], ["open cargo bench: timed out", "next Compact the log at night"]);
    let files = told("which files belong to this work");
    assert_eq!(
        files[..3],
        [
            "session shop: Move the log to sled, and keep the tests green",
            "file Cargo.toml (+30 -0)",
            "file src/log.rs (+5 -1)"
        ]
    );
    let latest = told("what were we working on last time");
    assert!(latest[0].starts_with("session shop: Move the log"), "{latest:?}");
    assert!(latest[1].starts_with("open "), "{latest:?}");
    assert!(!told("why kafka").iter().any(|entry| entry.starts_with("decision")), "it fits no decision");
}

#[test]
fn what_later_sessions_settled_is_not_open() {
    let ran = |text: &str, outcome| CommandLine { text: text.to_owned(), line: 1, outcome, exit_code: None, count: 1 };
    let later = |episode: &Episode| {
        let mut later = Later::default();
        later.take(episode);
        later
    };
    let benched = later(&Episode { commands: vec![ran("cargo bench", "ok")], ..Episode::default() });
    assert!(benched.settles("cargo bench: timed out") && benched.settles("`cargo bench` still fails"));
    assert!(!benched.settles("cargo benchmarks: timed out") && !benched.settles("cargo test: exit 1"));
    let failed = later(&Episode { commands: vec![ran("cargo bench", "failed")], ..Episode::default() });
    assert!(!failed.settles("cargo bench: timed out"));
    let done = [("answers".to_owned(), vec![said("The log is now compacted every night.", 3)])];
    let worked = later(&Episode { work_completed: done.into_iter().collect(), ..Episode::default() });
    assert!(worked.settles("Compact the log at night"));
    assert!(!worked.settles("Compact") && !worked.settles("Write the docs of the log"));
    let again = later(&Episode { next_steps: vec![said("Compact the log at night", 3)], ..Episode::default() });
    assert!(again.settles("compact the log at night"), "it is told of the later session");
    let (asked, session) = (read("what is still open"), id("one"));
    let place = Place { session: &session, rank: 2, at: None, project: None };
    let open = still_open(&episode(), &place, &asked, &benched);
    assert_eq!(open.iter().map(|entry| entry.sort).collect::<Vec<_>>(), [Sort::Next]);
}

#[test]
fn the_budget_holds_whole_entries_only() {
    let session = id("one");
    let place = Place { session: &session, rank: 1, at: None, project: None };
    let entry = |text: &str, worth| place.line(Sort::Passage, text, None, None, worth);
    let cost = |entry: &Entry| entry.text.len() as u64;
    let entries =
        || vec![entry("bbbb", 2.0), entry("aaaaaaaaaa", 3.0), entry("cc", 1.0), entry("bbbb", 1.5), entry("z", 0.0)];
    for (budget, expected, left_out) in [
        (100, "aaaaaaaaaa bbbb cc", 0),
        (15, "aaaaaaaaaa bbbb", 1),
        (12, "aaaaaaaaaa cc", 2),
        (9, "bbbb cc", 1),
        (1, "", 4),
    ] {
        let (chosen, out) = chosen(entries(), budget, cost);
        let texts: Vec<&str> = chosen.iter().map(|entry| entry.text.as_str()).collect();
        assert_eq!((texts.join(" ").as_str(), out), (expected, left_out), "{budget}");
    }
}

#[test]
fn what_does_not_hold_any_more_comes_last_and_says_so() {
    let (one, other) = (id("one"), id("two"));
    let at = Timestamp(1_770_000_000_000);
    let entry = |sort: Sort, session: &SessionId, text: &str, line: u64| {
        Place { session, rank: 1, at: None, project: None }.line(sort, text, Some(line), None, 2.0)
    };
    let mut entries = vec![
        entry(Sort::Decision, &one, "reversed", 3),
        entry(Sort::Passage, &one, "only quoted", 3),
        entry(Sort::Decision, &other, "another session's", 3),
        entry(Sort::Decision, &one, "another line's", 4),
    ];
    reverse(&mut entries, &[((one, 3), at)].into_iter().collect());
    let (chosen, _) = chosen(entries, 1000, |_| 1);
    let told: Vec<_> = chosen.iter().map(|entry| (entry.text.as_str(), entry.ended)).collect();
    let expected =
        [("only quoted", None), ("another session's", None), ("another line's", None), ("reversed", Some(at))];
    assert_eq!(told, expected);
}

#[test]
fn a_session_is_told_by_its_purpose_and_not_by_what_was_typed_last() {
    let (asked, session) = (read("what were we working on"), id("one"));
    let place = Place { session: &session, rank: 1, at: None, project: None };
    let told = |title_is_prompt, objective: &str| {
        let (title, objective) = ("and push it".to_owned(), objective.to_owned());
        let episode = Episode { title, objective, title_is_prompt, ..Episode::default() };
        gathered(&episode, &place, &asked)[0].text.clone()
    };
    assert_eq!(told(true, "Move the log"), "Move the log");
    assert_eq!(told(false, "Move the log"), "and push it: Move the log");
    assert_eq!(told(true, ""), "and push it");
}
