//! The state of each transcript when its session last read it to the end, and which have changed since.
//!
//! # Hazards
//!
//! - For files that this process has not read yet, an unchanged size and inode count as read. From then on the
//!   modification time counts too. For sessions of files with many it always counts, see [`ReadBefore`].
//! - Two subagents with the same short id in one root share a stream: the second file is skipped and named in `status`.
//!   A live transcript may move and leave a stub: the moved file (same inode) is handled before whatever lies at its
//!   old path.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use baton_conversation::item::Agent;
use baton_conversation::record::SessionId;
use baton_conversation::transcript;
use baton_events::session::{FileIdentity, Kind, Phase, State as SessionState, Transcript, UnindexedReason};

use super::read_before::ReadBefore;
use super::{Page, Unread};
use baton_base::transcript_file;
use baton_base::transcript_file::{FileSeen, FileStat};
use baton_journal::session_table::TableReader;

pub(super) struct KnownTranscripts {
    table: TableReader,
    /// Transcripts by path, in the state in which a session last read them to the end.
    checked: BTreeMap<Arc<str>, FileStat>,
    /// Transcripts that changed since or were never read, in the state last seen.
    unread: BTreeMap<Arc<str>, Seen>,
    /// The same ordered by modification time: queries ask for the newest, and there may be hundreds of thousands.
    by_time: BTreeSet<ReadOrder>,
    /// The last entry of the last page handed out.
    paged: Option<ReadOrder>,
    /// Files that claim another file's session, by path.
    second: BTreeMap<Arc<str>, FileSeen>,
    /// Transcripts skipped because of the settings; their paths are also in `checked`.
    passed_over: BTreeMap<Arc<str>, PassedOver>,
    read_before: ReadBefore,
}

/// Order of unread transcripts, newest last.
type ReadOrder = (FileStat, Arc<str>);

/// A compact [`FileSeen`] without its path.
struct Seen {
    stat: FileStat,
    identity: FileIdentity,
    agent: Agent,
    /// The session and its kind, unless the file name says both, as it usually does.
    named: Option<Box<(SessionId, Kind)>>,
}

impl Seen {
    fn of(file: &FileSeen) -> Self {
        let is_named = file.kind == Kind::Main && stem(&file.path) == Some(file.session.as_str());
        let named = (!is_named).then(|| Box::new((file.session.clone(), file.kind.clone())));
        Self { stat: file.stat, identity: file.identity, agent: file.agent, named }
    }

    fn at(&self, path: &Arc<str>) -> Option<FileSeen> {
        let (session, kind) = match &self.named {
            Some(named) => (**named).clone(),
            None => (SessionId::new(stem(path)?)?, Kind::Main),
        };
        let Self { stat, identity, agent, .. } = *self;
        Some(FileSeen { session, agent, kind, path: path.clone(), stat, identity })
    }
}

fn stem(path: &str) -> Option<&str> {
    path.rsplit(['/', '\\']).next()?.strip_suffix(".jsonl")
}

/// How long a skipped transcript need not be looked at again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// Until the file changes.
    Change,
    /// Until the settings change: it is known where the session works, however the file grows.
    OtherSettings,
}

struct PassedOver {
    until: Until,
    identity: FileIdentity,
    size: u64,
}

impl PassedOver {
    /// True if the file is still to be skipped: it is the same file and has only grown.
    fn covers(&self, file: &FileSeen) -> bool {
        self.until == Until::OtherSettings && self.identity == file.identity && self.size <= file.stat.size
    }
}

impl KnownTranscripts {
    pub(super) fn new(table: TableReader, read_before: ReadBefore) -> Self {
        Self {
            table,
            checked: BTreeMap::new(),
            unread: BTreeMap::new(),
            by_time: BTreeSet::new(),
            paged: None,
            second: BTreeMap::new(),
            passed_over: BTreeMap::new(),
            read_before,
        }
    }

