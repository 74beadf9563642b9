//! Transcripts of OpenHands: a file of JSON for each event, in a folder beside the state of the conversation.
//!
//! An event names the one before it in later versions, so that a conversation that was taken back to an earlier event
//! goes on below that one. The model and the tokens are only in the state, as sums. Times are local ones that do not
//! name their zone, so nothing has a time.

use serde_json::json;

use crate::filter::media::Media;
use crate::filter::result::Output;
use crate::item::{Act, Agent, Outcome};
use crate::record::Timestamp;

use super::codex::{apply_patch, number, pick, text};
use super::document::{Document, Messages};
use super::format::{Format, Layout, field_of};
use super::gemini::is_open;
use super::item_writer::{ItemWriter, Stamp};
use super::location::{self, Kind, Located};
use super::tools::Tools;
use baton_redaction::raw_json::{Fields, Text, Value};

/// The state of a conversation, and the folder beside it with its events.
const STATE: &str = "base_state.json";
const EVENTS: &str = "events";
/// The parent of an event that has none.
const ROOT: &[u8] = b"__root__";
/// Tools by which the agent ends its turn and thinks.
const FINISH: &str = "finish";
const THINK: &str = "think";
const PATCH: &str = "apply_patch";
/// Tools that read or change a file by a command.
const EDITORS: &[&str] = &["file_editor", "str_replace_editor", "planning_file_editor"];
/// Arguments of all calls that are about the call.
const ABOUT: &[&str] = &["security_risk", "summary"];
/// Action of a tool of a server.
const SERVER_TOOL: &[u8] = b"MCPToolAction";
/// Reasons of refusals that nobody typed.
const REASONS: &[&str] = &["User rejected the action", "User rejected the actions"];
/// Events without conversation.
const SILENT: &[&[u8]] = &[
    b"SystemPromptEvent",
    b"ConversationStateUpdateEvent",
    b"CondensationRequest",
    b"LLMCompletionLogEvent",
    b"TokenEvent",
    b"StreamingDeltaEvent",
    b"HookExecutionEvent",
];

/// The format of OpenHands.
pub(super) enum OpenHands {}

impl Format for OpenHands {
    const LAYOUT: Layout = Layout {
        folders: &["conversations"],
        endings: &[STATE],
        // `<conversation>/`
        depth: 2,
        passed_over: &[EVENTS],
        ..Layout::LINES
    };
    const TOOLS: Tools = Tools {
        acts: &[
            (Act::Shell, "terminal execute_bash"),
            (Act::Edit, "file_editor str_replace_editor planning_file_editor write_file edit"),
            (Act::Read, "read_file list_directory"),
            (Act::Todo, "task_tracker"),
            (Act::Spawn, "delegate task"),
        ],
        parameters: &[("file_text", "content"), ("old_str", "old_string"), ("new_str", "new_string")],
    };
    const DOCUMENT: Option<Document> = Some(Document {
        endings: &[STATE],
        replaced_by: None,
        messages: Messages::Files { folder: EVENTS, start: "event-" },
        header: &["id", "workspace"],
    });

    fn classify(rel_path: &str) -> Option<Located> {
        let (conversation, STATE) = rel_path.split_once('/')? else { return None };
        if conversation.starts_with('.') {
            return None;
        }
        Some(Located { agent: Agent::OpenHands, session: location::session_of(conversation)?, kind: Kind::Main })
    }

