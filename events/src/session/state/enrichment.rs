//! What a model is to make of a session: whether that is owed, what was asked, what came of it and what it cost.
//!
//! Owed is recorded when a session ends while a model is enabled, so a later change of the configuration owes nothing
//! for the past and a restart loses nothing. A call is recorded before it is made and again when it has ended: one that
//! has no end was cut off, and what it cost is unknown. What was answered to the same request is never asked again.
//!
//! # Decisions
//!
//! - Sessions of subagents are owed nothing by a model: their results stand in the parent's conversation.
//!   `baton enrich` of one works.

use uuid::Uuid;

use super::{Phase, State};
use crate::session::Policy;
use crate::session::event::Tier;
use crate::session::model_call::{CallOutcome, EnrichedBy, GaveUp, ModelAnswer, ModelCall};
use crate::session::reason::{CloseReason, Why};
use baton_conversation::hash::ContentHash;
use baton_conversation::record::Timestamp;

/// Milliseconds of a day.
pub const DAY_MS: i64 = 86_400_000;
/// Most answers that a session keeps while the rest is asked for: those to all parts, and to all steps that join them.
pub const MAX_ANSWERS: usize = 128;
/// Most rows of costs that a session keeps apart, by day and model; what is older is joined to the oldest.
const MAX_COSTS: usize = 400;

/// See [`Enrichment::owed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owed {
    /// When it became owed.
    pub at: Timestamp,
    /// Whether a person asked for it: then it waits for no quiet time and no pause after a failure.
    pub asked: bool,
}

/// What is known of a session's enrichment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Enrichment {
    /// Since when it is owed, and by whom.
    pub owed: Option<Owed>,
    /// The content that the following is about; other content begins anew.
    pub content: Option<ContentHash>,
    /// The call that has begun and not ended.
    pub call: Option<ModelCall>,
    /// Good answers to parts, and to steps that join some, each with its request.
    pub answers: Vec<(ContentHash, ContentHash)>,
    /// Why the last answer could not be used, if it is to be asked for once more.
    pub complaint: Option<CallOutcome>,
    /// Failures in a row, and how the last call ended.
    pub failures: u32,
    /// How the last call that failed ended.
    pub failed: Option<CallOutcome>,
    /// When the next call may be made, after a failure.
    pub retry_at: Option<Timestamp>,
    /// Content for which it was given up, and why. Of an enriched one: why asking again came to nothing; its episode stays.
    pub given_up: Option<(ContentHash, GaveUp)>,
    /// What serves now, if the episode is enriched.
    pub current: Option<EnrichedBy>,
    /// Calls begun over the session's life.
    pub calls: u32,
    /// What they took, by day and model.
    pub costs: Vec<Cost>,
}

/// What calls of one day took of one model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The day on which they began, in days since 1970 (UTC).
    pub day: i64,
    /// The model.
    pub model: String,
    /// How many have ended.
    pub calls: u64,
    /// Those of them of which it is not known what they cost.
    pub unknown: u64,
    /// Tokens read, as reported.
    pub tokens_in: u64,
    /// Tokens written, as reported.
    pub tokens_out: u64,
    /// Tokens read from a cache, as reported; part of those read.
    pub tokens_cached: u64,
    /// What is known to be spent, in thousandths of a millionth of a US dollar.
    pub nanos: u64,
    /// What the unknown ones are taken to have cost at most, by their estimates.
    pub unknown_nanos: u64,
}

/// What is to be asked of a model: see [`Effect::Enrich`](crate::session::Effect::Enrich).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnrichJob {
    /// The episode that it is for.
    pub episode: Uuid,
    /// Hash of its content; comes back in each call.
    pub content: ContentHash,
    /// Manifest that lists the conversation's chunks.
    pub manifest: ContentHash,
    /// Not before this moment.
    pub due: Timestamp,
    /// The same without the pause after a failure.
    pub quiet: Timestamp,
    /// Whether a person waits for it.
    pub asked: bool,
    /// Whether the session was closed by somebody who said so.
    pub explicit: bool,
    /// Why the last answer could not be used, if it is to be asked for once more.
    pub again: Option<CallOutcome>,
}

impl Enrichment {
    /// The stored answer to a request that was made before.
    pub fn answer_to(&self, request: &ContentHash) -> Option<&ContentHash> {
        self.answers.iter().find(|(known, _)| known == request).map(|(_, answer)| answer)
    }

    /// What the session has spent in thousandths of a millionth of a US dollar; what is unknown or still runs counts as
    /// estimated.
    pub fn spent_nanos(&self) -> u64 {
        let ended = self.costs.iter().map(|cost| cost.nanos.saturating_add(cost.unknown_nanos));
        let running = self.call.iter().map(|call| call.nanos);
        ended.chain(running).fold(0, u64::saturating_add)
    }

    /// Whether what is there of the content is all there will be, unless somebody asks.
    fn is_settled(&self, content: &ContentHash) -> bool {
        self.given_up.is_some_and(|(given_up, _)| given_up == *content)
    }

