//! `baton-bench crash`: checks on real processes whether everything acknowledged survives.
//!
//! A real daemon serves several clients while transcripts grow, are rewritten and appear. It is killed at random
//! moments, or the power of its disk is cut, and what is then on disk is checked against every answer that it has
//! given. The moments follow from the seed, as far as the machine's scheduling permits.
//!
//! | file | owns |
//! |---|---|
//! | `trial` | one home: load, kill, check, repeat |
//! | `author`, `caller` | the writer of the transcripts, and the clients |
//! | `promises` | what was acknowledged |
//! | `history`, `home_check` | the checks of a log, and of a home |
//! | `rest_check` | the checks when everything has come to rest |
//! | `daemon` | the process that is killed |
//! | `power` | a file system whose image is copied at an instant |

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use serde::Serialize;

use super::workspace::{self, Workspace};
use super::{Error, Outcome, Table};
use trial::{Tally, Trial};

mod author;
mod caller;
mod daemon;
mod history;
mod home_check;
mod power;
mod promises;
mod rest_check;
#[cfg(test)]
mod tests;
mod trial;

pub use power::{Cuts, enter_own_namespace};

/// What to try.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Total number of kills in all homes.
    pub kills: u32,
    /// Number of power cuts.
    pub cuts: u32,
    /// Homes tried concurrently.
    pub homes: u32,
    /// Another seed gives other moments.
    pub seed: u64,
}

/// The result of all trials.
#[derive(Clone, Debug, Serialize)]
pub struct Crash {
    /// How this was tried.
    pub how: &'static str,
    /// The seed.
    pub seed: u64,
    /// Homes tried concurrently.
    pub homes: u32,
    /// Duration of all trials.
    pub seconds: f64,
    /// Kills by what the daemon was doing.
    pub kills: BTreeMap<&'static str, u64>,
    /// Total number of kills.
    pub kills_total: u64,
    /// Kills with at least one request in flight.
    pub kills_with_requests_in_flight: u64,
    /// Requests in flight at all kills.
    pub requests_in_flight: u64,
    /// Acknowledged commands and answers, by kind.
    pub acknowledged: BTreeMap<&'static str, u64>,
    /// Number of checks of an acknowledged answer against a log; each answer is checked after every later kill.
    pub held_against_the_log: u64,
    /// Conversations of current episodes that were read completely, in all checks.
    pub conversations_read: u64,
    /// How often everything came to rest: all bytes counted once, the memory equal to a rebuilt one.
    pub rests: u64,
    /// Events in the logs at the end.
    pub events: u64,
    /// Power cuts; absent if none were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power: Option<Outcome<Cuts>>,
    /// Everything lost or wrong; must be empty.
    pub losses: Vec<String>,
    /// Copies of the homes that lost something.
    pub kept: Vec<PathBuf>,
}

/// Runs the trials. Calls `progress` now and then. A loss is not an error; it is reported in the result.
pub fn run_trials(options: Options, progress: impl Fn(&str) + Sync) -> Result<Crash, Error> {
    let workspace = Workspace::new()?;
    let since = Instant::now();
    let mut crash = Crash::new(options);
    let done = AtomicU32::new(0);
    let report = || {
        let done = done.fetch_add(1, Ordering::SeqCst) + 1;
        if done.is_multiple_of(10) || done == options.kills {
            progress(&format!("killed {done} of {} times", options.kills));
        }
    };
    let tried = Mutex::new(Vec::new());
    let homes = options.homes.clamp(1, options.kills.max(1));
    std::thread::scope(|scope| {
        let (workspace, report, tried) = (&workspace, &report, &tried);
        for home in 0..homes {
            scope.spawn(move || {
                let kills = options.kills / homes + u32::from(home < options.kills % homes);
                let outcome = kill_one(workspace, home as usize, options.seed, kills, report);
                tried.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(outcome);
            });
        }
    });
    for outcome in tried.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
        let trial = outcome?;
        crash.add_trial(&trial);
        if !trial.tally.losses.is_empty() {
            crash.keep_home(&trial)?;
        }
    }
    if options.cuts > 0 {
        crash.power = Some(power::cut_power(
            &workspace,
            options.seed,
            options.cuts,
            &mut crash.losses,
            &mut crash.kept,
            &progress,
        )?);
    }
    crash.seconds = since.elapsed().as_secs_f64();
    Ok(crash)
}

