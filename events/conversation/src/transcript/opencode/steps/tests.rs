use serde_json::{Value, json};

use crate::item::Agent;
use crate::transcript::tests::read_every_way;
use crate::transcript::{Cell, Lines, Source, table};

const MAIN: Source = Source { agent: Agent::OpenCode, subagent: false };

/// The lines of a session of these steps.
fn rendered(revert: Option<&str>, steps: &[(&str, Value)]) -> String {
    let (mut lines, mut render) = (Lines::default(), (table(Agent::OpenCode).unwrap().render)());
    let revert = revert.map_or(Cell::Null, |revert| Cell::Text(revert.as_bytes()));
    let (id, place, title) = (Cell::Text(b"ses_1"), Cell::Text(b"/srv/harbor"), Cell::Text(b"t"));
    render.session(&[id, Cell::Null, place, title, revert, Cell::Integer(1_000)], &mut lines);
    for (at, (kind, data)) in steps.iter().enumerate() {
        let (id, kind, data) = (format!("msg_{at}"), format!("#{kind}"), data.to_string());
        let texts = [&id, &kind, &data].map(|text| Cell::Text(text.as_bytes()));
        if !render.row(&[Cell::Integer(at as i64 * 3), texts[0], texts[1], Cell::Integer(1_500), texts[2]], &mut lines)
        {
            break;
        }
    }
    String::from_utf8(lines.finish().0).unwrap()
}

fn user(words: &str) -> (&'static str, Value) {
    ("user", json!({ "text": words, "files": [], "agents": [], "time": { "created": 1 } }))
}

fn assistant(content: Vec<Value>) -> (&'static str, Value) {
    let tokens = json!({ "input": 10, "output": 2, "reasoning": 1, "cache": { "read": 3, "write": 2 } });
    let model = json!({ "id": "m-1", "providerID": "p", "variant": "default" });
    let time = json!({ "created": 5, "completed": 9000 });
    ("assistant", json!({ "agent": "build", "model": model, "content": content, "tokens": tokens, "time": time }))
}

fn under_way(content: Vec<Value>) -> (&'static str, Value) {
    ("assistant", json!({ "agent": "build", "model": { "id": "m-1" }, "content": content, "time": { "created": 5 } }))
}

fn text(words: &str) -> Value {
    json!({ "type": "text", "text": words })
}

fn tool(id: &str, name: &str, state: Value) -> Value {
    json!({ "type": "tool", "id": id, "name": name, "executed": false, "state": state,
        "time": { "created": 1, "ran": 2, "completed": 2000 } })
}

fn done(input: Value, texts: &[&str], metadata: Value) -> Value {
    let content: Vec<Value> = texts.iter().map(|words| text(words)).collect();
    json!({ "status": "completed", "input": input, "content": content, "metadata": metadata })
}

fn check(steps: &[(&str, Value)], expected: &[&str]) {
    let lines = rendered(None, steps);
    let (items, _, seen) = read_every_way(MAIN, &lines.lines().collect::<Vec<_>>());
    let items: Vec<&str> = items.iter().map(|item| item.split_once(' ').unwrap().1).collect();
    assert_eq!(items.first(), Some(&"cwd /srv/harbor"));
    assert_eq!(&items[1..], expected, "{lines}");
    assert_eq!(seen.unknown.len(), 0, "{:?}", seen.unknown);
}

