//! A relay on the real NATS server: two homes with real daemons, and a server that goes and comes back.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use baton_endpoint::nats::NatsServer;
use serde_json::Value;

use crate::relay::{SAID, SHARED, UNSAID, UNSHARED, arrives, contains, settled, status, worked};
use crate::relay_kills::ask;
use crate::world::{World, files_below, id, list, skipped, text, wait};

/// Two members of a team whose relay is a server.
struct Pair {
    ann: World,
    bob: World,
    server: NatsServer,
}

impl Pair {
    /// `None`, which is reported, where there is no such server.
    fn new() -> Option<Self> {
        Self::with("")
    }

    /// The same with more lines of the server's configuration.
    fn with(more: &str) -> Option<Self> {
        let (ann, bob) = (World::new(), World::new());
        let more = format!(
            "http: \"127.0.0.1:-1\"\nauthorization {{ user: team, password: \"s3cret-pass\" }}\n{}",
            more.replace("STORE", ann.path("server/store").to_str().unwrap())
        );
        let Some(server) = NatsServer::start(&ann.path("server"), &more).unwrap() else {
            skipped("there is no nats-server");
            return None;
        };
        [&ann, &bob].into_iter().for_each(signs_in);
        ann.ok(&["relay", "init", &server.url(), "--name", "Ann"]);
        let invitation = text(&ann.json(&["relay", "invite"])["invitation"]);
        bob.ok(&["relay", "join", &invitation, "--name", "Bob"]);
        Some(Self { ann, bob, server })
    }

    fn assert_not_on_server(&self, planted: &[&str]) {
        let files = files_below(&self.server.store());
        let named = |file: std::path::PathBuf| [text_of(&file), std::fs::read(&file).unwrap_or_default()].concat();
        let bytes: Vec<u8> = files.into_iter().flat_map(named).collect();
        for planted in planted {
            assert!(!contains(&bytes, planted), "{planted} is readable on the server");
        }
    }

