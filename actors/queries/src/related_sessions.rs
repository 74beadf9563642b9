//! Relatives of a session: subagents, forks and copies, predecessors and successors.

pub(super) mod facts;
mod succession;

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

use baton_conversation::filter::one_line;
use baton_conversation::item::Link;
use baton_conversation::record::SessionId;
use baton_events::projection::table::{Row, SessionTable};
use baton_events::session::{Phase, State};
use baton_protocol::answer::Relation;
use baton_redaction::redact;

use self::succession::Succession;
use super::conversation_summary::{CHILDREN_MAX, NAME_CHARS};
use baton_config::settings::Settings;
use baton_memory::{Error, RelatedSession, Searcher};

/// Most younger relatives that are examined to find out whether they continue this session or another one.
const YOUNGER_MAX: usize = 16;
/// Most successors of a session.
const FOLLOWERS_MAX: usize = 64;
/// The order in which files were discovered within this span says nothing: they may have existed before.
const FOUND_TOGETHER_MS: i64 = 10 * 60_000;
/// Longest `.meta.json` of a subagent that is read; agents write a few hundred bytes.
const META_BYTES: u64 = 64 * 1024;
/// Longest description of a subagent, in characters.
const DESCRIPTION_CHARS: usize = 300;

/// Compares the age of two sessions: those of this home are older than others'; then by the first record; then by
/// discovery, because a fork repeats the first record; then by the last conversation, because files discovered at
/// about the same time are in no particular order; then by id. A session that is not in the table is the younger. A
/// total order.
pub(super) fn compare_age(table: &SessionTable, one: &str, other: &str) -> Ordering {
    let age = |id: &str| {
        let id = SessionId::new(id)?;
        table.get(&id).map(|row| {
            let state = &row.state;
            // What others say of the time must not hide a session of this home.
            let is_theirs = table.author(&id).is_some();
            let found = state.discovered_at.0.div_euclid(FOUND_TOGETHER_MS);
            (
                is_theirs,
                state.first_at.is_none(),
                state.first_at,
                found,
                state.last_conversation_at,
                state.discovered_at,
            )
        })
    };
    let (one_age, other_age) = (age(one), age(other));
    let known = other_age.is_some().cmp(&one_age.is_some());
    known.then_with(|| one_age.cmp(&other_age)).then_with(|| one.cmp(other))
}

/// The relatives of a session that may be shown.
pub(super) struct RelatedSessions {
    /// The session.
    id: SessionId,
    /// Sessions that share records with it.
    kin: Vec<RelatedSession>,
    /// What its own transcript says about other sessions.
    links: Vec<(Link, SessionId)>,
    /// What the transcripts of other sessions say about it.
    naming: Vec<(Link, SessionId)>,
    /// Its subagents.
    pub(super) children: Vec<SessionId>,
}

impl RelatedSessions {
    /// Looks up the relatives. Blocks for reads of the index.
    pub(super) fn find(
        id: &SessionId,
        links: Vec<(Link, SessionId)>,
        table: &SessionTable,
        settings: &Settings,
        searcher: &Searcher,
    ) -> Result<Self, Error> {
        let children = table.iter().filter(|(_, row)| row.state.parent() == Some(id) && is_shown(row, settings));
        Ok(Self {
            id: id.clone(),
            kin: shown_kin(searcher.related_sessions(id)?, table, settings),
            links,
            naming: searcher
                .sessions_naming(id)?
                .into_iter()
                .filter(|(_, other)| is_known(table, settings, other))
                .collect(),
            children: children.map(|(child, _)| child.clone()).take(CHILDREN_MAX).collect(),
        })
    }

    /// The older sessions it was copied from, the nearest first.
    pub(super) fn elders(&self, table: &SessionTable) -> Vec<SessionId> {
        let named = self.links.iter().filter(|(link, _)| *link == Link::ForkedFrom).map(|(_, other)| other);
        let kin = self.kin.iter().map(|kin| &kin.session).filter(|other| {
            !self.is_continued_by(other) && compare_age(table, other.as_str(), self.id.as_str()) == Ordering::Less
        });
        let mut elders: Vec<SessionId> = Vec::new();
        for other in named.chain(kin) {
            if !elders.contains(other) {
                elders.push(other.clone());
            }
        }
        elders
    }

