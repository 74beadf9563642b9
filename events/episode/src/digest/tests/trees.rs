//! The work tree at the end of a session.

use super::*;
use baton_conversation::item::{GitOutput, ListedFiles, Report, WorkTree};

/// A command line that succeeds, with what git printed.
fn git(session: Session, line: &str, printed: WorkTree) -> Session {
    let mut session = session.ok(line);
    if let Some(Item { body: Body::Result(result), .. }) = session.items.last_mut() {
        result.report = Some(Box::new(Report { work_tree: Some(printed), ..Report::default() }));
    }
    session
}

fn commit(session: Session, line: &str, hash: &str, subject: &str) -> Session {
    let mut session = git(session, line, on("main"));
    if let Some(Item { body: Body::Result(result), .. }) = session.items.last_mut()
        && let Some(report) = &mut result.report
    {
        report.made = vec![GitOutput::Commit { hash: hash.to_owned(), subject: subject.to_owned() }];
    }
    session
}

fn on(branch: &str) -> WorkTree {
    WorkTree { branch: Some(branch.to_owned()), ..WorkTree::default() }
}

fn lists(unstaged: &[&str], untracked: &[&str]) -> WorkTree {
    let owned = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
    let files = ListedFiles { unstaged: owned(unstaged), untracked: owned(untracked), ..ListedFiles::default() };
    WorkTree { files: Some(files), ..on("main") }
}

fn start() -> Session {
    Session::default().cwd("/srv/crane").prompt("Grease the crane and commit it, please")
}

#[track_caller]
fn check(session: Session, expected: &[&str]) {
    let Episode { unresolved, state, .. } = session.digest();
    let open: Vec<&str> = unresolved.iter().chain(&state.also_modified).map(|entry| entry.text.as_str()).collect();
    assert_eq!(open.into_iter().filter(|text| text.contains("ommitted")).collect::<Vec<_>>(), expected);
}

#[test]
fn what_no_commit_took_is_not_committed() {
    let two = || start().edit("/srv/crane/jib.rs", 1, 1).edit("/srv/crane/hook.rs", 1, 1);
    check(two(), &[]);
    check(git(two(), "git status", lists(&["jib.rs", "hook.rs"], &[])), &["Edited and not committed: hook.rs, jib.rs"]);
    check(git(two(), "git status --short", lists(&[], &[])), &[]);
    let status = || git(two(), "git status", lists(&["jib.rs", "hook.rs", "mast.rs"], &["new/"]));
    let one = || commit(status(), "git add jib.rs && git commit -m Grease", "1a2b3c4", "Grease");
    let left = ["Edited and not committed: hook.rs", "Also modified and not committed: mast.rs"];
    check(one(), &left);
    let counted = |count| {
        let mut session = one();
        if let Some(Item { body: Body::Result(result), .. }) = session.items.last_mut()
            && let Some(tree) = result.report.as_mut().and_then(|report| report.work_tree.as_mut())
        {
            tree.committed = count;
        }
        session
    };
    check(counted(1), &left);
    check(counted(2), &left[..1]);
    check(git(one(), "git status jib.rs", lists(&[], &[])), &left);
    check(git(one(), "git status", lists(&["mast.rs"], &[])), &left[1..]);
    check(one().ok("git checkout -- hook.rs && git stash"), &[]);
    check(one().ok("git stash").ok("git stash pop"), &left);
    let cut_status = |missing| {
        let mut cut = lists(&["hook.rs", "mast.rs"], &[]);
        cut.files.iter_mut().for_each(|files| (files.is_cut, files.missing) = (true, missing));
        git(two(), "git status", cut)
    };
    let cut = |missing, line| commit(cut_status(missing), line, "1a2b3c4", "Grease");
    let one_and = "git add jib.rs && git commit -m Grease";
    check(cut(0, one_and), &left);
    check(cut(3, one_and), &[left[0], "Also modified and not committed: mast.rs and others"]);
    // What git refused to stage is none of the files that the status left out.
    let refused = cut_status(3).failed("git add jib.rs dist/a.css", 1, "dist is ignored");
    check(
        commit(refused, one_and, "1a2b3c4", "Grease"),
        &[left[0], "Also modified and not committed: mast.rs and others"],
    );
    check(cut(2, "git add jib.rs oil.rs && git commit -m Grease"), &left);
    check(cut(3, "git add . && git commit -m Grease"), &[]);
    // The call has no result.
    check(status().call("Bash", json!({ "command": "git commit -am Grease" }), None), &[]);
    check(commit(status(), "git commit -am Grease", "1a2b3c4", "Grease"), &[]);
    check(commit(status(), "git add -A && git commit -m Grease", "1a2b3c4", "Grease"), &[]);
    check(commit(status(), "git add jib.rs hook.rs mast.…[+80 chars #0a1b2c3d]", "1a2b3c4", "Grease"), &[]);
    check(
        commit(two(), "git commit -m Grease", "1a2b3c4", "Grease").edit("/srv/crane/new/b.rs", 1, 0),
        &["Edited and not committed: new/b.rs"],
    );
    let made = || commit(two(), "git commit -m Grease", "1a2b3c4", "Grease").edit("/srv/crane/try.py", 9, 0);
    check(made().ok("python try.py; rm try.py"), &[]);
    check(made().ok("rm -r /srv/crane/try.py /srv/crane/new"), &[]);
    check(made().edit("/tmp/note.md", 1, 0).ok("rm -f *.py"), &["Edited and not committed: try.py"]);
}

