//! Shortens what is stored of a session's conversation to what its episode needs.
//!
//! New files are written durably beside the old ones; the caller records them and then lets the old ones be collected.
//! The session is held in between, so that no job or collection runs. Episode, facts, outcomes and numbers are computed
//! from both, and the shorter one is used only if they are equal.

use baton_conversation::item::Item;
use baton_conversation::record::SessionId;
use baton_conversation::transcript::Sink as _;
use baton_enrichment::{Answer, Lines};
use baton_episode::digest::{self, Episode, Metadata, Show, WHOLE_BYTES};
use baton_episode::shortened::shortened;
use baton_events::schema::item;
use baton_events::schema::outcomes::Outcomes;
use baton_events::session::{EpisodeRef, Phase, ReplacedConversation, State, Stored};
use baton_graph::{Graph, Surroundings};
use baton_outcomes as outcomes;

use super::Handle;
use super::conversation_builder::ConversationBuilder;
use super::redacting::{Error, of_disk};
use super::under_way::Held;
use baton_store::chunks::Header;
use baton_store::conversation;
use baton_store::model_answer::{current_answer, read_answer};

/// A shorter conversation that is written, until it is recorded.
pub struct Shorter {
    /// What to record.
    pub conversation: ReplacedConversation,
    /// Bytes of its files.
    pub bytes: u64,
    _held: Held,
}

/// Bytes on disk of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// As it is stored.
    pub before: u64,
    /// Once shortened, estimated from the length of its text.
    pub after: u64,
}

/// A conversation, and the items of it that are needed.
struct Shortening {
    items: Vec<Item>,
    header: Header,
    sizes: Sizes,
}

impl Handle {
    /// Bytes on disk of a session's conversation, and whether it is shortened already. `None` if nothing is stored that
    /// could be. Blocks for disk reads.
    pub fn stored_bytes(&self, id: &SessionId) -> Option<(u64, bool)> {
        let row = self.table.now().get(id).cloned()?;
        let episode = row.state.episode.as_ref().filter(|_| is_at_rest(&row.state))?;
        let header = self.chunks.manifest(id, &episode.manifest).ok()?.header;
        Some((self.bytes(id, episode), header.shortened))
    }

    /// What shortening a session's conversation would free. `None` if it cannot be shortened, or is already. Writes nothing.
    /// Blocks for disk reads.
    pub fn sizes_if_shortened(&self, id: &SessionId) -> Result<Option<Sizes>, Error> {
        let Some(row) = self.table.now().get(id).cloned() else { return Ok(None) };
        Ok(self.shortening(id, &row.state)?.map(|shortening| shortening.sizes))
    }

    /// Writes a session's conversation shortened, durably. `None` if it cannot be shortened, or is already. Blocks for the
    /// disk.
    pub fn shorten(&self, id: &SessionId) -> Result<Option<Shorter>, Error> {
        let held = self.under_way.hold(id).ok_or(Error::Busy)?;
        let Some(row) = self.table.now().get(id).cloned() else { return Ok(None) };
        let Some(episode) = &row.state.episode else { return Ok(None) };
        let Some(Shortening { items, header, .. }) = self.shortening(id, &row.state)? else { return Ok(None) };
        let mut builder = ConversationBuilder::new(&self.chunks, id);
        items.into_iter().for_each(|item| builder.item(item));
        let items = builder.append_state.count;
        let written = builder.written(header).map_err(of_disk)?;
        let manifest = written.manifest;
        written.batch.commit().map_err(of_disk)?;
        let bytes = self.bytes(id, &EpisodeRef { manifest, ..episode.clone() });
        let stored = Stored { episode: episode.uuid, manifest, items };
        let conversation = ReplacedConversation { of: episode.manifest, hash: episode.hash, stored };
        Ok(Some(Shorter { conversation, bytes, _held: held }))
    }

    /// Bytes of the files of an episode's conversation.
    fn bytes(&self, id: &SessionId, episode: &EpisodeRef) -> u64 {
        let files = self.chunks.files_of(id, &episode.manifest).unwrap_or_default();
        files.iter().map(|file| file.metadata().map_or(0, |file| file.len())).sum()
    }

