//! A conversation as a model reads it: who said what, each physical line behind the number of its transcript line.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::Value;

use super::lines::says_something;
use crate::conversation::{Body, Call, Item, Outcome};
use crate::hash::canonical_json;
use crate::redact::redact;
use crate::tokens;

/// Most characters of one thing that was said.
const SAID_CHARS: usize = 24_000;
/// Most characters of the parameters of a call.
const CALL_CHARS: usize = 2_000;
/// Most characters of the result of a tool, or of news of the harness.
const RESULT_CHARS: usize = 2_000;

/// One item, told.
#[derive(Clone, Debug)]
pub(super) struct Told {
    pub(super) text: String,
    pub(super) tokens: u64,
    /// Whether somebody typed it: an exchange begins.
    pub(super) begins: bool,
}

/// The items that say something, in their order; of each at most `max_chars` characters.
pub(super) fn told(items: &[Item], max_chars: usize) -> Vec<Told> {
    items.iter().filter(|item| says_something(&item.body)).filter_map(|item| tell(item, max_chars)).collect()
}

fn tell(item: &Item, max_chars: usize) -> Option<Told> {
    let (who, text, bound) = match &item.body {
        Body::Prompt { text } => ("user", Cow::Borrowed(text.as_str()), SAID_CHARS),
        Body::Answer { text } => ("user, to a tool", Cow::Borrowed(text.as_str()), SAID_CHARS),
        Body::Reply { text } => ("assistant", Cow::Borrowed(text.as_str()), SAID_CHARS),
        Body::Call(call) => ("call", Cow::Owned(called(call)), CALL_CHARS),
        Body::Result(result) => (ended(result.outcome), Cow::Borrowed(result.text.as_str()), RESULT_CHARS),
        Body::Notice { text } => ("harness", Cow::Borrowed(text.as_str()), RESULT_CHARS),
        Body::Media { .. } | Body::Thinking { .. } | Body::Summary { .. } | Body::Meta(_) => return None,
    };
    // Redacted as a whole: half a key is no longer known for one.
    let clean = redact(&text);
    let mut told = String::with_capacity(clean.len() + 32);
    let whose = if item.sidechain { "subagent's " } else { "" };
    let mut head = format!("{}| {whose}{who}: ", item.line);
    for line in cut(&clean, bound.min(max_chars)).split(is_line_end) {
        let shown: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let _ = writeln!(told, "{head}{}", shown.trim_end());
        head.clear();
        head.push_str("  | ");
    }
    let tokens = tokens::of_text(&told);
    Some(Told { text: told, tokens, begins: matches!(item.body, Body::Prompt { .. }) && !item.sidechain })
}

/// Whatever somebody may take for the end of a line: a line of the text never looks like one of ours.
fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn called(call: &Call) -> String {
    let input: serde_json::Map<String, Value> =
        call.input.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    format!("{} {}", call.name, canonical_json(&Value::Object(input)))
}

fn ended(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "result",
        Outcome::Failed => "result, failed",
        Outcome::Denied => "result, denied",
        Outcome::Interrupted => "result, interrupted",
    }
}

/// Beginning and end of a text that is too long, with what was between them as a number.
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
