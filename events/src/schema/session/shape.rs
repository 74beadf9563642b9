//! The shapes themselves, every version side by side, and how an old one is lifted.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Error;
use crate::schema::cursor::{CursorV1, CursorV2, CursorV3};
use crate::session::{EffectId, EpisodeRef, FileIdentity};

/// One version of one event's stored shape.
pub(in crate::schema) trait Shape: Serialize + DeserializeOwned {
    /// The event's type in the log.
    const KIND: &'static str;
    /// This shape's version, from 1.
    const V: u32;
    /// The version before it, [`Oldest`] for version 1.
    type Older: Shape + Into<Self>;
}

/// The end of every chain of versions: there is no version 0.
#[derive(Serialize, Deserialize)]
pub(in crate::schema) enum Oldest {}

impl Shape for Oldest {
    const KIND: &'static str = "";
    const V: u32 = 0;
    type Older = Self;
}

/// Reads data of any version up to `S`'s and lifts it, version by version, to `S`.
pub(in crate::schema) fn read<S: Shape>(v: u32, data: &str) -> Result<S, Error> {
    let malformed = |reason: String| Error::Malformed { kind: S::KIND, v, reason };
    if v > S::V {
        return Err(Error::NewerVersion { kind: S::KIND, found: v, known: S::V });
    }
    if v == S::V {
        return serde_json::from_str(data).map_err(|error| malformed(error.to_string()));
    }
    if v == 0 {
        return Err(malformed("there is no version 0".to_owned()));
    }
    read::<S::Older>(v, data).map(Into::into)
}

macro_rules! first_version {
    ($($shape:ident = $kind:literal),+ $(,)?) => {
        $(
            impl Shape for $shape {
                const KIND: &'static str = $kind;
                const V: u32 = 1;
                type Older = Oldest;
            }
            impl From<Oldest> for $shape {
                fn from(never: Oldest) -> Self {
                    match never {}
                }
            }
        )+
    };
}

first_version! {
    DiscoveredV1 = "discovered",
    MovedV1 = "moved",
    LocatedV1 = "located",
    ParentFoundV1 = "parent_found",
    RecordsAppendedV1 = "records_appended",
    RewrittenV1 = "rewritten",
    ResumedV1 = "resumed",
    WentIdleV1 = "went_idle",
    CloseRequestedV1 = "close_requested",
    EndedV1 = "ended",
    IndexingStartedV1 = "indexing_started",
    IndexedV1 = "indexed",
    IndexSkippedV1 = "index_skipped",
    IndexingFailedV1 = "indexing_failed",
    AbandonedV1 = "abandoned",
    TrackingStoppedV1 = "tracking_stopped",
    TrackingResumedV1 = "tracking_resumed",
    TrackingForcedV1 = "tracking_forced",
    GroupAssignedV1 = "group_assigned",
    ForgottenV1 = "forgotten",
    RestoredV1 = "restored",
    SignalledV1 = "signalled",
    HandoffOfferedV1 = "handoff_offered",
    HandoffClaimedV1 = "handoff_claimed",
    EpisodeDeletedV1 = "episode_deleted",
    EpisodeRestoredV1 = "episode_restored",
    RedactedV1 = "redacted",
    EnrichmentOwedV1 = "enrichment_owed",
    ModelCalledV1 = "model_called",
    ModelAnsweredV1 = "model_answered",
    EnrichedV1 = "enriched",
    EnrichmentGivenUpV1 = "enrichment_given_up",
}

#[derive(Serialize, Deserialize)]
pub(in crate::schema) struct IdentityV1 {
    pub(super) device: u64,
    pub(super) inode: u64,
}

#[derive(Serialize, Deserialize)]
pub(super) struct DiscoveredV1 {
    pub(super) agent: String,
    pub(super) path: String,
    pub(super) file: IdentityV1,
    pub(super) subagent: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<String>,
    pub(super) at: i64,
}

#[derive(Serialize, Deserialize)]
pub(super) struct MovedV1 {
    pub(super) path: String,
    pub(super) file: IdentityV1,
}

