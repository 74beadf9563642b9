//! An index job: reads the new part of a transcript and stores the conversation.
//!
//! Reads from where the stored conversation ends, if the transcript still continues it and the filter is the same;
//! otherwise from the beginning. Unchanged content stores nothing. Runs in the blocking pool in two steps, first what
//! needs the processor and then what waits for the disk, so that waiting jobs do not keep others from working.
//!
//! # Decisions
//!
//! - When its turn comes, a job checks once more whether it is owed and may read. One that already runs may end, and
//!   whatever no event names is collected at once. When a transcript moves under a job, that job is void and a new one
//!   reads the new path.

use std::sync::Arc;

use baton_conversation::hash::ContentHash;
use baton_conversation::hex;
use baton_conversation::record::SessionId;
use baton_conversation::transcript::Source;
use baton_events::projection::table::Row;
use baton_events::schema::item::ITEM_VERSION;
use baton_events::session::{Complete, EpisodeRef, FailureReason, FileIdentity, Stored, TailDigest, episode_uuid};

pub(super) mod stored;

use super::append_state::{AppendState, AppendStates};
use super::conversation_builder::{ConversationBuilder, Written};
use super::fresh::FreshConversations;
use super::{JobOutcome, JobRequest};
use baton_config::settings::SettingsReader;
use baton_journal::session_table::TableReader;
use baton_store::chunks;
use baton_store::chunks::{Batch, ChunkStore, Header};
use baton_store::conversation;
use baton_store::transcript_reader;
use baton_store::transcript_reader::{Done, Pass, Start};

/// Why a job did not complete.
enum Stop {
    Failed(FailureReason, String),
    Rewritten(FileIdentity),
}

/// A finished job whose conversation is written but not durable yet.
pub(super) struct Prepared {
    session: SessionId,
    complete: Complete,
    /// Absent if the content is unchanged.
    written: Option<Written>,
}

/// Reads, filters, hashes and writes, if the job may still run. `Err` is the outcome of a job that ends here.
pub(super) fn prepare(
    request: &JobRequest,
    chunks: &ChunkStore,
    append_states: &AppendStates,
    gate: &JobGate,
) -> Result<Prepared, JobOutcome> {
    let effect = request.job.effect;
    // Look up the episode to continue only now: it may have been redacted since the job was queued.
    let Some(row) = gate.owed_row(request) else { return Err(JobOutcome::LetGo { effect }) };
    index(request, row.state.episode.as_ref(), chunks, append_states).map_err(|stop| match stop {
        Stop::Failed(why, reason) => JobOutcome::Failed { effect, why, reason },
        Stop::Rewritten(identity) => JobOutcome::Rewritten { effect, identity },
    })
}

/// What finished jobs leave in memory, which saves reading their conversations back.
#[derive(Clone, Default)]
pub(super) struct Caches {
    /// For the memory.
    pub(super) fresh: Arc<FreshConversations>,
    /// For the session's next job.
    pub(super) append_states: Arc<AppendStates>,
}

/// Makes the written conversations durable and returns the outcomes in the same order. A job is complete only if this
/// succeeded.
pub(super) fn store(all: Vec<Prepared>, caches: &Caches) -> Vec<JobOutcome> {
    let (mut batches, mut rest) = (Vec::new(), Vec::new());
    for Prepared { session, complete, written } in all {
        let left = written.map(|Written { batch, manifest, held, append_state }| {
            batches.push(batch);
            (manifest, held, append_state)
        });
        rest.push((session, complete, left));
    }
    let mut committed = Batch::commit_together(batches).into_iter();
    let outcome = |(session, complete, left): (SessionId, Complete, Option<_>)| {
        let Some((manifest, held, append_state)) = left else { return JobOutcome::Complete(Box::new(complete)) };
        // There is one result per batch.
        if let Err(error) = committed.next().unwrap_or(Ok(())) {
            let (effect, why) = (complete.effect, FailureReason::NotStored);
            return JobOutcome::Failed { effect, why, reason: error.to_string() };
        }
        caches.append_states.put(session, manifest, append_state);
        if let Some(held) = held {
            caches.fresh.put(manifest, held);
        }
        JobOutcome::Complete(Box::new(complete))
    };
    rest.into_iter().map(outcome).collect()
}

