//! Conversations on disk: reading transcripts, storing chunks, forgetting.

pub mod chunks;
pub mod conversation;
pub mod disk_usage;
pub mod fingerprints;
pub mod model_answer;
mod plain_file;
pub mod store_file;
pub mod text_keeper;
pub mod transcript_reader;
