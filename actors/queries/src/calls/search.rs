//! `search`: the lazy step, then the search.

use baton_views::conversation::given_title;
use baton_views::{clones, visibility};
use std::path::Path;

use baton_ask::query;
use baton_ask::query::{AskedAt, Question};
use baton_conversation::record::{SessionId, Timestamp};
use baton_events::projection::table::SessionTable;
use baton_protocol::{Caller, Failure, SearchParams, answer, code};
use baton_redaction::redact;

use super::{QueryError, internal};
use crate::client::{ClientRef, failure};
use crate::filters;
use crate::filters::SessionFilter;
use crate::lazy::{FreshMemory, FreshSearcher};
use crate::{answers, lazy, related_sessions, resolve, transcript_peek};
use baton_base::limits;
use baton_base::transcript_file::TranscriptHeads;
use baton_tracking::embedding::{Embedder, QuestionVector};
use baton_tracking::enricher::Enricher;
use baton_tracking::indexer::Want;
use baton_tracking::transcript_roots::Roots;

use baton_config::settings::Settings;
use baton_memory::vectors::Meaning;
use baton_memory::{Query, Requirements, Searcher};

/// Most sessions in one answer.
const SEARCH_LIMIT: u32 = 100;

/// Turns per session by default.
const TURNS_EACH: usize = 3;

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

/// What is read before an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effort {
    /// Nothing: the answer is what is indexed.
    Stored,
    /// What is new.
    New,
    /// All history.
    All,
}

impl Effort {
    /// The effort of a question that may wait for all history.
    pub(super) fn waiting(wait: bool) -> Self {
        if wait { Self::All } else { Self::New }
    }
}

/// Prepares questions in words.
#[derive(Clone, Copy)]
pub(crate) struct QuestionReader<'a> {
    pub(crate) memory: FreshMemory<'a>,
    pub(crate) embedder: &'a Embedder,
    pub(crate) roots: &'a Roots,
}

impl QuestionReader<'_> {
    /// Parses a question, and runs the lazy step for it.
    pub(super) async fn prepare(
        self,
        client: &ClientRef,
        query: &str,
        project: Option<&str>,
        caller: &Caller,
        effort: Effort,
    ) -> Result<PreparedQuestion, QueryError> {
        let resolved = || {
            let (table, settings) = self.memory.catalog().now();
            // This home's projects take precedence over those of others.
            let of_others = |refusal| {
                let (everyone, settings) = self.memory.catalog().including_others();
                project.and_then(|name| resolve::project(&everyone, &settings, name).ok()).ok_or(refusal)
            };
            project.map(|name| resolve::project(&table, &settings, name).or_else(of_others))
        };
        // A project whose first session has just begun is known only after the step.
        let known = resolved().and_then(Result::ok);
        let asking = resolve::asking_session(&self.memory.catalog().table.now(), caller, query);
        let left_out = match &asking {
            Some(id) if self.is_compacted(id).await => None,
            asking => asking.as_ref(),
        };
        let ask = lazy::Request { project: known.as_deref(), all: effort == Effort::All, asking: left_out };
        let now = self.memory.coverage.clock.now();
        let question = query::parse(query, AskedAt { now, zone: caller.zone() });
        let (FreshSearcher { searcher, freshness }, meant) = match effort {
            Effort::Stored => (self.memory.stored_searcher()?, QuestionVector::default()),
            Effort::New | Effort::All => {
                // Words are found in turns; what else is made of a session that is being written may be older. Filters
                // ask for that as well.
                let is_of_turns =
                    question.filters.is_empty() && !(question.words.is_empty() && question.prefixes.is_empty());
                let want = if is_of_turns && effort == Effort::New { Want::Turns } else { Want::Whole };
                // Both run at once.
                let ready = self.memory.searcher_covering(client, ask, want);
                let (ready, meant) = tokio::join!(ready, self.embedder.question_vector(&question));
                (ready?, meant)
            }
        };
        let freshness = answer::Freshness { vectors: meant.told, ..freshness };
        let project = resolved().transpose()?;
        Ok(PreparedQuestion { searcher, freshness, question, meaning: meant.meaning, project, asking, now })
    }

    /// Returns true if a session was compacted before anything of it was indexed: its agent no longer knows what it said,
    /// and the memory does not know it yet.
    async fn is_compacted(&self, id: &SessionId) -> bool {
        let table = self.memory.catalog().table.now();
        let row = table
            .get(id)
            .filter(|row| row.state.episode.is_none() && self.memory.catalog().settings.now().may_read(&row.state));
        let is_hung = |path: &str| self.roots.is_hung(Path::new(path));
        let row = row.filter(|row| row.state.transcript.as_ref().is_some_and(|transcript| !is_hung(&transcript.path)));
        let Some(row) = row.cloned() else { return false };
        let id = id.clone();
        let looking = baton_base::task::spawn_blocking(move || {
            transcript_peek::file_of(&id, &row.state).is_some_and(|file| transcript_peek::is_compacted(&file))
        });
        matches!(tokio::time::timeout(limits::ROOT, looking).await, Ok(Ok(true)))
    }
}

