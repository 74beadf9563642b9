//! `search`: the lazy step, then the search.
//!
//! # Decisions
//!
//! - A query that does not wait gives the memory one budget to catch up with what others have indexed; if that is not
//!   enough, `freshness` counts one more pending session, without a name. The backlog indexes what the query could not
//!   wait for, before everything else.

use baton_views::conversation::given_title;
use baton_views::{clones, visibility};
use std::path::Path;
use std::sync::Arc;

use baton_ask::query;
use baton_ask::query::{AskedAt, Question};
use baton_conversation::record::{Position, SessionId, Timestamp};
use baton_events::projection::table::SessionTable;
use baton_events::session::{Phase, State};
use baton_protocol::{Caller, Failure, SearchParams, answer, code};
use baton_redaction::redact;

use super::{QueryError, internal};
use crate::client::{ClientRef, failure};
use crate::filters;
use crate::filters::SessionFilter;
use crate::{SESSIONS_NAMED, Services, answers, family, lazy, resolve, transcript_peek};
use baton_base::limits;
use baton_tracking::indexer::Want;

use baton_base::io_remedy::Obstacle;
use baton_config::settings::Settings;
use baton_memory::vectors::Meaning;
use baton_memory::{Query, Requirements, Searcher};

/// Most sessions in one answer.
const SEARCH_LIMIT: u32 = 100;

/// Turns per session by default.
const TURNS_EACH: usize = 3;

/// Least wait for what others have just indexed.
const GLANCE: std::time::Duration = std::time::Duration::from_millis(50);

/// A memory that covers the request, and its freshness.
pub(crate) struct FreshSearcher {
    pub(crate) searcher: Searcher,
    pub(crate) freshness: answer::Freshness,
}

/// Runs the lazy step and what follows it before any kind of search. With `all`, all history is read first.
pub(crate) async fn prepare_searcher(
    services: &Arc<Services>,
    client: &ClientRef,
    ask: lazy::Request<'_>,
) -> Result<FreshSearcher, QueryError> {
    if ask.all {
        lazy::wait_for_history(services, client).await?;
    }
    let _asking = services.throttle.begin_question();
    let tail = services.journal.tail().position;
    let mut step = lazy::step(services, client, ask).await?;
    let position: Position = lazy::cover_step(services, client, &step, ask.all).await?;
    let mut but_large = services.indexer.covered().but_large;
    if but_large < tail {
        // What others have just indexed is awaited only briefly.
        let budget = services.settings.now().lazy_budget;
        let budget = match step.is_backfill || lazy::is_large_put_off(services, ask.all) {
            true => (step.until - tokio::time::Instant::now()).max(GLANCE),
            false => budget,
        };
        but_large = services.indexer.covers(tail, Want::ButLarge, budget).await.unwrap_or(but_large);
    }
    let searcher = services.indexer.searcher().map_err(|_| lazy::memory_unavailable(services))?;
    let table = services.table.now();
    let searcher = searcher.without_facts(table.deleted_facts());
    let settings = services.settings.now();
    // Sessions of other projects are not missing; the project of one that could never be read is unknown, so it counts.
    let is_meant = |state: &State| {
        let is_in = ask.project.is_none_or(|project| state.place.is_none() || visibility::is_in(state, project));
        is_in && !settings.excludes(state)
    };
    let is_asked = |id: &&SessionId| table.get(id).is_none_or(|row| is_meant(&row.state));
    services.indexer.owed().iter().filter(is_asked).for_each(|id| step.note_pending(id));
    let failed = table.iter().filter(|(_, row)| row.state.phase == Phase::Failed && is_meant(&row.state));
    let freshness = answer::Freshness {
        indexed_now: step.indexed,
        pending: step.pending + u64::from(but_large < step.position.max(tail)),
        pending_sessions: step.pending_sessions,
        left_out_asking: step.left_out_asking,
        note: not_indexed_note(services, step.pending).or(step.not_checked).or_else(|| services.settings.now().note()),
        position: position.max(services.indexer.covered().whole).0,
        failed: failed.map(|(id, _)| id.to_string()).take(SESSIONS_NAMED).collect(),
        vectors: None,
    };
    Ok(FreshSearcher { searcher, freshness })
}

/// A note for the answer if something new cannot be indexed.
fn not_indexed_note(services: &Services, pending: u64) -> Option<String> {
    let explain = |what: &str, why: &str| {
        let note = format!("{what}, so the answer lacks it: {why}; {}", Obstacle::in_message(why).remedy());
        redact(&note).into_owned()
    };
    match services.outage.lasting().filter(|_| pending > 0) {
        Some(refusal) => Some(explain("what is new cannot be recorded", &refusal.reason)),
        None => {
            services.indexer.memory().1.map(|why| explain("the searchable memory cannot take in what is new", &why))
        }
    }
}

/// The asking session, unless the question names it.
pub(crate) fn asking_session(services: &Services, caller: &Caller, question: &str) -> Option<SessionId> {
    let table = services.table.now();
    let id = resolve::own_session(&table, caller)?;
    (!question.contains(table.short_id(&id))).then_some(id)
}

