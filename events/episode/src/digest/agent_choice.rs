//! Choices that the agent states: in a conclusion, before a change, in a commit.
//!
//! Words alone decide little: a change follows or has been made, the changes show that one thing took the place of
//! another, a commit takes only some files, a command overrides a safeguard.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::command::{GitAct, Paths, git_steps, overridden};
use super::excerpt::{head, one_line};
use super::exchange;
use super::file;
use super::repetition::significant_words;
use super::sentence::{self, Sentence, clauses, plain, sentences};
use super::settled::replacement;
use super::stated::{self, MIN_WORDS, Told, is_connected};
use super::substitution::Substitutions;
use super::timeline::{Deed, Message, Round, Timeline};
use super::{DECISION_CHARS, Pointed};
use crate::lexicon::{Sign, Signs};

/// Only this much of a longer reply, a document, is searched, in bytes.
const MAX_REPLY_BYTES: usize = 20_000;
/// A shorter choice says too little alone: the sentence before is added, in characters.
const TELLING_CHARS: usize = 60;
/// Maximum number of choices that are taken from one reply.
const MAX_OF_REPLY: usize = 3;
/// Worth of a sentence by which one thing took the place of another, as the changes show, and of one that introduces its
/// details.
const REPLACING_WORTH: usize = 2;
const DETAILED_WORTH: usize = 3;
/// Worth of a point below a heading of decisions.
const LISTED_WORTH: usize = 3;
/// Directory of an agent's own plans, which are no part of the work.
const PLANS: &str = "/.claude/plans/";
/// Maximum number of files that are named for a commit that takes only some.
const MAX_FILES: usize = 3;

/// A decision and the place of its text among the items.
pub(super) struct Found {
    pub(super) place: usize,
    pub(super) said: Pointed,
    /// A person said it; otherwise the agent did, and a person's objection ends it.
    pub(super) by_person: bool,
}

/// Returns the agent's choices in a round: what it takes, unless the next prompt objects to it in a round without changes;
/// what it proposes if the next round carries that out; why it does what follows at once, and how far; and the choices of
/// its conclusion if it changed something.
pub(super) fn stated(timeline: &Timeline<'_>, round: &Round<'_>, next: Option<&Round<'_>>) -> Vec<Found> {
    let objects = |next: &Round<'_>| {
        let first = next.prompt.as_ref().and_then(|said| clauses(said.text).next());
        first.is_some_and(|first| Signs::read(first).begins(Sign::Object))
    };
    let is_overruled = next.is_some_and(objects);
    let is_followed = next.is_some_and(|next| has_changed(timeline, next)) && !is_overruled;
    let conclusion = exchange::conclusion(timeline, round).map(|said| said.place);
    let worked = timeline.deeds[round.deeds.clone()].iter().any(is_change);
    let changed = OnceCell::new();
    let changed = || changed.get_or_init(|| of_the_work(timeline, round, next));
    let mut found = Vec::new();
    for (index, reply) in round.replies.iter().enumerate() {
        let concluded = conclusion == Some(reply.place);
        let concludes = worked && concluded;
        let stands = worked || is_followed || concluded && !is_overruled;
        let deeds = deeds_until(timeline, round, reply, round.replies.get(index + 1));
        let next_deed = deeds.iter().find(|deed| !deed.aside);
        let (leads_to_act, leads_to_edit) = (next_deed.is_some_and(acts), next_deed.is_some_and(is_change));
        let sentences = sentences(head(reply.text, MAX_REPLY_BYTES));
        let mut choices: Vec<Choice<'_>> = Vec::new();
        let mut introduced = ("", false);
        for (at, sentence) in sentences.iter().enumerate() {
            if sentence.quoted || is_aside(sentence) || sentence.point && reports_lines(sentence.text) {
                continue;
            }
            let head = introduction(sentence).unwrap_or_default();
            if introduced.0 != head {
                introduced = (head, concludes && changed().shows(head));
                let text = sentence::sentences(head).last().map_or(head, |last| last.text);
                choices.extend(introduced.1.then_some(Choice { worth: DETAILED_WORTH, at, text }));
            }
            // The details of a choice.
            if introduced.1 {
                continue;
            }
            let told = Told::read(sentence.text).or_else(|| Told::read(after_lead(sentence.text)?));
            let Some(told) = told else { continue };
            // What is done to other things than files stands if it follows, or is named.
            let stands = stands || (leads_to_act || sentence.text.contains('`')) && has_worked(timeline, round);
            let taken = stands && told.takes() || is_followed && told.proposes();
            let explained = leads_to_act && (told.limits_or_explains() || told.draws_consequence() || told.contrasts())
                || leads_to_edit && told.prefers();
            let is_listed = || sentence.point && Signs::read(sentence.head).has(Sign::DecisionHead);
            let worth = match told.concludes_choice() {
                0 if concludes && is_listed() => LISTED_WORTH,
                0 if concludes && !is_of_checks(sentence) && changed().tells(sentence.text, &told) => REPLACING_WORTH,
                0 if concludes
                    && told.limits_result()
                    && !is_led_aside(sentence)
                    && changed().mentions(sentence.text) =>
                {
                    1
                }
                worth if concludes => worth,
                _ => 0,
            };
            let tells = (taken || explained) && worth == 0 && !concluded;
            if tells && told.may_only_tell() && !changed().mentions(sentence.text) {
                continue;
            }
            let worth = worth + usize::from(taken) + usize::from(explained);
            choices.extend((worth > 0).then_some(Choice { worth, at, text: sentence.text }));
        }
        choices.sort_by_key(|choice| Reverse(choice.worth));
        choices.truncate(MAX_OF_REPLY);
        choices.sort_by_key(|choice| choice.at);
        let texts = choices.iter().filter_map(|choice| choice.told(&sentences));
        found.extend(texts.map(|text| Found { place: reply.place, said: pointed(&text, reply), by_person: false }));
    }
    found
}

