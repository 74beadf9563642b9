//! The record of a writer on disk: the messages accepted from them, or published as them, and the conversations.
//!
//! `relay/<writer>/log` has one line for each message: the beginning of its SHA-256 and the message as JSON. A line is
//! durable before its message has any effect. A torn last line is cut off; so is everything after a damaged one, and
//! the writer is received from the start again. Lines are only appended; now and then the log is rewritten without
//! those that are void or superseded. `relay/<writer>/blobs/` stores conversations in the format of the home's own.
//!
//! For the home's own writer it is the outbox: the sequence of each session, how many of its events are published, and
//! the objects put on the relay, recorded before they are put there.

mod writer;

use std::collections::{BTreeSet, VecDeque};
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead as _, Write as _};
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
pub(crate) use writer::{Keep, Retention, SharedSession, Staged, Writer};

/// Bytes of a line's check.
const CHECK: usize = 8;

/// One message, as it is recorded.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Line {
    /// Its sequence in its stream.
    pub(crate) sequence: u64,
    /// When its session was first recorded here, if that line is gone.
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
    /// The session's own key. Every line of a session has it, so that it is removed with them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<Secret>,
    /// Of a batch of this home: the chunks that the published ones were made from, and the version of the rules of
    /// redaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) made_of: Option<MadeOf>,
    /// Of this home: it came from the relay; an earlier state of this home published it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) received: bool,
    /// Of a notice that asks to remove a session: the name of the session's stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gone: Option<String>,
    /// Of this home: objects that will be put on the relay for a session, sealed by the key of this line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) intended: Option<Intended>,
    /// Number of items of the batch's conversation, if a later one has superseded it and it was removed from the line.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) items: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
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
    Damaged {
        line: usize,
        /// Bytes of the lines before the damage.
        whole: u64,
    },
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

    /// The writers that have a folder.
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

    /// Reads all whole lines, each with its bytes, until one is damaged or `take` returns false. Returns their size in
    /// bytes; `None` if there is no log. Blocks for the disk.
    pub(crate) fn for_each_line(
        &self,
        mut take: impl FnMut(&[u8], Line) -> io::Result<bool>,
    ) -> Result<Option<u64>, Error> {
        let file = match transcript_file::open(&self.log()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let mut reader = io::BufReader::new(file);
        let (mut bytes, mut whole) = (Vec::new(), 0);
        for line in 1.. {
            bytes.clear();
            let read = reader.read_until(b'\n', &mut bytes)?;
            if bytes.last() != Some(&b'\n') {
                break;
            }
            let is_whole = decode(&bytes[..read - 1]).map(|line| take(&bytes, line)).transpose()?;
            if is_whole != Some(true) {
                return Err(Error::Damaged { line, whole });
            }
            whole += read as u64;
        }
        Ok(Some(whole))
    }

    /// Cuts off a damaged or torn end, so that the next line does not continue it. Blocks for the disk.
    pub(crate) fn cut_off(&self, whole: u64) -> io::Result<()> {
        if self.size() > whole {
            let file = OpenOptions::new().write(true).open(self.log())?;
            file.set_len(whole)?;
            file.sync_data()?;
        }
        Ok(())
    }

    /// All lines.
    #[cfg(test)]
    pub(crate) fn read(&self) -> Result<Vec<Line>, Error> {
        self.last_lines(usize::MAX, |_| true)
    }

    /// The last `most` of the selected lines. Blocks for the disk.
    pub(crate) fn last_lines(&self, most: usize, select: impl Fn(&Line) -> bool) -> Result<Vec<Line>, Error> {
        let mut lines = VecDeque::new();
        self.for_each_line(|_, line| {
            if select(&line) {
                lines.push_back(line);
            }
            if lines.len() > most {
                lines.pop_front();
            }
            Ok(true)
        })?;
        Ok(lines.into())
    }

    /// Replays the log into the state of the writer; `None` if it is empty. Blocks for the disk.
    pub(crate) fn fold(&self, id: &WriterId) -> Result<Option<Writer>, Error> {
        let mut writer: Option<Writer> = None;
        let whole = self.for_each_line(|_, line| {
            Ok(match &mut writer {
                Some(writer) => writer.apply(&line, None).is_ok(),
                None => {
                    writer = Writer::from_first_notice(id, &line);
                    writer.is_some()
                }
            })
        })?;
        Ok(writer.map(|writer| Writer { size: whole.unwrap_or_default(), ..writer }))
    }

    /// Appends a line, durably, or not at all. Returns the new size of the log. Blocks for the disk.
    pub(crate) fn append(&self, line: &Line) -> io::Result<u64> {
        durable::create_private_folder(&self.folder)?;
        let (path, bytes) = (self.log(), encode(line)?);
        let is_new = !transcript_file::exists(&path);
        let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
        let before = file.metadata()?.len();
        if let Err(error) = file.write_all(&bytes).and_then(|()| file.sync_data()) {
            // Half a line would damage the next one.
            file.set_len(before)?;
            return Err(error);
        }
        if is_new {
            durable::sync_folder(&self.folder)?;
        }
        Ok(before + bytes.len() as u64)
    }

    /// Rewrites the log, durably, without what is void or superseded, and removes the conversations of void sessions.
    /// Returns the new size. Blocks for the disk.
    pub(crate) fn compact(&self, retention: &Retention) -> Result<u64, Error> {
        durable::write_file_with(&self.log(), |out| {
            let written = self.for_each_line(|bytes, mut line| {
                match retention.apply_to(&mut line) {
                    Keep::All => out.write_all(bytes)?,
                    Keep::Partly => out.write_all(&encode(&line)?)?,
                    Keep::Not => {}
                }
                Ok(true)
            });
            written.map(drop).map_err(io::Error::other)
        })?;
        durable::sync_folder(&self.folder)?;
        let blobs = self.blobs();
        retention.void().try_for_each(|gone| blobs.forget(gone).map(drop)).map_err(io::Error::other)?;
        Ok(self.size())
    }

    /// Removes the conversations of a session except these. Blocks for the disk.
    pub(crate) fn keep_only(&self, session: &SessionId, current: &[ManifestId]) -> Result<(), Error> {
        let collected = self.blobs().collect(session, current);
        collected.map(drop).map_err(|error| io::Error::other(error.to_string()).into())
    }

    /// Removes conversations of sessions that are not recorded. Blocks for the disk.
    pub(crate) fn remove_unrecorded(&self, writer: &Writer) -> io::Result<()> {
        let blobs = self.blobs();
        let recorded: BTreeSet<PathBuf> = writer.sessions.keys().map(|session| blobs.folder_of(session)).collect();
        let there = fs::read_dir(self.folder.join("blobs")).into_iter().flatten().flatten().map(|entry| entry.path());
        there.filter(|folder| !recorded.contains(folder)).try_for_each(fs::remove_dir_all)
    }
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
mod tests;
