use super::*;

use crate::item::{Body, Compaction, Meta, Outcome};

mod claude;
mod pieces;
mod queue;
mod unread;

const MAIN: Source = Source { agent: Agent::ClaudeCode, subagent: false };

pub(super) fn read_as(source: Source, bytes: &[u8]) -> (Vec<Item>, Cursor, Observation) {
    let mut items = Vec::new();
    let mut reader = Reader::new(source, Cursor::default(), OpenCalls::default(), &mut items);
    let read = reader.feed(bytes);
    reader.finish(&bytes[read..]);
    let (cursor, seen) = reader.into_parts();
    (items, cursor, seen)
}

fn read(bytes: &[u8]) -> (Vec<Item>, Cursor, Observation) {
    let (items, cursor, seen) = read_as(MAIN, bytes);
    let mut none = NullSink;
    let mut reader = Reader::new(MAIN, Cursor::default(), OpenCalls::default(), &mut none);
    let fed = reader.feed(bytes);
    reader.finish(&bytes[fed..]);
    assert_eq!(reader.into_parts(), (cursor.clone(), seen.clone()), "counting and reading see the same");
    (items, cursor, seen)
}

/// An item as one short line: line number, `~` for an aside, kind, text.
pub(super) fn shown(item: &Item) -> String {
    let (kind, text) = match &item.body {
        Body::Prompt { text } => ("prompt", text.clone()),
        Body::Answer { text } => ("answer", text.clone()),
        Body::Reply { text } => ("reply", text.clone()),
        Body::Thinking { text } => ("thinking", text.clone()),
        Body::Summary { text } => ("summary", text.clone()),
        Body::Notice { text } => ("notice", text.clone()),
        Body::Call(call) => ("call", format!("{} {}", call.name, serde_json::to_string(&call.input).unwrap())),
        Body::Result(result) => ("result", format!("{:?} {}", result.outcome, result.text)),
        Body::Meta(Meta::Title { source, text }) => ("title", format!("{source:?} {text}")),
        Body::Meta(Meta::Branch(text)) => ("branch", text.clone()),
        Body::Meta(Meta::Cwd(text)) => ("cwd", text.clone()),
        Body::Media { text } => ("media", text.clone()),
        Body::Meta(Meta::Below(parent)) => ("below", parent.to_string()),
        Body::Meta(Meta::Usage(usage)) => {
            let counts = [usage.input, usage.output, usage.cache_read, usage.cache_creation, usage.cache_creation_1h];
            let bound = if usage.output_is_lower_bound { " at least" } else { "" };
            ("usage", format!("{} {:?} {counts:?}{bound}", usage.model, usage.request))
        }
        Body::Meta(Meta::Compaction(Compaction { trigger, tokens_before, tokens_after })) => {
            ("compaction", format!("{trigger} {tokens_before:?} {tokens_after:?}"))
        }
        Body::Meta(Meta::Withdrawn(line)) => ("withdrawn", line.to_string()),
        Body::Meta(Meta::Link { link, session }) => ("link", format!("{} {session}", link.as_str())),
    };
    format!("{}{} {kind} {text}", item.line, if item.sidechain { "~" } else { "" })
}

/// Reads lines at once, and checks that counting alone and reading in two pieces give the same.
pub(super) fn read_every_way(source: Source, lines: &[&str]) -> (Vec<String>, Cursor, Observation) {
    let bytes = format!("{}\n", lines.join("\n")).into_bytes();
    let (items, cursor, seen) = read_as(source, &bytes);
    let mut none = NullSink;
    let mut counter = Reader::new(source, Cursor::default(), OpenCalls::default(), &mut none);
    counter.feed(&bytes);
    assert_eq!(counter.into_parts(), (cursor.clone(), seen.clone()), "counting and reading see the same");
    for split in 0..bytes.len() {
        let (mut pieces, at, mut both) = read_as(source, &bytes[..split]);
        let mut later = Vec::new();
        let mut reader = Reader::new(source, at.clone(), pieces.iter().collect(), &mut later);
        reader.feed(&bytes[usize::try_from(at.offset).unwrap()..]);
        let (end, rest) = reader.into_parts();
        both.absorb(&rest);
        pieces.append(&mut later);
        assert_eq!((&end, &both, &pieces), (&cursor, &seen, &items), "split at {split}");
    }
    assert_eq!(seen.malformed, 0);
    (items.iter().map(shown).collect(), cursor, seen)
}

