//! The state of the work tree at the end of a session: branch, what is not committed, what is not pushed.
//!
//! One pass over the session in the order of its results: later evidence (a status, a commit, a push, a switch) replaces
//! earlier evidence. A session may work in several trees: its own, git worktrees, other repositories.
//!
//! # Decisions
//!
//! - What is not certain is not told: a commit whose files are unknown takes all, and commits are not pushed only if
//!   git said how many, or the session pushed before.

mod tree;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use self::tree::{Commit, MAX_TREES, Tree, Unpushed};
use super::command::{Family, GitAct, Paths, Step, Touch, git_steps, joined};
use super::excerpt::one_line;
use super::file;
use super::timeline::{Deed, Timeline};
use super::{LINE_CHARS, Pointed, SHORT_CHARS};
use baton_conversation::item::{GitOutput, ListedFiles, Outcome, ToolResult, WorkTree};
use baton_conversation::record::Timestamp;

/// Number of files that are named in one entry.
const MAX_FILES: usize = 4;
/// Number of changed files that are followed.
const MAX_CHANGED: usize = 400;

/// State of the work tree at the end.
#[derive(Default)]
pub(super) struct TreeState {
    pub(super) branch: Option<String>,
    /// Files that were edited and not committed, in a session that commits or looks after it.
    pub(super) uncommitted: Vec<String>,
    /// True if the last commit was pushed.
    pub(super) pushed: bool,
    /// Number of commits of the current branch that were not pushed; 0 if it is unknown.
    pub(super) unpushed: u32,
    /// Files that the session neither edited nor committed, if it commits.
    pub(super) also_modified: Option<Pointed>,
    /// What is open in the work tree.
    pub(super) open: Vec<Pointed>,
    /// Those of them that the other fields tell.
    pub(super) told: Vec<Pointed>,
}

/// Returns the state at the end of a session.
pub(super) fn tree_state(timeline: &Timeline<'_>) -> TreeState {
    let mut fold = Fold::new(timeline);
    let mut records = timeline.branches.iter().peekable();
    for deed in timeline.finished.iter().filter_map(|&index| timeline.deeds.get(index)) {
        while let Some(record) = records.next_if(|record| record.place < deed.ended) {
            fold.record(record.branch, record.cwd);
        }
        fold.deed(deed);
    }
    records.for_each(|record| fold.record(record.branch, record.cwd));
    fold.end()
}

/// What is known at one place of the session.
struct Fold<'t, 'a> {
    timeline: &'t Timeline<'a>,
    /// Directory of the session.
    home: &'a str,
    trees: BTreeMap<String, Tree>,
    /// Root of the tree that the session last worked in.
    current: String,
    /// Files that differ from the last commit, by absolute path.
    changed: BTreeMap<String, Changed>,
    staged: BTreeSet<String>,
    /// Changes that were put away, with the root of their tree.
    stashed: Vec<(String, BTreeMap<String, Changed>)>,
    /// Root of the tree of the last commit, and whether that was pushed.
    committed_in: Option<String>,
    pushed: bool,
}

/// A file that differs from the last commit.
#[derive(Clone, Copy, Default)]
struct Changed {
    /// Place, line and time of the last edit in the session.
    edited: Option<(usize, u64, Option<Timestamp>)>,
    /// Line and time of the last status that lists it.
    listed: Option<(u64, Option<Timestamp>)>,
    is_untracked: bool,
}

impl Changed {
    /// Returns true if git is known to know the file.
    fn is_tracked(&self) -> bool {
        self.listed.is_some() && !self.is_untracked
    }
}

impl<'t, 'a> Fold<'t, 'a> {
    fn new(timeline: &'t Timeline<'a>) -> Self {
        let home = timeline.cwd.unwrap_or_default();
        Self {
            timeline,
            home,
            trees: BTreeMap::new(),
            current: home.to_owned(),
            changed: BTreeMap::new(),
            staged: BTreeSet::new(),
            stashed: Vec::new(),
            committed_in: None,
            pushed: false,
        }
    }

    /// Notes the branch that the agent records, which is that of its directory.
    fn record(&mut self, branch: Option<&str>, cwd: Option<&str>) {
        let root = self.root(cwd.unwrap_or_default());
        if let Some(tree) = self.tree(&root) {
            tree.branch = branch.map(str::to_owned);
            self.current = root;
        }
    }

