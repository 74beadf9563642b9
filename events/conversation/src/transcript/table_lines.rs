//! Lines of sessions in databases, for agents whose messages need no form of their own: each says one thing, and all are
//! read alike.

use serde_json::{Value as Json, json};

use crate::filter::media::Media;
use crate::filter::result::Output;
use crate::item::{Act, Agent, Outcome, Usage};
use crate::record::{SessionId, Timestamp};

use super::claude::{Author, Delivery, PromptParts};
use super::codex::{number, pick, text};
use super::ended::how_it_failed;
use super::item_writer::{ItemWriter, Stamp};
use super::location::{Kind, Located, session_of};
use super::table::{Cell, Lines, raw};
use baton_redaction::raw_json::{Fields, Text, Value};

/// Stands in a path for the parent of a subagent whose database does not name it.
pub(super) const UNNAMED: &str = "-";
/// What a result's line says of how it ended, if its text does not.
pub(super) const DENIED: &str = "denied";
pub(super) const INTERRUPTED: &str = "interrupted";
/// Seconds above which a time is one in milliseconds.
const MAX_SECONDS: i64 = 100_000_000_000;
/// Bytes of a result that are searched for how it ended.
const LEAD_BYTES: usize = 200;

/// A message whose parts are rendered.
pub(super) struct Message<'l> {
    lines: &'l mut Lines,
    id: Json,
    at: Option<i64>,
}

impl<'l> Message<'l> {
    /// A message with its time in seconds or milliseconds, if it is known.
    pub(super) fn new(id: Cell<'_>, time: Cell<'_>, lines: &'l mut Lines) -> Self {
        let at = match time {
            Cell::Integer(time) if time > MAX_SECONDS => Some(time),
            Cell::Integer(time) => time.checked_mul(1_000),
            // Beyond the range it is the largest number, which is refused.
            Cell::Real(seconds) => Some((seconds * 1_000.0) as i64),
            _ => None,
        };
        let at = at.filter(|at| (1..MAX_SECONDS * 1_000).contains(at));
        Self { lines, id: id.text().map_or(Json::Null, Json::from), at }
    }

    /// Adds a line: what it is, and its fields.
    pub(super) fn push(&mut self, kind: &str, fields: &Json) {
        let (kind, at, id) = (json!(kind).to_string(), json!(self.at).to_string(), self.id.to_string());
        let fields = fields.as_object().into_iter().flatten();
        let fields: Vec<(&str, String)> = fields.map(|(name, value)| (name.as_str(), value.to_string())).collect();
        let about = [("type", kind.as_str()), ("at", &at), ("message", &id)];
        let all = about.into_iter().chain(fields.iter().map(|(name, value)| (*name, value.as_str())));
        let all: Vec<(&str, Value<'_>)> = all.map(|(name, value)| (name, raw(value.as_bytes()))).collect();
        self.lines.push(&all);
    }

    /// Adds a line with a text, unless it is blank.
    pub(super) fn say(&mut self, kind: &str, said: Option<&str>) {
        if let Some(said) = said.filter(|said| !said.trim().is_empty()) {
            self.push(kind, &json!({ "text": said }));
        }
    }

    /// Adds a picture of this type; `alone` if no text comes with it.
    pub(super) fn image(&mut self, media_type: &Json, alone: bool) {
        self.push("image", &json!({ "source": { "media_type": media_type }, "alone": alone }));
    }

    /// Adds a call; its arguments are an object, or one in a text.
    pub(super) fn call(&mut self, id: &Json, name: &Json, arguments: &Json) {
        let written = arguments.as_str().and_then(|written| serde_json::from_str(written).ok());
        let input = written.unwrap_or_else(|| arguments.clone());
        self.push("call", &json!({ "id": id, "name": name, "input": input }));
    }
}

/// How an agent's calls are told.
pub(super) struct Manner {
    /// The act of a call by its tool's name.
    pub(super) act: fn(&str, Value<'_>) -> Act,
    /// Beginnings of the results of calls that a person or a rule refused, and of those that were stopped.
    pub(super) refused: &'static [&'static str],
    pub(super) stopped: &'static [&'static str],
}

/// The session that `<session>` or `<parent>/<session>` names, below a database.
pub(super) fn located(agent: Agent, sessions: &str) -> Option<Located> {
    let (parent, id) = sessions.rsplit_once('/').map_or((None, sessions), |(parent, id)| (Some(parent), id));
    let kind = match parent {
        None => Kind::Main,
        Some(UNNAMED) => Kind::Subagent { parent: None },
        Some(parent) => Kind::Subagent { parent: Some(SessionId::new(parent).filter(|_| !parent.contains('/'))?) },
    };
    Some(Located { agent, session: session_of(id)?, kind })
}

/// Reads a line.
pub(super) fn record(fields: Fields<'_>, manner: &Manner, writer: &mut ItemWriter<'_>) -> Option<usize> {
    let call = |id: Option<Text<'_>>, name: &str, input: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>| {
        writer.call_as((manner.act)(name, input), stamp, id, name, input);
    };
    record_by(fields, manner, call, writer)
}

