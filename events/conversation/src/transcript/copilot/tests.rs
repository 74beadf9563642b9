use super::super::Source;
use super::super::tests::{check_every_way, check_paths, read_as, read_every_way};
use super::*;
use crate::abandoned_branches::without_abandoned;
use crate::item::Body;

const MAIN: Source = Source { agent: Agent::Copilot, subagent: false };

fn event(kind: &str, id: &str, data: &str) -> String {
    format!(
        r#"{{"type":"{kind}","data":{data},"id":"{id}","timestamp":"2026-08-05T17:11:04.688Z","parentId":"before"}}"#
    )
}

fn prompt(text: &str, more: &str) -> String {
    event("user.message", "u", &format!(r#"{{"content":"{text}","transformedContent":"<now>\n{text}"{more}}}"#))
}

fn message(data: &str) -> String {
    event("assistant.message", "a", data)
}

fn start(id: &str, name: &str, arguments: &str) -> String {
    let data = format!(r#"{{"toolCallId":"{id}","toolName":"{name}","arguments":{arguments}}}"#);
    event("tool.execution_start", "s", &data)
}

fn complete(id: &str, success: bool, more: &str) -> String {
    event("tool.execution_complete", "c", &format!(r#"{{"toolCallId":"{id}","success":{success},{more}}}"#))
}

fn check(lines: &[String], expected: &[&str]) {
    check_every_way(MAIN, lines, expected);
}

#[test]
fn a_session_is_found_by_the_path_of_its_file() {
    let uuid = "721807ad-3498-4a19-8d2c-97760a0d76b0";
    check_paths(
        Agent::Copilot,
        uuid,
        &[
            (format!("{uuid}/events.jsonl"), true),
            (format!("{uuid}.jsonl"), true),
            (format!("{uuid}/other.jsonl"), false),
            (format!("{uuid}/files/events.jsonl"), false),
            (format!("{uuid}/workspace.yaml"), false),
            (format!("./{uuid}.jsonl"), false),
            ("../events.jsonl".to_owned(), false),
            ("/events.jsonl".to_owned(), false),
            (".jsonl".to_owned(), false),
            (String::new(), false),
        ],
    );
}

#[test]
fn a_session_has_its_place_and_sums() {
    let place = r#"{"sessionId":"x","context":{"cwd":"/w/app","branch":"main","repository":"o/app","repositoryHost":"github.com"}}"#;
    let sums = r#"{"modelMetrics":{"m":{"requests":{"count":1},"usage":{"inputTokens":100,"outputTokens":9,"cacheReadTokens":60,"cacheWriteTokens":30}},"old":{"requests":2}}}"#;
    let lines = [
        event("session.start", "1", place),
        event("session.title_changed", "2", r#"{"title":"Mend the crane"}"#),
        event("session.resume", "3", place),
        event("session.context_changed", "4", r#"{"cwd":"/w/dock","branch":"pier"}"#),
        event("session.shutdown", "5", sums),
        event("hook.start", "6", r#"{"hookType":"preToolUse","input":{}}"#),
    ];
    check(
        &lines,
        &[
            "1 cwd /w/app",
            "1 branch main",
            "2 title Model Mend the crane",
            "4 cwd /w/dock",
            "4 branch pier",
            "5 usage m None [10, 9, 60, 30, 0]",
        ],
    );
    let request = event("session.usage_record", "r", r#"{"usage":{"model":"m","inputTokens":100,"outputTokens":9}}"#);
    let answer = |more: &str| message(&format!(r#"{{"messageId":"a","content":"","model":"m"{more}}}"#));
    let shutdown = || event("session.shutdown", "5", sums);
    let read = "usage m None [10, 0, 60, 30, 0]";
    let counted = |line: u32| format!("{line} usage m None [0, 9, 0, 0, 0]");
    check(&[answer(r#","outputTokens":9"#), shutdown()], &[&counted(1), &format!("2 {read}")]);
    let none = "2 usage m None [0, 0, 0, 0, 0]";
    check(&[request, answer(r#","outputTokens":9"#), shutdown()], &[&counted(1), none, &format!("3 {read}")]);
    let (_, _, seen) = read_as(MAIN, format!("{}\n", lines[0]).as_bytes());
    assert_eq!(seen.remote.as_deref(), Some("https://github.com/o/app"));
}

#[test]
fn what_was_typed_is_told_from_what_the_model_is_given() {
    check(
        &[
            prompt("mend the crane", ""),
            prompt("mend it", r#","source":"user""#),
            prompt("use the skill", r#","source":"skill-pdf""#),
            prompt("go on", r#","isAutopilotContinuation":true"#),
            prompt("you are a subagent", r#","source":"agent-x""#),
            prompt(r"<system_notification>\nA shell ended.\n</system_notification>", ""),
            prompt(r"and the dock\n<system_reminder>\nBe brief.\n</system_reminder>", ""),
            prompt("why <reminder> tags?", ""),
            event(
                "user.message",
                "u",
                r#"{"content":"from afar","transformedContent":"<cross_session_message>\nfrom_session_id: y\nfrom afar"}"#,
            ),
            prompt("", r#","attachments":[{"type":"blob","data":"AAAA","mimeType":"image/png"},{"type":"file"}]"#),
        ],
        &[
            "1 prompt mend the crane",
            "2 prompt mend it",
            "6 notice A shell ended.",
            "7 prompt and the dock",
            "8 prompt why <reminder> tags?",
            "9 notice from afar",
            "10 media [image image/png, 3 B]",
        ],
    );
}

#[test]
fn messages_calls_and_results() {
    let diff = r#""*** Begin Patch\n*** Update File: a.rs\n@@\n-x\n+y\n+z\n*** End Patch""#;
    check(
        &[
            message(
                r#"{"messageId":"m","model":"gpt","content":"I look.","reasoningText":"hm","toolRequests":[{"toolCallId":"1"}],"outputTokens":7}"#,
            ),
            event("assistant.reasoning", "r", r#"{"content":"hm"}"#),
            start("1", "bash", r#"{"command":"false"}"#),
            complete("1", true, r#""result":{"content":"no\n<shellId: 0 completed with exit code 1>"}"#),
            start("2", "bash", r#"{"command":"true"}"#),
            complete("2", true, r#""result":{"content":"yes"},"shellExecution":{"exitCode":0}"#),
            start("3", "edit", r#"{"path":"a.rs","old_str":"x","new_str":"y"}"#),
            complete("3", true, r#""result":{"content":"File a.rs updated with changes."}"#),
            start("4", "apply_patch", diff),
            complete("4", false, r#""error":{"message":"Invalid context","code":"failure"}"#),
            event(
                "tool.execution_start",
                "s",
                r#"{"toolCallId":"5","toolName":"notes-add","mcpServerName":"notes","mcpToolName":"add","arguments":{"old_str":"k"}}"#,
            ),
            complete("5", true, r#""result":{"content":"added"}"#),
            event(
                "tool.execution_start",
                "s",
                r#"{"toolCallId":"6","toolName":"baton-get","mcpServerName":"baton","mcpToolName":"get","arguments":{}}"#,
            ),
            complete("6", true, r#""result":{"content":"own"}"#),
            message(r#"{"messageId":"n","content":"Done.","toolRequests":[]}"#),
            start("7", "bash", r#"{"command":"serve","mode":"async"}"#),
            complete("7", true, r#""result":{"content":"<command started in background with shellId: serve1>"}"#),
        ],
        &[
            "1 thinking hm",
            "1 reply I look.",
            "1 usage gpt None [0, 7, 0, 0, 0]",
            r#"3 call bash {"command":"false"}"#,
            "4 result Failed bash false: exit 1, no",
            r#"5 call bash {"command":"true"}"#,
            "6 result Ok bash true: ok, 1 line",
            r#"7 call edit {"new_string":"y","old_string":"x","path":"a.rs"}"#,
            "8 result Ok edit a.rs: +1 -1",
            r#"9 call apply_patch {"change":"update","patch":"@@\n-x\n+y\n+z\n","path":"a.rs"}"#,
            "10 result Failed apply_patch a.rs: failed, Invalid context",
            r#"11 call mcp__notes__add {"old_str":"k"}"#,
            "12 result Ok mcp__notes__add k: 1 line, 5 B",
            "15 reply Done.",
            r#"16 call bash {"command":"serve","mode":"async"}"#,
            "17 result Ok bash serve: running in the background as serve1",
        ],
    );
}

#[test]
fn what_a_person_decided_answered_and_ran() {
    check(
        &[
            start("1", "bash", r#"{"command":"rm x"}"#),
            event(
                "permission.completed",
                "p",
                r#"{"toolCallId":"1","result":{"kind":"denied-interactively-by-user","feedback":"keep it"}}"#,
            ),
            complete("1", false, r#""error":{"message":"refused","code":"failure"}"#),
            start("2", "bash", r#"{"command":"rm y"}"#),
            complete("2", false, r#""error":{"message":"Denied by preToolUse hook","code":"denied"}"#),
            start("3", "ask_user", r#"{"question":"Which?","choices":["a","b"]}"#),
            complete("3", true, r#""result":{"content":"User responded: both"}"#),
            event(
                "tool.user_requested",
                "t",
                r#"{"toolCallId":"4","toolName":"local_shell","arguments":{"command":"ls"}}"#,
            ),
            complete("4", true, r#""isUserRequested":true,"result":{"content":"a"}"#),
            start("5", "bash", r#"{"command":"sleep 9"}"#),
            event("abort", "b", r#"{"reason":"user_initiated"}"#),
            complete(
                "5",
                false,
                r#""error":{"message":"The execution of this tool was interrupted.","code":"failure"}"#,
            ),
        ],
        &[
            r#"1 call bash {"command":"rm x"}"#,
            "2 answer keep it",
            "3 result Denied bash rm x: denied",
            r#"4 call bash {"command":"rm y"}"#,
            "5 result Denied bash rm y: denied",
            r#"6 call ask_user {"choices":["a","b"],"question":"Which?"}"#,
            "7 answer both",
            "7 result Ok ask_user Which?: 1 line, 20 B",
            r#"8 call ! {"command":"ls"}"#,
            "9 result Ok ! ls: 1 line, 1 B",
            r#"10 call bash {"command":"sleep 9"}"#,
            "11 notice interrupted by the user",
            "12 result Interrupted bash sleep 9: interrupted",
        ],
    );
}

#[test]
fn subagents_speak_aside() {
    let aside = |line: String| line.replacen(r#"{"type""#, r#"{"agentId":"g","type""#, 1);
    check(
        &[
            start("1", "task", r#"{"description":"look","prompt":"look well","agent_type":"explore"}"#),
            aside(event("subagent.started", "x", r#"{"toolCallId":"1","agentName":"explore"}"#)),
            aside(prompt("look well", "")),
            aside(message(r#"{"messageId":"m","content":"I see.","toolRequests":[]}"#)),
            message(r#"{"messageId":"n","parentToolCallId":"1","content":"And more.","toolRequests":[]}"#),
            complete("1", true, r#""result":{"content":"seen"}"#),
        ],
        &[
            r#"1 call task {"description":"look","prompt":"look well","subagent_type":"explore"}"#,
            "4~ reply I see.",
            "5~ reply And more.",
            "6 result Ok task look: 1 line, 4 B",
        ],
    );
}

#[test]
fn the_end_of_the_work_is_a_reply_and_a_compaction_has_a_summary() {
    check(
        &[
            start("1", "task_complete", r#"{"summary":"All mended."}"#),
            complete("1", true, r#""result":{"content":"ok"}"#),
            event("session.task_complete", "t", r#"{"summary":"All mended.","success":true}"#),
            event("session.task_complete", "t", r#"{"summary":"The dock, too."}"#),
            event("session.compaction_complete", "z", r#"{"success":false,"trigger":"auto"}"#),
            event(
                "session.compaction_complete",
                "z",
                r#"{"success":true,"trigger":"manual","preCompactionTokens":45,"postCompactionTokens":33,"summaryContent":"so far"}"#,
            ),
            event("session.error", "e", r#"{"errorType":"query","message":"no quota"}"#),
        ],
        &[
            "1 reply All mended.",
            r#"1 call task_complete {"summary":"All mended."}"#,
            "2 result Ok task_complete All mended.: 1 line, 2 B",
            "4 reply The dock, too.",
            "6 compaction manual Some(45) Some(33)",
            "6 summary so far",
            "7 notice no quota",
        ],
    );
}

#[test]
fn a_rewind_takes_back_a_prompt_and_what_followed() {
    let said = |id: &str, text: &str| event("user.message", id, &format!(r#"{{"content":"{text}"}}"#));
    let answer = |text: &str| message(&format!(r#"{{"messageId":"{text}","content":"{text}","toolRequests":[]}}"#));
    for rewind in [r#"{"upToEventId":"p2","eventsRemoved":2}"#, r#"{"eventIds":["h","p2","a"],"upToEventId":"h"}"#] {
        let lines = [
            said("p1", "one"),
            answer("first"),
            said("p2", "two"),
            answer("second"),
            event("session.snapshot_rewind", "w", rewind),
            said("p3", "three"),
        ];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        read_every_way(MAIN, &lines);
        let (items, ..) = read_as(MAIN, format!("{}\n", lines.join("\n")).as_bytes());
        let standing = without_abandoned(&items);
        let texts = standing.iter().filter_map(|item| match &item.body {
            Body::Prompt { text } | Body::Reply { text } => Some(text.as_str()),
            _ => None,
        });
        assert_eq!(texts.collect::<Vec<_>>(), ["one", "first", "three"], "{rewind}");
    }
}

#[test]
fn unknown_events_are_counted_and_broken_ones_harm_nothing() {
    let bytes =
        format!("{}\n{{\"type\":\"user.message\"\n{}\n[1]\n{{}}\n", event("new.event", "1", "{}"), prompt("go", ""));
    let (items, _, seen) = read_as(MAIN, bytes.as_bytes());
    assert_eq!(items.iter().filter(|item| matches!(item.body, Body::Prompt { .. })).count(), 1);
    assert_eq!((seen.prompts, seen.malformed), (1, 2));
    assert!(seen.unknown.contains_key("new.event"), "{:?}", seen.unknown);
}
