//! Which parts of an outline are told within a bound: heads before bodies, and the section that answers the request first.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::super::clause::clause_within;
use super::super::excerpt::closed;
use super::outline::{Kind, Part};
use crate::lexicon::{Sign, Signs};

/// Maximum length, in characters.
pub(in super::super) const MAX_CHARS: usize = 560;
/// Maximum length of the head of an item of many, in characters.
const SHORT_CHARS: usize = 90;
/// A section answers a request if it takes up so many more of its words than any other.
const CLEARLY_MORE: usize = 2;
/// Fewest letters of a word of a request that an answer takes up.
const WORD_CHARS: usize = 4;
/// Further sentences are told up to this length, in characters.
const FURTHER_CHARS: usize = 400;

/// Returns the parts that fit, in the order of the message.
pub(super) fn select(mut parts: Vec<Part>, request: &str) -> String {
    shorten_heads(&mut parts);
    let mut selection = Selection::new(&parts);
    let ranks = ranks(&parts, answering_section(&parts, request));
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|at| ranks[*at]);
    let further = MAX_CHARS - FURTHER_CHARS;
    for is_again in [false, true] {
        for &at in &order {
            let spared = if ranks[at].0 == Rank::Further { further } else { 0 };
            if !is_again || !matches!(parts[at].kind, Kind::Heading | Kind::Label) {
                selection.tell(at, selection.left.saturating_sub(spared));
            }
        }
        selection.drop_bare_headings();
    }
    // So most are told whole.
    order.sort_by_key(|at| parts[*at].whole.len());
    order.iter().for_each(|at| selection.tell_whole(*at));
    selection.text()
}

/// Shortens the heads of the items if they do not all fit.
fn shorten_heads(parts: &mut [Part]) {
    if parts.iter().map(|part| part.head.chars().count() + 2).sum::<usize>() > MAX_CHARS {
        for part in parts.iter_mut().filter(|part| part.kind == Kind::Item) {
            part.head = clause_within(&part.head, SHORT_CHARS).unwrap_or_else(|| std::mem::take(&mut part.head));
        }
    }
}

/// How soon a part is told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    First,
    Head,
    Below,
    Further,
}

/// Returns the rank of every part, and its place among those of the same rank.
fn ranks(parts: &[Part], best: Option<usize>) -> Vec<(Rank, bool, usize)> {
    let named: BTreeSet<usize> =
        parts.iter().filter(|part| matches!(part.kind, Kind::Heading | Kind::Label)).map(|part| part.section).collect();
    let is_sentence = |part: &&Part| part.kind == Kind::Sentence;
    let first = parts.iter().position(|part| part.kind == Kind::Sentence && !named.contains(&part.section));
    let changes = |part: &&Part| is_sentence(part) && Signs::read(&part.whole).has(Sign::Change);
    let change = parts.iter().position(|part| changes(&part)).filter(|_| first.is_none_or(|at| !changes(&&parts[at])));
    let closing = parts.iter().position(|part| part.closes && part.kind == Kind::Sentence);
    let mut count = 0;
    let rank = |(at, part): (usize, &Part)| {
        let begins = at.checked_sub(1).is_none_or(|before| parts[before].section != part.section);
        count = if begins { 0 } else { count + 1 };
        let is_named = named.contains(&part.section);
        let rank = match part.kind {
            _ if Some(at) == first => Rank::First,
            Kind::Heading | Kind::Label => Rank::Head,
            _ if Some(at) == change || Some(at) == closing => Rank::Head,
            Kind::Item | Kind::Lead if !is_named => Rank::Head,
            Kind::Item | Kind::Lead => Rank::Below,
            Kind::Sentence if is_named && count <= 1 || part.whole.contains('`') => Rank::Below,
            Kind::Sentence => Rank::Further,
        };
        (rank, best.is_some_and(|best| best != part.section), count)
    };
    parts.iter().enumerate().map(rank).collect()
}

/// Returns the section that takes up clearly more words of a request than any other.
fn answering_section(parts: &[Part], request: &str) -> Option<usize> {
    let words = |text: &str| -> BTreeSet<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() >= WORD_CHARS);
        words.map(str::to_lowercase).collect()
    };
    let asked = words(request);
    let mut found: Vec<(usize, BTreeSet<String>)> = Vec::new();
    for part in parts {
        if found.last().is_none_or(|(section, _)| *section != part.section) {
            found.push((part.section, BTreeSet::new()));
        }
        let known = found.last_mut().map(|(_, known)| known);
        known.into_iter().for_each(|known| known.extend(words(&part.whole).intersection(&asked).cloned()));
    }
    found.sort_by_key(|(_, known)| usize::MAX - known.len());
    let (best, known) = found.first()?;
    let other = found.get(1).map_or(0, |(_, known)| known.len());
    (known.len() >= other + CLEARLY_MORE).then_some(*best)
}

