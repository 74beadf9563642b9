use serde_json::{Value as Json, json};

use crate::item::Agent;
use crate::transcript::tests::{check_path, read_every_way};
use crate::transcript::{Cell, Lines, Source, store_file, table};

const MAIN: Source = Source { agent: Agent::Cursor, subagent: false };

fn at(second: usize) -> String {
    format!("2026-06-11T19:15:{second:02}.000Z")
}

fn person(words: &str) -> Json {
    json!({ "_v": 3, "type": 1, "text": words, "richText": "planted", "createdAt": at(1) })
}

fn agent(words: &str) -> Json {
    json!({ "_v": 3, "type": 2, "text": words, "createdAt": at(2), "modelInfo": { "modelName": "m-1" } })
}

fn call(name: &str, status: &str, arguments: &Json, fields: Json) -> Json {
    let mut tool = json!({ "tool": 15, "toolCallId": format!("call_{name}"), "name": name, "status": status,
        "rawArgs": arguments.to_string(), "params": "{}" });
    tool.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    json!({ "_v": 3, "type": 2, "text": "", "createdAt": at(3), "capabilityType": 15, "toolFormerData": tool })
}

fn result(value: Json) -> Json {
    json!({ "result": value.to_string() })
}

/// The lines of a chat with these fields, whose messages come in another order, with one that it does not list.
fn rendered(chat: Json, head: Option<Json>, messages: &[Json]) -> (String, Option<String>) {
    let mut chat = chat;
    let ids: Vec<String> = (0..messages.len()).map(|at| format!("b{at}")).collect();
    let headers = ids.iter().zip(messages).map(|(id, message)| json!({ "bubbleId": id, "type": message["type"] }));
    chat["fullConversationHeadersOnly"] = json!(headers.collect::<Vec<_>>());
    let (mut lines, mut render) = (Lines::default(), (table(Agent::Cursor).unwrap().render)());
    let (chat, head) = (chat.to_string(), head.map(|head| head.to_string()));
    let head = head.as_ref().map_or(Cell::Null, |head| Cell::Text(head.as_bytes()));
    render.session(&[Cell::Blob(chat.as_bytes()), head], &mut lines);
    let unlisted = person("taken back");
    let rows = ids.iter().map(String::as_str).zip(messages).rev().chain([("gone", &unlisted)]);
    for (id, message) in rows {
        let (key, value) = (format!("bubbleId:c1:{id}"), message.to_string());
        assert!(render.row(&[Cell::Text(key.as_bytes()), Cell::Text(value.as_bytes())], &mut lines));
    }
    let (bytes, title) = lines.finish();
    (String::from_utf8(bytes).unwrap(), title)
}

fn items(chat: Json, messages: &[Json]) -> (Vec<String>, std::collections::BTreeMap<String, u64>) {
    let (lines, _) = rendered(chat, None, messages);
    let (items, _, seen) = read_every_way(MAIN, &lines.lines().collect::<Vec<_>>());
    let unknown = seen.unknown.iter().map(|(kind, count)| (kind.to_string(), *count)).collect();
    (items.iter().map(|item| item.split_once(' ').unwrap().1.to_owned()).collect(), unknown)
}

fn check(messages: &[Json], expected: &[&str]) {
    let (items, unknown) = items(json!({ "status": "completed" }), messages);
    assert_eq!((items, unknown.len()), (expected.iter().map(ToString::to_string).collect(), 0), "{unknown:?}");
}

#[test]
fn chats_are_known_by_their_paths() {
    for (path, expected) in [
        ("state.vscdb/5d2f1c3a-0001", Some(("5d2f1c3a-0001", None))),
        ("state.vscdb/0a1b/0c2d", Some(("0c2d", Some("0a1b")))),
        ("state.vscdb", None),
        ("state.vscdb/", None),
        ("state.vscdb.backup/0a1b", None),
        ("x/state.vscdb/0a1b", None),
    ] {
        check_path(Agent::Cursor, path, expected);
    }
    for (path, expected) in [
        ("/c/globalStorage/state.vscdb/0a1b", Some("/c/globalStorage/state.vscdb")),
        ("/c/globalStorage/state.vscdb-wal", Some("/c/globalStorage/state.vscdb")),
        ("/c/globalStorage/state.vscdb.backup", None),
        ("/c/globalStorage/state.vscdb.corrupted.1", None),
        ("/c/projects/x/agent-transcripts/0a1b/0a1b.jsonl", None),
    ] {
        assert_eq!(store_file(Agent::Cursor, path), expected, "{path}");
    }
}

