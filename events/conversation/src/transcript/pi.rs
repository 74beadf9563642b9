//! Transcripts of Pi: JSON Lines of entries that form a tree by `parentId`. A person who goes back continues below an
//! earlier entry, and the branch that was left stays in the file.

use crate::filter::media::Media;
use crate::filter::result::{Output, ResultFacts};
use crate::filter::{MAX_NAME_CHARS, one_line};
use crate::hash::Mark;
use crate::item::{Act, Agent, Link, Outcome, Usage};
use crate::record::Timestamp;

use super::codex::{number, pick, text};
use super::cursor::Queued;
use super::format::{Format, Layout};
use super::item_writer::{ItemWriter, Stamp};
use super::location::{self, Kind, Located};
use super::tools::Tools;
use baton_redaction::raw_json::{Fields, Text, Value};

/// Entries without conversation.
const SILENT: &[&[u8]] = &[b"model_change", b"thinking_level_change", b"custom", b"label"];
/// The tool through which an extension calls the tools of servers.
const PROXY: &str = "mcp";
/// Text before the exit code, at the end of a failed command's output.
const EXITED: &str = "Command exited with code ";
/// Bytes of the end of a result that are searched for how it ended.
const END_BYTES: usize = 200;
/// Ends of results of calls that were not completed, and part of those that an extension refused.
const STOPPED: &[&str] =
    &["Command aborted", "Operation aborted", "Request was aborted", "Skipped due to queued user message."];
const BLOCKED: &str = "was blocked";
/// Beginnings of what Pi puts before a prompt: a file that the command line names, a skill.
const FILE: [&str; 2] = ["<file name=\"", "</file>"];
const SKILL: [&str; 2] = ["<skill name=\"", "\n</skill>"];

/// The format of Pi.
pub(super) enum Pi {}

impl Format for Pi {
    const LAYOUT: Layout = Layout {
        folders: &["sessions"],
        // `<project>/`
        depth: 2,
        ..Layout::LINES
    };
    const TOOLS: Tools = Tools {
        acts: &[
            (Act::Edit, "edit write"),
            (Act::Read, "read"),
            (Act::Search, "grep find ls"),
            (Act::Fetch, "fetch_content"),
            (Act::Todo, "todo"),
            (Act::Ask, "question questionnaire ask_user"),
            (Act::Spawn, "subagent"),
        ],
        parameters: &[("oldText", "old_string"), ("newText", "new_string")],
    };

    /// `<project>/<time>_<session>.jsonl`, or the file alone.
    fn classify(rel_path: &str) -> Option<Located> {
        let (folder, name) = rel_path.rsplit_once('/').unwrap_or(("-", rel_path));
        if matches!(folder, "" | "." | "..") || folder.contains('/') {
            return None;
        }
        let session = location::session_of(session_of(name)?)?;
        Some(Located { agent: Agent::Pi, session, kind: Kind::Main })
    }

    fn record(mut fields: Fields<'_>, writer: &mut ItemWriter<'_>) -> Option<usize> {
        let (mut kind, mut at, mut id, mut parent, mut message) = (&b""[..], None, None, None, Value::Null);
        for (key, value) in fields.by_ref() {
            match key.raw() {
                b"type" => kind = value.text().map_or(&b""[..], Text::raw),
                b"timestamp" => at = value.text(),
                b"id" => id = value.text().filter(|id| !id.is_blank()),
                b"parentId" => parent = value.text().filter(|id| !id.is_blank()),
                b"message" => message = value,
                _ => {}
            }
        }
        let end = fields.end()?;
        let entry = fields.object().unwrap_or(Value::Null);
        let role = text(message.get(b"role")).map_or(&b""[..], Text::raw);
        let stamp = Stamp {
            at: at.and_then(|text| Timestamp::parse(&text.decode())),
            uuid: id.filter(|_| kind != b"session"),
            message: id.filter(|_| role == b"assistant"),
            below: parent.filter(|_| role == b"user"),
            ..Stamp::default()
        };
        writer.begin(&stamp);
        writer.seen.count_type(kind);
        let branches = follow(id, parent, writer);
        if let Some(parent) = parent.filter(|_| branches && role != b"user") {
            writer.continue_below(&stamp, parent);
        }
        match kind {
            b"session" => session(entry, &stamp, writer),
            b"message" => said(role, message, &stamp, writer),
            b"compaction" => compaction(entry, &stamp, writer),
            b"branch_summary" => summary(entry, &stamp, writer),
            b"custom_message" => notice(entry.get(b"content"), &stamp, writer),
            b"session_info" => {
                let name = text(entry.get(b"name")).map(Text::decode).unwrap_or_default();
                writer.renamed(&stamp, &name);
            }
            silent if SILENT.contains(&silent) => {}
            unknown => writer.seen.count_unknown(&String::from_utf8_lossy(unknown), 1),
        }
        writer.end(&stamp);
        Some(end)
    }
}

