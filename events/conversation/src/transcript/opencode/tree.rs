//! OpenCode's sessions before it had a database: what are rows there are files here, of the same content.

use baton_redaction::raw_json::{Text, Value};

use super::rows::Rows;
use crate::transcript::codex::number;
use crate::transcript::table::{Cell, Lines, MessageFiles, Render, SessionFiles, Tree, raw};

pub(super) const TREE: Tree =
    Tree { folder: "storage", sessions: "session", messages: "message", parts: "part", render };

/// Stands for the parts of a message that is no JSON, and for a part that is none, so that it is counted.
const UNREADABLE: &[u8] = br#"{"type":"unreadable"}"#;

fn render(files: &SessionFiles, lines: &mut Lines) {
    let session = raw(&files.session);
    let said = |name: &[u8]| session.get(name).and_then(Value::text).map(Text::decode).unwrap_or_default();
    let [parent, directory, title] = [&b"parentID"[..], b"directory", b"title"].map(said);
    let revert = match session.get(b"revert") {
        Some(Value::Object(revert)) => revert.to_vec(),
        _ => Vec::new(),
    };
    let mut rows = Rows::default();
    let columns = [
        Cell::Text(files.id.as_bytes()),
        Cell::Text(parent.as_bytes()),
        Cell::Text(directory.as_bytes()),
        Cell::Text(title.as_bytes()),
        Cell::Text(&revert),
        created(session),
    ];
    rows.session(&columns, lines);
    let mut messages: Vec<(i64, &MessageFiles)> =
        files.messages.iter().map(|message| (created(raw(&message.content)).integer(), message)).collect();
    messages.sort_by(|(at, one), (other_at, other)| (at, &one.id).cmp(&(other_at, &other.id)));
    for (at, message) in messages {
        let (at, id) = (Cell::Integer(at), Cell::Text(message.id.as_bytes()));
        let is_readable = is_json(&message.content);
        let content = if is_readable { &message.content[..] } else { b"{}" };
        let mut parts: Vec<(&[u8], &[u8])> =
            message.parts.iter().map(|(id, part)| (id.as_bytes(), &part[..])).collect();
        if !is_readable {
            parts = vec![(b"unreadable", UNREADABLE)];
        }
        parts.sort_unstable();
        let parts = parts.into_iter().map(|(id, part)| (id, if is_json(part) { part } else { UNREADABLE }));
        for (part, data) in std::iter::once((&b""[..], content)).chain(parts).chain([(&b"~"[..], content)]) {
            if !rows.row(&[at, id, Cell::Text(part), Cell::Integer(0), Cell::Text(data)], lines) {
                return;
            }
        }
    }
}

fn created(object: Value<'_>) -> Cell<'static> {
    let at = number(object.get(b"time").and_then(|time| time.get(b"created")));
    Cell::Integer(at.and_then(|at| i64::try_from(at).ok()).unwrap_or(0))
}

fn is_json(bytes: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok()
}
