//! Who asks, and how a request is refused.

use std::sync::Arc;

use baton_base::limits;
use baton_protocol::{Failure, Progress, code};
use baton_redaction::redact;
use serde_json::value::RawValue;

/// Whoever waits for the answer of a call.
pub trait Client: Send + Sync {
    /// Tells how far long work is. May be dropped when the client does not keep up: the next one says more.
    fn progress(&self, progress: &Progress);

    /// Whether the client has gone.
    fn is_closed(&self) -> bool;

    /// From now on the connection is only held open: it takes nobody's place, and nobody takes its. `false`: too many are
    /// held open already.
    fn stay(&self) -> bool;
}

/// Where the progress of a call goes.
pub type Out = Arc<dyn Client>;

/// Why a call has no result.
pub enum QueryError {
    /// The call is refused, or failed.
    Failure(Failure),
    /// Nobody waits for the answer any more.
    ClientGone,
}

impl From<Failure> for QueryError {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

/// The arguments of a call; none are an empty object.
pub fn params<'a, T: serde::Deserialize<'a>>(raw: Option<&'a RawValue>) -> Result<T, Failure> {
    let text = raw.map_or("{}", RawValue::get);
    serde_json::from_str(text).map_err(|error| failure(code::INVALID_PARAMS, format!("wrong arguments: {error}")))
}

/// Why a call has no result. It may name what was asked for, and directories: like all that is answered it holds nothing
/// that looks like a secret.
pub fn failure(code: i64, message: impl Into<String>) -> Failure {
    let mut message = redacted(&message.into());
    if message.len() > limits::FAILURE_BYTES {
        let end = (0..=limits::FAILURE_BYTES).rev().find(|end| message.is_char_boundary(*end));
        message.truncate(end.unwrap_or_default());
        message.push('…');
    }
    Failure { code, message }
}

/// Returns the text without secrets.
pub fn redacted(text: &str) -> String {
    redact(text).into_owned()
}
