//! Finished notes that the vault did not accept: one folder for each end of a session, numbered in order of arrival, so
//! that a person can already read what will be in the vault.
//!
//! When the vault is back, notes are rendered again instead of being copied, because a person may have edited the
//! vault's notes since.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use baton_conversation::record::SessionId;
use serde::{Deserialize, Serialize};

use baton_base::durable;

/// The folder in the home.
pub(super) const FOLDER: &str = "vault-pending";
/// The file that tells which session a folder belongs to.
const HEAD_FILE: &str = "session.json";
/// Largest such file that is read.
const HEAD_MAX_BYTES: u64 = 64 * 1024;
/// Most sessions kept; further ones are owed all the same.
const MOST_SESSIONS: usize = if cfg!(test) { 3 } else { 1_000 };

#[derive(Serialize, Deserialize)]
struct Head {
    session: String,
    /// The end it was made for; see [`super::owed_sessions::stamp`].
    #[serde(default)]
    stamp: String,
}

/// One session's folder.
#[derive(Debug)]
struct Waiting {
    id: SessionId,
    stamp: String,
    folder: PathBuf,
}

/// The outbox of a home; see the module documentation.
#[derive(Debug)]
pub(super) struct Outbox {
    folder: PathBuf,
    /// Folders by number.
    waiting: BTreeMap<u64, Waiting>,
}

