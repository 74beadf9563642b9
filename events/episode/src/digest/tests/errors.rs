use serde_json::json;

use super::Session;
use baton_conversation::item::{Outcome, Report};

#[track_caller]
pub(super) fn check_errors(session: Session, expected: &[(&str, Option<&str>)]) {
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
    // What was edited before it failed again did not mend it.
    check_errors(twice().ok("make"), &[(error, Some("passed later"))]);
    check_errors(twice().edit("b.c", 1, 0).ok("make"), &[(error, Some("by edits to b.c; `make` passed"))]);
    let again = "make: exit 2, undefined reference to `f1`, 7 ms";
    check_errors(
        twice().ok("make").failed("make", 2, "undefined reference to `f1`, 7 ms"),
        &[(error, Some("passed later")), (again, None)],
    );
    check_errors(twice().failed("make", 2, "missing header"), &[(error, None)]);
    check_errors(
        twice().edit("b.c", 1, 0).failed("make", 2, "missing header"),
        &[(error, Some("by edits to b.c; then it failed otherwise")), ("make: exit 2, missing header", None)],
    );
}

#[test]
fn only_a_later_success_of_the_same_thing_resolves() {
    let failing = || Session::default().ok("cargo test").failed("cargo test", 101, "boom");
    let error = "cargo test: exit 101, boom";
    check_errors(failing(), &[(error, None)]);
    check_errors(failing().ok("cargo build"), &[(error, None)]);
    check_errors(failing().ok("cargo test"), &[(error, Some("passed later"))]);
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
    let lint = || Session::default().failed("bun run lint", 1, "would reformat: quay.ts");
    let told = "bun run lint: exit 1, would reformat: quay.ts";
    check_errors(lint().ok("bunx biome check --write src/quay.ts"), &[(told, None)]);
    check_errors(lint().ok("bunx biome check --write"), &[(told, Some("by `bunx biome check --write`"))]);
    let pull = Session::default().failed("git pull --ff-only", 128, "fatal: Not possible to fast-forward, aborting.");
    let told = "git pull --ff-only: exit 128, fatal: Not possible to fast-forward, aborting.";
    check_errors(pull.edit("a.rs", 1, 1).ok("git commit -am 'Lower the mark'"), &[(told, None)]);
    let many = (0..7).fold(failing(), |session, n| session.edit(&format!("src/{n}.rs"), 1, 1)).edit("src/0.rs", 1, 1);
    check_errors(
        many.ok("cargo test"),
        &[(error, Some("by edits to src/4.rs, src/5.rs, src/6.rs, src/0.rs and 3 more; `cargo test` passed"))],
    );
    let fetch = || {
        let call = |session: Session| session.call("WebFetch", json!({ "url": "https://a.example/x" }), None);
        (call(Session::default()).result(Outcome::Failed, None, Some("status code 503")), call)
    };
    let (failed, call) = fetch();
    check_errors(
        call(failed).result(Outcome::Ok, None, None),
        &[("WebFetch https://a.example/x: status code 503", Some("passed later"))],
    );
}

