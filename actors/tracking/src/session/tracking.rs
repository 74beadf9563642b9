//! Decides whether a session may be read: by the configuration, which may require a look at the head of its transcript,
//! and by what a person has set for this session.
//!
//! # Hazards
//!
//! - Where switches depend on projects a transcript's head is peeked at (up to 8 MB) before it is discovered;
//!   one without a conversation stays undiscovered until it grows. Where a passed-over file's session works is
//!   learnt once: a change of its git top level counts after the next change of settings or a restart.

use std::sync::Arc;

use baton_conversation::record::CommandId;
use baton_conversation::transcript::{Kind, Source};
use baton_events::session::{Command, Correction, Redact, Rejection, ReplacedConversation};
use ractor::RpcReplyPort;
use uuid::Uuid;

use super::State;
use baton_base::project;
use baton_base::transcript_file::FileSeen;
use baton_config::settings::{Settings, Stop};
use baton_journal::AppendError;
use baton_store::transcript_reader;
use baton_store::transcript_reader::Peek;

/// A change of a session's tracking.
#[derive(Clone, Debug)]
pub enum Switch {
    /// Tracks it again.
    Track {
        /// The transcript of a session that was never discovered.
        seen: Option<FileSeen>,
        /// Overrides the configuration's switches.
        force: bool,
        /// Assigns this group.
        group: Option<String>,
    },
    /// Stops tracking and revokes a forced tracking.
    Untrack {
        /// The transcript of a session that was never discovered.
        seen: Option<FileSeen>,
    },
    /// Forgets the session.
    Forget {
        /// The transcript of a session that was never discovered; the tombstone records its path.
        seen: Option<FileSeen>,
        /// The requesting call.
        cause: Option<CommandId>,
    },
    /// Hides the episode until its content changes.
    DeleteEpisode {
        /// The episode's uuid.
        episode: Uuid,
    },
    /// Shows a deleted episode again.
    RestoreEpisode {
        /// The episode's uuid.
        episode: Uuid,
        /// True if its group was cleared since.
        is_cleared: bool,
        /// The requesting call.
        cause: Option<CommandId>,
    },
    /// Records a person's corrections.
    Correct {
        /// The text of a new title, redacted.
        title: Option<String>,
        /// Further corrections.
        corrections: Vec<Correction>,
    },
    /// Replaces the stored conversation by its newly redacted form.
    Redact(Box<Redact>),
    /// Record that only a part of the conversation is stored any more.
    Shorten(Box<ReplacedConversation>),
    /// Lifts the tombstone and reads the transcript from its start.
    Restore {
        /// The transcript, if it exists.
        seen: Option<FileSeen>,
        /// The requesting call.
        cause: Option<CommandId>,
    },
}

/// The result of a [`Switch`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Switched {
    /// The change is in effect.
    Done {
        /// True if it already was before.
        already: bool,
    },
    /// The configuration refuses it.
    Stopped(Stop),
    /// A rule refuses it.
    Refused(Rejection),
    /// The outcome could not be determined or recorded.
    Failed {
        /// The reason.
        reason: String,
    },
}

/// Where a session works, as far as known before it is read.
enum KnownPlace {
    Somewhere(Option<baton_events::session::Place>),
    NotYet,
    /// The file cannot be read now; it may become readable without changing.
    Unreadable,
}

impl State {
    /// Returns true if a session may be discovered from this file. Otherwise tells the watcher to skip it.
    pub(super) async fn may_discover(&self, file: &FileSeen) -> bool {
        let settings = self.options.settings.now();
        match self.find_place(&settings, Some(file)).await {
            // The transcript has no conversation yet. Its first message will name the directory.
            KnownPlace::NotYet => {
                self.checked(Some(file.clone()));
                false
            }
            // Leave it unread, so that the next refresh tries again.
            KnownPlace::Unreadable => false,
            KnownPlace::Somewhere(place) => {
                let state = self.aggregate().state();
                let state = baton_events::session::State { place, forced: state.forced, ..Default::default() };
                let stopped = settings.stop_of(&state).is_some();
                if stopped {
                    self.options.watcher.passed_over(file.clone(), settings, state.place);
                }
                !stopped
            }
        }
    }

    /// Returns what in the configuration stops the session, if anything.
    pub(super) async fn stop_under(&self, settings: &Arc<Settings>, file: Option<&FileSeen>) -> Option<Stop> {
        let place = match self.find_place(settings, file).await {
            KnownPlace::Somewhere(place) => place,
            KnownPlace::NotYet | KnownPlace::Unreadable => None,
        };
        let baton_events::session::State { forced, transcript, .. } = self.aggregate().state().clone();
        settings.stop_of(&baton_events::session::State { place, forced, transcript, ..Default::default() })
    }

    /// Returns where the session works. Reads the head of its file only if that decides whether it may be read.
    async fn find_place(&self, settings: &Arc<Settings>, file: Option<&FileSeen>) -> KnownPlace {
        let state = self.aggregate().state();
        let path = state.transcript.as_ref().map(|known| known.path.as_str()).or(file.map(|file| &*file.path));
        if state.place.is_some() || !path.is_some_and(|path| settings.depend_on_project(path)) {
            return KnownPlace::Somewhere(state.place.clone());
        }
        let (source, path) = match (&state.transcript, file) {
            (Some(known), _) => (Source { agent: known.agent, subagent: state.is_subagent() }, known.path.clone()),
            (None, Some(file)) => {
                (Source { agent: file.agent, subagent: file.kind != Kind::Main }, file.path.to_string())
            }
            (None, None) => return KnownPlace::Somewhere(None),
        };
        let room = self.wait_to_read().await;
        let peeked = baton_base::task::spawn_blocking(move || {
            let _room = room;
            match transcript_reader::peek(source, &path) {
                Peek::Cwd(cwd) => project::resolve_in_time(&cwd)
                    .map_or(KnownPlace::Unreadable, |place| KnownPlace::Somewhere(Some(place))),
                Peek::Nowhere => KnownPlace::Somewhere(None),
                Peek::NotYet => KnownPlace::NotYet,
                Peek::Unreadable => KnownPlace::Unreadable,
            }
        });
        peeked.await.unwrap_or(KnownPlace::Unreadable)
    }

