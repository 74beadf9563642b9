//! Removes what a fork has copied from an older session, so that it counts once, in the older one.
//!
//! # Decisions
//!
//! - The first 2,000 calls of a session are kept individually, so that copies are removed when both sessions are
//!   queried and the order of indexing does not matter. Copied calls beyond them count twice.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::Witness;
use super::sequence::Sequences;
use baton_events::schema::outcomes::{Calls, Ended, Excerpt, FailureHistory, Outcomes, Row, Touch, decode_calls};

/// Removes from each witness what it has copied from an older one. `elder` orders two session ids, the older first.
/// Each call counts once per family. A failure in the copied part counts where it first occurred; a fork that repaired
/// it keeps the fix.
pub fn remove_copies(witnesses: &mut [Witness], elder: &dyn Fn(&str, &str) -> Ordering) {
    let mut families: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (place, witness) in witnesses.iter().enumerate() {
        if witness.outcomes.family != 0 {
            families.entry(witness.outcomes.family).or_default().push(place);
        }
    }
    for mut members in families.into_values().filter(|members| members.len() > 1) {
        members.sort_by(|one, other| elder(&witnesses[*one].session, &witnesses[*other].session));
        // Positions of each call seen so far, to mark failures that a fork has repaired.
        let mut seen: BTreeMap<u64, Vec<(usize, u64)>> = BTreeMap::new();
        for place in members {
            let calls = decode_calls(&witnesses[place].calls);
            let copied: BTreeSet<u64> =
                calls.rows.iter().filter(|row| seen.contains_key(&row.mark)).map(|row| row.line).collect();
            if !copied.is_empty() {
                let mended = subtract(&mut witnesses[place].outcomes, &calls, &copied);
                let marks = calls.rows.iter().filter(|row| mended.contains(&row.line)).map(|row| row.mark);
                let elders: Vec<(usize, u64)> = marks.filter_map(|mark| seen.get(&mark)).flatten().copied().collect();
                for (elder, line) in elders {
                    let failures = &mut witnesses[elder].outcomes.failures;
                    let same =
                        failures.iter_mut().filter(|failure| failure.line == line || failure.again.contains(&line));
                    same.for_each(|failure| failure.mended_by_fork = true);
                }
            }
            for row in calls.rows.iter().filter(|row| row.mark != 0) {
                seen.entry(row.mark).or_default().push((place, row.line));
            }
        }
    }
}

/// Removes what is at these lines. Returns the lines of copied failures that this session repaired.
fn subtract(outcomes: &mut Outcomes, calls: &Calls, copied: &BTreeSet<u64>) -> BTreeSet<u64> {
    let is_copied = |row: &&Row| copied.contains(&row.line);
    for row in calls.rows.iter().filter(is_copied) {
        for (command, line, kind) in &row.counts {
            let Some(command) = usize::try_from(*command).ok().and_then(|place| outcomes.commands.get_mut(place))
            else {
                continue;
            };
            command.runs.subtract(*kind);
            let line = line.and_then(|place| command.lines.get_mut(usize::try_from(place).ok()?));
            line.into_iter().for_each(|line| line.runs.subtract(*kind));
        }
    }
    let own = |excerpt: &Excerpt| !copied.contains(&excerpt.line);
    for command in &mut outcomes.commands {
        command.last_failure = command.last_failure.take().filter(own);
        command.lines.retain(|line| line.runs.all() > 0);
        command.lines.iter_mut().for_each(|line| line.last_failure = line.last_failure.take().filter(own));
    }
    outcomes.commands.retain(|command| command.runs.all() > 0);
    subtract_sequences(outcomes, calls, copied);
    outcomes.retries.retain(|retry| !copied.contains(&retry.to));
    drop_copied_files(outcomes, calls, copied);
    let mut mended = BTreeSet::new();
    outcomes.failures.retain_mut(|failure| keep_own_part(failure, calls, copied, &mut mended));
    mended
}

