//! What is different in the documents of Cline's program for the terminal.

use std::borrow::Cow;

use serde_json::json;

use crate::filter::result::Output;
use crate::filter::{MAX_NAME_CHARS, one_line};
use crate::item::Usage;
use baton_redaction::raw_json::{Found, Value, first_object};

use super::super::codex::{number, pick, text};
use super::super::item_writer::{ItemWriter, Stamp};

/// Tools that take a list: its name, the field of an element that is no text itself, and the parameter by which one
/// element is stored.
const LISTS: &[(&str, &[u8], &[u8], &str)] = &[
    ("run_commands", b"commands", b"command", "command"),
    ("read_files", b"files", b"path", "path"),
    ("search_codebase", b"queries", b"query", "query"),
    ("fetch_web_content", b"requests", b"url", "url"),
];
/// The tool whose elements, several commands, are one script.
const SCRIPT: &str = "run_commands";
/// Text before the exit code of a command.
const EXIT_CODE: &str = "exited with code ";
/// A switch by a person is in a message of theirs.
const NOTICE: [&str; 2] = ["<mode_notice>", "</mode_notice>"];
/// Elements with a prompt, which have attributes.
const PROMPTS: [&str; 2] = ["user_input", "user_command"];

/// What the document says of itself.
pub(super) fn header(header: Value<'_>, writer: &mut ItemWriter<'_>) {
    let origin = header.get(b"origin").unwrap_or(Value::Null);
    let [version, parent, session] = pick(origin, [b"version", b"parentThreadId", b"sessionId"]);
    text(version).into_iter().for_each(|version| writer.seen.see_version(version.raw()));
    text(parent.or(session)).into_iter().for_each(|session| writer.session(session));
}

/// True if the message stands for those before it.
pub(super) fn is_summary(metadata: Value<'_>) -> bool {
    metadata.get(b"kind").and_then(Value::text).is_some_and(|kind| kind.raw() == b"compaction_summary")
}

/// Emits the tokens of a message.
pub(super) fn usage(message: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [model, metrics] = pick(message, [b"modelInfo", b"metrics"]);
    let Some(metrics @ Value::Object(_)) = metrics else { return };
    let model = model.and_then(|model| model.get(b"id")).and_then(Value::text);
    let count = |name: &[u8]| number(metrics.get(name)).unwrap_or(0);
    writer.usage(stamp, None, || Usage {
        model: model.map_or_else(String::new, |model| one_line(&model.decode(), MAX_NAME_CHARS)),
        input: count(b"inputTokens"),
        output: count(b"outputTokens"),
        cache_read: count(b"cacheReadTokens"),
        cache_creation: count(b"cacheWriteTokens"),
        ..Usage::default()
    });
}

/// The parameters of a call whose list has one element, or is a script, as JSON; `None` for all others.
pub(super) fn only_element(tool: &str, input: Value<'_>) -> Option<String> {
    let (_, list, field, stored) = LISTS.iter().find(|(name, ..)| *name == tool)?;
    let elements = match input.get(list)? {
        one @ Value::Text(_) => vec![one],
        list => list.elements().collect(),
    };
    let text_of = |value: &Value<'_>| Some(value.get(field).unwrap_or(*value).text()?.decode().into_owned());
    let texts: Vec<String> = elements.iter().map(text_of).collect::<Option<_>>()?;
    match texts.as_slice() {
        [] => None,
        [_, _, ..] if tool != SCRIPT => None,
        texts => Some(json!({ *stored: texts.join("\n") }).to_string()),
    }
}

/// The prompt in a text of its own.
pub(super) fn prompt(text: &str) -> Option<Cow<'_, str>> {
    let text = match text.strip_prefix(NOTICE[0]) {
        Some(notice) => notice.split_once(NOTICE[1])?.1.trim_start(),
        None => text,
    };
    let (name, rest) = PROMPTS.iter().find_map(|name| Some((*name, text.strip_prefix('<')?.strip_prefix(name)?)))?;
    let (attributes, rest) = rest.split_once('>')?;
    let typed = without_notices(&rest[..rest.rfind(&format!("</{name}>"))?]);
    let command = attributes.split_once("slash=\"").and_then(|(_, slash)| slash.split('"').next());
    Some(match command {
        Some(command) => format!("/{command} {}", typed.trim()).into(),
        None => typed,
    })
}

fn without_notices(text: &str) -> Cow<'_, str> {
    match text.split_once(NOTICE[0]).and_then(|(before, rest)| Some((before, rest.split_once(NOTICE[1])?.1))) {
        Some((before, after)) => format!("{before}{}", without_notices(after)).into(),
        None => text.into(),
    }
}

/// Passes the results of a call, if they are such objects, as one output to `take`, and whether any failed.
pub(super) fn results<T>(content: Option<Value<'_>>, take: impl FnOnce(Output<'_>, bool) -> T) -> Option<T> {
    let decoded;
    let mut found: Vec<Value<'_>> = match content {
        Some(Value::Text(text)) => {
            decoded = text.decode();
            match first_object(decoded.as_bytes()) {
                Found::Object(mut fields) => {
                    fields.by_ref().for_each(drop);
                    fields.object().into_iter().collect()
                }
                _ => Vec::new(),
            }
        }
        Some(array @ Value::Array(_)) => array.elements().collect(),
        _ => Vec::new(),
    };
    let is_result = |value: &Value<'_>| value.get(b"success").is_some() || value.get(b"error").is_some();
    if found.is_empty() || !found.iter().all(is_result) {
        return None;
    }
    let succeeded = |value: &Value<'_>| value.get(b"success").is_some_and(Value::is_true);
    let has_failed = !found.iter().all(succeeded);
    // A failed result says why.
    found.sort_by_key(succeeded);
    let code = |value: &Value<'_>| exit_code(&value.get(b"error")?.text()?.decode());
    let texts = found.iter().flat_map(|value| {
        let [result, error] = pick(*value, [b"result", b"error"]);
        // The exit code also stands in brackets before the output.
        match (code(value), text(result)) {
            (Some(_), Some(result)) => [result.after(b"]\\n").or(Some(result)), None],
            (_, result) => [text(error), result],
        }
    });
    let texts = texts.flatten().filter(|text| !text.is_blank());
    let mut output = Output::of(texts);
    output.facts.exit_code = found.iter().find_map(code);
    Some(take(output, has_failed))
}

fn exit_code(error: &str) -> Option<i32> {
    error.rsplit_once(EXIT_CODE)?.1.trim().parse().ok()
}