    pub(super) async fn switch(&mut self, switch: Switch, reply: RpcReplyPort<Switched>) -> Result<(), AppendError> {
        let switched = match switch {
            Switch::Track { seen, force, group } => self.track(seen, force, group).await,
            Switch::Untrack { seen } => self.untrack(seen).await,
            Switch::Forget { seen, cause } => self.forget(seen, cause.as_ref()).await,
            Switch::DeleteEpisode { episode } => self.submit_switch(Command::DeleteEpisode { episode }, None).await,
            Switch::RestoreEpisode { episode, is_cleared, cause } => {
                self.submit_switch(Command::RestoreEpisode { episode, is_cleared }, cause.as_ref()).await
            }
            Switch::Correct { title, corrections } => self.correct(title, corrections).await,
            Switch::Redact(redact) => {
                let redacted = self.submit_switch(Command::Redact(redact), None).await;
                if let Ok(Switched::Done { already: false }) = &redacted {
                    let hash = self.aggregate().state().episode.as_ref().map(|episode| episode.hash.short());
                    tracing::info!(session = %self.id, reason = "newer rules", ?hash, "stored text redacted again");
                }
                redacted
            }
            Switch::Shorten(conversation) => self.submit_switch(Command::Shorten(conversation), None).await,
            Switch::Restore { seen, cause } => self.restore(seen, cause.as_ref()).await,
        };
        let (answer, result) = match switched {
            Ok(switched) => (switched, Ok(())),
            // Return the conflict unanswered: the caller asks the next incarnation.
            Err(error @ AppendError::Conflict { .. }) => return Err(error),
            Err(error) => (Switched::Failed { reason: error.to_string() }, Err(error)),
        };
        let _ = reply.send(answer);
        result
    }

    async fn track(
        &mut self,
        seen: Option<FileSeen>,
        force: bool,
        group: Option<String>,
    ) -> Result<Switched, AppendError> {
        let settings = self.options.settings.now();
        if let Some(stop) = self.stop_under(&settings, seen.as_ref()).await
            && (!force || !stop.is_lifted_by_force())
        {
            return Ok(Switched::Stopped(stop));
        }
        if let Some(file) = &seen
            && self.aggregate().state().transcript.is_none()
            && !self.discover(file).await?
        {
            return Ok(Switched::Failed { reason: "its transcript could not be taken in".to_owned() });
        }
        let before = self.aggregate().version();
        if let Err(rejection) = self.submit(&Command::Track { force }, None).await? {
            return Ok(Switched::Refused(rejection));
        }
        if let Some(group) = group
            && let Err(rejection) = self.submit(&Command::Assign { group }, None).await?
        {
            return Ok(Switched::Refused(rejection));
        }
        let already = self.aggregate().version() == before;
        // Count what was appended meanwhile before answering.
        self.dirty = seen.or(self.dirty.take());
        self.read_to_end().await?;
        self.apply_time().await?;
        Ok(Switched::Done { already })
    }

    pub(super) async fn submit_switch(
        &mut self,
        wish: Command,
        cause: Option<&CommandId>,
    ) -> Result<Switched, AppendError> {
        let before = self.aggregate().version();
        if let Err(rejection) = self.submit(&wish, cause).await? {
            return Ok(Switched::Refused(rejection));
        }
        Ok(Switched::Done { already: self.aggregate().version() == before })
    }

    async fn untrack(&mut self, seen: Option<FileSeen>) -> Result<Switched, AppendError> {
        // Discover it first: untracking must outlast the switch that keeps it from being discovered.
        if let Some(file) = &seen
            && self.aggregate().state().transcript.is_none()
            && !self.discover(file).await?
        {
            return Ok(Switched::Failed { reason: "its transcript could not be taken in".to_owned() });
        }
        let before = self.aggregate().version();
        if let Err(rejection) = self.submit(&Command::Untrack, None).await? {
            return Ok(Switched::Refused(rejection));
        }
        // A queued job will find that it is no longer owed. The outcome of a running one is refused, and what it stored
        // is collected.
        Ok(Switched::Done { already: self.aggregate().version() == before })
    }
}

impl State {
    /// Records corrections, and the title if there is one. Nothing is stored of a session without an episode, such as a
    /// forgotten one: the rules refuse it.
    pub(super) async fn correct(
        &mut self,
        title: Option<String>,
        mut corrections: Vec<Correction>,
    ) -> Result<Switched, AppendError> {
        if let Some(text) = title.filter(|_| self.aggregate().state().episode.is_some()) {
            match self.store_note(text).await {
                Ok(hash) => corrections.push(Correction::Title(Some(hash))),
                Err(reason) => return Ok(Switched::Failed { reason }),
            }
        }
        self.submit_switch(Command::Correct(corrections), None).await
    }
}
