//! Response items: what was sent to the model and came from it.

use serde_json::json;

use crate::filter::media::size;
use crate::item::Act;
use crate::transcript::item_writer::{ItemWriter, Stamp};
use baton_redaction::raw_json::{Text, Value};
use baton_words::WordList;

use super::user_text::{self, UserText};
use super::{Channel, Repeated, call, from_agent, is_news, pick, plain, remember_reply, text};

/// Items that are dropped: instructions, data that only the service can read, and generated images.
static SILENT: WordList = WordList::new(crate::WORDS, "codex responses");
static SPOKEN: WordList = WordList::new(crate::WORDS, "codex spoken responses");

/// True if this is a kind of response item.
pub(super) fn knows(kind: &[u8]) -> bool {
    SPOKEN.has_bytes(kind) || SILENT.has_bytes(kind)
}

/// Reads one item.
pub(super) fn read(payload: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let names: [&[u8]; 12] = [
        b"type",
        b"id",
        b"call_id",
        b"role",
        b"content",
        b"name",
        b"namespace",
        b"arguments",
        b"input",
        b"output",
        b"action",
        b"phase",
    ];
    let [kind, id, call_id, role, content, name, namespace, arguments, input, output, action, phase] =
        pick(payload, names);
    let (id, call_id) = (text(id), text(call_id));
    let own = Stamp { uuid: id.or(call_id).filter(|id| !id.is_blank()), ..*stamp };
    let stamp = &own;
    let call_id = call_id.or(id);
    match text(kind).map_or(&b""[..], Text::raw) {
        b"message" => match text(role).map_or(&b""[..], Text::raw) {
            b"assistant" => {
                // Commentary does not end the turn.
                let ends_turn = text(phase).is_none_or(|phase| phase.raw() != b"commentary");
                let stamp = Stamp { message: id.filter(|id| !id.is_blank()), ..*stamp };
                texts(content, |part| reply(part, Channel::Response, ends_turn, &stamp, writer));
            }
            b"user" => user(content, stamp, writer),
            // Instructions of the developer and the system.
            _ => {}
        },
        b"agent_message" => from_agent(payload, stamp, writer),
        b"reasoning" => reasoning(payload, stamp, writer),
        b"function_call" => call::function(call_id, text(namespace), text(name), arguments, stamp, writer),
        b"custom_tool_call" => {
            let wrapped;
            let input = match (text(input), text(name).map(Text::raw)) {
                (Some(input), Some(name)) if writer.wants_text && name != b"apply_patch" => {
                    wrapped = json!({ "input": input.decode() }).to_string();
                    Some(Value::Object(wrapped.as_bytes().into()))
                }
                _ => input,
            };
            call::function(call_id, text(namespace), text(name), input, stamp, writer);
        }
        b"local_shell_call" => {
            if writer.note_call(call_id, call::SHELL) && writer.wants_text {
                let [command, place] = action.map_or([None, None], |it| pick(it, [b"command", b"working_directory"]));
                let command = command.map(call::command_of).unwrap_or_default();
                let place = text(place).map(Text::decode);
                call::shell(call_id, &command, place.as_deref(), stamp, writer);
            }
        }
        b"web_search_call" => web_search(action, Channel::Response, stamp, writer),
        b"tool_search_call" => {
            call::function(call_id, None, Some(Text::new(b"tool_search")), arguments, stamp, writer);
        }
        b"function_call_output" | b"custom_tool_call_output" | b"local_shell_call_output" => {
            call::result(call_id, output, stamp, writer);
        }
        b"tool_search_output" => call::result(call_id, None, stamp, writer),
        silent if SILENT.has_bytes(silent) => {}
        other => {
            let name = format!("response_item:{}", String::from_utf8_lossy(other));
            writer.seen.count_unknown(name.trim_end_matches(':'), 1);
        }
    }
}

/// Calls `each` with every text of a message, in order; a message may be a single text.
pub(super) fn texts<'r>(content: Option<Value<'r>>, mut each: impl FnMut(Text<'r>)) {
    match content {
        Some(Value::Text(whole)) => each(whole),
        Some(blocks) => blocks.elements().filter_map(|block| text(block.get(b"text"))).for_each(each),
        None => {}
    }
}

/// A reply of the agent, unless it is a repetition.
pub(super) fn reply(part: Text<'_>, channel: Channel, ends_turn: bool, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    if !part.is_blank() && is_news(Repeated::Reply, channel, part.trim_end().raw(), writer) {
        writer.reply(stamp, part, ends_turn);
        remember_reply(part, writer);
    }
}

