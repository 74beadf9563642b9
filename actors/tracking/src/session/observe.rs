//! Reads a session's transcript: decides whether a file belongs to the session, and records counts of everything from
//! its offset to the end.
//!
//! # Decisions
//!
//! - A vanished transcript resumes its session when it is found again, even with nothing new in it.

use std::path::Path;
use std::time::Duration;

use baton_conversation::item::Agent;
use baton_conversation::record::SessionId;
use baton_conversation::transcript::{self, Source};
use baton_events::session::{
    CloseReason, Command, Counts, Discover, FailureReason, Observe, Phase, Rejection, UnindexedReason,
};
use baton_redaction::redact;
use ractor::ActorRef;

use super::{Msg, State};
use baton_base::limits;
use baton_base::project;
use baton_base::transcript_file::FileSeen;
use baton_journal::AppendError;
use baton_store::transcript_reader;
use baton_store::transcript_reader::{Pass, Start, working_directory};

/// Why a read is postponed.
const NO_PLACE: &str = "the file system of its working directory does not answer";

impl State {
    /// Turns "gone" into "unreadable", which is retried, if the transcript exists by now or its file system does not
    /// answer.
    pub(super) async fn recheck_gone(&self, why: FailureReason) -> FailureReason {
        let path = self.aggregate().state().transcript.as_ref().map(|transcript| transcript.path.clone());
        let (FailureReason::Gone, Some(path)) = (why, path) else { return why };
        if self.is_hung(&path) {
            return FailureReason::Unreadable;
        }
        let looking = baton_base::task::spawn_blocking(move || Path::new(&path).is_file());
        // A file system that does not answer does not prove that the file is gone.
        match tokio::time::timeout(limits::ROOT, looking).await {
            Ok(Ok(false)) => why,
            _ => FailureReason::Unreadable,
        }
    }

    /// True if the file lies on a file system that does not answer. The watcher reports it again when it does.
    pub(super) fn is_hung(&self, path: &str) -> bool {
        self.options.roots.is_hung(Path::new(path))
    }

    pub(super) async fn seen(&mut self, myself: &ActorRef<Msg>, file: FileSeen) -> Result<(), AppendError> {
        let is_new = self.aggregate().state().transcript.is_none();
        if self.is_hung(&file.path) || self.is_at_rest() || (is_new && !self.may_discover(&file).await) {
            return Ok(());
        }
        if !self.discover(&file).await? {
            return Ok(());
        }
        self.dirty = Some(file);
        let interval = Duration::from_millis(u64::try_from(self.policy().check_interval_ms).unwrap_or(0));
        // A file that was empty when found, or has not named its directory yet, is read at once.
        let state = self.aggregate().state();
        let is_beginning = state.read.offset == 0 || (state.place.is_none() && state.is_open());
        let too_soon = self.read_at.map(|at| at.elapsed()).filter(|since| *since < interval && !is_beginning);
        match too_soon {
            Some(since) => self.wake_later(myself, interval - since),
            None => {
                self.read_to_end().await?;
                self.apply_time().await?;
            }
        }
        Ok(())
    }

    /// True if nothing may be recorded, not even the path of the file: the session is forgotten or untracked. The file
    /// is read when that ends.
    pub(super) fn is_at_rest(&self) -> bool {
        matches!(self.aggregate().state().phase, Phase::Forgotten | Phase::Unindexed(UnindexedReason::Untracked))
    }

    /// Returns true if the session is read from this file.
    pub(super) async fn discover(&mut self, file: &FileSeen) -> Result<bool, AppendError> {
        let state = self.aggregate().state();
        let takes_over = match &state.transcript {
            // Two agents may use the same id: neither takes over from the other.
            Some(known) if *known.path != *file.path && known.agent == file.agent => {
                let source = Source { agent: file.agent, subagent: state.is_subagent() };
                let (known, file, offset, tail) =
                    (known.path.clone(), file.path.to_string(), state.read.offset, state.tail);
                let comparing = baton_base::task::spawn_blocking(move || {
                    transcript_reader::may_take_over(source, &known, &file, offset, tail)
                });
                matches!(tokio::time::timeout(limits::READ_PASS, comparing).await, Ok(Ok(true)))
            }
            _ => false,
        };
        let discover = Command::Discover(Discover {
            agent: file.agent,
            path: file.path.to_string(),
            identity: file.identity,
            kind: file.kind.clone(),
            takes_over,
            written_at: Some(file.stat.modified()).filter(|at| at.0 > 0),
        });
        Ok(match self.submit(&discover, None).await? {
            Ok(()) => true,
            // An agent may keep a session in a database and in a file of its own.
            Err(Rejection::SecondFile { known }) if self.is_other_place(&known, file) => {
                self.options.watcher.checked(file.clone());
                false
            }
            Err(Rejection::SecondFile { known }) => {
                tracing::warn!(session = %self.id, known = %redact(&known), second = %redact(&file.path), "second file of one session passed over");
                self.options.watcher.second_file(file);
                false
            }
            Err(_) => false,
        })
    }

    /// True if the session is in a database of its agent and in a file of its own.
    fn is_other_place(&self, known: &str, file: &FileSeen) -> bool {
        let transcript = self.aggregate().state().transcript.as_ref();
        transcript.is_some_and(|transcript| transcript.agent == file.agent)
            && is_in_database(file.agent, known) != is_in_database(file.agent, &file.path)
    }

