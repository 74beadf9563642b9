//! The state of a writer, replayed from the lines of their record.

use std::collections::{BTreeMap, BTreeSet};

use baton_conversation::hash::ContentHash;
use baton_conversation::hex;
use baton_conversation::record::{SessionId, Timestamp};
use baton_events::session::State;
use baton_sharing::batch::{Conversation, Error, Said};
use baton_sharing::membership::Membership;
use ed25519_dalek::VerifyingKey;

use super::{Intended, Line, MadeOf};
use crate::keys::{Name, Secret, WriterId};

/// A record of this size is compacted.
const COMPACT_BYTES: u64 = 8 * 1024 * 1024;

/// A session of a writer.
#[derive(Clone, Debug)]
pub(crate) struct SharedSession {
    /// Sequence of the last message of its stream.
    pub(crate) sequence: u64,
    /// How many of its events on the writer's machine are published.
    pub(crate) through: u64,
    /// Its state after the published events.
    pub(crate) state: State,
    /// When it was first and last recorded here.
    pub(crate) since: Timestamp,
    pub(crate) at: Timestamp,
    /// Its current conversation.
    pub(crate) conversation: Option<Conversation>,
    /// Its own key, and the epoch of the team key that seals it.
    pub(crate) key: Secret,
    pub(crate) epoch: u32,
    /// See [`Line::made_of`].
    pub(crate) made_of: MadeOf,
    /// True if the state here equals the writer's.
    pub(crate) agrees: bool,
    /// See [`Line::received`].
    pub(crate) received: bool,
    /// Sequences of the message that began it, and of the one that named its conversation.
    begun_at: u64,
    told_at: u64,
}

/// A writer's request to remove a session everywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tombstone {
    /// The last sequence of its stream.
    pub(crate) sequence: u64,
    /// The sequence of the notice.
    pub(crate) notice: u64,
}

/// Objects put on the relay for a session, which no published batch names yet.
#[derive(Clone, Debug)]
pub(crate) struct Staged {
    pub(crate) key: Secret,
    pub(crate) epoch: u32,
    pub(crate) objects: BTreeSet<ContentHash>,
}

impl SharedSession {
    /// Bytes of its conversation, before compression.
    fn stored(&self) -> u64 {
        let chunks = self.conversation.iter().flat_map(|conversation| &conversation.chunks);
        chunks.map(|chunk| chunk.bytes).fold(0, u64::saturating_add)
    }
}

/// A writer, according to their recorded messages.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    pub(crate) id: WriterId,
    pub(crate) name: String,
    pub(crate) machine: String,
    /// When they became known here.
    pub(crate) since: Timestamp,
    /// Their public key: the first notice has it.
    pub(crate) key: VerifyingKey,
    /// The epoch of the team's key by which they introduced themselves.
    pub(crate) introduced: u32,
    /// Sequence of their last notice, accepted or not.
    pub(crate) notices: u64,
    /// The public key with which others seal for them alone.
    pub(crate) box_key: [u8; 32],
    /// True if they have left.
    pub(crate) has_left: bool,
    /// The membership by their notices; it counts if they are the administrator.
    pub(crate) membership: Membership,
    pub(crate) sessions: BTreeMap<SessionId, SharedSession>,
    /// Subagent sessions by their parent session.
    pub(crate) parts: BTreeMap<SessionId, BTreeSet<SessionId>>,
    /// Sessions that they want removed everywhere.
    pub(crate) forgotten: BTreeMap<SessionId, Tombstone>,
    /// Of this home: sessions that an earlier state of it withdrew, and this one has not.
    pub(crate) withheld: BTreeSet<SessionId>,
    /// Of this home: objects on the relay that no batch names yet.
    pub(crate) begun: BTreeMap<SessionId, Staged>,
    /// For each other writer, the notice up to which they have carried out that writer's removals.
    pub(crate) acknowledged: BTreeMap<String, u64>,
    /// Their sessions by the names of the streams, including those that they want removed.
    pub(crate) streams: BTreeMap<Name, SessionId>,
    /// Bytes of their conversations, before compression.
    pub(crate) stored: u64,
    /// Of this home: all objects that may be on the relay for a session. A forgotten session stays here until they are
    /// deleted.
    pub(crate) objects: BTreeMap<SessionId, BTreeSet<ContentHash>>,
    /// Sessions with lines or a conversation in the record that must be removed.
    pub(crate) void: BTreeSet<SessionId>,
    /// Bytes of their record now, and after the last compaction.
    pub(crate) size: u64,
    pub(crate) compacted: u64,
}

/// What of a record still counts.
pub(crate) struct Retention {
    sessions: BTreeMap<SessionId, Live>,
    gone: BTreeSet<SessionId>,
    void: BTreeSet<SessionId>,
}

/// A session that is not forgotten.
#[derive(Default)]
struct Live {
    begun_at: u64,
    told_at: u64,
    keys: Vec<Secret>,
    /// True if the relay has no objects of it except those of its conversation.
    is_settled: bool,
}

