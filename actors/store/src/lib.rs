//! Conversations on disk: reading transcripts, storing chunks, and fingerprints of forgotten sessions.

pub mod chunks;
pub mod conversation;
pub mod disk_usage;
pub mod forgotten;
pub mod model_answer;
pub mod transcript_reader;
