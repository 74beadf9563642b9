//! A user's message: what a person typed, results, and what the program adds.

use crate::filter::media::Media;
use crate::filter::result::Output;
use crate::item::Outcome;
use baton_redaction::raw_json::{Text, Value};

use super::super::claude::Block;
use super::super::gemini::is_open;
use super::super::item_writer::{ItemWriter, Stamp};
use super::call::{ASK, SHELL, id_of};
use super::cli;
use super::other_block;

/// Elements with a prompt.
const PROMPTS: &[&str] = &["task", "user_message"];
/// Beginnings of texts in which a person's words are not the first element: those that go on with a task.
const RESUMED: &[&str] = &[
    "[TASK RESUMPTION]",
    "New instructions for task continuation:",
    "New message to respond to with plan_mode_respond",
];
/// Elements with what a person typed about a call.
const ANSWERS: &[&str] = &["feedback", "answer"];
/// Text before a person's words about what the agent ended with: they are the next prompt.
const NEXT: &str = "has provided feedback on the results";
/// Beginning of the description that messages end with.
const ENVIRONMENT: &str = "<environment_details>";
/// Headings in it, before the working directory in parentheses.
const DIRECTORIES: &[&str] = &["# Current Working Directory (", "# Current Workspace Directory ("];
/// Text between what a result is for and the result.
const RESULT: &str = "] Result:";
/// Texts of the program that are no news.
const INJECTED: &[&str] = &["[ERROR]", "[TASK RESUMPTION]", "<", "# task_progress", "# TODO LIST", "# Todo"];
/// Beginnings of results of calls that a person refused, and of those that failed.
const REFUSALS: &[&str] =
    &["The user denied this operation", "{\"status\":\"denied\"", "This tool call was rejected by the user"];
const ERRORS: &[&str] = &["The tool execution failed", "<error>", "{\"status\":\"error\""];
/// Text before the exit code of a command.
const EXIT_CODE: &str = "xit code: ";
/// Bytes of a result that are searched for how it ended.
const LEAD_BYTES: usize = 600;

/// Emits a message: results first, because a prompt ends what was under way.
pub(super) fn message(content: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let (mut prompts, mut media, mut outputs) = (Vec::new(), Vec::new(), Vec::new());
    let mut is_result = false;
    Block::each(content, |value, block| match block.kind {
        b"text" => {
            let Some(text) = block.text else { return };
            let decoded = text.decode();
            let lead = decoded.trim_start();
            let is_heading = lead.starts_with('[') && lead.contains(RESULT);
            if lead.starts_with(ENVIRONMENT) {
                environment(lead, stamp, writer);
            } else if let Some(typed) = prompt(lead) {
                prompts.push(typed.to_owned());
            } else if let Some(typed) = cli::prompt(lead) {
                prompts.push(typed.trim().to_owned());
            } else if writer.is_subagent() && !lead.starts_with('<') {
                prompts.push(lead.to_owned());
            } else if is_heading || is_result {
                // The text after a heading is the result.
                is_result = true;
                outputs.push(text.after(RESULT.as_bytes()).filter(|_| is_heading).unwrap_or(text));
            } else if !INJECTED.iter().any(|start| lead.starts_with(start)) {
                writer.notice(stamp, lead);
            }
        }
        b"tool_result" => {
            // Only the program for the terminal names the tool.
            let objects = block.content.filter(|_| block.name.is_some());
            let (id, is_error) = (block.answers, block.is_error);
            let taken =
                cli::results(objects, |output, has_failed| result(id, is_error || has_failed, output, stamp, writer));
            let typed = taken.unwrap_or_else(|| result(id, is_error, Output::parse(block.content), stamp, writer));
            prompts.extend(typed);
        }
        b"image" | b"document" => media.extend(Media::parse(value)),
        kind => other_block(kind, writer),
    });
    if is_result {
        let id = id_of(writer.cursor.line.saturating_sub(1));
        let id = Some(Text::new(id.as_bytes()));
        prompts.extend(result(id, false, Output::of(outputs), stamp, writer));
    }
    if prompts.is_empty() {
        return;
    }
    writer.abandon_calls(stamp);
    prompts.iter().for_each(|typed| writer.prompt(stamp, typed));
    media.iter().for_each(|media| writer.media(stamp, &media.line()));
}

/// Emits a result, and what a person typed about it. Returns their next prompt, if that is what they typed.
fn result(
    id: Option<Text<'_>>,
    is_error: bool,
    mut output: Output<'_>,
    stamp: &Stamp<'_>,
    writer: &mut ItemWriter<'_>,
) -> Option<String> {
    let (whole, lead) = (output.whole(), output.head(LEAD_BYTES));
    let (code, is_question) = (exit_code(&lead, writer.tool_of(id)), writer.tool_of(id) == Some(ASK));
    output.facts.exit_code = output.facts.exit_code.or(code);
    let begins = |starts: &[&str]| starts.iter().any(|start| lead.trim_start().starts_with(start));
    let outcome = match output.facts.exit_code {
        _ if begins(REFUSALS) => Outcome::Denied,
        Some(code) if code != 0 => Outcome::Failed,
        None if is_error || begins(ERRORS) => Outcome::Failed,
        _ => Outcome::Ok,
    };
    // A reply that the agent gives through a tool is no call.
    if is_open(id, writer) && writer.note_result(id) {
        writer.result(stamp, id, outcome, &output);
    }
    let is_typed = |name: &&&str| is_introduced(&whole, name, is_question);
    let typed = ANSWERS.iter().filter(is_typed).find_map(|name| inside(&whole, name))?;
    if lead.contains(NEXT) {
        return Some(typed.to_owned());
    }
    writer.answer(stamp, typed);
    None
}

/// The prompt in a text of its own.
fn prompt(text: &str) -> Option<&str> {
    let is_resumed = RESUMED.iter().any(|start| text.starts_with(start));
    let feedback = || inside(text, ANSWERS[0]).filter(|_| !text.starts_with('[') && text.contains(NEXT));
    let element = |name: &&str| {
        let begins = text.strip_prefix('<').is_some_and(|rest| rest.starts_with(*name));
        inside(text, name).filter(|_| begins || is_resumed)
    };
    PROMPTS.iter().find_map(element).or_else(feedback).filter(|typed| !typed.is_empty())
}

/// True if the program says that this element is a person's: a file may have such elements too.
fn is_introduced(text: &str, name: &str, is_question: bool) -> bool {
    let before = text.split(&format!("<{name}>")).next().unwrap_or_default().trim_end();
    before.lines().last().map_or(is_question, |line| line.contains("user "))
}

/// The text in the first element of this name, to its last end.
fn inside<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    let end = rest.rfind(&format!("</{name}>"))?;
    Some(rest[..end].trim())
}

/// Reads the working directory in the program's description of the environment.
fn environment(text: &str, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let after = DIRECTORIES.iter().find_map(|heading| Some(text.split_once(heading)?.1));
    let line = after.and_then(|after| after.lines().next()).unwrap_or_default();
    if let Some(end) = line.rfind(')') {
        let written = serde_json::Value::from(&line[..end]).to_string();
        writer.cwd(stamp, Text::new(&written.as_bytes()[1..written.len() - 1]));
    }
}

/// The exit code in the lines before a command's output.
fn exit_code(lead: &str, tool: Option<&str>) -> Option<i32> {
    let before = lead.split("Output:").next().filter(|_| tool == Some(SHELL))?;
    let digits = before.split_once(EXIT_CODE)?.1;
    digits.split(|c: char| !c.is_ascii_digit() && c != '-').next()?.parse().ok()
}