/// A choice of a reply.
struct Choice<'a> {
    worth: usize,
    /// Index of its sentence.
    at: usize,
    text: &'a str,
}

impl Choice<'_> {
    /// Returns the text with the sentence before if it says too little without; `None` if it needs one and there is none.
    fn told(&self, sentences: &[Sentence<'_>]) -> Option<String> {
        let text = plain(self.text).trim_end_matches([':', '：']).to_owned();
        let is_point = sentences[self.at].point;
        // `The work is done — the list is a table now instead of a tree`.
        let is_remark = |lead: &str| !is_point && !lead.contains('`') && lead.split_whitespace().count() <= MIN_WORDS;
        let text = match text.split_once(" — ") {
            Some((lead, rest)) if is_remark(lead) && !Signs::read(lead).has(Sign::Setback) => rest.to_owned(),
            _ => text,
        };
        let before = self.at.checked_sub(1).and_then(|before| sentences.get(before));
        let before = before.filter(|before| !before.point && !is_point).map(|before| plain(before.text));
        let says_enough = |before: &String| before.split_whitespace().count() >= MIN_WORDS || !before.is_ascii();
        if is_connected(&text) {
            return Some(format!("{} {text}", before?));
        }
        if let Some(file) = file_above(&sentences[self.at]).filter(|file| !text.contains(*file)) {
            return Some(format!("`{file}`: {text}"));
        }
        let before = before.filter(says_enough).filter(|_| text.chars().count() < TELLING_CHARS);
        Some(before.map_or(text.clone(), |before| format!("{before} {text}")))
    }
}

