//! Search: a question becomes ranked hits.

use std::collections::{BTreeMap, BTreeSet};

use baton_conversation::item::Role;
use baton_conversation::record::{SessionId, Timestamp};
use tantivy::schema::{Field, Value};
use tantivy::{DocAddress, Score, TantivyDocument};
use uuid::Uuid;

use super::analyzer::Analyzer;
use super::copies::Copies;
use super::limits::{
    BEST_SESSIONS, BEST_TURNS, CROWDED, MAX_SESSIONS, MAX_TURNS_PER_SESSION, SNIPPET_CACHE_WORDS, TURN_PASSES,
};
use super::nearest::{self, Joined, Nearness};
use super::query::{Plan, Query};
use super::required_terms::Demand;
use super::schema::text;
use super::score_weights::Parts;
use super::snapshot::Snapshot;
use super::turns::{Known, Scored};
use super::{Error, Reason, Searcher, authors, matched, score_weights, session_bm25, snippet, turns};

/// How many turns make a session's score.
const COUNTED_TURNS: usize = 3;
/// What the score of a favoured session is multiplied with: enough to decide between equals, no more.
const FAVOUR: Score = 1.1;

/// What a question found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Searched {
    /// Sessions in the order of their rank, within each its best turns first.
    pub hits: Vec<Hit>,
    /// Whether there are passages that were not read and may have what is demanded word for word.
    pub is_cut: bool,
}

/// One thing that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Rank of the session among the sessions found, from 1; all hits of a session have the same.
    pub rank: usize,
    /// The session's score: its three best turns against those of the best session (at most 1), plus at most 2
    /// for how its whole text and its time fit, a little more in a favoured place. Comparable within one answer only.
    pub score: f32,
    /// What was found.
    pub kind: Kind,
    /// The session.
    pub session_id: SessionId,
    /// Its current episode.
    pub episode_uuid: Uuid,
    /// The group it belongs to.
    pub group_id: String,
    /// Its project.
    pub project: Option<String>,
    /// Its title.
    pub title: String,
    /// The passage that shows why, at most 240 characters on one line; what only a model says in it is marked.
    pub snippet: String,
    /// Of a turn: the transcript line it starts at.
    pub line: Option<u64>,
    /// When the turn was, or when the session ended.
    pub at: Option<Timestamp>,
    /// Of a turn: who speaks.
    pub role: Option<Role>,
    /// Why it is here.
    pub matched: BTreeSet<Reason>,
    /// Whether any of the passage is what only a model says of the session.
    pub by_model: bool,
}

/// What a hit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A session found by its title or episode text only: no turn of it is among the best.
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

/// A session on its way to its rank.
struct Candidate {
    id: Box<str>,
    /// The session's own document; looked up only for those that can be in the answer.
    document: Option<DocAddress>,
    /// Best first.
    turns: Vec<Scored>,
    /// What its best turns come to.
    best: Score,
    /// How near its nearest turn is to what is meant, against the nearest of all.
    meant: Score,
    /// Of turns that were compared with what is meant.
    near: BTreeMap<DocAddress, Nearness>,
    /// What speaks for it, apart.
    parts: Parts,
    score: Score,
}

impl Candidate {
    fn new(id: Box<str>, document: Option<DocAddress>, turns: Vec<Scored>) -> Self {
        let best = turns.iter().take(COUNTED_TURNS).map(|turn| turn.score).sum();
        let (meant, near) = (0.0, BTreeMap::new());
        Self { id, document, turns, best, meant, near, parts: Parts::default(), score: 0.0 }
    }
}

impl Searcher {
    /// The hits alone of [`Self::searched`].
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn search(&self, query: &Query<'_>) -> Result<Vec<Hit>, Error> {
        Ok(self.searched(query)?.hits)
    }

