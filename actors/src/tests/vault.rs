//! Rounds of notes on a disk that refuses, and on one that hangs.

mod forgetting;
mod sweep;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use baton_conversation::record::{CommandId, SessionId, Timestamp};
use baton_events::session::CloseReason;
use baton_protocol::answer;
use baton_vault::SyncRequest;
use serde_json::json;
use tokio::sync::watch;

use crate::system::{Options, System};
use baton_base::clock::ManualClock;
use baton_base::transcript_root::Root;
use baton_config::settings;
use baton_config::settings::Settings;
use baton_tracking::session::CloseCall;

/// Interval between looks at the state.
const LOOK: Duration = Duration::from_millis(5);
pub(super) const DEADLINE: Duration = Duration::from_secs(60);

pub(super) fn id(number: u32) -> SessionId {
    SessionId::new(&format!("0000000{number}-1f2e-4d3c-8b4a-5a6b7c8d9e0f")).unwrap()
}

/// Writes the transcript of a session that changes a file and decides something about it.
fn transcript(folder: &Path, number: u32, file: &str) {
    let record = |at: u32, kind: &str, message: serde_json::Value| {
        let line = json!({
            "parentUuid": null, "isSidechain": false, "userType": "external", "cwd": "/srv/web", "sessionId": id(number).as_str(),
            "version": "2.1.39", "gitBranch": "main", "type": kind, "uuid": format!("{number}-{at}"),
            "timestamp": format!("2026-03-14T08:0{number}:0{at}.000Z"), "message": message,
        });
        format!("{line}\n")
    };
    let edit = json!({"file_path": format!("/srv/web/{file}"), "old_string": "a", "new_string": "b"});
    let said = format!("I decided to use sled instead of sqlite in {file}, because it needs no server.");
    let text: String = [
        record(1, "user", json!({"role": "user", "content": format!("Mend {file} of part {number}")})),
        record(
            2,
            "assistant",
            json!({"id": format!("m{number}"), "role": "assistant", "content": [
            {"type": "tool_use", "id": "c1", "name": "Edit", "input": edit}]}),
        ),
        record(
            3,
            "user",
            json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": "The file has been updated."}]}),
        ),
        record(
            4,
            "assistant",
            json!({"id": format!("n{number}"), "role": "assistant", "content": [
            {"type": "text", "text": said}]}),
        ),
    ]
    .concat();
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join(format!("{}.jsonl", id(number))), text).unwrap();
}

/// A system that writes notes.
pub(super) struct House {
    pub(super) system: System,
    pub(super) parts: Arc<baton_queries::DaemonParts>,
    pub(super) clock: Arc<ManualClock>,
    pub(super) home: PathBuf,
    config: PathBuf,
    _temp: tempfile::TempDir,
}

impl House {
    pub(super) async fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let (home, config) = (temp.path().join("home"), temp.path().join("claude"));
        // A missing root would be noticed only later.
        std::fs::create_dir_all(config.join("projects/-srv-web")).unwrap();
        let vault = settings::Vault { enabled: true, ..settings::Vault::default() };
        let clock = Arc::new(ManualClock::new(Timestamp::parse("2026-03-14T09:00:00Z").unwrap()));
        let options = Options {
            home: home.clone(),
            roots: vec![Root::claude_code(&config)],
            settings: watch::channel(Arc::new(Settings { vault, ..Settings::default() })).1.into(),
            clock: clock.clone(),
            version: "test".to_owned(),
        };
        let system = System::start(options).await.unwrap();
        let parts = system.parts().clone();
        Self { system, parts, clock, home, config, _temp: temp }
    }

    /// Writes the transcript of a session.
    pub(super) fn work(&self, number: u32, file: &str) {
        transcript(&self.config.join("projects/-srv-web"), number, file);
    }

    pub(super) async fn close(&self, number: u32) {
        let seen = self.parts.watcher.find(id(number).as_str()).await.unwrap().into_iter().next();
        let command = CommandId::new(&format!("close {number}"));
        let call = CloseCall { reason: CloseReason::Explicit, note: None, by_self: false, command };
        let closed = self.parts.supervisor.close(&id(number), seen, call, DEADLINE).await.unwrap();
        assert!(closed.episode.is_some(), "{closed:?}");
    }

    /// Returns the state of the vault once it satisfies `is_so`.
    pub(super) async fn until(&self, is_so: impl Fn(&answer::Vault) -> bool) -> answer::Vault {
        let status = async {
            loop {
                let status = self.parts.note_writer.status().await;
                if is_so(&status) {
                    return status;
                }
                tokio::time::sleep(LOOK).await;
            }
        };
        tokio::time::timeout(DEADLINE, status).await.expect("it comes about")
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notes_that_were_not_synced_stay_owed_singly_and_in_a_group() {
    let house = House::new().await;
    let parts = house.parts.clone();
    house.work(1, "src/one.rs");
    house.close(1).await;
    house.until(|status| status.notes == 1 && status.state == "ready").await;
    // Two sessions of one group.
    let mut held = parts.note_writer.hold().await;
    held.fail_syncs(true);
    for number in [2, 3] {
        house.work(number, &format!("src/part-{number}.rs"));
        house.close(number).await;
    }
    let (written, fix) = tokio::task::block_in_place(|| held.write(&[id(2), id(3)]));
    assert!(fix.as_ref().is_some_and(|fix| fix.contains("save what is on it")), "{fix:?}");
    assert_eq!(written, 2);
    assert_eq!(held.owed(), [id(2), id(3)], "written, and not there after a power cut");
    drop(held);

    // The background task does the same: the notes are in the outbox, and the vault is reported to refuse.
    let status = house.until(|status| status.state == "waiting" && status.pending == 2).await;
    assert_eq!(status.behind, 2, "{status:?}");
    assert!(status.problem.is_some_and(|problem| problem.fix.contains("save what is on it")));
    parts.note_writer.hold().await.fail_syncs(false);
    let synced = parts.note_writer.sync(&SyncRequest::default()).await;
    assert_eq!(synced.status, "success", "{synced:?}");
    let status = house.until(|status| status.state == "ready").await;
    assert_eq!((status.notes, status.behind, status.pending), (3, 0, 0));
    house.system.stop().await;
}

/// The lock is replaced by a FIFO: opening it for writing blocks until there is a reader.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hanging_disk_is_reported_and_work_continues_when_it_returns() {
    let house = House::new().await;
    house.work(1, "src/one.rs");
    house.close(1).await;
    house.until(|status| status.notes == 1 && status.state == "ready").await;
    let lock = house.home.join("vault/claude/.baton.lock");
    std::fs::remove_file(&lock).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&lock).status().unwrap();
    assert!(made.success());
    house.work(2, "src/two.rs");
    house.close(2).await;
    let status = house.until(|status| status.state == "waiting").await;
    let problem = status.problem.unwrap();
    assert!(problem.what.contains("the disk of the vault does not answer"), "{problem:?}");
    // Closing a session does not wait for it.
    house.work(3, "src/three.rs");
    house.close(3).await;
    let reader = baton_base::task::spawn_blocking(move || std::fs::File::open(lock));
    let status = house.until(|status| status.state == "ready" && status.notes == 3).await;
    assert_eq!((status.behind, status.pending), (0, 0));
    drop(reader.await);
    house.system.stop().await;
}
