//! The language of questions: words, `"phrases"`, `prefix*`, `-without`, and filters as `file:auth.rs after:7d`.
//!
//! Every text is a question and none is an error: what only looks like an operator is words, and where that may surprise
//! somebody a note says so. A filter that is one stays one: with a value that there is not, nothing fits it, and a note says
//! why. Reading is pure, total and linear in the text; the clock comes from outside.

mod moment;
mod piece;
mod pitfall;
#[cfg(test)]
mod tests;

pub use moment::{MONTHS, moment};

use self::piece::{Piece, pieces};
use baton_conversation::item::Agent;
use baton_conversation::record::Timestamp;
use baton_protocol::tool::nearest;
use baton_redaction::redact;

/// Bytes of a text that are read; what comes behind is left out, and said to be.
pub const MAX_BYTES: usize = 16 * 1024;
/// Most phrases, prefixes and exclusions together; what comes behind is words.
pub const MAX_OPERATORS: usize = 16;
/// Most filters; what comes behind is words.
pub const MAX_FILTERS: usize = 16;
/// Least characters before the star of a prefix: fewer would be half of all words.
const PREFIX_CHARS: usize = 2;
/// Least characters behind the dash of an exclusion: `-n` and `-rf` are flags.
const WITHOUT_CHARS: usize = 3;
/// Characters of what was written that a note repeats.
const SHOWN_CHARS: usize = 60;

/// What somebody wants to know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// What decides the order: all words in the order in which they were written, those of phrases among them.
    pub words: String,
    /// Texts that a passage must have word for word.
    pub phrases: Vec<String>,
    /// Beginnings of words, without their star.
    pub prefixes: Vec<String>,
    /// What a passage must not have.
    pub without: Vec<Without>,
    /// Which sessions are looked at: one filter of each field that was named must fit, and none that is negated.
    pub filters: Vec<Filter>,
    /// Only what was said at or after this moment.
    pub after: Option<Timestamp>,
    /// Only what was said before this moment.
    pub before: Option<Timestamp>,
    /// Whether a bound names no moment: then nothing fits.
    pub fits_nothing: bool,
    /// What was taken in another way than somebody may have meant it; each a sentence without its full stop.
    pub notes: Vec<String>,
    /// Whether a secret is in it: then no part of it is to be said again, for a part alone may not look like one.
    pub has_secret: bool,
}

/// What a passage must not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Without {
    /// A word, in any of its forms, or a name.
    Word(String),
    /// A text, word for word.
    Phrase(String),
}

/// A restriction of the sessions that are looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// Of what.
    pub field: Field,
    /// What it must be, or for a negated filter must not be; for an agent or a state its name in answers.
    pub value: String,
    /// Whether sessions that fit are left out.
    pub negated: bool,
}

/// What sessions are filtered by, moments apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    /// A directory, or a name that fits exactly one project.
    Project,
    /// A file that the session read or changed: its path, the end of it, a part of it, or a pattern with `*`.
    File,
    /// A tool that the session used, by its name or a part of it.
    Tool,
    /// Whose transcript it is.
    Agent,
    /// A branch that the session worked on.
    Branch,
    /// Where the session stands.
    State,
}

impl Field {
    /// Every value, in the order in which help names them.
    pub const ALL: [Self; 6] = [Self::Project, Self::File, Self::Tool, Self::Agent, Self::Branch, Self::State];

    /// The name before the colon.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::File => "file",
            Self::Tool => "tool",
            Self::Agent => "agent",
            Self::Branch => "branch",
            Self::State => "state",
        }
    }
}

/// States that a session in the memory may have.
const STATES: [&str; 6] = ["active", "inactive", "unindexed", "indexing", "indexed", "failed"];

impl Question {
    /// Whether nothing is looked for but sessions that fit the filters, all of them where there are none.
    pub fn is_filters_only(&self) -> bool {
        self.words.trim().is_empty() && self.prefixes.is_empty()
    }

    /// Whether there are words that stand in no phrase.
    pub fn has_loose_words(&self) -> bool {
        !self.prefixes.is_empty() || self.words != self.phrases.join(" ")
    }

    /// Whether only some sessions are looked at.
    pub fn is_restricted(&self) -> bool {
        !self.filters.is_empty() || self.after.is_some() || self.before.is_some() || self.fits_nothing
    }

