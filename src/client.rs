//! A client of the daemon: finds it, starts it if need be, and calls it. Synchronous and small: every command but
//! `daemon` is one of these.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use baton_actors::gateway::Endpoint;
use baton_base::io_remedy::Obstacle;
use baton_base::{lock, transcript_file};
use baton_conversation::item::Agent;
use baton_protocol as protocol;
use baton_protocol::{Call, Failure, Hello, Incoming, Progress, ShortIdsParams, Welcome, answer, method};
use interprocess::local_socket::traits::{Stream as _, StreamCommon};
use interprocess::local_socket::{GenericFilePath, Stream, ToFsName};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::daemon::READY;
use crate::environment::{self, Environment, Hooks};
use crate::print::Waiting;

/// How long a daemon may take to be ready: it opens its log first.
const START: Duration = Duration::from_secs(60);
/// How long a daemon may take to stop.
const STOP: Duration = Duration::from_secs(30);
/// How long the greeting may take.
pub(crate) const GREET: Duration = Duration::from_secs(10);
/// How long a daemon may be silent while it works; it tells its progress more often.
pub(crate) const SILENT: Duration = Duration::from_secs(120);
/// Most bytes of ids that one call asks about; the daemon takes twice as many.
const IDS_BYTES: usize = 512 * 1024;
/// How often it is looked whether a process has gone.
const LOOK: Duration = Duration::from_millis(5);

/// What a daemon tells its allocator, unless the user tells it something else. glibc keeps what was freed, in a pool for
/// each thread: after a backfill that is three times what the daemon needs from then on. With few pools, large pieces
/// mapped on their own and the top given back, it goes back to the system. Other allocators do not know these names.
pub(crate) const ALLOCATOR: [(&str, &str); 3] =
    [("MALLOC_ARENA_MAX", "2"), ("MALLOC_TRIM_THRESHOLD_", "1048576"), ("MALLOC_MMAP_THRESHOLD_", "262144")];

/// Why a call has no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The daemon refuses the call; its message says what to do.
    #[error("{}", .0.message)]
    Refused(Failure),
    /// The connection broke.
    #[error(
        "the connection to the daemon broke ({0}); run the command again, and see `daemon.log` if it happens again"
    )]
    Broken(#[source] io::Error),
    /// What came back is not understood.
    #[error("the daemon's answer is not understood ({0}); run `baton stop` and try again")]
    Garbled(String),
    /// The daemon is of a newer version.
    #[error("the running daemon is Baton {version}, newer than this program ({}); update this program", env!("CARGO_PKG_VERSION"))]
    NewerDaemon {
        /// The daemon's version.
        version: String,
    },
    /// The directory that somebody named is not read. Nothing else is read in its place.
    #[error(
        "{variable} names {}, which is not read: {why}; unset it, or list {} in session_tracking.watch_directories of {}",
        directory.display(),
        transcripts.display(),
        config.display()
    )]
    NotRead {
        /// The variable.
        variable: &'static str,
        /// What it names.
        directory: PathBuf,
        /// Where the transcripts would lie.
        transcripts: PathBuf,
        /// The configuration.
        config: PathBuf,
        /// Why not.
        why: String,
    },
    /// No daemon could be started.
    #[error("the daemon did not start: {0}")]
    NotStarted(String),
    /// The home cannot be trusted, nor who answers in it.
    #[error(transparent)]
    Home(#[from] lock::LockError),
    /// The daemon holds the home and says nothing.
    #[error(
        "{} holds this home and does not answer: a daemon that hangs, or a `baton log` command that is still at work; see \
         `daemon.log`, and end that process if it stays so",
        .0.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
    )]
    NotAnswering(Option<u32>),
    /// The daemon does not stop.
    #[error("the daemon{} did not stop within {} s; see `daemon.log`", pid_text(*.0), STOP.as_secs())]
    NotStopped(Option<u32>),
}

fn pid_text(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" (process {pid})"))
}

/// How this program greets a daemon. Looks at no directory: the daemon does, and does not wait for one for ever.
pub(crate) fn hello(environment: &Environment, client: &str) -> Hello {
    let told = |agent, directory: &Path| directory.to_str().filter(|_| environment.reads(agent)).map(str::to_owned);
    Hello {
        protocol: protocol::VERSION,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        client: client.to_owned(),
        claude_config_dir: told(Agent::ClaudeCode, &environment.claude_config_dir),
        codex_home: told(Agent::Codex, &environment.codex_home),
        works_in: environment::works_in(),
    }
}

