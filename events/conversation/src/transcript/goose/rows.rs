//! Goose's rows as lines: a row is a message, and each part of it is a line.

use serde_json::{Value as Json, json};

use crate::transcript::table::{Cell, DatabaseSchema, Lines, Render, Table};
use crate::transcript::table_lines::Message;

/// Names of sessions that nobody has named yet.
const UNTITLED: &[&str] = &["CLI Session", "ACP Session", "New Chat", "New session"];
/// Begins the names of the tools that Goose brings along.
const OWN: &str = "developer__";
/// Parts without conversation: questions whose answers are in results, and marks of older versions.
const SILENT: &[&str] = &[
    "redactedThinking",
    "toolConfirmationRequest",
    "actionRequired",
    "conversationCompacted",
    "contextLengthExceeded",
    "summarizationRequested",
];

const MESSAGES: (&str, &[&str]) =
    ("messages", &["id", "session_id", "role", "content_json", "created_timestamp", "metadata_json"]);
const ROWS: &str = "
    SELECT m.created_timestamp, m.id, m.role,
      CASE WHEN octet_length(m.content_json) <= 16777216 THEN m.content_json END,
      CASE WHEN octet_length(m.metadata_json) <= 1048576 THEN m.metadata_json END
    FROM messages m WHERE m.session_id = ?1 AND (m.created_timestamp, m.id) > (?2, ?3)
    ORDER BY m.created_timestamp, m.id";

/// A schema that lists sessions so. Ids of messages are never used again.
const fn schema(tables: &'static [(&'static str, &'static [&'static str])], sessions: &'static str) -> DatabaseSchema {
    DatabaseSchema {
        tables,
        sessions,
        session: "SELECT working_dir, name FROM sessions WHERE id = ?1",
        rows: ROWS,
        before_first: &[Cell::Integer(i64::MIN), Cell::Integer(i64::MIN)],
    }
}

pub(super) const TABLE: Table = Table {
    prefix: "sessions.db",
    schemas: &[
        schema(
            &[
                ("sessions", &["id", "name", "session_type", "working_dir", "updated_at", "parent_session_id"]),
                MESSAGES,
            ],
            "SELECT s.rowid, s.id, CASE WHEN s.session_type = 'sub_agent' THEN coalesce(s.parent_session_id, '-') END,
               1 + coalesce((SELECT max(m.id) FROM messages m WHERE m.session_id = s.id), 0),
               1000 * coalesce(unixepoch(s.updated_at), 0)
             FROM sessions s WHERE s.rowid > ?1 AND s.session_type <> 'hidden' ORDER BY s.rowid",
        ),
        schema(
            &[("sessions", &["id", "name", "session_type", "working_dir", "updated_at"]), MESSAGES],
            "SELECT s.rowid, s.id, CASE WHEN s.session_type = 'sub_agent' THEN '-' END,
               1 + coalesce((SELECT max(m.id) FROM messages m WHERE m.session_id = s.id), 0),
               1000 * coalesce(unixepoch(s.updated_at), 0)
             FROM sessions s WHERE s.rowid > ?1 AND s.session_type <> 'hidden' ORDER BY s.rowid",
        ),
    ],
    render: || Box::<Rows>::default(),
    tree: None,
    yields_to_files: false,
};

/// The state between rows.
#[derive(Default)]
struct Rows {
    /// The last message, if it was for the model only and stands where a person's does. A compaction's summary is such,
    /// and what tells the model to go on follows it at once; so are summaries of single calls, and prompts that a
    /// compaction has moved behind it.
    aside: Option<String>,
}

impl Render for Rows {
    fn session(&mut self, columns: &[Cell<'_>], lines: &mut Lines) {
        let [directory, name] = columns else { return };
        if let Some(name) = name.text().filter(|name| !UNTITLED.iter().any(|start| name.starts_with(start))) {
            lines.title(name.to_owned());
        }
        let mut message = Message::new(Cell::Null, Cell::Null, lines);
        message.push("directory", &json!({ "directory": directory.text() }));
    }

    fn row(&mut self, columns: &[Cell<'_>], lines: &mut Lines) -> bool {
        let [at, _, role, content, metadata] = columns else { return false };
        let mut message = Message::new(Cell::Null, *at, lines);
        if *content == Cell::Null {
            message.push("oversize", &json!({}));
            return true;
        }
        let read = |cell: &Cell<'_>| serde_json::from_slice::<Json>(cell.bytes()).unwrap_or_default();
        let (content, metadata, is_agent) = (read(content), read(metadata), role.bytes() == b"assistant");
        let before = self.aside.take();
        if metadata["userVisible"] == false {
            if is_agent {
                before.iter().for_each(|_| message.push("compaction", &json!({})));
                message.say("summary", before.as_deref());
            } else {
                let texts = content.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
                self.aside = Some(texts.collect::<Vec<_>>().join("\n"));
            }
            return true;
        }
        match content.as_array() {
            Some(parts) => {
                let is_wordless = !is_agent && !parts.iter().any(|part| part["type"] == "text");
                parts.iter().for_each(|each| part(each, is_agent, is_wordless, &mut message));
            }
            None => message.push("unreadable", &json!({})),
        }
        true
    }
}

fn part(part: &Json, is_agent: bool, is_wordless: bool, message: &mut Message<'_>) {
    let said = |name: &str| part[name].as_str();
    match said("type").unwrap_or_default() {
        "text" => message.say(if is_agent { "reply" } else { "prompt" }, said("text")),
        "thinking" => message.say("thinking", said("thinking")),
        "reasoning" => message.say("thinking", said("text")),
        "image" => message.image(&part["mimeType"], is_wordless),
        "toolRequest" | "frontendToolRequest" => {
            let call = &part["toolCall"]["value"];
            // A call that could not be read has no name; what was wrong is told to the model as its result.
            let name = call["name"].as_str().unwrap_or_default();
            message.call(&part["id"], &json!(name.strip_prefix(OWN).unwrap_or(name)), &call["arguments"]);
        }
        "toolResponse" => response(part, message),
        "systemNotification" if part["notificationType"] != "thinkingMessage" => message.say("notice", said("msg")),
        "systemNotification" => {}
        silent if SILENT.contains(&silent) => {}
        unknown => message.push(unknown, &json!({})),
    }
}

fn response(part: &Json, message: &mut Message<'_>) {
    let result = &part["toolResult"];
    let value = &result["value"];
    // Some results are there twice, for the model and for people.
    let is_for_model = |content: &&Json| {
        let audience = content["annotations"]["audience"].as_array();
        audience.is_none_or(|audience| audience.iter().any(|role| role == "assistant"))
    };
    let contents = value.as_array().or_else(|| value["content"].as_array()).into_iter().flatten().filter(is_for_model);
    let output: Vec<Json> = contents
        .map(|content| match content["text"].as_str().or_else(|| content["resource"]["text"].as_str()) {
            Some(text) => json!({ "type": "text", "text": text }),
            None => json!({ "type": content["type"], "source": { "media_type": content["mimeType"] } }),
        })
        .collect();
    let error = result["error"].as_str();
    let output = error.map_or_else(|| json!(output), |error| json!(error));
    let failed = error.is_some() || value["isError"] == true;
    message.push("result", &json!({ "id": part["id"], "output": output, "failed": failed }));
}
