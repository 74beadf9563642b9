//! Stored shapes: what is written of events, states, items and outcomes, and read again. How an event's shape changes is
//! told in [`codec`](crate::codec).

pub mod checkpoint_row;
pub mod export;
pub mod item;
pub mod memo;
pub mod outcomes;
pub mod session;
pub mod state;

#[cfg(test)]
mod tests;

/// Events of the home.
pub mod home {
    pub use crate::home::{KINDS, decode, encode};
}
