//! A model's answer after checking.

use std::collections::BTreeMap;
use std::fmt;

use baton_events::session::{CallOutcome, GaveUp};
use baton_graph::Label;

/// Maximum length of an answer that is parsed, in bytes; many times what the token limit allows.
pub const MAX_ANSWER_BYTES: usize = 512 * 1024;

/// A checked answer: bounded, redacted, each text on one line, and every claim refers to a line of the transcript.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Purpose of the session.
    pub objective: String,
    /// Work that was done, by category.
    pub work_completed: BTreeMap<String, Vec<Claim>>,
    /// External information that was looked up.
    pub external_research: Vec<Claim>,
    /// Information that was stored elsewhere, by tool.
    pub knowledge_stored: BTreeMap<String, Vec<Claim>>,
    /// Decisions.
    pub decisions: Vec<Claim>,
    /// Failures.
    pub errors: Vec<Failed>,
    /// Open matters.
    pub unresolved: Vec<Claim>,
    /// Next steps.
    pub next_steps: Vec<Claim>,
    /// One paragraph for the next person or agent.
    pub continuation_context: String,
    /// Entities that the model names.
    pub entities: Vec<Entity>,
    /// Relations between them.
    pub facts: Vec<Fact>,
    /// Number of claims dropped because the transcript does not have their lines.
    pub dropped: u32,
    /// Number of claims beyond the limits.
    pub left_out: u32,
}

/// Number of claims lost; see [`Answer::dropped`] and [`Answer::left_out`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Claims whose lines do not exist.
    pub dropped: u32,
    /// Claims beyond a limit.
    pub left_out: u32,
}

/// A claim and the transcript line that supports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Text of the claim.
    pub text: String,
    /// Line number, from 1; the line exists.
    pub line: u64,
}

/// A failure and its resolution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// The failure.
    pub error: Claim,
    /// Its resolution.
    pub resolution: Option<Claim>,
}

/// An entity that a model names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entity {
    /// Name of the entity.
    pub name: String,
    /// Its kind.
    pub label: Label,
    /// Its description.
    pub summary: String,
    /// The first line that supports it.
    pub line: u64,
}

/// A relation between two entities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Kind and name.
    pub source: (Label, String),
    /// In upper case: `USES`.
    pub relation: String,
    /// Kind and name.
    pub target: (Label, String),
    /// The fact as a sentence.
    pub fact: String,
    /// The first line that supports it.
    pub line: u64,
}

/// How an answer ended, as the endpoint reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// Complete, or not reported.
    Stop,
    /// It reached its length limit.
    Length,
    /// The model declined, or a filter cut the answer.
    Refusal,
}

/// Why an answer is unusable, told to the model on the second request and to people. Never contains text of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Complaint {
    /// The model declined.
    Refused,
    /// The answer was cut off.
    Cut,
    /// The answer is longer than [`MAX_ANSWER_BYTES`].
    TooLong,
    /// The answer is not a JSON object.
    NoObject,
    /// A field is missing or does not have the type of the schema.
    Field {
        /// Path of the field: `decisions[2].line`.
        path: String,
        /// What is expected there.
        wanted: &'static str,
    },
    /// The answer says nothing about the session.
    Nothing,
}

impl Complaint {
    /// Returns the outcome that is recorded for the call.
    pub fn outcome(&self) -> CallOutcome {
        match self {
            Self::Refused => CallOutcome::Refused,
            Self::Cut => CallOutcome::Cut,
            _ => CallOutcome::Invalid,
        }
    }

    /// Returns the message for people, with what they can do.
    pub fn message(&self) -> String {
        let what = match self {
            Self::Refused => "declined",
            Self::Cut => "was cut off at the bound of its answer",
            Self::TooLong => "answered far more than it may",
            Self::NoObject => "did not answer the JSON that it was asked for",
            Self::Field { .. } => "answered JSON of another form than it was asked for",
            Self::Nothing => "said nothing that a line of the session bears out",
        };
        let detail = match self {
            Self::Field { path, wanted } => format!(": {path} must be {wanted}"),
            _ => String::new(),
        };
        let step = match self.outcome() {
            CallOutcome::Refused => GaveUp::Refused,
            CallOutcome::Cut => GaveUp::Cut,
            _ => GaveUp::Invalid,
        };
        format!("the model was asked twice and {what}{detail}; {}", step.next_step())
    }

    /// Recreates the complaint from the recorded outcome of the previous call, after a restart.
    pub fn from_outcome(outcome: CallOutcome) -> Self {
        match outcome {
            CallOutcome::Refused => Self::Refused,
            CallOutcome::Cut => Self::Cut,
            _ => Self::NoObject,
        }
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused => f.write_str("It declined; only a summary of the record is wanted."),
            Self::Cut => f.write_str("It was cut off at its bound; be much shorter."),
            Self::TooLong => write!(f, "It has more than {MAX_ANSWER_BYTES} bytes."),
            Self::NoObject => f.write_str("It is not one JSON object of the schema."),
            Self::Field { path, wanted } => write!(f, "{path} must be {wanted}."),
            Self::Nothing => {
                f.write_str("It has neither an objective nor anything else that points at a line of the record.")
            }
        }
    }
}

impl Answer {
    /// Adds the losses of the answers that the request for this one joined.
    pub fn with_losses(mut self, lost: &Lost) -> Self {
        self.dropped = self.dropped.saturating_add(lost.dropped);
        self.left_out = self.left_out.saturating_add(lost.left_out);
        self
    }
}
