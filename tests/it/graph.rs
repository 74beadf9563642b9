//! Entities, facts and episodes, requested over the socket by a foreign client.

use serde_json::{Value, json};

use crate::record::memory;
use crate::sockets::Raw;
use crate::world::{World, id, list, text};

/// Two sessions in one project that share a file and an error, and one in another project with a file of the same name.
fn ready() -> World {
    let world = World::new();
    let broken = "error[E0382]: borrow of moved value: `token`\n  --> src/auth.rs:42:5";
    world
        .transcript("ledger", &id(1))
        .minutes_ago(90)
        .prompt("why does the login fail, see LEDGER-12")
        .call("t1", "Read", json!({"file_path": "/srv/ledger/src/auth.rs"}))
        .result("t1", "fn login() {}\n", false)
        .call("t2", "Bash", json!({"command": "cargo test -p auth"}))
        .result("t2", &format!("Exit code 101\n{broken}"), true)
        .call("t3", "Edit", json!({"file_path": "/srv/ledger/src/auth.rs", "old_string": "a", "new_string": "b\nc"}))
        .result("t3", "The file has been updated.", false)
        .call("t4", "Bash", json!({"command": "cargo test -p auth"}))
        .result("t4", "test result: ok. 4 passed", false)
        .reply("The token was moved; I clone it now.");
    world
        .transcript("ledger", &id(2))
        .minutes_ago(60)
        .prompt("add a cache")
        .call("t1", "Edit", json!({"file_path": "/srv/ledger/src/auth.rs", "old_string": "a", "new_string": "b"}))
        .result("t1", "The file has been updated.", false)
        .call("t2", "Bash", json!({"command": "cargo add moka"}))
        .result("t2", "Adding moka v0.12", false)
        .reply("Done.");
    world
        .transcript("harbor", &id(3))
        .minutes_ago(30)
        .prompt("rename the quokka")
        .call("t1", "Edit", json!({"file_path": "/srv/harbor/src/auth.rs", "old_string": "a", "new_string": "b"}))
        .result("t1", "The file has been updated.", false)
        .reply("Renamed.");
    world.ok(&["search", "login"]);
    world
}

fn ask(raw: &mut Raw, method: &str, params: Value) -> Value {
    let answer = raw.call(&json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}));
    assert!(answer["error"].is_null(), "{method}: {answer}");
    answer["result"].clone()
}

fn refused(raw: &mut Raw, method: &str, params: Value) -> (i64, String) {
    let answer = raw.call(&json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}));
    (answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("{answer}")), text(&answer["error"]["message"]))
}

fn nodes(raw: &mut Raw, params: Value) -> Vec<Value> {
    list(&ask(raw, "nodes", params)["nodes"])
}

fn facts(raw: &mut Raw, params: Value) -> Vec<Value> {
    list(&ask(raw, "facts", params)["facts"])
}

#[test]
fn one_file_of_two_sessions_is_one_node() {
    let world = ready();
    let mut raw = Raw::greeted(&world);
    let found = nodes(&mut raw, json!({"query": "auth.rs", "labels": ["File"], "groups": ["ledger"]}));
    assert_eq!(found.len(), 1, "{found:#?}");
    let node = &found[0];
    assert_eq!(node["name"], "src/auth.rs");
    assert_eq!(node["labels"], json!(["Entity", "File"]));
    assert_eq!(node["group_id"], "/srv/ledger");
    assert_eq!(node["attributes"]["sessions"], 2);
    assert_eq!(node["attributes"]["session_ids"], json!([id(2), id(1)]), "latest first");
    assert!(text(&node["summary"]).starts_with("File in 2 sessions, last "), "{node}");
    assert!(node["created_at"].is_string(), "{node}");
    // The same name in another project is a different file.
    let all = nodes(&mut raw, json!({"query": "auth.rs", "labels": ["file"]}));
    assert_eq!(all.len(), 2, "{all:#?}");
    assert_eq!(
        nodes(&mut raw, json!({"query": "auth.rs", "labels": ["File"], "groups": ["harbor"]}))[0]["group_id"],
        "/srv/harbor"
    );
}

