//! Start pages: one for each project, and one that links to all of them.

use super::layout::{Layout, NoteRole};
use super::note::{Field, Line, Note, Section, Wanted, When};
use super::session::tags;
use super::{Day, SessionFacts, header, markdown};

/// Maximum length of a project's path, in characters.
const PATH_CHARS: usize = 400;

/// Returns the pages that link to a session and its notes; `path` is its project's directory.
pub fn wanted_pages(facts: &SessionFacts, path: Option<&str>, layout: &Layout, today: Day) -> Vec<Wanted> {
    let project = &facts.about.project;
    let own = NoteRole::Project(project.clone());
    let session = NoteRole::Session(project.clone(), facts.about.note.clone());
    let sessions = vec![Line::unsupported(format!("- {}: {}", facts.day(), layout.link(&session, "")))];
    let entities = facts.entities.iter().filter(|entity| entity.is_noted).map(|entity| {
        let role = NoteRole::Entity(project.clone(), entity.file.clone());
        Line::unsupported(format!("- {}", layout.link(&role, &entity.name)))
    });
    // Start pages belong to no session, so their dates are the day on which they are made.
    let mut header = header_of("project", project, today, today);
    header.push(Field::text("project", project.clone(), When::Once));
    header.extend(path.map(|path| Field::text("path", markdown::property(path, PATH_CHARS), When::Once)));
    let page = Note {
        header,
        sections: vec![
            Section::title(project),
            Section::added("sessions", "Sessions", sessions),
            Section::added("entities", "Entities", entities.collect()),
            Section::added("topics", "Topics", Vec::new()),
        ],
    };
    let lead = Line::unsupported(format!("- {}", layout.link(&own, project)));
    let all = Note {
        header: header_of("start", "all", today, today),
        sections: vec![
            Section::title("Start"),
            Section::added("projects", "Projects", vec![lead]),
            Section::added("about", "About The User", Vec::new()),
        ],
    };
    vec![Wanted { path: layout.path(&own), note: page }, Wanted { path: layout.path(&NoteRole::Start), note: all }]
}

/// Returns the line by which a start page links to a topic of a project, or to the preferences.
pub(super) fn leading_to(role: &NoteRole, shown: &str, layout: &Layout, today: Day) -> Option<Wanted> {
    let line = Line::unsupported(format!("- {}", layout.link(role, shown)));
    let (path, section) = match role {
        NoteRole::Topic(project, _) => {
            (NoteRole::Project(project.clone()), Section::added("topics", "Topics", vec![line]))
        }
        NoteRole::Preferences => (NoteRole::Start, Section::added("about", "About The User", vec![line])),
        _ => return None,
    };
    let header = vec![Field::text("updated", today.to_string(), When::Touched)];
    Some(Wanted { path: layout.path(&path), note: Note { header, sections: vec![section] } })
}

/// Returns the project directory of a project's page, from its frontmatter.
pub fn project_path(text: &str) -> Option<String> {
    let fields = header::texts(text);
    (fields.get("type").map(String::as_str) == Some("project")).then(|| fields.get("path").cloned()).flatten()
}

fn header_of(kind: &'static str, name: &str, created: Day, today: Day) -> Vec<Field> {
    vec![
        Field::text("type", kind, When::Once),
        Field::text("created", created.to_string(), When::Once),
        Field::text("updated", today.to_string(), When::Touched),
        Field::list("tags", tags(kind, name), When::Once),
    ]
}
