//! Trust checks: only this user's files and processes are trusted.

use std::io;
use std::path::{Path, PathBuf};

use interprocess::local_socket::traits::StreamCommon;

/// Why a home cannot be trusted.
#[derive(Debug, thiserror::Error)]
pub enum Untrusted {
    /// Other users can write to the folder.
    #[error("{} can be written to by others; run: chmod go-w '{}'", home.display(), home.display())]
    Exposed {
        /// The home.
        home: PathBuf,
    },
    /// The folder belongs to another user.
    #[error("{} belongs to another user; set BATON_HOME to a folder of your own", home.display())]
    Foreign {
        /// The home.
        home: PathBuf,
    },
    /// The folder cannot be examined.
    #[error("cannot use {}: {source}", home.display())]
    Unknown {
        /// The home.
        home: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// The user of this process; 0 where users have no number.
#[cfg(unix)]
pub fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The user of this process; 0 where users have no number.
#[cfg(not(unix))]
pub fn user() -> u32 {
    0
}

/// Checks that a home can be trusted: it belongs to this user and no other user can write to it. Otherwise neither its
/// contents nor the process on its socket can be taken for Baton's own. A missing home passes.
#[cfg(unix)]
pub fn check_home(home: &Path) -> Result<(), Untrusted> {
    use std::os::unix::fs::MetadataExt;
    let home_of = || home.to_owned();
    match std::fs::metadata(home) {
        Ok(metadata) if metadata.uid() != user() => Err(Untrusted::Foreign { home: home_of() }),
        Ok(metadata) if metadata.mode() & 0o022 != 0 => Err(Untrusted::Exposed { home: home_of() }),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(Untrusted::Unknown { home: home_of(), source }),
    }
}

/// Always succeeds: outside Unix the access list of the user's folder is relied on.
#[cfg(not(unix))]
pub fn check_home(_home: &Path) -> Result<(), Untrusted> {
    Ok(())
}

/// Refuses a connection to another user's process, if the system reports the peer's user.
#[cfg(unix)]
pub fn check_peer(stream: &impl StreamCommon) -> io::Result<()> {
    match stream.peer_creds()?.euid().is_none_or(|peer| peer == user()) {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to another user")),
    }
}

/// Always succeeds: a named pipe is accessible to its owner only.
#[cfg(not(unix))]
pub fn check_peer(_stream: &impl StreamCommon) -> io::Result<()> {
    Ok(())
}
