use serde_json::{Value, json};

use crate::item::Agent;
use crate::transcript::tests::{check_path, read_every_way};
use crate::transcript::{Cell, Lines, Source, store_file, table};

const MAIN: Source = Source { agent: Agent::OpenCode, subagent: false };

/// A message with its parts.
struct Message(&'static str, Value, Vec<Value>);

fn user(id: &'static str, parts: Vec<Value>) -> Message {
    Message(id, json!({ "role": "user", "summary": { "diffs": [{ "patch": "x" }] } }), parts)
}

fn assistant(id: &'static str, parts: Vec<Value>) -> Message {
    let tokens = json!({ "total": 18, "input": 10, "output": 2, "reasoning": 1, "cache": { "read": 3, "write": 2 } });
    let data = json!({ "role": "assistant", "modelID": "m-1", "providerID": "p", "tokens": tokens,
        "time": { "created": 5, "completed": 9000 } });
    Message(id, data, parts)
}

fn under_way(mut message: Message) -> Message {
    message.1["time"] = json!({ "created": 5 });
    message
}

fn text(words: &str) -> Value {
    json!({ "type": "text", "text": words, "time": { "start": 1, "end": 2 } })
}

fn tool(id: &str, name: &str, state: Value) -> Value {
    json!({ "type": "tool", "tool": name, "callID": id, "state": state })
}

fn done(input: Value, output: &str, metadata: Value) -> Value {
    json!({ "status": "completed", "input": input, "output": output, "metadata": metadata, "title": "t",
        "time": { "start": 1, "end": 2000 } })
}

/// The lines and the title of a session.
fn rendered(title: &str, revert: Option<Value>, messages: &[Message]) -> (String, Option<String>) {
    let (mut lines, mut render) = (Lines::default(), (table(Agent::OpenCode).unwrap().render)());
    let revert = revert.map(|revert| revert.to_string());
    let revert = revert.as_ref().map_or(Cell::Null, |revert| Cell::Text(revert.as_bytes()));
    let (id, place, title) = (Cell::Text(b"ses_1"), Cell::Text(b"/srv/harbor"), Cell::Text(title.as_bytes()));
    render.session(&[id, Cell::Null, place, title, revert, Cell::Integer(1_000)], &mut lines);
    'all: for (at, Message(id, data, parts)) in messages.iter().enumerate() {
        let (time, id, data) = (Cell::Integer(1_001 + at as i64), Cell::Text(id.as_bytes()), data.to_string());
        let parts: Vec<String> = parts.iter().map(Value::to_string).collect();
        let names: Vec<String> = (0..parts.len()).map(|at| format!("prt_{at}")).collect();
        let parts = names.iter().map(String::as_str).zip(parts.iter().map(String::as_str));
        for (part, data) in std::iter::once(("", &*data)).chain(parts).chain(std::iter::once(("~", &*data))) {
            let (part, data) = (Cell::Text(part.as_bytes()), Cell::Text(data.as_bytes()));
            if !render.row(&[time, id, part, Cell::Integer(1_500), data], &mut lines) {
                break 'all;
            }
        }
    }
    let (bytes, title) = lines.finish();
    (String::from_utf8(bytes).unwrap(), title)
}

fn check(messages: &[Message], expected: &[&str]) {
    let (lines, _) = rendered("New session - 2026", None, messages);
    let (items, _, seen) = read_every_way(MAIN, &lines.lines().collect::<Vec<_>>());
    let items: Vec<&str> = items.iter().map(|item| item.split_once(' ').unwrap().1).collect();
    assert_eq!(items.first(), Some(&"cwd /srv/harbor"));
    assert_eq!(&items[1..], expected, "{lines}");
    assert_eq!(seen.unknown.len(), 0, "{:?}", seen.unknown);
}