#[test]
fn a_failure_is_tied_to_what_resolved_it() {
    let world = ready();
    let mut raw = Raw::greeted(&world);
    let answer = ask(&mut raw, "facts", json!({"query": "borrow of moved value", "limit": 3}));
    assert_eq!(answer["message"], "Facts retrieved successfully");
    let found = list(&answer["facts"]);
    let named = |name: &str| found.iter().find(|fact| fact["name"] == name).unwrap_or_else(|| panic!("{found:#?}"));
    let failed = named("FAILED_WITH");
    assert!(
        text(&failed["fact"]).starts_with("`cargo test` failed with error[E0382]: borrow of moved value"),
        "{failed}"
    );
    assert!(text(&failed["fact"]).ends_with("in ledger, resolved by editing src/auth.rs"), "{failed}");
    let resolved = named("RESOLVED_BY");
    let file = nodes(&mut raw, json!({"query": "src/auth.rs", "labels": ["File"], "groups": ["ledger"]}));
    assert_eq!(resolved["target_node_uuid"], file[0]["uuid"]);
    assert_eq!(resolved["source_node_uuid"], failed["target_node_uuid"]);
    let episode = text(&world.show(&id(1))["episode_uuid"]);
    assert_eq!(failed["episodes"], json!([episode]));
    for key in ["uuid", "group_id", "created_at", "valid_at", "reference_time"] {
        assert!(failed[key].is_string(), "{key}: {failed}");
    }
    for key in ["expired_at", "invalid_at"] {
        assert!(resolved.get(key).is_some_and(Value::is_null), "{key}: {resolved}");
    }
    // A resolved failure is no longer valid.
    assert_eq!(failed["invalid_at"], resolved["valid_at"]);
    assert_eq!(failed["attributes"]["invalidated_by"], resolved["uuid"]);
    // The line that the fact points to contains the error.
    let line = failed["attributes"]["lines"][id(1)].as_u64().unwrap();
    let transcript = std::fs::read_to_string(world.projects().join("ledger").join(format!("{}.jsonl", id(1)))).unwrap();
    let said = transcript.lines().nth(usize::try_from(line - 1).unwrap()).unwrap();
    assert!(said.contains("E0382"), "{said}");
}

#[test]
fn what_is_decided_otherwise_later_ends_whatever_was_read_first() {
    let earlier = |world: &World| {
        world
            .transcript("ledger", &id(1))
            .minutes_ago(90)
            .prompt("Please always use tabs for indentation")
            .reply("We decided to use Redis for the job queue, because it may already be there.")
            .call("t1", "Edit", json!({"file_path": "/srv/ledger/src/queue.rs", "old_string": "a", "new_string": "b"}))
            .result("t1", "The file has been updated.", false);
    };
    let later = |world: &World| {
        world
            .transcript("ledger", &id(2))
            .minutes_ago(30)
            .prompt("From now on use spaces instead of tabs")
            .reply("We switch from Redis to Postgres for the job queue, because jobs must survive a restart.")
            .call("t1", "Bash", json!({"command": "git mv src/queue.rs src/jobs.rs"}))
            .result("t1", "", false);
    };
    for first_is_first in [true, false] {
        let world = World::new();
        for is_first in [first_is_first, !first_is_first] {
            if is_first {
                earlier(&world);
            } else {
                later(&world);
            }
            world.ok(&["search", "queue"]);
        }
        let mut raw = Raw::greeted(&world);
        let ended = facts(&mut raw, json!({"query": "*", "invalid": {"after": "2000-01-01"}, "limit": 50}));
        let mut told: Vec<String> =
            ended.iter().map(|fact| format!("{} {}", text(&fact["name"]), text(&fact["fact"]))).collect();
        told.sort();
        assert_eq!(told.len(), 3, "{told:#?}");
        assert!(told[0].starts_with("DECIDED decided in ledger: We decided to use Redis"), "{told:#?}");
        assert!(told[1].starts_with("MODIFIED session 0000"), "{told:#?}");
        assert!(told[2].starts_with("PREFERS the user prefers: always use tabs"), "{told:#?}");
        for fact in &ended {
            assert!(fact["expired_at"].is_string() && fact["attributes"]["invalidated_by"].is_string(), "{fact}");
            assert!(text(&fact["invalid_at"]) > text(&fact["valid_at"]), "{fact}");
        }
        let now = json!({"query": "why did we choose Postgres", "relations": ["DECIDED"], "limit": 1});
        let now = facts(&mut raw, now);
        assert_eq!(
            (&now[0]["attributes"]["value"], &now[0]["invalid_at"]),
            (&json!("postgres"), &Value::Null),
            "{now:#?}"
        );
        // Without the second session nothing contradicts the first.
        world.ok(&["forget", &id(2), "--yes"]);
        let ended = facts(&mut raw, json!({"query": "*", "invalid": {"after": "2000-01-01"}}));
        assert!(ended.is_empty(), "{ended:#?}");
    }
}

