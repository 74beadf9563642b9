//! What made a failure go away, and what was tried in vain.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::Witness;
use super::how::newer;
use super::likeness::Likeness;
use super::rate::{counted, time, times};
use baton_conversation::filter::telling_line;
use baton_episode::digest::one_line;
use baton_events::schema::outcomes::Trouble;
use baton_graph::error_name;
use baton_protocol::answer::{Fix, FixMatch, FixRow, FixTried, Quote};

/// Maximum number of input lines that are compared literally.
const MAX_LINES: usize = 400;
/// Minimum length of a line that is compared literally, in bytes.
const TELLING_BYTES: usize = 12;
/// Maximum number of fixes, and of vain attempts, per failure.
const MAX_ROWS: usize = 3;
/// Maximum number of failing commands listed.
const MAX_COMMANDS: usize = 4;
/// Minimum likeness of the same failure.
const SAME: f32 = 0.97;
/// Maximum length of a line in the answer, in characters.
const MAX_CHARS: usize = 300;

/// A failure that is asked about, given as any text of it.
#[derive(Clone, Debug)]
pub struct FixQuery {
    /// The most informative line.
    pub line: String,
    telling: Likeness,
    /// The normalised names of all lines: any line of a whole output may be the one that was stored.
    lines: BTreeSet<String>,
}

impl FixQuery {
    /// Reads one line or a whole output. The text must be redacted, as stored text is.
    pub fn read(text: &str) -> Self {
        let line = telling_line(text).unwrap_or_else(|| one_line(text, MAX_CHARS));
        let lines = text.lines().take(MAX_LINES).map(str::trim).filter(|line| line.len() >= TELLING_BYTES);
        Self {
            telling: Likeness::of(&line),
            lines: lines.map(|line| error_name(&one_line(line, MAX_CHARS))).collect(),
            line,
        }
    }

    fn likeness(&self, error: &str) -> Option<f32> {
        // A stored reason is prefixed with the name of its test.
        let bare = error.split_once(": ").map_or(error, |(_, reason)| reason);
        if self.telling.name == error || self.lines.contains(error) {
            return Some(1.0);
        }
        let of_line = (bare.len() >= TELLING_BYTES && self.lines.contains(bare)).then_some(SAME);
        of_line.or_else(|| self.telling.to(&Likeness::named(error.to_owned())))
    }
}

/// Everything known about one failure from all sessions.
#[derive(Default)]
struct FailureHistory<'a> {
    likeness: f32,
    last: Option<(&'a Trouble, &'a Witness)>,
    commands: BTreeMap<&'a str, u32>,
    seen: u32,
    sessions: BTreeSet<&'a str>,
    resolved: u32,
    unsure: u32,
    /// Sessions and lines that were counted already.
    counted: BTreeSet<(&'a str, u64)>,
    fixes: BTreeMap<(Vec<&'a str>, Vec<&'a str>), FixRow>,
    tried: BTreeMap<(Vec<&'a str>, Vec<&'a str>), FixTried>,
    unresolved: Option<Quote>,
}

/// Returns what is known about a failure, at most `limit` matches. The newest witness must come first.
pub fn fix(asked: &FixQuery, witnesses: &[Witness], limit: usize) -> Fix {
    let mut known: BTreeMap<&str, FailureHistory<'_>> = BTreeMap::new();
    let mut judged: BTreeMap<&str, Option<f32>> = BTreeMap::new();
    for witness in witnesses {
        for trouble in &witness.outcomes.troubles {
            let likeness = *judged.entry(&trouble.error).or_insert_with(|| asked.likeness(&trouble.error));
            let Some(likeness) = likeness else { continue };
            let known = known.entry(&trouble.error).or_default();
            known.likeness = likeness;
            known.add(trouble, witness);
        }
    }
    let mut ranked: Vec<FailureHistory<'_>> = known.into_values().collect();
    ranked.sort_by(|a, b| {
        let at = |known: &FailureHistory<'_>| known.last.and_then(|(trouble, _)| last_time(trouble));
        b.likeness.total_cmp(&a.likeness).then_with(|| (b.resolved, at(b)).cmp(&(a.resolved, at(a))))
    });
    // Similar failures are counted in the message only if the same failure is not known.
    let exact = ranked.first().is_some_and(FailureHistory::is_same);
    let meant = || ranked.iter().filter(|known| known.is_same() == exact);
    let (seen, resolved) = meant().fold((0, 0), |(seen, resolved), one| (seen + one.seen, resolved + one.resolved));
    // A failure that was left unresolved anywhere is not reported as unsure.
    let unsure = resolved == 0 && meant().all(|one| one.unresolved.is_none());
    let sessions: BTreeSet<&str> = meant().flat_map(|known| known.sessions.iter().copied()).collect();
    let sessions = counted(u32::try_from(sessions.len()).unwrap_or(u32::MAX), "session");
    let like = if exact { "" } else { "others like it were " };
    let message = match (seen, resolved) {
        (0, _) if asked.telling.is_general() && asked.lines.len() < 2 => {
            "too general: say a line of the error, its code, or the name of the test".to_owned()
        }
        (0, _) => {
            "not seen as a failure in any session that is known; a search finds where its words were said".to_owned()
        }
        (seen, 0) if unsure => {
            format!("{like}seen {} in {sessions}; it ran again, and how that ended is not known", times(seen))
        }
        (seen, 0) => format!("{like}seen {} in {sessions}, never resolved", times(seen)),
        (seen, resolved) => format!("{like}seen {} in {sessions}, went away {}", times(seen), times(resolved)),
    };
    let matches = ranked.into_iter().take(limit).map(FailureHistory::into_match).collect();
    Fix { message, error: asked.line.clone(), matches, ..Fix::default() }
}

