//! What a project's sessions worked on most, and how its checks went over time.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::rate::{part_of_runs, passes_on, runs};
use super::{Witness, file_query};
use baton_conversation::record::Timestamp;
use baton_episode::digest::check_kind;
use baton_events::schema::outcomes::Tally;
use baton_protocol::Zone;
use baton_protocol::answer::{CheckWeek, ProjectCheck, ProjectFile};

/// Maximum number of weeks per check, the newest ones.
const MAX_WEEKS: usize = 26;
const WEEK_MS: i64 = 7 * 24 * 60 * 60 * 1_000;
/// From a Monday to the Thursday with which the time of computers begins.
const MONDAY_MS: i64 = 3 * 24 * 60 * 60 * 1_000;

/// Returns the files of a project, those that most sessions changed first, at most `limit`, and the number of others.
pub fn files(witnesses: &[Witness], project: &str, limit: usize) -> (Vec<ProjectFile>, u32) {
    let mut known: BTreeMap<String, ProjectFile> = BTreeMap::new();
    for (witness, file) in witnesses.iter().flat_map(|one| one.outcomes.files.iter().map(move |file| (one, file))) {
        // A session may work in a directory below the project.
        let whole = match (&witness.project, file_query::is_absolute(&file.path)) {
            (Some(own), false) => format!("{}/{}", own.trim_end_matches(['/', '\\']), file.path),
            _ => file.path.clone(),
        };
        let found = known.entry(whole).or_default();
        found.changed_in += u32::from(file.changed);
        found.read_in += u32::from(!file.changed);
        found.added = found.added.saturating_add(file.added);
        found.removed = found.removed.saturating_add(file.removed);
        found.last_at = found.last_at.take().max(witness.at.map(|at| at.to_string()));
    }
    let root = format!("{}/", project.trim_end_matches(['/', '\\']));
    let mut files: Vec<ProjectFile> = known
        .into_iter()
        .map(|(ask, file)| ProjectFile { path: ask.strip_prefix(&root).unwrap_or(&ask).to_owned(), ask, ..file })
        .collect();
    files.sort_by(|a, b| rank(a).cmp(&rank(b)));
    let more = files.len().saturating_sub(limit);
    files.truncate(limit);
    (files, u32::try_from(more).unwrap_or(u32::MAX))
}

fn rank(file: &ProjectFile) -> (Reverse<u32>, Reverse<u32>, Reverse<u32>, &str) {
    let lines = file.added.saturating_add(file.removed);
    (Reverse(file.changed_in), Reverse(lines), Reverse(file.read_in), &file.path)
}

