//! What a person corrects stays corrected, wherever the session is told.

use serde_json::{Value, json};

use crate::forget::found_in;
use crate::mcp::agent::Agent;
use crate::transcript::Transcript;
use crate::world::{World, files_below, id, list, text};

const DECISION: &str = "We decided to use sled instead of SQLite, because it is embedded.";
const SECOND: &str = "I decided to keep one file per day instead of one per month.";

const FAILURE: &str = "error[E0382]: use of moved value: `log`";

/// A session with two decisions, a fix and a next step.
fn world() -> (World, Transcript) {
    let world = World::new();
    let mut one = world.transcript("-work-one", &id(1)).in_directory("/srv/shop").minutes_ago(60);
    one.prompt("Move the log to sled");
    one.call("c2", "Bash", json!({"command": "cargo test log"}));
    one.result("c2", "Exit code 101\nerror[E0382]: use of moved value: `log`", true);
    one.call("c3", "Edit", json!({"file_path": "/srv/shop/src/log.rs", "old_string": "b", "new_string": "d"}));
    one.result("c3", "The file has been updated.", false);
    one.call("c4", "Bash", json!({"command": "cargo test log"})).result("c4", "test result: ok. 3 passed", false);
    let todos =
        json!({"todos": [{"content": "compact the log at night", "status": "pending", "activeForm": "compacting"}]});
    one.call("c5", "TodoWrite", todos).result("c5", "Todos have been modified", false);
    one.reply(&format!("{DECISION} {SECOND}"));
    world.close(&id(1));
    (world, one)
}

fn correct(world: &World, arguments: &[&str]) -> Value {
    world.json(&[&["correct", "00000001"], arguments].concat())
}

/// The number of the entry of this kind whose text holds `says`, as it is listed now.
fn number(world: &World, kind: &str, says: &str) -> String {
    let entries = list(&correct(world, &[])["entries"]);
    let found = entries.iter().find(|entry| entry["kind"] == kind && text(&entry["text"]).contains(says));
    found.unwrap_or_else(|| panic!("{kind} {says}: {entries:#?}"))["number"].to_string()
}

/// The texts of a list of the episode.
fn texts(world: &World, field: &str) -> Vec<String> {
    list(&world.show(&id(1))["episode"][field]).iter().map(|entry| text(&entry["text"])).collect()
}

/// Title, decisions, resolutions, next steps and what is corrected.
fn told(world: &World) -> Value {
    let episode = world.show(&id(1))["episode"].clone();
    let fixes: Vec<Value> = list(&episode["errors"]).iter().map(|error| error["resolution"]["text"].clone()).collect();
    let corrected = episode["corrected"].as_array().cloned().unwrap_or_default();
    let corrected: Vec<Value> = corrected.iter().map(|entry| entry["verdict"].clone()).collect();
    json!([episode["title"], texts(world, "decisions"), fixes, texts(world, "next_steps"), corrected])
}

fn recall(world: &World, question: &str) -> String {
    world.json(&["recall", question, "--project", "/srv/shop"]).to_string()
}

/// Corrects everything that there is.
fn correct_all(world: &World) -> Value {
    let wrong = number(world, "decision", "sled");
    let superseded = number(world, "decision", "per day");
    let (fix, open) = (number(world, "fix", "E0382"), number(world, "open", "compact"));
    let title = ["--title", "Log on an ottershelf"];
    correct(
        world,
        &[&title[..], &["--wrong", &wrong, "--superseded", &superseded, "--not-a-fix", &fix, "--done", &open]].concat(),
    )
}

#[test]
fn what_is_corrected_is_told_so_everywhere_and_can_be_taken_back() {
    let (world, _) = world();
    let before = told(&world);
    assert!(recall(&world, "why did we decide for sled").contains("instead of SQLite"), "{before}");
    let fix = &world.json(&["fix", FAILURE])["matches"][0];
    assert_eq!(fix["resolved"], 1, "{fix}");
    let done = correct_all(&world);
    assert_eq!((&done["changed"], &done["title_said_by"]), (&json!(5), &json!("person")), "{done}");
    assert_eq!(
        told(&world),
        json!(["Log on an ottershelf", [], [null], [], ["wrong", "superseded", "not_a_fix", "done"]])
    );
    let content = text(&world.show(&id(1))["episode"]["content"]);
    for says in [
        "# Log on an ottershelf · person",
        "Wrong, says a person: We decided",
        "Superseded, says a person: I decided to keep one file per day",
        "no fix, says a person",
        "Done, says a person: ",
    ] {
        assert!(content.contains(says), "{says}: {content}");
    }
    assert!(!content.contains("Decided: ") && !content.contains("Open: "), "{content}");

    let handoff = world.json(&["handoff", "--project", "/srv/shop"]).to_string();
    assert!(handoff.contains("Superseded, says a person: I decided to keep one file per day"), "{handoff}");
    assert!(!handoff.contains(DECISION) && handoff.contains("no fix, says a person"), "{handoff}");
    let decided = recall(&world, "what did we decide about files per day");
    assert!(decided.contains("Superseded, says a person"), "{decided}");
    let open = recall(&world, "what is still open");
    assert!(!open.contains("compact the log"), "{open}");
    let why = recall(&world, "why did we decide for sled");
    assert!(!why.contains("instead of SQLite"), "{why}");
    let fix = &world.json(&["fix", FAILURE])["matches"][0];
    assert_eq!((&fix["fixes"], &fix["resolved"], &fix["account"]["concluded"]), (&json!([]), &json!(0), &Value::Null));
    let hits = world.search("ottershelf").to_string();
    assert!(hits.contains("Log on an ottershelf"), "{hits}");

    assert_eq!(correct_all_by_line(&world)["changed"], 0, "it stands already");
    let undone = correct(&world, &["--undo", "all"]);
    assert_eq!((&undone["changed"], &undone["title_said_by"]), (&json!(5), &Value::Null), "{undone}");
    assert_eq!(told(&world), before);
    assert_eq!(correct(&world, &["--undo", "all"])["changed"], 0);
}