    /// Returns true if a transcript says that `other` is a fork of this session or continues it.
    fn is_continued_by(&self, other: &SessionId) -> bool {
        let states = |links: &[(Link, SessionId)], link| links.iter().any(|(kind, id)| *kind == link && id == other);
        states(&self.links, Link::ContinuedIn) || states(&self.naming, Link::ForkedFrom)
    }

    /// All relations, in a fixed order. Blocks for reads of small files.
    pub(super) fn relations(
        &self,
        row: &Row,
        calls: &BTreeMap<Box<str>, String>,
        settings: &Settings,
        table: &SessionTable,
        searcher: &Searcher,
    ) -> Result<Vec<Relation>, Error> {
        let mut relations = Relations { list: Vec::new(), seen: BTreeSet::new() };
        for child in &self.children {
            let call = agent_name(child).and_then(|agent| calls.get(agent).cloned());
            relations.add("spawned_agent", child, |relation| {
                add_agent_meta(relation, transcript(table, child));
                relation.tool_use_id = relation.tool_use_id.take().or(call);
            });
        }
        if let Some(parent) = row.state.parent() {
            relations.add("spawned_by", parent, |relation| add_agent_meta(relation, transcript(table, &self.id)));
        }
        for (kinship, other) in self.continuations(&row.state, settings, table, searcher)? {
            let kin = self.kin.iter().find(|kin| kin.session == other && kinship.is_fork());
            relations.add(kinship.name(), &other, |relation| relation.shared_records = kin.map(|kin| kin.shared));
        }
        Ok(relations.list)
    }

    /// The sessions that it continues and that continue it, then its predecessor and successors.
    fn continuations(
        &self,
        state: &State,
        settings: &Settings,
        table: &SessionTable,
        searcher: &Searcher,
    ) -> Result<Vec<(Kinship, SessionId)>, Error> {
        let mut lineage = self.forks(settings, table, searcher)?;
        let beside = Succession::in_place_of(state, table, settings);
        let before = match &state.signals.follows {
            Some(follows) => Some(&follows.session),
            None => beside.before(&self.id, state),
        };
        lineage.extend(before.map(|other| (Kinship::PrecededBy, other.clone())));
        let is_follower = |other: &Row| other.state.signals.follows.as_ref().is_some_and(|f| f.session == self.id);
        let followers = table.iter().filter(|(_, other)| is_follower(other)).map(|(other, _)| other);
        let followers = followers.take(FOLLOWERS_MAX).chain(beside.after(&self.id, state, table));
        lineage.extend(followers.map(|other| (Kinship::FollowedBy, other.clone())));
        Ok(lineage)
    }

    fn forks(
        &self,
        settings: &Settings,
        table: &SessionTable,
        searcher: &Searcher,
    ) -> Result<Vec<(Kinship, SessionId)>, Error> {
        // What transcripts state is certain, so it takes precedence over what ages suggest.
        let stated = |links: &[(Link, SessionId)], wanted| {
            links.iter().filter(|(link, _)| *link == wanted).map(|(_, other)| other.clone()).collect::<Vec<_>>()
        };
        let mut continues = stated(&self.links, Link::ForkedFrom);
        continues.extend(stated(&self.naming, Link::ContinuedIn));
        let mut continued_by = stated(&self.links, Link::ContinuedIn);
        continued_by.extend(stated(&self.naming, Link::ForkedFrom));
        if continues.is_empty() {
            let open: Vec<RelatedSession> =
                self.kin.iter().filter(|kin| !continued_by.contains(&kin.session)).cloned().collect();
            continues.extend(nearest_elder(&self.id, &open, table));
        }
        let younger = self.kin.iter().filter(|kin| {
            compare_age(table, self.id.as_str(), kin.session.as_str()) == Ordering::Less
                && !continues.contains(&kin.session)
                && !continued_by.contains(&kin.session)
        });
        let younger: Vec<SessionId> = younger.map(|kin| kin.session.clone()).take(YOUNGER_MAX).collect();
        for other in younger {
            let kin = shown_kin(searcher.related_sessions(&other)?, table, settings);
            if nearest_elder(&other, &kin, table).as_ref() == Some(&self.id) {
                continued_by.push(other);
            }
        }
        let continues = continues.into_iter().map(|other| (Kinship::Continues, other));
        Ok(continues.chain(continued_by.into_iter().map(|other| (Kinship::ContinuedBy, other))).collect())
    }
}

