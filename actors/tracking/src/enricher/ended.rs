//! The result of a call, as recorded in the log, and its cost.
//!
//! # Hazards
//!
//! - The cost of a call that was cut off is unknown and counts as estimated. The first such call is repeated at once,
//!   further ones after a pause. An answer that arrives while the daemon stops is lost after two seconds: its cost is
//!   unknown, and the question is asked again.

use baton_enrichment::{Answer, Complaint, Finish, Lines, check};
use baton_events::prices::Price;
use baton_events::session::{CallOutcome, CallTokens};

use baton_model::{Failure, Kind, Reply};

/// The result of a call.
pub(super) enum CallResult {
    /// A usable answer.
    Answer(Box<Answer>),
    /// An unusable answer, and why.
    Complaint(Complaint),
    /// No answer.
    Failure(Failure),
}

/// The end of a call.
pub(super) struct EndedCall {
    pub(super) came: CallResult,
    /// The tokens, if reported.
    pub(super) tokens: Option<CallTokens>,
    /// The cost in nanodollars, if known.
    pub(super) nanos: Option<u64>,
}

impl EndedCall {
    /// Evaluates an endpoint's reply. `price` is `None` if calls are free.
    pub(super) fn from_reply(replied: Result<Reply, Failure>, lines: &Lines, price: Option<&Price>) -> Self {
        let reply = match replied {
            Ok(reply) => reply,
            Err(failure) => {
                let nanos = (!failure.may_have_cost()).then_some(0);
                // An unusable reply of the API is a bad answer; a page of a proxy is a failure.
                let came = match failure.kind() {
                    Kind::TooLong => CallResult::Complaint(Complaint::TooLong),
                    Kind::NoMessage | Kind::WrongShape => CallResult::Complaint(Complaint::NoObject),
                    _ => CallResult::Failure(failure),
                };
                return Self { came, tokens: None, nanos };
            }
        };
        let tokens = match (reply.tokens.input, reply.tokens.output) {
            (Some(input), Some(output)) => {
                Some(CallTokens { input, output, cached: reply.tokens.cached.unwrap_or(0).min(input) })
            }
            _ => None,
        };
        let nanos = match price {
            Some(price) => tokens.map(|tokens| price.nanos(&tokens)),
            None => Some(0),
        };
        let finish = match () {
            () if reply.refusal.is_some() => Finish::Refusal,
            () if reply.is_cut => Finish::Length,
            () => Finish::Stop,
        };
        let came = match check(&reply.text, finish, lines) {
            Ok(answer) => CallResult::Answer(Box::new(answer)),
            Err(complaint) => CallResult::Complaint(complaint),
        };
        Self { came, tokens, nanos }
    }
}

/// Returns a failure's name in the log.
pub(super) fn outcome(failure: &Failure) -> CallOutcome {
    match failure.kind() {
        Kind::Unreachable if failure.may_have_cost() => CallOutcome::Broken,
        Kind::Unreachable | Kind::Untrusted | Kind::Paused => CallOutcome::Unreachable,
        Kind::TimedOut => CallOutcome::TimedOut,
        Kind::RateLimited { .. } | Kind::QuotaSpent => CallOutcome::Limited,
        Kind::NoKey | Kind::NoKeyFile | Kind::Unauthorised | Kind::NotThere | Kind::Redirected => CallOutcome::Denied,
        Kind::ServerError => CallOutcome::Unavailable,
        Kind::Refused | Kind::TooLarge | Kind::Unusable => CallOutcome::Rejected,
        Kind::NotUnderstood => CallOutcome::NotUnderstood,
        Kind::Page => CallOutcome::Page,
        Kind::NoMessage | Kind::TooLong | Kind::WrongShape => CallOutcome::Invalid,
    }
}

/// Returns how long the endpoint asks to be left alone.
pub(super) fn retry_after_ms(failure: &Failure) -> Option<i64> {
    match failure.kind() {
        Kind::RateLimited { retry_after } => retry_after.and_then(|after| i64::try_from(after.as_millis()).ok()),
        _ => None,
    }
}
