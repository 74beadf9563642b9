//! Where the agents' files and our own programs are.

use std::path::{Path, PathBuf};

use baton_protocol::Agent;

use super::agents::{Host, Servers};
use baton_base::bounded_fs::in_time;
use baton_base::program;
use baton_home::environment::Environment;

/// Scope of the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Scope {
    /// For you, in all projects
    User,
    /// For everybody who works in this project
    Project,
}

/// An agent's files of one scope.
#[derive(Debug, Clone)]
pub struct AgentFiles {
    pub(crate) scope: Scope,
    /// The file for hooks: `settings.json` of Claude Code.
    pub settings: PathBuf,
    /// An existing file that the agent reads hooks from instead.
    pub instead: Option<PathBuf>,
    /// Baton's own file that calls the hooks, if the agent has no file with entries for them.
    pub script: Option<PathBuf>,
    /// The file for guidance: `CLAUDE.md`. `None` if the agent has none that it reliably reads.
    pub(crate) guidance: Option<PathBuf>,
    /// The file for MCP servers, such as `.mcp.json` of a project. `None` if the agent has none, or if only its own
    /// command may change it: running sessions of Claude Code rewrite `~/.claude.json`.
    pub servers: Option<PathBuf>,
    /// The project's folder; links in it must not cause changes outside.
    pub(crate) top: Option<PathBuf>,
}

impl AgentFiles {
    /// The files of a scope, seen from a directory. Only Claude Code has project scope.
    pub fn new(host: Host, scope: Scope, environment: &Environment, directory: &Path) -> Self {
        if scope == Scope::Project {
            let top = top(directory);
            return Self {
                scope,
                settings: top.join(".claude").join("settings.json"),
                instead: None,
                script: None,
                guidance: Some(top.join("CLAUDE.md")),
                servers: Some(top.join(".mcp.json")),
                top: Some(top),
            };
        }
        let (folder, setup) = (host.folder(environment), host.setup());
        let names = match setup.servers {
            Servers::Nowhere | Servers::Command => &[],
            Servers::Files(names) => names,
        };
        // A folder that does not answer is reported where a file in it is read.
        let first_there = |names: &'static [&'static str]| {
            let paths: Vec<PathBuf> = names.iter().map(|name| folder.join(name)).collect();
            let find = || paths.into_iter().find(|path| path.symlink_metadata().is_ok());
            if names.is_empty() { None } else { in_time(find).flatten() }
        };
        Self {
            scope,
            settings: folder.join(setup.settings),
            instead: first_there(setup.elsewhere),
            script: setup.script.map(|script| folder.join(script.name)),
            guidance: setup.guidance.map(|file| folder.join(file.name)),
            servers: first_there(names).or_else(|| names.first().map(|name| folder.join(name))),
            top: None,
        }
    }

    /// Other files that affect hooks here: the ones that override the settings, and the managed ones above all.
    pub fn overriding(&self) -> Vec<PathBuf> {
        let managed = match std::env::consts::OS {
            "macos" => "/Library/Application Support/ClaudeCode/managed-settings.json",
            "windows" => "C:/Program Files/ClaudeCode/managed-settings.json",
            _ => "/etc/claude-code/managed-settings.json",
        };
        vec![self.settings.with_file_name("settings.local.json"), PathBuf::from(managed)]
    }
}

/// Files in which Claude Code may register a user's servers; the first that exists counts.
pub fn registries(environment: &Environment) -> Vec<PathBuf> {
    let home = std::env::home_dir().map(|home| home.join(".claude.json"));
    std::iter::once(environment.directory(Agent::ClaudeCode).join(".claude.json")).chain(home).collect()
}

/// The root of the work tree that contains a directory, or the directory itself.
fn top(directory: &Path) -> PathBuf {
    directory.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(directory).to_owned()
}

/// Absolute paths of our own programs.
#[derive(Debug, Clone)]
pub struct Programs {
    /// `baton`.
    pub baton: PathBuf,
    /// `baton-hook` beside it, if it exists.
    pub hook: Option<PathBuf>,
}

impl Programs {
    /// The programs beside this process's executable.
    pub fn own() -> std::io::Result<Self> {
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
pub fn other_home(environment: &Environment) -> Option<&Path> {
    let usual = std::env::home_dir().map(|home| home.join(".baton"));
    Some(environment.home.as_path()).filter(|home| usual.as_deref() != Some(home))
}
