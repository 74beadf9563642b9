//! Views folded from the log. Each can be thrown away and folded anew.

pub mod table;
