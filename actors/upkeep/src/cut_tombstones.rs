//! Tombstones that a repair cut off with the end of the log. A file beside the log keeps them until the next daemon
//! records them again and deletes what was read of these sessions meanwhile.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use baton_conversation::record::SessionId;
use serde::{Deserialize, Serialize};

use baton_base::durable;
use baton_base::limits;
use baton_journal::session_table::TableReader;
use baton_store::text_keeper::{Erasure, TextKeeper as _};
use baton_tracking::indexer;
use baton_tracking::session::{Switch, Switched};
use baton_tracking::supervisor;

/// The file, in the folder of the log; exists only between a repair and the next daemon.
const FILE: &str = "forgotten.json";
/// Largest file that is read, in bytes: more than a million sessions.
const FILE_MAX_BYTES: u64 = 64 * 1024 * 1024;
/// The format of the file.
const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
struct TombstonesV1 {
    format: u32,
    sessions: BTreeSet<String>,
}

/// The sessions that must be forgotten again.
pub fn read(log: &Path) -> io::Result<BTreeSet<SessionId>> {
    let Some(shape) = durable::read_json::<TombstonesV1>(&log.join(FILE), FILE_MAX_BYTES)? else {
        return Ok(BTreeSet::new());
    };
    if shape.format != FORMAT {
        return Err(io::Error::other("it is of a newer version of this program"));
    }
    Ok(shape.sessions.iter().filter_map(|id| SessionId::new(id)).collect())
}

/// Adds sessions to the file, durably.
pub(crate) fn add(log: &Path, sessions: &BTreeSet<SessionId>) -> io::Result<()> {
    if sessions.is_empty() {
        return Ok(());
    }
    let all = read(log)?.iter().chain(sessions).map(ToString::to_string).collect();
    let bytes = serde_json::to_vec(&TombstonesV1 { format: FORMAT, sessions: all })?;
    durable::write_file(&log.join(FILE), &bytes)?;
    durable::sync_folder(log)
}

/// Records the cut tombstones again, and deletes what was stored of these sessions meanwhile.
pub async fn forget_again(log: PathBuf, table: TableReader, supervisor: supervisor::Handle, indexer: indexer::Handle) {
    let reading = log.clone();
    let sessions = match baton_base::task::spawn_blocking(move || read(&reading)).await {
        Ok(Ok(sessions)) if sessions.is_empty() => return,
        Ok(Ok(sessions)) => sessions,
        Ok(Err(error)) => {
            tracing::error!(file = FILE, %error, "the tombstones that a repair cut off cannot be read; forget these sessions again");
            return;
        }
        Err(_) => return,
    };
    let mut forgotten = Vec::with_capacity(sessions.len());
    for id in &sessions {
        match supervisor.switch(id, Switch::Forget { seen: None, cause: None }, limits::SESSION_CALL).await {
            Ok(Switched::Done { .. }) => forgotten.push(id.clone()),
            _ => tracing::warn!(session = %id, "session not forgotten again yet; the next start retries"),
        }
    }
    let position = table.now().position();
    let purged = indexer.erase(Erasure { sessions: &forgotten, position, step: &|| {} }).await;
    if let Some(problem) = purged.problems.first() {
        tracing::error!(%problem, "text of forgotten sessions that a repair brought back is not deleted yet; the next start retries");
    }
    if purged.problems.is_empty() && forgotten.len() == sessions.len() {
        let removed = baton_base::task::spawn_blocking(move || fs::remove_file(log.join(FILE))).await;
        tracing::info!(sessions = sessions.len(), removed = removed.is_ok(), "sessions forgotten again after a repair");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_adds_up_and_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let ids = |names: &[&str]| names.iter().map(|name| SessionId::new(name).unwrap()).collect::<BTreeSet<_>>();
        assert_eq!(read(folder.path()).unwrap(), ids(&[]));
        add(folder.path(), &ids(&[])).unwrap();
        assert!(!folder.path().join(FILE).exists());
        add(folder.path(), &ids(&["a", "b"])).unwrap();
        add(folder.path(), &ids(&["b", "c"])).unwrap();
        assert_eq!(read(folder.path()).unwrap(), ids(&["a", "b", "c"]));
        for broken in ["", "{\"format\":2,\"sessions\":[]}"] {
            fs::write(folder.path().join(FILE), broken).unwrap();
            assert!(read(folder.path()).is_err(), "{broken}");
        }
    }
}
