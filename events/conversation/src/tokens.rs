//! Estimate of the tokens of a text for a language model, used for all numbers of tokens and prices.
//!
//! An estimate, and shown as such: about four bytes of ASCII per token, about one other character per token (a CJK
//! character is mostly one token, an accented letter somewhat less). No model's tokenizer is used.
//!
//! Savings of the filter are given in characters, four of which count as a token on both sides: see
//! [`chars_of_content`].
//!
//! # Hazards
//!
//! - For paid requests the count is an upper bound (`max_token_count`): three bytes of ASCII per token, and a token for each
//!   byte of another character after its first, which is more than most texts take. A CJK session is therefore divided
//!   into up to twice as many parts as needed. A request that is too large is refused after it was sent; one with room
//!   left only repeats the fixed part of each request.

use crate::hash::canonical_json;
use crate::item::{Body, Item};
use baton_redaction::raw_json::{Found, Value, first_object};

/// Bytes of ASCII per token.
const ASCII_BYTES_PER_TOKEN: u64 = 4;
/// Bytes of ASCII per token in dense texts.
const DENSE_BYTES_PER_TOKEN: u64 = 3;
/// Tokens for the frame of an item: speaker and end.
const TOKENS_PER_ITEM: u64 = 4;
/// Output tokens of a summary, the limit in the default configuration.
pub const SUMMARY_OUTPUT_TOKENS: u64 = 2_000;
/// US dollars per million input tokens of the default model (gpt-4.1-mini).
pub const INPUT_USD_PER_MILLION: f64 = 0.40;
/// US dollars per million output tokens of the default model (gpt-4.1-mini).
pub const OUTPUT_USD_PER_MILLION: f64 = 1.60;

/// Estimated tokens of a text, rounded up; 0 only for the empty text.
pub fn of_text(text: &str) -> u64 {
    let (mut ascii, mut other) = (0_u64, 0_u64);
    for c in text.chars() {
        if c.is_ascii() {
            ascii += 1;
        } else {
            other += 1;
        }
    }
    ascii.div_ceil(ASCII_BYTES_PER_TOKEN) + other
}

/// Upper estimate of a text's tokens, for costs: code, paths, JSON and numbers have about three bytes of ASCII per
/// token. In any other character each byte after the first may be a token: an accented letter is one, a CJK character
/// or a symbol up to two, an emoji or a rare character up to three. Never less than [`of_text`].
pub fn max_token_count(text: &str) -> u64 {
    let (mut ascii, mut other) = (0_u64, 0_u64);
    for c in text.chars() {
        match c.len_utf8() as u64 {
            1 => ascii += 1,
            bytes => other += bytes - 1,
        }
    }
    ascii.div_ceil(DENSE_BYTES_PER_TOKEN) + other
}

/// Estimated tokens of a transcript, from its size in bytes, as if it were ASCII, which JSON mostly is.
pub fn of_bytes(bytes: u64) -> u64 {
    bytes.div_ceil(ASCII_BYTES_PER_TOKEN)
}

/// Estimated tokens of a stored conversation, as it would be sent to a model. Linear in the items.
pub fn of_items(items: &[Item]) -> u64 {
    items.iter().map(|item| of_body(&item.body)).sum()
}

/// Characters that a line of a Claude Code transcript gives to the model or has from it: the decoded `message.content`
/// of its first object. Texts, thinking, names and parameters of calls as JSON, and texts of results count; signatures,
/// images and documents do not. 0 for every other line.
///
/// The savings of the filter are measured against this. Counting screen copies and Base64 as well would make them look
/// far larger, without meaning.
pub fn chars_of_content(line: &[u8]) -> u64 {
    let Found::Object(fields) = first_object(line) else { return 0 };
    let (mut kind, mut content) = (None, None);
    for (key, value) in fields {
        match key.raw() {
            b"type" => kind = value.text(),
            b"message" => content = value.get(b"content"),
            _ => {}
        }
    }
    match kind.map(|kind| kind.raw()) {
        Some(b"user" | b"assistant") => content.map_or(0, chars_of_blocks),
        _ => 0,
    }
}

