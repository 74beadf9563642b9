//! The common part of queries about outcomes: runs the lazy step, selects the sessions, and redacts the answer.

use baton_views::conversation::given_title;
use baton_views::visibility;
use std::sync::Arc;

use baton_ask::query::Question;
use baton_ask::recall::{Intent, read_description};
use baton_conversation::record::{SessionId, Timestamp};
use baton_events::projection::others::Others;
use baton_events::projection::table::SessionTable;
use baton_outcomes as outcomes;
use baton_outcomes::Witness;
use baton_protocol::{Agent, Caller, Failure, answer, code};
use baton_redaction::redact;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::search::{Scope, SearchRequest, find};
use super::{QueryError, internal};
use crate::client::{ClientRef, failure};
use crate::lazy::{FreshMemory, FreshSearcher};
use crate::{answers, lazy, related_sessions, resolve};
use baton_config::settings::Settings;
use baton_memory::{Searcher, Selector, WitnessQuery};

/// Most entries of a list.
const MOST: u32 = 100;
/// Fields that hold ids, and are not redacted.
const IDS: [&str; 1] = ["session_id"];

/// The sessions that a query may use. Blocks when it reads.
#[derive(Clone)]
pub(super) struct OutcomeSource {
    pub(super) searcher: Searcher,
    pub(super) table: SessionTable,
    pub(super) settings: Arc<Settings>,
    /// The asking session.
    asking: Option<SessionId>,
    now: Timestamp,
    others: Others,
    /// The requested project.
    pub(super) project: Option<String>,
    /// The caller's project.
    pub(super) own: Option<String>,
}

/// The outcomes recorded by sessions.
#[derive(Default)]
pub(super) struct SessionOutcomes {
    /// Newest first.
    pub(super) witnesses: Vec<Witness>,
    /// Number of sessions that were read.
    pub(super) read: u32,
    /// Number of older sessions that were not.
    pub(super) more: u32,
}

impl OutcomeSource {
    /// Reads the outcomes of at most `limit` sessions, all or those of an agent. What a fork has copied is counted once, for the older session.
    pub(super) fn read(
        &self,
        by: Selector<'_>,
        project: Option<&str>,
        agent: Option<Agent>,
        limit: usize,
    ) -> Result<SessionOutcomes, Failure> {
        let is_by = |id: &str| {
            SessionId::new(id)
                .and_then(|id| self.table.get(&id))
                .is_some_and(|row| visibility::is_from_agent(&row.state, agent))
        };
        let exclude =
            |id: &str| visibility::is_hidden(&self.table, &self.settings, &[], id) || agent.is_some() && !is_by(id);
        let query = WitnessQuery { by, project, exclude: &exclude, limit };
        let mut found =
            self.searcher.witnesses(&query).map_err(|error| internal("the outcomes cannot be read", error))?;
        let read = u32::try_from(found.found.len()).unwrap_or(u32::MAX);
        outcomes::remove_copies(&mut found.found, &|one, other| related_sessions::compare_age(&self.table, one, other));
        Ok(SessionOutcomes { witnesses: found.found, read, more: u32::try_from(found.more).unwrap_or(u32::MAX) })
    }
}

impl OutcomeSource {
    /// The same with the sessions of others: for an answer that says whose each one is.
    pub(super) fn including_others(&self) -> Self {
        Self { table: self.table.clone().with_others(self.others.clone()), ..self.clone() }
    }

