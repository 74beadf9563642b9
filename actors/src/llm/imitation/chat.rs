//! What a model says, and the answer in which it stands.

use serde_json::{Value, json};

use super::{Fault, Request, words};

/// The body of an answer in which a model says something.
pub(super) fn answer(request: &Request, said: &str, fault: Option<&Fault>) -> String {
    let asked: Value = serde_json::from_str(&request.body).unwrap_or_default();
    let middle = (0..=said.len() / 2).rev().find(|at| said.is_char_boundary(*at)).unwrap_or_default();
    let (text, finish) = match fault {
        Some(Fault::Says(said)) => (said.clone(), "stop"),
        Some(Fault::Cut) => (said[..middle].to_owned(), "length"),
        Some(Fault::Fenced) => (format!("```json\n{said}\n```"), "stop"),
        _ => (said.to_owned(), "stop"),
    };
    let message = match fault {
        Some(Fault::Declines(why)) => json!({"role": "assistant", "content": null, "refusal": why}),
        _ => json!({"role": "assistant", "content": text, "refusal": null}),
    };
    let choice = json!({"index": 0, "message": message, "finish_reason": finish});
    if fault == Some(&Fault::Bare) {
        return json!({"choices": [{"message": choice["message"]}]}).to_string();
    }
    let (input, output) = (request.texts.iter().map(|text| words::count(text)).sum::<usize>(), words::count(&text));
    json!({
        "id": "chatcmpl-imitation",
        "object": "chat.completion",
        "created": 0,
        "model": asked["model"],
        "choices": [choice],
        "usage": {"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output},
    })
    .to_string()
}

/// What it says where nobody has said what.
pub(super) fn usual(_request: &Request) -> String {
    "{}".to_owned()
}
