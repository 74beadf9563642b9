use serde_json::{Value, json};

use crate::abandoned_branches::without_abandoned;
use crate::item::{Agent, Body};
use crate::transcript::tests::{read_as, read_every_way};
use crate::transcript::{Kind, Source, classify};

const KIMI: Source = Source { agent: Agent::Kimi, subagent: false };

fn record(kind: &str, more: Value) -> String {
    let mut record = json!({ "type": kind, "time": 1_785_612_803_281_u64 });
    for (key, value) in more.as_object().unwrap() {
        record[key] = value.clone();
    }
    record.to_string()
}

fn event(event: Value) -> String {
    record("context.append_loop_event", json!({ "event": event }))
}

fn typed(kind: &str, words: &str, origin: Value) -> String {
    record(kind, json!({ "input": [{ "type": "text", "text": words }], "origin": origin }))
}

fn appended(words: &str, origin: Value) -> String {
    let content = json!([{ "type": "text", "text": words }]);
    record("context.append_message", json!({ "message": { "role": "user", "content": content, "origin": origin } }))
}

fn turn(words: &str) -> Vec<String> {
    let user = json!({ "kind": "user" });
    let reply =
        json!({ "type": "content.part", "uuid": words, "part": { "type": "text", "text": format!("re {words}") } });
    vec![typed("turn.prompt", words, user.clone()), appended(words, user), event(reply)]
}

fn items_of(source: Source, lines: &[String]) -> Vec<String> {
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (items, _, seen) = read_every_way(source, &lines);
    assert!(seen.unknown.is_empty(), "{:?}", seen.unknown);
    items.into_iter().filter(|item| !item.contains(" below ")).collect()
}

#[test]
fn records_become_items() {
    let user = json!({ "kind": "user" });
    let skill =
        json!({ "kind": "skill_activation", "trigger": "user-slash", "skillName": "design", "skillArgs": "a page" });
    let call = |id: &str, name: &str, args: Value| {
        event(json!({ "type": "tool.call", "uuid": id, "stepUuid": "s", "toolCallId": id, "name": name, "args": args,
            "display": { "kind": "command", "cwd": "/p" } }))
    };
    let result = |id: &str, result: Value| event(json!({ "type": "tool.result", "toolCallId": id, "result": result }));
    let lines = [
        record("metadata", json!({ "protocol_version": "1.4" })),
        record("config.update", json!({ "modelAlias": "m/k2", "cwd": "/p" })),
        typed("turn.prompt", "hi", user.clone()),
        appended("hi", user.clone()),
        appended("<system-reminder>\nnobody typed it</system-reminder>", json!({ "kind": "injection" })),
        record("llm.request", json!({ "model": "k2" })),
        event(json!({ "type": "step.begin", "uuid": "s" })),
        event(
            json!({ "type": "content.part", "uuid": "t", "stepUuid": "s", "part": { "type": "think", "think": "hm" } }),
        ),
        event(
            json!({ "type": "content.part", "uuid": "c", "stepUuid": "s", "part": { "type": "text", "text": "I look" } }),
        ),
        call("1", "Bash", json!({ "command": "cat x" })),
        result("1", json!({ "output": "cat: x: No such file\nCommand failed with exit code: 1.", "isError": true })),
        call("2", "Write", json!({ "path": "/p/a", "content": "x\ny\n" })),
        record("permission.record_approval_result", json!({ "toolCallId": "2", "result": { "decision": "rejected" } })),
        result("2", json!({ "output": "not run", "isError": true })),
        call("3", "mcp__gh__issue", json!("{\"n\":1}")),
        result("3", json!({ "output": [{ "type": "text", "text": "fine" }] })),
        call("4", "mcp__baton__get_episodes", json!({})),
        result("4", json!({ "output": "ours" })),
        event(json!({ "type": "step.end", "uuid": "s", "usage": { "inputOther": 9, "output": 4, "inputCacheRead": 2,
            "inputCacheCreation": 1 } })),
        typed("turn.steer", "stop", user.clone()),
        record("turn.cancel", json!({})),
        typed("turn.prompt", "the whole skill", skill.clone()),
        appended("stop", user),
        appended("the whole skill", skill),
        record("full_compaction.begin", json!({ "source": "manual" })),
        record("context.apply_compaction", json!({ "summary": "so far", "tokensBefore": 20, "tokensAfter": 3 })),
        record("full_compaction.complete", json!({})),
    ];
    assert_eq!(
        items_of(KIMI, &lines),
        [
            "2 cwd /p",
            "3 prompt hi",
            "6 usage k2 None [0, 0, 0, 0, 0]",
            "8 thinking hm",
            "9 reply I look",
            r#"10 call Bash {"command":"cat x"}"#,
            "11 result Failed Bash cat x: exit 1, cat: x: No such file",
            r#"12 call Write {"content":"x\ny\n","path":"/p/a"}"#,
            "14 result Denied Write /p/a: denied",
            r#"15 call mcp__gh__issue {"n":1}"#,
            "16 result Ok mcp__gh__issue: 1 line, 4 B",
            "19 usage k2 None [9, 4, 2, 1, 0]",
            "20 prompt stop",
            "21 notice interrupted by the user",
            "22 prompt /design a page",
            "26 compaction manual Some(20) Some(3)",
            "26 summary so far",
        ]
    );
}

