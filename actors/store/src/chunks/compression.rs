//! zstd, with a bound on what comes out.

use std::io;

/// The usual level: 500 MB/s, and higher ones gain little on a quarter of a megabyte.
const LEVEL: i32 = 3;

/// The bytes, compressed.
pub(super) fn pack(bytes: &[u8]) -> io::Result<Vec<u8>> {
    zstd::bulk::compress(bytes, LEVEL)
}

/// The bytes back, if they are at most `size`. A file that would grow beyond that is an error and not unpacked.
pub(super) fn unpack(packed: &[u8], size: usize) -> io::Result<Vec<u8>> {
    zstd::bulk::decompress(packed, size)
}

/// The most that `size` bytes can be compressed to.
pub(super) fn packed_max_bytes(size: usize) -> u64 {
    zstd::zstd_safe::compress_bound(size) as u64
}