#[derive(Serialize, Deserialize)]
pub(super) struct LocatedV1 {
    pub(super) cwd: String,
    pub(super) project: String,
}

#[derive(Serialize, Deserialize)]
pub(super) struct ParentFoundV1 {
    pub(super) parent: String,
}

#[derive(Serialize, Deserialize)]
pub(super) struct RecordsAppendedV1 {
    pub(super) generation: u32,
    pub(super) from: u64,
    pub(super) to: CursorV1,
    pub(super) tail: String,
    pub(super) records: u64,
    pub(super) conversation: u64,
    pub(super) messages: u64,
    pub(super) prompts: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) malformed: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) oversize: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) unknown: BTreeMap<String, u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) first_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last_conversation_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) late_index_at: Option<i64>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct RecordsAppendedV2 {
    pub(super) generation: u32,
    pub(super) from: u64,
    pub(super) to: CursorV2,
    pub(super) tail: String,
    pub(super) records: u64,
    pub(super) conversation: u64,
    pub(super) messages: u64,
    pub(super) prompts: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) malformed: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) oversize: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) by_type: BTreeMap<String, u64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) unknown: BTreeMap<String, u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) first_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last_conversation_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) late_index_at: Option<i64>,
}

impl Shape for RecordsAppendedV2 {
    const KIND: &'static str = RecordsAppendedV1::KIND;
    const V: u32 = 2;
    type Older = RecordsAppendedV1;
}

impl From<RecordsAppendedV1> for RecordsAppendedV2 {
    fn from(old: RecordsAppendedV1) -> Self {
        Self {
            generation: old.generation,
            from: old.from,
            to: old.to.into(),
            tail: old.tail,
            records: old.records,
            conversation: old.conversation,
            messages: old.messages,
            prompts: old.prompts,
            malformed: old.malformed,
            oversize: old.oversize,
            by_type: BTreeMap::new(),
            unknown: old.unknown,
            first_at: old.first_at,
            last_at: old.last_at,
            last_conversation_at: old.last_conversation_at,
            late_index_at: old.late_index_at,
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct RecordsAppendedV3 {
    pub(super) generation: u32,
    pub(super) from: u64,
    pub(super) to: CursorV3,
    pub(super) tail: String,
    pub(super) records: u64,
    pub(super) conversation: u64,
    pub(super) messages: u64,
    pub(super) prompts: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) malformed: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) oversize: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) by_type: BTreeMap<String, u64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) unknown: BTreeMap<String, u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) first_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last_conversation_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) late_index_at: Option<i64>,
}

impl Shape for RecordsAppendedV3 {
    const KIND: &'static str = RecordsAppendedV1::KIND;
    const V: u32 = 3;
    type Older = RecordsAppendedV2;
}

