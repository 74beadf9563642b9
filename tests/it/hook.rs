//! The real `baton-hook` against every kind of daemon, input, output and disk. It always exits 0 in time, prints
//! nothing but its own JSON, and loses nothing that can be kept.

mod agents;
pub(crate) mod called;
mod disk;
mod input;
mod peer;
mod presence;
mod stats;
