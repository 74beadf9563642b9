//! A home as a whole: what its log comes to, written out as one file and built anew from such a file.
//!
//! | file | owns |
//! |---|---|
//! | `stats` | what a log comes to, told of a home that nobody has open |

mod stats;

pub(crate) use stats::fill;
pub use stats::stats;
