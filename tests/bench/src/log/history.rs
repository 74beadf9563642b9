//! A long generated history: events and conversations as a daemon would have written them in a few years.

use std::path::Path;

use baton_conversation::filter::FILTER_VERSION;
use baton_conversation::hash::{ContentHash, Mark};
use baton_conversation::item::{Body, Item};
use baton_conversation::record::{CommandId, Metadata, SequenceNumber, SessionId, StreamId, Timestamp};
use baton_conversation::transcript::Cursor;
use baton_events::envelope::NewRecord;
use baton_events::schema;
use baton_events::session::{
    Agent, CloseReason, Counts, EffectId, EpisodeRef, Event, FileIdentity, Kind, Place, TailDigest, Tier, episode_uuid,
};
use baton_journal::{AppendError, DiskJournal, Journal, Options};
use baton_store::chunks;
use baton_store::chunks::{ChunkStore, Header, ManifestId};

use super::super::Error;

/// Events of one round of work: appended, idle, closed (two events), indexing, indexed, resumed.
const ROUND: u64 = 7;
/// Events before the first round: discovered, located.
const BEGIN: u64 = 2;
/// Rounds of one session.
const ROUNDS: u64 = 14;
/// Events of one session; the last round is not resumed.
pub(in super::super) const EVENTS_PER_SESSION: u64 = BEGIN + ROUNDS * ROUND - 1;
/// Conversations that are made durable together, as the indexer does.
const TOGETHER: u64 = 64;
/// Start of the first session: 2026-03-14.
const BEGUN: i64 = 1_773_480_000_000;
const MINUTE: i64 = 60_000;

/// Writes `sessions` sessions into an empty home.
pub(in super::super) async fn write(home: &Path, sessions: u64) -> Result<(), Error> {
    let chunks = ChunkStore::open(home.join("blobs")).map_err(|error| failed(&error))?;
    let (fold, _table) = baton_journal::session_table::TableFold::new();
    let journal = DiskJournal::open(Options::new(home.join("log"), Timestamp(BEGUN)), Box::new(fold))
        .map_err(|error| failed(&error))?;
    for first in (0..sessions).step_by(TOGETHER as usize) {
        let some = first..sessions.min(first + TOGETHER);
        let stored = conversations(&chunks, some.clone()).map_err(|error| failed(&error))?;
        let mut acks = Vec::new();
        for (number, stored) in some.zip(stored) {
            acks.push(journal.append(StreamId::session(&session(number)), SequenceNumber(0), events(number, &stored)));
        }
        for ack in acks {
            ack.await.map_err(|error: AppendError| failed(&error))?;
        }
    }
    journal.close();
    Ok(())
}

fn failed(error: &impl std::fmt::Display) -> Error {
    Error::NothingMeasured(format!("the history was not written: {error}"))
}

