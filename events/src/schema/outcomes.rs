//! The stored shape of what a session tried and how it went: one JSON object in the memory, and behind it, on a line of its
//! own, its calls one by one, which are read only where a fork may have copied some.
//!
//! The memory is made anew from the log whenever its version changes, so this shape needs no upcasters: what is of another
//! version is not read. Numbers that are 0 and texts that are empty are left out.

mod calls;

pub use calls::{Calls, Kind, Row};

use serde::{Deserialize, Serialize};

use super::is_zero;
use baton_conversation::record::Timestamp;

/// Version of this shape.
pub const OUTCOMES_VERSION: u32 = 3;

/// What a session tried and how it went; see [`outcomes`](baton_outcomes).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Outcomes {
    /// [`OUTCOMES_VERSION`].
    pub v: u32,
    /// Programs that were run, the most frequent first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<Command>,
    /// What failed, in transcript order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub troubles: Vec<Trouble>,
    /// What was tried again and again, in transcript order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub retries: Vec<Retry>,
    /// Steps that followed each other, the most frequent first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sequences: Vec<Sequence>,
    /// Files that were read or changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<File>,
    /// Files that were renamed, in transcript order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub moves: Vec<Move>,
    /// Decisions that have to do with a file, in transcript order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<Decided>,
    /// Entries of all lists beyond their bounds.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: u32,
    /// The mark of the first call that has one, see [`Row::mark`]; 0 without any. A fork copies from the beginning, so the
    /// sessions of a family have the same.
    #[serde(skip_serializing_if = "is_zero")]
    pub family: u64,
    /// The first calls.
    #[serde(skip)]
    pub calls: Calls,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// It did what it was asked.
    Ok,
    /// It failed.
    Failed,
    /// A person refused it, or a rule that speaks for one.
    Denied,
    /// A person interrupted it.
    Interrupted,
    /// Nobody can tell: it has no answer, it went on in the background, or its exit code is another program's.
    #[default]
    Unknown,
}

impl Ended {
    /// The name in answers: `ok`, `failed`, `denied`, `interrupted`, `unknown`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Denied => "denied",
            Self::Interrupted => "interrupted",
            Self::Unknown => "unknown",
        }
    }
}

/// How runs ended, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// Succeeded, with an exit code of its own.
    #[serde(skip_serializing_if = "is_zero")]
    pub ok: u32,
    /// Failed, with an exit code of its own.
    #[serde(skip_serializing_if = "is_zero")]
    pub failed: u32,
    /// Succeeded as a part of a line in which others may fail.
    #[serde(skip_serializing_if = "is_zero")]
    pub shared_ok: u32,
    /// Failed likewise, the last of them.
    #[serde(skip_serializing_if = "is_zero")]
    pub shared_failed: u32,
    /// The line succeeded, and what shows the end of its output ended it: `cargo test | tail`.
    #[serde(skip_serializing_if = "is_zero")]
    pub piped_ok: u32,
    /// The line failed likewise.
    #[serde(skip_serializing_if = "is_zero")]
    pub piped_failed: u32,
    /// Refused.
    #[serde(skip_serializing_if = "is_zero")]
    pub denied: u32,
    /// Interrupted.
    #[serde(skip_serializing_if = "is_zero")]
    pub interrupted: u32,
    /// Ended nobody knows how.
    #[serde(skip_serializing_if = "is_zero")]
    pub unknown: u32,
}

/// A program that was run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Command {
    /// Program and subcommand: `cargo test`.
    pub name: String,
    /// All its runs.
    pub runs: Tally,
    /// The lines it was run by, the most frequent first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<Line>,
    /// Its last failure: the telling line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<Said>,
}

/// A command line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Line {
    /// The line, without a leading `cd`, bounded.
    pub text: String,
    /// How the program ended in it.
    pub runs: Tally,
    /// Transcript line of the last run.
    pub line: u64,
    /// When that was, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// How that ended.
    pub ended: Ended,
    /// Its exit code, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Its last failure, where that is not the last of its program: the telling line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<Said>,
}

/// Something that was said, with its place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Said {
    /// The text, bounded, on one line.
    pub text: String,
    /// Transcript line.
    pub line: u64,
    /// When, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
}

/// A decision, and the files that it has to do with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Decided {
    /// What was said, with its place.
    #[serde(flatten)]
    pub said: Said,
    /// The few files that were changed between the same two prompts; those that it names itself stand in its text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

/// A file that was renamed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Move {
    /// What it was called before, as the project has it.
    pub from: String,
    /// What it is called since.
    pub to: String,
    /// Transcript line of the call.
    pub line: u64,
    /// When, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
}

