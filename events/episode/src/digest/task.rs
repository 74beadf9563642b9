//! The tasks of a session: the rounds that serve one request, and the lines that were changed for it.
//!
//! A round belongs to the task whose files it changes. One that changes other files, or asks for something else, begins a
//! task, and so does one with a plan of its own; an agreement, a mere order (`commit`), an answer and what is said into the work go on with the last one.

use std::collections::BTreeMap;

use super::file;
use super::plan;
use super::request::{asks_for_work, has_question, has_substance, has_work_verb, wants};
use super::sentence::sentences;
use super::timeline::{Deed, Round, Timeline};
use crate::lexicon::{Sign, Signs};
use baton_conversation::item::Outcome;

/// Rounds that serve one request.
#[derive(Default)]
pub(super) struct Task {
    /// Indices into [`Timeline::rounds`], ascending, never empty.
    pub(super) rounds: Vec<usize>,
    /// Number of lines that were changed, at least one per change.
    pub(super) lines: u64,
}

/// Returns the tasks by their first round; every round belongs to one.
pub(super) fn tasks(timeline: &Timeline<'_>) -> Vec<Task> {
    let mut tasks: Vec<Task> = Vec::new();
    let mut owners: BTreeMap<String, usize> = BTreeMap::new();
    let mut current = 0;
    // Whether the first prompt of substance of a task asks for work.
    let mut asked: Vec<Option<bool>> = Vec::new();
    let plans = plan::approved(timeline);
    let mut approved = 0;
    let all: Vec<BTreeMap<String, u64>> = timeline.rounds.iter().map(|round| changes(timeline, round)).collect();
    let last_work = all.iter().rposition(|changed| changed.keys().any(|path| !file::is_document(path)));
    for (at, (round, changed)) in timeline.rounds.iter().zip(all).enumerate() {
        let lines: u64 = changed.values().sum();
        // A change log or a read-me belongs to every task.
        let work = || changed.iter().filter(|(path, _)| !file::is_document(path));
        let work_lines: u64 = work().map(|(_, lines)| lines).sum();
        let mut shares: BTreeMap<usize, u64> = BTreeMap::new();
        for (path, lines) in work() {
            owners.get(path).into_iter().for_each(|owner| *shares.entry(*owner).or_insert(0) += lines);
        }
        let known = shares.into_iter().max_by_key(|(_, lines)| *lines).filter(|(_, lines)| lines * 2 >= work_lines);
        // A plan of its own is a task of its own.
        let next = timeline.rounds.get(at + 1).and_then(|round| round.prompt).map(|said| said.place);
        let deed = timeline.deeds.get(round.deeds.end).map(|deed| deed.began);
        let end = next.into_iter().chain(deed).min().unwrap_or(usize::MAX);
        let begun = std::mem::replace(&mut approved, plans.partition_point(|plan| plan.place < end));
        let is_talk = tasks.get(current).is_none_or(|task| task.lines == 0);
        let is_planned = approved > begun && known.is_some();
        let delivers = work_lines == 0 && (lines > 0 || timeline.deeds[round.deeds.clone()].iter().any(Deed::commits));
        let stopped = timeline.deeds[..round.deeds.start].last().and_then(Deed::outcome);
        let corrects = round.after_interruption || matches!(stopped, Some(Outcome::Denied | Outcome::Interrupted));
        // A message between a request and its work is about that request.
        let leads_to_work =
            is_talk && last_work.is_some_and(|last| at <= last) && asked.get(current) == Some(&Some(true));
        let goes_on = known.is_some() || corrects || delivers || leads_to_work || answers(timeline, at, is_talk);
        if tasks.is_empty() || is_planned || !goes_on && begins(round, work_lines > 0, is_talk) {
            tasks.push(Task::default());
            asked.push(None);
            current = tasks.len() - 1;
        } else if let Some((owner, _)) = known.filter(|_| !leads_to_work) {
            current = owner;
        }
        let prompt = || round.prompt.map(|said| said.text).filter(|text| has_substance(text));
        asked[current] = asked[current].or_else(|| prompt().map(asks_for_work));
        tasks[current].rounds.push(at);
        tasks[current].lines = tasks[current].lines.saturating_add(lines);
        changed.into_keys().for_each(|path| _ = owners.insert(path, current));
    }
    tasks
}

/// Returns the index of the task that most lines were changed for; without changes, of the first that asks for something and
/// was answered.
pub(super) fn main_task(timeline: &Timeline<'_>, tasks: &[Task]) -> Option<usize> {
    let is_answered = |task: &Task| task.rounds.iter().any(|at| !timeline.rounds[*at].replies.is_empty());
    let prompts = |task: &Task| task.rounds.iter().filter_map(|at| timeline.rounds[*at].prompt).collect::<Vec<_>>();
    let asks = |task: &Task| {
        prompts(task).iter().any(|said| wants(said.text) || has_question(said.text) || has_work_verb(said.text))
    };
    let worth = |at: &usize| (tasks[*at].lines, is_answered(&tasks[*at]));
    let most = (0..tasks.len()).map(|at| worth(&at)).max()?;
    let best: Vec<usize> = (0..tasks.len()).filter(|at| worth(at) == most).collect();
    // The request is read only if it decides.
    let asking = || best.iter().find(|at| asks(&tasks[**at]));
    (best.len() > 1).then(asking).flatten().or(best.first()).copied()
}

/// Returns true if a prompt begins a task: it asks for something. After some work (not `is_talk`) a question does so as well,
/// and so do changes of files that no task knows.
fn begins(round: &Round<'_>, changes: bool, is_talk: bool) -> bool {
    let text = round.prompt.map_or("", |said| said.text.trim());
    has_substance(text) && (wants(text) || !is_talk && (changes || has_question(text)))
}

/// Returns true if a prompt agrees, or answers the question with which the round before ended; after some work (not `is_talk`)
/// only if both.
fn answers(timeline: &Timeline<'_>, at: usize, is_talk: bool) -> bool {
    let before = at.checked_sub(1).and_then(|before| timeline.rounds.get(before)?.replies.last());
    let question = before.and_then(|reply| sentences(reply.text).last().map(|last| Signs::read(last.text).asks()));
    let agrees = || timeline.rounds[at].prompt.is_some_and(|said| Signs::read(said.text).begins(Sign::Assent));
    if is_talk { question == Some(true) || agrees() } else { question == Some(true) && agrees() }
}

/// Returns the files that a round changed, with the number of lines. Notes elsewhere, such as a plan, are no work.
fn changes(timeline: &Timeline<'_>, round: &Round<'_>) -> BTreeMap<String, u64> {
    let mut changed: BTreeMap<String, u64> = BTreeMap::new();
    for (path, lines) in timeline.deeds[round.deeds.clone()].iter().flat_map(|deed| changed_by(timeline, deed)) {
        *changed.entry(path).or_insert(0) += lines;
    }
    changed
}

/// Returns the files that a call changed, with the number of lines; of a command that is unknown, and counts as one.
pub(super) fn changed_by(timeline: &Timeline<'_>, deed: &Deed<'_>) -> Vec<(String, u64)> {
    let written = file::written_files(deed).into_iter().map(|(path, added, removed)| {
        (timeline.relative_path(path).to_owned(), (u64::from(added) + u64::from(removed)).max(1))
    });
    let is_note = |path: &str| path.starts_with(['/', '~']) && file::is_document(path);
    written.filter(|(path, _)| !is_note(path)).collect()
}
