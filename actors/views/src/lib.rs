//! Read views shared by queries, hooks and the vault: which sessions and notes may be shown, and the digests of
//! conversations.

pub mod catalog;
pub mod claim;
pub mod clones;
pub mod conversation;
pub mod correction;
mod digests;
mod titles;
pub mod visibility;
