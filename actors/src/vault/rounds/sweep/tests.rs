//! What comes between two groups of a round.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use baton_events::record::CommandId;
use baton_events::session::CloseReason;
use serde_json::json;
use tokio::sync::watch;

use super::*;
use crate::clock::ManualClock;
use crate::session::CloseCall;
use crate::settings::{self, Settings};
use crate::system::{Options, System};
use crate::watcher::Root;

const DEADLINE: Duration = Duration::from_secs(60);

fn id(number: u32) -> SessionId {
    SessionId::new(&format!("0000000{number}-1f2e-4d3c-8b4a-5a6b7c8d9e0f")).unwrap()
}

/// A session that changed a file, and decided something about it.
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_are_looked_at_again_after_something_was_forgotten_between_two_groups() {
    let temp = tempfile::tempdir().unwrap();
    let (home, config) = (temp.path().join("home"), temp.path().join("claude"));
    // Two entities whose notes would be called alike.
    for (number, file) in [(1, "src/cache.rs"), (2, "src-cache.rs")] {
        transcript(&config.join("projects/-srv-web"), number, file);
    }
    let vault = settings::Vault { enabled: true, ..settings::Vault::default() };
    let clock = Arc::new(ManualClock::at(Timestamp::parse("2026-03-14T09:00:00Z").unwrap()));
    let options = Options {
        home: home.clone(),
        roots: vec![Root::claude_code(&config)],
        settings: watch::channel(Arc::new(Settings { vault, ..Settings::default() })).1.into(),
        clock: clock.clone(),
        version: "test".to_owned(),
    };
    let system = System::start(options).await.unwrap();
    let services = Arc::new(system.services().clone());
    services.watcher.refresh().await.unwrap();
    for number in [1, 2] {
        let command = CommandId::new(&format!("close {number}"));
        let call = CloseCall { reason: CloseReason::Explicit, note: None, by_self: false, command };
        services.supervisor.close(&id(number), None, call, DEADLINE).await.unwrap();
    }
    let written = async {
        loop {
            let told = services.scribe.told(&services).await;
            if told.notes == 2 && told.behind == 0 {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, written).await.expect("two notes");
    let mut desk = services.scribe.desk.clone().lock_owned().await;
    clock.advance(Duration::from_secs(4 * 24 * 3600));
    let checked = tokio::task::block_in_place(|| {
        let first = check(&mut desk, &services, &[id(1)]).unwrap();
        // As forgetting leaves it.
        desk.known().unwrap().forget_names();
        first.compacted + check(&mut desk, &services, &[id(2)]).unwrap().compacted
    });
    assert_eq!(checked, 2);
    let folder = home.join("vault/claude/projects/web/entities");
    for (name, part) in [("src-cache.rs", 1), ("src-cache.rs-2", 2)] {
        let text = std::fs::read_to_string(folder.join(format!("{name}.md"))).unwrap();
        let decisions: Vec<&str> = text.lines().filter(|line| line.contains("sled instead of sqlite")).collect();
        let [decision] = decisions.as_slice() else { panic!("{name}: {text}") };
        assert!(decision.contains(&format!("of-part-{part}")), "{name}: {decision}");
    }

    // Whoever forgets while somebody works here is not forgotten himself.
    services.scribe.removal_owed.store(false, Ordering::Relaxed);
    let forgetting = tokio::spawn({
        let services = services.clone();
        async move { services.scribe.forget(&services, &[id(1)]).await }
    });
    let owed = async {
        while !services.scribe.removal_owed.load(Ordering::Relaxed) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, owed).await.expect("it is owed before it is done");
    forgetting.abort();
    assert!(services.scribe.removal_owed.load(Ordering::Relaxed));
    drop(desk);
    system.stop().await;
}
