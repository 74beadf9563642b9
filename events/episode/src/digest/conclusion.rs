//! What every exchange came to, in short: told once, for the state and for the answers.

use super::command::{Family, Step};
use super::exchange::conclusion;
use super::file;
use super::outcome::{outcome, remark};
use super::timeline::{Message, Timeline};
use baton_conversation::item::Outcome;

/// The message with which an exchange ends.
pub(super) struct Conclusion<'t, 'a> {
    pub(super) message: &'t Message<'a>,
    /// What it says came of the request; empty if it names nothing.
    pub(super) told: String,
}

impl Conclusion<'_, '_> {
    /// Returns what is told, or its first sentences if it names nothing.
    pub(super) fn told_or_remark(&self) -> String {
        if self.told.is_empty() { remark(self.message.text) } else { self.told.clone() }
    }
}

/// Returns the conclusions of the rounds, each in the place of its round.
pub(super) fn conclusions<'t, 'a>(timeline: &'t Timeline<'a>) -> Vec<Option<Conclusion<'t, 'a>>> {
    let checks = failing_checks(timeline);
    let conclude = |round| {
        let message = conclusion(timeline, round)?;
        let before = checks.partition_point(|(ended, _)| *ended < message.place);
        let fails = before.checked_sub(1).is_some_and(|last| checks[last].1);
        // Work is told in its order, an answer by what was asked.
        let works = timeline.deeds[round.deeds.clone()].iter().any(|deed| file::changes(deed));
        let request = round.prompt.filter(|_| !works).map_or("", |said| said.text);
        Some(Conclusion { message, told: outcome(message.text, request, fails) })
    };
    timeline.rounds.iter().map(conclude).collect()
}

/// Returns the places after which it changed whether the last run of any check failed.
fn failing_checks(timeline: &Timeline<'_>) -> Vec<(usize, bool)> {
    let mut failing: Vec<Family> = Vec::new();
    let mut changes = Vec::new();
    let deeds = timeline.finished.iter().filter_map(|&index| timeline.deeds.get(index));
    for deed in deeds.filter(|deed| !deed.in_background()) {
        let Some(line) = deed.parsed_command() else { continue };
        match deed.outcome() {
            Some(Outcome::Failed) => {
                let suspects = line.suspects();
                let checks = suspects.iter().map(Step::family).filter(|family| family.is_check());
                for family in checks {
                    if !failing.contains(&family) {
                        failing.push(family);
                    }
                }
            }
            Some(Outcome::Ok) if line.passed() => {
                failing.retain(|family| !line.steps().iter().any(|step| step.family() == *family));
            }
            _ => {}
        }
        if changes.last().is_none_or(|(_, fails)| *fails == failing.is_empty()) {
            changes.push((deed.ended, !failing.is_empty()));
        }
    }
    changes
}
