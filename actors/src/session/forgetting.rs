//! Tombstones: set, lifted, and handed on to subagents. What is stored is deleted by whoever asked, see [`crate::indexer`]
//! and the gateway's `forget`; if that is interrupted, by the next start.

use baton_events::session::{Command, Phase};

use super::{State, Switched};
use crate::files::FileSeen;
use crate::journal::AppendError;

impl State {
    /// Sets the tombstone. A job of the session is void from now on.
    pub(super) async fn forget(&mut self, seen: Option<FileSeen>) -> Result<Switched, AppendError> {
        if let Some(file) = &seen
            && self.aggregate().state().transcript.is_none()
        {
            // Without it the tombstone only names nobody's file.
            self.discover(file).await?;
        }
        let before = self.aggregate().version();
        if let Err(rejection) = self.submit(&Command::Forget, None).await? {
            return Ok(Switched::Refused(rejection));
        }
        self.let_everything_go();
        Ok(Switched::Done { already: self.aggregate().version() == before })
    }

    /// Lifts the tombstone and reads what is there.
    pub(super) async fn restore(&mut self, seen: Option<FileSeen>) -> Result<Switched, AppendError> {
        let restore = Command::Restore { file_exists: seen.is_some() };
        if let Err(rejection) = self.submit(&restore, None).await? {
            return Ok(Switched::Refused(rejection));
        }
        let Some(file) = seen else { return Ok(Switched::Done { already: false }) };
        // It may lie elsewhere by now.
        if self.discover(&file).await? {
            self.dirty = Some(file);
            self.read_to_end().await?;
            self.apply_time().await?;
        }
        Ok(Switched::Done { already: false })
    }

    /// A subagent of a forgotten session is forgotten as soon as that is known, before anything of it is stored.
    pub(super) async fn forget_with_parent(&mut self) -> Result<(), AppendError> {
        let state = self.aggregate().state();
        let Some(parent) = state.parent().filter(|_| state.phase != Phase::Forgotten) else { return Ok(()) };
        let is_forgotten = |phase| phase == Phase::Forgotten;
        let parent = self.options.table.borrow().get(parent).map(|row| row.state.phase);
        if parent.is_some_and(is_forgotten) && self.submit(&Command::Forget, None).await?.is_ok() {
            self.let_everything_go();
        }
        Ok(())
    }

    fn let_everything_go(&mut self) {
        self.in_flight = None;
        self.dirty = None;
        self.unreadable = None;
        self.closing = false;
    }
}
