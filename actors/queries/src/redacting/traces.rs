//! Removes the old text of changed sessions from derived data: the memory, old chunks, `session_states.json`, the
//! vault.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use baton_conversation::record::SessionId;
use baton_events::session::Phase;
use baton_redaction::redact;

use super::{Redacting, StoredText, join_first};
use baton_base::project::is_directory;
use baton_base::transcript_file;
use baton_tracking::indexer::redacting::Error;

/// Most edited notes that are remembered.
const EDITED: usize = 64;
/// Largest note that is read, in bytes.
const NOTE_MAX_BYTES: u64 = 16 * 1024 * 1024;

impl Redacting {
    /// Removes the old text of changed sessions from everything derived from it. Repeating it does no harm, and a
    /// failing step does not stop the others.
    pub(super) async fn remove_traces(&self, stored: &StoredText) -> Result<(), String> {
        let table = stored.table.now();
        let changed: Vec<SessionId> = match self.state() {
            state if state.has_traces => state.changed.iter().cloned().collect(),
            _ => return Ok(()),
        };
        let mut problems: Vec<String> =
            stored.indexer.purge_changed(&changed, table.position()).await.err().into_iter().collect();
        let is_there = |id: &&SessionId| table.get(id).is_some_and(|row| row.state.phase != Phase::Forgotten);
        let sessions: Vec<SessionId> = changed.iter().filter(is_there).cloned().collect();
        let (indexer, reader, of) = (stored.indexer.clone(), stored.table.clone(), sessions.clone());
        let collecting = baton_base::task::spawn_blocking(move || {
            let collected = of.into_iter().map(|id| (indexer.collect_now(&reader, &id), id));
            collected.filter_map(|(collected, id)| Some((id, collected.err()?))).collect::<Vec<_>>()
        });
        match collecting.await {
            Ok(refused) => {
                for (id, error) in refused {
                    let why = format!("superseded chunks are still there: {error}");
                    match error {
                        Error::Lasting(_) => self.give_up(&id, why),
                        _ => problems.push(format!("session {id}: {why}")),
                    }
                }
            }
            Err(error) => problems.push(error.to_string()),
        }
        let written = stored.states_file.write_now().await;
        problems.extend(written.err().map(|error| format!("session_states.json: {error}")));
        // Notes are rewritten from what is stored now; what people wrote in them stays.
        if !sessions.is_empty() {
            match stored.note_writer.forget(&sessions).await {
                Ok(theirs) => {
                    let telling = move || theirs.into_iter().filter(|note| has_secrets(note)).collect::<BTreeSet<_>>();
                    let edited = baton_base::task::spawn_blocking(telling).await.unwrap_or_default();
                    self.update_mark(|mark| mark.edited = edited.into_iter().take(EDITED).collect());
                }
                Err(problem) => problems.push(problem),
            }
        }
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
