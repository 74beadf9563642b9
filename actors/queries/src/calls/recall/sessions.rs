//! Sessions and memos relevant to a question.

use std::sync::Arc;

use baton_ask::recall::{
    Entry, Intent, Kind, Quotes, change_of_mind, decision_share, is_superseded, memo_entry, states_answer, whole_fit,
};
use baton_conversation::record::SessionId;
use baton_episode::digest::{Episode, Exchange, asks_what_holds};
use baton_events::memo;
use baton_events::projection::table::Row;
use baton_protocol::answer;

use super::{FURTHER, MOST_SESSIONS, Recall, SearchRequest, find, reads_further};
use crate::calls::QueryError;
use crate::calls::quotes::Quoting;
use crate::memo as added;

/// Memos listed for a general question.
const NOTES: usize = 10;
/// From this share of the best score on, a session's fit is not reduced.
const NEAR: f32 = 0.6;
/// This many times the sessions of an answer are compared by their exchanges.
const COMPARED: usize = 3;
/// Weight of the best exchange, the best passage, title and purpose, and the best decision, relative to the score of
/// the search.
const EVIDENCE: f32 = 0.5;
/// A later session on the same files must say at least this share of what the earlier one says, and one that says that it
/// replaced something at least the second.
const REPLACING: f32 = 0.8;
const REPLACING_EXPRESSLY: f32 = 0.6;

/// A session relevant to the question.
pub(super) struct Session {
    pub(super) id: SessionId,
    pub(super) row: Arc<Row>,
    pub(super) episode: Episode,
    pub(super) passages: Vec<answer::Hit>,
    /// What its conversation says about the subject; empty for a general question.
    pub(super) quotes: Quotes,
    /// Its share of the best session's score.
    score: f32,
    /// A later session that says something else about the same.
    pub(super) later: Option<SessionId>,
}

impl Session {
    /// Returns true if its title, a prompt, a conclusion or a passage has a word that begins so, in lower case.
    pub(super) fn says(&self, beginning: &str) -> bool {
        let said = |exchange: &'_ Exchange| -> Vec<String> {
            [&exchange.prompt, &exchange.conclusion].into_iter().flatten().map(|said| said.text.clone()).collect()
        };
        let exchanges = self.episode.exchanges.iter().flat_map(said);
        let passages = self.passages.iter().map(|hit| hit.snippet.clone());
        [self.episode.title.clone()].into_iter().chain(exchanges).chain(passages).any(|text| {
            text.to_lowercase().split(|c: char| !c.is_alphanumeric()).any(|word| word.starts_with(beginning))
        })
    }

    /// The fit of the whole session: of its goal and of the passages found in it.
    pub(super) fn session_fit(&self, asked: &Intent) -> f32 {
        let passages = self.passages.iter().map(|hit| asked.fit_of(&hit.snippet));
        let fit = passages.fold(whole_fit(&self.episode, asked), f32::max);
        if asked.is_general() { fit } else { fit * (self.score / NEAR).min(1.0) }
    }
}

/// The result of the search.
pub(super) struct RelevantSessions {
    /// Best first; for a general question the latest first.
    pub(super) sessions: Vec<Session>,
    /// Memos that fit.
    pub(super) notes_told: Vec<Entry>,
    /// Remarks on the search.
    pub(super) notes: Vec<String>,
    /// True if the best one has enough of the question for an answer to be claimed.
    pub(super) is_answered: bool,
}

