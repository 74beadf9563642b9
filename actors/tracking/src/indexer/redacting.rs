//! Redacts what is stored of a session again by the current rules: conversation, notes, answers of models.
//!
//! New files are written durably beside the old ones; the caller records them, and [`Handle::replaced`] removes the old
//! ones. The session is held in between, so that no job or collection runs.

use baton_conversation::hash::ContentHash;
use baton_conversation::record::SessionId;
use baton_events::projection::table::SessionTable;
use baton_events::session::{Phase, Redact, ReplacedConversation, State};
use baton_redaction::json::redact_json;

use super::job::stored;
use super::under_way::Held;
use super::{Handle, Msg};
use baton_store::chunks;
use baton_store::chunks::ChunkStore;

/// Limit of notes replaced by one event, far below the size limit of an event.
pub const NOTES: usize = 200;
/// Why a session with unreadable history is skipped.
const NEWER: &str = "its history has events of a newer version";

/// The result of a redaction, until it is recorded.
pub struct Again {
    /// The replacements to record; empty if only [`Again::rest`] is reported.
    pub redact: Redact,
    /// Number of further events needed for its notes.
    pub beyond: usize,
    /// Why the conversation could not be redacted.
    pub rest: Option<Error>,
    held: Held,
}

/// Why stored text could not be redacted again.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// A job or collection of the session is running, or it has changed meanwhile.
    #[error("a job of it is running")]
    Busy,
    /// A repeated try would fail alike.
    #[error("{0}")]
    Lasting(String),
    /// The disk failed, which may be temporary.
    #[error("{0}")]
    Refused(String),
}

impl Handle {
    /// Returns true if the current rules redact more of what is stored of a session. Blocks for disk reads.
    pub fn holds_more_to_redact(&self, id: &SessionId) -> Result<bool, Error> {
        let Some(row) = self.table.now().get(id).cloned().filter(|row| row.state.phase != Phase::Forgotten) else {
            return Ok(false);
        };
        // Check notes first, because they may exist without a conversation.
        if self.notes_hold_more(id).map_err(of_disk)? {
            return Ok(true);
        }
        self.conversation_holds_more(id, &row.state).map_err(|error| {
            let is_same = self.table.now().get(id).is_some_and(|now| now.version == row.version);
            if is_same { of_disk(error) } else { Error::Busy }
        })
    }

