//! The process environment: where Baton's home and the agents' directories are, and where this process works.
//!
//! # Decisions
//!
//! - The code for Windows and macOS (named pipe with the owner's ACL, no `mode` on sockets, no boot clock) is never
//!   run; CI checks that everything compiles for `x86_64-pc-windows-gnu` where that target is available.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};

use baton_protocol::{Agent, AgentHome};

use crate::endpoint::Endpoint;
use crate::hooks::Hooks;

/// The directories of Baton and the agents.
#[derive(Clone, Debug)]
pub struct Environment {
    /// Baton's own directory: `BATON_HOME`, else `~/.baton`.
    pub home: PathBuf,
    /// Each agent's directory.
    directories: BTreeMap<Agent, AgentDirectory>,
    /// The user's home, which contains every directory that no variable names.
    user: Option<PathBuf>,
    /// True if only directories that a variable names are read.
    only_named: bool,
    /// The places of variables that move a part of an agent's files.
    moved: BTreeMap<&'static str, PathBuf>,
}

/// An agent's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
struct AgentDirectory {
    path: PathBuf,
    /// True if the agent's variable names it.
    is_named: bool,
}

/// The variable that names the user's home directory.
const HOME: &str = "HOME";

/// Reason why the environment cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The user has no home directory.
    #[error("this user has no home directory; set BATON_HOME and CLAUDE_CONFIG_DIR to directories of yours")]
    NoHome,
    /// A variable holds a relative path, which would depend on the working directory.
    #[error(
        "{variable} is {holds:?}, which is not an absolute path and would be a different directory in each folder; set \
         {variable} to an absolute path{}",
        if *.variable == HOME { ", or set BATON_HOME, CLAUDE_CONFIG_DIR and CODEX_HOME" } else { ", or unset it" }
    )]
    Relative {
        /// The variable.
        variable: &'static str,
        /// Its value.
        holds: String,
    },
}

impl Environment {
    /// Reads the variables. Empty ones count as unset, except `HOME`, see [`user_home`].
    pub fn read() -> Result<Self, Error> {
        let mut directories = BTreeMap::new();
        for &agent in Agent::ALL {
            let AgentHome { variable, directory, .. } = agent.home();
            let is_named = variable.is_some_and(is_set);
            let path = match self::directory(variable, directory) {
                // Without a user's home there are no usual directories.
                Err(_) if !is_named && !matches!(agent, Agent::ClaudeCode | Agent::Codex) => continue,
                path => path?,
            };
            directories.insert(agent, AgentDirectory { path, is_named });
        }
        let parts = Agent::ALL.iter().flat_map(|agent| agent.home().moved).map(|part| part.variable);
        let place = |variable| env::var_os(variable).map(PathBuf::from).filter(|place| place.is_absolute());
        let moved = parts.filter_map(|variable| Some((variable, place(variable)?))).collect();
        let home = directory(Some("BATON_HOME"), ".baton")?;
        Ok(Self { home, directories, user: user_home(), only_named: false, moved })
    }

    /// An environment that reads only what is below this Claude Code directory.
    pub fn isolated(home: PathBuf, claude_config_dir: PathBuf) -> Self {
        let below = |agent: Agent| match agent {
            Agent::ClaudeCode => claude_config_dir.clone(),
            other => claude_config_dir.join(match other.home().directory {
                "" => other.as_str(),
                directory => directory,
            }),
        };
        let directory = |agent: Agent| AgentDirectory { path: below(agent), is_named: false };
        let directories = Agent::ALL.iter().map(|agent| (*agent, directory(*agent))).collect();
        Self { home, directories, user: Some(claude_config_dir), only_named: false, moved: BTreeMap::new() }
    }

    /// The same with another directory of an agent.
    #[must_use]
    pub fn with_directory(mut self, agent: Agent, path: PathBuf, is_named: bool) -> Self {
        self.directories.insert(agent, AgentDirectory { path, is_named });
        self
    }

    /// The same without any agent's usual directory.
    #[must_use]
    pub fn only_named(self) -> Self {
        Self { only_named: true, ..self }
    }

