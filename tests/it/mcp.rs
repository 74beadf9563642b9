//! The MCP server, tested through a client library over standard input and output, and with raw lines where a library
//! would not send such input.

pub(crate) mod agent;
mod arguments;
mod away;
mod greeting;
mod listing;
mod stand_in;
mod tools;
