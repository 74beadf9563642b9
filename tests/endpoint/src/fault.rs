//! The ways in which an endpoint can misbehave.

use std::time::Duration;

/// One misbehaviour. Those that change an answer apply to embeddings, except those marked as chat.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// A good answer after a delay.
    Slow(Duration),
    /// No answer; the connection stays open.
    Hang,
    /// Closes the connection without an answer.
    Reset,
    /// A fixed answer.
    Answer {
        /// The status.
        status: u16,
        /// The header `Retry-After`.
        retry_after: Option<String>,
        /// The body.
        body: String,
    },
    /// At least this many bytes that begin like JSON but are not.
    Garbage(usize),
    /// An answer that never ends.
    Endless,
    /// An answer that breaks off in the middle.
    Torn,
    /// Refuses the key and repeats it in the answer.
    EchoKey,
    /// The same with the status of a success, as gateways do.
    EchoKeyBehindSuccess,
    /// Refuses the texts and repeats them in the answer.
    EchoTexts,
    /// Vectors of this many dimensions.
    Dimensions(usize),
    /// This many vectors, whatever was requested.
    Count(usize),
    /// Vectors in which one number is `null`.
    Null,
    /// Vectors in which one number is `NaN`, which is not JSON.
    NaN,
    /// Vectors of zeros.
    Zeros,
    /// A good answer without `index`, `id`, `created`, `model` and `usage`.
    Bare,
    /// A good answer in the opposite order.
    Reversed,
    /// A good answer in small pieces, with this pause before each.
    Trickle(Duration),
    /// Chat: the model says this.
    Says(String),
    /// Chat: the model's text is cut off in the middle, with the finish reason `length`.
    Cut,
    /// Chat: the model refuses with these words.
    Declines(String),
    /// Chat: the model's text is in a Markdown code fence.
    Fenced,
}

impl Fault {
    /// An error in the form of OpenAI's.
    pub fn status(status: u16, message: &str) -> Self {
        let body = serde_json::json!({"error": {"message": message, "type": "error", "code": null}});
        Self::Answer { status, retry_after: None, body: body.to_string() }
    }
}
