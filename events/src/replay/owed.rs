//! A session's outstanding work in words: its jobs, and each deadline with the record from which it is counted.

use crate::session::{
    Phase, Policy, State, disconnect_deadline, enrich_job, idle_deadline, last_sign, late_deadline, owed_close,
    timeout_deadline,
};
use baton_protocol::answer::Owed;

/// All of [`pending`](crate::session::pending), with every deadline behind its single wake-up.
pub fn owed(state: &State, policy: &Policy) -> Vec<Owed> {
    let mut all = Vec::new();
    if !policy.tracked {
        return all;
    }
    let mut owe = |what: &str, at: Option<baton_conversation::record::Timestamp>, why: String| {
        all.push(Owed { what: what.to_owned(), at: at.map(|at| at.to_string()), why });
    };
    if let (Phase::Indexing, Some(job), Some(_)) = (state.phase, &state.job, &state.transcript) {
        owe("index", None, format!("job {} to byte {}, asked for by {}", job.effect, job.to, job.reason));
    }
    if let Some(reason) = owed_close(state) {
        owe("close", None, format!("a hook said that it is due: {reason}"));
    }
    if let Some(at) = idle_deadline(state, policy) {
        owe(
            "inactive",
            Some(at),
            format!("{} after {}", format_duration(policy.check_interval_ms), silence_start(state, policy)),
        );
    }
    if let Some(at) = timeout_deadline(state, policy) {
        let (what, after_ms) = match policy.timeout_disabled() {
            _ if state.phase == Phase::New && state.end.is_some() => ("let go", policy.check_interval_ms),
            true => ("let go", policy.abandoned_after_ms),
            false => ("close", policy.inactivity_timeout_ms),
        };
        owe(what, Some(at), format!("{} after {}", format_duration(after_ms), silence_start(state, policy)));
    }
    if let (Some(at), Some(closed)) = (disconnect_deadline(state, policy), state.signals.disconnected_at) {
        let after = format_duration(policy.disconnect_grace_ms);
        owe("close", Some(at), format!("{after} after its last MCP connection closed, at {closed}"));
    }
    if let (Phase::Failed, Some(failure)) = (state.phase, &state.failure) {
        owe("retry", Some(failure.retry_at), format!("{}, failures in a row: {}", failure.why, failure.attempts));
    }
    if let Some(at) = late_deadline(state) {
        owe("index late records", Some(at), "records that belong to the end came after it".to_owned());
    }
    if let Some(job) = enrich_job(state, policy) {
        let known = state.enrichment();
        let why = match (known.and_then(|known| known.failed), job.asked) {
            (Some(failed), _) => format!("the last call of a model ended: {failed}"),
            (None, true) => "a person asked for it".to_owned(),
            (None, false) => format!("{} of quiet after its end", format_duration(policy.check_interval_ms)),
        };
        owe("enrich", Some(job.due), why);
    }
    all
}

/// Where silence is counted from, and why.
pub(super) fn silence_start(state: &State, policy: &Policy) -> String {
    if state.transcript.is_none() {
        return format!("the last report of a hook, at {}; no transcript was seen", last_sign(state, policy));
    }
    let since = match (state.last_conversation_at, state.last_at) {
        (Some(at), _) => format!("its last message, at {at}"),
        (None, Some(at)) => format!("its last record, at {at}"),
        (None, None) => format!("its discovery, at {}", state.discovered_at),
    };
    let sign = last_sign(state, policy);
    match state.read.calls_in_flight() {
        0 if sign > state.last_activity() && state.signals.active_at == Some(sign) => {
            format!("its last activity by a hook, at {sign}")
        }
        0 if sign > state.last_activity() => {
            format!("{since}, and {} more for hooks without a record", format_duration(policy.tool_call_bound_ms))
        }
        calls @ 1.. if state.end.is_none() => {
            let bound = format_duration(policy.tool_call_bound_ms);
            format!("{since}, and {bound} more for tool calls without an answer ({calls})")
        }
        _ => since,
    }
}

