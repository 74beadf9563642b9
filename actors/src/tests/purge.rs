//! Forgetting a session while the memory restores its conversation.

use std::sync::Arc;
use std::time::Duration;

use baton_conversation::record::{CommandId, SessionId, Timestamp};
use baton_events::session::CloseReason;
use tokio::sync::watch;

use crate::system::{Log, Options, System};
use baton_base::clock::ManualClock;
use baton_base::lock::HomeLock;
use baton_base::transcript_root::Root;
use baton_config::settings::Settings;
use baton_journal::MemoryJournal;
use baton_journal::session_table::TableFold;
use baton_store::text_keeper::{Erasure, TextKeeper as _};
use baton_tracking::session::{CloseCall, Switch, Switched};

const DEADLINE: Duration = Duration::from_secs(60);

/// A daemon with one indexed session, in a folder with its transcript.
pub(super) async fn indexed(id: &SessionId) -> (tempfile::TempDir, System) {
    let temp = tempfile::tempdir().unwrap();
    let (home, project) = (temp.path().join("home"), temp.path().join("claude/projects/-srv-house"));
    std::fs::create_dir_all(&project).unwrap();
    let prompt = format!(
        r#"{{"type":"user","uuid":"u1","sessionId":"{id}","timestamp":"2026-03-14T09:26:53.589Z","cwd":"/srv/house","message":{{"role":"user","content":"a wombat"}}}}"#,
    );
    std::fs::write(project.join(format!("{id}.jsonl")), format!("{prompt}\n")).unwrap();
    let (fold, table) = TableFold::new();
    let options = Options {
        home: home.clone(),
        roots: vec![Root::claude_code(&temp.path().join("claude"))],
        settings: watch::channel(Arc::new(Settings::default())).1.into(),
        clock: Arc::new(ManualClock::new(Timestamp(1_790_000_000_000))),
        version: "test".to_owned(),
    };
    let log = Log { journal: Arc::new(MemoryJournal::new(Box::new(fold))), table, problem: None };
    let system = System::start_on(options, HomeLock::acquire(&home).unwrap(), log).await.unwrap();
    let parts = system.parts();
    let seen = parts.watcher.refresh().await.unwrap().into_iter().find(|file| file.session == *id);
    let call = CloseCall { reason: CloseReason::Explicit, note: None, by_self: false, command: CommandId::new("c") };
    let closed = parts.supervisor.close(id, seen, call, DEADLINE).await.unwrap();
    assert!(closed.episode.is_some(), "{closed:?}");
    parts.indexer.caught_up(closed.position, DEADLINE).await.unwrap();
    (temp, system)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_memory_restores_nothing_of_a_session_whose_files_somebody_else_deletes() {
    let id = SessionId::new("0a1b2c3d-0000-4000-8000-000000000000").unwrap();
    let (temp, system) = indexed(&id).await;
    let (parts, folder) = (system.parts(), temp.path().join("home/blobs").join(id.as_str()));
    assert!(folder.exists());
    let episode = parts.catalog.table.now().get(&id).and_then(|row| row.state.episode.clone()).unwrap();
    // The state while it is forgotten: its files are gone and it is held. Then the memory has to read its conversation.
    let held = parts.indexer.hold(&id).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let group = Switch::Track { seen: None, force: false, group: Some("elsewhere".to_owned()) };
    assert_eq!(parts.supervisor.switch(&id, group, DEADLINE).await, Ok(Switched::Done { already: false }));
    let position = parts.catalog.table.now().position();
    parts.indexer.caught_up(position, DEADLINE).await.unwrap();
    assert!(!folder.exists(), "it was written beside whoever deletes it");
    assert_eq!(parts.indexer.unreadable().len(), 1, "it is named, and tried again");

    // Forgetting waits for a restore in progress, and vice versa.
    let forgotten = parts.supervisor.switch(&id, Switch::Forget { seen: None, cause: None }, DEADLINE).await;
    assert_eq!(forgotten, Ok(Switched::Done { already: false }));
    let position = parts.catalog.table.now().position();
    let (sessions, indexer) = ([id.clone()], parts.indexer.clone());
    let mut purging = std::pin::pin!(indexer.erase(Erasure { sessions: &sessions, position, step: &|| {} }));
    let waits =
        std::future::poll_fn(|context| std::task::Poll::Ready(purging.as_mut().poll(context).is_pending())).await;
    assert!(waits, "somebody holds it");
    drop(held);
    let purged = tokio::time::timeout(DEADLINE, purging).await;
    assert!(purged.as_ref().is_ok_and(|report| report.problems.is_empty()), "{purged:?}");
    assert!(!folder.exists());
    assert_eq!(parts.indexer.unreadable(), []);
    let restored = parts.indexer.restore(&id, &episode);
    assert_eq!(restored.err().as_deref(), Some("it is no longer the session's episode"));
    assert!(!folder.exists());
    drop(system.stop().await);
}
