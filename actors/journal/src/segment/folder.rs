//! The segment files in a log's folder: their names, their headers, and loading them whole.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use baton_events::envelope::Tail;

use super::super::files;
use super::sealed::{self, Sealed};
use super::{HEADER_BYTES, Header, HeaderError, SEGMENT_MAX_BYTES};

/// The path of an unsealed segment by its number; its sealed form is at [`sealed::sealed_path`] that path.
pub(crate) fn unsealed_path(folder: &Path, number: u32) -> PathBuf {
    folder.join(format!("{number:04}.seg"))
}

/// The path where the segment actually is, sealed or not.
pub(crate) fn path_on_disk(folder: &Path, number: u32) -> PathBuf {
    let path = unsealed_path(folder, number);
    let sealed = sealed::sealed_path(&path);
    if !path.exists() && sealed.exists() { sealed } else { path }
}

/// The numbers of the segments in a folder, sealed or not, ascending. Ignores files with other names.
pub(crate) fn list(folder: &Path) -> io::Result<Vec<u32>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let name = name.to_str().map(|name| name.strip_suffix(".zst").unwrap_or(name));
        let Some(stem) = name.and_then(|name| name.strip_suffix(".seg")) else { continue };
        let Ok(number) = stem.parse::<u32>() else { continue };
        if format!("{number:04}") == stem {
            numbers.push(number);
        }
    }
    numbers.sort_unstable();
    // While a segment is being sealed, or after a crash in between, both forms exist.
    numbers.dedup();
    Ok(numbers)
}

/// Loads a whole segment, sealed or not, as it was written; `path` is that of the unsealed one. Fails with
/// `InvalidData` if the file cannot be a segment.
pub(crate) fn load(path: &Path) -> io::Result<Vec<u8>> {
    match read_whole(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => match load_sealed(path) {
            Ok((bytes, _)) => Ok(bytes),
            Err(other) if other.kind() == io::ErrorKind::NotFound => Err(error),
            Err(other) => Err(other),
        },
        outcome => outcome,
    }
}

/// Loads a segment from its sealed form alone, and returns the size of that form too; `path` is that of the unsealed
/// one.
pub(crate) fn load_sealed(path: &Path) -> io::Result<(Vec<u8>, u64)> {
    let bytes = read_whole(&sealed::sealed_path(path))?;
    Ok((sealed::unpack(&bytes)?, bytes.len() as u64))
}

/// Like [`load`], but returns what can be unpacked of a damaged sealed segment, with the reason why that is not all.
pub(crate) fn load_partial(path: &Path) -> io::Result<(Vec<u8>, Option<String>)> {
    load(path).map(|bytes| (bytes, None)).or_else(|error| {
        let part = read_whole(&sealed::sealed_path(path)).ok().and_then(|bytes| sealed::unpack_partial(&bytes));
        part.map(|part| (part, Some(error.to_string()))).ok_or(error)
    })
}

fn read_whole(path: &Path) -> io::Result<Vec<u8>> {
    let file = fs::File::open(path)?;
    let size = file.metadata()?.len();
    if size > SEGMENT_MAX_BYTES {
        let what = format!("it has {size} bytes, over the bound of {SEGMENT_MAX_BYTES}");
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    file.take(SEGMENT_MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What can be known of a segment from its header and size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peek {
    pub(crate) header: Result<Header, HeaderError>,
    /// Where it ends; only a sealed segment says so.
    pub(crate) end: Option<Tail>,
    /// Bytes on disk.
    pub(crate) bytes: u64,
}

/// Reads the header of a segment, sealed or not. If both forms exist, the unsealed one counts.
pub(crate) fn peek(folder: &Path, number: u32) -> io::Result<Peek> {
    let path = unsealed_path(folder, number);
    match peek_open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => peek_sealed(&sealed::sealed_path(&path)),
        outcome => outcome,
    }
}

fn peek_open(path: &Path) -> io::Result<Peek> {
    let (head, bytes) = files::read_start(path, HEADER_BYTES)?;
    Ok(Peek { header: Header::decode(&head), end: None, bytes })
}

fn peek_sealed(path: &Path) -> io::Result<Peek> {
    let (head, bytes) = files::read_start(path, sealed::HEADER_BYTES)?;
    let sealed = Sealed::decode(&head);
    let sealed =
        sealed.and_then(|sealed| if sealed.file_bytes() == bytes { Ok(sealed) } else { Err(HeaderError::Bad) });
    // With an end, so that nobody appends to it, even though its header is unusable.
    let end = sealed.map_or_else(|_| Tail::default(), |sealed| sealed.end);
    Ok(Peek { header: sealed.map(|sealed| sealed.header), end: Some(end), bytes })
}
