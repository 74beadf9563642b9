//! One session, one episode: stored, kept while the content is the same, replaced when it changes.

use serde_json::Value;

use crate::record::{Log, memory};
use crate::transcript::Transcript;
use crate::world::{World, hits, id, text};

const ID: u32 = 0x11;

fn a_session(world: &World) -> Transcript {
    let mut transcript = world.transcript("-work-harbor", &id(ID));
    transcript
        .prompt("why does the quokka cache grow without bound?")
        .call("toolu_1", "Bash", serde_json::json!({"command": "cargo test cache", "description": "run tests"}))
        .result("toolu_1", "error[E0382]: borrow of moved value", true)
        .reply("The eviction never ran because the wombat timer was dropped.");
    transcript
}

fn rows(world: &World, of: &str) -> Vec<Value> {
    world.sessions().into_iter().filter(|row| row["session_id"] == *of).collect()
}

/// A record as another serialiser might write it: keys in reverse order, with spaces.
fn written_otherwise(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .rev()
                .map(|(key, value)| format!("{} : {}", Value::String(key.clone()), written_otherwise(value)))
                .collect();
            format!("{{ {} }}", fields.join(" , "))
        }
        Value::Array(values) => {
            format!("[ {} ]", values.iter().map(written_otherwise).collect::<Vec<_>>().join(" , "))
        }
        other => other.to_string(),
    }
}

#[test]
fn content_hash_stable() {
    let world = World::new();
    let mut transcript = a_session(&world);
    let first = world.close(&id(ID));
    let hash = text(&world.show(&id(ID))["content_hash"]);
    assert_eq!(hash.len(), 16, "{hash}");

    transcript.metadata();
    assert_eq!(world.close(&id(ID)), first, "metadata is no content");

    let lines = std::fs::read_to_string(transcript.path()).unwrap();
    let otherwise: Vec<String> =
        lines.lines().map(|line| written_otherwise(&serde_json::from_str(line).unwrap()) + "\n").collect();
    assert_ne!(otherwise.concat(), lines);
    std::fs::write(transcript.path(), otherwise.concat()).unwrap();
    assert_eq!(world.close(&id(ID)), first, "the same records, written otherwise");

    transcript.rename(world.projects().join("-work-elsewhere").join(format!("{}.jsonl", id(ID))));
    assert_eq!(world.close(&id(ID)), first, "the same file in another folder");

    transcript.rename(world.projects().join("-work-elsewhere").join(format!("{}.jsonl", id(0x99))));
    world.close(&id(0x99));
    let renamed = world.show(&id(0x99));
    assert_eq!(text(&renamed["content_hash"]), hash, "the hash is of what was said, whatever the file is called");
    assert_ne!(text(&renamed["episode_uuid"]), first, "another session has another episode");
}

#[test]
fn content_hash_changes() {
    let world = World::new();
    let mut transcript = a_session(&world);
    let mut seen = vec![(world.close(&id(ID)), text(&world.show(&id(ID))["content_hash"]))];
    let changes: [&dyn Fn(&mut Transcript); 4] = [
        &|transcript| {
            transcript.reply("One more sentence.");
        },
        &|transcript| {
            transcript.prompt("and one more prompt");
        },
        &|transcript| {
            let input = serde_json::json!({"file_path": "/srv/harbor/src/cache.rs"});
            transcript.call("toolu_2", "Read", input).result("toolu_2", "fn evict() {}", false);
        },
        &|transcript| {
            let whole = std::fs::read_to_string(transcript.path()).unwrap();
            std::fs::write(transcript.path(), whole.replace("wombat", "badger")).unwrap();
        },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        change(&mut transcript);
        let now = (world.close(&id(ID)), text(&world.show(&id(ID))["content_hash"]));
        assert!(seen.iter().all(|(uuid, hash)| *uuid != now.0 && *hash != now.1), "change {number}: {now:?}");
        seen.push(now);
    }
}

#[test]
fn state_survives_restart() {
    let world = World::new();
    a_session(&world);
    world.close(&id(ID));
    let mut open = world.transcript("-work-harbor", &id(0x12)).minutes_ago(0);
    open.prompt("an open one").reply("indeed");
    world.wait_for(&id(0x12), "the open session", |row| row["message_count"] == 2);
    let before = world.sessions();
    assert_eq!(before.len(), 2);
    let first = world.daemon();

    world.stop();
    assert_eq!(world.sessions(), before, "after a stop");
    assert_ne!(world.daemon(), first, "another process");
    world.kill();
    assert_eq!(world.sessions(), before, "after a kill");
    assert_eq!(world.found("wombat timer"), [id(ID)]);
}

#[test]
fn explicit_close_indexes() {
    let world = World::new();
    a_session(&world);
    let closed = world.json(&["close", &id(ID), "--reason", "  the cache\n is bounded now "]);
    assert_eq!((&closed["status"], &closed["session_id"]), (&"success".into(), &id(ID).into()), "{closed}");
    let shown = world.show(&id(ID));
    assert_eq!(shown["state"], "indexed");
    assert_eq!(shown["close_reason"], "explicit");
    assert_eq!(shown["close_note"], "the cache is bounded now");
    assert_eq!(shown["message_count"], 2);
    assert_eq!(shown["episode_uuid"], closed["episode_uuid"]);
    assert_eq!(shown["episode"]["uuid"], closed["episode_uuid"]);
    assert_eq!(shown["episode"]["tier"], "extractive");
    assert_eq!(shown["episode"]["objective"], "why does the quokka cache grow without bound?");
    assert_eq!(shown["episode"]["errors"][0]["line"], 3, "{}", shown["episode"]);
    // Found at once, without a search having indexed it.
    let found = world.search("quokka");
    assert_eq!(found["freshness"]["indexed_now"], 0);
    assert_eq!(hits(&found)[0]["episode_uuid"], closed["episode_uuid"]);
    let human = world.ok(&["close", &id(ID)[..8]]);
    assert!(human.out.contains(&id(ID)) && human.out.contains(&text(&closed["episode_uuid"])), "{}", human.out);
}

