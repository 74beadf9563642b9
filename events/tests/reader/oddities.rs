//! Each oddity of `replay-fixtures/transcripts/oddities/` gives the result that its file states.
//!
//! `BATON_UPDATE_FIXTURES=1` writes the actual results into the files; review the difference.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use baton_conversation::item::{Body, Item};
use serde_json::{Value, json};

use crate::read::{MAIN, Outcome, in_pieces, whole};
use crate::recipe::Recipe;

/// Longest text of an item in a fixture, in characters.
const SAID: usize = 80;

#[test]
#[expect(clippy::disallowed_methods, reason = "fixtures are files, and may be asked to be written anew")]
fn every_oddity_comes_to_what_is_expected() {
    let is_update = std::env::var_os("BATON_UPDATE_FIXTURES").is_some();
    let files = fixtures();
    assert!(files.len() > 25, "the oddities were not found");
    for file in files {
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(&file).unwrap();
        let recipe = Recipe::of(text.as_bytes());
        if recipe.only.is_some() {
            continue;
        }
        let bytes = recipe.bytes(&name);
        let outcome = whole(MAIN, &bytes);
        let described = described(&outcome, bytes.len());
        if is_update && described != recipe.expected {
            let (head, _) = text.split_once("  \"expected\": ").unwrap();
            let expected = serde_json::to_string_pretty(&described).unwrap().replace('\n', "\n  ");
            std::fs::write(&file, format!("{head}  \"expected\": {expected}\n}}\n")).unwrap();
        } else {
            assert_eq!(described, recipe.expected, "{name}: {}", recipe.what);
        }
        if let Some(word) = recipe.word(&name) {
            let is_there = |item: &Item| matches!(&item.body, Body::Prompt { text } if text.ends_with(&word));
            assert!(outcome.items.iter().any(is_there), "{name} harms what stands beside it");
        }
        // Read while it was being written.
        let looks = if bytes.len() > 100_000 { 12 } else { 200 };
        for cut in (0..=bytes.len()).step_by(1 + bytes.len() / looks) {
            let pieces = in_pieces(MAIN, &bytes, &[cut]);
            assert_eq!(pieces.items, outcome.items, "{name}, cut at {cut}");
            assert_eq!(
                (pieces.cursor, pieces.seen),
                (outcome.cursor.clone(), outcome.seen.clone()),
                "{name}, at {cut}"
            );
        }
    }
}

fn fixtures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../replay-fixtures/transcripts/oddities");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "json"));
    files.sort();
    files
}

/// The result as a fixture states it: the conversation and the counts.
fn described(outcome: &Outcome, length: usize) -> Value {
    let seen = &outcome.seen;
    let items: Vec<String> = outcome.items.iter().filter_map(shown).collect();
    let unknown: BTreeMap<&str, u64> = seen.unknown.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    json!({
        "items": items, "lines": seen.lines, "records": seen.records, "messages": seen.messages,
        "malformed": seen.malformed, "unknown": unknown, "held_back": length as u64 - outcome.cursor.offset,
    })
}

/// An item of the conversation as one line: number, kind, text.
fn shown(item: &Item) -> Option<String> {
    let (kind, text) = match &item.body {
        Body::Prompt { text } => ("prompt", text.clone()),
        Body::Answer { text } => ("answer", text.clone()),
        Body::Reply { text } => ("reply", text.clone()),
        Body::Media { text } => ("media", text.clone()),
        Body::Thinking { text } => ("thinking", text.clone()),
        Body::Summary { text } => ("summary", text.clone()),
        Body::Notice { text } => ("notice", text.clone()),
        Body::Call(call) => ("call", format!("{} {}", call.name, serde_json::to_string(&call.input).unwrap())),
        Body::Result(result) => ("result", format!("{:?} {}", result.outcome, result.text)),
        Body::Meta(_) => return None,
    };
    let short: String = text.chars().take(SAID).collect();
    let mark = if short.len() < text.len() { "…" } else { "" };
    Some(format!("{} {kind} {short}{mark}", item.line))
}
