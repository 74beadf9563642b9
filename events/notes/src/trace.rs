//! What a note has told, so that nothing is told twice: a line that a person has taken out stays out.
//!
//! The marker of the note holds for each of its sections the traces of the lines that Baton told there and did not take back
//! itself: `#decisions~=n0dA5x.w9Kc1eQm2f`. A trace is a short hash of a line, without what may change of it although it says
//! the same: where its links lead, and how many lines of a file were changed. Where a line is told for a session, or leads to
//! a note, a tag of that one's name stands behind the hash; by it the trace goes when that one is forgotten.
//!
//! # Hazards
//!
//! - Hashes have 36 bits, tags 24 bits of a session's name. Code that takes lines out of Baton's blocks other
//!   than by `merge` must take their traces out too (`take_back`), or the lines are never written again.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest as _, Sha256};

use super::block;
use super::note::Line;
use baton_episode::digest::MODEL_MARK;

/// Most traces of what stands in a block, and of what was told elsewhere in its section; of more the last ones count. More than
/// the longest work log has entries.
const MOST: usize = 6_000;
/// Letters of the hash of a line, 36 bits: a hundred new lines in a section that told a hundred are all new but once in seven
/// million times.
const HASH: usize = 6;
/// Letters of the tag of a name.
const TAG: usize = 4;
/// What parts traces.
const APART: char = '.';
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Traces of lines, in the order in which they were told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Traces {
    all: Vec<String>,
    /// The hashes among them.
    hashes: BTreeSet<String>,
    /// All of them, to be found.
    exact: BTreeSet<String>,
}

/// The traces of one line.
struct Seen {
    all: Vec<String>,
    /// Whether the hash alone tells it from other lines; else the tags do, too.
    is_plain: bool,
}

/// The key of a section's traces in the marker of a note.
fn key_of(section: &str) -> String {
    format!("#{section}~")
}

fn is_key(key: &str) -> bool {
    key.starts_with('#') && key.ends_with('~')
}

impl Traces {
    /// Those of a section, by the marker of the note. What is no trace is left out.
    pub(super) fn of(written: &BTreeMap<String, String>, section: &str) -> Self {
        written.get(&key_of(section)).map(|text| Self::read(text)).unwrap_or_default()
    }

    fn read(text: &str) -> Self {
        let is_one =
            |trace: &&str| [HASH, HASH + TAG].contains(&trace.len()) && trace.bytes().all(|it| LETTERS.contains(&it));
        text.split(APART).filter(is_one).map(str::to_owned).collect()
    }

