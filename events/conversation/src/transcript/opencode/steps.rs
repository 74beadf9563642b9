//! The rows of OpenCode 2, each a step of the conversation that is written again while it goes on, as the lines that
//! [`rows`](super::rows) makes of the parts of earlier versions.

use super::rows::{Rows, TOKENS, is_over};
use crate::transcript::codex::pick;
use crate::transcript::table::{Key, Lines, fields, raw, write_object};
use baton_redaction::raw_json::{Text, Value};

/// Steps without conversation, or that repeat what another one says.
const SILENT: &[&[u8]] =
    &[b"synthetic", b"system", b"skill", b"agent-switched", b"model-switched", b"location-switched"];
/// A line of a command's result that repeats its exit code.
const EXITED: &[u8] = b"Command exited with code ";

const SAID: &[Key] = &[Key("text", &[])];
const FILE: &[Key] = &[Key("mime", &[])];
const SHELL: &[Key] =
    &[Key("command", &[]), Key("status", &[]), Key("exit", &[]), Key("output", &[Key("output", &[])])];

impl Rows {
    /// Adds the lines of a step of this type.
    pub(super) fn step(
        &mut self,
        kind: &[u8],
        [id, at]: [&[u8]; 2],
        data: Value<'_>,
        is_lost: bool,
        lines: &mut Lines,
    ) {
        self.role = if kind == b"assistant" { b"assistant".to_vec() } else { b"user".to_vec() };
        self.is_summary = false;
        match kind {
            silent if SILENT.contains(&silent) => {}
            _ if is_lost => self.push(b"oversize", id, raw(at), &[], lines),
            b"user" => {
                self.push(b"text", id, raw(at), &fields(data, SAID), lines);
                for file in data.get(b"files").unwrap_or(Value::Null).elements() {
                    self.push(b"file", id, raw(at), &fields(file, FILE), lines);
                }
            }
            b"assistant" => self.turn([id, at], data, lines),
            b"shell" => {
                if is(data, b"status", b"running") {
                    lines.open();
                }
                self.push(b"shell", id, raw(at), &fields(data, SHELL), lines);
            }
            b"compaction" => self.compaction([id, at], data, lines),
            b"idle" => {
                lines.settle();
                if is(data, b"outcome", b"interrupted") && !self.is_stopped {
                    let error = object(&[("name", Value::Text(Text::new(super::ABORTED[1])))]);
                    self.push(b"retry", id, raw(at), &inside(&[("error", raw(&error))]), lines);
                }
                self.is_stopped = false;
            }
            unknown => self.push(unknown, id, raw(at), &[], lines),
        }
    }

    /// What the agent said and called, in one answer of the model's.
    fn turn(&mut self, [id, at]: [&[u8]; 2], data: Value<'_>, lines: &mut Lines) {
        // An earlier step gets nothing more once the next one has begun.
        lines.settle();
        self.is_over = is_over(data);
        let mut parts = data.get(b"content").unwrap_or(Value::Null).elements().peekable();
        while let Some(part) = parts.next() {
            let is_growing = !self.is_over && parts.peek().is_none();
            match kind_of(part) {
                b"tool" => self.call([id, at], part, lines),
                kind => {
                    if is_growing {
                        lines.open();
                    }
                    self.push(kind, id, raw(at), &fields(part, SAID), lines);
                }
            }
        }
        if !self.is_over {
            return lines.open();
        }
        let [error, model, time] = pick(data, [b"error", b"model", b"time"]);
        self.is_stopped = error.is_some_and(|error| is(error, b"type", super::ABORTED[1]));
        let mut given = fields(data, &[TOKENS]);
        if let Some(model) = model.and_then(|model| model.get(b"id")) {
            append(&mut given, "modelID", model);
        }
        if let Some(error) = error {
            append(&mut given, "error", raw(&named(error)));
        }
        let at = time.and_then(|time| time.get(b"completed")).unwrap_or(raw(at));
        self.push(b"end", id, at, &given, lines);
    }

