//! Hermes' rows as lines: a row is a message.
//!
//! A row that was taken back is neither active nor compacted. A compaction keeps the rows, and writes those that the
//! model goes on with again, with the same time.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::{Value as Json, json};

use crate::transcript::table::{Cell, DatabaseSchema, Lines, Render, Table};
use crate::transcript::table_lines::Message;

/// Begins a content of several parts.
const PARTS: &str = "\0json:";
/// Beginnings of summaries.
const SUMMARIES: &[&str] = &["[CONTEXT COMPACTION", "[CONTEXT SUMMARY]:"];
/// Begins a prompt into which a skill was put. The instruction follows the first mark that is there: of several skills,
/// up to the next, and of one skill after all of its text.
const SKILL: &str = "[IMPORTANT: The user has invoked the ";
const OF_SEVERAL: [&str; 2] = ["\nUser instruction: ", "\n\n[Loaded as part of the "];
const OF_ONE: [&str; 2] =
    ["The user has provided the following instruction alongside the skill invocation: ", "\n\n[Runtime note:"];
const SEVERAL: &str = " skill bundle,";
/// Begins prompts that the program makes to go on, or to learn from a session.
const OWN_PROMPTS: &[&str] = &[
    "Continue from the compressed conversation context above.",
    "Review the conversation above and update the skill library",
    "Review the conversation above and consider saving to memory",
];

/// Columns that all versions have, and those that later ones added.
const FIRST: [&[&str]; 2] = [
    &["id", "parent_session_id", "started_at", "ended_at", "title", "message_count"],
    &["id", "session_id", "role", "content", "tool_calls", "tool_call_id", "timestamp", "reasoning"],
];
const FOR_REWINDS: [&[&str]; 2] = [&["rewind_count", "end_reason", "model_config", "cwd"], &["active", "compacted"]];
const FOR_KINDS: &[&str] = &["_compressed_summary", "display_kind"];

/// A session with a parent is a subagent's, unless it goes on where the parent ended, or branches off.
const SESSIONS: &str = "
    SELECT s.rowid, s.id,
      CASE WHEN instr(coalesce(s.model_config, ''), '\"_delegate_from\"') > 0 THEN s.parent_session_id
        WHEN instr(coalesce(s.model_config, ''), '\"_branched_from\"') > 0 THEN NULL
        WHEN instr(coalesce(s.model_config, ''), '\"_reset_from\"') > 0 THEN NULL
        WHEN (SELECT p.end_reason FROM sessions p WHERE p.id = s.parent_session_id) IN ('compression', 'branched',
          'session_reset', 'session_switch', 'idle', 'daily', 'suspended', 'resume_pending_expired') THEN NULL
        ELSE s.parent_session_id END,
      1 + 1048576 * coalesce((SELECT max(m.id) FROM messages m WHERE m.session_id = s.id), 0)
        + 65536 * s.rewind_count + s.message_count,
      CAST(1000 * max(s.started_at, coalesce(s.ended_at, 0),
        coalesce((SELECT max(m.timestamp) FROM messages m WHERE m.session_id = s.id), 0)) AS INTEGER)
    FROM sessions s WHERE s.rowid > ?1 ORDER BY s.rowid";
const FIRST_SESSIONS: &str = "
    SELECT s.rowid, s.id, s.parent_session_id,
      1 + 1048576 * coalesce((SELECT max(m.id) FROM messages m WHERE m.session_id = s.id), 0) + s.message_count,
      CAST(1000 * max(s.started_at, coalesce(s.ended_at, 0),
        coalesce((SELECT max(m.timestamp) FROM messages m WHERE m.session_id = s.id), 0)) AS INTEGER)
    FROM sessions s WHERE s.rowid > ?1 ORDER BY s.rowid";

pub(super) const TABLE: Table = Table {
    prefix: "state.db",
    schemas: &[
        DatabaseSchema {
            tables: &[
                ("sessions", FIRST[0]),
                ("messages", FIRST[1]),
                ("sessions", FOR_REWINDS[0]),
                ("messages", FOR_REWINDS[1]),
                ("messages", FOR_KINDS),
            ],
            sessions: SESSIONS,
            session: "SELECT cwd, title FROM sessions WHERE id = ?1",
            rows:
                "SELECT m.id, m.role, m.timestamp,
                CASE WHEN octet_length(m.content) <= 16777216 THEN m.content ELSE octet_length(m.content) END,
                CASE WHEN octet_length(m.tool_calls) <= 16777216 THEN m.tool_calls END, m.tool_call_id,
                CASE WHEN octet_length(m.reasoning) <= 16777216 THEN m.reasoning END,
                m._compressed_summary, m.display_kind
              FROM messages m WHERE m.session_id = ?1 AND m.id > ?2 AND (m.active = 1 OR m.compacted = 1) ORDER BY m.id",
            before_first: &[Cell::Integer(i64::MIN)],
        },
        DatabaseSchema {
            tables: &[
                ("sessions", FIRST[0]),
                ("messages", FIRST[1]),
                ("sessions", FOR_REWINDS[0]),
                ("messages", FOR_REWINDS[1]),
            ],
            sessions: SESSIONS,
            session: "SELECT cwd, title FROM sessions WHERE id = ?1",
            rows:
                "SELECT m.id, m.role, m.timestamp,
                CASE WHEN octet_length(m.content) <= 16777216 THEN m.content ELSE octet_length(m.content) END,
                CASE WHEN octet_length(m.tool_calls) <= 16777216 THEN m.tool_calls END, m.tool_call_id,
                CASE WHEN octet_length(m.reasoning) <= 16777216 THEN m.reasoning END, 0, NULL
              FROM messages m WHERE m.session_id = ?1 AND m.id > ?2 AND (m.active = 1 OR m.compacted = 1) ORDER BY m.id",
            before_first: &[Cell::Integer(i64::MIN)],
        },
        DatabaseSchema {
            tables: &[("sessions", FIRST[0]), ("messages", FIRST[1])],
            sessions: FIRST_SESSIONS,
            session: "SELECT NULL, title FROM sessions WHERE id = ?1",
            rows: "SELECT m.id, m.role, m.timestamp,
                CASE WHEN octet_length(m.content) <= 16777216 THEN m.content ELSE octet_length(m.content) END,
                CASE WHEN octet_length(m.tool_calls) <= 16777216 THEN m.tool_calls END, m.tool_call_id,
                CASE WHEN octet_length(m.reasoning) <= 16777216 THEN m.reasoning END, 0, NULL
              FROM messages m WHERE m.session_id = ?1 AND m.id > ?2 ORDER BY m.id",
            before_first: &[Cell::Integer(i64::MIN)],
        },
    ],
    render: || Box::<Rows>::default(),
    tree: None,
    yields_to_files: false,
};