/// Reads a line, a call by `call`: its id, its tool's name and its arguments.
pub(super) fn record_by(
    mut fields: Fields<'_>,
    manner: &Manner,
    call: impl FnOnce(Option<Text<'_>>, &str, Value<'_>, &Stamp<'_>, &mut ItemWriter<'_>),
    writer: &mut ItemWriter<'_>,
) -> Option<usize> {
    fields.by_ref().for_each(drop);
    let end = fields.end()?;
    let line = fields.object().unwrap_or(Value::Null);
    let [kind, message, said, directory] = pick(line, [b"type", b"message", b"text", b"directory"]).map(text);
    let kind = kind.map_or(&b""[..], Text::raw);
    let message = message.filter(|id| !id.is_blank());
    let at = number(line.get(b"at")).and_then(|at| i64::try_from(at).ok()).map(Timestamp);
    let stamp = match kind {
        b"prompt" => Stamp { at, uuid: message, ..Stamp::default() },
        _ => Stamp { at, message, ..Stamp::default() },
    };
    let words = said.unwrap_or(Text::new(b""));
    writer.begin(&stamp);
    writer.seen.count_type(kind);
    match kind {
        b"session" => {}
        b"directory" => directory.into_iter().for_each(|cwd| writer.cwd(&stamp, cwd)),
        b"prompt" => {
            let mut typed = PromptParts::default();
            typed.text(words);
            typed.emit(Author::Unknown, Delivery::Typed, &stamp, writer);
        }
        b"image" => image(line, &stamp, writer),
        b"reply" => writer.reply(&stamp, words, true),
        b"thinking" => writer.thinking(&stamp, said),
        b"model" => writer.named_model(&stamp, words),
        b"parent" => writer.session(words),
        b"usage" => usage(line, &stamp, writer),
        b"call" => {
            let [id, name, input] = pick(line, [b"id", b"name", b"input"]);
            let (name, input) = (text(name).map(Text::decode).unwrap_or_default(), input.unwrap_or(Value::Null));
            call(text(id), &name, input, &stamp, writer);
        }
        b"result" => result(line, manner, &stamp, writer),
        b"command" => command(line, &stamp, writer),
        b"compaction" => writer.compaction(&stamp, "", None, None),
        b"summary" if writer.wants_text => writer.summary(&stamp, &words.decode()),
        b"summary" => {}
        b"notice" => writer.notice(&stamp, &words.decode()),
        b"interruption" => writer.interruption(&stamp),
        b"oversize" => {
            writer.seen.oversize += 1;
            writer.seen.count_unknown("oversize", 1);
        }
        unknown => writer.seen.count_unknown(&String::from_utf8_lossy(unknown), 1),
    }
    writer.end(&stamp);
    Some(end)
}

/// The tokens of a message, of the model that was named last.
fn usage(line: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let counts = pick(line, [b"input", b"output", b"cache_read", b"cache_creation"]);
    let [input, output, cache_read, cache_creation] = counts.map(|count| number(count).unwrap_or(0));
    let model = writer.model().to_owned();
    writer.usage(stamp, None, || Usage { model, input, output, cache_read, cache_creation, ..Usage::default() });
}

fn exit_code(line: Value<'_>) -> Option<i32> {
    match line.get(b"exit")? {
        Value::Number(digits) => std::str::from_utf8(digits).ok()?.parse().ok(),
        _ => None,
    }
}

fn result(line: Value<'_>, manner: &Manner, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [id, said, failed, outcome] = pick(line, [b"id", b"output", b"failed", b"outcome"]);
    let id = text(id);
    if !writer.note_result(id) || !writer.wants_text {
        return;
    }
    let mut output = Output::parse(said);
    output.facts.exit_code = exit_code(line);
    let has_failed = failed.is_some_and(Value::is_true) || output.facts.exit_code.is_some_and(|code| code != 0);
    let lead = output.head(LEAD_BYTES);
    let begins = |starts: &[&str]| starts.iter().any(|start| lead.starts_with(start));
    let told = text(outcome).map_or(&b""[..], Text::raw);
    let outcome = match has_failed {
        _ if told == DENIED.as_bytes() || begins(manner.refused) => Outcome::Denied,
        _ if told == INTERRUPTED.as_bytes() || begins(manner.stopped) => Outcome::Interrupted,
        true => how_it_failed(&output),
        false => Outcome::Ok,
    };
    writer.result(stamp, id, outcome, &output);
}

/// A picture that a person gave; without text it is a prompt of its own.
fn image(line: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [source, alone] = pick(line, [b"source", b"alone"]);
    if alone.is_some_and(Value::is_true) {
        writer.abandon_calls(stamp);
        writer.wordless_prompt(stamp);
    }
    writer.media(stamp, &Media::image(source.unwrap_or(Value::Null)).line());
}

/// A command that a person ran, and what it printed.
fn command(line: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [command, printed] = pick(line, [b"command", b"output"]).map(text).map(|it| it.map(Text::decode));
    writer.persons_command(stamp, &command.unwrap_or_default());
    writer.persons_output(stamp, &printed.unwrap_or_default(), exit_code(line));
}

#[cfg(test)]
mod tests;
