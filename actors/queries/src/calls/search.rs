//! Lazy index, then search.
//!
//! # Decisions
//!
//! - A query that does not wait lets the memory catch up with what others have indexed for one budget; if it
//!   has not, `freshness` counts one more pending session, which is not named. What it could not wait for is
//!   indexed by the backlog, before everything else there.

use baton_views::conversation::given_title;
use baton_views::visibility;
use std::path::Path;
use std::sync::Arc;

use baton_ask::query;
use baton_ask::query::Question;
use baton_conversation::record::{Position, SessionId, Timestamp};
use baton_events::projection::table::SessionTable;
use baton_events::session::{Phase, State};
use baton_protocol::{Caller, Failure, SearchParams, answer, code};
use baton_redaction::redact;

use super::{QueryError, internal};
use crate::client::{Out, failure};
use crate::filters;
use crate::filters::Narrowing;
use crate::{SESSIONS_NAMED, Services, answers, family, lazy, resolve, transcript_peek};
use baton_base::limits;
use baton_tracking::indexer::Want;

use baton_base::io_remedy::Obstacle;
use baton_config::settings::Settings;
use baton_memory::vectors::Meaning;
use baton_memory::{Query, Requirements, Searcher};

/// Most sessions that a search answers with.
const SEARCH_LIMIT: u32 = 100;

/// Turns of each session in an answer, unless it is said.
const TURNS_EACH: usize = 3;

/// How long an answer waits that has nothing else to wait for.
const GLANCE: std::time::Duration = std::time::Duration::from_millis(50);

/// A memory that covers what was asked for, and how fresh it is.
pub(crate) struct Ready {
    pub(crate) searcher: Searcher,
    pub(crate) freshness: answer::Freshness,
}

/// The lazy step and all that follows before a search of any kind. With `all` all history is read before.
pub(crate) async fn ready(services: &Arc<Services>, out: &Out, ask: lazy::Ask<'_>) -> Result<Ready, QueryError> {
    if ask.all {
        lazy::wait_for_history(services, out).await?;
    }
    let _asking = services.throttle.begin_question();
    let tail = services.journal.tail().position;
    let mut step = lazy::step(services, out, ask).await?;
    let position: Position = lazy::covered(services, out, &step, ask.all).await?;
    let mut but_large = services.indexer.covered().but_large;
    if but_large < tail {
        // What others have indexed a moment ago is not the answer's to wait for, but for a moment.
        let budget = services.settings.now().lazy_budget;
        let budget = match step.is_backfill || lazy::holds_up(services, ask.all) {
            true => (step.until - tokio::time::Instant::now()).max(GLANCE),
            false => budget,
        };
        but_large = services.indexer.covers(tail, Want::ButLarge, budget).await.unwrap_or(but_large);
    }
    let searcher = services.indexer.searcher().map_err(|_| lazy::no_memory(services))?;
    let table = services.table.now();
    let searcher = searcher.without_facts(table.deleted_facts());
    let settings = services.settings.now();
    // What was not asked for is not missing; where a session works that could never be read is not known.
    let is_meant = |state: &State| {
        let is_in = ask.project.is_none_or(|project| state.place.is_none() || visibility::is_in(state, project));
        is_in && !settings.excludes(state)
    };
    let is_asked = |id: &&SessionId| table.get(id).is_none_or(|row| is_meant(&row.state));
    services.indexer.owed().iter().filter(is_asked).for_each(|id| step.left(id));
    let failed = table.iter().filter(|(_, row)| row.state.phase == Phase::Failed && is_meant(&row.state));
    let freshness = answer::Freshness {
        indexed_now: step.indexed,
        pending: step.pending + u64::from(but_large < step.position.max(tail)),
        pending_sessions: step.pending_sessions,
        left_out_asking: step.left_out_asking,
        note: behind(services, step.pending).or(step.not_looked).or_else(|| services.settings.now().note()),
        position: position.max(services.indexer.covered().whole).0,
        failed: failed.map(|(id, _)| id.to_string()).take(SESSIONS_NAMED).collect(),
        vectors: None,
    };
    Ok(Ready { searcher, freshness })
}

