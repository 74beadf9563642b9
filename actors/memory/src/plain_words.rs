//! The distinct unstemmed words of a session, for its 4-grams.

use super::analyzer;
use super::pretokenized::END;

/// A set of words that keeps their first order.
#[derive(Default)]
pub(super) struct PlainWords {
    text: String,
    /// Open addressing: byte ranges of words in `text`; an end of 0 marks a free slot.
    places: Vec<(u32, u32)>,
    count: usize,
}

impl PlainWords {
    pub(super) fn push(&mut self, word: &str) {
        if (self.count + 1) * 2 > self.places.len() {
            self.grow();
        }
        let place = self.place(word);
        if self.places[place].1 == 0 {
            let from = self.text.len();
            // The limit is 4 GB of distinct words; later ones are ignored.
            let Ok(to) = u32::try_from(from + word.len()) else { return };
            self.text.push_str(word);
            self.places[place] = (from as u32, to);
            self.count += 1;
        }
    }

    fn place(&self, word: &str) -> usize {
        let mask = self.places.len() - 1;
        let mut place = analyzer::hash(word.as_bytes()) as usize & mask;
        loop {
            let (from, to) = self.places[place];
            if to == 0 || &self.text[from as usize..to as usize] == word {
                return place;
            }
            place = (place + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let size = (self.places.len() * 2).max(1024);
        let old = std::mem::replace(&mut self.places, vec![(0, 0); size]);
        for (from, to) in old.into_iter().filter(|(_, to)| *to > 0) {
            let place = self.place(&self.text[from as usize..to as usize]);
            self.places[place] = (from, to);
        }
    }

    /// Appends the words, packed, in the order in which they first came, so that a session always gives the same text.
    pub(super) fn distinct_into(self, out: &mut String) {
        let mut found: Vec<_> = self.places.into_iter().filter(|(_, to)| *to > 0).collect();
        found.sort_unstable();
        for (from, to) in found {
            out.push_str(&self.text[from as usize..to as usize]);
            out.push(END);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_kept_once_in_the_order_of_first_coming() {
        let mut words = PlainWords::default();
        for word in ["b", "a", "b", "a", "c"] {
            words.push(word);
        }
        let mut out = String::new();
        words.distinct_into(&mut out);
        assert_eq!(out, "b\na\nc\n");
    }

    #[test]
    fn growing_loses_nothing() {
        let mut words = PlainWords::default();
        let all: Vec<String> = (0..5000).map(|number| format!("word{number}")).collect();
        all.iter().chain(&all).for_each(|word| words.push(word));
        let mut out = String::new();
        words.distinct_into(&mut out);
        assert_eq!(out.lines().collect::<Vec<_>>(), all);
    }
}
