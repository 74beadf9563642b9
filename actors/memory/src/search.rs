//! Search: turns a query into ranked hits.

use std::collections::{BTreeMap, BTreeSet};

use baton_conversation::item::Role;
use baton_conversation::record::{SessionId, Timestamp};
use tantivy::schema::Value;
use tantivy::{DocAddress, Score, TantivyDocument};
use uuid::Uuid;

use super::analyzer::Analyzer;
use super::copied_records::CopiedRecords;
use super::limits::{
    BEST_SESSIONS, BEST_TURNS, CROWDED, MAX_SESSIONS, MAX_TURNS_PER_SESSION, SNIPPET_CACHE_WORDS, SNIPPET_CHARS,
    TURN_PASSES,
};
use super::nearest::{self, Joined, Nearness};
use super::query::{Plan, Query};
use super::required_terms::TurnFilter;
use super::schema::text;
use super::score_weights::Parts;
use super::snapshot::Snapshot;
use super::turn_scores::TurnScores;
use super::turns::{Known, Scored};
use super::{Error, Reason, Searcher, later_first, named_files, reasons, score_weights, session_bm25, snippet, turns};

/// Number of best turns that make up a session's score.
const COUNTED_TURNS: usize = 3;
/// Factor on the score of a favoured session; enough to decide between equals, no more.
const FAVOUR: Score = 1.1;

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchResult {
    /// Sessions in the order of their rank, within each its best turns first.
    pub hits: Vec<Hit>,
    /// What was left unread.
    pub unread: Unread,
    /// Sessions that a later one ranks above because it replaced what they say, each with the later one.
    pub replaced: Vec<(SessionId, SessionId)>,
}

/// What a search left unread to stay within its limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unread {
    /// Passages that may contain a required phrase.
    pub texts: bool,
    /// The commonest words of the query.
    pub words: bool,
}

/// A session or turn that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Rank of the session among the sessions found, from 1; all hits of a session share it.
    pub rank: usize,
    /// The session's score: its three best turns relative to those of the best session (at most 1), plus at most 2 for
    /// how its whole text and its time fit, times 1.1 in a favoured place. Comparable only within one answer.
    pub score: f32,
    /// Whether the hit is a turn or a whole session.
    pub kind: Kind,
    /// Id of the session.
    pub session_id: SessionId,
    /// Uuid of its current episode.
    pub episode_uuid: Uuid,
    /// The session's group.
    pub group_id: String,
    /// The session's project directory, if known.
    pub project: Option<String>,
    /// The session's title; may be empty.
    pub title: String,
    /// The passage that shows why, at most 240 characters on one line; text known only from a model is marked.
    pub snippet: String,
    /// Of a turn: the transcript line where it starts.
    pub line: Option<u64>,
    /// Time of the turn, or of the session's end.
    pub at: Option<Timestamp>,
    /// Of a turn: the speaker's role.
    pub role: Option<Role>,
    /// Why it was found.
    pub matched: BTreeSet<Reason>,
    /// True if part of the passage is known only from a model.
    pub by_model: bool,
}

/// The kind of a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A session found only by its title or episode text; none of its turns is among the best.
    Episode,
    /// A turn.
    Turn,
}

impl Kind {
    /// The name in answers: `episode` or `turn`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Episode => "episode",
            Self::Turn => "turn",
        }
    }
}

/// A session while it is ranked.
struct Candidate {
    id: Box<str>,
    /// The session's own document; looked up only for candidates that can be in the answer.
    document: Option<DocAddress>,
    /// Best first.
    turns: Vec<Scored>,
    /// Sum of the scores of its best turns.
    best: Score,
    /// Similarity of its nearest turn to the query's vector, relative to the nearest of all.
    similarity: Score,
    /// Similarity of each turn that was compared with the query's vector.
    near: BTreeMap<DocAddress, Nearness>,
    /// The parts of its score.
    parts: Parts,
    score: Score,
}

impl Candidate {
    fn new(id: Box<str>, document: Option<DocAddress>, turns: Vec<Scored>) -> Self {
        let best = turns.iter().take(COUNTED_TURNS).map(|turn| turn.score).sum();
        let (similarity, near) = (0.0, BTreeMap::new());
        Self { id, document, turns, best, similarity, near, parts: Parts::default(), score: 0.0 }
    }
}

