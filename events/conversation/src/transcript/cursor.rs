//! Position of a reader in one file: small enough for an event, and without any text of the conversation.
//!
//! # Decisions
//!
//! - A cursor holds 64-bit fingerprints of ids, not the ids.
//! - Its stored shape is that of events and of manifests of conversations. What older versions wrote reads as well: they
//!   lack some fields, and their queue had another name and is dropped, so that messages delivered later are said once
//!   more.

use baton_protocol::is_zero;
use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::filter::open_calls::MAX_OPEN_CALLS;
use crate::hash::Mark;
use crate::item::TitleSource;

/// Most agent messages remembered as counted. The parts of one message are close together: only results, progress and
/// parallel messages come in between.
pub const MAX_RECENT_MESSAGES: usize = 16;
/// Most messages that may still be withdrawn.
pub const MAX_QUEUED: usize = 16;
/// Most fingerprints of things that were said.
pub const MAX_SAID: usize = 32;

/// Position of a reader. Continuing from a cursor gives the same result as reading at once.
///
/// Contains numbers and fingerprints only, at most some 220 of them: less than 5 KB as JSON.
#[derive(Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Cursor {
    /// Bytes read; just after a newline unless `unterminated`.
    pub offset: u64,
    /// Lines read.
    pub line: u64,
    /// True if the last line read had no newline yet; that newline will end it and is not a line of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unterminated: bool,
    /// Calls without a result, oldest first.
    #[serde(default, skip_serializing_if = "Window::is_empty")]
    pub open_calls: Window<Mark, MAX_OPEN_CALLS>,
    /// Unanswered calls of Baton's own tools, whose results are dropped.
    #[serde(default, skip_serializing_if = "Window::is_empty")]
    pub own_calls: Window<Mark, MAX_OPEN_CALLS>,
    /// Agent messages that were counted, oldest first.
    #[serde(default, skip_serializing_if = "Window::is_empty")]
    pub recent_messages: Window<Mark, MAX_RECENT_MESSAGES>,
    /// Codex: the agent's last message. Claude Code: queued prompts held by an earlier version of the program. Agents
    /// whose messages do not name their parent: the last messages that stand.
    #[serde(default, skip_serializing_if = "Window::is_empty")]
    pub queue: Window<Queued, MAX_QUEUED>,
    /// Number of counted messages that were withdrawn; as many of the next ones are not counted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub overcounted: u64,
    /// True if the agent was working after the last record. Part of the stored shape; readers no longer use it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub working: bool,
    /// The last working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<Mark>,
    /// The last branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<Mark>,
    /// The last title of each source, in the order of [`TitleSource`].
    #[serde(
        default,
        serialize_with = "write_titles",
        deserialize_with = "read_titles",
        skip_serializing_if = "no_titles"
    )]
    pub titles: [Option<Mark>; 4],
    /// Fingerprints of things that the format repeats and that were read already, oldest first: token counts of a
    /// message, a message that is also an event.
    #[serde(default, skip_serializing_if = "Window::is_empty")]
    pub said: Window<Mark, MAX_SAID>,
}

/// A message that may still be withdrawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queued {
    /// Fingerprint of its text.
    pub mark: Mark,
    /// Its transcript line; 0 if there is none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub line: u64,
}

/// Order in which titles are stored. Older cursors lack the last one.
const STORED_TITLES: [TitleSource; 4] =
    [TitleSource::Summary, TitleSource::Model, TitleSource::Person, TitleSource::LastPrompt];

fn no_titles(titles: &[Option<Mark>; 4]) -> bool {
    titles.iter().all(Option::is_none)
}

/// Without an absent last title, so that a cursor from before it keeps its bytes.
fn write_titles<S: Serializer>(titles: &[Option<Mark>; 4], serializer: S) -> Result<S::Ok, S::Error> {
    let stored = STORED_TITLES.map(|source| titles[source as usize]);
    let [older @ .., None] = &stored else { return stored.serialize(serializer) };
    older.serialize(serializer)
}

fn read_titles<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[Option<Mark>; 4], D::Error> {
    let mut titles = [None; 4];
    for (at, title) in Vec::<Option<Mark>>::deserialize(deserializer)?.into_iter().enumerate() {
        let source = STORED_TITLES.get(at).ok_or_else(|| D::Error::custom("too many titles"))?;
        titles[*source as usize] = title;
    }
    Ok(titles)
}

impl Clone for Cursor {
    fn clone(&self) -> Self {
        let mut clone = Self::default();
        clone.clone_from(self);
        clone
    }

    /// Reuses the allocations, because every line is read on a clone.
    fn clone_from(&mut self, source: &Self) {
        *self = Self {
            open_calls: std::mem::take(&mut self.open_calls).filled_from(&source.open_calls),
            own_calls: std::mem::take(&mut self.own_calls).filled_from(&source.own_calls),
            recent_messages: std::mem::take(&mut self.recent_messages).filled_from(&source.recent_messages),
            queue: std::mem::take(&mut self.queue).filled_from(&source.queue),
            said: std::mem::take(&mut self.said).filled_from(&source.said),
            ..*source
        };
    }
}

