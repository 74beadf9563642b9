//! Takes in agents' hooks: from the socket, or from the spool where they are left while no daemon answers.
//!
//! A hook is a hint. It names a session, which need not be known yet, and an event of it. Starts, ends and compactions
//! are recorded before they are acknowledged; a sign of activity only triggers a look at the transcript, and is
//! recorded at most once per check interval. A hook of anything that is not read here is ignored and counted.

mod closes;
mod drain;
mod intake;
pub mod lineage;
mod offers;
mod presence;
mod recent;
mod spool;
mod statistics;
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
use baton_base::journal_health::Outage;
use baton_config::settings::SettingsReader;
use baton_journal::session_table::TableReader;

use drain::DrainState;
pub use drain::watch;
pub use intake::Ignored;
use lineage::{Lineage, Start};
use offers::Offers;
pub use presence::Present;
use presence::ServerConnections;
use recent::RecentHooks;
use spool::Spool;
use statistics::Statistics;

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
    pub outage: Outage,
    /// True while the daemon is stopping.
    pub stopping: watch::Receiver<bool>,
}

/// Takes in hooks; see the module documentation.
pub struct Hooks {
    options: Options,
    lineage: Lineage,
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
    Recorded(Told),
    /// It had been taken in before.
    Known(Told),
    /// A sign of activity; the transcript will be looked at.
    Accepted(Told),
    /// It has no effect.
    Ignored(Ignored),
    /// It could not be recorded and should be tried again.
    Failed(String),
}

