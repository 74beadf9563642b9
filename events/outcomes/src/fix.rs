//! Answers `fix`: what made a failure go away, and what did not.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::Witness;
use super::general::{general_message, last_time};
use super::how::later_quote;
use super::likeness::{Likeness, without_random_tails};
use super::mends::{is_over, only_checks};
use super::rate::{format_count, format_time, format_times};
use baton_conversation::filter::{is_echo, telling_line};
use baton_episode::digest::{NOT_CHECKED, PASSED_LATER, one_line};
use baton_events::schema::outcomes::FailureHistory;
use baton_graph::error_name;
use baton_protocol::answer::{Fix, FixAccount, FixMatch, FixRow, FixTried, Quote};

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
/// Share of words that counts as asking about the whole line.
const WHOLE_LINE: f32 = 0.9;
/// Number of distinguishing words that a part of a line must have in a row.
const PART_WORDS: usize = 3;
/// Maximum length of a line in the answer, in characters.
const MAX_CHARS: usize = 300;

/// A failure that is asked about, given as any text of it.
#[derive(Clone, Debug)]
pub struct FixQuery {
    /// The most informative line.
    pub line: String,
    telling: Likeness,
    /// The longest part of the line that every encoding of strings leaves as it is, without numbers.
    plain_part: Option<String>,
    /// The normalised names of all lines: any line of a whole output may be the one that was stored.
    lines: BTreeSet<String>,
}

impl FixQuery {
    /// Reads one line or a whole output. The text must be redacted, as stored text is.
    pub fn read(text: &str) -> Self {
        let line = telling_line(text).unwrap_or_else(|| one_line(text, MAX_CHARS));
        let lines = text.lines().take(MAX_LINES).map(str::trim).filter(|line| line.len() >= TELLING_BYTES);
        let names = lines.filter(|line| !is_echo(line)).map(|line| Likeness::of(&one_line(line, MAX_CHARS)));
        Self {
            telling: if is_echo(&line) { Likeness::default() } else { Likeness::of(&line) },
            plain_part: plain_part(&line),
            lines: names.filter(|name| !name.is_general()).map(|known| known.name).collect(),
            line,
        }
    }

    /// Returns true if nothing in it distinguishes it from other failures: `FAIL`, `exited with code 1`.
    pub fn is_general(&self) -> bool {
        self.telling.is_general() && self.lines.is_empty()
    }

    /// Returns true if it has words to search for, although its line only repeats that something failed: `Heron exited
    /// with code 1`.
    pub fn has_words(&self) -> bool {
        Likeness::of(&self.line).is_telling()
    }

    /// Returns the longest stretch of the failure's line that stands literally in one of the numbered texts, in any
    /// encoding of strings, and the numbers of the first `most` that have it: enough words in a row, one of which is an
    /// identifier. What is asked may say more than the program did.
    pub fn longest_part<T: AsRef<str>>(
        &self,
        texts: impl IntoIterator<Item = (u64, T)>,
        most: usize,
    ) -> Option<(Self, Vec<u64>)> {
        if !self.line.split_whitespace().any(is_identifier) {
            return None;
        }
        let windows = self.windows();
        let (mut longest, mut numbers) = (0..0, Vec::new());
        for (number, text) in texts {
            let mut part = 0..0;
            for window in windows.iter().filter(|window| text.as_ref().contains(&self.line[(*window).clone()])) {
                let joined = part.start..window.end;
                let goes_on = window.start <= part.end && !part.is_empty();
                let is_one = goes_on && text.as_ref().contains(&self.line[joined.clone()]);
                part = if is_one { joined } else { window.clone() };
                if !self.line[part.clone()].split_whitespace().any(is_identifier) {
                    continue;
                }
                if part.len() > longest.len() {
                    (longest, numbers) = (part.clone(), vec![number]);
                } else if part == longest && numbers.len() < most && numbers.last() != Some(&number) {
                    numbers.push(number);
                }
            }
        }
        (!longest.is_empty()).then(|| (Self::read(&self.line[longest]), numbers))
    }

