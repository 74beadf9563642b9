//! A tool call as one unit: name, subject, and the line of its result. Never the output.

use serde_json::Value;

use crate::item::{Call, ToolResult};
use baton_words::WordList;

/// Longest unit of a tool, in characters.
const MAX_CHARS: usize = 1_600;
/// Longest single parameter, in characters.
const VALUE_CHARS: usize = 600;
/// Parameters that describe a call, in order of precedence.
static TELLING: WordList = WordList::new(crate::WORDS, "telling parameters");
/// The mark where the filter cut a value; the length and digest behind it are not searchable.
const FILTER_MARK: &str = "…[+";

/// The call as text: `Bash: cargo test -p auth`.
pub(super) fn call_line(call: &Call) -> String {
    let mut line = call.name.trim().to_owned();
    let mut separator = ": ";
    let mut push = |value: &Value, line: &mut String| {
        let before = line.len();
        line.push_str(separator);
        let from = line.len();
        push_text(value, line);
        if line[from..].trim().is_empty() {
            line.truncate(before);
        } else {
            separator = "\n";
        }
    };
    let telling: Vec<_> = TELLING.iter().filter_map(|key| call.input.get(*key)).collect();
    if telling.is_empty() {
        call.input.values().filter(|value| value.is_string()).take(8).for_each(|value| push(value, &mut line));
    } else {
        telling.into_iter().for_each(|value| push(value, &mut line));
    }
    bounded(line)
}

/// Appends the result's line to the call's, without repeating name and target.
pub(super) fn answer(line: &mut String, result: &ToolResult) {
    let summary = result.text.trim();
    let added = new_part(line, summary, result.name.as_deref().unwrap_or_default());
    if !added.is_empty() {
        if !line.is_empty() {
            line.push('\n');
        }
        line.push_str(added);
    }
    *line = bounded(std::mem::take(line));
}

/// The part of a result's line that the call's line does not have: `exit 101, error…` of `Bash cargo test: exit 101,
/// error…`.
fn new_part<'a>(call: &str, result: &'a str, name: &str) -> &'a str {
    let Some(rest) = result.strip_prefix(name).filter(|_| !name.is_empty() && call.starts_with(name)) else {
        return result;
    };
    let call = call.split_whitespace().collect::<Vec<_>>().join(" ");
    let repeats = |end: &usize| call.contains(rest[..*end].trim().trim_end_matches('…').trim_end());
    let ends = rest.match_indices(": ").map(|(at, _)| at).take(8);
    ends.take_while(repeats).last().map_or(result, |end| rest[end + 2..].trim())
}

/// Texts of a parameter: strings, and strings in lists and objects (questions, todo items in progress).
fn push_text(value: &Value, line: &mut String) {
    match value {
        Value::String(text) => {
            let text = text.split(FILTER_MARK).next().unwrap_or_default().trim();
            line.push_str(super::cut::truncated_prefix(text, VALUE_CHARS));
        }
        Value::Array(entries) => {
            for entry in entries.iter().take(16) {
                let before = line.len();
                if before > 0 && !line.ends_with(['\n', ' ']) {
                    line.push_str("; ");
                }
                let from = line.len();
                push_text(entry, line);
                if line.len() == from {
                    line.truncate(before);
                }
            }
        }
        Value::Object(fields) => {
            let finished = fields.get("status").and_then(Value::as_str).is_some_and(|status| status != "in_progress");
            let text =
                ["content", "question", "text", "subject", "description"].iter().find_map(|key| fields.get(*key));
            if let Some(Value::String(_)) = text.filter(|_| !finished)
                && let Some(text) = text
            {
                push_text(text, line);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn bounded(mut line: String) -> String {
    let kept = super::cut::truncated_prefix(&line, MAX_CHARS).len();
    line.truncate(kept);
    line
}
