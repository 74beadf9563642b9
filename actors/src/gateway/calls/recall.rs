//! What is known of a question, in one answer within a budget of tokens.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use baton_events::digest::Episode;
use baton_events::graph::Relation;
use baton_events::projection::table::{Row, SessionTable};
use baton_events::protocol::{Failure, RecallParams, answer, code};
use baton_events::query::{self, Question};
use baton_events::recall::{self, Asked, Entry, Kind, Later, Place, Sort, chosen, gathered, still_open};
use baton_events::record::{SessionId, Timestamp};
use baton_events::redact::redact;
use baton_events::tokens;

use super::search::{Ready, Wanted, asking, find, ready};
use super::{Ended, internal};
use crate::gateway::connection::{Out, failure};
use crate::gateway::{Services, conversation, graph, lazy, resolve, shown};
use crate::memory::vectors::Meaning;
use crate::memory::{GraphQuery, Searcher, Sieve};
use crate::settings::Settings;

/// Most sessions that one answer looks into: each is read and digested.
const MOST_SESSIONS: u32 = 20;
/// Least and most tokens of an answer.
const BUDGET: std::ops::RangeInclusive<u64> = 200..=20_000;
/// Tokens that go with every answer: that it is quoted.
const AROUND_TOKENS: u64 = 40;
/// Passages of each session.
const PASSAGES: usize = 3;
/// Facts that are looked at.
const FACTS: usize = 30;
/// Facts that are told where the question asks for their kind, and where it does not.
const FACTS_TOLD: usize = 6;
const FACTS_BESIDE: usize = 3;
/// Facts that tell something of a session beside what its episode says.
const TELLING: [Relation; 6] = [
    Relation::Decided,
    Relation::Prefers,
    Relation::ResolvedBy,
    Relation::AddedPackage,
    Relation::Renamed,
    Relation::Told,
];

pub(in crate::gateway) async fn recall(
    asked: RecallParams,
    services: &Arc<Services>,
    out: &Out,
) -> Result<answer::Recall, Ended> {
    if asked.query.trim().is_empty() {
        return Err(failure(code::INVALID_PARAMS, "the question is empty; say what you want to know").into());
    }
    let project = || {
        let (table, settings) = (services.table.now(), services.settings.now());
        asked.project.as_deref().map(|name| resolve::project(&table, &settings, name))
    };
    let known = project().and_then(Result::ok);
    let asking = asking(services, &asked.caller, &asked.query);
    let ask = lazy::Ask { project: known.as_deref(), all: asked.wait, asking: asking.as_ref() };
    let question = query::read(&asked.query, services.clock.now());
    let (ready, meant) = tokio::join!(ready(services, out, ask), services.embedder.meaning(&question));
    let Ready { searcher, freshness } = ready?;
    let freshness = answer::Freshness { vectors: meant.told, ..freshness };
    let looking = Looking {
        project: project().transpose()?,
        question,
        meaning: meant.meaning,
        directory: asked.caller.directory.clone(),
        asking,
        sessions: asked.limit.clamp(1, MOST_SESSIONS) as usize,
        budget: u64::from(asked.budget_tokens).clamp(*BUDGET.start(), *BUDGET.end()),
        freshness: answer::Brief::from(&freshness),
        services: services.clone(),
        table: services.table.now(),
        settings: services.settings.now(),
        searcher,
    };
    let looked = tokio::task::spawn_blocking(move || looking.answer());
    Ok(looked.await.map_err(|error| internal("looking broke", error))??)
}

/// One question under way.
struct Looking {
    project: Option<String>,
    question: Question,
    /// What is meant, if that is known.
    meaning: Option<Meaning>,
    directory: Option<String>,
    asking: Option<SessionId>,
    sessions: usize,
    budget: u64,
    freshness: answer::Brief,
    services: Arc<Services>,
    table: SessionTable,
    settings: Arc<Settings>,
    searcher: Searcher,
}

/// Sessions and lines that say what does not hold any more, and since when it does not.
type Reversed = BTreeMap<(SessionId, u64), Timestamp>;

/// A session that has to do with the question.
struct Session {
    id: SessionId,
    row: Arc<Row>,
    episode: Episode,
    passages: Vec<answer::Hit>,
}

