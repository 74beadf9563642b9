//! Quality of rankings.

use std::collections::BTreeSet;

use serde::Serialize;

/// Ranks that nDCG takes into account.
const GAINS: usize = 10;

/// Quality of the rankings of some questions, in percent. All expected results have the same worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// Number of questions with known expectations.
    pub questions: u64,
    /// Share of the questions whose first result is expected.
    pub hit_at_1: f64,
    /// Share with an expected result among the first five.
    pub hit_at_5: f64,
    /// Share with an expected result among the first ten.
    pub hit_at_10: f64,
    /// Mean reciprocal rank of the first expected result; 0 if none is found.
    pub mrr: f64,
    /// Mean discounted gain of the first ten results, relative to that of the best order.
    pub ndcg_at_10: f64,
}

/// Sums from which [`Figures`] are computed.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    questions: u64,
    at: [u64; 3],
    reciprocal: f64,
    gain: f64,
}

impl Sums {
    /// Adds one ranking without duplicates; returns the rank of the first expected result, from 1.
    pub(super) fn add<T: Ord>(&mut self, ranking: &[T], expected: &BTreeSet<T>) -> Option<usize> {
        let found = |(place, _): (usize, &T)| place + 1;
        let first = ranking.iter().enumerate().find(|(_, one)| expected.contains(one)).map(found);
        self.questions += 1;
        for (count, places) in self.at.iter_mut().zip([1, 5, 10]) {
            *count += u64::from(first.is_some_and(|first| first <= places));
        }
        self.reciprocal += first.map_or(0.0, |first| 1.0 / first as f64);
        let places = ranking.iter().take(GAINS).enumerate();
        let gain: f64 = places.filter(|(_, one)| expected.contains(one)).map(|(place, _)| worth(place)).sum();
        let best: f64 = (0..expected.len().min(GAINS)).map(worth).sum();
        self.gain += if best > 0.0 { gain / best } else { 0.0 };
        first
    }

    pub(super) fn figures(&self) -> Figures {
        let mean =
            |sum: f64| if self.questions == 0 { 0.0 } else { (1000.0 * sum / self.questions as f64).round() / 10.0 };
        let [one, five, ten] = self.at.map(|count| mean(count as f64));
        Figures {
            questions: self.questions,
            hit_at_1: one,
            hit_at_5: five,
            hit_at_10: ten,
            mrr: mean(self.reciprocal),
            ndcg_at_10: mean(self.gain),
        }
    }
}

/// Worth of an expected result at an index from 0.
fn worth(place: usize) -> f64 {
    1.0 / (place as f64 + 2.0).log2()
}

impl Figures {
    pub(super) fn text(&self) -> String {
        let Self { questions, hit_at_1, hit_at_5, hit_at_10, mrr, ndcg_at_10 } = self;
        format!("{hit_at_1:5.1} {hit_at_5:5.1} {hit_at_10:5.1}   {mrr:5.1}   {ndcg_at_10:5.1}   (n = {questions})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rankings: &[(&str, &str)], expected: [f64; 5]) {
        let mut sums = Sums::default();
        for (ranking, wanted) in rankings {
            sums.add(&ranking.chars().collect::<Vec<_>>(), &wanted.chars().collect());
        }
        let Figures { questions, hit_at_1, hit_at_5, hit_at_10, mrr, ndcg_at_10 } = sums.figures();
        assert_eq!(questions, rankings.len() as u64);
        assert_eq!([hit_at_1, hit_at_5, hit_at_10, mrr, ndcg_at_10], expected, "{rankings:?}");
    }

    #[test]
    fn figures_are_what_they_are_called() {
        check(&[], [0.0; 5]);
        check(&[("abc", "a")], [100.0; 5]);
        check(&[("abc", "b")], [0.0, 100.0, 100.0, 50.0, 63.1]);
        check(&[("abc", "ac")], [100.0, 100.0, 100.0, 100.0, 92.0]);
        check(&[("abcdefghijk", "k"), ("", "a")], [0.0, 0.0, 0.0, 4.5, 0.0]);
        check(&[("abcdef", "f"), ("a", "a")], [50.0, 50.0, 100.0, 58.3, 67.8]);
        check(&[("ab", "abcdefghijkl")], [100.0, 100.0, 100.0, 100.0, 35.9]);
    }
}