#[test]
fn steps_become_items() {
    let ls = || json!({ "command": "ls quay" });
    let edit = json!({ "path": "/srv/a", "oldString": "x", "newString": "y\nz" });
    let patch = json!({ "patchText": "*** Begin Patch\n*** Update File: b\n@@\n-x\n+y\n*** End Patch" });
    let failed = json!({ "status": "error", "input": { "path": "c" }, "error": { "type": "unknown", "message": "File not found: c" } });
    check(
        &[
            user("\"mend the crane\""),
            ("synthetic", json!({ "text": "<system-reminder>plan</system-reminder>" })),
            ("model-switched", json!({ "model": { "id": "m-2" } })),
            assistant(vec![
                json!({ "type": "reasoning", "text": "hm", "time": { "completed": 1 } }),
                text("I look."),
                tool(
                    "c1",
                    "shell",
                    done(ls(), &["no such quay\n", "Command exited with code 2."], json!({ "exit": 2 })),
                ),
                tool("c2", "shell", done(ls(), &["a\n", "Command exited with code 0."], json!({ "exit": 0 }))),
                tool("c3", "edit", done(edit, &["Edited /srv/a"], json!({ "files": ["x"] }))),
                tool("c4", "patch", done(patch, &["Success."], json!({}))),
                tool("c5", "read", failed),
                tool("c6", "subagent", done(json!({ "prompt": "look" }), &["found"], json!({ "sessionID": "ses_2" }))),
            ]),
            assistant(vec![text("\n\n"), text("It is done.")]),
            ("idle", json!({ "outcome": "succeeded" })),
            (
                "shell",
                json!({ "command": "make test", "status": "exited", "exit": 2, "output": { "output": "1 failed\n" } }),
            ),
            ("shell", json!({ "command": "sleep 9", "status": "killed", "output": { "output": "" } })),
            ("user", json!({ "text": "look", "files": [{ "mime": "image/png", "data": "AAAA" }] })),
        ],
        &[
            "prompt \"mend the crane\"",
            "thinking hm",
            "reply I look.",
            r#"call shell {"command":"ls quay"}"#,
            "result Failed shell ls quay: exit 2, no such quay",
            r#"call shell {"command":"ls quay"}"#,
            "result Ok shell ls quay: ok, 1 line",
            r#"call edit {"new_string":"y\nz","old_string":"x","path":"/srv/a"}"#,
            "result Ok edit /srv/a: +2 -1",
            r#"call apply_patch {"change":"update","patch":"@@\n-x\n+y\n","path":"b"}"#,
            "result Ok apply_patch b: +1 -1",
            r#"call read {"path":"c"}"#,
            "result Failed read c: failed, File not found: c",
            r#"call subagent {"prompt":"look"}"#,
            "result Ok subagent look: 1 line, 5 B",
            "usage m-1 None [10, 3, 3, 2, 0]",
            "reply It is done.",
            "usage m-1 None [10, 3, 3, 2, 0]",
            r#"call ! {"command":"make test"}"#,
            "result Failed ! make test: exit 2, 1 failed",
            r#"call ! {"command":"sleep 9"}"#,
            "result Interrupted ! sleep 9: interrupted",
            "prompt look",
            "media [image image/png]",
        ],
    );
}

#[test]
fn what_was_stopped_refused_or_moved_to_the_background_is_told_so() {
    let error = |kind: &str, message: &str| json!({ "status": "error", "input": { "command": "sleep 9" }, "error": { "type": kind, "message": message } });
    let serve = json!({ "status": "running", "shellID": "sh_1" });
    let mut stopped = assistant(vec![
        tool("c1", "shell", error("aborted", "Tool execution interrupted")),
        tool("c2", "shell", error("permission.rejected", "Permission rejected")),
        tool("c3", "shell", done(json!({ "command": "serve" }), &["Command moved to the background"], serve)),
        text("I beg"),
    ]);
    stopped.1["error"] = json!({ "type": "aborted", "message": "Step interrupted" });
    let mut broken = assistant(vec![]);
    broken.1["error"] = json!({ "type": "provider.invalid-request", "message": "no such model", "status": 400 });
    check(
        &[
            stopped,
            ("idle", json!({ "outcome": "interrupted" })),
            broken,
            ("idle", json!({ "outcome": "failed" })),
            ("compaction", json!({ "status": "completed", "reason": "manual", "summary": "We did much." })),
            ("compaction", json!({ "status": "failed", "error": { "type": "unknown", "message": "too long" } })),
            ("idle", json!({ "outcome": "interrupted" })),
        ],
        &[
            r#"call shell {"command":"sleep 9"}"#,
            "result Interrupted shell sleep 9: interrupted",
            r#"call shell {"command":"sleep 9"}"#,
            "result Denied shell sleep 9: denied",
            r#"call shell {"command":"serve"}"#,
            "result Ok shell serve: running in the background as sh_1",
            "reply I beg",
            "usage m-1 None [10, 3, 3, 2, 0]",
            "notice interrupted by the user",
            "usage m-1 None [10, 3, 3, 2, 0]",
            "notice provider.invalid-request: no such model",
            "compaction manual None None",
            "summary We did much.",
            "notice unknown: too long",
            "notice interrupted by the user",
        ],
    );
}

