//! The results of `how`, `fix`, `blame` and `patterns`. Rates are shares from 0 to 1, and left out if fewer than three
//! outcomes are known. Counts are always given.

use crate::is_zero;
use serde::{Deserialize, Serialize};

use super::Freshness;

/// Result of `how`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct How {
    /// The answer in one sentence.
    pub message: String,
    /// The requested command.
    pub command: String,
    /// The project the answer is about; absent for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// All runs and their outcomes.
    #[serde(flatten)]
    pub runs: Runs,
    /// Sessions in which it was run.
    pub sessions: u32,
    /// Older sessions in which it was run, too, but which were not read.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_sessions: u32,
    /// If the caller's own project answers: the runs in all others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<Runs>,
    /// RFC 3339 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<String>,
    /// The command lines it is run by, the most useful first; those that only failed come last.
    pub lines: Vec<HowLine>,
    /// Further distinct lines.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_lines: u32,
    /// The newest failure, by its most informative line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<Quote>,
    /// For a program without a subcommand: its subcommands, most frequent first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subcommands: Vec<HowSubcommand>,
    /// How fresh the answer is.
    pub freshness: Freshness,
}

/// Outcomes of runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Runs {
    /// Number of runs: the sum of the outcomes.
    pub count: u32,
    /// Runs known to have succeeded.
    pub ok: u32,
    /// Runs known to have failed.
    pub failed: u32,
    /// Runs of unknown outcome: in the background, without an answer, or with a hidden exit code.
    #[serde(skip_serializing_if = "is_zero")]
    pub unknown: u32,
    /// Runs that were denied.
    #[serde(skip_serializing_if = "is_zero")]
    pub denied: u32,
    /// Runs that were interrupted.
    #[serde(skip_serializing_if = "is_zero")]
    pub interrupted: u32,
    /// The share of known outcomes that succeeded. Absent for fewer than three.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success_rate: Option<f64>,
    /// Number of runs behind the rate: `ok` plus `failed`.
    #[serde(skip_serializing_if = "is_zero")]
    pub rate_of: u32,
    /// Of the unknown ones, those in front of a pipe, which hides their exit code.
    #[serde(skip_serializing_if = "is_zero")]
    pub shared: u32,
}

/// A command line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HowLine {
    /// The line as typed, without a leading `cd`.
    pub text: String,
    /// What the agent ran it for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub purpose: String,
    /// Outcomes of its runs.
    #[serde(flatten)]
    pub runs: Runs,
    /// RFC 3339 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<String>,
    /// Outcome of the last run: `ok failed denied interrupted unknown`.
    pub last_outcome: String,
    /// The session of the last run.
    pub session_id: String,
    /// Its transcript line.
    pub line: u64,
}

/// A subcommand of a program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HowSubcommand {
    /// Program and subcommand.
    pub command: String,
    /// Outcomes of its runs.
    #[serde(flatten)]
    pub runs: Runs,
}

/// A quoted text and its source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Quote {
    /// The text.
    pub text: String,
    /// The session.
    pub session_id: String,
    /// The transcript line.
    pub line: u64,
    /// RFC 3339 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

/// Result of `fix`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Fix {
    /// The answer in one sentence.
    pub message: String,
    /// The line of the given text that describes the failure.
    pub error: String,
    /// What the agent said of the cause where it mended or met it. Null if not known.
    pub cause: Option<Quote>,
    /// What made it go away. Null if not known; that it passed later claims nothing.
    pub resolution: Option<Quote>,
    /// What did not help.
    pub tried: Vec<Quote>,
    /// Where it stands.
    pub places: Vec<Quote>,
    /// True if nothing is known of it.
    pub abstained: bool,
    /// Similar failures, most similar first.
    pub matches: Vec<FixMatch>,
    /// Other places in sessions that have its line or most of its words, the best first; if there are none, the nearest
    /// ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accounts: Vec<FixAccount>,
    /// Sessions that contain some of its words but were not read. Those with its rarest words were.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_sessions: u32,
    /// How fresh the answer is.
    pub freshness: Freshness,
}

/// A known failure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FixMatch {
    /// Its line, as last seen.
    pub error: String,
    /// True if it differs only in numbers and paths.
    pub same: bool,
    /// The commands that failed with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// Number of times seen.
    pub seen: u32,
    /// Number of sessions in which it was seen.
    pub sessions: u32,
    /// Number of times it went away.
    pub resolved: u32,
    /// Number of times the same command ran again with unknown outcome.
    #[serde(skip_serializing_if = "is_zero")]
    pub unsure: u32,
    /// RFC 3339 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<String>,
    /// Changes made before the same command or test succeeded, most frequent first.
    pub fixes: Vec<FixRow>,
    /// Changes after which it still failed.
    pub tried_in_vain: Vec<FixTried>,
    /// Its last occurrence that did not go away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unresolved: Option<Quote>,
    /// What was said and done about its last occurrence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<FixAccount>,
}

