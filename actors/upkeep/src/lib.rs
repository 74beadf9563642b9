//! Maintains what is stored: exports, verifies and repairs a home, frees disk space, and redoes work that an earlier
//! version did less well.
//!
//! Nothing here knows of commands, tools or clients: the caller gets a value and decides whether to continue.

pub mod archive;
pub mod compaction;
pub mod cut_tombstones;
pub mod disk_usage;
pub mod keeping;
pub mod newer_version;
pub mod redacting;
pub mod repair;
pub mod rereading;
pub mod verify;
