//! Blocks in a text: where they are, and whether they are as Baton left them.
//!
//! # Decisions
//!
//! - A note carries what is needed to merge into it: a hash in each opening marker and one line behind the
//!   frontmatter for keys. Status and dates change only with another change of the note, so that a second run
//!   writes nothing.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

/// What begins every marker.
const OPEN: &str = "<!-- baton:";
const CLOSE: &str = "<!-- /baton:";
const END: &str = " -->";
/// What may stand beside a marker.
const BLANK: [char; 2] = [' ', '\t'];
/// The marker of a note, which no block has for a key.
const NOTE: &str = "note";

/// A block: two markers and what stands between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) key: String,
    /// The line of its opening marker, from 0.
    pub(super) open: usize,
    /// The line of its closing marker.
    pub(super) close: usize,
    /// What the opening marker says that Baton wrote last.
    pub(super) hash: String,
    /// Whether that is what stands there.
    pub(super) is_intact: bool,
}

/// All blocks of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Blocks {
    pub(super) found: Vec<Block>,
    /// Markers without a counterpart: the line, and the key.
    pub(super) stray: Vec<(usize, String)>,
}

enum Marker<'a> {
    Open(&'a str, &'a str),
    Close(&'a str),
}

impl Blocks {
    pub(super) fn of(lines: &[&str]) -> Self {
        let mut all = Self::default();
        let mut open: Option<(usize, &str, &str)> = None;
        for (at, line) in lines.iter().enumerate() {
            match marker(line) {
                Some(Marker::Open(key, hash)) => {
                    let left = open.replace((at, key, hash));
                    all.stray.extend(left.map(|(at, key, _)| (at, key.to_owned())));
                }
                Some(Marker::Close(key)) => match open.take() {
                    Some((from, opened, hash)) if opened == key => {
                        let is_intact = self::hash(&content(&lines[from + 1..at])) == hash;
                        let (key, hash) = (key.to_owned(), hash.to_owned());
                        all.found.push(Block { key, open: from, close: at, hash, is_intact });
                    }
                    other => {
                        all.stray.extend(other.map(|(at, key, _)| (at, key.to_owned())));
                        all.stray.push((at, key.to_owned()));
                    }
                },
                None => {}
            }
        }
        all.stray.extend(open.map(|(at, key, _)| (at, key.to_owned())));
        all
    }

    /// The block that Baton may write in: the last of its key that is as Baton left it.
    pub(super) fn own(&self, key: &str) -> Option<&Block> {
        self.found.iter().rev().find(|block| block.key == key && block.is_intact)
    }

    /// Blocks of a key that a person has taken over.
    pub(super) fn taken<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a Block> {
        self.found.iter().filter(move |block| block.key == key && !block.is_intact)
    }

    /// Of so many lines, whether each is a marker or between two.
    pub(super) fn mask(&self, lines: usize) -> Vec<bool> {
        let mut within = vec![false; lines];
        for block in &self.found {
            within[block.open..=block.close].fill(true);
        }
        within
    }

    /// What a person has changed in blocks, counted.
    pub(super) fn conflicts(&self) -> usize {
        self.found.iter().filter(|block| !block.is_intact).count() + self.stray.len()
    }
}

/// What a line is, if it is a marker: nothing else stands in it.
fn marker(line: &str) -> Option<Marker<'_>> {
    // Some programs put spaces at the ends of lines.
    let line = bare(line).trim_matches(BLANK);
    if let Some(key) = line.strip_prefix(CLOSE).and_then(|rest| rest.strip_suffix(END)) {
        return is_key(key).then_some(Marker::Close(key));
    }
    let (key, hash) = line.strip_prefix(OPEN)?.strip_suffix(END)?.split_once(' ')?;
    (is_key(key) && key != NOTE).then_some(Marker::Open(key, hash))
}

fn is_key(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// What Baton wrote last in each key and block of a note, by the marker of the note: its line, and a hash for each key; those
/// of blocks begin with `#`.
pub(super) fn written(lines: &[&str]) -> Option<(usize, BTreeMap<String, String>)> {
    lines.iter().enumerate().find_map(|(at, line)| Some((at, written_in(line)?)))
}

fn written_in(line: &str) -> Option<BTreeMap<String, String>> {
    let rest = bare(line).trim_matches(BLANK).strip_prefix(OPEN)?.strip_prefix(NOTE)?.strip_suffix(END)?;
    let pairs: Option<Vec<(&str, &str)>> = rest.split(' ').skip(1).map(|pair| pair.split_once('=')).collect();
    Some(pairs?.into_iter().map(|(key, hash)| (key.to_owned(), hash.to_owned())).collect())
}

/// The same of a whole text, which is not taken apart behind that line.
pub(super) fn note_of(text: &str) -> Option<BTreeMap<String, String>> {
    text.split('\n').find_map(written_in)
}

/// A text without the pairs in the marker of the note whose keys end so.
pub(super) fn without_pairs(text: &str, end: char) -> String {
    let Some(line) = text.split_inclusive('\n').find(|line| written_in(line).is_some()) else { return text.to_owned() };
    let is_kept = |word: &&str| !word.split_once('=').is_some_and(|(key, _)| key.ends_with(end));
    let kept: Vec<&str> = line.split(' ').filter(is_kept).collect();
    text.replacen(line, &kept.join(" "), 1)
}

/// The marker of a note.
pub(super) fn note_marker(written: &BTreeMap<String, String>) -> String {
    let pairs: String = written.iter().map(|(key, hash)| format!(" {key}={hash}")).collect();
    format!("{OPEN}{NOTE}{pairs}{END}\n")
}

/// The text with the marker of the note as it is now.
pub(super) fn with_written(rest: &str, written: &BTreeMap<String, String>, eol: &str) -> String {
    let mut lines: Vec<String> = rest.split_inclusive('\n').map(str::to_owned).collect();
    let at = self::written(&lines.iter().map(String::as_str).collect::<Vec<_>>()).map(|(at, _)| at);
    if let Some(at) = at {
        lines[at] = note_marker(written).replace('\n', eol);
    }
    lines.concat()
}

/// A block with its markers; `content` ends without a line break.
pub(super) fn block(key: &str, content: &str) -> String {
    let hash = hash(content);
    let content = if content.is_empty() { String::new() } else { format!("{content}\n") };
    format!("{OPEN}{key} {hash}{END}\n{content}{CLOSE}{key}{END}\n")
}

/// What stands in lines, whatever they end in: without the last line break.
pub(super) fn content(lines: &[&str]) -> String {
    let lines: Vec<&str> = lines.iter().map(|line| bare(line)).collect();
    lines.join("\n")
}

/// A line without its end, however often that was converted.
pub(super) fn bare(line: &str) -> &str {
    line.strip_suffix('\n').unwrap_or(line).trim_end_matches('\r')
}

/// 16 hex digits of SHA-256.
pub(super) fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// 8 hex digits of it: enough to see that something has changed.
pub(super) fn short(text: &str) -> String {
    let mut hash = hash(text);
    hash.truncate(8);
    hash
}
