//! An idle daemon: processor time, wake-ups, writes and memory; and a restart over what is already indexed.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use baton::client::{Client, Daemon};
use baton::environment::Environment;
use serde::Serialize;

use super::workspace::{self, Workspace};
use super::{Error, Memory, Outcome, Table, TestDaemon, io_error, process, program};

/// Time to let the daemon finish its last work before it is watched.
pub(super) const SETTLE: Duration = Duration::from_secs(5);

/// Cost of an idle daemon.
#[derive(Clone, Debug, Serialize)]
pub struct Idle {
    /// How this was measured.
    pub how: &'static str,
    /// How long the daemon was watched.
    pub seconds: f64,
    /// Processor time divided by wall time, in percent of one core.
    pub cpu_percent: f64,
    /// Context switches of all threads per second, voluntary or not.
    pub wakeups_per_second: f64,
    /// The same by thread name.
    pub wakeups_of: BTreeMap<String, f64>,
    /// Number of `write` calls and the like.
    pub write_calls: u64,
    /// Bytes sent to the disk.
    pub written_bytes: u64,
    /// Memory of a daemon in an empty home without transcripts.
    pub memory_empty: Memory,
    /// Memory after indexing the corpus.
    pub memory_after: Memory,
    /// Memory of a daemon restarted over the indexed corpus, after its first answer.
    pub memory_restarted: Memory,
    /// From the restart until it is ready.
    pub restart_ms: f64,
}

pub(super) fn measure(daemon: &TestDaemon, workspace: &Workspace, watch: Duration) -> Result<Outcome<Idle>, Error> {
    std::thread::sleep(SETTLE);
    let Some(before) = process::activity(daemon.pid()) else { return Ok(Outcome::skipped(process::ONLY_LINUX)) };
    let since = Instant::now();
    std::thread::sleep(watch);
    let after = process::activity(daemon.pid()).ok_or_else(gone)?;
    let seconds = since.elapsed().as_secs_f64();
    let wakeups_of: BTreeMap<String, f64> = after
        .switches
        .into_iter()
        .map(|(name, count)| {
            let woken = count.saturating_sub(before.switches.get(&name).copied().unwrap_or(0));
            (name, woken as f64 / seconds)
        })
        .collect();
    let memory_after = process::memory(daemon.pid()).ok_or_else(gone)?;
    let (restart_ms, memory_restarted) = restart(daemon.environment(), workspace)?;
    Ok(Outcome::Measured(Idle {
        how: "After indexing and 5 s of rest, from /proc: processor time, context switches of all threads (a wake-up is \
              one), write calls and bytes. fsync has no counter there: without a write there is nothing to sync. The \
              restarted daemon runs over a copy of the home, made while the first one runs.",
        seconds,
        cpu_percent: 100.0 * (after.cpu_seconds - before.cpu_seconds) / seconds,
        wakeups_per_second: wakeups_of.values().sum(),
        wakeups_of,
        write_calls: after.write_calls.saturating_sub(before.write_calls),
        written_bytes: after.written_bytes.saturating_sub(before.written_bytes),
        memory_empty: empty(workspace.path())?,
        memory_after,
        memory_restarted,
        restart_ms,
    }))
}

/// Memory of a daemon without any transcripts.
fn empty(below: &Path) -> Result<Memory, Error> {
    let claude = below.join("nobody");
    std::fs::create_dir_all(claude.join("projects")).map_err(io_error("create", &claude))?;
    let mut daemon = TestDaemon::start(&claude)?;
    daemon.ask("nothing", true)?;
    process::memory(daemon.pid()).ok_or_else(gone)
}

/// Starts a daemon over a copy of the home.
fn restart(environment: &Environment, workspace: &Workspace) -> Result<(f64, Memory), Error> {
    let home = workspace.path().join("restarted");
    workspace::copy(&environment.home, &home)?;
    let environment = environment.with_home(home);
    let since = Instant::now();
    let daemon = Daemon::start_program(&program::baton()?, &environment, &["--throwaway"], Stdio::piped())?;
    let restart_ms = since.elapsed().as_secs_f64() * 1000.0;
    let measured = first_answer(&environment);
    daemon.end();
    Ok((restart_ms, measured?))
}

fn first_answer(environment: &Environment) -> Result<Memory, Error> {
    use baton_protocol::answer::Search;
    use baton_protocol::{SearchParams, method};
    let mut client = Client::connect(environment)?.ok_or_else(gone)?;
    let params =
        SearchParams { query: super::Corpus::COMMON_WORD.to_owned(), limit: 10, wait: true, ..SearchParams::default() };
    let found: Search = client.call(method::SEARCH, &params, |_| {})?;
    match found.hits.is_empty() {
        true => Err(Error::NothingMeasured("a daemon over a copy of the home finds nothing".to_owned())),
        false => process::memory(client.welcome().pid).ok_or_else(gone),
    }
}

fn gone() -> Error {
    Error::NothingMeasured("the daemon is gone".to_owned())
}

impl Idle {
    pub(super) fn table(&self) -> Table {
        let mut table = Table::new("Idle", self.how);
        table.row("watched for", format!("{:.0} s", self.seconds));
        table.row("processor", format!("{:.2} % of one core", self.cpu_percent));
        table.row("wake-ups", format!("{:.1} /s", self.wakeups_per_second));
        for (name, woken) in self.wakeups_of.iter().filter(|(_, woken)| **woken >= 0.05) {
            table.row(&format!("  thread {name}"), format!("{woken:.1} /s"));
        }
        table.row("writes", format!("{} calls, {} bytes for the disk", self.write_calls, self.written_bytes));
        table.row("memory, nothing indexed", self.memory_empty.text());
        table.row("memory, after indexing", self.memory_after.text());
        table.row("memory, restarted", self.memory_restarted.text());
        table.row("restart", format!("ready after {:.0} ms", self.restart_ms));
        table
    }
}
