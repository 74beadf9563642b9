//! A document that grows is read on, one whose past changed is read anew, and one that cannot be read says why.
//!
//! A read leaves nothing but its cursor and digest, which are recorded with what was read: whoever is killed in between
//! reads the same again.

use std::fs;
use std::path::Path;

use baton_conversation::item::{Agent, Body, Item};

use super::*;

const SOURCE: Source = Source { agent: Agent::Gemini, subagent: false };

struct Document {
    _folder: tempfile::TempDir,
    start: Start,
}

impl Document {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session-2026-06-11T19-15-d5be006c.json");
        let start = Start::beginning(SOURCE, path.to_str().unwrap());
        Self { _folder: folder, start }
    }

    fn path(&self) -> &Path {
        Path::new(&self.start.path)
    }

    /// Writes the document with one prompt for each word.
    fn write(&self, words: &[&str]) {
        fs::write(self.path(), document(words)).unwrap();
    }

    /// Reads on, and returns the lines and words of the new prompts.
    fn read(&mut self) -> Vec<(u64, String)> {
        let to = match observe(&self.start) {
            Pass::Read(done) => done.cursor.offset,
            other => panic!("{other:?}"),
        };
        let mut read: Vec<Item> = Vec::new();
        let Pass::Read(done) = items(&self.start, OpenCalls::default(), to, &mut read) else { panic!("counted") };
        assert!(!done.more);
        (self.start.cursor, self.start.tail) = (done.cursor, done.tail);
        let prompts = read.into_iter().filter_map(|item| match item.body {
            Body::Prompt { text } => Some((item.line, text)),
            _ => None,
        });
        prompts.collect()
    }

    fn unreadable(&self) -> (String, bool) {
        match observe(&self.start) {
            Pass::Unreadable { reason, lasting } => (reason, lasting),
            other => panic!("{other:?}"),
        }
    }
}

fn document(words: &[&str]) -> String {
    let message = |(at, word): (usize, &&str)| {
        format!("    {{\n      \"id\": \"m{at}\",\n      \"type\": \"user\",\n      \"content\": \"{word}\"\n    }}")
    };
    let messages: Vec<String> = words.iter().enumerate().map(message).collect();
    let count = words.len();
    format!(
        "{{\n  \"sessionId\": \"d5be006c\",\n  \"lastUpdated\": {count},\n  \"messages\": [\n{}\n  ]\n}}",
        messages.join(",\n")
    )
}

fn prompt(line: u64, word: &str) -> (u64, String) {
    (line, word.to_owned())
}

#[test]
fn only_what_is_new_in_a_document_is_read() {
    let mut document = Document::new();
    document.write(&["one", "two"]);
    assert_eq!(document.read(), [prompt(2, "one"), prompt(3, "two")]);
    assert_eq!(document.read(), []);
    document.write(&["one", "two", "three"]);
    assert_eq!(document.read(), [prompt(4, "three")]);
    assert_eq!(peek(SOURCE, &document.start.path), Peek::Nowhere);
}

#[test]
fn a_document_with_another_past_is_rewritten() {
    let mut document = Document::new();
    document.write(&["one", "two"]);
    document.read();
    for other in [&["one"][..], &["one", "owt"], &["eno", "two"], &["one", "another", "three"], &[]] {
        document.write(other);
        assert!(matches!(observe(&document.start), Pass::Rewritten { .. }), "{other:?}");
    }
}

#[test]
fn a_torn_document_is_read_once_it_is_whole() {
    let mut document = Document::new();
    document.write(&["one"]);
    document.read();
    let whole = self::document(&["one", "two"]);
    for end in [0, 1, whole.len() / 2, whole.len() - 1] {
        fs::write(document.path(), &whole[..end]).unwrap();
        let (reason, lasting) = document.unreadable();
        assert!(reason.contains("being written") && !lasting, "{reason}");
    }
    fs::write(document.path(), &whole).unwrap();
    assert_eq!(document.read(), [prompt(3, "two")]);
}

#[test]
fn what_is_no_document_or_too_large_is_refused_with_a_reason() {
    let document = Document::new();
    fs::write(document.path(), "{\"history\": []}").unwrap();
    let (reason, lasting) = document.unreadable();
    assert!(reason.contains("no JSON document with messages") && lasting, "{reason}");
    let file = fs::File::create(document.path()).unwrap();
    file.set_len(limits::DOCUMENT_BYTES + 1).unwrap();
    let (reason, lasting) = document.unreadable();
    assert!(reason.contains("more than 32 MB") && lasting, "{reason}");
}

#[test]
fn the_file_that_replaces_a_document_takes_over() {
    let mut document = Document::new();
    document.write(&["one", "two"]);
    document.read();
    let later = format!("{}l", document.start.path);
    let (cursor, tail) = (document.start.cursor.offset, document.start.tail);
    fs::write(&later, "{\"sessionId\":\"d5be006c\"}\n{\"id\":\"m0\",\"type\":\"user\",\"content\":\"one\"}\n").unwrap();
    assert!(may_take_over(SOURCE, &document.start.path, &later, cursor, tail));
    assert!(!may_take_over(SOURCE, &later, &document.start.path, cursor, tail), "it is out of date");
    fs::remove_file(document.path()).unwrap();
    assert!(matches!(observe(&document.start), Pass::Rewritten { .. }), "read under its former name");
}

#[test]
fn messages_that_are_files_are_read_in_order_up_to_the_first_that_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("base_state.json");
    fs::write(&path, r#"{"id":"0a","status":"idle","workspace":{"working_dir":"/w"}}"#).unwrap();
    let source = Source { agent: Agent::OpenHands, subagent: false };
    let mut conversation = Document { start: Start::beginning(source, path.to_str().unwrap()), _folder: folder };
    let events = path.with_file_name("events");
    let event = |number: u32, text: &str| fs::write(events.join(format!("event-{number:05}-0a1b.json")), text).unwrap();
    let said = |word: &str| {
        format!(
            "{{\n\"kind\":\"MessageEvent\",\"source\":\"user\",\n\"llm_message\":{{\"content\":[{{\"text\":\"{word}\"}}]}}}}"
        )
    };
    assert_eq!(conversation.read(), [], "there are none yet");
    fs::create_dir(&events).unwrap();
    fs::write(events.join(".eventlog.lock"), "").unwrap();
    event(0, &said("one"));
    event(2, &said("three"));
    assert_eq!(conversation.read(), [prompt(2, "one")]);
    fs::write(&path, r#"{"id":"0a","status":"busy","workspace":{"working_dir":"/w"}}"#).unwrap();
    event(1, &said("two"));
    event(3, &said("four")[..20]);
    assert_eq!(conversation.read(), [prompt(3, "two"), prompt(4, "three")], "the last is being written");
    event(4, &said("five"));
    assert_eq!(conversation.read(), [prompt(6, "five")]);
    let Pass::Read(whole) = observe(&Start::beginning(source, path.to_str().unwrap())) else { panic!("readable") };
    assert_eq!((whole.seen.lines, whole.seen.malformed), (6, 1), "the one that was left is counted");
    event(1, &said("owt"));
    assert!(matches!(observe(&conversation.start), Pass::Rewritten { .. }));
    fs::File::create(events.join("event-00005-0a1b.json")).unwrap().set_len(limits::DOCUMENT_BYTES).unwrap();
    let (reason, lasting) = conversation.unreadable();
    assert!(reason.contains("event-00005-0a1b.json") && reason.contains("more than 32 MB") && lasting, "{reason}");
}
