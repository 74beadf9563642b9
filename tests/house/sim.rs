//! Seeded worlds over the real actors: transcripts grow, are rewritten and deleted, clients close, search and switch at
//! once, the log refuses, panics and loses answers, and the daemon is killed at any moment. Then the faults stop, and
//! the invariants are checked.
//!
//! `SIM_SEED=7 cargo test --test house worlds` repeats one world. The seed decides what is done, but not the order in
//! which the threads run.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use baton_conversation::record::SessionId;
use baton_events::session::{Effect, Phase, Policy};
use serde_json::json;
use tokio::runtime::{Builder, Runtime};

use crate::client::Client;
use crate::faults::{Fault, Faulty};
use crate::held;
use crate::seed::Seed;
use crate::story::Story;
use crate::world::{DEADLINE, House, World};

/// Worlds of a normal run.
const WORLDS: u64 = 12;
/// Worlds that live at once.
const AT_ONCE: usize = 4;
/// Sessions of a world.
const SESSIONS: usize = 5;
/// Number of changes to files during one daemon's life.
const DEEDS: usize = 25;
/// Number of concurrent clients, and number of calls of each.
const CLIENTS: usize = 3;
const CALLS: usize = 8;

/// A close or hook that was answered with success: the session, the command, the episode.
pub(crate) struct Acknowledged {
    pub(crate) session: SessionId,
    pub(crate) command: String,
    pub(crate) episode: Option<String>,
    /// If the answer said that nothing is written: true if that was correct.
    pub(crate) unwritten: Option<bool>,
}

type Answers = Arc<Mutex<Vec<Acknowledged>>>;

#[test]
fn worlds_in_which_everything_happens_come_to_rest_with_nothing_lost() {
    let one = std::env::var("SIM_SEED").ok().map(|seed| seed.parse().expect("SIM_SEED is a number"));
    let seeds = one.map_or(1..WORLDS + 1, |seed: u64| seed..seed + 1);
    let seeds = Mutex::new(seeds);
    // A world mostly waits.
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(seed) = { seeds.lock().unwrap().next() } {
                    let lived = std::panic::catch_unwind(|| live(seed));
                    assert!(lived.is_ok(), "the world broke: SIM_SEED={seed} cargo test --test house worlds");
                }
            });
        }
    });
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

fn live(seed: u64) {
    let mut seed = Seed::new(seed);
    let world = World::new();
    let mut stories: Vec<Story> = (0..SESSIONS).map(|number| world.story(&format!("s{number}"))).collect();
    let (clients, answers) = (runtime(), Answers::default());
    let lives = 1 + seed.below(3);
    let mut home = world.path("home-0");
    for life in 0..lives {
        // Each daemon has its own access to the log, which ends with it.
        let journal = Faulty::new(world.journal.log().clone());
        misbehave(&journal, seed.fork());
        let daemon = runtime();
        let house = daemon.block_on(world.start_with(&home, journal.clone(), world.clock.clone()));
        let calling: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let (home, answers, seed) = (home.clone(), answers.clone(), seed.fork());
                clients.spawn(async move { call(&home, &format!("{life}-{client}"), seed, &answers).await })
            })
            .collect();
        for _ in 0..DEEDS {
            happen(&world, &mut stories, &mut seed);
            clients.block_on(async { house.parts().supervisor.settle().await }).ok();
        }
        if seed.one_in(2) {
            clients.block_on(async {
                for client in calling {
                    client.await.unwrap();
                }
            });
        }
        // From here on this daemon cannot append to the log; what it writes to other files does not matter.
        baton_journal::Journal::close(&*journal);
        let next = world.path(&format!("home-{}", life + 1));
        copy(&home, &next);
        drop(house);
        daemon.shutdown_background();
        home = next;
    }
    stories.iter_mut().for_each(Story::finish_line);
    let journal = Faulty::new(world.journal.log().clone());
    let daemon = runtime();
    daemon.block_on(async {
        let house = world.start_with(&home, journal.clone(), world.clock.clone()).await;
        come_to_rest(&world, &house, &stories).await;
        held::log(&world, &answers.lock().unwrap());
        held::files(&world, &stories);
        let dump = held::memory(&world, &house);
        house.stop().await;
        // A memory that is rebuilt from the log and the conversations is the same.
        std::fs::remove_dir_all(home.join("memory")).unwrap();
        let journal = Faulty::new(world.journal.log().clone());
        let house = world.start_with(&home, journal, world.clock.clone()).await;
        let tail = house.parts().journal.tail().position;
        house.parts().indexer.caught_up(tail, DEADLINE).await.unwrap();
        assert_eq!(held::memory(&world, &house), dump, "I-5: a memory begun anew");
        house.stop().await;
    });
}

