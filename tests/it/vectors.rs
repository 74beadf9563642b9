//! Search by meaning, with an endpoint in this process: its results, its cost, and that nothing is lost when it fails.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use baton_endpoint::{EMBEDDINGS, FakeEndpoint, Fault};
use baton_memory::vectors::key;
use serde_json::{Value, json};

use crate::world::{World, files_below, hits, id, text, wait};

const KEY: &str = "quoll-key-9876543210";

/// Three sessions: one that is searched with other words, one about soup, and one that shares a sentence with the
/// first.
fn garage(world: &World) {
    for (number, project, texts) in [
        (1, "-work-one", ["How do I mend the automobile?", "Take the wheels off first."]),
        (2, "-work-two", ["A soup of leeks, please", "Stir it slowly and add salt."]),
        (3, "-work-two", ["What about the brakes of the lorry?", "Take the wheels off first."]),
    ] {
        world.transcript(project, &id(number)).minutes_ago(90).prompt(texts[0]).reply(texts[1]);
    }
}

fn configure(world: &World, endpoint: &FakeEndpoint, more: Value) {
    let mut embedding = json!({"base_url": endpoint.base_url(), "model": "made"});
    let mut more = more.as_object().unwrap().clone();
    if let Some(key) = more.remove("api_key_env") {
        embedding["api_key_env"] = key;
    }
    let mut config = json!({"memory": {"embedding": embedding}});
    config.as_object_mut().unwrap().extend(more);
    fs::create_dir_all(world.home()).unwrap();
    fs::write(world.home().join("config.json"), config.to_string()).unwrap();
}

/// The vectors in `status`, once `texts` texts have theirs and none is missing.
fn filled(world: &World, texts: u64) -> Value {
    let mut last = Value::Null;
    let is_filled = wait(|| {
        last = world.json(&["status"])["vectors"].clone();
        last["state"] == "ready" && last["done"] == texts
    });
    assert!(is_filled, "{last}\n{}", world.log());
    last
}

fn first(found: &Value) -> Option<String> {
    hits(found).first().map(|hit| text(&hit["session_id"]))
}

fn told(found: &Value) -> String {
    found["freshness"]["vectors"].as_str().unwrap_or("nothing").to_owned()
}

/// Number of times that a vector of each text was requested.
fn paid(endpoint: &FakeEndpoint) -> BTreeMap<String, usize> {
    let mut paid = BTreeMap::new();
    endpoint.texts().into_iter().for_each(|text| *paid.entry(text).or_default() += 1);
    paid
}

/// True if a file of vectors contains one of this text.
fn has_vector(world: &World, of: &str) -> bool {
    let key = key(of).to_le_bytes();
    let files = files_below(&world.home().join("vectors"));
    files.iter().any(|file| fs::read(file).unwrap().windows(8).any(|window| window == key))
}

#[test]
fn a_paraphrase_is_found_with_vectors_alone_and_a_memory_built_anew_costs_no_call() {
    let world = World::new();
    let endpoint = FakeEndpoint::start().unwrap();
    garage(&world);
    let before = world.search("repair vehicle");
    assert_eq!((hits(&before).len(), told(&before).as_str()), (0, "nothing"));
    let soup = || -> Vec<(String, String)> {
        hits(&world.search("leeks soup")).iter().map(|hit| (text(&hit["session_id"]), text(&hit["snippet"]))).collect()
    };
    let soup_by_words = soup();
    assert_eq!(endpoint.connections(), 0, "nobody has configured it");
    assert!(!world.home().join("vectors").exists());

    configure(&world, &endpoint, json!({}));
    filled(&world, 5);
    let found = world.search("repair vehicle");
    assert_eq!((first(&found), told(&found)), (Some(id(1)), "used".to_owned()), "{found}");
    let hit = &hits(&found)[0];
    assert_eq!((&hit["matched"], &hit["line"]), (&json!(["vector"]), &json!(1)), "{hit}");
    assert_eq!(soup()[0], soup_by_words[0]);
    assert_eq!(told(&world.json(&["recall", "repair vehicle"])), "used");
    // A repeated question is not sent again, and each text only once.
    world.search("repair vehicle");
    let expected: BTreeMap<String, usize> = [
        "How do I mend the automobile?",
        "Take the wheels off first.",
        "A soup of leeks, please",
        "Stir it slowly and add salt.",
        "What about the brakes of the lorry?",
        "repair vehicle",
        "leeks soup",
    ]
    .into_iter()
    .map(|text| (text.to_owned(), 1))
    .collect();
    assert_eq!(paid(&endpoint), expected);

    // The memory is deleted, then every conversation is made anew.
    world.stop();
    fs::remove_dir_all(world.home().join("memory")).unwrap();
    // The vectors are loaded concurrently with the first answers.
    assert!(wait(|| first(&world.search("fix car")) == Some(id(1))), "{}", world.log());
    world.ok(&["reindex", "--all"]);
    assert_eq!(first(&world.search("fix car")), Some(id(1)));
    filled(&world, 5);
    let mut expected = expected;
    // Repeated only where the first answer came too late.
    expected.insert("fix car".to_owned(), paid(&endpoint)["fix car"]);
    assert_eq!(paid(&endpoint), expected);
    // Once disabled it is as before. A question that was asked before is not sent while the daemon has not seen the
    // change.
    fs::write(world.home().join("config.json"), "{}").unwrap();
    assert!(wait(|| told(&world.search("fix car")) == "nothing"));
    assert_eq!(hits(&world.search("repair vehicle")).len(), 0);
    assert_eq!(soup(), soup_by_words);
    assert_eq!(paid(&endpoint), expected);
}

