//! Every sentence that a person typed and every text of the model is kept to the byte, except redactions and
//! surrounding white space; nothing is added; each tool's result is one line.

use std::path::Path;

use baton_conversation::item::{Agent, Body, Item};
use baton_conversation::transcript::Source;
use baton_redaction::redact;
use proptest::prelude::*;

use crate::files::{Transcript, below, fixtures, items};
use crate::spoken::{Speaker, Spoken};

/// The errors in the items of a transcript; empty if everything is kept.
fn misses(spoken: &Spoken, items: &[Item]) -> Vec<String> {
    let mut misses = Vec::new();
    for passage in &spoken.passages {
        if passage.text.contains("baton-recall") {
            continue;
        }
        let clean = redact(&passage.text);
        let said =
            items.iter().filter(|item| item.line == passage.line).any(|item| match (&item.body, passage.speaker) {
                (Body::Prompt { text } | Body::Answer { text }, Speaker::User) => text.contains(clean.trim()),
                (Body::Reply { text }, Speaker::Assistant) => text == clean.trim(),
                _ => false,
            });
        if !said {
            misses.push(format!("line {}, {:?} said: {:?}", passage.line, passage.speaker, head(&passage.text)));
        }
    }
    for item in items {
        let (Body::Prompt { text } | Body::Answer { text } | Body::Reply { text } | Body::Thinking { text }) =
            &item.body
        else {
            continue;
        };
        // A slash command consists of name and arguments, which are separate in the record.
        let parts = if text.starts_with('/') {
            text.split_once(' ').map(|(name, words)| vec![name.trim_start_matches('/'), words])
        } else {
            None
        };
        let parts = parts.unwrap_or_else(|| vec![text]);
        let there = |part: &&str| {
            let mut texts = spoken.texts.iter().filter(|(line, _)| *line == item.line).flat_map(|(_, texts)| texts);
            texts.any(|text| text.contains(*part))
        };
        if !parts.iter().all(there) && !text.starts_with("[image") {
            misses.push(format!("line {}, nobody said: {:?}", item.line, head(text)));
        }
    }
    let mut kept: Vec<u64> = Vec::new();
    for item in items {
        if let Body::Result(result) = &item.body
            && !result.is_persons()
        {
            kept.push(item.line);
            if result.text.contains('\n') || result.text.trim().is_empty() {
                misses.push(format!("line {}, no single line: {:?}", item.line, head(&result.text)));
            }
        }
    }
    if kept != spoken.results {
        misses.push(format!(
            "results in lines {:?}, kept of lines {:?}",
            differing(&spoken.results, &kept),
            kept.len()
        ));
    }
    misses
}

fn differing<'a>(all: &'a [u64], kept: &[u64]) -> Vec<&'a u64> {
    all.iter().filter(|line| !kept.contains(line)).take(20).collect()
}

fn head(text: &str) -> String {
    text.chars().take(120).collect()
}

fn check(transcript: &Transcript) -> usize {
    let items = items(transcript.source(), &transcript.bytes);
    let misses = misses(&Spoken::of(&transcript.bytes), &items);
    assert!(misses.is_empty(), "{}:\n{}", transcript.path.display(), misses.join("\n"));
    items.len()
}

#[test]
fn no_sentence_of_the_fixtures_is_lost_or_altered() {
    let items: usize = fixtures().iter().map(check).sum();
    assert!(items > 500, "{items} items");
}

#[test]
fn the_second_reader_finds_what_is_lost_and_what_is_made_up() {
    let transcript = fixtures().into_iter().max_by_key(|transcript| transcript.bytes.len()).unwrap();
    let all = items(transcript.source(), &transcript.bytes);
    let spoken = Spoken::of(&transcript.bytes);
    let (mut found, mut tried) = (0, 0);
    for at in (0..all.len()).step_by(3) {
        let mut changed = all.clone();
        match &mut changed[at].body {
            Body::Prompt { text } | Body::Answer { text } | Body::Reply { text } => text.push('.'),
            Body::Result(_) => drop(changed.remove(at)),
            _ => continue,
        }
        tried += 1;
        found += usize::from(!misses(&spoken, &changed).is_empty());
    }
    assert!(tried > 20 && found == tried, "{found} of {tried} changes were found");
}