/// Returns what the agent says of the first commit that takes only some files: with them, and those that the last status
/// lists besides, if there was one. Where it says nothing, the files that it leaves tell it: those that the session did
/// not change.
pub(super) fn limited_commit(timeline: &Timeline<'_>) -> Option<Found> {
    let listed = timeline.deeds.iter().filter_map(|deed| Some((deed.began, listed_files(deed)?)));
    let listed: Vec<_> = listed.collect();
    let staged: Vec<(usize, Vec<String>)> =
        timeline.deeds.iter().filter_map(|deed| Some((deed.began, staged_files(deed)?))).collect();
    // A status names its files from where it ran.
    let is_below = |path: &str, above: &str| {
        path.strip_prefix(above.trim_end_matches('/')).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let takes = |named: &str, file: &str| {
        is_below(file, named) || named.ends_with(&format!("/{file}")) || file.ends_with(&format!("/{named}"))
    };
    let is_taken = |file: &str| staged.iter().flat_map(|(_, named)| named).any(|named| takes(named, file));
    // What the last status before a place lists and no commit takes.
    let left_at = |place: usize| -> Option<Vec<&str>> {
        let last = listed.partition_point(|(status, _)| *status < place).checked_sub(1)?;
        Some(listed[last].1.iter().copied().filter(|file| !is_taken(file)).collect())
    };
    let told = |text: &str, named: &[String], left: &[&str]| {
        let all: BTreeSet<&str> = named.iter().map(String::as_str).chain(left.iter().copied()).collect();
        let text = format!("{text}: {}", told_apart(named.iter().map(String::as_str), &all));
        let without = || format!("; not {}", told_apart(left.iter().copied(), &all));
        text + &if left.is_empty() { String::new() } else { without() }
    };
    let said = timeline.rounds.iter().find_map(|round| {
        round.replies.iter().enumerate().find_map(|(index, reply)| {
            let deeds = deeds_until(timeline, round, reply, round.replies.get(index + 1));
            let (first, last) = (deeds.first()?.began, deeds.last()?.began);
            let (began, named) = staged.get(staged.partition_point(|(began, _)| *began < first))?;
            if *began > last {
                return None;
            }
            let left = left_at(*began);
            let sentences = sentences(head(reply.text, MAX_REPLY_BYTES));
            let said = sentences.iter().rev().find(|sentence| Told::limits_what_is_done(sentence.text))?;
            if left.as_ref().is_some_and(Vec::is_empty) {
                return None;
            }
            let text = plain(said.text);
            let text = stated::without_announcement(&text);
            let text = told(text.trim_end_matches([':', '.']), named, &left.unwrap_or_default());
            Some(Found { place: reply.place, said: pointed(&text, reply), by_person: false })
        })
    });
    said.or_else(|| {
        let is_changed = |file: &&str| {
            let written = timeline.deeds.iter().flat_map(file::written);
            written.map(|(path, ..)| path).any(|path| takes(path, file))
        };
        let takes_all = |deed: &Deed<'_>| deed.succeeded() && deed.git_line().is_some_and(stages_all);
        let first = staged.first()?.0;
        let deed = timeline.deeds.iter().find(|deed| deed.began == first)?;
        let committed = timeline.deeds.iter().find(|deed| deed.began >= first && commits(deed))?.began;
        let together = staged.iter().filter(|(began, _)| *began <= committed);
        let named: Vec<String> = together.flat_map(|(_, named)| named).cloned().collect();
        let left: Vec<&str> = left_at(first)?.into_iter().filter(|file| !is_changed(file)).collect();
        if left.is_empty() || timeline.deeds.iter().any(takes_all) {
            return None;
        }
        let text = one_line(&told("Commit only", &named, &left), DECISION_CHARS);
        let said = Pointed { text: text.replacen("only: ", "only ", 1), line: deed.line, at: deed.at };
        Some(Found { place: deed.began, said, by_person: false })
    })
}

/// Returns the changed files that a status lists and that are not staged yet.
fn listed_files<'a>(deed: &Deed<'a>) -> Option<Vec<&'a str>> {
    Some(deed.result?.work_tree()?.files.as_ref()?.unstaged.iter().map(String::as_str).collect())
}

/// Returns the files that a command line names for the next commit, unless it takes all.
fn staged_files(deed: &Deed<'_>) -> Option<Vec<String>> {
    let line = deed.git_line().filter(|line| deed.succeeded() && !stages_all(line))?;
    let mut files: Vec<String> = Vec::new();
    for step in git_steps(line) {
        if let GitAct::Stage(Paths::Named(named)) | GitAct::Commit { also: Some(Paths::Named(named)), .. } = step.act {
            files.extend(named);
        }
    }
    (!files.is_empty()).then_some(files)
}

