//! Synchronous client of the daemon: finds it, starts it if none runs, and calls it. Every command except `daemon` uses
//! it.

mod error;
mod launch;
mod process;

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

use baton_base::lock;
use baton_home::connection;
pub use baton_home::daemon_command::daemon_command;
use baton_protocol as protocol;
use baton_protocol::{Call, Incoming, LogReadParams, Progress, ShortIdsParams, Welcome, answer, method};
use interprocess::local_socket::Stream;
use interprocess::local_socket::traits::Stream as _;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

pub use self::error::Error;
pub(crate) use self::launch::check_named_directories;
pub use self::launch::{Daemon, first_line};
use self::launch::{START, home_error, not_read, start_lock};
use self::process::{LOOK, STOP, lock_is_of_another, wait, wait_for_process};
use crate::environment::{self, Environment, Hooks};
use crate::print::Waiting;

/// Version of this program.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Deadline for the greeting.
pub(crate) const GREET: Duration = Duration::from_secs(10);
/// Longest silence accepted from a working daemon; it reports progress more often than this.
pub(crate) const SILENT: Duration = Duration::from_secs(120);
/// Most bytes of ids in one `short_ids` call; the daemon accepts twice as many.
const IDS_BYTES: usize = 512 * 1024;

/// A connection to the daemon.
pub struct Client {
    stream: BufReader<Stream>,
    calls: u64,
    welcome: Welcome,
}