    /// Answers a question. Any text is one; one without a letter or digit finds nothing.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn searched(&self, query: &Query<'_>) -> Result<Searched, Error> {
        let snapshot = self.snapshot();
        let mut plan = Plan::read(query.text, &snapshot)?;
        plan.expand(query.prefixes, &snapshot)?;
        let limit = query.sessions.min(MAX_SESSIONS);
        if limit == 0 || (plan.is_empty() && query.meaning.is_none()) {
            return Ok(Searched::default());
        }
        let (mut candidates, is_cut) = candidates(&snapshot, &plan, query, limit)?;
        score(&snapshot, &plan, &mut candidates, limit)?;
        favour(&snapshot, query.favour, &mut candidates);
        let asking = query.last.map(SessionId::as_str);
        let rank = |candidate: &Candidate| asking == Some(&*candidate.id);
        candidates
            .sort_by(|a, b| rank(a).cmp(&rank(b)).then(b.score.total_cmp(&a.score)).then_with(|| a.id.cmp(&b.id)));
        candidates.truncate(limit);
        name(&snapshot, &plan, &mut candidates)?;
        let mut analyzer = Analyzer::with_cache(SNIPPET_CACHE_WORDS);
        let mut hits = Vec::new();
        for (rank, candidate) in (1..).zip(&candidates) {
            let turns = query.turns_per_session.min(MAX_TURNS_PER_SESSION);
            show(&snapshot, &plan, &mut analyzer, rank, candidate, turns, &mut hits)?;
        }
        let ids: Vec<&str> = candidates.iter().map(|candidate| &*candidate.id).collect();
        let with_entity = matched::with_entity(&snapshot, &plan, &ids)?;
        for hit in &mut hits {
            hit.matched.extend(with_entity.contains(hit.session_id.as_str()).then_some(Reason::Entity));
            // What was demanded was looked for in the text itself.
            hit.matched.extend((!query.demands.phrases.is_empty()).then_some(Reason::Phrase));
        }
        Ok(Searched { hits, is_cut })
    }

    /// These sessions in their order, each as a hit with the beginning of its episode. Sessions that the memory does not
    /// hold are left out.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn listed(&self, sessions: &[SessionId]) -> Result<Vec<Hit>, Error> {
        let snapshot = self.snapshot();
        let mut analyzer = Analyzer::default();
        let mut hits = Vec::new();
        for id in sessions.iter().take(MAX_SESSIONS) {
            let document = snapshot.session(id.as_str())?;
            let candidate = Candidate::new(id.as_str().into(), document, Vec::new());
            let rank = hits.len() + 1;
            show(&snapshot, &Plan::default(), &mut analyzer, rank, &candidate, 0, &mut hits)?;
        }
        hits.iter_mut().for_each(|hit| hit.matched.clear());
        Ok(hits)
    }
}

/// The sessions of the best turns, each with its turns; when they do not fill the page, also those below them, and
/// those found by their episode alone. And whether there may be others, because not everything was read.
fn candidates(
    snapshot: &Snapshot,
    plan: &Plan,
    query: &Query<'_>,
    limit: usize,
) -> Result<(Vec<Candidate>, bool), Error> {
    let mut candidates = Vec::new();
    let demand = Demand::read(&query.demands, snapshot)?;
    let mut known = Known::default();
    let mut copies = Copies::new(snapshot, query);
    if !plan.wanted.is_empty() {
        let mut limit_turns = BEST_TURNS;
        for _ in 0..TURN_PASSES {
            let mut best = turns::best(snapshot, plan, query, &demand, &mut known, limit_turns)?;
            let taken = best.turns.len();
            copies.leave_out(plan, &mut best.turns)?;
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
        // Of a session all of whose turns are copies nothing is to be shown.
        known.sessions.append(&mut copies.left_out);
        for found in turns::best_episodes(snapshot, plan, query, &demand, &mut known)? {
            let segment = snapshot.segments.get(found.address.segment_ord as usize);
            if let Some(id) = segment.and_then(|segment| segment.id_of(found.address.doc_id)) {
                candidates.push(Candidate::new(id.into(), Some(found.address), Vec::new()));
            }
        }
    }
    if query.meaning.is_some() {
        let by_words = candidates.iter().flat_map(|candidate| candidate.turns.iter().copied()).collect();
        if let Some(joined) = nearest::join(snapshot, plan, query, &mut copies, by_words, COUNTED_TURNS)? {
            add_meant(&mut candidates, joined);
        }
    }
    Ok((candidates, known.texts.is_cut))
}

/// Gives the sessions the turns that are near what is meant, and adds those that have nothing else.
fn add_meant(candidates: &mut Vec<Candidate>, mut joined: BTreeMap<Box<str>, Joined>) {
    for candidate in &mut *candidates {
        if let Some(Joined { turns, best, meant, near }) = joined.remove(&candidate.id) {
            (candidate.turns, candidate.best, candidate.meant, candidate.near) = (turns, best, meant, near);
        }
    }
    candidates.extend(joined.into_iter().map(|(id, Joined { turns, best, meant, near })| {
        let candidate = Candidate::new(id, None, turns);
        Candidate { best, meant, near, ..candidate }
    }));
}

/// Turns grouped by session, best first within each; equal scores in the order of the transcript.
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

/// Keeps the best sessions by their turns, and scores them by all that speaks for each.
fn score(snapshot: &Snapshot, plan: &Plan, candidates: &mut Vec<Candidate>, limit: usize) -> Result<(), Error> {
    let best = match candidates.iter().any(|candidate| candidate.meant > 0.0) {
        true => candidates.iter().map(|candidate| candidate.best).fold(0.0, Score::max),
        // As it is: divided, two that differ might be equal.
        false => 1.0,
    };
    let lead = |candidate: &Candidate| score_weights::turn(candidate.best, best, candidate.meant);
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
        candidate.parts = Parts { turns, meant: candidate.meant, ..whole };
        candidate.score = candidate.parts.sum();
    }
    Ok(())
}

