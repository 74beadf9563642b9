//! The format of a segment file, and how a torn tail is told from damage.
//!
//! A segment is a header of [`HEADER_BYTES`] and then frames, all integers big-endian:
//!
//! ```text
//! header  magic 8 · format u32 · zero u32 · first position u64 · chain hash before it 16 · checksum 16
//! frame   length u32 · record · chain hash 16
//! ```
//!
//! The bit below the top one of a length says that the next record is of the same append. An append is stored wholly or not
//! at all, so one that is not whole ends the log before its first record; [`Frames`] gives no part of it.
//!
//! The top bit of a length marks the first frame of a group. A group is written only after everything before it was
//! synced, so whatever lies before a group's first frame was once on the disk for certain: if it is bad, that is
//! damage. What is bad with no later group behind it is the torn tail of a write that nobody had an answer to, or at
//! worst the last group. Nothing else can tell the two apart, so nothing else is cut.
//!
//! # Hazards
//!
//! - No hash covers the marks in a frame's length (begins a group, goes on). A changed one is harmless, cut
//!   with a report, or refused.
//!
//! # Decisions
//!
//! - Records of one append carry a mark, which distinguishes damage from a torn tail to the bit.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use baton_conversation::record::Position;
use baton_events::envelope;
use baton_events::envelope::{ChainHash, FORMAT, Tail};
use sha2::{Digest, Sha256};

use super::sealed::{self, Sealed};
use super::{APPEND_MAX_RECORDS, files};

/// Size of a segment's header.
pub(super) const HEADER_BYTES: usize = 56;
/// Size of a frame without its record.
pub(super) const FRAME_BYTES: usize = 20;
/// Longest segment that is read into memory: the roll size plus one group, with much room.
pub(super) const SEGMENT_MAX_BYTES: u64 = 64 * 1024 * 1024;
/// Longest record that is believed. More than is ever written, so that the bound may grow.
const RECORD_MAX_BYTES: usize = 1024 * 1024;

const MAGIC: &[u8; 8] = b"BATONSEG";
const SEGMENT_FORMAT: u32 = 2;
/// The first format did not mark what belongs together. It is read, and not written on.
const FIRST_FORMAT: u32 = 1;
const GROUP: u32 = 1 << 31;
const GOES_ON: u32 = 1 << 30;

/// What a segment begins with: the position of its first record, and the chain hash before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) first: Position,
    pub(super) before: ChainHash,
}

/// Why a segment's header cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum HeaderError {
    #[error("its header is cut off or does not match its checksum")]
    Bad,
    #[error("its format {0} is unknown: it was written by a newer version of this program")]
    Newer(u32),
}

impl Header {
    /// The header of a segment that goes on behind `tail`.
    pub(super) fn behind(tail: Tail) -> Self {
        Self { first: tail.position.next(), before: tail.chain }
    }

    pub(super) fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&SEGMENT_FORMAT.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.first.0.to_be_bytes());
        bytes[24..40].copy_from_slice(&self.before.0);
        let sum = Sha256::digest(&bytes[..40]);
        bytes[40..].copy_from_slice(&sum[..16]);
        bytes
    }

    /// Whether a segment that begins with these bytes has the format that is written.
    pub(super) fn is_current(bytes: &[u8]) -> bool {
        bytes.get(8..12).is_some_and(|format| be_u32(format) == SEGMENT_FORMAT)
    }

    /// The header at the start of these bytes.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, HeaderError> {
        let bytes = bytes.get(..HEADER_BYTES).ok_or(HeaderError::Bad)?;
        if &bytes[..8] != MAGIC || Sha256::digest(&bytes[..40])[..16] != bytes[40..] {
            return Err(HeaderError::Bad);
        }
        let format = be_u32(&bytes[8..12]);
        if ![FIRST_FORMAT, SEGMENT_FORMAT].contains(&format) {
            return Err(HeaderError::Newer(format));
        }
        let mut first = [0; 8];
        first.copy_from_slice(&bytes[16..24]);
        Ok(Self { first: Position(u64::from_be_bytes(first)), before: hash(&bytes[24..40]) })
    }
}

