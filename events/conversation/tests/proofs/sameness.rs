//! Changes of a transcript that keep its hash, and those that change it.

use baton_conversation::hash::ContentHash;
use baton_conversation::item::Agent;
use baton_conversation::transcript::Source;
use serde_json::{Value, json};

use crate::files::{Transcript, fixtures, items};
use crate::writer::Style;

const MAIN: Source = Source { agent: Agent::ClaudeCode, subagent: false };

fn hash(source: Source, bytes: &[u8]) -> ContentHash {
    ContentHash::digest(&items(source, bytes))
}

/// The transcript with every record changed; lines that are not a single object stay unchanged.
fn changed(transcript: &Transcript, style: Style, mut change: impl FnMut(&mut Value)) -> Vec<u8> {
    let lines = transcript.bytes.split_inclusive(|byte| *byte == b'\n').map(|line| {
        let Ok(mut record) = serde_json::from_slice::<Value>(line) else { return line.to_vec() };
        change(&mut record);
        let mut line = style.write(&record).into_bytes();
        line.push(b'\n');
        line
    });
    lines.flatten().collect()
}

/// Records that agents repeat and that are not part of the conversation.
fn metadata() -> Vec<Value> {
    vec![
        json!({ "type": "custom-title", "customTitle": "another title", "sessionId": "s" }),
        json!({ "type": "ai-title", "aiTitle": "a third title", "sessionId": "s" }),
        json!({ "type": "summary", "summary": "an old title", "leafUuid": "0000" }),
        json!({ "type": "last-prompt", "lastPrompt": "what was typed last", "leafUuid": "0001", "sessionId": "s" }),
        json!({ "type": "mode", "mode": "plan", "sessionId": "s" }),
        json!({ "type": "permission-mode", "permissionMode": "acceptEdits", "sessionId": "s" }),
        json!({ "type": "agent-name", "agentName": "somebody", "sessionId": "s" }),
        json!({ "type": "file-history-snapshot", "messageId": "m", "snapshot": { "trackedFileBackups": {} }, "isSnapshotUpdate": false }),
        json!({ "type": "file-history-delta", "trackingPath": "a.rs", "messageId": "m", "backup": {} }),
        json!({ "type": "pr-link", "prNumber": 7, "prUrl": "https://example.org/7", "prRepository": "a/b" }),
        json!({ "type": "cost-state", "totalCostUSD": 1.5, "modelUsage": {} }),
        json!({ "type": "relocated", "relocatedCwd": "/elsewhere" }),
        json!({ "type": "worktree-state", "worktreeSession": null }),
        json!({ "type": "progress", "uuid": "p", "data": { "type": "bash_progress", "output": "one\ntwo" } }),
        json!({ "type": "system", "uuid": "y", "subtype": "turn_duration", "durationMs": 4000, "messageCount": 3 }),
        json!({ "type": "attachment", "uuid": "z", "attachment": { "type": "task_reminder", "content": ["x"] } }),
        json!({ "type": "what-comes-next-year", "text": "unknown" }),
    ]
}

#[test]
fn what_says_nothing_new_leaves_the_hash_of_every_fixture() {
    for transcript in fixtures() {
        let source = transcript.source();
        let expected = hash(source, &transcript.bytes);
        let check = |what: &str, bytes: &[u8]| {
            assert_eq!(hash(source, bytes), expected, "{what}: {}", transcript.path.display());
        };
        for (backwards, blanks, escaped) in
            [(false, false, false), (true, false, false), (false, true, false), (true, true, true)]
        {
            let style = Style { backwards, blanks, escaped };
            check(&format!("{style:?}"), &changed(&transcript, style, |_| {}));
        }
        let plain = Style::default();
        check(
            "fields that nobody knows",
            &changed(&transcript, plain, |record| {
                if let Some(fields) = record.as_object_mut() {
                    fields.insert(
                        "aNewField".to_owned(),
                        json!({ "type": "user", "message": { "content": "not said" } }),
                    );
                    fields.insert("session_id".to_owned(), json!("s"));
                    fields.insert("promptId".to_owned(), json!("p"));
                    fields.insert("slug".to_owned(), json!("brave-new-field"));
                }
                if let Some(message) = record["message"].as_object_mut() {
                    message.insert("diagnostics".to_owned(), json!({ "content": [1] }));
                }
            }),
        );
        check(
            "another time",
            &changed(&transcript, plain, |record| {
                if record["timestamp"].is_string() {
                    record["timestamp"] = json!("2031-01-01T00:00:00.000Z");
                }
            }),
        );
        check(
            "other counts of tokens",
            &changed(&transcript, plain, |record| {
                if record["message"]["usage"].is_object() {
                    record["message"]["usage"] =
                        json!({ "input_tokens": 1, "output_tokens": 999_999, "speed": "fast" });
                }
            }),
        );
        check(
            "another branch and directory",
            &changed(&transcript, plain, |record| {
                for name in ["cwd", "gitBranch"] {
                    if record[name].is_string() {
                        record[name] = json!("/renamed");
                    }
                }
            }),
        );
        check(
            "other signatures and copies for the screen",
            &changed(&transcript, plain, |record| {
                if record["toolUseResult"]["stdout"].is_string() {
                    record["toolUseResult"]["stdout"] = json!("another copy");
                }
                for block in record["message"]["content"].as_array_mut().into_iter().flatten() {
                    if block["type"] == "thinking" {
                        block["signature"] = json!("BBBB");
                    }
                }
            }),
        );
        let noise: Vec<u8> = metadata().iter().flat_map(|record| format!("{record}\n").into_bytes()).collect();
        check("metadata behind it", &[&transcript.bytes[..], &noise].concat());
        check("metadata before it", &[&noise, &transcript.bytes[..]].concat());
        let between = transcript.bytes.split_inclusive(|byte| *byte == b'\n').flat_map(|line| [line, &noise].concat());
        check("metadata between", &between.collect::<Vec<_>>());
        check(
            "CRLF",
            &transcript
                .bytes
                .iter()
                .flat_map(|byte| if *byte == b'\n' { vec![b'\r', b'\n'] } else { vec![*byte] })
                .collect::<Vec<_>>(),
        );
    }
}

