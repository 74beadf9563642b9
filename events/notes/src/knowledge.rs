//! Notes that many sessions write: entities of a project, topics, the person's preferences, entities of several
//! projects.
//!
//! Every line names the sessions that support it, so that two sessions, or two homes, can add to one note
//! independently, and forgetting a session removes exactly what only it supported.

use super::facts::{Entity, Statement, Topic};
use super::layout::{Layout, NoteRole};
use super::note::{Field, Line, NAME_CHARS, Note, Section, Wanted, When};
use super::session::tags;
use super::{Day, SessionFacts, header, markdown};

/// Maximum length of a line without its date and support, in characters.
const LINE_CHARS: usize = 400;

/// Keys and headings of an entity's note, in order.
pub const ENTITY_SECTIONS: [(&str, &str); 4] = [
    ("decisions", "Key Decisions"),
    ("gotchas", "Gotchas & Troubleshooting"),
    ("changes", "Recent Changes"),
    ("references", "References"),
];

/// End of a line that links from an entity to its shared note.
pub(super) const SHARED: &str = " - Shared between projects";

/// Lines to add to the note of an entity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Lines {
    pub(super) decisions: Vec<Line>,
    pub(super) gotchas: Vec<Line>,
    pub(super) changes: Vec<Line>,
    pub(super) references: Vec<Line>,
}

/// The entity of a note, from its frontmatter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityIdentity {
    /// Its label: `File`.
    pub kind: String,
    /// Its name: `src/auth.rs`.
    pub name: String,
    /// Folder of its project; empty if projects share it.
    pub project: String,
}

impl EntityIdentity {
    /// Returns true if it is this entity; names in notes are bounded and escaped.
    pub fn is(&self, entity: &Entity) -> bool {
        self.kind == entity.label.as_str() && self.name == markdown::property(&entity.name, NAME_CHARS)
    }
}

/// Returns the notes of a session's entities, for each end of the session. Missing notes are created, so that every
/// link has a target, with one line for the session and one for each earlier session that made no note.
pub fn entity_notes(facts: &SessionFacts, layout: &Layout, today: Day) -> Vec<Wanted> {
    let note = |entity: &Entity| {
        let changes = std::iter::once(deed_line(facts, entity)).chain(entity.earlier.iter().cloned()).collect();
        entity_note(facts, entity, Lines { changes, ..Lines::default() }, layout, today)
    };
    facts.entities.iter().filter(|entity| entity.is_noted).map(note).collect()
}

/// Returns the line that says what a session did with an entity.
pub fn deed_line(facts: &SessionFacts, entity: &Entity) -> Line {
    dated_line(facts.day(), &capital(entity.deed), &facts.about.note)
}

pub(super) fn entity_note(facts: &SessionFacts, entity: &Entity, lines: Lines, layout: &Layout, today: Day) -> Wanted {
    let project = &facts.about.project;
    let role = NoteRole::Entity(project.clone(), entity.file.clone());
    let mut header = header_of("entity", Some(project), &entity.name, facts.day(), today);
    header.push(Field::text("kind", entity.label.as_str(), When::Once));
    header.push(Field::text("entity", markdown::property(&entity.name, NAME_CHARS), When::Once));
    let bodies = [lines.decisions, lines.gotchas, lines.changes, lines.references];
    let sections =
        ENTITY_SECTIONS.iter().zip(bodies).map(|((key, heading), lines)| Section::added(key, heading, lines));
    let sections = std::iter::once(Section::title(&entity.name)).chain(sections).collect();
    Wanted { path: layout.path(&role), note: Note { header, sections } }
}

/// Returns the note of a topic with these patterns.
pub(super) fn topic_note(
    facts: &SessionFacts,
    topic: Topic,
    said: &[&Statement],
    layout: &Layout,
    today: Day,
) -> Wanted {
    let project = &facts.about.project;
    let name = topic.as_str();
    let lines = said.iter().map(|said| pattern(facts, said)).collect();
    let header = header_of("topic", Some(project), name, facts.day(), today);
    let sections = vec![
        Section::title(name),
        Section::added("patterns", "Patterns", lines),
        Section::added("references", "References", Vec::new()),
    ];
    let path = layout.path(&NoteRole::Topic(project.clone(), name.to_owned()));
    Wanted { path, note: Note { header, sections } }
}