#[test]
fn messages_become_items_in_the_order_of_the_chat() {
    let mut thought = agent("");
    thought["thinking"] = json!({ "text": "hm", "signature": "planted" });
    let mut counted = agent("Mended.");
    counted["tokenCount"] = json!({ "inputTokens": 10, "outputTokens": 2 });
    let mut pictured = person("");
    pictured["images"] = json!([{ "uuid": "x" }]);
    pictured["createdAt"] = json!(1_781_205_305_000_i64);
    let stub = json!({ "type": 1, "text": "and the dock", "toolFormerData": { "additionalData": {} },
        "timingInfo": { "clientStartTime": 1_781_205_306_000_i64 } });
    check(
        &[person("mend the crane"), thought, counted, pictured, stub],
        &[
            "prompt mend the crane",
            "usage m-1 None [0, 0, 0, 0, 0]",
            "thinking hm",
            "reply Mended.",
            "usage m-1 None [10, 2, 0, 0, 0]",
            "media [image]",
            "prompt and the dock",
        ],
    );
}

#[test]
fn calls_become_acts_with_how_they_ended() {
    let command = json!({ "command": "make", "is_background": false });
    check(
        &[
            person("go"),
            call(
                "run_terminal_command_v2",
                "completed",
                &command,
                result(json!({ "output": "two\n", "exitCodeV2": 2 })),
            ),
            call(
                "search_replace",
                "error",
                &json!({ "file_path": "/srv/a.rs", "old_string": "a", "new_string": "b\nc" }),
                json!({ "error": json!({ "modelVisibleErrorMessage": "not found in the file" }).to_string() }),
            ),
            call(
                "edit_file_v2",
                "completed",
                &json!({}),
                json!({ "params": "{\"relativeWorkspacePath\":\"/srv/b.rs\",\"charsLimit\":1}", "result": "{\"afterContentId\":\"x\"}" }),
            ),
            call(
                "edit_file",
                "completed",
                &json!({ "target_file": "/srv/c.rs" }),
                result(json!({ "diff": { "chunks": [{ "diffString": "-a\n+b\n+c" }] } })),
            ),
            call("run_terminal_cmd", "cancelled", &command, json!({ "userDecision": "rejected" })),
            call("read_file", "cancelled", &json!({ "target_file": "/srv/a.rs" }), json!({})),
            call("grep", "loading", &json!({ "pattern": "otter" }), json!({})),
            call(
                "mcp-harbor-tide",
                "completed",
                &json!({ "day": 1 }),
                result(json!({ "content": [{ "type": "text", "text": "high" }] })),
            ),
            call("mcp_baton_recall", "completed", &json!({ "q": "x" }), result(json!("own"))),
        ],
        &[
            "prompt go",
            r#"call run_terminal_command_v2 {"command":"make","is_background":false}"#,
            "result Failed run_terminal_command_v2 make: exit 2, two",
            r#"call search_replace {"file_path":"/srv/a.rs","new_string":"b\nc","old_string":"a"}"#,
            "result Failed search_replace /srv/a.rs: failed, not found in the file",
            r#"call edit_file_v2 {"file_path":"/srv/b.rs"}"#,
            "result Ok edit_file_v2 /srv/b.rs: +0 -0",
            r#"call edit_file {"edits":[{"new_string":"b\nc","old_string":"a"}],"file_path":"/srv/c.rs"}"#,
            "result Ok edit_file /srv/c.rs: +2 -1",
            r#"call run_terminal_cmd {"command":"make","is_background":false}"#,
            "result Denied run_terminal_cmd make: denied",
            r#"call read_file {"file_path":"/srv/a.rs"}"#,
            "result Interrupted read_file /srv/a.rs: interrupted",
            r#"call grep {"pattern":"otter"}"#,
            r#"call mcp-harbor-tide {"day":1}"#,
            "result Ok mcp-harbor-tide: 1 line, 4 B",
        ],
    );
}

