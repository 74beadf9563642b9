//! Entities and facts in the memory.
//!
//! The index stores mentions and assertions, each with its session and episode. A query groups them: an entity is the
//! group of its mentions, a fact the group of its assertions. So removing a session removes exactly what it alone
//! supported. A [`Searcher`] finds groups by the words of their members.
//!
//! # Decisions
//!
//! - Each mention and assertion belongs to one session and is removed with its episode, so a hidden session
//!   supports nothing. Uuids are computed from stored names. Documents are grouped by the first 64 bits of the
//!   uuid and deleted by session, which has at most one current episode.

mod admission;
mod center;
mod group;
mod lookup;
mod ranking;
mod time;

use baton_conversation::record::{SessionId, Timestamp};
use baton_graph::{Claim, Label, Relation, node_uuid};
use tantivy::TantivyDocument;
use uuid::Uuid;

use self::admission::Admission;
use self::group::Member;
use self::ranking::Kind;
use super::document::Drafter;
use super::limits::{DETAIL_SESSIONS, GROUP_EPISODES, GROUP_SESSIONS, SIFTED_FACTS};
use super::schema::{Fields, kind};
use super::{Entry, Error, Searcher};

pub use self::lookup::{FactsAt, SessionGraph};
pub use self::time::{Sieve, Window};

/// A question for entities or facts.
#[derive(Clone, Copy)]
pub struct GraphQuery<'a> {
    /// Any text. Without a word, everything is listed: the most supported first, then the latest.
    pub text: &'a str,
    /// Returns true for ids of sessions that support nothing.
    pub exclude: &'a dyn Fn(&str) -> bool,
    /// Kinds of entities to return; empty means all.
    pub labels: &'a [Label],
    /// Filter for facts.
    pub sieve: Sieve<'a>,
    /// Entity whose neighbours rank first.
    pub center: Option<Uuid>,
    /// Maximum number of results.
    pub limit: usize,
    /// Number of results to skip.
    pub offset: usize,
}

/// A page of a ranking.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    /// Best first.
    pub found: Vec<T>,
    /// True if more results follow.
    pub more: bool,
}

/// An entity, put together from all its sessions.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Stable: the same entity of a group always has the same uuid.
    pub uuid: Uuid,
    /// Kind.
    pub label: Label,
    /// Name.
    pub name: String,
    /// Description from its latest session.
    pub detail: String,
    /// Group.
    pub group_id: String,
    /// Time at which the first episode that mentions it was recorded.
    pub created_at: Option<Timestamp>,
    /// Time of its first mention.
    pub first_seen: Option<Timestamp>,
    /// End of the latest session that mentions it.
    pub last_seen: Option<Timestamp>,
    /// Number of mentions.
    pub count: u64,
    /// Number of sessions that mention it.
    pub sessions: u64,
    /// The latest of these sessions, at most 10, each with the transcript line of the first mention.
    pub latest: Vec<(SessionId, u64)>,
    /// Its most informative fact, as a sentence; the latest of several.
    pub telling: Option<String>,
    /// True if in the latest sessions only model answers say so.
    pub by_model: bool,
}

/// A fact, put together from all its sessions.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// Stable: the same fact of a group always has the same uuid.
    pub uuid: Uuid,
    /// Relation between source and target.
    pub relation: Relation,
    /// Name of the relation, or a name given by the author of the fact.
    pub name: String,
    /// Source entity.
    pub source: Uuid,
    /// Its name.
    pub source_name: String,
    /// Target entity.
    pub target: Uuid,
    /// Its name.
    pub target_name: String,
    /// Value of the target if it can vary; usually empty.
    pub value: String,
    /// The fact as a sentence, from its latest session.
    pub fact: String,
    /// Group.
    pub group_id: String,
    /// Time at which the first supporting episode was recorded.
    pub created_at: Option<Timestamp>,
    /// Start of validity.
    pub valid_at: Option<Timestamp>,
    /// End of validity, set by a later contradicting fact.
    pub invalid_at: Option<Timestamp>,
    /// Time by which both facts were recorded.
    pub expired_at: Option<Timestamp>,
    /// The contradicting fact.
    pub ended_by: Option<Uuid>,
    /// End of the latest supporting session.
    pub reference_time: Option<Timestamp>,
    /// Number of supporting sessions.
    pub sessions: u64,
    /// The latest of these sessions, at most 10, each with the transcript line.
    pub latest: Vec<(SessionId, u64)>,
    /// Time of the first of these lines: `valid_at` is that of the earliest session.
    pub at: Option<Timestamp>,
    /// The latest supporting episodes, at most 50.
    pub episodes: Vec<Uuid>,
    /// True if in the latest sessions only model answers say so.
    pub by_model: bool,
}

/// Grouping key of a uuid: its first 64 bits. Collisions within one memory are negligible.
pub(super) fn key(uuid: Uuid) -> u64 {
    uuid.as_u64_pair().0
}

