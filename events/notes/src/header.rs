//! The frontmatter of a note: only Baton's keys are changed; other keys, their order and comments are kept.
//!
//! # Hazards
//!
//! - The last of `session_ids` alone says which session a note belongs to, as long as Baton wrote the list; those
//!   before it are the sessions that it continues, which have notes of their own. A note whose list was changed is
//!   found only through the register (`Identity::is_sure`).

use std::collections::BTreeMap;

use super::block::{Block, Blocks};
use super::note::{Field, Value, When};
use super::{block, yaml};

/// A text split at its frontmatter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Document<'a> {
    /// The byte order mark, or empty.
    pub(super) bom: &'a str,
    pub(super) head: Head<'a>,
    /// Everything after the frontmatter.
    pub(super) rest: &'a str,
}

/// The beginning of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Head<'a> {
    /// No frontmatter.
    None,
    /// Frontmatter that cannot be parsed and is left as it is: its text, and the offending line, from 1.
    Odd(&'a str, usize),
    /// The fences, and the entries between them.
    Read { open: &'a str, entries: Vec<Entry<'a>>, close: &'a str },
}

/// Lines of a frontmatter: a key with its value, or a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    /// Empty for a comment or a blank line.
    pub(super) key: &'a str,
    /// All its lines with their line ends.
    pub(super) lines: Vec<&'a str>,
}

/// A text with what Baton wrote in it.
pub(super) struct Parsed<'a> {
    pub(super) document: Document<'a>,
    /// The lines after the frontmatter, with their line ends.
    pub(super) lines: Vec<&'a str>,
    pub(super) blocks: Blocks,
    /// The line of the note's marker, if there is one.
    pub(super) marker: Option<usize>,
    /// What Baton wrote last, by key; see [`block::written`].
    pub(super) written: BTreeMap<String, String>,
}

impl<'a> Parsed<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let document = Document::parse(text);
        let lines: Vec<&str> = document.rest.split_inclusive('\n').collect();
        let (marker, written) = block::written(&lines).unzip();
        Self { blocks: Blocks::parse(&lines), document, lines, marker, written: written.unwrap_or_default() }
    }

    /// Returns the lines of a block.
    pub(super) fn content(&self, block: &Block) -> &[&'a str] {
        &self.lines[block.open + 1..block.close]
    }
}

impl<'a> Document<'a> {
    pub(super) fn parse(text: &'a str) -> Self {
        let (bom, text) = text.split_at(if text.starts_with('\u{feff}') { 3 } else { 0 });
        let mut lines = text.split_inclusive('\n');
        let none = Self { bom, head: Head::None, rest: text };
        let Some(open) = lines.next().filter(|line| block::without_line_end(line).trim_end() == "---") else {
            return none;
        };
        let mut entries: Vec<Entry<'a>> = Vec::new();
        let (mut odd, mut taken) = (None, open.len());
        for (at, line) in lines.enumerate() {
            taken += line.len();
            let bare = block::without_line_end(line);
            if matches!(bare.trim_end(), "---" | "...") {
                let head = match odd {
                    Some(at) => Head::Odd(&text[..taken], at),
                    None => Head::Read { open, entries, close: line },
                };
                return Self { bom, head, rest: &text[taken..] };
            }
            match (key(bare), entries.last_mut()) {
                (Some(key), _) => entries.push(Entry { key, lines: vec![line] }),
                (None, Some(entry)) if !entry.key.is_empty() && continues(bare) => entry.lines.push(line),
                (None, _) if bare.trim().is_empty() || bare.starts_with('#') => {
                    entries.push(Entry { key: "", lines: vec![line] });
                }
                _ => odd = odd.or(Some(at + 2)),
            }
        }
        // A fence that is never closed is a horizontal rule, not frontmatter.
        none
    }

    /// Returns the frontmatter with its fences.
    pub(super) fn head_text(&self) -> String {
        match &self.head {
            Head::None => String::new(),
            Head::Odd(text, _) => (*text).to_owned(),
            Head::Read { open, entries, close } => {
                let lines: String = entries.iter().flat_map(|entry| entry.lines.iter().copied()).collect();
                format!("{open}{lines}{close}")
            }
        }
    }

    /// Returns the line end of the text's first line.
    pub(super) fn eol(text: &str) -> &'static str {
        match text.find('\n') {
            Some(at) if text[..at].ends_with('\r') => "\r\n",
            _ => "\n",
        }
    }
}

