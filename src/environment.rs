//! The process environment: where Baton's home is, where its daemon listens, and whose transcripts are read.
//!
//! # Decisions
//!
//! - The code for Windows and macOS (named pipe with the owner's ACL, no `mode` on sockets, no boot clock) is never
//!   run; CI checks that everything compiles for `x86_64-pc-windows-gnu` where that target is available.

mod hooks;
mod in_time;
pub(crate) mod zone;

use std::env;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use baton_actors::gateway::Endpoint;
use baton_base::transcript_root::Root;
use baton_conversation::item::Agent;
use baton_conversation::transcript::layout;
use baton_protocol::{Caller, Welcome};
use baton_tracking::transcript_roots;

pub use hooks::Hooks;
pub(crate) use in_time::{in_time, within};

/// Placeholder below the home for an agent's directory that is not read. Never created.
const NOWHERE: &str = "no-transcripts";

/// The directories of Baton and the agents.
#[derive(Clone, Debug)]
pub struct Environment {
    /// Baton's own directory: `BATON_HOME`, else `~/.baton`.
    pub home: PathBuf,
    /// Claude Code's directory: `CLAUDE_CONFIG_DIR`, else `~/.claude`.
    pub claude_config_dir: PathBuf,
    /// Codex' directory: `CODEX_HOME`, else `~/.codex`.
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
/// The variable that names Codex' directory.
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

    /// True if an agent's directory is read: a variable that names one agent's directory excludes the default directory
    /// of the other.
    pub fn reads(&self, agent: Agent) -> bool {
        match agent {
            Agent::ClaudeCode => self.named.claude || !self.named.codex,
            Agent::Codex => self.named.codex || !self.named.claude,
        }
    }

    /// The directories searched for transcripts.
    pub fn roots(&self) -> Vec<Root> {
        let directories = [(Agent::ClaudeCode, &self.claude_config_dir), (Agent::Codex, &self.codex_home)];
        let read = directories.into_iter().filter(|(agent, _)| self.reads(*agent));
        read.flat_map(|(agent, directory)| Root::of_agent(agent, directory)).collect()
    }

    /// A directory that a variable names but that must not be read, with the reason. No daemon is started with it.
    pub fn unfit_directory(&self) -> Option<(Agent, &Path, String)> {
        let user = user_home()?;
        self.named().find_map(|(agent, directory)| Some((agent, directory, why_unfit(agent, directory, &user)?)))
    }

    /// A directory that a variable names but the daemon refuses, with the reason. `None` if the directory cannot hold
    /// transcripts, or if the configuration lists what is read, which overrides variables.
    pub fn refused<'a>(&'a self, welcome: &'a Welcome) -> Option<(Agent, &'a Path, &'a str)> {
        if welcome.roots_configured {
            return None;
        }
        let is_missing = |agent, directory: &Path| {
            let directory = directory.to_owned();
            in_time(move || transcript_roots::holds_nothing(agent, &directory)).unwrap_or(false)
        };
        self.named().find_map(|(agent, directory)| {
            let why = match agent {
                Agent::ClaudeCode => welcome.root_refused.as_deref(),
                Agent::Codex => welcome.codex_refused.as_deref(),
            };
            why.filter(|_| !is_missing(agent, directory)).map(|why| (agent, directory, why))
        })
    }

    /// The directories named by variables.
    fn named(&self) -> impl Iterator<Item = (Agent, &Path)> {
        let claude = self.named.claude.then_some((Agent::ClaudeCode, self.claude_config_dir.as_path()));
        claude.into_iter().chain(self.named.codex.then_some((Agent::Codex, self.codex_home.as_path())))
    }

    /// The environment for a daemon that outlives this process. A directory that must not be read is replaced: in the
    /// user's own home by the default directories, so that no project can switch the memory off; in another home by an
    /// empty one, because its owner did not ask for the defaults.
    pub fn for_daemon(&self) -> Self {
        let Some(user) = user_home() else { return self.clone() };
        let is_unfit = |agent: Agent| {
            let mut named = self.named().filter(|(named, _)| *named == agent);
            named.any(|(agent, directory)| why_unfit(agent, directory, &user).is_some())
        };
        let (claude, codex) = (is_unfit(Agent::ClaudeCode), is_unfit(Agent::Codex));
        if !claude && !codex {
            return self.clone();
        }
        let is_own_home = self.home == user.join(".baton");
        let read = |directory: &PathBuf, usual: &str, is_unfit: bool| match is_unfit {
            false => directory.clone(),
            true if is_own_home => user.join(usual),
            true => self.home.join(NOWHERE),
        };
        Self {
            home: self.home.clone(),
            claude_config_dir: read(&self.claude_config_dir, ".claude", claude),
            codex_home: read(&self.codex_home, ".codex", codex),
            named: if is_own_home { Named { claude: true, codex: true } } else { self.named },
        }
    }

    /// The log file of the daemon.
    pub fn log_file(&self) -> PathBuf {
        self.home.join("daemon.log")
    }

    /// True if nothing was ever recorded in this home.
    pub fn log_is_empty(&self) -> bool {
        let segments = self.home.join("log").join("segments");
        let larger_than_header = |entry: std::fs::DirEntry| entry.metadata().is_ok_and(|file| file.len() > 256);
        !std::fs::read_dir(segments).is_ok_and(|entries| entries.flatten().any(larger_than_header))
    }

    /// True if there is a transcript, or may be: a root that does not answer may hold some.
    pub fn has_transcripts(&self) -> bool {
        let deep = |agent: Agent| if agent == Agent::Codex { layout(agent).depth } else { 3 };
        let roots = self.roots();
        let any = move || roots.iter().any(|root| has_transcript(root.agent, &root.projects, deep(root.agent)));
        in_time(any).unwrap_or(true)
    }
}