impl From<RecordsAppendedV2> for RecordsAppendedV3 {
    fn from(old: RecordsAppendedV2) -> Self {
        Self {
            generation: old.generation,
            from: old.from,
            to: old.to.into(),
            tail: old.tail,
            records: old.records,
            conversation: old.conversation,
            messages: old.messages,
            prompts: old.prompts,
            malformed: old.malformed,
            oversize: old.oversize,
            by_type: old.by_type,
            unknown: old.unknown,
            first_at: old.first_at,
            last_at: old.last_at,
            last_conversation_at: old.last_conversation_at,
            late_index_at: old.late_index_at,
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct RewrittenV1 {
    pub(super) generation: u32,
    pub(super) file: IdentityV1,
}

#[derive(Serialize, Deserialize)]
pub(super) struct ResumedV1 {}

#[derive(Serialize, Deserialize)]
pub(super) struct WentIdleV1 {}

#[derive(Serialize, Deserialize)]
pub(super) struct CloseRequestedV1 {
    pub(super) reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<String>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct EndedV1 {
    pub(super) reason: String,
    pub(super) at: i64,
    pub(super) by_self: bool,
}

#[derive(Serialize, Deserialize)]
pub(in crate::schema) struct EffectV1 {
    pub(super) generation: u32,
    pub(super) start: u32,
}

#[derive(Serialize, Deserialize)]
pub(super) struct IndexingStartedV1 {
    pub(super) effect: EffectV1,
    pub(super) reason: String,
    pub(super) to: u64,
}

#[derive(Serialize, Deserialize)]
pub(super) struct IndexedV1 {
    pub(super) effect: EffectV1,
    pub(super) episode: String,
    pub(super) tier: String,
    pub(super) hash: String,
    pub(super) filter_version: u32,
    pub(super) generation: u32,
    pub(super) to: u64,
    pub(super) manifest: String,
    pub(super) items: u64,
    pub(super) at: i64,
}

#[derive(Serialize, Deserialize)]
pub(super) struct IndexSkippedV1 {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) effect: Option<EffectV1>,
    pub(super) episode: String,
    pub(super) to: u64,
}

#[derive(Serialize, Deserialize)]
pub(super) struct IndexingFailedV1 {
    pub(super) effect: EffectV1,
    pub(super) why: String,
    pub(super) attempts: u32,
    pub(super) retry_at: i64,
}

#[derive(Serialize, Deserialize)]
pub(super) struct AbandonedV1 {
    pub(super) why: String,
}

#[derive(Serialize, Deserialize)]
pub(super) struct TrackingStoppedV1 {}

#[derive(Serialize, Deserialize)]
pub(super) struct TrackingResumedV1 {}

#[derive(Serialize, Deserialize)]
pub(super) struct TrackingForcedV1 {}

#[derive(Serialize, Deserialize)]
pub(super) struct GroupAssignedV1 {
    pub(super) group: String,
}

#[derive(Serialize, Deserialize)]
pub(super) struct ForgottenV1 {}

#[derive(Serialize, Deserialize)]
pub(super) struct RestoredV1 {
    pub(super) generation: u32,
    pub(super) file_exists: bool,
}

#[derive(Serialize, Deserialize)]
pub(super) struct SignalledV1 {
    pub(super) signal: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) detail: Option<String>,
    pub(super) at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) follows: Option<String>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct HandoffOfferedV1 {
    pub(super) episode: String,
    pub(super) from: String,
    pub(super) at: i64,
}

#[derive(Serialize, Deserialize)]
pub(super) struct HandoffClaimedV1 {
    pub(super) episode: String,
}

#[derive(Serialize, Deserialize)]
pub(super) struct EpisodeDeletedV1 {
    pub(super) episode: String,
}

#[derive(Serialize, Deserialize)]
pub(super) struct EpisodeRestoredV1 {
    pub(super) episode: String,
}

#[derive(Serialize, Deserialize)]
pub(super) struct RedactedV1 {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) episode: Option<RedactedEpisodeV1>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) notes: Vec<[String; 2]>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct RedactedEpisodeV1 {
    pub(super) episode: String,
    pub(super) tier: String,
    pub(super) hash: String,
    pub(super) filter_version: u32,
    pub(super) generation: u32,
    pub(super) to: u64,
    pub(super) manifest: String,
    pub(super) items: u64,
    pub(super) at: i64,
}

impl From<&EpisodeRef> for RedactedEpisodeV1 {
    fn from(episode: &EpisodeRef) -> Self {
        Self {
            episode: episode.uuid.to_string(),
            tier: episode.tier.as_str().to_owned(),
            hash: episode.hash.to_string(),
            filter_version: episode.filter_version,
            generation: episode.generation,
            to: episode.to,
            manifest: episode.manifest.to_string(),
            items: episode.items,
            at: episode.at.0,
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct EnrichmentOwedV1 {
    pub(super) at: i64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) asked: bool,
}

#[derive(Serialize, Deserialize)]
pub(in crate::schema) struct ModelCalledV1 {
    pub(in crate::schema) id: u32,
    pub(in crate::schema) model: String,
    pub(in crate::schema) content: String,
    pub(in crate::schema) request: String,
    pub(in crate::schema) ask: String,
    #[serde(default, skip_serializing_if = "is_none")]
    pub(in crate::schema) part: u32,
    pub(in crate::schema) parts: u32,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(in crate::schema) again: bool,
    pub(in crate::schema) tokens_in: u64,
    pub(in crate::schema) tokens_out: u64,
    pub(in crate::schema) nanos: u64,
    pub(in crate::schema) at: i64,
}

#[derive(Serialize, Deserialize)]
pub(super) struct TokensV1 {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cached: u64,
}

#[derive(Serialize, Deserialize)]
pub(super) struct ModelAnsweredV1 {
    pub(super) id: u32,
    pub(super) outcome: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tokens: Option<TokensV1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) nanos: Option<u64>,
    pub(super) duration_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) answer: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) retry_at: Option<i64>,
    pub(super) at: i64,
}

