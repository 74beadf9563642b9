use super::super::Source;
use super::super::tests::{check_every_way, check_paths, read_as, read_every_way};
use super::*;
use crate::abandoned_branches::without_abandoned;
use crate::item::Body;

const MAIN: Source = Source { agent: Agent::Pi, subagent: false };
const UUID: &str = "019e5c9d-7069-73a2-8745-b2acb15548ec";

fn entry(kind: &str, id: &str, parent: &str, more: &str) -> String {
    format!(r#"{{"type":"{kind}","id":"{id}","parentId":"{parent}","timestamp":"2026-05-25T00:51:22.804Z",{more}}}"#)
}

fn message(id: &str, parent: &str, role: &str, more: &str) -> String {
    entry("message", id, parent, &format!(r#""message":{{"role":"{role}",{more}}}"#))
}

fn user(id: &str, parent: &str, text: &str) -> String {
    message(id, parent, "user", &format!(r#""content":[{{"type":"text","text":"{text}"}}]"#))
}

fn assistant(id: &str, parent: &str, stop: &str, content: &str) -> String {
    message(id, parent, "assistant", &format!(r#""content":[{content}],"model":"gpt","stopReason":"{stop}""#))
}

fn call(id: &str, name: &str, arguments: &str) -> String {
    assistant(
        "a",
        "u",
        "toolUse",
        &format!(r#"{{"type":"toolCall","id":"{id}","name":"{name}","arguments":{arguments}}}"#),
    )
}

fn result(id: &str, is_error: bool, text: &str) -> String {
    let content = format!(r#""toolCallId":"{id}","isError":{is_error},"content":[{{"type":"text","text":"{text}"}}]"#);
    message("r", "a", "toolResult", &content)
}

fn check(lines: &[String], expected: &[&str]) {
    check_every_way(MAIN, lines, expected);
}

#[test]
fn a_session_is_found_by_the_path_of_its_file() {
    check_paths(
        Agent::Pi,
        UUID,
        &[
            (format!("--home-u-app--/2026-05-25T00-51-22-346Z_{UUID}.jsonl"), true),
            (format!("2026-05-25T00-51-22-346Z_{UUID}.jsonl"), true),
            (format!("--home-u-app--/{UUID}.jsonl"), false),
            (format!("--home-u-app--/2026_{UUID}.json"), false),
            (format!("--home-u-app--/x/2026_{UUID}.jsonl"), false),
            (format!("../2026_{UUID}.jsonl"), false),
            (format!("/2026_{UUID}.jsonl"), false),
            ("_.jsonl".to_owned(), false),
            (String::new(), false),
        ],
    );
}

#[test]
fn a_session_has_its_place_name_and_origin() {
    let header = format!(
        r#"{{"type":"session","version":3,"id":"y","timestamp":"2026-05-25T00:51:22.346Z","cwd":"/w/app","parentSession":"/s/2026-05-24_{UUID}.jsonl"}}"#
    );
    check(
        &[
            header,
            entry("model_change", "1", "", r#""provider":"p","modelId":"gpt""#),
            entry("thinking_level_change", "2", "1", r#""thinkingLevel":"high""#),
            entry("session_info", "3", "2", r#""name":"Crane""#),
            entry("custom", "4", "3", r#""customType":"state","data":{}"#),
            entry("label", "5", "4", r#""targetId":"3","label":"here""#),
        ],
        &["1 cwd /w/app", &format!("1 link forked_from {UUID}"), "4 title Person Crane"],
    );
}

#[test]
fn what_was_typed_is_told_from_what_the_model_is_given() {
    check(
        &[
            user("1", "0", "mend the crane"),
            message("2", "1", "user", r#""content":"a bare string""#),
            user(
                "3",
                "2",
                r#"<file name=\"/w/a.rs\">\nfn a() {}\n</file>\n<file name=\"/w/b.png\"></file>\nlook at these"#,
            ),
            user(
                "4",
                "3",
                r#"<skill name=\"pdf\" location=\"/s/SKILL.md\">\nReferences are relative to /s.\n\nbody\n</skill>\n\nmerge them"#,
            ),
            user("5", "4", r"what is <skill> here?"),
            message("6", "5", "user", r#""content":[{"type":"image","data":"AAAA","mimeType":"image/png"}]"#),
            entry("custom_message", "7", "6", r#""customType":"x","content":"from an extension","display":true"#),
            message("8", "7", "custom", r#""customType":"x","content":[{"type":"text","text":"and more"}]"#),
            message("9", "8", "hookMessage", r#""content":"from a hook""#),
            entry("compaction", "10", "9", r#""summary":"so far","firstKeptEntryId":"8","tokensBefore":90"#),
            entry("branch_summary", "11", "10", r#""fromId":"9","summary":"it was tried""#),
            message("12", "11", "bashExecution", r#""command":"false","output":"no\n","exitCode":1,"cancelled":false"#),
            message("13", "12", "bashExecution", r#""command":"sleep 9","output":"","cancelled":true"#),
        ],
        &[
            "1 prompt mend the crane",
            "2 prompt a bare string",
            "3 prompt look at these",
            "4 prompt /skill:pdf merge them",
            "5 prompt what is <skill> here?",
            "6 media [image image/png, 3 B]",
            "7 notice from an extension",
            "8 notice and more",
            "9 notice from a hook",
            "10 compaction  Some(90) None",
            "10 summary so far",
            "11 summary it was tried",
            r#"12 call ! {"command":"false"}"#,
            "12 result Failed ! false: exit 1, no",
            r#"13 call ! {"command":"sleep 9"}"#,
            "13 result Interrupted ! sleep 9: interrupted",
        ],
    );
}

#[test]
fn messages_calls_and_results() {
    let usage = r#""content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"I look."}],"model":"gpt","usage":{"input":5,"output":7,"cacheRead":2,"cacheWrite":1},"stopReason":"stop""#;
    check(
        &[
            message("a", "u", "assistant", usage),
            call("1", "bash", r#"{"command":"false"}"#),
            result("1", true, r"no\n\n\nCommand exited with code 1"),
            call("2", "edit", r#"{"path":"a.rs","edits":[{"oldText":"x","newText":"y\nz"}]}"#),
            result("2", false, "Successfully replaced 1 block(s) in a.rs."),
            call("3", "write", r#"{"path":"b.rs","content":"1\n2\n"}"#),
            result("3", true, "Tool execution was blocked by an extension"),
            call("4", "read", r#"{"path":"c.rs"}"#),
            result("4", true, "Skipped due to queued user message."),
            call("5", "mcp", r#"{"tool":"notes_add","args":"{}"}"#),
            result("5", false, "added"),
            call("6", "mcp", r#"{"tool":"baton_get","args":"{}"}"#),
            result("6", false, "own"),
            call("7", "question", r#"{"question":"Which?"}"#),
            result("7", false, "both"),
            assistant(
                "b",
                "r",
                "aborted",
                r#"{"type":"text","text":"Half"},{"type":"toolCall","id":"8","name":"bash","arguments":{"command":"rm"}}"#,
            ),
            message("c", "b", "assistant", r#""content":[],"stopReason":"error","errorMessage":"no quota""#),
        ],
        &[
            "1 thinking hm",
            "1 reply I look.",
            "1 usage gpt None [5, 7, 2, 1, 0]",
            r#"2 call bash {"command":"false"}"#,
            "3 result Failed bash false: exit 1, no",
            r#"4 call edit {"edits":[{"new_string":"y\nz","old_string":"x"}],"path":"a.rs"}"#,
            "5 result Ok edit a.rs: +2 -1",
            r#"6 call write {"content":"1\n2\n","path":"b.rs"}"#,
            "7 result Denied write b.rs: denied",
            r#"8 call read {"path":"c.rs"}"#,
            "9 result Interrupted read c.rs: interrupted",
            r#"10 call notes_add {"args":"{}","tool":"notes_add"}"#,
            "11 result Ok notes_add {}: 1 line, 5 B",
            r#"14 call question {"question":"Which?"}"#,
            "15 answer both",
            "15 result Ok question Which?: 1 line, 4 B",
            "16 reply Half",
            "16 notice interrupted by the user",
            "17 notice no quota",
        ],
    );
}

#[test]
fn the_line_with_the_exit_code_is_no_part_of_the_output() {
    let failed = result("1", true, r"the second writer is refused\n\n\nCommand exited with code 3");
    let bytes = format!("{}\n{failed}\n", call("1", "bash", r#"{"command":"check"}"#));
    let (items, ..) = read_as(MAIN, bytes.as_bytes());
    let Some(Body::Result(result)) = items.last().map(|item| &item.body) else { panic!("{items:?}") };
    assert_eq!((result.exit_code, result.error.as_deref()), (Some(3), Some("the second writer is refused")));
}

#[test]
fn a_branch_that_was_left_is_abandoned() {
    let reply = |id: &str, parent: &str| assistant(id, parent, "stop", &format!(r#"{{"type":"text","text":"{id}"}}"#));
    let model = |id: &str, parent: &str| entry("model_change", id, parent, r#""modelId":"m""#);
    let summary = |id: &str, parent: &str| entry("branch_summary", id, parent, r#""summary":"s""#);
    let begin = [user("p1", "m0", "one"), reply("a1", "p1"), user("p2", "a1", "two"), reply("a2", "p2")];
    for (branch, expected) in [
        (vec![user("p3", "a2", "three")], "one a1 two a2 three"),
        (vec![model("m", "a2"), user("p3", "m", "three")], "one a1 two a2 three"),
        (vec![user("p3", "a1", "three")], "one a1 three"),
        (vec![model("m", "a1"), user("p3", "m", "three"), reply("a3", "p3")], "one a1 three a3"),
        (vec![summary("s", "a1"), user("p3", "s", "three")], "one a1 three"),
        (vec![user("p3", "m0", "three"), reply("a3", "p3")], "three a3"),
    ] {
        let lines: Vec<&str> = begin.iter().chain(&branch).map(String::as_str).collect();
        read_every_way(MAIN, &lines);
        let (items, ..) = read_as(MAIN, format!("{}\n", lines.join("\n")).as_bytes());
        let standing = without_abandoned(&items);
        let texts = standing.iter().filter_map(|item| match &item.body {
            Body::Prompt { text } | Body::Reply { text } => Some(text.as_str()),
            _ => None,
        });
        assert_eq!(texts.collect::<Vec<_>>().join(" "), expected, "{branch:#?}");
    }
}

#[test]
fn unknown_entries_are_counted_and_broken_ones_harm_nothing() {
    let lines = [
        entry("new_entry", "1", "0", r#""x":1"#),
        "{\"type\":\"message\"".to_owned(),
        user("2", "1", "go"),
        message("3", "2", "narrator", r#""content":"x""#),
        assistant("4", "3", "stop", r#"{"type":"hologram"}"#),
    ];
    let (items, _, seen) = read_as(MAIN, format!("{}\n", lines.join("\n")).as_bytes());
    assert_eq!(items.iter().filter(|item| matches!(item.body, Body::Prompt { .. })).count(), 1);
    assert_eq!((seen.prompts, seen.malformed), (1, 1));
    let unknown: Vec<&str> = seen.unknown.keys().map(AsRef::as_ref).collect();
    assert_eq!(unknown, ["block:hologram", "new_entry", "role:narrator"]);
}