/// A fork begins with its copy, so everything before its end is not its own. Of a file only its first position is
/// known: the file is kept if the fork itself changes or reads anything.
fn drop_copied_files(outcomes: &mut Outcomes, calls: &Calls, copied: &BTreeSet<u64>) {
    let Some(end) = copied.last().copied() else { return };
    outcomes.moves.retain(|moved| moved.line > end);
    outcomes.decisions.retain(|decided| decided.excerpt.line > end);
    let own = || calls.rows.iter().filter(|row| !copied.contains(&row.line));
    let does = |touch: Touch| own().any(|row| row.touch == Some(touch));
    let (changes, reads) = (does(Touch::Change), does(Touch::Read));
    outcomes.files.retain(|file| file.line > end || if file.changed { changes } else { reads });
}

/// Subtracts the sequences of the copied calls.
fn subtract_sequences(outcomes: &mut Outcomes, calls: &Calls, copied: &BTreeSet<u64>) {
    let mut counted = Sequences::default();
    for row in calls.rows.iter().filter(|row| copied.contains(&row.line)) {
        let name = row.step.and_then(|number| calls.names.get(usize::try_from(number).ok()?));
        if let (Some(name), Ok(round)) = (name, usize::try_from(row.round)) {
            counted.step(name.clone(), row.ended, round);
        }
    }
    let counted: BTreeMap<Vec<String>, [u32; 3]> =
        counted.all().map(|one| (one.steps, [one.ok, one.failed, one.other])).collect();
    for sequence in &mut outcomes.sequences {
        if let Some([ok, failed, other]) = counted.get(&sequence.steps) {
            sequence.ok = sequence.ok.saturating_sub(*ok);
            sequence.failed = sequence.failed.saturating_sub(*failed);
            sequence.other = sequence.other.saturating_sub(*other);
        }
    }
    outcomes.sequences.retain(|sequence| sequence.ok + sequence.failed + sequence.other > 0);
}

/// Removes the copied part of a failure; returns true if anything of it is the session's own.
fn keep_own_part(
    failure: &mut FailureHistory,
    calls: &Calls,
    copied: &BTreeSet<u64>,
    mended: &mut BTreeSet<u64>,
) -> bool {
    let lines = std::iter::once(failure.line).chain(failure.again.iter().copied());
    let theirs: Vec<u64> = lines.filter(|line| copied.contains(line)).collect();
    if theirs.is_empty() {
        return true;
    }
    // Only the first repetitions are kept by line; for the others, count the failures after the copy.
    let (kept, last) = (1 + failure.again.len(), failure.last_line.max(failure.line));
    let is_its_own = |row: &&Row| row.ended == Ended::Failed && row.line <= last && !copied.contains(&row.line);
    let own = match (copied.last(), usize::try_from(failure.times)) {
        (Some(end), _) if last <= *end => 0,
        (_, Ok(times)) if times > kept => calls.rows.iter().filter(is_its_own).count(),
        _ => usize::MAX,
    };
    failure.times = failure.times.saturating_sub(u32::try_from(theirs.len()).unwrap_or(u32::MAX));
    failure.times = failure.times.min(u32::try_from(own).unwrap_or(u32::MAX));
    failure.tried.retain(|tried| !copied.contains(&tried.line));
    failure.fix = failure.fix.take().filter(|fix| !copied.contains(&fix.line));
    if failure.fix.is_some() {
        mended.extend(theirs);
    }
    failure.fix.is_some() || failure.times > 0
}

#[cfg(test)]
mod tests {
    use super::super::tests::{MOVED, Script, fix_of};
    use super::super::{how, patterns};
    use super::*;

    /// Returns an older session and its fork, each continued in its own way.
    fn family(elder: impl Fn(Script) -> Script, fork: impl Fn(Script) -> Script) -> [Witness; 2] {
        let copied = || {
            Script::default()
                .of_records()
                .prompt("mend the login")
                .ok("cargo build")
                .fails("cargo test -p auth", MOVED)
                .edit("/srv/shop/src/a.rs")
                .fails("cargo test -p auth", MOVED)
        };
        let mut family =
            [fork(copied().forked()).witness("fork", "/srv/shop"), elder(copied()).witness("elder", "/srv/shop")];
        remove_copies(&mut family, &|one, other| one.cmp(other));
        family
    }

