//! What is to be read or woken, in order, a few at a time: a start with ten thousand transcripts must not be ten
//! thousand reads at once.

use std::collections::{BTreeSet, VecDeque};

use baton_events::record::SessionId;

use crate::files::FileSeen;

/// One thing to do.
#[derive(Clone, Debug)]
pub(super) enum Work {
    /// Let the session read its file.
    Read(Box<FileSeen>),
    /// Let the session do what time brings about.
    Wake(SessionId),
}

impl Work {
    pub(super) fn session(&self) -> &SessionId {
        match self {
            Self::Read(file) => &file.session,
            Self::Wake(id) => id,
        }
    }
}

/// How far the backlog is since it was last empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Done.
    pub done: u64,
    /// Done, in flight and waiting.
    pub total: u64,
    /// Ever taken in.
    pub accepted: u64,
    /// Ever done.
    pub finished: u64,
}

impl Progress {
    /// In flight and waiting.
    pub fn pending(&self) -> u64 {
        self.total - self.done
    }
}

pub(super) struct Backlog {
    waiting: VecDeque<Work>,
    /// What waits, by session and kind: a file that changes ten times while it waits is read once.
    queued: BTreeSet<(SessionId, bool)>,
    in_flight: BTreeSet<SessionId>,
    at_once: usize,
    progress: Progress,
}

impl Backlog {
    pub(super) fn new(at_once: usize) -> Self {
        Self {
            waiting: VecDeque::new(),
            queued: BTreeSet::new(),
            in_flight: BTreeSet::new(),
            at_once,
            progress: Progress::default(),
        }
    }

    pub(super) fn push(&mut self, work: Vec<Work>) {
        for work in work {
            let key = (work.session().clone(), matches!(work, Work::Read(_)));
            if self.queued.insert(key) {
                if self.progress.pending() == 0 {
                    (self.progress.done, self.progress.total) = (0, 0);
                }
                self.progress.total += 1;
                self.progress.accepted += 1;
                self.waiting.push_back(work);
            }
        }
    }

    /// The next thing to do, if one more may be in flight. Its session is in flight until `done`.
    pub(super) fn next(&mut self) -> Option<Work> {
        if self.in_flight.len() >= self.at_once {
            return None;
        }
        // A session that is in flight takes its next turn later; the others need not wait for it.
        let index = self.waiting.iter().position(|work| !self.in_flight.contains(work.session()))?;
        let work = self.waiting.remove(index)?;
        self.queued.remove(&(work.session().clone(), matches!(work, Work::Read(_))));
        self.in_flight.insert(work.session().clone());
        Some(work)
    }

    pub(super) fn done(&mut self, id: &SessionId) {
        if self.in_flight.remove(id) {
            self.progress.done += 1;
            self.progress.finished += 1;
        }
    }

    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        self.queued.clear();
        self.progress = Progress::default();
        self.in_flight.clear();
    }

    pub(super) fn progress(&self) -> Progress {
        self.progress
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wake(id: &str) -> Work {
        Work::Wake(SessionId::new(id).unwrap())
    }

    fn id(id: &str) -> SessionId {
        SessionId::new(id).unwrap()
    }

    #[test]
    fn a_few_at_a_time_in_order_and_never_the_same_twice_at_once() {
        let mut backlog = Backlog::new(2);
        backlog.push(vec![wake("a"), wake("b"), wake("c"), wake("a")]);
        let take = |backlog: &mut Backlog| backlog.next().map(|work| work.session().to_string());
        assert_eq!(take(&mut backlog).as_deref(), Some("a"));
        backlog.push(vec![wake("a")]);
        assert_eq!(take(&mut backlog).as_deref(), Some("b"), "a is in flight, b is not");
        assert_eq!(take(&mut backlog), None, "two are in flight");
        backlog.done(&id("b"));
        assert_eq!(take(&mut backlog).as_deref(), Some("c"));
        backlog.done(&id("a"));
        assert_eq!(take(&mut backlog).as_deref(), Some("a"));
        let Progress { done, total, .. } = backlog.progress();
        assert_eq!((done, total), (2, 4));
    }

    #[test]
    fn progress_begins_anew_when_everything_was_done() {
        let mut backlog = Backlog::new(2);
        backlog.push(vec![wake("a")]);
        backlog.next();
        backlog.done(&id("a"));
        backlog.done(&id("a"));
        assert_eq!(backlog.progress(), Progress { done: 1, total: 1, accepted: 1, finished: 1 });
        backlog.push(vec![wake("b")]);
        assert_eq!(backlog.progress(), Progress { done: 0, total: 1, accepted: 2, finished: 1 });
    }
}
