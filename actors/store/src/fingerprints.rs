//! Fingerprints that recognise copies of forgotten sessions: marks of some records, and no text. A fork made later
//! begins with the same records and must not bring back what was forgotten.
//!
//! The fingerprints are in one small file beside the log and are durable before anything of a session is deleted.
//!
//! # Hazards
//!
//! - At most 64 fingerprints of 64 bits are kept per session; a fork that shares none of them is not recognised.
//!   `forget --only` keeps none, `--undo` removes them, a whole export carries them. A start drops fingerprints of
//!   sessions that the log knows as not forgotten (after a kill between storing them and the event); those of sessions
//!   that a repair has cut off stay.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use baton_conversation::item::Item;
use baton_conversation::record::SessionId;
use baton_conversation::record_identity::record_mark;
use baton_conversation::transcript::Sink;
use serde::{Deserialize, Serialize};

use baton_base::durable;

/// The file in the log's folder.
const FILE: &str = "forgotten-records.json";
/// Largest file that is read: fifty thousand sessions.
const FILE_MAX_BYTES: u64 = 64 * 1024 * 1024;
/// The format of the file.
const FORMAT: u32 = 1;
/// Most fingerprints of one session.
pub const MARKS: usize = 64;

#[derive(Default, Serialize, Deserialize)]
struct RemainsV1 {
    format: u32,
    /// The fingerprints of each session, in hex.
    sessions: BTreeMap<String, Vec<String>>,
    /// The original of each session that was forgotten as a copy.
    #[serde(default)]
    copies: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default)]
struct Kept {
    sessions: BTreeMap<SessionId, Vec<u64>>,
    /// Any one of the sessions that had the record.
    marks: BTreeMap<u64, SessionId>,
    copies: BTreeMap<SessionId, SessionId>,
}

impl Kept {
    fn lift(&mut self, sessions: &[SessionId]) {
        for session in sessions {
            let lifted: BTreeSet<u64> = self.sessions.remove(session).unwrap_or_default().into_iter().collect();
            // Records that it shares with a session that stays forgotten are no longer secret.
            self.sessions.values_mut().for_each(|marks| marks.retain(|mark| !lifted.contains(mark)));
            self.copies.remove(session);
        }
    }
}

/// What is stored about one forgotten session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForgottenSession {
    /// Fingerprints of its records; empty for a session that was forgotten as a copy.
    pub marks: Vec<u64>,
    /// The original, if it was forgotten as a copy.
    pub copy_of: Option<SessionId>,
}

/// The fingerprints of all forgotten sessions.
#[derive(Debug)]
pub struct ForgottenSessions {
    folder: PathBuf,
    /// An error while the file cannot be read; then it is not overwritten.
    kept: Mutex<Result<Kept, String>>,
}

impl ForgottenSessions {
    /// Reads the file beside the log. [`ForgottenSessions::problem`] reports why it could not be read.
    pub fn open(log: &Path) -> Self {
        let kept = read(&log.join(FILE)).map_err(|error| error.to_string());
        Self { folder: log.to_owned(), kept: Mutex::new(kept) }
    }

    /// The reason why copies of forgotten sessions are not recognised, if they are not.
    pub fn problem(&self) -> Option<String> {
        self.lock().as_ref().err().cloned()
    }

    /// Drops fingerprints of sessions that are not forgotten: a daemon was killed before it recorded the forgetting, or
    /// after it recorded an undo. The file is updated with the next change.
    pub fn drop_unforgotten(&self, is_forgotten: impl Fn(&SessionId) -> bool) {
        if let Ok(kept) = self.lock().as_mut() {
            let sessions = kept.sessions.keys().chain(kept.copies.keys());
            let back: Vec<SessionId> = sessions.filter(|session| !is_forgotten(session)).cloned().collect();
            kept.lift(&back);
            kept.marks = by_mark(&kept.sessions);
        }
    }

    /// Stores the fingerprints of sessions that are about to be forgotten, durably; the first [`MARKS`] of each.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or written.
    pub fn keep(&self, sessions: Vec<(SessionId, Vec<u64>)>) -> io::Result<()> {
        self.change(|kept| {
            for (session, mut marks) in sessions {
                marks.truncate(MARKS);
                // A session that was already forgotten has no records left to take them from.
                if !marks.is_empty() {
                    kept.sessions.insert(session, marks);
                }
            }
        })
    }

    /// Records durably that a session is forgotten as a copy of another.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or written.
    pub fn keep_copy(&self, copy: SessionId, of: SessionId) -> io::Result<()> {
        self.change(|kept| drop(kept.copies.insert(copy, of)))
    }