impl Searcher {
    /// Like [`Self::search_detailed`], without the flag for unread passages.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn search(&self, query: &Query<'_>) -> Result<Vec<Hit>, Error> {
        Ok(self.search_detailed(query)?.hits)
    }

    /// Answers a query. Any text is valid; one without a letter or digit finds nothing.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn search_detailed(&self, query: &Query<'_>) -> Result<SearchResult, Error> {
        let snapshot = self.snapshot();
        let mut plan = Plan::parse(query.text, &snapshot)?;
        plan.zone = query.zone;
        plan.expand(query.prefixes, &snapshot)?;
        plan.add_synonyms(query.synonyms, &snapshot)?;
        let limit = query.sessions.min(MAX_SESSIONS);
        if limit == 0 || (plan.is_empty() && query.meaning.is_none()) {
            return Ok(SearchResult::default());
        }
        let (mut candidates, unread) = find_candidates(&snapshot, &plan, query, limit)?;
        score_sessions(&snapshot, &plan, &mut candidates, limit)?;
        raise_favoured(&snapshot, query.favour, &mut candidates);
        let asking = query.last.map(SessionId::as_str);
        let rank = |candidate: &Candidate| asking == Some(&*candidate.id);
        // What others wrote counts as younger than anything of this home.
        let age = |a: &Candidate, b: &Candidate| (query.elder)(&a.id, &b.id).then_with(|| a.id.cmp(&b.id));
        candidates.sort_by(|a, b| rank(a).cmp(&rank(b)).then(b.score.total_cmp(&a.score)).then_with(|| age(a, b)));
        candidates.truncate(limit);
        raise_named_files(&snapshot, &plan, &mut candidates)?;
        let mut analyzer = Analyzer::with_cache(SNIPPET_CACHE_WORDS);
        let replaced = raise_later(&snapshot, (query, &plan), &mut analyzer, &mut candidates)?;
        let mut hits = Vec::new();
        for (rank, candidate) in (1..).zip(&candidates) {
            let turns = query.turns_per_session.min(MAX_TURNS_PER_SESSION);
            append_hits(&snapshot, &plan, &mut analyzer, rank, candidate, (turns, query.passage_chars), &mut hits)?;
        }
        let ids: Vec<&str> = candidates.iter().map(|candidate| &*candidate.id).collect();
        let with_entity = reasons::sessions_with_named_entity(&snapshot, &plan, &ids)?;
        for hit in &mut hits {
            hit.matched.extend(with_entity.contains(hit.session_id.as_str()).then_some(Reason::Entity));
            // Required phrases were checked in the text itself.
            hit.matched.extend((!query.requirements.phrases.is_empty()).then_some(Reason::Phrase));
        }
        Ok(SearchResult { hits, unread, replaced })
    }

    /// Hits for the given sessions, in the given order, each with the beginning of its episode. Sessions that are not
    /// indexed are left out.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn hits_for(&self, sessions: &[SessionId]) -> Result<Vec<Hit>, Error> {
        let snapshot = self.snapshot();
        let mut analyzer = Analyzer::default();
        let mut hits = Vec::new();
        for id in sessions.iter().take(MAX_SESSIONS) {
            let document = snapshot.session(id.as_str())?;
            let candidate = Candidate::new(id.as_str().into(), document, Vec::new());
            let rank = hits.len() + 1;
            append_hits(&snapshot, &Plan::default(), &mut analyzer, rank, &candidate, (0, SNIPPET_CHARS), &mut hits)?;
        }
        hits.iter_mut().for_each(|hit| hit.matched.clear());
        Ok(hits)
    }
}

/// The sessions of the best turns, each with its turns. If these do not fill the page, turns with lower scores are
/// added, then sessions found only by their episode. Also returns what was left unread.
fn find_candidates(
    snapshot: &Snapshot,
    plan: &Plan,
    query: &Query<'_>,
    limit: usize,
) -> Result<(Vec<Candidate>, Unread), Error> {
    let mut candidates = Vec::new();
    let filter = TurnFilter::new(&query.requirements, snapshot)?;
    let mut known = Known::default();
    let mut copies = CopiedRecords::new(snapshot, query);
    let scores = TurnScores::new(snapshot, plan, &filter)?;
    if !plan.wanted.is_empty() {
        let mut limit_turns = BEST_TURNS;
        for _ in 0..TURN_PASSES {
            let mut best = scores.best(query, &filter, &mut known, limit_turns)?;
            let taken = best.turns.len();
            copies.remove_copies(plan, &mut best.turns)?;
            let left = best.turns.len();
            for (id, turns) in by_session(snapshot, best.turns) {
                candidates.push(Candidate::new(id.clone(), None, turns));
                known.sessions.insert(id);
            }
            if known.sessions.len() >= limit || !best.more {
                break;
            }
            if left < taken / 2 {
                limit_turns *= CROWDED;
            }
        }
    }
    if candidates.len() < limit && !plan.episode.is_empty() {
        // A session all of whose turns are copies has nothing to show.
        known.sessions.append(&mut copies.with_copies);
        for found in turns::best_episodes(snapshot, plan, query, &filter, &mut known)? {
            let segment = snapshot.segments.get(found.address.segment_ord as usize);
            if let Some(id) = segment.and_then(|segment| segment.id_of(found.address.doc_id)) {
                candidates.push(Candidate::new(id.into(), Some(found.address), Vec::new()));
            }
        }
    }
    if query.meaning.is_some() {
        let by_words = candidates.iter().flat_map(|candidate| candidate.turns.iter().copied()).collect();
        if let Some(joined) = nearest::join(snapshot, query, &scores, &mut copies, by_words, COUNTED_TURNS)? {
            add_nearest(&mut candidates, joined);
        }
    }
    Ok((candidates, Unread { texts: known.texts.is_cut, words: scores.is_bounded }))
}

