//! File systems that do not answer: nothing waits for them for ever, and an answer says what it lacks because of them.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::full_disk::{Hung, run_where_hung_may_be_mounted};
use crate::sockets::Raw;
use crate::world::{World, id, text, wait};

#[test]
fn where_a_file_system_does_not_answer() {
    run_where_hung_may_be_mounted("hung::mounted::", 3);
}

/// Tests in a mount namespace of their own.
mod mounted {
    use super::*;

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
        // More of them than the daemon has worker threads for answers.
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
        // More of them than are examined concurrently.
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
        // Paths elsewhere are examined as before.
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