/// A checked hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
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
            lineage: Lineage::default(),
            recent: RecentHooks::default(),
            statistics: Statistics::open(&options.home, options.clock.now()),
            spool: Arc::new(Spool::of(&options.home)),
            draining: tokio::sync::Mutex::default(),
            presences: ServerConnections::default(),
            looks: BoundedFs::default(),
            offers: Offers::default(),
            options,
        }
    }

    /// Takes in a hook.
    pub async fn take(&self, hook: &HookParams) -> Taken {
        let taken = match self.examine(hook).await {
            Ok(told) => self.follow(&hook.id, told).await,
            Err(ignored) => Taken::Ignored(ignored),
        };
        if !matches!(taken, Taken::Known(_) | Taken::Failed(_)) {
            self.statistics.called(&hook.event, hook.at.clamp(0, self.options.clock.now().0.max(0)));
        }
        match &taken {
            Taken::Ignored(why) => {
                self.statistics.ignored(why.as_str());
                tracing::debug!(event = %hook.event, why = why.as_str(), "hook ignored");
            }
            Taken::Failed(reason) => tracing::warn!(event = %hook.event, %reason, "hook not recorded"),
            _ => {}
        }
        taken
    }

    /// Counts the time a hook took, as it measured itself.
    pub fn took(&self, took: &HookTook) {
        self.statistics.took(took);
    }

    /// Returns the latencies and counts of hooks.
    pub async fn shown(&self) -> HookStats {
        let (spooled, dropped) = self.blocking(Spool::waiting).await.unwrap_or_default();
        let counted = self.statistics.shown();
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
            let _ = tokio::task::spawn_blocking(move || statistics::save(&home, &kept)).await;
        }
    }

    /// Where a session's hooks were last called, for sessions whose transcript has not named a directory yet.
    pub fn place(&self, session: &SessionId) -> Option<Place> {
        self.recent.place(session)
    }

    async fn follow(&self, id: &str, told: Told) -> Taken {
        if let Some(place) = &told.place {
            self.recent.works_in(&told.session, place);
        }
        if self.recent.contains(id) {
            return Taken::Known(told);
        }
        let taken = match told.kind.is_activity() {
            true => self.accept(id, told),
            false => self.record(id, told).await,
        };
        if matches!(taken, Taken::Recorded(_) | Taken::Known(_) | Taken::Accepted(_)) {
            self.recent.insert(id);
        }
        taken
    }

    /// Handles a sign of activity: acknowledges it first and records it, if at all, later.
    fn accept(&self, id: &str, told: Told) -> Taken {
        let interval_ms = self.options.settings.now().policy.check_interval_ms;
        let is_due = {
            let table = self.options.table.now();
            // An unknown session will be found by its transcript.
            table.get(&told.session).is_some_and(|row| {
                let signals = &row.state.signals;
                let is_recent = signals.active_at.is_some_and(|at| told.at.since_ms(at) < interval_ms);
                // Record the first activity after an end, because it makes the next end a new one.
                let is_over = row.state.end.is_some_and(|end| signals.active_at.is_none_or(|at| at <= end.at));
                signals.disconnected_at.is_some() || !is_recent || is_over
            })
        };
        if is_due && self.recent.activity(&told.session, told.at, interval_ms) {
            self.signal_later(told.session.clone(), call(id, &told, None));
        }
        if let (SignalKind::SubagentStop, Some((subagent, _))) = (told.kind, &told.subagent) {
            let signal = Signal { kind: SignalKind::SessionEnd, detail: None, at: told.at, follows: None };
            let command = CommandId::new(&format!("{id}-subagent"));
            self.signal_later(subagent.clone(), SignalCall { signal, command });
        }
        self.look(&told);
        Taken::Accepted(told)
    }

    /// Records a signal that no caller waits for.
    fn signal_later(&self, session: SessionId, call: SignalCall) {
        let supervisor = self.options.supervisor.clone();
        tokio::spawn(async move {
            if let Err(error) = supervisor.signal(&session, None, call, RECORD).await {
                tracing::debug!(%session, %error, "activity not recorded");
            }
        });
    }

    async fn record(&self, id: &str, told: Told) -> Taken {
        let follows = self.lineage(&told);
        let call = call(id, &told, follows.clone());
        // Do not read the transcript first: the acknowledgement must not wait for it.
        let signalled = self.options.supervisor.signal(&told.session, None, call, RECORD).await;
        let taken = match signalled {
            Ok(Signalled::Recorded) => {
                tracing::info!(session = %told.session, signal = %told.kind, detail = told.detail.map(|detail| detail.as_str()), follows = follows.as_ref().map(|id| id.as_str()), "hook recorded");
                Taken::Recorded(told.clone())
            }
            Ok(Signalled::Known) => Taken::Known(told.clone()),
            Ok(Signalled::Refused(_)) => Taken::Ignored(Ignored::Refused),
            Ok(Signalled::Failed { reason }) => Taken::Failed(reason),
            Err(error) => Taken::Failed(error.to_string()),
        };
        if told.kind == SignalKind::SessionEnd {
            self.recent.ended(&told.session);
        }
        match &taken {
            Taken::Recorded(_) | Taken::Known(_) => self.look(&told),
            _ => self.lineage.unfollow(&told.session),
        }
        taken
    }

    /// Returns the session that a starting session follows, or notes that a session was left for another.
    fn lineage(&self, told: &Told) -> Option<SessionId> {
        let table = || self.options.table.now();
        match (told.kind, told.detail) {
            (SignalKind::SessionEnd, Some(SignalDetail::Clear)) => {
                self.lineage.left(&table(), &told.session, CloseReason::HookClear, told.place.as_ref(), told.at);
                None
            }
            (SignalKind::SessionEnd, Some(SignalDetail::Resume)) => {
                self.lineage.left(&table(), &told.session, CloseReason::HookResume, told.place.as_ref(), told.at);
                None
            }
            (SignalKind::SessionStart, Some(detail)) => {
                let after = match detail {
                    SignalDetail::Clear => CloseReason::HookClear,
                    SignalDetail::Resume | SignalDetail::Fork => CloseReason::HookResume,
                    _ => return None,
                };
                let start = Start { session: &told.session, after, place: told.place.as_ref()?, at: told.at };
                self.lineage.follows(&table(), &start)
            }
            _ => None,
        }
    }

    fn look(&self, told: &Told) {
        for path in told.transcript.iter().chain(told.subagent.as_ref().map(|(_, path)| path)) {
            self.options.watcher.look(path.clone());
        }
    }
}

fn call(id: &str, told: &Told, follows: Option<SessionId>) -> SignalCall {
    let signal = Signal { kind: told.kind, detail: told.detail, at: told.at, follows };
    SignalCall { signal, command: CommandId::new(id) }
}
