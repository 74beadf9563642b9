//! The state of the work tree at the end of a session: branch, what is not committed, what is not pushed.
//!
//! One pass over the session in the order of its results: later evidence (a status, a commit, a push, a switch) replaces
//! earlier evidence. A session may work in several trees: its own, git worktrees, other repositories.
//!
//! # Decisions
//!
//! - What is not certain is not told: a commit whose files are unknown takes all, and commits are not pushed only if
//!   git said how many, or the session pushed before.

mod changes;
mod fate;
mod place;
mod pull_request;
mod tree;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use self::changes::Changes;
pub(super) use self::place::{absolute, rest_below};
use self::tree::{Commit, MAX_COMMITS, MAX_TREES, Made, Tree, Unpushed};
use super::command::{Command, Family, GitAct, GitStep, Paths, Step, Touch, git_steps};
use super::evidence::complaint;
use super::excerpt::{names_with_rest, one_line};
use super::file;
use super::timeline::{Deed, Timeline};
use super::{Pointed, SHORT_CHARS};
use baton_conversation::item::{GitOutput, Outcome, ToolResult, WorkTree};
use baton_conversation::record::Timestamp;

/// State of the work tree at the end.
#[derive(Default)]
pub(super) struct TreeState {
    pub(super) branch: Option<String>,
    /// Files that were edited and not committed, in a session that commits or looks after it.
    pub(super) uncommitted: Vec<String>,
    /// True if the last commit was pushed.
    pub(super) pushed: bool,
    /// Places of the results of commits that were taken back, and whether the last one was.
    pub(super) gone: BTreeSet<usize>,
    pub(super) is_last_gone: bool,
    /// Number of commits of the current branch that were not pushed; 0 if it is unknown.
    pub(super) unpushed: u32,
    /// The commit that has what a failed commit was to take, as `hash subject`, if there is none after it.
    pub(super) landed: Option<String>,
    /// Files that the session neither edited nor committed, if it commits.
    pub(super) also_modified: Option<Pointed>,
    /// Edited files that git does not list as changed, in a session that made no commit.
    pub(super) unlisted: Option<Pointed>,
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

/// What is known at one point of the session.
struct Fold<'t, 'a> {
    timeline: &'t Timeline<'a>,
    /// Directory of the session.
    home: &'a str,
    trees: BTreeMap<String, Tree>,
    /// Root of the tree that the session last worked in.
    current: String,
    changes: Changes,
    /// The commits of the session that stand, and places of the results of those that were taken back.
    made: Vec<Made>,
    gone: BTreeSet<usize>,
    /// True if the last commit was pushed, and if it was taken back.
    pushed: bool,
    is_last_gone: bool,
    /// True if the changes that a failed commit was to take are committed, and by what.
    has_landed: bool,
    landed: Option<String>,
    /// Root of the tree in which the last commit failed, if there is none after it, with the line and time of the try.
    refused: Option<(String, u64, Option<Timestamp>)>,
}

impl<'t, 'a> Fold<'t, 'a> {
    fn new(timeline: &'t Timeline<'a>) -> Self {
        let home = timeline.cwd.unwrap_or_default();
        Self {
            timeline,
            home,
            trees: BTreeMap::new(),
            current: home.to_owned(),
            changes: Changes::default(),
            made: Vec::new(),
            gone: BTreeSet::new(),
            pushed: false,
            is_last_gone: false,
            has_landed: false,
            landed: None,
            refused: None,
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
        for touch in file::touches(deed) {
            match touch {
                // A relative path of a command line starts at the session's directory, see `file`.
                Touch::Written(path) if deed.command().is_some() => self.edit(deed, absolute(self.home, &path)),
                Touch::Written(path) => self.edit(deed, absolute(&base, &path)),
                Touch::Removed(path) => {
                    let removed = absolute(self.home, &path);
                    self.changes.remove_below(&removed);
                }
                Touch::Read(_) => {}
            }
        }
        if matches!(deed.outcome(), Some(Outcome::Ok | Outcome::Failed)) {
            self.git(deed, &base);
        }
        if pull_request::is_dealt_with(deed) {
            self.trees.values_mut().for_each(|tree| tree.published.clear());
        }
    }

    fn edit(&mut self, deed: &Deed<'a>, path: String) {
        let root = self.root(&path);
        self.changes.edit(path, &root, (deed.ended, deed.line, deed.at));
        if !deed.aside && self.trees.contains_key(&root) {
            self.current = root;
        }
    }

    /// Follows the uses of git on a command line, with what they print.
    fn git(&mut self, deed: &Deed<'a>, base: &str) {
        let line = deed.git_line().unwrap_or_default();
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
        let went_well = deed.succeeded() && !deed.in_background();
        let refuses = deed.outcome() == Some(Outcome::Failed) && commit.is_none();
        // The branch that is printed last is that of the last step that prints one.
        let names = is(|act| {
            matches!(
                act,
                GitAct::Status { .. } | GitAct::Switch(_) | GitAct::Stash { back: true } | GitAct::Commit { .. }
            )
        });
        let fails = deed.outcome() == Some(Outcome::Failed) && commit.is_none() && printed.files.is_some();
        let tried = is(|act| matches!(act, GitAct::Commit { .. })).filter(|_| fails);
        let place = |step: &GitStep| step.directory.as_deref().map(|directory| absolute(base, directory));
        let named = names.or(prints).and_then(|at| place(&steps[at])).map(|directory| self.root(&directory));
        let mut root = self.root(base);
        let staged = tried.map(|_| self.changes.surely_staged()).unwrap_or_default();
        for (at, step) in steps.iter().enumerate() {
            // In an unknown directory, a commit takes all and nothing else counts.
            if step.directory.is_none() && !matches!(step.act, GitAct::Commit { .. }) {
                continue;
            }
            let directory = absolute(base, step.directory.as_deref().unwrap_or_default());
            root = self.root(&directory);
            let branch =
                printed.branch.as_deref().filter(|_| step.directory.is_some() && named.as_ref() == Some(&root));
            if !switches && let Some(branch) = branch {
                self.switch(&root, branch);
            }
            // Moving commits between trees is no work in them.
            let stays_away = matches!(
                step.act,
                GitAct::Status { .. } | GitAct::Other | GitAct::Merge(_) | GitAct::Rewrite | GitAct::Push { .. }
            );
            if !deed.aside && !stays_away {
                self.current.clone_from(&root);
            }
            match &step.act {
                GitAct::Commit { .. } if refuses && step.directory.is_some() => {
                    self.refused = Some((root.clone(), deed.line, deed.at));
                }
                GitAct::Commit { also, amends } if commit == Some(at) => {
                    self.commit(deed, result, &root, *amends);
                    // A line is cut before the commit, or in its message, after which no file is named.
                    let is_cut = line.find("…[+").is_some_and(|cut| line[cut..].contains("commit"));
                    let also = if is_cut || step.directory.is_none() { Some(&Paths::All) } else { also.as_ref() };
                    let taken = self.changes.take(&root, &directory, also);
                    if taken.is_some_and(|taken| taken < printed.committed as usize) {
                        self.changes.forget_others(&root);
                    }
                }
                GitAct::Switch(new) => {
                    let new = new.as_deref().filter(|_| went_well);
                    new.or(branch).into_iter().for_each(|name| self.switch(&root, name));
                }
                GitAct::Stage(paths) => {
                    let is_sure = went_well || commit.is_some_and(|commit| at < commit) || stages_before_failing(deed);
                    self.changes.stage(&root, &directory, paths, is_sure);
                }
                GitAct::Push { branches: names, is_first } => {
                    let is_only = steps.iter().filter(|step| matches!(step.act, GitAct::Push { .. })).count() == 1;
                    let is_proven = went_well && step.is_proven && !deed.hides_exit();
                    let is_sent = is_proven || printed.pushed && is_only;
                    // It is unknown whether the line got that far.
                    if is_sent || went_well || deed.in_background() || !ends_with_push(deed) {
                        self.push_named(&root, names.as_deref(), is_sent);
                        if is_sent
                            && *is_first
                            && let Some(tree) = self.tree(&root)
                        {
                            tree.publish(names.as_deref().unwrap_or_default(), (deed.line, deed.at));
                        }
                    }
                }
                act if went_well => self.act(&root, &directory, act),
                _ => {}
            }
            if prints == Some(at) {
                let is_whole = !matches!(step.act, GitAct::Status { is_whole: false, .. });
                let from_root = matches!(step.act, GitAct::Status { from_root: true, .. });
                self.printed(deed, &root, if from_root { &root } else { &directory }, &printed, is_whole);
            }
        }
        if commit.is_none() && result.made().iter().any(|made| matches!(made, GitOutput::Commit { .. })) {
            self.commit(deed, result, &root, false);
            self.changes.take(&root, &root, Some(&Paths::All));
        }
        // Staged files that are no longer changed were committed by something else, such as a hook.
        if !staged.is_empty() && staged.iter().all(|path| self.changes.is_clean(path)) {
            (self.has_landed, self.refused) = (true, None);
            self.tree(&root).into_iter().for_each(|tree| tree.committed = Some(deed.ended));
        } else if let Some((hash, subject)) = result.logged().first().filter(|_| self.has_landed) {
            self.landed.get_or_insert_with(|| format!("{hash} {subject}"));
        }
        if went_well
            && let Some(at) = is(|act| matches!(act, GitAct::Revert(_)))
            && commit.is_none_or(|commit| commit < at)
        {
            // The last commit is the one that takes back another.
            (self.is_last_gone, self.pushed) = (true, false);
        }
        let opens = || result.made().iter().any(|made| matches!(made, GitOutput::PullRequest(_)));
        let has_step = is(|act| matches!(act, GitAct::Push { .. })).is_some();
        if printed.pushed && !has_step || line.contains("pr create") && opens() {
            self.push(&root);
        }
        for (hash, subject) in result.logged() {
            self.name(hash, subject);
        }
    }

    fn act(&mut self, root: &str, directory: &str, act: &GitAct) {
        match act {
            GitAct::Unstage(paths) => {
                self.changes.unstage(root, directory, paths);
            }
            GitAct::Restore(paths) => {
                self.changes.restore(root, directory, paths);
            }
            GitAct::Stash { back: false } => self.changes.put_away(root),
            GitAct::Stash { back: true } => self.changes.bring_back(root),
            GitAct::Reset(back) => {
                self.reset(root, *back);
                self.forget(root);
            }
            GitAct::Revert(commit) => self.revert(root, commit),
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
                let name = branch.strip_prefix("origin/").unwrap_or(branch);
                for tree in self.trees.values_mut() {
                    tree.published.remove(name);
                }
            }
            _ => {}
        }
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
        unpushed.last = Some(Commit { hash: hash.clone(), subject, line: deed.line, at: deed.at });
        let branch = tree.branch.clone();
        if amends && let Some(at) = self.made.iter().rposition(|made| made.is_on(root, branch.as_deref())) {
            self.made.remove(at);
        }
        if self.made.len() >= MAX_COMMITS {
            self.made.remove(0);
        }
        let made = Made { place: deed.ended, root: root.to_owned(), branch, hash, is_pushed: false };
        self.made.extend((1..count).map(|_| made.clone()));
        self.made.push(made);
        (self.pushed, self.is_last_gone) = (false, false);
        (self.has_landed, self.landed, self.refused) = (false, None, None);
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
            let branch = tree.branch.clone();
            if ahead == 0 {
                self.note_pushed(root, branch.as_deref());
            }
        }
        if let Some(files) = &printed.files {
            let listed = (deed.result_line, deed.result_at);
            self.changes.list(listed, root, directory, files, is_whole && !files.is_cut);
        }
    }