    fn notes_hold_more(&self, id: &SessionId) -> Result<bool, chunks::Error> {
        self.chunks.remove_unfinished_notes(id)?;
        for note in self.chunks.notes(id)? {
            if readable(self.chunks.note(id, &note))?.is_some_and(|text| redact_json(&text).is_some()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn conversation_holds_more(&self, id: &SessionId, state: &State) -> Result<bool, chunks::Error> {
        let manifest = state.episode.as_ref().map(|episode| self.chunks.manifest(id, &episode.manifest)).transpose()?;
        for chunk in manifest.iter().flat_map(|manifest| &manifest.chunks) {
            if lines(&self.chunks.chunk(id, chunk)?).any(|line| redact_json(&line).is_some()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Redacts what is stored of a session again. Returns `None` if nothing changes. Blocks for the disk.
    pub fn redact_again(&self, id: &SessionId) -> Result<Option<Again>, Error> {
        let held = self.under_way.hold(id).ok_or(Error::Busy)?;
        let now = self.table.now();
        let Some(row) = now.get(id).filter(|row| row.state.phase != Phase::Forgotten) else { return Ok(None) };
        if now.unreadable_events(id) > 0 {
            // No event can be recorded on top of an unreadable history.
            return Err(Error::Lasting(NEWER.to_owned()));
        }
        let (notes, beyond) = notes(&self.chunks, id)?;
        let (conversation, rest) = match self.redacted_conversation(id, &row.state) {
            Ok(conversation) => (conversation, None),
            Err(error) => (None, Some(error)),
        };
        match conversation.is_some() || !notes.is_empty() {
            true => Ok(Some(Again { redact: Redact { conversation, notes }, beyond, rest, held })),
            false => rest.map_or(Ok(None), Err),
        }
    }

    fn redacted_conversation(&self, id: &SessionId, state: &State) -> Result<Option<ReplacedConversation>, Error> {
        let Some(episode) = &state.episode else { return Ok(None) };
        let again = match stored::redact_stored(&self.chunks, id, episode) {
            Err(stored::Failed::Lasting(reason)) => return Err(Error::Lasting(reason)),
            Err(stored::Failed::Refused(reason) | stored::Failed::NotStored(reason)) => {
                return Err(Error::Refused(reason));
            }
            Ok(again) if again.stored.manifest == episode.manifest => return Ok(None),
            Ok(again) => again,
        };
        again.written.batch.commit().map_err(of_disk)?;
        Ok(Some(ReplacedConversation { of: episode.manifest, hash: again.hash, stored: again.stored }))
    }

    /// Releases the session. If the result was recorded, removes the notes it replaces.
    pub fn replaced(&self, id: &SessionId, again: Again, is_recorded: bool) -> Result<(), Error> {
        let old: Vec<ContentHash> = again.redact.notes.iter().map(|(old, _)| *old).collect();
        let removed = if is_recorded { self.chunks.remove_notes(id, &old).map(drop) } else { Ok(()) };
        drop(again.held);
        // Collects chunks that no event names, and lets a queued job of the session start.
        self.slot.cast(Msg::Collect(id.clone()));
        removed.map_err(of_disk)
    }

    /// Removes chunks of a session's conversation that no event names. Blocks for the disk.
    pub fn collect_now(&self, id: &SessionId) -> Result<(), Error> {
        let now = self.table.now();
        let named = named_manifests(&now, id);
        let running = now.get(id).and_then(|row| row.state.job.map(|job| job.effect));
        if now.get(id).is_none_or(|row| row.state.phase == Phase::Forgotten) {
            return Ok(());
        }
        // Only this session's unreadable events matter.
        if now.unreadable_events(id) > 0 {
            return Err(Error::Lasting(NEWER.to_owned()));
        }
        if !self.under_way.begin_collecting(id, &named, running) {
            return Err(Error::Busy);
        }
        let collected = self.chunks.collect(id, &named);
        self.under_way.end(id, None);
        self.slot.cast(Msg::GoOn);
        collected.map(drop).map_err(of_disk)
    }
}

/// Classifies an error as lasting or temporary.
pub fn of_disk(error: chunks::Error) -> Error {
    match error {
        chunks::Error::Missing { .. } | chunks::Error::Damaged { .. } | chunks::Error::Newer { .. } => {
            Error::Lasting(error.to_string())
        }
        chunks::Error::BadLine { .. } | chunks::Error::Io { .. } => Error::Refused(error.to_string()),
    }
}

/// Treats a damaged or missing note as absent.
fn readable(note: Result<String, chunks::Error>) -> Result<Option<String>, chunks::Error> {
    match note {
        Err(chunks::Error::Missing { .. } | chunks::Error::Damaged { .. }) => Ok(None),
        note => note.map(Some),
    }
}

/// Writes the redacted notes. Returns pairs of old and new, and the number of further events needed for those beyond
/// [`NOTES`].
fn notes(chunks: &ChunkStore, id: &SessionId) -> Result<(Vec<(ContentHash, ContentHash)>, usize), Error> {
    let (mut replaced, mut beyond) = (Vec::new(), 0_usize);
    for old in chunks.notes(id).map_err(of_disk)? {
        let Some(text) = readable(chunks.note(id, &old)).map_err(of_disk)? else { continue };
        let Some(redacted) = redact_json(&text).filter(|redacted| *redacted != text) else { continue };
        match replaced.len() < NOTES {
            true => replaced.push((old, chunks.put_note(id, &redacted).map_err(of_disk)?)),
            false => beyond += 1,
        }
    }
    Ok((replaced, beyond.div_ceil(NOTES)))
}

/// The lines of a chunk, lossily decoded.
fn lines(chunk: &[u8]) -> impl Iterator<Item = std::borrow::Cow<'_, str>> {
    chunk.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(String::from_utf8_lossy)
}

/// Returns the manifests that the session's current state names.
pub(super) fn named_manifests(table: &SessionTable, session: &SessionId) -> Vec<ContentHash> {
    let state = table.get(session).map(|row| &row.state);
    state.and_then(|state| state.episode.as_ref()).map(|episode| episode.manifest).into_iter().collect()
}
