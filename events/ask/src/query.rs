//! Query syntax: words, `"phrases"`, `prefix*`, `-without`, and filters such as `file:auth.rs after:7d`.
//!
//! Every text is a valid question: what only looks like an operator is searched for as words, and a note says so where
//! that may surprise. A filter with an unknown value stays a filter that matches nothing, and a note says why. Parsing
//! is pure, total and linear in the text; the current time is an argument.

mod hint;
mod moment;
mod piece;
#[cfg(test)]
mod tests;

pub use moment::{AskedAt, MONTHS, parse_moment};

use self::piece::{Piece, pieces};
use baton_conversation::item::Agent;
use baton_conversation::record::Timestamp;
use baton_protocol::Zone;
use baton_protocol::tool::nearest;
use baton_redaction::redact;

/// Maximum number of bytes of a text that are read; the rest is ignored, with a note.
pub const MAX_BYTES: usize = 16 * 1024;
/// Maximum number of phrases, prefixes and exclusions together; further ones are words.
pub const MAX_OPERATORS: usize = 16;
/// Maximum number of filters; further ones are words.
pub const MAX_FILTERS: usize = 16;
/// Minimum number of characters before the star of a prefix; shorter ones would match half of all words.
const PREFIX_CHARS: usize = 2;
/// Minimum number of characters after the dash of an exclusion: `-n` and `-rf` are flags.
const WITHOUT_CHARS: usize = 3;
/// Maximum number of characters of the input that a note repeats.
const SHOWN_CHARS: usize = 60;

/// A parsed question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// All words in their order, including those of phrases; they determine the ranking.
    pub words: String,
    /// Texts that a passage must contain literally.
    pub phrases: Vec<String>,
    /// Prefixes of words, without their star.
    pub prefixes: Vec<String>,
    /// What a passage must not contain.
    pub without: Vec<Without>,
    /// Restrictions of the sessions: for each field, one of its plain filters must match, and no negated one.
    pub filters: Vec<Filter>,
    /// Only what was said at or after this time.
    pub after: Option<Timestamp>,
    /// Only what was said before this time.
    pub before: Option<Timestamp>,
    /// True if a time bound could not be parsed: then nothing matches.
    pub fits_nothing: bool,
    /// Notes on input that was read differently than it may have been meant; each a sentence without its full stop.
    pub notes: Vec<String>,
    /// True if the question contains a secret. Then no part of it may be repeated, as a part alone may not be
    /// recognisable as one.
    pub has_secret: bool,
    /// The time zone of the days that it names.
    pub zone: Zone,
}

/// What a passage must not contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Without {
    /// A word, in any of its forms, or a name.
    Word(String),
    /// A literal text.
    Phrase(String),
}

/// A restriction of the sessions that are searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// The filtered property.
    pub field: Field,
    /// The required value, or for a negated filter the excluded one; agents and states by their name in answers.
    pub value: String,
    /// True if matching sessions are excluded.
    pub negated: bool,
}

baton_protocol::named! {
    /// Properties of sessions that can be filtered, except times.
    Field {
        /// A directory, or a name that matches exactly one project.
        Project = "project",
        /// A file that the session read or changed: its path, the end or a part of it, or a pattern with `*`.
        File = "file",
        /// A tool that the session used, by its name or a part of it.
        Tool = "tool",
        /// The agent that wrote the transcript.
        Agent = "agent",
        /// A branch that the session worked on.
        Branch = "branch",
        /// The state of the session.
        State = "state",
        /// Whose session it is: `me`, `team` for anybody else's, the name of a person or machine, a fingerprint.
        Who = "who",
    }
}

/// States that a session in the memory may have.
const STATES: [&str; 6] = ["active", "inactive", "unindexed", "indexing", "indexed", "failed"];

impl Question {
    /// Returns true if the question has only filters: it asks for all matching sessions.
    pub fn is_filters_only(&self) -> bool {
        self.words.trim().is_empty() && self.prefixes.is_empty()
    }

    /// Returns true if there are words outside of phrases.
    pub fn has_loose_words(&self) -> bool {
        !self.prefixes.is_empty() || self.words != self.phrases.join(" ")
    }

