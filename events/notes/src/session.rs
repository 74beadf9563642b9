//! The note of one session.
//!
//! # Decisions
//!
//! - A session's own note links only to entities that it says something of itself about, whatever other notes
//!   there are: a second run says the same.

use super::layout::{Layout, Place};
use super::note::{Body, Field, Note, Section, Value, Wanted, When};
use super::told::{File, Said};
use super::{Day, Told, header, markdown};
use baton_conversation::record::Timestamp;

/// Longest entry of a section, in characters.
const ENTRY_CHARS: usize = 600;
/// Longest goal, in characters: an objective with its title, and with the mark of a model behind it.
const GOAL_CHARS: usize = 740;
/// Longest title, in characters.
const TITLE_CHARS: usize = 120;
/// Longest path, in characters.
const PATH_CHARS: usize = 240;

/// The headings of a session's note, in order, and the keys of their blocks.
pub const SECTIONS: [(&str, &str); 7] = [
    ("goal", "Goal"),
    ("work-log", "Work Log"),
    ("decisions", "Decisions Made"),
    ("errors", "Errors Resolved"),
    ("files", "Files"),
    ("open", "Open"),
    ("next-steps", "Next Steps"),
];

/// The key of the sessions that a note names.
pub(super) const SESSION_IDS: &str = "session_ids";
/// Value of `archived_reason` in a note that was over a threshold.
pub const OVER_THRESHOLD: &str = "Compaction threshold exceeded";
/// Value of `archived_reason` in a note that a person wanted compacted, whatever its size.
pub const ON_REQUEST: &str = "Compaction asked for";
/// What stands in the Work Log below the heading of an end.
pub const FINALIZED: &str = "Session completed. Work finalized.";

/// How far a session's note is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// Not compacted.
    Active,
    /// Compacted; a copy lies in the archive.
    Archived,
    /// Compacting failed; it is tried again.
    CompactionFailed,
    /// What a person wrote there instead.
    Other(String),
}

/// Which session a note tells of, by its frontmatter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The sessions that it names: what it continues, eldest first, and its own as the last one.
    pub session_ids: Vec<String>,
    /// The one that it is the note of: the last of them.
    pub own: Option<String>,
    /// Whether that is sure: a list of several is as Baton wrote it. What a person, or a program, has made of it may be in
    /// another order, or have more in it.
    pub is_sure: bool,
    /// The episode that it tells of.
    pub episode_uuid: Option<String>,
    /// The project's folder.
    pub project: String,
    /// Its status.
    pub status: Status,
    /// Why Baton has compacted it, if it has: a person who calls it archived has not.
    pub compacted: Option<&'static str>,
    /// The day on which it was created.
    pub created: Option<Day>,
    /// Its title.
    pub title: String,
    /// Why it could not be compacted.
    pub error: Option<String>,
    /// Why its archive was not taken.
    pub archive_error: Option<String>,
}

/// The note that is wanted of a session; `today` dates a change.
pub fn wanted(told: &Told, layout: &Layout, today: Day) -> Wanted {
    let place = Place::Session(told.about.project.clone(), told.about.note.clone());
    Wanted { path: layout.path(&place), note: note(told, layout, today) }
}

fn note(told: &Told, layout: &Layout, today: Day) -> Note {
    let bodies = [
        Body::Whole(goal(told)),
        if told.has_all_prompts { Body::Log(log(told)) } else { Body::LogEnd(log(told)) },
        Body::Whole(told.decisions.iter().map(|said| decision(told, said, layout)).collect()),
        Body::Whole(told.errors.iter().map(|said| mended(told, said, layout)).collect()),
        Body::Whole(told.files.iter().map(|file| changed(told, file, layout)).collect()),
        Body::Whole(told.open.iter().map(entry).collect()),
        Body::Whole(told.next_steps.iter().map(entry).collect()),
    ];
    let title = match markdown::line(&told.title, TITLE_CHARS) {
        title if title.is_empty() => format!("Session {}", markdown::line(told.about.session.short(), TITLE_CHARS)),
        title => title,
    };
    let head = Section { key: "title", heading: "", body: Body::Sole(vec![format!("# {title}")]) };
    let sections = SECTIONS.iter().zip(bodies).map(|((key, heading), body)| Section { key, heading, body });
    Note { header: header_of(told, today), sections: std::iter::once(head).chain(sections).collect() }
}

fn header_of(told: &Told, today: Day) -> Vec<Field> {
    let about = &told.about;
    let ids = about.others.iter().chain([&about.session]).map(|id| markdown::property(id.as_str(), 200)).collect();
    let title = markdown::property(&told.title, TITLE_CHARS);
    let mut fields = vec![
        Field::text("type", "session", When::Once),
        Field::text("project", about.project.clone(), When::Always),
        Field::text("status", "active", When::Touched),
        Field::text("created", told.day().to_string(), When::Once),
        Field::text("updated", today.to_string(), When::Touched),
        Field::text("claude_last_accessed", today.to_string(), When::Touched),
        Field::text("title", title, When::Always),
        Field::list("tags", tags("session", &about.project), When::Once),
        Field::list(SESSION_IDS, ids, When::Always),
    ];
    fields.extend(about.episode.map(|uuid| Field::text("episode_uuid", uuid.to_string(), When::Always)));
    fields
}

