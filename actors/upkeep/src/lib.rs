//! Looks after what is stored: exports, verifies and repairs a home, frees disk space, and does again what an earlier
//! version did less well.
//!
//! Nothing here knows of commands, tools or clients: whoever calls gets a value, and says whether to go on.

pub mod archive;
pub mod compaction;
pub mod disk_usage;
pub mod keeping;
pub mod newer_version;
pub mod redacting;
pub mod repair;
pub mod rereading;
pub mod tombstones;
pub mod verify;
