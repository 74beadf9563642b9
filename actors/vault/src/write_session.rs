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
use baton_notes::layout::NoteRole;
use baton_notes::note::{Body, Line, Wanted};
use baton_notes::session::Status;
use baton_notes::threshold;
use baton_notes::threshold::Limits;
use baton_notes::{Day, forget, knowledge, merge, name, session, start};
use baton_protocol::Zone;

use super::compaction::{self, Compacted};
use super::open_vault::{Note, OpenVault, TRIES, Written, cannot_record};
use super::outbox::Outbox;
use super::register::Entry;
use super::vault_fs::{Error, Refused, of_file};
use super::{index, owed_sessions, predecessors};
use baton_config::settings;

/// The project folder of sessions whose directory is unknown.
const UNKNOWN_PROJECT: &str = "elsewhere";

/// The result of writing a session.
#[derive(Debug, Default)]
pub(super) struct WriteOutcome {
    pub(super) written: Written,
    /// True if no prompt was typed in it. Prompts that settings hide count as typed.
    pub(super) is_without_note: bool,
    /// Set if its note exceeded a threshold.
    pub(super) compacted: Option<Compacted>,
}

/// Why a session was not written.
#[derive(Debug)]
pub(super) enum WriteError {
    /// The vault refuses.
    Refused(Refused),
    /// Its conversation is unreadable.
    Unreadable(String),
}

impl From<Refused> for WriteError {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

/// One session to be written.
pub(super) struct SessionWriter<'a> {
    pub(super) options: &'a super::Options,
    pub(super) id: &'a SessionId,
    pub(super) row: &'a Row,
    pub(super) stamp: String,
    pub(super) today: Day,
    /// True if a removed note is written again.
    pub(super) is_manual: bool,
}

