//! Stored shape of a session's outcomes: one JSON object in the memory, followed by a line with its single calls, which
//! is read only if a fork may have copied some.
//!
//! The memory is rebuilt from the log whenever its version changes, so this shape needs no upcasters: other versions
//! are not read. Zeros and empty texts are left out.

mod calls;

pub use calls::{Calls, Kind, Row, Touch};

use serde::{Deserialize, Serialize};

use baton_conversation::record::Timestamp;
use baton_protocol::is_zero;
use baton_protocol::named;

/// Version of this shape.
pub const OUTCOMES_VERSION: u32 = 4;

/// What a session tried and how it went; see crate `baton-outcomes`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Outcomes {
    /// [`OUTCOMES_VERSION`].
    pub v: u32,
    /// Programs that were run, the most frequent first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<Command>,
    /// What failed, in transcript order.
    #[serde(rename = "troubles", skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<FailureHistory>,
    /// Things that were tried repeatedly, in transcript order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub retries: Vec<Retry>,
    /// Consecutive steps, the most frequent first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sequences: Vec<Sequence>,
    /// Files that were read or changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<File>,
    /// Files that were renamed, in transcript order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub moves: Vec<Move>,
    /// Decisions about files, in transcript order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<Decided>,
    /// Number of entries beyond the bounds of all lists.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: u32,
    /// Mark of the first call that has one, see [`Row::mark`]; 0 if none has. A fork copies from the beginning, so all
    /// its relatives have the same value.
    #[serde(skip_serializing_if = "is_zero")]
    pub family: u64,
    /// The first calls.
    #[serde(skip)]
    pub calls: Calls,
}

named! {
    /// How a call ended.
    #[derive(Default)]
    Ended {
        /// It succeeded.
        Ok = "ok",
        /// It failed.
        Failed = "failed",
        /// A person, or a rule on a person's behalf, refused it.
        Denied = "denied",
        /// A person interrupted it.
        Interrupted = "interrupted",
        /// Unknown: it has no answer, it went on in the background, or its exit code is another program's.
        #[default]
        Unknown = "unknown",
    }
}

/// Counts of runs by how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// Succeeded, with an exit code of its own.
    #[serde(skip_serializing_if = "is_zero")]
    pub ok: u32,
    /// Failed, with an exit code of its own.
    #[serde(skip_serializing_if = "is_zero")]
    pub failed: u32,
    /// Succeeded as part of a line in which other programs may fail.
    #[serde(skip_serializing_if = "is_zero")]
    pub shared_ok: u32,
    /// Failed as the last program of such a line.
    #[serde(skip_serializing_if = "is_zero")]
    pub shared_failed: u32,
    /// The line succeeded, but its exit code is that of a program which shows the output's end: `cargo test | tail`.
    #[serde(skip_serializing_if = "is_zero")]
    pub piped_ok: u32,
    /// Such a line failed.
    #[serde(skip_serializing_if = "is_zero")]
    pub piped_failed: u32,
    /// Refused.
    #[serde(skip_serializing_if = "is_zero")]
    pub denied: u32,
    /// Interrupted.
    #[serde(skip_serializing_if = "is_zero")]
    pub interrupted: u32,
    /// It is unknown how it ended.
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
    /// Its command lines, the most frequent first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<Line>,
    /// The telling line of its last failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<Excerpt>,
}

/// A command line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Line {
    /// The line, without a leading `cd`, bounded.
    pub text: String,
    /// The purpose that the agent gave for the last run.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub purpose: String,
    /// How the program ended in this line.
    pub runs: Tally,
    /// Transcript line of the last run.
    pub line: u64,
    /// Time of the last run, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// How the last run ended.
    pub ended: Ended,
    /// Exit code of the last run, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The telling line of its last failure, if that is not the last failure of its program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<Excerpt>,
}

/// Text quoted from a transcript, with its line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Excerpt {
    /// The text, bounded, on one line.
    pub text: String,
    /// Transcript line.
    pub line: u64,
    /// Time in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
}

/// A decision, and the files that it concerns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Decided {
    /// The decision, as quoted.
    #[serde(flatten)]
    pub excerpt: Excerpt,
    /// The few files that were changed between the same two prompts; files that the decision names are in its text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

/// A file that was renamed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Move {
    /// Former path, relative to the project if it is in it.
    pub from: String,
    /// New path.
    pub to: String,
    /// Transcript line of the call.
    pub line: u64,
    /// Time in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
}

/// A failure and its further course.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FailureHistory {
    /// Identity of the error: the telling line without parts that vary between runs.
    pub error: String,
    /// The telling line.
    pub text: String,
    /// The program or tool that failed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub command: String,
    /// The command line, or the tool's subject.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub attempt: String,
    /// Transcript line of the first failed result.
    pub line: u64,
    /// Time in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// How often it failed in this way until it was gone, not counting failures of an earlier entry.
    pub times: u32,
    /// Transcript lines of later failures that it counts; not all, if they are many.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub again: Vec<u64>,
    /// Transcript line of the last such result, if it is another one.
    #[serde(skip_serializing_if = "is_zero")]
    pub last_line: u64,
    /// Time of that result, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_at: Option<i64>,
    /// True if the same ran again after the last failure with an unknown result.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unsure: bool,
    /// True if a fork fixed it; never stored.
    #[serde(skip)]
    pub mended_by_fork: bool,
    /// Changes after which it still failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<Tried>,
    /// The change that fixed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<Fix>,
}

