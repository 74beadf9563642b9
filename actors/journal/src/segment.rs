//! The format of a segment file, and how a torn tail is told from damage.
//!
//! A segment is a header of [`HEADER_BYTES`] followed by frames. All integers are big-endian:
//!
//! ```text
//! header  magic 8 · format u32 · zero u32 · first position u64 · chain hash before it 16 · checksum 16
//! frame   length u32 · record · chain hash 16
//! ```
//!
//! Bit 30 of a length says that the next record belongs to the same append. An append is stored completely or not at
//! all, so an incomplete one ends the log before its first record; [`frames`] yields no part of it.
//!
//! Bit 31 of a length marks the first frame of a group. A group is written only after everything before it was synced,
//! so whatever lies before a group's first frame was once on disk for certain: if it is bad, that is damage.
//!
//! The last group may be a write that was never synced, so never acknowledged. A crash leaves of such a write that the
//! file ends early, or that some sectors were never written and read as zeros; every other byte is as it was written.
//! So a bad append of the last group is a torn tail only if it is cut short or has a sector of zeros ([`is_torn`]).
//! Anything else has changed after it was written: it may have been acknowledged, and is damage. Only a torn tail is
//! ever cut.
//!
//! # Hazards
//!
//! - No hash covers the two marks in a frame's length. A flipped mark is harmless, leads to a reported cut, or is
//!   refused.
//! - A disk that loses the end of the file, or a whole sector, of the last acknowledged group leaves what a torn write
//!   does. It is cut, kept and reported, unless the index has these records and gives them back.
//! - A file system that may show the old content of a block after a crash (ext4 with `data=writeback`) can make a torn
//!   tail look like damage, which is refused.
//!
//! # Decisions
//!
//! - The records of one append carry a mark, so that damage and a torn tail are told apart to the bit.

use baton_conversation::record::Position;
use baton_events::envelope;
use baton_events::envelope::{ChainHash, Tail};
use sha2::{Digest, Sha256};

use super::APPEND_MAX_RECORDS;

mod folder;
pub(crate) mod scan;
pub(super) mod sealed;
mod torn;

pub(super) use folder::{Peek, list, load, load_partial, load_sealed, path_on_disk, peek, unsealed_path};
pub(super) use torn::{find_later_group, is_torn};

/// Size of a segment's header.
pub(super) const HEADER_BYTES: usize = 56;
const LENGTH_BYTES: usize = 4;
const CHAIN_BYTES: usize = 16;
/// Size of a frame without its record.
pub(super) const FRAME_BYTES: usize = LENGTH_BYTES + CHAIN_BYTES;
/// Longest segment that is read into memory: the roll size plus one group, with plenty of room.
pub(super) const SEGMENT_MAX_BYTES: u64 = 64 * 1024 * 1024;
/// Longest record that a reader accepts: more than is ever written, so that the write bound may grow.
const RECORD_MAX_BYTES: usize = 1024 * 1024;

const MAGIC: &[u8; 8] = b"BATONSEG";
const SEGMENT_FORMAT: u32 = 2;
/// The first format, which did not mark the records of one append. It is read but no longer written.
const FIRST_FORMAT: u32 = 1;
const ENDS_IN_LENGTH: &str = "it ends within the length of a record";
const ENDS_IN_RECORD: &str = "it ends within a record";
const STARTS_GROUP: u32 = 1 << 31;
const APPEND_CONTINUES: u32 = 1 << 30;

