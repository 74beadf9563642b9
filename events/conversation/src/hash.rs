//! Content hash: a digest of the visible conversation.
//!
//! The hash covers one line `[role]: content` per item of the conversation, in order: prompts, answers, replies, calls
//! and results, without withdrawn prompts. Commands that a person ran, thinking, notices, the harness' summaries, titles, branches, times and ids
//! are not covered, so metadata that an agent appends repeatedly changes nothing. Parameters of calls are written with
//! sorted keys, so a file rewritten by another JSON library has the same hash.
//!
//! Hashes are comparable only for the same [`FILTER_VERSION`](crate::filter::FILTER_VERSION).

use std::fmt;

use serde_json::Value;
use sha2::{Digest, Sha256};

use baton_protocol::serde_as_text;

use crate::hex;
use crate::item::{Body, Call, Item, Role};
use crate::queued_prompts::Withdrawn;

/// SHA-256 of a conversation's content.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash(pub [u8; 32]);

serde_as_text!(ContentHash, ContentHash::parse);

impl ContentHash {
    /// Of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Hash of all items of a conversation.
    pub fn digest<'a>(items: impl IntoIterator<Item = &'a Item>) -> Self {
        let items: Vec<&Item> = items.into_iter().collect();
        let withdrawn = Withdrawn::from_items(items.iter().copied());
        let mut hasher = ContentHasher::default();
        items.into_iter().filter(|item| !withdrawn.is_withdrawn(item)).for_each(|item| hasher.item(item));
        hasher.finish()
    }

    /// Parses 64 hex digits.
    pub fn parse(text: &str) -> Option<Self> {
        hex::decode(text).map(Self)
    }

    /// The first 16 hex digits, for display.
    pub fn short(&self) -> String {
        hex::encode(&self.0[..8])
    }
}

impl fmt::Display for ContentHash {
    /// All 64 hex digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(&self.0))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ContentHash({})", self.short())
    }
}

/// Hashes items one by one. Withdrawn ones must be left out by the caller; [`ContentHash::digest`] does so.
#[derive(Clone, Debug, Default)]
pub struct ContentHasher(Sha256);

impl ContentHasher {
    /// Adds the next item of the conversation.
    pub fn item(&mut self, item: &Item) {
        match &item.body {
            Body::Prompt { text } | Body::Answer { text } | Body::Media { text } => self.line(Role::User, &[text]),
            Body::Reply { text } => self.line(Role::Assistant, &[text]),
            Body::Call(call) if call.is_persons() => {}
            Body::Result(result) if result.is_persons() => {}
            Body::Call(Call { name, input, .. }) => {
                let mut parameters = String::new();
                write_object(input.iter(), &mut parameters);
                self.line(Role::Tool, &[name, " ", &parameters]);
            }
            Body::Result(result) => self.line(Role::Tool, &[&result.text]),
            Body::Thinking { .. } | Body::Summary { .. } | Body::Notice { .. } | Body::Meta(_) => {}
        }
    }

    /// Hash of all added items.
    pub fn finish(self) -> ContentHash {
        ContentHash(self.0.finalize().into())
    }

    fn line(&mut self, role: Role, content: &[&str]) {
        self.0.update(b"[");
        self.0.update(role.as_str());
        self.0.update(b"]: ");
        content.iter().for_each(|part| self.0.update(part));
        self.0.update(b"\n");
    }
}

/// Compact JSON with sorted keys: equal values have equal texts.
pub fn canonical_json(value: &Value) -> String {
    let mut out = String::new();
    write_value(value, &mut out);
    out
}

fn write_value(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut fields: Vec<_> = map.iter().collect();
            fields.sort_unstable_by_key(|(key, _)| *key);
            write_object(fields.into_iter(), out);
        }
        Value::Array(values) => {
            out.push('[');
            for (at, value) in values.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                write_value(value, out);
            }
            out.push(']');
        }
        leaf => out.push_str(&leaf.to_string()),
    }
}

/// Writes fields that are already sorted.
fn write_object<'a>(fields: impl Iterator<Item = (&'a String, &'a Value)>, out: &mut String) {
    out.push('{');
    for (at, (key, value)) in fields.enumerate() {
        out.push_str(if at == 0 { "" } else { "," });
        out.push_str(&Value::from(key.as_str()).to_string());
        out.push(':');
        write_value(value, out);
    }
    out.push('}');
}

/// The first hex digits of the SHA-256, at most 64; stands for content that was cut.
pub(crate) fn hex_digest(bytes: &[u8], digits: usize) -> String {
    let mut text = hex::encode(&Sha256::digest(bytes));
    text.truncate(digits);
    text
}

/// Fingerprint of an id or a text, to remember it without storing it: the first 64 bits of its SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mark(pub u64);

serde_as_text!(Mark, Mark::parse);

