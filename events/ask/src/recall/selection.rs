//! Selects what is told from all gathered entries: what was asked for, and only what supports it.
//!
//! A complete answer ends: the budget is not filled with what was not asked for. Entries that match much worse than the
//! best are dropped, and one transcript line is told once, even if several entries came from it.

use super::intent::{Intent, Kind, words};
use super::{Entry, Sort};
use baton_episode::digest::Episode;

/// Minimum share of the subject that an entry must have to be an answer.
pub(super) const LEAST_FIT: f32 = 0.4;
/// Minimum worth, relative to the best entry, of an entry that was not asked for, if nothing that was asked for is
/// known.
const LEAST_WORTH: f32 = 0.25;
/// Maximum number of passages beside an answer, and their minimum fit.
const SUPPORTING: usize = 3;
const SUPPORTING_FIT: f32 = 0.5;
/// Share of a text's words that another text must have to say the same.
const SAME: f32 = 0.8;
/// Separates the failure from the fix in a fact.
const FACT_MENDED: &str = " was resolved by ";

/// The selected entries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// The entries, in no particular order.
    pub entries: Vec<Entry>,
    /// Requested kinds without any known entry; empty if any of them has one.
    pub unknown: Vec<Kind>,
    /// Words of the subject that no gathered entry has.
    pub unsaid: Vec<String>,
}

/// Selects the entries to tell. For a question without a known kind, entries are selected by their worth.
pub fn select(asked: &Intent, mut entries: Vec<Entry>) -> Selection {
    let unsaid = asked.missing(entries.iter().map(|entry| entry.text.as_str()));
    entries.retain(|entry| entry.worth > 0.0 && !entry.text.trim().is_empty());
    if asked.kinds.is_empty() {
        merge_facts(&mut entries);
        drop_unworthy(&mut entries);
        drop_repeated_passages(&mut entries);
        return Selection { entries, unknown: Vec::new(), unsaid };
    }
    let (mut answers, mut others): (Vec<Entry>, Vec<Entry>) =
        entries.into_iter().partition(|entry| asked.kinds.iter().any(|kind| is_of(entry, *kind)));
    merge_facts(&mut answers);
    // A question about an unfixed error is not answered by the fix of another one.
    let is_unsolved = |entry: &Entry| asked.is(Kind::Solved) && entry.sort == Sort::Failed && entry.answers;
    let unsolved = others.iter().filter(|entry| is_unsolved(entry));
    let best = answers.iter().chain(unsolved).map(|entry| entry.fit).fold(0.0, f32::max);
    answers.retain(|entry| {
        let share = asked.kinds.iter().filter(|kind| is_of(entry, **kind)).map(|kind| nearness(*kind));
        entry.fit >= LEAST_FIT && entry.fit >= best * share.fold(1.0, f32::min)
    });
    // A session alone does not answer which files belong to it.
    let is_answered = answers.iter().any(|entry| !asked.is(Kind::Files) || entry.sort != Sort::Session);
    if !is_answered {
        others.append(&mut answers);
        let general = asked.is_general();
        others.retain(|entry| match entry.sort {
            Sort::Passage | Sort::Note | Sort::Answer => true,
            _ if is_unsolved(entry) => entry.fit >= best * nearness(Kind::Solved) && best > 0.0,
            // A session found only by similar words is useful only through its passages.
            _ => !general && entry.fit >= LEAST_FIT,
        });
        drop_unworthy(&mut others);
        drop_repeated_passages(&mut others);
        return Selection { entries: others, unknown: asked.kinds.clone(), unsaid };
    }
    if !asked.is_general() && !asked.is(Kind::Files) {
        let mut beside = supporting(asked, others, &answers);
        answers.append(&mut beside);
    }
    Selection { entries: answers, unknown: Vec::new(), unsaid }
}

/// Adds the entries of `lower` with a worth below those of `told`. If only `lower` knows something of what was asked,
/// nothing counts as unknown any more. A word stays unsaid only if no entry of either has it.
pub fn append_below(told: &mut Selection, lower: Selection) {
    let is_known = |told: &Selection| !told.entries.is_empty() && told.unknown.is_empty();
    if is_known(&lower) && !is_known(told) {
        told.unknown.clear();
        told.unsaid.clone_from(&lower.unsaid);
    }
    told.unsaid.retain(|word| lower.entries.is_empty() || lower.unsaid.contains(word));
    let least = told.entries.iter().map(|entry| entry.worth).fold(1.0, f32::min);
    let most = lower.entries.iter().map(|entry| entry.worth).fold(f32::MIN_POSITIVE, f32::max);
    let sunk = |entry: Entry| Entry { worth: entry.worth / most * least * 0.9, ..entry };
    told.entries.extend(lower.entries.into_iter().map(sunk));
}

/// Returns the passages and notes that support the answers, ranked below them. If a decision is asked for and a passage
/// has more of the subject than any answer, it ranks above: the reason may be given without a word of deciding.
fn supporting(asked: &Intent, mut others: Vec<Entry>, answers: &[Entry]) -> Vec<Entry> {
    let by = |of: fn(&Entry) -> f32, fold: fn(f32, f32) -> f32, from| answers.iter().map(of).fold(from, fold);
    let (least, most) = (by(|entry| entry.worth, f32::min, f32::INFINITY), by(|entry| entry.worth, f32::max, 0.0));
    let best = by(|entry| entry.fit, f32::max, 0.0);
    // Tool output is evidence for an error, not for what someone thought.
    let can = |entry: &Entry| entry.sort == Sort::Note || entry.answers || asked.is(Kind::Solved);
    others.retain(|entry| {
        let fits = entry.sort == Sort::Passage || entry.fit >= SUPPORTING_FIT;
        matches!(entry.sort, Sort::Passage | Sort::Note | Sort::Answer) && fits && can(entry)
    });
    others.sort_by(|a, b| b.worth.total_cmp(&a.worth));
    let is_new = |entry: &Entry| !answers.iter().any(|told| covers(told, entry));
    let mut beside: Vec<Entry> = others.into_iter().filter(is_new).take(SUPPORTING).collect();
    for (entry, number) in beside.iter_mut().zip(0_u8..) {
        let rank = 1.0 - 0.01 * f32::from(number);
        let leads = asked.is(Kind::Decisions) && entry.fit > best;
        entry.worth = if leads { most * 1.1 * rank } else { least * 0.9 * rank };
    }
    beside
}

