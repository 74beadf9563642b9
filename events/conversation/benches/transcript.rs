//! Speed of reading transcripts: counting only, with items, and the cost of redaction; for comparison, the cost of
//! counting lines and of parsing the same bytes.
//!
//! `cargo bench -p baton-conversation --bench transcript`. The transcripts are generated, with the byte shares of real
//! ones. Today a quarter is copies of tool results for the screen, a sixth the results, an eighth signatures; in old
//! versions a fifth was progress and two fifths were copies. One to three percent are what people and models said.

use baton_conversation::hash::ContentHash;
use baton_conversation::item::{Agent, Item};
use baton_conversation::transcript::{Cursor, NullSink, OpenCalls, Reader, Sink, Source};
use baton_redaction::redact;
use divan::Bencher;
use divan::counter::BytesCount;

const BYTES: usize = 20_000_000;

fn main() {
    divan::main();
}

/// Source code as tools print it, with quotes and line breaks to be escaped.
fn code(lines: usize, seed: usize) -> String {
    (0..lines)
        .map(|line| {
            let n = line * 7 + seed;
            format!("    let value_{n} = self.table.get(\"key-{n}\").unwrap_or(&DEFAULT); // step {line} of the refresh token flow\n")
        })
        .collect()
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Shares of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mix {
    /// Versions from 2.1.160 on.
    Today,
    /// Versions up to 2.1.81.
    Old,
}

const MIXES: [Mix; 2] = [Mix::Today, Mix::Old];

/// One exchange: prompt, thinking, text, three calls with results and their copies for the screen, and metadata.
fn exchange(n: usize, mix: Mix, out: &mut String) {
    let today = mix == Mix::Today;
    let envelope = |kind: &str, rest: &str| {
        format!(
            r#"{{"parentUuid":"7acd37a8-2745-4b58-a8a9-{n:012}","isSidechain":false,"userType":"external","cwd":"/home/user/work/app","sessionId":"0d3a8e6f-290f-4105-a327-a2496e5e2a83","version":"2.1.180","gitBranch":"main","type":"{kind}",{rest},"uuid":"9c2b663e-2745-4b58-a8a9-{n:012}","timestamp":"2026-03-14T09:{:02}:{:02}.589Z"}}
"#,
            n / 60 % 60,
            n % 60
        )
    };
    let message = |block: &str| {
        envelope(
            "assistant",
            &format!(
                r#""message":{{"model":"some-model","id":"msg_{n:024}","type":"message","role":"assistant","content":[{block}],"stop_reason":null,"stop_sequence":null,"usage":{{"input_tokens":4,"cache_creation_input_tokens":1024,"cache_read_input_tokens":45678,"cache_creation":{{"ephemeral_5m_input_tokens":1024,"ephemeral_1h_input_tokens":0}},"output_tokens":211,"service_tier":"standard"}}}},"requestId":"req_{n:024}""#
            ),
        )
    };
    let prompt =
        format!("Please look at why the refresh token of user {n} is refused after a restart, and fix it with a test.");
    out.push_str(&envelope("user", &format!(r#""message":{{"role":"user","content":{}}}"#, quoted(&prompt))));
    let thought =
        "The user wants the cause first. The token is stored before the clock is set, so it is refused. ".repeat(6);
    // Newer versions sign thinking that they do not show.
    let thought = if today && !n.is_multiple_of(8) { String::new() } else { thought };
    let signature = "Eo8CCkYIBxgCKkBzR3".repeat(if today { 190 } else { 50 });
    out.push_str(&message(&format!(
        r#"{{"type":"thinking","thinking":{},"signature":"{signature}"}}"#,
        quoted(&thought)
    )));
    let text =
        "I found it: the middleware compares seconds with milliseconds.\n\n- read `src/auth.rs`\n- change the unit\n"
            .repeat(4);
    out.push_str(&message(&format!(r#"{{"type":"text","text":{}}}"#, quoted(&text))));
    let old = code(6, n);
    let new = code(9, n + 1);
    let whole = code(if today { 24 } else { 60 }, n);
    let calls = [
        ("Read", r#"{"file_path":"/home/user/work/app/src/auth.rs"}"#.to_owned(), whole.clone()),
        (
            "Edit",
            format!(
                r#"{{"file_path":"/home/user/work/app/src/auth.rs","old_string":{},"new_string":{}}}"#,
                quoted(&old),
                quoted(&new)
            ),
            "The file /home/user/work/app/src/auth.rs has been updated.".to_owned(),
        ),
        ("Bash", r#"{"command":"cargo test --all","description":"Run the tests"}"#.to_owned(), code(25, n + 2)),
    ];
    for (at, (name, input, output)) in calls.into_iter().enumerate() {
        let id = format!("toolu_{:020}", n * 3 + at);
        out.push_str(&message(&format!(r#"{{"type":"tool_use","id":"{id}","name":"{name}","input":{input}}}"#)));
        let copy = format!(
            r#"{{"filePath":"/home/user/work/app/src/auth.rs","originalFile":{},"structuredPatch":[{{"oldStart":1,"lines":["-a","+b"]}}],"stdout":{}}}"#,
            if today && name != "Edit" { "null".to_owned() } else { quoted(&whole) },
            quoted(&output)
        );
        out.push_str(&envelope(
            "user",
            &format!(
                r#""message":{{"role":"user","content":[{{"tool_use_id":"{id}","type":"tool_result","content":{}}}]}},"toolUseResult":{copy}"#,
                quoted(&output)
            ),
        ));
    }
    if n.is_multiple_of(8) {
        let image = "iVBORw0KGgoAAAANSUhEUg".repeat(700);
        out.push_str(&envelope(
            "user",
            &format!(r#""message":{{"role":"user","content":[{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{image}"}}}}]}}"#),
        ));
    }
    let (kind, rest, count) = match mix {
        Mix::Today => ("attachment", r#""attachment":{"type":"task_reminder","content":"#, 1),
        Mix::Old => ("progress", r#""data":{"type":"bash_progress","output":"#, 6),
    };
    for _ in 0..count {
        out.push_str(&envelope(kind, &format!("{rest}{}}}", quoted(&code(12, n)))));
    }
    out.push_str("{\"type\":\"custom-title\",\"customTitle\":\"refresh token\",\"sessionId\":\"0d3a8e6f\"}\n");
}

fn transcript(mix: Mix) -> Vec<u8> {
    let mut text = String::with_capacity(BYTES + 100_000);
    for n in 0.. {
        exchange(n, mix, &mut text);
        if text.len() >= BYTES {
            break;
        }
    }
    text.into_bytes()
}

fn read(bytes: &[u8], sink: &mut dyn Sink) -> u64 {
    let source = Source { agent: Agent::ClaudeCode, subagent: false };
    let mut reader = Reader::new(source, Cursor::default(), OpenCalls::default(), sink);
    reader.feed(bytes);
    reader.into_parts().1.messages
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == b'\n')
}

#[divan::bench(args = MIXES)]
fn beside_it_lines_counted(bencher: Bencher<'_, '_>, mix: Mix) {
    let bytes = transcript(mix);
    bencher
        .counter(BytesCount::new(bytes.len()))
        .bench_local(|| memchr::memchr_iter(b'\n', divan::black_box(&bytes)).count());
}

#[divan::bench(args = MIXES)]
fn beside_it_parsed_and_ignored(bencher: Bencher<'_, '_>, mix: Mix) {
    let bytes = transcript(mix);
    let parses = |line: &&[u8]| serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok();
    bencher
        .counter(BytesCount::new(bytes.len()))
        .bench_local(|| lines(divan::black_box(&bytes)).filter(parses).count());
}

#[divan::bench(args = MIXES)]
fn beside_it_parsed_to_values(bencher: Bencher<'_, '_>, mix: Mix) {
    let bytes = transcript(mix);
    let parses = |line: &&[u8]| serde_json::from_slice::<serde_json::Value>(line).is_ok();
    bencher
        .counter(BytesCount::new(bytes.len()))
        .bench_local(|| lines(divan::black_box(&bytes)).filter(parses).count());
}

#[divan::bench(args = MIXES)]
fn counting_only(bencher: Bencher<'_, '_>, mix: Mix) {
    let bytes = transcript(mix);
    bencher.counter(BytesCount::new(bytes.len())).bench_local(|| read(divan::black_box(&bytes), &mut NullSink));
}

#[divan::bench(args = MIXES)]
fn with_items(bencher: Bencher<'_, '_>, mix: Mix) {
    let bytes = transcript(mix);
    bencher.counter(BytesCount::new(bytes.len())).bench_local(|| {
        let mut items: Vec<Item> = Vec::new();
        read(divan::black_box(&bytes), &mut items);
        items
    });
}

#[divan::bench(args = MIXES)]
fn with_items_and_hash(bencher: Bencher<'_, '_>, mix: Mix) {
    let bytes = transcript(mix);
    bencher.counter(BytesCount::new(bytes.len())).bench_local(|| {
        let mut items: Vec<Item> = Vec::new();
        read(divan::black_box(&bytes), &mut items);
        ContentHash::digest(&items)
    });
}

#[divan::bench]
fn redacting_clean_code(bencher: Bencher<'_, '_>) {
    let text = code(50_000, 0).replace("token", "ticket").replace("key-", "k-");
    bencher.counter(BytesCount::new(text.len())).bench_local(|| redact(divan::black_box(&text)).len());
}

#[divan::bench]
fn redacting_prose_of_tokens(bencher: Bencher<'_, '_>) {
    let text = code(50_000, 0);
    bencher.counter(BytesCount::new(text.len())).bench_local(|| redact(divan::black_box(&text)).len());
}
