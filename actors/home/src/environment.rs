//! The process environment: where Baton's home and the agents' directories are, and where this process works.
//!
//! # Decisions
//!
//! - The code for Windows and macOS (named pipe with the owner's ACL, no `mode` on sockets, no boot clock) is never
//!   run; CI checks that everything compiles for `x86_64-pc-windows-gnu` where that target is available.

use std::env;
use std::path::{Path, PathBuf};

use crate::endpoint::Endpoint;
use crate::hooks::Hooks;

/// The directories of Baton and the agents.
#[derive(Clone, Debug)]
pub struct Environment {
    /// Baton's own directory: `BATON_HOME`, else `~/.baton`.
    pub home: PathBuf,
    /// Claude Code's directory: `CLAUDE_CONFIG_DIR`, else `~/.claude`.
    pub claude_config_dir: PathBuf,
    /// Codex's directory: `CODEX_HOME`, else `~/.codex`.
    pub codex_home: PathBuf,
    /// Which of the two come from a variable. If one does, only those that do are read.
    pub named: Named,
}

/// Agents whose directory is set by a variable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// `CLAUDE_CONFIG_DIR` is set.
    pub claude: bool,
    /// `CODEX_HOME` is set.
    pub codex: bool,
}

/// The variable that names Claude Code's directory.
pub const CLAUDE: &str = "CLAUDE_CONFIG_DIR";
/// The variable that names Codex's directory.
pub const CODEX: &str = "CODEX_HOME";
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
        Ok(Self {
            home: directory("BATON_HOME", ".baton")?,
            claude_config_dir: directory(CLAUDE, ".claude")?,
            codex_home: directory(CODEX, ".codex")?,
            named: Named { claude: is_set(CLAUDE), codex: is_set(CODEX) },
        })
    }

    /// An environment that reads only what is below this Claude Code directory.
    pub fn apart(home: PathBuf, claude_config_dir: PathBuf) -> Self {
        let codex_home = claude_config_dir.join(".codex");
        Self { home, claude_config_dir, codex_home, named: Named::default() }
    }

    /// The endpoint of the home's daemon according to its current configuration.
    pub fn endpoint(&self) -> Endpoint {
        self.endpoint_of(&Hooks::read(&self.home))
    }

    /// Like [`Environment::endpoint`], with a configuration already read.
    pub fn endpoint_of(&self, hooks: &Hooks) -> Endpoint {
        hooks.socket_path.clone().map_or_else(|| Endpoint::for_home(&self.home), Endpoint::from_path)
    }

    /// Claude Code's directory if it is read: a variable that names one agent's directory excludes the default
    /// directory of the other.
    pub fn claude_directory(&self) -> Option<&Path> {
        (self.named.claude || !self.named.codex).then_some(&self.claude_config_dir)
    }

    /// Codex's directory if it is read, see [`Environment::claude_directory`].
    pub fn codex_directory(&self) -> Option<&Path> {
        (self.named.codex || !self.named.claude).then_some(&self.codex_home)
    }

    /// The log file of the daemon.
    pub fn log_file(&self) -> PathBuf {
        self.home.join("daemon.log")
    }
}

/// The working directories of this process: the project that its agent names, and its own directory.
pub fn works_in() -> Vec<String> {
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

fn directory(variable: &'static str, below_home: &str) -> Result<PathBuf, Error> {
    let relative = |variable, path: PathBuf| Error::Relative { variable, holds: path.display().to_string() };
    let set = env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    match set {
        Some(path) if path.is_absolute() => Ok(path),
        Some(path) => Err(relative(variable, path)),
        None => user_home()
            .map(|home| home.join(below_home))
            .ok_or_else(|| unusable_home().map_or(Error::NoHome, |home| relative(HOME, home))),
    }
}
