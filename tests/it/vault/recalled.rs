//! What is asked for in other projects than its own.

use std::fs;

use serde_json::json;

use super::{notes, own, ready, until, with_notes, worked};
use crate::sockets::Raw;
use crate::world::{World, id, list};

/// How often an entity was recorded as recalled elsewhere.
fn recorded(world: &World) -> usize {
    world.ok(&["log", "tail", "-n", "1000", "--json"]).out.matches("entity_recalled").count()
}

#[test]
fn an_entity_that_three_other_projects_recall_is_shared() {
    let world = with_notes(&json!({}));
    worked(&world, "-work-one", 1, "wombat cache");
    world.close(&id(1));
    ready(&world, 1);
    let mut raw = Raw::greeted(&world);
    let mut ask = |project: &str| {
        let directory = world.path(project);
        fs::create_dir_all(&directory).unwrap();
        let caller = json!({"directory": directory});
        let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "nodes",
            "params": {"query": "wombat_cache.rs", "limit": 5, "caller": caller, "labels": ["File"]}});
        let found = raw.call(&asked)["result"]["nodes"].clone();
        assert!(!list(&found).is_empty(), "{found}");
    };
    let shared = || notes(&own(&world)).into_iter().filter(|path| path.starts_with("shared/")).collect::<Vec<_>>();
    for project in ["alpha", "beta", "alpha", "alpha"] {
        ask(project);
    }
    assert!(crate::world::wait(|| recorded(&world) == 2), "{}", recorded(&world));
    assert_eq!(shared(), [""; 0]);
    ask("gamma");
    until(&world, "the promotion", |told| told["promoted"] == 1);
    assert_eq!(recorded(&world), 3, "only the first recall in a project is an event");
    let [path] = shared().try_into().unwrap();
    let text = fs::read_to_string(own(&world).join(&path)).unwrap();
    assert!(text.contains("/entities/"), "{text}");
    let all = notes(&own(&world));
    let target = format!("claude/{}", path.trim_end_matches(".md"));
    let back = all.iter().filter(|other| other.contains("projects/") && other.contains("/entities/"));
    assert!(
        back.clone().any(|other| fs::read_to_string(own(&world).join(other)).unwrap().contains(&target)),
        "{all:?}"
    );
    assert_eq!(world.json(&["vault", "verify"])["clean"], true);
    // It is so for the next daemon too.
    world.stop();
    until(&world, "the promotion", |told| told["promoted"] == 1);
    assert_eq!(recorded(&world), 3);
}
