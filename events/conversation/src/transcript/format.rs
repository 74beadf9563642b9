//! What a reader of one agent's transcripts has to know, and the table of those that there are.
//!
//! A further agent is a file with its [`Format`], a line in the table below, and its name in
//! [`Agent`](crate::item::Agent).

use super::Sink;
use super::place::Located;
use super::scribe::Scribe;
use crate::item::Agent;
use baton_redaction::raw_json::Fields;

/// Where an agent keeps its transcripts, below its own directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The agent's name, as people write it.
    pub title: &'static str,
    /// The variable that names the agent's directory.
    pub variable: &'static str,
    /// The agent's directory below the user's home, where the variable says nothing.
    pub directory: &'static str,
    /// Folders in that directory under which transcripts lie. A directory is the agent's if it holds the first one.
    pub folders: &'static [&'static str],
    /// How names of transcripts end.
    pub endings: &'static [&'static str],
    /// Deepest folder below a root that holds transcripts, the root itself counted as 1.
    pub depth: usize,
    /// Folders that hold other things, wherever they lie.
    pub passed_over: &'static [&'static str],
    /// What the agent appends to the name of a transcript that it has compressed in place.
    pub compressed: Option<&'static str>,
}

impl Layout {
    /// Whether a file's name ends like that of a transcript.
    pub fn may_be_transcript(&self, name: &str) -> bool {
        self.endings.iter().any(|ending| name.ends_with(ending))
    }

    /// The path of a transcript before the agent compressed it; `None` if it is no compressed one's.
    pub fn plain<'p>(&self, path: &'p str) -> Option<&'p str> {
        path.strip_suffix(self.compressed?)
    }
}

/// Reads one agent's transcripts.
pub(super) trait Format {
    /// Where they lie.
    const LAYOUT: Layout;

    /// Which session a file is, by its path below a root, with `/` between the names; `None` for what is none.
    fn classify(rel_path: &str) -> Option<Located>;

    /// Says what one record says. Where it ends, if it is whole; a torn one leaves no trace.
    fn record<S: Sink>(fields: Fields<'_>, scribe: &mut Scribe<'_, S>) -> Option<usize>;

    /// The kind of a record whose beginning is known: for lines too long to be read.
    fn kind_of(head: &[u8]) -> Option<String>;
}
