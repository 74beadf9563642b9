//! What is hidden, deleted or forgotten at its writer's is gone at the others', and cannot be brought back.

use serde_json::json;

use super::*;
use crate::mcp::agent::Agent;

#[test]
fn what_an_agent_deletes_leaves_the_others_until_it_is_shown_again() {
    let pair = Pair::new();
    let (ann, bob) = (&pair.ann, &pair.bob);
    worked(ann, 1, SHARED, SAID);
    worked(ann, 4, SHARED, "the bilby index is next");
    ann.ok(&["relay", "share", SHARED, "--yes"]);
    for (query, number) in [("wombat cache", 1), ("bilby index", 4)] {
        arrives(bob, query, &id(number));
    }
    let agent = Agent::start(ann);
    agent.call("delete_episode", json!({"uuid": ann.show(&id(1))["episode_uuid"]})).ok();
    agent.end();
    assert!(wait(|| bob.found("wombat cache").is_empty()), "{}", bob.log());
    // Nor is it published later, whatever is.
    let preview = ann.json(&["relay", "preview"]);
    assert_eq!(preview["sessions"], 1, "{preview}");
    worked(ann, 5, SHARED, "the dugong is last");
    arrives(bob, "dugong", &id(5));
    assert!(bob.found("wombat cache").is_empty());

    ann.ok(&["forget", "--undo", &id(1)]);
    arrives(bob, "wombat cache", &id(1));
    assert_eq!(settled(bob)["problems"], Value::Array(Vec::new()));
}

#[test]
fn an_old_state_of_the_folder_brings_nothing_back() {
    let pair = Pair::sharing();
    let (ann, bob) = (&pair.ann, &pair.bob);
    let kept: Vec<(PathBuf, Vec<u8>)> =
        files_below(&pair.folder).into_iter().map(|file| (file.clone(), std::fs::read(&file).unwrap())).collect();
    ann.ok(&["forget", &id(1), "--yes"]);
    assert!(wait(|| bob.found("wombat cache").is_empty()), "{}", bob.log());
    let is_destroyed = || files_below(&pair.folder.join("s")).is_empty();
    assert!(wait(is_destroyed), "{}", ann.log());

    // Whoever can write to the folder has kept all of it.
    ann.stop();
    for (file, bytes) in kept {
        let is_log = file.extension().is_some_and(|extension| extension == "log");
        let file = if is_log { file.with_file_name("00000099.log") } else { file };
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, bytes).unwrap();
    }
    let cursor = bob.home().join("relay").join("cursor.json");
    let has_read = || std::fs::read_to_string(&cursor).is_ok_and(|text| text.matches("[99,").count() == 2);
    assert!(wait(has_read), "{}\n{}", std::fs::read_to_string(&cursor).unwrap_or_default(), bob.log());
    assert!(bob.found("wombat cache").is_empty());
    let sessions = bob.json(&["sessions"]).to_string();
    assert!(!sessions.contains(&id(1)), "{sessions}");
}