/// The relation of another session to this one, if neither started the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kinship {
    Continues,
    ContinuedBy,
    PrecededBy,
    FollowedBy,
}

impl Kinship {
    fn name(self) -> &'static str {
        match self {
            Self::Continues => "continues",
            Self::ContinuedBy => "continued_by",
            Self::PrecededBy => "preceded_by",
            Self::FollowedBy => "followed_by",
        }
    }

    fn is_fork(self) -> bool {
        matches!(self, Self::Continues | Self::ContinuedBy)
    }
}

/// Relations without duplicates.
struct Relations {
    list: Vec<Relation>,
    seen: BTreeSet<(String, SessionId)>,
}

impl Relations {
    fn add(&mut self, name: &str, other: &SessionId, fill: impl FnOnce(&mut Relation)) {
        if self.seen.insert((name.to_owned(), other.clone())) {
            let session_id = redact(other.as_str()).into_owned();
            let mut relation = Relation { name: name.to_owned(), session_id, ..Relation::default() };
            fill(&mut relation);
            self.list.push(relation);
        }
    }
}

/// The older relative that shares most records with the session, and of several the oldest: the origin of a fork.
fn nearest_elder(id: &SessionId, kin: &[RelatedSession], table: &SessionTable) -> Option<SessionId> {
    let elders = kin.iter().filter(|kin| compare_age(table, kin.session.as_str(), id.as_str()) == Ordering::Less);
    let nearest = elders.min_by(|a, b| {
        b.shared.cmp(&a.shared).then_with(|| compare_age(table, a.session.as_str(), b.session.as_str()))
    });
    nearest.map(|kin| kin.session.clone())
}

fn is_shown(row: &Row, settings: &Settings) -> bool {
    !row.state.is_unseen() && row.state.phase != Phase::Forgotten && !settings.excludes(&row.state)
}

fn is_known(table: &SessionTable, settings: &Settings, id: &SessionId) -> bool {
    table.get(id).is_some_and(|row| is_shown(row, settings))
}

fn shown_kin(kin: Vec<RelatedSession>, table: &SessionTable, settings: &Settings) -> Vec<RelatedSession> {
    kin.into_iter().filter(|kin| is_known(table, settings, &kin.session)).collect()
}

/// The agent's name of the subagent that this session belongs to.
fn agent_name(session: &SessionId) -> Option<&str> {
    session.as_str().strip_prefix("agent-")
}

fn transcript<'a>(table: &'a SessionTable, id: &SessionId) -> Option<&'a Path> {
    Some(Path::new(&table.get(id)?.state.transcript.as_ref()?.path))
}

/// What Claude Code writes beside the transcript of a subagent.
struct AgentMeta {
    agent_type: Option<String>,
    description: Option<String>,
    tool_use_id: Option<String>,
}

/// Adds the fields of the file beside a subagent's transcript. An unreadable file adds nothing.
fn add_agent_meta(relation: &mut Relation, transcript: Option<&Path>) {
    let Some(meta) = transcript.and_then(|path| agent_meta(&path.with_extension("meta.json"))) else { return };
    let bounded = |text: Option<String>, chars| text.map(|text| one_line(&text, chars)).filter(|text| !text.is_empty());
    relation.agent_type = bounded(meta.agent_type, NAME_CHARS);
    relation.description = bounded(meta.description, DESCRIPTION_CHARS);
    relation.tool_use_id = bounded(meta.tool_use_id, NAME_CHARS);
}

