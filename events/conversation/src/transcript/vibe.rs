//! Transcripts of Mistral Vibe: JSON Lines of messages in the form of the model's service. Title, working directory,
//! model and tokens are in another file, and nothing has a time.

use memchr::memmem;
use serde_json::json;

use crate::filter::result::Output;
use crate::item::{Act, Agent, Outcome};

use super::codex::{pick, text};
use super::format::{Format, Layout, WorkingDirectory, field_of};
use super::item_writer::{ItemWriter, Stamp};
use super::location::{self, Kind, Located};
use super::tools::Tools;
use baton_redaction::raw_json::{Fields, Text, Value};

const TRANSCRIPT: &str = "messages.jsonl";
const EDIT: &str = "search_replace";
/// Elements in which Vibe writes for the agent.
const CANCELLATION: &str = "<user_cancellation>";
const TOOL_ERROR: &str = "<tool_error>";
const TOOL_ERROR_END: &[u8] = b"</tool_error>";
const STOP: &str = "<vibe_stop_event>";
const WARNING: &[u8] = b"<vibe_warning>";
const SUMMARY: [&[u8]; 2] = [b"<compaction_summary>", b"</compaction_summary>"];
/// Words of a cancellation during the call; otherwise the person refused it.
const STOPPED: &[&str] = &["interrupted", "cancelled the operation"];
/// Names of the parts of a command's result, as they are written, and of the exit code of one that failed.
const PARTS: [&[u8]; 3] = [b"\\nstdout: ", b"\\nstderr: ", b"\\nreturncode: "];
const RETURN_CODE: &str = "Return code: ";
/// Lines around the texts of an edit.
const BLOCK: [&str; 3] = ["<<<<<<< SEARCH\n", "\n=======\n", "\n>>>>>>> REPLACE"];
/// Bytes of a result that are searched for how it ended.
const LEAD_BYTES: usize = 400;

/// The format of Mistral Vibe.
pub(super) enum Vibe {}

impl Format for Vibe {
    const LAYOUT: Layout = Layout {
        folders: &["logs"],
        endings: &[TRANSCRIPT],
        // `session/<session>/agents/<subagent>/`
        depth: 5,
        working_directory: WorkingDirectory::Beside { file: "meta.json", pointer: "/environment/working_directory" },
        title: Some(("meta.json", "/title")),
        ..Layout::LINES
    };
    const TOOLS: Tools = Tools {
        acts: &[
            (Act::Edit, "write_file search_replace write edit notebook_edit"),
            (Act::Read, "read_file read bash_output kill_shell"),
            (Act::Search, "grep glob ls ast_grep"),
            (Act::Plan, "enter_plan_mode exit_plan_mode"),
            (Act::Todo, "todo"),
            (Act::Ask, "ask_user_question"),
            (Act::Spawn, "task"),
            (Act::Other, "skill memory_read memory_write think learn image"),
        ],
        parameters: &[],
    };

    fn classify(rel_path: &str) -> Option<Located> {
        let names: Vec<&str> = rel_path.split('/').collect();
        let (folder, kind) = match names.as_slice() {
            ["session", session, TRANSCRIPT] => (session, Kind::Main),
            ["session", parent, "agents", agent, TRANSCRIPT] => {
                (agent, Kind::Subagent { parent: Some(session(parent)?) })
            }
            _ => return None,
        };
        Some(Located { agent: Agent::Vibe, session: session(folder)?, kind })
    }

    fn record(mut fields: Fields<'_>, writer: &mut ItemWriter<'_>) -> Option<usize> {
        fields.by_ref().for_each(drop);
        let end = fields.end()?;
        let names: [&[u8]; 7] =
            [b"role", b"content", b"injected", b"message_id", b"reasoning_content", b"tool_calls", b"tool_call_id"];
        let [role, content, injected, id, reasoning, calls, answers] =
            pick(fields.object().unwrap_or(Value::Null), names);
        let id = text(id).filter(|id| !id.is_blank());
        let stamp = Stamp { uuid: id, ..Stamp::default() };
        let role = text(role).map_or(&b""[..], Text::raw);
        writer.begin(&stamp);
        writer.seen.count_type(role);
        let content = text(content).unwrap_or(Text::new(b""));
        match role {
            b"user" | b"assistant" | b"tool" => {
                if let Some(before) = writer.next_message(id) {
                    let below = Some(Text::new(before.as_bytes()));
                    match role {
                        b"user" if injected.is_some_and(Value::is_true) => for_the_agent(content, &stamp, writer),
                        b"user" => prompt(content, &Stamp { below, ..stamp }, writer),
                        b"assistant" => {
                            let stamp = Stamp { message: id, ..stamp };
                            text(reasoning).into_iter().for_each(|said| writer.thinking(&stamp, Some(said)));
                            reply(content, calls.is_none(), &stamp, writer);
                            calls.into_iter().flat_map(Value::elements).for_each(|it| call(it, &stamp, writer));
                        }
                        _ => result(text(answers), content, &stamp, writer),
                    }
                }
            }
            b"system" => {}
            unknown => writer.seen.count_unknown(&format!("role:{}", String::from_utf8_lossy(unknown)), 1),
        }
        writer.end(&stamp);
        Some(end)
    }

