//! What the lines of a writer come to.

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

/// A record of this size is searched for what does not count any more.
const COMPACT_BYTES: u64 = 8 * 1024 * 1024;

/// A session of a writer.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    /// Sequence of the last message of its stream.
    pub(crate) sequence: u64,
    /// How many events it has on the writer's machine, as far as they were published.
    pub(crate) through: u64,
    /// What its published events come to.
    pub(crate) state: State,
    /// When it was first recorded here, and last.
    pub(crate) since: Timestamp,
    pub(crate) at: Timestamp,
    /// Its current conversation.
    pub(crate) conversation: Option<Conversation>,
    /// Its own key, and the epoch of the key that this one is sealed by.
    pub(crate) key: Secret,
    pub(crate) epoch: u32,
    /// See [`Line::made_of`].
    pub(crate) made_of: MadeOf,
    /// True if the events come to what the writer has.
    pub(crate) agrees: bool,
    /// See [`Line::received`].
    pub(crate) received: bool,
    /// The messages by which it began, and which has named its conversation.
    begun_at: u64,
    told_at: u64,
}

/// That a session must be removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tombstone {
    /// The sequence that its stream had.
    pub(crate) sequence: u64,
    /// The notice that says it.
    pub(crate) notice: u64,
}

/// What lies beside the stream of a session that is not published yet.
#[derive(Clone, Debug)]
pub(crate) struct Begun {
    pub(crate) key: Secret,
    pub(crate) epoch: u32,
    pub(crate) objects: BTreeSet<ContentHash>,
}

impl Shared {
    /// Bytes of its conversation, before compression.
    fn stored(&self) -> u64 {
        let chunks = self.conversation.iter().flat_map(|conversation| &conversation.chunks);
        chunks.map(|chunk| chunk.bytes).fold(0, u64::saturating_add)
    }
}

/// A writer, as far as their messages were recorded.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    pub(crate) id: WriterId,
    pub(crate) name: String,
    pub(crate) machine: String,
    /// Since when they are known here.
    pub(crate) since: Timestamp,
    /// Their public key: the first notice has it.
    pub(crate) key: VerifyingKey,
    /// The epoch of the team's key by which they introduced themselves.
    pub(crate) introduced: u32,
    /// Sequence of their last notice, taken or not.
    pub(crate) notices: u64,
    /// Their public key for what is sealed for them alone.
    pub(crate) box_key: [u8; 32],
    /// True if they have left.
    pub(crate) has_left: bool,
    /// What they say of who belongs to the team: it counts if they are its administrator.
    pub(crate) membership: Membership,
    pub(crate) sessions: BTreeMap<SessionId, Shared>,
    /// Sessions that have named another one as what they are a part of, by that one.
    pub(crate) parts: BTreeMap<SessionId, BTreeSet<SessionId>>,
    /// Sessions that they want removed everywhere.
    pub(crate) forgotten: BTreeMap<SessionId, Tombstone>,
    /// Of this home: sessions that another state of it has withdrawn, and this one has not.
    pub(crate) withheld: BTreeSet<SessionId>,
    /// Of this home: what was put beside streams, and no batch names yet.
    pub(crate) begun: BTreeMap<SessionId, Begun>,
    /// The last notice of each other writer up to which they have removed what those wanted removed.
    pub(crate) acknowledged: BTreeMap<String, u64>,
    /// Their sessions by the names of the streams, those that they want removed among them.
    pub(crate) streams: BTreeMap<Name, SessionId>,
    /// Bytes of their conversations, before compression.
    pub(crate) stored: u64,
    /// Of this home: all objects that may lie beside a session's stream. Whoever is forgotten stays until they are deleted.
    pub(crate) objects: BTreeMap<SessionId, BTreeSet<ContentHash>>,
    /// Sessions of which the record has lines, or a conversation, that must not stay.
    pub(crate) void: BTreeSet<SessionId>,
    /// Bytes of their record now, and when it was last compacted.
    pub(crate) size: u64,
    pub(crate) compacted: u64,
}

/// What of a record still counts.
pub(crate) struct Counting {
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
    /// True if nothing lies beside its stream but what its conversation names.
    is_settled: bool,
}

/// What of a line still counts.
pub(crate) enum Counts {
    All,
    /// What the line has become.
    Partly,
    Not,
}

