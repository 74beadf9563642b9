//! Receives what is on the relay, and removes what its writers want removed.
//!
//! The cursor always advances. Frames that wait are kept in a file beside it; those beyond its limits are dropped, and
//! everything is received again once there is room, or a writer or key is new.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::path::Path;

use baton_base::durable;
use baton_conversation::record::{SessionId, Timestamp};
use baton_sharing::batch::Said;
use serde::{Deserialize, Serialize};

use super::state::HELD_COST;
use super::{Member, State, Team};
use crate::inbound::{Inbound, NotTaken, Taken};
use crate::keys::{Name, WriterId};
use crate::record::{Record, Retention};
use crate::seal::{Frame, Kind};

/// Most bytes of held frames: of one writer, of all known writers, and of unknown ones.
const MAX_HELD_OF_ONE: usize = 16 * 1024 * 1024;
const MAX_HELD: usize = 128 * 1024 * 1024;
const MAX_HELD_UNKNOWN: usize = 16 * 1024 * 1024;
/// The files of the cursor, and of the frames that are held.
const CURSOR: &str = "cursor.json";
const HELD: &str = "held";
/// Largest file of the cursor.
const CURSOR_MAX_BYTES: u64 = 4 * 1024 * 1024;
/// Most answers of a relay in one round.
const MOST_ANSWERS: usize = 64;
/// How often everything may be received again.
const AGAIN_MS: i64 = 60 * 1000;
/// How often removals of sessions that were not here are acknowledged: a flood of them is not answered one by one.
const ACKNOWLEDGE_MS: i64 = 15 * 1000;

#[derive(Serialize, Deserialize)]
struct CursorV2 {
    url: String,
    cursor: String,
    /// See [`State::has_dropped`].
    has_dropped: bool,
}

/// Makes everything be received again from the start. Blocks for the disk.
pub(super) fn forget_cursor(folder: &Path) -> io::Result<()> {
    durable::remove_file(&folder.join(CURSOR))
}

