//! Ids that come again: of records in unrelated sessions, and of sessions in the files of two agents.

use std::fs;

use serde_json::{Value, json};

use crate::world::{World, list, text};

const CWD: &str = "/srv/harbor";

fn write(world: &World, path: &str, records: &[Value]) {
    let path = world.path("user").join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, records.iter().map(|record| format!("{record}\n")).collect::<String>()).unwrap();
}

fn codex(world: &World, session: &str, word: &str) {
    let line = |second: u32, kind: &str, payload: Value| json!({ "timestamp": format!("2026-06-11T19:15:0{second}.000Z"), "type": kind, "payload": payload });
    let arguments = json!({ "command": ["bash", "-lc", format!("grep -r {word}needle src")] }).to_string();
    let output = json!({ "output": format!("{word} found"), "metadata": { "exit_code": 0 } }).to_string();
    let records = [
        line(0, "session_meta", json!({ "id": session, "timestamp": "2026-06-11T19:15:00.000Z", "cwd": CWD })),
        line(1, "event_msg", json!({ "type": "user_message", "message": format!("list the {word}") })),
        line(
            2,
            "response_item",
            json!({ "type": "function_call", "name": "shell", "arguments": arguments, "call_id": "call_0" }),
        ),
        line(3, "response_item", json!({ "type": "function_call_output", "call_id": "call_0", "output": output })),
    ];
    write(world, &format!("../codex/sessions/2026/06/11/rollout-2026-06-11T19-15-00-{session}.jsonl"), &records);
}

fn copilot(world: &World, session: &str, word: &str) {
    let event = |kind: &str, id: &str, data: Value| json!({ "type": kind, "id": id, "timestamp": format!("2026-06-11T19:15:0{id}.000Z"), "data": data });
    let records = [
        event("session.start", "1", json!({ "sessionId": session, "context": { "cwd": CWD } })),
        event("user.message", "2", json!({ "content": "hello walrus" })),
        event("assistant.message", "3", json!({ "messageId": "m", "content": format!("The {word} says hello.") })),
    ];
    write(world, &format!(".copilot/session-state/{session}/events.jsonl"), &records);
}

/// Prompts of a Pi session, each with its id and minute.
fn pi(world: &World, session: &str, prompts: &[(&str, u32, &str)]) {
    let mut records = vec![
        json!({ "type": "session", "version": 3, "id": session, "timestamp": "2026-06-11T19:15:00.000Z", "cwd": CWD }),
    ];
    let mut parent = Value::Null;
    for (id, minute, words) in prompts {
        records.push(json!({ "type": "message", "id": id, "parentId": parent, "timestamp": format!("2026-06-11T19:{minute}:00.000Z"),
                             "message": { "role": "user", "content": words } }));
        parent = json!(id);
    }
    write(world, &format!(".pi/agent/sessions/--srv-harbor--/2026-06-11T19-15-00-000Z_{session}.jsonl"), &records);
}

/// Forgets a session, and returns those that went with it.
fn forget(world: &World, session: &str) -> Vec<Value> {
    let done = world.json(&["forget", "--yes", session]);
    assert_eq!(done["status"], "success", "{done}");
    list(&done["also"])
}

fn relations(world: &World, session: &str) -> Vec<Value> {
    world.show(session)["relations"].as_array().cloned().unwrap_or_default()
}

#[test]
fn sessions_whose_records_have_the_same_ids_by_chance_are_no_forks() {
    let world = World::new();
    let ids = |agent: u32| [1, 2].map(|number| format!("019ed50c-2fb3-7002-a384-0000000{agent}000{number}"));
    let ([codex_one, codex_two], [pi_one, pi_two]) = (ids(1), ids(2));
    codex(&world, &codex_one, "ostrich");
    codex(&world, &codex_two, "pelican");
    pi(&world, &pi_one, &[("0a1b2c3d", 16, "describe the heron")]);
    pi(&world, &pi_two, &[("0a1b2c3d", 17, "describe the toucan")]);
    for (session, word) in [("cr-1", "walrus one"), ("cr-2", "auk"), ("cr-3", "skua")] {
        copilot(&world, session, word);
    }
    for (query, session) in [
        ("ostrichneedle", &*codex_one),
        ("pelicanneedle", &codex_two),
        ("heron", &pi_one),
        ("toucan", &pi_two),
        ("auk", "cr-2"),
        ("skua", "cr-3"),
    ] {
        assert_eq!(world.found(query), [session], "{query}");
        assert_eq!(relations(&world, session), [Value::Null; 0], "{session}");
    }
    let mut walruses = world.found("hello walrus");
    walruses.sort();
    assert_eq!(walruses, ["cr-1", "cr-2", "cr-3"], "what each was asked is found in each");
    for session in [&*codex_one, &pi_one, "cr-1"] {
        assert_eq!(forget(&world, session), [Value::Null; 0], "{session}");
    }
    // Nor is one that is found later taken for a copy.
    copilot(&world, "cr-4", "puffin");
    for (query, session) in
        [("pelicanneedle", &*codex_two), ("toucan", &pi_two), ("auk", "cr-2"), ("skua", "cr-3"), ("puffin", "cr-4")]
    {
        assert_eq!(world.found(query), [session], "{query}");
    }
}

