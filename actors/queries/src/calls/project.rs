//! `project`: what is known of a project: its sessions, decisions, open work, files and checks.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use baton_ask::recall::Later;
use baton_conversation::record::SessionId;
use baton_episode::digest::{Episode, Pointed};
use baton_events::projection::table::Row;
use baton_graph::Relation;
use baton_outcomes as outcomes;
use baton_protocol::answer::Quote;
use baton_protocol::{Failure, ProjectParams, answer, code};
use uuid::Uuid;

use super::outcome_query::{OutcomeSource, answer_from_outcomes, entries};
use super::projects::{self, number};
use super::{QueryError, internal, timeline};
use crate::client::{ClientRef, failure};
use crate::lazy::FreshMemory;
use crate::{graph, resolve};
use baton_memory::{Fact, GraphQuery, Selector, Sieve};
use baton_views::conversation::Conversations;

/// Entries of a list by default.
const LISTED: usize = 12;
/// Most sessions that are listed, the latest ones.
const SESSIONS: usize = 60;
/// Most sessions whose files and checks are counted, the newest ones.
const COUNTED: usize = 500;
/// Most decisions that are read.
const DECISIONS: usize = 200;

/// What is known of the requested project, else of the caller's.
pub(crate) async fn project(
    asked: ProjectParams,
    memory: FreshMemory<'_>,
    conversations: &Arc<Conversations>,
    client: &ClientRef,
) -> Result<answer::Project, QueryError> {
    let (limit, zone) = (entries(asked.limit, LISTED), asked.caller.zone());
    let conversations = conversations.clone();
    let compute = move |source: &OutcomeSource| {
        let project = match (&source.project, &source.own) {
            (Some(project), _) => project.clone(),
            (None, Some(own)) => resolve::project(&source.table, &source.settings, own)?,
            (None, None) => {
                let message = "which project? Give its directory; `baton project` lists what is known";
                return Err(failure(code::INVALID_PARAMS, message));
            }
        };
        let found = source.read(Selector::All, Some(&project), None, COUNTED)?;
        let (files, more_files) = outcomes::files(&found.witnesses, &project, limit);
        let (checks, more_checks) = outcomes::checks(&found.witnesses, zone, limit);
        let counts = answer::Project {
            files,
            more_files,
            checks,
            more_checks,
            counted: found.read,
            not_counted: found.more,
            ..answer::Project::default()
        };
        let with_sessions = add_sessions(counts, source, &conversations, &project, limit);
        Ok(answer::Project { project: project.clone(), ..add_decisions(with_sessions, source, &project, limit)? })
    };
    let question = ("", asked.project.as_deref(), asked.wait);
    let (project, freshness) = answer_from_outcomes(question, &asked.caller, memory, client, compute).await?;
    Ok(answer::Project { freshness, ..project })
}

/// Adds the sessions and the open work of the listed ones.
fn add_sessions(
    project: answer::Project,
    source: &OutcomeSource,
    conversations: &Conversations,
    name: &str,
    limit: usize,
) -> answer::Project {
    let groups = [name.to_owned()];
    let mut all: Vec<(&SessionId, &Arc<Row>)> = projects::sessions(&source.table, &source.settings, &groups).collect();
    all.sort_by_key(|(id, row)| (Reverse(row.state.last_activity()), *id));
    let mut open: Vec<Quote> = Vec::new();
    let mut sessions = Vec::new();
    let mut later = Later::default();
    for (id, row) in all.iter().take(SESSIONS) {
        let episode = timeline::episode_of(conversations, &source.settings.filtering, id, row);
        if let Some(episode) = &episode {
            open.extend(open_work(id, row, episode).into_iter().filter(|open| !later.settles(&open.text)));
            later.add(episode);
        }
        sessions.push(timeline::in_a_line(id, row, episode.as_ref()));
    }
    let more_open = number(open.len().saturating_sub(limit));
    open.truncate(limit);
    answer::Project {
        sessions_total: number(all.len()),
        agents: projects::agents(all.iter().map(|(_, row)| row.as_ref())),
        first_at: all.iter().filter_map(|(_, row)| row.state.first_at).min().map(|at| at.to_string()),
        last_at: all.first().map(|(_, row)| row.state.last_activity().to_string()),
        more_sessions: number(all.len().saturating_sub(sessions.len())),
        sessions,
        open,
        more_open,
        ..project
    }
}

/// What a session has left open.
pub(super) fn open_work(id: &SessionId, row: &Row, episode: &Episode) -> Vec<Quote> {
    let quote = |said: &Pointed| Quote {
        text: timeline::marked(episode, said.line, &said.text),
        session_id: id.to_string(),
        line: said.line,
        at: said.at.or(Some(row.state.last_activity())).map(|at| at.to_string()),
    };
    episode.unresolved.iter().chain(&episode.next_steps).map(quote).collect()
}

/// Adds the decisions that hold, and the superseded ones, from the facts of the graph: a later session may have
/// superseded an earlier one's decision.
fn add_decisions(
    project: answer::Project,
    source: &OutcomeSource,
    name: &str,
    limit: usize,
) -> Result<answer::Project, Failure> {
    let groups = [name.to_owned()];
    let exclude = |id: &str| graph::is_hidden(&source.table, &source.settings, &groups, id);
    let sieve = Sieve { relations: &[Relation::Decided], ..Sieve::default() };
    let query =
        GraphQuery { text: "", exclude: &exclude, labels: &[], sieve, center: None, limit: DECISIONS, offset: 0 };
    let broke = |error| internal("the decisions cannot be read", error);
    let page = source.searcher.facts(&query).map_err(broke)?;
    let (mut ended, mut holding): (Vec<Fact>, Vec<Fact>) =
        page.found.into_iter().partition(|fact| fact.invalid_at.is_some());
    holding.sort_by_key(|fact| (Reverse(fact.valid_at), fact.uuid));
    ended.sort_by_key(|fact| (Reverse(fact.invalid_at), fact.uuid));
    let known: BTreeMap<Uuid, Quote> = holding.iter().chain(&ended).map(|fact| (fact.uuid, quote(fact))).collect();
    let mut replaced = Vec::new();
    for fact in ended.iter().take(limit) {
        let by = match fact.ended_by {
            Some(uuid) => match known.get(&uuid) {
                Some(known) => Some(known.clone()),
                None => source.searcher.fact(uuid, &exclude).map_err(broke)?.as_ref().map(quote),
            },
            None => None,
        };
        let until = fact.invalid_at.map(|at| at.to_string());
        replaced.push(answer::ReplacedDecision { said: quote(fact), until, by });
    }
    let decision =
        |fact: &Fact| answer::ProjectDecision { said: quote(fact), said_by: fact.by_model.then(|| "model".to_owned()) };
    Ok(answer::Project {
        decisions: holding.iter().take(limit).map(decision).collect(),
        more_decisions: number(holding.len().saturating_sub(limit)),
        more_replaced: number(ended.len().saturating_sub(limit)),
        replaced,
        decisions_cut: page.more,
        ..project
    })
}

/// A decision without the framing of the fact's sentence, and its place in its latest session.
fn quote(fact: &Fact) -> Quote {
    let text = match fact.fact.split_once(": ") {
        Some((before, text)) if before.contains("decided") && !text.is_empty() => text,
        _ => &fact.fact,
    };
    let (session_id, line) = fact.latest.first().map(|(id, line)| (id.to_string(), *line)).unwrap_or_default();
    Quote { text: text.to_owned(), session_id, line, at: fact.at.map(|at| at.to_string()) }
}
