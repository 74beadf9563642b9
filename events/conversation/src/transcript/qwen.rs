//! Transcripts of Qwen Code ("chats"): JSON Lines whose records are linked by `parentUuid` as Claude Code's are, with
//! messages in the form of Gemini CLI, from which it was made.
//!
//! # Decisions
//!
//! - A prompt is read as it was shown to the person (`displayText`), because the message itself has the content of files
//!   and the context of hooks in it as well.
//! - A `rewind` stands below the record to which the person went back: it abandons what came since, as a second prompt
//!   there does.

use crate::filter::media::Media;
use crate::filter::one_line;
use crate::filter::result::ResultFacts;
use crate::item::{Act, Agent, Link, TitleSource, Usage};
use crate::record::{SessionId, Timestamp};

use super::codex::{number, pick, text};
use super::format::{Format, Layout};
use super::gemini::typed::{self, Typed};
use super::gemini::{Answer, answer, is_first, mark, texts};
use super::item_writer::{ItemWriter, Stamp, bounded_id};
use super::location::{Kind, Located};
use super::tools::Tools;
use baton_redaction::raw_json::{Fields, Found, Text, Value, first_object};

/// Longest name of a model, in characters.
const MAX_MODEL_CHARS: usize = 100;
/// Subtypes of messages that a person typed, besides those without one.
const TYPED: &[&[u8]] = &[b"mid_turn_user_message", b"realtime_message"];
/// System records without conversation, or with what other records have as well.
const SILENT: &[&[u8]] = &[
    b"agent_bootstrap",
    b"agent_launch_prompt",
    b"agent_retry",
    b"agent_session_ready",
    b"at_command",
    b"attribution_snapshot",
    b"background_task_completed",
    b"branch_checkpoint",
    b"file_history_snapshot",
    b"goal_state",
    b"goal_turn_end",
    b"omni_recall",
    b"parent_session",
    b"session_approval_mode",
    b"session_artifact_event",
    b"session_artifact_snapshot",
    b"session_execution_engine",
    b"session_model",
    b"session_notes",
    b"session_source",
    b"session_sources_snapshot",
    b"ui_telemetry",
    b"user_text_elements",
];

/// Mark that the service has counted tokens.
const COUNTED: &[u8] = b"counted";

/// The format of Qwen Code.
pub(super) enum Qwen {}

impl Format for Qwen {
    const LAYOUT: Layout = Layout {
        folders: &["projects"],
        // `<project>/subagents/<parent>/`
        depth: 4,
        ..Layout::LINES
    };
    const TOOLS: Tools = Tools {
        acts: &[
            (Act::Shell, "run_shell_command"),
            (Act::Edit, "edit replace write_file notebook_edit"),
            (Act::Read, "read_file read_many_files"),
            (Act::Search, "grep_search search_file_content glob list_directory tool_search lsp"),
            (Act::Fetch, "web_fetch web_search"),
            (Act::Plan, "enter_plan_mode exit_plan_mode"),
            (Act::Todo, "todo_write task_create task_update task_list task_get"),
            (Act::Ask, "ask_user_question"),
            (Act::Spawn, "agent task"),
        ],
        parameters: &[("absolute_path", "file_path")],
    };

    fn classify(rel_path: &str) -> Option<Located> {
        let (names, kind) = match *rel_path.split('/').collect::<Vec<_>>() {
            [project, "chats", name] => ([project, name], Kind::Main),
            [project, "subagents", parent, name] => {
                ([project, name], Kind::Subagent { parent: Some(SessionId::new(parent)?) })
            }
            _ => return None,
        };
        let [project, name] = names;
        if matches!(project, "" | "." | "..") || name.starts_with('.') {
            return None;
        }
        let session = SessionId::new(name.strip_suffix(".jsonl")?).filter(|id| !id.is_memo() && id.may_be_shown())?;
        Some(Located { agent: Agent::Qwen, session, kind })
    }

