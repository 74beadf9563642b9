//! Files that were renamed or deleted by commands, patches and tools.

use std::collections::{BTreeMap, BTreeSet};

use super::{Extractor, FactDraft, text};
use crate::builder::Moment;
use crate::program::{FileChange, file_changes};
use crate::{Label, Relation, path};
use baton_conversation::item::{Body, Call, Item, Meta, Outcome};
use baton_episode::digest::Episode;

/// Parameters of tools that move files: source and destination.
const FROM_TO: [(&str, &str); 4] =
    [("source", "destination"), ("old_path", "new_path"), ("from", "to"), ("source_path", "destination_path")];

impl<'a> Extractor<'a> {
    /// Adds the renames of successful calls, and the last deletion of each file that was not written again.
    pub(super) fn moves(&mut self, items: &'a [Item], episode: &Episode) {
        let mut cwd = self.cwd;
        let mut deleted: BTreeMap<String, Moment> = BTreeMap::new();
        for item in items {
            match &item.body {
                Body::Meta(Meta::Cwd(directory)) => cwd = Some(directory),
                Body::Result(result) if result.outcome == Outcome::Ok => {
                    let Some((call, of)) = self.calls.get(&*result.id).copied() else { continue };
                    for change in changes(call, cwd) {
                        match change {
                            FileChange::Renamed(from, to) => self.renamed(&from, &to, of),
                            FileChange::Deleted(path) => drop(deleted.insert(self.file_name(&path), of)),
                        }
                    }
                }
                _ => {}
            }
        }
        let stays: BTreeSet<String> =
            episode.files_modified.iter().filter(|file| !file.deleted).map(|file| self.file_name(&file.path)).collect();
        for (name, of) in deleted.into_iter().filter(|(name, _)| !stays.contains(name)) {
            self.deleted(&name, of);
        }
    }

    fn renamed(&mut self, from: &str, to: &str, of: Moment) {
        let (old, new) = (self.file_name(from), self.file_name(to));
        if old == new {
            return;
        }
        let source = self.builder.mention(Label::File, &old, "", of, 1);
        let target = self.builder.mention(Label::File, &new, "", of, 1);
        if let (Some(source), Some(target)) = (source, target) {
            let (lies, gone) = (self.claim("file", &new, "there"), self.claim("file", &old, "gone"));
            let said = FactDraft::new(Relation::Renamed, source, target).resting_on(lies).settling(gone);
            self.builder.add(said, &format!("{old} was renamed to {new}{}", self.place), of);
        }
    }

    fn deleted(&mut self, name: &str, of: Moment) {
        // Files outside of the project do not matter.
        if path::is_elsewhere(name) {
            return;
        }
        if let Some(uuid) = self.builder.mention(Label::File, name, "", of, 1) {
            let gone = self.claim("file", name, "gone");
            let said = FactDraft::new(Relation::Deleted, self.session, uuid).settling(gone);
            self.builder.add(said, &format!("{} deleted {name}", self.name), of);
        }
    }
}

/// Returns the files that a call renames if it succeeds, as `(from, to)` in its own spelling.
pub fn renames(call: &Call, cwd: Option<&str>) -> Vec<(String, String)> {
    let renamed = |change| match change {
        FileChange::Renamed(from, to) => Some((from, to)),
        FileChange::Deleted(_) => None,
    };
    changes(call, cwd).into_iter().filter_map(renamed).collect()
}

/// Returns what a successful call renamed or deleted.
fn changes(call: &Call, cwd: Option<&str>) -> Vec<FileChange> {
    if let Some(line) = text(call, "command") {
        return file_changes(line, cwd);
    }
    if let (Some(change), Some(path)) = (text(call, "change"), text(call, "path")) {
        return match (change, text(call, "to")) {
            ("move", Some(to)) => vec![FileChange::Renamed(path.to_owned(), to.to_owned())],
            ("delete", _) => vec![FileChange::Deleted(path.to_owned())],
            _ => Vec::new(),
        };
    }
    let name = call.name.to_ascii_lowercase();
    if !(name.contains("move") || name.contains("rename")) {
        return Vec::new();
    }
    let ends = FROM_TO.iter().find_map(|(from, to)| Some((text(call, from)?, text(call, to)?)));
    ends.map(|(from, to)| vec![FileChange::Renamed(from.to_owned(), to.to_owned())]).unwrap_or_default()
}
