//! Each record type of Claude Code, and what is read of it: `replay-fixtures/transcripts/claude-records/`.
//!
//! `<kind>.jsonl` is a made-up transcript, `<kind>.expected.txt` has the items read from it, one per line, and the
//! counts. A file whose name begins with `agent-` is a subagent's.
#![expect(clippy::disallowed_methods, reason = "the fixtures are files")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use baton_conversation::item::{Agent, Body, Item, Meta};
use baton_conversation::transcript::{Cursor, Observation, OpenCalls, Reader, Source};

/// If set, the test rewrites its expectations.
const UPDATE: &str = "BATON_UPDATE_FIXTURES";
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../replay-fixtures/transcripts/claude-records");

#[test]
fn every_kind_of_record_comes_to_what_was_expected() {
    let entries = fs::read_dir(FOLDER).expect("the fixtures").map(|entry| entry.expect("an entry").path());
    let mut names: Vec<_> = entries.filter(|path| path.extension().is_some_and(|kind| kind == "jsonl")).collect();
    names.sort();
    assert!(names.len() >= 25, "there are fixtures: {}", names.len());
    let mut wrong = String::new();
    for path in names {
        let found = described(&path);
        let expected = path.with_extension("expected.txt");
        if std::env::var_os(UPDATE).is_some() {
            fs::write(&expected, &found).expect("the expectation is written");
        }
        let wanted = fs::read_to_string(&expected).unwrap_or_default();
        if let Some((line, found, wanted)) = first_difference(&found, &wanted) {
            let _ = writeln!(wrong, "{}:{line}\n  expected {wanted}\n  came     {found}", expected.display());
        }
    }
    assert!(
        wrong.is_empty(),
        "{wrong}\nIs it meant? Then `{UPDATE}=1 cargo test -p baton-conversation --test claude_records` writes it anew."
    );
}

fn first_difference(found: &str, wanted: &str) -> Option<(usize, String, String)> {
    let mut lines = (found.lines().map(Some).chain([None])).zip(wanted.lines().map(Some).chain([None])).enumerate();
    let (at, (found, wanted)) = lines.find(|(_, (found, wanted))| found != wanted)?;
    Some((at + 1, found.unwrap_or("(the end)").to_owned(), wanted.unwrap_or("(the end)").to_owned()))
}

/// Reads one file; returns the result as text.
fn described(path: &Path) -> String {
    let bytes = fs::read(path).expect("a fixture");
    let subagent = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("agent-"));
    let source = Source { agent: Agent::ClaudeCode, subagent };
    let mut items: Vec<Item> = Vec::new();
    let mut reader = Reader::new(source, Cursor::default(), OpenCalls::default(), &mut items);
    assert_eq!(reader.feed(&bytes), bytes.len(), "{} ends with a newline", path.display());
    let (cursor, seen) = reader.into_parts();
    let lines = items.iter().map(|item| item_line(item) + "\n").collect::<String>();
    lines + &counts(&seen, cursor.calls_in_flight())
}

fn item_line(item: &Item) -> String {
    let shown = |text: &str| text.replace('\n', "⏎");
    let aside = if item.sidechain { "~" } else { "" };
    let (kind, text) = match &item.body {
        Body::Prompt { text } => ("prompt", shown(text)),
        Body::Answer { text } => ("answer", shown(text)),
        Body::Reply { text } => ("reply", shown(text)),
        Body::Media { text } => ("media", shown(text)),
        Body::Thinking { text } => ("thinking", shown(text)),
        Body::Summary { text } => ("summary", shown(text)),
        Body::Notice { text } => ("notice", shown(text)),
        Body::Call(call) => {
            let input: serde_json::Map<_, _> = call.input.clone().into_iter().collect();
            let edit = call.edit.as_ref().map_or(String::new(), |edit| format!(" +{} -{}", edit.added, edit.removed));
            ("call", shown(&format!("{} {}{edit}", call.name, serde_json::Value::Object(input))))
        }
        Body::Result(result) => {
            let exit = result.exit_code.map_or(String::new(), |code| format!(" | exit {code}"));
            let took = result.duration_ms.map_or(String::new(), |ms| format!(" | {ms} ms"));
            let agent = result.agent.as_ref().map_or(String::new(), |agent| format!(" | agent {agent}"));
            let text = format!("{:?} {}{exit}{took}{agent}", result.outcome, result.text);
            ("result", shown(&text))
        }
        Body::Meta(Meta::Title { source, text }) => ("title", format!("{source:?} {}", shown(text))),
        Body::Meta(Meta::Branch(text)) => ("branch", text.clone()),
        Body::Meta(Meta::Cwd(text)) => ("cwd", text.clone()),
        Body::Meta(Meta::Below(parent)) if parent.is_empty() => ("below", "nothing".to_owned()),
        Body::Meta(Meta::Below(parent)) => ("below", parent.to_string()),
        Body::Meta(Meta::Usage(usage)) => {
            let counts = format!(
                "{} in {} out {} read {} written {} (1h {})",
                usage.model, usage.input, usage.output, usage.cache_read, usage.cache_creation, usage.cache_creation_1h
            );
            let request = usage.request.as_deref().map_or(String::new(), |request| format!(" for {request}"));
            let bound = if usage.output_is_lower_bound { " at least" } else { "" };
            ("usage", format!("{counts}{request}{bound}"))
        }
        Body::Meta(Meta::Compaction(cut)) => {
            ("compaction", format!("{:?} {:?} -> {:?}", cut.trigger, cut.tokens_before, cut.tokens_after))
        }
        Body::Meta(Meta::Withdrawn(line)) => ("withdrawn", line.to_string()),
        Body::Meta(Meta::Link { link, session }) => ("link", format!("{} {session}", link.as_str())),
    };
    format!("{}{aside} {kind} {text}", item.line)
}

fn counts(seen: &Observation, in_flight: usize) -> String {
    let Observation { lines, records, conversation, messages, prompts, malformed, .. } = seen;
    let named = |counts: &BTreeMap<String, u64>| {
        counts.iter().map(|(name, count)| format!(" {name}={count}")).collect::<String>()
    };
    format!(
        "---\nlines={lines} records={records} conversation={conversation} messages={messages} prompts={prompts} \
         malformed={malformed} in_flight={in_flight}\ntypes:{}\nunknown:{}\n",
        named(&seen.by_type),
        named(&seen.unknown)
    )
}
