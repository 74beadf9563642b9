#![expect(clippy::disallowed_methods, reason = "fixtures are files")]

use std::fmt::Write as _;
use std::path::PathBuf;

use super::super::{Cursor, NullSink, Observation, OpenCalls, Reader, Source};
use crate::hash::canonical_json;
use crate::item::{Agent, Body, Item, Meta};

const SOURCE: Source = Source { agent: Agent::Codex, subagent: false };
const UPDATE: &str = "BATON_UPDATE_FIXTURES";

fn read(bytes: &[u8]) -> (Cursor, Observation, Vec<Item>) {
    let mut items = Vec::new();
    let mut reader = Reader::new(SOURCE, Cursor::default(), OpenCalls::default(), &mut items);
    reader.feed(bytes);
    let (cursor, seen) = reader.into_parts();
    (cursor, seen, items)
}

fn shown(item: &Item) -> String {
    let said = match &item.body {
        Body::Prompt { text } => format!("prompt {text:?}"),
        Body::Answer { text } => format!("answer {text:?}"),
        Body::Reply { text } => format!("reply {text:?}"),
        Body::Media { text } => format!("media {text:?}"),
        Body::Thinking { text } => format!("thinking {text:?}"),
        Body::Summary { text } => format!("summary {text:?}"),
        Body::Notice { text } => format!("notice {text:?}"),
        Body::Call(call) => {
            let input = canonical_json(&serde_json::Value::Object(call.input.clone().into_iter().collect()));
            let edit = call.edit.as_ref().map(|edit| format!(" [{} +{} -{}]", edit.path, edit.added, edit.removed));
            format!("call {} {} {input}{}", call.id, call.name, edit.unwrap_or_default())
        }
        Body::Result(result) => {
            let took = result.duration_ms.map(|ms| format!(", {ms} ms")).unwrap_or_default();
            format!("result {} {:?}{took}: {}", result.id, result.outcome, result.text)
        }
        Body::Meta(Meta::Usage(usage)) => format!(
            "usage {} {} input {} output {} cached {}",
            item.message.as_deref().unwrap_or("-"),
            usage.model,
            usage.input,
            usage.output,
            usage.cache_read
        ),
        Body::Meta(meta) => format!("meta {meta:?}"),
    };
    format!("{:>3} {said}", item.line)
}

fn rendered(bytes: &[u8]) -> String {
    let (cursor, seen, items) = read(bytes);
    let mut out = String::new();
    items.iter().for_each(|item| writeln!(out, "{}", shown(item)).unwrap());
    let ids: Vec<&str> = items.iter().filter_map(|item| item.uuid.as_deref()).collect();
    writeln!(
        out,
        "\nrecords {} conversation {} messages {} prompts {} open {} working {}\nby type {:?}\nunknown {:?}\ncwd {:?} session {:?} ids {}",
        seen.records,
        seen.conversation,
        seen.messages,
        seen.prompts,
        cursor.calls_in_flight(),
        cursor.working,
        seen.by_type,
        seen.unknown,
        seen.cwd,
        seen.agent_session,
        ids.len()
    )
    .unwrap();
    out
}

fn fixtures() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../replay-fixtures/transcripts/codex");
    let all = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<PathBuf> = all.filter(|path| path.extension().is_some_and(|it| it == "jsonl")).collect();
    all.sort();
    assert!(all.len() >= 6, "{all:?}");
    all
}

#[test]
fn every_fixture_says_what_it_is_expected_to() {
    for path in fixtures() {
        let found = rendered(&std::fs::read(&path).unwrap());
        let expected = path.with_extension("expected.txt");
        if std::env::var_os(UPDATE).is_some() {
            std::fs::write(&expected, &found).unwrap();
        }
        let expected = std::fs::read_to_string(&expected).unwrap_or_default();
        assert!(found == expected, "{} says\n{found}\n{UPDATE}=1 writes it anew", path.display());
    }
}

#[test]
fn reading_in_pieces_and_counting_alone_equal_reading_at_once() {
    for path in fixtures() {
        let bytes = std::fs::read(&path).unwrap();
        let (cursor, seen, items) = read(&bytes);
        let mut counting = NullSink;
        let mut counter = Reader::new(SOURCE, Cursor::default(), OpenCalls::default(), &mut counting);
        counter.feed(&bytes);
        assert_eq!(counter.into_parts(), (cursor.clone(), seen.clone()), "{}", path.display());
        let borders: Vec<usize> =
            bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
        for border in borders {
            let mut pieces: Vec<Item> = Vec::new();
            let mut first = Reader::new(SOURCE, Cursor::default(), OpenCalls::default(), &mut pieces);
            first.feed(&bytes[..border]);
            let (at, mut both) = first.into_parts();
            let open: OpenCalls = pieces.iter().collect();
            let mut second = Reader::new(SOURCE, at, open, &mut pieces);
            second.feed(&bytes[border..]);
            let (end, later) = second.into_parts();
            both.absorb(&later);
            assert_eq!((&end, &both, &pieces), (&cursor, &seen, &items), "{} at {border}", path.display());
        }
    }
}

