//! Where the daemon listens: a Unix socket in the home (0600), or a short path for homes with a long one; a named pipe
//! on Windows.

use std::io;
use std::path::{Path, PathBuf};

use interprocess::local_socket::tokio::Listener;
use interprocess::local_socket::{GenericFilePath, ListenerOptions, ToFsName};
use sha2::{Digest, Sha256};

use crate::durable;

/// Longest socket path that every Unix takes, in bytes (macOS: 103).
const PATH_BYTES: usize = 100;

/// Where a home's daemon listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    path: PathBuf,
}

/// Why nobody can listen there.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Something that is no socket of ours lies there.
    #[error("{} is not a socket of Baton; move it away", path.display())]
    Foreign {
        /// The path.
        path: PathBuf,
    },
    /// The system refused.
    #[error("cannot listen at {}: {source}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Endpoint {
    /// The endpoint of a home. Pure: the same home always has the same.
    pub fn of(home: &Path) -> Self {
        if cfg!(windows) {
            return Self { path: PathBuf::from(format!(r"\\.\pipe\baton-{}", fingerprint(home))) };
        }
        let inside = home.join("baton.sock");
        if inside.as_os_str().len() <= PATH_BYTES {
            return Self { path: inside };
        }
        let folder = std::env::temp_dir().join(format!("baton-{}", user()));
        Self { path: folder.join(format!("{}.sock", fingerprint(home))) }
    }

    /// An endpoint that the configuration names instead.
    pub fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// The path, for messages and for clients.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn fingerprint(home: &Path) -> String {
    let digest = Sha256::digest(home.as_os_str().as_encoded_bytes());
    baton_events::schema::hex::encode(&digest[..8])
}

#[cfg(unix)]
fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
fn user() -> u32 {
    0
}

/// Begins to listen. Only called under the home's lock, so a socket that is there already is a dead daemon's.
pub(super) fn listen(endpoint: &Endpoint) -> Result<Listener, Error> {
    let path = endpoint.path();
    let io_error = |source| Error::Io { path: path.to_owned(), source };
    if cfg!(unix) {
        if let Some(folder) = path.parent() {
            durable::create_private_folder(folder).map_err(io_error)?;
            check_folder(folder).map_err(io_error)?;
        }
        clear_stale(path)?;
    }
    let name = path.to_fs_name::<GenericFilePath>().map_err(io_error)?;
    // The socket's folder is private, and every peer's uid is checked; the mode is a third lock where it can be had.
    #[cfg(unix)]
    {
        use interprocess::os::unix::local_socket::ListenerOptionsExt;
        match ListenerOptions::new().name(name.clone()).reclaim_name(false).mode(0o600).create_tokio() {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
            listening => return listening.map_err(io_error),
        }
    }
    ListenerOptions::new().name(name).reclaim_name(false).create_tokio().map_err(io_error)
}

/// Removes the socket, so that clients see at once that nobody is there.
pub(super) fn remove(endpoint: &Endpoint) {
    if cfg!(unix) {
        let _ = std::fs::remove_file(endpoint.path());
    }
}

#[cfg(unix)]
fn clear_stale(path: &Path) -> Result<(), Error> {
    use std::os::unix::fs::FileTypeExt;
    match std::fs::symlink_metadata(path) {
        Ok(metadata) if metadata.file_type().is_socket() => {
            std::fs::remove_file(path).map_err(|source| Error::Io { path: path.to_owned(), source })
        }
        Ok(_) => Err(Error::Foreign { path: path.to_owned() }),
        Err(_) => Ok(()),
    }
}

#[cfg(not(unix))]
fn clear_stale(_path: &Path) -> Result<(), Error> {
    Ok(())
}

/// A socket in a folder that others can write to could be swapped for theirs.
#[cfg(unix)]
fn check_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::metadata(folder)?;
    let ours = metadata.uid() == user() && metadata.mode() & 0o022 == 0;
    match ours {
        true => Ok(()),
        false => Err(io::Error::other(format!(
            "{} can be written to by others; run: chmod go-w '{}'",
            folder.display(),
            folder.display()
        ))),
    }
}

#[cfg(not(unix))]
fn check_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_with_a_long_path_has_a_short_endpoint() {
        assert_eq!(Endpoint::of(Path::new("/home/a/.baton")).path(), Path::new("/home/a/.baton/baton.sock"));
        let long = PathBuf::from(format!("/home/{}", "x".repeat(120)));
        let endpoint = Endpoint::of(&long);
        assert!(endpoint.path().as_os_str().len() <= PATH_BYTES + 3, "{endpoint:?}");
        assert_ne!(endpoint, Endpoint::of(&long.join("y")));
        assert_eq!(endpoint, Endpoint::of(&long));
    }

    #[tokio::test]
    async fn a_dead_daemons_socket_is_replaced_and_a_foreign_file_is_not() {
        let home = tempfile::tempdir().unwrap();
        let endpoint = Endpoint::of(home.path());
        drop(listen(&endpoint).unwrap());
        assert!(endpoint.path().exists(), "left behind, as by a killed daemon");
        drop(listen(&endpoint).unwrap());
        remove(&endpoint);
        std::fs::write(endpoint.path(), "a person's notes").unwrap();
        assert!(matches!(listen(&endpoint), Err(Error::Foreign { .. })));
        assert_eq!(std::fs::read_to_string(endpoint.path()).unwrap(), "a person's notes");
    }
}
