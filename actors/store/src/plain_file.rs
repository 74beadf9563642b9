//! Opening files that lie beside a transcript, or in a project.

use std::fs::{File, OpenOptions};
use std::path::Path;

/// Opens a file of at most `most` bytes, if neither it nor `folders` are links.
pub(crate) fn open(folders: &[&Path], path: &Path, most: u64) -> Option<File> {
    let real = |path: &&Path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
    if !folders.iter().all(real) || !path.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // It may have been replaced by a link or a pipe since.
        let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits();
        options.custom_flags(i32::try_from(flags).unwrap_or(0));
    }
    let file = options.open(path).ok()?;
    let metadata = file.metadata().ok()?;
    (metadata.is_file() && metadata.len() <= most).then_some(file)
}