    fn record(mut fields: Fields<'_>, writer: &mut ItemWriter<'_>) -> Option<usize> {
        let (record, end) = Record::read(&mut fields)?;
        let at = record.at.and_then(|text| Timestamp::parse(&text.decode()));
        let message = record.uuid.filter(|_| record.kind == b"assistant");
        let stamp = Stamp { at, uuid: record.uuid, message, below: None, sidechain: record.sidechain };
        writer.begin(&stamp);
        writer.seen.count_type(record.kind);
        record.session.into_iter().for_each(|id| writer.session(id));
        record.version.into_iter().for_each(|version| writer.seen.see_version(version.raw()));
        record.forked_from.into_iter().for_each(|id| writer.link(&stamp, Link::ForkedFrom, id));
        if record.kind != b"system" {
            record.cwd.into_iter().for_each(|cwd| writer.cwd(&stamp, cwd));
            record.branch.into_iter().for_each(|branch| writer.branch(&stamp, branch));
        }
        match record.kind {
            b"user" => user(&record, &stamp, writer),
            b"assistant" => assistant(&record, &stamp, writer),
            b"tool_result" => results(&record, &stamp, writer),
            b"system" => system(&record, &stamp, writer),
            other => writer.seen.count_unknown(&String::from_utf8_lossy(other), 1),
        }
        writer.end(&stamp);
        Some(end)
    }

    fn kind_of(head: &[u8]) -> Option<String> {
        let Found::Object(mut fields) = first_object(head) else { return None };
        let kind = fields.find_map(|(key, value)| (key.raw() == b"type").then(|| value.text())?)?;
        Some(kind.decode().into_owned())
    }
}

/// The relevant fields of a record.
struct Record<'r> {
    kind: &'r [u8],
    subtype: &'r [u8],
    provenance: Option<Text<'r>>,
    at: Option<Text<'r>>,
    uuid: Option<Text<'r>>,
    /// Blank if it has none.
    parent: Option<Text<'r>>,
    session: Option<Text<'r>>,
    cwd: Option<Text<'r>>,
    branch: Option<Text<'r>>,
    version: Option<Text<'r>>,
    model: Option<Text<'r>>,
    forked_from: Option<Text<'r>>,
    sidechain: bool,
    /// The parts of the message.
    parts: Value<'r>,
    /// What the record has besides the message.
    payload: Value<'r>,
    usage: Option<Value<'r>>,
    result: Value<'r>,
    /// True if something other than a person sent it to a subagent.
    is_notification: bool,
}

impl<'r> Record<'r> {
    /// Reads the fields; `None` if the object is torn.
    fn read(fields: &mut Fields<'r>) -> Option<(Self, usize)> {
        fields.by_ref().for_each(drop);
        let end = fields.end()?;
        let whole = fields.object().unwrap_or(Value::Null);
        let [kind, subtype, provenance, at, uuid, session, cwd, branch, model, external, version] = pick(
            whole,
            [
                b"type",
                b"subtype",
                b"provenance",
                b"timestamp",
                b"uuid",
                b"sessionId",
                b"cwd",
                b"gitBranch",
                b"model",
                b"externalInputKind",
                b"version",
            ],
        )
        .map(text);
        let [message, payload, usage, result, forked_from, sidechain] = pick(
            whole,
            [b"message", b"systemPayload", b"usageMetadata", b"toolCallResult", b"forkedFrom", b"isSidechain"],
        );
        let parent = whole.get(b"parentUuid").map(|parent| parent.text().unwrap_or(Text::new(b"")));
        let record = Self {
            kind: kind.map_or(b"", Text::raw),
            subtype: subtype.map_or(b"", Text::raw),
            provenance,
            at,
            uuid,
            parent: parent.filter(|_| uuid.is_some()),
            session,
            cwd,
            branch,
            version,
            model,
            forked_from: forked_from.and_then(|from| text(from.get(b"sessionId"))),
            sidechain: sidechain.is_some_and(Value::is_true),
            parts: message.and_then(|message| message.get(b"parts")).unwrap_or(Value::Null),
            payload: payload.unwrap_or(Value::Null),
            usage,
            result: result.unwrap_or(Value::Null),
            is_notification: external.is_some_and(|kind| kind.raw() == b"notification"),
        };
        Some((record, end))
    }

    fn is_typed(&self) -> bool {
        (self.subtype.is_empty() || TYPED.contains(&self.subtype))
            && self.provenance.is_none_or(|by| by.raw() == b"real_user")
            && !self.is_notification
    }

    /// What the person saw of the message, if that is recorded.
    fn shown(&self) -> Option<Text<'r>> {
        text(self.payload.get(b"displayText")).filter(|shown| !shown.is_blank())
    }
}

