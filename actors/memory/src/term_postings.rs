//! Where the postings of a token are: a query looks each token up once, in each segment.

use tantivy::postings::{BlockSegmentPostings, SegmentPostings, TermInfo};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{SegmentReader, Term};

use super::Error;
use super::snapshot::Snapshot;

/// The postings of a token in a field, in all segments of one snapshot.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TermPostings {
    /// By segment; `None` if it does not have the token.
    infos: Vec<Option<(Field, TermInfo)>>,
}

impl TermPostings {
    pub(super) fn find(snapshot: &Snapshot, field: Field, token: &str) -> Result<Self, Error> {
        let term = Term::from_field_text(field, token);
        let info = |reader: &SegmentReader| {
            let info = reader.inverted_index(field)?.get_term_info(&term)?;
            Ok(info.map(|info| (field, info)))
        };
        Ok(Self { infos: snapshot.searcher.segment_readers().iter().map(info).collect::<Result<_, Error>>()? })
    }

    /// Number of documents with the token, including deleted ones.
    pub(super) fn frequency(&self) -> u64 {
        self.infos.iter().flatten().map(|(_, info)| u64::from(info.doc_freq)).sum()
    }

    /// The postings in a segment, as far as it has some.
    pub(super) fn of_segment(
        &self,
        snapshot: &Snapshot,
        segment: u32,
        option: IndexRecordOption,
    ) -> Result<Option<SegmentPostings>, Error> {
        let Some((field, info)) = self.infos.get(segment as usize).and_then(Option::as_ref) else { return Ok(None) };
        let index = snapshot.searcher.segment_reader(segment).inverted_index(*field)?;
        Ok(Some(index.read_postings_from_terminfo(info, option)?))
    }

    /// The same with frequencies, block by block.
    pub(super) fn blocks(&self, snapshot: &Snapshot, segment: u32) -> Result<Option<BlockSegmentPostings>, Error> {
        let Some((field, info)) = self.infos.get(segment as usize).and_then(Option::as_ref) else { return Ok(None) };
        let index = snapshot.searcher.segment_reader(segment).inverted_index(*field)?;
        Ok(Some(index.read_block_postings_from_terminfo(info, IndexRecordOption::WithFreqs)?))
    }
}
