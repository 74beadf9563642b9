//! A work tree: its branch, and the commits that its remote does not have.

use std::collections::BTreeMap;

use crate::digest::excerpt::one_line;
use crate::digest::{LINE_CHARS, Pointed};
use baton_conversation::record::Timestamp;

/// Number of trees, and of branches of one, that are followed.
pub(super) const MAX_TREES: usize = 32;

/// Number of commits that are followed.
pub(super) const MAX_COMMITS: usize = 64;

/// Branches that no pull request brings into another.
const MAIN_BRANCHES: [&str; 6] = ["main", "master", "trunk", "develop", "dev", "gh-pages"];

/// A work tree, or a repository.
#[derive(Default)]
pub(super) struct Tree {
    pub(super) branch: Option<String>,
    pub(super) branches: BTreeMap<String, Unpushed>,
    /// Place of the last commit.
    pub(super) committed: Option<usize>,
    /// True if the session pushed.
    pub(super) pushes: bool,
    /// Branches that the session created on the remote and no pull request or merge took up, with line and time of the
    /// push.
    pub(super) published: BTreeMap<String, (u64, Option<Timestamp>)>,
}

/// Commits of a branch that its remote does not have.
#[derive(Clone, Default)]
pub(super) struct Unpushed {
    /// Number that git said, or 0 after a push.
    pub(super) known: Option<u32>,
    /// Number of those that were made since.
    pub(super) more: u32,
    /// True if commits were replaced or merged since.
    pub(super) is_inexact: bool,
    pub(super) last: Option<Commit>,
}

/// A commit, as far as it was printed.
#[derive(Clone)]
pub(super) struct Commit {
    pub(super) hash: Option<String>,
    pub(super) subject: String,
    pub(super) line: u64,
    pub(super) at: Option<Timestamp>,
}

/// A commit of the session.
#[derive(Clone)]
pub(super) struct Made {
    /// Place of its result.
    pub(super) place: usize,
    /// Root of its tree, and its branch.
    pub(super) root: String,
    pub(super) branch: Option<String>,
    pub(super) hash: Option<String>,
    pub(super) is_pushed: bool,
}

impl Made {
    /// Returns true if it is on a branch, as far as both are known.
    pub(super) fn is_on(&self, root: &str, branch: Option<&str>) -> bool {
        self.root == root && self.branch.as_deref().is_none_or(|own| branch.is_none_or(|branch| own == branch))
    }
}

impl Tree {
    /// Returns the state of the branch that is checked out.
    pub(super) fn unpushed(&mut self) -> &mut Unpushed {
        let branch = self.branch.clone().unwrap_or_default();
        if self.branches.len() >= MAX_TREES && !self.branches.contains_key(&branch) {
            self.branches.pop_first();
        }
        self.branches.entry(branch).or_default()
    }

    /// Returns how many commits, made here or before, the branch that is checked out has and its remote has not; 0 if
    /// that is unknown, or none was made here; 1 if only their number is unknown.
    pub(super) fn unpushed_count(&self) -> u32 {
        let unpushed = self.branches.get(self.branch.as_deref().unwrap_or_default());
        let unpushed = unpushed.filter(|unpushed| unpushed.last.is_some());
        let unpushed = unpushed.filter(|unpushed| unpushed.known.is_some() || self.pushes);
        unpushed.map_or(0, |unpushed| match unpushed.known.unwrap_or(0).saturating_add(unpushed.more) {
            count if unpushed.is_inexact => count.min(1),
            count => count,
        })
    }

    /// Notes a branch that a push at this line and time created on the remote: the first that it names, or the current
    /// one.
    pub(super) fn publish(&mut self, names: &[String], pushed: (u64, Option<Timestamp>)) {
        let named = names.iter().find(|name| !matches!(name.as_str(), "HEAD" | "@")).or(self.branch.as_ref());
        let own = named.filter(|branch| !MAIN_BRANCHES.contains(&branch.as_str())).cloned();
        if let Some(branch) = own.filter(|_| self.published.len() < MAX_TREES) {
            self.published.insert(branch, pushed);
        }
    }

    /// Returns the branches that were pushed for the first time and brought nowhere, as open matters.
    pub(super) fn without_pull_request(&self) -> impl Iterator<Item = Pointed> {
        self.published.iter().map(|(branch, &(line, at))| {
            let text = format!("Pushed, and no pull request or merge seen: {branch}");
            Pointed { text: one_line(&text, LINE_CHARS), line, at }
        })
    }

    /// Returns what is not pushed, as an open matter: only in a session that pushes. Where a person pushes by other means,
    /// it is a state like any other.
    pub(super) fn open(&self) -> Option<Pointed> {
        let unpushed = self.branches.get(self.branch.as_deref().unwrap_or_default())?;
        let last = unpushed.last.as_ref().filter(|_| self.pushes)?;
        let hash = last.hash.as_ref().filter(|_| !unpushed.is_inexact);
        let shown = hash.map_or_else(|| last.subject.clone(), |hash| format!("{hash} {}", last.subject));
        let text = match self.unpushed_count() {
            0 => return None,
            count if count > 1 => {
                format!("Committed, no push seen: {count} commits, the last {shown}")
            }
            _ => format!("Committed, no push seen: {shown}"),
        };
        Some(Pointed { text: one_line(&text, LINE_CHARS), line: last.line, at: last.at })
    }
}
