//! The part of a session that is shared with other machines and people, and its form.
//!
//! A session is shared as its *published form*: those of its events that mean something elsewhere, with every path
//! relative to the project, and its conversation, redacted once more. Whoever folds the published events of a session
//! comes to the same [`SharedForm`], the writer as well as every reader; its hash shows that they agree.
//!
//! - [`paths`]: directories of the writer's machine, and secrets, out of what is published
//! - [`published`]: which events are published, and how
//! - [`form`]: what published events come to
//! - [`batch`]: the messages that carry them, and their encoding
//! - [`membership`]: who belongs to a team, by what its administrator has said

pub mod batch;
pub mod form;
pub mod membership;
pub mod paths;
pub mod published;
