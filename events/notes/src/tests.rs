//! Notes written, merged, compacted and forgotten.

mod compaction;
mod edits;
mod forget;
mod merge;
mod noted;
mod once;
mod relink;
mod sample;
mod verify;
mod words;
