//! The stored shape of a result's [`Report`].

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use baton_conversation::item::{GitOutput, ListedFiles, Report, Verdict, WorkTree};

/// Facts of a result; empty ones are left out.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct StoredReport<'a> {
    /// `passed` or `failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    verdict: Option<Cow<'a, str>>,
    /// The telling line of a failed verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    why: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    commits: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pulls: Vec<Cow<'a, str>>,
    /// Lines added and removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    changed: Option<(u32, u32)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failing: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    script: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    logged: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    echoed: Vec<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    background: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    work_tree: Option<StoredTree<'a>>,
}

/// What git prints about a work tree.
#[derive(Default, Serialize, Deserialize)]
struct StoredTree<'a> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    branch: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ahead: Option<u32>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pushed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    files: Option<StoredFiles<'a>>,
}

#[derive(Default, Serialize, Deserialize)]
struct StoredFiles<'a> {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    staged: Vec<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unstaged: Vec<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    untracked: Vec<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    untracked_cut: bool,
}

impl<'a> From<&'a WorkTree> for StoredTree<'a> {
    fn from(tree: &'a WorkTree) -> Self {
        let list = |paths: &'a [String]| paths.iter().map(|path| path.as_str().into()).collect();
        let files = tree.files.as_ref().map(|files| StoredFiles {
            staged: list(&files.staged),
            unstaged: list(&files.unstaged),
            untracked: list(&files.untracked),
            cut: files.is_cut,
            untracked_cut: files.untracked_is_cut,
        });
        Self { branch: tree.branch.as_deref().map(Cow::Borrowed), ahead: tree.ahead, pushed: tree.pushed, files }
    }
}

impl From<StoredTree<'_>> for WorkTree {
    fn from(stored: StoredTree<'_>) -> Self {
        let list = |paths: Vec<Cow<'_, str>>| paths.into_iter().map(Cow::into_owned).collect();
        let files = stored.files.map(|files| ListedFiles {
            staged: list(files.staged),
            unstaged: list(files.unstaged),
            untracked: list(files.untracked),
            is_cut: files.cut,
            untracked_is_cut: files.untracked_cut,
        });
        Self { branch: stored.branch.map(Cow::into_owned), ahead: stored.ahead, pushed: stored.pushed, files }
    }
}

impl<'a> From<&'a Report> for StoredReport<'a> {
    fn from(report: &'a Report) -> Self {
        let mut stored = Self {
            changed: report.changed,
            failing: report.failing.as_deref().map(Cow::Borrowed),
            script: report.script.as_deref().map(Cow::Borrowed),
            logged: report
                .logged
                .iter()
                .map(|(hash, subject)| (hash.as_str().into(), subject.as_str().into()))
                .collect(),
            echoed: report.echoed.iter().map(|command| command.as_str().into()).collect(),
            background: report.in_background,
            work_tree: report.work_tree.as_ref().map(StoredTree::from),
            ..Self::default()
        };
        match &report.verdict {
            Some(Verdict::Passed) => stored.verdict = Some(Cow::Borrowed("passed")),
            Some(Verdict::Failed(why)) => {
                stored.verdict = Some(Cow::Borrowed("failed"));
                stored.why = Some(why.as_str()).filter(|why| !why.is_empty()).map(Cow::Borrowed);
            }
            None => {}
        }
        for made in &report.made {
            match made {
                GitOutput::Commit { hash, subject } => {
                    stored.commits.push((Cow::Borrowed(hash), Cow::Borrowed(subject)));
                }
                GitOutput::PullRequest(address) => stored.pulls.push(Cow::Borrowed(address)),
            }
        }
        stored
    }
}

impl StoredReport<'_> {
    /// The facts; an unknown verdict counts as none, because the outcome stands beside it.
    pub(super) fn into_report(self) -> Report {
        let why = self.why.unwrap_or_default().into_owned();
        let commits = self.commits.into_iter();
        let commits =
            commits.map(|(hash, subject)| GitOutput::Commit { hash: hash.into_owned(), subject: subject.into_owned() });
        let pulls = self.pulls.into_iter().map(|address| GitOutput::PullRequest(address.into_owned()));
        Report {
            verdict: match self.verdict.as_deref() {
                Some("passed") => Some(Verdict::Passed),
                Some("failed") => Some(Verdict::Failed(why)),
                _ => None,
            },
            made: commits.chain(pulls).collect(),
            changed: self.changed,
            failing: self.failing.map(Cow::into_owned),
            script: self.script.map(Cow::into_owned),
            logged: self.logged.into_iter().map(|(hash, subject)| (hash.into_owned(), subject.into_owned())).collect(),
            echoed: self.echoed.into_iter().map(Cow::into_owned).collect(),
            in_background: self.background,
            work_tree: self.work_tree.map(WorkTree::from),
        }
    }
}
