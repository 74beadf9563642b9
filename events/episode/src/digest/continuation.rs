//! One paragraph for the next person or agent: the goal, the state, what was decided, what is open, and how to check.

use std::collections::BTreeSet;

use super::agent_choice;
use super::check;
use super::clause::{clause_within, shortened};
use super::command::Command;
use super::conclusion::Conclusion;
use super::excerpt::{
    contains_title, names_with_rest, one_line, sentences_within, with_end_mark, with_full_stop, without_filter_mark,
};
use super::exchange::{Exchange, is_of_substance};
use super::file;
use super::objective::requested;
use super::outcome::{chief_sentences, outcome};
use super::plan;
use super::question;
use super::repetition::is_told_in;
use super::request::without_politeness;
use super::sentence::{Sentence, clauses, sentences};
use super::task::{Task, changed_by, main_task};
use super::timeline::{Deed, Round, Timeline};
use super::title::commit_subject;
use super::work_tree::TreeState;
use super::{Episode, Pointed, SHORT_CHARS, WorkState};
use crate::lexicon::{Sign, Signs};
use baton_conversation::item::{Act, GitOutput, Outcome};

/// Maximum length of the paragraph, in characters.
pub(super) const MAX_CHARS: usize = 2_000;
/// A longer account of the agent is shortened where the paragraph is too long, in characters.
const SHORT_STATE_CHARS: usize = 500;
/// Label of what the work came to, in the words of the agent: a report, not a fact.
pub(super) const STATE: &str = "The agent reported: ";
/// Label of what a plan that nobody approved is about.
const PLANNED: &str = "Planned, not approved: ";
/// Maximum length of the goal, in characters.
const GOAL_CHARS: usize = 420;
/// A shorter goal ("fix these") is told after the title, in words.
const TELLING_WORDS: usize = 5;
/// Maximum length of the state before the last, in characters.
const QUOTED_CHARS: usize = 260;
/// A shorter state ("Committed.") is preceded by that of the exchange before, in characters.
const TELLING_CHARS: usize = 120;
/// An exchange is an addition to an earlier one that changes so many times its lines.
const ADDITION: u64 = 3;
/// Maximum length of what a plan is about, in characters.
const PLAN_CHARS: usize = 320;
/// Maximum number of words before what was removed.
const REMOVING_WORDS: usize = 2;
/// Number of last sentences among which an offer is looked for.
const LAST_SENTENCES: usize = 3;
/// Fewest sentences of what the agent found.
const MIN_FOUND: usize = 2;
/// Maximum length of what was said after the last work, in characters.
const LATER_CHARS: usize = 200;
/// Maximum number of decisions and open matters that are named.
const MAX_NAMED: usize = 3;
/// Maximum number of pull requests.
const MAX_PULLS: usize = 4;

/// Composes the paragraph from the other fields of the episode. Empty only if nothing was said or done. Where all is too
/// long, the account of the agent is shortened first, and then the decisions are left out, which stand elsewhere.
pub(super) fn paragraph(episode: &Episode) -> String {
    let whole = composed(episode, usize::MAX, true);
    let is_long = |text: &String| text.chars().count() > MAX_CHARS;
    let shorter = || composed(episode, SHORT_STATE_CHARS, true);
    let text = if is_long(&whole) { Some(shorter()).filter(|text| !is_long(text)) } else { Some(whole) };
    let text = text.unwrap_or_else(|| composed(episode, SHORT_STATE_CHARS, false));
    sentences_within(&text, MAX_CHARS)
}

