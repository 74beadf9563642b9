//! The shell of Baton: thin actors around the core, and the only disk, socket, clock and network.
//!
//! [`System::start`] wires everything, in the order in which it may be used; [`System::stop`] takes it down in the
//! opposite one.

pub mod embedding;
pub mod enricher;
pub mod gateway;
pub mod hooks;
pub mod indexer;
pub mod memo_writer;
pub mod queries;
pub mod session;
pub mod supervisor;
pub mod system;
pub mod transcript_roots;
pub mod vault;
pub mod watcher;

pub use system::System;