    /// Those that are none of some lines: what was told elsewhere than where these stand.
    pub(super) fn without<'a>(self, lines: impl IntoIterator<Item = &'a str>) -> Self {
        if self.all.is_empty() {
            return self;
        }
        let (mut plain, mut exact) = (BTreeSet::new(), BTreeSet::new());
        for seen in lines.into_iter().filter_map(Seen::of) {
            match seen.is_plain {
                true => plain.extend(seen.all.iter().map(|trace| hash_of(trace).to_owned())),
                false => exact.extend(seen.all),
            }
        }
        let is_other = |trace: &&String| !plain.contains(hash_of(trace)) && !exact.contains(*trace);
        last(self.all.iter().filter(is_other).cloned().collect())
    }

    /// Whether a line is among them, for all that it is told for.
    pub(super) fn has(&self, line: &str) -> bool {
        if self.all.is_empty() {
            return false;
        }
        Seen::of(line).is_some_and(|seen| match seen.is_plain {
            true => seen.all.iter().any(|trace| self.hashes.contains(hash_of(trace))),
            false => seen.all.iter().all(|trace| self.exact.contains(trace)),
        })
    }

    /// With those of some lines that are not among them, as many as there is room for.
    pub(super) fn and(mut self, lines: &[String]) -> Self {
        for line in lines {
            if self.all.len() < MOST && !self.has(line) {
                let seen = Seen::of(line).map(|seen| seen.all).unwrap_or_default();
                self.hashes.extend(seen.iter().map(|trace| hash_of(trace).to_owned()));
                self.exact.extend(seen.iter().cloned());
                self.all.extend(seen);
            }
        }
        self
    }

    /// A line for those for whom it is not among them; `None`: there is nobody.
    pub(super) fn rest(&self, line: &Line) -> Option<Line> {
        let mut rest = line.clone();
        rest.support.retain(|name| !self.has(&Line::of(line.text.clone(), name).written()));
        let is_told = if line.support.is_empty() { self.has(&line.text) } else { rest.support.is_empty() };
        (!is_told).then_some(rest)
    }

    /// Puts them into the marker of a note as those of a section, with those of the lines that stand in its block.
    pub(super) fn record<'a>(
        self,
        written: &mut BTreeMap<String, String>,
        section: &str,
        lines: impl IntoIterator<Item = &'a str> + Clone,
    ) {
        let mut known = BTreeSet::new();
        let new = lines.clone().into_iter().filter_map(Seen::of).flat_map(|seen| seen.all);
        let new: Vec<String> = new.filter(|trace| known.insert(trace.clone())).collect();
        let mut all = self.without(lines).all;
        all.extend(last(new).all);
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

fn last(mut traces: Vec<String>) -> Traces {
    traces.drain(..traces.len().saturating_sub(MOST));
    traces.into_iter().collect()
}

fn hash_of(trace: &str) -> &str {
    trace.get(..HASH).unwrap_or(trace)
}

impl Seen {
    /// `None`: there is nothing on it.
    fn of(line: &str) -> Option<Self> {
        let line = line.trim();
        if line.is_empty() {
            return None;
        }
        let parsed = Line::parse(line);
        let (words, link) = words(uncounted(line));
        let hash = print(&words, HASH);
        let (names, is_plain) = match (parsed.support.is_empty(), link) {
            (false, _) => (parsed.support, false),
            (true, Some((target, is_shown))) => (vec![target.to_owned()], is_shown),
            (true, None) => return Some(Self { all: vec![hash], is_plain: true }),
        };
        Some(Self { all: names.iter().map(|name| format!("{hash}{}", tag(name))).collect(), is_plain })
    }
}

/// A line without the links, or the counts, in parentheses at its end.
fn uncounted(line: &str) -> &str {
    let links = || line.strip_suffix("]])").and_then(|rest| rest.rsplit_once(" ([["));
    let is_count = |text: &str| text.chars().all(|c| c.is_ascii_digit() || matches!(c, ' ' | '+' | '−'));
    let counts = || line.strip_suffix(')')?.rsplit_once(" (+").filter(|(_, counts)| is_count(counts));
    links().or_else(counts).map_or(line, |(text, _)| text)
}

/// The words of a line, with what links show instead of the links; and what the first of them leads to, and whether it shows
/// anything else.
fn words(line: &str) -> (String, Option<(&str, bool)>) {
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
    // A file that has a note is named by a link, one that has none as code.
    words.retain(|c| c != '`');
    (words, first)
}

/// A note without its traces, as it is shown to who does not merge into it.
pub(super) fn without(text: &str) -> String {
    block::without_pairs(text, '~')
}

/// What tells a link from others that show the same: the number of its note, or all of its name where more is not shown.
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

/// What stands for the name of a note: its links name it so.
pub(super) fn tag(name: &str) -> String {
    print(&format!("name {name}"), TAG)
}

/// So many letters of a hash, at most ten.
fn print(text: &str, letters: usize) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let bits = digest.iter().take(8).fold(0_u64, |bits, byte| (bits << 8) | u64::from(*byte));
    let letter = |at: usize| LETTERS[((bits >> (58 - 6 * at)) & 63) as usize] as char;
    (0..letters.min(10)).map(letter).collect()
}

/// Gives every trace that is tagged with a name the tag of another one. Whether there was any.
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

/// Takes every trace out that is tagged with a name. Whether there was any.
pub(super) fn forget(written: &mut BTreeMap<String, String>, name: &str) -> bool {
    let tag = tag(name);
    change(written, |trace| (trace.get(HASH..) != Some(tag.as_str())).then(|| trace.to_owned()))
}

/// Takes the traces of a section out that are of lines which Baton has taken out of it itself: they may be told again.
pub(super) fn take_back(written: &mut BTreeMap<String, String>, section: &str, before: &str, after: &str) {
    let hash = |line| Seen::of(line).and_then(|seen| seen.all.first().map(|trace| hash_of(trace).to_owned()));
    let kept: BTreeSet<String> = after.lines().filter_map(hash).collect();
    let gone = before.lines().filter(|line| hash(line).is_some_and(|hash| !kept.contains(&hash)));
    Traces::of(written, section).without(gone).record(written, section, []);
}

/// The tags of all names that traces are tagged with.
pub(super) fn tags(written: &BTreeMap<String, String>) -> BTreeSet<String> {
    let all = written.iter().filter(|(key, _)| is_key(key)).flat_map(|(_, text)| Traces::read(text).all);
    all.filter_map(|trace| trace.get(HASH..).filter(|tag| !tag.is_empty()).map(str::to_owned)).collect()
}

/// Changes every trace of a note, or takes it out. Whether any is otherwise now.
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