    /// The same with a variable that moves a part of an agent's files to `place`.
    #[must_use]
    pub fn with_moved(mut self, variable: &'static str, place: PathBuf) -> Self {
        self.moved.insert(variable, place);
        self
    }

    /// The place that a variable names for a part of an agent's files.
    pub fn moved(&self, variable: &str) -> Option<&Path> {
        self.moved.get(variable).map(PathBuf::as_path)
    }

    /// All such variables with their places.
    pub fn all_moved(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        self.moved.iter().map(|(variable, place)| (*variable, place.as_path()))
    }

    /// The same with another home.
    #[must_use]
    pub fn with_home(&self, home: PathBuf) -> Self {
        Self { home, ..self.clone() }
    }

    /// An agent's directory, whether it is read or not.
    pub fn directory(&self, agent: Agent) -> &Path {
        self.directories.get(&agent).map_or(Path::new(""), |directory| &directory.path)
    }

    /// The user's home, if the usual directories in it are read.
    pub fn searched_user_home(&self) -> Option<&Path> {
        self.user.as_deref().filter(|_| !self.only_named)
    }

    /// True if a variable names the agent's directory.
    pub fn is_named(&self, agent: Agent) -> bool {
        self.directories.get(&agent).is_some_and(|directory| directory.is_named)
    }

    /// The endpoint of the home's daemon according to its current configuration.
    pub fn endpoint(&self) -> Endpoint {
        self.endpoint_of(&Hooks::read(&self.home))
    }

    /// Like [`Environment::endpoint`], with a configuration already read.
    pub fn endpoint_of(&self, hooks: &Hooks) -> Endpoint {
        hooks.socket_path.clone().map_or_else(|| Endpoint::for_home(&self.home), Endpoint::from_path)
    }

    /// The agent's directory if it is read: the one that its variable names, or its usual one.
    pub fn read_directory(&self, agent: Agent) -> Option<&Path> {
        self.directories.get(&agent).filter(|it| it.is_named || !self.only_named).map(|it| it.path.as_path())
    }

    /// The log file of the daemon.
    pub fn log_file(&self) -> PathBuf {
        self.home.join("daemon.log")
    }
}

/// The working directories of this process: the project that its agent names, and its own directory.
pub fn working_directories() -> Vec<String> {
    let mut directories: Vec<String> = [project(), current_directory()].into_iter().flatten().collect();
    directories.dedup();
    directories
}

/// The working directory, if it is UTF-8.
pub fn current_directory() -> Option<String> {
    env::current_dir().ok().and_then(|path| path.to_str().map(str::to_owned))
}

/// The project named by the agent that started this process.
pub fn project() -> Option<String> {
    env::var("CLAUDE_PROJECT_DIR").ok().filter(|directory| !directory.is_empty())
}

fn is_set(variable: &str) -> bool {
    env::var_os(variable).is_some_and(|value| !value.is_empty())
}

/// The user's home directory. `None` if `HOME` is set but empty or relative: the system's answer would be a guess.
pub fn user_home() -> Option<PathBuf> {
    match unusable_home() {
        Some(_) => None,
        None => env::home_dir().filter(|home| home.is_absolute()),
    }
}

/// The value of `HOME`, if it is empty or relative.
fn unusable_home() -> Option<PathBuf> {
    env::var_os(HOME).filter(|_| cfg!(unix)).map(PathBuf::from).filter(|home| !home.is_absolute())
}

fn directory(variable: Option<&'static str>, below_home: &str) -> Result<PathBuf, Error> {
    let relative = |variable, path: PathBuf| Error::Relative { variable, holds: path.display().to_string() };
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    match variable.and_then(|name| Some((name, set(name)?))) {
        Some((_, path)) if path.is_absolute() => Ok(path),
        Some((name, path)) => Err(relative(name, path)),
        None => user_home()
            .map(|home| home.join(below_home))
            .ok_or_else(|| unusable_home().map_or(Error::NoHome, |home| relative(HOME, home))),
    }
}
