//! Notes as they are written, merged, compacted and forgotten.
