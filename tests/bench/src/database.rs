//! A large database of an agent's sessions: reading it, following it, and what its agent notices of that.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use baton::client::Client;
use baton::environment::Environment;
use baton_conversation::transcript::{layout, table};
use baton_protocol::answer::Search;
use baton_protocol::{Agent, SearchParams, method};
use serde::Serialize;
use serde_json::json;

use super::agent_database::{self, AgentDatabase};
use super::corpus::random::Random;
use super::daemon_process::DaemonProcess;
use super::process::CpuPerCall;
use super::readers;
use super::sample::Sample;
use super::table::megabytes;
use super::workspace::Workspace;
use super::{Error, Memory, Spread, Table, io_error, latency, process};

/// Messages of which each is searched for at once.
const APPENDS: usize = 100;
/// Commits of the agent's in each state, and the pause between them.
const COMMITS: usize = 300;
const PAUSE: Duration = Duration::from_millis(20);
/// The session that goes on.
const SESSION: &str = "ses_000000";

/// What is written and measured.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Sessions.
    pub sessions: u32,
    /// Bytes of all of them.
    pub bytes: u64,
}

/// Cost of a database.
#[derive(Clone, Debug, Serialize)]
pub struct Database {
    /// How this was measured.
    pub how: &'static str,
    /// Sessions.
    pub sessions: u32,
    /// Bytes of their messages.
    pub bytes: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Reading all of it.
    pub index: Reading,
    /// From a commit to an answer that has it.
    pub to_answer: Spread,
    /// Processor time of the daemon for one, in milliseconds.
    pub to_answer_cpu_ms: Option<f64>,
    /// A daemon that starts anew, in rollback mode.
    pub restart: Reading,
    /// Commits with a write-ahead log.
    pub log: Commits,
    /// Commits with a rollback journal.
    pub rollback: Commits,
}

/// From starting a daemon to an answer from everything.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Reading {
    /// Wall time.
    pub seconds: f64,
    /// Processor time of the daemon.
    pub cpu_seconds: Option<f64>,
    /// Its memory right after.
    pub memory: Option<Memory>,
}

/// Commits of the agent's.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Commits {
    /// Without a daemon.
    pub alone: Spread,
    /// While a daemon follows.
    pub followed: Spread,
    /// Size of the write-ahead log or journal without a daemon, at most.
    pub log_bytes_alone: u64,
    /// Size of it while a daemon follows, at most.
    pub log_bytes_followed: u64,
    /// Processor time of the daemon for one, in milliseconds.
    pub cpu_ms: Option<f64>,
}

/// The agent, its database, and what follows it.
struct World {
    _workspace: Workspace,
    environment: Environment,
    path: PathBuf,
    agent: AgentDatabase,
    exchanges: usize,
}

/// Measures a database. Calls `progress` with each step.
pub fn measure(options: Options, progress: impl Fn(&str)) -> Result<Database, Error> {
    progress("writing a database");
    let workspace = Workspace::new()?;
    let home = workspace.path().join("baton");
    baton_base::durable::create_private_folder(&home).map_err(io_error("create", &home))?;
    let of = Agent::OpenCode;
    let data = workspace.path().join("data");
    let folder = data.join(layout(of).folders[0]);
    let prefix = table(of).map_or("", |table| table.prefix);
    let path = folder.join(format!("{prefix}{}", layout(of).endings[0]));
    let each = options.bytes / u64::from(options.sessions.max(1));
    let (agent, written) = readers::write_database(&path, options.bytes, each.max(1), &mut Random::new(1))?;
    let sessions = u32::try_from(written.paths.len()).unwrap_or(u32::MAX);
    let environment = Environment::isolated(home, workspace.path().join("claude")).with_directory(of, data, true);
    let mut world = World { _workspace: workspace, environment, path, agent, exchanges: 0 };

    progress("writing to it without a daemon");
    let (log_alone, log_bytes_alone) = world.commits()?;
    progress("reading it");
    let (daemon, mut client, index) = world.start(sessions)?;
    let file_bytes = fs::metadata(&world.path).map_or(0, |metadata| metadata.len());
    progress("writing to it and searching");
    let pid = client.welcome().pid;
    let cpu = CpuPerCall::begin(pid);
    let mut to_answer = Sample::default();
    for _ in 0..APPENDS {
        to_answer.time(|| {
            let word = world.exchange()?;
            let found = search(&mut client, &word, false)?;
            match found.hits.iter().any(|hit| hit.snippet.contains(&word)) {
                true => Ok(()),
                false => Err(Error::NothingMeasured(format!("the message with {word} was not found"))),
            }
        })?;
    }
    let to_answer_cpu_ms = cpu.end(APPENDS);
    progress("writing to it");
    let log = world.followed(pid, log_alone, log_bytes_alone)?;
    drop(client);
    daemon.end(&world.environment)?;
    world.agent.journal_mode("DELETE")?;
    let (rollback_alone, rollback_bytes_alone) = world.commits()?;
    progress("starting anew");
    let (daemon, client, restart) = world.start(sessions)?;
    progress("writing to it with a rollback journal");
    let rollback = world.followed(client.welcome().pid, rollback_alone, rollback_bytes_alone)?;
    drop(client);
    daemon.end(&world.environment)?;
    Ok(Database {
        how: "Generated sessions in one database of OpenCode's form, which its agent has open. Reading: from starting a \
              daemon to an answer from all sessions; files in the page cache. To an answer: a commit, then at once a \
              search whose answer must have it. Commits: an exchange each, 20 ms apart.",
        sessions,
        bytes: written.bytes,
        file_bytes,
        index,
        to_answer: to_answer.spread(),
        to_answer_cpu_ms,
        restart,
        log,
        rollback,
    })
}

