//! Transcripts of Kiro CLI: JSON Lines of `{version, kind, data}`, one message each. Title, working directory and model
//! are in another file, and only prompts have a time.

use serde_json::json;

use crate::filter::media::Media;
use crate::filter::result::Output;
use crate::item::{Act, Agent, Outcome};
use crate::record::Timestamp;

use super::codex::{number, pick, text};
use super::ended::how_it_failed;
use super::format::{Format, Layout, WorkingDirectory, field_of};
use super::item_writer::{ItemWriter, Stamp};
use super::location::{self, Kind, Located};
use super::tools::Tools;
use baton_redaction::raw_json::{Fields, Text, Value};

/// Text between the names of a server and of its tool, if more than one server has a tool of this name.
const SERVER_END: &str = "___";
/// What Kiro writes for the agent when a person stops it.
const INTERRUPTED: &[u8] = b"Tool uses were interrupted, waiting for the next user prompt";

/// The format of Kiro CLI.
pub(super) enum Kiro {}

impl Format for Kiro {
    const LAYOUT: Layout = Layout {
        folders: &["sessions"],
        // `cli/`
        depth: 2,
        working_directory: WorkingDirectory::Beside { file: "*.json", pointer: "/cwd" },
        title: Some(("*.json", "/title")),
        ..Layout::LINES
    };
    const TOOLS: Tools = Tools {
        acts: &[
            (Act::Shell, "execute_bash execute_cmd"),
            (Act::Edit, "write fs_write edit"),
            (Act::Read, "read fs_read"),
            (Act::Search, "grep glob code"),
            (Act::Fetch, "fetch"),
            (Act::Todo, "todo_list todo"),
            (Act::Spawn, "use_subagent subagent delegate"),
        ],
        parameters: &[
            ("__tool_use_purpose", "description"),
            ("old_str", "old_string"),
            ("new_str", "new_string"),
            ("oldStr", "old_string"),
            ("newStr", "new_string"),
            ("file_text", "content"),
        ],
    };

    fn classify(rel_path: &str) -> Option<Located> {
        let stem = rel_path.strip_prefix("cli/")?.strip_suffix(".jsonl")?;
        if stem.contains('/') || stem.starts_with('.') {
            return None;
        }
        // Only the other file shows which of them are subagents'.
        Some(Located { agent: Agent::Kiro, session: location::session_of(stem)?, kind: Kind::Main })
    }

    fn record(mut fields: Fields<'_>, writer: &mut ItemWriter<'_>) -> Option<usize> {
        let (mut kind, mut data, mut version) = (&b""[..], Value::Null, None);
        for (key, value) in fields.by_ref() {
            match key.raw() {
                b"kind" => kind = value.text().map_or(&b""[..], Text::raw),
                b"data" => data = value,
                b"version" => version = value.text(),
                _ => {}
            }
        }
        let end = fields.end()?;
        let [id, content, meta] = pick(data, [b"message_id", b"content", b"meta"]);
        let id = text(id).filter(|id| !id.is_blank());
        let seconds = number(meta.and_then(|meta| meta.get(b"timestamp"))).and_then(|time| i64::try_from(time).ok());
        let at = seconds.and_then(|time| time.checked_mul(1_000)).map(Timestamp);
        let stamp = Stamp { at, uuid: id, ..Stamp::default() };
        writer.begin(&stamp);
        writer.seen.count_type(kind);
        version.into_iter().for_each(|version| writer.seen.see_format(version.raw()));
        let content = content.unwrap_or(Value::Null);
        match kind {
            b"Prompt" | b"AssistantMessage" | b"ToolResults" => {
                if let Some(before) = writer.next_message(id) {
                    let below = Some(Text::new(before.as_bytes()));
                    match kind {
                        b"Prompt" => prompt(content, &Stamp { below, ..stamp }, writer),
                        b"AssistantMessage" => reply(content, &Stamp { message: id, ..stamp }, writer),
                        _ => results(content, &stamp, writer),
                    }
                }
            }
            b"Compaction" => compaction(data, &stamp, writer),
            b"Clear" => writer.messages_begin(0),
            b"ResetTo" => {
                let index = number(data.get(b"target_index"));
                index.into_iter().for_each(|count| writer.back_to(&stamp, count));
            }
            unknown => writer.seen.count_unknown(&String::from_utf8_lossy(unknown), 1),
        }
        writer.end(&stamp);
        Some(end)
    }

    fn kind_of(head: &[u8]) -> Option<String> {
        field_of(head, b"kind")
    }
}

/// The blocks of a message: kind and data.
fn blocks(content: Value<'_>) -> impl Iterator<Item = (&[u8], Value<'_>)> {
    content.elements().map(|block| {
        let [kind, data] = pick(block, [b"kind", b"data"]);
        (text(kind).map_or(&b""[..], Text::raw), data.unwrap_or(Value::Null))
    })
}

fn unknown_block(kind: &[u8], writer: &mut ItemWriter<'_>) {
    writer.seen.count_unknown(&format!("block:{}", String::from_utf8_lossy(kind)), 1);
}