#[test]
fn what_a_failed_commit_was_to_take_may_be_committed() {
    let staged = || start().edit("/srv/crane/jib.rs", 1, 1).ok("git add jib.rs");
    let reports = |mut session: Session, report: Report| {
        if let Some(Item { body: Body::Result(result), .. }) = session.items.last_mut() {
            result.report = Some(Box::new(report));
        }
        session
    };
    let failed = |session: Session, unstaged: &[&str]| {
        let session = session.failed("git commit -m Grease", 1, "no changes added to commit");
        let session = reports(session, Report { work_tree: Some(lists(unstaged, &[])), ..Report::default() });
        let logged = vec![("2a2b3c4".to_owned(), "Paint the mast".to_owned())];
        reports(session.ok("git log --oneline -1"), Report { logged, ..Report::default() })
    };
    let landed = failed(staged(), &["mast.rs"]);
    assert_eq!(landed.digest().state.commit.as_deref(), Some("2a2b3c4 Paint the mast"));
    check(failed(staged(), &["mast.rs"]), &["Also modified and not committed: mast.rs"]);
    check(failed(staged(), &["jib.rs"]), &["Edited and not committed: jib.rs"]);
    assert_eq!(failed(staged(), &["jib.rs"]).digest().state.commit, None);
}

#[test]
fn what_was_staged_for_a_commit_that_failed_is_not_committed() {
    let edited = || start().edit("/srv/crane/jib.rs", 1, 1);
    let staged = || edited().ok("git add jib.rs rig/mast.rs rig/ropes");
    let refused = || staged().failed("git commit -m Grease", 1, "hook: 3 tests failed");
    check(staged(), &[]);
    check(refused(), &["Staged and not committed: rig/mast.rs"]);
    let listed = git(edited(), "git status", lists(&["jib.rs", "rig/mast.rs", "hook.rs"], &[]));
    let refused_later = listed.ok("git add jib.rs rig/mast.rs").failed("git commit -m Grease", 1, "hook: 3 failed");
    check(refused_later, &["Edited and not committed: jib.rs", "Staged and not committed: rig/mast.rs"]);
    check(refused().call("Bash", json!({ "command": "git commit --no-verify -m Grease" }), None), &[]);
    check(refused().ok("git commit --no-verify -m Grease"), &[]);
    check(git(refused(), "git status", lists(&[], &[])), &[]);
}

#[test]
fn work_in_another_tree_is_no_work_of_the_sessions_own() {
    let own = || git(start(), "git status", on("grease")).edit("/srv/crane/jib.rs", 1, 1);
    let branch = |session: Session| session.digest().state.branch;
    let other = || own().failed("git checkout main && git merge grease", 128, "fatal: 'main' is used");
    let merged = other().ok("git -C /srv/quay merge grease").ok("git -C /srv/quay push");
    assert_eq!(branch(git(merged, "git -C /srv/quay status", on("main"))).as_deref(), Some("grease"));
    let committed = git(other(), "git -C /srv/quay commit -am Grease", on("main"));
    assert_eq!(branch(committed).as_deref(), Some("main"));
}

