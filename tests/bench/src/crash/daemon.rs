//! The daemon process under test: it is killed, or ends with the process that started it.

use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::{Error, io_error, program};
use baton::client;
use baton::client::Client;
use baton::daemon::READY;
use baton::environment::Environment;

/// A process started as a daemon.
pub(super) struct Daemon {
    child: Child,
    output: Option<ChildStdout>,
    /// Closed when this process ends, however it ends; then the daemon ends too.
    _leash: Option<ChildStdin>,
}

impl Daemon {
    /// Starts it without waiting.
    pub(super) fn spawn(environment: &Environment) -> Result<Self, Error> {
        let program = program::baton()?;
        let child = Command::new(&program)
            .args(["daemon", "--leashed"])
            .env("BATON_HOME", &environment.home)
            .env("CLAUDE_CONFIG_DIR", &environment.claude_config_dir)
            .env("CODEX_HOME", &environment.codex_home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut child = child.map_err(io_error("start", &program))?;
        Ok(Self { output: child.stdout.take(), _leash: child.stdin.take(), child })
    }

    /// Starts it and waits until it accepts calls. The inner `Err` says why it does not.
    pub(super) fn start(environment: &Environment) -> Result<Result<Self, String>, Error> {
        let mut daemon = Self::spawn(environment)?;
        let said = daemon.output.take().and_then(client::first_line).unwrap_or_default();
        Ok(match said.trim() {
            READY => Ok(daemon),
            said => {
                daemon.kill();
                Err(format!("the daemon does not start: {said:?}"))
            }
        })
    }

    /// Kills it as the system does when memory runs out, and waits until it has ended.
    pub(super) fn kill(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Stops (SIGSTOP) or continues it. System calls of its threads are completed first.
    #[cfg(unix)]
    pub(super) fn set_stopped(&self, stopped: bool) {
        use rustix::process::{Pid, Signal, kill_process};
        let signal = if stopped { Signal::STOP } else { Signal::CONT };
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }

    /// Only Unix can stop a process.
    #[cfg(not(unix))]
    pub(super) fn set_stopped(&self, _stopped: bool) {}

    /// Asks it to stop, and waits until it has ended.
    pub(super) fn stop(mut self, client: Client, environment: &Environment) -> Result<(), Error> {
        // Wait for the process first: only its parent can take note of its end.
        let waiting = std::thread::scope(|scope| {
            let stopping = scope.spawn(|| client.stop(environment));
            let _ = self.child.wait();
            stopping.join()
        });
        Ok(waiting.unwrap_or(Err(client::Error::NotStopped(None)))?)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.kill();
    }
}
