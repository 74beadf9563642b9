//! Directories whose transcripts are read.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use baton_conversation::item::Agent;
use baton_conversation::transcript;
use baton_conversation::transcript::Located;

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

    /// Identifies the session of a file below this root; `None` if it is no transcript of the agent.
    pub fn classify(&self, path: &Path) -> Option<Located> {
        let below = path.strip_prefix(&self.projects).ok()?.to_str()?;
        let below = if cfg!(windows) { Cow::Owned(below.replace('\\', "/")) } else { Cow::Borrowed(below) };
        transcript::classify(self.agent, &below)
    }

    /// Deepest level below this root with transcripts; the root is 1.
    pub fn depth(&self) -> usize {
        let is_also = self.agent.home().also.iter().any(|folder| self.projects.ends_with(folder));
        if is_also { 1 } else { transcript::layout(self.agent).depth }
    }

    /// The agent's further roots below the user's home.
    pub fn additional(agent: Agent, user: &Path) -> impl Iterator<Item = Self> {
        agent.home().also.iter().map(move |folder| Self { agent, projects: user.join(folder) })
    }

    /// True if a file would be a transcript if a name in its path were allowed: names with control characters or a
    /// leading `..` are not.
    pub fn is_misnamed(&self, path: &Path) -> bool {
        let Ok(below) = path.strip_prefix(&self.projects) else { return false };
        let usable = |name: &OsStr| {
            let name = name.to_string_lossy().replace(char::is_control, "_");
            name.strip_prefix("..").map_or(name.clone(), |rest| format!("_{rest}"))
        };
        let usable: PathBuf = below.iter().map(usable).collect();
        usable != below && self.classify(&self.projects.join(usable)).is_some()
    }

    /// The roots in an agent's directory: Codex has an archive in addition to its sessions.
    pub fn of_agent(agent: Agent, directory: &Path) -> Vec<Self> {
        let folders = transcript::layout(agent).folders.iter();
        // An agent without a folder of its own for them has them in the directory itself.
        let place = |folder: &str| if folder.is_empty() { directory.to_owned() } else { directory.join(folder) };
        folders.map(|folder| Self { agent, projects: place(folder) }).collect()
    }
}