#[test]
fn whatever_the_endpoint_does_words_find_what_they_find() {
    let world = World::new();
    let endpoint = FakeEndpoint::start().unwrap();
    garage(&world);
    world.search("soup");
    configure(&world, &endpoint, json!({}));
    filled(&world, 5);
    let faults = [
        Fault::Slow(Duration::from_secs(2)),
        Fault::Hang,
        Fault::Reset,
        Fault::status(401, "wrong key"),
        Fault::status(429, "slow down"),
        Fault::status(500, "broken"),
        Fault::Garbage(10_000_000),
        Fault::Endless,
        Fault::Torn,
        Fault::EchoTexts,
        Fault::Dimensions(7),
        Fault::Count(0),
        Fault::Count(2),
        Fault::Null,
        Fault::NaN,
        Fault::Zeros,
    ];
    for (number, fault) in faults.into_iter().enumerate() {
        // A new daemon each time, which has not seen the endpoint fail.
        world.kill();
        let name = format!("{fault:?}");
        endpoint.always(EMBEDDINGS, Some(fault));
        // The vectors are loaded concurrently with the first answers.
        assert!(wait(|| told(&world.search("leeks")) != "nothing"), "{name}");
        let found = world.search(&format!("leeks soup number{number}"));
        assert_eq!(first(&found), Some(id(2)), "{name}: {found}");
        assert!(told(&found).starts_with("down: "), "{name}: {found}");
    }
    endpoint.always(EMBEDDINGS, None);
    world.kill();
    assert!(wait(|| told(&world.search("repair vehicle")) == "used"), "{}", world.log());
    assert_eq!(first(&world.search("repair vehicle")), Some(id(1)));
    // The endpoint is gone.
    drop(endpoint);
    let found = world.search("leeks and more leeks");
    assert!(first(&found) == Some(id(2)) && told(&found).starts_with("down: "), "{found}");
    let heard = world.ok(&["search", "leeks"]);
    assert!(heard.err.contains("Searched by words alone: "), "{}", heard.err);
}

#[test]
fn what_fails_while_filling_is_said_and_made_up_for() {
    let world = World::new();
    let endpoint = FakeEndpoint::start().unwrap();
    garage(&world);
    world.search("soup");
    endpoint.always(EMBEDDINGS, Some(Fault::status(500, "broken")));
    configure(&world, &endpoint, json!({}));
    let waiting = wait(|| world.json(&["status"])["vectors"]["state"] == "waiting");
    let status = world.json(&["status"]);
    assert!(waiting && status["vectors"]["pending"] == 5, "{status}");
    assert!(text(&status["vectors"]["problem"]).contains("500"), "{status}");
    assert!(world.problems().contains("searches go by words alone"), "{}", world.problems());
    assert_eq!(first(&world.search("leeks")), Some(id(2)));
    assert!(told(&world.search("leeks")).starts_with("down: "));
    endpoint.always(EMBEDDINGS, None);
    filled(&world, 5);
    assert_eq!(world.problems(), "[]");
    // New texts get their vectors in the background.
    world.transcript("-work-one", &id(4)).minutes_ago(80).prompt("The physician has called").reply("At nine.");
    world.search("anything");
    filled(&world, 7);
    assert_eq!(first(&world.search("doctor")), Some(id(4)));
}

