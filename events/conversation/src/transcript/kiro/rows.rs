//! The conversations in Kiro's database as lines: a row is a conversation, and its value a list of exchanges, each what
//! was sent and what came back.
//!
//! Not checked on a file that Kiro wrote: the form is that of the published program from which Kiro began.
//!
//! # Decisions
//!
//! - A compaction replaces the exchanges by a summary, and so does this reader.
//! - The database of Amazon Q, which came before, is not read: there a row is a directory, whatever was said in it.

use serde_json::{Value as Json, json};

use crate::record::Timestamp;
use crate::transcript::table::{Cell, DatabaseSchema, Lines, Render, Table};
use crate::transcript::table_lines::{INTERRUPTED, Message};

pub(super) const TABLE: Table = Table {
    prefix: "data.sqlite3",
    schemas: &[DatabaseSchema {
        tables: &[("conversations_v2", &["key", "conversation_id", "value", "updated_at"])],
        sessions: "SELECT c.rowid, c.conversation_id, NULL, c.updated_at + octet_length(c.value), c.updated_at
            FROM conversations_v2 c WHERE c.rowid > ?1 ORDER BY c.rowid",
        session: "SELECT key FROM conversations_v2 WHERE conversation_id = ?1 ORDER BY updated_at DESC LIMIT 1",
        // The same conversation may have gone on in another directory.
        rows: "SELECT c.rowid, CASE WHEN octet_length(c.value) <= 33554432 THEN c.value END
            FROM conversations_v2 c WHERE c.conversation_id = ?1 AND c.rowid > ?2 ORDER BY c.updated_at DESC LIMIT 1",
        before_first: &[Cell::Integer(i64::MIN)],
    }],
    render: || Box::new(Rows),
    tree: None,
    yields_to_files: true,
};

struct Rows;

impl Render for Rows {
    fn session(&mut self, columns: &[Cell<'_>], lines: &mut Lines) {
        let directory = columns.first().and_then(|directory| directory.text());
        Message::new(Cell::Null, Cell::Null, lines).push("directory", &json!({ "directory": directory }));
    }

    fn row(&mut self, columns: &[Cell<'_>], lines: &mut Lines) -> bool {
        let [_, value] = columns else { return false };
        let mut about = Message::new(Cell::Null, Cell::Null, lines);
        match (value, serde_json::from_slice::<Json>(value.bytes())) {
            (Cell::Null, _) => about.push("oversize", &json!({})),
            (_, Err(_)) => about.push("unreadable", &json!({})),
            (_, Ok(whole)) => {
                let summary = whole["latest_summary"].as_str().or_else(|| whole["latest_summary"][0].as_str());
                if let Some(summary) = summary {
                    about.push("compaction", &json!({}));
                    about.say("summary", Some(summary));
                }
                whole["history"].as_array().into_iter().flatten().for_each(|exchange| said(exchange, lines));
            }
        }
        false
    }
}

/// An exchange, which older versions write as a pair.
fn said(exchange: &Json, lines: &mut Lines) {
    let of = |name: &str, at: usize| if exchange.is_array() { &exchange[at] } else { &exchange[name] };
    let (user, assistant, about) = (of("user", 0), of("assistant", 1), &exchange["request_metadata"]);
    let ms = |name: &str| about[name].as_i64().filter(|at| *at > 0);
    let written = user["timestamp"].as_str().and_then(Timestamp::parse).map(|at| at.0);
    let at = |ms: Option<i64>| ms.map_or(Cell::Null, Cell::Integer);

    let mut message = Message::new(Cell::Null, at(written.or(ms("request_start_timestamp_ms"))), lines);
    match only(&user["content"]) {
        ("Prompt", prompt) => message.say("prompt", prompt["prompt"].as_str()),
        ("ToolUseResults", results) => outcomes(results, &Json::Null, &mut message),
        ("CancelledToolUses", cancelled) => {
            outcomes(cancelled, &json!(INTERRUPTED), &mut message);
            message.say("prompt", cancelled["prompt"].as_str());
        }
        (unknown, _) => message.push(&format!("user:{unknown}"), &json!({})),
    }

    if assistant.is_null() {
        return;
    }
    let (kind, answer) = only(assistant);
    let id = answer["message_id"].as_str().map_or(Cell::Null, |id| Cell::Text(id.as_bytes()));
    let mut message = Message::new(id, at(ms("stream_end_timestamp_ms")), lines);
    message.say("model", about["model_id"].as_str());
    match kind {
        "Response" => message.say("reply", answer["content"].as_str()),
        "ToolUse" => {
            message.say("reply", answer["content"].as_str());
            for call in answer["tool_uses"].as_array().into_iter().flatten() {
                message.call(&call["id"], &call["name"], &call["args"]);
            }
        }
        unknown => message.push(&format!("assistant:{unknown}"), &json!({})),
    }
}

/// The name and the value of an object's only field.
fn only(object: &Json) -> (&str, &Json) {
    object.as_object().and_then(|fields| fields.iter().next()).map_or(("", &Json::Null), |(name, value)| (name, value))
}

fn outcomes(results: &Json, outcome: &Json, message: &mut Message<'_>) {
    for result in results["tool_use_results"].as_array().into_iter().flatten() {
        let (mut texts, mut exit) = (Vec::new(), None);
        for content in result["content"].as_array().into_iter().flatten() {
            let (_, content) = only(content);
            let parts = [content, &content["stdout"], &content["stderr"]];
            let said: Vec<&str> = parts.into_iter().filter_map(Json::as_str).filter(|text| !text.is_empty()).collect();
            match said.is_empty() && content["exit_status"].is_null() {
                true => texts.push(content.to_string()),
                false => texts.extend(said.into_iter().map(str::to_owned)),
            }
            // `0`, or `exit status: 0`.
            let status =
                content["exit_status"].as_str().and_then(|status| status.rsplit(' ').next()?.parse::<i32>().ok());
            exit = status.or(exit);
        }
        let failed = result["status"].as_str().is_some_and(|status| status.eq_ignore_ascii_case("error"));
        let fields = json!({ "id": result["tool_use_id"], "output": texts.join("\n"), "failed": failed, "exit": exit,
            "outcome": outcome });
        message.push("result", &fields);
    }
}

#[cfg(test)]
mod tests;
