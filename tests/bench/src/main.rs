//! `baton-bench`: the command line of the benchmarks, and how results are printed.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use baton::cli::Telling;
use baton::print;
use baton::print::{Output, Style};
use baton_bench::{
    self as bench, Corpus, CorpusOptions, CrashOptions, Error, HookOptions, Part, ReadOptions, RecallEndpoint,
    RecallOptions, ScaleOptions, Table,
};
use clap::{Args, Parser, Subcommand};
use serde::Serialize;

const AFTER_HELP: &str = "\
Environment: BATON_PROGRAM (the `baton` to measure, else the one beside this program), TMPDIR, NO_COLOR

Exit codes: 0 done, 1 failed (standard error says why and what to do), 2 not understood";

/// Measure how fast Baton is on this machine
///
/// Measures a real `baton`, the one beside this program, with throwaway daemons in temporary directories.
#[derive(Debug, Parser)]
#[command(name = "baton-bench", version, after_help = AFTER_HELP)]
struct Typed {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Write generated transcripts, shaped like real ones, with the same bytes for the same seed
    Corpus(CorpusTyped),
    /// Run all of the following measurements, one after the other
    ///
    /// Starts a real `baton` as a throwaway daemon over a corpus in a temporary directory. Your own memory is not
    /// touched. Measure with a release build on a quiet machine.
    All(Measured),
    /// Bulk index: MB/s by wall and by processor time, memory
    Index(Measured),
    /// From an append to an answer that contains it: in a known session, in a new file
    Latency(Measured),
    /// `search` for a rare word and for very common words: as a call, as a process
    Search(Measured),
    /// An idle daemon: processor time, wake-ups, writes, memory
    Idle(Measured),
    /// `baton mcp`: time from start to `initialize`, memory
    Mcp(Measured),
    /// Processor time of daemon and MCP server while a session is written at its own pace
    Live(Measured),
    /// Disk use relative to the size of the transcripts, by part
    Disk(Measured),
    /// Cost of the look at every transcript before each answer, with many transcripts
    Lazy(Measured),
    /// A log of a million events: durable appends, opening, rebuilding, verifying, replaying; sessions at rest
    Log(Measured),
    /// A daemon with a history: each kind of question, its memory, and rebuilding the memory from the log
    ///
    /// `--sessions 2000 --megabytes 400` gives about 100,000 documents.
    Daemon(Measured),
    /// The vault: writing the notes of a history, one end of a session with ten entities, compacting, checking
    ///
    /// Reported figures use `--sessions 1000 --megabytes 200`.
    Vault(Measured),
    /// Speed of reading transcripts: MB/s of the reader alone and with filter, redaction and hash, tokens kept, memory
    ///
    /// In this process, without a daemon. Counting lines and parsing the same bytes to JSON values are measured in the
    /// same rounds.
    Read(ReadTyped),
    /// The memory alone, at any size: time to fill and to search it, disk and memory
    ///
    /// In this process, without a daemon, over generated turns that go straight into a memory in a temporary directory.
    Memory(MemoryTyped),
    /// Whether the right sessions are found: hit@1/5/10, MRR and nDCG@10 of a set of sessions and questions
    ///
    /// Writes the set's sessions as transcripts into a temporary directory, starts a real `baton` as a throwaway daemon
    /// over them, and asks each question as `baton search` does. DATA is one JSON object:
    /// {"sessions":[{"id","project","turns":[{"role":"user"|"assistant"|"thinking"|"tool","speaker"?,"time"?,"text","failed"?}]}],
    /// "questions":[{"id","category","text","expected_sessions":[ID…],"expected_turns":[[ID, index of the turn, from
    /// 0]…]}]}. A speaker's text is written as `Name: text`. The first line of a tool's text is its command, the rest
    /// its output, of which an index keeps one line, and only if it `failed`.
    Recall(RecallTyped),
    /// Cost of enriching: requests and tokens of the example sessions, from a close to the enriched episode, a queue
    ///
    /// Starts a real `baton` as throwaway daemons over transcripts in temporary directories, and plays the model
    /// itself: nothing is sent anywhere. The example sessions are measured in a checkout only.
    Enrich(EnrichTyped),
    /// Cost of a hook for the agent that waits for it: daemon up, down, stopped; each event; with a handoff out of many
    ///
    /// Starts a real `baton` as throwaway daemons over transcripts in temporary directories, and calls the `baton-hook`
    /// beside it as an agent does. python3 and node, doing nothing, are measured in the same rounds.
    Hook(HookTyped),
    /// Whether everything acknowledged survives: kills a daemon under load, cuts its power
    ///
    /// Starts a real `baton` as daemons in temporary directories, with clients that call and transcripts that grow, and
    /// kills them at random moments. What is then on disk is checked against every answer ever given: nothing lost,
    /// nothing twice, every byte of a transcript counted once, the memory equal to a rebuilt one. Ends with 1 if
    /// anything is wrong, and keeps that home. `--cuts` does the same to a file system in a file (root on Linux).
    Crash(CrashTyped),
}