#[test]
fn a_commit_whose_line_is_cut_before_it_is_one() {
    let line = format!("run git add {}…[+90 chars #0a1b2c3d]", "rig/mast.rs ".repeat(20));
    let committed = |subject: Option<&str>| {
        let mut session = git(start().edit("/srv/crane/jib.rs", 1, 1), &line, on("main"));
        for item in &mut session.items {
            if let Body::Call(call) = &mut item.body {
                call.commit = subject.map(str::to_owned);
            }
        }
        session.digest()
    };
    assert!(committed(None).is_without_commit());
    let episode = committed(Some("Grease"));
    assert_eq!((episode.is_without_commit(), episode.state.commit.as_deref()), (false, Some("Grease")));
}

#[test]
fn commits_that_were_not_pushed_are_counted_where_that_is_known() {
    let ahead = |count| WorkTree { ahead: Some(count), ..on("main") };
    let grease = |session| commit(session, "git commit -am Grease", "1a2b3c4", "Grease");
    let seen = |count| git(start().ok("git push"), "git status", ahead(count));
    let told = ["Committed, no push seen: 1a2b3c4 Grease"];
    check(grease(start()), &[]);
    check(seen(4), &[]);
    check(grease(seen(0)), &told);
    check(grease(seen(4)), &["Committed, no push seen: 5 commits, the last 1a2b3c4 Grease"]);
    check(git(grease(start().ok("git push")), "git status", ahead(1)), &told);
    // Where nobody pushes, that is the state of the tree and nothing open.
    let elsewhere = || grease(git(start(), "git status", ahead(4)));
    check(elsewhere(), &[]);
    assert_eq!(elsewhere().digest().state.unpushed, 5);
    check(grease(seen(4)).ok("git push"), &[]);
    check(git(grease(seen(4)), "git status", ahead(0)), &[]);
    check(grease(start().ok("git push")), &told);
    check(grease(start().ok("git push")).failed("git push", 1, "rejected"), &told);
    check(grease(start().ok("git push")).failed("git push && make release", 1, "boom"), &[]);
    check(
        commit(grease(start().ok("git push")), "git commit --amend --no-edit", "2a2b3c4", "Grease"),
        &["Committed, no push seen: 2a2b3c4 Grease"],
    );
    check(grease(seen(4)).ok("git reset --hard origin/main"), &[]);
    check(grease(seen(4)).ok("git pull --rebase"), &["Committed, no push seen: Grease"]);
    let pushed = WorkTree { pushed: true, ..on("main") };
    check(git(grease(start().ok("git push")), "make release && git log", pushed), &[]);
    let both = "cd /srv/winch && git commit -am Oil";
    let elsewhere = grease(seen(0));
    check(commit(elsewhere, both, "3a2b3c4", "Oil").ok("cd /srv/winch && git push"), &told);
}

#[test]
fn the_branch_is_the_last_one_seen() {
    let branch = |session: Session| session.digest().state.branch;
    let recorded = || start().add(Body::Meta(Meta::Branch("main".to_owned())));
    assert_eq!(branch(recorded()).as_deref(), Some("main"));
    assert_eq!(branch(git(recorded(), "git status", on("oil"))).as_deref(), Some("oil"));
    assert_eq!(branch(recorded().ok("git switch -c grease")).as_deref(), Some("grease"));
    assert_eq!(branch(git(recorded(), "git status", on("oil")).add(Body::Meta(Meta::Branch("HEAD".to_owned())))), None);
    let elsewhere = git(recorded(), "git -C /srv/winch status", on("oil"));
    assert_eq!(branch(elsewhere).as_deref(), Some("main"));
    let worktree = || git(recorded(), "cd .worktrees/oil && git status", on("oil"));
    assert_eq!(branch(worktree()).as_deref(), Some("main"));
    assert_eq!(branch(worktree().edit("/srv/crane/.worktrees/oil/jib.rs", 1, 1)).as_deref(), Some("oil"));
}