/// A segment's header: the position of its first record, and the chain hash before it.
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
    /// The header of a segment that continues after `tail`.
    pub(super) fn after(tail: Tail) -> Self {
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

    /// True if a segment that begins with these bytes has the format that is written now.
    pub(super) fn is_current(bytes: &[u8]) -> bool {
        bytes.get(8..12).is_some_and(|format| be_u32(format) == SEGMENT_FORMAT)
    }

    /// Decodes the header at the start of `bytes`.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, HeaderError> {
        let bytes = bytes.get(..HEADER_BYTES).ok_or(HeaderError::Bad)?;
        if &bytes[..8] != MAGIC || Sha256::digest(&bytes[..40])[..16] != bytes[40..] {
            return Err(HeaderError::Bad);
        }
        let format = be_u32(&bytes[8..12]);
        if ![FIRST_FORMAT, SEGMENT_FORMAT].contains(&format) {
            return Err(HeaderError::Newer(format));
        }
        Ok(Self { first: Position(be_u64(&bytes[16..24])), before: chain_hash(&bytes[24..40]) })
    }
}

/// The place of one record in a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) offset: usize,
    pub(super) end: usize,
    pub(super) starts_group: bool,
    /// True if the next record belongs to the same append.
    pub(super) append_continues: bool,
    pub(super) chain: ChainHash,
}

impl Frame {
    /// The bytes of the record in those of its segment.
    pub(super) fn record<'a>(&self, segment: &'a [u8]) -> &'a [u8] {
        segment.get(self.offset + LENGTH_BYTES..self.end - CHAIN_BYTES).unwrap_or_default()
    }
}

/// Where a segment stops being readable: the start of the append that is bad or incomplete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Damage {
    pub(super) offset: usize,
    pub(super) what: &'static str,
}

/// Encodes a frame onto `out`.
pub(super) fn encode_frame(
    out: &mut Vec<u8>,
    starts_group: bool,
    append_continues: bool,
    record: &[u8],
    chain: ChainHash,
) {
    let length = u32::try_from(record.len()).unwrap_or(APPEND_CONTINUES - 1);
    let word =
        length | if starts_group { STARTS_GROUP } else { 0 } | if append_continues { APPEND_CONTINUES } else { 0 };
    out.extend_from_slice(&word.to_be_bytes());
    out.extend_from_slice(record);
    out.extend_from_slice(&chain.0);
}

/// The frames of a whole segment from `offset` on, verified against the chain, complete appends only. Ends after the
/// first [`Damage`].
pub(super) fn frames(
    bytes: &[u8],
    offset: usize,
    before: ChainHash,
) -> impl Iterator<Item = Result<Frame, Damage>> + '_ {
    let mut frames = Frames { offset, before, append: Vec::new() };
    std::iter::from_fn(move || frames.next(bytes))
}

/// How far the frames of a segment have been read.
#[derive(Default)]
struct Frames {
    offset: usize,
    before: ChainHash,
    /// Frames left of the current append, in reverse order.
    append: Vec<Frame>,
}

impl Frames {
    /// The next frame of the segment with these bytes; see [`frames`].
    fn next(&mut self, bytes: &[u8]) -> Option<Result<Frame, Damage>> {
        if let Some(frame) = self.append.pop() {
            return Some(Ok(frame));
        }
        if self.offset >= bytes.len() {
            return None;
        }
        if let Err(what) = self.read_append(bytes) {
            let offset = std::mem::replace(&mut self.offset, bytes.len());
            self.append.clear();
            return Some(Err(Damage { offset, what }));
        }
        self.append.pop().map(Ok)
    }

    fn read_append(&mut self, bytes: &[u8]) -> Result<(), &'static str> {
        let mut last = frame_at(bytes, self.offset, self.before)?;
        self.append.push(last);
        while last.append_continues {
            if last.end >= bytes.len() {
                return Err("it ends within an append");
            }
            last = frame_at(bytes, last.end, last.chain)?;
            if last.starts_group || self.append.len() >= APPEND_MAX_RECORDS {
                return Err("an append has no end");
            }
            self.append.push(last);
        }
        self.append.reverse();
        (self.offset, self.before) = (last.end, last.chain);
        Ok(())
    }
}

