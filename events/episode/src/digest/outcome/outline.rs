//! The outline of a message: headings, sentences, items of lists and rows of tables, without what says nothing.

use std::collections::BTreeSet;

use super::super::clause::clause_within;
use super::super::excerpt::{bare, closed};
use super::super::label::is_loose;
use super::super::leftovers::leftovers;
use super::super::sentence::{Sentence, is_decoration, lines, list_marker, plain, sentences, words_of_prose};
use super::substance::{MIN_WORDS, claims, is_lead, says, sums_up, tells};
use crate::lexicon::{Sign, Signs};
use baton_words::WordList;

/// Maximum length of the head of an item, in characters.
const HEAD_CHARS: usize = 150;
/// Maximum length of a sentence or item that can be cut nowhere, in characters.
const WHOLE_CHARS: usize = 320;
/// Fewest words of prose of a label that stands alone.
const LABEL_WORDS: usize = 3;
/// An item of so few words of prose only leads to what is below it.
const LEAD_WORDS: usize = 5;
/// Fewest words of a first sentence that names nothing, and of one that tells a change.
const FIRST_WORDS: usize = 10;
const CHANGE_WORDS: usize = 8;
/// Separators of a label and what is said of it.
const LABEL_ENDS: [&str; 5] = [": ", " — ", " – ", " - ", "："];
/// Words of headings that name nothing.
static GENERAL: WordList = WordList::new(crate::WORDS, "general areas");

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
    /// What it says in short: the label, or the first clause.
    pub(super) head: String,
    pub(super) whole: String,
    /// True in the last paragraph.
    pub(super) closes: bool,
    /// Number of items below it that are told with it.
    nested: usize,
}

