//! The vault that is written to: one at a time, with its register, its outbox and the index of its names. All functions
//! block for the disk.

mod change_stamp;
mod session_note;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use baton_base::clock::Clock;
use baton_conversation::record::SessionId;
use baton_events::projection::table::SessionTable;
use baton_notes::forget::Remainder;
use baton_notes::layout::{Layout, NoteRole};
use baton_notes::note::Wanted;
use baton_notes::verify::{VaultIndex, links};
use baton_notes::{Day, merge, relink_entities};
use uuid::Uuid;

use super::index::{FormerNames, Index};
use super::outbox::Outbox;
use super::owed_sessions::OwedSessions;
use super::register::Register;
use super::vault_fs::{Error, Found, Refused, Stamp, VaultFs, of_file};
use baton_config::settings;
use baton_config::settings::Settings;
use change_stamp::ChangeStamp;
pub(super) use session_note::Note;

/// How often a note is read again while another program writes it.
pub(super) const TRIES: u32 = 8;

/// The open vault of a home, and its outbox.
pub(super) struct Vaults {
    home: PathBuf,
    pub(super) outbox: Outbox,
    opened: Option<OpenVault>,
}

/// An open vault.
pub(super) struct OpenVault {
    pub(super) settings: settings::Vault,
    pub(super) vault_fs: VaultFs,
    pub(super) layout: Layout,
    pub(super) register: Register,
    /// `None` if the vault was not walked since it was last unreachable.
    index: Option<Index>,
    /// The state of all notes at the last walk, updated by our own writes.
    change_stamp: Option<ChangeStamp>,
    /// Pages that many sessions update, written once at the end of a group.
    pub(super) held_back: Option<Vec<Wanted>>,
    /// The sessions whose notes are owed.
    owed_sessions: OwedSessions,
    /// Entities whose shared notes this process has written.
    pub(super) promoted: BTreeSet<Uuid>,
    /// Number of walks since [`OpenVault::take_walks`].
    walks: u64,
    /// Names that entity notes had before the last walk.
    former_names: FormerNames,
    /// Notes in which the last walk found dangling links.
    dangling: Option<BTreeSet<String>>,
    /// Those whose links to entities could not be updated.
    not_relinked: BTreeSet<String>,
}

/// A note as a walk finds it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Seen<'a> {
    /// Its text.
    Text(&'a str),
    /// Another program is writing or moving it.
    Changing,
    /// It is unreadable.
    Unreadable,
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

/// The result of changing a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Changed {
    No,
    Written,
    Gone,
}

impl Vaults {
    /// Opens the outbox of a home; vaults are opened by [`Vaults::open`]. Blocks for short reads.
    pub(super) fn new(home: &Path) -> Self {
        Self { home: home.to_owned(), outbox: Outbox::open(home), opened: None }
    }

    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    /// Opens the vault of these settings, which may be unreachable, unless it is open already.
    pub(super) fn open(&mut self, settings: &settings::Vault) -> Result<(&mut OpenVault, &mut Outbox), Refused> {
        let is_same = |open: &OpenVault| open.settings.path == settings.path && open.settings.root == settings.root;
        if !self.opened.as_ref().is_some_and(is_same) {
            self.opened = None;
            let register = Register::open(&self.home, settings).map_err(|error| Refused {
                what: format!("what was written before is unknown: {}: {error}", super::register::FOLDER),
                fix: "make it readable for you, or remove it: then every session is written into its note again"
                    .to_owned(),
            })?;
            self.opened = Some(OpenVault::new(settings.clone(), &self.home, register)?);
        }
        match &mut self.opened {
            Some(open) => {
                open.settings = settings.clone();
                Ok((open, &mut self.outbox))
            }
            None => Err(Refused { what: "no vault is open".to_owned(), fix: "run `baton vault sync`".to_owned() }),
        }
    }

    /// The vault that is open, if any.
    pub(super) fn opened(&mut self) -> Option<&mut OpenVault> {
        self.opened.as_mut()
    }
}

