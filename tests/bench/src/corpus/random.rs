//! Pseudo-random numbers that are the same in every run, on every machine, for ever.

/// SplitMix64, implemented here so that no update of a dependency changes the corpus.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// An independent generator for one part, which may draw any number of values without affecting other parts.
    pub(crate) fn for_part(seed: u64, part: u64) -> Self {
        Self::new(Self::new(seed ^ part.wrapping_mul(0xd6e8_feb8_6659_fd93)).next())
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `bound - 1`; `bound` must be at least 1.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let wide = u128::from(self.next()) * (bound.max(1) as u128);
        usize::try_from(wide >> 64).unwrap_or(0)
    }

    /// A number from `least` to `most`, both included.
    pub(crate) fn between(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most.saturating_sub(least) + 1)
    }

    /// True with this probability in percent.
    pub(crate) fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// A number mostly near `least`, seldom near `most`, like sizes of outputs and pauses between records.
    pub(crate) fn skewed(&mut self, least: usize, most: usize) -> usize {
        let span = most.saturating_sub(least);
        let (a, b, c) = (self.below(1000), self.below(1000), self.below(1000));
        least + span * (a * b * c / 1_000_000) / 1000
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// Hexadecimal digits, at most 16 from each number.
    pub(crate) fn hex(&mut self, digits: usize, out: &mut String) {
        self.digits(b"0123456789abcdef", 4, digits, out);
    }

    /// Text that cannot be compressed below six bits per character, like signatures and images.
    pub(crate) fn base64(&mut self, characters: usize, out: &mut String) {
        self.digits(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", 6, characters, out);
    }

    fn digits(&mut self, alphabet: &[u8], bits: u32, count: usize, out: &mut String) {
        let mask = (1_u64 << bits) - 1;
        let (mut number, mut left) = (0, 0);
        for _ in 0..count {
            if left < bits {
                (number, left) = (self.next(), 64);
            }
            out.push(char::from(alphabet[(number & mask) as usize]));
            (number, left) = (number >> bits, left - bits);
        }
    }

    /// A string in the form of a random uuid.
    pub(crate) fn uuid(&mut self) -> String {
        let mut text = String::with_capacity(36);
        for (digits, end) in [(8, "-"), (4, "-4"), (3, "-a"), (3, "-"), (12, "")] {
            self.hex(digits, &mut text);
            text.push_str(end);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_fixed_and_in_their_bounds() {
        assert_eq!(Random::new(0).next(), 0xe220_a839_7b1d_cdaf, "the published first number of seed 0");
        let mut random = Random::new(7);
        for _ in 0..1000 {
            assert!(random.below(3) < 3);
            assert!((4..=6).contains(&random.between(4, 6)));
            assert!((10..=90).contains(&random.skewed(10, 90)));
        }
        assert_eq!(random.below(1), 0);
        let uuid = random.uuid();
        assert_eq!((uuid.len(), uuid.as_bytes()[14]), (36, b'4'), "{uuid}");
        assert_ne!(Random::for_part(1, 2).next(), Random::for_part(1, 3).next());
    }
}
