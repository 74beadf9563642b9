//! Recurring patterns: steps that follow each other, commands that mostly fail, retry loops.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::how::later_quote;
use super::rate::{format_count, format_time, part_of_runs, passes_on, runs, share};
use super::{Format, TOO_FEW, Witness, draw};
use baton_events::schema::outcomes::{Command, Sequence, Tally};
use baton_protocol::answer::{PatternCommand, PatternLoop, PatternSequence, Patterns, Quote, Runs};

/// Maximum number of sequences among which parts of longer ones are dropped.
const MAX_COMPARED: usize = 300;
/// A sequence is dropped if a longer one contains it and occurs at least this often in comparison, in tenths.
const COVERED_TENTHS: u32 = 8;
/// A command with a lower success rate mostly fails.
const MOSTLY: f64 = 0.5;

/// Returns the recurring patterns of sessions, at most `limit` of each kind. The newest witness must come first.
/// `project` is reported as the scope of the answer.
pub fn patterns(witnesses: &[Witness], project: Option<&str>, limit: usize, format: Option<Format>) -> Patterns {
    let all = sequences(witnesses);
    let diagram =
        format.map(|format| draw(format, all.iter().filter(|sequence| sequence.steps.len() == 2).take(limit)));
    let failing = failing(witnesses);
    let loops = loops(witnesses);
    let sessions = u32::try_from(witnesses.len()).unwrap_or(u32::MAX);
    let mut sequences = without_covered(all);
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let message = format!(
        "in {}: {} that {}, {} that mostly {}, {} of retrying",
        format_count(sessions, "session"),
        format_count(number(sequences.len()), "sequence"),
        if sequences.len() == 1 { "repeats" } else { "repeat" },
        format_count(number(failing.len()), "command"),
        if failing.len() == 1 { "fails" } else { "fail" },
        format_count(number(loops.len()), "kind"),
    );
    let more = number([sequences.len(), failing.len(), loops.len()].map(|len| len.saturating_sub(limit)).iter().sum());
    sequences.truncate(limit);
    Patterns {
        message,
        project: project.map(str::to_owned),
        sessions,
        sequences,
        mostly_failing: failing.into_iter().take(limit).collect(),
        retry_loops: loops.into_iter().take(limit).collect(),
        more,
        diagram,
        ..Patterns::default()
    }
}

/// Returns the most frequent sequences of two steps, at most `limit`.
pub fn pairs(witnesses: &[Witness], limit: usize) -> Vec<PatternSequence> {
    sequences(witnesses).into_iter().filter(|sequence| sequence.steps.len() == 2).take(limit).collect()
}

/// Returns all sequences that occur at least [`TOO_FEW`] times, the most frequent first.
fn sequences(witnesses: &[Witness]) -> Vec<PatternSequence> {
    // Few steps are different ones, so sequences are compared by the numbers of their steps.
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut known: BTreeMap<Vec<usize>, (&[String], Sequence, u32)> = BTreeMap::new();
    let mut key = Vec::new();
    for sequence in witnesses.iter().flat_map(|witness| &witness.outcomes.sequences) {
        key.clear();
        for step in &sequence.steps {
            let next = numbers.len();
            key.push(*numbers.entry(step).or_insert(next));
        }
        if !known.contains_key(&key) {
            known.insert(key.clone(), (&sequence.steps, Sequence::default(), 0));
        }
        let Some((_, sum, sessions)) = known.get_mut(&key) else { continue };
        sum.ok = sum.ok.saturating_add(sequence.ok);
        sum.failed = sum.failed.saturating_add(sequence.failed);
        sum.other = sum.other.saturating_add(sequence.other);
        *sessions += 1;
    }
    let told = |(steps, sum, sessions): (&[String], Sequence, u32)| {
        let known = sum.ok.saturating_add(sum.failed);
        PatternSequence {
            steps: steps.to_vec(),
            count: known.saturating_add(sum.other),
            ok: sum.ok,
            failed: sum.failed,
            success_rate: share(sum.ok, known),
            sessions,
        }
    };
    let mut found: Vec<PatternSequence> = known.into_values().map(told).filter(|one| one.count >= TOO_FEW).collect();
    found.sort_by(|a, b| {
        (Reverse(a.count), Reverse(a.steps.len()), &a.steps).cmp(&(Reverse(b.count), Reverse(b.steps.len()), &b.steps))
    });
    found
}

