//! Nothing that was planted in the examples is in any file of a home, or in any answer.

use std::path::Path;

use crate::record::memory;
use crate::world::{World, copy, files_below};

fn examples() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("replay-fixtures/transcripts/claude")
}

/// The values of the table in PLANTED.md: head and tail joined.
fn planted() -> Vec<String> {
    let text = std::fs::read_to_string(examples().join("PLANTED.md")).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let mut cells = row.rsplit('`').skip(1).step_by(2);
        let tail = cells.next().unwrap();
        format!("{}{tail}", cells.next().unwrap())
    })
    .collect()
}

/// A file's bytes, and what they unpack to.
fn contents(path: &Path) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(path).unwrap();
    let unpacked = zstd::decode_all(bytes.as_slice()).ok();
    [Some(bytes), unpacked].into_iter().flatten().collect()
}

fn contains(haystack: &[u8], needle: &str) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle.as_bytes())
}

#[test]
fn no_secret_is_in_any_file_of_the_home_or_in_any_answer() {
    let planted = planted();
    assert_eq!(planted.len(), 10, "{planted:?}");
    let everything: Vec<Vec<u8>> =
        files_below(&examples().join("projects")).iter().map(|path| std::fs::read(path).unwrap()).collect();
    for value in &planted {
        assert!(everything.iter().any(|file| contains(file, value)), "{value:?} is not in the examples");
    }

    let mut world = World::new();
    // As much in the daemon's log as it can be asked for.
    world.set("BATON_LOG", "trace,tantivy=info,sled=info,mio=info,notify=info");
    copy(&examples().join("projects"), &world.projects());
    let mut answers = vec![world.search("refresh token password key mirror").to_string()];
    let sessions = world.sessions();
    for (row, value) in sessions.iter().zip(&planted) {
        let id = row["session_id"].as_str().unwrap();
        world.ok(&["close", id, "--reason", &format!("the value is <private>{value}</private>, and no more")]);
        answers.push(world.json(&["search", &format!("the value {value}")]).to_string());
    }
    for row in &sessions {
        let id = row["session_id"].as_str().unwrap();
        answers.push(world.show(id).to_string());
        answers.push(world.ok(&["show", id]).out);
    }
    answers.push(world.json(&["status"]).to_string());
    world.stop();
    answers.extend(memory(world.home()));

    let files = files_below(world.home());
    for kind in ["log/segments", "log/sled", "blobs", "memory", "daemon.log"] {
        let of_kind = files.iter().filter(|file| file.starts_with(world.home().join(kind)));
        assert!(of_kind.count() > 0, "there is no {kind} to look into: {files:?}");
    }
    let mut leaks = Vec::new();
    // That it would be seen if it were there.
    let mut control = false;
    for file in &files {
        for content in contents(file) {
            control |= contains(&content, "users get logged out at random");
            leaks.extend(
                planted.iter().filter(|value| contains(&content, value)).map(|value| format!("{value:?} in {file:?}")),
            );
        }
    }
    for answer in &answers {
        leaks.extend(
            planted.iter().filter(|value| answer.contains(*value)).map(|value| format!("{value:?} in {answer:.200}")),
        );
    }
    assert!(control, "the stored conversations were looked into");
    assert!(leaks.is_empty(), "{leaks:#?}");
}

#[test]
fn no_word_of_a_conversation_is_in_the_log() {
    let world = World::new();
    copy(&examples().join("projects"), &world.projects());
    world.search("anything");
    world.stop();
    let words = ["users get logged out", "refresh token", "cargo test", "I'll start with"];
    for file in files_below(&world.home().join("log")) {
        for content in contents(&file) {
            let found: Vec<_> = words.iter().filter(|word| contains(&content, word)).collect();
            assert!(found.is_empty(), "{found:?} in {file:?}");
        }
    }
    let log = world.log();
    assert!(words.iter().all(|word| !log.contains(word)), "daemon.log");
}
