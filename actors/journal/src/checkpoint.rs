//! What a flush writes: the records that the index lacks, and the view's row for each stream, so that an open reads less.
//!
//! A flush writes only what has changed since the last one, and how far it goes last. sled recovers a prefix of what it
//! was given, so that position implies its rows; after a crash some rows may be newer. They are verified before use: the
//! position must be on the chain of the segments, and together with the later records the heads must account for every
//! position of the log ([`Ledger::is_whole`]). Rows of a view that skipped records are not used, because a newer program
//! may be able to read them; then everything is folded from the segments.
//!
//! The view's row is its form u32, then nothing, or the length of the row u32 and the row, zstd with its checksum and the
//! dictionary of the form.
//!
//! # Decisions
//!
//! - The session table is kept row by row, not as one value: only what has changed is written, and a row may be newer
//!   than the checkpoint.

use std::io;

use baton_conversation::record::{Position, SequenceNumber, StreamId};
use baton_events::envelope::Tail;

use super::Rows;
use super::index::positions::{self, CHUNK};
use super::index::{self, Batch, Checkpoint, Error, Index, NO_VIEW, Row, group};
use super::ledger::{Head, Ledger};
use super::unflushed::{Run, Unflushed};

/// Longest row that is kept, in bytes. A row of a real session has about 1,000.
const ROW_MAX_BYTES: usize = 256 * 1024;
/// Rows are small and alike: higher levels gain nothing.
const LEVEL: i32 = 3;

/// A view whose rows are kept.
pub(super) struct View<'a> {
    pub(super) rows: &'a dyn Rows,
    /// The heads as of the last record.
    pub(super) ledger: &'a Ledger,
    /// The position up to which the rows have been written.
    pub(super) saved: Position,
}

/// Brings `unflushed` into the index, which it directly follows, and the rows of `view` that have changed since they were
/// last written. Durable when this returns. Returns `false` if a row of the view could not be kept: the view must then be
/// folded from the segments, until a later flush keeps all rows.
pub(super) fn save(index: &Index, unflushed: &Unflushed, view: Option<&View<'_>>) -> Result<bool, Error> {
    let before = index.checkpoint()?;
    let mut next = before.tail.position.next();
    if unflushed.first().is_some_and(|first| first != next) {
        return Err(Error::Hole(next));
    }
    index.remove_groups(next)?;
    let mut batch = index.batch();
    for group in group::split(unflushed.entries()) {
        batch.insert(index::group_key(next).to_vec(), group::pack(group)?)?;
        next = Position(next.0 + group.len() as u64);
    }
    let mut changed: Vec<&StreamId> = match view {
        Some(View { ledger, saved, .. }) => ledger.changed_since(*saved).collect(),
        None => unflushed.streams().collect(),
    };
    changed.sort_unstable();
    let mut packer = packer(view.map_or("", |view| view.rows.dictionary()))?;
    let (mut replaced, mut kept) = (0, view.is_some());
    for stream in changed {
        let name = stream.as_str().as_bytes();
        let old = index.row(name)?;
        replaced += old.as_ref().map_or(0, |old| (index::row_key(name).len() + old.encode().len()) as u64);
        let mut row = match unflushed.run(stream) {
            Some(run) => extend(index, &mut batch, name, old, run)?,
            None => old.ok_or(Error::Malformed("a row"))?,
        };
        row.view.clear();
        if let Some(View { rows, .. }) = view {
            match pack(&mut packer, rows.form(), rows.row(stream).as_deref()) {
                Ok(packed) => row.view = packed,
                Err(error) => {
                    tracing::warn!(%error, "session table not checkpointed: the next opening folds more");
                    kept = false;
                }
            }
        }
        batch.insert(index::row_key(name), row.encode())?;
    }
    let added = batch.finish()?;
    index.write_checkpoint(&Checkpoint {
        tail: unflushed.tail().unwrap_or(before.tail),
        form: view.filter(|_| kept).map_or(NO_VIEW, |view| view.rows.form()),
        skipped: view.map_or(0, |view| view.rows.skipped()),
        live_bytes: (before.live_bytes + added).saturating_sub(replaced),
    })?;
    index.flush()?;
    Ok(kept)
}

/// Adds the records of `run` to the row of a stream, and inserts the chunks that are full then.
fn extend(index: &Index, batch: &mut Batch<'_>, stream: &[u8], row: Option<Row>, run: &Run) -> Result<Row, Error> {
    let (mut number, place) = (positions::chunk_after(run.after), positions::place_after(run.after));
    let mut last = match row {
        _ if place == 0 => Vec::new(),
        Some(row) if row.chunk() == number => row.last,
        // A flush that did not end has written more already.
        _ => index.chunk(stream, number)?,
    };
    if last.len() < place {
        return Err(Error::Malformed("a row"));
    }
    last.truncate(place);
    for position in &run.positions {
        last.push(*position);
        if last.len() == CHUNK {
            batch.insert(index::chunk_key(stream, number), positions::encode_chunk(&last))?;
            number += 1;
            last.clear();
        }
    }
    let sequence = SequenceNumber(run.after.0 + run.positions.len() as u64);
    let position = run.positions.last().copied().unwrap_or_default();
    Ok(Row { head: Head { sequence, position }, last, view: Vec::new() })
}

