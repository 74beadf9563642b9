//! `recall`: what is known about a question, in one answer within a token budget.

mod budget;
mod facts;
mod question_filters;
mod sessions;

use baton_views::visibility;
use std::collections::BTreeMap;
use std::sync::Arc;

use baton_ask::query::Question;
use baton_ask::recall;
use baton_ask::recall::{Detail, Entry, Intent, Kind, Later, Quote, RankedSession, Sort, session_entries, still_open};
use baton_conversation::record::{SessionId, Timestamp};
use baton_episode::digest::Pointed;
use baton_events::projection::table::SessionTable;
use baton_events::session::State;
use baton_protocol::{Failure, RecallParams, answer, code};
use baton_redaction::redact;

use self::sessions::{RelevantSessions, Session};
use super::search::{Effort, QuestionReader, Scope, SearchRequest, find};
use super::vault::{RecallRecorder, Recalled};
use super::{QueryError, internal, zone_day};
use crate::client::{ClientRef, failure};
use crate::{answers, resolve};
use baton_config::settings::Settings;
use baton_memory::Searcher;
use baton_memory::vectors::Meaning;
use baton_tracking::enricher::Enricher;
use baton_views::conversation::Conversations;

/// Most sessions that one answer reads and digests.
const MOST_SESSIONS: u32 = 20;
/// Factor on the number of sessions for questions about something that most sessions lack, such as failures.
const FURTHER: usize = 4;
/// Least and most tokens of an answer.
const BUDGET: std::ops::RangeInclusive<u64> = 200..=20_000;
/// Passages per session, and most characters of one.
const PASSAGES: usize = 3;
const PASSAGE_CHARS: usize = 420;
/// This many of the best sessions are quoted.
const QUOTED: usize = 2;
/// Most names of a question that are looked up, and the number of first letters by which one is found.
const MOST_NAMES: usize = 8;
const NAME_STEM: usize = 5;
/// Capitals within a sentence mark names if at most one word of so many has one, unlike in German.
const FEW_CAPITALS: usize = 6;
/// Most sessions named instead.
const NEAREST: usize = 4;
/// Worth of a passage in an answer without other entries, and beside others.
const PASSAGE: f32 = 2.0;
const PASSAGE_BESIDE: f32 = 1.2;
/// The same of a passage that the whole conversation was searched for.
const QUOTE: f32 = 2.4;
/// Factor on the worth of a passage from a tool.
const OF_A_TOOL: f32 = 0.6;

/// Most characters of a subject that a note repeats.
const SUBJECT_CHARS: usize = 120;

pub(crate) async fn recall(
    asked: RecallParams,
    questions: QuestionReader<'_>,
    conversations: &Arc<Conversations>,
    enricher: &Arc<Enricher>,
    recalls: RecallRecorder<'_>,
    client: &ClientRef,
) -> Result<answer::Recall, QueryError> {
    if asked.query.trim().is_empty() {
        return Err(failure(code::INVALID_PARAMS, "the question is empty; say what you want to know").into());
    }
    let project = asked.project.as_deref();
    let prepared = questions.prepare(client, &asked.query, project, &asked.caller, Effort::waiting(asked.wait)).await?;
    let (table, settings) = questions.memory.catalog().including_others();
    let recall = Recall {
        project: prepared.project,
        question: prepared.question,
        meaning: prepared.meaning,
        now: prepared.now,
        directory: asked.caller.directory.clone(),
        asking: prepared.asking,
        scope: Scope::Others,
        sessions: asked.limit.clamp(1, MOST_SESSIONS) as usize,
        budget: u64::from(asked.budget_tokens).clamp(*BUDGET.start(), *BUDGET.end()),
        freshness: answer::BriefFreshness::from(&prepared.freshness),
        conversations: conversations.clone(),
        enricher: enricher.clone(),
        table,
        settings,
        searcher: prepared.searcher,
        client: client.clone(),
    };
    let asking_last = recall.has_indexed_own_parts();
    let recall = Recall { freshness: answer::BriefFreshness { asking_last, ..recall.freshness.clone() }, ..recall };
    let looked = baton_base::task::spawn_blocking(move || recall.answer());
    let answer = looked.await.map_err(|error| internal("the recall broke", error))??;
    let sessions = answer.answer.iter().map(|entry| entry.session_id.clone()).collect();
    recalls.record(&asked.caller, Recalled::Words { words: asked.query, sessions });
    Ok(answer)
}