#[test]
fn sessions_are_known_by_their_paths() {
    for (path, expected) in [
        ("opencode.db/ses_dd9ec1c88ffebqnpyvfw2cKzNW", Some(("ses_dd9ec1c88ffebqnpyvfw2cKzNW", None))),
        ("opencode-dev.db/ses_1", Some(("ses_1", None))),
        ("opencode.db/ses_1/ses_2", Some(("ses_2", Some("ses_1")))),
        ("opencode.db", None),
        ("opencode.db-wal", None),
        ("opencode.db/", None),
        ("opencode.db/a/b/c", None),
        ("opencodex.db/ses_1", None),
        ("other.db/ses_1", None),
        ("storage/session/p1/ses_1.json", Some(("ses_1", None))),
        ("storage/session/ses_1.json", None),
        ("storage/session/p1/x/ses_1.json", None),
        ("storage/session/p1/ses_1.json.tmp", None),
        ("storage/message/ses_1/msg_1.json", None),
    ] {
        check_path(Agent::OpenCode, path, expected);
    }
    for (path, expected) in [
        ("/d/opencode/opencode.db/ses_1/ses_2", Some("/d/opencode/opencode.db")),
        ("/d/opencode/opencode.db-wal", Some("/d/opencode/opencode.db")),
        ("/d/opencode/opencode-dev.db", Some("/d/opencode/opencode-dev.db")),
        ("/d/opencode/other.db/ses_1", None),
        ("/d/storage/opencode/opencode.db/ses_1", Some("/d/storage/opencode/opencode.db")),
        ("/d/opencode/storage/session/p1/ses_1.json", Some("/d/opencode/storage")),
        ("/d/opencode/log/x.log", None),
    ] {
        assert_eq!(store_file(Agent::OpenCode, path), expected, "{path}");
        assert_eq!(store_file(Agent::Codex, path), None);
    }
}

#[test]
fn parts_become_items() {
    check(
        &[
            user(
                "msg_1",
                vec![
                    json!({ "type": "text", "text": "\"two words\"" }),
                    json!({ "type": "text", "text": "Called the Read tool", "synthetic": true }),
                    json!({ "type": "text", "text": "not sent", "ignored": true }),
                    json!({ "type": "file", "mime": "image/png", "url": "data:image/png;base64,AAAA" }),
                    json!({ "type": "agent", "name": "plan" }),
                ],
            ),
            assistant(
                "msg_2",
                vec![
                    json!({ "type": "step-start", "snapshot": "x" }),
                    json!({ "type": "reasoning", "text": "hm", "time": { "start": 1, "end": 2 } }),
                    text("I look."),
                    tool(
                        "c1",
                        "bash",
                        done(json!({ "command": "ls" }), "no such file\n", json!({ "exit": 2, "output": "x" })),
                    ),
                    tool(
                        "c2",
                        "edit",
                        done(
                            json!({ "filePath": "/srv/a", "oldString": "x", "newString": "y\nz" }),
                            "Edit applied successfully.",
                            json!({ "diff": "x" }),
                        ),
                    ),
                    tool("c3", "github_issue", done(json!({ "n": 1 }), "fine", json!({}))),
                    tool("c4", "task", done(json!({ "prompt": "look" }), "found", json!({ "sessionId": "ses_2" }))),
                    json!({ "type": "patch", "hash": "x", "files": ["/srv/a"] }),
                    json!({ "type": "step-finish", "tokens": {} }),
                ],
            ),
            assistant("msg_3", vec![text("It is done.")]),
        ],
        &[
            "prompt \"two words\"",
            "media [image image/png]",
            "thinking hm",
            "reply I look.",
            r#"call bash {"command":"ls"}"#,
            "result Failed bash ls: exit 2, no such file",
            r#"call edit {"file_path":"/srv/a","new_string":"y\nz","old_string":"x"}"#,
            "result Ok edit /srv/a: +2 -1",
            r#"call github_issue {"n":1}"#,
            "result Ok github_issue: 1 line, 4 B",
            r#"call task {"prompt":"look"}"#,
            "result Ok task look: 1 line, 5 B",
            "usage m-1 None [10, 3, 3, 2, 0]",
            "reply It is done.",
            "usage m-1 None [10, 3, 3, 2, 0]",
        ],
    );
}

