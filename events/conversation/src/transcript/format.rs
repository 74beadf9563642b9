//! The interface of a format: how one agent's transcripts are found and read.
//!
//! To add an agent: write its [`Format`] in a file, name it in [`Agent`](crate::item::Agent), and add both to the table
//! in the parent module.

use super::document::Document;
use super::item_writer::ItemWriter;
use super::location::Located;
use super::session_file::SessionFile;
use super::table::Table;
use super::tools::Tools;
use baton_redaction::raw_json::{Fields, Found, first_object};

/// Location of an agent's transcripts in its [directory](baton_protocol::AgentHome).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Folders in the agent's directory that contain transcripts; an empty name stands for the directory itself. A
    /// directory is the agent's if it has the first one.
    pub folders: &'static [&'static str],
    /// Path in a project of the file with the sessions there, with `/` as separator, if the agent keeps such. The root
    /// is the folder of the file.
    pub in_project: Option<&'static str>,
    /// Endings of the file names of transcripts, or of databases with sessions.
    pub endings: &'static [&'static str],
    /// Deepest level below a root with transcripts; the root is 1.
    pub depth: usize,
    /// Folders that never contain transcripts, at any level.
    pub passed_over: &'static [&'static str],
    /// Ending that the agent appends to a transcript that it compresses in place.
    pub compressed: Option<&'static str>,
    /// Where a session's working directory stands, if no record names it.
    pub working_directory: WorkingDirectory,
    /// Where a title of the session stands that is not in its records: the name of a JSON file beside the transcript, as in
    /// [`WorkingDirectory::Beside`], and the pointer to the title.
    pub title: Option<(&'static str, &'static str)>,
}

/// Where the working directory of a session stands that its records do not name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkingDirectory {
    /// Nowhere else.
    Recorded,
    /// In a JSON file beside the transcript.
    Beside {
        /// The file's name; `*` stands for the transcript's, without its ending, and `+` for its folder's.
        file: &'static str,
        /// The JSON pointer to the directory.
        pointer: &'static str,
    },
    /// In the name of the folder above this one: the path, with a `-` for everything but letters and digits.
    Above(&'static str),
    /// It is the project in which the file with the sessions lies ([`Layout::in_project`]), whatever the records name.
    Project,
}

impl Layout {
    /// What most agents have: JSON Lines, and directories in the records.
    pub(super) const LINES: Self = Self {
        folders: &[],
        in_project: None,
        endings: &[".jsonl"],
        depth: 1,
        passed_over: &[],
        compressed: None,
        working_directory: WorkingDirectory::Recorded,
        title: None,
    };

    /// True if the file name has the ending of a transcript.
    pub fn may_be_transcript(&self, name: &str) -> bool {
        self.endings.iter().any(|ending| name.ends_with(ending))
    }

    /// The path of a compressed transcript without that ending; `None` for any other path.
    pub fn plain<'p>(&self, path: &'p str) -> Option<&'p str> {
        path.strip_suffix(self.compressed?)
    }
}

/// The format of one agent's transcripts.
pub(super) trait Format {
    const LAYOUT: Layout;
    const TOOLS: Tools = Tools::USUAL;
    /// Transcripts that are whole documents, if the agent has such.
    const DOCUMENT: Option<Document> = None;
    /// Databases that hold the sessions, if the agent has such: see [`Table`].
    const TABLE: Option<Table> = None;
    /// The file with many sessions, if the agent has such; the path of a transcript is then one of a session in it.
    const SESSION_FILE: Option<SessionFile> = None;

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
    let Found::Object(mut fields) = first_object(head) else { return None };
    let text = fields.find_map(|(key, value)| (key.raw() == name).then(|| value.text())?)?;
    Some(text.decode().into_owned())
}
