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

use std::fmt;

use uuid::Uuid;

use super::event::named;
use super::state::{Phase, State};
use super::{CloseReason, Policy, Why};
use baton_conversation::hash::ContentHash;
use baton_conversation::record::Timestamp;

/// The next step where a model was not sent all of a session.
pub const UNSEEN_STEP: &str = "set llm.context_tokens in config.json to what the model really takes at once, then \
                               `baton enrich` it again";

/// Milliseconds of a day.
pub const DAY_MS: i64 = 86_400_000;
/// Most answers that a session keeps while the rest is asked for: those to all parts, and to all steps that join them.
pub const MAX_ANSWERS: usize = 128;
/// Most rows of costs that a session keeps apart, by day and model; what is older is joined to the oldest.
const MAX_COSTS: usize = 400;
/// Calls cut off in a row, by a program that ended, after which a session waits like after any other failure.
pub(super) const LOST_AT_ONCE: u32 = 1;
/// Requests for the same content that an endpoint has rejected in a row, after which the model's part is left out.
pub(super) const REJECTED_MAX: u32 = 3;

named! {
    /// Which of the requests of one session a call makes.
    Ask {
        /// The whole conversation at once.
        Whole = "whole",
        /// A part of a long one.
        Part = "part",
        /// Answers to parts, to be made one: step by step, until it is that to all parts.
        Merge = "merge",
    }
}

impl Ask {
    /// Whether the answer makes the episode; `part` is that of [`ModelCall::part`].
    pub fn is_last(self, part: u32) -> bool {
        match self {
            Self::Whole => true,
            Self::Part => false,
            Self::Merge => part == 0,
        }
    }
}

named! {
    /// How a call of a model ended.
    CallOutcome {
        /// With an answer that can be used.
        Good = "good",
        /// The model declined.
        Refused = "refused",
        /// The answer was cut off at the bound of its length.
        Cut = "cut_off",
        /// The answer is not what was asked for.
        Invalid = "invalid",
        /// Too many requests, or an account that is used up.
        Limited = "rate_limited",
        /// The service failed.
        Unavailable = "unavailable",
        /// No answer in time.
        TimedOut = "timed_out",
        /// The connection broke while an answer was waited for.
        Broken = "connection_lost",
        /// What came is no answer of the API.
        NotUnderstood = "not_understood",
        /// What came is a page for browsers: whoever sent it has asked no model.
        Page = "web_page",
        /// There was no connection: nothing was sent.
        Unreachable = "unreachable",
        /// The key, the model or the address is not accepted.
        Denied = "denied",
        /// The request itself is not accepted.
        Rejected = "rejected",
        /// The program ended before the answer was recorded.
        Lost = "lost",
    }
}

impl CallOutcome {
    /// Whether the model answered, and the answer cannot be used: it is asked once more and told why.
    pub fn is_bad_answer(self) -> bool {
        matches!(self, Self::Refused | Self::Cut | Self::Invalid)
    }

    /// Whether nothing is charged for it, whatever was sent.
    pub fn is_free(self) -> bool {
        matches!(
            self,
            Self::Limited | Self::Unavailable | Self::Page | Self::Unreachable | Self::Denied | Self::Rejected
        )
    }
}

named! {
    /// Why a model's part is left out, until the content changes or a person asks again; or why a wish to ask again ends.
    GaveUp {
        /// The model declined twice.
        Refused = "refused",
        /// Its answer was cut off twice.
        Cut = "cut_off",
        /// Its answer could not be used twice.
        Invalid = "invalid",
        /// The endpoint accepts no request for it.
        Rejected = "rejected",
        /// What was stored of the conversation could not be read.
        Unreadable = "stored_unreadable",
        /// There is nothing in it that a model could be told.
        Empty = "nothing_said",
        /// It is enriched, and asked again a model would be sent no more of it than it was: nothing but a wish ends by it.
        NoMore = "no_more_to_send",
    }
}

