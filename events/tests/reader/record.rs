//! Lines as agents write them, of every kind that is known, and some that are not: each follows from a number.
//!
//! Ids, messages and texts come from small pools, so that results find their calls, messages have several parts and queued
//! prompts are delivered.

use crate::dice::Dice;

/// One line without its newline.
pub(crate) fn line(kind: usize, seed: u64) -> String {
    let mut dice = Dice::new(seed);
    KINDS[kind % KINDS.len()](&mut dice)
}

/// How many kinds there are.
pub(crate) fn kinds() -> usize {
    KINDS.len()
}

type Make = fn(&mut Dice) -> String;

const KINDS: &[Make] = &[
    prompt,
    prompt,
    prompt_of_blocks,
    harness_words,
    reply,
    reply,
    thinking,
    call,
    call,
    result,
    result,
    result_with_copy,
    media,
    odd_block,
    several_blocks,
    compact_boundary,
    compact_summary,
    system,
    attachment,
    queued_attachment,
    queue_operation,
    queue_operation,
    title,
    metadata,
    progress,
    link,
    forked,
    unknown,
    wrong_types,
    no_record,
    codex_message,
    codex_event,
    codex_call,
    codex_context,
];

/// Texts as JSON strings, with all that may stand in one.
const TEXTS: &[&str] = &[
    r#""b""#,
    r#""fix the login""#,
    r#""""#,
    r#""  \n ""#,
    r#""größer als 東京 😀 \u00e9\ud83d\ude00""#,
    r#""lone \ud83d and \udc00 here""#,
    r#""line one\nline two\r\n\tthree\u0000four\u001b[31m""#,
    r#""[Request interrupted by user]""#,
    r#""[Request interrupted by user for tool use]""#,
    r#""<command-name>/review</command-name><command-args>the diff</command-args>""#,
    r#""<command-message>x</command-message><command-name>clear</command-name>""#,
    r#""<local-command-stdout>done</local-command-stdout>""#,
    r#""<bash-input>ls</bash-input><bash-stdout>a\nb</bash-stdout><bash-stderr></bash-stderr>""#,
    r#""<task-notification><summary>done</summary></task-notification>\nand now b""#,
    r#""<ide_opened_file>/a.rs</ide_opened_file>why?""#,
    r#""<system-reminder>be good</system-reminder>""#,
    r#""a <private>me and you</private> b""#,
    r#""<private>open end""#,
    r#""<baton-recall n=\"1\">old</baton-recall> and new""#,
    r#""key sk-ant-a1B2a1B2a1B2a1B2a1B2 and password=hunter2hunter2""#,
    r#""Exit code 101\nerror[E0308]: mismatched types\n  --> src/a.rs:1:1""#,
    r#""Exit code 1\nerror: password=correcthorsebattery""#,
    r#""The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). To tell you how to proceed, the user said:\nuse b""#,
    r#""User has answered your questions: \"Which?\"=\"the second\". You can now continue with the user's answers in mind.""#,
    r#""<persisted-output>\nOutput too large (44.1 KB). Full output saved to: /h/tool-results/x.txt\n\nPreview (first 2KB):\nab\n</persisted-output>""#,
    r#""agentId: a1b2c3d4 (for resuming)\nall done""#,
    r#""\"\\\/\b\f""#,
    r#""{\"type\":\"user\",\"message\":{\"content\":\"inner\"}}""#,
];
const TIMES: &[&str] = &[
    r#""2026-03-14T09:26:53.589Z""#,
    r#""2026-03-14T09:26:54.000Z""#,
    r#""2026-03-14T08:00:00Z""#,
    r#""2026-03-14T10:26:53.589+02:00""#,
    r#""1969-12-31T23:59:59.999Z""#,
    r#""2026-02-30T00:00:00.000Z""#,
    r#""yesterday""#,
    r#""""#,
    "null",
    "1773480413589",
    "{}",
];
const VERSIONS: &[&str] =
    &[r#""1.0.24""#, r#""2.0.37""#, r#""2.1.20""#, r#""2.1.52""#, r#""2.1.97""#, r#""2.1.219""#, r#""x""#, "2", "null"];
const IDS: &[&str] = &["t1", "t2", "t3", "toolu_01ABCDEFGHIJ", "", "é\\u00e9"];
const TOOLS: &[&str] = &[
    "Bash",
    "Read",
    "Edit",
    "Write",
    "MultiEdit",
    "NotebookEdit",
    "Grep",
    "Glob",
    "TodoWrite",
    "Task",
    "Agent",
    "AskUserQuestion",
    "ExitPlanMode",
    "WebFetch",
    "WebSearch",
    "mcp__baton__search_memory_nodes",
    "mcp__other__do",
    "",
    r#"Task\" >\n<parameter name=\"description"#,
    "../../etc/passwd",
];
const INPUTS: &[&str] = &[
    "{}",
    r#"{"command":"cargo test --all","description":"Run","timeout":1e3}"#,
    r#"{"file_path":"/p/src/a.rs","old_string":"a\nb","new_string":"a\nc\nd"}"#,
    r#"{"file_path":"/p/src/a.rs","content":"one\ntwo\n"}"#,
    r#"{"file_path":"/p/a.rs","edits":[{"old_string":"a","new_string":"b"},{"old_string":"","new_string":"c\n"},3]}"#,
    r#"{"pattern":"fn x","path":"src","-n":true}"#,
    r#"{"questions":[{"question":"Which?","options":[{"label":"a"}]}]}"#,
    r#"{"todos":[{"content":"x","status":"pending","activeForm":"y"}]}"#,
    r##"{"plan":"# A\n- b"}"##,
    r#"{"n":1e999,"m":-0.0,"big":123456789012345678901234567890,"deep":[[[[{"a":[null,true]}]]]]}"#,
    r#"{"a":1,"a":2,"password":"hunter2hunter2","env":{"K":["sk-ant-a1B2a1B2a1B2a1B2"]}}"#,
    r#""a string""#,
    "[1,2]",
    "null",
    "7",
];
const WRONG: &[&str] = &["null", "7", "true", "[]", "{}", r#""x""#, "-1.5e3", "[[{}]]", "1e999", r#"{"type":null}"#];

fn long(dice: &mut Dice) -> String {
    let unit =
        dice.pick(&["x", "wort ", "\\n", "é", "\\ud83d\\ude00", "a.rs:1: error ", "eyJ", "=", "<private>", "\\\\"]);
    format!("\"{}\"", unit.repeat(1 + dice.below(900)))
}

fn text(dice: &mut Dice) -> String {
    if dice.once_in(24) { long(dice) } else { dice.pick(TEXTS).to_owned() }
}

/// A record with these fields beside what chain records share, in any order, and each now and then not there.
fn record(dice: &mut Dice, kind: &str, fields: &[(&str, String)]) -> String {
    let uuid = dice.below(40);
    let parent = dice.below(44);
    let mut all = vec![
        ("type".to_owned(), format!("\"{kind}\"")),
        ("uuid".to_owned(), format!("\"u-{uuid}\"")),
        ("parentUuid".to_owned(), if parent < 40 { format!("\"u-{parent}\"") } else { "null".to_owned() }),
        ("timestamp".to_owned(), if dice.once_in(4) { dice.pick(TIMES) } else { TIMES[0] }.to_owned()),
        ("version".to_owned(), dice.pick(VERSIONS).to_owned()),
        ("cwd".to_owned(), dice.pick(&[r#""/p""#, r#""/p/sub""#, r#""/srv/sk-ant-a1B2a1B2a1B2a1B2""#]).to_owned()),
        ("gitBranch".to_owned(), dice.pick(&[r#""main""#, r#""""#, r#""HEAD""#, r#""dev""#]).to_owned()),
        ("sessionId".to_owned(), dice.pick(&[r#""s-1""#, r#""s-2""#]).to_owned()),
        ("isSidechain".to_owned(), dice.once_in(8).to_string()),
    ];
    if dice.once_in(3) {
        all.retain(|_| !dice.once_in(4));
    }
    all.extend(fields.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
    if dice.once_in(16) {
        let again = all[dice.below(all.len())].0.clone();
        all.push((again, dice.pick(WRONG).to_owned()));
    }
    object(dice, all)
}

/// Fields as one object, shuffled now and then, with or without space between them.
fn object(dice: &mut Dice, mut fields: Vec<(String, String)>) -> String {
    if dice.once_in(3) {
        (1..fields.len()).rev().for_each(|at| fields.swap(at, dice.below(at + 1)));
    }
    let (comma, colon) = dice.pick(&[&(",", ":"), &(",", ":"), &(", ", ": "), &(" ,\t", " :\r")]).to_owned();
    let fields: Vec<String> = fields.into_iter().map(|(key, value)| format!("\"{key}\"{colon}{value}")).collect();
    format!("{{{}}}", fields.join(comma))
}

fn flag(dice: &mut Dice, fields: &mut Vec<(&'static str, String)>) {
    if dice.once_in(3) {
        let (name, value) = dice.pick(&[
            &("isMeta", "true"),
            &("origin", r#"{"kind":"human"}"#),
            &("origin", r#"{"kind":"coordinator"}"#),
            &("origin", r#"{"kind":"task-notification"}"#),
            &("origin", "null"),
            &("promptSource", r#""typed""#),
            &("promptSource", r#""sdk""#),
            &("promptSource", r#""system""#),
            &("toolDenialKind", r#""user-rejected""#),
            &("toolDenialKind", r#""rule""#),
            &("isVisibleInTranscriptOnly", "true"),
            &("permissionMode", r#""plan""#),
            &("imagePasteIds", "[1]"),
        ]);
        fields.push((name, (*value).to_owned()));
    }
}

fn user(dice: &mut Dice, content: &str) -> String {
    let mut fields = vec![("message", format!(r#"{{"role":"user","content":{content}}}"#))];
    flag(dice, &mut fields);
    record(dice, "user", &fields)
}

fn prompt(dice: &mut Dice) -> String {
    let content = text(dice);
    user(dice, &content)
}

fn prompt_of_blocks(dice: &mut Dice) -> String {
    let blocks: Vec<String> =
        (0..1 + dice.below(3)).map(|_| format!(r#"{{"type":"text","text":{}}}"#, text(dice))).collect();
    user(dice, &format!("[{}]", blocks.join(",")))
}

fn harness_words(dice: &mut Dice) -> String {
    let at = 7 + dice.below(12);
    user(dice, TEXTS[at])
}

/// An assistant's line: one part of a message, with what the service counted.
fn assistant(dice: &mut Dice, blocks: &str) -> String {
    let id = dice.pick(&["msg_1", "msg_2", "msg_3", ""]);
    let model = dice.pick(&["claude-opus-4-6", "claude-haiku-4-5", "<synthetic>", ""]);
    let usage = match dice.below(8) {
        0 => "null".to_owned(),
        1 => r#"{"input_tokens":"12","output_tokens":null,"cache_creation":null}"#.to_owned(),
        2 => {
            r#"{"input_tokens":-4,"output_tokens":1e999,"cache_read_input_tokens":99999999999999999999999}"#.to_owned()
        }
        _ => format!(
            r#"{{"input_tokens":{},"output_tokens":{},"cache_creation_input_tokens":20,"cache_read_input_tokens":300,"cache_creation":{{"ephemeral_5m_input_tokens":15,"ephemeral_1h_input_tokens":5}},"service_tier":"standard"}}"#,
            dice.below(9),
            dice.below(5) * 100
        ),
    };
    let stop = dice.pick(&["null", r#""end_turn""#, r#""tool_use""#, r#""stop_sequence""#]);
    let message = format!(
        r#"{{"id":"{id}","model":"{model}","role":"assistant","type":"message","content":{blocks},"stop_reason":{stop},"usage":{usage}}}"#
    );
    let mut fields = vec![("message", message)];
    if !dice.once_in(5) {
        fields.push(("requestId", dice.pick(&[r#""req_1""#, r#""req_2""#]).to_owned()));
    }
    if dice.once_in(12) {
        fields.push(("isApiErrorMessage", "true".to_owned()));
    }
    record(dice, "assistant", &fields)
}

fn reply(dice: &mut Dice) -> String {
    let text = text(dice);
    assistant(dice, &format!(r#"[{{"type":"text","text":{text}}}]"#))
}

fn thinking(dice: &mut Dice) -> String {
    let (text, signature) = (text(dice), "Eq8B".repeat(dice.below(200)));
    assistant(dice, &format!(r#"[{{"type":"thinking","thinking":{text},"signature":"{signature}"}}]"#))
}

fn call_block(dice: &mut Dice) -> String {
    let (id, name, input) = (dice.pick(IDS), dice.pick(TOOLS), dice.pick(INPUTS));
    format!(r#"{{"type":"tool_use","id":"{id}","name":"{name}","input":{input},"caller":{{"type":"direct"}}}}"#)
}

fn call(dice: &mut Dice) -> String {
    let block = call_block(dice);
    assistant(dice, &format!("[{block}]"))
}

fn result_content(dice: &mut Dice) -> String {
    match dice.below(8) {
        0 => format!(r#"[{{"type":"text","text":{}}},{{"type":"text","text":{}}}]"#, text(dice), text(dice)),
        1 => {
            r#"[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]"#.to_owned()
        }
        2 => r#"[{"type":"tool_reference","tool_name":"x"}]"#.to_owned(),
        3 => dice.pick(WRONG).to_owned(),
        _ => text(dice),
    }
}

fn result_block(dice: &mut Dice) -> String {
    let (id, content) = (dice.pick(IDS), result_content(dice));
    let error = dice.pick(&["", "", r#","is_error":true"#, r#","is_error":false"#, r#","is_error":null"#]);
    format!(r#"{{"tool_use_id":"{id}","type":"tool_result","content":{content}{error}}}"#)
}

fn result(dice: &mut Dice) -> String {
    let block = result_block(dice);
    user(dice, &format!("[{block}]"))
}

/// With the structured copy that is meant for the screen.
fn result_with_copy(dice: &mut Dice) -> String {
    let block = result_block(dice);
    let copy = dice.pick(&[
        r#"{"stdout":"a\nb","stderr":"","interrupted":false,"isImage":false}"#,
        r#"{"stdout":"","stderr":"boom","interrupted":true,"returnCodeInterpretation":"No matches found"}"#,
        r#"{"type":"text","file":{"filePath":"/p/a.rs","content":"x","numLines":245,"startLine":1,"totalLines":245}}"#,
        r#"{"filePath":"/p/a.rs","oldString":"a","newString":"b","originalFile":"a\n","structuredPatch":[{"lines":["-a","+b"]}],"userModified":false}"#,
        r#"{"mode":"content","filenames":[],"numFiles":0,"content":"x","numLines":3}"#,
        r#"{"filenames":["a","b"],"durationMs":12,"numFiles":2,"truncated":false}"#,
        r#"{"agentId":"a1b2c3d4","status":"completed","totalDurationMs":4200,"totalTokens":9,"usage":{},"content":[{"type":"text","text":"ok"}]}"#,
        r#"{"isAsync":true,"status":"async_launched","agentId":"a9","outputFile":"/tmp/x"}"#,
        r#"{"questions":[],"answers":{"Which?":"the second"}}"#,
        r#"{"bytes":1,"code":200,"codeText":"OK","durationMs":-3,"result":"x","url":"https://a.example"}"#,
        r#"{"durationMs":"12","totalDurationMs":1e999,"agentId":7}"#,
        r#""Error: it broke""#,
        "[1]",
        "null",
    ]);
    let fields = [
        ("message", format!(r#"{{"role":"user","content":[{block}]}}"#)),
        ("toolUseResult", copy.to_owned()),
        ("sourceToolAssistantUUID", r#""u-1""#.to_owned()),
    ];
    record(dice, "user", &fields)
}

fn media(dice: &mut Dice) -> String {
    let kind = dice.pick(&["image", "document"]);
    let source = dice.pick(&[
        r#"{"type":"base64","media_type":"image/png","data":"iVBORw0KGgoAAAANSUhEUgAA"}"#,
        r#"{"type":"base64","media_type":"application/pdf","data":""}"#,
        r#"{"type":"url","url":"https://a.example/x.png"}"#,
        r#"{"media_type":7,"data":null}"#,
        "null",
    ]);
    let words = if dice.once_in(2) { format!(r#",{{"type":"text","text":{}}}"#, text(dice)) } else { String::new() };
    user(dice, &format!(r#"[{{"type":"{kind}","source":{source}}}{words}]"#))
}

fn odd_block(dice: &mut Dice) -> String {
    let kind = dice.pick(&[
        "redacted_thinking",
        "server_tool_use",
        "web_search_tool_result",
        "mcp_tool_use",
        "fallback",
        "container_upload",
        "brand-new",
        "",
    ]);
    let block = format!(r#"{{"type":"{kind}","id":"x","data":"abc","text":{}}}"#, text(dice));
    if dice.once_in(2) { assistant(dice, &format!("[{block}]")) } else { user(dice, &format!("[{block}]")) }
}

fn several_blocks(dice: &mut Dice) -> String {
    let said = text(dice);
    let (one, other) = (call_block(dice), call_block(dice));
    assistant(dice, &format!(r#"[{{"type":"text","text":{said}}},{one},null,{other},7]"#))
}

fn compact_boundary(dice: &mut Dice) -> String {
    let metadata = dice.pick(&[
        r#"{"trigger":"auto","preTokens":150000,"postTokens":9000}"#,
        r#"{"trigger":"manual","preTokens":1}"#,
        r#"{"trigger":7,"preTokens":"x","preservedSegment":{"headUuid":"u-1"}}"#,
        "null",
    ]);
    let subtype = dice.pick(&["compact_boundary", "compact_boundary", "microcompact_boundary"]);
    let fields = [
        ("subtype", format!("\"{subtype}\"")),
        ("content", r#""Conversation compacted""#.to_owned()),
        ("compactMetadata", metadata.to_owned()),
        ("logicalParentUuid", r#""u-9""#.to_owned()),
    ];
    record(dice, "system", &fields)
}

fn compact_summary(dice: &mut Dice) -> String {
    let content = text(dice);
    let fields = [
        ("message", format!(r#"{{"role":"user","content":{content}}}"#)),
        ("isCompactSummary", "true".to_owned()),
        ("isVisibleInTranscriptOnly", "true".to_owned()),
    ];
    record(dice, "user", &fields)
}

fn system(dice: &mut Dice) -> String {
    let subtype = dice.pick(&[
        "stop_hook_summary",
        "turn_duration",
        "api_error",
        "local_command",
        "away_summary",
        "informational",
        "scheduled_task_fire",
        "brand_new",
    ]);
    let fields = [
        ("subtype", format!("\"{subtype}\"")),
        ("content", text(dice)),
        ("durationMs", "12".to_owned()),
        ("level", r#""info""#.to_owned()),
    ];
    record(dice, "system", &fields)
}

fn attachment(dice: &mut Dice) -> String {
    let kind = dice.pick(&[
        "task_reminder",
        "hook_additional_context",
        "hook_success",
        "nested_memory",
        "edited_text_file",
        "file",
        "session_context",
        "prompt_snapshot",
        "brand_new",
    ]);
    let content = text(dice);
    record(dice, "attachment", &[("attachment", format!(r#"{{"type":"{kind}","content":{content},"command":"x"}}"#))])
}

fn queued_attachment(dice: &mut Dice) -> String {
    let prompt = if dice.once_in(4) { format!(r#"[{{"type":"text","text":{}}}]"#, text(dice)) } else { text(dice) };
    let mode = dice.pick(&["prompt", "prompt", "task-notification", "bash"]);
    let value = format!(r#"{{"type":"queued_command","prompt":{prompt},"commandMode":"{mode}","source_uuid":"u-3"}}"#);
    record(dice, "attachment", &[("attachment", value)])
}

fn queue_operation(dice: &mut Dice) -> String {
    let operation = dice.pick(&["enqueue", "enqueue", "dequeue", "remove", "popAll", "other"]);
    let content = match dice.below(4) {
        0 => String::new(),
        1 => format!(r#","content":[{{"type":"text","text":{}}}]"#, text(dice)),
        _ => format!(r#","content":{}"#, text(dice)),
    };
    let at = dice.pick(TIMES);
    format!(r#"{{"type":"queue-operation","operation":"{operation}","timestamp":{at},"sessionId":"s-1"{content}}}"#)
}

fn title(dice: &mut Dice) -> String {
    let (kind, field) = dice.pick(&[
        &("custom-title", "customTitle"),
        &("ai-title", "aiTitle"),
        &("summary", "summary"),
        &("last-prompt", "lastPrompt"),
        &("agent-name", "agentName"),
    ]);
    let text = text(dice);
    let leaf = dice.pick(&["", r#","leafUuid":"u-4""#, r#","leafUuid":null"#]);
    format!(r#"{{"type":"{kind}","{field}":{text},"sessionId":"s-1"{leaf}}}"#)
}

fn metadata(dice: &mut Dice) -> String {
    dice.pick(&[
        r#"{"type":"file-history-snapshot","messageId":"u-1","snapshot":{"messageId":"u-1","trackedFileBackups":{},"timestamp":"2026-03-14T09:26:53.589Z"},"isSnapshotUpdate":false}"#,
        r#"{"type":"file-history-delta","trackingPath":"/p/a","backup":null,"messageId":"u-1","timestamp":"2026-03-14T09:26:55.589Z"}"#,
        r#"{"type":"permission-mode","permissionMode":"plan","sessionId":"s-1"}"#,
        r#"{"type":"mode","mode":"normal","sessionId":"s-1"}"#,
        r#"{"type":"pr-link","prNumber":7,"prUrl":"https://a.example/7","prRepository":"a/b","timestamp":"2026-03-14T09:26:55.589Z"}"#,
        r#"{"type":"cost-state","totalCostUSD":1.5,"modelUsage":{"m":{"inputTokens":5}}}"#,
        r#"{"type":"bridge-session","accountUuid":"0a1b2c3d-1111-2222-3333-444455556666"}"#,
        r#"{"type":"worktree-state","worktreeSession":null}"#,
        r#"{"type":"relocated","relocatedCwd":"/p2"}"#,
        r#"{"type":"tag","tag":"x","sessionId":"s-1"}"#,
    ])
    .to_owned()
}

fn progress(dice: &mut Dice) -> String {
    let data = dice.pick(&[
        r#"{"type":"hook_progress","hookEvent":"Stop","command":"x"}"#,
        r#"{"type":"bash_progress","output":"a","fullOutput":"a\nb","elapsedTimeSeconds":3}"#,
        r#"{"type":"agent_progress","normalizedMessages":[{"type":"user","message":{"content":"inner"}}],"message":{"type":"assistant"}}"#,
        "null",
    ]);
    record(dice, "progress", &[("data", data.to_owned()), ("toolUseID", r#""t1""#.to_owned())])
}

fn link(dice: &mut Dice) -> String {
    dice.pick(&[
        r#"{"type":"continued-in","continuedInSessionId":"s-9","sessionId":"s-1"}"#,
        r#"{"type":"continued-in","continuedInSessionId":7}"#,
        r#"{"type":"fork-context-ref","agentId":"a1","parentSessionId":"s-1","parentLastUuid":"u-1","contextLength":4}"#,
    ])
    .to_owned()
}

fn forked(dice: &mut Dice) -> String {
    let content = text(dice);
    let from = dice.pick(&[r#"{"sessionId":"s-0","messageUuid":"u-1"}"#, r#"{"sessionId":7}"#, "null"]);
    let fields = [("message", format!(r#"{{"role":"user","content":{content}}}"#)), ("forkedFrom", from.to_owned())];
    record(dice, "user", &fields)
}

fn unknown(dice: &mut Dice) -> String {
    let number = dice.below(200);
    match dice.below(4) {
        0 => format!(r#"{{"type":"{}","x":1}}"#, "k".repeat(1 + dice.below(10_000))),
        1 => r#"{"x":1}"#.to_owned(),
        2 => "{}".to_owned(),
        _ => format!(r#"{{"type":"kind-{number}","message":{{"content":"x"}}}}"#),
    }
}

fn wrong_types(dice: &mut Dice) -> String {
    let kind = dice.pick(&["user", "assistant", "system", "attachment", "queue-operation", "custom-title"]);
    let names = [
        "message",
        "content",
        "uuid",
        "timestamp",
        "cwd",
        "attachment",
        "toolUseResult",
        "isMeta",
        "operation",
        "customTitle",
    ];
    let fields: Vec<(&str, String)> = names.iter().map(|name| (*name, dice.pick(WRONG).to_owned())).collect();
    record(dice, kind, &fields)
}

fn no_record(dice: &mut Dice) -> String {
    let torn = prompt(dice);
    let inside = (0..torn.len()).rev().find(|at| *at < torn.len() / 2 && torn.is_char_boundary(*at)).unwrap_or(0);
    match dice.below(9) {
        0 => String::new(),
        1 => "  \t\r".to_owned(),
        2 => "[1,2]".to_owned(),
        3 => "word".to_owned(),
        4 => "\0\0\0".to_owned(),
        5 => torn[..inside].to_owned(),
        6 => format!("{torn}{}", reply(dice)),
        7 => format!("\u{feff}{torn}"),
        _ => format!("\0\0{torn}\r"),
    }
}

fn codex(dice: &mut Dice, kind: &str, payload: &str) -> String {
    let at = if dice.once_in(6) { dice.pick(TIMES) } else { TIMES[0] };
    object(
        dice,
        vec![
            ("timestamp".to_owned(), at.to_owned()),
            ("type".to_owned(), format!("\"{kind}\"")),
            ("payload".to_owned(), payload.to_owned()),
        ],
    )
}

fn codex_message(dice: &mut Dice) -> String {
    let text = text(dice);
    let (role, part) = dice.pick(&[
        &("user", "input_text"),
        &("assistant", "output_text"),
        &("developer", "input_text"),
        &("", "input_image"),
    ]);
    let payload = format!(r#"{{"type":"message","role":"{role}","content":[{{"type":"{part}","text":{text}}}]}}"#);
    codex(dice, "response_item", &payload)
}

fn codex_event(dice: &mut Dice) -> String {
    let text = text(dice);
    let payload = match dice.below(6) {
        0 => format!(r#"{{"type":"user_message","message":{text},"images":[]}}"#),
        1 => format!(r#"{{"type":"agent_message","message":{text}}}"#),
        2 => format!(r#"{{"type":"agent_reasoning","text":{text}}}"#),
        3 => format!(
            r#"{{"type":"token_count","info":{{"total_token_usage":{{"input_tokens":{n},"cached_input_tokens":4,"output_tokens":{n}}},"last_token_usage":{{"input_tokens":9,"cached_input_tokens":4,"output_tokens":3,"reasoning_output_tokens":1,"total_tokens":12}}}}}}"#,
            n = dice.below(4) * 10
        ),
        4 => r#"{"type":"turn_aborted","reason":"interrupted"}"#.to_owned(),
        _ => dice.pick(WRONG).to_owned(),
    };
    codex(dice, "event_msg", &payload)
}

fn codex_call(dice: &mut Dice) -> String {
    let (id, text) = (dice.pick(IDS), text(dice));
    let payload = match dice.below(5) {
        0 => format!(
            r#"{{"type":"function_call","name":"shell","arguments":"{{\"command\":[\"bash\",\"-lc\",\"ls\"]}}","call_id":"{id}"}}"#
        ),
        1 => format!(r#"{{"type":"function_call","name":"shell","arguments":{text},"call_id":"{id}"}}"#),
        2 => format!(r#"{{"type":"function_call_output","call_id":"{id}","output":{text}}}"#),
        3 => format!(
            r#"{{"type":"custom_tool_call","call_id":"{id}","name":"apply_patch","input":"*** Begin Patch\n*** Update File: a.rs\n@@\n-a\n+b\n*** End Patch"}}"#
        ),
        _ => format!(
            r#"{{"type":"reasoning","summary":[{{"type":"summary_text","text":{text}}}],"encrypted_content":"gAAA"}}"#
        ),
    };
    codex(dice, "response_item", &payload)
}

fn codex_context(dice: &mut Dice) -> String {
    let (kind, payload) = dice.pick(&[
        &("session_meta", r#"{"id":"s-1","cwd":"/p","git":{"branch":"main"},"cli_version":"0.142.0"}"#),
        &(
            "session_meta",
            r#"{"id":"s-1","cwd":"/p","forked_from_id":"s-0","source":{"subagent":{"thread_spawn":{}}}}"#,
        ),
        &("turn_context", r#"{"cwd":"/p/sub","model":"gpt-5.2"}"#),
        &("compacted", r#"{"message":"so far"}"#),
        &("world_state", "{}"),
        &("inter_agent_communication", "null"),
    ]);
    codex(dice, kind, payload)
}