pub(crate) async fn search(
    asked: SearchParams,
    questions: QuestionReader<'_>,
    enricher: &Enricher,
    client: &ClientRef,
) -> Result<answer::Search, QueryError> {
    if asked.query.trim().is_empty() {
        return Err(failure(code::INVALID_PARAMS, "the query is empty; say what to look for").into());
    }
    let project = asked.project.as_deref();
    let effort = if asked.stored { Effort::Stored } else { Effort::waiting(asked.wait) };
    let prepared = questions.prepare(client, &asked.query, project, &asked.caller, effort).await?;
    let (searcher, freshness) = (prepared.searcher, prepared.freshness);
    let (table, settings) = questions.memory.catalog().including_others();
    let wanted = SearchRequest {
        asked: None,
        question: prepared.question,
        meaning: prepared.meaning,
        project: prepared.project,
        directory: asked.caller.directory,
        asking: prepared.asking,
        scope: Scope::All,
        sessions: asked.limit.min(SEARCH_LIMIT) as usize,
        turns: asked.turns.map_or(TURNS_EACH, |turns| turns as usize),
        synonyms: Vec::new(),
        passage_chars: None,
        now: prepared.now,
    };
    let found = baton_base::task::spawn_blocking(move || find(&wanted, &table, &settings, &searcher));
    let SearchHits { hits, notes, .. } = found.await.map_err(|error| internal("the search broke", error))??;
    if effort != Effort::Stored {
        enricher.note_hits(hits.iter().filter_map(|hit| SessionId::new(&hit.session_id)));
    }
    Ok(answer::Search { hits, freshness, notes })
}

/// A question with everything its answer depends on.
pub(super) struct SearchRequest {
    pub(super) question: Question,
    /// The whole question if `question` has only its subject: it shows whether the question asks what holds.
    pub(super) asked: Option<String>,
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
    /// Words of the question, each with one that means about the same.
    pub(super) synonyms: Vec<(String, &'static str)>,
    /// Most characters of a passage; `None` for the usual number.
    pub(super) passage_chars: Option<usize>,
    pub(super) now: Timestamp,
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
    /// Sessions that were replaced, each with the later one.
    pub(super) replaced: Vec<(SessionId, SessionId)>,
}

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

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
    let heads = TranscriptHeads::default();
    // A time after tomorrow is invalid: the file is damaged, or a clock was wrong.
    let end_of_time = wanted.now.plus_ms(DAY_MS);
    let to_answer_hit = |hit: baton_memory::Hit| {
        let at = hit.at.filter(|at| *at <= end_of_time);
        let title = given_title(searcher, table, settings, &hit.session_id).unwrap_or(hit.title);
        answers::hit(table, baton_memory::Hit { title, at, ..hit }, &heads)
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
        let hits = listed.into_iter().map(hit).collect();
        return Ok(SearchHits { hits, notes: shown_notes(notes), replaced: Vec::new() });
    }
    let own = directory.filter(|_| project.is_none()).map(|directory| clones::project_of(table, directory));
    let elder = |one: &str, other: &str| related_sessions::compare_age(table, one, other);
    let requirements = Requirements {
        phrases: &question.phrases,
        without: &question.without,
        after: question.after,
        before: question.before.into_iter().chain(question.after.map(|_| end_of_time)).min(),
    };
    let synonyms: Vec<(&str, &str)> = wanted.synonyms.iter().map(|(word, synonym)| (word.as_str(), *synonym)).collect();
    let usual = Query::new(&question.words);
    let query = Query {
        question: wanted.asked.as_deref().unwrap_or(&question.words),
        project,
        sessions: wanted.sessions,
        turns_per_session: wanted.turns,
        exclude: &exclude,
        elder: &elder,
        requirements,
        prefixes: &question.prefixes,
        synonyms: &synonyms,
        favour: own.as_deref(),
        last: wanted.asking.as_ref(),
        meaning: wanted.meaning.as_ref(),
        zone: question.zone,
        passage_chars: wanted.passage_chars.unwrap_or(usual.passage_chars),
        ..usual
    };
    let baton_memory::SearchResult { mut hits, unread, replaced } = searcher.search_detailed(&query).map_err(broke)?;
    let phrases = || question.phrases.iter().map(|phrase| format!("\"{phrase}\"")).collect::<Vec<_>>().join(" and ");
    let is_by_words = hits.is_empty() && !question.phrases.is_empty() && question.has_loose_words();
    if is_by_words {
        let words = Query { requirements: Requirements { phrases: &[], ..requirements }, ..query };
        hits = searcher.search(&words).map_err(broke)?;
    }
    match (unread.texts, is_by_words && !hits.is_empty()) {
        (false, true) => notes.push(format!("no passage has {}: found by the words instead", phrases())),
        (true, true) => notes.push(format!("{}: found by the words instead", too_many_passages_note(&phrases()))),
        (true, false) => notes.push(too_many_passages_note(&phrases())),
        (false, false) => {}
    }
    if unread.words {
        notes.push("the commonest words are in too many passages and were left out; rarer words find more".to_owned());
    }
    let mut hits: Vec<answer::Hit> = hits.into_iter().map(to_answer_hit).collect();
    // The first hit of a memo is the best one, and represents all of it.
    hits.dedup_by(|second, first| second.source.is_some() && second.session_id == first.session_id);
    Ok(SearchHits { hits, notes: shown_notes(notes), replaced })
}

/// The note if more passages contain the words of a phrase than one query reads.
fn too_many_passages_note(phrases: &str) -> String {
    let what = if phrases.is_empty() { "what is asked".to_owned() } else { phrases.to_owned() };
    format!("too many passages have the words of {what} for all to be read; project:, file: or after: leaves fewer")
}