/// Something that stands in a message.
enum Mark<'t> {
    Heading(&'t str),
    Row(&'t str),
    Said(&'t Sentence<'t>),
}

/// Returns the parts of a message that say something, in order; with `fails`, without claims that checks passed. A heading
/// that names nothing is left out.
pub(super) fn outline(text: &str, fails: bool) -> Vec<Part> {
    let left = leftovers(text);
    let is_left = |sentence: &Sentence<'_>| left.iter().any(|left| lies_in(sentence.text, left.text));
    let stays = |one: &Sentence<'_>| tells(one) && !is_left(one) && !(fails && claims(one.text));
    let said = sentences(text);
    let place = |part: &str| part.as_ptr().addr() - text.as_ptr().addr();
    let mut marks: Vec<(usize, Mark<'_>)> = said.iter().map(|one| (place(one.text), Mark::Said(one))).collect();
    marks.extend(headings_and_rows(text));
    marks.sort_by_key(|(at, _)| *at);
    let last = text.trim_end().rfind("\n\n").unwrap_or(text.len());
    let mut outline = Outline::default();
    for (at, mark) in marks {
        outline.closes = at >= last;
        match mark {
            Mark::Heading(line) => outline.heading(line),
            Mark::Row(line) if claims(line) || left.iter().any(|left| lies_in(left.text, line)) => {}
            Mark::Row(line) => _ = outline.push(Kind::Item, &row(line)),
            Mark::Said(one) if one.point => outline.point(&text[..at], one.text, stays(one)),
            Mark::Said(one) => outline.sentence(&text[..at], one.text, stays(one)),
        }
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
    section: usize,
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
        self.parts.push(Part { kind, section: self.section, head, whole, closes: self.closes, nested: 0 });
        true
    }

    fn begin_section(&mut self) {
        self.end_item();
        (self.section, self.is_aside, self.is_offered, self.indent) = (self.section + 1, false, false, None);
    }

    /// Ends the item at hand, and drops one that leads to nothing.
    fn end_item(&mut self) {
        if self.item.take() == Some(Item::List) {
            self.parts.pop_if(|part| part.nested == 0 && words_of_prose(&part.whole) <= MIN_WORDS);
        }
    }

    fn heading(&mut self, line: &str) {
        // A heading above a heading is only its frame.
        self.parts.pop_if(|part| part.kind == Kind::Heading);
        self.begin_section();
        let line = bare(without_number(&plain(line.trim_start_matches('#'))));
        self.is_aside = Signs::read(&line).has_any(&[Sign::NextHead, Sign::RemainingHead]);
        let mut words = line.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() > 1);
        if words.any(|word| !GENERAL.has(&word.to_lowercase())) && !line.ends_with('!') {
            self.push(Kind::Heading, &line);
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
        // The head of an item that only leads has the first one below it.
        if is_first && words_of_prose(&part.head) < LEAD_WORDS {
            part.head.clone_from(&part.whole);
        }
    }

    /// Returns true if a sentence names a thing, sums up at the end, or says something in many words at the beginning.
    fn says(&self, text: &str) -> bool {
        let words = || words_of_prose(text);
        let is_long = || words() >= FIRST_WORDS || words() >= CHANGE_WORDS && Signs::read(text).has(Sign::Change);
        let begins = || self.parts.iter().all(|part| part.kind == Kind::Heading);
        says(text) || self.closes && sums_up(text) || begins() && is_long()
    }

    fn sentence(&mut self, before: &str, text: &str, stays: bool) {
        self.end_item();
        self.indent = None;
        let signs = Signs::read(text);
        let offers = signs.asks() || signs.has_any(&[Sign::Offer, Sign::Next]);
        self.is_offered = offers || self.is_offered && is_lead(text);
        if begins_line(before) && is_labelled(text) {
            self.begin_section();
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

    /// Returns the parts, without what is said twice. A lead to nothing is a sentence, if it says something.
    fn finished(mut self) -> Vec<Part> {
        self.end_item();
        let mut parts = self.parts;
        let mut known = BTreeSet::new();
        parts.retain(|part| part.kind != Kind::Item || known.insert(part.whole.clone()));
        let leads = |two: &[Part]| two[1].kind == Kind::Item && two[1].section == two[0].section;
        let leads: Vec<bool> = parts.windows(2).map(leads).chain([false]).collect();
        let mut leads = leads.into_iter();
        parts.retain_mut(|part| {
            let leads = leads.next() == Some(true) || part.kind != Kind::Lead;
            if !leads {
                part.kind = Kind::Sentence;
                let said = bare(part.whole.rsplit_once("; ").map_or(&part.whole, |(said, _)| said));
                (part.head, part.whole) = (closed(said.clone()), closed(said));
            }
            leads || says(&part.whole) || Signs::read(&part.whole).has(Sign::Change)
        });
        parts
    }
}

/// Returns the headings of a message and the rows of its tables without the names of the columns.
fn headings_and_rows(text: &str) -> Vec<(usize, Mark<'_>)> {
    let mut marks: Vec<(usize, Mark<'_>)> = Vec::new();
    for (at, line, is_code) in lines(text) {
        let bare = line.trim();
        if is_code || !is_decoration(bare) || !bare.contains(char::is_alphanumeric) {
            // The line below the names of the columns.
            if bare.starts_with('|') && matches!(marks.last(), Some((_, Mark::Row(_)))) {
                marks.pop();
            }
        } else if bare.starts_with('|') {
            marks.push((at, Mark::Row(bare)));
        } else if bare.starts_with(['#', '*']) {
            marks.push((at, Mark::Heading(bare)));
        }
    }
    marks
}

/// Returns a row of a table as an item: the first cells, and after them the one with most prose.
fn row(line: &str) -> String {
    let cells: Vec<String> = line.trim_matches(['|', ' ']).split(" | ").map(|cell| plain(cell.trim())).collect();
    let most = (0..cells.len()).max_by_key(|at| words_of_prose(&cells[*at])).unwrap_or(0);
    let before = cells[..most].iter().enumerate().filter(|(at, cell)| *at == 0 || words_of_prose(cell) > 0);
    let before = before.map(|(_, cell)| cell.as_str()).collect::<Vec<_>>().join(" ");
    let told = cells.get(most).map_or("", String::as_str);
    if before.is_empty() { told.to_owned() } else { format!("{before}: {told}") }
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
            && (label.ends_with(':') || rest.trim_start().starts_with([':', '—', '–', '-']))
    })
}

/// Strips marks of emphasis and line breaks.
fn on_one_line(text: &str) -> String {
    plain(text).split_whitespace().collect::<Vec<_>>().join(" ")
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

fn label(text: &str, whole: &str) -> Option<String> {
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
    text.starts_with('[') && text.ends_with(')') && text.matches("](").count() == 1
}

fn lies_in(part: &str, whole: &str) -> bool {
    let (part, begin) = (part.as_ptr().addr(), whole.as_ptr().addr());
    (begin..begin + whole.len()).contains(&part)
}