    /// Records that a session has read the file to its end in this state.
    pub(super) fn checked(&mut self, file: FileSeen) {
        self.second.remove(&file.path);
        self.passed_over.remove(&file.path);
        let table = self.table.now();
        self.read_before.keep(table.get(&file.session).map(|row| &row.state), &file);
        self.keep(file);
    }

    /// What the next process needs to know of what was read, if it has changed.
    pub(super) fn take_unsaved(&mut self) -> Option<Vec<u8>> {
        self.read_before.take_unsaved()
    }

    /// Records a file that claims a session that is read from another file. No session reads it.
    pub(super) fn second(&mut self, file: FileSeen) {
        self.second.insert(file.path.clone(), file.clone());
        self.keep(file);
    }

    /// Records a file that was skipped because of the settings.
    pub(super) fn passed_over(&mut self, file: FileSeen, until: Until) {
        let passed_over = PassedOver { until, identity: file.identity, size: file.stat.size };
        self.passed_over.insert(file.path.clone(), passed_over);
        self.keep(file);
    }

    /// Makes skipped files unread again after a change of the settings.
    pub(super) fn reconsider(&mut self) {
        for path in std::mem::take(&mut self.passed_over).keys() {
            self.checked.remove(path);
        }
    }

    fn keep(&mut self, file: FileSeen) {
        // Keep it unread if a newer state has been seen since.
        if self.unread.get(&file.path).is_some_and(|unread| unread.stat <= file.stat) {
            self.take_out(&file.path);
        }
        self.checked.insert(file.path, file.stat);
    }

    fn take_out(&mut self, path: &str) {
        if let Some((path, seen)) = self.unread.remove_entry(path) {
            self.by_time.remove(&(seen.stat, path));
        }
    }

    fn put_in(&mut self, file: &FileSeen) {
        self.take_out(&file.path);
        self.by_time.insert((file.stat, file.path.clone()));
        self.unread.insert(file.path.clone(), Seen::of(file));
    }

    /// Replaces all transcripts by these, except those below the folders in `but`, whose state is unknown.
    pub(super) fn replace(&mut self, files: Vec<FileSeen>, but: &[PathBuf]) {
        let present: BTreeSet<&str> = files.iter().map(|file| &*file.path).collect();
        let stays = |path: &str| present.contains(path) || but.iter().any(|folder| Path::new(path).starts_with(folder));
        self.checked.retain(|path, _| stays(path));
        self.second.retain(|path, _| stays(path));
        self.passed_over.retain(|path, _| stays(path));
        self.read_before.retain(stays);
        let gone: Vec<Arc<str>> = self.unread.keys().filter(|path| !stays(path)).cloned().collect();
        gone.iter().for_each(|path| self.take_out(path));
        for file in files {
            self.see(file);
        }
    }

    /// Replaces all transcripts below a folder by these. Returns the unread ones.
    pub(super) fn replace_below(&mut self, folder: &Path, files: Vec<FileSeen>) -> Vec<FileSeen> {
        let present: BTreeSet<Arc<str>> = files.iter().map(|file| file.path.clone()).collect();
        let is_gone = |path: &str| !present.contains(path) && Path::new(path).starts_with(folder);
        // Paths below the folder, and some of its siblings, start with its name and are contiguous in the map.
        let first = transcript_file::path_text(folder).unwrap_or_default();
        let checked = self.checked.range::<str, _>((Included(first.as_str()), Unbounded)).map(|(path, _)| path);
        let unread = self.unread.range::<str, _>((Included(first.as_str()), Unbounded)).map(|(path, _)| path);
        let named = checked.take_while(|path| path.starts_with(&first));
        let named = named.chain(unread.take_while(|path| path.starts_with(&first)));
        let gone: Vec<Arc<str>> = named.filter(|path| is_gone(path)).cloned().collect();
        gone.iter().for_each(|path| self.forget(path));
        files.into_iter().filter_map(|file| self.see(file)).collect()
    }