#[test]
fn a_command_that_was_not_understood_is_made_good_when_it_runs() {
    let misused = || Session::default().failed("cargo test a b", 1, "error: unexpected argument 'b' found");
    let error = "cargo test a b: exit 1, error: unexpected argument 'b' found";
    check_errors(
        misused().failed("cargo test -- a b", 101, "test b: boom"),
        &[
            (error, Some("by `cargo test -- a b` instead of `cargo test a b`, which then failed otherwise")),
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

#[test]
fn what_differs_between_failure_and_success_has_mended_it() {
    let check = |failed: &str, between: &[&str], passed: &str, expected: &str| {
        let session = Session::default().failed(failed, 1, "it broke");
        let session = between.iter().fold(session, |session, line| session.ok(line)).ok(passed);
        let episode = session.digest();
        let resolution = episode.errors[0].resolution.as_ref().map(|resolution| resolution.text.as_str());
        assert_eq!(resolution, Some(expected), "{failed}, {between:?}, {passed}");
    };
    // Another form of a check may check less.
    check("bun run test", &[], "bun test --bail", "passed later");
    check("git push", &[], "git push -u origin x", "by `git push -u origin x` instead of `git push`");
    check("git push", &["git pull --rebase"], "git push", "by `git pull --rebase`");
    check("bun run lint", &[], "bun run lint:fix", "by `bun run lint:fix`");
    check("bun run lint", &["bun run lint:fix"], "bunx biome check", "by `bun run lint:fix`");
    check("git commit -m a", &[], "git commit -m b --no-verify", "with `--no-verify`, not checked");
    check("git commit -m a", &["mix format"], "SKIP=lint git commit -m b", "with `SKIP=lint`, not checked");
    check("git commit -m a", &["mix format"], "git commit -m b", "by `mix format`");
    check("git merge main", &["git add a.rs"], "git commit -m b", "by `git add a.rs`");
    check("go build ./...", &["go mod tidy"], "mise run test", "by `go mod tidy`");
}

#[test]
fn an_agents_words_explain_an_edit() {
    let session = Session::default()
        .failed("pytest tests/a.py", 1, "TypeError: missing argument 'library_version'")
        .reply(
            "All else passes. I need to look. The library_version argument is missing in the fixture. Let me fix it:",
        )
        .edit("tests/a.py", 1, 1)
        .ok("pytest tests/a.py");
    check_errors(
        session,
        &[(
            "pytest tests/a.py: exit 1, TypeError: missing argument 'library_version'",
            Some(
                "by edits to tests/a.py; cause: \"The library_version argument is missing in the fixture.\"; \
                 `pytest tests/a.py` passed",
            ),
        )],
    );
}

#[test]
fn a_sentence_is_the_mend_only_if_it_speaks_of_the_edits() {
    let failing = || Session::default().failed("make check", 1, "winch.c:3: error: rope_length undeclared");
    let told = |session: Session| session.digest().errors[0].resolution.as_ref().map(|mend| mend.text.clone());
    let check = |session: Session, expected: &str| assert_eq!(told(session).as_deref(), Some(expected));
    // What was done before it failed is not what mended it, and neither is what else was done.
    check(
        Session::default()
            .reply("I replaced `drum_width` by a constant.")
            .failed("make check", 1, "winch.c:3: error: rope_length undeclared")
            .wrote("winch.h", "extern int rope_length;\nextern int hook;\nextern int brake;")
            .ok("make check")
            .reply(
                "Done:\n- Replaced `drum_width` by a constant\n- Added the declaration of `rope_length` to the header",
            ),
        "by edits to winch.h: \"Added the declaration of `rope_length` to the header\"; `make check` passed",
    );
    check(
        failing()
            .reply("The header lacks `rope_length`, which the drum needs. Let me declare the rope there:")
            .wrote("winch.h", "extern int rope_length;\nextern int hook;\nextern int brake;")
            .ok("make check"),
        "by edits to winch.h; cause: \"The header lacks `rope_length`, which the drum needs.\"; `make check` passed",
    );
    // A short edit speaks for itself.
    check(
        failing().reply("Let me see.").wrote("winch.h", "extern int rope_length;").ok("make check"),
        "by edits to winch.h: `extern int rope_length;`; `make check` passed",
    );
    check(failing().wrote("winch.h", "a\nb\nc").ok("make check"), "by edits to winch.h; `make check` passed");
}

#[test]
fn the_first_text_after_a_failure_may_tell_its_cause() {
    let session = Session::default()
        .failed("make check", 1, "rope.c:3: unexpected token")
        .reply("The `*/` in the note ends the whole comment too early. Let me mend it:")
        .wrote("rope.c", "/* a */\n/* b */\n/* c */")
        .ok("make check");
    check_errors(
        session,
        &[(
            "make check: exit 1, rope.c:3: unexpected token",
            Some(
                "by edits to rope.c; cause: \"The `*/` in the note ends the whole comment too early.\"; \
                 `make check` passed",
            ),
        )],
    );
}

#[test]
fn another_environment_mends_what_was_not_found() {
    let failing = || Session::default().failed("pytest", 127, "bash: line 1: pytest: command not found");
    let error = "pytest: exit 127, bash: line 1: pytest: command not found";
    for (line, shown) in [
        ("source .venv/bin/activate && pytest", "source .venv/bin/activate && pytest"),
        ("(source .venv/bin/activate && pytest)", "source .venv/bin/activate && pytest"),
        ("uv run pytest", "uv run pytest"),
    ] {
        check_errors(failing().ok(line), &[(error, Some(&format!("by `{shown}` instead of `pytest`")))]);
    }
}

#[test]
fn another_place_mends_what_was_run_in_the_wrong_one() {
    let error = "bun run lint: exit 1, error: Script not found \"lint\"";
    let failing =
        || Session::default().cwd("/srv/shop/web").failed("bun run lint", 1, "error: Script not found \"lint\"");
    let mended = failing().edit("/srv/shop/web/a.ts", 1, 0).ok("cd /srv/shop && bun run lint");
    check_errors(mended, &[(error, Some("by running it in `shop`"))]);
    check_errors(failing().edit("/srv/shop/web/a.ts", 1, 0).ok("bun run lint"), &[(error, Some("passed later"))]);
}

#[test]
fn of_long_lines_only_what_differs_is_told() {
    let files = "src/one.rs src/two.rs src/three.rs src/four.rs src/five.rs src/six.rs src/seven.rs src/eight.rs \
                 src/nine.rs src/ten.rs src/eleven.rs src/twelve.rs";
    let failing = |rest: &str| {
        let error = "The following paths are ignored by one of your .gitignore files: dist/out.css";
        Session::default().failed(&format!("git add {files}{rest}"), 1, error)
    };
    let told = |session: Session| session.digest().errors[0].resolution.as_ref().map(|mend| mend.text.clone());
    let mended = told(failing(" dist/out.css").ok(&format!("git add {files}")));
    assert_eq!(mended.as_deref(), Some("by `git add` without `dist/out.css`"));
    let cut = " src/thir…[+99 chars #0a1b2c3d]";
    assert_eq!(told(failing(cut).ok(&format!("git add {files}{cut}"))).as_deref(), Some("passed later"));
}

#[test]
fn a_program_that_cannot_even_tell_its_help_has_failed() {
    let failing = || Session::default().failed("winch --help", 1, "ModuleNotFoundError: No module named 'winch'");
    let error = "winch --help: exit 1, ModuleNotFoundError: No module named 'winch'";
    check_errors(failing(), &[(error, None)]);
    let mended = failing().edit("setup.toml", 1, 0).ok("winch --help");
    check_errors(mended, &[(error, Some("by edits to setup.toml; `winch --help` passed"))]);
    check_errors(failing().ok("hook --help"), &[(error, None)]);
    check_errors(Session::default().failed("winch --help", 2, "error: unknown option '--help'"), &[]);
    // That it tells its help proves nothing else.
    let used = Session::default().failed("winch up", 1, "ValueError: no rope").ok("winch --help");
    check_errors(used, &[("winch up: exit 1, ValueError: no rope", None)]);
}

#[test]
fn a_person_may_run_the_check_that_fails() {
    let failing = || {
        let failing = Some("error: rope is too short".to_owned());
        Session::default().ran_by_person("make check", Report { failing, ..Report::default() }).prompt("Mend it")
    };
    let error = "make check: error: rope is too short";
    check_errors(failing(), &[(error, None)]);
    let mended = failing().edit("rope.c", 1, 0).ok("make check");
    check_errors(mended, &[(error, Some("by edits to rope.c; `make check` passed"))]);
    // Of a person's command no exit code is known.
    let unknown = Session::default().failed("make check", 1, "boom").ran_by_person("make check", Report::default());
    check_errors(unknown, &[("make check: exit 1, boom", None)]);
}

#[test]
fn a_message_that_the_session_wrote_is_a_wanted_one() {
    let wanted = || {
        Session::default().wrote("winch.py", "    sys.exit(\"No rope found on this drum.\")").failed(
            "winch up",
            1,
            "No rope found on this drum.",
        )
    };
    check_errors(wanted().reply("Just as it should be."), &[]);
    let error = "winch up: exit 1, No rope found on this drum.";
    check_errors(wanted().edit("winch.py", 1, 0), &[(error, None)]);
    check_errors(Session::default().failed("winch up", 1, "No rope found on this drum."), &[(error, None)]);
}

#[test]
fn a_command_that_is_to_fail_has_not_failed() {
    let session = Session::default().reply("I write the test first. It should fail:");
    check_errors(session.failed("cargo test", 101, "boom"), &[]);
}

#[test]
fn an_error_that_a_person_pastes_is_listed_with_what_mended_it() {
    let session = || {
        Session::default()
            .prompt("The deploy fails now:\n\nerror: pathspec 'x' did not match any files\n")
            .edit("deploy.sh", 1, 1)
            .reply("The pathspec was wrong, so I fixed the pathspec in the script.")
    };
    let error = "reported: error: pathspec 'x' did not match any files";
    let mended =
        "by edits to deploy.sh: \"The pathspec was wrong, so I fixed the pathspec in the script.\"; says the agent";
    check_errors(session(), &[(error, Some(mended))]);
    check_errors(session().prompt("thanks"), &[(error, Some(mended))]);
    check_errors(session().prompt("It still fails"), &[(error, None)]);
    check_errors(Session::default().prompt("Add a button").edit("a.ts", 1, 1).reply("I added it."), &[]);
}

#[test]
fn a_cause_that_is_taken_back_is_none() {
    let session = |second: &str| {
        Session::default()
            .prompt("Make the test pass")
            .failed("cargo test", 101, "assertion failed: winch.is_still()")
            .reply("The problem is that the winch brake is released by the rope drum after a stop.")
            .wrote("brake.rs", "brake.hold();")
            .reply(second)
            .wrote("drum.rs", "drum.wait();")
            .ok("cargo test")
    };
    let told = |second: &str| {
        let mend = session(second).digest().errors[0].resolution.clone();
        mend.map(|mend| mend.text.split("cause: ").nth(1).unwrap_or_default().to_owned()).unwrap_or_default()
    };
    let first =
        "\"The problem is that the winch brake is released by the rope drum after a stop.\"; `cargo test` passed";
    assert_eq!(told("Next one."), first);
    assert_eq!(told("Actually the brake was not the problem at all, the drum counts in seconds."), "");
    // Of two that say as much the later one led to the edit.
    let looked = Session::default()
        .failed("cargo test", 101, "assertion failed: winch.is_still()")
        .reply("The problem is that the winch brake is released by the rope.")
        .read("drum.rs")
        .reply("The problem is that the winch timer counts seconds, which are too long.")
        .wrote("drum.rs", "drum.wait();")
        .ok("cargo test");
    let later = "by edits to drum.rs: `drum.wait();`; cause: \"The problem is that the winch timer counts seconds, which are too long.\"; `cargo test` passed";
    check_errors(looked, &[("cargo test: exit 101, assertion failed: winch.is_still()", Some(later))]);
}

#[test]
fn an_edit_mends_what_was_reported_only_if_somebody_says_so() {
    let error = "reported: error: pathspec 'winch' did not match any files";
    let edited = || {
        Session::default()
            .prompt("`make lift` fails, please look:\n\nerror: pathspec 'winch' did not match any files\n")
            .edit("winch.sh", 1, 0)
    };
    let by_edits = "by edits to winch.sh";
    for said in [
        "I could not reproduce it. I wrote down what I tried in `winch.sh`.",
        "I added a line of log to `winch.sh`; I can't tell yet why it fails. Please run it again.",
        "I changed `winch.sh`, but it is still broken; I need the logs.",
        "It is not fixed.",
    ] {
        check_errors(edited().ok("cargo test").reply(said), &[(error, None)]);
    }
    check_errors(edited(), &[(error, None)]);
    let look = || edited().reply("I wrote it down for you.");
    check_errors(look(), &[(error, None)]);
    check_errors(look().prompt("Thanks, it works now"), &[(error, Some(by_edits))]);
    let moved = "by edits to winch.sh: \"I moved the path in front.\"; says the agent";
    check_errors(edited().reply("I moved the path in front."), &[(error, Some(moved))]);
    let checked = edited().ok("make lift").reply("I wrote it down for you.");
    check_errors(checked, &[(error, Some("by edits to winch.sh; `make lift` passed"))]);
    check_errors(
        Session::default()
            .prompt("The winch is broken.")
            .edit("winch.rs", 1, 1)
            .reply("I changed `winch.rs`, but it is still broken; I need the logs."),
        &[("reported: The winch is broken.", None)],
    );
}

#[test]
fn what_a_person_says_is_an_error_if_it_does_not_work_and_the_agent_mended_it() {
    let said = |prompt: &str, conclusion: &str| {
        Session::default()
            .prompt(prompt)
            .reply("I see the issue in the winch.")
            .edit("winch.rs", 1, 1)
            .reply(conclusion)
    };
    let mended = "I fixed the brake of the winch.";
    check_errors(said("The winch should not turn left, but right.", mended), &[]);
    check_errors(said("Can you please help to use the winch better?", mended), &[]);
    check_errors(said("I have some pending ropes, count them and tie them up.", mended), &[]);
    check_errors(said("The winch doesn't work at night.", "The winch has a brake."), &[]);
    check_errors(
        said("Oh no, the winch is gone from the list", mended),
        &[(
            "reported: Oh no, the winch is gone from the list",
            Some("by edits to winch.rs: \"I fixed the brake of the winch.\"; says the agent"),
        )],
    );
    check_errors(
        said("I turn it to the left. The winch shows red. Fix this bug.", mended),
        &[(
            "reported: The winch shows red.",
            Some("by edits to winch.rs: \"I fixed the brake of the winch.\"; says the agent"),
        )],
    );
    check_errors(
        said("The winch is broken.", "Problem: the brake held.\nFix: set `hold` to 0 at night.\n\nAll of it fixed."),
        &[(
            "reported: The winch is broken.",
            Some("by edits to winch.rs: \"Fix: set `hold` to 0 at night\"; says the agent"),
        )],
    );
}

#[test]
fn a_pasted_block_is_told_by_its_error() {
    let first = |prompt: &str| {
        let session = Session::default().prompt(prompt).edit("winch.rs", 1, 1).reply("**Fix**: `hold` is 0 now.");
        session.digest().errors.iter().map(|error| error.text.clone()).collect::<Vec<_>>()
    };
    let log = "I lifted it but got: [Winch] begun\n[Winch] on\n# 3\n# 4\n[Winch] [12:00:01] Try 1/3 failed: winch exited with code 4\n";
    assert_eq!(first(log), ["reported: Try 1/3 failed: winch exited with code 4"]);
    let plan = |language: &str| {
        format!(
            "# Winch\n\n## Context\n\nLifts fail with:\n\n```{language}\nNo trust in the winch\n```\n\n## Change\n\nTrust it."
        )
    };
    assert_eq!(first(&plan("")), ["reported: No trust in the winch"]);
    assert_eq!(first(&plan("rust")), [""; 0], "code");
}

#[test]
fn a_line_is_blamed_on_the_part_whose_message_it_is() {
    let ignored = "The following paths are ignored by one of your .gitignore files: out";
    let failed = |files: &str| Session::default().failed(&format!("git add {files} && git commit -m x"), 1, ignored);
    let check = |session: Session, mend: &str| {
        let episode = session.digest();
        let told = episode.errors[0].resolution.as_ref().map(|told| told.text.as_str());
        assert_eq!(told, Some(mend));
    };
    check(
        failed("src/winch.css src/drum.css src/rope.css src/hook.css out/all.css")
            .ok("git add src/winch.css src/drum.css src/rope.css src/hook.css && git commit -m x"),
        "by `git add` without `out/all.css`",
    );
    check(
        failed("a.css out/all.css").ok("git add -f out/all.css && git add a.css && git commit -m x"),
        "by `git add -f out/all.css` instead of `git add a.css out/all.css`",
    );
}

#[test]
fn what_failed_otherwise_in_between_tells_changes_apart() {
    let complaint = |test: &str, what: &str| format!("test it {test} (Shop.WinchTest): {what}");
    let failed = |session: Session, test: &str, what: &str| session.failed("mix test", 2, &complaint(test, what));
    let check = |session: Session, mend: &str| {
        let episode = session.digest();
        let told = episode.errors[0].resolution.as_ref().map(|told| told.text.as_str());
        assert_eq!(told, Some(mend));
    };
    let first = || failed(Session::default(), "winds", "no :max_load in the config");
    // The tests come in any order: what else fails now may have failed before.
    let otherwise = |session: Session| failed(session, "ends", "no drum").edit("b.ex", 1, 0).ok("mix test");
    check(otherwise(first().edit("a.ex", 1, 0)), "passed later");
    check(otherwise(first().wrote("a.ex", "max_load: 3")), "by edits to a.ex: `max_load: 3`; `mix test` passed");
    let same = failed(first().edit("b.ex", 1, 0), "ends", "no drum").edit("b.ex", 1, 0).ok("mix test");
    check(same, "by edits to b.ex; `mix test` passed");
    let again = failed(first().edit("a.ex", 1, 0), "winds", "no drum").edit("b.ex", 1, 0).ok("mix test");
    check(again, "by edits to a.ex; then it failed otherwise");
}

#[test]
fn what_is_said_after_another_failure_is_about_the_one_that_it_names() {
    let failed = || Session::default().prompt("go").failed("make test", 2, "winch_test: the rope is too short");
    let other = failed().failed("make lint", 1, "drum.rs: max_load is never used");
    let said = "The name `max_load` is never used because the drum reads `load`, so I rename it.";
    let session = other.reply(said).edit("drum.rs", 1, 1).ok("make lint").ok("make test").reply("Done.");
    check_errors(
        session,
        &[
            ("make test: exit 2, winch_test: the rope is too short", Some("by edits to drum.rs; `make test` passed")),
            (
                "make lint: exit 1, drum.rs: max_load is never used",
                Some(&*format!("by edits to drum.rs: \"{said}\"; `make lint` passed")),
            ),
        ],
    );
}
