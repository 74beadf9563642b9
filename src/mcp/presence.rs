//! That an agent is there: a connection to the daemon that is open for as long as this process serves it. When it closes, be
//! it that the agent was killed, the daemon learns that the session may be over.

use std::sync::Arc;
use std::time::Duration;

use baton_events::protocol::Caller;
use tokio::sync::Notify;

use super::link::Daemon;

/// Pause after the first connection that was not to be had, and the longest one.
const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(30);

/// Is there until it is dropped. A daemon that is restarted is told again; none is started for it. `nudge` tells that there
/// is one now.
pub(super) async fn hold(daemon: Arc<Daemon>, caller: Caller, nudge: Arc<Notify>) {
    let mut pause = FIRST;
    loop {
        if daemon.attend(&caller).await {
            pause = FIRST;
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => pause = longer(pause),
            () = nudge.notified() => pause = FIRST,
        }
    }
}

fn longer(pause: Duration) -> Duration {
    (pause * 2).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_bound() {
        let pauses: Vec<u128> = std::iter::successors(Some(FIRST), |pause| Some(longer(*pause)))
            .take(11)
            .map(|pause| pause.as_millis())
            .collect();
        assert_eq!(pauses, [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]);
    }
}