    /// Everything stored, by session.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn by_session(&self) -> io::Result<BTreeMap<SessionId, ForgottenSession>> {
        let kept = self.lock();
        let kept = kept.as_ref().map_err(|error| io::Error::other(error.clone()))?;
        let mut all: BTreeMap<SessionId, ForgottenSession> = BTreeMap::new();
        for (session, marks) in &kept.sessions {
            all.entry(session.clone()).or_default().marks.clone_from(marks);
        }
        for (copy, of) in &kept.copies {
            all.entry(copy.clone()).or_default().copy_of = Some(of.clone());
        }
        Ok(all)
    }

    /// Adds what another home has stored, durably.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or written.
    pub fn keep_all(&self, all: BTreeMap<SessionId, ForgottenSession>) -> io::Result<()> {
        self.change(|kept| {
            for (session, ForgottenSession { mut marks, copy_of }) in all {
                marks.truncate(MARKS);
                kept.copies.extend(copy_of.map(|of| (session.clone(), of)));
                if !marks.is_empty() {
                    kept.sessions.insert(session, marks);
                }
            }
        })
    }

    /// Removes sessions that are no longer forgotten, durably.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or written.
    pub fn lift(&self, sessions: &[SessionId]) -> io::Result<()> {
        self.change(|kept| kept.lift(sessions))
    }

    /// True if there are no fingerprints to compare with.
    pub fn is_empty(&self) -> bool {
        self.lock().as_ref().map_or(true, |kept| kept.marks.is_empty())
    }

    /// The forgotten session, other than `session`, that had one of these records.
    pub fn original_by_marks(&self, session: &SessionId, mut marks: impl Iterator<Item = u64>) -> Option<SessionId> {
        let kept = self.lock();
        let kept = kept.as_ref().ok()?;
        marks.find_map(|mark| kept.marks.get(&mark).filter(|of| *of != session).cloned())
    }

    /// The original, if this session was forgotten as a copy.
    pub fn original_of(&self, session: &SessionId) -> Option<SessionId> {
        self.lock().as_ref().ok()?.copies.get(session).cloned()
    }

    fn change(&self, change: impl FnOnce(&mut Kept)) -> io::Result<()> {
        let mut lock = self.lock();
        let kept = lock.as_ref().map_err(|error| io::Error::other(error.clone()))?;
        let mut changed = kept.clone();
        change(&mut changed);
        if changed.sessions == kept.sessions && changed.copies == kept.copies {
            return Ok(());
        }
        changed.marks = by_mark(&changed.sessions);
        let hex = |marks: &Vec<u64>| marks.iter().map(|mark| format!("{mark:016x}")).collect();
        let shape = RemainsV1 {
            format: FORMAT,
            sessions: changed.sessions.iter().map(|(session, marks)| (session.to_string(), hex(marks))).collect(),
            copies: changed.copies.iter().map(|(copy, of)| (copy.to_string(), of.to_string())).collect(),
        };
        durable::write_file(&self.folder.join(FILE), &serde_json::to_vec(&shape)?)?;
        durable::sync_folder(&self.folder)?;
        *lock = Ok(changed);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Result<Kept, String>> {
        self.kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

fn by_mark(sessions: &BTreeMap<SessionId, Vec<u64>>) -> BTreeMap<u64, SessionId> {
    sessions.iter().flat_map(|(session, marks)| marks.iter().map(|mark| (*mark, session.clone()))).collect()
}

fn read(path: &Path) -> io::Result<Kept> {
    let Some(shape) = durable::read_json::<RemainsV1>(path, FILE_MAX_BYTES)? else { return Ok(Kept::default()) };
    if shape.format != FORMAT {
        return Err(io::Error::other("it was written by a newer version of this program"));
    }
    let marks = |hex: &[String]| hex.iter().filter_map(|mark| u64::from_str_radix(mark, 16).ok()).collect();
    let sessions: BTreeMap<SessionId, Vec<u64>> =
        shape.sessions.iter().filter_map(|(id, hex)| Some((SessionId::new(id)?, marks(hex)))).collect();
    let copies = shape.copies.iter().filter_map(|(copy, of)| Some((SessionId::new(copy)?, SessionId::new(of)?)));
    Ok(Kept { marks: by_mark(&sessions), copies: copies.collect(), sessions })
}

/// Collects the fingerprints of a transcript's records in order, each once.
#[derive(Debug, Default)]
pub struct Marks(pub Vec<u64>);

impl Sink for Marks {
    fn wants_text(&self) -> bool {
        true
    }

    fn item(&mut self, item: Item) {
        let mark = record_mark(&item).map(|mark| mark.0);
        // The items of one record are adjacent.
        self.0.extend(mark.filter(|mark| self.0.last() != Some(mark)));
    }
}

/// At most [`MARKS`] of a session's records: half from the start, where a fork has the same ones, the rest evenly
/// spread.
pub fn select_marks<T: Copy>(records: &[T]) -> Vec<T> {
    if records.len() <= MARKS {
        return records.to_vec();
    }
    let (first, rest) = records.split_at(MARKS / 2);
    let spread = (0..MARKS / 2).filter_map(|at| rest.get(at * rest.len() / (MARKS / 2)));
    first.iter().chain(spread).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn id(name: &str) -> SessionId {
        SessionId::new(name).unwrap()
    }

    #[test]
    fn what_is_kept_is_known_until_it_is_lifted_and_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let remains = ForgottenSessions::open(folder.path());
        assert!(remains.is_empty());
        remains.keep(vec![(id("a"), vec![1, u64::MAX]), (id("b"), vec![7]), (id("empty"), Vec::new())]).unwrap();
        remains.keep_copy(id("c"), id("a")).unwrap();
        let check = |remains: &ForgottenSessions| {
            let of = |session: &str, marks: &[u64]| remains.original_by_marks(&id(session), marks.iter().copied());
            assert_eq!(of("x", &[3, 4, u64::MAX]), Some(id("a")));
            assert_eq!((of("a", &[1]), of("x", &[2])), (None, None), "itself, and nobody");
            assert_eq!(of("a", &[1, 7]), Some(id("b")));
            assert_eq!((remains.original_of(&id("c")), remains.original_of(&id("a"))), (Some(id("a")), None));
        };
        check(&remains);
        let elsewhere = tempfile::tempdir().unwrap();
        ForgottenSessions::open(elsewhere.path()).keep_all(remains.by_session().unwrap()).unwrap();
        check(&ForgottenSessions::open(elsewhere.path()));
        // Forgotten once more, with no records left.
        remains.keep(vec![(id("a"), Vec::new())]).unwrap();
        check(&ForgottenSessions::open(folder.path()));
        remains.keep(vec![(id("d"), vec![1, 5])]).unwrap();
        remains.lift(&[id("a"), id("b"), id("c")]).unwrap();
        let of_x = |mark| remains.original_by_marks(&id("x"), std::iter::once(mark));
        assert_eq!((of_x(1), of_x(5)), (None, Some(id("d"))), "what is back is no secret in another either");
        remains.lift(&[id("d")]).unwrap();
        for remains in [&remains, &ForgottenSessions::open(folder.path())] {
            assert!(remains.is_empty() && remains.original_of(&id("c")).is_none());
        }
    }

    #[test]
    fn what_is_kept_of_a_session_that_is_not_forgotten_is_dropped_with_what_others_share_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let remains = ForgottenSessions::open(folder.path());
        remains.keep(vec![(id("a"), vec![1, 2]), (id("b"), vec![1, 3])]).unwrap();
        remains.keep_copy(id("c"), id("a")).unwrap();
        remains.keep_copy(id("d"), id("b")).unwrap();
        let check = |remains: &ForgottenSessions| {
            let of_x = |mark| remains.original_by_marks(&id("x"), std::iter::once(mark));
            assert_eq!([1, 2, 3, 5].map(of_x), [None, None, Some(id("b")), Some(id("e"))]);
            assert_eq!((remains.original_of(&id("c")), remains.original_of(&id("d"))), (None, Some(id("b"))));
        };
        let remains = ForgottenSessions::open(folder.path());
        remains.drop_unforgotten(|session| ["b", "d"].contains(&session.as_str()));
        remains.keep(vec![(id("e"), vec![5])]).unwrap();
        check(&remains);
        check(&ForgottenSessions::open(folder.path()));
    }

    #[test]
    fn what_cannot_be_read_is_told_and_not_written_over() {
        for broken in ["", "{\"format\":2,\"sessions\":{}}"] {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join(FILE), broken).unwrap();
            let remains = ForgottenSessions::open(folder.path());
            assert!(
                remains.problem().is_some()
                    && remains.by_session().is_err()
                    && remains.keep(vec![(id("a"), vec![1])]).is_err(),
                "{broken}"
            );
            assert_eq!(fs::read_to_string(folder.path().join(FILE)).unwrap(), broken);
        }
    }

    #[test]
    fn the_first_records_are_among_the_chosen() {
        for count in [0, 1, 63, 64, 65, 1_000, 100_000_usize] {
            let records: Vec<usize> = (0..count).collect();
            let chosen = select_marks(&records);
            assert_eq!(chosen.len(), count.min(MARKS), "{count}");
            assert!(chosen.is_sorted_by(|a, b| a < b), "{count}: each once");
            assert!(chosen.starts_with(&records[..count.min(MARKS / 2)]), "{count}");
        }
    }
}
