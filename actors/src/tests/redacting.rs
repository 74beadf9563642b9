//! Redacting again while other things happen to a session.

use std::io::Write as _;
use std::time::Duration;

use baton_conversation::item::Item;
use baton_conversation::record::{CommandId, Metadata, SequenceNumber, StreamId, Timestamp};
use baton_events::envelope::NewRecord;
use baton_events::schema::item;
use baton_events::session::{CloseReason, Stored, episode_uuid};

use super::purge::indexed;
use baton_conversation::hash::ContentHash;
use baton_conversation::record::SessionId;
use baton_events::session::{Redact, ReplacedConversation};
use baton_store::chunks;
use baton_tracking::indexer::redacting::{Error, NOTES};
use baton_tracking::session::{CloseCall, Switch, Switched};

const DEADLINE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn superseded_chunks_go_although_a_newer_version_has_written_of_another_session() {
    let id = SessionId::new("0a1b2c3d-0000-4000-8000-000000000001").unwrap();
    let (temp, system) = indexed(&id).await;
    let parts = system.parts();
    let superseded = temp.path().join("home/blobs").join(id.as_str()).join(format!("{}.zst", "0".repeat(64)));
    for (of, goes) in [(SessionId::new("another").unwrap(), true), (id.clone(), false)] {
        let stream = StreamId::session(&of);
        let records = parts.journal.read_stream(&stream, SequenceNumber(0), 4096).unwrap();
        let version = records.last().map_or(SequenceNumber(0), |record| record.sequence);
        let (kind, at) = ("of_a_later_version".to_owned(), Timestamp(1_790_000_000_000));
        let unknown = NewRecord { kind, v: 1, at, metadata: Metadata::default(), data: "{}".to_owned() };
        parts.journal.append(stream, version, vec![unknown]).await.unwrap();
        std::fs::write(&superseded, "of what was said before").unwrap();
        let collected = loop {
            match parts.indexer.collect_now(&id) {
                Err(Error::Busy) => tokio::task::yield_now().await,
                collected => break collected,
            }
        };
        assert_eq!((collected.is_ok(), superseded.exists()), (goes, !goes), "{of}: {collected:?}");
    }
    drop(system.stop().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_has_waited_continues_what_was_redacted_meanwhile() {
    let id = SessionId::new("0a1b2c3d-0000-4000-8000-000000000002").unwrap();
    let (temp, system) = indexed(&id).await;
    let (parts, chunks) = (system.parts(), system.parts().chunks.clone());
    let held = parts.indexer.hold(&id).unwrap();
    let more = format!(
        r#"{{"type":"user","uuid":"u2","parentUuid":"u1","sessionId":"{id}","timestamp":"2026-03-14T09:27:53.589Z","cwd":"/srv/house","message":{{"role":"user","content":"a numbat"}}}}"#,
    );
    let transcript = temp.path().join(format!("claude/projects/-srv-house/{id}.jsonl"));
    writeln!(std::fs::OpenOptions::new().append(true).open(transcript).unwrap(), "{more}").unwrap();
    let seen = parts.watcher.refresh().await.unwrap().into_iter().find(|file| file.session == id);
    let call = CloseCall { reason: CloseReason::Explicit, note: None, by_self: false, command: CommandId::new("d") };
    let (supervisor, of) = (parts.supervisor.clone(), id.clone());
    let closing = baton_base::task::spawn(async move { supervisor.close(&of, seen, call, DEADLINE).await });
    let row = || parts.catalog.table.now().get(&id).cloned().unwrap();
    while row().state.job.is_none() {
        tokio::task::yield_now().await;
    }

    let episode = row().state.episode.clone().unwrap();
    let (manifest, text) = chunks.read(&id, &episode.manifest).unwrap();
    let text = String::from_utf8(text).unwrap().replace("wombat", "redacted");
    let lines: Vec<Vec<u8>> = text.lines().map(|line| line.as_bytes().to_vec()).collect();
    let items: Vec<Item> = lines.iter().map(|line| item::decode(line).unwrap()).collect();
    let (hash, count) = (ContentHash::digest(&items), items.len() as u64);
    let manifest = chunks.append(&id, None, &lines, manifest.header).unwrap();
    let stored = Stored { episode: episode_uuid(&id, &hash), manifest, items: count };
    let conversation = Some(ReplacedConversation { of: episode.manifest, hash, stored });
    let redact = Switch::Redact(Box::new(Redact { conversation, notes: Vec::new() }));
    let redacted = parts.supervisor.switch(&id, redact, DEADLINE).await;
    assert_eq!(redacted, Ok(Switched::Done { already: false }));

    drop(held);
    parts.indexer.go_on();
    closing.await.unwrap().unwrap();
    let (_, text) = chunks.read(&id, &row().state.episode.clone().unwrap().manifest).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("a numbat") && text.contains("a redacted") && !text.contains("wombat"), "{text}");
    drop(system.stop().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notes_take_as_many_events_as_they_need_and_it_is_known_how_many() {
    let id = SessionId::new("0a1b2c3d-0000-4000-8000-000000000003").unwrap();
    let (_temp, system) = indexed(&id).await;
    let (parts, chunks) = (system.parts(), system.parts().chunks.clone());
    for number in 0..=NOTES {
        let text = format!("password: kW8xyzq7Lm2p{number}");
        std::fs::write(chunks.note_path(&id, &chunks::note_name(&text)), text).unwrap();
    }
    let again = parts.indexer.redact_again(&id).unwrap().unwrap();
    assert_eq!((again.redact.notes.len(), again.beyond), (NOTES, 1));
    assert!(parts.indexer.holds_more_to_redact(&id).unwrap());
    parts.indexer.replaced(&id, again, true).unwrap();
    let again = parts.indexer.redact_again(&id).unwrap().unwrap();
    assert_eq!((again.redact.notes.len(), again.beyond), (1, 0));
    parts.indexer.replaced(&id, again, true).unwrap();
    assert!(parts.indexer.redact_again(&id).unwrap().is_none(), "once is enough");
    drop(system.stop().await);
}
