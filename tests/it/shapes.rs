//! The output of `--json`, the help, and exit codes.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::transcript::now;
use crate::world::{World, hits, id, text};

/// Asserts that an object has these fields, each of a type: `s` string, `n` number, `b` boolean, `a` array, `o` object;
/// with `?` it may be null.
fn check(object: &Value, fields: &str) {
    for field in fields.split_whitespace() {
        let (name, kind) = field.split_once(':').unwrap();
        let value = object.get(name).unwrap_or_else(|| panic!("no field {name:?} in {object}"));
        let fits = match kind.trim_end_matches('?') {
            "s" => value.is_string(),
            "n" => value.is_u64(),
            "f" => value.is_number(),
            "b" => value.is_boolean(),
            "a" => value.is_array(),
            "o" => value.is_object(),
            _ => panic!("{kind}"),
        };
        assert!(fits || (kind.ends_with('?') && value.is_null()), "{name} is no {kind}: {object}");
    }
}

const ROW: &str = "session_id:s file_path:s? project:s? group_id:s? agent:s? tracked:b state:s content_hash:s? \
                   episode_uuid:s? last_indexed_at:s? last_activity:s? message_count:n close_reason:s? close_note:s?";
const ITEM: &str = "text:s line:n at:s?";

/// One indexed session with a bit of everything, and an open one.
fn world() -> World {
    let world = World::new();
    let mut transcript = world.transcript("-work-one", &id(1));
    transcript
        .prompt("mend the zebra parser")
        .call("t1", "Read", serde_json::json!({"file_path": "/srv/-work-one/src/parser.rs"}))
        .result("t1", "     1\u{2192}fn parse() {}", false)
        .call("t2", "Bash", serde_json::json!({"command": "cargo check --tests"}))
        .result("t2", "Exit code 101\nerror[E0308]: mismatched types", true)
        .call(
            "t3",
            "Edit",
            serde_json::json!({"file_path": "/srv/-work-one/src/parser.rs", "old_string": "a", "new_string": "b\nc"}),
        )
        .result("t3", "The file has been updated.", false)
        .call("t4", "Bash", serde_json::json!({"command": "cargo test parser"}))
        .result("t4", "test result: ok. 3 passed", false)
        .call("t5", "Bash", serde_json::json!({"command": "cargo check --tests"}))
        .result("t5", "Finished", false)
        .call("t6", "Bash", serde_json::json!({"command": "cargo publish"}))
        .result("t6", "Exit code 101\nerror: no registry", true)
        .reply("The zebra parser is mended. I keep the old types, because two callers need them. Next: publish it.");
    world.close(&id(1));
    let open = world.transcript("-work-two", &id(2)).at(now());
    { open }.prompt("an open giraffe");
    world
}

#[test]
fn search_prints_the_contracts_fields() {
    let world = world();
    let found = world.search("zebra parser giraffe");
    check(&found, "hits:a freshness:o");
    check(&found["freshness"], "indexed_now:n pending:n position:n");
    let hits = hits(&found);
    assert!(hits.iter().any(|hit| hit["kind"] == "turn"), "{hits:?}");
    let mut rank = 1;
    for hit in &hits {
        check(hit, "rank:n score:f kind:s session_id:s episode_uuid:s project:s title:s snippet:s timestamp:s");
        check(hit, if hit["kind"] == "turn" { "line:n" } else { "line:n?" });
        let now = hit["rank"].as_u64().unwrap();
        assert!(now == rank || now == rank + 1, "ranks count sessions: {hits:?}");
        rank = now;
        assert!(text(&hit["timestamp"]).ends_with('Z'), "{hit}");
    }
    for session in [id(1), id(2)] {
        let turns = hits.iter().filter(|hit| hit["session_id"] == *session && hit["kind"] == "turn").count();
        assert!(turns <= 3, "{hits:?}");
    }
    let one = world.json(&["search", "zebra giraffe", "--limit", "1"]);
    let sessions: BTreeSet<String> =
        one["hits"].as_array().unwrap().iter().map(|hit| text(&hit["session_id"])).collect();
    assert_eq!(sessions.len(), 1, "the limit counts sessions");
    // A word that occurs only in the episode.
    let episode = world.search("resolved");
    assert_eq!(episode["hits"][0]["kind"], "episode", "{episode}");
    assert_eq!(episode["hits"][0]["line"], Value::Null);
    check(&episode["hits"][0], "session_id:s episode_uuid:s title:s snippet:s");
    let none = world.search("hippopotamus");
    assert_eq!(none["hits"], serde_json::json!([]));
}

