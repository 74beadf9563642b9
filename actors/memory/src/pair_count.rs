//! Estimates the number of distinct near pairs in a session, which is its length when near pairs are scored.

use super::analyzer;
use super::pretokenized::NEAR_WORDS;

/// Counts distinct near pairs within about one percent. Each pair's hash sets one bit; the share of unset bits tells
/// how many were set.
#[derive(Default)]
pub(super) struct PairCount {
    recent: [u64; NEAR_WORDS],
    filled: usize,
    next: usize,
    seen: u64,
    bits: Vec<u64>,
}

/// Size of the bitmap: enough for a million pairs; a bigger session is underestimated.
const PAIR_BITS: u64 = 1 << 18;

impl PairCount {
    pub(super) fn push(&mut self, stem: &str) {
        if self.bits.is_empty() {
            self.bits = vec![0; (PAIR_BITS / 64) as usize];
        }
        let word = analyzer::hash(stem.as_bytes());
        for other in &self.recent[..self.filled] {
            if *other != word {
                let pair = other.wrapping_add(word).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - 18);
                self.bits[(pair / 64) as usize] |= 1 << (pair % 64);
                self.seen += 1;
            }
        }
        self.recent[self.next] = word;
        self.next = (self.next + 1) % NEAR_WORDS;
        self.filled = (self.filled + 1).min(NEAR_WORDS);
    }

    pub(super) fn border(&mut self) {
        self.filled = 0;
        self.next = 0;
    }

    pub(super) fn estimate(&self) -> u64 {
        let unset: u64 = self.bits.iter().map(|word| u64::from(word.count_zeros())).sum();
        if self.seen == 0 {
            return 0;
        }
        let share = unset.max(1) as f64 / PAIR_BITS as f64;
        ((-share.ln() * PAIR_BITS as f64).round() as u64).clamp(1, self.seen)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn check(words: &[String]) {
        let mut count = PairCount::default();
        let mut exact = BTreeSet::new();
        for (at, word) in words.iter().enumerate() {
            count.push(word);
            for other in words[..at].iter().rev().take(NEAR_WORDS).filter(|other| *other != word) {
                exact.insert((word.min(other), word.max(other)));
            }
        }
        let (found, exact) = (count.estimate() as f64, exact.len() as f64);
        assert!((found - exact).abs() <= exact * 0.02 + 0.5, "{found} for {exact}");
    }

    #[test]
    fn the_estimate_is_close() {
        let words = |count: u64, different: u64| -> Vec<String> {
            (0..count).map(|number| format!("w{}", number * number * 31 % different)).collect()
        };
        check(&[]);
        check(&words(1, 10));
        check(&words(2, 10));
        check(&words(500, 97));
        check(&words(20_000, 4_999));
    }

    #[test]
    fn a_border_is_not_crossed() {
        let mut count = PairCount::default();
        count.push("a");
        count.border();
        count.push("b");
        assert_eq!(count.estimate(), 0);
    }
}
