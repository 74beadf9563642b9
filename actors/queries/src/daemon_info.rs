//! What is known of a daemon from its start.

use std::path::PathBuf;

use baton_conversation::record::Timestamp;

/// See the module.
pub struct DaemonInfo {
    /// The home directory.
    pub home: PathBuf,
    /// The version reported by `hello`.
    pub version: String,
    /// Start of the daemon.
    pub started_at: Timestamp,
    /// The configured socket at the start of the daemon, if it is not in the home.
    pub socket_path: Option<PathBuf>,
    /// Damage found when the log was opened.
    pub log_problem: Option<String>,
}
