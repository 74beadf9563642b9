//! What was accepted of a writer, or published as one: their streams, opened, and the conversations.
//!
//! `relay/<writer>/log` has one line for each message: the beginning of its SHA-256 and the message as JSON. A line is
//! durable before anything else follows from its message. A torn last line is cut off; a log with a damaged line is
//! that of a writer who is read from the start again. `relay/<writer>/blobs/` holds the conversations as the home's own
//! are held.
//!
//! For the home's own writer it is the outbox: the sequence that each session has reached, and how many of its events.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use baton_base::{durable, transcript_file};
use baton_conversation::hex;
use baton_conversation::record::{SessionId, Timestamp};
use baton_events::session::State;
use baton_sharing::batch::{Batch, Conversation, Notice, Said};
use baton_store::chunks::{ChunkStore, ManifestId};
use ed25519_dalek::VerifyingKey;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::keys::{Name, Secret, WriterId};

/// Bytes of a line's check.
const CHECK: usize = 8;
/// Longest log that is read.
const MAX_BYTES: u64 = 4 * 1024 * 1024 * 1024;

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
    /// True for a notice that could not be used: nothing but its place is known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_passed_over: bool,
    /// True for a notice of this home that came from the relay: another copy of the home has said it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_from_relay: bool,
    /// Of the first notice of a writer whom a member named: the epoch of the team's key at that time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) vouched_epoch: u32,
    /// A session of this home that is about to be published for the first time: from here on its key is on the relay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) attempted: Option<SessionId>,
    /// A session of this home that is published again, although another copy of the home has withdrawn it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) allowed: Option<SessionId>,
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
    /// When it was first recorded here.
    pub(crate) since: Timestamp,
    /// Its current conversation.
    pub(crate) conversation: Option<Conversation>,
    /// Its own key, and the epoch of the key that this one is sealed by.
    pub(crate) key: Secret,
    pub(crate) epoch: u32,
    /// See [`Line::made_of`].
    pub(crate) made_of: MadeOf,
    /// True if the events come to what the writer has.
    pub(crate) agrees: bool,
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
    /// Sequence of their last notice.
    pub(crate) notices: u64,
    /// Epoch of the key by which they introduced themselves.
    pub(crate) joined_epoch: u32,
    /// Their public key for what is sealed for them alone.
    pub(crate) box_key: Option<[u8; 32]>,
    /// True if they have left.
    pub(crate) has_left: bool,
    /// The keys that they have given the team last, sealed for each writer.
    pub(crate) boxes: BTreeMap<String, String>,
    /// Writers that they have removed from the team.
    pub(crate) removed: BTreeSet<String>,
    pub(crate) sessions: BTreeMap<SessionId, Shared>,
    /// Sessions that they want removed everywhere, with the sequence that their streams had.
    pub(crate) forgotten: Arc<BTreeMap<SessionId, u64>>,
    /// Of this home: sessions of which something may be on the relay that is not recorded.
    pub(crate) attempted: BTreeSet<SessionId>,
    /// Of this home: sessions that another copy of it has withdrawn. They are not published until a person shares them.
    pub(crate) withdrawn_elsewhere: BTreeSet<SessionId>,
    /// Sessions of other writers that they have removed, as those asked.
    pub(crate) acknowledged: BTreeSet<(String, SessionId)>,
    /// Their sessions by the names of the streams.
    pub(crate) streams: BTreeMap<Name, SessionId>,
    /// Bytes of their conversations, before compression.
    pub(crate) stored: u64,
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

    /// Reads all lines; cuts off a torn last one. `None` if there is no log. Blocks for the disk.
    pub(crate) fn read(&self) -> Result<Option<Vec<Line>>, Error> {
        let Some((bytes, whole)) = self.bytes()? else { return Ok(None) };
        if whole < bytes.len() {
            let file = OpenOptions::new().write(true).open(self.log())?;
            file.set_len(whole as u64)?;
            file.sync_data()?;
        }
        lines(&bytes[..whole]).map(Some)
    }

    /// Like [`Self::read`], but changes nothing.
    pub(crate) fn look(&self) -> Result<Option<Vec<Line>>, Error> {
        self.bytes()?.map(|(bytes, whole)| lines(&bytes[..whole])).transpose()
    }

    /// The log, and how many bytes of it are whole lines.
    fn bytes(&self) -> Result<Option<(Vec<u8>, usize)>, Error> {
        let file = match transcript_file::open(&self.log()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let mut bytes = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut bytes)?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        Ok(Some((bytes, whole)))
    }

    /// Appends a line, durably. Blocks for the disk.
    pub(crate) fn append(&self, line: &Line) -> io::Result<()> {
        durable::create_private_folder(&self.folder)?;
        let (path, bytes) = (self.log(), encode(line)?);
        let is_new = !transcript_file::exists(&path);
        let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
        let length = file.metadata()?.len();
        let written = file.write_all(&bytes).and_then(|()| file.sync_data());
        // The next line must not begin behind half of this one.
        written.inspect_err(|_| drop(file.set_len(length)))?;
        if is_new {
            durable::sync_folder(&self.folder)?;
        }
        Ok(())
    }

    /// The conversations that were recorded of a session, the current one and those before. Blocks for the disk.
    pub(crate) fn conversations(&self, session: &SessionId) -> Result<Vec<Conversation>, Error> {
        let batches = self.read()?.into_iter().flatten().filter_map(|line| line.batch);
        Ok(batches.filter(|batch| batch.session == *session).filter_map(|batch| batch.conversation).collect())
    }

    /// Removes the conversations of a session but one. Blocks for the disk.
    pub(crate) fn keep_only(&self, session: &SessionId, current: &ManifestId) -> Result<(), Error> {
        let collected = self.blobs().collect(session, std::slice::from_ref(current));
        collected.map(drop).map_err(|error| io::Error::other(error.to_string()).into())
    }

    /// Writes the log anew without the lines of a session, and with them its key, durably. Returns false if there are
    /// none, and nothing was written.
    fn rewrite(&self, session: &SessionId, then: Option<&Line>) -> Result<bool, Error> {
        let is_of = |line: &Line| {
            let of = line.batch.as_ref().map(|batch| &batch.session);
            of.or(line.attempted.as_ref()) == Some(session)
        };
        let Some(lines) = self.read()?.filter(|lines| lines.iter().any(is_of)) else { return Ok(false) };
        let mut bytes = Vec::new();
        for line in lines.iter().filter(|line| !is_of(line)).chain(then) {
            bytes.extend(encode(line)?);
        }
        durable::write_file(&self.log(), &bytes)?;
        durable::sync_folder(&self.folder)?;
        Ok(true)
    }

    /// Appends a line that takes the place of all lines of its session, durably. Blocks for the disk.
    pub(crate) fn replace(&self, session: &SessionId, line: &Line) -> io::Result<()> {
        match self.rewrite(session, Some(line)) {
            Ok(true) => Ok(()),
            Ok(false) => self.append(line),
            Err(error) => Err(io::Error::other(error)),
        }
    }

    /// Notes that the writer is a member, whose messages will come.
    pub(crate) fn expect(&self) -> io::Result<()> {
        durable::create_private_folder(&self.folder)
    }

    /// Removes all but the note that the writer is a member. Blocks for the disk.
    pub(crate) fn clear(&self) -> io::Result<()> {
        self.remove_all()?;
        self.expect()
    }

    /// Removes the lines of a session, its key and its conversation, durably. Blocks for the disk.
    pub(crate) fn remove(&self, session: &SessionId) -> Result<(), Error> {
        self.rewrite(session, None)?;
        self.blobs().forget(session).map_err(|error| io::Error::other(error.to_string()))?;
        Ok(())
    }

    /// Removes everything of the writer.
    pub(crate) fn remove_all(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn lines(bytes: &[u8]) -> Result<Vec<Line>, Error> {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let decode = |(number, line): (usize, &[u8])| decode(line).ok_or(Error::Damaged { line: number });
    (1..).zip(lines).map(decode).collect()
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
    /// A writer by their first notice; `None` if it is none, or its key is not that of this writer.
    pub(crate) fn joined(id: &WriterId, line: &Line) -> Option<Self> {
        let Said::Joined { name, machine, key, box_key } = &line.notice.as_ref()?.said else { return None };
        let key = VerifyingKey::from_bytes(&hex::decode(key)?).ok()?;
        (WriterId::of(&key) == *id && !key.is_weak()).then(|| Self {
            id: id.clone(),
            name: name.clone(),
            machine: machine.clone(),
            since: line.at,
            key,
            notices: line.sequence.max(1),
            joined_epoch: line.epoch.max(line.vouched_epoch),
            box_key: hex::decode(box_key),
            has_left: false,
            boxes: BTreeMap::new(),
            removed: BTreeSet::new(),
            sessions: BTreeMap::new(),
            forgotten: Arc::default(),
            attempted: BTreeSet::new(),
            withdrawn_elsewhere: BTreeSet::new(),
            acknowledged: BTreeSet::new(),
            streams: BTreeMap::new(),
            stored: 0,
        })
    }

    /// The writer that these lines come to.
    pub(crate) fn fold(id: &WriterId, lines: &[Line]) -> Option<Self> {
        let mut writer = Self::joined(id, lines.first()?)?;
        for line in &lines[1..] {
            writer.apply(line).ok()?;
        }
        Some(writer)
    }

    /// Adds a message.
    pub(crate) fn apply(&mut self, line: &Line) -> Result<(), baton_sharing::batch::Error> {
        if line.is_passed_over {
            self.notices = line.sequence;
        }
        self.attempted.extend(line.attempted.clone());
        if let Some(allowed) = &line.allowed {
            self.withdrawn_elsewhere.remove(allowed);
        }
        if let Some(notice) = &line.notice {
            self.notices = line.sequence;
            match &notice.said {
                Said::Joined { name, machine, .. } => {
                    (self.name, self.machine, self.has_left) = (name.clone(), machine.clone(), false);
                }
                Said::Left => self.has_left = true,
                Said::Removed { writer } => {
                    self.removed.insert(writer.clone());
                }
                Said::Rekeyed { boxes } => self.boxes.clone_from(boxes),
                Said::Forgot { session, sequence } => {
                    let gone = self.sessions.remove(session);
                    self.stored = self.stored.saturating_sub(gone.as_ref().map_or(0, Shared::stored));
                    self.streams.retain(|_, of| of != session);
                    self.attempted.remove(session);
                    if line.is_from_relay {
                        self.withdrawn_elsewhere.insert(session.clone());
                    }
                    let reached = gone.map_or(0, |gone| gone.sequence);
                    let known = Arc::make_mut(&mut self.forgotten).entry(session.clone()).or_default();
                    *known = reached.max(*sequence).max(*known);
                }
                Said::Acknowledged { writer, session } => {
                    self.acknowledged.insert((writer.clone(), session.clone()));
                }
            }
        }
        if let (Some(batch), Some(key)) = (&line.batch, &line.key) {
            Arc::make_mut(&mut self.forgotten).remove(&batch.session);
            self.withdrawn_elsewhere.remove(&batch.session);
            self.attempted.remove(&batch.session);
            let before = self.sessions.get(&batch.session);
            let size_before = before.map_or(0, Shared::stored);
            let state = batch.fold(before.map(|before| before.state.clone()).unwrap_or_default())?;
            let conversation = batch.conversation.clone();
            let shared = Shared {
                sequence: line.sequence,
                through: batch.through,
                since: line.since.or_else(|| Some(before?.since)).unwrap_or(line.at),
                agrees: batch.agrees_with(&state),
                conversation: conversation.or_else(|| before?.conversation.clone()),
                key: key.clone(),
                epoch: line.epoch,
                made_of: match (&line.made_of, &batch.conversation) {
                    (Some(made_of), _) => made_of.clone(),
                    // It came from the relay: of what it was made is not known.
                    (None, Some(_)) => MadeOf::default(),
                    (None, None) => before.map(|before| before.made_of.clone()).unwrap_or_default(),
                },
                state,
            };
            self.stored = (self.stored + shared.stored()).saturating_sub(size_before);
            self.streams.extend(Name::parse(&line.stream).map(|stream| (stream, batch.session.clone())));
            self.sessions.insert(batch.session.clone(), shared);
        }
        Ok(())
    }
}