    fn call(&self, [message, at]: [&[u8]; 2], part: Value<'_>, lines: &mut Lines) {
        // The id was `callID` in a step that is a copy of an earlier version's parts.
        let [id, older, name, state, time] = pick(part, [b"id", b"callID", b"name", b"state", b"time"]);
        let [id, name] = [older.or(id), name].map(|text| text.unwrap_or(Value::Null));
        let state = state.unwrap_or(Value::Null);
        let [input, status] = pick(state, [b"input", b"status"]);
        let status = status.and_then(Value::text).map_or(&b""[..], Text::raw);
        let is_finished = matches!(status, b"completed" | b"error");
        let input = match input {
            Some(input @ Value::Object(_)) => input,
            // It is being written.
            _ if !is_finished => return lines.open(),
            _ => raw(b"{}"),
        };
        let called =
            |state: &[(&str, Value<'_>)]| inside(&[("tool", name), ("callID", id), ("state", raw(&object(state)))]);
        let [began, ended] = pick(time.unwrap_or(Value::Null), [b"ran", b"completed"]);
        self.push(b"call", message, began.unwrap_or(raw(at)), &called(&[("input", input)]), lines);
        if is_finished {
            self.push(b"result", message, ended.unwrap_or(raw(at)), &called_result(state, called), lines);
        } else if !self.is_over {
            lines.open();
        }
    }

    fn compaction(&mut self, [id, at]: [&[u8]; 2], data: Value<'_>, lines: &mut Lines) {
        if is(data, b"status", b"running") {
            return lines.open();
        }
        if let Some(error) = data.get(b"error") {
            return self.push(b"retry", id, raw(at), &inside(&[("error", raw(&named(error)))]), lines);
        }
        let is_auto = Value::Bool(is(data, b"reason", b"auto"));
        self.push(b"compaction", id, raw(at), &inside(&[("auto", is_auto)]), lines);
        (self.role, self.is_summary) = (b"assistant".to_vec(), true);
        let summary = data.get(b"summary").unwrap_or(Value::Null);
        self.push(b"text", id, raw(at), &inside(&[("text", summary)]), lines);
    }
}

/// The result of a call in this state, as `called` writes it.
fn called_result(state: Value<'_>, called: impl Fn(&[(&str, Value<'_>)]) -> Vec<u8>) -> Vec<u8> {
    let names: [&[u8]; 5] = [b"status", b"content", b"error", b"metadata", b"structured"];
    let [status, content, error, metadata, structured] = pick(state, names);
    let mut output = vec![b'['];
    for item in content.unwrap_or(Value::Null).elements() {
        let text = item.get(b"text").and_then(Value::text);
        if text.is_some_and(|text| text.raw().starts_with(EXITED)) {
            continue;
        }
        if output.len() > 1 {
            output.push(b',');
        }
        let is_image = item.get(b"mime").and_then(Value::text).is_some_and(|mime| mime.raw().starts_with(b"image/"));
        let media = Value::Text(Text::new(if is_image { b"image" } else { b"document" }));
        match text {
            Some(text) => {
                write_object(&[("type", Value::Text(Text::new(b"text"))), ("text", Value::Text(text))], &mut output);
            }
            None => write_object(&[("type", media)], &mut output),
        }
    }
    output.push(b']');
    let [exit, timeout, agent, shell, running] = pick(
        metadata.or(structured).unwrap_or(Value::Null),
        [b"exit", b"timeout", b"sessionID", b"shellID", b"status"],
    );
    let is_running = running.and_then(Value::text).is_some_and(|status| status.raw() == b"running");
    let metadata = [("exit", exit), ("timeout", timeout), ("sessionId", agent), ("task", shell.filter(|_| is_running))];
    let metadata: Vec<_> = metadata.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    let metadata = object(&metadata);
    let mut given = vec![("status", status.unwrap_or(Value::Null)), ("metadata", raw(&metadata))];
    if output.len() > 2 {
        given.push(("output", raw(&output)));
    }
    if let Some(error) = error {
        let [kind, message] = pick(error, [b"type", b"message"]);
        given.extend([("error", message.unwrap_or(Value::Null)), ("reason", kind.unwrap_or(Value::Null))]);
    }
    called(&given)
}

/// An error as earlier versions have it.
fn named(error: Value<'_>) -> Vec<u8> {
    let [kind, message] = pick(error, [b"type", b"message"]).map(|value| value.unwrap_or(Value::Null));
    object(&[("name", kind), ("data", raw(&object(&[("message", message)])))])
}

fn kind_of(part: Value<'_>) -> &[u8] {
    part.get(b"type").and_then(Value::text).map_or(&b""[..], Text::raw)
}

fn is(object: Value<'_>, name: &[u8], word: &[u8]) -> bool {
    object.get(name).and_then(Value::text).is_some_and(|text| text.raw() == word)
}

fn object(fields: &[(&str, Value<'_>)]) -> Vec<u8> {
    let mut json = Vec::new();
    write_object(fields, &mut json);
    json
}

/// An object without its braces.
fn inside(fields: &[(&str, Value<'_>)]) -> Vec<u8> {
    let json = object(fields);
    json[1..json.len() - 1].to_vec()
}

/// Adds a field to those of an object without its braces.
fn append(given: &mut Vec<u8>, name: &str, value: Value<'_>) {
    if !given.is_empty() {
        given.push(b',');
    }
    given.extend(inside(&[(name, value)]));
}

#[cfg(test)]
mod tests;