/// An attempt that did not help.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tried {
    /// Files changed since the previous attempt.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Commands run since the previous attempt.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// The error after it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub error: String,
    /// Transcript line of the failed result.
    pub line: u64,
    /// Time in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
}

/// The later success of the same command or test, and what is known to have brought it about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Fix {
    /// Description in a sentence.
    pub text: String,
    /// Files whose edits mended it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Commands that mended it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// Transcript line of the success.
    pub line: u64,
    /// Time in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
}

/// Something that failed at least three times in a row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Retry {
    /// The program or tool.
    pub what: String,
    /// Failures in a row.
    pub times: u32,
    /// Number of files changed between the first and the last failure.
    #[serde(skip_serializing_if = "is_zero")]
    pub edits: u32,
    /// The last error.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub error: String,
    /// Transcript line of the first failed result.
    pub line: u64,
    /// Transcript line of the last failed result.
    pub to: u64,
    /// Time of the last failure, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// True if it succeeded the next time.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub resolved: bool,
}

/// Consecutive steps, and how the last of them ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sequence {
    /// Two to four tools or programs.
    pub steps: Vec<String>,
    /// How often it ended well.
    #[serde(skip_serializing_if = "is_zero")]
    pub ok: u32,
    /// How often it failed.
    #[serde(skip_serializing_if = "is_zero")]
    pub failed: u32,
    /// How often it ended otherwise.
    #[serde(skip_serializing_if = "is_zero")]
    pub other: u32,
}

/// A file that was read or changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct File {
    /// Path, relative to the project if it is in it.
    pub path: String,
    /// How often it was read.
    #[serde(skip_serializing_if = "is_zero")]
    pub read: u32,
    /// True if it was changed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub changed: bool,
    /// Lines added.
    #[serde(skip_serializing_if = "is_zero")]
    pub added: u32,
    /// Lines removed.
    #[serde(skip_serializing_if = "is_zero")]
    pub removed: u32,
    /// Transcript line of the first change, or of the read.
    pub line: u64,
}

impl Tally {
    /// Number of all runs.
    pub fn all(&self) -> u32 {
        let own = self.ok.saturating_add(self.failed);
        let shared = self.shared_ok.saturating_add(self.shared_failed);
        let piped = self.piped_ok.saturating_add(self.piped_failed);
        let others = self.denied.saturating_add(self.interrupted).saturating_add(self.unknown);
        own.saturating_add(shared).saturating_add(piped).saturating_add(others)
    }

    /// The sum of both.
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

/// A time as it is stored.
pub fn millis(at: Option<Timestamp>) -> Option<i64> {
    at.map(|at| at.0)
}

/// Two lines of JSON: the outcomes, then the calls if there are any. Equal outcomes give equal lines.
pub fn encode(outcomes: &Outcomes) -> String {
    // Strings, numbers and lists of them can always be written.
    let mut text = serde_json::to_string(outcomes).unwrap_or_default();
    if !outcomes.calls.rows.is_empty() {
        text.push('\n');
        text.push_str(&serde_json::to_string(&outcomes.calls).unwrap_or_default());
    }
    text
}

/// Reads what [`encode`] wrote; `None` for anything else and for another version.
pub fn decode(json: &str) -> Option<Outcomes> {
    let (outcomes, calls) = decode_but_calls(json)?;
    Some(Outcomes { calls: decode_calls(calls), ..outcomes })
}

/// Reads what [`encode`] wrote, without the calls, which [`decode_calls`] reads from the returned text; `None` for
/// anything else and for another version.
pub fn decode_but_calls(json: &str) -> Option<(Outcomes, &str)> {
    let (outcomes, calls) = json.split_once('\n').unwrap_or((json, ""));
    let outcomes = serde_json::from_str::<Outcomes>(outcomes).ok().filter(|known| known.v == OUTCOMES_VERSION)?;
    Some((outcomes, calls))
}

/// As [`decode_but_calls`], without failures, files, renames and decisions, which are most of the text.
pub fn decode_commands(json: &str) -> Option<(Outcomes, &str)> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Commands {
        v: u32,
        commands: Vec<Command>,
        retries: Vec<Retry>,
        sequences: Vec<Sequence>,
        left_out: u32,
        family: u64,
    }
    let (outcomes, calls) = json.split_once('\n').unwrap_or((json, ""));
    let Commands { v, commands, retries, sequences, left_out, family } = serde_json::from_str(outcomes).ok()?;
    let outcomes = Outcomes { v, commands, retries, sequences, left_out, family, ..Outcomes::default() };
    (v == OUTCOMES_VERSION).then_some((outcomes, calls))
}

/// Reads the calls; none if the line is not valid.
pub fn decode_calls(json: &str) -> Calls {
    serde_json::from_str(json).unwrap_or_default()
}