fn composed(episode: &Episode, state_chars: usize, decides: bool) -> String {
    let state = &episode.state;
    let concluded = episode.concluded.as_ref().map(|said| match said.chars().count() > state_chars {
        true => sentences_within(said, state_chars),
        false => said.clone(),
    });
    let decisions = if decides { episode.decisions_elsewhere() } else { Vec::new() };
    let sentences = [
        objective(episode),
        concluded.map(|said| format!("{STATE}{}", with_full_stop(said))),
        last_asked(episode).map(|asked| with_full_stop(format!("Asked last: {}", asked.text))),
        episode.in_progress.clone(),
        delivered(episode),
        state.check.as_ref().map(|check| format!("To check: `{check}` passed{}.", state.check_age())),
        listed("Decided", &decisions, decision),
        listed("Open", &episode.unresolved_elsewhere(), one_line),
        listed("Next", &episode.next_steps, one_line),
        state.branch.as_ref().map(|branch| format!("Branch: {branch}.")),
        (!state.pull_requests.is_empty()).then(|| format!("Pull requests: {}.", state.pull_requests.join(", "))),
        files(episode),
        state.also_modified.as_ref().map(|also| with_full_stop(also.text.clone())),
    ];
    sentences.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Returns the first sentence of the paragraph.
pub(super) fn objective(episode: &Episode) -> Option<String> {
    let told = requested(&episode.objective, GOAL_CHARS);
    let first = without_request_lead(&told).trim_end_matches([':', '.', ' ', '…']).to_owned();
    let shows_title = contains_title(&first, &episode.title);
    let is_short = first.split_whitespace().count() < TELLING_WORDS;
    let title = if is_short && !shows_title { format!("{}: ", episode.title) } else { String::new() };
    (!first.is_empty()).then(|| format!("Goal: {title}{}", with_end_mark(&first, &told)))
}

/// Strips politeness and the mark of the question that it made of the first sentence: `could you mend it? It leaks`.
fn without_request_lead(text: &str) -> String {
    let bare = without_politeness(text);
    let ends = |at: &usize| bare[at + 1..].chars().next().is_none_or(char::is_whitespace);
    let end = bare.match_indices(['.', '?', '!']).map(|(at, _)| at).find(ends).filter(|_| bare.len() < text.len());
    match end.filter(|end| bare[*end..].starts_with('?')) {
        Some(end) => format!("{}.{}", bare[..end].trim_end(), &bare[end + 1..]),
        None => bare.to_owned(),
    }
}

/// Returns the last request, unless an open matter tells it.
pub(crate) fn last_asked(episode: &Episode) -> Option<&Pointed> {
    let is_told = |asked: &&Pointed| episode.unresolved.iter().any(|open| open.line == asked.line);
    episode.last_request.as_ref().filter(|asked| !is_told(asked))
}

/// Returns what a plan that nobody approved is about.
pub(crate) fn unapproved_plan(episode: &Episode) -> Option<&str> {
    episode.in_progress.as_deref().filter(|text| text.starts_with(PLANNED))
}

/// Returns the sentence about the last commit.
fn delivered(episode: &Episode) -> Option<String> {
    let commit = one_line(last_commit(episode)?, SHORT_CHARS);
    let pushed = match episode.state.unpushed {
        _ if episode.state.pushed => ", pushed",
        0 => "",
        _ => ", no push seen",
    };
    Some(format!("Last commit: {}{pushed}.", commit.trim_end_matches('.')))
}

/// Returns the last commit, as `hash subject`.
pub(crate) fn last_commit(episode: &Episode) -> Option<&str> {
    episode.state.commit.as_deref()
}

/// Returns what the last exchange that edited more than documents came to, after the one before if that is short and no
/// choice of it was superseded, and the beginning of what was said later. An exchange that only commits or notes a change says nothing beyond the commit.
pub(super) fn conclusion_text(
    timeline: &Timeline<'_>,
    tasks: &[Task],
    conclusions: &[Option<Conclusion<'_, '_>>],
    superseded: &[Pointed],
) -> Option<String> {
    let main = main_task(timeline, tasks).map_or(&[][..], |main| &tasks[main].rounds);
    let mut said: Vec<Said<'_>> = Vec::new();
    // Work of a round without a conclusion is told by the next conclusion.
    let (mut begun, mut files) = (Work::default(), BTreeSet::new());
    for (at, (round, conclusion)) in timeline.rounds.iter().zip(conclusions).enumerate() {
        let own = Work::of(timeline, round, main.binary_search(&at).is_ok());
        let (edited, work) = (own.edits, begun.with(own));
        let deeds = timeline.deeds[round.deeds.clone()].iter();
        files.extend(deeds.flat_map(|deed| file::written_files(deed)).map(|(path, ..)| path.to_owned()));
        begun = match conclusion {
            Some(conclusion) => {
                said.push(Said { conclusion, work, edited, files: std::mem::take(&mut files) });
                Work::default()
            }
            None if work.edits => work,
            None => Work::default(),
        };
    }
    let found = found_last(timeline, conclusions);
    let says = |said: &&Said<'_>| !said.told_text().is_empty() && !said.work.is_gone;
    let stands = |said: &&Said<'_>| !superseded.iter().any(|gone| gone.line == said.conclusion.message.line);
    let works = |said: &Said<'_>| said.work.edits_work && says(&said);
    let edits = |said: &Said<'_>| said.work.edits && says(&said);
    let Some(last) = said.iter().rposition(works).or_else(|| said.iter().rposition(edits)) else {
        let mut talks = said.iter().rev().filter(says);
        let remark = || said.iter().rev().map(|said| said.conclusion.told_or_remark()).find(|told| !told.is_empty());
        let Some(last) = talks.next() else { return found.or_else(remark) };
        if found.is_some() || is_worked_on(timeline, last) {
            return found;
        }
        return Some(match talks.next().filter(|before| is_short(last.told_text()) && stands(before)) {
            Some(before) => format!("{} {}", with_full_stop(before.told_text().to_owned()), last.told_text()),
            None => last.told_text().to_owned(),
        });
    };
    let (before, after) = (&said[..last], &said[last + 1..]);
    let last = &said[last];
    // A problem from before further work may be gone.
    if is_worked_on(timeline, last) {
        return found;
    }
    // Work that nobody concluded has gone beyond an account of documents alone, a plan say.
    if begun.edits_work && !last.work.edits_work {
        return None;
    }
    // The result of the main task comes before the last work.
    let main = before.iter().rfind(|said| works(said) && said.work.is_main).filter(|_| !last.work.is_main);
    // An addition at the end follows what it was added to.
    let is_same = |said: &&Said<'_>| works(said) && !said.files.is_disjoint(&last.files);
    let larger = || before.iter().rfind(|said| is_same(said) && last.work.lines * ADDITION <= said.work.lines);
    let before = || larger().or_else(|| before.iter().rfind(is_same).filter(|_| is_short(last.told_text())));
    let quoted = |said: &Said<'_>| said.within(QUOTED_CHARS).or_else(|| clause_within(said.told_text(), QUOTED_CHARS));
    // Where the last one repeats something, its version is current.
    let is_gone = |one: &&Said<'_>| said.iter().any(|later| later.takes_out(one));
    let before = main
        .or_else(before)
        .filter(|one| stands(one) && !is_gone(one))
        .and_then(quoted)
        .filter(|said| !is_told_in(said, last.told_text()))
        .map(with_full_stop);
    let later = after.iter().rfind(|said| !said.work.delivers && !said.work.edits && says(said));
    let later = later.and_then(|later| later.within(LATER_CHARS));
    let later = found.or(later).or_else(|| rejected(timeline, last.conclusion.message.place));
    let told = if after.is_empty() { last.told_text().to_owned() } else { without_offers(last.told_text()) };
    let told = if later.is_some() { with_full_stop(told) } else { told };
    Some(before.into_iter().chain([told]).chain(later).collect::<Vec<_>>().join(" "))
}

/// Returns true if a conclusion only says what is wrong, and something was done about it: the work went on, or the person
/// took up what it offers or ordered that it be done.
fn is_worked_on(timeline: &Timeline<'_>, said: &Said<'_>) -> bool {
    let message = said.conclusion.message;
    let read = |text: &str| sentences(text).iter().map(|said| Signs::read(said.text)).collect::<Vec<_>>();
    let is_wrong = |signs: &Signs| signs.has_any(&[Sign::Defect, Sign::Cause]) && !signs.has(Sign::Works);
    let told = read(said.told_text());
    let next = timeline.rounds.iter().find(|round| round.prompt.is_some_and(|said| said.place > message.place));
    let is_taken_up = || {
        let all = read(message.text);
        let offers = all.iter().rev().take(LAST_SENTENCES).any(|signs| signs.asks());
        let takes_up = |round: &Round<'_>| {
            let text = round.prompt.map_or("", |said| said.text);
            offers && question::only_agrees(text)
                || Signs::read(text).begins(Sign::Order) && agent_choice::has_changed(timeline, round)
        };
        all.iter().any(is_wrong) && next.is_some_and(takes_up)
    };
    let is_of_work = told.iter().any(|signs| signs.has(Sign::Change));
    let is_about = told.first().is_some_and(is_wrong) && !is_of_work && !said.edited;
    (is_about || is_taken_up() && !(said.work.edits && is_of_work)) && acts_since(timeline, message.place)
}

