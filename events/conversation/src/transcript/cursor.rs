//! Where reading stands in one file: small enough for an event, and without a word of the conversation.
//!
//! # Decisions
//!
//! - A cursor holds 64-bit fingerprints of ids, not the ids.

use std::fmt;

use crate::filter::open_calls::MAX_OPEN_CALLS;
use crate::hash::Mark;
use crate::item::TitleSource;

/// Most assistant messages remembered as counted, in messages. The parts of one message stand close together: only
/// results, progress and other messages that run beside it lie between.
pub const MAX_RECENT_MESSAGES: usize = 16;
/// Most messages that may still be withdrawn, in messages.
pub const MAX_QUEUED: usize = 16;
/// Most things remembered as said, in things.
pub const MAX_SAID: usize = 32;

/// Where reading stands. Reading on from a cursor gives what reading at once would have given.
///
/// Holds numbers and fingerprints only. At its fullest it has some 220 of them: less than 5 KB as JSON.
#[derive(Debug, PartialEq, Eq, Default)]
pub struct Cursor {
    /// Bytes read: just after a newline, unless `unterminated`.
    pub offset: u64,
    /// Lines read.
    pub line: u64,
    /// Whether the last line read had no newline yet; the newline to come ends it and is no line of its own.
    pub unterminated: bool,
    /// Calls that no result has answered, oldest first.
    pub open_calls: Window<Mark, MAX_OPEN_CALLS>,
    /// Unanswered calls of Baton's own tools: their results are dropped.
    pub own_calls: Window<Mark, MAX_OPEN_CALLS>,
    /// Assistant messages that were counted, oldest first.
    pub recent_messages: Window<Mark, MAX_RECENT_MESSAGES>,
    /// Of Codex what the agent said last. Of Claude Code what an earlier version of this program held as queued.
    pub queue: Window<Queued, MAX_QUEUED>,
    /// How many messages were counted that are withdrawn: as many of the next are not counted.
    pub overcounted: u64,
    /// Whether the agent was at work after the last record. A part of the stored shape; no reader asks for it now.
    pub working: bool,
    /// The last working directory.
    pub cwd: Option<Mark>,
    /// The last branch.
    pub branch: Option<Mark>,
    /// The last title of each source, in the order of [`TitleSource`].
    pub titles: [Option<Mark>; 4],
    /// What this format says more than once and was taken already, oldest first: counts of a message, a message that also
    /// stands as an event.
    pub said: Window<Mark, MAX_SAID>,
}

/// A message that may still be withdrawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    /// What its words are known by.
    pub mark: Mark,
    /// The line that said it; 0 when none did.
    pub line: u64,
}

impl Clone for Cursor {
    fn clone(&self) -> Self {
        let mut clone = Self::default();
        clone.clone_from(self);
        clone
    }

    /// Keeps the memory that it has: every line is read upon a clone.
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
    /// How many calls are in flight, as far as the transcript tells.
    pub fn calls_in_flight(&self) -> usize {
        self.open_calls.len()
    }

    /// Remembers something as said; whether it is news. What is said again and again is not forgotten for what is said
    /// between.
    pub(crate) fn says_first(&mut self, mark: Mark) -> bool {
        let known = self.said.take(mark);
        self.said.push(mark);
        !known
    }

    /// Remembers a working directory; whether it is news.
    pub(crate) fn enter_cwd(&mut self, cwd: &str) -> bool {
        let mark = Some(Mark::of(cwd.as_bytes()));
        std::mem::replace(&mut self.cwd, mark) != mark
    }

    /// Remembers a branch; whether it is news.
    pub(crate) fn enter_branch(&mut self, branch: &str) -> bool {
        let mark = Some(Mark::of(branch.as_bytes()));
        std::mem::replace(&mut self.branch, mark) != mark
    }

    /// Remembers a title; whether it is news.
    pub(crate) fn enter_title(&mut self, source: TitleSource, title: &str) -> bool {
        let mark = Some(Mark::of(title.as_bytes()));
        std::mem::replace(&mut self.titles[source as usize], mark) != mark
    }
}

/// The last few of a kind, oldest first; a full window drops its oldest.
#[derive(Clone, PartialEq, Eq)]
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
    /// Keeps the last `MAX`.
    fn from_iter<I: IntoIterator<Item = T>>(all: I) -> Self {
        let mut window = Self::default();
        all.into_iter().for_each(|one| window.push(one));
        window
    }
}

impl<T: Copy + PartialEq, const MAX: usize> Window<T, MAX> {
    /// All of them, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        self.0.iter().copied()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn contains(&self, one: T) -> bool {
        self.0.contains(&one)
    }

    /// Adds one at the end; one that is there already stays where it is.
    pub(crate) fn push(&mut self, one: T) {
        if self.contains(one) {
            return;
        }
        if self.0.len() == MAX {
            self.0.remove(0);
        }
        self.0.push(one);
    }

    /// Takes one out; whether it was there.
    pub(crate) fn take(&mut self, one: T) -> bool {
        let place = self.0.iter().position(|other| *other == one);
        place.map(|at| self.0.remove(at)).is_some()
    }

    /// Takes out the oldest of which something is true.
    pub(crate) fn take_first(&mut self, is_it: impl Fn(T) -> bool) -> Option<T> {
        let place = self.0.iter().position(|one| is_it(*one))?;
        Some(self.0.remove(place))
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// What another holds, in the memory of this one.
    fn filled_from(mut self, source: &Self) -> Self {
        self.0.clone_from(&source.0);
        self
    }
}
