//! OpenCode's rows as lines: one for the session, one for each part of a message, two for a call, and one for the end of
//! each of the agent's messages.
//!
//! # Decisions
//!
//! - The tables `message` and `part` are read, not `event`: sessions from before that table are in the former only, and
//!   it has each part in every state that it went through, three times as much.

use crate::transcript::table::{Cell, Key, Lines, Render, Schema, Table, fields, quoted, raw};
use baton_redaction::raw_json::{Text, Value};

/// Title of a session that has none yet.
const UNTITLED: [&str; 2] = ["New session - ", "Child session - "];
/// End of the titles of subagents' sessions: ` (@general subagent)`.
const SUBAGENT: [&str; 2] = [" (@", " subagent)"];
/// Parts without conversation.
const SILENT: &[&[u8]] = &[b"step-start", b"step-finish", b"snapshot", b"patch"];
/// Third part of the key of the row that begins a message, and of the row that ends it.
const BEGIN: &[u8] = b"";
const END: &[u8] = b"~";

/// Fields of a part that are rendered.
const PART: &[Key] = &[
    Key("text", &[]),
    Key("synthetic", &[]),
    Key("ignored", &[]),
    Key("mime", &[]),
    Key("auto", &[]),
    Key("description", &[]),
    Key("command", &[]),
    Key("error", ERROR),
];
const CALL: &[Key] = &[Key("tool", &[]), Key("callID", &[]), Key("state", &[Key("input", &[])])];
const RESULT: &[Key] = &[
    Key("tool", &[]),
    Key("callID", &[]),
    Key(
        "state",
        &[
            Key("status", &[]),
            Key("output", &[]),
            Key("error", &[]),
            Key("metadata", &[Key("exit", &[]), Key("timeout", &[]), Key("sessionId", &[])]),
        ],
    ),
];
const ERROR: &[Key] = &[Key("name", &[]), Key("data", &[Key("message", &[])])];
const MESSAGE: &[Key] = &[
    Key("modelID", &[]),
    Key(
        "tokens",
        &[
            Key("input", &[]),
            Key("output", &[]),
            Key("reasoning", &[]),
            Key("cache", &[Key("read", &[]), Key("write", &[])]),
        ],
    ),
    Key("error", ERROR),
];

const SESSION: (&str, &[&str]) =
    ("session", &["id", "parent_id", "directory", "title", "revert", "time_created", "time_updated"]);
const MESSAGES: (&str, &[&str]) = ("message", &["id", "session_id", "time_created", "data"]);
const PARTS: (&str, &[&str]) = ("part", &["id", "message_id", "session_id", "time_created", "time_updated", "data"]);

const COLUMNS: &str = "SELECT id, parent_id, directory, title, revert, time_created FROM session WHERE id = ?1";
const ROWS: &str = "
    SELECT m.time_created, m.id, '', 0, CASE WHEN octet_length(m.data) <= 16777216 THEN m.data END
    FROM message m WHERE m.session_id = ?1 AND (m.time_created, m.id, '') > (?2, ?3, ?4)
    UNION ALL
    SELECT m.time_created, m.id, p.id, p.time_created, CASE WHEN octet_length(p.data) <= 16777216 THEN p.data END
    FROM message m JOIN part p ON p.message_id = m.id
    WHERE m.session_id = ?1 AND (m.time_created, m.id) >= (?2, ?3) AND (m.time_created, m.id, p.id) > (?2, ?3, ?4)
    UNION ALL
    SELECT m.time_created, m.id, '~', 0, CASE WHEN octet_length(m.data) <= 16777216 THEN m.data END
    FROM message m WHERE m.session_id = ?1 AND (m.time_created, m.id, '~') > (?2, ?3, ?4)
    ORDER BY 1, 2, 3";

/// A schema that lists sessions so.
const fn schema(tables: &'static [(&'static str, &'static [&'static str])], sessions: &'static str) -> Schema {
    Schema {
        tables,
        sessions,
        session: COLUMNS,
        rows: ROWS,
        before_first: &[Cell::Integer(i64::MIN), Cell::Text(b""), Cell::Text(b"")],
    }
}

pub(super) const TABLE: Table = Table {
    prefix: "opencode",
    schemas: &[
        // Each change of a session is an event with the next number.
        schema(
            &[SESSION, MESSAGES, PARTS, ("event_sequence", &["aggregate_id", "seq"])],
            "SELECT s.rowid, s.id, s.parent_id,
               1 + coalesce((SELECT e.seq FROM event_sequence e WHERE e.aggregate_id = s.id), 0), s.time_updated
             FROM session s WHERE s.rowid > ?1 ORDER BY s.rowid",
        ),
        // A part may be newer than its session, but a session that goes on is among those of the last day.
        schema(
            &[SESSION, MESSAGES, PARTS],
            "SELECT s.rowid, s.id, s.parent_id,
               1 + CASE WHEN s.time_updated > (SELECT max(time_updated) FROM session) - 86400000
                 THEN (SELECT count(*) FROM part p WHERE p.session_id = s.id) ELSE 0 END,
               max(s.time_updated, CASE WHEN s.time_updated > (SELECT max(time_updated) FROM session) - 86400000
                 THEN coalesce((SELECT max(p.time_updated) FROM part p WHERE p.session_id = s.id), 0) ELSE 0 END)
             FROM session s WHERE s.rowid > ?1 ORDER BY s.rowid",
        ),
    ],
    render: || Box::<Rows>::default(),
    tree: None,
};

