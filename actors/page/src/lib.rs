//! Pages about a home, for a browser on this machine.
//!
//! Nothing is served until somebody asks for an address (`baton ui`), and no longer than somebody looks. The pages only
//! read: no route changes anything. What they show comes from the calls that the commands make too.
//!
//! Started as a supervised task: after a panic it starts anew, with another address and other secrets.

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
