//! Writes one session into its notes: reads the session's facts, chooses names once, and merges every note into the
//! existing file.

use baton_conversation::record::SessionId;
use baton_episode::digest;
use baton_episode::digest::Abridged;
use baton_events::projection::table::Row;
use baton_events::session::CloseReason;
use baton_graph as graph;
use baton_graph::Surroundings;
use baton_notes::facts;
use baton_notes::facts::{About, Entity, MAX_PROMPTS, SessionFacts};
use baton_notes::layout::Place as Lies;
use baton_notes::note::{Body, Line, Wanted};
use baton_notes::session::Status;
use baton_notes::threshold;
use baton_notes::threshold::Limits;
use baton_notes::{Day, forget, knowledge, merge, name, session, start};

use super::compaction::{self, Compacted};
use super::open_vault::{Note, Open, TRIES, Written, not_remembered};
use super::outbox::Pending;
use super::register::Entry;
use super::vault_fs::{Error, Refused};
use super::{index, owed_sessions, predecessors};
use baton_config::settings;

/// The project folder of sessions whose directory is unknown.
const NOWHERE: &str = "elsewhere";

/// The result of writing a session.
#[derive(Debug, Default)]
pub(super) struct Brought {
    pub(super) written: Written,
    /// True if nobody typed anything in it. Prompts that settings hide count as typed.
    pub(super) is_without_note: bool,
    /// Set if its note exceeded a threshold.
    pub(super) compacted: Option<Compacted>,
}

/// Why a session was not written.
#[derive(Debug)]
pub(super) enum Failed {
    /// The vault refuses.
    Refused(Refused),
    /// Its conversation is unreadable.
    Unreadable(String),
}

impl From<Refused> for Failed {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

/// One session to be written.
pub(super) struct Bringing<'a> {
    pub(super) around: &'a super::Surroundings,
    pub(super) id: &'a SessionId,
    pub(super) row: &'a Row,
    pub(super) stamp: String,
    pub(super) today: Day,
    /// True if a note that somebody has removed is written again.
    pub(super) is_asked: bool,
}