impl GaveUp {
    /// What a person may do about it, then to ask again with `baton enrich`.
    pub fn next_step(self) -> &'static str {
        match self {
            Self::Refused => "another model (llm.model) may take it",
            Self::Cut => "set llm.max_output_tokens to more, as far as the model goes",
            Self::Invalid => "take a larger model, or a server that holds answers to a JSON schema (response_format)",
            Self::Rejected => {
                "see what the endpoint says to `baton enrich`; llm.model or llm.context_tokens may be wrong"
            }
            Self::Unreadable => {
                "`baton log verify` tells what is damaged, `baton reindex` stores the conversation anew"
            }
            Self::Empty => "nothing helps: there is nothing in it that session_tracking.filtering lets a model be told",
            Self::NoMore => UNSEEN_STEP,
        }
    }
}

/// Tokens of a call, as the endpoint reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallTokens {
    /// Read by the model, cached ones included.
    pub input: u64,
    /// Written by it.
    pub output: u64,
    /// Those of the input that its cache held.
    pub cached: u64,
}

/// A call as it is recorded before it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelCall {
    /// Which of the session's calls, from 1 over its life.
    pub id: u32,
    /// The model that is asked, as it is configured; at most [`MAX_MODEL_CHARS`] characters.
    pub model: String,
    /// Hash of the content that it is asked about.
    pub content: ContentHash,
    /// Hash of the request: the same request is not made twice once it has a good answer.
    pub request: ContentHash,
    /// Which request of the session's.
    pub ask: Ask,
    /// With [`Ask::Part`] which part, from 1; with [`Ask::Merge`] which step, from 1, or 0 for the last one; else 0.
    pub part: u32,
    /// Into how many parts the conversation is divided; 1 for a whole one.
    pub parts: u32,
    /// Whether it asks once more, after an answer that could not be used.
    pub again: bool,
    /// Estimated tokens of the request.
    pub tokens_in: u64,
    /// Most tokens of the answer.
    pub tokens_out: u64,
    /// What it will cost at most by that estimate, in thousandths of a millionth of a US dollar. 0 where no price is known.
    pub nanos: u64,
    /// When.
    pub at: Timestamp,
}

/// Longest name of a model that is recorded, in characters.
pub const MAX_MODEL_CHARS: usize = 100;

/// The end of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelAnswer {
    /// The call.
    pub id: u32,
    /// How it ended.
    pub outcome: CallOutcome,
    /// Tokens, where they were reported.
    pub tokens: Option<CallTokens>,
    /// What it cost, in thousandths of a millionth of a US dollar; `None` where that is unknown.
    pub nanos: Option<u64>,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// Hash of the answer, checked, as it is stored beside the conversation.
    pub answer: Option<ContentHash>,
    /// When to try again, after a failure that may pass.
    pub retry_at: Option<Timestamp>,
    /// When.
    pub at: Timestamp,
}

/// What a model has made of an episode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnrichedBy {
    /// Hash of the answer, as it is stored beside the conversation.
    pub answer: ContentHash,
    /// The model.
    pub model: String,
    /// Messages, calls and results in the middle of a very long conversation that the model was not sent.
    pub unseen: u64,
    /// Of these, those that no model is ever sent, for there is a bound to what is held of a conversation. 0 also where it was
    /// recorded before they counted.
    pub not_held: u64,
    /// When.
    pub at: Timestamp,
}

impl EnrichedBy {
    /// How much of the conversation the model was not sent because its context is too small for it: with a larger one more of
    /// it is sent.
    pub fn for_want_of_context(&self) -> u64 {
        self.unseen.saturating_sub(self.not_held)
    }
}

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

/// What is to be asked of a model: see [`Effect::Enrich`](super::Effect::Enrich).
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

impl fmt::Display for ModelCall {
    /// As one line names it: `call 3 (part 2 of 5)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "call {}", self.id)?;
        match self.ask {
            Ask::Whole => Ok(()),
            Ask::Part => write!(f, " (part {} of {})", self.part, self.parts),
            Ask::Merge if self.part > 0 => write!(f, " (step {} of merging {} parts)", self.part, self.parts),
            Ask::Merge => write!(f, " (merging {} parts)", self.parts),
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

    pub(super) fn enrichment_mut(&mut self) -> &mut Enrichment {
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
pub(super) fn is_settled(state: &State) -> bool {
    let Some(episode) = &state.episode else { return false };
    episode.tier == super::Tier::Enriched
        || state.enrichment().is_some_and(|enrichment| enrichment.is_settled(&episode.hash))
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
        current.tier = super::Tier::Enriched;
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
    let is_enriched = state.episode.as_ref().is_some_and(|episode| episode.tier == super::Tier::Enriched);
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