    /// Returns true if only some sessions are searched.
    pub fn is_restricted(&self) -> bool {
        !self.filters.is_empty() || self.after.is_some() || self.before.is_some() || self.fits_nothing
    }

    /// Returns the values of a field, either the required or the excluded ones.
    pub fn values(&self, field: Field, negated: bool) -> impl Iterator<Item = &str> {
        let of = move |filter: &&Filter| filter.field == field && filter.negated == negated;
        self.filters.iter().filter(of).map(|filter| filter.value.as_str())
    }

    fn push_word(&mut self, text: &str) {
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

    /// Adds a piece as the filter that it looks like; returns false if it is not a filter.
    fn add_filter(&mut self, name: &str, piece: &Piece<'_>) -> bool {
        let value = piece.text;
        let full = self.filters.len() >= MAX_FILTERS;
        let lower = name.to_ascii_lowercase();
        let field = match lower.as_str() {
            "before" | "until" | "after" | "since" => return false,
            "path" => Some(Field::File),
            lower => Field::parse(lower),
        };
        let Some(field) = field else {
            if name == lower && !piece.quoted && may_be_meant(name, value) {
                let known = "project, file, tool, agent, branch, state, who, before and after";
                self.note(format!(
                    "there is no filter {name:?}, so {:?} is words; there are {known}",
                    excerpt(piece.raw)
                ));
            }
            return false;
        };
        // `file://…` is a URL, `state::Open` a path.
        let is_other = !piece.quoted && (value.starts_with("//") || value.starts_with(':'));
        if full || value.trim().is_empty() || is_other {
            return false;
        }
        let known = match field {
            Field::Agent => Agent::named(value).map(|agent| agent.as_str().to_owned()),
            Field::State => STATES.iter().find(|state| state.eq_ignore_ascii_case(value)).map(|it| (*it).to_owned()),
            _ => Some(value.trim().to_owned()),
        };
        if known.is_none() {
            let names: Vec<&str> = match field {
                Field::Agent => Agent::ALL.iter().map(|agent| agent.as_str()).collect(),
                _ => STATES.to_vec(),
            };
            self.note_unmatched(piece, &format!("there is no such {}; there are {}", field.as_str(), names.join(", ")));
        }
        let value = known.unwrap_or_else(|| value.trim().to_owned());
        self.filters.push(Filter { field, value, negated: piece.minus });
        true
    }

    /// Adds a note that a filter matches, or excludes, nothing, and why.
    fn note_unmatched(&mut self, piece: &Piece<'_>, why: &str) {
        let written = excerpt(piece.raw);
        match piece.minus {
            true => self.note(format!("{written:?} leaves nothing out: {why}")),
            false => self.note(format!("nothing fits {written:?}: {why}; in quotes it is searched for as words")),
        }
    }
}

/// Parses a text.
pub fn parse(text: &str, asked_at: impl Into<AskedAt>) -> Question {
    let (read, now) = (bounded(text), asked_at.into());
    let mut asked = Question { has_secret: *redact(read) != *read, zone: now.zone, ..Question::default() };
    if read.len() < text.len() {
        asked.note(format!("only the first {MAX_BYTES} bytes of the question were read"));
    }
    let mut dashed: Vec<&str> = Vec::new();
    let mut before: Option<Piece<'_>> = None;
    for piece in pieces(read) {
        asked.add(&piece, now, &mut dashed);
        hint::for_piece(before.as_ref(), &piece).into_iter().for_each(|note| asked.note(note));
        before = Some(piece);
    }
    let Some(first) = dashed.first() else { return asked };
    if asked.words.is_empty() && asked.prefixes.is_empty() && !asked.is_restricted() {
        // A question of nothing but exclusions is about flags.
        asked.without.clear();
        dashed.iter().for_each(|raw| asked.push_word(raw));
        let first = excerpt(first);
        asked.note(format!("{first} is searched for as text: a query cannot consist of exclusions only"));
        return asked;
    }
    let left_out: Vec<String> = dashed.iter().map(|raw| excerpt(raw[1..].trim_matches('"'))).collect();
    let (left_out, is_phrase) = (left_out.join(", "), first[1..].starts_with(|c: char| !c.is_alphanumeric()));
    let instead = match is_phrase {
        true => "without its dash the phrase is searched for".to_owned(),
        false => format!("\"{}\" in quotes searches for it instead", excerpt(first)),
    };
    asked.note(format!("passages with {left_out} are left out; {instead}"));
    asked
}

impl Question {
    fn add<'a>(&mut self, piece: &Piece<'a>, now: AskedAt, dashed: &mut Vec<&'a str>) {
        if let Some(name) = piece.field
            && (self.add_bound(name, piece, now) || self.add_filter(name, piece))
        {
            return;
        }
        if piece.field.is_some() || !self.has_room() {
            return self.push_word(piece.raw);
        }
        match (piece.minus, piece.quoted) {
            (false, true) if has_word(piece.text) => {
                self.phrases.push(piece.text.to_owned());
                self.push_word(piece.text);
            }
            (true, true) if has_word(piece.text) => {
                self.without.push(Without::Phrase(piece.text.to_owned()));
                dashed.push(piece.raw);
            }
            (true, false) if is_word_to_leave_out(piece.text) => {
                self.without.push(Without::Word(piece.text.to_owned()));
                dashed.push(piece.raw);
            }
            (false, false) => match parse_prefix(piece.text) {
                Some(prefix) => self.prefixes.push(prefix.to_owned()),
                None => self.push_word(piece.raw),
            },
            _ => self.push_word(piece.raw),
        }
    }

