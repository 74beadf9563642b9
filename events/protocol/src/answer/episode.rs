//! An episode of either tier as `show` prints it, described by `replay-fixtures/schema/episode.schema.json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::is_zero;

/// An episode, of either tier.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Episode {
    /// The episode's uuid. The same content always has the same one.
    pub uuid: String,
    /// `extractive` or `enriched`.
    pub tier: String,
    /// `session_<first 8 of the id>`.
    pub name: String,
    /// The session's title.
    pub title: String,
    /// The purpose of the session.
    pub objective: String,
    /// Work done, by category.
    pub work_completed: BTreeMap<String, Vec<Line>>,
    /// Decisions, with their authors and reasons.
    pub decisions: Vec<Line>,
    /// Decisions that were overruled later. Absent if there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub superseded: Vec<SupersededLine>,
    /// Prompts with what was done for them and what the agent concluded, in order.
    pub exchanges: Vec<Exchange>,
    /// Failures and their resolutions.
    pub errors: Vec<ErrorLine>,
    /// Files read.
    pub files_read: Vec<FileRead>,
    /// Files changed.
    pub files_modified: Vec<FileModified>,
    /// Commands run.
    pub commands: Vec<CommandLine>,
    /// External lookups and their results.
    pub external_research: Vec<Line>,
    /// Data stored elsewhere, by the full name of the tool.
    pub knowledge_stored: BTreeMap<String, Vec<Line>>,
    /// Open ends.
    pub unresolved: Vec<Line>,
    /// Next steps.
    pub next_steps: Vec<Line>,
    /// The work tree at the end.
    pub state: WorkState,
    /// One paragraph for continuing the session.
    pub continuation_context: String,
    /// The whole episode as text.
    pub content: String,
    /// Figures about the session.
    pub metadata: Metadata,
    /// The command line that goes on with the session in its agent. Absent for subagents, and for agents without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
    /// For fields that are one text: `model` for `objective` and `continuation_context` if only a model says it, and
    /// `person` for a `title` that a person gave. Absent if there is none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub said_by: BTreeMap<String, String>,
    /// Entries that a person has corrected and the lists no longer have. Absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub corrected: Vec<CorrectedLine>,
    /// Parts in the middle of a very long conversation from which only prompts and changed files were used. Absent if
    /// zero.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

/// A prompt, and everything up to the next one.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Exchange {
    /// Transcript line of the prompt, else of the conclusion; 0 if there is neither.
    pub line: u64,
    /// Time of it, RFC 3339 UTC.
    pub at: Option<String>,
    /// What the person asked. Absent for work before the first prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Line>,
    /// The agent's last message before the next prompt, at most 1,500 characters, with its line breaks. Absent if the agent
    /// only announced what it was about to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conclusion: Option<Line>,
    /// Number of tool calls by act: `shell`, `edit`, `read`, `search`, `fetch`, `plan`, `todo`, `ask`, `spawn`, `mcp`, `other`.
    pub acts: BTreeMap<String, u32>,
    /// Files that were changed.
    pub files: Vec<String>,
    /// Commands that did more than look.
    pub commands: Vec<ExchangeCommand>,
    /// Commits, as `hash subject`.
    pub commits: Vec<String>,
    /// Addresses of pull requests that were opened.
    pub prs: Vec<String>,
    /// True if a person interrupted the agent. Absent if false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
}

/// A command of an exchange.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ExchangeCommand {
    /// The command.
    pub text: String,
    /// Transcript line of its last run.
    pub line: u64,
    /// Outcome of its last run: `ok`, `failed`, `denied`, `interrupted`, `unknown`.
    pub outcome: String,
}

/// Facts about the work tree at the end of a session.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkState {
    /// The git branch, if recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Pull requests that were opened, as addresses without a scheme. Absent if there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pull_requests: Vec<String>,
    /// Files that were edited and not committed, in a session that commits or looks after it. Absent if there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uncommitted: Vec<String>,
    /// The strongest test, build or lint that passed after the last change; if none did, the last one that passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
}

/// Figures about a session.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Metadata {
    /// Full names of the MCP tools called, sorted.
    pub mcp_tools_used: Vec<String>,
    /// Time of the first item, RFC 3339 UTC.
    pub start_time: Option<String>,
    /// Time of the last item, RFC 3339 UTC.
    pub end_time: Option<String>,
    /// Whole seconds between the two.
    pub duration_seconds: u64,
    /// Number of typed prompts and assistant messages with text.
    pub message_count: u64,
    /// Approximate number of tokens of the transcript file.
    pub token_count: u64,
    /// Approximate number of tokens left by the filter.
    pub filtered_token_count: u64,
    /// Least cost of a summary by the default model, in US dollars: its text once, and a full answer.
    pub llm_cost_estimate: f64,
}

/// A text and the transcript line it comes from.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Line {
    /// The text.
    pub text: String,
    /// Transcript line, from 1.
    pub line: u64,
    /// RFC 3339 UTC.
    pub at: Option<String>,
    /// `model` if only a model says it. Absent if a person, a program or a file does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said_by: Option<String>,
}

/// A decision that was overruled later.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SupersededLine {
    /// The decision.
    #[serde(flatten)]
    pub entry: Line,
    /// What overruled it: a later decision, or what a person said. Absent if a person's correction did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Line>,
}

/// An entry that a person has corrected.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CorrectedLine {
    /// `wrong`, `superseded`, `done` or `not_a_fix`.
    pub verdict: String,
    /// The entry. Of a fix: the failure, and what was told to have resolved it.
    #[serde(flatten)]
    pub entry: Line,
}

/// A failure.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ErrorLine {
    /// What failed.
    #[serde(flatten)]
    pub error: Line,
    /// Its resolution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Line>,
}

/// A file that was read.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FileRead {
    /// The path.
    pub path: String,
    /// Transcript line of the first read.
    pub line: u64,
    /// Number of reads.
    pub count: u32,
}

/// A file that was changed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FileModified {
    /// The path.
    pub path: String,
    /// Transcript line of the first change.
    pub line: u64,
    /// Lines added; 0 like the other if they are unknown.
    pub added: u32,
    /// Lines removed.
    pub removed: u32,
    /// True if it was deleted last.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
}

/// A command that was run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CommandLine {
    /// The command.
    pub text: String,
    /// Transcript line of the last run.
    pub line: u64,
    /// Outcome of the last run.
    pub outcome: String,
    /// Its exit code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Number of runs.
    pub count: u32,
    /// Number of successful runs; absent if zero.
    #[serde(skip_serializing_if = "is_none")]
    pub ok: u32,
    /// Number of failed runs; absent if zero.
    #[serde(skip_serializing_if = "is_none")]
    pub failed: u32,
}

fn is_none(count: &u32) -> bool {
    *count == 0
}
