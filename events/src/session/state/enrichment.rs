//! Enrichment of a session by a model: whether it is owed, which calls were made, their results and costs.
//!
//! Enrichment becomes owed when a session ends while a model is enabled, so a later change of the configuration owes
//! nothing for past sessions and a restart loses nothing. A call is recorded before it is made and again when it has
//! ended: a call without an end was cut off, and its cost is unknown. A request that was answered is never made again.
//!
//! # Decisions
//!
//! - Subagents' sessions are not owed an enrichment: their results are in the parent's conversation. `baton enrich` of
//!   one works.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Phase, State};
use crate::session::Policy;
use crate::session::model_call::{CallOutcome, EnrichedBy, GaveUp, ModelAnswer, ModelCall};
use crate::session::reason::{CloseReason, UnindexedReason};
use crate::session::value::Tier;
use baton_conversation::hash::ContentHash;
use baton_conversation::record::Timestamp;

/// Milliseconds of a day.
pub const DAY_MS: i64 = 86_400_000;
/// Most answers that a session keeps while others are still missing: to all parts, and to all merge steps.
pub const MAX_ANSWERS: usize = 128;
/// Most cost rows per session, one per day and model; further costs are added to the oldest row.
const MAX_COSTS: usize = 400;

/// See [`Enrichment::owed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owed {
    /// When it became owed.
    #[serde(rename = "owed_at")]
    pub at: Timestamp,
    /// True if a person asked for it: then neither quiet time nor a delay after a failure applies.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asked: bool,
}

/// Enrichment state of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enrichment {
    /// When it became owed, and whether a person asked.
    #[serde(flatten)]
    pub owed: Option<Owed>,
    /// The content that the fields below are about; a call about other content resets them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<ContentHash>,
    /// The running call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<ModelCall>,
    /// Usable answers to parts and merge steps: hash of the request, hash of the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<(ContentHash, ContentHash)>,
    /// Why the last answer could not be used, if the request is to be repeated once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complaint: Option<CallOutcome>,
    /// Failures in a row.
    pub failures: u32,
    /// Outcome of the last failed call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<CallOutcome>,
    /// Earliest time of the next call, after a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
    /// Content for which it was given up, and why. For an enriched episode: why the repeated attempt failed; the
    /// episode stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given_up: Option<(ContentHash, GaveUp)>,
    /// Origin of the current episode, if it is enriched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<EnrichedBy>,
    /// Calls made over the session's life.
    pub calls: u32,
    /// Costs of the calls, by day and model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub costs: Vec<Cost>,
}

/// Cost of one day's calls of one model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// Day on which the calls began, in days since 1970-01-01 (UTC).
    pub day: i64,
    /// The name of the model.
    pub model: String,
    /// Calls that have ended.
    pub calls: u64,
    /// Those of them whose cost is unknown.
    pub unknown: u64,
    /// Tokens read by the model, as reported.
    pub tokens_in: u64,
    /// Tokens written by the model, as reported.
    pub tokens_out: u64,
    /// Tokens read from a cache, as reported; included in the tokens read.
    pub tokens_cached: u64,
    /// Known cost in nanodollars.
    pub nanos: u64,
    /// Estimated upper bound of the unknown costs, in nanodollars.
    pub unknown_nanos: u64,
}

/// Parameters of [`Effect::Enrich`](crate::session::Effect::Enrich).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnrichJob {
    /// The episode to enrich.
    pub episode: Uuid,
    /// Hash of its content, repeated in each call.
    pub content: ContentHash,
    /// Manifest that lists the conversation's chunks.
    pub manifest: ContentHash,
    /// Earliest time.
    pub due: Timestamp,
    /// Earliest time without the delay after a failure.
    pub quiet: Timestamp,
    /// True if a person asked for it.
    pub asked: bool,
    /// True if the last close was requested explicitly.
    pub explicit: bool,
    /// Why the last answer could not be used, if the request is to be repeated once.
    pub again: Option<CallOutcome>,
}

impl Enrichment {
    /// The stored answer to an earlier request.
    pub fn answer_to(&self, request: &ContentHash) -> Option<&ContentHash> {
        self.answers.iter().find(|(known, _)| known == request).map(|(_, answer)| answer)
    }

    /// Spent so far, in nanodollars; unknown costs and a running call count by their estimates.
    pub fn spent_nanos(&self) -> u64 {
        let ended = self.costs.iter().map(|cost| cost.nanos.saturating_add(cost.unknown_nanos));
        let running = self.call.iter().map(|call| call.nanos);
        ended.chain(running).fold(0, u64::saturating_add)
    }

    /// True if this content was given up.
    fn is_settled(&self, content: &ContentHash) -> bool {
        self.given_up.is_some_and(|(given_up, _)| given_up == *content)
    }

