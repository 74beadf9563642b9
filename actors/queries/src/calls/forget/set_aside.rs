//! Other places with text: what a repair cut off, and the memory that a verification built.

use std::fs;
use std::io;
use std::path::Path;

use baton_conversation::record::SessionId;

use baton_base::durable;
use baton_store::chunks::{ChunkStore, Removed};

/// Deletes what was put aside of these sessions, and what a killed verification left. No verification may run
/// meanwhile. Blocks for the disk.
pub(super) fn wipe(home: &Path, sessions: &[SessionId]) -> Result<Removed, String> {
    let message = |error: io::Error| error.to_string();
    let mut removed = Removed::default();
    let log = home.join("log");
    for entry in fs::read_dir(&log).map_err(message)? {
        let entry = entry.map_err(message)?;
        if !entry.file_name().to_string_lossy().starts_with("cut-") {
            continue;
        }
        let kept = ChunkStore::in_folder(entry.path().join("blobs"));
        for session in sessions {
            removed += kept.forget(session).map_err(|error| error.to_string())?;
        }
    }
    match fs::remove_dir_all(home.join(durable::VERIFY_FOLDER)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(message(error)),
        _ => Ok(removed),
    }
}
