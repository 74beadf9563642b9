//! Starts a daemon as a separate process.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

use baton_base::io_remedy::IoCause;
use baton_conversation::item::Agent;
use baton_conversation::transcript::layout;
use baton_home::daemon_command::daemon_command;

use super::Error;
use super::process::wait;
use crate::daemon::READY;
use crate::environment::{self, Environment, Hooks};

/// Deadline for a daemon to become ready; it opens its log first.
pub(super) const START: Duration = Duration::from_secs(60);

/// A daemon started by this process.
pub struct Daemon {
    child: Child,
    input: Option<ChildStdin>,
}

impl Daemon {
    /// Starts this program as the daemon of `environment` and waits until it is ready.
    pub fn start(environment: &Environment, arguments: &[&str], input: Stdio) -> Result<Self, Error> {
        let program = std::env::current_exe().map_err(|error| Error::NotStarted(error.to_string()))?;
        Self::start_program(&program, environment, arguments, input)
    }

    /// Starts another `baton` as the daemon of `environment` and waits until it is ready.
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

    /// Leaves the daemon running. A thread waits for its exit, so that it leaves no zombie if it ends before this
    /// process.
    pub(super) fn leave(mut self) {
        std::thread::spawn(move || self.child.wait());
    }

    /// Closes a throwaway daemon's input, which makes it exit, and waits for the exit.
    pub fn end(mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// Returns [`Error::NotRead`] if an environment variable names a directory that is not read, unless the configuration
/// lists the directories.
pub(crate) fn check_named_directories(environment: &Environment) -> Result<(), Error> {
    let unfit = environment::unfit_directories(environment);
    match unfit.iter().find(|unfit| environment::is_required(unfit.agent)) {
        Some(unfit) if !Hooks::read(&environment.home).names_directories => {
            Err(not_read(environment, unfit.agent, &unfit.directory, &unfit.why))
        }
        _ => Ok(()),
    }
}

pub(super) fn not_read(environment: &Environment, agent: Agent, directory: &Path, why: &str) -> Error {
    let folder = layout(agent).folders.first().copied().unwrap_or_default();
    Error::NotRead {
        variable: agent.home().variable.unwrap_or_default(),
        directory: directory.to_owned(),
        transcripts: directory.join(folder),
        config: environment.home.join("config.json"),
        why: why.to_owned(),
    }
}

pub(super) fn home_error(environment: &Environment, error: &io::Error) -> Error {
    let home = environment.home.display();
    let remedy = match IoCause::from_error(error) {
        IoCause::Other => "make it a directory that you can write to",
        known => known.remedy(),
    };
    Error::NotStarted(format!("cannot use {home}: {error}; {remedy}, or set BATON_HOME"))
}

/// Returns the first line that a starting daemon prints, or `None` if none comes in time.
pub fn first_line(output: ChildStdout) -> Option<String> {
    let (line, said) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        let _ = BufReader::new(output).read_line(&mut text);
        let _ = line.send(text);
    });
    said.recv_timeout(START).ok()
}

/// Takes the lock held while a daemon is started, so that concurrent clients start only one.
pub(super) fn start_lock(home: &Path) -> io::Result<File> {
    baton_base::durable::create_private_folder(home)?;
    let file = crate::logfile::append(&home.join("start.lock"))?;
    let taken = wait(2 * START, || file.try_lock().is_ok());
    if taken { Ok(file) } else { Err(io::Error::other("another command has been starting it for two minutes")) }
}
