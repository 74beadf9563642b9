//! zstd with a bounded output.

use std::io;

/// The default level: 500 MB/s, and higher levels gain little on a quarter of a megabyte.
const LEVEL: i32 = 3;

/// Compresses bytes.
pub(super) fn pack(bytes: &[u8]) -> io::Result<Vec<u8>> {
    zstd::bulk::compress(bytes, LEVEL)
}

/// Decompresses to at most `size` bytes. Fails without unpacking the rest if the content is longer.
pub(super) fn unpack(packed: &[u8], size: usize) -> io::Result<Vec<u8>> {
    zstd::bulk::decompress(packed, size)
}

/// The largest compressed form of `size` bytes.
pub(super) fn packed_max_bytes(size: usize) -> u64 {
    zstd::zstd_safe::compress_bound(size) as u64
}