#[test]
#[expect(clippy::print_stdout, reason = "who runs it by hand reads what was found")]
#[ignore = "looks at transcripts of one's own: BATON_TRANSCRIPTS=DIR"]
fn no_sentence_of_these_transcripts_is_lost_or_altered() {
    let folder = std::env::var("BATON_TRANSCRIPTS").expect("BATON_TRANSCRIPTS names a folder");
    let (mut passages, mut wrong) = (0, 0);
    for transcript in below(Path::new(&folder)) {
        let items = items(transcript.source(), &transcript.bytes);
        let spoken = Spoken::of(&transcript.bytes);
        passages += spoken.passages.len();
        for miss in misses(&spoken, &items) {
            wrong += 1;
            println!("{}: {miss}", transcript.path.display());
        }
    }
    println!("{passages} passages, {wrong} misses");
    assert_eq!(wrong, 0, "of {passages} passages");
}

/// A record with a message or a tool's result.
fn record() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::json;
    let text = prop_oneof![
        "[ -~]{1,80}",
        "\\PC{1,40}",
        "[a-zé日🦀\n\t\\\\\"]{1,60}",
        Just("export API_KEY=sk-ant-api03-a1B2c3D4e5F6a1B2c3D4e5F6 please".to_owned()),
        Just("  <b>not</b> the harness' mark & </b>\r\n".to_owned()),
    ]
    .prop_map(|text| if text.trim_start().starts_with(['<', '/', '[']) { format!("so: {text}") } else { text });
    let user = |content| json!({ "type": "user", "uuid": "u", "message": { "role": "user", "content": content } });
    let assistant = |block| {
        json!({ "type": "assistant", "message": { "id": "m", "role": "assistant", "model": "x", "content": [block] },
            "requestId": "r" })
    };
    prop_oneof![
        text.clone().prop_map(move |text| user(json!(text))),
        (text.clone(), text.clone()).prop_map(move |(one, other)| user(json!([
            { "type": "text", "text": one }, { "text": other, "type": "text" }
        ]))),
        text.clone().prop_map(move |text| assistant(json!({ "type": "text", "text": text }))),
        text.clone()
            .prop_map(move |text| assistant(json!({ "type": "thinking", "thinking": text, "signature": "AA" }))),
        (any::<u8>(), text.clone()).prop_map(move |(id, text)| {
            assistant(
                json!({ "type": "tool_use", "id": format!("t{id}"), "name": "Bash", "input": { "command": text } }),
            )
        }),
        (any::<u8>(), text.clone(), any::<bool>()).prop_map(move |(id, text, failed)| {
            let mut record = user(json!([
                { "type": "tool_result", "tool_use_id": format!("t{id}"), "content": text, "is_error": failed }
            ]));
            record["toolUseResult"] = json!({ "stdout": text });
            record
        }),
        text.prop_map(|text| json!({ "type": "attachment",
            "attachment": { "type": "queued_command", "prompt": text, "commandMode": "prompt" } })),
        Just(json!({ "type": "mode", "mode": "normal" })),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn no_sentence_of_a_generated_transcript_is_lost_or_altered(
        records in proptest::collection::vec(record(), 0..24),
        subagent in any::<bool>(),
    ) {
        let text: String = records.iter().map(|record| format!("{record}\n")).collect();
        let items = items(Source { agent: Agent::ClaudeCode, subagent }, text.as_bytes());
        let misses = misses(&Spoken::of(text.as_bytes()), &items);
        prop_assert!(misses.is_empty(), "{text}\n{}", misses.join("\n"));
    }
}