#[test]
fn nothing_that_is_cut_or_odd_is_too_much() {
    for path in fixtures() {
        let bytes = std::fs::read(&path).unwrap();
        for cut in (0..bytes.len()).step_by(97) {
            let mut torn = bytes[..cut].to_vec();
            torn.push(b'\n');
            read(&torn);
        }
    }
    for odd in [
        r#"{"type":"response_item","payload":null}"#,
        r#"{"type":"response_item","payload":{"type":"function_call","name":7,"arguments":[1],"call_id":{}}}"#,
        r#"{"type":"event_msg","payload":{"type":"token_count","info":null}}"#,
        r#"{"type":"event_msg","payload":{"type":"token_count","info":{"last_token_usage":{"input_tokens":"5","output_tokens":-1}}}}"#,
        r#"{"type":"event_msg","payload":{"type":"item_completed","item":"x"}}"#,
        r#"{"type":"event_msg","payload":{"type":"item_completed","item":{"type":"FileChange","changes":[1]}}}"#,
        r#"{"type":"session_meta","payload":[]}"#,
        r#"{"type":7,"payload":"x"}"#,
        r#"{"type":"message","role":"user","content":"bare text"}"#,
        r#"{"type":"compacted","payload":{"message":["x"]}}"#,
    ] {
        let (_, seen, _) = read(format!("{odd}\n").as_bytes());
        assert_eq!((seen.records, seen.malformed), (1, 0), "{odd}");
    }
}

#[test]
fn an_answer_of_a_server_names_the_tool_that_no_call_names() {
    let end = r#"{"type":"event_msg","payload":{"type":"mcp_tool_call_end","call_id":"c1","invocation":{"server":"tracker","tool":"close","arguments":{"id":7}},"result":{"Ok":{"content":[{"type":"text","text":"closed"}],"isError":false}}}}"#;
    let call = r#"{"type":"response_item","payload":{"type":"function_call","call_id":"c1","name":"mcp__tracker__close","arguments":"{}"}}"#;
    for (lines, expected) in [
        (vec![end], vec![r#"call c1 mcp__tracker__close {"id":7}"#, "result c1 Ok: mcp__tracker__close: 1 line, 6 B"]),
        (vec![call, end], vec!["call c1 mcp__tracker__close {}", "result c1 Ok: mcp__tracker__close: 1 line, 6 B"]),
    ] {
        let (cursor, _, items) = read((lines.join("\n") + "\n").as_bytes());
        let described: Vec<String> = items.iter().map(|item| shown(item)[4..].to_owned()).collect();
        assert_eq!((described.iter().map(String::as_str).collect::<Vec<_>>(), cursor.calls_in_flight()), (expected, 0));
    }
    let own = end.replace("tracker", "baton");
    assert_eq!(read(format!("{own}\n").as_bytes()).2, []);
}

#[test]
fn the_summary_of_a_compaction_is_no_reply() {
    let say = |role: &str, text: &str| {
        format!(
            r#"{{"type":"response_item","payload":{{"type":"message","role":"{role}","content":[{{"type":"output_text","text":"{text}"}}]}}}}"#
        )
    };
    let counted = r#"{"type":"event_msg","payload":{"type":"token_count","info":null}}"#.to_owned();
    let compacted = |message: &str| format!(r#"{{"type":"compacted","payload":{{"message":"{message}"}}}}"#);
    let prefix = "Another language model started to solve this problem and produced a summary of its thinking process.";
    const SUMMARY: &str = r#"Tests \"pass\".\nNext: docks."#;
    for (summary, is_summary) in [
        (SUMMARY.to_owned(), true),
        (format!(r"{prefix}\n{SUMMARY}"), true),
        (format!(r"{prefix}\n\n{SUMMARY}\n"), true),
        ("Something else.".to_owned(), false),
    ] {
        let lines = [
            say("user", "mend the crane"),
            say("assistant", "It is mended."),
            say("assistant", SUMMARY),
            counted.clone(),
            compacted(&summary),
            say("user", "go on"),
            say("assistant", "Done."),
        ];
        let bytes = format!("{}\n", lines.join("\n")).into_bytes();
        let (cursor, seen, items) = read(&bytes);
        let replies = crate::queued_prompts::without_withdrawn(&items)
            .iter()
            .filter_map(|item| match &item.body {
                Body::Reply { text } => Some(text.lines().next().unwrap_or("").to_owned()),
                _ => None,
            })
            .collect::<Vec<_>>();
        let expected = ["It is mended.", "Tests \"pass\".", "Done."];
        let expected: Vec<_> =
            expected.iter().enumerate().filter(|(at, _)| *at != 1 || !is_summary).map(|it| *it.1).collect();
        assert_eq!(replies, expected, "{summary}");
        assert!(items.iter().any(|item| matches!(&item.body, Body::Summary { .. })), "{summary}");
        let messages = crate::messages::message_count(&items);
        assert_eq!(
            (seen.messages - cursor.overcounted, messages),
            (expected.len() as u64 + 2, expected.len() as u64 + 2)
        );
        let units = crate::turns::units(&items).len();
        assert_eq!(units, expected.len() + 2, "{summary}");
        for border in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1) {
            let mut pieces: Vec<Item> = Vec::new();
            let mut first = Reader::new(SOURCE, Cursor::default(), OpenCalls::default(), &mut pieces);
            first.feed(&bytes[..border]);
            let (at, _) = first.into_parts();
            let open: OpenCalls = pieces.iter().collect();
            let mut second = Reader::new(SOURCE, at, open, &mut pieces);
            second.feed(&bytes[border..]);
            assert_eq!((second.into_parts().0, &pieces), (cursor.clone(), &items), "{summary} at {border}");
        }
    }
}

#[test]
fn records_of_newer_versions_are_known_and_no_text() {
    let record =
        r#"{"type":"token_usage_record","ordinal":7,"payload":{"usage":{"input_tokens":1},"response_id":"r"}}"#;
    let (_, seen, items) = read(format!("{record}\n").as_bytes());
    assert_eq!((seen.unknown.len(), items.len()), (0, 0));
}
