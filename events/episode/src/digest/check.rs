//! How to check the work: the strongest check that passed after the last change of more than documents.
//!
//! Tests say more than types, and types more than lint. What a hook ran counts once the commit is made, if it also passed as it
//! was typed before. What mends its own findings is no check. Without any after the last change it is the last one that
//! passed.

use std::collections::BTreeMap;

use super::LINE_CHARS;
use super::attempt::in_its_directory;
use super::command::{Command, Family, OPENING, Step, is_misuse, separate};
use super::evidence::complaint;
use super::excerpt::{one_line, without_filter_mark};
use super::failure::shown_line;
use super::file;
use super::timeline::{Deed, Message, Timeline};
use baton_conversation::item::Outcome;

/// Families of checks, the strongest first.
const STRENGTH: [Family; 6] = [Family::Test, Family::Types, Family::Build, Family::Check, Family::Lint, Family::Format];

/// A check as it was typed.
struct Typed {
    text: String,
    /// Place of the last result, if it passed.
    passed: Option<usize>,
    /// True if it was told which part to check.
    names_parts: bool,
    /// Place of the last run with an unknown end.
    unclear: usize,
}

/// Returns the check that tells how to check the work, and whether it passed only before the last change.
pub(super) fn last_check(timeline: &Timeline<'_>) -> Option<(String, bool)> {
    let mut checks: BTreeMap<usize, Typed> = BTreeMap::new();
    let mut changed = 0;
    for deed in timeline.finished.iter().filter_map(|&index| timeline.deeds.get(index)) {
        let counts = |path: &str| !file::is_document(timeline.relative_path(path));
        if file::written_files(deed).iter().any(|(path, ..)| counts(path)) {
            changed = deed.ended;
        }
        let Some(line) = deed.parsed_command().filter(|_| !deed.in_background()) else { continue };
        match deed.outcome() {
            // A command that was not understood has checked nothing.
            Some(Outcome::Failed) if !is_misuse(&complaint(deed)) => {
                let (blamed, passed) = (line.blamed(&complaint(deed)), line.passed_before_failing(&complaint(deed)));
                for step in &passed {
                    let Some(rank) = rank(step) else { continue };
                    note_passed(&mut checks, timeline, deed, (step, rank), changed);
                }
                let is_known = |step: &&Step<'_>| blamed.contains(*step) || passed.contains(step);
                note_unclear(&mut checks, deed, line.steps().iter().filter(|step| !is_known(step)));
                for step in &blamed {
                    let Some(rank) = rank(step) else { continue };
                    checks.entry(rank).or_insert_with(|| typed(timeline, deed, step, None)).passed = None;
                }
            }
            Some(Outcome::Ok) => note(&mut checks, timeline, deed, changed),
            Some(Outcome::Failed) => {}
            _ => note_unclear(&mut checks, deed, line.steps().iter()),
        }
    }
    let passed = || checks.values().filter_map(|check| Some((check.passed?, check)));
    let best = passed().find(|(place, _)| *place > changed);
    let old = || passed().max_by_key(|(place, _)| *place).filter(|(_, check)| check.unclear <= changed);
    let (place, best) = best.or_else(old)?;
    // A person may show later that it fails.
    let names = |text: &str| {
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        let ends =
            |line: &str| line.trim_end().strip_suffix(&*best.text).is_some_and(|before| !before.ends_with(is_word));
        text.lines().any(ends)
    };
    let shows = |said: &Message<'_>| said.place > place && names(said.text);
    let mut prompts = timeline.rounds.iter().filter_map(|round| round.prompt);
    if prompts.any(|said| shows(&said) && shown_line(said.text).is_some()) {
        return None;
    }
    // A part of a command checks something else.
    let told = one_line(&without_filter_mark(&best.text), LINE_CHARS);
    let is_part = OPENING.contains(&told.split(' ').next().unwrap_or_default());
    (!told.ends_with('…') && !is_part).then_some((told, place < changed))
}

/// Notes runs of checks with an unknown end: one may have passed after the last change.
fn note_unclear<'s>(checks: &mut BTreeMap<usize, Typed>, deed: &Deed<'_>, steps: impl Iterator<Item = &'s Step<'s>>) {
    for rank in steps.filter_map(rank) {
        checks.entry(rank).and_modify(|known| known.unclear = deed.ended);
    }
}

/// Notes a check that passed. A run of everything stands until the next change.
fn note_passed(
    checks: &mut BTreeMap<usize, Typed>,
    timeline: &Timeline<'_>,
    deed: &Deed<'_>,
    (step, rank): (&Step<'_>, usize),
    changed: usize,
) {
    let stands = |known: &Typed| !known.names_parts && known.passed.is_some_and(|place| place > changed);
    if !(step.names_parts() && checks.get(&rank).is_some_and(stands)) {
        checks.insert(rank, typed(timeline, deed, step, Some(deed.ended)));
    }
}

/// Notes the checks of a command line that succeeded.
fn note(checks: &mut BTreeMap<usize, Typed>, timeline: &Timeline<'_>, deed: &Deed<'_>, changed: usize) {
    let Some(line) = deed.parsed_command() else { return };
    let proven = line.proven();
    note_unclear(
        checks,
        deed,
        line.steps().iter().filter(|step| !proven.iter().any(|known| std::ptr::eq(*known, *step))),
    );
    for step in proven {
        let Some(rank) = rank(step) else { continue };
        note_passed(checks, timeline, deed, (step, rank), changed);
    }
    for echoed in deed.result.filter(|_| line.commits()).map_or(&[][..], |result| result.echoed()) {
        for rank in Command::read(echoed).steps().iter().filter_map(rank) {
            let passed_before = checks.get_mut(&rank).and_then(|known| known.passed.as_mut());
            passed_before.into_iter().for_each(|place| *place = deed.ended);
        }
    }
}

/// Returns how much a check says, the most first; `None` if it is none.
fn rank(step: &Step<'_>) -> Option<usize> {
    STRENGTH.iter().position(|family| *family == step.family()).filter(|_| !step.mends())
}

fn typed(timeline: &Timeline<'_>, deed: &Deed<'_>, step: &Step<'_>, passed: Option<usize>) -> Typed {
    let text = deed.parsed_command().map_or_else(String::new, |line| {
        in_its_directory(deed, line, timeline.cwd, &separate(line.normal_form(), step))
    });
    Typed { text, passed, names_parts: step.names_parts(), unclear: 0 }
}
