//! What the memory holds.

use std::collections::BTreeSet;

use baton_conversation::record::SessionId;

use super::{Error, Store};

impl Store {
    /// Those of the sessions and memos that the last commit holds for which `is_wanted` is true. Only these are looked
    /// up.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn sessions(&self, is_wanted: impl Fn(&SessionId) -> bool) -> Result<Vec<SessionId>, Error> {
        let snapshot = self.snapshot();
        let ids = snapshot.segments.iter().flat_map(|segment| &segment.ids).filter_map(|id| SessionId::new(id));
        let ids: BTreeSet<SessionId> = ids.filter(is_wanted).collect();
        let mut held = Vec::new();
        for id in ids {
            if snapshot.head(id.as_str())?.is_some() {
                held.push(id);
            }
        }
        Ok(held)
    }
}
