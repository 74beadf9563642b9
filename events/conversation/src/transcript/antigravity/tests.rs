use serde_json::{Value, json};

use crate::item::Agent;
use crate::transcript::tests::read_every_way;
use crate::transcript::{Source, classify, fuller};

const ANTIGRAVITY: Source = Source { agent: Agent::Antigravity, subagent: false };

fn step(index: u64, source: &str, kind: &str, more: Value) -> String {
    let mut step = json!({ "step_index": index, "source": source, "type": kind, "status": "DONE",
        "created_at": "2026-06-20T11:11:54Z" });
    for (key, value) in more.as_object().unwrap() {
        step[key] = value.clone();
    }
    step.to_string()
}

fn call(index: u64, name: &str, args: Value) -> String {
    step(index, "MODEL", "PLANNER_RESPONSE", json!({ "tool_calls": [{ "name": name, "args": args }] }))
}

fn result(index: u64, kind: &str, content: &str) -> String {
    let content = format!("Created At: 2026-06-20T11:11:59Z\nCompleted At: 2026-06-20T11:12:00Z\n{content}");
    step(index, "MODEL", kind, json!({ "content": content }))
}

fn check(lines: &[String], expected: &[&str]) {
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (items, _, seen) = read_every_way(ANTIGRAVITY, &lines);
    assert_eq!(items, expected, "{lines:#?}");
    assert!(seen.unknown.is_empty(), "{:?}", seen.unknown);
}

#[test]
fn steps_become_items() {
    let prompt = "<USER_REQUEST>\nhi\n</USER_REQUEST>\n<ADDITIONAL_METADATA>\nThe time.\n</ADDITIONAL_METADATA>\n\
        <USER_SETTINGS_CHANGE>\nThe user changed setting `Model Selection` from None to Gemini 3.1 Pro (Low). No need to \
        comment.\n</USER_SETTINGS_CHANGE>";
    let checkpoint =
        |number: u64| format!("{{{{ CHECKPOINT {number} }}}}\n\n# USER Objective:\n### Say hi\n\n# Logs\n");
    let both = json!([{ "name": "view_file", "args": { "AbsolutePath": "/a", "StartLine": 1 } },
        { "name": "grep_search", "args": { "SearchPath": "/b", "Query": "x" } }]);
    check(
        &[
            step(0, "USER_EXPLICIT", "USER_INPUT", json!({ "content": prompt })),
            step(1, "SYSTEM", "CONVERSATION_HISTORY", json!({})),
            step(2, "SYSTEM", "EPHEMERAL_MESSAGE", json!({ "content": "nobody typed it" })),
            call(
                3,
                "run_command",
                json!({ "CommandLine": "\"false\"", "Cwd": "\"/p\"", "WaitMsBeforeAsync": "500",
                "toolAction": "\"Running\"", "toolSummary": "\"Run it\"" }),
            ),
            step(4, "MODEL", "RUN_COMMAND", json!({ "status": "RUNNING" })),
            result(
                4,
                "RUN_COMMAND",
                "\n\t\t\t\tThe command failed with exit code: 1\n\t\t\tStdout:\n\t\t\t\n\t\t\tStderr:\n\t\t\tno\n",
            ),
            step(6, "MODEL", "PLANNER_RESPONSE", json!({ "thinking": "hm", "tool_calls": both })),
            step(5, "SYSTEM", "CHECKPOINT", json!({ "content": checkpoint(0) })),
            result(8, "GREP_SEARCH", "one\ntwo"),
            result(7, "VIEW_FILE", "1: a\n"),
            call(
                9,
                "multi_replace_file_content",
                json!({ "TargetFile": "/a",
                "ReplacementChunks": [{ "TargetContent": "a", "ReplacementContent": "b\nc" }] }),
            ),
            step(11, "MODEL", "CODE_ACTION", json!({ "status": "ERROR", "content": "The user denied the change" })),
            call(12, "call_mcp_tool", json!({ "ServerName": "gh", "ToolName": "issue", "Arguments": { "n": 1 } })),
            result(13, "MCP_TOOL", "fine"),
            call(14, "call_mcp_tool", json!({ "ServerName": "baton", "ToolName": "get_episodes", "Arguments": {} })),
            result(15, "MCP_TOOL", "ours"),
            call(16, "invoke_subagent", json!({ "Subagents": [{ "Prompt": "look", "Role": "Reader" }] })),
            result(17, "INVOKE_SUBAGENT", "Created:\n{\n  \"conversationId\":  \"d635\",\n}"),
            step(
                18,
                "SYSTEM",
                "SYSTEM_MESSAGE",
                json!({ "content": "Not sent by the user.\n\n<SYSTEM_MESSAGE>\nstopped\n</SYSTEM_MESSAGE>" }),
            ),
            step(19, "MODEL", "PLANNER_RESPONSE", json!({ "content": "done" })),
            step(19, "MODEL", "PLANNER_RESPONSE", json!({ "content": "done" })),
            step(20, "SYSTEM", "CHECKPOINT", json!({ "content": checkpoint(1) })),
            step(21, "USER_EXPLICIT", "USER_INPUT", json!({ "content": "bare" })),
        ],
        &[
            "1 usage Gemini 3.1 Pro (Low) None [0, 0, 0, 0, 0]",
            "1 prompt hi",
            "4 cwd /p",
            r#"4 call run_command {"Cwd":"/p","WaitMsBeforeAsync":500,"command":"false","description":"Run it"}"#,
            "6 result Failed run_command false: exit 1, no",
            "7 thinking hm",
            r#"7 call view_file {"StartLine":1,"file_path":"/a"}"#,
            r#"7 call grep_search {"path":"/b","pattern":"x"}"#,
            "8 title Model Say hi",
            "9 result Ok grep_search x in /b: 2 lines",
            "10 result Ok view_file /a: 1 line",
            r#"11 call multi_replace_file_content {"edits":[{"new_string":"b\nc","old_string":"a"}],"file_path":"/a"}"#,
            "12 result Denied multi_replace_file_content /a: denied",
            r#"13 call mcp__gh__issue {"n":1}"#,
            "14 result Ok mcp__gh__issue: 1 line, 4 B",
            r#"17 call invoke_subagent {"Subagents":[{"Role":"Reader","prompt":"look"}]}"#,
            "18 result Ok invoke_subagent: 4 lines, 41 B",
            "19 notice stopped",
            "20 reply done",
            "22 compaction  None None",
            "22 summary {{ CHECKPOINT 1 }}\n\n# USER Objective:\n### Say hi\n\n# Logs",
            "23 prompt bare",
        ],
    );
}

#[test]
fn a_transcript_is_known_by_its_path() {
    for (path, expected) in [
        ("7e1f-2d/.system_generated/logs/transcript_full.jsonl", Some("7e1f-2d")),
        ("7e1f-2d/.system_generated/logs/transcript.jsonl", Some("7e1f-2d")),
        ("7e1f-2d/.system_generated/logs/other_transcript.jsonl", None),
        ("7e1f-2d/logs/transcript.jsonl", None),
        ("transcript.jsonl", None),
    ] {
        let found = classify(Agent::Antigravity, path).map(|located| located.session.to_string());
        assert_eq!(found.as_deref(), expected, "{path}");
    }
    assert_eq!(fuller(Agent::Antigravity, "/a/transcript.jsonl").as_deref(), Some("/a/transcript_full.jsonl"));
    assert_eq!(fuller(Agent::Antigravity, "/a/transcript_full.jsonl"), None);
    assert_eq!(fuller(Agent::Codex, "/a/transcript.jsonl"), None);
}
