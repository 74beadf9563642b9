//! A file of vectors: a head that names the model, then frames, each written and made durable as a whole.
//!
//! ```text
//! head   "batonv1\n", length of the model's name (4), name, components of a vector (4), check (8)
//! frame  number of vectors (4), for each: key (8), worth (4), components (1 each, filled up to 16); check (8)
//! ```
//!
//! All numbers are little-endian; a check is the first 8 bytes of the SHA-256 of everything before it in its head or
//! frame.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::rows::{Rows, width};
use super::{Error, Key, MAX_BYTES, MAX_DIMENSIONS, MODEL_BYTES, io_error};
use baton_base::durable;

const MAGIC: &[u8; 8] = b"batonv1\n";
/// Maximum number of vectors in a frame: more than one request asks for.
pub(super) const FRAME_ROWS: usize = 1024;
const CHECK: usize = 8;

/// The contents of a file.
pub(super) struct Found {
    pub(super) model: String,
    pub(super) rows: Rows,
    /// End of the last intact frame.
    pub(super) end: u64,
    /// Bytes outside of intact frames.
    pub(super) lost: u64,
}

/// Reads a file. `None` if it does not exist or has no valid head. Damaged frames are skipped.
pub(super) fn read(path: &Path) -> Result<Option<Found>, Error> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(io_error(path))?,
    };
    let length = file.metadata().map_err(io_error(path))?.len();
    let mut input = BufReader::with_capacity(1 << 18, file);
    let Some((model, dimensions)) = read_head(&mut input).map_err(io_error(path))? else { return Ok(None) };
    let mut rows = Rows::new(dimensions);
    let mut at = head(&model, dimensions).len() as u64;
    let (mut end, mut whole) = (at, at);
    let mut frame = Vec::new();
    while let Some(bytes) = read_frame(&mut input, dimensions, &mut frame, length - at).map_err(io_error(path))? {
        at += bytes as u64;
        let (content, check) = frame.split_at(frame.len() - CHECK);
        if checksum(content) != check || rows.bytes() > MAX_BYTES {
            continue;
        }
        (end, whole) = (at, whole + bytes as u64);
        for row in content[4..].chunks_exact(12 + width(dimensions)) {
            let (Some(key), Some(worth)) = (read_number(&row[..8]), read_number(&row[8..12])) else { continue };
            let components: Vec<i8> = row[12..].iter().map(|byte| byte.cast_signed()).collect();
            let worth = f32::from_bits(worth as u32);
            if worth.is_finite() {
                rows.push(key, worth, &components);
            }
        }
    }
    Ok(Some(Found { model, rows, end, lost: length - whole }))
}

/// Reads the next frame into `frame`; `None` at the end, or if its length is not valid.
fn read_frame(input: &mut impl Read, dimensions: usize, frame: &mut Vec<u8>, left: u64) -> io::Result<Option<usize>> {
    if left < (4 + CHECK) as u64 {
        return Ok(None);
    }
    frame.resize(4, 0);
    input.read_exact(frame)?;
    let count = read_number(frame).unwrap_or(0) as usize;
    let bytes = 4 + count.saturating_mul(12 + width(dimensions)) + CHECK;
    if count == 0 || count > FRAME_ROWS || bytes as u64 > left {
        return Ok(None);
    }
    frame.resize(bytes, 0);
    input.read_exact(&mut frame[4..])?;
    Ok(Some(bytes))
}