impl SessionWriter<'_> {
    /// Writes the notes of the session. Puts them into the outbox if the vault refuses.
    pub(super) fn write_or_queue(&self, open: &mut OpenVault, outbox: &mut Outbox) -> Result<WriteOutcome, WriteError> {
        // While the vault is unreachable, the last known names are used.
        let looked = open.check(self.is_manual).and_then(|()| open.index().map(drop));
        let folder = self.project_folder(open, looked.is_ok());
        if looked.is_err() {
            open.drop_index();
        }
        let mut facts = self.read_facts(folder)?;
        let show = self.options.settings.now().filtering;
        if !facts.is_worth_a_note() && !owed_sessions::has_hidden_prompts(self.row, &show) {
            // Lines may already link to a note that was begun.
            let begun = open.register.get(self.id).and_then(|entry| entry.begun.clone());
            open.register.put(self.id, Entry { stamp: self.stamp.clone(), begun, ..Entry::default() });
            let _ = outbox.remove(self.id);
            return Ok(WriteOutcome { is_without_note: true, ..WriteOutcome::default() });
        }
        let outcome = looked.and_then(|()| {
            let _lock = open.vault_fs.lock()?;
            self.write(open, &mut facts)
        });
        match outcome {
            Ok(outcome) => {
                if let Err(error) = outbox.remove(self.id) {
                    tracing::warn!(session = %self.id, %error, "delivered notes are still in vault-pending");
                }
                Ok(outcome)
            }
            Err(refused) => {
                // The session stays owed, whether or not the outbox has room.
                if let Err(error) = outbox.put(self.id, &self.stamp, &self.render(open, &mut facts)) {
                    tracing::warn!(session = %self.id, %error, "finished notes not kept in vault-pending");
                }
                open.drop_index();
                Err(refused.into())
            }
        }
    }

    /// Returns the session's project folder: the known one, or a new one, avoiding a folder that another home has
    /// created since the last walk. A new one is recorded only if the vault is reachable.
    pub(super) fn project_folder(&self, open: &mut OpenVault, is_there: bool) -> String {
        for _ in 0..TRIES {
            let (folder, is_new) = self.choose_folder(open);
            if is_there && is_new && open.vault_fs.exists(&open.layout.project(&folder)) && open.refresh_index().is_ok()
            {
                // A folder without notes of Baton is free to use.
                if open.index_or_default().has_project(&name::key(&folder)) {
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
        self.row.state.place.as_ref().map_or(UNKNOWN_PROJECT, |place| place.project.as_str())
    }

    /// Returns its folder by the known names, and true if the folder is new.
    fn choose_folder(&self, open: &mut OpenVault) -> (String, bool) {
        let directory = self.directory();
        if let Some(known) = open.register.folder(directory) {
            return (known.to_owned(), false);
        }
        let layout = open.layout.clone();
        let own: Vec<String> = open.register.folders().map(|(_, folder)| name::key(folder)).collect();
        let names = open.index_or_default();
        let of_note = |path: &str| match layout.role(path) {
            Some(NoteRole::Session(folder, _)) => Some(folder),
            _ => None,
        };
        let known = names
            .session_note(self.id)
            // The folder of a worktree is not the repository's.
            .filter(|_| self.row.state.place.as_ref().is_none_or(|place| place.recorded_project() == place.project))
            .and_then(of_note)
            .or_else(|| names.project_folder(directory).map(str::to_owned));
        let is_taken = |key: &str| names.has_project(key) || own.iter().any(|known| known == key);
        match known {
            Some(known) => (known, false),
            None => (facts::project_name(directory, is_taken), true),
        }
    }

    /// Reads the session's facts for the notes; names are not chosen yet, except for the project folder. Blocks for
    /// reads.
    pub(super) fn read_facts(&self, folder: String) -> Result<SessionFacts, WriteError> {
        let (options, state) = (self.options, &self.row.state);
        let unreadable = |error: &dyn std::fmt::Display| WriteError::Unreadable(error.to_string());
        let Some(current) = state.episode.clone() else {
            return Err(WriteError::Unreadable("it no longer has an episode".to_owned()));
        };
        let show = options.settings.now().filtering;
        let read = options.conversations.digest(self.id, current, &show).map_err(|error| unreadable(&error))?;
        let (current, episode) = read;
        let items = options.conversations.read(self.id, current, |current| {
            let mut abridged = Abridged::default();
            baton_store::conversation::for_each_item(&options.chunks, self.id, current, |item| abridged.push(item))?;
            Ok((abridged.left_out() == 0, abridged.into_items()))
        });
        let (current, (is_whole, items)) = items.map_err(|error| unreadable(&error))?;
        let typed = digest::typed_by_person(&items, &show, MAX_PROMPTS);
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
            others: predecessors::continued(&options.table.now(), &options.settings.now(), self.id, self.row),
            episode: Some(current.uuid),
            project: folder,
            note: String::new(),
            started: state.first_at.unwrap_or(state.discovered_at),
            // A timeout is noticed long after the last activity.
            ended: state.end.map(|end| match end.reason {
                CloseReason::InactivityTimeout => state.last_activity(),
                _ => end.at,
            }),
            zone: Zone::UTC,
        };
        let mut facts = SessionFacts::new(about, project, &episode.with_model_marks(), &graph);
        // The episode contains only the last prompts.
        facts.set_prompts(&typed, is_whole);
        if !show.keep_user_messages {
            // These are a person's words, and the graph contains them whatever the settings.
            facts.preferences.clear();
        }
        Ok(facts)
    }

    /// Chooses names where none are known. `known` is the path of its note.
    pub(super) fn choose_names(&self, open: &mut OpenVault, facts: &mut SessionFacts, known: Option<&str>) {
        facts.about.note = known.and_then(index::stem).unwrap_or_default().to_owned();
        let zone = open.zone_rule(self.id, &*self.options.clock);
        facts.about.zone = zone.as_deref().and_then(Zone::parse).unwrap_or(Zone::UTC);
        if facts.about.note.is_empty() {
            let (register, names) = open.register_and_index();
            facts.about.note =
                facts.note_name(|key| names.has_session_name(key) || register.is_name_in_use(key, self.id));
        }
        let project = facts.about.project.clone();
        open.index_or_default().reserve_session_name(&facts.about.note);
        let (register, names) = open.register_and_index();
        let others = |entity: &Entity| {
            let others = register.others_with(&entity.uuid, self.id).into_iter();
            others.filter_map(|(note, text)| Some(Line::supported(text.to_owned(), index::stem(note)?))).collect()
        };
        facts.note_entities(|entity| names.entity_note(&project, entity).is_some(), others);
        let names = open.index_or_default();
        facts.name_entities(|entity| names.entity_note(&project, entity), |key| names.has_entity_name(&project, key));
    }

    /// Chooses another name while another session's note has this one, in any project: links consist of the name alone,
    /// and another home may have written a note since the last walk.
    fn choose_free_note_name(&self, open: &mut OpenVault, facts: &mut SessionFacts) -> Result<(), Refused> {
        let mut closed = None;
        for _ in 0..TRIES {
            let place = NoteRole::Session(facts.about.project.clone(), facts.about.note.clone());
            match open.read_text(&open.layout.path(&place)) {
                Ok(text) => {
                    let identity = text.as_deref().and_then(session::identity);
                    let is_own = |id: &String| id == self.id.as_str();
                    if identity.is_some_and(|identity| identity.own.iter().any(is_own)) {
                        return Ok(());
                    }
                    if text.is_none() && !open.is_name_in_use(&name::key(&facts.about.note)) {
                        return Ok(());
                    }
                }
                Err(Error::Vault(refused)) => return Err(refused),
                // If a second name fails as well, the folder is the cause: keep the first name, and writing it reports
                // the reason.
                Err(Error::LeftAlone(_)) => match closed.take() {
                    Some(first) => {
                        facts.about.note = first;
                        return Ok(());
                    }
                    None => closed = Some(facts.about.note.clone()),
                },
                Err(Error::Changed) => {}
            }
            open.refresh_index()?;
            open.index_or_default().reserve_session_name(&facts.about.note);
            self.choose_names(open, facts, None);
        }
        // Never overwrite another session's note.
        Err(Refused {
            what: "another home writes notes with the same names".to_owned(),
            fix: "it is tried again".to_owned(),
        })
    }

    /// Chooses names for entities again while an unknown note, such as another home's, is in the way of a new one, or a
    /// known note was moved by a person.
    pub(super) fn choose_free_entity_names(
        &self,
        open: &mut OpenVault,
        facts: &mut SessionFacts,
    ) -> Result<(), Refused> {
        for _ in 0..TRIES {
            let project = facts.about.project.clone();
            let (mut is_in_the_way, mut known) = (false, Vec::new());
            for entity in facts.entities.iter().filter(|entity| entity.is_noted) {
                let place = NoteRole::Entity(project.clone(), entity.file.clone());
                match open.index_or_default().entity_note(&project, entity) {
                    Some(_) => known.push(place),
                    None => is_in_the_way |= open.vault_fs.exists(&open.layout.path(&place)),
                }
            }
            match is_in_the_way {
                true => open.refresh_index()?,
                false if open.check_places(&known)? => return Ok(()),
                false => {}
            }
            let note = open.layout.path(&NoteRole::Session(project, facts.about.note.clone()));
            self.choose_names(open, facts, Some(&note));
        }
        Ok(())
    }

    /// Returns the notes of entities, the session's own, and the pages, in the order of writing: what others link to
    /// comes first.
    fn wanted_notes(
        &self,
        open: &OpenVault,
        facts: &SessionFacts,
        path: Option<&str>,
    ) -> (Vec<Wanted>, Wanted, Vec<Wanted>) {
        let directory = self.row.state.place.as_ref().map(|place| place.project.as_str());
        let mut own = session::wanted(facts, &open.layout, self.today);
        if let Some(path) = path {
            path.clone_into(&mut own.path);
        }
        let entities = knowledge::entity_notes(facts, &open.layout, self.today);
        (entities, own, start::wanted_pages(facts, directory, &open.layout, self.today))
    }

    fn write(&self, open: &mut OpenVault, facts: &mut SessionFacts) -> Result<WriteOutcome, Refused> {
        open.index()?;
        let note = open.find_note(self.id)?;
        if let Note::At(path) = &note {
            open.relink_session_note(self.id, path)?;
        }
        let known = match &note {
            Note::At(path) | Note::Removed(path) => Some(path.clone()),
            // Existing links keep their target.
            Note::None => open.register.get(self.id).and_then(|entry| entry.begun.clone()),
        };
        self.choose_names(open, facts, known.as_deref());
        if note == Note::None {
            self.choose_free_note_name(open, facts)?;
        }
        self.choose_free_entity_names(open, facts)?;
        open.relink_entity_notes()?;
        let path = match &note {
            Note::At(path) => Some(path.as_str()),
            Note::None | Note::Removed(_) => None,
        };
        let (entities, own, pages) = self.wanted_notes(open, facts, path);
        // Merging resets the note's status to active.
        let was_failed = open.read_text(&own.path).ok().flatten().is_some_and(|text| has_failed_compaction(&text));
        let zone = open.zone_rule(self.id, &*self.options.clock);
        open.register.begin_note(self.id, &own.path, zone.clone()).map_err(|error| cannot_record(&error))?;
        let mut outcome = WriteOutcome::default();
        let written = &mut outcome.written;
        open.merge_notes(&entities, written)?;
        open.merge_notes(std::slice::from_ref(&own), written)?;
        match &mut open.held_back {
            Some(held_back) => pages.into_iter().for_each(|page| hold_back(held_back, page)),
            None => open.merge_notes(&pages, written)?,
        }
        let known = open.register.get(self.id).cloned().unwrap_or_default();
        let mut entry = Entry {
            note: Some(own.path.clone()),
            prints: known.prints,
            copy: known.copy,
            lacks: known.lacks,
            zone,
            stamp: self.stamp.clone(),
            left: written.left.first().map(|(path, why)| match *path == own.path {
                true => why.clone(),
                false => format!("{path}: {why}"),
            }),
            without_note: facts
                .entities
                .iter()
                .filter(|entity| !entity.is_noted)
                .map(|entity| (entity.uuid, knowledge::deed_line(facts, entity).text))
                .collect(),
            ..Entry::default()
        };
        outcome.compacted = self.compact_if_due(open, facts, &own.path, was_failed, &mut entry)?;
        open.register.put(self.id, entry);
        if open.held_back.is_none()
            && let Err(refused) = open.sync()
        {
            // The notes may not survive a power cut.
            open.register.mark_owed([self.id]);
            return Err(refused);
        }
        Ok(outcome)
    }

    /// Compacts the note if it is due, and updates `entry` to match the note. `was_failed` is true if an earlier
    /// compaction failed.
    pub(super) fn compact_if_due(
        &self,
        open: &mut OpenVault,
        facts: &SessionFacts,
        path: &str,
        was_failed: bool,
        entry: &mut Entry,
    ) -> Result<Option<Compacted>, Refused> {
        let text = match of_file(open.read_text(path))? {
            Ok(text) => text.unwrap_or_default(),
            Err(why) => {
                if entry.lacks {
                    entry.left.get_or_insert(why);
                }
                return Ok(None);
            }
        };
        compaction::restore_shared_lines(open, facts, &text, entry, self.today)?;
        let measure = threshold::measure(&text, &thresholds(&open.settings), self.today);
        let status = session::identity(&text).map(|identity| identity.status);
        let reason = compaction::reason(&measure);
        let compact = |open: &mut OpenVault| compaction::compact(open, facts, path, &measure, reason, self.today);
        let compacted = match status {
            // Retry a failed compaction, even one that a person asked for.
            Some(Status::CompactionFailed) => Some(compact(open)?),
            Some(Status::Active) if was_failed || measure.is_over() => Some(compact(open)?),
            // Nothing is due: drop the record of earlier failures.
            Some(Status::Active) => {
                compaction::clear_failure(open, path)?;
                None
            }
            Some(Status::Archived) => {
                compaction::restore_missing_copy(open, facts, path, self.today)?;
                None
            }
            _ => None,
        };
        self.copy_status(open, path, entry);
        Ok(compacted)
    }

    /// Copies what the note's head says into the entry.
    pub(super) fn copy_status(&self, open: &OpenVault, path: &str, entry: &mut Entry) {
        let text = open.read_text(path).ok().flatten().unwrap_or_default();
        let identity = session::identity(&text);
        entry.prints = forget::fingerprints(&text);
        entry.copy = open.register.get(self.id).and_then(|known| known.copy.clone());
        entry.status = identity.as_ref().map(|identity| status_word(&identity.status)).unwrap_or_default();
        entry.error = identity.and_then(|identity| identity.error.or(identity.archive_error));
    }

    /// Renders the notes as they would be in an empty vault.
    fn render(&self, open: &mut OpenVault, facts: &mut SessionFacts) -> Vec<(String, String)> {
        let known = open.register.get(self.id).and_then(|entry| entry.linked_note().map(str::to_owned));
        self.choose_names(open, facts, known.as_deref());
        let (entities, own, pages) = self.wanted_notes(open, facts, None);
        let text = |wanted: Wanted| (wanted.path, merge(None, &wanted.note).text);
        std::iter::once(own).chain(entities).chain(pages).map(text).collect()
    }
}

/// True if the note's head says that compaction failed.
fn has_failed_compaction(text: &str) -> bool {
    session::identity(text).is_some_and(|identity| identity.status == Status::CompactionFailed)
}

/// The status as notes spell it.
fn status_word(status: &Status) -> String {
    match status {
        Status::Active => "active".to_owned(),
        Status::Archived => "archived".to_owned(),
        Status::CompactionFailed => "compaction_failed".to_owned(),
        Status::Other(other) => other.clone(),
    }
}

/// The compaction thresholds of these settings.
pub(super) fn thresholds(settings: &settings::Vault) -> Limits {
    Limits { lines: settings.compact_lines, days: settings.compact_days }
}

/// Adds a page's changes to those already held back.
fn hold_back(held_back: &mut Vec<Wanted>, page: Wanted) {
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