/// Returns the key of a line, if it has one.
fn key(line: &str) -> Option<&str> {
    let at = line.find(':').filter(|at| line[at + 1..].is_empty() || line[at + 1..].starts_with([' ', '\t']))?;
    let key = line[..at].trim_end();
    let begins = line.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '"' | '\'' | '.' | '/' | '$'));
    (begins && !key.is_empty()).then(|| unquoted(key))
}

/// Strips quotes from a key, so that the same key is not written again beside it.
fn unquoted(key: &str) -> &str {
    let within = |quote: char| key.strip_prefix(quote)?.strip_suffix(quote).filter(|key| !key.is_empty());
    within('"').or_else(|| within('\'')).unwrap_or(key)
}

fn continues(line: &str) -> bool {
    (line.starts_with([' ', '\t']) && !line.trim().is_empty()) || line == "-" || line.starts_with("- ")
}

impl Entry<'_> {
    /// Parses the value; `None` for anything but a text or a list of texts.
    pub(super) fn value(&self) -> Option<Value> {
        let (inline, below) = self.spelled()?;
        yaml::read(inline, &below)
    }

    /// Returns true if the value is not valid YAML.
    pub(super) fn is_broken(&self) -> bool {
        self.spelled().is_some_and(|(inline, below)| yaml::is_broken(inline, &below))
    }

    /// Returns the text after the key, and the lines below.
    fn spelled(&self) -> Option<(&str, Vec<&str>)> {
        let (first, below) = self.lines.split_first().filter(|_| !self.key.is_empty())?;
        let quotes = ['"', '\''];
        let line = block::without_line_end(first).trim_start();
        let named = line.strip_prefix(self.key).or_else(|| line.strip_prefix(quotes)?.strip_prefix(self.key))?;
        let inline = named.strip_prefix(quotes).unwrap_or(named).trim_start().strip_prefix(':')?;
        Some((inline, below.iter().map(|line| block::without_line_end(line)).collect()))
    }

    /// Returns a hash that detects changes of the value regardless of its spelling. An added comment is a change.
    fn fingerprint(&self) -> String {
        let raw = || self.lines.iter().map(|line| format!("{}\n", block::without_line_end(line))).collect::<String>();
        match self.value() {
            Some(value) if marks(&raw()) == marks_of(&value) => value_fingerprint(&value),
            _ => block::short_hash(&format!("raw {}", raw())),
        }
    }
}

fn marks(text: &str) -> usize {
    text.matches('#').count()
}

fn marks_of(value: &Value) -> usize {
    match value {
        Value::Text(text) => marks(text),
        Value::List(items) => items.iter().map(|item| marks(item)).sum(),
    }
}

fn value_fingerprint(value: &Value) -> String {
    match value {
        Value::Text(text) => block::short_hash(&format!("text {text}")),
        Value::List(items) => block::short_hash(&format!("list {}", items.join("\u{0}"))),
    }
}

