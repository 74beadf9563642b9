//! Accumulates a session's outcomes piece by piece in bounded memory.

use std::collections::BTreeMap;

use super::retry::Retries;
use super::run::{self, Programs};
use super::sequence::{self, Sequences};
use super::{MAX_CALLS, MAX_DECISIONS, MAX_FAILURES, MAX_FILES, MAX_MOVES, failure_history, touched};
use baton_conversation::hash::Mark;
use baton_conversation::item::{Body, Item};
use baton_episode::digest::{Action, Attempt, Episode, attempts};
use baton_events::schema::outcomes::{
    Calls, Command, Decided, Ended, FailureHistory, File, Kind, Move, OUTCOMES_VERSION, Outcomes, Row, Touch, millis,
};
use baton_graph::Surroundings;

/// Maximum number of files held at a time.
const MAX_FILES_HELD: usize = 20 * MAX_FILES;

/// Everything counted and kept of a session so far.
#[derive(Default)]
pub(super) struct OutcomeBuilder {
    programs: Programs,
    retries: Retries,
    sequences: Sequences,
    failures: Vec<FailureHistory>,
    files: BTreeMap<String, File>,
    moves: Vec<Move>,
    decisions: Vec<Decided>,
    calls: Vec<NotedCall>,
    /// Number of prompts so far.
    rounds: usize,
    left_out: u32,
}

/// A call that is kept individually.
struct NotedCall {
    mark: u64,
    line: u64,
    round: usize,
    step: Option<(String, Ended)>,
    touch: Option<Touch>,
    /// Name and kind of each program that counts.
    counts: Vec<(String, Kind)>,
    text: String,
}

impl OutcomeBuilder {
    /// Adds the next items of a session, with their digest. A call and its result must be in the same piece.
    pub(super) fn add(&mut self, items: &[Item], episode: &Episode, at: &Surroundings<'_>) {
        let mut all: Vec<Attempt<'_>> = Vec::new();
        attempts(items, |attempt| all.push(attempt));
        let base = if self.rounds > 0 && !goes_on(items) { self.rounds } else { self.rounds.saturating_sub(1) };
        for attempt in &all {
            self.programs.push(attempt);
            self.retries.push(attempt);
            self.sequences.push(attempt, base + attempt.round);
            if self.calls.len() < MAX_CALLS {
                self.calls.push(noted_call(attempt, base + attempt.round));
            }
        }
        let line = all.last().map_or(0, |last| last.line);
        let prompted = items.iter().rev().find(|item| begins_round(item)).is_some_and(|prompt| prompt.line > line);
        let counted = all.last().map_or(self.rounds, |last| base + last.round + 1);
        self.rounds = counted + usize::from(prompted);
        let mut left_out = self.left_out;
        let mut bounded = |count: usize| left_out = left_out.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
        self.failures.extend(failure_history::failure_histories(&all, episode, at, &mut bounded));
        keep_last(&mut self.failures, MAX_FAILURES, &mut bounded);
        self.moves.extend(touched::moves(&all, episode, at));
        keep_last(&mut self.moves, MAX_MOVES, &mut bounded);
        self.decisions.extend(touched::decisions(&all, episode, at));
        keep_last(&mut self.decisions, MAX_DECISIONS, &mut bounded);
        touched::note_files(&mut self.files, episode, at);
        if self.files.len() > MAX_FILES_HELD {
            let kept = touched::files(std::mem::take(&mut self.files), MAX_FILES_HELD / 2, &mut bounded);
            self.files = kept.into_iter().map(|file| (file.path.clone(), file)).collect();
        }
        self.left_out = left_out;
    }