/// One record as it lies in a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a> {
    pub(super) offset: usize,
    pub(super) end: usize,
    pub(super) starts_group: bool,
    /// Whether the next record is of the same append.
    pub(super) goes_on: bool,
    pub(super) record: &'a [u8],
    pub(super) chain: ChainHash,
}

/// A place from which on a segment cannot be read: where the append begins that is bad or not whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Damage {
    pub(super) offset: usize,
    pub(super) what: &'static str,
}

/// Adds a frame to what is to be written.
pub(super) fn push_frame(out: &mut Vec<u8>, starts_group: bool, goes_on: bool, record: &[u8], chain: ChainHash) {
    let length = u32::try_from(record.len()).unwrap_or(GOES_ON - 1);
    let word = length | if starts_group { GROUP } else { 0 } | if goes_on { GOES_ON } else { 0 };
    out.extend_from_slice(&word.to_be_bytes());
    out.extend_from_slice(record);
    out.extend_from_slice(&chain.0);
}

/// The frames of a whole segment from some offset on, each verified against the chain, and of whole appends only. Ends
/// after the first [`Damage`].
pub(super) struct Frames<'a> {
    bytes: &'a [u8],
    offset: usize,
    before: ChainHash,
    /// Frames of one append, the next one last.
    whole: Vec<Frame<'a>>,
}

impl<'a> Frames<'a> {
    pub(super) fn new(bytes: &'a [u8], offset: usize, before: ChainHash) -> Self {
        Self { bytes, offset, before, whole: Vec::new() }
    }

    /// The rest of the append that begins with `first`.
    fn complete(&mut self, first: Frame<'a>) -> Result<(), &'static str> {
        let mut last = first;
        self.whole.push(first);
        while last.goes_on {
            if last.end >= self.bytes.len() {
                return Err("it ends within an append");
            }
            last = frame_at(self.bytes, last.end, last.chain)?;
            if last.starts_group || self.whole.len() >= APPEND_MAX_RECORDS {
                return Err("an append has no end");
            }
            self.whole.push(last);
        }
        self.whole.reverse();
        (self.offset, self.before) = (last.end, last.chain);
        Ok(())
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Result<Frame<'a>, Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(frame) = self.whole.pop() {
            return Some(Ok(frame));
        }
        if self.offset >= self.bytes.len() {
            return None;
        }
        let offset = self.offset;
        match frame_at(self.bytes, offset, self.before).and_then(|first| self.complete(first)) {
            Ok(()) => self.whole.pop().map(Ok),
            Err(what) => {
                self.offset = self.bytes.len();
                self.whole.clear();
                Some(Err(Damage { offset, what }))
            }
        }
    }
}

fn frame_at(bytes: &[u8], offset: usize, before: ChainHash) -> Result<Frame<'_>, &'static str> {
    let (word, record, stored, end) = parts_at(bytes, offset)?;
    let chain = envelope::chain(before, record);
    if chain != stored {
        return Err("a record does not match its chain hash");
    }
    let (starts_group, goes_on) = (word & GROUP != 0, word & GOES_ON != 0);
    Ok(Frame { offset, end, starts_group, goes_on, record, chain })
}

/// The word with length and marks, the record, the hash stored behind it, and the end of a frame.
fn parts_at(bytes: &[u8], offset: usize) -> Result<(u32, &[u8], ChainHash, usize), &'static str> {
    let word = bytes.get(offset..offset + 4).ok_or("it ends within the length of a record")?;
    let word = be_u32(word);
    let length = (word & !(GROUP | GOES_ON)) as usize;
    if length == 0 || length > RECORD_MAX_BYTES {
        return Err("the length of a record is impossible");
    }
    let start = offset + 4;
    let (record_end, end) = (start + length, start + length + 16);
    let chain = bytes.get(record_end..end).ok_or("it ends within a record")?;
    Ok((word, &bytes[start..record_end], hash(chain), end))
}

