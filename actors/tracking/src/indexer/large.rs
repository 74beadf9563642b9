//! Large conversations, which would hold up others: put off until the memory is idle, abandoned when a caller waits for
//! something else, and left alone for a while after each attempt.
//!
//! Nothing is lost: the memory's checkpoint stays before them, so they are taken up again after a kill.
//!
//! # Decisions
//!
//! - What an append adds to a long conversation (250 items, or 512 KB of transcript) can be found at once: the memory
//!   keeps the end of it and adds the new turns. Everything else (episode, facts, outcomes) is made of all of a
//!   conversation, once nothing was added for 2 s, or after 30 s. A large one (2,000 items, or 8 MB) is put off
//!   altogether if the memory does not have its end, as after a start.
//! - A conversation that was put off is processed when nothing else is pending, and abandoned when a caller waits for
//!   something else: at first at once, then after twice as long each time, up to 2 s; after ten minutes it is no longer
//!   abandoned. It rests ten times as long as it took, unless a caller waits for it. The checkpoint stays before what
//!   is put off, so a killed daemon comes to it again. A query that waits for everything waits 1 s for one that was
//!   active within five minutes; a close waits as long as it takes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use baton_conversation::record::{Position, SessionId};
use baton_events::session::EpisodeRef;

use super::Handle;
use baton_base::limits;

/// Rest after an attempt as a multiple of its duration: a growing conversation takes a tenth of the time.
const REST: u32 = 10;
/// Longest rest.
const REST_MAX: Duration = Duration::from_secs(600);
/// After it was abandoned, the shortest time that the memory stays at a conversation; then twice the last attempt, …
const PATIENCE_MIN: Duration = Duration::from_millis(100);
/// … but at most this long, because others wait, …
const PATIENCE_MAX: Duration = Duration::from_secs(2);
/// … unless it was put off for this long: then it is finished.
const PUT_OFF_MAX: Duration = Duration::from_secs(600);
/// A conversation whose turns are in the memory is processed once nothing was added for this long, because processing
/// would delay the next addition, ……
const QUIET: Duration = Duration::from_secs(2);
/// … or after this time at most.
const QUIET_MAX: Duration = Duration::from_secs(30);

impl Handle {
    /// Large sessions that queries do not index again for the time being.
    pub fn left_alone(&self) -> BTreeSet<SessionId> {
        self.large.let_alone(Instant::now())
    }
}

/// True if the memory adds the turns of an append to this conversation without going through all of it.
pub(super) fn is_long(episode: &EpisodeRef) -> bool {
    episode.items > limits::LONG_ITEMS || episode.to > limits::LONG_BYTES
}

/// True if the memory may take seconds for this conversation.
pub fn is_large(episode: &EpisodeRef) -> bool {
    episode.items > limits::LARGE_ITEMS || episode.to > limits::LARGE_BYTES
}

#[derive(Debug, Default)]
pub(super) struct LargeConversations(Mutex<All>);

#[derive(Debug, Default)]
struct All {
    entries: BTreeMap<SessionId, Entry>,
    /// Sessions to which the memory can add turns without going through the conversation.
    open: BTreeSet<SessionId>,
}

#[derive(Debug, Default)]
struct Entry {
    /// The first event that the memory lacks, and when the memory came to it.
    since: Option<(Position, Instant)>,
    /// When turns were last added; `None` if the memory lacks turns.
    turns_added: Option<Instant>,
    rests_until: Option<Instant>,
    patience: Duration,
}

/// Up to which positions callers wait: for everything, and for the turns.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Awaited {
    pub(super) whole: Position,
    pub(super) turns: Position,
}

impl Entry {
    fn rests(&self, now: Instant) -> bool {
        self.rests_until.is_some_and(|until| now < until)
    }

    fn rest(&mut self, took: Duration) {
        self.rests_until = Instant::now().checked_add(took.saturating_mul(REST).min(REST_MAX));
    }

    /// When it is due if no caller waits; `None` if it is. `since` is when the memory came to it.
    fn due(&self, since: Instant) -> Option<Instant> {
        let quiet = self.turns_added.map(|added| (added + QUIET).min(since + QUIET_MAX));
        self.rests_until.max(quiet)
    }
}

impl LargeConversations {
    /// Puts off an event of a session.
    pub(super) fn owe(&self, session: &SessionId, event: Position) {
        let mut all = self.lock();
        let entry = all.entries.entry(session.clone()).or_default();
        entry.since.get_or_insert_with(|| (event, Instant::now()));
        entry.turns_added = None;
    }

