//! Random sentences of the words in this repository's own patterns, said in every role and asked as every question. The
//! result does not matter, only that there is one: a text that panics would cost the session that contains it.
#![expect(clippy::disallowed_methods, reason = "how long it may take, and where it begins, comes from outside")]
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "in a test a broken assumption is a failed test")]

#[path = "../../tests/reader/dice.rs"]
#[expect(dead_code, reason = "other tests roll for more")]
mod dice;
#[path = "hostile/remember.rs"]
mod remember;

use std::collections::BTreeSet;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use baton_ask::query;
use baton_ask::recall;
use baton_ask::recall::Later;
use baton_conversation::record::{SessionId, Timestamp};
use baton_episode::handoff;
use baton_events::schema::outcomes::{decode_but_calls, encode};
use baton_graph::Surroundings;
use baton_outcomes as outcomes;
use baton_outcomes::{Pieces, Witness, blame, blame_keys, fix, how, how_keys, outcomes, patterns, remove_copies};
use serde_json::json;

use dice::Dice;
use remember::remember;

/// Number of worlds tried by default.
const WORLDS: u64 = 120;
/// Maximum length of a text, in words.
const LONGEST: usize = 24;
/// Maximum length of a source string that is taken as a pattern, in bytes.
const LONGEST_PATTERN: usize = 40;
/// Separators of words, mostly a single space.
const BETWEEN: &[&str] = &[
    " ",
    " ",
    " ",
    " ",
    " ",
    " ",
    " ",
    " ",
    ", ",
    ". ",
    "? ",
    "! ",
    ": ",
    "; ",
    "\n",
    "\n- ",
    "\n\n> ",
    "`",
    "\"",
    "'",
    "’",
    " (",
    ") ",
    "…",
    "*",
    "**",
    "/",
    "-",
    " -",
    "|",
    " && ",
    "=",
    "é",
    "語",
    "\u{301}",
    "İ",
    "ß",
    "\u{200d}",
    "<",
    ">",
    "@",
    "#",
    "\\",
    "\t",
    "\r\n",
    "_",
    ".",
    "$(",
    "<<E\n",
    "\u{1b}[1m",
    "「",
    "\u{a0}",
];

/// Returns a text of the words of one room.
fn text(dice: &mut Dice, rooms: &[Vec<String>]) -> String {
    let words = &rooms[dice.below(rooms.len())];
    let mut text = String::new();
    for _ in 0..=dice.below(LONGEST) {
        text.push_str(&words[dice.below(words.len())]);
        text.push_str(dice.pick(BETWEEN));
    }
    text
}

/// Returns the quoted strings of the source and the phrases of the lexicon, by room, so that new patterns are covered without a change here.
fn patterns_of_the_source() -> Vec<Vec<String>> {
    fn walk(folder: &Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                walk(&entry, found);
            } else if entry.extension().is_some_and(|ending| ending == "rs") {
                let source = std::fs::read_to_string(&entry).unwrap();
                for line in source.lines().filter(|line| !line.trim_start().starts_with("//")) {
                    let between_quotes = line.split('"').skip(1).step_by(2);
                    let plain = between_quotes.filter(|text| !text.is_empty() && !text.contains(['\\', '{']));
                    found.extend(plain.filter(|text| text.len() <= LONGEST_PATTERN).map(str::to_owned));
                }
            } else if entry.extension().is_some_and(|ending| ending == "txt") {
                let phrases = std::fs::read_to_string(&entry).unwrap();
                let phrases = phrases.lines().map(|line| line.trim_start_matches('^')).filter(|line| !line.is_empty());
                found.extend(phrases.map(str::to_owned));
            }
        }
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let rooms = [
        "graph/src",
        "episode/src/lexicon",
        "episode/src/digest",
        "outcomes/src",
        "ask/src/recall",
        "ask/src/query",
        "episode/src/handoff",
        "conversation/src/filter",
    ];
    let words = rooms.map(|room| {
        let mut found = BTreeSet::new();
        walk(&source.join(room), &mut found);
        // Alternatives (`use|using`) and the words of a phrase are words, too.
        let words: Vec<String> = found.iter().flat_map(|text| text.split(['|', ' '])).map(str::to_owned).collect();
        found.extend(words.into_iter().filter(|word| !word.is_empty()));
        found.into_iter().collect::<Vec<String>>()
    });
    words.into_iter().filter(|words| !words.is_empty()).collect()
}

