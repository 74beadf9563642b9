//! Calls of tools and their results.

use crate::dice::Dice;

use super::frame::record;
use super::pool::{IDS, INPUTS, TOOLS, WRONG, text};
use super::said::{assistant, user};

pub(super) fn call_block(dice: &mut Dice) -> String {
    let (id, name, input) = (dice.pick(IDS), dice.pick(TOOLS), dice.pick(INPUTS));
    format!(r#"{{"type":"tool_use","id":"{id}","name":"{name}","input":{input},"caller":{{"type":"direct"}}}}"#)
}

pub(super) fn call(dice: &mut Dice) -> String {
    let block = call_block(dice);
    assistant(dice, &format!("[{block}]"))
}

pub(super) fn result_content(dice: &mut Dice) -> String {
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

pub(super) fn result_block(dice: &mut Dice) -> String {
    let (id, content) = (dice.pick(IDS), result_content(dice));
    let error = dice.pick(&["", "", r#","is_error":true"#, r#","is_error":false"#, r#","is_error":null"#]);
    format!(r#"{{"tool_use_id":"{id}","type":"tool_result","content":{content}{error}}}"#)
}

pub(super) fn result(dice: &mut Dice) -> String {
    let block = result_block(dice);
    user(dice, &format!("[{block}]"))
}

/// With the structured copy that is meant for the screen.
pub(super) fn result_with_copy(dice: &mut Dice) -> String {
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