impl Looking {
    fn answer(mut self) -> Result<answer::Recall, Failure> {
        let asked = recall::read(&self.question.words);
        let is_general = asked.about.is_empty() && !asked.kinds.is_empty();
        if is_general && self.project.is_none() {
            // What "we" worked on is what was worked on here, where anything was.
            self.project = self.own_project();
        }
        let mut notes = Vec::new();
        let mut entries = Vec::new();
        let sessions = self.sessions(&asked, is_general, &mut notes, &mut entries)?;
        let mut later: BTreeMap<String, Later> = BTreeMap::new();
        for (rank, session) in (1..).zip(&sessions) {
            let state = &session.row.state;
            let project = state.place.as_ref().map(|place| place.project.as_str());
            let last = project.map(|path| path.rsplit(['/', '\\']).next().unwrap_or(path));
            let place = Place { session: &session.id, rank, at: state.last_conversation_at, project: last };
            entries.append(&mut gathered(&session.episode, &place, &asked));
            // Ranks follow time only where sessions are listed; elsewhere nothing is known of what came later.
            let after = later.entry(project.unwrap_or_default().to_owned()).or_default();
            entries.append(&mut still_open(&session.episode, &place, &asked, after));
            if is_general {
                after.take(&session.episode);
            }
            for (number, hit) in session.passages.iter().enumerate() {
                let worth = if asked.kinds.is_empty() { 2.0 } else { 1.2 } / (1.0 + 0.3 * number as f32);
                entries.push(place.line(Sort::Passage, &hit.snippet, hit.line, None, worth));
            }
        }
        let (mut facts, ended) = self.facts(&asked)?;
        recall::reverse(&mut entries, &ended);
        if asked.is(Kind::Preferences) && facts.iter().all(|fact| fact.ended.is_some()) {
            entries.append(&mut self.wishes(&asked)?);
        }
        entries.append(&mut facts);
        if entries.is_empty() {
            notes.push("nothing was found; `baton search` takes other words".to_owned());
        }
        Ok(self.within_budget(&asked, entries, notes))
    }

    /// What a person typed that sounds like a preference, where none is known as a fact.
    fn wishes(&self, asked: &Asked) -> Result<Vec<Entry>, Failure> {
        let words = ["prefer always never please instead", &asked.about.join(" ")].join(" ");
        let question = Question { words, ..self.question.clone() };
        let wanted = Wanted {
            question,
            meaning: None,
            project: self.project.clone(),
            directory: self.directory.clone(),
            asking: self.asking.clone(),
            leaves_out_asking: true,
            sessions: self.sessions,
            turns: PASSAGES,
        };
        let hits = find(&wanted, &self.table, &self.settings, &self.searcher)?.hits;
        let typed = hits.into_iter().filter(|hit| hit.role.as_deref() == Some("user"));
        let entry = |hit: answer::Hit| {
            let session = SessionId::new(&hit.session_id)?;
            let place = Place { session: &session, rank: hit.rank as usize, at: None, project: None };
            Some(place.line(Sort::Passage, &hit.snippet, hit.line, None, 2.0 * asked.fit(&hit.snippet)))
        };
        Ok(typed.filter_map(entry).collect())
    }

    /// The project of the caller's directory, if any session of it can be told of.
    fn own_project(&self) -> Option<String> {
        let directory = self.directory.as_deref()?;
        let own = crate::place::of(directory).project;
        let told = |id: &SessionId, row: &Row| {
            row.state.episode.is_some()
                && self.asking.as_ref() != Some(id)
                && !self.is_hidden(id.as_str())
                && resolve::is_in(&row.state, &own)
        };
        self.table.iter().any(|(id, row)| told(id, row)).then_some(own)
    }

    fn is_hidden(&self, id: &str) -> bool {
        shown::hidden(&self.table, &self.settings, self.project.as_slice(), id)
    }

    /// The sessions that fit, best first; those of a question about nothing in particular the latest first. What was added
    /// and fits is an entry at once.
    fn sessions(
        &self,
        asked: &Asked,
        is_general: bool,
        notes: &mut Vec<String>,
        entries: &mut Vec<Entry>,
    ) -> Result<Vec<Session>, Failure> {
        let mut question = self.question.clone();
        if is_general {
            question.words.clear();
            question.prefixes.clear();
            question.phrases.clear();
        }
        let wanted = Wanted {
            question,
            meaning: self.meaning.clone(),
            project: self.project.clone(),
            directory: self.directory.clone(),
            asking: self.asking.clone(),
            leaves_out_asking: true,
            sessions: self.sessions,
            turns: PASSAGES,
        };
        let found = find(&wanted, &self.table, &self.settings, &self.searcher)?;
        notes.extend(found.notes);
        let mut sessions: Vec<Session> = Vec::new();
        for hit in found.hits {
            if let (Some(_), Some(id)) = (&hit.source, SessionId::new(&hit.session_id)) {
                let place = Place { session: &id, rank: hit.rank as usize, at: None, project: None };
                let text = [hit.title.as_str(), &hit.snippet].join(": ");
                entries.push(place.line(Sort::Passage, text.trim_start_matches(": "), None, None, 2.0));
                continue;
            }
            if let Some(known) = sessions.iter_mut().find(|session| session.id.as_str() == hit.session_id) {
                known.passages.extend(Some(hit).filter(|hit| hit.kind == "turn"));
                continue;
            }
            let Some((id, row)) =
                SessionId::new(&hit.session_id).and_then(|id| Some((id.clone(), self.table.get(&id)?.clone())))
            else {
                continue;
            };
            let Some(current) = row.state.episode.clone() else { continue };
            // One that cannot be read is told of by whoever lists episodes.
            let read = conversation::digest(&self.services, &id, current, &self.settings.filtering);
            let Ok((_, episode)) = read else { continue };
            let passages = Some(hit).filter(|hit| hit.kind == "turn").into_iter().collect();
            sessions.push(Session { id, row, episode, passages });
        }
        if asked.is(Kind::Latest) && !is_general {
            sessions.sort_by_key(|session| std::cmp::Reverse(session.row.state.last_activity()));
        }
        Ok(sessions)
    }