#[test]
fn calls_end_as_their_state_says() {
    let failed = |error: &str| json!({ "status": "error", "input": { "command": "ls" }, "error": error, "time": {} });
    for (name, state, expected) in [
        ("bash", failed("Tool execution aborted"), vec!["result Interrupted bash ls: interrupted"]),
        (
            "bash",
            failed("The user rejected permission to use this specific tool call with the following feedback: use fd"),
            vec!["result Denied bash ls: denied", "answer use fd"],
        ),
        (
            "bash",
            failed("The user has specified a rule which prevents you from using this specific tool call. []"),
            vec!["result Denied bash ls: denied"],
        ),
        ("bash", failed("no shell"), vec!["result Failed bash ls: failed, no shell"]),
        (
            "bash",
            done(
                json!({ "command": "ls" }),
                "a\n\n<bash_metadata>\nUser aborted the command\n</bash_metadata>",
                json!({}),
            ),
            vec!["result Interrupted bash ls: interrupted"],
        ),
    ] {
        let (lines, _) = rendered("x", None, &[assistant("msg_1", vec![tool("c1", name, state)])]);
        let (items, _, _) = read_every_way(MAIN, &lines.lines().collect::<Vec<_>>());
        let items: Vec<&str> = items.iter().map(|item| item.split_once(' ').unwrap().1).collect();
        let told: Vec<&str> = items[2..].iter().copied().filter(|item| !item.starts_with("usage")).collect();
        assert_eq!(told, expected);
    }
    let wrong = done(json!({ "tool": "read", "error": "x" }), "The arguments provided are invalid", json!({}));
    let (lines, _) = rendered("x", None, &[assistant("msg_1", vec![tool("c1", "invalid", wrong)])]);
    assert!(read_every_way(MAIN, &lines.lines().collect::<Vec<_>>()).0[2].starts_with("3 result Failed read"));
}

#[test]
fn compactions_interruptions_and_failures_are_said() {
    let mut summary = assistant("msg_3", vec![text("We did much.")]);
    summary.1["summary"] = json!(true);
    summary.1["tokens"] = Value::Null;
    let mut stopped = assistant("msg_5", vec![text("I beg")]);
    stopped.1["error"] = json!({ "name": "MessageAbortedError", "data": { "message": "x" } });
    let mut broken = assistant("msg_6", vec![]);
    broken.1["error"] = json!({ "name": "APIError", "data": { "message": "overloaded", "responseBody": "secret" } });
    check(
        &[
            user("msg_2", vec![json!({ "type": "compaction", "auto": true })]),
            summary,
            user(
                "msg_4",
                vec![json!({ "type": "subtask", "command": "review", "description": "the diff", "prompt": "long" })],
            ),
            stopped,
            broken,
        ],
        &[
            "compaction auto None None",
            "summary We did much.",
            "usage m-1 None [0, 0, 0, 0, 0]",
            "prompt /review the diff",
            "reply I beg",
            "usage m-1 None [10, 3, 3, 2, 0]",
            "notice interrupted by the user",
            "usage m-1 None [10, 3, 3, 2, 0]",
            "notice APIError: overloaded",
        ],
    );
}

#[test]
fn what_is_still_written_comes_later_and_nothing_before_it_changes() {
    let ask = || user("msg_1", vec![json!({ "type": "text", "text": "go" })]);
    let empty = json!({ "type": "text", "text": "", "time": { "start": 1 } });
    let state = |status: &str, input: Value| tool("c1", "bash", json!({ "status": status, "input": input }));
    let ls = json!({ "command": "ls" });
    let ran = || tool("c1", "bash", done(json!({ "command": "ls" }), "a", json!({ "exit": 0 })));
    let late = || user("msg_3", vec![json!({ "type": "text", "text": "and then" })]);
    let states: Vec<Vec<Message>> = vec![
        vec![],
        vec![user("msg_1", vec![])],
        vec![ask()],
        vec![ask(), under_way(assistant("msg_2", vec![]))],
        vec![ask(), under_way(assistant("msg_2", vec![empty]))],
        vec![ask(), under_way(assistant("msg_2", vec![text("I look."), state("pending", json!({}))]))],
        vec![ask(), under_way(assistant("msg_2", vec![text("I look."), state("running", ls)])), late()],
        vec![ask(), under_way(assistant("msg_2", vec![text("I look."), ran()])), late()],
        vec![ask(), assistant("msg_2", vec![text("I look."), ran()]), late()],
        vec![ask(), assistant("msg_2", vec![text("I look."), ran()]), late(), assistant("msg_4", vec![text("So.")])],
    ];
    let mut before = String::new();
    let mut counts = Vec::new();
    for state in &states {
        let (lines, _) = rendered("x", None, state);
        assert!(lines.starts_with(&before), "{before}\nis not how this begins:\n{lines}");
        counts.push(lines.lines().count());
        before = lines;
    }
    assert_eq!(counts, [1, 1, 2, 2, 2, 3, 4, 5, 7, 9]);

    // One that was killed is given as far as it came once another message shows that it is over.
    let killed = |more: Vec<Message>| {
        let first = [ask(), under_way(assistant("msg_2", vec![state("running", json!({ "command": "ls" }))])), late()];
        rendered("x", None, &first.into_iter().chain(more).collect::<Vec<_>>()).0.lines().count()
    };
    assert_eq!((killed(vec![]), killed(vec![under_way(assistant("msg_4", vec![]))])), (3, 4));
}

