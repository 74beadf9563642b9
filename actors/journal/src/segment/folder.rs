//! The segment files in a log's folder: their names, loading them whole, and streaming their records.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use baton_conversation::record::Position;
use baton_events::envelope::Tail;

use super::super::files;
use super::sealed::{self, Sealed};
use super::{Frame, Frames, HEADER_BYTES, Header, HeaderError, SEGMENT_MAX_BYTES};

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

/// Passes the frames of positions `from..=to` to `take`, verifying the chain within each segment and from one to the
/// next, so no position is skipped. Stops when `take` returns `false`. Fails with the reason if a segment cannot be
/// read, or if the segments end before `to`.
pub(crate) fn stream(
    folder: &Path,
    from: Position,
    to: Position,
    mut take: impl FnMut(Position, Frame<'_>) -> bool,
) -> Result<(), String> {
    let headers = headers(folder)?;
    let mut end: Option<Header> = None;
    for (index, (path, header)) in headers.iter().enumerate() {
        if headers.get(index + 1).is_some_and(|(_, next)| next.first <= from) {
            continue;
        }
        let follows = end.map_or(header.first <= from.max(Position(1)), |end| end == *header);
        if !follows {
            let after = end.map_or(from, |end| end.first);
            return Err(format!("position {after} is missing: {} goes on with {}", path.display(), header.first));
        }
        let bytes = load(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let (mut position, mut chain) = (header.first, header.before);
        for frame in Frames::new(&bytes, HEADER_BYTES, header.before) {
            if position > to {
                return Ok(());
            }
            let frame = frame.map_err(|bad| format!("{} at byte {}: {}", path.display(), bad.offset, bad.what))?;
            let frame_chain = frame.chain;
            if position >= from && (!take(position, frame) || position == to) {
                return Ok(());
            }
            (position, chain) = (position.next(), frame_chain);
        }
        end = Some(Header { first: position, before: chain });
    }
    Err(format!("the segments in {} end before position {to}", folder.display()))
}

/// All segments of a folder with their headers. The last one may just be being created and have none yet; it is left
/// out.
fn headers(folder: &Path) -> Result<Vec<(PathBuf, Header)>, String> {
    let numbers = list(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut headers = Vec::with_capacity(numbers.len());
    for number in &numbers {
        let path = unsealed_path(folder, *number);
        let peek = peek(folder, *number).map_err(|error| format!("{}: {error}", path.display()))?;
        match peek.header {
            Ok(header) => headers.push((path, header)),
            Err(HeaderError::Bad) if numbers.last() == Some(number) => {}
            Err(error) => return Err(format!("{}: {error}", path.display())),
        }
    }
    Ok(headers)
}
