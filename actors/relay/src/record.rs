//! What was accepted of a writer, or published as one: their streams, opened, and the conversations.
//!
//! `relay/<writer>/log` has one line for each message: the beginning of its SHA-256 and the message as JSON. A line is
//! durable before anything else follows from its message. A torn last line is cut off; a log with a damaged line is
//! that of a writer who is read from the start again. `relay/<writer>/blobs/` holds the conversations as the home's own
//! are held.
//!
//! For the home's own writer it is the outbox: the sequence that each session has reached, how many of its events, and
//! what is put beside the streams, noted before it is put there.

mod writer;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead as _, Read as _, Write as _};
use std::path::{Path, PathBuf};

use baton_base::{durable, transcript_file};
use baton_conversation::hash::ContentHash;
use baton_conversation::hex;
use baton_conversation::record::{SessionId, Timestamp};
use baton_sharing::batch::{Batch, Notice, Said};
use baton_store::chunks::{ChunkStore, ManifestId};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::keys::{Keys, Secret, WriterId};
pub(crate) use writer::{Begun, Shared, Writer};

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
    /// Of a notice that a session must be removed: the name of its stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gone: Option<String>,
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

/// See [`Line::gone`].
pub(crate) fn gone(keys: &Keys, writer: &WriterId, notice: &Notice) -> Option<String> {
    match &notice.said {
        Said::Forgot { session, .. } => Some(keys.team.session_name(writer, session).to_string()),
        _ => None,
    }
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

    /// Reads all whole lines, each with its bytes. Returns how many bytes they are; `None` if there is no log. Blocks for
    /// the disk.
    fn each(&self, mut take: impl FnMut(&[u8], Line) -> Result<(), Error>) -> Result<Option<u64>, Error> {
        let file = match transcript_file::open(&self.log()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let mut reader = io::BufReader::new(file.take(MAX_BYTES));
        let (mut bytes, mut whole) = (Vec::new(), 0);
        for number in 1.. {
            bytes.clear();
            let read = reader.read_until(b'\n', &mut bytes)?;
            if bytes.last() != Some(&b'\n') {
                break;
            }
            whole += read as u64;
            take(&bytes, decode(&bytes[..read - 1]).ok_or(Error::Damaged { line: number })?)?;
        }
        Ok(Some(whole))
    }

    /// Cuts off what a crash has left of a last line behind the whole ones, so that the next one does not continue it.
    /// Blocks for the disk.
    pub(crate) fn cut_off(&self, whole: u64) -> io::Result<()> {
        if self.size() > whole {
            let file = OpenOptions::new().write(true).open(self.log())?;
            file.set_len(whole)?;
            file.sync_data()?;
        }
        Ok(())
    }

    /// All lines; `None` if there is no log. Blocks for the disk.
    pub(crate) fn read(&self) -> Result<Option<Vec<Line>>, Error> {
        let mut lines = Vec::new();
        let is_there = self.each(|_, line| {
            lines.push(line);
            Ok(())
        })?;
        Ok(is_there.is_some().then_some(lines))
    }

    /// The writer that the log comes to, and the bytes of the whole lines; `None` if there is none. Blocks for the disk.
    pub(crate) fn fold(&self, id: &WriterId) -> Result<Option<(Writer, u64)>, Error> {
        let mut writer: Option<Writer> = None;
        let mut at = 0;
        let whole = self.each(|_, line| {
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
        if whole.is_some() && writer.is_none() {
            return Err(Error::Damaged { line: 1 });
        }
        Ok(writer.zip(whole))
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
                Kept::AsItIs => {
                    out.extend_from_slice(bytes);
                    return Ok(());
                }
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

#[cfg(test)]
mod tests {
    use baton_sharing::batch::{Chunk, Conversation, VERSION};

    use super::*;

    fn batch(sequence: u64, session: &str, chunks: usize) -> Line {
        let chunk = Chunk { name: ContentHash([1; 32]), items: 1, bytes: 1, object: ContentHash([2; 32]) };
        let chunks = vec![chunk; chunks];
        let conversation = Some(Conversation { generation: 0, filter_version: 0, item_version: 0, chunks });
        let (session, form) = (SessionId::new(session).unwrap(), ContentHash([0; 32]));
        let batch = Batch { v: VERSION, session, begin: false, through: 1, events: Vec::new(), conversation, form };
        Line { sequence, batch: Some(batch), key: Some(Secret([3; 32])), ..Line::default() }
    }

    #[test]
    fn only_the_last_conversation_of_a_session_stays_in_a_long_log() {
        let temp = tempfile::tempdir().unwrap();
        let record = Record::new(temp.path(), &WriterId::parse(&"0a".repeat(16)).unwrap());
        for sequence in 1..=8 {
            record.append(&batch(sequence, if sequence % 2 == 0 { "even" } else { "odd" }, 8000)).unwrap();
        }
        let (before, lines) = (record.size(), record.read().unwrap().unwrap());
        assert!(before > COMPACT_BYTES, "{before}");
        assert_eq!(record.compact(before).unwrap(), None, "not twice as long as it was");
        let after = record.compact(0).unwrap().unwrap();
        assert!(after == record.size() && after < before / 3, "{after} of {before}");
        let compacted = record.read().unwrap().unwrap();
        for (line, now) in lines.iter().zip(&compacted) {
            let (was, is) = (line.batch.as_ref().unwrap(), now.batch.as_ref().unwrap());
            assert_eq!((line.sequence, &was.session, &was.events), (now.sequence, &is.session, &is.events));
            assert_eq!(is.conversation.is_some(), line.sequence > 6);
        }
    }

    /// What a crash has left of a line is cut off, so that the next one does not continue it.
    #[test]
    fn a_torn_line_is_cut_off_and_a_damaged_one_is_said() {
        let temp = tempfile::tempdir().unwrap();
        let record = Record::new(temp.path(), &WriterId::parse(&"0a".repeat(16)).unwrap());
        record.append(&batch(1, "one", 1)).unwrap();
        let whole = fs::read(record.log()).unwrap();
        for end in [1, whole.len() / 2, whole.len() - 1] {
            fs::write(record.log(), [&whole[..], &whole[..end]].concat()).unwrap();
            assert_eq!(record.read().unwrap().unwrap().len(), 1);
            record.cut_off(record.each(|_, _| Ok(())).unwrap().unwrap()).unwrap();
            assert_eq!(fs::read(record.log()).unwrap(), whole);
        }
        fs::write(record.log(), [&whole[..20], &whole[..]].concat()).unwrap();
        assert!(matches!(record.read(), Err(Error::Damaged { line: 1 })));
    }
}