/// Returns true if the next commit takes everything.
fn stages_all(line: &str) -> bool {
    git_steps(line).iter().any(|step| match &step.act {
        GitAct::Stage(paths) | GitAct::Commit { also: Some(paths), .. } => match paths {
            Paths::All => true,
            Paths::Named(named) => named.iter().any(|path| matches!(path.as_str(), "." | "./")),
        },
        _ => false,
    })
}

/// Returns the names of the first files, with so much of the directory that no other has the same, and the number of the others.
fn told_apart<'p>(paths: impl Iterator<Item = &'p str>, all: &BTreeSet<&str>) -> String {
    let paths: BTreeSet<&str> = paths.collect();
    let ending = |path: &str, parts: usize| {
        let from = path.trim_end_matches('/').rmatch_indices('/').nth(parts).map_or(0, |(at, _)| at + 1);
        path.get(from..).unwrap_or_default().to_owned()
    };
    let is_shared =
        |name: &String| all.iter().filter(|path| **path == *name || path.ends_with(&format!("/{name}"))).count() > 1;
    let name = |path: &&str| {
        let names = (0..path.matches('/').count()).map(|parts| ending(path, parts));
        let name = names.into_iter().find(|name| !is_shared(name));
        format!("`{}`", name.as_deref().unwrap_or(path))
    };
    let names: Vec<String> = paths.iter().take(MAX_FILES).map(name).collect();
    let more = paths.len().saturating_sub(MAX_FILES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", names.join(", "))
}

/// Returns what the agent says before the first command of a kind that overrides a safeguard.
pub(super) fn overriding(timeline: &Timeline<'_>) -> Vec<Found> {
    let mut flags: BTreeSet<&str> = BTreeSet::new();
    let mut found = Vec::new();
    for round in &timeline.rounds {
        let at_once = timeline.deeds[round.deeds.clone()].first();
        // Who asks for it in so many words decides it.
        let asked = round
            .prompt
            .filter(|_| round.replies.first().is_none_or(|it| at_once.is_some_and(|at| at.began < it.place)));
        if let Some((prompt, flag)) = asked.zip(at_once.and_then(overriding_flag))
            && prompt.text.len() <= DECISION_CHARS
            && flag.rsplit(' ').next().is_some_and(|flag| prompt.text.contains(flag))
            && flags.insert(flag)
        {
            let said = pointed(&format!("User: {}", prompt.text), &prompt);
            found.push(Found { place: prompt.place, said, by_person: true });
        }
        for (index, reply) in round.replies.iter().enumerate() {
            let deeds = deeds_until(timeline, round, reply, round.replies.get(index + 1));
            let flag = deeds.first().and_then(overriding_flag).filter(|flag| flags.insert(flag));
            let Some(flag) = flag else { continue };
            let sentences = sentences(head(reply.text, MAX_REPLY_BYTES));
            let last = &sentences[sentences.len().saturating_sub(2)..];
            let text = last.iter().map(|sentence| plain(sentence.text)).collect::<Vec<_>>().join(" ");
            if !text.is_empty() {
                let text = format!("{} (`{flag}`)", text.trim_end_matches([':', '.']));
                found.push(Found { place: reply.place, said: pointed(&text, reply), by_person: false });
            }
        }
    }
    found
}

/// Returns the flag by which a command overrode a safeguard.
fn overriding_flag(deed: &Deed<'_>) -> Option<&'static str> {
    deed.git_line().filter(|_| deed.succeeded()).and_then(overridden)
}

/// Returns the calls after a reply and before the next one.
fn deeds_until<'t, 'a>(
    timeline: &'t Timeline<'a>,
    round: &Round<'a>,
    reply: &Message<'a>,
    next: Option<&Message<'a>>,
) -> &'t [Deed<'a>] {
    let deeds = &timeline.deeds[round.deeds.clone()];
    let from = deeds.partition_point(|deed| deed.began <= reply.place);
    let until = next.map_or(deeds.len(), |next| deeds.partition_point(|deed| deed.began <= next.place));
    &deeds[from..until.max(from)]
}

/// The words of what is changed, and the edits.
#[derive(Default)]
struct Changed<'a> {
    /// Files, and what was written.
    written: BTreeSet<String>,
    /// Commits.
    committed: BTreeSet<String>,
    edits: Substitutions<'a>,
}

