use super::*;
use baton_episode::digest::{CommandLine, Episode, ErrorLine, FileModified, Pointed};

fn said(text: &str, line: u64) -> Pointed {
    Pointed { text: text.to_owned(), line, at: None }
}

fn id(text: &str) -> SessionId {
    SessionId::new(text).unwrap()
}

/// Reads a question asked on 2026-11-20, without known projects.
fn read(question: &str) -> Intent {
    super::read(
        question,
        &Context { projects: &[], now: Timestamp(1_795_168_800_000), zone: baton_protocol::Zone::UTC },
    )
}

fn ranked(session: &SessionId, rank: usize) -> RankedSession<'_> {
    RankedSession { session, rank, at: None, project: Some("shop"), fit: 1.0, found: &[] }
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
            FileModified { path: "/srv/shop/src/log.rs".to_owned(), line: 12, added: 5, removed: 1, deleted: false },
            FileModified { path: "/srv/shop/Cargo.toml".to_owned(), line: 14, added: 30, removed: 0, deleted: false },
        ],
        unresolved: vec![said("cargo bench: timed out", 40)],
        next_steps: vec![said("Compact the log at night", 50)],
        setbacks: vec![said("A lock file per log did not work: two hosts share the disk.", 17)],
        work_completed: [("answers".to_owned(), vec![said("The log lies in sled now.", 45)])].into(),
        cwd: Some("/srv/shop".to_owned()),
        ..Episode::default()
    }
}

/// Returns the lines that the episode gives for a question, best first.
fn told_of(question: &str) -> Vec<String> {
    let (asked, session) = (read(question), id("one"));
    let ranked = RankedSession { fit: whole_fit(&episode(), &asked), ..ranked(&session, 1) };
    let mut entries = session_entries(&episode(), &ranked, &asked);
    entries.append(&mut still_open(&episode(), &ranked, &asked, &Later::default()));
    let (entries, _) = best_within_budget(select(&asked, entries).entries, 1_000, |_| 1);
    entries.iter().map(|entry| format!("{} {}", entry.sort.as_str(), entry.text)).collect()
}

#[test]
fn what_is_asked_for_is_told_and_nothing_else() {
    let check = |question: &str, expected: &[&str]| assert_eq!(told_of(question), expected, "{question}");
    let session = "session shop: Move the log to sled, and keep the tests green";
    let sled = "decision We use sled instead of SQLite because it is embedded";
    let open = ["open cargo bench: timed out", "next Compact the log at night"];
    let files = ["file Cargo.toml (+30 -0)", "file src/log.rs (+5 -1)"];
    let gave_up = "failed A lock file per log did not work: two hosts share the disk.";
    check("why sled instead of sqlite", &[sled]);
    check("what was decided?", &["decision No retries", sled]);
    check("how did we solve E0382", &["fixed cargo test: E0382 in log.rs -> edited log.rs; cargo test passed"]);
    check("which approach failed", &[gave_up, "failed cargo bench: timed out"]);
    check("which approach failed for the lock file", &[gave_up]);
    check("what is still open", &open);
    check("which files belong to this work", &[&[session], &files[..]].concat());
    check("which files belong to the parser", &[]);
    check("what were we working on last time", &[&[session, "done The log lies in sled now."], &open[..]].concat());
    check("why kafka", &[]);
}

