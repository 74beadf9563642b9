//! Errors of the vault.

use std::io;
use std::path::Path;

use super::is_missing;
use baton_base::io_remedy::IoCause;

/// Why nothing can be written anywhere in a vault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub(crate) struct Refused {
    /// The problem, with the system's message.
    pub(crate) what: String,
    /// The remedy.
    pub(crate) fix: String,
}

/// Why a file was not read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// No file can be, for now.
    #[error(transparent)]
    Vault(#[from] Refused),
    /// This file cannot be; it is left alone. The reason does not name the file.
    #[error("{0}")]
    LeftAlone(String),
    /// The file was changed since it was read.
    #[error("another program is writing it")]
    Changed,
}

/// Separates the two: `Err` if the vault refuses; otherwise the result, or why this file was left alone.
pub(crate) fn of_file<T>(result: Result<T, Error>) -> Result<Result<T, String>, Refused> {
    match result {
        Err(Error::Vault(refused)) => Err(refused),
        other => Ok(other.map_err(|error| error.to_string())),
    }
}

pub(crate) fn refusal(path: &Path, error: &io::Error) -> Refused {
    let shown = path.display();
    let fix = match IoCause::from_error(error) {
        IoCause::Full => "free space on the disk of the vault",
        IoCause::ReadOnly => "make the file system of the vault writable again (`mount -o remount,rw`)",
        IoCause::Forbidden => "make the vault readable and writable for you (`chown`, `chmod u+rwX`)",
        IoCause::Failing => "the disk of the vault is failing: save what is on it",
        IoCause::Other if is_missing(error) => "mount or put back the vault, or set vault.path to another one",
        IoCause::Other => "see `baton logs`",
    };
    let what = if is_missing(error) { format!("{shown} is not there") } else { format!("{shown}: {error}") };
    Refused { what, fix: fix.to_owned() }
}