/// Brings the turns of authors whom the query names to the front of their sessions.
fn name(snapshot: &Snapshot, plan: &Plan, candidates: &mut [Candidate]) -> Result<(), Error> {
    if plan.authors.is_empty() {
        return Ok(());
    }
    let mut turns: Vec<&mut Scored> = candidates.iter_mut().flat_map(|candidate| &mut candidate.turns).collect();
    authors::raise(snapshot, plan, &mut turns)?;
    for candidate in candidates {
        candidate.turns.sort_by(|a, b| b.score.total_cmp(&a.score));
    }
    Ok(())
}

/// Raises the sessions of a place a little.
fn favour(snapshot: &Snapshot, place: Option<&str>, candidates: &mut [Candidate]) {
    let Some(favoured) = place else { return };
    for candidate in candidates {
        let head = candidate.document.and_then(|address| snapshot.head_at(address));
        if head.is_some_and(|head| head.place.is_in(favoured)) {
            candidate.score *= FAVOUR;
        }
    }
}

/// The hits of one session.
fn show(
    snapshot: &Snapshot,
    plan: &Plan,
    analyzer: &mut Analyzer,
    rank: usize,
    candidate: &Candidate,
    turns: usize,
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
        at: moment(&document, fields.at),
        role: None,
        matched: BTreeSet::new(),
        by_model: false,
    };
    let in_title = matched::is_in_title(&hit.title, plan, analyzer).then_some(Reason::Title);
    if candidate.turns.is_empty() {
        let (snippet, by_model) = snippet::cut_episode(analyzer, text(&document, fields.text), &plan.episode);
        let matched = [Reason::Episode].into_iter().chain(in_title).collect();
        hits.push(Hit { snippet, matched, by_model, ..hit });
        return Ok(());
    }
    for turn in candidate.turns.iter().take(turns) {
        let document: TantivyDocument = snapshot.searcher.doc(turn.address)?;
        let role = role(text(&document, fields.role));
        let said = text(&document, fields.text);
        let mut matched = matched::of_turn(said, role == Some(Role::Tool), plan, analyzer);
        matched.extend(in_title);
        if let Some(near) = candidate.near.get(&turn.address) {
            matched.extend((near.is_close || near.is_alone).then_some(Reason::Vector));
            if near.is_alone {
                matched.remove(&Reason::Context);
            }
        }
        hits.push(Hit {
            kind: Kind::Turn,
            snippet: snippet::cut(analyzer, said, &plan.wanted),
            line: document.get_first(fields.line).and_then(|value| value.as_u64()),
            at: moment(&document, fields.at),
            role,
            matched,
            ..hit.clone()
        });
    }
    Ok(())
}

fn moment(document: &TantivyDocument, field: Field) -> Option<Timestamp> {
    document.get_first(field).and_then(|value| value.as_i64()).map(Timestamp)
}

fn role(name: &str) -> Option<Role> {
    [Role::User, Role::Assistant, Role::Thinking, Role::Tool, Role::Harness]
        .into_iter()
        .find(|role| role.as_str() == name)
}
