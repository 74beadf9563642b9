use std::path::Path;

use serde_json::json;

use super::*;

fn command(path: &str) -> HookCommand {
    HookCommand::new(Some(Path::new(path)), Path::new("/b/baton"), None)
}

fn put(text: &str) -> String {
    let mut document = Document::read(text).unwrap();
    put_in(&mut document, AllHooks { form: &CLAUDE_AND_CODEX, command: &command("/b/baton-hook") }).unwrap();
    document.text()
}

fn taken(text: &str) -> String {
    let mut document = Document::read(text).unwrap();
    take_out(&mut document, &CLAUDE_AND_CODEX).unwrap();
    document.text()
}

/// The value that Claude Code reads from a text.
fn value(text: &str) -> Value {
    Document::read(text).unwrap().value().unwrap()
}

/// Checks that every event calls our hook exactly once, correctly, and that a second run changes nothing.
#[track_caller]
fn is_complete(text: &str) {
    let found = find(&CLAUDE_AND_CODEX, &value(text));
    for &(event, timeout) in CLAUDE_AND_CODEX.events {
        let of_event: Vec<_> = found.iter().filter(|found| found.event == event).collect();
        let [one] = of_event[..] else { panic!("{event}: {of_event:?}") };
        assert!(one.is_sound(&CLAUDE_AND_CODEX) && one.line == format!("/b/baton-hook {event}"), "{one:?}");
        assert!(timeout.is_some() || one.timeout.is_none());
    }
    assert_eq!(put(text), text, "not idempotent");
}

#[test]
fn hooks_are_put_in_beside_others_and_taken_out_without_a_trace() {
    for before in [
        "{}",
        "{}\n",
        "{\"model\":\"opus\"}",
        "{\n  \"model\": \"opus\",\n  \"env\": {\n    \"A\": \"1\"\n  }\n}\n",
        "{\r\n\t\"model\": \"opus\"\r\n}\r\n",
        "{\n  // mine\n  \"model\": \"opus\", // best\n}\n",
        r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}, "z": 1}"#,
        "{\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"matcher\": \"\",\n        \"hooks\": [ { \"type\": \"command\", \
         \"command\": \"notify\" } ]\n      }\n    ],\n    \"PreToolUse\": []\n  },\n  \"permissions\": {}\n}\n",
    ] {
        let after = put(before);
        is_complete(&after);
        assert_eq!(taken(&after), before);
        let (mut before, mut after) = (value(before), value(&after));
        let others = |value: &mut Value| value.as_object_mut().unwrap().remove("hooks");
        let (foreign, all) = (others(&mut before), others(&mut after));
        assert_eq!(before, after);
        for (event, groups) in foreign.iter().filter_map(Value::as_object).flatten() {
            let all = all.as_ref().unwrap()[event].as_array().unwrap();
            assert_eq!(&all[..groups.as_array().unwrap().len()], groups.as_array().unwrap());
        }
    }
}

#[test]
fn entries_of_ones_own_are_mended() {
    let ours = |command: &str, rest: Value| {
        let mut handler = json!({"type": "command", "command": command});
        handler.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        handler
    };
    let foreign = json!({"type": "command", "command": "say"});
    for (event, groups) in [
        ("Stop", json!([{"hooks": [ours("/old/baton-hook Stop", json!({"timeout": 5}))]}])),
        ("Stop", json!([{"hooks": [ours("/b/baton-hook Stop", json!({"timeout": 5000}))]}])),
        ("Stop", json!([{"hooks": [ours("/b/baton-hook Stop", json!({"async": true}))]}])),
        ("Stop", json!([{"hooks": [ours("/b/baton-hook", json!({"args": ["Stop"]}))]}])),
        ("Stop", json!([{"hooks": [ours("/b/baton hook stop", json!({}))]}])),
        ("SessionEnd", json!([{"matcher": "compact", "hooks": [ours("/b/baton-hook SessionEnd", json!({}))]}])),
        ("SessionEnd", json!([{"hooks": [ours("/b/baton-hook SessionEnd", json!({"timeout": 60}))]}])),
        ("Stop", json!([{"hooks": [foreign, ours("/old/baton-hook Stop", json!({}))]}])),
        ("Stop", json!([{"hooks": [ours("/a/baton-hook Stop", json!({})), ours("/b/baton-hook Stop", json!({}))]}])),
        (
            "Stop",
            json!([{"hooks": [ours("/a/baton-hook Stop", json!({}))]}, {"hooks": [foreign]}, {"hooks": [ours(
                "/c/baton-hook Stop",
                json!({})
            )]}]),
        ),
    ] {
        let has_foreign = groups.to_string().contains("say");
        let before = serde_json::to_string_pretty(&json!({"a": 1, "hooks": {event: groups}})).unwrap();
        let after = put(&before);
        is_complete(&after);
        assert_eq!(value(&after)["hooks"][event].to_string().contains("say"), has_foreign, "{after}");
        let without = value(&taken(&after));
        let expected =
            if has_foreign { json!({"a": 1, "hooks": {event: [{"hooks": [foreign]}]}}) } else { json!({"a": 1}) };
        assert_eq!(without, expected);
    }
}

#[test]
fn what_somebody_has_chosen_stays() {
    let text = put("{}").replacen("\"timeout\": 5", "\"timeout\": 10", 1);
    assert_eq!(put(&text), text);
}

#[test]
fn what_claude_code_would_not_read_is_refused() {
    for (text, expected) in [
        (r#"{"hooks": []}"#, "hooks is a list, and must be an object"),
        (r#"{"hooks": "on"}"#, "hooks is a string, and must be an object"),
        (r#"{"hooks": null}"#, "hooks is null, and must be an object"),
        (r#"{"hooks": {"Stop": {"hooks": []}}}"#, "hooks.Stop is an object, and must be a list"),
    ] {
        let error = put_in(
            &mut Document::read(text).unwrap(),
            AllHooks { form: &CLAUDE_AND_CODEX, command: &command("/b/baton-hook") },
        )
        .unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert_eq!(taken(text), text);
    }
}
