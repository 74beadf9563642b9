//! Related sessions: a fork begins as a copy of another session's records, so sessions that share
//! records are related.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use baton_conversation::hash::Mark;
use baton_conversation::item::{Body, Item, Link, Meta};
use baton_conversation::record::SessionId;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, TERMINATED, Term};

use super::limits::{MAX_RELATED, RELATED_SAMPLE};
use super::schema::{link_text, record_bucket};
use super::snapshot::{Segment, Snapshot};
use super::{Error, MAX_LINKS, Searcher};

/// A session that shares records with another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelatedSession {
    /// The related session.
    pub session: SessionId,
    /// Number of distinct shared records with indexed text.
    pub shared: u64,
}

/// The sessions that a conversation names, without duplicates; the first [`MAX_LINKS`].
pub fn links(items: &[Item]) -> Vec<(Link, SessionId)> {
    let mut links = Vec::new();
    for item in items {
        if let Body::Meta(Meta::Link { link, session }) = &item.body
            && let Some(session) = SessionId::new(session)
            && links.len() < MAX_LINKS
            && !links.contains(&(*link, session.clone()))
        {
            links.push((*link, session));
        }
    }
    links
}

impl Searcher {
    /// The sessions whose transcripts name this one, with its relation to them; sorted by id, at most 64
    /// of each relation. Only indexed sessions are known.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn sessions_naming(&self, session: &SessionId) -> Result<Vec<(Link, SessionId)>, Error> {
        let snapshot = self.snapshot();
        let mut naming = Vec::new();
        for link in Link::ALL.iter().copied() {
            let term = Term::from_field_text(snapshot.fields.link, &link_text(link, session));
            let found = snapshot.sessions_with(&term, |_, _| true)?;
            naming.extend(found.into_iter().filter_map(SessionId::new).take(MAX_RELATED).map(|id| (link, id)));
        }
        Ok(naming)
    }

    /// The other sessions that hold records of `session`, most shared first, then by id; at most
    /// 64. Counts are exact.
    ///
    /// Candidates are found by a sample of the session's records: the first, the last, and some between. A fork holds
    /// the first records of its origin, so it is found whatever its length. Only indexed sessions are known, including
    /// hidden ones. Takes milliseconds, however many sessions there are.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn related_sessions(&self, session: &SessionId) -> Result<Vec<RelatedSession>, Error> {
        let snapshot = self.snapshot();
        let own = snapshot.records(session.as_str())?;
        let mut met: BTreeMap<Box<str>, u64> = BTreeMap::new();
        for key in sample(&own) {
            for holder in snapshot.holders(key)? {
                if holder != session.as_str() {
                    *met.entry(holder.into()).or_default() += 1;
                }
            }
        }
        let mut met: Vec<(Box<str>, u64)> = met.into_iter().collect();
        met.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        met.truncate(MAX_RELATED);
        let own: BTreeSet<u64> = own.into_iter().collect();
        let mut related = Vec::with_capacity(met.len());
        for (id, _) in met {
            let theirs: BTreeSet<u64> = snapshot.records(&id)?.into_iter().collect();
            let shared = theirs.intersection(&own).count() as u64;
            let session = SessionId::new(&id).ok_or_else(|| Error::Broken("a session has no usable id".to_owned()))?;
            related.push(RelatedSession { session, shared });
        }
        related.sort_by(|a, b| Reverse(a.shared).cmp(&Reverse(b.shared)).then_with(|| a.session.cmp(&b.session)));
        Ok(related)
    }
}

/// At most [`RELATED_SAMPLE`] of the keys: a quarter from the start, a quarter from the end, the rest spread evenly
/// between.
fn sample(keys: &[u64]) -> Vec<u64> {
    if keys.len() <= RELATED_SAMPLE {
        return keys.to_vec();
    }
    let edge = RELATED_SAMPLE / 4;
    let between = keys.len() - 2 * edge;
    let spread = (0..RELATED_SAMPLE - 2 * edge).map(|at| edge + at * between / (RELATED_SAMPLE - 2 * edge));
    let places = (0..edge).chain(spread).chain(keys.len() - edge..keys.len());
    places.filter_map(|at| keys.get(at).copied()).collect()
}

impl Searcher {
    /// Fingerprints of a session's records in order, see [`record_mark`](baton_conversation::record_identity::record_mark). Only
    /// indexed records are known.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn record_marks(&self, session: &SessionId) -> Result<Vec<u64>, Error> {
        self.snapshot().records(session.as_str())
    }

    /// The sessions that hold this record, sorted by id. Only indexed sessions are known.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn holders_of_record(&self, record: Mark) -> Result<Vec<SessionId>, Error> {
        let snapshot = self.snapshot();
        Ok(snapshot.holders(record.0)?.into_iter().filter_map(SessionId::new).collect())
    }
}

impl Snapshot {
    /// Keys of a session's records in order; a record cut into several units counts once.
    fn records(&self, session: &str) -> Result<Vec<u64>, Error> {
        let term = Term::from_field_text(self.fields.session, session);
        let mut records = Vec::new();
        for (reader, segment) in self.searcher.segment_readers().iter().zip(&self.segments) {
            let Some(column) = &segment.record else { continue };
            let index = reader.inverted_index(self.fields.session)?;
            let Some(mut postings) = index.read_postings(&term, IndexRecordOption::Basic)? else { continue };
            while postings.doc() != TERMINATED {
                let doc = postings.doc();
                if let (false, Some(key)) = (reader.is_deleted(doc), column.first(doc)) {
                    records.push((segment.ordinal.first(doc), key));
                }
                postings.advance();
            }
        }
        records.sort_unstable();
        records.dedup_by_key(|(_, key)| *key);
        Ok(records.into_iter().map(|(_, key)| key).collect())
    }

    /// The sessions that hold a record, without duplicates, sorted by id.
    pub(super) fn holders(&self, key: u64) -> Result<BTreeSet<&str>, Error> {
        let bucket = Term::from_field_u64(self.fields.record_bucket, record_bucket(key));
        self.sessions_with(&bucket, |segment, doc| {
            segment.record.as_ref().and_then(|column| column.first(doc)) == Some(key)
        })
    }

    /// The sessions of the documents that contain a term and are `wanted`, without duplicates, sorted by id.
    fn sessions_with(&self, term: &Term, wanted: impl Fn(&Segment, DocId) -> bool) -> Result<BTreeSet<&str>, Error> {
        let mut sessions = BTreeSet::new();
        for (reader, segment) in self.searcher.segment_readers().iter().zip(&self.segments) {
            let index = reader.inverted_index(term.field())?;
            let Some(mut postings) = index.read_postings(term, IndexRecordOption::Basic)? else { continue };
            while postings.doc() != TERMINATED {
                let doc = postings.doc();
                if !reader.is_deleted(doc) && wanted(segment, doc) {
                    sessions.extend(segment.id_of(doc));
                }
                postings.advance();
            }
        }
        Ok(sessions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_both_ends_and_is_spread() {
        for count in [0, 1, 255, 256, 257, 1_000, 100_000] {
            let keys: Vec<u64> = (0..count).collect();
            let sample = sample(&keys);
            assert_eq!(sample.len(), keys.len().min(RELATED_SAMPLE), "{count}");
            assert_eq!((sample.first(), sample.last()), (keys.first(), keys.last()), "{count}");
            assert!(sample.is_sorted_by(|a, b| a < b), "{count}: each once");
            let widest = sample.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
            assert!(widest <= count / 128 + 1, "{count}: a gap of {widest}");
        }
    }
}
