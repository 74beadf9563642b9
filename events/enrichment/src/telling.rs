//! A conversation as a model reads it: who said what, each physical line behind the number of its transcript line.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::Value;

use super::lines::says_something;
use baton_conversation::hash::canonical_json;
use baton_conversation::item::{Body, Call, Item, Outcome};
use baton_conversation::tokens;
use baton_episode::digest::Show;
use baton_redaction::redact;

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

/// The items that say something and may be shown, in their order; of each about so many tokens at most, which are hundreds.
pub(super) fn told(items: &[Item], show: &Show, max_tokens: u64) -> Vec<Told> {
    let is_told = |item: &&Item| says_something(&item.body) && show.keeps(&item.body);
    items.iter().filter(is_told).filter_map(|item| tell(item, show, max_tokens)).collect()
}

fn tell(item: &Item, show: &Show, max_tokens: u64) -> Option<Told> {
    let (who, text, bound) = match &item.body {
        Body::Prompt { text } => ("user", Cow::Borrowed(text.as_str()), SAID_CHARS),
        Body::Answer { text } => ("user, to a tool", Cow::Borrowed(text.as_str()), SAID_CHARS),
        Body::Reply { text } => ("assistant", Cow::Borrowed(text.as_str()), SAID_CHARS),
        Body::Call(call) => ("call", Cow::Owned(called(call)), CALL_CHARS),
        Body::Result(result) => {
            (ended(result.outcome), Cow::Borrowed(result.text.as_str()), show.output_chars(RESULT_CHARS))
        }
        Body::Notice { text } => ("harness", Cow::Borrowed(text.as_str()), RESULT_CHARS),
        Body::Media { .. } | Body::Thinking { .. } | Body::Summary { .. } | Body::Meta(_) => return None,
    };
    // Redacted as a whole: half a key is no longer known for one.
    let clean = redact(&text);
    let whose = if item.sidechain { "subagent's " } else { "" };
    let head = format!("{}| {whose}{who}: ", item.line);
    let mut max_chars = bound;
    let (text, tokens) = loop {
        let text = lines(&head, &cut(&clean, max_chars));
        let tokens = tokens::at_most(&text);
        if tokens <= max_tokens || max_chars == 0 {
            break (text, tokens);
        }
        // So much shorter as it is too long; what stands in its middle may be dearer than the rest.
        let fits =
            u64::try_from(max_chars.min(clean.chars().count())).unwrap_or(u64::MAX).saturating_mul(max_tokens) / tokens;
        max_chars = usize::try_from(fits).unwrap_or(usize::MAX).min(max_chars - 1);
    };
    Some(Told { text, tokens, begins: matches!(item.body, Body::Prompt { .. }) && !item.sidechain })
}

/// A text behind its head, line by line.
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
