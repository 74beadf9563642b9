//! The vault that is written to: one at a time, with its register, its outbox and the index of its names. All functions
//! block for the disk.

mod change_stamp;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use baton_conversation::record::{SessionId, Timestamp};
use baton_events::projection::table::SessionTable;
use baton_notes::layout::{Layout, Place as Lies};
use baton_notes::note::Wanted;
use baton_notes::verify::{VaultIndex, links};
use baton_notes::{Day, forget, merge, name, relink_entities, relink_session};
use uuid::Uuid;

use super::index::{Former, Index, stem};
use super::outbox::Pending;
use super::owed_sessions::Owing;
use super::register::Register;
use super::vault_fs::{Error, Found, Place, Refused, Stamp};
use baton_config::settings;
use baton_config::settings::Settings;
use change_stamp::Tally;

/// How often a note is read again while somebody else writes it.
pub(super) const TRIES: u32 = 8;

/// Folders of session notes and of their archive copies within a project's folder.
const SESSIONS: [&str; 2] = ["sessions", "archive/sessions"];

/// The open vault of a home, and its outbox.
pub(super) struct Desk {
    home: PathBuf,
    pub(super) pending: Pending,
    open: Option<Open>,
}

/// An open vault.
pub(super) struct Open {
    pub(super) settings: settings::Vault,
    pub(super) place: Place,
    pub(super) layout: Layout,
    pub(super) register: Register,
    /// `None` if the vault was not walked since it was last unreachable.
    index: Option<Index>,
    /// The state of all notes at the last walk, updated by our own writes.
    tally: Option<Tally>,
    /// Pages that many sessions update, written once at the end of a group.
    pub(super) held_back: Option<Vec<Wanted>>,
    /// The sessions whose notes are owed.
    owing: Owing,
    /// Entities whose shared notes this process has written.
    pub(super) promoted: BTreeSet<Uuid>,
    /// Number of walks since [`Open::take_looks`].
    looks: u64,
    /// Names that entity notes had before the last walk.
    former: Former,
    /// Notes in which the last walk found dangling links.
    astray: Option<BTreeSet<String>>,
    /// Those whose links to entities could not be updated.
    unfollowed: BTreeSet<String>,
}

/// A note as a walk finds it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Seen<'a> {
    /// Its text.
    Text(&'a str),
    /// Somebody is writing or moving it.
    Changing,
    /// It is unreadable.
    Left,
}

/// The result of writing files.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// Number of files written.
    pub(super) files: u64,
    /// Number of blocks newly found to be taken over by people.
    pub(super) conflicts: u64,
    /// Files that were left alone, with the reason.
    pub(super) left: Vec<(String, String)>,
}

impl Desk {
    /// Opens the outbox of a home; vaults are opened by [`Desk::at`]. Blocks for short reads.
    pub(super) fn open(home: &Path) -> Self {
        Self { home: home.to_owned(), pending: Pending::open(home), open: None }
    }

    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    /// Opens the vault of these settings, which may be unreachable, unless it is open already.
    pub(super) fn at(&mut self, settings: &settings::Vault) -> Result<(&mut Open, &mut Pending), Refused> {
        let is_same = |open: &Open| open.settings.path == settings.path && open.settings.root == settings.root;
        if !self.open.as_ref().is_some_and(is_same) {
            self.open = None;
            let register = Register::open(&self.home, settings).map_err(|error| Refused {
                what: format!("what was written before is unknown: {}: {error}", super::register::FOLDER),
                fix: "make it readable for you, or remove it: then every session is written into its note again"
                    .to_owned(),
            })?;
            self.open = Some(Open::new(settings.clone(), &self.home, register)?);
        }
        match &mut self.open {
            Some(open) => {
                open.settings = settings.clone();
                Ok((open, &mut self.pending))
            }
            None => Err(Refused { what: "no vault is open".to_owned(), fix: "run `baton vault sync`".to_owned() }),
        }
    }

    /// The vault that is open, if any.
    pub(super) fn known(&mut self) -> Option<&mut Open> {
        self.open.as_mut()
    }
}

impl Open {
    /// Creates a vault with its register.
    pub(super) fn new(settings: settings::Vault, home: &Path, register: Register) -> Result<Self, Refused> {
        let layout = Layout::below(&settings.root).ok_or_else(|| Refused {
            what: format!("{} is not the name of a folder", settings.root),
            fix: "set vault.root to another one".to_owned(),
        })?;
        let place = Place::of(&settings, home);
        Ok(Self {
            settings,
            place,
            layout,
            register,
            index: None,
            tally: None,
            held_back: None,
            owing: Owing::default(),
            promoted: BTreeSet::new(),
            looks: 0,
            former: Former::default(),
            astray: None,
            unfollowed: BTreeSet::new(),
        })
    }