/// Replaces the candidates' turns by those joined with the nearest ones, and adds sessions found only by their vectors.
fn add_nearest(candidates: &mut Vec<Candidate>, mut joined: BTreeMap<Box<str>, Joined>) {
    for candidate in &mut *candidates {
        if let Some(Joined { turns, best, similarity, near }) = joined.remove(&candidate.id) {
            (candidate.turns, candidate.best, candidate.similarity, candidate.near) = (turns, best, similarity, near);
        }
    }
    candidates.extend(joined.into_iter().map(|(id, Joined { turns, best, similarity, near })| {
        let candidate = Candidate::new(id, None, turns);
        Candidate { best, similarity, near, ..candidate }
    }));
}

/// Groups turns by session, best first; turns with equal scores are in transcript order.
fn by_session(snapshot: &Snapshot, turns: Vec<Scored>) -> BTreeMap<Box<str>, Vec<Scored>> {
    let mut sessions: BTreeMap<Box<str>, Vec<Scored>> = BTreeMap::new();
    for turn in turns {
        let segment = snapshot.segments.get(turn.address.segment_ord as usize);
        if let Some(id) = segment.and_then(|segment| segment.id_of(turn.address.doc_id)) {
            sessions.entry(id.into()).or_default().push(turn);
        }
    }
    let ordinal =
        |turn: &Scored| snapshot.segments.get(turn.address.segment_ord as usize)?.ordinal.first(turn.address.doc_id);
    for turns in sessions.values_mut() {
        turns.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| ordinal(a).cmp(&ordinal(b))));
    }
    sessions
}

/// Keeps the best sessions by their turns, and computes the whole score of each.
fn score_sessions(
    snapshot: &Snapshot,
    plan: &Plan,
    candidates: &mut Vec<Candidate>,
    limit: usize,
) -> Result<(), Error> {
    let best = match candidates.iter().any(|candidate| candidate.similarity > 0.0) {
        true => candidates.iter().map(|candidate| candidate.best).fold(0.0, Score::max),
        // Undivided: division could make different scores equal.
        false => 1.0,
    };
    let lead = |candidate: &Candidate| score_weights::turn_score(candidate.best, best, candidate.similarity);
    candidates.sort_by(|a, b| lead(b).total_cmp(&lead(a)).then_with(|| a.id.cmp(&b.id)));
    candidates.truncate(limit.max(BEST_SESSIONS));
    for candidate in &mut *candidates {
        if candidate.document.is_none() {
            candidate.document = snapshot.session(&candidate.id)?;
        }
    }
    candidates.retain(|candidate| candidate.document.is_some());
    let mut turns: Vec<Score> = candidates.iter().map(|candidate| candidate.best).collect();
    score_weights::divide_by_best(&mut turns);
    let documents: Vec<DocAddress> = candidates.iter().filter_map(|candidate| candidate.document).collect();
    let whole = session_bm25::parts(snapshot, plan, &documents)?;
    for ((candidate, turns), whole) in candidates.iter_mut().zip(turns).zip(whole) {
        candidate.parts = Parts { turns, similarity: candidate.similarity, ..whole };
        candidate.score = candidate.parts.sum();
    }
    Ok(())
}

/// Moves turns about files that the query names to the front of their sessions.
fn raise_named_files(snapshot: &Snapshot, plan: &Plan, candidates: &mut [Candidate]) -> Result<(), Error> {
    if plan.files.is_empty() {
        return Ok(());
    }
    let mut turns: Vec<&mut Scored> = candidates.iter_mut().flat_map(|candidate| &mut candidate.turns).collect();
    named_files::raise(snapshot, plan, &mut turns)?;
    for candidate in candidates {
        candidate.turns.sort_by(|a, b| b.score.total_cmp(&a.score));
    }
    Ok(())
}