#[test]
fn a_center_brings_what_is_tied_to_it_first() {
    let world = ready();
    let mut raw = Raw::greeted(&world);
    let package = nodes(&mut raw, json!({"query": "moka", "labels": ["Package"]}));
    let center = text(&package[0]["uuid"]);
    let found = facts(&mut raw, json!({"query": "session", "center": center}));
    assert_eq!(found[0]["name"], "ADDED_PACKAGE", "{found:#?}");
    assert_eq!(found[0]["target_node_uuid"], *center);
    let found = nodes(&mut raw, json!({"query": "*", "center": center, "limit": 2}));
    assert_eq!(found[0]["uuid"], *center);
    assert_eq!(found[1]["labels"][1], "Session", "{found:#?}");
    let (code, message) = refused(&mut raw, "facts", json!({"query": "x", "center": "not-a-uuid"}));
    assert!(code == -32_602 && message.contains("not a uuid"), "{code} {message}");
    let nobody = "00000000-0000-4000-8000-000000000000";
    let (code, message) = refused(&mut raw, "nodes", json!({"query": "x", "center": nobody}));
    assert!(code == -32_004 && message.contains(nobody), "{code} {message}");
}

#[test]
fn pages_follow_each_other_without_a_gap() {
    let world = ready();
    let mut raw = Raw::greeted(&world);
    for (method, key) in [("nodes", "nodes"), ("facts", "facts"), ("episodes", "episodes")] {
        let all = list(&ask(&mut raw, method, json!({"limit": 100}))[key]);
        assert!(all.len() > 2, "{method}: {all:#?}");
        let mut pages = Vec::new();
        let mut cursor = Value::Null;
        for _ in 0..all.len() {
            let answer = ask(&mut raw, method, json!({"limit": 2, "cursor": cursor}));
            pages.extend(list(&answer[key]));
            cursor = answer["next_cursor"].clone();
            if cursor.is_null() {
                break;
            }
        }
        assert_eq!(pages, all, "{method}");
        let (code, message) = refused(&mut raw, method, json!({"cursor": "page two"}));
        assert!(code == -32_602 && message.contains("page two"), "{code} {message}");
    }
}

