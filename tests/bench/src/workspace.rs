//! A temporary folder that is removed when the measurement ends, however it ends.

use std::fs;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

use super::{Error, io_error};

/// The conventional exit code after an interrupt.
const INTERRUPTED: i32 = 130;
/// Attempts to remove the folder while a process still writes there.
const TRIES: u32 = 20;

/// The folder.
pub(super) struct Workspace(TempDir);

impl Workspace {
    /// Creates the folder. From now on an interrupt removes it before it ends this process; daemons and servers started
    /// meanwhile end by themselves when their input is closed.
    pub(super) fn new() -> Result<Self, Error> {
        let folder = tempfile::Builder::new().prefix("baton-bench-").tempdir();
        let folder = folder.map_err(io_error("create a directory in", &std::env::temp_dir()))?;
        let path = folder.path().to_owned();
        std::thread::spawn(move || {
            let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
            if runtime.block_on(interrupt()) {
                remove(&path);
                std::process::exit(INTERRUPTED);
            }
        });
        Ok(Self(folder))
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }
}

#[cfg(unix)]
async fn interrupt() -> bool {
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = kinds.map(signal) else { return false };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
    true
}

#[cfg(not(unix))]
async fn interrupt() -> bool {
    tokio::signal::ctrl_c().await.is_ok()
}

fn remove(folder: &Path) {
    for _ in 0..TRIES {
        if fs::remove_dir_all(folder).is_ok() || !folder.exists() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Copies a folder with everything below it.
pub(super) fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    fs::create_dir_all(to).map_err(io_error("create", to))?;
    for entry in fs::read_dir(from).map_err(io_error("read", from))? {
        let entry = entry.map_err(io_error("read", from))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().map_err(io_error("read", &source))?;
        if kind.is_dir() {
            copy(&source, &target)?;
        } else if kind.is_file() {
            fs::copy(&source, &target).map_err(io_error("copy", &source))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_everything_and_the_folder_goes() {
        let workspace = Workspace::new().unwrap();
        let path = workspace.path().to_owned();
        fs::create_dir_all(path.join("a/b")).unwrap();
        fs::write(path.join("a/b/c"), "x").unwrap();
        copy(&path.join("a"), &path.join("d")).unwrap();
        assert_eq!(fs::read_to_string(path.join("d/b/c")).unwrap(), "x");
        assert!(matches!(copy(&path.join("gone"), &path.join("e")), Err(Error::Io { .. })));
        drop(workspace);
        assert!(!path.exists());
    }
}
