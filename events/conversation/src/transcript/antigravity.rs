//! Transcripts of Antigravity CLI: JSON Lines of numbered steps. The lines are in the order in which steps ended.
//!
//! A call has no id: its result is one of the next steps, which have the numbers that follow. The number of the step
//! that a call's result should have is used as its id. Of each transcript there is a second one with shortened texts and
//! with arguments as JSON in strings.

use std::borrow::Cow;

use memchr::memmem;
use serde_json::{Map, Value as Json};

use crate::filter::one_line;
use crate::filter::result::Output;
use crate::hash::Mark;
use crate::item::{Act, Agent, Outcome, TitleSource};
use crate::record::Timestamp;

use super::codex::{number, pick, text};
use super::ended::how_it_failed;
use super::format::{Format, Layout};
use super::item_writer::{ItemWriter, Stamp};
use super::location::{self, Kind, Located};
use super::tools::Tools;
use baton_redaction::raw_json::{Fields, Text, Value};

const FULL: &str = "transcript_full.jsonl";
const SHORTENED: &str = "transcript.jsonl";
/// Steps without conversation.
const SILENT: &[&[u8]] = &[b"CONVERSATION_HISTORY", b"EPHEMERAL_MESSAGE", b"KNOWLEDGE_ARTIFACTS"];
/// Elements of a prompt: what was typed, and what was not.
const REQUEST: [&str; 2] = ["<USER_REQUEST>", "</USER_REQUEST>"];
const CONTEXT: [&str; 2] = ["<ADDITIONAL_METADATA>", "<USER_SETTINGS_CHANGE>"];
/// Text around the names of the model before and after a change.
const MODEL: [&str; 3] = ["`Model Selection` from ", " to ", ". No need"];
/// The heading before the session's title, and the beginning of a summary that replaces nothing yet.
const TITLE: &str = "# USER Objective:";
const FIRST_CHECKPOINT: &str = "{{ CHECKPOINT 0 }}";
const MESSAGE: [&str; 2] = ["\n<SYSTEM_MESSAGE>", "</SYSTEM_MESSAGE>"];
/// Longest title, in characters.
const MAX_TITLE_CHARS: usize = 100;
/// The tool that calls the tools of servers, and its parameters.
const SERVED: &str = "call_mcp_tool";
const SERVER: [&str; 3] = ["ServerName", "ToolName", "Arguments"];
/// Lines before a result, and what they say; as written.
const TIMES: [&[u8]; 2] = [b"Created At: ", b"Completed At: "];
const OUTPUTS: [&[u8]; 2] = [b"Output:\\n", b"Stdout:\\n"];
const SUCCESS: &str = "The command completed successfully.";
const EXIT_CODE: &str = "failed with exit code: ";
const CHILD: &str = "\"conversationId\":";
/// Bytes of a result that are searched for what it says about itself.
const LEAD_BYTES: usize = 600;
/// Steps that may come between a call and its result.
const MOST_BETWEEN: u64 = 16;

/// The format of Antigravity CLI.
pub(super) enum Antigravity {}

impl Format for Antigravity {
    const LAYOUT: Layout = Layout {
        folders: &["brain"],
        endings: &[FULL, SHORTENED],
        // `<session>/.system_generated/logs/`
        depth: 4,
        ..Layout::LINES
    };
    const TOOLS: Tools = Tools {
        acts: &[
            (Act::Shell, "run_command"),
            (Act::Edit, "write_to_file replace_file_content multi_replace_file_content edit_file"),
            (Act::Read, "view_file view_file_outline view_code_item view_content_chunk command_status"),
            (Act::Search, "grep_search find_by_name list_dir codebase_search"),
            (Act::Fetch, "search_web read_url_content"),
            (Act::Todo, "task_boundary"),
            (Act::Ask, "notify_user ask_question"),
            (Act::Spawn, "invoke_subagent browser_subagent"),
        ],
        parameters: &[
            ("CommandLine", "command"),
            ("AbsolutePath", "file_path"),
            ("TargetFile", "file_path"),
            ("TargetContent", "old_string"),
            ("ReplacementContent", "new_string"),
            ("ReplacementChunks", "edits"),
            ("CodeContent", "content"),
            ("DirectoryPath", "path"),
            ("SearchPath", "path"),
            ("SearchDirectory", "path"),
            ("Query", "pattern"),
            ("Pattern", "pattern"),
            ("Url", "url"),
            ("Prompt", "prompt"),
            ("toolSummary", "description"),
        ],
    };

    fn classify(rel_path: &str) -> Option<Located> {
        let names: Vec<&str> = rel_path.split('/').collect();
        let [session, ".system_generated", "logs", FULL | SHORTENED] = names.as_slice() else { return None };
        Some(Located { agent: Agent::Antigravity, session: location::session_of(session)?, kind: Kind::Main })
    }