#[test]
fn what_two_say_of_one_line_is_told_once() {
    let (one, other) = (id("one"), id("two"));
    let entry = |sort: Sort, session: &SessionId, text: &str, line: u64, fit: f32| {
        let entry = ranked(session, 1).line(sort, text, Some(line), None, 2.0).with_fit(fit);
        Entry { answers: sort == Sort::Passage && line != 11, ..entry }
    };
    let uuid = uuid::Uuid::from_u128(7);
    let fact = |entry: Entry| Entry { uuid: Some(uuid), ..entry };
    let asked = read("why did we choose sled over sqlite");
    let told = select(
        &asked,
        vec![
            entry(Sort::Decision, &one, "We use sled instead of SQLite", 5, 1.0),
            fact(entry(Sort::Fact, &one, "decided in shop: We use sled instead of SQLite", 5, 1.0)),
            entry(Sort::Passage, &one, "…long talk. We use sled instead of SQLite. More talk", 5, 1.0),
            entry(Sort::Passage, &one, "sled beats sqlite on one writer", 9, 1.0),
            entry(Sort::Passage, &other, "sqlite is red", 5, 0.5),
            entry(Sort::Passage, &other, "nothing of it", 7, 0.0),
            entry(Sort::Passage, &other, "Bash: ls sled sqlite", 11, 1.0),
            entry(Sort::Decision, &other, "No retries", 8, 0.3),
            entry(Sort::Session, &other, "shop: Retries", 1, 0.0),
        ],
    );
    let said: Vec<_> = told.entries.iter().map(|entry| (entry.text.as_str(), entry.uuid)).collect();
    let expected = [
        ("We use sled instead of SQLite", Some(uuid)),
        ("sled beats sqlite on one writer", None),
        ("sqlite is red", None),
    ];
    assert_eq!((said.as_slice(), told.unknown.as_slice()), (&expected[..], &[][..]));

    let fixed = entry(Sort::Fixed, &one, "npm test: exit 1, Missing script: \"test:npm\" -> pnpm test passed", 20, 1.0);
    let fact = fact(entry(
        Sort::Fact,
        &one,
        "Missing script: \"test:npm\" in shop was resolved by running `pnpm test`",
        23,
        1.0,
    ));
    let solved = super::select(&read("how did we solve the missing script"), vec![fixed, fact]).entries;
    assert_eq!(solved.iter().map(|entry| (entry.sort, entry.uuid)).collect::<Vec<_>>(), [(Sort::Fixed, Some(uuid))]);
}

#[test]
fn what_is_not_known_is_said() {
    let (session, asked) = (id("one"), read("why did we choose kafka"));
    let passage = ranked(&session, 1).line(Sort::Passage, "kafka is in the compose file", Some(3), None, 1.2);
    let far = ranked(&session, 1).line(Sort::Passage, "brokers", Some(4), None, 0.2);
    let decision = ranked(&session, 1).line(Sort::Decision, "No retries", Some(5), None, 3.0).with_fit(0.0);
    let told = select(&asked, vec![passage, far, decision]);
    assert_eq!((told.unknown.as_slice(), told.unsaid.len()), (&[Kind::Decisions][..], 0));
    assert_eq!(told.entries.iter().map(|entry| entry.line).collect::<Vec<_>>(), [Some(3)]);
}

#[test]
fn an_error_that_was_never_mended_is_not_answered_by_what_mended_another() {
    let errors = |resolved: bool| {
        let line = |text: &str, line: u64, resolution| ErrorLine { text: text.to_owned(), line, at: None, resolution };
        let certificate = resolved.then(|| said("installed the new root", 50));
        vec![
            line("curl: certificate verify failed", 10, certificate),
            line("npm: audit failed with an error of the registry", 20, Some(said("npm ci passed", 30))),
        ]
    };
    let told_of = |resolved: bool| {
        let asked = read("how did we solve that curl certificate failed");
        let session = id("one");
        let ranked = RankedSession { fit: 0.0, ..ranked(&session, 1) };
        let told = select(
            &asked,
            session_entries(&Episode { errors: errors(resolved), ..Episode::default() }, &ranked, &asked),
        );
        let texts: Vec<String> = told.entries.iter().map(|entry| entry.text.clone()).collect();
        (texts, told.unknown)
    };
    let failed = "curl: certificate verify failed";
    assert_eq!(told_of(true), (vec![format!("{failed} -> installed the new root")], vec![]));
    assert_eq!(told_of(false), (vec![failed.to_owned()], vec![Kind::Solved]));
}

#[test]
fn what_has_more_of_the_question_than_any_answer_comes_first() {
    let (session, asked) = (id("one"), read("why did we choose i64 for amounts, as in cobol"));
    let decision =
        ranked(&session, 1).line(Sort::Decision, "More digits are no amount", Some(5), None, 3.0).with_fit(0.5);
    let passage = ranked(&session, 1).line(Sort::Passage, "amounts are i64: no rounding", Some(3), None, 1.2);
    let told = select(&asked, vec![decision, Entry { answers: true, ..passage }]);
    assert_eq!((told.unknown.len(), told.unsaid.as_slice()), (0, &["cobol".to_owned()][..]));
    let (entries, _) = best_within_budget(told.entries, 100, |_| 1);
    assert_eq!(entries.iter().map(|entry| entry.line).collect::<Vec<_>>(), [Some(3), Some(5)]);
}