/// Makes the log fail now and then, and refuse everything for a while.
fn misbehave(journal: &Faulty, mut seed: Seed) {
    let mut refusing = 0;
    journal.on_append(move |_, _| {
        if refusing > 0 {
            refusing -= 1;
            return Some(Fault::Refuse);
        }
        match seed.below(200) {
            0 => Some(Fault::Panic),
            1 => Some(Fault::PanicAfter),
            2 | 3 => Some(Fault::Conflict),
            4 | 5 => Some(Fault::LoseAnswer),
            6 => {
                refusing = seed.below(10);
                Some(Fault::Refuse)
            }
            7..30 => Some(Fault::Late),
            _ => None,
        }
    });
}

/// Changes one transcript, or advances the clock.
fn happen(world: &World, stories: &mut [Story], seed: &mut Seed) {
    let number = seed.index(stories.len());
    let (story, word) = (&mut stories[number], seed.below(1_000));
    match seed.below(20) {
        0 if story.is_there() => story.rewrite(&format!("from the beginning: word{word}")),
        1 if story.is_there() => story.delete(),
        2..5 => world.clock.advance(Duration::from_secs(1 + seed.below(40))),
        5 => world.clock.advance(Duration::from_secs(1_900)),
        6..9 => {
            story.set_time(baton_base::clock::Clock::now(&*world.clock));
            story.say_half(&format!("half a line, then word{word}"));
        }
        _ => {
            story.set_time(baton_base::clock::Clock::now(&*world.clock));
            story.say(&format!("what of word{word}?"));
        }
    }
}

/// The calls of one client during one daemon's life. Each is answered, or its connection breaks; none waits for ever.
async fn call(home: &Path, name: &str, mut seed: Seed, answers: &Answers) {
    let Ok(mut client) = Client::connect(home).await else { return };
    for number in 0..CALLS {
        let session = SessionId::new(&format!("s{}", seed.index(SESSIONS))).unwrap();
        let answered = match seed.below(15) {
            0..6 => {
                let command = format!("{name}-{number}");
                let params = json!({"session": session.as_str(), "command_id": command, "deadline_ms": 5_000});
                let before = written(home, &session);
                let closed = client.call("close", params).await;
                if let Ok(closed) = &closed
                    && closed["status"] == "success"
                {
                    let episode = closed["episode_uuid"].as_str().map(str::to_owned);
                    let says_nothing =
                        closed["message"].as_str().is_some_and(|said| said.starts_with("nothing is written"));
                    // True if a file that existed before the call still begins with what it contained then.
                    let all_the_time = || {
                        before.is_some_and(|before| written(home, &session).is_some_and(|now| now.starts_with(&before)))
                    };
                    let unwritten = says_nothing.then(|| !all_the_time());
                    answers.lock().unwrap().push(Acknowledged { session, command, episode, unwritten });
                }
                closed
            }
            6..9 => client.call("search", json!({"query": "word"})).await,
            9 => client.call("untrack", json!({"session": session.as_str()})).await,
            10 => client.call("track", json!({"session": session.as_str()})).await,
            11..14 => {
                let command = format!("{name}-{number}");
                let hook = hook(home, &session, &command, &mut seed);
                let told = client.call("hook", hook.clone()).await;
                // A hook without an answer leaves its signal in the spool, so it arrives again.
                let told = if told.is_err() || seed.one_in(4) { client.call("hook", hook).await } else { told };
                if told.as_ref().is_ok_and(|told| told["status"] == "recorded" || told["status"] == "known") {
                    answers.lock().unwrap().push(Acknowledged { session, command, episode: None, unwritten: None });
                }
                told
            }
            _ => client.call("status", json!({})).await,
        };
        // The daemon was killed and answers no more calls.
        if answered.is_err_and(|error| error.contains("connection") || error.contains("pipe")) {
            return;
        }
    }
}

