//! Builds a second memory from the same log and conversations, to compare it with the one in use.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use baton_conversation::record::Position;
use tokio::sync::oneshot;

use super::fresh::FreshConversations;
use super::left_out::LeftOut;
use super::projector::{self, Port, Projector};
use super::{Handle, Options};
use baton_memory::Searcher;

/// Interval at which a waiting caller's `go_on` is called.
const LOOK: Duration = Duration::from_millis(50);

/// A memory in a folder of its own, which the caller owns.
pub struct Rebuilt(Port);

impl Rebuilt {
    /// Starts building one in `folder`, which must be empty or missing.
    pub fn begin(options: &Options, indexer: &Handle, folder: &Path) -> Result<Self, String> {
        let options = Options { memory: folder.to_owned(), vectors: None, ..options.clone() };
        // Without a purge, nothing needs to be collected for this memory.
        let (fresh, left_out) = (Arc::new(FreshConversations::default()), Arc::new(LeftOut::default()));
        let port = Projector::start(options, fresh, Arc::default(), left_out, indexer.restorer(), |_| {}, || {});
        port.map(Self).map_err(|error| error.to_string())
    }

    /// Waits until it covers the log up to a position and returns a searcher pinned there. `go_on` is called with the
    /// progress; returns `None` if it returns false. Blocks.
    pub fn searcher_at(
        &self,
        position: Position,
        go_on: &mut dyn FnMut(Position) -> bool,
    ) -> Result<Option<Searcher>, String> {
        let (reply, mut covered) = oneshot::channel();
        self.0.ensure(position, projector::Want::Whole, reply);
        loop {
            match covered.try_recv() {
                Ok(_) => {
                    let searcher = self.0.searcher().ok_or("it could not be opened")?;
                    return Ok(Some(searcher.pinned()));
                }
                Err(oneshot::error::TryRecvError::Closed) => return Err("building it panicked".to_owned()),
                Err(oneshot::error::TryRecvError::Empty) => {}
            }
            if let (_, Some(problem)) = self.0.state() {
                return Err(problem);
            }
            if !go_on(self.0.reached()) {
                return Ok(None);
            }
            std::thread::sleep(LOOK);
            // The table may have been published meanwhile.
            self.0.nudge();
        }
    }
}

impl Drop for Rebuilt {
    fn drop(&mut self) {
        projector::close_now(&self.0);
    }
}
