//! Rules of enrichment: when it is owed, and what follows from each call of a model.

use crate::session::command::{CallEnd, CallModel, TakeAnswer};
use crate::session::state::enrichment::is_settled;
use crate::session::{
    CallOutcome, CloseReason, Enrichment, Event, GaveUp, MAX_MODEL_CHARS, ModelAnswer, ModelCall, Policy, Rejection,
    State, Tier, timeout_deadline,
};
use baton_conversation::hash::ContentHash;
use baton_conversation::record::{SessionId, Timestamp};

/// Calls in a row that were cut off by the end of the program and are repeated at once; later ones wait like other
/// failures.
const LOST_AT_ONCE: u32 = 1;
/// Rejected requests for the same content in a row, after which enrichment is given up.
const REJECTED_MAX: u32 = 3;

/// An enrichment is owed by a close that ends the session, if a model was enabled when the session was over. An
/// abandoned session was over at its timeout, not when that was noticed. A subagent's work is in its parent's
/// conversation.
pub(super) fn owed_by_close(state: &State, reason: CloseReason, policy: &Policy, now: Timestamp) -> Option<Event> {
    let since = policy.model_since?;
    let over_at = match reason {
        CloseReason::InactivityTimeout => timeout_deadline(state, policy).unwrap_or(now),
        CloseReason::Explicit | CloseReason::McpDisconnect => now,
        _ => state.end.map_or(now, |end| end.at),
    };
    let is_owed = state.enrichment().is_some_and(|enrichment| enrichment.owed.is_some());
    let is_done = state.unindexed == 0 && is_settled(state);
    let owes = reason.ends_session() && over_at >= since && !state.is_subagent() && !is_owed && !is_done;
    owes.then_some(Event::EnrichmentOwed { at: now, asked: false })
}

/// An enrichment is owed by an index job after the end that replaced settled content: the final messages came late.
pub(super) fn owed_by_index(before: &State, after: &State, policy: &Policy, now: Timestamp) -> Option<Event> {
    let (since, end) = (policy.model_since?, after.end?);
    let is_owed = after.enrichment().is_some_and(|enrichment| enrichment.owed.is_some());
    let owes = end.at >= since && is_settled(before) && !is_settled(after) && !is_owed && !after.is_subagent();
    owes.then_some(Event::EnrichmentOwed { at: now, asked: false })
}

/// At a person's request. An enriched episode is enriched again only if a model may be sent more of it.
pub(super) fn decide_enrich(state: &State, now: Timestamp) -> Result<Vec<Event>, Rejection> {
    let episode = state.episode.as_ref().ok_or(Rejection::NoSuchContent)?;
    let is_asked = state.enrichment().and_then(|enrichment| enrichment.owed).is_some_and(|owed| owed.asked);
    let has_seen_all = state.enriched_by().is_none_or(|by| by.beyond_context() == 0);
    Ok(match (episode.tier == Tier::Enriched && has_seen_all) || is_asked {
        true => Vec::new(),
        false => vec![Event::EnrichmentOwed { at: now, asked: true }],
    })
}

pub(super) fn decide_call(state: &State, call: &CallModel, now: Timestamp) -> Result<Vec<Event>, Rejection> {
    let enrichment = state.enrichment().filter(|enrichment| enrichment.owed.is_some());
    let (Some(enrichment), true) = (enrichment, is_current_content(state, &call.content)) else {
        return Err(Rejection::NoSuchContent);
    };
    if enrichment.call.is_some() {
        return Err(Rejection::CallRunning);
    }
    let again = enrichment.complaint.is_some() && enrichment.content == Some(call.content);
    Ok(vec![Event::ModelCalled {
        call: ModelCall {
            id: enrichment.calls.saturating_add(1),
            model: call.model.chars().take(MAX_MODEL_CHARS).collect(),
            content: call.content,
            request: call.request,
            ask: call.ask,
            part: call.part,
            parts: call.parts,
            again,
            tokens_in: call.tokens_in,
            tokens_out: call.tokens_out,
            nanos: call.nanos,
            at: now,
        },
    }])
}

