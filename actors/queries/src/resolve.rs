//! Resolves what a person or an agent wrote to a session or a project.

mod ambiguous;
mod directory;

use baton_views::{clones, visibility};
use std::collections::BTreeSet;
use std::sync::Arc;

use baton_conversation::record::SessionId;
use baton_events::projection::table::{Belonging, SessionTable};
use baton_protocol::{Caller, Failure, code};

use super::SESSIONS_NAMED;
use super::client::failure;
use super::discovery::Discovery;
use baton_base::clock::Clock;
use baton_base::latest::Latest;
use baton_base::transcript_file::FileSeen;
use baton_config::settings::{Settings, Stop};
use baton_tracking::hooks::{Hooks, succession};
use baton_tracking::supervisor::Degraded;
use baton_views::catalog::Catalog;
use baton_views::conversation::Conversations;

/// Fewest characters of a prefix that names a session.
const START_CHARS: usize = 8;
/// Most similar projects that an error names.
const NEAR: usize = 3;
/// Most characters of a name that are compared, because the cost is the product of both lengths.
const COMPARED_CHARS: usize = 200;

/// Resolves what names a session, with a look for sessions that have just begun.
#[derive(Clone, Copy)]
pub(crate) struct SessionResolver<'a> {
    pub(crate) discovery: Discovery<'a>,
    pub(crate) conversations: &'a Arc<Conversations>,
    pub(crate) hooks: &'a Hooks,
    pub(crate) degraded: &'a Latest<Vec<Degraded>>,
    pub(crate) clock: &'a dyn Clock,
}