    /// Searches the passages of all sessions but the asking one, also by synonyms of words.
    pub(super) fn find(
        &self,
        question: Question,
        synonyms: Vec<(String, &'static str)>,
        sessions: usize,
        turns: usize,
    ) -> Result<Vec<answer::Hit>, Failure> {
        let wanted = SearchRequest {
            asked: None,
            question,
            meaning: None,
            project: self.project.clone(),
            directory: self.own.clone(),
            asking: self.asking.clone(),
            scope: Scope::Others,
            sessions,
            turns,
            synonyms,
            passage_chars: None,
            now: self.now,
        };
        Ok(find(&wanted, &self.table, &self.settings, &self.searcher)?.hits)
    }

    /// The meaning of a description, its words weighed by how rare they are.
    pub(super) fn describe(&self, text: &str) -> Intent {
        let mut asked = read_description(text);
        // Without an index all words count alike.
        asked.weigh(|words| self.searcher.word_weights(words.iter().copied()).ok());
        asked
    }

    /// Replaces the titles by those that other sessions have given, and names the authors.
    pub(super) fn with_given_titles(&self, mut answer: answer::Blame) -> answer::Blame {
        for session in &mut answer.sessions {
            let id = SessionId::new(&session.session_id);
            let title = id.and_then(|id| given_title(&self.searcher, &self.table, &self.settings, &id));
            session.title = title.unwrap_or_else(|| std::mem::take(&mut session.title));
            session.from = SessionId::new(&session.session_id).and_then(|id| answers::author(&self.table, &id));
        }
        answer
    }
}

/// Runs the lazy step, then `compute` on the outcomes, and redacts the result.
pub(super) async fn answer_from_outcomes<T: Serialize + DeserializeOwned + Send + 'static>(
    (question, project, wait): (&str, Option<&str>, bool),
    caller: &Caller,
    memory: FreshMemory<'_>,
    client: &ClientRef,
    compute: impl FnOnce(&OutcomeSource) -> Result<T, Failure> + Send + 'static,
) -> Result<(T, answer::Freshness), QueryError> {
    let named = || {
        let (table, settings) = memory.catalog().now();
        project.map(|name| resolve::project(&table, &settings, name))
    };
    // A project whose first session has just begun is known only after the step.
    let known = named().and_then(Result::ok);
    let asking = resolve::asking_session(&memory.catalog().table.now(), caller, question);
    let ask = lazy::Request { project: known.as_deref(), all: wait, asking: asking.as_ref() };
    let FreshSearcher { searcher, freshness } = memory.searcher(client, ask).await?;
    let project = named().transpose()?;
    let (table, settings) = memory.catalog().now();
    let others = memory.catalog().others.now();
    let (directory, now) = (caller.directory.clone(), memory.coverage.clock.now());
    let computing = baton_base::task::spawn_blocking(move || {
        let own = directory.map(|directory| baton_views::clones::project_of(&table, &directory));
        let source = OutcomeSource { searcher, table, settings, asking, now, others, project, own };
        compute(&source).and_then(|answer| redacted(&answer))
    });
    let answer = computing.await.map_err(|error| internal("reading the outcomes broke", error))??;
    Ok((answer, freshness))
}

/// Number of entries to list; 0 means the default.
pub(super) fn entries(asked: u32, usual: usize) -> usize {
    if asked == 0 { usual } else { usize::try_from(asked.min(MOST)).unwrap_or(usual) }
}

/// Returns a required argument, or fails if it is empty.
pub(super) fn required_argument<'a>(text: &'a str, what: &str) -> Result<&'a str, Failure> {
    match text.trim() {
        "" => Err(failure(code::INVALID_PARAMS, format!("{what} is missing"))),
        text => Ok(text),
    }
}

fn redacted<T: Serialize + DeserializeOwned>(answer: &T) -> Result<T, Failure> {
    let broke = |error| internal("answer not written", error);
    let mut value = serde_json::to_value(answer).map_err(broke)?;
    redact_all(&mut value);
    serde_json::from_value(value).map_err(broke)
}

fn redact_all(value: &mut Value) {
    match value {
        Value::String(text) => *text = redact(text).into_owned(),
        Value::Array(entries) => entries.iter_mut().for_each(redact_all),
        Value::Object(fields) => {
            fields
                .iter_mut()
                .filter(|(name, _)| !IDS.contains(&name.as_str()))
                .for_each(|(_, value)| redact_all(value));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