/// The session in the name of its file.
fn session_of(name: &str) -> Option<&str> {
    let (time, session) = name.strip_suffix(".jsonl")?.rsplit_once('_')?;
    (!time.is_empty() && !time.starts_with('.')).then_some(session)
}

/// True if the entry does not stand below the one before it. This format has no queue, so the cursor's queue holds the
/// last entry.
fn follow(id: Option<Text<'_>>, parent: Option<Text<'_>>, writer: &mut ItemWriter<'_>) -> bool {
    let last = writer.cursor.queue.iter().next();
    let mark = |id: Text<'_>| Mark::digest(id.raw());
    if let Some(id) = id {
        let line = writer.cursor.line;
        writer.cursor.queue.clear();
        writer.cursor.queue.push(Queued { mark: mark(id), line });
    }
    parent.is_some_and(|parent| last.is_some_and(|last| last.mark != mark(parent)))
}

/// The header. A copy of another session names that one's file.
fn session(header: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [cwd, parent, version] = pick(header, [b"cwd", b"parentSession", b"version"]);
    if let Some(Value::Number(version)) = version {
        writer.seen.see_format(version);
    }
    text(cwd).into_iter().for_each(|cwd| writer.cwd(stamp, cwd));
    if let Some(parent) = text(parent).map(Text::decode) {
        let name = parent.rsplit(['/', '\\']).next().unwrap_or_default();
        session_of(name).into_iter().for_each(|id| writer.link(stamp, Link::ForkedFrom, Text::new(id.as_bytes())));
    }
}

fn said(role: &[u8], message: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    match role {
        b"user" => user(message.get(b"content"), stamp, writer),
        b"assistant" => assistant(message, stamp, writer),
        b"toolResult" => result(message, stamp, writer),
        b"bashExecution" => command(message, stamp, writer),
        b"compactionSummary" => compaction(message, stamp, writer),
        b"branchSummary" => summary(message, stamp, writer),
        b"custom" | b"hookMessage" => notice(message.get(b"content"), stamp, writer),
        other => writer.seen.count_unknown(&format!("role:{}", String::from_utf8_lossy(other)), 1),
    }
}

/// The texts of a message, which is a string or a list of blocks.
fn words(content: Option<Value<'_>>) -> String {
    match content {
        Some(Value::Text(whole)) => whole.decode().into_owned(),
        Some(blocks) => {
            let texts = blocks.elements().filter_map(|block| text(block.get(b"text")));
            texts.map(|text| text.decode().into_owned()).collect::<Vec<_>>().join("\n")
        }
        None => String::new(),
    }
}

fn user(content: Option<Value<'_>>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    writer.abandon_calls(stamp);
    let whole = words(content);
    let typed = typed(&whole);
    if !typed.trim().is_empty() {
        writer.prompt(stamp, &typed);
    }
    for picture in content.into_iter().flat_map(Value::elements).filter_map(Media::attached) {
        writer.wordless_prompt(stamp);
        writer.media(stamp, &picture.line());
    }
}

/// What was typed: without files that the command line named, and with a skill's name for its text.
fn typed(mut whole: &str) -> String {
    while let Some((_, rest)) = whole.strip_prefix(FILE[0]).and_then(|inside| inside.split_once(FILE[1])) {
        whole = rest.trim_start_matches('\n');
    }
    let skill = whole.strip_prefix(SKILL[0]).and_then(|inside| inside.split_once("\" location=\""));
    match skill.and_then(|(name, inside)| Some((name, inside.rsplit_once(SKILL[1])?.1))) {
        Some((name, typed)) => format!("/skill:{name} {}", typed.trim()).trim_end().to_owned(),
        None => whole.to_owned(),
    }
}

