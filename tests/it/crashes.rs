//! kill -9 in the middle of work: what was acknowledged is still there, and nothing is duplicated.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use crate::record::{Log, memory};
use crate::world::{World, copy, id, text, wait};

const SESSIONS: u32 = 750;
const ROUNDS: u32 = 5;

fn generate(world: &World) {
    for number in 0..SESSIONS {
        let transcript = world.transcript(&format!("-work-{}", number % 7), &id(number));
        let mut transcript = transcript.minutes_ago(60 + i64::from(number));
        let mut lines = String::new();
        for turn in 0..4 {
            let call = format!("toolu_{number}_{turn}");
            let input = serde_json::json!({"command": format!("cargo test part{turn}")});
            for record in [
                transcript.prompt_record(&format!("what of subject{number} in turn {turn}?")),
                transcript.call_record(&call, "Bash", input),
                transcript.result_record(&call, "test result: ok. 12 passed; 0 failed", false),
                transcript.reply_record(&format!("The answer{number}x{turn} is in `src/part{turn}.rs`.")),
            ] {
                lines.push_str(&format!("{record}\n"));
            }
        }
        transcript.write(lines.as_bytes());
    }
}

/// Size of the event log in bytes.
fn log_bytes(home: &Path) -> u64 {
    let files = std::fs::read_dir(home.join("log/segments")).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
}

/// The current episode of every session, from the log of a stopped daemon.
fn episodes(home: &Path) -> BTreeMap<String, String> {
    let states = Log::read(home).states().into_iter();
    states.filter_map(|(id, state)| Some((id, state.episode?.uuid.to_string()))).collect()
}

/// Number of session documents in the memory, by session.
fn episode_lines(lines: &[String]) -> BTreeMap<String, usize> {
    let mut count = BTreeMap::new();
    for line in lines.iter().filter(|line| line.contains("kind=session")) {
        let session = line.split('"').nth(1).unwrap_or_default().to_owned();
        *count.entry(session).or_default() += 1;
    }
    count
}

#[test]
fn what_was_acknowledged_survives_kill_9_and_nothing_is_there_twice() {
    let world = World::new();
    generate(&world);
    let acknowledged: Mutex<BTreeMap<String, String>> = Mutex::default();
    let mut in_the_middle = 0;
    for round in 0..ROUNDS {
        world.ok(&["daemon"]);
        let killed = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for closer in 0..3 {
                let (world, acknowledged, killed) = (&world, &acknowledged, &killed);
                scope.spawn(move || {
                    // Oldest first, opposite to the backfill, so that closes also meet unread sessions.
                    let mut number = SESSIONS - 1 - closer - round * 20;
                    while !killed.load(Ordering::SeqCst) && number > 3 {
                        let ran = world.run(&["close", &id(number), "--json"]);
                        if ran.code == 0 {
                            let closed: Value = ran.json();
                            acknowledged.lock().unwrap().insert(id(number), text(&closed["episode_uuid"]));
                        }
                        number -= 3;
                    }
                });
            }
            // The first rounds kill the daemon when the log has grown by some thirty sessions, however many were closed
            // by then; the later ones after a few more acknowledged closes.
            let logged = u64::from(round + 1) * 70_000;
            let enough = acknowledged.lock().unwrap().len() + 3;
            let due = || match round {
                0..3 => log_bytes(world.home()) >= logged,
                _ => acknowledged.lock().unwrap().len() >= enough,
            };
            assert!(wait(due), "{}", world.log());
            // A closer may start a new daemon as soon as the old one is dead; the kill after this scope ends that one.
            killed.store(true, Ordering::SeqCst);
            world.kill();
        });
        world.kill();
        let acknowledged = acknowledged.lock().unwrap();
        let durable = episodes(world.home());
        in_the_middle += u32::from(durable.len() < SESSIONS as usize);
        for (session, uuid) in acknowledged.iter() {
            assert_eq!(durable.get(session), Some(uuid), "{session} was acknowledged before kill {round}");
        }
    }

    assert!(in_the_middle > 0, "every kill came when all was done");

    let found = world.search("subject7");
    assert_eq!(found["freshness"]["pending"], 0, "{found}");
    for (session, uuid) in acknowledged.lock().unwrap().iter() {
        assert_eq!(world.show(session)["episode"]["uuid"], **uuid, "{session}");
    }
    let rows = world.sessions();
    assert_eq!(rows.len(), SESSIONS as usize);
    for row in &rows {
        assert_eq!((&row["state"], &row["message_count"]), (&"indexed".into(), &8.into()), "{row}");
    }
    for number in [0, 1, SESSIONS / 2, SESSIONS - 1] {
        assert_eq!(world.found(&format!("answer{number}x3"))[0], id(number));
    }
    world.stop();

    let log = Log::of(&world);
    let mut uuids: Vec<_> = log.states().values().map(|state| state.episode.as_ref().unwrap().uuid).collect();
    uuids.sort();
    uuids.dedup();
    assert_eq!(uuids.len(), SESSIONS as usize);
    let kept = memory(world.home());
    let per_session = episode_lines(&kept);
    assert_eq!(per_session.len(), SESSIONS as usize);
    assert!(per_session.values().all(|count| *count == 1), "{per_session:?}");

    // The memory equals one that is built from the log alone.
    let mut rebuilt = World::new();
    copy(world.home(), rebuilt.home());
    std::fs::remove_dir_all(rebuilt.home().join("memory")).unwrap();
    make_private(rebuilt.home());
    rebuilt.set("CLAUDE_CONFIG_DIR", world.config());
    rebuilt.search("subject7");
    rebuilt.stop();
    assert_eq!(memory(rebuilt.home()), kept);
}

