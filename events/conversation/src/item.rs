//! Items: the common form of all agents' transcripts, one per content block, in file order.
//!
//! Items are what Baton stores, hashes, digests and searches. They are filtered and redacted: an item never contains
//! the whole output of a tool, nor any secret that [`redact`](baton_redaction::redact) recognises. Other records often
//! separate the parts of a message, so grouping by [`Item::message`] is left to readers.

mod act;
mod report;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::act::{Act, PERSONS_SHELL};
pub use self::report::{GitOutput, ListedFiles, Report, Verdict, WorkTree};
use crate::record::Timestamp;
pub use baton_protocol::Agent;
use baton_protocol::{is_zero, named};

/// Overhead of an allocation, in bytes.
const POINTED_BYTES: usize = 16;
/// Overhead of an object's field besides key and value, in bytes.
const FIELD_BYTES: usize = 64;

/// One content block of a conversation, filtered and redacted.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Transcript line, from 1 in its generation.
    pub line: u64,
    /// When the record was written, if recorded.
    pub at: Option<Timestamp>,
    /// The record's own id. Forks repeat it in another file.
    pub uuid: Option<Box<str>>,
    /// Id of the model's message that the block is part of (`msg_…`).
    pub message: Option<Box<str>>,
    /// True if the block belongs to a subagent's conversation inside the main file (old transcripts).
    pub sidechain: bool,
    /// The content.
    pub body: Body,
}

/// Content of an item. Text is redacted, and not empty unless a variant says otherwise.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// A typed prompt, including queued prompts and arguments of slash commands.
    Prompt {
        /// The whole text.
        text: String,
    },
    /// What a person typed into a tool's result: the reason of a denial, the answer to a question.
    Answer {
        /// The whole text.
        text: String,
    },
    /// Text of the agent.
    Reply {
        /// The whole text.
        text: String,
    },
    /// An attachment of a prompt: an image or a document, as one line with kind and size, never its content.
    Media {
        /// Example: `[image image/png, 34 KB]`.
        text: String,
    },
    /// Thinking of the agent; signatures are dropped.
    Thinking {
        /// The whole text.
        text: String,
    },
    /// A tool call.
    Call(Call),
    /// The result of a tool call.
    Result(ToolResult),
    /// The harness' summary of a compaction. It repeats what was said before.
    Summary {
        /// The whole text.
        text: String,
    },
    /// A message of the harness: a background task ended, a slash command printed something.
    Notice {
        /// Text of bounded length.
        text: String,
    },
    /// A fact about the session that is not part of the conversation; never hashed.
    Meta(Meta),
}

/// A tool call: its name, and its parameters with long values shortened.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Kind of work that it does. Not hashed.
    pub act: Act,
    /// Id of the call (`toolu_…`), which its result names. Empty if the transcript has none.
    pub id: Box<str>,
    /// Name of the tool as written, at most 100 characters. Models garble it, so it must not be used as a path.
    pub name: String,
    /// Parameters in key order; longer strings than the filter's bound are cut, with the length of the rest and a
    /// digest of the whole in its place.
    pub input: BTreeMap<String, Value>,
    /// The effect on a file, for edits and writes.
    pub edit: Option<Edit>,
    /// First line of the message of the commit that a command line makes, read before the line was shortened. Not hashed.
    pub commit: Option<String>,
    /// The plan that a call presents, at most 20,000 characters. Not hashed.
    pub plan: Option<String>,
    /// A command line that runs git, at most 2,000 characters, if the parameters have only its beginning. Not hashed.
    pub git_line: Option<String>,
}

/// Effect of an edit on a file, read before its text was shortened.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Edit {
    /// Path as given to the tool.
    pub path: String,
    /// Lines added.
    pub added: u32,
    /// Lines removed.
    pub removed: u32,
    /// Lines added and removed as a comparison of all lines counts them, if that differs. Not hashed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared: Option<(u32, u32)>,
    /// The lines added, cut to a bounded length. Not hashed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub new_text: String,
    /// The lines removed, cut like these. Not hashed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub old_text: String,
}

