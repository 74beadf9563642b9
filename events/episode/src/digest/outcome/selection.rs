//! Which parts of an outline are told within a bound: heads before bodies, and the section that answers the request first.
//!
//! A list is told with all its items or not at all: a list that breaks off reads as if it were complete.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::super::clause::clause_within;
use super::super::excerpt::with_full_stop;
use super::super::label::{file_name, is_joint, is_loose};
use super::outline::{Kind, LABEL_ENDS, Part, is_lead, label, statement};
use crate::lexicon::{Sign, Signs};

/// Maximum length, in characters.
pub(in super::super) const MAX_CHARS: usize = 700;
/// Maximum lengths of the head of an item of many, and of one of very many, in characters.
const SHORT_CHARS: [usize; 2] = [90, 64];
/// Words before what replaces a thing.
const REPLACERS: [&str; 6] = ["with", "by", "instead", "durch", "por", "par"];
/// Fewest sections whose headings stand for what they tell.
const MIN_AREAS: usize = 3;
/// A longer sentence that tells a change does without a list, and room for the beginning of one, in characters.
const SUM_CHARS: usize = 160;
const LIST_CHARS: usize = 360;
/// Room for the number of items that are not told, in characters.
const MORE_CHARS: usize = 14;
/// A section answers a request if it takes up so many more of its words than any other.
const CLEARLY_MORE: usize = 2;
/// Fewest letters of a word of a request that an answer takes up.
const WORD_CHARS: usize = 4;
/// Further sentences are told up to this length, in characters.
const FURTHER_CHARS: usize = 400;

/// Returns the parts that fit, in the order of the message. Of work (an empty request) that is too long to be told, only
/// sentences are told if they say what was changed.
pub(super) fn select(mut parts: Vec<Part>, request: &str) -> String {
    shorten_heads(&mut parts);
    let changes = |part: &Part| part.kind == Kind::Sentence && Signs::read(&part.whole).has(Sign::Change);
    let named: BTreeSet<usize> =
        parts.iter().filter(|part| part.names_section() && !part.head.is_empty()).map(|part| part.section).collect();
    let sums_up = |part: &Part| changes(part) && !named.contains(&part.section);
    let is_work = request.is_empty();
    if is_work && length(&parts) > MAX_CHARS {
        // A sum that names nothing adds nothing to the title.
        let (sum, names) = match parts.iter().find(|part| sums_up(part)) {
            Some(sum) if !sum.whole.contains('`') => (with_full_stop(sum.whole.clone()) + " ", true),
            sum => (String::new(), sum.is_none()),
        };
        let areas = || changed_areas(&parts).filter(|_| sum.is_empty()).or_else(|| told_changes(&parts));
        if let Some(areas) = Some(()).filter(|()| names).and_then(|()| areas()) {
            return sum + &areas;
        } else if let Some(told) = begun_list(&parts) {
            return told;
        } else if parts.iter().any(changes) {
            without_lists(&mut parts);
        } else {
            without_lists_of_labels(&mut parts);
        }
    }
    let mut selection = Selection::new(&parts);
    let ranks = ranks(&parts, answering_section(&parts, request), is_work);
    let mut order: Vec<usize> = (0..parts.len()).filter(|at| selection.begins(*at)).collect();
    order.sort_by_key(|at| ranks[*at]);
    let further = MAX_CHARS - FURTHER_CHARS;
    for at in order {
        let spared = if ranks[at].0 == Rank::Further { further } else { 0 };
        selection.tell(at, selection.left.saturating_sub(spared));
    }
    // So most are told whole.
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|at| parts[*at].whole.len());
    order.iter().for_each(|at| selection.tell_whole(*at));
    let told_of = |section: usize| {
        let items = parts.iter().zip(&selection.told).filter(move |(part, _)| is_item_of(part, section));
        items.filter(|(_, told)| told.is_some()).count()
    };
    let frames = |part: &Part| part.kind == Kind::Item || part.names_section() || part.kind == Kind::Lead;
    let is_of_lists = parts.iter().zip(&selection.told).all(|(part, told)| told.is_none() || frames(part));
    let mut sections: Vec<usize> =
        parts.iter().filter(|part| part.kind == Kind::Item).map(|part| part.section).collect();
    sections.dedup();
    let is_part = sections.iter().any(|at| told_of(*at) == 0) && sections.iter().any(|at| told_of(*at) > 0);
    let begun = Some(()).filter(|()| is_work && is_of_lists && is_part).and_then(|()| begun_lists(&parts, &sections));
    begun.unwrap_or_else(|| selection.text())
}