/// Merges the wanted keys and returns the new frontmatter with its fences if it changes. `written` holds what Baton
/// wrote last and is updated. `touched`: the note has other changes.
pub(super) fn merge_keys(
    head: &Head<'_>,
    wanted: &[Field],
    written: &mut BTreeMap<String, String>,
    touched: bool,
    eol: &str,
) -> Option<String> {
    let none = (eol_line("---", eol), Vec::new(), eol_line("---", eol));
    // The whole frontmatter was removed or is damaged; writing single keys would start one for another note.
    if *head == Head::None && is_lost(written) && !wanted.iter().any(|field| field.when == When::Forced) {
        return None;
    }
    let (open, mut entries, close) = match head {
        Head::Odd(..) => return None,
        Head::None => none,
        Head::Read { open, entries, close } => {
            let own = entries.iter().map(|entry| (entry.key.to_owned(), entry.lines.concat(), Some(entry)));
            ((*open).to_owned(), own.collect(), (*close).to_owned())
        }
    };
    let mut changed = false;
    let in_order = wanted.iter().filter(|field| field.when != When::Touched);
    for (field, is_touch) in in_order.map(|field| (field, false)).chain(touches(wanted)) {
        let places: Vec<usize> = (0..entries.len()).filter(|at| entries[*at].0 == field.key).collect();
        let known = written.get(field.key).cloned();
        let there = places.first().and_then(|at| entries[*at].2).map(Entry::fingerprint);
        let want = field.value.as_ref().map(value_fingerprint);
        let is_own = places.len() == 1 && known.is_some() && there == known;
        let step = match (places.as_slice(), field.when) {
            ([], _) => missing(field, known.as_deref(), want.as_deref()),
            ([_], When::Forced) if there != want => Step::Write,
            (_, When::Once) => Step::Leave,
            _ if places.len() == 1 && there == want => Step::Record,
            _ if is_own => Step::Write,
            _ => Step::Leave,
        };
        // A new date alone is not a change.
        let step = if is_touch && !(touched || changed) && step == Step::Write { Step::Leave } else { step };
        match (step, &field.value) {
            (Step::Leave, _) => {}
            (Step::Record, _) => drop(written.insert(field.key.to_owned(), want.unwrap_or_default())),
            (Step::Write, Some(value)) => {
                let lines = yaml::written(field.key, value).replace('\n', eol);
                match places.first() {
                    Some(at) => entries[*at] = (field.key.to_owned(), lines, None),
                    None => {
                        let before = wanted.iter().take_while(|other| other.key != field.key);
                        let known: Vec<&str> = before.map(|other| other.key).collect();
                        let at = entries.iter().rposition(|(key, ..)| known.contains(&key.as_str()));
                        entries.insert(at.map_or(entries.len(), |at| at + 1), (field.key.to_owned(), lines, None));
                    }
                }
                written.insert(field.key.to_owned(), want.unwrap_or_default());
                changed = true;
            }
            (Step::Write, None) => {
                places.first().map(|at| entries.remove(*at));
                written.remove(field.key);
                changed = true;
            }
        }
    }
    changed.then(|| {
        let lines: String = entries.iter().map(|(_, lines, _)| lines.as_str()).collect();
        format!("{open}{lines}{close}")
    })
}

/// Returns true if Baton has written a frontmatter, according to the note's marker.
pub(super) fn is_lost(written: &BTreeMap<String, String>) -> bool {
    written.keys().any(|key| !key.starts_with('#'))
}

/// Keys that follow other changes come last.
fn touches(wanted: &[Field]) -> impl Iterator<Item = (&Field, bool)> {
    wanted.iter().filter(|field| field.when == When::Touched).map(|field| (field, true))
}

/// What is done with a key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Leave,
    Record,
    Write,
}

/// Decides for a key that is absent: never written, or removed by a person.
fn missing(field: &Field, known: Option<&str>, want: Option<&str>) -> Step {
    match (known, want, field.when) {
        (_, None, _) => Step::Leave,
        (None, Some(_), _) | (_, Some(_), When::Forced) => Step::Write,
        (Some(_), Some(_), When::Once | When::Touched) => Step::Leave,
        (Some(known), Some(want), When::Always) => {
            if known == want {
                Step::Leave
            } else {
                Step::Write
            }
        }
    }
}

fn eol_line(line: &str, eol: &str) -> String {
    format!("{line}{eol}")
}

/// Returns the keys of a frontmatter whose values can be parsed; the first of repeated keys.
pub(super) fn fields(text: &str) -> BTreeMap<String, Value> {
    let mut fields = BTreeMap::new();
    if let Head::Read { entries, .. } = Document::parse(text).head {
        for entry in &entries {
            if let Some(value) = entry.value().filter(|_| !entry.key.is_empty()) {
                fields.entry(entry.key.to_owned()).or_insert(value);
            }
        }
    }
    fields
}

/// Returns those that are texts.
pub(super) fn texts(text: &str) -> BTreeMap<String, String> {
    let text_of = |(key, value)| match value {
        Value::Text(text) => Some((key, text)),
        Value::List(_) => None,
    };
    fields(text).into_iter().filter_map(text_of).collect()
}

/// Returns true if a key occurs once, as Baton wrote it last.
pub(super) fn is_as_written(text: &str, key: &str) -> bool {
    let document = Document::parse(text);
    let Head::Read { entries, .. } = &document.head else { return false };
    let mut found = entries.iter().filter(|entry| entry.key == key);
    let (Some(entry), None) = (found.next(), found.next()) else { return false };
    block::written_in_text(document.rest).is_some_and(|written| is_own(entry, &written))
}

/// Returns true if a key is as Baton wrote it last.
pub(super) fn is_own(entry: &Entry<'_>, written: &BTreeMap<String, String>) -> bool {
    written.get(entry.key).is_some_and(|known| *known == entry.fingerprint())
}
