//! The example sessions, each with its episode and its golden.

use std::fs;
use std::path::{Path, PathBuf};

use baton_conversation::item::{Agent, Item};
use baton_conversation::transcript::{Cursor, OpenCalls, Reader, Source};
use baton_episode::digest;
use baton_episode::digest::{Episode, Show};

use super::score::Golden;

/// An example session that a person has read.
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) transcript: String,
    pub(crate) episode: Episode,
    pub(crate) golden: Golden,
}

fn claude() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("replay-fixtures/transcripts/claude")
}

/// The transcripts of main conversations, with their session ids.
fn transcripts() -> Vec<(String, PathBuf)> {
    let projects = fs::read_dir(claude().join("projects")).unwrap().map(|entry| entry.unwrap().path());
    let files = projects.flat_map(|project| fs::read_dir(project).unwrap()).map(|entry| entry.unwrap().path());
    let sessions = files.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    let named = sessions.map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), path));
    let mut found: Vec<_> = named.filter(|(id, _)| !id.starts_with("agent-")).collect();
    found.sort();
    found
}

/// The ids of all example sessions.
pub(crate) fn ids() -> Vec<String> {
    transcripts().into_iter().map(|(id, _)| id).collect()
}

/// All sessions that have a golden.
pub(crate) fn all() -> Vec<Session> {
    let mut sessions = Vec::new();
    for (id, path) in transcripts() {
        let Ok(golden) = fs::read_to_string(claude().join("golden").join(format!("{id}.json"))) else { continue };
        let golden = serde_json::from_str(&golden).unwrap_or_else(|error| panic!("golden of {id}: {error}"));
        let transcript = fs::read_to_string(&path).unwrap();
        let episode = digest::digest(&items(transcript.as_bytes()), &Show::default());
        sessions.push(Session { id, transcript, episode, golden });
    }
    sessions
}

fn items(bytes: &[u8]) -> Vec<Item> {
    let source = Source { agent: Agent::ClaudeCode, subagent: false };
    let mut items = Vec::new();
    let mut reader = Reader::new(source, Cursor::default(), OpenCalls::default(), &mut items);
    let read = reader.feed(bytes);
    reader.finish(&bytes[read..]);
    items
}