/// The contents of a session's file, if it has a whole line. A file that was emptied meanwhile, or is another, does not
/// begin with them.
fn written(home: &Path, session: &SessionId) -> Option<Vec<u8>> {
    // Two files may begin with the same half of a line, but not with the same whole line.
    std::fs::read(transcript(home, session)).ok().filter(|there| there.contains(&b'\n'))
}

fn transcript(home: &Path, session: &SessionId) -> PathBuf {
    home.parent().unwrap().join("claude/projects/-srv-house").join(format!("{session}.jsonl"))
}

/// A hook's signal: the agent has come, left, or continues after a compaction.
fn hook(home: &Path, session: &SessionId, id: &str, seed: &mut Seed) -> serde_json::Value {
    let told = [
        ("SessionEnd", "clear"),
        ("SessionEnd", "prompt_input_exit"),
        ("SessionEnd", "other"),
        ("SessionStart", "resume"),
        ("PreCompact", "auto"),
        ("PostCompact", "auto"),
    ];
    let (event, detail) = told[seed.index(told.len())];
    let transcript = transcript(home, session);
    let at = crate::world::NOW.0 + i64::try_from(seed.below(4_000)).unwrap() * 1_000;
    json!({
        "id": id, "event": event, "detail": detail, "session_id": session.as_str(), "at": at, "cwd": "/srv/house",
        "transcript_path": transcript, "wait_ms": 100,
    })
}

/// Waits, without further faults, until everything written is indexed and nothing is owed.
async fn come_to_rest(world: &World, house: &House, stories: &[Story]) {
    let settling = async {
        loop {
            for story in stories.iter().filter(|story| story.is_there()) {
                let tracked = house.call("track", json!({"session": story.id().as_str()})).await;
                if tracked.is_ok_and(|tracked| tracked["status"] == "success") {
                    house.close(story.id()).await;
                }
            }
            house.call("search", json!({"query": "word", "wait": true})).await.unwrap();
            if is_at_rest(world, house, stories) {
                return;
            }
            world.clock.advance(Duration::from_secs(61));
        }
    };
    let rested = tokio::time::timeout(DEADLINE, settling).await.is_ok();
    let states = || stories.iter().map(|story| (story.bytes, world.state(story.id()))).collect::<Vec<_>>();
    assert!(rested, "no rest: {}\n{:#?}", house.problems().await, states());
}

fn is_at_rest(world: &World, house: &House, stories: &[Story]) -> bool {
    let table = world.table.now();
    let read = |story: &Story| {
        let state = table.get(story.id()).map(|row| &row.state);
        match story.is_there() {
            true => state.is_some_and(|state| {
                state.phase == Phase::Indexed && state.read.offset == story.bytes && state.unindexed == 0
            }),
            false => state.is_none_or(|state| state.phase != Phase::Indexing && state.phase != Phase::Failed),
        }
    };
    let owed = |state| {
        let pending = baton_events::session::pending(state, &Policy::default());
        pending.iter().any(|effect| matches!(effect, Effect::Index(_) | Effect::Close(_)))
    };
    let (covered, problem) = house.parts().indexer.memory_state();
    stories.iter().all(read)
        && table.iter().all(|(_, row)| !owed(&row.state))
        && house.parts().degraded.now().is_empty()
        && !house.parts().outage.lasts()
        && covered == house.parts().journal.tail().position
        && problem.is_none()
}

/// Copies the home as it is at this moment, however busy its daemon is.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            copy(&source, &target);
        } else if kind.is_file() {
            // The file may be gone since it was listed.
            let _ = std::fs::copy(&source, &target);
        }
    }
}
