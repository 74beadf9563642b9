//! Transcripts of Gemini CLI ("chats"): JSON Lines of messages, and of records that change what stands before; before
//! version 0.40 documents of the same messages.
//!
//! A message is written again under its id when it has more in it: calls, results, token counts. What was said of it
//! already is recognised by fingerprints in [`Cursor::said`](super::Cursor::said), which hold for the last messages;
//! only the last one is ever written again.
//!
//! # Decisions
//!
//! - `$set.messages` repeats the conversation in the form in which the model has it, under other ids and without what
//!   it lost. Every message of it was a line of its own before, except the summary of a compaction and the context at
//!   the beginning: only these are read there, and nothing is ever deleted by it.
//! - After a refused call, the same is written as single messages within a moment: the context first, then all of it
//!   anew, without models. None of these is read.
//! - `$rewindTo` abandons what stands from that prompt on, as a prompt below the same parent does elsewhere: each prompt
//!   is its own parent.
//! - The session's id is the first 8 characters of it, because the name of the file has no more. The agent goes on only
//!   with the whole one, which is read from the header when somebody asks for it.

mod result;
mod rewritten_whole;
pub(super) mod typed;

use crate::filter::media::Media;
use crate::filter::one_line;
use crate::hash::Mark;
use crate::item::{Act, Agent, TitleSource, Usage};
use crate::record::{SessionId, Timestamp};

use super::codex::{number, pick, text};
use super::cursor::Queued;
use super::document::{Document, Messages};
use super::format::{Format, Layout, field_of};
use super::item_writer::{ItemWriter, Stamp};
use super::location::{Kind, Located};
use super::tools::Tools;
use baton_redaction::raw_json::{Fields, Found, Text, Value, first_object};
use typed::Typed;

pub(super) use result::{Answer, answer, name_of_mcp_tool};

/// Longest name of a model, in characters.
const MAX_MODEL_CHARS: usize = 100;
/// Prefix of the names of main conversations' files.
const SESSION: &str = "session-";
/// Length of the time in such a name, with the `-` behind it: `2026-06-11T19-15-`.
const TIME_CHARS: usize = 17;
/// Length of the id in such a name.
const ID_CHARS: usize = 8;
/// Messages of the program that say that a person interrupted the agent.
const INTERRUPTIONS: &[&str] = &["Request cancelled.", "User cancelled the request."];
/// States of a call that has a result.
const FINAL: &[&[u8]] = &[b"success", b"error", b"cancelled"];

/// Beginning of a record that changes the session; its value is long.
const SET: &[u8] = b"{\"$set\"";

/// The format of Gemini CLI.
pub(super) enum Gemini {}

impl Format for Gemini {
    const LAYOUT: Layout = Layout {
        // The variable stands for the home.
        folders: &[".gemini/tmp"],
        endings: &[".jsonl", ".json"],
        // `<project>/chats/<parent>/`
        depth: 4,
        passed_over: &["tool-outputs"],
        ..Layout::LINES
    };
    const TOOLS: Tools = Tools {
        acts: &[
            (Act::Shell, "run_shell_command"),
            (Act::Edit, "replace write_file edit"),
            (Act::Read, "read_file read_many_files read_background_output list_background_processes"),
            (Act::Search, "grep_search search_file_content glob list_directory"),
            (Act::Fetch, "web_fetch google_web_search"),
            (Act::Plan, "enter_plan_mode exit_plan_mode"),
            (Act::Todo, "write_todos"),
            (Act::Ask, "ask_user"),
            (Act::Spawn, "invoke_agent delegate_to_agent codebase_investigator generalist cli_help browser_agent"),
        ],
        parameters: &[("dir_path", "path"), ("absolute_path", "file_path")],
    };

    const DOCUMENT: Option<Document> = Some(Document {
        endings: &[".json"],
        replaced_by: Some(".jsonl"),
        messages: Messages::Field("messages"),
        header: &["sessionId", "projectHash", "startTime", "kind", "directories", "summary"],
    });

    fn classify(rel_path: &str) -> Option<Located> {
        let names: Vec<&str> = rel_path.split('/').collect();
        if names.iter().any(|name| matches!(*name, "" | "." | "..")) {
            return None;
        }
        let short = |id: &str| id.char_indices().nth(ID_CHARS).map_or(id.len(), |(at, _)| at);
        let (id, kind) = match names.as_slice() {
            [_, "chats", name] => {
                let name = stem(name)?.strip_prefix(SESSION)?;
                let id = name.get(TIME_CHARS..).filter(|_| name[..TIME_CHARS].ends_with('-'))?;
                (id, Kind::Main)
            }
            [_, "chats", parent, name] => {
                let parent = Some(SessionId::new(&parent[..short(parent)])?);
                (stem(name)?, Kind::Subagent { parent })
            }
            _ => return None,
        };
        let session = SessionId::new(id).filter(|id| !id.is_memo() && id.may_be_shown())?;
        Some(Located { agent: Agent::Gemini, session, kind })
    }