impl Cursor {
    /// Number of calls in flight, as far as the transcript shows.
    pub fn calls_in_flight(&self) -> usize {
        self.open_calls.len()
    }

    /// Remembers a fingerprint; true if it is new. A repeated one moves to the end, so it is not dropped for others in
    /// between.
    pub(crate) fn remember_said(&mut self, mark: Mark) -> bool {
        let known = self.said.take(mark);
        self.said.push(mark);
        !known
    }

    /// Remembers a working directory; true if it changed.
    pub(crate) fn enter_cwd(&mut self, cwd: &str) -> bool {
        let mark = Some(Mark::digest(cwd.as_bytes()));
        std::mem::replace(&mut self.cwd, mark) != mark
    }

    /// Remembers a branch; true if it changed.
    pub(crate) fn enter_branch(&mut self, branch: &str) -> bool {
        let mark = Some(Mark::digest(branch.as_bytes()));
        std::mem::replace(&mut self.branch, mark) != mark
    }

    /// Remembers a title; true if it changed.
    pub(crate) fn enter_title(&mut self, source: TitleSource, title: &str) -> bool {
        let mark = Some(Mark::digest(title.as_bytes()));
        std::mem::replace(&mut self.titles[source as usize], mark) != mark
    }
}

/// The last few values of a kind, oldest first; a full window drops its oldest.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<T>", bound(deserialize = "T: Copy + PartialEq + Deserialize<'de>"))]
pub struct Window<T, const MAX: usize>(Vec<T>);

impl<T, const MAX: usize> Default for Window<T, MAX> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: fmt::Debug, const MAX: usize> fmt::Debug for Window<T, MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.0).finish()
    }
}

impl<T: Copy + PartialEq, const MAX: usize> FromIterator<T> for Window<T, MAX> {
    /// Keeps the last `MAX` values.
    fn from_iter<I: IntoIterator<Item = T>>(all: I) -> Self {
        let mut window = Self::default();
        all.into_iter().for_each(|one| window.push(one));
        window
    }
}

impl<T: Copy + PartialEq, const MAX: usize> From<Vec<T>> for Window<T, MAX> {
    fn from(all: Vec<T>) -> Self {
        all.into_iter().collect()
    }
}

impl<T: Copy + PartialEq, const MAX: usize> Window<T, MAX> {
    /// All values, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        self.0.iter().copied()
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there are no values.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn contains(&self, one: T) -> bool {
        self.0.contains(&one)
    }

    /// Appends a value unless it is present already.
    pub(crate) fn push(&mut self, one: T) {
        if self.contains(one) {
            return;
        }
        if self.0.len() == MAX {
            self.0.remove(0);
        }
        self.0.push(one);
    }

    /// Removes a value; true if it was present.
    pub(crate) fn take(&mut self, one: T) -> bool {
        let place = self.0.iter().position(|other| *other == one);
        place.map(|at| self.0.remove(at)).is_some()
    }

    /// Removes the oldest value that matches.
    pub(crate) fn take_first(&mut self, is_it: impl Fn(T) -> bool) -> Option<T> {
        let place = self.0.iter().position(|one| is_it(*one))?;
        Some(self.0.remove(place))
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Removes the values after the last one that matches; false, and nothing is removed, if there is none.
    pub(crate) fn cut_after(&mut self, is_it: impl Fn(T) -> bool) -> bool {
        let place = self.0.iter().rposition(|one| is_it(*one));
        place.map(|at| self.0.truncate(at + 1)).is_some()
    }

    /// Copies the values of another window into this allocation.
    fn filled_from(mut self, source: &Self) -> Self {
        self.0.clone_from(&source.0);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_survives_being_written_and_read() {
        let full = Cursor {
            offset: u64::MAX,
            line: 7,
            unterminated: true,
            open_calls: (0..200).map(Mark).collect(),
            own_calls: [Mark(1)].into_iter().collect(),
            recent_messages: (0..100).map(Mark).collect(),
            queue: (0..100).map(|at| Queued { mark: Mark(at), line: 1_000_000 + at }).collect(),
            overcounted: 7,
            working: true,
            cwd: Some(Mark(u64::MAX)),
            branch: None,
            titles: [None, Some(Mark(2)), None, Some(Mark(4))],
            said: (0..100).map(Mark).collect(),
        };
        for cursor in [full, Cursor::default()] {
            let text = serde_json::to_string(&cursor).unwrap();
            assert!(text.len() < 5120, "{} bytes in an event", text.len());
            assert_eq!(serde_json::from_str::<Cursor>(&text).unwrap(), cursor);
        }
        for wrong in [r#""own_calls":["a sentence"]"#, r#""titles":[null,null,null,null,null]"#] {
            assert!(serde_json::from_str::<Cursor>(&format!(r#"{{"offset":1,"line":1,{wrong}}}"#)).is_err(), "{wrong}");
        }
    }
}