#[test]
fn the_check_is_the_strongest_that_passed_after_the_last_change() {
    let told = |session: Session| session.digest().state.check.unwrap_or_default();
    let edited = || start().ok("make test").edit("/srv/crane/jib.rs", 1, 1);
    assert_eq!(told(edited()), "make test");
    assert_eq!(told(edited().ok("make lint 2>&1 | tail -5; npx tsc")), "npx tsc");
    assert_eq!(told(edited().ok("make test && make lint").edit("/srv/crane/README.md", 1, 1)), "make test");
    assert_eq!(told(edited().ok("make test").ok("make test jib")), "make test");
    assert_eq!(told(edited().ok("npx tsc").ok("make lint:fix").failed("npx tsc", 2, "error")), "make test");
    let hooked = |session: Session| {
        let mut hook = commit(session, "git commit -am Grease", "1a2b3c4", "Grease");
        if let Some(Item { body: Body::Result(result), .. }) = hook.items.last_mut()
            && let Some(report) = &mut result.report
        {
            report.echoed = vec!["bun test src/".to_owned()];
        }
        hook
    };
    assert_eq!(told(hooked(edited().ok("make lint"))), "make test", "as it was typed");
    let failed = edited().failed("make test", 1, "error").edit("/srv/crane/jib.rs", 1, 1).ok("make lint");
    assert_eq!(told(hooked(failed)), "make lint", "what was typed failed");
    let context = |session: Session| session.digest().continuation_context;
    assert!(context(edited()).contains("To check: `make test` passed before the last edits."));
    assert!(context(edited().ok("make test")).contains("To check: `make test` passed."));
    let unclear = context(edited().ok("make test | head -9"));
    assert!(!unclear.contains("To check"), "it may have passed after them: {unclear}");
}

fn greased(branch: &str) -> Session {
    let mut session =
        commit(start().edit("/srv/crane/jib.rs", 1, 1), "git commit -am Grease", "1a2b3c4", "Grease the jib");
    if let Some(Item { body: Body::Result(result), .. }) = session.items.last_mut()
        && let Some(tree) = result.report.as_mut().and_then(|report| report.work_tree.as_mut())
    {
        tree.branch = Some(branch.to_owned());
    }
    session
}

#[test]
fn a_push_counts_only_if_it_is_known_to_have_sent_the_branch() {
    let sent = WorkTree { pushed: true, ..WorkTree::default() };
    let is_pushed = |line: &str| greased("feat").ok(line).digest().state.pushed;
    for line in ["git push", "git push -u origin feat && ls", "git push origin HEAD", "ls; git push origin main feat"] {
        assert!(is_pushed(line), "{line}");
    }
    let unknown = ["git push 2>&1 | tail -5", "git push -q || true", "git push; ls", "git push &"];
    for line in unknown.into_iter().chain(["git push origin main", "git push origin \"$B\"", "git push --tags"]) {
        assert!(!is_pushed(line), "{line}");
    }
    assert!(git(greased("feat"), "git push 2>&1 | tail -5", sent.clone()).digest().state.pushed);
    assert!(!git(greased("feat"), "git push origin main | tail", sent.clone()).digest().state.pushed);
    assert!(git(greased("feat"), "git push origin feat; ls", sent).digest().state.pushed);
    assert!(greased("feat").ok("git switch -c oil").ok("git push origin feat").digest().state.pushed);
    let input = json!({ "command": "git push", "run_in_background": true });
    let started = greased("feat").call("Bash", input, None).result(Outcome::Ok, None, None);
    assert!(!started.digest().state.pushed);
    assert!(!greased("feat").ran_by_person("git push", Report::default()).digest().state.pushed);
    let before = git(start().ok("git push"), "git push && git commit -am Oil", WorkTree { pushed: true, ..on("main") });
    assert!(!before.digest().state.pushed);
}

