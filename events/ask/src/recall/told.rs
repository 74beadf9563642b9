//! What of all that was gathered is told: what was asked for, and beside it only what supports it.
//!
//! When the answer is complete it ends: what nobody asked for fills no budget. What fits much worse than the best is left
//! out, and what one line of a transcript says is told once, whoever drew it out.

use super::asked::{Asked, Kind, is_form, words};
use super::{Entry, Sort};

/// The share of what a question is about that an entry must have to answer it.
const LEAST_FIT: f32 = 0.4;
/// What an entry that was not asked for must be worth of the best, where nothing that was asked for is known.
const LEAST_WORTH: f32 = 0.25;
/// Most passages beside an answer, and what they must have of what it is about.
const SUPPORTING: usize = 3;
const SUPPORTING_FIT: f32 = 0.5;
/// The share of the words of one text that another must have to say the same.
const SAME: f32 = 0.8;
/// What stands between what failed and what mended it, in a fact.
const FACT_MENDED: &str = " was resolved by ";

/// What is told of a question.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Told {
    /// What is told, in no order.
    pub entries: Vec<Entry>,
    /// Kinds that were asked for and of which nothing is known; none where any of them is.
    pub unknown: Vec<Kind>,
    /// Words of what is asked that nothing has that was gathered.
    pub unsaid: Vec<String>,
}

/// Chooses. Entries of a question of no kind are told as far as they are worth it.
pub fn told(asked: &Asked, mut entries: Vec<Entry>) -> Told {
    let unsaid = unsaid(asked, &entries);
    entries.retain(|entry| entry.worth > 0.0 && !entry.text.trim().is_empty());
    if asked.kinds.is_empty() {
        merge(&mut entries);
        worth_it(&mut entries);
        without_told(&mut entries);
        return Told { entries, unknown: Vec::new(), unsaid };
    }
    let (mut answers, mut others): (Vec<Entry>, Vec<Entry>) =
        entries.into_iter().partition(|entry| asked.kinds.iter().any(|kind| is_of(entry, *kind)));
    merge(&mut answers);
    // Who asks for an error that was never mended does not want what mended another one.
    let is_unsolved = |entry: &Entry| asked.is(Kind::Solved) && entry.sort == Sort::Failed && entry.answers;
    let unsolved = others.iter().filter(|entry| is_unsolved(entry));
    let best = answers.iter().chain(unsolved).map(|entry| entry.fit).fold(0.0, f32::max);
    answers.retain(|entry| {
        let share = asked.kinds.iter().filter(|kind| is_of(entry, **kind)).map(|kind| nearness(*kind));
        entry.fit >= LEAST_FIT && entry.fit >= best * share.fold(1.0, f32::min)
    });
    // A session alone is none of its files.
    let is_answered = answers.iter().any(|entry| !asked.is(Kind::Files) || entry.sort != Sort::Session);
    if !is_answered {
        others.append(&mut answers);
        let general = asked.is_general();
        others.retain(|entry| match entry.sort {
            Sort::Passage | Sort::Note => true,
            _ if is_unsolved(entry) => entry.fit >= best * nearness(Kind::Solved) && best > 0.0,
            // One that was found by what is near its words says something only with its passages.
            _ => !general && entry.fit >= LEAST_FIT,
        });
        worth_it(&mut others);
        without_told(&mut others);
        return Told { entries: others, unknown: asked.kinds.clone(), unsaid };
    }
    if !asked.is_general() && !asked.is(Kind::Files) {
        let mut beside = supporting(asked, others, &answers);
        answers.append(&mut beside);
    }
    Told { entries: answers, unknown: Vec::new(), unsaid }
}

