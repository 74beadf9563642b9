//! What wakes the supervisor: time, questions that are over, a log that takes writes again.

use std::sync::Arc;

use baton_conversation::record::Timestamp;
use ractor::ActorRef;
use tokio::sync::watch;

use super::Msg;
use baton_base::clock::Clock;
use baton_base::journal_health::Outage;
use baton_base::limits;
use baton_config::settings::SettingsReader;
use baton_journal::session_table::TableReader;

/// One timer for all sessions: looks at the table when it has changed, and when the next session's time has come.
pub(super) async fn turn_wheel(
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
                // Another moment to wait for.
                changed = next.changed() => if changed.is_err() { return },
            }
        }
    }
}

/// Wakes the backlog when it has paused for questions: after the last one, and now and then while there are more.
pub(super) async fn turn_to_backlog(supervisor: ActorRef<Msg>, mut asked: watch::Receiver<usize>) {
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

/// Has the log tried while it takes no writes, and says when it does again: not at once, for a disk that is nearly full takes
/// one write and refuses the next.
pub(super) async fn watch_outage(supervisor: ActorRef<Msg>, outage: Outage) {
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
