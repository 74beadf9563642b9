//! Transcripts of Kimi Code: JSON Lines of what happened to the context of one agent.
//!
//! A prompt is said when it is typed (`turn.prompt`, `turn.steer`) and when it enters the context; the second is
//! recognised by a fingerprint. Only prompts count for an undo. The session's title is in another file.

use crate::filter::media::Media;
use crate::filter::result::Output;
use crate::hash::Mark;
use crate::item::{Act, Agent, Outcome, Usage};
use crate::record::{SessionId, Timestamp};

use super::codex::{number, pick, text};
use super::ended::how_it_failed;
use super::format::{Format, Layout};
use super::item_writer::{ItemWriter, Stamp};
use super::location::{self, Kind, Located};
use super::tools::Tools;
use baton_redaction::raw_json::{Fields, Text, Value};

const TRANSCRIPT: &str = "wire.jsonl";
/// Beginnings of the types of records without conversation.
const SILENT: &[&[u8]] = &[
    b"tools.",
    b"llm.tools_snapshot",
    b"usage.",
    b"permission.",
    b"plan_mode.",
    b"plan.",
    b"swarm_mode.",
    b"tower_mode.",
    b"coordinator_mode.",
    b"goal.",
    b"cron.",
    b"task.",
    b"token_counting.",
    b"context.update_token_count",
    b"context_size.",
    b"micro_compaction.",
    b"full_compaction.",
    b"file_history.",
    b"snapshot.",
    b"stale_guard.",
    b"interaction.",
    b"interruptionReminder.",
    b"mcp.",
    b"plugin.",
    b"profile.",
    b"prompt.",
    b"runtime.",
    b"turn.ended",
    b"turn.step.",
    b"forked",
];
/// The end of the output of a command that failed, before its exit code.
const EXIT_CODE: &str = "Command failed with exit code: ";
/// Bytes of the end of an output that are searched for it.
const END_BYTES: usize = 200;
/// Elements with text for the agent at the beginning of a message.
const REMINDER: &str = "<system-reminder>";
const GIT_CONTEXT_END: &str = "</git-context>";
/// Commands of Kimi whose message is their text, by the field with their name.
const COMMANDS: [&[u8]; 2] = [b"skillName", b"commandName"];

/// The format of Kimi Code.
pub(super) enum Kimi {}

impl Format for Kimi {
    const LAYOUT: Layout = Layout {
        folders: &["sessions"],
        endings: &[TRANSCRIPT],
        // `<directory>/<session>/agents/<agent>/`
        depth: 5,
        ..Layout::LINES
    };
    const TOOLS: Tools = Tools {
        acts: &[
            (Act::Read, "ReadMediaFile TaskList TaskOutput TaskStop"),
            (Act::Fetch, "FetchURL"),
            (Act::Todo, "TodoList"),
            (Act::Spawn, "AgentSwarm"),
        ],
        parameters: &[],
    };

    fn classify(rel_path: &str) -> Option<Located> {
        let names: Vec<&str> = rel_path.split('/').collect();
        let [_, session, "agents", agent, TRANSCRIPT] = names.as_slice() else { return None };
        let session = location::session_of(session)?;
        if *agent == "main" {
            return Some(Located { agent: Agent::Kimi, session, kind: Kind::Main });
        }
        let id = session.to_string();
        let id = format!("agent-{}-{agent}", id.strip_prefix("session_").unwrap_or(&id));
        Some(Located {
            agent: Agent::Kimi,
            session: SessionId::new(&id).filter(SessionId::may_be_shown)?,
            kind: Kind::Subagent { parent: Some(session) },
        })
    }

