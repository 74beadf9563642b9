//! The log on a disk with a write cache: what was not synced may be lost, torn or out of order after a power cut. One
//! committer writes a group, syncs it, and only then answers.

use std::collections::{BTreeMap, VecDeque};

use baton_conversation::record::{Metadata, Position, Recorded, SequenceNumber, StreamId, Timestamp};
use baton_events::envelope;
use baton_events::envelope::{ChainHash, NewRecord, StoredRecord, Tail, chain};
use baton_events::schema;
use baton_events::session::Event;

use crate::invariant::{Broken, ensure};
use crate::rng::Rng;

/// Size of an atomic write, in bytes.
const SECTOR_BYTES: usize = 64;
/// Flag in a frame's length: the first frame of a group.
const GROUP: u32 = 1 << 31;
/// Flag in a frame's length: the append continues with the next frame.
const GOES_ON: u32 = 1 << 30;

/// A file, as it is on the platter and as its writer sees it.
#[derive(Clone, Debug, Default)]
struct Disk {
    synced: Vec<u8>,
    cached: Vec<u8>,
    /// What was written and cut off again since the last sync: a power cut may bring it back.
    ghost: Vec<u8>,
}

impl Disk {
    fn truncate(&mut self, length: usize) {
        if self.cached.len() > length {
            self.ghost = std::mem::replace(&mut self.cached, self.synced[..length.min(self.synced.len())].to_vec());
        }
    }

    fn sync(&mut self) {
        self.synced.clone_from(&self.cached);
        self.ghost.clear();
    }

    /// Cuts the power: any subset of the sectors that were not synced is on the platter.
    fn cut(&mut self, rng: &mut Rng) {
        let source = if rng.percent(30) && self.ghost.len() > self.synced.len() { &self.ghost } else { &self.cached };
        let mut after = self.synced.clone();
        if source.len() > after.len() {
            let length = rng.between(after.len() as i64, source.len() as i64) as usize;
            let honest = rng.percent(50);
            for sector in source[after.len()..length].chunks(SECTOR_BYTES) {
                match if honest { 0 } else { rng.below(4) } {
                    0 | 1 => after.extend_from_slice(sector),
                    2 => after.extend(std::iter::repeat_n(0, sector.len())),
                    _ => after.extend(sector.iter().map(|byte| byte ^ 0x55)),
                }
            }
        }
        *self = Self { synced: after.clone(), cached: after, ghost: Vec::new() };
    }
}

/// The sender of an append: a session, and the incarnation of its actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asker {
    pub(crate) session: usize,
    pub(crate) incarnation: u64,
}

/// One append in the queue.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) asker: Asker,
    pub(crate) stream: StreamId,
    pub(crate) expected: SequenceNumber,
    pub(crate) events: Vec<Event>,
    pub(crate) metadata: Metadata,
    pub(crate) at: Timestamp,
}

/// The answer to an append.
#[derive(Clone, Debug)]
pub(crate) enum Verdict {
    Durable(Vec<Recorded<Event>>),
    Conflict,
    Refused,
}

/// An acknowledged record.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) recorded: Recorded<Event>,
    pub(crate) chain: ChainHash,
    /// The append that it belongs to.
    pub(crate) append: u64,
}

struct Staged {
    bytes: Vec<u8>,
    kept: Vec<Kept>,
    verdicts: Vec<(Asker, Verdict)>,
}

/// The disk's current fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Trouble {
    #[default]
    None,
    /// No room: nothing or only a part is written.
    Full,
    /// Writes succeed and syncs fail.
    NoSync,
}

/// The log.
#[derive(Default)]
pub(crate) struct Log {
    disk: Disk,
    pub(crate) queue: VecDeque<Request>,
    written: Option<Staged>,
    pub(crate) kept: Vec<Kept>,
    versions: BTreeMap<StreamId, SequenceNumber>,
    length: usize,
    suspect: bool,
    /// Number of records of the same append that follow the one with this chain hash.
    remaining: BTreeMap<ChainHash, usize>,
    appends: u64,
    pub(crate) trouble: Trouble,
}

