//! Everything known about a question in one answer, and the timeline of projects.

use std::path::Path;

use baton_conversation::record::Timestamp;
use serde_json::{Value, json};

use crate::mcp::agent::Agent;
use crate::transcript::now;
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
    list(&world.json(&[&["recall"], arguments].concat())["answer"])
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
    assert!(files.iter().any(|told| told == "file src/log.rs"), "{files:#?}");
    let open = told(&world, &["what is still open?", "--project", "shop"]);
    assert!(open.iter().any(|told| told.starts_with("open ") && told.contains("npm run lint")), "{open:#?}");
    let bench = open.iter().any(|told| told.starts_with("open ") && told.contains("cargo bench"));
    assert!(!bench, "the later session ran it: {open:#?}");
    let prefers = told(&world, &["what does the user prefer?"]);
    assert!(prefers.iter().any(|told| told.contains("clippy")), "{prefers:#?}");
    let searched = world.json(&["recall", "dark theme"]);
    assert_eq!(searched["took"], json!([]));
    assert_eq!(searched["answer"][0]["session_id"], id(3), "{searched}");
    let human = world.ok(&["recall", "why sled"]).out;
    assert!(human.contains("sled") && human.contains(&id(1)[..8]), "{human}");
}

#[test]
fn an_overruled_decision_comes_last_and_is_marked() {
    let world = World::new();
    let mut one = world.transcript("-work-one", &id(1)).in_directory("/srv/shop").minutes_ago(60 * 72);
    one.prompt("Where does the log go?");
    one.call("c1", "Edit", json!({"file_path": "/srv/shop/log.rs"})).result("c1", "", false);
    one.reply("We chose SQLite for the log, because it needs no server.");
    let mut two = world.transcript("-work-one", &id(2)).in_directory("/srv/shop").minutes_ago(60);
    two.prompt("The log is slow");
    two.call("c1", "Edit", json!({"file_path": "/srv/shop/log.rs"})).result("c1", "", false);
    two.reply("We switched from SQLite to sled for the log, because SQLite was slow.");
    world.ok(&["sync"]);
    let entries = entries(&world, &["what was decided about the log?"]);
    let place = |kind: &str, says: &str| {
        let fits = |entry: &Value| text(&entry["kind"]) == kind && text(&entry["text"]).contains(says);
        let place = entries.iter().position(fits);
        place.unwrap_or_else(|| panic!("no {kind} says {says}: {entries:#?}"))
    };
    let (now, then) = (place("decision", "to sled"), place("decision", "needs no server"));
    assert!(now < then, "{entries:#?}");
    assert_eq!(entries[then]["ended"], entries[now]["day"], "{entries:#?}");
    assert_eq!(entries[now].get("ended"), None, "{entries:#?}");
    assert!(
        entries[now]["uuid"].is_string() && entries[then]["uuid"].is_string(),
        "the facts went into them: {entries:#?}"
    );
    let human = world.ok(&["recall", "what was decided about the log?"]).out;
    assert!(human.contains("(no longer valid since "), "{human}");
}

