//! Takes in what is on the relay, and removes what its writers want removed.
//!
//! The cursor always moves on. What waits for something is kept in a file beside it; what there is no room for is dropped,
//! and everything is received again once there is room, or a writer or a key is new.

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
use crate::record::{Counting, Record};
use crate::seal::{Frame, Kind};

/// Most bytes of frames that wait for what they need: of one writer, of all, and of those who are not known.
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
/// How often others are told that nothing had to be removed here: whoever says it of ever more sessions is not answered
/// each time.
const ACKNOWLEDGE_MS: i64 = 15 * 1000;

#[derive(Serialize, Deserialize)]
struct CursorV2 {
    url: String,
    cursor: String,
    /// See [`State::has_dropped`].
    has_dropped: bool,
}

/// Has everything received again from the start. Blocks for the disk.
pub(super) fn forget_cursor(folder: &Path) -> io::Result<()> {
    durable::remove_file(&folder.join(CURSOR))
}

impl Team {
    /// Takes in what there is. Returns false if there is more.
    pub(crate) async fn receive(&self, member: &mut Member) -> Result<bool, String> {
        if !self.state().holds_back {
            self.take_held(member).await?;
        }
        let mut warnings = Vec::new();
        for _ in 0..MOST_ANSWERS {
            let received = member.relay.receive(&member.cursor).await.map_err(|error| error.to_string())?;
            self.take_all(member, received.frames).await?;
            while std::mem::take(&mut self.state().may_take_held) {
                self.take_held(member).await?;
            }
            self.compact().await?;
            let is_moved = member.cursor != received.cursor;
            member.cursor = received.cursor;
            // What could not be read is received again after the next start.
            self.state().has_dropped |= !received.problems.is_empty();
            warnings.extend(received.problems);
            if received.is_set_back {
                // Before the new cursor, which does not show it any more.
                self.mark_set_back().await?;
                let mut state = self.state();
                (state.is_set_back, state.has_looked_back) = (true, false);
            }
            if is_moved || self.state().is_held_changed {
                self.keep_cursor(member).await?;
            }
            if !received.more && !self.receives_again(member) {
                let mut state = self.state();
                let State { held, held_since, .. } = &mut *state;
                held_since.retain(|stream, _| held.contains_key(stream));
                (state.warnings, state.read_at) = (warnings, Some(self.options.clock.now()));
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// True if everything is to be received again now.
    fn receives_again(&self, member: &mut Member) -> bool {
        let (now, mut state) = (self.options.clock.now(), self.state());
        let is_due = member.received_again.is_none_or(|at| at.plus_ms(AGAIN_MS) <= now);
        let again = state.has_dropped && state.may_receive_again && is_due;
        if again {
            (state.has_dropped, state.may_receive_again) = (false, false);
            (member.cursor, member.received_again) = (String::new(), Some(now));
        }
        again
    }

    /// Tries the frames that wait.
    async fn take_held(&self, member: &Member) -> Result<(), String> {
        let (held, was_changed) = {
            let mut state = self.state();
            state.held_bytes = [0; 2];
            (std::mem::take(&mut state.held), state.is_held_changed)
        };
        let mut held: Vec<_> = held.into_values().flat_map(|held| held.frames).collect();
        let before = held.len();
        // What introduces a writer, and what the administrator says, stands before what it is needed for.
        held.sort_by_key(|frame| Frame::parse(frame).is_ok_and(|frame| frame.header.kind != Kind::Notice));
        self.take_all(member, held).await?;
        let mut state = self.state();
        let is_less = state.held_frames().count() < before;
        state.is_held_changed = was_changed || is_less;
        state.may_receive_again |= is_less;
        Ok(())
    }

    async fn keep_cursor(&self, member: &Member) -> Result<(), String> {
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

    /// The cursor that was kept for a relay. Frames that were held then are held again. Blocks for the disk.
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

    async fn take_all(&self, member: &Member, frames: Vec<Vec<u8>>) -> Result<(), String> {
        let mut left: BTreeMap<(Name, Name), VecDeque<&[u8]>> = BTreeMap::new();
        for frame in &frames {
            left.entry(stream_of(frame)).or_default().push_back(frame);
        }
        for frame in &frames {
            let stream = stream_of(frame);
            let later = left.entry(stream).or_default();
            later.pop_front();
            self.take(member, stream, frame, later.make_contiguous()).await?;
        }
        Ok(())
    }

    /// Takes in one frame, or holds or refuses it.
    async fn take(&self, member: &Member, stream: (Name, Name), frame: &[u8], later: &[&[u8]]) -> Result<(), String> {
        let (is_behind, known) = {
            let mut state = self.state();
            let last = state.unconfirmed.filter(|(last, _)| (last.writer, last.stream) == stream);
            if last.is_some_and(|(_, sequence)| Frame::parse(frame).is_ok_and(|it| it.header.sequence >= sequence)) {
                state.unconfirmed = None;
            }
            (state.held.contains_key(&stream), state.known(stream))
        };
        match self.inbound(member, later).take(&known, frame).await {
            Ok(Taken::Recorded(mut change)) => {
                let forgotten = change.line.notice.as_ref().and_then(|notice| match &notice.said {
                    Said::Forgot { session, .. } => Some(session.clone()),
                    _ => None,
                });
                let writer = change.writer.clone();
                let had_it = {
                    let mut state = self.state();
                    state.let_go(stream, change.line.sequence);
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
                    self.withdraw(member, &writer, &session, had_it);
                }
            }
            Ok(Taken::Known) => {}
            Err(NotTaken::Held { why, stored }) => self.hold(stream, frame, why, stored),
            Err(NotTaken::Refused(_)) if is_behind => self.hold(stream, frame, String::new(), 0),
            Err(NotTaken::Refused(why)) => self.refuse(stream.0, why),
            Err(NotTaken::Failed(why)) => return Err(why),
            Err(NotTaken::Unsure(why)) => {
                // What is recorded may be more than what is known.
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

    /// Keeps a frame until it can be taken in, or has it received again later.
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
        let of_one: usize = state.held_of(stream.0).map(|(_, held)| held.bytes).sum();
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

    /// Adds keys that the administrator has given the team. Returns true if there were any.
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
    fn withdraw(&self, member: &Member, writer: &WriterId, session: &SessionId, had_it: bool) {
        if *writer == member.keys.writer() {
            return;
        }
        let stream = (member.keys.team.writer_name(writer), member.keys.team.session_name(writer, session));
        let was_held = {
            let mut state = self.state();
            state.owes_acknowledgement |= had_it;
            state.let_go(stream, u64::MAX)
        };
        // A conversation may be there also if its record was damaged.
        let folder = Record::new(&self.folder, writer).blobs().folder_of(session);
        if !had_it && !was_held && !folder.exists() {
            return;
        }
        // Another writer may have it as well.
        self.show(session);
        let mut state = self.state();
        if let Some(writer) = state.writers.get_mut(writer) {
            writer.void.insert(session.clone());
        }
    }

    /// Removes from the records what must not stay there, and what has been superseded often.
    pub(crate) async fn compact(&self) -> Result<(), String> {
        let long: Vec<(WriterId, Counting)> = {
            let state = self.state();
            let long = state.writers.iter().filter(|(_, writer)| writer.is_long());
            long.map(|(id, writer)| (id.clone(), writer.counting())).collect()
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
                // Records that are damaged are cut off when they are read.
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

    /// Tells others that what they wanted removed is: at once if it was here, else now and then.
    pub(super) async fn acknowledge(&self, member: &Member) -> Result<(), String> {
        let now = self.options.clock.now();
        let (mut notices, owed, asked) = {
            let mut state = self.state();
            let own = member.keys.writer();
            let is_owed = state.acknowledges_later(&own);
            state.owes_later = is_owed;
            let is_due = |at: Timestamp| at.plus_ms(ACKNOWLEDGE_MS) <= now;
            let Some(own) = state.writers.get(&own).filter(|_| is_owed) else { return Ok(()) };
            if !state.owes_acknowledgement && !state.acknowledged.is_none_or(is_due) {
                return Ok(());
            }
            let (mut owed, mut asked) = (Vec::new(), Vec::new());
            for writer in state.members().filter(|writer| writer.id != own.id) {
                let new = own.not_acknowledged(writer);
                let before = asked.len();
                asked.extend(new.map(|(session, _)| session.clone()));
                owed.extend((asked.len() > before).then(|| (writer.id.to_string(), writer.notices)));
            }
            (own.notices, owed, asked)
        };
        // Those that another writer still shows are told apart by it.
        if !asked.is_empty()
            && let Err(error) = (self.options.purge)(asked).await
        {
            tracing::warn!(%error, "memory not purged of what others withdrew, it is said later");
            return Ok(());
        }
        for (writer, up_to) in owed {
            self.say(member, notices, Said::Acknowledged { writer, notices: up_to }).await?;
            notices += 1;
        }
        let mut state = self.state();
        (state.owes_acknowledgement, state.owes_later, state.acknowledged) = (false, false, Some(now));
        Ok(())
    }
}

impl State {
    /// True if others wait to hear of this home that something is removed.
    fn acknowledges_later(&self, own: &WriterId) -> bool {
        let own = self.writers.get(own);
        own.is_some_and(|own| self.members().any(|it| it.id != own.id && own.not_acknowledged(it).next().is_some()))
    }
}

/// The stream that a frame says it belongs to.
fn stream_of(frame: &[u8]) -> (Name, Name) {
    let header = Frame::parse(frame).ok().map(|frame| frame.header);
    header.map_or((Name([0; 16]), Name([0; 16])), |header| (header.writer, header.stream))
}