impl Client {
    /// Connects to the home's daemon; `None` if none runs.
    pub fn connect(environment: &Environment) -> Result<Option<Self>, Error> {
        lock::check_home(&environment.home)?;
        let Ok(stream) = connection::connect(environment, &Hooks::read(&environment.home)) else { return Ok(None) };
        let _ = stream.set_recv_timeout(Some(GREET));
        let _ = stream.set_send_timeout(Some(GREET));
        let mut client = Self { stream: BufReader::new(stream), calls: 0, welcome: Welcome::default() };
        client.welcome = match client.call(method::HELLO, &connection::hello(environment, "cli"), |_| {}) {
            Ok(welcome) => welcome,
            Err(Error::Broken(error))
                if matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock) =>
            {
                return Err(Error::NotAnswering(lock::holder_pid(&environment.home)));
            }
            // The daemon is shutting down.
            Err(Error::Broken(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let _ = client.stream.get_ref().set_recv_timeout(Some(SILENT));
        Ok(Some(client))
    }

    /// Connects to the home's daemon on behalf of a person: starts one if none runs, and replaces one of an
    /// older version.
    ///
    /// # Errors
    ///
    /// [`Error::NotRead`] if an environment variable names an existing directory that the daemon refuses to read,
    /// unless the configuration lists the directories.
    pub fn connect_or_start(environment: &Environment) -> Result<Self, Error> {
        let running = Self::running(environment)?;
        if running.is_none() {
            check_named_directories(environment)?;
        }
        let client = running.map_or_else(|| Self::start(environment), Ok)?;
        match environment::refused(environment, &client.welcome) {
            Some((agent, directory, why)) => Err(not_read(environment, agent, directory, why)),
            None => Ok(client),
        }
    }

    /// Like [`Client::connect_or_start`], for a program started by an agent: no person set the variables, so a refused
    /// directory is skipped.
    pub fn connect_or_start_for_agent(environment: &Environment) -> Result<Self, Error> {
        Self::running(environment)?.map_or_else(|| Self::start(environment), Ok)
    }

    /// Like [`Client::connect_or_start`], for a program that draws on the whole terminal: shows no progress.
    pub(crate) fn connect_or_start_silently(environment: &Environment) -> Result<Self, Error> {
        Self::running(environment)?.map_or_else(|| Self::start_daemon(environment), Ok)
    }

    /// Connects to a running daemon, and stops one of an older version.
    fn running(environment: &Environment) -> Result<Option<Self>, Error> {
        Self::connect(environment)?.map_or(Ok(None), |client| client.of_this_version(environment))
    }

    /// Starts the home's daemon, unless another process does so first, and connects to it.
    fn start(environment: &Environment) -> Result<Self, Error> {
        let _waiting = Waiting::new("starting the daemon");
        Self::start_daemon(environment)
    }

    fn start_daemon(environment: &Environment) -> Result<Self, Error> {
        let _starting = start_lock(&environment.home).map_err(|error| home_error(environment, &error))?;
        let until = Instant::now() + START;
        loop {
            // Another process may have started it while we waited, may be starting it now, or the previous daemon is
            // still shutting down.
            if let Some(client) = Self::connect_to_holder(environment, START)? {
                return Ok(client);
            }
            match Daemon::start(environment, &["--detached"], Stdio::null()) {
                Ok(daemon) => break daemon.leave(),
                // A command that reads the home directly, such as `log stats`, may have taken the lock since the check.
                Err(Error::NotStarted(reason)) if reason.starts_with(lock::HELD) && Instant::now() < until => {}
                Err(error) => return Err(error),
            }
        }
        Self::connect(environment)?.ok_or_else(|| Error::NotStarted("it ended at once; see `daemon.log`".to_owned()))
    }

    /// Connects to the daemon that holds the home's lock, and waits up to `within` for one that is starting or
    /// stopping. `None` if nobody holds the lock.
    pub fn connect_to_holder(environment: &Environment, within: Duration) -> Result<Option<Self>, Error> {
        let until = Instant::now() + within;
        loop {
            if let Some(client) = Self::connect(environment)? {
                return Ok(Some(client));
            }
            if lock::is_free(&environment.home) {
                return Ok(None);
            }
            if Instant::now() >= until {
                return Err(Error::NotAnswering(lock::holder_pid(&environment.home)));
            }
            std::thread::sleep(LOOK);
        }
    }

    fn of_this_version(self, environment: &Environment) -> Result<Option<Self>, Error> {
        match self.welcome.protocol.cmp(&protocol::VERSION) {
            // One that goes on after an update would answer by the old rules until it is stopped.
            Ordering::Equal if is_older(&self.welcome.version, VERSION) => self.stop(environment).map(|()| None),
            Ordering::Equal => Ok(Some(self)),
            Ordering::Greater => Err(Error::NewerDaemon { version: self.welcome.version }),
            Ordering::Less => self.stop(environment).map(|()| None),
        }
    }

    /// The daemon's reply to the greeting.
    pub fn welcome(&self) -> &Welcome {
        &self.welcome
    }

    /// Calls a method and reads its result.
    pub fn call<T: DeserializeOwned>(
        &mut self,
        method: &str,
        params: &impl Serialize,
        progress: impl FnMut(Progress),
    ) -> Result<T, Error> {
        let result = self.call_raw(method, params, progress)?;
        protocol::read(result.get()).map_err(|error| Error::Garbled(error.to_string()))
    }

    /// Reads events of the log. Unlike [`Client::call`] it keeps each record byte for byte, as the chain counts it.
    pub fn read_log(&mut self, asked: &LogReadParams) -> Result<answer::LogRead, Error> {
        let result = self.call_raw(method::LOG_READ, asked, |_| {})?;
        serde_json::from_str(result.get()).map_err(|error| Error::Garbled(error.to_string()))
    }

    /// Calls a method and returns the result as the daemon wrote it, byte for byte.
    pub fn call_raw(
        &mut self,
        method: &str,
        params: &impl Serialize,
        mut progress: impl FnMut(Progress),
    ) -> Result<Box<RawValue>, Error> {
        let call = Call { jsonrpc: "2.0", id: self.calls + 1, method, params };
        let line = serde_json::to_vec(&call).map_err(|error| Error::Garbled(error.to_string()))?;
        self.exchange(line, &mut progress)
    }

    /// Sends one call and waits for its result.
    fn exchange(&mut self, mut line: Vec<u8>, progress: &mut dyn FnMut(Progress)) -> Result<Box<RawValue>, Error> {
        self.calls += 1;
        line.push(b'\n');
        self.stream.get_mut().write_all(&line).map_err(Error::Broken)?;
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line).map_err(Error::Broken)? == 0 {
                return Err(Error::Broken(io::ErrorKind::UnexpectedEof.into()));
            }
            let incoming: Incoming = serde_json::from_str(&line).map_err(|error| Error::Garbled(error.to_string()))?;
            match incoming {
                Incoming { error: Some(failure), .. } => return Err(Error::Refused(failure)),
                Incoming { id: Some(id), result: Some(result), .. } if id == self.calls => return Ok(result),
                Incoming { method: Some(name), params: Some(params), .. } if name == method::PROGRESS => {
                    if let Ok(update) = protocol::read(params.get()) {
                        progress(update);
                    }
                }
                _ => {}
            }
        }
    }