    fn fuller(path: &str) -> Option<String> {
        let folder = path.strip_suffix(SHORTENED)?;
        folder.ends_with(['/', '\\']).then(|| format!("{folder}{FULL}"))
    }

    fn record(mut fields: Fields<'_>, writer: &mut ItemWriter<'_>) -> Option<usize> {
        fields.by_ref().for_each(drop);
        let end = fields.end()?;
        let whole = fields.object().unwrap_or(Value::Null);
        let names: [&[u8]; 8] =
            [b"step_index", b"source", b"type", b"status", b"created_at", b"content", b"thinking", b"tool_calls"];
        let [index, source, kind, status, at, content, thinking, calls] = pick(whole, names);
        let time = text(at).map_or(&b""[..], Text::raw);
        let at = text(at).and_then(|at| Timestamp::parse(&at.decode()));
        let stamp = Stamp { at, ..Stamp::default() };
        let word = |value: Option<Value<'_>>| text(value).map(|text| text.raw().to_vec()).unwrap_or_default();
        let (source, kind, status) = (word(source), word(kind), word(status));
        let index = number(index).unwrap_or(0);
        writer.begin(&stamp);
        writer.seen.count_type(&kind);
        // It is written again when it has ended.
        let is_partial = status == b"RUNNING" || status == b"PENDING";
        let content = text(content).unwrap_or(Text::new(b""));
        let key = [&index.to_le_bytes(), &kind[..], time, content.raw()].join(&0);
        if !is_partial && writer.cursor.remember_said(Mark::digest(&key)) {
            match &*kind {
                b"USER_INPUT" if source.starts_with(b"USER") || source.is_empty() => prompt(content, &stamp, writer),
                b"USER_INPUT" => notice(content, &stamp, writer),
                b"PLANNER_RESPONSE" => {
                    text(thinking).into_iter().for_each(|said| writer.thinking(&stamp, Some(said)));
                    writer.reply(&stamp, content, calls.is_none());
                    let calls = calls.into_iter().flat_map(Value::elements);
                    calls.zip(index + 1..).for_each(|(it, id)| call(it, id, &stamp, writer));
                }
                b"CHECKPOINT" => checkpoint(content, &stamp, writer),
                b"ERROR_MESSAGE" | b"SYSTEM_MESSAGE" => notice(content, &stamp, writer),
                silent if SILENT.contains(&silent) => {}
                _ if source == b"MODEL" || kind == b"TOOL_RESPONSE" => result(index, &status, content, &stamp, writer),
                unknown => writer.seen.count_unknown(&String::from_utf8_lossy(unknown), 1),
            }
        }
        writer.end(&stamp);
        Some(end)
    }
}

fn prompt(content: Text<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let content = content.decode();
    let typed = content.split_once(REQUEST[0]).and_then(|(_, rest)| Some(rest.rsplit_once(REQUEST[1])?.0));
    let is_context = |at: &&str| content.contains(*at);
    let bare =
        CONTEXT.iter().copied().filter(is_context).fold(&*content, |text, mark| text.split(mark).next().unwrap_or(""));
    if let Some((_, change)) = content.split_once(MODEL[0])
        && let Some((_, model)) = change.lines().next().and_then(|change| change.split_once(MODEL[1]))
    {
        let model = model.split(MODEL[2]).next().unwrap_or(model).trim_end_matches('.');
        writer.named_model(stamp, Text::new(model.as_bytes()));
    }
    let typed = typed.unwrap_or(bare);
    if !typed.trim().is_empty() {
        writer.abandon_calls(stamp);
        writer.prompt(stamp, typed);
    }
}

fn notice(content: Text<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    if writer.wants_text && !content.is_blank() {
        let said = content.decode();
        let inside = said.split_once(MESSAGE[0]).and_then(|(_, rest)| rest.split(MESSAGE[1]).next());
        writer.notice(stamp, inside.unwrap_or(&said).trim());
    }
}

/// A summary, of which the first is written after the first turn.
fn checkpoint(content: Text<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let said = content.decode();
    let objective = said.split_once(TITLE).map_or("", |(_, rest)| rest.split("\n# ").next().unwrap_or(""));
    let title = objective.lines().map(|line| line.trim_start_matches('#').trim()).find(|line| !line.is_empty());
    title.into_iter().for_each(|title| writer.title(stamp, TitleSource::Model, &one_line(title, MAX_TITLE_CHARS)));
    if !said.trim_start().starts_with(FIRST_CHECKPOINT) {
        writer.compaction(stamp, "", None, None);
        if writer.wants_text {
            writer.summary(stamp, &said);
        }
    }
}