/// The result of a tool, as one informative line.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    /// Id of the call.
    pub id: Box<str>,
    /// Name of the tool, if the call is known.
    pub name: Option<String>,
    /// How it ended.
    pub outcome: Outcome,
    /// Exit code of a command, if the result has one.
    pub exit_code: Option<i32>,
    /// One line: name, target, size or count, outcome, first line of an error (`Read src/auth.rs: 245 lines`, `Bash
    /// cargo test: exit 101, error[E0308]: mismatched types`).
    pub text: String,
    /// The telling line of a failure, without anything else; at most 300 characters.
    pub error: Option<String>,
    /// Duration in milliseconds, if recorded.
    pub duration_ms: Option<u64>,
    /// Id of the subagent that did the work; its transcript is `agent-<id>`.
    pub agent: Option<Box<str>>,
    /// Facts in the output; `None` for an untyped item, which a version before [`Report`] existed has stored.
    pub report: Option<Box<Report>>,
}

named! {
    /// How a tool call ended.
    Outcome {
        /// It succeeded.
        Ok = "ok",
        /// It failed.
        Failed = "failed",
        /// A person, or a rule on a person's behalf, refused it.
        Denied = "denied",
        /// A person interrupted it.
        Interrupted = "interrupted",
    }
}

/// The notice that an interruption by a person becomes.
pub const INTERRUPTED: &str = "interrupted by the user";

/// Facts about the session that are not part of the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meta {
    /// A title.
    Title {
        /// Its source, which decides between several titles.
        source: TitleSource,
        /// The title.
        text: String,
    },
    /// The git branch from this line on.
    Branch(String),
    /// The working directory from this line on.
    Cwd(String),
    /// Parent record of the typed prompt on the same line; empty if it has none. If two prompts have the same parent, a
    /// person went back, and what came in between is an abandoned branch.
    Below(Box<str>),
    /// The service's token counts for the model's message ([`Item::message`]). Repeated when they grow: the largest
    /// [`Usage::output`] of a message is valid.
    Usage(Usage),
    /// The harness compacted the conversation here and continued with a summary.
    Compaction(Compaction),
    /// The queued prompt of this line does not stand there: it was delivered by another record, or its author took it
    /// back. Without a prompt on its own line: a working agent took the oldest queued one here;
    /// 0: their author took all back. See [`crate::queued_prompts`].
    Withdrawn(u64),
    /// The transcript refers to another session.
    Link {
        /// Relation to that session.
        link: Link,
        /// Id of that session.
        session: Box<str>,
    },
}

/// Tokens of one request, as counted by the service.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Name of the model as written, at most 100 characters.
    pub model: String,
    /// Id of the request; gateways give none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<Box<str>>,
    /// Tokens read that were not cached.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub input: u64,
    /// Tokens written, thinking included.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub output: u64,
    /// Tokens read from the cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_read: u64,
    /// Tokens written to the cache, for five minutes and for an hour.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_creation: u64,
    /// Those of them for an hour, which cost more.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_creation_1h: u64,
    /// True if `output` is known to be too small, because this version of the agent recorded it too early.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub output_is_lower_bound: bool,
}

/// See [`Meta::Compaction`].
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Compaction {
    /// `auto`, `manual`, or another name of the harness; at most 40 characters.
    pub trigger: String,
    /// Tokens before the compaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_before: Option<u64>,
    /// Tokens after the compaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_after: Option<u64>,
}

named! {
    /// Relation of another session to the one whose transcript names it.
    Link {
        /// This session began as a copy of the other one.
        ForkedFrom = "forked_from",
        /// The other session continues the work of this one.
        ContinuedIn = "continued_in",
    }
}

