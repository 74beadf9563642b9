//! Stored shapes of the session events, every version side by side.
//!
//! A shape that has shipped is frozen. To change one: copy `FooV1` to `FooV2`, edit only the copy, write
//! `impl From<FooV1> for FooV2` (pure, no defaults from configuration), name `FooV1` as its `Older`, and change the
//! conversion to the domain type. If the *meaning* changes it is a new event type.

mod enrichment;
mod fields;
mod records_appended;
pub(super) mod shape;

use crate::envelope::StoredRecord;
use crate::session::{
    Agent, Counts, EnrichedBy, EpisodeRef, Event, FailureReason, GaveUp, Kind, Place, Signal, SignalDetail, SignalKind,
    TailDigest, Tier, UnindexedReason,
};
use baton_conversation::hex;
use baton_conversation::record::{SessionId, Timestamp};

pub use super::version::{Encoded, Error};
use super::version::{Shape, read, write};
use fields::Fields;
use records_appended::RecordsAppendedV3;
use shape::{
    AbandonedV1, CloseRequestedV1, CorrectedV1, DiscoveredV1, EndedV1, EnrichedV1, EnrichmentGivenUpV1,
    EnrichmentOwedV1, EpisodeDeletedV1, EpisodeRestoredV1, ForgottenV1, GroupAssignedV1, HandoffClaimedV1,
    HandoffOfferedV1, IndexSkippedV1, IndexedV1, IndexingFailedV1, IndexingStartedV1, LocatedV2, ModelAnsweredV1,
    ModelCalledV1, MovedV1, ParentFoundV1, RedactedEpisodeV1, RedactedV1, RestoredV1, ResumedV1, RewrittenV1,
    SignalledV1, TrackingForcedV1, TrackingResumedV1, TrackingStoppedV1, WentIdleV1,
};

/// Every event type, in the order of [`Event`].
pub const KINDS: [&str; 33] = [
    DiscoveredV1::KIND,
    MovedV1::KIND,
    LocatedV2::KIND,
    ParentFoundV1::KIND,
    RecordsAppendedV3::KIND,
    RewrittenV1::KIND,
    ResumedV1::KIND,
    WentIdleV1::KIND,
    CloseRequestedV1::KIND,
    EndedV1::KIND,
    IndexingStartedV1::KIND,
    IndexedV1::KIND,
    IndexSkippedV1::KIND,
    IndexingFailedV1::KIND,
    AbandonedV1::KIND,
    TrackingStoppedV1::KIND,
    TrackingResumedV1::KIND,
    TrackingForcedV1::KIND,
    GroupAssignedV1::KIND,
    ForgottenV1::KIND,
    RestoredV1::KIND,
    SignalledV1::KIND,
    HandoffOfferedV1::KIND,
    HandoffClaimedV1::KIND,
    EpisodeDeletedV1::KIND,
    EpisodeRestoredV1::KIND,
    CorrectedV1::KIND,
    RedactedV1::KIND,
    EnrichmentOwedV1::KIND,
    ModelCalledV1::KIND,
    ModelAnsweredV1::KIND,
    EnrichedV1::KIND,
    EnrichmentGivenUpV1::KIND,
];