impl Bringing<'_> {
    /// Writes the notes of the session. Puts them into the outbox if the vault refuses.
    pub(super) fn carry_out(&self, open: &mut Open, pending: &mut Pending) -> Result<Brought, Failed> {
        // While the vault is unreachable, the last known names are used.
        let looked = open.look(self.is_asked).and_then(|()| open.index().map(drop));
        let folder = self.folder(open, looked.is_ok());
        if looked.is_err() {
            open.forget_names();
        }
        let mut told = self.told(folder)?;
        let show = self.around.settings.now().filtering;
        if !told.is_worth_a_note() && !owed_sessions::is_unshown(self.row, &show) {
            // Lines may already link to a note that was begun.
            let begun = open.register.get(self.id).and_then(|entry| entry.begun.clone());
            open.register.put(self.id, Entry { stamp: self.stamp.clone(), begun, ..Entry::default() });
            let _ = pending.remove(self.id);
            return Ok(Brought { is_without_note: true, ..Brought::default() });
        }
        let brought = looked.and_then(|()| {
            let _turn = open.place.turn()?;
            self.write(open, &mut told)
        });
        match brought {
            Ok(brought) => {
                if let Err(error) = pending.remove(self.id) {
                    tracing::warn!(session = %self.id, %error, "delivered notes are still in vault-pending");
                }
                Ok(brought)
            }
            Err(refused) => {
                // The session stays owed, whether or not the outbox has room.
                if let Err(error) = pending.put(self.id, &self.stamp, &self.finished(open, &mut told)) {
                    tracing::warn!(session = %self.id, %error, "finished notes not kept in vault-pending");
                }
                open.forget_names();
                Err(refused.into())
            }
        }
    }

    /// Returns the session's project folder: the known one, or a new one, avoiding a folder that another home has
    /// created since the last walk. A new one is recorded only if the vault is reachable.
    pub(super) fn folder(&self, open: &mut Open, is_there: bool) -> String {
        for _ in 0..TRIES {
            let (folder, is_new) = self.choose_folder(open);
            if is_there && is_new && open.place.has(&open.layout.project(&folder)) && open.look_again().is_ok() {
                // A folder without notes of Baton is free to use.
                if open.names().is_project(&name::key(&folder)) {
                    continue;
                }
            }
            if is_there {
                let directory = self.directory();
                if open.register.folder(directory).is_none() {
                    open.register.put_folder(directory, &folder);
                }
            }
            return folder;
        }
        self.choose_folder(open).0
    }

    /// The session's directory.
    fn directory(&self) -> &str {
        self.row.state.place.as_ref().map_or(NOWHERE, |place| place.project.as_str())
    }

    /// Returns its folder by the known names, and true if the folder is new.
    fn choose_folder(&self, open: &mut Open) -> (String, bool) {
        let directory = self.directory();
        if let Some(known) = open.register.folder(directory) {
            return (known.to_owned(), false);
        }
        let layout = open.layout.clone();
        let own: Vec<String> = open.register.folders().map(|(_, folder)| name::key(folder)).collect();
        let names = open.names();
        let of_note = |path: &str| match layout.place(path) {
            Some(Lies::Session(folder, _)) => Some(folder),
            _ => None,
        };
        let known = names.note(self.id).and_then(of_note).or_else(|| names.folder_of(directory).map(str::to_owned));
        let is_taken = |key: &str| names.is_project(key) || own.iter().any(|known| known == key);
        match known {
            Some(known) => (known, false),
            None => (facts::project_name(directory, is_taken), true),
        }
    }

    /// Reads the session's facts for the notes; names are not chosen yet, except for the project folder. Blocks for
    /// reads.
    pub(super) fn told(&self, folder: String) -> Result<SessionFacts, Failed> {
        let (around, state) = (self.around, &self.row.state);
        let unreadable = |error: &dyn std::fmt::Display| Failed::Unreadable(error.to_string());
        let Some(current) = state.episode.clone() else {
            return Err(Failed::Unreadable("it has no episode any more".to_owned()));
        };
        let show = around.settings.now().filtering;
        let read = around.conversations.digest(self.id, current, &show).map_err(|error| unreadable(&error))?;
        let (current, episode) = read;
        let items = around.conversations.read(self.id, current, |current| {
            let mut abridged = Abridged::default();
            baton_store::conversation::for_each_item(&around.chunks, self.id, current, |item| abridged.push(item))?;
            Ok((abridged.left_out() == 0, abridged.into_items()))
        });
        let (current, (is_whole, items)) = items.map_err(|error| unreadable(&error))?;
        let typed = digest::typed(&items, &show, MAX_PROMPTS);
        let project = state.place.as_ref().map(|place| place.project.as_str());
        let surroundings = Surroundings {
            session: self.id,
            group: state.group_id().unwrap_or_default(),
            project,
            parent: state.parent(),
            follows: state.signals.follows.as_ref().map(|follows| &follows.session),
        };
        let graph = graph::graph(&items, &episode, &surroundings);
        let about = About {
            session: self.id.clone(),
            others: predecessors::continued(&around.table.now(), &around.settings.now(), self.id, self.row),
            episode: Some(current.uuid),
            project: folder,
            note: String::new(),
            started: state.first_at.unwrap_or(state.discovered_at),
            // A timeout is noticed long after the last activity.
            ended: state.end.map(|end| match end.reason {
                CloseReason::InactivityTimeout => state.last_activity(),
                _ => end.at,
            }),
        };
        let mut told = SessionFacts::new(about, project, &episode.marked(), &graph);
        // The episode contains only the last prompts.
        told.log(&typed, is_whole);
        if !show.keep_user_messages {
            // These are a person's words, and the graph contains them whatever the settings.
            told.preferences.clear();
        }
        Ok(told)
    }

    /// Chooses names where none are known. `known` is the path of its note.
    pub(super) fn name(&self, open: &mut Open, told: &mut SessionFacts, known: Option<&str>) {
        told.about.note = known.and_then(index::stem).unwrap_or_default().to_owned();
        if told.about.note.is_empty() {
            let (register, names) = open.names_and_register();
            told.about.note = told.note_name(|key| names.is_session(key) || register.is_named(key, self.id));
        }
        let project = told.about.project.clone();
        open.names().name_session(&told.about.note);
        let (register, names) = open.names_and_register();
        let others = |entity: &Entity| {
            let others = register.others_with(&entity.uuid, self.id).into_iter();
            others.filter_map(|(note, text)| Some(Line::supported(text.to_owned(), index::stem(note)?))).collect()
        };
        told.note_entities(|entity| names.entity(&project, entity).is_some(), others);
        let names = open.names();
        told.name_entities(|entity| names.entity(&project, entity), |key| names.is_entity(&project, key));
    }

    /// Chooses another name while another session's note has this one, in any project: links consist of the name alone,
    /// and another home may have written a note since the last walk.
    fn make_way(&self, open: &mut Open, told: &mut SessionFacts) -> Result<(), Refused> {
        let mut closed = None;
        for _ in 0..TRIES {
            let place = Lies::Session(told.about.project.clone(), told.about.note.clone());
            match open.text(&open.layout.path(&place)) {
                Ok(text) => {
                    let identity = text.as_deref().and_then(session::identity);
                    let is_own = |id: &String| id == self.id.as_str();
                    if identity.is_some_and(|identity| identity.own.iter().any(is_own)) {
                        return Ok(());
                    }
                    if text.is_none() && !open.is_called(&name::key(&told.about.note)) {
                        return Ok(());
                    }
                }
                Err(Error::Vault(refused)) => return Err(refused),
                // If a second name fails as well, the folder is the cause: keep the first name, and writing it reports
                // the reason.
                Err(Error::Left(_)) => match closed.take() {
                    Some(first) => {
                        told.about.note = first;
                        return Ok(());
                    }
                    None => closed = Some(told.about.note.clone()),
                },
                Err(Error::Changed) => {}
            }
            open.look_again()?;
            open.names().name_session(&told.about.note);
            self.name(open, told, None);
        }
        // Never overwrite another session's note.
        Err(Refused {
            what: "another home writes notes with the same names".to_owned(),
            fix: "it is tried again".to_owned(),
        })
    }

    /// Chooses names for entities again while an unknown note, such as another home's, is in the way of a new one, or a
    /// known note was moved by a person.
    pub(super) fn make_way_for_entities(&self, open: &mut Open, told: &mut SessionFacts) -> Result<(), Refused> {
        for _ in 0..TRIES {
            let project = told.about.project.clone();
            let (mut is_in_the_way, mut known) = (false, Vec::new());
            for entity in told.entities.iter().filter(|entity| entity.is_noted) {
                let place = Lies::Entity(project.clone(), entity.file.clone());
                match open.names().entity(&project, entity) {
                    Some(_) => known.push(place),
                    None => is_in_the_way |= open.place.has(&open.layout.path(&place)),
                }
            }
            match is_in_the_way {
                true => open.look_again()?,
                false if open.are_there(&known)? => return Ok(()),
                false => {}
            }
            let note = open.layout.path(&Lies::Session(project, told.about.note.clone()));
            self.name(open, told, Some(&note));
        }
        Ok(())
    }

    /// Returns the notes of entities, the session's own, and the pages, in the order of writing: what others link to
    /// comes first.
    fn wanted(&self, open: &Open, told: &SessionFacts, path: Option<&str>) -> (Vec<Wanted>, Wanted, Vec<Wanted>) {
        let directory = self.row.state.place.as_ref().map(|place| place.project.as_str());
        let mut own = session::wanted(told, &open.layout, self.today);
        if let Some(path) = path {
            path.clone_into(&mut own.path);
        }
        let entities = knowledge::entity_notes(told, &open.layout, self.today);
        (entities, own, start::wanted(told, directory, &open.layout, self.today))
    }

    fn write(&self, open: &mut Open, told: &mut SessionFacts) -> Result<Brought, Refused> {
        open.index()?;
        let note = open.note_of(self.id)?;
        if let Note::There(path) = &note {
            open.follow(self.id, path)?;
        }
        let known = match &note {
            Note::There(path) | Note::Removed(path) => Some(path.clone()),
            // Existing links keep their target.
            Note::None => open.register.get(self.id).and_then(|entry| entry.begun.clone()),
        };
        self.name(open, told, known.as_deref());
        if note == Note::None {
            self.make_way(open, told)?;
        }
        self.make_way_for_entities(open, told)?;
        open.follow_entities()?;
        let path = match &note {
            Note::There(path) => Some(path.as_str()),
            Note::None | Note::Removed(_) => None,
        };
        let (entities, own, pages) = self.wanted(open, told, path);
        // Merging resets the note's status to active.
        let was_failed = open.text(&own.path).ok().flatten().is_some_and(|text| has_failed(&text));
        open.register.begin(self.id, &own.path).map_err(|error| not_remembered(&error))?;
        let mut brought = Brought::default();
        let written = &mut brought.written;
        open.put(&entities, written)?;
        open.put(std::slice::from_ref(&own), written)?;
        match &mut open.held_back {
            Some(held_back) => pages.into_iter().for_each(|page| join(held_back, page)),
            None => open.put(&pages, written)?,
        }
        let known = open.register.get(self.id).cloned().unwrap_or_default();
        let mut entry = Entry {
            note: Some(own.path.clone()),
            prints: known.prints,
            copy: known.copy,
            lacks: known.lacks,
            stamp: self.stamp.clone(),
            left: written.left.first().map(|(path, why)| match *path == own.path {
                true => why.clone(),
                false => format!("{path}: {why}"),
            }),
            without_note: told
                .entities
                .iter()
                .filter(|entity| !entity.is_noted)
                .map(|entity| (entity.uuid, knowledge::deed_line(told, entity).text))
                .collect(),
            ..Entry::default()
        };
        brought.compacted = self.finish(open, told, &own.path, was_failed, &mut entry)?;
        open.register.put(self.id, entry.clone());
        if open.held_back.is_none()
            && let Err(refused) = open.settle()
        {
            // The notes may not survive a power cut.
            open.register.put(self.id, Entry { stamp: String::new(), ..entry });
            return Err(refused);
        }
        Ok(brought)
    }

    /// Compacts the note if it is due, and updates `entry` to match the note. `was_failed` is true if an earlier
    /// compaction failed.
    pub(super) fn finish(
        &self,
        open: &mut Open,
        told: &SessionFacts,
        path: &str,
        was_failed: bool,
        entry: &mut Entry,
    ) -> Result<Option<Compacted>, Refused> {
        let text = match open.text(path) {
            Ok(text) => text.unwrap_or_default(),
            Err(Error::Vault(refused)) => return Err(refused),
            Err(error @ (Error::Left(_) | Error::Changed)) => {
                if entry.lacks {
                    entry.left.get_or_insert_with(|| error.to_string());
                }
                return Ok(None);
            }
        };
        compaction::put_back(open, told, &text, entry, self.today)?;
        let measure = threshold::measure(&text, &limits(&open.settings), self.today);
        let status = session::identity(&text).map(|identity| identity.status);
        let reason = compaction::reason(&measure);
        let compact = |open: &mut Open| compaction::carry_out(open, told, path, &measure, reason, self.today);
        let compacted = match status {
            // Retry a failed compaction, even one that a person asked for.
            Some(Status::CompactionFailed) => Some(compact(open)?),
            Some(Status::Active) if was_failed || measure.is_over() => Some(compact(open)?),
            // Nothing is due: drop the record of earlier failures.
            Some(Status::Active) => {
                compaction::clear(open, path)?;
                None
            }
            Some(Status::Archived) => {
                compaction::missing(open, told, path, self.today)?;
                None
            }
            _ => None,
        };
        self.note_status(open, path, entry);
        Ok(compacted)
    }

    /// Copies what the note's head says into the entry.
    pub(super) fn note_status(&self, open: &Open, path: &str, entry: &mut Entry) {
        let text = open.text(path).ok().flatten().unwrap_or_default();
        let identity = session::identity(&text);
        entry.prints = forget::prints(&text);
        entry.copy = open.register.get(self.id).and_then(|known| known.copy.clone());
        entry.status = identity.as_ref().map(|identity| written(&identity.status)).unwrap_or_default();
        entry.error = identity.and_then(|identity| identity.error.or(identity.archive_error));
    }

    /// Renders the notes as they would be in an empty vault.
    fn finished(&self, open: &mut Open, told: &mut SessionFacts) -> Vec<(String, String)> {
        let known = open.register.get(self.id).and_then(|entry| entry.named().map(str::to_owned));
        self.name(open, told, known.as_deref());
        let (entities, own, pages) = self.wanted(open, told, None);
        let text = |wanted: Wanted| (wanted.path, merge(None, &wanted.note).text);
        std::iter::once(own).chain(entities).chain(pages).map(text).collect()
    }
}

