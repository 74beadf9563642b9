//! Where agents keep what is changed, and where our own programs lie.

use std::path::{Path, PathBuf};

use crate::environment::{Environment, in_time};
use crate::program;

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

    /// Its program.
    pub(crate) fn program(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
        }
    }

    /// Its name.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
        }
    }

    /// The agents on this machine: their program is on the path, or their folder is there. Where there is none, Claude Code
    /// may still come.
    pub(crate) fn found(environment: &Environment) -> Vec<Self> {
        let folder = |host| match host {
            Self::Claude => environment.claude_config_dir.clone(),
            Self::Codex => environment.codex_home.clone(),
        };
        // One that does not answer is there: whoever reads it says so.
        let has_folder = |folder: PathBuf| in_time(move || folder.is_dir()).unwrap_or(true);
        let is_there = |host: &Self| has_folder(folder(*host)) || program::find(host.program()).is_some();
        let found: Vec<Self> = Self::ALL.into_iter().filter(is_there).collect();
        if found.is_empty() { vec![Self::Claude] } else { found }
    }
}

/// For whom something is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Scope {
    /// For you, in all projects
    User,
    /// For everybody who works in this project
    Project,
}

/// The files of one scope.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) scope: Scope,
    /// `settings.json`.
    pub(crate) settings: PathBuf,
    /// `CLAUDE.md`.
    pub(crate) guidance: PathBuf,
    /// `.mcp.json` of a project. For a user `~/.claude.json` is the place, which running sessions rewrite.
    pub(crate) servers: Option<PathBuf>,
    /// The project's folder: nothing that it brings may have files changed elsewhere.
    pub(crate) top: Option<PathBuf>,
}

impl Place {
    /// Where Codex' files lie: its hooks have the shape of Claude Code's settings.
    pub(crate) fn of_codex(environment: &Environment) -> Self {
        let folder = &environment.codex_home;
        let (settings, guidance) = (folder.join(super::hooks::CODEX_HOOKS), folder.join("AGENTS.md"));
        Self { scope: Scope::User, settings, guidance, servers: None, top: None }
    }

    /// Where the scope's files lie, seen from a directory.
    pub(crate) fn of(scope: Scope, environment: &Environment, directory: &Path) -> Self {
        match scope {
            Scope::User => {
                let folder = &environment.claude_config_dir;
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

    /// The other files that say something about hooks here: what overrides the settings, and what rules them all.
    pub(crate) fn overriding(&self) -> Vec<PathBuf> {
        let managed = match std::env::consts::OS {
            "macos" => "/Library/Application Support/ClaudeCode/managed-settings.json",
            "windows" => "C:/Program Files/ClaudeCode/managed-settings.json",
            _ => "/etc/claude-code/managed-settings.json",
        };
        vec![self.settings.with_file_name("settings.local.json"), PathBuf::from(managed)]
    }
}

/// Where Claude Code names its servers for a user; the first that is there counts.
pub(crate) fn registries(environment: &Environment) -> Vec<PathBuf> {
    let home = std::env::home_dir().map(|home| home.join(".claude.json"));
    std::iter::once(environment.claude_config_dir.join(".claude.json")).chain(home).collect()
}

/// The top of the work tree that a directory lies in, or the directory.
fn top(directory: &Path) -> PathBuf {
    directory.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(directory).to_owned()
}

/// Our own programs, by their whole paths.
#[derive(Debug, Clone)]
pub(crate) struct Programs {
    /// `baton`.
    pub(crate) baton: PathBuf,
    /// `baton-hook` beside it, if it is there.
    pub(crate) hook: Option<PathBuf>,
}

impl Programs {
    /// Those of this process.
    pub(crate) fn own() -> std::io::Result<Self> {
        let baton = std::env::current_exe()?;
        let hook = baton.with_file_name(format!("baton-hook{}", std::env::consts::EXE_SUFFIX));
        let hook = Some(hook).filter(|hook| program::is_program(hook));
        Ok(Self { baton, hook })
    }

    /// Whether they lie where a build puts them, and the next clean takes them away.
    pub(crate) fn are_built_here(&self) -> bool {
        self.baton.parent().is_some_and(|folder| folder.join("deps").is_dir() && folder.join(".fingerprint").is_dir())
    }
}

/// `BATON_HOME`, where it is not what a program without it would take.
pub(crate) fn other_home(environment: &Environment) -> Option<&Path> {
    let usual = std::env::home_dir().map(|home| home.join(".baton"));
    Some(environment.home.as_path()).filter(|home| usual.as_deref() != Some(home))
}
