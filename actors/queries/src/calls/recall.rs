//! What is known of a question, in one answer within a budget of tokens.

mod facts;
mod fitting;
mod narrowed;
mod sessions;

use baton_views::visibility;
use std::collections::BTreeMap;
use std::sync::Arc;

use baton_ask::query::Question;
use baton_ask::recall;
use baton_ask::recall::{Entry, Intent, Kind, Later, Place, Sort, session_entries, still_open};
use baton_conversation::record::{SessionId, Timestamp};
use baton_events::projection::table::SessionTable;
use baton_events::session::State;
use baton_protocol::{Failure, RecallParams, answer, code};

use super::search::{Wanted, Whose, find, prepared};
use super::vault::{Recalled, recalled};
use super::{QueryError, internal};
use crate::client::{Out, failure};
use crate::{Services, resolve};
use baton_config::settings::Settings;
use baton_memory::Searcher;
use baton_memory::vectors::Meaning;

/// Most sessions that one answer looks into: each is read and digested.
const MOST_SESSIONS: u32 = 20;
/// How many times as many sessions are looked into where one mostly has nothing to say, as of what failed.
const FURTHER: usize = 4;
/// Least and most tokens of an answer.
const BUDGET: std::ops::RangeInclusive<u64> = 200..=20_000;
/// Passages of each session.
const PASSAGES: usize = 3;
/// What a passage counts: where it is all that is asked for, and beside what is.
const PASSAGE: f32 = 2.0;
const PASSAGE_BESIDE: f32 = 1.2;
/// What a line of a tool counts of that beside what people said.
const OF_A_TOOL: f32 = 0.6;

/// Characters of what nothing speaks of that a note repeats.
const UNSAID_CHARS: usize = 60;

pub(crate) async fn recall(
    asked: RecallParams,
    services: &Arc<Services>,
    out: &Out,
) -> Result<answer::Recall, QueryError> {
    if asked.query.trim().is_empty() {
        return Err(failure(code::INVALID_PARAMS, "the question is empty; say what you want to know").into());
    }
    let project = asked.project.as_deref();
    let prepared = prepared(services, out, &asked.query, project, &asked.caller, asked.wait).await?;
    let looking = Looking {
        project: prepared.project,
        question: prepared.question,
        meaning: prepared.meaning,
        now: prepared.now,
        directory: asked.caller.directory.clone(),
        asking: prepared.asking,
        whose: Whose::Others,
        sessions: asked.limit.clamp(1, MOST_SESSIONS) as usize,
        budget: u64::from(asked.budget_tokens).clamp(*BUDGET.start(), *BUDGET.end()),
        freshness: answer::BriefFreshness::from(&prepared.freshness),
        services: services.clone(),
        table: services.table.now(),
        settings: services.settings.now(),
        searcher: prepared.searcher,
        client: out.clone(),
    };
    let asking_last = looking.own_parts();
    let looking = Looking { freshness: answer::BriefFreshness { asking_last, ..looking.freshness.clone() }, ..looking };
    let looked = tokio::task::spawn_blocking(move || looking.answer());
    let told = looked.await.map_err(|error| internal("looking broke", error))??;
    let sessions = told.entries.iter().map(|entry| entry.session_id.clone()).collect();
    recalled(services, &asked.caller, Recalled::Words { words: asked.query, sessions });
    Ok(told)
}

/// One question under way.
#[derive(Clone)]
struct Looking {
    project: Option<String>,
    question: Question,
    /// What is meant, if that is known.
    meaning: Option<Meaning>,
    now: Timestamp,
    directory: Option<String>,
    asking: Option<SessionId>,
    whose: Whose,
    sessions: usize,
    budget: u64,
    freshness: answer::BriefFreshness,
    services: Arc<Services>,
    table: SessionTable,
    settings: Arc<Settings>,
    searcher: Searcher,
    client: Out,
}

/// What a question gets.
struct Answer {
    entries: Vec<Entry>,
    /// What was asked for and is not known.
    unknown: Vec<Kind>,
    notes: Vec<String>,
}

