//! What the vault takes of a session: its episode and its graph, bounded, and which entities are worth a note.

mod about;
mod worth;

use uuid::Uuid;

use super::note::Line;
use super::{Day, name};
use baton_conversation::record::{SessionId, Timestamp};
use baton_episode::digest::{Episode, Pointed};
use baton_graph::{Graph, Label, Surroundings};

/// Most entities of one session that get notes.
pub const MAX_ENTITIES: usize = 12;
/// Most entries of any section of a session's note.
pub const MAX_ENTRIES: usize = 200;
/// Most prompts of a session in its Work Log; of more the last ones.
pub const MAX_PROMPTS: usize = 5_000;
/// How the digest marks what a person said.
const PERSON: &str = "User: ";

/// Which session it is, as the shell knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// The session.
    pub session: SessionId,
    /// What it continues, each session in the place of the one before, eldest first; mostly none.
    pub others: Vec<SessionId>,
    /// Its current episode.
    pub episode: Option<Uuid>,
    /// The name of its project's folder, see [`project_name`].
    pub project: String,
    /// The name of its note, without extension, see [`Told::note_name`]; empty until it is chosen.
    pub note: String,
    /// When it began.
    pub started: Timestamp,
    /// When it ended last, if it has.
    pub ended: Option<Timestamp>,
}

/// What the vault takes of a session. Texts are as they were said; they are escaped when they are written.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// Which session.
    pub about: About,
    /// What it is called.
    pub title: String,
    /// What it was for.
    pub goal: String,
    /// What a person typed.
    pub prompts: Vec<Said>,
    /// Whether these are all that were ever typed: what is known of a giant is not, and its log keeps what it has.
    pub has_all_prompts: bool,
    /// What was decided.
    pub decisions: Vec<Said>,
    /// What failed and was mended.
    pub errors: Vec<Said>,
    /// Files that it changed.
    pub files: Vec<File>,
    /// What is open.
    pub open: Vec<Said>,
    /// What comes next.
    pub next_steps: Vec<Said>,
    /// What holds beyond the session, each with the topic that it belongs to.
    pub patterns: Vec<(Topic, Said)>,
    /// What the person wants always or never.
    pub preferences: Vec<Said>,
    /// What was looked up elsewhere.
    pub references: Vec<Said>,
    /// What is worth a note of its own; the project itself is the first.
    pub entities: Vec<Entity>,
}

/// One thing that was said, and what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The words.
    pub text: String,
    /// How it ended, for what failed.
    pub resolution: Option<String>,
    /// When.
    pub at: Option<Timestamp>,
    /// Places in [`Told::entities`].
    pub about: Vec<usize>,
}

/// A file that a session changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its path, below the project where it lies there.
    pub path: String,
    /// Lines added.
    pub added: u32,
    /// Lines removed.
    pub removed: u32,
    /// Its place in [`Told::entities`].
    pub entity: Option<usize>,
}

/// An entity that gets a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entity {
    /// Of the graph.
    pub uuid: Uuid,
    /// What it is.
    pub label: Label,
    /// What it is called.
    pub name: String,
    /// What the session did with it: `changed`, `decided`, `added`.
    pub deed: &'static str,
    /// The name of its note, without extension: [`name::safe`] of its name until [`Told::name_entities`] says otherwise.
    pub file: String,
    /// Whether something was decided about it in this session, or failed and was mended: then the session's note links to it. A
    /// change alone says little, and there are many.
    pub is_subject: bool,
    /// Whether it has a note: it is such a subject, or [`Told::note_entities`] says so.
    pub is_noted: bool,
    /// What sessions before did with it that made no note of it then.
    pub earlier: Vec<Line>,
}

/// Which topic a pattern belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// What was tried and did not work.
    FailedApproaches,
    /// Rules that the person laid down.
    Conventions,
}

impl Topic {
    /// What its note is called.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FailedApproaches => "Approaches That Failed",
            Self::Conventions => "Conventions",
        }
    }
}

/// The name of a project's folder: the last part of its directory. `taken` is asked for the [`name::key`] of a name that
/// belongs to another project.
pub fn project_name(project: &str, taken: impl Fn(&str) -> bool) -> String {
    let last = project.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or_default();
    name::free(&name::safe(last), taken)
}