#[test]
fn sessions_and_show_print_the_contracts_fields() {
    let world = world();
    let listed = world.json(&["sessions"]);
    let rows = listed["sessions"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        check(row, ROW);
        check(row, "file_path:s project:s group_id:s agent:s last_activity:s");
        assert_eq!(row["agent"], "claude_code");
        assert_eq!(row["tracked"], true);
    }
    assert_eq!(rows[0]["session_id"], *id(2), "the last active first");
    assert_eq!(
        (&rows[0]["state"], &rows[0]["content_hash"], &rows[0]["close_reason"]),
        (&"active".into(), &Value::Null, &Value::Null)
    );
    let only = |arguments: &[&str]| -> Vec<String> {
        let listed = world.json(&[&["sessions"], arguments].concat());
        listed["sessions"].as_array().unwrap().iter().map(|row| text(&row["session_id"])).collect()
    };
    assert_eq!(only(&["--state", "indexed"]), [id(1)]);
    assert_eq!(only(&["--state", "active"]), [id(2)]);
    assert_eq!(only(&["--state", "failed"]), [""; 0]);
    assert_eq!(only(&["--project=-work-two", "--state", "active"]), [id(2)]);

    let open = world.show(&id(2));
    check(&open, ROW);
    assert_eq!(open["episode"], Value::Null);

    let shown = world.show(&id(1));
    check(&shown, ROW);
    check(&shown, "content_hash:s episode_uuid:s last_indexed_at:s close_reason:s episode:o");
    let episode = &shown["episode"];
    check(
        episode,
        "uuid:s tier:s name:s objective:s work_completed:o decisions:a errors:a files_read:a files_modified:a commands:a \
         external_research:a knowledge_stored:o unresolved:a next_steps:a continuation_context:s content:s metadata:o",
    );
    for lines in episode["work_completed"].as_object().unwrap().values() {
        lines.as_array().unwrap().iter().for_each(|line| check(line, ITEM));
    }
    check(&episode["errors"][0], ITEM);
    check(&episode["errors"][0]["resolution"], ITEM);
    check(&episode["decisions"][0], ITEM);
    check(&episode["unresolved"][0], ITEM);
    check(&episode["next_steps"][0], ITEM);
    check(
        &episode["metadata"],
        "mcp_tools_used:a start_time:s end_time:s duration_seconds:n message_count:n token_count:n \
         filtered_token_count:n llm_cost_estimate:f",
    );
    assert_eq!(episode["metadata"]["message_count"], shown["message_count"]);
    assert_eq!(episode["metadata"]["duration_seconds"], 13);
    check(&episode["files_read"][0], "path:s line:n count:n");
    check(&episode["files_modified"][0], "path:s line:n added:n removed:n");
    for command in episode["commands"].as_array().unwrap() {
        check(command, "text:s line:n outcome:s count:n");
    }
    let failed = episode["commands"].as_array().unwrap().iter().find(|command| command["outcome"] == "failed");
    let failed = failed.unwrap_or_else(|| panic!("{episode}"));
    assert_eq!((&failed["exit_code"], &failed["failed"], &failed["ok"]), (&101.into(), &1.into(), &Value::Null));
    assert!(text(&episode["objective"]).contains("zebra parser"));
    let human = world.ok(&["show", &id(1)]).out;
    for part in ["lasted", "13 s", "tokens", "## Decisions", "I keep the old types", "## Open", "Next: publish it."] {
        assert!(human.contains(part), "{part}: {human}");
    }
}

