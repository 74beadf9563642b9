//! Worktrees and clones of one repository are one project, also when their directories are gone.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::sockets::Raw;
use crate::transcript::now;
use crate::world::{World, id, text};

const ADDRESS: &str = "git@github.com:acme/quokka.git";

/// A session that worked in a directory and has ended.
fn worked(world: &World, number: u32, directory: &str, on: &str) {
    let folder = directory.replace(['/', '.'], "-");
    let mut transcript = world.transcript(&folder, &id(number)).in_directory(directory);
    transcript.prompt(on).reply("I decided on a ring buffer instead of a list because eviction must not allocate.");
    world.close(&id(number));
}

/// A repository on disk that was cloned from [`ADDRESS`].
fn repository(directory: &Path) {
    fs::create_dir_all(directory.join(".git")).unwrap();
    let config = format!("[core]\n\tbare = false\n[remote \"origin\"]\n\turl = {ADDRESS}\n\tfetch = +refs/*\n");
    fs::write(directory.join(".git/config"), config).unwrap();
}

fn found(world: &World, project: &str) -> Vec<String> {
    let found = world.json(&["search", "eviction", "--project", project]);
    let mut sessions: Vec<String> =
        found["hits"].as_array().unwrap().iter().map(|hit| text(&hit["session_id"])).collect();
    sessions.sort();
    sessions.dedup();
    sessions
}

/// The context that a session receives at its start.
fn begins(world: &World, raw: &mut Raw, number: u32, directory: &str) -> Value {
    let path = world.projects().join(directory.replace(['/', '.'], "-")).join(format!("{}.jsonl", id(number)));
    let params = json!({
        "id": format!("hook-{number}"), "event": "SessionStart", "at": now().0, "detail": "startup",
        "session_id": id(number), "cwd": directory, "transcript_path": path, "wait_ms": 10_000,
    });
    let answer = raw.call(&json!({"jsonrpc": "2.0", "id": 7, "method": "hook", "params": params}));
    answer["result"]["context"].clone()
}

#[test]
fn a_worktree_gets_the_handoff_and_finds_the_sessions_of_another_that_is_gone() {
    let world = World::new();
    world.ok(&["status"]);
    worked(&world, 1, "/srv/harbor-worktrees/fix", "let the quokka cache evict its oldest entries");
    assert_eq!(world.show(&id(1))["group_id"], "/srv/harbor");
    for (number, directory) in (2..).zip([
        "/srv/harbor/.worktrees/3",
        "/srv/harbor/.claude/worktrees/agent-a4ca7529/src",
        "/srv/harbor__worktrees/other",
        "/srv/harbor-wt/1",
        "/srv/harbor",
    ]) {
        let handoff = world.json(&["handoff", "--project", directory]);
        assert_eq!(text(&handoff["session_id"]), id(1), "{directory}: {handoff}");
        assert_eq!(found(&world, directory), [id(1)], "{directory}");
        let mut raw = Raw::greeted(&world);
        let told = begins(&world, &mut raw, number, directory);
        assert!(told.as_str().is_some_and(|told| told.contains("ring buffer")), "{directory}: {told}");
    }
    // People know it by this name.
    assert_eq!(found(&world, "harbor"), [id(1)]);
    let listed = world.json(&["sessions", "--project", "harbor"]);
    assert_eq!(listed["sessions"][0]["project"], "/srv/harbor", "{listed}");
    let refused = world.run(&["search", "eviction", "--project", "fix"]);
    assert!(refused.err.contains("no project \"fix\""), "{}", refused.err);
}

#[test]
fn clones_of_one_repository_are_one_project() {
    let world = World::new();
    let root = fs::canonicalize(world.path("work")).unwrap();
    let at = |name: &str| root.join(name).to_str().unwrap().to_owned();
    for name in ["quokka", "elsewhere/quokka-2", "3"] {
        repository(&root.join(name));
    }
    // A copy that a tool makes on the same disk.
    fs::create_dir_all(root.join("copy/.git")).unwrap();
    fs::write(root.join("copy/.git/config"), format!("[remote \"origin\"]\n\turl = {}\n", at("quokka"))).unwrap();
    worked(&world, 1, &at("quokka"), "let the cache evict its oldest entries");
    worked(&world, 2, &at("elsewhere/quokka-2"), "evict them all");
    worked(&world, 3, &at("3"), "evict them again");
    worked(&world, 4, &at("copy"), "evict them in a copy");
    for project in [at("quokka"), at("elsewhere/quokka-2"), at("3"), at("copy"), "quokka".to_owned()] {
        assert_eq!(found(&world, &project), [id(1), id(2), id(3), id(4)], "{project}");
    }
    fs::remove_dir_all(root.join("3")).unwrap();
    world.kill();
    assert_eq!(world.show(&id(3))["group_id"], *at("quokka"), "what was recorded stays");

    // Codex records the address, so a clone that is gone joins, too.
    let folder = world.path("codex/sessions/2026/03/14");
    fs::create_dir_all(&folder).unwrap();
    let session = "0198c5a2-1111-7222-8333-123456789abc";
    let line = |kind: &str, payload: Value| {
        json!({"timestamp": now().to_string(), "type": kind, "payload": payload}).to_string()
    };
    let message = |role: &str, kind: &str, text: &str| {
        let content = json!([{"type": kind, "text": text}]);
        line("response_item", json!({"type": "message", "role": role, "content": content}))
    };
    let meta = json!({
        "id": session, "timestamp": now().to_string(), "cwd": "/gone/clone", "originator": "codex_cli_rs",
        "cli_version": "0.98.0", "source": "cli",
        "git": {"commit_hash": "4e480f9", "branch": "main", "repository_url": "https://github.com/acme/quokka.git"},
    });
    let lines = [
        line("session_meta", meta),
        message("user", "input_text", "let it evict the newest"),
        message("assistant", "output_text", "Eviction is by age now."),
    ];
    fs::write(folder.join(format!("rollout-2026-03-14T10-00-00-{session}.jsonl")), lines.join("\n") + "\n").unwrap();
    world.close(session);
    assert_eq!(world.show(session)["group_id"], *at("quokka"));
}
