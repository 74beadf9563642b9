//! Transcripts of Cursor's agent: JSON Lines of messages without ids, and mostly without results; and the chats of the
//! editor, of whose database the rows are made [lines](super::table_lines).
//!
//! What a person typed is in `<user_query>`, everything around it is context for the model. A minute in the user's text
//! is the only time; the working directory is the first that a command or a search names. The file is written at intervals, and anew
//! when the session is resumed.

mod rows;
mod user_text;

use memchr::memmem;

use crate::filter::is_own_tool;
use crate::filter::result::Output;
use crate::item::{Act, Agent, Outcome};
use crate::record::{SessionId, Timestamp};

use super::claude::{Author, Block, Delivery, PromptParts};
use super::codex::{apply_patch, patch_of};
use super::format::{Format, Layout, WorkingDirectory, field_of};
use super::item_writer::{ItemWriter, Stamp};
use super::location::{self, Kind, Located};
use super::table::Table;
use super::table_lines::{self, Manner};
use super::tools::Tools;
use baton_redaction::raw_json::{Fields, Text, Value};

use user_text::UserText;

/// Folder of a project's transcripts, and of a session's subagents.
const TRANSCRIPTS: &str = "agent-transcripts";
const SUBAGENTS: &str = "subagents";
/// Mark in the place of reasoning that is not shown.
const HIDDEN: &[u8] = b"[REDACTED]";
/// Blocks without conversation.
const SILENT_BLOCKS: &[&[u8]] = &[b"redacted_thinking", b"image", b"document", b"file"];
const PATCH: &str = "ApplyPatch";
const BRANCH: &str = "SetActiveBranch";
/// Tools that call the tools of MCP servers.
const CALLERS: &[&str] = &["CallMcpTool", "CallDynamicTool", "call_mcp_tool"];
/// Beginnings of the names of such tools in other versions.
const SERVER_TOOLS: &[&str] = &["mcp_", "mcp-", "user-"];
/// Text before the name of a server that the person set up.
const BY_USER: &str = "user-";
/// Longest time in a text, in bytes.
const MAX_TIME_BYTES: usize = 100;

/// How a result in the editor's database ended is told with it.
const MANNER: Manner = Manner { act: |name, _| CursorAgent::TOOLS.act(name), refused: &[], stopped: &[] };

/// The format of Cursor's agent.
pub(super) enum CursorAgent {}

impl Format for CursorAgent {
    const LAYOUT: Layout = Layout {
        folders: &["projects"],
        endings: &[".jsonl", ".vscdb"],
        // `<slug>/agent-transcripts/<session>/subagents/`
        depth: 5,
        passed_over: &["terminals", "mcps", "agent-tools", "assets"],
        working_directory: WorkingDirectory::Above("agent-transcripts"),
        ..Layout::LINES
    };
    const TABLE: Option<Table> = Some(rows::TABLE);
    const TOOLS: Tools = Tools {
        acts: &[
            (Act::Shell, "run_terminal_cmd run_terminal_command run_terminal_command_v2"),
            (Act::Edit, "StrReplace Delete EditNotebook edit_file edit_file_v2 search_replace delete_file"),
            (Act::Read, "Await AwaitShell ReadLints read_file read_file_v2 read_lints await await_task"),
            (Act::Search, "SemanticSearch GetMcpTools GetDynamicTools codebase_search file_search grep_search"),
            (Act::Search, "grep glob_file_search list_dir list_dir_v2 ripgrep_raw_search SearchConversations"),
            (Act::Search, "semantic_search_full search_symbols go_to_definition"),
            (Act::Fetch, "web_search web_fetch fetch_pull_request"),
            (Act::Plan, "CreatePlan SwitchMode create_plan switch_mode"),
            (Act::Todo, "UpdateCurrentStep update_current_step todo_write todo_read"),
            (Act::Ask, "AskQuestion ask_question"),
            (Act::Spawn, "Subagent task task_v2"),
        ],
        parameters: &[
            ("contents", "content"),
            ("glob_pattern", "pattern"),
            ("target_directory", "path"),
            ("target_file", "file_path"),
            ("target_notebook", "notebook_path"),
            ("targetFile", "file_path"),
            ("relativeWorkspacePath", "file_path"),
            ("targetDirectory", "path"),
            ("globPattern", "pattern"),
        ],
    };

