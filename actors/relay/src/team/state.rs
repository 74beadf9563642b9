//! What this home knows about its team, in memory.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use baton_config::settings::Settings;
use baton_conversation::record::{Position, SequenceNumber, SessionId, Timestamp};
use baton_sharing::membership::Membership;
use serde::{Deserialize, Serialize};

use crate::boxes;
use crate::inbound::{Change, Known, KnownWriter};
use crate::keys::{Keys, Name, Secret, TeamKeys, WriterId};
use crate::record::Writer;
use crate::seal::Frame;
use crate::transport::Stream;

/// Memory overhead of a held frame.
pub(super) const HELD_COST: usize = 4 * 1024;

#[derive(Default)]
pub(crate) struct State {
    pub(crate) writers: BTreeMap<WriterId, Writer>,
    /// The writers by their names on the relay.
    pub(super) names: BTreeMap<Name, WriterId>,
    /// The team's administrator.
    pub(crate) admin: Option<WriterId>,
    /// This home.
    pub(crate) own: Option<WriterId>,
    /// Held frames by stream, in order, and why.
    pub(crate) held: BTreeMap<(Name, Name), Held>,
    /// When each stream began to wait.
    pub(crate) held_since: BTreeMap<(Name, Name), Timestamp>,
    /// True if frames were dropped that have to be received again, from the start.
    pub(super) has_dropped: bool,
    /// True if they may be usable, or find room, by now.
    pub(super) may_receive_again: bool,
    /// True if held frames may be usable now.
    pub(super) may_take_held: bool,
    /// True if it is too early to try again what has failed: held frames, and sessions that could not be published.
    pub(super) holds_back: bool,
    /// Bytes of the held frames, overhead included: of unknown and of known writers.
    pub(super) held_bytes: [usize; 2],
    /// True if the held frames on disk are out of date.
    pub(super) is_held_changed: bool,
    /// True if the state may be behind the records.
    pub(crate) is_stale: bool,
    /// Refused frames by writer (`None`: all unknown ones): the count, and the reason for the last one.
    pub(super) refused: BTreeMap<Option<WriterId>, (u64, String)>,
    /// The current problem of the relay or this machine.
    pub(crate) problem: Option<String>,
    /// Problems with what others have put on the relay.
    pub(crate) warnings: Vec<String>,
    /// True if the relay was checked for this home's messages since it was opened.
    pub(super) has_looked_back: bool,
    /// True if the relay is in an earlier state than when it was last read.
    pub(super) is_set_back: bool,
    /// True if the file of lost sessions exists; it may list more than are left.
    pub(super) is_marked: bool,
    /// The last published message, until it was received back.
    pub(super) unconfirmed: Option<(Stream, u64)>,
    /// Sessions of this home that the relay has lost.
    pub(crate) lost: BTreeSet<SessionId>,
    /// Forgotten sessions of this home that may have traces on the relay again.
    pub(super) may_be_back: BTreeSet<SessionId>,
    /// The name and machine by which this process has introduced this home.
    pub(super) introduced: Option<(String, String)>,
    /// Streams that may have a published message without a record.
    pub(super) unsure: BTreeSet<Name>,
    /// True if a message of this home arrived that it did not publish: another machine has its keys.
    pub(super) is_copied: bool,
    /// When removals were last acknowledged, and whether others wait for it.
    pub(super) acknowledged: Option<Timestamp>,
    pub(super) owes_acknowledgement: bool,
    /// True if they wait, but not urgently.
    pub(super) owes_later: bool,
    /// True if the last round completed.
    pub(crate) is_connected: bool,
    /// When the relay was last read to its end, and when nothing was left to publish.
    pub(crate) read_at: Option<Timestamp>,
    pub(crate) level_at: Option<Timestamp>,
    /// Versions of sessions that have nothing more to publish.
    pub(super) settled: BTreeMap<SessionId, SequenceNumber>,
    /// Position up to which the session table was checked for sessions to publish.
    pub(super) looked: Option<Position>,
    /// The settings used for that check.
    pub(super) looked_by: Option<Arc<Settings>>,
    /// Why sessions of this home are not published, and the version for which that holds until it is tried again.
    pub(super) unpublished: BTreeMap<SessionId, (Option<SequenceNumber>, String)>,
    /// The inputs of the last search for sessions to remove from the relay.
    pub(super) forgot_by: Option<(Position, Arc<Settings>, u64)>,
    /// The invitations that this home has given, once they were read.
    pub(crate) given: Option<Vec<Given>>,
    /// Why sessions are not removed from the relay yet.
    pub(crate) undestroyed: BTreeMap<SessionId, String>,
    /// Projects of this home by the address of their repository.
    pub(super) remotes: BTreeMap<String, String>,
}

