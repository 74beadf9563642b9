//! A relay between two homes: how fast events and conversations go through it, how soon a session that ends is found in
//! the other home, and what it costs while nothing happens. Over a folder, and over the real NATS server.

mod home;

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use baton_endpoint::nats::NatsServer;
use baton_protocol::answer::RelayStatus;
use serde::Serialize;

use super::daemon_process::DaemonProcess;
use super::disk::folder_size;
use super::idle::SETTLE;
use super::log::history;
use super::sample::Sample;
use super::table::megabytes;
use super::workspace::{self, Workspace};
use super::{Corpus, CorpusOptions, Error, Memory, Outcome, Spread, Table, io_error, latency, process};
use home::Home;

const MB: f64 = 1_000_000.0;

/// What goes through the relay.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The sessions of the first sync.
    pub corpus: CorpusOptions,
    /// Events for the speed of events.
    pub events: u64,
    /// Sessions of which each is searched for in the other home.
    pub rounds: u32,
    /// How long idle daemons are watched; zero to leave that out.
    pub idle: Duration,
}

/// What relays cost.
#[derive(Clone, Debug, Serialize)]
pub struct Relays {
    /// How this was measured.
    pub how: &'static str,
    /// `release` or `debug`; figures of a debug build do not apply to what users run.
    pub build: &'static str,
    /// A folder on this machine.
    pub folder: Relay,
    /// The server on this machine.
    pub server: Outcome<Relay>,
}

/// What one of them costs.
#[derive(Clone, Debug, Serialize)]
pub struct Relay {
    /// Sessions with many events and little text.
    pub events: Sync,
    /// Sessions like real ones.
    pub conversations: Sync,
    /// From before a session's end to a search in the other home that finds it.
    pub end_to_hit: Spread,
    /// The end alone: the session is read, indexed and durable.
    pub end: Spread,
    /// Daemons at rest; absent where the system does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle: Option<Idle>,
    /// What lies on the relay in the end.
    pub relay_bytes: u64,
    /// The server's own resources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<Server>,
}

/// All sessions of one home brought to another.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Sync {
    /// Sessions.
    pub sessions: u64,
    /// Published events.
    pub events: u64,
    /// Bytes of conversations, before compression.
    pub chunk_bytes: u64,
    /// Seconds until everything was published.
    pub publish_seconds: f64,
    /// Seconds from joining the team until the other home has recorded everything.
    pub apply_seconds: f64,
}

/// Two daemons at rest, of which the second has taken everything in.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Idle {
    /// How long they were watched.
    pub seconds: f64,
    /// Processor time in percent of one core, of the home that publishes and of the other one.
    pub cpu_percent: [f64; 2],
    /// The same while the relay is paused.
    pub paused_cpu_percent: [f64; 2],
    /// Memory of the second daemon, started anew.
    pub memory: Memory,
    /// The same while the relay is paused.
    pub paused_memory: Memory,
}

/// A server that has carried all of this.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Server {
    /// Processor time.
    pub cpu_seconds: f64,
    /// Its memory in the end, and its peak.
    pub memory: Memory,
}

/// What carries.
enum Carrier {
    Folder(PathBuf),
    Server(NatsServer),
}

impl Carrier {
    fn url(&self) -> String {
        match self {
            Self::Folder(folder) => folder.display().to_string(),
            Self::Server(server) => server.url(),
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Self::Folder(folder) => folder_size(folder).bytes,
            Self::Server(server) => folder_size(&server.store()).bytes,
        }
    }
}

