//! Transcripts of Factory Droid: JSON Lines of whole messages with Claude's content blocks.
//!
//! A user's message contains what was typed, results, and context for the model; `visibility` marks the messages that
//! only the model (`llm_only`) or only the person (`user_only`) sees.

use crate::filter::result::Output;
use crate::filter::{MAX_NAME_CHARS, one_line};
use crate::item::{Act, Agent, Link, Outcome, TitleSource, Usage};
use crate::record::Timestamp;

use super::claude::{Author, Block, Delivery, Hint, PromptParts, QUESTION_TOOL, judge};
use super::codex::{apply_patch, patch_of};
use super::format::{Format, Layout};
use super::item_writer::{ItemWriter, Stamp};
use super::location::{self, Kind, Located};
use super::tools::Tools;
use baton_redaction::raw_json::{Fields, Text, Value};

/// Records without conversation.
const SILENT: &[&[u8]] = &[b"todo_state"];
/// Blocks of the agent that are no conversation.
const SILENT_BLOCKS: &[&[u8]] = &[b"image", b"document"];
/// The title of a session without one.
const UNTITLED: &[u8] = b"New Session";
/// Text before the git branch, in the context at the beginning.
const BRANCH: &[u8] = b"% git rev-parse --abbrev-ref HEAD\\n";
/// Who sends messages in a person's name.
const PROGRAMS: &[&[u8]] =
    &[b"automation", b"readiness-remediation", b"readiness-evaluation", b"wiki-generation", b"wiki-ci-setup"];
/// Beginning of a text about a command that a person ran, which is an object.
const PERSONS_COMMAND: &[u8] = b"{\\\"type\\\":\\\"bash_result\\\"";
/// Element around text for the model, besides those of Claude Code.
const NOTIFICATION: [&str; 2] = ["<system-notification>", "</system-notification>"];
/// Beginning of text for the model without an element.
const REMINDER: &str = "IMPORTANT: TodoWrite was not called yet.";
/// Text around a skill's name, in a message that only the person sees; what was typed follows.
const SKILL: [&str; 2] = ["Skill \"", "\" activated:"];
/// Text between the names of a server and of its tool.
const SERVER_END: &str = "___";
const EXECUTE: &str = "Execute";
const PATCH: &str = "ApplyPatch";
/// Text before the exit code of a command: at the beginning if it failed, on the last line otherwise.
const FAILED: &str = "Command failed (exit code: ";
const EXITED: &str = "[Process exited with code ";
/// Bytes of a result that are searched for how it ended.
const LEAD_BYTES: usize = 160;
/// Bytes of the end of a command's output that are searched for its exit code.
const END_BYTES: usize = 200;
/// Words of results of calls that a person stopped or refused.
const STOPPED: &[&str] = &["cancelled by user", "canceled by user", "cancelled by the user", "aborted by user"];
const REFUSED: &[&str] =
    &["rejected by user", "rejected by the user", "denied by user", "user rejected", "user denied"];

/// The format of Factory Droid.
pub(super) enum Droid {}

impl Format for Droid {
    const LAYOUT: Layout = Layout {
        folders: &["sessions"],
        // `<slug>/`
        depth: 2,
        ..Layout::LINES
    };
    const TOOLS: Tools = Tools {
        acts: &[
            (Act::Shell, EXECUTE),
            (Act::Edit, "Create ApplyPatch"),
            (Act::Fetch, "FetchUrl"),
            (Act::Plan, "ExitSpecMode EnterSpecMode"),
            (Act::Ask, "AskUser"),
        ],
        parameters: &[
            ("old_str", "old_string"),
            ("new_str", "new_string"),
            ("changes", "edits"),
            ("directory_path", "path"),
            ("folder", "path"),
        ],
    };

