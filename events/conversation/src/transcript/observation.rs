//! Observation of the bytes read: counts, times and identities, no text.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::record::Timestamp;
use baton_redaction::redact;

/// Most kinds of unknown things counted by name; those that sort last count as `(other)`.
pub const MAX_UNKNOWN_KINDS: usize = 32;
/// Most record types counted by name.
pub const MAX_TYPES: usize = 96;
/// Longest name of an unknown kind, in bytes.
const MAX_UNKNOWN_NAME_BYTES: usize = 48;
/// Name under which unusable names, and those beyond the bound, are counted.
const OTHER: &str = "(other)";
/// Prefix of the version of a format.
const FORMAT: &str = "format-";

/// Observation of exactly the bytes read. Those of successive pieces add up ([`Observation::absorb`]).
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Observation {
    /// Bytes read.
    pub bytes: u64,
    /// Lines read, including empty and broken ones.
    pub lines: u64,
    /// Records: JSON objects.
    pub records: u64,
    /// Records with conversation: prompts, replies, thinking, calls, results. Only these resume a session and cause
    /// indexing.
    pub conversation: u64,
    /// Typed prompts, and agent messages (by id) with text, of the file's own conversation. A queued prompt counts when
    /// it is queued; when it leaves the queue, delivered or taken back, one of the next messages does not count. So the
    /// sum is right as soon as a message follows.
    pub messages: u64,
    /// Records of typed prompts; a prompt that was queued and then delivered counts twice.
    pub prompts: u64,
    /// Lines that are not whole JSON objects.
    pub malformed: u64,
    /// Lines too long to be read; they also count as lines.
    pub oversize: u64,
    /// All records by type; those without a usable type count as `(other)`.
    pub by_type: BTreeMap<String, u64>,
    /// Records and content blocks of unknown kinds, by name: `type`, `block:type`.
    pub unknown: BTreeMap<String, u64>,
    /// Time of the earliest record that has one.
    pub first_at: Option<Timestamp>,
    /// Time of the latest record that has one.
    pub last_at: Option<Timestamp>,
    /// Time of the latest conversation record that has one.
    pub last_conversation_at: Option<Timestamp>,
    /// The first working directory named, as written: a path, not redacted.
    pub cwd: Option<String>,
    /// The address of the repository that the first record with a working directory names, as written: it may hold a
    /// password.
    pub remote: Option<String>,
    /// The first session id that a record names; in a subagent's file it is the parent's.
    pub agent_session: Option<String>,
    /// The version of the agent that the last record with one names, or `format-N` for that of its format.
    pub agent_version: Option<String>,
    /// True if the last thing typed was the command that ends the agent.
    pub has_left: bool,
}

impl Observation {
    /// Adds the observation of the bytes that follow.
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
            self.remote.clone_from(&later.remote);
        }
        if self.agent_session.is_none() {
            self.agent_session.clone_from(&later.agent_session);
        }
        self.has_left = later.has_left || (self.has_left && later.conversation == 0);
        if later.agent_version.is_some() {
            self.agent_version.clone_from(&later.agent_version);
        }
    }

    /// Counts something of an unknown kind. The name comes from the file, so only short plain names are kept.
    pub(crate) fn count_unknown(&mut self, name: &str, count: u64) {
        add_unknown(&mut self.unknown, usable(name.as_bytes()).unwrap_or(OTHER), count);
    }

    /// Counts a record by type.
    pub(crate) fn count_type(&mut self, name: &[u8]) {
        match std::str::from_utf8(name).ok().and_then(|name| self.by_type.get_mut(name)) {
            Some(count) => *count += 1,
            None => add_type(&mut self.by_type, usable(name).unwrap_or(OTHER), 1),
        }
    }

    /// Notes a version of the agent. Like names of unknown kinds, it comes from the file.
    pub(crate) fn see_version(&mut self, version: &[u8]) {
        if self.agent_version.as_ref().is_none_or(|known| known.as_bytes() != version) && !version.is_empty() {
            self.agent_version = Some(usable(version).unwrap_or(OTHER).to_owned());
        }
    }

    /// Notes the version of the agent's format, for agents whose records do not name their own.
    pub(crate) fn see_format(&mut self, version: &[u8]) {
        let known = self.agent_version.as_deref().and_then(|known| known.strip_prefix(FORMAT));
        if known.is_none_or(|known| known.as_bytes() != version) {
            self.see_version(&[FORMAT.as_bytes(), version].concat());
        }
    }

    /// Adds a record's time.
    pub(crate) fn see(&mut self, at: Option<Timestamp>) {
        self.first_at = earlier(self.first_at, at);
        self.last_at = self.last_at.max(at);
    }
}

/// The name if it can be stored: plain, short, and not like a secret.
fn usable(name: &[u8]) -> Option<&str> {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':' | b'.' | b'+');
    let fits = !name.is_empty() && name.len() <= MAX_UNKNOWN_NAME_BYTES && name.iter().all(plain);
    std::str::from_utf8(name).ok().filter(|name| fits && matches!(redact(name), Cow::Borrowed(_)))
}

/// Adds to the counts of unknown kinds.
pub fn add_unknown(unknown: &mut BTreeMap<String, u64>, name: &str, count: u64) {
    add_bounded(unknown, MAX_UNKNOWN_KINDS, name, count);
}

/// Adds to the counts by type.
pub fn add_type(types: &mut BTreeMap<String, u64>, name: &str, count: u64) {
    add_bounded(types, MAX_TYPES, name, count);
}

/// Adds to a bounded count by name. The names that sort first are kept, regardless of their order, so that pieces add
/// up to the whole.
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

    #[test]
    fn the_last_version_counts_and_is_plain() {
        let mut seen = Observation::default();
        let mut told = |version: &[u8]| {
            seen.see_version(version);
            seen.agent_version.clone()
        };
        assert_eq!(told(b""), None);
        for (version, expected) in [
            (&b"1.0.64-1"[..], "1.0.64-1"),
            (b"2.1.0+build.5", "2.1.0+build.5"),
            (b"", "2.1.0+build.5"),
            (b"\x1b[31m1.0", OTHER),
            (b"\\u001b[31m", OTHER),
            (b"AKIAIOSFODNN7EXAMPLQ", OTHER),
            (&[b'1'; 1000], OTHER),
        ] {
            assert_eq!(told(version).as_deref(), Some(expected), "{version:?}");
        }
        let mut first = Observation { agent_version: Some("1".to_owned()), ..Observation::default() };
        first.absorb(&Observation::default());
        assert_eq!(first.agent_version.as_deref(), Some("1"));
        first.absorb(&Observation { agent_version: Some("2".to_owned()), ..Observation::default() });
        assert_eq!(first.agent_version.as_deref(), Some("2"));
    }
}