/// Variables in which agents pass their session id to the programs they start.
const SESSIONS: [&str; 3] = ["CLAUDE_CODE_SESSION_ID", "COPILOT_AGENT_SESSION_ID", "QWEN_CODE_SESSION_ID"];

/// The caller, as far as the environment tells.
pub fn caller() -> Caller {
    let named = |variable: &&str| env::var(variable).ok().filter(|id| !id.is_empty());
    Caller {
        agent_session: SESSIONS.iter().find_map(named),
        directory: env::current_dir().ok().and_then(|path| path.to_str().map(str::to_owned)),
        since: None,
        zone: zone::rule(),
    }
}

/// The caller of a server just started by an agent: works in the project that the agent names, whatever the server's
/// own directory is, and outlives the agent's session.
pub fn agent() -> Caller {
    let caller = caller();
    let now = UNIX_EPOCH.elapsed().ok().and_then(|since| i64::try_from(since.as_millis()).ok());
    Caller { directory: project().or(caller.directory), since: now, ..caller }
}

/// The project named by the agent that started this process.
fn project() -> Option<String> {
    env::var("CLAUDE_PROJECT_DIR").ok().filter(|directory| !directory.is_empty())
}

/// The working directories of this process: the project that its agent names, and its own directory.
pub fn works_in() -> Vec<String> {
    let mut directories: Vec<String> = [project(), caller().directory].into_iter().flatten().collect();
    directories.dedup();
    directories
}

/// Reason why a directory named by a variable must not be read, by the daemon's rules. The agents' default directories
/// in the user's home are always read.
fn why_unfit(agent: Agent, directory: &Path, user: &Path) -> Option<String> {
    let usual = match agent {
        Agent::ClaudeCode => ".claude",
        Agent::Codex => ".codex",
    };
    if directory == user.join(usual) {
        return None;
    }
    let (named, places) = (directory.to_owned(), works_in());
    // If the file system does not answer, the daemon will report it.
    in_time(move || transcript_roots::unfit(agent, &named, &places)).flatten()
}

fn has_transcript(agent: Agent, directory: &Path, depth: usize) -> bool {
    let Ok(entries) = std::fs::read_dir(directory) else { return false };
    entries.flatten().any(|entry| {
        let path = entry.path();
        match path.is_dir() {
            true => depth > 1 && has_transcript(agent, &path, depth - 1),
            false => path.to_str().is_some_and(|path| layout(agent).may_be_transcript(path)),
        }
    })
}

fn is_set(variable: &str) -> bool {
    env::var_os(variable).is_some_and(|value| !value.is_empty())
}

/// The user's home directory. `None` if `HOME` is set but empty or relative: the system's answer would be a guess.
fn user_home() -> Option<PathBuf> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_one_directory_is_named_no_other_is_read() {
        let check = |claude: bool, codex: bool, expected: &[&str]| {
            let (home, named) = (PathBuf::from("/b"), Named { claude, codex });
            let environment = Environment { home, claude_config_dir: "/c".into(), codex_home: "/x".into(), named };
            let roots: Vec<String> =
                environment.roots().iter().map(|root| root.projects.display().to_string()).collect();
            assert_eq!(roots, expected, "{named:?}");
        };
        let (claude, codex) = ("/c/projects", ["/x/sessions", "/x/archived_sessions"]);
        check(false, false, &[claude, codex[0], codex[1]]);
        check(true, true, &[claude, codex[0], codex[1]]);
        check(true, false, &[claude]);
        check(false, true, &codex);
    }
}