fn call(call: Value<'_>, id: u64, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [name, args] = pick(call, [b"name", b"args"]);
    let name = text(name).map(Text::decode).unwrap_or_default();
    let name = name.strip_prefix("default_api:").unwrap_or(&name);
    let mut input = args.map(arguments).unwrap_or_default();
    if writer.cursor.cwd.is_none()
        && let Some(cwd) = input.get("Cwd").and_then(Json::as_str)
    {
        writer.cwd(stamp, Text::new(cwd.as_bytes()));
    }
    let mut act = Antigravity::TOOLS.act(name);
    let mut name = Cow::Borrowed(name);
    if name == SERVED {
        let [server, tool] =
            [SERVER[0], SERVER[1]].map(|key| input.get(key).and_then(Json::as_str).unwrap_or("").to_owned());
        (act, name) = (Act::Mcp, Cow::Owned(format!("mcp__{server}__{tool}")));
        input = input.get(SERVER[2]).and_then(Json::as_object).cloned().unwrap_or(input);
    } else if name.starts_with("mcp_") {
        act = Act::Mcp;
    }
    let input = Json::Object(input).to_string();
    writer.call_as(
        act,
        stamp,
        Some(Text::new(id.to_string().as_bytes())),
        &name,
        Value::Object(input.as_bytes().into()),
    );
}

/// The arguments of a call. If each value is JSON in a string, these are decoded.
fn arguments(args: Value<'_>) -> Map<String, Json> {
    let Value::Object(bytes) = args else { return Map::new() };
    let mut args: Map<String, Json> = serde_json::from_slice(&bytes).unwrap_or_default();
    args.remove("toolAction");
    let quoted = |value: &Json| value.as_str().is_some_and(|text| text.starts_with('"'));
    let decoded = |value: &Json| value.as_str().and_then(|text| serde_json::from_str::<Json>(text).ok());
    if args.get("toolSummary").is_some_and(quoted) || args.values().all(|value| decoded(value).is_some()) {
        args.values_mut().for_each(|value| {
            if let Some(inside) = decoded(value) {
                *value = inside;
            }
        });
    }
    args
}

fn result(index: u64, status: &[u8], content: Text<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let is_open = |id: &u64| {
        let mark = Mark::digest(id.to_string().as_bytes());
        writer.cursor.open_calls.contains(mark) || writer.cursor.own_calls.contains(mark)
    };
    let earlier = || (index.saturating_sub(MOST_BETWEEN)..index).find(is_open);
    let id = Some(index).filter(is_open).or_else(earlier).unwrap_or(index).to_string();
    let id = Some(Text::new(id.as_bytes()));
    if !writer.note_result(id) || !writer.wants_text {
        return;
    }
    let lead = content.head(LEAD_BYTES).decode();
    let line = |mark: &str| Some(lead.split_once(mark)?.1.lines().next()?.trim());
    let time = |mark: &[u8]| Timestamp::parse(line(std::str::from_utf8(mark).ok()?)?);
    let mut output = Output::of(outputs(content));
    if let (Some(begun), Some(ended)) = (time(TIMES[0]), time(TIMES[1])) {
        output.facts.duration_ms = u64::try_from(ended.since_ms(begun)).ok();
    }
    let went_well = lead.contains(SUCCESS).then_some(0);
    output.facts.exit_code = line(EXIT_CODE).and_then(|code| code.parse().ok()).or(went_well);
    let child = line(CHILD).map(|id| id.trim_matches([' ', '"', ','])).filter(|id| !id.is_empty());
    output.facts.agent = child.map(Into::into);
    let outcome = match status {
        b"CANCELED" | b"CANCELLED" | b"INTERRUPTED" => Outcome::Interrupted,
        b"ERROR" => how_it_failed(&output),
        _ => Outcome::Ok,
    };
    writer.result(stamp, id, outcome, &output);
}

/// The texts of a result, without what Antigravity writes around them.
fn outputs(content: Text<'_>) -> Vec<Text<'_>> {
    if let Some(text) = OUTPUTS.iter().find_map(|mark| content.head(LEAD_BYTES).after(mark).and(content.after(mark))) {
        let raw = text.raw();
        let errors = memmem::find(raw, b"Stderr:\\n");
        let (output, errors) = errors.map_or((raw, &b""[..]), |at| (&raw[..at], &raw[at + b"Stderr:\\n".len()..]));
        return [output, errors].map(without_indent).into_iter().filter(|text| !text.is_blank()).collect();
    }
    let mut text = content;
    for mark in TIMES {
        if text.raw().starts_with(mark) {
            text = text.after(b"\\n").unwrap_or(Text::new(b""));
        }
    }
    vec![text]
}

fn without_indent(mut raw: &[u8]) -> Text<'_> {
    while let Some(rest) = raw.strip_prefix(b"\\t").or_else(|| raw.strip_prefix(b"\t")) {
        raw = rest;
    }
    Text::new(raw).trim_end()
}

#[cfg(test)]
mod tests;