    /// Adds a piece as a time bound; returns false if it is not one.
    fn add_bound(&mut self, name: &str, piece: &Piece<'_>, now: AskedAt) -> bool {
        let lower = name.to_ascii_lowercase();
        let is_after = matches!(lower.as_str(), "after" | "since");
        if !is_after && !matches!(lower.as_str(), "before" | "until") {
            return false;
        }
        if piece.text.trim().is_empty() || !piece.quoted && piece.text.starts_with([':', '/']) {
            return false;
        }
        let Some(at) = parse_moment(piece.text, now) else {
            self.note_unmatched(piece, "not a date like 2026-03-14, 2026-03, 7d, yesterday or \"last week\"");
            self.fits_nothing |= !piece.minus;
            return true;
        };
        // Not after a time is before it.
        let is_after = is_after != piece.minus;
        // Of several bounds the narrowest applies.
        match is_after {
            true => self.after = Some(self.after.map_or(at, |known| known.max(at))),
            false => self.before = Some(self.before.map_or(at, |known| known.min(at))),
        }
        true
    }
}

/// Returns true if `name:value` may be meant as a filter, not as a file position, a URL or a path of a language.
fn may_be_meant(name: &str, value: &str) -> bool {
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit() || byte == b':');
    let near = nearest(name, Field::ALL.iter().map(|field| field.as_str()).chain(["before", "after"])).is_some();
    !is_number && !value.starts_with([':', '/', '\\']) && (near || name.len() >= 3)
}

/// Returns the part before the star of `migrat*`, if it is long enough.
fn parse_prefix(text: &str) -> Option<&str> {
    let before = text.strip_suffix('*')?;
    let is_plain = before.starts_with(char::is_alphanumeric) && !before.contains('*');
    (is_plain && before.chars().filter(|c| c.is_alphanumeric()).count() >= PREFIX_CHARS).then_some(before)
}

/// Returns true if the text after a dash is a word to exclude, not a flag: flags are short, or are more than a word.
fn is_word_to_leave_out(text: &str) -> bool {
    let is_long = text.chars().count() >= WITHOUT_CHARS || !text.is_ascii();
    is_long && text.starts_with(char::is_alphabetic) && !text.contains(['=', '*', ',', '(', '"'])
}

fn has_word(text: &str) -> bool {
    text.contains(char::is_alphanumeric)
}

/// Returns the first `MAX_BYTES` bytes of a text, cut at a character boundary.
fn bounded(text: &str) -> &str {
    let mut end = MAX_BYTES.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn excerpt(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
