//! Views folded from the log. Each can be thrown away and folded anew.

mod recent;
pub mod table;
mod tally;