/// Returns true if something was changed, or a command run that does more than look or commit, after a place.
fn acts_since(timeline: &Timeline<'_>, place: usize) -> bool {
    let runs = |deed: &Deed<'_>| {
        let is_git = |program: &str| matches!(program, "git" | "gh");
        let is_of_git = |command: &Command| {
            command.steps().iter().all(|step| is_git(step.text().split(' ').next().unwrap_or_default()))
        };
        deed.parsed_command().is_some_and(|command| !command.only_looks() && !is_of_git(command))
    };
    timeline.deeds.iter().any(|deed| deed.began > place && deed.succeeded() && (deed.edit().is_some() || runs(deed)))
}

/// Returns what the agent found last, if the session breaks off in the work on it.
fn found_last(timeline: &Timeline<'_>, conclusions: &[Option<Conclusion<'_, '_>>]) -> Option<String> {
    let round = timeline.rounds.last().filter(|_| conclusions.last().is_some_and(Option::is_none))?;
    let finds = |text: &str| sentences(text).iter().filter(|said| is_of_substance(said)).count() >= MIN_FOUND;
    let said = round.replies.iter().rev().find(|reply| finds(reply.text))?;
    let told = sentences_within(&outcome(said.text, "", false), QUOTED_CHARS);
    (!told.is_empty() && !acts_since(timeline, said.place)).then_some(told)
}

