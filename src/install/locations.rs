//! Where the agents' files and our own programs are.

use std::path::{Path, PathBuf};

use crate::environment::{Environment, in_time};
use crate::program;
use baton_protocol::Agent;

/// An agent that Baton can be set up in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Host {
    /// Claude Code
    Claude,
    /// Codex
    Codex,
}

impl Host {
    const ALL: [Self; 2] = [Self::Claude, Self::Codex];

    /// The name of its program.
    pub(crate) fn program(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
        }
    }

    /// Its display name.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
        }
    }

    /// The agents on this machine: those whose program is on the path or whose folder exists. If there is none, Claude
    /// Code, which may be installed later.
    pub(crate) fn found(environment: &Environment) -> Vec<Self> {
        let folder = |host| match host {
            Self::Claude => environment.directory(Agent::ClaudeCode).to_owned(),
            Self::Codex => environment.directory(Agent::Codex).to_owned(),
        };
        // A folder that does not answer counts as existing; reading it will report the problem.
        let has_folder = |folder: PathBuf| in_time(move || folder.is_dir()).unwrap_or(true);
        let is_there = |host: &Self| has_folder(folder(*host)) || program::find(host.program()).is_some();
        let found: Vec<Self> = Self::ALL.into_iter().filter(is_there).collect();
        if found.is_empty() { vec![Self::Claude] } else { found }
    }
}

/// Scope of the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Scope {
    /// For you, in all projects
    User,
    /// For everybody who works in this project
    Project,
}

/// The agent's files of one scope.
#[derive(Debug, Clone)]
pub(crate) struct AgentFiles {
    pub(crate) scope: Scope,
    /// `settings.json`.
    pub(crate) settings: PathBuf,
    /// `CLAUDE.md`.
    pub(crate) guidance: PathBuf,
    /// `.mcp.json` of a project. `None` for a user, whose servers are in `~/.claude.json`, which running sessions
    /// rewrite.
    pub(crate) servers: Option<PathBuf>,
    /// The project's folder; links in it must not cause changes outside.
    pub(crate) top: Option<PathBuf>,
}

impl AgentFiles {
    /// Codex's files; its hooks have the shape of Claude Code's settings.
    pub(crate) fn for_codex(environment: &Environment) -> Self {
        let folder = environment.directory(Agent::Codex);
        let (settings, guidance) = (folder.join(super::hooks::CODEX_HOOKS), folder.join("AGENTS.md"));
        Self { scope: Scope::User, settings, guidance, servers: None, top: None }
    }

    /// The files of a scope, seen from a directory.
    pub(crate) fn for_scope(scope: Scope, environment: &Environment, directory: &Path) -> Self {
        match scope {
            Scope::User => {
                let folder = environment.directory(Agent::ClaudeCode);
                let (settings, guidance) = (folder.join("settings.json"), folder.join("CLAUDE.md"));
                Self { scope, settings, guidance, servers: None, top: None }
            }
            Scope::Project => {
                let top = top(directory);
                Self {
                    scope,
                    settings: top.join(".claude").join("settings.json"),
                    guidance: top.join("CLAUDE.md"),
                    servers: Some(top.join(".mcp.json")),
                    top: Some(top),
                }
            }
        }
    }

    /// Other files that affect hooks here: the ones that override the settings, and the managed ones above all.
    pub(crate) fn overriding(&self) -> Vec<PathBuf> {
        let managed = match std::env::consts::OS {
            "macos" => "/Library/Application Support/ClaudeCode/managed-settings.json",
            "windows" => "C:/Program Files/ClaudeCode/managed-settings.json",
            _ => "/etc/claude-code/managed-settings.json",
        };
        vec![self.settings.with_file_name("settings.local.json"), PathBuf::from(managed)]
    }
}

/// Files in which Claude Code may register a user's servers; the first that exists counts.
pub(crate) fn registries(environment: &Environment) -> Vec<PathBuf> {
    let home = std::env::home_dir().map(|home| home.join(".claude.json"));
    std::iter::once(environment.directory(Agent::ClaudeCode).join(".claude.json")).chain(home).collect()
}

/// The root of the work tree that contains a directory, or the directory itself.
fn top(directory: &Path) -> PathBuf {
    directory.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(directory).to_owned()
}

/// Absolute paths of our own programs.
#[derive(Debug, Clone)]
pub(crate) struct Programs {
    /// `baton`.
    pub(crate) baton: PathBuf,
    /// `baton-hook` beside it, if it exists.
    pub(crate) hook: Option<PathBuf>,
}

impl Programs {
    /// The programs beside this process's executable.
    pub(crate) fn own() -> std::io::Result<Self> {
        let baton = std::env::current_exe()?;
        let hook = baton.with_file_name(format!("baton-hook{}", std::env::consts::EXE_SUFFIX));
        let hook = Some(hook).filter(|hook| program::is_program(hook));
        Ok(Self { baton, hook })
    }

    /// True if they are in a build directory, where the next clean removes them.
    pub(crate) fn are_built_here(&self) -> bool {
        self.baton.parent().is_some_and(|folder| folder.join("deps").is_dir() && folder.join(".fingerprint").is_dir())
    }
}

/// `BATON_HOME` if it differs from the default.
pub(crate) fn other_home(environment: &Environment) -> Option<&Path> {
    let usual = std::env::home_dir().map(|home| home.join(".baton"));
    Some(environment.home.as_path()).filter(|home| usual.as_deref() != Some(home))
}
