//! The files of work trees that differ from the last commit.

use std::collections::{BTreeMap, BTreeSet};

use super::place::{absolute, rest_below};
use crate::digest::command::Paths;
use baton_conversation::item::ListedFiles;
use baton_conversation::record::Timestamp;

/// Number of changed files that are followed.
const MAX_CHANGED: usize = 400;
/// Number of changes that were put away.
const MAX_STASHED: usize = 8;

/// Changed files by absolute path.
#[derive(Default)]
pub(super) struct Changes {
    files: BTreeMap<String, Changed>,
    staged: BTreeMap<String, Staged>,
    /// Changes that were put away, with the root of their tree.
    stashed: Vec<(String, BTreeMap<String, Changed>)>,
    /// By tree, the number of changed files that the last status left out and that are not known otherwise.
    hidden: BTreeMap<String, usize>,
    /// Edited files that no commit of the session took and that the last complete status does not list, with its place.
    unlisted: BTreeMap<String, (u64, Option<Timestamp>)>,
}

/// A file that differs from the last commit.
#[derive(Clone, Default)]
pub(super) struct Changed {
    /// Root of its tree.
    pub(super) root: String,
    /// Place, line and time of the last edit in the session.
    pub(super) edited: Option<(usize, u64, Option<Timestamp>)>,
    /// Line and time of the last status that lists it.
    pub(super) listed: Option<(u64, Option<Timestamp>)>,
    is_untracked: bool,
    /// True if the last status, which left files out, counts it among these.
    is_hidden: bool,
}

impl Changed {
    /// Returns true if git is known to know the file.
    pub(super) fn is_tracked(&self) -> bool {
        self.listed.is_some() && !self.is_untracked
    }
}

/// A file that the next commit takes.
struct Staged {
    /// Root of its tree.
    root: String,
    /// False if it is unknown whether the line that stages it got that far.
    is_sure: bool,
}

impl Changes {
    /// Returns the changed files.
    pub(super) fn files(&self) -> impl Iterator<Item = (&String, &Changed)> {
        self.files.iter()
    }

    /// Returns the edited files that a complete status did not list, with the line and time of it.
    pub(super) fn unlisted(&self) -> impl Iterator<Item = (&String, &(u64, Option<Timestamp>))> {
        self.unlisted.iter()
    }

    /// Returns the number of changed files whose names are not known.
    pub(super) fn hidden(&self) -> usize {
        self.hidden.values().sum()
    }

    /// Returns the files that were certainly staged.
    pub(super) fn surely_staged(&self) -> Vec<String> {
        self.staged.iter().filter(|(_, staged)| staged.is_sure).map(|(path, _)| path.clone()).collect()
    }

    /// Returns the files of a tree that were certainly staged and that the session did not edit.
    pub(super) fn staged_alone(&self, root: &str) -> impl Iterator<Item = &str> {
        let is_edited = |path: &str| self.files.get(path).is_some_and(|changed| changed.edited.is_some());
        let own = self.staged.iter().filter(move |(_, staged)| staged.root == root && staged.is_sure);
        own.map(|(path, _)| path.as_str()).filter(move |path| is_file(path) && !is_edited(path))
    }

    /// Returns true if a file is not known as changed.
    pub(super) fn is_clean(&self, path: &str) -> bool {
        !self.files.contains_key(path)
    }

    /// Notes that a tree has files that are known now, or no others if their number is unknown.
    fn reveal(&mut self, root: &str, count: Option<usize>) {
        match (self.hidden.get_mut(root), count) {
            (Some(hidden), Some(count)) => *hidden = hidden.saturating_sub(count),
            _ => _ = self.hidden.remove(root),
        }
    }

    /// Finds the root of each file again, as another tree became known.
    pub(super) fn settle(&mut self, root: impl Fn(&str) -> String) {
        self.files.iter_mut().for_each(|(path, changed)| changed.root = root(path));
        self.staged.iter_mut().for_each(|(path, staged)| staged.root = root(path));
    }

    pub(super) fn edit(&mut self, path: String, root: &str, edited: (usize, u64, Option<Timestamp>)) {
        self.staged.remove(&path);
        self.unlisted.remove(&path);
        if let Some(changed) = self.change(&path, root) {
            changed.edited = Some(edited);
        }
    }

    fn change(&mut self, path: &str, root: &str) -> Option<&mut Changed> {
        if !self.files.contains_key(path) {
            if self.files.len() >= MAX_CHANGED {
                return None;
            }
            self.files.insert(path.to_owned(), Changed { root: root.to_owned(), ..Changed::default() });
        }
        self.files.get_mut(path)
    }

    /// Forgets a file or what lies below a directory.
    pub(super) fn remove_below(&mut self, directory: &str) {
        self.files.retain(|path, _| rest_below(directory, path).is_none());
    }

    pub(super) fn stage(&mut self, root: &str, directory: &str, paths: &Paths, is_sure: bool) {
        if matches!(paths, Paths::All) {
            self.reveal(root, None);
        }
        let mut staged = self.below(root, directory, paths);
        if let Paths::Named(named) = paths {
            // The file may not be known as changed.
            let room = MAX_CHANGED.saturating_sub(self.staged.len() + staged.len());
            staged.extend(named.iter().map(|path| absolute(directory, path)).take(room));
        }
        for path in staged {
            let staged = self.staged.entry(path).or_insert_with(|| Staged { root: root.to_owned(), is_sure });
            staged.is_sure |= is_sure;
        }
    }