    fn shortening(&self, id: &SessionId, state: &State) -> Result<Option<Shortening>, Error> {
        let Some(episode) = state.episode.as_ref().filter(|_| is_at_rest(state)) else { return Ok(None) };
        let header = self.chunks.manifest(id, &episode.manifest).map_err(of_disk)?.header;
        if header.shortened {
            return Ok(None);
        }
        let (mut items, mut weight) = (Vec::new(), 0);
        let stored = conversation::Stored::open(&self.chunks, id, &episode.manifest).map_err(of_conversation)?;
        for item in stored.items() {
            let item = item.map_err(of_conversation)?;
            weight += item.weight();
            if weight > WHOLE_BYTES {
                // The digest of one that long is made from a part of it.
                return Ok(None);
            }
            items.push(item);
        }
        let answer = current_answer(state, episode).and_then(|answer| read_answer(&self.chunks, id, &answer));
        let told = DerivedData::of(&items, id, state, episode, answer.as_ref());
        let shorter =
            shortened(&items, &told.episode, |left| DerivedData::of(left, id, state, episode, answer.as_ref()) == told);
        let (long, short) = (encoded_bytes(&items)?, encoded_bytes(&shorter)?);
        if short >= long {
            return Ok(None);
        }
        let before = self.bytes(id, episode);
        let after = u64::try_from(u128::from(before) * u128::from(short) / u128::from(long)).unwrap_or(before);
        Ok(Some(Shortening {
            items: shorter,
            header: Header { shortened: true, ..header },
            sizes: Sizes { before, after },
        }))
    }
}

/// True if nothing is being done to the session and all that was read of it is stored.
fn is_at_rest(state: &State) -> bool {
    matches!(state.phase, Phase::Indexed | Phase::Unindexed(_)) && state.job.is_none()
}

fn encoded_bytes(items: &[Item]) -> Result<u64, Error> {
    let mut bytes = Vec::new();
    items
        .iter()
        .try_for_each(|item| item::encode(item, &mut bytes))
        .map_err(|error| Error::Lasting(error.to_string()))?;
    Ok(bytes.len() as u64)
}

fn of_conversation(error: conversation::Error) -> Error {
    match error {
        conversation::Error::Chunks(error) => of_disk(error),
        error @ conversation::Error::Item { .. } => Error::Lasting(error.to_string()),
    }
}

/// Everything derived from a conversation except its turns.
#[derive(PartialEq)]
struct DerivedData {
    episode: Episode,
    graph: Graph,
    outcomes: Outcomes,
    numbers: Metadata,
}

impl DerivedData {
    /// Derives it from these items as the memory and `show` do.
    fn of(items: &[Item], id: &SessionId, state: &State, current: &EpisodeRef, answer: Option<&Answer>) -> Self {
        let episode = digest::digest(items, &Show::default());
        let project = state.place.as_ref().map(|place| place.project.as_str());
        let follows = state.signals.follows.as_ref().map(|follows| &follows.session);
        let group = state.group_id().unwrap_or_default();
        let surroundings = Surroundings { session: id, group, project, parent: state.parent(), follows };
        let lines = if answer.is_some() { Lines::new(items, &Show::default()) } else { Lines::default() };
        let mut graph = baton_graph::graph(items, &episode, &surroundings);
        let outcomes = outcomes::outcomes(items, &episode, &surroundings);
        // The amount that is stored changes.
        let numbers = Metadata::new(items, current.to);
        let numbers = Metadata { filtered_token_count: 0, llm_cost_estimate: 0.0, ..numbers };
        let episode = match answer {
            Some(answer) => {
                graph = baton_enrichment::with_model(graph, answer, &surroundings, episode.cwd.as_deref(), &lines);
                answer.merge_into(episode, &lines)
            }
            None => episode,
        };
        Self { episode, graph, outcomes, numbers }
    }
}