impl Log {
    pub(crate) fn tail(&self) -> Tail {
        self.kept.last().map_or_else(Tail::default, |kept| Tail { position: kept.recorded.position, chain: kept.chain })
    }

    /// The chain hash at a position.
    pub(crate) fn chain_at(&self, position: Position) -> Option<ChainHash> {
        match position.0 {
            0 => Some(ChainHash::GENESIS),
            at => self.kept.get(at as usize - 1).map(|kept| kept.chain),
        }
    }

    pub(crate) fn history<'a>(&'a self, stream: &'a StreamId) -> impl Iterator<Item = &'a Recorded<Event>> {
        self.kept.iter().map(|kept| &kept.recorded).filter(move |recorded| recorded.stream == *stream)
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.written.is_some() || !self.queue.is_empty()
    }

    /// Writes all queued appends as one group. Answers only those that cannot be written.
    pub(crate) fn write(&mut self, rng: &mut Rng) -> Result<Vec<(Asker, Verdict)>, Broken> {
        if self.written.is_some() || self.queue.is_empty() {
            return Ok(Vec::new());
        }
        let staged = self.stage()?;
        if self.trouble == Trouble::Full || (self.suspect && self.trouble != Trouble::None) {
            let written = rng.below(staged.bytes.len());
            self.disk.cached.extend_from_slice(&staged.bytes[..written]);
            self.mend();
            return Ok(refused(staged));
        }
        self.disk.cached.extend_from_slice(&staged.bytes);
        self.written = Some(staged);
        Ok(Vec::new())
    }

    /// Syncs what is written, and answers.
    pub(crate) fn sync(&mut self) -> Vec<(Asker, Verdict)> {
        let Some(staged) = self.written.take() else { return Vec::new() };
        if self.trouble == Trouble::NoSync {
            self.mend();
            return refused(staged);
        }
        self.disk.sync();
        self.accept(staged)
    }

    /// A mutant's behaviour: answers before the sync.
    pub(crate) fn answer_unsynced(&mut self) -> Vec<(Asker, Verdict)> {
        match self.written.take() {
            Some(staged) => self.accept(staged),
            None => Vec::new(),
        }
    }

    fn accept(&mut self, staged: Staged) -> Vec<(Asker, Verdict)> {
        for kept in &staged.kept {
            self.versions.insert(kept.recorded.stream.clone(), kept.recorded.sequence);
        }
        self.length = self.disk.cached.len();
        self.kept.extend(staged.kept);
        staged.verdicts
    }

    /// After a failed write the contents of the disk are unknown: goes back to what was acknowledged.
    fn mend(&mut self) {
        self.disk.truncate(self.length);
        self.suspect = self.trouble != Trouble::None;
        if !self.suspect {
            self.disk.sync();
        }
    }

    fn stage(&mut self) -> Result<Staged, Broken> {
        if self.suspect && self.trouble == Trouble::None {
            self.mend();
        }
        let mut staged = Staged { bytes: Vec::new(), kept: Vec::new(), verdicts: Vec::new() };
        let (mut tail, mut versions) = (self.tail(), self.versions.clone());
        while let Some(request) = self.queue.pop_front() {
            let version = versions.get(&request.stream).copied().unwrap_or_default();
            if version != request.expected {
                staged.verdicts.push((request.asker, Verdict::Conflict));
                continue;
            }
            self.appends += 1;
            let mut recorded = Vec::new();
            let last = request.events.len();
            for (index, event) in (1..).zip(&request.events) {
                let encoded = schema::session::encode(event);
                let (kind, data, metadata) = (encoded.kind.to_owned(), encoded.data, request.metadata.clone());
                let new = NewRecord { kind, v: encoded.v, at: request.at, metadata, data };
                let sequence = SequenceNumber(version.0 + index as u64);
                let stored = new.placed(tail.position.next(), request.stream.clone(), sequence);
                let bytes =
                    envelope::encode(&stored).map_err(|error| Broken::new("I-1", format!("not encoded: {error}")))?;
                tail = Tail { position: stored.position, chain: chain(tail.chain, &bytes) };
                let mut word = bytes.len() as u32;
                word |= if staged.kept.is_empty() { GROUP } else { 0 };
                word |= if index < last { GOES_ON } else { 0 };
                staged.bytes.extend_from_slice(&word.to_be_bytes());
                staged.bytes.extend_from_slice(&bytes);
                staged.bytes.extend_from_slice(&tail.chain.0);
                let back = decode(&bytes)?;
                if back.event != *event {
                    return Err(Broken::new("I-2", format!("{event:?} was recorded and {:?} read back", back.event)));
                }
                versions.insert(request.stream.clone(), sequence);
                self.remaining.insert(tail.chain, last - index);
                staged.kept.push(Kept { recorded: back.clone(), chain: tail.chain, append: self.appends });
                recorded.push(back);
            }
            staged.verdicts.push((request.asker, Verdict::Durable(recorded)));
        }
        Ok(staged)
    }