/// Counts a string, or an array of blocks; results contain either in turn.
fn chars_of_blocks(content: Value<'_>) -> u64 {
    let block = |block: Value<'_>| -> u64 {
        let kind = block.get(b"type").and_then(Value::text).map_or(&b""[..], |kind| kind.raw());
        if matches!(kind, b"image" | b"document" | b"redacted_thinking") {
            return 0;
        }
        let part = |(name, value): (&[u8], Value<'_>)| match (name, value) {
            (b"text" | b"thinking" | b"name", Value::Text(text)) => chars(&text.decode()),
            (b"input", Value::Object(raw) | Value::Array(raw)) => chars_of_json(&raw),
            (b"content", value) if kind.ends_with(b"tool_result") => chars_of_texts(value),
            _ => 0,
        };
        block.fields().map(|(name, value)| part((name.raw(), value))).sum()
    };
    match content {
        Value::Text(text) => chars(&text.decode()),
        array => array.elements().map(block).sum(),
    }
}

fn chars_of_texts(content: Value<'_>) -> u64 {
    match content {
        Value::Text(text) => chars(&text.decode()),
        array => {
            array.elements().filter_map(|block| block.get(b"text")?.text()).map(|text| chars(&text.decode())).sum()
        }
    }
}

/// Ignores white space and escapes that depend on the writer.
fn chars_of_json(raw: &[u8]) -> u64 {
    serde_json::from_slice(raw).map_or(raw.len() as u64, |value| chars(&canonical_json(&value)))
}

/// Characters of a stored conversation: texts, calls with their stored parameters, the line of each result. Facts about
/// the session (titles, branches, tokens) do not count.
pub fn chars_of_items(items: &[Item]) -> u64 {
    items.iter().map(|item| chars_of_body(&item.body)).sum()
}

fn chars_of_body(body: &Body) -> u64 {
    match body {
        Body::Prompt { text } | Body::Answer { text } | Body::Reply { text } | Body::Thinking { text } => chars(text),
        Body::Summary { text } | Body::Notice { text } | Body::Media { text } => chars(text),
        Body::Call(call) => {
            let input = call.input.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
            chars(&call.name) + chars(&canonical_json(&serde_json::Value::Object(input)))
        }
        Body::Result(result) => chars(&result.text),
        Body::Meta(_) => 0,
    }
}

fn chars(text: &str) -> u64 {
    text.chars().count() as u64
}

fn of_body(body: &Body) -> u64 {
    let text = match body {
        Body::Prompt { text } | Body::Answer { text } | Body::Reply { text } | Body::Thinking { text } => of_text(text),
        Body::Summary { text } | Body::Notice { text } | Body::Media { text } => of_text(text),
        Body::Call(call) => {
            let values = call.input.iter().map(|(key, value)| of_text(key) + of_text(&canonical_json(value)));
            of_text(&call.name) + values.sum::<u64>()
        }
        Body::Result(result) => of_text(&result.text),
        Body::Meta(_) => return 0,
    };
    text + TOKENS_PER_ITEM
}