    /// Reads from the session's offset to the current end of the file and records the counts. A file that grows faster
    /// than it is read is continued in a later turn. If the file was rewritten under a running index job, the job is
    /// void, and its close is repeated. A session whose transcript shows that the person left the agent is closed.
    pub(super) async fn read_to_end(&mut self) -> Result<(), AppendError> {
        let due = self.read_on().await?;
        self.repeat_close(due).await
    }

    /// Returns the reason of a due close: one whose job became void, or one that the transcript shows.
    async fn read_on(&mut self) -> Result<Option<CloseReason>, AppendError> {
        let mut void = None;
        let seen = self.dirty.take();
        if self.is_at_rest() {
            self.checked(seen);
            return Ok(void);
        }
        self.forget_with_parent().await?;
        let settings = self.options.settings.now();
        if self.is_at_rest() {
            self.checked(seen);
            return Ok(void);
        }
        if self.stop_under(&settings, None).await.is_some() {
            if let Some(file) = seen {
                self.options.watcher.passed_over(file, settings, self.aggregate().state().place.clone());
            }
            return Ok(void);
        }
        self.forget_copy().await?;
        if self.is_at_rest() {
            self.checked(seen);
            return Ok(void);
        }
        let mut end = None;
        loop {
            let state = self.aggregate().state();
            let Some(transcript) = &state.transcript else { return Ok(void) };
            let source = Source { agent: transcript.agent, subagent: state.is_subagent() };
            let start = Start { source, path: transcript.path.clone(), cursor: state.read.clone(), tail: state.tail };
            if self.is_hung(&start.path) {
                self.unreadable = Some("its file system does not answer".to_owned());
                return Ok(void);
            }
            let generation = state.generation;
            let (has_place, has_parent) = (state.place.is_some(), state.parent().is_some());
            let (table, clones) = (self.options.table.clone(), self.options.clones.clone());
            let room = self.wait_to_read().await;
            let reading = baton_base::task::spawn_blocking(move || {
                let pass = transcript_reader::observe(&start);
                let seen = match &pass {
                    Pass::Read(done) if !has_place => Some(&done.seen),
                    _ => None,
                };
                // The working directory is recorded once, so it is never guessed.
                let place = seen.and_then(|seen| {
                    let directory = working_directory::settle(start.source.agent, &start.path, seen.cwd.clone());
                    let place = project::resolve_in_time(&directory?);
                    Some(place.map(|place| clones.record(&table.now(), place, seen.remote.as_deref())))
                });
                let pass = match place {
                    Some(None) => Pass::Unreadable { reason: NO_PLACE.to_owned(), lasting: false },
                    _ => pass,
                };
                (start, pass, place.flatten())
            });
            let read = tokio::time::timeout(limits::READ_PASS, reading).await;
            // A hanging read keeps its thread but frees its turn.
            drop(room);
            let Ok(Ok((start, pass, place))) = read else {
                let why = if read.is_err() { "its file system does not answer" } else { "reading broke" };
                self.unreadable = Some(why.to_owned());
                tracing::error!(session = %self.id, why, "transcript not read");
                return Ok(void);
            };
            self.read_at = Some(tokio::time::Instant::now());
            match pass {
                Pass::Read(done) => {
                    self.unreadable = None;
                    let more = done.more && done.cursor.offset < *end.get_or_insert(done.end);
                    let parent = done.seen.agent_session.as_deref().and_then(SessionId::new);
                    let observe = Command::Observe(Box::new(Observe {
                        generation,
                        from: start.cursor.offset,
                        to: done.cursor,
                        tail: done.tail,
                        counts: Counts::from(&done.seen),
                        first_at: done.seen.first_at,
                        last_at: done.seen.last_at,
                        last_conversation_at: done.seen.last_conversation_at,
                        place,
                        parent: parent.filter(|_| !has_parent),
                    }));
                    if let Err(rejection) = self.submit(&observe, None).await? {
                        tracing::warn!(session = %self.id, %rejection, "counts of the transcript refused");
                        return Ok(void);
                    }
                    self.forget_with_parent().await?;
                    if !more || self.is_at_rest() {
                        self.checked(seen);
                        // Only an end that comes while the session is watched is news: history is read in one piece.
                        let is_end =
                            done.seen.has_left && start.cursor.offset > 0 && self.aggregate().state().is_open();
                        return Ok(void.or(is_end.then_some(CloseReason::HookPromptInputExit)));
                    }
                }
                Pass::Rewritten { identity } => {
                    void = self.aggregate().state().job.map(|job| job.again.unwrap_or(job.reason)).or(void);
                    if self.submit(&Command::Rewrite { identity }, None).await?.is_err() {
                        return Ok(void);
                    }
                    (self.in_flight, end) = (None, None);
                }
                Pass::Gone => {
                    self.unreadable = None;
                    let _ = self.submit(&Command::Vanish, None).await?;
                    return Ok(void);
                }
                Pass::Unreadable { reason, lasting } => {
                    if self.unreadable.as_ref() != Some(&reason) {
                        tracing::warn!(session = %self.id, path = %redact(&start.path), %reason, "transcript not readable");
                    }
                    self.unreadable = Some(reason);
                    if lasting && self.aggregate().state().phase == Phase::Failed {
                        // This file is known to fail. Until it changes, it is retried at its own time and not for each
                        // query.
                        self.checked(seen);
                    }
                    return Ok(void);
                }
            }
        }
    }

    pub(super) fn checked(&self, seen: Option<FileSeen>) {
        if let Some(file) = seen {
            self.options.watcher.checked(file);
        }
    }
}

fn is_in_database(agent: Agent, path: &str) -> bool {
    transcript::table(agent).is_some() && transcript::store_file(agent, path).is_some()
}
