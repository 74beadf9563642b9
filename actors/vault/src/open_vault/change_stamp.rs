//! Tells whether the notes have changed since the last walk, apart from our own writes. One sum over all notes, so that
//! nothing is kept for each. It misses a file that is changed twice within one tick of its file system's clock and
//! keeps its size, and so does [`VaultFs::write`](super::super::vault_fs::VaultFs::write).
//!
//! # Hazards
//!
//! - Code that writes notes other than by `OpenVault::edit` or `OpenVault::record_write` causes a walk over all notes; the daily sweep
//!   reads them anyway.

use std::hash::{BuildHasher as _, RandomState};

use crate::vault_fs::{Stamp, VaultFs};

/// A sum over the state of all notes; see the module documentation.
#[derive(Debug, Default)]
pub(super) struct ChangeStamp {
    sum: u64,
    /// Random, so that no two files can be made to cancel each other out.
    key: RandomState,
    /// Notes that were unreadable: making one readable does not change its stamp.
    unread: Vec<String>,
}

impl ChangeStamp {
    fn hash_note(&self, path: &str, stamp: Option<Stamp>) -> u64 {
        let fields = |(stat, file): Stamp| (path, stat.modified_ns, stat.size, file.device, file.inode);
        stamp.map_or(0, |stamp| self.key.hash_one(fields(stamp)))
    }

    /// Adds a note.
    pub(super) fn add(&mut self, path: &str, stamp: Option<Stamp>) {
        self.sum = self.sum.wrapping_add(self.hash_note(path, stamp));
    }

    /// Adds a note that is unreadable.
    pub(super) fn add_unreadable(&mut self, path: &str) {
        self.unread.push(path.to_owned());
    }

    /// Updates the stamp of a note that we have written.
    pub(super) fn replace(&mut self, path: &str, before: Option<Stamp>, after: Stamp) {
        self.sum = self.sum.wrapping_sub(self.hash_note(path, before));
        self.add(path, Some(after));
    }

    /// True if these are all notes, unchanged.
    pub(super) fn matches(&self, vault_fs: &VaultFs, notes: &[String]) -> bool {
        let sum = |sum: u64, path: &String| sum.wrapping_add(self.hash_note(path, vault_fs.stamp(path)));
        notes.iter().fold(0, sum) == self.sum && self.unread.iter().all(|path| vault_fs.read(path).is_err())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::open_vault::OpenVault;
    use crate::register::Register;
    use baton_config::settings;

    #[test]
    fn only_changes_by_others_cause_another_walk() {
        let home = tempfile::tempdir().unwrap();
        let settings = settings::Vault::default();
        let register = Register::open(home.path(), &settings).unwrap();
        let mut open = OpenVault::new(settings, home.path(), register).unwrap();
        open.check(false).unwrap();
        let note = |number: u32| format!("claude/projects/web/sessions/2026-03-14-{number}.md");
        let write = |open: &mut OpenVault, number: u32, text: &str| {
            assert!(open.edit(&note(number), &mut |_| Some(text.to_owned())).unwrap());
        };
        open.index().unwrap();
        write(&mut open, 1, "one\n");
        open.refresh_index().unwrap();
        assert_eq!(open.take_walks(), 1, "our own writes are recorded");
        let theirs = open.vault_fs.vault().join("claude/projects/web/sessions");
        let (first, second) = (theirs.join("2026-03-14-1.md"), theirs.join("2026-03-14-2.md"));
        let again = |open: &mut OpenVault, what: &str| {
            for looks in [1, 0] {
                open.refresh_index().unwrap();
                assert_eq!(open.take_walks(), looks, "{what}");
            }
            // Our own writes are still recorded.
            write(open, 3, what);
            open.refresh_index().unwrap();
            assert_eq!(open.take_walks(), 0, "{what}");
        };
        fs::write(&first, "somebody's\n").unwrap();
        again(&mut open, "a note was changed");
        fs::write(&second, "two\n").unwrap();
        again(&mut open, "a note was added");
        fs::rename(&second, theirs.join("Other.md")).unwrap();
        again(&mut open, "a note was renamed");
        assert!(!open.index().unwrap().has_session_name("2026-03-14-2"));
        fs::remove_file(&first).unwrap();
        again(&mut open, "a note was removed");
        // Same size and time, but another file.
        let (kept, times) =
            (theirs.join("Other.md"), fs::metadata(theirs.join("Other.md")).unwrap().modified().unwrap());
        fs::write(theirs.join("kept"), "TWO\n").unwrap();
        fs::File::options().write(true).open(theirs.join("kept")).unwrap().set_modified(times).unwrap();
        fs::rename(theirs.join("kept"), &kept).unwrap();
        if cfg!(unix) {
            again(&mut open, "a note was replaced");
        }
        open.drop_index();
        open.refresh_index().unwrap();
        assert_eq!(open.take_walks(), 1, "a dropped index causes a walk");
    }

    #[test]
    fn a_change_just_before_our_own_write_causes_a_walk() {
        let home = tempfile::tempdir().unwrap();
        let settings = settings::Vault::default();
        let register = Register::open(home.path(), &settings).unwrap();
        let mut open = OpenVault::new(settings, home.path(), register).unwrap();
        open.check(false).unwrap();
        let path = "claude/Start.md";
        let file = open.vault_fs.vault().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "first\n").unwrap();
        open.index().unwrap();
        fs::write(&file, "somebody's own\n").unwrap();
        assert!(open.edit(path, &mut |text| Some(format!("{}more\n", text.unwrap()))).unwrap());
        open.take_walks();
        open.refresh_index().unwrap();
        assert_eq!(open.take_walks(), 1);
    }

    #[test]
    fn a_note_that_becomes_readable_causes_a_walk() {
        let home = tempfile::tempdir().unwrap();
        let settings = settings::Vault::default();
        let register = Register::open(home.path(), &settings).unwrap();
        let mut open = OpenVault::new(settings, home.path(), register).unwrap();
        open.check(false).unwrap();
        let file = open.vault_fs.vault().join("claude/Start.md");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, b"\xff").unwrap();
        let stat = fs::metadata(&file).unwrap();
        open.index().unwrap();
        open.refresh_index().unwrap();
        assert_eq!(open.take_walks(), 1, "nothing has changed");
        // As by `chmod`: size, time and file are the same.
        let mut writing = fs::File::options().write(true).open(&file).unwrap();
        std::io::Write::write_all(&mut writing, b"x").unwrap();
        writing.set_modified(stat.modified().unwrap()).unwrap();
        open.refresh_index().unwrap();
        assert_eq!(open.take_walks(), 1);
    }
}
