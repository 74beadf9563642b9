//! The shell of Baton: thin actors around the core, and the only disk, socket, clock and network.
//!
//! [`System::start`] wires everything, in the order in which it may be used; [`System::stop`] takes it down in the
//! opposite one.

pub mod archive;
pub mod embedding;
pub mod enricher;
pub mod export;
pub mod gateway;
pub mod hooks;
pub mod indexer;
pub mod memos;
pub mod redacting;
pub mod repair;
pub mod roots;
pub mod session;
pub mod storage;
pub mod supervisor;
pub mod system;
mod tombstones;
pub mod upkeep;
pub mod vault;
pub mod verify;
pub mod watcher;

pub use system::System;
