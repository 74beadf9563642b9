use serde_json::json;

use crate::item::Agent;
use crate::transcript::session_file::StoredPath;
use crate::transcript::tests::read_every_way;
use crate::transcript::{Source, classify, session_file};

const AIDER: Source = Source { agent: Agent::Aider, subagent: false };
const FILE: &str = "/srv/shop/.aider.chat.history.md";

/// A session's beginning, as Aider writes it.
fn begin(time: &str) -> String {
    format!("\n# aider chat started at {time}\n\n{}", said("/usr/bin/aider --model openai/m1"))
}

fn said(message: &str) -> String {
    format!("> {message}  \n")
}

fn prompt(lines: &[&str]) -> String {
    lines.iter().fold("\n".to_owned(), |all, line| format!("{all}#### {line}  \n"))
}

fn answer(text: &str) -> String {
    format!("\n{text}\n\n")
}

/// The lines of each session of a file.
fn lines_of(text: &[u8]) -> Vec<Vec<String>> {
    let file = session_file(Agent::Aider).unwrap();
    let sessions = (file.sessions)(FILE, text);
    let lines = sessions.iter().map(|stored| {
        let path = StoredPath { file: FILE, session: stored.session.as_str() };
        let lines = (file.lines)(&path, text, &|wall| wall).unwrap();
        String::from_utf8(lines).unwrap().lines().map(str::to_owned).collect()
    });
    lines.collect()
}

/// The items of each session of a file, however its lines are cut.
fn items_of(text: &str) -> Vec<Vec<String>> {
    let items = lines_of(text.as_bytes()).into_iter().map(|lines| {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let (items, _, seen) = read_every_way(AIDER, &lines);
        assert!(seen.unknown.is_empty() && seen.malformed == 0, "{seen:?}");
        items
    });
    items.collect()
}

const T1: &str = "2026-03-14 09:26:53";
const T2: &str = "2026-03-14 10:00:00";

#[test]
fn a_session_is_prompts_answers_and_what_the_program_did() {
    let block = "The rate is wrong.\n\nsrc/tax.py\n```python\n<<<<<<< SEARCH\nRATE = 1\n=======\nRATE = 2\nFREE = 0\n>>>>>>> REPLACE\n```";
    let text = [
        begin(T1),
        said("Aider v0.86.2"),
        said("Model: openai/m1 with diff edit format"),
        prompt(&["Fix the rate", "", "  and say why"]),
        answer(block),
        said("Tokens: 4.2k sent, 1k cache hit, 123 received. Cost: $0.02 message, $0.05 session."),
        said("Applied edit to src/tax.py"),
        "> Commit 1a2b3c4 fix: Correct the rate\n\nIt was last year's.\n#### no prompt\n# aider chat started at noon  \n".to_owned(),
        prompt(&["/run pytest -q"]),
        said("Add 0.1k tokens of command output to the chat? (Y)es/(N)o [Yes]: y"),
        said("Added 4 lines of output to the chat."),
        prompt(&["/add src/tax.py"]),
        prompt(&["/ask why two?"]),
        answer("Because\n\n> a quotation\n\n#### A heading\n\n# Another"),
        prompt(&["<blank>"]),
        prompt(&["/srv/shop is where?"]),
    ];
    let edit = json!({ "edits": [{ "new_string": "RATE = 2\nFREE = 0", "old_string": "RATE = 1" }], "file_path": "src/tax.py" });
    let expected = [
        "1 cwd /srv/shop",
        "2 notice /usr/bin/aider --model openai/m1",
        "3 notice Aider v0.86.2",
        "4 usage openai/m1 None [0, 0, 0, 0, 0]",
        "5 prompt Fix the rate\n\n  and say why",
        &format!("6 reply {block}"),
        "7 usage openai/m1 Some(\"7\") [3200, 123, 1000, 0, 0]",
        &format!("8 call edit {edit}"),
        "8 result Ok edit src/tax.py: +2 -1",
        r#"9 call git {"command":"git commit -m \"fix: Correct the rate\""}"#,
        r#"9 result Ok git git commit -m "fix: Correct the rate": ok, 1 line, committed 1a2b3c4 fix: Correct the rate"#,
        r#"10 call ! {"command":"pytest -q"}"#,
        "11 notice Add 0.1k tokens of command output to the chat? (Y)es/(N)o [Yes]: y",
        "12 notice Added 4 lines of output to the chat.",
        "13 notice /add src/tax.py",
        "14 prompt /ask why two?",
        "15 reply Because\n\n> a quotation\n\n#### A heading\n\n# Another",
        "17 prompt /srv/shop is where?",
    ];
    assert_eq!(items_of(&text.concat()), [expected]);
}