impl Looking {
    fn answer(self) -> Result<answer::Recall, QueryError> {
        let (looking, asked, narrowed) = self.clone().narrowed();
        let mut found = looking.look(&asked)?;
        let mut told_by = (looking, asked);
        if narrowed.by_a_word && (found.entries.is_empty() || !found.unknown.is_empty()) {
            // What was taken for the name of a project may have been a word.
            let (everywhere, asked) = self.unnarrowed();
            let elsewhere = everywhere.look(&asked)?;
            if elsewhere.unknown.is_empty() && !elsewhere.entries.is_empty() {
                let note = "nothing of it is known of the project that the question names; this is of all of them";
                found = Answer { notes: [vec![note.to_owned()], elsewhere.notes].concat(), ..elsewhere };
                told_by = (everywhere, asked);
            } else {
                found.notes.extend(narrowed.note);
            }
        } else {
            found.notes.extend(narrowed.note);
        }
        let (looking, asked) = told_by;
        if let Some(note) = looking.no_such_place(&asked, &found) {
            // That nothing is open there would be no comfort.
            if found.entries.is_empty() {
                found.notes.clear();
            }
            found.notes.insert(0, note);
        }
        found.notes.splice(0..0, asked.span.map(narrowed::time));
        if looking.client.is_closed() {
            return Err(QueryError::ClientGone);
        }
        Ok(looking.within_budget(&asked, found))
    }

    /// Everything that is known of it, and of that what answers. What the asking session itself said, as far as it was read
    /// before, comes below everything else: after a compaction the agent does not know it any more.
    fn look(&self, asked: &Intent) -> Result<Answer, QueryError> {
        let (mut notes, mut told) = self.told(asked)?;
        if self.own_parts() {
            let (_, own) = Self { whose: Whose::Own, ..self.clone() }.told(asked)?;
            recall::append_below(&mut told, own);
        }
        let recall::Selection { entries, unknown, unsaid } = told;
        notes.extend(self.what_is_unknown(&entries, &unknown));
        if unknown.is_empty() && asked.is(Kind::Decisions) && !unsaid.is_empty() && !self.question.has_secret {
            let unsaid: String = unsaid.join(", ").chars().take(UNSAID_CHARS).collect();
            notes.push(format!("no decision about it is known that speaks of {unsaid}"));
        }
        Ok(Answer { entries, unknown, notes })
    }

    /// Whether something of the asking session was read before and may be shown.
    fn own_parts(&self) -> bool {
        let row = self.asking.as_ref().and_then(|id| Some((id, self.table.get(id)?)));
        let is_asked = |state: &State| self.project.as_deref().is_none_or(|project| visibility::is_in(state, project));
        row.is_some_and(|(id, row)| row.state.episode.is_some() && is_asked(&row.state) && !self.is_hidden(id.as_str()))
    }

    /// What answers, of the sessions that are looked into, and notes on how the question was taken.
    fn told(&self, asked: &Intent) -> Result<(Vec<String>, recall::Selection), QueryError> {
        let mut found = self.sessions(asked)?;
        self.services.enricher.hit(found.sessions.iter().map(|session| session.id.clone()));
        let mut entries = std::mem::take(&mut found.notes_told);
        let mut later: BTreeMap<String, Later> = BTreeMap::new();
        for (rank, session) in (1..).zip(&found.sessions) {
            let state = &session.row.state;
            let project = state.place.as_ref().map(|place| place.project.as_str());
            let place = Place {
                session: &session.id,
                rank,
                at: state.last_conversation_at,
                project: project.map(resolve::last_part),
                fit: session.fit(asked),
            };
            let mut told = session_entries(&session.episode, &place, asked);
            if state.is_subagent() && !asked.kinds.is_empty() {
                // Whose helper it was says nothing of what somebody was at.
                told.retain(|entry| entry.sort != Sort::Session);
            }
            entries.append(&mut told);
            // Ranks follow time only where sessions are listed; elsewhere nothing is known of what came later.
            let after = later.entry(project.unwrap_or_default().to_owned()).or_default();
            entries.append(&mut still_open(&session.episode, &place, asked, after));
            if asked.is_general() {
                after.add(&session.episode);
            }
            entries
                .extend(session.passages.iter().zip(0_u8..).map(|(hit, number)| passage(&place, hit, number, asked)));
        }
        let (mut facts, ended) = self.facts(asked)?;
        recall::reverse(&mut entries, &ended);
        if asked.is(Kind::Preferences) && facts.iter().all(|fact| fact.ended.is_some()) {
            entries.append(&mut self.wishes(asked)?);
        }
        entries.append(&mut facts);
        Ok((found.notes, recall::select(asked, entries)))
    }