/// Returns true if a session was compacted before anything of it was indexed: its agent no longer knows what it said,
/// and the memory does not know it yet.
async fn is_compacted(services: &Services, id: &SessionId) -> bool {
    let table = services.table.now();
    let row = table.get(id).filter(|row| row.state.episode.is_none() && services.settings.now().reads(&row.state));
    let is_hung = |path: &str| services.roots.is_hung(Path::new(path));
    let row = row.filter(|row| row.state.transcript.as_ref().is_some_and(|transcript| !is_hung(&transcript.path)));
    let Some(row) = row.cloned() else { return false };
    let id = id.clone();
    let looking = tokio::task::spawn_blocking(move || {
        transcript_peek::file_of(&id, &row.state).is_some_and(|file| transcript_peek::is_compacted(&file))
    });
    matches!(tokio::time::timeout(limits::ROOT, looking).await, Ok(Ok(true)))
}

/// A parsed question in words, and the memory to search.
pub(super) struct PreparedQuestion {
    pub(super) searcher: Searcher,
    pub(super) freshness: answer::Freshness,
    pub(super) question: Question,
    /// Vector of the question, if available.
    pub(super) meaning: Option<Meaning>,
    /// Limits the search to sessions of this project.
    pub(super) project: Option<String>,
    /// The asking session.
    pub(super) asking: Option<SessionId>,
    /// Time of the question.
    pub(super) now: Timestamp,
}

/// Parses a question, and runs the lazy step for it.
pub(super) async fn prepare_question(
    services: &Arc<Services>,
    client: &ClientRef,
    query: &str,
    project: Option<&str>,
    caller: &Caller,
    wait: bool,
) -> Result<PreparedQuestion, QueryError> {
    let resolved = || {
        let (table, settings) = (services.table.now(), services.settings.now());
        project.map(|name| resolve::project(&table, &settings, name))
    };
    // A project whose first session has just begun is known only after the step.
    let known = resolved().and_then(Result::ok);
    let asking = asking_session(services, caller, query);
    let left_out = match &asking {
        Some(id) if is_compacted(services, id).await => None,
        asking => asking.as_ref(),
    };
    let ask = lazy::Request { project: known.as_deref(), all: wait, asking: left_out };
    let now = services.clock.now();
    let question = query::parse(query, AskedAt { now, zone: caller.zone() });
    // Both run at once.
    let (ready, meant) = tokio::join!(prepare_searcher(services, client, ask), services.embedder.meaning(&question));
    let FreshSearcher { searcher, freshness } = ready?;
    let freshness = answer::Freshness { vectors: meant.told, ..freshness };
    let project = resolved().transpose()?;
    Ok(PreparedQuestion { searcher, freshness, question, meaning: meant.meaning, project, asking, now })
}

pub(crate) async fn search(
    asked: SearchParams,
    services: &Arc<Services>,
    client: &ClientRef,
) -> Result<answer::Search, QueryError> {
    if asked.query.trim().is_empty() {
        return Err(failure(code::INVALID_PARAMS, "the query is empty; say what to look for").into());
    }
    let project = asked.project.as_deref();
    let prepared = prepare_question(services, client, &asked.query, project, &asked.caller, asked.wait).await?;
    let (searcher, freshness) = (prepared.searcher, prepared.freshness);
    let table = services.table.now();
    let settings = services.settings.now();
    let wanted = SearchRequest {
        question: prepared.question,
        meaning: prepared.meaning,
        project: prepared.project,
        directory: asked.caller.directory,
        asking: prepared.asking,
        scope: Scope::All,
        sessions: asked.limit.min(SEARCH_LIMIT) as usize,
        turns: asked.turns.map_or(TURNS_EACH, |turns| turns as usize),
    };
    let found = tokio::task::spawn_blocking(move || find(&wanted, &table, &settings, &searcher));
    let SearchHits { hits, notes } = found.await.map_err(|error| internal("the search broke", error))??;
    services.enricher.hit(hits.iter().filter_map(|hit| SessionId::new(&hit.session_id)));
    Ok(answer::Search { hits, freshness, notes })
}

/// A question with everything its answer depends on.
pub(super) struct SearchRequest {
    pub(super) question: Question,
    /// Vector of the question, if available.
    pub(super) meaning: Option<Meaning>,
    /// Limits the search to sessions of this project.
    pub(super) project: Option<String>,
    /// The caller's directory: replaces `.`, and is favoured if no project is named.
    pub(super) directory: Option<String>,
    /// The asking session.
    pub(super) asking: Option<SessionId>,
    pub(super) scope: Scope,
    pub(super) sessions: usize,
    /// Turns per session.
    pub(super) turns: usize,
}

/// Which sessions are searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Scope {
    /// All, the asking one last.
    #[default]
    All,
    /// All but the asking one.
    Others,
    /// Only the asking one.
    Own,
}

/// The result of a search.
pub(super) struct SearchHits {
    pub(super) hits: Vec<answer::Hit>,
    pub(super) notes: Vec<String>,
}

