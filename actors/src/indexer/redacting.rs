//! What is stored of a session, redacted again by the rules of this version: conversation, notes, answers of models.
//!
//! What changes is written beside what is there, durably; the caller has it recorded, and [`Handle::replaced`] removes what
//! it stands for. Nothing else of the session is under way in between.

use baton_events::hash::ContentHash;
use baton_events::record::SessionId;
use baton_events::redact::json::redact_json;
use baton_events::session::{Phase, Redact, RedactedConversation, State};

use super::job::stored;
use super::under_way::Held;
use super::{Handle, Msg, episode};
use crate::chunks::{self, ChunkStore};
use crate::table::TableReader;

/// Notes that one event replaces: it stays far below the bound of an event.
const NOTES: usize = 200;

/// What was redacted again, until that is recorded.
pub(crate) struct Again {
    /// What is to be recorded.
    pub(crate) redact: Redact,
    held: Held,
}

/// Why what is stored could not be redacted again.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// Something of the session is under way, or it has changed meanwhile.
    #[error("something of it is under way")]
    Busy,
    /// It cannot be read.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// What changed could not be written.
    #[error("it cannot be written: {0}")]
    NotStored(String),
}

impl Handle {
    /// Whether today's rules redact more of what is stored of a session. Blocks for disk reads.
    pub(crate) fn holds_more_to_redact(&self, table: &TableReader, id: &SessionId) -> Result<bool, Error> {
        let Some(row) = table.now().get(id).cloned().filter(|row| row.state.phase != Phase::Forgotten) else {
            return Ok(false);
        };
        let looked = self.look(id, &row.state);
        looked.map_err(|error| match table.now().get(id).is_some_and(|now| now.version == row.version) {
            true => Error::Unreadable(error.to_string()),
            false => Error::Busy,
        })
    }

    fn look(&self, id: &SessionId, state: &State) -> Result<bool, chunks::Error> {
        let manifest = state.episode.as_ref().map(|episode| self.chunks.manifest(id, &episode.manifest)).transpose()?;
        for chunk in manifest.iter().flat_map(|manifest| &manifest.chunks) {
            if lines(&self.chunks.chunk(id, chunk)?).any(|line| redact_json(&line).is_some()) {
                return Ok(true);
            }
        }
        let notes = self.chunks.notes(id)?;
        Ok(notes.iter().filter_map(|note| self.chunks.note(id, note).ok()).any(|text| redact_json(&text).is_some()))
    }

    /// Redacts what is stored of a session again. `None`: nothing of it changes. Blocks for the disk.
    pub(crate) fn redact_again(&self, table: &TableReader, id: &SessionId) -> Result<Option<Again>, Error> {
        let held = self.under_way.hold(id).ok_or(Error::Busy)?;
        let now = table.now();
        let Some(row) = now.get(id).filter(|row| row.state.phase != Phase::Forgotten) else { return Ok(None) };
        let mut conversation = None;
        if let Some(episode) = &row.state.episode {
            let again = stored::again(&self.chunks, id, &episode.manifest).map_err(|(why, reason)| match why {
                baton_events::session::FailureWhy::NotStored => Error::NotStored(reason),
                _ => Error::Unreadable(reason),
            })?;
            if again.stored.manifest != episode.manifest {
                again.written.batch.commit().map_err(|error| Error::NotStored(error.to_string()))?;
                conversation =
                    Some(RedactedConversation { of: episode.manifest, hash: again.hash, stored: again.stored });
            }
        }
        let notes = notes(&self.chunks, id)?;
        let is_any = conversation.is_some() || !notes.is_empty();
        Ok(is_any.then_some(Again { redact: Redact { conversation, notes }, held }))
    }

    /// Lets go of what was redacted again. Where that is recorded, what it stands for is removed.
    pub(crate) fn replaced(&self, id: &SessionId, again: Again, is_recorded: bool) -> Result<(), Error> {
        let old: Vec<ContentHash> = again.redact.notes.iter().map(|(old, _)| *old).collect();
        let removed = if is_recorded { self.chunks.remove_notes(id, &old).map(drop) } else { Ok(()) };
        drop(again.held);
        // What no event names goes, and a job of the session may have waited.
        self.slot.cast(Msg::Collect(id.clone()));
        removed.map_err(|error| Error::NotStored(error.to_string()))
    }

    /// Removes what no event names of a session's conversation, now. Blocks for the disk.
    pub(crate) fn collect_now(&self, table: &TableReader, id: &SessionId) -> Result<(), Error> {
        let now = table.now();
        let named = episode::named(&now, id);
        let running = now.get(id).and_then(|row| row.state.job.map(|job| job.effect));
        // What an event of a newer version names is not known.
        if now.skipped() > 0 || now.get(id).is_none_or(|row| row.state.phase == Phase::Forgotten) {
            return Ok(());
        }
        if !self.under_way.begin_collecting(id, &named, running) {
            return Err(Error::Busy);
        }
        let collected = self.chunks.collect(id, &named);
        self.under_way.end(id, None);
        self.slot.cast(Msg::GoOn);
        collected.map(drop).map_err(|error| Error::Unreadable(error.to_string()))
    }
}

/// Writes the notes that change, and tells what stands for which. One that cannot be read is no note of anybody's any more.
fn notes(chunks: &ChunkStore, id: &SessionId) -> Result<Vec<(ContentHash, ContentHash)>, Error> {
    let mut replaced = Vec::new();
    for old in chunks.notes(id).map_err(|error| Error::Unreadable(error.to_string()))? {
        let Ok(text) = chunks.note(id, &old) else { continue };
        if let Some(redacted) = redact_json(&text).filter(|redacted| *redacted != text)
            && replaced.len() < NOTES
        {
            let new = chunks.put_note(id, &redacted).map_err(|error| Error::NotStored(error.to_string()))?;
            replaced.push((old, new));
        }
    }
    Ok(replaced)
}

/// The lines of a chunk. Bytes that are no text are read as such.
fn lines(chunk: &[u8]) -> impl Iterator<Item = std::borrow::Cow<'_, str>> {
    chunk.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(String::from_utf8_lossy)
}
