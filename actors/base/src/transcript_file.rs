//! Transcript files as `stat` shows them, and opening files without blocking on a pipe.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use baton_conversation::item::Agent;
use baton_conversation::record::{SessionId, Timestamp};
use baton_events::session::{FileIdentity, Kind};

/// A transcript file as seen at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSeen {
    /// The session, from the file's name.
    pub session: SessionId,
    /// The agent that writes it.
    pub agent: Agent,
    /// A session of its own or a subagent's.
    pub kind: Kind,
    /// Absolute path. Paths that are not UTF-8 are counted and not read. Shared, because there may be half a million.
    pub path: Arc<str>,
    /// Size and modification time.
    pub stat: FileStat,
    /// The file behind the path.
    pub identity: FileIdentity,
}

/// Size and modification time: equal values mean that the file was not written meanwhile, as far as the file system
/// tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileStat {
    /// Modification time in nanoseconds since 1970; the first field, so that the newest sorts last.
    pub modified_ns: i64,
    /// Size in bytes.
    pub size: u64,
}

impl FileStat {
    /// Reads both from metadata.
    pub fn new(metadata: &Metadata) -> Self {
        let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let ns = modified.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX));
        Self { modified_ns: ns, size: metadata.len() }
    }

    /// Modification time.
    pub fn modified(&self) -> Timestamp {
        Timestamp(self.modified_ns / 1_000_000)
    }
}

/// The file's identity: device and inode.
#[cfg(unix)]
pub fn identity(metadata: &Metadata) -> FileIdentity {
    use std::os::unix::fs::MetadataExt;
    FileIdentity { device: metadata.dev(), inode: metadata.ino() }
}

/// The file's identity: unknown on this system, so files are told apart by content only.
#[cfg(not(unix))]
pub fn identity(_metadata: &Metadata) -> FileIdentity {
    FileIdentity::default()
}

/// Number of hard links to a file.
#[cfg(unix)]
pub fn link_count(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(metadata)
}

/// Number of hard links to a file: unknown on this system, so 1.
#[cfg(not(unix))]
pub fn link_count(_metadata: &Metadata) -> u64 {
    1
}

/// `path` as text, if it is UTF-8.
pub fn path_text(path: &Path) -> Option<String> {
    path.to_str().map(str::to_owned)
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
