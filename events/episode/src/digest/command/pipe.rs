//! What follows a pipe, and what that hides about the program before it.
//!
//! # Decisions
//!
//! - A result that is hidden (`… | tail`, `|| true`) is unknown, unless the output's own summary says how it went.

use super::words::Word;

/// What took a program's output; later variants hide more about the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Pipe {
    /// Nothing: the exit code is its own.
    #[default]
    None,
    /// A program that shows all of it, or its end, and does not fail itself: `tail`, `cat`, `tee`.
    End,
    /// Anything else.
    Part,
    /// A program that fails if it finds nothing: `grep`.
    Search,
}

/// Programs that show the end of their input.
const END: [&str; 5] = ["tail", "cat", "tee", "less", "more"];
/// Programs that search.
const SEARCH: [&str; 7] = ["grep", "egrep", "fgrep", "rg", "ag", "zgrep", "diff"];

impl Pipe {
    /// Classifies the program after a pipe.
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