/// State of one question.
#[derive(Clone)]
struct Recall {
    project: Option<String>,
    question: Question,
    /// Vector of the question, if available.
    meaning: Option<Meaning>,
    now: Timestamp,
    directory: Option<String>,
    asking: Option<SessionId>,
    scope: Scope,
    sessions: usize,
    budget: u64,
    freshness: answer::BriefFreshness,
    conversations: Arc<Conversations>,
    enricher: Arc<Enricher>,
    table: SessionTable,
    settings: Arc<Settings>,
    searcher: Searcher,
    client: ClientRef,
}

/// The result of one question.
struct Answer {
    entries: Vec<Entry>,
    /// Requested kinds with no known entry.
    unknown: Vec<Kind>,
    notes: Vec<String>,
    /// The nearest sessions, if the matches are too weak to claim an answer.
    nearest: Vec<answer::NearSession>,
}

impl Recall {
    fn answer(self) -> Result<answer::Recall, QueryError> {
        let (recall, asked, narrowed) = self.clone().narrow();
        let mut found = recall.answer_from_sessions(&asked)?;
        let is_unanswered = found.entries.is_empty() || asked.is_general() && !found.unknown.is_empty();
        let mut answering = (recall, asked);
        if narrowed.by_a_word && is_unanswered {
            // What was taken for a project's name may have been an ordinary word.
            let (everywhere, asked) = self.without_project();
            let elsewhere = everywhere.answer_from_sessions(&asked)?;
            if elsewhere.unknown.is_empty() && !elsewhere.entries.is_empty() {
                let note = "nothing of it is known of the project that the question names; this is of all of them";
                found = Answer { notes: [vec![note.to_owned()], elsewhere.notes].concat(), ..elsewhere };
                answering = (everywhere, asked);
            } else {
                found.notes.extend(narrowed.note);
            }
        } else {
            found.notes.extend(narrowed.note);
        }
        let (recall, asked) = answering;
        if let Some(note) = recall.unknown_place_note(&asked, &found) {
            // Without entries the notes are dropped: "nothing is open" would mislead.
            if found.entries.is_empty() {
                found.notes.clear();
            }
            found.notes.insert(0, note);
        }
        found.notes.splice(0..0, asked.span.map(|span| question_filters::time_note(span, recall.question.zone)));
        if recall.client.is_closed() {
            return Err(QueryError::ClientGone);
        }
        Ok(recall.within_budget(&asked, found))
    }

    /// Selects what answers the question. What was indexed earlier of the asking session ranks below everything else:
    /// after a compaction the agent no longer knows it.
    fn answer_from_sessions(&self, asked: &Intent) -> Result<Answer, QueryError> {
        let mut sessions = self.sessions(asked)?;
        if self.may_abstain(asked, &sessions) {
            let unknown = self.unknown_name(asked, &sessions);
            if unknown.is_some() || !sessions.is_answered {
                return Ok(self.abstention(asked, unknown, sessions));
            }
        }
        let mut notes = std::mem::take(&mut sessions.notes);
        let mut selection = self.select(asked, sessions)?;
        if self.has_indexed_own_parts() {
            let own = Self { scope: Scope::Own, ..self.clone() };
            recall::append_below(&mut selection, own.select(asked, own.sessions(asked)?)?);
        }
        let recall::Selection { entries, unknown, unsaid } = selection;
        notes.extend(self.what_is_unknown(&entries, &unknown));
        if unknown.is_empty() && !unsaid.is_empty() && !self.question.has_secret {
            let what =
                if asked.is(Kind::Decisions) { "no decision about it is known" } else { "nothing of it is known" };
            notes.push(format!("{what} that speaks of {}", listed(unsaid.iter().map(String::as_str))));
        }
        Ok(Answer { entries, unknown, notes, nearest: Vec::new() })
    }

    /// Returns true if the matches may be too weak to claim an answer: the question is in plain words, and all is
    /// indexed. With vectors, similar words count as well, and a phrase or filter says exactly what is wanted.
    fn may_abstain(&self, asked: &Intent, found: &RelevantSessions) -> bool {
        let is_plain = self.meaning.is_none() && self.question.phrases.is_empty() && self.question.prefixes.is_empty();
        let is_known = self.freshness.pending == 0 && self.freshness.note.is_none();
        // What the asking session itself said may answer it.
        let has_own = self.has_indexed_own_parts() || self.freshness.left_out_asking;
        let is_sought = is_plain && is_known && !asked.is_general() && !asked.about.is_empty();
        is_sought && !found.sessions.is_empty() && !has_own
    }

