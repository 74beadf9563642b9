//! What was tried and how it went, from the recorded results of tools alone, never from what anyone said about them.
//!
//! [`outcomes`] is a pure function of a session's items and their digest. It counts the runs of each program and line,
//! links failures to the later success of the same command or test and to what was changed between, finds repeated
//! failures, and counts which steps followed each other. [`how`], [`fix`], [`blame`] and [`patterns`] combine the
//! outcomes of many sessions.
//!
//! A result that cannot be known is unknown: neither a failure nor a success. A program whose exit code is hidden by a
//! pipe, or shared with other programs of its line, is counted separately from programs that ran alone, unless its
//! output says how it went. No rate is given for fewer than [`TOO_FEW`] outcomes.
//!
//! # Decisions
//!
//! - The digest of an episode is the input here, so `episode` is the lower crate.

mod asked_check;
mod asked_command;
mod blame;
mod builder;
mod diagram;
mod failure_account;
mod failure_history;
mod file_query;
mod fix;
mod forks;
mod general;
mod how;
mod likeness;
mod mends;
mod patterns;
mod pieces;
mod project;
mod rate;
mod retry;
mod run;
mod sequence;
#[cfg(test)]
mod tests;
mod touched;

/// The words of all rules, see [`baton_words`].
const WORDS: &str = include_str!("words.txt");

pub use blame::{blame, blame_former, blame_keys};
pub use diagram::{Format, draw};
pub use failure_account::AccountReader;
pub use fix::{FixQuery, fix, names_fix, summary, with_accounts};
pub use forks::remove_copies;
pub use how::{how, how_keys, limited_to_newest, with_other_projects};
pub use patterns::{pairs, patterns};
pub use pieces::Pieces;
pub use project::{checks, files};

use std::collections::BTreeSet;

use baton_conversation::item::Item;
use baton_conversation::record::Timestamp;
use baton_episode::digest::Episode;
use baton_events::schema::outcomes::Outcomes;
use baton_graph::Surroundings;

/// Maximum number of programs per session.
pub const MAX_COMMANDS: usize = 120;
/// Maximum number of distinct lines per session.
pub const MAX_LINES: usize = 200;
/// Maximum number of distinct lines per program in a session.
pub const MAX_LINES_OF_ONE: usize = 40;
/// Maximum number of failures per session; the last ones are kept.
pub const MAX_FAILURES: usize = 100;
/// Maximum number of vain attempts per failure, and of files or commands per attempt.
pub const MAX_TRIED: usize = 6;
/// Maximum number of retry loops per session.
pub const MAX_RETRIES: usize = 30;
/// Maximum number of sequences of two, three and four steps per session.
pub const MAX_SEQUENCES: [usize; 3] = [80, 50, 50];
/// Maximum number of files per session; changed files are kept before files that were only read.
pub const MAX_FILES: usize = 300;
/// Maximum number of decisions about files per session; the last ones are kept.
pub const MAX_DECISIONS: usize = 60;
/// Maximum number of renamed files per session; the last ones are kept.
pub const MAX_MOVES: usize = 100;
/// Maximum number of calls per session that are kept individually, the first ones. Calls that a fork copied beyond them
/// count twice.
pub const MAX_CALLS: usize = 2_000;
/// No rate is given for fewer known outcomes.
pub const TOO_FEW: u32 = 3;

/// Maximum length of a command inside a list, in characters.
const SHORT_CHARS: usize = 160;

/// A session and its outcomes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Witness {
    /// Id of the session.
    pub session: String,
    /// Directory of its project.
    pub project: Option<String>,
    /// Title; may be empty.
    pub title: String,
    /// Time at which it ended.
    pub at: Option<Timestamp>,
    /// Its outcomes.
    pub outcomes: Outcomes,
    /// Its individual calls in their stored form: [`decode_calls`](baton_events::schema::outcomes::decode_calls).
    pub calls: String,
}

/// Returns what a session tried and how it went. Total and deterministic. Linear in the items except for failures, each
/// of which is followed over at most 2,000 later calls. Every list is bounded; entries beyond the limits are counted.
/// [`Pieces`] does the same for conversations that are too long to hold.
pub fn outcomes(items: &[Item], episode: &Episode, at: &Surroundings<'_>) -> Outcomes {
    let mut builder = builder::OutcomeBuilder::default();
    builder.add(items, episode, at);
    builder.finish()
}

/// Returns the keys by which a session's outcomes are found: its programs, and the words of its lines; and the last components, the extensions and
/// the directories of files that it read, changed, renamed or decided about.
pub fn search_keys(outcomes: &Outcomes) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    for command in &outcomes.commands {
        keys.insert(how::command_key(&command.name));
        keys.insert(how::program_key(&command.name));
        keys.extend(command.lines.iter().flat_map(how::word_keys));
    }
    let touched = outcomes.files.iter().map(|file| file.path.as_str());
    let moved = outcomes.moves.iter().flat_map(|one| [one.from.as_str(), one.to.as_str()]);
    let decided = outcomes.decisions.iter().flat_map(|one| one.files.iter().map(String::as_str));
    let named = outcomes.decisions.iter().flat_map(|one| touched::file_words(&one.excerpt.text));
    for path in touched.chain(moved).chain(decided).chain(named) {
        keys.insert(file_key(path));
        keys.extend(file_query::folder_keys(path));
    }
    keys
}

/// Returns the key of all files with the same last component; surrounding punctuation and a trailing line number are
/// ignored.
pub fn file_key(path: &str) -> String {
    format!("f:{}", last_part(&file_query::normalise(path)).to_lowercase())
}

/// Returns the last component of a path.
fn last_part(path: &str) -> &str {
    path.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Returns all failures of a session as text, one per line, for searching.
pub fn errors_text(outcomes: &Outcomes) -> String {
    let mut text = String::new();
    for failure in &outcomes.failures {
        text.push_str(&failure.text);
        text.push('\n');
    }
    text
}
