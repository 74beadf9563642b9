//! Sessions in an agent's database, as OpenCode keeps them, through the program: found while the agent writes, read on,
//! forgotten, and nothing else of the database.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use rusqlite::{Connection, params};
use serde_json::{Value, json};

use crate::forget::found_in;
use crate::hook::called::{HOOK, call_as, patient};
use crate::transcript::now;
use crate::world::{World, list, text, wait};

/// A secret of a form that no rule knows, so that only not being read keeps it out.
const PLANTED: &str = "plantedmarmotword";
const AT_MS: i64 = 1_781_205_300_000;

struct OpenCode {
    folder: PathBuf,
    database: Connection,
    time: i64,
}

impl OpenCode {
    fn new(world: &World) -> Self {
        let folder = world.path("user/.local/share/opencode");
        std::fs::create_dir_all(&folder).unwrap();
        let database = Connection::open(folder.join("opencode.db")).unwrap();
        database.pragma_update(None, "journal_mode", "WAL").unwrap();
        let tables = "
            CREATE TABLE account(id text, access_token text);
            CREATE TABLE credential(value text);
            CREATE TABLE permission(data text);
            CREATE TABLE event(id text, aggregate_id text, seq integer, type text, data text);
            CREATE TABLE event_sequence(aggregate_id text PRIMARY KEY, seq integer NOT NULL, owner_id text);
            CREATE TABLE session(id text PRIMARY KEY, project_id text, parent_id text, slug text, directory text NOT NULL,
                title text NOT NULL, share_url text, metadata text, revert text, permission text,
                time_created integer NOT NULL, time_updated integer NOT NULL);
            CREATE TABLE message(id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL,
                time_updated integer NOT NULL, data text NOT NULL);
            CREATE TABLE part(id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
                time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
            CREATE INDEX a ON message(session_id, time_created, id);
            CREATE INDEX b ON part(message_id, id);";
        database.execute_batch(tables).unwrap();
        for (table, columns) in [("account", 2), ("credential", 1), ("permission", 1), ("event", 5)] {
            let values = vec![format!("'{PLANTED}'"); columns].join(", ");
            database.execute_batch(&format!("INSERT INTO {table} VALUES({values})")).unwrap();
        }
        Self { folder, database, time: AT_MS }
    }

    fn session(&mut self, id: &str, parent: Option<&str>, title: &str) {
        self.time += 1_000;
        let row = "INSERT INTO session VALUES(?1, ?5, ?2, ?5, '/srv/harbor', ?3, ?5, ?5, NULL, ?5, ?4, ?4)";
        self.database.execute(row, params![id, parent, title, self.time, PLANTED]).unwrap();
    }

    /// Writes a message with its parts, as one change.
    fn message(&mut self, session: &str, id: &str, mut data: Value, parts: &[Value]) {
        self.time += 1_000;
        data["headers"] = json!(PLANTED);
        let change = self.database.transaction().unwrap();
        let row = "INSERT OR REPLACE INTO message VALUES(?1, ?2, ?3, ?3, ?4)";
        change.execute(row, params![id, session, self.time, data.to_string()]).unwrap();
        for (at, part) in parts.iter().enumerate() {
            let mut part = part.clone();
            part["providerMetadata"] = json!({ "key": PLANTED });
            let row = "INSERT OR REPLACE INTO part VALUES(?1, ?2, ?3, ?4, ?4, ?5)";
            change.execute(row, params![format!("{id}.{at}"), id, session, self.time, part.to_string()]).unwrap();
        }
        let row = "INSERT INTO event_sequence VALUES(?1, 0, ?2) ON CONFLICT DO UPDATE SET seq = seq + 1";
        change.execute(row, params![session, PLANTED]).unwrap();
        change.execute("UPDATE session SET time_updated = ?2 WHERE id = ?1", params![session, self.time]).unwrap();
        change.commit().unwrap();
    }

    fn asks(&mut self, session: &str, id: &str, words: &str) {
        self.message(session, id, json!({ "role": "user" }), &[json!({ "type": "text", "text": words })]);
    }

    fn says(&mut self, session: &str, id: &str, words: &str) {
        let state = json!({ "status": "completed", "input": { "command": "cargo test" }, "output": "1 passed",
            "metadata": { "exit": 0, "token": PLANTED } });
        let parts = [
            json!({ "type": "tool", "tool": "bash", "callID": id, "state": state }),
            json!({ "type": "text", "text": words, "time": { "start": 1, "end": 2 } }),
        ];
        let data =
            json!({ "role": "assistant", "modelID": "m", "time": { "created": self.time, "completed": self.time } });
        self.message(session, id, data, &parts);
    }

    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.folder).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn told(world: &World, id: &str) -> Vec<(String, String)> {
    let messages = list(&world.json(&["show", id, "--messages"])["messages"]);
    let parts = |message: &Value| {
        let parts = list(&message["parts"]);
        parts.iter().filter(|part| part["kind"] != "tool").map(|part| text(&part["text"])).collect::<String>()
    };
    messages.iter().map(|it| (text(&it["role"]), parts(it))).collect()
}

#[test]
fn sessions_in_a_database_are_found_read_on_and_forgotten_and_nothing_else_of_it_is() {
    let world = World::new();
    let mut agent = OpenCode::new(&world);
    agent.session("ses_1", None, "Otters in the harbor");
    agent.asks("ses_1", "msg_01", "\"Let the otter swim\"");
    agent.says("ses_1", "msg_02", "The otter swims.");
    agent.session("ses_2", None, "New session - 2026-06-11T19:15:00.000Z");
    agent.asks("ses_2", "msg_03", "Let the badger dig");
    agent.says("ses_2", "msg_04", "The badger digs.");
    agent.session("ses_3", Some("ses_1"), "Look for weasels (@general subagent)");
    agent.asks("ses_3", "msg_05", "Find the weasel");
    agent.says("ses_3", "msg_06", "The weasel is found.");
    let files = agent.files();

    assert_eq!(world.found("otter swims"), ["ses_1"], "{}", world.log());
    assert_eq!(world.found("badger digs"), ["ses_2"]);
    let listed = list(&world.json(&["sessions", "--agent", "opencode"])["sessions"]);
    let ids: Vec<String> = listed.iter().map(|row| text(&row["session_id"])).collect();
    assert_eq!(ids, ["ses_2", "ses_1"]);
    assert_eq!(listed[1]["project"], "/srv/harbor");
    assert_eq!((&listed[1]["message_count"], &listed[1]["unknown_types"]), (&json!(2), &json!({})));
    assert!(world.ok(&["show", "ses_1"]).out.contains("# Otters in the harbor"));
    assert_eq!(world.sessions().len(), 3, "and a subagent's");
    let said = |role: &str, words: &str| (role.to_owned(), words.to_owned());
    assert_eq!(told(&world, "ses_1"), [said("user", "\"Let the otter swim\""), said("assistant", "The otter swims.")]);

    // One more message, while the database is open.
    let before = world.show("ses_2");
    agent.asks("ses_1", "msg_07", "Let the ferret rest");
    assert!(wait(|| world.found("ferret rest") == ["ses_1"]), "{}", world.log());
    assert_eq!(told(&world, "ses_1").len(), 3);
    assert_eq!(world.show("ses_2")["last_activity"], before["last_activity"]);
    let began = Instant::now();
    agent.says("ses_1", "msg_08", "The ferret rests.");
    assert_eq!(world.found("ferret rests"), ["ses_1"]);
    crate::world::say(&format!("a message was found {} ms after it was written", began.elapsed().as_millis()));

    // What the person took back is not part of it any more.
    let revert =
        "UPDATE session SET revert = '{\"messageID\":\"msg_07\"}', time_updated = time_updated + 1 WHERE id = 'ses_1'";
    agent.database.execute(revert, []).unwrap();
    assert_eq!(world.found("ferret"), [""; 0], "{}", world.log());
    assert_eq!(told(&world, "ses_1").len(), 2);

    assert_eq!(found_in(world.home(), &[PLANTED]), [""; 0], "only what is listed is read");
    let forgotten = world.json(&["forget", "ses_2", "--yes"]);
    assert_eq!(forgotten["status"], "success", "{forgotten}");
    assert_eq!(found_in(world.home(), &["badger"]), [""; 0]);
    agent.asks("ses_2", "msg_09", "Let the badger dig again");
    assert_eq!(world.found("badger"), [""; 0]);
    assert_eq!(world.found("weasel"), ["ses_3"]);
    assert_eq!((world.problems(), agent.files()), ("[]".to_owned(), files));

    // A daemon that starts anew goes on where the last one was.
    world.stop();
    agent.database.execute("UPDATE session SET revert = NULL WHERE id = 'ses_1'", []).unwrap();
    agent.asks("ses_1", "msg_10", "Let the polecat run");
    assert_eq!(world.found("polecat run"), ["ses_1"]);
    assert_eq!(told(&world, "ses_1").len(), 5);
}

#[test]
fn a_database_of_another_form_is_said_to_be_unread() {
    let world = World::new();
    let agent = OpenCode::new(&world);
    agent.database.execute_batch("ALTER TABLE part RENAME TO held; CREATE VIEW part AS SELECT * FROM held").unwrap();
    world.found("otter");
    assert!(
        wait(|| world.ok(&["status"]).out.contains("part is not an ordinary table")),
        "{}",
        world.ok(&["status"]).out
    );
    agent.database.execute_batch("DROP VIEW part; ALTER TABLE held RENAME TO part").unwrap();
    assert!(wait(|| !world.ok(&["status"]).out.contains("ordinary table")), "{}", world.ok(&["status"]).out);
}

#[test]
fn hooks_of_a_session_in_a_database_end_it_and_hand_it_over() {
    let world = World::new();
    let mut agent = OpenCode::new(&world);
    // Hooks are called now, and a session that was silent for long is over without them.
    agent.time = now().0 - 60_000;
    let call = |event: &str, session: &str, more: Value| {
        let mut input = json!({ "session_id": session, "cwd": "/srv/harbor", "hook_event_name": event });
        more.as_object().unwrap().iter().for_each(|(key, value)| input[key] = value.clone());
        let hook = world.program(HOOK, &["--agent", "opencode", event]);
        call_as(hook, |mut stdin| stdin.write_all(input.to_string().as_bytes()).err().and(None)).0
    };
    let state = |id: &str| (text(&world.show(id)["state"]), text(&world.show(id)["close_reason"]));
    patient(&world);
    world.ok(&["status"]);
    agent.session("ses_1", None, "Otters in the harbor");
    assert_eq!(call("SessionStart", "ses_1", json!({ "source": "startup" })), None);
    call("UserPromptSubmit", "ses_1", json!({}));
    agent.asks("ses_1", "msg_01", "Let the otter swim");
    agent.session("ses_3", Some("ses_1"), "Look for weasels (@general subagent)");
    agent.asks("ses_3", "msg_05", "Find the weasel");
    agent.says("ses_1", "msg_02", "Decision: the otter swims in the inner basin, because the outer one is too cold.");
    call("Stop", "ses_1", json!({}));
    call("SessionEnd", "ses_1", json!({ "reason": "other" }));
    let is_over = || state("ses_1") == ("indexed".to_owned(), "hook_other".to_owned());
    assert!(wait(is_over), "{:?}\n{}", state("ses_1"), world.log());

    // A subagent that goes on is not told what the last session left, and takes it from nobody.
    assert_eq!(world.found("weasel"), ["ses_3"]);
    assert_eq!(call("SessionStart", "ses_3", json!({ "source": "resume" })), None);
    assert_eq!(call("UserPromptSubmit", "ses_3", json!({})), None);

    // The next one is told.
    agent.session("ses_2", None, "What is next");
    let told =
        call("SessionStart", "ses_2", json!({ "source": "startup" })).unwrap_or_else(|| panic!("{}", world.log()));
    let context = text(&told["hookSpecificOutput"]["additionalContext"]);
    assert!(context.contains("inner basin"), "{context}");

    // A session that goes on and ends again is read on.
    call("SessionStart", "ses_1", json!({ "source": "resume" }));
    call("UserPromptSubmit", "ses_1", json!({}));
    agent.asks("ses_1", "msg_03", "Let the ferret rest");
    call("SessionEnd", "ses_1", json!({ "reason": "other" }));
    assert!(wait(|| is_over() && told_of(&world, "ses_1", "ferret")), "{:?}\n{}", state("ses_1"), world.log());
    // One that never wrote anything leaves nothing behind.
    call("SessionStart", "ses_9", json!({ "source": "startup" }));
    call("SessionEnd", "ses_9", json!({ "reason": "other" }));
    assert_eq!(world.problems(), "[]");
}

/// True if the session's episode has this word.
fn told_of(world: &World, id: &str, word: &str) -> bool {
    world.ok(&["show", id]).out.contains(word)
}

#[test]
fn sessions_that_an_earlier_version_kept_in_files_are_read_until_a_database_has_them() {
    let world = World::new();
    let folder = world.path("user/.local/share/opencode");
    let write = |name: &str, content: &Value| {
        let path = folder.join("storage").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, serde_json::to_string_pretty(content).unwrap()).unwrap();
    };
    let session = |id: &str, parent: Value, title: &str| {
        let content = json!({ "id": id, "directory": "/srv/harbor", "parentID": parent, "title": title,
            "key": PLANTED, "time": { "created": AT_MS, "updated": AT_MS } });
        write(&format!("session/p1/{id}.json"), &content);
    };
    let message = |session: &str, id: &str, role: &str, words: &str| {
        let time = json!({ "created": AT_MS, "completed": AT_MS });
        write(
            &format!("message/{session}/{id}.json"),
            &json!({ "id": id, "role": role, "key": PLANTED, "time": time }),
        );
        let part = json!({ "type": "text", "text": words, "key": PLANTED, "time": { "start": AT_MS, "end": AT_MS } });
        write(&format!("part/{id}/prt_1.json"), &part);
    };
    session("ses_1", Value::Null, "Otters in the harbor");
    message("ses_1", "msg_01", "user", "Let the otter swim");
    message("ses_1", "msg_02", "assistant", "The otter swims.");
    session("ses_2", json!("ses_1"), "Feed it (@general subagent)");
    message("ses_2", "msg_03", "user", "Feed the walrus");
    message("ses_2", "msg_04", "assistant", "The walrus is fed.");
    assert!(wait(|| world.found("agent:opencode otter") == ["ses_1"]), "{}", world.problems());
    let said = |role: &str, words: &str| (role.to_owned(), words.to_owned());
    let (asked, answered) = (said("user", "Let the otter swim"), said("assistant", "The otter swims."));
    assert_eq!(told(&world, "ses_1"), [asked.clone(), answered.clone()]);
    let rows = list(&world.json(&["sessions", "--agent", "opencode"])["sessions"]);
    let row = rows.iter().find(|row| row["session_id"] == "ses_1").unwrap();
    assert_eq!((text(&row["project"]), &row["unknown_types"]), ("/srv/harbor".to_owned(), &json!({})));
    let shown = world.ok(&["show", "ses_1"]).out;
    assert!(shown.contains("Otters in the harbor") && shown.contains("opencode --session ses_1"), "{shown}");

    message("ses_1", "msg_05", "user", "Now the heron");
    message("ses_1", "msg_06", "assistant", "The heron flies.");
    assert!(wait(|| world.found("agent:opencode heron") == ["ses_1"]), "{}", world.problems());

    let mut agent = OpenCode::new(&world);
    agent.session("ses_1", None, "Otters in the harbor");
    agent.asks("ses_1", "msg_01", "Let the otter swim");
    agent.says("ses_1", "msg_02", "The otter swims.");
    agent.asks("ses_1", "msg_07", "Now the cormorant");
    assert!(wait(|| world.found("agent:opencode cormorant") == ["ses_1"]), "{}", world.problems());
    assert_eq!(told(&world, "ses_1"), [asked, answered, said("user", "Now the cormorant")], "once");
    assert_eq!(world.found("agent:opencode walrus").len(), 1, "it is only in the files");
    assert_eq!(world.problems(), "[]");
    world.stop();
    assert_eq!(found_in(world.home(), &[PLANTED]), [""; 0]);
}
