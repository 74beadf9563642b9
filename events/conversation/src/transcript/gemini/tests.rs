use super::super::tests::{check_path, shown};
use super::super::{Cursor, NullSink, Observation, OpenCalls, Reader, Source, document, other_form, plain};
use super::*;
use crate::abandoned_branches::without_abandoned;
use crate::item::{Body, Item};

const MAIN: Source = Source { agent: Agent::Gemini, subagent: false };

/// Reads lines in every two pieces, and counts only: all must see the same.
pub(in super::super) fn read(source: Source, lines: &[&str]) -> (Vec<Item>, Observation) {
    let bytes = format!("{}\n", lines.join("\n")).into_bytes();
    let read = |bytes: &[u8], cursor: Cursor, items: &mut Vec<Item>| {
        let open: OpenCalls = items.iter().collect();
        let mut reader = Reader::new(source, cursor, open, items);
        reader.feed(bytes);
        reader.into_parts()
    };
    let mut whole = Vec::new();
    let (end, seen) = read(&bytes, Cursor::default(), &mut whole);
    let mut none = NullSink;
    let mut counter = Reader::new(source, Cursor::default(), OpenCalls::default(), &mut none);
    counter.feed(&bytes);
    assert_eq!(counter.into_parts(), (end.clone(), seen.clone()), "counting and reading see the same");
    for (border, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
        let mut items = Vec::new();
        let (cursor, mut both) = read(&bytes[..=border], Cursor::default(), &mut items);
        let (cursor, later) = read(&bytes[border + 1..], cursor, &mut items);
        both.absorb(&later);
        assert_eq!((&cursor, &both, &items), (&end, &seen, &whole), "in two pieces, the first {border} bytes");
    }
    (whole, seen)
}

pub(in super::super) fn check(source: Source, lines: &[&str], expected: &[&str]) -> Observation {
    let (items, seen) = read(source, lines);
    assert_eq!(items.iter().map(shown).collect::<Vec<_>>(), expected, "{lines:#?}");
    seen
}

const HEADER: &str = r#"{"sessionId":"d5be006c-3180-402b-977a-50ad2bb30a2e","projectHash":"e","startTime":"2026-06-11T19:15:35.513Z","kind":"main"}"#;
const CONTEXT: &str = r#"{"$set":{"messages":[{"id":"c","type":"user","content":[{"text":"<session_context>\n- **Workspace Directories:**\n  - /w/tide\n</session_context>"}]}],"lastUpdated":"2026-06-11T19:15:35.514Z"}}"#;

