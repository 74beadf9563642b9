//! Stored shapes: what lies on disk, apart from what it means. Domain types carry no serde; these carry no behaviour.

pub mod hex;
pub mod session;
//! Stored shapes: what lies on disk, kept apart from what it means.

pub mod item;
