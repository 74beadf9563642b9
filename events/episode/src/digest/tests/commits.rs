use super::*;
use baton_conversation::item::{ListedFiles, WorkTree};

fn listed(staged: &[&str], unstaged: &[&str]) -> Report {
    let paths = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
    let files = ListedFiles { staged: paths(staged), unstaged: paths(unstaged), ..ListedFiles::default() };
    Report { work_tree: Some(WorkTree { files: Some(files), ..WorkTree::default() }), ..Report::default() }
}

#[track_caller]
fn check(session: &Session, expected: &[&str]) {
    let decisions = session.digest().decisions;
    assert_eq!(decisions.iter().map(|one| one.text.as_str()).collect::<Vec<_>>(), expected);
}

#[test]
fn a_commit_that_takes_what_others_staged_is_not_called_limited() {
    let committed = |staged: &[&str], said: &str, files: u32| {
        let session = Session::default().prompt("Commit it").edit("src/winch.rs", 1, 1);
        let session = session.ran_by_person("git status", listed(staged, &["src/winch.rs", "src/drum.rs"]));
        let report =
            Report { work_tree: Some(WorkTree { committed: files, ..WorkTree::default() }), ..Report::default() };
        session.reply(said).ok("git add src/winch.rs && git commit -m x").with_report(report)
    };
    let said = "I'll commit only the winch.";
    check(&committed(&[], said, 1), &["I'll commit only the winch: `winch.rs`; not `drum.rs`"]);
    check(&committed(&[], "Now.", 1), &["Leave `drum.rs` out of the commit"]);
    for said in [said, "Now."] {
        // The same file may have further changes that are not staged.
        check(&committed(&["src/drum.rs"], said, 2), &[]);
        check(&committed(&["crane.svg"], said, 0), &[]);
    }
    check(&committed(&["crane.svg"], "Now.", 1), &["Leave `drum.rs` out of the commit"]);
    check(&committed(&["src/winch.rs"], "Now.", 1), &["Leave `drum.rs` out of the commit"]);
}

#[test]
fn a_choice_about_these_is_told_with_what_they_are() {
    let said = "The file also has changes of the ropes that I did not make. Since these belong to it, I keep them in the commit.";
    let session = Session::default().prompt("Commit it").edit("src/winch.rs", 1, 1).reply(said);
    check(&session.ok("git add src/winch.rs && git commit -m x"), &[said]);
}
