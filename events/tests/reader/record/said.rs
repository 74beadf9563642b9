//! Messages of people, the model and the harness on their behalf.

use crate::dice::Dice;

use super::frame::{flag, record};
use super::pool::{TEXTS, text};
use super::tool::call_block;

pub(super) fn user(dice: &mut Dice, content: &str) -> String {
    let mut fields = vec![("message", format!(r#"{{"role":"user","content":{content}}}"#))];
    flag(dice, &mut fields);
    record(dice, "user", &fields)
}

pub(super) fn prompt(dice: &mut Dice) -> String {
    let content = text(dice);
    user(dice, &content)
}

pub(super) fn prompt_of_blocks(dice: &mut Dice) -> String {
    let blocks: Vec<String> =
        (0..1 + dice.below(3)).map(|_| format!(r#"{{"type":"text","text":{}}}"#, text(dice))).collect();
    user(dice, &format!("[{}]", blocks.join(",")))
}

pub(super) fn harness_words(dice: &mut Dice) -> String {
    let at = 7 + dice.below(12);
    user(dice, TEXTS[at])
}

/// An assistant's line: one part of a message, with the service's usage counts.
pub(super) fn assistant(dice: &mut Dice, blocks: &str) -> String {
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

pub(super) fn reply(dice: &mut Dice) -> String {
    let text = text(dice);
    assistant(dice, &format!(r#"[{{"type":"text","text":{text}}}]"#))
}

pub(super) fn thinking(dice: &mut Dice) -> String {
    let (text, signature) = (text(dice), "Eq8B".repeat(dice.below(200)));
    assistant(dice, &format!(r#"[{{"type":"thinking","thinking":{text},"signature":"{signature}"}}]"#))
}

pub(super) fn media(dice: &mut Dice) -> String {
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

pub(super) fn odd_block(dice: &mut Dice) -> String {
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

pub(super) fn several_blocks(dice: &mut Dice) -> String {
    let said = text(dice);
    let (one, other) = (call_block(dice), call_block(dice));
    assistant(dice, &format!(r#"[{{"type":"text","text":{said}}},{one},null,{other},7]"#))
}

pub(super) fn compact_summary(dice: &mut Dice) -> String {
    let content = text(dice);
    let fields = [
        ("message", format!(r#"{{"role":"user","content":{content}}}"#)),
        ("isCompactSummary", "true".to_owned()),
        ("isVisibleInTranscriptOnly", "true".to_owned()),
    ];
    record(dice, "user", &fields)
}