    /// Adds the hash that a log gives a commit.
    fn name(&mut self, hash: &str, subject: &str) {
        for unpushed in self.trees.values_mut().flat_map(|tree| tree.branches.values_mut()) {
            if let Some(last) = unpushed.last.as_mut().filter(|last| last.hash.is_none() && last.subject == subject) {
                last.hash = Some(hash.to_owned());
            }
        }
    }

    fn tree(&mut self, root: &str) -> Option<&mut Tree> {
        if self.trees.len() >= MAX_TREES && !self.trees.contains_key(root) {
            return None;
        }
        if !self.trees.contains_key(root) {
            self.trees.insert(root.to_owned(), Tree::default());
            let mut changes = std::mem::take(&mut self.changes);
            changes.settle(|path| self.root(path));
            self.changes = changes;
        }
        self.trees.get_mut(root)
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
        for (path, changed) in self.changes.files() {
            let Some(tree) = self.trees.get(&changed.root) else { continue };
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
        let last_commit = self.timeline.deeds.iter().rfind(|deed| deed.commits());
        let is_unknown = last_commit.is_some_and(|deed| deed.result.is_none());
        if is_unknown {
            // It is unknown what the last commit took.
            (edited, listed) = (Vec::new(), Vec::new());
        }
        let entry = |what: &str, files: &mut Vec<(u64, Option<Timestamp>, &str)>, nameless: Option<usize>| {
            files.sort_by_key(|(line, ..)| Reverse(*line));
            let &(line, at, _) = files.first()?;
            let paths: Vec<&str> = files.iter().map(|(.., path)| *path).collect();
            Some(Pointed { text: format!("{what}: {}", names_with_rest(&paths, nameless)), line, at })
        };
        let made_none = self.trees.values().all(|tree| tree.committed.is_none());
        let undone = &self.timeline.undone.files;
        let unlisted = self.changes.unlisted().map(|(path, &(line, at))| (line, at, self.timeline.relative_path(path)));
        let mut unlisted: Vec<_> = unlisted.filter(|(.., path)| made_none && !undone.contains(*path)).collect();
        let unlisted = entry("Edited, and not among the changes that git lists", &mut unlisted, None);
        let mut told: Vec<Pointed> = entry("Edited and not committed", &mut edited, None).into_iter().collect();
        // A commit that failed leaves what was staged for it, whoever edited that.
        let staged = self.refused.iter().filter(|_| !is_unknown).flat_map(|(root, line, at)| {
            let paths = self.changes.staged_alone(root).map(|path| self.timeline.relative_path(path));
            paths.map(|path| (*line, *at, path))
        });
        let mut staged: Vec<_> = staged.collect();
        told.extend(entry("Staged and not committed", &mut staged, None));
        listed.retain(|(.., path)| !staged.iter().any(|(.., other)| other == path));
        let unpushed = self.trees.get(&self.current).map_or(0, Tree::unpushed_count);
        // The status may have been cut, or be older than what a person changed.
        let also_modified = entry("Also modified and not committed", &mut listed, Some(self.changes.hidden()));
        let mut open: Vec<Pointed> = Vec::new();
        for (root, tree) in &self.trees {
            let list = if *root == self.current { &mut told } else { &mut open };
            list.extend(tree.open());
        }
        open.extend(told.iter().cloned());
        open.extend(pull_request::draft(self.timeline));
        open.extend(self.trees.values().flat_map(Tree::without_pull_request));
        let uncommitted = staged.iter().chain(&edited).rev().map(|(.., path)| (*path).to_owned()).collect();
        let branch = branch.filter(|branch| !branch.is_empty());
        let (gone, is_last_gone) = (self.gone, self.is_last_gone);
        let pushed = self.pushed && !is_last_gone;
        let landed = self.landed;
        TreeState {
            branch,
            uncommitted,
            pushed,
            gone,
            is_last_gone,
            unpushed,
            landed,
            also_modified,
            unlisted,
            open,
            told,
        }
    }
}

/// Returns true if a line that failed is known to have got past its `git add`.
fn stages_before_failing(deed: &Deed<'_>) -> bool {
    let stages =
        |line: &Command<'_>| line.passed_before_failing(&complaint(deed)).iter().any(|step| step.name() == "git add");
    deed.outcome() == Some(Outcome::Failed) && deed.parsed_command().is_some_and(stages)
}

fn ends_with_push(deed: &Deed<'_>) -> bool {
    let last = deed.parsed_command().and_then(|line| line.steps().last().map(Step::family));
    last == Some(Family::Push)
}