#[test]
fn an_answer_that_was_interrupted_is_the_agents_and_what_follows_a_persons() {
    let stop = [said(""), said(""), said("^C again to exit")].concat().replace(">   \n", ">  \n");
    let text = [
        begin(T1),
        stop.clone(),
        prompt(&["Write it"]),
        stop,
        answer("Here:\n\n```python\na = 1"),
        prompt(&["Shorter"]),
        answer("<thinking-content-7bbe>\n\nhm \"so\"\n\n</thinking-content-7bbe>\n\nDone\n```\nb\n```"),
        said("Applied edit to a.py"),
        said("Running make lint"),
        said("litellm.BadRequestError: no"),
    ];
    let expected = [
        "1 cwd /srv/shop",
        "2 notice /usr/bin/aider --model openai/m1",
        "5 notice ^C again to exit",
        "6 prompt Write it",
        "9 notice interrupted by the user",
        "10 reply Here:\n\n```python\na = 1",
        "11 prompt Shorter",
        "12 thinking hm \"so\"",
        "12 reply Done\n```\nb\n```",
        r#"13 call edit {"edits":[],"file_path":"a.py"}"#,
        "13 result Ok edit a.py: +0 -0",
        r#"14 call shell {"command":"make lint"}"#,
        "15 notice litellm.BadRequestError: no",
    ];
    assert_eq!(items_of(&text.concat()), [expected]);
}

#[test]
fn each_header_begins_a_session_and_one_that_is_quoted_none() {
    let quoted = format!(
        "So it looks:\n```\n{}{}{}\n\n{}```\nSee?",
        begin(T1),
        prompt(&["nothing"]),
        answer("x"),
        prompt(&["none"])
    );
    let one = [begin(T1), prompt(&["one"]), answer(&quoted)].concat();
    let two = [begin(T1), prompt(&["two"])].concat();
    let three = [begin(T2), prompt(&["three"]), answer("yes")].concat();
    let prompts = |text: &str| -> Vec<String> {
        let items = items_of(text).into_iter().flatten();
        items.filter_map(|item| Some(item.split_once(" prompt ")?.1.to_owned())).collect()
    };
    assert_eq!(prompts(&[&*one, &two, &three].concat()), ["one", "two", "three"]);
    let sessions = |text: &str| (session_file(Agent::Aider).unwrap().sessions)(FILE, text.as_bytes());
    let ids = |text: &str| sessions(text).into_iter().map(|stored| stored.session).collect::<Vec<_>>();
    let (all, first) = (ids(&[&*one, &two, &three].concat()), ids(&one));
    assert_eq!((all.len(), &all[..1]), (3, &first[..]), "ids stay");
    assert!(all[0] != all[1] && all[1] != all[2]);
    assert_eq!(sessions(&one)[0].began, Some(1_773_480_413_000));
    for none in
        ["", "\n", "no header\n", "# aider chat started at \n\n", "x # aider chat started at 2026-03-14 09:26:53\n\n"]
    {
        assert!(ids(none).is_empty(), "{none}");
    }
}

#[test]
fn what_is_appended_gives_further_lines_and_what_is_torn_none_yet() {
    let text = [
        begin(T1),
        prompt(&["one", "more"]),
        answer("a\n\n```\n> b\n```"),
        said("Tokens: 1 sent, 2 received."),
        "> Commit 1a2b3c4 x\n\ny  \n".to_owned(),
        begin(T2),
        prompt(&["two"]),
    ]
    .concat();
    let whole = lines_of(text.as_bytes());
    for end in 0..text.len() {
        let lines = lines_of(&text.as_bytes()[..end]);
        assert!(lines.len() <= whole.len());
        for (some, all) in lines.iter().zip(&whole) {
            // A message that is not all there yet may be read anew.
            let read = some.len().saturating_sub(1);
            assert_eq!(some[..read], all[..read], "{end}");
        }
    }
}

#[test]
fn a_file_that_lost_its_trailing_spaces_or_has_other_line_ends_is_read() {
    let text = [
        begin(T1),
        prompt(&["one", "", "more"]),
        answer("```\n\n#### no\n```"),
        said("Applied edit to one"),
        prompt(&["two"]),
    ];
    let whole = items_of(&text.concat());
    assert_eq!(items_of(&text.concat().replace("  \n", "\n")), whole);
    assert_eq!(items_of(&text.concat().replace('\n', "\r\n")), whole);
    let holed = text.concat().replace("edit to one", "edit\0 to one");
    assert_eq!(items_of(&holed), whole);
}

#[test]
fn hostile_files_take_no_longer_and_harm_nothing() {
    let many = |part: &str| part.repeat(20_000 / part.len());
    for part in
        ["\n", "#### x  \n", "```\n\n\n#### x  \n", "> x\n", "# aider chat started at 2026-03-14 09:26:53\n\n", "\0"]
    {
        lines_of(many(part).as_bytes());
        lines_of([begin(T1), prompt(&["p"]), many(part)].concat().as_bytes());
    }
    lines_of(&[begin(T1).as_bytes(), b"\xff\xfe\n#### \xff  \n"].concat());
}

#[test]
fn paths_are_of_sessions_in_the_file() {
    let session = |path: &str| classify(Agent::Aider, path).map(|located| located.session.to_string());
    assert_eq!(session(".aider.chat.history.md/0a1b").as_deref(), Some("0a1b"));
    for none in [".aider.chat.history.md", "x/.aider.chat.history.md/0a1b", ".aider.chat.history.md/", "0a1b.md", ""] {
        assert_eq!(session(none), None, "{none}");
    }
}