#[test]
fn an_answer_keeps_to_its_budget_and_says_what_it_left_out() {
    let world = world();
    let last = ["recall", "what were we working on last time", "--project", "/srv/shop", "--budget"];
    let whole = world.json(&[&last[..], &["5000"]].concat());
    let (entries, tokens) = (list(&whole["answer"]).len(), whole["tokens"].as_u64().unwrap());
    assert!(entries > 3 && whole["left_out"] == 0 && tokens > 250, "{whole}");
    for entry in list(&whole["answer"]) {
        assert!(
            !text(&entry["session_id"]).is_empty() && entry["day"].is_string() || entry["line"].is_u64(),
            "{entry}"
        );
    }
    for budget in [200, 250, tokens - 1] {
        let budget_text = budget.to_string();
        let found = world.json(&[&last[..], &[budget_text.as_str()]].concat());
        // Four bytes a token, like the estimate.
        let bytes = found.to_string().len() as u64;
        assert!(
            bytes.div_ceil(4) <= budget && found["tokens"].as_u64().unwrap() <= budget,
            "{budget}: {bytes} {found}"
        );
        let (kept, left_out) = (list(&found["answer"]).len(), found["left_out"].as_u64().unwrap());
        assert!(kept < entries && left_out > 0, "{budget}: {found}");
    }
    assert_eq!(world.run(&["recall", "x", "--budget", "10"]).code, 2);
    assert_eq!(world.run(&["recall", " "]).code, 2);
    let nothing = world.json(&["recall", "hippopotamus"]);
    assert!(list(&nothing["answer"]).is_empty() && nothing["notes"].to_string().contains("nothing was found"));
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
    for wrong in
        [&["timeline", "--since", "soon"][..], &["timeline", "--cursor", "x"], &["timeline", "-n", "x"], &["fix", ""]]
    {
        let refused = world.run(wrong);
        assert_eq!(refused.code, 2, "{wrong:?}: {}", refused.err);
        assert!(refused.err.starts_with("error: ") && refused.err.ends_with("try '--help'.\n"), "{}", refused.err);
    }
    assert_eq!(world.run(&["timeline", "--since", "soon", "--json"]).code, 2);
    let nothing = world.ok(&["recall", "zyzzyva"]);
    assert!(!nothing.err.starts_with('\n') && nothing.out.is_empty(), "{}{}", nothing.out, nothing.err);
    let human = world.ok(&["timeline"]).out;
    assert!(human.contains(&id(1)[..8]) && human.contains("1 commit"), "{human}");
}

#[test]
fn a_timeline_and_show_tell_the_same_time() {
    let world = World::new();
    let mut one = world.transcript("-work-one", &id(1)).at(Timestamp::parse("2012-01-01T00:00:00Z").unwrap());
    one.prompt("Move the log to sled.");
    one.set_time(now().plus_ms(-3_600_000));
    one.reply("It is moved.").prompt("Thanks, and the index?").reply("That as well.");
    let past = world.json(&["timeline"])["days"][0]["sessions"][0].clone();
    let shown = world.show(&id(1))["episode"]["metadata"].clone();
    for (told, known) in
        [("started_at", "start_time"), ("ended_at", "end_time"), ("duration_seconds", "duration_seconds")]
    {
        assert_eq!((&past[told], past[told].is_null()), (&shown[known], false), "{past} {shown}");
    }
    assert_eq!(shown["duration_seconds"], 2);
}

#[test]
fn an_assumed_time_and_an_unknown_project_are_reported() {
    let world = examples();
    let notes = |question: &str| world.json(&["recall", question])["notes"].to_string().replace('\\', "");
    let october = "what was done between 2026-10-01 and 2026-10-15";
    assert!(notes(october).contains("only of 2026-10-01 to 2026-10-15"), "{}", notes(october));
    let days: Vec<String> = entries(&world, &[october]).iter().map(|entry| text(&entry["day"])).collect();
    assert!(!days.is_empty() && days.iter().all(|day| ("2026-10-01"..="2026-10-15").contains(&&**day)), "{days:?}");
    let mistyped = notes("what is still open in tidetables");
    assert!(mistyped.contains("no project \"tidetables\"") && mistyped.contains("tide-tables"), "{mistyped}");
    assert!(!mistyped.contains("known to be open"), "{mistyped}");
    let unknown = notes("what were we working on last time in nosuchproject");
    assert!(unknown.contains("no project \"nosuchproject\""), "{unknown}");
    assert!(!notes("what is still open in tide-tables").contains("no project"));
}

#[test]
fn what_failed_comes_before_what_only_has_the_words() {
    let world = examples();
    let told = told(&world, &["which approach failed for the refresh"]);
    let first_other = told.iter().position(|told| !told.starts_with("failed ")).unwrap_or(told.len());
    assert!(first_other > 0 && told[first_other..].iter().all(|told| !told.starts_with("failed ")), "{told:#?}");
    assert!(told[..first_other].iter().any(|told| told.to_lowercase().contains("did not work")), "{told:#?}");
}

