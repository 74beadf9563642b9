//! Shares one memory between the machines of a person and a team: publishes the sessions of shared projects, sealed, to
//! a relay that cannot read them, and receives those of the other members.
//!
//! - `keys`, `seal`, `boxes`: encryption and signatures
//! - `transport`: the contract of a relay; `folder`, `nats`: its implementations; `opening`: chooses one by its address
//! - `record`: the received and published messages on disk
//! - `inbound`, `outbound`: receive one message, publish one session
//! - `team`: the state in memory, and the rounds that keep it current; `membership`: begins, joins and leaves a team
//! - `report`: answers about the team; `wording`: parts of them in words; `verify`: checks what was received; `git`: a
//!   relay folder that is a checkout
//!
//! Nothing of a project is published before a person has named it in `relay.share`, and no round runs while
//! `relay.enabled` is false: received sessions are still shown, and the relay is opened only at a person's request
//! (`invite`, `remove`, `unshare --retract`, `leave`).
//!
//! # Decisions
//!
//! - A received session never becomes a session of this home: it is kept apart from the session table
//!   ([`Others`](baton_events::projection::others::Others)), and appears only in answers that ask for it.
//! - The home that began a team is its only administrator. If members could remove each other, the order of removals
//!   would be undefined without a common clock; the notices of one writer have an order.
//! - Any single slot, object or log of a relay can be wrong at any time, which holds up only what needs it. A missing
//!   notice holds up those after it; an invalid one is skipped.
//! - Members are authenticated, but not trusted to be honest: a writer can only write under their own key, a session of
//!   this home is never shadowed, and everything read is bounded, counted and reported.

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
