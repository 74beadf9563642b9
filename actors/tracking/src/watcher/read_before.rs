//! Remembers for the next daemon the state in which sessions of shared files were read to their end: the log does not
//! record that.
//!
//! # Decisions
//!
//! - The file is a set of digests, each over a session's state in its file and how far it was read. One that is lost,
//!   torn or of another version of the program fits nothing, and its session is rendered again. So nothing is synced.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use baton_base::transcript_file::{self, FileSeen};
use baton_conversation::transcript;
use baton_events::session::{Phase, State as SessionState};
use sha2::{Digest as _, Sha256};

use super::{Options, State};

/// Largest file that is read: a million sessions.
const FILE_MAX_BYTES: u64 = 16 * 1024 * 1024;

type Digest = [u8; 16];

/// See the module.
#[derive(Debug, Default)]
pub(super) struct ReadBefore {
    /// What the file has.
    saved: BTreeSet<Digest>,
    /// The sessions read so far, by path.
    now: BTreeMap<Arc<str>, Digest>,
}

impl ReadBefore {
    /// Reads the file of an earlier process. Blocks.
    pub(super) fn open(file: &Path) -> Self {
        let bytes = match transcript_file::read(file, FILE_MAX_BYTES) {
            Ok(bytes) => bytes,
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    tracing::warn!(%error, "sessions in databases are read again");
                }
                Vec::new()
            }
        };
        Self { saved: bytes.as_chunks().0.iter().copied().collect(), ..Self::default() }
    }

    /// True if an earlier process has read the session's file in this state, as far as the session says.
    pub(super) fn has(&self, state: &SessionState, file: &FileSeen) -> bool {
        digest(state, file).is_some_and(|digest| self.saved.contains(&digest))
    }

    /// Records that a session has read its file to the end in this state.
    pub(super) fn keep(&mut self, state: Option<&SessionState>, file: &FileSeen) {
        match state.and_then(|state| digest(state, file)) {
            Some(digest) => drop(self.now.insert(file.path.clone(), digest)),
            None => self.forget(&file.path),
        }
    }

    /// Drops a session.
    pub(super) fn forget(&mut self, path: &str) {
        self.now.remove(path);
    }

    /// Drops all sessions but those whose path fits.
    pub(super) fn retain(&mut self, stays: impl Fn(&str) -> bool) {
        self.now.retain(|path, _| stays(path));
    }

    /// The content of the file, if it has changed.
    pub(super) fn take_unsaved(&mut self) -> Option<Vec<u8>> {
        let now: BTreeSet<Digest> = self.now.values().copied().collect();
        (now != self.saved).then(|| {
            self.saved = now;
            self.saved.iter().flatten().copied().collect()
        })
    }
}

impl State {
    /// Writes down what the next process need not read again.
    pub(super) async fn save(&mut self) {
        let Some(bytes) = self.known.take_unsaved() else { return };
        let file = file(&self.options);
        let written = baton_base::task::spawn_blocking(move || std::fs::write(file, bytes)).await;
        if !matches!(written, Ok(Ok(()))) {
            tracing::warn!("what was read of databases is not written down, and is read again by the next daemon");
        }
    }
}

/// The file, beside the markers.
pub(super) fn file(options: &Options) -> PathBuf {
    options.markers.join("read")
}

/// `None` if the file holds one session only, or if nothing of the session was read.
fn digest(state: &SessionState, file: &FileSeen) -> Option<Digest> {
    let known =
        state.transcript.as_ref().filter(|known| *known.path == *file.path && known.identity == file.identity)?;
    let is_read = !matches!(state.phase, Phase::Failed | Phase::Unindexed(_) | Phase::Forgotten);
    if !is_read || state.read.offset == 0 || transcript::store_file(file.agent, &file.path).is_none() {
        return None;
    }
    let mut hash = Sha256::new();
    for text in [env!("CARGO_PKG_VERSION"), &known.path] {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    hash.update(file.stat.modified_ns.to_le_bytes());
    let numbers = [file.stat.size, file.identity.device, file.identity.inode, state.read.offset];
    numbers.iter().for_each(|number| hash.update(number.to_le_bytes()));
    hash.update(state.generation.to_le_bytes());
    hash.update(state.tail.0);
    let mut digest = Digest::default();
    digest.copy_from_slice(&hash.finalize()[..16]);
    Some(digest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_base::transcript_file::FileStat;
    use baton_conversation::item::Agent;
    use baton_conversation::record::SessionId;
    use baton_events::session::{FileIdentity, Kind, Transcript, UnindexedReason};

    fn session(path: &str) -> (SessionState, FileSeen) {
        let (agent, identity) = (Agent::OpenCode, FileIdentity { device: 1, inode: 2 });
        let transcript = Transcript { agent, path: path.to_owned(), identity, kind: Kind::Main };
        let mut state = SessionState { transcript: Some(transcript), phase: Phase::Active, ..SessionState::default() };
        state.read.offset = 9;
        let (session, stat) = (SessionId::new("ses_1").unwrap(), FileStat { modified_ns: 5, size: 7 });
        (state, FileSeen { session, agent, kind: Kind::Main, path: path.into(), stat, identity })
    }

    #[test]
    fn what_was_read_is_known_to_the_next_process_until_it_differs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("read");
        let ((state, file), (other, another)) = (session("/d/opencode.db/ses_1"), session("/d/opencode.db/ses_2"));
        let mut before = ReadBefore::open(&path);
        before.keep(Some(&state), &file);
        before.keep(Some(&other), &another);
        before.retain(|path| path == &*file.path);
        std::fs::write(&path, before.take_unsaved().unwrap()).unwrap();
        assert_eq!(before.take_unsaved(), None);
        before.keep(Some(&state), &file);
        assert_eq!(before.take_unsaved(), None, "the same again");

        let next = ReadBefore::open(&path);
        assert!(next.has(&state, &file) && !next.has(&other, &another));
        let changes: [fn(&mut SessionState, &mut FileSeen); 9] = [
            |_, file| file.stat.size += 1,
            |_, file| file.stat.modified_ns += 1,
            |_, file| file.identity.inode += 1,
            |state, _| state.read.offset += 1,
            |state, _| state.tail.0[0] ^= 1,
            |state, _| state.generation += 1,
            |state, _| state.transcript = None,
            |state, _| state.phase = Phase::Failed,
            |state, _| state.phase = Phase::Unindexed(UnindexedReason::Gone),
        ];
        for (number, change) in changes.iter().enumerate() {
            let (mut state, mut file) = (state.clone(), file.clone());
            change(&mut state, &mut file);
            assert!(!next.has(&state, &file), "{number}");
        }
        before.forget(&file.path);
        assert_eq!(before.take_unsaved(), Some(Vec::new()));
        std::fs::write(&path, [0; 17]).unwrap();
        assert!(!ReadBefore::open(&path).has(&state, &file), "torn");
    }

    #[test]
    fn a_file_with_one_session_is_not_kept() {
        let (mut state, mut file) = session("/p/a/1.jsonl");
        (state.transcript.as_mut().unwrap().agent, file.agent) = (Agent::ClaudeCode, Agent::ClaudeCode);
        let mut before = ReadBefore::default();
        before.keep(Some(&state), &file);
        assert_eq!(before.take_unsaved(), None);
    }
}