    /// Returns the first name in the question, such as `OAuth` or `Redis`, that the sessions found never mention: they
    /// are then not about the question.
    fn unknown_name(&self, asked: &Intent, found: &RelevantSessions) -> Option<&str> {
        let is_project = |word: &str| self.project.as_deref().map(resolve::last_part) == Some(word);
        // A version or an ending may be written differently: `PostgreSQL`, `PRs`.
        let stem = |name: &str| name.chars().take(NAME_STEM).flat_map(char::to_lowercase).collect::<String>();
        let names = names(&self.question.words, asked.has_capital_nouns).into_iter();
        let mut names = names.filter(|name| !is_project(name) && asked.is_about(name)).take(MOST_NAMES);
        names.find(|name| !found.sessions.iter().any(|session| session.says(&stem(name))))
    }

    /// The answer that claims nothing and names the nearest sessions. `unknown` is a name that they do not have.
    fn abstention(&self, asked: &Intent, unknown: Option<&str>, found: RelevantSessions) -> Answer {
        let near = |(at, session): (usize, &Session)| {
            let detail = match at {
                0 if unknown.is_none() => Detail::Full,
                0 | 1 if unknown.is_none() => Detail::Some,
                _ => Detail::Brief,
            };
            let said = recall::told_of_nearest(&session.episode, &session.quotes, asked, detail);
            let line = |said: &Pointed| answer::NearLine { text: redact(&said.text).into_owned(), line: said.line };
            answer::NearSession {
                session_id: session.id.to_string(),
                title: redact(&session.episode.title).into_owned(),
                from: answers::author(&self.table, &session.id),
                day: session.row.state.last_conversation_at.map(|at| zone_day(at, self.question.zone)),
                later: session.later.as_ref().map(ToString::to_string),
                line: said.first().map(|said| said.line).or_else(|| session.passages.first().and_then(|hit| hit.line)),
                said: said.iter().map(line).collect(),
            }
        };
        let nearest: Vec<_> = found.sessions.iter().take(NEAREST).enumerate().map(near).collect();
        let told = nearest.iter().flat_map(|near| near.said.iter().map(|said| &said.text).chain([&near.title]));
        let missing = asked.missing(told.map(String::as_str));
        let note = match unknown {
            _ if self.question.has_secret => "nothing is known about it".to_owned(),
            Some(name) => format!("no conversation found speaks of {name}"),
            None if missing.is_empty() => "no single sentence has all of it".to_owned(),
            None => {
                let missing = listed(missing.iter().map(String::as_str));
                format!("no single sentence has all of it, and no line below has: {missing}")
            }
        };
        let notes = [vec![note], found.notes].concat();
        Answer { entries: Vec::new(), unknown: Vec::new(), notes, nearest }
    }

    /// Returns true if something of the asking session was indexed before and may be shown.
    fn has_indexed_own_parts(&self) -> bool {
        let row = self.asking.as_ref().and_then(|id| Some((id, self.table.get(id)?)));
        let is_asked = |state: &State| self.project.as_deref().is_none_or(|project| visibility::is_in(state, project));
        row.is_some_and(|(id, row)| row.state.episode.is_some() && is_asked(&row.state) && !self.is_hidden(id.as_str()))
    }

