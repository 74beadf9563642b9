//! The text of a memo: redacted, and within bounds.

use serde::{Deserialize, Serialize};

use baton_conversation::filter;
use baton_protocol::MEMO_BODY_MAX_BYTES;
use baton_redaction::redact;

/// Longest name of a memo, an entity or an edge, in characters.
pub const NAME_MAX_CHARS: usize = 200;
/// Longest description of a memo's origin, and longest fact of a triplet, in characters.
pub const DESCRIPTION_MAX_CHARS: usize = 2_000;

/// All text of a memo. Redacted; names and descriptions are single lines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Words {
    /// The name.
    pub name: String,
    /// The text itself; for a triplet the fact as a sentence.
    pub body: String,
    /// Where it comes from; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The parts of a triplet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub triplet: Option<Triplet>,
}

/// Two names and the relation between them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Triplet {
    /// Subject.
    pub source: String,
    /// Relation: `PREFERS`.
    pub edge: String,
    /// Object.
    pub target: String,
}

/// Why words are refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// Nothing is left of it after redaction.
    #[error("{what} is empty, or nothing is left of it after filtering")]
    Empty {
        /// Name of the part.
        what: &'static str,
    },
    /// It exceeds its bound.
    #[error("{what} has {found} {unit}, more than the limit of {bound}; split or shorten it")]
    Long {
        /// Name of the part.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The bound.
        bound: usize,
        /// Unit of both.
        unit: &'static str,
    },
    /// It is declared as JSON and is not.
    #[error("episode_body is not JSON: {0}; give a string that holds a JSON value, or another source")]
    NoJson(String),
}

impl Words {
    /// A note. Bounds apply to the text as given, so that an error shows the length that the caller wrote.
    pub fn note(name: &str, body: &str, description: &str, is_json: bool) -> Result<Self, Unfit> {
        bounded("episode_body", body.len(), MEMO_BODY_MAX_BYTES, "bytes")?;
        if is_json {
            serde_json::from_str::<serde::de::IgnoredAny>(body).map_err(|error| Unfit::NoJson(error.to_string()))?;
        }
        let body = filter::stored_text(&plain(body)).filter(|body| says_something(body));
        let body = body.ok_or(Unfit::Empty { what: "episode_body" })?;
        let description = match description.trim() {
            "" => String::new(),
            text => line("source_description", text, DESCRIPTION_MAX_CHARS)?,
        };
        Ok(Self { name: line("name", name, NAME_MAX_CHARS)?, body, description, triplet: None })
    }

    /// A triplet.
    pub fn triplet(source: &str, edge: &str, fact: &str, target: &str) -> Result<Self, Unfit> {
        let triplet = Triplet {
            source: line("source_node_name", source, NAME_MAX_CHARS)?,
            edge: line("edge_name", edge, NAME_MAX_CHARS)?,
            target: line("target_node_name", target, NAME_MAX_CHARS)?,
        };
        let body = match fact.trim() {
            "" => format!("{} {} {}", triplet.source, triplet.edge, triplet.target),
            fact => line("fact", fact, DESCRIPTION_MAX_CHARS)?,
        };
        let name = filter::one_line(&format!("{} {} {}", triplet.source, triplet.edge, triplet.target), NAME_MAX_CHARS);
        Ok(Self { name, body, description: String::new(), triplet: Some(triplet) })
    }

    /// The whole text as it is searched and read: name, body, origin.
    pub fn text(&self) -> String {
        let parts = [&self.name, &self.body, &self.description].into_iter().filter(|part| !part.is_empty());
        let mut text = String::new();
        for part in parts {
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(part);
        }
        text
    }

    /// The same words under the current redaction rules; for every output.
    pub fn redacted(&self) -> Self {
        let clean = |text: &str| redact(text).into_owned();
        let of = |triplet: &Triplet| Triplet {
            source: clean(&triplet.source),
            edge: clean(&triplet.edge),
            target: clean(&triplet.target),
        };
        Self {
            name: clean(&self.name),
            body: clean(&self.body),
            description: clean(&self.description),
            triplet: self.triplet.as_ref().map(of),
        }
    }
}

