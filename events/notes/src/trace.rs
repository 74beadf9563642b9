//! Traces of the lines already written to a note, so that nothing is written twice: a line that a person has removed
//! stays removed.
//!
//! The marker of the note holds, for each of its sections, the traces of the lines that Baton wrote there and did not
//! remove itself: `#decisions~=n0dA5x.w9Kc1eQm2f`. A trace is a short hash of a line, without what may change while the
//! line says the same: the targets of its links, and the line counts of a file. If a line is supported by a session, or
//! links to a note, the hash is followed by a tag of that name; the trace is removed with the tag when that session or
//! note is forgotten.
//!
//! # Hazards
//!
//! - Hashes have 36 bits, tags 24 bits of a session's name. Code that removes lines from Baton's blocks other than by
//!   `merge` must remove their traces too (`take_back`), or the lines are never written again.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest as _, Sha256};

use super::block;
use super::note::Line;
use baton_episode::digest::MODEL_MARK;

/// Maximum number of traces of a block's own lines, and of other lines of its section; the last ones are kept. More
/// than the longest Work Log has entries.
const MOST: usize = 6_000;
/// Length of a line's hash in letters, 36 bits: for a hundred new lines in a section with a hundred known ones, a
/// collision happens once in seven million times.
const HASH: usize = 6;
/// Length of a name's tag in letters.
const TAG: usize = 4;
/// Separator of traces.
const APART: char = '.';
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Traces of lines, in the order in which they were written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Traces {
    all: Vec<String>,
    /// Their hashes.
    hashes: BTreeSet<String>,
    /// The traces themselves, for lookup.
    exact: BTreeSet<String>,
}

/// The traces of one line.
struct LineTraces {
    all: Vec<String>,
    /// True if the hash alone identifies the line; otherwise the tags count, too.
    is_plain: bool,
}

/// Returns the key of a section's traces in the note's marker.
fn key_of(section: &str) -> String {
    format!("#{section}~")
}

fn is_key(key: &str) -> bool {
    key.starts_with('#') && key.ends_with('~')
}

impl Traces {
    /// Parses the traces of a section from the note's marker; anything invalid is ignored.
    pub(super) fn parse(written: &BTreeMap<String, String>, section: &str) -> Self {
        written.get(&key_of(section)).map(|text| Self::read(text)).unwrap_or_default()
    }

    fn read(text: &str) -> Self {
        let is_one =
            |trace: &&str| [HASH, HASH + TAG].contains(&trace.len()) && trace.bytes().all(|it| LETTERS.contains(&it));
        text.split(APART).filter(is_one).map(str::to_owned).collect()
    }

