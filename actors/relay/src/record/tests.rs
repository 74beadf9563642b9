use baton_sharing::batch::{Chunk, Conversation, VERSION};

use super::*;
use crate::keys::Name;

const KEY: Secret = Secret([3; 32]);
const NEW: Secret = Secret([4; 32]);

fn joined(keys: &Keys) -> Line {
    let key = hex::encode(keys.signing().verifying_key().as_bytes());
    let box_key = hex::encode(keys.box_key().as_bytes());
    let said = Said::Joined { name: "Ann".to_owned(), machine: "one".to_owned(), key, box_key };
    Line { sequence: 1, notice: Some(Notice::new(Timestamp(0), said)), ..Line::default() }
}

fn id(session: &str) -> SessionId {
    SessionId::new(session).unwrap()
}

fn batch(sequence: u64, session: &str, objects: &[u8]) -> Line {
    let chunk =
        |object: &u8| Chunk { name: ContentHash([1; 32]), items: 1, bytes: 1, object: ContentHash([*object; 32]) };
    let chunks = objects.iter().map(chunk).collect();
    let conversation = Some(Conversation { generation: 0, filter_version: 0, item_version: 0, chunks });
    let (session, form) = (id(session), ContentHash([0; 32]));
    let batch = Batch { v: VERSION, session, begin: false, through: 1, events: Vec::new(), conversation, form };
    Line { sequence, batch: Some(batch), key: Some(KEY), stream: Name([1; 16]).to_string(), ..Line::default() }
}

/// As this home records what it has published itself.
fn own(line: Line) -> Line {
    Line { made_of: Some(MadeOf { rules: 1, chunks: Vec::new() }), ..line }
}

fn begins(line: Line, key: Secret) -> Line {
    let batch = line.batch.map(|batch| Batch { begin: true, ..batch });
    Line { batch, key: Some(key), ..line }
}

fn intends(session: &str, objects: &[u8], key: Secret) -> Line {
    let objects = objects.iter().map(|object| ContentHash([*object; 32])).collect();
    let intended = Some(Intended { session: id(session), objects });
    Line { intended, key: Some(key), stream: Name([1; 16]).to_string(), ..Line::default() }
}

fn forgot(sequence: u64, session: &str) -> Line {
    let said = Said::Forgot { session: id(session), sequence: 1 };
    let gone = Some(Name([1; 16]).to_string());
    Line { sequence, notice: Some(Notice::new(Timestamp(0), said)), gone, ..Line::default() }
}

/// A record of these lines, behind the one that introduces its writer.
fn record(lines: impl IntoIterator<Item = Line>) -> (tempfile::TempDir, Record, WriterId) {
    let keys = Keys::begin_team().unwrap();
    let temp = tempfile::tempdir().unwrap();
    let record = Record::new(temp.path(), &keys.writer());
    for line in [joined(&keys)].into_iter().chain(lines) {
        let size = record.append(&line).unwrap();
        assert_eq!(size, record.size());
    }
    (temp, record, keys.writer())
}

#[test]
fn only_the_last_conversation_of_a_session_stays_in_a_long_log() {
    let long = [7; 8000];
    let lines = (1..=8).map(|sequence| batch(sequence, if sequence % 2 == 0 { "even" } else { "odd" }, &long));
    let (_temp, record, of) = record(lines);
    let (before, lines) = (record.size(), record.read().unwrap());
    let writer = record.fold(&of).unwrap().unwrap();
    assert!(writer.needs_compaction());
    assert!(!Writer { compacted: before, ..writer.clone() }.needs_compaction(), "not twice as long as it was");
    let after = record.compact(&writer.retention()).unwrap();
    assert!(after == record.size() && after < before / 3, "{after} of {before}");
    let compacted = record.read().unwrap();
    assert_eq!(lines.len(), compacted.len());
    for (line, now) in lines.iter().zip(&compacted).skip(1) {
        let (was, is) = (line.batch.as_ref().unwrap(), now.batch.as_ref().unwrap());
        assert_eq!((line.sequence, &was.session, &was.events), (now.sequence, &is.session, &is.events));
        assert_eq!(is.conversation.is_some(), line.sequence > 6);
        assert_eq!(now.items, if line.sequence > 6 { 0 } else { 8000 }, "how much was published stays known");
    }
}

