//! Opening files that lie beside a transcript, or in a project.

use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::path::Path;

/// Longest file beside a transcript of which a field is read, in bytes. Kiro keeps some MB of its state there.
const MAX_STATE_BYTES: u64 = 16 * 1024 * 1024;

/// The text at a JSON pointer in the file beside a transcript. In the file's name, `*` stands for the transcript's without
/// its ending, and `+` for its folder's.
pub(crate) fn text_beside(transcript: &Path, file: &str, pointer: &str) -> Option<String> {
    let folder = transcript.parent()?.file_name()?.to_str()?;
    let file = file.replace('*', transcript.file_stem()?.to_str()?).replace('+', folder);
    let mut bytes = Vec::new();
    let opened = open(&[], &transcript.with_file_name(file), MAX_STATE_BYTES)?;
    opened.take(MAX_STATE_BYTES).read_to_end(&mut bytes).ok()?;
    let value: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    value.pointer(pointer)?.as_str().map(str::to_owned)
}

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
