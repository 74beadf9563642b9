//! Why an event happened, derived from the state before it and the current timeouts.
//!
//! # Hazards
//!
//! - Reasons and deadlines follow the default timeouts in a replay and the configured ones in `explain`; neither knows
//!   the configuration at the time of recording.

use super::owed::{format_duration, silence_start};
use crate::session::{
    CallOutcome, CloseReason, Event, FailureReason, GaveUp, ModelAnswer, Phase, Policy, Signal, SignalKind, State,
    UnindexedReason,
};

/// Why a stored conversation is rebuilt without a new message.
const REINDEX: &str = "stored data is rebuilt: by `baton reindex`, or after an upgrade";

/// The reason in a sentence; `None` if the event itself names it.
pub(super) fn explain(before: &State, event: &Event, policy: &Policy) -> Option<String> {
    Some(match event {
        Event::RecordsAppended { counts, late_index_at, .. } => match (late_index_at, counts.conversation) {
            (Some(_), _) => {
                format!(
                    "dated before the end plus {}, or a session's last words after its own close",
                    format_duration(policy.late_grace_ms)
                )
            }
            (None, 0) => "the file has grown, but there is no message to index".to_owned(),
            (None, _) => "the file has grown".to_owned(),
        },
        Event::Resumed => why_resumed(before),
        Event::WentIdle => {
            format!(
                "{} without a record after {}",
                format_duration(policy.check_interval_ms),
                silence_start(before, policy)
            )
        }
        Event::CloseRequested { reason, .. } => why_closed(before, *reason, policy),
        Event::IndexingStarted { effect, reason, .. } => why_started(before, *reason, effect.generation),
        Event::Indexed { episode, .. } => match &before.episode {
            _ if before.job.is_some_and(|job| job.resumed) => {
                "stored, but there are new messages: it stays open".to_owned()
            }
            Some(old) if old.uuid == episode.uuid => "stored again: the content is the same".to_owned(),
            Some(old) => format!("replaces episode {}: the content has changed", old.uuid),
            None => "its first episode".to_owned(),
        },
        Event::IndexSkipped { effect: Some(_), .. } => {
            "the filtered content has the hash of the current episode".to_owned()
        }
        Event::IndexSkipped { effect: None, .. } => "nothing was said since the last index".to_owned(),
        Event::IndexingFailed { why, attempts, .. } => failed(*why, *attempts, policy),
        Event::Abandoned { why } => abandoned(before, *why, policy),
        Event::Signalled { signal } => after_signal(before, signal),
        Event::EnrichmentOwed { asked: true, .. } => "a person asked for it: `baton enrich`".to_owned(),
        Event::EnrichmentOwed { asked: false, .. } => match before.end {
            Some(_) if before.enriched_by().is_some() => "its content has changed since a model enriched it".to_owned(),
            _ => "it has ended while a model is enabled (llm.enabled)".to_owned(),
        },
        Event::ModelCalled { call } if call.again => {
            let complaint = before.enrichment().and_then(|known| known.complaint);
            let complaint = complaint.map_or_else(String::new, |complaint| format!(": {complaint}"));
            format!("the answer before could not be used{complaint}")
        }
        Event::ModelCalled { .. }
            if before.enrichment().and_then(|known| known.owed).is_some_and(|owed| owed.asked) =>
        {
            "a person waits for it, and the budgets allow it".to_owned()
        }
        Event::ModelCalled { .. } => "it has been quiet for long enough, and the budgets allow it".to_owned(),
        Event::ModelAnswered { answer } => after_call(before, answer),
        Event::EnrichmentGivenUp { why, .. } => match before.enriched_by().filter(|_| *why != GaveUp::NoMore) {
            Some(_) => format!("{}; what a model added before stays", given_up(*why)),
            None => given_up(*why).to_owned(),
        },
        _ => return event.usual_reason().map(str::to_owned),
    })
}

/// What followed from the end of a call, for the call and its session.
fn after_call(before: &State, answer: &ModelAnswer) -> String {
    let call = before.enrichment().and_then(|known| known.call.as_ref()).filter(|call| call.id == answer.id);
    let changed = call.is_some_and(|call| before.episode.as_ref().is_none_or(|episode| episode.hash != call.content));
    let text = match answer.outcome {
        CallOutcome::Good => "the answer could be used",
        outcome if outcome.is_bad_answer() && call.is_some_and(|call| call.again) => "nor could this answer be used",
        outcome if outcome.is_bad_answer() => "the answer could not be used; it is asked for once more",
        CallOutcome::Lost => "the program ended before the answer was recorded; what it cost is not known",
        CallOutcome::Denied => "the endpoint refuses the key, the model or the address; `baton doctor` says more",
        CallOutcome::NotUnderstood => {
            "the answer is not from an OpenAI-compatible API: llm.base_url may be wrong; it is tried again"
        }
        CallOutcome::Page => {
            "what came is a page for browsers, so no model was asked: the network may want a login, or llm.base_url is wrong; \
             it is tried again"
        }
        CallOutcome::Rejected => "the endpoint does not accept the request",
        _ => "the endpoint gave no answer; the session stays as it is and is tried again",
    };
    match changed {
        true => format!("{text}; the content has changed meanwhile"),
        false => text.to_owned(),
    }
}

