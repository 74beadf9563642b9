//! The gateway: the socket through which all clients connect.
//!
//! The protocol is newline-delimited JSON-RPC 2.0. A connection that does not greet, sends too much, or does not read
//! its answers is dropped; of all that a client can send, only `stop` ends the daemon. Calls run in tasks of their own,
//! so the actor only opens and closes the socket.

mod connection;
mod connection_slots;
mod socket;

use std::sync::Arc;
use std::time::{Duration, Instant};

use interprocess::local_socket::tokio::Listener;
use interprocess::local_socket::traits::tokio::Listener as _;
use ractor::{Actor, ActorCell, ActorId, ActorProcessingErr, ActorRef, RpcReplyPort, SpawnErr};
use tokio::sync::Semaphore;

use baton_base::actor_address::ActorAddress;
use baton_base::limits;
use baton_home::endpoint::Endpoint;

use baton_queries::DaemonParts;

use connection_slots::ConnectionSlots;
use socket::BoundSocket;

pub use socket::{Error as SocketError, check_socket_folder};

/// How often refusals of other users are logged.
const FOREIGN_PEERS_LOGGED: Duration = Duration::from_secs(60);

/// Reaches the gateway.
#[derive(Clone, Default)]
pub struct Handle(ActorAddress<Msg>);

impl Handle {
    /// Starts a gateway linked to its supervisor, listening at `endpoint`.
    pub(crate) async fn start(
        &self,
        parts: Arc<DaemonParts>,
        endpoint: Endpoint,
        supervisor: ActorCell,
    ) -> Result<ActorId, SpawnErr> {
        let (actor, _) = Actor::spawn_linked(None, GatewayActor, Arguments { parts, endpoint }, supervisor).await?;
        self.0.put(actor.clone());
        Ok(actor.get_id())
    }

    /// The current incarnation.
    #[cfg(test)]
    pub(crate) fn actor(&self) -> Option<ActorCell> {
        self.0.get().map(|actor| actor.get_cell())
    }

    /// Accepts no more connections; running calls are still answered. The socket is gone when this returns.
    pub async fn close(&self) {
        if let Err(error) = self.0.call(Msg::Close, limits::DRAIN).await {
            tracing::warn!(%error, "socket not removed");
        }
    }
}

enum Msg {
    Close(RpcReplyPort<()>),
    /// The accepting task has panicked.
    AcceptFailed,
}

struct GatewayActor;

struct Arguments {
    parts: Arc<DaemonParts>,
    endpoint: Endpoint,
}

struct State {
    accepting: AcceptTask,
    socket: socket::SocketFile,
}

/// Stops accepting when dropped, so that a successor can listen at the same path.
struct AcceptTask(tokio::task::AbortHandle);

impl Drop for AcceptTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Accepts connections for ever.
async fn accept(listener: Listener, parts: Arc<DaemonParts>) {
    let slots = ConnectionSlots::default();
    let refusals = Arc::new(Semaphore::new(limits::CONNECTIONS));
    let mut foreign_peers = ForeignPeers::default();
    loop {
        let stream = match listener.accept().await {
            Ok(stream) => stream,
            Err(error) => {
                // Probably out of file descriptors: wait until others have ended.
                tracing::warn!(%error, "connection not accepted");
                tokio::time::sleep(limits::GATHER).await;
                continue;
            }
        };
        let process = match socket::peer(&stream) {
            Ok(process) => process,
            Err(error) => {
                foreign_peers.refused(&error);
                continue;
            }
        };
        match slots.allocate(process) {
            Some(slot) => {
                let (slot, parts) = (Arc::new(slot), parts.clone());
                baton_base::task::spawn(async move {
                    tokio::select! {
                        () = connection::serve(stream, &slot, &parts) => {}
                        () = slot.revoked() => tracing::debug!("connection dropped for another"),
                    }
                });
            }
            None => {
                // Beyond that many refusals in progress, connections are dropped without an answer.
                let Ok(permit) = refusals.clone().try_acquire_owned() else { continue };
                baton_base::task::spawn(async move {
                    connection::refuse(stream).await;
                    drop(permit);
                });
            }
        }
    }
}

/// Connections of other users, logged once a minute to spare the log.
#[derive(Default)]
struct ForeignPeers {
    logged_at: Option<Instant>,
    suppressed: u64,
}

impl ForeignPeers {
    fn refused(&mut self, error: &std::io::Error) {
        if self.logged_at.is_some_and(|at| at.elapsed() < FOREIGN_PEERS_LOGGED) {
            self.suppressed += 1;
            return;
        }
        tracing::warn!(%error, others_before = self.suppressed, "connection of another user refused");
        (self.logged_at, self.suppressed) = (Some(Instant::now()), 0);
    }
}

impl Actor for GatewayActor {
    type Msg = Msg;
    type State = State;
    type Arguments = Arguments;

    async fn pre_start(&self, myself: ActorRef<Msg>, arguments: Arguments) -> Result<State, ActorProcessingErr> {
        let Arguments { parts, endpoint } = arguments;
        let BoundSocket { listener, file } = socket::listen(&endpoint, &parts.info.home).await?;
        let accepting = baton_base::task::spawn(accept(listener, parts));
        let state = State { accepting: AcceptTask(accepting.abort_handle()), socket: file };
        baton_base::task::spawn(async move {
            // The task ends because it was aborted or has panicked.
            if accepting.await.is_err_and(|error| error.is_panic()) {
                let _ = myself.send_message(Msg::AcceptFailed);
            }
        });
        Ok(state)
    }

    async fn handle(&self, _myself: ActorRef<Msg>, message: Msg, state: &mut State) -> Result<(), ActorProcessingErr> {
        match message {
            Msg::Close(reply) => {
                state.accepting.0.abort();
                state.socket.remove();
                let _ = reply.send(());
            }
            Msg::AcceptFailed => return Err("the accepting task has panicked".into()),
        }
        Ok(())
    }
}