#[test]
fn episodes_come_newest_first_and_by_group() {
    let world = ready();
    let mut raw = Raw::greeted(&world);
    let answer = ask(&mut raw, "episodes", json!({}));
    assert_eq!(answer["message"], "Episodes retrieved successfully");
    let episodes = list(&answer["episodes"]);
    let names: Vec<_> = episodes.iter().map(|episode| text(&episode["name"])).collect();
    assert_eq!(names, ["session_00000003", "session_00000002", "session_00000001"]);
    let oldest = &episodes[2];
    assert_eq!(oldest["uuid"], world.show(&id(1))["episode_uuid"]);
    assert_eq!(oldest["source"], "claude_code_jsonl");
    assert_eq!(oldest["source_description"], "Session from /srv/ledger");
    assert_eq!(oldest["group_id"], "/srv/ledger");
    assert!(text(&oldest["content"]).contains("login"), "{oldest}");
    let of_group = list(&ask(&mut raw, "episodes", json!({"groups": ["harbor"]}))["episodes"]);
    assert_eq!(of_group.len(), 1, "{of_group:#?}");
    let (code, message) = refused(&mut raw, "episodes", json!({"groups": ["nowhere"]}));
    assert!(code == -32_004 && message.contains("nowhere") && message.contains("/srv/ledger"), "{code} {message}");
}

#[test]
fn episodes_of_subagents_are_counted_and_not_listed() {
    let world = ready();
    let (parent, agent) = (id(2), "agent-0a1b2c3d4e5f60718");
    let path = world.projects().join(format!("ledger/{parent}/subagents/{agent}.jsonl"));
    let subagent = crate::transcript::Transcript::new(path, &parent, "/srv/ledger").of_subagent(&parent);
    { subagent }.prompt("look for the quokka").reply("found it");
    assert!(!world.found("quokka").is_empty());
    let mut raw = Raw::greeted(&world);
    for (groups, listed, left_out) in [(json!([]), 3, 1), (json!(["ledger"]), 2, 1), (json!(["harbor"]), 1, 0)] {
        let answer = ask(&mut raw, "episodes", json!({"groups": groups}));
        assert_eq!(
            (list(&answer["episodes"]).len(), &answer["subagents_left_out"]),
            (listed, &json!(left_out)),
            "{answer}"
        );
        assert_eq!(answer["unreadable"], 0);
    }
}

#[test]
fn episodes_that_cannot_be_read_are_counted_and_not_tried_without_end() {
    let world = World::new();
    for number in 1..=12 {
        world.transcript("ledger", &id(number)).minutes_ago(i64::from(number) + 5).prompt("the quokka").reply("yes");
    }
    world.ok(&["search", "quokka"]);
    // While the transcript exists, each conversation would be restored from it.
    std::fs::remove_dir_all(world.projects().join("ledger")).unwrap();
    std::fs::remove_dir_all(world.home().join("blobs")).unwrap();
    let mut raw = Raw::greeted(&world);
    let first = ask(&mut raw, "episodes", json!({}));
    assert_eq!((list(&first["episodes"]).len(), &first["unreadable"]), (0, &json!(10)), "{first}");
    assert!(text(&first["message"]).contains("No episode could be read: 10 cannot be"), "{first}");
    let rest = ask(&mut raw, "episodes", json!({"cursor": first["next_cursor"]}));
    assert_eq!((&rest["unreadable"], &rest["next_cursor"]), (&json!(2), &Value::Null), "{rest}");
}

#[test]
fn a_cursor_goes_on_only_where_it_was_given() {
    let world = ready();
    let mut raw = Raw::greeted(&world);
    for method in ["nodes", "facts", "episodes"] {
        let cursor = text(&ask(&mut raw, method, json!({"limit": 1}))["next_cursor"]);
        for (cursor, groups) in
            [(cursor.as_str(), json!(["ledger"])), ("n999999999", json!([])), ("e9223372036854775807.zzz", json!([]))]
        {
            let (code, message) = refused(&mut raw, method, json!({"cursor": cursor, "groups": groups}));
            assert!(code == -32_602 && message.contains(cursor), "{method}: {code} {message}");
        }
    }
}

