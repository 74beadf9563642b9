//! Checks the limit on file sizes (`ulimit -f`) before a hook writes: the system kills a process that exceeds it, and a
//! hook must not be killed.

/// True if a file may have this many bytes.
#[cfg(unix)]
pub(super) fn allows(bytes: usize) -> bool {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
    limit.is_none_or(|limit| u64::try_from(bytes).is_ok_and(|bytes| bytes <= limit))
}

/// Nothing is limited.
#[cfg(not(unix))]
pub(super) fn allows(_bytes: usize) -> bool {
    true
}

/// True if this many bytes may be printed: standard output may be a file. Counts the file's size, as if output were
/// appended.
#[cfg(unix)]
pub(super) fn allows_output(bytes: usize) -> bool {
    use rustix::fs::{FileType, fstat};
    let Ok(stat) = fstat(std::io::stdout()) else { return true };
    let size = usize::try_from(stat.st_size).unwrap_or(usize::MAX);
    FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || allows(size.saturating_add(bytes))
}

/// Nothing is limited.
#[cfg(not(unix))]
pub(super) fn allows_output(_bytes: usize) -> bool {
    true
}