impl SessionResolver<'_> {
    pub(crate) fn catalog(&self) -> &Catalog {
        self.discovery.catalog
    }

    /// The requested session: the named one, else the caller's own, else the only one of its directory. Fails if the
    /// caller's session was left for an unknown successor, or is not known.
    pub(crate) async fn requested_session(&self, named: Option<&str>, caller: &Caller) -> Result<SessionId, Failure> {
        if let Some(text) = named {
            return self.find_session(text).await;
        }
        let own = own_session(&self.catalog().table.now(), caller);
        let left = own.as_ref().filter(|id| succession::is_left(&self.catalog().table.now(), id, caller.since));
        if let Some(id) = left {
            self.discovery.check_transcripts().await;
            let settings = self.catalog().settings.now();
            let begun = |id: &SessionId| self.hooks.last_place(id);
            let (table, now) = (self.catalog().table.now(), self.clock.now());
            let why = "was left for another";
            return Err(directory::not_this_session(
                &table,
                &settings,
                &begun,
                now,
                (id, why),
                caller.directory.as_deref(),
            ));
        }
        if let Some(id) = &own
            && let Some(known) = self.find_exact(id).await?
        {
            return Ok(known);
        }
        match (&caller.directory, own) {
            (Some(directory), Some(id)) => {
                self.discovery.check_transcripts().await;
                let (table, settings, now) =
                    (self.catalog().table.now(), self.catalog().settings.now(), self.clock.now());
                let begun = |id: &SessionId| self.hooks.last_place(id);
                let why = "asks and is not known";
                Err(directory::not_this_session(&table, &settings, &begun, now, (&id, why), Some(directory)))
            }
            (Some(directory), None) => {
                self.discovery.check_transcripts().await;
                let settings = self.catalog().settings.now();
                let begun = |id: &SessionId| self.hooks.last_place(id);
                directory::only_session(&self.catalog().table.now(), &settings, &begun, self.clock.now(), directory)
            }
            (None, Some(id)) => Err(unknown_session(&self.catalog().table.now(), id.as_str())),
            (None, None) => Err(failure(code::NOT_FOUND, "which session? Give its id; `baton sessions` lists them")),
        }
    }

    /// The session with this id, if it is known after a look at every folder; a session that has just begun may be known
    /// from hooks only. Fails if it is known but must not be read or shown.
    async fn find_exact(&self, id: &SessionId) -> Result<Option<SessionId>, Failure> {
        if !self.is_read(id) {
            self.discovery.discover(|file| file.session == *id).await;
        }
        if self.catalog().table.now().get(id).is_some() {
            return self.check_visible(id.clone()).map(Some);
        }
        match self.find_undiscovered(id.as_str()).await {
            Ok(Some(file)) if file.session == *id => Err(self.not_read(&file)),
            _ => Ok(None),
        }
    }

    /// Returns true if something is known of the session's transcript.
    fn is_read(&self, id: &SessionId) -> bool {
        self.catalog().table.now().get(id).is_some_and(|row| !row.state.is_unseen())
    }

    /// The session that a text names: an id, or a prefix that fits only one. If none is known, every folder is checked
    /// first, because the session may have begun a moment ago.
    pub(crate) async fn find_session(&self, text: &str) -> Result<SessionId, Failure> {
        let found = by_text(&self.catalog().table.now(), text);
        match found {
            Ok(Some(id)) if self.is_read(&id) => return self.check_visible(id),
            Ok(None) if is_too_short(text) => {
                self.discovery.discover(|file| file.session.as_str() == text).await;
                return match by_text(&self.catalog().table.now(), text) {
                    Ok(Some(id)) => self.check_visible(id),
                    _ => Err(too_short(&self.catalog().table.now(), text)),
                };
            }
            Ok(_) => {}
            Err(several) => return Err(ambiguous::refusal(self.conversations, text, several).await),
        }
        self.discovery.discover(|file| file.session.as_str().starts_with(text)).await;
        match by_text(&self.catalog().table.now(), text) {
            Ok(Some(id)) => return self.check_visible(id),
            Ok(None) => {}
            Err(several) => return Err(ambiguous::refusal(self.conversations, text, several).await),
        }
        match self.find_undiscovered(text).await? {
            Some(file) => Err(self.not_read(&file)),
            None => Err(self.unknown(text)),
        }
    }

    /// The failure for a session that is not of this home.
    fn unknown(&self, text: &str) -> Failure {
        let (everyone, _) = self.catalog().including_others();
        let known = by_text(&everyone, text).ok().flatten();
        match known.and_then(|id| Some((everyone.author(&id)?.clone(), id))) {
            Some((author, id)) => {
                let message = format!(
                    "session {id} is {}'s, on {}: it is shown here, and only they can close, correct or forget it",
                    author.shown, author.machine
                );
                failure(code::NOT_FOUND, message)
            }
            None => unknown_session(&self.catalog().table.now(), text),
        }
    }

    /// Like [`Self::find_session`], and also finds sessions of others: for answers that show one.
    pub(crate) async fn find_shown(&self, text: &str) -> Result<SessionId, Failure> {
        let (everyone, settings) = self.catalog().including_others();
        match by_text(&everyone, text) {
            Ok(Some(id)) if everyone.author(&id).is_some() => {
                let is_excluded = everyone.get(&id).is_some_and(|row| settings.excludes(&row.state));
                let excluded = || failure(code::NOT_FOUND, format!("session {id} is of a project that is excluded"));
                if is_excluded { Err(excluded()) } else { Ok(id) }
            }
            _ => self.find_session(text).await,
        }
    }

    /// The failure for a session that exists but is not read.
    fn not_read(&self, file: &FileSeen) -> Failure {
        let by_switch = || {
            format!(
                "session {} is not read, because of the configuration: `baton session-tracking status` shows the switches, and \
                 `track_session` with `force` tracks one session alone",
                file.session
            )
        };
        failure(code::NOT_FOUND, self.failing(&file.session).unwrap_or_else(by_switch))
    }

    /// The problem and remedy of a session that keeps failing.
    fn failing(&self, id: &SessionId) -> Option<String> {
        let degraded = self.degraded.now();
        let of_it = degraded.iter().find(|degraded| degraded.session() == Some(id))?;
        Some(format!("{}: {}", of_it.describe(), of_it.fix()))
    }

    /// The transcript of a session that was not discovered because its project is not tracked.
    pub(crate) async fn find_undiscovered(&self, text: &str) -> Result<Option<FileSeen>, Failure> {
        if text.is_empty() {
            return Ok(None);
        }
        let mut found = self.discovery.watcher.find(text).await.unwrap_or_default();
        if is_too_short(text) {
            found.retain(|file| file.session.as_str() == text);
        }
        // The same session may have two files; the first is read.
        found.sort_by(|a, b| (&a.session, &a.path).cmp(&(&b.session, &b.path)));
        found.dedup_by(|a, b| a.session == b.session);
        if let Some(at) = found.iter().position(|file| file.session.as_str() == text) {
            return Ok(Some(found.swap_remove(at)));
        }
        match found.len() {
            0 | 1 => Ok(found.pop()),
            several => {
                let ids: Vec<&SessionId> = found.iter().map(|file| &file.session).collect();
                let message = format!("{text:?} fits {several} sessions: {}; give more of the id", names(&ids));
                Err(failure(code::NOT_FOUND, message))
            }
        }
    }

    /// Refuses sessions of excluded projects.
    fn check_visible(&self, id: SessionId) -> Result<SessionId, Failure> {
        match self.catalog().stop_of(&id) {
            Some(stop @ (Stop::Excluded { .. } | Stop::Own)) => {
                Err(failure(code::NOT_FOUND, format!("session {id} is neither read nor shown: {stop}")))
            }
            _ => Ok(id),
        }
    }

    /// Fails if the text is a prefix of several known sessions.
    pub(crate) async fn check_unambiguous(&self, text: &str) -> Result<(), Failure> {
        let found = by_text(&self.catalog().table.now(), text);
        match found {
            Err(several) => Err(ambiguous::refusal(self.conversations, text, several).await),
            Ok(_) => Ok(()),
        }
    }
}

