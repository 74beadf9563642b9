//! What is known of a question in one answer, and of projects in the order of time.

use std::path::Path;

use serde_json::{Value, json};

use crate::world::{World, copy, id, list, text};

/// Two sessions of one project, the older first, and one of another.
fn world() -> World {
    let world = World::new();
    let mut one = world.transcript("-work-one", &id(1)).in_directory("/srv/shop").minutes_ago(60 * 30);
    one.prompt("Move the log to sled. Always run clippy before you commit.");
    one.call("c1", "Edit", json!({"file_path": "/srv/shop/src/log.rs", "old_string": "a", "new_string": "b\nc"}));
    one.result("c1", "The file has been updated.", false);
    one.call("c2", "Bash", json!({"command": "cargo test log"}));
    one.result("c2", "Exit code 101\nerror[E0382]: use of moved value: `log`", true);
    one.call("c3", "Edit", json!({"file_path": "/srv/shop/src/log.rs", "old_string": "b", "new_string": "d"}));
    one.result("c3", "The file has been updated.", false);
    one.call("c4", "Bash", json!({"command": "cargo test log"})).result("c4", "test result: ok. 3 passed", false);
    one.call("c5", "Bash", json!({"command": "cargo bench log"}));
    one.result("c5", "Exit code 1\nerror: bench timed out", true);
    one.call("c7", "Bash", json!({"command": "npm run lint"})).result("c7", "Exit code 1\nerror: no lint", true);
    one.call("c6", "Bash", json!({"command": "git commit -m 'Move the log'"})).result("c6", "1 file changed", false);
    one.reply(
        "We decided to use sled instead of SQLite, because it is embedded. Next I will compact the log at night.",
    );
    let mut two = world.transcript("-work-one", &id(2)).in_directory("/srv/shop").minutes_ago(60);
    two.prompt("Run the benchmark of the log again");
    two.call("c1", "Bash", json!({"command": "cargo bench log"})).result("c1", "bench: 12 ns", false);
    two.reply("The benchmark passes now.");
    let mut three = world.transcript("-work-two", &id(3)).in_directory("/srv/blog").minutes_ago(90);
    three.prompt("Make the theme darker").reply("The theme is dark.");
    world
}

fn entries(world: &World, arguments: &[&str]) -> Vec<Value> {
    list(&world.json(&[&["recall"], arguments].concat())["entries"])
}

/// `kind text` of each entry.
fn told(world: &World, arguments: &[&str]) -> Vec<String> {
    let one = |entry: &Value| format!("{} {}", text(&entry["kind"]), text(&entry["text"]));
    entries(world, arguments).iter().map(one).collect()
}

#[test]
fn each_kind_of_question_gets_what_it_asks_for_first() {
    let world = world();
    world.ok(&["sync"]);
    let first = |question: &str, kind: &str, says: &str| {
        let told = told(&world, &[question, "--project", "/srv/shop"]);
        let is_so = told.first().is_some_and(|told| told.starts_with(kind) && told.contains(says));
        assert!(is_so, "{question}: {told:#?}");
    };
    first("what were we working on last time?", "session", "Run the benchmark of the log again");
    first("how did we solve E0382 before", "fixed", "E0382");
    first("which approach failed?", "failed", "");
    let why = told(&world, &["why did we choose sled?"]);
    assert!(why[0].contains("sled") && why[0].contains("SQLite"), "{why:#?}");
    assert!(why.iter().any(|told| told.starts_with("decision ")), "{why:#?}");
    let files = told(&world, &["which files belong to this work", "--project", "shop"]);
    assert!(files.iter().any(|told| told == "file src/log.rs (+3 -2)"), "{files:#?}");
    let open = told(&world, &["what is still open?", "--project", "shop"]);
    assert!(open.iter().any(|told| told.starts_with("open ") && told.contains("npm run lint")), "{open:#?}");
    let bench = open.iter().any(|told| told.starts_with("open ") && told.contains("cargo bench"));
    assert!(!bench, "the later session ran it: {open:#?}");
    let prefers = told(&world, &["what does the user prefer?"]);
    assert!(prefers.iter().any(|told| told.contains("clippy")), "{prefers:#?}");
    let searched = world.json(&["recall", "dark theme"]);
    assert_eq!(searched["took"], json!([]));
    assert_eq!(searched["entries"][0]["session_id"], id(3), "{searched}");
    let human = world.ok(&["recall", "why sled"]).out;
    assert!(human.contains("sled") && human.contains(&id(1)[..8]), "{human}");
}