    /// Returns the shortest stretches of the line that have [`PART_WORDS`] distinguishing words, in order.
    fn windows(&self) -> Vec<Range<usize>> {
        let place = |word: &str| word.as_ptr() as usize - self.line.as_ptr() as usize;
        let words: Vec<(Range<usize>, bool)> = self
            .line
            .split_whitespace()
            .map(|word| (place(word)..place(word) + word.len(), !Likeness::of(word).is_general()))
            .collect();
        let ends = |from: usize| {
            let telling = words[from..].iter().filter(|(_, telling)| *telling);
            telling.map(|(range, _)| range.end).nth(PART_WORDS - 1)
        };
        let stretches = words.iter().enumerate().filter_map(|(at, (range, _))| Some(range.start..ends(at)?));
        stretches.filter(|range| !self.line[range.clone()].contains(['"', '\\'])).collect()
    }

    /// Returns the line of a text that has most of the failure's words, with their share: 1 for the failure's own line.
    pub(super) fn best_line<'t>(&self, text: &'t str) -> Option<(f32, &'t str)> {
        if self.is_general() {
            return None;
        }
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.rev().map(|line| (self.share_in(line), line)).max_by(|(one, _), (other, _)| one.total_cmp(other))
    }

    /// Returns the share of its words that a text has.
    pub fn share_of(&self, text: &str) -> f32 {
        self.telling.share_in(&Likeness::of(text))
    }

    /// Returns the share of its words that stand anywhere in a text, also inside of others.
    pub fn fit_of(&self, text: &str) -> f32 {
        let text = text.to_lowercase();
        let (mut all, mut found) = (0u16, 0u16);
        for word in self.telling.words() {
            all += 1;
            found += u16::from(text.contains(word));
        }
        f32::from(found) / f32::from(all.max(1))
    }

    /// Returns true if a text in any encoding of strings, such as a line of a transcript, has the failure's line.
    pub fn is_in_encoded(&self, text: &str) -> bool {
        let Some(part) = self.plain_part.as_ref().filter(|_| self.telling.is_telling()) else { return false };
        text.contains(part) && {
            let text = text.to_lowercase();
            self.telling.words().all(|word| text.contains(word))
        }
    }

    fn share_in(&self, line: &str) -> f32 {
        let named = Likeness::of(line);
        let has_line = !self.telling.is_general() && named.name.contains(&self.telling.name);
        match (has_line && self.telling.is_telling()) || self.lines.contains(&named.name) {
            true => 1.0,
            // The question may say more than the line: where it failed, in which test.
            false if named.share_in(&self.telling) > WHOLE_LINE => WHOLE_LINE,
            false => self.telling.share_in(&named),
        }
    }

    /// Returns true if what is asked is a part of an error, as when it was cut: one of enough words, fewer with an
    /// identifier.
    fn is_part_of(&self, error: &str) -> bool {
        let least = if self.line.split_whitespace().any(is_identifier) { PART_WORDS } else { 2 * PART_WORDS };
        error.contains(&self.telling.name) && self.telling.words().count() >= least
    }

    fn likeness(&self, error: &str) -> Option<f32> {
        // A stored reason is prefixed with the name of its test.
        let bare = error.split_once(": ").map_or(error, |(_, reason)| reason);
        if self.is_general() {
            return None;
        }
        if (self.telling.name == error && !self.telling.is_general()) || self.lines.contains(error) {
            return Some(1.0);
        }
        let of_line = bare.len() >= TELLING_BYTES && self.lines.contains(bare) || self.is_part_of(error);
        of_line.then_some(SAME).or_else(|| self.telling.similarity_to(&Likeness::named(error.to_owned())))
    }
}

/// Everything known about one failure from all sessions.
#[derive(Default)]
struct KnownFailure<'a> {
    likeness: f32,
    last: Option<(&'a FailureHistory, &'a Witness)>,
    /// The occurrence that is told: the last one that was resolved, else the last one.
    told: Option<(&'a FailureHistory, &'a Witness)>,
    commands: BTreeMap<&'a str, u32>,
    seen: u32,
    sessions: BTreeSet<&'a str>,
    resolved: u32,
    /// How often another command was used instead, or the check was switched off: it is still there.
    around: u32,
    unsure: u32,
    /// Sessions and lines that were counted already.
    counted: BTreeSet<(&'a str, u64)>,
    fixes: BTreeMap<(Vec<&'a str>, Vec<&'a str>), FixRow>,
    tried: BTreeMap<(Vec<&'a str>, Vec<&'a str>), FixTried>,
    unresolved: Option<Quote>,
}

