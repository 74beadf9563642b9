use baton_conversation::hash::ContentHash;

use super::*;
use crate::conformance;
use crate::keys::Secret;
use crate::seal::{self, Header, Kind};

fn team() -> Name {
    Name([4; 16])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_keeps_the_contract() {
    conformance::all(|| {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("team");
        Folder::create(&root, team()).unwrap();
        Box::new(move || {
            let _keep = &temp;
            Box::new(Folder::open(&root, Some(team())).unwrap())
        })
    })
    .await;
}

#[test]
fn only_the_folder_of_the_team_is_opened() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().join("team");
    let error = |opened: Result<Folder, Error>| opened.unwrap_err().to_string();
    assert!(error(Folder::open(&root, Some(team()))).contains("is not mounted"));
    Folder::create(&root, team()).unwrap();
    assert!(error(Folder::create(&root, team())).contains("join"));
    assert!(error(Folder::open(&root, Some(Name([5; 16])))).contains("another team"));
    std::fs::write(root.join(MARK), r#"{"format":2,"team":""}"#).unwrap();
    assert!(error(Folder::open(&root, Some(team()))).contains("another version"));
}

fn frame(writer: u8, sequence: u64) -> (Stream, Vec<u8>) {
    let stream = Stream { writer: Name([writer; 16]), stream: Name([1; 16]) };
    let header = Header { kind: Kind::Batch, epoch: 1, writer: stream.writer, stream: stream.stream, sequence };
    let signer = ed25519_dalek::SigningKey::from_bytes(&[7; 32]);
    (stream, seal::seal(&header, b"said", &Secret([9; 32]), &signer).unwrap())
}

/// A killed writer leaves the file under another name; with the slot that goes as well.
#[tokio::test]
async fn what_is_deleted_is_there_under_no_other_name() {
    let temp = tempfile::tempdir().unwrap();
    let folder = Folder::create(temp.path(), team()).unwrap();
    let (gone, stays) = (Slot::Named(Name([1; 16])), Slot::Named(Name([2; 16])));
    for slot in [gone, stays] {
        folder.put(slot, b"sealed".to_vec()).await.unwrap();
        let path = folder.0.slot(slot);
        let name = path.file_name().unwrap().to_str().unwrap();
        std::fs::write(path.with_file_name(format!(".{name}.0011223344556677.tmp")), "sealed").unwrap();
    }
    folder.delete(gone).await.unwrap();
    assert_eq!(std::fs::read_dir(temp.path().join("s")).unwrap().count(), 2);
    assert_eq!(folder.get(stays).await, Ok(Some(b"sealed".to_vec())));
}

/// A log whose end has not arrived, or was cut off by a crash, is read up to there and goes on from there.
#[tokio::test]
async fn a_torn_end_is_not_there_yet() {
    let temp = tempfile::tempdir().unwrap();
    let folder = Folder::create(temp.path(), team()).unwrap();
    for sequence in 0..2 {
        let (stream, frame) = frame(1, sequence + 1);
        folder.publish(stream, sequence, frame).await.unwrap();
    }
    let path = temp.path().join("w").join(Name([1; 16]).to_string()).join("00000001.log");
    let whole = std::fs::read(&path).unwrap();
    let second = whole.len() / 2;
    for end in [0, 1, 20, second - 1, second, second + 3, whole.len() - 1] {
        std::fs::write(&path, &whole[..end]).unwrap();
        let folder = Folder::open(temp.path(), Some(team())).unwrap();
        let received = folder.receive("").await.unwrap();
        assert_eq!((received.frames.len(), received.more), (usize::from(end >= second), false), "cut at {end}");
        std::fs::write(&path, &whole).unwrap();
        assert_eq!(folder.receive(&received.cursor).await.unwrap().frames.len(), 2 - received.frames.len());
    }
    std::fs::write(&path, &whole[..second + 3]).unwrap();
    let folder = Folder::open(temp.path(), Some(team())).unwrap();
    let (stream, frame) = frame(1, 2);
    assert_eq!(folder.head(stream).await, Ok(1));
    folder.publish(stream, 1, frame).await.unwrap();
    assert_eq!(folder.receive("").await.unwrap().frames.len(), 2);
}

#[tokio::test]
async fn a_damaged_log_keeps_no_other_away() {
    let temp = tempfile::tempdir().unwrap();
    let folder = Folder::create(temp.path(), team()).unwrap();
    for writer in [1, 2] {
        let (stream, frame) = frame(writer, 1);
        folder.publish(stream, 0, frame).await.unwrap();
    }
    let path = temp.path().join("w").join(Name([1; 16]).to_string()).join("00000001.log");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[40] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let received = folder.receive("").await.unwrap();
    assert_eq!((received.frames.len(), received.problems.len()), (1, 1), "{:?}", received.problems);
    std::fs::remove_file(temp.path().join(MARK)).unwrap();
    assert!(matches!(folder.receive("").await, Err(Error::Unavailable(_))), "an empty mount point is no empty relay");
}

/// A log that was set back is read anew, and one that did not change is no news.
#[tokio::test]
async fn a_log_that_shrank_is_read_anew_once() {
    let temp = tempfile::tempdir().unwrap();
    let folder = Folder::create(temp.path(), team()).unwrap();
    for sequence in 0..2 {
        let (stream, frame) = frame(1, sequence + 1);
        folder.publish(stream, sequence, frame).await.unwrap();
    }
    let read = folder.receive("").await.unwrap();
    let path = temp.path().join("w").join(Name([1; 16]).to_string()).join("00000001.log");
    let whole = std::fs::read(&path).unwrap();
    for (end, frames) in [(whole.len() / 2, 1), (whole.len() / 2 - 1, 0), (0, 0)] {
        std::fs::write(&path, &whole[..end]).unwrap();
        let again = folder.receive(&read.cursor).await.unwrap();
        assert_eq!(again.frames.len(), frames, "{end}");
        let changed = tokio::time::timeout(Duration::from_millis(20), folder.changed(&again.cursor));
        assert!(changed.await.is_err(), "{end}: nothing is new");
    }
}

#[tokio::test]
async fn a_purge_without_frames_writes_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let folder = Folder::create(temp.path(), team()).unwrap();
    let (stream, frame) = frame(1, 1);
    folder.publish(stream, 0, frame).await.unwrap();
    let logs = || {
        let entries = std::fs::read_dir(temp.path().join("w").join(stream.writer.to_string())).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>()
    };
    for folder in [folder, Folder::open(temp.path(), Some(team())).unwrap()] {
        folder.purge(stream).await.unwrap();
        folder.purge(stream).await.unwrap();
        assert_eq!(logs(), ["00000002.log"]);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn files_have_the_folders_mode_and_links_lead_nowhere() {
    use std::os::unix::fs::PermissionsExt as _;

    let temp = tempfile::tempdir().unwrap();
    let (root, outside) = (temp.path().join("team"), temp.path().join("outside"));
    std::fs::create_dir(&root).unwrap();
    std::fs::set_permissions(&root, std::fs::Permissions::from_mode(0o770)).unwrap();
    let folder = Folder::create(&root, team()).unwrap();
    let (stream, first) = frame(1, 1);
    folder.publish(stream, 0, first).await.unwrap();
    folder.put(Slot::Named(Name([3; 16])), b"slot".to_vec()).await.unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let writer = root.join("w").join(stream.writer.to_string());
    let log = writer.join("00000001.log");
    for (path, expected) in [
        (root.join(MARK), 0o660),
        (root.join("w"), 0o770),
        (writer, 0o770),
        (log.clone(), 0o660),
        (root.join("s"), 0o770),
        (root.join("s").join(Name([3; 16]).to_string()), 0o660),
    ] {
        assert_eq!(mode(&path), expected, "{}", path.display());
    }

    let bytes = std::fs::read(&log).unwrap();
    std::fs::write(&outside, &bytes).unwrap();
    std::fs::remove_file(&log).unwrap();
    std::os::unix::fs::symlink(&outside, &log).unwrap();
    let (_, second) = frame(1, 2);
    assert!(folder.publish(stream, 1, second).await.is_err(), "the log is a link");
    assert_eq!(std::fs::read(&outside).unwrap(), bytes);
}

/// What stands before damage counts, and what arrives later in the place of it does as well.
#[tokio::test]
async fn an_end_that_arrives_later_is_read_then() {
    let temp = tempfile::tempdir().unwrap();
    let folder = Folder::create(temp.path(), team()).unwrap();
    for sequence in 0..3 {
        let (stream, frame) = frame(1, sequence + 1);
        folder.publish(stream, sequence, frame).await.unwrap();
    }
    let path = temp.path().join("w").join(Name([1; 16]).to_string()).join("00000001.log");
    let whole = std::fs::read(&path).unwrap();
    let mut zeros = whole.clone();
    zeros[whole.len() / 3 * 2..].fill(0);
    for damaged in [zeros, [&whole[..whole.len() / 3 * 2 + 30], &vec![0xff; whole.len()]].concat()] {
        std::fs::write(&path, &damaged).unwrap();
        let received = folder.receive("").await.unwrap();
        assert_eq!(received.frames.len(), 2, "{:?}", received.problems);
        std::fs::write(&path, &whole).unwrap();
        let later = folder.receive(&received.cursor).await.unwrap();
        assert_eq!((later.frames.len(), later.problems.len()), (1, 0));
    }
    // Records that are no frames are none.
    let empty = [&whole[..], &[1, 0, 0, 0, 0][..], &sha2_of(b"")[..]].concat();
    std::fs::write(&path, [empty, whole.clone()].concat()).unwrap();
    assert_eq!(folder.receive("").await.unwrap().frames.len(), 6);
}

fn sha2_of(bytes: &[u8]) -> Vec<u8> {
    ContentHash::of(bytes).0[..8].to_vec()
}

#[tokio::test]
async fn a_purge_that_a_crash_has_interrupted_is_completed() {
    let temp = tempfile::tempdir().unwrap();
    let folder = Folder::create(temp.path(), team()).unwrap();
    let (stream, frame) = frame(1, 1);
    folder.publish(stream, 0, frame).await.unwrap();
    let log =
        |generation: u32| temp.path().join("w").join(stream.writer.to_string()).join(format!("{generation:08}.log"));
    let before = std::fs::read(log(1)).unwrap();
    folder.purge(stream).await.unwrap();
    std::fs::write(log(1), before).unwrap();
    Folder::open(temp.path(), Some(team())).unwrap().purge(stream).await.unwrap();
    assert!(!log(1).exists() && log(2).exists());
}

/// One place that cannot be read or removed is told apart from a relay that is not there.
#[tokio::test]
async fn what_is_wrong_with_one_place_is_said_of_that_place() {
    let temp = tempfile::tempdir().unwrap();
    let folder = Folder::create(temp.path(), team()).unwrap();
    for slot in [Slot::Named(Name([3; 16])), Slot::Object(ContentHash::of(b"lines"))] {
        folder.put(slot, b"lines".to_vec()).await.unwrap();
        let path = folder.0.slot(slot);
        std::fs::write(&path, vec![0; MAX_OBJECT_BYTES + 1]).unwrap();
        assert!(matches!(folder.get(slot).await, Err(Error::Place(_))), "too long");
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert!(matches!(folder.get(slot).await, Err(Error::Place(_))), "a folder");
        assert!(matches!(folder.delete(slot).await, Err(Error::Place(_))));
    }
    std::fs::remove_file(temp.path().join(MARK)).unwrap();
    assert!(matches!(folder.get(Slot::Named(Name([3; 16]))).await, Err(Error::Unavailable(_))));
}

/// Whoever may write to the folder can exchange what this home has just made there for a link to a file of its user.
#[cfg(unix)]
#[tokio::test]
async fn no_file_outside_of_the_folder_gets_another_mode_or_content() {
    use std::os::unix::fs::PermissionsExt as _;
    use std::sync::atomic::{AtomicBool, Ordering};

    let temp = tempfile::tempdir().unwrap();
    let (root, secret) = (temp.path().join("team"), temp.path().join("secret"));
    std::fs::create_dir(&root).unwrap();
    std::fs::set_permissions(&root, std::fs::Permissions::from_mode(0o777)).unwrap();
    let folder = Folder::create(&root, team()).unwrap();
    std::fs::write(&secret, b"mine").unwrap();
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).unwrap();
    let (ends, slots) = (Arc::new(AtomicBool::new(false)), root.join("s"));
    let (end, of) = (ends.clone(), secret.clone());
    let attacker = std::thread::spawn(move || {
        let mut exchanged = 0;
        while !end.load(Ordering::Relaxed) {
            for entry in std::fs::read_dir(&slots).into_iter().flatten().flatten() {
                if std::fs::remove_file(entry.path()).is_ok() && std::os::unix::fs::symlink(&of, entry.path()).is_ok() {
                    exchanged += 1;
                }
            }
        }
        exchanged
    });
    for number in 0..200_u8 {
        // What became of it is the attacker's.
        let _ = folder.put(Slot::Named(Name([number; 16])), vec![number; 64 * 1024]).await;
    }
    ends.store(true, Ordering::Relaxed);
    assert!(attacker.join().unwrap() > 0);
    assert_eq!(std::fs::metadata(&secret).unwrap().permissions().mode() & 0o777, 0o600);

    // Another name of the same file in the place of this home's log.
    let (stream, first) = frame(1, 1);
    let log = folder.0.writer_folder(stream.writer).join("00000001.log");
    folder.publish(stream, 0, first).await.unwrap();
    let bytes = std::fs::read(&log).unwrap();
    std::fs::write(&secret, &bytes).unwrap();
    std::fs::remove_file(&log).unwrap();
    std::fs::hard_link(&secret, &log).unwrap();
    let (_, second) = frame(1, 2);
    assert!(folder.publish(stream, 1, second).await.is_err());
    assert_eq!(std::fs::read(&secret).unwrap(), bytes);
}

/// Programs that bring a folder up to date may replace it: a watch of the one before tells nothing of the new one.
#[tokio::test]
async fn a_folder_that_was_replaced_is_watched_again() {
    let temp = tempfile::tempdir().unwrap();
    let (news, folder) = (News::default(), temp.path().join("writer"));
    std::fs::create_dir(&folder).unwrap();
    let watch = || news.watch([folder.clone()].into_iter());
    assert!(watch());
    assert!(!watch());
    std::fs::remove_dir(&folder).unwrap();
    std::fs::create_dir(&folder).unwrap();
    let is_watched = async {
        while !watch() {
            news.changed_or_timeout(Duration::from_secs(60)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), is_watched).await.unwrap();
}