impl Mark {
    /// The fingerprint of these bytes.
    pub fn digest(bytes: &[u8]) -> Self {
        let digest = Sha256::digest(bytes);
        Self(digest[..8].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    }

    /// Parses 16 hex digits.
    pub fn parse(text: &str) -> Option<Self> {
        let plain = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        plain.then(|| u64::from_str_radix(text, 16).ok()).flatten().map(Self)
    }
}

impl fmt::Display for Mark {
    /// 16 hex digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mark({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::{Meta, Outcome, PERSONS_SHELL, TitleSource, ToolResult};
    use crate::record::Timestamp;

    fn item(body: Body) -> Item {
        Item { line: 1, at: None, uuid: None, message: None, sidechain: false, body }
    }

    fn call(json: &str) -> Item {
        let input = serde_json::from_str(json).unwrap();
        item(Body::Call(Call {
            act: crate::item::Act::of_tool("Bash"),
            id: "c1".into(),
            name: "Bash".into(),
            input,
            edit: None,
            commit: None,
            plan: None,
            git_line: None,
        }))
    }

    fn result(text: &str) -> Item {
        let text = text.to_owned();
        item(Body::Result(ToolResult {
            id: "c1".into(),
            name: None,
            outcome: Outcome::Ok,
            exit_code: None,
            text,
            error: None,
            duration_ms: None,
            agent: None,
            report: None,
        }))
    }

    fn conversation() -> Vec<Item> {
        vec![
            item(Body::Prompt { text: "fix it".into() }),
            item(Body::Reply { text: "on it".into() }),
            call(r#"{"command":"cargo test","env":{"a":1,"b":[1,{"y":2,"x":1}]}}"#),
            result("Bash cargo test: ok, 3 lines"),
        ]
    }

    #[test]
    fn the_hash_is_that_of_the_lines_of_the_conversation() {
        let lines = "[user]: fix it\n[assistant]: on it\n\
            [tool]: Bash {\"command\":\"cargo test\",\"env\":{\"a\":1,\"b\":[1,{\"x\":1,\"y\":2}]}}\n\
            [tool]: Bash cargo test: ok, 3 lines\n";
        assert_eq!(ContentHash::digest(&conversation()).0, <[u8; 32]>::from(Sha256::digest(lines)));
    }

    #[test]
    fn metadata_times_and_key_order_do_not_change_it() {
        let expected = ContentHash::digest(&conversation());
        let mut same = conversation();
        same[2] = call(r#"{"env":{"b":[1,{"x":1,"y":2}],"a":1},"command":"cargo test"}"#);
        for (at, item) in same.iter_mut().enumerate() {
            item.line = at as u64 + 40;
            item.at = Some(Timestamp(at as i64));
            item.uuid = Some("u".into());
        }
        same.insert(1, item(Body::Meta(Meta::Title { source: TitleSource::Person, text: "a name".into() })));
        same.push(item(Body::Meta(Meta::Branch("main".into()))));
        same.push(item(Body::Thinking { text: "hm".into() }));
        same.push(item(Body::Summary { text: "so far".into() }));
        same.push(item(Body::Notice { text: "done".into() }));
        let (mut persons, mut printed) = (call("{}"), result("! ls: 3 lines"));
        if let (Body::Call(call), Body::Result(result)) = (&mut persons.body, &mut printed.body) {
            (call.name, result.name) = (PERSONS_SHELL.to_owned(), Some(PERSONS_SHELL.to_owned()));
        }
        same.extend([persons, printed]);
        assert_eq!(ContentHash::digest(&same), expected);
    }

    #[test]
    fn every_visible_change_changes_it() {
        let expected = ContentHash::digest(&conversation());
        let mut changed: Vec<Vec<Item>> = (0..4).map(|_| conversation()).collect();
        changed[0][0] = item(Body::Prompt { text: "fix it!".into() });
        changed[1][1] = item(Body::Prompt { text: "on it".into() });
        changed[2][2] = call(r#"{"command":"cargo test","env":{"a":2,"b":[1,{"y":2,"x":1}]}}"#);
        changed[3].swap(0, 1);
        changed.push(conversation().into_iter().take(3).collect());
        changed.push(conversation().into_iter().chain([result("Read a: 1 line")]).collect());
        for (case, items) in changed.iter().enumerate() {
            assert_ne!(ContentHash::digest(items), expected, "{case}");
        }
    }

    #[test]
    fn hashes_and_marks_are_read_as_written() {
        let hash = ContentHash::digest(&conversation());
        assert_eq!(ContentHash::parse(&hash.to_string()), Some(hash));
        assert_eq!(hash.to_string()[..16], hash.short());
        for bad in ["", "abc", &"g".repeat(64), &"é".repeat(32)] {
            assert_eq!(ContentHash::parse(bad), None);
        }
        let mark = Mark::digest(b"toolu_1");
        assert_eq!(Mark::parse(&mark.to_string()), Some(mark));
        assert_eq!(Mark::parse("+123456789abcdef"), None);
    }
}
