//! The results of `how`, `fix`, `blame` and `patterns`. Rates are shares from 0 to 1 and are left out where fewer than
//! three outcomes are known; counts are always told.

use serde::{Deserialize, Serialize};

use super::Freshness;

/// Result of `how`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct How {
    /// The answer in one sentence.
    pub message: String,
    /// What was asked for.
    pub command: String,
    /// The project that the answer is about; without one about all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// All runs, and how they ended.
    #[serde(flatten)]
    pub runs: Runs,
    /// Sessions in which it was run.
    pub sessions: u32,
    /// Older sessions in which it was run too, and that were not read.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_sessions: u32,
    /// Where the caller's own project answers: its runs in all others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<Runs>,
    /// RFC 3339 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<String>,
    /// The lines it is run by, the most used first.
    pub lines: Vec<HowLine>,
    /// Different lines that are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_lines: u32,
    /// The newest failure: its telling line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<Place>,
    /// Of a program that was asked for without a subcommand: what was run of it, the most frequent first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subcommands: Vec<HowSubcommand>,
    /// How fresh the answer is.
    pub freshness: Freshness,
}

/// How runs ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Runs {
    /// How often it was run: all that follow together.
    pub count: u32,
    /// Times it is known to have succeeded.
    pub ok: u32,
    /// Times it is known to have failed.
    pub failed: u32,
    /// Times nobody can tell: in the background, without an answer, its exit code hidden.
    #[serde(skip_serializing_if = "is_zero")]
    pub unknown: u32,
    /// Times it was refused.
    #[serde(skip_serializing_if = "is_zero")]
    pub denied: u32,
    /// Times it was interrupted.
    #[serde(skip_serializing_if = "is_zero")]
    pub interrupted: u32,
    /// The share that succeeded of those whose outcome is known; none of fewer than three.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success_rate: Option<f64>,
    /// Of how many runs the rate is: `ok` and `failed` together.
    #[serde(skip_serializing_if = "is_zero")]
    pub rate_of: u32,
    /// Of the unknown, those before a pipe, which hides how they ended.
    #[serde(skip_serializing_if = "is_zero")]
    pub shared: u32,
}

/// A line of a command.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HowLine {
    /// The line, without a leading `cd`.
    pub text: String,
    /// Outcomes of its runs.
    #[serde(flatten)]
    pub runs: Runs,
    /// RFC 3339 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<String>,
    /// How the last run ended: `ok failed denied interrupted unknown`.
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

/// Something that was said, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Place {
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
    /// The line of what was given that tells what went wrong.
    pub error: String,
    /// Failures that are like it, the most alike first.
    pub matches: Vec<FixMatch>,
    /// Sessions with words of it that were not read: those with its rarest words are.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_sessions: u32,
    /// How fresh the answer is.
    pub freshness: Freshness,
}

/// A failure that was seen before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FixMatch {
    /// The line as it was seen last.
    pub error: String,
    /// Whether it is the same but for numbers and places.
    pub same: bool,
    /// What failed with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// How often it was seen.
    pub seen: u32,
    /// Number of sessions in which it occurred.
    pub sessions: u32,
    /// How often it went away.
    pub resolved: u32,
    /// How often the same ran again, and nobody knows how that ended.
    #[serde(skip_serializing_if = "is_zero")]
    pub unsure: u32,
    /// RFC 3339 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<String>,
    /// What was changed before the same command or test succeeded, the most frequent first.
    pub fixes: Vec<FixRow>,
    /// What was changed, and it failed all the same.
    pub tried_in_vain: Vec<FixTried>,
    /// Where it is seen last without having gone away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unresolved: Option<Place>,
}

/// What made a failure go away.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FixRow {
    /// In a sentence, as it was the last time.
    pub text: String,
    /// Files changed between.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Commands run between.
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

/// What did not help.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FixTried {
    /// Files changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Commands run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// With what it failed then, where that is another line.
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
    /// The file that is meant, as its project has it; what was asked for where it is a directory or a pattern, where several
    /// fit, or none.
    pub path: String,
    /// Its project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Sessions that changed it, read it or decided about it, newest first.
    pub sessions: Vec<BlameSession>,
    /// Sessions that are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_sessions: u32,
    /// Files that fit as well, when nobody can tell which is meant: ask for one of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<BlameCandidate>,
    /// How fresh the answer is.
    pub freshness: Freshness,
}

/// A session that had to do with a file.
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
    /// Whether it changed the file.
    pub modified: bool,
    /// Lines added.
    #[serde(skip_serializing_if = "is_zero")]
    pub added: u32,
    /// Lines removed.
    #[serde(skip_serializing_if = "is_zero")]
    pub removed: u32,
    /// Times it read it.
    #[serde(skip_serializing_if = "is_zero")]
    pub read: u32,
    /// The transcript line of the first change, or reading.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// What it was renamed from and to, if it was: `src/a.rs -> src/b.rs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renamed: Option<String>,
    /// Of a directory or a pattern its files, the first ones; of a file what it was called then, if that was otherwise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Decisions that name it, or stand between the same two prompts as its change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<Place>,
}

/// A file that may be meant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BlameCandidate {
    /// As its project has it.
    pub path: String,
    /// Its project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Sessions that had to do with it.
    pub sessions: u32,
    /// What to ask for instead: its whole path, where that is known.
    pub ask: String,
}

/// Result of `patterns`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Patterns {
    /// The answer in one sentence.
    pub message: String,
    /// The project that the answer is about; without one about all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Sessions that were looked at, the newest ones.
    pub sessions: u32,
    /// Older sessions that were not.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_sessions: u32,
    /// Steps that follow each other, the most frequent first.
    pub sequences: Vec<PatternSequence>,
    /// Commands that fail more often than not.
    pub mostly_failing: Vec<PatternCommand>,
    /// What was tried at least three times in a row and failed.
    pub retry_loops: Vec<PatternLoop>,
    /// Entries of all lists that are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: u32,
    /// The most frequent sequences of two steps as a graph, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diagram: Option<String>,
    /// How fresh the answer is.
    pub freshness: Freshness,
}

/// Steps that follow each other.
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
    /// The share that succeeded of those whose outcome is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success_rate: Option<f64>,
    /// Number of sessions in which it occurred.
    pub sessions: u32,
}

/// A command that fails more often than not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PatternCommand {
    /// A program, or one line of it.
    pub command: String,
    /// Outcomes of its runs.
    #[serde(flatten)]
    pub runs: Runs,
    /// The newest failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<Place>,
}

/// What was tried again and again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PatternLoop {
    /// A program, or a tool.
    pub what: String,
    /// How often there was such a loop.
    pub loops: u32,
    /// Failures in all of them.
    pub failures: u32,
    /// Failures in a row of the longest.
    pub longest: u32,
    /// How many loops ended with a success.
    pub resolved: u32,
    /// In how many nothing was changed between the failures.
    pub without_edits: u32,
    /// The newest: with what it failed last.
    pub last: Place,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}