/// Whether what is bad at `damage` was on the disk for certain, because a later group stands behind it: the offset of
/// that group. Looks for whole frames at every byte, so it does not need the bad frame's length.
pub(super) fn group_behind(bytes: &[u8], damage: Damage, before: ChainHash) -> Option<usize> {
    // The first frames of an append that is not whole are good.
    let (mut bad, mut before) = (damage.offset, before);
    while let Ok(frame) = frame_at(bytes, bad, before) {
        if frame.starts_group && bad > damage.offset {
            return Some(bad);
        }
        (bad, before) = (frame.end, frame.chain);
    }
    // The frame right behind a bad one follows from the hash stored in the bad one, or, if it is that hash that is
    // bad, from the one computed.
    if let Ok((_, record, _, end)) = parts_at(bytes, bad) {
        match frame_at(bytes, end, envelope::chain(before, record)) {
            Ok(frame) if frame.starts_group => return Some(frame.offset),
            _ => {}
        }
    }
    let mut offset = (bad + 1).max(size_of::<ChainHash>());
    while offset + FRAME_BYTES < bytes.len() {
        let looks_like_one = bytes[offset + 4] == FORMAT && bytes[offset + 5] == b'{';
        match looks_like_one.then(|| frame_at(bytes, offset, hash(&bytes[offset - 16..offset]))) {
            Some(Ok(frame)) if frame.starts_group => return Some(frame.offset),
            Some(Ok(frame)) => offset = frame.end,
            _ => offset += 1,
        }
    }
    None
}

/// The path of a segment by its number. Sealed, it lies beside under [`sealed::path_of`] that.
pub(super) fn path_of(folder: &Path, number: u32) -> PathBuf {
    folder.join(format!("{number:04}.seg"))
}

/// The path under which a segment lies there, sealed or not.
pub(super) fn path_on_disk(folder: &Path, number: u32) -> PathBuf {
    let path = path_of(folder, number);
    let sealed = sealed::path_of(&path);
    if !path.exists() && sealed.exists() { sealed } else { path }
}

/// The numbers of the segments in a folder, sealed or not, ascending. Other names are left alone.
pub(super) fn list(folder: &Path) -> io::Result<Vec<u32>> {
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
    // While it is being sealed, and after a crash then, a segment is there twice.
    numbers.dedup();
    Ok(numbers)
}

/// A whole segment, given the path of the unsealed one: its bytes as they were written, also when it is sealed.
/// `InvalidData` is for what no segment can be.
pub(super) fn load(path: &Path) -> io::Result<Vec<u8>> {
    match read_whole(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => match load_sealed(path) {
            Ok((bytes, _)) => Ok(bytes),
            Err(other) if other.kind() == io::ErrorKind::NotFound => Err(error),
            Err(other) => Err(other),
        },
        outcome => outcome,
    }
}

/// A whole segment from its sealed form alone, given the path of the unsealed one, and the bytes of that form.
pub(super) fn load_sealed(path: &Path) -> io::Result<(Vec<u8>, u64)> {
    let bytes = read_whole(&sealed::path_of(path))?;
    Ok((sealed::unpack(&bytes)?, bytes.len() as u64))
}