    /// Facts of the kind that is asked for, else those that fit the words best: those that hold, below them those that
    /// held once. And the places that say nothing but what does not hold any more.
    fn facts(&self, asked: &Asked) -> Result<(Vec<Entry>, Reversed), Failure> {
        let relation = match () {
            () if asked.is(Kind::Preferences) => Some(Relation::Prefers),
            () if asked.is(Kind::Decisions) => Some(Relation::Decided),
            () => None,
        };
        let text = asked.about.join(" ");
        if relation.is_none() && text.is_empty() {
            return Ok((Vec::new(), Reversed::new()));
        }
        let exclude = |id: &str| self.is_hidden(id);
        let relations = relation.as_ref().map_or(&TELLING[..], std::slice::from_ref);
        let sieve = Sieve { relations, ..Sieve::default() };
        let query =
            GraphQuery { text: &text, exclude: &exclude, labels: &[], sieve, center: None, limit: FACTS, offset: 0 };
        let page = self.searcher.facts(&query).map_err(|error| internal("the search failed", error))?;
        let most = relation.map_or(FACTS_BESIDE, |_| FACTS_TOLD);
        let (mut holding, mut past) = (Vec::new(), Vec::new());
        let (mut upheld, mut ended) = (BTreeSet::new(), Reversed::new());
        for fact in page.found {
            let (uuid, at, until) = (fact.uuid, fact.valid_at, fact.invalid_at);
            for place in &fact.latest {
                match until {
                    Some(until) => ended.insert(place.clone(), until).is_none(),
                    None => upheld.insert(place.clone()),
                };
            }
            let latest = fact.latest.first().cloned();
            let told = graph::fact(fact);
            let fit = asked.fit(&told.fact);
            let list = if until.is_some() { &mut past } else { &mut holding };
            let Some((session, line)) = latest.filter(|_| fit > 0.0 && list.len() < most) else { continue };
            let worth = if relation.is_some() { 3.2 } else { 1.0 } * fit - list.len() as f32 * 0.01;
            let place = Place { session: &session, rank: 1, at, project: None };
            let mut entry = Entry { uuid: Some(uuid), ..place.line(Sort::Fact, &told.fact, Some(line), at, worth) };
            until.into_iter().for_each(|until| entry.end(until));
            list.push(entry);
        }
        ended.retain(|place, _| !upheld.contains(place));
        holding.append(&mut past);
        Ok((holding, ended))
    }

    /// The best entries that fit, each whole.
    fn within_budget(&self, asked: &Asked, mut entries: Vec<Entry>, notes: Vec<String>) -> answer::Recall {
        let mut answer = answer::Recall {
            took: asked.kinds.iter().map(|kind| kind.as_str().to_owned()).collect(),
            project: self.project.as_deref().map(|project| redact(project).into_owned()),
            notes,
            // As wide as they may become.
            left_out: 9_999,
            tokens: 99_999,
            freshness: self.freshness.clone(),
            ..answer::Recall::default()
        };
        let is_about_sessions =
            asked.kinds.is_empty() || [Kind::Latest, Kind::Open, Kind::Files].into_iter().any(|kind| asked.is(kind));
        if !is_about_sessions {
            let sessions = entries.iter_mut().filter(|entry| entry.sort == Sort::Session);
            sessions.for_each(|entry| entry.worth *= 0.35);
        }
        let around = tokens_of(&answer) + AROUND_TOKENS;
        let (entries, left_out) =
            chosen(entries, self.budget.saturating_sub(around), |entry| tokens_of(&written(entry)) + 1);
        answer.entries = entries.iter().map(written).collect();
        answer.left_out = left_out as u64;
        if left_out > 0 && answer.notes.is_empty() {
            // Its room was counted as digits of the numbers above only where there is some left.
            let note = format!("{left_out} more entries did not fit; a larger budget has them");
            answer.notes.push(note);
            if tokens_of(&answer) + AROUND_TOKENS > self.budget {
                answer.notes.clear();
            }
        }
        answer.tokens = tokens_of(&answer) + AROUND_TOKENS;
        answer
    }
}

fn written(entry: &Entry) -> answer::RecallEntry {
    answer::RecallEntry {
        kind: entry.sort.as_str().to_owned(),
        text: redact(&entry.text).into_owned(),
        session_id: entry.session.to_string(),
        line: entry.line,
        day: entry.at.map(day),
        uuid: entry.uuid.map(|uuid| uuid.to_string()),
        ended: entry.ended.map(day),
    }
}

/// The day of a moment, in UTC.
fn day(at: Timestamp) -> String {
    at.to_string().chars().take(10).collect()
}

fn tokens_of(value: &impl serde::Serialize) -> u64 {
    serde_json::to_string(value).map_or(u64::MAX, |json| tokens::of_text(&json))
}
