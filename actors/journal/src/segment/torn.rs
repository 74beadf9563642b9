//! Telling a torn tail from damage, by what else lies in the segment.

use baton_events::envelope;
use baton_events::envelope::{ChainHash, FORMAT};

use super::{
    CHAIN_BYTES, Damage, ENDS_IN_LENGTH, ENDS_IN_RECORD, FRAME_BYTES, Frame, LENGTH_BYTES, chain_hash, frame_at,
    split_frame,
};

/// What a disk writes completely or not at all.
pub(super) const SECTOR_BYTES: usize = 512;

/// Returns the offset of a group that begins after `damage`, which proves that the damaged bytes had been synced.
pub(crate) fn find_later_group(bytes: &[u8], damage: Damage, before: ChainHash) -> Option<usize> {
    let (bad, before, group) = skip_valid(bytes, damage, before);
    group.or_else(|| find_later_frame(bytes, bad, before, |frame| frame.starts_group))
}

/// True if `damage`, which no later group follows, is what a crash may leave of a write that was never synced.
pub(crate) fn is_torn(bytes: &[u8], damage: Damage, before: ChainHash) -> bool {
    let (bad, before, _) = skip_valid(bytes, damage, before);
    let first_sector = (bad / SECTOR_BYTES + 1) * SECTOR_BYTES;
    let (first, rest) = bytes[bad..].split_at(first_sector.min(bytes.len()) - bad);
    // The first bytes of a length are zeros in any case.
    let first = Some(first).filter(|first| first.len() > LENGTH_BYTES / 2);
    if first.into_iter().chain(rest.chunks(SECTOR_BYTES)).any(|part| part.iter().all(|byte| *byte == 0)) {
        return true;
    }
    // It ends early, unless only its length says so: then a frame follows within it, or it is whole up to the end.
    let record_end = bytes.len().saturating_sub(CHAIN_BYTES);
    let is_whole = bytes.get(bad + LENGTH_BYTES..record_end).is_some_and(|record| {
        !record.is_empty() && envelope::chain(before, record) == chain_hash(&bytes[record_end..])
    });
    let ends_early = matches!(split_frame(bytes, bad), Err(ENDS_IN_LENGTH | ENDS_IN_RECORD));
    ends_early && !is_whole && find_later_frame(bytes, bad, before, |_| true).is_none()
}

/// Skips the valid frames with which an incomplete append begins. Returns the offset of the first bad one, the hash
/// before it, and the offset of a frame on the way that begins a group.
fn skip_valid(bytes: &[u8], damage: Damage, before: ChainHash) -> (usize, ChainHash, Option<usize>) {
    let (mut bad, mut before) = (damage.offset, before);
    while let Ok(frame) = frame_at(bytes, bad, before) {
        if frame.starts_group && bad > damage.offset {
            return (bad, before, Some(bad));
        }
        (bad, before) = (frame.end, frame.chain);
    }
    (bad, before, None)
}

/// Returns the offset of the first wanted frame after the bad one at `bad`. Tries every byte for the start of a valid
/// frame, so it does not depend on the bad frame's length.
fn find_later_frame(bytes: &[u8], bad: usize, before: ChainHash, wanted: impl Fn(&Frame) -> bool) -> Option<usize> {
    // The frame right after a bad one continues from the hash stored in the bad one or, if that hash is what is bad,
    // from the computed one.
    if let Ok((_, record, _, end)) = split_frame(bytes, bad)
        && let Ok(frame) = frame_at(bytes, end, envelope::chain(before, record))
        && wanted(&frame)
    {
        return Some(frame.offset);
    }
    let mut offset = (bad + 1).max(CHAIN_BYTES);
    while offset + FRAME_BYTES < bytes.len() {
        let looks_like_one = bytes[offset + 4] == FORMAT && bytes[offset + 5] == b'{';
        match looks_like_one.then(|| frame_at(bytes, offset, chain_hash(&bytes[offset - CHAIN_BYTES..offset]))) {
            Some(Ok(frame)) if wanted(&frame) => return Some(frame.offset),
            Some(Ok(frame)) => offset = frame.end,
            _ => offset += 1,
        }
    }
    None
}
