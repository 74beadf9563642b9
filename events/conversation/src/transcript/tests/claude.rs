//! Records that only Claude Code has: counts, links, copies of results, many record types.

use super::*;

fn line(json: &str) -> String {
    json.to_owned()
}

fn kinds(lines: &[String]) -> Vec<(String, u64)> {
    read(format!("{}\n", lines.join("\n")).as_bytes()).2.unknown.into_iter().collect()
}

#[test]
fn what_is_not_known_is_counted_by_where_it_stands() {
    let unknown = kinds(&[
        line(r#"{"type":"brand-new"}"#),
        line(r#"{"type":"system","subtype":"brand_new"}"#),
        line(r#"{"type":"system","content":"old","level":"info"}"#),
        line(r#"{"type":"attachment","attachment":{"type":"brand_new"}}"#),
        line(r#"{"type":"attachment","attachment":{"type":"hook_success","stdout":"x"}}"#),
        line(r#"{"type":"progress","data":{"output":"x","type":"brand_new"}}"#),
        line(r#"{"type":"progress","data":{"type":"bash_progress"}}"#),
        line(r#"{"type":"tag","tag":"a"}"#),
        line(r#"{"type":"marble-origami-commit"}"#),
        user(r#"[{"type":"brand_new"}]"#),
        assistant("m", r#"{"type":"container_upload"},{"type":"brand_new"}"#),
    ]);
    let expected = ["attachment:brand_new", "block:brand_new", "brand-new", "progress:brand_new", "system:brand_new"];
    assert_eq!(unknown.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), expected);
    assert_eq!(unknown[1].1, 2);
}

fn counted(id: &str, request: &str, version: &str, usage: &str) -> String {
    assistant(id, r#"{"type":"text","text":"x"}"#)
        .replacen('{', &format!(r#"{{"requestId":"{request}","version":"{version}","#), 1)
        .replacen(r#""content""#, &format!(r#""usage":{usage},"content""#), 1)
}

#[test]
fn counts_are_said_once_and_again_when_they_have_grown() {
    let few = r#"{"input_tokens":4,"output_tokens":5,"cache_creation_input_tokens":3}"#;
    let more = r#"{"input_tokens":4,"output_tokens":631,"cache_creation_input_tokens":3}"#;
    let (early, late) = ("2.1.20", "2.1.180");
    let synthetic = counted("s", "r", late, few).replace(r#""model":"m""#, r#""model":"<synthetic>""#);
    let failed = counted("e", "r", late, few).replacen('{', r#"{"isApiErrorMessage":true,"#, 1);
    check(
        &[
            &counted("m1", "r1", late, few),
            &counted("m1", "r1", late, few),
            &counted("m2", "r1", early, few),
            &counted("m1", "r1", late, more),
            &counted("m1", "r2", late, few),
            &counted("m1", "r1", late, "null"),
            &synthetic,
            &failed,
        ],
        &[
            "1 reply x",
            r#"1 usage m Some("r1") [4, 5, 0, 3, 0]"#,
            "2 reply x",
            "3 reply x",
            r#"3 usage m Some("r1") [4, 5, 0, 3, 0] at least"#,
            "4 reply x",
            r#"4 usage m Some("r1") [4, 631, 0, 3, 0]"#,
            "5 reply x",
            r#"5 usage m Some("r2") [4, 5, 0, 3, 0]"#,
            "6 reply x",
            "7 notice x",
            "8 notice x",
        ],
    );
}

#[test]
fn a_prompt_says_on_what_it_hangs_and_nothing_else_does() {
    let below = |line: String| line.replacen('{', r#"{"parentUuid":"p-1","#, 1);
    let queued = r#"{"type":"attachment","attachment":{"type":"queued_command","prompt":"c"}}"#;
    check(
        &[
            &below(user(r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#)),
            &below(user(r#""<local-command-stdout>x</local-command-stdout>""#)),
            &below(result("t1", r#""x""#, false)),
            &below(queued.to_owned()),
            &below(user(r#"[{"type":"image","source":{"data":"AAAA","media_type":"image/png"}}]"#)),
        ],
        &[
            "1 below p-1",
            "1 prompt a",
            "1 prompt b",
            "2 notice x",
            "3 result Ok result: 1 line, 1 B",
            "4 prompt c",
            "5 below p-1",
            "5 media [image image/png, 3 B]",
        ],
    );
}

#[test]
fn a_first_prompt_says_that_it_hangs_on_nothing() {
    let first = |text: &str, fields: &str| user(text).replacen('{', &format!("{{{fields},"), 1);
    check(
        &[
            &first(r#""a""#, r#""parentUuid":null"#),
            &first(r#""b""#, r#""parentUuid":null"#).replace(r#""uuid":"u","#, ""),
            &user(r#""c""#),
            &first(r#""d""#, r#""parentUuid":" ""#),
            &first(r#""e""#, r#""parentUuid":null,"isSidechain":true"#),
        ],
        &["1 below ", "1 prompt a", "2 prompt b", "3 prompt c", "4 prompt d", "5~ prompt e"],
    );
}

#[test]
fn bare_strings_among_blocks_are_texts() {
    check(
        &[
            &user(r#"["a",{"type":"text","text":"b"}]"#),
            &assistant("m1", r#""c",{"type":"text","text":"d"}"#),
            r#"{"type":"attachment","attachment":{"type":"queued_command","prompt":["e"]}}"#,
        ],
        &["1 prompt a", "1 prompt b", "2 reply c", "2 reply d", "3 prompt e"],
    );
    assert_eq!(kinds(&[user(r#"["a"]"#)]), []);
}

#[test]
fn what_is_given_beside_words_is_no_prompt_of_its_own() {
    let image = r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}"#;
    let prompts = |line: &str, expected: &[&str]| check(&[line], expected).1.prompts;
    let shown = "1 media [image image/png, 3 B]";
    let typed = user(&format!(r#"[{image},{{"type":"text","text":"what is this?"}},{image}]"#));
    assert_eq!(prompts(&typed, &["1 prompt what is this?", shown, shown]), 1);
    let alone = user(&format!("[{image}]"));
    assert_eq!(prompts(&alone, &[shown]), 1);
    assert_eq!(prompts(&alone.replacen('{', r#"{"isMeta":true,"#, 1), &[]), 0);
    assert_eq!(prompts(&alone.replacen('{', r#"{"promptSource":"system","#, 1), &[]), 0);
    let between = format!(r#"{{"type":"attachment","attachment":{{"type":"queued_command","prompt":[{image}]}}}}"#);
    assert_eq!(prompts(&between, &[shown]), 1);
    check(
        &[&call("t1", "Read", r#"{"file_path":"shot.png"}"#), &result("t1", &format!("[{image}]"), false)],
        &[r#"1 call Read {"file_path":"shot.png"}"#, "2 result Ok Read shot.png: image, 3 B"],
    );
}

#[test]
fn other_sessions_and_compactions_are_said_once() {
    let forked = user(r#""a""#).replacen('{', r#"{"forkedFrom":{"sessionId":"s-0","messageUuid":"u-0"},"#, 1);
    let mut lines = vec![forked.as_str(); 3];
    let compacted = r#"{"type":"system","subtype":"compact_boundary","parentUuid":null,"content":"Conversation compacted","compactMetadata":{"trigger":"auto","preTokens":155000,"postTokens":9000}}"#;
    let micro = r#"{"type":"system","subtype":"microcompact_boundary","microcompactMetadata":{"trigger":"auto","preTokens":50,"tokensSaved":20}}"#;
    lines.extend([compacted, micro, r#"{"type":"continued-in","continuedInSessionId":"s-2"}"#]);
    lines.push(r#"{"type":"fork-context-ref","parentSessionId":"s-3"}"#);
    check(
        &lines,
        &[
            "1 link forked_from s-0",
            "1 prompt a",
            "2 prompt a",
            "3 prompt a",
            "4 compaction auto Some(155000) Some(9000)",
            "5 compaction auto Some(50) Some(30)",
            "6 link continued_in s-2",
        ],
    );
    let pointer = format!("{}\n", lines[6]);
    let (items, ..) = read_as(Source { subagent: true, ..MAIN }, pointer.as_bytes());
    assert_eq!(items.iter().map(shown).collect::<Vec<_>>(), ["1 link forked_from s-3"]);
}

#[test]
fn the_harness_list_of_sessions_and_a_rename_give_titles() {
    check(
        &[
            r#"{"type":"last-prompt","lastPrompt":"fix the bug","leafUuid":"l"}"#,
            r#"{"type":"last-prompt","lastPrompt":"fix the bug","leafUuid":"l"}"#,
            r#"{"type":"last-prompt","lastPrompt":"<command-name>/clear</command-name>"}"#,
            &user(r#""<command-name>/rename</command-name><command-args>the bug</command-args>""#),
            r#"{"type":"custom-title","customTitle":"the bug"}"#,
        ],
        &["1 title LastPrompt fix the bug", "4 prompt /rename the bug", "4 title Person the bug"],
    );
}

#[test]
fn a_message_may_be_nothing_but_what_it_says() {
    check(
        &[
            r#"{"type":"user","message":"a"}"#,
            r#"{"type":"assistant","message":[{"type":"text","text":"b"}]}"#,
            r#"{"type":"assistant","message":7}"#,
        ],
        &["1 prompt a", "2 reply b"],
    );
}

#[test]
fn a_reason_that_stands_by_itself_is_believed() {
    let refused = result("t1", r#""The user doesn't want to proceed with this tool use.""#, true);
    let said = refused.replacen('{', r#"{"toolDenialKind":"user-rejected","userFeedback":"not that one","#, 1);
    check(&[&said], &["1 result Denied result: denied", "1 answer not that one"]);
    // From some version on each decision is recorded, so that a call without one was stopped while it ran.
    let new = refused.replacen('{', r#"{"version":"2.1.332","toolDenialKind":"user-rejected","#, 1);
    check(&[&new], &["1 result Interrupted result: interrupted"]);
    let decided = new.replacen('{', r#"{"permissionDecision":{"decision":"reject","source":"user_reject"},"#, 1);
    check(&[&decided], &["1 result Denied result: denied"]);
    let cancelled = refused.replacen('{', r#"{"toolDenialKind":"cancelled","#, 1);
    check(&[&cancelled], &["1 result Interrupted result: interrupted"]);
}

#[test]
fn a_line_too_long_to_hold_is_counted_by_its_type_or_its_speaker() {
    let kind = |head: &str| kind_of(Agent::ClaudeCode, head.as_bytes());
    assert_eq!(kind(r#"{"parentUuid":null,"type":"user","message":{"role":"user","#).as_deref(), Some("user"));
    let late = r#"{"parentUuid":null,"message":{"model":"m","role":"assistant","content":[{"text":"\"role\":\"user\""#;
    assert_eq!(kind(late).as_deref(), Some("assistant"));
    assert_eq!(kind(r#"{"content":"\"role\":\"user\" xx"#), None);
}

fn copied(id: &str, content: &str, copy: &str) -> String {
    result(id, content, false).replacen('{', &format!(r#"{{"toolUseResult":{copy},"#), 1)
}

#[test]
fn the_copy_of_a_result_says_what_its_text_does_not() {
    let lines = [
        call("t1", "Task", r#"{"description":"look"}"#),
        copied("t1", r#""done""#, r#"{"agentId":"a1","totalDurationMs":1200}"#),
        call("t2", "Write", r#"{"file_path":"a.rs","content":"x\ny"}"#),
        copied("t2", r#""updated""#, r#"{"type":"update","structuredPatch":[{"lines":["-a","-b"," c","+d"]}]}"#),
        call("t3", "Bash", r#"{"command":"sleep 9"}"#),
        copied("t3", r#""""#, r#"{"stdout":"","interrupted":true}"#),
        call("t4", "Bash", r#"{"command":"grep x"}"#),
        copied("t4", r#""""#, r#"{"returnCodeInterpretation":"No matches found"}"#),
        call("t5", "Bash", r#"{"command":"serve"}"#),
        copied("t5", r#""Command running in background with ID: b1. Output …""#, r#"{"backgroundTaskId":"b1"}"#),
        call("t6", "BashOutput", r#"{"id":"b1"}"#),
        result("t6", r#""<status>completed</status>\n\n<exit_code>2</exit_code>\n\nx""#, false),
        assistant("m", r#"{"type":"server_tool_use","id":"t7","name":"web_search","input":{"query":"q"}}"#),
        assistant(
            "m",
            r#"{"type":"web_search_tool_result","tool_use_id":"t7","content":[{"type":"web_search_result","url":"u"},{"type":"web_search_result","url":"v"}]}"#,
        ),
        assistant(
            "m",
            r#"{"type":"web_search_tool_result","tool_use_id":"t8","content":{"type":"web_search_tool_result_error","error_code":"unavailable"}}"#,
        ),
    ];
    let (items, ..) = read(format!("{}\n", lines.join("\n")).as_bytes());
    let results: Vec<_> = items.iter().filter(|item| matches!(item.body, Body::Result(_))).collect();
    assert_eq!(
        results.iter().map(|item| shown(item)).collect::<Vec<_>>(),
        [
            "2 result Ok Task look: 1 line, 4 B",
            "4 result Ok Write a.rs: +1 -2",
            "6 result Interrupted Bash sleep 9: interrupted",
            "8 result Ok Bash grep x: ok, no output (No matches found)",
            "10 result Ok Bash serve: running in the background as b1",
            "12 result Ok BashOutput b1: exit 2, 5 lines",
            "14 result Ok web_search q: 2 results",
            "15 result Failed result: failed, unavailable",
        ],
    );
    let Body::Result(task) = &results[0].body else { panic!() };
    assert_eq!((task.agent.as_deref(), task.duration_ms), (Some("a1"), Some(1_200)));
    let Body::Result(watched) = &results[5].body else { panic!() };
    assert_eq!((watched.exit_code, watched.outcome), (Some(2), Outcome::Ok));
}

#[test]
fn a_result_before_its_call_leaves_nothing_in_flight() {
    let (call, result) = (call("t1", "Bash", r#"{"command":"ls"}"#), result("t1", r#""x""#, false));
    let in_flight = |lines: &[&str]| read(format!("{}\n", lines.join("\n")).as_bytes()).1.calls_in_flight();
    assert_eq!(in_flight(&[&call]), 1);
    assert_eq!(in_flight(&[&call, &result]), 0);
    assert_eq!(in_flight(&[&result, &call]), 0);
    assert_eq!(in_flight(&[&call, &result, &call]), 1, "asked again");
}

/// Outputs in files beside a transcript.
struct Beside;

impl Spilled for Beside {
    fn text(&self, name: &str) -> Option<String> {
        match name {
            "toolu_1.txt" => Some(format!("{}error[E0308]: mismatched types\n", "a line\n".repeat(900))),
            "secret.txt" => Some("error: key sk-ant-a1B2a1B2a1B2a1B2a1B2a1B2a1B2 is bad".to_owned()),
            _ => None,
        }
    }
}

#[test]
fn an_output_beside_the_transcript_is_told_of_as_a_whole() {
    let spilled = |before: &str, path: &str| {
        format!(
            r#""{before}<persisted-output>\nOutput too large (45.2KB). Full output saved to: {path}\n\nPreview (first 2KB):\na line\n...\n</persisted-output>""#
        )
    };
    let described = |content: &str, is_error: bool| {
        let lines = [call("t1", "Bash", r#"{"command":"cargo test"}"#), result("t1", content, is_error)].join("\n");
        let mut items = Vec::new();
        let mut reader = Reader::new(MAIN, Cursor::default(), OpenCalls::default(), &mut items).with_spilled(&Beside);
        reader.feed(format!("{lines}\n").as_bytes());
        shown(&items[1])
    };
    let here = "/home/u/.claude/projects/p/s/tool-results/toolu_1.txt";
    let whole = "2 result Ok Bash cargo test: ok, 901 lines, 45.2KB, saved beside the transcript";
    assert_eq!(described(&spilled("", here), false), whole);
    assert_eq!(described(&spilled("", r"C:\\Users\\u\\tool-results\\toolu_1.txt"), false), whole);
    let preview = "2 result Ok Bash cargo test: ok, 45.2KB, saved beside the transcript";
    assert_eq!(described(&spilled("", "/elsewhere/gone.txt"), false), preview);
    assert_eq!(
        described(&spilled(r"Exit code 101\n", here), true),
        "2 result Failed Bash cargo test: exit 101, error[E0308]: mismatched types"
    );
    let secret = described(&spilled("", "/x/secret.txt"), true);
    assert!(secret.contains("[redacted:") && !secret.contains("a1B2a1B2"), "{secret}");
}

#[test]
fn nothing_of_an_account_is_in_any_item() {
    let (email, account, org) =
        ("quokka.keeper@example.org", "0d5c7a11-93be-4f02-8c6d-51e2ab90f374", "6be1f0c2-4a7d-4b19-9e35-7c80d2a4f611");
    let stamp =
        r#""uuid":"u","timestamp":"2026-03-14T09:26:53.589Z","sessionId":"s","cwd":"/srv/x","version":"2.1.180""#;
    let lines = [
        format!(
            r#"{{"type":"attachment","attachment":{{"type":"session_context","content":"userEmail: {email}","email":"{email}"}},{stamp}}}"#
        ),
        format!(
            r#"{{"type":"bridge-session","sessionId":"s","accountUuid":"{account}","organizationUuid":"{org}","account":"{account}"}}"#
        ),
        format!(
            r#"{{"type":"system","subtype":"api_error","error":{{"status":401,"message":"no access for {email}","account":{{"uuid":"{account}"}},"headers":{{"anthropic-organization-id":"{org}"}}}},"cause":"{email}",{stamp}}}"#
        ),
        format!(
            r#"{{"type":"attachment","attachment":{{"type":"brand_new","userEmail":"{email}","accountUuid":"{account}"}},{stamp}}}"#
        ),
        format!(
            r#"{{"type":"brand-new","oauthAccount":{{"emailAddress":"{email}","organizationUuid":"{org}"}},{stamp}}}"#
        ),
        user(r#""and somebody speaks""#),
    ];
    let (items, cursor, seen) = read(format!("{}\n", lines.join("\n")).as_bytes());
    let made = format!("{items:?}\n{cursor:?}\n{seen:?}");
    assert!(made.contains("and somebody speaks"), "{made}");
    for part in [email, account, org] {
        assert!(!made.contains(part), "{part} in {made}");
    }
}

#[test]
fn copies_of_requests_are_known_and_no_text() {
    for kind in ["api-request", "api-request-blob", "api-request-shape", "tools-used", "atis-latch", "cost-state"] {
        let line = format!(r#"{{"type":"{kind}","hash":"h","message":{{"role":"user","content":"mend the crane"}}}}"#);
        let (_, seen) = check(&[&line], &[]);
        assert_eq!((seen.unknown.len(), seen.conversation), (0, 0), "{kind}");
    }
}
