//! What this home knows of the team and its relay, and who belongs to it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use baton_config::settings::Settings;
use baton_conversation::record::{Position, SequenceNumber, SessionId, Timestamp};

use crate::keys::{Keys, Name, WriterId};
use crate::record::Writer;
use crate::transport::Stream;

#[derive(Default)]
pub(crate) struct State {
    pub(crate) writers: BTreeMap<WriterId, Writer>,
    /// The writers by their names on the relay.
    pub(super) names: BTreeMap<Name, WriterId>,
    /// This home.
    pub(crate) own: Option<WriterId>,
    /// Epoch of the team's newest key, and who gave it to this home.
    pub(super) epoch: u32,
    pub(super) epoch_giver: Option<WriterId>,
    /// Frames whose stream waits, in order, and why.
    pub(crate) held: BTreeMap<(Name, Name), Held>,
    /// Since when they wait.
    pub(crate) held_since: BTreeMap<(Name, Name), Timestamp>,
    /// True if frames were dropped that have to be received again.
    pub(super) has_dropped: bool,
    /// Members whose first notice is not there yet.
    pub(super) expected: BTreeSet<String>,
    /// Refused frames by writer: how many, and why the last one.
    pub(crate) refused: BTreeMap<Name, (u64, String)>,
    /// Why the relay or this machine does not do what it should.
    pub(crate) problem: Option<String>,
    /// What is wrong with what others have put on the relay.
    pub(crate) warnings: Vec<String>,
    /// True if what the relay has of this home was looked at since it was opened.
    pub(super) has_looked_back: bool,
    /// True if it is in an earlier state than when it was last read.
    pub(super) is_set_back: bool,
    /// What was published last, until it was received again.
    pub(super) unconfirmed: Option<(Stream, u64)>,
    /// Sessions of this home that it has lost.
    pub(crate) lost: BTreeSet<SessionId>,
    /// Sessions of this home whose traces on the relay are gone.
    pub(super) destroyed: BTreeSet<SessionId>,
    /// Why one of them is not gone yet.
    pub(crate) undestroyed: Option<String>,
    /// The sealed keys that were looked at.
    pub(super) adopted: Vec<(WriterId, String)>,
    /// True if the last round came to its end.
    pub(crate) is_connected: bool,
    /// When the relay was last read to its end, and when nothing was left to publish.
    pub(crate) read_at: Option<Timestamp>,
    pub(crate) level_at: Option<Timestamp>,
    /// Versions of sessions that have nothing more to publish.
    pub(super) settled: BTreeMap<SessionId, SequenceNumber>,
    /// Position up to which the session table was looked at.
    pub(super) looked: Option<Position>,
    /// The settings for which that holds.
    pub(super) looked_by: Option<Arc<Settings>>,
    /// Why single sessions of this home are not published.
    pub(super) unpublished: BTreeMap<SessionId, String>,
    /// Projects of this home by the address of their repository.
    pub(super) remotes: BTreeMap<String, String>,
}

#[derive(Default)]
pub(crate) struct Held {
    pub(crate) frames: VecDeque<Vec<u8>>,
    pub(crate) why: String,
}

impl State {
    /// True if this version of a session has nothing more to publish.
    pub(crate) fn is_settled(&self, id: &SessionId, version: SequenceNumber) -> bool {
        self.settled.get(id) == Some(&version)
    }

    /// True if another writer has removed this one, other than one whom this home has removed itself. A removal is
    /// final: what a removed writer says is not recorded, so whoever is recorded as removing was a member.
    pub(crate) fn is_removed(&self, writer: &WriterId) -> bool {
        let own = self.own.as_ref().and_then(|own| self.writers.get(own));
        let is_by_own = |removed: &WriterId| own.is_some_and(|own| own.removed.contains(removed.as_str()));
        is_by_own(writer)
            || self
                .writers
                .values()
                .any(|by| by.id != *writer && by.removed.contains(writer.as_str()) && !is_by_own(&by.id))
    }

    /// Two writers who have removed each other, if this home has removed neither. Which of them was a member still when
    /// it said so cannot be known.
    pub(crate) fn contested(&self) -> Option<(&Writer, &Writer)> {
        let removed = self.writers.values().filter(|writer| self.is_removed(&writer.id));
        removed.into_iter().find_map(|one| {
            let by_one = one.removed.iter().filter_map(|id| self.writers.get(&WriterId::parse(id)?));
            let mut other =
                by_one.filter(|other| other.removed.contains(one.id.as_str()) && self.is_removed(&other.id));
            Some((one, other.next()?))
        })
    }

    /// True if a writer belongs to the team: was not removed, and came with the team's newest key or is named by a
    /// member. An older key may be that of somebody who was removed.
    pub(crate) fn is_member(&self, writer: &Writer) -> bool {
        !self.is_removed(&writer.id)
            && (writer.joined_epoch >= self.epoch
                || self.own.as_ref() == Some(&writer.id)
                || self.vouched().contains(writer.id.as_str()))
    }

    /// What keeps single sessions of this home from being published.
    pub(crate) fn unpublished(&self) -> impl Iterator<Item = String> + '_ {
        self.unpublished.iter().map(|(id, why)| format!("session {id} is not published: {why}"))
    }

    /// Counts a refused frame.
    pub(super) fn refuse(&mut self, writer: Name, why: String) {
        let refused = self.refused.entry(writer).or_default();
        *refused = (refused.0 + 1, why);
    }

    /// All frames that wait.
    pub(crate) fn held_frames(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.held.values().flat_map(|held| &held.frames)
    }

    /// This home's name on the relay.
    pub(crate) fn own_name(&self) -> Option<Name> {
        self.names.iter().find(|(_, id)| self.own.as_ref() == Some(*id)).map(|(name, _)| *name)
    }

    /// Notes which key of the team is the newest.
    pub(super) fn know_epoch(&mut self, keys: &Keys) {
        self.epoch = keys.team.current().0;
        self.epoch_giver = keys.team.giver().cloned();
    }

    /// Writers whom a member names as such: when this home joined, or with the team's newest key.
    pub(super) fn vouched(&self) -> BTreeSet<String> {
        let giver = self.epoch_giver.as_ref().and_then(|by| self.writers.get(by));
        let named = giver.into_iter().flat_map(|by| by.boxes.keys().cloned().chain([by.id.to_string()]));
        named.chain(self.expected.iter().cloned()).collect()
    }

    /// What was refused of a writer.
    pub(crate) fn refused_of(&self, writer: &WriterId) -> Option<&(u64, String)> {
        let name = self.names.iter().find(|(_, id)| *id == writer)?.0;
        self.refused.get(name)
    }
}
