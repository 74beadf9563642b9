//! What an agent wants of the memory in one answer: the sessions that fit a question, a line each, and of them what tells
//! most, within a budget of tokens.
//!
//! A few kinds of question are known by plain words ([`Kind`]); what they ask for counts more then. Everything here is
//! pure: sessions with their episodes come in, entries go out, and of them those that answer are [`told`].

mod asked;
mod gathered;
mod note;
mod open;
#[cfg(test)]
mod tests;
mod told;

pub use asked::{Around, Asked, Kind, Named, Span, read};
pub use gathered::{Place, gathered, whole_fit};
pub use note::note;
pub use open::{Later, still_open};
pub use told::{Told, below, told};

use std::collections::BTreeMap;

use baton_conversation::record::{SessionId, Timestamp};

/// What an entry is, as answers name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sort {
    /// A session: its title and what it was for.
    Session,
    /// What came of a session: its last answer.
    Done,
    /// A passage that fits the words.
    Passage,
    /// What an agent told the memory itself.
    Note,
    /// What was decided, and why.
    Decision,
    /// What failed, with what mended it.
    Fixed,
    /// What was said not to do, and what failed and was not seen to succeed later.
    Failed,
    /// What is open.
    Open,
    /// What was said to come next.
    Next,
    /// A file that was changed.
    File,
    /// A fact: one that holds, or, marked so, one that held once.
    Fact,
}

impl Sort {
    /// The name in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Done => "done",
            Self::Passage => "passage",
            Self::Note => "note",
            Self::Decision => "decision",
            Self::Fixed => "fixed",
            Self::Failed => "failed",
            Self::Open => "open",
            Self::Next => "next",
            Self::File => "file",
            Self::Fact => "fact",
        }
    }
}

/// One line of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// What it is.
    pub sort: Sort,
    /// What it says, on one line.
    pub text: String,
    /// The session that says so.
    pub session: SessionId,
    /// The transcript line that says it; none for what a whole session comes to.
    pub line: Option<u64>,
    /// When.
    pub at: Option<Timestamp>,
    /// Of a fact, of what a fact says as well, and of a note: its uuid.
    pub uuid: Option<uuid::Uuid>,
    /// Since when it does not hold any more; none for what holds, or cannot cease to.
    pub ended: Option<Timestamp>,
    /// How well it fits what is asked, from 0 to 1.
    pub fit: f32,
    /// Of a note: whether it says something of the kind that is asked for. Of a passage: whether somebody said it. Of what
    /// failed: whether it is an error that nothing is known to have mended.
    pub answers: bool,
    /// Whether only a model says it.
    pub by_model: bool,
    /// How much it counts beside others; 0 and less: it is left out without being counted.
    pub worth: f32,
}

/// What something that does not hold any more still counts: it is told below all that is as good and holds.
const PAST: f32 = 0.3;

impl Entry {
    /// Says how well it fits, and counts so much the less.
    #[must_use]
    pub fn fitting(self, fit: f32) -> Self {
        Self { fit, worth: self.worth * fit, ..self }
    }

    /// Marks it as something that ceased to hold then.
    pub fn end(&mut self, at: Timestamp) {
        self.ended = Some(at);
        self.worth *= PAST;
    }
}

/// Marks decisions that were reversed later: `ended` has the places of facts that do not hold any more, each with when
/// they ceased to.
pub fn reverse(entries: &mut [Entry], ended: &BTreeMap<(SessionId, u64), Timestamp>) {
    let decided = entries.iter_mut().filter(|entry| entry.sort == Sort::Decision && entry.ended.is_none());
    for entry in decided {
        let place = entry.line.map(|line| (entry.session.clone(), line));
        if let Some(at) = place.and_then(|place| ended.get(&place)) {
            entry.end(*at);
        }
    }
}

/// The best entries that fit into so many tokens together, best first, each whole; and how many others there are. What is
/// said twice is said once. `cost` is what one takes.
pub fn chosen(mut entries: Vec<Entry>, budget: u64, cost: impl Fn(&Entry) -> u64) -> (Vec<Entry>, usize) {
    entries.retain(|entry| entry.worth > 0.0 && !entry.text.trim().is_empty());
    entries.sort_by(|a, b| b.worth.total_cmp(&a.worth));
    let mut said: Vec<(Sort, String)> = Vec::new();
    let (mut left, mut left_out) = (budget, 0);
    entries.retain(|entry| {
        let key = (entry.sort, entry.text.to_lowercase());
        if entry.sort != Sort::Session && said.contains(&key) {
            return false;
        }
        let cost = cost(entry);
        if cost > left {
            left_out += 1;
            return false;
        }
        left -= cost;
        said.push(key);
        true
    });
    (entries, left_out)
}