pub(super) fn decide_answer(
    id: &SessionId,
    state: &State,
    taken: &TakeAnswer,
    policy: &Policy,
    now: Timestamp,
) -> Result<Vec<Event>, Rejection> {
    let Some((enrichment, call)) = running_call(state).filter(|(_, call)| call.id == taken.id) else {
        return Err(Rejection::UnknownCall);
    };
    // An answer for outdated content only has a cost.
    let is_current = is_current_content(state, &call.content);
    let (outcome, stored, waits_ms) = match &taken.end {
        CallEnd::Good { answer, .. } => (CallOutcome::Good, Some(*answer), None),
        CallEnd::Failed { outcome, retry_after_ms } => (*outcome, None, *retry_after_ms),
    };
    let fails = outcome != CallOutcome::Good && !outcome.is_bad_answer();
    let waits = || policy.backoff_ms(id, enrichment.failures.saturating_add(1)).max(waits_ms.unwrap_or(0));
    let mut events = vec![Event::ModelAnswered {
        answer: ModelAnswer {
            id: taken.id,
            outcome,
            tokens: taken.tokens,
            nanos: taken.nanos.or((outcome.is_free() && taken.tokens.is_none()).then_some(0)),
            duration_ms: taken.duration_ms,
            answer: stored,
            retry_at: fails.then(|| now.plus_ms(waits())),
            at: now,
        },
    }];
    if let (true, Some(episode)) = (is_current, &state.episode) {
        match &taken.end {
            CallEnd::Good { answer, facts, dropped, unseen, not_held } if call.ask.is_last(call.part) => {
                let (answer, model) = (*answer, call.model.clone());
                let (facts, dropped, unseen, not_held) = (*facts, *dropped, *unseen, *not_held);
                let episode = episode.uuid;
                events.push(Event::Enriched { episode, answer, model, facts, dropped, unseen, not_held, at: now });
            }
            CallEnd::Good { .. } => {}
            CallEnd::Failed { outcome, .. } => {
                let why = gives_up(enrichment, call, *outcome);
                events.extend(why.map(|why| Event::EnrichmentGivenUp { content: call.content, why }));
            }
        }
    }
    Ok(events)
}

/// The reason to give up, if there is no further attempt.
fn gives_up(enrichment: &Enrichment, call: &ModelCall, outcome: CallOutcome) -> Option<GaveUp> {
    let rejected = enrichment.failed == Some(CallOutcome::Rejected) && enrichment.failures + 1 >= REJECTED_MAX;
    match outcome {
        CallOutcome::Refused if call.again => Some(GaveUp::Refused),
        CallOutcome::Cut if call.again => Some(GaveUp::Cut),
        CallOutcome::Invalid if call.again => Some(GaveUp::Invalid),
        CallOutcome::Rejected if rejected => Some(GaveUp::Rejected),
        _ => None,
    }
}

/// The first call cut off by a killed program is repeated at once; further ones wait.
pub(super) fn decide_lost_call(
    id: &SessionId,
    state: &State,
    lost: u32,
    policy: &Policy,
    now: Timestamp,
) -> Vec<Event> {
    let Some((enrichment, call)) = running_call(state).filter(|(_, call)| call.id == lost) else { return Vec::new() };
    let failures = enrichment.failures.saturating_add(1);
    let waits = failures > LOST_AT_ONCE;
    vec![Event::ModelAnswered {
        answer: ModelAnswer {
            id: call.id,
            outcome: CallOutcome::Lost,
            tokens: None,
            nanos: None,
            duration_ms: 0,
            answer: None,
            retry_at: waits.then(|| now.plus_ms(policy.backoff_ms(id, failures))),
            at: now,
        },
    }]
}

pub(super) fn decide_give_up(state: &State, content: ContentHash, why: GaveUp) -> Vec<Event> {
    let owed = state.enrichment().is_some_and(|enrichment| enrichment.owed.is_some());
    match owed && is_current_content(state, &content) {
        true => vec![Event::EnrichmentGivenUp { content, why }],
        false => Vec::new(),
    }
}

fn running_call(state: &State) -> Option<(&Enrichment, &ModelCall)> {
    let enrichment = state.enrichment()?;
    Some((enrichment, enrichment.call.as_ref()?))
}

fn is_current_content(state: &State, content: &ContentHash) -> bool {
    state.episode.as_ref().is_some_and(|episode| episode.hash == *content)
}
