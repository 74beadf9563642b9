//! How a session's score is composed, and the weights of its parts. A favoured session (`search`) and synonyms (`query`)
//! have factors beside their use.
//!
//! # Decisions
//!
//! - Measured on two sets outside this tree: three conversations of LoCoMo (70 sessions, 495 questions, an index for
//!   each) and 208 questions "which session changed or committed this", in two halves A | B, in percent. Dates and
//!   speakers that a query names and irregular English forms: LoCoMo sessions hit@1 79.8 to 81.2, MRR 86.8 to 87.5,
//!   turns hit@1 44.9 to 48.3; speakers, which never moved a session, count no more. Commit messages 0.2 and changed
//!   files 0.3 as fields of a session: hit@1 78.8 to 87.5 | 89.3 to 92.2; a conversation without tools ranks as before.
//!   Rejected: errors as a field (MRR 88.6 | 92.0 against 87.4 | 92.7 without); episode and title as fields (LoCoMo hit@1 in one index 78.1 to at most 77.7).
//! - Current state: sessions hit@1/hit@5/MRR 81.0/95.8/87.3, turns hit@1 48.3; the small set of this tree 100/100/100.
//!   The rule for dates was chosen on all three conversations together, and the weights in view of both halves.

use tantivy::Score;

/// Divides by the largest score, so that the best gets 1. The only normalisation.
pub(super) fn divide_by_best(scores: &mut [Score]) {
    let best = scores.iter().copied().fold(0.0, Score::max);
    if best > 0.0 {
        scores.iter_mut().for_each(|score| *score /= best);
    }
}

/// Weight of similarity by vector; similarity by words weighs 1. Adding up ranks instead was measured, and is worse
/// than words alone.
const SIMILARITY: Score = 0.8;

/// A turn's score: by words relative to the best, plus the weighted similarity by vector.
pub(super) fn turn_score(words: Score, best_words: Score, similarity: Score) -> Score {
    let words = if best_words > 0.0 { words / best_words } else { 0.0 };
    words + SIMILARITY * similarity
}

/// Parts of a session's score, each at most 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Parts {
    /// Its best turns, relative to those of the best session.
    pub(super) turns: Score,
    /// Consecutive words of the query in its text, relative to the best session, as are the next four.
    pub(super) bigrams: Score,
    /// 4-grams of words.
    pub(super) grams: Score,
    /// Words near each other.
    pub(super) near: Score,
    /// Words of its commit messages.
    pub(super) commits: Score,
    /// Names of files it changed.
    pub(super) changed: Score,
    /// 1 if it overlaps a date that the query names, else 0.
    pub(super) date: Score,
    /// Recency, relative to the newest session compared.
    pub(super) recent: Score,
    /// Its nearest turn's similarity by vector, relative to the nearest of all; 0 without vectors.
    pub(super) similarity: Score,
}

impl Parts {
    pub(super) fn sum(&self) -> Score {
        const BIGRAMS: Score = 0.4;
        const GRAMS: Score = 0.4;
        const NEAR: Score = 0.2;
        const COMMITS: Score = 0.2;
        const CHANGED: Score = 0.3;
        const DATE: Score = 0.4;
        const RECENT: Score = 0.02;
        self.turns
            + BIGRAMS * self.bigrams
            + GRAMS * self.grams
            + NEAR * self.near
            + COMMITS * self.commits
            + CHANGED * self.changed
            + DATE * self.date
            + RECENT * self.recent
            + SIMILARITY * self.similarity
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_gets_one() {
        let check = |mut scores: Vec<Score>, expected: &[Score]| {
            divide_by_best(&mut scores);
            assert_eq!(scores, expected);
        };
        check(vec![], &[]);
        check(vec![0.0, 0.0], &[0.0, 0.0]);
        check(vec![1.0, 4.0, 2.0], &[0.25, 1.0, 0.5]);
    }

    #[test]
    fn turns_weigh_most_and_newness_least() {
        let turns = Parts { turns: 1.0, ..Parts::default() };
        let words = Parts { bigrams: 1.0, grams: 1.0, near: 0.9, ..Parts::default() };
        let new = Parts { turns: 0.97, recent: 1.0, ..Parts::default() };
        assert!(turns.sum() > words.sum() && turns.sum() > new.sum());
    }
}