#[test]
fn close_status_and_stop_print_the_contracts_fields() {
    let world = world();
    let closed = world.json(&["close", &id(1)]);
    check(&closed, "status:s session_id:s episode_uuid:s message:s");
    check(&world.close_fails(&["nobody"]), "status:s session_id:s? episode_uuid:s? message:s");
    // Has all transcripts read first, because `status` reports only what is known.
    world.ok(&["sessions"]);
    let status = world.json(&["status"]);
    check(
        &status,
        "pid:n version:s protocol:n home:s started_at:s roots:a transcripts:n sessions:o backlog:o log:o memory:o problems:a",
    );
    check(&status["roots"][0], "path:s exists:b watched_by:s");
    check(&status["backlog"], "done:n pending:n");
    check(&status["log"], "position:n segments:n bytes:n");
    check(&status["memory"], "position:n lag:n documents:n");
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(status["home"], world.home().to_str().unwrap());
    assert_eq!(status["roots"][0]["path"], world.projects().to_str().unwrap());
    assert_eq!(status["transcripts"], 2);
    assert_eq!(status["sessions"], serde_json::json!({"active": 1, "indexed": 1}));
    assert_eq!(status["problems"], serde_json::json!([]), "all is well");
    for human in ["status", "sessions"] {
        let ran = world.ok(&[human]);
        assert!(ran.out.contains("indexed") && ran.err.is_empty(), "{}{}", ran.out, ran.err);
    }
    check(&world.json(&["stop"]), "stopped:b pid:n");
}

#[test]
fn help_tells_every_command_and_starts_nothing() {
    let world = World::new();
    let help = world.ok(&["--help"]).out;
    let short = world.ok(&["-h"]).out;
    for command in ["search", "sessions", "show", "close", "status", "daemon", "stop"] {
        assert!(help.contains(&format!("  {command}")) && short.contains(command), "{command}: {help}");
        let of_command = world.ok(&[command, "--help"]).out;
        assert!(of_command.contains("Usage:"), "{of_command}");
        let has_json = !matches!(command, "daemon");
        assert_eq!(of_command.contains("--json"), has_json, "{command}: {of_command}");
    }
    for word in ["BATON_HOME", "CLAUDE_CONFIG_DIR", "BATON_LOG"] {
        assert!(help.contains(word), "{help}");
    }
    assert!(!help.contains("--throwaway") && !world.ok(&["daemon", "--help"]).out.contains("--detached"));
    assert!(!world.home().exists());
}

#[test]
fn a_mistyped_option_is_no_word_of_a_question() {
    let world = world();
    for (typed, meant) in [
        (&["search", "--limt", "5", "giraffe"][..], "--limit"),
        (&["search", "giraffe", "--no-wiat"], "--no-wait"),
        (&["recall", "giraffe", "--budgt=300"], "--budget"),
    ] {
        let ran = world.run(typed);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{typed:?}: {}", ran.err);
        assert!(ran.err.contains("unexpected argument") && ran.err.contains(meant), "{typed:?}: {}", ran.err);
        let ran = world.run(&[typed, &["--json"]].concat());
        assert!(ran.code == 2 && ran.err.starts_with(r#"{"error":{"code":"usage""#), "{typed:?}: {}", ran.err);
    }
    assert_eq!(world.run(&["search", "--", "giraffe", "--limt"]).code, 0, "behind `--` everything is a word");
}

#[test]
fn commands_end_with_0_1_or_2() {
    let world = world();
    let cases: [(i32, &[&str]); 17] = [
        (0, &["search", "giraffe"]),
        (0, &["search", "hippopotamus"]),
        (0, &["sessions", "--state", "forgotten"]),
        (0, &["status"]),
        (1, &["show", "nobody"]),
        (1, &["close", "nobody"]),
        (2, &["search", "   "]),
        (1, &["search", "giraffe", "--project", "nowhere"]),
        (1, &["sessions", "--project", "nowhere"]),
        (2, &[]),
        (2, &["nonsense"]),
        (2, &["search"]),
        (2, &["search", "giraffe", "--limit", "0"]),
        (2, &["search", "giraffe", "--limit", "many"]),
        (2, &["sessions", "--state", "odd"]),
        (2, &["close", "--wait", "-1"]),
        (2, &["show"]),
    ];
    for (code, arguments) in cases {
        let ran = world.run(arguments);
        assert_eq!(ran.code, code, "baton {arguments:?}: {}{}", ran.out, ran.err);
        assert_eq!(ran.err.is_empty(), code == 0, "baton {arguments:?}: {}", ran.err);
        assert!(code == 0 || ran.out.is_empty(), "baton {arguments:?}: an error is no data: {}", ran.out);
        assert!(!ran.out.contains('\u{1b}') && !ran.err.contains('\u{1b}'), "no colours where no terminal is");
    }
}

#[test]
fn a_reader_that_has_gone_ends_a_command_quietly() {
    let world = world();
    let mut child = world.spawn(&["sessions"]);
    drop(child.stdout.take());
    let ran = crate::world::finished(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
}