/// Returns the note of the person's preferences.
pub(super) fn preferences_note(facts: &SessionFacts, layout: &Layout, today: Day) -> Wanted {
    let header = header_of("preferences", None, "Preferences", today, today);
    let lines = facts.preferences.iter().map(|said| pattern(facts, said)).collect();
    let sections = vec![Section::title("Preferences"), Section::added("preferences", "Preferences", lines)];
    Wanted { path: layout.path(&NoteRole::Preferences), note: Note { header, sections } }
}

/// Returns the notes to write when an entity was recalled in enough projects to be shared: a note for all projects that
/// links to the project's own, and a link back. `shared` is the name of the shared note.
pub fn shared_entity_notes(
    own: &NoteRole,
    entity: &EntityIdentity,
    shared: &str,
    layout: &Layout,
    today: Day,
) -> Vec<Wanted> {
    let role = NoteRole::Shared(shared.to_owned());
    let mut header = header_of("entity", None, &entity.name, today, today);
    header.push(Field::text("kind", entity.kind.clone(), When::Once));
    header.push(Field::text("entity", markdown::property(&entity.name, NAME_CHARS), When::Once));
    let to_own = Line::unsupported(format!("- {}", layout.link(own, &entity.project)));
    let sections = vec![Section::title(&entity.name), Section::added("projects", "Projects", vec![to_own])];
    let to_shared = Line::unsupported(format!("- {}{SHARED}", layout.link(&role, &entity.name)));
    let (key, heading) = ENTITY_SECTIONS[3];
    let back = Note {
        header: vec![Field::text("updated", today.to_string(), When::Touched)],
        sections: vec![Section::added(key, heading, vec![to_shared])],
    };
    vec![
        Wanted { path: layout.path(&role), note: Note { header, sections } },
        Wanted { path: layout.path(own), note: back },
    ]
}

/// Returns the entity of a note; `None` for a note of something else.
pub fn entity(text: &str) -> Option<EntityIdentity> {
    let text_of = header::texts(text);
    let field = |key: &str| text_of.get(key).cloned().unwrap_or_default();
    let name = field("entity");
    (field("type") == "entity" && !name.is_empty()).then(|| EntityIdentity {
        kind: field("kind"),
        name,
        project: field("project"),
    })
}

fn header_of(kind: &'static str, project: Option<&str>, title: &str, created: Day, today: Day) -> Vec<Field> {
    let mut fields = vec![Field::text("type", kind, When::Once)];
    fields.extend(project.map(|project| Field::text("project", project, When::Once)));
    fields.extend([
        Field::text("status", "active", When::Once),
        Field::text("created", created.to_string(), When::Once),
        Field::text("updated", today.to_string(), When::Touched),
        Field::text("claude_last_accessed", today.to_string(), When::Touched),
        Field::text("title", markdown::property(title, NAME_CHARS), When::Once),
        Field::list("tags", tags(kind, project.unwrap_or("all")), When::Once),
    ]);
    fields
}

fn pattern(facts: &SessionFacts, said: &Statement) -> Line {
    dated_line(facts.day_of(said), &markdown::line(&said.text, LINE_CHARS), &facts.about.note)
}

/// Returns `- 2026-03-14: Rotate tokens`, supported by a session.
pub(super) fn dated_line(day: Day, words: &str, session: &str) -> Line {
    Line::supported(format!("- {day}: {words}"), session)
}

/// Returns the text of a decision, or of a failure with its fix.
pub(super) fn statement_text(said: &Statement) -> String {
    let text = markdown::line(&said.text, LINE_CHARS);
    match said.resolution.as_deref().map(|how| markdown::line(how, LINE_CHARS)).filter(|how| !how.is_empty()) {
        Some(how) => format!("{text} → {how}"),
        None => text,
    }
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
