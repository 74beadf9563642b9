//! Where the daemon listens: a Unix socket in the home (mode 0600), at a short path for homes with a long one, or at
//! the configured path; on Windows a named pipe that only its owner may open.
//!
//! A Unix socket is protected by its folder, which belongs to the user and which no one else can write to (a folder
//! other than the home is accessible to the user alone), by its mode, and by the uid of every peer.
//!
//! # Hazards
//!
//! - A socket that answers is never taken over, even under the home's lock. A socket folder outside the home must be
//!   0700.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use interprocess::local_socket::tokio::{Listener, Stream};
use interprocess::local_socket::traits::StreamCommon;
use interprocess::local_socket::traits::tokio::Stream as _;
use interprocess::local_socket::{GenericFilePath, ListenerOptions, ToFsName};

use baton_base::durable;
use baton_home::endpoint::Endpoint;
#[cfg(unix)]
use baton_home::trust::user;

/// Number of retries, and their interval, for a socket that answers: a previous listener of this process may be ending.
const LOOKS: u32 = 25;
const LOOK: Duration = Duration::from_millis(20);

/// Time limit for a connection attempt to an existing socket.
const ANSWERS: Duration = Duration::from_secs(1);

/// Why the daemon cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The path exists and is not a socket.
    #[error("{} is not a socket of Baton; move it away", path.display())]
    Foreign {
        /// The path.
        path: PathBuf,
    },
    /// Another process listens there.
    #[error(
        "another process{} listens at {}; end it, or set hooks.socket_path to another path",
        process.map_or_else(String::new, |process| format!(" ({process})")),
        path.display()
    )]
    Taken {
        /// The path.
        path: PathBuf,
        /// Its pid, if the system reports it.
        process: Option<u32>,
    },
    /// Other users have access to the socket's folder.
    #[error("the socket would lie in {}, which {why}; {fix}", folder.display())]
    Exposed {
        /// The folder.
        folder: PathBuf,
        /// The problem.
        why: &'static str,
        /// The remedy.
        fix: String,
    },
    /// The system refused to listen.
    #[error("cannot listen at {}: {source}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// Checks that the folder of a home's socket, if it exists, is safe.
pub fn check_socket_folder(endpoint: &Endpoint, home: &Path) -> Result<(), Error> {
    match endpoint.path().parent().filter(|folder| cfg!(unix) && folder.is_dir()) {
        Some(folder) => check_folder(folder, folder == home),
        None => Ok(()),
    }
}

/// A listening socket.
pub(super) struct BoundSocket {
    pub(super) listener: Listener,
    pub(super) file: SocketFile,
}

/// The path of a socket, and the identity of its file.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    file: Option<Identity>,
}

/// Device, inode, and time of change, because inodes are reused.
type Identity = (u64, u64, i64, i64);

impl SocketFile {
    /// Removes the socket, so that clients notice at once; keeps another socket that has replaced it.
    pub(super) fn remove(&self) {
        if self.file.is_some() && identity(&self.path) == self.file {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Starts to listen. The caller must hold the lock of `home`. An existing socket is replaced only if it does not
/// answer, because it may belong to another home.
pub(super) async fn listen(endpoint: &Endpoint, home: &Path) -> Result<BoundSocket, Error> {
    let path = endpoint.path();
    let io_error = |source| Error::Io { path: path.to_owned(), source };
    if cfg!(unix) {
        if let Some(folder) = path.parent() {
            durable::create_private_folder(folder).map_err(io_error)?;
            check_folder(folder, folder == home)?;
        }
        clear_stale(path).await?;
    }
    let name = path.to_fs_name::<GenericFilePath>().map_err(io_error)?;
    let listener = open(&ListenerOptions::new().name(name).reclaim_name(false), path).map_err(io_error)?;
    Ok(BoundSocket { listener, file: SocketFile { path: path.to_owned(), file: identity(path) } })
}

#[cfg(unix)]
fn open(options: &ListenerOptions<'_>, path: &Path) -> io::Result<Listener> {
    use interprocess::TryClone;
    use interprocess::os::unix::local_socket::ListenerOptionsExt;
    use std::os::unix::fs::PermissionsExt;
    match options.try_clone()?.mode(0o600).create_tokio() {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
        listening => return listening,
    }
    let listener = options.try_clone()?.create_tokio()?;
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o600))?;
    Ok(listener)
}

/// Grants access to the owner alone and does not inherit the permissions of the pipes' namespace.
#[cfg(windows)]
fn open(options: &ListenerOptions<'_>, _path: &Path) -> io::Result<Listener> {
    use interprocess::TryClone;
    use interprocess::os::windows::local_socket::ListenerOptionsExt;
    use interprocess::os::windows::security_descriptor::SecurityDescriptor;
    let owner_only = SecurityDescriptor::deserialize(widestring::u16cstr!("D:P(A;;GA;;;OW)"))?;
    options.try_clone()?.security_descriptor(owner_only).create_tokio()
}

/// Returns the peer's pid, if the system reports it. Fails if the peer is another user.
#[cfg(unix)]
pub(super) fn peer(stream: &Stream) -> io::Result<Option<u32>> {
    let peer = stream.peer_creds()?;
    match peer.euid() {
        // Where the system reports no uid, the private folder protects the socket.
        Some(uid) if uid != user() => Err(io::Error::other(format!("peer has uid {uid}"))),
        _ => Ok(peer.pid().and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid != 0)),
    }
}