pub(super) fn session(number: u64) -> SessionId {
    let hex = Mark::digest(&number.to_be_bytes()).to_string() + &Mark::digest(&number.to_le_bytes()).to_string();
    let id = format!("{}-{}-4{}-8{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..]);
    SessionId::new(&id).expect("hexadecimal digits and dashes")
}

/// The content of a session's last episode.
struct Stored {
    manifest: ManifestId,
    hash: ContentHash,
    items: u64,
    to: u64,
}

fn conversations(chunks: &ChunkStore, numbers: std::ops::Range<u64>) -> Result<Vec<Stored>, chunks::Error> {
    let mut batch = chunks.batch();
    let mut stored = Vec::new();
    for number in numbers {
        let items = items(number);
        let lines = items.iter().map(|item| {
            let mut line = Vec::new();
            // A plain text item always has a line.
            let _ = schema::item::encode(item, &mut line);
            line.truncate(line.trim_ascii_end().len());
            line
        });
        let to = ROUNDS * 4_000;
        let cursor = Cursor { offset: to, line: ROUNDS * 4, ..Cursor::default() };
        let header = Header {
            generation: 1,
            filter_version: FILTER_VERSION,
            cursor,
            tail: "ab".repeat(16),
            ..Header::default()
        };
        let manifest = batch.append(&session(number), None, &lines.collect::<Vec<_>>(), header)?;
        stored.push(Stored { manifest, hash: ContentHash::digest(&items), items: items.len() as u64, to });
    }
    batch.commit()?;
    Ok(stored)
}

fn items(number: u64) -> Vec<Item> {
    let say = |line: u64, body: Body| Item {
        line,
        at: Some(Timestamp(begun(number) + MINUTE * line as i64)),
        uuid: None,
        message: Some(format!("msg_{number}_{line}").into()),
        sidechain: false,
        body,
    };
    let prompt = format!("Please look into ticket {number} of the ledger: the export stops half-way.");
    let reply = format!("Ticket {number} is mended: the export flushed its buffer only when the file was closed.");
    vec![say(1, Body::Prompt { text: prompt }), say(2, Body::Reply { text: reply })]
}

fn begun(number: u64) -> i64 {
    BEGUN + number as i64 * 20 * MINUTE
}

fn events(number: u64, stored: &Stored) -> Vec<NewRecord> {
    let id = session(number);
    let project = format!("/home/dev/work/project-{:02}", number % 40);
    let path = format!("/home/dev/.claude/projects/-home-dev-work-project-{:02}/{id}.jsonl", number % 40);
    let mut records = Vec::with_capacity(EVENTS_PER_SESSION as usize);
    let mut now = begun(number);
    let mut record = |event: &Event, at: i64| {
        let encoded = schema::session::encode(event);
        let cause = Some(CommandId::new(&format!("{:016x}", Mark::digest(format!("{number}:{at}").as_bytes()).0)));
        records.push(NewRecord {
            kind: encoded.kind.to_owned(),
            v: encoded.v,
            at: Timestamp(at),
            metadata: Metadata { correlation: cause.clone(), cause },
            data: encoded.data,
        });
    };
    let identity = FileIdentity { device: 2049, inode: 1_000_000 + number };
    record(&Event::Discovered { agent: Agent::ClaudeCode, path, identity, kind: Kind::Main, at: Timestamp(now) }, now);
    record(&Event::Located { place: Place::new(project.clone(), project) }, now);
    for round in 0..ROUNDS {
        now += 10 * MINUTE;
        let (from, to) = (round * 4_000, (round + 1) * 4_000);
        record(
            &Event::RecordsAppended {
                generation: 1,
                from,
                to: Box::new(Cursor {
                    offset: to,
                    line: (round + 1) * 4,
                    recent_messages: (0..6).map(|at| Mark(number << 20 | round << 8 | at)).collect(),
                    cwd: Some(Mark(number)),
                    branch: Some(Mark(7)),
                    ..Cursor::default()
                }),
                tail: TailDigest([round as u8; 16]),
                counts: Counts { records: 4, conversation: 4, messages: 2, prompts: 1, ..Counts::default() },
                first_at: Some(Timestamp(now - 5 * MINUTE)),
                last_at: Some(Timestamp(now)),
                last_conversation_at: Some(Timestamp(now)),
                late_index_at: None,
            },
            now,
        );
        now += MINUTE;
        record(&Event::WentIdle, now);
        now += MINUTE;
        record(&Event::CloseRequested { reason: CloseReason::Explicit, note: None }, now);
        record(&Event::Ended { reason: CloseReason::Explicit, at: Timestamp(now), by_self: false }, now);
        let effect = EffectId { generation: 1, start: round as u32 + 1 };
        record(&Event::IndexingStarted { effect, reason: CloseReason::Explicit, to }, now);
        let is_last = round + 1 == ROUNDS;
        let mark = Mark::digest(format!("{number}:{round}").as_bytes()).0.to_be_bytes();
        let mut earlier = ContentHash([0; 32]);
        earlier.0.chunks_exact_mut(mark.len()).for_each(|part| part.copy_from_slice(&mark));
        let hash = if is_last { stored.hash } else { earlier };
        let episode = EpisodeRef {
            uuid: episode_uuid(&id, &hash),
            tier: Tier::Extractive,
            hash,
            filter_version: FILTER_VERSION,
            generation: 1,
            to: if is_last { stored.to } else { to },
            manifest: if is_last { stored.manifest } else { earlier },
            items: stored.items,
            at: Timestamp(now),
        };
        record(&Event::Indexed { effect, episode }, now);
        if !is_last {
            now += MINUTE;
            record(&Event::Resumed, now);
        }
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_events::session::Phase;
    use baton_journal::MemoryJournal;

    #[tokio::test]
    async fn a_session_of_the_history_is_a_whole_one() {
        let (fold, table) = baton_journal::session_table::TableFold::new();
        let journal = MemoryJournal::new(Box::new(fold));
        let home = tempfile::tempdir().unwrap();
        let chunks = ChunkStore::open(home.path().join("blobs")).unwrap();
        for (number, stored) in (0..3).zip(conversations(&chunks, 0..3).unwrap()) {
            let events = events(number, &stored);
            assert_eq!(events.len() as u64, EVENTS_PER_SESSION);
            journal.append(StreamId::session(&session(number)), SequenceNumber(0), events).await.unwrap();
        }
        assert_eq!((table.now().len(), table.now().skipped()), (3, 0));
        for (id, row) in table.now().iter() {
            assert_eq!((row.state.phase, row.state.unindexed), (Phase::Indexed, 0));
            let episode = row.state.episode.as_ref().unwrap();
            assert!(row.state.end.is_some() && chunks.read(id, &episode.manifest).is_ok());
        }
    }
}
