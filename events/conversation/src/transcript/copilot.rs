//! Transcripts of GitHub Copilot CLI: JSON Lines of `{type, data, id, timestamp, parentId}`, one per event.
//!
//! A subagent's events are in its parent's file and name the call that started it. A rewind names the prompt that it
//! takes back, so each prompt is recorded as standing below itself.

use std::borrow::Cow;

use crate::filter::media::Media;
use crate::filter::result::{Output, ResultFacts};
use crate::filter::{MAX_NAME_CHARS, one_line};
use crate::hash::Mark;
use crate::item::{Act, Agent, Outcome, TitleSource, Usage};
use crate::record::Timestamp;

use super::codex::{apply_patch, number, patch_of, pick, text};
use super::cursor::Queued;
use super::format::{Format, Layout};
use super::item_writer::{ItemWriter, Stamp};
use super::location::{self, Kind, Located};
use super::tools::Tools;
use baton_redaction::raw_json::{Fields, Text, Value};
use baton_words::WordList;

/// Events without conversation.
static SILENT: WordList = WordList::new(crate::WORDS, "copilot events");
/// Beginnings of the errors of calls that were refused.
static REFUSALS: WordList = WordList::new(crate::WORDS, "copilot refusals");
/// Parts of the errors of calls that were not completed.
static INTERRUPTIONS: WordList = WordList::new(crate::WORDS, "copilot interruptions");

/// File of a session, in its folder.
const EVENTS: &str = "events";
const PATCH: &str = "apply_patch";
/// The call that ends the agent's work with a last text for the person.
const LAST_CALL: &str = "task_complete";
/// Tag around messages of the harness.
const NOTIFICATION: &str = "system_notification";
/// Tags around text for the model at the end of a prompt.
const REMINDERS: [&str; 2] = ["system_reminder", "reminder"];
/// Beginning of another session's message, as the model receives it.
const FOREIGN: &[u8] = b"<cross_session_message";
/// Text before a person's answer to a question.
const ANSWERED: [&str; 2] = ["User responded: ", "User selected: "];
/// Marks that the tokens of the next message have been counted, and that some written tokens have been.
const REQUEST: &[u8] = b"request";
const COUNTED: &[u8] = b"counted";
/// Bytes of an error that are searched for how the call ended.
const LEAD_BYTES: usize = 200;

/// The format of Copilot CLI.
pub(super) enum Copilot {}

impl Format for Copilot {
    const LAYOUT: Layout = Layout {
        folders: &["session-state"],
        // `<session>/`
        depth: 2,
        passed_over: &["checkpoints", "files", "research", "rewind-snapshots", "rewind-file-snapshots"],
        ..Layout::LINES
    };
    const TOOLS: Tools = Tools {
        acts: &[
            (Act::Shell, "powershell local_shell"),
            (Act::Edit, "edit create str_replace str_replace_editor"),
            (
                Act::Read,
                "view read_bash write_bash stop_bash list_bash read_powershell write_powershell stop_powershell \
                 list_powershell read_agent list_agents",
            ),
            (Act::Search, "grep rg glob"),
            (Act::Plan, "exit_plan_mode"),
            (Act::Todo, "update_todo sql"),
            (Act::Ask, "ask_user"),
            (Act::Spawn, "task"),
        ],
        parameters: &[
            ("old_str", "old_string"),
            ("new_str", "new_string"),
            ("file_text", "content"),
            ("agent_type", "subagent_type"),
        ],
    };

    /// `<session>/events.jsonl`, or `<session>.jsonl` in old versions.
    fn classify(rel_path: &str) -> Option<Located> {
        let stem = rel_path.strip_suffix(".jsonl")?;
        let session = match stem.split_once('/') {
            Some((folder, EVENTS)) => folder,
            Some(_) => return None,
            None => stem,
        };
        let session = Some(session).filter(|name| !name.starts_with('.')).and_then(location::session_of)?;
        Some(Located { agent: Agent::Copilot, session, kind: Kind::Main })
    }

