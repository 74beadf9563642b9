//! Sessions: the latest, or those that a search finds. Twin of `baton timeline` and `baton search`.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::Html;
use baton_conversation::printable::plain;
use baton_protocol::answer::{Hit, Search, Timeline, TimelineSession};
use baton_protocol::{Agent, SearchParams, TimelineParams, method};
use maud::{Markup, html};
use serde::Deserialize;

use super::non_empty;
use crate::ask::Failed;
use crate::layout::{self, Clock, address, counted, duration};
use crate::site::Site;

/// Most sessions on a page.
const SESSIONS: u32 = 40;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Params {
    q: String,
    project: String,
    agent: String,
    since: String,
    until: String,
    cursor: String,
}

pub(crate) async fn page(State(site): State<Arc<Site>>, Query(asked): Query<Params>) -> Result<Html<String>, Failed> {
    let list =
        if asked.q.trim().is_empty() { latest(&site, &asked).await } else { search_results(&site, &asked).await };
    let list = list.or_else(Failed::beside_form)?;
    let title = if asked.q.is_empty() { "Sessions".to_owned() } else { plain(&asked.q) };
    let body = html! {
        h1 { "Sessions" }
        form.filters {
            label for="q" { "Search" }
            input #q type="search" name="q" value=(asked.q) placeholder="words, \"a phrase\", file:src/main.rs" autocomplete="off";
            label for="project" { "Project" }
            input #project name="project" value=(asked.project);
            (super::agent_choice(&asked.agent))
            (super::time_fields(&asked.since, &asked.until))
            button { "Show" }
        }
        (super::span_links("/sessions", &[("q", &asked.q), ("project", &asked.project), ("agent", &asked.agent)]))
        (list)
    };
    Ok(layout::page("/sessions", &title, &body))
}

/// The latest sessions, by day.
async fn latest(site: &Site, asked: &Params) -> Result<Markup, Failed> {
    let params = TimelineParams {
        project: non_empty(&asked.project),
        since: non_empty(&asked.since),
        until: non_empty(&asked.until),
        agent: Agent::ALL.iter().copied().find(|agent| agent.as_str() == asked.agent),
        limit: SESSIONS,
        cursor: non_empty(&asked.cursor),
        caller: site.caller(),
        ..TimelineParams::default()
    };
    let timeline: Timeline = site.ask(method::TIMELINE, &params).await?;
    let clock = site.clock();
    let filters = [&asked.project, &asked.agent, &asked.since, &asked.until, &asked.cursor];
    let is_filtered = filters.iter().any(|filter| !filter.trim().is_empty());
    let next = timeline.next_cursor.as_deref().map(|cursor| {
        let all = [
            ("project", asked.project.as_str()),
            ("agent", &asked.agent),
            ("since", &asked.since),
            ("until", &asked.until),
            ("cursor", cursor),
        ];
        address("/sessions", &all)
    });
    Ok(html! {
        section #list data-live[asked.cursor.is_empty()] {
            @if timeline.days.is_empty() {
                @if is_filtered { p { "No session fits these filters. " a href="/sessions" { "All sessions" } } }
                @else { p.faint { "No session is known here yet." } }
            }
            @for day in &timeline.days {
                h2 { (day.day) }
                ul.rows { @for session in &day.sessions { (row(session, clock)) } }
            }
            @if let Some(note) = &timeline.freshness.note { p.faint { (plain(note)) } }
        }
        @if let Some(next) = next { p.more { a href=(next) rel="next" { "Earlier sessions" } } }
    })
}

/// A session in a list.
pub(crate) fn row(session: &TimelineSession, clock: Clock) -> Markup {
    let title = if session.title.is_empty() { "(no title)" } else { &session.title };
    html! { li {
        a.title href=(format!("/session/{}", session.session_id)) { (plain(title)) }
        div.meta {
            (clock.time(session.ended_at.as_deref()))
            (super::project_link(session.project.as_deref()))
            (layout::agent(session.agent.as_deref()))
            (layout::state(&session.state, session.running))
            @match session.outcome.as_str() {
                "" => {},
                "failed" => span.bad { "failed" },
                "open" => span { "unfinished" },
                outcome => span.good { (outcome) },
            }
            @if let Some(seconds) = session.duration_seconds { span { (duration(seconds)) } }
            @if session.files_changed > 0 { span { (counted(session.files_changed, "file")) } }
            @if session.commits > 0 { span { (counted(session.commits, "commit")) } }
        }
        @if !session.open.is_empty() {
            ul.plain { @for open in &session.open { li { (plain(open)) } } }
        }
    } }
}

