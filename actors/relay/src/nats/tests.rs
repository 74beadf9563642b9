//! Against the real server, which each test starts on a port of its own.

use std::io::Write as _;
use std::time::Duration;

use baton_endpoint::nats::NatsServer;

use super::*;
use crate::conformance;
use crate::keys::Secret;
use crate::seal::{self, Header, Kind};

fn team() -> Name {
    Name([4; 16])
}

/// A server in a folder of its own.
struct Server {
    server: NatsServer,
    folder: tempfile::TempDir,
}

impl Server {
    /// Starts a server with more lines of configuration; `None`, which is reported, where there is none.
    fn start(more: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        match NatsServer::start(folder.path(), more).unwrap() {
            Some(server) => Some(Self { server, folder }),
            None => {
                skipped("there is no nats-server");
                None
            }
        }
    }

    fn url(&self) -> String {
        self.server.url()
    }

    async fn team(&self) -> Nats {
        let url = Nats::create(&self.url(), None, team()).await.unwrap();
        Nats::open(&url, None, Some(team())).await.unwrap()
    }

    fn stores(&self, bytes: &[u8]) -> bool {
        let mut folders = vec![self.server.store()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().flatten() {
                if entry.file_type().unwrap().is_dir() {
                    folders.push(entry.path());
                } else if std::fs::read(entry.path()).unwrap().windows(bytes.len()).any(|window| window == bytes) {
                    return true;
                }
            }
        }
        false
    }
}

/// Reports that a test does not run here; `.ci/run` fails if any does.
fn skipped(reason: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(std::io::stderr(), "skipped: {test}: {reason}");
    if let Some(file) = std::env::var_os("BATON_SKIPPED") {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
        file.write_all(format!("{test}: {reason}\n").as_bytes()).unwrap();
    }
}

fn stream(stream: u8) -> Stream {
    Stream { writer: Name([1; 16]), stream: Name([stream; 16]) }
}

fn frame(of: Stream, sequence: u64, message: &[u8]) -> Vec<u8> {
    let header = Header { kind: Kind::Batch, epoch: 1, writer: of.writer, stream: of.stream, sequence };
    let signer = ed25519_dalek::SigningKey::from_bytes(&[7; 32]);
    seal::seal(&header, message, &Secret([9; 32]), &signer).unwrap()
}

/// The relay of one team on the server, opened as often as one likes, also where a runtime is running.
fn opened(url: &str, team: Name) -> Box<dyn Relay> {
    let open = Nats::open(url, None, Some(team));
    Box::new(tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(open)).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_keeps_the_contract() {
    let Some(server) = Server::start("") else { return };
    let next = std::sync::atomic::AtomicU8::new(1);
    conformance::all(|| {
        let team = Name([next.fetch_add(1, std::sync::atomic::Ordering::Relaxed); 16]);
        let server = server.url();
        let create = Nats::create(&server, None, team);
        let url = tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(create)).unwrap();
        Box::new(move || opened(&url, team))
    })
    .await;
}

#[tokio::test]
async fn only_the_relay_of_the_team_is_opened() {
    let Some(server) = Server::start("") else { return };
    let error = |opened: Result<Nats, Error>| opened.map(drop).unwrap_err().to_string();
    assert!(error(Nats::open(&server.url(), None, Some(team())).await).contains("cannot be opened"));
    let url = Nats::create(&server.url(), None, team()).await.unwrap();
    assert!(Nats::create(&url, None, team()).await.unwrap_err().to_string().contains("join"));
    assert!(error(Nats::open(&url, None, Some(Name([5; 16]))).await).contains("another team"));
    assert!(error(Nats::open(&server.url(), None, None).await).contains("does not name the team"));
    Nats::open(&url, None, None).await.unwrap();
    Nats::open(&server.url(), None, Some(team())).await.unwrap();
}