impl World {
    /// Adds an exchange as one change, and returns a word that is only in it.
    fn exchange(&mut self) -> Result<String, Error> {
        self.exchanges += 1;
        let (word, at) = (latency::word(self.exchanges), latency::now_ms());
        self.agent.all_at_once(|agent| {
            agent.message(SESSION, at, &agent_database::prompt(&format!("Let {word} be its name")))?;
            let said = agent_database::text(&format!("It is {word} from now on."), at);
            agent.message(SESSION, at, &agent_database::answer(json!([said]), at))
        })?;
        Ok(word)
    }

    /// Commits at the agent's pace. Returns how long each took, and the largest log or journal.
    fn commits(&mut self) -> Result<(Spread, u64), Error> {
        let beside = |suffix: &str| {
            let mut name = self.path.as_os_str().to_owned();
            name.push(suffix);
            PathBuf::from(name)
        };
        let logs = [beside("-wal"), beside("-journal")];
        let size = || logs.iter().filter_map(|log| fs::metadata(log).ok()).map(|metadata| metadata.len()).sum();
        let (mut sample, mut most) = (Sample::default(), 0);
        for _ in 0..COMMITS {
            sample.time(|| self.exchange())?;
            most = most.max(size());
            std::thread::sleep(PAUSE);
        }
        Ok((sample.spread(), most))
    }

    fn followed(&mut self, pid: u32, alone: Spread, log_bytes_alone: u64) -> Result<Commits, Error> {
        let cpu = CpuPerCall::begin(pid);
        let (followed, log_bytes_followed) = self.commits()?;
        Ok(Commits { alone, followed, log_bytes_alone, log_bytes_followed, cpu_ms: cpu.end(COMMITS) })
    }

    /// Starts a daemon and waits until it has read everything.
    fn start(&self, sessions: u32) -> Result<(DaemonProcess, Client, Reading), Error> {
        let since = Instant::now();
        let mut daemon = DaemonProcess::start(&self.environment)?;
        let mut client = daemon.client(&self.environment)?;
        search(&mut client, "tide", true)?;
        let seconds = since.elapsed().as_secs_f64();
        let pid = client.welcome().pid;
        let (cpu_seconds, memory) = (process::cpu_seconds(pid), process::memory(pid));
        let status = DaemonProcess::wait_until_caught_up(&mut client)?;
        match status.sessions.get("indexed") {
            Some(indexed) if *indexed == u64::from(sessions) => {}
            _ => {
                let what = format!("of {sessions} sessions, states: {:?}; {:?}", status.sessions, status.roots);
                return Err(Error::NothingMeasured(what));
            }
        }
        Ok((daemon, client, Reading { seconds, cpu_seconds, memory }))
    }
}

fn search(client: &mut Client, query: &str, wait: bool) -> Result<Search, Error> {
    let params = SearchParams { query: query.to_owned(), limit: 1, wait, ..SearchParams::default() };
    Ok(client.call(method::SEARCH, &params, |_| {})?)
}

impl Database {
    /// The figures as a table.
    pub fn table(&self) -> Table {
        let mut table = Table::new("Database", self.how);
        let (bytes, file) = (megabytes(self.bytes), megabytes(self.file_bytes));
        table.row("written", format!("{bytes} in {} sessions, a file of {file}", self.sessions));
        for (name, reading) in [("read", self.index), ("read by a new daemon", self.restart)] {
            let rate = self.bytes as f64 / 1e6 / reading.seconds;
            let cpu = reading.cpu_seconds.map_or(String::new(), |cpu| format!(", {cpu:.1} s of processor"));
            table.row(name, format!("{:.1} s, {rate:.1} MB/s{cpu}", reading.seconds));
            if let Some(memory) = reading.memory {
                table.row("  memory", format!("{} at most, {}", megabytes(memory.peak_bytes), memory.text()));
            }
        }
        let cpu_text = |ms: Option<f64>| ms.map_or(String::new(), |ms| format!(", {ms:.1} ms of processor each"));
        table.row("commit to answer", format!("{}{}", self.to_answer.text(), cpu_text(self.to_answer_cpu_ms)));
        for (name, commits) in [("write-ahead log", self.log), ("rollback journal", self.rollback)] {
            let log = |bytes: u64| format!("{} KB beside it", bytes / 1_000);
            table.row(name, format!("alone: {}, {}", commits.alone.text(), log(commits.log_bytes_alone)));
            let cpu = cpu_text(commits.cpu_ms);
            let followed = format!("{}, {}{cpu}", commits.followed.text(), log(commits.log_bytes_followed));
            table.row("", format!("followed: {followed}"));
        }
        table
    }
}
