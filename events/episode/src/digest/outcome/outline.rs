//! The outline of a message: headings, sentences, items of lists and rows of tables, without what says nothing.

use std::collections::BTreeSet;
use std::ops::Range;

use super::super::clause::clause_within;
use super::super::excerpt::{bare, code_spans, with_full_stop};
use super::super::label::is_loose;
use super::super::leftovers::leftovers;
use super::super::sentence::{Sentence, list_marker, plain, sentences, words_of_prose};
use super::marks::{Mark, marks, on_one_line, row};
pub(super) use super::substance::is_lead;
use super::substance::{MIN_WORDS, names_thing, only_assures, reports_checks, sums_up, tells};
use crate::lexicon::{Sign, Signs};
use baton_words::WordList;

/// Maximum length of the head of an item, in characters.
const HEAD_CHARS: usize = 150;
/// Maximum length of a sentence or item that can be cut nowhere, in characters.
const WHOLE_CHARS: usize = 320;
/// Fewest words of prose of a label that stands alone.
const LABEL_WORDS: usize = 3;
/// Fewest words of a first sentence that names nothing, and of one that tells a change.
const FIRST_WORDS: usize = 10;
const CHANGE_WORDS: usize = 8;
/// Fewest words of prose of a lead that names nothing and is told without its list.
const STATEMENT_WORDS: usize = 5;
/// Separators of a label and what is said of it.
pub(super) const LABEL_ENDS: [&str; 5] = [": ", " — ", " – ", " - ", "："];
/// Words of headings that name nothing.
static GENERAL: WordList = WordList::new(crate::WORDS, "general areas");
/// First words of headings of what is required.
static REQUIREMENTS: WordList = WordList::new(crate::WORDS, "requirements");
/// First words of a sentence that goes on from the one before it.
static BACK_REFERENCES: WordList = WordList::new(crate::WORDS, "back references");
/// Words for how many.
static COUNTS: WordList = WordList::new(crate::WORDS, "small numbers");

/// What a part of a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// What follows belongs to it.
    Heading,
    /// The first sentence of a paragraph that begins with a bold label: a heading that says something itself.
    Label,
    Sentence,
    /// A sentence that leads to the list behind it.
    Lead,
    /// An item of a list that is not nested, or a row of a table.
    Item,
}

/// A part of a message.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) kind: Kind,
    /// Number of its section; 0 before the first heading.
    pub(super) section: usize,
    /// What it says in short: the label, or the first clause. Empty for a heading that names nothing.
    pub(super) head: String,
    pub(super) whole: String,
    /// True in the last paragraph.
    pub(super) closes: bool,
    /// Its number, and that of the part that it goes on from.
    place: usize,
    goes_on_from: Option<usize>,
    /// Number of items below it that are told with it.
    nested: usize,
    /// What an item with others below it says without them.
    alone: String,
    /// The first item below it.
    first: String,
    /// Number of items of the list behind a lead that say nothing, or are told elsewhere.
    lost: usize,
}

impl Part {
    /// Returns true for a heading, and for a label that only leads to a list.
    pub(super) fn names_section(&self) -> bool {
        self.kind == Kind::Heading || self.kind == Kind::Label && is_lead(&self.whole)
    }

    /// Returns true unless the part goes on from one that is not the last that was told.
    pub(super) fn follows(&self, last: Option<&Self>) -> bool {
        self.goes_on_from.is_none_or(|before| last.is_some_and(|last| last.place == before))
    }

    /// Returns the whole text if it is told entirely or not at all: it ends with a list.
    pub(super) fn has_list(&self) -> bool {
        self.nested > 0
    }
}