/// Multiplies the scores of sessions in the favoured place by [`FAVOUR`].
fn raise_favoured(snapshot: &Snapshot, place: Option<&str>, candidates: &mut [Candidate]) {
    let Some(favoured) = place else { return };
    for candidate in candidates {
        let head = candidate.document.and_then(|address| snapshot.head_at(address));
        if head.is_some_and(|head| head.place.is_in(favoured)) {
            candidate.score *= FAVOUR;
        }
    }
}

/// Moves a later session above the one whose choice it replaces, and returns such pairs. The asking session stays last.
fn raise_later(
    snapshot: &Snapshot,
    (query, plan): (&Query<'_>, &Plan),
    analyzer: &mut Analyzer,
    candidates: &mut Vec<Candidate>,
) -> Result<Vec<(SessionId, SessionId)>, Error> {
    let turns = |candidate: &Candidate| candidate.turns.iter().map(|turn| turn.address).collect();
    let session = |candidate: &Candidate| {
        let document = candidate.document?;
        Some(later_first::Session { document, turns: turns(candidate), score: candidate.score })
    };
    let is_asking = |candidate: &&Candidate| query.last.is_some_and(|last| last.as_str() == &*candidate.id);
    let sessions: Vec<_> = candidates.iter().take_while(|found| !is_asking(found)).map_while(session).collect();
    let (order, replaced) = later_first::order(snapshot, (query.question, plan), analyzer, &sessions)?;
    let id = |at: usize| SessionId::new(&candidates.get(at)?.id);
    let replaced = replaced.into_iter().filter_map(|(earlier, later)| id(earlier).zip(id(later))).collect();
    let mut taken: Vec<_> = std::mem::take(candidates).into_iter().map(Some).collect();
    candidates.extend(order.into_iter().filter_map(|at| taken.get_mut(at)?.take()));
    candidates.extend(taken.into_iter().flatten());
    Ok(replaced)
}

/// Appends the hits of one session: at most so many turns, with passages of so many characters.
fn append_hits(
    snapshot: &Snapshot,
    plan: &Plan,
    analyzer: &mut Analyzer,
    rank: usize,
    candidate: &Candidate,
    (turns, passage_chars): (usize, usize),
    hits: &mut Vec<Hit>,
) -> Result<(), Error> {
    let fields = &snapshot.fields;
    let Some(address) = candidate.document else { return Ok(()) };
    let document: TantivyDocument = snapshot.searcher.doc(address)?;
    let head = snapshot.head_at(address).ok_or_else(|| Error::Broken("a session has no columns".to_owned()))?;
    let session_id =
        SessionId::new(&candidate.id).ok_or_else(|| Error::Broken("a session has no usable id".to_owned()))?;
    let hit = Hit {
        rank,
        score: candidate.score,
        kind: Kind::Episode,
        session_id,
        episode_uuid: text(&document, fields.uuid).parse().unwrap_or_default(),
        group_id: head.place.group.into(),
        project: head.place.project.map(Into::into),
        title: text(&document, fields.title).to_owned(),
        snippet: String::new(),
        line: None,
        at: snapshot.time_at(address),
        role: None,
        matched: BTreeSet::new(),
        by_model: false,
    };
    let in_title = reasons::is_in_title(&hit.title, plan, analyzer).then_some(Reason::Title);
    if candidate.turns.is_empty() {
        let (snippet, by_model) = snippet::cut_episode(analyzer, text(&document, fields.text), &plan.episode);
        let matched = [Reason::Episode].into_iter().chain(in_title).collect();
        hits.push(Hit { snippet, matched, by_model, ..hit });
        return Ok(());
    }
    for turn in candidate.turns.iter().take(turns) {
        let document: TantivyDocument = snapshot.searcher.doc(turn.address)?;
        let role = parse_role(text(&document, fields.role));
        let said = text(&document, fields.text);
        let mut matched = reasons::turn_reasons(said, role == Some(Role::Tool), plan, analyzer);
        matched.extend(in_title);
        if let Some(near) = candidate.near.get(&turn.address) {
            matched.extend((near.is_close || near.only_by_vector).then_some(Reason::Vector));
            if near.only_by_vector {
                matched.remove(&Reason::Context);
            }
        }
        hits.push(Hit {
            kind: Kind::Turn,
            snippet: snippet::cut(analyzer, said, &plan.wanted, passage_chars),
            line: document.get_first(fields.line).and_then(|value| value.as_u64()),
            at: snapshot.time_at(turn.address),
            role,
            matched,
            ..hit.clone()
        });
    }
    Ok(())
}

fn parse_role(name: &str) -> Option<Role> {
    [Role::User, Role::Assistant, Role::Thinking, Role::Tool, Role::Harness]
        .into_iter()
        .find(|role| role.as_str() == name)
}
