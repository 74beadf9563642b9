//! Runs every journey in `replay-fixtures/journeys` with `baton replay` and compares the output with the recorded one.
//! A new journey is a folder and needs no change here. That folder's README describes how to record one.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// If set, [`every_journey_comes_to_what_was_expected`] writes `expected.txt` anew.
const UPDATE: &str = "BATON_UPDATE_FIXTURES";

/// Maximum size of `log.jsonl`, in bytes.
const MAX_BYTES: u64 = 60 * 1024;

/// The transitions of the state machine that a log can show, as `before event after`. Each has a journey.
const TRANSITIONS: &[&str] = &[
    "new discovered active",
    "new signalled new",
    "new ended new",
    "new handoff_offered new",
    "new handoff_claimed new",
    "active signalled active",
    "active ended active",
    "active close_requested active",
    "indexed signalled indexed",
    "active records_appended active",
    "active went_idle inactive",
    "inactive records_appended active",
    "active indexing_started indexing",
    "inactive indexing_started indexing",
    "failed indexing_started indexing",
    "indexed indexing_started indexing",
    "unindexed (timeout_disabled) indexing_started indexing",
    "indexed resumed active",
    "failed resumed active",
    "unindexed (timeout_disabled) resumed active",
    "unindexed (empty) resumed active",
    "indexed records_appended indexed",
    "indexed close_requested indexed",
    "indexed index_skipped indexed",
    "indexed ended indexed",
    "indexing close_requested indexing",
    "indexing records_appended indexing",
    "indexing resumed indexing",
    "indexing indexed indexed",
    "indexing indexed active",
    "indexing index_skipped indexed",
    "indexing indexing_failed failed",
    "active abandoned unindexed (empty)",
    "active abandoned unindexed (gone)",
    "failed abandoned unindexed (gone)",
    "active abandoned unindexed (timeout_disabled)",
    "inactive abandoned unindexed (timeout_disabled)",
    "inactive tracking_stopped unindexed (untracked)",
    "indexed tracking_stopped unindexed (untracked)",
    "unindexed (untracked) tracking_resumed active",
    "unindexed (untracked) tracking_resumed indexed",
    "active tracking_forced active",
    "active group_assigned active",
    "indexed group_assigned indexed",
    "indexed rewritten active",
    "indexed moved indexed",
    "active parent_found active",
    "active located active",
    "indexed forgotten forgotten",
    "forgotten restored active",
    "forgotten restored unindexed (gone)",
    "indexed episode_deleted indexed",
    "indexed episode_restored indexed",
    "indexed corrected indexed",
    "indexing enrichment_owed indexing",
    "indexed model_called indexed",
    "indexed model_answered indexed",
    "indexed enriched indexed",
    "indexed enrichment_given_up indexed",
    "indexed enrichment_owed indexed",
];

/// Events of memos and of the home. Each has a journey.
const BESIDE: &[&str] = &[
    "memo_added",
    "memo_replaced",
    "memo_deleted",
    "group_cleared",
    "group_restored",
    "fact_deleted",
    "fact_restored",
    "entity_recalled",
    "model_enabled",
    "model_disabled",
];

fn journeys() -> Vec<(String, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("replay-fixtures/journeys");
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut found: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_dir())
        .map(|path| (path.file_name().unwrap_or_default().to_string_lossy().into_owned(), path))
        .collect();
    found.sort();
    found
}

fn replay(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
    // Without a home or any other environment.
    command.arg("replay").args(arguments).current_dir(folder).env_clear();
    command.output().unwrap_or_else(|error| panic!("baton replay: {error}"))
}

fn told(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat()
}

#[test]
fn every_journey_comes_to_what_was_expected() {
    let mut wrong = Vec::new();
    for (name, folder) in journeys() {
        if std::env::var_os(UPDATE).is_some() {
            let printed = replay(&folder, &["log.jsonl"]);
            assert!(printed.status.success(), "{name}: {}", told(&printed));
            fs::write(folder.join("expected.txt"), &printed.stdout).expect("expected.txt");
        }
        let compared = replay(&folder, &["log.jsonl", "--against", "expected.txt"]);
        if !compared.status.success() {
            wrong.push(format!("{name}: {}", told(&compared)));
        }
    }
    let how =
        "Is it meant? Look at the difference, then `BATON_UPDATE_FIXTURES=1 cargo test --test replay` writes it anew.";
    assert!(wrong.is_empty(), "\n{}\n{how}", wrong.join("\n"));
}

