//! The note of one session.
//!
//! # Decisions
//!
//! - A session's own note links only to entities that it has its own decisions or failures about, whatever other
//!   notes exist, so that a second run gives the same note.

use super::facts::{File, Statement};
use super::layout::{Layout, NoteRole};
use super::note::{Body, Field, Note, Section, Value, Wanted, When};
use super::{Day, SessionFacts, header, markdown};
use baton_conversation::record::Timestamp;
use baton_protocol::Zone;

/// Maximum length of an entry of a section, in characters.
const ENTRY_CHARS: usize = 600;
/// Maximum length of a goal, in characters: an objective with its title, and a model's mark after it.
const GOAL_CHARS: usize = 740;
/// Maximum length of a title, in characters.
const TITLE_CHARS: usize = 120;
/// Maximum length of a path, in characters.
const PATH_CHARS: usize = 240;

/// Keys and headings of a session's note, in order.
pub const SECTIONS: [(&str, &str); 7] = [
    ("goal", "Goal"),
    ("work-log", "Work Log"),
    ("decisions", "Decisions Made"),
    ("errors", "Errors Resolved"),
    ("files", "Files"),
    ("open", "Open"),
    ("next-steps", "Next Steps"),
];

/// Key of the sessions that a note names.
pub(super) const SESSION_IDS: &str = "session_ids";
/// Value of `archived_reason` in a note that was over a threshold.
pub const OVER_THRESHOLD: &str = "Compaction threshold exceeded";
/// Value of `archived_reason` in a note that a person wanted compacted, regardless of its size.
pub const ON_REQUEST: &str = "Compaction asked for";
/// Text of the Work Log below the heading of an end.
pub const FINALIZED: &str = "Session completed. Work finalized.";

/// State of a session's note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// Not compacted.
    Active,
    /// Compacted; a copy is in the archive.
    Archived,
    /// Compaction failed and will be retried.
    CompactionFailed,
    /// Any other value, written by a person.
    Other(String),
}

/// The session of a note, from its frontmatter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The sessions that it names: those that it continues, oldest first, then its own.
    pub session_ids: Vec<String>,
    /// Its own session: the last of them.
    pub own: Option<String>,
    /// True if that is certain: a list of several is as Baton wrote it. A list that a person or a program changed may
    /// be in another order, or have more entries.
    pub is_sure: bool,
    /// Its episode.
    pub episode_uuid: Option<String>,
    /// Folder of its project.
    pub project: String,
    /// State of the note.
    pub status: Status,
    /// Why Baton compacted it; `None` if it did not, even if a person calls it archived.
    pub compacted: Option<&'static str>,
    /// Its creation day.
    pub created: Option<Day>,
    /// Title of the session.
    pub title: String,
    /// Why it could not be compacted.
    pub error: Option<String>,
    /// Why its copy could not be archived.
    pub archive_error: Option<String>,
}

/// Returns the wanted note of a session; `today` dates a change.
pub fn wanted(facts: &SessionFacts, layout: &Layout, today: Day) -> Wanted {
    let role = NoteRole::Session(facts.about.project.clone(), facts.about.note.clone());
    Wanted { path: layout.path(&role), note: session_note(facts, layout, today) }
}

fn session_note(facts: &SessionFacts, layout: &Layout, today: Day) -> Note {
    let bodies = [
        Body::Whole(goal(facts)),
        if facts.has_all_prompts { Body::Log(log(facts)) } else { Body::LogEnd(log(facts), facts.about.zone) },
        Body::Whole(facts.decisions.iter().map(|said| decision(facts, said, layout)).collect()),
        Body::Whole(facts.errors.iter().map(|said| fixed_error(facts, said, layout)).collect()),
        Body::Whole(facts.files.iter().map(|file| changed_file(facts, file, layout)).collect()),
        Body::Whole(facts.open.iter().map(entry).collect()),
        Body::Whole(facts.next_steps.iter().map(entry).collect()),
    ];
    let title = match markdown::line(&facts.title, TITLE_CHARS) {
        title if title.is_empty() => format!("Session {}", markdown::line(facts.about.session.short(), TITLE_CHARS)),
        title => title,
    };
    let head = Section { key: "title", heading: "", body: Body::Sole(vec![format!("# {title}")]) };
    let sections = SECTIONS.iter().zip(bodies).map(|((key, heading), body)| Section { key, heading, body });
    Note { header: header_of(facts, today), sections: std::iter::once(head).chain(sections).collect() }
}

