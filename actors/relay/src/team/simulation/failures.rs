//! Single failures: of the relay, of the disk, and crashes in between.

use std::path::{Path, PathBuf};

use super::*;

/// A team at a calm relay, whose first member has published this many sessions.
async fn team(sessions: usize) -> (Arc<Mutex<Sea>>, Vec<Home>, Vec<SessionId>) {
    let sea = Arc::new(Mutex::new(Sea::default()));
    sea.lock().unwrap().is_calm = true;
    let mut homes = homes(2, &sea, 0);
    let mut chance = Chance::new(0);
    for home in &mut homes {
        home.calm_round().await;
    }
    for _ in 0..sessions {
        homes[0].begin(&mut chance).await;
    }
    calm(&mut homes).await;
    let ids = homes[0].live();
    assert_eq!(homes[1].team.others().now().len(), sessions);
    (sea, homes, ids)
}

async fn calm(homes: &mut [Home]) {
    for _ in 0..3 {
        for home in &mut *homes {
            home.calm_round().await;
        }
    }
}

/// A conversation's chunk.
fn chunk(folder: &Path) -> PathBuf {
    let mut files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.find(|file| file.extension().is_none_or(|it| it != "json")).unwrap()
}

/// One session that cannot be published must not make the others be republished at each opening.
#[tokio::test]
async fn of_what_a_relay_has_lost_only_what_is_left_is_published_again() {
    let (sea, mut homes, ids) = team(2).await;
    let damaged = chunk(&homes[0].chunks.folder_of(&ids[0]));
    std::fs::write(damaged, b"no chunk").unwrap();
    for id in &ids {
        sea.lock().unwrap().lose(&homes[0].keys, id);
    }
    calm(&mut homes).await;
    let about = |home: &Home, id: &SessionId| sea.lock().unwrap().about(&home.keys, id);
    let again = about(&homes[0], &ids[1]);
    assert!(again.iter().any(|(_, is_purged)| !is_purged), "{again:?}");
    for _ in 0..3 {
        homes[0].reconnect();
        homes[0].calm_round().await;
        assert_eq!(homes[0].team.state().lost.iter().collect::<Vec<_>>(), [&ids[0]]);
        homes[0].crash().await;
    }
    calm(&mut homes).await;
    assert_eq!(about(&homes[0], &ids[1]), again);
}

/// That a relay was set back is seen once, when it is read: a crash behind that does not forget it.
#[tokio::test]
async fn what_a_relay_has_lost_is_published_again_also_after_a_crash() {
    let (sea, mut homes, ids) = team(20).await;
    sea.lock().unwrap().lose(&homes[0].keys, &ids[0]);
    homes[0].receive_and_crash().await;
    assert!(sea.lock().unwrap().about(&homes[0].keys, &ids[0]).is_empty());
    calm(&mut homes).await;
    assert!(!sea.lock().unwrap().about(&homes[0].keys, &ids[0]).is_empty());
    check(&homes, &sea.lock().unwrap());
    assert!(!homes[0].home.join("relay/set-back.json").exists());
}

/// A damaged chunk is fetched again, and nothing else is touched: the relay may have lost the rest.
#[tokio::test]
async fn a_damaged_conversation_is_fetched_again_and_nothing_else_is_removed() {
    let (sea, mut homes, ids) = team(2).await;
    let (relay, writer) = (homes[1].home.join("relay"), homes[0].keys.writer());
    let record = Record::new(&relay, &writer);
    let damaged = chunk(&record.blobs().folder_of(&ids[0]));
    let whole = std::fs::read(&damaged).unwrap();
    std::fs::write(&damaged, b"no chunk").unwrap();
    sea.lock().unwrap().lose(&homes[0].keys, &ids[1]);
    let mut checked = Vec::new();
    let found = crate::verify(&relay, &mut |done| {
        checked.push(done);
        true
    });
    assert_eq!((found.damaged.len(), found.damaged[0].0.as_str()), (1, writer.as_str()));
    assert_eq!(checked, [0, 1, 0], "what seems damaged is looked at twice");
    assert!(crate::verify(&relay, &mut |_| false).damaged.is_empty(), "it can be stopped");
    let log = || std::fs::read(relay.join(writer.as_str()).join("log")).unwrap();
    let before = log();
    homes[1].pause(true);
    homes[1].fetch_damaged().await;
    assert_eq!((std::fs::read(&damaged).unwrap(), log()), (b"no chunk".to_vec(), before.clone()), "it is paused");
    homes[1].pause(false);
    homes[1].calm_round().await;
    homes[1].fetch_damaged().await;
    assert_eq!((std::fs::read(&damaged).unwrap(), log()), (whole, before));
    assert_eq!(homes[1].team.others().now().len(), 2);
}

/// Each change of a transcript begins a round: what has failed, or has to wait, is not tried again in all of them.
#[tokio::test]
async fn a_round_does_not_repeat_what_has_just_failed() {
    let (sea, mut homes, ids) = team(3).await;
    for home in &mut homes {
        assert_eq!(home.calls_of_a_round().await, 1, "it only receives");
    }
    std::fs::write(chunk(&homes[0].chunks.folder_of(&ids[0])), b"no chunk").unwrap();
    sea.lock().unwrap().lose(&homes[0].keys, &ids[0]);
    let mut chance = Chance::new(1);
    for _ in 0..2 {
        homes[0].reconnect();
        homes[0].calm_round().await;
        assert!(homes[0].team.state().unpublished.contains_key(&ids[0]));
        assert_eq!(homes[0].calls_of_a_round().await, 1, "one session cannot be published");
    }
    // The others go on meanwhile.
    homes[0].begin(&mut chance).await;
    assert!(homes[0].calls_of_a_round().await > 1);
    assert!(homes[0].team.state().unpublished.contains_key(&ids[0]));
    homes[1].calm_round().await;
    assert_eq!(homes[1].team.others().now().len(), 4);
    // What waits for its key is held.
    let new = homes[0].live().into_iter().find(|id| !ids.contains(id)).unwrap();
    let key = homes[0].keys.team.key_name(homes[0].keys.team.session_name(&homes[0].keys.writer(), &new));
    homes[1].crash().await;
    std::fs::remove_dir_all(homes[1].home.join("relay").join(homes[0].keys.writer().as_str())).unwrap();
    std::fs::remove_file(homes[1].home.join("relay/cursor.json")).unwrap();
    homes[1].crash().await;
    let key = sea.lock().unwrap().take(key);
    homes[1].calm_round().await;
    assert_eq!(homes[1].team.state().held_frames().count(), 1);
    assert_eq!(homes[1].calls_of_a_round().await, 1, "a message waits for its key");
    sea.lock().unwrap().give(key);
    homes[1].calm_round().await;
    let state = homes[1].team.state();
    assert_eq!((state.held_frames().count(), state.held_bytes), (0, [0; 2]));
}