impl Counting {
    /// What of a line still counts; the rest is taken out of it.
    pub(super) fn of(&self, line: &mut Line) -> Counts {
        let Some(session) = line.session() else { return Counts::All };
        let Some(live) = self.sessions.get(session) else {
            return if self.gone.contains(session) { Counts::Not } else { Counts::All };
        };
        match &mut line.batch {
            None if live.is_settled || line.key.as_ref().is_some_and(|key| !live.keys.contains(key)) => Counts::Not,
            None => Counts::All,
            // What came before it began is void.
            Some(_) if line.sequence < live.begun_at => Counts::Not,
            Some(batch) => match batch.conversation.take_if(|_| live.is_settled && line.sequence != live.told_at) {
                Some(superseded) => {
                    line.items = superseded.chunks.iter().map(|chunk| chunk.items).sum();
                    line.made_of = None;
                    Counts::Partly
                }
                None => Counts::All,
            },
        }
    }

    /// Sessions of which nothing may stay.
    pub(super) fn void(&self) -> impl Iterator<Item = &SessionId> {
        self.void.iter().filter(|id| !self.sessions.contains_key(*id))
    }
}

impl Writer {
    /// Of this home: the sessions of which something is on the relay, or was withdrawn by another state of it.
    pub(crate) fn on_relay(&self) -> impl Iterator<Item = &SessionId> {
        let beside = self.begun.keys().chain(&self.withheld).filter(|id| !self.sessions.contains_key(*id));
        self.sessions.keys().chain(beside)
    }

    /// True if the record has lines that must not stay, or may have grown to twice its size by what is superseded.
    pub(crate) fn is_long(&self) -> bool {
        !self.void.is_empty() || self.size > COMPACT_BYTES.max(self.compacted.saturating_mul(2))
    }

    /// Nothing lies beside a session's stream any more but what its conversation names.
    pub(crate) fn cleared(&mut self, id: &SessionId) {
        let conversation = self.sessions.get(id).and_then(|shared| shared.conversation.as_ref());
        let chunks = conversation.into_iter().flat_map(|conversation| &conversation.chunks);
        self.objects.insert(id.clone(), chunks.map(|chunk| chunk.object).collect());
    }

    /// What of the record still counts.
    pub(crate) fn counting(&self) -> Counting {
        let mut sessions: BTreeMap<SessionId, Live> = BTreeMap::new();
        for (id, shared) in &self.sessions {
            let Shared { begun_at, told_at, .. } = *shared;
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
        Counting { sessions, gone, void: self.void.clone() }
    }

    /// What another writer wants removed and this one has not said to be.
    pub(crate) fn not_acknowledged<'a>(&self, of: &'a Self) -> impl Iterator<Item = (&'a SessionId, &'a Tombstone)> {
        let known = self.acknowledged.get(of.id.as_str()).copied().unwrap_or_default();
        of.forgotten.iter().filter(move |(_, tombstone)| tombstone.notice > known)
    }

    /// A writer by their first notice; `None` if it is none, or its key is not that of this writer.
    pub(crate) fn joined(id: &WriterId, line: &Line) -> Option<Self> {
        let Said::Joined { name, machine, key, box_key } = &line.notice.as_ref()?.said else { return None };
        let key = VerifyingKey::from_bytes(&hex::decode(key)?).ok()?;
        if WriterId::of(&key) != *id || key.is_weak() {
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

    /// Adds a message. Of a batch, what its session comes to may be known.
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
                    // What it takes to destroy it stays until that is done.
                    if gone.is_some() && !self.objects.contains_key(session) {
                        self.void.insert(session.clone());
                    }
                    self.stored = self.stored.saturating_sub(gone.as_ref().map_or(0, Shared::stored));
                    // Messages of before may come again when their key is gone.
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
            let new = || Begun { key: key.clone(), epoch: line.epoch, objects: BTreeSet::new() };
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
                // Those of before were deleted.
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
            let size_before = was.map_or(0, Shared::stored);
            // Of what was published before it began anew nothing counts.
            let before = was.filter(|_| !batch.begin);
            let fold = || batch.fold(before.map(|before| before.state.clone()).unwrap_or_default());
            let state = state.map_or_else(fold, Ok)?;
            if let Some(whole) = state.parent() {
                self.parts.entry(whole.clone()).or_default().insert(id.clone());
            }
            let conversation = batch.conversation.clone();
            let shared = Shared {
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
                // Chunks of one conversation are no parts of another one.
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
