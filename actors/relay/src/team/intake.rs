//! Takes in what is on the relay, and removes what its writers want removed.

use std::collections::{BTreeMap, VecDeque};

use baton_base::durable;
use baton_conversation::hex;
use baton_conversation::record::SessionId;
use baton_sharing::batch::Said;
use x25519_dalek::PublicKey;

use super::{CURSOR, CursorV1, Member, State, Team};
use crate::inbound::{Inbound, NotTaken, Taken};
use crate::keys::{Keys, Name, TeamKeys, WriterId};
use crate::record::Record;
use crate::seal::{self, Frame, Kind};

/// Most bytes of frames that wait for what they need: of one writer, of all, and of those who are not known.
const MAX_HELD_OF_ONE: usize = 16 * 1024 * 1024;
const MAX_HELD: usize = 128 * 1024 * 1024;
const MAX_HELD_UNKNOWN: usize = 16 * 1024 * 1024;
/// What a held frame costs beside its bytes.
const HELD_COST: usize = 4 * 1024;
/// Most bytes of a team's keys.
const MAX_KEYS_BYTES: usize = 1024 * 1024;

impl Team {
    pub(super) async fn receive(&self, member: &mut Member) -> Result<(), String> {
        let held: Vec<_> = std::mem::take(&mut self.state().held).into_values().collect();
        let mut held: Vec<_> = held.into_iter().flat_map(|held| held.frames).collect();
        // What introduces a writer stands before what they say.
        held.sort_by_key(|frame| Frame::parse(frame).is_ok_and(|frame| frame.header.kind != Kind::Notice));
        let before = held.len();
        self.take_all(member, held).await?;
        {
            let mut state = self.state();
            if state.has_dropped && (before == 0 || state.held_frames().count() < before) {
                // There is room for what had to be dropped.
                (state.has_dropped, member.cursor) = (false, member.kept.clone());
            }
        }
        let mut warnings = Vec::new();
        loop {
            let received = member.relay.receive(&member.cursor).await.map_err(|error| error.to_string())?;
            self.take_all(member, received.frames).await?;
            let is_moved = member.cursor != received.cursor;
            member.cursor = received.cursor;
            warnings.extend(received.problems);
            if received.is_set_back {
                let mut state = self.state();
                (state.is_set_back, state.has_looked_back) = (true, false);
            }
            let is_settled = {
                let state = self.state();
                state.held.is_empty() && !state.has_dropped
            };
            // Frames that are held are in memory only, so they must be received again after a restart.
            if is_moved && is_settled {
                self.keep_cursor(member).await?;
                member.kept.clone_from(&member.cursor);
            }
            if !received.more {
                let mut state = self.state();
                let State { held, held_since, .. } = &mut *state;
                held_since.retain(|stream, _| held.contains_key(stream));
                (state.warnings, state.read_at) = (warnings, Some(self.options.clock.now()));
                return Ok(());
            }
        }
    }

    async fn keep_cursor(&self, member: &Member) -> Result<(), String> {
        let url = member.settings.url.clone().unwrap_or_default();
        let stored = serde_json::to_vec(&CursorV1 { url, cursor: member.cursor.clone() });
        let path = self.folder.join(CURSOR);
        let writing = baton_base::task::spawn_blocking(move || {
            let bytes = stored.map_err(std::io::Error::other)?;
            durable::write_file(&path, &bytes)
        });
        writing.await.map_err(std::io::Error::other).flatten().map_err(|error| error.to_string())
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
        {
            let mut state = self.state();
            let last = state.unconfirmed.filter(|(last, _)| (last.writer, last.stream) == stream);
            if last.is_some_and(|(_, sequence)| Frame::parse(frame).is_ok_and(|it| it.header.sequence >= sequence)) {
                state.unconfirmed = None;
            }
        }
        let is_behind = self.state().held.contains_key(&stream);
        let known = self.known(stream);
        let inbound = Inbound {
            relay: &*member.relay,
            keys: &member.keys,
            folder: &self.folder,
            now: self.options.clock.now(),
            later,
        };
        match inbound.take(&known, frame).await {
            Ok(Taken::Recorded(change)) => {
                let forgotten = change.line.notice.as_ref().and_then(|notice| match &notice.said {
                    Said::Forgot { session, .. } => Some(session.clone()),
                    _ => None,
                });
                let writer = change.writer.clone();
                // It begins its session anew: what it waited for before is void.
                self.state().held.remove(&stream);
                self.apply(member, *change);
                if let Some(session) = forgotten {
                    self.withdraw(member, &writer, &session).await?;
                }
            }
            Ok(Taken::Known) => {}
            Err(NotTaken::PassedOver(why)) => {
                self.state().held.remove(&stream);
                let mut state = self.state();
                if let Some(writer) = state.names.get(&stream.0).cloned().and_then(|id| state.writers.get_mut(&id)) {
                    writer.notices += 1;
                }
                state.refuse(stream.0, why);
            }
            Err(NotTaken::Held(_) | NotTaken::Refused(_)) if is_behind => self.hold(stream, frame, None),
            Err(NotTaken::Held(why)) => self.hold(stream, frame, Some(why)),
            Err(NotTaken::Refused(why)) => {
                tracing::warn!(why, writer = %stream.0, "message of another member refused");
                self.state().refuse(stream.0, why);
            }
            Err(NotTaken::Failed(why)) => return Err(why),
        }
        Ok(())
    }