    fn deed(&mut self, deed: &Deed<'a>) {
        let base = absolute(self.home, deed.input("workdir").or(deed.cwd).unwrap_or_default());
        for touch in file::touches(self.timeline, deed) {
            match touch {
                // A relative path of a command line starts at the session's directory, see `file`.
                Touch::Written(path) if deed.command().is_some() => self.edit(deed, absolute(self.home, &path)),
                Touch::Written(path) => self.edit(deed, absolute(&base, &path)),
                Touch::Removed(path) => {
                    let removed = absolute(self.home, &path);
                    self.changed.retain(|path, _| rest_below(&removed, path).is_none());
                }
                Touch::Read(_) => {}
            }
        }
        if matches!(deed.outcome(), Some(Outcome::Ok | Outcome::Failed)) {
            self.git(deed, &base);
        }
    }

    fn edit(&mut self, deed: &Deed<'a>, path: String) {
        let root = self.root(&path);
        if !deed.aside && self.trees.contains_key(&root) {
            self.current = root;
        }
        self.staged.remove(&path);
        if self.changed.len() < MAX_CHANGED || self.changed.contains_key(&path) {
            self.changed.entry(path).or_default().edited = Some((deed.ended, deed.line, deed.at));
        }
    }

    /// Follows the uses of git on a command line, with what they print.
    fn git(&mut self, deed: &Deed<'a>, base: &str) {
        let line = deed.call.and_then(|call| call.git_line.as_deref()).or_else(|| deed.command()).unwrap_or_default();
        let (Some(result), true) = (deed.result, line.contains("git ") || line.contains("gh ")) else { return };
        let steps = git_steps(line);
        let is = |kind: fn(&GitAct) -> bool| steps.iter().rposition(|step| kind(&step.act));
        let printed = result.work_tree().cloned().unwrap_or_default();
        let switches = is(|act| matches!(act, GitAct::Switch(_))).is_some();
        let lists = is(|act| matches!(act, GitAct::Status { .. } | GitAct::Stash { .. })).is_some();
        // A commit that finds nothing to commit prints a status.
        let commits = (printed.files.is_none() || lists) && deed.succeeded() || !result.made().is_empty();
        let commit = is(|act| matches!(act, GitAct::Commit { .. })).filter(|_| commits);
        let prints = is(|act| matches!(act, GitAct::Status { .. } | GitAct::Switch(_) | GitAct::Stash { back: true }));
        let prints = prints.or(steps.len().checked_sub(1));
        let mut root = self.root(base);
        for (at, step) in steps.iter().enumerate() {
            // In an unknown directory, a commit takes all and nothing else counts.
            if step.directory.is_none() && !matches!(step.act, GitAct::Commit { .. }) {
                continue;
            }
            let directory = absolute(base, step.directory.as_deref().unwrap_or_default());
            root = self.root(&directory);
            if !switches && let Some(branch) = &printed.branch {
                self.switch(&root, branch);
            }
            if !deed.aside && !matches!(step.act, GitAct::Status { .. } | GitAct::Other) {
                self.current.clone_from(&root);
            }
            match &step.act {
                GitAct::Commit { also, amends } if commit == Some(at) => {
                    self.commit(deed, result, &root, *amends);
                    let is_cut = line.contains("…[+") || line.ends_with('…') || step.directory.is_none();
                    let also = if is_cut { Some(&Paths::All) } else { also.as_ref() };
                    self.take(&root, &directory, also);
                }
                GitAct::Switch(new) => {
                    new.iter().chain(&printed.branch).take(1).for_each(|name| self.switch(&root, name));
                }
                GitAct::Stage(paths) => self.stage(&root, &directory, paths),
                // It is unknown whether the line got that far.
                GitAct::Push if !deed.succeeded() && !ends_with_push(deed) => self.forget(&root),
                act if deed.succeeded() => self.act(&root, &directory, act),
                _ => {}
            }
            if prints == Some(at) {
                let is_whole = !matches!(step.act, GitAct::Status { is_whole: false });
                self.printed(deed, &root, &directory, &printed, is_whole);
            }
        }
        if commit.is_none() && result.made().iter().any(|made| matches!(made, GitOutput::Commit { .. })) {
            self.commit(deed, result, &root, false);
            self.take(&root, &root, Some(&Paths::All));
        }
        if printed.pushed || line.contains("pr create") && !result.made().is_empty() {
            self.push(&root);
        }
        for (hash, subject) in result.logged() {
            self.name(hash, subject);
        }
    }