/// A prompt, or a message that the program sends to the model.
fn user(record: &Record<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let shown: Vec<Text<'_>> = record.shown().map_or_else(|| texts(record.parts).collect(), |shown| vec![shown]);
    if !record.is_typed() {
        let said = shown.into_iter().map(Text::decode).collect::<Vec<_>>().join("\n");
        return writer.notice(stamp, &said);
    }
    if !is_first(b'p', stamp, b"", writer) {
        return;
    }
    // A message in the middle of a turn is no place to go back to.
    let in_turn = record.subtype == b"mid_turn_user_message";
    let stamp = &Stamp { below: record.parent.filter(|_| !in_turn), ..*stamp };
    let mut begun = false;
    let mut begin = |writer: &mut ItemWriter<'_>| {
        if !std::mem::replace(&mut begun, true) {
            if !in_turn {
                writer.abandon_calls(stamp);
            }
            writer.wordless_prompt(stamp);
        }
    };
    for part in shown {
        let decoded = part.decode();
        if typed::is_reference(&decoded) {
            break;
        }
        match typed::split(&decoded) {
            Typed::Prompt(words) if !words.trim().is_empty() => {
                begin(writer);
                writer.prompt(stamp, words);
            }
            Typed::Summary(summary) => writer.summary(stamp, summary),
            Typed::Command { line, output } => {
                writer.persons_command(stamp, line);
                writer.persons_output(stamp, output, None);
            }
            Typed::Prompt(_) | Typed::Context { .. } => {}
        }
    }
    for media in record.parts.elements().filter_map(Media::inline) {
        begin(writer);
        writer.media(stamp, &media.line());
    }
}

fn assistant(record: &Record<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    // A person may also go back to the prompt itself.
    let prompt = record.parent.filter(|parent| writer.cursor.said.contains(mark(b'p', *parent, b"")));
    if let Some(prompt) = prompt.filter(|_| is_first(b'b', stamp, b"", writer)) {
        writer.continue_below(stamp, prompt);
    }
    let calls = |part: &Value<'_>| part.get(b"functionCall").is_some();
    let ends_turn = !record.parts.elements().any(|part| calls(&part));
    // The parts of a message may be spread over several records with its id.
    let mut said = Vec::new();
    let mut is_new = |what: u8, text: Text<'_>, writer: &ItemWriter<'_>| {
        let mark = stamp.uuid.map(|id| mark(what, id, text.raw()));
        said.extend(mark);
        mark.is_none_or(|mark| !writer.cursor.said.contains(mark))
    };
    for part in record.parts.elements() {
        let [words, thought, call] = pick(part, [b"text", b"thought", b"functionCall"]);
        if let Some(call) = call {
            let [id, name, arguments] = pick(call, [b"id", b"name", b"args"]);
            if text(id).is_none_or(|id| is_new(b'c', id, writer)) {
                writer.call(stamp, text(id), text(name), arguments.unwrap_or(Value::Null));
            }
        } else if let Some(words) = text(words).filter(|words| !words.is_blank() && is_new(b'r', *words, writer)) {
            match thought.is_some_and(Value::is_true) {
                true => writer.thinking(stamp, Some(words)),
                false => writer.reply(stamp, words, ends_turn),
            }
        }
    }
    let speaks = !said.is_empty();
    said.into_iter().for_each(|mark| writer.cursor.said.push(mark));
    let counted = crate::hash::Mark::digest(COUNTED);
    match record.usage {
        Some(tokens) => {
            writer.cursor.remember_said(counted);
            usage(tokens, record.model, stamp, writer);
        }
        // The service counts at the end of an answer, so this one was cut, if the service counts at all.
        None if ends_turn && speaks && writer.cursor.said.contains(counted) => writer.interruption(stamp),
        None => {}
    }
}

/// The input includes what was read from the cache. Whether the output includes the thinking depends on the service; the
/// sum tells.
fn usage(tokens: Value<'_>, model: Option<Text<'_>>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    const COUNTS: [&[u8]; 5] = [
        b"promptTokenCount",
        b"candidatesTokenCount",
        b"cachedContentTokenCount",
        b"thoughtsTokenCount",
        b"totalTokenCount",
    ];
    let [input, output, cached, thoughts, total] = pick(tokens, COUNTS).map(|count| number(count).unwrap_or(0));
    if [input, output, cached, thoughts].iter().all(|count| *count == 0) {
        return;
    }
    let apart = input.saturating_add(output).saturating_add(thoughts) == total;
    let output = if apart { output.saturating_add(thoughts) } else { output };
    let said = format!("{input} {output} {cached}");
    let mark = stamp.uuid.map(|id| mark(b'u', id, said.as_bytes()));
    writer.usage(stamp, mark, || Usage {
        model: model.map_or_else(String::new, |model| one_line(&model.decode(), MAX_MODEL_CHARS)),
        input: input.saturating_sub(cached),
        output,
        cache_read: cached,
        ..Usage::default()
    });
}

