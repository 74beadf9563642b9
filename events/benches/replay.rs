//! Speed of a replay, per event: reading and checking a section, and taking it in.

use std::fmt::Write;

use baton_conversation::hash::ContentHash;
use baton_conversation::record::{Metadata, Position, SequenceNumber, SessionId, StreamId, Timestamp};
use baton_conversation::transcript::Cursor;
use baton_events::envelope::{NewRecord, Tail, chain, encode};
use baton_events::replay::{DecodedLines, Options, Replay};
use baton_events::schema;
use baton_events::schema::export;
use baton_events::schema::export::{EXPORT_FORMAT, Header, Line, Record};
use baton_events::session::{
    Agent, CloseReason, Counts, EffectId, EpisodeRef, Event, FileIdentity, Kind, Place, TailDigest, Tier, episode_uuid,
};
use divan::counter::ItemsCount;

fn main() {
    divan::main();
}

const SESSIONS: u64 = 1_000;
const ROUNDS: u64 = 20;

/// One round of a session's life: reading, a close, an index.
fn round(id: &SessionId, round: u64) -> Vec<Event> {
    let hash = ContentHash([round as u8; 32]);
    let (reason, effect) = (CloseReason::LazyQuery, EffectId { generation: 1, start: round as u32 + 1 });
    let (from, to) = (round * 9_000, round * 9_000 + 9_000);
    let at = Timestamp(1_773_480_413_589 + round as i64 * 60_000);
    let mut events = Vec::new();
    if round == 0 {
        let path = format!("/home/dev/.claude/projects/-home-dev-projects-ledger-api/{id}.jsonl");
        let identity = FileIdentity { device: 66_306, inode: 1_234_567 };
        events.push(Event::Discovered { agent: Agent::ClaudeCode, path, identity, kind: Kind::Main, at });
        let place = "/home/dev/projects/ledger-api".to_owned();
        events.push(Event::Located { place: Place::new(place.clone(), place) });
    } else {
        events.push(Event::Resumed);
    }
    events.extend([
        Event::RecordsAppended {
            generation: 1,
            from,
            to: Box::new(Cursor { offset: to, line: round * 12 + 12, ..Cursor::default() }),
            tail: TailDigest([7; 16]),
            counts: Counts { records: 12, conversation: 9, messages: 3, prompts: 1, ..Counts::default() },
            first_at: Some(at),
            last_at: Some(at),
            last_conversation_at: Some(at),
            late_index_at: None,
        },
        Event::CloseRequested { reason, note: None },
        Event::IndexingStarted { effect, reason, to },
        Event::Indexed {
            effect,
            episode: EpisodeRef {
                uuid: episode_uuid(id, &hash),
                tier: Tier::Extractive,
                hash,
                filter_version: 1,
                generation: 1,
                to,
                manifest: hash,
                items: round * 9,
                at,
            },
        },
    ]);
    events
}

/// An export without its last line, with interleaved sessions; and its number of events.
fn log() -> (Vec<u8>, u64) {
    let ids: Vec<SessionId> = (0..SESSIONS)
        .filter_map(|number| SessionId::new(&format!("{number:08x}-1f2e-4d3c-8b4a-5a6b7c8d9e0f")))
        .collect();
    let (mut text, mut tail, mut versions) = (String::new(), Tail::default(), vec![0; ids.len()]);
    let header = Header { format: EXPORT_FORMAT, whole: true, tail };
    let _ = writeln!(text, "{}", export::write(&Line::Header(header)));
    for turn in 0..ROUNDS {
        for (id, version) in ids.iter().zip(&mut versions) {
            for event in round(id, turn) {
                *version += 1;
                let encoded = schema::session::encode(&event);
                let (kind, at) = (encoded.kind.to_owned(), Timestamp(1_773_480_413_589));
                let new = NewRecord { kind, v: encoded.v, at, metadata: Metadata::default(), data: encoded.data };
                let position = Position(tail.position.0 + 1);
                let record = new.placed(position, StreamId::session(id), SequenceNumber(*version));
                let Ok(bytes) = encode(&record) else { continue };
                tail = Tail { position, chain: chain(tail.chain, &bytes) };
                let json = str::from_utf8(&bytes[1..]).unwrap_or_default();
                let line = Line::Record(Record { format: bytes[0], json, chain: tail.chain });
                let _ = writeln!(text, "{}", export::write(&line));
            }
        }
    }
    (text.into_bytes(), tail.position.0)
}

#[divan::bench(sample_count = 10)]
fn read(bencher: divan::Bencher<'_, '_>) {
    let (log, events) = log();
    bencher.counter(ItemsCount::new(events)).bench_local(|| DecodedLines::read(&log, 1, false));
}

#[divan::bench(sample_count = 10)]
fn take(bencher: divan::Bencher<'_, '_>) {
    let (log, events) = log();
    bencher.counter(ItemsCount::new(events)).with_inputs(|| DecodedLines::read(&log, 1, false)).bench_local_values(
        |section| {
            let mut replay = Replay::new(Options::default());
            for (line, entry) in section.entries {
                replay.apply(line, entry).expect("a good log");
            }
            assert_eq!(replay.tail().position.0, events);
            replay
        },
    );
}
