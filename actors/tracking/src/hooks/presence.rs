//! Tracks the connected MCP servers: each holds a connection for as long as its agent lives, so its end is noticed even
//! if the agent is killed.
//!
//! # Hazards
//!
//! - A server that goes while the daemon is down is not noticed; the timeout catches its session.
//!
//! # Decisions
//!
//! - A server whose calls name their sessions holds a connection for each of the last 16; one whose environment names
//!   its session, one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use baton_conversation::record::{CommandId, SessionId};
use baton_events::session::{Signal, SignalKind};
use baton_protocol::Caller;
use uuid::Uuid;

use super::{Hooks, RECORD, succession};
use crate::session::SignalCall;

/// The connected servers by connection number.
#[derive(Default)]
pub(super) struct ServerConnections(Mutex<BTreeMap<u64, Caller>>);

/// One connection of an MCP server, until it is dropped.
pub struct Present {
    hooks: Arc<Hooks>,
    number: u64,
}

impl ServerConnections {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Caller>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Hooks {
    /// Records a new connection. The server serves whichever session follows the one in which it was started.
    pub fn arrive(self: &Arc<Self>, caller: Caller) -> Present {
        let number = {
            let mut there = self.presences.lock();
            let number = there.last_key_value().map_or(1, |(last, _)| last + 1);
            there.insert(number, caller.clone());
            number
        };
        // A server that reconnects within the grace period had not gone.
        if let Some(session) = self.served(&caller)
            && self.options.table.now().get(&session).is_some_and(|row| row.state.signals.disconnected_at.is_some())
        {
            self.notice(session, SignalKind::Other);
        }
        Present { hooks: self.clone(), number }
    }

    /// Number of connected servers.
    pub fn connected_servers(&self) -> u64 {
        self.presences.lock().len() as u64
    }

    /// Returns the session that a caller works in now, from its environment and from what hooks reported since.
    fn served(&self, caller: &Caller) -> Option<SessionId> {
        let session = SessionId::new(caller.agent_session.as_deref()?)?;
        Some(succession::current_successor(&self.options.table.now(), session, caller.since))
    }

    fn leave(&self, number: u64) {
        let Some((session, others)) = ({
            let mut there = self.presences.lock();
            there.remove(&number).map(|caller| (self.served(&caller), there.values().cloned().collect::<Vec<_>>()))
        }) else {
            return;
        };
        let Some(session) = session else { return };
        // Servers disconnect when the daemon stops, which says nothing about the agent.
        if *self.options.stopping.borrow() || others.iter().any(|other| self.served(other).as_ref() == Some(&session)) {
            return;
        }
        let settings = self.options.settings.now();
        let row = self.options.table.now().get(&session).cloned();
        if row.is_some_and(|row| settings.hooks.enabled && settings.may_read(&row.state)) {
            self.notice(session, SignalKind::McpDisconnect);
        }
    }

    /// Records a signal that no caller waits for. A disconnect is not recorded for a session that has ended, unless its
    /// transcript, which is read first, shows that it went on.
    fn notice(&self, session: SessionId, kind: SignalKind) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let signal = Signal { kind, detail: None, at: self.options.clock.now(), follows: None };
        let call = SignalCall { signal, command: CommandId::new(&format!("presence-{}", Uuid::new_v4())) };
        let (supervisor, table) = (self.options.supervisor.clone(), self.options.table.clone());
        let has_ended = move |session: &SessionId| table.now().get(session).is_some_and(|row| row.state.end.is_some());
        runtime.spawn(async move {
            if kind == SignalKind::McpDisconnect && has_ended(&session) {
                if let Ok(handle) = supervisor.resolve(session.clone()).await {
                    handle.wake();
                    let _ = handle.wait_until_handled(RECORD).await;
                }
                if has_ended(&session) {
                    return;
                }
            }
            match supervisor.signal(&session, None, call, RECORD).await {
                Ok(answer) => tracing::info!(%session, signal = %kind, ?answer, "presence has changed"),
                Err(error) => tracing::warn!(%session, signal = %kind, %error, "change of presence not recorded"),
            }
        });
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        self.hooks.leave(self.number);
    }
}
