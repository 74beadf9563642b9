//! What was tried and how it went: from the recorded results of tools, never from what somebody said of them.
//!
//! [`outcomes`] is a pure function of a session's items and their digest. It counts the runs of each program and line,
//! ties failures to the later success of the same command or test and to what was changed between, finds what was tried
//! again and again, and counts which steps followed each other. [`how`], [`fix`], [`blame`] and [`patterns`] put the
//! outcomes of many sessions together.
//!
//! What nobody can know is unknown: neither a failure nor a success. A program whose exit code a pipe hides, or that shares
//! it with others, counts apart from those that ended by themselves, unless its output says how it went. Of fewer than [`TOO_FEW`] outcomes nothing is claimed.

mod account;
mod blame;
mod copied;
mod drawing;
mod fix;
mod how;
mod likeness;
mod patterns;
mod pieces;
mod place;
mod rate;
mod retry;
mod run;
mod sequence;
#[cfg(test)]
mod tests;
mod touched;
mod trouble;

pub use blame::{blame, former as blame_former, keys as blame_keys};
pub use copied::once;
pub use drawing::{Format, draw};
pub use fix::{Asked, fix};
pub use how::{how, keys as how_keys, of_newest, with_other_projects};
pub use patterns::patterns;
pub use pieces::Pieces;

use std::collections::BTreeSet;

use baton_conversation::item::Item;
use baton_conversation::record::Timestamp;
use baton_episode::digest::Episode;
use baton_events::schema::outcomes::Outcomes;
use baton_graph::Surroundings;

/// Most programs of one session.
pub const MAX_COMMANDS: usize = 120;
/// Most different lines of one session, and of one program in it.
pub const MAX_LINES: usize = 200;
/// See [`MAX_LINES`].
pub const MAX_LINES_OF_ONE: usize = 40;
/// Most failures of one session, the last ones.
pub const MAX_TROUBLES: usize = 100;
/// Most attempts in vain of one failure, and most files or commands of one attempt.
pub const MAX_TRIED: usize = 6;
/// Most runs of failures of one session.
pub const MAX_RETRIES: usize = 30;
/// Most sequences of two, of three and of four steps of one session.
pub const MAX_SEQUENCES: [usize; 3] = [80, 50, 50];
/// Most files of one session: what was changed is kept before what was read.
pub const MAX_FILES: usize = 300;
/// Most decisions of one session that have to do with a file, the last ones.
pub const MAX_DECISIONS: usize = 60;
/// Most renamed files of one session, the last ones.
pub const MAX_MOVES: usize = 100;
/// Most calls of one session that are kept one by one, the first ones: what a fork has copied beyond them counts twice.
pub const MAX_CALLS: usize = 2_000;
/// Of fewer known outcomes no rate is told.
pub const TOO_FEW: u32 = 3;

/// Longest command inside a list, in characters.
const SHORT_CHARS: usize = 160;

/// A session, with what it tried.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Witness {
    /// The session's id.
    pub session: String,
    /// The project's directory.
    pub project: Option<String>,
    /// The session's title; may be empty.
    pub title: String,
    /// When it ended.
    pub at: Option<Timestamp>,
    /// What it tried.
    pub outcomes: Outcomes,
    /// Its calls one by one, as they are stored: [`decode_calls`](baton_events::schema::outcomes::decode_calls).
    pub calls: String,
}

/// What a session tried and how it went. Total and deterministic; linear in the items but for failures, each of which is
/// followed over at most 2,000 later calls. Every list is bounded, and what is beyond the bounds is counted. For what is too
/// long to be held see [`Pieces`].
pub fn outcomes(items: &[Item], episode: &Episode, at: &Surroundings<'_>) -> Outcomes {
    let mut account = account::Account::default();
    account.take(items, episode, at);
    account.finish()
}

/// The keys by which a session's outcomes are found: its programs; the last parts of the files that it read, changed,
/// renamed or decided about, their endings, and the directories that they lie in.
pub fn keys(outcomes: &Outcomes) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    for command in &outcomes.commands {
        keys.insert(how::command_key(&command.name));
        keys.insert(how::program_key(&command.name));
    }
    let touched = outcomes.files.iter().map(|file| file.path.as_str());
    let moved = outcomes.moves.iter().flat_map(|one| [one.from.as_str(), one.to.as_str()]);
    let decided = outcomes.decisions.iter().flat_map(|one| one.files.iter().map(String::as_str));
    let named = outcomes.decisions.iter().flat_map(|one| touched::file_words(&one.said.text));
    for path in touched.chain(moved).chain(decided).chain(named) {
        keys.insert(file_key(path));
        keys.extend(blame::folder_keys(path));
    }
    keys
}

/// The key of all files with the same last part; marks around it and a line number behind do not count.
pub fn file_key(path: &str) -> String {
    format!("f:{}", last_part(&blame::normal(path)).to_lowercase())
}

/// The last part of a path.
fn last_part(path: &str) -> &str {
    path.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or(path)
}

/// All failures of a session as text, one a line, to find them by.
pub fn errors_text(outcomes: &Outcomes) -> String {
    let mut text = String::new();
    for trouble in &outcomes.troubles {
        text.push_str(&trouble.text);
        text.push('\n');
    }
    text
}