/// Writes an event in the newest shape of its type.
pub fn encode(event: &Event) -> Encoded {
    match event {
        Event::Discovered { agent, path, identity, kind, at } => {
            let parent = match kind {
                Kind::Main => None,
                Kind::Subagent { parent } => parent.as_ref().map(ToString::to_string),
            };
            write(&DiscoveredV1 {
                agent: agent.as_str().to_owned(),
                path: path.clone(),
                file: (*identity).into(),
                subagent: *kind != Kind::Main,
                parent,
                at: at.0,
            })
        }
        Event::Moved { path, identity } => write(&MovedV1 { path: path.clone(), file: (*identity).into() }),
        Event::Located { place } => write(&LocatedV2 {
            cwd: place.cwd.clone(),
            project: place.recorded_project().to_owned(),
            remote: place.remote.clone(),
        }),
        Event::ParentFound { parent } => write(&ParentFoundV1 { parent: parent.to_string() }),
        Event::RecordsAppended {
            generation,
            from,
            to,
            tail,
            counts,
            first_at,
            last_at,
            last_conversation_at,
            late_index_at,
        } => write(&RecordsAppendedV3 {
            generation: *generation,
            from: *from,
            to: (&**to).into(),
            tail: hex::encode(&tail.0),
            records: counts.records,
            conversation: counts.conversation,
            messages: counts.messages,
            prompts: counts.prompts,
            malformed: counts.malformed,
            oversize: counts.oversize,
            by_type: counts.by_type.clone(),
            unknown: counts.unknown.clone(),
            first_at: first_at.map(|at| at.0),
            last_at: last_at.map(|at| at.0),
            last_conversation_at: last_conversation_at.map(|at| at.0),
            late_index_at: late_index_at.map(|at| at.0),
        }),
        Event::Rewritten { generation, identity } => {
            write(&RewrittenV1 { generation: *generation, file: (*identity).into() })
        }
        Event::Resumed => write(&ResumedV1 {}),
        Event::WentIdle => write(&WentIdleV1 {}),
        Event::CloseRequested { reason, note } => {
            write(&CloseRequestedV1 { reason: reason.to_string(), note: note.map(|hash| hash.to_string()) })
        }
        Event::Ended { reason, at, by_self } => {
            write(&EndedV1 { reason: reason.to_string(), at: at.0, by_self: *by_self })
        }
        Event::IndexingStarted { effect, reason, to } => {
            write(&IndexingStartedV1 { effect: (*effect).into(), reason: reason.to_string(), to: *to })
        }
        Event::Indexed { effect, episode } => write(&IndexedV1 {
            effect: (*effect).into(),
            episode: episode.uuid.to_string(),
            tier: episode.tier.as_str().to_owned(),
            hash: episode.hash.to_string(),
            filter_version: episode.filter_version,
            generation: episode.generation,
            to: episode.to,
            manifest: episode.manifest.to_string(),
            items: episode.items,
            at: episode.at.0,
        }),
        Event::IndexSkipped { effect, episode, to } => {
            write(&IndexSkippedV1 { effect: effect.map(Into::into), episode: episode.to_string(), to: *to })
        }
        Event::IndexingFailed { effect, why, attempts, retry_at } => write(&IndexingFailedV1 {
            effect: (*effect).into(),
            why: why.to_string(),
            attempts: *attempts,
            retry_at: retry_at.0,
        }),
        Event::Abandoned { why } => write(&AbandonedV1 { why: why.to_string() }),
        Event::TrackingStopped => write(&TrackingStoppedV1 {}),
        Event::TrackingResumed => write(&TrackingResumedV1 {}),
        Event::TrackingForced => write(&TrackingForcedV1 {}),
        Event::GroupAssigned { group } => write(&GroupAssignedV1 { group: group.clone() }),
        Event::Forgotten => write(&ForgottenV1 {}),
        Event::Restored { generation, file_exists } => {
            write(&RestoredV1 { generation: *generation, file_exists: *file_exists })
        }
        Event::Signalled { signal } => write(&SignalledV1 {
            signal: signal.kind.to_string(),
            detail: signal.detail.map(|detail| detail.to_string()),
            at: signal.at.0,
            follows: signal.follows.as_ref().map(ToString::to_string),
        }),
        Event::HandoffOffered { episode, from, at } => {
            write(&HandoffOfferedV1 { episode: episode.to_string(), from: from.to_string(), at: at.0 })
        }
        Event::HandoffClaimed { episode } => write(&HandoffClaimedV1 { episode: episode.to_string() }),
        Event::EpisodeDeleted { episode } => write(&EpisodeDeletedV1 { episode: episode.to_string() }),
        Event::EpisodeRestored { episode } => write(&EpisodeRestoredV1 { episode: episode.to_string() }),
        Event::Corrected { correction, at } => write(&CorrectedV1::of(correction, *at)),
        Event::Redacted { episode, notes } => write(&RedactedV1 {
            episode: episode.as_ref().map(Into::into),
            notes: notes.iter().map(|(old, new)| [old.to_string(), new.to_string()]).collect(),
        }),
        Event::EnrichmentOwed { at, asked } => write(&EnrichmentOwedV1 { at: at.0, asked: *asked }),
        Event::ModelCalled { call } => write(&ModelCalledV1::from(call)),
        Event::ModelAnswered { answer } => write(&ModelAnsweredV1::from(answer)),
        Event::Enriched { episode, by, facts, dropped } => write(&EnrichedV1 {
            episode: episode.to_string(),
            answer: by.answer.to_string(),
            model: by.model.clone(),
            facts: *facts,
            dropped: *dropped,
            unseen: by.unseen,
            not_held: by.not_held,
            at: by.at.0,
        }),
        Event::EnrichmentGivenUp { content, why } => {
            write(&EnrichmentGivenUpV1 { content: content.to_string(), why: why.to_string() })
        }
    }
}

