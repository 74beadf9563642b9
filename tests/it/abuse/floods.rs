//! Endless calls, from one client that does not wait for answers and from many that do.

use std::io::{BufRead, BufReader, Write};
use std::time::Duration;

use serde_json::{Value, json};

use super::Abused;
use crate::sockets::Raw;
use crate::transcript::now;
use crate::world::id;

#[test]
fn floods_of_calls_whose_answers_nobody_takes_are_held_up() {
    let abused = Abused::new();
    let deaf: Vec<Raw> = (0..8).map(|_| Raw::greeted(&abused.world)).collect();
    // Small calls with large answers.
    let calls = [
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"status\"}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"log/read\",\"params\":{\"from\":1}}\n",
    ];
    std::thread::scope(|scope| {
        for (number, raw) in deaf.iter().enumerate() {
            let call = calls[number % calls.len()];
            scope.spawn(move || {
                let stream = raw.stream();
                stream.set_write_timeout(Some(Duration::from_millis(1_500))).unwrap();
                let sent = (0..200_000).take_while(|_| (&*stream).write_all(call.as_bytes()).is_ok()).count();
                assert!(sent < 200_000, "answers to nobody pile up somewhere");
            });
        }
        for _ in 0..5 {
            abused.serves();
        }
    });
    drop(deaf);
    abused.check();
}

#[test]
fn who_calls_very_often_waits_and_is_answered_in_order() {
    let abused = Abused::new();
    let raw = Raw::greeted(&abused.world);
    let writing = raw.stream().try_clone().unwrap();
    const CALLS: u64 = 4_000;
    let begun = std::time::Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for number in 0..CALLS {
                let call = json!({"jsonrpc": "2.0", "id": number, "method": "show", "params": {"session": "nobody"}});
                (&writing).write_all(format!("{call}\n").as_bytes()).unwrap();
            }
        });
        let mut answers = BufReader::new(raw.stream()).lines();
        for number in 0..CALLS {
            let answer: Value = serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap();
            assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(number), &json!(-32_004)), "{answer}");
        }
    });
    // The first two thousand pass at once, the rest at two thousand a second.
    assert!(begun.elapsed() > Duration::from_millis(950), "{:?}", begun.elapsed());
    abused.check();
}

#[test]
fn a_flood_of_hooks_is_answered_and_hardly_recorded() {
    let abused = Abused::new();
    let before = abused.events();
    let path = abused.world.projects().join("-work-one").join(format!("{}.jsonl", id(1)));
    let call = |name: &str, number: usize| {
        let hook = json!({
            "id": format!("{name}-{number}"), "event": name, "at": now().0, "session_id": id(1), "transcript_path": path,
            "cwd": "/srv/-work-one", "wait_ms": 0,
        });
        format!("{}\n", json!({"jsonrpc": "2.0", "id": number, "method": "hook", "params": hook}))
    };
    const EACH: usize = 400;
    std::thread::scope(|scope| {
        for name in ["Stop", "UserPromptSubmit", "SubagentStop", "PreToolUse"] {
            let (abused, call) = (&abused, &call);
            scope.spawn(move || {
                // Sends all calls over one connection, then each over its own.
                let mut one = Raw::greeted(&abused.world);
                for number in 0..EACH {
                    one.send(call(name, number).as_bytes());
                }
                for number in 0..EACH {
                    let answer = one.line().expect("an answer");
                    assert_eq!(
                        (&answer["id"], &answer["result"]["status"]),
                        (&json!(number), &json!("accepted")),
                        "{answer}"
                    );
                }
                for number in 0..50 {
                    let mut raw = Raw::greeted(&abused.world);
                    raw.send(call(name, EACH + number).as_bytes());
                    let answer = raw.line().expect("an answer");
                    assert_eq!(answer["result"]["status"], "accepted", "{answer}");
                }
            });
        }
        abused.serves();
    });
    let stats = Raw::greeted(&abused.world).call(&json!({"jsonrpc": "2.0", "id": 1, "method": "hook/stats"}));
    let calls = |name: &str| stats["result"]["events"][name]["calls"].as_u64();
    assert_eq!((calls("Stop"), calls("PreToolUse")), (Some(450), Some(450)), "{stats}");
    assert!(abused.events() <= before + 5, "{} events more", abused.events() - before);
    abused.check();
}