fn header_of(facts: &SessionFacts, today: Day) -> Vec<Field> {
    let about = &facts.about;
    let ids = about.others.iter().chain([&about.session]).map(|id| markdown::property(id.as_str(), 200)).collect();
    let title = markdown::property(&facts.title, TITLE_CHARS);
    let mut fields = vec![
        Field::text("type", "session", When::Once),
        Field::text("project", about.project.clone(), When::Always),
        Field::text("status", "active", When::Touched),
        Field::text("created", facts.day().to_string(), When::Once),
        Field::text("updated", today.to_string(), When::Touched),
        Field::text("claude_last_accessed", today.to_string(), When::Touched),
        Field::text("title", title, When::Always),
        Field::list("tags", tags("session", &about.project), When::Once),
        Field::list(SESSION_IDS, ids, When::Always),
    ];
    fields.extend(about.episode.map(|uuid| Field::text("episode_uuid", uuid.to_string(), When::Always)));
    fields
}

/// Returns the tags of a note: its kind and its project. Tags have no spaces, and Obsidian allows no dots.
pub(super) fn tags(kind: &str, project: &str) -> Vec<String> {
    let tag: String = project.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '-' }).collect();
    vec!["baton".to_owned(), format!("baton/{kind}"), format!("project/{}", tag.trim_matches('-'))]
}

/// Returns the goal. For a named session it begins with the title, which the heading shows already.
fn goal(facts: &SessionFacts) -> Vec<String> {
    let goal = facts.goal.strip_prefix(&facts.title).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(&facts.goal);
    Some(markdown::line(goal, GOAL_CHARS)).filter(|goal| !goal.is_empty()).into_iter().collect()
}

/// Returns one line per prompt, and one entry for the end.
fn log(facts: &SessionFacts) -> Vec<(Timestamp, String)> {
    let prompts = facts.prompts.iter().map(|said| {
        let at = said.at.unwrap_or(facts.about.started);
        (at, format!("- {} {}", minute(at, facts.about.zone), markdown::line(&said.text, ENTRY_CHARS)))
    });
    let end = facts.about.ended.map(|at| (at, session_end(at)));
    prompts.chain(end).collect()
}

/// Returns the Work Log entry of an end.
pub(super) fn session_end(at: Timestamp) -> String {
    format!("### {} - Session End\n\n{FINALIZED}\n", second(at))
}

/// `2026-03-14T09:26:53Z`
fn second(at: Timestamp) -> String {
    let text = at.to_string();
    format!("{}Z", text.get(..19).unwrap_or(&text))
}

/// `2026-03-14 09:26`
fn minute(at: Timestamp, zone: Zone) -> String {
    Timestamp(zone.wall(at.0)).to_string().get(..16).unwrap_or_default().replace('T', " ")
}

fn decision(facts: &SessionFacts, said: &Statement, layout: &Layout) -> String {
    format!("- {}{}", markdown::line(&said.text, ENTRY_CHARS), links(facts, said, layout))
}

fn fixed_error(facts: &SessionFacts, said: &Statement, layout: &Layout) -> String {
    let how = said.resolution.as_deref().map(|text| markdown::line(text, ENTRY_CHARS)).filter(|text| !text.is_empty());
    let how = how.map(|how| format!(" → {how}")).unwrap_or_default();
    format!("- {}{how}{}", markdown::line(&said.text, ENTRY_CHARS), links(facts, said, layout))
}

/// Returns links to the entities that an entry is about.
fn links(facts: &SessionFacts, said: &Statement, layout: &Layout) -> String {
    let links: Vec<String> = said.about.iter().filter_map(|at| entity_link(facts, *at, layout)).collect();
    if links.is_empty() { String::new() } else { format!(" ({})", links.join(", ")) }
}

fn entity_link(facts: &SessionFacts, at: usize, layout: &Layout) -> Option<String> {
    let entity = facts.entities.get(at).filter(|entity| entity.is_subject)?;
    Some(layout.link(&NoteRole::Entity(facts.about.project.clone(), entity.file.clone()), &entity.name))
}

fn changed_file(facts: &SessionFacts, file: &File, layout: &Layout) -> String {
    let name = file.entity.and_then(|at| entity_link(facts, at, layout));
    let name = name.unwrap_or_else(|| markdown::code(&file.path, PATH_CHARS));
    match (file.added, file.removed) {
        (0, 0) => format!("- {name}"),
        (added, removed) => format!("- {name} (+{added} −{removed})"),
    }
}

fn entry(said: &Statement) -> String {
    format!("- {}", markdown::line(&said.text, ENTRY_CHARS))
}

/// Returns the session of a note; `None` for another kind of note, or one without a readable frontmatter.
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