    /// Returns the outcomes of all items.
    pub(super) fn finish(self) -> Outcomes {
        let mut left_out = self.left_out;
        let mut bounded = |count: usize| left_out = left_out.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
        let commands = self.programs.finish(&mut bounded);
        let retries = self.retries.finish(&mut bounded);
        let sequences = self.sequences.finish(&mut bounded);
        let files = touched::files(self.files, MAX_FILES, &mut bounded);
        let calls = stored_calls(self.calls, &commands);
        let family = calls.rows.iter().map(|row| row.mark).find(|mark| *mark != 0).unwrap_or(0);
        Outcomes {
            v: OUTCOMES_VERSION,
            commands,
            failures: self.failures,
            retries,
            sequences,
            files,
            moves: self.moves,
            decisions: self.decisions,
            left_out,
            family,
            calls: if family == 0 { Calls::default() } else { calls },
        }
    }
}

/// Returns true if the items begin in the middle of a prompt's round.
fn goes_on(items: &[Item]) -> bool {
    let first = items.iter().find(|item| !matches!(item.body, Body::Meta(_) | Body::Notice { .. }));
    !first.is_some_and(begins_round)
}

fn begins_round(item: &Item) -> bool {
    matches!(item.body, Body::Prompt { .. } | Body::Media { .. }) && !item.sidechain
}

/// Drops all but the last `most` entries.
fn keep_last<T>(list: &mut Vec<T>, most: usize, left_out: &mut impl FnMut(usize)) {
    let excess = list.len().saturating_sub(most);
    left_out(excess);
    list.drain(..excess);
}

fn noted_call(attempt: &Attempt<'_>, round: usize) -> NotedCall {
    let mut counts = Vec::new();
    let mut line = String::new();
    if let Action::Command { text, ran } = &attempt.what {
        let counted = ran.iter().filter(|program| run::is_counted(program));
        counts.extend(counted.map(|program| (program.name.clone(), run::kind(attempt.ended, program))));
        line.clone_from(text);
    }
    NotedCall {
        mark: attempt.uuid.map_or(0, |uuid| call_mark(uuid, attempt)),
        line: attempt.result_line,
        round,
        step: sequence::step(attempt),
        touch: match attempt.what {
            Action::Edit(_) => Some(Touch::Change),
            Action::Read(_) => Some(Touch::Read),
            Action::Command { .. } | Action::Other(_) => None,
        },
        counts,
        text: line,
    }
}

/// Identifies a call and its copies in other files, and no other call.
fn call_mark(uuid: &str, attempt: &Attempt<'_>) -> u64 {
    let call = attempt.call.map_or("", |call| &*call.id);
    let at = millis(attempt.begun_at).unwrap_or_default();
    Mark::digest(format!("{uuid}\n{call}\n{at}").as_bytes()).0
}

/// Converts the calls to their stored form, which refers to commands and lines by their index.
fn stored_calls(noted: Vec<NotedCall>, commands: &[Command]) -> Calls {
    let mut places: BTreeMap<&str, (u32, BTreeMap<&str, u32>)> = BTreeMap::new();
    for (command, place) in commands.iter().zip(0..) {
        let lines = command.lines.iter().zip(0..).map(|(line, place)| (line.text.as_str(), place)).collect();
        places.insert(&command.name, (place, lines));
    }
    let mut calls = Calls::default();
    let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
    for call in noted {
        let ended = call.step.as_ref().map_or(Ended::Unknown, |(_, ended)| *ended);
        let step = call.step.map(|(name, _)| match numbers.get(&name) {
            Some(number) => *number,
            None => {
                let number = u32::try_from(calls.names.len()).unwrap_or(u32::MAX);
                calls.names.push(name.clone());
                numbers.insert(name, number);
                number
            }
        });
        let place = |(name, kind): &(String, Kind)| {
            let (command, lines) = places.get(name.as_str())?;
            Some((*command, lines.get(call.text.as_str()).copied(), *kind))
        };
        calls.rows.push(Row {
            mark: call.mark,
            line: call.line,
            round: u32::try_from(call.round).unwrap_or(u32::MAX),
            step,
            ended,
            touch: call.touch,
            counts: call.counts.iter().filter_map(place).collect(),
        });
    }
    calls
}
