//! The programs to measure: `baton`, and `baton-hook` beside it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use baton::environment::Environment;
use baton_protocol::Agent;

use super::{Error, io_error};

/// Path of the `baton` to measure, such as an older build to compare with; the default is the one beside this program.
pub const VARIABLE: &str = "BATON_PROGRAM";

/// The `baton` to measure.
pub(super) fn baton() -> Result<PathBuf, Error> {
    match std::env::var_os(VARIABLE).filter(|named| !named.is_empty()) {
        Some(named) => present(named.into()),
        None => {
            let this = std::env::current_exe().map_err(io_error("find", Path::new("baton-bench")))?;
            present(beside(&this, "baton"))
        }
    }
}

/// `baton` in `environment`, without input. It works in its home: a configuration directory below the working directory
/// is one that a repository could name, so that `baton` does not read it.
pub(super) fn command(environment: &Environment) -> Result<Command, Error> {
    baton_base::durable::create_private_folder(&environment.home).map_err(io_error("create", &environment.home))?;
    let mut command = Command::new(baton()?);
    command
        .env("BATON_HOME", &environment.home)
        .env("CLAUDE_CONFIG_DIR", environment.directory(Agent::ClaudeCode))
        .env("CODEX_HOME", environment.directory(Agent::Codex))
        // The user's other agents keep their transcripts in the user's home.
        .env("HOME", &environment.home)
        .current_dir(&environment.home)
        .stdin(Stdio::null());
    let others = Agent::ALL.iter().filter(|agent| !matches!(agent, Agent::ClaudeCode | Agent::Codex));
    for agent in others.filter(|agent| environment.is_named(**agent)) {
        if let Some(variable) = agent.home().variable {
            command.env(variable, environment.directory(*agent));
        }
    }
    Ok(command)
}

/// The `baton-hook` beside it.
pub(super) fn baton_hook() -> Result<PathBuf, Error> {
    present(beside(&baton()?, "baton-hook"))
}

fn beside(program: &Path, name: &str) -> PathBuf {
    program.with_file_name(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

fn present(program: PathBuf) -> Result<PathBuf, Error> {
    let program = std::path::absolute(&program).unwrap_or(program);
    if program.is_file() { Ok(program) } else { Err(Error::NoProgram(program)) }
}
