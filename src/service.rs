//! The daemon as a user service that starts at login: a systemd user unit, or a launch agent on macOS. It is optional:
//! every command starts a daemon if none runs.
//!
//! # Hazards
//!
//! - The service pauses 30 s before a restart: a client may have started a daemon meanwhile, which then serves.

mod definition;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use crate::client::{self, Client};
use crate::environment::Environment;
use baton_base::program;
use baton_install::foreign_file::{self, Target};
use definition::Definition;

/// Time limit of the service manager; stopping a daemon waits until everything is written.
const WAIT: Duration = Duration::from_secs(60);

/// Reason why the service could not be managed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// This system has no supported service manager.
    #[error(
        "services are supported with systemd and launchd; on this system let the task scheduler run `baton daemon` at login, \
         or do without: every command starts a daemon if none runs"
    )]
    Unknown,
    /// The user has no home directory.
    #[error("this user has no home directory, so there is no place for a service")]
    NoHome,
    /// This program's path is unknown.
    #[error("cannot find this program's own path: {0}")]
    Own(#[source] std::io::Error),
    /// The definition's file could not be read or written.
    #[error(transparent)]
    Target(#[from] foreign_file::Error),
    /// A file that is not ours is in its place.
    #[error("{} was not written by Baton; move it away first", .0.display())]
    Foreign(PathBuf),
    /// The daemon running without the service could not be stopped.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// The service manager failed.
    #[error("`{command}` failed: {reason}; {} is written, run the command yourself", file.display())]
    Manager {
        /// The command that was run.
        command: String,
        /// Its output.
        reason: String,
        /// The definition.
        file: PathBuf,
    },
}

/// What was done, and what is left to the person.
#[derive(Debug, Default)]
pub struct Done {
    /// Sentences.
    pub done: Vec<String>,
    /// Commands to run by hand, if the service manager was not found.
    pub by_hand: Vec<String>,
}

/// State of the service, as `--json` prints it.
#[derive(Debug, Serialize)]
pub struct Status {
    /// The definition's file.
    pub file: PathBuf,
    /// True if the file exists.
    pub installed: bool,
    /// True if it is what `baton service install` would write now.
    pub current: bool,
    /// True if it starts at login; `null` if the service manager does not say.
    pub enabled: Option<bool>,
    /// True if it runs now; `null` if the service manager does not say.
    pub running: Option<bool>,
}

/// The service of this user.
pub struct Service {
    definition: Definition,
    manager: Option<PathBuf>,
}

impl Service {
    /// The service for this system.
    pub fn new(environment: &Environment) -> Result<Self, Error> {
        let program = std::env::current_exe().map_err(Error::Own)?;
        let definition = Definition::of(std::env::consts::OS, environment, &program)?;
        let manager = program::find(definition.manager);
        Ok(Self { definition, manager })
    }

    /// Writes the definition and starts the service. Stops a daemon that runs without it first.
    pub fn install(&self, environment: &Environment) -> Result<Done, Error> {
        let mut done = Done::default();
        let Definition { file, text, .. } = &self.definition;
        let target = Target::read(file)?;
        self.is_ours(&target)?;
        let is_new = target.text.as_ref() != Some(text);
        if is_new {
            target.replace(text)?;
            done.done.push(format!("{} written", file.display()));
        }
        let Some(manager) = &self.manager else {
            done.by_hand = self.by_hand(&self.definition.start);
            return Ok(done);
        };
        if !is_new && self.asked(manager, &self.definition.is_running) == Some(true) {
            done.done.push("The service runs; nothing to do.".to_owned());
            return Ok(done);
        }
        if let Some(client) = Client::connect(environment)? {
            client.stop(environment)?;
            done.done.push("the running daemon was stopped; the service takes over".to_owned());
        }
        self.call(manager, &self.definition.start)?;
        done.done.push("the service runs, now and from each login on".to_owned());
        Ok(done)
    }

    /// Stops the service and removes its definition.
    pub fn uninstall(&self) -> Result<Done, Error> {
        let mut done = Done::default();
        let target = Target::read(&self.definition.file)?;
        if target.text.is_none() {
            done.done.push("There is no service; nothing to do.".to_owned());
            return Ok(done);
        }
        self.is_ours(&target)?;
        match &self.manager {
            Some(manager) => {
                // Stopping fails if it does not run, which does no harm.
                if let Err(error) = self.call(manager, &self.definition.stop) {
                    done.done.push(error.to_string());
                }
            }
            None => done.by_hand = self.by_hand(&self.definition.stop),
        }
        target.remove()?;
        done.done.push(format!("{} removed", self.definition.file.display()));
        if let Some(manager) = &self.manager {
            // If this fails, the next login takes care of it.
            let _ = self.call(manager, &self.definition.forget);
        }
        Ok(done)
    }

    /// The state of the service.
    pub fn status(&self) -> Result<Status, Error> {
        let target = Target::read(&self.definition.file)?;
        let ask = |question: &Vec<String>| self.manager.as_ref().and_then(|manager| self.asked(manager, question));
        Ok(Status {
            file: self.definition.file.clone(),
            installed: target.text.is_some(),
            current: target.text.as_ref() == Some(&self.definition.text),
            enabled: self.definition.is_enabled.as_ref().and_then(ask),
            running: ask(&self.definition.is_running),
        })
    }

    fn is_ours(&self, target: &Target) -> Result<(), Error> {
        match &target.text {
            Some(text) if !text.contains(definition::MARK) => Err(Error::Foreign(target.path.clone())),
            _ => Ok(()),
        }
    }

    fn by_hand(&self, calls: &[Vec<String>]) -> Vec<String> {
        calls.iter().map(|call| format!("{} {}", self.definition.manager, call.join(" "))).collect()
    }

    fn call(&self, manager: &Path, calls: &[Vec<String>]) -> Result<(), Error> {
        for call in calls {
            let ran = program::run(manager, call, WAIT);
            let reason = match ran {
                Ok(ran) if ran.is_ok => continue,
                Ok(ran) => ran.reason().to_owned(),
                Err(error) => error.to_string(),
            };
            let command = format!("{} {}", self.definition.manager, call.join(" "));
            return Err(Error::Manager { command, reason, file: self.definition.file.clone() });
        }
        Ok(())
    }

    fn asked(&self, manager: &Path, question: &[String]) -> Option<bool> {
        Some(program::run(manager, question, WAIT).ok()?.is_ok)
    }
}
