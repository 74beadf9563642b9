//! The gateway: the socket that everybody else comes in by, and the lazy step before every search.
//!
//! Newline-delimited JSON-RPC 2.0. A connection that does not greet, sends too much, or does not take its answer is
//! dropped; nothing that a client sends can make the daemon stop but `stop`. Calls run in tasks of their own, so the
//! actor only opens and closes the socket.

mod account;
mod answers;
mod calls;
mod connection;
mod family;
mod glance;
mod graph;
mod guests;
pub(crate) mod handoff;
mod lazy;
pub(crate) mod listing;
mod memo;
mod narrowing;
mod page;
mod rate;
pub(crate) mod resolve;
mod socket;
mod usage;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use baton_conversation::record::Timestamp;
use interprocess::local_socket::tokio::Listener;
use interprocess::local_socket::traits::tokio::Listener as _;
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};
use tokio::sync::{Semaphore, watch};

use crate::embedding::Embedder;
use crate::enricher::Enricher;
use crate::hooks::Hooks;
use crate::indexer;
use crate::memos::Memos;
use crate::redacting::Redacting;
use crate::roots::Roots;
use crate::storage::{Measured, Scale};
use crate::supervisor;
use crate::supervisor::{Degraded, Progress};
use crate::vault::Scribe;
use crate::watcher;
use baton_base::actor_address::Slot;
use baton_base::clock::Clock;
use baton_base::condition::Trouble;
use baton_base::journal_health::Outage;
use baton_base::latest::Current;
use baton_base::limits;
use baton_base::supervised_task::TaskSupervisor;
use baton_base::throttle::Pace;
use baton_config::configuration::Configuration;
use baton_config::settings::SettingsReader;
use baton_journal::Journal;
use baton_journal::session_table::TableReader;
use baton_journal::vitals::Vitals;
use baton_store::chunks::ChunkStore;
use baton_store::forgotten::Remains;
use baton_views::conversation::Conversations;

use guests::Guests;
use socket::Listening;

pub use socket::{Endpoint, Error as SocketError};

/// How often refusals of other users are told.
const STRANGERS_TOLD: Duration = Duration::from_secs(60);

/// Everything that answering takes; shared by all connections.
#[derive(Clone)]
pub struct Services {
    /// Where everything lies.
    pub home: PathBuf,
    /// Whose transcripts are read.
    pub roots: Arc<Roots>,
    /// What is configured, and the way to change it.
    pub configuration: Arc<Configuration>,
    /// The program's version, as `hello` says it.
    pub version: String,
    /// When the daemon was started.
    pub started_at: Timestamp,
    /// The log.
    pub journal: Arc<dyn Journal>,
    /// The session table.
    pub table: TableReader,
    /// Timeouts and switches.
    pub settings: SettingsReader,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Conversations and notes.
    pub chunks: Arc<ChunkStore>,
    /// Records what is added and deleted.
    pub memos: Memos,
    /// Finds sessions.
    pub supervisor: supervisor::Handle,
    /// Finds transcripts.
    pub watcher: watcher::Handle,
    /// Searches.
    pub indexer: indexer::Handle,
    /// Makes vectors, where that is configured.
    pub embedder: Arc<Embedder>,
    /// Has a model make more of episodes, where that is configured.
    pub enricher: Arc<Enricher>,
    /// Where the configuration had this daemon listen when it was started, if not in its home.
    pub socket_path: Option<PathBuf>,
    /// What hooks say.
    pub hooks: Arc<Hooks>,
    /// How far the backlog is.
    pub progress: watch::Receiver<Progress>,
    /// What work in the background gives way to.
    pub pace: Pace,
    /// Who keeps failing and is left alone.
    pub degraded: Current<Vec<Degraded>>,
    /// Whether the log takes writes.
    pub outage: Outage,
    /// What was found wrong when the log was opened.
    pub log_problem: Option<String>,
    /// Whether `session_states.json` can be written.
    pub exporting: Arc<Trouble>,
    /// What everything takes on disk.
    pub scale: Arc<Scale>,
    /// Held while everything is verified: two at once would only be in each other's way.
    pub verifying: Arc<Semaphore>,
    /// What copies of forgotten sessions are known by.
    pub remains: Arc<Remains>,
    /// Reads conversations, and what they come to.
    pub conversations: Arc<Conversations>,
    /// What is ready to be handed over.
    pub handoffs: Arc<handoff::Handoffs>,
    /// Writes notes for people.
    pub scribe: Arc<Scribe>,
    /// Whether the daemon can go on.
    pub vitals: Arc<Vitals>,
    /// Redacts what earlier versions stored.
    pub redacting: Arc<Redacting>,
    /// Sees how long-lived work ends.
    pub tasks: TaskSupervisor,
    /// Set to `true` to stop the daemon.
    pub stop: watch::Sender<bool>,
}