impl Recall {
    /// The sessions that fit. Each is read, and digested unless that was done recently.
    pub(super) fn sessions(&self, asked: &Intent) -> Result<RelevantSessions, QueryError> {
        let mut question = self.question.clone();
        // A prefix is no word of the question, but still states its subject.
        let is_listed = asked.is_general() && question.prefixes.is_empty() && question.phrases.is_empty();
        let most = self.sessions * if reads_further(asked) { FURTHER } else { 1 };
        let compared = if asked.is_general() { most } else { self.sessions * COMPARED };
        let (most, compared) = (most.min(MOST_SESSIONS as usize), compared.min(MOST_SESSIONS as usize));
        question.words = match (is_listed, question.phrases.is_empty()) {
            (true, _) => String::new(),
            (false, true) => asked.search.clone(),
            (false, false) => question.words,
        };
        let wanted = self.wanted(question, if is_listed { most + NOTES } else { compared });
        let wanted = SearchRequest { meaning: self.meaning.clone(), synonyms: asked.synonyms(), ..wanted };
        let table = self.table_for(asked);
        let hits = find(&wanted, &table, &self.settings, &self.searcher)?;
        let mut found =
            RelevantSessions { sessions: Vec::new(), notes_told: Vec::new(), notes: hits.notes, is_answered: true };
        let best = hits.hits.iter().map(|hit| hit.score).fold(0.0, f32::max);
        let mut quoting = Quoting::new(&self.conversations, &self.settings.filtering, asked);
        for hit in hits.hits {
            if self.client.is_closed() {
                return Err(QueryError::ClientGone);
            }
            if let Some(uuid) = memo::uuid_of_key(&hit.session_id) {
                found.notes_told.extend(self.note(uuid, &hit, asked, is_listed));
                continue;
            }
            if let Some(known) = found.sessions.iter_mut().find(|session| session.id.as_str() == hit.session_id) {
                known.passages.extend(Some(hit).filter(|hit| hit.kind == "turn"));
                continue;
            }
            if found.sessions.len() == compared {
                continue;
            }
            let Some((id, row)) =
                SessionId::new(&hit.session_id).and_then(|id| Some((id.clone(), table.get(&id)?.clone())))
            else {
                continue;
            };
            if asked.is(Kind::Latest) && row.state.is_subagent() {
                continue;
            }
            let Some(current) = row.state.episode.clone() else { continue };
            // An unreadable one is reported where episodes are listed.
            let digest = |current| self.conversations.digest(&id, current, &self.settings.filtering).ok();
            let read = match asked.is_general() {
                true => digest(current).map(|(_, episode)| (episode, Quotes::default())),
                false => quoting.read_with_digest(&id, current),
            };
            let Some((episode, quotes)) = read else { continue };
            let score = if best > 0.0 { hit.score / best } else { 1.0 };
            let passages = Some(hit).filter(|hit| hit.kind == "turn").into_iter().collect();
            found.sessions.push(Session { id, row, episode, passages, quotes, score, later: None });
        }
        for Session { episode, passages, quotes, .. } in &mut found.sessions {
            for quote in &mut quotes.passages {
                episode.cut_overruled(quote.line, &mut quote.text);
            }
            let says = |text: &str| text.chars().any(char::is_alphanumeric);
            quotes.passages.retain(|it| says(&it.text) && !is_superseded(episode, it.line, &it.text));
            for hit in passages.iter_mut() {
                episode.cut_overruled(hit.line.unwrap_or_default(), &mut hit.snippet);
            }
            let line = |hit: &answer::Hit| hit.line.unwrap_or_default();
            passages.retain(|hit| says(&hit.snippet) && !is_superseded(episode, line(hit), &hit.snippet));
        }
        if !asked.is_general() {
            found.is_answered = by_evidence(&mut found.sessions, asked, |sessions, own| {
                let later = later_ones(sessions, own, asked, asks_what_holds(&self.question.words));
                // A later session that replaced the work need not know its open ends.
                let replaced = hits.replaced.into_iter().filter(|_| !asked.is(Kind::Open));
                let expressly = replaced.map(|pair| (pair, REPLACING_EXPRESSLY));
                let taken_back = taken_back(sessions, asked).into_iter().map(|pair| (pair, REPLACING_EXPRESSLY));
                expressly.chain(taken_back).chain(later.into_iter().map(|pair| (pair, REPLACING))).collect()
            });
        }
        found.sessions.truncate(most);
        if asked.is(Kind::Latest) && !asked.is_general() {
            let fits = |session: &Session| session.session_fit(asked);
            let best = found.sessions.iter().map(fits).fold(0.0, f32::max);
            found.sessions.retain(|session| fits(session) >= best / 2.0);
            found.sessions.sort_by_key(|session| std::cmp::Reverse(session.row.state.last_activity()));
        }
        Ok(found)
    }

    /// Converts a memo: the fitting passage of a found one, all of a listed one.
    fn note(&self, uuid: uuid::Uuid, hit: &answer::Hit, asked: &Intent, is_listed: bool) -> Option<Entry> {
        let (_, memo) = self.table.memo(uuid)?;
        let at = Some(memo.time());
        if !is_listed {
            return Some(memo_entry(uuid, &hit.title, &hit.snippet, at, asked));
        }
        let words = added::words(self.conversations.chunks(), uuid, memo).ok()?;
        Some(memo_entry(uuid, &words.name, &words.body, at, asked))
    }
}

