//! What every agent's transcript becomes: a list of [`Item`]s, one per content block, in file order.
//!
//! Items are what Baton stores, hashes, digests and searches. They are already filtered and redacted:
//! the whole output of a tool is never in an item, and no item holds a secret that
//! [`redact`](baton_redaction::redact) knows. The parts of one message are often separated by other records, so
//! grouping by [`Item::message`] is a view for readers, not the format.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::record::Timestamp;

/// What an allocation of its own takes besides what is in it.
const POINTED_BYTES: usize = 16;
/// What a field of an object takes besides its key and its value.
const FIELD_BYTES: usize = 64;

/// Which agent wrote a transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Agent {
    /// Claude Code: JSON Lines below `projects/`.
    ClaudeCode,
    /// Codex CLI: JSON Lines below `sessions/`, compressed when they are cold.
    Codex,
}

impl Agent {
    /// Every value.
    pub const ALL: [Self; 2] = [Self::ClaudeCode, Self::Codex];

    /// The name in events and answers: `claude_code`, `codex`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude_code",
            Self::Codex => "codex",
        }
    }

    /// The agent of a recorded name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|agent| agent.as_str() == text)
    }
}

/// One content block of a conversation, filtered and redacted.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Line of the transcript it came from, counted from 1 in its generation.
    pub line: u64,
    /// When the record was written, if the transcript says so.
    pub at: Option<Timestamp>,
    /// The record's own id. Forks repeat it in another file.
    pub uuid: Option<Box<str>>,
    /// The id of the model's message that the block is a part of (`msg_…`).
    pub message: Option<Box<str>>,
    /// Whether the block belongs to a subagent's conversation inside the main file (old transcripts).
    pub sidechain: bool,
    /// What was said or done.
    pub body: Body,
}

/// What an item says. Text is redacted and never empty unless a variant says otherwise.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// What a person typed as a prompt, queued prompts and the arguments of slash commands included.
    Prompt {
        /// The whole text.
        text: String,
    },
    /// What a person typed into a tool's result: the reason of a denial, the answer to a question.
    Answer {
        /// The whole sentence.
        text: String,
    },
    /// Text of the assistant.
    Reply {
        /// The whole text.
        text: String,
    },
    /// What somebody gave beside words: an image, a document. One line that says what it is and how large, never the thing.
    Media {
        /// `[image image/png, 34 KB]`.
        text: String,
    },
    /// Thinking of the assistant; signatures are dropped.
    Thinking {
        /// The whole text.
        text: String,
    },
    /// A tool was called.
    Call(Call),
    /// A tool answered.
    Result(ToolResult),
    /// The harness' summary of what it compacted away. It repeats what was said before.
    Summary {
        /// The whole text.
        text: String,
    },
    /// News from the harness that nobody typed: a background task ended, a slash command printed.
    Notice {
        /// A bounded text.
        text: String,
    },
    /// Something about the session, not of the conversation; never hashed.
    Meta(Meta),
}

/// A call of a tool: its name and parameters with bulky values shortened.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The call's id (`toolu_…`), which its result names. Empty when the transcript had none.
    pub id: Box<str>,
    /// The tool's name as written, bounded to 100 characters. Models garble it: never a path, never an enum.
    pub name: String,
    /// The parameters in key order; strings over the filter's bound are cut, with their length and a digest of the
    /// whole in the cut's place.
    pub input: BTreeMap<String, Value>,
    /// For edits and writes: what they did to the file.
    pub edit: Option<Edit>,
}

/// What an edit did to a file, counted before its text was shortened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The path as the tool was given it.
    pub path: String,
    /// Lines added.
    pub added: u32,
    /// Lines removed.
    pub removed: u32,
}

/// The answer of a tool, as one informative line.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    /// The id of the call it answers.
    pub id: Box<str>,
    /// The tool's name, when its call is known.
    pub name: Option<String>,
    /// How it went.
    pub outcome: Outcome,
    /// The exit code of a command, where the result tells.
    pub exit_code: Option<i32>,
    /// One line: name, target, size or count, outcome, first line of an error
    /// (`Read src/auth.rs: 245 lines`, `Bash cargo test: exit 101, error[E0308]: mismatched types`).
    pub text: String,
    /// For a failure, its first telling line, alone (at most 300 characters).
    pub error: Option<String>,
    /// How long it took, where the transcript says so, in milliseconds.
    pub duration_ms: Option<u64>,
    /// The subagent that did it, by its id as the agent names it: its transcript is `agent-<id>`.
    pub agent: Option<Box<str>>,
}

