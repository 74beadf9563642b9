//! What Baton wants a note to say: keys of its frontmatter, and sections with what is to stand in them.

use baton_conversation::record::Timestamp;

/// A note as it is wanted. What the file holds besides belongs to the person.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// Baton's keys, in the order in which a new note has them.
    pub header: Vec<Field>,
    /// Its sections, in the order in which a new note has them.
    pub sections: Vec<Section>,
}

/// A note that is wanted somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Where, below the vault, with `/`.
    pub path: String,
    /// What it is to say.
    pub note: Note,
}

/// One key of the frontmatter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Small letters and `_`.
    pub key: &'static str,
    /// What it is to be; `None` takes it away.
    pub value: Option<Value>,
    /// When it is written.
    pub when: When,
}

/// The value of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// One text.
    Text(String),
    /// A list of texts.
    List(Vec<String>),
}

/// When a key is written. Never over what a person has written, unless it is [`When::Forced`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Whenever it is otherwise.
    Always,
    /// Where it is not there yet.
    Once,
    /// With any other change of the note: a date of change.
    Touched,
    /// Whatever stands there: in a copy that nobody else writes.
    Forced,
}

/// A part of a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The key of its block: small letters, digits and `-`.
    pub key: &'static str,
    /// The heading above it, of the second level; empty for the block that stands first, before all headings.
    pub heading: &'static str,
    /// What is to stand below it.
    pub body: Body,
}

/// What is to stand in a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// These entries and no others, in this order; an entry may have several lines. What a person has taken over already
    /// holds is not told again.
    Whole(Vec<String>),
    /// Like `Whole`, but once a person has changed it, it is theirs and there is no other.
    Sole(Vec<String>),
    /// These lines beside those that are there, each once, in order.
    Added(Vec<Line>),
    /// Entries with their times, in order of time. An entry below a heading of its own (`### <time> - Session End`) that is
    /// there already stays there.
    Log(Vec<(Timestamp, String)>),
    /// Like `Log`, of which not all entries are known: those that are there already stay.
    LogEnd(Vec<(Timestamp, String)>),
}

/// One line of knowledge, and by which sessions it is supported: `- 2026-03-14: Rotate tokens ([[a]], [[b]])`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line {
    /// Everything before the support, Markdown already.
    pub text: String,
    /// Names of notes of sessions, without extension, sorted.
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

    /// A key that is to go.
    pub fn gone(key: &'static str) -> Self {
        Self { key, value: None, when: When::Always }
    }
}

impl Line {
    /// A line that one session supports.
    pub fn of(text: String, session: &str) -> Self {
        Self { text, support: vec![session.to_owned()] }
    }

    /// A line that stands by itself.
    pub fn alone(text: String) -> Self {
        Self { text, support: Vec::new() }
    }

    /// Reads a line as it was written.
    pub fn parse(line: &str) -> Self {
        let read = || {
            let (text, links) = line.strip_suffix("]])")?.rsplit_once(" ([[")?;
            let support: Vec<String> = links.split("]], [[").map(str::to_owned).collect();
            let is_link = |name: &String| !name.is_empty() && !name.contains(['[', ']', '|', '#']);
            (!text.is_empty() && support.iter().all(is_link)).then(|| Self { text: text.to_owned(), support })
        };
        read().unwrap_or_else(|| Self::alone(line.to_owned()))
    }

    /// Takes in who else supports it.
    pub fn join(&mut self, support: &[String]) {
        self.support.extend_from_slice(support);
        self.support.sort();
        self.support.dedup();
    }

    /// The line as it stands in a note.
    pub fn written(&self) -> String {
        match self.support.is_empty() {
            true => self.text.clone(),
            false => format!("{} ([[{}]])", self.text, self.support.join("]], [[")),
        }
    }
}
