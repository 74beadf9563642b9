//! Seeded worlds over the pure core: many small histories full of accidents. The invariants are checked after each
//! step.
//!
//! A world depends on nothing but its seed. `SIM_SEED=n cargo test --test sim` runs one world and prints what happened
//! in it; `SIM_SEEDS=n` sets the number of worlds; `replay-fixtures/seeds.txt` lists seeds that once failed.

mod chance;
mod folder;
mod indexer;
mod invariant;
mod log;
mod model;
mod mutant;
mod rng;
mod session;
mod store;
mod world;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use invariant::Broken;
use mutant::Mutant;
use world::World;

/// Number of worlds in a normal run.
const SEEDS: u64 = 3_000;
/// Number of worlds within which each mutant must be detected.
const SEEDS_FOR_MUTANTS: u64 = 2_000;
/// Number of last steps that a failure shows.
const SHOWN: usize = 40;

/// The result of a world: how often each event happened, or what broke and at which step.
type Outcome = Result<BTreeMap<String, u64>, (Broken, usize)>;

/// Number of accidents in a world.
fn length(seed: u64) -> usize {
    40 + (seed % 7) as usize * 40
}

/// Runs one world for at most `steps` steps. Leaves what happened in `trace`.
fn run(seed: u64, mutant: Option<Mutant>, steps: usize, trace: &mut Option<Vec<String>>) -> Outcome {
    let mut world = World::new(seed, mutant, trace.is_some());
    let mut outcome = Ok(());
    let mut step = 0;
    while step < steps && outcome.is_ok() {
        outcome = world.happen();
        step += 1;
    }
    if outcome.is_ok() {
        outcome = world.come_to_rest();
    }
    *trace = world.trace.take();
    outcome.map_err(|broken| (broken, step))?;
    let mut happened = BTreeMap::new();
    for kept in &world.log.kept {
        *happened.entry(baton_events::schema::session::encode(&kept.recorded.event).kind.to_owned()).or_default() += 1;
    }
    Ok(happened)
}

/// The smallest number of steps after which a seed fails, and what happened in them.
fn explained(seed: u64, broken: &Broken, at: usize) -> String {
    let fails = |steps: usize| run(seed, None, steps, &mut None).is_err();
    let fewest = (0..=at).find(|steps| fails(*steps)).unwrap_or(at);
    let mut trace = Some(Vec::new());
    let broken = run(seed, None, fewest, &mut trace).err().map_or_else(|| broken.clone(), |(broken, _)| broken);
    let trace = trace.unwrap_or_default();
    let shown = trace[trace.len().saturating_sub(SHOWN)..].join("\n  ");
    format!(
        "seed {seed} breaks {} after {fewest} steps (seen at {at}): {}\n  {shown}\nagain: SIM_SEED={seed} cargo test --test sim",
        broken.id, broken.what
    )
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Runs worlds on all processors; stops with an explanation at the first that fails.
fn run_all(seeds: &[u64]) -> BTreeMap<String, u64> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = || {
        let mut happened = BTreeMap::<String, u64>::new();
        while let Some(seed) =
            seeds.get(next.fetch_add(1, Ordering::Relaxed)).filter(|_| !failed.load(Ordering::Relaxed))
        {
            match run(*seed, None, length(*seed), &mut None) {
                Ok(events) => add(&mut happened, events),
                Err((broken, step)) => {
                    failed.store(true, Ordering::Relaxed);
                    return Err(explained(*seed, &broken, step));
                }
            }
        }
        Ok(happened)
    };
    let mut all = BTreeMap::new();
    for result in on_all_processors(work) {
        match result {
            Ok(events) => add(&mut all, events),
            Err(explained) => panic!("{explained}"),
        }
    }
    all
}

fn add(all: &mut BTreeMap<String, u64>, more: BTreeMap<String, u64>) {
    more.into_iter().for_each(|(kind, count)| *all.entry(kind).or_default() += count);
}

#[test]
fn many_worlds_keep_every_invariant() {
    if let Some(seed) = number("SIM_SEED") {
        let mut trace = Some(Vec::new());
        let outcome = run(seed, None, length(seed), &mut trace);
        let lines = trace.unwrap_or_default().join("\n");
        writeln!(std::io::stderr(), "{lines}\nseed {seed}: {outcome:?}").expect("stderr");
        if let Err((broken, step)) = outcome {
            panic!("{}", explained(seed, &broken, step));
        }
        return;
    }
    let seeds: Vec<u64> = (0..number("SIM_SEEDS").unwrap_or(SEEDS)).collect();
    let happened = run_all(&seeds);
    if seeds.len() >= 1_000 {
        for kind in baton_events::schema::session::KINDS {
            assert!(happened.get(kind).is_some_and(|count| *count >= 20), "{kind} hardly ever happens: {happened:?}");
        }
    }
}

#[test]
fn seeds_that_once_failed_hold() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/replay-fixtures/seeds.txt");
    let text = std::fs::read_to_string(path).expect("replay-fixtures/seeds.txt");
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let seeds: Vec<u64> = lines
        .map(|line| {
            let (seed, why) = line.split_once(' ').unwrap_or((line, ""));
            assert!(!why.trim().is_empty(), "{line}: a seed stands with a word of why");
            seed.parse().unwrap_or_else(|_| panic!("{line}: no seed"))
        })
        .collect();
    run_all(&seeds);
}

#[test]
fn every_shell_that_does_one_thing_wrong_is_found_out() {
    let find = |mutant: Mutant| {
        let fails = |seed| run(seed, Some(mutant), length(seed), &mut None).err().map(|(broken, _)| (seed, broken));
        (0..SEEDS_FOR_MUTANTS).find_map(fails)
    };
    let next = AtomicUsize::new(0);
    let work = || {
        let mut wrong = Vec::new();
        while let Some((mutant, by)) = mutant::ALL.get(next.fetch_add(1, Ordering::Relaxed)) {
            match find(*mutant) {
                Some((_, broken)) if by.contains(&broken.id) => {}
                Some((seed, broken)) => {
                    wrong.push(format!("{mutant:?} breaks {} in seed {seed}: {}", broken.id, broken.what));
                }
                None => wrong.push(format!("{mutant:?} is not found out")),
            }
        }
        wrong
    };
    let wrong: Vec<String> = on_all_processors(work).into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The results of the work, one from each processor.
fn on_all_processors<T: Send>(work: impl Fn() -> T + Sync) -> Vec<T> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(&work)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a world panicked")).collect()
    })
}
