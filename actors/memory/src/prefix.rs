//! Expands a prefix such as `migrat*` to the words and names of the index that begin with it.
//!
//! The index has stems, and most stems are shorter than their words: `tokeniz*` is a prefix of `tokenizer`, which is
//! indexed as `token`. So a prefix is also completed with every English ending, and the stems of the results are looked
//! up.

mod endings;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::ops::Range;

use tantivy::Term;
use tantivy::schema::Field;

use self::endings::ENDINGS;
use super::analyzer::{Analyzer, Listener, NAME_PREFIX};
use super::limits::{PREFIX_COUNTED, PREFIX_LOOKED, PREFIX_TERMS};
use super::snapshot::Snapshot;
use super::{Error, irregular};

/// Minimum length in letters of a prefix to complete; shorter ones begin nearly everything.
const COMPLETED_LETTERS: usize = 4;

/// A parsed prefix.
pub(super) struct Prefix {
    /// What matching tokens begin with.
    start: String,
    /// Stems of words that begin with the prefix.
    stems: BTreeSet<String>,
}

impl Prefix {
    pub(super) fn parse(text: &str) -> Self {
        let lowered = text.to_lowercase();
        let is_name = !lowered.chars().all(char::is_alphanumeric);
        let mut stems = Stems::default();
        if !is_name {
            let mut analyzer = Analyzer::default();
            analyzer.analyze(&lowered, &mut stems);
            irregular::beginning(&lowered).for_each(|form| analyzer.analyze(form, &mut stems));
            if lowered.len() >= COMPLETED_LETTERS && lowered.bytes().all(|byte| byte.is_ascii_lowercase()) {
                let mut word = lowered.clone();
                for from in ENDINGS.iter().flat_map(|ending| (0..ending.len()).map(|at| &ending[at..])) {
                    word.truncate(lowered.len());
                    word.push_str(from);
                    analyzer.analyze(&word, &mut stems);
                }
            }
        }
        let start = match is_name {
            true => format!("{NAME_PREFIX}{}", lowered.trim_start_matches(|c: char| !c.is_alphanumeric())),
            false => lowered,
        };
        Self { start, stems: stems.0 }
    }

    /// Tokens of a field that begin with the prefix: words, in any of their forms, or names. At most [`PREFIX_TERMS`],
    /// those in most documents.
    pub(super) fn expand(&self, field: Field, snapshot: &Snapshot) -> Result<Vec<String>, Error> {
        let mut counted: BTreeMap<String, u64> = BTreeMap::new();
        for reader in snapshot.searcher.segment_readers() {
            let index = reader.inverted_index(field)?;
            let mut stream = index.terms().range().ge(&self.start).into_stream()?;
            let mut most: BinaryHeap<Reverse<(u64, String)>> = BinaryHeap::new();
            let mut looked = 0;
            while looked < PREFIX_LOOKED && stream.advance() && stream.key().starts_with(self.start.as_bytes()) {
                looked += 1;
                let Ok(token) = std::str::from_utf8(stream.key()) else { continue };
                let frequency = u64::from(stream.value().doc_freq);
                let is_full = most.len() == PREFIX_COUNTED;
                if is_full && most.peek().is_some_and(|Reverse((least, _))| frequency <= *least) {
                    continue;
                }
                most.push(Reverse((frequency, token.to_owned())));
                if is_full {
                    most.pop();
                }
            }
            most.into_iter().for_each(|Reverse((frequency, token))| *counted.entry(token).or_default() += frequency);
        }
        // Stems that do not begin with the prefix themselves.
        let others: Vec<&String> = self.stems.iter().filter(|stem| !stem.starts_with(&self.start)).collect();
        let mut formed: Vec<(u64, String)> = Vec::new();
        for stem in others {
            let frequency = snapshot.searcher.doc_freq(&Term::from_field_text(field, stem))?;
            formed.extend((frequency > 0).then(|| (frequency, stem.clone())));
        }
        let mut begun: Vec<(u64, String)> = counted.into_iter().map(|(token, frequency)| (frequency, token)).collect();
        for tokens in [&mut formed, &mut begun] {
            tokens.sort_by(|(a, one), (b, other)| b.cmp(a).then_with(|| one.cmp(other)));
        }
        // Neither kind may crowd out the other.
        formed.truncate(PREFIX_TERMS / 2);
        begun.truncate(PREFIX_TERMS - formed.len());
        Ok(begun.into_iter().chain(formed).map(|(_, token)| token).collect())
    }
}

/// Collects stems.
#[derive(Default)]
struct Stems(BTreeSet<String>);

impl Listener for Stems {
    fn word(&mut self, _plain: &str, stem: &str, _at: Range<usize>) {
        if !self.0.contains(stem) {
            self.0.insert(stem.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stem_of_whatever_begins_so_is_looked_for() {
        let check = |text: &str, stem: &str| {
            let prefix = Prefix::parse(text);
            let is_there = stem.starts_with(&prefix.start) || prefix.stems.contains(stem);
            assert!(is_there, "{text}: {stem} is none of {:?}", prefix.stems);
        };
        // Words, with the length from which on each prefix must lead to the word's stem.
        for (word, from) in [
            ("tokenizer", 4),
            ("tokenization", 4),
            ("refactoring", 4),
            ("migrations", 4),
            ("installation", 4),
            ("virtualized", 4),
            ("bookings", 4),
            ("dependencies", 4),
            ("dependency", 4),
            ("repositories", 4),
            ("capabilities", 4),
            ("authentication", 4),
            ("authorized", 4),
            ("accessibility", 4),
            ("readiness", 4),
            ("developments", 4),
            ("carefully", 4),
            ("nationality", 4),
            ("operator", 4),
            ("validators", 4),
            ("creatively", 4),
            ("organisations", 4),
            ("fixes", 2),
            ("queries", 2),
            ("copied", 2),
            ("planned", 4),
            ("bought", 2),
            ("chosen", 2),
            ("running", 4),
            ("witnesses", 4),
            ("dangerously", 4),
        ] {
            let mut stems = Stems::default();
            Analyzer::default().analyze(word, &mut stems);
            let stem = stems.0.into_iter().next().unwrap();
            (from..=word.len()).for_each(|end| check(&word[..end], &stem));
        }
    }

    #[test]
    fn what_is_no_word_is_not_completed() {
        for (text, start, stems) in
            [("src/auth", "=src/auth", 0), ("refresh_tok", "=refresh_tok", 0), ("e03", "e03", 1), ("検索", "検索", 1)]
        {
            let prefix = Prefix::parse(text);
            assert_eq!((prefix.start.as_str(), prefix.stems.len()), (start, stems), "{text}: {:?}", prefix.stems);
        }
        let parse_file = Prefix::parse("parseFile");
        assert!(!parse_file.stems.contains("file"), "{:?}", parse_file.stems);
    }
}
