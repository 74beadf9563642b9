//! Where notes are written: one vault, its register, what waits for it, and the names in it. One at a time works here, and
//! blocks for the disk.

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

/// How often a note is read again that somebody writes at the same time.
pub(super) const TRIES: u32 = 8;

/// Where sessions' notes lie in a project's folder, and their copies.
const SESSIONS: [&str; 2] = ["sessions", "archive/sessions"];

/// See the module.
pub(super) struct Desk {
    home: PathBuf,
    pub(super) pending: Pending,
    open: Option<Open>,
}

/// A vault that is written to.
pub(super) struct Open {
    pub(super) settings: settings::Vault,
    pub(super) place: Place,
    pub(super) layout: Layout,
    pub(super) register: Register,
    /// `None`: it has not been gone through since it was last out of reach.
    index: Option<Index>,
    /// What the notes were when it was gone through, and what was written since.
    tally: Option<Tally>,
    /// Pages written once for many sessions, at the end of a group of them.
    pub(super) held_back: Option<Vec<Wanted>>,
    /// Which ends are in no note yet.
    owing: Owing,
    /// Entities whose shared notes are written, as far as this process knows.
    pub(super) promoted: BTreeSet<Uuid>,
    /// How often the vault was gone through since it was last told.
    looks: u64,
    /// What notes of entities were called before the vault was gone through.
    former: Former,
    /// Notes with links that lead nowhere, as they were found when the vault was gone through.
    astray: Option<BTreeSet<String>>,
    /// Those in which links to entities could not be made to follow.
    unfollowed: BTreeSet<String>,
}

/// A note as it is found when the vault is gone through.
#[derive(Clone, Copy, Debug)]
pub(super) enum Seen<'a> {
    /// What it says.
    Text(&'a str),
    /// Somebody is writing or moving it.
    Changing,
    /// It cannot be read.
    Left,
}

/// What became of files that were to be written.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// Files that were written.
    pub(super) files: u64,
    /// Blocks that people have taken over, found now.
    pub(super) conflicts: u64,
    /// Files that are left alone, with why.
    pub(super) left: Vec<(String, String)>,
}

