//! `baton-bench`: the command line of the benchmarks, and how results are printed.

mod arguments;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use baton::cli::ErrorFormat;
use baton::print;
use baton::print::{Output, Style};
use baton_bench::{
    self as bench, AnswersOptions, Corpus, CorpusOptions, CrashOptions, Error, HookOptions, Part, ReadOptions,
    RecallEndpoint, RecallOptions, ScaleOptions, SetSource, Table,
};
use clap::{Parser, Subcommand};
use serde::Serialize;

#[cfg(unix)]
use arguments::BrowseArgs;
use arguments::{
    AnswersArgs, CorpusArgs, CrashArgs, DatabaseArgs, EnrichArgs, HookArgs, MeasureArgs, MemoryArgs, PagesArgs,
    ReadArgs, ReadersArgs, RecallArgs, RelayArgs, RootsArgs, Shape,
};

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
    /// A large database of one agent: reading it, one more message, and what the agent notices when it writes
    ///
    /// Ends in an error if a session is not read, or a message not found.
    Database(DatabaseArgs),
    /// The memory alone, at any size: time to fill and to search it, disk and memory
    ///
    /// In this process, without a daemon, over generated turns that go straight into a memory in a temporary directory.
    Memory(MemoryArgs),
    /// The pages of `baton ui`: time, processor time and size of each, and what they add to the daemon's memory
    ///
    /// Starts a real `baton` as a throwaway daemon over a corpus in a temporary directory, reads it, and asks for each
    /// page as a browser does. Ends in an error if a page is not shown.
    Pages(PagesArgs),
    /// The browser in a terminal: time from a key to the list that answers it
    ///
    /// Runs `baton browse` of a throwaway daemon over a corpus in a temporary directory, in a terminal whose screen is
    /// read back.
    #[cfg(unix)]
    Browse(BrowseArgs),
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
    /// A relay between two homes: events and conversations per second, from a session's end to a hit, its cost at rest
    ///
    /// Starts real daemons in temporary directories, over a folder and over a real nats-server if there is one.
    Relay(RelayArgs),
    /// Whether everything acknowledged survives: kills a daemon under load, cuts its power
    ///
    /// Starts a real `baton` as daemons in temporary directories, with clients that call and transcripts that grow, and
    /// kills them at random moments. What is then on disk is checked against every answer ever given: nothing lost,
    /// nothing twice, every byte of a transcript counted once, the memory equal to a rebuilt one. Ends with 1 if
    /// anything is wrong, and keeps that home. `--cuts` does the same to a file system in a file (root on Linux).
    Crash(CrashArgs),
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
        Bench::Database(args) => return database(args),
        Bench::Memory(args) => return memory(args),
        Bench::Pages(args) => return pages(args),
        #[cfg(unix)]
        Bench::Browse(args) => return browse(args),
        Bench::Recall(args) => return recall(args),
        Bench::Relay(args) => return relay(args),
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

fn database(args: &DatabaseArgs) -> Result<ExitCode, Error> {
    let options = bench::DatabaseOptions { sessions: args.sessions, bytes: args.megabytes * 1_000_000 };
    let database = bench::database(options, report_progress)?;
    print_results(&database, &[database.table()], args.json)
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

fn pages(args: &PagesArgs) -> Result<ExitCode, Error> {
    let pages = bench::pages(args.shape.options(), report_progress)?;
    print_results(&pages, &[pages.table()], args.json)
}

#[cfg(unix)]
fn browse(args: &BrowseArgs) -> Result<ExitCode, Error> {
    let browse = bench::browse(args.shape.options(), args.rounds, report_progress)?;
    print_results(&browse, &[browse.table()], args.json)
}

fn recall(args: &RecallArgs) -> Result<ExitCode, Error> {
    let vectors = match (&args.endpoint, &args.model) {
        (Some(base_url), Some(model)) => {
            let (base_url, model, key) = (base_url.clone(), model.clone(), args.api_key_env.clone());
            Some(RecallEndpoint::Other { base_url, model, key })
        }
        _ => args.vectors.then_some(RecallEndpoint::Own),
    };
    let set = match (&args.data, args.generated) {
        (Some(path), _) => SetSource::File(path.clone()),
        (None, seed) => SetSource::Generated(seed.unwrap_or(1)),
    };
    let options = RecallOptions { set, limit: args.limit, turns: args.turns, vectors };
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

fn relay(args: &RelayArgs) -> Result<ExitCode, Error> {
    let (corpus, idle) = (args.shape.options(), Duration::from_secs(args.seconds));
    let options = bench::RelayOptions { corpus, events: args.events, rounds: args.rounds, idle };
    let relays = bench::relay(&options, report_progress)?;
    print_results(&relays, &relays.tables(), args.json)
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
        let bytes = self.megabytes * 1_000_000;
        CorpusOptions { sessions: self.sessions, bytes, seed: self.seed, dense: self.dense }
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
