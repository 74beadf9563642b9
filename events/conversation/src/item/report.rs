//! Facts about a tool's result that the reader finds in its output.

use baton_protocol::is_zero;
use serde::{Deserialize, Serialize};

use super::{POINTED_BYTES, ToolResult};

/// A commit or a pull request that git or gh reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GitOutput {
    /// `[main 1a2b3c4] Fix the login`
    Commit {
        /// The hash with as many digits as were printed.
        hash: String,
        /// First line of the message.
        subject: String,
    },
    /// `https://github.com/o/r/pull/12`, without the scheme.
    PullRequest(String),
}

/// What git prints about a work tree.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WorkTree {
    /// The branch that is checked out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Number of its commits that the branch of the same name on a remote does not have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ahead: Option<u32>,
    /// True if commits were pushed, or all had been before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pushed: bool,
    /// Number of files that the last commit changed, as git counts them; 0 if it was not printed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub committed: u32,
    /// What the last status lists; `None` without a status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<ListedFiles>,
}

/// The files that a status lists, as paths relative to where it ran.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ListedFiles {
    /// Changes that the next commit takes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub staged: Vec<String>,
    /// Changes that it leaves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unstaged: Vec<String>,
    /// Files and directories (`a/`) that git does not know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untracked: Vec<String>,
    /// True if changes are missing.
    #[serde(rename = "cut", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
    /// Number of changes that are missing, as far as the output tells it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missing: u32,
    /// True if files that git does not know are missing.
    #[serde(rename = "untracked_cut", default, skip_serializing_if = "std::ops::Not::not")]
    pub untracked_is_cut: bool,
}

/// The result that a test, build or linter reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Everything that was run passed.
    Passed,
    /// Something failed, with the telling line if there is one.
    Failed(String),
}

/// Facts that the reader found in the output of a tool. Not hashed.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Report {
    /// Result that a test, build, lint, hook or wrapper states, which counts if the exit code may be another program's.
    /// Of a result that failed: that its tests passed.
    pub verdict: Option<Verdict>,
    /// Commits and pull requests that were made.
    pub made: Vec<GitOutput>,
    /// Lines added and removed by a change of a file, counted over the whole file.
    pub changed: Option<(u32, u32)>,
    /// The line that names a cause of failure in the output of a command that succeeded.
    pub failing: Option<String>,
    /// Name of the script that failed, as its runner says.
    pub script: Option<String>,
    /// Hashes and subjects that a log lists.
    pub logged: Vec<(String, String)>,
    /// Commands that the runner of a hook echoed.
    pub echoed: Vec<String>,
    /// True if the call continues in the background, so that its end is unknown.
    pub in_background: bool,
    /// What git prints about the work tree.
    pub work_tree: Option<WorkTree>,
}

impl WorkTree {
    fn weight(&self) -> usize {
        let lists = self.files.iter().flat_map(|files| [&files.staged, &files.unstaged, &files.untracked]);
        lists.flatten().chain(&self.branch).map(|text| text.len() + 2 * POINTED_BYTES).sum()
    }
}

impl Report {
    /// Bytes that it points to.
    pub(super) fn weight(&self) -> usize {
        let made = self.made.iter().map(|made| match made {
            GitOutput::Commit { hash, subject } => hash.len() + subject.len() + 2 * POINTED_BYTES,
            GitOutput::PullRequest(address) => address.len() + POINTED_BYTES,
        });
        let verdict = match &self.verdict {
            Some(Verdict::Failed(line)) => line.len() + POINTED_BYTES,
            _ => 0,
        };
        let failing = self.failing.as_ref().map_or(0, |line| line.len() + POINTED_BYTES);
        let logged = self.logged.iter().map(|(hash, subject)| hash.len() + subject.len() + 2 * POINTED_BYTES);
        let others = self.script.iter().chain(&self.echoed).map(|text| text.len() + POINTED_BYTES);
        let tree = self.work_tree.as_ref().map_or(0, WorkTree::weight);
        let others = logged.sum::<usize>() + others.sum::<usize>() + tree;
        size_of::<Self>() + others + self.made.len() * size_of::<GitOutput>() + made.sum::<usize>() + verdict + failing
    }
}

impl ToolResult {
    /// See [`Report::verdict`].
    pub fn verdict(&self) -> Option<&Verdict> {
        self.report.as_ref()?.verdict.as_ref()
    }

    /// See [`Report::made`].
    pub fn made(&self) -> &[GitOutput] {
        self.report.as_ref().map_or(&[], |report| &report.made)
    }

    /// See [`Report::changed`].
    pub fn changed(&self) -> Option<(u32, u32)> {
        self.report.as_ref()?.changed
    }

    /// See [`Report::failing`].
    pub fn failing(&self) -> Option<&str> {
        self.report.as_ref()?.failing.as_deref()
    }

    /// See [`Report::script`].
    pub fn script(&self) -> Option<&str> {
        self.report.as_ref()?.script.as_deref()
    }

    /// See [`Report::logged`].
    pub fn logged(&self) -> &[(String, String)] {
        self.report.as_ref().map_or(&[], |report| &report.logged)
    }

    /// See [`Report::echoed`].
    pub fn echoed(&self) -> &[String] {
        self.report.as_ref().map_or(&[], |report| &report.echoed)
    }

    /// See [`Report::work_tree`].
    pub fn work_tree(&self) -> Option<&WorkTree> {
        self.report.as_ref()?.work_tree.as_ref()
    }

    /// See [`Report::in_background`].
    pub fn is_in_background(&self) -> bool {
        self.report.as_ref().is_some_and(|report| report.in_background)
    }
}