/// Connects to whoever listens there, if that is this user: an answer may end up before an agent's eyes.
pub(crate) fn reach(endpoint: &Endpoint) -> io::Result<Stream> {
    let stream = Stream::connect(endpoint.path().to_fs_name::<GenericFilePath>()?)?;
    check_peer(&stream)?;
    Ok(stream)
}

/// Connects to the home's daemon, wherever it listens. The error is that of where it should.
pub(crate) fn reach_home(environment: &Environment, hooks: &Hooks) -> io::Result<Stream> {
    let configured = environment.endpoint_of(hooks);
    reach(&configured).or_else(|error| {
        elsewhere(environment, &configured).iter().find_map(|endpoint| reach(endpoint).ok()).ok_or(error)
    })
}

/// Where else the home's daemon may listen: it was started before the configuration said what it says now, or takes an
/// older one because that has a mistake. None while nobody holds the home.
pub(crate) fn elsewhere(environment: &Environment, configured: &Endpoint) -> Vec<Endpoint> {
    let told = lock::recorded_socket(&environment.home).map(Endpoint::from_path);
    let others: Vec<Endpoint> =
        told.into_iter().chain([Endpoint::for_home(&environment.home)]).filter(|endpoint| endpoint != configured).collect();
    if others.is_empty() || lock_is_free(environment) { Vec::new() } else { others }
}

/// Refuses a connection to another user's process, where the system tells whose it is.
#[cfg(unix)]
pub(crate) fn check_peer(stream: &impl StreamCommon) -> io::Result<()> {
    let peer = stream.peer_creds()?.euid();
    match peer.is_none_or(|peer| peer == rustix::process::geteuid().as_raw()) {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to another user")),
    }
}

#[cfg(not(unix))]
pub(crate) fn check_peer(_stream: &impl StreamCommon) -> io::Result<()> {
    Ok(())
}

/// A connection to the daemon.
pub struct Client {
    stream: BufReader<Stream>,
    calls: u64,
    welcome: Welcome,
}