fn agent_meta(path: &Path) -> Option<AgentMeta> {
    // Opening a named pipe would block.
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut text = Vec::new();
    baton_base::transcript_file::open(path).ok()?.take(META_BYTES).read_to_end(&mut text).ok()?;
    // Fields are read one by one, so that one of an unexpected type does not hide the others.
    let value: serde_json::Value = serde_json::from_slice(&text).ok()?;
    let field = |name: &str| value.get(name).and_then(|field| field.as_str()).map(str::to_owned);
    Some(AgentMeta {
        agent_type: field("agentType"),
        description: field("description"),
        tool_use_id: field("toolUseId"),
    })
}

#[cfg(test)]
mod tests {
    use baton_conversation::record::{Position, SequenceNumber, Timestamp};
    use baton_events::session::State;

    use super::*;

    const MINUTE: i64 = 60_000;

    /// Compares two sessions given by first record, discovery and last conversation, in minutes.
    fn check(one: (Option<i64>, i64, i64), other: (Option<i64>, i64, i64), expected: Ordering) {
        let mut table = SessionTable::default();
        for (id, (first, found, last)) in [("one", one), ("other", other)] {
            let state = State {
                first_at: first.map(|at| Timestamp(at * MINUTE)),
                discovered_at: Timestamp(found * MINUTE),
                last_conversation_at: Some(Timestamp(last * MINUTE)),
                ..State::default()
            };
            table.restore(SessionId::new(id).unwrap(), Row { version: SequenceNumber(1), state, since: Position(1) });
        }
        assert_eq!(compare_age(&table, "one", "other"), expected, "{one:?} {other:?}");
        assert_eq!(compare_age(&table, "other", "one"), expected.reverse(), "{one:?} {other:?}");
        assert_eq!(compare_age(&table, "one", "one"), Ordering::Equal);
        assert_eq!(compare_age(&table, "unknown", "one"), Ordering::Greater, "who is not known owns nothing");
    }

    #[test]
    fn the_elder_began_first_or_was_found_first_or_was_left_first() {
        check((Some(1), 50, 90), (Some(2), 10, 20), Ordering::Less);
        check((Some(1), 50, 90), (None, 10, 20), Ordering::Less);
        check((Some(1), 50, 90), (Some(1), 10, 20), Ordering::Greater);
        check((Some(1), 15, 90), (Some(1), 19, 20), Ordering::Greater);
        check((Some(1), 19, 20), (Some(1), 15, 90), Ordering::Less);
        check((Some(1), 15, 20), (Some(1), 19, 20), Ordering::Less);
        check((Some(1), 15, 20), (Some(1), 15, 20), Ordering::Less);
    }

    #[test]
    fn what_stands_beside_a_subagent_is_bounded_and_odd_fields_hide_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent-1.jsonl");
        let read = |text: &str| {
            std::fs::write(folder.path().join("agent-1.meta.json"), text).unwrap();
            let mut relation = Relation::default();
            add_agent_meta(&mut relation, Some(&path));
            (relation.agent_type, relation.description.map(|text| text.chars().count()), relation.tool_use_id)
        };
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(read("{\"agentType\": \"Explore\", \"toolUseId\": \"t1\"}"), (text("Explore"), None, text("t1")));
        assert_eq!(read("{\"agentType\": 7, \"description\": \"look\"}"), (None, Some(4), None));
        let long = format!("{{\"description\": \"{}\"}}", "word ".repeat(500));
        assert_eq!(read(&long), (None, Some(DESCRIPTION_CHARS), None));
        for odd in ["", "[]", "nul", "{\"agentType\": \"\"}"] {
            assert_eq!(read(odd), (None, None, None), "{odd:?}");
        }
    }
}
