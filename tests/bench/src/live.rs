//! A session written at its own pace, while an agent searches now and then.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use baton_protocol::answer::Show;
use baton_protocol::{ShowParams, method};
use serde::Serialize;
use serde_json::json;

use super::mcp::Server;
use super::{Corpus, Error, Outcome, Table, TestDaemon, corpus, io_error, latency, process};

/// Interval between two searches.
const ASK: Duration = Duration::from_secs(15);

/// Longest pause between two lines: that of an active session, not of one that waits for its user.
const PAUSE: Duration = Duration::from_secs(10);
/// Time to let the daemon finish its last work before the session begins.
const SETTLE: Duration = Duration::from_secs(5);

/// Cost of following a session.
#[derive(Clone, Debug, Serialize)]
pub struct Live {
    /// How this was measured.
    pub how: &'static str,
    /// How long the session was written.
    pub seconds: f64,
    /// Speed relative to the original session.
    pub pace: u32,
    /// Lines written.
    pub lines: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Searches made meanwhile.
    pub searches: u64,
    /// Processor time of the daemon divided by wall time, in percent of one core.
    pub daemon_cpu_percent: f64,
    /// The same of `baton mcp`; absent if it was not running.
    pub mcp_cpu_percent: Option<f64>,
}

pub(super) fn measure(
    daemon: &mut TestDaemon,
    claude: &Path,
    seed: u64,
    duration: Duration,
) -> Result<Outcome<Live>, Error> {
    let mut server = Server::start(daemon)?.ok();
    if let Some(server) = &mut server {
        server.be_ready()?;
    }
    std::thread::sleep(SETTLE);
    let Some(daemon_before) = process::cpu_seconds(daemon.pid()) else {
        return Ok(Outcome::skipped(process::ONLY_LINUX));
    };
    let mcp_before = server.as_ref().and_then(|server| process::cpu_seconds(server.pid()));
    let began_ms = latency::now_ms();
    let live = corpus::live(seed, began_ms);
    let path = claude.join(&live.path);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(io_error("create", folder))?;
    }
    let file = OpenOptions::new().create(true).append(true).open(&path);
    let mut file = file.map_err(io_error("create", &path))?;
    let (since, mut asked) = (Instant::now(), Duration::ZERO);
    let (mut lines, mut bytes, mut searches) = (0, 0, 0);
    let mut wait = |until: Duration| -> Result<(), Error> {
        while since.elapsed() < until {
            std::thread::sleep(until.min(asked + ASK).saturating_sub(since.elapsed()));
            if since.elapsed() >= asked + ASK {
                asked += ASK;
                searches += 1;
                ask(daemon, server.as_mut())?;
            }
        }
        Ok(())
    };
    let (mut due, mut before_ms) = (Duration::ZERO, began_ms);
    for (at_ms, line) in &live.lines {
        due += Duration::from_millis(u64::try_from(at_ms - before_ms).unwrap_or(0)).min(PAUSE);
        before_ms = *at_ms;
        if due > duration {
            break;
        }
        wait(due)?;
        file.write_all(line.as_bytes()).map_err(io_error("append to", &path))?;
        (lines, bytes) = (lines + 1, bytes + line.len() as u64);
    }
    wait(duration)?;
    let seconds = since.elapsed().as_secs_f64();
    let cpu = |pid, before| process::cpu_seconds(pid).map(|after| 100.0 * (after - before) / seconds);
    let daemon_cpu_percent =
        cpu(daemon.pid(), daemon_before).ok_or_else(|| Error::NothingMeasured("the daemon is gone".to_owned()))?;
    let mcp_cpu_percent = server.as_ref().zip(mcp_before).and_then(|(server, before)| cpu(server.pid(), before));
    was_read(daemon, &path)?;
    Ok(Outcome::Measured(Live {
        how: "Lines of a session of the corpus are appended with its own pauses between them (at most 10 s), and something is searched \
              for every 15 s, through `baton mcp` where there is one; processor time from /proc.",
        seconds,
        pace: 1,
        lines,
        bytes,
        searches,
        daemon_cpu_percent,
        mcp_cpu_percent,
    }))
}

fn ask(daemon: &mut TestDaemon, server: Option<&mut Server>) -> Result<(), Error> {
    match server {
        Some(server) => {
            let arguments = json!({ "query": Corpus::COMMON_WORD });
            server.call("tools/call", &json!({ "name": "search_nodes", "arguments": arguments })).map(drop)
        }
        None => daemon.ask(Corpus::COMMON_WORD, false).map(drop),
    }
}

/// Checks that the daemon has read what was written.
fn was_read(daemon: &mut TestDaemon, path: &Path) -> Result<(), Error> {
    daemon.ask(Corpus::COMMON_WORD, false)?;
    let session = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    let shown: Show = daemon.client.call(method::SHOW, &ShowParams { session }, |_| {})?;
    match shown.row.message_count {
        0 => Err(Error::NothingMeasured(format!("nothing of {} was read", path.display()))),
        _ => Ok(()),
    }
}

impl Live {
    pub(super) fn table(&self) -> Table {
        let mut table = Table::new("Live session", self.how);
        table.row(
            "written",
            format!("{} lines, {} bytes in {:.0} s, pace {}:1", self.lines, self.bytes, self.seconds, self.pace),
        );
        table.row("searches meanwhile", self.searches.to_string());
        table.row("processor, daemon", format!("{:.2} % of one core", self.daemon_cpu_percent));
        if let Some(percent) = self.mcp_cpu_percent {
            table.row("processor, mcp", format!("{percent:.2} % of one core"));
        }
        table
    }
}
