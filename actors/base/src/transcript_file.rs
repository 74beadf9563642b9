//! Transcript files as `stat` shows them, and opening files without blocking on a pipe.

use std::cell::Cell;
use std::fs::Metadata;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use baton_conversation::item::Agent;
use baton_conversation::record::{SessionId, Timestamp};
use baton_conversation::transcript::{Messages, document, resume_id};
use baton_events::session::{FileIdentity, Kind};

use crate::bounded_fs::within;
pub use baton_home::file::{open, open_regular, read};

/// A transcript file as seen at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSeen {
    /// The session, from the file's name.
    pub session: SessionId,
    /// The agent that writes it.
    pub agent: Agent,
    /// A session of its own or a subagent's.
    pub kind: Kind,
    /// Absolute path. Paths that are not UTF-8 are counted and not read. Shared, because there may be half a million.
    pub path: Arc<str>,
    /// Size and modification time.
    pub stat: FileStat,
    /// The file behind the path.
    pub identity: FileIdentity,
}

/// Size and modification time. Equal values mean, to the file system's precision, that the file was not written
/// meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileStat {
    /// Modification time in nanoseconds since 1970; the first field, so that the newest sorts last.
    pub modified_ns: i64,
    /// Size in bytes.
    pub size: u64,
}

impl FileStat {
    /// Reads both from metadata.
    pub fn new(metadata: &Metadata) -> Self {
        let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let ns = modified.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX));
        Self { modified_ns: ns, size: metadata.len() }
    }

    /// Reads both of a transcript. One whose messages are files of their own is as new as the folder with these.
    pub fn of_transcript(agent: Agent, path: &Path, metadata: &Metadata) -> Self {
        let document = path.to_str().and_then(|path| document(agent, path));
        let folder = match document.map(|document| document.messages) {
            Some(Messages::Files { folder, .. }) => std::fs::metadata(path.with_file_name(folder)).ok(),
            _ => None,
        };
        let stat = Self::new(metadata);
        let folder = folder.map_or(0, |folder| Self::new(&folder).modified_ns);
        Self { modified_ns: stat.modified_ns.max(folder), ..stat }
    }

    /// Modification time.
    pub fn modified(&self) -> Timestamp {
        Timestamp(self.modified_ns / 1_000_000)
    }
}

/// Metadata of a transcript's file. For a session stored in a shared file, whose path continues after the file's, that
/// of the shared file.
pub fn metadata(path: &Path) -> io::Result<Metadata> {
    let holds = |above: &Path| std::fs::metadata(above).ok().filter(Metadata::is_file);
    std::fs::metadata(path).or_else(|error| path.ancestors().skip(1).find_map(holds).ok_or(error))
}

/// True if a transcript's file exists.
pub fn exists(path: &Path) -> bool {
    metadata(path).is_ok()
}

/// The file's identity: device and inode.
#[cfg(unix)]
pub fn identity(metadata: &Metadata) -> FileIdentity {
    use std::os::unix::fs::MetadataExt;
    FileIdentity { device: metadata.dev(), inode: metadata.ino() }
}

/// The file's identity: unknown on this system, so files are told apart by content only.
#[cfg(not(unix))]
pub fn identity(_metadata: &Metadata) -> FileIdentity {
    FileIdentity::default()
}

/// Number of hard links to a file.
#[cfg(unix)]
pub fn link_count(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(metadata)
}

/// Number of hard links to a file: unknown on this system, so 1.
#[cfg(not(unix))]
pub fn link_count(_metadata: &Metadata) -> u64 {
    1
}

/// Reads the beginnings of transcripts for what their paths do not say. Once a read times out, no further one is tried.
#[derive(Debug, Default)]
pub struct TranscriptHeads {
    has_given_up: Cell<bool>,
}

/// Time limit for reading the beginning of a transcript.
const HEAD_ANSWER: Duration = Duration::from_millis(500);
/// How much of it is read, in bytes: a header.
const HEAD_BYTES: u64 = 4 * 1024;

impl TranscriptHeads {
    /// The command line that resumes the main session in this file, as words, the program first. `None` if its agent
    /// has none.
    pub fn resume(&self, agent: Agent, session: &SessionId, path: &str) -> Option<Vec<String>> {
        agent.resume_command(&resume_id(agent, session, path, &|| self.read(path).unwrap_or_default())?)
    }

    fn read(&self, path: &str) -> Option<Vec<u8>> {
        if self.has_given_up.get() {
            return None;
        }
        let path = path.to_owned();
        let head = within(HEAD_ANSWER, move || {
            let mut head = Vec::new();
            open(Path::new(&path)).ok()?.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
            Some(head)
        });
        self.has_given_up.set(head.is_none());
        head?
    }
}

/// `path` as text, if it is UTF-8.
pub fn path_text(path: &Path) -> Option<String> {
    path.to_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_to_go_on_with_is_read_where_the_path_does_not_have_it() {
        const WHOLE: &str = "d5be006c-3180-402b-977a-50ad2bb30a2e";
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("session-2026-06-11T19-15-d5be006c.jsonl");
        let session = SessionId::new("d5be006c").unwrap();
        let heads = TranscriptHeads::default();
        let line = |agent| heads.resume(agent, &session, path.to_str().unwrap()).map(|words| words.join(" "));
        assert_eq!(line(Agent::Gemini), None, "the file is gone");
        let messages = "x".repeat(100_000);
        for (head, expected) in [
            (format!("{{\"sessionId\":\"{WHOLE}\",\"kind\":\"main\"}}\n{{\"$set\":{{}}}}\n"), true),
            (format!("{{\n  \"sessionId\": \"{WHOLE}\",\n  \"messages\": [\"{messages}\"]\n}}"), true),
            (format!("{{\"sessionId\":\"{}\"}}\n", WHOLE.replace('d', "e")), false),
            ("{\"sessionId\":\"d5be006c --yolo\"}\n".to_owned(), false),
            ("{\"sessionId\":7}\n".to_owned(), false),
            ("no JSON".to_owned(), false),
        ] {
            std::fs::write(&path, &head).unwrap();
            let expected = expected.then(|| format!("gemini --resume {WHOLE}"));
            assert_eq!(line(Agent::Gemini), expected, "{}", &head[..20.min(head.len())]);
        }
        assert_eq!(line(Agent::Qwen).as_deref(), Some("qwen --resume d5be006c"));
    }

    #[test]
    fn an_editors_task_is_not_one_of_the_program() {
        let heads = TranscriptHeads::default();
        let line = |path: &str| heads.resume(Agent::Cline, &SessionId::new("17_a").unwrap(), path);
        assert_eq!(line("/h/.cline/data/sessions/17_a/17_a.messages.json").unwrap().join(" "), "cline --id 17_a");
        assert_eq!(line("/h/Code/tasks/17_a/api_conversation_history.json"), None);
    }

    #[test]
    fn a_session_in_a_file_with_many_is_there_with_it() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("a.db");
        assert!(!exists(&file.join("s/t")));
        std::fs::write(&file, "x").unwrap();
        assert!(exists(&file.join("s/t")) && exists(&file) && exists(temp.path()));
        assert!(!exists(&temp.path().join("b")) && !exists(&temp.path().join("b/s")));
    }
}