    fn record(mut fields: Fields<'_>, writer: &mut ItemWriter<'_>) -> Option<usize> {
        let (mut kind, mut at, mut id, mut aside, mut data) = (&b""[..], None, None, false, Value::Null);
        for (key, value) in fields.by_ref() {
            match key.raw() {
                b"type" => kind = value.text().map_or(&b""[..], Text::raw),
                b"timestamp" => at = value.text(),
                b"id" => id = value.text().filter(|id| !id.is_blank()),
                b"agentId" => aside = value.text().is_some_and(|agent| !agent.is_blank()),
                b"data" => data = value,
                _ => {}
            }
        }
        let end = fields.end()?;
        let [message, parent_call] = pick(data, [b"messageId", b"parentToolCallId"]);
        let stamp = Stamp {
            at: at.and_then(|text| Timestamp::parse(&text.decode())),
            uuid: id,
            message: text(message).filter(|_| kind == b"assistant.message"),
            below: id.filter(|_| kind == b"user.message"),
            sidechain: aside || parent_call.is_some(),
        };
        writer.begin(&stamp);
        writer.seen.count_type(kind);
        event(kind, data, &stamp, writer);
        writer.end(&stamp);
        Some(end)
    }
}

fn event(kind: &[u8], data: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    match kind {
        b"session.start" | b"session.resume" => {
            text(data.get(b"copilotVersion")).into_iter().for_each(|version| writer.seen.see_version(version.raw()));
            context(data.get(b"context").unwrap_or(Value::Null), stamp, writer);
        }
        b"session.context_changed" => context(data, stamp, writer),
        b"session.title_changed" => {
            let title = text(data.get(b"title")).map(Text::decode).unwrap_or_default();
            writer.title(stamp, TitleSource::Model, &title);
        }
        b"user.message" => user(data, stamp, writer),
        b"assistant.message" => assistant(data, stamp, writer),
        b"assistant.reasoning" => thinking([b"reasoning", b"message"], text(data.get(b"content")), stamp, writer),
        b"tool.execution_start" => call(data, stamp, writer),
        b"tool.execution_complete" => result(data, stamp, writer),
        b"tool.user_requested" => {
            let command = text(data.get(b"arguments").and_then(|it| it.get(b"command"))).map(Text::decode);
            command.into_iter().for_each(|command| writer.persons_command(stamp, &command));
        }
        b"permission.completed" => permission(data, stamp, writer),
        b"session.task_complete" => last_text([b"end", b"last call"], data.get(b"summary"), stamp, writer),
        b"session.compaction_complete" => compaction(data, stamp, writer),
        b"session.snapshot_rewind" => rewind(data, stamp, writer),
        b"session.usage_record" => request(data.get(b"usage").unwrap_or(Value::Null), stamp, writer),
        b"session.shutdown" => totals(data, stamp, writer),
        b"abort" => writer.interruption(stamp),
        b"session.error" => notice(data.get(b"message"), stamp, writer),
        b"system.notification" => notice(data.get(b"content"), stamp, writer),
        silent if SILENT.has_bytes(silent) => {}
        unknown => writer.seen.count_unknown(&String::from_utf8_lossy(unknown), 1),
    }
}

/// Where the session works.
fn context(context: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [cwd, branch, repository, host] = pick(context, [b"cwd", b"branch", b"repository", b"repositoryHost"]);
    if let Some(repository) = text(repository).filter(|_| writer.seen.cwd.is_none()) {
        let host = text(host).map_or(&b"github.com"[..], Text::raw);
        writer.remote(&Text::new(&[b"https://", host, b"/", repository.raw()].concat()));
    }
    text(cwd).into_iter().for_each(|cwd| writer.cwd(stamp, cwd));
    text(branch).into_iter().for_each(|branch| writer.branch(stamp, branch));
}

/// A message to the agent. Only those without a source, or from the user, were typed; a subagent's is its task, which
/// the call that started it contains.
fn user(data: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [content, given, attachments, source, goes_on] =
        pick(data, [b"content", b"transformedContent", b"attachments", b"source", b"isAutopilotContinuation"]);
    let is_persons = text(source).is_none_or(|source| matches!(source.raw(), b"" | b"user"));
    if !is_persons || stamp.sidechain || goes_on.is_some_and(Value::is_true) {
        return;
    }
    let Some(content) = text(content) else { return };
    let is_foreign = |text: Text<'_>| text.after(FOREIGN).is_some();
    if content.raw().starts_with(format!("<{NOTIFICATION}>").as_bytes())
        || (text(given).is_some_and(is_foreign) && !is_foreign(content))
    {
        return notice(Some(Value::Text(content)), stamp, writer);
    }
    writer.abandon_calls(stamp);
    let words = content.decode();
    let words = REMINDERS.iter().fold(&*words, |words, tag| without_tail(words, tag));
    if !words.trim().is_empty() {
        remember_prompt(stamp, writer);
        writer.prompt(stamp, words);
    }
    for picture in attachments.into_iter().flat_map(Value::elements).filter_map(Media::attached) {
        writer.wordless_prompt(stamp);
        writer.media(stamp, &picture.line());
    }
}