    fn act(&mut self, root: &str, directory: &str, act: &GitAct) {
        match act {
            GitAct::Unstage(paths) => {
                for path in self.below(root, directory, paths) {
                    self.staged.remove(&path);
                }
            }
            GitAct::Restore(paths) => {
                for path in self.below(root, directory, paths) {
                    self.changed.remove(&path);
                }
            }
            GitAct::Push => self.push(root),
            GitAct::Stash { back: false } => {
                let paths = self.below(root, directory, &Paths::All);
                let away = paths.into_iter().filter_map(|path| self.changed.remove_entry(&path)).collect();
                self.stashed.push((root.to_owned(), away));
            }
            GitAct::Stash { back: true } => {
                if let Some(at) = self.stashed.iter().rposition(|(of, _)| of == root) {
                    self.changed.extend(self.stashed.remove(at).1);
                }
            }
            GitAct::Reset => self.forget(root),
            GitAct::Rewrite => {
                if let Some(tree) = self.tree(root) {
                    let unpushed = tree.unpushed();
                    unpushed.is_inexact |= unpushed.last.is_some();
                }
            }
            GitAct::Merge(branch) => {
                if let Some(tree) = self.tree(root) {
                    tree.branches.remove(branch);
                    tree.unpushed().is_inexact = true;
                }
            }
            _ => {}
        }
    }

    fn stage(&mut self, root: &str, directory: &str, paths: &Paths) {
        let staged = self.below(root, directory, paths);
        self.staged.extend(staged);
        if let Paths::Named(named) = paths {
            // The file may not be known as changed.
            let named = named.iter().map(|path| absolute(directory, path));
            self.staged.extend(named.take(MAX_CHANGED.saturating_sub(self.staged.len())));
        }
    }

    /// Removes what a commit takes: what is staged, and these files. Without a trace of either it may be anything.
    fn take(&mut self, root: &str, directory: &str, also: Option<&Paths>) {
        let mut taken: BTreeSet<String> = self.staged.iter().filter(|path| self.root(path) == root).cloned().collect();
        self.staged.retain(|path| !taken.contains(path));
        let also = also.or_else(|| taken.is_empty().then_some(&Paths::All));
        taken.extend(also.iter().flat_map(|also| self.below(root, directory, also)));
        self.changed.retain(|path, _| !taken.contains(path));
    }

    /// Notes the commits that a call made; `amends` if it replaced the last one.
    fn commit(&mut self, deed: &Deed<'a>, result: &ToolResult, root: &str, amends: bool) {
        let made = result.made().iter().filter_map(|made| match made {
            GitOutput::Commit { hash, subject } => Some((Some(hash.clone()), subject.clone())),
            GitOutput::PullRequest(_) => None,
        });
        let made: Vec<_> = made.collect();
        let count = u32::try_from(made.len().max(1)).unwrap_or(u32::MAX);
        let (hash, subject) = made.into_iter().next_back().unwrap_or_else(|| {
            let subject = deed.call.and_then(|call| call.commit.clone());
            (None, subject.unwrap_or_else(|| "the last commit".to_owned()))
        });
        let Some(tree) = self.tree(root) else { return };
        tree.committed = Some(deed.ended);
        let unpushed = tree.unpushed();
        let replaces = amends && (unpushed.more > 0 || unpushed.known.is_some_and(|known| known > 0));
        unpushed.more = unpushed.more.saturating_add(if replaces { 0 } else { count });
        unpushed.last = Some(Commit { hash, subject, line: deed.line, at: deed.at });
        (self.committed_in, self.pushed) = (Some(root.to_owned()), false);
    }

    /// Notes that everything was pushed.
    fn push(&mut self, root: &str) {
        if let Some(tree) = self.tree(root) {
            *tree.unpushed() = Unpushed { known: Some(0), ..Unpushed::default() };
            tree.pushes = true;
            self.pushed |= self.committed_in.as_deref() == Some(root);
        }
    }

    /// Notes that it is unknown what was not pushed.
    fn forget(&mut self, root: &str) {
        if let Some(tree) = self.tree(root) {
            *tree.unpushed() = Unpushed { is_inexact: true, ..Unpushed::default() };
        }
    }

