//! A relay on the real NATS server: two homes with real daemons, and a server that goes and comes back.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use baton_endpoint::nats::NatsServer;
use serde_json::Value;

use crate::relay::{SAID, SHARED, UNSAID, UNSHARED, arrives, contains, settled, status, worked};
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
        let (ann, bob) = (World::new(), World::new());
        let more = "http: \"127.0.0.1:-1\"\nauthorization { user: team, password: \"s3cret-pass\" }";
        let Some(server) = NatsServer::start(&ann.path("server"), more).unwrap() else {
            skipped("there is no nats-server");
            return None;
        };
        for world in [&ann, &bob] {
            std::fs::write(world.path("credentials"), "team:s3cret-pass\n").unwrap();
            let configuration = serde_json::json!({"relay": {"credentials_file": world.path("credentials")}});
            std::fs::create_dir_all(world.home()).unwrap();
            std::fs::write(world.home().join("config.json"), configuration.to_string()).unwrap();
        }
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
    assert!(wait(|| pair.bob.found("wombat cache").is_empty()), "{}", pair.bob.log());
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