/// The state between rows.
#[derive(Default)]
pub(super) struct Rows {
    /// Where the session was taken back to: this message, or this part of it, and all that follow are hidden.
    hidden_from: Option<(Vec<u8>, Vec<u8>)>,
    role: Vec<u8>,
    is_summary: bool,
    /// True if the message's parts will not change.
    is_over: bool,
}

impl Render for Rows {
    fn session(&mut self, columns: &[Cell<'_>], lines: &mut Lines) {
        let [id, parent, directory, title, revert, created] = columns else { return };
        let at = created.integer().to_string();
        let (id, directory, parent) = (quoted(id.bytes()), quoted(directory.bytes()), quoted(parent.bytes()));
        lines.push(&[
            ("type", Value::Text(Text::new(b"session"))),
            ("id", raw(&id)),
            ("parent", raw(&parent)),
            ("directory", raw(&directory)),
            ("at", raw(at.as_bytes())),
        ]);
        if let Some(title) = title.text().filter(|title| !UNTITLED.iter().any(|start| title.starts_with(start))) {
            let task = title.strip_suffix(SUBAGENT[1]).and_then(|rest| rest.rsplit_once(SUBAGENT[0]));
            lines.title(task.map_or(title, |(task, _)| task).to_owned());
        }
        let field = |name: &[u8]| raw(revert.bytes()).get(name).and_then(Value::text).map(|id| id.raw().to_owned());
        self.hidden_from = field(b"messageID").map(|message| (message, field(b"partID").unwrap_or_default()));
    }

    fn row(&mut self, columns: &[Cell<'_>], lines: &mut Lines) -> bool {
        let [time, message, part, created, data] = columns else { return false };
        let (message, part) = (message.bytes(), part.bytes());
        if self.hidden_from.as_ref().is_some_and(|(first, within)| first == message && **within <= *part) {
            return false;
        }
        let is_lost = *data == Cell::Null;
        let data = raw(data.bytes());
        match part {
            BEGIN => self.begin(data, lines),
            END => self.end(message, data, lines),
            _ => {
                let at = if created.integer() > 0 { *created } else { *time };
                let at = at.integer().to_string();
                self.part(message, at.as_bytes(), data, is_lost, lines);
            }
        }
        true
    }
}

impl Rows {
    fn begin(&mut self, data: Value<'_>, lines: &mut Lines) {
        let role = data.get(b"role").and_then(Value::text).map(Text::raw).unwrap_or_default();
        role.clone_into(&mut self.role);
        self.is_summary = data.get(b"summary").is_some_and(Value::is_true);
        self.is_over = role != b"assistant" || is_over(data);
        // An earlier message of the agent's gets nothing more once the next one has begun.
        if role == b"assistant" {
            lines.settle();
        }
    }

    fn end(&self, message: &[u8], data: Value<'_>, lines: &mut Lines) {
        if self.role != b"assistant" {
            return;
        }
        if !is_over(data) {
            return lines.open();
        }
        let at = data.get(b"time").and_then(|time| time.get(b"completed")).unwrap_or(Value::Null);
        self.push(b"end", message, at, &fields(data, MESSAGE), lines);
    }

    fn part(&self, message: &[u8], at: &[u8], data: Value<'_>, is_lost: bool, lines: &mut Lines) {
        let kind = data.get(b"type").and_then(Value::text).map(Text::raw).unwrap_or_default();
        let state = data.get(b"state").unwrap_or(Value::Null);
        match kind {
            silent if SILENT.contains(&silent) => {}
            _ if is_lost => self.push(b"oversize", message, raw(at), &[], lines),
            b"tool" => {
                let status = state.get(b"status").and_then(Value::text).map(Text::raw).unwrap_or_default();
                let is_finished = matches!(status, b"completed" | b"error");
                if status == b"pending" && !self.is_over {
                    return lines.open();
                }
                self.push(b"call", message, raw(at), &fields(data, CALL), lines);
                if is_finished {
                    let at = state.get(b"time").and_then(|time| time.get(b"end")).unwrap_or(raw(at));
                    self.push(b"result", message, at, &fields(data, RESULT), lines);
                } else if !self.is_over {
                    lines.open();
                }
            }
            _ => {
                let is_written = data.get(b"time").is_some_and(|time| time.get(b"end").is_some());
                if matches!(kind, b"text" | b"reasoning") && !is_written && !self.is_over {
                    return lines.open();
                }
                self.push(kind, message, raw(at), &fields(data, PART), lines);
            }
        }
    }

    /// Adds a line of these fields.
    fn push(&self, kind: &[u8], message: &[u8], at: Value<'_>, given: &[u8], lines: &mut Lines) {
        let (kind, role, message) = (quoted(kind), quoted(&self.role), quoted(message));
        let data = [b"{", given, b"}"].concat();
        lines.push(&[
            ("type", raw(&kind)),
            ("role", raw(&role)),
            ("summary", Value::Bool(self.is_summary)),
            ("message", raw(&message)),
            ("at", at),
            ("data", raw(&data)),
        ]);
    }
}

/// True if nothing more is added to a message of the agent's.
fn is_over(message: Value<'_>) -> bool {
    let is_there = |value: Option<Value<'_>>| value.is_some_and(|value| value != Value::Null);
    is_there(message.get(b"error")) || is_there(message.get(b"time").and_then(|time| time.get(b"completed")))
}