#[derive(Serialize, Deserialize)]
pub(super) struct EnrichedV1 {
    pub(super) episode: String,
    pub(super) answer: String,
    pub(super) model: String,
    pub(super) facts: u32,
    pub(super) dropped: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) unseen: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) not_held: u64,
    pub(super) at: i64,
}

#[derive(Serialize, Deserialize)]
pub(super) struct EnrichmentGivenUpV1 {
    pub(super) content: String,
    pub(super) why: String,
}

fn is_none(count: &u32) -> bool {
    *count == 0
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl From<FileIdentity> for IdentityV1 {
    fn from(identity: FileIdentity) -> Self {
        Self { device: identity.device, inode: identity.inode }
    }
}

impl From<IdentityV1> for FileIdentity {
    fn from(shape: IdentityV1) -> Self {
        Self { device: shape.device, inode: shape.inode }
    }
}

impl From<EffectId> for EffectV1 {
    fn from(effect: EffectId) -> Self {
        Self { generation: effect.generation, start: effect.start }
    }
}

impl From<EffectV1> for EffectId {
    fn from(shape: EffectV1) -> Self {
        Self { generation: shape.generation, start: shape.start }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, Deserialize)]
    struct ThingV1 {
        size: u32,
    }
    #[derive(Serialize, Deserialize)]
    struct ThingV2 {
        bytes: u64,
    }
    #[derive(Serialize, Deserialize, Debug, PartialEq)]
    struct ThingV3 {
        bytes: u64,
        sealed: bool,
    }
    impl Shape for ThingV1 {
        const KIND: &'static str = "thing";
        const V: u32 = 1;
        type Older = Oldest;
    }
    impl From<Oldest> for ThingV1 {
        fn from(never: Oldest) -> Self {
            match never {}
        }
    }
    impl Shape for ThingV2 {
        const KIND: &'static str = "thing";
        const V: u32 = 2;
        type Older = ThingV1;
    }
    impl From<ThingV1> for ThingV2 {
        fn from(old: ThingV1) -> Self {
            Self { bytes: u64::from(old.size) * 1024 }
        }
    }
    impl Shape for ThingV3 {
        const KIND: &'static str = "thing";
        const V: u32 = 3;
        type Older = ThingV2;
    }
    impl From<ThingV2> for ThingV3 {
        fn from(old: ThingV2) -> Self {
            Self { bytes: old.bytes, sealed: false }
        }
    }

    #[test]
    fn older_shapes_are_lifted_step_by_step() {
        let lifted: ThingV3 = read(1, r#"{"size":2}"#).unwrap();
        assert_eq!(lifted, ThingV3 { bytes: 2048, sealed: false });
        assert_eq!(read::<ThingV3>(3, r#"{"bytes":1,"sealed":true}"#).unwrap().bytes, 1);
        assert!(matches!(read::<ThingV3>(4, "{}"), Err(Error::NewerVersion { found: 4, known: 3, .. })));
        assert!(matches!(read::<ThingV3>(0, "{}"), Err(Error::Malformed { .. })));
        assert!(matches!(read::<ThingV3>(2, r#"{"size":2}"#), Err(Error::Malformed { v: 2, .. })));
    }
}