/// Measures relays. Calls `progress` with each step.
pub fn measure(options: &Options, progress: impl Fn(&str)) -> Result<Relays, Error> {
    let workspace = Workspace::new()?;
    progress("writing and indexing a corpus");
    let claude = workspace.path().join("claude");
    let corpus = Corpus::write(options.corpus, &claude)?;
    let indexed = workspace.path().join("indexed");
    let mut home = Home::start(&indexed, &claude, false)?;
    home.index(&corpus)?;
    home.end()?;
    progress("writing a history of events");
    let history = workspace.path().join("history");
    baton_base::durable::create_private_folder(&history).map_err(io_error("create", &history))?;
    let runtime = tokio::runtime::Builder::new_current_thread().build().map_err(io_error("start", &history))?;
    let sessions = options.events.div_ceil(history::EVENTS_PER_SESSION).max(1);
    runtime.block_on(history::write(&history, sessions))?;

    let over = |name: &str, carrier: [Carrier; 2]| -> Result<Relay, Error> {
        over(options, &workspace.path().join(name), &history, &indexed, &claude, carrier, |what| {
            progress(&format!("{name}: {what}"));
        })
    };
    let folders = ["events", "sessions"].map(|kind| Carrier::Folder(workspace.path().join(format!("relay-{kind}"))));
    let folder = over("folder", folders)?;
    let start = |kind: &str| {
        let at = workspace.path().join(format!("server-{kind}"));
        NatsServer::start(&at, "").map_err(io_error("start a server in", workspace.path()))
    };
    let server = match (start("events")?, start("sessions")?) {
        (Some(events), Some(sessions)) => {
            Outcome::Measured(over("server", [Carrier::Server(events), Carrier::Server(sessions)])?)
        }
        _ => Outcome::skipped("Not measured: there is no nats-server on this machine."),
    };
    Ok(Relays {
        how: "Two daemons and the relay on this machine. Publishing: from `relay init` until nothing is owed. Taking in: \
              from `relay join` until everything is recorded in the other home; what follows in its memory is not part \
              of it. End to hit: a session of two lines is closed, and the other home is searched every 2 ms until it \
              has its word. At rest: processor time after 5 s of rest; memory of a daemon that was started anew, with \
              the relay and while it is paused.",
        build: if cfg!(debug_assertions) { "debug" } else { "release" },
        folder,
        server,
    })
}

fn over(
    options: &Options,
    below: &Path,
    history: &Path,
    indexed: &Path,
    claude: &Path,
    [of_events, of_sessions]: [Carrier; 2],
    progress: impl Fn(&str),
) -> Result<Relay, Error> {
    let nobody = below.join("nobody");
    progress("events");
    let (events, _, _) = sync(&below.join("events"), history, &nobody, &of_events)?;
    drop(of_events);
    progress("conversations");
    let (conversations, mut ann, mut bob) = sync(&below.join("sessions"), indexed, claude, &of_sessions)?;
    DaemonProcess::wait_until_caught_up(bob.client()?)?;
    progress("ends of sessions");
    let (mut end_to_hit, mut end) = (Sample::default(), Sample::default());
    for number in 1..=options.rounds as usize {
        let id = ann.write(number)?;
        end_to_hit.time(|| {
            end.time(|| ann.close(&id))?;
            bob.wait_for_hit(&latency::word(number))
        })?;
    }
    let idle = match options.idle.is_zero() {
        true => None,
        false => {
            progress("watching them do nothing");
            idle(&mut ann, &mut bob, options.idle)?
        }
    };
    let server = match &of_sessions {
        Carrier::Server(server) => server
            .id()
            .and_then(|pid| Some(Server { cpu_seconds: process::cpu_seconds(pid)?, memory: process::memory(pid)? })),
        Carrier::Folder(_) => None,
    };
    let relay_bytes = of_sessions.bytes();
    ann.end()?;
    bob.end()?;
    Ok(Relay { events, conversations, end_to_hit: end_to_hit.spread(), end: end.spread(), idle, relay_bytes, server })
}

/// Brings all sessions of a home, of which a copy is used, into an empty one.
fn sync(below: &Path, home: &Path, claude: &Path, carrier: &Carrier) -> Result<(Sync, Home, Home), Error> {
    let (ann, bob) = (below.join("ann"), below.join("bob"));
    workspace::copy(home, &ann)?;
    let mut ann = Home::start(&ann, claude, true)?;
    let since = Instant::now();
    ann.init(&carrier.url())?;
    ann.wait_for("everything published", |status| {
        own(status).is_some_and(|own| own > 0) && status.connected && status.lag.out.events == 0
    })?;
    let publish_seconds = since.elapsed().as_secs_f64();
    let (sessions, events, chunk_bytes) = published(ann.folder())?;
    if sessions == 0 {
        return Err(Error::NothingMeasured("nothing was published".to_owned()));
    }
    let invitation = ann.invite()?;
    let mut bob = Home::start(&bob, &below.join("nobody"), false)?;
    let since = Instant::now();
    bob.join(invitation)?;
    bob.wait_for("everything taken in", |status| {
        let theirs = status.writers.iter().find(|writer| !writer.me).map_or(0, |writer| writer.sessions);
        theirs == sessions && status.lag.incoming.events == 0
    })?;
    let apply_seconds = since.elapsed().as_secs_f64();
    Ok((Sync { sessions, events, chunk_bytes, publish_seconds, apply_seconds }, ann, bob))
}

/// Sessions that a home has published itself.
fn own(status: &RelayStatus) -> Option<u64> {
    status.writers.iter().find(|writer| writer.me).map(|writer| writer.sessions)
}

