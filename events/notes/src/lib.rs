//! The vault: sessions, entities, topics and preferences as Markdown notes that people read, compatible with Obsidian.
//!
//! This crate maps texts to texts; the caller reads and writes the files. A note is a projection that respects edits:
//! Baton writes only inside its own **blocks**, each between two markers under a heading,
//!
//! ```text
//! ## Decisions Made
//!
//! <!-- baton:decisions 6f1c0b0a52d1e7aa -->
//! - 2026-03-14: Rotate refresh tokens on every use ([[2026-03-14-refresh-tokens]])
//! <!-- /baton:decisions -->
//! ```
//!
//! and the opening marker holds the hash of what Baton last wrote there. A block with any other content belongs to the
//! person from then on: it is never changed again and counts as a **conflict**, and new entries go into a new block
//! below. Keys of the frontmatter are tracked the same way, in the single line `<!-- baton:note … -->` after it. That
//! line also holds traces of the lines already written: a line that a person has removed is not written again. So a
//! note carries everything that is needed to merge into it, and nothing is stored elsewhere.
//!
//! | module | holds |
//! |---|---|
//! | [`name`] | file names that are safe everywhere, and when two names collide |
//! | [`layout`] | paths of notes, and links between them |
//! | [`note`] | what Baton wants a note to contain |
//! | [`merge()`] | merging that into an existing file |
//! | [`facts`] | what the vault takes from a session |
//! | [`session`], [`knowledge`], [`start`] | notes of sessions; of entities, topics and preferences; start pages |
//! | [`threshold`], [`compaction`] | when a note is compacted; what is written; archive and failures |
//! | [`relink_session()`], [`relink_entities()`] | links that follow a session's or an entity's note that a person renamed |
//! | [`forget`] | removing a session from a text |
//! | `rewrite` | changing what Baton wrote other than by merging |
//! | `trace` | hashes of lines already written |
//! | [`verify`] | whether a set of notes is sound |
//!
//! # Decisions
//!
//! - A note holds hashes of what Baton wrote in it; the home holds no text of it to merge with. So Baton's lines are known
//!   in a note that somebody has put back to an earlier version or copied, on another computer, and in a vault that was
//!   away when a session was forgotten, whose text must be nowhere by then. Notes and hashes are written in one step, so
//!   that a kill cannot part them. And a text of the last version alone cannot tell that a removed line is wanted
//!   again, under another link or with another count: it would come back.

mod block;
pub mod compaction;
mod day;
pub mod facts;
pub mod forget;
mod header;
pub mod knowledge;
pub mod layout;
pub mod markdown;
mod merge;
pub mod name;
pub mod note;
mod relink;
mod rewrite;
pub mod session;
pub mod start;
pub mod threshold;
mod trace;
pub mod verify;
mod yaml;

#[cfg(test)]
mod tests;

pub use day::Day;
pub use facts::SessionFacts;
pub use layout::{Layout, NoteRole};
pub use merge::{Merged, conflicts, merge};
pub use note::{Body, Field, Line, Note, Section, Value, Wanted, When};
pub use relink::{EntityNote, EntityNotes, relink_entities, relink_session};
