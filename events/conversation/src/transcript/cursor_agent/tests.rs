use super::super::tests::{read_as, read_every_way};
use super::super::{Source, classify};
use super::*;
use crate::item::Body;

const MAIN: Source = Source { agent: Agent::Cursor, subagent: false };

fn user(text: &str) -> String {
    format!(r#"{{"role":"user","message":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#)
}

fn assistant(blocks: &str) -> String {
    format!(r#"{{"role":"assistant","message":{{"content":[{blocks}]}}}}"#)
}

fn call(name: &str, input: &str) -> String {
    assistant(&format!(r#"{{"type":"tool_use","name":"{name}","input":{input}}}"#))
}

fn check(lines: &[String], expected: &[&str]) {
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (items, _, seen) = read_every_way(MAIN, &lines);
    assert_eq!(items, expected, "{lines:#?}");
    assert_eq!(seen.unknown.len(), 0, "{:?}", seen.unknown);
}

#[test]
fn a_session_is_found_by_the_path_of_its_file() {
    let below = Kind::Subagent { parent: SessionId::new("c0ffee") };
    for (path, expected) in [
        ("home-u-app/agent-transcripts/c0ffee/c0ffee.jsonl", Some(("c0ffee", Kind::Main))),
        ("home-u-app/agent-transcripts/c0ffee.jsonl", Some(("c0ffee", Kind::Main))),
        ("home-u-app/agent-transcripts/c0ffee/subagents/5eed.jsonl", Some(("5eed", below))),
        ("home-u-app/agent-transcripts/c0ffee/other.jsonl", None),
        ("home-u-app/agent-transcripts/c0ffee/c0ffee.txt", None),
        ("home-u-app/agent-transcripts/c0ffee/subagents/x/5eed.jsonl", None),
        ("home-u-app/agent-transcripts/../c0ffee.jsonl", None),
        ("home-u-app/terminals/c0ffee.jsonl", None),
        ("home-u-app/c0ffee.jsonl", None),
        ("c0ffee.jsonl", None),
        ("", None),
    ] {
        let found = classify(Agent::Cursor, path).map(|located| (located.session.to_string(), located.kind));
        assert_eq!(found, expected.map(|(id, kind)| (id.to_owned(), kind)), "{path}");
    }
}

#[test]
fn prompts_replies_and_ends_of_turns_are_read() {
    let at = r"<timestamp>Saturday, Sep 5, 2026, 4:51 PM (UTC+5:30)</timestamp>\n<user_query>\nmend the crane\n</user_query>";
    let news = r"<system_notification>\nA task has finished.\n</system_notification>\n<user_query>Briefly inform the user about the task result.</user_query>";
    let lines = [
        user(at),
        assistant(r#"{"type":"text","text":"I look.\n\n[REDACTED]"},{"type":"text","text":"[REDACTED]"}"#),
        assistant(r#"{"type":"thinking","thinking":"hm"},{"type":"text","text":"Mended."}"#),
        r#"{"type":"turn_ended","status":"success"}"#.to_owned(),
        user(news),
        user("and the dock"),
        r#"{"type":"turn_ended","status":"error","error":"User aborted request"}"#.to_owned(),
        r#"{"type":"turn_ended","status":"aborted","error":"User aborted/interrupted manually."}"#.to_owned(),
        r#"{"type":"turn_ended","status":"error","error":"Out of tokens"}"#.to_owned(),
        r#"{"role":"user","message":{"content":"a bare text"}}"#.to_owned(),
        r#"{"role":"user","message":{"content":[{"type":"image","source":{"data":"AAAA"}}]}}"#.to_owned(),
        r#"{"role":"user","message":{"content":[{"type":"text","text":"context"},{"type":"text","text":"<user_query>this</user_query>"}]}}"#.to_owned(),
    ];
    check(
        &lines,
        &[
            "1 prompt mend the crane",
            "2 reply I look.",
            "3 thinking hm",
            "3 reply Mended.",
            "5 notice A task has finished.",
            "6 prompt and the dock",
            "7 notice interrupted by the user",
            "8 notice interrupted by the user",
            "9 notice Out of tokens",
            "10 prompt a bare text",
            "11 media [image, 3 B]",
            "12 prompt this",
        ],
    );
    let (items, _, seen) = read_as(MAIN, format!("{}\n", lines[0]).as_bytes());
    assert_eq!(items[0].at.map(|at| at.to_string()).as_deref(), Some("2026-09-05T11:21:00.000Z"));
    assert_eq!(seen.prompts, 1);
}

#[test]
fn calls_have_their_act_and_their_effect() {
    let patch = r"*** Begin Patch\n*** Update File: a.rs\n-old\n+new\n*** End Patch";
    let lines = [
        call("Shell", r#"{"command":"cargo test","working_directory":"/p"}"#),
        call("Shell", r#"{"command":"ls","working_directory":"/p/sub"}"#),
        call("StrReplace", r#"{"path":"a.rs","old_string":"one\n","new_string":"one\ntwo\n"}"#),
        call("Write", r#"{"path":"b.rs","contents":"x\n"}"#),
        call("ApplyPatch", &format!(r#"{{"input":"{patch}"}}"#)),
        call("Glob", r#"{"glob_pattern":"*.rs","target_directory":"/p"}"#),
        call("SetActiveBranch", r#"{"path":"/p","branchName":"dock"}"#),
        call("CallMcpTool", r#"{"server":"user-tracker","toolName":"close","arguments":{"id":7}}"#),
        call("CallMcpTool", r#"{"server":"project-0-app-baton","toolName":"search_memory_nodes","arguments":{}}"#),
        call("CallDynamicTool", r#"{"namespace":"tracker","toolName":"list","arguments":{}}"#),
        call("mcp_baton_search_memory_nodes", "{}"),
        call("user-baton-search_memory_nodes", "{}"),
        call("mcp_tracker_close", r#"{"id":7}"#),
        r#"{"role":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"a\nb"}]}]}}"#.to_owned(),
    ];
    check(
        &lines,
        &[
            "1 cwd /p",
            r#"1 call Shell {"command":"cargo test","working_directory":"/p"}"#,
            r#"2 call Shell {"command":"ls","working_directory":"/p/sub"}"#,
            r#"3 call StrReplace {"new_string":"one\ntwo\n","old_string":"one\n","path":"a.rs"}"#,
            r#"4 call Write {"content":"x\n","path":"b.rs"}"#,
            r#"5 call apply_patch {"change":"update","patch":"-old\n+new\n","path":"a.rs"}"#,
            r#"6 call Glob {"path":"/p","pattern":"*.rs"}"#,
            "7 branch dock",
            r#"7 call SetActiveBranch {"branchName":"dock","path":"/p"}"#,
            r#"8 call mcp__tracker__close {"id":7}"#,
            "10 call mcp__tracker__list {}",
            r#"13 call mcp_tracker_close {"id":7}"#,
            "14 result Ok result: 2 lines, 3 B",
        ],
    );
    let (items, ..) = read_as(MAIN, format!("{}\n", lines.join("\n")).as_bytes());
    let calls = items.iter().filter_map(|item| if let Body::Call(call) = &item.body { Some(call) } else { None });
    let (acts, edits): (Vec<_>, Vec<_>) = calls.map(|call| (call.act, call.edit.clone())).unzip();
    use Act::{Edit, Mcp, Other, Search, Shell};
    assert_eq!(acts, [Shell, Shell, Edit, Edit, Edit, Search, Other, Mcp, Mcp, Mcp]);
    let edits: Vec<_> = edits.into_iter().flatten().map(|edit| (edit.path, edit.added, edit.removed)).collect();
    assert_eq!(edits, [("a.rs".to_owned(), 1, 0), ("b.rs".to_owned(), 1, 0), ("a.rs".to_owned(), 1, 1)]);
}

#[test]
fn the_first_directory_named_is_where_the_session_works() {
    let search = call("Glob", r#"{"glob_pattern":"*","target_directory":"/p/src"}"#);
    let command = call("Shell", r#"{"command":"ls","working_directory":"/q"}"#);
    let below = call("Shell", r#"{"command":"ls","working_directory":"sub"}"#);
    let told = user(r"<user_info>\nWorkspace Path: /w\n</user_info>\n<user_query>go</user_query>");
    for (lines, expected) in [
        (vec![&*below, &*search, &*command], Some("/p/src")),
        (vec![&*command, &*search], Some("/q")),
        (vec![&*told, &*command], Some("/w")),
        (vec![&*below], None),
    ] {
        let (_, _, seen) = read_every_way(MAIN, &lines);
        assert_eq!(seen.cwd.as_deref(), expected, "{lines:?}");
    }
}

#[test]
fn what_is_unknown_is_counted() {
    let lines = [
        r#"{"type":"novelty"}"#,
        r#"{"role":"oracle","message":{}}"#,
        r#"{"role":"user","message":{"content":[{"type":"hologram"},null,7]}}"#,
        r#"{"role":"assistant","message":7}"#,
        r#"{"role":"user","message":"<timestamp>x"}"#,
        r#"{"role":"assistant","message":{"content":[{"type":"tool_use","name":7,"input":[]}]}}"#,
    ];
    let (items, _, seen) = read_every_way(MAIN, &lines);
    assert_eq!(items, ["6 call  {\"\":[]}"]);
    let unknown: Vec<_> = seen.unknown.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
    assert_eq!(unknown, [("block:hologram", 1), ("novelty", 1), ("oracle", 1)]);
}
