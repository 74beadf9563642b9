//! Transcripts of Cline, and of Roo Code and Kilo Code, which began as copies of it: the messages of a task as the model
//! has them, as a document.
//!
//! A user's message is what the program makes of it for the model: what a person typed stands in elements, and results
//! are mostly texts with a heading. Calls are blocks, or elements in the text in older versions.

mod call;
mod user_text;

use crate::item::{Act, Agent};
use crate::record::Timestamp;

use super::claude::Block;
use super::codex::{number, pick, text};
use super::document::{Document, Messages};
use super::format::{Format, Layout, field_of};
use super::item_writer::{ItemWriter, Stamp};
use super::location::{self, Kind, Located};
use super::tools::Tools;
use baton_redaction::raw_json::{Fields, Text, Value};

/// The document of a task among others of it.
const CONVERSATION: &str = "api_conversation_history.json";
/// Blocks that are no conversation.
const SILENT_BLOCKS: &[&[u8]] = &[b"image", b"document", b"redacted_thinking"];

/// The folders with an extension's tasks: one in each editor that may run it, and where a remote host keeps them.
macro_rules! folders {
    ($extension:literal) => {
        folders!($extension; ".config/", "Library/Application Support/", "AppData/Roaming/")
    };
    ($extension:literal; $linux:literal, $mac:literal, $windows:literal) => {
        if cfg!(target_os = "macos") {
            folders!($extension in $mac)
        } else if cfg!(windows) {
            folders!($extension in $windows)
        } else {
            folders!($extension in $linux)
        }
    };
    ($extension:literal in $data:literal) => {
        &[
            concat!($data, "Code/User/globalStorage/", $extension, "/tasks"),
            concat!($data, "Code - Insiders/User/globalStorage/", $extension, "/tasks"),
            concat!($data, "VSCodium/User/globalStorage/", $extension, "/tasks"),
            concat!($data, "Cursor/User/globalStorage/", $extension, "/tasks"),
            concat!($data, "Windsurf/User/globalStorage/", $extension, "/tasks"),
            concat!(".vscode-server/data/User/globalStorage/", $extension, "/tasks"),
        ]
    };
}

macro_rules! extensions {
    ($($(#[$doc:meta])* $agent:ident in $extension:literal),+ $(,)?) => {$(
        $(#[$doc])*
        pub(super) enum $agent {}

        impl Format for $agent {
            const LAYOUT: Layout = Layout {
                folders: folders!($extension),
                endings: &[CONVERSATION],
                // `<task>/`
                depth: 2,
                ..Layout::LINES
            };
            const TOOLS: Tools = TOOLS;
            const DOCUMENT: Option<Document> = Some(DOCUMENT);

            fn classify(rel_path: &str) -> Option<Located> {
                classify(Agent::$agent, rel_path)
            }

            fn record(fields: Fields<'_>, writer: &mut ItemWriter<'_>) -> Option<usize> {
                record(fields, writer)
            }

            fn kind_of(head: &[u8]) -> Option<String> {
                field_of(head, b"role")
            }
        }
    )+};
}

extensions! {
    /// The format of Cline.
    Cline in "saoudrizwan.claude-dev",
    /// The format of Roo Code.
    Roo in "rooveterinaryinc.roo-cline",
    /// The format of Kilo Code, before it was written anew.
    Kilo in "kilocode.kilo-code",
}

const TOOLS: Tools = Tools {
    acts: &[
        (Act::Shell, call::SHELL),
        (
            Act::Edit,
            "write_to_file replace_in_file apply_diff insert_content search_and_replace search_replace edit_file",
        ),
        (Act::Read, "read_file"),
        (Act::Search, "search_files list_files list_code_definition_names codebase_search"),
        (Act::Ask, call::ASK),
        (Act::Spawn, "new_task"),
        (Act::Todo, "update_todo_list"),
    ],
    parameters: &[],
};

const DOCUMENT: Document =
    Document { endings: &[CONVERSATION], replaced_by: None, messages: Messages::Field("messages"), header: &[] };

fn classify(agent: Agent, rel_path: &str) -> Option<Located> {
    let (task, name) = rel_path.split_once('/')?;
    if name != CONVERSATION || matches!(task, "" | "." | "..") {
        return None;
    }
    Some(Located { agent, session: location::session_of(task)?, kind: Kind::Main })
}

fn record(mut fields: Fields<'_>, writer: &mut ItemWriter<'_>) -> Option<usize> {
    fields.by_ref().for_each(drop);
    let end = fields.end()?;
    let whole = fields.object().unwrap_or(Value::Null);
    let [role, content, at, is_summary] = pick(whole, [b"role", b"content", b"ts", b"isSummary"]);
    let at = number(at).and_then(|at| i64::try_from(at).ok()).map(Timestamp);
    let stamp = Stamp { at, ..Stamp::default() };
    let (role, content) = (text(role).map_or(&b""[..], Text::raw), content.unwrap_or(Value::Null));
    writer.begin(&stamp);
    writer.seen.count_type(role);
    match role {
        _ if is_summary.is_some_and(Value::is_true) => {
            writer.compaction(&stamp, "", None, None);
            Block::each(content, |_, block| {
                block.text.into_iter().for_each(|text| writer.summary(&stamp, &text.decode()));
            });
        }
        b"user" => user_text::message(content, &stamp, writer),
        b"assistant" => assistant(content, &stamp, writer),
        unknown => writer.seen.count_unknown(&format!("role:{}", String::from_utf8_lossy(unknown)), 1),
    }
    writer.end(&stamp);
    Some(end)
}

fn assistant(content: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let mut has_calls = false;
    Block::each(content, |_, block| has_calls |= block.kind == b"tool_use");
    Block::each(content, |_, block| match block.kind {
        b"text" => block.text.into_iter().for_each(|text| call::said(text, !has_calls, stamp, writer)),
        b"thinking" | b"reasoning" => writer.thinking(stamp, block.thinking.or(block.text)),
        b"tool_use" => {
            let name = block.name.map(Text::decode).unwrap_or_default();
            call::emit(block.id, &name, block.input.unwrap_or(Value::Null), stamp, writer);
        }
        kind => other_block(kind, writer),
    });
}

fn other_block(kind: &[u8], writer: &mut ItemWriter<'_>) {
    if !SILENT_BLOCKS.contains(&kind) {
        writer.seen.count_unknown(&format!("block:{}", String::from_utf8_lossy(kind)), 1);
    }
}

#[cfg(test)]
mod tests;