/// Replaces the group of a forgotten session, whose name may reveal what the session was about.
const HIDDEN_GROUP: &str = "[forgotten]";

/// Replaces the group's name in a record of a forgotten session that is to be shown. Returns true if the record has
/// one. The result is read and folded like any other record.
pub fn hide_group(record: &mut StoredRecord) -> bool {
    let names_group = record.kind == GroupAssignedV1::KIND;
    if names_group {
        record.data = write(&GroupAssignedV1 { group: HIDDEN_GROUP.to_owned() }).data;
    }
    names_group
}

/// Reads an event of any version ever written.
pub fn decode(kind: &str, v: u32, data: &str) -> Result<Event, Error> {
    Ok(match kind {
        DiscoveredV1::KIND => {
            let shape: DiscoveredV1 = read(v, data)?;
            let fields = Fields::new::<DiscoveredV1>(v);
            let parent = shape.parent.map(|id| fields.session(&id)).transpose()?;
            Event::Discovered {
                agent: fields.named("agent", Agent::parse(&shape.agent))?,
                path: shape.path,
                identity: shape.file.into(),
                kind: if shape.subagent { Kind::Subagent { parent } } else { Kind::Main },
                at: Timestamp(shape.at),
            }
        }
        MovedV1::KIND => {
            let shape: MovedV1 = read(v, data)?;
            Event::Moved { path: shape.path, identity: shape.file.into() }
        }
        LocatedV2::KIND => {
            let shape: LocatedV2 = read(v, data)?;
            Event::Located { place: Place::new(shape.cwd, shape.project).with_remote(shape.remote) }
        }
        ParentFoundV1::KIND => {
            let shape: ParentFoundV1 = read(v, data)?;
            Event::ParentFound { parent: Fields::new::<ParentFoundV1>(v).session(&shape.parent)? }
        }
        RecordsAppendedV3::KIND => records_appended(read(v, data)?, &Fields::new::<RecordsAppendedV3>(v))?,
        RewrittenV1::KIND => {
            let shape: RewrittenV1 = read(v, data)?;
            Event::Rewritten { generation: shape.generation, identity: shape.file.into() }
        }
        ResumedV1::KIND => read::<ResumedV1>(v, data).map(|_| Event::Resumed)?,
        WentIdleV1::KIND => read::<WentIdleV1>(v, data).map(|_| Event::WentIdle)?,
        CloseRequestedV1::KIND => {
            let shape: CloseRequestedV1 = read(v, data)?;
            let fields = Fields::new::<CloseRequestedV1>(v);
            Event::CloseRequested {
                reason: fields.reason(&shape.reason)?,
                note: shape.note.map(|hash| fields.hash("note", &hash)).transpose()?,
            }
        }
        EndedV1::KIND => {
            let shape: EndedV1 = read(v, data)?;
            Event::Ended {
                reason: Fields::new::<EndedV1>(v).reason(&shape.reason)?,
                at: Timestamp(shape.at),
                by_self: shape.by_self,
            }
        }
        IndexingStartedV1::KIND => {
            let shape: IndexingStartedV1 = read(v, data)?;
            Event::IndexingStarted {
                effect: shape.effect.into(),
                reason: Fields::new::<IndexingStartedV1>(v).reason(&shape.reason)?,
                to: shape.to,
            }
        }
        IndexedV1::KIND => indexed(read(v, data)?, &Fields::new::<IndexedV1>(v))?,
        IndexSkippedV1::KIND => {
            let shape: IndexSkippedV1 = read(v, data)?;
            Event::IndexSkipped {
                effect: shape.effect.map(Into::into),
                episode: Fields::new::<IndexSkippedV1>(v).uuid(&shape.episode)?,
                to: shape.to,
            }
        }
        IndexingFailedV1::KIND => {
            let shape: IndexingFailedV1 = read(v, data)?;
            Event::IndexingFailed {
                effect: shape.effect.into(),
                why: Fields::new::<IndexingFailedV1>(v).named("why", FailureReason::parse(&shape.why))?,
                attempts: shape.attempts,
                retry_at: Timestamp(shape.retry_at),
            }
        }
        AbandonedV1::KIND => {
            let shape: AbandonedV1 = read(v, data)?;
            Event::Abandoned { why: Fields::new::<AbandonedV1>(v).named("why", UnindexedReason::parse(&shape.why))? }
        }
        TrackingStoppedV1::KIND => read::<TrackingStoppedV1>(v, data).map(|_| Event::TrackingStopped)?,
        TrackingResumedV1::KIND => read::<TrackingResumedV1>(v, data).map(|_| Event::TrackingResumed)?,
        TrackingForcedV1::KIND => read::<TrackingForcedV1>(v, data).map(|_| Event::TrackingForced)?,
        GroupAssignedV1::KIND => Event::GroupAssigned { group: read::<GroupAssignedV1>(v, data)?.group },
        ForgottenV1::KIND => read::<ForgottenV1>(v, data).map(|_| Event::Forgotten)?,
        RestoredV1::KIND => {
            let shape: RestoredV1 = read(v, data)?;
            Event::Restored { generation: shape.generation, file_exists: shape.file_exists }
        }
        SignalledV1::KIND => {
            let shape: SignalledV1 = read(v, data)?;
            let fields = Fields::new::<SignalledV1>(v);
            let detail = shape.detail.map(|text| fields.named("detail", SignalDetail::parse(&text))).transpose()?;
            let follows = shape.follows.map(|id| fields.named("follows", SessionId::new(&id))).transpose()?;
            let kind = fields.named("signal", SignalKind::parse(&shape.signal))?;
            Event::Signalled { signal: Signal { kind, detail, at: Timestamp(shape.at), follows } }
        }
        HandoffOfferedV1::KIND => {
            let shape: HandoffOfferedV1 = read(v, data)?;
            let fields = Fields::new::<HandoffOfferedV1>(v);
            Event::HandoffOffered {
                episode: fields.uuid(&shape.episode)?,
                from: fields.named("from", SessionId::new(&shape.from))?,
                at: Timestamp(shape.at),
            }
        }
        HandoffClaimedV1::KIND => {
            let shape: HandoffClaimedV1 = read(v, data)?;
            Event::HandoffClaimed { episode: Fields::new::<HandoffClaimedV1>(v).uuid(&shape.episode)? }
        }
        EpisodeDeletedV1::KIND => {
            let shape: EpisodeDeletedV1 = read(v, data)?;
            Event::EpisodeDeleted { episode: Fields::new::<EpisodeDeletedV1>(v).uuid(&shape.episode)? }
        }
        EpisodeRestoredV1::KIND => {
            let shape: EpisodeRestoredV1 = read(v, data)?;
            Event::EpisodeRestored { episode: Fields::new::<EpisodeRestoredV1>(v).uuid(&shape.episode)? }
        }
        CorrectedV1::KIND => {
            let shape: CorrectedV1 = read(v, data)?;
            let (correction, at) = Fields::new::<CorrectedV1>(v).named("entry or title", shape.read())?;
            Event::Corrected { correction, at }
        }
        RedactedV1::KIND => redacted(read(v, data)?, &Fields::new::<RedactedV1>(v))?,
        EnrichmentOwedV1::KIND => {
            let shape: EnrichmentOwedV1 = read(v, data)?;
            Event::EnrichmentOwed { at: Timestamp(shape.at), asked: shape.asked }
        }
        ModelCalledV1::KIND => {
            let shape: ModelCalledV1 = read(v, data)?;
            Event::ModelCalled { call: Fields::new::<ModelCalledV1>(v).named("call", shape.read())? }
        }
        ModelAnsweredV1::KIND => {
            let shape: ModelAnsweredV1 = read(v, data)?;
            Event::ModelAnswered { answer: Fields::new::<ModelAnsweredV1>(v).named("answer", shape.read())? }
        }
        EnrichedV1::KIND => {
            let shape: EnrichedV1 = read(v, data)?;
            let fields = Fields::new::<EnrichedV1>(v);
            Event::Enriched {
                episode: fields.uuid(&shape.episode)?,
                by: EnrichedBy {
                    answer: fields.hash("answer", &shape.answer)?,
                    model: shape.model,
                    unseen: shape.unseen,
                    not_held: shape.not_held,
                    at: Timestamp(shape.at),
                },
                facts: shape.facts,
                dropped: shape.dropped,
            }
        }
        EnrichmentGivenUpV1::KIND => {
            let shape: EnrichmentGivenUpV1 = read(v, data)?;
            let fields = Fields::new::<EnrichmentGivenUpV1>(v);
            Event::EnrichmentGivenUp {
                content: fields.hash("content", &shape.content)?,
                why: fields.named("why", GaveUp::parse(&shape.why))?,
            }
        }
        other => return Err(Error::UnknownType { kind: other.to_owned() }),
    })
}

