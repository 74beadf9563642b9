//! How a call ended, where its exit code is hidden or shared.

use baton_conversation::item::{GitOutput, Item, Verdict};

use super::*;

impl Session {
    /// A command that was not marked as failed, with what its output reports.
    fn said(self, command: &str, report: Report) -> Self {
        self.ran(command, None, Outcome::Ok, None, report)
    }

    fn ran(self, command: &str, commit: Option<&str>, outcome: Outcome, error: Option<&str>, report: Report) -> Self {
        let mut session = self.call("Bash", json!({ "command": command }), None).result(outcome, None, error);
        for item in &mut session.items {
            match &mut item.body {
                Body::Call(call) if call.input.get("command").is_some_and(|line| line == command) => {
                    call.commit = commit.map(str::to_owned);
                }
                _ => {}
            }
        }
        if let Some(Item { body: Body::Result(result), .. }) = session.items.last_mut() {
            result.report = Some(Box::new(report));
        }
        session
    }
}

fn failed(line: &str) -> Report {
    Report { verdict: Some(Verdict::Failed(line.to_owned())), ..Report::default() }
}

fn passed() -> Report {
    Report { verdict: Some(Verdict::Passed), ..Report::default() }
}

fn failing(line: &str) -> Report {
    Report { failing: Some(line.to_owned()), ..Report::default() }
}

fn errors(session: &Session) -> Vec<(String, Option<String>)> {
    let told = |error: &ErrorLine| (error.text.clone(), error.resolution.as_ref().map(|end| end.text.clone()));
    session.digest().errors.iter().map(told).collect()
}

#[track_caller]
fn check_errors(session: &Session, expected: &[(&str, Option<&str>)]) {
    let found = errors(session);
    let found: Vec<_> = found.iter().map(|(text, end)| (text.as_str(), end.as_deref())).collect();
    assert_eq!(found, expected);
}

#[test]
fn every_list_tells_the_same_end_of_a_call() {
    let check = |command: &str, report: Report, expected: &str| {
        let session = Session::default().said(command, report);
        let episode = session.digest();
        let [line] = &episode.commands[..] else { panic!("one command: {:?}", episode.commands) };
        assert_eq!(line.outcome, expected, "{command}");
        assert_eq!(episode.errors.len(), usize::from(expected == "failed"), "{command}: {:?}", episode.errors);
        let run = episode.exchanges[0].commands.first();
        assert_eq!(run.is_some_and(|run| run.outcome == Some(Outcome::Failed)), expected == "failed", "{command}");
        let completed = episode.work_completed.contains_key("commands");
        assert_eq!(completed, expected == "ok" && run.is_some(), "{command}");
    };
    check("run git commit -m x", failed("src/a.ts:3:1: unused"), "failed");
    check("git commit -m x 2>&1 | tail -3", failed("src/a.ts:3:1: unused"), "failed");
    check("run bun run test 2>&1 | tail -20", failing("error: no such command 'bun'"), "failed");
    check("make deploy | head -3", failing("error: no host"), "failed");
    check("bun run lint | head -30", failing("× Formatter would have printed"), "failed");
    // A pipe hides the exit code, and the summary of what it cuts.
    check("bun run test | head -100", Report::default(), "unknown");
    check("bun run test | tail -3", Report::default(), "unknown");
    check("bun run test 2>&1 | tail -3", Report::default(), "ok");
    check("bun run test | tail -3", passed(), "ok");
    check("bun run lint | grep -v gantry", Report::default(), "unknown");
    check("bun run build | tail -3", Report::default(), "ok");
    check("make deploy | head -3", Report::default(), "ok");
    check("make deploy || echo failed", Report::default(), "unknown");
    check("set -o pipefail; bun run lint | head -30", Report::default(), "ok");
    // The exit code is the program's own.
    check("git commit -m x", failed("src/a.ts:3:1: unused"), "ok");
    check("make deploy", failing("error: no host"), "ok");
    // A script that catches its error says so.
    check("python3 - <<'E'\nwind()\nE", failed("FAILED: no such hook"), "unknown");
    check("node lift.js", failing("Error: the mast is bent"), "unknown");
    check("node lift.js", passed(), "ok");
    // What only looks prints anything.
    check("git log --grep failed | head -3", failed("error: it failed"), "ok");
    check("run git log -3 | head -3", failing("error: it failed"), "ok");
    check("run cat session.jsonl | tail -3", failed("error: it failed"), "ok");
}

