//! A daemon with very many sessions, all of them at rest.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use baton::environment::Environment;
use baton_protocol::answer::Search;
use baton_protocol::{SearchParams, method};
use serde::Serialize;

use super::super::daemon_process::DaemonProcess;
use super::super::{Error, Memory, Outcome, Table, process};

/// Rest before the daemon is watched.
const SETTLE: Duration = Duration::from_secs(5);

/// Cost of very many sessions at rest.
#[derive(Clone, Debug, Serialize)]
pub struct Resting {
    /// How this was measured.
    pub how: &'static str,
    /// From starting the process to its first answer.
    pub restart_ms: f64,
    /// Memory after its first answer to a search.
    pub memory: Memory,
    /// Context switches of all threads per second.
    pub wakeups_per_second: f64,
    /// Processor time divided by wall time, in percent of one core.
    pub cpu_percent: f64,
}

pub(super) fn measure(environment: &Environment, sessions: u64, watch: Duration) -> Result<Outcome<Resting>, Error> {
    // The first daemon brings everything into its memory and ends in order.
    let mut first = DaemonProcess::start(environment)?;
    let mut client = first.client(environment)?;
    DaemonProcess::wait_until_caught_up(&mut client)?;
    drop(client);
    first.end(environment)?;

    let since = Instant::now();
    let mut daemon = DaemonProcess::start(environment)?;
    let mut client = daemon.client(environment)?;
    let known = DaemonProcess::status(&mut client)?;
    let restart_ms = since.elapsed().as_secs_f64() * 1000.0;
    let indexed = known.sessions.get("indexed").copied().unwrap_or(0);
    let params = SearchParams { query: "ledger export".to_owned(), limit: 10, ..SearchParams::default() };
    let found: Search = client.call(method::SEARCH, &params, |_| {})?;
    if indexed != sessions || found.hits.is_empty() {
        return Err(Error::NothingMeasured(format!(
            "{indexed} of {sessions} sessions are known, {} found",
            found.hits.len()
        )));
    }
    let pid = client.welcome().pid;
    std::thread::sleep(SETTLE);
    let Some(before) = process::activity(pid) else {
        daemon.end(environment)?;
        return Ok(Outcome::skipped(process::ONLY_LINUX));
    };
    let since = Instant::now();
    std::thread::sleep(watch);
    let gone = || Error::NothingMeasured("the daemon is gone".to_owned());
    let after = process::activity(pid).ok_or_else(gone)?;
    let seconds = since.elapsed().as_secs_f64();
    let memory = process::memory(pid).ok_or_else(gone)?;
    daemon.end(environment)?;
    let woken = |activity: &BTreeMap<String, u64>| activity.values().sum::<u64>();
    Ok(Outcome::Measured(Resting {
        how: "A daemon started over the log, its memory built before; no transcripts. Everything at rest: no session has an actor. \
              Watched after its first answer and 5 s of rest, from /proc.",
        restart_ms,
        memory,
        wakeups_per_second: woken(&after.switches).saturating_sub(woken(&before.switches)) as f64 / seconds,
        cpu_percent: 100.0 * (after.cpu_seconds - before.cpu_seconds) / seconds,
    }))
}

impl Resting {
    pub(super) fn table(&self) -> Table {
        let mut table = Table::new("Sessions at rest", self.how);
        table.row("restart", format!("answers after {:.0} ms", self.restart_ms));
        table.row("memory", self.memory.text());
        table.row("wake-ups", format!("{:.1} /s", self.wakeups_per_second));
        table.row("processor", format!("{:.2} % of one core", self.cpu_percent));
        table
    }
}