impl OpenVault {
    /// Creates a vault with its register.
    pub(super) fn new(settings: settings::Vault, home: &Path, register: Register) -> Result<Self, Refused> {
        let layout = Layout::below(&settings.root).ok_or_else(|| Refused {
            what: format!("{} is not the name of a folder", settings.root),
            fix: "set vault.root to another one".to_owned(),
        })?;
        let vault_fs = VaultFs::from_settings(&settings, home);
        Ok(Self {
            settings,
            vault_fs,
            layout,
            register,
            index: None,
            change_stamp: None,
            held_back: None,
            owed_sessions: OwedSessions::default(),
            promoted: BTreeSet::new(),
            walks: 0,
            former_names: FormerNames::default(),
            dangling: None,
            not_relinked: BTreeSet::new(),
        })
    }

    /// Returns the sessions whose notes are owed, after examining what has changed since the last call.
    pub(super) fn owed(&mut self, table: &SessionTable, settings: &Arc<Settings>) -> &OwedSessions {
        self.owed_sessions.update(table, settings, &mut self.register);
        &self.owed_sessions
    }

    /// Makes the next call of [`OpenVault::owed`] examine every session.
    pub(super) fn reset_owed(&mut self) {
        self.owed_sessions = OwedSessions::default();
    }

    /// Checks that the vault is there; with `anew` even if written notes are missing.
    pub(super) fn check(&mut self, anew: bool) -> Result<(), Refused> {
        let looked = self.vault_fs.check(self.register.has_notes() && !anew);
        if looked.is_err() {
            self.drop_index();
        }
        looked
    }

    /// Returns the index; walks the vault if there is none.
    pub(super) fn index(&mut self) -> Result<&mut Index, Refused> {
        self.index_reporting(&mut |_, _| {})
    }

