//! `baton-bench`: measures on this machine what a real `baton` costs.
//!
//! Every figure comes from throwaway daemons over a corpus that is the same in every run, and states how it was taken.
//! A run that did not do what it measures (a word not found, a session not indexed) is an error, never a figure.
//! Figures that the system does not report are left out, with a remark. None of the user's data is read or changed, and
//! no process or file is left behind, even after an interrupt.

mod agent_database;
mod answers;
#[cfg(unix)]
mod browse;
mod corpus;
mod crash;
mod daemon;
mod daemon_process;
mod database;
mod disk;
mod enrich;
mod hook;
mod idle;
mod index;
mod latency;
mod lazy;
mod live;
mod log;
mod mcp;
mod memory;
mod outcome;
mod pages;
mod process;
mod program;
mod read;
mod readers;
mod recall;
mod relay;
mod report;
mod sample;
mod searching;
mod table;
mod test_daemon;
mod vault;
mod workspace;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use answers::{
    Answers, Counts as AnswerCounts, EpisodeFigures, Form as QuestionForm, JudgedAnswer, JudgedEpisode, JudgedFile,
    Options as AnswersOptions, Points, QuestionFigures, Statement, Verdict, measure as answers,
};
#[cfg(unix)]
pub use browse::{Browse, measure as browse};
pub use corpus::{Corpus, Options as CorpusOptions};
pub use crash::{Crash, Cuts, Options as CrashOptions, enter_own_namespace, run_trials as crash};
pub use daemon::{Daemon, Question, Rebuild};
pub use database::{Commits, Database, Options as DatabaseOptions, Reading, measure as database};
pub use disk::{Disk, Part as DiskPart};
pub use enrich::{Enriching, Examples, Options as EnrichOptions, measure as enrich};
pub use hook::{Cost, Handoff, Hook, Options as HookOptions, measure as hook};
pub use idle::Idle;
pub use index::Index;
pub use latency::{Appending, Latency};
pub use lazy::Lazy;
pub use live::Live;
pub use log::{Appends, Log, Resting};
pub use mcp::Mcp;
pub use memory::{Options as ScaleOptions, QueryTimes, Scale, WithVectors, measure as scale};
pub use outcome::Outcome;
pub use pages::{Page, Pages, measure as pages};
pub use process::Memory;
pub use program::VARIABLE as PROGRAM_VARIABLE;
pub use read::{Giant, Huge, Kept, Options as ReadOptions, Read, Speed, Tail};
pub use readers::{IdleOver, Roots, RootsOptions, roots};
pub use readers::{Options as ReadersOptions, ReaderSpeed, Readers, Timing, measure as readers};
pub use recall::{
    Endpoint as RecallEndpoint, Figures, Level as RecallLevel, Options as RecallOptions, Ranking, Recall,
    RecallWithVectors, SetSource, measure as recall,
};
pub use relay::{
    Idle as RelayIdle, Options as RelayOptions, Relay, Relays, Server as RelayServer, Sync, measure as relay,
};
pub use report::Report;
pub use sample::Spread;
pub use searching::{Query, Searching};
pub use table::Table;
pub use vault::Vault;

use baton::client;

use test_daemon::TestDaemon;
use workspace::Workspace;

/// One thing to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Bulk index.
    Index,
    /// Disk use.
    Disk,
    /// An idle daemon.
    Idle,
    /// Searches.
    Search,
    /// The MCP server.
    Mcp,
    /// From an append to an answer that contains it.
    Latency,
    /// A session written at its own pace.
    Live,
    /// The look at all transcripts before each answer.
    Lazy,
    /// A large log.
    Log,
    /// A daemon with a history.
    Daemon,
    /// The notes of the vault.
    Vault,
}

impl Part {
    /// All parts in the order in which they are measured; those that leave the corpus unchanged come first.
    pub const ALL: [Self; 11] = [
        Self::Index,
        Self::Disk,
        Self::Idle,
        Self::Search,
        Self::Mcp,
        Self::Latency,
        Self::Live,
        Self::Lazy,
        Self::Log,
        Self::Daemon,
        Self::Vault,
    ];
}

/// What is measured, and over which data.
#[derive(Clone, Debug)]
pub struct Options {
    /// The parts.
    pub parts: Vec<Part>,
    /// An existing corpus, of which a copy is used.
    pub corpus: Option<PathBuf>,
    /// The corpus to write if there is none.
    pub new: CorpusOptions,
    /// How long the idle daemon is watched.
    pub idle: Duration,
    /// How long the live session is written.
    pub live: Duration,
    /// Number of transcripts for [`Part::Lazy`].
    pub files: u32,
    /// Number of events for [`Part::Log`].
    pub events: u64,
}

