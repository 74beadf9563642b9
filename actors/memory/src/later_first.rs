//! Of two sessions that answer the same question about what holds, the later one ranks first.
//!
//! Two sessions answer the same question if they score about equally and name the same particular things. If the later
//! one says that such a thing is in use no more, its score may be much lower.
//!
//! # Decisions
//!
//! - Other searches describe the session that is looked for, and keep their order: without this limit, 22 of 90 commit
//!   subjects no longer found their session first.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use baton_episode::digest::{asks_what_holds, replacements};
use tantivy::{DocAddress, Score, TantivyDocument, Term};

use super::Error;
use super::analyzer::{Analyzer, Listener};
use super::query::{Plan, head};
use super::schema::text;
use super::snapshot::Snapshot;

/// Number of best sessions that are compared, and of turns of each.
const COMPARED: usize = 6;
const TURNS: usize = 8;
/// Bytes of a turn that are read.
const TURN_BYTES: usize = 16 * 1024;
/// How near the later session comes.
struct Close {
    /// Its least score, relative to the best one's.
    score: Score,
    /// Its least share of the query's words, relative to the earlier one's.
    share: f32,
}
/// Suffices if both name the same particular things.
const CLOSE: Close = Close { score: 0.7, share: 0.6 };
/// Suffices if the later one says that such a thing is in use no more.
const NEAR: Close = Close { score: 0.4, share: 0.3 };
/// A word in more turns than this, and in more than one of so many, names no particular thing.
const RARE: u64 = 12;
const ONE_IN: u64 = 300;

/// A session that was found.
pub(super) struct Session {
    pub(super) document: DocAddress,
    /// Its best turns.
    pub(super) turns: Vec<DocAddress>,
    pub(super) score: Score,
}

/// What a session's best turns say.
struct Said {
    share: f32,
    /// All their words and names.
    tokens: Tokens,
    /// Those of sentences that say that something was replaced or ended.
    ended: Tokens,
}

/// Distinct stems and names.
#[derive(Default)]
struct Tokens(BTreeSet<String>);

impl Listener for Tokens {
    fn word(&mut self, _plain: &str, stem: &str, _at: Range<usize>) {
        self.0.insert(stem.to_owned());
    }

    fn name(&mut self, token: &str, _at: Range<usize>) {
        self.0.insert(token.to_owned());
    }
}

/// Indexes of sessions in the order in which they are to rank, and of those that were replaced, each with the later one.
pub(super) type Order = (Vec<usize>, Vec<(usize, usize)>);

/// Returns the order of sessions that are sorted by score.
pub(super) fn order(
    snapshot: &Snapshot,
    (question, plan): (&str, &Plan),
    analyzer: &mut Analyzer,
    sessions: &[Session],
) -> Result<Order, Error> {
    let mut order: Vec<usize> = (0..sessions.len()).collect();
    let mut replaced = Vec::new();
    if !asks_what_holds(question) {
        return Ok((order, replaced));
    }
    let compared = &sessions[..sessions.len().min(COMPARED)];
    let said =
        compared.iter().map(|session| said(snapshot, plan, analyzer, session)).collect::<Result<Vec<_>, Error>>()?;
    let mut particulars = Particulars { snapshot, plan, known: BTreeMap::new() };
    let best = compared.first().map_or(0.0, |first| first.score);
    for (later, found) in compared.iter().enumerate().skip(1) {
        for place in 0..later {
            let earlier = order[place];
            let is_within = |limit: &Close| {
                found.score >= best * limit.score && said[later].share >= said[earlier].share * limit.share
            };
            let mut share = |tokens, least| particulars.are_shared(tokens, &said[earlier].tokens, least);
            if is_within(&NEAR)
                && follows(snapshot, &compared[earlier], found)
                && (share(&said[later].ended, 1)? || is_within(&CLOSE) && share(&said[later].tokens, 2)?)
            {
                order.retain(|at| *at != later);
                order.insert(place, later);
                replaced.push((earlier, later));
                break;
            }
        }
    }
    Ok((order, replaced))
}

/// Returns true if a session of the same group began after the other had ended.
fn follows(snapshot: &Snapshot, earlier: &Session, later: &Session) -> bool {
    let span = |session: &Session| snapshot.span_at(session.document);
    let group = |session: &Session| snapshot.head_at(session.document).map(|head| head.place.group);
    let (Some((_, ended)), Some((began, _))) = (span(earlier), span(later)) else { return false };
    began >= ended && group(earlier) == group(later)
}

/// Tells which words and names stand for particular things: rare ones that the query does not have.
struct Particulars<'a> {
    snapshot: &'a Snapshot,
    plan: &'a Plan,
    /// Those looked up so far.
    known: BTreeMap<String, bool>,
}

impl Particulars<'_> {
    /// Returns true if both have at least so many.
    fn are_shared(&mut self, later: &Tokens, earlier: &Tokens, least: usize) -> Result<bool, Error> {
        let mut shared = 0;
        for token in later.0.intersection(&earlier.0) {
            shared += usize::from(self.is_one(token)?);
            if shared == least {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_one(&mut self, token: &str) -> Result<bool, Error> {
        if let Some(known) = self.known.get(token) {
            return Ok(*known);
        }
        let Snapshot { searcher, fields, turns, .. } = self.snapshot;
        let is_asked = self.plan.wanted.iter().any(|wanted| wanted.token == token);
        let is_rare = || -> Result<bool, Error> {
            Ok(searcher.doc_freq(&Term::from_field_text(fields.body, token))? <= RARE.max(turns / ONE_IN))
        };
        let is_one = !is_asked && is_rare()?;
        self.known.insert(token.to_owned(), is_one);
        Ok(is_one)
    }
}

fn said(snapshot: &Snapshot, plan: &Plan, analyzer: &mut Analyzer, session: &Session) -> Result<Said, Error> {
    let (mut tokens, mut ended) = (Tokens::default(), Tokens::default());
    let turns = session.turns.iter().take(TURNS).map(|turn| (*turn, snapshot.fields.text));
    let mut texts = Vec::new();
    for (address, field) in turns.chain([(session.document, snapshot.fields.title)]) {
        let document: TantivyDocument = snapshot.searcher.doc(address)?;
        texts.push(head(text(&document, field), TURN_BYTES).to_owned());
    }
    for text in &texts {
        analyzer.analyze(text, &mut tokens);
        replacements(text).for_each(|sentence| analyzer.analyze(sentence, &mut ended));
    }
    Ok(Said { share: plan.share(analyzer, texts.iter().map(String::as_str)), tokens, ended })
}