impl Told {
    /// What is told of an episode and its graph. `root` is the project's directory: paths below it are told without it.
    pub fn of(about: About, root: Option<&str>, episode: &Episode, graph: &Graph) -> Self {
        let mut entities = worth::entities(&about.project, graph);
        let bears = about::Bearing::of(&entities, graph);
        let (session, cwd) = (&about.session, episode.cwd.as_deref());
        let place = Surroundings { session, group: "", project: root, parent: None, follows: None };
        let files = episode.files_modified.iter().map(|file| {
            let path = baton_graph::file_name(&file.path, cwd, &place);
            let entity = entities.iter().position(|entity| entity.label == Label::File && entity.name == path);
            File { path, added: file.added, removed: file.removed, entity }
        });
        let files = files.take(MAX_ENTRIES).collect();
        let said = |list: &[Pointed], about: &dyn Fn(&Pointed) -> Vec<usize>| -> Vec<Said> {
            let said = list.iter().map(|said| Said {
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
            let about = bears.on_error(error);
            Some(Said { text: error.text.clone(), resolution: Some(resolution.text.clone()), at: error.at, about })
        });
        let decisions = said(&episode.decisions, &|decision| bears.on_decision(decision));
        let rule = |said: &&Said| said.text.strip_prefix(PERSON).is_some_and(baton_episode::digest::is_laid_down);
        let laid_down = decisions.iter().filter(rule);
        let errors: Vec<Said> = mended.take(MAX_ENTRIES).collect();
        let references = alone(&episode.external_research);
        for (at, entity) in entities.iter_mut().enumerate() {
            // What was looked up is told of the project.
            let is_about = |said: &Said| said.about.contains(&at);
            entity.is_subject = decisions.iter().chain(&errors).any(is_about) || (at == 0 && !references.is_empty());
            entity.is_noted = entity.is_subject;
        }
        let failed = alone(&episode.setbacks).into_iter().map(|said| (Topic::FailedApproaches, said));
        let patterns = failed.chain(laid_down.map(|said| (Topic::Conventions, said.clone()))).collect();
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

    /// Takes all that a person typed, of which the episode has the last only: see [`baton_episode::digest::typed`].
    /// `is_whole`: nothing of the conversation was left out.
    pub fn log(&mut self, typed: &[Pointed], is_whole: bool) {
        let said =
            |typed: &Pointed| Said { text: typed.text.clone(), resolution: None, at: typed.at, about: Vec::new() };
        self.prompts = typed.iter().map(said).collect();
        self.has_all_prompts = is_whole && typed.len() < MAX_PROMPTS;
    }

    /// Whether it gets a note: somebody typed something in it.
    pub fn is_worth_a_note(&self) -> bool {
        !self.prompts.is_empty()
    }

    /// The day on which it began, by which its note is called.
    pub fn day(&self) -> Day {
        Day::of(self.about.started)
    }

    /// The name of its note, without extension, chosen once: `2026-03-14-refresh-tokens`. `taken` is asked for the
    /// [`name::key`] of names; names of sessions must be unique below the whole root.
    pub fn note_name(&self, taken: impl Fn(&str) -> bool) -> String {
        let topic = match name::topic(&self.title) {
            topic if topic.is_empty() => format!("session-{}", name::topic(self.about.session.short())),
            topic => topic,
        };
        name::free(&format!("{}-{topic}", self.day()), taken)
    }

    /// Has notes made of more of its entities: of each that has one, as `is_there` says, or of which `others` knows what other
    /// sessions did with it.
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

    /// Gives its entities that have notes the names of these. `named` is asked for the name that an entity's note has already; else one
    /// is chosen of which `taken` does not know the [`name::key`].
    pub fn name_entities(&mut self, named: impl Fn(&Entity) -> Option<String>, taken: impl Fn(&str) -> bool) {
        let mut chosen: Vec<String> = Vec::new();
        for entity in self.entities.iter_mut().filter(|entity| entity.is_noted) {
            let fresh =
                || name::free(&name::safe(&entity.name), |key| taken(key) || chosen.iter().any(|name| name == key));
            let file = named(entity).unwrap_or_else(fresh);
            chosen.push(name::key(&file));
            entity.file = file;
        }
    }

    /// The moment by which something said is dated: its own, or the session's beginning.
    pub(super) fn dated(&self, said: &Said) -> Day {
        Day::of(said.at.unwrap_or(self.about.started))
    }
}
