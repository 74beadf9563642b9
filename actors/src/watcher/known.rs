//! What is known of each transcript: how it was when its session had read it to the end, and which have changed since.
//!
//! # Hazards
//!
//! - `stat` is believed for files that this process has not read yet: same size and inode as recorded counts as
//!   read. From then on the time of change counts too.
//! - Two subagents with the same short id in one root share a stream: the second file is passed over and named
//!   in `status`. A live transcript may move and leave a stub: what moved (same inode) comes before what lies
//!   in its place.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use baton_conversation::item::Agent;
use baton_conversation::record::SessionId;
use baton_events::session::{FileIdentity, Kind, Phase, State as SessionState, Transcript, UnindexedReason};

use super::{Page, Unread};
use baton_base::transcript_file;
use baton_base::transcript_file::{FileSeen, FileStat};
use baton_journal::session_table::TableReader;

pub(super) struct Known {
    table: TableReader,
    /// Each transcript by path, as it was when a session had last read it to its end.
    checked: BTreeMap<Arc<str>, FileStat>,
    /// Transcripts that are not as they were then, or that nobody has read, as they were last seen.
    unread: BTreeMap<Arc<str>, Seen>,
    /// The same by their time of change: a query asks for the newest, and there may be hundreds of thousands.
    by_time: BTreeSet<Place>,
    /// The last one of the last page that was given.
    paged: Option<Place>,
    /// Files that claim another file's session, as they were when that was found out.
    second: BTreeMap<Arc<str>, FileStat>,
    /// Transcripts that were not read because of the settings, by path, as they were then; checked as well.
    passed_over: BTreeMap<Arc<str>, PassedOver>,
}

/// Where a transcript stands among those that are unread: the newest last.
type Place = (FileStat, Arc<str>);

/// A file as it was seen, but for its path, in little room.
struct Seen {
    stat: FileStat,
    identity: FileIdentity,
    agent: Agent,
    /// Its session and what that is, where the path does not say so: mostly it is the file's name.
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

/// Until when a transcript need not be looked at again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// Until it changes.
    Change,
    /// Until the settings do: however it grows, it is known where its session works.
    OtherSettings,
}

struct PassedOver {
    until: Until,
    identity: FileIdentity,
    size: u64,
}

impl PassedOver {
    /// Whether the file, as it is now, is passed over still: it is the same one, and has only grown.
    fn covers(&self, file: &FileSeen) -> bool {
        self.until == Until::OtherSettings && self.identity == file.identity && self.size <= file.stat.size
    }
}

impl Known {
    pub(super) fn new(table: TableReader) -> Self {
        Self {
            table,
            checked: BTreeMap::new(),
            unread: BTreeMap::new(),
            by_time: BTreeSet::new(),
            paged: None,
            second: BTreeMap::new(),
            passed_over: BTreeMap::new(),
        }
    }

    /// A session has read a file as far as it went when it was seen like this.
    pub(super) fn checked(&mut self, file: FileSeen) {
        self.second.remove(&file.path);
        self.passed_over.remove(&file.path);
        self.keep(file);
    }

    /// A file claims a session that is read from another one: nobody reads it.
    pub(super) fn second(&mut self, file: FileSeen) {
        self.second.insert(file.path.clone(), file.stat);
        self.keep(file);
    }

    /// A file was not read, because the settings say so.
    pub(super) fn passed_over(&mut self, file: FileSeen, until: Until) {
        let passed_over = PassedOver { until, identity: file.identity, size: file.stat.size };
        self.passed_over.insert(file.path.clone(), passed_over);
        self.keep(file);
    }

    /// The settings are others: what was passed over is to be seen anew.
    pub(super) fn reconsider(&mut self) {
        for path in std::mem::take(&mut self.passed_over).keys() {
            self.checked.remove(path);
        }
    }

