//! Information stored elsewhere, by calls of MCP tools that write.

use std::collections::BTreeMap;

use serde_json::Value;

use super::excerpt::{one_line, without_filter_mark};
use super::timeline::{Deed, Timeline};
use super::{LINE_CHARS, MAX_ENTRIES, Pointed};
use baton_words::WordList;

/// Prefix of every MCP tool's name.
pub(super) const MCP: &str = "mcp__";
/// Verbs that write; sorted.
static WRITING: WordList = WordList::new(crate::WORDS, "writing verbs");
/// Verbs that read; sorted. The first verb of a name decides: `get_update` reads.
static READING: WordList = WordList::new(crate::WORDS, "reading verbs");
/// Words in the names of tools that operate a program; what they write is not stored anywhere.
const DRIVING: [&str; 4] = ["browser", "tab", "viewport", "window"];
/// Parameters that best describe what was stored, in order of preference.
static TELLING: WordList = WordList::new(crate::WORDS, "telling parameters");

/// Returns what was stored, by the full name of the tool, in transcript order, at the line of the call.
pub(super) fn stored_by_tool(timeline: &Timeline<'_>) -> BTreeMap<String, Vec<Pointed>> {
    let mut stored: BTreeMap<String, Vec<Pointed>> = BTreeMap::new();
    for deed in timeline.deeds.iter().filter(|deed| deed.succeeded() && is_writing_tool(deed.tool())) {
        let tools = stored.len();
        let name = one_line(deed.tool(), LINE_CHARS);
        if tools < MAX_ENTRIES || stored.contains_key(&name) {
            let entries = stored.entry(name).or_default();
            entries.push(Pointed { text: describe(deed), line: deed.line, at: deed.at });
            super::keep(entries, MAX_ENTRIES, |_| true);
        }
    }
    stored
}

/// Returns true for an MCP tool that writes, according to the first verb in its name.
pub(super) fn is_writing_tool(tool: &str) -> bool {
    let Some((_, name)) = tool.strip_prefix(MCP).and_then(|rest| rest.rsplit_once("__")) else { return false };
    let words = words(name);
    if words.iter().any(|word| DRIVING.contains(&word.as_str())) {
        return false;
    }
    let verb =
        words.iter().find_map(|word| if WRITING.has(word) { Some(true) } else { READING.has(word).then_some(false) });
    verb.unwrap_or(false)
}

/// Splits a name into words: `add_note`, `create-issue`, `createIssue`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut small = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (small && c.is_uppercase()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
        small = c.is_lowercase();
    }
    words
}

/// Describes what was stored on one line: the preferred parameters, or all of them.
fn describe(deed: &Deed<'_>) -> String {
    let told: Vec<&str> =
        TELLING.iter().filter_map(|key| deed.input(key)).filter(|text| !text.trim().is_empty()).collect();
    let text = match told.as_slice() {
        [] => {
            let input = deed.call.map(|call| &call.input);
            let values = input.into_iter().flatten().map(|(key, value)| match value {
                Value::String(text) => format!("{key}: {text}"),
                other => format!("{key}: {other}"),
            });
            values.collect::<Vec<_>>().join(", ")
        }
        [only] => (*only).to_owned(),
        [title, text, ..] => format!("{title}: {text}"),
    };
    one_line(&without_filter_mark(&text), LINE_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_verb_of_a_name_says_whether_a_tool_writes() {
        for (tool, expected) in [
            ("mcp__notes__add_note", true),
            ("mcp__tracker__create-issue", true),
            ("mcp__tracker__createIssue", true),
            ("mcp__notion__notion-update-page", true),
            ("mcp__linear__issue_write", true),
            ("mcp__graph__delete_entities", true),
            ("mcp__memory__search_notes", false),
            ("mcp__docs__get_update_history", false),
            ("mcp__playwright__browser_set_size", false),
            ("mcp__add__weather", false),
            ("mcp__store", false),
            ("Write", false),
            ("", false),
        ] {
            assert_eq!(is_writing_tool(tool), expected, "{tool}");
        }
    }
}