fn index(
    request: &JobRequest,
    prior: Option<&EpisodeRef>,
    chunks: &ChunkStore,
    append_states: &AppendStates,
) -> Result<Prepared, Stop> {
    let job = &request.job;
    let prepared = |complete, written| Prepared { session: request.session.clone(), complete, written };
    let is_shortened = prior.is_some_and(|prior| is_shortened(request, prior, chunks));
    if let Some(done) = prior.filter(|prior| is_shortened && request.anew && prior.to >= request.job.to) {
        // To read it again would undo the shortening.
        return stored::finish_without_transcript(request, Some(done), chunks).unwrap_or_else(|| {
            let reason = format!("{} was rewritten since", job.path);
            Err(Stop::Failed(FailureReason::StoredUnreadable, reason))
        });
    }
    let continued = continued(request, prior, chunks, append_states).filter(|_| !request.anew);
    let (mut builder, mut start) =
        continued.unwrap_or_else(|| (ConversationBuilder::new(chunks, &request.session), beginning(request)));
    let done = match read(request, &mut builder, &start) {
        Err(Stop::Failed(FailureReason::Gone, reason)) => {
            return stored::finish_without_transcript(request, prior, chunks)
                .unwrap_or(Err(Stop::Failed(FailureReason::Gone, reason)));
        }
        done => done?,
    };
    (start.cursor, start.tail, builder.append_state.open) = (done.cursor, done.tail, done.open);
    let (hash, items) = (builder.hash().map_err(not_stored)?, builder.append_state.count);
    let complete = |stored| Complete {
        effect: job.effect,
        generation: job.generation,
        to: job.to,
        hash,
        filter_version: request.filter_version,
        stored,
    };
    let unchanged = |prior: &&_| same_content(prior, &hash, request.filter_version);
    // The hash covers neither unreadable lines nor withdrawn prompts, so these must be stored even if it is unchanged.
    let unread = builder.append_state.unread.clone();
    if is_shortened && prior.filter(unchanged).is_some() {
        return Ok(prepared(complete(None), None));
    }
    if !request.anew && unread.is_empty() && !builder.withdraws && prior.filter(unchanged).is_some() {
        return Ok(prepared(complete(None), None));
    }
    let header = Header {
        generation: job.generation,
        filter_version: request.filter_version,
        item_version: ITEM_VERSION,
        cursor: start.cursor.clone(),
        tail: hex::encode(&start.tail.0),
        unread,
        shortened: false,
    };
    let written = builder.written(header).map_err(not_stored)?;
    if prior.filter(unchanged).is_some_and(|prior| prior.manifest == written.manifest) {
        // Identical to the stored one; what was written is not needed.
        return Ok(prepared(complete(None), None));
    }
    let stored = Stored { episode: episode_uuid(&request.session, &hash), manifest: written.manifest, items };
    Ok(prepared(complete(Some(stored)), Some(written)))
}

fn not_stored(error: chunks::Error) -> Stop {
    Stop::Failed(FailureReason::NotStored, error.to_string())
}

fn same_content(prior: &EpisodeRef, hash: &ContentHash, filter_version: u32) -> bool {
    prior.hash == *hash && prior.filter_version == filter_version
}

/// True if only what the episode needs is stored of the conversation that this job would continue.
fn is_shortened(request: &JobRequest, prior: &EpisodeRef, chunks: &ChunkStore) -> bool {
    let manifest = chunks.manifest(&request.session, &prior.manifest);
    prior.generation == request.job.generation && manifest.is_ok_and(|manifest| manifest.header.shortened)
}

fn beginning(request: &JobRequest) -> Start {
    Start::beginning(Source { agent: request.agent, subagent: request.subagent }, request.job.path.clone())
}

/// Returns the stored conversation and where its transcript was left, if this job continues it. If the stored
/// conversation cannot be read, or an earlier version has stored it, the job reads the transcript from the start.
fn continued<'a>(
    request: &'a JobRequest,
    prior: Option<&EpisodeRef>,
    chunks: &'a ChunkStore,
    append_states: &AppendStates,
) -> Option<(ConversationBuilder<'a>, Start)> {
    let prior = prior?;
    if prior.generation != request.job.generation || prior.filter_version != request.filter_version {
        return None;
    }
    let read = || -> Result<Option<_>, String> {
        let told = |error: conversation::Error| error.to_string();
        let manifest = chunks.manifest(&request.session, &prior.manifest).map_err(|error| error.to_string())?;
        if manifest.header.item_version < ITEM_VERSION || manifest.header.shortened {
            return Ok(None);
        }
        let append_state = match append_states.get(&request.session, &prior.manifest) {
            Some(append_state) => append_state,
            None => {
                let stored = conversation::Stored::open(chunks, &request.session, &prior.manifest).map_err(told)?;
                let mut append_state = AppendState::default();
                for item in stored.items() {
                    let item = item.map_err(told)?;
                    append_state.note(&item);
                    append_state.open.note(&item);
                }
                append_state
            }
        };
        let builder = ConversationBuilder::continuing(chunks, &request.session, prior.manifest, append_state);
        let cursor = manifest.header.cursor;
        let tail = hex::decode(&manifest.header.tail).map(TailDigest).ok_or("its digest is not readable")?;
        Ok(Some((builder, Start { cursor, tail, ..beginning(request) })))
    };
    read()
        .inspect_err(|reason| tracing::warn!(session = %request.session, %reason, "stored conversation read anew"))
        .ok()
        .flatten()
}

fn read(request: &JobRequest, builder: &mut ConversationBuilder<'_>, start: &Start) -> Result<Done, Stop> {
    match transcript_reader::items(start, builder.append_state.open.clone(), request.job.to, builder) {
        Pass::Read(done) => Ok(*done),
        Pass::Rewritten { identity } => Err(Stop::Rewritten(identity)),
        Pass::Gone => Err(Stop::Failed(FailureReason::Gone, format!("{} is gone", start.path))),
        Pass::Unreadable { reason, .. } => Err(Stop::Failed(FailureReason::Unreadable, reason)),
    }
}

/// Tells whether a job may still run when its turn comes: the session or its project may have been stopped while it was
/// queued.
pub(super) struct JobGate {
    pub(super) table: TableReader,
    pub(super) settings: SettingsReader,
}

impl JobGate {
    /// Returns the session's current row if it still owes this job and nothing stops it. Sees every stop that was
    /// acknowledged, because the table is published before any caller is answered.
    pub(super) fn owed_row(&self, request: &JobRequest) -> Option<Arc<Row>> {
        let row = self.table.now().get(&request.session).cloned()?;
        let owed = row.state.job.is_some_and(|job| job.effect == request.job.effect);
        (owed && self.settings.now().policy_for(&row.state).tracked).then_some(row)
    }
}
