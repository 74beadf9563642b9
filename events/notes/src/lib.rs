//! The vault: what people read. Sessions, entities, topics and preferences as Markdown notes that Obsidian understands.
//!
//! Texts in, texts out; the shell reads and writes the files. A note is a projection that respects edits: Baton writes only
//! inside its own **blocks**, each between two markers under a heading,
//!
//! ```text
//! ## Decisions Made
//!
//! <!-- baton:decisions 6f1c0b0a52d1e7aa -->
//! - 2026-03-14: Rotate refresh tokens on every use ([[2026-03-14-refresh-tokens]])
//! <!-- /baton:decisions -->
//! ```
//!
//! and the opening marker holds the hash of what Baton last wrote there. A block with another content belongs to the person
//! from then on: it is never touched again, counts as a **conflict**, and what is new goes into a new block below. Keys of
//! the frontmatter are kept apart likewise, by the one line `<!-- baton:note … -->` behind it, which also holds
//! traces of what was told: a line that a person has taken out is not told again. So a note carries all that is needed to merge
//! into it, and nothing of it is kept elsewhere.
//!
//! | room | holds |
//! |---|---|
//! | [`name`] | file names that are safe everywhere, and when two are one |
//! | [`layout`] | which note lies where, and how it is linked |
//! | [`note`] | what Baton wants a note to say |
//! | [`merge()`] | bringing that into the file as it is |
//! | [`told`] | what the vault takes of a session |
//! | [`session`], [`knowledge`], [`start`] | session notes; entities, topics, preferences, what is shared; start pages |
//! | [`threshold`], [`compaction`] | when a note is compacted; into what; archive and failures |
//! | [`renamed()`], [`followed()`] | links that follow a session's note, or one of an entity, which a person has renamed |
//! | [`forget`] | a session out of a text |
//! | `trace` | what was told, known without being said |
//! | [`verify`] | whether a set of notes is sound |

mod block;
pub mod compaction;
mod day;
pub mod forget;
mod header;
pub mod knowledge;
pub mod layout;
pub mod markdown;
mod merge;
pub mod name;
pub mod note;
mod renamed;
pub mod session;
pub mod start;
pub mod threshold;
pub mod told;
mod trace;
pub mod verify;
mod yaml;

#[cfg(test)]
mod tests;

pub use day::Day;
pub use layout::{Layout, Place};
pub use merge::{Merged, conflicts, merge};
pub use note::{Body, Field, Line, Note, Section, Value, Wanted, When};
pub use renamed::{Entities, Noted, followed, renamed};
pub use told::Told;
