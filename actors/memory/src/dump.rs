//! Dumps the whole index, so that two of them can be compared.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};
use tantivy::columnar::Column;
use tantivy::postings::Postings;
use tantivy::schema::{Field, IndexRecordOption, OwnedValue, Value};
use tantivy::{DocAddress, DocSet, TERMINATED, TantivyDocument};

use super::snapshot::{GraphColumns, Snapshot};
use super::{Error, Searcher, analyzer};

impl Searcher {
    /// One line for each live document: its kind, its stored fields, and a digest of its indexed terms. Two memories
    /// with the same contents give the same lines, whatever their history. Sorted by session, a session's own document
    /// first. Reads the whole index.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn dump(&self) -> Result<Vec<String>, Error> {
        let snapshot = self.snapshot();
        let mut lines = Vec::new();
        for number in 0..snapshot.segments.len() {
            segment_lines(&snapshot, number, &mut |key, line| lines.push((key, line)))?;
        }
        lines.sort_unstable();
        Ok(lines.into_iter().map(|(_, line)| line).collect())
    }

    /// Digests of the lines of [`Searcher::dump`] for each session: their number and a sum of their hashes. Two
    /// memories with the same contents have the same digests. Needs little memory.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn session_digests(&self) -> Result<BTreeMap<String, SessionDigest>, Error> {
        let snapshot = self.snapshot();
        let mut session_digests: BTreeMap<String, SessionDigest> = BTreeMap::new();
        for number in 0..snapshot.segments.len() {
            segment_lines(&snapshot, number, &mut |(session, ..), line| {
                let entry = session_digests.entry(session).or_default();
                let digest = Sha256::digest(line.as_bytes());
                let word = digest.iter().take(16).fold(0, |word: u128, byte| word << 8 | u128::from(*byte));
                *entry = SessionDigest { documents: entry.documents + 1, sum: entry.sum.wrapping_add(word) };
            })?;
        }
        Ok(session_digests)
    }
}

/// Digest of the documents of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionDigest {
    /// Number of documents.
    pub documents: u64,
    sum: u128,
}

/// Sort key: session, rank and name of the document's kind, ordinal.
type Key = (String, (u8, &'static str), u64);

fn segment_lines(snapshot: &Snapshot, number: usize, take: &mut dyn FnMut(Key, String)) -> Result<(), Error> {
    let schema = snapshot.searcher.schema();
    let (reader, segment) = (&snapshot.searcher.segment_readers()[number], &snapshot.segments[number]);
    let digests = digests(snapshot, number)?;
    for doc in reader.doc_ids_alive() {
        let address = DocAddress::new(number as u32, doc);
        let stored: TantivyDocument = snapshot.searcher.doc(address)?;
        let mut fields: BTreeMap<&str, String> = BTreeMap::new();
        for (field, value) in stored.field_values() {
            fields.insert(schema.get_field_name(field), format!("{:?}", OwnedValue::from(value.as_value())));
        }
        let session = segment.id_of(doc).unwrap_or_default().to_owned();
        let is_turn = stored.get_first(snapshot.fields.role).is_some();
        let ordinal = segment.ordinal.first(doc).unwrap_or(0);
        let (length, at) = (segment.length_of(doc), snapshot.time_at(address));
        let record = segment.record.as_ref().and_then(|column| column.first(doc));
        let head = snapshot.head_at(address);
        let titles = segment.titles.describe(doc);
        let digest = digests.get(&doc).copied().unwrap_or(0);
        let graph = segment.graph.as_ref().and_then(|columns| columns.describe(doc));
        let tried = stored.get_first(snapshot.fields.outcomes).is_some();
        let kind = match (is_turn, &graph) {
            _ if tried => (4, "outcomes"),
            (true, _) => (1, "turn"),
            (false, None) => (0, "session"),
            (false, Some(shown)) => shown.0,
        };
        let graph = graph.map(|(_, shown)| shown).unwrap_or_default();
        let line = format!(
            "{session:?} kind={} {head:?} length={length:?} at={at:?} record={record:?} titles={titles}{graph} terms={digest:016x} {fields:?}",
            kind.1
        );
        take((session, kind, ordinal), line);
    }
    Ok(())
}

impl GraphColumns {
    /// Kind of the document and its columns as text; `None` if it is neither mention nor assertion.
    fn describe(&self, doc: u32) -> Option<((u8, &'static str), String)> {
        let subject = self.subject.first(doc)?;
        let number = |column: &Option<Column<u64>>| column.as_ref().and_then(|column| column.first(doc));
        let moment = |column: &Option<Column<i64>>| column.as_ref().and_then(|column| column.first(doc));
        let kind = if number(&self.source).is_some() { (3, "assertion") } else { (2, "mention") };
        let numbers = [&self.label, &self.source, &self.target, &self.count, &self.relation].map(number);
        let moments = [&self.since, &self.seen, &self.created, &self.last].map(moment);
        let all = |column: &Option<Column<u64>>| -> Vec<u64> {
            column.iter().flat_map(|column| column.values_for_doc(doc)).collect()
        };
        let claims = [&self.rests, &self.settles].map(all);
        Some((kind, format!(" subject={subject:016x} {numbers:?} {moments:?} {claims:x?}")))
    }
}

/// For each document the sum of the hashes of its terms with their frequencies, over all indexed fields.
fn digests(snapshot: &Snapshot, number: usize) -> Result<BTreeMap<u32, u64>, Error> {
    let reader = &snapshot.searcher.segment_readers()[number];
    let mut digests: BTreeMap<u32, u64> = BTreeMap::new();
    let indexed: Vec<Field> =
        snapshot.searcher.schema().fields().filter(|(_, entry)| entry.is_indexed()).map(|(field, _)| field).collect();
    for field in indexed {
        let index = reader.inverted_index(field)?;
        let mut terms = index.terms().stream()?;
        while terms.advance() {
            let mut key = field.field_id().to_le_bytes().to_vec();
            key.extend_from_slice(terms.key());
            let mut postings = index.read_postings_from_terminfo(terms.value(), IndexRecordOption::WithFreqs)?;
            while postings.doc() != TERMINATED {
                let mut entry = key.clone();
                entry.extend_from_slice(&postings.term_freq().to_le_bytes());
                let digest = digests.entry(postings.doc()).or_default();
                *digest = digest.wrapping_add(analyzer::hash(&entry));
                postings.advance();
            }
        }
    }
    Ok(digests)
}
