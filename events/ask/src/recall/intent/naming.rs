//! Which projects a question names: `in ledger-api`, `harbor-ui's`, `in this project`.
//!
//! # Hazards
//!
//! - A project whose name is an ordinary word restricts a question only after `in` or beside `project`. If nothing is
//!   found there, the question is repeated for all projects, and the answer says so.

use std::ops::Range;

use super::phrasing::Phrasing;
use super::words;

/// The projects that a question names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Named {
    /// None.
    #[default]
    None,
    /// The project of the directory in which the question is asked: `in this project`.
    Here,
    /// Known projects.
    Called {
        /// Each as it is in the list of known names.
        names: Vec<String>,
        /// True if only the name itself suggests it: no `in` before it, no `project` beside it.
        loosely: bool,
    },
}

/// Maximum number of projects that one question may name.
const MOST: usize = 4;
/// Prepositions that put something into a project.
const INSIDE: [&str; 4] = ["in", "within", "inside", "across"];
/// Prepositions that may precede a project.
const BEFORE: [&str; 9] = ["in", "within", "inside", "across", "for", "of", "on", "from", "at"];
/// Words for a project.
const PROJECT: [&str; 6] = ["project", "repo", "repository", "codebase", "workspace", "app"];
/// Words that are no place after `in the`.
const NO_PLACE: [&str; 7] = ["end", "beginning", "meantime", "meanwhile", "past", "future", "first"];
/// Words that point at the current project.
const THIS: [&str; 5] = ["this", "our", "my", "current", "the"];

/// Returns the projects that are named and removes their words, including those that mark them as projects.
pub(super) fn take_projects(phrasing: &mut Phrasing, known: &[String]) -> Named {
    let mut names: Vec<String> = Vec::new();
    let mut loosely = true;
    let mut parts: Vec<(Vec<String>, &String)> =
        known.iter().map(|name| (words(name), name)).filter(|(parts, _)| !parts.is_empty()).collect();
    // Longest names first: `ledger-api-client` does not name `ledger-api`.
    parts.sort_by_key(|(parts, _)| std::cmp::Reverse(parts.len()));
    for (parts, name) in &parts {
        let mut from = 0;
        while let Some((range, is_plain)) = next_occurrence(phrasing, parts, from) {
            from = range.start + 1;
            if names.len() >= MOST {
                break;
            }
            if let Some(whole) = naming_range(phrasing, &range, parts.len()) {
                loosely &= !is_plain && whole == range;
                phrasing.remove(whole);
                names.push((*name).clone());
            }
        }
    }
    if !names.is_empty() {
        return Named::Called { names, loosely };
    }
    match current_project(phrasing) {
        Some(range) => {
            phrasing.remove(range);
            Named::Here
        }
        None => Named::None,
    }
}

/// Returns the next occurrence of a name, and whether it is written as several words.
fn next_occurrence(phrasing: &Phrasing, parts: &[String], from: usize) -> Option<(Range<usize>, bool)> {
    let fits = |start: usize| parts.iter().zip(start..).all(|(part, at)| phrasing.word(at) == Some(part.as_str()));
    let start = (from..phrasing.len()).find(|start| fits(*start))?;
    let range = start..start + parts.len();
    let is_piece = phrasing.is_piece(&range);
    Some((range, !is_piece))
}

/// Returns the range that names a project, including the words that mark it; `None` if it may be an ordinary word.
fn naming_range(phrasing: &Phrasing, range: &Range<usize>, parts: usize) -> Option<Range<usize>> {
    let is = |place: Option<usize>, list: &[&str]| {
        place.and_then(|place| phrasing.word(place)).is_some_and(|word| list.contains(&word))
    };
    let mut found = range.clone();
    let is_piece = phrasing.is_piece(range);
    // Part of a path or of a longer name.
    if !is_piece && (parts == 1 || range.clone().any(|place| !phrasing.is_piece(&(place..place + 1)))) {
        return None;
    }
    let behind = is(Some(found.end), &PROJECT);
    found.end += usize::from(behind);
    let before = is(found.start.checked_sub(1), &PROJECT);
    found.start -= usize::from(before);
    let article = is(found.start.checked_sub(1), &THIS);
    let start = found.start - usize::from(article);
    let preposition = start.checked_sub(1).filter(|at| is(Some(*at), &BEFORE));
    let inside = is(preposition, &INSIDE);
    if let Some(preposition) = preposition {
        found.start = preposition;
    }
    let is_last = found.end >= phrasing.len();
    let is_said = behind || before || inside || preposition.is_some() && (parts > 1 || is_last);
    (is_said || is_piece && parts > 1).then_some(found)
}

/// Returns the unknown name at the end, after `in`: `in nosuchproject`, `in the nosuchproject repo`.
pub(super) fn unknown_project(phrasing: &Phrasing) -> Option<String> {
    let is = |place: usize, list: &[&str]| phrasing.word(place).is_some_and(|word| list.contains(&word));
    let last = phrasing.len().checked_sub(1)?;
    let end = if is(last, &PROJECT) { last } else { last + 1 };
    let start = (0..end).rev().find(|start| phrasing.is_piece(&(*start..end)))?;
    let before = start.checked_sub(1)?;
    let before = if is(before, &THIS) { before.checked_sub(1)? } else { before };
    let written = phrasing.written(start).filter(|_| is(before, &INSIDE) && !is(start, &NO_PLACE))?;
    Some(written.to_owned())
}

/// Matches `in this project`, `of our repo`, and `here` at the end.
fn current_project(phrasing: &Phrasing) -> Option<Range<usize>> {
    let last = phrasing.len().checked_sub(1)?;
    if phrasing.word(last) == Some("here") {
        let before = last.checked_sub(1).filter(|at| phrasing.word(*at) == Some("in"));
        return Some(before.unwrap_or(last)..last + 1);
    }
    let at = (1..phrasing.len()).find(|at| {
        let is = |place: usize, list: &[&str]| phrasing.word(place).is_some_and(|word| list.contains(&word));
        is(*at, &PROJECT) && is(at - 1, &THIS)
    })?;
    let before =
        (at - 1).checked_sub(1).filter(|before| phrasing.word(*before).is_some_and(|word| BEFORE.contains(&word)));
    Some(before.unwrap_or(at - 1)..at + 1)
}
