//! The format of a sealed segment: a full segment, compressed.
//!
//! A header of [`HEADER_BYTES`], which gives its place in the log without unpacking, then one zstd frame with its
//! checksum over everything after the header of the original segment. Unpacking yields the original segment byte for
//! byte. All integers are big-endian.
//!
//! ```text
//! header  magic 8 · format u32 · zero u32 · first position u64 · chain hash before it 16
//!         last position u64 · chain hash at it 16 · unpacked bytes u64 · packed bytes u64 · checksum 16
//! ```

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use baton_conversation::record::Position;
use baton_events::envelope::Tail;
use sha2::{Digest, Sha256};

use super::{Header, HeaderError, SEGMENT_MAX_BYTES, be_u32, be_u64, chain_hash};

/// Size of a sealed segment's header.
pub(crate) const HEADER_BYTES: usize = 96;
const MAGIC: &[u8; 8] = b"BATONSGZ";
const FORMAT: u32 = 1;
/// Higher levels take several times as long for a few percent.
const LEVEL: i32 = 9;
/// Bytes compressed between two calls of `go_on`: about 5 ms.
const STEP_BYTES: usize = 256 * 1024;

/// Bytes unpacked per step from a damaged segment; the step that fails is lost.
const PART_BYTES: usize = 4 * 1024;
/// Offset of the flags in a zstd frame, and the flag for a final checksum of four bytes (RFC 8878, 3.1.1.1.1).
const FRAME_DESCRIPTOR: usize = 4;
const CHECKSUM: u8 = 1 << 2;

/// The header of a sealed segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sealed {
    /// The header of the original segment.
    pub(crate) header: Header,
    /// The end of the original segment.
    pub(crate) end: Tail,
    unpacked: u64,
    packed: u64,
}

impl Sealed {
    fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&FORMAT.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.header.first.0.to_be_bytes());
        bytes[24..40].copy_from_slice(&self.header.before.0);
        bytes[40..48].copy_from_slice(&self.end.position.0.to_be_bytes());
        bytes[48..64].copy_from_slice(&self.end.chain.0);
        bytes[64..72].copy_from_slice(&self.unpacked.to_be_bytes());
        bytes[72..80].copy_from_slice(&self.packed.to_be_bytes());
        let sum = Sha256::digest(&bytes[..80]);
        bytes[80..].copy_from_slice(&sum[..16]);
        bytes
    }

    /// Decodes the header at the start of `bytes`.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, HeaderError> {
        let bytes = bytes.get(..HEADER_BYTES).ok_or(HeaderError::Bad)?;
        if &bytes[..8] != MAGIC || Sha256::digest(&bytes[..80])[..16] != bytes[80..] {
            return Err(HeaderError::Bad);
        }
        let format = be_u32(&bytes[8..12]);
        if format != FORMAT {
            return Err(HeaderError::Newer(format));
        }
        let number = |at: usize| be_u64(&bytes[at..at + 8]);
        let chain = |at: usize| chain_hash(&bytes[at..at + 16]);
        Ok(Self {
            header: Header { first: Position(number(16)), before: chain(24) },
            end: Tail { position: Position(number(40)), chain: chain(48) },
            unpacked: number(64),
            packed: number(72),
        })
    }

    /// The length of the whole file.
    pub(crate) fn file_bytes(&self) -> u64 {
        self.packed.saturating_add(HEADER_BYTES as u64)
    }
}

/// The path of the sealed form of a segment.
pub(crate) fn sealed_path(segment: &Path) -> PathBuf {
    let mut name = segment.file_name().unwrap_or_default().to_owned();
    name.push(".zst");
    segment.with_file_name(name)
}

/// Suffix of an unfinished sealed segment.
pub(crate) const TEMPORARY: &str = ".seg.zst.tmp";

/// The path of the sealed form of a segment while it is being written.
pub(crate) fn temporary_path(segment: &Path) -> PathBuf {
    segment.with_extension(TEMPORARY.trim_start_matches('.'))
}

/// Compresses a whole segment that begins with `header` and ends at `end`. Returns `None` if `go_on` returns `false`.
pub(crate) fn pack(segment: &[u8], header: Header, end: Tail, go_on: impl Fn() -> bool) -> io::Result<Option<Vec<u8>>> {
    let frames = segment.get(super::HEADER_BYTES..).unwrap_or_default();
    let mut encoder = zstd::Encoder::new(vec![0; HEADER_BYTES], LEVEL)?;
    encoder.include_checksum(true)?;
    encoder.set_pledged_src_size(Some(frames.len() as u64))?;
    for step in frames.chunks(STEP_BYTES) {
        if !go_on() {
            return Ok(None);
        }
        encoder.write_all(step)?;
    }
    let mut bytes = encoder.finish()?;
    let packed = (bytes.len() - HEADER_BYTES) as u64;
    let sealed = Sealed { header, end, unpacked: frames.len() as u64, packed };
    bytes[..HEADER_BYTES].copy_from_slice(&sealed.encode());
    Ok(Some(bytes))
}