/// Returns true if an entry is what a kind of question asks for.
fn is_of(entry: &Entry, kind: Kind) -> bool {
    match kind {
        _ if entry.sort == Sort::Note => entry.answers,
        Kind::Decisions | Kind::Solved if entry.sort == Sort::Answer => entry.answers,
        Kind::Latest => matches!(entry.sort, Sort::Session | Sort::Done | Sort::Open | Sort::Next),
        Kind::Open => matches!(entry.sort, Sort::Open | Sort::Next),
        Kind::Preferences => entry.sort == Sort::Fact,
        Kind::Decisions => matches!(entry.sort, Sort::Decision | Sort::Fact),
        Kind::Failed => entry.sort == Sort::Failed,
        Kind::Solved => matches!(entry.sort, Sort::Fixed | Sort::Fact),
        Kind::Files => matches!(entry.sort, Sort::File | Sort::Session),
    }
}

/// Returns the required fit of an answer, relative to the best one. Errors and decisions are meant exactly; approaches
/// are usually described in other words.
fn nearness(kind: Kind) -> f32 {
    match kind {
        Kind::Solved | Kind::Decisions => 0.65,
        Kind::Files => 0.6,
        Kind::Latest | Kind::Open | Kind::Preferences | Kind::Failed => 0.5,
    }
}

fn drop_unworthy(entries: &mut Vec<Entry>) {
    let best = entries.iter().map(|entry| entry.worth).fold(0.0, f32::max);
    entries.retain(|entry| entry.worth >= best * LEAST_WORTH);
}

/// Drops passages whose content another entry has.
fn drop_repeated_passages(entries: &mut Vec<Entry>) {
    let others: Vec<Entry> = entries.iter().filter(|entry| entry.sort != Sort::Passage).cloned().collect();
    entries.retain(|entry| entry.sort != Sort::Passage || !others.iter().any(|other| covers(other, entry)));
}

/// Returns true if the entry is at the passage's line or has all of its words; a fact taken from a note, all words of
/// the note.
fn covers(entry: &Entry, passage: &Entry) -> bool {
    let is_taken = entry.sort == Sort::Fact && passage.sort == Sort::Note;
    entry.session == passage.session
        && (entry.line.is_some() && entry.line == passage.line
            || entry.line.is_none() && has_all(&entry.text, &passage.text)
            || is_taken && has_all(&entry.text, content(&passage.text)))
}

/// Merges facts into entries of the same session that say the same: the entry keeps its text and takes the fact's uuid.
fn merge_facts(entries: &mut Vec<Entry>) {
    let (facts, mut kept): (Vec<Entry>, Vec<Entry>) = entries.drain(..).partition(|entry| entry.sort == Sort::Fact);
    for fact in facts {
        let said = kept.iter_mut().find(|entry| {
            entry.session == fact.session
                && match entry.sort {
                    Sort::Decision => entry.line == fact.line && has_all(&fact.text, &entry.text),
                    Sort::Fixed => fixed_error(&fact.text).is_some_and(|error| has_all(&entry.text, error)),
                    // An ended fact of a note that says more stays separate.
                    Sort::Note => {
                        has_all(&entry.text, content(&fact.text))
                            && (fact.ended.is_none() || has_all(&fact.text, &entry.text))
                    }
                    _ => false,
                }
        });
        match said {
            Some(entry) => {
                entry.uuid = entry.uuid.or(fact.uuid);
                entry.ended = entry.ended.or(fact.ended);
                (entry.worth, entry.fit) = match entry.ended {
                    // A second source does not raise the worth of what no longer holds.
                    Some(_) => (entry.worth.min(fact.worth), entry.fit.max(fact.fit)),
                    None => (entry.worth.max(fact.worth), entry.fit.max(fact.fit)),
                };
            }
            None => kept.push(fact),
        }
    }
    *entries = kept;
}

/// Returns the content of a fact or note, without its prefix, such as `decided in shop: …` or its name.
fn content(told: &str) -> &str {
    told.split_once(": ").map_or(told, |(_, said)| said)
}

/// Returns the error that a fact says was fixed, without the project after it.
fn fixed_error(fact: &str) -> Option<&str> {
    let (error, _) = fact.split_once(FACT_MENDED)?;
    Some(error.rsplit_once(" in ").map_or(error, |(error, _)| error))
}

/// Returns true if a passage says what the session itself replaced later.
pub fn is_superseded(episode: &Episode, line: u64, text: &str) -> bool {
    episode.superseded.iter().any(|said| said.line == line && has_all(text, &said.text))
}

/// Returns true if a text has nearly all words of another.
fn has_all(text: &str, other: &str) -> bool {
    let (there, wanted) = (words(text), words(other));
    let has = wanted.iter().filter(|word| there.contains(word)).count();
    !wanted.is_empty() && has as f32 >= wanted.len() as f32 * SAME
}
