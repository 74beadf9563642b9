//! Directories whose transcripts are read.

use std::path::{Path, PathBuf};

use baton_conversation::item::Agent;
use baton_conversation::transcript;

/// A directory whose transcripts are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Which agent writes there.
    pub agent: Agent,
    /// The directory below which its transcripts lie, absolute: with one folder per project, or per year.
    pub projects: PathBuf,
}

impl Root {
    /// The root that Claude Code writes below its directory (`~/.claude`).
    pub fn claude_code(config_dir: &Path) -> Self {
        Self { agent: Agent::ClaudeCode, projects: config_dir.join("projects") }
    }

    /// The roots that an agent writes below its directory: Codex has an archive beside its sessions.
    pub fn of(agent: Agent, directory: &Path) -> Vec<Self> {
        let folders = transcript::layout(agent).folders.iter();
        folders.map(|folder| Self { agent, projects: directory.join(folder) }).collect()
    }
}
