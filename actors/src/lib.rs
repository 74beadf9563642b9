//! The daemon: thin actors around the core, with the only access to disk, socket, clock and network.
//!
//! [`System::start`] wires everything, callees first; [`System::stop`] takes it down in the opposite order.

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
