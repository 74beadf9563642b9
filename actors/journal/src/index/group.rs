//! Groups of records that were appended together, as the index stores them: one compressed value each.
//!
//! A value is the unpacked size in four bytes, then zstd over the records, each as chain hash, length in four bytes and
//! record. Integers are big-endian. A value that unpacks to anything else is malformed.

use baton_conversation::record::Position;
use baton_events::envelope::ChainHash;

use super::super::RECORD_MAX_BYTES;
use super::super::ledger::Placed;
use super::{Entry, Error};

/// A group ends with the record that reaches this many bytes, so that reading one record unpacks little.
const GROUP_BYTES: usize = 16 * 1024;
/// Most bytes of one group, unpacked.
const UNPACKED_MAX_BYTES: usize = GROUP_BYTES + RECORD_MAX_BYTES + FRAME_BYTES;
/// Bytes before each record.
const FRAME_BYTES: usize = 20;
/// zstd's default: the records are alike, so higher levels gain little.
const LEVEL: i32 = 3;

/// Consecutive records.
#[derive(Debug)]
pub(crate) struct Group {
    first: Position,
    entries: Vec<Entry>,
}

impl Group {
    /// The position of its first record.
    pub(crate) fn first(&self) -> Position {
        self.first
    }

    /// The record at a position.
    pub(crate) fn get(&self, position: Position) -> Option<&Entry> {
        let index = position.0.checked_sub(self.first.0)?;
        self.entries.get(usize::try_from(index).ok()?)
    }

    /// The records from a position on.
    pub(crate) fn into_entries_from(mut self, position: Position) -> Vec<Entry> {
        let before = usize::try_from(position.0.saturating_sub(self.first.0)).unwrap_or(usize::MAX);
        self.entries.split_off(before.min(self.entries.len()))
    }
}

/// Splits records into groups, in order.
pub(crate) fn split(placed: &[Placed]) -> impl Iterator<Item = &[Placed]> {
    let mut bytes = 0;
    let ends = move |one: &Placed, _: &Placed| {
        bytes += one.bytes.len() + FRAME_BYTES;
        let goes_on = bytes < GROUP_BYTES;
        bytes = if goes_on { bytes } else { 0 };
        goes_on
    };
    placed.chunk_by(ends)
}

/// Encodes a group as a value.
pub(crate) fn pack(group: &[Placed]) -> Result<Vec<u8>, Error> {
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
    let (mut rest, mut entries) = (frames.as_slice(), Vec::new());
    while let Some((chain, behind)) = rest.split_first_chunk::<16>()
        && let Some((length, behind)) = behind.split_first_chunk::<4>()
        && let Some((bytes, behind)) = behind.split_at_checked(u32::from_be_bytes(*length) as usize)
    {
        entries.push(Entry { chain: ChainHash(*chain), bytes: bytes.to_vec() });
        rest = behind;
    }
    if rest.is_empty() && frames.len() == size { Ok(Group { first, entries }) } else { Err(malformed) }
}

fn length(bytes: &[u8]) -> [u8; 4] {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_conversation::record::{Metadata, SequenceNumber, StreamId, Timestamp};
    use baton_events::envelope::StoredRecord;

    fn placed(position: u64, bytes: usize) -> Placed {
        let record = StoredRecord {
            position: Position(position),
            stream: StreamId::recorded("s"),
            sequence: SequenceNumber(1),
            kind: "Happened".to_owned(),
            v: 1,
            at: Timestamp(0),
            metadata: Metadata::default(),
            data: "{}".to_owned(),
        };
        let noise = (0..bytes as u64).map(|n| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u8).collect();
        Placed { record, bytes: noise, chain: ChainHash([position as u8; 16]), append_continues: false }
    }

    fn check(sizes: &[usize], groups: &[usize]) {
        let placed: Vec<Placed> = (7..).zip(sizes).map(|(position, size)| placed(position, *size)).collect();
        let cut: Vec<&[Placed]> = split(&placed).collect();
        assert_eq!(cut.iter().map(|group| group.len()).collect::<Vec<_>>(), groups, "{sizes:?}");
        for group in cut {
            let first = group[0].record.position;
            let unpacked = unpack(first, &pack(group).unwrap()).unwrap();
            for one in group {
                let entry = unpacked.get(one.record.position).unwrap();
                assert_eq!((&entry.bytes, entry.chain), (&one.bytes, one.chain));
            }
            let behind = Position(first.0 + group.len() as u64);
            assert!(unpacked.get(behind).is_none() && unpacked.get(Position(first.0 - 1)).is_none());
            assert_eq!(unpacked.into_entries_from(behind), []);
        }
    }

    #[test]
    fn groups_give_back_what_they_were_given() {
        check(&[], &[]);
        check(&[300], &[1]);
        check(&[0, 0, 5], &[3]);
        check(&[300; 60], &[52, 8]);
        check(&[RECORD_MAX_BYTES, 10, RECORD_MAX_BYTES, 10], &[1, 2, 1]);
    }

    #[test]
    fn what_is_no_group_is_refused() {
        let group = pack(&[placed(1, 500)]).unwrap();
        for end in 0..group.len() {
            assert!(unpack(Position(1), &group[..end]).is_err(), "{end}");
        }
        let mut longer = group.clone();
        longer[..4].copy_from_slice(&u32::MAX.to_be_bytes());
        assert!(unpack(Position(1), &longer).is_err(), "longer than any group");
        let mut bulky = 400_u32.to_be_bytes().to_vec();
        bulky.extend_from_slice(&group[4..]);
        assert!(unpack(Position(1), &bulky).is_err(), "unpacks to more than it says");
    }
}