#[derive(Debug, Args)]
struct ReadTyped {
    /// Transcripts or directories of them (*.jsonl); by default a corpus is written to a temporary directory
    #[arg(value_name = "FILE", conflicts_with = "megabytes")]
    files: Vec<PathBuf>,
    /// Size of that corpus, in MB of 1,000,000 bytes
    #[arg(long = "mb", value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    megabytes: u64,
    /// Also measure memory over a file of 5 GB with a line of 100 MB, and of a daemon that indexes a conversation of 1
    /// GB; needs 6 GB in the temporary directory, and releases them
    #[arg(long)]
    huge: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct MemoryTyped {
    /// Turns in the memory
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(100..=10_000_000))]
    documents: u64,
    /// Another seed gives other texts
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Give each text a vector too, and repeat all queries with vectors
    #[arg(long)]
    vectors: bool,
    /// Dimensions of each vector
    #[arg(long, value_name = "N", default_value_t = 384, value_parser = clap::value_parser!(u16).range(1..=16_384), requires = "vectors")]
    dimensions: u16,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct RecallTyped {
    /// The set
    #[arg(value_name = "DATA.json")]
    data: PathBuf,
    /// Sessions to ask for
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100))]
    limit: u32,
    /// Turns of each session to ask for
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=20))]
    turns: u32,
    /// Give each text a vector too, and repeat all questions with vectors; without --endpoint a built-in list of
    /// synonyms makes them
    #[arg(long)]
    vectors: bool,
    /// Address of an embedding endpoint, as in memory.embedding.base_url. The set's texts are sent there
    #[arg(long, value_name = "URL", requires_all = ["vectors", "model"])]
    endpoint: Option<String>,
    /// The model, as in memory.embedding.model
    #[arg(long, value_name = "NAME", requires = "endpoint")]
    model: Option<String>,
    /// The environment variable that holds its key
    #[arg(long, value_name = "NAME", requires = "endpoint")]
    api_key_env: Option<String>,
    /// Print one JSON object, with the ranking of each question
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct EnrichTyped {
    /// Sessions in the queue
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(20..=100_000))]
    sessions: u32,
    /// Delay of the model's answers, in milliseconds
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(0..=60_000))]
    delay_ms: u64,
    /// Another seed gives other sessions
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct HookTyped {
    /// Calls of each event in each state of the daemon
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    runs: u32,
    /// Sessions for the handoff; 0 leaves it out
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    sessions: u32,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct CrashTyped {
    /// How often a daemon is killed
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    kills: u32,
    /// How often the power is cut
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    cuts: u32,
    /// Homes tried concurrently
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=64))]
    homes: u32,
    /// Another seed gives other moments; by default it is taken from the clock, and printed
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct CorpusTyped {
    /// A new directory; transcripts are written below projects/, their description into corpus.json
    #[arg(long, value_name = "DIR")]
    into: PathBuf,
    #[command(flatten)]
    shape: Shape,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct Shape {
    /// Number of sessions; one in four has a subagent as well
    #[arg(long, value_name = "N", default_value_t = 1500, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    sessions: u32,
    /// Size of all transcripts, in MB of 1,000,000 bytes
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    megabytes: u64,
    /// Another seed gives other sessions
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

#[derive(Debug, Args)]
struct Measured {
    /// An existing corpus, of which a copy is used; by default one is written
    #[arg(long, value_name = "DIR", conflicts_with_all = ["sessions", "megabytes"])]
    corpus: Option<PathBuf>,
    #[command(flatten)]
    shape: Shape,
    /// How long `idle` watches and `live` writes, in seconds [default: 20 and 60]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: Option<u64>,
    /// Transcripts for `lazy`
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(10..=200_000))]
    files: u32,
    /// Events for `log`
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(100..=20_000_000))]
    events: u64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let telling = Telling::of(&arguments);
    match Typed::try_parse_from(&arguments) {
        Ok(typed) => run(&typed).unwrap_or_else(|error| telling.failed_with(&error.to_string())),
        Err(error) => telling.misunderstood(&error),
    }
}