named! {
    /// Source of a title. A later variant takes precedence over an earlier one, and the last title over others of its
    /// source.
    TitleSource {
        /// A `summary` record of an old transcript.
        Summary = "summary",
        /// The last prompt, repeated by the harness for its list of sessions.
        LastPrompt = "last_prompt",
        /// The agent's model.
        Model = "model",
        /// A person.
        Person = "person",
    }
}

named! {
    /// Speaker, as named in search, hash and display.
    Role {
        /// A person.
        User = "user",
        /// The agent.
        Assistant = "assistant",
        /// The agent's thinking.
        Thinking = "thinking",
        /// A tool: call and result.
        Tool = "tool",
        /// The harness.
        Harness = "harness",
    }
}

impl Call {
    /// True for a command that a person ran. Such calls and their results are not hashed.
    pub fn is_persons(&self) -> bool {
        self.name == PERSONS_SHELL
    }
}

impl ToolResult {
    /// See [`Call::is_persons`].
    pub fn is_persons(&self) -> bool {
        self.name.as_deref() == Some(PERSONS_SHELL)
    }
}

impl Item {
    /// Approximate size in memory, in bytes, including what it points to.
    pub fn weight(&self) -> usize {
        let ids = [&self.uuid, &self.message].into_iter().flatten().map(|id| id.len() + POINTED_BYTES);
        size_of::<Self>() + ids.sum::<usize>() + self.body.weight()
    }

    /// The speaker.
    pub fn role(&self) -> Role {
        match &self.body {
            Body::Prompt { .. } | Body::Answer { .. } | Body::Media { .. } => Role::User,
            Body::Reply { .. } => Role::Assistant,
            Body::Thinking { .. } => Role::Thinking,
            Body::Call(_) | Body::Result(_) => Role::Tool,
            Body::Summary { .. } | Body::Notice { .. } | Body::Meta(_) => Role::Harness,
        }
    }
}

impl Body {
    /// Bytes that it points to.
    fn weight(&self) -> usize {
        let text = match self {
            Self::Prompt { text } | Self::Answer { text } | Self::Reply { text } | Self::Media { text } => text.len(),
            Self::Thinking { text } | Self::Summary { text } | Self::Notice { text } => text.len(),
            Self::Call(call) => {
                let fields = call.input.iter().map(|(key, value)| FIELD_BYTES + key.len() + weight(value));
                let edit =
                    call.edit.as_ref().map_or(0, |edit| edit.path.len() + edit.new_text.len() + edit.old_text.len());
                let aside =
                    [&call.commit, &call.plan, &call.git_line].into_iter().flatten().map(String::len).sum::<usize>();
                call.id.len() + call.name.len() + edit + aside + fields.sum::<usize>()
            }
            Self::Result(result) => {
                let texts = [&result.name, &result.error].into_iter().flatten().map(String::len).sum::<usize>();
                let report = result.report.as_ref().map_or(0, |report| report.weight());
                result.id.len()
                    + result.text.len()
                    + texts
                    + result.agent.as_ref().map_or(0, |agent| agent.len())
                    + report
            }
            Self::Meta(Meta::Title { text, .. } | Meta::Branch(text) | Meta::Cwd(text)) => text.len(),
            Self::Meta(Meta::Usage(usage)) => usage.model.len() + usage.request.as_ref().map_or(0, |id| id.len()),
            Self::Meta(Meta::Below(id) | Meta::Link { session: id, .. }) => id.len(),
            Self::Meta(Meta::Compaction(compaction)) => compaction.trigger.len(),
            Self::Meta(Meta::Withdrawn(_)) => 0,
        };
        text + POINTED_BYTES
    }
}

/// Bytes of a value and its contents. The filter bounds the depth of values.
fn weight(value: &Value) -> usize {
    let within = match value {
        Value::String(text) => text.len() + POINTED_BYTES,
        Value::Array(values) => values.iter().map(weight).sum(),
        Value::Object(fields) => fields.iter().map(|(key, value)| FIELD_BYTES + key.len() + weight(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    };
    size_of::<Value>() + within
}