#[test]
fn an_undo_takes_prompts_back() {
    let check = |lines: &[String], expected: &[&str]| {
        let (items, ..) = read_as(KIMI, format!("{}\n", lines.join("\n")).as_bytes());
        let standing = without_abandoned(&items);
        let talk = standing.iter().filter_map(|item| match &item.body {
            Body::Prompt { text } | Body::Reply { text } => Some(text.as_str()),
            _ => None,
        });
        assert_eq!(talk.collect::<Vec<_>>(), expected);
    };
    let undo = |count: u64| vec![record("context.undo", json!({ "count": count }))];
    let clear = vec![record("context.clear", json!({}))];
    check(&[turn("1"), turn("2"), undo(1), turn("3")].concat(), &["1", "re 1", "3", "re 3"]);
    check(&[turn("1"), turn("2"), undo(2)].concat(), &[]);
    check(&[turn("1"), clear, turn("2"), undo(1)].concat(), &["1", "re 1"]);
    check(&[turn("1"), turn("1"), undo(5)].concat(), &["1", "re 1", "1", "re 1"]);
}

#[test]
fn a_subagent_has_its_task() {
    let origin = json!({ "kind": "system_trigger", "name": "subagent" });
    let said = "<git-context>\nremote\n</git-context>\n\nCount files";
    let lines = [typed("turn.prompt", said, origin.clone()), appended(said, origin)];
    assert_eq!(items_of(Source { subagent: true, ..KIMI }, &lines), ["1 prompt Count files"]);
    assert_eq!(items_of(KIMI, &lines), [""; 0]);
}

#[test]
fn a_transcript_is_known_by_its_path() {
    for (path, expected) in [
        ("wd_p_ac3b/session_1bcb-4f7e/agents/main/wire.jsonl", Some("session_1bcb-4f7e")),
        ("wd_p_ac3b/session_1bcb-4f7e/agents/agent-0/wire.jsonl", Some("agent-1bcb-4f7e-agent-0 of session_1bcb-4f7e")),
        ("wd_p_ac3b/session_1bcb-4f7e/agents/main/context.jsonl", None),
        ("wd_p_ac3b/session_1bcb-4f7e/wire.jsonl", None),
        ("wire.jsonl", None),
    ] {
        let found = classify(Agent::Kimi, path).map(|located| match located.kind {
            Kind::Subagent { parent: Some(parent) } => format!("{} of {parent}", located.session),
            _ => located.session.to_string(),
        });
        assert_eq!(found.as_deref(), expected, "{path}");
    }
}