    /// Returns the sessions whose notes are owed, after examining what has changed since the last call.
    pub(super) fn owed(&mut self, table: &SessionTable, settings: &Arc<Settings>) -> &Owing {
        self.owing.look(table, settings, &mut self.register);
        &self.owing
    }

    /// Makes the next call of [`Open::owed`] examine every session.
    pub(super) fn forget_owed(&mut self) {
        self.owing = Owing::default();
    }

    /// Checks that the vault is there; with `anew` also if notes that were written are missing.
    pub(super) fn look(&mut self, anew: bool) -> Result<(), Refused> {
        let looked = self.place.look(self.register.has_notes() && !anew);
        if looked.is_err() {
            self.forget_names();
        }
        looked
    }

    /// Returns the index; walks the vault if there is none.
    pub(super) fn index(&mut self) -> Result<&mut Index, Refused> {
        self.index_seeing(&mut |_, _| {})
    }

    /// The same, reporting each note that the walk reads.
    pub(super) fn index_seeing(&mut self, see: &mut dyn FnMut(&str, &Seen<'_>)) -> Result<&mut Index, Refused> {
        let index = match self.index.take() {
            Some(index) => index,
            None => {
                // With the lock held, temporary files are leftovers and not another home's.
                let _turn = self.place.turn()?;
                if let Some(id) = self.place.id()
                    && let Err(error) = self.register.identify(&id)
                {
                    tracing::debug!(%error, "id of the folder of notes not recorded");
                }
                for file in self.place.all()?.1 {
                    let _ = std::fs::remove_file(file);
                }
                self.gone_through(see)?
            }
        };
        Ok(self.index.insert(index))
    }

    /// Walks the vault again if its notes have changed since the last walk.
    pub(super) fn look_again(&mut self) -> Result<(), Refused> {
        if let (Some(tally), Some(_)) = (&self.tally, &self.index)
            && tally.is_of(&self.place, &self.place.all()?.0)
        {
            // Files that could not be written may be writable now.
            if !self.unfollowed.is_empty() {
                self.astray.get_or_insert_default().append(&mut self.unfollowed);
            }
            return Ok(());
        }
        self.look_again_seeing(&mut |_, _| {})
    }

    /// Walks the vault again in any case, reporting each note that it reads.
    pub(super) fn look_again_seeing(&mut self, see: &mut dyn FnMut(&str, &Seen<'_>)) -> Result<(), Refused> {
        self.forget_names();
        self.index = Some(self.gone_through(see)?);
        Ok(())
    }

    /// Returns the number of walks since the last call.
    pub(super) fn take_looks(&mut self) -> u64 {
        std::mem::take(&mut self.looks)
    }

    fn gone_through(&mut self, see: &mut dyn FnMut(&str, &Seen<'_>)) -> Result<Index, Refused> {
        self.looks += 1;
        let mut index = Index::default();
        let (notes, _) = self.place.all()?;
        let known = VaultIndex::new(notes.iter().map(String::as_str), self.layout.root());
        let (mut astray, mut tally) = (BTreeSet::new(), Tally::default());
        for path in notes {
            // Taken before the note is read.
            tally.add(&path, self.place.stamp(&path));
            let read = self.place.read(&path);
            let seen = match &read {
                Ok(Found { text: Some(text), .. }) => Seen::Text(text),
                Ok(_) | Err(Error::Changed) => Seen::Changing,
                Err(Error::Left(_)) => Seen::Left,
                Err(Error::Vault(refused)) => return Err(refused.clone()),
            };
            // The name is in use even if the note is unreadable.
            let text = match seen {
                Seen::Text(text) => text,
                Seen::Changing | Seen::Left => {
                    tally.pass_over(&path);
                    ""
                }
            };
            index.take(&path, text, &self.layout);
            see(&path, &seen);
            if text.lines().flat_map(links).any(|target| !known.leads(target)) {
                astray.insert(path);
            }
        }
        (self.astray, self.tally) = (Some(astray), Some(tally));
        self.unfollowed.clear();
        Ok(index)
    }

    /// Updates links to entity notes that people have renamed or moved; does so once per walk. The caller holds the
    /// vault's lock. Returns true if any note was changed.
    pub(super) fn follow_entities(&mut self) -> Result<bool, Refused> {
        let Some(index) = &self.index else { return Ok(false) };
        let Some(mut astray) = self.astray.take() else { return Ok(false) };
        astray.extend(index.changed().map(str::to_owned));
        if astray.is_empty() {
            return Ok(false);
        }
        let (entities, layout) = (index.noted(&self.former), self.layout.clone());
        let notes = self.place.all()?.0;
        let known = VaultIndex::new(notes.iter().map(String::as_str), layout.root());
        let mut has_changed = false;
        while let Some(note) = astray.pop_first() {
            let edited = self.edit(&note, &mut |text| {
                relink_entities(text?, &note, &layout, &entities, &|target| known.leads(target))
            });
            match edited {
                Err(Error::Vault(refused)) => {
                    astray.insert(note);
                    self.unfollowed.append(&mut astray);
                    return Err(refused);
                }
                Ok(changed) => has_changed |= changed,
                // It is unwritable or being written: its links stay as they are until the next look.
                Err(Error::Left(_) | Error::Changed) => drop(self.unfollowed.insert(note)),
            }
        }
        Ok(has_changed)
    }

    /// Returns true if these notes exist where they are expected; otherwise walks the vault again.
    pub(super) fn are_there(&mut self, places: &[Lies]) -> Result<bool, Refused> {
        let are_there = places.iter().all(|place| self.place.has(&self.layout.path(place)));
        if !are_there {
            self.look_again()?;
        }
        Ok(are_there)
    }

    /// The index, if the vault was walked.
    pub(super) fn known_names(&self) -> Option<&Index> {
        self.index.as_ref()
    }

    /// The index as far as it is known without the vault. Call [`Open::forget_names`] afterwards.
    pub(super) fn names(&mut self) -> &mut Index {
        self.index.get_or_insert_with(Index::default)
    }

    /// The same together with the register.
    pub(super) fn names_and_register(&mut self) -> (&Register, &Index) {
        (&self.register, self.index.get_or_insert_with(Index::default))
    }

    /// Drops the index, which must not be relied on if names were chosen without the vault.
    pub(super) fn forget_names(&mut self) {
        self.tally = None;
        if let Some(former) = self.index.take().map(Index::into_former).filter(|former| !former.is_empty()) {
            self.former = former;
        }
    }

    /// Merges notes into files, each read again before it is written.
    pub(super) fn put(&mut self, wanted: &[Wanted], written: &mut Written) -> Result<(), Refused> {
        for Wanted { path, note } in wanted {
            let before = self.index.as_ref().map_or(0, |index| index.conflicts_of(path));
            let (mut conflicts, mut is_sure) = (0, false);
            let brought = loop {
                let mut is_news = false;
                let brought = self.edit(path, &mut |text| {
                    let merged = merge(text, note);
                    conflicts = merged.conflicts as u64;
                    is_news = conflicts > before && !is_sure;
                    (merged.changed && !is_news).then_some(merged.text)
                });
                if !is_news {
                    break brought;
                }
                // A program may only have changed links to a note that a person has renamed.
                self.look_again()?;
                self.follow_entities()?;
                is_sure = true;
            };
            written.conflicts += conflicts.saturating_sub(before);
            match brought {
                Ok(changed) => written.files += u64::from(changed),
                Err(Error::Vault(refused)) => return Err(refused),
                Err(Error::Left(why)) => written.left.push((path.clone(), why)),
                Err(Error::Changed) => written.left.push((path.clone(), Error::Changed.to_string())),
            }
        }
        Ok(())
    }

    /// Changes a file, and retries if somebody else writes it meanwhile. Returns true if the file was changed.
    pub(super) fn edit(
        &mut self,
        path: &str,
        change: &mut dyn FnMut(Option<&str>) -> Option<String>,
    ) -> Result<bool, Error> {
        for _ in 0..TRIES {
            let found = self.place.read(path)?;
            found.text.iter().for_each(|text| self.note_head(path, text));
            let Some(text) = change(found.text.as_deref()) else { return Ok(false) };
            let stamp = match self.place.write(&found, &text) {
                Err(Error::Changed) => continue,
                written => written?,
            };
            self.take_in(path, &text, found.seen, stamp);
            return Ok(true);
        }
        Err(Error::Changed)
    }

    /// Records a write in the index and the change stamp.
    pub(super) fn take_in(&mut self, path: &str, text: &str, before: Option<Stamp>, stamp: Option<Stamp>) {
        if let Some(index) = &mut self.index {
            index.take(path, text, &self.layout);
        }
        self.tally = self.tally.take().zip(stamp).map(|(mut tally, stamp)| {
            tally.replace(path, before, stamp);
            tally
        });
    }

    /// Records whether the head of a note is readable.
    pub(super) fn note_head(&mut self, path: &str, text: &str) {
        if let Some(index) = &mut self.index {
            index.note_head(path, text);
        }
    }

    /// True if a session's note or archive copy in any project has this name now: another home may have written it
    /// since the last walk. `key` is the [`name::key`] of a name that begins with a day.
    pub(super) fn is_called(&self, key: &str) -> bool {
        const DAY: usize = 10;
        let projects = self.place.notes().join("projects");
        let names = |folder: std::path::PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten();
        let is_it = |entry: std::fs::DirEntry| {
            let file = entry.file_name();
            let Some(name) = file.to_str().and_then(stem) else { return false };
            name.as_bytes().get(..DAY) == key.as_bytes().get(..DAY) && name::key(name) == key
        };
        let mut folders = names(projects)
            .flat_map(|entry| SESSIONS.map(|below| entry.path().join(below)))
            .collect::<Vec<_>>()
            .into_iter();
        folders.any(|folder| names(folder).any(is_it))
    }

    /// Returns the text of a note; `None` if there is none.
    pub(super) fn text(&self, path: &str) -> Result<Option<String>, Error> {
        self.place.read(path).map(|found| found.text)
    }

    /// Makes all writes durable, then the register.
    pub(super) fn settle(&mut self) -> Result<(), Refused> {
        self.place.settle()?;
        self.register.save().map_err(|error| not_remembered(&error))
    }

    /// Finds the note of a session, even if a person has moved it: if it is not where it was, the vault is walked
    /// again.
    pub(super) fn note_of(&mut self, id: &SessionId) -> Result<Note, Refused> {
        match self.note_as_known(id)? {
            Note::Removed(_) => {
                self.look_again()?;
                self.note_as_known(id)
            }
            note => Ok(note),
        }
    }

    /// The same without walking the vault again.
    pub(super) fn note_as_known(&mut self, id: &SessionId) -> Result<Note, Refused> {
        let named = self.index()?.note(id).map(str::to_owned);
        let known = self.register.get(id).and_then(|entry| entry.note.clone());
        let Some(path) = known.or_else(|| named.clone()) else { return Ok(Note::None) };
        if self.is_there(&path)? {
            return Ok(Note::There(path));
        }
        match named {
            Some(moved) if moved != path && self.is_there(&moved)? => Ok(Note::There(moved)),
            _ => Ok(Note::Removed(path)),
        }
    }

    /// Updates links to a session's note that a person has renamed since it was written. Returns true if it was
    /// renamed.
    pub(super) fn follow(&mut self, id: &SessionId, path: &str) -> Result<bool, Refused> {
        let Some(before) = self.register.get(id).and_then(|entry| entry.note.clone()) else { return Ok(false) };
        let (Some(from), Some(to)) = (stem(&before), stem(path)) else { return Ok(false) };
        if from == to {
            return Ok(false);
        }
        let (link, other, tag) = (format!("[[{from}"), format!("[[{to}"), forget::tag(from));
        for note in self.place.all()?.0 {
            let edited = self.edit(&note, &mut |text| {
                let tells = |text: &str| forget::remembered(text).contains(&tag);
                let text = text.filter(|text| text.contains(&link) || text.contains(&other) || tells(text))?;
                relink_session(text, from, to)
            });
            match edited {
                Err(Error::Vault(refused)) => return Err(refused),
                // It is a person's or being written: its links stay as they are.
                Ok(_) | Err(Error::Left(_) | Error::Changed) => {}
            }
        }
        Ok(true)
    }

    fn is_there(&self, path: &str) -> Result<bool, Refused> {
        match self.place.read(path) {
            Ok(found) => Ok(found.text.is_some()),
            Err(Error::Vault(refused)) => Err(refused),
            Err(Error::Left(_) | Error::Changed) => Ok(true),
        }
    }
}

/// Where the note of a session is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Note {
    /// The session never had one.
    None,
    /// At this path.
    There(String),
    /// Somebody has removed it from this path.
    Removed(String),
}

/// The register cannot be written.
pub(super) fn not_remembered(error: &std::io::Error) -> Refused {
    Refused {
        what: format!("what was written cannot be recorded: {}: {error}", super::register::FOLDER),
        fix: "free space on the disk of BATON_HOME; until then notes are checked again after a start".to_owned(),
    }
}

/// The day by which notes are dated.
pub(super) fn day(now: Timestamp) -> Day {
    Day::from_timestamp(now)
}