    fn kind_of(head: &[u8]) -> Option<String> {
        field_of(head, b"role")
    }
}

/// The session of a folder `session_<date>_<time>_<beginning of its id>`, by which Vibe finds it.
fn session(folder: &str) -> Option<crate::record::SessionId> {
    let (_, id) = folder.rsplit_once('_').filter(|(_, id)| id.len() >= 8)?;
    location::session_of(id)
}

fn prompt(content: Text<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let typed = content.before(WARNING);
    if !typed.is_blank() {
        writer.abandon_calls(stamp);
        writer.prompt(stamp, &typed.decode());
    }
}

/// A user's message that nobody typed; only the summary of a compaction says something.
fn for_the_agent(content: Text<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    if let Some(summary) = content.after(SUMMARY[0]) {
        writer.compaction(stamp, "", None, None);
        if writer.wants_text {
            writer.summary(stamp, &summary.before(SUMMARY[1]).decode());
        }
    }
}

fn reply(content: Text<'_>, ends_turn: bool, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let raw = content.raw();
    if raw.starts_with(CANCELLATION.as_bytes()) {
        writer.interruption(stamp);
    } else if raw.starts_with(STOP.as_bytes()) {
        writer.notice(stamp, &content.decode());
    } else {
        writer.reply(stamp, content, ends_turn);
    }
}

fn call(call: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [id, function] = pick(call, [b"id", b"function"]);
    let [name, arguments] = pick(function.unwrap_or(Value::Null), [b"name", b"arguments"]);
    let name = text(name).map(Text::decode).unwrap_or_default();
    let mut act = Vibe::TOOLS.act(&name);
    // Tools of servers are `<server>_<tool>`.
    if act == Act::Other && name.contains('_') && !Vibe::TOOLS.acts.iter().any(|(_, names)| names.contains(&*name)) {
        act = Act::Mcp;
    }
    let written = arguments.filter(|_| writer.wants_text).and_then(Value::text).map(Text::decode);
    let edits = written.as_ref().filter(|_| name == EDIT).and_then(|written| edits(written));
    let written = edits.as_deref().or(written.as_deref()).map(str::trim).filter(|json| json.starts_with('{'));
    let parameters = written.map_or(arguments.unwrap_or(Value::Null), |json| Value::Object(json.as_bytes().into()));
    writer.call_as(act, stamp, text(id), &name, parameters);
}

/// The parameters of an edit whose content is a list of texts and their replacements.
fn edits(written: &str) -> Option<String> {
    let mut whole: serde_json::Map<_, _> = serde_json::from_str(written).ok()?;
    let content = whole.get("content")?.as_str()?;
    let block = |block: &str| {
        let (old, new) = block.split_once(BLOCK[1])?;
        Some(json!({ "old_string": old, "new_string": new.split(BLOCK[2]).next() }))
    };
    let edits: Vec<_> = content.split(BLOCK[0]).skip(1).filter_map(block).collect();
    if edits.is_empty() {
        return None;
    }
    whole.remove("content");
    whole.insert("edits".to_owned(), json!(edits));
    Some(json!(whole).to_string())
}

fn result(id: Option<Text<'_>>, content: Text<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    if !writer.note_result(id) || !writer.wants_text {
        return;
    }
    let parts = writer.tool_of(id).is_none_or(|tool| tool == "bash").then(|| command_parts(content)).flatten();
    let mut output = match parts {
        Some([stdout, stderr, _]) => Output::of([stdout, stderr].into_iter().filter(|part| !part.is_blank())),
        None => Output::of([content.after(TOOL_ERROR.as_bytes()).map_or(content, |said| said.before(TOOL_ERROR_END))]),
    };
    let lead = content.head(LEAD_BYTES).decode();
    let number = |text: &str| text.trim().lines().next()?.trim().parse().ok();
    output.facts.exit_code = match parts {
        Some([.., code]) => number(&code.decode()),
        None if lead.starts_with(TOOL_ERROR) => lead.split_once(RETURN_CODE).and_then(|(_, code)| number(code)),
        None => None,
    };
    let outcome = match &*lead {
        said if said.starts_with(CANCELLATION) && STOPPED.iter().any(|word| said.contains(word)) => {
            Outcome::Interrupted
        }
        said if said.starts_with(CANCELLATION) => Outcome::Denied,
        said if said.starts_with(TOOL_ERROR) => Outcome::Failed,
        _ => Outcome::Ok,
    };
    writer.result(stamp, id, outcome, &output);
}

/// Output, errors and exit code in a command's result.
fn command_parts(content: Text<'_>) -> Option<[Text<'_>; 3]> {
    let rest = content.after(PARTS[0])?.raw();
    let code = memmem::rfind(rest, PARTS[2])?;
    let errors = memmem::rfind(&rest[..code], PARTS[1])?;
    let part = |from: usize, to: usize| Text::new(rest.get(from..to).unwrap_or_default());
    Some([part(0, errors), part(errors + PARTS[1].len(), code), part(code + PARTS[2].len(), rest.len())])
}

#[cfg(test)]
mod tests;
