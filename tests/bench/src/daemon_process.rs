//! A daemon over a home that persists: it can be stopped and started again.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use baton::client::{Client, daemon_command};
use baton::environment::Environment;
use baton_protocol::answer::Status;
use baton_protocol::method;

use super::{Error, io_error, program};

/// Timeout for the daemon to start, or to bring everything into its memory.
const PATIENCE: Duration = Duration::from_secs(600);

/// A daemon process. It is killed when this value is dropped, and by the terminal's Ctrl-C.
pub(super) struct DaemonProcess(Child);

impl DaemonProcess {
    /// Starts the process, which may not answer yet.
    pub(super) fn start(environment: &Environment) -> Result<Self, Error> {
        let program = program::baton()?;
        let child = daemon_command(&program, environment)
            .arg("--foreground")
            .current_dir(&environment.home)
            // Where this user's other agents keep their transcripts.
            .env("HOME", &environment.home)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(io_error("start", &program))?;
        Ok(Self(child))
    }

    /// Connects as soon as it answers.
    pub(super) fn client(&mut self, environment: &Environment) -> Result<Client, Error> {
        let begun = Instant::now();
        loop {
            if let Ok(Some(ended)) = self.0.try_wait() {
                return Err(Error::NothingMeasured(format!("the daemon ended with {ended} before it answered")));
            }
            match Client::connect(environment) {
                Ok(Some(client)) => {
                    client.set_answer_timeout(PATIENCE);
                    return Ok(client);
                }
                Ok(None) | Err(_) if begun.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(1)),
                Ok(None) => return Err(Error::NothingMeasured("the daemon did not begin".to_owned())),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The daemon's status.
    pub(super) fn status(client: &mut Client) -> Result<Status, Error> {
        Ok(client.call(method::STATUS, &(), |_| {})?)
    }

    /// Waits until its memory has caught up with the log, and returns the status.
    pub(super) fn wait_until_caught_up(client: &mut Client) -> Result<Status, Error> {
        let begun = Instant::now();
        loop {
            let status = Self::status(client)?;
            if status.memory.lag == 0 {
                return Ok(status);
            }
            if begun.elapsed() > PATIENCE {
                return Err(Error::NothingMeasured("the memory did not follow the log".to_owned()));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Stops it in order.
    pub(super) fn end(mut self, environment: &Environment) -> Result<(), Error> {
        if let Some(client) = Client::connect(environment)? {
            client.stop(environment)?;
        }
        let _ = self.0.wait();
        Ok(())
    }
}

impl Drop for DaemonProcess {
    fn drop(&mut self) {
        // No effect if it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
