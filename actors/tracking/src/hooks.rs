//! Takes in agents' hooks: from the socket, or from the spool where they are left while no daemon answers.
//!
//! A hook is a hint. It names a session, which need not be known yet, and an event of it. Starts, ends and compactions
//! are recorded before they are acknowledged; a sign of activity only triggers a look at the transcript, and is
//! recorded at most once per check interval. A hook of anything that is not read here is ignored and counted.

mod closes;
mod drain;
mod intake;
mod offers;
mod presence;
mod recent;
mod spool;
mod statistics;
pub mod succession;
mod transcript_path;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use baton_conversation::record::{CommandId, SessionId, Timestamp};
use baton_events::session::{CloseReason, Place, Signal, SignalDetail, SignalKind};
use baton_protocol::answer::HookStats;
use baton_protocol::{HookParams, HookTook};
use tokio::sync::watch;

use crate::session::{SignalCall, Signalled};
use crate::supervisor;
use crate::transcript_roots::Roots;
use crate::watcher;
use baton_base::bounded_fs::BoundedFs;
use baton_base::clock::Clock;
use baton_base::journal_health::JournalHealth;
use baton_config::settings::SettingsReader;
use baton_journal::session_table::TableReader;

use drain::DrainState;
pub use drain::watch;
pub use intake::Ignored;
use offers::Offers;
pub use presence::Present;
use presence::ServerConnections;
use recent::RecentHooks;
use spool::Spool;
use statistics::Statistics;
use succession::{Start, Succession};

/// Time limit for a signal to become durable before its hook is told that it failed.
const RECORD: Duration = Duration::from_secs(10);

/// What hooks need.
pub struct Options {
    /// The home directory. Sessions that work in it are Baton's own.
    pub home: PathBuf,
    /// Transcript roots.
    pub roots: Arc<Roots>,
    /// Switches and limits.
    pub settings: SettingsReader,
    /// State of the sessions.
    pub table: TableReader,
    /// Time source.
    pub clock: Arc<dyn Clock>,
    /// Finds sessions.
    pub supervisor: supervisor::Handle,
    /// Learns which transcripts to look at.
    pub watcher: watcher::Handle,
    /// Whether the log accepts writes.
    pub outage: JournalHealth,
    /// True while the daemon is stopping.
    pub stopping: watch::Receiver<bool>,
}

/// Takes in hooks; see the module documentation.
pub struct Hooks {
    options: Options,
    succession: Succession,
    recent: RecentHooks,
    statistics: Statistics,
    spool: Arc<Spool>,
    draining: tokio::sync::Mutex<DrainState>,
    presences: ServerConnections,
    looks: BoundedFs,
    offers: Offers,
}

/// The result of taking in a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is recorded and durable.
    Recorded(CheckedHook),
    /// It had been taken in before.
    Known(CheckedHook),
    /// A sign of activity; the transcript will be looked at.
    Accepted(CheckedHook),
    /// It has no effect.
    Ignored(Ignored),
    /// It could not be recorded and should be tried again.
    Failed(String),
}

/// A checked hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedHook {
    /// The session.
    pub session: SessionId,
    /// The kind of event.
    pub kind: SignalKind,
    /// The agent's detail of the event.
    pub detail: Option<SignalDetail>,
    /// When it happened, at the latest now.
    pub at: Timestamp,
    /// Where the session works, if known.
    pub place: Option<Place>,
    /// The session's transcript as the watcher names it; the file need not exist yet.
    pub transcript: Option<PathBuf>,
    /// The subagent it is about, with its transcript, if that exists.
    pub subagent: Option<(SessionId, PathBuf)>,
}

impl Hooks {
    /// Reads the previous counts; nothing else is kept across starts. Blocks for a short read.
    pub fn open(options: Options) -> Self {
        Self {
            succession: Succession::default(),
            recent: RecentHooks::default(),
            statistics: Statistics::open(&options.home, options.clock.now()),
            spool: Arc::new(Spool::new(&options.home)),
            draining: tokio::sync::Mutex::default(),
            presences: ServerConnections::default(),
            looks: BoundedFs::default(),
            offers: Offers::default(),
            options,
        }
    }

    /// Takes in a hook.
    pub async fn handle(&self, hook: &HookParams) -> Taken {
        let taken = match self.examine(hook).await {
            Ok(checked) => self.follow(&hook.id, checked).await,
            Err(ignored) => Taken::Ignored(ignored),
        };
        if !matches!(taken, Taken::Known(_) | Taken::Failed(_)) {
            self.statistics.count_call(&hook.event, hook.at.clamp(0, self.options.clock.now().0.max(0)));
        }
        match &taken {
            Taken::Ignored(why) => {
                self.statistics.count_ignored(why.as_str());
                tracing::debug!(event = %hook.event, why = why.as_str(), "hook ignored");
            }
            Taken::Failed(reason) => tracing::warn!(event = %hook.event, %reason, "hook not recorded"),
            _ => {}
        }
        taken
    }

    /// Counts the time a hook took, as it measured itself.
    pub fn record_duration(&self, took: &HookTook) {
        self.statistics.record_duration(took);
    }

    /// Returns the latencies and counts of hooks.
    pub async fn stats(&self) -> HookStats {
        let (spooled, dropped) = self.blocking(Spool::waiting).await.unwrap_or_default();
        let counted = self.statistics.to_answer();
        let table = self.options.table.now();
        let signals = table.iter().map(|(_, row)| &row.state.signals);
        let recorded = signals.filter_map(|signals| signals.started_at.max(signals.active_at)).max();
        let last_recorded_at = recorded.map(|at| at.to_string());
        HookStats { spooled, dropped: counted.dropped + dropped, last_recorded_at, ..counted }
    }

