//! Records of the harness: attachments, its queue, titles, other sessions.

use crate::dice::Dice;

use super::frame::record;
use super::pool::{TIMES, text};

pub(super) fn compact_boundary(dice: &mut Dice) -> String {
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

pub(super) fn system(dice: &mut Dice) -> String {
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

pub(super) fn attachment(dice: &mut Dice) -> String {
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

pub(super) fn queued_attachment(dice: &mut Dice) -> String {
    let prompt = if dice.once_in(4) { format!(r#"[{{"type":"text","text":{}}}]"#, text(dice)) } else { text(dice) };
    let mode = dice.pick(&["prompt", "prompt", "task-notification", "bash"]);
    let value = format!(r#"{{"type":"queued_command","prompt":{prompt},"commandMode":"{mode}","source_uuid":"u-3"}}"#);
    record(dice, "attachment", &[("attachment", value)])
}

pub(super) fn queue_operation(dice: &mut Dice) -> String {
    let operation = dice.pick(&["enqueue", "enqueue", "dequeue", "remove", "popAll", "other"]);
    let content = match dice.below(4) {
        0 => String::new(),
        1 => format!(r#","content":[{{"type":"text","text":{}}}]"#, text(dice)),
        _ => format!(r#","content":{}"#, text(dice)),
    };
    let at = dice.pick(TIMES);
    format!(r#"{{"type":"queue-operation","operation":"{operation}","timestamp":{at},"sessionId":"s-1"{content}}}"#)
}

pub(super) fn title(dice: &mut Dice) -> String {
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

pub(super) fn metadata(dice: &mut Dice) -> String {
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

pub(super) fn progress(dice: &mut Dice) -> String {
    let data = dice.pick(&[
        r#"{"type":"hook_progress","hookEvent":"Stop","command":"x"}"#,
        r#"{"type":"bash_progress","output":"a","fullOutput":"a\nb","elapsedTimeSeconds":3}"#,
        r#"{"type":"agent_progress","normalizedMessages":[{"type":"user","message":{"content":"inner"}}],"message":{"type":"assistant"}}"#,
        "null",
    ]);
    record(dice, "progress", &[("data", data.to_owned()), ("toolUseID", r#""t1""#.to_owned())])
}

pub(super) fn link(dice: &mut Dice) -> String {
    dice.pick(&[
        r#"{"type":"continued-in","continuedInSessionId":"s-9","sessionId":"s-1"}"#,
        r#"{"type":"continued-in","continuedInSessionId":7}"#,
        r#"{"type":"fork-context-ref","agentId":"a1","parentSessionId":"s-1","parentLastUuid":"u-1","contextLength":4}"#,
    ])
    .to_owned()
}

pub(super) fn forked(dice: &mut Dice) -> String {
    let content = text(dice);
    let from = dice.pick(&[r#"{"sessionId":"s-0","messageUuid":"u-1"}"#, r#"{"sessionId":7}"#, "null"]);
    let fields = [("message", format!(r#"{{"role":"user","content":{content}}}"#)), ("forkedFrom", from.to_owned())];
    record(dice, "user", &fields)
}
