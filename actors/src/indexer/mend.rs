//! A stored conversation that cannot be read any more, restored from the transcript it was made of.
//!
//! Nothing is believed but hashes: what the transcript gives must be the conversation that the log names, to the byte, or
//! nothing is written. So this needs no event: the very same files stand there again.

use std::sync::Arc;

use baton_events::conversation::{Agent, Item};
use baton_events::hash::ContentHash;
use baton_events::record::SessionId;
use baton_events::schema::cursor::CursorV3;
use baton_events::schema::{hex, item};
use baton_events::session::{EpisodeRef, State, TailDigest};
use baton_events::transcript::{Cursor, OpenCalls, Source};

use super::under_way::UnderWay;
use super::{Handle, Msg};
use crate::chunks::{ChunkStore, Header};
use crate::reading::{self, Done, Pass, Start};
use crate::slot::Slot;
use crate::table::TableReader;

/// Restores conversations, each while nothing else of its session is under way: a job, a collection, or its being forgotten,
/// which deletes what another one writes at that moment, or fails over it.
#[derive(Clone)]
pub(super) struct Mender {
    chunks: Arc<ChunkStore>,
    under_way: UnderWay,
    slot: Slot<Msg>,
}

impl Handle {
    pub(super) fn mender(&self) -> Mender {
        Mender { chunks: self.chunks.clone(), under_way: self.under_way.clone(), slot: self.slot.clone() }
    }

    /// The conversation behind a session's current episode whose files cannot be read, restored from its transcript if that
    /// still says exactly the same; else why not. Blocks for disk reads.
    pub fn restore(&self, table: &TableReader, id: &SessionId, episode: &EpisodeRef) -> Result<Vec<Item>, String> {
        let restored = self.mender().mend(table, id, episode)?;
        tracing::warn!(session = %id, "stored conversation restored from its transcript");
        self.left_out.readable(id);
        Ok(restored)
    }
}

impl Mender {
    /// As [`Handle::restore`].
    pub(super) fn mend(&self, table: &TableReader, id: &SessionId, episode: &EpisodeRef) -> Result<Vec<Item>, String> {
        let held = self.under_way.hold(id).ok_or("it is being indexed")?;
        // As it is now that nothing else is under way: what was forgotten meanwhile must not be written again.
        let row = table.borrow().get(id).cloned();
        let restored = match row.filter(|row| is_current(&row.state, episode)) {
            Some(row) => mend(&self.chunks, id, &row.state, episode),
            None => Err("it is not the session's episode any more".to_owned()),
        };
        drop(held);
        // A job of the session may have waited.
        self.slot.cast(Msg::GoOn);
        restored
    }
}

/// Whether a session's episode is this one.
pub(super) fn is_current(state: &State, episode: &EpisodeRef) -> bool {
    state.episode.as_ref().is_some_and(|now| now.manifest == episode.manifest)
}

/// The items of an episode's conversation, read from the session's transcript again and stored as they were. `Err` says why
/// that cannot be. Blocks for disk reads.
fn mend(chunks: &ChunkStore, session: &SessionId, state: &State, episode: &EpisodeRef) -> Result<Vec<Item>, String> {
    let Some(transcript) = &state.transcript else { return Err("it has no transcript".to_owned()) };
    if state.generation != episode.generation {
        return Err(format!("{} was rewritten since", transcript.path));
    }
    let (items, done) = read(state, &transcript.path, transcript.agent, episode.to)?;
    if ContentHash::of(&items) != episode.hash {
        return Err(format!("{} does not say the same any more", transcript.path));
    }
    let header = Header {
        generation: episode.generation,
        filter_version: episode.filter_version,
        cursor: CursorV3::from(&done.cursor),
        tail: hex::encode(&done.tail.0),
    };
    let lines = encoded(&items)?;
    let mut batch = chunks.batch();
    let manifest = batch.append(session, None, &lines, header).map_err(|error| error.to_string())?;
    if manifest != episode.manifest {
        return Err(format!("{} gives the same text in another form", transcript.path));
    }
    batch.commit().map_err(|error| error.to_string())?;
    Ok(items)
}

fn read(state: &State, path: &str, agent: Agent, to: u64) -> Result<(Vec<Item>, Done), String> {
    let source = Source { agent, subagent: state.is_subagent() };
    let start = Start { source, path: path.to_owned(), cursor: Cursor::default(), tail: TailDigest::default() };
    let mut items = Vec::new();
    match reading::items(&start, OpenCalls::default(), to, &mut items) {
        Pass::Read(done) => Ok((items, *done)),
        Pass::Rewritten { .. } => Err(format!("{path} was rewritten since")),
        Pass::Gone => Err(format!("{path} is gone")),
        Pass::Unreadable { reason, .. } => Err(reason),
    }
}

fn encoded(items: &[Item]) -> Result<Vec<Vec<u8>>, String> {
    items
        .iter()
        .map(|item| {
            let mut line = Vec::new();
            item::encode(item, &mut line).map_err(|error| error.to_string())?;
            line.pop();
            Ok(line)
        })
        .collect()
}