impl<'a> FailureHistory<'a> {
    fn add(&mut self, trouble: &'a Trouble, witness: &'a Witness) {
        if self.last.is_none_or(|(known, _)| last_time(trouble) > last_time(known)) {
            self.last = Some((trouble, witness));
        }
        self.seen = self.seen.saturating_add(trouble.times);
        self.sessions.insert(&witness.session);
        if !trouble.command.is_empty() {
            *self.commands.entry(&trouble.command).or_default() += 1;
        }
        let mut is_new = |line: u64| self.counted.insert((witness.session.as_str(), line));
        for tried in trouble.tried.iter().filter(|tried| is_new(tried.line)) {
            let entry = self.tried.entry((sorted(&tried.files), sorted(&tried.commands))).or_default();
            let newest = entry.count == 0 || time(tried.at) > entry.at;
            entry.count += 1;
            if newest {
                let then = if error_name(&tried.error) == trouble.error { String::new() } else { tried.error.clone() };
                *entry = FixTried {
                    files: tried.files.clone(),
                    commands: tried.commands.clone(),
                    then,
                    count: entry.count,
                    session_id: witness.session.clone(),
                    line: tried.line,
                    at: time(tried.at),
                };
            }
        }
        match &trouble.fix {
            // One success that fixed several failures counts once.
            Some(fix) if !self.counted.insert((witness.session.as_str(), fix.line)) => {}
            Some(fix) => {
                self.resolved += 1;
                let entry = self.fixes.entry((sorted(&fix.files), sorted(&fix.commands))).or_default();
                let newest = entry.count == 0 || time(fix.at) > entry.at;
                entry.count += 1;
                if newest {
                    *entry = FixRow {
                        text: fix.text.clone(),
                        files: fix.files.clone(),
                        commands: fix.commands.clone(),
                        count: entry.count,
                        session_id: witness.session.clone(),
                        project: witness.project.clone(),
                        line: fix.line,
                        at: time(fix.at),
                    };
                }
            }
            None if trouble.mended_by_fork => {}
            None if trouble.unsure => self.unsure += 1,
            None => {
                let (text, session_id) = (trouble.text.clone(), witness.session.clone());
                let line = trouble.line.max(trouble.last_line);
                let place = Quote { text, session_id, line, at: time(last_time(trouble)) };
                self.unresolved = newer(self.unresolved.take(), Some(place));
            }
        }
    }

    /// Returns true if it is the same failure except for numbers, locations and a prefix.
    fn is_same(&self) -> bool {
        self.likeness >= SAME
    }

    fn into_match(self) -> FixMatch {
        let same = self.is_same();
        let mut fixes: Vec<FixRow> = self.fixes.into_values().collect();
        // Fixes that name files or commands come before those that do not.
        let says = |row: &FixRow| !row.files.is_empty() || !row.commands.is_empty();
        fixes.sort_by_key(|row| (Reverse(row.count), Reverse(says(row)), Reverse(row.at.clone())));
        fixes.truncate(MAX_ROWS);
        let mut tried: Vec<FixTried> = self.tried.into_values().collect();
        tried.sort_by_key(|row| (Reverse(row.count), Reverse(row.at.clone())));
        tried.truncate(MAX_ROWS);
        let mut commands: Vec<(&str, u32)> = self.commands.into_iter().collect();
        commands.sort_by_key(|(name, count)| (Reverse(*count), *name));
        FixMatch {
            error: self.last.map(|(trouble, _)| trouble.text.clone()).unwrap_or_default(),
            same,
            commands: commands.into_iter().take(MAX_COMMANDS).map(|(name, _)| name.to_owned()).collect(),
            seen: self.seen,
            sessions: u32::try_from(self.sessions.len()).unwrap_or(u32::MAX),
            resolved: self.resolved,
            unsure: self.unsure,
            last_seen: self.last.and_then(|(trouble, _)| time(last_time(trouble))),
            fixes,
            tried_in_vain: tried,
            unresolved: self.unresolved,
        }
    }
}

/// Returns when the failure last occurred.
fn last_time(trouble: &Trouble) -> Option<i64> {
    trouble.last_at.or(trouble.at)
}

fn sorted(list: &[String]) -> Vec<&str> {
    let set: BTreeSet<&str> = list.iter().map(String::as_str).collect();
    set.into_iter().collect()
}
