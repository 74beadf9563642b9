//! The transcripts that are checked, and how they are read.

use std::fs;
use std::path::{Path, PathBuf};

use baton_conversation::item::{Agent, Item};
use baton_conversation::transcript::{Cursor, OpenCalls, Reader, Source};

/// A transcript.
pub(crate) struct Transcript {
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
}

/// All Claude Code transcripts among the fixtures.
pub(crate) fn fixtures() -> Vec<Transcript> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../replay-fixtures/transcripts/claude");
    let all = below(&folder);
    assert!(all.len() >= 16, "only {} transcripts in {}", all.len(), folder.display());
    all
}

/// All transcripts below a folder, in order of their paths.
pub(crate) fn below(folder: &Path) -> Vec<Transcript> {
    let mut all = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let path = entry.path();
            match path.extension() {
                _ if path.is_dir() => folders.push(path),
                Some(extension) if extension == "jsonl" => {
                    all.push(Transcript { bytes: fs::read(&path).unwrap(), path });
                }
                _ => {}
            }
        }
    }
    all.sort_by(|one, other| one.path.cmp(&other.path));
    all
}

impl Transcript {
    /// The source for reading it.
    pub(crate) fn source(&self) -> Source {
        let subagent = self.path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("agent-"));
        Source { agent: Agent::ClaudeCode, subagent }
    }
}

/// All items of a transcript.
pub(crate) fn items(source: Source, bytes: &[u8]) -> Vec<Item> {
    let mut items = Vec::new();
    let mut reader = Reader::new(source, Cursor::default(), OpenCalls::default(), &mut items);
    let fed = reader.feed(bytes);
    reader.finish(&bytes[fed..]);
    items
}