impl Client {
    /// Connects to the home's daemon if it runs.
    pub fn connect(environment: &Environment) -> Result<Option<Self>, Error> {
        lock::check_home(&environment.home)?;
        let Ok(stream) = reach_home(environment, &Hooks::of(&environment.home)) else { return Ok(None) };
        let _ = stream.set_recv_timeout(Some(GREET));
        let _ = stream.set_send_timeout(Some(GREET));
        let mut client = Self { stream: BufReader::new(stream), calls: 0, welcome: Welcome::default() };
        client.welcome = match client.call(method::HELLO, &hello(environment, "cli"), |_| {}) {
            Ok(welcome) => welcome,
            Err(Error::Broken(error))
                if matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock) =>
            {
                return Err(Error::NotAnswering(lock::holder_pid(&environment.home)));
            }
            // It is just going away.
            Err(Error::Broken(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let _ = client.stream.get_ref().set_recv_timeout(Some(SILENT));
        Ok(Some(client))
    }

    /// Connects to the home's daemon for a person, starting one if none runs and replacing one of an older protocol. A
    /// directory that a variable names and that is refused is the error, unless it is not there, or the configuration names what
    /// is read.
    pub fn connect_or_start(environment: &Environment) -> Result<Self, Error> {
        let running = Self::running(environment)?;
        if running.is_none() {
            check_named(environment)?;
        }
        let client = running.map_or_else(|| Self::start(environment), Ok)?;
        match environment.refused(&client.welcome) {
            Some((agent, directory, why)) => Err(not_read(environment, agent, directory, why)),
            None => Ok(client),
        }
    }

    /// As [`Client::connect_or_start`], for a program that an agent has started: nobody typed what its variables name, and
    /// a directory that is refused is left out.
    pub fn connect_or_start_for_agent(environment: &Environment) -> Result<Self, Error> {
        Self::running(environment)?.map_or_else(|| Self::start(environment), Ok)
    }

    /// Connects to a daemon that runs, and ends one of an older protocol.
    fn running(environment: &Environment) -> Result<Option<Self>, Error> {
        Self::connect(environment)?.map_or(Ok(None), |client| client.of_this_version(environment))
    }

    /// Starts the home's daemon unless somebody else does meanwhile, and connects to it.
    fn start(environment: &Environment) -> Result<Self, Error> {
        let _waiting = Waiting::new("starting the daemon");
        let _starting = start_lock(&environment.home).map_err(|error| home_error(environment, &error))?;
        let until = Instant::now() + START;
        loop {
            // Somebody else may have started it while we waited, or is starting it by hand, or the last one is still ending.
            if let Some(client) = Self::connect_to_holder(environment, START)? {
                return Ok(client);
            }
            match Daemon::start(&environment.for_daemon(), &["--detached"], Stdio::null()) {
                Ok(daemon) => break daemon.leave(),
                // A command that reads the home itself, such as `log stats`, may have locked it since the look.
                Err(Error::NotStarted(reason)) if reason.starts_with(lock::HELD) && Instant::now() < until => {}
                Err(error) => return Err(error),
            }
        }
        Self::connect(environment)?.ok_or_else(|| Error::NotStarted("it ended at once; see `daemon.log`".to_owned()))
    }

    /// Connects to whoever holds the home; one that is starting or ending is waited for. `None`: nobody holds it.
    pub fn connect_to_holder(environment: &Environment, within: Duration) -> Result<Option<Self>, Error> {
        let until = Instant::now() + within;
        loop {
            if let Some(client) = Self::connect(environment)? {
                return Ok(Some(client));
            }
            if lock_is_free(environment) {
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
            std::cmp::Ordering::Equal => Ok(Some(self)),
            std::cmp::Ordering::Greater => Err(Error::NewerDaemon { version: self.welcome.version }),
            std::cmp::Ordering::Less => self.stop(environment).map(|()| None),
        }
    }

    /// What the daemon said of itself.
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
        serde_json::from_str(result.get()).map_err(|error| Error::Garbled(error.to_string()))
    }

    /// Calls a method. The result is exactly what the daemon wrote.
    pub fn call_raw(
        &mut self,
        method: &str,
        params: &impl Serialize,
        mut progress: impl FnMut(Progress),
    ) -> Result<Box<RawValue>, Error> {
        self.calls += 1;
        let call = Call { jsonrpc: "2.0", id: self.calls, method, params };
        let mut line = serde_json::to_vec(&call).map_err(|error| Error::Garbled(error.to_string()))?;
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
                    if let Ok(told) = serde_json::from_str(params.get()) {
                        progress(told);
                    }
                }
                _ => {}
            }
        }
    }

    /// Asks how short the ids of an answer may be shown. What cannot be learned is left out, and shown whole.
    pub fn short_ids(&mut self, result: &RawValue) -> BTreeMap<String, String> {
        let mut ids = BTreeSet::new();
        collect_ids(&serde_json::from_str(result.get()).unwrap_or_default(), &mut ids);
        self.shorten(ids)
    }

    /// Asks how short these ids may be shown. What cannot be learned is left out.
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
                Ok(told) if !asked.ids.is_empty() => short.extend(told.short),
                _ => break,
            }
        }
        short
    }

    /// Waits at most this long for each line of an answer.
    pub fn be_patient(&self, wait: Duration) {
        let _ = self.stream.get_ref().set_recv_timeout(Some(wait));
    }

    /// Asks the daemon to stop and waits until its process is gone.
    pub fn stop(mut self, environment: &Environment) -> Result<(), Error> {
        let pid = self.welcome.pid;
        match self.call_raw(method::STOP, &(), |_| {}) {
            Ok(_) | Err(Error::Broken(_)) => {}
            Err(error) => return Err(error),
        }
        drop(self);
        let released = || lock_is_free(environment) || lock_is_of_another(environment, pid);
        let gone = wait(STOP, released) && wait_for_process(pid, STOP);
        if gone { Ok(()) } else { Err(Error::NotStopped(Some(pid))) }
    }
}

/// The ids of sessions and notes in an answer, wherever they stand.
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

/// `program` as the daemon of `environment`; the caller adds the mode.
pub fn daemon_command(program: &Path, environment: &Environment) -> Command {
    let unset = ALLOCATOR.into_iter().filter(|(name, _)| std::env::var_os(name).is_none());
    let mut command = Command::new(program);
    command.envs(unset).arg("daemon").env("BATON_HOME", &environment.home);
    let directories = [
        (Agent::ClaudeCode, environment::CLAUDE, &environment.claude_config_dir),
        (Agent::Codex, environment::CODEX, &environment.codex_home),
    ];
    for (agent, variable, directory) in directories {
        match environment.reads(agent) {
            true => command.env(variable, directory),
            false => command.env_remove(variable),
        };
    }
    command
}

/// A daemon that this process has started.
pub struct Daemon {
    child: Child,
    input: Option<ChildStdin>,
}

impl Daemon {
    /// Starts this program as a daemon of `environment` and waits until it is ready.
    pub fn start(environment: &Environment, arguments: &[&str], input: Stdio) -> Result<Self, Error> {
        let program = std::env::current_exe().map_err(|error| Error::NotStarted(error.to_string()))?;
        Self::start_program(&program, environment, arguments, input)
    }