fn assistant(message: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [content, model, usage, stop, error] =
        pick(message, [b"content", b"model", b"usage", b"stopReason", b"errorMessage"]);
    let stop = text(stop).map_or(&b""[..], Text::raw);
    for block in content.into_iter().flat_map(Value::elements) {
        let [kind, said, thought, id, name, arguments] =
            pick(block, [b"type", b"text", b"thinking", b"id", b"name", b"arguments"]);
        match text(kind).map_or(&b""[..], Text::raw) {
            b"text" => text(said).into_iter().for_each(|said| writer.reply(stamp, said, stop != b"toolUse")),
            b"thinking" => writer.thinking(stamp, text(thought)),
            // Calls of a message that was not completed are not made.
            b"toolCall" if matches!(stop, b"aborted" | b"error") => {}
            b"toolCall" => call(text(id), text(name), arguments.unwrap_or(Value::Null), stamp, writer),
            unknown => writer.seen.count_unknown(&format!("block:{}", String::from_utf8_lossy(unknown)), 1),
        }
    }
    if let Some(Value::Text(whole)) = content {
        writer.reply(stamp, whole, true);
    }
    if let Some(usage) = usage.filter(|_| writer.wants_text) {
        let counts = pick(usage, [b"input", b"output", b"cacheRead", b"cacheWrite"]);
        let [input, output, cache_read, cache_creation] = counts.map(|count| number(count).unwrap_or(0));
        let model = text(model).map(|model| one_line(&model.decode(), MAX_NAME_CHARS)).unwrap_or_default();
        if [input, output, cache_read, cache_creation] != [0; 4] {
            let usage = Usage { model, input, output, cache_read, cache_creation, ..Usage::default() };
            writer.usage(stamp, None, || usage);
        }
    }
    match stop {
        b"aborted" => writer.interruption(stamp),
        b"error" => notice(error, stamp, writer),
        _ => {}
    }
}

fn call(
    id: Option<Text<'_>>,
    name: Option<Text<'_>>,
    parameters: Value<'_>,
    stamp: &Stamp<'_>,
    writer: &mut ItemWriter<'_>,
) {
    let tool = text(parameters.get(b"tool")).filter(|_| name.is_some_and(|name| name.raw() == PROXY.as_bytes()));
    match tool.map(Text::decode) {
        Some(tool) => writer.call_as(Act::Mcp, stamp, id, &tool, parameters),
        None => writer.call(stamp, id, name, parameters),
    }
}

fn result(message: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [id, content, is_error] = pick(message, [b"toolCallId", b"content", b"isError"]);
    let id = text(id);
    if !writer.note_result(id) || !writer.wants_text {
        return;
    }
    let mut output = Output::parse(content);
    let end = output.last_text().map(|last| last.trim_end().tail(END_BYTES).decode().into_owned()).unwrap_or_default();
    let outcome = match is_error.is_some_and(Value::is_true) {
        false => Outcome::Ok,
        true if STOPPED.iter().any(|stopped| end.ends_with(stopped)) => Outcome::Interrupted,
        true if end.contains(BLOCKED) => Outcome::Denied,
        true => Outcome::Failed,
    };
    let code = end.rsplit_once(EXITED).filter(|_| outcome == Outcome::Failed).and_then(|(_, code)| code.parse().ok());
    if code.is_some() {
        output.cut_at(EXITED.as_bytes());
    }
    output.facts = ResultFacts { exit_code: code, ..ResultFacts::default() };
    if writer.tool_of(id).is_some_and(|tool| Pi::TOOLS.act(tool) == Act::Ask) && outcome == Outcome::Ok {
        writer.answer(stamp, &output.whole());
    }
    writer.result(stamp, id, outcome, &output);
}

/// A command that a person ran.
fn command(message: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [command, output, code, cancelled] = pick(message, [b"command", b"output", b"exitCode", b"cancelled"]);
    let decoded = |value| text(value).map(Text::decode).unwrap_or_default();
    writer.persons_command(stamp, &decoded(command));
    if cancelled.is_some_and(Value::is_true) {
        return writer.persons_command_stopped(stamp);
    }
    let code = number(code).and_then(|code| i32::try_from(code).ok());
    writer.persons_output(stamp, &decoded(output), code);
}

/// A compaction, as an entry or as a message. Nothing says whether a person asked for it.
fn compaction(entry: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    writer.compaction(stamp, "", number(entry.get(b"tokensBefore")), None);
    summary(entry, stamp, writer);
}

fn summary(entry: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    if let Some(summary) = text(entry.get(b"summary")).filter(|_| writer.wants_text) {
        writer.summary(stamp, &summary.decode());
    }
}

fn notice(said: Option<Value<'_>>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    if writer.wants_text {
        writer.notice(stamp, &words(said));
    }
}

#[cfg(test)]
mod tests;