    /// The process ends, perhaps with the power. Queued appends were never written.
    pub(crate) fn crash(&mut self, power: bool, rng: &mut Rng) {
        self.queue.clear();
        self.written = None;
        if power {
            self.disk.cut(rng);
        }
    }

    /// Reopens the log: keeps the longest prefix whose chain is intact and that ends with a whole append.
    pub(crate) fn recover(&mut self, keeps_half_appends: bool) -> Result<(), Broken> {
        let appends: BTreeMap<ChainHash, u64> = self.kept.iter().map(|kept| (kept.chain, kept.append)).collect();
        let (mut kept, mut whole): (Vec<Kept>, (usize, usize)) = (Vec::new(), (0, 0));
        let (mut at, mut before) = (0, ChainHash::GENESIS);
        let mut unknown = self.appends + 1;
        while let Some((word, record, hash, end)) = frame(&self.disk.cached, at) {
            let now = chain(before, record);
            if now.0 != *hash {
                break;
            }
            let recorded = decode(record)?;
            let append = appends.get(&now).copied().unwrap_or(unknown);
            kept.push(Kept { recorded, chain: now, append });
            (before, at) = (now, end);
            unknown += u64::from(word & GOES_ON == 0);
            if word & GOES_ON == 0 || keeps_half_appends {
                whole = (at, kept.len());
            }
        }
        kept.truncate(whole.1);
        self.appends = unknown;
        self.disk.cached.truncate(whole.0);
        self.disk.sync();
        self.length = whole.0;
        self.suspect = false;
        self.versions = kept.iter().map(|kept| (kept.recorded.stream.clone(), kept.recorded.sequence)).collect();
        self.kept = kept;
        let missing = self.remaining.get(&self.tail().chain).copied().unwrap_or(0);
        ensure("I-4", missing == 0, || format!("{missing} records of the last append are missing"))
    }
}

fn refused(staged: Staged) -> Vec<(Asker, Verdict)> {
    staged.verdicts.into_iter().map(|(asker, _)| (asker, Verdict::Refused)).collect()
}

fn decode(bytes: &[u8]) -> Result<Recorded<Event>, Broken> {
    let unreadable = |error: String| Broken::new("I-1", format!("what was recorded is not readable: {error}"));
    let StoredRecord { position, stream, sequence, kind, v, at, metadata, data } =
        envelope::decode(bytes).map_err(|error| unreadable(error.to_string()))?;
    let event = schema::session::decode(&kind, v, &data).map_err(|error| unreadable(error.to_string()))?;
    Ok(Recorded { position, stream, sequence, at, metadata, event })
}

/// The frame at an offset: its length with its flags, its record, its chain hash, and its end.
fn frame(bytes: &[u8], at: usize) -> Option<(u32, &[u8], &[u8; 16], usize)> {
    let (word, rest) = bytes.get(at..)?.split_first_chunk::<4>()?;
    let word = u32::from_be_bytes(*word);
    let (record, rest) = rest.split_at_checked((word & !(GROUP | GOES_ON)) as usize)?;
    let (hash, _) = rest.split_first_chunk::<16>()?;
    Some((word, record, hash, at + 4 + record.len() + 16))
}
