//! Wakes the supervisor: timers, the end of questions, and a log that accepts writes again.

use std::sync::Arc;

use baton_conversation::record::Timestamp;
use ractor::ActorRef;
use tokio::sync::watch;

use super::backlog::Work;
use super::failures::BudgetKey;
use super::{Msg, State};
use baton_base::clock::Clock;
use baton_base::journal_health::JournalHealth;
use baton_base::limits;
use baton_config::settings::SettingsReader;
use baton_journal::session_table::TableReader;

/// A session is not woken again within this time.
const WAKE_PAUSE_MS: i64 = 10_000;

impl State {
    pub(super) async fn tick(&mut self, myself: &ActorRef<Msg>) {
        if self.draining {
            return;
        }
        let due = self.budget.take_due(self.now());
        let mut again = Vec::new();
        for name in due {
            match name {
                BudgetKey::Singleton(child) => self.start(myself, child).await,
                BudgetKey::Session(id) => again.push(Work::Wake(id)),
            }
        }
        let (settings, now) = (self.options.sessions.settings.now(), self.now());
        let table = self.options.table.newest();
        let (due, next) = self.due.look(&table, &settings, now);
        self.woken.retain(|_, at| now.since_ms(*at) < WAKE_PAUSE_MS);
        let mut work = again;
        for (id, at) in due {
            if self.woken.get(&id).is_none_or(|woken| at > *woken) {
                self.woken.insert(id.clone(), now);
                work.push(Work::Wake(id));
            }
        }
        let again = self.woken.values().min().map(|woken| woken.plus_ms(WAKE_PAUSE_MS));
        self.take_in(work);
        self.wheel.send_replace(next.into_iter().chain(again).chain(self.budget.next_due(now)).min());
        self.publish_degraded(now);
    }

    /// Takes up what is owed under the new settings. Timers follow with the tick.
    pub(super) async fn reconfigured(&mut self, myself: &ActorRef<Msg>) {
        let work = self.owed();
        if !self.draining {
            self.woken.clear();
            self.take_in(work);
        }
        self.tick(myself).await;
    }
}

/// One timer for all sessions: ticks when the table or the settings change and when the next session is due.
pub(super) async fn run_timer(
    supervisor: ActorRef<Msg>,
    clock: Arc<dyn Clock>,
    mut table: TableReader,
    mut settings: SettingsReader,
    mut next: watch::Receiver<Option<Timestamp>>,
) {
    loop {
        if supervisor.send_message(Msg::Tick).is_err() {
            return;
        }
        tokio::time::sleep(limits::TIMER_MIN).await;
        loop {
            let at = *next.borrow_and_update();
            let time = async {
                match at {
                    Some(at) => clock.sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                changed = table.changed() => if changed.is_err() { return } else { break },
                changed = settings.changed() => {
                    if changed.is_err() || supervisor.send_message(Msg::Reconfigured).is_err() {
                        return;
                    }
                    break;
                }
                () = time => break,
                // The next due time has changed.
                changed = next.changed() => if changed.is_err() { return },
            }
        }
    }
}

/// Wakes the backlog after a pause for questions: when the last one ends, and periodically while there are more.
pub(super) async fn resume_backlog(supervisor: ActorRef<Msg>, mut asked: watch::Receiver<usize>) {
    while asked.changed().await.is_ok() {
        loop {
            let many = *asked.borrow_and_update();
            if supervisor.send_message(Msg::GoOn).is_err() {
                return;
            }
            if many == 0 {
                break;
            }
            tokio::time::sleep(limits::BACKLOG_PAUSE).await;
        }
    }
}

/// Probes the log while it accepts no writes, and reports when it does again. Waits before it reports: a nearly full
/// disk accepts one write and refuses the next.
pub(super) async fn watch_outage(supervisor: ActorRef<Msg>, outage: JournalHealth) {
    let mut changes = outage.changes();
    while changes.changed().await.is_ok() {
        while outage.lasts() {
            let probe = tokio::select! {
                changed = changes.changed() => if changed.is_err() { return } else { false },
                () = tokio::time::sleep(limits::OUTAGE_PROBE) => true,
            };
            if probe && supervisor.send_message(Msg::TryLog).is_err() {
                return;
            }
        }
        tokio::time::sleep(limits::OUTAGE_SETTLE).await;
        if supervisor.send_message(Msg::LogTakes).is_err() {
            return;
        }
    }
}
