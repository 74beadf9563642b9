//! How many tokens a text is for a language model: one estimator for all that is told of tokens and their price.
//!
//! An estimate, and told as one: about four bytes of ASCII a token, about one character of anything else (a CJK character
//! is mostly one token, an accented letter somewhat less). No tokenizer of any model is asked.

use crate::conversation::{Body, Item};
use crate::hash::canonical_json;

/// Bytes of ASCII that make about one token.
const ASCII_BYTES_PER_TOKEN: u64 = 4;
/// Tokens that the frame of one item takes: who speaks, and where it ends.
const TOKENS_PER_ITEM: u64 = 4;
/// Output tokens of one summary, as the default configuration bounds them.
pub const SUMMARY_OUTPUT_TOKENS: u64 = 2_000;
/// US dollars for a million input tokens of the default model (gpt-4.1-mini).
pub const INPUT_USD_PER_MILLION: f64 = 0.40;
/// US dollars for a million output tokens of the default model (gpt-4.1-mini).
pub const OUTPUT_USD_PER_MILLION: f64 = 1.60;

/// Tokens of a text, rounded up; 0 only for the empty text.
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

/// Tokens of a transcript of which only the size is known, in bytes: as if it were ASCII, which JSON mostly is.
pub fn of_bytes(bytes: u64) -> u64 {
    bytes.div_ceil(ASCII_BYTES_PER_TOKEN)
}

/// Tokens of a conversation as it is kept: what would be sent to a model. Linear in the items.
pub fn of_items(items: &[Item]) -> u64 {
    items.iter().map(|item| of_body(&item.body)).sum()
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

/// US dollars that the default model would take to summarise this many tokens once, to a millionth of a dollar.
pub fn summary_usd(tokens: u64) -> f64 {
    let usd = tokens as f64 * INPUT_USD_PER_MILLION + SUMMARY_OUTPUT_TOKENS as f64 * OUTPUT_USD_PER_MILLION;
    // A dollar per million tokens is a millionth of a dollar per token.
    usd.round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::Meta;

    #[test]
    fn a_text_is_a_quarter_of_its_ascii_and_all_of_the_rest() {
        for (text, tokens) in [("", 0), ("a", 1), ("four", 1), ("fives", 2), ("日本語", 3), ("né", 2), ("🦀 ok", 2)]
        {
            assert_eq!(of_text(text), tokens, "{text}");
        }
        assert_eq!((of_bytes(0), of_bytes(1), of_bytes(4_000)), (0, 1, 1_000));
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
    fn a_summary_costs_its_input_and_a_whole_output() {
        assert_eq!(summary_usd(0), 0.0032);
        assert_eq!(summary_usd(10_000), 0.0072);
        assert_eq!(summary_usd(1_000_000), 0.4032);
    }
}
