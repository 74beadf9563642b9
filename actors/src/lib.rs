//! The shell of Baton: thin actors around the core, and the only disk, socket, clock and network.
//!
//! [`System::start`] wires everything, in the order in which it may be used; [`System::stop`] takes it down in the
//! opposite one.

pub mod archive;
pub mod chunks;
pub mod clock;
pub mod configuration;
pub mod current;
pub mod durable;
pub mod embedding;
pub mod enricher;
pub mod export;
pub mod files;
pub mod footprint;
pub mod gateway;
pub mod hooks;
pub mod imported;
pub mod indexer;
pub mod journal;
pub mod limits;
pub mod llm;
pub mod lock;
mod looks;
pub mod memory;
pub mod memos;
pub mod obstacle;
pub mod outage;
pub mod pace;
pub mod pinned;
pub mod place;
pub mod reading;
pub mod redacting;
pub mod remains;
pub mod repair;
pub mod restart;
pub mod roots;
pub mod session;
pub mod settings;
pub mod slot;
pub mod storage;
pub mod stream;
pub mod supervisor;
pub mod system;
pub mod table;
mod tombstones;
pub mod trouble;
pub mod upkeep;
pub mod vault;
pub mod verify;
pub mod vitals;
pub mod watcher;

pub use system::System;
