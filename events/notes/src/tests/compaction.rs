//! Thresholds, plan, archive and failures of compaction.

use std::collections::BTreeMap;

use super::sample::{day, facts, layout, wanted};
use crate::threshold::{Limits, measure};
use crate::{compaction, merge, session};

fn note(lines: usize, created: &str) -> String {
    let text = merge(None, &wanted(&facts()).note).text.replace("created: 2026-03-14", &format!("created: {created}"));
    let missing = lines.saturating_sub(text.lines().count());
    text + &"a line\n".repeat(missing)
}

#[test]
fn the_four_combinations_of_the_thresholds() {
    let limits = Limits::default();
    for (lines, created, over) in [
        (600, "2026-03-19", true),
        (300, "2026-03-16", true),
        (600, "2026-03-16", true),
        (200, "2026-03-19", false),
        (499, "2026-03-18", false),
        (500, "2026-03-20", true),
        (100, "2026-03-17", true),
        (100, "2026-03-25", false),
        (100, "soon", false),
    ] {
        let measured = measure(&note(lines, created), &limits, day("2026-03-20"));
        assert_eq!(measured.is_over(), over, "{lines} lines, created {created}: {measured:?}");
    }
    let off = Limits { lines: 0, days: 0 };
    assert!(!measure(&note(900, "2020-01-01"), &off, day("2026-03-20")).is_over(), "neither is asked for");
}

fn files() -> BTreeMap<String, String> {
    let wanted = wanted(&facts());
    [(wanted.path, merge(None, &wanted.note).text)].into()
}

fn put(files: &mut BTreeMap<String, String>, all: &[crate::Wanted]) {
    for wanted in all {
        let text = merge(files.get(&wanted.path).map(String::as_str), &wanted.note).text;
        files.insert(wanted.path.clone(), text);
    }
}

#[test]
fn what_was_learned_goes_where_it_belongs_each_line_once() {
    let mut files = files();
    let plan = compaction::plan(&facts(), &layout(), day("2026-03-20"));
    for _ in 0..3 {
        put(&mut files, &plan.updates);
        put(&mut files, &plan.backlinks);
    }
    let count = |path: &str, line: &str| files[path].lines().filter(|there| *there == line).count();
    let entity = "claude/projects/shop/entities/src-auth.rs.md";
    let link = "([[2026-03-14-refresh-tokens]])";
    for (path, line) in [
        (entity, format!("- 2026-03-14: Rotate tokens on every use because a stolen one must be told {link}")),
        (entity, format!("- 2026-03-14: cargo test: exit 101, 3 failed → cargo test passed {link}")),
        (entity, "- [[2026-03-14-refresh-tokens]] - Archived session (compacted)".to_owned()),
        ("claude/projects/shop/entities/shop.md", format!("- 2026-03-14: https://docs.rs/time {link}")),
        (
            "claude/projects/shop/topics/Approaches That Failed.md",
            format!("- 2026-03-14: a mutex per token was a dead end {link}"),
        ),
        ("claude/preferences.md", format!("- 2026-03-14: always run the tests {link}")),
        ("claude/Start.md", "- [[claude/preferences|Preferences]]".to_owned()),
    ] {
        assert_eq!(count(path, &line), 1, "{path}: {line}\n{}", files[path]);
    }
    assert_eq!(plan.archive, "claude/projects/shop/archive/sessions/2026-03-14-refresh-tokens (archived).md");
    assert_eq!(plan.lines, 5);
}

#[test]
fn the_copy_and_the_original_say_that_it_was_archived() {
    let text = note(100, "2026-03-14");
    let failed = compaction::mark_failed(&text, "entities/x.md: no space\nleft", day("2026-03-19"));
    let identity = session::identity(&failed.text).unwrap();
    assert_eq!(identity.status, session::Status::CompactionFailed);
    assert_eq!(identity.error.as_deref(), Some("entities/x.md: no space left"));
    let unverified = compaction::mark_unverified(&failed.text, day("2026-03-20"));
    let identity = session::identity(&unverified.text).unwrap();
    assert_eq!(identity.status, session::Status::Active);
    assert_eq!((identity.archive_error.as_deref(), identity.error), (Some("Verification failed"), None));
    let again = compaction::mark_failed(&unverified.text, "no space left", day("2026-03-20"));
    assert_eq!(session::identity(&again.text).unwrap().archive_error, None, "one error at a time");

    for text in [
        compaction::archive_copy(&unverified.text, day("2026-03-21"), session::OVER_THRESHOLD),
        compaction::mark_archived(&unverified.text, day("2026-03-21"), session::OVER_THRESHOLD).text,
    ] {
        for line in [
            "status: archived",
            "updated: 2026-03-21",
            "archived_date: 2026-03-21",
            "archived_reason: Compaction threshold exceeded",
        ] {
            assert!(text.lines().any(|there| there == line), "{line}\n{text}");
        }
        assert!(!text.contains("error:"), "what went wrong is gone\n{text}");
    }
    let marked = compaction::mark_archived(&unverified.text, day("2026-03-21"), session::OVER_THRESHOLD).text;
    assert!(!compaction::mark_archived(&marked, day("2026-04-01"), session::OVER_THRESHOLD).changed, "once");
    let asked = compaction::mark_archived(&unverified.text, day("2026-03-21"), session::ON_REQUEST).text;
    assert!(asked.lines().any(|line| line == "archived_reason: Compaction asked for"), "{asked}");
    assert_eq!(session::identity(&asked).unwrap().compacted, Some(session::ON_REQUEST));
    let copy = |date| compaction::archive_copy(&text, day(date), session::OVER_THRESHOLD);
    assert!(compaction::is_same(&copy("2026-03-21"), &copy("2026-03-22")));
    assert!(!compaction::is_same(&copy("2026-03-21"), &(copy("2026-03-21") + "more\n")));
}

#[test]
fn a_session_that_goes_on_after_its_compaction_is_active_again() {
    let mut facts = facts();
    let marked = compaction::mark_archived(&note(0, "2026-03-14"), day("2026-03-20"), session::OVER_THRESHOLD).text;
    assert!(!merge(Some(&marked), &wanted(&facts).note).changed, "nothing is new");
    facts.prompts.push(super::sample::said("one more thing"));
    let text = merge(Some(&marked), &wanted(&facts).note).text;
    assert_eq!(session::identity(&text).unwrap().status, session::Status::Active);
}

#[test]
fn a_status_that_a_person_wrote_stays() {
    let theirs = note(0, "2026-03-14").replace("status: active", "status: done");
    let marked = compaction::mark_archived(&theirs, day("2026-03-20"), session::OVER_THRESHOLD);
    assert!(marked.text.contains("status: done\n") && marked.conflicts > 0);
    assert!(
        compaction::archive_copy(&theirs, day("2026-03-20"), session::OVER_THRESHOLD).contains("status: archived\n"),
        "the copy is Baton's"
    );
}