fn make_private(home: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(home, PermissionsExt::from_mode(0o700)).unwrap();
}

#[test]
fn a_daemon_killed_while_it_starts_is_followed_by_one_that_works() {
    let world = World::new();
    for number in 0..20 {
        world.transcript("-work-one", &id(number)).prompt(&format!("the stubborn badger{number}"));
    }
    for round in 0..8 {
        let mut client = world.spawn(&["search", "badger1", "--json"]);
        // Kills as soon as there is a process, and a little later in each round.
        assert!(wait(|| world.daemon().is_some() || client.try_wait().unwrap().is_some()));
        let lines = world.log().lines().count();
        wait(|| world.log().lines().count() >= lines + round || client.try_wait().unwrap().is_some());
        world.kill();
        let _ = client.wait();
    }
    assert_eq!(world.found("badger7"), [id(7)]);
    assert_eq!(world.sessions().len(), 20);
    world.stop();
    Log::of(&world);
    let per_session = episode_lines(&memory(world.home()));
    assert!(per_session.len() == 20 && per_session.values().all(|count| *count == 1), "{per_session:?}");
}

#[test]
fn appends_while_no_daemon_lives_are_found_by_the_next() {
    let world = World::new();
    let mut transcript = world.transcript("-work-one", &id(1));
    for round in 0..5 {
        transcript.prompt(&format!("remember{round}"));
        let before = world.close(&id(1));
        transcript.reply(&format!("remembered{round}"));
        world.kill();
        transcript.prompt(&format!("again{round}"));
        assert_eq!(world.found(&format!("again{round}")), [id(1)]);
        assert_eq!(world.found(&format!("remembered{round}")), [id(1)]);
        assert_ne!(world.show(&id(1))["episode_uuid"], *before);
    }
    assert_eq!(world.show(&id(1))["message_count"], 15);
    world.stop();
    assert_eq!(episode_lines(&memory(world.home())).into_values().collect::<Vec<_>>(), [1]);
    Log::of(&world);
}

#[test]
fn what_killed_writers_have_left_is_gone_when_the_daemon_has_started() {
    let world = World::new();
    world.transcript("-work-one", &id(1)).prompt("a marmot").reply("yes");
    world.close(&id(1));
    world.kill();
    let left = [
        "config.json.tmp",
        "config.last-good.json.tmp",
        "session_states.json.tmp",
        "hook_stats.json.tmp",
        "daemon.socket.tmp",
        "log/forgotten-records.json.tmp",
        "log/forgotten.json.tmp",
        "log/imported.json.tmp",
        "log/probe.tmp",
        "vault-register/0123.jsonl.tmp",
        "memory/.tmpAb12Cd",
        "memory/probe.tmp",
        "verify.tmp/in-use/words",
    ];
    // The command line writes the first without the home's lock; the others are not Baton's.
    let others = ["probe.json.tmp", "mine.txt", "memory.tmpl"];
    for name in left.iter().chain(&others) {
        let path = world.home().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "a marmot").unwrap();
    }
    let written = std::fs::File::open(world.home().join(others[0])).unwrap();
    written.lock().unwrap();
    world.ok(&["daemon"]);
    let is_there = |names: &[&str]| -> Vec<String> {
        names.iter().filter(|name| world.home().join(name).exists()).map(|name| (*name).to_owned()).collect()
    };
    // The daemon writes the first one itself after a moment.
    assert!(wait(|| is_there(&left).is_empty()), "{:?}", is_there(&left));
    assert_eq!(is_there(&others), others);
    assert_eq!(world.found("marmot"), [id(1)]);
}