    fn record(mut fields: Fields<'_>, writer: &mut ItemWriter<'_>) -> Option<usize> {
        fields.by_ref().for_each(drop);
        let end = fields.end()?;
        let whole = fields.object().unwrap_or(Value::Null);
        let names: [&[u8]; 6] = [b"type", b"time", b"message", b"event", b"input", b"origin"];
        let [kind, time, message, event, input, origin] = pick(whole, names);
        let at = number(time).and_then(|time| i64::try_from(time).ok()).map(Timestamp);
        let stamp = Stamp { at, ..Stamp::default() };
        let kind = text(kind).map_or(&b""[..], Text::raw);
        writer.begin(&stamp);
        writer.seen.count_type(kind);
        match kind {
            b"turn.prompt" | b"turn.steer" => prompt(input, origin, true, &stamp, writer),
            b"context.append_message" => appended(message.unwrap_or(Value::Null), &stamp, writer),
            b"context.append_loop_event" => loop_event(event.unwrap_or(Value::Null), &stamp, writer),
            b"context.apply_compaction" => compaction(whole, &stamp, writer),
            b"metadata" => {
                let version = text(whole.get(b"protocol_version"));
                version.into_iter().for_each(|version| writer.seen.see_format(version.raw()));
            }
            b"context.clear" => writer.messages_begin(0),
            b"context.undo" => number(whole.get(b"count")).into_iter().for_each(|count| writer.back_by(&stamp, count)),
            b"turn.cancel" => writer.interruption(&stamp),
            b"llm.request" => text(whole.get(b"model")).into_iter().for_each(|model| writer.named_model(&stamp, model)),
            b"config.update" => text(whole.get(b"cwd")).into_iter().for_each(|cwd| writer.cwd(&stamp, cwd)),
            b"profile.bind" => {
                let cwd = whole.get(b"environmentDisclosure").and_then(|environment| environment.get(b"cwd"));
                text(cwd).into_iter().for_each(|cwd| writer.cwd(&stamp, cwd));
            }
            b"permission.record_approval_result" => refusal(whole, writer),
            b"full_compaction.begin" => {
                let source = text(whole.get(b"source")).map_or(&b""[..], Text::raw);
                writer.cursor.said.push(mark(b"compaction", source));
            }
            silent if SILENT.iter().any(|start| silent.starts_with(start)) => {}
            unknown => writer.seen.count_unknown(&String::from_utf8_lossy(unknown), 1),
        }
        writer.end(&stamp);
        Some(end)
    }
}

/// Fingerprint of something that a later record refers to.
fn mark(what: &[u8], id: &[u8]) -> Mark {
    Mark::digest(&[what, id].join(&0))
}

/// The texts of a message's parts.
fn words(parts: Option<Value<'_>>) -> String {
    let parts = parts.into_iter().flat_map(Value::elements);
    parts.filter_map(|part| text(part.get(b"text"))).map(Text::decode).collect()
}

/// A prompt, when it is typed or when it enters the context.
fn prompt(
    parts: Option<Value<'_>>,
    origin: Option<Value<'_>>,
    is_typed: bool,
    stamp: &Stamp<'_>,
    writer: &mut ItemWriter<'_>,
) {
    let [kind, trigger, name] = origin.map_or([None; 3], |origin| pick(origin, [b"kind", b"trigger", b"name"]));
    let is = |value: Option<Value<'_>>, word: &[u8]| text(value).is_some_and(|text| text.raw() == word);
    let said = words(parts);
    let said = match text(kind).map(Text::raw) {
        None | Some(b"user") => said,
        Some(b"skill_activation" | b"plugin_command") if is(trigger, b"user-slash") => {
            command(origin.unwrap_or(Value::Null)).unwrap_or(said)
        }
        // The task of a subagent.
        Some(b"system_trigger") if writer.is_subagent() && is(name, b"subagent") => {
            said.split_once(GIT_CONTEXT_END).map_or(said.as_str(), |(_, task)| task).to_owned()
        }
        _ => return,
    };
    let media = parts.into_iter().flat_map(Value::elements).filter(|part| {
        text(part.get(b"type")).is_some_and(|kind| matches!(kind.raw(), b"image_url" | b"video_url" | b"image"))
    });
    let media = media.count();
    if said.trim_start().starts_with(REMINDER) || (said.trim().is_empty() && media == 0) {
        return;
    }
    let repeated = mark(b"prompt", said.as_bytes());
    if !is_typed && writer.cursor.said.take(repeated) {
        return;
    }
    if is_typed {
        writer.cursor.said.push(repeated);
    }
    let below = writer.next_message(None).unwrap_or_default();
    let stamp = Stamp { below: Some(Text::new(below.as_bytes())), ..*stamp };
    writer.abandon_calls(&stamp);
    if said.trim().is_empty() {
        writer.wordless_prompt(&stamp);
    } else {
        writer.prompt(&stamp, &said);
    }
    (0..media).for_each(|_| writer.media(&stamp, &Media::image(Value::Null).line()));
}

/// A command as it is typed.
fn command(origin: Value<'_>) -> Option<String> {
    let name = COMMANDS.iter().find_map(|name| text(origin.get(name)))?.decode();
    let arguments =
        text(origin.get(b"skillArgs").or_else(|| origin.get(b"args"))).map(Text::decode).unwrap_or_default();
    Some(format!("/{name} {arguments}").trim().to_owned())
}

/// A whole message: of the agent only in older versions, and not if a subagent begins with its parent's context.
fn appended(message: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [role, content, origin] = pick(message, [b"role", b"content", b"origin"]);
    match text(role).map_or(&b""[..], Text::raw) {
        b"user" => prompt(content, origin, false, stamp, writer),
        b"assistant" if origin.is_none() && !writer.is_subagent() => {
            for part in content.into_iter().flat_map(Value::elements) {
                text(part.get(b"text")).into_iter().for_each(|said| writer.reply(stamp, said, true));
            }
        }
        b"assistant" | b"tool" | b"system" => {}
        unknown => writer.seen.count_unknown(&format!("role:{}", String::from_utf8_lossy(unknown)), 1),
    }
}