#[test]
fn a_replaced_episode_leaves_no_mention_behind() {
    let world = ready();
    let mut raw = Raw::greeted(&world);
    let mut transcript = world.transcript("harbor", &id(3));
    std::fs::remove_file(transcript.path()).unwrap();
    transcript
        .prompt("begin anew")
        .call(
            "t1",
            "Edit",
            json!({"file_path": "/srv/harbor/src/quokka_only.rs", "old_string": "a", "new_string": "b"}),
        )
        .result("t1", "The file has been updated.", false)
        .reply("Begun.");
    let found = nodes(&mut raw, json!({"query": "quokka_only", "labels": ["File"], "groups": ["harbor"]}));
    let names: Vec<_> = found.iter().map(|node| text(&node["name"])).collect();
    assert_eq!(names, ["src/quokka_only.rs"], "found by the lazy step, and the old file is gone");
    let said = facts(&mut raw, json!({"query": "*", "groups": ["harbor"], "limit": 100}));
    let said: Vec<_> = said.iter().map(|fact| text(&fact["fact"])).collect();
    assert!(said.iter().any(|fact| fact.contains("quokka_only.rs")), "{said:#?}");
    assert!(!said.iter().any(|fact| fact.contains("auth.rs")), "{said:#?}");
    // Other sessions that support the name are unaffected.
    let others = nodes(&mut raw, json!({"query": "auth.rs", "labels": ["File"]}));
    let others: Vec<_> = others.iter().filter(|node| node["name"] == "src/auth.rs").collect();
    assert!(others.len() == 1 && others[0]["attributes"]["sessions"] == 2, "{others:#?}");
}

#[test]
fn nothing_found_is_said_in_words() {
    let world = ready();
    let mut raw = Raw::greeted(&world);
    for (method, words) in [("nodes", "No relevant nodes found"), ("facts", "No relevant facts found")] {
        let answer = ask(&mut raw, method, json!({"query": "xylophone"}));
        assert_eq!(answer["message"], words);
        assert!(answer["freshness"]["position"].as_u64().unwrap() > 0, "{answer}");
    }
    let answer = ask(&mut raw, "nodes", json!({"query": "*", "labels": ["Spaceship"]}));
    assert_eq!(list(&answer["nodes"]), Vec::<Value>::new());
    let message = text(&answer["message"]);
    assert!(message.contains("Spaceship") && message.contains("Package"), "what there is is named: {message}");
    let empty = World::new();
    empty.ok(&["status"]);
    let answer = ask(&mut Raw::greeted(&empty), "episodes", json!({}));
    assert_eq!(answer["message"], "No episodes found");
}

#[test]
fn a_session_of_another_group_takes_its_entities_with_it() {
    let world = ready();
    let mut raw = Raw::greeted(&world);
    let file = |raw: &mut Raw, group: &str| {
        nodes(raw, json!({"query": "src/auth.rs", "labels": ["File"], "groups": [group], "limit": 1}))
    };
    let before = text(&file(&mut raw, "harbor")[0]["uuid"]);
    let moved = ask(&mut raw, "track", json!({"session": id(3), "group": "shared-docks"}));
    assert_eq!(moved["status"], "success", "{moved}");
    let after = file(&mut raw, "shared-docks");
    assert_eq!(after[0]["group_id"], "shared-docks", "{after:#?}");
    assert_ne!(after[0]["uuid"], *before, "an entity of another group is another");
    let all = nodes(&mut raw, json!({"query": "*", "limit": 100}));
    assert!(all.iter().all(|node| node["group_id"] != "/srv/harbor"), "{all:#?}");
}

#[test]
fn a_memory_begun_anew_knows_the_same() {
    let world = ready();
    let mut raw = Raw::greeted(&world);
    world.transcript("ledger", &id(2)).prompt("once more").reply("and again");
    ask(&mut raw, "track", json!({"session": id(3), "group": "shared-docks"}));
    world.found("again");
    world.stop();
    let maintained = memory(world.home());
    assert!(maintained.iter().any(|line| line.contains("kind=assertion")), "{maintained:#?}");
    std::fs::remove_dir_all(world.home().join("memory")).unwrap();
    world.found("again");
    world.stop();
    assert_eq!(memory(world.home()), maintained);
}

