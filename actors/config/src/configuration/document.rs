//! Parses JSON into nodes that know their position: error messages need the line, and edits that keep everything else
//! need the byte range.
//!
//! serde_json does the parsing; positions are those of its raw values in the text.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Where a key is expected, there is mostly the end of the object after a comma, or a comment.
const NO_KEY: &str = "a key in double quotes belongs here; remove the comma before it, or the comment (a comment is a key \
                      that begins with _)";

/// A value and its position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node<'a> {
    document: &'a str,
    raw: &'a RawValue,
    line: usize,
}

/// A key and its value.
#[derive(Clone, Debug)]
pub(super) struct Member<'a> {
    pub(super) name: String,
    /// Byte offset of the key.
    pub(super) at: usize,
    line: usize,
    pub(super) value: Node<'a>,
}

/// Why a text is not JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NotJson {
    pub(super) line: usize,
    pub(super) reason: String,
}

impl<'a> Node<'a> {
    /// Parses the whole text as one value.
    pub(super) fn parse(document: &'a str) -> Result<Self, NotJson> {
        let raw: &RawValue = serde_json::from_str(document).map_err(|error| {
            let message = error.to_string();
            let reason = match message.split(" at line ").next() {
                Some("key must be a string") => NO_KEY.to_owned(),
                reason => reason.unwrap_or(&message).to_owned(),
            };
            NotJson { line: error.line().max(1), reason }
        })?;
        let line = Lines { document, at: 0, line: 1 }.line_of(raw);
        Ok(Self { document, raw, line })
    }

    /// Byte offset of its beginning.
    pub(super) fn start(&self) -> usize {
        start_of(self.document, self.raw)
    }

    /// Byte offset after its end.
    pub(super) fn end(&self) -> usize {
        self.start() + self.text().len()
    }

    /// Line of its beginning, from 1.
    pub(super) fn line(&self) -> usize {
        self.line
    }

    /// The text as written.
    pub(super) fn text(&self) -> &'a str {
        self.raw.get()
    }

    /// The parsed value; `None` if it is nested too deeply.
    pub(super) fn value(&self) -> Option<serde_json::Value> {
        serde_json::from_str(self.text()).ok()
    }

    /// The members of an object in file order, duplicates included; `None` for anything else.
    pub(super) fn members(&self) -> Option<Vec<Member<'a>>> {
        let Members(members) = self.text().starts_with('{').then(|| serde_json::from_str(self.text()).ok())??;
        let mut lines = self.lines();
        let named = members.into_iter().map(|(key, value): (&'a RawValue, &'a RawValue)| {
            // A key with a lone surrogate is no valid string and matches no known key.
            let name = serde_json::from_str(key.get()).unwrap_or_else(|_| key.get().to_owned());
            let (at, line) = (start_of(self.document, key), lines.line_of(key));
            Member { name, at, line, value: Node { document: self.document, raw: value, line: lines.line_of(value) } }
        });
        Some(named.collect())
    }

    /// The elements of a list; `None` for anything else.
    pub(super) fn elements(&self) -> Option<Vec<Node<'a>>> {
        let elements: Vec<&RawValue> = serde_json::from_str(self.text()).ok()?;
        let mut lines = self.lines();
        Some(elements.into_iter().map(|raw| Node { document: self.document, raw, line: lines.line_of(raw) }).collect())
    }

    fn lines(&self) -> Lines<'a> {
        Lines { document: self.document, at: self.start(), line: self.line }
    }
}

impl Member<'_> {
    /// Line of the key, from 1.
    pub(super) fn line(&self) -> usize {
        self.line
    }
}

/// Counts lines from one part to the next, so each byte of an object is counted once, however many members it has.
struct Lines<'a> {
    document: &'a str,
    at: usize,
    line: usize,
}

impl Lines<'_> {
    /// The line of a part that does not begin before the previous one.
    fn line_of(&mut self, raw: &RawValue) -> usize {
        let at = start_of(self.document, raw);
        let between = self.document.as_bytes().get(self.at..at).unwrap_or_default();
        self.line += between.iter().filter(|byte| **byte == b'\n').count();
        self.at = at;
        self.line
    }
}

/// Byte offset of a part, which is borrowed from the document.
fn start_of(document: &str, raw: &RawValue) -> usize {
    raw.get().as_ptr() as usize - document.as_ptr() as usize
}

struct Members<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Vec<(&'de RawValue, &'de RawValue)>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(pairs)
            }
        }
        deserializer.deserialize_map(Pairs).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_knows_where_it_stands() {
        let text = "{\n  \"a\" : 1,\n\"b\\u0063\":\n [ true, \"x\\ny\" ],\n \"a\": {\"d\":null}}\n";
        let root = Node::parse(text).unwrap();
        let members = root.members().unwrap();
        let found: Vec<_> =
            members.iter().map(|m| (m.name.as_str(), m.line(), m.value.line(), m.value.text())).collect();
        assert_eq!(found, [("a", 2, 2, "1"), ("bc", 3, 4, "[ true, \"x\\ny\" ]"), ("a", 5, 5, "{\"d\":null}")]);
        for member in &members {
            assert_eq!(&text[member.value.start()..member.value.end()], member.value.text());
            assert!(text[member.at..].starts_with('"'));
        }
        let elements: Vec<_> = members[1].value.elements().unwrap().iter().map(|element| element.text()).collect();
        assert_eq!(elements, ["true", "\"x\\ny\""]);
        assert!(members[0].value.members().is_none() && members[0].value.elements().is_none());
        assert_eq!((root.start(), root.line()), (0, 1));
    }

    #[test]
    fn what_is_no_json_is_told_with_its_line() {
        for (text, line, reason) in [
            ("", 1, "EOF"),
            ("{\n \"a\": 1,\n}", 3, "remove the comma"),
            ("{\n // a comment\n}", 2, "a key in double quotes"),
            ("{\"a\": 1}\n\nx", 3, "trailing characters"),
            ("{\"a\": tru}", 1, "expected"),
        ] {
            let error = Node::parse(text).unwrap_err();
            assert_eq!(error.line, line, "{text:?}: {error:?}");
            assert!(error.reason.contains(reason) && !error.reason.contains("line"), "{text:?}: {error:?}");
        }
    }

    #[test]
    fn deep_nesting_ends() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        match Node::parse(&deep) {
            Ok(node) => assert!(node.value().is_none()),
            Err(error) => assert!(error.reason.contains("recursion"), "{error:?}"),
        }
    }
}