#[test]
fn a_conflict_is_over_when_it_is_committed_or_continued_and_not_when_it_is_given_up() {
    let conflict = "CONFLICT (content): Merge conflict in src/a.rs";
    for (failing, ending, is_over) in [
        ("git merge main", "git commit --no-edit", true),
        ("git pull", "git merge --continue", true),
        ("git rebase main", "GIT_EDITOR=true git rebase --continue", true),
        ("git cherry-pick 1a2b3c4", "git cherry-pick --continue", true),
        ("git merge main", "git merge --abort", false),
        ("git merge main", "git rebase --continue", false),
        ("git rebase main", "git rebase --abort", false),
    ] {
        let session = Session::default().failed(failing, 1, conflict).edit("src/a.rs", 1, 1).ok("git add src/a.rs");
        let found = errors(&session.ok(ending));
        assert_eq!(found[0].0, format!("{failing}: exit 1, {conflict}"));
        assert_eq!(found[0].1.is_some(), is_over, "{failing}, {ending}: {:?}", found[0].1);
    }
}

#[test]
fn a_line_that_a_passing_run_prints_shows_no_failure() {
    let line = || failing("error: no stock, 3 ms");
    let session = Session::default().said("bun run test | head -9", line());
    check_errors(&session, &[("bun run test | head -9: error: no stock, 3 ms", None)]);
    check_errors(&session.said("bun run test", failing("error: no stock, 7 ms")), &[]);
}

#[test]
fn a_misused_program_in_a_pipe_failed_if_it_is_named() {
    let check = |line: &str, said: &str, expected: &str| {
        let episode = Session::default().said(line, failing(said)).digest();
        assert_eq!(episode.commands[0].outcome, expected, "{line}: {said}");
        assert_eq!(episode.errors, [], "it only looks");
    };
    check("cat -A jib.txt | sed -n 1,4p", "error: unexpected argument '-A' found", "unknown");
    check("sed -n 1,4p jib.txt | cat -A | head -3", "cat: illegal option -- A", "failed");
    check("cat jib.log | head -3", "jib: illegal option -- A", "ok");
    check("cat jib.log | sed -n 1,4p", "error: the jib is jammed", "ok");
    check("cat jib.log", "error: unexpected argument '-A' found", "ok");
}

#[test]
fn a_failure_of_a_chain_is_that_of_the_step_that_failed() {
    let chain = |report| {
        Session::default().ran("bun run test && bun run lint", None, Outcome::Failed, Some("src/a.ts: unused"), report)
    };
    let error = "bun run test && bun run lint: src/a.ts: unused";
    let script = || Report { script: Some("lint".to_owned()), ..Report::default() };
    for report in [script(), passed()] {
        check_errors(
            &chain(report).edit("src/a.ts", 1, 0).ok("bun run lint"),
            &[(error, Some("by edits to src/a.ts; `bun run lint` passed"))],
        );
    }
    // The other part of the line may fail still.
    check_errors(&chain(Report::default()).ok("bun run lint"), &[(error, None)]);
    // The tests that passed before it end their own failure.
    let before = Session::default().failed("bun run test", 1, "boom").edit("src/b.ts", 1, 0);
    let session = before.ran("bun run test && bun run lint", None, Outcome::Failed, Some("src/a.ts: unused"), script());
    assert_eq!(errors(&session)[0].1.as_deref(), Some("by edits to src/b.ts; `bun run test` passed"));
}