    /// Starts another `baton` as a daemon of `environment` and waits until it is ready.
    pub fn start_program(
        program: &Path,
        environment: &Environment,
        arguments: &[&str],
        input: Stdio,
    ) -> Result<Self, Error> {
        let failed = |error: io::Error| Error::NotStarted(error.to_string());
        let unusable = |error: io::Error| home_error(environment, &error);
        baton_base::durable::create_private_folder(&environment.home).map_err(unusable)?;
        let log = crate::logfile::append(&environment.log_file()).map_err(unusable)?;
        let mut child = daemon_command(program, environment)
            .args(arguments)
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .map_err(failed)?;
        let input = child.stdin.take();
        let said = child.stdout.take().and_then(first_line).unwrap_or_default();
        match said.trim() {
            READY => Ok(Self { child, input }),
            "" => Err(Error::NotStarted(format!("see {}", environment.log_file().display()))),
            reason => Err(Error::NotStarted(reason.to_owned())),
        }
    }

    /// Leaves it running on its own. A program that lives longer than the daemon takes note of its end: nobody else
    /// does, and it would stay a zombie.
    fn leave(mut self) {
        std::thread::spawn(move || self.child.wait());
    }

    /// Lets go of a throwaway daemon's input, which ends it, and waits until it is gone.
    pub fn end(mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// Refuses to start a daemon for a person with a directory that a variable names and that is not read, unless the
/// configuration names what is read.
pub(crate) fn check_named(environment: &Environment) -> Result<(), Error> {
    match environment.unfit() {
        Some((agent, directory, why)) if !Hooks::of(&environment.home).names_directories => {
            Err(not_read(environment, agent, directory, &why))
        }
        _ => Ok(()),
    }
}

fn not_read(environment: &Environment, agent: Agent, directory: &Path, why: &str) -> Error {
    let (variable, folder) = match agent {
        Agent::ClaudeCode => (environment::CLAUDE, "projects"),
        Agent::Codex => (environment::CODEX, "sessions"),
    };
    Error::NotRead {
        variable,
        directory: directory.to_owned(),
        transcripts: directory.join(folder),
        config: environment.home.join("config.json"),
        why: why.to_owned(),
    }
}

fn home_error(environment: &Environment, error: &io::Error) -> Error {
    let home = environment.home.display();
    let remedy = match Obstacle::from_error(error) {
        Obstacle::Other => "make it a directory that you can write to",
        known => known.remedy(),
    };
    Error::NotStarted(format!("cannot use {home}: {error}; {remedy}, or set BATON_HOME"))
}

/// The first line that a starting daemon prints, if it prints one in time.
pub fn first_line(output: std::process::ChildStdout) -> Option<String> {
    let (line, said) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        let _ = BufReader::new(output).read_line(&mut text);
        let _ = line.send(text);
    });
    said.recv_timeout(START).ok()
}

/// Held while a daemon is being started, so that ten clients start one.
fn start_lock(home: &Path) -> io::Result<File> {
    baton_base::durable::create_private_folder(home)?;
    let file = crate::logfile::append(&home.join("start.lock"))?;
    let taken = wait(2 * START, || file.try_lock().is_ok());
    if taken { Ok(file) } else { Err(io::Error::other("another command has been starting it for two minutes")) }
}

/// Whether no daemon holds the home.
pub(crate) fn lock_is_free(environment: &Environment) -> bool {
    let lock = transcript_file::open_regular(&environment.home.join(lock::LOCK_FILE), OpenOptions::new().write(true));
    lock.map_or(true, |lock| !matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
}

/// Whether another daemon than `pid` holds the home by now: somebody needed one while that one was ending.
fn lock_is_of_another(environment: &Environment, pid: u32) -> bool {
    lock::holder_pid(&environment.home).is_some_and(|holder| holder != pid)
}

fn wait_for_process(pid: u32, within: Duration) -> bool {
    #[cfg(unix)]
    {
        use rustix::process::{Pid, test_kill_process};
        let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return true };
        wait(within, || test_kill_process(pid).is_err() || is_zombie(pid.as_raw_nonzero().get()))
    }
    #[cfg(not(unix))]
    {
        let _ = (pid, within);
        true
    }
}

/// Whether a process has ended and only waits for its parent to take note: in containers nobody may.
#[cfg(unix)]
fn is_zombie(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z'))
}

fn wait(within: Duration, mut done: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + within;
    while !done() {
        if Instant::now() >= until {
            return false;
        }
        std::thread::sleep(LOOK);
    }
    true
}
