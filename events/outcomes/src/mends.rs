//! Commands that made the failures of another command go away.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::Witness;
use super::rate::format_times;
use baton_episode::digest::{INSTEAD_OF, NOT_CHECKED, check_kind, checks, programs};
use baton_events::schema::outcomes::Fix;

/// Maximum number of commands that are named.
const MOST: usize = 2;

/// Returns what made failures go away, `` `npm run format` 3 times ``, the most frequent first; `None` if no command did.
/// Only commands count that came alone between the failure and the success: no file was edited.
pub(super) fn mending_commands(witnesses: &[Witness], is_meant: impl Fn(&str) -> bool) -> Option<String> {
    let mut by_command: BTreeMap<&str, BTreeSet<(&str, u64)>> = BTreeMap::new();
    let is_alone = |fix: &&Fix| is_over(&fix.text) && fix.files.is_empty() && fix.commands.len() == 1;
    for witness in witnesses {
        for failure in witness.outcomes.failures.iter().filter(|failure| is_meant(&failure.command)) {
            let Some(fix) = failure.fix.as_ref().filter(is_alone) else { continue };
            for command in &fix.commands {
                // One success that fixed several failures counts once.
                by_command.entry(command).or_default().insert((&witness.session, fix.line));
            }
        }
    }
    let count = |successes: &BTreeSet<_>| u32::try_from(successes.len()).unwrap_or(u32::MAX);
    let mut known: Vec<(&str, u32)> =
        by_command.iter().map(|(command, successes)| (*command, count(successes))).collect();
    known.sort_by_key(|(command, count)| (Reverse(*count), *command));
    let told: Vec<String> =
        known.iter().take(MOST).map(|(command, count)| format!("`{command}` {}", format_times(*count))).collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// Returns true if what is said to have fixed a failure ended it: no other command was used, and the check still runs.
pub(super) fn is_over(text: &str) -> bool {
    !text.contains(INSTEAD_OF) && !text.ends_with(NOT_CHECKED)
}

/// Returns true for a command line that only checks or looks: whatever became of a failure, it was no attempt to mend it.
pub(super) fn only_checks(line: &str) -> bool {
    let known = checks(line);
    !known.is_empty()
        && !known.iter().any(|check| check.mends)
        && programs(line).iter().all(|program| program.looks || check_kind(&program.name).is_some())
}
