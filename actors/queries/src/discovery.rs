//! Finds unread transcripts and makes sessions read them.

use baton_conversation::record::SessionId;
use baton_events::projection::table::SessionTable;
use baton_events::session::{Kind, State};
use tokio::sync::watch;

use crate::SESSIONS_NAMED;
use baton_base::actor_address::CallError;
use baton_base::limits;
use baton_base::transcript_file::FileSeen;
use baton_config::settings::Settings;
use baton_tracking::supervisor;
use baton_tracking::supervisor::Progress;
use baton_tracking::watcher;
use baton_views::catalog::Catalog;

/// See the module.
#[derive(Clone, Copy)]
pub(crate) struct Discovery<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) supervisor: &'a supervisor::Handle,
    pub(crate) watcher: &'a watcher::Handle,
}

impl Discovery<'_> {
    /// Checks every transcript at once, and reads sessions that were never read, up to [`limits::DISCOVERED_AT_ONCE`].
    /// Returns true if there were any.
    pub(crate) async fn check_transcripts(&self) -> bool {
        let Ok(grown) = self.watcher.newest(limits::LAZY_TOLD, watcher::LOOK).await else { return false };
        let (table, settings) = self.catalog.now();
        let (unread, rest) = split_unread(&table, &settings, grown.files);
        self.supervisor.seen(rest);
        let is_any = !unread.is_empty();
        self.read_first(unread).await;
        is_any
    }

    /// Number of transcripts, without subagents', that wait to be read for the first time while the backlog is worked
    /// off.
    pub(crate) async fn count_unread(&self, progress: &watch::Receiver<Progress>) -> u64 {
        let Ok(grown) = self.watcher.refresh().await else { return 0 };
        // With an empty backlog the rest cannot be read; `status` reports it.
        if progress.borrow().pending() == 0 {
            return 0;
        }
        let (table, settings) = self.catalog.now();
        grown.iter().filter(|file| file.kind == Kind::Main && is_new(&table, &settings, file)).count() as u64
    }

    /// Checks every folder and makes the fitting sessions read.
    pub(crate) async fn discover(&self, fits: impl Fn(&FileSeen) -> bool) {
        let Ok(grown) = self.watcher.refresh().await else { return };
        let (mut meant, mut others): (Vec<FileSeen>, Vec<FileSeen>) = grown.into_iter().partition(fits);
        others.extend(meant.split_off(meant.len().min(SESSIONS_NAMED)));
        // The watcher reports the others itself.
        others.truncate(limits::LAZY_TOLD);
        self.supervisor.seen(others);
        for file in &meant {
            // A session that keeps failing is tried again, because it was asked for.
            let _ = self.supervisor.resolve_even_suspended(file.session.clone()).await;
        }
        self.read_first(meant).await;
    }

    /// The non-empty transcript of a session that is known from hooks only.
    pub(crate) async fn transcript_of_unseen(&self, id: &SessionId) -> Result<Option<FileSeen>, CallError> {
        let found = self.watcher.find(id.as_str()).await?;
        let of_it = found.into_iter().filter(|file| file.session == *id && file.stat.size > 0);
        // The same session may have two files; the first is read.
        Ok(of_it.min_by(|a, b| a.path.cmp(&b.path)))
    }

    /// Makes sessions read these files ahead of the backlog, and waits for it, [`limits::DISCOVERY`] at most: a query
    /// for a session that has just begun must not report that it does not exist.
    async fn read_first(&self, files: Vec<FileSeen>) {
        let taking = async {
            let mut asked = Vec::new();
            for file in files {
                if let Ok(session) = self.supervisor.resolve(file.session.clone()).await {
                    session.seen(file);
                    asked.push(session);
                }
            }
            for session in asked {
                // A failed session is restarted and reads its file later.
                let _ = session.wait_until_handled(limits::DISCOVERY).await;
            }
        };
        let _ = tokio::time::timeout(limits::DISCOVERY, taking).await;
    }
}

/// Returns true if nothing of a file's session was read, and it may be read.
fn is_new(table: &SessionTable, settings: &Settings, file: &FileSeen) -> bool {
    let is_unread = |state: &State| state.read.offset == 0 && settings.may_read(state);
    table.get(&file.session).is_none_or(|row| is_unread(&row.state))
}

/// Splits off the newest files of sessions that were never read or have no known directory, if they may be read.
pub(crate) fn split_unread(
    table: &SessionTable,
    settings: &Settings,
    files: Vec<FileSeen>,
) -> (Vec<FileSeen>, Vec<FileSeen>) {
    let has_no_place = |state: &State| state.place.is_none() && settings.may_read(state);
    let (mut new, mut rest): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| {
        is_new(table, settings, file) || table.get(&file.session).is_some_and(|row| has_no_place(&row.state))
    });
    rest.extend(new.split_off(new.len().min(limits::DISCOVERED_AT_ONCE)));
    (new, rest)
}
