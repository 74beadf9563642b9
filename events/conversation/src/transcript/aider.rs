//! Transcripts of Aider: Markdown that it appends to one file in the repository, for all sessions there. Each session's
//! part is read as lines: prompts, answers, and messages of the program, of which only the session's start has a time.
//!
//! # Hazards
//!
//! - Neither the output nor the outcome of a command is recorded, so none is told.

mod edits;
mod history;

use std::borrow::Cow;

use serde_json::json;

use crate::filter::result::Output;
use crate::item::{Act, Agent, Outcome, Usage};
use crate::record::Timestamp;

use super::codex::{pick, text};
use super::format::{Format, Layout};
use super::item_writer::{ItemWriter, Stamp};
use super::location::{self, Kind, Located};
use super::session_file::SessionFile;
use baton_redaction::raw_json::{Fields, Text, Value};

/// The file with a repository's sessions.
const HISTORY: &str = ".aider.chat.history.md";
/// What a command line that a person runs begins with.
const SHELL: &[&str] = &["/run ", "/test ", "!"];
/// Commands whose arguments are said to the model.
const ASKING: &[&str] = &["/ask", "/code", "/architect", "/context", "/help", "/chat-mode", "/voice"];
/// Commands that end the program.
const LEAVING: &[&str] = &["/exit", "/quit"];
/// What a prompt without text is recorded as.
const BLANK: &str = "<blank>";
/// Begins and ends what the model thinks; a fixed id follows.
const THINKING: [&str; 2] = ["<thinking-content-", "</thinking-content-"];
/// The messages that name the model.
const MODEL: &[&str] = &["Model: ", "Main model: "];

/// The format of Aider.
pub(super) enum Aider {}

impl Format for Aider {
    const LAYOUT: Layout = Layout { in_project: Some(HISTORY), endings: &[HISTORY], ..Layout::LINES };
    const SESSION_FILE: Option<SessionFile> =
        Some(SessionFile { name: HISTORY, sessions: history::sessions, lines: history::lines });

    fn classify(rel_path: &str) -> Option<Located> {
        let session = rel_path.strip_prefix(HISTORY)?.strip_prefix('/')?;
        Some(Located { agent: Agent::Aider, session: location::session_of(session)?, kind: Kind::Main })
    }

    fn record(mut fields: Fields<'_>, writer: &mut ItemWriter<'_>) -> Option<usize> {
        fields.by_ref().for_each(drop);
        let end = fields.end()?;
        let whole = fields.object().unwrap_or(Value::Null);
        let [kind, said, cwd, at, edits] = pick(whole, [b"type", b"text", b"cwd", b"timestamp", b"edits"]);
        let stamp = Stamp { at: text(at).and_then(|at| Timestamp::parse(&at.decode())), ..Stamp::default() };
        let kind = text(kind).map_or(&b""[..], Text::raw);
        writer.begin(&stamp);
        writer.seen.count_type(kind);
        let said = text(said).unwrap_or(Text::new(b""));
        match kind {
            b"session" => text(cwd).into_iter().for_each(|cwd| writer.cwd(&stamp, cwd)),
            b"user" => typed(&said.decode(), &stamp, writer),
            b"assistant" => answer(said, &stamp, writer),
            b"tool" => message(&said.decode(), edits, &stamp, writer),
            unknown => writer.seen.count_unknown(&String::from_utf8_lossy(unknown), 1),
        }
        writer.end(&stamp);
        Some(end)
    }
}

/// What a person typed: a prompt, or a command to the program.
fn typed(said: &str, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let said = said.trim();
    writer.seen.has_left = LEAVING.contains(&said);
    let name = said.split_whitespace().next().unwrap_or_default();
    let shell = SHELL.iter().find_map(|lead| said.strip_prefix(lead)).map(str::trim);
    let git = || said.starts_with("/git ").then(|| &said[1..]);
    if let Some(command) = shell.or_else(git).filter(|command| !command.is_empty()) {
        return writer.persons_command(stamp, command);
    }
    let is_asking = ASKING.contains(&name) && name.len() < said.len();
    match said {
        "" | BLANK => {}
        _ if is_asking || !is_command(name) => writer.prompt(stamp, said),
        _ => writer.notice(stamp, said),
    }
}

/// True for `/add` and the like, and not for a path.
fn is_command(name: &str) -> bool {
    let rest = name.strip_prefix('/');
    rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'))
}

/// An answer, and before it what the model thought.
fn answer(said: Text<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    if !said.raw().starts_with(THINKING[0].as_bytes()) {
        return writer.reply(stamp, said, true);
    }
    let whole = said.decode();
    let behind_tag = |text: &'_ str| text.find('>').map_or(text.len(), |end| end + 1);
    let (thought, rest) = match whole.split_once(THINKING[1]) {
        Some((thought, rest)) => (thought, &rest[behind_tag(rest)..]),
        None => (&*whole, ""),
    };
    let encoded = |text: &str| json!(text.trim()).to_string();
    let (thought, rest) = (encoded(&thought[behind_tag(thought)..]), encoded(rest));
    writer.thinking(stamp, Some(Text::new(unquoted(&thought))));
    writer.reply(stamp, Text::new(unquoted(&rest)), true);
}

