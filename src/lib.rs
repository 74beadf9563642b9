//! The program: everything through which people and programs reach Baton's daemon.
//!
//! Everything here is a thin client of the daemon, except [`daemon`], which wires `baton-actors` to a process.

pub(crate) mod browse;
pub mod cli;
pub mod client;
pub mod daemon;
pub mod doctor;
pub mod environment;
pub mod examples;
pub mod help;
pub mod logfile;
pub mod mcp;
pub mod print;
pub mod replay;
pub(crate) mod resume;
pub mod service;
