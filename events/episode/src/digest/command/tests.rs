use super::*;

fn steps(text: &str) -> Vec<String> {
    let show = |step: &Step<'_>| {
        let words = [step.program.as_ref()].into_iter().chain(step.subcommand.as_deref());
        words.chain(step.arguments.iter().map(AsRef::as_ref)).collect::<Vec<_>>().join(" ")
    };
    Command::read(text).steps.iter().map(show).collect()
}

#[track_caller]
fn check_steps(text: &str, expected: &[&str]) {
    assert_eq!(steps(text), expected, "{text:?}");
}

#[test]
fn a_command_line_is_read_as_programs_and_arguments() {
    check_steps("cargo test -p auth -- --nocapture", &["cargo test auth"]);
    check_steps("cargo +nightly test --features=x", &["cargo test x"]);
    check_steps("RUST_LOG=debug sudo -E /usr/bin/cargo t", &["cargo test"]);
    check_steps("npm run test -- auth", &["npm test auth"]);
    check_steps("npx vitest run src/a.test.ts 2>&1 | tail -5", &["vitest src/a.test.ts"]);
    check_steps("uv run --frozen pytest -m \"not (tui or browser)\" -v", &["pytest not (tui or browser)"]);
    check_steps("python -m pytest tests/ > out.txt", &["pytest tests/"]);
    check_steps("cd a && cargo fmt && cargo clippy; git push", &["cargo fmt", "cargo clippy", "git push"]);
    check_steps("(source .venv/bin/activate && pytest)", &["pytest"]);
    check_steps("git -C /x/y commit -m 'a; b && c' --no-verify", &["git commit"]);
    check_steps("timeout 60 make -j 4 all # not && this", &["make all"]);
    check_steps("cat <<'EOF' > a.txt\ncargo test; x\nEOF", &["cat"]);
    check_steps("python3 - <<EOF && cargo test\nx\nEOF\ngit push", &["python3", "cargo test", "git push"]);
    check_steps("cat <<EOF\ncargo test", &["cat"]);
    check_steps("cat <<EOF\nx\nEOF", &["cat"]);
    check_steps("echo hi && sleep 2", &[]);
    check_steps("cargo build || true", &["cargo build"]);
    check_steps("echo '{}' | python3 a.py | head -2; ls", &["python3 a.py", "ls"]);
    check_steps("go test ./...", &["go test"]);
    check_steps("cargo \\\n  test", &["cargo test"]);
    check_steps("for i in 1 2; do echo $i; TZ=$i npm test a; done", &["npm test a"]);
    check_steps("if make; then git push; fi", &["make", "git push"]);
    check_steps("", &[]);
    check_steps("'unclosed && x", &["unclosed && x"]);
}

#[track_caller]
fn check_normal(text: &str, expected: &str) {
    assert_eq!(Command::read(text).normal_form(), expected);
}

#[test]
fn equal_commands_have_equal_texts() {
    check_normal("  cargo   test\n", "cargo test");
    check_normal("cd /home/u/p && cargo test", "cargo test");
    check_normal("cd \"/a b\" ; cd c && ls", "ls");
    check_normal("mix test 2>&1", "mix test");
    check_normal("cd somewhere", "cd somewhere");
    check_normal("cd a || cargo test", "cd a || cargo test");
    check_normal("cd a && ", "cd a &&");
}

#[track_caller]
fn check_resolved(failed: &str, error: &str, later: &str, expected: bool) {
    let (failed_command, later_command) = (Command::read(failed), Command::read(later));
    let proven = later_command.proven();
    let suspects = failed_command.suspects();
    let resolved =
        !suspects.is_empty() && suspects.iter().all(|failed| proven.iter().any(|step| step.resolves(failed, error)));
    assert_eq!(resolved, expected, "{failed:?} then {later:?}");
}

#[test]
fn a_later_success_of_the_same_command_resolves() {
    for (failed, later) in [
        ("cargo test", "cargo test"),
        ("cargo test -p auth", "cd /p && cargo test -p auth 2>&1"),
        ("cargo test", "set -o pipefail; cargo test | tail -3"),
        ("node assets/build.js", "cd assets && node build.js"),
        ("node assets/build.js", "cd /srv/shop/assets && node ./build.js"),
        ("cd assets && node build.js", "node assets/build.js"),
        ("pytest tests/test_a.py", "cd /srv/shop/tests && pytest test_a.py"),
        ("cargo test auth", "cargo test"),
        ("cargo test auth::login", "cargo test auth"),
        ("cargo test", "cargo nextest run"),
        ("npm test", "npm run test"),
        ("npm run test -- x", "npm test"),
        ("pytest tests/test_a.py::test_b -x", "uv run pytest tests"),
        ("python -m pytest", "pytest -q"),
        ("npx tsc --noEmit", "tsc"),
        ("cargo fmt && cargo test", "cargo fmt && cargo test"),
        ("git push", "git push -u origin main"),
        ("git commit -m a", "git commit -m 'b c'"),
        ("python3 run.py a", "python3 ./run.py b"),
        ("curl http://x/a", "curl -s http://x/a"),
        ("./gradlew test", "gradlew test"),
        ("cargo build; cargo test", "cargo test"),
        ("make", "make"),
        ("pytest test/test_a.py -v", "uv run pytest /w/p/test/test_a.py"),
        ("ty check src", "uv run ty check"),
        ("cargo check --all-targets", "cargo clippy -- -D warnings && cargo test"),
        ("go build ./...", "go test ./..."),
        ("npm test a", "for tz in UTC Oslo; do echo $tz; TZ=$tz npm test a 2>&1; done"),
    ] {
        check_resolved(failed, "", later, true);
    }
}

