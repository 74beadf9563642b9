//! Transcripts of OpenCode: the rows of its database as [lines](super::table).
//!
//! A part of a message is a record, and so are a call and its result. What the program puts into a prompt is marked as
//! synthetic. A prompt given on the command line keeps the quotation marks with which OpenCode stores it.

mod rows;
mod steps;
mod tree;

use crate::filter::result::Output;
use crate::filter::{MAX_NAME_CHARS, one_line};
use crate::item::{Act, Agent, Outcome, Usage};
use crate::record::Timestamp;

use super::claude::{Author, Delivery, Hint, PromptParts, QUESTION_TOOL, judge};
use super::codex::{apply_patch, number, pick, text};
use super::ended::how_it_failed;
use super::format::{Format, Layout};
use super::item_writer::{ItemWriter, Stamp, bounded_id};
use super::location::{Kind, Located, session_of};
use super::table::Table;
use super::table_lines::located;
use super::tools::Tools;
use baton_redaction::raw_json::{Fields, Text, Value};

/// A tool that was called with parameters that it does not take.
const INVALID: &str = "invalid";
const PATCH: [&str; 2] = ["apply_patch", "patch"];
/// Begins what a person typed when they refused a call.
const FEEDBACK: &str = "with the following feedback: ";
/// Results of calls that were stopped.
const STOPPED: &[&str] = &["Tool execution aborted", "Tool execution interrupted", "Task cancelled"];
const STOPPED_COMMAND: &str = "User aborted the command";
/// Results of calls that a rule or a person refused.
const REFUSED: &[&str] = &["The user rejected permission", "The user has specified a rule", "The user dismissed"];
/// Error of a message that a person stopped, in earlier versions and in the present one.
const ABORTED: [&[u8]; 2] = [b"MessageAbortedError", b"aborted"];
/// Kind of error of a call that was refused.
const REJECTED: &[u8] = b"permission.rejected";
/// Bytes of a result that are searched for how it ended.
const LEAD_BYTES: usize = 400;
const END_BYTES: usize = 400;

/// The format of OpenCode.
pub(super) enum OpenCode {}

impl Format for OpenCode {
    const LAYOUT: Layout = Layout {
        // The variable stands for the directory of all programs' data.
        folders: &["opencode"],
        endings: &[".db"],
        depth: 1,
        ..Layout::LINES
    };
    const TABLE: Option<Table> = Some(Table { tree: Some(tree::TREE), ..rows::TABLE });
    const TOOLS: Tools = Tools {
        acts: &[
            (Act::Edit, "edit write multiedit patch"),
            (Act::Read, "read lsp"),
            (Act::Search, "grep glob list codesearch"),
            (Act::Fetch, "webfetch websearch"),
            (Act::Plan, "plan_enter plan_exit"),
            (Act::Todo, "todowrite todoread"),
            (Act::Ask, "question"),
            (Act::Spawn, "task subagent"),
            (Act::Other, "skill batch execute invalid"),
        ],
        parameters: &[("filePath", "file_path"), ("oldString", "old_string"), ("newString", "new_string")],
    };

    /// `opencode.db/<session>`, or `opencode.db/<parent>/<session>`; the database of another channel is
    /// `opencode-<channel>.db`. Before that `storage/session/<project>/<session>.json`.
    fn classify(rel_path: &str) -> Option<Located> {
        let (database, sessions) = rel_path.split_once('/')?;
        if database == tree::TREE.folder {
            let (_, file) = sessions.strip_prefix(tree::TREE.sessions)?.strip_prefix('/')?.split_once('/')?;
            let session = session_of(file.strip_suffix(".json")?)?;
            // Only the file says which of them are subagents'.
            return Some(Located { agent: Agent::OpenCode, session, kind: Kind::Main });
        }
        let channel = database.strip_prefix(rows::TABLE.prefix)?.strip_suffix(".db")?;
        if !channel.is_empty() && !channel.starts_with('-') {
            return None;
        }
        located(Agent::OpenCode, sessions)
    }

