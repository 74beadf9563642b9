//! Crush's rows as lines: a row is a message, and each part of it is a line. A message of the agent's is rewritten while
//! it comes in, and results may be there before it is finished.

use serde_json::{Value as Json, json};

use crate::transcript::table::{Cell, DatabaseSchema, Lines, Render, Table};
use crate::transcript::table_lines::Message;

/// Name of a session that has none yet.
const UNTITLED: &str = "New Session";
/// The working directory at the end of a command's output, and its exit code before that.
const DIRECTORY: [&str; 2] = ["<cwd>", "</cwd>"];
const EXIT: &str = "Exit code ";

const SESSION: &[&str] = &["id", "parent_session_id", "title", "message_count", "updated_at"];
const SUMMARIZED: &[&str] = &["id", "parent_session_id", "title", "message_count", "updated_at", "summary_message_id"];
const MESSAGE: &[&str] = &["id", "session_id", "role", "parts", "model", "created_at", "finished_at"];
const MARKED: &[&str] =
    &["id", "session_id", "role", "parts", "model", "created_at", "finished_at", "is_summary_message"];

/// A message that is finished counts twice, so that the number changes whenever there is more to render. Only sessions
/// of the last day are looked at for that.
const SESSIONS: &str = "
    SELECT s.rowid, s.id, s.parent_session_id,
      1 + s.message_count + CASE WHEN s.updated_at > (SELECT max(updated_at) FROM sessions) - 86400
        THEN (SELECT count(m.finished_at) FROM messages m WHERE m.session_id = s.id) ELSE 0 END,
      CASE WHEN s.updated_at > 100000000000 THEN 1 ELSE 1000 END * s.updated_at
    FROM sessions s WHERE s.rowid > ?1 ORDER BY s.rowid";

/// A schema that has its rows so.
const fn schema(tables: &'static [(&'static str, &'static [&'static str])], rows: &'static str) -> DatabaseSchema {
    DatabaseSchema {
        tables,
        sessions: SESSIONS,
        session: "SELECT title FROM sessions WHERE id = ?1",
        rows,
        before_first: &[Cell::Integer(i64::MIN), Cell::Integer(i64::MIN)],
    }
}

pub(super) const TABLE: Table = Table {
    prefix: "crush.db",
    schemas: &[
        schema(
            &[("sessions", SESSION), ("messages", MARKED)],
            "SELECT m.created_at, m.rowid, m.id, m.role, m.model, m.finished_at, m.is_summary_message,
               CASE WHEN octet_length(m.parts) <= 16777216 THEN m.parts END
             FROM messages m WHERE m.session_id = ?1 AND (m.created_at, m.rowid) > (?2, ?3)
             ORDER BY m.created_at, m.rowid",
        ),
        schema(
            &[("sessions", SUMMARIZED), ("messages", MESSAGE)],
            "SELECT m.created_at, m.rowid, m.id, m.role, m.model, m.finished_at,
               m.id = (SELECT s.summary_message_id FROM sessions s WHERE s.id = ?1),
               CASE WHEN octet_length(m.parts) <= 16777216 THEN m.parts END
             FROM messages m WHERE m.session_id = ?1 AND (m.created_at, m.rowid) > (?2, ?3)
             ORDER BY m.created_at, m.rowid",
        ),
        schema(
            &[("sessions", SESSION), ("messages", MESSAGE)],
            "SELECT m.created_at, m.rowid, m.id, m.role, m.model, m.finished_at, 0,
               CASE WHEN octet_length(m.parts) <= 16777216 THEN m.parts END
             FROM messages m WHERE m.session_id = ?1 AND (m.created_at, m.rowid) > (?2, ?3)
             ORDER BY m.created_at, m.rowid",
        ),
    ],
    render: || Box::new(Rows),
    tree: None,
    yields_to_files: false,
};

struct Rows;

