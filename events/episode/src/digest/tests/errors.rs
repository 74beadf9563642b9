use serde_json::json;

use super::Session;
use baton_conversation::item::Outcome;

#[track_caller]
fn check_errors(session: Session, expected: &[(&str, Option<&str>)]) {
    let episode = session.digest();
    let found: Vec<_> = episode
        .errors
        .iter()
        .map(|error| (error.text.as_str(), error.resolution.as_ref().map(|resolution| resolution.text.as_str())))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn the_same_failure_is_told_once_until_it_is_resolved() {
    let twice = || {
        Session::default().failed("make", 2, "undefined reference to `f1`, 12 ms").edit("a.c", 1, 0).failed(
            "make",
            2,
            "undefined reference to `f1`, 9 ms",
        )
    };
    let error = "make: exit 2, undefined reference to `f1`, 12 ms";
    check_errors(twice(), &[(error, None)]);
    check_errors(twice().ok("make"), &[(error, Some("make succeeded after edits to a.c"))]);
    let again = "make: exit 2, undefined reference to `f1`, 7 ms";
    check_errors(
        twice().ok("make").failed("make", 2, "undefined reference to `f1`, 7 ms"),
        &[(error, Some("make succeeded after edits to a.c")), (again, None)],
    );
    check_errors(twice().failed("make", 2, "missing header"), &[(error, None), ("make: exit 2, missing header", None)]);
}

#[test]
fn only_a_later_success_of_the_same_thing_resolves() {
    let failing = || Session::default().ok("cargo test").failed("cargo test", 101, "boom");
    let error = "cargo test: exit 101, boom";
    check_errors(failing(), &[(error, None)]);
    check_errors(failing().ok("cargo build"), &[(error, None)]);
    check_errors(failing().ok("cargo test"), &[(error, Some("cargo test passed on a later run"))]);
    // The exit code is that of `tail`, which never fails.
    check_errors(failing().ok("cargo test | tail -3"), &[(error, None)]);
    let background = |session: Session| {
        session.call("Bash", json!({ "command": "cargo test", "run_in_background": true }), None).result(
            Outcome::Ok,
            None,
            None,
        )
    };
    check_errors(background(failing()), &[(error, None)]);
    let many = (0..7).fold(failing(), |session, n| session.edit(&format!("src/{n}.rs"), 1, 1)).edit("src/0.rs", 1, 1);
    check_errors(
        many.ok("cargo test"),
        &[(
            error,
            Some("cargo test passed after edits to src/3.rs, src/4.rs, src/5.rs, src/6.rs, src/0.rs and 2 more"),
        )],
    );
    let fetch = || {
        let call = |session: Session| session.call("WebFetch", json!({ "url": "https://a.example/x" }), None);
        (call(Session::default()).result(Outcome::Failed, None, Some("status code 503")), call)
    };
    let (failed, call) = fetch();
    check_errors(
        call(failed).result(Outcome::Ok, None, None),
        &[(
            "WebFetch https://a.example/x: status code 503",
            Some("WebFetch https://a.example/x succeeded on a later run"),
        )],
    );
}

#[test]
fn a_command_that_was_not_understood_is_made_good_when_it_runs() {
    let misused = || Session::default().failed("cargo test a b", 1, "error: unexpected argument 'b' found");
    let error = "cargo test a b: exit 1, error: unexpected argument 'b' found";
    check_errors(
        misused().failed("cargo test -- a b", 101, "test b: boom"),
        &[
            (error, Some("cargo test -- a b was understood on a later run")),
            ("cargo test -- a b: exit 101, test b: boom", None),
        ],
    );
    check_errors(misused().failed("cargo build", 1, "boom"), &[(error, None), ("cargo build: exit 1, boom", None)]);
    assert!(!misused().digest().continuation_context.contains("Never seen"), "it proves nothing wrong with the work");
}

#[test]
fn noise_is_no_error() {
    let edit = |error| Session::default().edit_with("a.rs", 1, 1, Outcome::Failed, Some(error));
    for slip in ["String to replace not found in file.", "File has not been read yet. Read it first."] {
        check_errors(edit(slip), &[]);
    }
    let refused = || edit("EACCES: permission denied, open 'a.rs'");
    check_errors(refused().edit("a.rs", 1, 1), &[]);
    check_errors(refused().edit("b.rs", 1, 1), &[("Edit a.rs: EACCES: permission denied, open 'a.rs'", None)]);
    for outcome in [Outcome::Denied, Outcome::Interrupted] {
        let session = Session::default().call("Bash", json!({ "command": "rm x" }), None);
        check_errors(session.result(outcome, None, Some("no")), &[]);
    }
    check_errors(Session::default().failed("grep -r x src | head", 1, ""), &[]);
    check_errors(
        Session::default().call("Read", json!({ "file_path": "x" }), None).result(Outcome::Failed, None, Some("gone")),
        &[],
    );
    check_errors(Session::default().failed("make", 1, "This command requires approval"), &[]);
    let echo = Some("<tool_use_error>Sibling tool call errored</tool_use_error>");
    check_errors(
        Session::default().call("Bash", json!({ "command": "make" }), None).result(Outcome::Failed, None, echo),
        &[],
    );
}