/// Checks the items of a transcript of which every record is known, without the marks of the tree that it is.
pub(super) fn check_every_way(source: Source, lines: &[String], expected: &[&str]) {
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (items, _, seen) = read_every_way(source, &lines);
    let items: Vec<&String> = items.iter().filter(|item| !item.contains(" below ")).collect();
    assert_eq!(items, expected, "{lines:#?}");
    assert_eq!(seen.unknown.len(), 0, "{:?}", seen.unknown);
}

/// Checks which paths are transcripts of this main session.
pub(super) fn check_paths(agent: Agent, session: &str, paths: &[(String, bool)]) {
    for (path, is_transcript) in paths {
        let expected = is_transcript.then_some((session, None));
        check_path(agent, path, expected);
    }
}

/// Checks the session, and for a subagent its parent, that a path names.
pub(super) fn check_path(agent: Agent, path: &str, expected: Option<(&str, Option<&str>)>) {
    let found = classify(agent, path).map(|located| match located.kind {
        Kind::Main => (located.session.to_string(), None),
        Kind::Subagent { parent } => (located.session.to_string(), parent.map(|parent| parent.to_string())),
    });
    assert_eq!(found, expected.map(|(id, parent)| (id.to_owned(), parent.map(str::to_owned))), "{path}");
}

fn check(lines: &[&str], expected: &[&str]) -> (Cursor, Observation) {
    let (items, cursor, seen) = read(format!("{}\n", lines.join("\n")).as_bytes());
    assert_eq!(items.iter().map(shown).collect::<Vec<_>>(), expected, "{lines:#?}");
    assert_eq!(seen.malformed, 0, "{lines:#?}");
    (cursor, seen)
}

fn user(content: &str) -> String {
    format!(
        r#"{{"type":"user","uuid":"u","timestamp":"2026-03-14T09:26:53.589Z","message":{{"role":"user","content":{content}}}}}"#
    )
}

fn assistant(id: &str, block: &str) -> String {
    format!(
        r#"{{"message":{{"model":"m","id":"{id}","content":[{block}]}},"type":"assistant","uuid":"a","timestamp":"2026-03-14T09:26:54.000Z"}}"#
    )
}

