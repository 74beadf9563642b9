//! The actors there is one of: indexer, watcher, gateway. Started in the order of who calls whom, restarted one by one.

use std::pin::Pin;
use std::sync::Arc;

use ractor::{ActorCell, ActorId, SpawnErr};

use crate::indexer;
use crate::watcher;

/// Starts the gateway.
pub(crate) type StartGateway = Arc<dyn Fn(ActorCell) -> Started + Send + Sync>;

/// An actor that is being started.
pub(crate) type Started = Pin<Box<dyn Future<Output = Result<ActorId, SpawnErr>> + Send>>;

/// What each is started with, and where its callers find it.
pub struct Children {
    /// The indexer.
    pub indexer: (indexer::Handle, indexer::Options),
    /// The watcher.
    pub watcher: (watcher::Handle, watcher::Options),
    /// Starts the gateway, linked to this supervisor: what it answers with is built on the supervisor.
    pub gateway: StartGateway,
}

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Child {
    Indexer,
    Watcher,
    Gateway,
}

impl Child {
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
    /// Starts one, linked to its supervisor, and puts it where its callers look.
    pub(super) async fn start(&self, child: Child, supervisor: ActorCell) -> Result<ActorId, SpawnErr> {
        match child {
            Child::Indexer => self.indexer.0.start(self.indexer.1.clone(), supervisor).await,
            Child::Watcher => self.watcher.0.start(self.watcher.1.clone(), supervisor).await,
            Child::Gateway => (self.gateway)(supervisor).await,
        }
    }
}
