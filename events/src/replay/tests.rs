//! Small logs written as an export and replayed: valid ones and corrupted ones.

use proptest::prelude::*;

use super::*;
use crate::envelope::StoredRecord;
use crate::schema;
use crate::schema::export::{Line, Record};
use crate::session::{Agent, CloseReason, Event, FileIdentity, Kind, UnindexedReason};
use baton_conversation::hash::ContentHash;
use baton_conversation::record::{CommandId, Metadata};
use baton_protocol::answer::Change;

/// Writes an export as it goes.
struct Log {
    lines: Vec<String>,
    tail: Tail,
    table: SessionTable,
    versions: BTreeMap<String, u64>,
}

impl Log {
    fn new() -> Self {
        Self { lines: Vec::new(), tail: Tail::default(), table: SessionTable::default(), versions: BTreeMap::new() }
    }

    fn record(mut self, stream: &str, kind: &str, v: u32, data: &str) -> Self {
        let sequence = self.versions.entry(stream.to_owned()).or_default();
        *sequence += 1;
        let position = self.tail.position.next();
        let record = StoredRecord {
            position,
            stream: StreamId::recorded(stream),
            sequence: SequenceNumber(*sequence),
            kind: kind.to_owned(),
            v,
            at: Timestamp(i64::try_from(position.0).unwrap() * 1000),
            metadata: Metadata { correlation: None, cause: Some(CommandId::new("c")) },
            data: data.to_owned(),
        };
        let bytes = envelope::encode(&record).unwrap();
        self.tail = Tail { position, chain: chain(self.tail.chain, &bytes) };
        let json = std::str::from_utf8(&bytes[1..]).unwrap();
        self.lines.push(export::write(&Line::Record(Record { format: bytes[0], json, chain: self.tail.chain })));
        self
    }

    fn event(mut self, session: &str, event: &Event) -> Self {
        let encoded = schema::session::encode(event);
        self = self.record(&format!("session:{session}"), encoded.kind, encoded.v, &encoded.data);
        let sequence = SequenceNumber(self.versions[&format!("session:{session}")]);
        self.table.apply(self.tail.position, &SessionId::new(session).unwrap(), sequence, event);
        self
    }

    fn discovered(self, session: &str) -> Self {
        let event = Event::Discovered {
            agent: Agent::ClaudeCode,
            path: format!("/t/{session}.jsonl"),
            identity: FileIdentity::default(),
            kind: Kind::Main,
            at: Timestamp(500),
        };
        self.event(session, &event)
    }

