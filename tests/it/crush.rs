//! Crush's database in a project: read where Aider's history is read, with each session's working directory the project,
//! while Crush has it open, and not if it may be somebody else's.

#![cfg(unix)]

use std::fs;
use std::path::PathBuf;

use rusqlite::Connection;

use crate::forget::found_in;
use crate::world::{World, id, list, text, wait};

/// A secret of a form that no rule knows, so that only not being read keeps it out.
const PLANTED: &str = "plantedmarmotword";

const MADE: &str = "
    CREATE TABLE sessions(id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT NOT NULL,
        message_count INTEGER NOT NULL DEFAULT 0, updated_at INTEGER NOT NULL, created_at INTEGER NOT NULL,
        summary_message_id TEXT);
    CREATE TABLE files(id TEXT PRIMARY KEY, content TEXT DEFAULT 'plantedmarmotword');
    CREATE TABLE messages(id TEXT PRIMARY KEY, session_id TEXT NOT NULL, role TEXT NOT NULL, parts TEXT NOT NULL,
        model TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, finished_at INTEGER);
    CREATE TRIGGER c AFTER INSERT ON messages BEGIN
        UPDATE sessions SET message_count = message_count + 1, updated_at = new.updated_at WHERE id = new.session_id;
    END;
    INSERT INTO files(id) VALUES('f');
    INSERT INTO sessions VALUES('s1', NULL, 'Otters in the harbor', 0, 1781205300, 1781205300, NULL);";

/// A project, and Crush's database there while Crush has it open.
struct Project {
    directory: PathBuf,
    database: Connection,
}

impl Project {
    fn new(world: &World, number: u32) -> Self {
        let directory = world.path(format!("work/{number}"));
        fs::create_dir_all(directory.join(".crush")).unwrap();
        let directory = fs::canonicalize(directory).unwrap();
        let database = Connection::open(directory.join(".crush/crush.db")).unwrap();
        database.pragma_update(None, "journal_mode", "WAL").unwrap();
        database.execute_batch(MADE).unwrap();
        Self { directory, database }
    }

    /// Has a session of Claude Code work there.
    fn known(self, world: &World, number: u32) -> Self {
        world.transcript("-work", &id(number)).in_directory(&self.shown()).prompt("Look at the heron").reply("Done.");
        self
    }

    fn shown(&self) -> String {
        self.directory.display().to_string()
    }

    /// Adds a message whose parts are these.
    fn say(&self, number: u32, role: &str, parts: &str) {
        let sql = "INSERT INTO messages VALUES('m' || ?1, 's1', ?2, ?3, 'm-1', ?4, ?4, ?4)";
        self.database.execute(sql, (number, role, parts, 1_781_205_300 + number)).unwrap();
    }

    fn talk(&self) {
        self.say(1, "user", r#"[{"type":"text","data":{"text":"Let the otter swim"}}]"#);
        self.say(
            2,
            "assistant",
            r#"[{"type":"tool_call","data":{"id":"c1","name":"bash","input":"{\"command\":\"ls\"}"}}]"#,
        );
        let ended = r#"[{"type":"tool_result","data":{"tool_call_id":"c1","name":"bash",
            "content":"a\n<cwd>/tmp</cwd>","metadata":"plantedmarmotword"}}]"#;
        self.say(3, "tool", ended);
        self.say(4, "assistant", r#"[{"type":"text","data":{"text":"It swims in the harbor."}}]"#);
    }
}

#[test]
fn sessions_of_a_known_project_are_read_on_as_of_that_project() {
    let world = World::new();
    let project = Project::new(&world, 1).known(&world, 1);
    project.talk();
    assert!(project.directory.join(".crush/crush.db-wal").exists(), "it is open");
    assert!(wait(|| world.found("agent:crush otter") == ["s1"]), "{}", world.problems());
    let rows = list(&world.json(&["sessions", "--agent", "crush"])["sessions"]);
    assert_eq!((rows.len(), text(&rows[0]["project"])), (1, project.shown()), "not where a command ended");
    assert_eq!(rows[0]["unknown_types"], serde_json::json!({}));
    let shown = world.ok(&["show", "s1"]).out;
    assert!(shown.contains("Otters in the harbor"), "{shown}");

    project.say(5, "user", r#"[{"type":"text","data":{"text":"Now feed it mussels"}}]"#);
    assert!(wait(|| world.found("agent:crush mussels") == ["s1"]), "{}", world.problems());
    let told = world.ok(&["show", "s1", "--messages"]).out;
    assert_eq!(told.matches("Let the otter swim").count(), 1, "{told}");
    drop(project);
    assert_eq!(world.found("agent:crush otter"), ["s1"], "it is closed");
    world.ok(&["forget", "s1", "--yes"]);
    assert_eq!(world.found("agent:crush otter"), [""; 0]);
    assert_eq!(world.problems(), "[]");
    world.stop();
    assert_eq!(found_in(world.home(), &[PLANTED]), [""; 0]);
}

#[test]
fn a_database_that_git_tracks_or_behind_a_link_is_named_and_not_read() {
    let world = World::new();
    let project = Project::new(&world, 1).known(&world, 1);
    project.talk();
    let linked = Project::new(&world, 2).known(&world, 2);
    linked.talk();
    let aside = world.path("aside");
    fs::rename(linked.directory.join(".crush"), &aside).unwrap();
    std::os::unix::fs::symlink(&aside, linked.directory.join(".crush")).unwrap();
    let git = |arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        let ran = git.arg("-C").arg(&project.directory).args(arguments).env("HOME", world.path("user")).output();
        assert!(ran.unwrap().status.success(), "git {arguments:?}");
    };
    git(&["init", "-q"]);
    git(&["add", ".crush/crush.db"]);
    assert!(wait(|| world.found("heron").len() == 2));
    assert!(wait(|| ["git tracks it", "its folder is a link"].iter().all(|why| world.problems().contains(why))));
    let doctor = world.run(&["doctor"]).out;
    assert!(doctor.contains(".crush/crush.db") && doctor.contains("git tracks it"), "{doctor}");
    assert_eq!(world.found("agent:crush otter"), [""; 0]);
}

#[test]
fn a_database_elsewhere_is_read_once_a_person_names_its_project() {
    let world = World::new();
    let project = Project::new(&world, 1);
    project.talk();
    assert_eq!(world.found("agent:crush otter"), [""; 0]);
    let said = world.ok(&["install", "crush", "--project", &project.shown()]).out;
    assert!(said.contains("Crush's sessions in"), "{said}");
    assert!(wait(|| world.found("agent:crush otter") == ["s1"]), "{}", world.problems());
    world.ok(&["uninstall", "crush", "--project", &project.shown()]);
    assert!(!fs::read_to_string(world.home().join("config.json")).unwrap().contains("work/1"));
    assert!(world.run(&["install", "crush"]).err.contains("nothing is set up in Crush"));
    assert!(world.run(&["install", "crush", "codex", "--project", "."]).err.contains("alone"));
}
