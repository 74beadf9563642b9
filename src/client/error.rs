//! Errors of a call to the daemon. Each message says what to do next.

use std::io;
use std::path::PathBuf;

use baton_base::lock;
use baton_protocol::Failure;

use super::process::STOP;

/// Reason why a call has no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The daemon refused the call; its message says what to do.
    #[error("{}", .0.message)]
    Refused(Failure),
    /// The connection broke.
    #[error(
        "the connection to the daemon broke ({0}); run the command again, and see `daemon.log` if it happens again"
    )]
    Broken(#[source] io::Error),
    /// The answer could not be parsed.
    #[error("the daemon's answer is not understood ({0}); run `baton stop` and try again")]
    Garbled(String),
    /// The running daemon has a newer protocol.
    #[error("the running daemon is Baton {version}, newer than this program ({}); update this program", env!("CARGO_PKG_VERSION"))]
    NewerDaemon {
        /// The daemon's version.
        version: String,
    },
    /// A directory named by an environment variable is not read. No other directory is read in its place.
    #[error(
        "{variable} names {}, which is not read: {why}; unset it, or list {}, and all other directories that are to be read, in session_tracking.watch_directories of {}",
        directory.display(),
        transcripts.display(),
        config.display()
    )]
    NotRead {
        /// The environment variable.
        variable: &'static str,
        /// Its value.
        directory: PathBuf,
        /// Where its transcripts would be.
        transcripts: PathBuf,
        /// The configuration file.
        config: PathBuf,
        /// Reason why it is not read.
        why: String,
    },
    /// The daemon could not be started.
    #[error("the daemon did not start: {0}")]
    NotStarted(String),
    /// The home directory is not safe to use, so no daemon in it is trusted.
    #[error(transparent)]
    Home(#[from] lock::LockError),
    /// A process holds the home's lock but does not answer.
    #[error(
        "{} holds this home and does not answer: a daemon that hangs, or a `baton log` command still at work; see `daemon.log`, \
         and end that process if it stays like this",
        .0.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
    )]
    NotAnswering(Option<u32>),
    /// The daemon did not stop in time.
    #[error("the daemon{} did not stop within {} s; see `daemon.log`", pid_text(*.0), STOP.as_secs())]
    NotStopped(Option<u32>),
}

fn pid_text(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" (process {pid})"))
}
