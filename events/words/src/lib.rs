//! Words and phrases that rules look for, in data files beside the rules: one format and one reader for all of them.
//!
//! A file has sections such as `[articles]`; below it stand its entries, one or more a line, with ` | ` between them. Lines
//! that begin with `#` are remarks. An entry in double quotes keeps the blanks at its ends, and may begin with a bracket or
//! `#`. Where all entries are words, blanks are enough between them.

pub mod language;

use std::ops::Deref;
use std::sync::OnceLock;

const STOP_WORDS: &str = include_str!("stop.txt");

/// Words that say nothing about the subject of a text: English function words, question words, auxiliaries, and what
/// remains of contractions without their apostrophe. `may` is not one: the month matters more than the auxiliary.
static STOP: WordList = WordList::words(STOP_WORDS, "stop");

/// Returns true for a stop word in lower case.
pub fn is_stop(word: &str) -> bool {
    STOP.has(word)
}

/// A section of a data file: a slice of its entries in the order of the file.
pub struct WordList {
    file: &'static str,
    section: &'static str,
    /// True if blanks stand between entries.
    are_words: bool,
    entries: OnceLock<Entries>,
}

struct Entries {
    listed: Vec<&'static str>,
    sorted: Vec<&'static str>,
    /// Where the entries that begin with each byte begin among the sorted ones.
    begin: Box<[u16; 257]>,
}

impl WordList {
    /// Names a section of the text of a data file, which is read at first use.
    pub const fn new(file: &'static str, section: &'static str) -> Self {
        Self { file, section, are_words: false, entries: OnceLock::new() }
    }

    /// Names a section whose lines have words, each an entry.
    pub const fn words(file: &'static str, section: &'static str) -> Self {
        Self { file, section, are_words: true, entries: OnceLock::new() }
    }

    /// Returns true if the word is an entry; faster than a search of the slice.
    pub fn has(&self, word: &str) -> bool {
        self.entries().sorted.binary_search(&word).is_ok()
    }

    /// The same for bytes, which need not be text.
    pub fn has_bytes(&self, word: &[u8]) -> bool {
        self.entries().sorted.binary_search_by(|entry| entry.as_bytes().cmp(word)).is_ok()
    }

    /// Returns true if the text begins with an entry.
    pub fn begins(&self, text: &str) -> bool {
        let Some(first) = text.bytes().next().map(usize::from) else { return false };
        let Entries { sorted, begin, .. } = self.entries();
        let alike = usize::from(begin[first])..usize::from(begin[first + 1]);
        sorted[alike].iter().any(|entry| text.starts_with(entry))
    }

    fn entries(&self) -> &Entries {
        self.entries.get_or_init(|| {
            let found = entries(self.file).filter(|(section, _)| *section == self.section);
            let words = |entry: &'static str| entry.split(|c: char| self.are_words && c == ' ');
            let listed: Vec<&str> = found.flat_map(|(_, entry)| words(entry)).collect();
            debug_assert!(!listed.is_empty(), "there is no section [{}]", self.section);
            let mut sorted = listed.clone();
            sorted.sort_unstable();
            let before =
                |byte: usize| sorted.partition_point(|entry| entry.bytes().next().map(usize::from) < Some(byte));
            let begin = Box::new(std::array::from_fn(|byte| before(byte) as u16));
            Entries { listed, sorted, begin }
        })
    }
}

impl Deref for WordList {
    type Target = [&'static str];

    fn deref(&self) -> &Self::Target {
        &self.entries().listed
    }
}

/// Returns the lines of a data file in order, each with its section.
pub fn lines_with_sections(file: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    lines(file).map(|(section, line)| (section, unquoted(line)))
}

/// Returns the entries of a data file in order, each with its section: a line may have several with ` | ` between them.
pub fn entries(file: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    lines(file).flat_map(|(section, line)| line.split(" | ").map(move |entry| (section, unquoted(entry))))
}

fn lines(file: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let mut section = "";
    file.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).filter_map(move |line| {
        match line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            Some(name) => {
                section = name;
                None
            }
            None => Some((section, line)),
        }
    })
}

fn unquoted(entry: &str) -> &str {
    entry.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# A remark.\n[articles]\nthe | a\n\n[joints]\n\" with \" | \"[x]\"\n\"#\"\nas well as\n";

    #[test]
    fn a_section_has_its_entries_in_order() {
        let (articles, joints) = (WordList::new(FILE, "articles"), WordList::new(FILE, "joints"));
        assert_eq!(*articles, ["the", "a"]);
        assert_eq!(*joints, [" with ", "[x]", "#", "as well as"]);
        assert!(articles.has("a") && articles.has("the") && !articles.has("an") && !joints.has("the"));
        assert!(articles.begins("thesis") && articles.begins("a") && !articles.begins("th") && !articles.begins(""));
        assert!(
            joints.begins("# head") && joints.begins(" with x") && !joints.begins(" without") && !joints.begins("ä")
        );
    }

    #[test]
    fn stop_words_say_nothing_of_the_subject() {
        assert!(is_stop("which") && is_stop("a") && is_stop("yourselves"));
        assert!(!is_stop("token") && !is_stop("") && !is_stop("use"));
    }
}
