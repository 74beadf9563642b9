//! `timeline`: sessions in order of time, one line each, by day.

use std::cmp::Reverse;
use std::sync::Arc;

use baton_ask::query::{AskedAt, parse_moment};
use baton_conversation::record::{SessionId, Timestamp};
use baton_episode::digest::{Episode, MODEL_MARK, seconds_between};
use baton_events::projection::table::{Row, SessionTable};
use baton_protocol::{Failure, TimelineParams, answer, code, method};
use baton_redaction::redact;

use super::{QueryError, internal, zone_day};
use crate::client::{ClientRef, failure};
use crate::lazy::{FreshMemory, FreshSearcher};
use crate::{answers, graph, lazy, page, resolve};
use baton_episode::digest::Show;
use baton_views::conversation::Conversations;
use baton_views::visibility;

/// Most open ends per session.
const OPEN_ENDS: usize = 2;
/// Longest title and longest open end, in characters.
const TITLE_CHARS: usize = 120;

/// Sort key: last activity, then id. A cursor holds the key of the last session of its page.
type Key = (Reverse<i64>, SessionId);

/// Sessions of a project, or all, that were active since a time, the latest first; without subagents.
pub(crate) async fn timeline(
    asked: TimelineParams,
    memory: FreshMemory<'_>,
    conversations: &Arc<Conversations>,
    client: &ClientRef,
) -> Result<answer::Timeline, QueryError> {
    let agent = asked.agent.map(|agent| agent.as_str().to_owned());
    let texts =
        [&asked.project, &asked.since, &asked.until, &agent].map(|text| text.iter().cloned().collect::<Vec<_>>());
    let question = page::Question::new(method::TIMELINE, &[&texts[0], &texts[1], &texts[2], &texts[3]]);
    let behind = asked.cursor.as_deref().map(|cursor| key(&question, cursor)).transpose()?;
    let zone = asked.caller.zone();
    let now = AskedAt { now: memory.coverage.clock.now(), zone };
    let until = asked.until.as_deref().map(|text| moment(text, now)).transpose()?;
    let since = asked.since.as_deref().map(|text| moment(text, now)).transpose()?;
    let project = || {
        let (table, settings) = memory.catalog().now();
        asked.project.as_deref().map(|name| resolve::project(&table, &settings, name))
    };
    let known = project().and_then(Result::ok);
    let asking = resolve::asking_session(&memory.catalog().table.now(), &asked.caller, "");
    let ask = lazy::Request { project: known.as_deref(), all: asked.wait, asking: asking.as_ref() };
    let FreshSearcher { freshness, .. } = memory.searcher(client, ask).await?;
    let groups: Vec<String> = project().transpose()?.into_iter().collect();
    let (table, settings) = memory.catalog().including_others();
    let (conversations, limit) = (conversations.clone(), page::entries(asked.limit).max(1));
    let waiting = client.clone();
    let read = baton_base::task::spawn_blocking(move || {
        let mut listed: Vec<(Key, Arc<Row>)> = table
            .iter()
            .filter(|(id, row)| {
                !row.state.is_subagent()
                    && row.state.counts.messages > 0
                    && visibility::is_from_agent(&row.state, asked.agent)
                    && since.is_none_or(|since| row.state.last_activity() >= since)
                    && until.is_none_or(|until| row.state.last_activity() < until)
                    && !graph::is_hidden(&table, &settings, &groups, id.as_str())
            })
            .map(|(id, row)| ((Reverse(row.state.last_activity().0), id.clone()), row.clone()))
            .filter(|(key, _)| behind.as_ref().is_none_or(|behind| key > behind))
            .collect();
        listed.sort_by(|(a, _), (b, _)| a.cmp(b));
        let more = listed.len() > limit;
        listed.truncate(limit);
        let awaited = listed.iter().take_while(|_| !waiting.is_closed());
        let mut past: Vec<answer::TimelineSession> =
            awaited.map(|((_, id), row)| to_answer(&conversations, &table, &settings.filtering, id, row)).collect();
        if past.len() < listed.len() {
            return None;
        }
        let more = page::truncate_to_page(&mut past) || more;
        let days = listed.iter().map(|((Reverse(at), _), _)| zone_day(Timestamp(*at), zone));
        let days = by_day(days.zip(past.clone()));
        let last = listed.get(past.len().wrapping_sub(1)).map(|((Reverse(at), id), _)| format!("t{at}.{id}"));
        let next_cursor = last.filter(|_| more).map(|position| question.cursor(&position));
        Some(answer::Timeline { days, next_cursor, freshness })
    });
    read.await.map_err(|error| internal("reading the sessions broke", error))?.ok_or(QueryError::ClientGone)
}

