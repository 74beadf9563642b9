//! The configuration of an endpoint for vectors, and what `status`, `doctor` and `config` print about it. None of them
//! shows its key.

use std::fs;

use serde_json::{Value, json};

use crate::world::{World, list, text};

const KEY: &str = "wombat-key-0123456789";

fn configure(world: &World, embedding: &Value) {
    fs::create_dir_all(world.home()).unwrap();
    fs::write(world.home().join("config.json"), json!({"memory": {"embedding": embedding}}).to_string()).unwrap();
}

fn vectors(world: &World) -> Value {
    world.json(&["status"])["vectors"].clone()
}

/// The finding of `doctor` about vectors: its status, and its text with the remedy.
fn finding(world: &World) -> (String, String) {
    let report = world.run(&["doctor", "--json"]).json();
    let findings = list(&report["findings"]);
    let found = findings.iter().find(|finding| finding["check"] == "vectors");
    let found = found.unwrap_or_else(|| panic!("nothing about vectors in {findings:#?}"));
    (text(&found["status"]), format!("{}; {}", text(&found["what"]), found["fix"]))
}

#[test]
fn without_an_endpoint_vectors_are_off_and_that_is_well() {
    let world = World::new();
    assert_eq!(vectors(&world), json!({"state": "off", "done": 0, "pending": 0}));
    assert_eq!(world.problems(), "[]");
    let (status, told) = finding(&world);
    assert!(status == "ok" && told.contains("nothing is sent anywhere"), "{told}");
    assert!(!world.ok(&["status"]).out.contains("vectors"));
}

#[test]
fn what_is_half_configured_is_a_problem_with_its_line() {
    let world = World::new();
    configure(&world, &json!({"base_url": "http://127.0.0.1:9/v1"}));
    let told = vectors(&world);
    assert_eq!(told["state"], "off", "{told}");
    assert!(
        text(&told["problem"]).contains("line 1: memory.embedding.base_url is set and memory.embedding.model is not")
    );
    assert!(world.problems().contains("memory.embedding.model is not"), "{}", world.problems());
    assert!(world.ok(&["config"]).err.contains("warning: config.json, line 1: memory.embedding.base_url is set"));
    // The other keys stay valid, and correcting the mistake is enough.
    configure(&world, &json!({"base_url": "http://127.0.0.1:9/v1/", "model": "nomic"}));
    let told = vectors(&world);
    assert_eq!((&told["model"], &told["base_url"]), (&json!("nomic"), &json!("http://127.0.0.1:9/v1")), "{told}");
    assert!(!world.problems().contains("memory.embedding"), "{}", world.problems());
    configure(&world, &json!({"base_url": "127.0.0.1:9", "model": "nomic"}));
    assert!(world.problems().contains("memory.embedding.base_url: its value is not an address"));
    assert_eq!(vectors(&world)["model"], "nomic", "the last good configuration holds");
}

#[test]
fn a_key_is_named_and_never_shown() {
    let mut world = World::new();
    let endpoint = |url: &str, variable: Value| json!({"base_url": url, "model": "m", "api_key_env": variable});
    let local = "http://localhost:9/v1";
    configure(&world, &endpoint(local, "WOMBAT_KEY".into()));
    let told = vectors(&world);
    assert_eq!(told["state"], "waiting", "{told}");
    assert!(text(&told["problem"]).contains("WOMBAT_KEY is not set in the daemon's environment"), "{told}");
    assert!(text(&told["next_step"]).contains("baton stop"), "{told}");
    assert!(world.problems().contains("WOMBAT_KEY"), "{}", world.problems());

    world.stop();
    world.set("WOMBAT_KEY", KEY);
    // The key in its place, and a key that was put into the wrong place by mistake.
    let told = vectors(&world);
    assert_eq!((&told["api_key_env"], &told["problem"]), (&json!("WOMBAT_KEY"), &Value::Null), "{told}");
    configure(&world, &endpoint(local, format!("{KEY} ").into()));
    let mistaken = format!("{} {}", world.problems(), world.ok(&["config"]).err);
    assert!(mistaken.contains("must be the name of an environment variable"), "{mistaken}");
    for (url, variable, status, what) in [
        (local, "WOMBAT_KEY", "ok", "with the key in WOMBAT_KEY"),
        (local, "", "ok", "on this machine, without a key"),
        ("https://api.example.com/v1", "WOMBAT_KEY", "ok", "with the key in WOMBAT_KEY"),
        ("https://api.example.com/v1", "", "warn", "without a key"),
        ("http://192.0.2.1/v1", "WOMBAT_KEY", "warn", "sent there unencrypted"),
    ] {
        let variable = if variable.is_empty() { Value::Null } else { variable.into() };
        configure(&world, &endpoint(url, variable));
        let (told, said) = finding(&world);
        assert!(told == status && said.contains(what), "{url}: {told} {said}");
    }
    let everything = ["status", "config", "doctor"].map(|command| {
        let ran = world.run(&[command]);
        let json = world.run(&[command, "--json"]);
        [ran.out, ran.err, json.out, json.err].concat()
    });
    assert!(!mistaken.contains(KEY) && !everything.concat().contains(KEY) && !world.log().contains(KEY));
    let config = fs::read(world.home().join("config.json")).unwrap();
    assert!(!String::from_utf8_lossy(&config).contains(KEY));
}