    /// Saves the counts: after an interval since the last time, or `now`.
    pub async fn save(&self, now: bool) {
        if let Some(kept) = self.statistics.take_unsaved(now) {
            let home = self.options.home.clone();
            let _ = baton_base::task::spawn_blocking(move || statistics::save(&home, &kept)).await;
        }
    }

    /// Where a session's hooks were last called, for sessions whose transcript has not named a directory yet.
    pub fn last_place(&self, session: &SessionId) -> Option<Place> {
        self.recent.last_place(session)
    }

    async fn follow(&self, id: &str, checked: CheckedHook) -> Taken {
        if let Some(place) = &checked.place {
            self.recent.note_place(&checked.session, place);
        }
        if self.recent.contains(id) {
            return Taken::Known(checked);
        }
        let taken = match checked.kind.is_activity() {
            true => self.accept(id, checked),
            false => self.record(id, checked).await,
        };
        if matches!(taken, Taken::Recorded(_) | Taken::Known(_) | Taken::Accepted(_)) {
            self.recent.insert(id);
        }
        taken
    }

    /// Handles a sign of activity: acknowledges it first and records it, if at all, later.
    fn accept(&self, id: &str, checked: CheckedHook) -> Taken {
        let interval_ms = self.options.settings.now().policy.check_interval_ms;
        let is_due = {
            let table = self.options.table.now();
            // An unknown session will be found by its transcript.
            table.get(&checked.session).is_some_and(|row| {
                let signals = &row.state.signals;
                let is_recent = signals.active_at.is_some_and(|at| checked.at.since_ms(at) < interval_ms);
                // Record the first activity after an end, because it makes the next end a new one.
                let is_over = row.state.end.is_some_and(|end| signals.active_at.is_none_or(|at| at <= end.at));
                signals.disconnected_at.is_some() || !is_recent || is_over
            })
        };
        if is_due && self.recent.note_activity(&checked.session, checked.at, interval_ms) {
            self.signal_later(checked.session.clone(), call(id, &checked, None));
        }
        if let (SignalKind::SubagentStop, Some((subagent, _))) = (checked.kind, &checked.subagent) {
            let signal = Signal { kind: SignalKind::SessionEnd, detail: None, at: checked.at, follows: None };
            let command = CommandId::new(&format!("{id}-subagent"));
            self.signal_later(subagent.clone(), SignalCall { signal, command });
        }
        self.look(&checked);
        Taken::Accepted(checked)
    }

    /// Records a signal that no caller waits for.
    fn signal_later(&self, session: SessionId, call: SignalCall) {
        let supervisor = self.options.supervisor.clone();
        baton_base::task::spawn(async move {
            if let Err(error) = supervisor.signal(&session, None, call, RECORD).await {
                tracing::debug!(%session, %error, "activity not recorded");
            }
        });
    }

    async fn record(&self, id: &str, checked: CheckedHook) -> Taken {
        let follows = self.predecessor(&checked);
        let call = call(id, &checked, follows.clone());
        // Do not read the transcript first: the acknowledgement must not wait for it.
        let signalled = self.options.supervisor.signal(&checked.session, None, call, RECORD).await;
        let taken = match signalled {
            Ok(Signalled::Recorded) => {
                tracing::info!(session = %checked.session, signal = %checked.kind, detail = checked.detail.map(|detail| detail.as_str()), follows = follows.as_ref().map(|id| id.as_str()), "hook recorded");
                Taken::Recorded(checked.clone())
            }
            Ok(Signalled::Known) => Taken::Known(checked.clone()),
            Ok(Signalled::Refused(_)) => Taken::Ignored(Ignored::Refused),
            Ok(Signalled::Failed { reason }) => Taken::Failed(reason),
            Err(error) => Taken::Failed(error.to_string()),
        };
        if checked.kind == SignalKind::SessionEnd {
            self.recent.note_end(&checked.session);
        }
        match &taken {
            Taken::Recorded(_) | Taken::Known(_) => self.look(&checked),
            _ => self.succession.release(&checked.session),
        }
        taken
    }

    /// Returns the session that a starting session follows, or notes that a session was left for another.
    fn predecessor(&self, checked: &CheckedHook) -> Option<SessionId> {
        let after = match (checked.kind, checked.detail?) {
            (_, SignalDetail::Clear) => CloseReason::HookClear,
            (_, SignalDetail::Resume) | (SignalKind::SessionStart, SignalDetail::Fork) => CloseReason::HookResume,
            _ => return None,
        };
        let (session, place, at) = (&checked.session, checked.place.as_ref(), checked.at);
        match checked.kind {
            SignalKind::SessionEnd => {
                self.succession.note_left(&self.options.table.now(), session, after, place, at);
                None
            }
            SignalKind::SessionStart => self
                .succession
                .reserve_predecessor(&self.options.table.now(), &Start { session, after, place: place?, at }),
            _ => None,
        }
    }

    fn look(&self, checked: &CheckedHook) {
        for path in checked.transcript.iter().chain(checked.subagent.as_ref().map(|(_, path)| path)) {
            self.options.watcher.look(path.clone());
        }
    }
}

fn call(id: &str, checked: &CheckedHook, follows: Option<SessionId>) -> SignalCall {
    let signal = Signal { kind: checked.kind, detail: checked.detail, at: checked.at, follows };
    SignalCall { signal, command: CommandId::new(id) }
}