    fn classify(rel_path: &str) -> Option<Located> {
        let (folder, name) = rel_path.rsplit_once('/').unwrap_or(("-", rel_path));
        let stem = name.strip_suffix(".jsonl").filter(|stem| !stem.starts_with('.'))?;
        if matches!(folder, "" | "." | "..") || folder.contains('/') {
            return None;
        }
        // Only the records show which of them are subagents'.
        Some(Located { agent: Agent::Droid, session: location::session_of(stem)?, kind: Kind::Main })
    }

    fn record(mut fields: Fields<'_>, writer: &mut ItemWriter<'_>) -> Option<usize> {
        let (mut kind, mut at, mut id, mut parent, mut message, mut visibility) =
            (&b""[..], None, None, None, None, None);
        for (key, value) in fields.by_ref() {
            match key.raw() {
                b"type" => kind = value.text().map_or(&b""[..], Text::raw),
                b"timestamp" => at = value.text(),
                b"id" => id = value.text(),
                b"parentId" => parent = value.text(),
                b"message" => message = Some(value),
                b"visibility" => visibility = value.text(),
                _ => {}
            }
        }
        let end = fields.end()?;
        let whole = fields.object().unwrap_or(Value::Null);
        let at = at.and_then(|text| Timestamp::parse(&text.decode()));
        let mut stamp = Stamp { at, uuid: id.filter(|_| kind == b"message"), ..Stamp::default() };
        let mut message = Message::read(message.unwrap_or(Value::Null));
        message.visibility = visibility.map_or(message.visibility, Text::raw);
        match message.role {
            b"assistant" => stamp.message = stamp.uuid,
            _ => stamp.below = parent.filter(|parent| !parent.is_blank()),
        }
        writer.begin(&stamp);
        writer.seen.count_type(kind);
        match kind {
            b"session_start" => session_start(whole, &stamp, writer),
            b"message" => message.emit(&stamp, writer),
            b"compaction_state" => compaction(whole, &stamp, writer),
            b"agent_turn_outcome" => turn_outcome(whole, &stamp, writer),
            silent if SILENT.contains(&silent) => {}
            unknown => writer.seen.count_unknown(&String::from_utf8_lossy(unknown), 1),
        }
        writer.end(&stamp);
        Some(end)
    }
}

/// Identity of the session.
fn session_start(start: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let (mut title, mut first_prompt, mut by_person) = (None, None, false);
    let is_title = |text: &Text<'_>| !text.is_blank() && text.raw() != UNTITLED;
    for (key, value) in start.fields() {
        match (key.raw(), value.text()) {
            (b"cwd", Some(cwd)) => writer.cwd(stamp, cwd),
            (b"version", Some(version)) => writer.seen.see_version(version.raw()),
            (b"parent", Some(parent)) => writer.link(stamp, Link::ForkedFrom, parent),
            (b"callingSessionId", Some(caller)) => writer.session(caller),
            (b"sessionTitle", text) => title = text.filter(is_title),
            (b"title", text) => first_prompt = text.filter(is_title),
            (b"isSessionTitleManuallySet", _) => by_person = value.is_true(),
            _ => {}
        }
    }
    let source = if by_person { TitleSource::Person } else { TitleSource::Model };
    let title = title.or(first_prompt).map(Text::decode);
    title.into_iter().for_each(|title| writer.title(stamp, source, &title));
}

/// A compaction, with its summary.
fn compaction(state: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    // Neither trigger nor tokens before are recorded.
    writer.compaction(stamp, "", None, None);
    let older = state.get(b"summary");
    let summary = state.get(b"summaryText").or(older.and_then(|summary| summary.get(b"body"))).or(older);
    if let Some(summary) = summary.and_then(Value::text).filter(|_| writer.wants_text) {
        writer.summary(stamp, &summary.decode());
    }
}

fn turn_outcome(outcome: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let reason = outcome.get(b"reason").and_then(Value::text).map_or(&b""[..], Text::raw);
    if [&b"cancel"[..], b"interrupt", b"abort"].into_iter().any(|start| reason.starts_with(start)) {
        writer.interruption(stamp);
    }
}

