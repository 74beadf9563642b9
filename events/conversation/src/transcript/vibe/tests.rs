use serde_json::json;

use crate::abandoned_branches::without_abandoned;
use crate::item::Agent;
use crate::transcript::tests::{read_as, read_every_way};
use crate::transcript::{Kind, Source, classify, kind_of};

const VIBE: Source = Source { agent: Agent::Vibe, subagent: false };

fn said(role: &str, id: &str, words: &str) -> String {
    json!({ "role": role, "content": words, "injected": false, "message_id": id }).to_string()
}

fn call(id: &str, name: &str, arguments: &str) -> String {
    let call =
        json!({ "id": id, "index": 0, "function": { "name": name, "arguments": arguments }, "type": "function" });
    json!({ "role": "assistant", "injected": false, "tool_calls": [call], "message_id": format!("m{id}") }).to_string()
}

fn result(id: &str, name: &str, content: &str) -> String {
    json!({ "role": "tool", "content": content, "injected": false, "name": name, "tool_call_id": id }).to_string()
}

#[test]
fn messages_become_items() {
    let block = "<<<<<<< SEARCH\na\n=======\nb\nc\n>>>>>>> REPLACE";
    let summary = "You continue.\n<compaction_summary>\nso far\n</compaction_summary>";
    let lines = [
        json!({ "role": "user", "content": summary, "injected": true, "message_id": "i" }).to_string(),
        said("user", "p", "hi\n\n<vibe_warning>half of the context</vibe_warning>"),
        json!({ "role": "assistant", "content": "I look", "injected": false, "reasoning_content": "hm", "message_id": "a" })
            .to_string(),
        call("1", "bash", r#"{"command": "ls x"}"#),
        result("1", "bash", "command: ls x\nstdout: a\nstderr: b\nstderr: no x\nreturncode: 2"),
        call("2", "bash", r#"{"command": "false"}"#),
        result("2", "bash", "<tool_error>bash failed: Command failed: 'false'\nReturn code: 1\nStderr: </tool_error>"),
        call("3", "search_replace", &json!({ "file_path": "/a", "content": block }).to_string()),
        result("3", "search_replace", "file: /a\nblocks_applied: 1"),
        call("4", "gh_issue", "{}"),
        result("4", "gh_issue", "<user_cancellation>Tool execution skipped by user.</user_cancellation>"),
        call("5", "grep", r#"{"pattern": "x"}"#),
        result("5", "grep", "<user_cancellation>Tool execution interrupted by user.</user_cancellation>"),
        call("6", "baton_get_episodes", "{}"),
        result("6", "baton_get_episodes", "ours"),
        said("assistant", "b", "done"),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (items, _, seen) = read_every_way(VIBE, &lines);
    let items: Vec<&String> = items.iter().filter(|item| !item.contains(" below ")).collect();
    assert_eq!(
        items,
        [
            "1 compaction  None None",
            "1 summary so far",
            "2 prompt hi",
            "3 thinking hm",
            "3 reply I look",
            r#"4 call bash {"command":"ls x"}"#,
            "5 result Failed bash ls x: exit 2, a",
            r#"6 call bash {"command":"false"}"#,
            "7 result Failed bash false: exit 1, bash failed: Command failed: 'false'",
            r#"8 call search_replace {"edits":[{"new_string":"b\nc","old_string":"a"}],"file_path":"/a"}"#,
            "9 result Ok search_replace /a: +2 -1",
            "10 call gh_issue {}",
            "11 result Denied gh_issue: denied",
            r#"12 call grep {"pattern":"x"}"#,
            "13 result Interrupted grep x: interrupted",
            "16 reply done",
        ]
    );
    assert!(seen.unknown.is_empty(), "{:?}", seen.unknown);
}

#[test]
fn a_repeated_message_takes_back_what_followed_it() {
    let lines =
        [said("user", "1", "one"), said("user", "2", "two"), said("user", "1", "one"), said("user", "3", "three")];
    let (items, ..) = read_as(VIBE, format!("{}\n", lines.join("\n")).as_bytes());
    let standing = without_abandoned(&items);
    let prompts: Vec<&str> = standing
        .iter()
        .filter_map(|item| match &item.body {
            crate::item::Body::Prompt { text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(prompts, ["one", "three"]);
}

#[test]
fn a_transcript_is_known_by_its_path() {
    for (path, expected) in [
        ("session/session_20260707_144326_2abf1f41/messages.jsonl", Some("2abf1f41")),
        ("session/session_1_2_2abf1f41/agents/explore_1_2_00ff00ff/messages.jsonl", Some("00ff00ff of 2abf1f41")),
        ("session/session_20260707_144326_2abf1f41/meta.jsonl", None),
        ("session/session/messages.jsonl", None),
        ("session/session_1_2_/messages.jsonl", None),
        ("session_1_2_2abf1f41/messages.jsonl", None),
    ] {
        let found = classify(Agent::Vibe, path).map(|located| match located.kind {
            Kind::Subagent { parent: Some(parent) } => format!("{} of {parent}", located.session),
            _ => located.session.to_string(),
        });
        assert_eq!(found.as_deref(), expected, "{path}");
    }
    assert_eq!(kind_of(Agent::Vibe, br#"{"role": "tool", "content": "xx"#).as_deref(), Some("tool"));
}
