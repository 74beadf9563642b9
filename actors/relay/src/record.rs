//! What was accepted of a writer, or published as one: their streams, opened, and the conversations.
//!
//! `relay/<writer>/log` has one line for each message: the beginning of its SHA-256 and the message as JSON. A line is
//! durable before anything else follows from its message. A torn last line is cut off; a log with a damaged line is
//! that of a writer who is read from the start again. `relay/<writer>/blobs/` holds the conversations as the home's own
//! are held.
//!
//! For the home's own writer it is the outbox: the sequence that each session has reached, how many of its events, and
//! what is put beside the streams, noted before it is put there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead as _, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use baton_base::{durable, transcript_file};
use baton_conversation::hash::ContentHash;
use baton_conversation::hex;
use baton_conversation::record::{SessionId, Timestamp};
use baton_events::session::State;
use baton_sharing::batch::{Batch, Conversation, Notice, Said};
use baton_sharing::membership::Membership;
use baton_store::chunks::{ChunkStore, ManifestId};
use ed25519_dalek::VerifyingKey;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::keys::{Name, Secret, WriterId};

/// Bytes of a line's check.
const CHECK: usize = 8;
/// Longest log that is read.
const MAX_BYTES: u64 = 4 * 1024 * 1024 * 1024;
/// A log of this size is searched for what is superseded.
const COMPACT_BYTES: u64 = 8 * 1024 * 1024;

/// One message, as it is recorded.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Line {
    /// Its place in its stream.
    pub(crate) sequence: u64,
    /// When its session was first recorded here, if the line takes the place of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<Timestamp>,
    /// When it was recorded here.
    pub(crate) at: Timestamp,
    /// Name of its stream.
    #[serde(default)]
    pub(crate) stream: String,
    /// Epoch of the keys by which it was sealed.
    #[serde(default)]
    pub(crate) epoch: u32,
    /// A batch of a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) batch: Option<Batch>,
    /// A notice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) notice: Option<Notice>,
    /// The session's own key. It is in every line of a session, so that it goes with them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<Secret>,
    /// Of a batch of this home: the chunks that the published ones were made of, and the version of the rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) made_of: Option<MadeOf>,
    /// Of this home: it came from the relay; another state of this home has published it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) received: bool,
    /// Of this home: what will lie beside a session's stream, for the key of this line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) intended: Option<Intended>,
}

/// See [`Line::intended`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Intended {
    pub(crate) session: SessionId,
    pub(crate) objects: Vec<ContentHash>,
}

impl Line {
    /// The session that it belongs to.
    fn session(&self) -> Option<&SessionId> {
        let intended = || self.intended.as_ref().map(|intended| &intended.session);
        self.batch.as_ref().map(|batch| &batch.session).or_else(intended)
    }
}

/// See [`Line::made_of`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MadeOf {
    /// Version of the rules of redaction.
    pub(crate) rules: u32,
    /// Names of the chunks, in order.
    pub(crate) chunks: Vec<String>,
}

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
    /// Sessions that they want removed everywhere.
    pub(crate) forgotten: Arc<BTreeMap<SessionId, Tombstone>>,
    /// Of this home: sessions that another state of it has withdrawn, and this one has not.
    pub(crate) withheld: BTreeSet<SessionId>,
    /// Of this home: what was put beside streams, and no batch names yet.
    pub(crate) begun: BTreeMap<SessionId, Begun>,
    /// The last notice of each other writer up to which they have removed what those wanted removed.
    pub(crate) acknowledged: BTreeMap<String, u64>,
    /// Their sessions by the names of the streams.
    pub(crate) streams: BTreeMap<Name, SessionId>,
    /// Bytes of their conversations, before compression.
    pub(crate) stored: u64,
    /// Bytes of their record when it was last compacted.
    pub(crate) compacted: u64,
}

/// Why a log cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("line {line} is damaged")]
    Damaged { line: usize },
}

/// The files of one writer.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    folder: PathBuf,
}

impl Record {
    pub(crate) fn new(relay: &Path, writer: &WriterId) -> Self {
        Self { folder: relay.join(writer.as_str()) }
    }

    /// The writers of whom there is a folder.
    pub(crate) fn writers(relay: &Path) -> Vec<WriterId> {
        let entries = fs::read_dir(relay).into_iter().flatten().flatten();
        let mut found: Vec<_> = entries.filter_map(|entry| WriterId::parse(entry.file_name().to_str()?)).collect();
        found.sort();
        found
    }

    fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// Bytes of the log.
    pub(crate) fn size(&self) -> u64 {
        fs::metadata(self.log()).map_or(0, |log| log.len())
    }

    /// The conversations.
    pub(crate) fn blobs(&self) -> ChunkStore {
        ChunkStore::in_folder(self.folder.join("blobs"))
    }