#[test]
fn what_was_decided_otherwise_later_is_told_last_and_marked() {
    let world = World::new();
    let mut one = world.transcript("-work-one", &id(1)).in_directory("/srv/shop").minutes_ago(60 * 72);
    one.prompt("Where does the log go?").reply("We use SQLite for the log, because it needs no server.");
    let mut two = world.transcript("-work-one", &id(2)).in_directory("/srv/shop").minutes_ago(60);
    two.prompt("The log is slow").reply("We switched from SQLite to sled for the log, because SQLite was slow.");
    world.ok(&["sync"]);
    let entries = entries(&world, &["what was decided about the log?"]);
    let place = |kind: &str, says: &str| {
        let fits = |entry: &Value| text(&entry["kind"]) == kind && text(&entry["text"]).contains(says);
        let place = entries.iter().position(fits);
        place.unwrap_or_else(|| panic!("no {kind} says {says}: {entries:#?}"))
    };
    for kind in ["decision", "fact"] {
        let (now, then) = (place(kind, "to sled"), place(kind, "needs no server"));
        assert!(now < then, "{entries:#?}");
        assert_eq!(entries[then]["ended"], entries[now]["day"], "{entries:#?}");
        assert_eq!(entries[now].get("ended"), None, "{entries:#?}");
    }
    let human = world.ok(&["recall", "what was decided about the log?"]).out;
    assert!(human.contains("(not any more since "), "{human}");
}

#[test]
fn an_answer_keeps_to_its_budget_and_says_what_it_left_out() {
    let world = world();
    let whole = world.json(&["recall", "what was decided about the log", "--budget", "5000"]);
    let entries = list(&whole["entries"]).len();
    assert!(entries > 3 && whole["left_out"] == 0, "{whole}");
    for entry in list(&whole["entries"]) {
        assert!(
            !text(&entry["session_id"]).is_empty() && entry["day"].is_string() || entry["line"].is_u64(),
            "{entry}"
        );
    }
    for budget in [200_u64, 300, 450] {
        let budget_text = budget.to_string();
        let found = world.json(&["recall", "what was decided about the log", "--budget", &budget_text]);
        // Four bytes a token, as the estimate has it.
        let bytes = found.to_string().len() as u64;
        assert!(
            bytes.div_ceil(4) <= budget && found["tokens"].as_u64().unwrap() <= budget,
            "{budget}: {bytes} {found}"
        );
        let (kept, left_out) = (list(&found["entries"]).len(), found["left_out"].as_u64().unwrap());
        assert!(kept < entries && left_out > 0, "{budget}: {found}");
    }
    assert_eq!(world.run(&["recall", "x", "--budget", "10"]).code, 2);
    assert_eq!(world.run(&["recall", " "]).code, 2);
    let nothing = world.json(&["recall", "hippopotamus"]);
    assert!(list(&nothing["entries"]).is_empty() && nothing["notes"].to_string().contains("nothing was found"));
}

#[test]
fn a_timeline_is_by_day_and_goes_on() {
    let world = world();
    let all = world.json(&["timeline"]);
    let days = list(&all["days"]);
    let ids: Vec<String> =
        days.iter().flat_map(|day| list(&day["sessions"])).map(|past| text(&past["session_id"])).collect();
    assert_eq!(ids, [id(2), id(3), id(1)], "{all}");
    let last = days.last().unwrap()["sessions"][0].clone();
    assert_eq!((&last["files_changed"], &last["commits"], &last["outcome"]), (&json!(1), &json!(1), &json!("failed")));
    assert!(last["open_ends"].as_u64().unwrap() >= 1 && !list(&last["open"]).is_empty(), "{last}");
    let mut gathered = Vec::new();
    let mut cursor: Option<String> = None;
    for _ in 0..4 {
        let mut arguments = vec!["timeline", "--limit", "1", "--since", "7d"];
        arguments.extend(cursor.as_deref().map(|cursor| ["--cursor", cursor]).into_iter().flatten());
        let page = world.json(&arguments);
        gathered.extend(list(&page["days"]).iter().map(|day| text(&day["sessions"][0]["session_id"])));
        cursor = page["next_cursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(gathered, ids);
    let shop = world.json(&["timeline", "--project", "/srv/shop", "--since", "20h"]);
    assert_eq!(list(&shop["days"]).len(), 1, "{shop}");
    assert_eq!(world.run(&["timeline", "--since", "soon"]).code, 1);
    let human = world.ok(&["timeline"]).out;
    assert!(human.contains(&id(1)[..8]) && human.contains("1 commit"), "{human}");
}

#[test]
fn the_questions_work_on_the_example_sessions() {
    let world = World::new();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("replay-fixtures/transcripts/claude/projects");
    copy(&examples, &world.projects());
    world.ok(&["sync"]);
    for (question, kind) in [
        ("what were we working on last time", "session"),
        ("why did we choose this", "decision"),
        ("how did we solve this error before", "fixed"),
        ("which approach failed", "failed"),
        ("which files belong to this work", "file"),
        ("what is still open", "open next"),
    ] {
        let kinds: Vec<String> = entries(&world, &[question]).iter().map(|entry| text(&entry["kind"])).collect();
        assert!(kinds.iter().any(|there| kind.split(' ').any(|kind| kind == there)), "{question}: {kinds:?}");
    }
}