/// The same, with the entries named by their lines where that is enough.
fn correct_all_by_line(world: &World) -> Value {
    let line = |kind: &str| {
        let entries = list(&correct(world, &[])["entries"]);
        let found = entries.iter().find(|entry| entry["kind"] == kind).unwrap();
        format!("L{}", found["line"])
    };
    correct(world, &["--title", "Log on an ottershelf", "--not-a-fix", &line("fix"), "--done", &line("open")])
}

#[test]
fn corrections_outlast_restarts_growth_reindexing_and_forgetting() {
    let (world, mut transcript) = world();
    correct_all(&world);
    let corrected = told(&world);
    let verdicts = &corrected[4];

    world.stop();
    assert_eq!(told(&world), corrected, "after a restart");
    transcript.prompt("And the index?").reply("The index follows the log.");
    world.close(&id(1));
    assert_eq!(told(&world), corrected, "after it went on");
    world.ok(&["reindex", "--all"]);
    assert_eq!(told(&world), corrected, "after a rebuild");
    world.ok(&["log", "verify"]);

    world.stop();
    assert_ne!(found_in(world.home(), &["ottershelf"]), [""; 0]);
    world.ok(&["forget", "00000001", "--yes"]);
    world.stop();
    assert_eq!(found_in(world.home(), &["ottershelf"]), [""; 0]);
    let refused = world.run(&["correct", "00000001", "--title", "Again"]);
    assert!(refused.code == 1 && refused.err.contains("forgotten"), "{}", refused.err);
    world.ok(&["forget", "--undo", "00000001"]);
    world.close(&id(1));
    let restored = told(&world);
    assert_eq!((&restored[1], &restored[2], &restored[4]), (&json!([]), &json!([null]), verdicts), "{restored}");
    assert_ne!(restored[0], "Log on an ottershelf", "its text was erased");
}

/// The text of all notes of the home's own vault, written now.
fn notes(world: &World) -> String {
    world.ok(&["vault", "sync"]);
    let files = files_below(&world.home().join("vault/claude"));
    files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect()
}

#[test]
fn a_note_follows_corrections() {
    let (world, _) = world();
    std::fs::write(world.home().join("config.json"), json!({"vault": {"enabled": true}}).to_string()).unwrap();
    assert!(notes(&world).contains(DECISION) && notes(&world).contains("compact the log at night"));
    correct_all(&world);
    let corrected = notes(&world);
    assert!(corrected.contains("Superseded, says a person: I decided to keep one file"), "{corrected}");
    assert!(corrected.contains("# Log on an ottershelf"), "{corrected}");
    assert!(!corrected.contains(DECISION) && !corrected.contains("compact the log at night"), "{corrected}");
    correct(&world, &["--undo", "all"]);
    assert!(notes(&world).contains(DECISION));
}

#[test]
fn what_cannot_be_corrected_is_refused_with_a_next_step() {
    let (world, _) = world();
    let decision = number(&world, "decision", "sled");
    for (arguments, says) in [
        (
            vec!["--done", decision.as_str()],
            "is a decision, which cannot be done; a decision can be wrong or superseded",
        ),
        (vec!["--wrong", "99"], "there is no entry 99: they are numbered 1 to"),
        (vec!["--wrong", "sled"], "names no entry; give its number in the list, or L and its transcript line"),
        (vec!["--title", " "], "a title needs a word"),
    ] {
        let ran = world.run(&[&["correct", "00000001"], &arguments[..]].concat());
        assert!(ran.code == 2 && ran.err.contains(says), "{arguments:?}: {}{}", ran.out, ran.err);
    }
    let listed = world.ok(&["correct", "00000001"]);
    assert!(listed.out.contains("decision") && listed.out.contains("name an entry by its number"), "{}", listed.out);
}

#[test]
fn an_agent_corrects_what_a_person_says() {
    let (world, _) = world();
    let agent = Agent::start(&world);
    let listed = agent.call("correct", json!({"session_id": id(1)})).ok();
    let entries = list(&listed["entries"]);
    let open = entries.iter().find(|entry| entry["kind"] == "open").unwrap()["number"].to_string();
    let done = agent.call("correct", json!({"session_id": id(1), "done": [open], "title": "Log moved"})).ok();
    assert_eq!((&done["changed"], &done["title"]), (&json!(2), &json!("Log moved")), "{done}");
    assert_eq!(told(&world)[3], json!([]));
}
