use super::super::Source;
use super::super::tests::{check_every_way, check_paths, read_as, read_every_way};
use super::*;
use crate::abandoned_branches::without_abandoned;
use crate::item::Body;

const MAIN: Source = Source { agent: Agent::Droid, subagent: false };

fn message(id: &str, parent: &str, role: &str, fields: &str, content: &str) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":"{parent}","timestamp":"2026-03-14T09:26:53.589Z","message":{{"role":"{role}",{fields}"content":{content}}}}}"#
    )
}

fn user(content: &str) -> String {
    message("u", "p", "user", "", content)
}

fn assistant(content: &str) -> String {
    message("a", "u", "assistant", "", content)
}

fn call(id: &str, name: &str, input: &str) -> String {
    assistant(&format!(r#"[{{"type":"tool_use","id":"{id}","name":"{name}","input":{input}}}]"#))
}

fn result(id: &str, content: &str, is_error: bool) -> String {
    user(&format!(r#"[{{"type":"tool_result","tool_use_id":"{id}","content":{content},"is_error":{is_error}}}]"#))
}

fn check(lines: &[String], expected: &[&str]) {
    check_every_way(MAIN, lines, expected);
}

#[test]
fn a_session_is_found_by_the_path_of_its_file() {
    let uuid = "d0c0ffee-0000-4000-8000-00000000000a";
    check_paths(
        Agent::Droid,
        uuid,
        &[
            (format!("-home-u-app/{uuid}.jsonl"), true),
            (format!("{uuid}.jsonl"), true),
            (format!("btw/{uuid}.jsonl"), true),
            (format!("-home-u-app/{uuid}.settings.json"), false),
            (format!("-home-u-app/{uuid}.jsonl.bak"), false),
            (format!("-home-u-app/x/{uuid}.jsonl"), false),
            (format!("../{uuid}.jsonl"), false),
            (format!("/{uuid}.jsonl"), false),
            ("-home-u-app/.jsonl".to_owned(), false),
            (String::new(), false),
        ],
    );
}

#[test]
fn what_was_typed_is_told_from_what_the_model_is_given() {
    let text = |text: &str| format!(r#"[{{"type":"text","text":"{text}"}}]"#);
    let reminder = r"<system-reminder>\nToday is Monday.\n</system-reminder>";
    let notification = r"<system-notification>\nA skill: review\n</system-notification>";
    check(
        &[
            user(&text("mend the crane")),
            user(r#""a bare string""#),
            user(&format!(r#"[{{"type":"text","text":"{reminder}"}},{{"type":"text","text":"and the dock"}}]"#)),
            user(&text(&format!(r"{reminder}\n\nand the pier"))),
            user(&text(notification)),
            user(&text(&format!(r"{notification}\nand the quay"))),
            user(&text("IMPORTANT: TodoWrite was not called yet. You must call it.")),
            message("u", "p", "user", r#""visibility":"llm_only","#, &text("the skill's body")),
            message("u", "p", "user", r#""visibility":"user_only","#, &text("Token limit reached")),
            message("u", "p", "user", r#""visibility":"user_only","#, &text(r#"Skill \"review\" activated: the diff"#)),
            message("u", "p", "user", r#""hookEventName":"Stop","hookResults":[],"#, "[]"),
            message("u", "p", "user", r#""userMessageSource":"automation","#, &text("nightly run")),
            user(r#"[{"type":"image","source":{"type":"base64","data":"AAAA","media_type":"image/png"}}]"#),
            user(&text("[Request interrupted by user]")),
        ],
        &[
            "1 prompt mend the crane",
            "2 prompt a bare string",
            "3 prompt and the dock",
            "4 prompt and the pier",
            "6 prompt and the quay",
            "9 notice Token limit reached",
            "10 prompt /review the diff",
            "12 notice nightly run",
            "13 media [image image/png, 3 B]",
            "14 notice interrupted by the user",
        ],
    );
}

#[test]
fn replies_thinking_and_models_are_read() {
    let by = r#""modelId":"glass-4","#;
    let block = r#"[{"type":"thinking","thinking":"hm","signature":"AA"},{"type":"redacted_thinking","data":"AA"},{"type":"text","text":"Mended."}]"#;
    check(
        &[
            message("a1", "u", "assistant", by, block),
            message("a2", "a1", "assistant", by, r#"[{"type":"text","text":"Done."}]"#),
            r#"{"type":"agent_turn_outcome","turnId":"u","reason":"completed"}"#.to_owned(),
            r#"{"type":"agent_turn_outcome","turnId":"u","reason":"interrupted"}"#.to_owned(),
            r#"{"type":"todo_state","id":"t","todos":[]}"#.to_owned(),
        ],
        &[
            "1 usage glass-4 None [0, 0, 0, 0, 0]",
            "1 thinking hm",
            "1 reply Mended.",
            "2 reply Done.",
            "4 notice interrupted by the user",
        ],
    );
}

#[test]
fn calls_have_their_act_their_effect_and_their_outcome() {
    let patch = r"*** Begin Patch\n*** Update File: a.rs\n-old\n+new\n*** Add File: b.rs\n+one\n*** End Patch";
    check(
        &[
            call("t1", "Execute", r#"{"command":"ls /nope","riskLevel":"low"}"#),
            result("t1", r#""Error: Command failed (exit code: 2)\nls: /nope: No such file or directory""#, false),
            call("t2", "Execute", r#"{"command":"ls"}"#),
            result("t2", r#""a\n[Process exited with code 0]""#, false),
            call("t3", "Edit", r#"{"file_path":"a.rs","old_str":"one\n","new_str":"one\ntwo\n"}"#),
            result("t3", r#"[{"type":"text","text":"ok"}]"#, false),
            call("t4", "Create", r#"{"file_path":"b.rs","content":"x\n"}"#),
            result("t4", r#""Error: cancelled by user""#, true),
            call("t5", "ApplyPatch", &format!(r#"{{"input":"{patch}"}}"#)),
            result("t5", r#""done""#, false),
            call("t6", "tracker___close", r#"{"id":7}"#),
            result("t6", r#""closed""#, false),
            call("t7", "baton___search_memory_nodes", r#"{"query":"x"}"#),
            result("t7", r#""found""#, false),
            call("t8", "LS", r#"{"directory_path":"/p"}"#),
            result("t8", r#""a\nb""#, false),
            call("t9", "AskUser", r#"{"questions":[]}"#),
            result("t9", r#""The second""#, false),
        ],
        &[
            r#"1 call Execute {"command":"ls /nope","riskLevel":"low"}"#,
            "2 result Failed Execute ls /nope: exit 2, ls: /nope: No such file or directory",
            r#"3 call Execute {"command":"ls"}"#,
            "4 result Ok Execute ls: ok, 2 lines",
            r#"5 call Edit {"file_path":"a.rs","new_string":"one\ntwo\n","old_string":"one\n"}"#,
            "6 result Ok Edit a.rs: +1 -0",
            r#"7 call Create {"content":"x\n","file_path":"b.rs"}"#,
            "8 result Interrupted Create b.rs: interrupted",
            r#"9 call apply_patch {"change":"update","patch":"-old\n+new\n","path":"a.rs"}"#,
            r#"9 call apply_patch {"change":"add","patch":"+one\n","path":"b.rs"}"#,
            "10 result Ok apply_patch b.rs: +1 -0",
            "10 result Ok apply_patch a.rs: +1 -1",
            r#"11 call tracker___close {"id":7}"#,
            "12 result Ok tracker___close: 1 line, 6 B",
            r#"15 call LS {"path":"/p"}"#,
            "16 result Ok LS /p: 2 lines",
            r#"17 call AskUser {"questions":[]}"#,
            "18 result Ok AskUser: 1 line, 10 B",
            "18 answer The second",
        ],
    );
    let lines = [call("t1", "Execute", "{}"), call("t2", "tracker___close", "{}")].join("\n");
    let (items, ..) = read_as(MAIN, format!("{lines}\n").as_bytes());
    let acts = items.iter().filter_map(|item| if let Body::Call(call) = &item.body { Some(call.act) } else { None });
    assert_eq!(acts.collect::<Vec<_>>(), [Act::Shell, Act::Mcp]);
}

#[test]
fn a_command_of_a_person_and_the_prompts_of_programs_are_not_typed() {
    let ran = r#"{\"type\":\"bash_result\",\"command\":\"make test\",\"stdout\":\"1 failed\\n\",\"stderr\":\"no\",\"exitCode\":2}"#;
    let typed = r#"{\"type\":\"bash_results\"} is what?"#;
    check(
        &[
            user(&format!(r#"[{{"type":"text","text":"{ran}"}}]"#)),
            user(&format!(r#"[{{"type":"text","text":"{typed}"}}]"#)),
            message("u", "p", "user", r#""userMessageSource":"desktop","#, r#""go on""#),
            message("u", "p", "user", r#""userMessageSource":"wiki-generation","#, r#""Write a wiki.""#),
        ],
        &[
            r#"1 call ! {"command":"make test"}"#,
            "1 result Failed ! make test: exit 2, 1 failed",
            r#"2 prompt {"type":"bash_results"} is what?"#,
            "3 prompt go on",
            "4 notice Write a wiki.",
        ],
    );
}

#[test]
fn the_session_names_itself_its_caller_and_its_origin() {
    let start = r#"{"type":"session_start","id":"s","title":"mend the crane","sessionTitle":"Crane","cwd":"/p","version":2,"parent":"s0","callingSessionId":"s1"}"#;
    let renamed = r#"{"type":"session_start","id":"s","title":"Mine","isSessionTitleManuallySet":true,"cwd":"/p"}"#;
    let untitled = r#"{"type":"session_start","id":"s","title":"New Session","cwd":"/p"}"#;
    let first_prompt =
        untitled.replace(r#""cwd""#, r#""sessionTitle":"New Session","cwd""#).replacen("New Session", "go", 1);
    let context = user(
        r#"[{"type":"text","text":"<system-reminder>\n% git rev-parse --abbrev-ref HEAD\ndock\n\n% git status</system-reminder>"}]"#,
    );
    let (items, _, seen) = read_every_way(MAIN, &[start, renamed, untitled, &first_prompt, &context]);
    let expected = ["1 cwd /p", "1 link forked_from s0", "1 title Model Crane", "2 title Person Mine"];
    assert_eq!(items[..4], expected);
    assert_eq!(items[4..], ["4 title Model go", "5 branch dock"]);
    assert_eq!((seen.cwd.as_deref(), seen.agent_session.as_deref()), (Some("/p"), Some("s1")));
}

#[test]
fn a_compaction_has_its_summary() {
    check(
        &[
            r#"{"type":"compaction_state","id":"c","timestamp":"2026-03-14T09:26:53.589Z","summaryText":"So far.","summaryTokens":12,"removedCount":2}"#.to_owned(),
            r#"{"type":"compaction_state","summary":{"title":"Crane","body":"So far."}}"#.to_owned(),
        ],
        &["1 compaction  None None", "1 summary So far.", "2 compaction  None None", "2 summary So far."],
    );
}

#[test]
fn what_a_person_went_back_over_does_not_stand() {
    let lines = [
        message("u1", "s", "user", "", r#""one""#),
        message("a1", "u1", "assistant", "", r#""first""#),
        message("u2", "a1", "user", "", r#""two""#),
        message("a2", "u2", "assistant", "", r#""second""#),
        message("u3", "a1", "user", "", r#""other""#),
    ];
    let (items, ..) = read_as(MAIN, format!("{}\n", lines.join("\n")).as_bytes());
    let standing = without_abandoned(&items);
    let said = standing.iter().filter_map(|item| match &item.body {
        Body::Prompt { text } | Body::Reply { text } => Some(text.as_str()),
        _ => None,
    });
    assert_eq!(said.collect::<Vec<_>>(), ["one", "first", "other"]);
}

#[test]
fn what_is_unknown_is_counted() {
    let lines = [
        r#"{"type":"novelty"}"#.to_owned(),
        message("x", "p", "oracle", "", "[]"),
        user(r#"[{"type":"hologram"},null,7]"#),
        assistant(r#"[{"type":"hologram"},null,7]"#),
        r#"{"type":"message","message":7}"#.to_owned(),
        r#"{"type":"session_start","title":[],"cwd":null}"#.to_owned(),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (items, _, seen) = read_every_way(MAIN, &lines);
    assert!(items.is_empty(), "{items:?}");
    let unknown: Vec<_> = seen.unknown.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
    assert_eq!(unknown, [("block:hologram", 2), ("novelty", 1), ("role:", 1), ("role:oracle", 1)]);
}