    fn switch(&mut self, root: &str, branch: &str) {
        if let Some(tree) = self.tree(root) {
            tree.branch = Some(branch.to_owned());
        }
    }

    /// Notes what git printed about a tree.
    fn printed(&mut self, deed: &Deed<'a>, root: &str, directory: &str, printed: &WorkTree, is_whole: bool) {
        let Some(tree) = self.tree(root) else { return };
        if let Some(ahead) = printed.ahead {
            let unpushed = tree.unpushed();
            let last = unpushed.last.take().filter(|_| ahead > 0);
            *unpushed = Unpushed { known: Some(ahead), more: 0, is_inexact: false, last };
            self.pushed |= ahead == 0 && self.committed_in.as_deref() == Some(root);
        }
        if let Some(files) = &printed.files {
            self.list(deed, root, directory, files, is_whole && !files.is_cut);
        }
    }

    /// Notes the files that a status lists. Others are as committed, if it lists all.
    fn list(&mut self, deed: &Deed<'a>, root: &str, directory: &str, files: &ListedFiles, is_whole: bool) {
        let lists = |paths: &[String]| paths.iter().map(|path| absolute(directory, path)).collect::<BTreeSet<_>>();
        let (staged, unstaged, untracked) = (lists(&files.staged), lists(&files.unstaged), lists(&files.untracked));
        let is_new = |path: &str| path.match_indices('/').any(|(end, _)| untracked.contains(&path[..end]));
        if is_whole {
            let known = self.below(root, root, &Paths::All);
            let is_listed = |path: &String| [&staged, &unstaged, &untracked].iter().any(|list| list.contains(path));
            let may_differ = |path: &String| {
                let may_be_new = self.changed.get(path).is_none_or(|changed| !changed.is_tracked());
                files.untracked_is_cut && may_be_new || is_listed(path) || is_new(path)
            };
            let gone: Vec<String> = known.into_iter().filter(|path| !may_differ(path)).collect();
            for path in gone {
                self.changed.remove(&path);
                self.staged.remove(&path);
            }
        }
        let listed = Some((deed.result_line, deed.result_at));
        for path in staged.iter().chain(&unstaged) {
            if self.changed.len() < MAX_CHANGED || self.changed.contains_key(path) {
                let changed = self.changed.entry(path.clone()).or_default();
                (changed.listed, changed.is_untracked) = (listed, false);
            }
        }
        for (path, changed) in &mut self.changed {
            if untracked.contains(path) || is_new(path) {
                (changed.listed, changed.is_untracked) = (listed, true);
            }
        }
        self.staged.retain(|path| !unstaged.contains(path));
        let room = MAX_CHANGED.saturating_sub(self.staged.len());
        self.staged.extend(staged.difference(&unstaged).take(room).cloned());
    }

    /// Adds the hash that a log gives a commit.
    fn name(&mut self, hash: &str, subject: &str) {
        for unpushed in self.trees.values_mut().flat_map(|tree| tree.branches.values_mut()) {
            if let Some(last) = unpushed.last.as_mut().filter(|last| last.hash.is_none() && last.subject == subject) {
                last.hash = Some(hash.to_owned());
            }
        }
    }

    /// Returns the changed files of a tree among these paths.
    fn below(&self, root: &str, directory: &str, paths: &Paths) -> Vec<String> {
        let named: Option<Vec<String>> = match paths {
            Paths::All => None,
            Paths::Named(named) => Some(named.iter().map(|path| absolute(directory, path)).collect()),
        };
        let is_meant =
            |path: &str| named.as_ref().is_none_or(|named| named.iter().any(|place| rest_below(place, path).is_some()));
        self.changed.keys().filter(|path| self.root(path) == root && is_meant(path)).cloned().collect()
    }

    fn tree(&mut self, root: &str) -> Option<&mut Tree> {
        if self.trees.len() >= MAX_TREES && !self.trees.contains_key(root) {
            return None;
        }
        Some(self.trees.entry(root.to_owned()).or_default())
    }

    /// Returns the root of the tree that a path lies in, as far as the session shows it: a directory in which git ran,
    /// or that of the session. A git worktree below that is a tree of its own.
    fn root(&self, path: &str) -> String {
        let is_inside = |root: &str| {
            rest_below(root, path).is_some_and(|rest| !rest.split('/').any(|part| part.ends_with("worktrees")))
        };
        // Of nested ones the innermost comes last.
        let known = self.trees.keys().rev().find(|known| is_inside(known));
        let holds_home = rest_below(path, self.home).is_some();
        known.map_or_else(|| if holds_home { self.home } else { path }.to_owned(), String::clone)
    }

