use super::super::Source;
use super::super::gemini::tests::{check, read};
use super::super::tests::check_path;
use super::*;
use crate::abandoned_branches::without_abandoned;
use crate::item::Body;

const MAIN: Source = Source { agent: Agent::Qwen, subagent: false };
const SUBAGENT: Source = Source { agent: Agent::Qwen, subagent: true };

/// A record below another one: `uuid<parent` or `uuid`, its type, and the rest.
fn record(uuid: &str, kind: &str, rest: &str) -> String {
    let (uuid, parent) =
        uuid.split_once('<').map_or((uuid, "null".to_owned()), |(uuid, parent)| (uuid, format!("\"{parent}\"")));
    format!(
        r#"{{"uuid":"{uuid}","parentUuid":{parent},"sessionId":"s-1","timestamp":"2026-08-17T12:00:00.000Z","type":"{kind}","cwd":"/w","gitBranch":"main",{rest}}}"#
    )
}

fn user(uuid: &str, text: &str) -> String {
    record(uuid, "user", &format!(r#""message":{{"role":"user","parts":[{{"text":"{text}"}}]}}"#))
}

fn reply(uuid: &str, text: &str) -> String {
    record(uuid, "assistant", &format!(r#""model":"qwen3","message":{{"role":"model","parts":[{{"text":"{text}"}}]}}"#))
}

#[test]
fn a_turn_is_a_prompt_calls_results_and_a_reply() {
    let counts = r#""usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5,"totalTokenCount":15},"message""#;
    let counted = reply("f<e", "No rule for it.").replacen(r#""message""#, counts, 1);
    let lines = [
        &record(
            "a",
            "user",
            r#""provenance":"real_user","systemPayload":{"displayText":"see @a.rs","hookContext":"h"},"message":{"role":"user","parts":[{"text":"see a.rs: whole file"},{"text":"<qwen:user-prompt-submit-context>\nh\n</qwen:user-prompt-submit-context>"},{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]}"#,
        ),
        &record(
            "b<a",
            "assistant",
            r#""model":"qwen3","message":{"role":"model","parts":[{"text":"Hm.","thought":true},{"text":"I test."},{"functionCall":{"id":"t1","name":"run_shell_command","args":{"command":"make"}}},{"functionCall":{"id":"t2","name":"mcp__baton__search","args":{}}},{"functionCall":{"id":"t3","name":"mcp__github__find","args":{"q":"x"}}}]},"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5,"cachedContentTokenCount":4,"thoughtsTokenCount":2,"totalTokenCount":15}"#,
        ),
        &record(
            "c<b",
            "tool_result",
            r#""message":{"role":"user","parts":[{"functionResponse":{"id":"t1","name":"run_shell_command","response":{"error":"Command: make\nDirectory: (root)\nOutput: no rule\nError: (none)\nExit Code: 2\nSignal: (none)\nProcess Group PGID: 1"}}}]},"toolCallResult":{"callId":"t1","status":"error","durationMs":12,"resultDisplay":{"type":"shell_result","exitCode":2,"outcome":"failed"}}"#,
        ),
        &record(
            "d<c",
            "tool_result",
            r#""message":{"role":"user","parts":[{"functionResponse":{"id":"t2","name":"x","response":{"output":"found"}}}]},"toolCallResult":{"callId":"t2","status":"success"}"#,
        ),
        &record(
            "e<d",
            "tool_result",
            r#""message":{"role":"user","parts":[{"functionResponse":{"id":"t3","name":"x","response":{"error":"[Operation Cancelled] Reason: User did not allow tool call"}}}]},"toolCallResult":{"callId":"t3","status":"cancelled"}"#,
        ),
        &counted,
        &reply("g<f", "Half of"),
    ];
    let seen = check(
        MAIN,
        &lines.map(String::as_str),
        &[
            "1 cwd /w",
            "1 branch main",
            "1 below ",
            "1 prompt see @a.rs",
            "1 media [image image/png, 3 B]",
            "2 below a",
            "2 thinking Hm.",
            "2 reply I test.",
            r#"2 call run_shell_command {"command":"make"}"#,
            r#"2 call mcp__github__find {"q":"x"}"#,
            "2 usage qwen3 None [6, 5, 4, 0, 0]",
            "3 result Failed run_shell_command make: exit 2, no rule",
            "5 result Denied mcp__github__find x: denied",
            "6 reply No rule for it.",
            "6 usage qwen3 None [10, 5, 0, 0, 0]",
            "7 reply Half of",
            "7 notice interrupted by the user",
        ],
    );
    assert_eq!((seen.prompts, seen.messages, seen.agent_session.as_deref()), (1, 4, Some("s-1")));
}

#[test]
fn a_subagent_that_goes_on_is_named() {
    let spawn = r#""message":{"role":"model","parts":[{"functionCall":{"id":"call_1","name":"agent","args":{"description":"Look"}}}]}"#;
    let launched = r#""message":{"role":"user","parts":[{"functionResponse":{"id":"call_1","name":"agent","response":{"output":"Background agent launched successfully."}}}]},"toolCallResult":{"callId":"call_1","status":"success","resultDisplay":{"type":"task_execution","subagentName":"explore","status":"background"}}"#;
    let (items, _) = read(MAIN, &[&record("a", "assistant", spawn), &record("b<a", "tool_result", launched)]);
    let Some(Body::Result(result)) = items.last().map(|item| &item.body) else { panic!("{items:?}") };
    assert_eq!(
        (result.agent.as_deref(), &*result.text),
        (Some("explore-call_1"), "agent Look: running in the background")
    );
}

#[test]
fn what_nobody_typed_is_no_prompt() {
    let message = r#""message":{"role":"user","parts":[{"text":"words"}]}"#;
    let payload = |rest: &str| format!(r#""systemPayload":{rest}"#);
    let system = |uuid: &str, subtype: &str, rest: &str| {
        record(uuid, "system", &format!(r#""subtype":"{subtype}",{}"#, payload(rest)))
    };
    let lines = [
        record(
            "a",
            "user",
            &format!(
                r#""subtype":"notification","provenance":"system",{message},{}"#,
                payload(r#"{"displayText":"task ended"}"#)
            ),
        ),
        record("b<a", "user", &format!(r#""subtype":"cron",{message}"#)),
        record("c<b", "user", &format!(r#""provenance":"goal_runtime",{message}"#)),
        record("d<c", "user", &format!(r#""subtype":"mid_turn_user_message",{message}"#)),
        system("e<d", "slash_command", r#"{"phase":"invocation","rawCommand":"/about"}"#),
        system("f<e", "slash_command", r#"{"phase":"result","rawCommand":"/about"}"#),
        system("g<f", "slash_command", r#"{"phase":"invocation","rawCommand":"/review a","sentToModel":true}"#),
        system("h<g", "custom_title", r#"{"customTitle":"Tides","titleSource":"auto"}"#),
        system("i<h", "custom_title", r#"{"customTitle":"Mine"}"#),
        system("j<i", "ui_telemetry", "{}"),
        system("k<j", "odd", "{}"),
        system("l<k", "turn_result", r#"{"state":"cancelled"}"#),
        system(
            "m<l",
            "chat_compression",
            r#"{"info":{"originalTokenCount":9,"newTokenCount":3,"triggerReason":"token_limit"},"compressedHistory":[{"role":"user","parts":[{"text":"<state_snapshot>so far</state_snapshot>"}]},{"role":"model","parts":[{"text":"Got it. Thanks for the additional context!"}]}]}"#,
        ),
    ];
    let (items, seen) = read(MAIN, &lines.each_ref().map(String::as_str));
    let said: Vec<String> = items.iter().skip(2).map(super::super::tests::shown).collect();
    assert_eq!(
        said,
        [
            "1 notice task ended",
            "2 notice words",
            "3 notice words",
            "4 prompt words",
            "5 notice /about",
            "8 title Model Tides",
            "9 title Person Mine",
            "12 notice interrupted by the user",
            "13 compaction token_limit Some(9) Some(3)",
            "13 summary <state_snapshot>so far</state_snapshot>",
        ]
    );
    assert_eq!(seen.unknown.keys().collect::<Vec<_>>(), ["system:odd"]);
}

#[test]
fn a_rewind_abandons_what_came_since() {
    let rewind = |uuid: &str| record(uuid, "system", r#""subtype":"rewind","systemPayload":{"truncatedCount":2}"#);
    let lines = [
        user("a", "one"),
        reply("b<a", "First."),
        user("c<b", "two"),
        reply("d<c", "Second."),
        rewind("e<b"),
        user("f<e", "three"),
        reply("g<f", "Third."),
        rewind("h<e"),
    ];
    let (items, _) = read(MAIN, &lines.each_ref().map(String::as_str));
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
fn going_back_to_a_prompt_abandons_its_answer() {
    let rewind = record("c<a", "system", r#""subtype":"rewind","systemPayload":{}"#);
    let lines = [user("a", "one"), reply("b<a", "First."), rewind, reply("d<c", "Second.")];
    let (items, _) = read(MAIN, &lines.each_ref().map(String::as_str));
    let standing = without_abandoned(&items);
    let replies = standing.iter().filter(|item| matches!(item.body, Body::Reply { .. }));
    assert_eq!(replies.map(|item| item.line).collect::<Vec<_>>(), [4]);
}

#[test]
fn parts_of_a_message_and_forks_repeat_nothing() {
    let fork = r#""forkedFrom":{"sessionId":"s-0","messageUuid":"b"},"message":{"role":"model","parts":[{"text":"one"},{"text":"two"}]}"#;
    check(
        MAIN,
        &[&reply("b<a", "one"), &record("b<a", "assistant", fork), "not json"],
        &["1 cwd /w", "1 branch main", "1 reply one", "2 link forked_from s-0", "2 reply two"],
    );
}

#[test]
fn a_subagents_records_are_no_asides_in_its_own_file() {
    let line = record(
        "a",
        "user",
        r#""isSidechain":true,"agentId":"explore-1","message":{"role":"user","parts":[{"text":"look"}]}"#,
    );
    let (items, seen) = read(SUBAGENT, &[&line]);
    assert!(items.iter().all(|item| !item.sidechain));
    assert_eq!((seen.prompts, seen.agent_session.as_deref()), (1, Some("s-1")));
}

#[test]
fn paths_name_sessions() {
    let check = |path: &str, expected| check_path(Agent::Qwen, path, expected);
    check("-w-tide/chats/019f0000-0000.jsonl", Some(("019f0000-0000", None)));
    check("-w-tide/subagents/s-1/agent-explore-c1.jsonl", Some(("agent-explore-c1", Some("s-1"))));
    for none in [
        "",
        "chats/a.jsonl",
        "-w-tide/chats/a.json",
        "-w-tide/chats/.a.jsonl",
        "-w-tide/chats/a.jsonl.stream",
        "-w-tide/subagents/s-1/agent-explore-c1.meta.json",
        "-w-tide/memory/a.jsonl",
        "../chats/a.jsonl",
    ] {
        check(none, None);
    }
    assert_eq!(Qwen::kind_of(br#"{"uuid":"a","type":"tool_result","mess"#).as_deref(), Some("tool_result"));
}