/// As [`load`], but of a sealed segment that is damaged as much as can be unpacked, and why that is not all.
pub(super) fn load_part(path: &Path) -> io::Result<(Vec<u8>, Option<String>)> {
    load(path).map(|bytes| (bytes, None)).or_else(|error| {
        let part = read_whole(&sealed::path_of(path)).ok().and_then(|bytes| sealed::unpack_part(&bytes));
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

/// What is known of a segment without reading it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peek {
    pub(super) header: Result<Header, HeaderError>,
    /// Where it ends, which only a sealed one says.
    pub(super) end: Option<Tail>,
    /// Its bytes on disk.
    pub(super) bytes: u64,
}

/// Looks at a segment, sealed or not. Where both are there the unsealed one counts.
pub(super) fn peek(folder: &Path, number: u32) -> io::Result<Peek> {
    let path = path_of(folder, number);
    match peek_open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => peek_sealed(&sealed::path_of(&path)),
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
    // Without a header of its own it is still none that could be written to.
    let end = sealed.map_or_else(|_| Tail::default(), |sealed| sealed.end);
    Ok(Peek { header: sealed.map(|sealed| sealed.header), end: Some(end), bytes })
}

/// Streams the frames of positions `from..=to` out of a folder of segments, verifying the chain on the way, within each and
/// from one to the next: no position is left out. `take` says whether to go on. `Err` says what could not be read; that the
/// segments end before `to` is an error too.
pub(super) fn stream(
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

/// All segments of a folder with their headers. The last may just be in the making: then it has none yet.
fn headers(folder: &Path) -> Result<Vec<(PathBuf, Header)>, String> {
    let numbers = list(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut headers = Vec::with_capacity(numbers.len());
    for number in &numbers {
        let path = path_of(folder, *number);
        let peek = peek(folder, *number).map_err(|error| format!("{}: {error}", path.display()))?;
        match peek.header {
            Ok(header) => headers.push((path, header)),
            Err(HeaderError::Bad) if numbers.last() == Some(number) => {}
            Err(error) => return Err(format!("{}: {error}", path.display())),
        }
    }
    Ok(headers)
}

fn be_u32(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |word, byte| word << 8 | u32::from(*byte))
}

fn hash(bytes: &[u8]) -> ChainHash {
    let mut hash = [0; 16];
    hash.copy_from_slice(bytes);
    ChainHash(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three groups: 2, 1 and 2 records, each an append. Gives the bytes behind the header and where each frame begins.
    fn groups() -> (Vec<u8>, Vec<usize>) {
        appends([(true, false), (false, false), (true, false), (true, false), (false, false)])
    }

    /// Records that begin a group or not, and belong to the append of the next or not.
    fn appends<const N: usize>(marks: [(bool, bool); N]) -> (Vec<u8>, Vec<usize>) {
        let (mut bytes, mut starts, mut chain) = (Vec::new(), Vec::new(), ChainHash::GENESIS);
        for (index, (starts_group, goes_on)) in marks.into_iter().enumerate() {
            let record = format!("\u{1}{{\"position\":{}}}", index + 1);
            chain = envelope::chain(chain, record.as_bytes());
            starts.push(bytes.len());
            push_frame(&mut bytes, starts_group, goes_on, record.as_bytes(), chain);
        }
        (bytes, starts)
    }

    fn damage(bytes: &[u8]) -> (usize, Option<(Damage, Option<usize>)>) {
        let (mut good, mut before) = (0, ChainHash::GENESIS);
        for frame in Frames::new(bytes, 0, before) {
            match frame {
                Ok(frame) => (good, before) = (good + 1, frame.chain),
                Err(damage) => return (good, Some((damage, group_behind(bytes, damage, before)))),
            }
        }
        (good, None)
    }

    #[test]
    fn a_cut_anywhere_keeps_all_whole_records_before_it_and_is_a_torn_tail() {
        let (bytes, starts) = groups();
        for cut in 0..=bytes.len() {
            let whole = starts.iter().skip(1).chain([&bytes.len()]).filter(|end| **end <= cut).count();
            let at_border = cut == bytes.len() || starts.contains(&cut);
            let (good, bad) = damage(&bytes[..cut]);
            assert_eq!(good, whole, "cut at {cut}");
            assert_eq!(bad.is_none(), at_border, "cut at {cut}");
            assert!(bad.is_none_or(|(_, behind)| behind.is_none()), "cut at {cut}");
        }
    }

    #[test]
    fn a_flipped_bit_anywhere_is_seen_and_is_damage_unless_in_the_last_group() {
        let (bytes, starts) = groups();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << bit;
                let frame = starts.iter().filter(|start| **start <= at).count() - 1;
                let (good, bad) = damage(&flipped);
                if starts[frame] == at && bit == 7 {
                    // The mark of a group says nothing about the records themselves.
                    assert_eq!((good, bad), (5, None), "byte {at} bit {bit}");
                    continue;
                }
                if starts[frame] == at && bit == 6 && [0, 3].contains(&frame) {
                    // Joined to the append behind it, it is still whole.
                    assert_eq!((good, bad), (5, None), "byte {at} bit {bit}");
                    continue;
                }
                let (damage, behind) = bad.expect("seen");
                assert_eq!((good, damage.offset), (frame, starts[frame]), "byte {at} bit {bit}");
                assert_eq!(behind.is_some(), frame < 3, "byte {at} bit {bit}: {behind:?}");
            }
        }
    }

    #[test]
    fn an_append_comes_whole_or_not_at_all() {
        // One of 3 records and one of 2 in one group, then one of 2 in another.
        let marks =
            [(true, true), (false, true), (false, false), (false, true), (false, false), (true, true), (false, false)];
        let (bytes, starts) = appends(marks);
        assert_eq!(damage(&bytes), (7, None));
        for cut in 0..bytes.len() {
            let whole = [3, 5, 7].into_iter().rfind(|end| starts.get(*end).is_none_or(|end| *end <= cut) && *end < 7);
            let whole = whole.filter(|end| starts[*end] <= cut).unwrap_or(0);
            let (good, bad) = damage(&bytes[..cut]);
            assert_eq!(good, whole, "cut at {cut}");
            let expected = (cut != starts[whole]).then_some(starts[whole]);
            assert_eq!(bad.map(|(damage, _)| damage.offset), expected, "cut at {cut}");
            assert!(bad.is_none_or(|(_, behind)| behind.is_none()), "cut at {cut}");
        }
        for frame in 0..7 {
            let mut flipped = bytes.clone();
            flipped[starts[frame] + 5] ^= 1;
            let begin = [0, 0, 0, 3, 3, 5, 5][frame];
            let (good, bad) = damage(&flipped);
            let (damage, behind) = bad.expect("seen");
            assert_eq!(
                (good, damage.offset, behind),
                (begin, starts[begin], (frame < 5).then_some(starts[5])),
                "{frame}"
            );
        }
    }

    #[test]
    fn a_hole_of_zeros_within_the_last_group_is_a_torn_tail() {
        let (mut bytes, starts) = groups();
        bytes[starts[3]..starts[4]].fill(0);
        assert!(matches!(damage(&bytes), (3, Some((_, None)))));
        bytes[starts[2]..starts[3]].fill(0);
        assert!(matches!(damage(&bytes), (2, Some((_, None)))), "nothing whole begins a group behind it");
    }

    #[test]
    fn a_header_is_read_as_written_and_every_flipped_bit_is_seen() {
        let header = Header { first: Position(77), before: ChainHash([9; 16]) };
        let bytes = header.encode();
        assert_eq!(Header::decode(&bytes), Ok(header));
        for at in 0..HEADER_BYTES * 8 {
            let mut flipped = bytes;
            flipped[at / 8] ^= 1 << (at % 8);
            assert!(Header::decode(&flipped).is_err(), "bit {at}");
            assert!(Header::decode(&bytes[..at / 8]).is_err(), "cut at {}", at / 8);
        }
    }

    #[test]
    fn garbage_never_panics_and_is_never_a_record() {
        let mut garbage: Vec<u8> = Vec::new();
        let mut word = 0x2545_f491_4f6c_dd1d_u64;
        for _ in 0..4000 {
            word ^= word << 13;
            word ^= word >> 7;
            word ^= word << 17;
            garbage.extend_from_slice(&[1, b'{', word as u8]);
        }
        assert!(matches!(damage(&garbage), (0, Some((_, None)))));
    }
}