/// What of a line still counts.
pub(crate) enum Keep {
    All,
    /// With the superseded part removed.
    Partly,
    Not,
}

impl Retention {
    /// Decides what of a line is kept; removes a superseded conversation from it.
    pub(super) fn apply_to(&self, line: &mut Line) -> Keep {
        let Some(session) = line.session() else { return Keep::All };
        let Some(live) = self.sessions.get(session) else {
            return if self.gone.contains(session) { Keep::Not } else { Keep::All };
        };
        match &mut line.batch {
            None if live.is_settled || line.key.as_ref().is_some_and(|key| !live.keys.contains(key)) => Keep::Not,
            None => Keep::All,
            // Lines from before its current beginning are void.
            Some(_) if line.sequence < live.begun_at => Keep::Not,
            Some(batch) => match batch.conversation.take_if(|_| live.is_settled && line.sequence != live.told_at) {
                Some(superseded) => {
                    line.items = superseded.chunks.iter().map(|chunk| chunk.items).sum();
                    line.made_of = None;
                    Keep::Partly
                }
                None => Keep::All,
            },
        }
    }

    /// Sessions that must be removed completely.
    pub(super) fn void(&self) -> impl Iterator<Item = &SessionId> {
        self.void.iter().filter(|id| !self.sessions.contains_key(*id))
    }
}

impl Writer {
    /// Of this home: the sessions that have something on the relay, or that an earlier state of it withdrew.
    pub(crate) fn sessions_on_relay(&self) -> impl Iterator<Item = &SessionId> {
        let beside = self.begun.keys().chain(&self.withheld).filter(|id| !self.sessions.contains_key(*id));
        self.sessions.keys().chain(beside)
    }

    /// True if the record has lines that must be removed, or has doubled since the last compaction.
    pub(crate) fn needs_compaction(&self) -> bool {
        !self.void.is_empty() || self.size > COMPACT_BYTES.max(self.compacted.saturating_mul(2))
    }

    /// Records that the relay has no objects of a session except those of its conversation.
    pub(crate) fn note_cleared(&mut self, id: &SessionId) {
        let conversation = self.sessions.get(id).and_then(|shared| shared.conversation.as_ref());
        let chunks = conversation.into_iter().flat_map(|conversation| &conversation.chunks);
        self.objects.insert(id.clone(), chunks.map(|chunk| chunk.object).collect());
    }

    /// What of the record still counts.
    pub(crate) fn retention(&self) -> Retention {
        let mut sessions: BTreeMap<SessionId, Live> = BTreeMap::new();
        for (id, shared) in &self.sessions {
            let SharedSession { begun_at, told_at, .. } = *shared;
            let chunks = shared.conversation.iter().flat_map(|conversation| &conversation.chunks);
            let named: BTreeSet<&ContentHash> = chunks.map(|chunk| &chunk.object).collect();
            let objects = self.objects.get(id);
            let is_settled = objects.is_none_or(|objects| objects.iter().all(|object| named.contains(object)));
            let live = Live { begun_at, told_at, keys: vec![shared.key.clone()], is_settled };
            sessions.insert(id.clone(), live);
        }
        for (id, begun) in &self.begun {
            let live = sessions.entry(id.clone()).or_default();
            live.keys.push(begun.key.clone());
            live.is_settled = false;
        }
        let is_gone = |id: &&SessionId| !sessions.contains_key(*id) && !self.objects.contains_key(*id);
        let gone = self.forgotten.keys().filter(is_gone).cloned().collect();
        Retention { sessions, gone, void: self.void.clone() }
    }

