//! Tombstones: set, lifted, and passed on to subagents. What is stored of a session is deleted by [`crate::indexer`]
//! and the query `forget`; if that is interrupted, by the next start.

use baton_conversation::record::CommandId;
use baton_conversation::transcript::Source;
use baton_events::session::{Command, Phase};

use super::{State, Switched};
use baton_base::limits;
use baton_base::transcript_file::FileSeen;
use baton_journal::AppendError;
use baton_store::fingerprints::Marks;
use baton_store::transcript_reader;
use baton_store::transcript_reader::Start;

impl State {
    /// Sets the tombstone. A job of the session is void from then on.
    pub(super) async fn forget(
        &mut self,
        seen: Option<FileSeen>,
        cause: Option<&CommandId>,
    ) -> Result<Switched, AppendError> {
        if let Some(file) = &seen
            && self.aggregate().state().transcript.is_none()
        {
            // Discover the transcript first, so that the tombstone records where it lies.
            self.discover(file).await?;
        }
        let before = self.aggregate().version();
        let is_again = cause.is_some_and(|cause| self.aggregate().has_answered(cause));
        if let Err(rejection) = self.submit(&Command::Forget, cause).await? {
            return Ok(Switched::Refused(rejection));
        }
        self.drop_pending_work();
        Ok(Switched::Done { already: self.aggregate().version() == before && !is_again })
    }

    /// Lifts the tombstone and reads the transcript.
    pub(super) async fn restore(
        &mut self,
        seen: Option<FileSeen>,
        cause: Option<&CommandId>,
    ) -> Result<Switched, AppendError> {
        let restore = Command::Restore { file_exists: seen.is_some() };
        if let Err(rejection) = self.submit(&restore, cause).await? {
            return Ok(Switched::Refused(rejection));
        }
        // A repeated call changes nothing, and the tombstone may have been set again in between.
        let is_lifted = self.aggregate().state().phase != Phase::Forgotten;
        let Some(file) = seen.filter(|_| is_lifted) else { return Ok(Switched::Done { already: false }) };
        // The file may have moved.
        if self.discover(&file).await? {
            self.dirty = Some(file);
            self.read_to_end().await?;
            self.apply_time().await?;
        }
        Ok(Switched::Done { already: false })
    }

    /// Forgets a subagent as soon as its parent is known to be forgotten, before anything of it is stored.
    pub(super) async fn forget_with_parent(&mut self) -> Result<(), AppendError> {
        let state = self.aggregate().state();
        let Some(parent) = state.parent().filter(|_| state.phase != Phase::Forgotten) else { return Ok(()) };
        let is_forgotten = |phase| phase == Phase::Forgotten;
        let parent = self.options.table.now().get(parent).map(|row| row.state.phase);
        if parent.is_some_and(is_forgotten) && self.submit(&Command::Forget, None).await?.is_ok() {
            self.drop_pending_work();
        }
        Ok(())
    }

    /// Forgets a transcript that begins with records of a forgotten session, before anything of it is stored. Checks
    /// only transcripts of which nothing was read yet: a copy that a person has kept or restored stays.
    pub(super) async fn forget_copy(&mut self) -> Result<(), AppendError> {
        let (state, remains) = (self.aggregate().state(), self.options.remains.clone());
        let is_new = state.read.offset == 0 && state.generation <= 1 && state.phase != Phase::Forgotten;
        let Some(transcript) = state.transcript.as_ref().filter(|_| is_new && !remains.is_empty()) else {
            return Ok(());
        };
        let source = Source { agent: transcript.agent, subagent: state.is_subagent() };
        let start = Start::beginning(source, transcript.path.clone());
        let (id, room) = (self.id.clone(), self.wait_to_read().await);
        let looking = baton_base::task::spawn_blocking(move || {
            let _room = room;
            let mut records = Marks::default();
            // An unreadable file yields no records and is not a copy.
            transcript_reader::look(&start, limits::COPY_HEAD_BYTES, &mut records);
            let of = remains.original_by_marks(&id, records.0.into_iter())?;
            if let Err(error) = remains.keep_copy(id, of.clone()) {
                tracing::warn!(%error, "copy of a forgotten session not noted");
            }
            Some(of)
        });
        let Some(of) = looking.await.ok().flatten() else { return Ok(()) };
        tracing::info!(session = %self.id, %of, "a copy of a forgotten session");
        if self.submit(&Command::Forget, None).await?.is_ok() {
            self.drop_pending_work();
        }
        Ok(())
    }

    fn drop_pending_work(&mut self) {
        self.in_flight = None;
        self.dirty = None;
        self.unreadable = None;
        self.closing = false;
    }
}
