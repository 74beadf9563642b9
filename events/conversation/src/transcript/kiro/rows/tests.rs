use serde_json::{Value as Json, json};

use crate::item::Agent;
use crate::transcript::tests::{check_path, read_every_way};
use crate::transcript::{Cell, Lines, Source, table};

const MAIN: Source = Source { agent: Agent::Kiro, subagent: false };

fn read(value: &[u8]) -> (Vec<String>, Vec<String>) {
    let (mut lines, mut render) = (Lines::default(), (table(Agent::Kiro).unwrap().render)());
    render.session(&[Cell::Text(b"/srv/harbor")], &mut lines);
    let value = if value.is_empty() { Cell::Null } else { Cell::Text(value) };
    assert!(!render.row(&[Cell::Integer(1), value], &mut lines), "one row is all");
    let (bytes, _) = lines.finish();
    let text = String::from_utf8(bytes).unwrap();
    let (items, _, seen) = read_every_way(MAIN, &text.lines().collect::<Vec<_>>());
    let items = items.iter().map(|item| item.split_once(' ').unwrap().1.to_owned()).collect();
    (items, seen.unknown.keys().map(ToString::to_string).collect())
}

fn check(value: &Json, expected: &[&str]) {
    let (items, unknown) = read(value.to_string().as_bytes());
    assert_eq!((items, unknown), (expected.iter().map(ToString::to_string).collect(), Vec::new()));
}

#[test]
fn conversations_are_known_by_their_paths() {
    for (path, expected) in [
        ("data.sqlite3/5d2f", Some(("5d2f", None))),
        ("data.sqlite3", None),
        ("data.sqlite3-wal", None),
        ("cli/5d2f.jsonl", Some(("5d2f", None))),
    ] {
        check_path(Agent::Kiro, path, expected);
    }
}

#[test]
fn exchanges_become_items() {
    let calls = json!({ "ToolUse": { "message_id": "m1", "content": "I look.", "tool_uses": [
        { "id": "t1", "name": "execute_bash", "orig_name": "execute_bash", "args": { "command": "make" }, "orig_args": {} },
        { "id": "t2", "name": "fs_read", "args": { "operations": [{ "mode": "Line", "path": "/srv/a.rs" }] } },
        { "id": "t3", "name": "baton___recall", "args": { "q": "x" } } ] } });
    let results = json!({ "ToolUseResults": { "tool_use_results": [
        { "tool_use_id": "t1", "content": [{ "Json": { "exit_status": "2", "stdout": "", "stderr": "no rule" } }], "status": "Success" },
        { "tool_use_id": "t2", "content": [{ "Text": "fn main() {}" }], "status": "Success" },
        { "tool_use_id": "t3", "content": [{ "Json": { "a": 1 } }], "status": "Success" } ] } });
    let stopped = json!({ "CancelledToolUses": { "prompt": "and now?", "tool_use_results": [
        { "tool_use_id": "t4", "content": [{ "Text": "Tool use was cancelled by the user" }], "status": "Error" }] } });
    let again = json!({ "ToolUse": { "message_id": "m2", "content": "", "tool_uses": [
        { "id": "t4", "name": "fs_write", "args": { "command": "create", "path": "/srv/b.rs", "file_text": "a\nb" } }] } });
    let user = |content: Json| json!({ "content": content, "timestamp": "2026-06-11T19:15:00+00:00", "additional_context": "planted" });
    let about = json!({ "model_id": "m-1", "request_start_timestamp_ms": 1_781_205_300_000_i64 });
    check(
        &json!({ "history": [
            { "user": user(json!({ "Prompt": { "prompt": "mend the crane" } })), "assistant": calls, "request_metadata": about },
            { "user": user(results), "assistant": again, "request_metadata": null },
            { "user": user(stopped), "assistant": { "Response": { "message_id": "m3", "content": "Mended." } } },
            [user(json!({ "Prompt": { "prompt": "an old one" } })), { "Response": { "message_id": null, "content": "As a pair." } }],
        ] }),
        &[
            "cwd /srv/harbor",
            "prompt mend the crane",
            "usage m-1 None [0, 0, 0, 0, 0]",
            "reply I look.",
            r#"call execute_bash {"command":"make"}"#,
            r#"call fs_read {"file_path":"/srv/a.rs","mode":"Line"}"#,
            "result Failed execute_bash make: exit 2, no rule",
            "result Ok fs_read /srv/a.rs: 1 line",
            r#"call fs_write {"command":"create","content":"a\nb","file_path":"/srv/b.rs"}"#,
            "result Interrupted fs_write /srv/b.rs: interrupted",
            "prompt and now?",
            "reply Mended.",
            "prompt an old one",
            "reply As a pair.",
        ],
    );
    check(
        &json!({ "latest_summary": ["They mended the crane.", {}], "history": [] }),
        &["cwd /srv/harbor", "compaction  None None", "summary They mended the crane."],
    );
}

#[test]
fn drift_and_damage_are_counted() {
    let odd = json!({ "history": [{ "user": { "content": { "Sung": {} } }, "assistant": { "Sings": {} } }, 7] });
    assert_eq!(read(odd.to_string().as_bytes()).1, ["assistant:Sings", "user:", "user:Sung"]);
    assert_eq!(read(b"{\"history\":").1, ["unreadable"]);
    assert_eq!(read(b"").1, ["oversize"]);
}
