//! How to check the work: the strongest check that passed after the last change of more than documents.
//!
//! Tests say more than types, and types more than lint. Only what was typed counts, not what a hook or a script echoes.
//! What mends its own findings is no check. Without any after the last change it is the last one that passed.

use std::collections::BTreeMap;

use super::SHORT_CHARS;
use super::command::{Command, Family, Step, separate};
use super::excerpt::{one_line, without_filter_mark};
use super::file;
use super::timeline::{Deed, Timeline};
use baton_conversation::item::Outcome;

/// Families of checks, the strongest first.
const STRENGTH: [Family; 6] = [Family::Test, Family::Types, Family::Build, Family::Check, Family::Lint, Family::Format];

/// A check that passed.
struct Passed {
    text: String,
    /// Place of its result.
    place: usize,
    /// True if it was told which part to check.
    names_parts: bool,
}

/// Returns the check that tells how to check the work.
pub(super) fn last_check(timeline: &Timeline<'_>) -> Option<String> {
    let mut passed: BTreeMap<usize, Passed> = BTreeMap::new();
    let mut changed = 0;
    for deed in timeline.finished.iter().filter_map(|&index| timeline.deeds.get(index)) {
        if file::written(timeline, deed).iter().any(|(path, ..)| !file::is_document(timeline.relative_path(path))) {
            changed = deed.ended;
        }
        let Some(line) = deed.parsed_command().filter(|_| !deed.in_background()) else { continue };
        match deed.outcome() {
            Some(Outcome::Failed) => {
                let failed: Vec<Family> = line.suspects().iter().map(Step::family).collect();
                passed.retain(|rank, _| !failed.contains(&STRENGTH[*rank]));
            }
            Some(Outcome::Ok) => note(&mut passed, deed, &line, changed),
            _ => {}
        }
    }
    let best = passed.values().find(|check| check.place > changed);
    let best = best.or_else(|| passed.values().max_by_key(|check| check.place))?;
    Some(one_line(&without_filter_mark(&best.text), SHORT_CHARS * 2))
}

/// Notes the checks of a command line that succeeded. A run by hand of everything stands until the next change.
fn note(passed: &mut BTreeMap<usize, Passed>, deed: &Deed<'_>, line: &Command<'_>, changed: usize) {
    for step in line.proven() {
        let Some(rank) = STRENGTH.iter().position(|family| *family == step.family() && !step.mends()) else { continue };
        let check = Passed { text: separate(line.normal(), step), place: deed.ended, names_parts: step.names_parts() };
        let is_whole = |known: &Passed| !known.names_parts && check.names_parts;
        if !passed.get(&rank).is_some_and(|known| known.place > changed && is_whole(known)) {
            passed.insert(rank, check);
        }
    }
}