/// What to tell whoever expects more than there is, when something that is new cannot be taken in.
fn behind(services: &Services, pending: u64) -> Option<String> {
    let told = |what: &str, why: &str| {
        let told = format!("{what}, so the answer lacks it: {why}; {}", Obstacle::in_message(why).remedy());
        redact(&told).into_owned()
    };
    match services.outage.lasting().filter(|_| pending > 0) {
        Some(refusal) => Some(told("what is new cannot be recorded", &refusal.reason)),
        None => services.indexer.memory().1.map(|why| told("the searchable memory cannot take in what is new", &why)),
    }
}

/// The session that asks, unless the question names it.
pub(crate) fn asking(services: &Services, caller: &Caller, question: &str) -> Option<SessionId> {
    let table = services.table.now();
    let id = resolve::own(&table, caller)?;
    (!question.contains(table.short_id(&id))).then_some(id)
}

/// Whether a session was compacted before anything of it was indexed: then its agent does not know any more what it said, and
/// nobody else does yet.
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

/// A question in words, read, with the memory that it is asked of.
pub(super) struct Prepared {
    pub(super) searcher: Searcher,
    pub(super) freshness: answer::Freshness,
    pub(super) question: Question,
    /// What is meant, if that is known.
    pub(super) meaning: Option<Meaning>,
    /// Only sessions of this project.
    pub(super) project: Option<String>,
    /// The session that asks.
    pub(super) asking: Option<SessionId>,
    /// When it was asked.
    pub(super) now: Timestamp,
}

/// Reads a question, and has everything read that it may be about.
pub(super) async fn prepared(
    services: &Arc<Services>,
    out: &Out,
    query: &str,
    project: Option<&str>,
    caller: &Caller,
    wait: bool,
) -> Result<Prepared, QueryError> {
    let resolved = || {
        let (table, settings) = (services.table.now(), services.settings.now());
        project.map(|name| resolve::project(&table, &settings, name))
    };
    // A project whose first session began a moment ago is known only after the step.
    let known = resolved().and_then(Result::ok);
    let asking = asking(services, caller, query);
    let left_out = match &asking {
        Some(id) if is_compacted(services, id).await => None,
        asking => asking.as_ref(),
    };
    let ask = lazy::Ask { project: known.as_deref(), all: wait, asking: left_out };
    let now = services.clock.now();
    let question = query::parse(query, now);
    // Both at once: neither waits for the other.
    let (ready, meant) = tokio::join!(ready(services, out, ask), services.embedder.meaning(&question));
    let Ready { searcher, freshness } = ready?;
    let freshness = answer::Freshness { vectors: meant.told, ..freshness };
    let project = resolved().transpose()?;
    Ok(Prepared { searcher, freshness, question, meaning: meant.meaning, project, asking, now })
}

pub(crate) async fn search(
    asked: SearchParams,
    services: &Arc<Services>,
    out: &Out,
) -> Result<answer::Search, QueryError> {
    if asked.query.trim().is_empty() {
        return Err(failure(code::INVALID_PARAMS, "the query is empty; say what to look for").into());
    }
    let project = asked.project.as_deref();
    let prepared = prepared(services, out, &asked.query, project, &asked.caller, asked.wait).await?;
    let (searcher, freshness) = (prepared.searcher, prepared.freshness);
    let table = services.table.now();
    let settings = services.settings.now();
    let wanted = Wanted {
        question: prepared.question,
        meaning: prepared.meaning,
        project: prepared.project,
        directory: asked.caller.directory,
        asking: prepared.asking,
        whose: Whose::All,
        sessions: asked.limit.min(SEARCH_LIMIT) as usize,
        turns: asked.turns.map_or(TURNS_EACH, |turns| turns as usize),
    };
    let found = tokio::task::spawn_blocking(move || find(&wanted, &table, &settings, &searcher));
    let Found { hits, notes } = found.await.map_err(|error| internal("the search broke", error))??;
    services.enricher.hit(hits.iter().filter_map(|hit| SessionId::new(&hit.session_id)));
    Ok(answer::Search { hits, freshness, notes })
}

/// A question, with all that bears on its answer.
pub(super) struct Wanted {
    pub(super) question: Question,
    /// What is meant, if that is known.
    pub(super) meaning: Option<Meaning>,
    /// Only sessions of this project.
    pub(super) project: Option<String>,
    /// Where the caller works: what `.` stands for, and what is favoured where no project is named.
    pub(super) directory: Option<String>,
    /// The asking session.
    pub(super) asking: Option<SessionId>,
    pub(super) whose: Whose,
    pub(super) sessions: usize,
    /// Of each session.
    pub(super) turns: usize,
}