    /// Puts off an event of a session whose turns are in the memory.
    pub(super) fn owe_rest(&self, session: &SessionId, event: Position) {
        let mut all = self.lock();
        let entry = all.entries.entry(session.clone()).or_default();
        if entry.since.is_none() || entry.turns_added.is_some() {
            entry.turns_added = Some(Instant::now());
        }
        entry.since.get_or_insert_with(|| (event, Instant::now()));
    }

    /// Sets whether the memory can add turns to a session without processing the whole conversation.
    pub(super) fn set_open(&self, session: &SessionId, is_open: bool) {
        let mut all = self.lock();
        match is_open {
            true => all.open.insert(session.clone()),
            false => all.open.remove(session),
        };
    }

    /// True if the memory can add turns to the session directly.
    pub(super) fn is_open(&self, session: &SessionId) -> bool {
        self.lock().open.contains(session)
    }

    /// Drops a session.
    pub(super) fn forget(&self, session: &SessionId) {
        let mut all = self.lock();
        all.entries.remove(session);
        all.open.remove(session);
    }

    /// Drops everything, when the memory starts over and will come to it again.
    pub(super) fn clear(&self) {
        *self.lock() = All::default();
    }

    /// The first event that was put off.
    pub(super) fn first(&self) -> Option<Position> {
        self.lock().entries.values().filter_map(|entry| entry.since).map(|(event, _)| event).min()
    }

    /// The same without sessions whose turns are in the memory.
    pub(super) fn first_without_turns(&self) -> Option<Position> {
        let all = self.lock();
        let lacking = all.entries.values().filter(|entry| entry.turns_added.is_none());
        lacking.filter_map(|entry| entry.since).map(|(event, _)| event).min()
    }

    pub(super) fn owes(&self, session: &SessionId) -> bool {
        self.lock().entries.get(session).is_some_and(|entry| entry.since.is_some())
    }

    /// Sessions whose turns are missing, or with `rest` anything.
    pub(super) fn owed(&self, rest: bool) -> Vec<SessionId> {
        let all = self.lock();
        let owed = all.entries.iter().filter(|(_, entry)| entry.since.is_some());
        owed.filter(|(_, entry)| rest || entry.turns_added.is_none()).map(|(session, _)| session.clone()).collect()
    }

    pub(super) fn let_alone(&self, now: Instant) -> BTreeSet<SessionId> {
        let mut all = self.lock();
        all.entries.retain(|_, entry| entry.since.is_some() || entry.rests(now));
        all.entries.keys().filter(|session| !all.open.contains(*session)).cloned().collect()
    }

    /// Returns the next session and how long the memory may stay at it before it gives way. Skips sessions that rest or
    /// are being added to, unless a caller waits for them up to that position of `awaited`.
    pub(super) fn next(&self, awaited: Awaited, now: Instant) -> Option<(SessionId, Duration)> {
        let all = self.lock();
        let owed = all.entries.iter().filter_map(|(session, entry)| Some((entry.since?, session, entry)));
        let is_awaited = |event: Position, entry: &Entry| {
            event <= awaited.whole || (entry.turns_added.is_none() && event <= awaited.turns)
        };
        let due = owed.filter(|((event, since), _, entry)| {
            is_awaited(*event, entry) || entry.due(*since).is_none_or(|due| due <= now)
        });
        let next = due.min_by_key(|(since, ..)| *since);
        next.map(|((_, since), session, entry)| {
            let is_overdue = now.saturating_duration_since(since) > PUT_OFF_MAX;
            (session.clone(), if is_overdue { Duration::MAX } else { entry.patience })
        })
    }

    /// Time until the next session is due if no caller waits.
    pub(super) fn pause(&self, now: Instant) -> Option<Duration> {
        let all = self.lock();
        let owed = all.entries.values().filter_map(|entry| Some((entry.since?, entry)));
        owed.map(|((_, since), entry)| {
            entry.due(since).map_or(Duration::ZERO, |due| due.saturating_duration_since(now))
        })
        .min()
    }

    /// Records that nothing of a session is put off any more.
    pub(super) fn settled(&self, session: &SessionId) {
        self.lock().entries.remove(session);
    }

    /// Records that a session was taken in, and how long it took.
    pub(super) fn note_taken_in(&self, session: &SessionId, took: Duration) {
        let mut all = self.lock();
        let entry = all.entries.entry(session.clone()).or_default();
        *entry = Entry::default();
        entry.rest(took);
    }