#[test]
fn another_command_or_an_unproven_one_does_not_resolve() {
    for (failed, later) in [
        ("cargo test", "cargo build"),
        ("go test -race ./...", "go test ./..."),
        ("git checkout main", "git -C ../other checkout main"),
        ("cargo test -p auth", "cd /p && cargo test -p auth 2>&1 | tail -3"),
        ("cargo test", "cargo test | grep -c FAILED"),
        ("node assets/build.js", "node build.js"),
        ("node assets/build.js", "cd tools && node build.js"),
        ("cd a && node build.js", "cd b && node build.js"),
        ("cargo check", "cargo fmt"),
        ("cargo check -p auth", "cargo test token"),
        ("make", "if make; then echo ok; fi"),
        ("npm test", "for i in 1 2; do npm test; done; ls"),
        ("cargo test -p auth", "cargo test -p token"),
        ("cargo test", "cargo test auth"),
        ("bun run test", "bun test src/jib.test.ts"),
        ("cargo test", "cargo test || true"),
        ("cargo test", "cargo test; echo done; ls"),
        ("cargo fmt && cargo test", "cargo fmt"),
        ("npm test", "npm run build"),
        ("python3 run.py", "python3 other.py"),
        ("foo process in.json", "foo --help"),
        ("foo process", "foo"),
        ("pytest -m unit", "pytest --markers"),
        ("python3 -c 'a'", "python3 -c 'b'"),
        ("ls x", "ls x"),
        ("", ""),
    ] {
        check_resolved(failed, "", later, false);
    }
    // That the error names the part does not make the rest pass.
    check_resolved("cargo test", "test session::auth_login ... FAILED", "cargo test auth_login", false);
}

#[test]
fn a_check_is_narrower_if_it_is_told_a_part_that_the_other_was_not_told() {
    let check = |failed: &str, later: &str, expected: bool| {
        let (failed_line, later_line) = (Command::read(failed), Command::read(later));
        assert_eq!(later_line.steps()[0].narrows(&failed_line.steps()[0]), expected, "{failed:?} then {later:?}");
    };
    check("bun run test", "bun test src/jib.test.ts", true);
    check("cargo test", "cargo test jib", true);
    check("cargo test -p crane", "cargo test -p crane jib", true);
    check("pytest a.py b.py", "pytest a.py", true);
    check("pytest a.py", "pytest a.py b.py", false);
    check("pytest tests/a.py", "pytest tests", false);
    check("cargo test jib", "cargo test", false);
    check("npm test", "npm test -- --silent", false);
    check("npm install", "npm install jib", false);
}

#[test]
fn flags_and_variables_switch_off_a_check() {
    let check = |line: &str, expected: &[&str]| assert_eq!(switched_off(line), expected, "{line}");
    check("git commit -m 'no --skip here' --no-verify", &["--no-verify"]);
    check("git add a && git commit -n -m b", &["-n"]);
    check("SKIP=lint git commit -m b", &["SKIP=lint"]);
    check("mvn verify -DskipTests", &["-DskipTests"]);
    check("cargo test -- --skip jib", &["--skip"]);
    check("tail -n 3 a", &[]);
    check("git log -n 3", &[]);
}

#[test]
fn an_output_tells_what_an_exit_code_cannot() {
    let check = |line: &str, verdict: Verdict, exit: bool, expected: Option<bool>, part: Part| {
        let command = Command::read(line).with_verdict(Some(verdict.clone()));
        let succeeded = exit && !command.failed_unseen();
        let ran = command.ran(Some(succeeded), "");
        let test = ran.iter().find(|program| program.name == "cargo test").unwrap();
        assert_eq!((test.ended, test.part), (expected, part), "{line} {verdict:?}");
    };
    let failed = || Verdict::Failed("error: x".to_owned());
    check("cargo test 2>&1 | tail -3", Verdict::Passed, true, Some(true), Part::Whole);
    check("cargo test 2>&1 | tail -3", failed(), true, Some(false), Part::Whole);
    check("cargo test || true", failed(), true, Some(false), Part::Whole);
    check("cargo test; git status", Verdict::Passed, true, Some(true), Part::Whole);
    check("cargo test; ./deploy", failed(), true, Some(false), Part::Whole);
    // The beginning, or what was searched for, is not the whole output.
    check("cargo test | head -3", Verdict::Passed, true, None, Part::Whole);
    check("cargo test | grep ok", Verdict::Passed, true, None, Part::Hidden);
    // With two checks it is unknown which one it is about.
    check("cargo test | tail -1; cargo clippy | tail -1", Verdict::Passed, true, None, Part::Piped);
    // The end of a loop's output is that of its last run.
    check("for i in 1 2; do cargo test 2>&1 | tail -3; done", Verdict::Passed, true, None, Part::Whole);
    check("for i in 1 2; do cargo test 2>&1 | tail -3; done", failed(), true, Some(false), Part::Whole);
    // What succeeded by itself did so, whatever is printed.
    check("cargo test && cat old.log", failed(), true, Some(true), Part::Whole);
}