    /// The values of a field: those that may be, or those that may not.
    pub fn values(&self, field: Field, negated: bool) -> impl Iterator<Item = &str> {
        let of = move |filter: &&Filter| filter.field == field && filter.negated == negated;
        self.filters.iter().filter(of).map(|filter| filter.value.as_str())
    }

    fn word(&mut self, text: &str) {
        if !self.words.is_empty() {
            self.words.push(' ');
        }
        self.words.push_str(text);
    }

    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn has_room(&self) -> bool {
        self.phrases.len() + self.prefixes.len() + self.without.len() < MAX_OPERATORS
    }

    /// Takes a piece for the filter it looks like; false when it is none.
    fn filter(&mut self, name: &str, piece: &Piece<'_>) -> bool {
        let value = piece.text;
        let full = self.filters.len() >= MAX_FILTERS;
        let lower = name.to_ascii_lowercase();
        let field = match lower.as_str() {
            "before" | "until" | "after" | "since" => return false,
            "path" => Some(Field::File),
            lower => Field::ALL.into_iter().find(|field| field.as_str() == lower),
        };
        let Some(field) = field else {
            if name == lower && !piece.quoted && may_be_meant(name, value) {
                let known = "project, file, tool, agent, branch, state, before and after";
                self.note(format!(
                    "there is no filter {name:?}, so {:?} is words; there are {known}",
                    shown(piece.raw)
                ));
            }
            return false;
        };
        // `file://…` is an address, `state::Open` a path.
        let is_other = !piece.quoted && (value.starts_with("//") || value.starts_with(':'));
        if full || value.trim().is_empty() || is_other {
            return false;
        }
        let known = match field {
            Field::Agent => agent(value).map(|agent| agent.as_str().to_owned()),
            Field::State => STATES.iter().find(|state| state.eq_ignore_ascii_case(value)).map(|it| (*it).to_owned()),
            _ => Some(value.trim().to_owned()),
        };
        if known.is_none() {
            let names: Vec<&str> = match field {
                Field::Agent => Agent::ALL.iter().map(|agent| agent.as_str()).collect(),
                _ => STATES.to_vec(),
            };
            self.unfit(piece, &format!("there is no such {}; there are {}", field.as_str(), names.join(", ")));
        }
        let value = known.unwrap_or_else(|| value.trim().to_owned());
        self.filters.push(Filter { field, value, negated: piece.minus });
        true
    }

    /// Says of a filter that nothing fits it, or nothing is left out by it, and why.
    fn unfit(&mut self, piece: &Piece<'_>, why: &str) {
        let written = shown(piece.raw);
        match piece.minus {
            true => self.note(format!("{written:?} leaves nothing out: {why}")),
            false => self.note(format!("nothing fits {written:?}: {why}; in quotes it is looked for as words")),
        }
    }
}

/// Reads a text. `now` is what `7d` and `yesterday` are counted from.
pub fn read(text: &str, now: Timestamp) -> Question {
    let read = head(text);
    let mut asked = Question { has_secret: *redact(read) != *read, ..Question::default() };
    if read.len() < text.len() {
        asked.note(format!("only the first {MAX_BYTES} bytes of the question were read"));
    }
    let mut dashed: Vec<&str> = Vec::new();
    let mut before: Option<Piece<'_>> = None;
    for piece in pieces(read) {
        asked.take(&piece, now, &mut dashed);
        pitfall::of(before.as_ref(), &piece).into_iter().for_each(|note| asked.note(note));
        before = Some(piece);
    }
    let Some(first) = dashed.first() else { return asked };
    if asked.words.is_empty() && asked.prefixes.is_empty() && !asked.is_restricted() {
        // A question of nothing but exclusions is about flags.
        asked.without.clear();
        dashed.iter().for_each(|raw| asked.word(raw));
        let first = shown(first);
        asked.note(format!("{first} is looked for: there is nothing else to look for, of which it could be left out"));
        return asked;
    }
    let left_out: Vec<String> = dashed.iter().map(|raw| shown(raw[1..].trim_matches('"'))).collect();
    let (left_out, is_phrase) = (left_out.join(", "), first[1..].starts_with(|c: char| !c.is_alphanumeric()));
    let instead = match is_phrase {
        true => "without its dash the phrase is looked for".to_owned(),
        false => format!("\"{}\" in quotes looks for it instead", shown(first)),
    };
    asked.note(format!("passages with {left_out} are left out; {instead}"));
    asked
}