    /// Removals by another writer that this one has not acknowledged.
    pub(crate) fn unacknowledged<'a>(&self, of: &'a Self) -> impl Iterator<Item = (&'a SessionId, &'a Tombstone)> {
        let known = self.acknowledged.get(of.id.as_str()).copied().unwrap_or_default();
        of.forgotten.iter().filter(move |(_, tombstone)| tombstone.notice > known)
    }

    /// A writer by their first notice; `None` if it is not one, or its key does not match the id.
    pub(crate) fn from_first_notice(id: &WriterId, line: &Line) -> Option<Self> {
        let Said::Joined { name, machine, key, box_key } = &line.notice.as_ref()?.said else { return None };
        let key = VerifyingKey::from_bytes(&hex::decode(key)?).ok()?;
        if WriterId::from_key(&key) != *id || key.is_weak() {
            return None;
        }
        Some(Self {
            id: id.clone(),
            name: name.clone(),
            machine: machine.clone(),
            since: line.at,
            key,
            introduced: line.epoch,
            notices: 1,
            box_key: hex::decode(box_key)?,
            has_left: false,
            membership: Membership::default(),
            sessions: BTreeMap::new(),
            parts: BTreeMap::new(),
            forgotten: BTreeMap::new(),
            withheld: BTreeSet::new(),
            begun: BTreeMap::new(),
            acknowledged: BTreeMap::new(),
            streams: BTreeMap::new(),
            objects: BTreeMap::new(),
            void: BTreeSet::new(),
            stored: 0,
            size: 0,
            compacted: 0,
        })
    }

    /// Adds a message. For a batch, `state` is the session's resulting state, if known.
    pub(crate) fn apply(&mut self, line: &Line, state: Option<State>) -> Result<(), Error> {
        if line.session().is_none() {
            self.notices = line.sequence;
        }
        if let Some(notice) = &line.notice {
            self.membership.apply(&notice.said);
            match &notice.said {
                Said::Joined { name, machine, .. } => {
                    (self.name, self.machine, self.has_left) = (name.clone(), machine.clone(), false);
                }
                Said::Left => self.has_left = true,
                Said::Removed { .. } => {}
                Said::Forgot { session, sequence } => {
                    let gone = self.sessions.remove(session);
                    // Keep what its destruction needs until that is done.
                    if gone.is_some() && !self.objects.contains_key(session) {
                        self.void.insert(session.clone());
                    }
                    self.stored = self.stored.saturating_sub(gone.as_ref().map_or(0, SharedSession::stored));
                    // Earlier messages may arrive again after their key is gone.
                    let stream = line.gone.as_deref().and_then(Name::parse);
                    self.streams.extend(stream.map(|stream| (stream, session.clone())));
                    let known = self.forgotten.entry(session.clone()).or_default();
                    let reached = gone.map_or(0, |gone| gone.sequence).max(*sequence).max(known.sequence);
                    *known = Tombstone { sequence: reached, notice: line.sequence };
                    self.begun.remove(session);
                    match line.received {
                        true => self.withheld.insert(session.clone()),
                        false => self.withheld.remove(session),
                    };
                }
                Said::Acknowledged { writer, notices } => {
                    self.acknowledged.insert(writer.clone(), *notices);
                }
            }
        }
        if let (Some(Intended { session, objects }), Some(key)) = (&line.intended, &line.key) {
            let new = || Staged { key: key.clone(), epoch: line.epoch, objects: BTreeSet::new() };
            let begun = self.begun.entry(session.clone()).or_insert_with(new);
            (begun.key, begun.epoch) = (key.clone(), line.epoch);
            begun.objects.extend(objects);
            self.objects.entry(session.clone()).or_default().extend(objects);
        }
        if let (Some(batch), Some(key)) = (&line.batch, &line.key) {
            let id = &batch.session;
            self.forgotten.remove(id);
            self.withheld.remove(id);
            if batch.begin && self.objects.contains_key(id) {
                // The earlier objects were deleted.
                let objects = self.begun.get(id).map(|begun| begun.objects.clone());
                self.objects.insert(id.clone(), objects.unwrap_or_default());
            }
            if line.received || line.made_of.is_some() {
                let chunks = batch.conversation.iter().flat_map(|conversation| &conversation.chunks);
                self.objects.entry(id.clone()).or_default().extend(chunks.map(|chunk| chunk.object));
            }
            if batch.conversation.is_some() {
                self.begun.remove(id);
            }
            let was = self.sessions.get(id);
            if batch.begin && was.is_some() {
                self.void.insert(id.clone());
            }
            let size_before = was.map_or(0, SharedSession::stored);
            // Nothing published before the session was republished counts.
            let before = was.filter(|_| !batch.begin);
            let fold = || batch.fold(before.map(|before| before.state.clone()).unwrap_or_default());
            let state = state.map_or_else(fold, Ok)?;
            if let Some(whole) = state.parent() {
                self.parts.entry(whole.clone()).or_default().insert(id.clone());
            }
            let conversation = batch.conversation.clone();
            let shared = SharedSession {
                sequence: line.sequence,
                through: batch.through,
                since: line.since.or_else(|| Some(was?.since)).unwrap_or(line.at),
                at: line.at,
                agrees: batch.agrees_with(&state),
                begun_at: before.map_or(line.sequence, |before| before.begun_at),
                told_at: match &conversation {
                    Some(_) => line.sequence,
                    None => before.map_or(0, |before| before.told_at),
                },
                // Chunks of one conversation are not shared with another.
                made_of: match (&line.made_of, &conversation) {
                    (Some(made_of), _) => made_of.clone(),
                    (None, Some(_)) => MadeOf::default(),
                    (None, None) => before.map(|before| before.made_of.clone()).unwrap_or_default(),
                },
                conversation: conversation.or_else(|| before?.conversation.clone()),
                received: line.received,
                key: key.clone(),
                epoch: line.epoch,
                state,
            };
            self.stored = (self.stored + shared.stored()).saturating_sub(size_before);
            self.streams.extend(Name::parse(&line.stream).map(|stream| (stream, id.clone())));
            self.sessions.insert(id.clone(), shared);
        }
        Ok(())
    }
}