fn given_up(why: GaveUp) -> &'static str {
    match why {
        GaveUp::Refused => "the model declined twice; `baton enrich` asks again",
        GaveUp::Cut => {
            "the answer was cut off twice: llm.max_output_tokens is too small for it; `baton enrich` asks again"
        }
        GaveUp::Invalid => "the answer could not be used twice; `baton enrich` asks again",
        GaveUp::Rejected => {
            "the endpoint has rejected the request again and again: llm.context_tokens may be more than the model takes; \
             `baton enrich` asks again"
        }
        GaveUp::Empty => "nothing in it may be sent to a model",
        GaveUp::NoMore => "with the current settings the model would receive no more than before",
        GaveUp::Unreadable => "the stored conversation could not be read; `baton log verify` says more",
    }
}

/// What follows from a signal, and why nothing more does. An end that it caused was recorded just before it.
fn after_signal(before: &State, signal: &Signal) -> String {
    let signals = &before.signals;
    match (signal.kind, signal.end(), before.end) {
        (_, Some(reason), Some(end)) if (end.reason, end.at) == (reason, signal.at) => {
            "this ends the session; unread lines are read, then it is indexed".to_owned()
        }
        (_, Some(_), Some(end)) => {
            format!("already ended ({} at {}); anything not yet indexed is indexed", end.reason, end.at)
        }
        (_, Some(_), None) => match signals.started_at.filter(|began| *began > signal.at) {
            Some(began) => format!("stale: the session was started again at {began}, so this does not end it"),
            None => "stale: there are messages after it, so it does not end the session".to_owned(),
        },
        (SignalKind::PreCompact | SignalKind::PostCompact, ..) => match signals.close_owed {
            Some(reason) => format!("the session goes on; a close is due already: {reason}"),
            None => "the session goes on; what is there is indexed".to_owned(),
        },
        (SignalKind::McpDisconnect, _, Some(end)) => {
            format!("a hint; already ended ({} at {})", end.reason, end.at)
        }
        (SignalKind::McpDisconnect, ..) => {
            let last = signals.started_at.max(signals.active_at).max(before.last_conversation_at);
            match last.filter(|last| *last > signal.at) {
                Some(last) => format!("a hint older than the session's last activity at {last}: ignored"),
                None => "a hint: the session ends unless there is new activity".to_owned(),
            }
        }
        _ => match (signals.disconnected_at.filter(|closed| *closed <= signal.at), signal.kind, before.end) {
            (Some(_), ..) => "it is in use, although its MCP connection closed".to_owned(),
            (None, SignalKind::SessionStart, Some(_)) => "reopened; it continues with the next message".to_owned(),
            (None, SignalKind::SessionStart, None) => "the agent works in it".to_owned(),
            (None, ..) => "it is in use".to_owned(),
        },
    }
}

fn why_resumed(before: &State) -> String {
    match (before.end, before.phase) {
        (Some(end), _) if before.signals.active_at > Some(end.at) => {
            format!("it was used after it had ended ({} at {})", end.reason, end.at)
        }
        (Some(end), _) => format!("it had ended ({} at {}), and this record is new, not late", end.reason, end.at),
        (None, Phase::Indexing) => "the running job does not cover the new messages".to_owned(),
        (None, Phase::Unindexed(why)) => format!("it was given up ({why}), and there are new messages"),
        (None, _) => "its episode is out of date".to_owned(),
    }
}

fn why_closed(before: &State, reason: CloseReason, policy: &Policy) -> String {
    let asked = match reason {
        CloseReason::Explicit => "a person or an agent asked: `baton close` or `session_tracking_close`".to_owned(),
        CloseReason::HookClear => "the agent's hook said that the conversation was cleared".to_owned(),
        CloseReason::HookCompact => "the agent's hook said that the conversation is compacted; it goes on".to_owned(),
        CloseReason::HookLogout => "the agent's hook said that the person logged out".to_owned(),
        CloseReason::HookPromptInputExit => "the agent's hook or its transcript said that the person left".to_owned(),
        CloseReason::HookResume => "the agent's hook said that another session was resumed in its place".to_owned(),
        CloseReason::HookOther => "the agent's hook said that it ended".to_owned(),
        CloseReason::McpDisconnect => "the agent's MCP connection closed, and nothing came after it".to_owned(),
        CloseReason::InactivityTimeout => format!(
            "{} (session_tracking.inactivity_timeout) without a record after {}",
            format_duration(policy.inactivity_timeout_ms),
            silence_start(before, policy)
        ),
        CloseReason::LazyQuery => "a search, or the first reading of history, needs it indexed".to_owned(),
        CloseReason::Sync => "a person asked for a range of history: `baton sync`".to_owned(),
        CloseReason::Reindex => REINDEX.to_owned(),
    };
    match before.job {
        Some(job) if before.unindexed > job.covers => format!("{asked}; served after the running job"),
        Some(_) => format!("{asked}; the running job covers all"),
        None => asked,
    }
}