#[test]
fn what_git_says_it_made_is_known_however_it_was_asked() {
    let world = World::new();
    let mut shop = world.transcript("-work-shop", &id(1)).in_directory("/srv/shop");
    shop.prompt("commit it");
    for (number, (line, output, failed)) in [
        ("git commit -F message.txt", "[main 1a2b3c4] Teach the quokka to swim\n 1 file changed", false),
        ("git commit", "hooks ok\n[main 2b3c4d5] Dry the quokka\n 2 files changed", false),
        ("git add -A && git commit -q -F - <<'EOF'\nFeed the quokka\n\nIt is hungry.\nEOF", "", false),
        ("git commit -m 'Comb the quokka' -m 'Its fur is wet.'", "[main 3c4d5e6] Comb the quokka", false),
        ("git commit -m 'Wash it' && npm test", "Exit code 1\n[main 4d5e6f7] Wash it\nError: 3 failed", true),
        ("git commit -m 'Never made'", "Exit code 1\nnothing to commit, working tree clean", true),
        ("gh pr create --fill", "https://github.com/o/r/pull/12", false),
    ]
    .into_iter()
    .enumerate()
    {
        let call = format!("c{number}");
        shop.call(&call, "Bash", json!({"command": line})).result(&call, output, failed);
    }
    shop.reply("All is committed.");
    world.close(&id(1));
    let mut raw = Raw::greeted(&world);
    let told = |raw: &mut Raw, relation: &str| {
        let mut told: Vec<String> = facts(raw, json!({"query": "", "relations": [relation], "limit": 50}))
            .iter()
            .map(|fact| text(&fact["fact"]).split_once(' ').map_or(String::new(), |(_, said)| said.to_owned()))
            .collect();
        told.sort();
        told
    };
    let expected = [
        "00000001 committed \"Comb the quokka\". Its fur is wet.",
        "00000001 committed \"Dry the quokka\"",
        "00000001 committed \"Feed the quokka\". It is hungry.",
        "00000001 committed \"Teach the quokka to swim\"",
        "00000001 committed \"Wash it\"",
    ];
    assert_eq!(told(&mut raw, "COMMITTED"), expected);
    assert_eq!(told(&mut raw, "OPENED"), ["00000001 opened pull request #12"]);
    assert_eq!(world.found("teach quokka swim"), [id(1)]);
}

#[test]
fn how_a_refused_command_is_to_be_run_is_a_preference() {
    let world = World::new();
    let refusal = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file \
                   edit, the new_string was NOT written to the file). The user provided the following reason for the \
                   rejection:  ";
    let mut shop = world.transcript("-work-shop", &id(1)).in_directory("/srv/shop");
    shop.prompt("set it up");
    for (number, (line, reason)) in
        [("npm install", "use pnpm"), ("rm -rf build", "use the other folder"), ("make all", "not now, please")]
            .into_iter()
            .enumerate()
    {
        let call = format!("c{number}");
        shop.call(&call, "Bash", json!({"command": line})).result(&call, &format!("{refusal}{reason}"), true);
    }
    shop.reply("As you like.");
    world.close(&id(1));
    let mut raw = Raw::greeted(&world);
    let prefers = facts(&mut raw, json!({"query": "", "relations": ["PREFERS"]}));
    let told: Vec<String> = prefers.iter().map(|fact| text(&fact["fact"])).collect();
    assert_eq!(told, ["the user prefers: use pnpm (said on refusing `npm install`)"]);
    let asked = world.json(&["recall", "what", "does", "the", "user", "prefer"]);
    assert!(asked.to_string().contains("use pnpm"), "{asked}");
}
