//! What is redacted again beside what else happens to a session.

use baton_events::envelope::NewRecord;
use baton_events::record::{Metadata, SequenceNumber, StreamId, Timestamp};

use super::*;
use crate::indexer::purge::tests::indexed;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn superseded_chunks_go_although_a_newer_version_has_written_of_another_session() {
    let id = SessionId::new("0a1b2c3d-0000-4000-8000-000000000001").unwrap();
    let (temp, system) = indexed(&id).await;
    let services = system.services();
    let superseded = temp.path().join("home/blobs").join(id.as_str()).join(format!("{}.zst", "0".repeat(64)));
    for (of, goes) in [(SessionId::new("another").unwrap(), true), (id.clone(), false)] {
        let stream = StreamId::session(&of);
        let records = services.journal.read_stream(&stream, SequenceNumber(0), 4096).unwrap();
        let version = records.last().map_or(SequenceNumber(0), |record| record.sequence);
        let (kind, at) = ("of_a_later_version".to_owned(), Timestamp(1_790_000_000_000));
        let unknown = NewRecord { kind, v: 1, at, metadata: Metadata::default(), data: "{}".to_owned() };
        services.journal.append(stream, version, vec![unknown]).await.unwrap();
        std::fs::write(&superseded, "of what was said before").unwrap();
        let collected = loop {
            match services.indexer.collect_now(&services.table, &id) {
                Err(Error::Busy) => tokio::task::yield_now().await,
                collected => break collected,
            }
        };
        assert_eq!((collected.is_ok(), superseded.exists()), (goes, !goes), "{of}: {collected:?}");
    }
    drop(system.stop().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notes_take_as_many_events_as_they_need_and_it_is_known_how_many() {
    let id = SessionId::new("0a1b2c3d-0000-4000-8000-000000000003").unwrap();
    let (_temp, system) = indexed(&id).await;
    let (services, chunks) = (system.services(), system.services().indexer.chunks.clone());
    for number in 0..=NOTES {
        let text = format!("password: kW8xyzq7Lm2p{number}");
        std::fs::write(chunks.note_path(&id, &chunks::note_name(&text)), text).unwrap();
    }
    let again = services.indexer.redact_again(&services.table, &id).unwrap().unwrap();
    assert_eq!((again.redact.notes.len(), again.beyond), (NOTES, 1));
    assert!(services.indexer.holds_more_to_redact(&services.table, &id).unwrap());
    services.indexer.replaced(&id, again, true).unwrap();
    let again = services.indexer.redact_again(&services.table, &id).unwrap().unwrap();
    assert_eq!((again.redact.notes.len(), again.beyond), (1, 0));
    services.indexer.replaced(&id, again, true).unwrap();
    assert!(services.indexer.redact_again(&services.table, &id).unwrap().is_none(), "once is enough");
    drop(system.stop().await);
}
