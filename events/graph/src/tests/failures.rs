//! What failed, and what mended it.

use super::{OK, Script, facts, of, sound};
use crate::{Graph, Relation};
use baton_conversation::item::Outcome;

#[test]
fn a_failure_is_resolved_by_what_mended_it() {
    let script = |between: &[&str]| {
        let failed = (Outcome::Failed, "connect ECONNREFUSED 127.0.0.1:5432");
        let script = Script::default().prompt("go on").bash("npm run test", failed);
        between.iter().fold(script, |script, line| script.bash(line, OK)).bash("npm test", OK)
    };
    let resolved = |script: &Script| {
        let graph = of("s", script);
        sound(&graph);
        facts(&graph).into_iter().filter(|fact| fact.starts_with("RESOLVED_BY")).collect::<Vec<_>>()
    };
    assert_eq!(resolved(&script(&[])), Vec::<String>::new(), "it passed later, for no known reason");
    let [fact] = &resolved(&script(&["docker compose up -d"]))[..] else { panic!("one fact") };
    assert!(fact.ends_with("was resolved by running `docker compose`"), "{fact}");
}

#[test]
fn a_failure_belongs_to_the_program_whose_message_it_is() {
    let check = |line: &str, error: &str, expected: &[&str]| {
        let graph = of("s", &Script::default().prompt("go on").bash(line, (Outcome::Failed, error)));
        let told: Vec<String> = facts(&graph).into_iter().filter(|fact| fact.contains("`")).collect();
        for (fact, expected) in told.iter().zip(expected) {
            assert!(fact.contains(expected), "{fact}");
        }
        assert_eq!(told.len(), expected.len(), "{told:?}");
    };
    check(
        "git add a.css && git commit -m x",
        "The following paths are ignored by one of your .gitignore files: out/css",
        &["`git add` failed with"],
    );
    // What a wrapper did not understand has not run.
    let unknown = "error: unrecognized subcommand 'bun'";
    check("rtk bun run test", unknown, &["`rtk` failed with"]);
    check("make test", "FAIL", &["ran `make test`, failed in the end"]);
}

#[test]
fn what_was_mended_has_not_failed_in_the_end() {
    let script = Script::default().prompt("go on").bash("bun run lint", (Outcome::Failed, "a.ts is not formatted"));
    let graph: Graph = of("s", &script.bash("bun run lint:fix", OK));
    let ran: Vec<String> = facts(&graph).into_iter().filter(|fact| fact.starts_with("RAN")).collect();
    assert!(ran.iter().all(|fact| !fact.contains("failed")), "{ran:?}");
    assert!(ran.iter().any(|fact| fact.ends_with("ran `bun run lint`")), "as typed: {ran:?}");
}

#[test]
fn a_check_that_a_hook_may_have_run_since_has_not_failed_in_the_end() {
    let told = |line: &str| {
        let script = Script::default().prompt("go on").bash(line, (Outcome::Failed, "a.ts has a problem"));
        let graph: Graph = of("s", &script.bash("git commit -m 'Grease the jib'", OK));
        facts(&graph).into_iter().any(|fact| fact.contains("failed in the end"))
    };
    assert!(!told("bun run lint") && told("make rope"));
}

#[test]
fn what_was_got_around_or_not_checked_is_still_open() {
    let check = |failed: &str, error: &str, passed: &str, expected: (&str, bool)| {
        let graph = of("s", &Script::default().prompt("go on").bash(failed, (Outcome::Failed, error)).bash(passed, OK));
        let settled =
            |of: Relation| graph.assertions.iter().any(|fact| fact.relation == of && !fact.settles.is_empty());
        let resolved = facts(&graph).into_iter().find(|fact| fact.starts_with("RESOLVED_BY")).unwrap_or_default();
        assert!(resolved.ends_with(expected.0), "{resolved}");
        assert_eq!(settled(Relation::ResolvedBy), expected.1, "{failed}");
        let failure = graph.assertions.iter().find(|fact| fact.relation == Relation::FailedWith);
        assert!(failure.is_some_and(|fact| !fact.rests.is_empty()), "{failed}");
    };
    let unknown = "error: unrecognized subcommand 'bun'";
    check("rtk bun run test", unknown, "bun run test", ("was got around by running `bun run test`", false));
    check("git commit -m a", "src/jib.ts is not formatted", "git commit -m a --no-verify", ("", false));
    check(
        "bun run lint",
        "src/jib.ts is not formatted",
        "bun run lint:fix",
        ("was resolved by running `bun run lint:fix`", true),
    );
}