/// Returns the words with which a person turns down what was reported last.
fn rejected(timeline: &Timeline<'_>, place: usize) -> Option<String> {
    let next = timeline.rounds.iter().filter_map(|round| round.prompt).find(|said| said.place > place)?;
    let first = clauses(next.text).next()?;
    let rejects = Signs::read(first).begins(Sign::Object) || Signs::read(first).has(Sign::Denial);
    rejects.then(|| with_full_stop(format!("The person answered: {}", one_line(next.text, LATER_CHARS))))
}

/// Strips what an account offers, if the person went on: the answer came later.
fn without_offers(told: &str) -> String {
    let offers = |said: &Sentence<'_>| Signs::read(said.text).begins(Sign::Offer);
    let all = sentences(told);
    if !all.iter().any(offers) {
        return told.to_owned();
    }
    all.iter().filter(|said| !offers(said)).map(|said| said.text).collect::<Vec<_>>().join(" ")
}

fn is_short(told: &str) -> bool {
    told.chars().count() < TELLING_CHARS
}

/// The conclusion of an exchange and what stands behind it.
struct Said<'t> {
    conclusion: &'t Conclusion<'t, 't>,
    work: Work,
    /// True if it edits something itself, and not only rounds before it that concluded nothing.
    edited: bool,
    /// What it edits.
    files: BTreeSet<String>,
}

/// The work of a round.
#[derive(Clone, Copy, Default)]
struct Work {
    /// True if it belongs to the main task.
    is_main: bool,
    /// Number of lines that it changes, one for a file at least.
    lines: u64,
    edits: bool,
    /// True if it edits more than documents.
    edits_work: bool,
    /// True if it commits or pushes with success.
    delivers: bool,
    /// True if it edited, and all of that was put back.
    is_gone: bool,
}