/// Returns the parts of a message that say something to a request, in order; with `fails`, without claims that checks passed.
pub(super) fn outline(text: &str, request: &str, fails: bool) -> Vec<Part> {
    let left = leftovers(text);
    let is_left = |sentence: &Sentence<'_>| left.iter().any(|left| lies_in(sentence.text, left.text));
    let stays = |one: &Sentence<'_>| tells(one) && !is_left(one) && !(fails && reports_checks(one.text));
    let said = sentences(text);
    let last = text.trim_end().rfind("\n\n").unwrap_or(text.len());
    let mut outline = Outline::default();
    // False if what stands right before was left out.
    let mut follows_told = true;
    for (at, mark) in marks(text, &said) {
        outline.closes = at >= last;
        let added = outline.added;
        let stays = |one: &Sentence<'_>| stays(one) && (follows_told || !refers_back(one.text));
        let is_idle = matches!(mark, Mark::Heading(_)) || matches!(mark, Mark::Said(one) if is_short(one.text));
        match mark {
            Mark::Heading(line) => outline.heading(line),
            Mark::Row(..) if outline.is_offered => {}
            Mark::Row(line, _) if reports_checks(line) || left.iter().any(|left| lies_in(left.text, line)) => {
                outline.lose();
            }
            Mark::Row(line, columns) => _ = outline.push(Kind::Item, &row(line, columns, request)),
            Mark::Said(one) if one.point => outline.point(&text[..at], one.text, stays(one)),
            Mark::Said(one) => outline.sentence(&text[..at], one.text, stays(one)),
            Mark::Code(line) => outline.code(line),
        }
        follows_told = is_idle || outline.added > added;
    }
    outline.finished()
}

/// What belongs to an item besides its first sentence.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Item {
    /// Its other sentences.
    Sentences,
    /// What is nested in it.
    List,
}

#[derive(Default)]
struct Outline {
    parts: Vec<Part>,
    /// Number of sentences and items that were added.
    added: usize,
    section: usize,
    /// The last heading that names something, with its level.
    frame: Option<(usize, String)>,
    /// True below a heading of what is left to do.
    is_aside: bool,
    /// True behind a question or an offer, and a lead behind that: the items of a list are not done.
    is_offered: bool,
    closes: bool,
    /// Indentation of the items of the list at hand.
    indent: Option<usize>,
    /// The last item, while what follows may belong to it.
    item: Option<Item>,
}

impl Outline {
    /// Adds a part; returns false if it says nothing or is too long to be told.
    fn push(&mut self, kind: Kind, text: &str) -> bool {
        let whole = on_one_line(text);
        let whole = if matches!(kind, Kind::Heading | Kind::Item) { bare(&whole) } else { whole };
        let head = match kind {
            Kind::Sentence | Kind::Lead => clause_within(&whole, WHOLE_CHARS),
            Kind::Item => item_head(text, &whole),
            _ => head(text, &whole),
        };
        let Some(head) = head.filter(|head| !head.is_empty() && !self.is_aside) else { return false };
        let (section, closes) = (self.section, self.closes);
        self.added += 1;
        let goes_on_from = self.parts.last().map(|part| part.place).filter(|_| refers_back(&whole));
        let (place, alone, first) = (self.added, String::new(), String::new());
        let (nested, lost) = (0, 0);
        self.parts.push(Part { kind, section, head, whole, closes, place, goes_on_from, nested, alone, first, lost });
        true
    }

    /// Notes that an item is not told; one of a section that is left out belongs to no list.
    fn lose(&mut self) {
        if self.is_aside {
            return;
        }
        let lead = self.parts.iter_mut().rfind(|part| part.kind != Kind::Item);
        lead.into_iter().filter(|lead| lead.kind == Kind::Lead).for_each(|lead| lead.lost += 1);
    }

    fn begin_section(&mut self) {
        self.end_item();
        (self.section, self.is_aside, self.is_offered, self.indent) = (self.section + 1, false, false, None);
    }

    /// Ends the item at hand, and drops one that leads to nothing. What says nothing without the list below it is told with
    /// all of that.
    fn end_item(&mut self) {
        if self.item.take() == Some(Item::List) {
            if let Some(part) = self.parts.last_mut().filter(|part| part.nested == 0) {
                match statement(&part.whole).map(|said| bare(&said)) {
                    _ if !part.alone.is_empty() => part.whole = std::mem::take(&mut part.alone),
                    Some(said) => (part.head, part.whole) = (said.clone(), said),
                    None => {
                        self.parts.pop();
                        self.lose();
                    }
                }
            }
            if let Some(part) = self.parts.last_mut().filter(|part| part.nested > 0) {
                let told = LABEL_ENDS.iter().fold(&*part.alone, |rest, end| rest.rsplit(end).next().unwrap_or(rest));
                let says = words_of_prose(&part.alone) >= MIN_WORDS || told.contains('`') || told.contains(' ');
                let more = part.nested - 1;
                match clause_within(&part.first, HEAD_CHARS).filter(|_| counts(told) && is_short(told) && more > 0) {
                    // `Three changes` says less than the first of them.
                    Some(first) => {
                        part.head = format!("{}{first} and {more} more", &part.alone[..part.alone.len() - told.len()]);
                    }
                    None => part.head.clone_from(if says { &part.alone } else { &part.whole }),
                }
            }
        }
    }