    fn resume_id(session: &SessionId, _path: &str, head: &dyn Fn() -> Vec<u8>) -> Option<String> {
        field_of(&head(), b"sessionId").filter(|id| id.starts_with(session.as_str()))
    }

    fn record(mut fields: Fields<'_>, writer: &mut ItemWriter<'_>) -> Option<usize> {
        fields.by_ref().for_each(drop);
        let end = fields.end()?;
        let whole = fields.object().unwrap_or(Value::Null);
        let [id, kind, at, set, rewind, session] =
            pick(whole, [b"id", b"type", b"timestamp", b"$set", b"$rewindTo", b"sessionId"]);
        let (id, kind) = (text(id), text(kind).map_or(&b""[..], Text::raw));
        let at = text(at).and_then(|text| Timestamp::parse(&text.decode()));
        let stamp =
            Stamp { at, uuid: id, message: id.filter(|_| matches!(kind, b"gemini" | b"model")), ..Stamp::default() };
        writer.begin(&stamp);
        if let Some(target) = text(rewind) {
            writer.seen.count_type(b"$rewindTo");
            writer.continue_below(&stamp, target);
        } else if let Some(set) = set {
            writer.seen.count_type(b"$set");
            change(set, &stamp, writer);
        } else if id.is_none() && session.is_some() {
            writer.seen.count_type(b"header");
            header(whole, &stamp, writer);
        } else {
            writer.seen.count_type(kind);
            message(kind, whole, &stamp, writer);
        }
        writer.end(&stamp);
        Some(end)
    }

    fn kind_of(head: &[u8]) -> Option<String> {
        if head.trim_ascii_start().starts_with(SET) {
            return Some("$set".to_owned());
        }
        let Found::Object(mut fields) = first_object(head) else { return None };
        let kind = fields.find_map(|(key, value)| (key.raw() == b"type").then(|| value.text())?)?;
        Some(kind.decode().into_owned())
    }
}

/// The name of a transcript without its ending.
fn stem(name: &str) -> Option<&str> {
    name.strip_suffix(".jsonl").or_else(|| name.strip_suffix(".json"))
}

fn message(kind: &[u8], message: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    // Early versions have parts, as the model's interface names them.
    let content = message.get(b"content").or_else(|| message.get(b"parts")).unwrap_or(Value::Null);
    let kind = if kind == b"model" { b"gemini" } else { kind };
    let is_models = message.get(b"model").is_some() || message.get(b"toolCalls").is_some();
    if matches!(kind, b"user" | b"gemini") && !is_models && rewritten_whole::goes_on(stamp, writer) {
        // A person may go back to it.
        stamp.uuid.filter(|_| kind == b"user").into_iter().for_each(|id| writer.continue_below(stamp, id));
        return;
    }
    match kind {
        b"user" => user(content, message.get(b"displayContent"), stamp, writer),
        b"gemini" => gemini(content, message, stamp, writer),
        b"info" | b"warning" | b"error" => {
            let said = texts(content).map(Text::decode).collect::<Vec<_>>().join("\n");
            if !is_first(b'i', stamp, said.as_bytes(), writer) {
                return;
            }
            match INTERRUPTIONS.contains(&said.trim()) {
                true => writer.interruption(stamp),
                false => writer.notice(stamp, &said),
            }
        }
        other => writer.seen.count_unknown(&String::from_utf8_lossy(other), 1),
    }
}

/// The first line. A resumed session writes it again.
fn header(header: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    if writer.cursor.line != 1 {
        return;
    }
    change(header, stamp, writer);
}

/// A change of the session's properties.
fn change(set: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [summary, directories, messages] = pick(set, [b"summary", b"directories", b"messages"]);
    if let Some(directory) = directories.and_then(|all| all.elements().find_map(Value::text)) {
        writer.cwd(stamp, directory);
    }
    text(summary).into_iter().for_each(|summary| writer.title(stamp, TitleSource::Model, &summary.decode()));
    let Some(messages) = messages else { return };
    rewritten_whole::end(messages, writer);
    let mut before = None;
    for message in messages.elements() {
        let [kind, at, content] = pick(message, [b"type", b"timestamp", b"content"]);
        let is_users = text(kind).is_some_and(|kind| kind.raw() == b"user");
        let at = text(at).and_then(|text| Timestamp::parse(&text.decode()));
        let stamp = Stamp { at, ..Stamp::default() };
        let content = content.unwrap_or(Value::Null);
        if is_users {
            for part in texts(content).filter(|part| typed::may_be_context(*part)) {
                context(&typed::split(&part.decode()), &stamp, writer);
            }
            before = texts(content).next();
        } else if let Some(summary) = before.take().filter(|_| typed::is_thanks(content)) {
            context(&Typed::Summary(summary.decode().trim()), &stamp, writer);
        }
    }
}