/// Drops sequences that hardly ever occur outside of a longer one.
fn without_covered(mut all: Vec<PatternSequence>) -> Vec<PatternSequence> {
    all.truncate(MAX_COMPARED);
    let covered: Vec<bool> = all
        .iter()
        .map(|short| {
            all.iter().any(|long| {
                long.steps.len() > short.steps.len()
                    && u64::from(long.count) * 10 >= u64::from(short.count) * u64::from(COVERED_TENTHS)
                    && long.steps.windows(short.steps.len()).any(|part| part == short.steps)
            })
        })
        .collect();
    let mut covered = covered.into_iter();
    all.retain(|_| !covered.next().unwrap_or(false));
    all
}

/// Returns programs that mostly fail, and lines of other programs that do; the most failures first.
fn failing(witnesses: &[Witness]) -> Vec<PatternCommand> {
    let mut names: BTreeMap<&str, (Tally, Option<Quote>)> = BTreeMap::new();
    let mut lines: BTreeMap<(&str, &str), Tally> = BTreeMap::new();
    for (witness, command) in witnesses.iter().flat_map(|one| one.outcomes.commands.iter().map(move |of| (one, of))) {
        let (tally, last) = names.entry(&command.name).or_default();
        *tally = tally.plus(&command.runs);
        *last = later_quote(last.take(), failure(witness, command));
        for line in &command.lines {
            let tally = lines.entry((&command.name, &line.text)).or_default();
            *tally = tally.plus(&line.runs);
        }
    }
    let fails = |runs: &Runs| runs.success_rate.is_some_and(|rate| rate < MOSTLY);
    let mostly = |tally: &Tally| fails(&runs(tally));
    let of_lines = lines.iter().filter_map(|((name, line), tally)| {
        let whole = names.get(name).map(|(whole, _)| whole)?;
        let runs = part_of_runs(tally, passes_on(whole));
        let told = fails(&runs) && !mostly(whole);
        told.then(|| PatternCommand { command: (*line).to_owned(), runs, last_failure: None })
    });
    let of_names = names.iter().filter(|(_, (tally, _))| mostly(tally)).map(|(name, (tally, last))| PatternCommand {
        command: (*name).to_owned(),
        runs: runs(tally),
        last_failure: last.clone(),
    });
    let mut found: Vec<PatternCommand> = of_names.chain(of_lines).collect();
    found.sort_by(|a, b| (Reverse(a.runs.failed), &a.command).cmp(&(Reverse(b.runs.failed), &b.command)));
    found
}

fn failure(witness: &Witness, command: &Command) -> Option<Quote> {
    command.last_failure.as_ref().map(|excerpt| Quote {
        text: excerpt.text.clone(),
        session_id: witness.session.clone(),
        line: excerpt.line,
        at: format_time(excerpt.at),
    })
}

/// Returns the retry loops, the most failures first.
fn loops(witnesses: &[Witness]) -> Vec<PatternLoop> {
    let mut known: BTreeMap<&str, PatternLoop> = BTreeMap::new();
    for (witness, retry) in witnesses.iter().flat_map(|one| one.outcomes.retries.iter().map(move |retry| (one, retry)))
    {
        let found = known.entry(&retry.what).or_default();
        found.loops += 1;
        found.failures = found.failures.saturating_add(retry.times);
        found.longest = found.longest.max(retry.times);
        found.resolved += u32::from(retry.resolved);
        found.without_edits += u32::from(retry.edits == 0);
        let place = Quote {
            text: retry.error.clone(),
            session_id: witness.session.clone(),
            line: retry.to,
            at: format_time(retry.at),
        };
        if found.loops == 1 || place.at > found.last.at {
            found.last = place;
        }
    }
    let mut loops: Vec<PatternLoop> =
        known.into_iter().map(|(what, found)| PatternLoop { what: what.to_owned(), ..found }).collect();
    loops.sort_by(|a, b| (Reverse(a.failures), &a.what).cmp(&(Reverse(b.failures), &b.what)));
    loops
}