    fn heading(&mut self, line: &str) {
        // A heading above a heading is only its frame, unless that one names nothing.
        self.parts.pop_if(|part| part.kind == Kind::Heading);
        self.begin_section();
        let level = line.bytes().take_while(|byte| *byte == b'#').count();
        let level = if level == 0 { usize::MAX } else { level };
        let mut line = bare(without_number(&plain(line.trim_start_matches('#'))));
        let is_left = Signs::read(&line).has_any(&[Sign::NextHead, Sign::RemainingHead]);
        self.is_aside = is_left || is_required(&line) || only_assures(&line);
        let mut words = line.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() > 1);
        let mut names = words.any(|word| !GENERAL.has(&word.to_lowercase()));
        if names {
            self.frame = Some((level, line.clone()));
        } else {
            self.frame.take_if(|(above, _)| *above >= level);
            if let Some((_, frame)) = &self.frame {
                (line, names) = (frame.clone(), true);
            }
        }
        if !line.ends_with('!') && self.push(Kind::Heading, &line) && !names {
            self.parts.last_mut().into_iter().for_each(|part| part.head.clear());
        }
    }

    fn point(&mut self, before: &str, text: &str, stays: bool) {
        let line = &before[before.rfind('\n').map_or(0, |end| end + 1)..];
        let indent = line.len() - line.trim_start().len();
        let marker = line.trim_start();
        let begins = list_marker(&format!("{marker}x")) == Some(marker.len());
        if begins && self.indent.is_none_or(|known| indent <= known) {
            self.end_item();
            self.indent = Some(indent);
            let told = stays && !self.is_offered && !is_link(text) && self.push(Kind::Item, text);
            if !told && !self.is_offered {
                self.lose();
            }
            self.item = told.then_some(if is_lead(text) { Item::List } else { Item::Sentences });
            return;
        }
        let Some(part) = self.parts.last_mut().filter(|_| (self.item == Some(Item::List)) == begins) else {
            self.item = self.item.filter(|item| *item == Item::List);
            return;
        };
        if !stays || self.item.is_none() {
            return;
        }
        let is_first = begins && part.nested == 0;
        if is_first {
            part.alone = without_loose_end(&part.whole).to_owned();
            part.first = bare(&on_one_line(text));
        }
        if !begins && is_lead(text) {
            part.alone.clone_from(&part.whole);
        }
        self.added += 1;
        part.nested += usize::from(begins);
        part.whole.push_str(if is_first {
            ": "
        } else if begins {
            ", "
        } else {
            ". "
        });
        part.whole.push_str(&bare(&on_one_line(text)));
        if !begins && is_lead(text) {
            self.item = Some(Item::List);
        }
    }

    /// Tells a line of code with what leads to it. What leads to more code than that leads to nothing that is told.
    fn code(&mut self, line: Option<&str>) {
        let awaits = |part: &Part| match part.kind {
            Kind::Item => self.item == Some(Item::List) && part.nested == 0,
            kind => kind == Kind::Lead,
        };
        let lead = self.parts.last_mut().filter(|part| awaits(part));
        if let Some((part, line)) = lead.zip(line) {
            part.whole = format!("{}: `{}`", part.whole.trim_end_matches([':', '：', ' ']), on_one_line(line));
            if part.alone.is_empty() {
                part.head.clone_from(&part.whole);
            }
            part.kind = if part.kind == Kind::Lead { Kind::Sentence } else { part.kind };
            self.item = None;
            self.added += 1;
        }
        self.end_lead();
    }

    /// Ends a lead that no list follows.
    fn end_lead(&mut self) {
        self.end_item();
        if let Some(mut part) = self.parts.pop_if(|part| part.kind == Kind::Lead)
            && let Some(said) = statement(&part.whole)
        {
            (part.kind, part.head, part.whole) = (Kind::Sentence, said.clone(), said);
            self.parts.push(part);
        }
    }

    /// Returns true if a sentence names a thing, sums up at the end, or says something in many words at the beginning.
    fn says(&self, text: &str) -> bool {
        let words = || words_of_prose(text);
        let is_long = || words() >= FIRST_WORDS || words() >= CHANGE_WORDS && Signs::read(text).has(Sign::Change);
        let begins = || self.parts.iter().all(|part| part.kind == Kind::Heading);
        names_thing(text) || self.closes && sums_up(text) || begins() && is_long()
    }

    fn sentence(&mut self, before: &str, text: &str, stays: bool) {
        self.end_lead();
        self.indent = None;
        let signs = Signs::read(text);
        let offers = signs.asks() || signs.has_any(&[Sign::Offer, Sign::Next]);
        self.is_offered = offers || self.is_offered && is_lead(text);
        if begins_line(before) && is_labelled(text) {
            self.begin_section();
            self.is_aside = is_required(text) || is_lead(text) && only_assures(text);
            if stays {
                self.push(Kind::Label, without_number(text.trim_start_matches('*')));
            }
        } else if stays && is_lead(text) {
            // `Here is a summary:` says nothing.
            let is_empty =
                |clause| Signs::read(clause).begins(Sign::Announce) || Signs::read(clause).begins(Sign::Quote);
            if !text.split(", ").any(is_empty) && !text.starts_with("Here") {
                self.push(Kind::Lead, text);
            }
        } else if stays && words_of_prose(text) > 0 && self.says(text) {
            self.push(Kind::Sentence, text);
        }
    }

    /// Returns the parts, without what is said twice. A lead whose list is not told is a sentence, if it says something.
    fn finished(mut self) -> Vec<Part> {
        self.end_item();
        let mut known = BTreeSet::new();
        self.parts.retain(|part| part.kind != Kind::Item || known.insert((part.section, part.whole.clone())));
        let mut parts: Vec<Part> = Vec::with_capacity(self.parts.len());
        let mut rest = self.parts.into_iter().peekable();
        while let Some(mut part) = rest.next() {
            if part.kind != Kind::Lead {
                parts.push(part);
                continue;
            }
            let mut items = Vec::new();
            while let Some(item) = rest.next_if(|next| next.kind == Kind::Item && next.section == part.section) {
                items.push(item);
            }
            // A list that is counted, or of which most is not told, is told by its lead alone.
            let is_whole = part.lost == 0 || items.len() > part.lost && !counts(&part.whole);
            if items.is_empty() || !is_whole {
                let Some(said) = statement(&part.whole) else { continue };
                (part.kind, part.head, part.whole) = (Kind::Sentence, said.clone(), said);
                items.clear();
            }
            parts.push(part);
            parts.append(&mut items);
        }
        parts
    }
}

