//! What stands behind a pipe, and what that leaves to be known of what stands before it.
//!
//! # Decisions
//!
//! - What a pipe hides (`… | tail`, `|| true`) is unknown, unless the output's own summary says how it went.

use super::words::Word;

/// What took a program's output; the later, the less is known of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Pipe {
    /// Nothing: the exit code is its own.
    #[default]
    None,
    /// What shows all of it, or its end, and does not fail itself: `tail`, `cat`, `tee`.
    End,
    /// Anything else.
    Part,
    /// What fails when it finds nothing: `grep`.
    Search,
}

/// What shows the end.
const END: [&str; 5] = ["tail", "cat", "tee", "less", "more"];
/// What searches.
const SEARCH: [&str; 7] = ["grep", "egrep", "fgrep", "rg", "ag", "zgrep", "diff"];

impl Pipe {
    /// What a program is that another's output goes into.
    pub(super) fn into(words: &[Word<'_>]) -> Self {
        let name = words.first().map_or("", Word::as_str).rsplit('/').next().unwrap_or_default();
        if END.contains(&name) {
            Self::End
        } else if SEARCH.contains(&name) {
            Self::Search
        } else {
            Self::Part
        }
    }
}
