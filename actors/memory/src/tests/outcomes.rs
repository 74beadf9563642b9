//! Outcomes of sessions, found by commands, files and failures.

use baton_events::schema::outcomes::{Command, FailureHistory, File, OUTCOMES_VERSION, Outcomes, Tally};

use super::*;
use crate::{Selector, WitnessQuery, Witnesses};

impl Session {
    /// Adds a command run, a file touched and an error met.
    fn with_outcome(mut self, command: &str, file: &str, error: &str) -> Self {
        let runs = Tally { ok: 1, ..Tally::default() };
        self.outcomes = Outcomes {
            v: OUTCOMES_VERSION,
            commands: vec![Command { name: command.to_owned(), runs, ..Command::default() }],
            files: vec![File { path: file.to_owned(), changed: true, ..File::default() }],
            failures: vec![FailureHistory {
                error: error.to_owned(),
                text: error.to_owned(),
                ..FailureHistory::default()
            }],
            ..Outcomes::default()
        };
        self
    }
}

impl Memory {
    fn witnesses(&self, by: Selector<'_>, project: Option<&str>, limit: usize) -> Witnesses {
        self.searcher.witnesses(&WitnessQuery { by, project, exclude: &|id| id == "hidden", limit }).unwrap()
    }

    /// Sessions with a key, or all.
    fn tried(&self, key: &str) -> String {
        let keys = [key.to_owned()];
        let by = if key.is_empty() { Selector::All } else { Selector::Keys(&keys) };
        session_ids(&self.witnesses(by, None, 10))
    }
}

fn session_ids(found: &Witnesses) -> String {
    found.found.iter().map(|witness| witness.session.as_str()).collect::<Vec<_>>().join(" ")
}

fn four() -> [Session; 4] {
    let web = Session::new("b", &["hello"]).in_project("/srv/shop/web");
    [
        Session::new("a", &["hello"]).with_outcome("cargo test", "src/Auth.rs", "error[E0382]: borrow of moved value"),
        web.with_outcome("cargo build", "src/main.rs", "connect ECONNREFUSED"),
        Session::new("hidden", &["hello"]).with_outcome("cargo test", "src/auth.rs", "error[E0382]"),
        Session::new("idle", &["hello"]),
    ]
}

#[test]
fn sessions_are_found_by_what_they_tried() {
    let memory = Memory::of(&four());
    for (key, expected) in
        [("c:cargo test", "a"), ("p:cargo", "a b"), ("f:auth.rs", "a"), ("f:main.rs", "b"), ("c:make", ""), ("", "a b")]
    {
        assert_eq!(memory.tried(key), expected, "{key:?}");
    }
    for (words, expected) in
        [("E0382 again", "a"), ("ECONNREFUSED", "b"), ("connect moved", "a b"), ("nothing", ""), ("", "")]
    {
        assert_eq!(session_ids(&memory.witnesses(Selector::Failure(words), None, 10)), expected, "{words:?}");
    }
    assert_eq!(session_ids(&memory.witnesses(Selector::All, Some("/srv/shop/web"), 10)), "b");
    let one = memory.witnesses(Selector::All, None, 1);
    assert_eq!((session_ids(&one).as_str(), one.more), ("a", 1), "the rest is counted");
    let witness = &one.found[0];
    assert_eq!((witness.project.as_deref(), witness.title.as_str()), (Some("/srv/shop"), "title of a"));
    let whole = &four()[0].outcomes;
    assert_eq!(&witness.outcomes, whole);
    let commands = memory.witnesses(Selector::Commands, None, 1);
    let without = Outcomes { files: Vec::new(), failures: Vec::new(), ..whole.clone() };
    assert_eq!((session_ids(&commands).as_str(), &commands.found[0].outcomes), ("a", &without));
    assert_eq!(memory.searcher.counts(), (4, 4), "outcomes are not counted as turns");
}

#[test]
fn outcomes_are_replaced_and_go_with_their_session() {
    let mut memory = Memory::of(&four());
    let again = Session::new("a", &["hello", "more"]).with_outcome("make all", "src/new.rs", "error: new");
    // An append keeps the existing turns.
    memory.store.put(&again.entry(1)).unwrap();
    memory.store.commit(checkpoint(2)).unwrap();
    assert_eq!((memory.tried("c:cargo test"), memory.tried("c:make all")), (String::new(), "a".to_owned()));
    memory.store.remove(&SessionId::new("a").unwrap()).unwrap();
    memory.store.commit(checkpoint(3)).unwrap();
    assert_eq!(memory.tried(""), "b");
    memory.store.purge(&[SessionId::new("a").unwrap()], &[]).unwrap();
    let [_, others @ ..] = four();
    let fresh = Memory::of(&others);
    assert_eq!(memory.searcher.dump().unwrap(), fresh.searcher.dump().unwrap(), "as in a memory filled from scratch");
    let stored = memory.searcher.dump().unwrap().join("\n");
    assert!(!stored.contains("make all") && stored.contains("kind=outcomes"), "{stored}");
}