#[test]
fn a_decision_about_something_else_is_no_answer_to_why() {
    let session = id("one");
    let scope = said("Commit only the files of the sled store: `sled.rs`, `store.rs`; not `ui.rs`", 9);
    let decisions = vec![said("Use the blue theme", 5), said("We use sled, it is embedded", 7), scope];
    let episode = Episode { objective: "Choose sled for the store".to_owned(), decisions, ..Episode::default() };
    let check = |question: &str, expected: &[u64]| {
        let asked = read(question);
        let ranked = RankedSession { fit: whole_fit(&episode, &asked), ..ranked(&session, 1) };
        let told = select(&asked, session_entries(&episode, &ranked, &asked));
        let mut lines: Vec<u64> = told.entries.iter().filter_map(|entry| entry.line).collect();
        lines.sort_unstable();
        assert_eq!(lines, expected, "{question}");
    };
    check("why did we choose sled", &[7]);
    check("what was decided", &[5, 7]);
    check("what was decided about the commit", &[9]);
}

#[test]
fn what_was_asked_for_comes_before_what_only_has_its_words() {
    let (session, asked) = (id("one"), read("which approach failed for the refresh"));
    let failed =
        ranked(&session, 1).line(Sort::Failed, "A mutex per token did not work", Some(9), None, 3.0).with_fit(0.5);
    let passage = ranked(&session, 1).line(Sort::Passage, "the refresh is slow", Some(3), None, 1.2);
    let told = select(&asked, vec![Entry { answers: true, ..passage }, failed]);
    let (entries, _) = best_within_budget(told.entries, 100, |_| 1);
    assert_eq!(entries.iter().map(|entry| entry.line).collect::<Vec<_>>(), [Some(9), Some(3)]);
}

#[test]
fn a_note_and_the_fact_that_was_taken_from_it_are_one() {
    let uuid = uuid::Uuid::from_u128(7);
    let check = |question: &str, body: &str, fact: &str, expected: &[Sort]| {
        let asked = read(question);
        let note = memo_entry(uuid, "Rule", body, None, &asked);
        let fact = ranked(&note.session, 1).line(Sort::Fact, fact, Some(3), None, 3.0);
        let told = select(&asked, vec![fact, note]);
        let sorts: Vec<Sort> = told.entries.iter().map(|entry| entry.sort).collect();
        assert_eq!(sorts, expected, "{question}: {body}");
    };
    let dark = "The user prefers dark mode.";
    check("dark mode", dark, "the user prefers: dark mode", &[Sort::Note]);
    check("what does the user prefer", dark, "the user prefers: dark mode", &[Sort::Note]);
    check("why did we choose sled", "We use sled.", "decided in shop: We use sled.", &[Sort::Fact]);
    let longer = "We use sled. It is embedded, and nobody runs a server.";
    check("why did we choose sled", longer, "decided in shop: We use sled.", &[Sort::Fact, Sort::Note]);
    check("what does the user prefer", "Use dark mode.", "the user prefers: light mode", &[Sort::Fact]);
}

#[test]
fn a_preference_that_was_a_decision_as_well_is_told_as_what_is_asked_for() {
    let session = id("one");
    let entry = |sort: Sort, text: &str| ranked(&session, 1).line(sort, text, Some(5), None, 3.0);
    let both = || vec![entry(Sort::Decision, "User: never push"), entry(Sort::Fact, "the user prefers: never push")];
    let sorts = |question: &str| select(&read(question), both()).entries.iter().map(|it| it.sort).collect::<Vec<_>>();
    assert_eq!(sorts("what does the user prefer"), [Sort::Fact]);
}

