//! The daemon process under test: it is killed, or ends with the process that started it.

use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

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
        let mut command = program::command(environment)?;
        command.args(["daemon", "--leashed"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(io_error("start", Path::new("baton")))?;
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