    fn record(mut fields: Fields<'_>, writer: &mut ItemWriter<'_>) -> Option<usize> {
        fields.by_ref().for_each(drop);
        let end = fields.end()?;
        let whole = fields.object().unwrap_or(Value::Null);
        let names: [&[u8]; 6] = [b"type", b"role", b"summary", b"message", b"at", b"data"];
        let [kind, role, is_summary, message, at, data] = pick(whole, names);
        let (kind, role) = (text(kind).map_or(&b""[..], Text::raw), text(role).map_or(&b""[..], Text::raw));
        let at = number(at).and_then(|at| i64::try_from(at).ok()).map(Timestamp);
        let message = text(message).filter(|id| !id.is_blank());
        let stamp = match role {
            b"assistant" => Stamp { at, message, ..Stamp::default() },
            _ => Stamp { at, uuid: message, ..Stamp::default() },
        };
        let (data, is_summary) = (data.unwrap_or(Value::Null), is_summary.is_some_and(Value::is_true));
        writer.begin(&stamp);
        writer.seen.count_type(kind);
        match (role, kind) {
            (_, b"session") => {
                text(whole.get(b"parent")).into_iter().for_each(|parent| writer.session(parent));
                text(whole.get(b"directory")).into_iter().for_each(|cwd| writer.cwd(&stamp, cwd));
            }
            (_, b"oversize") => {
                writer.seen.oversize += 1;
                writer.seen.count_unknown("oversize", 1);
            }
            (_, b"retry") => error(data.get(b"error"), &stamp, writer),
            (b"user", b"compaction") => {
                let is_auto = data.get(b"auto").is_some_and(Value::is_true);
                writer.compaction(&stamp, if is_auto { "auto" } else { "manual" }, None, None);
            }
            (b"user", b"text") => typed(data, &stamp, writer),
            (b"user", b"subtask") => subtask(data, &stamp, writer),
            (_, b"file") => file(data, &stamp, writer),
            // The prompt's text names the agent.
            (_, b"agent") => {}
            (_, b"text") if is_summary => {
                let said = text(data.get(b"text")).filter(|_| writer.wants_text).map(Text::decode);
                said.into_iter().for_each(|said| writer.summary(&stamp, &said));
            }
            (_, b"text") if is_from_program(data) => {}
            (_, b"text") => text(data.get(b"text")).into_iter().for_each(|said| writer.reply(&stamp, said, true)),
            (_, b"reasoning") => writer.thinking(&stamp, text(data.get(b"text"))),
            (_, b"shell") => persons_command(data, &stamp, writer),
            (_, b"call") => call(data, &stamp, writer),
            (_, b"result") => result(data, &stamp, writer),
            (_, b"end") => end_of_message(data, &stamp, writer),
            (_, unknown) => writer.seen.count_unknown(&String::from_utf8_lossy(unknown), 1),
        }
        writer.end(&stamp);
        Some(end)
    }
}

/// True for a text that nobody typed, or that the model does not get.
fn is_from_program(part: Value<'_>) -> bool {
    [&b"synthetic"[..], b"ignored"].into_iter().any(|mark| part.get(mark).is_some_and(Value::is_true))
}

fn typed(part: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    if let Some(words) = text(part.get(b"text")).filter(|_| !is_from_program(part)) {
        let mut typed = PromptParts::default();
        typed.text(words);
        typed.emit(Author::Unknown, Delivery::Typed, stamp, writer);
    }
}

/// A command that a person gave, which a subagent carries out.
fn subtask(part: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [command, description] = pick(part, [b"command", b"description"]);
    let described = text(description).map(Text::decode).unwrap_or_default();
    let words = match text(command).filter(|command| !command.is_blank()) {
        Some(command) => format!("/{} {described}", command.decode()),
        None => described.into_owned(),
    };
    if !words.trim().is_empty() {
        writer.abandon_calls(stamp);
        writer.prompt(stamp, &words);
    }
}

fn file(part: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let mime = text(part.get(b"mime")).map(Text::decode).unwrap_or_default();
    let what = if mime.starts_with("image/") { "image" } else { "document" };
    writer.media(stamp, format!("[{what} {}]", one_line(&mime, MAX_NAME_CHARS)).as_str());
}

fn call(part: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [tool, id, state] = pick(part, [b"tool", b"callID", b"state"]);
    let (id, input) = (text(id), state.and_then(|state| state.get(b"input")).unwrap_or(Value::Null));
    let mut name = text(tool).map(Text::decode).unwrap_or_default();
    if name == INVALID {
        name = text(input.get(b"tool")).map_or(name, Text::decode);
    }
    if PATCH.contains(&&*name) && input.get(b"patchText").is_some() {
        if writer.note_call(id, &name) && writer.wants_text {
            let patch = text(input.get(b"patchText")).map(Text::decode).unwrap_or_default();
            apply_patch(id, &patch, stamp, writer);
        }
        return;
    }
    let mut act = OpenCode::TOOLS.act(&name);
    // Tools of servers are `<server>_<tool>`.
    if act == Act::Other && name.contains('_') {
        act = Act::Mcp;
    }
    writer.call_as(act, stamp, id, &name, input);
}

