//! What the surroundings say: where Baton's home is and whose transcripts are read.

use std::env;
use std::path::{Path, PathBuf};

use baton_actors::watcher::Root;
use baton_events::protocol::Caller;

/// Where things are.
#[derive(Clone, Debug)]
pub struct Environment {
    /// Baton's own directory: `BATON_HOME`, else `~/.baton`.
    pub home: PathBuf,
    /// Claude Code's directory: `CLAUDE_CONFIG_DIR`, else `~/.claude`.
    pub claude_config_dir: PathBuf,
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
        })
    }

    /// Where transcripts are looked for.
    pub fn roots(&self) -> Vec<Root> {
        vec![Root::claude_code(&self.claude_config_dir)]
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

    /// Whether there is any transcript to read.
    pub fn has_transcripts(&self) -> bool {
        self.roots().iter().any(|root| has_transcript(&root.projects, 3))
    }
}

/// Who asks, as far as this process's surroundings tell.
pub fn caller() -> Caller {
    Caller {
        agent_session: env::var("CLAUDE_CODE_SESSION_ID").ok().filter(|id| !id.is_empty()),
        directory: env::current_dir().ok().and_then(|path| path.to_str().map(str::to_owned)),
    }
}

/// Who asks, for a server that an agent has started: it works in the project that the agent names, wherever it was
/// started itself.
pub fn agent() -> Caller {
    let project = env::var("CLAUDE_PROJECT_DIR").ok().filter(|directory| !directory.is_empty());
    let Caller { agent_session, directory } = caller();
    Caller { agent_session, directory: project.or(directory) }
}

fn has_transcript(directory: &Path, depth: usize) -> bool {
    let Ok(entries) = std::fs::read_dir(directory) else { return false };
    entries.flatten().any(|entry| {
        let path = entry.path();
        match path.is_dir() {
            true => depth > 1 && has_transcript(&path, depth - 1),
            false => path.extension().is_some_and(|ending| ending == "jsonl"),
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
