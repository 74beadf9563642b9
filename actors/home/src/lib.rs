//! What a home's daemon and clients share: its path, trust check and lock, and how to reach and start the daemon.
//!
//! # Decisions
//!
//! - This crate is apart from `baton-base` because `baton-hook` links it: no async runtime, no logging, and no crate of
//!   ours but the protocol.

pub mod configured_path;
pub mod connection;
pub mod daemon_command;
pub mod endpoint;
pub mod environment;
pub mod file;
pub mod hooks;
pub mod lock;
pub mod trust;