fn is_item_of(part: &Part, section: usize) -> bool {
    part.kind == Kind::Item && part.section == section
}

/// Returns the beginnings of all lists, which take an item each in turn while there is room: a list that is left out says
/// less than the number of its items. `None` if not every list begins.
fn begun_lists(parts: &[Part], sections: &[usize]) -> Option<String> {
    let mut before = "";
    let lists: Vec<(&str, Vec<&str>)> = sections
        .iter()
        .map(|section| {
            let name = parts.iter().find(|part| part.section == *section && part.names_section());
            let name = name.map_or("", |name| name.head.trim_end_matches([':', '：', '.']));
            let items = parts.iter().filter(|part| is_item_of(part, *section)).map(|part| part.head.as_str());
            // A section in parts has its heading once.
            (if std::mem::replace(&mut before, name) == name { "" } else { name }, items.collect())
        })
        .collect();
    let frame = |name: &str| name.chars().count() + MORE_CHARS + 4;
    let mut left = MAX_CHARS.checked_sub(lists.iter().map(|(name, _)| frame(name)).sum())?;
    let mut told = vec![0; lists.len()];
    let mut open: Vec<usize> = (0..lists.len()).collect();
    while !open.is_empty() {
        open.retain(|&at| {
            let costs = lists[at].1.get(told[at]).map(|item| item.chars().count() + 2);
            let fits = costs.filter(|costs| *costs <= left);
            left -= fits.unwrap_or(0);
            told[at] += usize::from(fits.is_some());
            fits.is_some()
        });
    }
    let text = lists.iter().zip(&told).map(|((name, items), told)| {
        let name = if name.is_empty() { String::new() } else { format!("{name}: ") };
        let more = if items.len() > *told { format!("; and {} more", items.len() - told) } else { String::new() };
        with_full_stop(format!("{name}{}{more}", items[..*told].join("; ")))
    });
    told.iter().all(|told| *told > 0).then(|| text.collect::<Vec<_>>().join(" "))
}

fn length(parts: &[Part]) -> usize {
    parts.iter().map(|part| part.head.chars().count() + 2).sum()
}

/// Returns the headings of the sections with lists and the other labels, if most of these tell changes, several name
/// something, and all fit: each with as many of its items as its share of the room takes.
fn changed_areas(parts: &[Part]) -> Option<String> {
    let items = |section: usize| parts.iter().filter(move |part| part.section == section && part.kind == Kind::Item);
    let is_area = |part: &&Part| {
        part.names_section() && items(part.section).next().is_some()
            || part.kind == Kind::Label && !is_lead(&part.whole)
    };
    let headings: Vec<&Part> = parts.iter().filter(is_area).collect();
    let changes = |part: &&&Part| {
        !part.names_section() || items(part.section).any(|part| Signs::read(&part.whole).has(Sign::Change))
    };
    let names = headings.iter().map(|part| &part.head).filter(|head| !head.is_empty()).collect::<BTreeSet<_>>().len();
    let is_of_changes = headings.iter().filter(changes).count() * 2 >= headings.len() && names >= MIN_AREAS;
    let name = |part: &Part| {
        let told = if part.names_section() { &part.whole } else { &part.head };
        told.trim_end_matches([':', '：', '.']).to_owned()
    };
    // A section in parts has its heading once.
    let mut areas: Vec<(String, Vec<&str>)> = Vec::new();
    for part in &headings {
        let own =
            if part.names_section() { items(part.section).map(|item| item.head.as_str()).collect() } else { vec![] };
        match areas.last_mut().filter(|(last, _)| *last == name(part)) {
            Some((_, known)) => known.extend(own),
            None => areas.push((name(part), own)),
        }
    }
    let length: usize = areas.iter().map(|(name, _)| name.chars().count() + 2).sum::<usize>() + 9;
    let share = MAX_CHARS.checked_sub(length).filter(|_| is_of_changes)? / areas.len().max(1);
    let told = areas.iter().map(|(name, items)| format!("{name}{}", begun(items, share)));
    Some(format!("Changed: {}", told.collect::<Vec<_>>().join("; ")))
}