/// The shipped example sessions.
fn examples() -> World {
    let world = World::new();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("replay-fixtures/transcripts/claude/projects");
    copy(&examples, &world.projects());
    world.ok(&["sync"]);
    world
}

#[test]
fn the_questions_work_on_the_example_sessions() {
    let world = examples();
    // A question, the kinds that its entries may have, and what the first entries must say.
    let check = |question: &str, kinds: &str, says: &[&str]| {
        let told = told(&world, &[question]);
        let others = told.iter().find(|told| !kinds.split(' ').any(|kind| told.starts_with(&format!("{kind} "))));
        assert!(others.is_none() && !told.is_empty(), "{question}: only {kinds}: {told:#?}");
        for (at, says) in says.iter().enumerate() {
            assert!(told.iter().take(at + 2).any(|told| told.contains(says)), "{question}: {says}: {told:#?}");
        }
        told
    };
    check("what were we working on last time", "session done open next", &[]);
    check("why did we choose this", "decision fact answer", &[]);
    check("how did we solve this error before", "fixed fact", &[]);
    check("which approach failed", "failed", &[]);
    check("what does the user prefer", "fact", &[]);
    check("which files belong to this work", "file session", &[]);
    check("what is still open", "open next", &[]);
    // The question names the project.
    let last = world.json(&["recall", "what were we working on last time in harbor-ui"]);
    assert_eq!(last["answer"][0]["session_id"].as_str().unwrap().get(..8), Some("0ad5c9e7"), "{last}");
    for entry in list(&last["answer"]) {
        let project = text(&world.show(&text(&entry["session_id"]))["project"]);
        assert!(project.ends_with("harbor-ui"), "{entry}");
    }
    assert!(
        text(&last["project"]).ends_with("harbor-ui") && last["notes"].to_string().contains("as named in the question")
    );
    let why = check(
        "why did we decide for Web Locks instead of localStorage in harbor-ui",
        "decision fact passage answer",
        &["Web Locks"],
    );
    let locks = why.iter().filter(|told| !told.starts_with("passage ") && told.contains("Web Locks"));
    let mut said: Vec<&str> = locks.map(|told| told.rsplit(": ").next().unwrap_or(told)).collect();
    let all = said.len();
    said.sort_unstable();
    said.dedup();
    assert_eq!(said.len(), all, "each is told once: {why:#?}");
    check("why did we choose keyset pagination in ledger-api", "decision fact passage answer", &["keyset"]);
    check("how did we solve E0596 in the ledger-api repo", "fixed fact passage answer", &["E0596"]);
    let failed = check("which approach failed for the refresh in ledger-api", "failed passage answer", &[]);
    for says in ["Dead end, I take the mutex out again", "Did not work: a mutex per token"] {
        assert!(failed.iter().any(|told| told.starts_with("failed ") && told.contains(says)), "{says}: {failed:#?}");
    }
    let prefers = check("what does the user prefer in harbor-ui", "fact", &[]);
    assert!(prefers.iter().any(|told| told.contains("pnpm")), "{prefers:#?}");
    let files =
        check("which files belong to the webhooks work in ledger-api", "file session", &["Sign webhooks with HMAC"]);
    let paths: Vec<&String> = files.iter().filter(|told| told.starts_with("file ")).collect();
    assert_eq!(paths.len(), 6, "{files:#?}");
    let open = |arguments: &[&str]| {
        let told = told(&world, &[arguments, &["--budget", "4000"]].concat());
        told.into_iter().filter(|told| told.starts_with("open ") || told.starts_with("next ")).collect::<Vec<_>>()
    };
    let tides = open(&["what is still open in tide-tables"]);
    assert!(tides.len() > 3, "{tides:#?}");
    assert_eq!(tides, open(&["what is still open", "--project", "tide-tables"]));
}

