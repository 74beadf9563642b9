//! What an agent recalls in one call: the sessions that match a question, one line each, and their most informative
//! entries, within a token budget.
//!
//! A few kinds of question are recognised by plain words ([`Kind`]); entries of the requested kind then weigh more.
//! Everything here is pure: sessions with their episodes come in, entries go out, and [`select`] selects those that
//! answer.

mod change_of_mind;
mod intent;
mod memo;
mod nearest;
mod open;
mod passages;
mod quotes;
mod selection;
mod session_entries;
#[cfg(test)]
mod tests;

pub use change_of_mind::change_of_mind;
pub use intent::{Context, Intent, Kind, Named, Span, Tally, Term, read, read_description};
pub use memo::memo_entry;
pub use nearest::{Detail, told_of_nearest};
pub use open::{Later, still_open};
pub use quotes::{Quote, QuoteReader, Quotes, Speaker};
pub use selection::{Selection, append_below, is_superseded, select};
pub use session_entries::{RankedSession, decision_share, nearest_error, session_entries, states_answer, whole_fit};

use std::collections::BTreeMap;

use baton_conversation::record::{SessionId, Timestamp};

baton_protocol::named! {
    /// Kind of an entry, as answers name it.
    Sort {
        /// A session: its title and purpose.
        Session = "session",
        /// The result of a session: its last answer.
        Done = "done",
        /// What an agent concluded for a prompt: the sentences that answer the question.
        Answer = "answer",
        /// A passage that matches the words.
        Passage = "passage",
        /// Something that an agent stored in the memory itself.
        Note = "note",
        /// A decision with its reason.
        Decision = "decision",
        /// A failure with its fix.
        Fixed = "fixed",
        /// Something that was advised against, or that failed without a known later success.
        Failed = "failed",
        /// Something open.
        Open = "open",
        /// A stated next step.
        Next = "next",
        /// A changed file.
        File = "file",
        /// A fact that holds or, marked so, held once.
        Fact = "fact",
    }
}

/// One line of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Kind of the entry.
    pub sort: Sort,
    /// The text, on one line.
    pub text: String,
    /// The session that says it.
    pub session: SessionId,
    /// The transcript line that says it; `None` for a summary of the whole session.
    pub line: Option<u64>,
    /// Time of that line.
    pub at: Option<Timestamp>,
    /// Uuid of a note, or of a fact that is, or says the same as, the entry.
    pub uuid: Option<uuid::Uuid>,
    /// When it ceased to hold; `None` if it holds, or cannot cease to.
    pub ended: Option<Timestamp>,
    /// A later session that may have replaced what its session says.
    pub later: Option<SessionId>,
    /// How well it matches the question, from 0 to 1.
    pub fit: f32,
    /// Note: it says something of the requested kind. Passage: a person or an agent said it. Conclusion: it has the words of
    /// the question. Failure: it is an error without a known fix.
    pub answers: bool,
    /// True if only a model says it.
    pub by_model: bool,
    /// Weight compared with other entries; with 0 and less the entry is dropped without being counted.
    pub worth: f32,
}

/// The worth of what may have been replaced, relative to what replaced it.
const BELOW_LATER: f32 = 0.99;
/// Factor for what no longer holds: it ranks below everything equally good that holds.
const PAST: f32 = 0.3;

impl Entry {
    /// Sets how well the entry matches and scales its worth accordingly.
    #[must_use]
    pub fn with_fit(self, fit: f32) -> Self {
        Self { fit, worth: self.worth * fit, ..self }
    }

    /// Marks the entry as something that ceased to hold at that time.
    pub fn end(&mut self, at: Timestamp) {
        self.ended = Some(at);
        self.worth *= PAST;
    }
}

/// Marks decisions that were reversed later: `ended` maps the places of facts that no longer hold to the time when they
/// ended.
pub fn mark_reversed(entries: &mut [Entry], ended: &BTreeMap<(SessionId, u64), Timestamp>) {
    let decided = entries.iter_mut().filter(|entry| entry.sort == Sort::Decision && entry.ended.is_none());
    for entry in decided {
        let place = entry.line.map(|line| (entry.session.clone(), line));
        if let Some(at) = place.and_then(|place| ended.get(&place)) {
            entry.end(*at);
        }
    }
}

/// Ranks what a session says below the best of what a later one says that may have replaced it.
pub fn later_first(entries: &mut [Entry]) {
    let mut best: BTreeMap<SessionId, f32> = BTreeMap::new();
    for entry in entries.iter() {
        let most = best.entry(entry.session.clone()).or_default();
        *most = most.max(entry.worth);
    }
    for entry in entries {
        let most = entry.later.as_ref().and_then(|later| best.get(later));
        entry.worth = most.map_or(entry.worth, |most| entry.worth.min(most * BELOW_LATER));
    }
}

/// Returns the best entries that fit into the token budget, best first and whole, and the number of others. Repeated
/// texts are dropped. `cost` returns the tokens of an entry.
pub fn best_within_budget(mut entries: Vec<Entry>, budget: u64, cost: impl Fn(&Entry) -> u64) -> (Vec<Entry>, usize) {
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