    /// Returns the traces that belong to none of these lines.
    pub(super) fn excluding<'a>(self, lines: impl IntoIterator<Item = &'a str>) -> Self {
        if self.all.is_empty() {
            return self;
        }
        let (mut plain, mut exact) = (BTreeSet::new(), BTreeSet::new());
        for seen in lines.into_iter().filter_map(LineTraces::of_line) {
            match seen.is_plain {
                true => plain.extend(seen.all.iter().map(|trace| hash_of(trace).to_owned())),
                false => exact.extend(seen.all),
            }
        }
        let is_other = |trace: &&String| !plain.contains(hash_of(trace)) && !exact.contains(*trace);
        keep_last(self.all.iter().filter(is_other).cloned().collect())
    }

    /// Returns true if all traces of a line are among them.
    pub(super) fn contains_line(&self, line: &str) -> bool {
        if self.all.is_empty() {
            return false;
        }
        LineTraces::of_line(line).is_some_and(|seen| match seen.is_plain {
            true => seen.all.iter().any(|trace| self.hashes.contains(hash_of(trace))),
            false => seen.all.iter().all(|trace| self.exact.contains(trace)),
        })
    }

    /// Adds the traces of new lines, up to the limit.
    pub(super) fn with_lines(mut self, lines: &[String]) -> Self {
        for line in lines {
            if self.all.len() < MOST && !self.contains_line(line) {
                let seen = LineTraces::of_line(line).map(|seen| seen.all).unwrap_or_default();
                self.hashes.extend(seen.iter().map(|trace| hash_of(trace).to_owned()));
                self.exact.extend(seen.iter().cloned());
                self.all.extend(seen);
            }
        }
        self
    }

    /// Returns the line without the sessions for which it was written already; `None` if none remains.
    pub(super) fn unwritten_part(&self, line: &Line) -> Option<Line> {
        let mut rest = line.clone();
        rest.support.retain(|name| !self.contains_line(&Line::supported(line.text.clone(), name).written()));
        let is_told = if line.support.is_empty() { self.contains_line(&line.text) } else { rest.support.is_empty() };
        (!is_told).then_some(rest)
    }

    /// Stores them, together with the traces of `lines`, the current content of the section's block, in the note's
    /// marker.
    pub(super) fn record<'a>(
        self,
        written: &mut BTreeMap<String, String>,
        section: &str,
        lines: impl IntoIterator<Item = &'a str> + Clone,
    ) {
        let mut known = BTreeSet::new();
        let new = lines.clone().into_iter().filter_map(LineTraces::of_line).flat_map(|seen| seen.all);
        let new: Vec<String> = new.filter(|trace| known.insert(trace.clone())).collect();
        let mut all = self.excluding(lines).all;
        all.extend(keep_last(new).all);
        match all.is_empty() {
            true => written.remove(&key_of(section)),
            false => written.insert(key_of(section), all.join(&APART.to_string())),
        };
    }
}

impl FromIterator<String> for Traces {
    fn from_iter<T: IntoIterator<Item = String>>(traces: T) -> Self {
        let all: Vec<String> = traces.into_iter().collect();
        let hashes = all.iter().map(|trace| hash_of(trace).to_owned()).collect();
        Self { hashes, exact: all.iter().cloned().collect(), all }
    }
}

fn keep_last(mut traces: Vec<String>) -> Traces {
    traces.drain(..traces.len().saturating_sub(MOST));
    traces.into_iter().collect()
}

fn hash_of(trace: &str) -> &str {
    trace.get(..HASH).unwrap_or(trace)
}

impl LineTraces {
    /// `None` for an empty line.
    fn of_line(line: &str) -> Option<Self> {
        let line = line.trim();
        if line.is_empty() {
            return None;
        }
        let parsed = Line::parse(line);
        let (words, link) = text_and_link(uncounted(line));
        let hash = hash_letters(&words, HASH);
        let (names, is_plain) = match (parsed.support.is_empty(), link) {
            (false, _) => (parsed.support, false),
            (true, Some((target, is_shown))) => (vec![target.to_owned()], is_shown),
            (true, None) => return Some(Self { all: vec![hash], is_plain: true }),
        };
        Some(Self { all: names.iter().map(|name| format!("{hash}{}", tag(name))).collect(), is_plain })
    }
}

/// Strips the support, or the line counts, in parentheses at the end of a line.
fn uncounted(line: &str) -> &str {
    let links = || line.strip_suffix("]])").and_then(|rest| rest.rsplit_once(" ([["));
    let is_count = |text: &str| text.chars().all(|c| c.is_ascii_digit() || matches!(c, ' ' | '+' | '−'));
    let counts = || line.strip_suffix(')')?.rsplit_once(" (+").filter(|(_, counts)| is_count(counts));
    links().or_else(counts).map_or(line, |(text, _)| text)
}

/// Returns the text of a line with links replaced by what they show, the target of the first link, and whether that
/// link has a text.
fn text_and_link(line: &str) -> (String, Option<(&str, bool)>) {
    let (mut words, mut first) = (String::with_capacity(line.len()), None);
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("[[") {
        let (link, behind) = after.split_once("]]").unwrap_or((after, ""));
        let (target, shown) = link.split_once('|').unwrap_or((link, ""));
        first = first.or(Some((target, !shown.is_empty())));
        words.push_str(before);
        words.push_str(shown);
        words.push_str(namesake(target, shown));
        rest = behind;
    }
    words.push_str(rest);
    if words.contains(MODEL_MARK) {
        words = words.replace(MODEL_MARK, "");
    }
    // A file with a note is shown as a link, one without as code.
    words.retain(|c| c != '`');
    (words, first)
}