/// Why there are no figures.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder contains no corpus.
    #[error("there is no corpus in {}; write one with `baton-bench corpus --into {}`", .0.display(), .0.display())]
    NoCorpus(PathBuf),
    /// There is no `baton` to measure.
    #[error(
        "there is no program {}; build it with `cargo build{}`, or set {} to the `baton` to measure",
        .0.display(),
        if cfg!(debug_assertions) { "" } else { " --release" },
        program::VARIABLE
    )]
    NoProgram(PathBuf),
    /// The folder is in use.
    #[error("{} is not empty; name a new directory", .0.display())]
    Occupied(PathBuf),
    /// A file or process could not be used.
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// The file or program concerned.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A set of questions that cannot be used.
    #[error("cannot use {}: {what}", path.display())]
    Data {
        /// The file.
        path: PathBuf,
        /// The mistake, with its place in the file.
        what: String,
    },
    /// The daemon could not be called.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// The thing to be measured did not happen.
    #[error("nothing to measure: {0}")]
    NothingMeasured(String),
}

fn io_error<'a>(what: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Error + 'a {
    move |source| Error::Io { what, path: path.to_owned(), source }
}

/// Measures the requested parts. Calls `progress` with each step.
pub fn measure(options: &Options, progress: impl Fn(&str)) -> Result<Report, Error> {
    let wants = |part| options.parts.contains(&part);
    let workspace = Workspace::new()?;
    let mut report = Report::new();
    if options.parts.iter().any(|part| !matches!(part, Part::Lazy | Part::Log | Part::Daemon | Part::Vault)) {
        measure_over_corpus(options, &workspace, &mut report, &progress)?;
    }
    if wants(Part::Daemon) {
        let claude = workspace.path().join("history-claude");
        let corpus = corpus(options, &claude, &progress)?;
        progress("asking a daemon with a history");
        report.daemon = Some(daemon::measure(&workspace, &claude, &corpus)?);
        report.corpus = Some(corpus);
    }
    if wants(Part::Vault) {
        let claude = workspace.path().join("vault-claude");
        let corpus = corpus(options, &claude, &progress)?;
        progress("writing notes");
        let mut daemon = TestDaemon::start(&claude)?;
        report.vault = Some(vault::measure(&mut daemon, &claude, &corpus)?);
        report.corpus = Some(corpus);
    }
    if wants(Part::Lazy) {
        progress("indexing many small transcripts");
        report.lazy = Some(lazy::measure(&workspace, options.files, options.new.seed)?);
    }
    if wants(Part::Log) {
        progress("writing and opening a large log");
        report.log = Some(log::measure(&workspace, options.events, options.idle)?);
    }
    Ok(report)
}

/// Measures how fast transcripts are read. Calls `progress` with each step.
pub fn read(options: &ReadOptions, progress: impl Fn(&str)) -> Result<Read, Error> {
    read::measure(options, &progress)
}

/// Copies or writes a corpus to `claude`.
fn corpus(options: &Options, claude: &Path, progress: &impl Fn(&str)) -> Result<Corpus, Error> {
    match &options.corpus {
        Some(from) => {
            progress("copying the corpus");
            let corpus = Corpus::read(from)?;
            workspace::copy(from, claude)?;
            Ok(corpus)
        }
        None => {
            progress("writing a corpus");
            Corpus::write(options.new, claude)
        }
    }
}

fn measure_over_corpus(
    options: &Options,
    workspace: &Workspace,
    report: &mut Report,
    progress: &impl Fn(&str),
) -> Result<(), Error> {
    let wants = |part| options.parts.contains(&part);
    let claude = workspace.path().join("claude");
    let corpus = corpus(options, &claude, progress)?;
    progress("indexing it");
    let (mut daemon, index) = index::measure(&claude, &corpus)?;
    report.index = wants(Part::Index).then_some(index);
    if wants(Part::Disk) {
        report.disk = Some(disk::measure(&daemon, corpus.bytes));
    }
    if wants(Part::Idle) {
        progress("watching it do nothing");
        report.idle = Some(idle::measure(&daemon, workspace, options.idle)?);
    }
    if wants(Part::Search) {
        progress("searching");
        report.search = Some(searching::measure(&mut daemon, &corpus)?);
    }
    if wants(Part::Mcp) {
        progress("starting MCP servers");
        report.mcp = Some(mcp::measure(&daemon)?);
    }
    if wants(Part::Latency) {
        progress("appending and searching");
        report.latency = Some(latency::measure(&mut daemon, &claude.join(&corpus.largest))?);
    }
    if wants(Part::Live) {
        progress("writing a session at its own pace");
        report.live = Some(live::measure(&mut daemon, &claude, corpus.seed, options.live)?);
    }
    report.corpus = Some(corpus);
    Ok(())
}
