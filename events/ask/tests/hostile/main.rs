//! One text in every role of a session, processed from the transcript to the search document, whatever its shape.
#![expect(clippy::unwrap_used, reason = "in a test a broken assumption is a failed test")]

mod length;
mod remember;
mod widths;

use std::hint::black_box;

use baton_conversation::record::SessionId;
use baton_graph::Surroundings;
use serde_json::json;

/// A transcript in which a prompt, a thought, a reply, tool calls and their results consist of one text.
fn transcript(text: &str) -> Vec<u8> {
    let call = |id: &str, name: &str, input: serde_json::Value| json!({ "type": "tool_use", "id": id, "name": name, "input": input });
    let records = [
        json!({ "type": "user", "uuid": "u1", "message": { "role": "user", "content": text } }),
        json!({ "type": "user", "uuid": "u2", "message": { "role": "user", "content": format!("go on {text}") } }),
        json!({ "type": "assistant", "uuid": "a1", "message": { "id": "m1", "role": "assistant", "content": [
            { "type": "thinking", "thinking": text },
            { "type": "text", "text": format!("Done. {text}") },
            call("t1", "Bash", json!({ "command": text, "description": text })),
            call("t2", "Edit", json!({ "file_path": format!("/p/{text}"), "old_string": text, "new_string": format!("{text}.") })),
            call("t3", "Edit", json!({ "file_path": "/p/Cargo.toml", "old_string": "a", "new_string": text })),
        ] } }),
        json!({ "type": "user", "uuid": "u3", "message": { "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": text },
            { "type": "tool_result", "tool_use_id": "t2", "content": text },
            { "type": "tool_result", "tool_use_id": "t3", "content": text },
        ] } }),
        json!({ "type": "user", "uuid": "u4", "message": { "role": "user", "content": format!("and <b>{text}</b>\n\n{text}") } }),
    ];
    records.iter().flat_map(|record| (record.to_string() + "\n").into_bytes()).collect()
}

/// Processes a transcript up to the search document.
fn remember(transcript: &[u8]) {
    let session = SessionId::new("s").unwrap();
    let at = Surroundings { session: &session, group: "g", project: Some("/p"), parent: None, follows: None };
    black_box(remember::remember(transcript, &at));
}
