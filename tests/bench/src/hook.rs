//! Hooks: what each one costs the agent that waits for it, whatever state the daemon is in.
//!
//! A hook is measured as an agent runs it: as a process that is started, given its object and waited for. All variants
//! take turns, so that a busy moment of the machine affects them alike.

mod handoff;
mod hook_call;

use std::collections::BTreeMap;
use std::process::Command;

use serde::Serialize;

use super::sample::Sample;
use super::workspace::Workspace;
use super::{Error, Outcome, Spread, Table, io_error, process, program};
use hook_call::{Caller, Input};

/// The events for which an agent calls hooks.
const EVENTS: [&str; 7] =
    ["SessionStart", "UserPromptSubmit", "Stop", "SubagentStop", "PreCompact", "PostCompact", "SessionEnd"];
/// Calls of one kind in a row: enough to measure their processor time, few enough to take turns.
const IN_A_ROW: u32 = 25;
/// Programs to compare with, and their arguments.
const OTHERS: [(&str, [&str; 2]); 2] = [("python3", ["-c", "pass"]), ("node", ["-e", "0"])];

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Calls of each kind.
    pub runs: u32,
    /// Sessions known to the daemon when a handoff is measured; 0 to leave that out.
    pub sessions: u32,
}

/// Cost of hooks.
#[derive(Clone, Debug, Serialize)]
pub struct Hook {
    /// How this was measured.
    pub how: &'static str,
    /// `release` or `debug`; figures of a debug build do not apply to what users run.
    pub build: &'static str,
    /// Size of the program.
    pub binary_bytes: u64,
    /// With a running daemon.
    pub up: BTreeMap<&'static str, Cost>,
    /// Without a daemon.
    pub down: BTreeMap<&'static str, Cost>,
    /// With a stopped daemon that answers nothing.
    pub stopped: BTreeMap<&'static str, Cost>,
    /// Other programs that do nothing.
    pub others: BTreeMap<&'static str, Outcome<Cost>>,
    /// SessionStart with a handoff of the last session of its project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handoff: Option<Handoff>,
}

/// Cost of one call.
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    /// From before its start to its end.
    pub whole_process: Spread,
    /// Mean processor time of its process, in milliseconds; absent where the system does not report it.
    pub cpu_ms: Option<f64>,
}

/// Cost of a start with a handoff.
#[derive(Clone, Debug, Serialize)]
pub struct Handoff {
    /// Sessions known to the daemon, including subagents.
    pub sessions: u64,
    /// Mean size of the handoff, in bytes.
    pub told_bytes: u64,
    /// Cost of the calls.
    pub cost: Cost,
}

/// Measurements of one kind of call while they are taken.
#[derive(Default)]
struct Tally {
    sample: Sample,
    cpu_seconds: Option<f64>,
    calls: u32,
}