/// Returns the tests, builds and lints, the most frequent first, at most `limit`, and the number of others. A session's
/// runs count for the week in which it ended.
pub fn checks(witnesses: &[Witness], zone: Zone, limit: usize) -> (Vec<ProjectCheck>, u32) {
    let mut known: BTreeMap<&str, (&'static str, BTreeMap<String, Tally>)> = BTreeMap::new();
    for witness in witnesses {
        let week = witness.at.map(|at| monday(at, zone)).unwrap_or_default();
        for command in &witness.outcomes.commands {
            if !known.contains_key(command.name.as_str()) {
                let Some(kind) = check_kind(&command.name) else { continue };
                known.insert(&command.name, (kind, BTreeMap::new()));
            }
            let Some((_, weeks)) = known.get_mut(command.name.as_str()) else { continue };
            let tally = weeks.entry(week.clone()).or_default();
            *tally = tally.plus(&command.runs);
        }
    }
    let mut checks: Vec<ProjectCheck> = known
        .into_iter()
        .map(|(command, (kind, weeks))| {
            let whole = weeks.values().fold(Tally::default(), |sum, tally| sum.plus(tally));
            let old = weeks.len().saturating_sub(MAX_WEEKS);
            let earlier = weeks.values().take(old).map(Tally::all).sum();
            let week =
                |(week, tally): (String, Tally)| CheckWeek { week, runs: part_of_runs(&tally, passes_on(&whole)) };
            ProjectCheck {
                command: command.to_owned(),
                kind: kind.to_owned(),
                runs: runs(&whole),
                weeks: weeks.into_iter().skip(old).map(week).collect(),
                earlier,
            }
        })
        .collect();
    checks.sort_by(|a, b| (Reverse(a.runs.count), &a.command).cmp(&(Reverse(b.runs.count), &b.command)));
    let more = checks.len().saturating_sub(limit);
    checks.truncate(limit);
    (checks, u32::try_from(more).unwrap_or(u32::MAX))
}

/// The Monday of a time's week in a zone: `2026-03-09`.
fn monday(at: Timestamp, zone: Zone) -> String {
    let wall = zone.wall(at.0);
    let start = wall - (wall + MONDAY_MS).rem_euclid(WEEK_MS);
    Timestamp(start).to_string().chars().take(10).collect()
}

#[cfg(test)]
mod tests {
    use baton_events::schema::outcomes::{Command, File, Outcomes};

    use super::*;

    fn witness(at: &str, outcomes: Outcomes) -> Witness {
        let project = Some("/srv/shop".to_owned());
        Witness { project, at: Timestamp::parse(at), outcomes, ..Witness::default() }
    }

    fn ran(at: &str, commands: &[(&str, u32, u32)]) -> Witness {
        let commands = commands.iter().map(|(name, ok, failed)| Command {
            name: (*name).to_owned(),
            runs: Tally { ok: *ok, failed: *failed, ..Tally::default() },
            ..Command::default()
        });
        witness(at, Outcomes { commands: commands.collect(), ..Outcomes::default() })
    }

    #[test]
    fn checks_are_counted_by_the_week_of_the_person() {
        // A Sunday evening is a Monday further east.
        let witnesses = [
            ran("2026-03-16T12:00:00Z", &[("cargo test", 2, 1), ("ls", 9, 0)]),
            ran("2026-03-15T23:30:00Z", &[("cargo test", 1, 0), ("npm run lint", 0, 1)]),
        ];
        let told = |zone: Zone| {
            let (checks, more) = checks(&witnesses, zone, 10);
            assert_eq!(more, 0);
            let weeks = |check: &ProjectCheck| {
                check
                    .weeks
                    .iter()
                    .map(|week| format!("{} {}/{}", week.week, week.runs.ok, week.runs.failed))
                    .collect::<Vec<_>>()
            };
            checks.iter().map(|check| (check.command.clone(), check.kind.clone(), weeks(check))).collect::<Vec<_>>()
        };
        let owned = |weeks: &[&str]| weeks.iter().map(|week| (*week).to_owned()).collect::<Vec<_>>();
        let lint = |week: &str| ("npm run lint".to_owned(), "lint".to_owned(), owned(&[&format!("{week} 0/1")]));
        let test = |weeks: &[&str]| ("cargo test".to_owned(), "test".to_owned(), owned(weeks));
        assert_eq!(told(Zone::UTC), [test(&["2026-03-09 1/0", "2026-03-16 2/1"]), lint("2026-03-09")]);
        assert_eq!(told(Zone::parse("CET-1").unwrap()), [test(&["2026-03-16 3/1"]), lint("2026-03-16")]);
        let (one, more) = checks(&witnesses, Zone::UTC, 1);
        assert_eq!((one.len(), more, one[0].runs.count), (1, 1, 4));
    }

    #[test]
    fn files_are_ordered_by_the_sessions_that_changed_them() {
        let file = |path: &str, changed, added| File { path: path.to_owned(), changed, added, ..File::default() };
        let of = |files: Vec<File>| Outcomes { files, ..Outcomes::default() };
        let mut below = witness("2026-03-15T12:00:00Z", of(vec![file("lib.rs", true, 2)]));
        below.project = Some("/srv/shop/src".to_owned());
        let first = of(vec![file("src/lib.rs", true, 1), file("a.rs", true, 90), file("/etc/hosts", false, 0)]);
        let (files, more) = files(&[witness("2026-03-16T12:00:00Z", first), below], "/srv/shop", 10);
        let told: Vec<_> =
            files.iter().map(|file| (file.path.as_str(), file.changed_in, file.read_in, file.added)).collect();
        assert_eq!(told, [("src/lib.rs", 2, 0, 3), ("a.rs", 1, 0, 90), ("/etc/hosts", 0, 1, 0)]);
        assert_eq!((more, files[0].ask.as_str()), (0, "/srv/shop/src/lib.rs"));
        assert!(files[0].last_at.as_deref().unwrap().starts_with("2026-03-16"));
    }
}