impl Team {
    /// Receives what there is. Returns false if there is more.
    pub(crate) async fn receive(&self, member: &mut Member) -> Result<bool, String> {
        if !self.state().holds_back {
            self.process_held(member).await?;
        }
        let mut warnings = Vec::new();
        for _ in 0..MOST_ANSWERS {
            let received = member.relay.receive(&member.cursor).await.map_err(|error| error.to_string())?;
            self.process_all(member, received.frames).await?;
            while std::mem::take(&mut self.state().may_take_held) {
                self.process_held(member).await?;
            }
            self.compact().await?;
            let is_moved = member.cursor != received.cursor;
            member.cursor = received.cursor;
            // Records that could not be read are received again after the next start.
            self.state().has_dropped |= !received.problems.is_empty();
            warnings.extend(received.problems);
            if received.is_set_back {
                // Recorded before the new cursor, which no longer shows it.
                self.mark_set_back().await?;
                let mut state = self.state();
                (state.is_set_back, state.has_looked_back) = (true, false);
            }
            if is_moved || self.state().is_held_changed {
                self.write_cursor(member).await?;
            }
            if !received.more && !self.must_receive_again(member) {
                let mut state = self.state();
                let State { held, held_since, .. } = &mut *state;
                held_since.retain(|stream, _| held.contains_key(stream));
                (state.warnings, state.read_at) = (warnings, Some(self.options.clock.now()));
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// True if everything must be received again now.
    fn must_receive_again(&self, member: &mut Member) -> bool {
        let (now, mut state) = (self.options.clock.now(), self.state());
        let is_due = member.received_again.is_none_or(|at| at.plus_ms(AGAIN_MS) <= now);
        let again = state.has_dropped && state.may_receive_again && is_due;
        if again {
            (state.has_dropped, state.may_receive_again) = (false, false);
            (member.cursor, member.received_again) = (String::new(), Some(now));
        }
        again
    }

    /// Tries the held frames again.
    async fn process_held(&self, member: &Member) -> Result<(), String> {
        let (held, was_changed) = {
            let mut state = self.state();
            state.held_bytes = [0; 2];
            (std::mem::take(&mut state.held), state.is_held_changed)
        };
        let mut held: Vec<_> = held.into_values().flat_map(|held| held.frames).collect();
        let before = held.len();
        // Introductions and the administrator's notices come before the frames that need them.
        held.sort_by_key(|frame| Frame::parse(frame).is_ok_and(|frame| frame.header.kind != Kind::Notice));
        self.process_all(member, held).await?;
        let mut state = self.state();
        let is_less = state.held_frames().count() < before;
        state.is_held_changed = was_changed || is_less;
        state.may_receive_again |= is_less;
        Ok(())
    }

    async fn write_cursor(&self, member: &Member) -> Result<(), String> {
        let url = member.settings.url.clone().unwrap_or_default();
        let (stored, held) = {
            let mut state = self.state();
            let held = std::mem::take(&mut state.is_held_changed).then(|| {
                let mut held = Vec::new();
                for frame in state.held_frames() {
                    held.extend_from_slice(&u32::try_from(frame.len()).unwrap_or_default().to_be_bytes());
                    held.extend_from_slice(frame);
                }
                held
            });
            (CursorV2 { url, cursor: member.cursor.clone(), has_dropped: state.has_dropped }, held)
        };
        let folder = self.folder.clone();
        let writing = baton_base::task::spawn_blocking(move || {
            if let Some(held) = held {
                durable::write_file(&folder.join(HELD), &held)?;
            }
            durable::write_file(&folder.join(CURSOR), &serde_json::to_vec(&stored)?)
        });
        writing.await.map_err(io::Error::other).flatten().map_err(|error| error.to_string())
    }

    /// The saved cursor of a relay. Also restores the frames held then. Blocks for the disk.
    pub(super) fn read_cursor(&self, url: &str) -> String {
        let stored: Option<CursorV2> =
            durable::read_json(&self.folder.join(CURSOR), CURSOR_MAX_BYTES).unwrap_or_default();
        let Some(stored) = stored.filter(|stored| stored.url == url) else { return String::new() };
        self.state().has_dropped |= stored.has_dropped;
        let Ok(held) = std::fs::read(self.folder.join(HELD)) else { return stored.cursor };
        let mut rest = &held[..];
        while let Some((length, behind)) = rest.split_first_chunk::<4>()
            && let Some((frame, behind)) = behind.split_at_checked(u32::from_be_bytes(*length) as usize)
        {
            self.hold(stream_of(frame), frame, String::new(), 0);
            rest = behind;
        }
        stored.cursor
    }

    async fn process_all(&self, member: &Member, frames: Vec<Vec<u8>>) -> Result<(), String> {
        let mut left: BTreeMap<(Name, Name), VecDeque<&[u8]>> = BTreeMap::new();
        for frame in &frames {
            left.entry(stream_of(frame)).or_default().push_back(frame);
        }
        for frame in &frames {
            let stream = stream_of(frame);
            let later = left.entry(stream).or_default();
            later.pop_front();
            self.process_frame(member, stream, frame, later.make_contiguous()).await?;
        }
        Ok(())
    }

    /// Receives, holds or refuses one frame.
    async fn process_frame(
        &self,
        member: &Member,
        stream: (Name, Name),
        frame: &[u8],
        later: &[&[u8]],
    ) -> Result<(), String> {
        let (is_behind, known) = {
            let mut state = self.state();
            let last = state.unconfirmed.filter(|(last, _)| (last.writer, last.stream) == stream);
            if last.is_some_and(|(_, sequence)| Frame::parse(frame).is_ok_and(|it| it.header.sequence >= sequence)) {
                state.unconfirmed = None;
            }
            (state.held.contains_key(&stream), state.known(stream))
        };
        match self.inbound(member, later).receive(&known, frame).await {
            Ok(Taken::Recorded(mut change)) => {
                let forgotten = change.line.notice.as_ref().and_then(|notice| match &notice.said {
                    Said::Forgot { session, .. } => Some(session.clone()),
                    _ => None,
                });
                let writer = change.writer.clone();
                let had_it = {
                    let mut state = self.state();
                    state.abandon_message(stream, change.line.sequence);
                    if let Some(why) = change.refused.take() {
                        state.refuse(stream.0, why);
                    }
                    let is_unsure = state.unsure.remove(&stream.1);
                    state.is_copied |= writer == member.keys.writer() && member.is_current && !is_unsure;
                    let known = state.writers.get(&writer);
                    known.zip(forgotten.as_ref()).is_some_and(|(known, gone)| known.sessions.contains_key(gone))
                };
                self.apply(member, *change);
                if let Some(session) = forgotten {
                    self.remove_withdrawn(member, &writer, &session, had_it);
                }
            }
            Ok(Taken::Known) => {}
            Err(NotTaken::Held { why, stored }) => self.hold(stream, frame, why, stored),
            Err(NotTaken::Refused(_)) if is_behind => self.hold(stream, frame, String::new(), 0),
            Err(NotTaken::Refused(why)) => self.refuse(stream.0, why),
            Err(NotTaken::Failed(why)) => return Err(why),
            Err(NotTaken::Unsure(why)) => {
                // The record may be ahead of the state in memory.
                self.state().is_stale = true;
                return Err(why);
            }
        }
        Ok(())
    }

    /// Fetches the conversation of a session again.
    pub(crate) async fn fetch_again(
        &self,
        member: &Member,
        writer: &WriterId,
        session: &SessionId,
    ) -> Result<(), String> {
        let shared = self.state().writers.get(writer).and_then(|writer| writer.sessions.get(session).cloned());
        let Some(shared) = shared else { return Ok(()) };
        let Some(conversation) = &shared.conversation else { return Ok(()) };
        let inbound = self.inbound(member, &[]);
        let fetched = inbound.fetch(writer, session, conversation, &BTreeSet::new(), &shared.key).await;
        fetched.map_err(|error| match error {
            NotTaken::Held { why, .. } | NotTaken::Refused(why) | NotTaken::Failed(why) | NotTaken::Unsure(why) => why,
        })
    }

    fn inbound<'a>(&'a self, member: &'a Member, later: &'a [&'a [u8]]) -> Inbound<'a> {
        let now = self.options.clock.now();
        Inbound { relay: &*member.relay, keys: &member.keys, folder: &self.folder, now, later }
    }

    fn refuse(&self, writer: Name, why: String) {
        if self.state().refuse(writer, why.clone()) {
            tracing::warn!(why, %writer, "message of another member refused; further ones are counted");
        }
    }

    /// Keeps a frame until it can be received, or drops it to be received again later.
    fn hold(&self, stream: (Name, Name), frame: &[u8], why: String, stored: u64) {
        let mut state = self.state();
        let key = state.names.get(&stream.0).and_then(|id| state.writers.get(id)).map(|writer| writer.key);
        // Anybody can put another writer's name on a frame.
        if key.is_some_and(|key| Frame::parse(frame).is_ok_and(|frame| frame.verify(&key).is_err())) {
            state.refuse(stream.0, "its signature is not its writer's".to_owned());
            return;
        }
        let is_held = state.held.get(&stream).is_some_and(|held| held.frames.iter().any(|known| known == frame));
        let (is_known, cost) = (usize::from(key.is_some()), frame.len() + HELD_COST);
        let of_one: usize = state.held_by_writer(stream.0).map(|(_, held)| held.bytes).sum();
        let alike = state.held_bytes[is_known];
        let most = if key.is_some() { MAX_HELD } else { MAX_HELD_UNKNOWN };
        if !is_held && (of_one + cost > MAX_HELD_OF_ONE || alike + cost > most) {
            state.has_dropped = true;
            state.refuse(stream.0, "more waits for what it needs than is kept; it is received again later".to_owned());
            return;
        }
        state.held_since.entry(stream).or_insert_with(|| self.options.clock.now());
        let held = state.held.entry(stream).or_default();
        held.stored = held.stored.max(stored);
        if !why.is_empty() {
            held.why = why;
        }
        if !is_held {
            held.frames.push_back(frame.to_vec());
            held.bytes += cost;
            state.held_bytes[is_known] += cost;
            state.is_held_changed = true;
        }
    }

    /// Adds keys that the administrator has given the team. Returns true if there were new ones.
    pub(crate) async fn adopt_keys(&self, member: &mut Member) -> Result<bool, String> {
        let given = self.state().new_keys(&member.keys);
        let mut is_new = false;
        for (epoch, key) in given {
            is_new |= member.keys.team.add_epoch(epoch, key);
        }
        if !is_new {
            return Ok(false);
        }
        let (keys, path) = (member.keys.clone(), self.key_file(&member.settings));
        let writing = baton_base::task::spawn_blocking(move || keys.write(&path));
        writing.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        tracing::info!("the team has new keys");
        let mut state = self.state();
        (state.may_receive_again, state.may_take_held) = (true, true);
        Ok(true)
    }

    /// Removes what another writer wants removed, if it was here.
    fn remove_withdrawn(&self, member: &Member, writer: &WriterId, session: &SessionId, had_it: bool) {
        if *writer == member.keys.writer() {
            return;
        }
        let stream = (member.keys.team.writer_name(writer), member.keys.team.session_name(writer, session));
        let was_held = {
            let mut state = self.state();
            state.owes_acknowledgement |= had_it;
            state.abandon_message(stream, u64::MAX)
        };
        // A conversation may be there even if its record was damaged.
        let folder = Record::new(&self.folder, writer).blobs().folder_of(session);
        if !had_it && !was_held && !folder.exists() {
            return;
        }
        // Another writer may have it as well.
        self.republish_row(session);
        let mut state = self.state();
        if let Some(writer) = state.writers.get_mut(writer) {
            writer.void.insert(session.clone());
        }
    }

    /// Compacts the records that need it.
    pub(crate) async fn compact(&self) -> Result<(), String> {
        let long: Vec<(WriterId, Retention)> = {
            let state = self.state();
            let long = state.writers.iter().filter(|(_, writer)| writer.needs_compaction());
            long.map(|(id, writer)| (id.clone(), writer.retention())).collect()
        };
        for (id, counting) in long {
            let (record, recording) = (Record::new(&self.folder, &id), self.recording.clone().lock_owned().await);
            let compacting = baton_base::task::spawn_blocking(move || {
                let _recording = recording;
                record.compact(&counting)
            });
            let compacted = compacting.await.map_err(|error| error.to_string());
            let mut state = self.state();
            let size = compacted.and_then(|done| done.map_err(|error| error.to_string())).inspect_err(|_| {
                // A damaged record is cut off when it is read.
                state.is_stale = true;
            })?;
            if let Some(writer) = state.writers.get_mut(&id) {
                for session in std::mem::take(&mut writer.void) {
                    tracing::info!(%session, writer = %id, "what does not count any more of a session removed");
                }
                (writer.size, writer.compacted) = (size, size);
            }
        }
        Ok(())
    }

    /// Acknowledges removals to other writers: at once if the session was here, else now and then.
    pub(super) async fn acknowledge_removals(&self, member: &Member) -> Result<(), String> {
        let now = self.options.clock.now();
        let (mut notices, owed, asked) = {
            let mut state = self.state();
            let own = member.keys.writer();
            let is_owed = state.has_unacknowledged(&own);
            state.owes_later = is_owed;
            let is_due = |at: Timestamp| at.plus_ms(ACKNOWLEDGE_MS) <= now;
            let Some(own) = state.writers.get(&own).filter(|_| is_owed) else { return Ok(()) };
            if !state.owes_acknowledgement && !state.acknowledged.is_none_or(is_due) {
                return Ok(());
            }
            let (mut owed, mut asked) = (Vec::new(), Vec::new());
            for writer in state.members().filter(|writer| writer.id != own.id) {
                let new = own.unacknowledged(writer);
                let before = asked.len();
                asked.extend(new.map(|(session, _)| session.clone()));
                owed.extend((asked.len() > before).then(|| (writer.id.to_string(), writer.notices)));
            }
            (own.notices, owed, asked)
        };
        // This distinguishes sessions that another writer still has.
        if !asked.is_empty()
            && let Err(error) = (self.options.purge)(asked).await
        {
            tracing::warn!(%error, "memory not purged of what others withdrew, it is said later");
            return Ok(());
        }
        for (writer, up_to) in owed {
            self.publish_notice(member, notices, Said::Acknowledged { writer, notices: up_to }).await?;
            notices += 1;
        }
        let mut state = self.state();
        (state.owes_acknowledgement, state.owes_later, state.acknowledged) = (false, false, Some(now));
        Ok(())
    }
}

impl State {
    /// True if removals of other writers await acknowledgement.
    fn has_unacknowledged(&self, own: &WriterId) -> bool {
        let own = self.writers.get(own);
        own.is_some_and(|own| self.members().any(|it| it.id != own.id && own.unacknowledged(it).next().is_some()))
    }
}

/// The writer and stream that a frame claims.
fn stream_of(frame: &[u8]) -> (Name, Name) {
    let header = Frame::parse(frame).ok().map(|frame| frame.header);
    header.map_or((Name([0; 16]), Name([0; 16])), |header| (header.writer, header.stream))
}
