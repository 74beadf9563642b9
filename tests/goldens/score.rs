//! The comparison: what is wanted, what is found, and how much of each matches.

use baton_episode::digest::{ErrorLine, Pointed};
use serde::Deserialize;

/// Distance in lines from an entry within which its words count.
const NEAR_LINES: u64 = 3;

/// One line or several.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Lines {
    One(u64),
    Several(Vec<u64>),
}

impl Lines {
    fn all(&self) -> &[u64] {
        match self {
            Self::One(line) => std::slice::from_ref(line),
            Self::Several(lines) => lines,
        }
    }
}

/// An entry that a person wrote.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    line: Lines,
    words: Vec<String>,
}

/// A failure that a person names, and its fix.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WantedPair {
    error: Lines,
    error_words: Vec<String>,
    fix: Lines,
    fix_words: Vec<String>,
}

/// All entries for a session.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Golden {
    pub(crate) decisions: Vec<Wanted>,
    pub(crate) fixes: Vec<WantedPair>,
    pub(crate) open: Vec<Wanted>,
}

/// An item that the digest found.
pub(crate) struct Found {
    pub(crate) line: u64,
    pub(crate) text: String,
}

impl Found {
    pub(crate) fn all(items: &[Pointed]) -> Vec<Self> {
        items.iter().map(Self::of).collect()
    }

    fn of(item: &Pointed) -> Self {
        Self { line: item.line, text: item.text.clone() }
    }

    fn fits(&self, lines: &Lines, words: &[String]) -> bool {
        let text = self.text.to_lowercase();
        let says = !words.is_empty() && words.iter().all(|word| text.contains(&word.to_lowercase()));
        lines.all().iter().any(|&line| line == self.line || (says && line.abs_diff(self.line) <= NEAR_LINES))
    }
}

/// A failure with its resolution, as the digest found it.
pub(crate) struct Pair {
    pub(crate) error: Found,
    pub(crate) fix: Found,
}

impl Pair {
    pub(crate) fn of(error: &ErrorLine) -> Option<Self> {
        let fix = Found::of(error.resolution.as_ref()?);
        Some(Self { error: Found { line: error.line, text: error.text.clone() }, fix })
    }
}

/// An entry of one kind, which may match items of type `F`.
pub(crate) trait Fits<F> {
    fn fits(&self, found: &F) -> bool;
    fn told(&self) -> String;
    fn found(found: &F) -> String;
}

impl Fits<Found> for Wanted {
    fn fits(&self, found: &Found) -> bool {
        found.fits(&self.line, &self.words)
    }

    fn told(&self) -> String {
        format!("{:?} {:?}", self.line.all(), self.words)
    }

    fn found(found: &Found) -> String {
        format!("{} {}", found.line, found.text)
    }
}

impl Fits<Pair> for WantedPair {
    fn fits(&self, found: &Pair) -> bool {
        found.error.fits(&self.error, &self.error_words) && found.fix.fits(&self.fix, &self.fix_words)
    }

    fn told(&self) -> String {
        format!("{:?} {:?} -> {:?} {:?}", self.error.all(), self.error_words, self.fix.all(), self.fix_words)
    }

    fn found(found: &Pair) -> String {
        format!("{} {} -> {} {}", found.error.line, found.error.text, found.fix.line, found.fix.text)
    }
}

/// The figures of one kind over all sessions.
pub(crate) struct Score {
    kind: &'static str,
    pub(crate) wanted: usize,
    pub(crate) found: usize,
    items: usize,
    pub(crate) astray: usize,
    remarks: Vec<String>,
}

impl Score {
    pub(crate) fn new(kind: &'static str) -> Self {
        Self { kind, wanted: 0, found: 0, items: 0, astray: 0, remarks: Vec::new() }
    }

    /// Adds the figures of a session.
    pub(crate) fn count<F, W: Fits<F>>(&mut self, id: &str, wanted: &[W], found: &[F]) {
        for entry in wanted {
            self.wanted += 1;
            if found.iter().any(|item| entry.fits(item)) {
                self.found += 1;
            } else {
                self.remarks.push(format!("  missed  {id} {}", entry.told()));
            }
        }
        for item in found {
            self.items += 1;
            if !wanted.iter().any(|entry| entry.fits(item)) {
                self.astray += 1;
                self.remarks.push(format!("  false   {id} {}", W::found(item)));
            }
        }
    }

    pub(crate) fn found_percent(&self) -> usize {
        (self.found * 100).checked_div(self.wanted).unwrap_or(100)
    }

    /// Rounded up: 20.1 % is more than 20.
    pub(crate) fn false_percent(&self) -> usize {
        if self.items == 0 { 0 } else { (self.astray * 100).div_ceil(self.items) }
    }

    pub(crate) fn told(&self) -> String {
        let head = format!(
            "{}: {} of {} found ({} %), {} of {} false ({} %)",
            self.kind,
            self.found,
            self.wanted,
            self.found_percent(),
            self.astray,
            self.items,
            self.false_percent()
        );
        [&[head], &self.remarks[..]].concat().join("\n")
    }
}
