//! What the vault takes from a session: its episode and its graph, bounded, and the entities that are worth a note.

mod subjects;
mod worth;

use uuid::Uuid;

use super::note::Line;
use super::{Day, name};
use baton_conversation::record::{SessionId, Timestamp};
use baton_episode::digest::{Episode, Pointed};
use baton_graph::{Graph, Label, Surroundings};
use baton_protocol::Zone;

/// Maximum number of entities of one session that get notes.
pub const MAX_ENTITIES: usize = 12;
/// Maximum number of entries per section of a session's note.
pub const MAX_ENTRIES: usize = 200;
/// Maximum number of prompts in a session's Work Log; the last ones are kept.
pub const MAX_PROMPTS: usize = 5_000;
/// Prefix by which the digest marks a person's words.
const PERSON: &str = "User: ";

/// The session, as the caller knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// Id of the session.
    pub session: SessionId,
    /// The sessions that it replaced in turn, oldest first; mostly empty.
    pub others: Vec<SessionId>,
    /// Its current episode.
    pub episode: Option<Uuid>,
    /// Name of its project's folder, see [`project_name`].
    pub project: String,
    /// Name of its note, without extension, see [`SessionFacts::note_name`]; empty until it is chosen.
    pub note: String,
    /// When it began.
    pub started: Timestamp,
    /// When it last ended, if it has.
    pub ended: Option<Timestamp>,
    /// The time zone of the dates in its notes. It never changes for a session, or its lines would be taken for others.
    pub zone: Zone,
}

/// What the vault takes from a session. Texts are unescaped; they are escaped when they are written.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionFacts {
    /// The session.
    pub about: About,
    /// Title of the session.
    pub title: String,
    /// Its purpose.
    pub goal: String,
    /// Its prompts.
    pub prompts: Vec<Statement>,
    /// True if these are all prompts ever typed. For an abridged conversation it is false, and the log keeps its
    /// entries.
    pub has_all_prompts: bool,
    /// Decisions.
    pub decisions: Vec<Statement>,
    /// Failures that were fixed.
    pub errors: Vec<Statement>,
    /// Changed files.
    pub files: Vec<File>,
    /// Open matters.
    pub open: Vec<Statement>,
    /// Next steps.
    pub next_steps: Vec<Statement>,
    /// Lessons beyond the session, each with its topic.
    pub patterns: Vec<(Topic, Statement)>,
    /// What the person always or never wants.
    pub preferences: Vec<Statement>,
    /// External research.
    pub references: Vec<Statement>,
    /// Entities worth a note; the project itself is the first.
    pub entities: Vec<Entity>,
}

/// A statement and the entities that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The statement, unescaped.
    pub text: String,
    /// The fix of a failure.
    pub resolution: Option<String>,
    /// Time of the statement.
    pub at: Option<Timestamp>,
    /// Indices into [`SessionFacts::entities`].
    pub about: Vec<usize>,
}

/// A file that a session changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its path, relative to the project if it is inside.
    pub path: String,
    /// Lines added.
    pub added: u32,
    /// Lines removed.
    pub removed: u32,
    /// Index into [`SessionFacts::entities`].
    pub entity: Option<usize>,
}

/// An entity that may get a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entity {
    /// Uuid in the graph.
    pub uuid: Uuid,
    /// Its kind.
    pub label: Label,
    /// Its name.
    pub name: String,
    /// What the session did with it: `changed`, `decided`, `added`.
    pub deed: &'static str,
    /// Name of its note, without extension: [`name::safe_file_name`] of its name until [`SessionFacts::name_entities`] changes it.
    pub file: String,
    /// True if the session made a decision about it, or failed and fixed it: then the session's note links to it. A
    /// change alone says little, and changes are many.
    pub is_subject: bool,
    /// True if it has a note: it is a subject, or [`SessionFacts::note_entities`] said so.
    pub is_noted: bool,
    /// Lines of earlier sessions that made no note for it.
    pub earlier: Vec<Line>,
}

/// Topic of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// What was tried and did not work.
    FailedApproaches,
    /// Rules of the person.
    Conventions,
}

impl Topic {
    /// Title of its note.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FailedApproaches => "Approaches That Failed",
            Self::Conventions => "Conventions",
        }
    }
}

/// Returns the name of a project's folder: the last component of its directory, with a suffix if another project has
/// it. `taken` receives the [`name::key`] of a name and returns whether it belongs to another project.
pub fn project_name(project: &str, taken: impl Fn(&str) -> bool) -> String {
    let last = project.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or_default();
    name::free_name(&name::safe_file_name(last), taken)
}