/// One part as a single line, within its bound.
fn line(what: &'static str, text: &str, bound: usize) -> Result<String, Unfit> {
    bounded(what, text.trim().chars().count(), bound, "characters")?;
    // Redaction may change the length; the result is not cut.
    let line = filter::one_line(&plain(text), usize::MAX);
    if says_something(&line) { Ok(line) } else { Err(Unfit::Empty { what }) }
}

/// True if the text has more than redaction marks and white space.
fn says_something(text: &str) -> bool {
    const MARK: &str = "[redacted:";
    let mut rest = text;
    while let Some(at) = rest.find(MARK) {
        if rest[..at].chars().any(|c| !c.is_whitespace()) {
            return true;
        }
        rest = rest[at..].find(']').map_or("", |end| &rest[at + end + 1..]);
    }
    rest.chars().any(|c| !c.is_whitespace())
}

fn bounded(what: &'static str, found: usize, bound: usize, unit: &'static str) -> Result<(), Unfit> {
    if found > bound { Err(Unfit::Long { what, found, bound, unit }) } else { Ok(()) }
}

/// The text without control characters other than tabs and line breaks, which would upset a terminal or an index.
fn plain(text: &str) -> String {
    let unified = text.replace("\r\n", "\n");
    unified.chars().map(|c| if c.is_control() && !matches!(c, '\n' | '\t') { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "sk-ant-api03-a1B2c3D4e5F6a1B2c3D4e5F6";

    #[test]
    fn a_note_is_kept_within_bounds_and_without_secrets() {
        let words = Words::note(" The\nname ", &format!("a\u{7}b\r\n{SECRET}\n"), "from\tme", false).unwrap();
        assert_eq!((&*words.name, &*words.description), ("The name", "from me"));
        assert!(words.body.starts_with("a b\n[redacted:"), "{words:?}");
        assert_eq!(words.redacted(), words);
        assert_eq!(words.text(), format!("The name\n\n{}\n\nfrom me", words.body));
        let private = Words::note("n", "kept <private>not</private>", "", false).unwrap();
        assert_eq!(private.body, "kept [redacted:private]");
        let longest = "x".repeat(MEMO_BODY_MAX_BYTES);
        assert_eq!(Words::note("n", &longest, "", false).unwrap().body.len(), MEMO_BODY_MAX_BYTES);
        let check = |name: &str, body: &str, is_json: bool, expected: &str| {
            let refused = Words::note(name, body, "", is_json).expect_err("refused").to_string();
            assert!(refused.starts_with(expected), "{refused:?}");
        };
        check("", "b", false, "name is empty");
        check("n", " \n\u{1}", false, "episode_body is empty");
        check("n", "<private>all of it", false, "episode_body is empty");
        check(SECRET, "b", false, "name is empty");
        check("n", "<baton-recall kind=\"handoff\">\nquoted</baton-recall>", false, "episode_body is empty");
        check("n", &format!("{longest}x"), false, "episode_body has 262145 bytes, more than the limit of 262144");
        check(&"n".repeat(201), "b", false, "name has 201 characters");
        check("n", "{not json", true, "episode_body is not JSON");
        assert!(Words::note("n", "{\"a\": [1]}", "", true).is_ok());
    }

    #[test]
    fn a_triplet_says_itself_in_a_sentence() {
        let words = Words::triplet("team", "PREFERS", "", "sled").unwrap();
        assert_eq!((&*words.name, &*words.body), ("team PREFERS sled", "team PREFERS sled"));
        let words = Words::triplet("team", "PREFERS", "The team prefers sled.", "sled").unwrap();
        assert_eq!(words.body, "The team prefers sled.");
        assert_eq!(words.triplet.as_ref().map(|triplet| &*triplet.edge), Some("PREFERS"));
        let refused = Words::triplet("team", " ", "f", "sled").expect_err("refused");
        assert_eq!(refused, Unfit::Empty { what: "edge_name" });
        assert!(matches!(Words::triplet(SECRET, "IS", "", "x"), Err(Unfit::Empty { what: "source_node_name" })));
        let hidden = Words::triplet(&format!("key {SECRET}"), "IS", "", "x").unwrap();
        assert!(!format!("{hidden:?}").contains(SECRET));
    }
}