    fn record(mut fields: Fields<'_>, writer: &mut ItemWriter<'_>) -> Option<usize> {
        fields.by_ref().for_each(drop);
        let end = fields.end()?;
        let event = fields.object().unwrap_or(Value::Null);
        let names: [&[u8]; 5] = [b"kind", b"id", b"timestamp", b"parent_id", b"llm_response_id"];
        let [kind, id, at, parent, response] = pick(event, names).map(text);
        let kind = kind.map_or(&b"header"[..], Text::raw);
        let stamp = Stamp {
            at: at.and_then(|at| Timestamp::parse(&at.decode())),
            uuid: id.filter(|_| kind != b"header"),
            message: response,
            below: parent.map(|parent| if parent.raw() == ROOT { Text::new(b"") } else { parent }),
            ..Stamp::default()
        };
        writer.begin(&stamp);
        writer.seen.count_type(kind);
        match kind {
            b"header" => {
                let place = event.get(b"workspace").and_then(|workspace| text(workspace.get(b"working_dir")));
                place.into_iter().for_each(|place| writer.cwd(&stamp, place));
            }
            b"MessageEvent" => message(event, &stamp, writer),
            b"ActionEvent" => action(event, &stamp, writer),
            b"ObservationEvent" => observation(event, &stamp, writer),
            b"UserRejectObservation" => refusal(event, &stamp, writer),
            b"AgentErrorEvent" => {
                let said = Output::parse(event.get(b"error"));
                result(event, Outcome::Failed, &said, &stamp, writer);
            }
            b"PauseEvent" | b"InterruptEvent" => writer.interruption(&stamp),
            b"ConversationErrorEvent" => {
                let detail = text(event.get(b"detail"));
                detail.into_iter().for_each(|detail| writer.notice(&stamp, &detail.decode()));
                writer.cursor.working = false;
            }
            b"Condensation" => {
                writer.compaction(&stamp, "", None, None);
                let summary = text(event.get(b"summary")).filter(|_| writer.wants_text);
                summary.into_iter().for_each(|summary| writer.summary(&stamp, &summary.decode()));
            }
            silent if SILENT.contains(&silent) => {}
            unknown => writer.seen.count_unknown(&String::from_utf8_lossy(unknown), 1),
        }
        writer.end(&stamp);
        Some(end)
    }

    fn kind_of(head: &[u8]) -> Option<String> {
        field_of(head, b"kind")
    }
}

/// The texts of a message's parts.
fn words(parts: Option<Value<'_>>) -> String {
    let parts = parts.into_iter().flat_map(Value::elements);
    let texts: Vec<_> = parts.filter_map(|part| text(part.get(b"text"))).map(Text::decode).collect();
    texts.join("\n")
}

fn message(event: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [source, message, sender] = pick(event, [b"source", b"llm_message", b"sender"]);
    let [content, reasoning] = pick(message.unwrap_or(Value::Null), [b"content", b"reasoning_content"]);
    let said = words(content);
    match text(source).map_or(&b""[..], Text::raw) {
        // Another agent sends a task.
        b"user" if text(sender).is_some_and(|sender| !sender.is_blank()) => writer.notice(stamp, &said),
        b"user" => {
            let parts = content.into_iter().flat_map(Value::elements);
            let pictures = parts.filter_map(|part| part.get(b"image_urls")).flat_map(Value::elements).count();
            if said.trim().is_empty() && pictures == 0 {
                return;
            }
            writer.abandon_calls(stamp);
            match said.trim().is_empty() {
                true => writer.wordless_prompt(stamp),
                false => writer.prompt(stamp, &said),
            }
            (0..pictures).for_each(|_| writer.media(stamp, &Media::image(Value::Null).line()));
        }
        b"agent" => {
            text(reasoning).into_iter().for_each(|thought| writer.thinking(stamp, Some(thought)));
            reply(&said, true, stamp, writer);
        }
        _ => writer.notice(stamp, &said),
    }
}

/// A text of the agent that was put together.
fn reply(said: &str, ends_turn: bool, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let written = json!(said).to_string();
    writer.reply(stamp, Text::new(&written.as_bytes()[1..written.len() - 1]), ends_turn);
}

