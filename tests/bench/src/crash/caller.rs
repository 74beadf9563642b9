//! Clients that send one random request after another and note what was acknowledged, until the daemon is gone.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use baton::client;
use baton::client::Client;
use baton::environment::Environment;
use baton_protocol::answer::{Close, Search, Sync, Track, Tracking};
use baton_protocol::{
    Caller as Asking, CloseParams, SearchParams, SyncParams, TrackParams, TrackingParams, UntrackParams, code, method,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::author::KnownSessions;
use super::promises::Promises;
use crate::corpus::random::Random;
use crate::latency;

/// Number of clients. Each session is closed and tracked by one client only.
pub(super) const CALLERS: usize = 4;
/// Number of projects whose switch is set.
const PROJECTS: u64 = 64;

/// State shared by all clients of a home.
pub(super) struct Shared {
    pub(super) environment: Environment,
    pub(super) known: KnownSessions,
    promises: Mutex<Promises>,
    /// Calls that are not answered yet.
    pub(super) in_flight: AtomicU64,
    /// Set when the daemon is killed; no more calls are made.
    pub(super) over: AtomicBool,
    /// Number of requests so far, used to give each one a unique name.
    requests: AtomicU64,
    /// Answers that no daemon should give.
    wrong: Mutex<Vec<String>>,
}

impl Shared {
    pub(super) fn new(environment: Environment) -> Self {
        Self {
            environment,
            known: KnownSessions::default(),
            promises: Mutex::default(),
            in_flight: AtomicU64::new(0),
            over: AtomicBool::new(false),
            requests: AtomicU64::new(0),
            wrong: Mutex::default(),
        }
    }

    pub(super) fn promises(&self) -> MutexGuard<'_, Promises> {
        self.promises.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the wrong answers since the last call.
    pub(super) fn take_wrong_answers(&self) -> Vec<String> {
        std::mem::take(&mut *self.wrong.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }
}

/// One client.
pub(super) struct Caller<'a> {
    number: usize,
    random: &'a mut Random,
    shared: &'a Shared,
    client: Client,
    /// This client's sessions, and whether it has stopped tracking them.
    stopped: &'a mut BTreeMap<String, bool>,
}

/// Why there was no usable answer.
enum CallError {
    /// The daemon is gone.
    Gone,
    /// The daemon refused, which is an answer too.
    Refused,
}

/// Connects and calls until the daemon is gone.
pub(super) fn call_until_killed(
    number: usize,
    shared: &Shared,
    random: &mut Random,
    stopped: &mut BTreeMap<String, bool>,
) {
    let Ok(Some(client)) = Client::connect(&shared.environment) else { return };
    let mut caller = Caller { number, random, shared, client, stopped };
    while !shared.is_over() {
        if let Err(CallError::Gone) = caller.make_request() {
            return;
        }
    }
}

impl Caller<'_> {
    fn make_request(&mut self) -> Result<(), CallError> {
        let number = self.shared.requests.fetch_add(1, Ordering::SeqCst) + 1;
        let Some(session) = self.shared.known.pick(self.number, CALLERS, self.random) else { return Ok(()) };
        let is_stopped = self.stopped.get(&session).copied().unwrap_or(false);
        match self.random.below(100) {
            _ if is_stopped && self.random.percent(60) => self.track(session, true),
            0..60 => self.close(session, number),
            60..75 => self.search(),
            75..83 => self.group(session, number),
            83..93 => self.track(session, is_stopped),
            93..97 => self.switch(number),
            _ => self.sync(),
        }
    }

    /// Makes a call. Notes a refusal as wrong unless the daemon may give it.
    fn call<T: DeserializeOwned>(&mut self, method: &str, params: &impl Serialize) -> Result<T, CallError> {
        self.shared.in_flight.fetch_add(1, Ordering::SeqCst);
        let answer = self.client.call(method, params, |_| {});
        self.shared.in_flight.fetch_sub(1, Ordering::SeqCst);
        answer.map_err(|error| match error {
            client::Error::Refused(failure) if self.shared.is_over() || failure.code == code::STOPPING => {
                CallError::Gone
            }
            client::Error::Refused(failure) => {
                self.complain(format!("{method} was refused: {}", failure.message));
                CallError::Refused
            }
            client::Error::Broken(_) => CallError::Gone,
            other => {
                self.complain(format!("{method} was answered wrongly: {other}"));
                CallError::Gone
            }
        })
    }

    fn complain(&self, what: String) {
        self.shared.wrong.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }

    fn close(&mut self, session: String, number: u64) -> Result<(), CallError> {
        let command = format!("close-{number}");
        let params = CloseParams {
            session: Some(session.clone()),
            reason: self.random.percent(30).then(|| format!("note {number}")),
            command_id: Some(command.clone()),
            deadline_ms: 30_000,
            ..CloseParams::default()
        };
        let closed: Close = self.call(method::CLOSE, &params)?;
        // A session that is not tracked is not closed; one that is being rewritten may be refused.
        if closed.status == "success" {
            self.shared.promises().closed(&session, &command, closed.episode_uuid);
        }
        Ok(())
    }

    fn search(&mut self) -> Result<(), CallError> {
        let query = format!("release {}", latency::word(self.random.below(2000)));
        let found: Search = self.call(method::SEARCH, &SearchParams { query, limit: 10, ..SearchParams::default() })?;
        let hits = found.hits.into_iter().filter(|hit| !hit.episode_uuid.is_empty());
        let hits = hits.map(|hit| (hit.session_id, hit.episode_uuid));
        self.shared.promises().found(found.freshness.position, hits);
        Ok(())
    }

    fn group(&mut self, session: String, number: u64) -> Result<(), CallError> {
        let group = format!("group-{number}");
        // Setting a group lifts a stop too.
        self.shared.promises().tracking_in_doubt(&session);
        let params = TrackParams {
            session: Some(session.clone()),
            group: Some(group.clone()),
            force: false,
            caller: Asking::default(),
        };
        let answer: Track = self.call(method::TRACK, &params)?;
        if answer.status == "success" {
            self.stopped.remove(&session);
            let mut promises = self.shared.promises();
            promises.grouped(&session, &group);
            promises.tracked(&session, true, false);
        }
        Ok(())
    }

    fn track(&mut self, session: String, on: bool) -> Result<(), CallError> {
        self.shared.promises().tracking_in_doubt(&session);
        let answer: Track = if on {
            let params = TrackParams { session: Some(session.clone()), ..TrackParams::default() };
            self.call(method::TRACK, &params)?
        } else {
            self.call(method::UNTRACK, &UntrackParams { session: session.clone() })?
        };
        if answer.status == "success" {
            self.stopped.insert(session.clone(), !on);
            let changed = if on { answer.message.contains("lifted") } else { !answer.message.contains("as before") };
            self.shared.promises().tracked(&session, on, changed);
        }
        Ok(())
    }

    fn switch(&mut self, number: u64) -> Result<(), CallError> {
        let (project, on) = (format!("/nowhere/switched-{}", number % PROJECTS), self.random.percent(50));
        self.shared.promises().switch_in_doubt(&project);
        let params = TrackingParams { enabled: Some(on), project: Some(project.clone()), stores: None };
        let _: Tracking = self.call(method::TRACKING, &params)?;
        self.shared.promises().switched(&project, on);
        Ok(())
    }

    fn sync(&mut self) -> Result<(), CallError> {
        let _: Sync = self.call(method::SYNC, &SyncParams::default())?;
        self.shared.promises().synced();
        Ok(())
    }
}
