//! Transcript files as the disk shows them: what `stat` tells, and which session a path belongs to.

use std::fs::Metadata;
use std::path::Path;
use std::time::UNIX_EPOCH;

use baton_events::conversation::Agent;
use baton_events::record::{SessionId, Timestamp};
use baton_events::session::{FileIdentity, Kind};

/// A transcript file as it was seen at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSeen {
    /// The session, by the file's name.
    pub session: SessionId,
    /// Which agent writes it.
    pub agent: Agent,
    /// A session of its own, or a subagent's.
    pub kind: Kind,
    /// Absolute path. Paths that are no UTF-8 are not read; they are counted.
    pub path: String,
    /// What `stat` said.
    pub stat: FileStat,
    /// The file behind the path.
    pub identity: FileIdentity,
}

/// Size and time of change: equal ones mean that nobody has written meanwhile, as far as the file system tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileStat {
    /// Nanoseconds since 1970 of the last change; first, so that the newest sorts last.
    pub modified_ns: i128,
    /// Bytes.
    pub size: u64,
}

impl FileStat {
    /// From `stat`.
    pub fn of(metadata: &Metadata) -> Self {
        let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Self { modified_ns: modified.map_or(0, |since| since.as_nanos() as i128), size: metadata.len() }
    }

    /// When it was last changed.
    pub fn modified(&self) -> Timestamp {
        Timestamp(i64::try_from(self.modified_ns / 1_000_000).unwrap_or(i64::MAX))
    }
}

/// The file behind a path: device and inode.
#[cfg(unix)]
pub fn identity(metadata: &Metadata) -> FileIdentity {
    use std::os::unix::fs::MetadataExt;
    FileIdentity { device: metadata.dev(), inode: metadata.ino() }
}

/// The file behind a path: unknown here, so that only its content tells files apart.
#[cfg(not(unix))]
pub fn identity(_metadata: &Metadata) -> FileIdentity {
    FileIdentity::default()
}

/// How many names a file has.
#[cfg(unix)]
pub fn names(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(metadata)
}

/// How many names a file has: unknown here.
#[cfg(not(unix))]
pub fn names(_metadata: &Metadata) -> u64 {
    1
}

/// `path` as text, if it is UTF-8.
pub fn text(path: &Path) -> Option<String> {
    path.to_str().map(str::to_owned)
}