    fn keep(&mut self, file: FileSeen) {
        // It may have changed since, and been seen.
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

    /// These are all the transcripts there are, but for what lies in these folders, of which nothing is known.
    pub(super) fn replace(&mut self, files: Vec<FileSeen>, but: &[PathBuf]) {
        let present: BTreeSet<&str> = files.iter().map(|file| &*file.path).collect();
        let stays = |path: &str| present.contains(path) || but.iter().any(|folder| Path::new(path).starts_with(folder));
        self.checked.retain(|path, _| stays(path));
        self.second.retain(|path, _| stays(path));
        self.passed_over.retain(|path, _| stays(path));
        let gone: Vec<Arc<str>> = self.unread.keys().filter(|path| !stays(path)).cloned().collect();
        gone.iter().for_each(|path| self.take_out(path));
        for file in files {
            self.see(file);
        }
    }

    /// These are all the transcripts there are below a folder. What of them is unread.
    pub(super) fn replace_below(&mut self, folder: &Path, files: Vec<FileSeen>) -> Vec<FileSeen> {
        let present: BTreeSet<Arc<str>> = files.iter().map(|file| file.path.clone()).collect();
        let is_gone = |path: &str| !present.contains(path) && Path::new(path).starts_with(folder);
        // Paths below a folder begin with its name, and so do those that stand between them in order.
        let first = transcript_file::path_text(folder).unwrap_or_default();
        let checked = self.checked.range::<str, _>((Included(first.as_str()), Unbounded)).map(|(path, _)| path);
        let unread = self.unread.range::<str, _>((Included(first.as_str()), Unbounded)).map(|(path, _)| path);
        let named = checked.take_while(|path| path.starts_with(&first));
        let named = named.chain(unread.take_while(|path| path.starts_with(&first)));
        let gone: Vec<Arc<str>> = named.filter(|path| is_gone(path)).cloned().collect();
        gone.iter().for_each(|path| self.forget(path));
        files.into_iter().filter_map(|file| self.see(file)).collect()
    }

    /// A path was looked at. The file there, if it is unread.
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
    }