impl Desk {
    /// Of a home. Blocks for short reads.
    pub(super) fn open(home: &Path) -> Self {
        Self { home: home.to_owned(), pending: Pending::open(home), open: None }
    }

    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    /// The vault of some settings, which may be out of reach.
    pub(super) fn at(&mut self, settings: &settings::Vault) -> Result<(&mut Open, &mut Pending), Refused> {
        let is_same = |open: &Open| open.settings.path == settings.path && open.settings.root == settings.root;
        if !self.open.as_ref().is_some_and(is_same) {
            self.open = None;
            let register = Register::open(&self.home, settings).map_err(|error| Refused {
                what: format!("what was written cannot be told: {}: {error}", super::register::FOLDER),
                fix: "make it readable for you, or remove it: then every session is brought into its note once more"
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

    /// The vault that was last written to, if it is this one's.
    pub(super) fn known(&mut self) -> Option<&mut Open> {
        self.open.as_mut()
    }
}

impl Open {
    /// A vault, by its register.
    pub(super) fn new(settings: settings::Vault, home: &Path, register: Register) -> Result<Self, Refused> {
        let layout = Layout::below(&settings.root).ok_or_else(|| Refused {
            what: format!("{} is no folder's name", settings.root),
            fix: "name another one in vault.root".to_owned(),
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

    /// The sessions whose note lacks something: what has changed since this was last asked is looked at.
    pub(super) fn owed(&mut self, table: &SessionTable, settings: &Arc<Settings>) -> &Owing {
        self.owing.look(table, settings, &mut self.register);
        &self.owing
    }

    /// Has every row looked at when it is asked again what is owed.
    pub(super) fn forget_owed(&mut self) {
        self.owing = Owing::default();
    }

    /// Looks whether the vault is there; `anew`: although notes that were written are not.
    pub(super) fn look(&mut self, anew: bool) -> Result<(), Refused> {
        let looked = self.place.look(self.register.has_notes() && !anew);
        if looked.is_err() {
            self.forget_names();
        }
        looked
    }

    /// The names in the vault; it is gone through where that has not been done.
    pub(super) fn index(&mut self) -> Result<&mut Index, Refused> {
        self.index_seeing(&mut |_, _| {})
    }

    /// The same, telling of each note that is read for it.
    pub(super) fn index_seeing(&mut self, see: &mut dyn FnMut(&str, &Seen<'_>)) -> Result<&mut Index, Refused> {
        let index = match self.index.take() {
            Some(index) => index,
            None => {
                // What is being written is another home's, unless nobody writes.
                let _turn = self.place.turn()?;
                if let Some(id) = self.place.id()
                    && let Err(error) = self.register.identify(&id)
                {
                    tracing::debug!(%error, "what the folder of notes is known by is not remembered");
                }
                for file in self.place.all()?.1 {
                    let _ = std::fs::remove_file(file);
                }
                self.gone_through(see)?
            }
        };
        Ok(self.index.insert(index))
    }

    /// Goes through the vault again: a person has moved something. Unless all notes are as they were.
    pub(super) fn look_again(&mut self) -> Result<(), Refused> {
        if let (Some(tally), Some(_)) = (&self.tally, &self.index)
            && tally.is_of(&self.place, &self.place.all()?.0)
        {
            // What could not be written may be by now.
            if !self.unfollowed.is_empty() {
                self.astray.get_or_insert_default().append(&mut self.unfollowed);
            }
            return Ok(());
        }
        self.look_again_seeing(&mut |_, _| {})
    }

    /// The same, telling of each note that is read for it.
    pub(super) fn look_again_seeing(&mut self, see: &mut dyn FnMut(&str, &Seen<'_>)) -> Result<(), Refused> {
        self.forget_names();
        self.index = Some(self.gone_through(see)?);
        Ok(())
    }

    /// How often the vault was gone through since this was last asked.
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
            // As it was before it is read.
            tally.add(&path, self.place.stamp(&path));
            let read = self.place.read(&path);
            let seen = match &read {
                Ok(Found { text: Some(text), .. }) => Seen::Text(text),
                Ok(_) | Err(Error::Changed) => Seen::Changing,
                Err(Error::Left(_)) => Seen::Left,
                Err(Error::Vault(refused)) => return Err(refused.clone()),
            };
            // Its name is taken also where it cannot be read.
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

    /// Has links to notes of entities follow these, where persons have given them another name or put them elsewhere: once after the
    /// vault was gone through. For who has its turn. Whether there were any.
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
                // It may not be written, or is being: its links stay as they are until somebody looks again.
                Err(Error::Left(_) | Error::Changed) => drop(self.unfollowed.insert(note)),
            }
        }
        Ok(has_changed)
    }

    /// Whether notes of entities are where they are known to be; the vault is gone through again where one is not.
    pub(super) fn are_there(&mut self, places: &[Lies]) -> Result<bool, Refused> {
        let are_there = places.iter().all(|place| self.place.has(&self.layout.path(place)));
        if !are_there {
            self.look_again()?;
        }
        Ok(are_there)
    }

    /// The names, if the vault was gone through.
    pub(super) fn known_names(&self) -> Option<&Index> {
        self.index.as_ref()
    }

    /// The names as far as they are known, without the vault: not to be believed afterwards, see [`Open::forget_names`].
    pub(super) fn names(&mut self) -> &mut Index {
        self.index.get_or_insert_with(Index::default)
    }

    /// The same, with what was brought in.
    pub(super) fn names_and_register(&mut self) -> (&Register, &Index) {
        (&self.register, self.index.get_or_insert_with(Index::default))
    }

    /// Names are not to be believed that were chosen without the vault.
    pub(super) fn forget_names(&mut self) {
        self.tally = None;
        if let Some(former) = self.index.take().map(Index::into_former).filter(|former| !former.is_empty()) {
            self.former = former;
        }
    }

    /// Brings what is wanted into files, each read again before it is written.
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
                // It may be links alone that a program has changed, after a note that a person has renamed.
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

    /// Changes a file, if it is to be changed, whoever writes it meanwhile. Whether it was.
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

    /// Takes in what was written, and what the file is known by before and since.
    pub(super) fn take_in(&mut self, path: &str, text: &str, before: Option<Stamp>, stamp: Option<Stamp>) {
        if let Some(index) = &mut self.index {
            index.take(path, text, &self.layout);
        }
        self.tally = self.tally.take().zip(stamp).map(|(mut tally, stamp)| {
            tally.replace(path, before, stamp);
            tally
        });
    }

    /// Takes in whether the head of a note can be read.
    pub(super) fn note_head(&mut self, path: &str, text: &str) {
        if let Some(index) = &mut self.index {
            index.note_head(path, text);
        }
    }

    /// Whether a session's note, or its copy in the archive, is called so in any project's folder now: another home may have
    /// written it since the names were looked at. `key` is the [`name::key`] of the name, which begins with a day.
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

    /// What a note says. `None`: it is not there.
    pub(super) fn text(&self, path: &str) -> Result<Option<String>, Error> {
        self.place.read(path).map(|found| found.text)
    }

    /// Has everything survive a power cut that was written, and remembers then that it was.
    pub(super) fn settle(&mut self) -> Result<(), Refused> {
        self.place.settle()?;
        self.register.save().map_err(|error| not_remembered(&error))
    }

    /// The note of a session, wherever a person has put it: the vault is gone through again for one that is not where it was.
    pub(super) fn note_of(&mut self, id: &SessionId) -> Result<Note, Refused> {
        match self.note_as_known(id)? {
            Note::Removed(_) => {
                self.look_again()?;
                self.note_as_known(id)
            }
            note => Ok(note),
        }
    }

    /// The same by the names that are known.
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

    /// Has what leads to a session's note follow it, where a person has given it another name since it was brought in. Whether
    /// that is so.
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
                // It is a person's, or being written: its links stay as they are.
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

/// What there is of a session's note.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Note {
    /// It never had one.
    None,
    /// Here.
    There(String),
    /// Somebody has removed it from here.
    Removed(String),
}

/// The register takes nothing.
pub(super) fn not_remembered(error: &std::io::Error) -> Refused {
    Refused {
        what: format!("what was written cannot be remembered: {}: {error}", super::register::FOLDER),
        fix: "free space on the disk of BATON_HOME; until then notes are looked at once more after a start".to_owned(),
    }
}

/// The day by which notes are dated.
pub(super) fn day(now: Timestamp) -> Day {
    Day::from_timestamp(now)
}
