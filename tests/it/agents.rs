//! Every agent's transcripts at their usual place in the user's home: found, read, filtered by agent, and one memory for
//! all of a project.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::world::{World, list, text, wait};

const ID: &str = "5d2f1c3a-7b1e-4c55-9a01-d40f7a6b8c90";
const CWD: &str = "/srv/harbor";
const AT: &str = "2026-06-11T19:15:00.000Z";
/// Milliseconds and seconds of [`AT`].
const AT_MS: u64 = 1_781_205_300_000;

/// The transcript of one agent: where it lies below the home, its records, and the file beside it.
struct Kept {
    agent: &'static str,
    path: String,
    records: Vec<Value>,
    beside: Option<(String, Value)>,
    session: &'static str,
    /// Whether its records say in which directory the session works.
    has_directory: bool,
}

/// What the person asks each agent, and what it answers.
fn words(agent: &str) -> (String, String) {
    (format!("Let the {agent} otter swim"), format!("The {agent} otter swims in the harbor now."))
}

fn kept() -> Vec<Kept> {
    let keep = |agent: &'static str, path: &str, session: &'static str, records: Vec<Value>| Kept {
        agent,
        path: path.replace("ID", ID),
        records,
        beside: None,
        session,
        has_directory: true,
    };
    let (ask, say) = words("gemini");
    let gemini = keep(
        "gemini",
        ".gemini/tmp/harbor/chats/session-2026-06-11T19-15-5d2f1c3a.jsonl",
        "5d2f1c3a",
        vec![
            json!({ "sessionId": ID, "projectHash": "x", "startTime": AT, "lastUpdated": AT, "kind": "main",
                    "directories": [CWD] }),
            json!({ "id": "u1", "timestamp": AT, "type": "user", "content": [{ "text": ask }] }),
            json!({ "id": "g1", "timestamp": AT, "type": "gemini", "content": say, "model": "gemini-3" }),
        ],
    );
    let (ask, say) = words("qwen");
    let line = |uuid: &str, parent: Value, kind: &str, role: &str, words: &str| {
        json!({ "uuid": uuid, "parentUuid": parent, "sessionId": "5d2f1c3a-0002", "timestamp": AT, "type": kind, "cwd": CWD,
                "message": { "role": role, "parts": [{ "text": words }] } })
    };
    let qwen = keep(
        "qwen",
        ".qwen/projects/-srv-harbor/chats/5d2f1c3a-0002.jsonl",
        "5d2f1c3a-0002",
        vec![line("a", Value::Null, "user", "user", &ask), line("b", json!("a"), "assistant", "model", &say)],
    );
    let (ask, say) = words("copilot");
    let event = |kind: &str, id: &str, data: Value| json!({ "type": kind, "id": id, "timestamp": AT, "data": data });
    let copilot = keep(
        "copilot",
        ".copilot/session-state/5d2f1c3a-0003/events.jsonl",
        "5d2f1c3a-0003",
        vec![
            event("session.start", "a", json!({ "sessionId": "5d2f1c3a-0003", "context": { "cwd": CWD } })),
            event("user.message", "b", json!({ "content": ask })),
            event("assistant.message", "c", json!({ "messageId": "m", "content": say })),
        ],
    );
    let (ask, say) = words("pi");
    let pi = keep(
        "pi",
        ".pi/agent/sessions/--srv-harbor--/2026-06-11T19-15-00-000Z_5d2f1c3a-7b1e-4c55-9a01-000000000004.jsonl",
        "5d2f1c3a-7b1e-4c55-9a01-000000000004",
        vec![
            json!({ "type": "session", "version": 3, "id": ID, "timestamp": AT, "cwd": CWD }),
            json!({ "type": "message", "id": "a", "parentId": null, "timestamp": AT,
                    "message": { "role": "user", "content": ask } }),
            json!({ "type": "message", "id": "b", "parentId": "a", "timestamp": AT, "message":
                    { "role": "assistant", "content": [{ "type": "text", "text": say }], "stopReason": "stop" } }),
        ],
    );
    let (ask, say) = words("droid");
    let message = |role: &str, words: &str| {
        json!({ "type": "message", "id": role, "timestamp": AT,
                "message": { "role": role, "content": [{ "type": "text", "text": words }] } })
    };
    let droid = keep(
        "droid",
        ".factory/sessions/-srv-harbor/5d2f1c3a-0005.jsonl",
        "5d2f1c3a-0005",
        vec![
            json!({ "type": "session_start", "id": "5d2f1c3a-0005", "title": "Otters", "cwd": CWD }),
            message("user", &ask),
            message("assistant", &say),
        ],
    );
    let (ask, say) = words("cursor");
    let said = |role: &str, words: &str| json!({ "role": role, "message": { "content": [{ "type": "text", "text": words }] } });
    let cursor = Kept {
        has_directory: false,
        ..keep(
            "cursor",
            ".cursor/projects/srv-harbor/agent-transcripts/5d2f1c3a-0006/5d2f1c3a-0006.jsonl",
            "5d2f1c3a-0006",
            vec![said("user", &format!("<user_query>\n{ask}\n</user_query>")), said("assistant", &say)],
        )
    };
    let (ask, say) = words("kiro");
    let block = |words: &str| json!([{ "kind": "text", "data": words }]);
    let kiro = Kept {
        beside: Some((".kiro/sessions/cli/5d2f1c3a-0007.json".to_owned(), json!({ "cwd": CWD }))),
        ..keep(
            "kiro",
            ".kiro/sessions/cli/5d2f1c3a-0007.jsonl",
            "5d2f1c3a-0007",
            vec![
                json!({ "version": "v1", "kind": "Prompt", "data":
                        { "message_id": "a", "content": block(&ask), "meta": { "timestamp": AT_MS / 1000 } } }),
                json!({ "version": "v1", "kind": "AssistantMessage", "data": { "message_id": "b", "content": block(&say) } }),
            ],
        )
    };
    let (ask, say) = words("vibe");
    let folder = ".vibe/logs/session/session_20260611_191500_5d2f1c38";
    let vibe = Kept {
        beside: Some((format!("{folder}/meta.json"), json!({ "environment": { "working_directory": CWD } }))),
        ..keep(
            "vibe",
            &format!("{folder}/messages.jsonl"),
            "5d2f1c38",
            vec![
                json!({ "role": "user", "content": ask, "injected": false, "message_id": "a" }),
                json!({ "role": "assistant", "content": say, "injected": false, "message_id": "b" }),
            ],
        )
    };
    vec![gemini, qwen, copilot, pi, droid, cursor, kiro, vibe]
}

