//! The trial of one home.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use baton::client::Client;
use baton::environment::Environment;
use baton_conversation::transcript::layout;
use baton_events::envelope::Tail;
use baton_protocol::Agent;
use baton_protocol::method;

use super::author::{Author, Folders};
use super::caller::{self, CALLERS, Shared};
use super::daemon::Daemon;
use super::home_check::{self, HomeCheck};
use super::rest_check;
use crate::corpus::random::Random;
use crate::{Error, io_error};

/// Interval between two changes by the author: short enough that every query finds something new to read, long enough
/// that it gets an answer.
const WRITE: Duration = Duration::from_millis(15);
/// Most answers of a daemon before it is killed, and the timeout for them.
const ANSWERS: usize = 12;
const WORK: Duration = Duration::from_secs(5);
/// Longest delay of a kill after that, or after the start, or after the request to stop.
const BORDER: Duration = Duration::from_millis(60);
/// Kills between two checks at rest.
const REST_AFTER: u32 = 25;

/// When a daemon is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Moment {
    AtWork,
    WhileStarting,
    WhileStopping,
}

impl Moment {
    fn draw(random: &mut Random) -> Self {
        match random.below(100) {
            0..65 => Self::AtWork,
            65..85 => Self::WhileStarting,
            _ => Self::WhileStopping,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::AtWork => "at_work",
            Self::WhileStarting => "while_starting",
            Self::WhileStopping => "while_stopping",
        }
    }
}

/// Counts of a trial so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) kills: BTreeMap<&'static str, u64>,
    pub(super) kills_in_flight: u64,
    pub(super) in_flight: u64,
    /// Number of checks of an answer against the log.
    pub(super) held: u64,
    pub(super) conversations: u64,
    pub(super) rests: u64,
    pub(super) events: u64,
    pub(super) losses: Vec<String>,
}

/// One home with its transcripts and clients.
pub(super) struct Trial {
    root: PathBuf,
    pub(super) shared: Shared,
    author: Author,
    random: Random,
    callers: Vec<(Random, BTreeMap<String, bool>)>,
    earlier: Option<Tail>,
    pub(super) tally: Tally,
}