#[test]
fn explicit_close_skips_unchanged() {
    let world = World::new();
    a_session(&world);
    let first = world.close(&id(ID));
    let indexed_at = world.show(&id(ID))["last_indexed_at"].clone();
    let again = world.json(&["close", &id(ID)]);
    assert_eq!(again["status"], "success");
    assert_eq!(again["episode_uuid"], *first);
    assert!(text(&again["message"]).contains("unchanged"), "{again}");
    assert_eq!(world.show(&id(ID))["last_indexed_at"], indexed_at);
    world.stop();
    let log = Log::of(&world);
    let count = |kind: &str| log.of_session(&id(ID)).filter(|event| format!("{event:?}").starts_with(kind)).count();
    assert_eq!((count("IndexingStarted"), count("Indexed"), count("IndexSkipped")), (1, 1, 1));
}

#[test]
fn explicit_close_replaces_changed() {
    let world = World::new();
    let mut transcript = a_session(&world);
    let first = world.close(&id(ID));
    transcript.prompt("now mend it").reply("Mended: the platypus guard holds the timer.");
    let closed = world.json(&["close", &id(ID)]);
    let second = text(&closed["episode_uuid"]);
    assert_ne!(second, first);
    assert!(text(&closed["message"]).contains(&first), "it says which one it replaces: {closed}");
    assert_eq!(rows(&world, &id(ID)).len(), 1);
    assert_eq!(world.show(&id(ID))["episode"]["uuid"], *second);
    for query in ["quokka cache", "platypus guard", "wombat timer"] {
        let found = hits(&world.search(query));
        assert!(!found.is_empty(), "{query}");
        assert!(found.iter().all(|hit| hit["episode_uuid"] == *second), "{query}: {found:?}");
        let episodes = found.iter().filter(|hit| hit["kind"] == "episode").count();
        assert!(episodes <= 1, "{query}: {found:?}");
    }

    // Text that was removed is no longer found.
    let whole = std::fs::read_to_string(transcript.path()).unwrap();
    std::fs::write(transcript.path(), whole.replace("quokka", "numbat")).unwrap();
    let third = world.close(&id(ID));
    assert_ne!(third, second);
    assert_eq!(world.found("numbat"), [id(ID)]);
    assert_eq!(world.found("quokka"), [""; 0]);

    world.stop();
    let memory = memory(world.home());
    let episodes: Vec<_> = memory.iter().filter(|line| line.contains("kind=session")).collect();
    assert_eq!(episodes.len(), 1, "{memory:#?}");
    assert!(memory.iter().all(|line| !line.contains("quokka")), "{memory:#?}");
    assert_eq!(Log::of(&world).states()[&id(ID)].episode.as_ref().unwrap().uuid.to_string(), third);
}

#[test]
fn i8_session_resumes_after_index_and_is_replaced_not_duplicated() {
    let world = World::new();
    let mut transcript = a_session(&world);
    let mut uuids = vec![world.close(&id(ID))];
    for round in 0..4 {
        transcript.prompt(&format!("round {round}: more about marsupial{round}"));
        transcript.reply(&format!("done with marsupial{round}"));
        uuids.push(world.close(&id(ID)));
        assert_eq!(world.found(&format!("marsupial{round}")), [id(ID)]);
    }
    let count = uuids.len();
    uuids.sort();
    uuids.dedup();
    assert_eq!(uuids.len(), count, "each content has its own episode");
    assert_eq!(world.sessions().len(), 1);
    world.stop();
    assert_eq!(memory(world.home()).iter().filter(|line| line.contains("kind=session")).count(), 1);
    Log::of(&world);
}

#[test]
fn parallel_sessions_are_independent() {
    let world = World::new();
    std::thread::scope(|scope| {
        for number in 0..5 {
            let world = &world;
            scope.spawn(move || {
                let me = id(0x20 + number);
                let mut transcript = world.transcript(&format!("-work-p{}", number % 2), &me);
                let mut uuid = String::new();
                for round in 0..4 {
                    transcript.prompt(&format!("ask{number}x{round}")).reply(&format!("say{number}x{round}"));
                    let now = world.close(&me);
                    assert_ne!(now, uuid, "session {number}, round {round}");
                    uuid = now;
                    assert_eq!(world.found(&format!("ask{number}x{round}")), [&*me]);
                }
                assert_eq!(world.close(&me), uuid);
                assert_eq!(world.show(&me)["message_count"], 8);
            });
        }
    });
    assert_eq!(world.sessions().len(), 5);
    world.stop();
    let states = Log::of(&world).states();
    assert!(states.values().all(|state| state.counts.messages == 8 && state.unindexed == 0), "{states:#?}");
    assert_eq!(memory(world.home()).iter().filter(|line| line.contains("kind=session")).count(), 5);
}
