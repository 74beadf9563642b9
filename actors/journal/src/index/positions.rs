//! The positions of a stream's records, as the index stores them: differences as varints, in chunks of [`CHUNK`].
//!
//! Chunk `n` has the records numbered from `n * CHUNK + 1` on. Full ones lie apart and are never written again; the last
//! one, which has less than [`CHUNK`] positions, lies in the stream's row, so that an append rewrites a bounded value.

use baton_conversation::record::{Position, SequenceNumber};

use super::super::ledger::Head;

/// Positions of a full chunk, which takes one or two KB.
pub(crate) const CHUNK: usize = 1024;

/// The row of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) head: Head,
    /// The positions of the last chunk.
    pub(crate) last: Vec<Position>,
    /// The view's row for the stream; see `checkpoint`.
    pub(crate) view: Vec<u8>,
}

impl Row {
    /// The number of its last chunk.
    pub(crate) fn chunk(&self) -> u64 {
        chunk_after(self.head.sequence)
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut value = Vec::with_capacity(20 + self.last.len() * 2 + self.view.len());
        put(&mut value, self.head.sequence.0);
        put(&mut value, self.head.position.0);
        encode_differences(&mut value, &self.last);
        value.extend_from_slice(&self.view);
        value
    }

    /// `None` if `value` is no row.
    pub(crate) fn decode(value: &[u8]) -> Option<Self> {
        let (sequence, rest) = get(value)?;
        let (position, rest) = get(rest)?;
        let head = Head { sequence: SequenceNumber(sequence), position: Position(position) };
        let (last, view) = decode_differences(rest, usize::try_from(sequence % CHUNK as u64).ok()?)?;
        let ends_there = last.last().is_none_or(|last| *last == head.position) && sequence > 0;
        ends_there.then(|| Self { head, last, view: view.to_vec() })
    }
}

/// The number of the chunk that has the record after the one numbered `sequence`.
pub(crate) fn chunk_after(sequence: SequenceNumber) -> u64 {
    sequence.0 / CHUNK as u64
}

/// The place in its chunk of the record after the one numbered `sequence`.
pub(crate) fn place_after(sequence: SequenceNumber) -> usize {
    (sequence.0 % CHUNK as u64) as usize
}

/// Encodes a full chunk.
pub(crate) fn encode_chunk(positions: &[Position]) -> Vec<u8> {
    let mut value = Vec::with_capacity(positions.len() * 2);
    encode_differences(&mut value, positions);
    value
}

/// Decodes a full chunk.
pub(crate) fn decode_chunk(value: &[u8]) -> Option<Vec<Position>> {
    let (positions, rest) = decode_differences(value, CHUNK)?;
    rest.is_empty().then_some(positions)
}

fn encode_differences(value: &mut Vec<u8>, positions: &[Position]) {
    let mut before = 0;
    for Position(position) in positions {
        put(value, position - before);
        before = *position;
    }
}

fn decode_differences(mut rest: &[u8], count: usize) -> Option<(Vec<Position>, &[u8])> {
    let (mut positions, mut before) = (Vec::with_capacity(count), 0_u64);
    for _ in 0..count {
        let difference;
        (difference, rest) = get(rest)?;
        before = before.checked_add(difference).filter(|_| difference > 0)?;
        positions.push(Position(before));
    }
    Some((positions, rest))
}

/// Appends a number, seven bits to a byte, the lowest first.
fn put(value: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        value.push(number as u8 | 0x80);
        number >>= 7;
    }
    value.push(number as u8);
}

fn get(value: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0_u64;
    for (index, byte) in value.iter().enumerate().take(10) {
        number |= u64::from(byte & 0x7f).checked_shl(7 * index as u32)?;
        if byte & 0x80 == 0 {
            return Some((number, &value[index + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(positions: &[u64], before: u64) -> Row {
        let last: Vec<Position> = positions.iter().copied().map(Position).collect();
        let sequence = SequenceNumber(before * CHUNK as u64 + last.len() as u64);
        let position = last.last().copied().unwrap_or(Position(7));
        Row { head: Head { sequence, position }, last, view: b"view".to_vec() }
    }

    #[test]
    fn a_row_is_given_back_and_a_part_of_one_is_none() {
        for row in [row(&[1], 0), row(&[5, 6, 1 << 40, u64::MAX], 0), row(&[], 3), row(&[1 << 20], 97)] {
            let value = row.encode();
            assert_eq!(Row::decode(&value), Some(row.clone()));
            for end in 0..value.len() - row.view.len() {
                assert_eq!(Row::decode(&value[..end]), None, "{row:?} cut at {end}");
            }
        }
        assert_eq!(Row::decode(&[0, 0]), None, "no stream is empty");
        assert_eq!(Row::decode(&[1, 9, 8]), None, "ends elsewhere");
    }

    #[test]
    fn a_chunk_is_given_back_and_nothing_else_is_one() {
        let positions: Vec<Position> = (0..CHUNK as u64).map(|n| Position(3 + n * n)).collect();
        let value = encode_chunk(&positions);
        assert_eq!(decode_chunk(&value), Some(positions.clone()));
        assert_eq!(decode_chunk(&value[..value.len() - 1]), None);
        assert_eq!(decode_chunk(&[&value[..], &[1]].concat()), None);
        assert_eq!(decode_chunk(&encode_chunk(&positions[1..])), None);
        assert_eq!(decode_chunk(&vec![0; CHUNK]), None, "positions increase");
        assert_eq!(decode_chunk(&[0xff; 20]), None);
    }

    #[test]
    fn chunks_follow_each_other() {
        let of = |sequence: u64| (chunk_after(SequenceNumber(sequence)), place_after(SequenceNumber(sequence)));
        let chunk = CHUNK as u64;
        assert_eq!([of(0), of(chunk - 1), of(chunk), of(chunk * 3 + 5)], [(0, 0), (0, CHUNK - 1), (1, 0), (3, 5)]);
    }
}
