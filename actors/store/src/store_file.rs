//! Files that contain many sessions, each read as its own transcript: databases and text files. Also the trees of files
//! that preceded the databases.
//!
//! The path of a session in a file is virtual: that of the file, followed by the session's id.

mod database;
mod session_file;
mod tree;

use std::fs::Metadata;
use std::io;
use std::path::Path;
use std::sync::Arc;

use baton_base::transcript_file::FileStat;
use baton_conversation::item::Agent;
use baton_conversation::transcript;
use baton_events::session::FileIdentity;

/// A session in a file with many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSeen {
    /// The virtual path of its transcript.
    pub path: String,
    /// Changes whenever the session does. The size is no number of bytes to read.
    pub stat: FileStat,
    /// Identity of the file.
    pub identity: FileIdentity,
}

/// A session's lines.
pub(crate) struct Rendered {
    pub(crate) metadata: Metadata,
    pub(crate) lines: Vec<u8>,
    pub(crate) title: Option<String>,
}

/// Returns all sessions in a file. Blocks for reading it.
///
/// # Errors
///
/// `NotFound` if it does not exist, `InvalidData` if it is damaged or of an unknown form, otherwise something temporary.
pub fn sessions(agent: Agent, path: &Path) -> io::Result<Arc<[SessionSeen]>> {
    match (transcript::session_file(agent), path.to_str().and_then(|path| transcript::tree(agent, path))) {
        (Some(file), _) => session_file::sessions(file, path),
        (None, Some(form)) => tree::sessions(agent, form, path),
        (None, None) => database::sessions(agent, path),
    }
}

/// Renders the session with this path; `None` if it is not that of a session in a file with many.
pub(crate) fn render(agent: Agent, path: &str) -> Option<io::Result<Rendered>> {
    if let Some(file) = transcript::session_file(agent) {
        return Some(session_file::render(file, &file.split(path)?));
    }
    let within = transcript::store_file(agent, path)?;
    if let Some(form) = transcript::tree(agent, within) {
        return Some(tree::render(form, Path::new(within), Path::new(path)));
    }
    let session = Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    Some(database::render(agent, Path::new(within), session))
}
