//! The application: what each command and tool does, and the background maintenance of a home.
//!
//! One file per verb below [`calls`]. Nothing here knows sockets: the caller is a [`client::Client`].

pub mod agent_usage;
mod answers;
pub mod archive;
pub mod calls;
pub mod client;
pub mod compaction;
pub(crate) mod conversation_summary;
pub mod daemon_info;
mod discovery;
pub mod disk_usage;
mod family;
mod filters;
mod formats;
mod graph;
pub mod handoff;
mod lazy;
pub mod listing;
mod memo;
mod page;
pub mod page_requests;
pub mod redacting;
pub mod repair;
pub mod rereading;
pub(crate) mod resolve;
pub mod session_states_file;
pub mod tombstones;
mod transcript_peek;
mod usage;
pub mod verify;

pub use crate::calls::DaemonParts;

/// Most sessions that one answer names.
const SESSIONS_NAMED: usize = 8;
