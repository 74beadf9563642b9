//! Views folded from the log. Each can be discarded and rebuilt.

mod recent;
pub mod table;
mod tally;
