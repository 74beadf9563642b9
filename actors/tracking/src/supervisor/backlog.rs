//! Sessions waiting to be read, indexed or woken, in order, with a bound on how many are in flight: starting with ten
//! thousand transcripts must not cause ten thousand reads at once. What was promised to a query comes first, then the
//! newest.
//!
//! # Decisions
//!
//! - Unread transcripts come in pages, newest first; the next page is requested from the watcher when this one runs
//!   low. A backlog of half a million would take as much memory as everything else. What lies beyond the page counts as
//!   waiting.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use baton_conversation::record::{SessionId, Timestamp};

use baton_base::limits;
use baton_base::transcript_file::FileSeen;

/// One unit of work.
#[derive(Clone, Debug)]
pub(super) enum Work {
    /// The session reads its file.
    Read(Box<FileSeen>),
    /// The session reads to the end of its file and indexes it, because a query could not wait for it.
    Index(SessionId, Option<Box<FileSeen>>),
    /// The session applies the rules of time.
    Wake(SessionId),
}

impl Work {
    pub(super) fn session(&self) -> &SessionId {
        match self {
            Self::Read(file) => &file.session,
            Self::Index(id, _) | Self::Wake(id) => id,
        }
    }

    fn kind(&self) -> Kind {
        match self {
            Self::Wake(_) => Kind::Wake,
            Self::Read(_) | Self::Index(..) => Kind::File,
        }
    }
}

/// A session waits at most once per kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    File,
    Wake,
}

/// Work with its ordering key and its share of the progress.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) work: Work,
    /// When the session was last active.
    pub(super) at: Timestamp,
    /// Bytes still to be read.
    pub(super) bytes: u64,
}

/// Progress of the backlog since it was last empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Finished.
    pub done: u64,
    /// Finished, in flight and waiting.
    pub total: u64,
    /// Bytes of what is finished.
    pub bytes_done: u64,
    /// Bytes of what is finished, in flight and waiting.
    pub bytes_total: u64,
    /// When it was last empty; absent if it never held anything.
    pub since: Option<Timestamp>,
    /// Everything ever accepted.
    pub accepted: u64,
    /// Everything ever finished.
    pub finished: u64,
}

impl Progress {
    /// Number in flight or waiting.
    pub fn pending(&self) -> u64 {
        self.total.saturating_sub(self.done)
    }
}

/// Order: promised to a query, then newest, then first come.
type QueuePosition = (bool, Reverse<Timestamp>, u64);

pub(super) struct Backlog {
    waiting: BTreeMap<QueuePosition, Entry>,
    /// Position of each waiting entry by session and kind, so a file that changes ten times while it waits is read
    /// once.
    queued: BTreeMap<(SessionId, Kind), QueuePosition>,
    /// The work of each session in flight.
    in_flight: BTreeMap<SessionId, Entry>,
    at_once: usize,
    taken_in: u64,
    progress: Progress,
    /// Files that the watcher has not sent yet, and their bytes.
    beyond: (u64, u64),
    /// True if the next page was requested.
    is_asked: bool,
}

impl Backlog {
    pub(super) fn new(at_once: usize) -> Self {
        Self {
            waiting: BTreeMap::new(),
            queued: BTreeMap::new(),
            in_flight: BTreeMap::new(),
            at_once,
            taken_in: 0,
            progress: Progress::default(),
            beyond: (0, 0),
            is_asked: false,
        }
    }

    pub(super) fn push(&mut self, entries: Vec<Entry>, now: Timestamp) {
        for entry in entries {
            let key = (entry.work.session().clone(), entry.work.kind());
            if let Some(place) = self.queued.get(&key).copied() {
                self.renew(key, place, entry);
                continue;
            }
            if self.progress().pending() == 0 {
                let Progress { accepted, finished, .. } = self.progress;
                self.progress = Progress { accepted, finished, since: Some(now), ..Progress::default() };
            }
            self.progress.total += 1;
            self.progress.bytes_total += entry.bytes;
            self.progress.accepted += 1;
            self.taken_in += 1;
            self.enter(key, entry, self.taken_in);
        }
    }