fn user(id: &str, content: &str) -> String {
    format!(r#"{{"id":"{id}","timestamp":"2026-06-11T19:15:48.981Z","type":"user","content":{content}}}"#)
}

fn gemini(id: &str, rest: &str) -> String {
    format!(r#"{{"id":"{id}","timestamp":"2026-06-11T19:15:52.207Z","type":"gemini",{rest}}}"#)
}

fn call(id: &str, name: &str, args: &str, status: &str, response: &str) -> String {
    format!(
        r#"{{"id":"{id}","name":"{name}","args":{args},"status":"{status}","result":[{{"functionResponse":{{"id":"{id}","name":"{name}","response":{response}}}}}]}}"#
    )
}

#[test]
fn a_message_that_is_written_again_says_only_what_is_new() {
    let said = r#""content":"I look.","thoughts":[{"subject":"Plan","description":"look first"}],"tokens":{"input":10,"output":2,"cached":4,"thoughts":3,"tool":0},"model":"gemini-3""#;
    let ls = call(
        "t1",
        "run_shell_command",
        r#"{"command":"ls"}"#,
        "success",
        r#"{"output":"Output: a\nExit Code: 2\nProcess Group PGID: 7"}"#,
    );
    let edit = call("t2", "replace", r#"{"file_path":"a.rs","old_string":"a","new_string":"b"}"#, "executing", "{}");
    let edited = call(
        "t2",
        "replace",
        r#"{"file_path":"a.rs","old_string":"a","new_string":"b"}"#,
        "success",
        r#"{"output":"ok"}"#,
    );
    let with = |calls: &str| gemini("g1", &format!(r#"{said},"toolCalls":[{calls}]"#));
    let own = call("t3", "mcp_baton_search", "{}", "success", r#"{"output":"found"}"#);
    let seen = check(
        MAIN,
        &[
            HEADER,
            CONTEXT,
            &user("u1", r#"[{"text":"mend it"},{"text":"<hook_context>h</hook_context>"}]"#),
            &gemini("g1", said),
            &with(&format!("{ls},{edit}")),
            &with(&format!("{ls},{edited}")),
            &with(&format!("{ls},{edited},{own}")),
            &user(
                "u2",
                r#"[{"functionResponse":{"id":"t1","name":"run_shell_command","response":{"output":"Output: a"}}}]"#,
            ),
            &gemini("g2", r#""content":"Mended.","tokens":{"input":1,"output":1}"#),
        ],
        &[
            "2 cwd /w/tide",
            "3 below u1",
            "3 prompt mend it",
            "4 thinking Plan\nlook first",
            "4 reply I look.",
            "4 usage gemini-3 None [6, 5, 4, 0, 0]",
            r#"5 call run_shell_command {"command":"ls"}"#,
            "5 result Failed run_shell_command ls: exit 2, a",
            r#"5 call replace {"file_path":"a.rs","new_string":"b","old_string":"a"}"#,
            "6 result Ok replace a.rs: +1 -1",
            "9 reply Mended.",
            "9 usage  None [1, 1, 0, 0, 0]",
        ],
    );
    assert_eq!((seen.prompts, seen.messages), (1, 3));
}

#[test]
fn a_resumed_session_repeats_nothing() {
    let again = r#"{"$set":{"messages":[{"id":"c","type":"user","content":[{"text":"<session_context>\n- **Workspace Directories:**\n  - /w/tide\n</session_context>"}]},{"id":"x","type":"user","content":[{"text":"two"}]},{"id":"y","type":"gemini","content":[{"text":"Second."}]}]}}"#;
    check(
        MAIN,
        &[
            HEADER,
            CONTEXT,
            &user("u1", r#"[{"text":"one"}]"#),
            &gemini("g1", r#""content":"First.""#),
            HEADER,
            CONTEXT,
            r#"{"$set":{"sessionId":"d5be006c-3180-402b-977a-50ad2bb30a2e"}}"#,
            again,
            &user("u3", r#""three""#),
            r#"{"$set":{"summary":"Counting","memoryScratchpad":{"version":1}}}"#,
        ],
        &[
            "2 cwd /w/tide",
            "3 below u1",
            "3 prompt one",
            "4 reply First.",
            "9 below u3",
            "9 prompt three",
            "10 title Model Counting",
        ],
    );
}

#[test]
fn a_compaction_is_a_summary_once() {
    let list = r#"{"$set":{"messages":[{"id":"s","type":"user","content":[{"text":"<state_snapshot>so far</state_snapshot>"}]},{"id":"k","type":"gemini","content":[{"text":"Got it. Thanks for the additional context!"}]}]}}"#;
    let mut lines = vec![list.to_owned()];
    lines.extend((0..40).map(|at| user(&format!("u{at}"), r#""go on""#)));
    lines.push(list.to_owned());
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (items, _) = read(MAIN, &lines);
    let said: Vec<String> = items.iter().filter(|item| item.line == 1 || item.line == 42).map(shown).collect();
    assert_eq!(said, ["1 compaction  None None", "1 summary <state_snapshot>so far</state_snapshot>"]);
}

#[test]
fn what_is_written_anew_after_a_refusal_is_said_once() {
    let at = |line: String, seconds: &str| line.replace("19:15:48.981", seconds).replace("19:15:52.207", seconds);
    let refused = call(
        "t1",
        "write_file",
        r#"{"file_path":"a","content":"x"}"#,
        "cancelled",
        r#"{"error":"[Operation Cancelled] Reason: User denied execution."}"#,
    );
    let context = r#"[{"text":"<session_context>x</session_context>"},{"text":"one"}]"#;
    let lines = [
        CONTEXT.to_owned(),
        user("u1", r#"[{"text":"one"}]"#),
        gemini("g1", &format!(r#""content":"","model":"gemini-3","toolCalls":[{refused}]"#)),
        r#"{"id":"i1","timestamp":"2026-06-11T19:16:00.100Z","type":"info","content":"Request cancelled."}"#.to_owned(),
        at(user("c2", context), "19:16:00.998"),
        at(user("u2", r#"[{"text":"one"}]"#), "19:16:01.001"),
        at(
            gemini("g2", r#""content":[{"text":"I write."},{"functionCall":{"id":"t1"}}],"tokens":null"#),
            "19:16:01.002",
        ),
        format!(
            r#"{{"$set":{{"messages":[{},{}]}}}}"#,
            at(user("c2", context), "19:16:00.998"),
            at(user("u2", r#"[{"text":"one"}]"#), "19:16:01.001")
        ),
        at(user("u3", r#"[{"text":"two"}]"#), "19:16:01.500"),
    ];
    check(
        MAIN,
        &lines.each_ref().map(String::as_str),
        &[
            "1 cwd /w/tide",
            "2 below u1",
            "2 prompt one",
            r#"3 call write_file {"content":"x","file_path":"a"}"#,
            "3 result Denied write_file a: denied",
            "4 notice interrupted by the user",
            "6 below u2",
            "9 below u3",
            "9 prompt two",
        ],
    );
}

#[test]
fn a_command_that_a_person_ran_is_a_call() {
    let words = r#"[{"text":"I ran the following shell command:\n```sh\nls\n```\n\nThis produced the following result:\n```\na\nb\n```"}]"#;
    let seen = check(MAIN, &[&user("u1", words)], &[r#"1 call ! {"command":"ls"}"#, "1 result Ok ! ls: 2 lines, 3 B"]);
    assert_eq!(seen.prompts, 0);
}

#[test]
fn a_rewind_abandons_what_came_since() {
    let lines = [
        &user("u1", r#""one""#),
        &gemini("g1", r#""content":"First.""#),
        &user("u2", r#""two""#),
        &gemini("g2", r#""content":"Second.""#),
        r#"{"$rewindTo":"u2"}"#,
        &user("u3", r#""three""#),
        &gemini("g3", r#""content":"Third.""#),
        r#"{"$rewindTo":"u3"}"#,
    ];
    let (items, _) = read(MAIN, &lines);
    let standing = without_abandoned(&items);
    let words: Vec<&str> = standing
        .iter()
        .filter_map(|item| match &item.body {
            Body::Prompt { text } | Body::Reply { text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(words, ["one", "First."]);
}

#[test]
fn each_kind_of_message_is_what_it_is() {
    let denied = call(
        "t1",
        "write_file",
        r#"{"file_path":"a","content":"x"}"#,
        "cancelled",
        r#"{"error":"[Operation Cancelled] Reason: User denied execution."}"#,
    );
    let topic = call("t2", "update_topic", r#"{"title":"Tides"}"#, "success", r#"{"output":"ok"}"#);
    let mcp = r#"{"id":"t3","name":"find","displayName":"find (github MCP Server)","args":{"q":"x"},"status":"error","result":[{"functionResponse":{"response":{"error":"no such tool"}}}]}"#;
    let seen = check(
        MAIN,
        &[
            r#"{"id":"u1","type":"user","content":[{"text":"the whole skill"}],"displayContent":[{"text":"/skill a"}]}"#,
            &user(
                "u2",
                r#"[{"text":"see @a"},{"text":"\n--- Content from referenced files ---"},{"text":"file"},{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]"#,
            ),
            &user("u3", r#""System: Please continue.""#),
            &gemini("g1", &format!(r#""content":"","toolCalls":[{denied},{topic},{mcp}]"#)),
            r#"{"id":"i1","type":"info","content":"Request cancelled."}"#,
            r#"{"id":"i2","type":"error","content":"[API Error: 400]"}"#,
            r#"{"id":"i3","type":"info","content":""}"#,
            r#"{"id":"o","type":"odd"}"#,
            "not json",
            &gemini("g2", r#""content":"Hel""#),
            &gemini("g2", r#""content":"Hello.""#),
        ],
        &[
            "1 below u1",
            "1 prompt /skill a",
            "2 below u2",
            "2 prompt see @a",
            "2 media [image image/png, 3 B]",
            r#"4 call write_file {"content":"x","file_path":"a"}"#,
            "4 result Denied write_file a: denied",
            r#"4 call update_topic {"title":"Tides"}"#,
            "4 title Model Tides",
            "4 result Ok update_topic Tides: 1 line, 2 B",
            r#"4 call mcp__github__find {"q":"x"}"#,
            "4 result Failed mcp__github__find x: failed, no such tool",
            "5 notice interrupted by the user",
            "6 notice [API Error: 400]",
            "10 reply Hel",
            "11 withdrawn 10",
            "11 reply Hello.",
        ],
    );
    assert_eq!((seen.prompts, seen.messages, seen.malformed), (2, 3, 1));
    assert_eq!(seen.unknown.keys().collect::<Vec<_>>(), ["odd"]);
}

#[test]
fn paths_name_sessions() {
    let check = |path: &str, expected| check_path(Agent::Gemini, path, expected);
    check("tide/chats/session-2026-06-11T19-15-d5be006c.jsonl", Some(("d5be006c", None)));
    check("tide/chats/session-2026-06-11T19-15-d5be006c.json", Some(("d5be006c", None)));
    check("tide/chats/d5be006c-3180-402b-977a-50ad2bb30a2e/child-1.jsonl", Some(("child-1", Some("d5be006c"))));
    for none in [
        "",
        "tide/chats/session-2026-06-11T19-15-d5be006c.jsonl.unreadable-1",
        "tide/chats/session-é.jsonl",
        "tide/chats/session-2026-06-11T19-15-.jsonl",
        "tide/chats/x.jsonl",
        "tide/logs.jsonl",
        "tide/logs.json",
        "tide/chats/x.json",
        "../chats/session-2026-06-11T19-15-d5be006c.jsonl",
    ] {
        check(none, None);
    }
}

#[test]
fn a_long_lines_kind_is_known_by_its_beginning() {
    for (head, expected) in [
        (r#"{"id":"a","type":"gemini","content":"x"#, Some("gemini")),
        (r#"{"$set":{"messages":["#, Some("$set")),
        (r#"{"id":"a"#, None),
        ("x", None),
    ] {
        assert_eq!(Gemini::kind_of(head.as_bytes()).as_deref(), expected, "{head}");
    }
}

#[test]
fn an_older_document_gives_the_same_lines() {
    let path = "/h/.gemini/tmp/tide/chats/session-2026-06-11T19-15-d5be006c.json";
    let later = format!("{path}l");
    let document = document(Agent::Gemini, path).unwrap();
    assert_eq!(super::super::document(Agent::Gemini, &later), None);
    assert_eq!(plain(Agent::Gemini, path).as_deref(), Some(&*later), "the later file takes precedence");
    assert_eq!(other_form(Agent::Gemini, &later).as_deref(), Some(path));
    let output = r#"{"output":"Output: a\nExit Code: 1\nProcess Group PGID: 7"}"#;
    let ls = call("c1", "run_shell_command", r#"{"command":"ls"}"#, "success", output);
    let written = format!(
        r#"{{"sessionId": "d5be006c-3180-402b-977a-50ad2bb30a2e", "startTime": "2026-06-11T19:15:35.513Z",
            "lastUpdated": "2026-06-11T19:16:00.000Z", "messages": [
              {}, {}, {}
            ], "summary": "Lists files"}}"#,
        user("m1", r#""list it""#),
        gemini("m2", &format!(r#""content":"I look.","model":"gemini-3","toolCalls":[{ls}]"#)),
        gemini("m3", r#""parts":[{"text":"One file."}]"#).replace("gemini", "model"),
    );
    let lines = String::from_utf8(document.lines(written.as_bytes()).unwrap()).unwrap();
    let expected = [
        "1 title Model Lists files",
        "2 below m1",
        "2 prompt list it",
        "3 reply I look.",
        r#"3 call run_shell_command {"command":"ls"}"#,
        "3 result Failed run_shell_command ls: exit 1, a",
        "4 reply One file.",
    ];
    check(MAIN, &lines.lines().collect::<Vec<_>>(), &expected);
}