/// Tags of a note: what it is, and of which project. A tag has no spaces, and Obsidian takes no dots.
pub(super) fn tags(kind: &str, project: &str) -> Vec<String> {
    let tag: String = project.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '-' }).collect();
    vec!["baton".to_owned(), format!("baton/{kind}"), format!("project/{}", tag.trim_matches('-'))]
}

/// What it was for. That begins with the title where the session has a name, and the title stands above.
fn goal(told: &Told) -> Vec<String> {
    let goal = told.goal.strip_prefix(&told.title).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(&told.goal);
    Some(markdown::line(goal, GOAL_CHARS)).filter(|goal| !goal.is_empty()).into_iter().collect()
}

/// One line for each typed prompt, and one entry for the end.
fn log(told: &Told) -> Vec<(Timestamp, String)> {
    let prompts = told.prompts.iter().map(|said| {
        let at = said.at.unwrap_or(told.about.started);
        (at, format!("- {} {}", minute(at), markdown::line(&said.text, ENTRY_CHARS)))
    });
    let end = told.about.ended.map(|at| (at, session_end(at)));
    prompts.chain(end).collect()
}

/// The entry of an end in the Work Log.
pub(super) fn session_end(at: Timestamp) -> String {
    format!("### {} - Session End\n\n{FINALIZED}\n", second(at))
}

/// `2026-03-14T09:26:53Z`
fn second(at: Timestamp) -> String {
    let text = at.to_string();
    format!("{}Z", text.get(..19).unwrap_or(&text))
}

/// `2026-03-14 09:26`
fn minute(at: Timestamp) -> String {
    at.to_string().get(..16).unwrap_or_default().replace('T', " ")
}

fn decision(told: &Told, said: &Said, layout: &Layout) -> String {
    format!("- {}{}", markdown::line(&said.text, ENTRY_CHARS), links(told, said, layout))
}

fn mended(told: &Told, said: &Said, layout: &Layout) -> String {
    let how = said.resolution.as_deref().map(|text| markdown::line(text, ENTRY_CHARS)).filter(|text| !text.is_empty());
    let how = how.map(|how| format!(" → {how}")).unwrap_or_default();
    format!("- {}{how}{}", markdown::line(&said.text, ENTRY_CHARS), links(told, said, layout))
}

/// Links to what something is about.
fn links(told: &Told, said: &Said, layout: &Layout) -> String {
    let links: Vec<String> = said.about.iter().filter_map(|at| entity_link(told, *at, layout)).collect();
    if links.is_empty() { String::new() } else { format!(" ({})", links.join(", ")) }
}

fn entity_link(told: &Told, at: usize, layout: &Layout) -> Option<String> {
    let entity = told.entities.get(at).filter(|entity| entity.is_subject)?;
    Some(layout.link(&Place::Entity(told.about.project.clone(), entity.file.clone()), &entity.name))
}

fn changed(told: &Told, file: &File, layout: &Layout) -> String {
    let name = file.entity.and_then(|at| entity_link(told, at, layout));
    let name = name.unwrap_or_else(|| markdown::code(&file.path, PATH_CHARS));
    format!("- {name} (+{} −{})", file.added, file.removed)
}

fn entry(said: &Said) -> String {
    format!("- {}", markdown::line(&said.text, ENTRY_CHARS))
}

/// Which session a note tells of; `None` for a note of something else, or without a frontmatter that can be read.
pub fn identity(text: &str) -> Option<Identity> {
    let fields = header::fields(text);
    let field = |key: &str| match fields.get(key) {
        Some(Value::Text(text)) if !text.is_empty() => Some(text.clone()),
        _ => None,
    };
    if field("type").as_deref() != Some("session") {
        return None;
    }
    let session_ids = match fields.get(SESSION_IDS) {
        Some(Value::List(ids)) => ids.clone(),
        Some(Value::Text(id)) if !id.is_empty() => vec![id.clone()],
        _ => Vec::new(),
    };
    let own = session_ids.last().cloned();
    let is_sure = session_ids.len() < 2 || header::is_as_written(text, SESSION_IDS);
    let status = match field("status").as_deref() {
        Some("active") | None => Status::Active,
        Some("archived") => Status::Archived,
        Some("compaction_failed") => Status::CompactionFailed,
        Some(other) => Status::Other(other.to_owned()),
    };
    Some(Identity {
        session_ids,
        own,
        is_sure,
        episode_uuid: field("episode_uuid"),
        project: field("project").unwrap_or_default(),
        status,
        compacted: field("archived_reason")
            .and_then(|said| [OVER_THRESHOLD, ON_REQUEST].into_iter().find(|it| said == *it)),
        created: field("created").as_deref().and_then(Day::parse),
        title: field("title").unwrap_or_default(),
        error: field("error"),
        archive_error: field("archive_error"),
    })
}
