//! Conversations on disk: transcripts as they are read, chunks as they are kept, and fingerprints of what was forgotten.

pub mod chunks;
pub mod conversation;
pub mod disk_usage;
pub mod forgotten;
pub mod model_answer;
pub mod transcript_reader;