/// In which sessions something is looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Whose {
    /// In all, the asking one last.
    #[default]
    All,
    /// In all but the asking one.
    Others,
    /// In the asking one alone.
    Own,
}

/// What was found.
pub(super) struct Found {
    pub(super) hits: Vec<answer::Hit>,
    pub(super) notes: Vec<String>,
}

/// In place of what would be noted of a question with a secret in it.
const SECRETS: &str =
    "some of it was taken in another way than it was written; there is a secret in it, so nothing of it is said again";

/// Searches the memory; where no words are looked for, lists the sessions that the filters leave, the latest first. Blocks.
pub(super) fn find(
    wanted: &Wanted,
    table: &SessionTable,
    settings: &Settings,
    searcher: &Searcher,
) -> Result<Found, Failure> {
    let question = &wanted.question;
    let (project, directory) = (wanted.project.as_deref(), wanted.directory.as_deref());
    let broke = |error| internal("the search failed", error);
    let narrowing = Narrowing::of(question, table, settings, searcher, directory).map_err(broke)?;
    let row = |id: &str| SessionId::new(id).and_then(|id| table.get(&id).cloned());
    let is_own = |id: &str| wanted.asking.as_ref().is_some_and(|asking| asking.as_str() == id);
    let left_out = |id: &str| match wanted.whose {
        Whose::All => false,
        Whose::Others => is_own(id),
        Whose::Own => !is_own(id),
    };
    let called = |hit: baton_memory::Hit| {
        let title = given_title(searcher, table, settings, &hit.session_id).unwrap_or(hit.title);
        answers::hit(table, baton_memory::Hit { title, ..hit })
    };
    let hidden = |id: &str| left_out(id) || visibility::is_hidden(table, settings, &[], id);
    let admits = |id: &str| match visibility::memo_as_state(table, id) {
        Some(state) => narrowing.admits(question, id, Some(&state)),
        None => narrowing.admits(question, id, row(id).as_ref().map(|row| &row.state)),
    };
    let exclude = |id: &str| hidden(id) || !admits(id);
    let mut notes = [question.notes.clone(), narrowing.notes.clone()].concat();
    let told = |notes: Vec<String>| match question.has_secret {
        true => notes.first().map(|_| SECRETS.to_owned()).into_iter().collect(),
        false => notes.iter().map(|note| redact(note).into_owned()).collect(),
    };
    if question.is_filters_only() {
        let is_in = |id: &str, wanted: &str| match visibility::memo_as_state(table, id) {
            Some(state) => visibility::is_in(&state, wanted),
            None => row(id).is_some_and(|row| visibility::is_in(&row.state, wanted)),
        };
        let outside = |id: &str| hidden(id) || project.is_some_and(|wanted| !is_in(id, wanted));
        let sessions = narrowing.latest(question, table, &outside, wanted.sessions);
        let listed = searcher.hits_for(&sessions).map_err(broke)?;
        let filters = filters::filters(question);
        let hit = |hit| answer::Hit { matched: filters.clone(), ..called(hit) };
        return Ok(Found { hits: listed.into_iter().map(hit).collect(), notes: told(notes) });
    }
    let own = directory
        .filter(|_| project.is_none())
        .map(|directory| baton_base::project::resolve_or_as_written(directory).project);
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
        (true, true) => notes.push(format!("{}: found by the words instead", unread(&phrases()))),
        (true, false) => notes.push(unread(&phrases())),
        (false, false) => {}
    }
    let mut hits: Vec<answer::Hit> = hits.into_iter().map(called).collect();
    // The first place of what was added is the best one, and stands for all of it.
    hits.dedup_by(|second, first| second.source.is_some() && second.session_id == first.session_id);
    Ok(Found { hits, notes: told(notes) })
}

/// What is said where more has the words of a phrase than one question reads.
fn unread(phrases: &str) -> String {
    let what = if phrases.is_empty() { "what is asked".to_owned() } else { phrases.to_owned() };
    format!("too many passages have the words of {what} for all to be read; project:, file: or after: leaves fewer")
}
