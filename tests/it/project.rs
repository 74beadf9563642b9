//! Projects and the graph around a thing: what the commands tell, and that the pages tell the same.

use serde_json::{Value, json};

use crate::page::Address;
use crate::world::{World, id, list, text};

/// Two sessions of one project: the second overrules the first and mends its test. And one of another project.
fn ready() -> World {
    let world = World::new();
    world
        .transcript("shop", &id(1))
        .in_directory("/srv/shop")
        .minutes_ago(3 * 24 * 60)
        .prompt("build the job queue")
        .call("t1", "Edit", json!({"file_path": "/srv/shop/src/store.rs", "old_string": "a", "new_string": "b\nc"}))
        .result("t1", "The file has been updated.", false)
        .call("t2", "Bash", json!({"command": "cargo test"}))
        .result("t2", "Exit code 101\nerror: test failed", true)
        .reply("We decided to use Redis for the job queue, because it may already be there.");
    world
        .transcript("shop", &id(2))
        .in_directory("/srv/shop")
        .minutes_ago(60)
        .prompt("<script>alert(1)</script> make the job queue safe")
        .reply("We switch from Redis to Postgres for the job queue, because jobs must survive a restart.")
        .call("t1", "Edit", json!({"file_path": "/srv/shop/src/store.rs", "old_string": "a", "new_string": "b"}))
        .result("t1", "The file has been updated.", false)
        .call("t2", "Bash", json!({"command": "cargo test"}))
        .result("t2", "test result: ok. 4 passed", false);
    world
        .transcript("harbor", &id(3))
        .in_directory("/srv/harbor")
        .minutes_ago(30)
        .prompt("rename the quokka")
        .call("t1", "Edit", json!({"file_path": "/srv/harbor/src/auth.rs", "old_string": "a", "new_string": "b"}))
        .result("t1", "The file has been updated.", false)
        .reply("Renamed.");
    (1..=3).for_each(|number| {
        world.close(&id(number));
    });
    world
}

#[test]
fn what_a_later_session_did_is_not_open() {
    let world = World::new();
    let mut one = world.transcript("shop", &id(1)).in_directory("/srv/shop").minutes_ago(60 * 24);
    one.prompt("Add a cache.").call(
        "t1",
        "Edit",
        json!({"file_path": "/srv/shop/c.rs", "old_string": "a", "new_string": "b"}),
    );
    one.result("t1", "The file has been updated.", false);
    one.reply("The cache is in.\n\nNext steps:\n- write the docs in docs/cache.md\n- paint the fence");
    let mut two = world.transcript("shop", &id(2)).in_directory("/srv/shop").minutes_ago(60);
    two.prompt("Write docs/cache.md.").call(
        "t1",
        "Write",
        json!({"file_path": "/srv/shop/docs/cache.md", "content": "x"}),
    );
    two.result("t1", "File created.", false).reply("I wrote the docs in docs/cache.md.");
    (1..=2).for_each(|number| {
        world.close(&id(number));
    });
    let open = texts(&world.json(&["project", "shop"])["open"]);
    assert!(
        open.iter().any(|text| text.contains("fence")) && !open.iter().any(|text| text.contains("docs/cache")),
        "{open:?}"
    );
}

fn texts(entries: &Value) -> Vec<String> {
    list(entries).iter().map(|one| text(&one["text"])).collect()
}

#[test]
fn a_project_is_told_with_its_decisions_files_and_checks() {
    let world = ready();
    let told = world.json(&["project", "shop"]);
    assert_eq!((&told["project"], &told["sessions_total"]), (&json!("/srv/shop"), &json!(2)), "{told}");
    let ids: Vec<Value> = list(&told["sessions"]).iter().map(|one| one["session_id"].clone()).collect();
    assert_eq!(ids, [json!(id(2)), json!(id(1))]);
    assert!(texts(&told["decisions"]).iter().any(|text| text.contains("switch from Redis to Postgres")), "{told}");
    let replaced = list(&told["replaced"]);
    assert!(
        replaced.iter().any(|one| text(&one["text"]).contains("decided to use Redis")
            && text(&one["by"]["text"]).contains("switch from Redis to Postgres")),
        "{told}"
    );
    assert!(!texts(&told["decisions"]).iter().any(|text| text.contains("decided to use Redis")), "{told}");
    let file = &told["files"][0];
    assert_eq!((&file["path"], &file["changed_in"]), (&json!("src/store.rs"), &json!(2)), "{told}");
    let check = &told["checks"][0];
    assert_eq!((&check["command"], &check["kind"]), (&json!("cargo test"), &json!("test")), "{told}");
    assert_eq!((&check["ok"], &check["failed"]), (&json!(1), &json!(1)), "{told}");
    let weeks = list(&check["weeks"]);
    let sum: u64 = weeks.iter().map(|week| week["count"].as_u64().unwrap()).sum();
    assert_eq!(sum, 2, "{told}");
    assert!(!told.to_string().contains("quokka"), "another project");

    let all = world.json(&["project", "--all"]);
    let names: Vec<String> = list(&all["projects"]).iter().map(|one| text(&one["project"])).collect();
    assert_eq!(names, ["/srv/harbor", "/srv/shop"], "{all}");
    assert_eq!(all["projects"][1]["sessions"], 2);
    let human = world.ok(&["project", "shop"]).out;
    assert!(
        human.contains("Decisions that hold\n") && human.contains("src/store.rs") && human.contains("cargo test"),
        "{human}"
    );
    let unknown = world.run(&["project", "nowhere"]);
    assert!(unknown.code == 1 && unknown.err.contains("nowhere"), "{}", unknown.err);
    // Names of the pages for two commands.
    assert_eq!(world.json(&["file", "src/store.rs"])["path"], "src/store.rs");
    assert!(world.json(&["workflows"])["sequences"].is_array());
    assert!(world.ok(&["workflows", "--help"]).out.contains("Usage: baton workflows"));
    assert!(world.ok(&["workflows", "-p", "shop"]).out.contains("Only of /srv/shop; another with --project."));
}