impl Outbox {
    /// Opens the outbox of a home; ignores folders that are not Baton's. Blocks for reads.
    pub(super) fn open(home: &Path) -> Self {
        let folder = home.join(FOLDER);
        let mut waiting = BTreeMap::new();
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let number = name.to_str().and_then(|name| name.split('-').next()?.parse().ok());
            let head = durable::read_json::<Head>(&entry.path().join(HEAD_FILE), HEAD_MAX_BYTES).ok().flatten();
            let (Some(number), Some(head)) = (number, head) else { continue };
            if let Some(id) = SessionId::new(&head.session) {
                waiting.insert(number, Waiting { id, stamp: head.stamp, folder: entry.path() });
            }
        }
        Self { folder, waiting }
    }

    /// Sessions in the outbox, in order of arrival.
    pub(super) fn sessions(&self) -> impl Iterator<Item = &SessionId> {
        self.waiting.values().map(|waiting| &waiting.id)
    }

    /// True if this end of the session is in the outbox.
    pub(super) fn has(&self, id: &SessionId, stamp: &str) -> bool {
        self.waiting.values().any(|waiting| waiting.id == *id && waiting.stamp == stamp)
    }

    /// True if the outbox accepts no more sessions.
    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= MOST_SESSIONS
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Stores the finished notes of a session, given as paths relative to the vault and texts. Replaces earlier notes
    /// of the session. Does nothing if the outbox is full.
    pub(super) fn put(&mut self, id: &SessionId, stamp: &str, notes: &[(String, String)]) -> io::Result<()> {
        if self.is_full() || self.has(id, stamp) {
            return Ok(());
        }
        let number = self.waiting.last_key_value().map_or(1, |(last, _)| last + 1);
        let short: String = id.short().chars().filter(char::is_ascii_alphanumeric).collect();
        let folder = self.folder.join(format!("{number:08}-{short}"));
        let written = self.write(&folder, &Head { session: id.to_string(), stamp: stamp.to_owned() }, notes);
        if let Err(error) = written {
            let _ = fs::remove_dir_all(&folder);
            return Err(error);
        }
        self.remove(id)?;
        self.waiting.insert(number, Waiting { id: id.clone(), stamp: stamp.to_owned(), folder });
        Ok(())
    }

    fn write(&self, folder: &Path, head: &Head, notes: &[(String, String)]) -> io::Result<()> {
        durable::create_private_folder(folder)?;
        for (path, text) in notes {
            let file = folder.join(path);
            if let Some(parent) = file.parent() {
                durable::create_private_folder(parent)?;
            }
            durable::write_file(&file, text.as_bytes())?;
        }
        // Written last: without it the folder is unfinished.
        durable::write_file(&folder.join(HEAD_FILE), &serde_json::to_vec(head)?)?;
        durable::sync_folder(folder)
    }

    /// Removes a session's notes, because they were delivered or the session was forgotten.
    pub(super) fn remove(&mut self, id: &SessionId) -> io::Result<()> {
        let gone: Vec<u64> =
            self.waiting.iter().filter(|(_, waiting)| waiting.id == *id).map(|(number, _)| *number).collect();
        for number in gone {
            if let Some(waiting) = self.waiting.get(&number) {
                match fs::remove_dir_all(&waiting.folder) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => drop(self.waiting.remove(&number)),
                }
            }
        }
        if self.waiting.is_empty() {
            // Removes folders that a crash left unfinished.
            self.remove_unfinished();
        }
        Ok(())
    }

    /// Names of the session notes that these sessions have in the outbox.
    pub(super) fn note_names(&self, sessions: &[SessionId]) -> BTreeSet<String> {
        let waiting = self.waiting.values().filter(|waiting| sessions.contains(&waiting.id));
        let notes = waiting
            .flat_map(|waiting| files(&waiting.folder))
            .filter(|path| path.parent().and_then(Path::file_name).is_some_and(|folder| folder == "sessions"));
        notes.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect()
    }

    /// Removes every session with a file that matches `matches` or is unreadable; its notes are rendered again.
    pub(super) fn remove_matching(&mut self, matches: &dyn Fn(&str) -> bool) -> io::Result<()> {
        let is_match = |path: &PathBuf| fs::read_to_string(path).map_or(true, |text| matches(&text));
        let matching = self.waiting.values().filter(|waiting| files(&waiting.folder).iter().any(is_match));
        let matching: Vec<SessionId> = matching.map(|waiting| waiting.id.clone()).collect();
        matching.iter().try_for_each(|id| self.remove(id))
    }

    /// Removes unfinished folders, then the outbox itself if it is empty.
    fn remove_unfinished(&self) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let is_ours = entry.file_name().to_str().is_some_and(|name| {
                let (number, rest) = name.split_once('-').unwrap_or_default();
                number.len() == 8 && number.bytes().all(|byte| byte.is_ascii_digit()) && !rest.is_empty()
            });
            if is_ours && !entry.path().join(HEAD_FILE).exists() {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        let _ = fs::remove_dir(&self.folder);
    }
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                _ => found.push(entry.path()),
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> SessionId {
        SessionId::new(text).unwrap()
    }

    fn notes(text: &str) -> Vec<(String, String)> {
        vec![("claude/projects/web/sessions/one.md".to_owned(), text.to_owned())]
    }

    #[test]
    fn notes_are_delivered_once_in_order() {
        let home = tempfile::tempdir().unwrap();
        let mut pending = Outbox::open(home.path());
        pending.put(&id("a"), "1", &notes("one")).unwrap();
        pending.put(&id("b: c"), "1", &notes("two")).unwrap();
        pending.put(&id("a"), "2", &notes("three")).unwrap();
        pending.put(&id("a"), "2", &notes("the same end once more")).unwrap();
        // Left by a process killed while writing another.
        fs::create_dir_all(home.path().join(FOLDER).join("00000009-x/claude")).unwrap();
        fs::write(home.path().join(FOLDER).join("mine.txt"), "a person's").unwrap();
        let mut again = Outbox::open(home.path());
        assert_eq!(
            again.sessions().cloned().collect::<Vec<_>>(),
            [id("b: c"), id("a")],
            "the last end replaces the earlier one"
        );
        assert!(again.has(&id("a"), "2") && !again.has(&id("a"), "1"));
        let folder = again.waiting.values().find(|waiting| waiting.id == id("a")).unwrap().folder.clone();
        assert_eq!(fs::read_to_string(folder.join(&notes("")[0].0)).unwrap(), "three");
        again.remove(&id("a")).unwrap();
        assert!(!folder.exists());
        again.remove(&id("b: c")).unwrap();
        assert_eq!(again.len(), 0);
        let left: Vec<_> = fs::read_dir(home.path().join(FOLDER)).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert_eq!(left, ["mine.txt"], "Baton's files are gone, and others are left alone");
    }

    #[test]
    fn notes_that_mention_forgotten_sessions_are_dropped() {
        let home = tempfile::tempdir().unwrap();
        let mut pending = Outbox::open(home.path());
        for (name, text) in [("a", "one"), ("b", "what [[one]] began"), ("c", "nothing of it")] {
            pending.put(&id(name), "1", &notes(text)).unwrap();
        }
        assert_eq!(pending.note_names(&[id("a"), id("unknown")]), ["one".to_owned()].into());
        pending.remove(&id("a")).unwrap();
        pending.remove_matching(&|text| text.contains("[[one]]")).unwrap();
        assert_eq!(pending.sessions().cloned().collect::<Vec<_>>(), [id("c")]);
        assert_eq!(Outbox::open(home.path()).len(), 1, "its folder has gone");
    }

    #[test]
    fn a_full_outbox_accepts_no_more() {
        let home = tempfile::tempdir().unwrap();
        let mut pending = Outbox::open(home.path());
        for number in 0..MOST_SESSIONS + 2 {
            assert_eq!(pending.is_full(), number >= MOST_SESSIONS);
            pending.put(&id(&format!("s-{number}")), "1", &notes("one")).unwrap();
        }
        assert_eq!((pending.len(), Outbox::open(home.path()).len()), (MOST_SESSIONS, MOST_SESSIONS));
        pending.remove(&id("s-0")).unwrap();
        assert!(!pending.is_full());
    }
}