/// The time that a text names.
pub(super) fn moment(text: &str, now: AskedAt) -> Result<Timestamp, Failure> {
    parse_moment(text, now).ok_or_else(|| {
        let shown: String = text.chars().take(60).collect();
        failure(
            code::INVALID_PARAMS,
            format!("{shown:?} is not a date; use one like 2026-03-14, 2026-03, yesterday, last week, 12h, 7d, 2w or 3m (months)"),
        )
    })
}

/// Parses the key in a cursor.
fn key(question: &page::Question, cursor: &str) -> Result<Key, Failure> {
    let parts = question.position(cursor)?.strip_prefix('t').and_then(|rest| rest.split_once('.'));
    let read = parts.and_then(|(at, id)| Some((Reverse(at.parse().ok()?), SessionId::new(id)?)));
    read.ok_or_else(|| page::unknown_cursor(cursor))
}

/// Converts a session. If its conversation cannot be read, only the table's fields are set.
fn to_answer(
    conversations: &Conversations,
    table: &SessionTable,
    show: &Show,
    id: &SessionId,
    row: &Row,
) -> answer::TimelineSession {
    let past = in_a_line(id, row, episode_of(conversations, show, id, row).as_ref());
    answer::TimelineSession { from: answers::author(table, id), ..past }
}

/// The episode of a session, if it has one and its conversation can be read.
pub(super) fn episode_of(conversations: &Conversations, show: &Show, id: &SessionId, row: &Row) -> Option<Episode> {
    let current = row.state.episode.clone()?;
    conversations.digest(id, current, show).ok().map(|(_, episode)| episode)
}

/// A session in one line; without an episode only the table's fields are set.
pub(super) fn in_a_line(id: &SessionId, row: &Row, episode: Option<&Episode>) -> answer::TimelineSession {
    let state = &row.state;
    // The span as `show` reports it, else as far as the table knows it.
    let known = state.first_at.map(|first| (first, state.last_activity()));
    let span = episode.and_then(|episode| episode.span).or(known);
    let mut past = answer::TimelineSession {
        session_id: id.to_string(),
        project: state.place.as_ref().map(|place| redact(&place.project).into_owned()),
        agent: state.transcript.as_ref().map(|transcript| transcript.agent.as_str().to_owned()),
        state: state.phase.as_str().to_owned(),
        running: state.is_open(),
        started_at: span.map(|(first, _)| first.to_string()),
        ended_at: Some(span.map_or(state.last_activity(), |(_, last)| last).to_string()),
        duration_seconds: span.map(seconds_between),
        ..answer::TimelineSession::default()
    };
    if let Some(episode) = episode {
        past.title =
            if !episode.title.is_empty() { bounded(&episode.title) } else { marked(episode, 0, &episode.objective) };
        past.outcome = outcome(episode).to_owned();
        past.files_changed = episode.files_modified.len() as u64;
        past.commits = commits(episode);
        let open = || episode.unresolved.iter().chain(&episode.next_steps);
        past.open_ends = open().count() as u64;
        past.open = open().take(OPEN_ENDS).map(|open| marked(episode, open.line, &open.text)).collect();
    }
    past
}