    /// Asks the daemon for unambiguous short forms of the ids in an answer. Ids without an entry are shown in full.
    pub fn short_ids(&mut self, result: &RawValue) -> BTreeMap<String, String> {
        let mut ids = BTreeSet::new();
        collect_ids(&serde_json::from_str(result.get()).unwrap_or_default(), &mut ids);
        self.shorten(ids)
    }

    /// Asks the daemon for unambiguous short forms of these ids. Ids that it does not answer for have no entry.
    pub fn shorten(&mut self, ids: BTreeSet<String>) -> BTreeMap<String, String> {
        let mut short = BTreeMap::new();
        let mut ids = ids.into_iter().peekable();
        while ids.peek().is_some() {
            let mut bytes = 0;
            let few = std::iter::from_fn(|| {
                ids.next_if(|id| {
                    bytes += id.len() + 3;
                    bytes <= IDS_BYTES
                })
            });
            let asked = ShortIdsParams { ids: few.collect() };
            match self.call::<answer::ShortIds>(method::SHORT_IDS, &asked, |_| {}) {
                Ok(answer) if !asked.ids.is_empty() => short.extend(answer.short),
                _ => break,
            }
        }
        short
    }

    /// Sets how long to wait for each line of an answer.
    pub fn set_answer_timeout(&self, wait: Duration) {
        let _ = self.stream.get_ref().set_recv_timeout(Some(wait));
    }

    /// Asks the daemon to stop and waits until its process has exited.
    pub fn stop(mut self, environment: &Environment) -> Result<(), Error> {
        let pid = self.welcome.pid;
        match self.call_raw(method::STOP, &(), |_| {}) {
            Ok(_) | Err(Error::Broken(_)) => {}
            Err(error) => return Err(error),
        }
        drop(self);
        let released = || lock::is_free(&environment.home) || lock_is_of_another(environment, pid);
        let gone = wait(STOP, released) && wait_for_process(pid, STOP);
        if gone { Ok(()) } else { Err(Error::NotStopped(Some(pid))) }
    }
}

/// Collects the ids of sessions and notes at any depth of an answer.
fn collect_ids(value: &Value, ids: &mut BTreeSet<String>) {
    match value {
        Value::Array(list) => list.iter().for_each(|value| collect_ids(value, ids)),
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(id) if name.ends_with("session_id") || name == "claimed_by" => {
                        ids.insert(id.clone());
                    }
                    value => collect_ids(value, ids),
                }
            }
        }
        _ => {}
    }
}

/// True if a daemon's version is older than `this`. One that is not understood is left alone.
fn is_older(daemon: &str, this: &str) -> bool {
    let versions = [daemon, this].map(semver::Version::parse);
    matches!(versions, [Ok(daemon), Ok(this)] if daemon.cmp_precedence(&this) == Ordering::Less)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_older_daemon_is_replaced() {
        for (daemon, this, expected) in [
            ("0.1.0", "0.1.0", false),
            ("0.1.0", "0.1.1", true),
            ("0.9.0", "0.10.0", true),
            ("0.2.0", "0.1.9", false),
            ("1.0.0-rc.1", "1.0.0", true),
            ("1.0.0+build.2", "1.0.0", false),
            ("", "0.1.0", false),
            ("next", "0.1.0", false),
        ] {
            assert_eq!(is_older(daemon, this), expected, "{daemon} {this}");
        }
    }
}
