//! Characters of two, three and four bytes at every bound that the core has: nothing is cut within one.
//!
//! A bound counts bytes or characters, and lies at a number that a constant names. Texts are made to end, to begin and to
//! change at these numbers, and go all the way from the transcript to what is searched.
#![expect(clippy::unwrap_used, reason = "in a test a broken assumption is a failed test")]
#![expect(clippy::disallowed_methods, reason = "the constants of the core are read from its files")]

use std::collections::BTreeSet;
use std::fs;
use std::hint::black_box;
use std::path::Path;

use baton_events::conversation::{Agent, Item};
use baton_events::digest::{Show, digest};
use baton_events::graph::{Surroundings, graph};
use baton_events::messages::messages;
use baton_events::record::SessionId;
use baton_events::transcript::{Cursor, OpenCalls, Reader, Source};
use baton_events::turns;
use serde_json::json;

/// Bounds above it are tried with one beginning only.
const LARGE: usize = 700;
/// Bounds above it are not tried: they bound counts, or files.
const LARGEST: usize = 9_000;

/// What texts begin with, so that different readers look at what follows.
const BEGINNINGS: &[&str] =
    &["", "key=", "password: \"", "curl -u a:", "Error: ", "I decided to use ", "- ", "`", "https://", "Next: ", "> "];

/// Every number that a constant of the core names.
fn bounds() -> BTreeSet<usize> {
    fn walk(folder: &Path, found: &mut BTreeSet<usize>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.extend(fs::read_to_string(&path).unwrap().lines().filter_map(bound));
            }
        }
    }
    let mut found = BTreeSet::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
    found
}

fn bound(line: &str) -> Option<usize> {
    let (_, value) = line.split_once(": usize = ").filter(|(name, _)| name.contains("const "))?;
    let factors = value.trim_end_matches(';').split('*').map(|number| number.trim().replace('_', "").parse::<usize>());
    factors.collect::<Result<Vec<_>, _>>().ok().map(|factors| factors.iter().product())
}

/// A transcript in which everybody says a text.
fn transcript(text: &str) -> Vec<u8> {
    let call = |id: &str, name: &str, input: serde_json::Value| json!({ "type": "tool_use", "id": id, "name": name, "input": input });
    let records = [
        json!({ "type": "user", "uuid": "u1", "message": { "role": "user", "content": text } }),
        json!({ "type": "assistant", "uuid": "a1", "message": { "id": "m1", "role": "assistant", "content": [
            { "type": "thinking", "thinking": text },
            { "type": "text", "text": format!("Done. {text}") },
            call("t1", "Bash", json!({ "command": text, "description": text })),
            call("t2", "Edit", json!({ "file_path": format!("/p/{text}"), "old_string": text, "new_string": format!("{text}.") })),
        ] } }),
        json!({ "type": "user", "uuid": "u3", "message": { "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": text },
            { "type": "tool_result", "tool_use_id": "t2", "content": text },
        ] } }),
        json!({ "type": "user", "uuid": "u4", "message": { "role": "user", "content": format!("{text}\n\n{text}") } }),
    ];
    records.iter().flat_map(|record| (record.to_string() + "\n").into_bytes()).collect()
}

/// The whole way of a transcript into the memory.
fn remember(transcript: &[u8]) {
    let mut items: Vec<Item> = Vec::new();
    let source = Source { agent: Agent::ClaudeCode, subagent: false };
    let mut reader = Reader::new(source, Cursor::default(), OpenCalls::default(), &mut items);
    assert_eq!(reader.feed(transcript), transcript.len());
    let episode = digest(&items, &Show::default());
    let session = SessionId::new("s").unwrap();
    let at = Surroundings { session: &session, group: "g", project: Some("/p"), parent: None, follows: None };
    black_box(graph(&items, &episode, &at));
    black_box(turns::units(&items));
    black_box(messages(&items));
}

#[test]
fn no_bound_of_the_core_parts_a_character() {
    let bounds = bounds();
    assert!(bounds.len() > 40 && bounds.contains(&512), "the constants were not read: {bounds:?}");
    let mut tried = 0;
    for bound in bounds.into_iter().filter(|bound| (8..=LARGEST).contains(bound)) {
        for (number, beginning) in BEGINNINGS.iter().enumerate() {
            let large = bound > LARGE;
            if large && number > 0 {
                continue;
            }
            for character in ['ü', '语', '😀'] {
                let width = character.len_utf8();
                // So that the bound falls on every byte of a character, whatever stands before the text.
                for offset in 0..width {
                    let count = (bound + 2 * width).div_ceil(width);
                    let words = if number % 2 == 0 { "" } else { " a1" };
                    let text =
                        format!("{beginning}{}{}{words}", "x".repeat(offset), character.to_string().repeat(count));
                    remember(&transcript(&text));
                    tried += 1;
                }
            }
        }
    }
    assert!(tried > 500, "only {tried} texts");
}