    /// Reads all lines, each with its bytes; cuts off a torn last one. Returns false if there is no log. Blocks for the
    /// disk.
    fn each(&self, mut take: impl FnMut(&[u8], Line) -> Result<(), Error>) -> Result<bool, Error> {
        let file = match transcript_file::open(&self.log()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            file => file?,
        };
        let mut reader = io::BufReader::new(file.take(MAX_BYTES));
        let (mut bytes, mut whole) = (Vec::new(), 0);
        for number in 1.. {
            bytes.clear();
            let read = reader.read_until(b'\n', &mut bytes)?;
            if bytes.last() != Some(&b'\n') {
                if read > 0 {
                    let file = OpenOptions::new().write(true).open(self.log())?;
                    file.set_len(whole)?;
                    file.sync_data()?;
                }
                break;
            }
            whole += read as u64;
            take(&bytes, decode(&bytes[..read - 1]).ok_or(Error::Damaged { line: number })?)?;
        }
        Ok(true)
    }

    /// All lines; `None` if there is no log. Blocks for the disk.
    pub(crate) fn read(&self) -> Result<Option<Vec<Line>>, Error> {
        let mut lines = Vec::new();
        let is_there = self.each(|_, line| {
            lines.push(line);
            Ok(())
        })?;
        Ok(is_there.then_some(lines))
    }

    /// The writer that the log comes to; `None` if there is none. Blocks for the disk.
    pub(crate) fn fold(&self, id: &WriterId) -> Result<Option<Writer>, Error> {
        let mut writer: Option<Writer> = None;
        let mut at = 0;
        let is_there = self.each(|_, line| {
            at += 1;
            let applied = match &mut writer {
                Some(writer) => writer.apply(&line).is_ok(),
                None => {
                    writer = Writer::joined(id, &line);
                    writer.is_some()
                }
            };
            if applied { Ok(()) } else { Err(Error::Damaged { line: at }) }
        })?;
        if is_there && writer.is_none() {
            return Err(Error::Damaged { line: 1 });
        }
        Ok(writer)
    }

    /// Appends a line, durably, or not at all. Blocks for the disk.
    pub(crate) fn append(&self, line: &Line) -> io::Result<()> {
        durable::create_private_folder(&self.folder)?;
        let (path, bytes) = (self.log(), encode(line)?);
        let is_new = !transcript_file::exists(&path);
        let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
        let before = file.metadata()?.len();
        if let Err(error) = file.write_all(&bytes).and_then(|()| file.sync_data()) {
            // Half a line would damage the one that follows.
            file.set_len(before)?;
            return Err(error);
        }
        if is_new {
            durable::sync_folder(&self.folder)?;
        }
        Ok(())
    }

    /// Removes the conversations of the log that later ones have superseded, if it has grown to twice its size of before.
    /// Returns its size then. Blocks for the disk.
    pub(crate) fn compact(&self, before: u64) -> Result<Option<u64>, Error> {
        if self.size() <= COMPACT_BYTES.max(before.saturating_mul(2)) {
            return Ok(None);
        }
        let mut last = BTreeMap::new();
        let named =
            |line: &Line| line.batch.as_ref().filter(|batch| batch.conversation.is_some()).map(|it| it.session.clone());
        let mut at = 0_usize;
        self.each(|_, line| {
            at += 1;
            last.extend(named(&line).map(|session| (session, at)));
            Ok(())
        })?;
        at = 0;
        self.rewrite(
            |line| {
                at += 1;
                if named(line).is_some_and(|session| last.get(&session) != Some(&at))
                    && let Some(batch) = &mut line.batch
                {
                    batch.conversation = None;
                    return Kept::Changed;
                }
                Kept::AsItIs
            },
            None,
        )?;
        Ok(Some(self.size()))
    }

    /// The objects that were published of a session, or may have been. Blocks for the disk.
    pub(crate) fn objects(&self, session: &SessionId) -> Result<BTreeSet<ContentHash>, Error> {
        let mut objects = BTreeSet::new();
        self.each(|_, line| {
            if line.session() == Some(session) {
                let conversation = line.batch.and_then(|batch| batch.conversation);
                objects.extend(conversation.into_iter().flat_map(|it| it.chunks).map(|chunk| chunk.object));
                objects.extend(line.intended.into_iter().flat_map(|intended| intended.objects));
            }
            Ok(())
        })?;
        Ok(objects)
    }

    /// Removes the conversations of a session but these. Blocks for the disk.
    pub(crate) fn keep_only(&self, session: &SessionId, current: &[ManifestId]) -> Result<(), Error> {
        let collected = self.blobs().collect(session, current);
        collected.map(drop).map_err(|error| io::Error::other(error.to_string()).into())
    }