fn kill_one(workspace: &Workspace, home: usize, seed: u64, kills: u32, progress: impl FnMut()) -> Result<Trial, Error> {
    let root = workspace.path().join(format!("home{home}"));
    let mut trial = Trial::new(home, seed, &root, root.join("baton"))?;
    trial.kill_often(kills, progress)?;
    Ok(trial)
}

/// Copies a home that lost something to a place where it stays.
fn keep_copy(root: &std::path::Path, seed: u64) -> Result<PathBuf, Error> {
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    let kept = std::env::temp_dir().join(format!("baton-crash-{seed}-{}-{name}", std::process::id()));
    workspace::copy(root, &kept)?;
    Ok(kept)
}

impl Crash {
    fn new(options: Options) -> Self {
        Self {
            how: "A real daemon on a real disk, four clients that close, search, track, stop, group, switch and sync, and \
                  transcripts that grow, are begun anew and appear; SIGKILL at random moments, also while it starts and \
                  stops; after each, a copy of the log is opened and held against every answer that was ever given.",
            seed: options.seed,
            homes: options.homes,
            seconds: 0.0,
            kills: BTreeMap::new(),
            kills_total: 0,
            kills_with_requests_in_flight: 0,
            requests_in_flight: 0,
            acknowledged: BTreeMap::new(),
            held_against_the_log: 0,
            conversations_read: 0,
            rests: 0,
            events: 0,
            power: None,
            losses: Vec::new(),
            kept: Vec::new(),
        }
    }

    fn add_trial(&mut self, trial: &Trial) {
        let Tally { kills, kills_in_flight, in_flight, held, conversations, rests, events, losses } = &trial.tally;
        for (name, count) in kills {
            *self.kills.entry(name).or_default() += count;
            self.kills_total += count;
        }
        for (kind, count) in &trial.shared.promises().acknowledged {
            *self.acknowledged.entry(kind).or_default() += count;
        }
        self.kills_with_requests_in_flight += kills_in_flight;
        self.requests_in_flight += in_flight;
        self.held_against_the_log += held;
        self.conversations_read += conversations;
        self.rests += rests;
        self.events += events;
        let home = trial.root().file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.losses.extend(losses.iter().map(|loss| format!("{home}, {loss}")));
    }

    fn keep_home(&mut self, trial: &Trial) -> Result<(), Error> {
        self.kept.push(keep_copy(trial.root(), self.seed)?);
        Ok(())
    }

    /// True if nothing was lost.
    pub fn is_whole(&self) -> bool {
        self.losses.is_empty()
    }

    /// The result as tables.
    pub fn tables(&self) -> Vec<Table> {
        let mut table = Table::new("Crashes", self.how);
        table.row("seed", self.seed.to_string());
        let by_moment = self.kills.iter().map(|(name, count)| format!("{count} {}", name.replace('_', " ")));
        let by_moment: Vec<String> = by_moment.collect();
        table.row("kills", format!("{} in {} homes: {}", self.kills_total, self.homes, by_moment.join(", ")));
        table.row(
            "  with requests in flight",
            format!("{}, {} requests", self.kills_with_requests_in_flight, self.requests_in_flight),
        );
        for (kind, count) in &self.acknowledged {
            table.row(&format!("acknowledged: {kind}"), count.to_string());
        }
        table.row("held against the log", format!("{} answers", self.held_against_the_log));
        table.row("conversations read", self.conversations_read.to_string());
        table.row("memories rebuilt and compared", self.rests.to_string());
        table.row("events in the logs", self.events.to_string());
        table.row("took", format!("{:.0} s", self.seconds));
        let mut tables = vec![table];
        if let Some(power) = &self.power {
            tables.push(power.table("Power cuts", Cuts::table));
        }
        let mut losses = Table::new("Losses", if self.is_whole() { "None." } else { "" });
        for (number, loss) in (1..).zip(&self.losses) {
            losses.row(&number.to_string(), loss.clone());
        }
        for kept in &self.kept {
            losses.row("kept in", kept.display().to_string());
        }
        tables.push(losses);
        tables
    }
}
