//! `baton-bench`: the command line of the benchmarks, and how results are printed.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use baton::cli::ErrorFormat;
use baton::print;
use baton::print::{Output, Style};
use baton_bench::{
    self as bench, AnswersOptions, Corpus, CorpusOptions, CrashOptions, Error, HookOptions, Part, ReadOptions,
    RecallEndpoint, RecallOptions, ScaleOptions, Table,
};
use baton_protocol::Agent;
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
struct CommandLine {
    #[command(subcommand)]
    command: Bench,
}

#[derive(Debug, Subcommand)]
enum Bench {
    /// Write generated transcripts, shaped like real ones, with the same bytes for the same seed
    Corpus(CorpusArgs),
    /// Run all of the following measurements, one after the other
    ///
    /// Starts a real `baton` as a throwaway daemon over a corpus in a temporary directory. Your own memory is not
    /// touched. Measure with a release build on a quiet machine.
    All(MeasureArgs),
    /// Bulk index: MB/s by wall and by processor time, memory
    Index(MeasureArgs),
    /// From an append to an answer that contains it: in a known session, in a new file
    Latency(MeasureArgs),
    /// `search` for a rare word and for very common words: as a call, as a process
    Search(MeasureArgs),
    /// An idle daemon: processor time, wake-ups, writes, memory
    Idle(MeasureArgs),
    /// `baton mcp`: time from start to `initialize`, memory
    Mcp(MeasureArgs),
    /// Processor time of daemon and MCP server while a session is written at its own pace
    Live(MeasureArgs),
    /// Disk use relative to the size of the transcripts, by part
    Disk(MeasureArgs),
    /// Cost of the look at every transcript before each answer, with many transcripts
    Lazy(MeasureArgs),
    /// A log of a million events: durable appends, opening, rebuilding, verifying, replaying; sessions at rest
    Log(MeasureArgs),
    /// A daemon with a history: each kind of question, its memory, and rebuilding the memory from the log
    ///
    /// `--sessions 2000 --megabytes 400` gives about 100,000 documents.
    Daemon(MeasureArgs),
    /// The vault: writing the notes of a history, one end of a session with ten entities, compacting, checking
    ///
    /// Reported figures use `--sessions 1000 --megabytes 200`.
    Vault(MeasureArgs),
    /// Speed of reading transcripts: MB/s of the reader alone and with filter, redaction and hash, tokens kept, memory
    ///
    /// In this process, without a daemon. Counting lines and parsing the same bytes to JSON values are measured in the
    /// same rounds.
    Read(ReadArgs),
    /// Speed of each agent's reader: MB/s from disk, for counts and to items, over transcripts in its shapes
    ///
    /// In this process, without a daemon.
    Readers(ReadersArgs),
    /// An idle daemon with the transcripts of one agent, and of twelve: processor time, wake-ups, writes
    Roots(RootsArgs),
    /// The memory alone, at any size: time to fill and to search it, disk and memory
    ///
    /// In this process, without a daemon, over generated turns that go straight into a memory in a temporary directory.
    Memory(MemoryArgs),
    /// Whether the right sessions are found: hit@1/5/10, MRR and nDCG@10 of a set of sessions and questions
    ///
    /// Writes the set's sessions as transcripts into a temporary directory, starts a real `baton` as a throwaway daemon
    /// over them, and asks each question as `baton search` does. DATA is one JSON object:
    /// {"sessions":[{"id","project","turns":[{"role":"user"|"assistant"|"thinking"|"tool","speaker"?,"time"?,"text","failed"?}]}],
    /// "questions":[{"id","category","text","expected_sessions":[ID…],"expected_turns":[[ID, index of the turn, from
    /// 0]…]}]}. A speaker's text is written as `Name: text`. The first line of a tool's text is its command, the rest
    /// its output, of which an index keeps one line, and only if it `failed`.
    Recall(RecallArgs),
    /// How true episodes and answers are, compared with what a careful reader says of the same sessions
    ///
    /// Episodes are made in this process: decisions, errors, resolutions, open matters, next steps and titles are
    /// compared with those in GOLD. A statement is right if it is within 3 lines of one of the gold's, or has at least
    /// half of its content words. Open matters and next steps match either of the gold's lists; trivial errors count
    /// neither way. A title is good if it has at most 8 words and at least half of the gold's content words (2 of
    /// fewer than 4): an approximation. Then a real `baton`, as a throwaway daemon over all transcripts in both
    /// directories, is asked each question by `baton recall`, `fix` or `how`. An answer gets 1 if it matches all keys
    /// (or, for the kind `none`, says that nothing is known), 0.5 if it names the session, else 0. GOLD is one JSON
    /// object: {"sessions":[{"session_id","path","gold":{"title","decisions":[{"text","lines":[N…]}],"overruled":[…],
    /// "errors":[{"text","lines","resolution","resolution_lines","kind"}],"open":[…],"next":[…],"uncommitted":[…]}}],
    /// "questions":[{"id","kind","cmd":"recall"|"fix"|"how","text","session","gold","keys":[PATTERN…],"project",
    /// "exact_error"?,"recall_variant"?}]}.
    Answers(AnswersArgs),
    /// Cost of enriching: requests and tokens of the example sessions, from a close to the enriched episode, a queue
    ///
    /// Starts a real `baton` as throwaway daemons over transcripts in temporary directories, and plays the model
    /// itself: nothing is sent anywhere. The example sessions are measured in a checkout only.
    Enrich(EnrichArgs),
    /// Cost of a hook for the agent that waits for it: daemon up, down, stopped; each event; with a handoff out of many
    ///
    /// Starts a real `baton` as throwaway daemons over transcripts in temporary directories, and calls the `baton-hook`
    /// beside it as an agent does. python3 and node, doing nothing, are measured in the same rounds.
    Hook(HookArgs),
    /// Whether everything acknowledged survives: kills a daemon under load, cuts its power
    ///
    /// Starts a real `baton` as daemons in temporary directories, with clients that call and transcripts that grow, and
    /// kills them at random moments. What is then on disk is checked against every answer ever given: nothing lost,
    /// nothing twice, every byte of a transcript counted once, the memory equal to a rebuilt one. Ends with 1 if
    /// anything is wrong, and keeps that home. `--cuts` does the same to a file system in a file (root on Linux).
    Crash(CrashArgs),
}