/// The session that the caller works in, from its environment at its start and from later hooks. It need not be known.
pub(super) fn own_session(table: &SessionTable, caller: &Caller) -> Option<SessionId> {
    let session = SessionId::new(caller.agent_session.as_deref()?)?;
    Some(succession::current_successor(table, session, caller.since))
}

/// The asking session, unless the question names it.
pub(crate) fn asking_session(table: &SessionTable, caller: &Caller, question: &str) -> Option<SessionId> {
    let id = own_session(table, caller)?;
    (!question.contains(table.short_id(&id))).then_some(id)
}

/// The one known session that a text names, without looking for new ones.
pub(super) fn known_session(table: &SessionTable, text: &str) -> Option<SessionId> {
    by_text(table, text).ok().flatten()
}

/// Returns true if a text is too short to be the prefix of an id.
fn is_too_short(text: &str) -> bool {
    text.chars().count() < START_CHARS
}

fn too_short(table: &SessionTable, text: &str) -> Failure {
    let message = unknown_session(table, text).message;
    failure(code::NOT_FOUND, format!("{message}; give an id, or at least the first {START_CHARS} characters of one"))
}

/// The session with this id, or the only one with this prefix of at least [`START_CHARS`] characters; `Err` with all if
/// several fit.
fn by_text(table: &SessionTable, text: &str) -> Result<Option<SessionId>, Vec<SessionId>> {
    if let Some(id) = SessionId::new(text)
        && table.get(&id).is_some()
    {
        return Ok(Some(id));
    }
    if is_too_short(text) {
        return Ok(None);
    }
    let fitting = |is_unseen: bool| -> Vec<&SessionId> {
        let known = table.iter().filter(|(_, row)| row.state.is_unseen() == is_unseen).map(|(id, _)| id);
        known.filter(|id| id.as_str().starts_with(text)).collect()
    };
    // Sessions known from hooks only do not make a prefix ambiguous.
    let fits = Some(fitting(false)).filter(|fits| !fits.is_empty()).unwrap_or_else(|| fitting(true));
    match fits.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some((*only).clone())),
        several => Err(several.iter().copied().cloned().collect()),
    }
}

fn names(ids: &[&SessionId]) -> String {
    let mut named: Vec<&str> = ids.iter().take(SESSIONS_NAMED).map(|id| id.as_str()).collect();
    if ids.len() > SESSIONS_NAMED {
        named.push("…");
    }
    named.join(", ")
}