    /// Updates one path after a look at it. Returns its file if unread.
    pub(super) fn note(&mut self, path: &Path, file: Option<FileSeen>) -> Option<FileSeen> {
        if file.is_none()
            && let Some(path) = transcript_file::path_text(path)
        {
            self.forget(&path);
        }
        self.see(file?)
    }

    fn forget(&mut self, path: &str) {
        self.checked.remove(path);
        self.take_out(path);
        self.second.remove(path);
        self.passed_over.remove(path);
        self.read_before.forget(path);
    }

    /// Updates the state of a file. Returns it if unread.
    fn see(&mut self, file: FileSeen) -> Option<FileSeen> {
        let is_passed_over = self.passed_over.get(&file.path).is_some_and(|passed_over| passed_over.covers(&file));
        let is_read = match self.checked.get(&file.path) {
            Some(stat) => *stat == file.stat || is_passed_over,
            None => self.is_read_before(&file),
        };
        if is_read {
            self.take_out(&file.path);
            self.checked.insert(file.path, file.stat);
            None
        } else {
            let is_known = |seen: &Seen| seen.stat == file.stat && seen.identity == file.identity;
            if !self.unread.get(&file.path).is_some_and(is_known) {
                self.put_in(&file);
            }
            Some(file)
        }
    }

    /// True if the session had read this file to its current end before this process saw it.
    fn is_read_before(&mut self, file: &FileSeen) -> bool {
        let table = self.table.now();
        let state = table.get(&file.session).map(|row| &row.state).filter(|state| self.is_read(state, file));
        if state.is_some() {
            self.read_before.keep(state, file);
        }
        state.is_some()
    }

    fn is_read(&self, state: &SessionState, file: &FileSeen) -> bool {
        // The size of a session in a file with many is none.
        match transcript::store_file(file.agent, &file.path) {
            Some(_) => self.read_before.has(state, file),
            None => is_read(state, file),
        }
    }

    /// Sorts files that were moved since they were read to the front, so that what lies at their old path is not taken
    /// for them.
    pub(super) fn moved_first(&self, files: &mut [FileSeen]) {
        let table = self.table.now();
        let is_moved = |file: &FileSeen| {
            let known = table.get(&file.session).and_then(|row| row.state.transcript.as_ref());
            let is_same = |known: &Transcript| known.identity == file.identity && *known.path != *file.path;
            file.identity != FileIdentity::default() && known.is_some_and(is_same)
        };
        files.sort_by_cached_key(|file| !is_moved(file));
    }

    /// Returns the newest unread files, moved ones first, and the number of further ones.
    pub(super) fn unread(&mut self, most: usize) -> Unread {
        let mut files = self.newest(None, most);
        self.moved_first(&mut files);
        let beyond = (self.unread.len() - files.len()) as u64;
        Unread { files, beyond, hung: Vec::new() }
    }

    /// Returns the first page of unread files, newest first.
    pub(super) fn first_page(&mut self, most: usize) -> Page {
        self.paged = None;
        self.next_page(most)
    }

    /// Returns the page after the last one. A file that changes after its position was passed is reported separately.
    pub(super) fn next_page(&mut self, most: usize) -> Page {
        let mut files = self.newest(self.paged.clone(), most);
        self.paged = files.last().map(|file| (file.stat, file.path.clone()));
        let rest = self.paged.iter().flat_map(|last| self.by_time.range(..last));
        let (beyond, bytes) = rest.fold((0, 0), |(files, bytes), (stat, _)| (files + 1, bytes + stat.size));
        self.moved_first(&mut files);
        Page { files, beyond, bytes }
    }

