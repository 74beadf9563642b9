//! Tells whether the notes have changed since the last walk, apart from our own writes. One sum over all notes, so that
//! nothing is kept for each. It misses a file that is changed twice within one tick of its file system's clock and
//! keeps its size, and so does [`Place::write`](super::super::vault_fs::Place::write).
//!
//! # Hazards
//!
//! - Code that writes notes other than by `Open::edit` or `Open::take_in` causes a walk over all notes; the daily sweep
//!   reads them anyway.

use std::hash::{BuildHasher as _, RandomState};

use crate::vault_fs::{Place, Stamp};

/// A sum over the state of all notes; see the module documentation.
#[derive(Debug, Default)]
pub(super) struct Tally {
    sum: u64,
    /// Random, so that no two files can be made to cancel each other out.
    key: RandomState,
    /// Notes that were unreadable: making one readable does not change its stamp.
    unread: Vec<String>,
}

impl Tally {
    fn of_one(&self, path: &str, stamp: Option<Stamp>) -> u64 {
        let fields = |(stat, file): Stamp| (path, stat.modified_ns, stat.size, file.device, file.inode);
        stamp.map_or(0, |stamp| self.key.hash_one(fields(stamp)))
    }

    /// Adds a note.
    pub(super) fn add(&mut self, path: &str, stamp: Option<Stamp>) {
        self.sum = self.sum.wrapping_add(self.of_one(path, stamp));
    }

    /// Adds a note that is unreadable.
    pub(super) fn pass_over(&mut self, path: &str) {
        self.unread.push(path.to_owned());
    }

    /// Updates the stamp of a note that we have written.
    pub(super) fn replace(&mut self, path: &str, before: Option<Stamp>, after: Stamp) {
        self.sum = self.sum.wrapping_sub(self.of_one(path, before));
        self.add(path, Some(after));
    }

    /// True if these are all notes, unchanged.
    pub(super) fn is_of(&self, place: &Place, notes: &[String]) -> bool {
        let sum = |sum: u64, path: &String| sum.wrapping_add(self.of_one(path, place.stamp(path)));
        notes.iter().fold(0, sum) == self.sum && self.unread.iter().all(|path| place.read(path).is_err())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::open_vault::Open;
    use crate::register::Register;
    use baton_config::settings;

    #[test]
    fn a_vault_is_gone_through_again_where_somebody_else_has_changed_it_and_only_there() {
        let home = tempfile::tempdir().unwrap();
        let settings = settings::Vault::default();
        let register = Register::open(home.path(), &settings).unwrap();
        let mut open = Open::new(settings, home.path(), register).unwrap();
        open.look(false).unwrap();
        let note = |number: u32| format!("claude/projects/web/sessions/2026-03-14-{number}.md");
        let write = |open: &mut Open, number: u32, text: &str| {
            assert!(open.edit(&note(number), &mut |_| Some(text.to_owned())).unwrap());
        };
        open.index().unwrap();
        write(&mut open, 1, "one\n");
        open.look_again().unwrap();
        assert_eq!(open.take_looks(), 1, "it is known what was written here");
        let theirs = open.place.vault().join("claude/projects/web/sessions");
        let (first, second) = (theirs.join("2026-03-14-1.md"), theirs.join("2026-03-14-2.md"));
        let again = |open: &mut Open, what: &str| {
            for looks in [1, 0] {
                open.look_again().unwrap();
                assert_eq!(open.take_looks(), looks, "{what}");
            }
            // Our own writes are still recorded.
            write(open, 3, what);
            open.look_again().unwrap();
            assert_eq!(open.take_looks(), 0, "{what}");
        };
        fs::write(&first, "somebody's\n").unwrap();
        again(&mut open, "a note was changed");
        fs::write(&second, "two\n").unwrap();
        again(&mut open, "a note came");
        fs::rename(&second, theirs.join("Other.md")).unwrap();
        again(&mut open, "a note has another name");
        assert!(!open.index().unwrap().is_session("2026-03-14-2"));
        fs::remove_file(&first).unwrap();
        again(&mut open, "a note went");
        // Same size and time, but another file.
        let (kept, times) =
            (theirs.join("Other.md"), fs::metadata(theirs.join("Other.md")).unwrap().modified().unwrap());
        fs::write(theirs.join("kept"), "TWO\n").unwrap();
        fs::File::options().write(true).open(theirs.join("kept")).unwrap().set_modified(times).unwrap();
        fs::rename(theirs.join("kept"), &kept).unwrap();
        if cfg!(unix) {
            again(&mut open, "a note was put in its place");
        }
        open.forget_names();
        open.look_again().unwrap();
        assert_eq!(open.take_looks(), 1, "what is not believed is looked at");
    }

    #[test]
    fn what_somebody_wrote_before_it_was_written_over_is_looked_at() {
        let home = tempfile::tempdir().unwrap();
        let settings = settings::Vault::default();
        let register = Register::open(home.path(), &settings).unwrap();
        let mut open = Open::new(settings, home.path(), register).unwrap();
        open.look(false).unwrap();
        let path = "claude/Start.md";
        let file = open.place.vault().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "first\n").unwrap();
        open.index().unwrap();
        fs::write(&file, "somebody's own\n").unwrap();
        assert!(open.edit(path, &mut |text| Some(format!("{}more\n", text.unwrap()))).unwrap());
        open.take_looks();
        open.look_again().unwrap();
        assert_eq!(open.take_looks(), 1);
    }

    #[test]
    fn what_could_not_be_read_is_looked_at_as_soon_as_it_can() {
        let home = tempfile::tempdir().unwrap();
        let settings = settings::Vault::default();
        let register = Register::open(home.path(), &settings).unwrap();
        let mut open = Open::new(settings, home.path(), register).unwrap();
        open.look(false).unwrap();
        let file = open.place.vault().join("claude/Start.md");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, b"\xff").unwrap();
        let stat = fs::metadata(&file).unwrap();
        open.index().unwrap();
        open.look_again().unwrap();
        assert_eq!(open.take_looks(), 1, "it is as it was");
        // As by `chmod`: size, time and file are the same.
        let mut writing = fs::File::options().write(true).open(&file).unwrap();
        std::io::Write::write_all(&mut writing, b"x").unwrap();
        writing.set_modified(stat.modified().unwrap()).unwrap();
        open.look_again().unwrap();
        assert_eq!(open.take_looks(), 1);
    }
}