impl Render for Rows {
    fn session(&mut self, columns: &[Cell<'_>], lines: &mut Lines) {
        let [title] = columns else { return };
        if let Some(title) = title.text().filter(|title| *title != UNTITLED) {
            lines.title(title.to_owned());
        }
    }

    fn row(&mut self, columns: &[Cell<'_>], lines: &mut Lines) -> bool {
        let [at, _, id, role, model, finished, is_summary, parts] = columns else { return false };
        let (is_agent, is_result) = (role.bytes() == b"assistant", role.bytes() == b"tool");
        // Nothing is added to a message once there is a later one that is no result.
        if !is_result {
            lines.settle();
        }
        if is_agent && *finished == Cell::Null {
            lines.open();
        }
        let mut message = Message::new(*id, *at, lines);
        if *parts == Cell::Null {
            message.push("oversize", &json!({}));
            return true;
        }
        let parts: Json = serde_json::from_slice(parts.bytes()).unwrap_or_default();
        let Some(parts) = parts.as_array() else {
            message.push("unreadable", &json!({}));
            return true;
        };
        let speaker = match is_agent {
            true if is_summary.integer() != 0 => Speaker::Summary,
            true => Speaker::Agent,
            false => Speaker::Person { is_wordless: !parts.iter().any(|part| part["type"] == "text") },
        };
        match speaker {
            Speaker::Summary => message.push("compaction", &json!({})),
            Speaker::Agent => message.say("model", model.text()),
            Speaker::Person { .. } => {}
        }
        parts.iter().for_each(|each| part(each, speaker, &mut message));
        true
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Speaker {
    Person { is_wordless: bool },
    Agent,
    Summary,
}

fn part(part: &Json, speaker: Speaker, message: &mut Message<'_>) {
    let data = &part["data"];
    let said = |name: &str| data[name].as_str();
    let kind = part["type"].as_str().unwrap_or_default();
    match (kind, speaker) {
        ("text", Speaker::Summary) => message.say("summary", said("text")),
        ("text", Speaker::Agent) => message.say("reply", said("text")),
        // A prompt that the program made.
        ("text", _) if data["hidden"] == true => {}
        ("text", _) => message.say("prompt", said("text")),
        ("reasoning", _) => message.say("thinking", said("thinking")),
        ("binary", Speaker::Person { is_wordless }) => message.image(&data["MIMEType"], is_wordless),
        ("image_url", Speaker::Person { is_wordless }) => message.image(&Json::Null, is_wordless),
        ("shell_command", _) => {
            let (command, output, exit) = (&data["command"], &data["output"], &data["exit_code"]);
            message.push("command", &json!({ "command": command, "output": output, "exit": exit }));
        }
        ("tool_call", _) => message.call(&data["id"], &data["name"], &data["input"]),
        ("tool_result", _) => result(data, message),
        ("finish", Speaker::Person { .. }) => {}
        ("finish", _) => match said("reason").unwrap_or_default() {
            "canceled" => message.push("interruption", &json!({})),
            "error" | "content_filter" => {
                let told: Vec<&str> = [said("message"), said("details")].into_iter().flatten().collect();
                message.say("notice", Some(&told.join(": ")));
            }
            _ => {}
        },
        (unknown, _) => message.push(unknown, &json!({})),
    }
}

fn result(data: &Json, message: &mut Message<'_>) {
    let mut output = data["content"].as_str().unwrap_or_default();
    let (mut directory, mut exit) = (None, None);
    if data["name"] == "bash" {
        let ended = output.trim_end().strip_suffix(DIRECTORY[1]);
        if let Some((before, named)) = ended.and_then(|ended| ended.rsplit_once(DIRECTORY[0])) {
            (output, directory) = (before.trim_end(), Some(named));
        }
        let (before, last) = output.rsplit_once('\n').unwrap_or(("", output));
        exit = last.strip_prefix(EXIT).and_then(|code| code.trim().parse::<i32>().ok());
        output = if exit.is_some() { before.trim_end() } else { output };
    }
    if let Some(directory) = directory {
        message.push("directory", &json!({ "directory": directory }));
    }
    let failed = data["is_error"] == true;
    message.push("result", &json!({ "id": data["tool_call_id"], "output": output, "exit": exit, "failed": failed }));
}