    /// Two sessions and the home: seven records.
    fn usual() -> Self {
        let close = Event::CloseRequested { reason: CloseReason::Explicit, note: None };
        Self::new()
            .discovered("aa-1")
            .record("home", "root_added", 1, r#"{"config_dir":"/c","named_by":"mcp"}"#)
            .discovered("ab-2")
            .event("aa-1", &Event::WentIdle)
            .event("aa-1", &close)
            .event("ab-2", &close)
            .event("ab-2", &Event::Abandoned { why: UnindexedReason::Empty })
    }

    fn end(&self) -> End {
        End {
            tail: self.tail,
            state_hash: self.table.state_hash(),
            state_version: crate::projection::table::VERSION,
            records: self.lines.len() as u64,
            items: 1,
            redacted: 0,
        }
    }

    /// The whole file.
    fn file(&self, whole: bool) -> Vec<String> {
        let header = export::write(&Line::Header(Header { format: EXPORT_FORMAT, whole, tail: self.tail }));
        let conversation = ["{\"item\":{\"line\":1}}".to_owned(), "{\"later\":1}".to_owned()];
        let end = export::write(&Line::End(self.end()));
        [vec![header], self.lines.clone(), conversation.to_vec(), vec![end]].concat()
    }
}

/// Replays a file in sections of `size` lines.
fn run_in(file: &[String], options: Options, size: usize) -> (Vec<HistoryEvent>, Replay, Option<Error>) {
    let (mut replay, mut happened, mut line) = (Replay::new(options), Vec::new(), 1);
    for lines in file.chunks(size) {
        let section = DecodedLines::read(format!("{}\n", lines.join("\n")).as_bytes(), line, true);
        line += lines.len() as u64;
        for (number, entry) in section.entries {
            match replay.apply(number, entry) {
                Ok(Applied::Quiet) => {}
                Ok(Applied::Event(event)) => happened.push(*event),
                Ok(Applied::Enough) => return (happened, replay, None),
                Err(error) => return (happened, replay, Some(error)),
            }
        }
        if section.failed.is_some() {
            return (happened, replay, section.failed);
        }
    }
    (happened, replay, None)
}

fn run(file: &[String], options: Options) -> (Vec<HistoryEvent>, Replayed, String) {
    let (happened, replay, error) = run_in(file, options, 3);
    (happened, replay.summary(), error.map_or_else(String::new, |error| error.to_string()))
}

fn telling() -> Options {
    Options { tell: true, ..Options::default() }
}

#[test]
fn a_log_comes_to_what_it_came_to_live() {
    let log = Log::usual();
    for tell in [false, true] {
        let (happened, summary, error) = run(&log.file(true), Options { tell, ..Options::default() });
        assert_eq!((error.as_str(), summary.differences.as_slice(), summary.notes.as_slice()), ("", &[][..], &[][..]));
        assert_eq!(happened.len(), if tell { 7 } else { 0 });
        assert_eq!((summary.records, summary.position), (7, 7));
        assert_eq!(summary.chain, log.tail.chain.to_string());
        assert_eq!(summary.state_hash, log.table.state_hash().to_string());
        let states: Vec<_> =
            summary.sessions.iter().map(|row| (row.session_id.as_str(), row.version, row.state.as_str())).collect();
        assert_eq!(states, [("aa-1", 3, "inactive"), ("ab-2", 3, "unindexed (empty)")]);
    }
}

#[test]
fn an_event_is_told_with_what_it_did_and_what_is_owed() {
    let (happened, ..) = run(&Log::usual().file(true), telling());
    let idle = &happened[3];
    assert_eq!((idle.position, idle.sequence, &*idle.stream, &*idle.kind), (4, 2, "session:aa-1", "went_idle"));
    assert_eq!((&*idle.at, &*idle.told), ("1970-01-01T00:00:04.000Z", "nothing new for a while"));
    assert_eq!(idle.why.as_deref(), Some("1 min without a record after its discovery, at 1970-01-01T00:00:00.500Z"));
    assert_eq!((idle.before.as_deref(), idle.after.as_deref()), (Some("active"), Some("inactive")));
    let change = |field: &str, before: &str, after: &str| Change {
        field: field.to_owned(),
        before: Some(before.to_owned()),
        after: Some(after.to_owned()),
    };
    assert_eq!(idle.changed, [change("state", "active", "inactive")]);
    let owed: Vec<_> = idle.owed.iter().map(|owed| (owed.what.as_str(), owed.at.as_deref())).collect();
    assert_eq!(owed, [("close", Some("1970-01-01T00:30:00.500Z"))]);
    assert_eq!((idle.cause.as_deref(), &idle.data), (Some("c"), &Some(serde_json::json!({}))));
    let home = &happened[1];
    assert_eq!(home.told, "transcripts below /c are read too, named by mcp");
    assert_eq!((&home.before, &home.changed.len(), &home.owed.len()), (&None, &0, &0));
}

#[test]
fn a_replay_ends_where_it_is_told_to() {
    let log = Log::usual();
    for (until, position) in [
        (Until::Position(Position(3)), 3),
        (Until::Time(Timestamp(4_999)), 4),
        (Until::Position(Position(0)), 0),
        (Until::Position(Position(99)), 7),
    ] {
        let (happened, summary, error) = run(&log.file(true), Options { until, ..telling() });
        assert_eq!((error.as_str(), summary.position, happened.len() as u64), ("", position, position), "{until:?}");
        assert_eq!(summary.differences, [""; 0], "{until:?}");
        assert_eq!(summary.notes.len(), usize::from(position < 7), "{until:?}");
    }
    // Errors after the requested end do not matter.
    let mut file = log.file(true);
    file[5] = "nonsense".to_owned();
    let (_, summary, error) = run(&file, Options { until: Until::Position(Position(3)), ..telling() });
    assert_eq!((error.as_str(), summary.position), ("", 3));
}

#[test]
fn one_session_alone_is_run() {
    let file = Log::usual().file(true);
    let alone = |text: &str| run(&file, Options { session: Some(text.to_owned()), ..telling() });
    let (happened, summary, error) = alone("ab");
    assert_eq!((error.as_str(), summary.differences.as_slice()), ("", &[][..]));
    assert_eq!(happened.iter().map(|one| one.position).collect::<Vec<_>>(), [3, 6, 7]);
    assert_eq!((summary.records, summary.sessions.len()), (7, 1));
    let (_, summary, _) = alone("zz");
    assert_eq!(summary.differences, ["no session \"zz\" is in the file"]);
    let (_, _, error) = alone("a");
    assert_eq!(error, "\"a\" fits several sessions: aa-1, ab-2; give more of the id");
}

#[test]
fn what_this_version_cannot_read_is_shown_and_not_folded() {
    let log = Log::new()
        .discovered("aa-1")
        .record("session:aa-1", "went_idle", 9, "{}")
        .record("session:aa-1", "levitated", 1, "{}")
        .record("session:aa-1", "ended", 1, "{}")
        .record("dream:1", "dreamt", 1, "{}")
        .record("session:../x", "went_idle", 1, "{}")
        .event("aa-1", &Event::WentIdle);
    let (happened, summary, error) = run(&log.file(true), telling());
    assert_eq!((error.as_str(), summary.differences.as_slice()), ("", &[][..]));
    let why: Vec<_> = happened.iter().filter_map(|one| one.unreadable.as_deref()).collect();
    assert_eq!(why.len(), 4, "{why:?}");
    assert!(why[0].contains("has version 9") && why[1].contains("\"levitated\" is unknown"), "{why:?}");
    assert_eq!(summary.unreadable, 4);
    assert!(summary.notes[0].starts_with("4 events are of a newer version"), "{:?}", summary.notes);
    let row = &summary.sessions[0];
    assert_eq!((summary.sessions.len(), row.version, row.state.as_str()), (1, 5, "inactive"));
}

/// Each line of a good file put out of order: the error, and the position up to which the file is good.
#[test]
fn a_broken_file_is_refused_at_its_line() {
    let log = Log::usual();
    let check = |expected: &str, good: u64, change: &dyn Fn(&mut Vec<String>)| {
        let mut file = log.file(true);
        change(&mut file);
        for size in [1, 3, 99] {
            let (_, replay, error) = run_in(&file, Options::default(), size);
            let said = error.map_or_else(|| replay.summary().differences.join(" "), |error| error.to_string());
            assert!(said.contains(expected), "{said:?} lacks {expected:?}");
            assert_eq!(replay.tail().position.0, good, "{expected}");
        }
    };
    check("first line must be a header", 0, &|file| drop(file.remove(0)));
    check("line 3: position 3 follows position 1", 1, &|file| drop(file.remove(2)));
    check("line 4: position 2 follows position 2", 2, &|file| file.insert(3, file[2].clone()));
    check("line 5, position 4: the chain breaks here", 3, &|file| {
        file[4] = file[4].replace("went_idle", "went_away");
    });
    check("line 4, position 3: the chain breaks here", 2, &|file| {
        let digit = if &file[3][10..11] == "0" { "1" } else { "0" };
        file[3].replace_range(10..11, digit);
    });
    check("line 6: the record's envelope cannot be read", 4, &|file| file[5] = file[5].replace("\"v\":1", "\"v\":-1"));
    check("line 7 is not one of an export", 5, &|file| file[6].truncate(40));
    check("line 3 is misplaced", 1, &|file| file.insert(2, file[0].clone()));
    check("line 12 is misplaced", 7, &|file| file.push(file[1].clone()));
    check("no last line: it was cut off", 7, &|file| drop(file.pop()));
    check("the file is empty", 0, &|file| file.clear());
    check("format 7, and this version", 0, &|file| {
        file[0] = file[0].replace("\"baton_export\":1", "\"baton_export\":7");
    });
    check("says records 6, and it is 7", 7, &|file| file[10] = file[10].replace("\"records\":7", "\"records\":6"));
    check("says items 0, and it is 1", 7, &|file| file[10] = file[10].replace("\"items\":1", "\"items\":0"));
    check("says position 8, and it is 7", 7, &|file| file[10] = file[10].replace("\"position\":7", "\"position\":8"));
    let other = ContentHash([7; 32]).to_string();
    check(&format!("says state_hash {other}, and it is "), 7, &|file| {
        file[10] = file[10].replace(&log.table.state_hash().to_string(), &other);
    });
    check(&format!("says chain {}, and it is ", &other[..32]), 7, &|file| {
        file[10] = file[10].replace(&log.tail.chain.to_string(), &other[..32]);
    });
}

#[test]
fn a_filtered_file_is_run_from_where_it_begins() {
    let mut log = Log::usual();
    let record = |line: usize| log.lines[line].clone();
    let kept = [record(3), record(4), record(6)];
    log.lines = kept.to_vec();
    log.table = SessionTable::default();
    let id = |text: &str| SessionId::new(text).unwrap();
    log.table.apply(Position(4), &id("aa-1"), SequenceNumber(2), &Event::WentIdle);
    let close = Event::CloseRequested { reason: CloseReason::Explicit, note: None };
    log.table.apply(Position(5), &id("aa-1"), SequenceNumber(3), &close);
    log.table.apply(Position(7), &id("ab-2"), SequenceNumber(3), &Event::Abandoned { why: UnindexedReason::Empty });
    let (happened, summary, error) = run(&log.file(false), telling());
    assert_eq!((error.as_str(), summary.differences.as_slice()), ("", &[][..]));
    assert_eq!(happened[0].before.as_deref(), Some("new"));
    assert!(summary.notes[0].contains("checked for 1 of 3 records only"), "{:?}", summary.notes);
    // A filtered file with all events says so, and that only the text is incomplete.
    let (_, whole, _) = run(&Log::usual().file(false), telling());
    assert!(
        whole.notes[0].starts_with("all events are in the file") && !whole.notes[0].contains("filtered"),
        "{:?}",
        whole.notes
    );
    let back = log.file(false);
    let (_, _, error) = run(&[back[0].clone(), back[2].clone(), back[1].clone()], telling());
    assert_eq!(error, "line 3: position 4 follows position 5: records are missing or out of order");
    // A stream may begin anywhere, but has no gap from then on.
    let usual = Log::usual();
    let hole = [&back[..1], &[usual.lines[0].clone(), usual.lines[4].clone()][..]].concat();
    let (_, _, error) = run(&hole, telling());
    assert_eq!(error, "line 3, position 5: event 3 of session:aa-1 follows its event 1");
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), text in "\\PC*") {
        for bytes in [&bytes[..], text.as_bytes()] {
            let section = DecodedLines::read(bytes, 1, true);
            let mut replay = Replay::new(telling());
            for (line, entry) in section.entries {
                let _ = replay.apply(line, entry);
            }
            let _ = replay.summary();
        }
    }

    /// One byte of a good file differs: the file is refused, found to differ, or the change has no effect.
    #[test]
    fn a_changed_byte_never_panics_and_never_changes_a_state_unseen(at in 0usize..3_000, bit in 0u8..8, size in 1usize..5) {
        let log = Log::usual();
        let mut file = log.file(true).join("\n").into_bytes();
        let at = at % file.len();
        file[at] ^= 1 << bit;
        let Ok(text) = String::from_utf8(file) else { return Ok(()) };
        let lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        let (_, replay, error) = run_in(&lines, telling(), size);
        let summary = replay.summary();
        let silent = error.is_none() && summary.differences.is_empty();
        prop_assert!(!silent || summary.state_hash == log.table.state_hash().to_string(), "{text}");
    }
}