#[derive(Debug, Args)]
struct ReadArgs {
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
struct ReadersArgs {
    /// Only these agents, by name or the first word of it
    #[arg(value_name = "AGENT", value_parser = agent)]
    agents: Vec<Agent>,
    /// Size of the transcripts of each agent, in MB of 1,000,000 bytes
    #[arg(long = "mb", value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    megabytes: u64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct RootsArgs {
    /// Sessions of each agent
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    sessions: u32,
    /// How long each daemon is watched
    #[arg(long, value_name = "N", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    seconds: u64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

fn agent(typed: &str) -> Result<Agent, String> {
    Agent::named(typed).ok_or_else(|| format!("there is no such agent; there are {}", Agent::names()))
}

#[derive(Debug, Args)]
struct MemoryArgs {
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
struct RecallArgs {
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
struct AnswersArgs {
    /// What the sessions came to, and questions about them
    #[arg(value_name = "GOLD.json", required = true)]
    gold: Vec<PathBuf>,
    /// Claude Code's directory, with the sessions whose `path` begins with projects/
    #[arg(long, value_name = "DIR")]
    claude: Option<PathBuf>,
    /// Codex's directory, with the sessions whose `path` begins with sessions/
    #[arg(long, value_name = "DIR")]
    codex: Option<PathBuf>,
    /// Compare episodes only, which takes seconds
    #[arg(long)]
    without_questions: bool,
    /// Also print each statement with its match (in capitals: what contradicts the gold), each one that is missed, and
    /// each answer
    #[arg(long)]
    detail: bool,
    /// Print one JSON object, with all details
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct EnrichArgs {
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
struct HookArgs {
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
struct CrashArgs {
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
struct CorpusArgs {
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
struct MeasureArgs {
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
    let error_format = ErrorFormat::from_arguments(&arguments);
    match CommandLine::try_parse_from(&arguments) {
        Ok(args) => run(&args).unwrap_or_else(|error| error_format.print_message(&error.to_string())),
        Err(error) => error_format.print_usage_error(&error),
    }
}

fn run(command_line: &CommandLine) -> Result<ExitCode, Error> {
    let (parts, args) = match &command_line.command {
        Bench::Corpus(args) => return corpus(args),
        Bench::Crash(args) => return crash(args),
        Bench::Enrich(args) => return enrich(args),
        Bench::Hook(args) => return hook(args),
        Bench::Read(args) => return read(args),
        Bench::Readers(args) => return readers(args),
        Bench::Roots(args) => return roots(args),
        Bench::Memory(args) => return memory(args),
        Bench::Recall(args) => return recall(args),
        Bench::Answers(args) => return answers(args),
        Bench::All(args) => (Part::ALL.to_vec(), args),
        Bench::Index(args) => (vec![Part::Index], args),
        Bench::Latency(args) => (vec![Part::Latency], args),
        Bench::Search(args) => (vec![Part::Search], args),
        Bench::Idle(args) => (vec![Part::Idle], args),
        Bench::Mcp(args) => (vec![Part::Mcp], args),
        Bench::Live(args) => (vec![Part::Live], args),
        Bench::Disk(args) => (vec![Part::Disk], args),
        Bench::Lazy(args) => (vec![Part::Lazy], args),
        Bench::Log(args) => (vec![Part::Log], args),
        Bench::Daemon(args) => (vec![Part::Daemon], args),
        Bench::Vault(args) => (vec![Part::Vault], args),
    };
    let options = bench::Options {
        parts,
        corpus: args.corpus.clone(),
        new: args.shape.options(),
        idle: Duration::from_secs(args.seconds.unwrap_or(20)),
        live: Duration::from_secs(args.seconds.unwrap_or(60)),
        files: args.files,
        events: args.events,
    };
    let report = bench::measure(&options, report_progress)?;
    print_results(&report, &report.tables(), args.json)
}

fn corpus(args: &CorpusArgs) -> Result<ExitCode, Error> {
    let corpus = Corpus::write(args.shape.options(), &args.into)?;
    print_results(&corpus, &[corpus.table()], args.json)
}

fn enrich(args: &EnrichArgs) -> Result<ExitCode, Error> {
    let delay = Duration::from_millis(args.delay_ms);
    let options = bench::EnrichOptions { sessions: args.sessions, delay, seed: args.seed };
    let enriching = bench::enrich(options, &report_progress)?;
    print_results(&enriching, &enriching.tables(), args.json)
}

fn hook(args: &HookArgs) -> Result<ExitCode, Error> {
    let options = HookOptions { runs: args.runs, sessions: args.sessions };
    let hook = bench::hook(options, report_progress)?;
    print_results(&hook, &hook.tables(), args.json)
}

fn read(args: &ReadArgs) -> Result<ExitCode, Error> {
    let options = ReadOptions { files: args.files.clone(), bytes: args.megabytes * 1_000_000, huge: args.huge };
    let read = bench::read(&options, report_progress)?;
    print_results(&read, &read.tables(), args.json)
}

fn readers(args: &ReadersArgs) -> Result<ExitCode, Error> {
    let options = bench::ReadersOptions { agents: args.agents.clone(), bytes: args.megabytes * 1_000_000 };
    let readers = bench::readers(&options, report_progress)?;
    print_results(&readers, &[readers.table()], args.json)
}

fn roots(args: &RootsArgs) -> Result<ExitCode, Error> {
    let options = bench::RootsOptions { sessions: args.sessions, watch: Duration::from_secs(args.seconds) };
    let roots = bench::roots(options, report_progress)?;
    print_results(&roots, &[roots.table()], args.json)
}

fn memory(args: &MemoryArgs) -> Result<ExitCode, Error> {
    let scale = bench::scale(
        ScaleOptions {
            documents: args.documents,
            seed: args.seed,
            vectors: args.vectors.then_some(usize::from(args.dimensions)),
        },
        &report_progress,
    )?;
    print_results(&scale, &[scale.table()], args.json)
}

fn recall(args: &RecallArgs) -> Result<ExitCode, Error> {
    let vectors = match (&args.endpoint, &args.model) {
        (Some(base_url), Some(model)) => {
            let (base_url, model, key) = (base_url.clone(), model.clone(), args.api_key_env.clone());
            Some(RecallEndpoint::Other { base_url, model, key })
        }
        _ => args.vectors.then_some(RecallEndpoint::Own),
    };
    let options = RecallOptions { data: args.data.clone(), limit: args.limit, turns: args.turns, vectors };
    let recall = bench::recall(&options, &report_progress)?;
    print_results(&recall, &recall.tables(), args.json)
}

fn answers(args: &AnswersArgs) -> Result<ExitCode, Error> {
    let options = AnswersOptions {
        gold: args.gold.clone(),
        claude: args.claude.clone(),
        codex: args.codex.clone(),
        without_questions: args.without_questions,
    };
    let answers = bench::answers(&options, &report_progress)?;
    print_results(&answers, &answers.tables(args.detail), args.json)
}

/// Prints the current step, if standard error is a terminal.
fn report_progress(what: &str) {
    if std::io::stderr().is_terminal() {
        print::note(&format!("{what} …"));
    }
}

fn crash(args: &CrashArgs) -> Result<ExitCode, Error> {
    if args.cuts > 0 {
        bench::enter_own_namespace();
    }
    let clock = || std::time::UNIX_EPOCH.elapsed().map_or(1, |since| since.as_secs());
    let seed = args.seed.unwrap_or_else(clock);
    let options = CrashOptions { kills: args.kills, cuts: args.cuts, homes: args.homes, seed };
    let crash = bench::crash(options, |what| report_progress(&format!("{what}, seed {seed}")))?;
    print_results(&crash, &crash.tables(), args.json)?;
    Ok(if crash.is_whole() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Shape {
    fn options(&self) -> CorpusOptions {
        CorpusOptions { sessions: self.sessions, bytes: self.megabytes * 1_000_000, seed: self.seed }
    }
}

fn print_results(measured: &impl Serialize, tables: &[Table], json: bool) -> Result<ExitCode, Error> {
    let output = Output::new();
    if json {
        output.data(&serde_json::to_string(measured).map_err(|error| Error::NothingMeasured(error.to_string()))?);
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