#[test]
fn a_note_answers_what_it_speaks_of() {
    let uuid = uuid::Uuid::from_u128(7);
    let check = |question: &str, text: &str, answers: bool, fit: f32| {
        let note = memo_entry(uuid, "Rule", text, None, &read(question));
        assert_eq!((note.answers, note.fit, note.uuid), (answers, fit, Some(uuid)), "{question}: {text}");
    };
    check("what does the user prefer", "The user prefers dark mode.", true, 1.0);
    check("what does the user prefer", "We deploy on Tuesdays.", false, 1.0);
    check("what does the user prefer for tests", "The user prefers dark mode.", true, 0.0);
    check("why did we choose sled", "We decided to use sled because of the licence.", true, 1.0);
    check("which approach failed", "Pooling did not work: no memory.", true, 1.0);
    check("what is still open", "TODO: rotate the key", true, 1.0);
    check("how did we solve E0382", "E0382 was fixed by cloning", true, 1.0);
    check("what were we working on last time", "We deploy on Tuesdays.", true, 1.0);
    check("which files belong to this work", "We deploy on Tuesdays.", false, 1.0);
    let told = memo_entry(uuid, "Deploy rule", "Deploy rule We deploy on Tuesdays.", None, &read("deploy"));
    assert_eq!(told.text, "Deploy rule: We deploy on Tuesdays.");
}

#[test]
fn what_later_sessions_settled_is_not_open() {
    let ran = |text: &str, outcome| CommandLine {
        text: text.to_owned(),
        line: 1,
        outcome,
        count: 1,
        ..CommandLine::default()
    };
    let later = |episode: &Episode| {
        let mut later = Later::default();
        later.add(episode);
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
    let open = still_open(&episode(), &ranked(&session, 2), &asked, &benched);
    assert_eq!(open.iter().map(|entry| entry.sort).collect::<Vec<_>>(), [Sort::Next]);
}

#[test]
fn the_budget_holds_whole_entries_only() {
    let session = id("one");
    let entry = |text: &str, worth| ranked(&session, 1).line(Sort::Passage, text, None, None, worth);
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
        let (chosen, out) = best_within_budget(entries(), budget, cost);
        let texts: Vec<&str> = chosen.iter().map(|entry| entry.text.as_str()).collect();
        assert_eq!((texts.join(" ").as_str(), out), (expected, left_out), "{budget}");
    }
}

#[test]
fn what_does_not_hold_any_more_comes_last_and_says_so() {
    let (one, other) = (id("one"), id("two"));
    let at = Timestamp(1_770_000_000_000);
    let entry = |sort: Sort, session: &SessionId, text: &str, line: u64| {
        ranked(session, 1).line(sort, text, Some(line), None, 2.0)
    };
    let mut entries = vec![
        entry(Sort::Decision, &one, "reversed", 3),
        entry(Sort::Passage, &one, "only quoted", 3),
        entry(Sort::Decision, &other, "another session's", 3),
        entry(Sort::Decision, &one, "another line's", 4),
    ];
    mark_reversed(&mut entries, &[((one, 3), at)].into_iter().collect());
    let (chosen, _) = best_within_budget(entries, 1000, |_| 1);
    let told: Vec<_> = chosen.iter().map(|entry| (entry.text.as_str(), entry.ended)).collect();
    let expected =
        [("only quoted", None), ("another session's", None), ("another line's", None), ("reversed", Some(at))];
    assert_eq!(told, expected);
}

#[test]
fn a_session_is_told_by_its_purpose_and_not_by_what_was_typed_last() {
    let (asked, session) = (read("what were we working on"), id("one"));
    let ranked = RankedSession { project: None, ..ranked(&session, 1) };
    let told = |title: &str, objective: &str| {
        let (title, objective) = (title.to_owned(), objective.to_owned());
        let episode = Episode { title, objective, ..Episode::default() };
        session_entries(&episode, &ranked, &asked)[0].text.clone()
    };
    assert_eq!(told("Move the", "Move the log"), "Move the log");
    assert_eq!(told("Segments", "Move the log"), "Segments: Move the log");
    assert_eq!(told("Segments", ""), "Segments");
}

#[test]
fn what_was_replaced_later_is_known_by_its_line_and_words() {
    let episode = Episode { superseded: vec![said("Keep the heron cache in memory.", 4)], ..episode() };
    assert!(is_superseded(&episode, 4, "I will **keep** the heron cache in memory, for now."));
    assert!(!is_superseded(&episode, 5, "I will keep the heron cache in memory."));
    assert!(!is_superseded(&episode, 4, "The heron cache is slow."));
}