/// An invitation that this home has given.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Given {
    pub(crate) slot: String,
    pub(crate) expires: Timestamp,
    /// The team's newest epoch then: the invitation has the keys up to it.
    pub(crate) epoch: u32,
}

#[derive(Default)]
pub(crate) struct Held {
    pub(crate) frames: VecDeque<Vec<u8>>,
    pub(crate) why: String,
    /// Bytes of the frames, overhead included.
    pub(super) bytes: usize,
    /// Bytes of conversations that may be stored for them.
    pub(super) stored: u64,
}

impl State {
    /// The state of a home that knows nobody yet.
    #[cfg(test)]
    pub(crate) fn new(keys: &Keys) -> Self {
        Self { own: Some(keys.writer()), admin: Some(keys.team.admin.clone()), ..Self::default() }
    }

    /// True if this version of a session has nothing more to publish.
    pub(crate) fn is_settled(&self, id: &SessionId, version: SequenceNumber) -> bool {
        self.settled.get(id) == Some(&version)
    }

    /// The membership by the administrator's notices.
    pub(crate) fn membership(&self) -> Option<&Membership> {
        self.admin.as_ref().and_then(|admin| self.writers.get(admin)).map(|admin| &admin.membership)
    }

    /// True if the administrator has removed this writer.
    pub(crate) fn is_removed(&self, writer: &WriterId) -> bool {
        self.membership().is_some_and(|membership| membership.is_removed(writer.as_str()))
    }

    /// True if a writer belongs to the team. One that has left belongs to it until there are new keys.
    pub(crate) fn is_member(&self, writer: &Writer) -> bool {
        let by = |membership: &Membership| membership.is_member(writer.id.as_str(), writer.introduced);
        self.membership().is_none_or(by)
    }