fn frame_at(bytes: &[u8], offset: usize, before: ChainHash) -> Result<Frame, &'static str> {
    let (word, record, stored, end) = split_frame(bytes, offset)?;
    let chain = envelope::chain(before, record);
    if chain != stored {
        return Err("a record does not match its chain hash");
    }
    let (starts_group, append_continues) = (word & STARTS_GROUP != 0, word & APPEND_CONTINUES != 0);
    Ok(Frame { offset, end, starts_group, append_continues, chain })
}

/// Splits a frame into its length word (with the marks), its record, the hash stored after it, and its end offset.
fn split_frame(bytes: &[u8], offset: usize) -> Result<(u32, &[u8], ChainHash, usize), &'static str> {
    let word = bytes.get(offset..offset + LENGTH_BYTES).ok_or(ENDS_IN_LENGTH)?;
    let word = be_u32(word);
    let length = (word & !(STARTS_GROUP | APPEND_CONTINUES)) as usize;
    if length == 0 || length > RECORD_MAX_BYTES {
        return Err("the length of a record is impossible");
    }
    let start = offset + LENGTH_BYTES;
    let (record_end, end) = (start + length, start + length + CHAIN_BYTES);
    let chain = bytes.get(record_end..end).ok_or(ENDS_IN_RECORD)?;
    Ok((word, &bytes[start..record_end], chain_hash(chain), end))
}

fn be_u32(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |word, byte| word << 8 | u32::from(*byte))
}

fn be_u64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

fn chain_hash(bytes: &[u8]) -> ChainHash {
    let mut hash = [0; 16];
    hash.copy_from_slice(bytes);
    ChainHash(hash)
}

#[cfg(test)]
mod tests {
    use super::torn::SECTOR_BYTES;
    use super::*;

    /// Three groups of 2, 1 and 2 records, each record an append. Returns the frames' bytes and where each frame
    /// begins.
    fn groups() -> (Vec<u8>, Vec<usize>) {
        appends([(true, false), (false, false), (true, false), (true, false), (false, false)])
    }

    /// Frames from pairs of marks: begins a group, and the next record belongs to the same append.
    fn appends<const N: usize>(marks: [(bool, bool); N]) -> (Vec<u8>, Vec<usize>) {
        let (mut bytes, mut starts, mut chain) = (Vec::new(), Vec::new(), ChainHash::GENESIS);
        for (index, (starts_group, append_continues)) in marks.into_iter().enumerate() {
            let record = format!("\u{1}{{\"position\":{}}}", index + 1);
            chain = envelope::chain(chain, record.as_bytes());
            starts.push(bytes.len());
            encode_frame(&mut bytes, starts_group, append_continues, record.as_bytes(), chain);
        }
        (bytes, starts)
    }

    fn damage(bytes: &[u8]) -> (usize, Option<(Damage, Option<usize>)>) {
        let (good, bad) = scan(bytes);
        (good, bad.map(|(damage, before)| (damage, find_later_group(bytes, damage, before))))
    }

    /// The number of good frames, and the damage after them with the hash before it.
    fn scan(bytes: &[u8]) -> (usize, Option<(Damage, ChainHash)>) {
        let (mut good, mut before) = (0, ChainHash::GENESIS);
        for frame in frames(bytes, 0, before) {
            match frame {
                Ok(frame) => (good, before) = (good + 1, frame.chain),
                Err(damage) => return (good, Some((damage, before))),
            }
        }
        (good, None)
    }

    /// True if what is bad, if anything, is what a crash leaves.
    fn torn(bytes: &[u8]) -> bool {
        let (_, bad) = scan(bytes);
        bad.is_none_or(|(damage, before)| is_torn(bytes, damage, before))
    }

