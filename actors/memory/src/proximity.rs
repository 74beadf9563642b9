//! Words beside each other: bigrams (consecutive words) and near pairs (within eight words, in any order).
//!
//! Both are counted at query time from the word positions of sessions. Most bigrams of a text occur once, so an index
//! of them would cost more than all the rest, and one of near pairs eight times that. The number of sessions with a
//! pair is counted over the first `limits::PAIR_WORK` (divided by the number of pairs) session documents and scaled
//! up; with fewer sessions it is exact.

use std::collections::BTreeMap;
use std::sync::Arc;

use tantivy::fieldnorm::FieldNormReader;
use tantivy::index::InvertedIndexReader;
use tantivy::postings::{Postings, SegmentPostings};
use tantivy::query::Bm25Weight;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocAddress, DocSet, Score, TERMINATED, Term};

use super::Error;
use super::limits::PAIR_WORK;
use super::pretokenized::NEAR_WORDS;
use super::schema::kind;
use super::snapshot::{Snapshot, by_segment};

/// The two kinds of pairs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PairKind {
    /// The second word right after the first; every occurrence counts.
    Bigram,
    /// Within [`NEAR_WORDS`] of each other, in any order; counts once per session.
    Near,
}

/// Two stems of the query that may stand beside each other in a session.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Pair {
    pub(super) one: String,
    pub(super) other: String,
}

/// Scores in the order of the given sessions.
pub(super) struct Scores {
    pub(super) bigrams: Vec<Score>,
    pub(super) near: Vec<Score>,
}

/// Counts of one pair.
struct Tally<'a> {
    kind: PairKind,
    pair: &'a Pair,
    /// Number of examined sessions that contain it.
    frequency: u64,
    /// Indexes of the given sessions that contain it, with the number of occurrences.
    found: Vec<(usize, u32)>,
}

/// Positions of one word in the documents of one segment.
#[derive(Default)]
struct Occurrences {
    /// Document, and index of its first position in `positions`; they end where the next document's begin.
    documents: Vec<(u32, u32)>,
    positions: Vec<u32>,
}

/// Number of documents examined, and of near pairs in them.
#[derive(Default)]
struct Examined {
    documents: u64,
    pairs: u64,
}

/// BM25 of bigrams and near pairs over session documents.
pub(super) fn scores(
    snapshot: &Snapshot,
    bigrams: &[Pair],
    near: &[Pair],
    sessions: &[DocAddress],
) -> Result<Scores, Error> {
    let tally = |kind| move |pair| Tally { kind, pair, frequency: 0, found: Vec::new() };
    let mut tallies: Vec<Tally<'_>> =
        bigrams.iter().map(tally(PairKind::Bigram)).chain(near.iter().map(tally(PairKind::Near))).collect();
    let mut scores = Scores { bigrams: vec![0.0; sessions.len()], near: vec![0.0; sessions.len()] };
    if tallies.is_empty() {
        return Ok(scores);
    }
    let examined = count(snapshot, &mut tallies, sessions)?;
    let fields = &snapshot.fields;
    let words =
        snapshot.searcher.segment_readers().iter().try_fold(0, |sum, reader| {
            reader.inverted_index(fields.words).map(|index| sum + index.total_num_tokens())
        })?;
    let words_average = words as Score / snapshot.sessions.max(1) as Score;
    let pairs_average = examined.pairs as Score / examined.documents.max(1) as Score;
    let mut lengths = Vec::with_capacity(sessions.len());
    for address in sessions {
        lengths.push((words_length(snapshot, *address)?, pairs_length(snapshot, *address)));
    }
    for tally in tallies {
        let scaled = tally.frequency as f64 * snapshot.sessions as f64 / examined.documents.max(1) as f64;
        let frequency = (scaled.round() as u64).max(tally.found.len() as u64);
        let (average, scores) = match tally.kind {
            PairKind::Bigram => (words_average, &mut scores.bigrams),
            PairKind::Near => (pairs_average, &mut scores.near),
        };
        let all = snapshot.sessions.max(frequency);
        let weight = Bm25Weight::for_one_term_without_explain(frequency, all, average.max(1.0));
        for (at, times) in tally.found {
            let (words, pairs) = lengths[at];
            scores[at] += match tally.kind {
                PairKind::Bigram => weight.score(words, times),
                PairKind::Near => weight.score(pairs, 1),
            };
        }
    }
    Ok(scores)
}

