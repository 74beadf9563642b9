//! Read views that many parts of the shell share: which sessions and notes may be shown, and what a conversation comes to.

pub mod claim;
pub mod conversation;
mod digests;
mod titles;
pub mod visibility;
