//! The checkpoint, which lets an open skip most of the log: each stream's head and the fold's row for it, kept in the
//! index.
//!
//! A checkpoint writes only what has changed since the last one, and its position last. sled recovers a prefix of what
//! it was given, so the position implies its rows; after a crash some rows may be newer. A checkpoint is verified
//! before use: its position must be on the chain of the segments, and together with the later records the heads must
//! account for every position of the log ([`Ledger::is_whole`]). A checkpoint of a fold that skipped records is not
//! used, because a newer program may be able to read them. If anything is wrong, the whole checkpoint is ignored and
//! everything is folded from the segments.
//!
//! ```text
//! c       position u64 · chain hash 16 · form of the rows u32 · records that could not be read u64
//! t name  sequence u64 · position u64 · form of the row u32 · nothing, or: length of the row u32 · row, zstd with its checksum
//! ```
//!
//! # Decisions
//!
//! - The session table is kept row by row, not as one value: only what has changed is written, and a row may be newer
//!   than the checkpoint.

use std::io;

use baton_conversation::record::{Position, SequenceNumber, StreamId};
use baton_events::envelope::{ChainHash, Tail};

use super::Rows;
use super::index::{Error, Index};
use super::ledger::{Head, Ledger};

const CHECKPOINT: &[u8] = b"c";
const STREAM: &[u8] = b"t";
/// Longest row that is kept, in bytes. A row of a real session has about 1,000.
const ROW_MAX_BYTES: usize = 256 * 1024;
/// Rows are small and alike: higher levels gain nothing.
const LEVEL: i32 = 3;

/// The position that the rows have reached, their format, and how many records the fold skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Checkpoint {
    tail: Tail,
    form: u32,
    skipped: u64,
}

/// Writes the rows that changed after `since`, the position of the last checkpoint. With 0, writes all rows and removes
/// those of unknown streams. Durable with the index's next flush. Returns `false` if a row could not be kept; the last
/// checkpoint then still counts.
pub(super) fn save(index: &Index, rows: &dyn Rows, ledger: &Ledger, since: Position) -> Result<bool, Error> {
    let mut packer = zstd::bulk::Compressor::new(LEVEL)?;
    packer.include_checksum(true)?;
    if since == Position(0) {
        let mut unknown = Vec::new();
        index.for_each_with_prefix(STREAM, |name, _| {
            if std::str::from_utf8(name).map_or(true, |name| !ledger.contains(&StreamId::recorded(name))) {
                unknown.push(([STREAM, name].concat(), None));
            }
            Ok(())
        })?;
        index.write_pairs(unknown.into_iter())?;
    }
    let mut failed: Option<io::Error> = None;
    let mut pairs = ledger.changed_since(since).into_iter().map_while(|(stream, head)| {
        let key = [STREAM, stream.as_str().as_bytes()].concat();
        let value = pack(&mut packer, head, rows.form(), rows.row(stream).as_deref());
        value.map_err(|error| failed = Some(error)).ok().map(|value| (key, Some(value)))
    });
    index.write_pairs(&mut pairs)?;
    drop(pairs);
    if let Some(error) = failed {
        // Rows that are newer than their checkpoint do no harm.
        tracing::warn!(%error, "session table not checkpointed: the next opening folds more");
        return Ok(false);
    }
    let checkpoint = Checkpoint { tail: ledger.tail(), form: rows.form(), skipped: rows.skipped() };
    index.write_pairs(std::iter::once((CHECKPOINT.to_vec(), Some(checkpoint.encode()))))?;
    Ok(true)
}

/// Restores heads and rows if the index, which has reached `applied`, holds a usable checkpoint, and returns its end.
/// Returns `None` if there is none or its fold skipped records. Fails with the reason if it cannot be used; some of it
/// may then have been restored.
pub(super) fn load(
    index: &Index,
    applied: Tail,
    rows: &mut dyn Rows,
    ledger: &mut Ledger,
) -> Result<Option<Tail>, String> {
    let describe = |error: Error| error.to_string();
    let Some(value) = index.get(CHECKPOINT).map_err(describe)? else { return Ok(None) };
    let Checkpoint { tail, form, skipped } = Checkpoint::decode(&value).ok_or("it cannot be decoded")?;
    if form != rows.form() {
        return Err(format!("its rows have form {form}, but this program's have form {}", rows.form()));
    }
    if skipped > 0 {
        // The rows lack records that some program could not read. This one may be able to, so everything has to be
        // folded again.
        return Ok(None);
    }
    if tail.position > applied.position {
        return Err(format!("it is at position {}, but the index ends at {}", tail.position, applied.position));
    }
    let mut unpacker = zstd::bulk::Decompressor::new().map_err(|error| error.to_string())?;
    let loaded = index.for_each_with_prefix(STREAM, |name, value| {
        let name = std::str::from_utf8(name).map_err(|_| Error::Malformed("the name of a stream"))?;
        let stream = StreamId::recorded(name);
        let (head, row) = unpack(&mut unpacker, value, form).ok_or(Error::Malformed("a row"))?;
        if head.position > applied.position || row.is_some_and(|row| !rows.restore(&stream, &row)) {
            return Err(Error::Malformed("a row"));
        }
        ledger.restore(stream, head);
        Ok(())
    });
    loaded.map_err(describe)?;
    rows.restored(tail.position, skipped);
    ledger.restored(tail);
    Ok(Some(tail))
}