fn results(record: &Record<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [call, status, display, duration] =
        pick(record.result, [b"callId", b"status", b"resultDisplay", b"durationMs"]);
    let (call, status) = (text(call), text(status).map(Text::raw));
    for part in record.parts.elements() {
        let Some(response) = part.get(b"functionResponse") else { continue };
        let id = text(response.get(b"id")).or(call);
        if !writer.note_result(id) {
            continue;
        }
        // The rest of the record is about one call.
        let is_its = call.is_none() || call == id;
        let Answer { outcome, mut output } =
            answer(Some(response), status.filter(|_| is_its), display.filter(|_| is_its));
        output.facts.duration_ms = number(duration.filter(|_| is_its));
        if let Some(shown) = display.filter(|_| is_its) {
            enrich(&mut output.facts, id, shown);
        }
        writer.result(stamp, id, outcome, &output);
    }
}

/// Adds what the screen showed of a result.
fn enrich(facts: &mut ResultFacts, call: Option<Text<'_>>, shown: Value<'_>) {
    let [kind, exit_code, agent, status] = pick(shown, [b"type", b"exitCode", b"subagentName", b"status"]);
    match (text(kind).map(Text::raw), exit_code) {
        (Some(b"shell_result"), Some(Value::Number(digits))) => {
            let said = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
            facts.exit_code = said.or(facts.exit_code);
        }
        (Some(b"task_execution"), _) => {
            if let (Some(agent), Some(call)) = (text(agent), call) {
                // So its transcript is named.
                let id = [agent.raw(), b"-", call.raw()].concat();
                facts.agent = Some(bounded_id(Text::new(&id)));
            }
            let is_on = text(status).is_some_and(|status| status.raw() == b"background");
            facts.background = is_on.then(String::new).or(facts.background.take());
        }
        _ => {}
    }
}

fn system(record: &Record<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    match record.subtype {
        b"chat_compression" => compression(record.payload, stamp, writer),
        b"custom_title" => {
            let [title, source] = pick(record.payload, [b"customTitle", b"titleSource"]).map(text);
            let is_auto = source.is_some_and(|source| source.raw() == b"auto");
            let source = if is_auto { TitleSource::Model } else { TitleSource::Person };
            title.into_iter().for_each(|title| writer.title(stamp, source, &title.decode()));
        }
        b"slash_command" => {
            let [phase, command, sent] = pick(record.payload, [b"phase", b"rawCommand", b"sentToModel"]);
            let is_invocation = text(phase).is_some_and(|phase| phase.raw() == b"invocation");
            // One that the model was sent is a prompt of its own.
            if let Some(command) = text(command).filter(|_| is_invocation && !sent.is_some_and(Value::is_true)) {
                writer.notice(stamp, &command.decode());
            }
        }
        b"rewind" => record.parent.into_iter().for_each(|parent| writer.continue_below(stamp, parent)),
        b"turn_result" => {
            if text(record.payload.get(b"state")).is_some_and(|state| state.raw() == b"cancelled") {
                writer.interruption(stamp);
            }
        }
        silent if SILENT.contains(&silent) => {}
        other => writer.seen.count_unknown(&format!("system:{}", String::from_utf8_lossy(other)), 1),
    }
}

/// A compaction: the summary is the first message of the history with which the model continues.
fn compression(payload: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [info, history] = pick(payload, [b"info", b"compressedHistory"]);
    let [before, after, reason] =
        info.map_or([None; 3], |info| pick(info, [b"originalTokenCount", b"newTokenCount", b"triggerReason"]));
    let trigger = text(reason).map_or_else(Default::default, Text::decode);
    writer.compaction(stamp, &trigger, number(before), number(after));
    let mut before = None;
    for message in history.into_iter().flat_map(|history| history.elements()) {
        let [role, parts] = pick(message, [b"role", b"parts"]);
        let parts = parts.unwrap_or(Value::Null);
        if text(role).is_some_and(|role| role.raw() == b"user") {
            before = texts(parts).next();
        } else if let Some(summary) = before.take().filter(|_| typed::is_thanks(parts)) {
            return writer.summary(stamp, &summary.decode());
        }
    }
}

#[cfg(test)]
mod tests;