fn records_appended(shape: RecordsAppendedV3, fields: &Fields) -> Result<Event, Error> {
    Ok(Event::RecordsAppended {
        generation: shape.generation,
        from: shape.from,
        to: Box::new(fields.named("to", shape.to.read())?),
        tail: TailDigest(fields.named("tail", hex::decode(&shape.tail))?),
        counts: Counts {
            records: shape.records,
            conversation: shape.conversation,
            messages: shape.messages,
            prompts: shape.prompts,
            malformed: shape.malformed,
            oversize: shape.oversize,
            by_type: shape.by_type,
            unknown: shape.unknown,
        },
        first_at: shape.first_at.map(Timestamp),
        last_at: shape.last_at.map(Timestamp),
        last_conversation_at: shape.last_conversation_at.map(Timestamp),
        late_index_at: shape.late_index_at.map(Timestamp),
    })
}

fn indexed(shape: IndexedV1, fields: &Fields) -> Result<Event, Error> {
    Ok(Event::Indexed {
        effect: shape.effect.into(),
        episode: EpisodeRef {
            uuid: fields.uuid(&shape.episode)?,
            tier: fields.named("tier", Tier::parse(&shape.tier))?,
            hash: fields.hash("hash", &shape.hash)?,
            filter_version: shape.filter_version,
            generation: shape.generation,
            to: shape.to,
            manifest: fields.hash("manifest", &shape.manifest)?,
            items: shape.items,
            at: Timestamp(shape.at),
        },
    })
}

fn redacted(shape: RedactedV1, fields: &Fields) -> Result<Event, Error> {
    let episode = |shape: RedactedEpisodeV1| {
        Ok(EpisodeRef {
            uuid: fields.uuid(&shape.episode)?,
            tier: fields.named("tier", Tier::parse(&shape.tier))?,
            hash: fields.hash("hash", &shape.hash)?,
            filter_version: shape.filter_version,
            generation: shape.generation,
            to: shape.to,
            manifest: fields.hash("manifest", &shape.manifest)?,
            items: shape.items,
            at: Timestamp(shape.at),
        })
    };
    let note = |[old, new]: [String; 2]| Ok((fields.hash("notes", &old)?, fields.hash("notes", &new)?));
    Ok(Event::Redacted {
        episode: shape.episode.map(episode).transpose()?,
        notes: shape.notes.into_iter().map(note).collect::<Result<_, Error>>()?,
    })
}

#[cfg(test)]
mod tests;
