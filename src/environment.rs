//! What the surroundings say: where Baton's home is, where its daemon listens, and whose transcripts are read.

mod hooks;

use std::env;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use baton_actors::gateway::Endpoint;
use baton_actors::watcher::Root;
use baton_events::conversation::Agent;
use baton_events::protocol::{Caller, Welcome};
use baton_events::transcript::layout;

pub use hooks::Hooks;

/// Below a home, what stands for the directory of an agent that is not read. Never made.
const NOWHERE: &str = "no-transcripts";

/// Where things are.
#[derive(Clone, Debug)]
pub struct Environment {
    /// Baton's own directory: `BATON_HOME`, else `~/.baton`.
    pub home: PathBuf,
    /// Claude Code's directory: `CLAUDE_CONFIG_DIR`, else `~/.claude`.
    pub claude_config_dir: PathBuf,
    /// Codex' directory: `CODEX_HOME`, else `~/.codex`.
    pub codex_home: PathBuf,
    /// Which of the two a variable names. What is named is read, or nothing is.
    pub named: Named,
}

/// Which agents' directories variables name.
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
/// The variable that names the user's own directory.
const HOME: &str = "HOME";

/// Why the surroundings are of no use.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no home directory to put anything in.
    #[error("this user has no home directory; set BATON_HOME and CLAUDE_CONFIG_DIR to directories of yours")]
    NoHome,
    /// A relative path would mean something else in each directory.
    #[error(
        "{variable} is {holds:?}, which is no absolute path and would be another directory in each folder; set {variable} \
         to an absolute path{}",
        if *.variable == HOME { ", or set BATON_HOME, CLAUDE_CONFIG_DIR and CODEX_HOME" } else { ", or unset it" }
    )]
    Relative {
        /// The variable.
        variable: &'static str,
        /// What it holds.
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

    /// Surroundings in which nothing is read but what lies below this directory of Claude Code.
    pub fn apart(home: PathBuf, claude_config_dir: PathBuf) -> Self {
        let codex_home = claude_config_dir.join(".codex");
        Self { home, claude_config_dir, codex_home, named: Named::default() }
    }

    /// Where the home's daemon listens, as its configuration says now.
    pub fn endpoint(&self) -> Endpoint {
        self.endpoint_of(&Hooks::of(&self.home))
    }

    /// As [`Environment::endpoint`], where the configuration has been read already.
    pub fn endpoint_of(&self, hooks: &Hooks) -> Endpoint {
        hooks.socket_path.clone().map_or_else(|| Endpoint::of(&self.home), Endpoint::at)
    }

    /// Where transcripts are looked for.
    pub fn roots(&self) -> Vec<Root> {
        let codex = Root::of(Agent::Codex, &self.codex_home);
        std::iter::once(Root::claude_code(&self.claude_config_dir)).chain(codex).collect()
    }

    /// A directory that a variable names and that lies where this process works: it may have come with the project, and no
    /// daemon is started with it.
    pub fn untrusted(&self) -> Option<(Agent, &Path)> {
        let user = user_home()?;
        let is_usual = |agent, directory: &Path| match agent {
            Agent::ClaudeCode => directory == user.join(".claude"),
            Agent::Codex => directory == user.join(".codex"),
        };
        let comes = |(agent, directory): &(Agent, &Path)| {
            !is_usual(*agent, directory) && comes_with(directory, &works_in(), &user)
        };
        self.named().find(comes)
    }

    /// A directory that a variable names and that the daemon refuses, and why. There is nothing to refuse where no
    /// transcript can lie; and where the configuration names what is read, a variable does not.
    pub fn refused<'a>(&'a self, welcome: &'a Welcome) -> Option<(Agent, &'a Path, &'a str)> {
        if welcome.roots_configured {
            return None;
        }
        let is_missing = |agent, directory: &Path| {
            Root::of(agent, directory).iter().all(|root| matches!(root.projects.try_exists(), Ok(false)))
        };
        self.named().find_map(|(agent, directory)| {
            let why = match agent {
                Agent::ClaudeCode => welcome.root_refused.as_deref(),
                Agent::Codex => welcome.codex_refused.as_deref(),
            };
            why.filter(|_| !is_missing(agent, directory)).map(|why| (agent, directory, why))
        })
    }

    /// The directories that variables name.
    fn named(&self) -> impl Iterator<Item = (Agent, &Path)> {
        let claude = self.named.claude.then_some((Agent::ClaudeCode, self.claude_config_dir.as_path()));
        claude.into_iter().chain(self.named.codex.then_some((Agent::Codex, self.codex_home.as_path())))
    }

    /// What a daemon is started with that outlives this process. For a directory that may have come with the project, the
    /// user's own is read in the user's own home, so that no project can switch the memory off; another home was named by
    /// somebody who has not asked for that, and reads nothing.
    pub fn for_daemon(&self) -> Self {
        let (Some(user), Some(_)) = (user_home(), self.untrusted()) else { return self.clone() };
        let is_own_home = self.home == user.join(".baton");
        let trusted = |directory: &PathBuf, usual: &str, is_named: bool| match is_named {
            true if *directory == user.join(usual) || !comes_with(directory, &works_in(), &user) => directory.clone(),
            _ if is_own_home => user.join(usual),
            _ => self.home.join(NOWHERE),
        };
        Self {
            home: self.home.clone(),
            claude_config_dir: trusted(&self.claude_config_dir, ".claude", self.named.claude),
            codex_home: trusted(&self.codex_home, ".codex", self.named.codex),
            named: self.named,
        }
    }

    /// The log file of the daemon.
    pub fn log_file(&self) -> PathBuf {
        self.home.join("daemon.log")
    }

    /// Whether nothing was ever recorded in this home.
    pub fn log_is_empty(&self) -> bool {
        let segments = self.home.join("log").join("segments");
        let larger_than_header = |entry: std::fs::DirEntry| entry.metadata().is_ok_and(|file| file.len() > 256);
        !std::fs::read_dir(segments).is_ok_and(|entries| entries.flatten().any(larger_than_header))
    }

    /// Whether Codex was ever used here.
    pub fn has_codex(&self) -> bool {
        self.roots().iter().any(|root| root.agent == Agent::Codex && root.projects.is_dir())
    }

    /// Whether there is any transcript to read.
    pub fn has_transcripts(&self) -> bool {
        let deep = |root: &Root| if root.agent == Agent::Codex { layout(root.agent).depth } else { 3 };
        self.roots().iter().any(|root| has_transcript(root.agent, &root.projects, deep(root)))
    }
}