#[test]
fn a_failure_is_past_once_the_same_check_passes_in_any_form() {
    let failing =
        || Session::default().said("wrap bun run typecheck | head -5", failing("error: unknown command 'bun'"));
    let error = "wrap bun run typecheck | head -5: error: unknown command 'bun'";
    check_errors(&failing(), &[(error, None)]);
    let form = "by `bun run typecheck` instead of `wrap bun run typecheck`";
    check_errors(&failing().said("bun run typecheck | head -5", Report::default()), &[(error, Some(form))]);
    // A hook's checks passed if the commit did.
    let hook = Report { echoed: vec!["bun test src/".to_owned()], ..Report::default() };
    let session = Session::default().failed("bun run test", 1, "boom").said("git commit -m x", hook);
    check_errors(&session, &[("bun run test: exit 1, boom", None)]);
    assert_eq!(session.digest().unresolved, []);
    check_errors(&session.failed("bun run test", 1, "boom"), &[("bun run test: exit 1, boom", None)]);
    // Another script is another thing.
    let script = Session::default().failed("python3 -c 'import a'", 1, "ImportError: a").ok("python3 -c 'import b'");
    check_errors(&script, &[("python3 -c 'import a': exit 1, ImportError: a", None)]);
}

#[test]
fn the_reason_replaces_an_echo() {
    let session = Session::default()
        .said("bun run lint | tail -2", failed("error: script \"lint\" exited with code 1"))
        .said("bun run lint | head -20", failed("src/a.ts:3:1: unused"))
        .edit("src/a.ts", 1, 0)
        .ok("bun run lint");
    check_errors(
        &session,
        &[("bun run lint | head -20: src/a.ts:3:1: unused", Some("by edits to src/a.ts; `bun run lint` passed"))],
    );
    // A run of a part of it tells the reason, too.
    let part = Session::default()
        .said("bun run test | tail -5", failed("error: script \"test\" exited with code 1"))
        .failed("bun run test src/a.test.ts", 1, "expected 1, got 2")
        .edit("src/a.ts", 1, 0)
        .ok("bun run test src/a.test.ts");
    check_errors(
        &part,
        &[(
            "bun run test src/a.test.ts: exit 1, expected 1, got 2",
            Some("by edits to src/a.ts; `bun run test src/a.test.ts` passed"),
        )],
    );
}

#[test]
fn a_look_at_how_it_was_before_mends_nothing() {
    let failing = || Session::default().prompt("Mend it").failed("bun run lint", 1, "unused a");
    let error = "bun run lint: exit 1, unused a";
    check_errors(&failing().ok("git stash && bun run lint; git stash pop"), &[(error, None)]);
    check_errors(&failing().ok("git stash").ok("bun run lint").ok("git stash pop"), &[(error, None)]);
    let kept = failing().ok("git stash").ok("bun run lint");
    check_errors(&kept, &[(error, Some("by `git stash`"))]);
}

#[test]
fn a_call_that_was_called_off_did_not_run() {
    for harness in ["Cancelled: parallel tool call Bash(make) errored", "Sibling tool call errored"] {
        let error = format!("<tool_use_error>{harness}</tool_use_error>");
        let session = Session::default().ran("make", None, Outcome::Failed, Some(&error), Report::default());
        let episode = session.digest();
        assert!(episode.errors.is_empty() && episode.commands.is_empty(), "{:?}", episode.commands);
        assert!(episode.exchanges[0].commands.is_empty());
    }
}

#[test]
fn a_mend_names_what_it_was_done_to() {
    let session = Session::default().failed("git commit -m x", 1, "boom").ok("rm -rf tmp/copies").ok("git commit -m x");
    let episode = session.digest();
    let by: Vec<&Mend> = episode.mendings.values().flat_map(|mending| &mending.by).collect();
    assert_eq!(by, [&Mend::Command("rm -rf tmp/copies".to_owned())]);
    let session = Session::default().failed("git commit -m x", 1, "boom").ok("git commit -m y --no-verify");
    assert!(session.digest().mendings.values().all(|mending| mending.by.is_empty()));
}