/// The relevant fields of a message.
struct Message<'r> {
    role: &'r [u8],
    visibility: &'r [u8],
    content: Value<'r>,
    model: Option<Text<'r>>,
    by_hook: bool,
    by_automation: bool,
}

impl<'r> Message<'r> {
    fn read(message: Value<'r>) -> Self {
        let mut read = Self {
            role: b"",
            visibility: b"",
            content: Value::Null,
            model: None,
            by_hook: false,
            by_automation: false,
        };
        for (key, value) in message.fields() {
            let text = value.text().filter(|text| !text.is_blank());
            match key.raw() {
                b"role" => read.role = text.map_or(&b""[..], Text::raw),
                b"visibility" => read.visibility = text.map_or(&b""[..], Text::raw),
                b"content" => read.content = value,
                b"modelId" => read.model = text,
                b"hookEventName" => read.by_hook = true,
                b"userMessageSource" => {
                    read.by_automation = text.is_some_and(|source| PROGRAMS.contains(&source.raw()));
                }
                _ => {}
            }
        }
        read
    }

    fn emit(&self, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
        match (self.visibility, self.role) {
            (b"llm_only", _) => {}
            (b"user_only", _) => Block::each(self.content, |_, block| for_person(block, stamp, writer)),
            _ if self.by_hook => {}
            (_, b"assistant") => self.assistant(stamp, writer),
            (_, b"user" | b"tool") => self.user(stamp, writer),
            (_, b"system") => {}
            (_, role) => writer.seen.count_unknown(&format!("role:{}", String::from_utf8_lossy(role)), 1),
        }
    }

    fn assistant(&self, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
        if let Some(model) = self.model.filter(|_| writer.wants_text) {
            let model = one_line(&model.decode(), MAX_NAME_CHARS);
            if model != writer.model() {
                writer.usage(stamp, None, || Usage { model, ..Usage::default() });
            }
        }
        Block::each(self.content, |_, block| match block.kind {
            b"text" => block.text.into_iter().for_each(|text| writer.reply(stamp, text, true)),
            b"thinking" => writer.thinking(stamp, block.thinking),
            b"redacted_thinking" => writer.thinking(stamp, None),
            b"tool_use" => call(block, stamp, writer),
            b"tool_result" => result(block, stamp, writer),
            kind => other_block(kind, writer),
        });
    }

    fn user(&self, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
        let mut typed = PromptParts::default();
        Block::each(self.content, |value, block| match block.kind {
            b"text" => block.text.into_iter().for_each(|text| {
                branch_in(text).into_iter().for_each(|branch| writer.branch(stamp, branch));
                if !persons_command(text, stamp, writer) {
                    typed.text(without_notification(text));
                }
            }),
            b"image" | b"document" => typed.block(value, block),
            b"tool_result" => result(block, stamp, writer),
            kind => other_block(kind, writer),
        });
        let author = if self.by_automation { Author::Harness } else { Author::Unknown };
        typed.emit(author, Delivery::Typed, stamp, writer);
    }
}

/// Reads a command that a person ran, and what it printed. Returns false for any other text.
fn persons_command(text: Text<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) -> bool {
    #[derive(Default, serde::Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct Ran {
        command: String,
        stdout: String,
        stderr: String,
        exit_code: Option<i32>,
    }
    if !text.raw().starts_with(PERSONS_COMMAND) {
        return false;
    }
    let Ok(ran) = serde_json::from_str::<Ran>(&text.decode()) else { return false };
    let printed = [ran.stdout.trim_end(), ran.stderr.trim_end()].into_iter().filter(|printed| !printed.is_empty());
    writer.persons_command(stamp, &ran.command);
    writer.persons_output(stamp, &printed.collect::<Vec<_>>().join("\n"), ran.exit_code);
    true
}

