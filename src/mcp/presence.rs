//! Reports an agent's presence: a connection to the daemon that stays open for as long as this process serves the
//! agent. When it closes, even because the agent was killed, the daemon learns that the session may be over.
//!
//! Most agents name the session of a server in its environment. Some name it only in each call, and may serve several
//! sessions with one server: then there is one connection per session named by a call.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use baton_protocol::Caller;
use tokio::sync::Notify;
use tokio::task::{AbortHandle, JoinSet};

use super::link::Daemon;

/// First and longest pause between tries to connect.
const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(30);
/// Most sessions reported at once; beyond that the least recently called one is dropped and ends by timeout.
const MOST: usize = 16;

/// Reports agents to the daemon until dropped.
pub(super) struct Presence {
    daemon: Arc<Daemon>,
    /// The caller named by the environment.
    caller: Caller,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    tasks: JoinSet<()>,
    /// Ordered by last call, oldest first.
    connections: Vec<Connection>,
}

struct Connection {
    session: Option<String>,
    /// Notified when a daemon was reached, possibly a new one.
    nudge: Arc<Notify>,
    task: AbortHandle,
}

impl Presence {
    pub(super) fn new(daemon: Arc<Daemon>, caller: Caller) -> Self {
        Self { daemon, caller, held: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports the agent from the environment. Needs a runtime.
    pub(super) fn begin(&self) {
        self.hold(&mut self.lock(), self.caller.clone());
    }

    /// Notes a call in a session, which the environment may not have named.
    pub(super) fn called(&self, session: &str) {
        let held = &mut *self.lock();
        let is_it = |connection: &Connection| connection.session.as_deref() == Some(session);
        if let Some(at) = held.connections.iter().position(is_it) {
            held.connections[at..].rotate_left(1);
            return;
        }
        // A connection without a session carries no information: replace it.
        let nameless = held.connections.iter().position(|connection| connection.session.is_none());
        let over = nameless.or((held.connections.len() >= MOST).then_some(0));
        if let Some(over) = over {
            held.connections.remove(over).task.abort();
        }
        self.hold(held, Caller { agent_session: Some(session.to_owned()), since: None, ..self.caller.clone() });
    }

    /// Tells all connections that a daemon was reached.
    pub(super) fn reached(&self) {
        self.lock().connections.iter().for_each(|connection| connection.nudge.notify_one());
    }

    fn hold(&self, held: &mut Held, caller: Caller) {
        let (session, nudge) = (caller.agent_session.clone(), Arc::<Notify>::default());
        let task = held.tasks.spawn(hold(self.daemon.clone(), caller, nudge.clone()));
        held.connections.push(Connection { session, nudge, task });
    }
}

/// Keeps the presence of one session reported until dropped. Reports it again to a restarted daemon, but starts none.
/// `nudge` signals that a daemon runs.
async fn hold(daemon: Arc<Daemon>, caller: Caller, nudge: Arc<Notify>) {
    let mut pause = FIRST;
    loop {
        if daemon.hold_presence(&caller).await {
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
    use std::path::PathBuf;

    use super::*;
    use crate::environment::Environment;

    #[test]
    fn pauses_grow_to_a_bound() {
        let pauses: Vec<u128> = std::iter::successors(Some(FIRST), |pause| Some(longer(*pause)))
            .take(11)
            .map(|pause| pause.as_millis())
            .collect();
        assert_eq!(pauses, [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]);
    }

    #[tokio::test]
    async fn the_sessions_of_the_last_calls_are_told_of() {
        let home = tempfile::tempdir().unwrap();
        let environment = Environment::isolated(home.path().to_owned(), PathBuf::from("/nowhere"));
        let presence = |session: Option<&str>| {
            let caller = Caller { agent_session: session.map(str::to_owned), ..Caller::default() };
            let presence = Presence::new(Arc::new(Daemon::new(environment.clone())), caller);
            presence.begin();
            presence
        };
        let sessions = |presence: &Presence| -> Vec<Option<String>> {
            presence.lock().connections.iter().map(|connection| connection.session.clone()).collect()
        };
        let named =
            |names: &[&str]| -> Vec<Option<String>> { names.iter().map(|name| Some((*name).to_owned())).collect() };
        let unnamed = presence(None);
        assert_eq!(sessions(&unnamed), [None]);
        for session in ["a", "b", "a"] {
            unnamed.called(session);
        }
        assert_eq!(sessions(&unnamed), named(&["b", "a"]));
        (0..MOST - 1).for_each(|number| unnamed.called(&format!("s-{number}")));
        let last = sessions(&unnamed);
        assert_eq!((last.len(), last[0].as_deref()), (MOST, Some("a")), "b was called longest ago");
        let environments = presence(Some("e"));
        environments.called("e");
        environments.called("a");
        assert_eq!(sessions(&environments), named(&["e", "a"]));
    }
}