#[test]
fn what_is_still_written_comes_later_and_nothing_before_it_changes() {
    let running = |status: &str, input: Value| tool("c1", "shell", json!({ "status": status, "input": input }));
    let ls = || json!({ "command": "ls" });
    let ran = || tool("c1", "shell", done(ls(), &["a"], json!({ "exit": 0 })));
    let late = || user("and then");
    let states = [
        vec![],
        vec![user("go")],
        vec![user("go"), under_way(vec![])],
        vec![user("go"), under_way(vec![text("I lo")])],
        vec![user("go"), under_way(vec![text("I look."), running("streaming", json!("{\"comm"))])],
        vec![user("go"), under_way(vec![text("I look."), running("running", ls())]), late()],
        vec![user("go"), under_way(vec![text("I look."), ran()]), late()],
        vec![user("go"), assistant(vec![text("I look."), ran()]), late()],
        vec![user("go"), assistant(vec![text("I look."), ran()]), late(), under_way(vec![text("So")])],
        vec![user("go"), assistant(vec![text("I look."), ran()]), late(), assistant(vec![text("So.")])],
    ];
    let (mut before, mut counts) = (String::new(), Vec::new());
    for state in &states {
        let lines = rendered(None, state);
        assert!(lines.starts_with(&before), "{before}\nis not how this begins:\n{lines}");
        counts.push(lines.lines().count());
        before = lines;
    }
    assert_eq!(counts, [1, 2, 2, 2, 3, 4, 5, 7, 7, 9]);

    // One that was killed is given as far as it came once another step shows that it is over.
    let killed = [user("go"), under_way(vec![text("I lo")]), late(), under_way(vec![])];
    assert_eq!(rendered(None, &killed[..3]).lines().count(), 2);
    assert_eq!(rendered(None, &killed).lines().count(), 4);
}

#[test]
fn what_was_taken_back_is_hidden_and_nothing_odd_breaks_a_line() {
    let steps = [user("one"), assistant(vec![text("two")]), user("three")];
    for (revert, expected) in [(r#"{"messageID":"msg_2"}"#, 4), (r#"{"messageID":"msg_1","partID":"prt_1"}"#, 2)] {
        assert_eq!(rendered(Some(revert), &steps).lines().count(), expected);
    }
    let odd = [
        (
            "assistant",
            json!({ "content": [7, { "type": "brand-new" }, { "type": "tool", "state": { "status": "completed" } }],
            "time": { "completed": 1 }, "error": "planted", "model": [] }),
        ),
        ("user", json!({ "text": 7, "files": "planted" })),
        ("shell", json!({ "output": [], "exit": "planted" })),
        ("new\nkind", json!({ "token": "planted" })),
    ];
    let lines = rendered(None, &odd);
    assert!(
        lines.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()) && !lines.contains("token"),
        "{lines}"
    );
    let (_, _, seen) = read_every_way(MAIN, &lines.lines().collect::<Vec<_>>());
    assert_eq!(seen.unknown.get("brand-new"), Some(&1));
}
