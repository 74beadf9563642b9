//! Why a call to the daemon fails, in words that say what to do about it.

use std::io;
use std::path::PathBuf;

use baton_base::lock;
use baton_protocol::Failure;

use super::process::STOP;

/// Why a call has no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The daemon refuses the call; its message says what to do.
    #[error("{}", .0.message)]
    Refused(Failure),
    /// The connection broke.
    #[error(
        "the connection to the daemon broke ({0}); run the command again, and see `daemon.log` if it happens again"
    )]
    Broken(#[source] io::Error),
    /// What came back is not understood.
    #[error("the daemon's answer is not understood ({0}); run `baton stop` and try again")]
    Garbled(String),
    /// The daemon is of a newer version.
    #[error("the running daemon is Baton {version}, newer than this program ({}); update this program", env!("CARGO_PKG_VERSION"))]
    NewerDaemon {
        /// The daemon's version.
        version: String,
    },
    /// The directory that somebody named is not read. Nothing else is read in its place.
    #[error(
        "{variable} names {}, which is not read: {why}; unset it, or list {} in session_tracking.watch_directories of {}",
        directory.display(),
        transcripts.display(),
        config.display()
    )]
    NotRead {
        /// The variable.
        variable: &'static str,
        /// What it names.
        directory: PathBuf,
        /// Where the transcripts would lie.
        transcripts: PathBuf,
        /// The configuration.
        config: PathBuf,
        /// Why not.
        why: String,
    },
    /// No daemon could be started.
    #[error("the daemon did not start: {0}")]
    NotStarted(String),
    /// The home cannot be trusted, nor who answers in it.
    #[error(transparent)]
    Home(#[from] lock::LockError),
    /// The daemon holds the home and says nothing.
    #[error(
        "{} holds this home and does not answer: a daemon that hangs, or a `baton log` command that is still at work; see \
         `daemon.log`, and end that process if it stays so",
        .0.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
    )]
    NotAnswering(Option<u32>),
    /// The daemon does not stop.
    #[error("the daemon{} did not stop within {} s; see `daemon.log`", pid_text(*.0), STOP.as_secs())]
    NotStopped(Option<u32>),
}

fn pid_text(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" (process {pid})"))
}
