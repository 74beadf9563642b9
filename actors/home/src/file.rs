//! Private folders, and regular files that are opened without blocking on a pipe.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

/// Suffix of a file that is not finished.
pub const BEING_WRITTEN: &str = ".tmp";

/// Creates a folder and its missing parents, for the owner only (0700) on Unix. Their names are not durable. Returns
/// true if the folder was missing; an existing one keeps its mode.
pub fn make_private_folder(folder: &Path) -> io::Result<bool> {
    if folder.is_dir() {
        return Ok(false);
    }
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    Ok(true)
}

/// Opens a regular file for reading. Refuses anything else at once: opening a pipe would wait for its writer.
pub fn open(path: &Path) -> io::Result<File> {
    open_regular(path, OpenOptions::new().read(true))
}

/// Reads a whole regular file like [`open`]. Fails with `FileTooLarge` if it has more than `most` bytes.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

/// Opens a regular file with the given options, like [`open`].
pub fn open_regular(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    {
        let flags = rustix::fs::OFlags::NONBLOCK.bits();
        std::os::unix::fs::OpenOptionsExt::custom_flags(options, i32::try_from(flags).unwrap_or(0));
    }
    // Opening a pipe without a reader for writing fails with another error; report it like other irregular files.
    let file = options.open(path).map_err(|error| match path.metadata() {
        Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => no_file(),
        _ => error,
    })?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(no_file()) }
}

fn no_file() -> io::Error {
    io::Error::other("not a regular file")
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_is_refused_at_once_and_a_file_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let (pipe, file) = (folder.path().join("pipe"), folder.path().join("file"));
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        std::fs::write(&file, "words").unwrap();
        for refused in [pipe.as_path(), folder.path()] {
            assert_eq!(open(refused).unwrap_err().to_string(), "not a regular file", "{}", refused.display());
        }
        let append = open_regular(&pipe, OpenOptions::new().append(true)).unwrap_err();
        assert_eq!(append.to_string(), "not a regular file");
        assert_eq!(io::read_to_string(open(&file).unwrap()).unwrap(), "words");
        assert_eq!(open(&folder.path().join("nothing")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