/// Returns a short sentence that tells a change, if it is the only one, with the beginning of the first list behind it: alone
/// it says little more than the title.
fn begun_list(parts: &[Part]) -> Option<String> {
    let mut sentences = parts.iter().filter(|part| part.kind == Kind::Sentence);
    let sum = sentences.next().filter(|sum| Signs::read(&sum.whole).has(Sign::Change))?;
    let leads = parts.iter().filter(|part| matches!(part.kind, Kind::Lead | Kind::Label));
    let is_only = sentences.next().is_none() && !leads.into_iter().any(|lead| statement(&lead.whole).is_some());
    let is_short = sum.whole.chars().count() <= SUM_CHARS && is_only;
    let first = parts.iter().find(|part| part.kind == Kind::Item).filter(|_| is_short)?;
    let named = parts.iter().find(|part| part.section == first.section && part.names_section())?;
    let items: Vec<&str> = parts
        .iter()
        .filter(|part| part.section == first.section && part.kind == Kind::Item)
        .map(|part| &*part.head)
        .collect();
    let begun = begun(&items, LIST_CHARS);
    let begun = begun.strip_prefix(": ")?;
    let name = named.whole.trim_end_matches([':', '：']);
    Some(format!("{} {name}: {begun}", with_full_stop(sum.whole.clone())))
}

/// Returns the first items of a list that fit, with the number of the others; nothing if none fits.
fn begun(items: &[&str], room: usize) -> String {
    let mut left = room.saturating_sub(MORE_CHARS);
    let fits = |item: &&&str| {
        let costs = item.chars().count() + 2;
        let fits = costs <= left;
        left = left.saturating_sub(costs);
        fits
    };
    let told: Vec<&str> = items.iter().take_while(fits).copied().collect();
    match (told.len(), items.len() - told.len()) {
        (0, _) => String::new(),
        (_, 0) => format!(": {}", told.join(", ")),
        (_, more) => format!(": {} and {more} more", told.join(", ")),
    }
}

/// Returns the headings that tell changes themselves, if there are several and all fit.
fn told_changes(parts: &[Part]) -> Option<String> {
    let tells = |part: &&Part| part.kind == Kind::Heading && Signs::read(&part.whole).has(Sign::Change);
    let mut told: Vec<&str> =
        parts.iter().filter(tells).map(|part| part.whole.trim_end_matches([':', '：', '.'])).collect();
    told.dedup();
    let text = told.join("; ");
    (told.len() >= MIN_AREAS && text.chars().count() <= MAX_CHARS / 2).then(|| format!("Changed: {text}"))
}

/// Shortens the heads of the items as far as needed for all to fit: paths become names, and long ones end with a clause, with
/// the phrase that tells a change, or with their label.
fn shorten_heads(parts: &mut [Part]) {
    if length(parts) > MAX_CHARS {
        let names = |text: &str| text.split(' ').map(code_name).collect::<Vec<_>>().join(" ");
        parts.iter_mut().for_each(|part| (part.head, part.whole) = (names(&part.head), names(&part.whole)));
    }
    for chars in SHORT_CHARS {
        if length(parts) > MAX_CHARS {
            for part in parts.iter_mut().filter(|part| part.kind == Kind::Item) {
                let list = part.has_list() && part.head == part.whole;
                part.head =
                    clause_within(&part.head, chars).filter(|_| !list).unwrap_or(std::mem::take(&mut part.head));
            }
        }
    }
    if length(parts) > MAX_CHARS {
        let long = |part: &&mut Part| part.kind == Kind::Item && part.head.chars().count() > SHORT_CHARS[1];
        for part in parts.iter_mut().filter(long) {
            let short = change_within(&part.head, SHORT_CHARS[1]).or_else(|| label(&part.head, &part.head));
            part.head = short.unwrap_or(std::mem::take(&mut part.head));
        }
    }
}