    /// A group of one record, then one with an append of three, of more than a sector each; and where each frame begins.
    fn large() -> (Vec<u8>, Vec<usize>) {
        let (mut bytes, mut starts, mut chain) = (Vec::new(), Vec::new(), ChainHash::GENESIS);
        for index in 0..4 {
            let record = format!("\u{1}{{\"position\":{index},\"data\":\"{}\"}}", "x".repeat(700));
            chain = envelope::chain(chain, record.as_bytes());
            starts.push(bytes.len());
            encode_frame(&mut bytes, index < 2, index == 1 || index == 2, record.as_bytes(), chain);
        }
        (bytes, starts)
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
            assert!(torn(&bytes[..cut]), "cut at {cut}");
        }
        let (bytes, _) = large();
        assert!((0..=bytes.len()).all(|cut| torn(&bytes[..cut])));
    }

    #[test]
    fn a_flipped_bit_anywhere_is_seen_and_is_damage() {
        let (bytes, starts) = groups();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << bit;
                let frame = starts.iter().filter(|start| **start <= at).count() - 1;
                let (good, bad) = damage(&flipped);
                if starts[frame] == at && bit == 7 {
                    // The group mark says nothing about the records themselves.
                    assert_eq!((good, bad), (5, None), "byte {at} bit {bit}");
                    continue;
                }
                if starts[frame] == at && bit == 6 && [0, 3].contains(&frame) {
                    // Joined with the next append, it is still complete.
                    assert_eq!((good, bad), (5, None), "byte {at} bit {bit}");
                    continue;
                }
                let (damage, behind) = bad.expect("seen");
                assert_eq!((good, damage.offset), (frame, starts[frame]), "byte {at} bit {bit}");
                assert_eq!(behind.is_some(), frame < 3, "byte {at} bit {bit}: {behind:?}");
                // The last record claims that its append goes on, as before a file that ends early.
                let claims_more = (starts[frame], bit) == (at, 6) && frame == 4;
                assert_eq!(torn(&flipped), claims_more, "byte {at} bit {bit}");
            }
        }
        let (bytes, starts) = large();
        for at in starts[1]..bytes.len() {
            for bit in 0..if starts.contains(&at) { 6 } else { 8 } {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << bit;
                assert!(!torn(&flipped), "byte {at} bit {bit} of an append of several sectors");
            }
        }
    }

    #[test]
    fn an_append_comes_whole_or_not_at_all() {
        // One group with an append of 3 records and one of 2, then a group with one of 2.
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
    fn sectors_of_zeros_within_the_last_group_are_a_torn_tail_and_other_zeros_are_not() {
        let (whole, starts) = large();
        let begin = starts[1];
        let sectors: Vec<usize> = (0..=whole.len() / SECTOR_BYTES).collect();
        let first = begin / SECTOR_BYTES;
        assert!(sectors.len() - first > 4);
        let zeroed = |from: usize, to: usize| {
            let mut bytes = whole.clone();
            bytes[from.max(begin)..to.min(whole.len())].fill(0);
            bytes
        };
        // Any of the sectors may be missing, each for itself, and the file may end early as well.
        for missing in 1..1_usize << (sectors.len() - first) {
            let mut bytes = whole.clone();
            for sector in first..sectors.len() {
                if missing >> (sector - first) & 1 == 1 {
                    let from = (sector * SECTOR_BYTES).max(begin);
                    bytes[from..((sector + 1) * SECTOR_BYTES).min(whole.len())].fill(0);
                }
            }
            let (good, bad) = damage(&bytes);
            assert!(good == 1 && bad.is_some_and(|(_, behind)| behind.is_none()), "{missing:b}");
            for end in [whole.len(), whole.len() - 1, whole.len() - 300, begin + 700, begin + 3] {
                assert!(torn(&bytes[..end]), "{missing:b} up to {end}");
            }
        }
        for sector in first + 1..sectors.len() - 1 {
            let from = sector * SECTOR_BYTES;
            assert!(!torn(&zeroed(from + 1, from + SECTOR_BYTES)), "less than sector {sector}");
            assert!(!torn(&zeroed(from - 9, from + SECTOR_BYTES - 1)), "less than sector {sector}");
        }
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