    /// Writes the log anew, durably. Returns false if nothing had to change, and nothing was written.
    fn rewrite(&self, mut keep: impl FnMut(&mut Line) -> Kept, then: Option<&Line>) -> Result<bool, Error> {
        let (mut out, mut is_changed) = (Vec::new(), false);
        self.each(|bytes, mut line| {
            match keep(&mut line) {
                Kept::AsItIs => return Ok(out.extend_from_slice(bytes)),
                Kept::Changed => out.extend(encode(&line)?),
                Kept::Not => {}
            }
            is_changed = true;
            Ok(())
        })?;
        if is_changed {
            out.extend(then.map(encode).transpose()?.unwrap_or_default());
            durable::write_file(&self.log(), &out)?;
            durable::sync_folder(&self.folder)?;
        }
        Ok(is_changed)
    }

    /// Writes the log anew without the lines of a session, and with them its key.
    fn without(&self, session: &SessionId, then: Option<&Line>) -> Result<bool, Error> {
        self.rewrite(|line| if line.session() == Some(session) { Kept::Not } else { Kept::AsItIs }, then)
    }

    /// Appends a line that takes the place of all lines of its session, durably. Blocks for the disk.
    pub(crate) fn replace(&self, session: &SessionId, line: &Line) -> io::Result<()> {
        match self.without(session, Some(line)) {
            Ok(true) => Ok(()),
            Ok(false) => self.append(line),
            Err(error) => Err(io::Error::other(error)),
        }
    }

    /// Removes the lines of a session, its key and its conversation, durably. Blocks for the disk.
    pub(crate) fn remove(&self, session: &SessionId) -> Result<(), Error> {
        self.without(session, None)?;
        self.blobs().forget(session).map_err(|error| io::Error::other(error.to_string()))?;
        Ok(())
    }

    /// Removes conversations of sessions that are not recorded. Blocks for the disk.
    pub(crate) fn clean(&self, writer: &Writer) -> io::Result<()> {
        let blobs = self.blobs();
        let recorded: BTreeSet<PathBuf> = writer.sessions.keys().map(|session| blobs.folder_of(session)).collect();
        let there = fs::read_dir(self.folder.join("blobs")).into_iter().flatten().flatten().map(|entry| entry.path());
        there.filter(|folder| !recorded.contains(folder)).try_for_each(fs::remove_dir_all)
    }

    /// Removes everything of the writer.
    pub(crate) fn remove_all(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// What becomes of a line.
enum Kept {
    AsItIs,
    Changed,
    Not,
}

fn encode(line: &Line) -> io::Result<Vec<u8>> {
    let json = serde_json::to_vec(line)?;
    let check = hex::encode(&Sha256::digest(&json)[..CHECK]);
    Ok([check.as_bytes(), b" ", &json, b"\n"].concat())
}

fn decode(line: &[u8]) -> Option<Line> {
    let (check, rest) = line.split_at_checked(2 * CHECK)?;
    let json = rest.strip_prefix(b" ")?;
    let is_whole = hex::encode(&Sha256::digest(json)[..CHECK]).as_bytes() == check;
    is_whole.then(|| serde_json::from_slice(json).ok()).flatten()
}

impl Writer {
    /// Of this home: the sessions of which something is on the relay, or was withdrawn by another state of it.
    pub(crate) fn on_relay(&self) -> impl Iterator<Item = &SessionId> {
        let beside = self.begun.keys().chain(&self.withheld).filter(|id| !self.sessions.contains_key(*id));
        self.sessions.keys().chain(beside)
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
            forgotten: Arc::default(),
            withheld: BTreeSet::new(),
            begun: BTreeMap::new(),
            acknowledged: BTreeMap::new(),
            streams: BTreeMap::new(),
            stored: 0,
            compacted: 0,
        })
    }

    /// Adds a message.
    pub(crate) fn apply(&mut self, line: &Line) -> Result<(), baton_sharing::batch::Error> {
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
                    self.stored = self.stored.saturating_sub(gone.as_ref().map_or(0, Shared::stored));
                    self.streams.retain(|_, of| of != session);
                    let known = Arc::make_mut(&mut self.forgotten).entry(session.clone()).or_default();
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
        }
        if let (Some(batch), Some(key)) = (&line.batch, &line.key) {
            Arc::make_mut(&mut self.forgotten).remove(&batch.session);
            self.withheld.remove(&batch.session);
            if batch.conversation.is_some() {
                self.begun.remove(&batch.session);
            }
            let before = self.sessions.get(&batch.session);
            let size_before = before.map_or(0, Shared::stored);
            let state = batch.fold(before.map(|before| before.state.clone()).unwrap_or_default())?;
            let conversation = batch.conversation.clone();
            let shared = Shared {
                sequence: line.sequence,
                through: batch.through,
                since: line.since.or_else(|| Some(before?.since)).unwrap_or(line.at),
                at: line.at,
                agrees: batch.agrees_with(&state),
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
            self.streams.extend(Name::parse(&line.stream).map(|stream| (stream, batch.session.clone())));
            self.sessions.insert(batch.session.clone(), shared);
        }
        Ok(())
    }
}