/// Measures hooks. Calls `progress` with each step.
pub fn measure(options: Options, progress: impl Fn(&str)) -> Result<Hook, Error> {
    let program = program::baton_hook()?;
    let workspace = Workspace::new()?;
    let binary_bytes = std::fs::metadata(&program).map_err(io_error("look at", &program))?.len();
    progress("calling hooks");
    let callers = Caller::in_each_state(&workspace, &program)?;
    let mut tallies: BTreeMap<(usize, &str), Tally> = BTreeMap::new();
    let mut others: BTreeMap<&'static str, Tally> = BTreeMap::new();
    let mut left = options.runs;
    while left > 0 {
        let count = left.min(IN_A_ROW);
        left -= count;
        for (which, caller) in callers.iter().enumerate() {
            for event in EVENTS {
                caller.reset()?;
                tallies.entry((which, event)).or_default().measure(count, || caller.call(event))?;
            }
        }
        for (name, arguments) in OTHERS {
            let tally = others.entry(name).or_default();
            if tally.calls == 0 && Command::new(name).args(arguments).output().is_err() {
                continue;
            }
            tally.measure(count, || hook_call::run(Command::new(name).args(arguments), &Input::Nothing).map(drop))?;
        }
    }
    drop(callers);
    let mut costs = [const { BTreeMap::new() }; 3];
    for ((which, event), tally) in tallies {
        costs[which].insert(event, tally.cost());
    }
    let [up, down, stopped] = costs;
    let others = others.into_iter().map(|(name, tally)| {
        let outcome = match tally.calls {
            0 => Outcome::skipped(format!("{name} is not there")),
            _ => Outcome::Measured(tally.cost()),
        };
        (name, outcome)
    });
    let others = others.collect();
    let handoff = match options.sessions {
        0 => None,
        sessions => {
            progress("indexing many sessions");
            Some(handoff::measure(&workspace, &program, sessions, options.runs, &progress)?)
        }
    };
    Ok(Hook {
        how: "The whole process as an agent meets it: started, given its object, waited for. Kinds in turns of 25. Up: a \
              daemon over one session. Down: none; SessionStart starts a program in its place that ends at once. Stopped: a \
              socket that nobody serves, as that of a daemon under SIGSTOP. Processor time of the process and its threads, from /proc.",
        build: if cfg!(debug_assertions) { "debug" } else { "release" },
        binary_bytes,
        up,
        down,
        stopped,
        others,
        handoff,
    })
}

impl Tally {
    /// Makes `count` calls.
    fn measure(&mut self, count: u32, mut call: impl FnMut() -> Result<(), Error>) -> Result<(), Error> {
        let before = process::children_cpu_seconds();
        for _ in 0..count {
            self.sample.time(&mut call)?;
        }
        let taken = process::children_cpu_seconds().zip(before).map(|(after, before)| after - before);
        self.cpu_seconds = match self.calls {
            0 => taken,
            _ => self.cpu_seconds.zip(taken).map(|(sum, taken)| sum + taken),
        };
        self.calls += count;
        Ok(())
    }

    fn cost(self) -> Cost {
        let cpu_ms = self.cpu_seconds.map(|seconds| seconds * 1000.0 / f64::from(self.calls.max(1)));
        Cost { whole_process: self.sample.spread(), cpu_ms }
    }
}

impl Cost {
    fn text(&self) -> String {
        let Spread { n, p50_ms, p99_ms } = self.whole_process;
        let cpu = self.cpu_ms.map_or_else(String::new, |ms| format!(", processor {ms:.2} ms"));
        format!("p50 {p50_ms:.2} ms, p99 {p99_ms:.2} ms (n = {n}){cpu}")
    }
}

impl Hook {
    /// The figures as tables.
    pub fn tables(&self) -> Vec<Table> {
        let mut program = Table::new("Hooks", self.how);
        program.row("baton-hook", format!("{} bytes ({} build)", self.binary_bytes, self.build));
        for (name, outcome) in &self.others {
            program.row(
                name,
                match outcome {
                    Outcome::Measured(cost) => cost.text(),
                    Outcome::Skipped { skipped } => skipped.clone(),
                },
            );
        }
        let of = |title: &str, costs: &BTreeMap<&'static str, Cost>| {
            let mut table = Table::new(title, "");
            EVENTS.iter().filter_map(|event| Some((event, costs.get(event)?))).for_each(|(event, cost)| {
                table.row(event, cost.text());
            });
            table
        };
        let mut tables = vec![
            program,
            of("Daemon up", &self.up),
            of("Daemon down", &self.down),
            of("Daemon stopped", &self.stopped),
        ];
        if let Some(handoff) = &self.handoff {
            let mut table = Table::new("SessionStart with a handoff", "");
            table.row("sessions known", handoff.sessions.to_string());
            table.row("told", format!("{} bytes", handoff.told_bytes));
            table.row("whole process", handoff.cost.text());
            tables.push(table);
        }
        tables
    }
}
