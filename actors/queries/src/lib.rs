//! The application: what each command and tool does.
//!
//! One file per verb below [`calls`]. Nothing here knows sockets: the caller is a [`client::Client`].
//!
//! # Decisions
//!
//! - This crate uses the handles of the actors in `baton-tracking` instead of traits of its own: the handles hide the
//!   actors, and each trait would have one implementation. No actor calls queries; `tests/tidy/manifest.rs` holds that.

pub mod agent_usage;
mod answers;
pub mod calls;
pub mod client;
pub(crate) mod conversation_summary;
pub mod daemon_info;
mod discovery;
mod filters;
mod formats;
mod graph;
pub mod handoff;
mod lazy;
pub mod listing;
mod memo;
mod page;
pub mod page_requests;
mod related_sessions;
pub(crate) mod resolve;
pub mod session_states_file;
mod transcript_peek;
mod usage;

/// Parses a time as people write it, as all calls do.
pub use baton_ask::query::parse_moment;

pub use crate::calls::DaemonParts;

/// Most sessions that one answer names.
const SESSIONS_NAMED: usize = 8;