/// A typed prompt, unless it is a repetition.
fn prompt(typed: &str, channel: Channel, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    if !typed.trim().is_empty() && is_news(Repeated::Prompt, channel, plain(typed).as_bytes(), writer) {
        writer.prompt(stamp, typed);
    }
}

/// A text that was shown as a person's, unless it is a repetition.
pub(super) fn shown(text: &str, channel: Channel, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    match user_text::shown(text) {
        UserText::Prompt(typed) => prompt(&typed, channel, stamp, writer),
        UserText::Answers(answers) => answered(&answers, channel, stamp, writer),
        _ => {}
    }
}

/// What a person answered, unless it is a repetition.
fn answered(answers: &str, channel: Channel, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    if !answers.trim().is_empty() && is_news(Repeated::Prompt, channel, plain(answers).as_bytes(), writer) {
        writer.answer(stamp, answers);
    }
}

/// A user message: a person's text, images, and many texts of Codex itself.
fn user(content: Option<Value<'_>>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let mut typed: Vec<String> = Vec::new();
    texts(content, |raw| {
        let part = raw.decode();
        match user_text::classify(&part) {
            UserText::Prompt(words) if !words.trim().is_empty() => typed.push(words.into_owned()),
            UserText::Prompt(_) | UserText::Harness => {
                // The only place of the working directory in old files.
                let cwd = raw.after(b"<environment_context>").and_then(|inside| inside.after(b"<cwd>"));
                cwd.into_iter().for_each(|cwd| writer.cwd(stamp, cwd.before(b"</cwd>")));
            }
            UserText::Command(command, code, output) => {
                writer.persons_command(stamp, command);
                writer.persons_output(stamp, output, code);
            }
            UserText::Summary(summary) => writer.summary(stamp, summary),
            UserText::Answers(answers) => answered(&answers, Channel::Response, stamp, writer),
        }
    });
    prompt(&typed.join("\n"), Channel::Response, stamp, writer);
    for block in content.into_iter().flat_map(Value::elements) {
        let [kind, url] = pick(block, [b"type", b"image_url"]);
        if text(kind).is_some_and(|kind| kind.raw() == b"input_image") {
            writer.wordless_prompt(stamp);
            writer.media(stamp, &image(text(url)));
        }
    }
}

/// An image as one line: kind, and size if the record contains the data.
fn image(url: Option<Text<'_>>) -> String {
    let inside = url.and_then(|url| url.raw().strip_prefix(b"data:")).and_then(|data| {
        let (kind, data) = data.split_at(data.iter().position(|byte| *byte == b',')?);
        let kind = std::str::from_utf8(kind.strip_suffix(b";base64")?).ok()?;
        let plain = kind.len() <= 40
            && kind.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'-' | b'+' | b'.'));
        plain.then(|| format!("[image {kind}, {}]", size((data.len() - 1) / 4 * 3)))
    });
    inside.unwrap_or_else(|| "[image]".to_owned())
}

/// The model's thinking, except what the service encrypts.
fn reasoning(payload: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let mut any = false;
    for part in pick(payload, [b"summary", b"content"]) {
        texts(part, |part| {
            any = true;
            thinking(part, Channel::Response, stamp, writer);
        });
    }
    if !any {
        writer.thinking(stamp, None);
    }
}

/// A part of the model's thinking, unless it is a repetition.
pub(super) fn thinking(part: Text<'_>, channel: Channel, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    if !part.is_blank() && is_news(Repeated::Thinking, channel, part.trim_end().raw(), writer) {
        writer.thinking(stamp, Some(part));
    }
}

/// A web search, or a page that was opened. The record comes at its end and does not contain the result.
pub(super) fn web_search(action: Option<Value<'_>>, channel: Channel, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [kind, query, queries, url, pattern] =
        action.map_or([None; 5], |it| pick(it, [b"type", b"query", b"queries", b"url", b"pattern"]));
    let query = text(query).or_else(|| queries?.elements().find_map(Value::text));
    let url = text(url);
    let is_page = text(kind).is_some_and(|kind| kind.raw() != b"search") && url.is_some();
    let asked = url.or(query).map_or(&b""[..], Text::raw);
    if !is_news(Repeated::Search, channel, asked, writer) {
        return;
    }
    let name = if is_page { "web_fetch" } else { "web_search" };
    if writer.note_call(None, name) && writer.wants_text {
        let mut parameters = serde_json::Map::new();
        for (key, value) in [("query", query), ("url", url), ("pattern", text(pattern))] {
            if let Some(value) = value {
                parameters.insert(key.to_owned(), json!(value.decode()));
            }
        }
        let parameters = serde_json::Value::Object(parameters).to_string();
        writer.emit_call(Act::of_tool(name), stamp, None, name, Value::Object(parameters.as_bytes().into()), None);
    }
}