/// What is longer than a message of the server goes in parts, and all of them go with it.
#[tokio::test]
async fn what_is_too_long_for_a_message_goes_in_parts() {
    let Some(server) = Server::start("max_payload: 65536") else { return };
    let (relay, of) = (server.team().await, stream(1));
    let mut random = 1_u32;
    let mut noise = |count: usize| -> Vec<u8> {
        let next = |_| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            random.to_be_bytes()[0]
        };
        (0..count).map(next).collect()
    };
    let frames: Vec<_> = (1..=3).map(|sequence| frame(of, sequence, &noise(200_000))).collect();
    for (sequence, frame) in frames.iter().enumerate() {
        relay.publish(of, sequence as u64, frame.clone()).await.unwrap();
    }
    let object = noise(500_000);
    let slot = Slot::Object(ContentHash::of(&object));
    relay.put(slot, object.clone()).await.unwrap();
    assert!(relay.receive("").await.unwrap().frames == frames);
    assert!(relay.get(slot).await.unwrap().as_ref() == Some(&object));
    let named = relay.put(Slot::Named(Name([5; 16])), noise(65_536)).await;
    assert!(matches!(named, Err(Error::Refused(_))), "{named:?}");

    relay.purge(of).await.unwrap();
    relay.delete(slot).await.unwrap();
    let info = relay.kept.stream.get_info().await.unwrap();
    assert_eq!((info.state.messages, relay.head(of).await), (0, Ok(3)));
    assert_eq!(relay.receive("").await.unwrap().frames.len(), 0);
    let gone = relay.publish(of, 2, frames[2].clone()).await;
    assert_eq!(gone, Err(Error::Conflict { actual: 3 }));
}

/// What unseals a session is overwritten in the server's files, not only marked as deleted.
#[tokio::test]
async fn deleted_slots_and_objects_are_not_in_the_servers_files() {
    let Some(mut server) = Server::start("") else { return };
    let relay = server.team().await;
    let (key, object) = (b"kkkk-sealed-key-kkkk".to_vec(), b"oooo-sealed-object-oooo".to_vec());
    let slots = [(Slot::Named(Name([5; 16])), &key), (Slot::Object(ContentHash::of(&object)), &object)];
    for (slot, bytes) in slots {
        relay.put(slot, bytes.clone()).await.unwrap();
    }
    assert!(server.stores(&key) && server.stores(&object));
    for (slot, _) in slots {
        relay.delete(slot).await.unwrap();
    }
    server.server.end();
    assert!(!server.stores(&key) && !server.stores(&object));
}

/// Whoever waits is woken when the server goes, every call says so, and what it had is there when it is back.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_goes_is_offline_and_comes_back_with_what_it_had() {
    let Some(mut server) = Server::start("") else { return };
    let (relay, of) = (server.team().await, stream(1));
    relay.publish(of, 0, frame(of, 1, b"said")).await.unwrap();
    let cursor = relay.receive("").await.unwrap().cursor;
    let ended = async { tokio::task::block_in_place(|| server.server.end()) };
    let (woken, ()) = tokio::join!(tokio::time::timeout(Duration::from_secs(60), relay.changed(&cursor)), ended);
    assert_eq!(woken, Ok(Ok(())));
    let offline = |done: Result<(), Error>| matches!(done, Err(Error::Unavailable(_)));
    assert!(offline(relay.publish(of, 1, frame(of, 2, b"more")).await));
    assert!(offline(relay.receive(&cursor).await.map(drop)));
    assert!(offline(Nats::open(&server.url(), None, Some(team())).await.map(drop)));
    server.server.begin().unwrap();
    let relay = Nats::open(&server.url(), None, Some(team())).await.unwrap();
    relay.publish(of, 1, frame(of, 2, b"more")).await.unwrap();
    assert_eq!(relay.receive(&cursor).await.unwrap().frames.len(), 1);
}

/// Each way to sign in works, a wrong secret is refused, and no error repeats it.
#[tokio::test]
async fn a_home_signs_in_with_what_its_file_holds() {
    let nkey = "SUAAOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBZ5FE";
    let public = "UDVEU3DD4KOFECV66VIHWEZOYX4ZKR3WV27L464SIIPOU2IUI3JCYSJF";
    let users = format!("users: [{{ user: ann, password: s3cret }}, {{ nkey: {public} }}]");
    let users = format!("accounts {{ T {{ jetstream: enabled, {users} }} }}");
    for (more, right, wrong) in [
        ("authorization { token: t0ken-s3cret }", vec!["t0ken-s3cret\n"], vec!["t0ken-wr0ng", "ann:wr0ng"]),
        (users.as_str(), vec!["ann:s3cret", nkey], vec!["ann:wr0ng", "wr0ng"]),
    ] {
        let Some(server) = Server::start(more) else { return };
        let file = server.folder.path().join("credentials");
        for (number, content) in right.iter().enumerate() {
            std::fs::write(&file, content).unwrap();
            let team = Name([u8::try_from(number).unwrap(); 16]);
            let url = Nats::create(&server.url(), Some(&file), team).await.unwrap();
            Nats::open(&url, Some(&file), Some(team)).await.unwrap();
        }
        for content in wrong {
            std::fs::write(&file, content).unwrap();
            let error = Nats::create(&server.url(), Some(&file), team()).await.unwrap_err().to_string();
            assert!(error.contains("authorization") && !error.contains("wr0ng"), "{error}");
        }
        let error = Nats::create(&server.url(), None, team()).await.unwrap_err().to_string();
        assert!(error.contains("authorization"), "{error}");
    }
}

