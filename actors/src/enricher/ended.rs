//! How a call has ended, as the log says it, and what it cost.
//!
//! # Hazards
//!
//! - What a call cost that was cut off is unknown and counts as estimated. The first such call is made again at
//!   once, after further ones it is waited. An answer that arrives while the daemon stops is lost after two
//!   seconds: of unknown cost, and asked for again.

use baton_enrichment::{Answer, Complaint, Finish, Lines, check};
use baton_events::prices::Price;
use baton_events::session::{CallOutcome, CallTokens};

use baton_model::{Failure, Kind, Reply};

/// What came of a call.
pub(super) enum Came {
    /// An answer that can be used.
    Answer(Box<Answer>),
    /// One that cannot, and why.
    Complaint(Complaint),
    /// None.
    Failure(Failure),
}

/// The end of a call.
pub(super) struct Ended {
    pub(super) came: Came,
    /// Tokens, where they were reported.
    pub(super) tokens: Option<CallTokens>,
    /// What it cost, in thousandths of a millionth of a US dollar, where that is known.
    pub(super) nanos: Option<u64>,
}

impl Ended {
    /// Of what an endpoint gave. `price` is none where nothing is asked for.
    pub(super) fn of(replied: Result<Reply, Failure>, lines: &Lines, price: Option<&Price>) -> Self {
        let reply = match replied {
            Ok(reply) => reply,
            Err(failure) => {
                let nanos = (!failure.may_have_cost()).then_some(0);
                // What comes by this API and cannot be used is a bad answer. A page of whoever stands between is none.
                let came = match failure.kind() {
                    Kind::TooLong => Came::Complaint(Complaint::TooLong),
                    Kind::NoMessage | Kind::WrongShape => Came::Complaint(Complaint::NoObject),
                    _ => Came::Failure(failure),
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
            Ok(answer) => Came::Answer(Box::new(answer)),
            Err(complaint) => Came::Complaint(complaint),
        };
        Self { came, tokens, nanos }
    }
}

/// A failure, as the log names it.
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

/// How long an endpoint wants to be left alone.
pub(super) fn retry_after_ms(failure: &Failure) -> Option<i64> {
    match failure.kind() {
        Kind::RateLimited { retry_after } => retry_after.and_then(|after| i64::try_from(after.as_millis()).ok()),
        _ => None,
    }
}