/// A failure, and what became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Trouble {
    /// Its name: the telling line without what differs between two runs.
    pub error: String,
    /// The telling line.
    pub text: String,
    /// What failed: a program, or a tool.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub command: String,
    /// The command line, or what the tool was called for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub attempt: String,
    /// Transcript line of the first failed result.
    pub line: u64,
    /// When, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// How often it failed so before it was gone, without what an earlier entry has counted.
    pub times: u32,
    /// Transcript lines of the later ones that it counts; not of all, if they are many.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub again: Vec<u64>,
    /// Transcript line of the last such result, where it is another.
    #[serde(skip_serializing_if = "is_zero")]
    pub last_line: u64,
    /// When that was, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_at: Option<i64>,
    /// Whether the same ran again behind the last failure, and nobody knows how that ended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unsure: bool,
    /// Whether a fork mended what failed here: never stored.
    #[serde(skip)]
    pub mended_by_fork: bool,
    /// What was changed, and failed all the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<Tried>,
    /// What made it go away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<Fix>,
}

/// An attempt in vain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tried {
    /// Files changed since the attempt before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Commands run since then.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// With what it failed then.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub error: String,
    /// Transcript line of the failed result.
    pub line: u64,
    /// When, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
}

/// The later success of the same command or test, and what was done between.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Fix {
    /// In a sentence.
    pub text: String,
    /// Files changed since the failure, or since the last attempt in vain.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Commands that succeeded since then.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// Transcript line of the success.
    pub line: u64,
    /// When, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
}

/// The same that failed at least three times in a row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Retry {
    /// A program, or a tool.
    pub what: String,
    /// How often in a row.
    pub times: u32,
    /// How many files were changed between the first and the last failure.
    #[serde(skip_serializing_if = "is_zero")]
    pub edits: u32,
    /// With what it failed last.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub error: String,
    /// Transcript lines of the first and the last failed result.
    pub line: u64,
    /// See `line`.
    pub to: u64,
    /// When it failed last, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// Whether it succeeded the next time.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub resolved: bool,
}

/// Steps that followed each other, and how the last of them ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sequence {
    /// Two to four tools or programs.
    pub steps: Vec<String>,
    /// Times it ended well.
    #[serde(skip_serializing_if = "is_zero")]
    pub ok: u32,
    /// Times it failed.
    #[serde(skip_serializing_if = "is_zero")]
    pub failed: u32,
    /// Times it ended otherwise.
    #[serde(skip_serializing_if = "is_zero")]
    pub other: u32,
}

/// A file that was read or changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct File {
    /// As the project has it.
    pub path: String,
    /// Times it was read.
    #[serde(skip_serializing_if = "is_zero")]
    pub read: u32,
    /// Whether it was changed, and by how many lines.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub changed: bool,
    /// Lines added.
    #[serde(skip_serializing_if = "is_zero")]
    pub added: u32,
    /// Lines removed.
    #[serde(skip_serializing_if = "is_zero")]
    pub removed: u32,
    /// Transcript line where it was changed first, or read.
    pub line: u64,
}

impl Tally {
    /// All runs.
    pub fn all(&self) -> u32 {
        let own = self.ok.saturating_add(self.failed);
        let shared = self.shared_ok.saturating_add(self.shared_failed);
        let piped = self.piped_ok.saturating_add(self.piped_failed);
        let others = self.denied.saturating_add(self.interrupted).saturating_add(self.unknown);
        own.saturating_add(shared).saturating_add(piped).saturating_add(others)
    }

    /// Both together.
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            ok: self.ok.saturating_add(other.ok),
            failed: self.failed.saturating_add(other.failed),
            shared_ok: self.shared_ok.saturating_add(other.shared_ok),
            shared_failed: self.shared_failed.saturating_add(other.shared_failed),
            piped_ok: self.piped_ok.saturating_add(other.piped_ok),
            piped_failed: self.piped_failed.saturating_add(other.piped_failed),
            denied: self.denied.saturating_add(other.denied),
            interrupted: self.interrupted.saturating_add(other.interrupted),
            unknown: self.unknown.saturating_add(other.unknown),
        }
    }
}

/// When, as it is stored.
pub fn millis(at: Option<Timestamp>) -> Option<i64> {
    at.map(|at| at.0)
}

/// Two lines of JSON: the outcomes, and the calls if there are any. Equal outcomes give equal lines.
pub fn encode(outcomes: &Outcomes) -> String {
    // Strings, numbers and lists of them can always be written.
    let mut text = serde_json::to_string(outcomes).unwrap_or_default();
    if !outcomes.calls.rows.is_empty() {
        text.push('\n');
        text.push_str(&serde_json::to_string(&outcomes.calls).unwrap_or_default());
    }
    text
}

/// What [`encode`] wrote; `None` for anything else and for another version.
pub fn decode(json: &str) -> Option<Outcomes> {
    let (outcomes, calls) = decode_but_calls(json)?;
    Some(Outcomes { calls: decode_calls(calls), ..outcomes })
}

/// What [`encode`] wrote without the calls, and what [`decode_calls`] reads them from; `None` for anything else and for
/// another version.
pub fn decode_but_calls(json: &str) -> Option<(Outcomes, &str)> {
    let (outcomes, calls) = json.split_once('\n').unwrap_or((json, ""));
    let outcomes = serde_json::from_str::<Outcomes>(outcomes).ok().filter(|known| known.v == OUTCOMES_VERSION)?;
    Some((outcomes, calls))
}

/// The calls; none of what is no such line.
pub fn decode_calls(json: &str) -> Calls {
    serde_json::from_str(json).unwrap_or_default()
}