    /// What there is to say of what is not known. Nothing while there is more to read: then it may be there.
    fn what_is_unknown(&self, entries: &[Entry], unknown: &[Kind]) -> Option<String> {
        if self.freshness.pending > 0 || self.freshness.note.is_some() {
            return None;
        }
        let beside = match self.freshness.left_out_asking {
            true => " beside what this session itself said last, which was left out",
            false => "",
        };
        let what = unknown.first().map(|kind| match kind {
            Kind::Latest => "no session of it is known",
            Kind::Open => "nothing of it is known to be open",
            Kind::Preferences => "no preference of it is known",
            Kind::Decisions => "no decision about it is known",
            Kind::Failed => "nothing of it is known to have failed",
            Kind::Solved => "no solution of it is known",
            Kind::Files => "no changed file of it is known",
        });
        match (what, entries.is_empty()) {
            (Some(what), false) => Some(format!("{what}{beside}; these only have its words")),
            (Some(what), true) => Some(format!("{what}{beside}; `baton search` takes other words")),
            (None, true) => Some(format!("nothing was found{beside}; `baton search` takes other words")),
            (None, false) => None,
        }
    }

    /// What a person typed that sounds like a preference, where none is known as a fact.
    fn wishes(&self, asked: &Intent) -> Result<Vec<Entry>, Failure> {
        let words = ["prefer always never please instead", &asked.about.join(" ")].join(" ");
        let question = Question { words, ..self.question.clone() };
        let hits = find(&self.wanted(question, self.sessions), &self.table, &self.settings, &self.searcher)?.hits;
        let typed = hits.into_iter().filter(|hit| hit.role.as_deref() == Some("user"));
        let entry = |hit: answer::Hit| {
            let session = SessionId::new(&hit.session_id)?;
            let fit = asked.fit(&hit.snippet);
            let place = Place { session: &session, rank: hit.rank as usize, at: None, project: None, fit };
            Some(place.line(Sort::Passage, &hit.snippet, hit.line, None, PASSAGE).with_fit(fit))
        };
        Ok(typed.filter_map(entry).collect())
    }

    fn wanted(&self, question: Question, sessions: usize) -> Wanted {
        Wanted {
            question,
            meaning: None,
            project: self.project.clone(),
            directory: self.directory.clone(),
            asking: self.asking.clone(),
            whose: self.whose,
            sessions,
            turns: PASSAGES,
        }
    }

    fn is_hidden(&self, id: &str) -> bool {
        visibility::is_hidden(&self.table, &self.settings, self.project.as_slice(), id)
    }
}

/// A passage, which counts by how well it fits: what fits in none of its words was found by others like them.
fn passage(place: &Place<'_>, hit: &answer::Hit, number: u8, asked: &Intent) -> Entry {
    let fit = asked.fit(&hit.snippet);
    let spoken = matches!(hit.role.as_deref(), Some("user" | "assistant"));
    let worth = if asked.kinds.is_empty() { PASSAGE } else { PASSAGE_BESIDE };
    let worth = worth * (0.3 + 0.7 * fit) / (1.0 + 0.3 * f32::from(number)) * if spoken { 1.0 } else { OF_A_TOOL };
    Entry { fit, answers: spoken, ..place.line(Sort::Passage, &hit.snippet, hit.line, None, worth) }
}

/// Whether a session counts among those in which something is looked for.
fn reads_further(asked: &Intent) -> bool {
    asked.is_general() && !asked.is(Kind::Latest) && !asked.is(Kind::Files)
}
