//! `baton bench`: what Baton costs, measured on this machine with this very program.
//!
//! Every figure comes from a throwaway daemon over a corpus that is the same in every run, and says how it was taken.
//! A run that did not do what it measures (a word that was not found, a session that was not indexed) is an error, never
//! a figure.

mod corpus;
mod main_job;
mod process;
mod report;
mod sample;

use std::io;
use std::path::{Path, PathBuf};

pub use main_job::{Options, main_job};
pub use report::{Appending, Disk, Index, MainJob, Memory, Part, Searching};
pub use sample::Spread;

use crate::client;

/// Why there are no figures.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The corpus is made from the example sessions.
    #[error("there are no example sessions in {}; run this in a checkout of Baton", .0.display())]
    NoExamples(PathBuf),
    /// The corpus, or a process.
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The daemon.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// What was to be measured did not happen.
    #[error("nothing to measure: {0}")]
    Untrue(String),
}

fn io_error<'a>(what: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Error + 'a {
    move |source| Error::Io { what, path: path.to_owned(), source }
}