/// Returns what a lead says without the list behind it: the clauses up to the last one that tells a change. `Three changes:`
/// says nothing.
pub(super) fn statement(lead: &str) -> Option<String> {
    let said = bare(lead.rsplit_once("; ").map_or(lead, |(said, _)| said));
    let mut said = without_loose_end(&said);
    let changes = |text: &str| Signs::read(text).has(Sign::Change);
    let code: Vec<Range<usize>> = code_spans(said).collect();
    let is_end = |at: &usize| !code.iter().any(|span| span.contains(at));
    let last_end = |said: &str| {
        LABEL_ENDS.iter().filter_map(|mark| said.rmatch_indices(mark).map(|(at, _)| at).find(is_end)).max()
    };
    while let Some(at) = last_end(said) {
        if changes(&said[at..]) {
            break;
        }
        said = &said[..at];
    }
    let asks = Signs::read(said).begins(Sign::Question);
    let tells = words_of_prose(said) >= if names_thing(said) { MIN_WORDS } else { STATEMENT_WORDS };
    (tells && changes(said) && !asks).then(|| with_full_stop(said.to_owned()))
}

/// Strips words at the end that only lead to what follows: `a function that`.
fn without_loose_end(text: &str) -> &str {
    let mut text = text.trim_end_matches([':', '：', ' ']);
    while let Some((before, last)) = text.rsplit_once(' ').filter(|(_, last)| is_loose(last)) {
        text = before.trim_end_matches([',', ' ']);
        debug_assert!(!last.is_empty());
    }
    text
}

