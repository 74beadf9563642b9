//! Requests from calls for the address of the browser pages. Another crate runs the task that serves them.

use std::sync::Arc;
use std::time::Duration;

use baton_protocol::{Caller, Failure, PageParams, answer, code};
use tokio::sync::{Mutex, OwnedMutexGuard, mpsc, oneshot};

use crate::client::failure;

/// Most pending requests.
const WAITING: usize = 8;
/// Longest wait for an address.
const ANSWERED: Duration = Duration::from_secs(5);

/// A request for an address.
pub struct PageRequest {
    /// The caller.
    pub caller: Caller,
    /// Takes the address, or the reason why there is none.
    pub reply: oneshot::Sender<Result<answer::Page, String>>,
}

/// Both ends of the requests. Cheap to clone.
#[derive(Clone)]
pub struct PageRequests {
    ask: mpsc::Sender<PageRequest>,
    asked: Arc<Mutex<mpsc::Receiver<PageRequest>>>,
}

impl Default for PageRequests {
    fn default() -> Self {
        let (ask, asked) = mpsc::channel(WAITING);
        Self { ask, asked: Arc::new(Mutex::new(asked)) }
    }
}

impl PageRequests {
    /// An address that opens the pages once.
    ///
    /// # Errors
    ///
    /// If the pages cannot be served.
    pub(crate) async fn open(&self, asked: PageParams) -> Result<answer::Page, Failure> {
        let (reply, answered) = oneshot::channel();
        let unavailable = |why: &str| failure(code::INTERNAL, format!("the pages cannot be served: {why}; try again"));
        self.ask
            .try_send(PageRequest { caller: asked.caller, reply })
            .map_err(|_| unavailable("too many requests wait"))?;
        match tokio::time::timeout(ANSWERED, answered).await {
            Ok(Ok(answer)) => answer.map_err(|why| unavailable(&why)),
            Ok(Err(_)) | Err(_) => Err(unavailable("the task that serves them does not answer")),
        }
    }

    /// The requests, for the one task that answers them. A task that replaces it waits until it has ended.
    pub async fn take(&self) -> OwnedMutexGuard<mpsc::Receiver<PageRequest>> {
        self.asked.clone().lock_owned().await
    }
}