/// Reads the model's name and the number of components; `None` if the head is not valid.
fn read_head(input: &mut impl Read) -> io::Result<Option<(String, usize)>> {
    let mut take = |count: usize| {
        let mut bytes = vec![0; count];
        match input.read_exact(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            read => read.map(|()| Some(bytes)),
        }
    };
    let Some(start) = take(12)? else { return Ok(None) };
    let named = read_number(&start[8..]).unwrap_or(0) as usize;
    if &start[..8] != MAGIC || named > MODEL_BYTES {
        return Ok(None);
    }
    let (Some(name), Some(dimensions), Some(check)) = (take(named)?, take(4)?, take(CHECK)?) else { return Ok(None) };
    let dimensions = read_number(&dimensions).unwrap_or(0) as usize;
    let Ok(name) = String::from_utf8(name) else { return Ok(None) };
    let is_whole = head(&name, dimensions).ends_with(&check) && (1..=MAX_DIMENSIONS).contains(&dimensions);
    Ok(is_whole.then_some((name, dimensions)))
}

fn head(model: &str, dimensions: usize) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend((model.len() as u32).to_le_bytes());
    bytes.extend(model.as_bytes());
    bytes.extend((dimensions as u32).to_le_bytes());
    let check = checksum(&bytes);
    bytes.extend(check);
    bytes
}

/// Encodes one frame of at most [`FRAME_ROWS`] vectors.
pub(super) fn frame<'a>(rows: impl Iterator<Item = (Key, f32, &'a [i8])>) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    let mut count = 0_u32;
    for (key, worth, components) in rows {
        bytes.extend(key.to_le_bytes());
        bytes.extend(worth.to_bits().to_le_bytes());
        bytes.extend(components.iter().map(|component| component.cast_unsigned()));
        count += 1;
    }
    bytes[..4].copy_from_slice(&count.to_le_bytes());
    let check = checksum(&bytes);
    bytes.extend(check);
    bytes
}

/// Replaces a file atomically and durably; returns its length.
pub(super) fn write(path: &Path, model: &str, rows: &Rows) -> Result<u64, Error> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(durable::BEING_WRITTEN);
    let temporary = path.with_file_name(name);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let write = || -> io::Result<u64> {
        let mut file = options.open(&temporary)?;
        let mut end = head(model, rows.dimensions());
        file.write_all(&end)?;
        let mut bytes = end.len() as u64;
        for from in (0..rows.len()).step_by(FRAME_ROWS) {
            end = frame((from..rows.len().min(from + FRAME_ROWS)).filter_map(|place| rows.row(place)));
            file.write_all(&end)?;
            bytes += end.len() as u64;
        }
        drop(file);
        durable::sync_file(&temporary)?;
        std::fs::rename(&temporary, path)?;
        durable::sync_parent(path)?;
        Ok(bytes)
    };
    write().inspect_err(|_| drop(std::fs::remove_file(&temporary))).map_err(io_error(path))
}

/// Appends a frame durably at `end`, the end of the last intact frame; anything after that is cut off. Returns the new
/// end.
pub(super) fn append(path: &Path, end: u64, frame: &[u8]) -> Result<u64, Error> {
    let write = || -> io::Result<u64> {
        let mut file = OpenOptions::new().write(true).open(path)?;
        file.set_len(end)?;
        file.seek(SeekFrom::Start(end))?;
        file.write_all(frame)?;
        file.sync_data()?;
        Ok(end + frame.len() as u64)
    };
    write().map_err(io_error(path))
}

/// Removes vectors of texts that are not live from a file that is not in use; returns their number. A file without a
/// valid head is deleted, since its contents are unknown.
pub(super) fn retain(path: &Path, live: &HashSet<Key>) -> Result<u64, Error> {
    let Some(found) = read(path)? else {
        std::fs::remove_file(path).map_err(io_error(path))?;
        return Ok(0);
    };
    let dead = found.rows.count_dead(live);
    if dead > 0 || found.lost > 0 {
        write(path, &found.model, &found.rows.retained(live))?;
    }
    Ok(dead as u64)
}

fn checksum(bytes: &[u8]) -> [u8; CHECK] {
    let mut check = [0; CHECK];
    check.copy_from_slice(&Sha256::digest(bytes)[..CHECK]);
    check
}

fn read_number(bytes: &[u8]) -> Option<u64> {
    let mut word = [0; 8];
    word.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(u64::from_le_bytes(word))
}