fn result(part: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [tool, id, state] = pick(part, [b"tool", b"callID", b"state"]);
    let (tool, id) = (text(tool).map_or(&b""[..], Text::raw), text(id));
    if !writer.note_result(id) || !writer.wants_text {
        return;
    }
    let names: [&[u8]; 5] = [b"status", b"output", b"error", b"metadata", b"reason"];
    let [status, said, error, metadata, reason] = pick(state.unwrap_or(Value::Null), names);
    let names: [&[u8]; 4] = [b"exit", b"timeout", b"sessionId", b"task"];
    let [exit, timeout, agent, task] = pick(metadata.unwrap_or(Value::Null), names);
    let reason = text(reason).map_or(&b""[..], Text::raw);
    let mut output = Output::parse(error.or(said));
    output.facts.exit_code = exit.and_then(whole);
    output.facts.agent = text(agent).map(bounded_id);
    output.facts.background = text(task).map(|id| bounded_id(id).into_string());
    let is_error = status.and_then(Value::text).is_some_and(|status| status.raw() == b"error");
    let has_failed = is_error
        || tool == INVALID.as_bytes()
        || timeout.is_some_and(Value::is_true)
        || output.facts.exit_code.is_some_and(|code| code != 0);
    let asked = if tool == b"question" { Some(QUESTION_TOOL) } else { writer.tool_of(id) };
    let mut verdict = judge(asked, has_failed, &output, Hint::None);
    let lead = output.head(LEAD_BYTES);
    let begins = |starts: &[&str]| is_error && starts.iter().any(|start| lead.starts_with(start));
    let end = output.last_text().map(|text| text.trim_end().tail(END_BYTES).decode());
    if ABORTED.contains(&reason) || begins(STOPPED) || end.is_some_and(|end| end.contains(STOPPED_COMMAND)) {
        verdict.outcome = Outcome::Interrupted;
    } else if reason == REJECTED || begins(REFUSED) {
        verdict.outcome = Outcome::Denied;
        verdict.answer = output.whole().split_once(FEEDBACK).map(|(_, said)| said.to_owned());
    } else if verdict.outcome == Outcome::Failed {
        verdict.outcome = how_it_failed(&output);
    }
    for part in id.map(|id| writer.parts_of(id)).unwrap_or_default() {
        writer.result(stamp, Some(Text::new(part.as_bytes())), verdict.outcome, &output);
    }
    writer.result(stamp, id, verdict.outcome, &output);
    verdict.answer.into_iter().for_each(|answer| writer.answer(stamp, &answer));
}

/// A command that a person ran, without a result while it runs.
fn persons_command(ran: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [command, status, exit, output] = pick(ran, [b"command", b"status", b"exit", b"output"]);
    let Some(command) = text(command) else { return };
    writer.persons_command(stamp, &command.decode());
    let is_stopped = matches!(text(status).map_or(&b""[..], Text::raw), b"killed" | b"timeout");
    if is_stopped {
        return writer.persons_command_stopped(stamp);
    }
    if let Some(output) = output {
        let printed = text(output.get(b"output")).map(Text::decode).unwrap_or_default();
        writer.persons_output(stamp, &printed, exit.and_then(whole));
    }
}

fn whole(number: Value<'_>) -> Option<i32> {
    let Value::Number(digits) = number else { return None };
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// What a message of the agent's took, and how it ended.
fn end_of_message(message: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [model, tokens, failure] = pick(message, [b"modelID", b"tokens", b"error"]);
    let [input, output, reasoning, cache] =
        pick(tokens.unwrap_or(Value::Null), [b"input", b"output", b"reasoning", b"cache"]);
    let [read, write] = pick(cache.unwrap_or(Value::Null), [b"read", b"write"]);
    let count = |value| number(value).unwrap_or(0);
    writer.usage(stamp, None, || Usage {
        model: text(model).map_or_else(String::new, |model| one_line(&model.decode(), MAX_NAME_CHARS)),
        input: count(input),
        output: count(output).saturating_add(count(reasoning)),
        cache_read: count(read),
        cache_creation: count(write),
        ..Usage::default()
    });
    error(failure, stamp, writer);
}

/// A failure of the model's service, or an interruption.
fn error(error: Option<Value<'_>>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let Some(error) = error else { return };
    let [name, data] = pick(error, [b"name", b"data"]);
    let name = text(name).unwrap_or(Text::new(b""));
    if ABORTED.contains(&name.raw()) {
        return writer.interruption(stamp);
    }
    let message = text(data.and_then(|data| data.get(b"message"))).map(Text::decode).unwrap_or_default();
    writer.notice(stamp, &format!("{}: {message}", name.decode()));
}

#[cfg(test)]
mod tests;
