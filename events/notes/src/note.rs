//! What Baton wants a note to contain: keys of its frontmatter, and sections with their content.

use super::markdown;
use baton_conversation::record::Timestamp;
use baton_protocol::Zone;

/// Maximum length of a name in a title, in characters.
pub(super) const NAME_CHARS: usize = 160;

/// A wanted note. Everything else in the file belongs to the person.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// Baton's keys, in the order of a new note.
    pub header: Vec<Field>,
    /// Its sections, in the order of a new note.
    pub sections: Vec<Section>,
}

/// A wanted note and its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Path below the vault, with `/`.
    pub path: String,
    /// Its content.
    pub note: Note,
}

/// One key of the frontmatter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Lower-case letters and `_`.
    pub key: &'static str,
    /// Its value; `None` removes the key.
    pub value: Option<Value>,
    /// When it is written.
    pub when: When,
}

/// Value of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A text.
    Text(String),
    /// A list of texts.
    List(Vec<String>),
}

/// When a key is written. A person's value is only replaced by [`When::Forced`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Whenever it differs.
    Always,
    /// If it is absent.
    Once,
    /// With any other change of the note: a modification date.
    Touched,
    /// Unconditionally: in a copy that only Baton writes.
    Forced,
}

/// A section of a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Key of its block: lower-case letters, digits and `-`.
    pub key: &'static str,
    /// Its second-level heading; empty for the first block, before all headings.
    pub heading: &'static str,
    /// Its content.
    pub body: Body,
}

/// Content of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Exactly these entries, in this order; an entry may have several lines. Entries in a block that a person has
    /// taken over are not repeated.
    Whole(Vec<String>),
    /// Like `Whole`, but once a person has changed it, it stays theirs and no other block is written.
    Sole(Vec<String>),
    /// These lines in addition to the existing ones, each once, sorted.
    Added(Vec<Line>),
    /// Entries with their times, in order of time. An existing entry with its own heading (`### <time> - Session End`)
    /// is kept.
    Log(Vec<(Timestamp, String)>),
    /// Like `Log`, but not all entries are known: existing ones are kept.
    LogEnd(Vec<(Timestamp, String)>, Zone),
}

/// One line and the sessions that support it: `- 2026-03-14: Rotate tokens ([[a]], [[b]])`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line {
    /// Everything before the support, as Markdown.
    pub text: String,
    /// Names of session notes, without extension, sorted.
    pub support: Vec<String>,
}

impl Field {
    /// A key with a text.
    pub fn text(key: &'static str, value: impl Into<String>, when: When) -> Self {
        Self { key, value: Some(Value::Text(value.into())), when }
    }

    /// A key with a list.
    pub fn list(key: &'static str, value: Vec<String>, when: When) -> Self {
        Self { key, value: Some(Value::List(value)), when }
    }

    /// A key to remove.
    pub fn gone(key: &'static str) -> Self {
        Self { key, value: None, when: When::Always }
    }
}

impl Section {
    /// The title of a note, before all headings.
    pub(super) fn title(name: &str) -> Self {
        let title = format!("# {}", markdown::line(name, NAME_CHARS));
        Self { key: "title", heading: "", body: Body::Sole(vec![title]) }
    }

    /// Lines to add below a heading.
    pub(super) fn added(key: &'static str, heading: &'static str, lines: Vec<Line>) -> Self {
        Self { key, heading, body: Body::Added(lines) }
    }
}

impl Line {
    /// A line that one session supports.
    pub fn supported(text: String, session: &str) -> Self {
        Self { text, support: vec![session.to_owned()] }
    }

    /// A line without support.
    pub fn unsupported(text: String) -> Self {
        Self { text, support: Vec::new() }
    }

    /// Parses a line of a note.
    pub fn parse(line: &str) -> Self {
        let read = || {
            let (text, links) = line.strip_suffix("]])")?.rsplit_once(" ([[")?;
            let support: Vec<String> = links.split("]], [[").map(str::to_owned).collect();
            let is_link = |name: &String| !name.is_empty() && !name.contains(['[', ']', '|', '#']);
            (!text.is_empty() && support.iter().all(is_link)).then(|| Self { text: text.to_owned(), support })
        };
        read().unwrap_or_else(|| Self::unsupported(line.to_owned()))
    }

    /// Adds sessions that support it.
    pub fn join(&mut self, support: &[String]) {
        self.support.extend_from_slice(support);
        self.support.sort();
        self.support.dedup();
    }

    /// Formats the line for a note.
    pub fn written(&self) -> String {
        match self.support.is_empty() {
            true => self.text.clone(),
            false => format!("{} ([[{}]])", self.text, self.support.join("]], [[")),
        }
    }
}