/// Returns what is known about a failure, at most `limit` matches. The newest witness must come first.
pub fn fix(asked: &FixQuery, witnesses: &[Witness], limit: usize) -> Fix {
    let mut known: BTreeMap<String, KnownFailure<'_>> = BTreeMap::new();
    let mut judged: BTreeMap<&str, Option<(f32, String)>> = BTreeMap::new();
    for witness in witnesses {
        for failure in &witness.outcomes.failures {
            let judge = || {
                let name = without_random_tails(&failure.error);
                asked.likeness(&name).map(|likeness| (likeness, name))
            };
            let Some((likeness, name)) = judged.entry(&failure.error).or_insert_with(judge).clone() else { continue };
            let known = known.entry(name).or_default();
            known.likeness = likeness;
            known.add(failure, witness);
        }
    }
    let mut ranked: Vec<KnownFailure<'_>> = known.into_values().collect();
    ranked.sort_by(|a, b| {
        let at = |known: &KnownFailure<'_>| known.last.and_then(|(failure, _)| last_time(failure));
        b.likeness.total_cmp(&a.likeness).then_with(|| (b.resolved, at(b)).cmp(&(a.resolved, at(a))))
    });
    // Similar failures are counted in the message only if the same failure is not known.
    let exact = ranked.first().is_some_and(KnownFailure::is_same);
    let meant = || ranked.iter().filter(|known| known.is_same() == exact);
    let (seen, resolved) = meant().fold((0, 0), |(seen, resolved), one| (seen + one.seen, resolved + one.resolved));
    let around = match meant().map(|one| one.around).sum() {
        0 => String::new(),
        around => format!(", got around {}", format_times(around)),
    };
    // A failure that was left unresolved anywhere is not reported as unsure.
    let unsure = resolved == 0 && meant().all(|one| one.unresolved.is_none());
    let sessions: BTreeSet<&str> = meant().flat_map(|known| known.sessions.iter().copied()).collect();
    let sessions = format_count(u32::try_from(sessions.len()).unwrap_or(u32::MAX), "session");
    let like = if exact { "" } else { "others like it were " };
    let message = match (seen, resolved) {
        (0, _) => "not seen as a failure in any session that is known".to_owned(),
        (seen, 0) if unsure => {
            format!("{like}seen {} in {sessions}; it ran again, and how that ended is not known", format_times(seen))
        }
        (seen, 0) => format!("{like}seen {} in {sessions}, no resolution seen{around}", format_times(seen)),
        (seen, resolved) => {
            format!("{like}seen {} in {sessions}, went away {}{around}", format_times(seen), format_times(resolved))
        }
    };
    if seen == 0 && asked.is_general() {
        return Fix { message: general_message(&asked.line, witnesses), error: asked.line.clone(), ..Fix::default() };
    }
    // Beside the failure itself, those that are only similar say nothing.
    let told = ranked.into_iter().filter(|known| known.is_same() || !exact);
    let matches = told.take(limit).map(KnownFailure::into_match).collect();
    Fix { message, error: asked.line.clone(), matches, ..Fix::default() }
}