/// A duration in its largest whole unit: `90 s`, `30 min`, `6 h`.
pub(super) fn format_duration(ms: i64) -> String {
    match ms {
        ms if ms % 1000 != 0 => format!("{ms} ms"),
        ms if ms == 0 || ms % 60_000 != 0 => format!("{} s", ms / 1000),
        ms if ms % 3_600_000 != 0 => format!("{} min", ms / 60_000),
        ms => format!("{} h", ms / 3_600_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{
        CallOutcome, CloseReason, EffectId, End, Enrichment, EpisodeRef, Failure, FailureReason, FileIdentity, Job,
        Kind, Owed, Tier, Transcript, UnindexedReason, pending, wake_at,
    };
    use baton_conversation::hash::{ContentHash, Mark};
    use baton_conversation::item::Agent;
    use baton_conversation::record::Timestamp;

    fn state(phase: Phase) -> State {
        let transcript = Transcript {
            agent: Agent::ClaudeCode,
            path: "/t".to_owned(),
            identity: FileIdentity::default(),
            kind: Kind::Main,
        };
        State { phase, transcript: Some(transcript), last_conversation_at: Some(Timestamp(0)), ..State::default() }
    }

    /// Checks that the report matches what is owed: the same number of jobs, and the earliest time is the shell's
    /// wake-up.
    fn check(state: &State, policy: &Policy, expected: &[&str]) {
        let all = owed(state, policy);
        let described: Vec<String> = all
            .iter()
            .map(|owed| format!("{} {}: {}", owed.what, owed.at.as_deref().unwrap_or("now"), owed.why))
            .collect();
        assert_eq!(described, expected);
        // Models are asked by the part that keeps the budgets, not when the session is woken.
        let first = all.iter().filter(|owed| owed.what != "enrich");
        let first = first.filter_map(|owed| Timestamp::parse(owed.at.as_deref()?)).min();
        assert_eq!(first, wake_at(state, policy), "{described:?}");
        let jobs =
            pending(state, policy).iter().filter(|effect| !matches!(effect, crate::session::Effect::Wake(_))).count();
        let jobs_told = all.iter().filter(|owed| owed.at.is_none() || owed.what == "enrich").count();
        assert_eq!(jobs_told, jobs, "{described:?}");
    }

    #[test]
    fn every_debt_is_told_with_its_time_and_where_that_comes_from() {
        let policy = Policy::default();
        let disabled = Policy { inactivity_timeout_ms: 0, ..Policy::default() };
        let active = state(Phase::Active);
        let said = "its last message, at 1970-01-01T00:00:00.000Z";
        let idle = format!("inactive 1970-01-01T00:01:00.000Z: 1 min after {said}");
        check(&active, &policy, &[&idle, &format!("close 1970-01-01T00:30:00.000Z: 30 min after {said}")]);
        check(&active, &disabled, &[&idle, &format!("let go 1970-01-01T00:30:00.000Z: 30 min after {said}")]);
        check(&active, &Policy { tracked: false, ..Policy::default() }, &[]);
        let mut calling = active.clone();
        calling.read.open_calls = [Mark(1)].into_iter().collect();
        let held = format!("{said}, and 6 h more for tool calls without an answer (1)");
        check(
            &calling,
            &policy,
            &[
                &format!("inactive 1970-01-01T06:01:00.000Z: 1 min after {held}"),
                &format!("close 1970-01-01T06:30:00.000Z: 30 min after {held}"),
            ],
        );
        let silent = State { last_conversation_at: None, ..active };
        let found = "its discovery, at 1970-01-01T00:00:00.000Z";
        let recorded = State { last_at: Some(Timestamp(0)), phase: Phase::Inactive, ..silent.clone() };
        check(
            &recorded,
            &policy,
            &["close 1970-01-01T00:30:00.000Z: 30 min after its last record, at 1970-01-01T00:00:00.000Z"],
        );
        let silent = State { phase: Phase::Inactive, ..silent };
        check(&silent, &policy, &[&format!("close 1970-01-01T00:30:00.000Z: 30 min after {found}")]);
        let (effect, reason) = (EffectId { generation: 1, start: 2 }, CloseReason::Explicit);
        let job = Job { effect, to: 9, reason, covers: 1, again: None, resumed: false };
        let indexing = State { job: Some(job), ..state(Phase::Indexing) };
        check(&indexing, &policy, &["index now: job 1.2 to byte 9, asked for by explicit"]);
        let end = Some(End { reason, at: Timestamp(0), by_self: false });
        let late = State { end, late_index_at: Some(Timestamp(60_000)), ..state(Phase::Indexed) };
        let belongs = "index late records 1970-01-01T00:01:00.000Z: records that belong to the end came after it";
        check(&late, &policy, &[belongs]);
        let failure = Failure { why: FailureReason::Unreadable, attempts: 2, retry_at: Timestamp(30_000) };
        let failed = State { failure: Some(failure), phase: Phase::Failed, ..late };
        check(&failed, &policy, &["retry 1970-01-01T00:00:30.000Z: unreadable, failures in a row: 2", belongs]);
        let empty =
            State { late_index_at: Some(Timestamp(60_000)), end, ..state(Phase::Unindexed(UnindexedReason::Empty)) };
        check(&empty, &policy, &[]);
        let mut said = empty;
        said.counts.messages = 1;
        check(&said, &policy, &[belongs]);
        check(&state(Phase::Forgotten), &policy, &[]);
    }

    #[test]
    fn what_hooks_and_connections_bring_about_is_told() {
        let policy = Policy::default();
        let said = "its last message, at 1970-01-01T00:00:00.000Z";
        let with = |phase, change: fn(&mut State)| {
            let mut state = state(phase);
            change(&mut state);
            state
        };
        let promised = with(Phase::Indexed, |state| {
            state.end = Some(End { reason: CloseReason::HookClear, at: Timestamp(0), by_self: false });
            state.signals.close_owed = Some(CloseReason::HookClear);
        });
        check(&promised, &policy, &["close now: a hook said that it is due: hook_clear"]);
        // Without a transcript nothing can be closed, and nothing is owed for ever.
        let unseen = State { transcript: None, phase: Phase::New, ..promised };
        let described = "the last report of a hook, at 1970-01-01T00:00:00.000Z; no transcript was seen";
        check(&unseen, &policy, &[&format!("let go 1970-01-01T00:01:00.000Z: 1 min after {described}")]);
        check(&State { phase: Phase::Unindexed(UnindexedReason::Empty), ..unseen.clone() }, &policy, &[]);
        let mut begun = State { end: None, ..unseen };
        (begun.signals.started_at, begun.signals.close_owed) = (Some(Timestamp(0)), None);
        check(&begun, &policy, &[&format!("close 1970-01-01T00:30:00.000Z: 30 min after {described}")]);
        let left = with(Phase::Inactive, |state| state.signals.disconnected_at = Some(Timestamp(5_000)));
        let close = format!("close 1970-01-01T00:30:00.000Z: 30 min after {said}");
        let closed = "1 min after its last MCP connection closed, at 1970-01-01T00:00:05.000Z";
        check(&left, &policy, &[&close, &format!("close 1970-01-01T00:01:05.000Z: {closed}")]);
        let at_work = with(Phase::Inactive, |state| state.signals.active_at = Some(Timestamp(60_000)));
        let hook = "its last activity by a hook, at 1970-01-01T00:01:00.000Z";
        check(&at_work, &policy, &[&format!("close 1970-01-01T00:31:00.000Z: 30 min after {hook}")]);
        let too_long = with(Phase::Inactive, |state| state.signals.active_at = Some(Timestamp(90_000_000)));
        let bounded = format!("{said}, and 6 h more for hooks without a record");
        check(&too_long, &policy, &[&format!("close 1970-01-01T06:30:00.000Z: 30 min after {bounded}")]);
    }

    #[test]
    fn what_a_model_is_to_do_is_told_with_the_moment_before_which_it_is_not_asked() {
        let policy = Policy::default();
        let hash = ContentHash([1; 32]);
        let mut indexed = state(Phase::Indexed);
        indexed.end = Some(End { reason: CloseReason::Explicit, at: Timestamp(5_000), by_self: true });
        indexed.episode = Some(EpisodeRef {
            uuid: uuid::Uuid::nil(),
            tier: Tier::Extractive,
            hash,
            filter_version: 1,
            generation: 1,
            to: 9,
            manifest: hash,
            items: 1,
            at: Timestamp(5_000),
        });
        let owed = Enrichment { owed: Some(Owed { at: Timestamp(5_000), asked: false }), ..Enrichment::default() };
        let with = |change: fn(&mut Enrichment)| {
            let mut state = indexed.clone();
            let mut enrichment = owed.clone();
            change(&mut enrichment);
            state.enrichment = Some(Box::new(enrichment));
            state
        };
        check(&with(|_| {}), &policy, &["enrich 1970-01-01T00:01:05.000Z: 1 min of quiet after its end"]);
        let asked = with(|known| known.owed = Some(Owed { at: Timestamp(7_000), asked: true }));
        check(&asked, &policy, &["enrich 1970-01-01T00:00:07.000Z: a person asked for it"]);
        let failed = with(|known| {
            known.content = Some(ContentHash([1; 32]));
            known.failed = Some(CallOutcome::Unavailable);
            known.retry_at = Some(Timestamp(90_000));
        });
        check(&failed, &policy, &["enrich 1970-01-01T00:01:30.000Z: the last call of a model ended: unavailable"]);
        check(&State { phase: Phase::Indexing, ..with(|_| {}) }, &policy, &[]);
    }

    #[test]
    fn a_duration_has_its_largest_whole_unit() {
        for (ms, expected) in [(0, "0 s"), (1, "1 ms"), (90_000, "90 s"), (1_800_000, "30 min"), (21_600_000, "6 h")] {
            assert_eq!(format_duration(ms), expected);
        }
    }
}
