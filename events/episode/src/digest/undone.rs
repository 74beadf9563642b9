//! Work that the session took back: edits that a later one reverses, and files that are as they were before.
//!
//! Edit texts are truncated, so unseen parts count as unchanged.

use std::collections::{BTreeMap, BTreeSet};

use super::command::{GitAct, Paths, git_steps};
use super::file::{self, Scripts};
use super::sentence::clauses;
use super::timeline::{Deed, Round, Timeline, Undone};
use crate::lexicon::{Sign, Signs};
use baton_conversation::item::Edit;

/// Number of earlier edits of a file with which one is compared.
const MAX_COMPARED: usize = 200;
/// Maximum number of names that the command lines of a session restore.
const MAX_RESTORED: usize = 200;
/// Maximum number of times that a person says so.
const MAX_REVERTS: usize = 20;
/// This many equal lines occur at only one position of a file.
const RARE_LINES: usize = 3;
/// Words with which a person says that they took back all of it.
const ALL: [&str; 14] = [
    "i",
    "i've",
    "have",
    "just",
    "reverted",
    "your",
    "all",
    "the",
    "changes",
    "edits",
    "everything",
    "it",
    "that",
    "them",
];

impl Undone {
    /// Returns what was taken back in a session.
    pub(super) fn read(timeline: &Timeline<'_>) -> Self {
        let mut standing: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        let mut taken: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        let mut unsure: BTreeSet<&str> = BTreeSet::new();
        let (mut committed, mut left) = (0, MAX_RESTORED);
        let mut undone = Self::default();
        let deeds = &timeline.deeds;
        let mut reverts = persons_reverts(timeline).take(MAX_REVERTS).peekable();
        for (index, deed) in deeds.iter().enumerate().filter(|(_, deed)| deed.succeeded()) {
            while reverts.next_if(|place| *place < deed.began).is_some() {
                for (path, edits) in &mut standing {
                    let since = edits.split_off(edits.partition_point(|at| *at < committed));
                    if let Some(first) = since.first() {
                        taken.insert(path, (*first, index));
                    }
                    undone.edits.extend(since);
                }
            }
            if let Some(edit) = deed.effect() {
                let path = timeline.relative_path(&edit.path);
                let before = standing.entry(path).or_default();
                let last = before.len().saturating_sub(MAX_COMPARED)..before.len();
                // The text that an edit replaced is back.
                let is_back = |at: &usize| deeds[*at].effect().is_some_and(|it| replaces_again(edit, it));
                if let Some(at) = last.clone().find(|at| is_back(&before[*at])) {
                    undone.edits.insert(before.remove(at));
                }
                let last = before.len().saturating_sub(MAX_COMPARED)..before.len();
                let is_reversed = |at: &usize| deeds[before[*at]].effect().is_some_and(|it| reverses(edit, it));
                match last.rev().find(is_reversed) {
                    Some(at) => {
                        let first = before.remove(at);
                        undone.edits.extend([first, index]);
                        let known = taken.entry(path).or_insert((first, index));
                        *known = (known.0.min(first), index);
                    }
                    None => before.push(index),
                }
                continue;
            }
            if deed.commits() {
                committed = index;
            }
            let restored = restored(timeline, deed, left);
            left -= restored.len();
            let is_restored = |path: &str| {
                let below = |name: &str| path.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'));
                restored.iter().any(|name| name == "." || path == name || below(name))
            };
            let written: Vec<_> =
                file::written_files(deed).iter().map(|(path, ..)| timeline.relative_path(path)).collect();
            let known = standing.keys().copied().filter(|path| is_restored(path));
            let known: Vec<_> = if restored.is_empty() { Vec::new() } else { known.collect() };
            for path in written.into_iter().chain(known).collect::<BTreeSet<_>>() {
                // A restored file is as in the last commit.
                let edits = standing.get_mut(path).filter(|_| is_restored(path));
                let since = edits.map(|edits| edits.split_off(edits.partition_point(|at| *at < committed)));
                let since = since.unwrap_or_default();
                match since.first() {
                    Some(first) => _ = taken.insert(path, (*first, index)),
                    None => _ = unsure.insert(path),
                }
                undone.edits.extend(since);
            }
        }
        let scripts = Scripts::read(timeline);
        for (path, (first, last)) in taken {
            if standing.get(path).is_some_and(|edits| !edits.is_empty())
                || unsure.contains(path)
                || scripts.may_write(path)
            {
                continue;
            }
            undone.files.insert(path.to_owned());
            let (began, ended) = (deeds[first].began, deeds[last].began);
            let speaks = |round: &Round<'_>| round.prompt.is_some_and(|said| (began..ended).contains(&said.place));
            if timeline.rounds.iter().any(speaks) {
                undone.names.extend(names_of(path).map(|name| (name, ended)));
            }
        }
        undone
    }