    /// How many messages a stream of the team has, as the server says.
    fn messages(&self, kind: &str) -> u64 {
        let mut connection = TcpStream::connect(("127.0.0.1", self.server.port("monitoring").unwrap())).unwrap();
        connection.write_all(b"GET /jsz?accounts=true&streams=true HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        let body: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
        let streams = list(&body["account_details"][0]["stream_detail"]);
        let stream = streams.iter().find(|stream| text(&stream["name"]).ends_with(kind));
        stream.unwrap()["state"]["messages"].as_u64().unwrap()
    }
}

/// Gives a home what it signs in with.
fn signs_in(world: &World) {
    std::fs::write(world.path("credentials"), "team:s3cret-pass\n").unwrap();
    let configuration = serde_json::json!({"relay": {"credentials_file": world.path("credentials")}});
    std::fs::create_dir_all(world.home()).unwrap();
    std::fs::write(world.home().join("config.json"), configuration.to_string()).unwrap();
}

fn text_of(file: &std::path::Path) -> Vec<u8> {
    file.to_str().unwrap().as_bytes().to_vec()
}

#[test]
fn a_server_carries_sessions_goes_comes_back_and_forgets() {
    let Some(mut pair) = Pair::new() else { return };
    worked(&pair.ann, 1, SHARED, SAID);
    worked(&pair.ann, 2, UNSHARED, UNSAID);
    pair.ann.ok(&["relay", "share", SHARED, "--yes"]);
    let hit = arrives(&pair.bob, "wombat cache", &id(1));
    assert_eq!(hit["from"]["name"], "Ann", "{hit}");
    assert_eq!(pair.bob.found("narwhal ledger"), [] as [String; 0]);

    // Without the server both go on with what they have.
    pair.server.end();
    for world in [&pair.ann, &pair.bob] {
        assert!(wait(|| status(world)["connected"] == false), "{}", status(world));
    }
    worked(&pair.ann, 4, SHARED, "the bilby index is next");
    worked(&pair.bob, 5, "/srv/own", "the dugong is mine");
    pair.bob.ok(&["relay", "share", "/srv/own", "--yes"]);
    assert_eq!(pair.bob.found("wombat cache"), [id(1)]);
    let told = status(&pair.ann);
    assert!(told["lag"]["out"]["events"].as_u64().unwrap() > 0, "{told}");
    assert!(!told.to_string().contains("s3cret"), "{told}");
    pair.bob.kill();

    pair.server.begin().unwrap();
    arrives(&pair.bob, "bilby index", &id(4));
    arrives(&pair.ann, "dugong", &id(5));
    for world in [&pair.ann, &pair.bob] {
        assert_eq!(settled(world)["problems"], Value::Array(Vec::new()));
    }
    pair.assert_not_on_server(&[
        "wombat",
        "narwhal",
        "quokkaville",
        "platypusburg",
        "bilby",
        "dugong",
        "evict",
        &id(1),
        &id(2),
        "Ann",
        "Bob",
    ]);

    // A chunk and a key for each session; what is forgotten has neither.
    assert_eq!(pair.messages("_KEPT"), 6);
    pair.ann.ok(&["forget", &id(1), "--yes"]);
    assert!(wait(|| pair.messages("_KEPT") == 4), "{}\n{}", pair.messages("_KEPT"), pair.ann.log());
    assert!(wait(|| pair.bob.found("wombat cache").is_empty()), "{}\n{}", status(&pair.bob), pair.bob.log());
    let has_acknowledged = || {
        let forgotten = pair.ann.json(&["relay", "forgotten"]);
        list(&forgotten["forgotten"][0]["removed_by"]).len() == 1
    };
    assert!(wait(has_acknowledged), "{}", pair.ann.json(&["relay", "forgotten"]));
    assert_eq!(pair.bob.found("bilby index"), [id(4)]);
    for world in [&pair.ann, &pair.bob] {
        assert!(!world.log().contains("s3cret"), "{}", world.log());
    }
}

#[test]
fn a_server_that_cannot_be_used_is_told_with_what_to_do() {
    let world = World::new();
    for (address, expected) in [
        ("nats://ann:s3cret@127.0.0.1:4222", "relay.credentials_file"),
        ("https://relay.example", "nats://HOST:PORT"),
        // Nobody listens on port 1.
        ("nats://127.0.0.1:1", "127.0.0.1:1"),
    ] {
        let refused = world.run(&["relay", "init", address]);
        assert!(refused.code == 1 && refused.err.contains(expected), "{address}: {}", refused.err);
        assert!(!refused.err.contains("s3cret") && !world.log().contains("s3cret"), "{}", refused.err);
    }
    // Nothing is left of it.
    world.ok(&["relay", "init", world.path("team").to_str().unwrap()]);
}

/// What is wrong, as `relay status` says it.
fn problems(world: &World) -> String {
    status(world)["problems"].to_string()
}

#[test]
fn a_stream_that_somebody_purged_gets_again_what_it_lost() {
    let Some(pair) = Pair::new() else { return };
    let (ann, bob) = (&pair.ann, &pair.bob);
    worked(ann, 1, SHARED, SAID);
    worked(bob, 5, "/srv/own", "the dugong is mine");
    ann.ok(&["relay", "share", SHARED, "--yes"]);
    bob.ok(&["relay", "share", "/srv/own", "--yes"]);
    arrives(bob, "wombat cache", &id(1));
    arrives(ann, "dugong", &id(5));
    let names = ask(&pair.server, "$JS.API.STREAM.NAMES", &serde_json::json!({}));
    let frames = list(&names["streams"]).into_iter().map(|name| text(&name)).find(|name| name.ends_with("_FRAMES"));
    let purged = ask(&pair.server, &format!("$JS.API.STREAM.PURGE.{}", frames.unwrap()), &serde_json::json!({}));
    assert_eq!(purged["success"], true, "{purged}");

    worked(ann, 4, SHARED, "the bilby index is next");
    arrives(bob, "bilby index", &id(4));
    worked(bob, 6, "/srv/own", "the potoroo too");
    arrives(ann, "potoroo", &id(6));
    // One who joins now has all of it.
    let carl = World::new();
    signs_in(&carl);
    carl.ok(&["relay", "join", &text(&ann.json(&["relay", "invite"])["invitation"]), "--name", "Carl"]);
    for (query, number) in [("wombat cache", 1), ("bilby index", 4), ("dugong", 5), ("potoroo", 6)] {
        arrives(&carl, query, &id(number));
    }
    for world in [ann, bob, &carl] {
        assert_eq!(settled(world)["problems"], Value::Array(Vec::new()));
    }
}

#[test]
fn a_server_that_hangs_is_told_and_gone_on_with_when_it_answers_again() {
    use rustix::process::{Pid, Signal, kill_process};
    let Some(pair) = Pair::new() else { return };
    worked(&pair.ann, 1, SHARED, SAID);
    pair.ann.ok(&["relay", "share", SHARED, "--yes"]);
    arrives(&pair.bob, "wombat cache", &id(1));
    let server = pair.server.id().and_then(|id| Pid::from_raw(id.try_into().unwrap())).unwrap();
    kill_process(server, Signal::STOP).unwrap();
    worked(&pair.ann, 4, SHARED, "the bilby index is next");
    let is_told = || status(&pair.ann)["connected"] == false && problems(&pair.ann).contains("timed out");
    let was_told = wait(is_told);
    let told = status(&pair.ann);
    kill_process(server, Signal::CONT).unwrap();
    assert!(was_told, "{told}");
    arrives(&pair.bob, "bilby index", &id(4));
    assert_eq!(settled(&pair.ann)["problems"], Value::Array(Vec::new()));
}

#[test]
fn a_server_without_room_is_told_and_gone_on_with_when_there_is_some() {
    let room = |bytes: &str| format!("jetstream {{ store_dir: \"STORE\", max_file_store: {bytes} }}");
    let Some(mut pair) = Pair::with(&room("200KB")) else { return };
    // Hard to compress.
    let mut random = 7_u64;
    let mut noise = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!("{:016x}", random ^ random >> 29)
    };
    let words: Vec<String> = (0..40_000).map(|_| noise()).collect();
    let mut transcript = pair.ann.transcript("-srv-quokkaville", &id(1)).in_directory(SHARED);
    transcript.prompt(SAID).reply(&words.join(" "));
    pair.ann.close(&id(1));
    pair.ann.ok(&["relay", "share", SHARED, "--yes"]);
    let is_told = || problems(&pair.ann).contains("resource") || problems(&pair.ann).contains("space");
    assert!(wait(is_told), "{}\n{}", status(&pair.ann), pair.server.log());
    assert_eq!(pair.bob.found("wombat cache"), [] as [String; 0]);

    let path = pair.ann.path("server/server.conf");
    let configuration = std::fs::read_to_string(&path).unwrap().replace("200KB", "200MB");
    std::fs::write(&path, configuration).unwrap();
    pair.server.end();
    pair.server.begin().unwrap();
    arrives(&pair.bob, "wombat cache", &id(1));
    assert_eq!(settled(&pair.ann)["problems"], Value::Array(Vec::new()));
}