    fn told(witnesses: &[Witness], command: &str) -> [u32; 4] {
        let how = how(command, witnesses, None, 9);
        [how.runs.count, how.runs.ok, how.runs.failed, how.sessions]
    }

    #[test]
    fn what_a_fork_has_copied_is_counted_once() {
        let both = family(|elder| elder.ok("cargo build"), |fork| fork.fails("cargo build", "error: no space"));
        assert_eq!(told(&both, "cargo build"), [3, 2, 1, 2]);
        assert_eq!(told(&both, "cargo test"), [2, 0, 2, 1]);
        assert_eq!(fix_of(MOVED, &both).message, "seen twice in 1 session, no resolution seen");
        // A fork without activity of its own contributes nothing.
        let idle = family(|elder| elder, |fork| fork);
        assert_eq!((told(&idle, "cargo test"), told(&idle, "cargo build")), ([2, 0, 2, 1], [1, 1, 0, 1]));
        assert!(!idle[1].outcomes.sequences.is_empty() && idle[0].outcomes.sequences.is_empty(), "{idle:?}");
        assert!(idle[0].outcomes.files.is_empty() && !idle[1].outcomes.files.is_empty(), "{idle:?}");
        let loops = family(|elder| elder, |fork| fork.fails("cargo test -p auth", MOVED));
        assert_eq!(told(&loops, "cargo test"), [3, 0, 3, 2]);
        assert_eq!(patterns(&loops, None, 9, None).retry_loops.len(), 1);
    }

    #[test]
    fn many_failures_that_a_fork_has_copied_are_its_elders() {
        let many = || {
            (0..100).fold(Script::default().of_records().prompt("x"), |all, _| all.fails("cargo test -p auth", MOVED))
        };
        for (fork, expected) in [
            (many().forked(), "seen 100 times in 1 session, no resolution seen"),
            (many().forked().fails("cargo test -p auth", MOVED), "seen 101 times in 2 sessions, no resolution seen"),
        ] {
            let mut both = [fork.witness("fork", "/srv/shop"), many().witness("elder", "/srv/shop")];
            remove_copies(&mut both, &|one, other| one.cmp(other));
            assert_eq!(fix_of(MOVED, &both).message, expected);
        }
    }

    #[test]
    fn what_a_fork_mended_is_not_told_as_open() {
        let mended = family(|elder| elder, |fork| fork.edit("/srv/shop/src/b.rs").ok("cargo test -p auth"));
        let found = fix_of(MOVED, &mended);
        assert_eq!(found.message, "seen twice in 2 sessions, went away once");
        let found = &found.matches[0];
        assert_eq!((found.fixes[0].session_id.as_str(), found.unresolved.as_ref()), ("fork", None));
        assert_eq!(found.fixes[0].files, ["src/b.rs"]);
        assert_eq!(found.tried_in_vain[0].count, 1, "{:?}", found.tried_in_vain);
        let both = family(
            |elder| elder.edit("/srv/shop/src/c.rs").ok("cargo test -p auth"),
            |fork| fork.edit("/srv/shop/src/b.rs").ok("cargo test -p auth"),
        );
        assert_eq!(fix_of(MOVED, &both).message, "seen twice in 2 sessions, went away twice");
    }

    #[test]
    fn sessions_that_share_nothing_are_left_alone() {
        let one = || Script::default().of_records().prompt("x").ok("make").ok("make").fails("make", "error: x");
        let check = |witnesses: &mut [Witness]| {
            let before = witnesses.to_vec();
            remove_copies(witnesses, &|one, other| one.cmp(other));
            assert_eq!(witnesses, before);
        };
        check(&mut []);
        check(&mut [one().witness("one", "/srv/shop")]);
        // Records without ids are never copies.
        let bare = || Script::default().prompt("x").ok("make").fails("make", "error: x").witness("one", "/srv/shop");
        check(&mut [bare(), Witness { session: "two".to_owned(), ..bare() }]);
        // The same words at another time are another call.
        check(&mut [one().witness("one", "/srv/shop"), one().later(1).witness("two", "/srv/shop")]);
    }
}
