//! The query language through the command line, and the lines to which hits point.

use serde_json::{Value, json};

use crate::world::{World, hits, id, list, text};

/// Two sessions of one project and one of another, the third the oldest.
fn world() -> World {
    let world = World::new();
    let mut one = world.transcript("-work-one", &id(1)).in_directory("/srv/shop").minutes_ago(30);
    one.prompt("why does the refresh token expire");
    one.call("c1", "Edit", json!({"file_path": "/srv/shop/src/auth.rs", "old_string": "a", "new_string": "b"}));
    one.result("c1", "The file has been updated.", false);
    one.reply("The migration to sled is done.");
    let mut two = world.transcript("-work-one", &id(2)).in_directory("/srv/shop").minutes_ago(60);
    two.prompt("a token refresh for the cart").reply("It uses tokio now.");
    two.call("c1", "Bash", json!({"command": "git push --no-verify"})).result("c1", "pushed", false);
    let mut three = world.transcript("-work-two", &id(3)).in_directory("/srv/blog").minutes_ago(60 * 24 * 40);
    three.prompt("refresh the theme").reply("The token is gone.");
    world
}

#[test]
fn operators_and_filters_narrow_what_is_found() {
    let world = world();
    let mut all = world.found("refresh token");
    all.sort();
    assert_eq!(all, [id(1), id(2), id(3)]);
    for (query, expected) in [
        ("\"refresh token\"", vec![1]),
        ("\"token refresh\"", vec![2]),
        ("refresh -tokio \"token refresh\"", vec![2]),
        ("migrat*", vec![1]),
        ("push --no-verify", vec![2]),
        ("token file:auth.rs", vec![1]),
        ("token -file:auth.rs project:shop", vec![2]),
        ("refresh project:blog", vec![3]),
        ("refresh project:/srv/blog", vec![3]),
        ("refresh project:nowhere", vec![]),
        ("refresh tool:bash", vec![2]),
        ("refresh agent:codex", vec![]),
        ("refresh before:30d", vec![3]),
        ("refresh after:7d -project:blog file:auth", vec![1]),
        ("\"refresh token\" \"nowhere\"", vec![]),
        // Filters alone: latest first.
        ("after:7d", vec![1, 2]),
        ("project:shop project:blog", vec![1, 2, 3]),
        ("tool:Bash", vec![2]),
        ("project:shop -tokio", vec![1]),
        ("file:nowhere.rs", vec![]),
        ("after:7d -\"token expire\"", vec![2]),
        // A filter stays a filter, whatever its value is.
        ("refresh state:sleeping", vec![]),
        ("refresh after:soonish", vec![]),
        ("refresh -after:30d", vec![3]),
    ] {
        let expected: Vec<String> = expected.into_iter().map(id).collect();
        assert_eq!(world.found(query), expected, "{query}");
    }
}

#[test]
fn what_was_taken_in_another_way_is_said() {
    let world = world();
    for (query, note) in [
        ("author:bob refresh", "there is no filter \"author\""),
        ("refresh after:soonish", "not a date"),
        ("refresh project:shap", "shop"),
        ("refresh file:nowhere.rs", "no session has to do with a file \"nowhere.rs\""),
        ("why \"the nowhere\" refresh", "found by the words instead"),
        ("refresh -tokio", "passages with tokio are left out"),
        ("refresh state:sleeping", "there is no such state; there are active"),
        ("-refresh", "-refresh is searched for"),
        ("lo*k refresh", "a star stands for the rest of a word"),
    ] {
        let found = world.search(query);
        assert!(found["notes"].to_string().replace('\\', "").contains(note), "{query}: {}", found["notes"]);
        assert!(world.ok(&["search", query]).err.contains(note), "{query}");
    }
    assert!(world.search("refresh token")["notes"].is_null());
}

#[test]
fn a_hit_says_why_it_is_there_and_where() {
    let world = world();
    let matched = |query: &str| {
        let found = world.search(query);
        let hit = hits(&found)[0].clone();
        list(&hit["matched"]).iter().map(text).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(matched("expire"), "text title");
    assert_eq!(matched("\"refresh token\""), "text phrase title");
    assert_eq!(matched("src/auth.rs"), "text file entity");
    assert_eq!(matched("file:auth.rs after:7d"), "file after");

    let found = world.search("migration sled");
    let line = hits(&found)[0]["line"].as_u64().unwrap();
    // The line is shown although the transcript is gone.
    std::fs::remove_file(world.projects().join("-work-one").join(format!("{}.jsonl", id(1)))).unwrap();
    let shown = world.json(&["show", &id(1), "--line", &line.to_string(), "--context", "1"]);
    let focus = usize::try_from(shown["focus"].as_u64().unwrap()).unwrap();
    let messages = list(&shown["messages"]);
    assert_eq!(messages[focus]["line"], line, "{shown}");
    assert!(messages[focus].to_string().contains("The migration to sled is done."), "{shown}");
    assert_eq!(messages.len(), 2, "the one before and none behind: {shown}");
    let human = world.ok(&["show", &id(1), "--line", &line.to_string()]).out;
    assert!(human.contains(&format!("> {line} assistant")), "{human}");
    let behind: Value = world.json(&["show", &id(1), "--line", "999"]);
    assert!(text(&behind["note"]).contains("the session ends at line"), "{behind}");
    assert_eq!(world.run(&["show", &id(1), "--line", "3", "--messages"]).code, 2);
    assert_eq!(world.run(&["show", &id(1), "--context", "3"]).code, 2);
}

#[test]
fn active_is_what_has_not_ended_although_the_search_has_indexed_it() {
    let world = world();
    let mut four = world.transcript("-work-one", &id(4)).in_directory("/srv/shop");
    four.prompt("refresh the kookaburra");
    (1..4).for_each(|number| drop(world.close(&id(number))));
    assert_eq!(world.found("refresh state:active"), [id(4)]);
    assert_eq!(world.show(&id(4))["state"], "indexed");
    assert!(!world.found("refresh -state:active").contains(&id(4)));
    assert_eq!(world.found("refresh state:indexed").len(), 4);
    let open = list(&world.json(&["sessions", "--state", "active"])["sessions"]);
    assert_eq!(open.iter().map(|row| text(&row["session_id"])).collect::<Vec<_>>(), [id(4)]);
}