    /// Records that an attempt was abandoned after this time.
    pub(super) fn note_abandoned(&self, session: &SessionId, took: Duration) {
        let mut all = self.lock();
        let entry = all.entries.entry(session.clone()).or_default();
        entry.patience = took.saturating_mul(2).clamp(PATIENCE_MIN, PATIENCE_MAX);
        entry.rest(took);
    }

    fn lock(&self) -> MutexGuard<'_, All> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> SessionId {
        SessionId::new(text).unwrap()
    }

    fn whole(position: u64) -> Awaited {
        Awaited { whole: Position(position), ..Awaited::default() }
    }

    #[test]
    fn what_took_long_rests_long_unless_somebody_waits_for_it() {
        let (large, a, b) = (LargeConversations::default(), id("a"), id("b"));
        let now = Instant::now();
        large.owe(&a, Position(7));
        large.owe(&a, Position(9));
        large.owe(&b, Position(8));
        assert_eq!((large.first(), large.owed(true).len()), (Some(Position(7)), 2));
        assert_eq!(large.next(Awaited::default(), now), Some((a.clone(), Duration::ZERO)), "the first event counts");
        let minute = Duration::from_secs(60);
        large.note_taken_in(&a, minute);
        assert_eq!(
            (large.first(), large.next(Awaited::default(), now)),
            (Some(Position(8)), Some((b.clone(), Duration::ZERO)))
        );
        assert_eq!(large.let_alone(now), BTreeSet::from([a.clone(), b.clone()]));
        large.forget(&b);
        large.owe(&a, Position(12));
        assert_eq!((large.next(whole(11), now), large.next(whole(12), now).is_some()), (None, true));
        assert!(large.next(Awaited { turns: Position(12), ..Awaited::default() }, now).is_some(), "it lacks turns");
        assert!(large.pause(now).unwrap() >= minute * REST);
        let later = now + minute * (REST + 1);
        assert_eq!((large.next(Awaited::default(), later).is_some(), large.pause(later)), (true, Some(Duration::ZERO)));
        large.note_taken_in(&a, Duration::ZERO);
        assert_eq!((large.let_alone(later).len(), large.pause(later), large.first()), (0, None, None));
    }

    #[test]
    fn what_is_added_to_is_found_and_made_anew_when_it_is_quiet() {
        let (large, a) = (LargeConversations::default(), id("a"));
        large.set_open(&a, true);
        large.owe_rest(&a, Position(3));
        assert_eq!((large.first(), large.first_without_turns()), (Some(Position(3)), None));
        assert_eq!((large.owed(true).len(), large.owed(false).len(), large.let_alone(Instant::now()).len()), (1, 0, 0));
        let now = Instant::now();
        assert_eq!(large.next(Awaited::default(), now), None, "it may be added to at any moment");
        assert_eq!(large.next(Awaited { turns: Position(3), ..Awaited::default() }, now), None, "its turns are there");
        assert!(large.next(whole(3), now).is_some(), "somebody waits for it");
        assert!(large.next(Awaited::default(), now + QUIET).is_some() && large.pause(now).unwrap() <= QUIET);
        large.owe(&a, Position(4));
        large.owe_rest(&a, Position(5));
        assert_eq!(large.first_without_turns(), Some(Position(3)), "an event between could not be added");
        large.note_taken_in(&a, Duration::ZERO);
        assert_eq!((large.first(), large.is_open(&a)), (None, true));
        large.forget(&a);
        assert!(!large.is_open(&a));
    }

    #[test]
    fn patience_grows_within_bounds_and_in_the_end_has_none() {
        let (large, a) = (LargeConversations::default(), id("a"));
        let patience = || large.next(whole(9), Instant::now()).unwrap().1;
        large.owe(&a, Position(1));
        for (took, expected) in [
            (Duration::ZERO, PATIENCE_MIN),
            (Duration::from_millis(300), Duration::from_millis(600)),
            (Duration::MAX, PATIENCE_MAX),
        ] {
            large.note_abandoned(&a, took);
            assert_eq!((patience(), large.first()), (expected, Some(Position(1))), "it is owed still");
        }
        let later = Instant::now() + 2 * PUT_OFF_MAX;
        assert_eq!(large.next(whole(9), later).unwrap().1, Duration::MAX, "it comes to its end some time");
        large.note_taken_in(&a, Duration::MAX);
        large.owe(&a, Position(2));
        assert_eq!(patience(), Duration::ZERO);
    }
}
