//! What counts as gone, and which mend of a failure is told first.

use super::{Script, Witness, fix_of, how};
use baton_episode::digest::PASSED_LATER;

#[test]
fn what_was_got_around_has_not_gone_away() {
    let check = |failed: &str, passed: &str, message: &str, text: &str| {
        let said = "error: unrecognized subcommand 'jib_of'";
        let told = fix_of(said, &[Script::default().fails(failed, said).ok(passed).witness("one", "/srv/shop")]);
        assert_eq!((told.message.as_str(), told.matches[0].fixes[0].text.as_str()), (message, text));
        assert_eq!(told.matches[0].unresolved.is_some(), text != PASSED_LATER);
    };
    let around = "seen once in 1 session, no resolution seen, got around once";
    check("wrap cargo test", "cargo test", around, "by `cargo test` instead of `wrap cargo test`");
    check("git commit -m a", "git commit -m a --no-verify", around, "with `--no-verify`, not checked");
    check("make", "make", "seen once in 1 session, went away once", PASSED_LATER);
}

#[test]
fn a_failure_at_random_paths_is_one_and_its_named_mend_comes_first() {
    let fails = |session: Script, end: &str| session.fails("make", &format!("error: no jib below /tmp/crane-{end}"));
    let passed = |end: &str| fails(Script::default(), end).ok("make");
    let sessions = [
        passed("UUDzya").witness("one", "/srv/shop"),
        passed("IXAlTv").witness("two", "/srv/shop"),
        fails(Script::default(), "eqYk1k").edit("/srv/shop/a.c").ok("make").witness("three", "/srv/shop"),
        passed("rotors").witness("four", "/srv/shop"),
    ];
    let told = fix_of("error: no jib below /tmp/crane-UUDzya", &sessions);
    assert_eq!(told.message, "seen 3 times in 3 sessions, went away 3 times");
    let [found] = &told.matches[..] else { panic!("{:?}", told.matches) };
    assert_eq!(found.fixes[0].files, ["a.c"]);
    assert_eq!((found.fixes[1].text.as_str(), found.fixes[1].count), (PASSED_LATER, 2));
}

#[test]
fn a_check_tells_what_made_its_failures_go_away() {
    let failed = || Script::default().fails("npm run lint", "src/crane.ts:4:1 lint/format");
    let fixed = failed().ok("npm run lint:fix").ok("npm run lint");
    let edited = failed().edit("/srv/shop/src/crane.ts").ok("npm run lint");
    let other = Script::default().fails("npm run build", "error: no crane").ok("npm install").ok("npm run build");
    let told = |scripts: &[Script]| {
        let named = scripts.iter().zip(["one", "two", "three"]);
        let witnesses: Vec<Witness> = named.map(|(script, name)| script.witness(name, "/srv/shop")).collect();
        how("npm run lint", &witnesses, None, 5).message
    };
    let message = told(&[fixed, edited, other]);
    assert!(message.ends_with("; failures went away by `npm run lint:fix` once"), "{message}");
    let edited = failed().edit("/srv/shop/src/crane.ts").ok("npm run lint");
    assert!(!told(&[edited]).contains("went away"), "an edit is no command");
}

#[test]
fn a_word_that_never_worked_as_a_program_is_what_is_to_be_done() {
    let script = Script::default().fails("lint src", "lint: command not found").ok("npm run lint").ok("npm run lint");
    let witnesses = [script.witness("one", "/srv/shop")];
    let told = how("lint", &witnesses, None, 5);
    assert_eq!((told.command.as_str(), told.runs.ok), ("lint", 2), "{told:?}");
    let script = Script::default().fails("lint src", "lint: command not found");
    assert_eq!(how("lint", &[script.witness("one", "/srv/shop")], None, 5).runs.failed, 1);
}

#[test]
fn a_failure_of_which_the_end_is_cut_is_the_same() {
    let said = "error E12: property 'lightJib' is missing in type 'Sloop' but required in type 'Boat'";
    let witness = [Script::default().fails("make", said).ok("make").witness("one", "/srv/shop")];
    let told = |asked: &str| fix_of(asked, &witness).message;
    assert_eq!(
        told("error E12: property 'lightJib' is missing in type 'Slo"),
        "seen once in 1 session, went away once"
    );
    assert!(told("property 'lightJib'").starts_with("others like it"), "too few words");
    let said = "The following hulls are barred by one of your .bars files: jib/mast";
    let witness = [Script::default().fails("make", said).ok("make").witness("one", "/srv/shop")];
    let told_of_hulls = |asked: &str| fix_of(asked, &witness).message;
    assert!(told_of_hulls("The following hulls are barred by one of your .bars").starts_with("seen once"));
    assert!(told_of_hulls("The following hulls are").starts_with("others like it"));
    assert!(told("error E12: property 'lightMast' is missing in type 'Sloop'").starts_with("others like it"));
}