fn write(user: &Path, kept: &Kept) {
    let path = user.join(&kept.path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let lines: String = kept.records.iter().map(|record| format!("{record}\n")).collect();
    if let Some((beside, value)) = &kept.beside {
        fs::write(user.join(beside), value.to_string()).unwrap();
    }
    fs::write(path, lines).unwrap();
}

#[test]
fn each_agents_sessions_are_found_at_their_usual_place() {
    let world = World::new();
    let user = world.path("user");
    let all = kept();
    all.iter().for_each(|kept| write(&user, kept));
    assert!(!world.found("otter").is_empty());
    assert!(wait(|| world.found("agent:gemini otter swims").len() == 1));
    for kept in &all {
        let (ask, say) = words(kept.agent);
        assert_eq!(world.found(&format!("agent:{} otter swims", kept.agent)), [kept.session], "{}", kept.agent);
        let listed = list(&world.json(&["sessions", "--agent", kept.agent])["sessions"]);
        let ids: Vec<String> = listed.iter().map(|row| text(&row["session_id"])).collect();
        assert_eq!(ids, [kept.session], "{}", kept.agent);
        assert_eq!(listed[0]["agent"], kept.agent);
        assert_eq!(listed[0]["message_count"], 2, "{}: {}", kept.agent, listed[0]);
        assert_eq!(listed[0]["project"], if kept.has_directory { json!(CWD) } else { Value::Null }, "{}", kept.agent);
        assert_eq!(listed[0]["unknown_types"], json!({}), "{}", kept.agent);
        let messages = list(&world.json(&["show", kept.session, "--messages"])["messages"]);
        let parts =
            |message: &Value| list(&message["parts"]).iter().map(|part| text(&part["text"])).collect::<String>();
        let told: Vec<(String, String)> = messages.iter().map(|it| (text(&it["role"]), parts(it))).collect();
        assert_eq!(told, [("user".to_owned(), ask), ("assistant".to_owned(), say)], "{}", kept.agent);
    }
    assert_eq!(world.problems(), "[]");
}

#[test]
fn a_file_that_a_resume_began_does_not_hide_the_session() {
    let world = World::new();
    let all = kept();
    let gemini = all.iter().find(|kept| kept.agent == "gemini").unwrap();
    write(&world.path("user"), gemini);
    // It sorts first, and is found first.
    let begun = world.path("user").join(&gemini.path).with_file_name("session-2026-06-11T19-14-5d2f1c3a.jsonl");
    let context = format!("<session_context>\n- **Workspace Directories:**\n  - {CWD}\n</session_context>");
    let set = json!({ "$set": { "messages": [{ "id": "c", "type": "user", "content": [{ "text": context }] }] } });
    fs::write(&begun, format!("{}\n{set}\n", gemini.records[0])).unwrap();
    assert_eq!(world.found("otter swims"), [gemini.session]);
    assert_eq!(list(&world.json(&["show", gemini.session, "--messages"])["messages"]).len(), 2);
}

#[test]
fn what_one_agent_did_is_handed_to_the_next() {
    let world = World::new();
    let mut all = kept();
    let copilot = all.iter_mut().find(|kept| kept.agent == "copilot").unwrap();
    let event = |kind: &str, data: Value| json!({ "type": kind, "id": kind, "timestamp": AT, "data": data });
    let arguments = json!({ "path": format!("{CWD}/otter.rs"), "old_str": "a", "new_str": "b" });
    let call = json!({ "toolCallId": "t", "toolName": "edit", "arguments": arguments });
    let done = json!({ "toolCallId": "t", "success": true, "result": { "content": "done" } });
    copilot.records.insert(2, event("tool.execution_start", call));
    copilot.records.insert(3, event("tool.execution_complete", done));
    write(&world.path("user"), copilot);
    world.close(copilot.session);
    let handed = world.json(&["handoff", "--project", CWD]);
    assert_eq!((handed["agent"].as_str(), handed["session_id"].as_str()), (Some("copilot"), Some(copilot.session)));
    assert!(text(&handed["text"]).contains("An earlier Copilot CLI session in this project"), "{handed}");
}

#[test]
fn a_timeline_is_of_one_agent_or_names_them() {
    let world = World::new();
    let all = kept();
    all.iter().for_each(|kept| write(&world.path("user"), kept));
    assert!(!world.found("otter").is_empty());
    let listed = |agent: &str| {
        let days = list(&world.json(&["timeline", "--agent", agent])["days"]);
        let sessions = days.iter().flat_map(|day| list(&day["sessions"]));
        sessions.map(|session| (text(&session["agent"]), text(&session["session_id"]))).collect::<Vec<_>>()
    };
    assert!(wait(|| !listed("gemini").is_empty()));
    for kept in &all {
        assert_eq!(listed(kept.agent), [(kept.agent.to_owned(), kept.session.to_owned())]);
    }
    assert!(world.ok(&["timeline"]).out.contains("Droid, harbor"));
    assert!(!world.ok(&["timeline", "--agent", "droid"]).out.contains("Droid, harbor"));
    assert_eq!(world.run(&["timeline", "--agent", "emacs"]).code, 2);
}

#[test]
fn patterns_are_of_one_agent() {
    let world = World::new();
    let mut all = kept();
    for agent in ["copilot", "qwen"] {
        let kept = all.iter_mut().find(|kept| kept.agent == agent).unwrap();
        for (run, ok) in [false, false, false, true].iter().enumerate() {
            kept.records.extend(runs(agent, run, *ok));
        }
        write(&world.path("user"), kept);
    }
    assert!(!world.found("otter").is_empty());
    let sessions = |arguments: &[&str]| {
        let answer = world.json(&[&["patterns", "-p", CWD], arguments].concat());
        let failing = list(&answer["mostly_failing"]).iter().map(|it| text(&it["command"])).collect::<Vec<_>>();
        (answer["sessions"].clone(), answer["agent"].clone(), failing)
    };
    let (copilot, qwen) = ("make copilot".to_owned(), "make qwen".to_owned());
    assert!(wait(|| sessions(&[]).0 == 2));
    assert_eq!(sessions(&[]), (json!(2), Value::Null, vec![copilot.clone(), qwen.clone()]));
    assert_eq!(sessions(&["--agent", "qwen"]), (json!(1), json!("qwen"), vec![qwen]));
    assert_eq!(sessions(&["--agent", "copilot"]), (json!(1), json!("copilot"), vec![copilot]));
    assert_eq!(sessions(&["--agent", "codex"]), (json!(0), json!("codex"), vec![]));
}

/// A run of `make AGENT` and how it ended.
fn runs(agent: &str, run: usize, ok: bool) -> Vec<Value> {
    let (id, command) = (format!("t{run}"), format!("make {agent}"));
    let code = if ok { 0 } else { 2 };
    if agent == "copilot" {
        let event = |kind: &str, data: Value| json!({ "type": kind, "id": format!("{kind}{run}"), "timestamp": AT, "data": data });
        let call = json!({ "toolCallId": id, "toolName": "bash", "arguments": { "command": command } });
        let output = format!("done\n<shellId: 1 completed with exit code {code}>");
        let done = json!({ "toolCallId": id, "success": true, "result": { "content": output } });
        return vec![event("tool.execution_start", call), event("tool.execution_complete", done)];
    }
    let line = |kind: &str, role: &str, part: Value| {
        json!({ "uuid": format!("{kind}{run}"), "sessionId": "5d2f1c3a-0002", "timestamp": AT, "type": kind, "cwd": CWD,
                "message": { "role": role, "parts": [part] } })
    };
    let call = json!({ "functionCall": { "id": id, "name": "run_shell_command", "args": { "command": command } } });
    let output = format!("Command: {command}\nOutput: done\nError: (none)\nExit Code: {code}\nSignal: (none)");
    let done =
        json!({ "functionResponse": { "id": id, "name": "run_shell_command", "response": { "output": output } } });
    let mut done = line("tool_result", "user", done);
    done["toolCallResult"] = json!({ "callId": id, "status": if ok { "success" } else { "error" } });
    vec![line("assistant", "model", call), done]
}
