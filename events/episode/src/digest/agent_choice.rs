//! Choices that the agent states: in a conclusion, before a change.
//!
//! Words alone decide little: a change follows or has been made, or the changes show that one thing took the place of
//! another.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::command::{GitAct, git_steps};
use super::excerpt::{head, one_line};
use super::exchange;
use super::file;
use super::repetition::significant_words;
use super::sentence::{self, Sentence, clauses, plain, sentences};
use super::settled::replacement;
use super::stated::{self, MIN_WORDS, Statement, is_connected};
use super::substitution::Substitutions;
use super::timeline::{Deed, Message, Round, Timeline};
use super::{DECISION_CHARS, Pointed};
use crate::lexicon::{Sign, Signs};
use baton_conversation::item::Edit;
use baton_words::WordList;

/// Only this much of a longer reply, a document, is searched, in bytes.
pub(super) const MAX_REPLY_BYTES: usize = 20_000;
/// A shorter choice says too little alone: the sentence before is added, in characters.
const TELLING_CHARS: usize = 60;
/// A choice that points back within this many words needs the sentence before it.
const POINTING_WORDS: usize = 3;
/// Maximum number of choices that are taken from one reply.
const MAX_OF_REPLY: usize = 3;
/// Maximum number of sentences of a reply that only tell how something was done.
const MAX_OF_MEANS: usize = 2;
/// Worth of a sentence by which one thing took the place of another, as the changes show, and of one that introduces its
/// details.
const REPLACING_WORTH: usize = 2;
const DETAILED_WORTH: usize = 3;
/// Worth of a point below a heading of decisions.
const LISTED_WORTH: usize = 3;
/// A longer text before a colon is no lead.
const LEAD_WORDS: usize = 4;
/// Maximum number of edits of a small session.
const MAX_SMALL: usize = 20;
/// Shorter code names nothing of its own, in bytes.
const NAMING_BYTES: usize = 4;
/// Labels of a remark.
static NOTES: WordList = WordList::new(crate::WORDS, "remarks");
/// Words by which it is said that checks went well.
const PASSING: [&str; 4] = ["pass", "passed", "passes", "passing"];
/// Directory of an agent's own plans, which are no part of the work.
const PLANS: &str = "/.claude/plans/";

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
pub(super) fn stated_choices(timeline: &Timeline<'_>, round: &Round<'_>, next: Option<&Round<'_>>) -> Vec<Found> {
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
    // A text that was written is about anything: what a conclusion says of it need not be a choice.
    let mut edits =
        timeline.deeds[round.deeds.clone()].iter().filter(|deed| deed.succeeded()).filter_map(Deed::edit).peekable();
    let wrote_texts = edits.peek().is_some() && edits.all(|(path, ..)| file::is_text(path));
    let acted = OnceCell::new();
    let acted = || *acted.get_or_init(|| has_worked(timeline, round));
    let mut found: Vec<Found> = Vec::new();
    // The reply with the last approach to an edit; a better one takes its place.
    let mut approach = None;
    for (index, reply) in round.replies.iter().enumerate() {
        let concluded = conclusion == Some(reply.place);
        let concludes = worked && concluded;
        let stands = worked || is_followed || concluded && !is_overruled;
        let deeds = deeds_until(timeline, round, reply, round.replies.get(index + 1));
        // Calls that only look, or fail on the way, do not matter.
        let prepares = |deed: &Deed<'_>| deed.git_line().is_some_and(only_prepares);
        let next_deed = deeds.iter().find(|deed| !deed.aside && (acts(deed) || prepares(deed)));
        let (leads_to_act, leads_to_edit) = (next_deed.is_some_and(acts), next_deed.is_some_and(is_change));
        let sentences = sentences(head(reply.text, MAX_REPLY_BYTES));
        let mut choices: Vec<Choice<'_>> = Vec::new();
        let mut means: Vec<Choice<'_>> = Vec::new();
        let mut introduced = ("", false);
        for (at, sentence) in sentences.iter().enumerate() {
            if sentence.quoted
                || is_aside(sentence)
                || is_led_aside(sentence.text)
                || is_led_aside(above(reply.text, sentence))
                || sentence.point && reports_lines(sentence.text)
            {
                continue;
            }
            // An agent that reconsiders before acting chose the last option named.
            let signs = Signs::read(sentence.text);
            if signs.has(Sign::Rethink) && !concluded {
                if !signs.begins(Sign::Rethink) {
                    continue;
                }
                choices.clear();
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
            // `Let me keep it as a list, since that is shorter:`
            let announces = leads_to_act && at + 1 == sentences.len();
            let text = if announces { sentence.text.trim_end_matches([':', '：']) } else { sentence.text };
            let told = Statement::read(text).or_else(|| Statement::read(after_lead(sentence.text)?));
            let Some(told) = told else { continue };
            if concluded && wrote_texts && !told.is_of_a_change() {
                continue;
            }
            if told.reconsiders() && !concluded {
                found.retain(|found| approach.is_none_or(|place| place == reply.place || found.place != place));
                approach = (leads_to_edit && told.prefers()).then_some(reply.place).or(approach);
            }
            // A change of anything but files counts if it follows or is named.
            let stands = stands || (leads_to_act || sentence.text.contains('`')) && acted();
            // A choice announced on the way and then only looked into is not made yet.
            let is_idle = !concluded && !leads_to_act && told.announces_way();
            let taken = stands && !is_idle && told.commits_to_choice() || is_followed && told.proposes();
            let explained = leads_to_act && (told.limits_or_explains() || told.draws_consequence() || told.contrasts())
                || leads_to_edit && told.prefers();
            let is_listed = || sentence.point && Signs::read(sentence.head).has(Sign::DecisionHead);
            let worth = match told.concludes_choice() {
                0 if concludes && is_listed() => LISTED_WORTH,
                0 if concludes && !is_of_checks(sentence) && changed().tells(sentence.text, &told) => REPLACING_WORTH,
                0 if concludes
                    && told.limits_result()
                    && !is_led_aside(sentence.text)
                    && changed().mentions(sentence.text) =>
                {
                    1
                }
                0 if concludes
                    && !is_of_checks(sentence)
                    && told.tells_means()
                    && changed().mentions(sentence.text) =>
                {
                    means.push(Choice { worth: 1, at, text: sentence.text });
                    0
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
        // Without an explicit choice, the means used tell what was chosen.
        if choices.is_empty() {
            means.truncate(MAX_OF_MEANS);
            choices = means;
        }
        choices.sort_by_key(|choice| Reverse(choice.worth));
        choices.truncate(MAX_OF_REPLY);
        choices.sort_by_key(|choice| choice.at);
        let texts = choices.iter().filter_map(|choice| choice.wording(&sentences));
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
    fn wording(&self, sentences: &[Sentence<'_>]) -> Option<String> {
        let text = plain(self.text).trim_end_matches([':', '：']).to_owned();
        let text = stated::without_announcement(&text);
        let is_point = sentences[self.at].point;
        // `The work is done — the list is a table now instead of a tree`.
        let is_remark = |lead: &str| !is_point && !lead.contains('`') && lead.split_whitespace().count() <= MIN_WORDS;
        let text = match text.split_once(" — ") {
            Some((lead, rest)) if is_remark(lead) && !Signs::read(lead).has(Sign::Setback) => rest.to_owned(),
            _ => text,
        };
        // The sentence before was just given up.
        if Signs::read(&text).begins(Sign::Rethink) {
            return Some(text);
        }
        let before = self.at.checked_sub(1).and_then(|before| sentences.get(before));
        let before = before
            .filter(|before| !before.point && !is_point && !is_led_aside(before.text))
            .map(|before| plain(before.text));
        // Results of checks soon become outdated.
        let says_enough = |before: &String| {
            let is_result = before.split(|c: char| !c.is_alphanumeric()).any(|word| PASSING.contains(&word));
            !is_result && (before.split_whitespace().count() >= MIN_WORDS || !before.is_ascii())
        };
        if is_connected(&text) {
            return Some(format!("{} {text}", before?));
        }
        if let Some(file) = file_above(&sentences[self.at]).filter(|file| !text.contains(*file)) {
            return Some(format!("`{file}`: {text}"));
        }
        // `Remove it, since …`
        let points = text.split_whitespace().take(POINTING_WORDS).any(is_pronoun);
        let before = before.filter(says_enough).filter(|_| points || text.chars().count() < TELLING_CHARS);
        Some(before.map_or(text.clone(), |before| format!("{before} {text}")))
    }
}

fn is_pronoun(word: &str) -> bool {
    matches!(
        &*word.trim_end_matches(|c: char| c.is_ascii_punctuation()).to_lowercase(),
        "it" | "them" | "these" | "those"
    )
}

/// Returns the calls after a reply and before the next one.
pub(super) fn deeds_until<'t, 'a>(
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
    fn tells(&self, sentence: &str, told: &Statement) -> bool {
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
    // A repair is no choice unless it is called one.
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

/// Returns true for what is said of tests, benefits or what remains: below a heading of them, or an item about tests.
fn is_aside(sentence: &Sentence<'_>) -> bool {
    // A description of tests may contrast things without a choice.
    let lead = || sentence.text.split_once(": ").map_or(sentence.text, |(lead, _)| lead);
    let has_contrast = || {
        let of_checks = Signs::read(lead()).has_any(&[Sign::AsideHead, Sign::CheckHead]);
        Signs::read(if of_checks { lead() } else { sentence.text }).has(Sign::Contrast)
    };
    let is_item = || sentence.point && is_of_checks(sentence) && !has_contrast();
    // `Now you need to:` leads to what is still to be done.
    let head = Signs::read(sentence.head);
    let is_due = head.has(Sign::Next) || head.begins(Sign::NextHead) || head.begins(Sign::RemainingHead);
    is_due || head.has_any(&[Sign::AsideHead, Sign::CheckHead]) || is_item()
}

/// Returns true for a sentence about tests, or what is told of the work elsewhere.
fn is_of_checks(sentence: &Sentence<'_>) -> bool {
    Signs::read(sentence.text).has_any(&[Sign::AsideHead, Sign::CheckHead])
        || file_above(sentence).is_some_and(stated::names_test)
}

/// Returns true for a text whose lead says that it is about something else than the change: `Current state: …`.
fn is_led_aside(text: &str) -> bool {
    let lead = text.split_once(": ").map_or("", |(lead, _)| lead);
    let is_note = NOTES.has(&lead.trim_matches('*').to_lowercase());
    is_note
        || lead.split_whitespace().count() <= LEAD_WORDS
            && Signs::read(lead).has_any(&[Sign::AsideHead, Sign::CheckHead])
}

/// Returns what stands before a sentence in its paragraph.
fn above<'a>(reply: &'a str, sentence: &Sentence<'a>) -> &'a str {
    let before = &reply[..sentence.text.as_ptr().addr() - reply.as_ptr().addr()];
    before.rsplit_once("\n\n").map_or(before, |(_, paragraph)| paragraph)
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

pub(super) fn commits(deed: &Deed<'_>) -> bool {
    deed.succeeded() && deed.commits()
}

/// Returns true if files were changed in a round, or a command was run that changes something.
pub(super) fn has_worked(timeline: &Timeline<'_>, round: &Round<'_>) -> bool {
    let changes = |deed: &Deed<'_>| {
        let steps = deed.parsed_command().map(|command| command.steps());
        deed.succeeded() && steps.is_some_and(|steps| steps.iter().any(|step| step.is_mutating()))
    };
    has_changed(timeline, round) || timeline.deeds[round.deeds.clone()].iter().any(changes)
}

/// Returns true if files were changed in a round.
pub(super) fn has_changed(timeline: &Timeline<'_>, round: &Round<'_>) -> bool {
    timeline.deeds[round.deeds.clone()].iter().any(|deed| deed.succeeded() && deed.edit().is_some())
}

/// Returns the only sentence of the last conclusion after an edit that names code which the session wrote and which was not
/// there before: for a session in which nothing else is a choice.
pub(super) fn only_change(timeline: &Timeline<'_>) -> Option<Found> {
    let edits = || timeline.deeds.iter().filter(|deed| deed.succeeded() && deed.edit().is_some());
    let last = edits().next_back()?.began;
    let round =
        timeline.rounds.iter().rfind(|round| timeline.deeds[round.deeds.clone()].iter().any(|it| it.began == last));
    let said = exchange::conclusion(timeline, round?)?;
    let edits: Vec<&Edit> = edits().filter_map(Deed::effect).take(MAX_SMALL + 1).collect();
    if edits.len() > MAX_SMALL {
        return None;
    }
    let is_new = |code: &str| {
        let code = code.trim_end_matches("()");
        code.len() >= NAMING_BYTES
            && edits.iter().any(|edit| edit.new_text.contains(code) && !edit.old_text.contains(code))
    };
    let tells = |sentence: &&Sentence<'_>| {
        !sentence.quoted
            && Statement::read(sentence.text).is_some_and(|told| told.is_of_a_change())
            && !stated::names_test(&sentence.text.to_lowercase())
            && sentence.text.split('`').skip(1).step_by(2).any(is_new)
    };
    let all = sentences(head(said.text, MAX_REPLY_BYTES));
    let mut told = all.iter().filter(tells);
    let one = told.next().filter(|_| told.next().is_none())?;
    Some(Found { place: said.place, said: pointed(&plain(one.text), said), by_person: false })
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