fn call(id: &str, name: &str, input: &str) -> String {
    assistant("msg_c", &format!(r#"{{"type":"tool_use","id":"{id}","name":"{name}","input":{input}}}"#))
}

fn result(id: &str, content: &str, is_error: bool) -> String {
    user(&format!(r#"[{{"type":"tool_result","tool_use_id":"{id}","content":{content},"is_error":{is_error}}}]"#))
}

#[test]
fn each_kind_of_user_line_is_what_it_is() {
    let one = |line: &str, expected: &[&str], prompts: u64| {
        let (_, seen) = check(&[line], expected);
        assert_eq!((seen.prompts, seen.messages), (prompts, prompts), "{line}");
        seen
    };
    one(&user(r#""fix the bug""#), &["1 prompt fix the bug"], 1);
    one(&user(r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#), &["1 prompt a", "1 prompt b"], 1);
    one(&user(r#"[{"type":"image","source":{"data":"AAAA"}}]"#), &["1 media [image, 3 B]"], 1);
    one(&user(r#""  \n ""#), &[], 0);
    one(
        &user(r#""<command-name>/review</command-name><command-args>the diff</command-args>""#),
        &["1 prompt /review the diff"],
        1,
    );
    one(&user(r#""<command-name>/clear</command-name><command-args></command-args>""#), &["1 notice /clear"], 0);
    one(&user(r#""<local-command-stdout>x</local-command-stdout>""#), &["1 notice x"], 0);
    one(&user(r#""<bash-input>ls</bash-input>""#), &[r#"1 call ! {"command":"ls"}"#], 0);
    one(&user(r#""<bash-stdout>a</bash-stdout>""#), &["1 notice a"], 0);
    let news = r#""<task-notification><summary>done</summary></task-notification>\nnow b""#;
    one(&user(news), &["1 notice done", "1 prompt now b"], 1);
    one(&user(r#""[Request interrupted by user]""#), &["1 notice interrupted by the user"], 0);
    one(
        &user(r#"[{"type":"text","text":"<ide_opened_file>a</ide_opened_file>"},{"type":"text","text":"why?"}]"#),
        &["1 prompt why?"],
        1,
    );
    one(
        &user(r#""a\n<baton-recall kind=\"handoff\" session=\"s\">\nold\n</baton-recall>\nb""#),
        &["1 prompt a\n\nb"],
        1,
    );
    one(&user(r#""<baton-recall kind=\"handoff\">\nold\n</baton-recall>""#), &[], 0);
    one(&user(r#""what is <baton-recall for?""#), &["1 prompt what is <baton-recall for?"], 1);
    one(&user(r#""<private>me</private>""#), &["1 prompt [redacted:private]"], 1);

    let with = |field: &str, content: &str| user(content).replacen('{', &format!("{{{field},"), 1);
    one(&with(r#""isMeta":true"#, r#""a caveat""#), &[], 0);
    one(&with(r#""isCompactSummary":true"#, r#""so far""#), &["1 summary so far"], 0);
    one(
        &with(r#""origin":{"kind":"human"}"#, r#""<task-notification>what is this?""#),
        &["1 prompt <task-notification>what is this?"],
        1,
    );
    one(&with(r#""origin":{"kind":"coordinator"}"#, r#""do a""#), &["1 notice do a"], 0);
    one(&with(r#""promptSource":"system""#, r#""do a""#), &["1 notice do a"], 0);
    let seen = one(&with(r#""isSidechain":true"#, r#""look for b""#), &["1~ prompt look for b"], 0);
    assert_eq!(seen.conversation, 1);
    let line = with(r#""isSidechain":true"#, r#""look for b""#);
    let (items, _, seen) = read_as(Source { subagent: true, ..MAIN }, format!("{line}\n").as_bytes());
    assert_eq!((shown(&items[0]).as_str(), seen.prompts), ("1 prompt look for b", 1));
    let line = with(r#""origin":{"kind":"coordinator"}"#, r#""look for b""#);
    let (items, ..) = read_as(Source { subagent: true, ..MAIN }, format!("{line}\n").as_bytes());
    assert_eq!(shown(&items[0]), "1 prompt look for b");
}

#[test]
fn assistant_blocks_are_grouped_by_message_when_counted() {
    let text = |id: &str, text: &str| assistant(id, &format!(r#"{{"type":"text","text":"{text}"}}"#));
    let (cursor, seen) = check(
        &[
            &text("msg_1", "one"),
            &assistant("msg_1", r#"{"type":"thinking","thinking":"hm","signature":"AAAA"}"#),
            &assistant("msg_1", r#"{"type":"thinking","thinking":"","signature":"AAAA"}"#),
            &text("msg_2", "two"),
            &text("msg_1", "three"),
            &text("msg_3", "  "),
        ],
        &["1 reply one", "2 thinking hm", "4 reply two", "5 reply three"],
    );
    assert_eq!((seen.messages, seen.prompts, seen.conversation, seen.records), (2, 0, 6, 6));
    assert_eq!(cursor.recent_messages.len(), 2);

    let synthetic = text("s", "API Error: 500").replace(r#""model":"m""#, r#""model":"<synthetic>""#);
    let filler = text("s", "No response requested.").replace(r#""model":"m""#, r#""model":"<synthetic>""#);
    let (_, seen) = check(&[&synthetic, &filler], &["1 notice API Error: 500"]);
    assert_eq!((seen.messages, seen.conversation), (0, 0));
}

#[test]
fn a_result_is_one_line_about_its_call() {
    let (cursor, seen) = check(
        &[
            &call("t1", "Read", r#"{"file_path":"src/auth.rs"}"#),
            &call("t2", "Bash", r#"{"command":"cargo test"}"#),
            &call("t3", "Edit", r#"{"file_path":"a.rs","old_string":"a","new_string":"b\nc"}"#),
            &result("t2", r#""Exit code 101\nerror[E0308]: mismatched types""#, true),
            &result("t1", r#"[{"type":"text","text":"1→a\n2→b"}]"#, false),
            &result("t3", r#""updated""#, false),
            &result("t9", r#""x""#, false),
            &call("t4", "Bash", r#"{"command":"sleep 60"}"#),
        ],
        &[
            r#"1 call Read {"file_path":"src/auth.rs"}"#,
            r#"2 call Bash {"command":"cargo test"}"#,
            r#"3 call Edit {"file_path":"a.rs","new_string":"b\nc","old_string":"a"}"#,
            "4 result Failed Bash cargo test: exit 101, error[E0308]: mismatched types",
            "5 result Ok Read src/auth.rs: 2 lines",
            "6 result Ok Edit a.rs: +2 -1",
            "7 result Ok result: 1 line, 1 B",
            r#"8 call Bash {"command":"sleep 60"}"#,
        ],
    );
    assert_eq!((cursor.calls_in_flight(), seen.messages, seen.conversation), (1, 0, 8));
}

#[test]
fn what_a_person_typed_into_a_result_is_theirs() {
    let refused = r#""The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to proceed, the user said:\nkeep the name""#;
    let answered = r#""User has answered your questions: \"Which?\"=\"b\". You can now continue.""#;
    check(
        &[&call("t1", "Edit", r#"{"file_path":"a"}"#), &result("t1", refused, true), &result("t2", answered, false)],
        &[
            r#"1 call Edit {"file_path":"a"}"#,
            "2 result Denied Edit a: denied",
            "2 answer keep the name",
            "3 result Ok result: 1 line, 69 B",
            r#"3 answer User has answered your questions: "Which?"="b". You can now continue."#,
        ],
    );
}

#[test]
fn a_new_prompt_and_an_interruption_end_what_was_in_flight() {
    let open = call("t1", "Bash", r#"{"command":"x"}"#);
    let calls_after = |line: &str| read(format!("{open}\n{line}\n").as_bytes()).1.calls_in_flight();
    assert_eq!(calls_after(&user(r#""go on""#)), 0);
    assert_eq!(calls_after(&user(r#""[Request interrupted by user for tool use]""#)), 0);
    assert_eq!(calls_after(r#"{"type":"attachment","attachment":{"type":"queued_command","prompt":"and b"}}"#), 1);
    assert_eq!(calls_after(&result("t2", r#""x""#, false)), 1);
    assert_eq!(calls_after(&result("t1", r#""x""#, false)), 0);
}

#[test]
fn titles_branches_and_places_are_said_when_they_change() {
    let at = |cwd: &str, branch: &str, text: &str| {
        user(&format!("\"{text}\"")).replacen(
            '{',
            &format!(r#"{{"cwd":"{cwd}","gitBranch":"{branch}","sessionId":"s-1","#),
            1,
        )
    };
    let (cursor, seen) = check(
        &[
            r#"{"type":"summary","summary":"an old one","leafUuid":"leaf"}"#,
            &at("/a", "", "one"),
            &at("/a", "main", "two"),
            r#"{"type":"ai-title","aiTitle":"made up"}"#,
            r#"{"type":"custom-title","customTitle":"mine"}"#,
            r#"{"type":"custom-title","customTitle":"mine"}"#,
            &at("/b", "main", "three"),
            r#"{"type":"custom-title","customTitle":"<private>p</private>"}"#,
        ],
        &[
            "1 title Summary an old one",
            "2 cwd /a",
            "2 prompt one",
            "3 branch main",
            "3 prompt two",
            "4 title Model made up",
            "5 title Person mine",
            "7 cwd /b",
            "7 prompt three",
            "8 title Person [redacted:private]",
        ],
    );
    assert_eq!((seen.cwd.as_deref(), seen.agent_session.as_deref()), (Some("/a"), Some("s-1")));
    assert_eq!(seen.conversation, 3);
    assert!(!format!("{cursor:?}").contains("main"), "a cursor holds no text: {cursor:?}");
}

#[test]
fn the_harness_talk_and_batons_own_tools_are_no_conversation() {
    let own = "mcp__baton__session_tracking_close";
    let (cursor, seen) = check(
        &[
            r#"{"type":"progress","data":{"type":"hook_progress"},"timestamp":"2026-03-14T09:26:53.589Z"}"#,
            r#"{"type":"file-history-snapshot","snapshot":{}}"#,
            r#"{"type":"system","subtype":"turn_duration","durationMs":1}"#,
            r#"{"type":"system","subtype":"local_command","content":"<command-name>/x</command-name><command-args>b c</command-args>"}"#,
            r#"{"type":"attachment","attachment":{"type":"hook_additional_context","content":"x"}}"#,
            &call("t1", own, r#"{"reason":"done"}"#),
            &result("t1", r#""closed""#, false),
            r#"{"type":"brand-new","x":1}"#,
            &assistant("m", r#"{"type":"brand-new-block"}"#),
        ],
        &["4 prompt /x b c"],
    );
    assert_eq!((seen.conversation, seen.records, cursor.calls_in_flight()), (1, 9, 0));
    let unknown: Vec<_> = seen.unknown.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    assert_eq!(unknown, [("block:brand-new-block", 1), ("brand-new", 1)]);
    assert_eq!(seen.last_at.map(|at| at.to_string()).as_deref(), Some("2026-03-14T09:26:54.000Z"));
    assert_eq!(seen.last_conversation_at, None);
    let ran = r#"{"type":"user","message":{"content":"<bash-input>make lift</bash-input>"},"timestamp":"2026-03-14T09:28:00.000Z"}"#;
    let (_, _, seen) = read_every_way(Source { agent: Agent::ClaudeCode, subagent: false }, &[ran]);
    let at = seen.last_conversation_at.map(|at| at.to_string());
    assert_eq!((seen.conversation, at.as_deref()), (1, Some("2026-03-14T09:28:00.000Z")), "a person is active");
}

#[test]
fn secrets_reach_no_item() {
    let key = format!("sk-ant-{}", "a1B2".repeat(8));
    let lines = [
        user(&format!(r#""use {key}""#)),
        assistant("m", &format!(r#"{{"type":"text","text":"I use {key}"}}"#)),
        call("t1", "Bash", &format!(r#"{{"command":"curl -H 'x: {key}'","env":{{"K":["{key}"]}},"{key}":1}}"#)),
        result("t1", &format!(r#""Exit code 1\nerror: bad key {key}""#), true),
        format!(r#"{{"type":"custom-title","customTitle":"{key}"}}"#),
        user(r#""x""#).replacen('{', &format!(r#"{{"cwd":"/w/{key}","gitBranch":"{key}","#), 1),
    ];
    let (items, cursor, _) = read(format!("{}\n", lines.join("\n")).as_bytes());
    assert_eq!(items.len(), 8);
    assert!(!format!("{items:?} {cursor:?}").contains("a1B2a1B2"), "{items:#?}");
}

#[test]
fn broken_lines_are_counted_and_harm_no_other() {
    let good = user(r#""good""#);
    let cases: &[(&[u8], u64, usize)] = &[
        (b"{\"type\":\"user\",\"message\":{\"content\":\"torn", 1, 2),
        (b"[1,2]", 1, 2),
        (b"word", 1, 2),
        (b"\0\0\0\0", 1, 2),
        (b"\xff\xfe\x00{", 1, 2),
        (b"", 0, 2),
        (b"  \r", 0, 2),
        (b"\xef\xbb\xbf{\"type\":\"user\",\"message\":{\"content\":\"late mark\"}}", 1, 2),
        (
            b"{\"type\":\"user\",\"message\":{\"content\":\"a\"}}{\"type\":\"user\",\"message\":{\"content\":\"b\"}}",
            0,
            4,
        ),
        (b"{\"type\":\"user\",\"message\":{\"content\":\"a\"}}{\"type\":\"user\",\"mess", 1, 3),
        (b"\0\0{\"type\":\"us\0er\",\"message\":{\"content\":\"nul\"}}", 0, 3),
        (b"{\"type\":\"user\",\"message\":{\"content\":\"lone \\ud83d\"}}\r", 0, 3),
        (b"{\"type\":\"user\",\"message\":{\"content\":\"bad \xff byte\"}}", 0, 3),
        (b"{\"type\":\"user\",\"type\":\"user\",\"message\":1,\"message\":{\"content\":\"twice\"}}", 0, 3),
    ];
    for (line, malformed, items) in cases {
        let bytes = [good.as_bytes(), line, good.as_bytes(), b""].join(&b'\n');
        let (found, cursor, seen) = read(&bytes);
        let case = String::from_utf8_lossy(line);
        assert_eq!((seen.malformed, found.len()), (*malformed, *items), "{case}: {found:#?}");
        assert_eq!((seen.lines, cursor.line, cursor.offset), (3, 3, bytes.len() as u64), "{case}");
        assert_eq!(found.last().map(shown).as_deref(), Some("3 prompt good"), "{case}");
    }
    let bomb = format!("{{\"type\":\"user\",\"message\":{}", "[{\"a\":".repeat(200_000));
    assert_eq!(read(format!("{bomb}\n").as_bytes()).2.malformed, 1);
    let marked = format!("\u{feff}{good}\n");
    assert_eq!(read(marked.as_bytes()).2.prompts, 1);
}

#[test]
fn a_last_line_without_its_newline_is_read_when_it_is_whole() {
    let whole = user(r#""one""#);
    let (items, cursor, seen) = read(whole.as_bytes());
    assert_eq!((items.len(), seen.lines, cursor.unterminated, cursor.offset), (1, 1, true, whole.len() as u64));
    for torn in [&whole[..whole.len() - 1], "  ", "", "{", "12", "{}{", "\0\0"] {
        let (items, cursor, seen) = read(torn.as_bytes());
        assert_eq!((items.len(), seen, cursor), (0, Observation::default(), Cursor::default()), "{torn:?}");
    }
    // A byte order mark belongs to the file's beginning, not to a later line, whole or torn.
    let (items, later, seen) = read(format!("\n\u{feff}{whole}").as_bytes());
    assert_eq!((items.len(), seen.lines, seen.malformed, later.unterminated), (0, 1, 0, false));
    // The newline that comes later ends that line and is not one of its own.
    let mut items = Vec::new();
    let mut reader = Reader::new(MAIN, cursor, OpenCalls::default(), &mut items);
    let rest = format!("\r\n{whole}\n");
    assert_eq!(reader.feed(rest.as_bytes()), rest.len());
    let (cursor, seen) = reader.into_parts();
    assert_eq!((seen.lines, seen.malformed, cursor.line, cursor.unterminated), (1, 0, 2, false));
    assert_eq!(items.iter().map(shown).collect::<Vec<_>>(), ["2 prompt one"]);
}

#[test]
fn a_line_too_long_to_hold_is_passed_over() {
    let mut items = Vec::new();
    let mut reader = Reader::new(MAIN, Cursor::default(), OpenCalls::default(), &mut items);
    reader.oversize(br#"{"parentUuid":null,"type":"progress","data":{"output":"xxx"#, 20_000_001);
    reader.oversize(br#"{"data":"xxx"#, 10);
    let line = format!("{}\n", user(r#""next""#));
    reader.feed(line.as_bytes());
    let (cursor, seen) = reader.into_parts();
    assert_eq!((seen.oversize, seen.lines, seen.prompts), (2, 3, 1));
    assert_eq!(seen.unknown.keys().collect::<Vec<_>>(), ["oversize", "oversize:progress"]);
    assert_eq!((cursor.line, cursor.offset), (3, 20_000_011 + line.len() as u64));
    assert_eq!(items.iter().map(shown).collect::<Vec<_>>(), ["3 prompt next"]);
}

#[test]
fn outcomes_are_told_apart() {
    let (items, ..) =
        read(format!("{}\n", result("t", r#""[Request interrupted by user for tool use]""#, true)).as_bytes());
    assert!(matches!(&items[0].body, Body::Result(result) if result.outcome == Outcome::Interrupted));
}