    /// Replaces a waiting entry by a newer one. A promise to a query is kept.
    fn renew(&mut self, key: (SessionId, Kind), place: QueuePosition, newer: Entry) {
        let Some(older) = self.waiting.remove(&place) else { return };
        self.progress.bytes_total = self.progress.bytes_total.saturating_sub(older.bytes) + newer.bytes;
        let work = match (older.work, newer.work) {
            (Work::Index(..), Work::Read(file)) => Work::Index(file.session.clone(), Some(file)),
            (Work::Read(file) | Work::Index(_, Some(file)), Work::Index(id, None)) => Work::Index(id, Some(file)),
            (_, newer) => newer,
        };
        self.enter(key, Entry { work, at: newer.at.max(older.at), bytes: newer.bytes }, place.2);
    }

    fn enter(&mut self, key: (SessionId, Kind), entry: Entry, number: u64) {
        let place = (!matches!(entry.work, Work::Index(..)), Reverse(entry.at), number);
        self.queued.insert(key, place);
        self.waiting.insert(place, entry);
    }

    /// Returns the next work, unless the limit of work in flight is reached. Its session is in flight until
    /// [`Self::done`].
    pub(super) fn next(&mut self) -> Option<Work> {
        if self.in_flight.len() >= self.at_once {
            return None;
        }
        // Skip sessions in flight, so that others need not wait for them.
        let free = |(_, entry): &(&QueuePosition, &Entry)| !self.in_flight.contains_key(entry.work.session());
        let place = self.waiting.iter().find(free).map(|(place, _)| *place)?;
        let entry = self.waiting.remove(&place)?;
        let work = entry.work.clone();
        self.queued.remove(&(work.session().clone(), work.kind()));
        self.in_flight.insert(work.session().clone(), entry);
        Some(work)
    }

    pub(super) fn done(&mut self, id: &SessionId) {
        if let Some(entry) = self.in_flight.remove(id) {
            self.progress.done += 1;
            self.progress.bytes_done += entry.bytes;
            self.progress.finished += 1;
        }
    }

    /// Queues again what was in flight when its session failed.
    pub(super) fn again(&mut self, id: &SessionId, now: Timestamp) {
        let failed_over = self.in_flight.get(id).cloned();
        self.done(id);
        self.push(failed_over.into_iter().collect(), now);
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new(self.at_once);
    }

    /// Records that a page was taken in, with the number and bytes of the files behind it.
    pub(super) fn paged(&mut self, beyond: u64, bytes: u64) {
        (self.beyond, self.is_asked) = ((beyond, bytes), false);
    }

    /// True if the next page should be requested. Returns true once per page.
    pub(super) fn wants_more(&mut self) -> bool {
        let wants = self.beyond.0 > 0 && self.waiting.len() < limits::BACKLOG_LOW && !self.is_asked;
        self.is_asked |= wants;
        wants
    }