#[test]
fn a_line_that_failed_switches_and_stages_nothing_for_certain() {
    let branch = |session: Session| session.digest().state.branch.unwrap_or_default();
    assert_eq!(branch(greased("feat").failed("make test && git checkout -b fix", 1, "1 failed")), "feat");
    let mut switched = greased("feat").failed("git checkout -b fix && make test", 1, "1 failed");
    if let Some(Item { body: Body::Result(result), .. }) = switched.items.last_mut() {
        result.report = Some(Box::new(Report { work_tree: Some(on("fix")), ..Report::default() }));
    }
    assert_eq!(branch(switched), "fix");
    let two = || git(greased("main"), "git status", lists(&["a.rs", "b.rs"], &[]));
    let failed = || two().failed("make test && git add a.rs", 1, "1 failed");
    check(commit(failed(), "git commit -m Oil", "2a2b3c4", "Oil"), &[]);
    let left = ["Also modified and not committed: b.rs"];
    let hook = two().failed("git add a.rs && git commit -m Oil", 1, "lint failed");
    check(commit(hook, "git commit -m Oil", "2a2b3c4", "Oil"), &left);
    check(
        commit(two().ok("git add a.rs"), "git commit -m Oil", "2a2b3c4", "Oil"),
        &["Also modified and not committed: b.rs"],
    );
}

#[test]
fn a_branch_that_is_printed_is_that_of_the_last_tree() {
    let branch = |line: &str| git(greased("feat"), line, on("dev")).digest().state.branch.unwrap_or_default();
    assert_eq!(branch("git branch --show-current; git -C ../hoist branch --show-current"), "feat");
    assert_eq!(branch("git -C ../hoist log; git branch --show-current"), "dev");
    assert_eq!(branch("cd \"$D\" && git commit -am x"), "feat");
}

#[test]
fn the_paths_of_a_porcelain_start_at_the_root() {
    let session = || greased("main").edit("/srv/crane/api/a.rs", 1, 1);
    let status = |line: &str, path: &str| git(session(), line, lists(&[path], &[]));
    check(status("cd api && git status --porcelain", "api/a.rs"), &["Edited and not committed: api/a.rs"]);
    check(status("cd api && git status --short", "a.rs"), &["Edited and not committed: api/a.rs"]);
}

#[test]
fn a_commit_that_was_taken_back_is_not_the_last_one() {
    let told = |session: Session| {
        let episode = session.digest();
        (episode.state.commit, episode.title.contains("Grease the jib"))
    };
    let stands = (Some("1a2b3c4 Grease the jib".to_owned()), true);
    for line in
        ["git reset --hard", "git reset HEAD jib.rs", "git reset --hard HEAD", "git -C ../hoist reset --hard @~"]
    {
        assert_eq!(told(greased("main").ok(line)), stands, "{line}");
    }
    let gone = (None, false);
    for line in ["git reset --hard HEAD~1", "git reset --soft HEAD^", "git reset --hard origin/main", "git revert HEAD"]
    {
        assert_eq!(told(greased("main").ok(line)), gone, "{line}");
    }
    assert_eq!(told(greased("main").ok("git push").ok("git reset --hard origin/main")), stands);
    assert_eq!(told(greased("main").ok("git revert 9a2b3c4")), (None, true));
    let again = commit(greased("main").ok("git reset --soft HEAD~1"), "git commit -m Oil", "2a2b3c4", "Oil the jib");
    assert_eq!(told(again), (Some("2a2b3c4 Oil the jib".to_owned()), false));
}

#[test]
fn a_new_branch_is_open_until_a_pull_request_or_a_merge_takes_it_up() {
    let pushed = |line: &str| git(start(), line, WorkTree { pushed: true, ..on("jib") });
    let new = || pushed("git push -u origin jib");
    #[track_caller]
    fn open(session: Session, expected: &[&str]) {
        let told = session.digest().unresolved.into_iter().map(|entry| entry.text);
        assert_eq!(told.filter(|text| text.starts_with("Pushed")).collect::<Vec<_>>(), expected);
    }
    let left = ["Pushed, and no pull request or merge seen: jib"];
    open(new(), &left);
    open(pushed("git push --set-upstream origin HEAD"), &left);
    open(pushed("git push"), &[]);
    open(pushed("git push -u origin main"), &[]);
    open(new().ok("gh pr create --fill"), &[]);
    open(new().ok("git checkout main").ok("git merge jib"), &[]);
    open(new().ok("git merge origin/jib"), &[]);
    open(new().ok("git merge mast"), &left);
}
