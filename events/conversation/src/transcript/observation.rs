//! What was seen in the bytes read: counts, times and identities, no text.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::record::Timestamp;
use baton_redaction::redact;

/// Most kinds of unknown things that are counted by name; those that sort last count as `(other)`.
pub const MAX_UNKNOWN_KINDS: usize = 32;
/// Most types of records that are counted by name.
pub const MAX_TYPES: usize = 96;
/// Longest name of an unknown kind, in bytes.
const MAX_UNKNOWN_NAME_BYTES: usize = 48;
/// The name under which odd names, and those beyond the bound, are counted.
const OTHER: &str = "(other)";

/// What was seen in exactly the bytes read. Observations of successive pieces add up ([`Observation::absorb`]).
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Observation {
    /// Bytes read.
    pub bytes: u64,
    /// Lines read, empty and broken ones included.
    pub lines: u64,
    /// Records: JSON objects.
    pub records: u64,
    /// Records in which somebody said or did something: prompts, replies, thinking, calls, results. Only these resume
    /// a session and are a reason to index it.
    pub conversation: u64,
    /// Typed prompts, and assistant messages (by their id) that carry text, of the file's own conversation. A queued prompt
    /// counts when it is queued; for one that leaves the queue, delivered or taken back, one of the next messages does not
    /// count. So the sum is right as soon as anything was said after it.
    pub messages: u64,
    /// Records by which typed prompts came: a prompt that was queued and then delivered has come twice.
    pub prompts: u64,
    /// Lines that hold something else than whole JSON objects.
    pub malformed: u64,
    /// Lines too long to be read; they are counted as lines too.
    pub oversize: u64,
    /// All records by their type, those without a usable one as `(other)`.
    pub by_type: BTreeMap<String, u64>,
    /// Records and content blocks of kinds that are not known, by name: `type`, `block:type`.
    pub unknown: BTreeMap<String, u64>,
    /// Time of the earliest dated record.
    pub first_at: Option<Timestamp>,
    /// Time of the latest dated record.
    pub last_at: Option<Timestamp>,
    /// Time of the latest dated record of the conversation.
    pub last_conversation_at: Option<Timestamp>,
    /// The first working directory named, as it is written: a path, not redacted.
    pub cwd: Option<String>,
    /// The first session id that a record names: for a subagent's file its parent's.
    pub agent_session: Option<String>,
}

impl Observation {
    /// Adds what was seen in the bytes that follow.
    pub fn absorb(&mut self, later: &Self) {
        self.bytes += later.bytes;
        self.lines += later.lines;
        self.records += later.records;
        self.conversation += later.conversation;
        self.messages += later.messages;
        self.prompts += later.prompts;
        self.malformed += later.malformed;
        self.oversize += later.oversize;
        later.by_type.iter().for_each(|(name, count)| add_type(&mut self.by_type, name, *count));
        later.unknown.iter().for_each(|(name, count)| add_unknown(&mut self.unknown, name, *count));
        self.first_at = earlier(self.first_at, later.first_at);
        self.last_at = self.last_at.max(later.last_at);
        self.last_conversation_at = self.last_conversation_at.max(later.last_conversation_at);
        if self.cwd.is_none() {
            self.cwd.clone_from(&later.cwd);
        }
        if self.agent_session.is_none() {
            self.agent_session.clone_from(&later.agent_session);
        }
    }

    /// Counts something of an unknown kind. The name comes from the file, so only plain short names are kept.
    pub(crate) fn count_unknown(&mut self, name: &str, count: u64) {
        add_unknown(&mut self.unknown, usable(name.as_bytes()).unwrap_or(OTHER), count);
    }

    /// Counts a record of a type.
    pub(crate) fn count_type(&mut self, name: &[u8]) {
        match std::str::from_utf8(name).ok().and_then(|name| self.by_type.get_mut(name)) {
            Some(count) => *count += 1,
            None => add_type(&mut self.by_type, usable(name).unwrap_or(OTHER), 1),
        }
    }

    /// Takes note of a record's time.
    pub(crate) fn see(&mut self, at: Option<Timestamp>) {
        self.first_at = earlier(self.first_at, at);
        self.last_at = self.last_at.max(at);
    }
}

/// A name as it may be kept: plain, short, and nothing that looks like a secret.
fn usable(name: &[u8]) -> Option<&str> {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':' | b'.');
    let fits = !name.is_empty() && name.len() <= MAX_UNKNOWN_NAME_BYTES && name.iter().all(plain);
    std::str::from_utf8(name).ok().filter(|name| fits && matches!(redact(name), Cow::Borrowed(_)))
}

/// Adds to the count of what is unknown.
pub fn add_unknown(unknown: &mut BTreeMap<String, u64>, name: &str, count: u64) {
    add_bounded(unknown, MAX_UNKNOWN_KINDS, name, count);
}

/// Adds to the count by type.
pub fn add_type(types: &mut BTreeMap<String, u64>, name: &str, count: u64) {
    add_bounded(types, MAX_TYPES, name, count);
}

/// Adds to a bounded count by name. The names that sort first stay, whatever came first: so pieces add up to the whole.
fn add_bounded(counts: &mut BTreeMap<String, u64>, most: usize, name: &str, count: u64) {
    *counts.entry(name.to_owned()).or_default() += count;
    if counts.len() > most + usize::from(counts.contains_key(OTHER))
        && let Some((_, dropped)) = counts.pop_last()
    {
        *counts.entry(OTHER.to_owned()).or_default() += dropped;
    }
}

fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_kinds_are_bounded_in_number_and_name() {
        let mut seen = Observation::default();
        for kind in 0..100 {
            seen.count_unknown(&format!("kind-{kind:02}"), 1);
        }
        seen.count_unknown("kind-00", 2);
        seen.count_unknown("a sentence that somebody wrote", 1);
        seen.count_unknown(&"x".repeat(1000), 1);
        seen.count_unknown("AKIAIOSFODNN7EXAMPLQ", 1);
        seen.count_type(b"AKIAIOSFODNN7EXAMPLQ");
        assert_eq!(seen.by_type, BTreeMap::from([(OTHER.to_owned(), 1)]));
        assert_eq!(seen.unknown.len(), MAX_UNKNOWN_KINDS + 1);
        assert_eq!(seen.unknown["kind-00"], 3);
        assert_eq!(seen.unknown[OTHER], 100 - MAX_UNKNOWN_KINDS as u64 + 3);
    }
}