    fn classify(rel_path: &str) -> Option<Located> {
        if let Some(sessions) = rel_path.strip_prefix(rows::TABLE.prefix).and_then(|rest| rest.strip_prefix('/')) {
            return table_lines::located(Agent::Cursor, sessions);
        }
        let names: Vec<&str> = rel_path.split('/').collect();
        if names.iter().any(|name| matches!(*name, "" | "." | "..")) {
            return None;
        }
        let (file, folders) = names.split_last()?;
        let stem = file.strip_suffix(".jsonl").filter(|stem| !stem.starts_with('.'))?;
        let kind = match folders {
            [_, TRANSCRIPTS] => Kind::Main,
            [_, TRANSCRIPTS, session] if *session == stem => Kind::Main,
            [_, TRANSCRIPTS, parent, SUBAGENTS] => Kind::Subagent { parent: Some(SessionId::new(parent)?) },
            _ => return None,
        };
        Some(Located { agent: Agent::Cursor, session: location::session_of(stem)?, kind })
    }

    fn record(mut fields: Fields<'_>, writer: &mut ItemWriter<'_>) -> Option<usize> {
        let (mut role, mut kind, mut message, mut status, mut error) = (None, None, None, None, None);
        let mut is_row = false;
        for (key, value) in fields.by_ref() {
            match key.raw() {
                b"role" => role = value.text(),
                b"type" => kind = value.text(),
                b"message" => message = Some(value),
                b"status" => status = value.text(),
                b"error" => error = value.text(),
                b"at" => is_row = true,
                _ => {}
            }
        }
        if is_row && role.is_none() {
            return table_lines::record_by(fields, &MANNER, call, writer);
        }
        let end = fields.end()?;
        let kind = role.or(kind).map_or(&b""[..], Text::raw);
        let at = message.filter(|_| kind == b"user").and_then(time_in);
        let stamp = Stamp { at, ..Stamp::default() };
        let content = message.and_then(|message| message.get(b"content")).unwrap_or(Value::Null);
        writer.begin(&stamp);
        writer.seen.count_type(kind);
        match kind {
            b"user" => user(content, &stamp, writer),
            b"assistant" => assistant(content, &stamp, writer),
            b"system" => {}
            b"turn_ended" => turn_ended(status, error, &stamp, writer),
            unknown => writer.seen.count_unknown(&String::from_utf8_lossy(unknown), 1),
        }
        writer.end(&stamp);
        Some(end)
    }

    fn kind_of(head: &[u8]) -> Option<String> {
        field_of(head, b"role").or_else(|| field_of(head, b"type"))
    }
}

/// The time in a user's message.
fn time_in(message: Value<'_>) -> Option<Timestamp> {
    const TAG: &[u8] = b"<timestamp>";
    let Value::Object(raw) = message else { return None };
    let text = raw.get(memmem::find(&raw, TAG)? + TAG.len()..)?;
    let end = text.iter().take(MAX_TIME_BYTES).position(|byte| *byte == b'<')?;
    user_text::time(std::str::from_utf8(&text[..end]).ok()?)
}

fn user(content: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let mut texts = Vec::new();
    let mut pictures = PromptParts::default();
    Block::each(content, |value, block| match block.kind {
        b"text" => texts.extend(block.text.map(Text::decode)),
        b"image" | b"document" => pictures.block(value, block),
        kind if is_result(kind) => result(block, stamp, writer),
        kind => other_block(kind, writer),
    });
    let is_marked = texts.iter().any(|text| user_text::has_query(text));
    for part in texts.iter().flat_map(|text| user_text::split(text, is_marked)) {
        match part {
            UserText::Prompt(typed) => {
                writer.abandon_calls(stamp);
                writer.prompt(stamp, typed);
            }
            UserText::Notice(news) => writer.notice(stamp, news),
            UserText::Workspace(path) => {
                let written = serde_json::json!(path).to_string();
                enter(Text::new(&written.as_bytes()[1..written.len() - 1]), stamp, writer);
            }
        }
    }
    pictures.emit(Author::Unknown, Delivery::Typed, stamp, writer);
}

