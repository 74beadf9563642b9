//! What lies over the list: a conversation, a text, a choice.

use baton_protocol::Agent;
use baton_protocol::answer::{Blame, Explain, Projects, Show};

use super::choice::{Choice, Item};
use super::conversation::Conversation;
use super::found::{name_of, when};
use super::text;

/// Spans of time that are offered: name, what it is, and where it ends if not now.
const SPANS: &[(&str, &str, Option<&str>)] = &[
    ("today", "since midnight", None),
    ("yesterday", "that day alone", Some("today")),
    ("this week", "since Monday", None),
    ("last week", "Monday to Sunday", Some("this week")),
    ("last month", "the calendar's", Some("this month")),
    ("7d", "the last 7 days", None),
    ("1m", "the last 30 days", None),
    ("3m", "the last 90 days", None),
    ("1y", "the last year", None),
];

/// What can be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Pick {
    ByProject,
    ByAgent,
    ByTime,
    NoFilter,
    Project(String),
    Agent(Agent),
    /// What was active in a time.
    Time {
        since: String,
        until: Option<String>,
    },
    /// A file whose sessions are wanted.
    File {
        path: String,
        project: Option<String>,
    },
    /// A session, at a line.
    Session {
        id: String,
        title: String,
        line: Option<u64>,
    },
}

/// A text that is scrolled.
pub(super) enum Told {
    Help,
    Explained(Box<Explain>),
}

/// See the module.
pub(super) enum Screen {
    Conversation(Box<Conversation>),
    Text { told: Told, top: usize },
    Choice(Choice<Pick>),
}

fn item(text: &str, about: &str, value: Pick) -> Item<Pick> {
    Item { text: text::one_line(text), about: text::one_line(about), value }
}

/// The filters.
pub(super) fn filters() -> Choice<Pick> {
    let items = vec![
        item("project", "F2", Pick::ByProject),
        item("agent", "F3", Pick::ByAgent),
        item("time", "F4", Pick::ByTime),
        item("no filter", "Esc", Pick::NoFilter),
    ];
    Choice::new("Filter by", items, None)
}

/// Projects; any other can be typed.
pub(super) fn projects(projects: &Projects) -> Choice<Pick> {
    let projects = projects.projects.iter().map(|row| row.project.as_str());
    let items = projects.map(|project| item(name_of(project), project, Pick::Project(project.to_owned())));
    Choice::new("Project, or type a name", items.collect(), Some(|typed| Pick::Project(typed.to_owned())))
}

/// All agents.
pub(super) fn agents() -> Choice<Pick> {
    Choice::new("Agent", Agent::ALL.iter().map(|agent| item(agent.title(), "", Pick::Agent(*agent))).collect(), None)
}

/// Spans of time; any other can be typed.
pub(super) fn spans() -> Choice<Pick> {
    let time =
        |since: &str, until: Option<&str>| Pick::Time { since: since.to_owned(), until: until.map(str::to_owned) };
    let items = SPANS.iter().map(|(span, about, until)| item(span, about, time(span, *until))).collect();
    let typed = |typed: &str| Pick::Time { since: typed.to_owned(), until: None };
    Choice::new("Active when? Or type a date since when", items, Some(typed))
}

/// The files of a session.
pub(super) fn files(shown: &Show) -> Choice<Pick> {
    let project = &shown.row.project;
    let root = project.as_deref().map(|project| format!("{project}/")).unwrap_or_default();
    let pick = |path: &str| Pick::File { path: path.to_owned(), project: project.clone() };
    let episode = shown.episode.clone().unwrap_or_default();
    let short = |path: &str| path.strip_prefix(&root).unwrap_or(path).to_owned();
    let changed = episode.files_modified.iter().map(|file| item(&short(&file.path), "changed", pick(&file.path)));
    let is_changed = |path: &str| episode.files_modified.iter().any(|file| file.path == path);
    let read = episode.files_read.iter().filter(|file| !is_changed(&file.path));
    let read = read.map(|file| item(&short(&file.path), "read", pick(&file.path)));
    Choice::new("Who changed which file?", changed.chain(read).collect(), None)
}

/// The sessions behind a file, or the files that may be meant.
pub(super) fn blame(blame: &Blame) -> Choice<Pick> {
    let candidates = blame.candidates.iter().map(|candidate| {
        let about = crate::print::counted(u64::from(candidate.sessions), "session");
        item(&candidate.ask, &about, Pick::File { path: candidate.ask.clone(), project: None })
    });
    let sessions = blame.sessions.iter().map(|session| {
        let at = session.at.as_deref().map(|at| when(at, 10)).unwrap_or_default();
        let did = match (session.modified, session.read) {
            (true, _) => format!("changed it{}", crate::print::changed_lines(", ", session.added, session.removed)),
            (false, 0) => "decided about it".to_owned(),
            (false, _) => "read it".to_owned(),
        };
        let title = if session.title.is_empty() { "(no title)" } else { &session.title };
        let (id, title) = (session.session_id.clone(), title.to_owned());
        item(&title.clone(), &format!("{at}, {did}"), Pick::Session { id, title, line: session.line })
    });
    Choice::new(text::one_line(&blame.message), candidates.chain(sessions).collect(), None)
}