/// Returns a transcript in which a person and an agent say these things, and a tool answers.
fn transcript(texts: &[String; 6]) -> Vec<u8> {
    let [asked, done, command, output, then, last] = texts;
    let call = |id: &str, name: &str, input: serde_json::Value| json!({ "type": "tool_use", "id": id, "name": name, "input": input });
    let at = |minute: u8| format!("2026-03-14T09:{minute:02}:00.000Z");
    let said = |uuid: &str, minute: u8, who: &str, content: serde_json::Value| json!({ "type": who, "uuid": uuid, "timestamp": at(minute), "cwd": "/p", "message": { "id": uuid, "role": who, "content": content } });
    let records = [
        said("u1", 1, "user", json!(asked)),
        said(
            "a1",
            2,
            "assistant",
            json!([
                { "type": "text", "text": done },
                call("t1", "Bash", json!({ "command": command, "description": then })),
                call("t2", "Edit", json!({ "file_path": format!("/p/{command}"), "old_string": "a", "new_string": output })),
                call("t3", "TodoWrite", json!({ "todos": [{ "content": last, "status": "pending", "activeForm": "x" }] })),
                call("t4", "AskUserQuestion", json!({ "questions": [{ "question": then, "options": [{ "label": done }, { "label": last }] }] })),
            ]),
        ),
        said(
            "u2",
            3,
            "user",
            json!([
                { "type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": output },
                { "type": "tool_result", "tool_use_id": "t2", "content": "ok" },
                { "type": "tool_result", "tool_use_id": "t4", "content": format!("User has answered your questions: \"{then}\"=\"{last}\".") },
            ]),
        ),
        said("u3", 4, "user", json!(then)),
        said(
            "a2",
            5,
            "assistant",
            json!([call("t5", "Bash", json!({ "command": command })), { "type": "text", "text": last }]),
        ),
        said("u4", 6, "user", json!([{ "type": "tool_result", "tool_use_id": "t5", "content": output }])),
    ];
    records.iter().flat_map(|record| (record.to_string() + "\n").into_bytes()).collect()
}

/// Derives everything from a transcript and asks every question about it, with the same texts.
fn live_through(texts: &[String; 6]) {
    let written = transcript(texts);
    let session = SessionId::new("s").unwrap();
    let at = Surroundings { session: &session, group: "g", project: Some("/p"), parent: None, follows: None };
    let (items, episode) = remember(&written, &at);
    let tried = outcomes(&items, &episode, &at);
    let mut pieces = Pieces::new(at, &|_| ());
    items.iter().for_each(|item| pieces.push(item.clone()));
    black_box(pieces.finish());
    black_box((outcomes::search_keys(&tried), outcomes::errors_text(&tried), handoff::Facts::new(&episode)));
    let (project, title) = (Some("/p".to_owned()), episode.title.clone());
    let stored = encode(&tried);
    let (tried, calls) = decode_but_calls(&stored).unwrap();
    // A witness that has copied all of it, and one whose stored calls cannot be decoded.
    let witness = |session: &str, calls: &str| Witness {
        session: session.to_owned(),
        project: project.clone(),
        title: title.clone(),
        at: Some(Timestamp(0)),
        outcomes: tried.clone(),
        calls: calls.to_owned(),
    };
    let mut witnesses = [witness("s", calls), witness("t", calls), witness("u", &texts[0])];
    remove_copies(&mut witnesses, &|one, other| one.cmp(other));
    black_box(patterns(&witnesses, Some("/p"), 10, None));
    let now = Timestamp(1_790_000_000_000);
    let projects = ["p".to_owned(), "harbor-ui".to_owned()];
    for text in texts {
        black_box(query::parse(text, now));
        black_box(fix(&outcomes::FixQuery::read(text), &witnesses, 5));
        black_box((how_keys(text), how(text, &witnesses, Some("/p"), 5)));
        black_box((blame_keys(text), blame(text, &witnesses, Some("/p"), 5)));
        let asked = recall::read(text, &recall::Context { projects: &projects, now, zone: baton_protocol::Zone::UTC });
        let fit = recall::whole_fit(&episode, &asked);
        let ranked =
            recall::RankedSession { session: &session, rank: 1, at: None, project: Some("p"), fit, found: &[] };
        let mut later = Later::default();
        let mut entries = recall::session_entries(&episode, &ranked, &asked);
        entries.extend(recall::still_open(&episode, &ranked, &asked, &later));
        later.add(&episode);
        entries.extend(recall::still_open(&episode, &ranked, &asked, &later));
        black_box(recall::select(&asked, entries));
    }
}

#[test]
fn whatever_is_said_is_lived_through() {
    let rooms = patterns_of_the_source();
    assert!(rooms.iter().map(Vec::len).sum::<usize>() > 2_000, "the patterns of the source are not found any more");
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (worlds, first) = (number("PROSE_WORLDS").unwrap_or(WORLDS), number("PROSE_SEED").unwrap_or(1));
    for seed in first..first + worlds {
        let mut dice = Dice::new(seed);
        let texts = std::array::from_fn(|_| text(&mut dice, &rooms));
        if catch_unwind(AssertUnwindSafe(|| live_through(&texts))).is_err() {
            eprintln!("PROSE_SEED={seed} PROSE_WORLDS=1 shows it again: {texts:#?}");
            panic!("these texts stop the memory");
        }
    }
}
