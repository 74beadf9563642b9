//! Shapes of frequent events that store the fields of a value beside their own. Serde's `flatten` would read them as well,
//! but copies all fields before.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

use crate::session::value::{Counts, EffectId, EpisodeRef, TailDigest, Tier};
use baton_conversation::hash::ContentHash;
use baton_conversation::record::Timestamp;
use baton_conversation::transcript::Cursor;

type Range = (
    u32,
    u64,
    Box<Cursor>,
    TailDigest,
    Counts,
    Option<Timestamp>,
    Option<Timestamp>,
    Option<Timestamp>,
    Option<Timestamp>,
);

/// Reads the fields of `records_appended`.
pub(super) fn read_range<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Range, D::Error> {
    #[derive(Deserialize)]
    struct Stored {
        generation: u32,
        from: u64,
        to: Box<Cursor>,
        tail: TailDigest,
        records: u64,
        conversation: u64,
        messages: u64,
        prompts: u64,
        #[serde(default)]
        malformed: u64,
        #[serde(default)]
        oversize: u64,
        #[serde(default)]
        by_type: BTreeMap<String, u64>,
        #[serde(default)]
        unknown: BTreeMap<String, u64>,
        agent_version: Option<String>,
        first_at: Option<Timestamp>,
        last_at: Option<Timestamp>,
        last_conversation_at: Option<Timestamp>,
        late_index_at: Option<Timestamp>,
    }
    let stored = Stored::deserialize(deserializer)?;
    let counts = Counts {
        records: stored.records,
        conversation: stored.conversation,
        messages: stored.messages,
        prompts: stored.prompts,
        malformed: stored.malformed,
        oversize: stored.oversize,
        by_type: stored.by_type,
        unknown: stored.unknown,
        agent_version: stored.agent_version,
    };
    let Stored { generation, from, to, tail, first_at, last_at, last_conversation_at, late_index_at, .. } = stored;
    Ok((generation, from, to, tail, counts, first_at, last_at, last_conversation_at, late_index_at))
}

/// An episode, and the job that stored it if the event names one.
#[derive(Serialize, Deserialize)]
struct StoredEpisode {
    #[serde(skip_serializing_if = "Option::is_none")]
    effect: Option<EffectId>,
    episode: Uuid,
    tier: Tier,
    hash: ContentHash,
    filter_version: u32,
    generation: u32,
    to: u64,
    manifest: ContentHash,
    items: u64,
    at: Timestamp,
}

fn write<S: Serializer>(effect: Option<EffectId>, episode: &EpisodeRef, serializer: S) -> Result<S::Ok, S::Error> {
    let EpisodeRef { uuid: episode, tier, hash, filter_version, generation, to, manifest, items, at } = *episode;
    StoredEpisode { effect, episode, tier, hash, filter_version, generation, to, manifest, items, at }
        .serialize(serializer)
}

/// The fields of `indexed`.
pub(super) mod indexed {
    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(
        effect: &EffectId,
        episode: &EpisodeRef,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        write(Some(*effect), episode, serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<(EffectId, EpisodeRef), D::Error> {
        let stored = StoredEpisode::deserialize(deserializer)?;
        let StoredEpisode { effect, episode: uuid, tier, hash, filter_version, generation, to, manifest, items, at } =
            stored;
        let effect = effect.ok_or_else(|| D::Error::missing_field("effect"))?;
        Ok((effect, EpisodeRef { uuid, tier, hash, filter_version, generation, to, manifest, items, at }))
    }
}

/// Writes the episode of `shortened`.
pub(super) fn write_current<S: Serializer>(episode: &EpisodeRef, serializer: S) -> Result<S::Ok, S::Error> {
    write(None, episode, serializer)
}

/// Writes the episode of `redacted`.
pub(super) fn write_episode<S: Serializer>(episode: &Option<EpisodeRef>, serializer: S) -> Result<S::Ok, S::Error> {
    match episode {
        Some(episode) => write(None, episode, serializer),
        None => serializer.serialize_none(),
    }
}
