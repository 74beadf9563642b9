//! The stored shape of a result's [`Report`].

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use baton_conversation::item::{GitOutput, Report, Verdict, WorkTree};

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
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    logged: Cow<'a, [(String, String)]>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    echoed: Cow<'a, [String]>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    background: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    work_tree: Option<Cow<'a, WorkTree>>,
}

impl<'a> From<&'a Report> for StoredReport<'a> {
    fn from(report: &'a Report) -> Self {
        let mut stored = Self {
            changed: report.changed,
            failing: report.failing.as_deref().map(Cow::Borrowed),
            script: report.script.as_deref().map(Cow::Borrowed),
            logged: Cow::Borrowed(&report.logged),
            echoed: Cow::Borrowed(&report.echoed),
            background: report.in_background,
            work_tree: report.work_tree.as_ref().map(Cow::Borrowed),
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
            logged: self.logged.into_owned(),
            echoed: self.echoed.into_owned(),
            in_background: self.background,
            work_tree: self.work_tree.map(Cow::into_owned),
        }
    }
}