/// Replaces the notes on a question that contains a secret.
const SECRETS: &str =
    "some of it was taken in another way than it was written; there is a secret in it, so nothing of it is said again";

/// Searches the memory; without words, lists the sessions that the filters admit, the latest first. Blocks.
pub(super) fn find(
    wanted: &SearchRequest,
    table: &SessionTable,
    settings: &Settings,
    searcher: &Searcher,
) -> Result<SearchHits, Failure> {
    let question = &wanted.question;
    let (project, directory) = (wanted.project.as_deref(), wanted.directory.as_deref());
    let broke = |error| internal("the search failed", error);
    let filter = SessionFilter::resolve(question, table, settings, searcher, directory).map_err(broke)?;
    let row = |id: &str| SessionId::new(id).and_then(|id| table.get(&id).cloned());
    let is_own = |id: &str| wanted.asking.as_ref().is_some_and(|asking| asking.as_str() == id);
    let left_out = |id: &str| match wanted.scope {
        Scope::All => false,
        Scope::Others => is_own(id),
        Scope::Own => !is_own(id),
    };
    let to_answer_hit = |hit: baton_memory::Hit| {
        let title = given_title(searcher, table, settings, &hit.session_id).unwrap_or(hit.title);
        answers::hit(table, baton_memory::Hit { title, ..hit })
    };
    let hidden = |id: &str| left_out(id) || visibility::is_hidden(table, settings, &[], id);
    let admits = |id: &str| match visibility::memo_as_state(table, id) {
        Some(state) => filter.admits(question, id, Some(&state)),
        None => filter.admits(question, id, row(id).as_ref().map(|row| &row.state)),
    };
    let exclude = |id: &str| hidden(id) || !admits(id);
    let mut notes = [question.notes.clone(), filter.notes.clone()].concat();
    let shown_notes = |notes: Vec<String>| match question.has_secret {
        true => notes.first().map(|_| SECRETS.to_owned()).into_iter().collect(),
        false => notes.iter().map(|note| redact(note).into_owned()).collect(),
    };
    if question.is_filters_only() {
        let is_in = |id: &str, wanted: &str| match visibility::memo_as_state(table, id) {
            Some(state) => visibility::is_in(&state, wanted),
            None => row(id).is_some_and(|row| visibility::is_in(&row.state, wanted)),
        };
        let outside = |id: &str| hidden(id) || project.is_some_and(|wanted| !is_in(id, wanted));
        let sessions = filter.latest(question, table, &outside, wanted.sessions);
        let listed = searcher.hits_for(&sessions).map_err(broke)?;
        let filters = filters::filter_names(question);
        let hit = |hit| answer::Hit { matched: filters.clone(), ..to_answer_hit(hit) };
        return Ok(SearchHits { hits: listed.into_iter().map(hit).collect(), notes: shown_notes(notes) });
    }
    let own = directory.filter(|_| project.is_none()).map(|directory| clones::project_of(table, directory));
    let elder = |one: &str, other: &str| family::elder(table, one, other);
    let requirements = Requirements {
        phrases: &question.phrases,
        without: &question.without,
        after: question.after,
        before: question.before,
    };
    let query = Query {
        project,
        sessions: wanted.sessions,
        turns_per_session: wanted.turns,
        exclude: &exclude,
        elder: &elder,
        requirements,
        prefixes: &question.prefixes,
        favour: own.as_deref(),
        last: wanted.asking.as_ref(),
        meaning: wanted.meaning.as_ref(),
        zone: question.zone,
        ..Query::new(&question.words)
    };
    let baton_memory::SearchResult { mut hits, is_cut } = searcher.search_detailed(&query).map_err(broke)?;
    let phrases = || question.phrases.iter().map(|phrase| format!("\"{phrase}\"")).collect::<Vec<_>>().join(" and ");
    let is_by_words = hits.is_empty() && !question.phrases.is_empty() && question.has_loose_words();
    if is_by_words {
        let words = Query { requirements: Requirements { phrases: &[], ..requirements }, ..query };
        hits = searcher.search(&words).map_err(broke)?;
    }
    match (is_cut, is_by_words && !hits.is_empty()) {
        (false, true) => notes.push(format!("no passage has {}: found by the words instead", phrases())),
        (true, true) => notes.push(format!("{}: found by the words instead", too_many_passages_note(&phrases()))),
        (true, false) => notes.push(too_many_passages_note(&phrases())),
        (false, false) => {}
    }
    let mut hits: Vec<answer::Hit> = hits.into_iter().map(to_answer_hit).collect();
    // The first hit of a memo is the best one, and represents all of it.
    hits.dedup_by(|second, first| second.source.is_some() && second.session_id == first.session_id);
    Ok(SearchHits { hits, notes: shown_notes(notes) })
}

/// The note if more passages contain the words of a phrase than one query reads.
fn too_many_passages_note(phrases: &str) -> String {
    let what = if phrases.is_empty() { "what is asked".to_owned() } else { phrases.to_owned() };
    format!("too many passages have the words of {what} for all to be read; project:, file: or after: leaves fewer")
}