    /// The answer from the sessions found.
    fn select(&self, asked: &Intent, mut found: RelevantSessions) -> Result<recall::Selection, QueryError> {
        self.enricher.note_hits(found.sessions.iter().map(|session| session.id.clone()));
        let mut entries = std::mem::take(&mut found.notes_told);
        let mut later: BTreeMap<String, Later> = BTreeMap::new();
        for (rank, session) in (1..).zip(&found.sessions) {
            let first = entries.len();
            let state = &session.row.state;
            let project = state.place.as_ref().map(|place| place.project.as_str());
            let lines: Vec<u64> = session.passages.iter().filter_map(|hit| hit.line).collect();
            let ranked = RankedSession {
                session: &session.id,
                found: &lines,
                rank,
                at: state.last_conversation_at,
                project: project.map(resolve::last_part),
                fit: session.session_fit(asked),
            };
            let mut answers = session_entries(&session.episode, &ranked, asked);
            if state.is_subagent() && !asked.kinds.is_empty() {
                // That a session was a subagent's does not show what the person did.
                answers.retain(|entry| entry.sort != Sort::Session);
            }
            entries.append(&mut answers);
            // Only a list of sessions is in order of time; elsewhere it is unknown what came later.
            let after = later.entry(project.unwrap_or_default().to_owned()).or_default();
            entries.append(&mut still_open(&session.episode, &ranked, asked, after));
            if asked.is_general() {
                after.add(&session.episode);
            }
            for (hit, number) in session.passages.iter().zip(0_u8..) {
                entries.push(passage(&ranked, hit, number, asked));
            }
            if rank <= QUOTED {
                entries.extend(
                    (0..).zip(&session.quotes.passages).map(|(number, quote)| quoted(&ranked, quote, number, asked)),
                );
            }
            entries[first..].iter_mut().for_each(|entry| entry.later.clone_from(&session.later));
        }
        let (mut facts, ended) = self.facts(asked)?;
        recall::mark_reversed(&mut entries, &ended);
        if asked.is(Kind::Preferences) && facts.iter().all(|fact| fact.ended.is_some()) {
            entries.append(&mut self.typed_preferences(asked)?);
        }
        entries.append(&mut facts);
        let mut selection = recall::select(asked, entries);
        recall::later_first(&mut selection.entries);
        Ok(selection)
    }

    /// A note on what is unknown. None while sessions are pending, because they may contain it.
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
            (Some(what), true) => Some(format!("{what}{beside}; try other words with `baton search`")),
            (None, true) => Some(format!("nothing was found{beside}; try other words with `baton search`")),
            (None, false) => None,
        }
    }

    /// Typed text that reads like a preference, used if no preference is known as a fact.
    fn typed_preferences(&self, asked: &Intent) -> Result<Vec<Entry>, Failure> {
        let words = ["prefer always never please instead", &asked.subject()].join(" ");
        let question = Question { words, ..self.question.clone() };
        let own = self.table.without_others();
        let hits = find(&self.wanted(question, self.sessions), &own, &self.settings, &self.searcher)?.hits;
        let typed = hits.into_iter().filter(|hit| hit.role.as_deref() == Some("user"));
        let entry = |hit: answer::Hit| {
            let session = SessionId::new(&hit.session_id)?;
            let fit = asked.fit_of(&hit.snippet);
            let ranked =
                RankedSession { session: &session, rank: hit.rank as usize, at: None, project: None, fit, found: &[] };
            Some(ranked.line(Sort::Passage, &hit.snippet, hit.line, None, PASSAGE).with_fit(fit))
        };
        Ok(typed.filter_map(entry).collect())
    }

    fn wanted(&self, question: Question, sessions: usize) -> SearchRequest {
        SearchRequest {
            asked: Some(self.question.words.clone()),
            question,
            meaning: None,
            project: self.project.clone(),
            directory: self.directory.clone(),
            asking: self.asking.clone(),
            scope: self.scope,
            sessions,
            turns: PASSAGES,
            synonyms: Vec::new(),
            passage_chars: Some(PASSAGE_CHARS),
            now: self.now,
        }
    }

    /// The sessions that may answer. Questions about work and preferences concern this person alone.
    fn table_for(&self, asked: &Intent) -> SessionTable {
        match asked.is_general() || asked.is(Kind::Preferences) {
            true => self.table.without_others(),
            false => self.table.clone(),
        }
    }

    fn is_hidden(&self, id: &str) -> bool {
        visibility::is_hidden(&self.table, &self.settings, self.project.as_slice(), id)
    }
}

/// Converts a passage, weighted by its fit: one that shares no words was found by similarity.
fn passage(ranked: &RankedSession<'_>, hit: &answer::Hit, number: u8, asked: &Intent) -> Entry {
    let fit = asked.fit_of(&hit.snippet);
    let spoken = is_spoken(hit);
    let worth = passage_worth(asked, fit, number) * if spoken { 1.0 } else { OF_A_TOOL };
    let text = hit.snippet.clone();
    Entry { text, fit, answers: spoken, ..ranked.line(Sort::Passage, "", hit.line, None, worth) }
}

/// Converts a passage that the question was compared with.
fn quoted(ranked: &RankedSession<'_>, quote: &Quote, number: u8, asked: &Intent) -> Entry {
    let fit = asked.fit_of(&quote.text);
    let worth = if asked.kinds.is_empty() { QUOTE } else { PASSAGE_BESIDE };
    let worth = worth * (0.5 + 0.5 * fit) / (1.0 + 0.1 * f32::from(number));
    let text = quote.text.clone();
    Entry { text, fit, answers: true, ..ranked.line(Sort::Passage, "", Some(quote.line), quote.at, worth) }
}

