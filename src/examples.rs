//! The example sessions: they answer a first `baton search` in a fresh checkout, and every command with `--examples`.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::client::{Client, Daemon, Error};
use crate::environment::{self, Environment};
use baton_protocol::Agent;

/// Path of the examples in a checkout.
const FOLDER: &str = "replay-fixtures/transcripts/claude";

/// Returns the examples if commands should answer from them: there are no transcripts, nothing was ever recorded, the
/// home belongs to no team, and the working directory is a checkout.
pub fn stand_in(environment: &Environment) -> Option<PathBuf> {
    let folder = folder().ok()?;
    // Checked in this order so that a home with a log never waits for a root.
    let is_place = environment::log_is_empty(environment)
        && !environment.home.join("relay").exists()
        && folder.join("projects").is_dir();
    // A variable naming an unreadable directory is an error; the examples must not hide it.
    let wanted = is_place
        && environment::unfit_directories(environment).is_empty()
        && !environment::has_transcripts(environment);
    wanted.then_some(folder)
}

/// The note that an answer comes from the examples. A session of them can only be shown with `--examples`.
pub fn note(folder: &Path) -> String {
    format!(
        "No transcripts of any agent yet (`baton help agents` lists the places): answering from the example sessions in \
         {}. `baton --examples sessions` lists them, `baton --examples show ID` shows one.\n",
        folder.display()
    )
}

/// Path of the examples if the working directory is a checkout.
pub fn folder() -> std::io::Result<PathBuf> {
    Ok(std::env::current_dir()?.join(FOLDER))
}

/// Finds the examples: those of the checkout in the working directory, or else those of the checkout this program was
/// built from.
pub fn anywhere() -> Option<PathBuf> {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER);
    folder().ok().into_iter().chain([built]).find(|folder| folder.join("projects").is_dir())
}

/// A daemon on the examples, in a temporary home. Both end with this value or with this process.
pub struct Throwaway {
    environment: Environment,
    daemon: Option<Daemon>,
}

impl Throwaway {
    /// Starts this program on the examples.
    pub fn start(examples: &Path) -> Result<Self, Error> {
        let program = std::env::current_exe().map_err(|error| Error::NotStarted(error.to_string()))?;
        Self::start_program(&program, examples, None)
    }

    /// Starts another `baton` on the transcripts below a Claude Code directory, and below one of Codex.
    pub fn start_program(program: &Path, claude: &Path, codex: Option<&Path>) -> Result<Self, Error> {
        let failed = |error: std::io::Error| Error::NotStarted(error.to_string());
        // The daemon removes it when it exits, even if this process is killed.
        let home = tempfile::Builder::new().prefix("baton-examples-").tempdir().map_err(failed)?.keep();
        let mut environment = Environment::isolated(home, claude.to_owned());
        if let Some(codex) = codex {
            environment = environment.with_directory(Agent::Codex, codex.to_owned(), false);
        }
        let daemon = Daemon::start_program(program, &environment, &["--throwaway"], Stdio::piped())
            .inspect_err(|_| drop(std::fs::remove_dir_all(&environment.home)))?;
        Ok(Self { environment, daemon: Some(daemon) })
    }

    /// The environment of the daemon.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Connects to it.
    pub fn client(&self) -> Result<Client, Error> {
        let missing = || Error::NotStarted("it ended at once".to_owned());
        Client::connect(&self.environment)?.ok_or_else(missing)
    }
}

impl Drop for Throwaway {
    fn drop(&mut self) {
        if let Some(daemon) = self.daemon.take() {
            daemon.end();
        }
    }
}