/// What a home has recorded as published: sessions, events, bytes of conversations.
fn published(home: &Path) -> Result<(u64, u64, u64), Error> {
    let relay = home.join("relay");
    let folders = std::fs::read_dir(&relay).map_err(io_error("read", &relay))?.flatten();
    let (mut sessions, mut events, mut bytes) = (std::collections::BTreeSet::new(), 0, 0);
    for log in folders.map(|folder| folder.path().join("log")).filter(|log| log.is_file()) {
        let file = std::fs::File::open(&log).map_err(io_error("read", &log))?;
        for line in BufReader::new(file).lines() {
            let line = line.map_err(io_error("read", &log))?;
            let json = line.split_once(' ').map_or("", |(_, json)| json);
            let line: serde_json::Value =
                serde_json::from_str(json).map_err(|error| Error::NothingMeasured(error.to_string()))?;
            let batch = &line["batch"];
            sessions.extend(batch["session"].as_str().map(str::to_owned));
            events += batch["events"].as_array().map_or(0, Vec::len) as u64;
            let chunks = batch["conversation"]["chunks"].as_array().into_iter().flatten();
            bytes += chunks.filter_map(|chunk| chunk["bytes"].as_u64()).sum::<u64>();
        }
    }
    Ok((sessions.len() as u64, events, bytes))
}

fn idle(ann: &mut Home, bob: &mut Home, watch: Duration) -> Result<Option<Idle>, Error> {
    let watched = |ann: &mut Home, bob: &mut Home| -> Result<Option<([f64; 2], f64)>, Error> {
        std::thread::sleep(SETTLE);
        let pids = [ann.pid()?, bob.pid()?];
        let cpu = || pids.map(process::cpu_seconds);
        let (since, before) = (Instant::now(), cpu());
        std::thread::sleep(watch);
        let (after, seconds) = (cpu(), since.elapsed().as_secs_f64());
        let share = |home: usize| Some(100.0 * (after[home]? - before[home]?) / seconds);
        Ok(share(0).zip(share(1)).map(|(ann, bob)| ([ann, bob], seconds)))
    };
    let memory = |bob: &mut Home| -> Result<Option<Memory>, Error> {
        bob.restart()?;
        std::thread::sleep(SETTLE);
        Ok(process::memory(bob.pid()?))
    };
    let Some((cpu_percent, seconds)) = watched(ann, bob)? else { return Ok(None) };
    let of_relay = memory(bob)?;
    for home in [&mut *ann, bob] {
        home.pause(true)?;
    }
    let paused = watched(ann, bob)?;
    let of_paused = memory(bob)?;
    Ok(paused.zip(of_relay.zip(of_paused)).map(|((paused_cpu_percent, _), (memory, paused_memory))| Idle {
        seconds,
        cpu_percent,
        paused_cpu_percent,
        memory,
        paused_memory,
    }))
}

impl Sync {
    fn rows(&self, table: &mut Table, name: &str) {
        let size = format!("{} sessions, {} events, {}", self.sessions, self.events, megabytes(self.chunk_bytes));
        table.row(name, size);
        for (what, seconds) in [("  published", self.publish_seconds), ("  taken in", self.apply_seconds)] {
            let (events, mb) = (self.events as f64 / seconds, self.chunk_bytes as f64 / MB / seconds);
            table.row(what, format!("{seconds:.1} s: {events:.0} events/s, {mb:.1} MB/s of conversations"));
        }
    }
}

impl Relay {
    fn table(&self, title: &str) -> Table {
        let mut table = Table::new(title, "");
        self.events.rows(&mut table, "events");
        self.conversations.rows(&mut table, "conversations");
        table.row("end of a session to a hit", self.end_to_hit.text());
        table.row("  of that, the end", self.end.text());
        if let Some(idle) = &self.idle {
            let [ann, bob] = idle.cpu_percent;
            table.row("at rest, publisher and reader", format!("{ann:.2} % and {bob:.2} % of one core"));
            let [ann, bob] = idle.paused_cpu_percent;
            table.row("  paused", format!("{ann:.2} % and {bob:.2} %"));
            table.row("  memory of the reader", idle.memory.text());
            table.row("  paused", idle.paused_memory.text());
        }
        table.row("on the relay", megabytes(self.relay_bytes));
        if let Some(server) = &self.server {
            let (cpu, peak) = (server.cpu_seconds, megabytes(server.memory.peak_bytes));
            table
                .row("server", format!("{cpu:.1} s of processor, {peak} at most, {} in the end", server.memory.text()));
        }
        table
    }
}

impl Relays {
    /// The figures as tables.
    pub fn tables(&self) -> Vec<Table> {
        let how = Table::new("Relay", self.how);
        let server = self.server.table("Over a NATS server", |relay| relay.table("Over a NATS server"));
        vec![how, self.folder.table("Over a folder"), server]
    }
}