    /// The same, reporting each note that the walk reads.
    pub(super) fn index_reporting(&mut self, see: &mut dyn FnMut(&str, &Seen<'_>)) -> Result<&mut Index, Refused> {
        let index = match self.index.take() {
            Some(index) => index,
            None => {
                // With the lock held, temporary files are leftovers and not another home's.
                let _lock = self.vault_fs.lock()?;
                if let Some(id) = self.vault_fs.ensure_id()
                    && let Err(error) = self.register.set_id(&id)
                {
                    tracing::debug!(%error, "id of the folder of notes not recorded");
                }
                for file in self.vault_fs.list_notes()?.1 {
                    let _ = std::fs::remove_file(file);
                }
                self.walk(see)?
            }
        };
        Ok(self.index.insert(index))
    }

    /// Walks the vault again if its notes have changed since the last walk.
    pub(super) fn refresh_index(&mut self) -> Result<(), Refused> {
        if let (Some(change_stamp), Some(_)) = (&self.change_stamp, &self.index)
            && change_stamp.matches(&self.vault_fs, &self.vault_fs.list_notes()?.0)
        {
            // Files that could not be written may be writable now.
            if !self.not_relinked.is_empty() {
                self.dangling.get_or_insert_default().append(&mut self.not_relinked);
            }
            return Ok(());
        }
        self.rebuild_index(&mut |_, _| {})
    }

    /// Walks the vault again in any case, reporting each note that it reads.
    pub(super) fn rebuild_index(&mut self, see: &mut dyn FnMut(&str, &Seen<'_>)) -> Result<(), Refused> {
        self.drop_index();
        self.index = Some(self.walk(see)?);
        Ok(())
    }

    /// Returns the number of walks since the last call.
    pub(super) fn take_walks(&mut self) -> u64 {
        std::mem::take(&mut self.walks)
    }

    fn walk(&mut self, see: &mut dyn FnMut(&str, &Seen<'_>)) -> Result<Index, Refused> {
        self.walks += 1;
        let mut index = Index::default();
        let (notes, _) = self.vault_fs.list_notes()?;
        let known = VaultIndex::new(notes.iter().map(String::as_str), self.layout.root());
        let (mut dangling, mut change_stamp) = (BTreeSet::new(), ChangeStamp::default());
        for path in notes {
            // Taken before the note is read.
            change_stamp.add(&path, self.vault_fs.stamp(&path));
            let read = self.vault_fs.read(&path);
            let seen = match &read {
                Ok(Found { text: Some(text), .. }) => Seen::Text(text),
                Ok(_) | Err(Error::Changed) => Seen::Changing,
                Err(Error::LeftAlone(_)) => Seen::Unreadable,
                Err(Error::Vault(refused)) => return Err(refused.clone()),
            };
            // The name is in use even if the note is unreadable.
            let text = match seen {
                Seen::Text(text) => text,
                Seen::Changing | Seen::Unreadable => {
                    change_stamp.add_unreadable(&path);
                    ""
                }
            };
            index.add(&path, text, &self.layout);
            see(&path, &seen);
            if text.lines().flat_map(links).any(|target| !known.is_link_target(target)) {
                dangling.insert(path);
            }
        }
        (self.dangling, self.change_stamp) = (Some(dangling), Some(change_stamp));
        self.not_relinked.clear();
        Ok(index)
    }

    /// Updates links to entity notes that people have renamed or moved; does so once per walk. The caller holds the
    /// vault's lock. Returns true if any note was changed.
    pub(super) fn relink_entity_notes(&mut self) -> Result<bool, Refused> {
        let Some(index) = &self.index else { return Ok(false) };
        let Some(mut dangling) = self.dangling.take() else { return Ok(false) };
        dangling.extend(index.notes_with_conflicts().map(str::to_owned));
        if dangling.is_empty() {
            return Ok(false);
        }
        let (entities, layout) = (index.entity_notes(&self.former_names), self.layout.clone());
        let notes = self.vault_fs.list_notes()?.0;
        let known = VaultIndex::new(notes.iter().map(String::as_str), layout.root());
        let mut has_changed = false;
        while let Some(note) = dangling.pop_first() {
            let edited = self.edit(&note, &mut |text| {
                relink_entities(text?, &note, &layout, &entities, &|target| known.is_link_target(target))
            });
            match edited {
                Err(Error::Vault(refused)) => {
                    dangling.insert(note);
                    self.not_relinked.append(&mut dangling);
                    return Err(refused);
                }
                Ok(changed) => has_changed |= changed,
                // It is unwritable or being written: its links stay as they are until the next look.
                Err(Error::LeftAlone(_) | Error::Changed) => drop(self.not_relinked.insert(note)),
            }
        }
        Ok(has_changed)
    }

    /// Returns true if these notes exist where they are expected; otherwise walks the vault again.
    pub(super) fn check_places(&mut self, places: &[NoteRole]) -> Result<bool, Refused> {
        let are_there = places.iter().all(|place| self.vault_fs.exists(&self.layout.path(place)));
        if !are_there {
            self.refresh_index()?;
        }
        Ok(are_there)
    }

    /// The index, if the vault was walked.
    pub(super) fn known_index(&self) -> Option<&Index> {
        self.index.as_ref()
    }

    /// The index as far as it is known without the vault. Call [`OpenVault::drop_index`] afterwards.
    pub(super) fn index_or_default(&mut self) -> &mut Index {
        self.index.get_or_insert_with(Index::default)
    }

    /// The same together with the register.
    pub(super) fn register_and_index(&mut self) -> (&Register, &Index) {
        (&self.register, self.index.get_or_insert_with(Index::default))
    }

    /// Drops the index, which must not be relied on if names were chosen without the vault.
    pub(super) fn drop_index(&mut self) {
        self.change_stamp = None;
        if let Some(former_names) =
            self.index.take().map(Index::into_former).filter(|former_names| !former_names.is_empty())
        {
            self.former_names = former_names;
        }
    }

    /// Merges notes into files, each read again before it is written.
    pub(super) fn merge_notes(&mut self, wanted: &[Wanted], written: &mut Written) -> Result<(), Refused> {
        for Wanted { path, note } in wanted {
            let before = self.index.as_ref().map_or(0, |index| index.conflicts_of(path));
            let (mut conflicts, mut is_sure) = (0, false);
            let edited = loop {
                let mut is_news = false;
                let edited = self.edit(path, &mut |text| {
                    let merged = merge(text, note);
                    conflicts = merged.conflicts as u64;
                    is_news = conflicts > before && !is_sure;
                    (merged.changed && !is_news).then_some(merged.text)
                });
                if !is_news {
                    break edited;
                }
                // A program may only have changed links to a note that a person has renamed.
                self.refresh_index()?;
                self.relink_entity_notes()?;
                is_sure = true;
            };
            written.conflicts += conflicts.saturating_sub(before);
            match of_file(edited)? {
                Ok(changed) => written.files += u64::from(changed),
                Err(why) => written.left.push((path.clone(), why)),
            }
        }
        Ok(())
    }

    /// Changes a file, and retries if another program writes it meanwhile. Returns true if the file was changed.
    pub(super) fn edit(
        &mut self,
        path: &str,
        change: &mut dyn FnMut(Option<&str>) -> Option<String>,
    ) -> Result<bool, Error> {
        let change = &mut |text: Option<&str>| change(text).map_or(Remainder::Unchanged, Remainder::Text);
        self.edit_or_remove(path, change).map(|changed| changed == Changed::Written)
    }

    /// The same, but removes the file if nothing remains.
    pub(super) fn edit_or_remove(
        &mut self,
        path: &str,
        change: &mut dyn FnMut(Option<&str>) -> Remainder,
    ) -> Result<Changed, Error> {
        for _ in 0..TRIES {
            let found = self.vault_fs.read(path)?;
            found.text.iter().for_each(|text| self.record_head(path, text));
            let written = match change(found.text.as_deref()) {
                Remainder::Unchanged => return Ok(Changed::No),
                Remainder::Nothing => self.vault_fs.remove(&found).map(|_| Changed::Gone),
                Remainder::Text(text) => self.vault_fs.write(&found, &text).map(|stamp| {
                    self.record_write(path, &text, found.seen, stamp);
                    Changed::Written
                }),
            };
            match written {
                Err(Error::Changed) => {}
                written => return written,
            }
        }
        Err(Error::Changed)
    }

    /// Records a write in the index and the change stamp.
    pub(super) fn record_write(&mut self, path: &str, text: &str, before: Option<Stamp>, stamp: Option<Stamp>) {
        if let Some(index) = &mut self.index {
            index.add(path, text, &self.layout);
        }
        self.change_stamp = self.change_stamp.take().zip(stamp).map(|(mut change_stamp, stamp)| {
            change_stamp.replace(path, before, stamp);
            change_stamp
        });
    }

    /// Records whether the head of a note is readable.
    pub(super) fn record_head(&mut self, path: &str, text: &str) {
        if let Some(index) = &mut self.index {
            index.record_head(path, text);
        }
    }

    /// Returns the text of a note; `None` if there is none.
    pub(super) fn read_text(&self, path: &str) -> Result<Option<String>, Error> {
        self.vault_fs.read(path).map(|found| found.text)
    }

    /// Makes all writes durable, then the register.
    pub(super) fn sync(&mut self) -> Result<(), Refused> {
        self.vault_fs.sync()?;
        self.register.save().map_err(|error| cannot_record(&error))
    }
}

impl OpenVault {
    /// The rule of the time zone of a session's dates: the one in which its note was named, else the daemon's.
    pub(super) fn zone_rule(&self, id: &SessionId, clock: &dyn Clock) -> Option<String> {
        match self.register.get(id).filter(|entry| entry.linked_note().is_some()) {
            Some(entry) => entry.zone.clone(),
            // The register was lost, or another home wrote the note.
            None if self.known_index().is_some_and(|index| index.session_note(id).is_some()) => None,
            None => clock.zone_rule(),
        }
    }
}

/// The register cannot be written.
pub(super) fn cannot_record(error: &std::io::Error) -> Refused {
    Refused {
        what: format!("what was written cannot be recorded: {}: {error}", super::register::FOLDER),
        fix: "free space on the disk of BATON_HOME; until then notes are checked again after a start".to_owned(),
    }
}

/// The day by which notes are dated.
pub(super) fn day(clock: &dyn Clock) -> Day {
    Day::from_timestamp(clock.now(), clock.zone())
}
