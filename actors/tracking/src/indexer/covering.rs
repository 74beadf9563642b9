//! Waits until the memory has followed the log.

use std::time::Duration;

use baton_conversation::record::{Position, SessionId};
use tokio::sync::oneshot;

use super::{Covered, Handle, Want};
use baton_base::actor_address::CallError;

/// Incarnations of the memory that one caller waits for: a conversation that breaks two is left out of the third.
pub(super) const MEMORIES: usize = 3;

impl Handle {
    /// Waits until searches cover the log up to `at_least`, and returns the position covered. If the memory breaks
    /// meanwhile, waits for its successor within the same time.
    pub async fn caught_up(&self, at_least: Position, within: Duration) -> Result<Position, CallError> {
        self.covers(at_least, Want::Whole, within).await
    }

    /// Like [`Self::caught_up`], optionally ignoring large conversations that are put off.
    pub async fn covers(&self, at_least: Position, want: Want, within: Duration) -> Result<Position, CallError> {
        let mut incarnations = self.port.subscribe();
        let covering = async {
            let mut broken = 0;
            while broken < MEMORIES {
                let port = incarnations.borrow_and_update().clone();
                if let Some(port) = port {
                    let (reply, covered) = oneshot::channel();
                    port.ensure(at_least, want, reply);
                    if let Ok(position) = covered.await {
                        return Ok(position);
                    }
                    broken += 1;
                }
                incarnations.changed().await.map_err(|_| CallError::Gone)?;
            }
            Err(CallError::Gone)
        };
        tokio::time::timeout(within, covering).await.unwrap_or(Err(CallError::TimedOut))
    }

    /// Sessions whose wanted new content the memory has put off.
    pub fn put_off(&self, want: Want) -> Vec<SessionId> {
        self.large.owed(want == Want::Whole)
    }

    /// How far searches cover the log, with and without large conversations.
    pub fn covered(&self) -> Covered {
        self.port().map_or_else(|_| Covered::default(), |port| port.covered())
    }
}
