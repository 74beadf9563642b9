//! Searches for many words at once: first for a few bytes of each, its cue, then for the whole word.
//!
//! Vector instructions search for up to 32 cues of four bytes in one pass. False candidates, which match a cue but no
//! word, make a pass slow, and each pass has only eight masks. Therefore cues are bytes that are rare in texts, words
//! that share a cue cost nothing more, and the order of the cues decides which of them share a mask.

use aho_corasick::packed::{self, Searcher};
use aho_corasick::{AhoCorasick, Input, Match, MatchKind, Span};

/// Most cues of one table; more would take twice the time.
const MAX_CUES: usize = 32;
/// Shortest cue, in bytes.
const MIN_CUE_BYTES: usize = 4;

/// A table of words and its searcher.
pub(super) struct Cues<T: 'static> {
    rows: &'static [(&'static str, T)],
    /// For each cue: the rows that contain it, and its offset in their words.
    held: Vec<Vec<(usize, usize)>>,
    finder: Finder,
}

/// Searches for several texts in one pass. If two match at one position, the first in the list wins.
pub(super) struct Finder {
    fast: Option<Searcher>,
    /// For machines without vector instructions.
    slow: AhoCorasick,
}

impl Finder {
    /// Cannot fail for the constant tables; tests build every one.
    pub(super) fn new(texts: &[&str]) -> Option<Self> {
        let fast = packed::Config::new().match_kind(packed::MatchKind::LeftmostFirst).builder().extend(texts).build();
        let slow = AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(texts).ok()?;
        Some(Self { fast, slow })
    }

    /// Returns the first match that starts at `at` or later.
    pub(super) fn find(&self, bytes: &[u8], at: usize) -> Option<Match> {
        match &self.fast {
            Some(fast) => fast.find_in(bytes, Span::from(at..bytes.len())),
            None => self.slow.find(Input::new(bytes).range(at..)),
        }
    }
}

/// A word that was found.
pub(super) struct Found<T> {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) value: T,
}

impl<T: Copy> Cues<T> {
    /// Returns `None` if a row contains no cue, or the cues are too many or too short. Tests build every table.
    pub(super) fn new(rows: &'static [(&'static str, T)], cues: &[&str]) -> Option<Self> {
        let mut held = vec![Vec::new(); cues.len()];
        for (row, (word, _)) in rows.iter().enumerate() {
            let (cue, at) = cues.iter().enumerate().find_map(|(cue, bytes)| Some((cue, word.find(bytes)?)))?;
            held[cue].push((row, at));
        }
        let fits = cues.len() <= MAX_CUES && cues.iter().all(|cue| cue.len() >= MIN_CUE_BYTES);
        fits.then_some(Self { rows, held, finder: Finder::new(cues)? })
    }

    /// Returns the first word that starts at `from` or later and whose cue is at `at` or later. Advances `at` past it.
    pub(super) fn find(&self, text: &str, from: usize, at: &mut usize) -> Option<Found<T>> {
        let bytes = text.as_bytes();
        while *at < bytes.len() {
            // No cue is left.
            let Some(cue) = self.finder.find(bytes, *at) else { break };
            *at = cue.start() + 1;
            for (row, before) in &self.held[cue.pattern().as_usize()] {
                let (word, value) = self.rows[*row];
                let start = cue.start().checked_sub(*before).filter(|start| *start >= from);
                if let Some(start) = start
                    && bytes[start..].starts_with(word.as_bytes())
                {
                    let end = start + word.len();
                    *at = end;
                    return Some(Found { start, end, value });
                }
            }
        }
        *at = bytes.len();
        None
    }
}
