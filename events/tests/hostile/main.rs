//! One text said by everybody in a session, taken from the transcript to what is searched: it may be of any shape.
#![expect(clippy::unwrap_used, reason = "in a test a broken assumption is a failed test")]

mod length;
mod widths;

use std::hint::black_box;

use baton_events::conversation::{Agent, Item};
use baton_events::digest::{Show, digest};
use baton_events::graph::{Surroundings, graph};
use baton_events::messages::messages;
use baton_events::record::SessionId;
use baton_events::transcript::{Cursor, OpenCalls, Reader, Source};
use baton_events::turns;
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

/// Everything that is made of a transcript until it can be searched.
fn remember(transcript: &[u8]) {
    let mut items: Vec<Item> = Vec::new();
    let source = Source { agent: Agent::ClaudeCode, subagent: false };
    let mut reader = Reader::new(source, Cursor::default(), OpenCalls::default(), &mut items);
    assert_eq!(reader.feed(transcript), transcript.len());
    let episode = digest(&items, &Show::default());
    let session = SessionId::new("s").unwrap();
    let at = Surroundings { session: &session, group: "g", project: Some("/p"), parent: None, follows: None };
    black_box(graph(&items, &episode, &at));
    black_box(turns::units(&items));
    black_box(messages(&items));
}