/// `failed`, `open` or `done`. `failed` means that the last failure was not resolved and is still open.
fn outcome(episode: &Episode) -> &'static str {
    let last = episode.errors.iter().max_by_key(|error| error.line).filter(|error| error.resolution.is_none());
    let last_failed = last.is_some_and(|error| episode.unresolved.iter().any(|open| open.line == error.line));
    match (last_failed, episode.unresolved.is_empty() && episode.next_steps.is_empty()) {
        (true, _) => "failed",
        (false, false) => "open",
        (false, true) => "done",
    }
}

/// Number of successful `git commit` commands.
fn commits(episode: &Episode) -> u64 {
    let is_commit =
        |text: &str| text.split(['&', ';', '|']).any(|part| part.split_whitespace().take(2).eq(["git", "commit"]));
    episode.commands.iter().filter(|command| is_commit(&command.text)).map(|command| u64::from(command.ok)).sum()
}

/// A text of an episode, marked if only a model states it.
pub(super) fn marked(episode: &Episode, line: u64, text: &str) -> String {
    let shown = bounded(text);
    if episode.is_of_model(line, text) && !shown.is_empty() { shown + MODEL_MARK } else { shown }
}

fn bounded(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = redact(&line).into_owned();
    match line.char_indices().nth(TITLE_CHARS) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}

/// Groups sessions by day, in their order.
fn by_day(past: impl Iterator<Item = (String, answer::TimelineSession)>) -> Vec<answer::Day> {
    let mut days: Vec<answer::Day> = Vec::new();
    for (day, session) in past {
        match days.last_mut().filter(|last| last.day == day) {
            Some(last) => last.sessions.push(session),
            None => days.push(answer::Day { day, sessions: vec![session] }),
        }
    }
    days
}

#[cfg(test)]
mod tests {
    use baton_episode::digest::{CommandLine, ErrorLine, Pointed};
    use baton_protocol::Zone;

    use super::*;

    #[test]
    fn a_session_ends_done_open_or_failed() {
        let said = |line| Pointed { text: "x".to_owned(), line, at: None };
        let error = |line, mended: bool| ErrorLine {
            text: "x".to_owned(),
            line,
            at: None,
            resolution: mended.then(|| said(line + 1)),
        };
        for (errors, open, expected) in [
            (vec![], vec![], "done"),
            (vec![error(3, true)], vec![], "done"),
            (vec![error(3, false), error(5, true)], vec![], "done"),
            (vec![], vec![said(9)], "open"),
            (vec![error(3, true), error(5, false)], vec![said(5), said(9)], "failed"),
            (vec![error(3, true), error(5, false)], vec![said(9)], "open"),
            (vec![error(5, false)], vec![], "done"),
        ] {
            let episode = Episode { errors, unresolved: open, ..Episode::default() };
            assert_eq!(outcome(&episode), expected);
        }
    }

    #[test]
    fn commits_are_counted_where_they_succeeded() {
        let command = |text: &str, outcome, count, ok| CommandLine {
            text: text.to_owned(),
            line: 1,
            outcome,
            count,
            ok,
            ..CommandLine::default()
        };
        let commands = vec![
            command("git commit -m one", "ok", 3, 1),
            command("git add -A && git commit -qm two", "failed", 2, 1),
            command("git commit -m three", "failed", 1, 0),
            command("git commit -m four", "ok", 1, 1),
            command("git commit-tree x", "unknown", 1, 0),
            command("echo git commit", "ok", 1, 1),
        ];
        assert_eq!(commits(&Episode { commands, ..Episode::default() }), 3);
    }

    #[test]
    fn days_hold_what_ended_in_them() {
        let past = |at: &str| (zone_day(Timestamp::parse(at).unwrap(), Zone::UTC), answer::TimelineSession::default());
        let past = ["2026-03-02T10:00:00Z", "2026-03-02T01:00:00Z", "2026-03-01T23:00:00Z"].map(past);
        let days = by_day(past.into_iter());
        let counts: Vec<_> = days.iter().map(|day| (day.day.as_str(), day.sessions.len())).collect();
        assert_eq!(counts, [("2026-03-02", 2), ("2026-03-01", 1)]);
    }
}