#[tokio::test]
async fn a_server_without_what_it_takes_is_told_apart() {
    let Some(server) = Server::start("max_payload: 4096") else { return };
    Nats::create(&server.url(), None, team()).await.unwrap();
    let error = Nats::open(&server.url(), None, Some(team())).await.map(drop).unwrap_err().to_string();
    assert!(error.contains("max_payload"), "{error}");
    drop(server);
    let Some(server) = Server::start("accounts { T { users: [{ user: ann, password: x }] } }\nno_auth_user: ann")
    else {
        return;
    };
    let error = Nats::create(&server.url(), None, team()).await.unwrap_err().to_string();
    assert!(error.contains("JetStream") && error.contains("baton help relay"), "{error}");
}

/// Three servers that keep three copies; the one that leads the team's streams is killed while frames are appended.
/// Nothing that was acknowledged is lost, nothing is there twice, and a reader that was on the killed one goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_loses_a_server_and_nothing_else() {
    // Each must know the others before any of them is there: ports that the system has just given.
    let reserved: Vec<_> = (0..3).map(|_| std::net::TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let routes: Vec<_> = reserved.iter().map(|it| format!("\"nats://{}\"", it.local_addr().unwrap())).collect();
    let mut servers = Vec::new();
    for (name, reserved) in ["a", "b", "c"].into_iter().zip(reserved) {
        let listen = reserved.local_addr().unwrap();
        drop(reserved);
        let cluster = format!("cluster {{ name: T, listen: \"{listen}\", routes: [{}] }}", routes.join(","));
        let Some(server) = Server::start(&format!("server_name: {name}\n{cluster}")) else { return };
        servers.push(server);
    }
    let url = servers.iter().map(Server::url).collect::<Vec<_>>().join(",");
    // The three find and elect each other first.
    let create = async || loop {
        match Nats::create(&url, None, team()).await {
            Ok(url) => break url,
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    };
    let url = tokio::time::timeout(Duration::from_secs(60), create()).await.unwrap();
    // A connection that broke is opened anew, as a team does.
    let open = async || loop {
        match Nats::open(&url, None, Some(team())).await {
            Ok(relay) => break relay,
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    };
    let (mut relay, of) = (open().await, stream(1));
    let leader = |relay: &Nats| relay.frames.cached_info().cluster.as_ref().unwrap().leader.clone().unwrap();
    assert_eq!(relay.frames.cached_info().config.num_replicas, 3);
    let killed = ["a", "b", "c"].iter().position(|name| *name == leader(&relay)).unwrap();
    let (mut sequence, mut refused) = (0, 0);
    let until = std::time::Instant::now() + Duration::from_secs(180);
    while sequence < 40 {
        assert!(std::time::Instant::now() < until, "{sequence}: {}", servers[killed].server.log());
        if sequence == 20 && refused == 0 {
            servers[killed].server.end();
        }
        match relay.publish(of, sequence, frame(of, sequence + 1, b"said")).await {
            Ok(()) => sequence += 1,
            // Its answer was lost.
            Err(Error::Conflict { actual }) => {
                assert_eq!(actual, sequence + 1);
                sequence = actual;
            }
            Err(_) => {
                refused += 1;
                relay = open().await;
            }
        }
    }
    let (mut cursor, mut sequences) = (String::new(), Vec::new());
    loop {
        let Ok(received) = relay.receive(&cursor).await else {
            assert!(std::time::Instant::now() < until, "{sequences:?}");
            relay = open().await;
            continue;
        };
        sequences.extend(received.frames.iter().map(|frame| seal::Frame::parse(frame).unwrap().header.sequence));
        cursor = received.cursor;
        if !received.more {
            break;
        }
    }
    assert_eq!(sequences, (1..=40).collect::<Vec<u64>>());
}
