//! `baton-bench answers`: real sessions and questions against a small gold.

use serde_json::{Value, json};

use super::world::World;

const ID: &str = "0a1b2c3d-0000-4000-8000-000000000001";

/// Writes a session and a file of gold; returns the path of the latter.
fn write(world: &World, questions: &Value) -> String {
    let line = |at: u64, role: &str, text: &str| {
        let record = json!({
            "type": role, "uuid": format!("u{at}"), "sessionId": ID, "cwd": "/p", "isSidechain": false,
            "timestamp": format!("2026-03-14T09:00:{at:02}.000Z"), "message": {"role": role, "content": text},
        });
        format!("{record}\n")
    };
    let transcript = [
        line(1, "user", "Store the ledger's pages in a file"),
        line(2, "assistant", "I use sled instead of sqlite, because it needs no C compiler."),
        line(3, "user", "Good. What is left?"),
        line(4, "assistant", "The pages are stored in pages.sled now."),
    ];
    std::fs::create_dir_all(world.path("claude/projects/-p")).unwrap();
    std::fs::write(world.path(&format!("claude/projects/-p/{ID}.jsonl")), transcript.concat()).unwrap();
    let gold = json!({"sessions": [{"session_id": ID, "path": format!("projects/-p/{ID}.jsonl"), "gold": {
        "title": "Store ledger pages in sled",
        "decisions": [{"text": "sled instead of sqlite: no C compiler", "lines": [2]}],
        "errors": [], "open": [{"text": "nothing like it", "lines": [40]}], "next": [],
    }}], "questions": questions});
    let path = world.path("gold.json");
    std::fs::write(&path, gold.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn episodes_and_answers_are_compared_with_gold() {
    let world = World::new();
    let question = |id: &str, kind: &str, text: &str, keys: &[&str]| json!({"id": id, "kind": kind, "cmd": "recall", "text": text, "session": "0a1b2c3d", "keys": keys, "project": null});
    let gold = write(
        &world,
        &json!([
            question("W1", "why", "why did we choose sled?", &["sled", "sqlite"]),
            question("W2", "why", "why did we choose sled?", &["rocksdb"]),
            question("N1", "none", "zebra giraffe", &[]),
        ]),
    );
    let claude = world.path("claude");
    let arguments = ["answers", &gold, "--claude", claude.to_str().unwrap()];
    let found = world.run_ok(&[&arguments[..], &["--json"]].concat()).json();
    let decisions = json!({"given": 1, "right": 1, "gold": 1, "found": 1});
    assert_eq!(found["episodes"]["decisions"], decisions, "{found}");
    assert_eq!(found["episodes"]["open"]["found"], 0);
    assert_eq!(found["questions"]["all"]["points"], 2.5, "{found}");
    assert_eq!(found["questions"]["kinds"]["none"]["points"], 1.0);
    let printed = world.run_ok(&[&arguments[..], &["--detail", "--without-questions"]].concat()).out;
    assert!(printed.contains("missed"), "{printed}");
    assert!(!printed.contains("Questions"), "{printed}");

    let refused = world.run(&["answers", &gold]);
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("name the directory it is in with --claude"), "{}", refused.err);
    world.assert_nothing_is_left();
}
