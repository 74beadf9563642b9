//! What an idle daemon costs with the transcripts of one agent and of many.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use baton::client::Client;
use baton::environment::Environment;
use baton_protocol::Agent;
use baton_protocol::answer::Search;
use baton_protocol::{SearchParams, method};
use serde::Serialize;

use super::write;
use crate::corpus::random::Random;
use crate::daemon_process::DaemonProcess;
use crate::idle::SETTLE;
use crate::workspace::Workspace;
use crate::{Error, Table, io_error, process};

/// Size of a transcript.
const BYTES: u64 = 12_000;
/// Agents with a usual place for their transcripts that all systems share.
const AGENTS: usize = 12;

/// What is watched.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Sessions of each agent.
    pub sessions: u32,
    /// How long each daemon is watched.
    pub watch: Duration,
}

/// Cost of idle daemons.
#[derive(Clone, Debug, Serialize)]
pub struct Roots {
    /// How this was measured.
    pub how: &'static str,
    /// One daemon each.
    pub daemons: Vec<IdleOver>,
}

/// Cost of one idle daemon.
#[derive(Clone, Debug, Serialize)]
pub struct IdleOver {
    /// Agents whose transcripts it reads.
    pub agents: usize,
    /// Sessions of all of them.
    pub sessions: u64,
    /// Directories that it watches.
    pub roots: usize,
    /// How long it was watched.
    pub seconds: f64,
    /// Processor time meanwhile.
    pub cpu_seconds: f64,
    /// Context switches of all threads meanwhile.
    pub wakeups: u64,
    /// The same by thread name.
    pub wakeups_of: BTreeMap<String, u64>,
    /// Number of `write` calls and the like.
    pub write_calls: u64,
}

/// Measures one agent, one agent with the sessions of all, and all agents. Calls `progress` with each step.
pub fn measure(options: Options, progress: impl Fn(&str)) -> Result<Roots, Error> {
    let all = &Agent::ALL[..AGENTS];
    let mut daemons = Vec::new();
    for (agents, sessions) in [(&all[..1], 1), (&all[..1], AGENTS as u32), (all, 1)] {
        progress(&format!("watching a daemon with {} of {sessions} times the sessions", agents.len()));
        daemons.push(watch(agents, sessions * options.sessions, options.watch)?);
    }
    let how = "After indexing and 5 s of rest, from /proc: processor time, context switches of all threads (a wake-up is \
               one), write calls.";
    Ok(Roots { how, daemons })
}

fn watch(agents: &[Agent], sessions: u32, watch: Duration) -> Result<IdleOver, Error> {
    let workspace = Workspace::new()?;
    let home = workspace.path().join("baton");
    baton_base::durable::create_private_folder(&home).map_err(io_error("create", &home))?;
    let claude = workspace.path().join("claude");
    let mut random = Random::new(1);
    for agent in agents {
        // The home is the user's, too.
        let below = if *agent == Agent::ClaudeCode { claude.clone() } else { home.join(agent.home().directory) };
        for number in 0..sessions {
            write(*agent, &usual_path(*agent, &below, number), BYTES, &mut random)?;
        }
    }
    let environment = Environment::isolated(home, claude);
    let mut daemon = DaemonProcess::start(&environment)?;
    let mut client = daemon.client(&environment)?;
    search(&mut client)?;
    let status = DaemonProcess::wait_until_caught_up(&mut client)?;
    let (known, expected) = (status.sessions.values().sum::<u64>(), agents.len() as u64 * u64::from(sessions));
    if known != expected {
        let what = format!("{known} of {expected} sessions are known, of {:?}", status.formats);
        return Err(Error::NothingMeasured(what));
    }
    let pid = client.welcome().pid;
    drop(client);
    std::thread::sleep(SETTLE);
    let activity = || process::activity(pid).ok_or_else(|| Error::NothingMeasured(process::ONLY_LINUX.to_owned()));
    let before = activity()?;
    let since = Instant::now();
    std::thread::sleep(watch);
    let after = activity()?;
    let seconds = since.elapsed().as_secs_f64();
    daemon.end(&environment)?;
    let woken = |(name, count): (String, u64)| {
        let woken = count.saturating_sub(before.switches.get(&name).copied().unwrap_or(0));
        (name, woken)
    };
    let wakeups_of: BTreeMap<String, u64> = after.switches.into_iter().map(woken).collect();
    Ok(IdleOver {
        agents: agents.len(),
        sessions: expected,
        roots: status.roots.iter().filter(|root| root.exists).count(),
        seconds,
        cpu_seconds: after.cpu_seconds - before.cpu_seconds,
        wakeups: wakeups_of.values().sum(),
        wakeups_of,
        write_calls: after.write_calls.saturating_sub(before.write_calls),
    })
}

fn search(client: &mut Client) -> Result<(), Error> {
    let params = SearchParams { query: "tide".to_owned(), limit: 1, wait: true, ..SearchParams::default() };
    let found: Search = client.call(method::SEARCH, &params, |_| {})?;
    match found.hits.is_empty() {
        true => Err(Error::NothingMeasured("nothing is found".to_owned())),
        false => Ok(()),
    }
}

/// Where the agent keeps its session of a number.
fn usual_path(agent: Agent, below: &Path, number: u32) -> PathBuf {
    let short = format!("{number:08x}");
    let id = format!("{short}-7b1e-4c55-9a01-d40f7a6b8c90");
    below.join(match agent {
        Agent::Codex => format!("sessions/2026/06/11/rollout-2026-06-11T19-15-00-{id}.jsonl"),
        Agent::Gemini => format!(".gemini/tmp/harbor/chats/session-2026-06-11T19-15-{short}.jsonl"),
        Agent::Qwen => format!("projects/-srv-harbor/chats/{id}.jsonl"),
        Agent::Copilot => format!("session-state/{id}/events.jsonl"),
        Agent::Pi => format!("sessions/--srv-harbor--/2026-06-11T19-15-00-000Z_{id}.jsonl"),
        Agent::Droid => format!("sessions/-srv-harbor/{id}.jsonl"),
        Agent::Cursor => format!("projects/srv-harbor/agent-transcripts/{id}/{id}.jsonl"),
        Agent::Kiro => format!("sessions/cli/{id}.jsonl"),
        Agent::Vibe => format!("logs/session/session_20260611_191500_{short}/messages.jsonl"),
        Agent::Antigravity => format!("brain/{id}/.system_generated/logs/transcript_full.jsonl"),
        Agent::Kimi => format!("sessions/harbor/session_{id}/agents/main/wire.jsonl"),
        Agent::Amp => format!("amp/threads/T-{id}.json"),
        _ => format!("projects/-srv-harbor/{id}.jsonl"),
    })
}

impl Roots {
    /// The figures as a table.
    pub fn table(&self) -> Table {
        let mut table = Table::new("Idle, by number of agents", self.how);
        for idle in &self.daemons {
            let what = format!("{} sessions in {} directories", idle.sessions, idle.roots);
            table.row(&format!("{} agents", idle.agents), what);
            table.row("  processor", format!("{:.2} s in {:.0} s", idle.cpu_seconds, idle.seconds));
            table.row("  wake-ups", format!("{}, {} write calls", idle.wakeups, idle.write_calls));
            for (name, woken) in idle.wakeups_of.iter().filter(|(_, woken)| **woken > 0) {
                table.row(&format!("    thread {name}"), woken.to_string());
            }
        }
        table
    }
}