    /// The file, if it is unread.
    fn see(&mut self, file: FileSeen) -> Option<FileSeen> {
        let is_passed_over = self.passed_over.get(&file.path).is_some_and(|passed_over| passed_over.covers(&file));
        let is_read = match self.checked.get(&file.path) {
            Some(stat) => *stat == file.stat || is_passed_over,
            None => self.table.now().get(&file.session).is_some_and(|row| is_read(&row.state, &file)),
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

    /// Puts files that were moved since they were read before all others: what was left behind in their old place must not
    /// be taken for what has become of them.
    pub(super) fn moved_first(&self, files: &mut [FileSeen]) {
        let table = self.table.now();
        let is_moved = |file: &FileSeen| {
            let known = table.get(&file.session).and_then(|row| row.state.transcript.as_ref());
            let is_same = |known: &Transcript| known.identity == file.identity && *known.path != *file.path;
            file.identity != FileIdentity::default() && known.is_some_and(is_same)
        };
        files.sort_by_cached_key(|file| !is_moved(file));
    }

    /// The newest of what is unread, and how many more there are; of these what was moved comes first.
    pub(super) fn unread(&mut self, most: usize) -> Unread {
        let mut files = self.newest(None, most);
        self.moved_first(&mut files);
        let beyond = (self.unread.len() - files.len()) as u64;
        Unread { files, beyond, hung: Vec::new() }
    }

    /// The first page of what is unread, newest first.
    pub(super) fn first_page(&mut self, most: usize) -> Page {
        self.paged = None;
        self.next_page(most)
    }

    /// The page behind the last one that was given. One that changes after its place was passed is told of by itself.
    pub(super) fn next_page(&mut self, most: usize) -> Page {
        let mut files = self.newest(self.paged.clone(), most);
        self.paged = files.last().map(|file| (file.stat, file.path.clone()));
        let rest = self.paged.iter().flat_map(|last| self.by_time.range(..last));
        let (beyond, bytes) = rest.fold((0, 0), |(files, bytes), (stat, _)| (files + 1, bytes + stat.size));
        self.moved_first(&mut files);
        Page { files, beyond, bytes }
    }

    /// The newest of what is unread, or of what stands behind one of it.
    fn newest(&mut self, behind: Option<Place>, most: usize) -> Vec<FileSeen> {
        // Some that nobody had read may have been read meanwhile for another reason.
        let table = self.table.now();
        let (mut files, mut read) = (Vec::new(), Vec::new());
        for (_, path) in self.by_time.range((Unbounded, behind.map_or(Unbounded, Excluded))).rev() {
            if files.len() >= most {
                break;
            }
            let Some(file) = self.unread.get(path).and_then(|seen| seen.at(path)) else { continue };
            let row = table.get(&file.session).filter(|_| !self.checked.contains_key(path));
            match row.is_some_and(|row| is_read(&row.state, &file)) {
                true => read.push(file),
                false => files.push(file),
            }
        }
        read.into_iter().for_each(|file| self.keep(file));
        files
    }

    /// How many transcripts there are.
    pub(super) fn count(&self) -> u64 {
        let beside = self.unread.keys().filter(|path| !self.checked.contains_key(&***path)).count();
        (self.checked.len() + beside) as u64
    }

    /// Files that claim another file's session, by path.
    pub(super) fn second_files(&self) -> Vec<String> {
        self.second.keys().map(ToString::to_string).collect()
    }
}

/// Whether the session has read this very file to its present end, as far as size and identity tell. Only asked of
/// files that this process has not seen read.
fn is_read(state: &SessionState, file: &FileSeen) -> bool {
    // One that was gone was not read when it went, whatever its size says.
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

    fn paths(known: &mut Known) -> Vec<String> {
        known.unread(usize::MAX).files.into_iter().map(|file| file.path.to_string()).collect()
    }

    #[test]
    fn what_was_read_is_unread_when_it_changes_and_forgotten_when_it_goes() {
        let mut known = Known::new(TableFold::new().1);
        known.replace(vec![file("/p/a/1.jsonl", 1), file("/p/b/2.jsonl", 2), file("/p/a-b/3.jsonl", 3)], &[]);
        assert_eq!(paths(&mut known), ["/p/a-b/3.jsonl", "/p/b/2.jsonl", "/p/a/1.jsonl"]);
        for read in ["/p/a/1.jsonl", "/p/b/2.jsonl", "/p/a-b/3.jsonl"] {
            known.checked(file(read, 3));
        }
        known.replace(vec![file("/p/a/1.jsonl", 3), file("/p/b/2.jsonl", 3), file("/p/a-b/3.jsonl", 3)], &[]);
        assert_eq!((paths(&mut known).len(), known.count()), (0, 3));

        // It changed while it was being read.
        known.note(Path::new("/p/a/1.jsonl"), Some(file("/p/a/1.jsonl", 5)));
        known.checked(file("/p/a/1.jsonl", 4));
        assert_eq!(paths(&mut known), ["/p/a/1.jsonl"]);
        known.checked(file("/p/a/1.jsonl", 5));
        assert!(paths(&mut known).is_empty());

        // A folder of which one file is gone and one is new; its neighbour with a longer name is left alone.
        known.replace_below(Path::new("/p/a"), vec![file("/p/a/4.jsonl", 6)]);
        assert_eq!((paths(&mut known), known.count()), (vec!["/p/a/4.jsonl".to_owned()], 3));
        known.replace_below(Path::new("/p/a"), Vec::new());
        assert_eq!((paths(&mut known).len(), known.count()), (0, 2));
        known.note(Path::new("/p/b/2.jsonl"), None);
        assert_eq!(known.count(), 1);
        known.second(file("/p/a-b/3.jsonl", 9));
        assert_eq!(known.second_files(), ["/p/a-b/3.jsonl"]);
    }

    #[test]
    fn the_newest_are_told_and_the_others_counted_and_what_hangs_is_not_forgotten() {
        let mut known = Known::new(TableFold::new().1);
        known.replace((0..50).map(|at| file(&format!("/p/a/{at}.jsonl"), at)).collect(), &[]);
        let told = |known: &mut Known, most| {
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
        let mut known = Known::new(TableFold::new().1);
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
        let see = |known: &mut Known, file| known.note(Path::new("/p/a/1.jsonl"), Some(file)).is_some();
        for (until, file, expected) in [
            (Until::OtherSettings, at(2, 20, 1), false),
            (Until::Change, at(2, 20, 1), true),
            (Until::OtherSettings, at(2, 5, 1), true),
            (Until::OtherSettings, at(2, 20, 2), true),
        ] {
            let mut known = Known::new(TableFold::new().1);
            known.passed_over(at(1, 10, 1), until);
            assert_eq!(see(&mut known, file.clone()), expected, "{until:?} {file:?}");
            known.reconsider();
            assert!(see(&mut known, file), "the settings are others");
        }
        let mut known = Known::new(TableFold::new().1);
        known.passed_over(at(1, 10, 1), Until::OtherSettings);
        known.checked(at(1, 10, 1));
        assert!(see(&mut known, at(2, 20, 1)), "it was read after all, because somebody forced it");
    }
}