    fn begin(&mut self, content: ContentHash) {
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

    fn book(&mut self, call: &ModelCall, answer: &ModelAnswer) {
        let day = call.at.0.div_euclid(DAY_MS);
        let known = self.costs.iter().position(|cost| cost.day == day && cost.model == call.model);
        let is_full = self.costs.len() >= MAX_COSTS;
        let at = known.or_else(|| is_full.then_some(0)).unwrap_or_else(|| {
            self.costs.push(Cost::of(day, &call.model));
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
    /// Nothing yet.
    pub fn of(day: i64, model: &str) -> Self {
        Self {
            day,
            model: model.to_owned(),
            calls: 0,
            unknown: 0,
            tokens_in: 0,
            tokens_out: 0,
            tokens_cached: 0,
            nanos: 0,
            unknown_nanos: 0,
        }
    }
}

impl State {
    /// What is known of its enrichment, if there ever was any.
    pub fn enrichment(&self) -> Option<&Enrichment> {
        self.enrichment.as_deref()
    }

    /// The stored answer that the current episode is made of, beside its conversation; none for an extractive one.
    pub fn enriched_by(&self) -> Option<&EnrichedBy> {
        self.enrichment.as_ref().and_then(|enrichment| enrichment.current.as_ref())
    }

    fn enrichment_mut(&mut self) -> &mut Enrichment {
        self.enrichment.get_or_insert_with(Box::default)
    }
}

/// What is to be asked of a model, if anything, and from when on. Not while the conversation is being indexed, nor while
/// there is more of it than the episode says, unless somebody asked for what there is.
pub(crate) fn enrich_job(state: &State, policy: &Policy) -> Option<EnrichJob> {
    let (enrichment, episode) = (state.enrichment()?, state.episode.as_ref()?);
    let owed = enrichment.owed?;
    let rests = match state.phase {
        Phase::Indexed => state.unindexed == 0 || owed.asked,
        Phase::Unindexed(Why::Gone | Why::TimeoutDisabled) => true,
        Phase::Active | Phase::Inactive | Phase::Failed => owed.asked,
        Phase::New | Phase::Indexing | Phase::Unindexed(Why::Empty | Why::Untracked) | Phase::Forgotten => false,
    };
    if !rests || state.deleted == Some(episode.uuid) {
        return None;
    }
    // An agent that closed its own session may still wait for a tool; what others ended waits for none.
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

/// Whether a model has said of the current content all that it will, unless somebody asks.
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

pub(super) fn called(state: &mut State, call: &ModelCall) {
    let enrichment = state.enrichment_mut();
    enrichment.begin(call.content);
    enrichment.calls = enrichment.calls.max(call.id);
    enrichment.call = Some(call.clone());
}

pub(super) fn answered(state: &mut State, answer: &ModelAnswer) {
    let enrichment = state.enrichment_mut();
    let Some(call) = enrichment.call.take_if(|call| call.id == answer.id) else { return };
    enrichment.book(&call, answer);
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
                // The oldest are of a division that holds no more.
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
            // Who asked has his answer; the next attempt waits like every other. A call that was cut off once is made at once.
            let waits = outcome != CallOutcome::Lost || answer.retry_at.is_some();
            if let Some(owed) = enrichment.owed.as_mut().filter(|_| waits) {
                owed.asked = false;
            }
        }
    }
}

pub(super) fn enriched(state: &mut State, episode: Uuid, by: EnrichedBy) {
    if let Some(current) = state.episode.as_mut().filter(|current| current.uuid == episode) {
        current.tier = Tier::Enriched;
        let enrichment = state.enrichment_mut();
        enrichment.current = Some(by);
        enrichment.given_up = None;
        enrichment.finish();
    }
}

pub(super) fn given_up(state: &mut State, content: ContentHash, why: GaveUp) {
    let enrichment = state.enrichment_mut();
    enrichment.finish();
    // What a model has made is there, and nothing has failed.
    if why != GaveUp::NoMore {
        enrichment.given_up = Some((content, why));
    }
}

/// An index has ended: what was made of other content serves no more, and what is all there of this is owed no more.
pub(super) fn indexed(state: &mut State) {
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
        let has_seen_all = enrichment.current.as_ref().is_none_or(|by| by.for_want_of_context() == 0);
        enrichment.owed = enrichment.owed.filter(|owed| owed.asked && !(is_enriched && has_seen_all));
    }
}

/// The content is the same, and has another hash.
pub(super) fn rehashed(state: &mut State, before: ContentHash, after: ContentHash) {
    let Some(enrichment) = &mut state.enrichment else { return };
    let now = |hash: ContentHash| if hash == before { after } else { hash };
    enrichment.content = enrichment.content.map(now);
    enrichment.given_up = enrichment.given_up.map(|(content, why)| (now(content), why));
    if let Some(call) = &mut enrichment.call {
        call.content = now(call.content);
    }
}

/// Stored answers have other names.
pub(super) fn renamed(state: &mut State, now: impl Fn(ContentHash) -> ContentHash) {
    let Some(enrichment) = &mut state.enrichment else { return };
    if let Some(by) = &mut enrichment.current {
        by.answer = now(by.answer);
    }
    for (_, answer) in &mut enrichment.answers {
        *answer = now(*answer);
    }
}

/// The session goes on: what its end owed is owed again when it ends again, what a person asked for stays owed.
pub(super) fn resumed(state: &mut State) {
    if let Some(enrichment) = &mut state.enrichment {
        enrichment.owed = enrichment.owed.filter(|owed| owed.asked);
    }
}

/// Everything goes but what was spent.
pub(super) fn forgotten(state: &mut State) {
    if let Some(enrichment) = &mut state.enrichment {
        let Enrichment { calls, ref mut costs, ref mut call, .. } = **enrichment;
        **enrichment = Enrichment { calls, costs: std::mem::take(costs), call: call.take(), ..Enrichment::default() };
    }
}
