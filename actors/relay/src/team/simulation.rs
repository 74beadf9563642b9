//! Seeded histories of several homes at a relay that loses, repeats, delays and reorders messages and is set back to
//! earlier states, while members crash at any step. Finally all homes must agree.
//!
//! `SIM_SEED=7` repeats one history, `SIM_SEEDS=1000` runs so many.

mod failures;
mod home;
mod sea;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use baton_conversation::record::SessionId;
use baton_sharing::form;

use crate::keys::Keys;
use crate::record::Record;
use home::Home;
use sea::{Chance, Lossy, Sea};

/// Histories in a normal run.
const SEEDS: u64 = 12;
/// Rounds after which everything must be at rest.
const MOST_ROUNDS: usize = 60;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn any_loss_repetition_delay_and_crash_comes_to_the_same_everywhere() {
    let seeds = match number("SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("SIM_SEEDS").unwrap_or(SEEDS),
    };
    let next = Mutex::new(seeds);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                while let Some(seed) = { next.lock().unwrap().next() } {
                    let history = std::panic::AssertUnwindSafe(|| runtime.block_on(history(seed)));
                    if let Err(panic) = std::panic::catch_unwind(history) {
                        // For whoever reads the output: the panic itself does not say it.
                        #[expect(clippy::print_stderr, reason = "which history it was")]
                        {
                            eprintln!("again: SIM_SEED={seed}");
                        }
                        std::panic::resume_unwind(panic);
                    }
                }
            });
        }
    });
}

/// The members of a team; the first one began it.
fn homes(count: usize, sea: &Arc<Mutex<Sea>>, seed: u64) -> Vec<Home> {
    let (first, ids) = (Keys::begin_team().unwrap(), Arc::new(AtomicU64::new(1)));
    (0..count)
        .map(|at| {
            let keys = if at == 0 { first.clone() } else { Keys::generate(first.team.clone()).unwrap() };
            let own = keys.team.writer_name(&keys.writer());
            let relay = Lossy::new(own, sea.clone(), ids.clone(), seed ^ (at as u64) << 32);
            Home::new(&format!("member{at}"), keys, relay)
        })
        .collect()
}

/// A notice that gives new keys is repeated as it was: sealed by the keys that whoever was away has.
#[tokio::test]
async fn new_keys_that_a_relay_has_lost_reach_who_was_away() {
    let sea = Arc::new(Mutex::new(Sea::default()));
    sea.lock().unwrap().is_calm = true;
    let mut homes = homes(3, &sea, 0);
    for home in &mut homes {
        home.calm_round().await;
    }
    let kept = sea.lock().unwrap().clone();
    for home in &mut homes {
        home.calm_round().await;
    }
    let gone = homes.pop().unwrap();
    homes[0].remove(&gone.keys.writer()).await;
    homes[0].calm_round().await;
    *sea.lock().unwrap() = kept;
    let mut chance = Chance::new(0);
    homes[0].begin(&mut chance).await;
    for _ in 0..3 {
        for home in &mut homes {
            home.calm_round().await;
        }
    }
    let epochs: Vec<u32> = homes.iter().map(Home::epoch).collect();
    assert_eq!(epochs, [2, 2]);
    check(&homes, &sea.lock().unwrap());
}