#[test]
fn a_program_has_its_part_in_how_a_line_ends() {
    let check = |line: &str, expected: &[(&str, Part)]| {
        let ran = Command::read(line).ran(None, "");
        let parts: Vec<(&str, Part)> = ran.iter().map(|program| (program.name.as_str(), program.part)).collect();
        assert_eq!(parts, expected, "{line}");
    };
    check("cd x && RUST_LOG=1 cargo test", &[("cargo test", Part::Whole)]);
    check("git add -A && git commit -m x", &[("git add", Part::Shared), ("git commit", Part::Whole)]);
    check("cargo fmt && make", &[("cargo fmt", Part::Shared), ("make", Part::Shared)]);
    check("make | tail -3", &[("make", Part::Piped)]);
    check("set -o pipefail && make | tail -3", &[("make", Part::Whole)]);
    check("make | grep x | tail -3", &[("make", Part::Hidden)]);
    check("make | sort", &[("make", Part::Hidden)]);
    check("make all --with a…[+92 chars #25d882bc]", &[("make all", Part::Hidden)]);
    check("git commit -m 'a…[+92 chars #25d882bc]'", &[("git commit", Part::Whole)]);
}

#[test]
fn a_commit_is_told_by_the_first_line_of_its_message() {
    for (text, expected) in [
        ("git commit -m \"$(cat <<'EOF'\nFix it\n\nLong story\nEOF\n)\"", "git commit -m \"Fix it\""),
        ("git add a && git commit -q -m \"Fix it\n\nLong", "git add a && git commit -q -m \"Fix it\""),
        (
            "git commit -m \"$(cat <<'EOF'\nFix --it\n\nLong -n\nEOF\n)\" --no-verify",
            "git commit -m \"Fix --it\" --no-verify",
        ),
        ("git commit -m 'One' \\\n  -m 'Two'", "git commit -m 'One' \\ -m 'Two'"),
        ("git commit -m \"One\"", "git commit -m \"One\""),
        ("mail -m \"a\nb\"", "mail -m \"a b\""),
    ] {
        assert_eq!(Command::read(text).shown(), expected, "{text}");
    }
}

#[test]
fn looking_is_told_from_working() {
    for (text, looks) in [
        ("ls -la", true),
        ("cd a && git status && git diff | head", true),
        ("grep -r x . || echo none", true),
        ("cargo --version", true),
        ("git commit -m x", false),
        ("ls && cargo test", false),
    ] {
        assert_eq!(Command::read(text).only_looks(), looks, "{text}");
    }
}

#[test]
fn checks_are_told_from_other_work() {
    for (text, checks) in [
        ("cargo test", true),
        ("npm run typecheck", true),
        ("yarn test:unit", true),
        ("npx eslint .", true),
        ("ty check", true),
        ("git checkout main", false),
        ("npm install", false),
        ("cargo run", false),
        ("ls", false),
    ] {
        assert_eq!(Command::read(text).steps().iter().any(Step::checks), checks, "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_a_command(text in ".{0,200}", junk in "[ a'\"\\\\|&;<>(){}#=$\n-]{0,60}") {
        for text in [text, junk] {
            let command = Command::read(&text);
            let _ = (command.proven().len(), command.suspects().len(), command.only_looks());
            proptest::prop_assert!(command.steps.len() <= MAX_STEPS);
        }
    }
}

#[test]
fn an_error_tells_which_of_several_has_failed() {
    let check = |line: &str, error: &str, failed: &[&str]| {
        let ran = Command::read(line).ran(Some(false), error);
        let found: Vec<&str> =
            ran.iter().filter(|program| program.ended == Some(false)).map(|program| program.name.as_str()).collect();
        assert_eq!(found, failed, "{line} {error}");
    };
    let chain = "git add nope.rs && git commit -m x && git push";
    check(chain, "fatal: pathspec 'nope.rs' did not match any files", &["git add"]);
    check(chain, "The following paths are ignored by one of your .gitignore files:", &["git add"]);
    check(chain, "nothing to commit, working tree clean", &["git commit"]);
    check(chain, "error: failed to push some refs to 'origin'", &["git push"]);
    check("git add nope && git push", "fatal: pathspec 'nope' did not match any files", &["git add"]);
    check("rm a && cargo test", "rm: cannot remove 'a': No such file or directory", &["rm"]);
    check("cargo fmt && cargo test", "error[E0382]: use of moved value", &["cargo test"]);
    // What precedes an operator other than `&&` does not stop the rest from running.
    check("git add nope; git push", "fatal: pathspec 'nope' did not match any files", &["git push"]);
}