/// Counts every pair in the given sessions and in as many others as the work limit allows.
fn count(snapshot: &Snapshot, tallies: &mut [Tally<'_>], sessions: &[DocAddress]) -> Result<Examined, Error> {
    let wanted = by_segment(sessions);
    let mut left = (PAIR_WORK / tallies.len()).max(256) as u64;
    let mut examined = Examined::default();
    for number in 0..snapshot.segments.len() {
        let documents = wanted.get(&(number as u32)).map_or(&[][..], Vec::as_slice);
        let (until, here) = horizon(snapshot, number, left)?;
        left -= here.documents;
        examined.documents += here.documents;
        examined.pairs += here.pairs;
        if here.documents == 0 && documents.is_empty() {
            continue;
        }
        let words = occurrences(snapshot, number, tallies, until, documents)?;
        for tally in &mut *tallies {
            let (one, other) = (tally.pair.one.as_str(), tally.pair.other.as_str());
            let (Some(one), Some(other)) = (words.get(one), words.get(other)) else { continue };
            let kind = tally.kind;
            one.for_each_pair(other, kind, |doc, times| {
                tally.frequency += u64::from(doc < until);
                if let Ok(place) = documents.binary_search_by_key(&doc, |(doc, _)| *doc) {
                    tally.found.push((documents[place].1, times));
                }
            });
        }
    }
    Ok(examined)
}

/// Length of a session in words, as a BM25 field norm.
fn words_length(snapshot: &Snapshot, address: DocAddress) -> Result<u8, Error> {
    let reader = snapshot.searcher.segment_reader(address.segment_ord);
    Ok(reader.get_fieldnorms_reader(snapshot.fields.words)?.fieldnorm_id(address.doc_id))
}

/// Length of a session in near pairs, as a BM25 field norm.
fn pairs_length(snapshot: &Snapshot, address: DocAddress) -> u8 {
    let segment = snapshot.segments.get(address.segment_ord as usize);
    let pairs = segment.and_then(|segment| segment.pairs.as_ref()).and_then(|pairs| pairs.first(address.doc_id));
    FieldNormReader::fieldnorm_to_id(u32::try_from(pairs.unwrap_or(0)).unwrap_or(u32::MAX))
}

/// The end (exclusive) of the documents to examine in a segment, at most `left` session documents, with their totals.
fn horizon(snapshot: &Snapshot, number: usize, left: u64) -> Result<(u32, Examined), Error> {
    let mut examined = Examined::default();
    let index = snapshot.searcher.segment_readers()[number].inverted_index(snapshot.fields.kind)?;
    let term = Term::from_field_u64(snapshot.fields.kind, kind::SESSION);
    let Some(mut postings) = index.read_postings(&term, IndexRecordOption::Basic)? else { return Ok((0, examined)) };
    let pairs = &snapshot.segments[number].pairs;
    while postings.doc() != TERMINATED && examined.documents < left {
        examined.documents += 1;
        examined.pairs += pairs.as_ref().and_then(|pairs| pairs.first(postings.doc())).unwrap_or(0);
        postings.advance();
    }
    Ok((postings.doc(), examined))
}

/// Occurrences of the words of all pairs in a segment, in documents before `until` and in `documents`.
fn occurrences<'a>(
    snapshot: &Snapshot,
    number: usize,
    tallies: &[Tally<'a>],
    until: u32,
    documents: &[(u32, usize)],
) -> Result<BTreeMap<&'a str, Occurrences>, Error> {
    let field = snapshot.fields.words;
    let index: Arc<InvertedIndexReader> = snapshot.searcher.segment_readers()[number].inverted_index(field)?;
    let mut words = BTreeMap::new();
    for word in tallies.iter().flat_map(|tally| [tally.pair.one.as_str(), tally.pair.other.as_str()]) {
        if words.contains_key(word) {
            continue;
        }
        let term = Term::from_field_text(field, word);
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
    fn push(&mut self, postings: &mut SegmentPostings) {
        self.documents.push((postings.doc(), self.positions.len() as u32));
        postings.append_positions_with_offset(0, &mut self.positions);
    }

    fn positions(&self, place: usize) -> &[u32] {
        let from = self.documents[place].1 as usize;
        let to = self.documents.get(place + 1).map_or(self.positions.len(), |(_, next)| *next as usize);
        &self.positions[from..to]
    }

    /// Calls `each` with every document in which the pair occurs, and the number of occurrences.
    fn for_each_pair(&self, other: &Self, kind: PairKind, mut each: impl FnMut(u32, u32)) {
        let (mut a, mut b) = (0, 0);
        while let (Some((one, _)), Some((two, _))) = (self.documents.get(a), other.documents.get(b)) {
            if one == two {
                let times = kind.count(self.positions(a), other.positions(b));
                if times > 0 {
                    each(*one, times);
                }
            }
            let (one, two) = (*one, *two);
            a += usize::from(one <= two);
            b += usize::from(two <= one);
        }
    }
}

impl PairKind {
    /// Number of occurrences, given the ascending positions of both words.
    fn count(self, one: &[u32], other: &[u32]) -> u32 {
        let (mut a, mut b, mut times) = (0, 0, 0);
        while let (Some(x), Some(y)) = (one.get(a), other.get(b)) {
            match self {
                Self::Near if x.abs_diff(*y) as usize <= NEAR_WORDS => return 1,
                Self::Bigram if x + 1 == *y => times += 1,
                _ => {}
            }
            if x < y {
                a += 1;
            } else {
                b += 1;
            }
        }
        times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_means_within_eight_words_either_way() {
        let check = |one: &[u32], other: &[u32], times| {
            assert_eq!(PairKind::Near.count(one, other), times, "{one:?} {other:?}");
            assert_eq!(PairKind::Near.count(other, one), times, "{other:?} {one:?}");
        };
        check(&[], &[], 0);
        check(&[1], &[], 0);
        check(&[1], &[9], 1);
        check(&[1], &[10], 0);
        check(&[1, 50, 90], &[20, 40, 59], 0);
        check(&[1, 50, 90], &[20, 40, 58], 1);
    }

    #[test]
    fn a_bigram_is_the_second_right_after_the_first() {
        let check = |one: &[u32], other: &[u32], times| {
            assert_eq!(PairKind::Bigram.count(one, other), times, "{one:?} {other:?}");
        };
        check(&[], &[1], 0);
        check(&[1], &[2], 1);
        check(&[2], &[1], 0);
        check(&[1, 5, 9], &[2, 3, 6, 8, 10], 3);
        check(&[1, 2, 3, 7], &[1, 2, 3, 7], 2);
    }
}