/// Reads what the program put into a person's message.
fn context(typed: &Typed<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    match typed {
        Typed::Context { directory } => {
            let encoded = directory.map(|path| serde_json::Value::from(path).to_string());
            let path = encoded.as_ref().and_then(|json| json.get(1..json.len() - 1));
            path.into_iter().for_each(|path| writer.cwd(stamp, Text::new(path.as_bytes())));
        }
        Typed::Summary(summary) => {
            // Every later list of messages repeats it, so its fingerprint must not be lost among others. This format has
            // no queue, so the cursor's queue is used.
            let seen = Queued { mark: Mark::digest(summary.as_bytes()), line: 0 };
            if !writer.cursor.queue.iter().any(|one| one.mark == seen.mark) {
                writer.cursor.queue.push(seen);
                // The trigger is not recorded.
                writer.compaction(stamp, "", None, None);
                writer.summary(stamp, summary);
            }
        }
        Typed::Command { line, output } => {
            writer.persons_command(stamp, line);
            writer.persons_output(stamp, output, None);
        }
        Typed::Prompt(_) => {}
    }
}

/// A message to the model: a prompt, or results, which the calls' own records have as well.
fn user(content: Value<'_>, shown: Option<Value<'_>>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let mut is_answer = false;
    for part in content.elements() {
        if let Some(response) = part.get(b"functionResponse") {
            is_answer = true;
            let id = text(response.get(b"id"));
            if is_open(id, writer) && writer.note_result(id) {
                let Answer { outcome, output } = answer(Some(response), None, None);
                writer.result(stamp, id, outcome, &output);
            }
        }
    }
    if is_answer || !is_first(b'p', stamp, b"", writer) {
        return;
    }
    let stamp = &Stamp { below: stamp.uuid, ..*stamp };
    // What a person typed, if it was expanded for the model.
    let shown = shown.filter(|shown| texts(*shown).any(|part| !part.is_blank()));
    let mut begun = false;
    let mut begin = |writer: &mut ItemWriter<'_>| {
        if !std::mem::replace(&mut begun, true) {
            rewritten_whole::prompted(writer);
            writer.abandon_calls(stamp);
            writer.wordless_prompt(stamp);
        }
    };
    for part in texts(shown.unwrap_or(content)) {
        let decoded = part.decode();
        if typed::is_reference(&decoded) {
            break;
        }
        let said = typed::split(&decoded);
        if let Typed::Prompt(words) = said
            && !words.trim().is_empty()
        {
            begin(writer);
            writer.prompt(stamp, words);
        } else {
            if matches!(said, Typed::Context { .. }) && rewritten_whole::begins(stamp, writer) {
                return;
            }
            context(&said, stamp, writer);
        }
    }
    for media in content.elements().filter_map(Media::inline) {
        begin(writer);
        writer.media(stamp, &media.line());
    }
}

/// A message of the model, with its calls and their results.
fn gemini(content: Value<'_>, message: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [thoughts, tokens, model, calls] = pick(message, [b"thoughts", b"tokens", b"model", b"toolCalls"]);
    let elements = |list: Option<Value<'_>>| list.map_or(0, |list| list.elements().count());
    let (all_thoughts, all_calls) = (elements(thoughts), elements(calls));
    let from = first_new(b't', stamp, all_thoughts, writer);
    for thought in thoughts.iter().flat_map(|list| list.elements()).skip(from) {
        let [subject, description] = pick(thought, [b"subject", b"description"]).map(text);
        let both = [subject, description].map(|part| part.map_or(&b""[..], Text::raw)).join(&b"\\n"[..]);
        writer.thinking(stamp, Some(Text::new(&both)));
    }
    reply(content, all_calls == 0, stamp, writer);
    let from = first_new(b'c', stamp, all_calls, writer);
    for (at, call) in calls.iter().flat_map(|list| list.elements()).enumerate() {
        read_call(call, at >= from, stamp, writer);
    }
    if let Some(tokens) = tokens {
        usage(tokens, text(model), stamp, writer);
    }
}

