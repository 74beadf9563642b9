//! Groups of consecutive records, as the index stores them: one compressed value each.
//!
//! A value is the unpacked size in four bytes, then zstd over the records, each as chain hash, length in four bytes and
//! record. Integers are big-endian. A value that unpacks to anything else is malformed.

use baton_conversation::record::Position;
use baton_events::envelope::ChainHash;

use super::super::RECORD_MAX_BYTES;
use super::{Entry, Error};

/// Most bytes of a group, unpacked, unless it is a single record. sled has up to 16 values in a page, and writes a page of
/// more than 128 KiB to a file of its own; packed, that many groups are usually smaller.
const GROUP_BYTES: usize = 32 * 1024;
/// Most bytes of a group of one record.
const UNPACKED_MAX_BYTES: usize = GROUP_BYTES + RECORD_MAX_BYTES;
/// Bytes before each record.
const FRAME_BYTES: usize = 20;
/// zstd's default: the records are alike, so higher levels gain little.
const LEVEL: i32 = 3;

/// Consecutive records.
#[derive(Debug)]
pub(crate) struct Group {
    first: Position,
    frames: Vec<u8>,
    /// The offsets of the frames.
    offsets: Vec<usize>,
}

impl Group {
    /// The position of its first record.
    pub(crate) fn first(&self) -> Position {
        self.first
    }

    /// The position after its last record.
    pub(crate) fn end(&self) -> Position {
        Position(self.first.0 + self.offsets.len() as u64)
    }

    /// The chain hash at a position, and the record.
    pub(crate) fn get(&self, position: Position) -> Option<(ChainHash, &[u8])> {
        let index = usize::try_from(position.0.checked_sub(self.first.0)?).ok()?;
        let (chain, record, _) = split_frame(self.frames.get(*self.offsets.get(index)?..)?)?;
        Some((chain, record))
    }
}

/// Splits records into groups, in order.
pub(crate) fn split(entries: &[Entry]) -> impl Iterator<Item = &[Entry]> {
    let mut bytes = 0;
    let fits = move |one: &Entry, next: &Entry| {
        bytes += one.bytes.len() + FRAME_BYTES;
        let fits = bytes + next.bytes.len() + FRAME_BYTES <= GROUP_BYTES;
        bytes = if fits { bytes } else { 0 };
        fits
    };
    entries.chunk_by(fits)
}

/// Encodes a group as a value.
pub(crate) fn pack(group: &[Entry]) -> Result<Vec<u8>, Error> {
    let mut frames = Vec::with_capacity(group.iter().map(|one| FRAME_BYTES + one.bytes.len()).sum());
    for one in group {
        frames.extend_from_slice(&one.chain.0);
        frames.extend_from_slice(&length(&one.bytes));
        frames.extend_from_slice(&one.bytes);
    }
    let mut value = length(&frames).to_vec();
    value.extend_from_slice(&zstd::bulk::compress(&frames, LEVEL)?);
    Ok(value)
}

/// Decodes the value of a group.
pub(crate) fn unpack(first: Position, value: &[u8]) -> Result<Group, Error> {
    let malformed = Error::Malformed("a group of records");
    let Some((size, packed)) = value.split_first_chunk::<4>() else { return Err(malformed) };
    let size = u32::from_be_bytes(*size) as usize;
    if size > UNPACKED_MAX_BYTES {
        return Err(malformed);
    }
    let frames = zstd::bulk::decompress(packed, size)?;
    let (mut offset, mut offsets) = (0, Vec::new());
    while let Some((_, _, bytes)) = split_frame(&frames[offset..]) {
        offsets.push(offset);
        offset += bytes;
    }
    let is_whole = offset == size && frames.len() == size && first.0.checked_add(offsets.len() as u64).is_some();
    if is_whole { Ok(Group { first, frames, offsets }) } else { Err(malformed) }
}

/// Splits the first frame: its chain hash, its record, and its length.
fn split_frame(frames: &[u8]) -> Option<(ChainHash, &[u8], usize)> {
    let (chain, rest) = frames.split_first_chunk::<16>()?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let record = rest.get(..u32::from_be_bytes(*length) as usize)?;
    Some((ChainHash(*chain), record, FRAME_BYTES + record.len()))
}

fn length(bytes: &[u8]) -> [u8; 4] {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: usize, bytes: usize) -> Entry {
        let noise = (0..bytes as u64).map(|n| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u8).collect();
        Entry { chain: ChainHash([number as u8; 16]), bytes: noise }
    }

    fn check(sizes: &[usize], groups: &[usize]) {
        let entries: Vec<Entry> = sizes.iter().enumerate().map(|(number, size)| entry(number, *size)).collect();
        let cut: Vec<&[Entry]> = split(&entries).collect();
        assert_eq!(cut.iter().map(|group| group.len()).collect::<Vec<_>>(), groups, "{sizes:?}");
        for group in cut {
            let unpacked = unpack(Position(7), &pack(group).unwrap()).unwrap();
            assert_eq!((unpacked.first(), unpacked.end()), (Position(7), Position(7 + group.len() as u64)));
            for (position, one) in (7..).zip(group) {
                assert_eq!(unpacked.get(Position(position)), Some((one.chain, &*one.bytes)));
            }
            assert!(unpacked.get(unpacked.end()).is_none() && unpacked.get(Position(6)).is_none());
        }
    }

    #[test]
    fn groups_give_back_what_they_were_given() {
        check(&[], &[]);
        check(&[300], &[1]);
        check(&[0, 0, 5], &[3]);
        check(&[300; 120], &[102, 18]);
        check(&[10, RECORD_MAX_BYTES, 10, 5000, 30_000, 10], &[1, 1, 2, 2]);
    }

    #[test]
    fn what_is_no_group_is_refused() {
        let group = pack(&[entry(1, 500)]).unwrap();
        for end in 0..group.len() {
            assert!(unpack(Position(1), &group[..end]).is_err(), "{end}");
        }
        assert!(unpack(Position(u64::MAX), &group).is_err(), "beyond the last position");
        let mut longer = group.clone();
        longer[..4].copy_from_slice(&u32::MAX.to_be_bytes());
        assert!(unpack(Position(1), &longer).is_err(), "longer than any group");
        let mut bulky = 400_u32.to_be_bytes().to_vec();
        bulky.extend_from_slice(&group[4..]);
        assert!(unpack(Position(1), &bulky).is_err(), "unpacks to more than it says");
    }
}
