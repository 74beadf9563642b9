//! Whether a session may be read: what the configuration says, learnt from the head of its transcript if need be, and what
//! somebody says of this session alone.
//!
//! # Hazards
//!
//! - Where switches depend on projects a transcript's head is peeked at (up to 8 MB) before it is discovered;
//!   one without a conversation stays undiscovered until it grows. Where a passed-over file's session works is
//!   learnt once: a change of its git top level counts after the next change of settings or a restart.

use std::sync::Arc;

use baton_conversation::record::CommandId;
use baton_conversation::transcript::{Kind, Source};
use baton_events::session::{Command, Redact, Rejection};
use ractor::RpcReplyPort;
use uuid::Uuid;

use super::State;
use baton_base::project;
use baton_base::transcript_file::FileSeen;
use baton_config::settings::{Settings, Stop};
use baton_journal::AppendError;
use baton_store::transcript_reader;
use baton_store::transcript_reader::Peek;

/// What is to become of a session's tracking.
#[derive(Clone, Debug)]
pub enum Switch {
    /// Lift a stop.
    Track {
        /// Its transcript, for a session that was never discovered.
        seen: Option<FileSeen>,
        /// Although a switch says no.
        force: bool,
        /// Put it in this group.
        group: Option<String>,
    },
    /// Stop, and take back what was forced.
    Untrack {
        /// As above.
        seen: Option<FileSeen>,
    },
    /// Forget it.
    Forget {
        /// Its transcript, for a session that was never discovered: its tombstone tells where it lay.
        seen: Option<FileSeen>,
        /// The call that wants it.
        cause: Option<CommandId>,
    },
    /// Have its episode found no more until the content changes.
    DeleteEpisode {
        /// Which.
        episode: Uuid,
    },
    /// Have it found again.
    RestoreEpisode {
        /// Which.
        episode: Uuid,
        /// Whether its group was cleared since.
        is_cleared: bool,
        /// The call that wants it.
        cause: Option<CommandId>,
    },
    /// Have what was redacted again stand in the place of what is stored.
    Redact(Box<Redact>),
    /// Lift its tombstone, and read it from the start.
    Restore {
        /// Its transcript, if it is there.
        seen: Option<FileSeen>,
        /// The call that wants it.
        cause: Option<CommandId>,
    },
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Switched {
    /// It is so now.
    Done {
        /// It was so before.
        already: bool,
    },
    /// The configuration says no.
    Stopped(Stop),
    /// A rule says no.
    Refused(Rejection),
    /// It could not be found out or recorded.
    Failed {
        /// Why.
        reason: String,
    },
}

/// What is known of where a session works before it is read.
enum Known {
    Somewhere(Option<baton_events::session::Place>),
    NotYet,
    /// Its file cannot be read, and may be mended without changing.
    Nobody,
}

impl State {
    /// Whether a session may be discovered from this file. If not, the watcher is told so.
    pub(super) async fn may_discover(&self, file: &FileSeen) -> bool {
        let settings = self.options.settings.now();
        match self.known(&settings, Some(file)).await {
            // Nothing was said in it: whoever says the first word says where, too.
            Known::NotYet => {
                self.checked(Some(file.clone()));
                false
            }
            // Looked at again by whoever looks next.
            Known::Nobody => false,
            Known::Somewhere(place) => {
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

    /// What of the configuration stops the session.
    pub(super) async fn stop_under(&self, settings: &Arc<Settings>, file: Option<&FileSeen>) -> Option<Stop> {
        let place = match self.known(settings, file).await {
            Known::Somewhere(place) => place,
            Known::NotYet | Known::Nobody => None,
        };
        let baton_events::session::State { forced, transcript, .. } = self.aggregate().state().clone();
        settings.stop_of(&baton_events::session::State { place, forced, transcript, ..Default::default() })
    }

    /// Where the session works. Only where that decides something its file is looked into.
    async fn known(&self, settings: &Arc<Settings>, file: Option<&FileSeen>) -> Known {
        let state = self.aggregate().state();
        let path = state.transcript.as_ref().map(|known| known.path.as_str()).or(file.map(|file| &*file.path));
        if state.place.is_some() || !path.is_some_and(|path| settings.depend_on_project(path)) {
            return Known::Somewhere(state.place.clone());
        }
        let (source, path) = match (&state.transcript, file) {
            (Some(known), _) => (Source { agent: known.agent, subagent: state.is_subagent() }, known.path.clone()),
            (None, Some(file)) => {
                (Source { agent: file.agent, subagent: file.kind != Kind::Main }, file.path.to_string())
            }
            (None, None) => return Known::Somewhere(None),
        };
        let room = self.options.throttle.wait_to_read(self.urgency).await;
        let peeked = tokio::task::spawn_blocking(move || {
            let _room = room;
            match transcript_reader::peek(source, &path) {
                Peek::Cwd(cwd) => {
                    project::resolve_in_time(&cwd).map_or(Known::Nobody, |place| Known::Somewhere(Some(place)))
                }
                Peek::Nowhere => Known::Somewhere(None),
                Peek::NotYet => Known::NotYet,
                Peek::Unreadable => Known::Nobody,
            }
        });
        peeked.await.unwrap_or(Known::Nobody)
    }

    pub(super) async fn switch(&mut self, switch: Switch, reply: RpcReplyPort<Switched>) -> Result<(), AppendError> {
        let switched = match switch {
            Switch::Track { seen, force, group } => self.track(seen, force, group).await,
            Switch::Untrack { seen } => self.untrack(seen).await,
            Switch::Forget { seen, cause } => self.forget(seen, cause.as_ref()).await,
            Switch::DeleteEpisode { episode } => self.about_episode(Command::DeleteEpisode { episode }, None).await,
            Switch::RestoreEpisode { episode, is_cleared, cause } => {
                self.about_episode(Command::RestoreEpisode { episode, is_cleared }, cause.as_ref()).await
            }
            Switch::Redact(redact) => {
                let redacted = self.about_episode(Command::Redact(redact), None).await;
                if let Ok(Switched::Done { already: false }) = &redacted {
                    let hash = self.aggregate().state().episode.as_ref().map(|episode| episode.hash.short());
                    tracing::info!(session = %self.id, reason = "newer rules", ?hash, "stored text redacted again");
                }
                redacted
            }
            Switch::Restore { seen, cause } => self.restore(seen, cause.as_ref()).await,
        };
        let (answer, result) = match switched {
            Ok(switched) => (switched, Ok(())),
            // The next incarnation is asked, which knows what this one does not.
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
        // What has grown meanwhile is counted before it is said that all is well.
        self.dirty = seen.or(self.dirty.take());
        self.read_to_end().await?;
        self.apply_time().await?;
        Ok(Switched::Done { already })
    }

    async fn about_episode(&mut self, wish: Command, cause: Option<&CommandId>) -> Result<Switched, AppendError> {
        let before = self.aggregate().version();
        if let Err(rejection) = self.submit(&wish, cause).await? {
            return Ok(Switched::Refused(rejection));
        }
        Ok(Switched::Done { already: self.aggregate().version() == before })
    }

    async fn untrack(&mut self, seen: Option<FileSeen>) -> Result<Switched, AppendError> {
        // A stop must hold also when the switch that keeps it from being discovered is lifted.
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
        // A job that was handed out finds that it is owed no more; one that runs is refused, and what it stored collected.
        Ok(Switched::Done { already: self.aggregate().version() == before })
    }
}