/// The text without an element at its end.
fn without_tail<'w>(words: &'w str, tag: &str) -> &'w str {
    let is_closed = words.trim_end().ends_with(&format!("</{tag}>"));
    words.find(&format!("<{tag}>")).filter(|_| is_closed).map_or(words, |at| &words[..at])
}

/// Remembers a prompt, because a rewind may name it among other events. This format has no queue, so the cursor's queue
/// is used.
fn remember_prompt(stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    if let Some(id) = stamp.uuid {
        let (mark, line) = (Mark::digest(id.raw()), writer.cursor.line);
        writer.cursor.queue.push(Queued { mark, line });
    }
}

/// A rewind: the event that it names, and all after it, are taken back.
fn rewind(data: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [up_to, ids] = pick(data, [b"upToEventId", b"eventIds"]);
    text(up_to).into_iter().for_each(|id| writer.continue_below(stamp, id));
    for id in ids.into_iter().flat_map(Value::elements).filter_map(Value::text) {
        let mark = Mark::digest(id.raw());
        if writer.cursor.queue.take_first(|prompt| prompt.mark == mark).is_some() {
            writer.continue_below(stamp, id);
        }
    }
}

/// A message of the model. Its calls follow as events of their own.
fn assistant(data: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [content, reasoning, requests, model, output] =
        pick(data, [b"content", b"reasoningText", b"toolRequests", b"model", b"outputTokens"]);
    thinking([b"message", b"reasoning"], text(reasoning), stamp, writer);
    if let Some(content) = text(content) {
        let calls = requests.is_some_and(|requests| requests.elements().next().is_some());
        writer.reply(stamp, content, !calls);
    }
    let is_counted = writer.cursor.said.take(Mark::digest(REQUEST));
    let output = number(output).filter(|_| !is_counted);
    if output.is_some() {
        writer.cursor.remember_said(Mark::digest(COUNTED));
    }
    if writer.wants_text && (model.is_some() || output.is_some()) {
        let model = text(model).map_or_else(|| writer.model().to_owned(), name_of_model);
        let output = output.unwrap_or(0);
        writer.usage(stamp, None, || Usage { model, output, ..Usage::default() });
    }
}

/// The tokens of a request, before the message that answers it. What was read is in the session's sums.
fn request(usage: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [model, output] = pick(usage, [b"model", b"outputTokens"]);
    let Some(output) = number(output) else { return };
    writer.cursor.remember_said(Mark::digest(REQUEST));
    writer.cursor.remember_said(Mark::digest(COUNTED));
    if writer.wants_text {
        let model = text(model).map_or_else(|| writer.model().to_owned(), name_of_model);
        let usage = Usage { model, output, ..Usage::default() };
        writer.usage(&Stamp { message: stamp.uuid, ..*stamp }, None, || usage);
    }
}

fn name_of_model(model: Text<'_>) -> String {
    one_line(&model.decode(), MAX_NAME_CHARS)
}

/// True if the other kind of event did not say this already.
fn is_news([own, other]: [&[u8]; 2], said: Text<'_>, writer: &mut ItemWriter<'_>) -> bool {
    let mark = |kind: &[u8]| Mark::digest(&[kind, said.raw()].join(&0));
    let is_new = !writer.cursor.said.take(mark(other));
    if is_new {
        writer.cursor.said.push(mark(own));
    }
    is_new
}

/// The model's thinking, which may be an event of its own and a part of the message.
fn thinking(kinds: [&[u8]; 2], said: Option<Text<'_>>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    if let Some(said) = said.filter(|said| !said.is_blank()).filter(|said| is_news(kinds, *said, writer)) {
        writer.thinking(stamp, Some(said));
    }
}