impl Work {
    fn of(timeline: &Timeline<'_>, round: &Round<'_>, is_main: bool) -> Self {
        let stands = round.deeds.clone().filter(|at| !timeline.undone.edits.contains(at));
        let deeds: Vec<&Deed<'_>> = stands.map(|at| &timeline.deeds[at]).collect();
        let sends = |deed: &Deed<'_>| deed.parsed_command().is_some_and(|line| line.commits() || line.pushes());
        let paths: Vec<_> = deeds.iter().flat_map(|deed| file::written_files(deed)).map(|(path, ..)| path).collect();
        Self {
            is_main,
            lines: deeds.iter().flat_map(|deed| changed_by(timeline, deed)).map(|(_, lines)| lines).sum(),
            edits: !paths.is_empty(),
            edits_work: paths.iter().any(|path| !file::is_document(timeline.relative_path(path))),
            delivers: deeds.iter().any(|deed| deed.succeeded() && sends(deed)),
            is_gone: paths.is_empty() && deeds.len() < round.deeds.len(),
        }
    }

    /// Returns the work of a round with what was begun before it.
    fn with(self, next: Self) -> Self {
        Self {
            is_main: self.is_main || next.is_main,
            lines: self.lines.saturating_add(next.lines),
            edits: self.edits || next.edits,
            edits_work: self.edits_work || next.edits_work,
            delivers: self.delivers || next.delivers,
            is_gone: (self.is_gone || next.is_gone) && !self.edits && !next.edits,
        }
    }
}

impl<'t> Said<'t> {
    fn told_text(&self) -> &'t str {
        &self.conclusion.told
    }

    /// Returns true if it tells later that code is gone which another one names.
    fn takes_out(&self, other: &Self) -> bool {
        let is_named =
            |code: &str| !code.is_empty() && other.told_text().split('`').skip(1).step_by(2).any(|it| it == code);
        // `Removed the `winch``, unlike `Removed a line from the `winch``.
        let ends = |said: &Sentence<'_>| {
            let mut parts = said.text.split('`');
            let before = parts.next().unwrap_or_default();
            let removes = before.split_whitespace().next().is_some_and(|verb| Signs::read(verb).has(Sign::Ended));
            removes && before.split_whitespace().count() <= REMOVING_WORDS && parts.next().is_some_and(is_named)
        };
        let (message, earlier) = (self.conclusion.message, other.conclusion.message);
        message.place > earlier.place && sentences(message.text).iter().any(ends)
    }

    /// Returns what is told, or of what is too long the first sentence that says what was changed, or else the first ones.
    fn within(&self, chars: usize) -> Option<String> {
        let told = self.told_text();
        if told.chars().count() <= chars {
            return Some(told.to_owned());
        }
        let fits = |said: &String| said.chars().count() <= chars;
        let change = |said: &String| fits(said) && Signs::read(said).has(Sign::Change);
        let first = || sentences_within(told, chars).strip_suffix(" …").map(str::to_owned);
        chief_sentences(self.conclusion.message.text).into_iter().find(change).or_else(first)
    }
}

/// Returns the facts about the work tree at the end.
pub(super) fn work_state(timeline: &Timeline<'_>, exchanges: &[Exchange], tree: TreeState) -> WorkState {
    let mut pull_requests: Vec<String> = Vec::new();
    for made in timeline.deeds.iter().flat_map(|deed| deed.result.map_or(&[][..], |result| result.made())) {
        if let GitOutput::PullRequest(address) = made
            && !pull_requests.contains(address)
        {
            pull_requests.push(address.clone());
        }
    }
    let excess = pull_requests.len().saturating_sub(MAX_PULLS);
    pull_requests.drain(..excess);
    let committed = timeline.deeds.iter().rfind(|deed| deed.succeeded() && deed.commits());
    let subject = committed.and_then(commit_subject).map(|subject| one_line(&subject, SHORT_CHARS));
    // The exchanges know the hash.
    let mut known = exchanges.iter().flat_map(|exchange| &exchange.commits).rev();
    let commit = match subject {
        Some(subject) => known.find(|commit| commit.ends_with(&subject)).cloned().or(Some(subject)),
        None => known.next().cloned(),
    };
    let TreeState { branch, uncommitted, pushed, is_last_gone, unpushed, landed, also_modified, told, .. } = tree;
    let commit = landed.or_else(|| commit.filter(|_| !is_last_gone));
    let (check, is_check_old) = check::last_check(timeline).unzip();
    let is_check_old = is_check_old == Some(true);
    WorkState { branch, pull_requests, commit, pushed, unpushed, uncommitted, also_modified, check, is_check_old, told }
}