    /// Returns the place where a file that a text at `place` names was put back, after a person had spoken.
    pub(super) fn place_of_named(&self, text: &str, place: usize) -> Option<usize> {
        if self.names.is_empty() || Signs::read(text).has(Sign::Keep) {
            return None;
        }
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
        let words = text.split(|c: char| !is_part(c)).filter_map(|word| word.trim_end_matches('.').rsplit('/').next());
        words.filter_map(|word| self.names.get(word)).copied().find(|undone| place < *undone)
    }
}

/// Returns true if an edit undoes another of the same file.
fn reverses(edit: &Edit, before: &Edit) -> bool {
    let says = !edit.old_text.is_empty() || !edit.new_text.is_empty();
    let is_swapped = (edit.added, edit.removed) == (before.removed, before.added);
    says && is_swapped && edit.old_text == before.new_text && edit.new_text == before.old_text
}

/// Returns true if an edit finds again the lines that another put something else in the place of: they were put back.
/// Fewer lines may stand at two places.
fn replaces_again(edit: &Edit, before: &Edit) -> bool {
    let old = &edit.old_text;
    *old == before.old_text
        && old.lines().count() >= RARE_LINES
        && !old.ends_with('…')
        && !before.new_text.contains(old.as_str())
}

/// Returns the places of prompts in which a person says that they took back what was done, all of it.
fn persons_reverts(timeline: &Timeline<'_>) -> impl Iterator<Item = usize> {
    let says_so = |part: &str| Signs::read(part).has(Sign::Revert) && Signs::read(part).begins(Sign::Speaker);
    let prompts = timeline.rounds.iter().filter_map(|round| round.prompt).filter(move |said| {
        let first = clauses(said.text).next().unwrap_or_default();
        let is_all = |word: &str| ALL.contains(&&*word.to_lowercase());
        parts(first).any(|part| says_so(part) && part.split_whitespace().all(is_all))
    });
    prompts.map(|said| said.place)
}

/// Returns the parts of a clause that say one thing each.
pub(super) fn parts(clause: &str) -> impl Iterator<Item = &str> {
    clause.split([',', ';', ':', '—']).flat_map(|part| part.split(" - ")).map(str::trim)
}

/// Returns the files and directories whose changes a command line takes back, relative to the session's directory, `most`
/// at most.
fn restored(timeline: &Timeline<'_>, deed: &Deed<'_>, most: usize) -> Vec<String> {
    let line = deed.git_line().filter(|_| deed.cwd == timeline.cwd).unwrap_or_default();
    // Another commit's state of a file is a change.
    let is_other = line.contains("--source") || line.contains(" -- ") && !line.contains("checkout -- ");
    let steps = if line.contains("git") && !is_other { git_steps(line) } else { Vec::new() };
    let here = steps.into_iter().filter(|step| step.is_proven && step.directory.as_deref() == Some(""));
    let named = here.filter_map(|step| match step.act {
        GitAct::Restore(Paths::Named(paths)) => Some(paths),
        _ => None,
    });
    let named = named.flatten().take(most);
    named.map(|path| timeline.relative_path(path.trim_end_matches('/')).to_owned()).collect()
}

/// Returns the names by which a text may call a file: its name, and that without the ending if it looks like a name alone.
fn names_of(path: &str) -> impl Iterator<Item = String> {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let stem = name.split('.').next().unwrap_or(name);
    let is_telling = stem.chars().skip(1).any(|c| c.is_uppercase() || matches!(c, '_' | '-'));
    [name].into_iter().chain(Some(stem).filter(|_| is_telling)).map(str::to_owned)
}
