//! Directories whose transcripts are read.

use std::path::{Path, PathBuf};

use baton_conversation::item::Agent;
use baton_conversation::transcript;

/// A directory whose transcripts are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// The agent that writes there.
    pub agent: Agent,
    /// The absolute directory above its transcripts, with one folder per project or per year.
    pub projects: PathBuf,
}

impl Root {
    /// The root of Claude Code's configuration directory (`~/.claude`).
    pub fn claude_code(config_dir: &Path) -> Self {
        Self { agent: Agent::ClaudeCode, projects: config_dir.join("projects") }
    }

    /// The roots in an agent's directory: Codex has an archive in addition to its sessions.
    pub fn of_agent(agent: Agent, directory: &Path) -> Vec<Self> {
        let folders = transcript::layout(agent).folders.iter();
        folders.map(|folder| Self { agent, projects: directory.join(folder) }).collect()
    }
}
