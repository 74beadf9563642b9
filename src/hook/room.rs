//! Whether a file may grow as far as a hook wants to write: the system ends a process that writes beyond its limit on the
//! size of files (`ulimit -f`), and a hook must not be ended.

/// Whether a file may have so many bytes.
#[cfg(unix)]
pub(super) fn is_for(bytes: usize) -> bool {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
    limit.is_none_or(|limit| u64::try_from(bytes).is_ok_and(|bytes| bytes <= limit))
}

/// Nothing is limited.
#[cfg(not(unix))]
pub(super) fn is_for(_bytes: usize) -> bool {
    true
}

/// Whether so many bytes may be printed: standard output may be a file. Only its size counts, as for one that is appended to.
#[cfg(unix)]
pub(super) fn is_in_output(bytes: usize) -> bool {
    use rustix::fs::{FileType, fstat};
    let Ok(stat) = fstat(std::io::stdout()) else { return true };
    let size = usize::try_from(stat.st_size).unwrap_or(usize::MAX);
    FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || is_for(size.saturating_add(bytes))
}

/// Nothing is limited.
#[cfg(not(unix))]
pub(super) fn is_in_output(_bytes: usize) -> bool {
    true
}
