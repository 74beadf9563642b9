//! Conversation in, episode out: what a session was for, what was done, what failed and how it ended.
//!
//! Deterministic and offline. Every line of an [`Episode`] points at the transcript line that says it.

use std::collections::BTreeMap;

use crate::record::Timestamp;

/// What one session comes to, as `show` prints it. Field order is the order of the contract.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Episode {
    /// The title: the best that the transcript gives, else the first line of the objective.
    pub title: String,
    /// What the session was for: its first typed prompt.
    pub objective: String,
    /// What was done, by category (`changes`, `commands`, `answers`), in transcript order.
    pub work_completed: BTreeMap<String, Vec<Pointed>>,
    /// What failed, with the later success that resolved it.
    pub errors: Vec<ErrorLine>,
    /// Files read, by first reading.
    pub files_read: Vec<FileRead>,
    /// Files written or edited, by first change.
    pub files_modified: Vec<FileModified>,
    /// Commands run, equal ones counted once, by first run.
    pub commands: Vec<CommandLine>,
    /// One paragraph for whoever continues.
    pub continuation_context: String,
}

/// A text with the transcript line that says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointed {
    /// What is said, bounded.
    pub text: String,
    /// Transcript line, from 1.
    pub line: u64,
    /// When.
    pub at: Option<Timestamp>,
}

/// A failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorLine {
    /// What failed and its first telling line.
    pub text: String,
    /// Transcript line of the failed result.
    pub line: u64,
    /// When.
    pub at: Option<Timestamp>,
    /// The later success of the same command or test, and what was edited between.
    pub resolution: Option<Pointed>,
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRead {
    /// The path as given.
    pub path: String,
    /// Transcript line of the first reading.
    pub line: u64,
    /// How often.
    pub count: u32,
}

/// A file that was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileModified {
    /// The path as given.
    pub path: String,
    /// Transcript line of the first change.
    pub line: u64,
    /// Lines added in all.
    pub added: u32,
    /// Lines removed in all.
    pub removed: u32,
}

/// A command that was run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// The command, redacted and bounded.
    pub text: String,
    /// Transcript line of the last run.
    pub line: u64,
    /// How the last run went: `ok`, `failed`, `denied`, `interrupted`, `unknown`.
    pub outcome: &'static str,
    /// Its exit code, where known.
    pub exit_code: Option<i32>,
    /// How often it was run.
    pub count: u32,
}