/// Says the text of a message, and withdraws what it said before if it has another text now.
fn reply(content: Value<'_>, ends_turn: bool, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let said: Vec<Text<'_>> = texts(content).filter(|part| !part.is_blank()).collect();
    let whole = said.iter().map(|part| part.raw()).collect::<Vec<_>>().join(&0);
    if said.is_empty() || !is_first(b'r', stamp, &whole, writer) {
        return;
    }
    if let Some(id) = stamp.uuid {
        let this = Queued { mark: mark(b'r', id, b"line"), line: writer.cursor.line };
        if let Some(before) = writer.cursor.queue.take_first(|one| one.mark == this.mark) {
            writer.withdraw(stamp, before);
            // The message itself is not counted again.
            writer.cursor.overcounted = writer.cursor.overcounted.saturating_sub(1);
        }
        // Only the last message is written again.
        let others = writer.cursor.queue.iter().filter(|one| one.line == 0).collect();
        writer.cursor.queue = others;
        writer.cursor.queue.push(this);
    }
    said.into_iter().for_each(|part| writer.reply(stamp, part, ends_turn));
}

fn read_call(call: Value<'_>, is_new: bool, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [id, name, arguments, status, result, display, at] =
        pick(call, [b"id", b"name", b"args", b"status", b"result", b"resultDisplay", b"timestamp"]);
    let (id, status) = (text(id), text(status).map_or(&b""[..], Text::raw));
    if is_new {
        let name = text(name).map_or_else(Default::default, Text::decode);
        let arguments = arguments.unwrap_or(Value::Null);
        match name_of_mcp_tool(&name, text(call.get(b"displayName"))) {
            Some(name) => writer.call_as(Act::Mcp, stamp, id, &name, arguments),
            None => {
                writer.call(stamp, id, text(call.get(b"name")), arguments);
                let topic = arguments.get(b"title").and_then(Value::text).filter(|_| name == "update_topic");
                topic.into_iter().for_each(|topic| writer.title(stamp, TitleSource::Model, &topic.decode()));
            }
        }
    }
    if FINAL.contains(&status) && (is_new || is_open(id, writer)) && writer.note_result(id) {
        let at = text(at).and_then(|text| Timestamp::parse(&text.decode())).or(stamp.at);
        let response = result.and_then(|parts| parts.elements().find_map(|part| part.get(b"functionResponse")));
        let Answer { outcome, output } = answer(response, Some(status), display);
        writer.result(&Stamp { at, ..*stamp }, id, outcome, &output);
    }
}

/// The input includes what was read from the cache; thinking is counted beside the output.
fn usage(tokens: Value<'_>, model: Option<Text<'_>>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let counts = pick(tokens, [b"input", b"output", b"cached", b"thoughts", b"tool"]);
    let [input, output, cached, thoughts, tool] = counts.map(|count| number(count).unwrap_or(0));
    if [input, output, cached, thoughts, tool].iter().all(|count| *count == 0) {
        return;
    }
    let said = format!("{input} {output} {cached} {thoughts} {tool}");
    let mark = stamp.uuid.map(|id| mark(b'u', id, said.as_bytes()));
    writer.usage(stamp, mark, || Usage {
        model: model.map_or_else(String::new, |model| one_line(&model.decode(), MAX_MODEL_CHARS)),
        input: input.saturating_sub(cached).saturating_add(tool),
        output: output.saturating_add(thoughts),
        cache_read: cached,
        ..Usage::default()
    });
}

/// The texts of a content: a string, or parts. Thoughts are not part of it.
pub(super) fn texts(content: Value<'_>) -> impl Iterator<Item = Text<'_>> {
    let parts = content.elements().filter_map(|part| match part {
        Value::Text(text) => Some(text),
        part if part.get(b"thought").is_some_and(Value::is_true) => None,
        part => text(part.get(b"text")),
    });
    content.text().into_iter().chain(parts)
}

/// True if the call waits for its result. Results of other calls were said already.
pub(super) fn is_open(id: Option<Text<'_>>, writer: &ItemWriter<'_>) -> bool {
    let mark = id.map(|id| Mark::digest(id.raw()));
    mark.is_some_and(|mark| writer.cursor.open_calls.contains(mark) || writer.cursor.own_calls.contains(mark))
}

pub(super) fn mark(what: u8, id: Text<'_>, said: &[u8]) -> Mark {
    Mark::digest(&[&[what], id.raw(), &[0], said].concat())
}

/// True if this was not yet said of the message. A message without id is always new.
pub(super) fn is_first(what: u8, stamp: &Stamp<'_>, said: &[u8], writer: &mut ItemWriter<'_>) -> bool {
    stamp.uuid.is_none_or(|id| writer.cursor.remember_said(mark(what, id, said)))
}

/// Index of the first element of a message's list that was not yet said; the list only grows.
fn first_new(what: u8, stamp: &Stamp<'_>, length: usize, writer: &mut ItemWriter<'_>) -> usize {
    let Some(id) = stamp.uuid.filter(|_| length > 0) else { return 0 };
    let of = |length: usize| mark(what, id, &length.to_le_bytes());
    let said = (1..=length).rev().find(|length| writer.cursor.said.take(of(*length))).unwrap_or(0);
    writer.cursor.said.push(of(length));
    said
}

#[cfg(test)]
pub(super) mod tests;