/// The failure for an unknown session, with similar ids.
pub(super) fn unknown_session(table: &SessionTable, text: &str) -> Failure {
    let shared = |id: &SessionId| id.as_str().bytes().zip(text.bytes()).take_while(|(a, b)| a == b).count();
    let mut near: Vec<&SessionId> = table.iter().map(|(id, _)| id).filter(|id| shared(id) >= 3).collect();
    near.sort_by_key(|id| std::cmp::Reverse(shared(id)));
    near.truncate(3);
    let near = if near.is_empty() { String::new() } else { format!(" Near: {}.", names(&near)) };
    failure(code::NOT_FOUND, format!("no session {text:?} is known.{near} `baton sessions` lists all"))
}

/// All projects and groups with a session that is neither forgotten nor excluded, sorted.
pub(super) fn projects<'a>(table: &'a SessionTable, settings: &Settings) -> Vec<&'a str> {
    projects_of(table, settings, |belonging| !belonging.is_forgotten)
}

fn projects_of<'a>(table: &'a SessionTable, settings: &Settings, is_meant: fn(&Belonging) -> bool) -> Vec<&'a str> {
    let is_excluded =
        |belonging: &Belonging| belonging.place.as_ref().is_some_and(|place| settings.excludes_place(place));
    let shown = table.belongings().filter(|belonging| is_meant(belonging) && !is_excluded(belonging));
    let groups = table.memo_groups().filter(|group| !visibility::is_group_excluded(settings, group));
    shown.flat_map(found_under).chain(groups).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The project that a text names: a directory, a group, or the last part of exactly one.
pub(super) fn project(table: &SessionTable, settings: &Settings, text: &str) -> Result<String, Failure> {
    project_named(table, projects(table, settings), text)
}

/// The group and the project under which these sessions are found.
fn found_under(Belonging { group, place, .. }: &Belonging) -> impl Iterator<Item = &str> {
    let project = place.as_ref().map(|place| place.project.as_str());
    group.as_deref().into_iter().chain(project)
}

fn without_slash(text: &str) -> &str {
    if text.len() > 1 { text.trim_end_matches('/') } else { text }
}

/// Like [`project`], but includes projects whose sessions are all forgotten, for listings.
pub(super) fn project_or_forgotten(table: &SessionTable, settings: &Settings, text: &str) -> Result<String, Failure> {
    project(table, settings, text)
        .or_else(|failure| project_named(table, projects_of(table, settings, |_| true), text).map_err(|_| failure))
}

fn project_named(table: &SessionTable, projects: Vec<&str>, text: &str) -> Result<String, Failure> {
    let trimmed = without_slash(text);
    if projects.binary_search(&trimmed).is_ok() {
        return Ok(trimmed.to_owned());
    }
    let by_place = clones::project_of(table, trimmed);
    if projects.binary_search(&by_place.as_str()).is_ok() {
        return Ok(by_place);
    }
    let last = |project: &&&str| last_part(project) == trimmed;
    let fits: Vec<&str> = projects.iter().filter(last).copied().collect();
    match fits.as_slice() {
        [only] => Ok((*only).to_owned()),
        [] => Err(failure(code::NOT_FOUND, no_project(projects, trimmed))),
        several => {
            let more = if several.len() > SESSIONS_NAMED { ", …" } else { "" };
            let named = several[..several.len().min(SESSIONS_NAMED)].join(", ");
            let message = format!("{text:?} fits {} projects: {named}{more}; give the directory", several.len());
            Err(failure(code::NOT_FOUND, message))
        }
    }
}

/// The last part of a project's path, which people call it by.
pub(super) fn last_part(project: &str) -> &str {
    baton_events::project::name(project)
}

