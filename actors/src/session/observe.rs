//! How a session reads its file: whether a file is its own, and everything from its offset to the end, counted and
//! recorded.
//!
//! # Decisions
//!
//! - A transcript that was gone resumes its session when it is found again, also with nothing new in it.

use std::path::Path;
use std::time::Duration;

use baton_conversation::record::SessionId;
use baton_conversation::transcript::Source;
use baton_events::session::{CloseReason, Command, Counts, Discover, FailureReason, Observe, Phase, Rejection, UnindexedReason};
use baton_redaction::redact;
use ractor::ActorRef;

use super::{Msg, State};
use baton_base::limits;
use baton_base::project;
use baton_base::transcript_file::FileSeen;
use baton_journal::AppendError;
use baton_store::transcript_reader;
use baton_store::transcript_reader::{Pass, Start};

/// Why a transcript is read later.
const NO_PLACE: &str = "the file system of its working directory does not answer";

impl State {
    /// A job's word that the transcript is gone may be older than the file that is there now: then it is tried again.
    pub(super) async fn why_now(&self, why: FailureReason) -> FailureReason {
        let path = self.aggregate().state().transcript.as_ref().map(|transcript| transcript.path.clone());
        let (FailureReason::Gone, Some(path)) = (why, path) else { return why };
        if self.is_hung(&path) {
            return FailureReason::Unreadable;
        }
        let looking = tokio::task::spawn_blocking(move || Path::new(&path).is_file());
        // A file system that does not answer does not say that it is gone.
        match tokio::time::timeout(limits::ROOT, looking).await {
            Ok(Ok(false)) => why,
            _ => FailureReason::Unreadable,
        }
    }

    /// Whether a file lies where whoever looks may wait for ever. It is told of again when its file system answers.
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
        // What was still empty when it was found, or did not say where it works, is read as soon as there is more in it.
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

    /// Whether nothing is to be taken in, not even where its file lies: what has come meanwhile is found when that is over.
    pub(super) fn is_at_rest(&self) -> bool {
        matches!(self.aggregate().state().phase, Phase::Forgotten | Phase::Unindexed(UnindexedReason::Untracked))
    }

    /// Whether the file is the one this session is read from.
    pub(super) async fn discover(&mut self, file: &FileSeen) -> Result<bool, AppendError> {
        let state = self.aggregate().state();
        let takes_over = match &state.transcript {
            // Two agents may give one id: neither ever takes over from the other.
            Some(known) if *known.path != *file.path && known.agent == file.agent => {
                let source = Source { agent: file.agent, subagent: state.is_subagent() };
                let (known, file, offset, tail) =
                    (known.path.clone(), file.path.to_string(), state.read.offset, state.tail);
                let comparing = tokio::task::spawn_blocking(move || {
                    transcript_reader::continues(source, &known, &file, offset, tail)
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
            Err(Rejection::SecondFile { known }) => {
                tracing::warn!(session = %self.id, known = %redact(&known), second = %redact(&file.path), "second file of one session passed over");
                self.options.watcher.second_file(file);
                false
            }
            Err(_) => false,
        })
    }

    /// Reads from the own offset to the end of the file as it stands now, recording what was counted: one that grows faster
    /// than it is read is read on in its next turn. If the file was
    /// rewritten under a running index job, the job is void, and its wish is repeated.
    pub(super) async fn read_to_end(&mut self) -> Result<(), AppendError> {
        let void = self.read_on().await?;
        self.ask_again(void).await
    }

    /// The wish of a job that has become void, if one has.
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
            let room = self.options.throttle.wait_to_read(self.urgency).await;
            let reading = tokio::task::spawn_blocking(move || {
                let pass = transcript_reader::observe(&start);
                let cwd = match &pass {
                    Pass::Read(done) if !has_place => done.seen.cwd.as_deref(),
                    _ => None,
                };
                // Where it works is recorded once, so it is not guessed.
                let place = cwd.map(project::resolve_in_time);
                let pass = match place {
                    Some(None) => Pass::Unreadable { reason: NO_PLACE.to_owned(), lasting: false },
                    _ => pass,
                };
                (start, pass, place.flatten())
            });
            let read = tokio::time::timeout(limits::READ_PASS, reading).await;
            // One that hangs keeps its thread, and nobody else's turn.
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
                        tracing::warn!(session = %self.id, %rejection, "what was read was refused");
                        return Ok(void);
                    }
                    self.forget_with_parent().await?;
                    if !more || self.is_at_rest() {
                        self.checked(seen);
                        return Ok(void);
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
                        // It is known to fail, and until it is written to it is read again in its time, not for each query.
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
