//! What an endpoint may do instead of what it should.

use std::time::Duration;

/// See the module. Those that change an answer are for embeddings, but for those that say they are of a talk.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// A good answer, late.
    Slow(Duration),
    /// No answer at all; the connection stays.
    Hang,
    /// The connection is closed without an answer.
    Reset,
    /// This answer, whatever it is.
    Answer {
        /// The status.
        status: u16,
        /// The header `Retry-After`.
        retry_after: Option<String>,
        /// The body.
        body: String,
    },
    /// So many bytes that begin like JSON and are none.
    Garbage(usize),
    /// An answer that begins and never ends.
    Endless,
    /// An answer that breaks off in the middle.
    Torn,
    /// The answer refuses the key and says it.
    EchoKey,
    /// The same behind the status of a success, as gateways do.
    EchoKeyBehindSuccess,
    /// The answer refuses the texts and says them.
    EchoTexts,
    /// Vectors of so many dimensions.
    Dimensions(usize),
    /// So many vectors, whatever was asked.
    Count(usize),
    /// Vectors in which one number is `null`.
    Null,
    /// Vectors in which one number is `NaN`, which is no JSON.
    NaN,
    /// Vectors of zeros.
    Zeros,
    /// A good answer without `index`, `id`, `created`, `model` and `usage`.
    Bare,
    /// A good answer in the opposite order.
    Reversed,
    /// A good answer in small pieces, with so long a pause before each.
    Trickle(Duration),
    /// In a talk: the model says this.
    Says(String),
    /// In a talk: what the model says is cut off in the middle, at the bound of its length.
    Cut,
    /// In a talk: the model declines, in these words.
    Declines(String),
    /// In a talk: what the model says stands in a fence of Markdown.
    Fenced,
}

impl Fault {
    /// A status with a body such as OpenAI's.
    pub fn status(status: u16, message: &str) -> Self {
        let body = serde_json::json!({"error": {"message": message, "type": "error", "code": null}});
        Self::Answer { status, retry_after: None, body: body.to_string() }
    }
}
