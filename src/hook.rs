//! An agent's hook: tells the daemon of one event, prints what the agent is to be told, and ends in time.
//!
//! `baton-hook` and `baton hook` are this room. It promises the agent three things: it ends within its budget, it ends
//! well, and it prints nothing but its own JSON, whatever standard input, the daemon or the disk do. What nobody takes in
//! time is left in the spool under the same id. Of all that an agent says at an event it reads ids, names and paths only.
//!
//! One thread does the work; the [`watchdog`] takes over when it is late. Neither runtime, nor argument parser, nor logging
//! is used here, so that none is in the small binary.

mod event;
mod input;
mod room;
mod said;
mod spool;
mod starter;
mod talk;
mod watchdog;

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use baton_base::lock;
use baton_events::session::SignalKind;
use baton_protocol::{HookParams, OWN_CHILD, Spooled};

use crate::environment::{Environment, Hooks};
use event::Event;
use input::Input;
pub use spool::{lost, unreadable};
use talk::UnindexedReason;
use watchdog::{Call, Desk, Phase};

/// Bytes that are read from standard input at once.
const PIECE_BYTES: usize = 64 * 1024;
/// Between two looks at a standard input that does not wait.
const LOOK: Duration = Duration::from_millis(1);

/// Does what there is to do for one event, and returns when the process may end with 0. `event` is its name as the command
/// line gives it, `started` when the process began.
pub fn run(event: Option<String>, started: Instant) {
    // What Baton starts itself is no session of anybody.
    if std::env::var_os(OWN_CHILD).is_some() {
        return;
    }
    let Ok(environment) = Environment::read() else { return };
    let desk = Arc::new(Desk::new(Call {
        phase: Phase::Starting,
        event: event.as_deref().map(Event::of),
        id: unique(),
        at: SystemTime::now(),
        started,
        read_at: None,
        spool_in: None,
        timeout: None,
    }));
    // Without it there is no promise to be kept.
    if !desk.guard() {
        return;
    }
    // In a home that others can write to nothing is left, and nobody is believed.
    if lock::check_home(&environment.home).is_err() {
        return;
    }
    let hooks = Hooks::of(&environment.home);
    desk.change(|call| {
        call.timeout = hooks.timeout;
        // Hooks that are switched off are counted by a daemon that runs, and cost nothing else.
        call.spool_in = hooks.enabled.then(|| environment.home.clone());
        call.phase = Phase::Reading(Input::default());
    });
    read(&desk);
    let (event, params) = desk.params();
    let told = talk::tell(&environment, &hooks, &params);
    let took = started.elapsed();
    desk.change(|call| call.phase = Phase::Ending);
    match told {
        Ok((link, answer)) => {
            if let Some(context) = answer.context.filter(|_| event.may_say()) {
                said::print(&event, &context);
            }
            link.took(&event, took);
        }
        Err(why) if hooks.enabled => {
            leave(&environment.home, why, took, params);
            // A daemon that may write no file is none.
            if why == UnindexedReason::Absent && event.kind == SignalKind::SessionStart && room::is_for(1) {
                starter::start(&environment);
            }
        }
        Err(_) => {}
    }
}

/// Reads one JSON value from standard input into the desk, as far as it comes.
fn read(desk: &Desk) {
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
        let is_whole = desk.change(|call| match &mut call.phase {
            Phase::Reading(input) => input.take(&piece[..count]),
            _ => true,
        });
        if is_whole {
            return;
        }
    }
}

/// Leaves what nobody took. Where not even that can be done, nothing can.
fn leave(home: &Path, why: UnindexedReason, took: Duration, hook: HookParams) {
    let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
    let hook = HookParams { wait_ms: 0, ..hook };
    let _ = spool::leave(home, Spooled { v: 1, why: why.as_str().to_owned(), took_us, hook });
}

/// An id that no other call has: 128 bits that the system's randomness has keyed.
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
