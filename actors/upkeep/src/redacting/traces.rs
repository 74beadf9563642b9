//! Removes the old text of changed sessions from derived data: the memory, old chunks, `session_states.json`, the
//! vault.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use baton_conversation::record::SessionId;
use baton_redaction::redact;

use super::{Redacting, TextStores, join_first};
use baton_base::project::is_directory;
use baton_base::transcript_file;
use baton_store::text_keeper::{self, Erasure, Report};

/// Most edited notes that are remembered.
const EDITED: usize = 64;
/// Largest note that is read, in bytes.
const NOTE_MAX_BYTES: u64 = 16 * 1024 * 1024;

impl Redacting {
    /// Removes the old text of changed sessions from everything derived from it. Repeating it does no harm, and a
    /// failing step does not stop the others.
    pub(super) async fn remove_traces(&self, stored: &TextStores) -> Result<(), String> {
        let changed: Vec<SessionId> = match self.state() {
            state if state.has_traces => state.changed.iter().cloned().collect(),
            _ => return Ok(()),
        };
        let position = stored.table.now().position();
        let erasure = Erasure { sessions: &changed, position, step: &|| {} };
        let Report { edited, stays, problems, .. } = text_keeper::erase(&stored.keepers, erasure).await;
        for (id, why) in stays {
            self.give_up(&id, why);
        }
        let telling = move || edited.into_iter().filter(|note| has_secrets(note)).take(EDITED).collect::<BTreeSet<_>>();
        let edited = baton_base::task::spawn_blocking(telling).await.unwrap_or_default();
        self.update_mark(|mark| mark.edited = edited);
        match join_first(problems.into_iter()) {
            Some(problem) => Err(problem),
            None => {
                self.state().has_traces = false;
                Ok(())
            }
        }
    }
}

/// Returns true if a note contains text that would be redacted, or cannot be read. Blocks for a short read.
pub(super) fn has_secrets(note: &str) -> bool {
    let note = Path::new(note);
    // A vault may be on a network share that does not answer.
    let is_there = note.parent().and_then(Path::to_str).is_some_and(is_directory);
    match is_there.then(|| transcript_file::read(note, NOTE_MAX_BYTES)) {
        Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => false,
        Some(Ok(bytes)) => {
            let text = String::from_utf8_lossy(&bytes);
            redact(&text) != text
        }
        _ => true,
    }
}
