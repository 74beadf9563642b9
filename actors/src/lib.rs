//! The shell of Baton: the only disk, socket, clock and network.

pub mod chunks;
pub mod durable;
pub mod journal;
pub mod lock;
//! x
pub mod memory;