/// What this home has yet to destroy on the relay, and by which key, outlives every compaction.
#[test]
fn a_compacted_record_of_this_home_comes_to_the_same() {
    let cases: [(&str, Vec<Line>, usize); 7] = [
        ("as it was published", vec![intends("a", &[1], KEY), own(begins(batch(1, "a", &[1]), KEY))], 2),
        (
            "an object that was not deleted yet",
            vec![
                intends("a", &[1], KEY),
                own(begins(batch(1, "a", &[1]), KEY)),
                intends("a", &[2], KEY),
                own(batch(2, "a", &[2])),
            ],
            5,
        ),
        (
            "only the last conversation",
            vec![
                intends("a", &[1], KEY),
                own(begins(batch(1, "a", &[1]), KEY)),
                intends("a", &[2], KEY),
                own(batch(2, "a", &[1, 2])),
            ],
            3,
        ),
        (
            "begun anew",
            vec![
                intends("a", &[1], KEY),
                own(begins(batch(1, "a", &[1]), KEY)),
                intends("a", &[2], NEW),
                own(begins(batch(2, "a", &[2]), NEW)),
            ],
            2,
        ),
        (
            "not begun anew yet",
            vec![intends("a", &[1], KEY), own(begins(batch(1, "a", &[1]), KEY)), intends("a", &[2], NEW)],
            4,
        ),
        ("never published", vec![intends("a", &[1], KEY)], 2),
        (
            "forgotten and not destroyed",
            vec![intends("a", &[1], KEY), own(begins(batch(1, "a", &[1]), KEY)), forgot(2, "a")],
            4,
        ),
    ];
    for (name, lines, left) in cases {
        let (_temp, record, of) = record(lines);
        let before = record.fold(&of).unwrap().unwrap();
        record.compact(&before.retention()).unwrap();
        let after = record.fold(&of).unwrap().unwrap();
        assert_eq!(record.read().unwrap().len(), left, "{name}");
        let all = |writer: &Writer| {
            let sessions = writer.sessions.values();
            let shared: Vec<_> = sessions.map(|it| (it.sequence, it.key.0, it.conversation.clone())).collect();
            let begun: Vec<_> = writer.begun.values().map(|it| (it.key.0, it.objects.clone())).collect();
            (shared, begun, writer.objects.clone(), writer.forgotten.clone(), writer.streams.clone())
        };
        assert_eq!(all(&before), all(&after), "{name}");
    }
}

#[test]
fn of_what_is_destroyed_no_line_stays_and_it_is_known_as_destroyed() {
    let (_temp, record, of) = record([intends("a", &[1], KEY), own(begins(batch(1, "a", &[1]), KEY)), forgot(2, "a")]);
    let mut writer = record.fold(&of).unwrap().unwrap();
    assert!(writer.objects.contains_key(&id("a")) && writer.void.is_empty());
    writer.objects.clear();
    record.compact(&writer.retention()).unwrap();
    let writer = record.fold(&of).unwrap().unwrap();
    assert!(writer.objects.is_empty() && writer.forgotten.contains_key(&id("a")));
    assert!(record.read().unwrap().iter().all(|line| line.key.is_none()));
}

/// What a crash has left of a line is cut off, so that the next one does not continue it.
#[test]
fn a_torn_line_is_cut_off_and_a_damaged_one_is_said() {
    let (_temp, record, _) = record([]);
    let whole = fs::read(record.log()).unwrap();
    for end in [1, whole.len() / 2, whole.len() - 1] {
        fs::write(record.log(), [&whole[..], &whole[..end]].concat()).unwrap();
        assert_eq!(record.read().unwrap().len(), 1);
        record.cut_off(record.for_each_line(|_, _| Ok(true)).unwrap().unwrap()).unwrap();
        assert_eq!(fs::read(record.log()).unwrap(), whole);
    }
    fs::write(record.log(), [&whole[..], &whole[..20], &whole[..]].concat()).unwrap();
    let first = whole.len() as u64;
    assert!(matches!(record.read(), Err(Error::Damaged { line: 2, whole }) if whole == first));
}