    fn end(self) -> TreeState {
        let home = self.trees.get(self.home);
        let branch = self.trees.get(&self.current).and_then(|tree| tree.branch.clone());
        let branch = branch.or_else(|| home?.branch.clone()).map(|branch| one_line(&branch, SHORT_CHARS));
        let (mut edited, mut listed) = (Vec::new(), Vec::new());
        for (path, changed) in &self.changed {
            let Some(tree) = self.trees.get(&self.root(path)) else { continue };
            let shown = self.timeline.relative_path(path);
            match (changed.edited, changed.listed) {
                (Some((place, line, at)), seen)
                    if seen.is_some() || tree.committed.is_some_and(|committed| place > committed) =>
                {
                    edited.push((line, at, shown));
                }
                (None, Some((line, at))) if changed.is_tracked() && tree.committed.is_some() => {
                    listed.push((line, at, shown));
                }
                _ => {}
            }
        }
        let entry = |what: &str, files: &mut Vec<(u64, Option<Timestamp>, &str)>| {
            files.sort_by_key(|(line, ..)| Reverse(*line));
            let &(line, at, _) = files.first()?;
            let more = files.len().saturating_sub(MAX_FILES);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let named: Vec<&str> = files.iter().take(MAX_FILES).map(|(.., path)| *path).collect();
            Some(Pointed { text: one_line(&format!("{what}: {}{more}", named.join(", ")), LINE_CHARS), line, at })
        };
        let mut told: Vec<Pointed> = entry("Edited and not committed", &mut edited).into_iter().collect();
        let unpushed = self.trees.get(&self.current).map_or(0, Tree::unpushed_count);
        let also_modified = entry("Also modified and not committed", &mut listed);
        let mut open: Vec<Pointed> = Vec::new();
        for (root, tree) in &self.trees {
            let list = if *root == self.current { &mut told } else { &mut open };
            list.extend(tree.open());
        }
        open.extend(told.iter().cloned());
        open.extend(draft(self.timeline));
        let uncommitted = edited.iter().rev().map(|(.., path)| (*path).to_owned()).collect();
        let branch = branch.filter(|branch| !branch.is_empty());
        TreeState { branch, uncommitted, pushed: self.pushed, unpushed, also_modified, open, told }
    }
}

/// Returns the last pull request that was opened as a draft and not made ready.
fn draft(timeline: &Timeline<'_>) -> Option<Pointed> {
    let runs = |deed: &&Deed<'_>, words: &str| deed.command().is_some_and(|text| text.contains(words));
    let deed = timeline.deeds.iter().rfind(|deed| runs(deed, " --draft") && deed.succeeded())?;
    let made = deed.result?.made().iter().find_map(|made| match made {
        GitOutput::PullRequest(address) => Some(address),
        GitOutput::Commit { .. } => None,
    })?;
    let later = |other: &Deed<'_>| other.began > deed.began && other.succeeded();
    let is_over =
        timeline.deeds.iter().any(|other| later(other) && (runs(&other, "pr ready") || runs(&other, "pr merge")));
    let text = format!("Pull request is a draft: {}", one_line(made, SHORT_CHARS));
    (!is_over).then_some(Pointed { text, line: deed.result_line, at: deed.result_at })
}

fn ends_with_push(deed: &Deed<'_>) -> bool {
    let last = deed.parsed_command().and_then(|line| line.steps().last().map(Step::family));
    last == Some(Family::Push)
}

/// Returns a path without `.` and `..`, without a trailing slash.
fn absolute(directory: &str, path: &str) -> String {
    let path: Cow<'_, str> =
        if path.starts_with(['/', '~']) { Cow::Borrowed(path) } else { Cow::Owned(joined(directory, path)) };
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." => {}
            "" if !parts.is_empty() => {}
            ".." if parts.last().is_some_and(|last| !last.is_empty() && *last != "..") => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// Returns what follows a directory in a path below it; empty for the directory itself.
fn rest_below<'p>(directory: &str, path: &'p str) -> Option<&'p str> {
    if directory.is_empty() {
        return (!path.starts_with(['/', '~'])).then_some(path);
    }
    let rest = path.strip_prefix(directory)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}