/// Returns a note without its traces, for readers that do not merge into it.
pub(super) fn without_traces(text: &str) -> String {
    block::without_pairs(text, '~')
}

/// Returns what distinguishes a link from others with the same text: the number suffix of its note, or the whole name
/// if the text is cut.
fn namesake<'a>(target: &'a str, shown: &str) -> &'a str {
    let name = target.rsplit('/').next().unwrap_or_default();
    let number = name.rfind('-').map_or("", |at| &name[at..]);
    match shown {
        "" => "",
        shown if shown.ends_with('…') => name,
        shown if number.len() > 1 && number[1..].bytes().all(|it| it.is_ascii_digit()) && !shown.ends_with(number) => {
            number
        }
        _ => "",
    }
}

/// Returns the tag of a note's name, as links write it.
pub(super) fn tag(name: &str) -> String {
    hash_letters(&format!("name {name}"), TAG)
}

/// Returns the first letters of a hash, at most ten.
fn hash_letters(text: &str, letters: usize) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let bits = digest.iter().take(8).fold(0_u64, |bits, byte| (bits << 8) | u64::from(*byte));
    let letter = |at: usize| LETTERS[((bits >> (58 - 6 * at)) & 63) as usize] as char;
    (0..letters.min(10)).map(letter).collect()
}

/// Replaces the tags of names; returns whether anything changed.
pub(super) fn retag<'a>(
    written: &mut BTreeMap<String, String>,
    names: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> bool {
    let tags: BTreeMap<String, String> = names.into_iter().map(|(from, to)| (tag(from), tag(to))).collect();
    change(written, |trace| match trace.get(HASH..).and_then(|tag| tags.get(tag)) {
        Some(to) => Some(format!("{}{to}", hash_of(trace))),
        None => Some(trace.to_owned()),
    })
}

/// Removes every trace tagged with a name; returns whether there were any.
pub(super) fn forget(written: &mut BTreeMap<String, String>, name: &str) -> bool {
    let tag = tag(name);
    change(written, |trace| (trace.get(HASH..) != Some(tag.as_str())).then(|| trace.to_owned()))
}

/// Removes the traces of lines that Baton itself removed from a section, so that they may be written again.
pub(super) fn take_back(written: &mut BTreeMap<String, String>, section: &str, before: &str, after: &str) {
    let hash =
        |line| LineTraces::of_line(line).and_then(|seen| seen.all.first().map(|trace| hash_of(trace).to_owned()));
    let kept: BTreeSet<String> = after.lines().filter_map(hash).collect();
    let gone = before.lines().filter(|line| hash(line).is_some_and(|hash| !kept.contains(&hash)));
    Traces::parse(written, section).excluding(gone).record(written, section, []);
}

/// Returns the tags of all traces.
pub(super) fn tags(written: &BTreeMap<String, String>) -> BTreeSet<String> {
    let all = written.iter().filter(|(key, _)| is_key(key)).flat_map(|(_, text)| Traces::read(text).all);
    all.filter_map(|trace| trace.get(HASH..).filter(|tag| !tag.is_empty()).map(str::to_owned)).collect()
}

/// Replaces every trace of a note, or removes it; returns whether anything changed.
fn change(written: &mut BTreeMap<String, String>, with: impl Fn(&str) -> Option<String>) -> bool {
    let mut is_changed = false;
    let keys: Vec<String> = written.keys().filter(|key| is_key(key)).cloned().collect();
    for key in keys {
        let Some(text) = written.get(&key) else { continue };
        let traces: Vec<String> = text.split(APART).filter_map(&with).collect();
        let new = traces.join(&APART.to_string());
        if new != *text {
            is_changed = true;
            match new.is_empty() {
                true => written.remove(&key),
                false => written.insert(key, new),
            };
        }
    }
    is_changed
}
