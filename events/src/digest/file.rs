//! The files of a session: read and changed, one path one entry.

use std::collections::BTreeMap;

use super::timeline::Timeline;
use super::{FileModified, FileRead, MAX_ENTRIES};

/// Files read, by first reading. A reading that failed read nothing.
pub(super) fn read(timeline: &Timeline<'_>) -> Vec<FileRead> {
    let mut files: Vec<FileRead> = Vec::new();
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for deed in timeline.deeds.iter().filter(|deed| deed.succeeded()) {
        let Some(path) = deed.reading() else { continue };
        match known.get(timeline.shown(path)) {
            Some(&index) => files[index].count = files[index].count.saturating_add(1),
            None => {
                known.insert(timeline.shown(path), files.len());
                files.push(FileRead { path: path.to_owned(), line: deed.line, count: 1 });
            }
        }
    }
    super::keep(&mut files, MAX_ENTRIES, |file| file.count > 1);
    files
}

/// Files changed, by first change. A change that was refused, failed or has no answer changed nothing.
pub(super) fn modified(timeline: &Timeline<'_>) -> Vec<FileModified> {
    let mut files: Vec<FileModified> = Vec::new();
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for deed in timeline.deeds.iter().filter(|deed| deed.succeeded()) {
        let Some((path, added, removed)) = deed.edit() else { continue };
        let index = *known.entry(timeline.shown(path)).or_insert(files.len());
        if index == files.len() {
            files.push(FileModified { path: path.to_owned(), line: deed.line, added: 0, removed: 0 });
        }
        let file = &mut files[index];
        file.added = file.added.saturating_add(added);
        file.removed = file.removed.saturating_add(removed);
    }
    super::keep(&mut files, MAX_ENTRIES, |_| true);
    files
}
