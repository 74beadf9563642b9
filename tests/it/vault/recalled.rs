//! Entities that are asked for in other projects than their own.

use std::fs;

use serde_json::{Value, json};

use super::{notes, own, ready, until, with_notes, worked};
use crate::sockets::Raw;
use crate::world::{World, id, list};

/// Adds one session in each project; they know nothing of what is asked for.
fn with_projects(world: &World, projects: &[&str]) {
    for (number, project) in (90..).zip(projects) {
        world.transcript(project, &id(number)).prompt("Something else").reply("done");
        world.wait_for(&id(number), "the project", |_| true);
    }
}

/// The nodes of a kind that a search from a directory finds.
fn found(raw: &mut Raw, query: &str, directory: &str, label: &str) -> Value {
    let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "nodes",
        "params": {"query": query, "limit": 5, "caller": {"directory": directory}, "labels": [label]}});
    raw.call(&asked)["result"]["nodes"].clone()
}

/// Has an entity recalled in three projects that know nothing of it, which makes it shared.
fn recalled_in_three(world: &World, query: &str, label: &str) {
    let mut raw = Raw::greeted(world);
    let projects = ["alpha", "beta", "gamma"];
    with_projects(world, &projects);
    for project in projects {
        let found = found(&mut raw, query, &format!("/srv/{project}"), label);
        assert!(!list(&found).is_empty(), "{found}");
    }
    until(world, "the promotion", |told| told["promoted"] == 1);
}

/// Number of recorded recalls of entities in other projects.
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
    with_projects(&world, &["alpha", "beta", "gamma"]);
    let mut ask = |project: &str| {
        let found = found(&mut raw, "wombat_cache.rs", &format!("/srv/{project}"), "File");
        assert!(!list(&found).is_empty(), "{found}");
    };
    let shared = || notes(&own(&world)).into_iter().filter(|path| path.starts_with("shared/")).collect::<Vec<_>>();
    // Folders of a project belong to it, and a directory without sessions is not a project.
    for project in ["alpha", "beta", "alpha", "beta/src", "beta/docs/api", "nowhere", "else/where", "-work-one/src"] {
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
    // The same with the next daemon.
    world.stop();
    until(&world, "the promotion", |told| told["promoted"] == 1);
    assert_eq!(recorded(&world), 3);
}

#[test]
fn an_entity_of_a_group_is_recalled_at_home_and_shared_like_any_other() {
    let world = with_notes(&json!({}));
    worked(&world, "-work-one", 1, "wombat cache");
    worked(&world, "-work-two", 2, "numbat index");
    world.close(&id(1));
    world.close(&id(2));
    let mut raw = Raw::greeted(&world);
    for number in [1, 2] {
        let arguments = json!({"session_id": id(number), "group_id": "team"});
        let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "track_session", "arguments": arguments}});
        let answer = raw.call(&asked);
        assert_eq!(answer["result"]["structuredContent"]["status"], "success", "{answer}");
    }
    ready(&world, 2);
    let mut ask = |directory: &str| {
        let mut nodes = json!([]);
        let came = crate::world::wait(|| {
            nodes = found(&mut raw, "wombat", directory, "File");
            list(&nodes).iter().any(|node| node["group_id"] == "team")
        });
        assert!(came, "{nodes}");
    };
    // In its own project, and in another project of the group that does not know it.
    ask("/srv/-work-one");
    ask("/srv/-work-two");
    assert!(crate::world::wait(|| recorded(&world) == 1), "{}", recorded(&world));
    with_projects(&world, &["alpha", "beta"]);
    for project in ["/srv/alpha", "/srv/beta"] {
        ask(project);
    }
    until(&world, "the promotion", |told| told["promoted"] == 1);
    assert_eq!(recorded(&world), 3, "its own project is none of them");
    let all = notes(&own(&world));
    let shared = all.iter().find(|path| path.starts_with("shared/")).unwrap();
    let text = fs::read_to_string(own(&world).join(shared)).unwrap();
    let entity = all
        .iter()
        .find(|path| path.contains("/entities/") && path.contains("wombat_cache.rs") && path.starts_with("projects/"))
        .unwrap();
    assert!(text.contains(entity.trim_end_matches(".md")), "{entity}: {text}");
    let back = fs::read_to_string(own(&world).join(entity)).unwrap();
    assert!(back.contains(shared.trim_end_matches(".md")), "{back}");
    assert_eq!(world.json(&["vault", "verify"])["clean"], true);
}

#[test]
fn what_is_shared_is_shared_in_another_vault_too_and_with_each_project_that_has_it() {
    let world = with_notes(&json!({}));
    worked(&world, "-work-one", 1, "wombat cache");
    world.close(&id(1));
    ready(&world, 1);
    recalled_in_three(&world, "wombat_cache", "File");
    // The same daemon with an empty vault.
    let other = world.path("notes");
    fs::create_dir_all(&other).unwrap();
    super::configure(&world, &json!({"path": other}));
    until(&world, "the other vault", |told| told["promoted"] == 1 && told["path"] == other.display().to_string());
    ready(&world, 1);
    let shared = notes(&other).into_iter().find(|path| path.contains("shared/entities/"));
    let text = fs::read_to_string(other.join(shared.unwrap())).unwrap();
    assert!(text.contains("/entities/") && text.contains("wombat_cache.rs"), "{text}");
    assert_eq!(world.json(&["vault", "verify"])["clean"], true);
}

#[test]
fn what_is_shared_goes_on_to_be_shared_however_many_recalls_would_be_needed_now() {
    let world = with_notes(&json!({}));
    let added = |project: &str, number: u32| {
        let mut transcript = world.transcript(project, &id(number));
        transcript
            .prompt("Parse the dates with a library")
            .call("c1", "Bash", json!({"command": "cargo add zodlib", "description": "add"}))
            .result("c1", "Adding zodlib v1.0.0", false)
            .reply("I decided to use zodlib instead of our own parser, because it knows leap seconds.");
        world.close(&id(number));
    };
    added("-work-one", 1);
    ready(&world, 1);
    recalled_in_three(&world, "zodlib", "Package");
    let path = notes(&own(&world)).into_iter().find(|path| path.starts_with("shared/")).unwrap();
    let shared = || fs::read_to_string(own(&world).join(&path)).unwrap();
    assert!(shared().contains("work-one") && !shared().contains("work-two"), "{}", shared());
    // As if newer recalls had displaced these.
    super::configure(&world, &json!({"promote_recalls": 50}));
    added("-work-two", 2);
    ready(&world, 2);
    assert!(crate::world::wait(|| shared().contains("work-two")), "{}", shared());
    assert_eq!(world.json(&["vault", "verify"])["clean"], true);
}
