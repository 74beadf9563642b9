//! The door for agents, driven by a client library over standard input and output, and by raw lines where no library
//! would say such things.

pub(crate) mod agent;
mod arguments;
mod away;
mod greeting;
mod listing;
mod stand_in;
mod tools;
