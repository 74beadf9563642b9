//! The interface of a format: how one agent's transcripts are found and read.
//!
//! To add an agent: write its [`Format`] in a file, name it in [`Agent`](crate::item::Agent), and add both to the table
//! in the parent module.

use serde_json::Value;

use super::document::Document;
use super::item_writer::ItemWriter;
use super::location::Located;
use crate::item::Act;
use baton_redaction::raw_json;
use baton_redaction::raw_json::{Fields, Found};

/// Location of an agent's transcripts in its [directory](baton_protocol::AgentHome).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Folders in the agent's directory that contain transcripts. A directory is the agent's if it has the first one.
    pub folders: &'static [&'static str],
    /// Endings of transcripts' file names.
    pub endings: &'static [&'static str],
    /// Deepest level below a root with transcripts; the root is 1.
    pub depth: usize,
    /// Folders that never contain transcripts, at any level.
    pub passed_over: &'static [&'static str],
    /// Ending that the agent appends to a transcript that it compresses in place.
    pub compressed: Option<&'static str>,
    /// Where a session's working directory stands, if no record names it.
    pub working_directory: WorkingDirectory,
}

/// Where the working directory of a session stands that its records do not name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkingDirectory {
    /// Nowhere else.
    Recorded,
    /// In a JSON file beside the transcript.
    Beside {
        /// The file's name; `*` stands for the transcript's, without its ending.
        file: &'static str,
        /// The JSON pointer to the directory.
        pointer: &'static str,
    },
    /// In the name of the folder above this one: the path, with a `-` for everything but letters and digits.
    Above(&'static str),
}

impl Layout {
    /// True if the file name has the ending of a transcript.
    pub fn may_be_transcript(&self, name: &str) -> bool {
        self.endings.iter().any(|ending| name.ends_with(ending))
    }

    /// The path of a compressed transcript without that ending; `None` for any other path.
    pub fn plain<'p>(&self, path: &'p str) -> Option<&'p str> {
        path.strip_suffix(self.compressed?)
    }
}

/// How an agent names its tools and their parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tools {
    /// Names of tools, separated by spaces, by the act they are.
    pub(crate) acts: &'static [(Act, &'static str)],
    /// Parameters that Claude Code names otherwise: the name here, and Claude Code's, by which they are stored.
    pub(crate) parameters: &'static [(&'static str, &'static str)],
}

impl Tools {
    /// Tools that are named as [`Act::of_tool`] knows them.
    pub(crate) const USUAL: Self = Self { acts: &[], parameters: &[] };

    /// The act of a tool.
    pub(crate) fn act(&self, name: &str) -> Act {
        let named = self.acts.iter().find(|(_, names)| names.split(' ').any(|known| known == name));
        named.map_or_else(|| Act::of_tool(name), |(act, _)| *act)
    }

    /// The parameters of a call under the names by which they are stored, as JSON; `None` if they have them already.
    pub(crate) fn renamed(&self, parameters: raw_json::Value<'_>) -> Option<String> {
        let raw_json::Value::Object(bytes) = parameters else { return None };
        if self.parameters.is_empty() {
            return None;
        }
        let mut whole: Value = serde_json::from_slice(&bytes).ok()?;
        self.rename(&mut whole);
        Some(whole.to_string())
    }

    /// Renames the fields of an object and of the objects in its lists.
    fn rename(&self, object: &mut Value) {
        let Value::Object(fields) = object else { return };
        for (written, stored) in self.parameters {
            if !fields.contains_key(*stored)
                && let Some(value) = fields.remove(*written)
            {
                fields.insert((*stored).to_owned(), value);
            }
        }
        fields.values_mut().filter_map(Value::as_array_mut).flatten().for_each(|element| self.rename(element));
    }
}

/// The format of one agent's transcripts.
pub(super) trait Format {
    const LAYOUT: Layout;
    const TOOLS: Tools = Tools::USUAL;
    /// Transcripts that are whole documents, if the agent has such.
    const DOCUMENT: Option<Document> = None;

    /// Identifies the session of a file by its path below a root, with `/` as separator; `None` if it is not a
    /// transcript.
    fn classify(rel_path: &str) -> Option<Located>;

    /// The path of the transcript that takes precedence over this one if it exists: the agent writes both, and this one
    /// with shortened texts.
    fn fuller(_path: &str) -> Option<String> {
        None
    }

    /// Reads one record. Returns the offset of its end; `None` if it is torn, in which case nothing is emitted.
    fn record(fields: Fields<'_>, writer: &mut ItemWriter<'_>) -> Option<usize>;

    /// Type of a record of which only the beginning is known, for lines too long to be read.
    fn kind_of(head: &[u8]) -> Option<String> {
        field_of(head, b"type")
    }
}

/// The first text field with this name, of a record of which only the beginning is known.
pub(super) fn field_of(head: &[u8], name: &[u8]) -> Option<String> {
    let Found::Object(mut fields) = raw_json::first_object(head) else { return None };
    let text = fields.find_map(|(key, value)| (key.raw() == name).then(|| value.text())?)?;
    Some(text.decode().into_owned())
}
