//! Records of Codex.

use crate::dice::Dice;

use super::frame::object;
use super::pool::{IDS, TIMES, WRONG, text};

pub(super) fn codex(dice: &mut Dice, kind: &str, payload: &str) -> String {
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

pub(super) fn codex_message(dice: &mut Dice) -> String {
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

pub(super) fn codex_event(dice: &mut Dice) -> String {
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

pub(super) fn codex_call(dice: &mut Dice) -> String {
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

pub(super) fn codex_context(dice: &mut Dice) -> String {
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