impl Changed<'_> {
    fn add(&mut self, deed: &Deed<'_>) {
        if is_change(deed) {
            let texts = [deed.edit().map_or("", |(path, ..)| path), deed.new_text()];
            self.written.extend(texts.into_iter().flat_map(names));
            self.committed.extend(deed.call.and_then(|call| call.commit.as_deref()).into_iter().flat_map(names));
        }
    }

    fn mentions(&self, text: &str) -> bool {
        significant_words(text).iter().any(|word| self.written.contains(word) || self.committed.contains(word))
    }

    /// Returns true if a sentence tells what took the place of what, and an edit shows that, or was written at least.
    fn tells(&self, sentence: &str, told: &Told) -> bool {
        self.edits.shows(sentence) || told.may_replace() && self.shows(sentence)
    }

    /// Returns true if a sentence names something that was replaced, and by what, and the latter was written.
    fn shows(&self, sentence: &str) -> bool {
        replacement(sentence).is_some_and(|(old, new)| {
            let (old, new) = (names(&old), names(&new));
            !old.is_subset(&new) && !self.written.is_disjoint(&new)
        })
    }
}

/// Returns the words that may name something: longer ones, and values.
fn names(text: &str) -> BTreeSet<String> {
    let is_value = |word: &&str| word.len() > 1 && word.contains(|c: char| c.is_ascii_digit());
    let values = text.split(|c: char| !c.is_alphanumeric()).filter(is_value).map(str::to_lowercase);
    significant_words(text).into_iter().chain(values).collect()
}

/// Returns what is changed in a round and the next one.
fn of_the_work<'a>(timeline: &Timeline<'a>, round: &Round<'_>, next: Option<&Round<'_>>) -> Changed<'a> {
    let end = next.map_or(round.deeds.end, |next| next.deeds.end);
    let edits = Substitutions::read(timeline, round.deeds.start..end);
    let mut changed = Changed { edits, ..Changed::default() };
    timeline.deeds[round.deeds.start..end].iter().for_each(|deed| changed.add(deed));
    changed
}

/// Returns the name of the file that a point stands below.
fn file_above<'a>(sentence: &Sentence<'a>) -> Option<&'a str> {
    let bare = sentence.head.trim_matches(|c: char| c.is_whitespace() || "*:#".contains(c));
    let path = bare.strip_prefix('`')?.strip_suffix('`').filter(|path| !path.contains(['`', ' ']))?;
    let name = path.rsplit('/').next()?;
    (sentence.point && name.contains('.')).then_some(name)
}

/// Returns the line that introduces a point.
fn introduction<'a>(sentence: &Sentence<'a>) -> Option<&'a str> {
    let introduces = sentence.head.trim_end_matches('*').ends_with([':', '：']);
    (sentence.point && introduces).then_some(sentence.head)
}

/// Returns what follows the bold lead of a point: `**Layout mended**: replaced the rows with a grid`.
fn after_lead(sentence: &str) -> Option<&str> {
    let (lead, rest) = sentence.strip_prefix("**")?.split_once("**")?;
    // What was repaired is no choice, unless by its own word.
    let is_choice = |rest: &str| !Signs::read(lead).has(Sign::Repair) || Signs::read(rest).has(Sign::Choose);
    Some(rest.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '`')).filter(|rest| is_choice(rest))
}

/// Returns true for a report of a change with its lines: `Read-me (lines 3-9): now shows …`, unless its lead is a choice.
fn reports_lines(point: &str) -> bool {
    let lead = point.split([':', '：']).next().unwrap_or_default();
    let inside = lead.rsplit_once('(').and_then(|(_, inside)| inside.split_once(')')).map_or("", |(inside, _)| inside);
    let mut numbers = inside.rsplit(' ').next().unwrap_or_default().split(['-', '–']);
    numbers.all(|number| number.trim_start_matches('L').parse::<u32>().is_ok()) && !Signs::read(lead).has(Sign::Choose)
}

