//! Renders a conversation for a model: who said what, each line with the number of its transcript line.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::Value;

use super::lines::says_something;
use baton_conversation::hash::canonical_json;
use baton_conversation::item::{Body, Call, Item, Outcome};
use baton_conversation::tokens;
use baton_episode::digest::Show;
use baton_redaction::redact;

/// Maximum length of a prompt, answer or reply, in characters.
const SAID_CHARS: usize = 24_000;
/// Maximum length of a call's parameters, in characters.
const CALL_CHARS: usize = 2_000;
/// Maximum length of a tool's result or a message of the harness, in characters.
const RESULT_CHARS: usize = 2_000;

/// One rendered item.
#[derive(Clone, Debug)]
pub(super) struct RenderedItem {
    pub(super) text: String,
    pub(super) tokens: u64,
    /// True if a person typed it, which begins an exchange.
    pub(super) begins: bool,
}

/// Renders the items that may be shown, in order, each with at most about `max_tokens` tokens, which must be hundreds.
pub(super) fn render_items(items: &[Item], show: &Show, max_tokens: u64) -> Vec<RenderedItem> {
    let is_told = |item: &&Item| says_something(&item.body) && show.keeps(&item.body);
    items.iter().filter(is_told).filter_map(|item| render_item(item, show, max_tokens)).collect()
}

fn render_item(item: &Item, show: &Show, max_tokens: u64) -> Option<RenderedItem> {
    let (who, text, bound) = match &item.body {
        Body::Prompt { text } => ("user", Cow::Borrowed(text.as_str()), SAID_CHARS),
        Body::Answer { text } => ("user, to a tool", Cow::Borrowed(text.as_str()), SAID_CHARS),
        Body::Reply { text } => ("assistant", Cow::Borrowed(text.as_str()), SAID_CHARS),
        Body::Call(call) => ("call", Cow::Owned(call_text(call)), CALL_CHARS),
        Body::Result(result) => {
            (result_label(result.outcome), Cow::Borrowed(result.text.as_str()), show.output_chars(RESULT_CHARS))
        }
        Body::Notice { text } => ("harness", Cow::Borrowed(text.as_str()), RESULT_CHARS),
        Body::Media { .. } | Body::Thinking { .. } | Body::Summary { .. } | Body::Meta(_) => return None,
    };
    // Redacted before it is cut: half a key would not be recognised.
    let clean = redact(&text);
    let whose = if item.sidechain { "subagent's " } else { "" };
    let head = format!("{}| {whose}{who}: ", item.line);
    let mut max_chars = bound;
    let (text, tokens) = loop {
        let text = lines(&head, &cut(&clean, max_chars));
        let tokens = tokens::max_token_count(&text);
        if tokens <= max_tokens || max_chars == 0 {
            break (text, tokens);
        }
        // Shortened in proportion; repeated, as the remaining text may have more tokens per character.
        let fits =
            u64::try_from(max_chars.min(clean.chars().count())).unwrap_or(u64::MAX).saturating_mul(max_tokens) / tokens;
        max_chars = usize::try_from(fits).unwrap_or(usize::MAX).min(max_chars - 1);
    };
    Some(RenderedItem { text, tokens, begins: matches!(item.body, Body::Prompt { .. }) && !item.sidechain })
}

/// Renders a text after its head, line by line.
fn lines(head: &str, text: &str) -> String {
    let mut told = String::with_capacity(text.len() + 32);
    let mut head = Cow::Borrowed(head);
    for line in text.split(is_line_end) {
        let shown: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let _ = writeln!(told, "{head}{}", shown.trim_end());
        head = Cow::Borrowed("  | ");
    }
    told
}

/// Returns true for every character that may be taken for a line end, so that no line of the text looks like a new
/// item.
fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn call_text(call: &Call) -> String {
    let input: serde_json::Map<String, Value> =
        call.input.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    format!("{} {}", call.name, canonical_json(&Value::Object(input)))
}

fn result_label(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "result",
        Outcome::Failed => "result, failed",
        Outcome::Denied => "result, denied",
        Outcome::Interrupted => "result, interrupted",
    }
}

/// Keeps beginning and end of a text that is too long, with the number of characters between.
fn cut(text: &str, max_chars: usize) -> Cow<'_, str> {
    let chars = text.chars().count();
    if chars <= max_chars {
        return Cow::Borrowed(text);
    }
    let (head, tail) = (max_chars * 2 / 3, max_chars / 3);
    let at = |nth: usize| text.char_indices().nth(nth).map_or(text.len(), |(at, _)| at);
    let between = chars - head - tail;
    Cow::Owned(format!("{}[… {between} characters left out …]{}", &text[..at(head)], &text[at(chars - tail)..]))
}
