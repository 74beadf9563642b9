//! Reading in passes, what counts as rewritten, and what takes a session over.

use super::*;
use baton_conversation::item::{Body, Item, Meta, TitleSource};
use std::io::Write;

const SOURCE: Source = Source { agent: Agent::ClaudeCode, subagent: false };

fn prompt(text: &str) -> String {
    format!(
        r#"{{"type":"user","uuid":"u-{}","sessionId":"s","timestamp":"2026-03-14T09:26:53.589Z","cwd":"/p","message":{{"role":"user","content":"{text}"}}}}"#,
        text.len()
    )
}

struct Transcript {
    file: tempfile::NamedTempFile,
    start: Start,
}

impl Transcript {
    fn new(content: &[u8]) -> Self {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content).unwrap();
        let start = Start::beginning(SOURCE, file.path().to_str().unwrap());
        Self { file, start }
    }

    fn append(&mut self, bytes: &[u8]) {
        self.file.write_all(bytes).unwrap();
    }

    fn observe(&mut self) -> Observation {
        match observe(&self.start) {
            Pass::Read(done) => {
                (self.start.cursor, self.start.tail) = (done.cursor, done.tail);
                done.seen
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn the_head_tells_where_a_session_works() {
    let peeked = |content: &str| peek(SOURCE, &Transcript::new(content.as_bytes()).start.path);
    let metadata = r#"{"type":"file-history-snapshot","messageId":"m","snapshot":{}}"#;
    let nowhere = prompt("x").replace(r#""cwd":"/p","#, "");
    for (content, expected) in [
        (String::new(), Peek::NotYet),
        (format!("{metadata}\n"), Peek::NotYet),
        (prompt("torn"), Peek::NotYet),
        (format!("{}\n", prompt("one")), Peek::Cwd("/p".to_owned())),
        (format!("{metadata}\nno json\n{}\n", prompt("one")), Peek::Cwd("/p".to_owned())),
        (format!("{nowhere}\n"), Peek::Nowhere),
        (format!("{nowhere}\n{}\n", prompt("one")), Peek::Cwd("/p".to_owned())),
        (format!("{}\n{}\n", "x".repeat(1_000_000), prompt("one")), Peek::Cwd("/p".to_owned())),
    ] {
        assert_eq!(peeked(&content), expected, "{}", content.chars().take(200).collect::<String>());
    }
    assert_eq!(peek(SOURCE, "/nowhere/at/all"), Peek::Unreadable);
}

#[test]
fn reading_goes_on_where_it_stood_and_holds_back_a_torn_line() {
    let mut transcript = Transcript::new(format!("{}\n{}", prompt("one"), &prompt("two")[..40]).as_bytes());
    assert_eq!(transcript.observe().messages, 1);
    assert_eq!(transcript.observe().lines, 0);
    transcript.append(&prompt("two").as_bytes()[40..]);
    assert_eq!(transcript.observe().messages, 1, "whole, although its newline is still to come");
    transcript.append(b"\n");
    let seen = transcript.observe();
    assert_eq!((seen.messages, seen.lines), (0, 0));
    assert_eq!(transcript.start.cursor.line, 2);
}

#[test]
fn a_file_that_does_not_continue_what_was_read_is_rewritten() {
    let mut transcript = Transcript::new(format!("{}\n", prompt("one")).as_bytes());
    transcript.observe();
    std::fs::write(transcript.file.path(), format!("{}\n{}\n", prompt("eno"), prompt("more"))).unwrap();
    assert!(matches!(observe(&transcript.start), Pass::Rewritten { .. }), "same length, other bytes");
    std::fs::write(transcript.file.path(), "").unwrap();
    assert!(matches!(observe(&transcript.start), Pass::Rewritten { .. }), "shorter");
    std::fs::remove_file(transcript.file.path()).unwrap();
    assert!(matches!(observe(&transcript.start), Pass::Gone));
}

#[test]
fn a_directory_is_no_transcript() {
    let directory = tempfile::tempdir().unwrap();
    let start = Start::beginning(SOURCE, directory.path().to_str().unwrap());
    assert!(matches!(observe(&start), Pass::Unreadable { .. }));
}

#[test]
fn a_line_that_is_too_long_to_hold_is_counted_and_passed_over() {
    let giant = format!(
        "{{\"type\":\"progress\",\"data\":\"{}\"}}",
        "x".repeat(limits::TRANSCRIPT_LINE_BYTES + 2 * limits::READ_BLOCK_BYTES)
    );
    let content = format!("{}\n{giant}\n{}\n", prompt("one"), prompt("after"));
    let mut transcript = Transcript::new(content.as_bytes());
    let seen = transcript.observe();
    assert_eq!((seen.messages, seen.oversize, seen.malformed), (2, 1, 0));
    assert_eq!(transcript.start.cursor.offset, content.len() as u64);
    let mut items: Vec<Item> = Vec::new();
    let start = Start { cursor: Cursor::default(), tail: TailDigest::default(), ..transcript.start.clone() };
    assert!(matches!(super::items(&start, OpenCalls::default(), content.len() as u64, &mut items), Pass::Read(_)));
    assert_eq!(items.last().map(|item| item.line), Some(3));
}

#[test]
fn items_of_a_file_that_is_observed_in_several_passes_are_read_at_once() {
    let noise = format!("{{\"type\":\"progress\",\"data\":\"{}\"}}\n", "x".repeat(limits::TRANSCRIPT_LINE_BYTES - 100));
    let lines = limits::READ_PASS_BYTES / limits::TRANSCRIPT_LINE_BYTES as u64 + 2;
    let mut transcript = Transcript::new(format!("{}\n", prompt("one")).as_bytes());
    (0..lines).for_each(|_| transcript.append(noise.as_bytes()));
    transcript.append(format!("{}\n", prompt("after")).as_bytes());
    let seen = (transcript.observe().messages, transcript.observe().messages);
    assert_eq!(seen, (1, 1), "in two passes");
    let to = transcript.start.cursor.offset;
    let (start, mut read) = (Start::beginning(SOURCE, &*transcript.start.path), Vec::<Item>::new());
    assert!(matches!(items(&start, OpenCalls::default(), to, &mut read), Pass::Read(_)));
    assert_eq!(read.last().map(|item| item.line), Some(lines + 2));
}

#[test]
fn items_end_exactly_where_the_observation_ended() {
    let mut transcript = Transcript::new(format!("{}\n", prompt("one")).as_bytes());
    transcript.observe();
    let to = transcript.start.cursor.offset;
    transcript.append(format!("{}\n", prompt("later")).as_bytes());
    let (start, mut read) = (Start::beginning(SOURCE, &*transcript.start.path), Vec::<Item>::new());
    assert!(matches!(items(&start, OpenCalls::default(), to, &mut read), Pass::Read(_)));
    assert!(read.iter().all(|item| item.line == 1));
    assert!(matches!(items(&start, OpenCalls::default(), to - 5, &mut read), Pass::Rewritten { .. }));
}

#[test]
fn the_name_beside_a_transcript_comes_last_and_only_when_it_is_news() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s-1.jsonl");
    let titled = |title: &str| format!("{{\"type\":\"custom-title\",\"customTitle\":\"{title}\"}}\n");
    let content = format!("{}\n{}", prompt("one"), titled("docks"));
    std::fs::write(&path, &content).unwrap();
    std::fs::create_dir(folder.path().join("s-1")).unwrap();
    let name = |name: &str| {
        std::fs::write(folder.path().join("s-1/custom-title.json"), format!("{{\"customTitle\":\"{name}\"}}")).unwrap();
    };
    let start = |source, cursor, tail| Start { source, path: path.to_str().unwrap().to_owned(), cursor, tail };
    let read = |start: Start| {
        let (mut read, to) = (Vec::new(), content.len() as u64);
        let Pass::Read(done) = items(&start, OpenCalls::default(), to, &mut read) else { panic!() };
        let titles = read.iter().filter_map(|item: &Item| match &item.body {
            Body::Meta(Meta::Title { source: TitleSource::Person, text }) => Some(format!("{} {text}", item.line)),
            _ => None,
        });
        (titles.collect::<Vec<_>>().join(", "), done)
    };
    let fresh = |source| start(source, Cursor::default(), TailDigest::default());
    assert_eq!(read(fresh(SOURCE)).0, "2 docks");
    name("docks");
    assert_eq!(read(fresh(SOURCE)).0, "2 docks");
    name("cranes");
    let (summary, done) = read(fresh(SOURCE));
    assert_eq!(summary, "2 docks, 2 cranes");
    assert_eq!(read(start(SOURCE, done.cursor, done.tail)).0, "", "it was said");
    assert_eq!(read(fresh(Source { subagent: true, ..SOURCE })).0, "2 docks", "it is the session's, and no subagent's");
}

#[test]
fn a_title_in_the_state_beside_a_transcript_is_read_with_it() {
    let temp = tempfile::tempdir().unwrap();
    let check = |agent: Agent, name: &str, line: &str, beside: &str| {
        let (path, state) = (temp.path().join(name), temp.path().join(beside));
        std::fs::write(&path, format!("{line}\n")).unwrap();
        let start = Start::beginning(Source { agent, subagent: false }, path.to_str().unwrap());
        let titles = |state_is: &str| -> Vec<String> {
            std::fs::write(&state, state_is).unwrap();
            let mut items: Vec<Item> = Vec::new();
            let read = super::items(&start, OpenCalls::default(), line.len() as u64 + 1, &mut items);
            assert!(matches!(read, Pass::Read(_)), "{read:?}");
            let title = |item: Item| match item.body {
                Body::Meta(Meta::Title { source: TitleSource::Model, text }) => Some(text),
                _ => None,
            };
            items.into_iter().filter_map(title).collect()
        };
        assert_eq!(titles(r#"{"title":"Otters","cwd":"/srv/shop"}"#), ["Otters"], "{agent}");
        for none in [r#"{"title":null}"#, r#"{"title":" "}"#, r#"{"title":7}"#, "{\"title\":\"a", ""] {
            assert_eq!(titles(none), [""; 0], "{agent} {none}");
        }
    };
    let prompt = r#"{"version":"v1","kind":"Prompt","data":{"content":[{"kind":"text","data":"swim"}]}}"#;
    check(Agent::Kiro, "0a1b.jsonl", prompt, "0a1b.json");
    check(Agent::Vibe, "messages.jsonl", r#"{"role":"user","content":"swim","injected":false}"#, "meta.json");
}

#[test]
fn another_file_takes_over_when_it_continues_the_first_or_the_first_is_gone() {
    let mut first = Transcript::new(format!("{}\n", prompt("one")).as_bytes());
    first.observe();
    let (known, point, tail) = (first.start.path.clone(), first.start.cursor.offset, first.start.tail);
    let longer = Transcript::new(format!("{}\n{}\n", prompt("one"), prompt("two")).as_bytes());
    let other = Transcript::new(format!("{}\n{}\n", prompt("eno"), prompt("two")).as_bytes());
    assert!(may_take_over(SOURCE, &known, &longer.start.path, point, tail));
    assert!(!may_take_over(SOURCE, &known, &other.start.path, point, tail));
    std::fs::write(&known, "{\"type\":\"relocated\",\"relocatedCwd\":\"/p2\"}\n").unwrap();
    assert!(may_take_over(SOURCE, &known, &other.start.path, point, tail), "what is left behind says nothing");
    std::fs::write(&known, "{\"type\":\"system\",\"subtype\":\"local_command\",\"cwd\":\"/p\",\"content\":\"\"}\n")
        .unwrap();
    assert!(may_take_over(SOURCE, &known, &other.start.path, point, tail), "a directory is no conversation");
    drop(first);
    assert!(may_take_over(SOURCE, &known, &other.start.path, point, tail));
}