    /// Keeps a frame until it can be taken in, or has it received again later.
    fn hold(&self, stream: (Name, Name), frame: &[u8], why: Option<String>) {
        let mut state = self.state();
        let cost = |frame: &[u8]| frame.len() + HELD_COST;
        let is_known = state.names.contains_key(&stream.0);
        let of = |select: &dyn Fn(Name) -> bool| -> usize {
            let held = state.held.iter().filter(|((writer, _), _)| select(*writer));
            held.flat_map(|(_, held)| &held.frames).map(|frame| cost(frame)).sum()
        };
        let of_one = of(&|writer| writer == stream.0);
        let alike = of(&|writer| state.names.contains_key(&writer) == is_known);
        let most = if is_known { MAX_HELD } else { MAX_HELD_UNKNOWN };
        if of_one + cost(frame) > MAX_HELD_OF_ONE || alike + cost(frame) > most {
            state.has_dropped = true;
            state.refuse(stream.0, "more waits for what it needs than is kept; it is received again later".to_owned());
            return;
        }
        state.held_since.entry(stream).or_insert_with(|| self.options.clock.now());
        let held = state.held.entry(stream).or_default();
        held.frames.push_back(frame.to_vec());
        if let Some(why) = why {
            held.why = why;
        }
    }

    /// Adds keys that another member has given the team. Returns true if there were any.
    pub(super) async fn adopt_keys(&self, member: &mut Member) -> Result<bool, String> {
        let boxes: Vec<(WriterId, String)> = {
            let mut state = self.state();
            let own = member.keys.writer();
            let mut given: Vec<_> = state.writers.values().filter(|by| by.boxes.contains_key(own.as_str())).collect();
            // Whoever has been known longest is believed first: a stranger may be somebody who was removed.
            given.sort_by_key(|by| (by.since, by.id.clone()));
            let given = given.into_iter().map(|by| (by.id.clone(), by.boxes[own.as_str()].clone())).collect::<Vec<_>>();
            if given == state.adopted {
                return Ok(false);
            }
            state.adopted.clone_from(&given);
            given
        };
        let mut is_new = false;
        for (by, sealed) in &boxes {
            let is_member = {
                let state = self.state();
                state.contested().is_none() && state.writers.get(by).is_some_and(|by| state.is_member(by))
            };
            match open_box(&member.keys, sealed).filter(|_| is_member) {
                Some(team) => is_new |= member.keys.team.add_epochs(&team, by),
                None => tracing::warn!(%by, "keys of the team that another writer gave are not taken"),
            }
            self.state().know_epoch(&member.keys);
        }
        if !is_new {
            return Ok(false);
        }
        let (keys, path) = (member.keys.clone(), self.key_file(&member.settings));
        let writing = baton_base::task::spawn_blocking(move || keys.write(&path));
        writing.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        tracing::info!("the team has new keys");
        Ok(true)
    }

    /// Removes what another writer wants removed.
    async fn withdraw(&self, member: &Member, writer: &WriterId, session: &SessionId) -> Result<(), String> {
        if *writer == member.keys.writer() {
            return Ok(());
        }
        let stream = (member.keys.team.writer_name(writer), member.keys.team.session_name(writer, session));
        self.state().held.remove(&stream);
        let is_theirs = self.others.borrow().author(session).is_some_and(|author| author.writer == writer.as_str());
        if is_theirs {
            self.others.send_modify(|others| others.remove(session));
            self.options.chunks.read_also(session, None);
        }
        let (record, of) = (Record::new(&self.folder, writer), session.clone());
        let removing = baton_base::task::spawn_blocking(move || record.remove(&of));
        removing.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        tracing::info!(%session, reason = "forgotten by its writer", "session of another member removed");
        // Another writer may have it as well.
        self.publish_others();
        Ok(())
    }

    /// Tells others what was removed here as they asked.
    pub(super) async fn acknowledge(&self, member: &Member) -> Result<(), String> {
        let (mut notices, owed) = {
            let state = self.state();
            let Some(own) = state.writers.get(&member.keys.writer()) else { return Ok(()) };
            let others = state.writers.values().filter(|writer| writer.id != own.id);
            let asked = others.flat_map(|writer| writer.forgotten.keys().map(|id| (writer.id.to_string(), id.clone())));
            (own.notices, asked.filter(|asked| !own.acknowledged.contains(asked)).collect::<Vec<_>>())
        };
        if owed.is_empty() {
            return Ok(());
        }
        // Another writer may have it as well.
        let is_shown = |session: &SessionId| self.others.borrow().get(session).is_some();
        let asked = owed.iter().map(|(_, session)| session.clone());
        let gone: Vec<_> = asked.filter(|session| !is_shown(session)).collect();
        if !gone.is_empty()
            && let Err(error) = (self.options.purge)(gone).await
        {
            tracing::warn!(%error, "memory not purged of what others withdrew, it is said later");
            return Ok(());
        }
        for (writer, session) in owed {
            self.say(member, notices, Said::Acknowledged { writer, session }).await?;
            notices += 1;
        }
        Ok(())
    }
}

/// The stream that a frame says it belongs to.
fn stream_of(frame: &[u8]) -> (Name, Name) {
    let header = Frame::parse(frame).ok().map(|frame| frame.header);
    header.map_or((Name([0; 16]), Name([0; 16])), |header| (header.writer, header.stream))
}

/// The team's keys that were sealed for this home alone.
fn open_box(keys: &Keys, sealed: &str) -> Option<TeamKeys> {
    let (key, sealed) = sealed.split_at_checked(64)?;
    let secret = keys.shared_with(&PublicKey::from(hex::decode::<32>(key)?));
    let object = hex::decode_all(sealed)?;
    serde_json::from_slice(&seal::unseal_object(&object, &secret, Name([0; 16]), MAX_KEYS_BYTES).ok()?).ok()
}
