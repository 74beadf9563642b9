//! The client of a call, and how a call is refused.

use std::sync::Arc;

use baton_base::limits;
use baton_protocol::{Failure, Progress, code};
use baton_redaction::redact;
use serde_json::value::RawValue;
use tokio::sync::watch;

/// The client that waits for the answer of a call.
pub trait Client: Send + Sync {
    /// Reports progress. A report may be dropped if the client does not keep up.
    fn progress(&self, progress: &Progress);

    /// Returns true if the client has disconnected.
    fn is_closed(&self) -> bool;

    /// Becomes true when the daemon stops; the work for this client then ends.
    fn stopping(&self) -> watch::Receiver<bool>;

    /// Marks the connection as held open only: it no longer counts against the limit of connections. Returns `false` if
    /// too many are held open already.
    fn hold_open(&self) -> bool;
}

/// Receives the progress of a call.
pub type ClientRef = Arc<dyn Client>;

/// Why a call has no result.
pub enum QueryError {
    /// The call was refused or failed.
    Failure(Failure),
    /// The client has disconnected.
    ClientGone,
}

impl From<Failure> for QueryError {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

/// Parses the arguments of a call; missing arguments are an empty object.
pub fn params<T: serde::de::DeserializeOwned>(raw: Option<&RawValue>) -> Result<T, Failure> {
    let text = raw.map_or("{}", RawValue::get);
    baton_protocol::read(text).map_err(|error| failure(code::INVALID_PARAMS, format!("wrong arguments: {error}")))
}

/// Builds a failure whose message is redacted and cut to [`limits::FAILURE_BYTES`].
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