    pub(super) fn progress(&self) -> Progress {
        let (files, bytes) = self.beyond;
        let Progress { total, bytes_total, accepted, .. } = self.progress;
        Progress { total: total + files, bytes_total: bytes_total + bytes, accepted: accepted + files, ..self.progress }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_base::transcript_file::{FileSeen, FileStat};
    use baton_conversation::item::Agent;
    use baton_events::session::{FileIdentity, Kind as Of};

    fn id(id: &str) -> SessionId {
        SessionId::new(id).unwrap()
    }

    fn entry(work: Work, at: i64) -> Entry {
        Entry { work, at: Timestamp(at), bytes: 10 }
    }

    fn wake(name: &str) -> Entry {
        entry(Work::Wake(id(name)), 0)
    }

    fn file(name: &str, size: u64) -> Box<FileSeen> {
        Box::new(FileSeen {
            session: id(name),
            agent: Agent::ClaudeCode,
            kind: Of::Main,
            path: format!("/{name}.jsonl").into(),
            stat: FileStat { modified_ns: 0, size },
            identity: FileIdentity::default(),
        })
    }

    fn take(backlog: &mut Backlog) -> Option<String> {
        backlog.next().map(|work| work.session().to_string())
    }

    #[test]
    fn a_few_at_a_time_in_order_and_never_the_same_twice_at_once() {
        let mut backlog = Backlog::new(2);
        backlog.push(vec![wake("a"), wake("b"), wake("c"), wake("a")], Timestamp(7));
        assert_eq!(take(&mut backlog).as_deref(), Some("a"));
        backlog.push(vec![wake("a")], Timestamp(8));
        assert_eq!(take(&mut backlog).as_deref(), Some("b"), "a is in flight, b is not");
        assert_eq!(take(&mut backlog), None, "two are in flight");
        backlog.done(&id("b"));
        assert_eq!(take(&mut backlog).as_deref(), Some("c"));
        backlog.done(&id("a"));
        assert_eq!(take(&mut backlog).as_deref(), Some("a"));
        let Progress { done, total, bytes_done, bytes_total, since, .. } = backlog.progress();
        assert_eq!((done, total, bytes_done, bytes_total, since), (2, 4, 20, 40, Some(Timestamp(7))));
    }

    #[test]
    fn what_was_promised_comes_first_then_the_newest() {
        let mut backlog = Backlog::new(9);
        let read = |name, at| entry(Work::Read(file(name, 1)), at);
        backlog.push(vec![read("old", 1), read("middle", 2), read("young", 3)], Timestamp(0));
        backlog.push(vec![read("live", 4), entry(Work::Index(id("old"), Some(file("old", 1))), 1)], Timestamp(0));
        // A newer entry keeps the promise.
        backlog.push(vec![entry(Work::Read(file("old", 2)), 5)], Timestamp(0));
        let Some(Work::Index(first, Some(seen))) = backlog.next() else { panic!("the promise was not kept") };
        assert_eq!((first, seen.stat.size), (id("old"), 2));
        let rest: Vec<String> = std::iter::from_fn(|| take(&mut backlog)).collect();
        assert_eq!(rest, ["live", "young", "middle"]);
        assert_eq!(backlog.progress().total, 4);
    }

    #[test]
    fn the_next_page_is_asked_for_once_when_little_is_left_and_counts_before_it_comes() {
        let mut backlog = Backlog::new(1);
        let names: Vec<String> = (0..=limits::BACKLOG_LOW).map(|number| number.to_string()).collect();
        backlog.push(names.iter().map(|name| wake(name)).collect(), Timestamp(1));
        backlog.paged(2, 20);
        let waiting = names.len() as u64;
        let Progress { total, bytes_total, accepted, .. } = backlog.progress();
        assert_eq!((total, bytes_total, accepted), (waiting + 2, waiting * 10 + 20, waiting + 2));
        assert!(!backlog.wants_more(), "much is left");
        while take(&mut backlog).is_some() {
            backlog.done(&id(&names[usize::try_from(backlog.progress().done).unwrap()]));
        }
        assert_eq!(backlog.progress().pending(), 2);
        assert!(backlog.wants_more() && !backlog.wants_more(), "once");
        backlog.push(vec![wake("x"), wake("y")], Timestamp(2));
        backlog.paged(0, 0);
        assert_eq!((backlog.progress().total, backlog.progress().since), (waiting + 2, Some(Timestamp(1))));
        assert!(!backlog.wants_more(), "there is no more");
    }

    #[test]
    fn what_a_session_has_failed_over_is_done_again() {
        let mut backlog = Backlog::new(2);
        backlog.push(vec![entry(Work::Read(file("a", 7)), 0), wake("b")], Timestamp(1));
        assert_eq!(take(&mut backlog).as_deref(), Some("a"));
        backlog.again(&id("a"), Timestamp(2));
        backlog.again(&id("b"), Timestamp(2));
        assert_eq!(take(&mut backlog).as_deref(), Some("b"), "what was not in flight waits where it was");
        let Some(Work::Read(seen)) = backlog.next() else { panic!("the file was not taken again") };
        assert_eq!((seen.session, seen.stat.size), (id("a"), 7));
        assert_eq!(take(&mut backlog), None);
    }

    #[test]
    fn progress_begins_anew_when_everything_was_done() {
        let mut backlog = Backlog::new(2);
        backlog.push(vec![wake("a")], Timestamp(1));
        backlog.next();
        backlog.done(&id("a"));
        backlog.done(&id("a"));
        let Progress { done, total, accepted, finished, .. } = backlog.progress();
        assert_eq!((done, total, accepted, finished), (1, 1, 1, 1));
        backlog.push(vec![wake("b")], Timestamp(2));
        let Progress { done, total, since, accepted, finished, .. } = backlog.progress();
        assert_eq!((done, total, since, accepted, finished), (0, 1, Some(Timestamp(2)), 2, 1));
    }
}