impl Checkpoint {
    fn encode(&self) -> Vec<u8> {
        let mut value = self.tail.position.0.to_be_bytes().to_vec();
        value.extend_from_slice(&self.tail.chain.0);
        value.extend_from_slice(&self.form.to_be_bytes());
        value.extend_from_slice(&self.skipped.to_be_bytes());
        value
    }

    fn decode(value: &[u8]) -> Option<Self> {
        let (position, rest) = value.split_first_chunk::<8>()?;
        let (chain, rest) = rest.split_first_chunk::<16>()?;
        let (form, rest) = rest.split_first_chunk::<4>()?;
        let skipped: &[u8; 8] = rest.try_into().ok()?;
        Some(Self {
            tail: Tail { position: Position(u64::from_be_bytes(*position)), chain: ChainHash(*chain) },
            form: u32::from_be_bytes(*form),
            skipped: u64::from_be_bytes(*skipped),
        })
    }
}

fn pack(packer: &mut zstd::bulk::Compressor<'_>, head: Head, form: u32, row: Option<&str>) -> io::Result<Vec<u8>> {
    let mut value = head.sequence.0.to_be_bytes().to_vec();
    value.extend_from_slice(&head.position.0.to_be_bytes());
    value.extend_from_slice(&form.to_be_bytes());
    if let Some(row) = row {
        if row.len() > ROW_MAX_BYTES {
            let what = format!("a row has {} bytes, over the bound of {ROW_MAX_BYTES}", row.len());
            return Err(io::Error::other(what));
        }
        value.extend_from_slice(&u32::try_from(row.len()).unwrap_or(u32::MAX).to_be_bytes());
        value.extend_from_slice(&packer.compress(row.as_bytes())?);
    }
    Ok(value)
}

fn unpack(unpacker: &mut zstd::bulk::Decompressor<'_>, value: &[u8], form: u32) -> Option<(Head, Option<String>)> {
    let (sequence, rest) = value.split_first_chunk::<8>()?;
    let (position, rest) = rest.split_first_chunk::<8>()?;
    let (own_form, rest) = rest.split_first_chunk::<4>()?;
    if u32::from_be_bytes(*own_form) != form {
        return None;
    }
    let sequence = SequenceNumber(u64::from_be_bytes(*sequence));
    let head = Head { sequence, position: Position(u64::from_be_bytes(*position)) };
    if rest.is_empty() {
        return Some((head, None));
    }
    let (length, packed) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok().filter(|length| *length <= ROW_MAX_BYTES)?;
    if packed.is_empty() {
        return None;
    }
    let row = unpacker.decompress(packed, length).ok().filter(|row| row.len() == length)?;
    Some((head, Some(String::from_utf8(row).ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> Head {
        Head { sequence: SequenceNumber(3), position: Position(1 << 40) }
    }

    #[test]
    fn what_is_kept_is_given_back_and_what_is_cut_off_is_seen() {
        let mut packer = zstd::bulk::Compressor::new(LEVEL).unwrap();
        packer.include_checksum(true).unwrap();
        let mut unpacker = zstd::bulk::Decompressor::new().unwrap();
        for row in [None, Some(""), Some("{\"version\":3}"), Some(&*"x".repeat(ROW_MAX_BYTES))] {
            let value = pack(&mut packer, head(), 7, row).unwrap();
            assert_eq!(unpack(&mut unpacker, &value, 7), Some((head(), row.map(str::to_owned))));
            assert_eq!(unpack(&mut unpacker, &value, 8), None, "a row of another form");
            for end in (0..value.len()).filter(|end| *end != 20) {
                assert_eq!(unpack(&mut unpacker, &value[..end], 7), None, "cut at {end}");
            }
        }
        assert!(pack(&mut packer, head(), 7, Some(&"x".repeat(ROW_MAX_BYTES + 1))).is_err());
    }

    #[test]
    fn a_row_with_a_flipped_bit_is_no_row() {
        let mut packer = zstd::bulk::Compressor::new(LEVEL).unwrap();
        packer.include_checksum(true).unwrap();
        let mut unpacker = zstd::bulk::Decompressor::new().unwrap();
        let row = "{\"version\":3,\"phase\":\"indexed\",\"generation\":1}".repeat(8);
        let value = pack(&mut packer, head(), 7, Some(&row)).unwrap();
        for bit in 20 * 8..value.len() * 8 {
            let mut flipped = value.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let unpacked = unpack(&mut unpacker, &flipped, 7).and_then(|(_, row)| row);
            assert!(unpacked.is_none_or(|unpacked| unpacked == row), "bit {bit}");
        }
    }

    #[test]
    fn how_far_it_goes_is_one_value() {
        let tail = Tail { position: Position(77), chain: ChainHash([9; 16]) };
        let checkpoint = Checkpoint { tail, form: 4, skipped: 2 };
        let value = checkpoint.encode();
        assert_eq!(Checkpoint::decode(&value), Some(checkpoint));
        for end in 0..value.len() {
            assert_eq!(Checkpoint::decode(&value[..end]), None);
        }
        assert_eq!(Checkpoint::decode(&[&value[..], &[0]].concat()), None);
    }
}
