//! Near pairs: two words of the query within eight words of each other, in any order, somewhere in the session.
//!
//! They are counted when asked, from the positions of the sessions' words: an index of all pairs would be eight times
//! as big as that of the words. In how many sessions a pair occurs is counted over the first
//! `limits::NEAR_WORK / pairs` session documents and scaled up to all; in a memory of fewer sessions it is exact.

use std::collections::BTreeMap;

use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::Postings;
use tantivy::query::Bm25Weight;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocAddress, DocSet, Score, TERMINATED, Term};

use super::Error;
use super::limits::NEAR_WORK;
use super::packed::NEAR_WORDS;
use super::snapshot::Snapshot;
use super::whole::by_segment;

/// The positions of one word in the documents of one segment.
#[derive(Default)]
struct Occurrences {
    /// Document, and where its positions begin in `positions`; they end where the next one's begin.
    documents: Vec<(u32, u32)>,
    positions: Vec<u32>,
}

/// BM25 of `pairs` over the sessions' documents, each pair counted once in each session.
pub(super) fn scores(
    snapshot: &Snapshot,
    pairs: &[(String, String)],
    sessions: &[DocAddress],
) -> Result<Vec<Score>, Error> {
    let mut scores = vec![0.0; sessions.len()];
    if pairs.is_empty() {
        return Ok(scores);
    }
    let wanted = by_segment(sessions);
    let mut left = (NEAR_WORK / pairs.len()).max(256) as u64;
    let mut looked_at = 0;
    let mut frequencies = vec![0_u64; pairs.len()];
    let mut found: Vec<Vec<usize>> = vec![Vec::new(); pairs.len()];
    let mut lengths = 0_u64;
    for number in 0..snapshot.segments.len() {
        let documents = wanted.get(&(number as u32)).map_or(&[][..], Vec::as_slice);
        let (until, counted) = horizon(snapshot, number, left)?;
        left -= counted;
        looked_at += counted;
        if counted == 0 && documents.is_empty() {
            continue;
        }
        lengths += length_of(snapshot, number, until)?;
        let words = occurrences(snapshot, number, pairs, until, documents)?;
        for (at, (one, other)) in pairs.iter().enumerate() {
            let (Some(one), Some(other)) = (words.get(one.as_str()), words.get(other.as_str())) else { continue };
            one.near(other, |doc| {
                frequencies[at] += u64::from(doc < until);
                if let Ok(place) = documents.binary_search_by_key(&doc, |(doc, _)| *doc) {
                    found[at].push(documents[place].1);
                }
            });
        }
    }
    let average = lengths as Score / looked_at.max(1) as Score;
    let norms: Vec<u8> = sessions.iter().map(|address| norm(snapshot, *address)).collect();
    for (frequency, found) in frequencies.into_iter().zip(found) {
        let scaled = (frequency as f64 * snapshot.sessions as f64 / looked_at.max(1) as f64).round() as u64;
        let frequency = scaled.max(found.len() as u64);
        let weight =
            Bm25Weight::for_one_term_without_explain(frequency, snapshot.sessions.max(frequency), average.max(1.0));
        for at in found {
            scores[at] += weight.score(norms[at], 1);
        }
    }
    Ok(scores)
}

/// How many pairs a session has, in the classes that BM25 knows lengths by.
fn norm(snapshot: &Snapshot, address: DocAddress) -> u8 {
    let segment = snapshot.segments.get(address.segment_ord as usize);
    let pairs = segment.and_then(|segment| segment.pairs.as_ref()).and_then(|pairs| pairs.first(address.doc_id));
    FieldNormReader::fieldnorm_to_id(u32::try_from(pairs.unwrap_or(0)).unwrap_or(u32::MAX))
}

/// Up to which document of a segment its sessions' documents are looked at, and how many these are, at most `left`.
fn horizon(snapshot: &Snapshot, number: usize, left: u64) -> Result<(u32, u64), Error> {
    let index = snapshot.searcher.segment_readers()[number].inverted_index(snapshot.fields.kind)?;
    let term = Term::from_field_u64(snapshot.fields.kind, 1);
    let Some(mut postings) = index.read_postings(&term, IndexRecordOption::Basic)? else { return Ok((0, 0)) };
    let all = u64::from(postings.doc_freq());
    if all <= left {
        return Ok((TERMINATED, all));
    }
    for _ in 0..left {
        postings.advance();
    }
    Ok((postings.doc(), left))
}