/// A place that has the words of a failure, with what was said and done there. It quotes: no cause and no fix is claimed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FixAccount {
    /// The line that has the words.
    pub text: String,
    /// Where it stands: `output`, `prompt`, `reply`, or `summary` for the one of a compaction.
    pub role: String,
    /// True if it is the failure's own line, except for numbers and paths.
    pub same: bool,
    /// Number of times the line came in this session.
    pub times: u32,
    /// The session.
    pub session_id: String,
    /// Its project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The transcript line.
    pub line: u64,
    /// RFC 3339 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The agent's words before a change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<Quote>,
    /// Files changed after it, up to the next prompt or until what failed succeeded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The first lines that these changes added, each after its file: `app.toml: retries = 3`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<String>,
    /// Commands run after it, up to the first changed file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// Files changed and commands run before the line came again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<String>,
    /// With what the agent ended before the next prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concluded: Option<Quote>,
}

/// A change that made a failure go away.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FixRow {
    /// A description of its last occurrence, in one sentence.
    pub text: String,
    /// Files changed in between.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Commands run in between.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// Number of occurrences.
    pub count: u32,
    /// The last session.
    pub session_id: String,
    /// Its project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The transcript line of the success.
    pub line: u64,
    /// RFC 3339 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

/// A change that did not help.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FixTried {
    /// Files changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Commands run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// The line it failed with then, if different.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub then: String,
    /// Number of occurrences.
    pub count: u32,
    /// The last session.
    pub session_id: String,
    /// The transcript line of the failure that followed.
    pub line: u64,
    /// RFC 3339 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

/// Result of `blame`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Blame {
    /// The answer in one sentence.
    pub message: String,
    /// The matched file, relative to its project. The requested path if it is a directory or a pattern, or if several
    /// or no files match.
    pub path: String,
    /// Its project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Sessions that changed it, read it or made decisions about it, newest first.
    pub sessions: Vec<BlameSession>,
    /// Further sessions.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_sessions: u32,
    /// Other files that match if it is unclear which is meant: ask for one of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<BlameCandidate>,
    /// How fresh the answer is.
    pub freshness: Freshness,
}

/// A session that touched a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BlameSession {
    /// The session.
    pub session_id: String,
    /// Its title.
    pub title: String,
    /// When it ended, RFC 3339 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// True if it changed the file.
    pub modified: bool,
    /// Lines added; with `removed` 0, perhaps unknown.
    #[serde(skip_serializing_if = "is_zero")]
    pub added: u32,
    /// Lines removed.
    #[serde(skip_serializing_if = "is_zero")]
    pub removed: u32,
    /// Number of times it read the file.
    #[serde(skip_serializing_if = "is_zero")]
    pub read: u32,
    /// The transcript line of the first change, or else of the first read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Its old and new name if it was renamed: `src/a.rs -> src/b.rs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renamed: Option<String>,
    /// For a directory or a pattern: its first files. For a file: its name at that time, if different.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Decisions that name it, or were made between the same two prompts as its change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<Quote>,
    /// Who wrote it, if it is not of this home.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<super::Author>,
}

/// A file that may be meant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BlameCandidate {
    /// Path relative to its project.
    pub path: String,
    /// Its project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Sessions that touched it.
    pub sessions: u32,
    /// The path to ask for instead; absolute if known.
    pub ask: String,
}

/// Result of `patterns`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Patterns {
    /// The answer in one sentence.
    pub message: String,
    /// The project the answer is about; absent for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The agent the answer is about; absent for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Sessions examined, the newest ones.
    pub sessions: u32,
    /// Older sessions that were not examined.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_sessions: u32,
    /// Recurring sequences of steps, most frequent first.
    pub sequences: Vec<PatternSequence>,
    /// The most frequent sequences of two steps, if requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<PatternSequence>,
    /// Commands that fail more often than not.
    pub mostly_failing: Vec<PatternCommand>,
    /// Attempts that failed at least three times in a row.
    pub retry_loops: Vec<PatternLoop>,
    /// Entries of all lists that were left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: u32,
    /// The most frequent sequences of two steps as a graph, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diagram: Option<String>,
    /// How fresh the answer is.
    pub freshness: Freshness,
}

/// A recurring sequence of steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PatternSequence {
    /// Tools and programs.
    pub steps: Vec<String>,
    /// Number of occurrences.
    pub count: u32,
    /// Times the last step succeeded.
    pub ok: u32,
    /// Times it failed.
    pub failed: u32,
    /// The share of known outcomes that succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success_rate: Option<f64>,
    /// Number of sessions in which it occurred.
    pub sessions: u32,
}

/// A command that fails more often than not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PatternCommand {
    /// A program, or one of its command lines.
    pub command: String,
    /// Outcomes of its runs.
    #[serde(flatten)]
    pub runs: Runs,
    /// The newest failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<Quote>,
}

/// A repeated failing attempt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PatternLoop {
    /// The program or tool.
    pub what: String,
    /// Number of such loops.
    pub loops: u32,
    /// Failures in all loops.
    pub failures: u32,
    /// Failures in the longest loop.
    pub longest: u32,
    /// Loops that ended in success.
    pub resolved: u32,
    /// Loops without a change between the failures.
    pub without_edits: u32,
    /// The last failure of the newest loop.
    pub last: Quote,
}