async fn history(seed: u64) {
    let mut chance = Chance::new(seed);
    let sea = Arc::new(Mutex::new(Sea::default()));
    let count = 2 + chance.below(3);
    let mut homes = homes(count, &sea, seed);
    let is_set_back = seed.is_multiple_of(4);
    let mut kept = None;
    for _ in 0..30 + chance.below(40) {
        let at = chance.below(count);
        match chance.below(12) {
            0..=2 => homes[at].begin(&mut chance).await,
            3..=5 => homes[at].go_on(&mut chance).await,
            6 => homes[at].forget(&mut chance).await,
            7 => homes[at].crash().await,
            8 if is_set_back && kept.is_none() => kept = Some(sea.lock().unwrap().clone()),
            9 if is_set_back && chance.percent(30) => {
                if let Some(kept) = kept.take() {
                    *sea.lock().unwrap() = kept;
                }
            }
            _ => homes[at].round(&mut chance).await,
        }
    }
    sea.lock().unwrap().is_calm = true;
    let mut before = 0;
    let mut rounds = 0;
    loop {
        for home in &mut homes {
            home.calm_round().await;
        }
        let now = sea.lock().unwrap().changes;
        let is_quiet = homes.iter().all(Home::is_quiet);
        if now == before && is_quiet {
            break;
        }
        before = now;
        rounds += 1;
        let waiting: Vec<String> = homes.iter().map(Home::told).collect();
        assert!(rounds < MOST_ROUNDS, "it does not come to rest: {waiting:#?}");
    }
    check(&homes, &sea.lock().unwrap());
}

fn check(homes: &[Home], sea: &Sea) {
    let live: BTreeMap<SessionId, usize> =
        homes.iter().enumerate().flat_map(|(at, home)| home.live().into_iter().map(move |id| (id, at))).collect();
    for (at, home) in homes.iter().enumerate() {
        let others = home.team.others().now();
        let shown: BTreeSet<&SessionId> = others.iter().map(|(id, _)| id).collect();
        let expected: BTreeSet<&SessionId> = live.iter().filter(|(_, by)| **by != at).map(|(id, _)| id).collect();
        let missing = expected.difference(&shown).next();
        let about = missing.map(|id| {
            let writer = homes[live[*id]].keys.writer();
            let of = |home: &Home| {
                let state = home.team.state();
                let writer = state.writers.get(&writer)?;
                let session =
                    writer.sessions.get(*id).map(|it| (it.sequence, it.through, it.epoch, it.state.episode.is_some()));
                Some((session, writer.forgotten.get(*id).copied(), writer.notices, writer.begun.clone()))
            };
            (id, of(home), of(&homes[live[*id]]), sea.about(&homes[live[*id]].keys, id))
        });
        assert_eq!(shown, expected, "home {at} shows other sessions: {about:?} {}", home.told());
        for (id, by) in &live {
            let writer = homes[*by].keys.writer();
            let of = |home: &Home| home.team.state().writers[&writer].sessions[id].clone();
            let (origin, here) = (of(&homes[*by]), of(home));
            assert!(here.agrees && origin.agrees, "{id} does not come to what its writer has in home {at}");
            assert_eq!(form::hash(id, &here.state), form::hash(id, &origin.state), "{id} in home {at}");
            let episode = here.state.episode.as_ref().unwrap();
            assert_eq!(Some(episode.uuid), homes[*by].episode(id), "{id} in home {at}");
            if *by != at {
                // Its conversation is whole.
                let (manifest, _) = home.chunks.read(id, &episode.manifest).unwrap();
                assert_eq!(manifest.items, episode.items);
            }
        }
        for writer in homes.iter().map(|home| home.keys.writer()) {
            let lines = Record::new(&home.team.folder, &writer).read().unwrap();
            let mut reached: BTreeMap<&str, u64> = BTreeMap::new();
            for line in lines.iter().filter(|line| line.sequence > 0) {
                let before = reached.insert(&line.stream, line.sequence).unwrap_or_default();
                assert!(line.sequence > before, "message {} was recorded after {before} in home {at}", line.sequence);
                if let Some(batch) = &line.batch {
                    assert!(live.contains_key(&batch.session), "{} was forgotten: home {at}", batch.session);
                }
            }
        }
    }
    // Every session has its key, and nothing else has one.
    let keys: BTreeSet<_> = sea.names().collect();
    let expected: BTreeSet<_> = live
        .iter()
        .map(|(id, by)| {
            let keys = &homes[*by].keys;
            keys.team.key_name(keys.team.session_name(&keys.writer(), id))
        })
        .collect();
    assert_eq!(keys, expected);
}