/// Shortens a decision to a clause, but no answer to its question.
fn decision(text: &str, chars: usize) -> String {
    Some(shortened(text, chars)).filter(|told| !told.ends_with('?')).unwrap_or_else(|| one_line(text, chars))
}

/// Returns the last entries of a list, each `cut`, as one sentence.
fn listed(name: &str, list: &[Pointed], cut: fn(&str, usize) -> String) -> Option<String> {
    let named = list.iter().rev().take(MAX_NAMED).rev();
    let named: Vec<_> = named.map(|entry| cut(entry.text.trim_end_matches('.'), SHORT_CHARS * 3 / 2)).collect();
    let more = list.len().saturating_sub(named.len());
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    (!named.is_empty()).then(|| with_full_stop(format!("{name}: {}{more}", named.join("; "))))
}

fn files(episode: &Episode) -> Option<String> {
    let (files, state) = match episode.state.uncommitted.as_slice() {
        [] if episode.is_without_commit() => (episode.changed_files(), "Changed, no commit seen"),
        [] => (episode.changed_files(), "Changed"),
        uncommitted => (uncommitted.iter().map(String::as_str).collect(), "Not committed"),
    };
    let last_first: Vec<&str> = files.into_iter().rev().collect();
    (!last_first.is_empty()).then(|| format!("{state}: {}.", names_with_rest(&last_first, None)))
}

/// Returns what was in progress at the end of the transcript, or what a plan that nobody approved is about.
pub(super) fn in_progress(timeline: &Timeline<'_>) -> Option<String> {
    broken_off(timeline).or_else(|| {
        let gist = plan::unapproved(timeline)?.gist(PLAN_CHARS)?;
        Some(with_full_stop(format!("{PLANNED}{gist}")))
    })
}

fn broken_off(timeline: &Timeline<'_>) -> Option<String> {
    let last = timeline.deeds.iter().rfind(|deed| !deed.is_persons())?;
    let last = Some(last).filter(|last| matches!(last.act(), Act::Shell | Act::Edit | Act::Spawn))?;
    let said = timeline.rounds.last().and_then(|round| round.replies.last());
    if said.is_some_and(|said| said.place > last.began) {
        return None;
    }
    if last.only_looks() || last.kept_command().is_some_and(Command::only_looks) {
        return None;
    }
    let what = || {
        let command = last.kept_command().map(|command| command.shown().to_owned());
        let target = last.target().map(|target| timeline.relative_path(target));
        let what = command.unwrap_or_else(|| format!("{} {}", last.tool(), target.unwrap_or_default()));
        one_line(&without_filter_mark(&what), SHORT_CHARS)
    };
    match last.outcome() {
        None if last.commits() => Some(format!("Whether `{}` made a commit is not known.", what())),
        None if !Deed::in_background(last) => Some(format!("`{}` was still running.", what())),
        Some(Outcome::Interrupted) => Some(format!("`{}` was interrupted.", what())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_is_cut_at_a_clause_and_keeps_its_answer() {
        let rest = "which takes until the load is on the quay";
        let stop =
            format!("The winch stops at the upper mark (or the lower one).; the mast stays in its place, {rest}");
        assert_eq!(decision(&stop, 80), "The winch stops at the upper mark.; the mast stays in its place");
        let answered = format!("Shall the winch of the crane stop at the upper mark? User: the lower one, {rest}");
        assert_eq!(decision(&answered, 80), one_line(&answered, 80));
        assert_eq!(decision("The winch stops.", 80), "The winch stops.");
    }
}