    /// Returns the newest unread files, or those older than `behind`.
    fn newest(&mut self, behind: Option<ReadOrder>, most: usize) -> Vec<FileSeen> {
        // Some may have been read meanwhile without a report.
        let table = self.table.now();
        let (mut files, mut read) = (Vec::new(), Vec::new());
        for (_, path) in self.by_time.range((Unbounded, behind.map_or(Unbounded, Excluded))).rev() {
            if files.len() >= most {
                break;
            }
            let Some(file) = self.unread.get(path).and_then(|seen| seen.at(path)) else { continue };
            let row = table.get(&file.session).filter(|_| !self.checked.contains_key(path));
            match row.is_some_and(|row| self.is_read(&row.state, &file)) {
                true => read.push(file),
                false => files.push(file),
            }
        }
        read.into_iter().for_each(|file| self.keep(file));
        files
    }

    /// Number of transcripts.
    pub(super) fn count(&self) -> u64 {
        let beside = self.unread.keys().filter(|path| !self.checked.contains_key(&***path)).count();
        (self.checked.len() + beside) as u64
    }

    /// Files that claim another file's session, by path.
    pub(super) fn second_files(&self) -> Vec<FileSeen> {
        self.second.values().cloned().collect()
    }
}

/// True if the session has read this file to its current end, judging by size and identity. Used only for files whose
/// read this process has not seen.
fn is_read(state: &SessionState, file: &FileSeen) -> bool {
    // A session whose file was gone had not read it, whatever the size says.
    state.phase != Phase::Unindexed(UnindexedReason::Gone)
        && state.transcript.as_ref().is_some_and(|known| {
            *known.path == *file.path && known.identity == file.identity && state.read.offset == file.stat.size
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_journal::session_table::TableFold;

    fn file(path: &str, modified_ns: i64) -> FileSeen {
        let stem = Path::new(path).file_stem().unwrap().to_str().unwrap();
        FileSeen {
            session: SessionId::new(stem).unwrap(),
            agent: Agent::ClaudeCode,
            kind: Kind::Main,
            path: path.into(),
            stat: FileStat { modified_ns, size: 1 },
            identity: FileIdentity::default(),
        }
    }

    fn paths(known: &mut KnownTranscripts) -> Vec<String> {
        known.unread(usize::MAX).files.into_iter().map(|file| file.path.to_string()).collect()
    }

    #[test]
    fn what_was_read_is_unread_when_it_changes_and_forgotten_when_it_goes() {
        let mut known = KnownTranscripts::new(TableFold::new().1, ReadBefore::default());
        known.replace(vec![file("/p/a/1.jsonl", 1), file("/p/b/2.jsonl", 2), file("/p/a-b/3.jsonl", 3)], &[]);
        assert_eq!(paths(&mut known), ["/p/a-b/3.jsonl", "/p/b/2.jsonl", "/p/a/1.jsonl"]);
        for read in ["/p/a/1.jsonl", "/p/b/2.jsonl", "/p/a-b/3.jsonl"] {
            known.checked(file(read, 3));
        }
        known.replace(vec![file("/p/a/1.jsonl", 3), file("/p/b/2.jsonl", 3), file("/p/a-b/3.jsonl", 3)], &[]);
        assert_eq!((paths(&mut known).len(), known.count()), (0, 3));

        // The file changed while it was being read.
        known.note(Path::new("/p/a/1.jsonl"), Some(file("/p/a/1.jsonl", 5)));
        known.checked(file("/p/a/1.jsonl", 4));
        assert_eq!(paths(&mut known), ["/p/a/1.jsonl"]);
        known.checked(file("/p/a/1.jsonl", 5));
        assert!(paths(&mut known).is_empty());

        // One file of a folder is gone and one is new; the sibling folder with a longer name is left alone.
        known.replace_below(Path::new("/p/a"), vec![file("/p/a/4.jsonl", 6)]);
        assert_eq!((paths(&mut known), known.count()), (vec!["/p/a/4.jsonl".to_owned()], 3));
        known.replace_below(Path::new("/p/a"), Vec::new());
        assert_eq!((paths(&mut known).len(), known.count()), (0, 2));
        known.note(Path::new("/p/b/2.jsonl"), None);
        assert_eq!(known.count(), 1);
        known.second(file("/p/a-b/3.jsonl", 9));
        assert_eq!(known.second_files(), [file("/p/a-b/3.jsonl", 9)]);
    }

    #[test]
    fn the_newest_are_told_and_the_others_counted_and_what_hangs_is_not_forgotten() {
        let mut known = KnownTranscripts::new(TableFold::new().1, ReadBefore::default());
        known.replace((0..50).map(|at| file(&format!("/p/a/{at}.jsonl"), at)).collect(), &[]);
        let told = |known: &mut KnownTranscripts, most| {
            let Unread { files, beyond, .. } = known.unread(most);
            (files.into_iter().map(|file| file.stat.modified_ns).collect::<Vec<_>>(), beyond)
        };
        assert_eq!(told(&mut known, 3), (vec![49, 48, 47], 47));
        known.checked(file("/p/a/48.jsonl", 48));
        known.note(Path::new("/p/a/7.jsonl"), Some(file("/p/a/7.jsonl", 90)));
        known.note(Path::new("/p/a/49.jsonl"), None);
        assert_eq!(told(&mut known, 2), (vec![90, 47], 46));
        known.replace(Vec::new(), &["/p/a".into()]);
        assert_eq!(told(&mut known, 1), (vec![90], 47));
        known.replace(Vec::new(), &["/p/b".into()]);
        assert_eq!((told(&mut known, 1), known.by_time.len()), ((vec![], 0), 0));
    }

    #[test]
    fn pages_go_from_the_newest_to_the_oldest_and_say_what_is_behind_them() {
        let mut known = KnownTranscripts::new(TableFold::new().1, ReadBefore::default());
        known.replace((0..5).map(|at| file(&format!("/p/a/{at}.jsonl"), at)).collect(), &[]);
        let told = |page: Page| {
            let at: Vec<i64> = page.files.into_iter().map(|file| file.stat.modified_ns).collect();
            (at, page.beyond, page.bytes)
        };
        assert_eq!(told(known.first_page(2)), (vec![4, 3], 3, 3));
        known.note(Path::new("/p/a/1.jsonl"), Some(file("/p/a/1.jsonl", 9)));
        assert_eq!(told(known.next_page(1)), (vec![2], 1, 1));
        known.checked(file("/p/a/4.jsonl", 4));
        assert_eq!(told(known.next_page(2)), (vec![0], 0, 0));
        assert_eq!(told(known.next_page(2)), (vec![], 0, 0));
        assert_eq!(told(known.first_page(2)), (vec![9, 3], 2, 2));
    }

    #[test]
    fn what_is_passed_over_for_its_project_is_not_looked_at_again_because_it_grows() {
        let at = |modified_ns, size, inode| {
            let mut file = file("/p/a/1.jsonl", modified_ns);
            (file.stat.size, file.identity.inode) = (size, inode);
            file
        };
        let see = |known: &mut KnownTranscripts, file| known.note(Path::new("/p/a/1.jsonl"), Some(file)).is_some();
        for (until, file, expected) in [
            (Until::OtherSettings, at(2, 20, 1), false),
            (Until::Change, at(2, 20, 1), true),
            (Until::OtherSettings, at(2, 5, 1), true),
            (Until::OtherSettings, at(2, 20, 2), true),
        ] {
            let mut known = KnownTranscripts::new(TableFold::new().1, ReadBefore::default());
            known.passed_over(at(1, 10, 1), until);
            assert_eq!(see(&mut known, file.clone()), expected, "{until:?} {file:?}");
            known.reconsider();
            assert!(see(&mut known, file), "the settings are others");
        }
        let mut known = KnownTranscripts::new(TableFold::new().1, ReadBefore::default());
        known.passed_over(at(1, 10, 1), Until::OtherSettings);
        known.checked(at(1, 10, 1));
        assert!(see(&mut known, at(2, 20, 1)), "it was read after all, because somebody forced it");
    }
}