/// What the agent tells the person at the end of its work: a call's parameter and an event.
fn last_text(kinds: [&[u8]; 2], summary: Option<Value<'_>>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    if let Some(said) = text(summary).filter(|said| !said.is_blank()).filter(|said| is_news(kinds, *said, writer)) {
        writer.reply(stamp, said, true);
    }
}

fn call(data: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [id, name, parameters, server, tool] =
        pick(data, [b"toolCallId", b"toolName", b"arguments", b"mcpServerName", b"mcpToolName"]);
    let (id, parameters) = (text(id), parameters.unwrap_or(Value::Null));
    let name = text(name).map(Text::decode).unwrap_or_default();
    if let (Some(server), Some(tool)) = (text(server), text(tool)) {
        let name = format!("mcp__{}__{}", server.decode(), tool.decode());
        return writer.call_as(Act::Mcp, stamp, id, &name, parameters);
    }
    match &*name {
        PATCH => {
            if writer.note_call(id, &name) && writer.wants_text {
                apply_patch(id, patch_of(parameters).as_deref().unwrap_or(""), stamp, writer);
            }
        }
        LAST_CALL => {
            last_text([b"last call", b"end"], parameters.get(b"summary"), stamp, writer);
            writer.call(stamp, id, Some(Text::new(name.as_bytes())), parameters);
        }
        _ => writer.call(stamp, id, Some(Text::new(name.as_bytes())), parameters),
    }
}

/// What a person or a rule decided about a call.
fn permission(data: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [id, decision] = pick(data, [b"toolCallId", b"result"]);
    let [kind, feedback] = decision.map_or([None, None], |decision| pick(decision, [b"kind", b"feedback"]));
    if text(kind).is_some_and(|kind| kind.raw().starts_with(b"denied")) {
        text(id).into_iter().for_each(|id| writer.cursor.said.push(refused(id)));
        text(feedback).into_iter().for_each(|feedback| writer.answer(stamp, &feedback.decode()));
    }
}

/// Fingerprint of a call that was refused.
fn refused(id: Text<'_>) -> Mark {
    Mark::digest(&[b"refused", id.raw()].join(&0))
}

fn result(data: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let names: [&[u8]; 6] = [b"toolCallId", b"success", b"result", b"error", b"shellExecution", b"isUserRequested"];
    let [id, success, result, error, shell, persons] = pick(data, names);
    let id = text(id);
    let content = result.and_then(|result| result.get(b"content"));
    let code = shell.and_then(|shell| shell_code(shell.get(b"exitCode")));
    if persons.is_some_and(Value::is_true) {
        let printed = Printed::parse(content);
        let words = text(printed.content).map(Text::decode).unwrap_or_default();
        return writer.persons_output(stamp, &words, code.or(printed.code));
    }
    let is_refused = id.is_some_and(|id| writer.cursor.said.take(refused(id)));
    if !writer.note_result(id) || !writer.wants_text {
        return;
    }
    let act = writer.tool_of(id).map(|tool| Copilot::TOOLS.act(tool));
    let said = error.map(|error| error.get(b"message").unwrap_or(error));
    let printed = match act {
        Some(Act::Shell) | None => Printed::parse(said.or(content)),
        _ => Printed { content: said.or(content), code: None, task: None },
    };
    let mut output = Output::parse(printed.content);
    let outcome = match success.is_none_or(Value::is_true) {
        true => Outcome::Ok,
        false => failure(is_refused, error, &output),
    };
    output.facts = ResultFacts { exit_code: code.or(printed.code), background: printed.task, ..ResultFacts::default() };
    if act == Some(Act::Ask) && outcome == Outcome::Ok {
        let whole = output.whole();
        let answer = ANSWERED.iter().find_map(|before| whole.strip_prefix(before)).unwrap_or(&whole);
        writer.answer(stamp, answer);
    }
    for part in id.map(|id| writer.parts_of(id)).unwrap_or_default() {
        writer.result(stamp, Some(Text::new(part.as_bytes())), outcome, &output);
    }
    writer.result(stamp, id, outcome, &output);
}