    fn start_content(&mut self, content: ContentHash) {
        if self.content != Some(content) {
            self.content = Some(content);
            self.answers.clear();
            self.complaint = None;
            self.failures = 0;
            self.failed = None;
            self.retry_at = None;
        }
    }

    fn finish(&mut self) {
        self.owed = None;
        self.content = None;
        self.answers = Vec::new();
        self.complaint = None;
        self.failures = 0;
        self.failed = None;
        self.retry_at = None;
    }

    fn add_cost(&mut self, call: &ModelCall, answer: &ModelAnswer) {
        let day = call.at.0.div_euclid(DAY_MS);
        let known = self.costs.iter().position(|cost| cost.day == day && cost.model == call.model);
        let is_full = self.costs.len() >= MAX_COSTS;
        let at = known.or_else(|| is_full.then_some(0)).unwrap_or_else(|| {
            self.costs.push(Cost::new(day, &call.model));
            self.costs.len() - 1
        });
        let Some(cost) = self.costs.get_mut(at) else { return };
        let tokens = answer.tokens.unwrap_or_default();
        cost.calls += 1;
        cost.tokens_in = cost.tokens_in.saturating_add(tokens.input);
        cost.tokens_out = cost.tokens_out.saturating_add(tokens.output);
        cost.tokens_cached = cost.tokens_cached.saturating_add(tokens.cached);
        match answer.nanos {
            Some(nanos) => cost.nanos = cost.nanos.saturating_add(nanos),
            None => {
                cost.unknown += 1;
                cost.unknown_nanos = cost.unknown_nanos.saturating_add(call.nanos);
            }
        }
    }
}

impl Cost {
    /// A row without calls.
    pub fn new(day: i64, model: &str) -> Self {
        Self { day, model: model.to_owned(), ..Self::default() }
    }
}

impl State {
    /// Its enrichment state, if there was ever any.
    pub fn enrichment(&self) -> Option<&Enrichment> {
        self.enrichment.as_deref()
    }

    /// Origin of the current episode; `None` if it is extractive.
    pub fn enriched_by(&self) -> Option<&EnrichedBy> {
        self.enrichment.as_ref().and_then(|enrichment| enrichment.current.as_ref())
    }

    fn enrichment_mut(&mut self) -> &mut Enrichment {
        self.enrichment.get_or_insert_with(Box::default)
    }
}

/// The enrichment that is owed, if any, and its earliest time. There is none while the conversation is being indexed,
/// nor while it has more records than the episode, unless a person asked for what there is.
pub(crate) fn enrich_job(state: &State, policy: &Policy) -> Option<EnrichJob> {
    let (enrichment, episode) = (state.enrichment()?, state.episode.as_ref()?);
    let owed = enrichment.owed?;
    let rests = match state.phase {
        Phase::Indexed => state.unindexed == 0 || owed.asked,
        Phase::Unindexed(UnindexedReason::Gone | UnindexedReason::TimeoutDisabled) => true,
        Phase::Active | Phase::Inactive | Phase::Failed => owed.asked,
        Phase::New
        | Phase::Indexing
        | Phase::Unindexed(UnindexedReason::Empty | UnindexedReason::Untracked)
        | Phase::Forgotten => false,
    };
    if !rests || state.deleted == Some(episode.uuid) {
        return None;
    }
    // An agent that closed its own session may still wait for a tool; sessions ended otherwise do not wait.
    let waits = state.end.is_some_and(|end| end.by_self) && !state.read.open_calls.is_empty();
    let since = state.last_activity().plus_ms(if waits { policy.tool_call_bound_ms } else { 0 });
    let quiet = owed.at.max(since).plus_ms(policy.check_interval_ms);
    let is_of_it = enrichment.content == Some(episode.hash);
    let due = match owed.asked {
        true => owed.at,
        false => quiet.max(enrichment.retry_at.filter(|_| is_of_it).unwrap_or(quiet)),
    };
    Some(EnrichJob {
        episode: episode.uuid,
        content: episode.hash,
        manifest: episode.manifest,
        due,
        quiet: if owed.asked { owed.at } else { quiet },
        asked: owed.asked,
        explicit: state.last_close == Some(CloseReason::Explicit),
        again: enrichment.complaint.filter(|_| is_of_it),
    })
}

/// True if the current content needs no further call unless a person asks: it is enriched or was given up.
pub(in crate::session) fn is_settled(state: &State) -> bool {
    let Some(episode) = &state.episode else { return false };
    episode.tier == Tier::Enriched || state.enrichment().is_some_and(|enrichment| enrichment.is_settled(&episode.hash))
}

pub(super) fn owe(state: &mut State, at: Timestamp, asked: bool) {
    let enrichment = state.enrichment_mut();
    let asked = asked || enrichment.owed.is_some_and(|owed| owed.asked);
    enrichment.owed = Some(Owed { at, asked });
    if asked {
        enrichment.given_up = None;
    }
}