fn unquoted(json: &str) -> &[u8] {
    json.as_bytes().get(1..json.len() - 1).unwrap_or_default()
}

/// A message of the program.
fn message(said: &str, edits: Option<Value<'_>>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    if said.trim().is_empty() {
        return;
    }
    if said == history::INTERRUPTED && writer.cursor.working {
        return writer.interruption(stamp);
    }
    let model = MODEL.iter().find_map(|lead| said.strip_prefix(lead)?.split(" with ").next());
    if let Some(model) = model {
        writer.named_model(stamp, Text::new(unquoted(&json!(model).to_string())));
    } else if let Some(usage) = tokens(said) {
        let (model, request) = (writer.model().to_owned(), writer.cursor.line.to_string());
        writer.usage(stamp, None, || Usage { model, request: Some(request.into()), ..usage });
    } else if let Some(file) = said.strip_prefix(edits::APPLIED) {
        edited(file, edits, stamp, writer);
    } else if let Some((hash, message)) = said.strip_prefix("Commit ").and_then(|rest| rest.split_once(' ')) {
        committed(hash, message, said, stamp, writer);
    } else if let Some(command) = said.strip_prefix("Running ").filter(|command| !command.trim().is_empty()) {
        let parameters = json!({ "command": command }).to_string();
        writer.emit_call(Act::Shell, stamp, None, "shell", Value::Object(parameters.as_bytes().into()), None);
    } else {
        writer.notice(stamp, said);
    }
}

/// An edit that was made.
fn edited(file: &str, edits: Option<Value<'_>>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let Some(Value::Array(_)) = edits else {
        return done(Act::Edit, "edit", &json!({ "file_path": file }), "", stamp, writer);
    };
    let edits: Vec<_> = edits.into_iter().flat_map(Value::elements).map(change).collect();
    done(Act::Edit, "edit", &json!({ "file_path": file, "edits": edits }), "", stamp, writer);
}

fn change(edit: Value<'_>) -> serde_json::Value {
    let [old, new] =
        pick(edit, [b"old_string", b"new_string"]).map(|part| text(part).map_or(Cow::Borrowed(""), Text::decode));
    json!({ "old_string": old, "new_string": new })
}

/// A commit that the program made.
fn committed(hash: &str, message: &str, said: &str, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let subject = message.lines().next().unwrap_or_default().trim();
    if hash.len() < 7 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) || subject.is_empty() {
        return writer.notice(stamp, said);
    }
    let command = format!("git commit -m \"{}\"", subject.replace('"', "\\\""));
    done(Act::Shell, "git", &json!({ "command": command }), &format!("[HEAD {hash}] {subject}"), stamp, writer);
}

/// A call that succeeded, and its result.
fn done(
    act: Act,
    name: &str,
    parameters: &serde_json::Value,
    printed: &str,
    stamp: &Stamp<'_>,
    writer: &mut ItemWriter<'_>,
) {
    let id = format!("{name}-{}", writer.cursor.line);
    let id = Some(Text::new(id.as_bytes()));
    let was_working = writer.cursor.working;
    writer.call_as(act, stamp, id, name, Value::Object(parameters.to_string().as_bytes().into()));
    if writer.note_result(id) {
        let printed = json!(printed).to_string();
        writer.result(stamp, id, Outcome::Ok, &Output::of([Text::new(unquoted(&printed))]));
    }
    writer.cursor.working = was_working;
}

/// The tokens of `Tokens: 4.2k sent, 1k cache write, 2k cache hit, 123 received. Cost: …`.
fn tokens(said: &str) -> Option<Usage> {
    let counts = said.strip_prefix("Tokens: ")?.split_once(" received")?.0;
    let mut usage = Usage::default();
    for part in counts.split(", ") {
        let (count, what) = part.split_once(' ').unwrap_or((part, "received"));
        let count = number(count)?;
        match what {
            "sent" => usage.input = count,
            "cache write" => usage.cache_creation = count,
            "cache hit" => usage.cache_read = count,
            _ => usage.output = count,
        }
    }
    // The sent tokens include both.
    usage.input = usage.input.saturating_sub(usage.cache_creation).saturating_sub(usage.cache_read);
    Some(usage)
}

/// `865`, `4.2k`, `12k`.
fn number(text: &str) -> Option<u64> {
    let (digits, unit) = match text.strip_suffix(['k', 'M']) {
        Some(digits) => (digits, if text.ends_with('k') { 1_000 } else { 1_000_000 }),
        None => (text, 1),
    };
    let (whole, tenth) = digits.split_once('.').unwrap_or((digits, "0"));
    let tenth = tenth.get(..1)?.parse::<u64>().ok()?;
    whole.replace(',', "").parse::<u64>().ok()?.checked_mul(unit)?.checked_add(tenth * unit / 10)
}

#[cfg(test)]
mod tests;