/// What agents name their session in for the programs that they start.
const SESSIONS: [&str; 3] = ["CLAUDE_CODE_SESSION_ID", "COPILOT_AGENT_SESSION_ID", "QWEN_CODE_SESSION_ID"];

/// Who asks, as far as this process's surroundings tell.
pub fn caller() -> Caller {
    let named = |variable: &&str| env::var(variable).ok().filter(|id| !id.is_empty());
    Caller {
        agent_session: SESSIONS.iter().find_map(named),
        directory: env::current_dir().ok().and_then(|path| path.to_str().map(str::to_owned)),
        since: None,
    }
}

/// Who asks, for a server that an agent has started just now: it works in the project that the agent names, wherever it
/// was started itself, and lives on when the agent has gone over to another session.
pub fn agent() -> Caller {
    let Caller { agent_session, directory, .. } = caller();
    let now = UNIX_EPOCH.elapsed().ok().and_then(|since| i64::try_from(since.as_millis()).ok());
    Caller { agent_session, directory: project().or(directory), since: now }
}

/// The project that the agent names which has started this process.
fn project() -> Option<String> {
    env::var("CLAUDE_PROJECT_DIR").ok().filter(|directory| !directory.is_empty())
}

/// Where this process works: its directory, and the project that its agent names.
pub fn works_in() -> Vec<String> {
    let mut directories: Vec<String> = [project(), caller().directory].into_iter().flatten().collect();
    directories.dedup();
    directories
}

/// Whether a directory lies where somebody works. Where the home lies nothing comes with: there everything does.
fn comes_with(directory: &Path, works_in: &[String], home: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let (directory, home) = (real(directory), real(home));
    let mut works_in = works_in.iter().map(|place| real(Path::new(place)));
    works_in.any(|place| place.is_absolute() && directory.starts_with(&place) && !home.starts_with(&place))
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

/// The user's own directory. `None` where `HOME` is set and empty or relative: the system's answer would be a guess.
fn user_home() -> Option<PathBuf> {
    match unusable_home() {
        Some(_) => None,
        None => env::home_dir().filter(|home| home.is_absolute()),
    }
}

/// What `HOME` holds, where that is empty or relative.
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
    fn a_directory_comes_with_where_one_works_unless_that_is_home() {
        let check = |directory: &str, works_in: &[&str], expected: bool| {
            let places: Vec<String> = works_in.iter().map(|place| (*place).to_owned()).collect();
            let comes = comes_with(Path::new(directory), &places, Path::new("/nowhere/home/u"));
            assert_eq!(comes, expected, "{directory} in {works_in:?}");
        };
        check("/nowhere/app/.evil", &["/nowhere/app"], true);
        check("/nowhere/app", &["/nowhere/app"], true);
        check("/nowhere/app/.evil", &["/nowhere/elsewhere", "/nowhere/app"], true);
        check("/nowhere/apple", &["/nowhere/app"], false);
        check("/nowhere/home/u/.claude", &["/nowhere/app"], false);
        check("/nowhere/home/u/.claude", &["/nowhere/home/u"], false);
        check("/nowhere/home/u/.claude", &["/"], false);
        check("/nowhere/app/.evil", &["", "."], false);
        check("/nowhere/app/.evil", &[], false);
    }
}
