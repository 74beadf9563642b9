//! An episode as `show` prints it, of either tier: what `replay-fixtures/schema/episode.schema.json` describes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::is_zero;

/// An episode, of either tier.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Episode {
    /// The episode's uuid: the same content always has the same one.
    pub uuid: String,
    /// `extractive` or `enriched`.
    pub tier: String,
    /// `session_<first 8 of the id>`.
    pub name: String,
    /// The session's title.
    pub title: String,
    /// What the session was for.
    pub objective: String,
    /// What was done, by category.
    pub work_completed: BTreeMap<String, Vec<Line>>,
    /// What was decided, by whom and why.
    pub decisions: Vec<Line>,
    /// What failed, and what resolved it.
    pub errors: Vec<ErrorLine>,
    /// Files read.
    pub files_read: Vec<FileRead>,
    /// Files changed.
    pub files_modified: Vec<FileModified>,
    /// Commands run.
    pub commands: Vec<CommandLine>,
    /// What was looked up outside, with what came of it.
    pub external_research: Vec<Line>,
    /// What was stored elsewhere, by the full name of the tool.
    pub knowledge_stored: BTreeMap<String, Vec<Line>>,
    /// What is open at the end.
    pub unresolved: Vec<Line>,
    /// What comes next.
    pub next_steps: Vec<Line>,
    /// One paragraph for whoever continues.
    pub continuation_context: String,
    /// The whole episode as text.
    pub content: String,
    /// Numbers about the session.
    pub metadata: Metadata,
    /// By the name of a field that is a text of its own, who says it: `model` for `objective` and `continuation_context` where
    /// only a model does; absent where none does.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub said_by: BTreeMap<String, String>,
    /// Parts of a very long conversation, between its beginning and its end, that nothing of this is made of but what was
    /// typed and which files were changed; absent from nearly every one.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

/// Numbers about a session.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Metadata {
    /// Tools of MCP servers that were called, by their full names, sorted.
    pub mcp_tools_used: Vec<String>,
    /// Time of the first item, RFC 3339 UTC.
    pub start_time: Option<String>,
    /// Time of the last item, RFC 3339 UTC.
    pub end_time: Option<String>,
    /// Whole seconds between the two.
    pub duration_seconds: u64,
    /// Typed prompts plus assistant messages that carry text.
    pub message_count: u64,
    /// About how many tokens the transcript has as it lies on disk.
    pub token_count: u64,
    /// About how many tokens are left of it after the filter.
    pub filtered_token_count: u64,
    /// What a summary by the default model would cost at least, in US dollars: its text once, and a whole answer.
    pub llm_cost_estimate: f64,
}

/// A text and the transcript line that says it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Line {
    /// The text.
    pub text: String,
    /// Transcript line, from 1.
    pub line: u64,
    /// RFC 3339 UTC.
    pub at: Option<String>,
    /// `model` where only a model says it; absent where a person, a program or a file does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said_by: Option<String>,
}

/// A failure.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ErrorLine {
    /// What failed.
    #[serde(flatten)]
    pub error: Line,
    /// What resolved it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Line>,
}

/// A file that was read.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FileRead {
    /// The path.
    pub path: String,
    /// First reading.
    pub line: u64,
    /// Number of occurrences.
    pub count: u32,
}

/// A file that was changed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FileModified {
    /// The path.
    pub path: String,
    /// First change.
    pub line: u64,
    /// Lines added.
    pub added: u32,
    /// Lines removed.
    pub removed: u32,
}

/// A command that was run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CommandLine {
    /// The command.
    pub text: String,
    /// Last run.
    pub line: u64,
    /// How the last run went.
    pub outcome: String,
    /// Its exit code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Number of occurrences.
    pub count: u32,
    /// How many of these runs succeeded; absent where none did.
    #[serde(skip_serializing_if = "is_none")]
    pub ok: u32,
    /// How many failed; absent where none did.
    #[serde(skip_serializing_if = "is_none")]
    pub failed: u32,
}

fn is_none(count: &u32) -> bool {
    *count == 0
}