impl SessionFacts {
    /// Collects what the vault takes from an episode and its graph. `root` is the project's directory; paths below it
    /// become relative.
    pub fn new(about: About, root: Option<&str>, episode: &Episode, graph: &Graph) -> Self {
        let mut entities = worth::entities(&about.project, graph);
        let subjects = subjects::Subjects::new(&entities, graph);
        let (session, cwd) = (&about.session, episode.cwd.as_deref());
        let place = Surroundings { session, group: "", project: root, parent: None, follows: None };
        let files = episode.files_modified.iter().map(|file| {
            let path = baton_graph::file_name(&file.path, cwd, &place);
            let entity = entities.iter().position(|entity| entity.label == Label::File && entity.name == path);
            File { path, added: file.added, removed: file.removed, entity }
        });
        let files = files.take(MAX_ENTRIES).collect();
        let said = |list: &[Pointed], about: &dyn Fn(&Pointed) -> Vec<usize>| -> Vec<Statement> {
            let said = list.iter().map(|said| Statement {
                text: said.text.clone(),
                resolution: None,
                at: said.at,
                about: about(said),
            });
            said.take(MAX_ENTRIES).collect()
        };
        let alone = |list: &[Pointed]| said(list, &|_| Vec::new());
        let mended = episode.errors.iter().filter_map(|error| {
            let resolution = error.resolution.as_ref()?;
            let about = subjects.on_error(error);
            Some(Statement { text: error.text.clone(), resolution: Some(resolution.text.clone()), at: error.at, about })
        });
        let mut decisions = said(&episode.decisions, &|decision| subjects.on_decision(decision));
        let rule =
            |said: &&Statement| said.text.strip_prefix(PERSON).is_some_and(baton_episode::digest::is_standing_rule);
        let laid_down = decisions.iter().filter(rule);
        let errors: Vec<Statement> = mended.take(MAX_ENTRIES).collect();
        let references = alone(&episode.external_research);
        for (at, entity) in entities.iter_mut().enumerate() {
            // External research is attributed to the project.
            let is_about = |said: &Statement| said.about.contains(&at);
            entity.is_subject = decisions.iter().chain(&errors).any(is_about) || (at == 0 && !references.is_empty());
            entity.is_noted = entity.is_subject;
        }
        let failed = alone(&episode.setbacks).into_iter().map(|said| (Topic::FailedApproaches, said));
        let patterns = failed.chain(laid_down.map(|said| (Topic::Conventions, said.clone()))).collect();
        decisions.extend(alone(&episode.superseded_by_person().collect::<Vec<_>>()));
        Self {
            title: episode.title.clone(),
            goal: episode.objective.clone(),
            prompts: alone(&episode.prompts),
            has_all_prompts: episode.prompts.len() < MAX_ENTRIES,
            errors,
            files,
            open: alone(&episode.unresolved),
            next_steps: alone(&episode.next_steps),
            references,
            preferences: worth::preferences(graph),
            decisions,
            patterns,
            entities,
            about,
        }
    }

    /// Sets all prompts, see [`baton_episode::digest::typed_by_person`]; the episode has only the last ones. True in
    /// `is_whole`: nothing of the conversation was left out.
    pub fn set_prompts(&mut self, typed: &[Pointed], is_whole: bool) {
        let said =
            |typed: &Pointed| Statement { text: typed.text.clone(), resolution: None, at: typed.at, about: Vec::new() };
        self.prompts = typed.iter().map(said).collect();
        self.has_all_prompts = is_whole && typed.len() < MAX_PROMPTS;
    }

    /// Returns true if it gets a note: a person typed something in it.
    pub fn is_worth_a_note(&self) -> bool {
        !self.prompts.is_empty()
    }

    /// Returns the day on which it began, which is part of its note's name.
    pub fn day(&self) -> Day {
        Day::from_timestamp(self.about.started, self.about.zone)
    }

    /// Returns the name of its note, without extension, to be chosen once: `2026-03-14-refresh-tokens`. `taken`
    /// receives the [`name::key`] of names; names of session notes must be unique below the whole root.
    pub fn note_name(&self, taken: impl Fn(&str) -> bool) -> String {
        let topic = match name::topic(&self.title) {
            topic if topic.is_empty() => format!("session-{}", name::topic(self.about.session.short())),
            topic => topic,
        };
        name::free_name(&format!("{}-{topic}", self.day()), taken)
    }

    /// Marks further entities as having notes: those whose note exists (`is_there`), and those for which `others`
    /// returns lines of other sessions.
    pub fn note_entities(&mut self, is_there: impl Fn(&Entity) -> bool, others: impl Fn(&Entity) -> Vec<Line>) {
        for entity in &mut self.entities {
            if is_there(entity) {
                entity.is_noted = true;
            } else {
                entity.earlier = others(entity);
                entity.is_noted |= !entity.earlier.is_empty();
            }
        }
    }

    /// Names the notes of its entities. `named` returns the existing note's name of an entity; otherwise one is chosen
    /// whose [`name::key`] is not `taken`.
    pub fn name_entities(&mut self, named: impl Fn(&Entity) -> Option<String>, taken: impl Fn(&str) -> bool) {
        let mut chosen: Vec<String> = Vec::new();
        for entity in self.entities.iter_mut().filter(|entity| entity.is_noted) {
            let fresh = || {
                name::free_name(&name::safe_file_name(&entity.name), |key| {
                    taken(key) || chosen.iter().any(|name| name == key)
                })
            };
            let file = named(entity).unwrap_or_else(fresh);
            chosen.push(name::key(&file));
            entity.file = file;
        }
    }

    /// Returns the day of a statement: its own, or that of the session's beginning.
    pub(super) fn day_of(&self, said: &Statement) -> Day {
        Day::from_timestamp(said.at.unwrap_or(self.about.started), self.about.zone)
    }
}