/// The parts that are told so far.
struct Selection<'p> {
    parts: &'p [Part],
    /// The lead that an item stands behind.
    leads: Vec<Option<usize>>,
    /// The label that a part belongs to.
    labels: Vec<Option<usize>>,
    told: Vec<Option<Cow<'p, str>>>,
    /// The sections of which no more items fit.
    full: BTreeSet<usize>,
    left: usize,
}

impl<'p> Selection<'p> {
    fn new(parts: &'p [Part]) -> Self {
        let (mut lead, mut label) = (None, None);
        let known = parts.iter().enumerate().map(|(at, part)| {
            let before = label.filter(|label: &usize| parts[*label].section == part.section);
            label = if part.kind == Kind::Label { Some(at) } else { before };
            if part.kind != Kind::Item {
                lead = Some(at).filter(|_| part.kind == Kind::Lead);
            }
            (lead, before)
        });
        let (leads, labels) = known.unzip();
        Self { parts, leads, labels, told: vec![None; parts.len()], full: BTreeSet::new(), left: MAX_CHARS }
    }

    /// Tells the head of a part if it fits, with the lead that it stands behind.
    fn tell(&mut self, at: usize, room: usize) {
        if !self.is_reached(at) {
            return;
        }
        let lead = self.leads[at].filter(|lead| self.told[*lead].is_none());
        let cost = |at: usize| self.parts[at].head.chars().count() + 2;
        let costs = cost(at) + lead.map_or(0, |lead| if lead == at { 0 } else { cost(lead) });
        let is_item = self.parts[at].kind == Kind::Item;
        let section = self.parts[at].section;
        if self.told[at].is_some() || lead == Some(at) || is_item && self.full.contains(&section) {
            return;
        }
        if costs > room.min(self.left) {
            // The items of a list are told without gaps.
            self.full.extend(is_item.then_some(section));
            return;
        }
        self.left -= costs;
        [Some(at), lead].into_iter().flatten().for_each(|at| self.told[at] = Some(Cow::Borrowed(&self.parts[at].head)));
    }

    /// Returns true unless a part goes on from a label that cannot be told whole.
    fn is_reached(&mut self, at: usize) -> bool {
        let label = self.labels[at];
        label.is_none_or(|label| {
            self.tell_whole(label);
            self.told[label].as_ref().is_some_and(|told| told.len() == self.parts[label].whole.len())
        })
    }

    /// Tells all of a part whose head is told, or as many of its clauses as fit.
    fn tell_whole(&mut self, at: usize) {
        let Some(told) = &self.told[at] else { return };
        let (whole, known) = (&self.parts[at].whole, told.chars().count());
        let more = clause_within(whole, known + self.left).filter(|more| more.chars().count() > known);
        if let Some(more) = more {
            self.left -= more.chars().count() - known;
            self.told[at] = Some(Cow::Owned(more));
        }
    }

    /// Returns what is told, in the order of the message.
    fn text(&self) -> String {
        let mut text = String::new();
        let mut last: Option<&Part> = None;
        let mut more = 0;
        for (part, told) in self.parts.iter().zip(&self.told) {
            let goes_on = last.is_some_and(|last| last.section == part.section);
            let Some(told) = told else {
                more +=
                    usize::from(part.kind == Kind::Item && goes_on && last.is_some_and(|last| last.kind == Kind::Item));
                continue;
            };
            if part.kind != Kind::Item || !goes_on {
                text.push_str(&and_more(&mut more));
            }
            text = match last.map(|last| last.kind) {
                None => text,
                Some(Kind::Item) if part.kind == Kind::Item => text + "; ",
                Some(Kind::Heading) if goes_on && !last.is_some_and(|last| last.whole.contains(": ")) => text + ": ",
                Some(_) => closed(text) + " ",
            };
            text.push_str(told);
            last = Some(part);
        }
        text + &and_more(&mut more)
    }

    /// Drops the headings that name no code and no number and have nothing told below them.
    fn drop_bare_headings(&mut self) {
        let mut below = None;
        for (at, part) in self.parts.iter().enumerate().rev() {
            let Some(told) = &self.told[at] else { continue };
            let names = told.contains(['`', '(']) || told.contains(|c: char| c.is_ascii_digit());
            if part.kind == Kind::Heading && below != Some(part.section) && !names {
                self.left += told.chars().count() + 2;
                self.told[at] = None;
            }
            below = Some(part.section);
        }
    }
}

/// Counts items that are not told, and begins to count anew.
fn and_more(count: &mut usize) -> String {
    match std::mem::take(count) {
        0 => String::new(),
        count => format!("; and {count} more"),
    }
}