#[test]
fn a_daemon_that_is_killed_while_filling_pays_for_one_request_twice_at_most() {
    const SESSIONS: u32 = 60;
    let world = World::new();
    let endpoint = FakeEndpoint::start().unwrap();
    for number in 0..SESSIONS {
        let mut transcript = world.transcript("-work-one", &id(number)).minutes_ago(90);
        for turn in 0..4 {
            transcript
                .prompt(&format!("subject{number} of turn{turn}"))
                .reply(&format!("answer{number} in turn{turn}"));
        }
    }
    let texts = u64::from(SESSIONS) * 8;
    world.search("anything");
    endpoint.always(EMBEDDINGS, Some(Fault::Slow(Duration::from_millis(150))));
    configure(&world, &endpoint, json!({}));
    for kills in 1..=3 {
        assert!(wait(|| endpoint.requests().len() >= 2 * kills), "{}", world.log());
        world.kill();
        world.ok(&["daemon"]);
    }
    endpoint.always(EMBEDDINGS, None);
    filled(&world, texts);
    let paid = paid(&endpoint);
    let twice: usize = paid.values().map(|times| times - 1).sum();
    let largest = endpoint.requests().iter().map(|request| request.texts.len()).max().unwrap_or(0);
    assert_eq!(paid.len() as u64, texts);
    assert!(twice <= 3 * largest && largest <= 64, "{twice} were paid for again, {largest} in a request");
}

#[test]
fn what_is_forgotten_has_no_vector_and_what_must_not_be_sent_is_not() {
    let mut world = World::new();
    world.set("QUOLL_KEY", KEY);
    let endpoint = FakeEndpoint::start().unwrap();
    garage(&world);
    world.transcript("-work-hidden", &id(9)).minutes_ago(90).prompt("A word that nobody may read").reply("Nobody.");
    world.search("anything");
    // The daemon that reads it must have the key in its environment from the start.
    let more = json!({"api_key_env": "QUOLL_KEY", "session_tracking": {"exclude": ["/srv/-work-hidden"]}});
    configure(&world, &endpoint, more);
    filled(&world, 5);
    let (own, shared) = ("How do I mend the automobile?", "Take the wheels off first.");
    assert!([own, shared, "A soup of leeks, please"].iter().all(|text| has_vector(&world, text)));

    let secret = format!("sk-ant-api03-{}", "x9Y8z7W6v5U4".repeat(4));
    let found = world.search(&format!("soup {secret}"));
    assert!(told(&found).starts_with("off: ") && first(&found) == Some(id(2)), "{found}");
    assert!(world.ok(&["forget", &id(1), "--yes"]).code == 0);
    assert!(!has_vector(&world, own), "its vector is still there");
    assert!(has_vector(&world, shared), "another session says it still");
    assert_eq!(world.json(&["status"])["vectors"]["state"], "ready");
    // Also after vectors were disabled.
    world.stop();
    fs::write(world.home().join("config.json"), "{}").unwrap();
    world.ok(&["forget", &id(3), "--yes"]);
    assert!(!has_vector(&world, shared) && has_vector(&world, "A soup of leeks, please"));

    let sent: BTreeSet<String> = endpoint.texts().into_iter().collect();
    assert!(!sent.iter().any(|text| text.contains(&secret) || text.contains("obody")), "{sent:?}");
    let keys = endpoint.requests().into_iter().map(|request| request.authorization.unwrap_or_default());
    assert_eq!(keys.collect::<BTreeSet<_>>(), BTreeSet::from([format!("Bearer {KEY}")]));
    let said = ["status", "config", "doctor"].map(|command| {
        let ran = world.run(&[command, "--json"]);
        ran.out + &ran.err
    });
    assert!(!said.concat().contains(KEY));
    world.stop();
    for file in files_below(world.home()) {
        let bytes = fs::read(&file).unwrap();
        assert!(!bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes()), "{}", file.display());
    }
}