/// Puts what is told of one set of sessions below what is told of another, whatever it is worth; where that knows nothing of
/// what was asked, this may.
pub fn below(told: &mut Told, lower: Told) {
    let is_known = |told: &Told| !told.entries.is_empty() && told.unknown.is_empty();
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

/// The passages and notes that support answers: below them, unless a decision is asked for and they have more of what it is
/// about than any answer, for its reason may be told without a word of deciding.
fn supporting(asked: &Asked, mut others: Vec<Entry>, answers: &[Entry]) -> Vec<Entry> {
    let by = |of: fn(&Entry) -> f32, fold: fn(f32, f32) -> f32, from| answers.iter().map(of).fold(from, fold);
    let (least, most) = (by(|entry| entry.worth, f32::min, f32::INFINITY), by(|entry| entry.worth, f32::max, 0.0));
    let best = by(|entry| entry.fit, f32::max, 0.0);
    // What a tool printed tells of an error, and of nothing that somebody thought.
    let can = |entry: &Entry| entry.sort == Sort::Note || entry.answers || asked.is(Kind::Solved);
    others
        .retain(|entry| matches!(entry.sort, Sort::Passage | Sort::Note) && entry.fit >= SUPPORTING_FIT && can(entry));
    others.sort_by(|a, b| b.worth.total_cmp(&a.worth));
    let is_new = |entry: &Entry| !answers.iter().any(|told| says(told, entry));
    let mut beside: Vec<Entry> = others.into_iter().filter(is_new).take(SUPPORTING).collect();
    for (entry, number) in beside.iter_mut().zip(0_u8..) {
        let rank = 1.0 - 0.01 * f32::from(number);
        let leads = asked.is(Kind::Decisions) && entry.fit > best;
        entry.worth = if leads { most * 1.1 * rank } else { least * 0.9 * rank };
    }
    beside
}

/// The words of what is asked that nothing has.
fn unsaid(asked: &Asked, entries: &[Entry]) -> Vec<String> {
    let there: Vec<String> = entries.iter().flat_map(|entry| words(&entry.text)).collect();
    let has = |wanted: &&String| !there.iter().any(|word| is_form(word, wanted));
    asked.about.iter().filter(has).cloned().collect()
}

/// Whether an entry is what a kind of question asks for.
fn is_of(entry: &Entry, kind: Kind) -> bool {
    match kind {
        _ if entry.sort == Sort::Note => entry.answers,
        Kind::Latest => matches!(entry.sort, Sort::Session | Sort::Done | Sort::Open | Sort::Next),
        Kind::Open => matches!(entry.sort, Sort::Open | Sort::Next),
        Kind::Preferences => entry.sort == Sort::Fact,
        Kind::Decisions => matches!(entry.sort, Sort::Decision | Sort::Fact),
        Kind::Failed => entry.sort == Sort::Failed,
        Kind::Solved => matches!(entry.sort, Sort::Fixed | Sort::Fact),
        Kind::Files => matches!(entry.sort, Sort::File | Sort::Session),
    }
}

/// What an answer must have of the best one's fit. An error or a choice is meant exactly; an approach is mostly told in
/// other words.
fn nearness(kind: Kind) -> f32 {
    match kind {
        Kind::Solved | Kind::Decisions => 0.65,
        Kind::Files => 0.6,
        Kind::Latest | Kind::Open | Kind::Preferences | Kind::Failed => 0.5,
    }
}

fn worth_it(entries: &mut Vec<Entry>) {
    let best = entries.iter().map(|entry| entry.worth).fold(0.0, f32::max);
    entries.retain(|entry| entry.worth >= best * LEAST_WORTH);
}

/// Passages of which another entry says all leave.
fn without_told(entries: &mut Vec<Entry>) {
    let others: Vec<Entry> = entries.iter().filter(|entry| entry.sort != Sort::Passage).cloned().collect();
    entries.retain(|entry| entry.sort != Sort::Passage || !others.iter().any(|other| says(other, entry)));
}

/// Whether an entry stands at a passage's place, or has all of its words; a fact that was taken from a note, those of the note.
fn says(entry: &Entry, passage: &Entry) -> bool {
    let is_taken = entry.sort == Sort::Fact && passage.sort == Sort::Note;
    entry.session == passage.session
        && (entry.line.is_some() && entry.line == passage.line
            || entry.line.is_none() && has_all(&entry.text, &passage.text)
            || is_taken && has_all(&entry.text, stated(&passage.text)))
}

/// Facts that say what an entry of their session says go into it: it keeps its words, and has the fact's uuid.
fn merge(entries: &mut Vec<Entry>) {
    let (facts, mut kept): (Vec<Entry>, Vec<Entry>) = entries.drain(..).partition(|entry| entry.sort == Sort::Fact);
    for fact in facts {
        let said = kept.iter_mut().find(|entry| {
            entry.session == fact.session
                && match entry.sort {
                    Sort::Decision => entry.line == fact.line && has_all(&fact.text, &entry.text),
                    Sort::Fixed => mended(&fact.text).is_some_and(|error| has_all(&entry.text, error)),
                    // What has ended of a note that says more is told by itself.
                    Sort::Note => {
                        has_all(&entry.text, stated(&fact.text))
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
                    // What ceased to hold is not worth more because somebody else says so, too.
                    Some(_) => (entry.worth.min(fact.worth), entry.fit.max(fact.fit)),
                    None => (entry.worth.max(fact.worth), entry.fit.max(fact.fit)),
                };
            }
            None => kept.push(fact),
        }
    }
    *entries = kept;
}

/// What a fact or a note says: without what it is, as in `decided in shop: …`, and without its name.
fn stated(told: &str) -> &str {
    told.split_once(": ").map_or(told, |(_, said)| said)
}

/// What was mended, by a fact: without the project that stands behind it.
fn mended(fact: &str) -> Option<&str> {
    let (error, _) = fact.split_once(FACT_MENDED)?;
    Some(error.rsplit_once(" in ").map_or(error, |(error, _)| error))
}

/// Whether a text has nearly all words of another.
fn has_all(text: &str, other: &str) -> bool {
    let (there, wanted) = (words(text), words(other));
    let has = wanted.iter().filter(|word| there.contains(word)).count();
    !wanted.is_empty() && has as f32 >= wanted.len() as f32 * SAME
}