impl Trial {
    /// A trial with an empty home in `home` and everything else below `root`; both must be new folders.
    pub(super) fn new(number: usize, seed: u64, root: &Path, home: PathBuf) -> Result<Self, Error> {
        let part = |what: u64| Random::for_part(seed, number as u64 * 100 + what);
        let (claude_config_dir, data) = (root.join("claude"), root.join("data"));
        for folder in [&claude_config_dir, &data] {
            fs::create_dir_all(folder).map_err(io_error("create", folder))?;
        }
        let environment = Environment::isolated(home, claude_config_dir)
            .with_directory(Agent::Amp, data.clone(), true)
            .with_directory(Agent::OpenCode, data, true);
        let shared = Shared::new(environment);
        let folder = |agent: Agent| shared.environment.directory(agent).join(layout(agent).folders[0]);
        let folders = Folders {
            projects: folder(Agent::ClaudeCode),
            documents: folder(Agent::Amp),
            database: folder(Agent::OpenCode).join("opencode.db"),
        };
        let author = Author::begin(folders, number, part(1), &shared.known)?;
        let callers = (0..CALLERS).map(|caller| (part(10 + caller as u64), BTreeMap::new())).collect();
        let (earlier, tally) = (None, Tally::default());
        Ok(Self { root: root.to_owned(), shared, author, random: part(0), callers, earlier, tally })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Kills `kills` times and checks each time; ends with a check at rest. Stops at the first loss.
    pub(super) fn kill_often(&mut self, kills: u32, mut progress: impl FnMut()) -> Result<(), Error> {
        for kill in 1..=kills {
            let moment = Moment::draw(&mut self.random);
            let mut losses = self.kill(moment)?;
            *self.tally.kills.entry(moment.name()).or_default() += 1;
            if losses.is_empty() && (kill == kills || kill % REST_AFTER == 0) {
                losses = self.rest()?;
            }
            if !losses.is_empty() {
                let place = format!("kill {kill}, {}", moment.name());
                self.tally.losses = losses.into_iter().map(|loss| format!("{place}: {loss}")).collect();
                return Ok(());
            }
            progress();
        }
        Ok(())
    }

    fn kill(&mut self, moment: Moment) -> Result<Vec<String>, Error> {
        for _ in 0..self.random.below(6) {
            self.author.make_change(&self.shared.known)?;
        }
        let after = Duration::from_micros(self.random.below(BORDER.as_micros() as usize) as u64);
        let answers = self.random.below(ANSWERS) as u64;
        if moment == Moment::WhileStarting {
            let mut daemon = Daemon::spawn(&self.shared.environment)?;
            std::thread::sleep(after);
            daemon.kill();
            return self.check();
        }
        let mut daemon = match Daemon::start(&self.shared.environment)? {
            Ok(daemon) => daemon,
            Err(what) => return Ok(vec![what]),
        };
        let in_flight = self.under_load(|shared| {
            let answers = shared.promises().answers() + answers;
            let until = Instant::now() + WORK;
            wait_until(until, || shared.promises().answers() >= answers);
            if moment == Moment::AtWork {
                std::thread::sleep(after);
                // A timeout of its own, since the answers may have used up theirs.
                wait_until(Instant::now() + WORK, || shared.in_flight.load(Ordering::SeqCst) > 0);
            } else if let Ok(Some(mut client)) = Client::connect(&shared.environment) {
                // The answer is not waited for.
                let stopping = std::thread::spawn(move || client.call_raw(method::STOP, &(), |_| {}).is_ok());
                std::thread::sleep(after);
                let in_flight = kill_daemon(shared, &mut daemon);
                let _ = stopping.join();
                return Ok(in_flight);
            }
            Ok(kill_daemon(shared, &mut daemon))
        })?;
        self.tally.in_flight += in_flight;
        self.tally.kills_in_flight += u64::from(in_flight > 0);
        self.check()
    }

    /// Lets clients call and transcripts grow until `during` returns, which may kill the daemon.
    pub(super) fn under_load<T>(&mut self, during: impl FnOnce(&Shared) -> Result<T, Error>) -> Result<T, Error> {
        let Self { shared, author, callers, .. } = self;
        let shared = &*shared;
        shared.over.store(false, Ordering::SeqCst);
        let (wrote, done) = std::thread::scope(|scope| {
            for (number, (random, stopped)) in callers.iter_mut().enumerate() {
                scope.spawn(move || caller::call_until_killed(number, shared, random, stopped));
            }
            let writing = scope.spawn(|| -> Result<(), Error> {
                while !shared.over.load(Ordering::SeqCst) {
                    author.make_change(&shared.known)?;
                    std::thread::sleep(WRITE);
                }
                author.complete_lines()
            });
            let done = during(shared);
            shared.over.store(true, Ordering::SeqCst);
            (writing.join(), done)
        });
        wrote.unwrap_or_else(|_| Err(Error::NothingMeasured("the author of transcripts broke".to_owned())))?;
        done
    }

    /// Checks the home against what was promised.
    fn check(&mut self) -> Result<Vec<String>, Error> {
        let wrong = self.shared.take_wrong_answers();
        if !wrong.is_empty() {
            return Ok(wrong);
        }
        let anew = self.random.percent(25);
        let copy = self.root.join("look");
        let promises = self.shared.promises().clone();
        let held = home_check::check_home(&self.shared.environment.home, &copy, &promises, self.earlier, anew)?;
        let _ = fs::remove_dir_all(copy);
        self.tally.held += promises.answers();
        Ok(self.add_check(held))
    }

    /// Adds the result of a check.
    fn add_check(&mut self, held: HomeCheck) -> Vec<String> {
        self.earlier = held.tail.or(self.earlier);
        self.tally.events = self.earlier.map_or(0, |tail| tail.position.0);
        self.tally.conversations += held.conversations;
        held.losses
    }

    /// Lets everything come to rest and checks more closely.
    pub(super) fn rest(&mut self) -> Result<Vec<String>, Error> {
        self.author.complete_lines()?;
        let mut wrong = rest_check::check(&self.root, &self.shared.environment, self.author.transcripts())?;
        for (_, stopped) in &mut self.callers {
            stopped.clear();
        }
        self.shared.promises().all_tracked();
        self.tally.rests += 1;
        wrong.extend(self.check()?);
        Ok(wrong)
    }
}

/// Kills a daemon and returns the number of requests in flight.
fn kill_daemon(shared: &Shared, daemon: &mut Daemon) -> u64 {
    shared.over.store(true, Ordering::SeqCst);
    let in_flight = shared.in_flight.load(Ordering::SeqCst);
    daemon.kill();
    in_flight
}

/// Polls until `is_reached` holds, or until the deadline.
fn wait_until(until: Instant, is_reached: impl Fn() -> bool) {
    while !is_reached() && Instant::now() < until {
        std::thread::sleep(Duration::from_micros(200));
    }
}
