//! The actors that exist once: indexer, watcher, gateway. They are started callees first and restarted one by one.

use std::pin::Pin;
use std::sync::Arc;

use ractor::{ActorCell, ActorId, SpawnErr};

use baton_base::supervised_task::TaskSupervisor;

use crate::indexer;
use crate::watcher;

/// Starts the gateway.
pub(crate) type StartGateway = Arc<dyn Fn(ActorCell) -> Started + Send + Sync>;

/// A pending start.
pub(crate) type Started = Pin<Box<dyn Future<Output = Result<ActorId, SpawnErr>> + Send>>;

/// The options and handle of each.
pub struct Children {
    /// The indexer.
    pub indexer: (indexer::Handle, indexer::Options),
    /// The watcher.
    pub watcher: (watcher::Handle, watcher::Options),
    /// Starts the gateway linked to this supervisor. A closure, because the gateway's services are built on the
    /// supervisor.
    pub gateway: StartGateway,
}

/// An actor that exists once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Singleton {
    Indexer,
    Watcher,
    Gateway,
}

impl Singleton {
    pub(super) const ALL: [Self; 3] = [Self::Indexer, Self::Watcher, Self::Gateway];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Indexer => "indexer",
            Self::Watcher => "watcher",
            Self::Gateway => "gateway",
        }
    }
}

impl Children {
    /// Starts one, linked to its supervisor, and makes its handle point to it.
    pub(super) async fn start(
        &self,
        child: Singleton,
        tasks: &TaskSupervisor,
        supervisor: ActorCell,
    ) -> Result<ActorId, SpawnErr> {
        match child {
            Singleton::Indexer => self.indexer.0.start(self.indexer.1.clone(), tasks.clone(), supervisor).await,
            Singleton::Watcher => self.watcher.0.start(self.watcher.1.clone(), supervisor).await,
            Singleton::Gateway => (self.gateway)(supervisor).await,
        }
    }
}