/// A conversation with every kind of visible thing.
fn conversation() -> Vec<Value> {
    let assistant = |block: Value| json!({ "type": "assistant", "version": "2.1.180", "message": { "id": "m", "role": "assistant", "content": [block] } });
    let user = |content: Value| json!({ "type": "user", "version": "2.1.180", "message": { "role": "user", "content": content } });
    let result = |id: &str, content: Value, failed: bool| {
        user(json!([{ "type": "tool_result", "tool_use_id": id, "content": content, "is_error": failed }]))
    };
    let long = format!("fn main() {{}} {}", "x".repeat(400));
    vec![
        user(json!("Fix the login")),
        assistant(json!({ "type": "text", "text": "I look at it." })),
        assistant(
            json!({ "type": "tool_use", "id": "t1", "name": "Bash", "input": { "command": "cargo test", "timeout": 5 } }),
        ),
        result("t1", json!("Exit code 101\nerror: it failed"), true),
        assistant(
            json!({ "type": "tool_use", "id": "t2", "name": "Write", "input": { "file_path": "/a.rs", "content": long } }),
        ),
        result("t2", json!("File created"), false),
        assistant(json!({ "type": "tool_use", "id": "t3", "name": "Read", "input": { "file_path": "/a.rs" } })),
        result("t3", json!([{ "type": "text", "text": "one\ntwo" }]), false),
        user(json!([{ "type": "text", "text": "And the logout" }])),
        assistant(json!({ "type": "text", "text": "Done." })),
    ]
}

fn hash_of(records: &[Value]) -> ContentHash {
    let text: String = records.iter().map(|record| format!("{record}\n")).collect();
    hash(MAIN, text.as_bytes())
}

#[test]
fn every_visible_change_changes_the_hash() {
    let whole = conversation();
    let mut seen = vec![("nothing".to_owned(), hash_of(&whole))];
    let mut check = |what: String, records: &[Value]| {
        let hash = hash_of(records);
        if let Some((other, _)) = seen.iter().find(|(_, known)| *known == hash) {
            panic!("{what} gives the same as {other}");
        }
        seen.push((what, hash));
    };
    let long = format!("fn main() {{}} {}y", "x".repeat(399));
    for (record, place, value) in [
        (0, "/message/content", json!("Fix the login!")),
        (0, "/message/content", json!("fix the login")),
        (1, "/message/content/0/text", json!("I look at it")),
        (2, "/message/content/0/input/command", json!("cargo test --all")),
        (2, "/message/content/0/input/timeout", json!(6)),
        (2, "/message/content/0/input", json!({ "command": "cargo test", "timeout": 5, "more": true })),
        (2, "/message/content/0/name", json!("PowerShell")),
        (3, "/message/content/0/content", json!("Exit code 102\nerror: it failed")),
        (3, "/message/content/0/content", json!("Exit code 101\nerror: it fails")),
        (4, "/message/content/0/input/content", json!(long)),
        (4, "/message/content/0/input/file_path", json!("/b.rs")),
        (5, "/message/content/0/is_error", json!(true)),
        (7, "/message/content/0/content/0/text", json!("one\ntwo\nthree")),
        (8, "/message/content/0/text", json!("And the logout?")),
        (9, "/message/content/0/text", json!("Done, with a test.")),
    ] {
        let mut records = whole.clone();
        *records[record].pointer_mut(place).unwrap() = value.clone();
        check(format!("{value} at {place} of record {record}"), &records);
    }
    for at in 0..whole.len() {
        let mut records = whole.clone();
        records.remove(at);
        check(format!("without record {at}"), &records);
    }
    for at in [0, 3, 7] {
        let mut records = whole.clone();
        records.swap(at, at + 1);
        check(format!("records {at} and {} in the other order", at + 1), &records);
    }
    let mut records = whole.clone();
    records.push(json!({ "type": "user", "message": { "role": "user", "content": "Thanks" } }));
    check("one more prompt".to_owned(), &records);
    let mut records = whole;
    records[1]["type"] = json!("user");
    check("said by the other".to_owned(), &records);
}

#[test]
fn a_newer_program_that_goes_on_with_the_same_conversation_leaves_the_hash() {
    let mut newer = conversation();
    for record in &mut newer {
        record["version"] = json!("2.1.292");
        record["entrypoint"] = json!("cli");
        record["userType"] = json!("external");
        record["session_id"] = json!("s");
        record["uuid"] = json!("u");
        record["requestId"] = json!("r");
        if record["message"]["id"].is_string() {
            record["message"]["id"] = json!("msg_other");
            record["message"]["stop_details"] = json!(null);
        }
    }
    assert_eq!(hash_of(&newer), hash_of(&conversation()));
}