#[test]
fn a_commit_is_told_whether_or_not_the_output_has_its_hash() {
    let commit = |report| Session::default().ran("run git commit -m ...", Some("Pay twice"), Outcome::Ok, None, report);
    let commits = |session: &Session| session.digest().exchanges[0].commits.clone();
    let printed = || Report {
        made: vec![GitOutput::Commit { hash: "1a2b3c4".to_owned(), subject: "Pay twice".to_owned() }],
        ..Report::default()
    };
    let log = |subject: &str| Report { logged: vec![("1a2b3c4".to_owned(), subject.to_owned())], ..Report::default() };
    assert_eq!(commits(&commit(printed())), ["1a2b3c4 Pay twice"]);
    assert_eq!(commits(&commit(Report::default())), ["Pay twice"]);
    assert_eq!(
        commits(&commit(Report::default()).said("git log --oneline -1", log("Pay twice"))),
        ["1a2b3c4 Pay twice"]
    );
    assert_eq!(commits(&commit(Report::default()).said("git log --oneline -1", log("Begin"))), ["Pay twice"]);
    assert_eq!(commits(&commit(failed("unused"))), [""; 0]);
    assert_eq!(commits(&Session::default().said("git log -1", printed())), [""; 0]);
}

#[test]
fn what_mends_is_found_beside_the_check_that_then_passed() {
    let session = Session::default()
        .said("bun run lint 2>&1 | tail -3", failed("src/a.ts:3:1: unused"))
        .said("bun run lint:fix 2>&1 | tail -3 && bun run lint 2>&1 | tail -3", passed());
    check_errors(&session, &[("bun run lint 2>&1 | tail -3: src/a.ts:3:1: unused", Some("by `bun run lint:fix`"))]);
}

#[test]
fn the_tests_before_a_script_that_failed_stand() {
    let script = Report { script: Some("lint".to_owned()), ..failed("src/a.ts:3:1: unused") };
    let episode = Session::default()
        .said("bun run test 2>&1 | tail -3", passed())
        .said("run test bun run test 2>&1 | tail -3 && bun run lint 2>&1 | tail -3", script)
        .digest();
    assert_eq!(episode.state.check.as_deref(), Some("bun run test"));
}

#[test]
fn what_was_left_out_and_done_in_another_form_is_told_with_both() {
    let files = "src/winch.css src/drum.css src/rope.css src/hook.css";
    let ignored = "The following paths are ignored by one of your .gitignore files: out";
    let mended = |session: Session| session.digest().errors[0].resolution.as_ref().map(|told| told.text.clone());
    let rest = || {
        let failed = Session::default().failed(&format!("git add {files} out/all.css"), 1, ignored);
        failed.ok(&format!("git add {files}"))
    };
    assert_eq!(mended(rest()).as_deref(), Some("by `git add` without `out/all.css`"));
    let forced = "by `git add` without `out/all.css`, then by `git add -f out/all.css`";
    assert_eq!(mended(rest().ok("git add -f out/all.css")).as_deref(), Some(forced));
    for other in ["git add -f out/other.css", "git add out/all.css", "rm -f out/all.css"] {
        assert_eq!(mended(rest().ok(other)), mended(rest()), "{other}");
    }
}

#[test]
fn a_check_that_passed_before_another_failed_counts() {
    let checked = |last: Session| (last.digest().state.check, last.digest().state.is_check_old);
    let work = || Session::default().prompt("go").ok("bun run test").edit("a.ts", 1, 1);
    let chained = work().ran("bun run test && bun run lint", None, Outcome::Failed, Some("a: unused"), passed());
    assert_eq!(checked(chained), (Some("bun run test".to_owned()), false));
    assert_eq!(checked(work()), (Some("bun run test".to_owned()), true));
    let reverted = work().ok("bun run test").ok("git checkout -- a.ts");
    assert_eq!(checked(reverted), (Some("bun run test".to_owned()), true));
}
