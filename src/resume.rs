//! Goes on with a session in its agent, in the directory in which it began. Errors are sentences for a person.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use baton_base::transcript_file::TranscriptHeads;
use baton_conversation::record::SessionId;
use baton_protocol::Agent;
use baton_protocol::answer::Row;
use serde::Serialize;

use crate::environment::in_time;
use baton_base::program;
use baton_install::hook_command::quoted;

/// How an agent goes on with a session.
#[derive(Debug, Serialize)]
pub(crate) struct Plan {
    session_id: String,
    agent: Agent,
    directory: String,
    command: Vec<String>,
    #[serde(skip)]
    is_over: bool,
}

/// An agent that can be started: everything was checked.
#[derive(Debug)]
pub(crate) struct Ready {
    name: String,
    /// The directory and the command line, as a shell reads them.
    shell: String,
    program: PathBuf,
    arguments: Vec<String>,
    directory: PathBuf,
    /// What is started, and where.
    pub(crate) note: String,
}

/// True if the session has ended.
pub(crate) fn is_over(row: &Row) -> bool {
    row.end.is_some() || matches!(row.state.as_str(), "unindexed" | "forgotten")
}

/// The command line that goes on with the session in its agent, as a shell reads it.
pub(crate) fn line(row: &Row) -> Option<String> {
    command(row).map(|(_, words)| shell_line(&words))
}

fn shell_line(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn command(row: &Row) -> Option<(Agent, Vec<String>)> {
    let agent = row.agent.as_deref().and_then(Agent::parse).filter(|_| row.parent_session_id.is_none())?;
    let session = SessionId::new(&row.session_id)?;
    Some((agent, TranscriptHeads::default().resume(agent, &session, row.file_path.as_deref()?)?))
}

impl Plan {
    /// The plan for a session.
    pub(crate) fn new(row: &Row) -> Result<Self, String> {
        let (id, none) = (&row.session_id, "no agent can go on with");
        let (agent, command) = command(row).ok_or_else(|| {
            let what = match (&row.parent_session_id, &row.source) {
                (Some(parent), _) => format!("it is a subagent's; only the session that started it can go on, if its transcript is still there: `baton resume {parent}`"),
                (None, Some(_)) => format!("it is a note; `baton show {id}` shows it"),
                (None, None) => match row.agent.as_deref().and_then(Agent::parse).map(Agent::home) {
                    Some(home) if home.resume.is_empty() => format!("{} has no command for it", home.title),
                    _ => "no transcript that names its whole id is there any more, or its id is unusual".to_owned(),
                },
            };
            format!("{none} {id}: {what}")
        })?;
        let directory = row.directory.clone().ok_or_else(|| {
            let line = shell_line(&command);
            format!("{id}: its transcript names no directory; run `{line}` where it belongs")
        })?;
        Ok(Self { session_id: id.clone(), agent, directory, command, is_over: is_over(row) })
    }

    /// The command line, as a shell reads it.
    pub(crate) fn line(&self) -> String {
        shell_line(&self.command)
    }

    /// The directory and the command line, as a shell reads them.
    pub(crate) fn shell(&self) -> String {
        format!("cd {} && {}", quoted(&self.directory), self.line())
    }

    /// Checks that nobody has the session open, that the directory is the user's, and that the agent is on the path.
    pub(crate) fn ready(self) -> Result<Ready, String> {
        let line = self.line();
        if !self.is_over {
            let id = &self.session_id;
            return Err(format!(
                "session {id} is still open; end it in its agent, or close it with `baton close {id}`"
            ));
        }
        let directory = own_directory(&self.directory).map_err(|why| {
            format!("the session's directory {} {why}; `{line}` goes on with it elsewhere", self.directory)
        })?;
        let shell = self.shell();
        let mut words = self.command.into_iter();
        let name = words.next().unwrap_or_default();
        let Some(program) = program::find(&name) else {
            return Err(format!("`{name}` is not on the path; install {} or add it", self.agent.title()));
        };
        let note = format!("{line}  (in {})", self.directory);
        Ok(Ready { name, shell, program, arguments: words.collect(), directory, note })
    }
}

impl Ready {
    /// Replaces this process by the agent where that is possible; elsewhere runs the agent to its end.
    pub(crate) fn start(&self) -> Result<ExitCode, String> {
        start(&self.program, &self.arguments, &self.directory)
            .map_err(|error| format!("`{}` could not be started: {error}; try it yourself: {}", self.name, self.shell))
    }
}

/// The directory if it exists and belongs to this user; else what is wrong with it.
fn own_directory(path: &str) -> Result<PathBuf, &'static str> {
    let directory = PathBuf::from(path);
    let looked_at = directory.clone();
    let metadata = in_time(move || std::fs::metadata(looked_at)).ok_or("does not answer")?;
    let metadata = metadata.ok().filter(|it| it.is_dir() && directory.is_absolute()).ok_or("does not exist")?;
    if is_own(&metadata) { Ok(directory) } else { Err("belongs to another user") }
}

#[cfg(unix)]
fn is_own(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    metadata.uid() == rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
fn is_own(_: &std::fs::Metadata) -> bool {
    true
}

#[cfg(unix)]
fn start(program: &Path, arguments: &[String], directory: &Path) -> std::io::Result<ExitCode> {
    use std::os::unix::process::CommandExt as _;
    Err(Command::new(program).args(arguments).current_dir(directory).exec())
}

#[cfg(not(unix))]
fn start(program: &Path, arguments: &[String], directory: &Path) -> std::io::Result<ExitCode> {
    let status = Command::new(program).args(arguments).current_dir(directory).status()?;
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}
