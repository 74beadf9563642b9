//! The same memory on every machine of a person and a team: publishes the sessions of shared projects, sealed, to a
//! relay that understands none of it, and takes in what the other members published.
//!
//! - `keys`, `seal`, `boxes`: who may read and who has written
//! - `transport`: the contract of a relay; `folder`, `nats`: the relays that there are; `opening`: which one is meant
//! - `record`: what was accepted and published, on disk
//! - `inbound`, `outbound`: one message in, one session out
//! - `team`: the state of it all, and the rounds that keep it current; `membership`: how a team begins, grows and is left
//! - `report`: what is wording of it; `verify`: whether what was taken in is whole; `told`: parts of it
//!   in words; `git`: a folder that is a checkout
//!
//! Nothing of a project leaves before a person named it in `relay.share`, and no round runs while `relay.enabled` is false:
//! what was taken in is shown, and the relay is opened only for what a person asks for (`invite`, `remove`, `unshare
//! --retract`, `leave`).
//!
//! # Decisions
//!
//! - What comes in never becomes a session of this home: it stands beside the session table
//!   ([`Others`](baton_events::projection::others::Others)), and only answers that ask for it see it.
//! - The home that began a team is its only administrator. Of members who could remove each other nobody could say, without
//!   a common clock, who was first; the notices of one writer have an order.
//! - Everything that is in one place of a relay (a slot, an object, a log) can be wrong at any time, and holds up what needs
//!   it alone. A notice that is missing holds those behind it; one that is wrong counts as said.
//! - Members trust each other to be members, not to be honest: a writer can only write under their own key, a session
//!   of this home is never shadowed, and everything read is bounded, counted and said.

mod boxes;
mod folder;
pub mod git;
mod inbound;
mod invitation;
mod keys;
mod membership;
mod nats;
mod opening;
mod outbound;
mod record;
mod report;
mod seal;
mod team;
mod transport;
mod verify;
pub mod wording;

#[cfg(test)]
mod conformance;

pub use baton_sharing::batch::{MAX_NAME_BYTES, is_name};
pub use membership::{Error, Invited};
pub use team::{Options, Purge, Team};
pub use verify::{Verified, verify};