/// The message for an unknown project, with the most similar ones.
fn no_project(mut projects: Vec<&str>, text: &str) -> String {
    let start = |text: &str| text.chars().take(COMPARED_CHARS).flat_map(char::to_lowercase).collect::<String>();
    let shown: String = text.chars().take(COMPARED_CHARS).collect();
    let wanted = start(text);
    let far = |project: &&str| {
        let by = |part: &str| strsim::damerau_levenshtein(&wanted, &start(part));
        by(project).min(by(last_part(project)))
    };
    projects.sort_by_cached_key(far);
    let begins = |project: &&str| !wanted.is_empty() && start(last_part(project)).starts_with(&wanted);
    let begin: Vec<&str> = projects.iter().filter(|project| begins(project)).copied().collect();
    if !begin.is_empty() {
        return format!("no project is named {shown:?}; these begin so: {}", begin[..begin.len().min(NEAR)].join(", "));
    }
    projects.truncate(NEAR);
    let near = if projects.is_empty() { String::new() } else { format!(" Near: {}.", projects.join(", ")) };
    let unseen = baton_base::project::unresponsive_note(text);
    format!("no project {shown:?} is known{unseen}.{near} `baton sessions` lists all")
}

/// The groups that texts name, each resolved by [`project`]. For predicates see [`visibility::is_in_any`].
pub(super) fn groups(table: &SessionTable, settings: &Settings, texts: &[String]) -> Result<Vec<String>, Failure> {
    texts.iter().map(|text| project(table, settings, text)).collect()
}

/// The only group of a question, as far as it is known before anything is read.
pub(super) fn only_group(catalog: &Catalog, texts: &[String]) -> Option<String> {
    let [text] = texts else { return None };
    let (table, settings) = catalog.now();
    project(&table, &settings, text).ok()
}

#[cfg(test)]
mod tests {
    use baton_conversation::record::{Position, SequenceNumber};
    use baton_events::session::{Event, Place};

    use super::*;
    use baton_config::settings::Switches;
    use baton_config::settings::pattern::Pattern;

    const SECRET: &str = "sk-ant-api03-a1B2c3D4e5F6a1B2c3D4e5F6";

    fn table(projects: &[&str]) -> SessionTable {
        let mut table = SessionTable::default();
        for (number, project) in (1..).zip(projects) {
            let id = SessionId::new(&format!("s{number}")).unwrap();
            let place = Place::new(*project, *project);
            table.apply(Position(number), &id, SequenceNumber(1), &Event::Located { place });
        }
        table
    }

    #[test]
    fn a_project_is_known_or_the_nearest_are_named() {
        let secret = format!("/srv/{SECRET}");
        let table = table(&[
            "/srv/alpha",
            "/srv/beta",
            "/srv/ledger",
            "/srv/ledgers",
            "/a/app",
            "/b/app",
            "/hidden/ledge",
            &secret,
        ]);
        let exclude = vec![Pattern::new("/hidden/**").unwrap()];
        let settings = Settings { switches: Switches::new(Vec::new(), exclude), ..Settings::default() };
        let check = |text: &str, expected: Result<&str, &[&str]>| {
            let found = project(&table, &settings, text);
            match expected {
                Ok(known) => assert_eq!(found.unwrap(), known, "{text}"),
                Err(said) => {
                    let message = found.unwrap_err().message;
                    assert!(said.iter().all(|said| message.contains(said)), "{text}: {message}");
                    let near = message.split_once("Near:").map_or("", |(_, near)| near);
                    assert!(!near.contains("/hidden") && !message.contains(SECRET), "{text}: {message}");
                }
            }
        };
        check("/srv/alpha/", Ok("/srv/alpha"));
        check("ledger", Ok("/srv/ledger"));
        check(
            "lodger",
            Err(&["no project \"lodger\" is known. Near: /srv/ledger, /srv/ledgers, ", "`baton sessions`"]),
        );
        check("/srv/Betta", Err(&["Near: /srv/beta, "]));
        check("app", Err(&["fits 2 projects: /a/app, /b/app; give the directory"]));
        check("/hidden/ledge", Err(&["no project"]));
        check("ledge", Err(&["these begin so: /srv/ledger, /srv/ledgers"]));
        check(&format!("{SECRET}x"), Err(&["Near: /srv/[redacted"]));
        check(SECRET, Ok(&secret));
        check(&"x".repeat(100_000), Err(&["no project \"xxx"]));
        let none = project(&SessionTable::default(), &Settings::default(), "x").unwrap_err().message;
        assert_eq!(none, "no project \"x\" is known. `baton sessions` lists all");
    }
}