#[test]
fn the_graph_is_told_as_of_a_day() {
    let world = ready();
    let now = world.json(&["graph", "src/store.rs"]);
    let nodes = list(&now["nodes"]);
    assert_eq!((&nodes[0]["name"], &nodes[0]["hops"]), (&json!("src/store.rs"), &json!(0)), "{now}");
    assert_eq!(nodes[0]["uuid"], now["center"]);
    let days = list(&now["days"]);
    assert!(days.len() == 2 && days[0].as_str() < days[1].as_str(), "{now}");
    let of = |graph: &Value, relation: &str| {
        list(&graph["facts"]).iter().filter(|fact| fact["name"] == relation && fact["target"] == now["center"]).count()
    };
    assert_eq!(of(&now, "MODIFIED"), 2, "{now}");
    assert!(list(&now["facts"]).iter().all(|fact| fact["at"].as_str() >= fact["valid_at"].as_str()), "{now}");
    let then = world.json(&["graph", "src/store.rs", "--as-of", days[0].as_str().unwrap()]);
    assert_eq!(of(&then, "MODIFIED"), 1, "{then}");
    assert!(list(&then["facts"]).iter().all(|fact| fact["valid_at"].as_str() <= then["as_of"].as_str()), "{then}");
    let before = world.json(&["graph", "src/store.rs", "--as-of", "2001-01-01"]);
    assert!(list(&before["facts"]).is_empty() && list(&before["days"]).len() == 2, "{before}");
    // What was decided first held until it was overruled.
    let held = |as_of: &str| {
        let graph = world.json(&["graph", "-p", "shop", "--as-of", as_of]);
        let decided = list(&graph["facts"]).into_iter().filter(|fact| fact["name"] == "DECIDED");
        decided.map(|fact| text(&fact["fact"])).collect::<Vec<_>>().join("\n")
    };
    assert!(held(days[0].as_str().unwrap()).contains("decided to use Redis"));
    assert!(!held("0h").contains("decided to use Redis") && held("0h").contains("switch from Redis to Postgres"));
    let by_session = world.json(&["graph", &id(3)]);
    assert!(by_session["nodes"][0]["label"] == "Session" && by_session.to_string().contains("auth.rs"), "{by_session}");
    let nothing = world.run(&["graph", "zyzzyva"]);
    assert!(nothing.code == 1 && nothing.out.contains("Nothing is known of zyzzyva"), "{}{}", nothing.out, nothing.err);
    assert_eq!(world.run(&["graph", "--as-of", "soon"]).code, 2);
}

#[test]
fn the_pages_show_the_same() {
    let world = ready();
    let address = Address::new(&world);
    let cookie = address.enter();
    let page = |path: &str| {
        let answer = address.get(path, &cookie);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        assert!(!answer.body.contains("<script>alert"), "{path}: escaped");
        answer.body
    };
    let all = page("/projects");
    assert!(all.contains("/project?name=%2Fsrv%2Fshop") && all.contains("/srv/harbor"), "{all}");
    let shop = page("/project?name=%2Fsrv%2Fshop");
    for part in ["<svg", "Decisions that hold", "Superseded decisions", "src/store.rs", "cargo test", "by week"] {
        assert!(shop.contains(part), "{part}: {shop}");
    }
    let file = page("/file?path=%2Fsrv%2Fshop%2Fsrc%2Fstore.rs&project=%2Fsrv%2Fshop");
    assert!(file.contains(&format!("/session/{}", id(1))) && file.contains("/graph?about=src%2Fstore.rs"), "{file}");
    let graph = page("/graph?about=src%2Fstore.rs");
    assert!(graph.contains("type=\"range\"") && graph.contains("<circle"), "{graph}");
    assert!(graph.contains(&format!("/session/{}?line=", id(1))), "{graph}");
    let empty = page("/graph?about=src%2Fstore.rs&as_of=11000");
    assert!(empty.contains("2000-02-13") && empty.contains("Next change"), "{empty}");
    assert_eq!(address.get("/graph?as_of=soon", &cookie).status, 400);
    assert_eq!(address.get("/project?name=nowhere", &cookie).status, 404);
    assert!(page("/workflows").contains("Workflows"));
}
