//! File systems that do not answer: nobody waits for them for ever, and an answer says what it lacks for them.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::full::run_where_mounting_is_allowed;
use crate::sockets::Raw;
use crate::world::{World, id, skipped, text, wait};

#[test]
fn where_a_file_system_does_not_answer() {
    if !Path::new("/dev/fuse").exists() || !run_where_mounting_is_allowed("hung::mounted::", 3) {
        skipped("a file system that does not answer may not be mounted here");
    }
}

/// In a mount namespace of their own.
mod mounted {
    use super::*;

    /// A file system that nobody serves, until this is dropped.
    struct Hung {
        at: PathBuf,
        server: Option<File>,
    }

    impl Hung {
        fn mount(at: PathBuf) -> Self {
            fs::create_dir_all(&at).unwrap();
            let server = OpenOptions::new().read(true).write(true).open("/dev/fuse").unwrap();
            let options = "fd=0,rootmode=40000,user_id=0,group_id=0,allow_other";
            let mut mount = Command::new("mount");
            mount.args(["-i", "-n", "-t", "fuse", "-o", options, "none"]).arg(&at);
            let ran = mount.stdin(Stdio::from(server.try_clone().unwrap())).output().unwrap();
            assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
            Self { at, server: Some(server) }
        }
    }

    impl Drop for Hung {
        fn drop(&mut self) {
            // Whoever waits for it is told that it is gone.
            drop(self.server.take());
            let _ = Command::new("umount").args(["-l", "-n"]).arg(&self.at).output();
        }
    }

    fn with_one_session() -> World {
        let world = World::new();
        world.transcript("-work-one", &id(1)).prompt("the wolverine was here").reply("it was");
        world.close(&id(1));
        world
    }

    fn ask(world: &World, method: &str, params: &Value) -> Value {
        Raw::greeted(world).call(&json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}))
    }

    #[test]
    #[ignore = "run by where_a_file_system_does_not_answer"]
    fn callers_there_are_answered() {
        let world = with_one_session();
        let hung = Hung::mount(world.path("hung"));
        let app = hung.at.join("app");
        // More of them than the daemon has threads that answer.
        for _ in 0..3 {
            let found = ask(&world, "search", &json!({"query": "wolverine", "caller": {"directory": app}}));
            assert_eq!(found["result"]["hits"][0]["session_id"], id(1), "{found}");
            let refused = ask(&world, "search", &json!({"query": "wolverine", "project": app, "caller": {}}));
            assert!(text(&refused["error"]["message"]).contains("does not answer"), "{refused}");
            let handoff = ask(&world, "handoff", &json!({"caller": {"directory": app}}));
            assert!(text(&handoff["result"]["message"]).contains("does not answer"), "{handoff}");
        }
        assert_eq!(ask(&world, "status", &json!({}))["error"], Value::Null);
    }

    #[test]
    #[ignore = "run by where_a_file_system_does_not_answer"]
    fn projects_there_hold_nobody_up() {
        let world = World::new();
        let repository = world.path("work/shop");
        fs::create_dir_all(repository.join(".git")).unwrap();
        fs::create_dir_all(repository.join("src")).unwrap();
        let transcript = world.transcript("-shop", &id(1)).in_directory(repository.to_str().unwrap());
        { transcript }.prompt("the wolverine was here").reply("it was");
        world.close(&id(1));
        let hung = Hung::mount(world.path("hung"));
        // More of them than are looked at together.
        for round in 0..2 {
            let begun = Instant::now();
            std::thread::scope(|scope| {
                for number in 0..48 {
                    let app = hung.at.join(format!("app{round}-{number}"));
                    let world = &world;
                    scope.spawn(move || {
                        let asked = json!({"query": "wolverine", "project": app, "caller": {}});
                        let refused = ask(world, "search", &asked);
                        assert!(text(&refused["error"]["message"]).contains("no project"), "{refused}");
                    });
                }
                std::thread::sleep(Duration::from_millis(300));
                let asked = Instant::now();
                assert_eq!(ask(&world, "status", &json!({}))["error"], Value::Null);
                assert!(asked.elapsed() < Duration::from_secs(3), "{:?}", asked.elapsed());
            });
            assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
        }
        // What lies elsewhere is looked at as before.
        let asked = json!({"query": "wolverine", "project": repository.join("src"), "caller": {}});
        let found = ask(&world, "search", &asked);
        assert_eq!(found["result"]["hits"][0]["session_id"], id(1), "{found}");
    }

    #[test]
    #[ignore = "run by where_a_file_system_does_not_answer"]
    fn answers_name_a_root_that_is_left_out() {
        let world = with_one_session();
        let root = world.projects();
        let search = || ask(&world, "search", &json!({"query": "wolverine", "caller": {}}));
        assert_eq!(search()["result"]["freshness"]["note"], Value::Null);
        let _hung = Hung::mount(root.clone());
        let mut found = Value::Null;
        let named = wait(|| {
            found = search();
            found["result"]["freshness"]["note"].to_string().contains(&*root.to_string_lossy())
        });
        assert!(named, "{found}");
        assert_eq!(found["result"]["hits"][0]["session_id"], id(1), "{found}");
        let explained = ask(&world, "session/explain", &json!({"session": id(1)}));
        assert!(explained["result"]["notes"].to_string().contains("does not answer"), "{explained}");
    }
}
