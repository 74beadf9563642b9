//! Tracks sessions: finds them, reads what is new in them, notices when they end.
//!
//! Four actors (supervisor, session, watcher, indexer), the intake of hooks, and the loops that follow sessions in the
//! background (asking a model, filling vectors). Nothing here knows of commands, tools or sockets.

pub mod embedding;
pub mod enricher;
pub mod hooks;
pub mod indexer;
pub mod session;
pub mod supervisor;
pub mod transcript_roots;
pub mod watcher;