impl<'a> KnownFailure<'a> {
    fn add(&mut self, failure: &'a FailureHistory, witness: &'a Witness) {
        if self.last.is_none_or(|(known, _)| last_time(failure) > last_time(known)) {
            self.last = Some((failure, witness));
        }
        let worth = |failure: &FailureHistory| (failure.fix.is_some(), last_time(failure));
        if self.told.is_none_or(|(known, _)| worth(failure) > worth(known)) {
            self.told = Some((failure, witness));
        }
        self.seen = self.seen.saturating_add(failure.times);
        self.sessions.insert(&witness.session);
        if !failure.command.is_empty() {
            *self.commands.entry(&failure.command).or_default() += 1;
        }
        let mut is_new = |line: u64| self.counted.insert((witness.session.as_str(), line));
        for tried in failure.tried.iter().filter(|tried| is_new(tried.line)) {
            // A check is no attempt.
            let mut commands = sorted(&tried.commands);
            commands.retain(|line| !only_checks(line));
            if tried.files.is_empty() && commands.is_empty() {
                continue;
            }
            let done = tried.commands.iter().filter(|line| commands.contains(&line.as_str())).cloned().collect();
            let entry = self.tried.entry((sorted(&tried.files), commands)).or_default();
            let newest = entry.count == 0 || format_time(tried.at) > entry.at;
            entry.count += 1;
            if newest {
                let then = if error_name(&tried.error) == failure.error { String::new() } else { tried.error.clone() };
                *entry = FixTried {
                    files: tried.files.clone(),
                    commands: done,
                    then,
                    count: entry.count,
                    session_id: witness.session.clone(),
                    line: tried.line,
                    at: format_time(tried.at),
                };
            }
        }
        match &failure.fix {
            // One success that fixed several failures counts once.
            Some(fix) if !self.counted.insert((witness.session.as_str(), fix.line)) => {}
            Some(fix) => {
                let ended = is_over(&fix.text);
                self.resolved += u32::from(ended);
                self.around += u32::from(!ended);
                if !ended {
                    self.unresolved = later_quote(self.unresolved.take(), Some(place(failure, witness)));
                }
                let entry = self.fixes.entry((sorted(&fix.files), sorted(&fix.commands))).or_default();
                let newest = entry.count == 0 || format_time(fix.at) > entry.at;
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
                        at: format_time(fix.at),
                    };
                }
            }
            None if failure.mended_by_fork => {}
            None if failure.unsure => self.unsure += 1,
            None => {
                self.unresolved = later_quote(self.unresolved.take(), Some(place(failure, witness)));
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
        // Fixes that claim something come first, then the frequent ones, those that name files or commands before others.
        let says = |row: &FixRow| !row.files.is_empty() || !row.commands.is_empty();
        fixes.sort_by_key(|row| {
            (Reverse(names_fix(row)), Reverse(row.count), Reverse(says(row)), Reverse(row.at.clone()))
        });
        fixes.truncate(MAX_ROWS);
        let mut tried: Vec<FixTried> = self.tried.into_values().collect();
        tried.sort_by_key(|row| (Reverse(row.count), Reverse(row.at.clone())));
        tried.truncate(MAX_ROWS);
        let mut commands: Vec<(&str, u32)> = self.commands.into_iter().collect();
        commands.sort_by_key(|(name, count)| (Reverse(*count), *name));
        FixMatch {
            error: self.last.map(|(failure, _)| failure.text.clone()).unwrap_or_default(),
            same,
            commands: commands.into_iter().take(MAX_COMMANDS).map(|(name, _)| name.to_owned()).collect(),
            seen: self.seen,
            sessions: u32::try_from(self.sessions.len()).unwrap_or(u32::MAX),
            resolved: self.resolved,
            unsure: self.unsure,
            last_seen: self.last.and_then(|(failure, _)| format_time(last_time(failure))),
            fixes,
            tried_in_vain: tried,
            unresolved: self.unresolved,
            account: self.told.map(|(failure, witness)| FixAccount {
                text: failure.text.clone(),
                role: "output".to_owned(),
                same,
                times: failure.times.max(1),
                session_id: witness.session.clone(),
                project: witness.project.clone(),
                line: failure.line.max(failure.last_line),
                at: format_time(last_time(failure)),
                ..FixAccount::default()
            }),
        }
    }
}

/// Returns true for a word that a program made up: `is_imported`, `useState`, `E0382`.
fn is_identifier(word: &str) -> bool {
    let inner = word.trim_matches(|c: char| !c.is_alphanumeric());
    let mixed = inner.chars().skip(1).any(char::is_uppercase) && inner.chars().any(char::is_lowercase);
    mixed || inner.contains('_') || inner.chars().any(|c| c.is_ascii_digit()) && inner.chars().any(char::is_alphabetic)
}

fn plain_part(line: &str) -> Option<String> {
    let is_plain = |c: char| c == ' ' || c.is_ascii_graphic() && !c.is_ascii_digit() && !"\"\\'`&<>:".contains(c);
    let longest = line.split(|c| !is_plain(c)).map(str::trim).max_by_key(|part| part.len())?;
    (longest.len() >= TELLING_BYTES).then(|| longest.to_owned())
}

/// Returns true if a row says what made the failure go away.
pub fn names_fix(row: &FixRow) -> bool {
    row.text != PASSED_LATER && !row.text.ends_with(NOT_CHECKED)
}

