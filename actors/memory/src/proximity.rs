//! Words beside each other: bigrams (consecutive words) and near pairs (within eight words, in any order).
//!
//! Both are counted at query time from the positions of words in turns. Most bigrams of a text occur once, so an index
//! of them would cost more than all the rest, and one of near pairs eight times that. The number of sessions with a
//! pair is counted over the first sessions, with `limits::PAIR_WORK` turns (divided by the number of pairs), and scaled
//! up; with fewer turns it is exact.

use std::collections::BTreeMap;

use tantivy::postings::{Postings, SegmentPostings};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocAddress, DocId, DocSet, Score, TERMINATED};

use super::Error;
use super::limits::PAIR_WORK;
use super::pretokenized::NEAR_WORDS;
use super::snapshot::Snapshot;
use super::term_postings::TermPostings;
use super::turn_table::{K1, Norm, SessionTurns, TurnTable, idf};

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

/// Positions of one word in turns.
#[derive(Default)]
struct Occurrences {
    /// Turn, and index of its first position in `positions`; they end where the next turn's begin.
    turns: Vec<(Turn, u32)>,
    positions: Vec<u32>,
}

/// A turn that is examined.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    segment: u32,
    doc: DocId,
    /// Index of its session in the table.
    session: u32,
}

/// Turns of one session that follow each other as documents.
type Stretch = (Turn, u32);

/// BM25 of bigrams and near pairs over all turns of a session, in the order of the given sessions. `postings` are those
/// of a word in bodies.
pub(super) fn scores(
    snapshot: &Snapshot,
    (bigrams, near): (&[Pair], &[Pair]),
    postings: impl Fn(&str) -> Result<TermPostings, Error>,
    sessions: &[DocAddress],
) -> Result<Scores, Error> {
    let mut scores = Scores { bigrams: vec![0.0; sessions.len()], near: vec![0.0; sessions.len()] };
    let pairs = bigrams.len() + near.len();
    if pairs == 0 {
        return Ok(scores);
    }
    let table = snapshot.turn_table();
    let known = |address: &DocAddress| {
        let segment = snapshot.segments.get(address.segment_ord as usize)?;
        table.session(segment.number_of(address.doc_id)?).map(|(at, _)| at)
    };
    let wanted: Vec<Option<u32>> = sessions.iter().map(known).collect();
    let sampled = sample(table, PAIR_WORK / pairs);
    let stretches = stretches(table, sampled, &wanted);
    let mut words: BTreeMap<&str, Occurrences> = BTreeMap::new();
    for word in bigrams.iter().chain(near).flat_map(|pair| [&pair.one, &pair.other]) {
        if !words.contains_key(word.as_str()) {
            words.insert(word, occurrences(snapshot, &stretches, &postings(word)?)?);
        }
    }
    let norm = Norm::new(table.tokens as Score / table.sessions.len().max(1) as Score);
    let kinds = [(PairKind::Bigram, bigrams, &mut scores.bigrams), (PairKind::Near, near, &mut scores.near)];
    for (kind, pairs, scores) in kinds {
        for pair in pairs {
            let (Some(one), Some(other)) = (words.get(&*pair.one), words.get(&*pair.other)) else { continue };
            let found = one.count(other, kind);
            let seen = found.range(..sampled).count() as f64 * table.sessions.len() as f64 / f64::from(sampled.max(1));
            let weight = (1.0 + K1) * idf((seen.round() as u64).max(found.len() as u64), table.sessions.len() as u64);
            for (score, session) in scores.iter_mut().zip(&wanted) {
                let Some((session, times)) = session.and_then(|session| found.get_key_value(&session)) else {
                    continue;
                };
                let tokens = table.sessions.get(*session as usize).map_or(0, |session| session.tokens);
                let times = *times as Score;
                *score += weight * times / (times + norm.of(tokens as Score));
            }
        }
    }
    Ok(scores)
}

/// The number of sessions, from the first on, in which pairs are counted to estimate how common they are.
fn sample(table: &TurnTable, turns: usize) -> u32 {
    let mut left = turns.max(256);
    let fits = |session: &&SessionTurns| {
        let fits = left > 0;
        left = left.saturating_sub(session.turns as usize);
        fits
    };
    table.sessions.iter().take_while(fits).count() as u32
}

/// The turns of the first `sampled` sessions and of the wanted ones, in the order of their documents.
fn stretches(table: &TurnTable, sampled: u32, wanted: &[Option<u32>]) -> Vec<Stretch> {
    let others = wanted.iter().flatten().copied().filter(|session| *session >= sampled);
    let mut stretches: Vec<Stretch> = (0..sampled)
        .chain(others)
        .filter_map(|session| table.sessions.get(session as usize))
        .flat_map(|session| table.runs_of(session))
        .map(|run| (Turn { segment: run.segment, doc: run.doc, session: run.session }, run.doc + run.count))
        .collect();
    stretches.sort_unstable();
    stretches
}

fn occurrences(snapshot: &Snapshot, stretches: &[Stretch], word: &TermPostings) -> Result<Occurrences, Error> {
    let mut occurrences = Occurrences::default();
    for stretches in stretches.chunk_by(|(one, _), (other, _)| one.segment == other.segment) {
        let Some((first, _)) = stretches.first() else { continue };
        let option = IndexRecordOption::WithFreqsAndPositions;
        let Some(mut postings) = word.of_segment(snapshot, first.segment, option)? else { continue };
        for (turn, end) in stretches {
            if postings.doc() < turn.doc {
                postings.seek(turn.doc);
            }
            while postings.doc() < *end && postings.doc() != TERMINATED {
                occurrences.push(Turn { doc: postings.doc(), ..*turn }, &mut postings);
                postings.advance();
            }
        }
    }
    Ok(occurrences)
}

impl Occurrences {
    fn push(&mut self, turn: Turn, postings: &mut SegmentPostings) {
        self.turns.push((turn, self.positions.len() as u32));
        postings.append_positions_with_offset(0, &mut self.positions);
    }

    fn positions(&self, at: usize) -> &[u32] {
        let from = self.turns[at].1 as usize;
        let to = self.turns.get(at + 1).map_or(self.positions.len(), |(_, next)| *next as usize);
        &self.positions[from..to]
    }

    /// The sessions in which the pair occurs, and how often.
    fn count(&self, other: &Self, kind: PairKind) -> BTreeMap<u32, u32> {
        let mut found = BTreeMap::new();
        let (mut a, mut b) = (0, 0);
        while let (Some((one, _)), Some((two, _))) = (self.turns.get(a), other.turns.get(b)) {
            if one == two {
                let times = kind.count(self.positions(a), other.positions(b));
                if times > 0 {
                    let all = found.entry(one.session).or_insert(0);
                    *all = if kind == PairKind::Near { 1 } else { *all + times };
                }
            }
            let (one, two) = (*one, *two);
            a += usize::from(one <= two);
            b += usize::from(two <= one);
        }
        found
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
