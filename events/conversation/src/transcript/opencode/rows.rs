//! OpenCode's rows as lines: one for the session, one for each part of a message, two for a call, and one for the end of
//! each of the agent's messages.
//!
//! # Decisions
//!
//! - The rows of `session_message`, which came with version 2, become the same [lines](super::steps). A session that an
//!   earlier version has written may be listed in the new tables without any row of its own: its parts are read then.
//! - The tables `message` and `part` are read, not `event`: sessions from before that table are in the former only, and
//!   it has each part in every state that it went through, three times as much.

use crate::transcript::table::{Cell, DatabaseSchema, Key, Lines, Render, Table, fields, quoted, raw};
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
/// Begins the third part of the key of a step, before its type.
const STEP: &[u8] = b"#";

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
const MESSAGE: &[Key] = &[Key("modelID", &[]), TOKENS, Key("error", ERROR)];
pub(super) const TOKENS: Key = Key(
    "tokens",
    &[
        Key("input", &[]),
        Key("output", &[]),
        Key("reasoning", &[]),
        Key("cache", &[Key("read", &[]), Key("write", &[])]),
    ],
);

const SESSION: (&str, &[&str]) =
    ("session", &["id", "parent_id", "directory", "title", "revert", "time_created", "time_updated"]);
const MESSAGES: (&str, &[&str]) = ("message", &["id", "session_id", "time_created", "data"]);
const PARTS: (&str, &[&str]) = ("part", &["id", "message_id", "session_id", "time_created", "time_updated", "data"]);

const SESSION_2: (&str, &[&str]) = ("session_v2", SESSION.1);
const STEPS: (&str, &[&str]) =
    ("session_message", &["id", "session_id", "type", "seq", "time_created", "time_updated", "data"]);

const COLUMNS: &str = "SELECT id, parent_id, directory, title, revert, time_created FROM session WHERE id = ?1";
/// The third column begins with [`STEP`].
macro_rules! steps {
    () => {
        "
    SELECT seq, id, '#' || type, time_created, CASE WHEN octet_length(data) <= 16777216 THEN data END
    FROM session_message WHERE session_id = ?1 AND seq >= ?2 AND (seq, id, '#' || type) > (?2, ?3, ?4)"
    };
}
/// Of a session without steps.
macro_rules! parts {
    ($condition:literal) => {
        concat!(
            "
    SELECT m.time_created, m.id, '', 0, CASE WHEN octet_length(m.data) <= 16777216 THEN m.data END
    FROM message m WHERE m.session_id = ?1 AND (m.time_created, m.id, '') > (?2, ?3, ?4)",
            $condition,
            "
    UNION ALL
    SELECT m.time_created, m.id, p.id, p.time_created, CASE WHEN octet_length(p.data) <= 16777216 THEN p.data END
    FROM message m JOIN part p ON p.message_id = m.id
    WHERE m.session_id = ?1 AND (m.time_created, m.id) >= (?2, ?3) AND (m.time_created, m.id, p.id) > (?2, ?3, ?4)",
            $condition,
            "
    UNION ALL
    SELECT m.time_created, m.id, '~', 0, CASE WHEN octet_length(m.data) <= 16777216 THEN m.data END
    FROM message m WHERE m.session_id = ?1 AND (m.time_created, m.id, '~') > (?2, ?3, ?4)",
            $condition
        )
    };
}
const ROWS: &str = concat!(parts!(""), " ORDER BY 1, 2, 3");
const ROWS_2: &str = concat!(steps!(), " ORDER BY 1, 2, 3");
const ROWS_OF_BOTH: &str = concat!(
    steps!(),
    " UNION ALL ",
    parts!(" AND NOT EXISTS (SELECT 1 FROM session_message n WHERE n.session_id = ?1)"),
    " ORDER BY 1, 2, 3"
);
/// A step is among the last ones of its session when it changes.
macro_rules! sessions_2 {
    ($key:literal) => {
        concat!(
            "
    SELECT ",
            $key,
            ", s.id, s.parent_id,
      1 + s.time_updated + coalesce((SELECT max(seq) + max(time_updated) FROM (
        SELECT seq, time_updated FROM session_message WHERE session_id = s.id ORDER BY seq DESC LIMIT 16)), 0),
      max(s.time_updated, coalesce((SELECT max(time_updated) FROM (
        SELECT time_updated FROM session_message WHERE session_id = s.id ORDER BY seq DESC LIMIT 16)), 0))
    FROM session_v2 s WHERE ",
            $key,
            " > ?1"
        )
    };
}

