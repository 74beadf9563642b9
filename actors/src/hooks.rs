//! What hooks of agents say, taken in: from the socket, or from what they left in the spool while nobody answered.
//!
//! A hook is a hint. It names a session, which need not be known yet, and something that happened to it. Starts, ends and
//! compactions are recorded before they are acknowledged; that somebody is at work only has the transcript looked at, and
//! is recorded at most once per check interval. Whatever is not of a transcript that is read here is ignored and counted.

mod closes;
mod drain;
mod intake;
pub(crate) mod lineage;
mod offers;
mod presence;
mod recent;
mod spool;
mod statistics;
mod whereabouts;

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

use drain::Drained;
pub(crate) use drain::watch;
pub use intake::Ignored;
use lineage::{Lineage, Start};
use offers::Offers;
use presence::Presences;
pub use presence::Present;
use recent::Recent;
use spool::Spool;
use statistics::Statistics;

/// How long a signal may take to become durable before its hook is told that it is not.
const RECORD: Duration = Duration::from_secs(10);

/// What taking hooks in needs.
pub struct Options {
    /// The home: what works in there is Baton's own.
    pub home: PathBuf,
    /// Whose transcripts are read.
    pub roots: Arc<Roots>,
    /// Switches.
    pub settings: SettingsReader,
    /// What is known of sessions.
    pub table: TableReader,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Finds sessions.
    pub supervisor: supervisor::Handle,
    /// Is told which transcripts to look at.
    pub watcher: watcher::Handle,
    /// Whether the log takes writes.
    pub outage: Outage,
    /// Whether the daemon is stopping.
    pub stopping: watch::Receiver<bool>,
}

/// See the module.
pub struct Hooks {
    options: Options,
    lineage: Lineage,
    recent: Recent,
    statistics: Statistics,
    spool: Arc<Spool>,
    draining: tokio::sync::Mutex<Drained>,
    presences: Presences,
    looks: BoundedFs,
    offers: Offers,
}

/// What became of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is durable.
    Recorded(Told),
    /// It was taken before.
    Known(Told),
    /// Somebody is at work; the transcript is looked at.
    Accepted(Told),
    /// Nothing comes of it.
    Ignored(Ignored),
    /// It could not be recorded: it is worth another try.
    Failed(String),
}

/// What a hook has said, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The session.
    pub session: SessionId,
    /// What happened.
    pub kind: SignalKind,
    /// What the agent said beside it.
    pub detail: Option<SignalDetail>,
    /// When, never later than now.
    pub at: Timestamp,
    /// Where the session works, if that is known.
    pub place: Option<Place>,
    /// Its transcript, as the watcher names it; the file may not be there yet.
    pub transcript: Option<PathBuf>,
    /// The subagent that it is about, and its transcript, if that is there.
    pub subagent: Option<(SessionId, PathBuf)>,
}

impl Hooks {
    /// Nothing has been said yet; what was counted before is read. Blocks for a short read.
    pub fn open(options: Options) -> Self {
        Self {
            lineage: Lineage::default(),
            recent: Recent::default(),
            statistics: Statistics::open(&options.home, options.clock.now()),
            spool: Arc::new(Spool::of(&options.home)),
            draining: tokio::sync::Mutex::default(),
            presences: Presences::default(),
            looks: BoundedFs::default(),
            offers: Offers::default(),
            options,
        }
    }

    /// Takes in what a hook says.
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

    /// How long a hook took, as it says itself.
    pub fn took(&self, took: &HookTook) {
        self.statistics.took(took);
    }

    /// How fast hooks are answered, and what became of them.
    pub async fn shown(&self) -> HookStats {
        let (spooled, dropped) = self.blocking(Spool::waiting).await.unwrap_or_default();
        let counted = self.statistics.shown();
        let table = self.options.table.now();
        let signals = table.iter().map(|(_, row)| &row.state.signals);
        let recorded = signals.filter_map(|signals| signals.started_at.max(signals.active_at)).max();
        let last_recorded_at = recorded.map(|at| at.to_string());
        HookStats { spooled, dropped: counted.dropped + dropped, last_recorded_at, ..counted }
    }

    /// Keeps what was counted: if some time has passed since it was last kept, or `now`.
    pub async fn save(&self, now: bool) {
        if let Some(kept) = self.statistics.to_keep(now) {
            let home = self.options.home.clone();
            let _ = tokio::task::spawn_blocking(move || statistics::keep(&home, &kept)).await;
        }
    }

    /// Where hooks of a session were called, for one whose transcript has not said it yet.
    pub fn place(&self, session: &SessionId) -> Option<Place> {
        self.recent.place(session)
    }

    async fn follow(&self, id: &str, told: Told) -> Taken {
        if let Some(place) = &told.place {
            self.recent.works_in(&told.session, place);
        }
        if self.recent.has(id) {
            return Taken::Known(told);
        }
        let taken = match told.kind.is_activity() {
            true => self.accept(id, told),
            false => self.record(id, told).await,
        };
        if matches!(taken, Taken::Recorded(_) | Taken::Known(_) | Taken::Accepted(_)) {
            self.recent.put(id);
        }
        taken
    }

    /// Somebody is at work: that is acknowledged before it is recorded, if it is recorded at all.
    fn accept(&self, id: &str, told: Told) -> Taken {
        let interval_ms = self.options.settings.now().policy.check_interval_ms;
        let is_due = {
            let table = self.options.table.now();
            // Of one that nothing is known of the transcript will tell.
            table.get(&told.session).is_some_and(|row| {
                let signals = &row.state.signals;
                let is_recent = signals.active_at.is_some_and(|at| told.at.since_ms(at) < interval_ms);
                // The first sign of work after an end tells whether the next end is another one.
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

    /// Records what nobody waits for.
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
        // The transcript is not read first: the acknowledgement must not wait for it.
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

    /// Which session this one takes the place of, if it begins; or that it has left its place to another.
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
