//! The quality of episodes: compares the digest of each example session with what a person wrote about it, and checks
//! that each pointer leads to the line that says it.
//!
//! `replay-fixtures/transcripts/claude/golden/<session>.json` was written by hand. An entry has lines and words: it
//! counts as found if an item points to one of its lines, or has all of its words within three lines of it. An item
//! that fits no entry is false.

#![expect(clippy::unwrap_used, reason = "in a test a broken assumption is a failed test")]

mod goldens {
    pub(crate) mod pointer;
    pub(crate) mod score;
    pub(crate) mod session;
}

use goldens::pointer;
use goldens::score::{Found, Pair, Score, Wanted};
use goldens::session::{self, Session};

/// Minimum share of a person's entries that is found, in percent.
const LEAST_FOUND: usize = 80;
/// Maximum share of items that are false, in percent.
const MOST_FALSE: usize = 20;

#[test]
fn an_episode_says_what_a_person_says_of_the_session() {
    let sessions = session::all();
    assert!(sessions.len() >= 10, "{} sessions are no measure", sessions.len());
    let mut kinds = [Score::new("decisions"), Score::new("fixes"), Score::new("open ends")];
    for session in &sessions {
        let [decisions, fixes, open] = &mut kinds;
        let (golden, episode) = (&session.golden, &session.episode);
        decisions.count(&session.id, &golden.decisions, &Found::all(&episode.decisions));
        let pairs: Vec<Pair> = episode.errors.iter().filter_map(Pair::of).collect();
        fixes.count(&session.id, &golden.fixes, &pairs);
        let ends: Vec<_> = episode.unresolved.iter().chain(&episode.next_steps).cloned().collect();
        open.count(&session.id, &golden.open, &Found::all(&ends));
    }
    let told: Vec<String> = kinds.iter().map(Score::told).collect();
    let good = |score: &Score| score.found_percent() >= LEAST_FOUND && score.false_percent() <= MOST_FALSE;
    assert!(
        kinds.iter().all(good),
        "at least {LEAST_FOUND} % found, at most {MOST_FALSE} % false:\n{}",
        told.join("\n")
    );
}

#[test]
fn every_session_has_its_golden() {
    let goldens: Vec<String> = session::all().into_iter().map(|session| session.id).collect();
    let without: Vec<String> = session::ids().into_iter().filter(|id| !goldens.contains(id)).collect();
    assert!(without.is_empty(), "no golden for {without:?}");
}

#[test]
fn every_pointer_leads_to_the_line_that_says_it() {
    let mut checked = 0;
    let mut astray = Vec::new();
    for Session { id, episode, transcript, .. } in session::all() {
        let lines = pointer::Lines::of(&transcript);
        for (kind, item) in pointer::items(&episode) {
            checked += 1;
            if !lines.say(&item) {
                astray.push(format!("{id}:{} {kind}: {}", item.line, item.text));
            }
        }
    }
    assert!(checked > 100, "{checked} pointers are no test");
    assert!(astray.is_empty(), "{} of {checked}:\n{}", astray.len(), astray.join("\n"));
}

#[test]
fn the_comparison_counts_what_is_found_and_what_is_false() {
    let wanted = |json: &str| serde_json::from_str::<Vec<Wanted>>(json).unwrap();
    let found = |line, text: &str| Found { line, text: text.to_owned() };
    let check = |golden: &str, items: &[Found], expected: (usize, usize, usize)| {
        let mut score = Score::new("decisions");
        score.count("x", &wanted(golden), items);
        assert_eq!((score.wanted, score.found, score.astray), expected, "{golden} {}", score.told());
    };
    check(r#"[]"#, &[], (0, 0, 0));
    check(r#"[{"line":3,"words":["Queue"]}]"#, &[], (1, 0, 0));
    check(r#"[{"line":3,"words":["Queue"]}]"#, &[found(3, "whatever")], (1, 1, 0));
    check(r#"[{"line":3,"words":["Queue"]}]"#, &[found(6, "a queue")], (1, 1, 0));
    check(r#"[{"line":3,"words":["Queue"]}]"#, &[found(7, "a queue")], (1, 0, 1));
    check(r#"[{"line":3,"words":["queue","lock"]}]"#, &[found(4, "a queue"), found(4, "a lock")], (1, 0, 2));
    check(r#"[{"line":[3,9],"words":["a"]},{"line":9,"words":["b"]}]"#, &[found(9, "x"), found(20, "b")], (2, 2, 1));
    let pair = |error, fix| Pair { error: found(error, "boom"), fix: found(fix, "passed after edits to a.rs") };
    let fixes: Vec<goldens::score::WantedPair> =
        serde_json::from_str(r#"[{"error":3,"error_words":["boom"],"fix":[5,6],"fix_words":["a.rs"]}]"#).unwrap();
    for (pairs, expected) in [
        (vec![pair(3, 5)], (1, 1, 0)),
        (vec![pair(4, 8)], (1, 1, 0)),
        (vec![pair(3, 20)], (1, 0, 1)),
        (vec![pair(20, 5)], (1, 0, 1)),
    ] {
        let mut score = Score::new("fixes");
        score.count("x", &fixes, &pairs);
        assert_eq!((score.wanted, score.found, score.astray), expected, "{}", score.told());
    }
}