    pub(super) fn unstage(&mut self, root: &str, directory: &str, paths: &Paths) {
        for path in self.below(root, directory, paths) {
            self.staged.remove(&path);
        }
    }

    /// Takes back the changes of these files.
    pub(super) fn restore(&mut self, root: &str, directory: &str, paths: &Paths) {
        self.reveal(root, None);
        for path in self.below(root, directory, paths) {
            self.files.remove(&path);
        }
    }

    pub(super) fn put_away(&mut self, root: &str) {
        self.reveal(root, None);
        let paths = self.below(root, root, &Paths::All);
        let away = paths.into_iter().filter_map(|path| self.files.remove_entry(&path)).collect();
        if self.stashed.len() >= MAX_STASHED {
            self.stashed.remove(0);
        }
        self.stashed.push((root.to_owned(), away));
    }

    pub(super) fn bring_back(&mut self, root: &str) {
        if let Some(at) = self.stashed.iter().rposition(|(of, _)| of == root) {
            let room = MAX_CHANGED.saturating_sub(self.files.len());
            self.files.extend(self.stashed.remove(at).1.into_iter().take(room));
        }
    }

    /// Removes what a commit takes: what is staged, and these files. Without a trace of either it may be anything. Returns
    /// the number of files if it is known.
    pub(super) fn take(&mut self, root: &str, directory: &str, also: Option<&Paths>) -> Option<usize> {
        let is_traced = self.staged.values().any(|staged| staged.root == root && staged.is_sure);
        let also = also.or_else(|| (!is_traced).then_some(&Paths::All));
        let mut unsure = BTreeSet::new();
        let mut taken: BTreeSet<String> = also.into_iter().flat_map(|also| self.below(root, directory, also)).collect();
        self.staged.retain(|path, staged| {
            let stays = staged.root != root;
            if !stays {
                taken.insert(path.clone());
                unsure.extend((!staged.is_sure).then(|| path.clone()));
            }
            stays
        });
        let is_known = |path: &&String| self.files.get(*path).is_some_and(|one| one.listed.is_some() || one.is_hidden);
        let revealed = taken.iter().filter(|path| !is_known(path) && !unsure.contains(*path)).count();
        let count = (!matches!(also, Some(Paths::All))).then_some(revealed);
        self.reveal(root, count);
        self.files.retain(|path, _| !taken.contains(path));
        let are_files = count.is_some() && unsure.is_empty() && taken.iter().all(|path| is_file(path));
        are_files.then_some(taken.len())
    }

    /// Forgets the files of a tree that the session did not edit: a commit took more than was staged, perhaps these.
    pub(super) fn forget_others(&mut self, root: &str) {
        self.reveal(root, None);
        self.files.retain(|_, changed| changed.root != root || changed.edited.is_some());
    }

    /// Notes the files that a status lists. Others are as committed, if it lists all.
    pub(super) fn list(
        &mut self,
        listed: (u64, Option<Timestamp>),
        root: &str,
        directory: &str,
        files: &ListedFiles,
        is_whole: bool,
    ) {
        let lists = |paths: &[String]| paths.iter().map(|path| absolute(directory, path)).collect::<BTreeSet<_>>();
        let (staged, unstaged, untracked) = (lists(&files.staged), lists(&files.unstaged), lists(&files.untracked));
        let is_new = |path: &str| path.match_indices('/').any(|(end, _)| untracked.contains(&path[..end]));
        if files.missing == 0 {
            self.reveal(root, None);
        } else {
            let mut known = 0;
            for (path, changed) in &mut self.files {
                let own = changed.root == root && changed.edited.is_some();
                changed.is_hidden = own && !staged.contains(path) && !unstaged.contains(path);
                known += usize::from(changed.is_hidden);
            }
            self.hidden.insert(root.to_owned(), (files.missing as usize).saturating_sub(known));
        }
        if is_whole {
            let is_listed = |path: &String| [&staged, &unstaged, &untracked].iter().any(|list| list.contains(path));
            let stays = |path: &String, changed: &Changed| {
                changed.root != root
                    || files.untracked_is_cut && !changed.is_tracked()
                    || is_listed(path)
                    || is_new(path)
            };
            let gone: Vec<String> = self
                .files
                .iter()
                .filter(|(path, changed)| !stays(path, changed))
                .map(|(path, _)| path.clone())
                .collect();
            self.staged.retain(|path, staged| staged.root != root || is_listed(path) || is_new(path));
            for path in gone {
                if self.files.remove(&path).is_some_and(|changed| changed.edited.is_some()) {
                    self.unlisted.insert(path, listed);
                }
            }
        }
        for path in staged.iter().chain(&unstaged) {
            if let Some(changed) = self.change(path, root) {
                (changed.listed, changed.is_untracked) = (Some(listed), false);
            }
        }
        for (path, changed) in &mut self.files {
            if untracked.contains(path) || is_new(path) {
                (changed.listed, changed.is_untracked) = (Some(listed), true);
            }
        }
        self.staged.retain(|path, _| !unstaged.contains(path));
        let room = MAX_CHANGED.saturating_sub(self.staged.len());
        for path in staged.difference(&unstaged).take(room) {
            self.staged.insert(path.clone(), Staged { root: root.to_owned(), is_sure: true });
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
        let meant = self.files.iter().filter(|(path, changed)| changed.root == root && is_meant(path));
        meant.map(|(path, _)| path.clone()).collect()
    }
}

/// A name without an extension may be a directory.
fn is_file(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.contains('.'))
}