fn action(event: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let names: [&[u8]; 6] = [b"thought", b"reasoning_content", b"action", b"tool_name", b"tool_call_id", b"tool_call"];
    let [thought, reasoning, action, name, id, call] = pick(event, names);
    text(reasoning).into_iter().for_each(|thought| writer.thinking(stamp, Some(thought)));
    let (id, name) = (text(id), text(name).map(Text::decode).unwrap_or_default());
    let said = words(thought);
    if !said.trim().is_empty() {
        reply(&said, false, stamp, writer);
    }
    let action = action.unwrap_or(Value::Null);
    let field = |name: &[u8]| text(action.get(name));
    match &*name {
        FINISH => return field(b"message").into_iter().for_each(|said| writer.reply(stamp, said, true)),
        THINK => return writer.thinking(stamp, field(b"thought")),
        PATCH => {
            if writer.note_call(id, &name) && writer.wants_text {
                apply_patch(id, field(b"patch").map(Text::decode).as_deref().unwrap_or(""), stamp, writer);
            }
            return;
        }
        _ => {}
    }
    let is_served = field(b"kind").is_some_and(|kind| kind.raw() == SERVER_TOOL);
    let only_reads = EDITORS.contains(&&*name) && field(b"command").is_some_and(|command| command.raw() == b"view");
    let act = match OpenHands::TOOLS.act(&name) {
        _ if is_served => Act::Mcp,
        _ if only_reads => Act::Read,
        act => act,
    };
    // As the model wrote them: the action has the defaults too.
    let written = call.and_then(|call| text(call.get(b"arguments"))).filter(|_| writer.wants_text);
    let parameters = written.and_then(|written| arguments(&written.decode(), EDITORS.contains(&&*name)));
    let parameters = parameters.as_deref().map_or(Value::Null, |json| Value::Object(json.as_bytes().into()));
    writer.call_as(act, stamp, id, &name, parameters);
}

/// The arguments of a call without those about it. A file is named as such, because the command of an editor is not
/// what is edited.
fn arguments(written: &str, is_of_file: bool) -> Option<String> {
    let mut whole: serde_json::Map<_, _> = serde_json::from_str(written).ok()?;
    whole.retain(|name, _| !ABOUT.contains(&name.as_str()));
    if let Some(path) = if is_of_file { whole.remove("path") } else { None } {
        whole.insert("file_path".to_owned(), path);
    }
    Some(json!(whole).to_string())
}

fn observation(event: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let observation = event.get(b"observation").unwrap_or(Value::Null);
    let [content, is_error, metadata] = pick(observation, [b"content", b"is_error", b"metadata"]);
    let mut output = Output::parse(content);
    let code = metadata.and_then(|metadata| number(metadata.get(b"exit_code")));
    // A command that still runs has -1, which is no number here.
    output.facts.exit_code = code.and_then(|code| i32::try_from(code).ok());
    let has_failed = is_error.is_some_and(Value::is_true) || output.facts.exit_code.is_some_and(|code| code != 0);
    let outcome = if has_failed { Outcome::Failed } else { Outcome::Ok };
    result(event, outcome, &output, stamp, writer);
}

/// A call that a person or a hook refused; a person may say why.
fn refusal(event: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [reason, source] = pick(event, [b"rejection_reason", b"rejection_source"]);
    result(event, Outcome::Denied, &Output::parse(reason), stamp, writer);
    let is_typed = text(source).is_none_or(|source| source.raw() == b"user");
    let typed = text(reason).filter(|_| is_typed).map(Text::decode);
    let typed = typed.filter(|typed| !typed.trim().is_empty() && !REASONS.contains(&typed.trim()));
    typed.into_iter().for_each(|typed| writer.answer(stamp, &typed));
}

/// Emits the result that an event is. What the agent says or thinks by a tool is no call.
fn result(event: Value<'_>, outcome: Outcome, output: &Output<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let id = text(event.get(b"tool_call_id"));
    if is_open(id, writer) && writer.note_result(id) {
        writer.result(stamp, id, outcome, output);
    }
}

#[cfg(test)]
mod tests;
