//! The filter decides what of a conversation is stored: texts whole, calls with long values shortened, results as one
//! line.
//!
//! Everything passes [`redact`](baton_redaction::redact) here, before it is shortened, hashed or stored.
//!
//! # Hazards
//!
//! - The filter's savings (the aim is 93 %) are limited by what people and models wrote, which is kept whole; `baton
//!   bench read` prints both.

use std::borrow::Cow;

use baton_redaction::{redact, redact_owned};

pub mod edit;
pub mod input;
pub(crate) mod media;
pub mod open_calls;
pub mod result;

pub(crate) mod git_output;
mod manifest;
mod reason;
mod recall;
mod summary;
mod telling;
mod verdict;
mod work_tree;

pub use manifest::Manifest;
pub use reason::{is_echo, pasted_line};
pub use recall::without_recall;
pub use telling::telling_line;

/// Version of all rules that determine items: this module, redaction, and the readers. Content hashes of different
/// versions are not comparable.
pub const FILTER_VERSION: u32 = 6;

/// Longest value of a call's parameter, in characters; longer ones are cut to this length and a mark.
pub const MAX_VALUE_CHARS: usize = 200;
/// Longest text of a notice of the harness, in characters.
pub const MAX_NOTICE_CHARS: usize = 500;
/// Longest tool name, in characters.
pub const MAX_NAME_CHARS: usize = 100;

/// Start of everything that Baton gives to an agent. Such blocks are dropped when they come back in a transcript, so
/// that the memory does not store its own answers.
pub const RECALL_OPEN: &str = "<baton-recall";
/// End of a block that began with [`RECALL_OPEN`].
pub const RECALL_CLOSE: &str = "</baton-recall>";

/// Prefixes of the names of Baton's own tools, as the agents form them from the name of the server and the tool.
const OWN_TOOLS: &[&str] = &["mcp__baton__", "mcp__plugin_baton", "mcp_baton_", "baton_", "baton-"];

/// True for a tool of Baton's own: its calls and results are dropped.
pub fn is_own_tool(name: &str) -> bool {
    OWN_TOOLS.iter().any(|start| name.starts_with(start))
}

/// A text as it is stored: without Baton's own blocks, redacted and trimmed. `None` if nothing is left.
pub fn stored_text(text: &str) -> Option<String> {
    let own = without_recall(text);
    let clean = redact(&own);
    let trimmed = clean.trim();
    (!trimmed.is_empty()).then(|| trimmed.to_owned())
}

/// As [`stored_text`], cut to a number of characters including the `…`.
pub fn stored_head(text: &str, chars: usize) -> Option<String> {
    stored_text(text).map(|text| head(text, chars))
}

/// The text without colour escape sequences.
pub fn without_colours(text: &str) -> Cow<'_, str> {
    let Some(mut escape) = text.find('\u{1b}') else {
        return Cow::Borrowed(text);
    };
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    loop {
        out.push_str(&rest[..escape]);
        let sequence = &rest[escape + 1..];
        rest = match sequence.strip_prefix('[') {
            // Parameters, then one final byte.
            Some(body) => {
                let body = body.trim_start_matches(|c: char| matches!(c, '\u{20}'..='\u{3f}'));
                body.strip_prefix(|c: char| c.is_ascii()).unwrap_or(body)
            }
            None => sequence,
        };
        match rest.find('\u{1b}') {
            Some(next) => escape = next,
            None => {
                out.push_str(rest);
                return Cow::Owned(out);
            }
        }
    }
}

/// A text as one redacted line without Baton's own blocks; each run of white space becomes one space.
pub fn one_line(text: &str, chars: usize) -> String {
    let line = without_recall(text).split_whitespace().collect::<Vec<_>>().join(" ");
    head(redact_owned(line), chars)
}

/// The first `chars` characters; a `…` marks a cut and counts as one of them.
fn head(mut text: String, chars: usize) -> String {
    if let Some((cut, _)) = text.char_indices().nth(chars) {
        let end = text.char_indices().nth(chars.saturating_sub(1)).map_or(cut, |(at, _)| at);
        text.truncate(end);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_baton_injected_is_dropped() {
        for (text, expected) in [
            ("a", Some("a")),
            (" \n a \n", Some("a")),
            (" \n ", None),
            ("a\n<baton-recall kind=\"handoff\">\nold\n</baton-recall>\nb", Some("a\n\nb")),
            ("<baton-recall kind=\"handoff\">\nFrom Baton's memory: never closed", None),
            ("<baton-recall kind=\"handoff\">\nnever closed", Some("<baton-recall kind=\"handoff\">\nnever closed")),
            ("what is <baton-recall> for?", Some("what is <baton-recall> for?")),
            ("<private>p</private>", Some("[redacted:private]")),
        ] {
            assert_eq!(stored_text(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn colours_are_dropped() {
        for (text, expected) in [
            ("plain", "plain"),
            ("\u{1b}[1;31mred\u{1b}[0m!", "red!"),
            ("\u{1b}[?2026hx\u{1b}", "x"),
            ("a\u{1b}[é", "aé"),
            ("\u{1b}[31", ""),
        ] {
            assert_eq!(without_colours(text), expected, "{text:?}");
        }
    }

    #[test]
    fn heads_count_characters() {
        assert_eq!(stored_head("ééé", 3).as_deref(), Some("ééé"));
        assert_eq!(stored_head("éééé", 3).as_deref(), Some("éé…"));
        assert_eq!(one_line("a\n  b\tc", 10), "a b c");
    }
}
