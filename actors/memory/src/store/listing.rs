//! What the memory holds.

use std::collections::BTreeSet;

use baton_conversation::record::SessionId;

use super::{Error, Store};

impl Store {
    /// The sessions and memos that the last commit holds.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn sessions(&self) -> Result<Vec<SessionId>, Error> {
        let snapshot = self.snapshot();
        let ids: BTreeSet<&str> = snapshot.segments.iter().flat_map(|segment| &segment.ids).map(|id| &**id).collect();
        let mut held = Vec::new();
        for id in ids {
            if snapshot.head(id)?.is_some() {
                held.extend(SessionId::new(id));
            }
        }
        Ok(held)
    }
}