/// Returns true for what is said of tests or benefits: below a heading of them, or an item about tests.
fn is_aside(sentence: &Sentence<'_>) -> bool {
    // What the tests cover may be in contrast to something.
    let lead = || sentence.text.split_once(": ").map_or(sentence.text, |(lead, _)| lead);
    let has_contrast = || {
        let of_checks = Signs::read(lead()).has_any(&[Sign::AsideHead, Sign::CheckHead]);
        Signs::read(if of_checks { lead() } else { sentence.text }).has(Sign::Contrast)
    };
    let is_item = || sentence.point && is_of_checks(sentence) && !has_contrast();
    Signs::read(sentence.head).has_any(&[Sign::AsideHead, Sign::CheckHead]) || is_item()
}

/// Returns true for a sentence about tests, or what is told of the work elsewhere.
fn is_of_checks(sentence: &Sentence<'_>) -> bool {
    Signs::read(sentence.text).has_any(&[Sign::AsideHead, Sign::CheckHead])
        || file_above(sentence).is_some_and(stated::names_test)
}

/// Returns true for a sentence whose lead says that it is about something else than the change: `Current state: …`.
fn is_led_aside(sentence: &Sentence<'_>) -> bool {
    let lead = sentence.text.split_once(": ").map_or("", |(lead, _)| lead);
    Signs::read(lead).has_any(&[Sign::AsideHead, Sign::CheckHead])
}

/// Returns true for a change or a command that does something.
fn acts(deed: &Deed<'_>) -> bool {
    is_change(deed)
        || deed.succeeded()
            && deed.parsed_command().is_some_and(|command| !command.only_looks())
            && !deed.git_line().is_some_and(only_prepares)
}

/// Returns true for a command that brings the work tree to where the work begins.
fn only_prepares(line: &str) -> bool {
    git_steps(line).iter().any(|step| matches!(step.act, GitAct::Rewrite | GitAct::Stash { .. }))
}

pub(super) fn is_change(deed: &Deed<'_>) -> bool {
    commits(deed) || deed.succeeded() && deed.edit().is_some_and(|(path, ..)| !path.contains(PLANS))
}

fn commits(deed: &Deed<'_>) -> bool {
    deed.succeeded() && (deed.commits() || deed.call.is_some_and(|call| call.commit.is_some()))
}

/// Returns true if files were changed in a round, or a command was run that changes something.
pub(super) fn has_worked(timeline: &Timeline<'_>, round: &Round<'_>) -> bool {
    let changes = |deed: &Deed<'_>| {
        let steps = deed.parsed_command().map(|command| command.steps());
        deed.succeeded() && steps.is_some_and(|steps| steps.iter().any(|step| step.changes()))
    };
    has_changed(timeline, round) || timeline.deeds[round.deeds.clone()].iter().any(changes)
}

/// Returns true if files were changed in a round.
pub(super) fn has_changed(timeline: &Timeline<'_>, round: &Round<'_>) -> bool {
    timeline.deeds[round.deeds.clone()].iter().any(|deed| deed.succeeded() && deed.edit().is_some())
}

pub(super) fn pointed(text: &str, said: &Message<'_>) -> Pointed {
    Pointed { text: one_line(text, DECISION_CHARS), line: said.line, at: said.at }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_with_its_lines_reports_a_change() {
        for (point, reports) in [
            ("**Renewed the quay** (lines 16-30): the winch is first now, with a fallback to the jack", true),
            ("`src/winch.rs` (L64-69): keeps the old mark", true),
            ("Mark (line 7): reads it once", true),
            ("**Switched to the jack** (lines 1-3): it was a winch", false),
            ("Keep the winch (for now): it still turns", false),
            ("Keep the winch: the jack (2) is bent", false),
        ] {
            assert_eq!(reports_lines(point), reports, "{point}");
        }
    }
}
