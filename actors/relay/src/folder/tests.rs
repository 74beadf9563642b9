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