/// What is stored of a uuid beside its key.
fn rest(uuid: Uuid) -> [u8; 8] {
    uuid.as_u64_pair().1.to_be_bytes()
}

/// The uuid with this key and this rest.
fn with_rest(key: u64, rest: [u8; 8]) -> Uuid {
    Uuid::from_u64_pair(key, u64::from_be_bytes(rest))
}

/// Builds the documents of an entry's mentions and assertions.
pub(super) fn documents(
    drafter: &mut Drafter,
    fields: &Fields,
    entry: &Entry<'_>,
    place: &str,
) -> Vec<TantivyDocument> {
    let graph = entry.graph;
    let mut documents = Vec::with_capacity(graph.mentions.len() + graph.assertions.len());
    for mention in &graph.mentions {
        let mut document = document(fields, entry, place, documents.len(), mention.uuid, mention.line);
        document.add_u64(fields.kind, kind::MENTION);
        document.add_u64(fields.label, Label::ALL.iter().position(|label| *label == mention.label).unwrap_or(0) as u64);
        document.add_u64(fields.count, u64::from(mention.count));
        document.add_text(fields.title, &mention.name);
        document.add_text(fields.text, &mention.detail);
        // Sessions may share a name, so the uuid is stored.
        if mention.label == Label::Session {
            document.add_bytes(fields.ends, &rest(mention.uuid));
        }
        // A file is also found by its last path component.
        let last = mention.name.rsplit('/').next().filter(|last| last.len() < mention.name.len()).unwrap_or_default();
        let tokens = drafter.tokens(&[mention.label.as_str(), &mention.name, last, &mention.detail]);
        document.add_text(fields.entity, tokens);
        if let Some(at) = mention.at {
            document.add_i64(fields.since, at.0);
        }
        if mention.by_model {
            document.add_u64(fields.by_model, 1);
        }
        documents.push(document);
    }
    for said in &graph.assertions {
        let mut document = document(fields, entry, place, documents.len(), said.uuid, said.line);
        document.add_u64(fields.kind, kind::ASSERTION);
        document.add_u64(fields.source, key(said.source));
        document.add_u64(fields.target, key(said.target));
        document.add_bytes(fields.ends, &[rest(said.source), rest(said.target)].concat());
        let name = said.name.as_deref().unwrap_or(said.relation.as_str());
        document.add_text(fields.title, name);
        document.add_text(fields.text, &said.fact);
        document.add_text(fields.fact, drafter.tokens(&[name, said.relation.asked_by(), &said.fact]));
        let relation = Relation::ALL.iter().position(|relation| *relation == said.relation);
        document.add_u64(fields.relation, relation.unwrap_or(0) as u64);
        if !said.value.is_empty() {
            document.add_text(fields.value, &said.value);
        }
        if let Some(at) = said.valid_at {
            document.add_i64(fields.since, at.0);
        }
        if let Some(at) = said.last_at.filter(|_| !said.rests.is_empty() || !said.settles.is_empty()) {
            document.add_i64(fields.last, at.0);
        }
        if said.by_model {
            document.add_u64(fields.by_model, 1);
        }
        for (field, claims) in [(fields.rests, &said.rests), (fields.settles, &said.settles)] {
            for Claim { slot, value } in claims {
                document.add_u64(field, *slot);
                document.add_u64(field, *value);
            }
        }
        documents.push(document);
    }
    documents
}

/// Builds the fields that mentions and assertions share.
fn document(fields: &Fields, entry: &Entry<'_>, place: &str, ordinal: usize, uuid: Uuid, line: u64) -> TantivyDocument {
    let mut document = TantivyDocument::new();
    document.add_text(fields.session, entry.session.as_str());
    document.add_text(fields.place, place);
    document.add_u64(fields.generation, u64::from(entry.generation));
    document.add_u64(fields.ordinal, ordinal as u64);
    document.add_text(fields.graph_of, entry.session.as_str());
    document.add_u64(fields.subject, key(uuid));
    document.add_text(fields.uuid, entry.episode_uuid.to_string());
    document.add_u64(fields.line, line);
    document.add_i64(fields.created, entry.indexed_at.0);
    if let Some(at) = entry.ended_at {
        document.add_i64(fields.seen, at.0);
    }
    document
}

