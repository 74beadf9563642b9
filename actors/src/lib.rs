//! The daemon: thin actors around the core, with the only access to disk, socket, clock and network.
//!
//! [`System::start`] wires everything, callees first; [`System::stop`] takes it down in the opposite order.

pub mod gateway;
pub mod system;
#[cfg(test)]
mod tests;

pub use system::System;
