//! Stored shapes: what lies on disk, apart from what it means. Domain types carry no serde; these carry no behaviour.

pub mod cursor;
mod enrichment;
pub mod export;
pub mod home;
pub mod item;
pub mod kept;
pub mod memo;
pub mod outcomes;
pub mod session;
pub mod state;

#[cfg(test)]
mod tests;