#[test]
fn what_a_question_says_of_when_and_where_holds_for_all_of_its_answer() {
    let world = examples();
    let sessions = |question: &str| {
        let recall = world.json(&["recall", question]);
        list(&recall["answer"]).iter().map(|entry| text(&entry["session_id"])).collect::<Vec<_>>()
    };
    let october = sessions("what did we work on in October");
    let days = |id: &String| text(&world.show(id)["last_activity"]).get(..7).map(str::to_owned);
    assert!(!october.is_empty() && october.iter().all(|id| days(id).as_deref() == Some("2026-10")), "{october:?}");
    for question in
        ["webhooks before:2020", "webhooks project:harbor-ui", "webhooks agent:codex", "project:nope webhooks"]
    {
        let told = entries(&world, &[question]);
        let ledger = told.iter().filter(|entry| {
            let project = text(&world.show(&text(&entry["session_id"]))["project"]);
            !project.ends_with("harbor-ui") || !question.contains("harbor-ui")
        });
        assert_eq!(ledger.count(), 0, "{question}: {told:#?}");
    }
    let unknown = world.json(&["recall", "why did we choose kafka for the webhooks"]);
    assert_eq!(unknown["abstained"], true, "{unknown}");
    assert!(unknown["notes"].to_string().contains("no line below has: kafka"), "{unknown}");
    let nothing = world.json(&["recall", "what is still open project:nope"]);
    assert!(list(&nothing["answer"]).is_empty() && !list(&nothing["notes"]).is_empty(), "{nothing}");
}

#[test]
fn notes_answer_what_they_speak_of_and_are_listed_by_filters() {
    let world = world();
    world.ok(&["sync"]);
    let agent = Agent::start(&world);
    let keep = |name: &str, body: &str| {
        agent.call("add_memory", json!({"name": name, "episode_body": body, "group_id": "/srv/shop"})).ok();
    };
    keep("Deploy rule", "Deploy rule We deploy the flamingo service only on Tuesdays.");
    keep("Taste", "The user prefers dark mode in every tool.");
    agent.end();
    let flamingo = entries(&world, &["flamingo deploy"]);
    let first = &flamingo[0];
    assert_eq!((text(&first["kind"]).as_str(), first["uuid"].is_string()), ("note", true), "{flamingo:#?}");
    assert_eq!(first["text"], "Deploy rule: We deploy the flamingo service only on Tuesdays.");
    let human = world.ok(&["recall", "flamingo deploy"]).out;
    assert!(human.contains(&text(&first["uuid"])[..8]) && !human.contains("memory:"), "{human}");
    let prefers = told(&world, &["what does the user prefer", "--project", "/srv/shop"]);
    assert!(prefers.iter().any(|told| told.contains("dark mode")), "{prefers:#?}");
    assert!(!prefers.iter().any(|told| told.contains("flamingo")), "{prefers:#?}");
    let error = told(&world, &["how did we solve E0382 before"]);
    assert!(error[0].starts_with("fixed ") && !error.iter().any(|told| told.starts_with("note ")), "{error:#?}");
    let listed = world.json(&["search", "project:/srv/shop after:1h"]);
    let notes = list(&listed["hits"]).iter().filter(|hit| hit["source"] == "text").count();
    assert_eq!(notes, 2, "{listed}");
}

#[test]
fn what_recall_names_can_be_read_by_its_id() {
    let world = world();
    world.ok(&["sync"]);
    let agent = Agent::start(&world);
    let of = |names: Value| agent.call("get_episodes", json!({"episode_uuids": names})).ok();
    let session =
        text(&agent.call("recall", json!({"query": "why did we choose sled"})).ok()["answer"][0]["session_id"]);
    let named = of(json!([session]));
    let episodes = list(&named["episodes"]);
    assert_eq!(episodes.len(), 1, "{named}");
    assert!(text(&episodes[0]["content"]).contains("sled instead of SQLite"), "{named}");
    assert_eq!(of(json!([episodes[0]["uuid"]]))["episodes"], named["episodes"]);
    assert_eq!(list(&of(json!([id(3), id(2)]))["episodes"]).len(), 2);
    let unknown = agent.call("get_episodes", json!({"episode_uuids": ["deadbeef"]})).refused();
    assert!(unknown.contains("no episode \"deadbeef\" is known"), "{unknown}");
    agent.end();
}