#[test]
fn what_was_taken_back_is_hidden() {
    let messages = || {
        [
            user("msg_1", vec![json!({ "type": "text", "text": "one" })]),
            assistant("msg_2", vec![text("two"), text("three")]),
            user("msg_3", vec![json!({ "type": "text", "text": "four" })]),
        ]
    };
    for (revert, expected) in [
        (None, vec!["one", "two", "three", "four"]),
        (Some(json!({ "messageID": "msg_3" })), vec!["one", "two", "three"]),
        (Some(json!({ "messageID": "msg_2", "snapshot": "x" })), vec!["one"]),
        (Some(json!({ "messageID": "msg_2", "partID": "prt_1" })), vec!["one", "two"]),
        (Some(json!("odd")), vec!["one", "two", "three", "four"]),
    ] {
        let (lines, _) = rendered("x", revert, &messages());
        let said =
            |line: &str| serde_json::from_str::<Value>(line).unwrap()["data"]["text"].as_str().map(str::to_owned);
        assert_eq!(lines.lines().filter_map(said).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_title_is_the_models() {
    for (title, expected) in [
        ("New session - 2026-11-29T06:52:47.352Z", None),
        ("Child session - 2026-11-29T06:52:47.352Z", None),
        ("Store with two writers", Some("Store with two writers")),
        ("Look for lock files (@general subagent)", Some("Look for lock files")),
    ] {
        assert_eq!(rendered(title, None, &[]).1.as_deref(), expected);
    }
}

#[test]
fn only_listed_fields_are_rendered_and_nothing_odd_breaks_a_line() {
    let mut message = assistant(
        "msg_1",
        vec![
            json!({ "type": "text", "text": "a\nb", "time": { "end": 1 }, "metadata": { "token": "planted" } }),
            tool(
                "c1",
                "bash",
                json!({ "status": "completed", "input": { "command": "ls" }, "output": "o",
            "metadata": { "exit": 0, "preview": "planted" }, "attachments": ["planted"], "title": "planted" }),
            ),
            json!({ "type": "brand-new", "text": "w", "key": "planted" }),
            json!("odd"),
            json!({ "type": 7 }),
        ],
    );
    message.1["account"] = json!("planted");
    message.1["error"] = json!({ "name": "E", "data": { "message": "m", "headers": "planted" } });
    let (lines, _) = rendered("x", None, &[message]);
    assert!(!lines.contains("planted"), "{lines}");
    assert!(lines.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{lines}");
    let (_, _, seen) = read_every_way(MAIN, &lines.lines().collect::<Vec<_>>());
    assert_eq!(seen.unknown.get("brand-new"), Some(&1));
    let (mut lines, mut render) = (Lines::default(), (table(Agent::OpenCode).unwrap().render)());
    for data in [&b"{\"role\":\"user\""[..], b"", b"\n{\"type\":\"te\nxt\",\"text\":\"a\nb\xff\"}", b"[[[", b"}{"] {
        for part in [&b""[..], b"prt_1", b"~"] {
            render.row(
                &[Cell::Real(0.5), Cell::Text(b"m\n"), Cell::Text(part), Cell::Null, Cell::Text(data)],
                &mut lines,
            );
        }
    }
    assert!(!render.row(&[], &mut lines));
    let (bytes, _) = lines.finish();
    assert!(bytes.iter().filter(|byte| **byte == b'\n').count() <= 10);
}