/// The rows that were rendered, as fingerprints.
#[derive(Default)]
struct Rows(BTreeSet<u64>);

impl Render for Rows {
    fn session(&mut self, columns: &[Cell<'_>], lines: &mut Lines) {
        let [directory, title] = columns else { return };
        title.text().into_iter().for_each(|title| lines.title(title.to_owned()));
        if let Some(directory) = directory.text() {
            let mut message = Message::new(Cell::Null, Cell::Null, lines);
            message.push("directory", &json!({ "directory": directory }));
        }
    }

    fn row(&mut self, columns: &[Cell<'_>], lines: &mut Lines) -> bool {
        let [_, role, at, content, calls, answers, reasoning, is_summary, shown_as] = columns else { return false };
        if !self.0.insert(fingerprint(*role, *at, *answers, [*content, *calls])) {
            return true;
        }
        let mut message = Message::new(Cell::Null, *at, lines);
        if let Cell::Integer(_) = content {
            message.push("oversize", &json!({}));
            return true;
        }
        let (said, pictures) = words(content.text().unwrap_or_default());
        let is_summary = is_summary.integer() != 0 || SUMMARIES.iter().any(|start| said.starts_with(start));
        match role.bytes() {
            b"user" | b"assistant" if is_summary => {
                message.push("compaction", &json!({}));
                message.say("summary", Some(&said));
            }
            b"user" if *shown_as != Cell::Null || OWN_PROMPTS.iter().any(|start| said.starts_with(start)) => {}
            b"user" => {
                message.say("prompt", Some(typed(&said)));
                (0..pictures).for_each(|_| message.image(&Json::Null, said.trim().is_empty()));
            }
            b"assistant" => {
                message.say("thinking", reasoning.text());
                message.say("reply", Some(&said));
                let calls: Json = serde_json::from_slice(calls.bytes()).unwrap_or_default();
                for call in calls.as_array().into_iter().flatten() {
                    message.call(&call["id"], &call["function"]["name"], &call["function"]["arguments"]);
                }
            }
            b"tool" => result(answers.text(), &said, &mut message),
            b"system" => {}
            unknown => message.push(&String::from_utf8_lossy(unknown), &json!({})),
        }
        true
    }
}

/// What a row and its copy have in common; a result may be shortened in the copy.
fn fingerprint(role: Cell<'_>, at: Cell<'_>, answers: Cell<'_>, said: [Cell<'_>; 2]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (role.bytes(), answers.bytes()).hash(&mut hasher);
    if answers.bytes().is_empty() {
        (format!("{at:?}"), said.map(Cell::bytes)).hash(&mut hasher);
    }
    hasher.finish()
}

/// The texts of a content, and how many pictures it has.
fn words(content: &str) -> (String, usize) {
    let Some(parts) = content.strip_prefix(PARTS) else { return (content.to_owned(), 0) };
    let parts: Json = serde_json::from_str(parts).unwrap_or_default();
    let parts = parts.as_array().map(Vec::as_slice).unwrap_or_default();
    let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
    let pictures = parts.iter().filter(|part| part["type"] == "image_url" || part["type"] == "image").count();
    (texts.join("\n"), pictures)
}

/// What a person typed beside the skills that were put into it.
fn typed(said: &str) -> &str {
    if !said.starts_with(SKILL) {
        return said;
    }
    let (begin, end, after) = match said.contains(SEVERAL) {
        true => (OF_SEVERAL[0], OF_SEVERAL[1], said.split_once(OF_SEVERAL[0])),
        false => (OF_ONE[0], OF_ONE[1], said.rsplit_once(OF_ONE[0])),
    };
    let instruction = after.map_or("", |(_, after)| after.split(end).next().unwrap_or(begin));
    instruction.trim()
}

/// A result: commands and errors are objects.
fn result(id: Option<&str>, said: &str, message: &mut Message<'_>) {
    let object: Json = serde_json::from_str(said).unwrap_or_default();
    let code = object["exit_code"].as_i64();
    let error = object["error"].as_str().filter(|error| !error.trim().is_empty());
    // -1 stands for a command that did not run to its end.
    let exit = code.filter(|code| *code >= 0);
    let failed = code.is_some_and(|code| code != 0) || code.is_none() && error.is_some();
    let output = match (object["output"].as_str(), error) {
        (Some(output), Some(error)) if !output.trim().is_empty() => format!("{output}\n{error}"),
        (Some(output), None) => output.to_owned(),
        (_, Some(error)) => error.to_owned(),
        (None, None) => said.to_owned(),
    };
    message.push("result", &json!({ "id": id, "output": output, "exit": exit, "failed": failed }));
}