impl Searcher {
    /// Returns matching entities: those near the center first, then by score, number of supporting sessions and time.
    /// The order is the same for the same memory.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn nodes(&self, query: &GraphQuery<'_>) -> Result<Page<Node>, Error> {
        let snapshot = self.snapshot();
        let admission = Admission::new(&snapshot, query.exclude);
        let most = query.offset.saturating_add(query.limit).saturating_add(1);
        let near = match query.center {
            Some(center) => center::nodes(&admission, key(center))?,
            None => center::Near::default(),
        };
        let ranked = ranking::ranked(&admission, Kind::Nodes, query, &near, most)?;
        let page = ranked.iter().skip(query.offset).take(query.limit);
        let mut found = Vec::with_capacity(query.limit.min(ranked.len()));
        for subject in page {
            found.extend(node(&admission, *subject)?);
        }
        Ok(Page { found, more: ranked.len() > query.offset.saturating_add(query.limit) })
    }

    /// The facts that fit a question, in the same order as [`nodes`](Self::nodes): those of the center first.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn facts(&self, query: &GraphQuery<'_>) -> Result<Page<Fact>, Error> {
        let snapshot = self.snapshot();
        let admission = Admission::new(&snapshot, query.exclude);
        let most = match query.sieve.reads() {
            true => SIFTED_FACTS,
            false => query.offset.saturating_add(query.limit).saturating_add(1),
        };
        let near = match query.center {
            Some(center) => center::facts(&admission, key(center))?,
            None => center::Near::default(),
        };
        let ranked = ranking::ranked(&admission, Kind::Facts, query, &near, most)?;
        if !query.sieve.reads() {
            let page = ranked.iter().skip(query.offset).take(query.limit);
            let mut found = Vec::with_capacity(query.limit.min(ranked.len()));
            for subject in page {
                found.extend(fact(&admission, *subject)?);
            }
            return Ok(Page { found, more: ranked.len() > query.offset.saturating_add(query.limit) });
        }
        // What is asked for shows only in the whole fact.
        let mut page = Page { found: Vec::new(), more: false };
        let mut passed = 0;
        for subject in &ranked {
            let Some(fact) = fact(&admission, *subject)?.filter(|fact| query.sieve.keeps(fact)) else {
                continue;
            };
            if passed < query.offset {
                passed += 1;
            } else if page.found.len() == query.limit {
                page.more = true;
                break;
            } else {
                page.found.push(fact);
            }
        }
        Ok(page)
    }

    /// Whether there is an entity of this uuid that a session supports.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn has_node(&self, uuid: Uuid, exclude: &dyn Fn(&str) -> bool) -> Result<bool, Error> {
        let snapshot = self.snapshot();
        let group = group::read(&Admission::new(&snapshot, exclude), key(uuid))?;
        Ok(group.label.is_some())
    }
}

/// The entity of a key, with what admitted sessions say of it; none if none does.
fn node(admission: &Admission<'_>, subject: u64) -> Result<Option<Node>, Error> {
    let group = group::read(admission, subject)?;
    let mut members = group.latest(admission.snapshot, DETAIL_SESSIONS.max(GROUP_SESSIONS))?;
    let (Some(newest), Some(label)) = (members.first(), group.label) else { return Ok(None) };
    let name = newest.title.clone();
    // Stored where an assertion has its source.
    let stored = Some(newest.source).filter(|uuid| !uuid.is_nil());
    let uuid = stored.unwrap_or_else(|| node_uuid(&group.group_id, label, &name));
    let detail = members.iter().find(|member| !member.text.is_empty()).map(|member| member.text.clone());
    let telling = match center::telling(admission, subject)? {
        Some(address) => Some(group::stored_text(admission.snapshot, address)?),
        None => None,
    };
    let by_model = members.iter().all(|member| member.by_model);
    members.truncate(GROUP_SESSIONS);
    Ok(Some(Node {
        uuid,
        label,
        name,
        detail: detail.unwrap_or_default(),
        created_at: group.created,
        first_seen: group.since,
        last_seen: group.seen,
        count: group.count,
        sessions: group.sessions,
        latest: members.into_iter().filter_map(Member::place).collect(),
        telling,
        by_model,
        group_id: group.group_id,
    }))
}

/// The fact of a key, with what admitted sessions say of it; none if none does.
fn fact(admission: &Admission<'_>, subject: u64) -> Result<Option<Fact>, Error> {
    let group = group::read(admission, subject)?;
    let members = group.latest(admission.snapshot, GROUP_EPISODES)?;
    let Some(newest) = members.first() else { return Ok(None) };
    let end = time::ended(admission, subject, &group)?;
    let ended_by = match end {
        Some(end) => {
            let other = group::read(admission, end.by)?;
            other.latest(admission.snapshot, 1)?.first().map(|member| member.fact(&other.group_id))
        }
        None => None,
    };
    Ok(Some(Fact {
        uuid: newest.fact(&group.group_id),
        relation: Relation::named(&newest.title).unwrap_or(Relation::Custom),
        name: newest.title.clone(),
        source: newest.source,
        source_name: group::name(admission, key(newest.source))?,
        target: newest.target,
        target_name: group::name(admission, key(newest.target))?,
        value: newest.value.clone(),
        fact: newest.text.clone(),
        created_at: group.created,
        valid_at: group.since,
        invalid_at: end.map(|end| end.invalid_at),
        expired_at: end.and_then(|end| end.expired_at),
        ended_by,
        reference_time: group.seen,
        sessions: group.sessions,
        episodes: members.iter().map(|member| member.episode).collect(),
        by_model: members.iter().all(|member| member.by_model),
        at: newest.at,
        latest: members.into_iter().take(GROUP_SESSIONS).filter_map(Member::place).collect(),
        group_id: group.group_id,
    }))
}
