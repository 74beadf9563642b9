//! What the surroundings say: where Baton's home is, where its daemon listens, and whose transcripts are read.

mod hooks;

use std::env;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use baton_actors::gateway::Endpoint;
use baton_actors::watcher::Root;
use baton_events::conversation::Agent;
use baton_events::protocol::Caller;
use baton_events::transcript::layout;

pub use hooks::Hooks;

/// Where things are.
#[derive(Clone, Debug)]
pub struct Environment {
    /// Baton's own directory: `BATON_HOME`, else `~/.baton`.
    pub home: PathBuf,
    /// Claude Code's directory: `CLAUDE_CONFIG_DIR`, else `~/.claude`.
    pub claude_config_dir: PathBuf,
    /// Codex' directory: `CODEX_HOME`, else `~/.codex`.
    pub codex_home: PathBuf,
}

/// Why the surroundings are of no use.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no home directory to put anything in.
    #[error("this user has no home directory; set BATON_HOME and CLAUDE_CONFIG_DIR to directories of yours")]
    NoHome,
    /// A relative path would mean something else in each directory.
    #[error("the current directory cannot be found out, and {variable} is relative; make it absolute")]
    Relative {
        /// The variable.
        variable: &'static str,
    },
}

impl Environment {
    /// Reads the variables. Empty ones count as unset.
    pub fn read() -> Result<Self, Error> {
        Ok(Self {
            home: directory("BATON_HOME", ".baton")?,
            claude_config_dir: directory("CLAUDE_CONFIG_DIR", ".claude")?,
            codex_home: directory("CODEX_HOME", ".codex")?,
        })
    }

    /// Surroundings in which nothing is read but what lies below this directory of Claude Code.
    pub fn apart(home: PathBuf, claude_config_dir: PathBuf) -> Self {
        let codex_home = claude_config_dir.join(".codex");
        Self { home, claude_config_dir, codex_home }
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

    /// What a daemon is started with that outlives this process: a directory of Claude Code that lies where this process
    /// works may have come with the project, and is for the daemon to judge when it is named. Then the user's own is read.
    pub fn for_daemon(&self) -> Self {
        let Some(home) = env::home_dir().filter(|home| home.is_absolute()) else { return self.clone() };
        let own = |directory: &PathBuf, usual: &str| match comes_with(directory, &works_in(), &home) {
            true => home.join(usual),
            false => directory.clone(),
        };
        Self {
            home: self.home.clone(),
            claude_config_dir: own(&self.claude_config_dir, ".claude"),
            codex_home: own(&self.codex_home, ".codex"),
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

/// Who asks, as far as this process's surroundings tell.
pub fn caller() -> Caller {
    Caller {
        agent_session: env::var("CLAUDE_CODE_SESSION_ID").ok().filter(|id| !id.is_empty()),
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

fn directory(variable: &'static str, below_home: &str) -> Result<PathBuf, Error> {
    let set = env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    match set {
        Some(path) if path.is_absolute() => Ok(path),
        Some(path) => Ok(env::current_dir().map_err(|_| Error::Relative { variable })?.join(path)),
        None => {
            env::home_dir().filter(|home| home.is_absolute()).map(|home| home.join(below_home)).ok_or(Error::NoHome)
        }
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