#[test]
fn a_journey_is_a_whole_small_log_that_comes_to_what_it_says() {
    let journeys = journeys();
    assert!(journeys.len() >= 10, "only {}", journeys.len());
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("replay-fixtures/journeys/README.md"))
        .expect("the README of the journeys");
    for (name, folder) in journeys {
        let log = fs::read_to_string(folder.join("log.jsonl")).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(log.len() as u64 <= MAX_BYTES, "{name} has {} bytes: record it with less", log.len());
        assert!(log.starts_with("{\"baton_export\":1,\"whole\":true,"), "{name} is no whole log");
        for place in ["/work/", "/root/", "/tmp/", "/Users/"] {
            assert!(
                !log.contains(&format!("\"{place}")),
                "{name} names a path of the machine it was recorded on: {place}"
            );
        }
        assert!(readme.contains(&format!("| `{name}` |")), "{name} stands not in the README of the journeys");
        let summary = replay(&folder, &["log.jsonl", "--summary", "--json"]);
        assert!(summary.status.success(), "{name}: {}", told(&summary));
        let summary: Value = serde_json::from_slice(&summary.stdout).expect("one object");
        let end: Value = serde_json::from_str(log.lines().last().unwrap_or_default()).expect("the last line");
        for field in ["state_hash", "position", "chain"] {
            assert_eq!(summary["summary"][field], end["end"][field], "{name}: {field}");
        }
    }
}

#[test]
fn every_line_of_the_state_machine_has_a_journey() {
    let mut seen = BTreeSet::new();
    for (name, folder) in journeys() {
        let printed = replay(&folder, &["log.jsonl", "--json"]);
        assert!(printed.status.success(), "{name}: {}", told(&printed));
        for line in String::from_utf8_lossy(&printed.stdout).lines() {
            let event: Value = serde_json::from_str(line).expect("an object a line");
            seen.extend(event["type"].as_str().map(str::to_owned));
            if let (Some(before), Some(kind), Some(after)) =
                (event["before"].as_str(), event["type"].as_str(), event["after"].as_str())
            {
                seen.insert(format!("{before} {kind} {after}"));
            }
        }
    }
    let missing: Vec<_> = TRANSITIONS.iter().chain(BESIDE).filter(|line| !seen.contains(**line)).collect();
    assert!(missing.is_empty(), "no journey shows {missing:#?}\nthere are {seen:#?}");
}

/// If the output differs from the expected one, it is shown with the differing line, and the exit code is 1.
#[test]
fn what_differs_is_shown() {
    let (name, folder) = journeys().swap_remove(0);
    let log = folder.join("log.jsonl");
    let expected = fs::read_to_string(folder.join("expected.txt")).expect("expected.txt");
    let temp = tempfile::tempdir().expect("a folder");
    let changed = expected.replacen("-> indexing", "-> sleeping", 1);
    assert_ne!(changed, expected, "{name} has an index");
    fs::write(temp.path().join("changed.txt"), &changed).expect("written");
    let log = log.to_str().expect("a path of text");
    let compared = replay(temp.path(), &[log, "--against", "changed.txt"]);
    let (line, _) = changed.lines().enumerate().find(|(_, line)| line.contains("-> sleeping")).expect("the change");
    assert_eq!(compared.status.code(), Some(1));
    let said = told(&compared);
    assert!(said.contains(&format!("in line {}: - is expected, + is the result", line + 1)), "{said}");
    assert!(said.contains("-> sleeping\n+") && said.lines().any(|line| line.starts_with("  @")), "{said}");
    fs::write(temp.path().join("longer.txt"), format!("{expected}more\n")).expect("written");
    let compared = replay(temp.path(), &[log, "--against", "longer.txt"]);
    assert!(
        compared.status.code() == Some(1) && told(&compared).contains("- more\n+ (the end)"),
        "{}",
        told(&compared)
    );
}

/// A log that was changed or truncated, or a file that is not a log.
#[test]
fn a_file_that_is_not_what_it_says_ends_with_1() {
    let (_, folder) = journeys().swap_remove(0);
    let log = fs::read_to_string(folder.join("log.jsonl")).expect("log.jsonl");
    let temp = tempfile::tempdir().expect("a folder");
    let lines: Vec<&str> = log.lines().collect();
    let without_end = lines[..lines.len() - 1].join("\n");
    let cases = [
        (log.replacen("\"records\":", "\"recordz\":", 1), "is not as it was written; up to position "),
        (without_end, "it was cut off"),
        ("{}\n".to_owned(), "it is not an export of a log"),
        (String::new(), "the file is empty"),
        ("\u{0}\u{1}".to_owned(), "line 1 is not one of an export"),
    ];
    for (text, expected) in cases {
        fs::write(temp.path().join("log.jsonl"), &text).expect("written");
        for arguments in [&["log.jsonl"][..], &["log.jsonl", "--json"], &["log.jsonl", "--summary"]] {
            let ran = replay(temp.path(), arguments);
            assert_eq!(ran.status.code(), Some(1), "{expected}");
            let said = String::from_utf8_lossy(&ran.stderr);
            assert!(said.contains(expected), "{said:?} lacks {expected:?}");
        }
    }
    for (arguments, code, expected) in [
        (&["none.jsonl"][..], 1, "name a file written by `baton log export -o FILE`"),
        (&["."], 1, "it is a directory"),
        (&["log.jsonl", "--step"], 2, "needs a terminal as standard input"),
        (&["log.jsonl", "--until", "soon"], 2, "a position, or a time such as"),
    ] {
        let ran = replay(temp.path(), arguments);
        assert_eq!(ran.status.code(), Some(code), "{arguments:?}");
        assert!(told(&ran).contains(expected), "{arguments:?}: {}", told(&ran));
    }
}