#[test]
fn what_recall_names_can_be_opened_where_it_stands() {
    let world = world();
    world.ok(&["sync"]);
    let agent = Agent::start(&world);
    let recalled = agent.call("recall", json!({"query": "how did we solve E0382 before"})).ok();
    let entry = &recalled["answer"][0];
    let open = |arguments: Value| agent.call("get_passage", arguments).ok();
    let opened = open(json!({"session_id": entry["session_id"], "line": entry["line"]}));
    let said: Vec<String> = list(&opened["said"]).iter().map(|said| text(&said["text"])).collect();
    let failed = "Bash cargo test log -> failed, exit 101: ";
    assert!(said.iter().any(|said| said.starts_with(failed) && said.contains("error[E0382]")), "{opened}");
    assert!(said.iter().any(|said| said.starts_with("We decided to use sled")), "what follows is there, too: {opened}");
    assert!(opened["notice"].is_string() && opened["tokens"].as_u64().unwrap() <= 1_200, "{opened}");

    let few = open(json!({"session_id": opened["episode_uuid"], "line": entry["line"], "budget_tokens": 200}));
    assert!(list(&few["said"]).len() < said.len() && few["next"].is_u64(), "{few}");
    let on = open(json!({"session_id": id(1), "line": few["next"], "budget_tokens": 200}));
    assert!(list(&on["said"]).iter().any(|said| said["line"] == few["next"]), "{on}");

    let kept = agent.call("add_memory", json!({"name": "Rule", "episode_body": "Deploy on Tuesdays."})).ok();
    let note = open(json!({"session_id": format!("memory:{}", text(&kept["episode_uuid"]))}));
    assert!(note["said"].to_string().contains("Deploy on Tuesdays."), "{note}");
    assert!(agent.call("get_passage", json!({"session_id": "deadbeef"})).refused().contains("no session"));
    agent.call("delete_episode", json!({"uuid": opened["episode_uuid"]})).ok();
    let deleted = agent.call("get_passage", json!({"session_id": id(1)})).refused();
    assert!(deleted.contains("was deleted"), "{deleted}");
    agent.end();
}

#[test]
fn the_asking_sessions_own_words_come_last_and_are_marked() {
    let mut world = World::new();
    let mut own = world.transcript("-work-one", &id(1)).in_directory("/srv/shop").minutes_ago(30);
    own.prompt("Choose a store for the numbat ledger");
    own.reply("We decided to use sled for the numbat ledger, because it is embedded.");
    world.ok(&["sync"]);
    world.set("CLAUDE_CODE_SESSION_ID", id(1));
    // As the only source it is an answer: after a compaction nothing of it is left in the agent's context.
    let alone = world.json(&["recall", "what did we decide about the numbat ledger"]);
    assert!(alone["answer"].to_string().contains("sled"), "{alone}");
    assert_eq!(
        (&alone["freshness"]["asking_last"], &alone["freshness"]["left_out_asking"]),
        (&json!(true), &Value::Null),
        "{alone}"
    );
    let mut other = world.transcript("-work-one", &id(2)).in_directory("/srv/shop").minutes_ago(600);
    other.prompt("Read the numbat ledger");
    other.reply("We decided to use JSON Lines for the numbat ledger, because people read it.");
    world.ok(&["sync"]);
    // This prompt is in the agent's context.
    own.prompt("And what of the bilby ledger of the numbat?");
    for question in ["what did we decide about the numbat ledger", "numbat ledger"] {
        let told = world.json(&["recall", question]);
        let sessions: Vec<String> = list(&told["answer"]).iter().map(|entry| text(&entry["session_id"])).collect();
        let first_own =
            sessions.iter().position(|session| *session == id(1)).unwrap_or_else(|| panic!("{question}: {told}"));
        assert!(first_own > 0 && sessions[first_own..].iter().all(|session| *session == id(1)), "{question}: {told}");
        assert_eq!(
            (&told["freshness"]["asking_last"], &told["freshness"]["left_out_asking"]),
            (&json!(true), &json!(true)),
            "{told}"
        );
        assert!(!told["answer"].to_string().contains("bilby"), "{told}");
    }
    let human = world.ok(&["recall", "numbat", "ledger"]);
    assert!(human.err.contains("The latest messages of this session itself were left out"), "{}", human.err);
    assert!(human.err.contains("Earlier messages of this session itself come last"), "{}", human.err);
}