impl Question {
    fn take<'a>(&mut self, piece: &Piece<'a>, now: Timestamp, dashed: &mut Vec<&'a str>) {
        if let Some(name) = piece.field
            && (self.moment(name, piece, now) || self.filter(name, piece))
        {
            return;
        }
        if piece.field.is_some() || !self.has_room() {
            return self.word(piece.raw);
        }
        match (piece.minus, piece.quoted) {
            (false, true) if has_word(piece.text) => {
                self.phrases.push(piece.text.to_owned());
                self.word(piece.text);
            }
            (true, true) if has_word(piece.text) => {
                self.without.push(Without::Phrase(piece.text.to_owned()));
                dashed.push(piece.raw);
            }
            (true, false) if is_word_to_leave_out(piece.text) => {
                self.without.push(Without::Word(piece.text.to_owned()));
                dashed.push(piece.raw);
            }
            (false, false) => match prefix(piece.text) {
                Some(prefix) => self.prefixes.push(prefix.to_owned()),
                None => self.word(piece.raw),
            },
            _ => self.word(piece.raw),
        }
    }

    /// Takes a piece for a bound in time; false when it is none.
    fn moment(&mut self, name: &str, piece: &Piece<'_>, now: Timestamp) -> bool {
        let lower = name.to_ascii_lowercase();
        let is_after = matches!(lower.as_str(), "after" | "since");
        if !is_after && !matches!(lower.as_str(), "before" | "until") {
            return false;
        }
        if piece.text.trim().is_empty() || !piece.quoted && piece.text.starts_with([':', '/']) {
            return false;
        }
        let Some(at) = moment(piece.text, now) else {
            self.unfit(piece, "no date, as 2026-03-14, 2026-03, 7d or yesterday are");
            self.fits_nothing |= !piece.minus;
            return true;
        };
        // What is not after a moment is before it.
        let is_after = is_after != piece.minus;
        // Of several the narrowest holds.
        match is_after {
            true => self.after = Some(self.after.map_or(at, |known| known.max(at))),
            false => self.before = Some(self.before.map_or(at, |known| known.min(at))),
        }
        true
    }
}

/// The agent of a name as people write it: `claude`, `Claude-Code`, `codex`.
fn agent(text: &str) -> Option<Agent> {
    let wanted = text.trim().to_ascii_lowercase().replace(['-', ' '], "_");
    let fits = |agent: &Agent| agent.as_str() == wanted || agent.as_str().split('_').next() == Some(wanted.as_str());
    Agent::ALL.into_iter().find(fits)
}

/// Whether `name:value` may be meant as a filter, and is no place in a file, address or path of a language.
fn may_be_meant(name: &str, value: &str) -> bool {
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit() || byte == b':');
    let near = nearest(name, Field::ALL.into_iter().map(Field::as_str).chain(["before", "after"])).is_some();
    !is_number && !value.starts_with([':', '/', '\\']) && (near || name.len() >= 3)
}

/// What stands before the star of `migrat*`, if that is enough to look for.
fn prefix(text: &str) -> Option<&str> {
    let before = text.strip_suffix('*')?;
    let is_plain = before.starts_with(char::is_alphanumeric) && !before.contains('*');
    (is_plain && before.chars().filter(|c| c.is_alphanumeric()).count() >= PREFIX_CHARS).then_some(before)
}

/// Whether what follows a dash is a word to leave out, and no flag of a command: those are short, or say more than a word.
fn is_word_to_leave_out(text: &str) -> bool {
    let is_long = text.chars().count() >= WITHOUT_CHARS || !text.is_ascii();
    is_long && text.starts_with(char::is_alphabetic) && !text.contains(['=', '*', ',', '(', '"'])
}

fn has_word(text: &str) -> bool {
    text.contains(char::is_alphanumeric)
}

/// The first bytes of a text, whole characters.
fn head(text: &str) -> &str {
    let mut end = MAX_BYTES.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