/// Least cost in US dollars of a summary of this many tokens by the default model, rounded to a millionth: as if they
/// were sent in one request with nothing else. The request plan gives the upper bound.
pub fn summary_usd(tokens: u64) -> f64 {
    let usd = tokens as f64 * INPUT_USD_PER_MILLION + SUMMARY_OUTPUT_TOKENS as f64 * OUTPUT_USD_PER_MILLION;
    // One dollar per million tokens is a millionth of a dollar per token.
    usd.round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::Meta;

    #[test]
    fn a_text_is_a_quarter_of_its_ascii_and_all_of_the_rest() {
        for (text, tokens) in [("", 0), ("a", 1), ("four", 1), ("fives", 2), ("日本語", 3), ("né", 2), ("🦀 ok", 2)]
        {
            assert_eq!(of_text(text), tokens, "{text}");
        }
        assert_eq!((of_bytes(0), of_bytes(1), of_bytes(4_000)), (0, 1, 1_000));
    }

    #[test]
    fn what_is_paid_for_is_reckoned_no_lower_than_it_may_be() {
        for (text, tokens) in [
            ("", 0),
            ("abc", 1),
            ("abcd", 2),
            ("né", 2),
            ("e\u{301}", 2),
            ("日本語", 6),
            ("→ ok", 3),
            ("🦀", 3),
            ("👩‍🚀", 8),
            ("𠮷野家", 7),
        ] {
            assert_eq!(max_token_count(text), tokens, "{text}");
            assert!((of_text(text)..=text.len() as u64).contains(&tokens), "{text}");
        }
    }

    #[test]
    fn a_conversation_is_the_sum_of_what_is_kept_of_it() {
        let item = |body| Item { line: 1, at: None, uuid: None, message: None, sidechain: false, body };
        let items = [
            item(Body::Meta(Meta::Cwd("/a/very/long/path".into()))),
            item(Body::Prompt { text: "four".into() }),
            item(Body::Reply { text: "日本".into() }),
        ];
        assert_eq!(of_items(&items), 1 + 2 + 2 * TOKENS_PER_ITEM);
        assert_eq!(of_items(&[]), 0);
    }

    #[test]
    fn what_the_model_is_given_is_counted_without_its_copies() {
        let check = |line: &str, expected: &[&str]| {
            let expected: u64 = expected.iter().map(|text| chars(text)).sum();
            assert_eq!(chars_of_content(line.as_bytes()), expected, "{line}");
        };
        check(r#"{"type":"user","message":{"role":"user","content":"né\n"},"toolUseResult":"copy"}"#, &["né\n"]);
        check(
            r#"{"message":{"id":"m","content":[{"type":"thinking","thinking":"hm","signature":"AAAA"}]},"type":"assistant"}"#,
            &["hm"],
        );
        check(
            r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Bash","input":{"b": 1, "a":"\u00e9"}}]}}"#,
            &["Bash", r#"{"a":"é","b":1}"#],
        );
        let results = r#"[{"type":"tool_result","tool_use_id":"t","content":"abc"},
            {"type":"tool_result","content":[{"type":"text","text":"de"},{"type":"image","source":{"data":"AAAA"}}]},
            {"type":"image","source":{"type":"base64","data":"AAAA"}}]"#;
        check(&format!(r#"{{"type":"user","message":{{"content":{}}}}}"#, results.replace('\n', "")), &["abc", "de"]);
        check(r#"{"type":"progress","message":{"content":"abc"},"data":{}}"#, &[]);
        check(r#"{"type":"user","toolUseResult":{"content":"abc"}}"#, &[]);
        check("no object", &[]);
        check("", &[]);
    }

    #[test]
    fn what_is_kept_is_counted_as_it_is_stored() {
        let item = |body| Item { line: 1, at: None, uuid: None, message: None, sidechain: false, body };
        let input = serde_json::from_str(r#"{"command":"ls","n":1}"#).unwrap();
        let call = crate::item::Call {
            act: crate::item::Act::of_tool("Bash"),
            id: "c".into(),
            name: "Bash".into(),
            input,
            edit: None,
            commit: None,
            plan: None,
            git_line: None,
        };
        let items = [
            item(Body::Meta(Meta::Cwd("/a".into()))),
            item(Body::Prompt { text: "né".into() }),
            item(Body::Call(call)),
        ];
        assert_eq!(chars_of_items(&items), 2 + chars(r#"Bash{"command":"ls","n":1}"#));
    }

    #[test]
    fn a_summary_costs_its_input_and_a_whole_output() {
        assert_eq!(summary_usd(0), 0.0032);
        assert_eq!(summary_usd(10_000), 0.0072);
        assert_eq!(summary_usd(1_000_000), 0.4032);
    }
}