/// Why a view's rows were not restored.
pub(super) enum Unusable {
    /// They have another form, or their view skipped records.
    OtherForm(Option<String>),
    /// The index is broken.
    Broken(String),
}

/// Restores heads and rows if the index holds usable ones, and returns how far they go. Otherwise some of it may have been
/// restored.
pub(super) fn load(index: &Index, rows: &mut dyn Rows, ledger: &mut Ledger) -> Result<Tail, Unusable> {
    let broken = |error: Error| Unusable::Broken(error.to_string());
    let Checkpoint { tail, form, skipped, .. } = index.checkpoint().map_err(broken)?;
    // The rows lack records that some program could not read. This one may be able to, so everything has to be folded
    // again.
    if form == NO_VIEW || skipped > 0 || tail.position == Position(0) {
        return Err(Unusable::OtherForm(None));
    }
    if form != rows.form() {
        let reason = format!("its rows have form {form}, but this program's have form {}", rows.form());
        return Err(Unusable::OtherForm(Some(reason)));
    }
    let unpacker = zstd::bulk::Decompressor::with_dictionary(rows.dictionary().as_bytes());
    let mut unpacker = unpacker.map_err(|error| broken(error.into()))?;
    index
        .for_each_row(None, |name, Row { head, view, .. }| {
            let name = std::str::from_utf8(name).map_err(|_| Error::Malformed("the name of a stream"))?;
            let stream = StreamId::recorded(name);
            let row = unpack(&mut unpacker, &view, form).ok_or(Error::Malformed("a row"))?;
            if row.is_some_and(|row| !rows.restore(&stream, &row)) {
                return Err(Error::Malformed("a row"));
            }
            ledger.restore(stream, head);
            Ok(true)
        })
        .map_err(broken)?;
    rows.restored(tail.position, skipped);
    ledger.restored(tail);
    Ok(tail)
}

/// Compresses rows against a dictionary.
fn packer(dictionary: &str) -> io::Result<zstd::bulk::Compressor<'static>> {
    let mut packer = zstd::bulk::Compressor::with_dictionary(LEVEL, dictionary.as_bytes())?;
    packer.include_checksum(true)?;
    Ok(packer)
}

fn pack(packer: &mut zstd::bulk::Compressor<'_>, form: u32, row: Option<&str>) -> io::Result<Vec<u8>> {
    let mut value = form.to_be_bytes().to_vec();
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

fn unpack(unpacker: &mut zstd::bulk::Decompressor<'_>, value: &[u8], form: u32) -> Option<Option<String>> {
    let (own_form, rest) = value.split_first_chunk::<4>()?;
    if u32::from_be_bytes(*own_form) != form {
        return None;
    }
    if rest.is_empty() {
        return Some(None);
    }
    let (length, packed) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok().filter(|length| *length <= ROW_MAX_BYTES)?;
    if packed.is_empty() {
        return None;
    }
    let row = unpacker.decompress(packed, length).ok().filter(|row| row.len() == length)?;
    Some(Some(String::from_utf8(row).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DICTIONARY: &str = "{\"version\":8,\"phase\":\"indexed\"}";

    fn tools() -> (zstd::bulk::Compressor<'static>, zstd::bulk::Decompressor<'static>) {
        let unpacker = zstd::bulk::Decompressor::with_dictionary(DICTIONARY.as_bytes());
        (packer(DICTIONARY).unwrap(), unpacker.unwrap())
    }

    #[test]
    fn what_is_kept_is_given_back_and_what_is_cut_off_is_seen() {
        let (mut packer, mut unpacker) = tools();
        for row in [None, Some(""), Some("{\"version\":3}"), Some(&*"x".repeat(ROW_MAX_BYTES))] {
            let value = pack(&mut packer, 7, row).unwrap();
            assert_eq!(unpack(&mut unpacker, &value, 7), Some(row.map(str::to_owned)));
            assert_eq!(unpack(&mut unpacker, &value, 8), None, "a row of another form");
            for end in (0..value.len()).filter(|end| *end != 4) {
                assert_eq!(unpack(&mut unpacker, &value[..end], 7), None, "cut at {end}");
            }
        }
        assert!(pack(&mut packer, 7, Some(&"x".repeat(ROW_MAX_BYTES + 1))).is_err());
        let like = "{\"version\":9,\"phase\":\"indexed\"}";
        let alone = pack(&mut super::packer("").unwrap(), 7, Some(like)).unwrap();
        assert!(pack(&mut packer, 7, Some(like)).unwrap().len() < alone.len(), "what is like the dictionary is short");
    }

    #[test]
    fn a_row_with_a_flipped_bit_is_no_row() {
        let (mut packer, mut unpacker) = tools();
        let row = "{\"version\":3,\"phase\":\"indexed\",\"generation\":1}".repeat(8);
        let value = pack(&mut packer, 7, Some(&row)).unwrap();
        for bit in 0..value.len() * 8 {
            let mut flipped = value.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let unpacked = unpack(&mut unpacker, &flipped, 7).flatten();
            assert!(unpacked.is_none_or(|unpacked| unpacked == row), "bit {bit}");
        }
    }
}
