//! Components besides the indexer that store session text: set-aside files, the vault, exports of the table.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use baton_conversation::record::SessionId;
use tokio::sync::Semaphore;

use crate::handoff::Handoffs;
use crate::session_states_file::SessionStatesFile;
use baton_base::{durable, limits};
use baton_store::chunks::{ChunkStore, Removed};
use baton_store::text_keeper::{Erasing, Erasure, Report, TextKeeper, TextKeepers};
use baton_tracking::indexer;
use baton_vault::NoteWriter;

/// Erases the words of deleted notes, which no vault holds.
pub(crate) struct Wiper {
    pub(crate) indexer: indexer::Handle,
    pub(crate) keepers: TextKeepers,
}

/// Set-aside files: what repairs cut off, and the memory that a verification builds.
#[derive(Clone)]
pub(crate) struct SetAside {
    pub(crate) home: PathBuf,
    /// Held by a verification or a compaction.
    pub(crate) verifying: Arc<Semaphore>,
}

impl SetAside {
    /// The conversations that repairs cut off.
    fn cut_off(&self) -> io::Result<Vec<ChunkStore>> {
        let mut stores = Vec::new();
        for entry in fs::read_dir(self.home.join("log"))? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with("cut-") {
                stores.push(ChunkStore::in_folder(entry.path().join("blobs")));
            }
        }
        Ok(stores)
    }

    fn wipe(&self, sessions: &[SessionId]) -> Result<Removed, String> {
        let mut removed = Removed::default();
        for store in self.cut_off().map_err(|error| error.to_string())? {
            for session in sessions {
                removed += store.forget(session).map_err(|error| error.to_string())?;
            }
        }
        match fs::remove_dir_all(self.home.join(durable::VERIFY_FOLDER)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.to_string()),
            _ => Ok(removed),
        }
    }
}

impl TextKeeper for SetAside {
    fn find(&self, sessions: &[SessionId]) -> Result<Removed, String> {
        let mut found = Removed::default();
        for store in self.cut_off().map_err(|error| error.to_string())? {
            for session in sessions {
                found += store.stored(session).map_err(|error| error.to_string())?;
            }
        }
        Ok(found)
    }

    /// Waits for a running verification, whose copy of the memory is removed at its end.
    fn erase<'a>(&'a self, erasure: Erasure<'a>) -> Erasing<'a> {
        Box::pin(async move {
            let turn = tokio::time::timeout(limits::PURGE, self.verifying.clone().acquire_owned()).await;
            let Ok(Ok(turn)) = turn else {
                return Err("what was put aside was not deleted: the home is being verified".to_owned()).into();
            };
            let (aside, sessions) = (self.clone(), erasure.sessions.to_vec());
            let wiping = baton_base::task::spawn_blocking(move || {
                let _turn = turn;
                aside.wipe(&sessions)
            });
            let wiped = wiping.await.map_err(|error| error.to_string()).flatten();
            wiped.map_err(|problem| format!("what was put aside was not deleted: {problem}")).into()
        })
    }
}

/// Notes in vaults; what people wrote in them stays.
pub(crate) struct VaultNotes(pub(crate) Arc<NoteWriter>);

impl TextKeeper for VaultNotes {
    fn erase<'a>(&'a self, erasure: Erasure<'a>) -> Erasing<'a> {
        Box::pin(async move {
            match self.0.forget(erasure.sessions).await {
                Ok(edited) => Report { edited, ..Report::default() },
                Err(problem) => Err(problem).into(),
            }
        })
    }
}

impl TextKeeper for Handoffs {
    fn erase<'a>(&'a self, _erasure: Erasure<'a>) -> Erasing<'a> {
        self.clear();
        Box::pin(async { Report::default() })
    }
}

/// The session table for people and scripts.
pub(crate) struct ExportedTable(pub(crate) Arc<SessionStatesFile>);

impl TextKeeper for ExportedTable {
    fn erase<'a>(&'a self, _erasure: Erasure<'a>) -> Erasing<'a> {
        Box::pin(async {
            let written = self.0.write_now().await.map(|()| Removed::default());
            written.map_err(|problem| format!("session_states.json was not written again: {problem}")).into()
        })
    }
}
