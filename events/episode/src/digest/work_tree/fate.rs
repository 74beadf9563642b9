//! Tells which commits of a session were taken back or pushed.

use super::Fold;
use super::tree::{Made, Unpushed};
use crate::digest::command::steps_back;

impl Fold<'_, '_> {
    /// Takes back the last commits of a branch: all that were not pushed, if their number is unknown.
    pub(super) fn reset(&mut self, root: &str, back: Option<usize>) {
        let branch = self.trees.get(root).and_then(|tree| tree.branch.clone());
        let mut at = self.made.len();
        let mut left = back.unwrap_or(usize::MAX);
        while at > 0 && left > 0 {
            at -= 1;
            if !self.made[at].is_on(root, branch.as_deref()) || back.is_none() && self.made[at].is_pushed {
                continue;
            }
            if at + 1 == self.made.len() {
                (self.is_last_gone, self.pushed) = (true, false);
            }
            self.gone.insert(self.made.remove(at).place);
            left -= 1;
        }
    }

    /// Notes that a commit was taken back by another one.
    pub(super) fn revert(&mut self, root: &str, commit: &str) {
        let branch = self.trees.get(root).and_then(|tree| tree.branch.as_deref());
        let back = if matches!(commit, "HEAD" | "@") { Some(0) } else { steps_back(commit) };
        let is_named =
            |made: &&Made| made.hash.as_ref().is_some_and(|hash| hash.starts_with(commit) || commit.starts_with(hash));
        let mut own = self.made.iter().rev().filter(|made| made.is_on(root, branch));
        let made = match back {
            Some(back) => own.nth(back),
            None => own.find(is_named),
        };
        self.gone.extend(made.map(|made| made.place));
    }

    /// Notes a push of these branches, or of the current one; `None` if it is unknown of which.
    pub(super) fn push_named(&mut self, root: &str, names: Option<&[String]>, is_sent: bool) {
        let current = self.trees.get(root).and_then(|tree| tree.branch.clone());
        let is_own = |name: &String| matches!(name.as_str(), "HEAD" | "@") || current.as_ref() == Some(name);
        let Some(names) = names.filter(|names| current.is_some() || names.iter().all(is_own)) else {
            return self.forget(root);
        };
        if names.is_empty() || names.iter().any(is_own) {
            if is_sent { self.push(root) } else { self.forget(root) }
        }
        for name in names.iter().filter(|name| !is_own(name)) {
            let Some(unpushed) = self.tree(root).and_then(|tree| tree.branches.get_mut(name)) else { continue };
            *unpushed = Unpushed { known: is_sent.then_some(0), is_inexact: !is_sent, ..Unpushed::default() };
            if is_sent {
                self.note_pushed(root, Some(name));
            }
        }
    }

    pub(super) fn note_pushed(&mut self, root: &str, branch: Option<&str>) {
        self.made.iter_mut().filter(|made| made.is_on(root, branch)).for_each(|made| made.is_pushed = true);
        self.pushed |= self.made.last().is_some_and(|made| made.is_pushed);
    }

    /// Notes that everything was pushed.
    pub(super) fn push(&mut self, root: &str) {
        if let Some(tree) = self.tree(root) {
            *tree.unpushed() = Unpushed { known: Some(0), ..Unpushed::default() };
            tree.pushes = true;
            let branch = tree.branch.clone();
            self.note_pushed(root, branch.as_deref());
        }
    }

    /// Notes that it is unknown what was not pushed.
    pub(super) fn forget(&mut self, root: &str) {
        if let Some(tree) = self.tree(root) {
            *tree.unpushed() = Unpushed { is_inexact: true, ..Unpushed::default() };
        }
    }
}
