//! `baton update` asks only when told to, and believes only what is signed.

use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

use serde_json::{Value, json};

use crate::world::{World, list, wait};

/// Announcements that `minisign` has signed.
const SIGNED: &str = include_str!("../../actors/upkeep/src/newer_version/signed.json");

/// Serves the announcement that names this version, and counts how often it is asked.
fn serve(version: &str) -> (String, String, Arc<AtomicUsize>) {
    let shelf: Value = serde_json::from_str(SIGNED).unwrap();
    let is_it = |one: &&Value| one["by"] == "key" && one["file"].as_str().unwrap().contains(&format!("\"{version}\""));
    let signed = list(&shelf["signed"]);
    let found = signed.iter().find(is_it).unwrap_or_else(|| panic!("{version} is not signed"));
    let [file, signature] = ["file", "signature"].map(|field| found[field].as_str().unwrap().to_owned());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/latest.json", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            let first = lines.next().unwrap_or_default();
            lines.take_while(|line| !line.is_empty()).for_each(drop);
            count.fetch_add(1, Ordering::SeqCst);
            let body = if first.contains(".minisig") { &signature } else { &file };
            let head = format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
            let _ =
                stream.write_all(format!("{head}{body}").as_bytes()).and_then(|()| stream.shutdown(Shutdown::Write));
        }
    });
    (url, shelf["key"].as_str().unwrap().to_owned(), asked)
}

fn configure(world: &World, update: &Value) {
    fs::create_dir_all(world.home()).unwrap();
    fs::write(world.home().join("config.json"), json!({ "update": update }).to_string()).unwrap();
}

#[test]
fn a_newer_version_is_told_when_asked_for() {
    let world = World::new();
    let (url, key, asked) = serve("9.0.0");
    configure(&world, &json!({ "url": url, "key": key }));
    world.ok(&["daemon"]);
    assert!(!world.problems().contains("9.0.0") && asked.load(Ordering::SeqCst) == 0, "nothing asks by itself");
    let found = world.json(&["update"]);
    assert_eq!((&found["newest"], &found["newer"]), (&"9.0.0".into(), &true.into()), "{found}");
    let told = world.ok(&["update"]).out;
    assert!(told.contains("Version 9.0.0 is available") && told.contains("https://example.com/9.0.0"), "{told}");
    // Once the daemon may ask, it asks at once, and status tells.
    configure(&world, &json!({ "url": url, "key": key, "check": true }));
    assert!(wait(|| world.problems().contains("version 9.0.0 is available")), "{}", world.problems());
    configure(&world, &json!({ "url": url, "key": key }));
    assert!(wait(|| !world.problems().contains("9.0.0")), "{}", world.problems());
}

#[test]
fn an_older_version_and_a_wrong_signature_change_nothing() {
    let world = World::new();
    let (url, key, _) = serve("0.0.1");
    configure(&world, &json!({ "url": url, "key": key }));
    let found = world.json(&["update"]);
    assert_eq!((&found["newest"], &found["newer"]), (&"0.0.1".into(), &false.into()), "{found}");
    let told = world.ok(&["update"]).out;
    assert!(told.contains("the newest that is announced is 0.0.1"), "{told}");
    // Another key, a key that is none, no key, nobody there.
    let other = "RWS2W6jcipV1eS/5XI3cRV6rgmnZLuCxceLpc38OlrsDAha/2PF+p6Rp";
    for (update, said) in [
        (json!({ "url": url, "key": other }), "signature is not right"),
        (json!({ "url": url, "key": "secret" }), "not a minisign public key"),
        (json!({ "url": "http://127.0.0.1:1/latest.json", "key": key }), "could not be asked"),
    ] {
        configure(&world, &update);
        let ran = world.run(&["update"]);
        assert!(ran.code == 1 && ran.err.contains(said), "{update}: {}{}", ran.out, ran.err);
    }
}