/// True if the note's head says that compaction failed.
fn has_failed(text: &str) -> bool {
    session::identity(text).is_some_and(|identity| identity.status == Status::CompactionFailed)
}

/// The status as notes spell it.
fn written(status: &Status) -> String {
    match status {
        Status::Active => "active".to_owned(),
        Status::Archived => "archived".to_owned(),
        Status::CompactionFailed => "compaction_failed".to_owned(),
        Status::Other(other) => other.clone(),
    }
}

/// The compaction thresholds of these settings.
pub(super) fn limits(settings: &settings::Vault) -> Limits {
    Limits { lines: settings.compact_lines, days: settings.compact_days }
}

/// Adds a page's changes to those already held back.
fn join(held_back: &mut Vec<Wanted>, page: Wanted) {
    let Some(known) = held_back.iter_mut().find(|known| known.path == page.path) else {
        return held_back.push(page);
    };
    for section in page.note.sections {
        let same = known.note.sections.iter_mut().find(|known| known.key == section.key);
        match (same.map(|known| &mut known.body), section.body) {
            (Some(Body::Added(lines)), Body::Added(more)) => {
                for line in more {
                    if !lines.contains(&line) {
                        lines.push(line);
                    }
                }
            }
            // Titles and the like: the first one counts.
            (Some(_), _) => {}
            (None, body) => {
                let section = baton_notes::note::Section { body, ..section };
                known.note.sections.push(section);
            }
        }
    }
}
