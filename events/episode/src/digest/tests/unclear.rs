//! Failures of which no output says why, and what shows their end where no exit code does.

use super::errors::check_errors;
use super::*;
use baton_conversation::item::Verdict;

fn open(session: &Session) -> Vec<String> {
    session.digest().unresolved.iter().map(|open| open.text.clone()).collect()
}

impl Session {
    /// A failed run of which the output does not say why.
    fn failed_unclear(mut self, command: &str) -> Self {
        self = self.call("Bash", json!({ "command": command }), None).result(Outcome::Failed, Some(1), None);
        if let Some(Item { body: Body::Result(result), .. }) = self.items.last_mut() {
            result.report = Some(Box::default());
        }
        self
    }
}

#[test]
fn two_failures_without_a_reason_are_one_only_if_nothing_was_changed() {
    let failing = || Session::default().prompt("Make it pass").failed_unclear("pytest tests/");
    let error = "pytest tests/: exit 1";
    check_errors(failing().failed_unclear("pytest tests/"), &[(error, None)]);
    let twice = failing().edit("conf.py", 1, 0).failed_unclear("pytest tests/").edit("a.py", 1, 0).ok("pytest tests/");
    let mended = ["by edits to conf.py, a.py; `pytest tests/` passed", "by edits to a.py; `pytest tests/` passed"];
    check_errors(twice, &mended.map(|mended| (error, Some(mended))));
}

#[test]
fn the_agent_may_say_why_a_run_failed() {
    let said = |text: &str| Session::default().failed_unclear("pytest tests/").reply(text).edit("a.py", 1, 0);
    let told = "pytest tests/: exit 1, says the agent: \"The winch module is broken with Python 3.13.\"";
    check_errors(said("The winch module is broken with Python 3.13. Using the crane instead."), &[(told, None)]);
    for nothing in ["Let me look at why it fails.", "The path was not the problem.", "2 tests are still failing."] {
        check_errors(said(nothing), &[("pytest tests/: exit 1", None)]);
    }
    // Numbers are told where nothing else is known.
    let counted = Session::default().failed("npm test", 1, "Tests: 1 failed, 3 passed, 4 total").edit("a.ts", 1, 0);
    check_errors(counted, &[("npm test: exit 1, Tests: 1 failed, 3 passed, 4 total", None)]);
}

#[test]
fn the_agent_may_say_that_a_run_passed() {
    let run = |reply: &str| {
        let session = Session::default().prompt("Make it pass").failed("npm test", 1, "boom").edit("a.ts", 1, 0);
        session.ok("npm test | tail -30").reply(reply)
    };
    let error = "npm test: exit 1, boom";
    let mended = "by edits to a.ts; `npm test` passed; says the agent";
    for reply in ["122/122 tests passing. ✅", "All 12 tests pass now.", "The test suite works now."] {
        check_errors(run(reply), &[(error, Some(mended))]);
        assert_eq!(open(&run(reply)), [""; 0], "{reply}");
    }
    for reply in ["121/122 tests passing.", "Still 2 of 12 tests failing.", "Let me see what is left.", "Hm."] {
        check_errors(run(reply), &[(error, None)]);
    }
    for reply in [
        "It works now.",
        "The build works now.",
        "✅",
        "2 of 5 tests pass now.",
        "Only 3 tests pass so far.",
        "60% of the tests are passing.",
        "Tests pass except 2.",
        "The 2 passing tests are the old ones. The rest still fails.",
        "Not all tests pass.",
        "I'm running all 12 tests again.",
    ] {
        check_errors(run(reply), &[(error, None)]);
    }
    // What is done in between may be what the agent speaks of.
    let later = Session::default().failed("npm test", 1, "boom").edit("a.ts", 1, 0).ok("npm test | tail -30");
    check_errors(later.ok("ls").reply("122/122 tests passing."), &[(error, None)]);
}

#[test]
fn a_summary_that_a_search_finds_shows_that_all_passed() {
    let run = |line: &str| {
        let session = Session::default().failed("./mvnw test", 1, "boom").edit("A.java", 1, 0).ok(line);
        let mut session = session;
        if let Some(Item { body: Body::Result(result), .. }) = session.items.last_mut() {
            result.report = Some(Box::new(Report { verdict: Some(Verdict::Passed), ..Report::default() }));
        }
        session
    };
    let error = "./mvnw test: exit 1, boom";
    let mended = "by edits to A.java; `./mvnw test` passed";
    check_errors(run("./mvnw test 2>&1 | grep \"Tests run:\" | tail -3"), &[(error, Some(mended))]);
    check_errors(run("./mvnw test 2>&1 | grep -E \"Tests run|FAIL\""), &[(error, Some(mended))]);
    for search in ["grep passed", "grep -v FAILED", "grep ' 0 failed'", "grep 'Failures: 0'"] {
        check_errors(run(&format!("./mvnw test 2>&1 | {search}")), &[(error, None)]);
    }
}

