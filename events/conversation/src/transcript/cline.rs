//! Transcripts of Cline, and of Roo Code and Kilo Code, which began as copies of it: the messages of a task as the model
//! has them, as a document.
//!
//! A user's message is what the program makes of it for the model: what a person typed stands in elements, and results
//! are mostly texts with a heading. Calls are blocks, or elements in the text in older versions.
//!
//! Cline's program for the terminal writes a document of the same kind for each session and subagent; its messages have
//! an id, all calls are blocks, and results are objects.

mod call;
mod cli;
mod user_text;

use crate::item::{Act, Agent};
use crate::record::{SessionId, Timestamp};

use super::claude::Block;
use super::codex::{number, pick, text};
use super::document::{Document, Messages};
use super::format::{Format, Layout, WorkingDirectory, field_of};
use super::item_writer::{ItemWriter, Stamp};
use super::location::{self, Kind, Located};
use super::tools::Tools;
use baton_redaction::raw_json::{Fields, Text, Value};

/// The document of a task among others of it.
const CONVERSATION: &str = "api_conversation_history.json";
/// Ending of the documents of Cline's program for the terminal.
const MESSAGES: &str = ".messages.json";
/// Blocks that are no conversation.
const SILENT_BLOCKS: &[&[u8]] = &[b"image", b"document", b"redacted_thinking"];

/// The folders with an extension's tasks: one in each editor that may run it, and where a remote host keeps them.
macro_rules! folders {
    ($extension:literal $(and $other:literal)?) => {
        if cfg!(target_os = "macos") {
            folders!($extension in "Library/Application Support/" $(and $other)?)
        } else if cfg!(windows) {
            folders!($extension in "AppData/Roaming/" $(and $other)?)
        } else {
            folders!($extension in ".config/" $(and $other)?)
        }
    };
    ($extension:literal in $data:literal $(and $other:literal)?) => {
        &[
            concat!($data, "Code/User/globalStorage/", $extension, "/tasks"),
            concat!($data, "Code - Insiders/User/globalStorage/", $extension, "/tasks"),
            concat!($data, "VSCodium/User/globalStorage/", $extension, "/tasks"),
            concat!($data, "Cursor/User/globalStorage/", $extension, "/tasks"),
            concat!($data, "Windsurf/User/globalStorage/", $extension, "/tasks"),
            concat!(".vscode-server/data/User/globalStorage/", $extension, "/tasks"),
            $($other,)?
        ]
    };
}