/// How a call that did not succeed ended.
fn failure(is_refused: bool, error: Option<Value<'_>>, output: &Output<'_>) -> Outcome {
    let code = error.and_then(|error| text(error.get(b"code"))).map_or(&b""[..], Text::raw);
    let lead = output.head(LEAD_BYTES);
    let has = |words: &WordList| words.iter().any(|word| lead.contains(word));
    match code {
        _ if is_refused => Outcome::Denied,
        b"denied" | b"rejected" => Outcome::Denied,
        b"cancelled" | b"canceled" | b"aborted" => Outcome::Interrupted,
        _ if has(&REFUSALS) => Outcome::Denied,
        _ if has(&INTERRUPTIONS) => Outcome::Interrupted,
        _ => Outcome::Failed,
    }
}

fn shell_code(value: Option<Value<'_>>) -> Option<i32> {
    let Value::Number(digits) = value? else { return None };
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// What a command printed, without the line that the harness adds.
struct Printed<'r> {
    content: Option<Value<'r>>,
    /// The exit code in that line.
    code: Option<i32>,
    /// Name of the shell in which the command still runs.
    task: Option<String>,
}

impl<'r> Printed<'r> {
    /// Reads `… <shellId: 3 completed with exit code 1>`, and `<exited with exit code 1>` of old versions.
    fn parse(content: Option<Value<'r>>) -> Self {
        Self::read(content).unwrap_or(Self { content, code: None, task: None })
    }

    fn read(content: Option<Value<'r>>) -> Option<Self> {
        let printed = text(content)?.trim_end().raw();
        let start = memchr::memrchr(b'<', printed)?;
        let line = std::str::from_utf8(printed[start..].strip_prefix(b"<")?.strip_suffix(b">")?).ok()?;
        let code = line.rsplit_once("exit code ").and_then(|(_, code)| code.trim().parse().ok());
        let shell = line.split_once("shellId: ").map(|(_, rest)| rest);
        let shell = shell.map(|rest| rest.chars().take_while(char::is_ascii_alphanumeric).collect());
        let runs = line.contains("running") || line.starts_with("command started in ");
        let task = shell.filter(|_| code.is_none() && runs);
        if code.is_none() && task.is_none() {
            return None;
        }
        Some(Self { content: Some(Value::Text(Text::new(&printed[..start]))), code, task })
    }
}

fn compaction(data: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let names: [&[u8]; 5] =
        [b"success", b"trigger", b"preCompactionTokens", b"postCompactionTokens", b"summaryContent"];
    let [success, trigger, before, after, summary] = pick(data, names);
    if !success.is_none_or(Value::is_true) || writer.is_subagent_record(stamp) {
        return;
    }
    let trigger = text(trigger).map_or(Cow::Borrowed(""), Text::decode);
    writer.compaction(stamp, &trigger, number(before), number(after));
    if let Some(summary) = text(summary).filter(|_| writer.wants_text) {
        writer.summary(stamp, &summary.decode());
    }
}

/// The session's sums of tokens by model, repeated at each end of the session. What was written counts here only if
/// neither messages nor requests say it.
fn totals(data: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    if !writer.wants_text {
        return;
    }
    let is_counted = writer.cursor.said.contains(Mark::digest(COUNTED));
    for (model, metrics) in data.get(b"modelMetrics").into_iter().flat_map(Value::fields) {
        let Some(usage) = metrics.get(b"usage") else { continue };
        let counts = pick(usage, [b"inputTokens", b"cacheReadTokens", b"cacheWriteTokens", b"outputTokens"]);
        let [input, cache_read, cache_creation, output] = counts.map(|count| number(count).unwrap_or(0));
        let output = if is_counted { 0 } else { output };
        // Here the input includes tokens of the cache.
        let input = input.saturating_sub(cache_read).saturating_sub(cache_creation);
        let model_name = name_of_model(model);
        let usage = Usage { model: model_name, input, output, cache_read, cache_creation, ..Usage::default() };
        let sum = [b"totals-", model.raw()].concat();
        writer.usage(&Stamp { message: Some(Text::new(&sum)), ..*stamp }, None, || usage);
    }
}

/// A message of the harness, without the tag around it.
fn notice(said: Option<Value<'_>>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    if let Some(said) = text(said).filter(|_| writer.wants_text) {
        let said = said.decode();
        let inner = said.trim().strip_prefix(&format!("<{NOTIFICATION}>")).unwrap_or(&said);
        let inner = inner.trim().strip_suffix(&format!("</{NOTIFICATION}>")).unwrap_or(inner);
        writer.notice(stamp, inner.trim());
    }
}

#[cfg(test)]
mod tests;
