//! Views folded from the log. Each can be discarded and rebuilt.

mod belonging;
mod multiset;
pub mod others;
mod recent;
pub mod table;