/// Sum of the pair counts of a segment's sessions before `until`.
fn length_of(snapshot: &Snapshot, number: usize, until: u32) -> Result<u64, Error> {
    let Some(pairs) = &snapshot.segments[number].pairs else { return Ok(0) };
    let index = snapshot.searcher.segment_readers()[number].inverted_index(snapshot.fields.kind)?;
    let term = Term::from_field_u64(snapshot.fields.kind, 1);
    let Some(mut postings) = index.read_postings(&term, IndexRecordOption::Basic)? else { return Ok(0) };
    let mut sum = 0;
    while postings.doc() < until {
        sum += pairs.first(postings.doc()).unwrap_or(0);
        postings.advance();
    }
    Ok(sum)
}

/// Where the words of all pairs occur in a segment: before `until`, and in `documents`.
fn occurrences<'a>(
    snapshot: &Snapshot,
    number: usize,
    pairs: &'a [(String, String)],
    until: u32,
    documents: &[(u32, usize)],
) -> Result<BTreeMap<&'a str, Occurrences>, Error> {
    let index = snapshot.searcher.segment_readers()[number].inverted_index(snapshot.fields.words)?;
    let mut words = BTreeMap::new();
    for word in pairs.iter().flat_map(|(one, other)| [one.as_str(), other.as_str()]) {
        if words.contains_key(word) {
            continue;
        }
        let term = Term::from_field_text(snapshot.fields.words, word);
        let mut occurrences = Occurrences::default();
        if let Some(mut postings) = index.read_postings(&term, IndexRecordOption::WithFreqsAndPositions)? {
            while postings.doc() < until {
                occurrences.push(&mut postings);
                postings.advance();
            }
            for (doc, _) in documents.iter().filter(|(doc, _)| *doc >= until) {
                if postings.doc() < *doc {
                    postings.seek(*doc);
                }
                if postings.doc() == *doc {
                    occurrences.push(&mut postings);
                }
            }
        }
        words.insert(word, occurrences);
    }
    Ok(words)
}

impl Occurrences {
    fn push(&mut self, postings: &mut impl Postings) {
        self.documents.push((postings.doc(), self.positions.len() as u32));
        postings.append_positions_with_offset(0, &mut self.positions);
    }

    fn positions(&self, place: usize) -> &[u32] {
        let from = self.documents[place].1 as usize;
        let to = self.documents.get(place + 1).map_or(self.positions.len(), |(_, next)| *next as usize);
        &self.positions[from..to]
    }

    /// Calls `each` with every document in which both words are near each other, in order.
    fn near(&self, other: &Self, mut each: impl FnMut(u32)) {
        let (mut a, mut b) = (0, 0);
        while let (Some((one, _)), Some((two, _))) = (self.documents.get(a), other.documents.get(b)) {
            if one == two && are_near(self.positions(a), other.positions(b)) {
                each(*one);
            }
            let (one, two) = (*one, *two);
            a += usize::from(one <= two);
            b += usize::from(two <= one);
        }
    }
}

/// Whether any position of one list is within [`NEAR_WORDS`] of any of the other; both ascend.
fn are_near(one: &[u32], other: &[u32]) -> bool {
    let (mut a, mut b) = (0, 0);
    while let (Some(x), Some(y)) = (one.get(a), other.get(b)) {
        if x.abs_diff(*y) as usize <= NEAR_WORDS {
            return true;
        }
        if x < y {
            a += 1;
        } else {
            b += 1;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_means_within_eight_words_either_way() {
        let check = |one: &[u32], other: &[u32], near| {
            assert_eq!(are_near(one, other), near, "{one:?} {other:?}");
            assert_eq!(are_near(other, one), near, "{other:?} {one:?}");
        };
        check(&[], &[], false);
        check(&[1], &[], false);
        check(&[1], &[9], true);
        check(&[1], &[10], false);
        check(&[1, 50, 90], &[20, 40, 59], false);
        check(&[1, 50, 90], &[20, 40, 58], true);
    }
}