impl Services {
    /// What takes room on disk.
    pub(crate) fn measured(&self) -> Measured {
        Measured {
            journal: self.journal.clone(),
            table: self.table.clone(),
            chunks: self.chunks.clone(),
            indexer: self.indexer.clone(),
        }
    }
}

/// Reaches the gateway.
#[derive(Clone, Default)]
pub struct Handle(pub(crate) Slot<Msg>);

impl Handle {
    /// Takes no more connections; calls that run are answered. When this returns the socket is gone.
    pub async fn close(&self) {
        if let Err(error) = self.0.call(Msg::Close, limits::DRAIN).await {
            tracing::warn!(%error, "socket not removed");
        }
    }
}

pub(crate) enum Msg {
    Close(RpcReplyPort<()>),
    /// Letting clients in has broken.
    Deaf,
}

pub(crate) struct GatewayActor;

/// What the actor is started with.
pub(crate) struct Arguments {
    pub(crate) services: Services,
    pub(crate) endpoint: Endpoint,
}

pub(crate) struct State {
    accepting: Accepting,
    socket: socket::Place,
}

/// Listens as long as this lives: a successor listens in the same place.
struct Accepting(tokio::task::AbortHandle);

impl Drop for Accepting {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Lets clients in, for ever.
async fn accept(listener: Listener, services: Arc<Services>) {
    let guests = Guests::default();
    let refusals = Arc::new(Semaphore::new(limits::CONNECTIONS));
    let mut strangers = Strangers::default();
    loop {
        let stream = match listener.accept().await {
            Ok(stream) => stream,
            Err(error) => {
                // Out of file descriptors, most likely: others must end first.
                tracing::warn!(%error, "connection not accepted");
                tokio::time::sleep(limits::GATHER).await;
                continue;
            }
        };
        let process = match socket::peer(&stream) {
            Ok(process) => process,
            Err(error) => {
                strangers.refused(&error);
                continue;
            }
        };
        match guests.admit(process) {
            Some(guest) => {
                let (guest, services) = (Arc::new(guest), services.clone());
                tokio::spawn(async move {
                    tokio::select! {
                        () = connection::serve(stream, &guest, &services) => {}
                        () = guest.asked_to_leave() => tracing::debug!("connection dropped for another"),
                    }
                });
            }
            None => {
                // With as many again being told so, nobody is told any more.
                let Ok(permit) = refusals.clone().try_acquire_owned() else { continue };
                tokio::spawn(async move {
                    connection::refuse(stream).await;
                    drop(permit);
                });
            }
        }
    }
}

/// Other users who try to come in: told once a minute, for the log has better use.
#[derive(Default)]
struct Strangers {
    told_at: Option<Instant>,
    untold: u64,
}

impl Strangers {
    fn refused(&mut self, error: &std::io::Error) {
        if self.told_at.is_some_and(|at| at.elapsed() < STRANGERS_TOLD) {
            self.untold += 1;
            return;
        }
        tracing::warn!(%error, others_before = self.untold, "connection of another user refused");
        (self.told_at, self.untold) = (Some(Instant::now()), 0);
    }
}

impl Actor for GatewayActor {
    type Msg = Msg;
    type State = State;
    type Arguments = Arguments;

    async fn pre_start(&self, myself: ActorRef<Msg>, arguments: Arguments) -> Result<State, ActorProcessingErr> {
        let Arguments { services, endpoint } = arguments;
        let Listening { listener, place } = socket::listen(&endpoint, &services.home).await?;
        let accepting = tokio::spawn(accept(listener, Arc::new(services)));
        let state = State { accepting: Accepting(accepting.abort_handle()), socket: place };
        tokio::spawn(async move {
            // It ends when it is told to, or because it broke.
            if accepting.await.is_err_and(|error| error.is_panic()) {
                let _ = myself.send_message(Msg::Deaf);
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
            Msg::Deaf => return Err("nobody listens any more".into()),
        }
        Ok(())
    }
}