#[test]
fn what_git_does_mends_no_other_program() {
    let session = Session::default().failed("docker compose up -d", 1, "Cannot connect to the Docker daemon");
    let session = session.ok("git checkout -b winch").ok("git add a.rs").ok("docker compose up -d");
    check_errors(
        session,
        &[("docker compose up -d: exit 1, Cannot connect to the Docker daemon", Some("passed later"))],
    );
    let session = Session::default().failed("docker compose up -d", 1, "Cannot connect to the Docker daemon");
    check_errors(
        session.ok("git add a.rs").ok("open -a Docker").ok("docker compose up -d"),
        &[("docker compose up -d: exit 1, Cannot connect to the Docker daemon", Some("by `open -a Docker`"))],
    );
}

#[test]
fn what_was_edited_where_a_check_failed_is_not_known_to_fail() {
    let failing = || Session::default().prompt("Mend it").failed("npm run types", 1, "api/a.ts(1,4): error TS2345: no");
    assert_eq!(open(&failing().edit("api/b.ts", 1, 0)), ["npm run types: exit 1, api/a.ts(1,4): error TS2345: no"]);
    assert_eq!(open(&failing().edit("api/a.ts", 1, 0)), [""; 0]);
}

#[test]
fn failures_that_the_agent_leaves_are_open() {
    let said = "The comments are complete and their tests pass. These failures of the user model are pre-existing.";
    let failing =
        Session::default().prompt("Run the tests of the models").failed("pytest test_user_model.py", 1, "boom");
    let session = failing.ok("pytest test_comments.py").reply(said);
    assert_eq!(open(&session), ["pytest test_user_model.py: exit 1, boom"]);
}

#[test]
fn a_goal_that_includes_another_fails_with_it() {
    let failing = || Session::default().prompt("Build it").failed("./mvnw clean package", 1, "No winch bean");
    let error = "./mvnw clean package: exit 1, No winch bean";
    check_errors(failing().edit("A.java", 1, 0).failed("./mvnw clean test", 1, "No winch bean"), &[(error, None)]);
    check_errors(failing().edit("A.java", 1, 0).ok("./mvnw clean test"), &[(error, None)]);
    let mended = "by edits to A.java; `./mvnw verify` passed";
    check_errors(failing().edit("A.java", 1, 0).ok("./mvnw verify"), &[(error, Some(mended))]);
    // What does without the tests says nothing of them.
    let tests = || Session::default().prompt("Build it").failed("./mvnw test", 1, "No winch bean");
    for less in ["./mvnw compile", "./mvnw package -DskipTests", "./mvnw package -Dmaven.test.skip=true"] {
        assert_eq!(open(&tests().edit("A.java", 1, 0).ok(less)), ["./mvnw test: exit 1, No winch bean"], "{less}");
    }
    let build = Session::default().prompt("Build it").failed("./gradlew build", 1, "No winch bean");
    check_errors(build.ok("./gradlew build -x test"), &[("./gradlew build: exit 1, No winch bean", None)]);
    // One test says nothing of all.
    let tests = Session::default().prompt("Build it").failed("./mvnw clean test", 1, "No winch bean");
    assert_eq!(open(&tests.ok("./mvnw test -Dtest=JibTest")), ["./mvnw clean test: exit 1, No winch bean"]);
}

#[test]
fn a_file_that_could_not_be_written_at_the_end_is_open() {
    let refused = "EACCES: permission denied, open 'a.conf'";
    let write = || {
        let session = Session::default().prompt("Add the line");
        session.edit_with("a.conf", 1, 1, Outcome::Failed, Some(refused))
    };
    assert_eq!(open(&write()), [format!("Edit a.conf: {refused}")]);
    assert_eq!(open(&write().edit("a.conf", 1, 1)), [""; 0]);
    assert_eq!(open(&write().ok("sudo install a.tmp /etc/a.conf")), [""; 0]);
    assert_eq!(open(&write().ok("make").reply("I wrote `a.conf` as root.")), [""; 0]);
    assert!(!open(&write().reply("I cannot write `a.conf`.")).is_empty());
    assert_eq!(open(&write().prompt("Leave it").reply("I leave it as it is.")), [""; 0]);
}

#[test]
fn a_request_that_the_service_refused_is_an_error() {
    let refused = |session: Session| session.add(Body::Notice { text: "API Error: 400 no such image".to_owned() });
    let session = || refused(refused(Session::default().prompt("Draw it")).prompt("Why?"));
    check_errors(session(), &[("API Error: 400 no such image", None)]);
    assert!(open(&session()).contains(&"API Error: 400 no such image".to_owned()));
    let answered = session().prompt("Again").reply("Here it is.");
    assert!(!open(&answered).iter().any(|open| open.starts_with("API")));
    check_errors(refused(Session::default().prompt("Draw it")).reply("Here it is."), &[]);
    check_errors(refused(Session::default().prompt("Draw it")).ok("draw ship"), &[]);
    let unsaid = Show { keep_agent_responses: false, ..Show::default() };
    let session = refused(Session::default().prompt("Draw it")).reply("Here it is.");
    assert_eq!(digest(&session.items, &unsaid).errors, []);
}
