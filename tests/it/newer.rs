//! A session whose history contains an event of a newer version.

use baton_conversation::record::{CommandId, Metadata, Position, SequenceNumber, SessionId, StreamId, Timestamp};
use baton_events::envelope::NewRecord;
use baton_journal::{DiskJournal, Journal};

use crate::world::{World, id, list};

/// Appends an event of a type that this version does not know.
pub(crate) fn append_unknown(world: &World, session: &str) {
    let stream = StreamId::session(&SessionId::new(session).unwrap());
    append(world, stream, "of_a_later_version", "{}", None);
}

/// Appends an event to the log of a home that no process has open.
pub(crate) fn append(world: &World, stream: StreamId, kind: &str, data: &str, cause: Option<CommandId>) {
    let options = baton_journal::Options::new(world.home().join("log"), Timestamp(1_790_000_000_000));
    let journal = DiskJournal::open(options, Box::new(())).unwrap();
    let records = journal.read_stream(&stream, SequenceNumber(0), 4096).unwrap();
    let version = records.last().unwrap().sequence;
    let (kind, data, metadata) = (kind.to_owned(), data.to_owned(), Metadata { correlation: cause.clone(), cause });
    let record = NewRecord { kind, v: 1, at: Timestamp(1_790_000_000_000), metadata, data };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(journal.append(stream, version, vec![record])).unwrap();
    assert!(journal.read(Position(1), 1).is_ok());
    journal.close();
}

#[test]
fn a_session_with_an_event_of_a_newer_version_is_readable_and_named() {
    let world = World::new();
    let mut transcript = world.transcript("-work-one", &id(1));
    transcript.prompt("the wolverine was here").reply("it was");
    world.transcript("-work-one", &id(2)).prompt("the badger is not concerned").reply("no");
    let uuid = world.close(&id(1));
    world.close(&id(2));
    world.stop();
    append_unknown(&world, &id(1));

    assert_eq!(world.found("wolverine"), [id(1)], "{}", world.log());
    let shown = world.show(&id(1));
    assert_eq!((&shown["unreadable_events"], &shown["episode"]["uuid"]), (&1.into(), &uuid.as_str().into()), "{shown}");
    assert!(world.ok(&["show", &id(1)]).out.contains("newer version of Baton"), "{}", world.log());
    assert_eq!(world.show(&id(2))["unreadable_events"], serde_json::Value::Null);
    let rows = list(&world.json(&["sessions"])["sessions"]);
    let marked: Vec<_> = rows.iter().filter(|row| !row["unreadable_events"].is_null()).collect();
    assert_eq!(marked.len(), 1, "{rows:?}");
    assert!(world.ok(&["sessions"]).out.contains("newer"));
    for told in [world.problems(), world.run(&["doctor"]).out] {
        assert!(told.contains(&id(1)) && told.contains("newer version"), "{told}");
    }
    // Nothing is recorded after an unknown event, and nothing is lost.
    transcript.prompt("and the ferret").reply("too");
    let closed = world.close_fails(&[&id(1)]);
    assert!(closed["message"].as_str().unwrap().contains("newer version"), "{closed}");
    world.json(&["log", "compact"]);
    world.stop();
    assert_eq!(world.found("wolverine"), [id(1)]);
    assert_eq!(world.show(&id(1))["episode"]["uuid"], *uuid);
    world.stop();
}
