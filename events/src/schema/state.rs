//! Stored shape of a session's state: a row of the session table in a checkpoint and in the [`state_hash`].
//!
//! A checkpoint of another [`VERSION`](crate::projection::table::VERSION) is rebuilt from the log, so there are no
//! older versions of this shape: a change must raise that number.
//!
//! [`state_hash`]: crate::projection::table::SessionTable::state_hash

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::correction::CorrectionsV1;
use super::cursor::CursorV3;
use super::enrichment::EnrichmentV1;
use super::read_optional;
use super::session::shape::{EffectV1, IdentityV1};
use crate::row::Row;
use crate::session::{
    Agent, Checked, CloseReason, Counts, End, EpisodeRef, Failure, FailureReason, Follows, Handoff, Job, Kind, Phase,
    Place, Signals, State, TailDigest, Tier, Transcript, UnindexedReason,
};
use baton_conversation::hash::ContentHash;
use baton_conversation::hex;
use baton_conversation::record::{Position, SequenceNumber, SessionId, Timestamp};

#[derive(Serialize, Deserialize)]
struct RowV1 {
    version: u64,
    phase: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    transcript: Option<TranscriptV1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    place: Option<PlaceV1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    group: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    forced: bool,
    generation: u32,
    read: CursorV3,
    tail: String,
    counts: CountsV1,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first_at: Option<i64>,
    discovered_at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_conversation_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end: Option<EndV1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_close: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    close_note: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    episode: Option<EpisodeV1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deleted: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    corrections: Option<CorrectionsV1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    checked: Option<CheckedV1>,
    unindexed: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    late_index_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    job: Option<JobV1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<FailureV1>,
    starts: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    started_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    follows: Option<FollowsV1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    active_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    disconnected_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    close_owed: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    handoff: Option<HandoffV1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    enrichment: Option<EnrichmentV1>,
}

#[derive(Serialize, Deserialize)]
struct FollowsV1 {
    session: String,
    at: i64,
}

#[derive(Serialize, Deserialize)]
struct HandoffV1 {
    episode: String,
    from: String,
    at: i64,
    claimed: bool,
}

