//! Reads stored texts to check requirements, at most [`READ_BYTES`] per query.
//!
//! # Hazards
//!
//! - A rare phrase of stop words reads up to this limit; the answer then says that something was left unread.

use tantivy::{DocAddress, TantivyDocument};

use super::Error;
use super::analyzer::Analyzer;
use super::limits::READ_BYTES;
use super::required_terms::TurnFilter;
use super::schema::text;
use super::snapshot::Snapshot;

/// Cost of a text in addition to its bytes, since it lies in a block with others.
const EACH_BYTES: usize = 1024;

/// Words whose stems are cached while texts are checked.
const CACHE_WORDS: usize = 2048;

/// The reading budget of one query.
pub(super) struct Texts {
    analyzer: Analyzer,
    left: usize,
    /// True if something was left unread that may meet the requirements.
    pub(super) is_cut: bool,
}

impl Default for Texts {
    fn default() -> Self {
        Self::within(READ_BYTES)
    }
}

impl Texts {
    pub(super) fn within(bytes: usize) -> Self {
        Self { analyzer: Analyzer::with_cache(CACHE_WORDS), left: bytes, is_cut: false }
    }

    /// Checks a turn's text. `None` if the budget is spent.
    pub(super) fn admits(
        &mut self,
        filter: &TurnFilter,
        snapshot: &Snapshot,
        address: DocAddress,
    ) -> Result<Option<bool>, Error> {
        let Some(document) = self.read(snapshot, address)? else { return Ok(None) };
        Ok(Some(filter.admits_text(&[text(&document, snapshot.fields.text)], &mut self.analyzer)))
    }

    /// Checks a session found by its title and episode alone. `None` if the budget is spent.
    pub(super) fn admits_episode(
        &mut self,
        filter: &TurnFilter,
        snapshot: &Snapshot,
        address: DocAddress,
    ) -> Result<Option<bool>, Error> {
        if !filter.admits_episode(snapshot, address)? {
            return Ok(Some(false));
        }
        if !filter.needs_text() {
            return Ok(Some(true));
        }
        let Some(document) = self.read(snapshot, address)? else { return Ok(None) };
        let texts = [snapshot.fields.title, snapshot.fields.text].map(|field| text(&document, field));
        Ok(Some(filter.admits_text(&texts, &mut self.analyzer)))
    }

    fn read(&mut self, snapshot: &Snapshot, address: DocAddress) -> Result<Option<TantivyDocument>, Error> {
        if self.left == 0 {
            self.is_cut = true;
            return Ok(None);
        }
        let document: TantivyDocument = snapshot.searcher.doc(address)?;
        let bytes = text(&document, snapshot.fields.text).len();
        self.left = self.left.saturating_sub(bytes + EACH_BYTES);
        Ok(Some(document))
    }
}
