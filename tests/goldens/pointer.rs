//! Checks that the line to which an item of an episode points says what the item says.

use std::collections::BTreeMap;

use baton_episode::digest::{Episode, Pointed};
use serde_json::Value;

/// Minimum length of a word that counts, in bytes: three letters, or one of another script.
const TELLING_BYTES: usize = 3;
/// Minimum share of an item's words that its line must contain, in percent.
const LEAST_SAID: usize = 60;

/// Beginnings of items that are Baton's words.
const BEGINNINGS: [&str; 5] =
    ["Plan approved: ", "No answer to: ", "User: ", "User refused ", "Pushed, and no pull request or merge seen: "];
/// Ends of the part of an item that its line says; the rest describes the outcome.
const ENDS: [&str; 5] = [" -> ", " instead of ", "passed later", " has no result", " was interrupted"];

/// All items of an episode, with their kind.
pub(crate) fn items(episode: &Episode) -> Vec<(&'static str, Pointed)> {
    let mut all: Vec<(&'static str, Pointed)> = Vec::new();
    let mut add = |kind, items: &[Pointed]| all.extend(items.iter().map(|item| (kind, item.clone())));
    episode.work_completed.values().for_each(|items| add("work", items));
    episode.knowledge_stored.values().for_each(|items| add("stored", items));
    add("decision", &episode.decisions);
    add("research", &episode.external_research);
    add("unresolved", &episode.unresolved);
    add("next", &episode.next_steps);
    add("prompt", &episode.prompts);
    for error in &episode.errors {
        add("error", &[Pointed { text: error.text.clone(), line: error.line, at: error.at }]);
        add("resolution", error.resolution.as_slice());
    }
    all
}

/// The text of each line of a transcript, with the call that a result answers.
pub(crate) struct Lines(Vec<String>);

impl Lines {
    pub(crate) fn of(transcript: &str) -> Self {
        let mut calls: BTreeMap<String, String> = BTreeMap::new();
        let mut lines = Vec::new();
        for line in transcript.lines() {
            let record: Value = serde_json::from_str(line).unwrap_or_default();
            let mut text = String::new();
            strings(&record, &mut text);
            let blocks = record.pointer("/message/content").and_then(Value::as_array);
            for block in blocks.into_iter().flatten() {
                if let Some(id) = block["id"].as_str().filter(|_| block["type"] == "tool_use") {
                    calls.insert(id.to_owned(), text.clone());
                }
                if let Some(call) = block["tool_use_id"].as_str().and_then(|id| calls.get(id)) {
                    text.push_str(call);
                }
            }
            lines.push(text.to_lowercase());
        }
        Self(lines)
    }

    /// True if the line of an item contains most of the item's words.
    pub(crate) fn say(&self, item: &Pointed) -> bool {
        let Some(line) = usize::try_from(item.line).ok().and_then(|line| self.0.get(line.wrapping_sub(1))) else {
            return false;
        };
        said(&item.text).into_iter().any(|text| Self::contains(line, text))
    }

    fn contains(line: &str, text: &str) -> bool {
        let text = text.to_lowercase();
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() >= TELLING_BYTES);
        let (mut all, mut there) = (0, 0);
        for word in words {
            all += 1;
            there += usize::from(line.contains(word));
        }
        there * 100 >= all * LEAST_SAID
    }
}

/// The parts of an item that consist of somebody's words, one of which is at its line.
fn said(text: &str) -> Vec<&str> {
    // A resolution points to the first of the edits that it names.
    if let Some(edits) = text.strip_prefix("by edits to ") {
        return edits
            .split([':', ';'])
            .next()
            .unwrap_or(edits)
            .split([',', ' '])
            .filter(|file| file.len() > 3)
            .collect();
    }
    if let Some(files) = text.strip_prefix("Edited and not committed: ") {
        return files.split(", ").collect();
    }
    // An answer follows what it answers, which may be in another line.
    let text = text.split_once(" User: ").map_or(text, |(_, answer)| answer);
    let text = BEGINNINGS.iter().find_map(|start| text.strip_prefix(start)).unwrap_or(text);
    let end = ENDS.iter().filter_map(|end| text.find(end)).min();
    vec![&text[..end.unwrap_or(text.len())]]
}

/// Collects all strings of a record, without keys, including images.
fn strings(value: &Value, text: &mut String) {
    match value {
        Value::String(part) if part.len() < 200_000 => {
            text.push_str(part);
            text.push('\n');
        }
        Value::Array(values) => values.iter().for_each(|value| strings(value, text)),
        Value::Object(fields) => fields.values().for_each(|value| strings(value, text)),
        _ => {}
    }
}