#[test]
fn a_fork_with_short_ids_is_one_and_stays_forgotten_with_its_origin() {
    let world = World::new();
    let ids = [1, 2, 3].map(|number| format!("019ed50c-2fb3-7002-a384-00000002000{number}"));
    let begun = [("0a1b2c3d", 16, "describe the heron"), ("1b2c3d4e", 17, "and the bittern")];
    pi(&world, &ids[0], &begun);
    assert_eq!(world.found("heron"), [&*ids[0]]);
    pi(&world, &ids[1], &[begun[0], begun[1], ("2c3d4e5f", 18, "now the toucan")]);
    assert_eq!(world.found("toucan"), [&*ids[1]]);
    assert_eq!(world.found("bittern"), [&*ids[0]], "once, in the elder");
    let relations = relations(&world, &ids[1]);
    assert_eq!((&relations[0]["name"], &relations[0]["shared_records"]), (&json!("continues"), &json!(2)));
    let also = forget(&world, &ids[0]);
    assert_eq!(also.iter().map(|row| text(&row["session_id"])).collect::<Vec<_>>(), [&*ids[1]]);
    pi(&world, &ids[2], &[begun[0], ("3d4e5f60", 19, "now the egret")]);
    assert_eq!(world.found("egret"), [""; 0], "it brings back what was forgotten");
}

#[test]
fn of_two_agents_with_one_session_id_the_unread_file_is_named_with_both() {
    let world = World::new();
    let session = "22222222-2222-4222-8222-222222222222";
    copilot(&world, session, "dunlin");
    assert_eq!(world.found("dunlin"), [session]);
    let said = |role: &str, words: &str| json!({ "role": role, "message": { "content": [{ "type": "text", "text": words }] } });
    let path = format!(".cursor/projects/srv-harbor/agent-transcripts/{session}/{session}.jsonl");
    write(&world, &path, &[said("user", "<user_query>ask the sanderling</user_query>"), said("assistant", "yes")]);
    assert_eq!(world.found("sanderling"), [""; 0]);
    let problems = world.problems();
    let told = problems.contains(&path)
        && problems.contains("of Cursor is not read: Copilot CLI has a session with the same id")
        && !problems.contains("rename");
    assert!(told, "{problems}");
}

#[test]
#[cfg(unix)]
fn what_no_session_can_be_read_from_is_named() {
    let world = World::new();
    copilot(&world, "good", "plover");
    for name in ["new\nline", "esc\u{1b}[31m", "..hidden"] {
        copilot(&world, name, "lapwing");
    }
    let state = world.path("user/.copilot/session-state");
    for name in ["pipe", "device"] {
        fs::create_dir_all(state.join(name)).unwrap();
    }
    assert!(std::process::Command::new("mkfifo").arg(state.join("pipe/events.jsonl")).status().unwrap().success());
    std::os::unix::fs::symlink("/dev/zero", state.join("device/events.jsonl")).unwrap();
    assert_eq!(world.found("plover"), ["good"]);
    assert_eq!(world.found("lapwing"), [""; 0]);
    let problems = world.problems();
    for told in ["line/events.jsonl", "[31m/events.jsonl", "..hidden", "pipe/events.jsonl", "device/events.jsonl"] {
        assert!(problems.contains(told), "{told}: {problems}");
    }
    assert_eq!(problems.matches("not a valid session name").count(), 3, "{problems}");
    assert_eq!(problems.matches("not a regular file").count(), 2, "{problems}");
}

#[test]
fn a_time_that_is_still_to_come_is_none() {
    let world = World::new();
    let event =
        |kind: &str, id: &str, at: &str, data: Value| json!({ "type": kind, "id": id, "timestamp": at, "data": data });
    let records = [
        event(
            "session.start",
            "a",
            "2026-06-11T19:15:00.000Z",
            json!({ "sessionId": "far", "context": { "cwd": CWD } }),
        ),
        event("user.message", "b", "9999-12-31T23:59:59.999Z", json!({ "content": "where is the phalarope" })),
    ];
    write(&world, ".copilot/session-state/far/events.jsonl", &records);
    let hits = list(&world.search("phalarope")["hits"]);
    assert!(
        !hits.is_empty() && !hits.iter().any(|hit| hit["timestamp"].as_str().is_some_and(|at| at.starts_with('9'))),
        "{hits:?}"
    );
    let after = list(&world.search("phalarope after:2d")["hits"]);
    assert!(!after.iter().any(|hit| hit["kind"] == "turn"), "{after:?}");
}
