//! Pages about a home, for a browser on this machine.
//!
//! The server starts with the first request for an address (`baton ui`) and ends when no tab is visible any more. The
//! pages are read-only: no route changes anything. They use the same calls as the commands.
//!
//! Runs as a supervised task: after a panic it restarts with another address and other secrets.

mod access;
mod ask;
mod conversation;
mod layout;
mod live;
mod pages;
mod picture;
mod server;
mod site;

pub use server::serve;
