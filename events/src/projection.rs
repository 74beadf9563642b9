//! Views folded from the log. Each can be discarded and rebuilt.

mod belonging;
pub mod others;
mod recent;
pub mod table;
mod tally;
