//! Blocks in a text: where they are, and whether they are as Baton left them.
//!
//! # Decisions
//!
//! - A note carries what is needed to merge into it: a hash in each opening marker, and one line after the
//!   frontmatter for its keys. Status and dates change only together with another change of the note, so that a second
//!   run writes nothing.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

/// Beginning of every opening marker.
const OPEN: &str = "<!-- baton:";
const CLOSE: &str = "<!-- /baton:";
const END: &str = " -->";
/// Characters that may surround a marker.
const BLANK: [char; 2] = [' ', '\t'];
/// Key of the note's own marker; no block has it.
const NOTE: &str = "note";
/// Recorded for a section written as a heading only.
pub(super) const HEADING_ONLY: &str = "-";

/// A block: two markers and the lines between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) key: String,
    /// Line of its opening marker, from 0.
    pub(super) open: usize,
    /// Line of its closing marker.
    pub(super) close: usize,
    /// Hash of what Baton wrote last, from the opening marker.
    pub(super) hash: String,
    /// True if the content has that hash.
    pub(super) is_intact: bool,
}

/// All blocks of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Blocks {
    pub(super) found: Vec<Block>,
    /// Markers without a counterpart: line and key.
    pub(super) stray: Vec<(usize, String)>,
}

enum Marker<'a> {
    Open(&'a str, &'a str),
    Close(&'a str),
}

impl Blocks {
    pub(super) fn parse(lines: &[&str]) -> Self {
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

    /// Returns the block that Baton may write: the last intact one with this key.
    pub(super) fn own_block(&self, key: &str) -> Option<&Block> {
        self.found.iter().rev().find(|block| block.key == key && block.is_intact)
    }

    /// Returns the blocks with this key that a person has taken over.
    pub(super) fn taken_blocks<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a Block> {
        self.found.iter().filter(move |block| block.key == key && !block.is_intact)
    }

    /// Returns for each of the first `lines` lines whether it belongs to a block.
    pub(super) fn mask(&self, lines: usize) -> Vec<bool> {
        let mut within = vec![false; lines];
        for block in &self.found {
            within[block.open..=block.close].fill(true);
        }
        within
    }

    /// Returns the number of blocks that a person changed and of stray markers.
    pub(super) fn conflicts(&self) -> usize {
        self.found.iter().filter(|block| !block.is_intact).count() + self.stray.len()
    }
}

/// Parses a line that contains nothing but a marker.
fn marker(line: &str) -> Option<Marker<'_>> {
    // Some programs add spaces at line ends.
    let line = without_line_end(line).trim_matches(BLANK);
    if let Some(key) = line.strip_prefix(CLOSE).and_then(|rest| rest.strip_suffix(END)) {
        return is_key(key).then_some(Marker::Close(key));
    }
    let (key, hash) = line.strip_prefix(OPEN)?.strip_suffix(END)?.split_once(' ')?;
    (is_key(key) && key != NOTE).then_some(Marker::Open(key, hash))
}

fn is_key(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// Returns the line of the note's marker and the hashes of what Baton wrote last, by key; keys of blocks begin with
/// `#`.
pub(super) fn written(lines: &[&str]) -> Option<(usize, BTreeMap<String, String>)> {
    lines.iter().enumerate().find_map(|(at, line)| Some((at, written_in(line)?)))
}

fn written_in(line: &str) -> Option<BTreeMap<String, String>> {
    let rest = without_line_end(line).trim_matches(BLANK).strip_prefix(OPEN)?.strip_prefix(NOTE)?.strip_suffix(END)?;
    let pairs: Option<Vec<(&str, &str)>> = rest.split(' ').skip(1).map(|pair| pair.split_once('=')).collect();
    Some(pairs?.into_iter().map(|(key, hash)| (key.to_owned(), hash.to_owned())).collect())
}

/// Like [`written`], for a text that is not split into lines; reads no further than the marker.
pub(super) fn written_in_text(text: &str) -> Option<BTreeMap<String, String>> {
    text.split('\n').find_map(written_in)
}

/// Removes the pairs from the note's marker whose keys end with this character.
pub(super) fn without_pairs(text: &str, end: char) -> String {
    let Some(line) = text.split_inclusive('\n').find(|line| written_in(line).is_some()) else { return text.to_owned() };
    let is_kept = |word: &&str| !word.split_once('=').is_some_and(|(key, _)| key.ends_with(end));
    let kept: Vec<&str> = line.split(' ').filter(is_kept).collect();
    text.replacen(line, &kept.join(" "), 1)
}

/// Formats the note's marker.
pub(super) fn note_marker(written: &BTreeMap<String, String>) -> String {
    let pairs: String = written.iter().map(|(key, hash)| format!(" {key}={hash}")).collect();
    format!("{OPEN}{NOTE}{pairs}{END}\n")
}

/// Replaces the note's marker, if there is one.
pub(super) fn with_written(rest: &str, written: &BTreeMap<String, String>, eol: &str) -> String {
    let mut lines: Vec<String> = rest.split_inclusive('\n').map(str::to_owned).collect();
    let at = self::written(&lines.iter().map(String::as_str).collect::<Vec<_>>()).map(|(at, _)| at);
    if let Some(at) = at {
        lines[at] = note_marker(written).replace('\n', eol);
    }
    lines.concat()
}

/// Formats a block with its markers; `content` has no trailing line break.
pub(super) fn block(key: &str, content: &str) -> String {
    let hash = hash(content);
    let content = if content.is_empty() { String::new() } else { format!("{content}\n") };
    format!("{OPEN}{key} {hash}{END}\n{content}{CLOSE}{key}{END}\n")
}

/// Joins lines, whatever their line ends, without a trailing line break.
pub(super) fn content(lines: &[&str]) -> String {
    let lines: Vec<&str> = lines.iter().map(|line| without_line_end(line)).collect();
    lines.join("\n")
}

/// Strips the line end, including repeated carriage returns.
pub(super) fn without_line_end(line: &str) -> &str {
    line.strip_suffix('\n').unwrap_or(line).trim_end_matches('\r')
}

/// Returns the first 16 hex digits of the SHA-256.
pub(super) fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the first 8 hex digits: enough to detect a change.
pub(super) fn short_hash(text: &str) -> String {
    let mut hash = hash(text);
    hash.truncate(8);
    hash
}