/// A text that only the person sees: the call of a skill, or a notice.
fn for_person(block: &Block<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let Some(text) = block.text.map(Text::decode) else { return };
    let skill = text.trim().strip_prefix(SKILL[0]).and_then(|rest| rest.split_once(SKILL[1]));
    match skill.map(|(name, typed)| (name, typed.trim())) {
        Some((name, typed)) if !typed.is_empty() => {
            writer.abandon_calls(stamp);
            writer.prompt(stamp, &format!("/{name} {typed}"));
        }
        _ => writer.notice(stamp, &text),
    }
}

fn call(block: &Block<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let (name, input) = (block.name.map(Text::decode).unwrap_or_default(), block.input.unwrap_or(Value::Null));
    match &*name {
        PATCH => {
            if writer.note_call(block.id, &name) && writer.wants_text {
                apply_patch(block.id, patch_of(input).as_deref().unwrap_or(""), stamp, writer);
            }
        }
        server if server.contains(SERVER_END) => writer.call_as(Act::Mcp, stamp, block.id, &name, input),
        _ => writer.call(stamp, block.id, block.name, input),
    }
}

fn result(block: &Block<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    if !writer.note_result(block.answers) || !writer.wants_text {
        return;
    }
    let mut output = Output::parse(block.content);
    let tool = writer.tool_of(block.answers).map(|tool| if tool == "AskUser" { QUESTION_TOOL } else { tool });
    if tool == Some(EXECUTE) {
        output.facts.exit_code = exit_code(&output);
    }
    let lead = output.head(LEAD_BYTES).to_lowercase();
    let says = |words: &[&str]| block.is_error && words.iter().any(|word| lead.contains(word));
    let mut verdict = judge(tool, block.is_error, &output, Hint::None);
    if verdict.outcome == Outcome::Failed && output.facts.exit_code.is_none() {
        if says(STOPPED) {
            verdict.outcome = Outcome::Interrupted;
        } else if says(REFUSED) {
            verdict.outcome = Outcome::Denied;
        }
    }
    for part in block.answers.map(|id| writer.parts_of(id)).unwrap_or_default() {
        writer.result(stamp, Some(Text::new(part.as_bytes())), verdict.outcome, &output);
    }
    writer.result(stamp, block.answers, verdict.outcome, &output);
    verdict.answer.into_iter().for_each(|answer| writer.answer(stamp, &answer));
}

/// The exit code of a command, if its output has it.
fn exit_code(output: &Output<'_>) -> Option<i32> {
    let number = |after: &str| after.split([')', ']']).next()?.trim().parse().ok();
    let lead = output.head(LEAD_BYTES);
    let failed = lead.lines().next().and_then(|line| line.split_once(FAILED)).and_then(|(_, after)| number(after));
    let end = output.last_text().map(|text| text.trim_end().tail(END_BYTES).decode());
    failed.or_else(|| number(end?.lines().next_back()?.strip_prefix(EXITED)?))
}

/// The text behind what Droid wrote for the model at its beginning.
fn without_notification(text: Text<'_>) -> Text<'_> {
    let head = text.head(LEAD_BYTES).decode();
    match head.trim_start() {
        lead if lead.starts_with(NOTIFICATION[0]) => {
            text.after(NOTIFICATION[1].as_bytes()).map_or(Text::new(b""), without_notification)
        }
        lead if lead.starts_with(REMINDER) => Text::new(b""),
        _ => text,
    }
}

/// The git branch in the context that Droid collects at the beginning.
fn branch_in(text: Text<'_>) -> Option<Text<'_>> {
    let context = text.raw().starts_with(b"<system-reminder>").then_some(text)?.before(b"</system-reminder>");
    let branch = context.after(BRANCH)?.before(b"\\n");
    Some(branch).filter(|branch| branch.raw() != b"HEAD" && !branch.raw().contains(&b' '))
}

fn other_block(kind: &[u8], writer: &mut ItemWriter<'_>) {
    if !SILENT_BLOCKS.contains(&kind) {
        writer.seen.count_unknown(&format!("block:{}", String::from_utf8_lossy(kind)), 1);
    }
}

#[cfg(test)]
mod tests;