/// Returns the peer's pid, if the system reports it. Other users cannot connect: see `open`.
#[cfg(not(unix))]
pub(super) fn peer(stream: &Stream) -> io::Result<Option<u32>> {
    Ok(stream.peer_creds().ok().and_then(|peer| peer.pid()))
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    let file = std::fs::symlink_metadata(path).ok()?;
    Some((file.dev(), file.ino(), file.ctime(), file.ctime_nsec()))
}

#[cfg(not(unix))]
fn identity(_path: &Path) -> Option<Identity> {
    None
}

/// Removes a socket that does not answer.
async fn clear_stale(path: &Path) -> Result<(), Error> {
    let io_error = |source| Error::Io { path: path.to_owned(), source };
    for look in 0..LOOKS {
        if !is_socket(path)? {
            return Ok(());
        }
        let name = path.to_fs_name::<GenericFilePath>().map_err(io_error)?;
        let answers = match tokio::time::timeout(ANSWERS, Stream::connect(name)).await {
            Ok(Err(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
                return std::fs::remove_file(path).map_err(io_error);
            }
            // It may be too busy or not accessible to us: treat it as in use.
            Ok(Err(_)) | Err(_) => None,
            Ok(Ok(stream)) => Some(stream),
        };
        let process = answers.and_then(|stream| stream.peer_creds().ok()).and_then(|peer| peer.pid());
        let process = process.and_then(|process| u32::try_from(process).ok());
        // A listener of this process can only be a previous gateway that is ending.
        if process != Some(std::process::id()) || look + 1 == LOOKS {
            return Err(Error::Taken { path: path.to_owned(), process });
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}

/// Returns true if there is a socket. Fails if there is anything else, which must not be removed.
#[cfg(unix)]
fn is_socket(path: &Path) -> Result<bool, Error> {
    use std::os::unix::fs::FileTypeExt;
    match std::fs::symlink_metadata(path) {
        Ok(metadata) if metadata.file_type().is_socket() => Ok(true),
        Ok(_) => Err(Error::Foreign { path: path.to_owned() }),
        Err(_) => Ok(false),
    }
}

#[cfg(not(unix))]
fn is_socket(_path: &Path) -> Result<bool, Error> {
    Ok(false)
}

/// Checks that no other user can write to the folder, or the socket could be replaced. A folder other than the home
/// must be inaccessible to others altogether.
#[cfg(unix)]
fn check_folder(folder: &Path, is_home: bool) -> Result<(), Error> {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::metadata(folder).map_err(|source| Error::Io { path: folder.to_owned(), source })?;
    let exposed = |why, fix| Error::Exposed { folder: folder.to_owned(), why, fix };
    let elsewhere = "set hooks.socket_path to a path in a folder of your own".to_owned();
    if metadata.uid() != user() {
        return Err(exposed("belongs to another user", elsewhere));
    }
    match (is_home, metadata.mode() & 0o077) {
        (true, mode) if mode & 0o022 != 0 => {
            Err(exposed("others can write to", format!("run: chmod go-w '{}'", folder.display())))
        }
        // Do not suggest closing a shared folder to others.
        (false, _) if metadata.mode() & 0o1022 != 0 => Err(exposed("others can write to", elsewhere)),
        (false, mode) if mode != 0 => {
            Err(exposed("others can reach into", format!("run: chmod 700 '{}', or {elsewhere}", folder.display())))
        }
        _ => Ok(()),
    }
}

#[cfg(not(unix))]
fn check_folder(_folder: &Path, _is_home: bool) -> Result<(), Error> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    async fn error(endpoint: &Endpoint, home: &Path) -> Error {
        match listen(endpoint, home).await {
            Ok(_) => panic!("nobody should listen at {}", endpoint.path().display()),
            Err(error) => error,
        }
    }

    #[tokio::test]
    async fn a_dead_daemons_socket_is_replaced_and_a_foreign_file_is_not() {
        let home = tempfile::tempdir().unwrap();
        let endpoint = Endpoint::for_home(home.path());
        drop(listen(&endpoint, home.path()).await.unwrap());
        assert!(endpoint.path().exists(), "left behind, as by a killed daemon");
        let listening = listen(&endpoint, home.path()).await.unwrap();
        drop(listening.listener);
        listening.file.remove();
        std::fs::write(endpoint.path(), "a person's notes").unwrap();
        listening.file.remove();
        assert!(matches!(error(&endpoint, home.path()).await, Error::Foreign { .. }));
        assert_eq!(std::fs::read_to_string(endpoint.path()).unwrap(), "a person's notes");
        std::fs::remove_file(endpoint.path()).unwrap();
        std::os::unix::fs::symlink(home.path().join("elsewhere"), endpoint.path()).unwrap();
        assert!(matches!(error(&endpoint, home.path()).await, Error::Foreign { .. }), "a link, whatever it points to");
    }

    #[tokio::test]
    async fn a_socket_on_which_somebody_answers_is_not_taken_from_them() {
        use std::os::unix::fs::PermissionsExt;
        let (folder, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let endpoint = Endpoint::from_path(folder.path().join("sockets/our.sock"));
        let first = listen(&endpoint, home.path()).await.unwrap();
        let mode = std::fs::metadata(endpoint.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let refused = error(&endpoint, home.path()).await;
        assert!(matches!(&refused, Error::Taken { .. }), "{refused}");
        assert!(refused.to_string().contains("set hooks.socket_path to another path"), "{refused}");
        // The previous listener ends.
        let BoundSocket { listener, file } = first;
        let ending = baton_base::task::spawn(async move {
            tokio::time::sleep(LOOK).await;
            drop(listener);
        });
        let second = listen(&endpoint, home.path()).await.unwrap();
        ending.await.unwrap();
        file.remove();
        assert!(endpoint.path().exists(), "what another listens on stays");
        second.file.remove();
        assert!(!endpoint.path().exists());
    }

    #[tokio::test]
    async fn a_folder_that_others_reach_into_is_refused_with_the_fix() {
        use std::os::unix::fs::PermissionsExt;
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("sockets");
        let endpoint = Endpoint::from_path(folder.join("our.sock"));
        drop(listen(&endpoint, parent.path()).await.unwrap());
        let mode = std::fs::metadata(&folder).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "a folder that was missing is the user's alone");
        for (mode, is_home, fix) in [
            (0o700, false, None),
            (0o701, false, Some("chmod 700")),
            (0o755, false, Some("chmod 700")),
            (0o777, false, Some("hooks.socket_path")),
            (0o755, true, None),
            (0o775, true, Some("chmod go-w")),
        ] {
            std::fs::set_permissions(&folder, PermissionsExt::from_mode(mode)).unwrap();
            let home = if is_home { &folder } else { parent.path() };
            match (listen(&endpoint, home).await, fix) {
                (Ok(_), None) => {}
                (Err(Error::Exposed { fix: told, .. }), Some(fix)) => assert!(told.contains(fix), "{mode:o}: {told}"),
                (Ok(_), Some(fix)) => panic!("{mode:o}: listens, where it should say {fix}"),
                (Err(error), fix) => panic!("{mode:o}: {error}, and not {fix:?}"),
            }
        }
    }
}