/// Unpacks as much of the original segment as possible, ignoring the checksum, for a caller that verifies every record
/// against the chain. `None` if not even the header can be read.
pub(crate) fn unpack_partial(bytes: &[u8]) -> Option<Vec<u8>> {
    let sealed = Sealed::decode(bytes).ok()?;
    let mut segment = sealed.header.encode().to_vec();
    let mut frame = bytes.get(HEADER_BYTES..)?.to_vec();
    if let Some(descriptor) = frame.get_mut(FRAME_DESCRIPTOR).filter(|descriptor| **descriptor & CHECKSUM != 0) {
        // With a wrong checksum zstd would withhold data most of which may be right.
        *descriptor &= !CHECKSUM;
        frame.truncate(frame.len().saturating_sub(4));
    }
    let mut decoder = zstd::Decoder::new(frame.as_slice()).ok()?;
    let mut step = vec![0; PART_BYTES];
    while let Ok(read @ 1..) = decoder.read(&mut step)
        && segment.len() as u64 <= SEGMENT_MAX_BYTES
    {
        segment.extend_from_slice(&step[..read]);
    }
    Some(segment)
}

/// Unpacks the original segment. Fails with `InvalidData` if `bytes` is not exactly one sealed segment.
pub(crate) fn unpack(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let bad = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    let sealed = Sealed::decode(bytes).map_err(|error| bad(error.to_string()))?;
    if sealed.file_bytes() != bytes.len() as u64 {
        return Err(bad(format!("it has {} bytes, but its header says {}", bytes.len(), sealed.file_bytes())));
    }
    let length = usize::try_from(sealed.unpacked).ok().filter(|_| sealed.unpacked <= SEGMENT_MAX_BYTES);
    let length = length.ok_or_else(|| bad("its header claims more unpacked bytes than any segment has".into()))?;
    let frames = zstd::bulk::decompress(&bytes[HEADER_BYTES..], length);
    let frames = frames.map_err(|error| bad(format!("it cannot be unpacked: {error}")))?;
    if frames.len() != length {
        return Err(bad("it unpacks to fewer bytes than its header says".into()));
    }
    let mut segment = sealed.header.encode().to_vec();
    segment.extend_from_slice(&frames);
    Ok(segment)
}

#[cfg(test)]
mod tests {
    use baton_events::envelope::ChainHash;

    use super::*;

    fn sample() -> (Vec<u8>, Header, Tail) {
        let header = Header { first: Position(77), before: ChainHash([9; 16]) };
        let mut segment = header.encode().to_vec();
        (0..3000_u32).for_each(|n| segment.extend_from_slice(format!("{{\"n\":{n}}}").as_bytes()));
        (segment, header, Tail { position: Position(3076), chain: ChainHash([7; 16]) })
    }

    #[test]
    fn what_is_sealed_is_given_back_byte_for_byte() {
        let (segment, header, end) = sample();
        let bytes = pack(&segment, header, end, || true).unwrap().unwrap();
        assert!(bytes.len() < segment.len() / 2);
        assert_eq!(unpack(&bytes).unwrap(), segment);
        let sealed = Sealed::decode(&bytes).unwrap();
        assert_eq!((sealed.header, sealed.end, sealed.file_bytes()), (header, end, bytes.len() as u64));
        let empty = pack(&segment[..super::super::HEADER_BYTES], header, end, || true).unwrap().unwrap();
        assert_eq!(unpack(&empty).unwrap(), header.encode());
        assert_eq!(pack(&segment, header, end, || false).unwrap(), None, "asked to stop");
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_seen() {
        let (segment, header, end) = sample();
        let bytes = pack(&segment, header, end, || true).unwrap().unwrap();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            // A few bits of a zstd frame have no meaning.
            assert!(unpack(&flipped).map_or(true, |unpacked| unpacked == segment), "bit {bit}");
            assert!(bit >= HEADER_BYTES * 8 || unpack(&flipped).is_err(), "bit {bit} of the header");
        }
        for end in 0..bytes.len() {
            let error = unpack(&bytes[..end]).expect_err("cut");
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "cut at {end}");
        }
        assert!(unpack(&[&bytes[..], &[0]].concat()).is_err(), "longer");
    }

    #[test]
    fn what_says_it_is_larger_than_any_segment_is_not_unpacked() {
        let (segment, header, end) = sample();
        let mut bytes = pack(&segment, header, end, || true).unwrap().unwrap();
        let mut sealed = Sealed::decode(&bytes).unwrap();
        sealed.unpacked = SEGMENT_MAX_BYTES + 1;
        bytes[..HEADER_BYTES].copy_from_slice(&sealed.encode());
        assert!(unpack(&bytes).unwrap_err().to_string().contains("more unpacked bytes than any segment"));
        sealed.unpacked = 10;
        bytes[..HEADER_BYTES].copy_from_slice(&sealed.encode());
        assert!(unpack(&bytes).is_err(), "more than it says");
        sealed.unpacked = segment.len() as u64;
        bytes[..HEADER_BYTES].copy_from_slice(&sealed.encode());
        assert!(unpack(&bytes).is_err(), "less than it says");
    }
}