#[test]
fn what_the_asking_session_said_before_a_compaction_is_known_though_nothing_had_indexed_it() {
    let mut world = World::new();
    world.transcript("-work-two", &id(2)).prompt("Feed the bilby").reply("It is fed.");
    world.ok(&["sync"]);
    let mut own = world.transcript("-work-one", &id(1)).in_directory("/srv/shop").minutes_ago(5);
    own.prompt("Choose a store for the numbat ledger");
    own.reply("We decided to use sled for the numbat ledger, because it is embedded.");
    world.wait_for(&id(1), "the session", |row| row["message_count"] == 2);
    world.set("CLAUDE_CODE_SESSION_ID", id(1));
    let question = "what did we decide about the numbat ledger";
    // What is still in the agent's context is left out, and a note says so.
    let told = world.json(&["recall", question]);
    assert_eq!(told["answer"], json!([]), "{told}");
    assert!(told["notes"].to_string().contains("beside what this session itself said last"), "{told}");
    own.compaction("manual").prompt("go on");
    let told = world.json(&["recall", question]);
    assert!(told["answer"].to_string().contains("sled"), "{told}");
    assert_eq!(told["freshness"]["asking_last"], true, "{told}");
}

#[test]
fn what_nothing_known_speaks_of_is_not_claimed_and_the_nearest_sessions_are_named() {
    let world = World::new();
    let mut one = world.transcript("-work-one", &id(1)).in_directory("/srv/shop").minutes_ago(60);
    one.prompt("Let the numbat worker read its queue").reply("The numbat worker reads its queue in order now.");
    let mut two = world.transcript("-work-one", &id(2)).in_directory("/srv/shop").minutes_ago(30);
    two.prompt("Release the bilby")
        .reply("The test of a vendored copy fails, which is none of ours, so I skip the check.");
    two.call("c1", "Bash", json!({"command": "git commit --no-verify -m bilby"})).result("c1", "", false);
    two.reply("The bilby is out.");
    world.ok(&["sync"]);
    let told = world.json(&["recall", "which invoices did the payment worker lose in the summer migration"]);
    assert_eq!((&told["abstained"], &told["answer"]), (&json!(true), &json!([])), "{told}");
    assert_eq!(told["nearest"][0]["session_id"], id(1), "{told}");
    assert_eq!(told["nearest"][0]["said"][0]["line"], 2, "{told}");
    let note = "no single sentence has all of it, and no line below has: invoices, payment, lose, summer, migration";
    assert_eq!(told["notes"][0], note, "{told}");
    let printed = world.ok(&["recall", "which invoices did the payment worker lose in the summer migration"]);
    assert!(
        printed.out.starts_with("No single sentence has all of it, and no line below has: invoices, "),
        "{}",
        printed.out
    );
    // A name that none of the sessions found has: whatever else they have of the question, they are not about it.
    let told = world.json(&["recall", "which OAuth server does the numbat worker of the queue use"]);
    assert!(told["notes"].to_string().contains("no conversation found speaks of OAuth"), "{told}");
    assert_eq!(told["abstained"], true, "{told}");
    // What the agent said before a command that has the words.
    let told = world.json(&["recall", "git commit no-verify bilby"]);
    assert_eq!((&told["abstained"], &told["nearest"]), (&json!(false), &json!([])), "{told}");
    assert!(told["answer"].to_string().contains("none of ours, so I skip the check"), "{told}");
}