/// A schema that lists and reads sessions so.
const fn schema(
    tables: &'static [(&'static str, &'static [&'static str])],
    [sessions, session, rows]: [&'static str; 3],
) -> DatabaseSchema {
    let before_first = &[Cell::Integer(i64::MIN), Cell::Text(b""), Cell::Text(b"")];
    DatabaseSchema { tables, sessions, session, rows, before_first }
}

pub(super) const TABLE: Table = Table {
    prefix: "opencode",
    schemas: &[
        // Rows of the older tables have odd keys.
        schema(
            &[SESSION_2, STEPS, SESSION, MESSAGES, PARTS],
            [
                concat!(
                    sessions_2!("2 * (s.rowid % 2305843009213693952)"),
                    " UNION ALL
                    SELECT 1 + 2 * (s.rowid % 2305843009213693952), s.id, s.parent_id, 1 + s.time_updated, s.time_updated
                    FROM session s WHERE 1 + 2 * (s.rowid % 2305843009213693952) > ?1
                      AND NOT EXISTS (SELECT 1 FROM session_v2 n WHERE n.id = s.id)
                    ORDER BY 1"
                ),
                "SELECT id, parent_id, directory, title, revert, time_created FROM session_v2 WHERE id = ?1
                 UNION ALL
                 SELECT id, parent_id, directory, title, revert, time_created FROM session
                 WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM session_v2 WHERE id = ?1)",
                ROWS_OF_BOTH,
            ],
        ),
        schema(
            &[SESSION_2, STEPS],
            [
                concat!(sessions_2!("s.rowid"), " ORDER BY 1"),
                "SELECT id, parent_id, directory, title, revert, time_created FROM session_v2 WHERE id = ?1",
                ROWS_2,
            ],
        ),
        // Each change of a session is an event with the next number.
        schema(
            &[SESSION, MESSAGES, PARTS, ("event_sequence", &["aggregate_id", "seq"])],
            ["SELECT s.rowid, s.id, s.parent_id,
               1 + coalesce((SELECT e.seq FROM event_sequence e WHERE e.aggregate_id = s.id), 0), s.time_updated
             FROM session s WHERE s.rowid > ?1 ORDER BY s.rowid", COLUMNS, ROWS],
        ),
        // A part may be newer than its session, but a session that goes on is among those of the last day.
        schema(
            &[SESSION, MESSAGES, PARTS],
            ["SELECT s.rowid, s.id, s.parent_id,
               1 + CASE WHEN s.time_updated > (SELECT max(time_updated) FROM session) - 86400000
                 THEN (SELECT count(*) FROM part p WHERE p.session_id = s.id) ELSE 0 END,
               max(s.time_updated, CASE WHEN s.time_updated > (SELECT max(time_updated) FROM session) - 86400000
                 THEN coalesce((SELECT max(p.time_updated) FROM part p WHERE p.session_id = s.id), 0) ELSE 0 END)
             FROM session s WHERE s.rowid > ?1 ORDER BY s.rowid", COLUMNS, ROWS],
        ),
    ],
    render: || Box::<Rows>::default(),
    tree: None,
    yields_to_files: false,
};

/// The state between rows.
#[derive(Default)]
pub(super) struct Rows {
    /// Where the session was taken back to: this message, or this part of it, and all that follow are hidden.
    hidden_from: Option<(Vec<u8>, Vec<u8>)>,
    pub(super) role: Vec<u8>,
    pub(super) is_summary: bool,
    /// True if the message's parts will not change.
    pub(super) is_over: bool,
    /// True if a person stopped the agent's last step.
    pub(super) is_stopped: bool,
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
        let step = part.strip_prefix(STEP);
        let is_hidden = |within: &[u8]| step.is_some() || within <= part;
        if self.hidden_from.as_ref().is_some_and(|(first, within)| first == message && is_hidden(within)) {
            return false;
        }
        let is_lost = *data == Cell::Null;
        let data = raw(data.bytes());
        if let Some(kind) = step {
            let at = created.integer().to_string();
            self.step(kind, [message, at.as_bytes()], data, is_lost, lines);
            return true;
        }
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
    pub(super) fn push(&self, kind: &[u8], message: &[u8], at: Value<'_>, given: &[u8], lines: &mut Lines) {
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
pub(super) fn is_over(message: Value<'_>) -> bool {
    let is_there = |value: Option<Value<'_>>| value.is_some_and(|value| value != Value::Null);
    is_there(message.get(b"error")) || is_there(message.get(b"time").and_then(|time| time.get(b"completed")))
}
