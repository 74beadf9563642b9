//! Texts of the memory without a vector, and the keys of all live texts.

use std::collections::HashSet;
use std::sync::Arc;

use tantivy::{DocAddress, TantivyDocument};

use super::places::content;
use super::{Key, Table, key, passage};
use crate::schema::text;
use crate::snapshot::Snapshot;
use crate::{Error, Searcher};

/// A text that needs a vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Key of the text.
    pub key: Key,
    /// The text as stored: filtered and redacted.
    pub text: String,
}

/// Texts without a vector in one committed state of the memory, newest last.
pub struct Missing {
    snapshot: Arc<Snapshot>,
    left: Vec<(Key, DocAddress)>,
    /// Number of distinct texts that have one.
    pub done: usize,
}

impl Searcher {
    /// Lists the texts without a vector in `table`. Skips sessions for which `leave_out` is true and the texts in
    /// `unusable`. Reads no text.
    pub fn missing(&self, table: &Table, leave_out: &dyn Fn(&str) -> bool, unusable: &HashSet<Key>) -> Missing {
        let snapshot = self.snapshot();
        let rows = table.rows();
        let (mut seen, mut found, mut done) = (HashSet::new(), Vec::new(), 0);
        for (number, (reader, segment)) in (0..).zip(snapshot.searcher.segment_readers().iter().zip(&snapshot.segments))
        {
            let mut left_out = vec![None; segment.ids.len()];
            for doc in reader.doc_ids_alive() {
                let Some(key) = content(segment, doc) else { continue };
                let Some(session) = segment.session.first(doc).map(|session| session as usize) else { continue };
                let (Some(id), Some(known)) = (segment.ids.get(session), left_out.get_mut(session)) else { continue };
                if *known.get_or_insert_with(|| leave_out(id)) || !seen.insert(key) {
                    continue;
                }
                if rows.place(key).is_some() {
                    done += 1;
                } else if !unusable.contains(&key) {
                    let at = segment.at.as_ref().and_then(|at| at.first(doc)).unwrap_or(i64::MIN);
                    found.push((at, key, DocAddress::new(number, doc)));
                }
            }
        }
        drop(rows);
        found.sort_unstable();
        let left = found.into_iter().map(|(_, key, address)| (key, address)).collect();
        Missing { snapshot, left, done }
    }

    /// Keys of all texts in the memory.
    pub fn live_texts(&self) -> HashSet<Key> {
        let snapshot = self.snapshot();
        let mut live = HashSet::new();
        for (reader, segment) in snapshot.searcher.segment_readers().iter().zip(&snapshot.segments) {
            live.extend(reader.doc_ids_alive().filter_map(|doc| content(segment, doc)));
        }
        live
    }
}

impl Missing {
    /// Number of texts left.
    pub fn count(&self) -> usize {
        self.left.len()
    }

    /// True if it lists the newest committed state.
    pub fn is_newest(&self, searcher: &Searcher) -> bool {
        Arc::ptr_eq(&self.snapshot, &searcher.snapshot())
    }

    /// Removes and returns the newest texts: at most `most`, of at most `bytes` bytes in total, but at least one if any
    /// is left.
    ///
    /// # Errors
    ///
    /// When the memory cannot be read.
    pub fn next_batch(&mut self, most: usize, bytes: usize) -> Result<Vec<Passage>, Error> {
        let mut taken: Vec<Passage> = Vec::new();
        let mut size = 0;
        while taken.len() < most
            && let Some((wanted, address)) = self.left.pop()
        {
            let document: TantivyDocument = self.snapshot.searcher.doc(address)?;
            let stored = text(&document, self.snapshot.fields.text);
            let Some(text) = passage(stored).filter(|text| key(text) == wanted) else { continue };
            if !taken.is_empty() && size + text.len() > bytes {
                self.left.push((wanted, address));
                break;
            }
            size += text.len();
            taken.push(Passage { key: wanted, text: text.to_owned() });
        }
        Ok(taken)
    }
}