    /// The writers that belong to the team.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Writer> {
        self.writers.values().filter(|writer| self.is_member(writer))
    }

    /// The reasons why sessions of this home are not published.
    pub(crate) fn unpublished(&self) -> impl Iterator<Item = String> + '_ {
        let removed =
            self.undestroyed.iter().map(|(id, why)| format!("session {id} is not removed from the relay: {why}"));
        removed.chain(self.unpublished.iter().map(|(id, (_, why))| format!("session {id} is not published: {why}")))
    }

    /// Applies a recorded change.
    pub(crate) fn apply(&mut self, team: &TeamKeys, change: &mut Change) {
        let Change { writer: id, line, state, size, .. } = change;
        let applied = match self.writers.get_mut(id) {
            Some(writer) => writer.apply(line, state.take()).map_err(|error| error.to_string()),
            None => match Writer::from_first_notice(id, line) {
                Some(writer) => {
                    self.names.insert(team.writer_name(id), id.clone());
                    self.writers.insert(id.clone(), writer);
                    // Frames held or dropped because their writer was unknown may be usable now.
                    (self.may_receive_again, self.may_take_held) = (true, true);
                    Ok(())
                }
                None => Err("it does not introduce its writer".to_owned()),
            },
        };
        if let Err(error) = applied {
            tracing::error!(error, writer = %id, "recorded message not applied");
            self.is_stale = true;
        }
        // So may frames that wait for the administrator's notices.
        self.may_take_held |= self.admin.as_ref() == Some(id) && line.notice.is_some();
        if let Some(writer) = self.writers.get_mut(id) {
            writer.size = *size;
        }
    }

    /// The keys that the administrator has given the team and this home has not taken yet.
    pub(super) fn new_keys(&self, keys: &Keys) -> Vec<(u32, Secret)> {
        let own = keys.writer();
        let given = self.membership().into_iter().flat_map(|membership| membership.keys_of(own.as_str()));
        let new = given.filter(|(epoch, ..)| keys.team.key_of_epoch(*epoch).is_none());
        let opened = new.filter_map(|(epoch, hash, sealed)| {
            let key = boxes::open(keys, sealed).filter(|key| key.hash() == hash);
            if key.is_none() {
                tracing::warn!(epoch, "the key that the administrator has given this home is another one");
            }
            Some((epoch, key?))
        });
        opened.collect()
    }

    /// What is known of a stream and its writer.
    pub(crate) fn known(&self, (writer, stream): (Name, Name)) -> Known {
        let known = self.names.get(&writer).and_then(|id| self.writers.get(id));
        let is_waiting = self.held_by_writer(writer).next().is_some();
        let session = known.and_then(|known| known.sessions.get(known.streams.get(&stream)?).cloned());
        let held = self.held_by_writer(writer).filter(|((_, held), _)| *held != stream).map(|(_, held)| held.stored);
        let stored = known.map_or(0, |known| known.stored).saturating_add(held.fold(0, u64::saturating_add));
        let membership = match known {
            None => self.membership().cloned().unwrap_or_default(),
            Some(_) => Membership::default(),
        };
        let writer = known.map(|known| KnownWriter {
            id: known.id.clone(),
            key: known.key,
            notices: known.notices,
            is_member: self.is_member(known),
            sessions: known.sessions.len(),
            stored,
            gone: known.streams.get(&stream).and_then(|of| known.forgotten.get(of)).map(|gone| gone.sequence),
        });
        let members = if known.is_none() { self.members().filter(|member| !member.has_left).count() } else { 0 };
        Known { members, writer, is_waiting, session, membership }
    }

    /// Counts a refused frame. Returns true if it is the first of its writer.
    pub(super) fn refuse(&mut self, writer: Name, why: String) -> bool {
        let refused = self.refused.entry(self.names.get(&writer).cloned()).or_default();
        *refused = (refused.0.saturating_add(1), why);
        refused.0 == 1
    }

    /// The held frames of a writer.
    pub(super) fn held_by_writer(&self, writer: Name) -> impl Iterator<Item = (&(Name, Name), &Held)> {
        self.held.range((writer, Name([0; 16]))..=(writer, Name([u8::MAX; 16])))
    }

    /// Drops the held frames of a stream up to a sequence. Returns true if there were held frames.
    pub(super) fn abandon_message(&mut self, stream: (Name, Name), sequence: u64) -> bool {
        let is_known = self.names.contains_key(&stream.0);
        let Some(held) = self.held.get_mut(&stream) else { return false };
        held.frames.retain(|frame| Frame::parse(frame).is_ok_and(|frame| frame.header.sequence > sequence));
        let bytes = held.frames.iter().map(|frame| frame.len() + HELD_COST).sum();
        let gone = std::mem::replace(&mut held.bytes, bytes).saturating_sub(bytes);
        if held.frames.is_empty() {
            self.held.remove(&stream);
        } else {
            self.may_take_held = true;
        }
        let all = &mut self.held_bytes[usize::from(is_known)];
        *all = all.saturating_sub(gone);
        self.is_held_changed = true;
        true
    }

    /// All held frames.
    pub(crate) fn held_frames(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.held.values().flat_map(|held| &held.frames)
    }

    /// This home's name on the relay.
    pub(crate) fn own_name(&self) -> Option<Name> {
        self.names.iter().find(|(_, id)| self.own.as_ref() == Some(*id)).map(|(name, _)| *name)
    }

    /// The refused frames of a writer; `None` stands for all unknown ones.
    pub(crate) fn refused_frames(&self, writer: Option<&WriterId>) -> Option<&(u64, String)> {
        self.refused.get(&writer.cloned())
    }
}