macro_rules! extensions {
    ($($(#[$doc:meta])* $agent:ident in $extension:literal $(and $other:literal)?),+ $(,)?) => {$(
        $(#[$doc])*
        pub(super) enum $agent {}

        impl Format for $agent {
            const LAYOUT: Layout = Layout {
                folders: folders!($extension $(and $other)?),
                endings: DOCUMENT.endings,
                // `<task>/`
                depth: 2,
                working_directory: WorkingDirectory::Beside { file: "+.json", pointer: "/cwd" },
                ..Layout::LINES
            };
            const TOOLS: Tools = TOOLS;
            const DOCUMENT: Option<Document> = Some(DOCUMENT);

            fn classify(rel_path: &str) -> Option<Located> {
                classify(Agent::$agent, rel_path)
            }

            fn resume_id(session: &SessionId, path: &str, _head: &dyn Fn() -> Vec<u8>) -> Option<String> {
                // The program does not see the editor's tasks.
                path.ends_with(MESSAGES).then(|| session.to_string())
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
    Cline in "saoudrizwan.claude-dev" and ".cline/data/sessions",
    /// The format of Roo Code.
    Roo in "rooveterinaryinc.roo-cline",
    /// The format of Kilo Code, before it was written anew.
    Kilo in "kilocode.kilo-code",
}

const TOOLS: Tools = Tools {
    acts: &[
        (Act::Shell, "execute_command run_commands"),
        (
            Act::Edit,
            "write_to_file replace_in_file apply_diff insert_content search_and_replace search_replace edit_file editor",
        ),
        (Act::Read, "read_file read_files"),
        (Act::Search, "search_files list_files list_code_definition_names codebase_search search_codebase"),
        (Act::Fetch, "fetch_web_content"),
        (Act::Ask, "ask_followup_question ask_question"),
        (Act::Spawn, "new_task spawn_agent"),
        (Act::Todo, "update_todo_list"),
    ],
    parameters: &[("old_text", "old_string"), ("new_text", "new_string")],
};

const DOCUMENT: Document = Document {
    endings: &[CONVERSATION, MESSAGES],
    replaced_by: None,
    messages: Messages::Field("messages"),
    header: &["origin"],
};

fn classify(agent: Agent, rel_path: &str) -> Option<Located> {
    let (task, name) = rel_path.split_once('/')?;
    if name.contains('/') || matches!(task, "" | "." | "..") {
        return None;
    }
    let kind = match name.strip_suffix(MESSAGES) {
        Some(stem) if agent == Agent::Cline && stem != task => {
            let parent = location::session_of(task);
            return Some(Located { agent, session: location::session_of(stem)?, kind: Kind::Subagent { parent } });
        }
        Some(_) if agent == Agent::Cline => Kind::Main,
        _ if name == CONVERSATION => Kind::Main,
        _ => return None,
    };
    Some(Located { agent, session: location::session_of(task)?, kind })
}

fn record(mut fields: Fields<'_>, writer: &mut ItemWriter<'_>) -> Option<usize> {
    fields.by_ref().for_each(drop);
    let end = fields.end()?;
    let whole = fields.object().unwrap_or(Value::Null);
    let [role, content, at, is_summary, id, metadata] =
        pick(whole, [b"role", b"content", b"ts", b"isSummary", b"id", b"metadata"]);
    let at = number(at).and_then(|at| i64::try_from(at).ok()).map(Timestamp);
    let stamp = Stamp { at, message: text(id), ..Stamp::default() };
    let (role, content) = (text(role).map_or(&b""[..], Text::raw), content.unwrap_or(Value::Null));
    let metadata = metadata.unwrap_or(Value::Null);
    writer.begin(&stamp);
    writer.seen.count_type(if role.is_empty() { b"header" } else { role });
    match role {
        b"" if writer.cursor.line == 1 => cli::header(whole, writer),
        _ if is_summary.is_some_and(Value::is_true) => {
            writer.compaction(&stamp, "", None, None);
            each_text(content, |text| writer.summary(&stamp, &text.decode()));
        }
        _ if cli::is_summary(metadata) => {
            writer.compaction(&stamp, "", None, None);
            let summary = metadata.get(b"summary").and_then(Value::text);
            summary.into_iter().for_each(|text| writer.summary(&stamp, &text.decode()));
        }
        // What only the person sees.
        _ if metadata.get(b"displayOnly").is_some_and(Value::is_true) => {
            each_text(content, |text| writer.notice(&stamp, &text.decode()));
        }
        b"user" => user_text::message(content, &stamp, writer),
        b"assistant" => {
            assistant(content, id.is_none(), &stamp, writer);
            cli::usage(whole, &stamp, writer);
        }
        unknown => writer.seen.count_unknown(&format!("role:{}", String::from_utf8_lossy(unknown)), 1),
    }
    writer.end(&stamp);
    Some(end)
}

fn each_text(content: Value<'_>, mut take: impl FnMut(Text<'_>)) {
    Block::each(content, |_, block| block.text.into_iter().for_each(&mut take));
}

/// Emits a message of the agent. `may_call`: calls may be elements in its text.
fn assistant(content: Value<'_>, may_call: bool, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let mut has_calls = false;
    Block::each(content, |_, block| has_calls |= block.kind == b"tool_use");
    let may_call = may_call && !has_calls;
    Block::each(content, |_, block| match block.kind {
        b"text" => block.text.into_iter().for_each(|text| call::said(text, may_call, stamp, writer)),
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