/// Returns true for a heading of tasks for others.
fn is_required(heading: &str) -> bool {
    let first = heading.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty());
    first.is_some_and(|first| REQUIREMENTS.has(&first.to_lowercase()))
}

/// Returns true if a lead says how many items follow: `3 jobs:`, `in both:`.
fn counts(lead: &str) -> bool {
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit()) || COUNTS.has(&word.to_lowercase());
    lead.split(|c: char| !c.is_alphanumeric()).any(|word| !word.is_empty() && is_number(word))
}

/// Returns true for a sentence of so few words that nothing goes on from it: `Done.`
fn is_short(text: &str) -> bool {
    words_of_prose(text) < MIN_WORDS
}

/// Returns true for a sentence that goes on from the one before: `In that case …`.
fn refers_back(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase);
    let first = words.next().unwrap_or_default();
    let is_wide = |entry: &&str| !entry.is_ascii() && text.starts_with(*entry);
    BACK_REFERENCES.has(&first)
        || BACK_REFERENCES.iter().any(is_wide)
        || words.next().is_some_and(|second| BACK_REFERENCES.has(&format!("{first} {second}")))
}

/// Returns the bold words with which a text begins.
fn bold_label(text: &str) -> Option<&str> {
    Some(text.strip_prefix("**")?.split_once("**")?.0)
}

/// Returns true for a sentence that begins with a bold label and says something of it.
fn is_labelled(text: &str) -> bool {
    let after = text.strip_prefix("**").and_then(|rest| rest.split_once("**"));
    after.is_some_and(|(label, rest)| {
        rest.contains(char::is_alphanumeric)
            && (label.ends_with(':')
                || rest.trim_start().starts_with([':', '—', '–', '-'])
                || rest.trim_start().starts_with('(') && (is_lead(text) || text.ends_with(')')))
    })
}

/// Strips the number of a heading: `2. `.
fn without_number(text: &str) -> &str {
    list_marker(text).map_or(text, |marker| &text[marker..])
}

fn begins_line(before: &str) -> bool {
    let before = before.trim_end_matches([' ', '\t']);
    before.is_empty() || before.ends_with('\n')
}

/// Returns what a part says in short: its label if that says something, or else its first clause. `None` if it is long and
/// can be cut nowhere.
fn head(text: &str, whole: &str) -> Option<String> {
    label(text, whole).or_else(|| clause(whole))
}

/// Like [`head`]: the label of an item stands for it only if it tells a change.
fn item_head(text: &str, whole: &str) -> Option<String> {
    label(text, whole).filter(|label| Signs::read(label).has(Sign::Change)).or_else(|| clause(whole))
}

fn clause(whole: &str) -> Option<String> {
    clause_within(whole, HEAD_CHARS).or_else(|| clause_within(whole, WHOLE_CHARS))
}

pub(super) fn label(text: &str, whole: &str) -> Option<String> {
    let ends = LABEL_ENDS.iter().filter_map(|mark| whole.find(mark));
    let label = ends.min().map(|end| &whole[..end]).filter(|label| label.matches('`').count().is_multiple_of(2));
    let names = |label: &String| {
        words_of_prose(label) >= LABEL_WORDS
            && label.chars().count() <= HEAD_CHARS
            && !label.split(' ').next_back().is_some_and(is_loose)
    };
    let label = label.map(str::to_owned).filter(names);
    label.or_else(|| bold_label(text).map(|label| bare(&plain(label))).filter(names))
}

/// Returns true for an item that is only a link.
fn is_link(text: &str) -> bool {
    let address = text.strip_prefix('[').and_then(|rest| rest.split_once("](")).map(|(_, address)| address);
    address.and_then(|address| address.find(')').map(|end| end + 1 == address.len())) == Some(true)
}

fn lies_in(part: &str, whole: &str) -> bool {
    let (part, begin) = (part.as_ptr().addr(), whole.as_ptr().addr());
    (begin..begin + whole.len()).contains(&part)
}
