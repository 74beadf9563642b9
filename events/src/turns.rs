//! Items in, search units out: what one hit of a search is.
//!
//! A unit is a typed prompt, an assistant text or a tool line, cut at paragraph borders to about 1,600
//! characters. Units of an append-only list of items are append-only too, but for the last few.

use crate::conversation::Role;
use crate::record::Timestamp;

/// The smallest thing that a search finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Transcript line it starts at.
    pub line: u64,
    /// Which part of that line's text, from 0: a long text is cut in several.
    pub part: u32,
    /// When.
    pub at: Option<Timestamp>,
    /// Who speaks.
    pub role: Role,
    /// The text itself: what a snippet is cut from.
    pub text: String,
}
