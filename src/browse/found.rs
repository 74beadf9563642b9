//! What the daemon answers, as the list shows it.

use std::collections::BTreeMap;

use baton_conversation::record::Timestamp;
use baton_protocol::answer::{Hit, Row, Search, Sessions};
use baton_protocol::{Agent, SearchParams, SessionsParams, method};

use super::lane::Asking;
use crate::environment;

/// Most sessions of one page.
pub(super) const PAGE: u32 = 100;
/// Most matching places of a session.
const PLACES: u32 = 5;

/// What the list shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    /// The query; empty for the latest sessions.
    pub(super) query: String,
    /// Only this project: its directory, or a name.
    pub(super) project: Option<String>,
    /// Only this agent.
    pub(super) agent: Option<Agent>,
    /// Only what was active since then, as typed.
    pub(super) since: Option<String>,
    /// Only what was active before then.
    pub(super) until: Option<String>,
}

/// A session of the list.
#[derive(Clone, Debug, Default)]
pub(super) struct Entry {
    /// The session. For a note only its id and its title are known.
    pub(super) row: Row,
    /// Where it matches.
    pub(super) places: Vec<Place>,
}

/// A matching place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// The line of the transcript; absent if the episode matches.
    pub(super) line: Option<u64>,
    /// Who speaks.
    pub(super) role: String,
    /// The passage.
    pub(super) text: String,
}

/// A page of the list.
#[derive(Clone, Debug, Default)]
pub(super) struct Page {
    pub(super) entries: Vec<Entry>,
    /// True if another page may follow.
    pub(super) has_more: bool,
    /// True if history is still being read, so that the answer is a part of what comes.
    pub(super) is_partial: bool,
    /// Remarks on the answer.
    pub(super) notes: Vec<String>,
}

impl Wanted {
    /// True if a filter is set.
    pub(super) fn is_filtered(&self) -> bool {
        self.project.is_some() || self.agent.is_some() || self.since.is_some() || self.until.is_some()
    }

    /// Asks for a page that begins after `skip` sessions. With `stored` the daemon reads nothing first.
    pub(super) fn ask(&self, asking: &mut Asking<'_>, skip: u32, stored: bool) -> Result<Page, String> {
        if self.query.trim().is_empty() { self.latest(asking, skip, stored) } else { self.search(asking, stored) }
    }

    fn latest(&self, asking: &mut Asking<'_>, skip: u32, stored: bool) -> Result<Page, String> {
        let params = SessionsParams {
            project: self.project.clone(),
            agent: self.agent,
            since: self.since.clone(),
            until: self.until.clone(),
            limit: Some(PAGE),
            skip,
            stored,
            caller: environment::caller(),
            ..SessionsParams::default()
        };
        let found: Sessions = asking.call(method::SESSIONS, &params)?;
        let has_more = found.sessions.len() as u32 == PAGE;
        let reading = found.reading.map(|it| format!("still reading history: {} of {} transcripts", it.done, it.total));
        let entries = found.sessions.into_iter().map(|row| Entry { row, places: Vec::new() }).collect();
        Ok(Page { entries, has_more, is_partial: reading.is_some(), notes: reading.into_iter().collect() })
    }

    fn search(&self, asking: &mut Asking<'_>, stored: bool) -> Result<Page, String> {
        let mut query = self.query.clone();
        let (agent, after, before) = (self.agent.map(Agent::as_str), self.since.as_deref(), self.until.as_deref());
        let filters = [("agent", agent), ("after", after), ("before", before)];
        for (name, value) in filters {
            query.extend(value.map(|value| format!(" {name}:\"{value}\"")));
        }
        let params = SearchParams {
            query,
            project: self.project.clone(),
            limit: PAGE,
            turns: Some(PLACES),
            stored,
            caller: environment::caller(),
            ..SearchParams::default()
        };
        let mut found: Search = asking.call(method::SEARCH, &params)?;
        // The last word may still be typed.
        if found.hits.is_empty() && self.query.ends_with(char::is_alphanumeric) {
            let query = params.query.replacen(&self.query, &format!("{}*", self.query), 1);
            found = asking.call(method::SEARCH, &SearchParams { query, ..params })?;
        }
        let ids: Vec<String> = by_session(&found.hits).map(|hits| hits[0].session_id.clone()).collect();
        if ids.is_empty() {
            return Ok(Page { notes: notes(&found), is_partial: found.freshness.pending > 0, ..Page::default() });
        }
        let params = SessionsParams { ids, subagents: true, stored: true, ..SessionsParams::default() };
        let known: Sessions = asking.call(method::SESSIONS, &params)?;
        let mut rows: BTreeMap<String, Row> =
            known.sessions.into_iter().map(|row| (row.session_id.clone(), row)).collect();
        let entries = by_session(&found.hits)
            .map(|hits| {
                let row = rows.remove(&hits[0].session_id).unwrap_or_else(|| row_of(&hits[0]));
                Entry { row: Row { title: Some(hits[0].title.clone()), ..row }, places: places(hits) }
            })
            .collect();
        Ok(Page { entries, has_more: false, is_partial: found.freshness.pending > 0, notes: notes(&found) })
    }
}

/// The hits of each session, which stand together.
fn by_session(hits: &[Hit]) -> impl Iterator<Item = &[Hit]> {
    hits.chunk_by(|one, other| one.session_id == other.session_id)
}

/// A row for what is in no table: a note.
fn row_of(hit: &Hit) -> Row {
    Row {
        session_id: hit.session_id.clone(),
        project: hit.project.clone(),
        last_activity: hit.timestamp.clone(),
        state: hit.source.as_ref().map_or(String::new(), |_| "note".to_owned()),
        source: hit.source.clone(),
        ..Row::default()
    }
}

fn places(hits: &[Hit]) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for hit in hits {
        let role = hit.role.clone().unwrap_or_else(|| hit.kind.clone());
        // What several turns repeat is shown once.
        if !places.iter().any(|place| place.text == hit.snippet) {
            places.push(Place { line: hit.line, role, text: hit.snippet.clone() });
        }
    }
    places
}

fn notes(found: &Search) -> Vec<String> {
    let fresh = &found.freshness;
    let pending =
        (fresh.pending > 0).then(|| format!("{} still being read", crate::print::counted(fresh.pending, "session")));
    found.notes.iter().chain(&fresh.note).cloned().chain(pending).collect()
}

/// An RFC 3339 time on the person's clock, as short as `width` wants it: with the year and the minute, with the day
/// alone, or without the year.
pub(super) fn when(at: &str, width: usize) -> String {
    if Timestamp::parse(at).is_none() {
        return String::new();
    }
    match width {
        16.. => environment::zone::minute(at),
        10.. => environment::zone::day(at),
        _ => environment::zone::day(at).get(5..).unwrap_or_default().to_owned(),
    }
}

/// The last part of a directory.
pub(super) fn name_of(directory: &str) -> &str {
    directory.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or(directory)
}

/// A cost in dollars.
pub(super) fn dollars(cost: f64) -> String {
    if cost > 0.0 && cost < 0.01 { "<$0.01".to_owned() } else { format!("${cost:.2}") }
}