fn assistant(content: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    Block::each(content, |_, block| match block.kind {
        b"text" => block.text.into_iter().for_each(|text| reply(text, stamp, writer)),
        b"thinking" => writer.thinking(stamp, block.thinking.or(block.text)),
        b"tool_use" | b"tool_call" | b"tool-call" => {
            let name = block.name.map(Text::decode).unwrap_or_default();
            call(block.id, &name, block.input.unwrap_or(Value::Null), stamp, writer);
        }
        kind if is_result(kind) => result(block, stamp, writer),
        kind => {
            other_block(kind, writer);
            // Text of a block that is not known was shown all the same.
            block.text.into_iter().for_each(|text| reply(text, stamp, writer));
        }
    });
}

/// A reply without the marks at its end that stand for hidden reasoning.
fn reply(text: Text<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let mut shown = text.trim_end();
    while let Some(before) = shown.raw().strip_suffix(HIDDEN) {
        shown = Text::new(before).trim_end();
    }
    match shown.is_blank() {
        true => writer.thinking(stamp, None),
        false => writer.reply(stamp, shown, true),
    }
}

fn turn_ended(status: Option<Text<'_>>, error: Option<Text<'_>>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let (status, error) = (status.map_or(&b""[..], Text::raw), error.map(Text::decode).unwrap_or_default());
    match status {
        b"success" => {}
        _ if status == b"aborted" || error.starts_with("User aborted") => writer.interruption(stamp),
        _ => writer.notice(stamp, &error),
    }
}

fn call(id: Option<Text<'_>>, name: &str, input: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let text = |field: &[u8]| input.get(field).and_then(Value::text);
    match name {
        PATCH => {
            if writer.note_call(id, name) && writer.wants_text {
                apply_patch(id, patch_of(input).as_deref().unwrap_or(""), stamp, writer);
            }
            return;
        }
        tool if CALLERS.contains(&tool) => {
            let server = text(b"server").or(text(b"namespace")).map(Text::decode).unwrap_or_default();
            let server =
                if server.ends_with("-baton") { "baton" } else { server.strip_prefix(BY_USER).unwrap_or(&server) };
            let called = text(b"toolName").map(|tool| format!("mcp__{server}__{}", tool.decode()));
            let arguments = input.get(b"arguments").unwrap_or(Value::Null);
            let name = called.as_deref().unwrap_or(tool);
            return writer.call_as(Act::Mcp, stamp, id, name, arguments);
        }
        _ => {}
    }
    if let Some(tool) = SERVER_TOOLS.iter().find_map(|start| name.strip_prefix(start)) {
        let tool = tool.strip_prefix(BY_USER).unwrap_or(tool);
        let name = if is_own_tool(tool) { tool } else { name };
        return writer.call_as(Act::Mcp, stamp, id, name, input);
    }
    if let Some(place) = text(b"working_directory").or(text(b"target_directory")).or(text(b"cwd")) {
        enter(place, stamp, writer);
    }
    if let Some(branch) = text(b"branchName").filter(|_| name == BRANCH) {
        writer.branch(stamp, branch);
    }
    writer.call_as(CursorAgent::TOOLS.act(name), stamp, id, name, input);
}

/// The working directory of the session: the first directory that is named. Later commands only run elsewhere.
fn enter(place: Text<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let is_absolute = place.raw().starts_with(b"/") || place.raw().get(1) == Some(&b':');
    if is_absolute && writer.cursor.cwd.is_none() {
        writer.cwd(stamp, place);
    }
}

fn is_result(kind: &[u8]) -> bool {
    matches!(kind, b"tool_result" | b"tool-result")
}

/// A result, which rarely names its call. How it ended is only recorded if it is marked as an error.
fn result(block: &Block<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    if writer.note_result(block.answers) && writer.wants_text {
        let outcome = if block.is_error { Outcome::Failed } else { Outcome::Ok };
        writer.result(stamp, block.answers, outcome, &Output::parse(block.content));
    }
}

fn other_block(kind: &[u8], writer: &mut ItemWriter<'_>) {
    if !SILENT_BLOCKS.contains(&kind) {
        writer.seen.count_unknown(&format!("block:{}", String::from_utf8_lossy(kind)), 1);
    }
}

#[cfg(test)]
mod tests;