fn run(typed: &Typed) -> Result<ExitCode, Error> {
    let (parts, typed) = match &typed.what {
        What::Corpus(typed) => return corpus(typed),
        What::Crash(typed) => return crash(typed),
        What::Enrich(typed) => return enrich(typed),
        What::Hook(typed) => return hook(typed),
        What::Read(typed) => return read(typed),
        What::Memory(typed) => return memory(typed),
        What::Recall(typed) => return recall(typed),
        What::All(typed) => (Part::ALL.to_vec(), typed),
        What::Index(typed) => (vec![Part::Index], typed),
        What::Latency(typed) => (vec![Part::Latency], typed),
        What::Search(typed) => (vec![Part::Search], typed),
        What::Idle(typed) => (vec![Part::Idle], typed),
        What::Mcp(typed) => (vec![Part::Mcp], typed),
        What::Live(typed) => (vec![Part::Live], typed),
        What::Disk(typed) => (vec![Part::Disk], typed),
        What::Lazy(typed) => (vec![Part::Lazy], typed),
        What::Log(typed) => (vec![Part::Log], typed),
        What::Daemon(typed) => (vec![Part::Daemon], typed),
        What::Vault(typed) => (vec![Part::Vault], typed),
    };
    let options = bench::Options {
        parts,
        corpus: typed.corpus.clone(),
        new: typed.shape.options(),
        idle: Duration::from_secs(typed.seconds.unwrap_or(20)),
        live: Duration::from_secs(typed.seconds.unwrap_or(60)),
        files: typed.files,
        events: typed.events,
    };
    let report = bench::measure(&options, tell)?;
    show(&report, &report.tables(), typed.json)
}

fn corpus(typed: &CorpusTyped) -> Result<ExitCode, Error> {
    let corpus = Corpus::write(typed.shape.options(), &typed.into)?;
    show(&corpus, &[corpus.table()], typed.json)
}

fn enrich(typed: &EnrichTyped) -> Result<ExitCode, Error> {
    let delay = Duration::from_millis(typed.delay_ms);
    let options = bench::EnrichOptions { sessions: typed.sessions, delay, seed: typed.seed };
    let enriching = bench::enrich(options, &tell)?;
    show(&enriching, &enriching.tables(), typed.json)
}

fn hook(typed: &HookTyped) -> Result<ExitCode, Error> {
    let options = HookOptions { runs: typed.runs, sessions: typed.sessions };
    let hook = bench::hook(options, tell)?;
    show(&hook, &hook.tables(), typed.json)
}

fn read(typed: &ReadTyped) -> Result<ExitCode, Error> {
    let options = ReadOptions { files: typed.files.clone(), bytes: typed.megabytes * 1_000_000, huge: typed.huge };
    let read = bench::read(&options, tell)?;
    show(&read, &read.tables(), typed.json)
}

fn memory(typed: &MemoryTyped) -> Result<ExitCode, Error> {
    let scale = bench::scale(
        ScaleOptions {
            documents: typed.documents,
            seed: typed.seed,
            vectors: typed.vectors.then_some(usize::from(typed.dimensions)),
        },
        &tell,
    )?;
    show(&scale, &[scale.table()], typed.json)
}

fn recall(typed: &RecallTyped) -> Result<ExitCode, Error> {
    let vectors = match (&typed.endpoint, &typed.model) {
        (Some(base_url), Some(model)) => {
            let (base_url, model, key) = (base_url.clone(), model.clone(), typed.api_key_env.clone());
            Some(RecallEndpoint::Other { base_url, model, key })
        }
        _ => typed.vectors.then_some(RecallEndpoint::Own),
    };
    let options = RecallOptions { data: typed.data.clone(), limit: typed.limit, turns: typed.turns, vectors };
    let recall = bench::recall(&options, &tell)?;
    show(&recall, &recall.tables(), typed.json)
}

/// Prints the current step, if standard error is a terminal.
fn tell(what: &str) {
    if std::io::stderr().is_terminal() {
        print::note(&format!("{what} …"));
    }
}

fn crash(typed: &CrashTyped) -> Result<ExitCode, Error> {
    if typed.cuts > 0 {
        bench::in_own_namespace();
    }
    let clock = || std::time::UNIX_EPOCH.elapsed().map_or(1, |since| since.as_secs());
    let seed = typed.seed.unwrap_or_else(clock);
    let options = CrashOptions { kills: typed.kills, cuts: typed.cuts, homes: typed.homes, seed };
    let crash = bench::crash(options, |what| tell(&format!("{what}, seed {seed}")))?;
    show(&crash, &crash.tables(), typed.json)?;
    Ok(if crash.is_whole() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Shape {
    fn options(&self) -> CorpusOptions {
        CorpusOptions { sessions: self.sessions, bytes: self.megabytes * 1_000_000, seed: self.seed }
    }
}

fn show(measured: &impl Serialize, tables: &[Table], json: bool) -> Result<ExitCode, Error> {
    let output = Output::new();
    if json {
        output.data(&serde_json::to_string(measured).map_err(|error| Error::Untrue(error.to_string()))?);
        return Ok(ExitCode::SUCCESS);
    }
    for table in tables {
        output.line(&output.styled(Style::Strong, &table.title));
        if !table.how.is_empty() {
            output.line(&format!("  {}", output.styled(Style::Faint, &table.how)));
        }
        for (name, value) in &table.rows {
            output.line(&format!("  {name:34}{value}"));
        }
    }
    Ok(ExitCode::SUCCESS)
}