/// Returns the beginning of a text that tells a change, up to the last word that begins a phrase.
fn change_within(text: &str, chars: usize) -> Option<String> {
    let ends = text.match_indices(' ').map(|(at, _)| at).take_while(|at| *at <= chars);
    // A replaced part is told with its replacement.
    let begins_phrase = |at: &usize| {
        let mut rest = text[at + 1..].split(' ');
        rest.clone().next().is_some_and(is_joint) && !rest.any(|word| REPLACERS.contains(&word))
    };
    let told = |at: usize| {
        let told = text[..at].trim_end_matches([',', ':', '—', '–', '-', ' ']);
        let is_open = told.matches('`').count() % 2 == 1 || told.matches('(').count() > told.matches(')').count();
        let is_loose = told.rsplit(' ').next().is_none_or(is_loose);
        let change = LABEL_ENDS.iter().fold(told, |rest, end| rest.rsplit(end).next().unwrap_or(rest));
        (!is_open && !is_loose && change.contains(' ') && Signs::read(change).has(Sign::Change)).then_some(told)
    };
    ends.filter(begins_phrase).filter_map(told).last().map(str::to_owned)
}

/// Returns the name of a file for its path between backticks.
fn code_name(word: &str) -> Cow<'_, str> {
    let code = word.find('`').zip(word.rfind('`')).filter(|(begin, end)| begin < end);
    let code = code.filter(|(begin, _)| !word[begin + 1..].starts_with('@'));
    code.map_or(Cow::Borrowed(word), |(begin, end)| {
        Cow::Owned(format!("{}{}{}", &word[..=begin], file_name(&word[begin + 1..end]), &word[end..]))
    })
}

/// Drops the items behind labels that say something without them.
fn without_lists_of_labels(parts: &mut Vec<Part>) {
    let mut is_dropped = None;
    parts.retain_mut(|part| {
        if part.kind == Kind::Label && is_lead(&part.whole) {
            is_dropped = statement(&part.whole).map(|said| {
                (part.head, part.whole) = (said.clone(), said);
                part.section
            });
        }
        part.kind != Kind::Item || is_dropped != Some(part.section)
    });
}

/// Drops the items; a lead stays as a sentence if it says something, and a heading with a number in any case: a row of numbers
/// has no gaps.
fn without_lists(parts: &mut Vec<Part>) {
    let lists: BTreeSet<usize> = parts.iter().filter(|part| part.kind == Kind::Item).map(|part| part.section).collect();
    parts.retain_mut(|part| match part.kind {
        Kind::Item => false,
        Kind::Heading if !(is_numbered(&part.whole) && lists.contains(&part.section)) => true,
        Kind::Heading | Kind::Lead | Kind::Label if part.kind == Kind::Heading || is_lead(&part.whole) => {
            let named = || Some(with_full_stop(part.whole.trim_end_matches([':', '：']).to_owned()));
            let numbered = || named().filter(|_| part.kind != Kind::Lead && is_numbered(&part.whole));
            let said = statement(&part.whole).filter(|_| part.kind != Kind::Heading).or_else(numbered);
            said.is_some_and(|said| {
                (part.kind, part.head, part.whole) = (Kind::Sentence, said.clone(), said);
                true
            })
        }
        _ => true,
    });
}

/// Returns true for a label that begins with a word and its number: `Step 2`.
fn is_numbered(label: &str) -> bool {
    let second = label.split_whitespace().nth(1).unwrap_or_default().trim_end_matches([':', '.', ')']);
    !second.is_empty() && second.bytes().all(|byte| byte.is_ascii_digit())
}

/// Rank of a part; lower ones are told first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    First,
    Head,
    Below,
    Further,
}

/// Returns the rank of every part, and its place among those of the same rank.
fn ranks(parts: &[Part], best: Option<usize>, is_work: bool) -> Vec<(Rank, bool, usize)> {
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
            Kind::Label if is_work && is_lead(&part.whole) => Rank::Below,
            Kind::Heading | Kind::Label => Rank::Head,
            _ if Some(at) == change || Some(at) == closing => Rank::Head,
            Kind::Item | Kind::Lead if !is_named => Rank::Head,
            Kind::Item if is_work && Signs::read(&part.whole).has(Sign::Change) => Rank::Head,
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
    /// The label that a part belongs to.
    labels: Vec<Option<usize>>,
    told: Vec<Option<Cow<'p, str>>>,
    left: usize,
}