/// How a tool call went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It did what it was asked.
    Ok,
    /// It failed.
    Failed,
    /// A person refused it, or a rule that speaks for one.
    Denied,
    /// A person interrupted it.
    Interrupted,
}

/// Facts about the session that are not said in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meta {
    /// A title, with who gave it.
    Title {
        /// Where it came from, which decides between several.
        source: TitleSource,
        /// The title.
        text: String,
    },
    /// The git branch from here on.
    Branch(String),
    /// The working directory from here on.
    Cwd(String),
    /// The typed prompt of the same line hangs on the record of this id; on none, if it is empty. Two prompts below one record:
    /// a person went back, and what came between is an abandoned branch.
    Below(Box<str>),
    /// What the service counted for the model's message ([`Item::message`]). Said again when it has grown: the largest
    /// [`Usage::output`] of one message holds.
    Usage(Usage),
    /// The harness cut the conversation down here and went on with a summary.
    Compaction(Compaction),
    /// The prompt that was said of the queue at this line does not stand there: it was delivered by a record of its own, or
    /// whoever typed it took it back. See [`crate::queued_prompts`].
    Withdrawn(u64),
    /// The transcript names another session.
    Link {
        /// What it is to this one.
        link: Link,
        /// Its id.
        session: Box<str>,
    },
}

/// Tokens of one request, as the service counted them.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Usage {
    /// The model's name as it is written, bounded to 100 characters.
    pub model: String,
    /// The request's id; gateways give none.
    pub request: Option<Box<str>>,
    /// Tokens read that no cache held.
    pub input: u64,
    /// Tokens written, thinking included.
    pub output: u64,
    /// Tokens read from the cache.
    pub cache_read: u64,
    /// Tokens written to the cache, for five minutes and for an hour together.
    pub cache_creation: u64,
    /// Those of them for an hour, which cost more.
    pub cache_creation_1h: u64,
    /// Whether `output` is known to be less than was written: the agent's version noted it too early.
    pub output_is_lower_bound: bool,
}

/// See [`Meta::Compaction`].
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Compaction {
    /// `auto`, `manual`, or as the harness names it; at most 40 characters.
    pub trigger: String,
    /// Tokens before.
    pub tokens_before: Option<u64>,
    /// Tokens after.
    pub tokens_after: Option<u64>,
}

/// What another session is to the one whose transcript names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Link {
    /// This one began as a copy of it.
    ForkedFrom,
    /// It goes on with the work of this one.
    ContinuedIn,
}

impl Link {
    /// Every value.
    pub const ALL: [Self; 2] = [Self::ForkedFrom, Self::ContinuedIn];

    /// The name in stored items.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ForkedFrom => "forked_from",
            Self::ContinuedIn => "continued_in",
        }
    }
}

/// Who gave a title; a later variant wins over an earlier one, and the last of equals wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TitleSource {
    /// A `summary` record of an old transcript.
    Summary,
    /// The last prompt, as the harness repeats it for its list of sessions.
    LastPrompt,
    /// The agent's model.
    Model,
    /// A person.
    Person,
}

/// Who speaks, as search, hash and display name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// A person.
    User,
    /// The agent.
    Assistant,
    /// The agent's thinking.
    Thinking,
    /// A tool: call and result.
    Tool,
    /// The harness.
    Harness,
}

impl Role {
    /// The lower-case name: `user`, `assistant`, `thinking`, `tool`, `harness`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Thinking => "thinking",
            Self::Tool => "tool",
            Self::Harness => "harness",
        }
    }
}

impl Item {
    /// About how many bytes it takes in memory, what it points to included: what a bound on many of them counts.
    pub fn weight(&self) -> usize {
        let ids = [&self.uuid, &self.message].into_iter().flatten().map(|id| id.len() + POINTED_BYTES);
        size_of::<Self>() + ids.sum::<usize>() + self.body.weight()
    }

    /// Who speaks.
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
                let edit = call.edit.as_ref().map_or(0, |edit| edit.path.len());
                call.id.len() + call.name.len() + edit + fields.sum::<usize>()
            }
            Self::Result(result) => {
                let told = [&result.name, &result.error].into_iter().flatten().map(String::len).sum::<usize>();
                result.id.len() + result.text.len() + told + result.agent.as_ref().map_or(0, |agent| agent.len())
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

/// Bytes of a value and of what is in it. Values are no deeper than the filter lets them be.
fn weight(value: &Value) -> usize {
    let within = match value {
        Value::String(text) => text.len() + POINTED_BYTES,
        Value::Array(values) => values.iter().map(weight).sum(),
        Value::Object(fields) => fields.iter().map(|(key, value)| FIELD_BYTES + key.len() + weight(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    };
    size_of::<Value>() + within
}