pub(super) fn start_call(state: &mut State, call: &ModelCall) {
    let enrichment = state.enrichment_mut();
    enrichment.start_content(call.content);
    enrichment.calls = enrichment.calls.max(call.id);
    enrichment.call = Some(call.clone());
}

pub(super) fn end_call(state: &mut State, answer: &ModelAnswer) {
    let enrichment = state.enrichment_mut();
    let Some(call) = enrichment.call.take_if(|call| call.id == answer.id) else { return };
    enrichment.add_cost(&call, answer);
    if enrichment.content != Some(call.content) {
        return;
    }
    match answer.outcome {
        CallOutcome::Good => {
            enrichment.complaint = None;
            enrichment.failures = 0;
            enrichment.failed = None;
            enrichment.retry_at = None;
            if let (false, Some(stored)) = (call.ask.is_last(call.part), answer.answer) {
                // The oldest answers belong to a division into parts that is no longer used.
                if enrichment.answers.len() >= MAX_ANSWERS {
                    enrichment.answers.remove(0);
                }
                enrichment.answers.push((call.request, stored));
            }
        }
        outcome if outcome.is_bad_answer() => {
            enrichment.complaint = Some(outcome);
            enrichment.failed = Some(outcome);
        }
        outcome => {
            enrichment.failures = enrichment.failures.saturating_add(1);
            enrichment.failed = Some(outcome);
            enrichment.retry_at = answer.retry_at;
            // The person who asked has seen the result, so the next attempt is delayed like any other; a first cut-off
            // call is repeated at once.
            let waits = outcome != CallOutcome::Lost || answer.retry_at.is_some();
            if let Some(owed) = enrichment.owed.as_mut().filter(|_| waits) {
                owed.asked = false;
            }
        }
    }
}

pub(super) fn set_enriched(state: &mut State, episode: Uuid, by: EnrichedBy) {
    if let Some(current) = state.episode.as_mut().filter(|current| current.uuid == episode) {
        current.tier = Tier::Enriched;
        let enrichment = state.enrichment_mut();
        enrichment.current = Some(by);
        enrichment.given_up = None;
        enrichment.finish();
    }
}

pub(super) fn give_up(state: &mut State, content: ContentHash, why: GaveUp) {
    let enrichment = state.enrichment_mut();
    enrichment.finish();
    // The episode is enriched already, and nothing failed.
    if why != GaveUp::NoMore {
        enrichment.given_up = Some((content, why));
    }
}

/// After an index job: results for other content are dropped, and nothing is owed for content that is settled.
pub(super) fn update_after_index(state: &mut State) {
    let settled = is_settled(state);
    let is_enriched = state.episode.as_ref().is_some_and(|episode| episode.tier == Tier::Enriched);
    let content = state.episode.as_ref().map(|episode| episode.hash);
    let Some(enrichment) = &mut state.enrichment else { return };
    if !is_enriched {
        enrichment.current = None;
    }
    if enrichment.given_up.is_some_and(|(given_up, _)| Some(given_up) != content) {
        enrichment.given_up = None;
    }
    if settled {
        let has_seen_all = enrichment.current.as_ref().is_none_or(|by| by.beyond_context() == 0);
        enrichment.owed = enrichment.owed.filter(|owed| owed.asked && !(is_enriched && has_seen_all));
    }
}

/// The hash of the same content changed.
pub(super) fn replace_content_hash(state: &mut State, before: ContentHash, after: ContentHash) {
    let Some(enrichment) = &mut state.enrichment else { return };
    let now = |hash: ContentHash| if hash == before { after } else { hash };
    enrichment.content = enrichment.content.map(now);
    enrichment.given_up = enrichment.given_up.map(|(content, why)| (now(content), why));
    if let Some(call) = &mut enrichment.call {
        call.content = now(call.content);
    }
}

/// Hashes of stored answers changed.
pub(super) fn replace_answer_hashes(state: &mut State, now: impl Fn(ContentHash) -> ContentHash) {
    let Some(enrichment) = &mut state.enrichment else { return };
    if let Some(by) = &mut enrichment.current {
        by.answer = now(by.answer);
    }
    for (_, answer) in &mut enrichment.answers {
        *answer = now(*answer);
    }
}

/// The session goes on: its end will owe the enrichment again; what a person asked for stays owed.
pub(super) fn drop_automatic(state: &mut State) {
    if let Some(enrichment) = &mut state.enrichment {
        enrichment.owed = enrichment.owed.filter(|owed| owed.asked);
    }
}

/// Drops everything but the costs.
pub(super) fn forget(state: &mut State) {
    if let Some(enrichment) = &mut state.enrichment {
        let Enrichment { calls, ref mut costs, ref mut call, .. } = **enrichment;
        **enrichment = Enrichment { calls, costs: std::mem::take(costs), call: call.take(), ..Enrichment::default() };
    }
}
