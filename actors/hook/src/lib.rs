//! An agent's hook: reports one event to the daemon, prints context for the agent, and ends in time.
//!
//! `baton-hook` and `baton hook` run this crate. It guarantees the agent three things, whatever standard input, the
//! daemon or the disk do: it ends within its budget, it exits with 0, and it prints nothing but its own JSON, which
//! gives context and never allows or denies anything. A signal
//! that the daemon does not take in time is written to the spool under the same id. Of an event's input it reads only
//! ids, names and paths.
//!
//! One thread does the work; the [`watchdog`] takes over if it is late.
//!
//! # Decisions
//!
//! - `baton-hook` is a program of the package `baton`, so that one `cargo install` brings both programs, and links this
//!   crate alone: no async runtime, argument parser or logging. An agent waits for it at each event.

mod event;
mod exchange;
mod file_limit;
mod input;
mod output;
mod spool;
mod starter;
mod watchdog;

use std::ffi::OsString;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use baton_home::environment::Environment;
use baton_home::hooks::Hooks;
use baton_home::trust;
use baton_protocol::{HookParams, OWN_CHILD, SignalKind, Spooled};

use event::Event;
use exchange::NotTaken;
use output::Output;
use watchdog::{Call, Phase, SharedCall};

/// The option with the name of the agent that calls.
const AGENT: &str = "--agent";
/// Size of one read from standard input.
const PIECE_BYTES: usize = 64 * 1024;
/// Pause between two reads of a non-blocking standard input.
const LOOK: Duration = Duration::from_millis(1);

/// Handles one event, and returns when the process may exit with 0. `arguments` are those of the command line,
/// `[--agent NAME] [EVENT]`, and `started` the time at which the process began.
pub fn run(arguments: impl IntoIterator<Item = OsString>, started: Instant) {
    // Baton's own child processes are not user sessions.
    if std::env::var_os(OWN_CHILD).is_some() {
        return;
    }
    let Ok(environment) = Environment::read() else { return };
    let mut words = arguments.into_iter().map_while(|word| word.into_string().ok()).peekable();
    let agent = words.next_if(|word| word == AGENT).and_then(|_| words.next());
    let shared = Arc::new(SharedCall::new(Call {
        phase: Phase::Starting,
        event: words.next().as_deref().map(Event::parse),
        output: agent.as_deref().and_then(Output::for_agent),
        id: unique(),
        at: SystemTime::now(),
        started,
        read_at: None,
        spool_in: None,
        timeout: None,
    }));
    // Without the watchdog the time limit cannot be kept.
    if !shared.start_watchdog() {
        return;
    }
    // A home that others can write to is not trusted: write nothing and connect to nothing.
    if trust::check_home(&environment.home).is_err() {
        return;
    }
    let hooks = Hooks::read(&environment.home);
    shared.change(|call| {
        call.timeout = hooks.timeout;
        // Disabled hooks are counted if a daemon runs, and have no other effect.
        call.spool_in = hooks.enabled.then(|| environment.home.clone());
        call.phase = Phase::Reading(Box::default());
    });
    read(&shared);
    let (event, params) = shared.params();
    if event.is_untyped {
        return;
    }
    let reported = exchange::report(&environment, &hooks, &params);
    let took = started.elapsed();
    shared.change(|call| call.phase = Phase::Ending);
    match reported {
        Ok((link, answer)) => {
            if let Some(context) = answer.context.filter(|_| event.reaches_agent()) {
                output::print(event.output, event.agent_event_name(), &context);
            }
            link.report_duration(&event, took);
        }
        Err(why) if hooks.enabled => {
            spool_signal(&environment.home, why, took, params);
            // A daemon needs room for at least one byte in a file.
            if why == NotTaken::Absent && event.kind == SignalKind::SessionStart && file_limit::allows(1) {
                starter::start(&environment);
            }
        }
        Err(_) => {}
    }
}

/// Reads one JSON value from standard input into the shared call, or as much of it as arrives.
fn read(shared: &SharedCall) {
    let mut input = io::stdin().lock();
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let count = match input.read(&mut piece) {
            Ok(0) => return,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                std::thread::sleep(LOOK);
                continue;
            }
            Err(_) => return,
        };
        let is_whole = shared.change(|call| match &mut call.phase {
            Phase::Reading(input) => input.push(&piece[..count]),
            _ => true,
        });
        if is_whole {
            return;
        }
    }
}

/// Writes a signal that no daemon took to the spool. An error is ignored: nothing more can be done.
fn spool_signal(home: &Path, why: NotTaken, took: Duration, hook: HookParams) {
    let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
    let hook = HookParams { wait_ms: 0, ..hook };
    let _ = spool::store(home, Spooled { v: 1, why: why.as_str().to_owned(), took_us, hook });
}

/// Returns a unique id of 128 bits, keyed by the system's randomness.
fn unique() -> String {
    let keyed = RandomState::new();
    let half = |number: u8| {
        let mut hasher = keyed.build_hasher();
        hasher.write_u8(number);
        hasher.write_u32(std::process::id());
        hasher.write_u128(UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos()));
        hasher.finish()
    };
    format!("{:016x}{:016x}", half(0), half(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_has_an_id_of_its_own() {
        let ids: std::collections::BTreeSet<String> = (0..1000).map(|_| unique()).collect();
        assert_eq!(ids.len(), 1000);
        assert!(ids.iter().all(|id| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())));
    }
}