#[test]
fn what_may_still_change_is_not_given() {
    let said = |chat: Json, messages: &[Json]| {
        let prompts = |item: &String| item.split_once(' ').unwrap_or_default().1.to_owned();
        items(chat, messages).0.iter().map(prompts).collect::<Vec<_>>()
    };
    let waiting = call("grep", "loading", &json!({}), json!({}));
    let generating = || json!({ "status": "generating" });
    for (chat, messages, expected) in [
        (generating(), vec![person("one"), agent("half")], 1),
        (json!({ "generatingBubbleIds": ["b1"] }), vec![person("one"), agent("half")], 1),
        (json!({ "status": "none" }), vec![person("one"), agent("whole")], 3),
        (generating(), vec![person("one"), agent("whole"), person("two")], 4),
        (generating(), vec![person("one"), agent("whole"), waiting.clone(), agent("later"), agent("half")], 3),
        (generating(), vec![person("one"), waiting, person("two")], 3),
    ] {
        assert_eq!(said(chat, &messages).len(), expected, "{messages:?}");
    }
}

#[test]
fn a_chat_tells_its_title_its_directory_and_its_parent() {
    let messages = [person("one")];
    let about = |chat: Json, head: Option<Json>| {
        let (lines, title) = rendered(chat, head, &messages);
        (lines.lines().next().unwrap().to_owned(), title)
    };
    let head = json!({ "name": "Otters", "workspaceIdentifier": { "uri": { "fsPath": "/srv/harbor" } } });
    let directory = r#"{"type":"directory","at":null,"message":null,"directory":"/srv/harbor"}"#.to_owned();
    assert_eq!(about(json!({ "name": "" }), Some(head)), (directory.clone(), Some("Otters".to_owned())));
    let own = json!({ "name": "Mine", "workspaceIdentifier": { "uri": { "external": "file:///srv/harbor" } } });
    assert_eq!(about(own, None), (directory.clone(), Some("Mine".to_owned())));
    let kept = json!({ "trackedGitRepos": [{ "repoPath": "/srv/harbor" }] });
    assert_eq!(about(kept, None), (directory, None));
    let below = json!({ "subagentInfo": { "parentComposerId": "c0ffee" } });
    let (parent, _) = about(json!({}), Some(below));
    assert_eq!(parent, r#"{"type":"parent","at":null,"message":null,"text":"c0ffee"}"#);
    let mut placed = person("one");
    placed["workspaceUris"] = json!(["file:///srv/harbour%20gate"]);
    let (items, _) = items(json!({}), &[placed]);
    assert_eq!(items[0], "cwd /srv/harbour gate");
}

#[test]
fn drift_and_damage_are_counted() {
    let odd = json!({ "type": 7, "text": "x" });
    let (lines, _) = items(json!({}), &[person("one"), odd, json!({ "text": "no type" })]);
    assert_eq!(lines.len(), 1);
    let (_, unknown) = items(json!({}), &[person("one"), json!({ "type": 7 }), json!({ "text": "no type" })]);
    assert_eq!(unknown.keys().collect::<Vec<_>>(), ["bubble:7", "unreadable"]);
    let (mut lines, mut render) = (Lines::default(), (table(Agent::Cursor).unwrap().render)());
    render.session(&[Cell::Integer(40_000_000), Cell::Null], &mut lines);
    for (key, value) in [(&b"bubbleId:c1:b0"[..], Cell::Null), (b"", Cell::Blob(b"\xff{")), (b"x", Cell::Integer(1))] {
        assert!(render.row(&[Cell::Text(key), value], &mut lines));
    }
    let (bytes, _) = lines.finish();
    let (items, _, seen) = read_every_way(MAIN, &[std::str::from_utf8(&bytes).unwrap().trim_end()]);
    assert_eq!((items.len(), seen.oversize), (0, 1));
}

#[test]
fn a_chat_of_an_old_version_holds_its_messages() {
    let chat =
        json!({ "conversation": [{ "type": 1, "bubbleId": "b1", "text": "one" }, { "type": 2, "text": "two" }] });
    let (mut lines, mut render) = (Lines::default(), (table(Agent::Cursor).unwrap().render)());
    render.session(&[Cell::Text(chat.to_string().as_bytes()), Cell::Null], &mut lines);
    let (bytes, _) = lines.finish();
    let text = String::from_utf8(bytes).unwrap();
    let (items, _, _) = read_every_way(MAIN, &text.lines().collect::<Vec<_>>());
    assert_eq!(items.len(), 2, "{items:?}");
}