/// The results of a search: sessions, each with its best hits.
async fn search_results(site: &Site, asked: &Params) -> Result<Markup, Failed> {
    let filters = [("agent", &asked.agent), ("since", &asked.since), ("until", &asked.until)];
    let filters = filters.into_iter().filter(|(_, value)| !value.trim().is_empty());
    for (_, text) in filters.clone().filter(|(name, _)| *name != "agent") {
        super::check_time(text, site)?;
    }
    // Before the words, because they may contain an open quotation mark.
    let query: String = filters
        .map(|(filter, value)| format!("{filter}:\"{}\" ", value.replace('"', "")))
        .chain([asked.q.clone()])
        .collect();
    let params = SearchParams {
        query,
        project: non_empty(&asked.project),
        limit: SESSIONS,
        caller: site.caller(),
        ..SearchParams::default()
    };
    let search: Search = site.ask(method::SEARCH, &params).await?;
    let (clock, words) = (site.clock(), words(&asked.q));
    let sessions = search.hits.chunk_by(|a, b| a.session_id == b.session_id);
    Ok(html! {
        @for note in &search.notes { p.faint { (plain(note)) } }
        @if search.hits.is_empty() { p { "Nothing was found." } }
        ul.rows { @for hits in sessions.clone() { (session(hits, &words, clock)) } }
        @if sessions.clone().count() >= SESSIONS as usize { p.faint { "There may be more; further words or a filter narrow it down." } }
        @if let Some(note) = &search.freshness.note { p.faint { (plain(note)) } }
    })
}

fn session(hits: &[Hit], words: &[String], clock: Clock) -> Markup {
    let Some(first) = hits.first() else { return html! {} };
    html! { li {
        a.title href=(format!("/session/{}", first.session_id)) { (plain(if first.title.is_empty() { "(no title)" } else { &first.title })) }
        div.meta {
            (clock.time(first.timestamp.as_deref()))
            (layout::directory(first.project.as_deref()))
            @if let Some(parent) = &first.parent_session_id { span { "subagent of " a href=(format!("/session/{parent}")) { "another session" } } }
        }
        ul.plain { @for hit in hits { li {
            @match hit.line {
                Some(line) => a href=(address(&format!("/session/{}", hit.session_id), &[("line", &line.to_string())])) {
                    (highlighted(&plain(&hit.snippet), words))
                },
                None => { (highlighted(&plain(&hit.snippet), words)) },
            }
        } } }
    } }
}

/// The words of a query that a text may contain, in lower case.
fn words(query: &str) -> Vec<String> {
    let is_part = |c: char| !c.is_alphanumeric() && c != '_';
    let words = query.split_whitespace().filter(|word| !word.starts_with('-') && !word.contains(':'));
    words.flat_map(|word| word.split(is_part)).filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// A text in which the words that begin like one of `words` are marked.
fn highlighted(text: &str, words: &[String]) -> Markup {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut pieces: Vec<(bool, String)> = Vec::new();
    for c in text.chars() {
        match pieces.last_mut().filter(|(of_word, _)| *of_word == is_word(c)) {
            Some((_, piece)) => piece.push(c),
            None => pieces.push((is_word(c), c.to_string())),
        }
    }
    html! {
        @for (of_word, piece) in &pieces {
            @if *of_word && words.iter().any(|word| piece.to_lowercase().starts_with(word)) { mark { (piece) } } @else { (piece) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_query_are_marked() {
        let words = words("Token -later file:x.rs \"lock it\"");
        assert_eq!(words, ["token", "lock", "it"]);
        let drawn = highlighted("The tokens <lock> again", &words).into_string();
        assert_eq!(drawn, "The <mark>tokens</mark> &lt;<mark>lock</mark>&gt; again");
    }
}
