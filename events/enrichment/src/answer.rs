//! What a model answered, as far as it is believed.

use std::collections::BTreeMap;
use std::fmt;

use baton_events::session::{CallOutcome, GaveUp};
use baton_graph::Label;

/// Longest answer that is looked at, in bytes: many times what a bound on its tokens lets through.
pub const MAX_ANSWER_BYTES: usize = 512 * 1024;

/// An answer that was checked: bounded, redacted, on one line each, and pointing at lines of the transcript alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// What the session was for.
    pub objective: String,
    /// What was done, by category.
    pub work_completed: BTreeMap<String, Vec<Claim>>,
    /// What was looked up outside.
    pub external_research: Vec<Claim>,
    /// What was stored elsewhere, by tool.
    pub knowledge_stored: BTreeMap<String, Vec<Claim>>,
    /// What was decided.
    pub decisions: Vec<Claim>,
    /// What failed.
    pub errors: Vec<Failed>,
    /// What is open.
    pub unresolved: Vec<Claim>,
    /// What comes next.
    pub next_steps: Vec<Claim>,
    /// One paragraph for whoever continues.
    pub continuation_context: String,
    /// Things that it names.
    pub entities: Vec<Entity>,
    /// How they bear on each other.
    pub facts: Vec<Fact>,
    /// Claims of lines that the transcript does not have; dropped.
    pub dropped: u32,
    /// Claims beyond the bounds.
    pub left_out: u32,
}

/// See [`Answer::dropped`] and [`Answer::left_out`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Of lines that are not there.
    pub dropped: u32,
    /// Beyond a bound.
    pub left_out: u32,
}

/// A claim, and the transcript line that says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The claim.
    pub text: String,
    /// The line, from 1; the transcript has it.
    pub line: u64,
}

/// A failure, and what resolved it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// What failed.
    pub error: Claim,
    /// What resolved it.
    pub resolution: Option<Claim>,
}

/// A thing that a model names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entity {
    /// Its name.
    pub name: String,
    /// What it is.
    pub label: Label,
    /// What it is said to be.
    pub summary: String,
    /// The first of the lines that support it.
    pub line: u64,
}

/// How two things are said to bear on each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What it is and its name.
    pub source: (Label, String),
    /// In capital letters: `USES`.
    pub relation: String,
    /// What it is and its name.
    pub target: (Label, String),
    /// The fact in a sentence.
    pub fact: String,
    /// The first of the lines that support it.
    pub line: u64,
}

/// How an endpoint says that an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// It is whole, or nothing is said of it.
    Stop,
    /// It reached the bound of its length.
    Length,
    /// The model declined, or a filter has cut it.
    Refusal,
}

/// Why an answer cannot be used: told to the model when it is asked once more, and to people. Never has a word of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Complaint {
    /// The model declined.
    Refused,
    /// It was cut off.
    Cut,
    /// It has more bytes than are looked at.
    TooLong,
    /// It is no JSON object.
    NoObject,
    /// A field has another type than its schema says, or is missing.
    Field {
        /// Where, as `decisions[2].line`.
        path: String,
        /// What is wanted there.
        wanted: &'static str,
    },
    /// It says nothing of the session.
    Nothing,
}

impl Complaint {
    /// As a call's outcome names it.
    pub fn outcome(&self) -> CallOutcome {
        match self {
            Self::Refused => CallOutcome::Refused,
            Self::Cut => CallOutcome::Cut,
            _ => CallOutcome::Invalid,
        }
    }

    /// What is told to people, and what they may do about it.
    pub fn told(&self) -> String {
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

    /// What is told to the model when only the recorded outcome of the call before is left, after a restart.
    pub fn of_outcome(outcome: CallOutcome) -> Self {
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
    /// The answer to a request that joins others, of which so much was lost.
    pub fn after(mut self, lost: &Lost) -> Self {
        self.dropped = self.dropped.saturating_add(lost.dropped);
        self.left_out = self.left_out.saturating_add(lost.left_out);
        self
    }
}
