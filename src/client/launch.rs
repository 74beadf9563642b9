//! Starts a daemon as a process of its own.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use baton_base::io_remedy::Obstacle;
use baton_conversation::item::Agent;

use super::Error;
use super::process::wait;
use crate::daemon::READY;
use crate::environment::{self, Environment, Hooks};

/// How long a daemon may take to be ready: it opens its log first.
pub(super) const START: Duration = Duration::from_secs(60);

/// What a daemon tells its allocator, unless the user tells it something else. glibc keeps what was freed, in a pool for
/// each thread: after a backfill that is three times what the daemon needs from then on. With few pools, large pieces
/// mapped on their own and the top given back, it goes back to the system. Other allocators do not know these names.
pub(crate) const ALLOCATOR: [(&str, &str); 3] =
    [("MALLOC_ARENA_MAX", "2"), ("MALLOC_TRIM_THRESHOLD_", "1048576"), ("MALLOC_MMAP_THRESHOLD_", "262144")];

/// `program` as the daemon of `environment`; the caller adds the mode.
pub fn daemon_command(program: &Path, environment: &Environment) -> Command {
    let unset = ALLOCATOR.into_iter().filter(|(name, _)| std::env::var_os(name).is_none());
    let mut command = Command::new(program);
    command.envs(unset).arg("daemon").env("BATON_HOME", &environment.home);
    let directories = [
        (Agent::ClaudeCode, environment::CLAUDE, &environment.claude_config_dir),
        (Agent::Codex, environment::CODEX, &environment.codex_home),
    ];
    for (agent, variable, directory) in directories {
        match environment.reads(agent) {
            true => command.env(variable, directory),
            false => command.env_remove(variable),
        };
    }
    command
}

/// A daemon that this process has started.
pub struct Daemon {
    child: Child,
    input: Option<ChildStdin>,
}

impl Daemon {
    /// Starts this program as a daemon of `environment` and waits until it is ready.
    pub fn start(environment: &Environment, arguments: &[&str], input: Stdio) -> Result<Self, Error> {
        let program = std::env::current_exe().map_err(|error| Error::NotStarted(error.to_string()))?;
        Self::start_program(&program, environment, arguments, input)
    }

    /// Starts another `baton` as a daemon of `environment` and waits until it is ready.
    pub fn start_program(
        program: &Path,
        environment: &Environment,
        arguments: &[&str],
        input: Stdio,
    ) -> Result<Self, Error> {
        let failed = |error: io::Error| Error::NotStarted(error.to_string());
        let unusable = |error: io::Error| home_error(environment, &error);
        baton_base::durable::create_private_folder(&environment.home).map_err(unusable)?;
        let log = crate::logfile::append(&environment.log_file()).map_err(unusable)?;
        let mut child = daemon_command(program, environment)
            .args(arguments)
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .map_err(failed)?;
        let input = child.stdin.take();
        let said = child.stdout.take().and_then(first_line).unwrap_or_default();
        match said.trim() {
            READY => Ok(Self { child, input }),
            "" => Err(Error::NotStarted(format!("see {}", environment.log_file().display()))),
            reason => Err(Error::NotStarted(reason.to_owned())),
        }
    }

    /// Leaves it running on its own. A program that lives longer than the daemon takes note of its end: nobody else
    /// does, and it would stay a zombie.
    pub(super) fn leave(mut self) {
        std::thread::spawn(move || self.child.wait());
    }

    /// Lets go of a throwaway daemon's input, which ends it, and waits until it is gone.
    pub fn end(mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// Refuses to start a daemon for a person with a directory that a variable names and that is not read, unless the
/// configuration names what is read.
pub(crate) fn check_named(environment: &Environment) -> Result<(), Error> {
    match environment.unfit() {
        Some((agent, directory, why)) if !Hooks::of(&environment.home).names_directories => {
            Err(not_read(environment, agent, directory, &why))
        }
        _ => Ok(()),
    }
}

pub(super) fn not_read(environment: &Environment, agent: Agent, directory: &Path, why: &str) -> Error {
    let (variable, folder) = match agent {
        Agent::ClaudeCode => (environment::CLAUDE, "projects"),
        Agent::Codex => (environment::CODEX, "sessions"),
    };
    Error::NotRead {
        variable,
        directory: directory.to_owned(),
        transcripts: directory.join(folder),
        config: environment.home.join("config.json"),
        why: why.to_owned(),
    }
}

pub(super) fn home_error(environment: &Environment, error: &io::Error) -> Error {
    let home = environment.home.display();
    let remedy = match Obstacle::of(error) {
        Obstacle::Other => "make it a directory that you can write to",
        known => known.remedy(),
    };
    Error::NotStarted(format!("cannot use {home}: {error}; {remedy}, or set BATON_HOME"))
}

/// The first line that a starting daemon prints, if it prints one in time.
pub fn first_line(output: ChildStdout) -> Option<String> {
    let (line, said) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        let _ = BufReader::new(output).read_line(&mut text);
        let _ = line.send(text);
    });
    said.recv_timeout(START).ok()
}

/// Held while a daemon is being started, so that ten clients start one.
pub(super) fn start_lock(home: &Path) -> io::Result<File> {
    baton_base::durable::create_private_folder(home)?;
    let file = crate::logfile::append(&home.join("start.lock"))?;
    let taken = wait(2 * START, || file.try_lock().is_ok());
    if taken { Ok(file) } else { Err(io::Error::other("another command has been starting it for two minutes")) }
}