/// Returns the answer with its short form: cause, resolution, what was tried and the places. A resolution is that of the
/// failure itself and claims something; a cause is quoted from the agent.
#[must_use]
pub fn summary(fix: Fix) -> Fix {
    let best = fix.matches.first().filter(|known| known.same);
    let accounts = || fix.matches.iter().filter_map(|known| known.account.as_ref()).chain(&fix.accounts);
    let row = best.and_then(|known| known.fixes.iter().find(|row| names_fix(row)));
    let resolution = row.map(|row| quote(&row.text, &row.session_id, row.line, row.at.as_ref()));
    let changed = |files: &[String], commands: &[String]| files.iter().chain(commands).cloned().collect::<Vec<_>>();
    let failed = best.into_iter().flat_map(|known| &known.tried_in_vain);
    let failed = failed.map(|tried| {
        quote(&changed(&tried.files, &tried.commands).join(", "), &tried.session_id, tried.line, tried.at.as_ref())
    });
    let again = accounts().filter(|account| !account.tried.is_empty());
    let again =
        again.map(|account| quote(&account.tried.join(", "), &account.session_id, account.line, account.at.as_ref()));
    let place = |account: &FixAccount| quote(&account.text, &account.session_id, account.line, account.at.as_ref());
    Fix {
        cause: accounts().next().and_then(|account| account.said.clone()),
        resolution,
        tried: failed.chain(again).collect(),
        places: accounts().map(place).collect(),
        abstained: fix.matches.is_empty() && fix.accounts.is_empty(),
        ..fix.clone()
    }
}

fn quote(text: &str, session: &str, line: u64, at: Option<&String>) -> Quote {
    Quote { text: text.to_owned(), session_id: session.to_owned(), line, at: at.cloned() }
}

/// Adds the accounts of sessions that have the words of a failure; `by_words` is false for those that are only near.
#[must_use]
pub fn with_accounts(fix: Fix, (accounts, by_words): (Vec<FixAccount>, bool)) -> Fix {
    let Some(first) = accounts.first() else {
        let message = match fix.matches.is_empty() {
            true => format!("{}, and no session has most of its words", fix.message),
            false => fix.message,
        };
        return Fix { message, ..fix };
    };
    let sessions = format_count(u32::try_from(accounts.len()).unwrap_or(u32::MAX), "session");
    if first.same && !fix.matches.iter().any(|known| known.error.contains(&fix.error)) {
        // Failures that are only similar say nothing beside the failure itself.
        let message = format!("its line stands in {sessions}; what was said and done about it there");
        return Fix { message, matches: Vec::new(), accounts, ..fix };
    }
    let message = match by_words {
        _ if !fix.matches.is_empty() => fix.message,
        true => format!("most of its words, or a part of it, stand in {sessions}, not recorded as a failure"),
        false => format!("{}; the nearest passages, which may be about something else", fix.message),
    };
    // Beside similar failures, places that only have some words say nothing.
    let accounts = if fix.matches.is_empty() { accounts } else { Vec::new() };
    Fix { message, accounts, ..fix }
}

/// Returns where the failure last occurred.
fn place(failure: &FailureHistory, witness: &Witness) -> Quote {
    let line = failure.line.max(failure.last_line);
    quote(&failure.text, &witness.session, line, format_time(last_time(failure)).as_ref())
}

fn sorted(list: &[String]) -> Vec<&str> {
    let set: BTreeSet<&str> = list.iter().map(String::as_str).collect();
    set.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_what_is_asked_is_found_if_it_has_an_identifier() {
        let part = |asked: &str, line: &str| {
            let found = FixQuery::read(asked).longest_part([(7, line), (8, ""), (9, line), (10, line)], 2);
            found.map(|(part, lines)| (part.line, lines))
        };
        let asked = "CraneError: no such hook: left_hook in the morning shift of the yard";
        let told = part(asked, r#"{"out":"CraneError: no such hook: left_hook\n"}"#);
        assert_eq!(told, Some(("CraneError: no such hook: left_hook".to_owned(), vec![7, 9])));
        // Two stretches of it that stand apart are no part.
        let apart = part(asked, "no such hook: left_hook\nthe morning shift of the yard");
        assert_eq!(apart.map(|(part, _)| part), Some("no such hook: left_hook".to_owned()));
        assert_eq!(part(asked, "the morning shift of the yard"), None);
        assert_eq!(part(asked, "no such hook"), None);
        assert_eq!(part("", "no such hook"), None);
    }
}