fn loop_event(event: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let names: [&[u8]; 4] = [b"type", b"uuid", b"stepUuid", b"toolCallId"];
    let [kind, uuid, step, call_id] = pick(event, names);
    let stamp = &Stamp { uuid: text(uuid), message: text(step), ..*stamp };
    match text(kind).map_or(&b""[..], Text::raw) {
        b"content.part" => {
            let [kind, said, thought] = pick(event.get(b"part").unwrap_or(Value::Null), [b"type", b"text", b"think"]);
            match text(kind).map_or(&b""[..], Text::raw) {
                // A call in the same step comes after it.
                b"text" => text(said).into_iter().for_each(|said| writer.reply(stamp, said, true)),
                b"think" => writer.thinking(stamp, text(thought)),
                other => writer.seen.count_unknown(&format!("part:{}", String::from_utf8_lossy(other)), 1),
            }
        }
        b"tool.call" => call(event, text(call_id), stamp, writer),
        b"tool.result" => result(event.get(b"result").unwrap_or(Value::Null), text(call_id), stamp, writer),
        b"step.end" => {
            let names: [&[u8]; 4] = [b"inputOther", b"output", b"inputCacheRead", b"inputCacheCreation"];
            let stamp = Stamp { message: text(uuid), ..*stamp };
            if let Some(usage) = event.get(b"usage").filter(|_| writer.wants_text) {
                let [input, output, cache_read, cache_creation] = pick(usage, names).map(|it| number(it).unwrap_or(0));
                let model = writer.model().to_owned();
                let usage = Usage { model, input, output, cache_read, cache_creation, ..Usage::default() };
                writer.usage(&stamp, None, || usage);
            }
        }
        b"step.begin" => {}
        other => writer.seen.count_unknown(&format!("event:{}", String::from_utf8_lossy(other)), 1),
    }
}

fn call(event: Value<'_>, id: Option<Text<'_>>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [name, args, display] = pick(event, [b"name", b"args", b"display"]);
    let place = display.and_then(|display| text(display.get(b"cwd")));
    place.filter(|_| writer.cursor.cwd.is_none()).into_iter().for_each(|cwd| writer.cwd(stamp, cwd));
    let written = text(args).map(Text::decode);
    let written = written.as_deref().map(str::trim).filter(|json| json.starts_with('{'));
    let args = written.map_or(args.unwrap_or(Value::Null), |json| Value::Object(json.as_bytes().into()));
    writer.call(stamp, id, text(name), args);
}

/// A person's decision about a call, which comes before its result.
fn refusal(approval: Value<'_>, writer: &mut ItemWriter<'_>) {
    let [id, result] = pick(approval, [b"toolCallId", b"result"]);
    let decision = text(result.and_then(|result| result.get(b"decision"))).map_or(&b""[..], Text::raw);
    if let Some(id) = text(id).filter(|_| matches!(decision, b"rejected" | b"cancelled")) {
        writer.cursor.said.push(mark(decision, id.raw()));
    }
}

fn result(result: Value<'_>, id: Option<Text<'_>>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let raw = id.map_or(&b""[..], Text::raw);
    let [is_refused, is_stopped] = [&b"rejected"[..], b"cancelled"].map(|it| writer.cursor.said.take(mark(it, raw)));
    if !writer.note_result(id) || !writer.wants_text {
        return;
    }
    let [content, is_error] = pick(result, [b"output", b"isError"]);
    let mut output = Output::parse(content);
    let is_error = is_error.is_some_and(Value::is_true);
    let end = output.last_text().filter(|_| is_error).map(|text| text.trim_end().tail(END_BYTES).decode());
    let code = end.as_ref().and_then(|end| end.rsplit_once(EXIT_CODE)).map(|(_, code)| code.trim_end_matches('.'));
    output.facts.exit_code = code.and_then(|code| code.trim().parse().ok());
    let outcome = match is_error {
        _ if is_stopped => Outcome::Interrupted,
        _ if is_refused => Outcome::Denied,
        true => how_it_failed(&output),
        false => Outcome::Ok,
    };
    writer.result(stamp, id, outcome, &output);
}

fn compaction(record: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [summary, before, after] = pick(record, [b"summary", b"tokensBefore", b"tokensAfter"]);
    let trigger = ["manual", "auto"].into_iter().find(|it| writer.cursor.said.take(mark(b"compaction", it.as_bytes())));
    writer.compaction(stamp, trigger.unwrap_or(""), number(before), number(after));
    if let Some(summary) = text(summary).filter(|_| writer.wants_text) {
        writer.summary(stamp, &summary.decode());
    }
    // An undo does not go back behind it.
    writer.messages_begin(0);
}

#[cfg(test)]
mod tests;