/// Worth of what was said at the session's passage of that number, from 0.
fn passage_worth(asked: &Intent, fit: f32, number: u8) -> f32 {
    let worth = if asked.kinds.is_empty() { PASSAGE } else { PASSAGE_BESIDE };
    worth * (0.5 + 0.5 * fit) / (1.0 + 0.3 * f32::from(number))
}

/// Words with commas between, as many as have room.
fn listed<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let mut list = String::new();
    for word in words.filter(|word| !word.is_empty()) {
        if list.len() + word.len() > SUBJECT_CHARS {
            list.push_str(" …");
            break;
        }
        list.push_str(if list.is_empty() { "" } else { ", " });
        list.push_str(word);
    }
    list
}

fn is_spoken(hit: &answer::Hit) -> bool {
    matches!(hit.role.as_deref(), Some("user" | "assistant"))
}

/// Returns the words of a question that are names by their capitals: acronyms of three letters or more, ones like `OAuth`,
/// and, where most words are in lower case, ones like `Redis` within a sentence.
fn names(question: &str, has_capital_nouns: bool) -> Vec<&str> {
    let words: Vec<&str> =
        question.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|it| !it.is_empty()).collect();
    let is_shouted = !question.contains(char::is_lowercase);
    let is_capital = |word: &&&str| word.starts_with(char::is_uppercase) && !opens_sentence(question, word);
    let are_rare = !has_capital_nouns && words.iter().filter(is_capital).count() * FEW_CAPITALS <= words.len();
    let is_name = |word: &&str| is_coined(word) || are_rare && is_capitalised(word) && !opens_sentence(question, word);
    words.into_iter().filter(|_| !is_shouted).filter(is_name).collect()
}

/// Returns true if a word of the question is the first one of a sentence: its capital says nothing.
fn opens_sentence(question: &str, word: &str) -> bool {
    let before = &question[..word.as_ptr() as usize - question.as_ptr() as usize];
    let ended = before.trim_end_matches(|c: char| c.is_whitespace() || "\"'“”„«»‘’([*-–—".contains(c));
    let is_apart = ended.len() < before.len() || ended.ends_with(['¿', '¡']);
    ended.is_empty() || is_apart && ended.ends_with(['.', '?', '!', ':', ';', '…', '¿', '¡']) || before.ends_with('\n')
}

/// Returns true for a word that is a name by its capitals. Acronyms of planning name no subject.
fn is_coined(word: &str) -> bool {
    const PLANNING: [&str; 8] = ["ASAP", "ETA", "FAQ", "FYI", "MVP", "POC", "TODO", "WIP"];
    let word = word.strip_suffix('s').filter(|stem| !stem.contains(char::is_lowercase)).unwrap_or(word);
    if PLANNING.contains(&word) {
        return false;
    }
    let capitals = word.chars().filter(|c| c.is_uppercase()).count();
    capitals >= 3
        || capitals >= 1 && word.chars().skip(1).any(char::is_uppercase) && word.chars().any(char::is_lowercase)
}

fn is_capitalised(word: &str) -> bool {
    word.chars().count() > 2 && word.starts_with(char::is_uppercase) && word.chars().skip(1).all(|c| !c.is_uppercase())
}

/// Returns true if more sessions must be read, because most of them lack what is asked for.
fn reads_further(asked: &Intent) -> bool {
    asked.is_general() && !asked.is(Kind::Latest) && !asked.is(Kind::Files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_by_their_capitals() {
        for (question, expected) in [
            ("Why do we store the cache in Redis?", "Redis"),
            ("which OAuth provider do we use", "OAuth"),
            ("Why is the numbat worker slow?", ""),
            ("Warum hat der Arbeiter die Datei im Ordner gesperrt?", ""),
            ("WHY IS IT SLOW", ""),
            ("The hook complained about old code. Why was it not bypassed, and who wanted it so?", ""),
            ("the hook complained: \"Nothing to do\". Is Redis to blame?", "Redis"),
            ("Se quejó el gancho. ¿Quién lo quiso?", ""),
            ("who asked Dr. Numbat for the file node.Reader of the worker", "Reader"),
            ("what is the ETA of the PR", ""),
            ("", ""),
        ] {
            assert_eq!(names(question, false).join(" "), expected, "{question}");
        }
    }
}
