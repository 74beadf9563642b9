//! A large log: durable appends, restart, rebuild, and a daemon with ten thousand sessions at rest.

mod appending;
pub(super) mod history;
mod resting;

use std::path::Path;
use std::time::Instant;

use baton::environment::Environment;
use baton_conversation::record::Timestamp;
use baton_journal::session_table::TableFold;
use baton_journal::{DiskJournal, Journal, Options};
use serde::Serialize;

pub use appending::Appends;
pub use resting::Resting;

use super::disk::folder_size;
use super::workspace::{self, Workspace};
use super::{Error, Outcome, Table, io_error, program};

/// Bytes of an MB.
const MB: f64 = 1_000_000.0;

/// Cost of a log of this size.
#[derive(Clone, Debug, Serialize)]
pub struct Log {
    /// How this was measured.
    pub how: &'static str,
    /// Sessions in the log.
    pub sessions: u64,
    /// Events in the log.
    pub events: u64,
    /// Durable appends with few and many writers.
    pub appends: Vec<Appends>,
    /// Time to open the log after an orderly close.
    pub open_ms: f64,
    /// Events per second when opening it with nothing but the segments.
    pub rebuild_events_per_second: f64,
    /// `baton log verify --quick`, the whole process, in MB of segments as they were before sealing per second.
    pub verify_mb_per_second: f64,
    /// `baton log export` with the conversations, the whole process, in events per second.
    pub export_events_per_second: f64,
    /// `baton replay --summary` of the exported file, the whole process, in events per second.
    pub replay_events_per_second: f64,
    /// A daemon over the log.
    pub resting: Outcome<Resting>,
    /// Bytes of segments per session.
    pub segment_bytes_per_session: u64,
    /// Bytes of segments per session as they were before sealing.
    pub unsealed_bytes_per_session: u64,
    /// Bytes of sled's directory per session.
    pub sled_bytes_per_session: u64,
    /// Bytes of conversations per session; each consists of two sentences.
    pub blob_bytes_per_session: u64,
}

pub(super) fn measure(workspace: &Workspace, events: u64, watch: std::time::Duration) -> Result<Log, Error> {
    let home = workspace.path().join("home");
    let claude = workspace.path().join("claude");
    std::fs::create_dir_all(claude.join("projects")).map_err(io_error("create", &claude))?;
    baton_base::durable::create_private_folder(&home).map_err(io_error("create", &home))?;
    let appends = appending::measure(&workspace.path().join("appends"))?;
    let sessions = events.div_ceil(history::EVENTS_PER_SESSION).max(1);
    let events = sessions * history::EVENTS_PER_SESSION;
    let runtime = tokio::runtime::Builder::new_current_thread().build().map_err(io_error("start", &home))?;
    runtime.block_on(history::write(&home, sessions))?;

    let log = home.join("log");
    let open_ms = open(&log, events)? * 1000.0;
    let sled = workspace.path().join("sled-kept");
    workspace::copy(&log.join("sled"), &sled)?;
    std::fs::remove_dir_all(log.join("sled")).map_err(io_error("remove", &log))?;
    let rebuild = events as f64 / open(&log, events)?;

    let environment = Environment::isolated(home.clone(), claude);
    let file = workspace.path().join("export.jsonl");
    let exported = file.display().to_string();
    let (verified, answer) = run(&environment, &["log", "verify", "--quick", "--json"])?;
    let answer: serde_json::Value =
        serde_json::from_slice(&answer).map_err(|error| Error::NothingMeasured(error.to_string()))?;
    let unsealed = answer["checked"]["segment_bytes"].as_u64().unwrap_or(0);
    let (export, _) = run(&environment, &["log", "export", "-o", &exported])?;
    let (replay, _) = run(&environment, &["replay", &exported, "--summary", "--json"])?;
    std::fs::remove_file(&file).map_err(io_error("remove", &file))?;
    let segments = folder_size(&log.join("segments")).bytes;
    let resting = resting::measure(&environment, sessions, watch)?;
    Ok(Log {
        how: "A log as a daemon would have written it: per session 14 rounds of work, 99 events. Appends, opening and rebuilding \
              in this process, everything else whole processes; files in the page cache. Appends are durable when they are \
              counted: each writer waits for its answer before the next one.",
        sessions,
        events,
        appends,
        open_ms,
        rebuild_events_per_second: rebuild,
        verify_mb_per_second: unsealed as f64 / MB / verified,
        export_events_per_second: events as f64 / export,
        replay_events_per_second: events as f64 / replay,
        resting,
        segment_bytes_per_session: segments / sessions,
        unsealed_bytes_per_session: unsealed / sessions,
        sled_bytes_per_session: folder_size(&log.join("sled")).bytes / sessions,
        blob_bytes_per_session: folder_size(&home.join("blobs")).bytes / sessions,
    })
}

/// Opens and closes the log. Returns the seconds until it could be read and written.
fn open(log: &Path, events: u64) -> Result<f64, Error> {
    let (fold, table) = TableFold::new();
    let since = Instant::now();
    let journal = DiskJournal::open(Options::new(log, Timestamp(0)), Box::new(fold));
    let journal = journal.map_err(|error| Error::NothingMeasured(error.to_string()))?;
    let seconds = since.elapsed().as_secs_f64();
    let found = journal.tail().position.0;
    if found != events || table.now().is_empty() {
        return Err(Error::NothingMeasured(format!("{found} of {events} events are in the log")));
    }
    journal.close();
    Ok(seconds)
}

/// Runs `baton` to its end and returns the seconds, and what it printed.
fn run(environment: &Environment, arguments: &[&str]) -> Result<(f64, Vec<u8>), Error> {
    let mut command = program::command(environment)?;
    let since = Instant::now();
    let ended = command.args(arguments).output().map_err(io_error("run", Path::new("baton")))?;
    let seconds = since.elapsed().as_secs_f64();
    match ended.status.success() {
        true => Ok((seconds, ended.stdout)),
        false => {
            let said = String::from_utf8_lossy(&ended.stderr).trim().to_owned();
            Err(Error::NothingMeasured(format!("`baton {}` failed: {said}", arguments.join(" "))))
        }
    }
}

impl Log {
    pub(super) fn table(&self) -> Vec<Table> {
        let mut table = Table::new("Log", self.how);
        table.row("size", format!("{} events of {} sessions", self.events, self.sessions));
        for appends in &self.appends {
            table.row(&format!("durable appends, {} at once", appends.writers), appends.text());
        }
        table.row("open", format!("{:.0} ms", self.open_ms));
        table.row("rebuild of sled", format!("{:.0} events/s", self.rebuild_events_per_second));
        table.row("verify --quick", format!("{:.0} MB/s of segments before sealing", self.verify_mb_per_second));
        table.row("export", format!("{:.0} events/s", self.export_events_per_second));
        table.row("replay", format!("{:.0} events/s", self.replay_events_per_second));
        table.row("bytes a session, segments", self.segment_bytes_per_session.to_string());
        table.row("bytes a session, before sealing", self.unsealed_bytes_per_session.to_string());
        table.row("bytes a session, sled", self.sled_bytes_per_session.to_string());
        table.row("bytes a session, conversation", self.blob_bytes_per_session.to_string());
        vec![table, self.resting.table("Sessions at rest", Resting::table)]
    }
}