/// Orders the sessions by their score and by what their conversations have of the question. `later` returns sessions, each
/// with a later one that may have replaced it: that one ranks above it if it says at least a share of what it says. Returns
/// true if the first has enough of the question for an answer to be claimed.
fn by_evidence(
    sessions: &mut Vec<Session>,
    asked: &Intent,
    later: impl FnOnce(&[Session], &[f32]) -> Vec<((SessionId, SessionId), f32)>,
) -> bool {
    let most = |of: fn(&Quotes) -> f32| {
        let said = sessions.iter().map(|session| of(&session.quotes));
        said.fold(f32::MIN_POSITIVE, f32::max)
    };
    let (exchange, passage) = (most(|said| said.relevance), most(Quotes::best));
    let own = |session: &Session| {
        let said = session.quotes.relevance / exchange + session.quotes.best() / passage;
        let told = whole_fit(&session.episode, asked) + decision_share(&session.episode, asked);
        let mentioned = asked.mentioned.is_some_and(|span| span.overlaps(session.episode.span));
        session.score + EVIDENCE * (said + told + f32::from(u8::from(mentioned)))
    };
    let mut own: Vec<f32> = sessions.iter().map(own).collect();
    let mut replaced: Vec<(usize, usize)> = Vec::new();
    let at = |id: &SessionId| sessions.iter().position(|session| session.id == *id);
    for ((earlier, later), share) in later(sessions, &own) {
        let pair = at(&earlier).zip(at(&later));
        replaced.extend(pair.filter(|(earlier, later)| own[*later] >= own[*earlier] * share));
    }
    // The last one of several ranks above all others.
    let span = |at: usize| sessions[at].episode.span;
    replaced.sort_by_key(|(earlier, later)| (span(*later), span(*earlier)));
    for (earlier, later) in &replaced {
        own[*later] = own[*later].max(own[*earlier] * (1.0 + f32::EPSILON));
    }
    for (earlier, later) in replaced {
        sessions[earlier].later = Some(sessions[later].id.clone());
    }
    let mut ranked: Vec<(f32, Session)> = own.into_iter().zip(sessions.drain(..)).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    sessions.extend(ranked.into_iter().map(|(_, session)| session));
    fold_subagents(sessions);
    sessions.first().is_none_or(|first| states_answer(&first.episode, &first.quotes, asked))
}

/// Returns the best sessions, each with later ones that worked on the same files, if the question asks what holds. Not
/// for questions of a kind: the reason for a choice is in the session that made it.
fn later_ones(sessions: &[Session], own: &[f32], asked: &Intent, asks_what_holds: bool) -> Vec<(SessionId, SessionId)> {
    let best = own.iter().copied().fold(0.0, f32::max);
    let near = || sessions.iter().zip(own).filter(|(_, own)| **own >= best * REPLACING).map(|(session, _)| session);
    let is_asked = asks_what_holds && asked.kinds.is_empty();
    let pairs = near().flat_map(|earlier| near().map(move |later| (earlier, later))).filter(|_| is_asked);
    let is_of_its_files = |(earlier, later): &(&Session, &Session)| {
        let changed = |path: &str| earlier.episode.files_modified.iter().any(|file| file.path == path);
        let files = &later.episode.files_modified;
        !files.is_empty() && 2 * files.iter().filter(|file| changed(&file.path)).count() >= files.len()
    };
    let found = pairs.filter(follows).filter(is_of_its_files);
    found.map(|(earlier, later)| (earlier.id.clone(), later.id.clone())).collect()
}

/// Returns sessions, each with a later one in which a person changed their mind about the subject.
fn taken_back(sessions: &[Session], asked: &Intent) -> Vec<(SessionId, SessionId)> {
    let is_told = |session: &&Session| !asked.is(Kind::Open) && change_of_mind(&session.episode, asked).is_some();
    let pairs = sessions.iter().filter(is_told).flat_map(|later| sessions.iter().map(move |earlier| (earlier, later)));
    pairs.filter(follows).map(|(earlier, later)| (earlier.id.clone(), later.id.clone())).collect()
}

/// Returns true if the second session began after the first one of the same project had ended.
fn follows((earlier, later): &(&Session, &Session)) -> bool {
    let group = |session: &Session| session.row.state.place.as_ref().map(|place| place.project.clone());
    let spans = earlier.episode.span.zip(later.episode.span);
    spans.is_some_and(|((_, ended), (began, _))| began >= ended) && group(earlier) == group(later)
}

/// Moves a subagent's session after its parent, if that was found too, because the parent knows the outcome. Of several
/// subagents of one parent the best is kept.
fn fold_subagents(sessions: &mut Vec<Session>) {
    let parent = |session: &Session| session.row.state.parent().cloned();
    let mut folded: Vec<Session> = Vec::with_capacity(sessions.len());
    while !sessions.is_empty() {
        let best = sessions.remove(0);
        if let Some(id) = parent(&best) {
            if folded.iter().any(|known| parent(known).as_ref() == Some(&id)) {
                continue;
            }
            if let Some(at) = sessions.iter().position(|session| session.id == id) {
                folded.push(sessions.remove(at));
            }
        }
        folded.push(best);
    }
    *sessions = folded;
}