impl<'p> Selection<'p> {
    fn new(parts: &'p [Part]) -> Self {
        let mut label = None;
        let labels = parts.iter().enumerate().map(|(at, part)| {
            let before = label.filter(|label: &usize| parts[*label].section == part.section);
            label = if part.kind == Kind::Label { Some(at) } else { before };
            before
        });
        Self { parts, labels: labels.collect(), told: vec![None; parts.len()], left: MAX_CHARS }
    }

    /// Returns true for what a list belongs to, or is itself a part of.
    fn leads(&self, at: usize) -> bool {
        let part = &self.parts[at];
        matches!(part.kind, Kind::Lead | Kind::Item) || part.kind == Kind::Label && is_lead(&part.whole)
    }

    /// Returns true unless a part is only told with another: a heading, or an item behind a lead or another item.
    fn begins(&self, at: usize) -> bool {
        let follows = || at > 0 && self.leads(at - 1) && self.is_beside(at);
        match self.parts[at].kind {
            Kind::Heading => false,
            Kind::Item => !follows(),
            _ => true,
        }
    }

    /// Returns true if a part belongs to the section of the part before it.
    fn is_beside(&self, at: usize) -> bool {
        self.parts[at - 1].section == self.parts[at].section
    }

    /// Tells the head of a part, if it fits, with its list and with the heading right above it.
    fn tell(&mut self, at: usize, room: usize) {
        if self.told[at].is_some() || !self.is_reached(at) {
            return;
        }
        let leads = self.leads(at);
        let goes_on = |next: &usize| leads && self.parts[*next].kind == Kind::Item && self.is_beside(*next);
        let end = at + 1 + (at + 1..self.parts.len()).take_while(goes_on).count();
        let begin = if at > 0 && self.parts[at - 1].kind == Kind::Heading && self.is_beside(at) { at - 1 } else { at };
        let costs = length(&self.parts[begin..end]);
        // A label that leads to what is not told is no heading.
        let is_bare = leads && self.parts[at].kind != Kind::Item && end == at + 1;
        if costs <= room.min(self.left) && !is_bare {
            self.left -= costs;
            (begin..end).for_each(|at| self.told[at] = Some(Cow::Borrowed(&self.parts[at].head)));
        } else if leads
            && self.parts[at].kind != Kind::Item
            && let Some(said) = statement(&self.parts[at].whole)
            && said.chars().count() + 2 <= room.min(self.left)
        {
            self.left -= said.chars().count() + 2;
            self.told[at] = Some(Cow::Owned(said));
        }
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
        let (part, known) = (&self.parts[at], told.chars().count());
        if told.is_empty() || is_lead(&part.whole) && *told != part.head {
            return;
        }
        let more = clause_within(&part.whole, known + self.left);
        let is_complete = |more: &String| !part.has_list() || more.len() == part.whole.len();
        let more = more.filter(|more| more.chars().count() > known && is_complete(more));
        if let Some(more) = more {
            self.left -= more.chars().count() - known;
            self.told[at] = Some(Cow::Owned(more));
        }
    }

    /// Returns what is told, in the order of the message.
    fn text(&self) -> String {
        let mut text = String::new();
        let mut last: Option<&Part> = None;
        let mut heading = "";
        for (part, told) in self.parts.iter().zip(&self.told) {
            let Some(told) = told.as_deref().filter(|told| !told.is_empty() && part.follows(last)) else { continue };
            // A section in parts has its heading once.
            if part.kind == Kind::Heading && std::mem::replace(&mut heading, told) == told {
                continue;
            }
            let goes_on = last.is_some_and(|last| last.section == part.section);
            text = match last.map(|last| last.kind) {
                None => text,
                Some(Kind::Item) if part.kind == Kind::Item && goes_on => text + "; ",
                Some(Kind::Heading) if !last.is_some_and(|last| last.whole.contains(": ")) => text + ": ",
                Some(_) => with_full_stop(text) + " ",
            };
            text.push_str(told);
            last = Some(part);
        }
        text
    }
}
