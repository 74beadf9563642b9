//! Restores a stored conversation that cannot be read from its transcript.
//!
//! Only hashes are trusted: unless the transcript yields exactly the conversation that the log names, byte for byte,
//! nothing is written. So no event is needed: the same files exist again.
//!
//! # Hazards
//!
//! - A conversation is restored only while no job or collection of its session runs: after 2 s the session is left out
//!   and tried again after a minute.

use baton_memory::Searcher;
use std::sync::Arc;

use baton_conversation::hex;
use baton_conversation::item::Agent;
use baton_conversation::record::SessionId;
use baton_conversation::transcript::{OpenCalls, Source};
use baton_events::schema::item::ITEM_VERSION;
use baton_events::session::{EpisodeRef, State};

use super::conversation_builder::ConversationBuilder;
use super::under_way::UnderWay;
use super::{Handle, Msg};
use baton_base::actor_address::ActorAddress;
use baton_journal::session_table::TableReader;
use baton_store::chunks::{ChunkStore, Header};
use baton_store::transcript_reader;
use baton_store::transcript_reader::{Done, Pass, Start};

/// Restores conversations while nothing else runs for their session: no job, collection or forgetting, which would
/// delete the new files or fail on them.
#[derive(Clone)]
pub(super) struct Restorer {
    chunks: Arc<ChunkStore>,
    table: TableReader,
    under_way: UnderWay,
    slot: ActorAddress<Msg>,
}

impl baton_views::conversation::Index for Handle {
    fn searcher(&self) -> Option<Searcher> {
        Self::searcher(self).ok()
    }

    fn restore(&self, id: &SessionId, episode: &EpisodeRef) -> Result<(), String> {
        Self::restore(self, id, episode)
    }
}

impl Handle {
    pub(super) fn restorer(&self) -> Restorer {
        let (chunks, table) = (self.chunks.clone(), self.table.clone());
        Restorer { chunks, table, under_way: self.under_way.clone(), slot: self.slot.clone() }
    }

    /// Restores the unreadable conversation of a session's current episode from its transcript, if that still yields
    /// exactly the same. Returns why not otherwise. Blocks for disk reads.
    pub fn restore(&self, id: &SessionId, episode: &EpisodeRef) -> Result<(), String> {
        self.restorer().restore(id, episode)?;
        tracing::warn!(session = %id, "stored conversation restored from its transcript");
        self.left_out.readable(id);
        Ok(())
    }
}

impl Restorer {
    /// Like [`Handle::restore`].
    pub(super) fn restore(&self, id: &SessionId, episode: &EpisodeRef) -> Result<(), String> {
        let held = self.under_way.hold(id).ok_or("it is being indexed")?;
        // Read the table while the session is held: what was forgotten meanwhile must not be written again.
        let row = self.table.now().get(id).cloned();
        let restored = match row.filter(|row| is_current(&row.state, episode)) {
            Some(row) => restore_conversation(&self.chunks, id, &row.state, episode),
            None => Err("it is no longer the session's episode".to_owned()),
        };
        drop(held);
        // A job of the session may have waited.
        self.slot.cast(Msg::GoOn);
        restored
    }
}

/// True if this is the session's current episode.
pub(super) fn is_current(state: &State, episode: &EpisodeRef) -> bool {
    state.episode.as_ref().is_some_and(|now| now.manifest == episode.manifest)
}

/// Reads an episode's conversation from the transcript and stores it again. Returns why that is impossible otherwise.
/// Blocks for disk reads.
fn restore_conversation(
    chunks: &ChunkStore,
    session: &SessionId,
    state: &State,
    episode: &EpisodeRef,
) -> Result<(), String> {
    let Some(transcript) = &state.transcript else { return Err("it has no transcript".to_owned()) };
    if state.generation != episode.generation {
        return Err(format!("{} was rewritten since", transcript.path));
    }
    let mut builder = ConversationBuilder::new(chunks, session);
    let done = read(state, &transcript.path, transcript.agent, episode.to, &mut builder)?;
    if builder.hash().map_err(|error| error.to_string())? != episode.hash {
        return Err(format!("{} has other content now", transcript.path));
    }
    let header = Header {
        generation: episode.generation,
        filter_version: episode.filter_version,
        item_version: ITEM_VERSION,
        cursor: done.cursor,
        tail: hex::encode(&done.tail.0),
        unread: builder.append_state.unread.clone(),
        shortened: false,
    };
    let written = builder.written(header).map_err(|error| error.to_string())?;
    if written.manifest != episode.manifest {
        return Err(format!("{} yields the same text in another form", transcript.path));
    }
    written.batch.commit().map_err(|error| error.to_string())
}

fn read(
    state: &State,
    path: &str,
    agent: Agent,
    to: u64,
    builder: &mut ConversationBuilder<'_>,
) -> Result<Done, String> {
    let source = Source { agent, subagent: state.is_subagent() };
    let start = Start::beginning(source, path);
    match transcript_reader::items(&start, OpenCalls::default(), to, builder) {
        Pass::Read(done) => Ok(*done),
        Pass::Rewritten { .. } => Err(format!("{path} was rewritten since")),
        Pass::Gone => Err(format!("{path} is gone")),
        Pass::Unreadable { reason, .. } => Err(reason),
    }
}