#[derive(Serialize, Deserialize)]
struct TranscriptV1 {
    agent: String,
    path: String,
    file: IdentityV1,
    subagent: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct PlaceV1 {
    cwd: String,
    project: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    remote: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct CountsV1 {
    records: u64,
    conversation: u64,
    messages: u64,
    prompts: u64,
    malformed: u64,
    oversize: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    by_type: BTreeMap<String, u64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    unknown: BTreeMap<String, u64>,
}

#[derive(Serialize, Deserialize)]
struct EndV1 {
    reason: String,
    at: i64,
    by_self: bool,
}

#[derive(Serialize, Deserialize)]
struct EpisodeV1 {
    uuid: String,
    tier: String,
    hash: String,
    filter_version: u32,
    generation: u32,
    to: u64,
    manifest: String,
    items: u64,
    at: i64,
}

#[derive(Serialize, Deserialize)]
struct CheckedV1 {
    generation: u32,
    to: u64,
}

#[derive(Serialize, Deserialize)]
struct JobV1 {
    effect: EffectV1,
    to: u64,
    reason: String,
    covers: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    again: Option<String>,
    resumed: bool,
}

#[derive(Serialize, Deserialize)]
struct FailureV1 {
    why: String,
    attempts: u32,
    retry_at: i64,
}

/// A row as one line of JSON with a fixed order of fields: lines are equal exactly if the rows are.
pub fn encode(row: &Row) -> String {
    // A struct of strings and integers always has a JSON form.
    serde_json::to_string(&RowV1::from(row)).unwrap_or_default()
}

/// Reads such a line; `None` for anything else.
pub fn decode(line: &str) -> Option<Row> {
    serde_json::from_str::<RowV1>(line).ok()?.read()
}

fn phase_name(phase: Phase) -> &'static str {
    // Unlike in answers, a session without events has a name of its own.
    if phase == Phase::New { "new" } else { phase.as_str() }
}

fn phase_of(name: &str, why: Option<&str>) -> Option<Phase> {
    Some(match (name, why) {
        ("new", None) => Phase::New,
        ("active", None) => Phase::Active,
        ("inactive", None) => Phase::Inactive,
        ("indexing", None) => Phase::Indexing,
        ("indexed", None) => Phase::Indexed,
        ("failed", None) => Phase::Failed,
        ("forgotten", None) => Phase::Forgotten,
        ("unindexed", Some(why)) => Phase::Unindexed(UnindexedReason::parse(why)?),
        _ => return None,
    })
}

impl From<&Row> for RowV1 {
    fn from(row: &Row) -> Self {
        let state = &row.state;
        Self {
            version: row.version.0,
            phase: phase_name(state.phase).to_owned(),
            why: if let Phase::Unindexed(why) = state.phase { Some(why.to_string()) } else { None },
            transcript: state.transcript.as_ref().map(TranscriptV1::from),
            place: state.place.as_ref().map(|place| PlaceV1 {
                cwd: place.cwd.clone(),
                project: place.recorded_project().to_owned(),
                remote: place.remote.clone(),
            }),
            group: state.group.clone(),
            forced: state.forced,
            generation: state.generation,
            read: (&state.read).into(),
            tail: hex::encode(&state.tail.0),
            counts: (&state.counts).into(),
            first_at: state.first_at.map(|at| at.0),
            discovered_at: state.discovered_at.0,
            last_at: state.last_at.map(|at| at.0),
            last_conversation_at: state.last_conversation_at.map(|at| at.0),
            end: state.end.map(|end| EndV1 { reason: end.reason.to_string(), at: end.at.0, by_self: end.by_self }),
            last_close: state.last_close.map(|reason| reason.to_string()),
            close_note: state.close_note.map(|hash| hash.to_string()),
            episode: state.episode.as_ref().map(EpisodeV1::from),
            deleted: state.deleted.map(|uuid| uuid.to_string()),
            corrections: CorrectionsV1::of(&state.corrections),
            checked: state.checked.map(|checked| CheckedV1 { generation: checked.generation, to: checked.to }),
            unindexed: state.unindexed,
            late_index_at: state.late_index_at.map(|at| at.0),
            job: state.job.map(JobV1::from),
            failure: state.failure.map(|failure| FailureV1 {
                why: failure.why.to_string(),
                attempts: failure.attempts,
                retry_at: failure.retry_at.0,
            }),
            starts: state.starts,
            started_at: state.signals.started_at.map(|at| at.0),
            follows: state
                .signals
                .follows
                .as_ref()
                .map(|follows| FollowsV1 { session: follows.session.to_string(), at: follows.at.0 }),
            active_at: state.signals.active_at.map(|at| at.0),
            disconnected_at: state.signals.disconnected_at.map(|at| at.0),
            close_owed: state.signals.close_owed.map(|reason| reason.to_string()),
            handoff: state.handoff.as_ref().map(|handoff| HandoffV1 {
                episode: handoff.episode.to_string(),
                from: handoff.from.to_string(),
                at: handoff.at.0,
                claimed: handoff.claimed,
            }),
            enrichment: state.enrichment().map(EnrichmentV1::from),
        }
    }
}

impl RowV1 {
    fn read(self) -> Option<Row> {
        let reason = |text: Option<String>| text.map_or(Some(None), |text| CloseReason::parse(&text).map(Some));
        let state = State {
            phase: phase_of(&self.phase, self.why.as_deref())?,
            transcript: read_optional(self.transcript, TranscriptV1::read)?,
            place: self.place.map(|place| Place::new(place.cwd, place.project).with_remote(place.remote)),
            group: self.group,
            forced: self.forced,
            generation: self.generation,
            read: self.read.read()?,
            tail: TailDigest(hex::decode(&self.tail)?),
            counts: self.counts.into(),
            first_at: self.first_at.map(Timestamp),
            discovered_at: Timestamp(self.discovered_at),
            last_at: self.last_at.map(Timestamp),
            last_conversation_at: self.last_conversation_at.map(Timestamp),
            end: read_optional(self.end, |end| {
                let reason = CloseReason::parse(&end.reason)?;
                Some(End { reason, at: Timestamp(end.at), by_self: end.by_self })
            })?,
            last_close: reason(self.last_close)?,
            close_note: read_optional(self.close_note, |hash| ContentHash::parse(&hash))?,
            episode: read_optional(self.episode, EpisodeV1::read)?,
            deleted: read_optional(self.deleted, |uuid| Uuid::try_parse(&uuid).ok())?,
            corrections: read_optional(self.corrections, CorrectionsV1::read)?.unwrap_or_default(),
            checked: self.checked.map(|checked| Checked { generation: checked.generation, to: checked.to }),
            unindexed: self.unindexed,
            late_index_at: self.late_index_at.map(Timestamp),
            job: read_optional(self.job, |job| {
                Some(Job {
                    effect: job.effect.into(),
                    to: job.to,
                    reason: CloseReason::parse(&job.reason)?,
                    covers: job.covers,
                    again: reason(job.again)?,
                    resumed: job.resumed,
                })
            })?,
            failure: read_optional(self.failure, |failure| {
                Some(Failure {
                    why: FailureReason::parse(&failure.why)?,
                    attempts: failure.attempts,
                    retry_at: Timestamp(failure.retry_at),
                })
            })?,
            starts: self.starts,
            signals: Signals {
                started_at: self.started_at.map(Timestamp),
                follows: read_optional(self.follows, |follows| {
                    Some(Follows { session: SessionId::new(&follows.session)?, at: Timestamp(follows.at) })
                })?,
                active_at: self.active_at.map(Timestamp),
                disconnected_at: self.disconnected_at.map(Timestamp),
                close_owed: reason(self.close_owed)?,
            },
            handoff: read_optional(self.handoff, |handoff| {
                Some(Handoff {
                    episode: Uuid::try_parse(&handoff.episode).ok()?,
                    from: SessionId::new(&handoff.from)?,
                    at: Timestamp(handoff.at),
                    claimed: handoff.claimed,
                })
            })?,
            enrichment: read_optional(self.enrichment, EnrichmentV1::read)?.map(Box::new),
        };
        Some(Row { version: SequenceNumber(self.version), state, since: Position::default() })
    }
}

impl From<&Transcript> for TranscriptV1 {
    fn from(transcript: &Transcript) -> Self {
        let parent = match &transcript.kind {
            Kind::Main => None,
            Kind::Subagent { parent } => parent.as_ref().map(ToString::to_string),
        };
        Self {
            agent: transcript.agent.as_str().to_owned(),
            path: transcript.path.clone(),
            file: transcript.identity.into(),
            subagent: transcript.kind != Kind::Main,
            parent,
        }
    }
}

impl TranscriptV1 {
    fn read(self) -> Option<Transcript> {
        let parent = read_optional(self.parent, |id| SessionId::new(&id))?;
        let kind = if self.subagent { Kind::Subagent { parent } } else { Kind::Main };
        Some(Transcript { agent: Agent::parse(&self.agent)?, path: self.path, identity: self.file.into(), kind })
    }
}

impl From<&Counts> for CountsV1 {
    fn from(counts: &Counts) -> Self {
        Self {
            records: counts.records,
            conversation: counts.conversation,
            messages: counts.messages,
            prompts: counts.prompts,
            malformed: counts.malformed,
            oversize: counts.oversize,
            by_type: counts.by_type.clone(),
            unknown: counts.unknown.clone(),
        }
    }
}

impl From<CountsV1> for Counts {
    fn from(shape: CountsV1) -> Self {
        Self {
            records: shape.records,
            conversation: shape.conversation,
            messages: shape.messages,
            prompts: shape.prompts,
            malformed: shape.malformed,
            oversize: shape.oversize,
            by_type: shape.by_type,
            unknown: shape.unknown,
        }
    }
}

impl From<&EpisodeRef> for EpisodeV1 {
    fn from(episode: &EpisodeRef) -> Self {
        Self {
            uuid: episode.uuid.to_string(),
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

impl EpisodeV1 {
    fn read(self) -> Option<EpisodeRef> {
        Some(EpisodeRef {
            uuid: Uuid::try_parse(&self.uuid).ok()?,
            tier: Tier::parse(&self.tier)?,
            hash: ContentHash::parse(&self.hash)?,
            filter_version: self.filter_version,
            generation: self.generation,
            to: self.to,
            manifest: ContentHash::parse(&self.manifest)?,
            items: self.items,
            at: Timestamp(self.at),
        })
    }
}

impl From<Job> for JobV1 {
    fn from(job: Job) -> Self {
        Self {
            effect: job.effect.into(),
            to: job.to,
            reason: job.reason.to_string(),
            covers: job.covers,
            again: job.again.map(|reason| reason.to_string()),
            resumed: job.resumed,
        }
    }
}

#[cfg(test)]
mod tests;
