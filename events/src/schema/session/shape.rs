//! The shapes themselves, every version side by side.

use serde::{Deserialize, Serialize};

use crate::schema::is_zero;
use crate::schema::version::{Shape, first_version};
use crate::session::{EffectId, EpisodeRef, FileIdentity};

first_version! {
    DiscoveredV1 = "discovered",
    MovedV1 = "moved",
    LocatedV1 = "located",
    ParentFoundV1 = "parent_found",
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
    CorrectedV1 = "corrected",
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
pub(super) struct LocatedV2 {
    pub(super) cwd: String,
    pub(super) project: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) remote: Option<String>,
}

impl Shape for LocatedV2 {
    const KIND: &'static str = LocatedV1::KIND;
    const V: u32 = 2;
    type Older = LocatedV1;
}

impl From<LocatedV1> for LocatedV2 {
    fn from(old: LocatedV1) -> Self {
        Self { cwd: old.cwd, project: old.project, remote: None }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct ParentFoundV1 {
    pub(super) parent: String,
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

/// An entry or, without one, a title; neither: the title is taken back.
#[derive(Serialize, Deserialize)]
pub(in crate::schema) struct CorrectedV1 {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::schema) title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::schema) entry: Option<CorrectedEntryV1>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(in crate::schema) withdrawn: bool,
    pub(in crate::schema) at: i64,
}

#[derive(Serialize, Deserialize)]
pub(in crate::schema) struct CorrectedEntryV1 {
    pub(in crate::schema) line: u64,
    /// Sixteen hexadecimal digits.
    pub(in crate::schema) print: String,
    pub(in crate::schema) verdict: String,
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
    #[serde(default, skip_serializing_if = "is_zero")]
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