fn why_started(before: &State, reason: CloseReason, generation: u32) -> String {
    let records = before.unindexed;
    let text = match &before.episode {
        _ if reason == CloseReason::Reindex => REINDEX.to_owned(),
        None if records > 0 => format!("it has no episode yet (records: {records})"),
        None => "the job finds out whether there is anything to index".to_owned(),
        Some(_) if records > 0 => format!("its episode lacks later messages (records: {records})"),
        Some(episode) if episode.generation != generation => "the file was rewritten since the last episode".to_owned(),
        Some(_) => "asked for again, the filter has changed, or the file could not be read to its end".to_owned(),
    };
    match (before.failure, before.late_index_at) {
        (Some(failure), _) => format!("{text}; attempt {} after failures in a row", failure.attempts + 1),
        (None, Some(_)) => format!("{text}; they came late and belong to the end"),
        (None, None) => text,
    }
}

fn failed(why: FailureReason, attempts: u32, policy: &Policy) -> String {
    let text = match why {
        FailureReason::Unreadable => "the transcript could not be opened or read",
        FailureReason::Gone => return "the transcript no longer exists".to_owned(),
        FailureReason::Rewritten => "the transcript no longer continues what was read",
        FailureReason::NotStored => "the conversation could not be stored: is the disk full?",
        FailureReason::StoredUnreadable => "the stored conversation could not be read back",
        FailureReason::Broken => "the job broke: a bug; daemon.log says more",
    };
    let wait = policy.retry_base_ms.saturating_mul(1 << attempts.saturating_sub(1).min(20)).min(policy.retry_cap_ms);
    format!("{text}; tried again after {} and up to a quarter more", format_duration(wait))
}

fn abandoned(before: &State, why: UnindexedReason, policy: &Policy) -> String {
    let serves = if before.episode.is_some() { "; its last episode stays in use" } else { "" };
    match why {
        UnindexedReason::Empty => {
            let counts = &before.counts;
            let lines = match counts.malformed + counts.oversize {
                0 => String::new(),
                lines => format!(", lines that are not readable: {lines}"),
            };
            format!("nothing was said in it; records: {}{lines}{serves}", counts.records)
        }
        UnindexedReason::Gone => format!("its transcript vanished before all of it was indexed{serves}"),
        UnindexedReason::TimeoutDisabled => format!(
            "{} without a record after {}, and session_tracking.inactivity_timeout is 0: it waits for a query{serves}",
            format_duration(policy.abandoned_after_ms),
            silence_start(before, policy)
        ),
        UnindexedReason::Untracked => format!("its tracking was stopped{serves}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{End, SignalDetail};
    use baton_conversation::record::Timestamp;

    #[test]
    fn each_signal_is_told_with_what_comes_of_it() {
        use SignalKind::{McpDisconnect, PostCompact, PreCompact, SessionEnd, SessionStart, Stop};
        let ended =
            |reason, at| State { end: Some(End { reason, at: Timestamp(at), by_self: false }), ..State::default() };
        let with = |change: fn(&mut State)| {
            let mut state = State::default();
            change(&mut state);
            state
        };
        let fresh = State::default;
        let began = || with(|state| state.signals.started_at = Some(Timestamp(9_000)));
        let owes = || with(|state| state.signals.close_owed = Some(CloseReason::HookClear));
        let left = || with(|state| state.signals.disconnected_at = Some(Timestamp(4_000)));
        for (before, kind, expected) in [
            (ended(CloseReason::HookClear, 5_000), SessionEnd, "this ends the session"),
            (ended(CloseReason::Explicit, 4_000), SessionEnd, "already ended (explicit at 1970-01-01T00:00:04"),
            (fresh(), SessionEnd, "stale: there are messages after it"),
            (began(), SessionEnd, "stale: the session was started again at 1970-01-01T00:00:09"),
            (fresh(), PreCompact, "the session goes on; what is there is indexed"),
            (owes(), PostCompact, "the session goes on; a close is due already: hook_clear"),
            (fresh(), McpDisconnect, "a hint: the session ends unless there is new activity"),
            (began(), McpDisconnect, "a hint older than the session's last activity at 1970-01-01T00:00:09"),
            (ended(CloseReason::Explicit, 4_000), McpDisconnect, "a hint; already ended"),
            (left(), Stop, "it is in use, although its MCP connection closed"),
            (ended(CloseReason::Explicit, 4_000), SessionStart, "reopened"),
            (fresh(), SessionStart, "the agent works in it"),
            (fresh(), Stop, "it is in use"),
        ] {
            let signal = Signal { kind, detail: Some(SignalDetail::Clear), at: Timestamp(5_000), follows: None };
            let text = explain(&before, &Event::Signalled { signal }, &Policy::default()).unwrap_or_default();
            assert!(text.starts_with(expected), "{kind}: {text:?} is not {expected:?}");
        }
    }
}