fn prompt(content: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    writer.abandon_calls(stamp);
    let texts = blocks(content).filter_map(|(kind, data)| data.text().filter(|_| kind == b"text"));
    let typed: Vec<_> = texts.map(Text::decode).collect();
    if typed.iter().any(|part| !part.trim().is_empty()) {
        writer.prompt(stamp, &typed.join("\n"));
    }
    for (kind, data) in blocks(content) {
        match kind {
            b"text" => {}
            b"image" => {
                writer.wordless_prompt(stamp);
                writer.media(stamp, &Media::image(data.get(b"source").unwrap_or(data)).line());
            }
            other => unknown_block(other, writer),
        }
    }
}

fn reply(content: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let calls = blocks(content).any(|(kind, _)| kind == b"toolUse");
    for (kind, data) in blocks(content) {
        match (kind, data) {
            (b"text", Value::Text(said)) if said.trim_end().raw() == INTERRUPTED => writer.interruption(stamp),
            (b"text", Value::Text(said)) => writer.reply(stamp, said, !calls),
            (b"thinking", data) => {
                let [said, thinking, model] = pick(data, [b"text", b"thinking", b"modelId"]);
                text(model).into_iter().for_each(|model| writer.named_model(stamp, model));
                writer.thinking(stamp, data.text().or(text(said)).or(text(thinking)));
            }
            (b"redactedThinking", _) => writer.thinking(stamp, None),
            (b"toolUse", data) => call(data, stamp, writer),
            (other, _) => unknown_block(other, writer),
        }
    }
}

fn call(data: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [id, name, input] = pick(data, [b"toolUseId", b"name", b"input"]);
    let (name, input) = (text(name).map(Text::decode).unwrap_or_default(), input.unwrap_or(Value::Null));
    let served = name.strip_prefix('@').and_then(|name| name.split_once('/')).or_else(|| name.split_once(SERVER_END));
    match served {
        Some((server, tool)) => {
            writer.call_as(Act::Mcp, stamp, text(id), &format!("mcp__{server}__{tool}"), input);
        }
        None => {
            let act = Kiro::TOOLS.act(&name);
            let written = if writer.wants_text { of_a_file(act, input) } else { None };
            let input = written.as_deref().map_or(input, |json| Value::Object(json.as_bytes().into()));
            writer.call_as(act, stamp, text(id), &name, input);
        }
    }
}

/// The parameters of a call that reads or changes a file, in the common form: a single operation stands for the list.
fn of_a_file(act: Act, input: Value<'_>) -> Option<String> {
    let Value::Object(bytes) = input else { return None };
    if !matches!(act, Act::Read | Act::Edit) {
        return None;
    }
    let mut whole: serde_json::Map<_, _> = serde_json::from_slice(&bytes).ok()?;
    if let Some([serde_json::Value::Object(only)]) =
        whole.get("operations").and_then(|all| all.as_array()).map(Vec::as_slice)
    {
        let only = only.clone();
        whole.remove("operations");
        whole.extend(only);
    }
    if let Some(path) = whole.remove("path") {
        whole.insert("file_path".to_owned(), path);
    }
    Some(json!(whole).to_string())
}

fn results(content: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    for (kind, data) in blocks(content) {
        match kind {
            b"toolResult" => result(data, stamp, writer),
            other => unknown_block(other, writer),
        }
    }
}

fn result(data: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [id, status, content] = pick(data, [b"toolUseId", b"status", b"content"]);
    if !writer.note_result(text(id)) || !writer.wants_text {
        return;
    }
    let (mut texts, mut exit) = (Vec::new(), None);
    for (_, data) in blocks(content.unwrap_or(Value::Null)) {
        let [stdout, stderr, exit_status] = pick(data, [b"stdout", b"stderr", b"exit_status"]);
        texts.extend([data.text(), text(stdout), text(stderr)].into_iter().flatten().filter(|text| !text.is_blank()));
        exit = text(exit_status).or(exit);
    }
    let mut output = Output::of(texts);
    // `exit status: 1`, or `signal: 9 (SIGKILL)`.
    let exit = exit.map(Text::decode);
    output.facts.exit_code = exit.as_ref().and_then(|exit| exit.strip_prefix("exit status: ")?.trim().parse().ok());
    let is_error = text(status).is_some_and(|status| status.raw() == b"error");
    let is_killed = exit.is_some_and(|exit| exit.starts_with("signal"));
    let outcome = if is_error || is_killed { how_it_failed(&output) } else { Outcome::Ok };
    writer.result(stamp, text(id), outcome, &output);
}

/// A compaction: the messages after it follow those that it kept.
fn compaction(data: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [summary, kept] = pick(data, [b"summary", b"messages_snapshot"]);
    writer.compaction(stamp, "", None, None);
    if let Some(summary) = text(summary).filter(|_| writer.wants_text) {
        writer.summary(stamp, &summary.decode());
    }
    writer.messages_begin(kept.map_or(0, |kept| kept.elements().count() as u64));
}

#[cfg(test)]
mod tests;
